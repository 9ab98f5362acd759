//! Models that other programs have on this machine.

use std::{ffi::OsString, fs, path::Path};

use attnscope::hub::{Cache, OtherModel, OtherPrograms};
use serde_json::json;

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn models_of_llama_cpp_ollama_and_lm_studio_are_found_by_name() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    let digest = "ab".repeat(32);
    let manifest = |digest: &str, kind: &str| {
        let layers = json!([
            { "mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00", "size": 1 },
            { "mediaType": kind, "digest": digest, "size": 4 },
        ]);
        json!({ "schemaVersion": 2, "config": {}, "layers": layers }).to_string().into_bytes()
    };
    let weights = "application/vnd.ollama.image.model";
    let own = format!("sha256:{digest}");
    let manifests = [
        ("registry.ollama.ai/library/llama3.2/3b", manifest(&own, weights)),
        ("registry.ollama.ai/library/llama3.2/latest", manifest(&own, weights)),
        ("registry.ollama.ai/somebody/tiny/v1", manifest(&own, weights)),
        ("hf.co/owner/name/Q4_K_M", manifest(&own, weights)),
        // A digest that leads elsewhere, one that is not there, another kind, and no JSON.
        ("registry.ollama.ai/library/evil/latest", manifest("sha256:../../../etc/passwd", weights)),
        ("registry.ollama.ai/library/gone/latest", manifest(&format!("sha256:{}", "cd".repeat(32)), weights)),
        ("registry.ollama.ai/library/eyes/latest", manifest(&own, "application/vnd.ollama.image.projector")),
        ("registry.ollama.ai/library/broken/latest", b"{".to_vec()),
    ];
    for (name, bytes) in manifests {
        put(&at(".ollama/models/manifests").join(name), &bytes);
    }
    let blob = at(".ollama/models/blobs").join(format!("sha256-{digest}"));
    put(&blob, b"GGUF");
    for file in [
        ".lmstudio/models/publisher/model/model-Q4_K_M.gguf",
        ".lmstudio/models/publisher/model/mmproj-model-f16.gguf",
        ".lmstudio/models/publisher/model/notes.txt",
        ".cache/lm-studio/models/old/large-00001-of-00002.gguf",
        ".cache/lm-studio/models/old/large-00002-of-00002.gguf",
        ".cache/llama.cpp/owner_name.gguf",
        "hub/models--owner--name/snapshots/0123/name-q8_0.gguf",
        "hub/models--owner--name/refs/main",
    ] {
        put(&at(file), b"0123");
    }
    let none = |_: &str| -> Option<OsString> { None };
    let found = OtherPrograms::from_variables(&none, Some(home.path().to_owned()), Some(Cache::at(at("hub"))));
    let names: Vec<String> = found.models().into_iter().map(|OtherModel { name, .. }| name).collect();
    assert_eq!(
        names,
        [
            "ollama:hf.co/owner/name:Q4_K_M",
            "ollama:llama3.2:3b",
            "ollama:llama3.2:latest",
            "ollama:somebody/tiny:v1",
            "~/.cache/llama.cpp/owner_name.gguf",
            "~/.cache/lm-studio/models/old/large-00001-of-00002.gguf",
            "~/.lmstudio/models/publisher/model/model-Q4_K_M.gguf",
            "~/hub/models--owner--name/snapshots/0123/name-q8_0.gguf",
        ]
    );
    assert!(OtherPrograms::is_theirs(&at("hub/models--owner--name/snapshots/0123")));
    assert!(!OtherPrograms::is_theirs(&at("hub/models--owner--name/refs")));
    assert_eq!(found.named("ollama:llama3.2"), Some(blob.clone()));
    assert_eq!(found.named("ollama:llama3.2:3b"), Some(blob.clone()));
    assert_eq!(found.named("ollama:evil"), None);
    assert_eq!(found.named("llama3.2"), None);

    // A folder of its own.
    let other = |name: &str| (name == "OLLAMA_MODELS").then(|| at("elsewhere").into_os_string());
    assert_eq!(OtherPrograms::from_variables(&other, None, None).models(), []);
    fs::rename(at(".ollama/models"), at("elsewhere")).unwrap();
    assert_eq!(OtherPrograms::from_variables(&other, None, None).models().len(), 4);
}

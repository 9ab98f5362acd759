//! The architecture's invariants, checked on the source text.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The longest a source file may be; above this it has more than one purpose.
const MAX_LINES: usize = 800;

/// Each layer and the sibling layers it may name. `ids` and `spec` are free for all.
const LAYERS: [(&str, &[&str]); 11] = [
    ("capture", &[]),
    ("analysis", &["capture"]),
    ("raster", &["capture", "analysis"]),
    ("figure", &["capture", "analysis", "raster"]),
    ("hub", &[]),
    ("model", &["capture", "analysis", "hub"]),
    ("export", &["capture", "analysis", "raster"]),
    ("worker", &["capture", "analysis", "hub", "model", "export"]),
    ("session", &["capture", "analysis", "worker"]),
    ("cli", &["capture", "analysis", "raster", "figure", "hub", "model", "export", "worker", "session"]),
    ("ui", &["capture", "analysis", "raster", "figure", "export", "worker", "session", "cli"]),
];

/// Words that only one part of the tree may use, where, and why.
const RESERVED: [(&[&str], &[&str], &str); 5] = [
    (&["candle_core", "candle_nn", "candle_transformers"], &["src/model/"], "the engine stays in model/"),
    (&["ureq", "ring::digest"], &["src/hub/"], "the network stays in hub/"),
    (&["egui::", "eframe", "egui_plot", "rfd::"], &["src/ui/", "src/main.rs"], "the window stays in ui/"),
    // `emath` is free for all: points and rectangles, the same for the window and for files.
    (&["krilla", "vello_cpu", "harfrust", "epaint::text"], &["src/figure/", "src/ui/"], "writers stay in figure/"),
    (
        &["std::fs", "std::thread", "std::time", "Instant::now", "std::net", "rayon"],
        &[
            "src/analysis/",
            "src/hub/",
            "src/model/",
            "src/export/",
            "src/worker/",
            "src/cli/",
            "src/ui/",
            "src/main.rs",
        ],
        "capture, raster, figure and session do no IO, start no thread and read no clock",
    ),
];

#[test]
fn layers_use_only_what_lies_below_them() {
    let mut offences = Vec::new();
    for (path, text) in sources("src") {
        let Some(layer) = layer_of(&path) else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else { continue };
        for (number, line) in code_lines(&text) {
            for (name, _) in LAYERS {
                if name != layer && !allowed.contains(&name) && names_layer(&text, line, name) {
                    offences.push(format!("{}:{number}: {layer} may not use {name}", path.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn reserved_words_stay_in_their_layer() {
    let mut offences = Vec::new();
    for (path, text) in sources("src") {
        let name = path.to_string_lossy().replace('\\', "/");
        for (words, homes, reason) in RESERVED {
            if homes.iter().any(|home| name.starts_with(home)) {
                continue;
            }
            for (number, line) in code_lines(&text) {
                if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                    offences.push(format!("{name}:{number}: `{word}`: {reason}"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn source_files_stay_readable() {
    let long: Vec<_> = ["src", "tests", "benches"]
        .into_iter()
        .flat_map(sources)
        .filter(|(_, text)| text.lines().count() > MAX_LINES)
        .map(|(path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<_> = sources("src")
        .into_iter()
        .filter(|(_, text)| !text.trim_start().starts_with("//!"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no module documentation:\n{}", silent.join("\n"));
}

/// Two versions of gemm would silently lose the AVX-512 kernels, two of egui do not fit together, and a
/// second ring would be built for a checksum alone.
#[test]
fn unified_dependencies_have_one_version() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["gemm", "candle-core", "egui", "tokenizers", "image", "ring"] {
        let n_versions = lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count();
        assert_eq!(n_versions, 1, "{name} is in Cargo.lock {n_versions} times");
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under `folder`, with its path relative to the crate.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(folder != "src" || found.len() > 10, "the walk found only {} files", found.len());
    found
}

fn layer_of(path: &Path) -> Option<String> {
    let name = path.components().nth(1)?.as_os_str().to_str()?;
    Some(name.trim_end_matches(".rs").to_owned())
}

/// Lines that are not comments, numbered from 1.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(idx, line)| (idx + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether `line` names the layer by its path, alone or inside a `use crate::{…}` group.
fn names_layer(text: &str, line: &str, name: &str) -> bool {
    if line.contains(&format!("crate::{name}::")) {
        return true;
    }
    if line.starts_with("use crate::{") {
        return line.contains(&format!("{{{name}::")) || line.contains(&format!(" {name}::"));
    }
    // rustfmt puts each member of a longer group on its own line, one indent deep.
    let one_indent = line.starts_with("    ") && !line.starts_with("     ");
    one_indent && line.trim_start().starts_with(&format!("{name}::")) && text.contains("use crate::{\n")
}

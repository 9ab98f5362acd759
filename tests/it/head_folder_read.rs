//! Folders of heads that others wrote: their rules, what is refused, and what is left of the rest.

use std::{fs, io::Write as _, path::Path};

use attnscope::{
    analysis::head_folder::{FolderIndex, HeadFile, IndexError, name},
    ids::HeadId,
    worker::head_folder::{is_head_folder, open, read_head},
};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

fn config() -> Value {
    json!({
        "model_name": "a model", "dataset_name": "some texts", "heads": [[0, 0], [0, 1], [5, 2]], "n_layers": 6, "n_heads": 2,
        "n_intervals": 5, "metrics": ["prev_token_score", "induction_score"],
        "metric_descriptions": {"prev_token_score": "The token before"}, "head_data_pattern": "L{layer}H{head}.json",
        "custom_plots": [{"key": "x", "label": "X"}], "dimensions": {"primary": "induction_score"},
        "pipeline_config": {"dtype": "bfloat16", "n_sequences": 20000},
    })
}

const SCATTER: &str = r#"[{"layer":0,"head":0,"prev_token_score":0.5,"induction_score":null},
    {"layer":0,"head":1,"prev_token_score":NaN,"induction_score":0.25},{"layer":5,"head":2,"prev_token_score":1,"induction_score":0}]"#;

const HEAD: &str = r#"{"sequences":[{"sequence_id":"pile/3","interval":2,"tokens":["the"," cat"," sat"],"seq_len":3,"max_activation":0.6,
    "attention_indices":[0,3,4,6,7],"attention_values":[1,0.6000000238,0.4,0.5,0.3]}],"anything":{"else":[1]}}"#;

/// A folder with the files of two of its three heads.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at(name::HEADS)).unwrap();
    fs::write(at(name::CONFIG), config().to_string()).unwrap();
    fs::write(at(name::SCATTER), SCATTER).unwrap();
    fs::write(at("heads/L0H0.json"), HEAD).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(HEAD.as_bytes()).unwrap();
    fs::write(at("heads/L5H2.json"), packed.finish().unwrap()).unwrap();
    folder
}

fn index(config: &Value) -> Result<FolderIndex, IndexError> {
    FolderIndex::from_json(config.to_string().as_bytes(), SCATTER.as_bytes())
}

#[test]
fn a_folder_of_another_program_is_read_head_by_head() {
    let folder = folder();
    assert!(is_head_folder(folder.path()) && !is_head_folder(&folder.path().join(name::HEADS)));
    let opened = open(folder.path()).unwrap();
    let of = &opened.index;
    assert_eq!((of.model.as_str(), of.dataset.as_deref(), of.grid), ("a model", Some("some texts"), (6, 3)));
    assert!(of.causal, "others have language models that look back alone");
    let previous = &of.metrics[0];
    assert_eq!((previous.name.as_str(), previous.description.as_str()), ("previous_token_score", "The token before"));
    assert_eq!(previous.values, [Some(0.5), None, Some(1.0)], "null and NaN are not 0");
    assert_eq!(of.metrics[1].values, [None, Some(0.25), Some(0.0)]);
    assert_eq!(of.dimensions, [Some("induction_score".to_owned()), None]);
    assert!(of.how.contains(&("dtype".to_owned(), "bfloat16".to_owned())));
    assert_eq!((of.notes.len(), &*of.own.plots[0].label), (0, "X"));
    // Greyed by name.
    let absent = HeadId::single(0, 1);
    assert_eq!(opened.absent.iter().copied().collect::<Vec<_>>(), [absent]);
    assert!(read_head(&opened, absent).unwrap_err().contains("heads/L0H1.json"));
    assert!(read_head(&opened, HeadId::single(3, 0)).unwrap_err().contains("does not name L3H0"));
    let plain = read_head(&opened, HeadId::single(0, 0)).unwrap();
    assert_eq!(read_head(&opened, HeadId::single(5, 2)).unwrap(), plain, "gzip is known by its bytes");
    let of = &plain.sequences[0];
    assert_eq!((of.id.to_string().as_str(), of.rows.values()), ("pile/3", &[1.0, 0.6, 0.4, 0.5, 0.3][..]));
    assert!((of.rows.missing(2) - 0.2).abs() < 1e-6 && of.pieces() == ["the", " cat", " sat"]);
}

/// Adds a cloud of two pairs, two attributed pairs and a plot of its own to the first head of [`folder`].
pub fn with_more(folder: &tempfile::TempDir) {
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let own = r#""x":{"bin_edges":[0,0.5,1],"bin_values":[3,1]},"y":[{"token":"cat","weight":2.5}],"anything""#;
    write("heads/L0H0.json", &HEAD.replace(r#""anything""#, own));
    let mut config = config();
    config["custom_plots"] = json!([{"key": "x", "label": "X"}, {"key": "sequences", "label": "Wrong"}]);
    config["custom_tables"] = json!([{"key": "y", "label": "Y"}, {"label": "no key"}]);
    write(name::CONFIG, &config.to_string());
    write(
        "umap/L0H0.json",
        r#"{"seq_idx":[3,3],"top_q":[2,1],"top_k":[1,1],"norms":{"Q":[2,1]},"clusters":[],
            "pca":{"Q":{"d0":[0,1],"d1":[0,1],"d2":[0,0]},"K":{"d0":[0],"d1":[0,1]}}}"#,
    );
    write("umap/sequences.json", r#"{"3":["the"," cat"," sat"],"4":["no"]}"#);
    write(
        "attributions/manifest.json",
        r#"{"L0H0S3":{"qk":[[2,1],[1,0]]},"L5H2S3":{"ov":[[9,9]]},"L0H0S../..":{"qk":[[1,1]]}}"#,
    );
    write(
        "attributions/qk/L0H0S3Q2K1.json",
        r#"{"pairs":[{"query_feature":7,"key_feature":8,"attribution":0.25,"query_description":"verbs","key_description":"animals"}]}"#,
    );
}

#[test]
fn clouds_attributions_and_own_parts_are_read_and_broken_ones_named() {
    let folder = folder();
    with_more(&folder);
    let opened = open(folder.path()).unwrap();
    assert_eq!(opened.index.notes, ["1 table of the folder’s own left out: without a key, or more than 16"]);
    let head = HeadId::single(0, 0);
    let read = || read_head(&opened, head).unwrap();
    let file = read();
    assert_eq!(file.plots[0].part.as_ref().unwrap().bin_values, [3.0, 1.0]);
    assert!(file.plots[1].part.as_ref().unwrap_err().contains("no histogram"), "a list of sequences is none");
    assert_eq!(file.tables[0].part.as_ref().unwrap()[0].token, "cat");
    let cloud = file.cloud.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((cloud.pairs.len(), cloud.layouts[0].panels.len()), (2, 1), "K has one number for two pairs");
    assert!(cloud.notes[0].contains("the part K has 1 and 2 numbers for 2 pairs"), "{:?}", cloud.notes);
    assert_eq!(cloud.texts.keys().collect::<Vec<_>>(), [&3], "the others are not kept");
    assert_eq!(file.attributions.len(), 2);
    assert!(file.attributions[0].features.is_err(), "its file is not there: {:?}", file.attributions[0]);
    let features = file.attributions[1].features.as_ref().unwrap();
    assert_eq!((&*features[0].descriptions[1], features[0].attribution), ("animals", 0.25));
    assert!(file.notes[0].contains("L0H0S../.. is no name of a sequence"), "{:?}", file.notes);
    // Another head has neither, and says nothing of them.
    let other = read_head(&opened, HeadId::single(5, 2)).unwrap();
    assert!(other.cloud.is_none() && other.plots[0].part.is_err());
    // Broken and hostile ones leave the rest of the page.
    let cloud = folder.path().join("umap/L0H0.json");
    fs::write(&cloud, "{").unwrap();
    let said = read().cloud.unwrap().unwrap_err();
    assert!(said.starts_with("umap/L0H0.json: it ends in the middle"), "{said}");
    fs::write(folder.path().join("attributions/manifest.json"), "[").unwrap();
    let file = read();
    assert!(file.attributions.is_empty() && file.notes[0].starts_with("attributions/manifest.json cannot be shown"));
    assert_eq!(file.sequences.len(), 1);
    #[cfg(unix)]
    {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret.json");
        fs::write(&secret, r#"{"seq_idx":[],"top_q":[],"top_k":[]}"#).unwrap();
        fs::remove_file(&cloud).unwrap();
        std::os::unix::fs::symlink(&secret, &cloud).unwrap();
        let said = read().cloud.unwrap().unwrap_err();
        assert!(said.contains("a link that leads out of the folder"), "{said}");
    }
}

#[test]
fn a_sequence_that_is_none_is_refused_by_name_and_the_others_stay() {
    let good = r#"{"sequence_id":1,"tokens":["a","b"],"attention_indices":[0,2],"attention_values":[1,0.5]}"#;
    let refused = |bad: &str| {
        let file = HeadFile::from_json(format!("[{bad},{good}]").as_bytes(), true).unwrap();
        assert_eq!((file.sequences.len(), file.refused.len()), (1, 1), "{bad}");
        let refused = file.refused[0].clone();
        format!("{}: {}", refused.name, refused.reason)
    };
    let of = |id: &str, n: &str, indices: &str, values: &str| {
        refused(&format!(
            r#"{{"sequence_id":{id},"tokens":["a","b"],"seq_len":{n},"attention_indices":{indices},"attention_values":{values}}}"#
        ))
    };
    assert_eq!(of("7", "3", "[0]", "[1]"), "7: its length is said to be 3, and it has 2 tokens");
    assert!(of("\"x\"", "2", "[1000000000]", "[1]").starts_with("x: the index 1000000000 lies outside"));
    assert!(of("7", "2", "[1]", "[1]").contains("attends to token 1 behind it"));
    assert!(of("7", "2", "[0]", "[1.5]").contains("1.5 is no weight"));
    assert!(of("7", "2", "[0,2]", "[1]").contains("2 indices and 1 values"));
    assert!(of("null", "2", "[0]", "[null]").starts_with("number 0 of the file: one of its weights is no number"));
    assert!(of("7", "2", "[-1]", "[1]").contains("no whole number"));
    assert!(of("7", "2", "[0]", "[NaN]").contains("no number"));
    assert!(refused("null").contains("no tokens") && refused(r#"{"tokens":[1]}"#).contains("no text"));
    let many = format!("{{\"sequence_id\":2,\"tokens\":[\"a\"],\"attention_indices\":[{}0]", "0,".repeat(9_000_000));
    assert!(HeadFile::from_json(many.as_bytes(), true).unwrap_err().contains("parts"));
    for wrong in ["", "7", "\"a\"", "{\"sequences\":3}", "[", r#"{"histogram":{"bin_edges":[0],"bin_values":[1,2]}}"#] {
        assert!(HeadFile::from_json(wrong.as_bytes(), true).is_err(), "{wrong}");
    }
}

#[test]
fn names_that_lead_out_of_the_folder_and_counts_beyond_reason_are_refused() {
    let with = |name: &str, value: Value| {
        let mut config = config();
        config[name] = value;
        index(&config)
    };
    for pattern in
        ["../L{layer}H{head}.json", "/etc/L{layer}H{head}", "a\\L{layer}H{head}", "L{layer}H0", "..{layer}{head}"]
    {
        assert!(matches!(with("head_data_pattern", pattern.into()), Err(IndexError::Pattern(_))), "{pattern}");
    }
    assert!(matches!(with("heads", json!([[1_000_000_000_u64, 0]])), Err(IndexError::Far(1_000_000_000, 0))));
    assert_eq!(with("n_layers", json!(u64::MAX)).unwrap().grid.0, 1024);
    assert_eq!(with("heads", json!([[0, 0, 7], [], "x", null])).unwrap().heads.len(), 3, "those of the numbers stay");
    assert_eq!(FolderIndex::from_json(b"{}", b"[]"), Err(IndexError::NoHeads));
    assert!(FolderIndex::from_json(b"[]", b"[]").is_err() && FolderIndex::from_json(b"{}", b"{}").is_err());
    let folder = folder();
    fs::write(folder.path().join(name::UNFINISHED), "").unwrap();
    assert!(open(folder.path()).unwrap_err().contains("not whole"));
    fs::remove_file(folder.path().join(name::UNFINISHED)).unwrap();
    fs::remove_file(folder.path().join(name::CONFIG)).unwrap();
    assert!(open(folder.path()).unwrap_err().contains("config.json"));
}

#[test]
#[cfg(unix)]
fn a_link_out_of_the_folder_is_not_followed() {
    let (folder, other) = (folder(), tempfile::tempdir().unwrap());
    let secret = other.path().join("secret.json");
    fs::write(&secret, HEAD).unwrap();
    let linked = folder.path().join("heads/L0H1.json");
    std::os::unix::fs::symlink(&secret, &linked).unwrap();
    let opened = open(folder.path()).unwrap();
    assert!(read_head(&opened, HeadId::single(0, 1)).unwrap_err().contains("leads out of the folder"));
    fs::remove_file(&linked).unwrap();
    std::os::unix::fs::symlink(Path::new("L0H0.json"), &linked).unwrap();
    assert!(read_head(&opened, HeadId::single(0, 1)).is_ok());
}

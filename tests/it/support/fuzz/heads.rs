//! Folders of heads: the file of a head, what the folder is of, and the numbers of all heads.

use std::path::Path;

use attnscope::{
    analysis::head_folder::{FolderIndex, HeadFile, name},
    worker::head_folder,
};

use super::{
    containers,
    corpus::{Seed, Shape, written},
};

const HEAD: &str = r#"{"sequences":[{"sequence_id":17,"interval":5,"tokens":["the","cat","sat"],"seq_len":3,"max_activation":0.6,
 "attention_indices":[0,3,4,6,8],"attention_values":[1,0.6,0.4,0.5,0.3]},{"sequence_id":"b","tokens":[],"attention_indices":[],"attention_values":[]}],
 "qk_distance_histogram":{"bin_edges":[0,1,2,4],"bin_values":[1.7,2.0,0.9]},"top_query_tokens":[{"token":"cat","weight":1.8}],
 "top_key_tokens":[{"token":"the","weight":2.6}],"histogram":{"bin_edges":[0,0.5,1],"bin_values":[3,4]},"statistics":{"n_samples":7,"mean":NaN}}"#;

const CONFIG: &str = r#"{"model_name":"m","dataset_name":"d","heads":[[0,0],[2,1]],"n_layers":3,"n_heads":2,"n_intervals":5,"metrics":["a","prev_token_score"],
 "metric_descriptions":{"a":"b"},"head_data_pattern":"L{layer}H{head}.json","custom_plots":[{"key":"x","label":"y"}],"dimensions":{"primary":"a"},
 "pipeline_config":{"model":"m","causal":true,"sparse_top_k":8,"sparse_min_weight":0.005}}"#;

const SCATTER: &str =
    r#"[{"layer":0,"head":0,"a":0.5,"prev_token_score":null},{"layer":2,"head":1,"a":1,"prev_token_score":0.25}]"#;

fn files() -> [(&'static str, &'static str); 3] {
    [("L0H0.json", HEAD), (name::CONFIG, CONFIG), (name::SCATTER, SCATTER)]
}

pub fn plain() -> Vec<Seed> {
    files().map(|(name, text)| written(name, text, Shape::Json)).into()
}

pub fn packed() -> Vec<Seed> {
    files().map(|(name, text)| written(name, containers::packed(text.as_bytes()), Shape::Gzip)).into()
}

/// Reads a file and uses what it says; what is read of a head is the same when it was written and read again.
pub fn read(path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let bytes = head_folder::read(folder, path)?;
    let is = |name: &str| path.file_name().is_some_and(|file| file == name);
    if is(name::CONFIG) || is(name::SCATTER) {
        let [config, scatter] =
            if is(name::CONFIG) { [&bytes[..], SCATTER.as_bytes()] } else { [CONFIG.as_bytes(), &bytes] };
        let index = FolderIndex::from_json(config, scatter).map_err(|error| error.to_string())?;
        for head in &index.heads {
            assert!(!index.file_name(*head).contains(['/', '\\']), "a file in another folder");
        }
        return Ok(());
    }
    let file = HeadFile::from_json(&bytes, false)?;
    for sequence in &file.sequences {
        for query in 0..sequence.tokens.len() {
            assert!((0.0..=1.0).contains(&sequence.rows.missing(query)), "a part of a row");
        }
    }
    let json = file.to_json().map_err(|error| error.to_string())?;
    let again = HeadFile::from_json(&json, false)?;
    assert_eq!((again.sequences, again.distances), (file.sequences, file.distances));
    Ok(())
}

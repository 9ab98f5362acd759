//! Folders with a file for each head: the worked example, brute force on stored patterns, what is written read again.

use std::{collections::BTreeMap, fs, path::Path};

use attnscope::{
    analysis::{
        attention,
        head_folder::{
            CloudPair, FolderIndex, FolderTally, HeadCloud, HeadFile, KeptWeights, PANELS, SequenceId, SparseRows,
            StoredSequence, distance_histogram, name,
        },
        head_statistics::OffsetSums,
    },
    capture::{Capture, Matrix, Site},
    ids::{HeadId, Side, StackKind},
    model::{self, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
};
use serde_json::Value;

use crate::render::attnscope;

const ONLY: HeadId = HeadId::single(0, 0);

const EXAMPLE: &str = r#"{"sequences":[{"sequence_id":17,"interval":5,"tokens":["the","cat","sat","cat","sat"],"seq_len":5,"max_activation":0.6,
 "attention_indices":[0,5,6,10,11,15,17,20,23],"attention_values":[1,0.6,0.4,0.5,0.3,0.2,0.6,0.3,0.5]}],
 "qk_distance_histogram":{"bin_edges":[0,1,2,4,8],"bin_values":[1.795,2.0,0.905,0.3]},
 "top_query_tokens":[{"token":"cat","weight":1.8}],"top_key_tokens":[{"token":"the","weight":2.6}]}"#;

/// With every number as one with a point.
fn numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(list) => list.into_iter().map(numbers).collect(),
        Value::Object(parts) => parts.into_iter().map(|(name, part)| (name, numbers(part))).collect(),
        other => other,
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn the_worked_example_is_written_and_read_as_it_stands() {
    let rows: [&[f32]; 5] =
        [&[1.0], &[0.6, 0.4], &[0.5, 0.3, 0.2], &[0.2, 0.1, 0.6, 0.1], &[0.3, 0.005, 0.1, 0.5, 0.095]];
    let mut weights = vec![0.0; 25];
    let mut offsets = OffsetSums::default();
    for (query, row) in rows.iter().enumerate() {
        weights[5 * query..][..row.len()].copy_from_slice(row);
        offsets.add(query, row, &(0..=query).collect::<Vec<_>>());
    }
    let pattern = Matrix::new(weights, [5, 5]).unwrap();
    let kept = KeptWeights { most: 2, least: 0.05 };
    let tokens = ["the", "cat", "sat", "cat", "sat"].map(str::to_owned);
    let mut tally = FolderTally::new(StackKind::SelfAttention, vec![ONLY], kept);
    tally.add_patterns(&tokens, &|_| Some(pattern.clone()));
    // The example has the first row of each table.
    let [top_queries, top_keys] = tally.top_tokens(ONLY).map(|table| table[..1].to_vec());
    let sequence = StoredSequence {
        id: SequenceId::Number(17),
        interval: Some(5),
        tokens: tokens.to_vec(),
        rows: SparseRows::of(&pattern, kept),
        max_activation: Some(0.6),
    };
    let distances = Some(distance_histogram(&offsets, 5));
    let file = HeadFile { sequences: vec![sequence], distances, top_queries, top_keys, ..HeadFile::default() };
    assert_eq!(numbers(json(&file.to_json().unwrap())), numbers(json(EXAMPLE.as_bytes())));
    assert_eq!(HeadFile::from_json(EXAMPLE.as_bytes(), true).unwrap(), file);
    // An older form is the list of sequences alone, with weights as they come from 32 bits.
    let list = EXAMPLE.split_once("\"qk_distance").unwrap().0;
    let list = list.trim().trim_start_matches("{\"sequences\":").trim_end_matches(',').replace("0.6]", "0.6000000238]");
    let older = HeadFile::from_json(list.replace("0.2,0.6,", "0.2,0.6000000238,").as_bytes(), true).unwrap();
    assert_eq!((&older.sequences, &older.distances), (&file.sequences, &None));
    let rows = &file.sequences[0].rows;
    let missing: Vec<f64> = (0..5).map(|query| (rows.missing(query) * 1e4).round() / 1e4).collect();
    assert_eq!(missing, [0.0, 0.0, 0.2, 0.2, 0.2]);
}

const TEXTS: [&str; 6] = [
    "The cat sat on the mat, and the dog sat on the rug.",
    "One day a little girl saw a big red ball.",
    "Tom had a boat. Tom had a dog. Tom was happy.",
    "She ran, and ran, and ran.",
    "The sun is up.",
    "One day Tom had a big red boat.",
];

fn load(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn runs(model: &Model) -> Vec<Capture> {
    let sites = Sites::of(&[Site::Pattern, Site::Q, Site::K, Site::V, Site::Z]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    let run = |text: &&str| model.forward(&model.encode(&Input::text(*text)).unwrap(), &plan, &uninterrupted).unwrap();
    TEXTS.iter().map(run).collect()
}

fn written(model: &str, folder: &Path, more: &[&str]) -> std::process::Output {
    let texts = folder.parent().unwrap().join("texts.txt");
    fs::write(&texts, TEXTS.join("\n")).unwrap();
    let (texts, folder) = (texts.to_str().unwrap(), folder.to_str().unwrap());
    attnscope(&[&["analyze", "heads", "--model", model, "--corpus", texts, "--headvis", folder], more].concat())
}

#[test]
fn a_folder_has_the_sums_of_brute_force_on_stored_patterns() {
    for name in ["demo:gpt", "demo:bert"] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("heads of it");
        let done = written(name, &folder, &["--intervals", "3", "--per-interval", "2", "--threads", "2"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(!folder.join(name::UNFINISHED).exists());
        let read = |name: &str| fs::read(folder.join(name)).unwrap();
        let index = FolderIndex::from_json(&read(name::CONFIG), &read(name::SCATTER)).unwrap();
        let captures = runs(&load(name));
        let causal = captures[0].model().stacks[0].causal;
        assert_eq!((index.causal, index.n_intervals, index.model.as_str()), (causal, 3, name));
        let spec = &captures[0].model().stacks[0];
        assert_eq!(index.heads.len(), spec.layers.iter().map(|layer| layer.n_heads).sum::<usize>());
        let mut tally = FolderTally::new(StackKind::SelfAttention, index.heads.clone(), KeptWeights::default());
        for capture in &captures {
            tally.add(capture);
        }
        for head in [HeadId::single(0, 1), HeadId::single(1, 0)] {
            let bytes = read(&format!("heads/{}", index.file_name(head)));
            let file = HeadFile::from_json_with(&bytes, causal, &index.own).unwrap();
            assert!(file.refused.is_empty() && file.sequences.len() == 6 && file.intervals() == [3, 2, 1]);
            let (mut keys, mut bins) = (BTreeMap::new(), BTreeMap::new());
            let mut activations = Vec::new();
            for (nth, capture) in captures.iter().enumerate() {
                let pattern = attention::pattern(capture, head).unwrap();
                let tokens = capture.tokens(Side::Only);
                let stored = file.sequences.iter().find(|of| of.id == SequenceId::Number(nth as u64)).unwrap();
                let mut most = 0.0f32;
                for (query, row) in pattern.rows().enumerate() {
                    let mut order: Vec<usize> = (0..row.len()).filter(|key| row[*key] >= 0.005).collect();
                    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
                    order.truncate(8);
                    order.sort_unstable();
                    assert_eq!(stored.rows.row(query).map(|(key, _)| key).collect::<Vec<_>>(), order, "{name} {nth}");
                    for (key, &single) in row.iter().enumerate() {
                        let weight = f64::from(single);
                        let bin = (key.abs_diff(query) as f64).log2().floor().max(-1.0) as i64 + 1;
                        *bins.entry(bin).or_insert(0.0) += weight;
                        if order.contains(&key) {
                            let rounded = f64::from(((weight * 1e4).round() / 1e4) as f32);
                            *keys.entry(tokens[key].text.replace('␣', " ")).or_insert(0.0) += rounded;
                            let found = stored.rows.row(query).find(|(known, _)| *known == key).unwrap().1;
                            assert!((f64::from(found) - weight).abs() <= 5.1e-5);
                        }
                        if query > 0 && key > 0 && query != key && !tokens[key].special {
                            most = most.max(single);
                        }
                    }
                }
                assert!((stored.max_activation.unwrap() - f64::from(most)).abs() <= 6e-5);
                activations.push(f64::from(most));
            }
            // Of the very same runs; the program runs several inputs in one pass, whose last decimal may be another.
            let [_, same] = tally.top_tokens(head);
            for (table, tolerance) in [(&same, 5.1e-5), (&file.top_keys, 6e-3)] {
                for token in table {
                    assert!((token.weight - keys[&token.token]).abs() <= tolerance, "{token:?}");
                }
            }
            assert_eq!(file.top_keys.len(), keys.len().min(50));
            assert!(file.top_keys.is_sorted_by(|a, b| a.weight >= b.weight));
            for (bin, mass) in file.distances.as_ref().unwrap().bin_values.iter().enumerate() {
                assert!((mass - bins[&(bin as i64)]).abs() <= 1e-4, "{name} {bin}");
            }
            let of: BTreeMap<&str, f64> = file.statistics.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            assert!((of["mean_max_activation"] - activations.iter().sum::<f64>() / 6.0).abs() < 6e-5);
            let seen: f64 = file.plots[0].part.as_ref().unwrap().bin_values.iter().sum();
            let above = |capture: &Capture| {
                let pattern = attention::pattern(capture, head).unwrap();
                pattern.as_slice().iter().filter(|weight| **weight > 0.0).count()
            };
            assert_eq!(seen as usize, captures.iter().map(above).sum::<usize>(), "all pairs are in the plot");
            check_cloud(&read(&format!("umap/{}", index.file_name(head))), head, &captures);
            // What is read is written again as it was.
            let path = format!("heads/{}", index.file_name(head));
            assert_eq!(String::from_utf8(file.to_json().unwrap()), String::from_utf8(read(&path)));
        }
    }
}

/// Holds the pairs of a cloud and the lengths of their vectors against those of the runs.
fn check_cloud(bytes: &[u8], head: HeadId, captures: &[Capture]) {
    let cloud = HeadCloud::from_json(bytes).unwrap();
    let panels = &cloud.layouts[0].panels;
    assert_eq!(panels.iter().map(|panel| PANELS[panel.kind].0).collect::<Vec<_>>(), ["O", "Q", "K", "V"]);
    let weight = |pair: &CloudPair| {
        let pattern = attention::pattern(&captures[pair.sequence as usize], head).unwrap();
        pattern.get(pair.query as usize, pair.key as usize).unwrap()
    };
    assert!(cloud.pairs.len() > 20 && cloud.pairs.iter().all(|pair| pair.query > 0 && pair.key > 0), "{cloud:?}");
    let weights: Vec<f32> = cloud.pairs.iter().map(weight).collect();
    assert!(weights.windows(2).all(|two| two[0] >= two[1] - 1e-5), "the strongest first");
    for (nth, pair) in cloud.pairs.iter().enumerate() {
        let capture = &captures[pair.sequence as usize];
        let row = |of: Option<Matrix>, at: u32| of.unwrap().row(at as usize).unwrap().to_vec();
        let vectors = [
            row(capture.layer(head).and_then(|of| of.z()?.head(head.head)), pair.query),
            row(capture.q(head), pair.query),
            row(capture.k(head), pair.key),
            row(capture.v(head), pair.key),
        ];
        for (panel, vector) in panels.iter().zip(vectors) {
            let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            let found = panel.norms.as_ref().unwrap()[nth];
            assert!((norm - found).abs() <= 1e-3 * norm.max(1.0), "{pair:?} {}: {norm} {found}", panel.title());
        }
    }
}

#[test]
fn numbers_of_a_folder_are_those_of_the_table_whatever_the_threads() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| home.path().join(name));
    let json_file = home.path().join("heads.json");
    assert!(written("demo:gpt", &one, &["--threads", "1", "--out", json_file.to_str().unwrap()]).status.success());
    assert!(written("demo:gpt", &two, &["--threads", "2"]).status.success());
    for file in
        [name::CONFIG, name::SCATTER, "heads/L0H0.json", "heads/L1H1.json", "umap/L1H1.json", "umap/sequences.json"]
    {
        assert!(fs::read(one.join(file)).unwrap() == fs::read(two.join(file)).unwrap(), "{file}");
    }
    let table = json(&fs::read(&json_file).unwrap());
    let index =
        FolderIndex::from_json(&fs::read(one.join(name::CONFIG)).unwrap(), &fs::read(one.join(name::SCATTER)).unwrap());
    let index = index.unwrap();
    for (at, row) in table["result"]["self"]["heads"].as_array().unwrap().iter().enumerate() {
        for metric in &index.metrics {
            let name = metric.name.replace('_', "-");
            assert_eq!(row["metrics"][&name]["value"].as_f64(), metric.values[at], "{name}");
            assert!(!metric.description.is_empty());
        }
    }
    let has = |name: &str| index.metrics.iter().any(|metric| metric.name == name);
    assert!(has("induction") && has("entropy_fraction") && !has("sink"), "what a model does not have is not there");
    assert_eq!(index.dimensions, [Some("entropy_fraction".to_owned()), Some("activation".to_owned())]);
}

#[test]
fn a_folder_that_is_there_is_not_written_over_and_a_broken_off_one_is_begun_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), "{}").unwrap();
    let refused = written("demo:gpt", &folder, &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("config.json") && said.contains("name a new one"), "{said}");
    assert_eq!(fs::read(folder.join("config.json")).unwrap(), b"{}");
    fs::write(folder.join(name::UNFINISHED), "").unwrap();
    assert!(written("demo:gpt", &folder, &[]).status.success());
    assert!(folder.join(name::SCATTER).exists() && !folder.join(name::UNFINISHED).exists());
    let pictures = ["analyze", "heads", "--model", "demo:vit", "--corpus", "demo:pictures", "--headvis"];
    let other = home.path().join("pictures");
    let refused = attnscope(&[&pictures[..], &[other.to_str().unwrap()]].concat());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("no text"), "{said}");
    let broken_off = attnscope::worker::head_folder::open(&other).unwrap_err();
    assert!(broken_off.contains("not whole"), "{broken_off}");
    let of_cross = ["--stack", "cross"];
    let refused = written("demo:translate", &home.path().join("cross"), &of_cross);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("one sequence"));
}

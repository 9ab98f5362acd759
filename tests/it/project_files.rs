//! `attnscope project`: its files, the same bytes for a seed, and what it refuses.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

use crate::render::texts;

const TEXTS: [&str; 4] = ["--text", "Once upon a time there was a small dog", "--text", "The dog liked the ball"];

fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap()
}

/// Runs `project` on the bundled writer and two texts, and returns the file.
fn project(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let out = folder.join(name);
    let fixed = ["project", "--model", "demo:gpt", "--out", out.to_str().unwrap()];
    let output = attnscope(&[&fixed[..], &TEXTS, arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "nothing but results goes to stdout");
    out
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn coordinates(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn components_of_every_head_with_all_that_is_known_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let timings = folder.path().join("timings.json");
    let path = project(folder.path(), "space.json", &["--timings", timings.to_str().unwrap()]);
    let document = read_json(&path);
    assert_eq!((&document["method"], &document["parameters"]["scale"]), (&"pca".into(), &"auto".into()));
    assert_eq!(document["parameters"]["translate"], "keys");
    let tokens = document["tokens"].as_array().unwrap();
    let inputs: Vec<u64> = tokens.iter().map(|token| token["input"].as_u64().unwrap()).collect();
    assert!(inputs.is_sorted() && inputs.contains(&0) && inputs.contains(&1));
    assert!(tokens[0]["text"].is_string() && tokens[0]["id"].is_u64() && tokens[0]["position"] == 0);
    assert!(document.get("key_tokens").is_none(), "queries and keys are of the same tokens");
    let heads = document["heads"].as_array().unwrap();
    assert!(heads.len() > 4);
    for head in heads {
        let (queries, keys) = (coordinates(&head["queries"]), coordinates(&head["keys"]));
        assert_eq!((queries.len(), keys.len()), (tokens.len(), tokens.len()));
        let mean = |points: &[Vec<f64>], axis: usize| points.iter().map(|p| p[axis]).sum::<f64>() / points.len() as f64;
        assert!((0..2).all(|axis| (mean(&queries, axis) - mean(&keys, axis)).abs() < 1e-4), "keys were moved");
        assert!(head["c"].as_f64().unwrap() > 0.0);
        let correlation = &head["correlation"];
        for (when, over, of) in [
            ("before", "pooled", "pearson"),
            ("before", "per_query", "spearman"),
            ("after", "pooled", "spearman"),
            ("after", "per_query", "pearson"),
        ] {
            assert!(correlation[when][over][of].as_f64().unwrap().abs() <= 1.0, "{correlation}");
        }
        let explained: Vec<f64> = serde_json::from_value(head["explained"].clone()).unwrap();
        assert!(explained[0] >= explained[1] && explained.iter().sum::<f64>() <= 1.0 + 1e-9);
    }
    let timings = read_json(&timings);
    assert_eq!(timings["heads"].as_array().unwrap().len(), heads.len());
    assert_eq!(timings["heads"][0]["n_points"], 2 * tokens.len());
    assert!(timings["total_ms"].as_f64().unwrap() > 0.0);
}

/// The same seed gives the same file, on one thread and on two, from a run and from its capture.
#[test]
fn files_do_not_depend_on_threads_or_on_where_the_numbers_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture.safetensors");
    let arguments = ["capture", "--model", "demo:gpt", "--sites", "q,k,pattern", "--out", capture.to_str().unwrap()];
    let output = attnscope(&[&arguments[..], &TEXTS].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (method, name) in [("tsne", "space.json"), ("umap", "space.npz"), ("umap", "space.csv")] {
        let options = ["--method", method, "--heads", "L1H2,L0H0", "--iterations", "60", "--seed", "3", "--dims", "3"];
        let bytes =
            |arguments: &[&str]| fs::read(project(folder.path(), name, &[&options[..], arguments].concat())).unwrap();
        let one = bytes(&["--threads", "1"]);
        assert!(one == bytes(&["--threads", "2"]) && one == bytes(&["--threads", "3"]), "{method} as {name}");
        let out = folder.path().join(name);
        let (capture, out_name) = (capture.to_str().unwrap(), out.to_str().unwrap());
        let fixed = ["project", "--capture", capture, "--out", out_name];
        assert!(attnscope(&[&fixed[..], &options].concat()).status.success());
        assert!(one == fs::read(&out).unwrap(), "{method} of the capture");
    }
}

#[test]
fn arrays_and_lines_hold_the_same_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--heads", "L2H1"];
    let document = read_json(&project(folder.path(), "space.json", &options));
    let expected: Vec<f32> = ["queries", "keys"]
        .iter()
        .flat_map(|side| coordinates(&document["heads"][0][side]).concat())
        .map(|x| x as f32)
        .collect();
    let csv = fs::read_to_string(project(folder.path(), "space.csv", &options)).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("layer,head,side,input,position,id,text,special,x,y"));
    let of_line = |line: &str| -> Vec<f32> { line.rsplitn(3, ',').take(2).map(|x| x.parse().unwrap()).collect() };
    let drawn: Vec<f32> = lines.flat_map(|line| of_line(line).into_iter().rev().collect::<Vec<_>>()).collect();
    assert_eq!(drawn, expected);
    let npz = fs::File::open(project(folder.path(), "space.npz", &options)).unwrap();
    let mut npz = zip::ZipArchive::new(npz).unwrap();
    let mut array = |name: &str| {
        let mut bytes = Vec::new();
        npz.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        (String::from_utf8_lossy(&bytes[10..header]).into_owned(), bytes[header..].to_vec())
    };
    let n = document["tokens"].as_array().unwrap().len();
    let mut stored = Vec::new();
    for name in ["L2H1.queries.npy", "L2H1.keys.npy"] {
        let (header, bytes) = array(name);
        assert!(header.contains("'<f4'") && header.contains(&format!("({n}, 2,)")), "{header}");
        stored.extend(bytes.chunks(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])));
    }
    assert_eq!(stored, expected);
    let (header, bytes) = array("parameters.npy");
    assert!(header.contains("'<U"), "{header}");
    let text: String = bytes.chunks(4).map(|x| char::from(x[0])).collect();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["heads"]["L2H1"]["c"], document["heads"][0]["c"]);
}

/// Settings are written down, defaults included, and what had to give way is said.
#[test]
fn tsne_says_how_much_it_lost_and_what_perplexity_it_used() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("space.json");
    let fixed = ["project", "--model", "demo:gpt", "--method", "tsne", "--heads", "L0H0", "--out"];
    let output = attnscope(&[&fixed[..], &[out.to_str().unwrap()], &TEXTS].concat());
    let document = read_json(&out);
    let n = 2.0 * document["tokens"].as_array().unwrap().len() as f64;
    let parameters = &document["parameters"];
    assert_eq!((&parameters["perplexity"], &parameters["iterations"]), (&30.0.into(), &750.into()));
    assert!((parameters["perplexity_used"].as_f64().unwrap() - (n - 1.0) / 3.0).abs() < 1e-4);
    assert!(String::from_utf8_lossy(&output.stderr).contains("allow a perplexity of"), "it is said");
    assert!((0.0..2.0).contains(&document["heads"][0]["kl"].as_f64().unwrap()));
    // Keys of a translator's cross-attention are of other tokens than its queries.
    let fixed = ["project", "--model", "demo:translate", "--stack", "cross", "--text", "Good morning", "--out"];
    assert!(attnscope(&[&fixed[..], &[out.to_str().unwrap()]].concat()).status.success());
    let document = read_json(&out);
    let keys = document["key_tokens"].as_array().unwrap();
    assert_eq!(coordinates(&document["heads"][0]["keys"]).len(), keys.len());
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let refused = |arguments: &[&str], code: i32, part: &str| {
        let output = attnscope(&[&["project"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(message.contains(part), "{message}");
        assert!(!message.contains("panicked"), "{message}");
    };
    let (json, text, missing) = (path("a.json"), path("a.txt"), path("missing.safetensors"));
    let model = ["--model", "demo:gpt", "--text", "a dog", "--out"];
    let with = |out: &str, more: &[&str], code: i32, part: &str| {
        refused(&[&model[..], &[out], more].concat(), code, part);
    };
    with(&text, &[], 2, "coordinates end in .json, .npz or .csv");
    with("-", &[], 2, "coordinates end in");
    with(&json, &["--perplexity", "5"], 2, "--perplexity changes nothing with --method pca");
    with(&json, &["--method", "umap", "--perplexity", "5"], 2, "--perplexity");
    with(&json, &["--method", "tsne", "--perplexity", "0.2"], 2, "perplexity is 0.2");
    with(&json, &["--method", "umap", "--neighbors", "1"], 2, "neighbors is 1");
    with(&json, &["--scale", "0"], 2, "a number above 0");
    with(&json, &["--dims", "4"], 2, "4");
    with(&json, &["--heads", "3"], 2, "such as L3H5");
    with(&json, &["--heads", "L99H0"], 2, "no queries and keys of L99H0");
    with(&json, &["--stack", "cross"], 2, "no stack cross");
    with(&path("no/where.json"), &[], 1, "folder");
    refused(&["--capture", &missing, "--out", &json], 1, "missing.safetensors");
    refused(&["--capture", &missing, "--text", "a", "--out", &json], 2, "has its input already");
    assert!(!Path::new(&json).exists(), "nothing was written");
}

/// A figure of a corpus has the points of all of its inputs, and its numbers say whose they are.
#[test]
fn the_space_of_a_corpus_is_drawn_with_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [list, figure, data] = ["list.txt", "figure.svg", "data.json"].map(at);
    fs::write(&list, "Once upon a time\nThe dog ran home.\n").unwrap();
    let render = |more: &[&str]| {
        let fixed = ["render", "scatter", "--model", "demo:gpt", "--layer", "1", "--head", "0", "--caption", "full"];
        attnscope(&[&fixed, &["--corpus", &list, "--out", &figure][..], more].concat())
    };
    let output = render(&["--data", &data]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = texts(&fs::read(&figure).unwrap()).join(" ");
    assert!(said.contains("Model: demo:gpt; 2 inputs"), "{said}");
    let data = read_json(Path::new(&data));
    let rows = data["rows"].as_array().unwrap();
    let of = |input: u64, text: &str| {
        rows.iter().filter(|row| row["input"] == input && row["text"].as_str().unwrap().ends_with(text)).count()
    };
    // As a query and as a key.
    assert_eq!((of(0, "Once"), of(1, "Once"), of(1, "dog")), (2, 0, 2), "{rows:?}");
    assert!(data.to_string().contains("The dog ran home."), "{}", data["provenance"]);

    let sized = render(&["--size-by", "received"]);
    // The caption goes on in its next line.
    assert!(sized.status.success() && fs::read_to_string(&figure).unwrap().contains("Sizes show the"));
    let refused = render(&["--size-by", "value-norm"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("--size-by does not apply here: values are"), "{said}");
    let refused = render(&["--target", "x"]);
    assert!(refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains("leave out --text"));
}

#[test]
fn a_corpus_is_searched_and_measured_and_keeps_its_annotations() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    fs::write(&table, "text,who\nThe dog ran.,dog\nA cat saw the dog.,cat\nThe cat was happy.,cat\n").unwrap();
    let table = table.to_str().unwrap();
    let run = |name: &str, arguments: &[&str]| {
        let out = folder.path().join(name);
        let fixed = ["project", "--model", "demo:bert", "--corpus", table, "--out", out.to_str().unwrap()];
        (attnscope(&[&fixed[..], arguments].concat()), out)
    };
    let options = ["--search", "dog,cat", "--search-as", "word", "--shared", "position,annotation:who"];
    let (output, out) = run("space.json", &options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document = read_json(&out);
    let tokens = document["tokens"].as_array().unwrap();
    let hits: Vec<u64> = serde_json::from_value(document["search"]["queries"].clone()).unwrap();
    let texts: Vec<&str> = hits.iter().map(|hit| tokens[*hit as usize]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["dog", "cat", "dog", "cat"]);
    assert_eq!((&document["search"]["inputs"], &document["search"]["as"]), (&3.into(), &"word".into()));
    assert_eq!(tokens[hits[3] as usize]["annotations"]["who"], "cat");
    let heads = document["heads"].as_array().unwrap();
    let ranked: Vec<String> = serde_json::from_value(document["search"]["ranked"].clone()).unwrap();
    assert_eq!(ranked.len(), heads.len());
    let score = |name: &String| {
        let head = heads.iter().find(|head| format!("L{}H{}", head["layer"], head["head"]) == *name).unwrap();
        head["search"]["score"].as_f64().unwrap()
    };
    assert!(ranked.is_sorted_by(|a, b| score(a) >= score(b)));
    for head in heads {
        assert!(head["shared"]["annotation:who"]["any"]["chance"].as_f64().unwrap() > 0.4, "{}", head["shared"]);
        assert!(head["shared"]["position"]["among"] == 2 * tokens.len() && head["search"]["across_texts"].is_object());
        let norms = &head["norms"];
        let ratio = norms["queries"].as_f64().unwrap() / norms["keys"].as_f64().unwrap();
        assert!((norms["disparity"].as_f64().unwrap() - ratio).abs() < 1e-9);
    }
    let csv = fs::read_to_string(run("space.csv", &["--heads", "L0H0"]).1).unwrap();
    assert!(csv.starts_with("layer,head,side,input,position,id,text,special,who,x,y\n"), "{csv}");
    for (arguments, expected) in [
        (["--search", "(", "--search-as", "regex"], "this is not a regular expression: unclosed group"),
        (["--shared", "hue", "--dims", "2"], "hue cannot be shared: there is no picture"),
        (["--shared", "mood", "--dims", "2"], "choose from text, position"),
    ] {
        let output = run("no.json", &arguments).0;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{said}");
    }
}

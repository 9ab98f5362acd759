//! Corpora from files and folders, run by a model, in the program and on the command line.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

use attnscope::{
    corpus::{
        Corpus, Kept,
        list::{InputList, Item, ListOptions},
    },
    ids::Side,
    model::{Cancelled, Engine, Input, Logits, Model, RunPlan, Site, Sites, Stage, locate, uninterrupted},
    protocol::CorpusOptions,
    worker::corpus::{capture, packs, read},
};
use safetensors::SafeTensors;

fn demo(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn list(path: impl AsRef<Path>) -> InputList {
    read(path.as_ref(), &ListOptions::default()).unwrap()
}

fn bundled_picture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/corpora/pictures").join(name)
}

#[test]
fn packs_hold_inputs_of_about_the_same_length() {
    assert_eq!(packs(&[5, 3, 4, 9, 3], 8), [vec![1, 4], vec![2], vec![0], vec![3]]);
    assert_eq!(packs(&[30, 1], 8), [vec![1], vec![0]]);
    assert!(packs(&[], 8).is_empty());
}

#[test]
fn a_corpus_is_run_in_packs_and_has_the_numbers_of_single_runs() {
    let model = demo("demo:gpt");
    let sentences = list("demo:sentences");
    let n = 60;
    let list = InputList { items: sentences.items[..n].to_vec(), ..sentences };
    let mut corpus = Corpus::new(1 << 30);
    let mut seen = Vec::new();
    let mut on_pack = |corpus: &Corpus| seen.push(corpus.inputs().len());
    let options = CorpusOptions { pack_tokens: 200, ..CorpusOptions::default() };
    let run = capture(&model, &list, &mut corpus, &options, &uninterrupted, &mut on_pack).unwrap();
    assert_eq!((run.n_added, run.left_out.len(), run.full), (n, 0, None));
    assert!(seen.len() > 2 && seen[0] < n / 2, "first results come soon: {seen:?}");
    // In the order of the list, with its annotations.
    let plan = RunPlan { sites: Sites::of(&[Site::Q, Site::K]), logits: Logits::Skip, ..RunPlan::default() };
    for (idx, input) in corpus.inputs().iter().enumerate() {
        assert_eq!(input.source, idx);
        assert_eq!(corpus.annotation(idx, "source"), list.items[idx].values[0].as_deref());
    }
    for idx in [0, n / 2, n - 1] {
        let text = corpus.inputs()[idx].info.text.clone().unwrap();
        let single = model.forward(&model.encode(&Input::text(text)).unwrap(), &plan, &uninterrupted).unwrap();
        let selection = attnscope::corpus::Selection::of([idx]);
        for head in corpus.heads() {
            let space = corpus.space(head, &selection).unwrap();
            for (packed, single) in [(space.queries, single.q(head).unwrap()), (space.keys, single.k(head).unwrap())] {
                assert_eq!(packed.shape(), single.shape());
                let pairs = packed.as_slice().iter().zip(single.as_slice());
                let worst = pairs.fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs() / b.abs().max(1.0)));
                assert!(worst <= 1e-5, "{head}: {worst}");
            }
        }
    }
    // The columns were made as large as they had to be.
    let needed = Corpus::estimate_bytes(model.spec(), None, Kept::default(), |side| corpus.n_tokens(side));
    assert!(corpus.size_bytes() < needed + needed / 4, "{} {needed}", corpus.size_bytes());
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let model = demo("demo:bert");
    let sentences = list("demo:sentences");
    let list = InputList { items: sentences.items[..40].to_vec(), ..sentences };
    let options = CorpusOptions { layers: Some(vec![0, 2]), pack_tokens: 100, ..CorpusOptions::default() };
    let mut corpus = Corpus::new(1 << 30);
    let n_layers = AtomicUsize::new(0);
    let stopping = |progress: attnscope::model::Progress| {
        if progress.stage == Stage::Forward && n_layers.fetch_add(1, Ordering::Relaxed) > 25 {
            Err(Cancelled)
        } else {
            Ok(())
        }
    };
    capture(&model, &list, &mut corpus, &options, &stopping, &mut |_| {}).unwrap_err();
    let n_before = corpus.inputs().len();
    assert!((1..40).contains(&n_before), "{n_before}");
    let run = capture(&model, &list, &mut corpus, &options, &uninterrupted, &mut |_| {}).unwrap();
    assert_eq!((run.n_added, corpus.inputs().len()), (40 - n_before, 40));
    let mut whole = Corpus::new(1 << 30);
    capture(&model, &list, &mut whole, &options, &uninterrupted, &mut |_| {}).unwrap();
    assert_eq!(corpus.heads().map(|head| head.layer).collect::<BTreeSet<_>>(), BTreeSet::from([0, 2]));
    for head in whole.heads() {
        let [a, b] = [&corpus, &whole].map(|corpus| corpus.space(head, &corpus.all()).unwrap());
        assert_eq!(a.query_rows, b.query_rows);
        let pairs = a.keys.as_slice().iter().zip(b.keys.as_slice());
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-4, "{head}");
    }
}

#[test]
fn a_full_corpus_and_texts_too_long_are_told() {
    let model = demo("demo:gpt");
    let mut list = list("demo:sentences");
    let options = CorpusOptions::default();
    let per_token = Corpus::estimate_bytes(model.spec(), None, Kept::default(), |side| usize::from(side == Side::Only));
    let mut corpus = Corpus::new(per_token * 500);
    let run = capture(&model, &list, &mut corpus, &options, &uninterrupted, &mut |_| {}).unwrap();
    assert!(run.full.unwrap().to_string().starts_with("The corpus is full"));
    assert!(run.n_added > 10 && run.n_added < list.items.len(), "{}", run.n_added);
    assert!(corpus.size_bytes() <= corpus.budget_bytes());
    // An empty text cannot be run; the others can.
    list.items.truncate(3);
    list.items.insert(1, Item::text(""));
    let mut corpus = Corpus::new(1 << 30);
    let run = capture(&model, &list, &mut corpus, &options, &uninterrupted, &mut |_| {}).unwrap();
    assert_eq!((run.n_added, run.left_out.len()), (3, 1), "{run:?}");
    assert_eq!(run.left_out[0].source, 1);
    assert!(run.left_out[0].reason.contains("the text is empty"), "{}", run.left_out[0].reason);
}

#[test]
fn a_folder_of_pictures_has_labels_and_leaves_out_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for (label, name) in [("round", "circle-1.png"), ("round", "ring-2.png"), ("straight", "cross-3.png")] {
        fs::create_dir_all(folder.path().join(label)).unwrap();
        fs::copy(bundled_picture(name), folder.path().join(label).join(name)).unwrap();
    }
    fs::write(folder.path().join("broken.png"), b"\x89PNG but no more").unwrap();
    fs::write(folder.path().join("notes.txt"), b"not a picture").unwrap();
    let list = list(folder.path());
    assert_eq!(list.columns, ["label"]);
    assert_eq!(list.items.len(), 4);
    assert_eq!(list.notes, ["1 file of other kinds left out: notes.txt"]);
    let model = demo("demo:vit");
    let mut corpus = Corpus::new(1 << 30);
    let run = capture(&model, &list, &mut corpus, &CorpusOptions::default(), &uninterrupted, &mut |_| {}).unwrap();
    assert_eq!((run.n_added, run.left_out.len()), (3, 1));
    assert_eq!(run.left_out[0].name, "broken.png");
    assert!(run.left_out[0].reason.contains("picture"), "{}", run.left_out[0].reason);
    let labels: Vec<_> = (0..3).map(|input| corpus.annotation(input, "label").unwrap()).collect();
    assert_eq!(labels, ["round", "round", "straight"]);
    let image = corpus.inputs()[0].image.as_ref().unwrap();
    let (small, (rows, columns)) = (image.source.as_ref().unwrap(), image.grid);
    assert_eq!((small.width, small.height), (8 * columns, 8 * rows), "of a picture only a small copy is kept");
}

#[test]
fn bundled_corpora_can_be_run() {
    let sentences = list("demo:sentences");
    assert_eq!((sentences.items.len(), sentences.columns.len()), (200, 2));
    let texts: BTreeSet<_> = sentences.items.iter().map(|item| format!("{:?}", item.content)).collect();
    assert_eq!(texts.len(), 200, "no sentence twice");
    let pictures = list("demo:pictures");
    assert_eq!(pictures.items.len(), 32);
    let model = demo("demo:vit");
    let mut corpus = Corpus::new(1 << 30);
    let run = capture(&model, &pictures, &mut corpus, &CorpusOptions::default(), &uninterrupted, &mut |_| {}).unwrap();
    assert_eq!((run.n_added, run.left_out.len()), (32, 0));
}

#[test]
fn files_that_are_no_corpus_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let cases: [(&str, &[u8], &str); 5] = [
        ("a.csv", b"a,b\n1,2\n", "no column “text”; there are a, b"),
        ("a.safetensors", b"", "give it as --capture instead"),
        ("a.png", b"", "is a folder"),
        ("a.txt", b"\0\0", "byte 0 cannot be read"),
        ("a.jsonl", b"", "the file is empty"),
    ];
    let options = ListOptions { text_column: Some("text".to_owned()), ..ListOptions::default() };
    for (name, bytes, expected) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let said = read(&path, &options).unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains(name), "{expected}: {said}");
    }
    for (path, expected) in [
        (folder.path().join("empty"), "no pictures in this folder"),
        (folder.path().join("missing.txt"), "there is no such file, check the spelling"),
        (
            PathBuf::from("demo:words"),
            "no bundled corpus “demo:words”; there are demo:sentences, demo:pictures, demo:pairs",
        ),
    ] {
        let said = read(&path, &options).unwrap_err().to_string().to_lowercase();
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap()
}

#[test]
fn the_command_line_runs_a_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("texts.csv"), "n,story\n1,\"Once, upon\na time\"\n2,The dog ran to the garden.\n3,\n").unwrap();
    let (out, timings) = (path("out.safetensors"), path("timings.json"));
    let common = ["capture", "--model", "demo:gpt", "--sites", "q,k", "--out", &out, "--timings", &timings];
    let run = attnscope(&[&common[..], &["--corpus", &path("texts.csv"), "--text-column", "story"]].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let bytes = fs::read(&out).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let names = header.tensors();
    assert!(names.contains_key("input0/self.0.q") && names.contains_key("input1/self.5.k"), "in the order of the rows");
    assert!(!names.contains_key("input2/self.0.q"), "the empty text is left out");
    let timings: serde_json::Value = serde_json::from_slice(&fs::read(&timings).unwrap()).unwrap();
    assert_eq!(timings["forward_ms"].as_array().unwrap().len(), 1, "both went through the model at once");

    let heads = attnscope(&["analyze", "heads", "--model", "demo:gpt", "--corpus", &path("texts.csv"), "--out", "-"]);
    let result: serde_json::Value = serde_json::from_slice(&heads.stdout).unwrap();
    assert_eq!(result["parameters"]["n_inputs"], 2);

    // What the model cannot read is named and left out; the others keep their order.
    let pictures = folder.path().join("pictures");
    fs::create_dir(&pictures).unwrap();
    fs::write(pictures.join("a.png"), b"no picture").unwrap();
    for name in ["circle-1.png", "wave-4.png"] {
        fs::copy(bundled_picture(name), pictures.join(name)).unwrap();
    }
    let run = attnscope(&[
        "capture",
        "--model",
        "demo:vit",
        "--sites",
        "q",
        "--out",
        &out,
        "--corpus",
        pictures.to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && said.contains("input 1 is left out"), "{said}");
    let bytes = fs::read(&out).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().clone().unwrap();
    for (prefix, name) in [("input0/", "circle-1.png"), ("input1/", "wave-4.png")] {
        assert!(metadata[&format!("{prefix}input")].contains(name), "{metadata:?}");
    }

    // More than are made ready at once: numbers and order are those of the whole list.
    for nth in 0..32 {
        fs::copy(bundled_picture("wave-4.png"), pictures.join(format!("b{nth:02}.png"))).unwrap();
    }
    fs::write(pictures.join("z.png"), b"no picture").unwrap();
    let all = ["--corpus", pictures.to_str().unwrap(), "--out", &out, "--layers", "0", "--sites", "q"];
    let run = attnscope(&[&["capture", "--model", "demo:vit"], &all[..]].concat());
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("input 1 is left out") && said.contains("input 36 is left out"), "{said}");
    let bytes = fs::read(&out).unwrap();
    let metadata = SafeTensors::read_metadata(&bytes).unwrap().1.metadata().clone().unwrap();
    for (prefix, name) in [("input0/", "b00.png"), ("input31/", "b31.png"), ("input33/", "wave-4.png")] {
        assert!(metadata[&format!("{prefix}input")].contains(name), "{prefix}: {metadata:?}");
    }

    let wrong = attnscope(&[&common[..], &["--corpus", &path("texts.csv"), "--text-column", "text"]].concat());
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(said.contains("no column “text”; there are n, story") && said.lines().count() == 1, "{said}");
}

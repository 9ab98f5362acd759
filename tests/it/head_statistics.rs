//! Statistics of heads over many inputs: worked examples, a dense computation on stored patterns, bytes.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use attnscope::{
    analysis::{
        attention,
        detect::{Detector, TokenCounts, Undefined},
        head_statistics::{HeadStatistics, Metric, Quantity, Statistic},
    },
    capture::{Capture, CaptureParts, InputInfo, LayerCapture, PerHead, Site, SiteValues, StackCapture, Token},
    ids::{CaptureId, HeadId, Side, StackKind},
    model::{self, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
    spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

const ONLY: HeadId = HeadId::single(0, 0);

/// A causal head with this pattern on these tokens; one that is a word is a full stop.
fn toy(ids: &[u32], stop: Option<u32>, rows: &[&[f32]]) -> Capture {
    toy_with_scores(ids, stop, rows, None)
}

/// The same with the scores `[query, key]` that were recorded, where there are any.
fn toy_with_scores(ids: &[u32], stop: Option<u32>, rows: &[&[f32]], scores: Option<&[f32]>) -> Capture {
    let n = ids.len();
    let token = |id: &u32| {
        let text = if stop == Some(*id) { ".".to_owned() } else { id.to_string() };
        Token { id: Some(*id), text, ..Token::default() }
    };
    let mut pattern = vec![0.0; n * n];
    for (into, row) in pattern.chunks_mut(n).zip(rows) {
        into[..row.len()].copy_from_slice(row);
    }
    let mut sites = SiteValues::default();
    sites.set(Site::Pattern, PerHead::new(pattern, [1, n, n]).unwrap());
    if let Some(scores) = scores {
        sites.set(Site::Scores, PerHead::new(scores.to_vec(), [1, n, n]).unwrap());
    }
    let layer = LayerSpec::new(1, 4);
    Capture::new(CaptureParts {
        id: CaptureId(1),
        model: Arc::new(ModelSpec {
            name: "toy".to_owned(),
            family: "gpt2".to_owned(),
            modality: Modality::Text(TextSpec::new(64, 100)),
            stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers: vec![layer], causal: true }],
            d_model: 4,
            n_params: 1,
            head: None,
            checkpoint: None,
        }),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, ids.iter().map(token).collect())]),
        stacks: vec![StackCapture { layers: vec![LayerCapture::of(sites)], ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: BTreeMap::new(),
        computation: attnscope::capture::Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

fn of(captures: &[Capture]) -> HeadStatistics {
    let mut statistics = HeadStatistics::new(captures[0].model());
    let counts = TokenCounts::of_captures(captures);
    captures.iter().enumerate().for_each(|(source, capture)| statistics.add(source, capture, Some(&counts)));
    statistics
}

fn value(statistics: &HeadStatistics, name: &str) -> Option<Statistic> {
    statistics.stacks()[0].head(ONLY).unwrap().statistic(Metric::from_name(name).unwrap())
}

fn check(statistics: &HeadStatistics, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = value(statistics, name).unwrap_or_else(|| panic!("{name} is not defined")).value;
        assert!((found - expected).abs() < 1e-6, "{name}: {found} instead of {expected}");
    }
}

#[test]
fn numbers_of_the_worked_example() {
    let rows: [&[f32]; 5] =
        [&[1.0], &[0.6, 0.4], &[0.5, 0.3, 0.2], &[0.2, 0.1, 0.6, 0.1], &[0.3, 0.005, 0.1, 0.5, 0.095]];
    let statistics = of(&[toy(&[9, 5, 6, 5, 6], Some(5), &rows)]);
    check(
        &statistics,
        &[
            ("itself", 0.19875),
            ("previous", 0.5),
            ("first", 0.4),
            ("duplicate", 0.1),
            ("induction", 0.55),
            // What shuffled rows have is 1/4 and 1/5.
            ("induction-gain", 0.325),
            // The first token is the only one that is there once: rows 1 and 2 look at it most.
            ("rare", 0.5),
            ("rare-gain", 0.179_167),
            ("entropy", 0.795_940),
            ("entropy-fraction", 0.857_971),
            ("token-distance", 1.043),
            ("distance-variance", 1.201_151),
            // 1.815 on the mass 2.4.
            ("distance-off-first", 0.75625),
            ("activation", 0.6),
            // The largest weights are on the query and 1, 2, 1 and 1 back; the first query has no choice.
            ("positional", 0.75),
            // Positions 1 and 3: 0.4 + 0.3 + 0.2 + 0.505 of what uniform attention has, 1/2 + 1/3 + 2/4 + 2/5.
            ("delimiter-ratio", 1.405 / (0.5 + 1.0 / 3.0 + 0.5 + 0.4)),
        ],
    );
    let head = statistics.stacks()[0].head(ONLY).unwrap();
    let profile: Vec<f64> = head.offsets().profile().map(|(_, mean)| mean).collect();
    for (found, expected) in profile.iter().rev().zip([0.359, 0.5, 0.233_333, 0.1025, 0.3]) {
        assert!((found - expected).abs() < 1e-6, "{profile:?}");
    }
    assert_eq!(head.offsets().best().unwrap().0, -1);
    for (found, expected) in head.offsets().bins().iter().zip([1.795, 2.0, 0.905, 0.3, 0.0]) {
        assert!((found - expected).abs() < 1e-6, "{:?}", head.offsets().bins());
    }
    for (name, reason) in [
        ("next", Undefined::Causal),
        ("special", Undefined::NoSpecial),
        ("hue", Undefined::NoPatches),
        ("sink", Undefined::NoSink),
        ("relative-distance", Undefined::OneSequence),
        ("signed-distance", Undefined::Causal),
    ] {
        let metric = Metric::from_name(name).unwrap();
        assert_eq!(value(&statistics, name), None, "{name} is not 0");
        assert_eq!(statistics.stacks()[0].undefined(metric).collect::<Vec<_>>(), [(reason, 1)], "{name}");
    }
    assert_eq!(value(&statistics, "previous").unwrap().error, None, "one input has no standard error");
}

#[test]
fn scores_are_told_from_weights() {
    // Softmax of the scores 1, 2, 0, which have the mean 1 and the deviation √(2/3).
    let weights = [0.244_728_47, 0.665_240_97, 0.090_030_57];
    let statistics = of(&[toy(&[1, 2, 3], None, &[&[1.0], &[0.5, 0.5], &weights])]);
    let deviation = (2.0f64 / 3.0).sqrt();
    check(&statistics, &[("score-spread", deviation), ("score-margin", 1.0), ("score-z", 1.0 / deviation)]);
    assert_eq!(value(&statistics, "score-spread").unwrap().n_rows, 1, "two keys have no shape");
}

#[test]
fn scores_behind_weights_that_vanish_are_those_that_were_recorded() {
    const NO: f32 = f32::NEG_INFINITY;
    let rows: [&[f32]; 3] = [&[1.0], &[0.5, 0.5], &[0.0, 1.0, 0.0]];
    assert_eq!(value(&of(&[toy(&[1, 2, 3], None, &rows)]), "score-spread"), None, "0 has no logarithm");
    // The scores 0, 300, 150 of the last row have the mean 150 and the deviation √15000.
    let scores = [0.0, NO, NO, 0.0, 0.0, NO, 0.0, 300.0, 150.0];
    let statistics = of(&[toy_with_scores(&[1, 2, 3], None, &rows, Some(&scores))]);
    let deviation = 15_000f64.sqrt();
    check(&statistics, &[("score-spread", deviation), ("score-margin", 150.0), ("score-z", 150.0 / deviation)]);
    assert_eq!(value(&statistics, "score-spread").unwrap().n_rows, 1);
}

#[test]
fn inputs_without_a_row_that_qualifies_are_counted_and_change_nothing() {
    let repeated = toy(&[1, 2, 3, 1], None, &[&[1.0], &[0.5, 0.5], &[0.2, 0.3, 0.5], &[0.1, 0.6, 0.2, 0.1]]);
    let other = toy(&[1, 2], None, &[&[1.0], &[0.3, 0.7]]);
    let statistics = of(&[repeated, other]);
    let induction = value(&statistics, "induction").unwrap();
    assert_eq!((induction.n_rows, induction.n_inputs, induction.error), (1, 1, None));
    assert!((induction.value - 0.6).abs() < 1e-6, "{induction:?}");
    let metric = Metric::Kind(Detector::Induction);
    assert_eq!(statistics.stacks()[0].undefined(metric).collect::<Vec<_>>(), [(Undefined::NoRepetition, 1)]);
    let previous = value(&statistics, "previous").unwrap();
    // Rows count, not inputs: 0.5, 0.3 and 0.2, then 0.3.
    assert!((previous.value - 0.325).abs() < 1e-6 && previous.n_rows == 4 && previous.n_inputs == 2);
    let tables = statistics.tables();
    assert!(tables[0].undefined.contains(&(Metric::Kind(Detector::Next), Undefined::Causal)));
    assert_eq!(tables[0].cell(metric, ONLY).unwrap().rank_text(), "1st of 1");
}

fn open(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn captures(model: &Model, texts: &[&str]) -> Vec<Capture> {
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), logits: Logits::Skip, ..RunPlan::default() };
    let run = |text: &&str| model.forward(&model.encode(&Input::text(*text)).unwrap(), &plan, &uninterrupted).unwrap();
    texts.iter().map(run).collect()
}

const TEXTS: [&str; 5] = [
    "The cat sat on the mat, and the dog sat on the rug.",
    "One day a little girl saw a big red ball.",
    "Tom had a boat. Tom had a dog. Tom was happy.",
    "She ran, and ran, and ran.",
    "The sun is up.",
];

/// One pair of a query and a key that it sees.
struct Pair {
    query: usize,
    key: usize,
    weight: f64,
}

/// A number of a row: an input, the query and its pairs.
type RowStatistic<'a> = dyn Fn(&Capture, usize, &[Pair]) -> Option<f64> + 'a;

/// The mean over all rows of all inputs of what `row` says, on stored patterns, with the standard error over inputs.
fn dense(captures: &[Capture], head: HeadId, row: &RowStatistic<'_>) -> [f64; 2] {
    let causal = captures[0].model().stacks[0].causal;
    let of_input = |capture: &Capture| {
        let pattern = attention::pattern(capture, head).unwrap();
        let n = pattern.n_rows();
        let pairs = |query: usize| -> Vec<Pair> {
            let keys = 0..if causal { query + 1 } else { n };
            keys.map(|key| Pair { query, key, weight: f64::from(pattern.get(query, key).unwrap()) }).collect()
        };
        let rows: Vec<f64> = (0..n).filter_map(|query| row(capture, query, &pairs(query))).collect();
        [rows.iter().sum::<f64>(), rows.len() as f64]
    };
    let inputs: Vec<[f64; 2]> = captures.iter().map(of_input).filter(|[_, n]| *n > 0.0).collect();
    let [sum, n] = inputs.iter().fold([0.0; 2], |all, one| [all[0] + one[0], all[1] + one[1]]);
    let (mean, m) = (sum / n, inputs.len() as f64);
    let residuals: f64 = inputs.iter().map(|[sum, n]| (sum - mean * n).powi(2)).sum();
    [mean, (residuals / (m * (m - 1.0))).sqrt() / (n / m)]
}

#[test]
fn sums_are_those_of_a_dense_computation_on_stored_patterns() {
    for name in ["demo:gpt", "demo:bert"] {
        let model = open(name);
        let captures = captures(&model, &TEXTS);
        let statistics = of(&captures);
        let stack = &statistics.stacks()[0];
        let id = |capture: &Capture, at: usize| capture.tokens(Side::Only)[at].id;
        for head in stack.ids() {
            let check = |metric: Metric, row: &RowStatistic<'_>| {
                let [mean, error] = dense(&captures, head, row);
                let found = stack.head(head).unwrap().statistic(metric).unwrap();
                assert!((found.value - mean).abs() < 1e-9, "{name} {head} {metric:?}: {found:?} instead of {mean}");
                assert!((found.error.unwrap() - error).abs() < 1e-7, "{name} {head} {metric:?}: {found:?}, {error}");
            };
            let mass = |pairs: &[Pair], wanted: &dyn Fn(&Pair) -> bool| -> f64 {
                pairs.iter().filter(|pair| wanted(pair)).map(|pair| pair.weight).sum()
            };
            check(Metric::Kind(Detector::Previous), &|_, query, pairs| {
                (query > 0).then(|| mass(pairs, &|pair| pair.key + 1 == query))
            });
            check(Metric::Of(Quantity::Entropy), &|_, _, pairs| {
                let part = |pair: &Pair| if pair.weight > 0.0 { -pair.weight * pair.weight.ln() } else { 0.0 };
                Some(pairs.iter().map(part).sum())
            });
            check(Metric::Of(Quantity::TokenDistance), &|_, _, pairs| {
                Some(pairs.iter().map(|pair| pair.weight * pair.key.abs_diff(pair.query) as f64).sum())
            });
            check(Metric::Kind(Detector::Induction), &|capture, query, pairs| {
                let is_target = |key: usize| key > 0 && key < query && id(capture, key - 1) == id(capture, query);
                (1..query).any(is_target).then(|| mass(pairs, &|pair| is_target(pair.key)))
            });
            check(Metric::Of(Quantity::Local), &|_, query, pairs| {
                let is_near = |pair: &Pair| pair.key != query && pair.key.abs_diff(query) <= 3;
                pairs.iter().any(is_near).then(|| mass(pairs, &is_near))
            });
            let special = |capture: &Capture, key: usize| capture.tokens(Side::Only)[key].special;
            check(Metric::Kind(Detector::Confidence), &|capture, query, pairs| {
                let weights = pairs.iter().filter(|pair| !special(capture, pair.key)).map(|pair| pair.weight);
                weights.reduce(f64::max).filter(|_| !special(capture, query))
            });
        }
    }
}

#[test]
fn bytes_do_not_depend_on_threads_and_come_back_bit_by_bit() {
    let model = open("demo:gpt");
    let captures = captures(&model, &TEXTS);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| of(&captures)).to_bytes().unwrap()
    };
    let bytes = on(1);
    assert!(bytes == on(2), "one thread and two");
    let again = HeadStatistics::from_bytes(&bytes, model.spec()).unwrap();
    assert!(again.to_bytes().unwrap() == bytes);
    assert_eq!(again.inputs(), [0, 1, 2, 3, 4]);
    assert_eq!(HeadStatistics::from_bytes(&bytes[..bytes.len() - 1], model.spec()), None);
    assert_eq!(HeadStatistics::from_bytes(&bytes, open("demo:bert").spec()), None);
}

/// The program with an empty cache, and what it wrote.
fn attnscope(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attnscope"));
    command.args(["analyze", "heads", "--threads", "2"]).args(arguments).env("HF_HUB_CACHE", "no-cache");
    command
}

fn heads(arguments: &[&str]) -> serde_json::Value {
    let output = attnscope(&[arguments, &["--out", "-"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn corpus(folder: &Path, n: usize) -> String {
    let path = folder.join("texts.txt");
    let lines: Vec<String> = (0..n).map(|nth| format!("{} And then {nth} more.", TEXTS[nth % TEXTS.len()])).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_pass_that_was_killed_ends_with_the_numbers_of_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let (texts, state) = (corpus(folder.path(), 90), folder.path().join("sums"));
    let state = state.to_str().unwrap();
    let asked = ["--model", "demo:gpt", "--corpus", &texts];
    let whole = heads(&asked);
    let resumed = [&asked[..], &["--resume", state, "--keep-every", "1"]].concat();
    let mut child = attnscope(&resumed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !Path::new(state).exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let model = open("demo:gpt");
    let header = fs::read(state).unwrap();
    let end = header.iter().skip(30).position(|byte| *byte == b'\n').unwrap() + 31;
    let sums = HeadStatistics::from_bytes(&header[end..], model.spec()).unwrap();
    assert!((1..90).contains(&sums.inputs().len()), "killed on the way: {}", sums.inputs().len());
    assert_eq!(heads(&resumed), whole);
    assert_eq!(heads(&resumed), whole, "a pass that is done is not run again");

    let refused = |arguments: &[&str], words: &[&str]| {
        let output = attnscope(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.iter().all(|word| stderr.contains(word)), "{stderr}");
    };
    refused(&["--model", "demo:bert", "--corpus", &texts, "--resume", state], &["another model", "sums"]);
    let mut bytes = fs::read(state).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(state, bytes).unwrap();
    refused(&resumed, &["damaged"]);
    refused(&["--model", "demo:gpt", "--text", "a", "--resume", state], &["--corpus"]);
    refused(&[&asked[..], &["--metrics", "nothing"]].concat(), &["induction-gain"]);
    refused(&[&asked[..], &["--head", "L9H9"]].concat(), &["L9H9"]);
}

/// The heads with the highest numbers.
fn best(document: &serde_json::Value, stack: &str, metric: &str, n: usize) -> Vec<(u64, f64, u64)> {
    let heads = document["result"][stack]["heads"].as_array().unwrap();
    let number = |head: &serde_json::Value| {
        let cell = &head["metrics"][metric];
        Some((head["layer"].as_u64()?, cell["value"].as_f64()?, cell["rank"].as_u64()?))
    };
    let mut numbers: Vec<_> = heads.iter().filter_map(number).collect();
    numbers.sort_by(|a, b| b.1.total_cmp(&a.1));
    numbers.truncate(n);
    numbers
}

#[test]
fn known_heads_are_found_without_being_told() {
    let folder = tempfile::tempdir().unwrap();
    let texts = corpus(folder.path(), 40);
    let gpt = heads(&["--model", "demo:gpt", "--corpus", &texts]);
    let [(layer, score, rank)] = best(&gpt, "self", "previous", 1)[..] else { panic!() };
    assert!(layer == 0 && score > 0.5 && rank == 1, "{layer} {score}");
    let [(layer, score, _)] = best(&gpt, "self", "induction", 1)[..] else { panic!() };
    assert!(layer == 1 && score > 0.3, "{layer} {score}");
    let named = gpt["result"]["self"]["heads"].as_array().unwrap();
    assert!(named.iter().any(|head| head["kinds"].as_array().unwrap().contains(&"induction".into())));
    assert_eq!(gpt["result"]["self"]["undefined"]["next"], "a causal head sees no token after its query");

    let translator = heads(&["--model", "demo:translate", "--corpus", &texts]);
    let cross = &translator["result"]["cross"];
    assert!(cross["undefined"]["previous"].is_string() && cross["metrics"]["relative-distance"].is_object());
    let vision = heads(&["--model", "demo:vit", "--corpus", "demo:pictures", "--metrics", "distance,previous"]);
    let of = &vision["result"]["self"];
    assert_eq!(of["undefined"]["previous"], "patches of a picture have no order");
    assert!(of["metrics"]["distance"].is_object() && of["metrics"]["entropy"].is_null(), "only those that were named");

    let table = folder.path().join("heads.csv");
    let table = table.to_str().unwrap();
    let written = attnscope(&["--model", "demo:gpt", "--corpus", &texts, "--out", table]).status().unwrap();
    assert!(written.success());
    let table = fs::read_to_string(table).unwrap();
    assert!(
        table.starts_with("stack,layer,head,metric,value,error,n,inputs,rank,of\nself,0,0,previous,0."),
        "{table:.200}"
    );
    let page = attnscope(&["--model", "demo:gpt", "--corpus", &texts, "--head", "L1H0"]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains(" of ") && page.contains("induction"), "{page}");
}

#[test]
fn heads_over_two_corpora_or_of_two_models_are_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.txt", "b.txt"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&a, TEXTS.join("\n")).unwrap();
    fs::write(&b, ["The dog ran.", "A cat, a cat, a cat.", "He was sad. He was sad. He was sad."].join("\n")).unwrap();
    let asked = ["--model", "demo:gpt", "--corpus", &a, "--metrics", "entropy,induction,previous"];
    let result = heads(&[&asked[..], &["--against", &b]].concat());
    let model = open("demo:gpt");
    let texts = |path: &str| fs::read_to_string(path).unwrap();
    let [of_a, of_b] = [&a, &b].map(|path| {
        let texts = texts(path);
        let lines: Vec<&str> = texts.lines().collect();
        captures(&model, &lines)
    });
    // The mean entropy of each input, from its stored pattern.
    let means = |captures: &[Capture], head: HeadId| -> Vec<f64> {
        let entropy = |capture: &Capture| {
            let pattern = attention::pattern(capture, head).unwrap();
            let of_row = |row: &[f32]| -> f64 {
                let parts = row.iter().filter(|weight| **weight > 0.0).map(|weight| f64::from(*weight));
                -parts.map(|weight| weight * weight.ln()).sum::<f64>()
            };
            pattern.rows().map(of_row).sum::<f64>() / pattern.n_rows() as f64
        };
        captures.iter().map(entropy).collect()
    };
    let told = &result["result"]["self"]["heads"];
    let heads_told = told.as_array().unwrap();
    assert_eq!(heads_told.len(), of_a[0].model().stacks[0].layers.iter().map(|layer| layer.n_heads).sum::<usize>());
    for told in heads_told {
        let head = HeadId::single(told["layer"].as_u64().unwrap() as usize, told["head"].as_u64().unwrap() as usize);
        let cell = &told["metrics"]["entropy"];
        let sides = [means(&of_a, head), means(&of_b, head)];
        let [mean_a, mean_b] = sides.clone().map(|side| side.iter().sum::<f64>() / side.len() as f64);
        let found = cell["contrast"]["difference"].as_f64().unwrap();
        assert!((found - (mean_b - mean_a)).abs() < 1e-5, "{head}: {found}");
        assert_eq!((cell["a"]["inputs"].as_u64(), cell["b"]["inputs"].as_u64()), (Some(5), Some(3)));
        let (p, corrected) = (&cell["contrast"]["p"], &cell["contrast"]["p_corrected"]);
        assert!(corrected.as_f64() >= p.as_f64() && corrected.as_f64() <= Some(1.0), "{cell}");
    }
    // A model against itself: no difference, and nothing is found.
    let same = heads(&[&asked[..], &["--against-model", "demo:gpt", "--correction", "benjamini-hochberg"]].concat());
    let cell = &same["result"]["self"]["heads"][0]["metrics"]["entropy"]["contrast"];
    assert_eq!((cell["difference"].as_f64(), cell["p"].as_f64()), (Some(0.0), Some(1.0)));
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = attnscope(&[&asked[..], arguments].concat()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.iter().all(|word| stderr.contains(word)), "{stderr}");
    };
    refused(&["--against-model", "demo:bert"], &["same layout", "causal"]);
    refused(&["--against", &b, "--correction", "none"], &["benjamini-hochberg"]);
    let text = attnscope(&[&asked[..], &["--against", &b]].concat()).output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&text).contains("Cohen’s d"));
}

#[test]
fn classes_and_losses_of_a_corpus_are_held_against_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attnscope"));
        command.args(["analyze", "accuracy", "--threads", "2"]).args(arguments).env("HF_HUB_CACHE", "no-cache");
        command.output().unwrap()
    };
    let told = |arguments: &[&str]| -> serde_json::Value {
        let output = analyze(&[arguments, &["--out", "-"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["result"].clone()
    };
    let reviews = folder.path().join("reviews.csv");
    let rows = "text,label,stars\na wonderful film,positive,5\na dull and boring mess,negative,3\na wonderful film,negative,4\n";
    fs::write(&reviews, rows).unwrap();
    let reviews = reviews.to_str().unwrap();
    let result = told(&["--model", "demo:bilstm", "--corpus", reviews]);
    let inputs = result["inputs"].as_array().unwrap();
    let probability = |at: usize| inputs[at]["probability"].as_f64().unwrap();
    let loss = |at: usize| inputs[at]["loss"].as_f64().unwrap();
    assert_eq!((&inputs[0]["right"], &inputs[2]["right"]), (&true.into(), &false.into()));
    assert!((loss(0) + probability(0).ln()).abs() < 1e-9, "the loss of a right class is that of its probability");
    // One text under both labels of two classes: their probabilities sum to 1.
    assert!(((-loss(0)).exp() + (-loss(2)).exp() - 1.0).abs() < 1e-9);
    let counts: u64 = result["confusion"]["counts"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!((counts, result["accuracy"]["n"].as_u64()), (3, Some(3)));
    let text = analyze(&["--model", "demo:bilstm", "--corpus", reviews]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("3 labelled inputs"));

    // A language model: minus the logarithm of what its last rows say of the next token.
    let texts = corpus(folder.path(), 3);
    let result = told(&["--model", "demo:gpt", "--corpus", &texts]);
    let model = open("demo:gpt");
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, ..RunPlan::default() };
    for (nth, line) in fs::read_to_string(&texts).unwrap().lines().enumerate() {
        let capture = model.forward(&model.encode(&Input::text(line)).unwrap(), &plan, &uninterrupted).unwrap();
        let (logits, tokens) = (capture.logits().unwrap(), capture.tokens(Side::Only));
        let loss = |at: usize| {
            let row = logits.row(at).unwrap();
            let total: f64 = row.iter().map(|logit| f64::from(*logit).exp()).sum();
            total.ln() - f64::from(row[tokens[at + 1].id.unwrap() as usize])
        };
        let n = tokens.len() - 1;
        let mean = (0..n).map(loss).sum::<f64>() / n as f64;
        let found = &result["inputs"][nth];
        assert!((found["loss"].as_f64().unwrap() - mean).abs() < 1e-5, "{found} {mean}");
        assert_eq!(found["tokens"].as_u64(), Some(n as u64));
    }
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = analyze(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.iter().all(|word| stderr.contains(word)), "{stderr}");
    };
    refused(&["--model", "demo:bilstm", "--corpus", reviews, "--label-column", "rating"], &["rating", "label"]);
    refused(&["--model", "demo:bilstm", "--corpus", reviews, "--label-column", "stars"], &["5", "class"]);
    refused(&["--model", "demo:bert", "--corpus", reviews], &["classifier"]);
}

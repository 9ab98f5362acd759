//! One weight step by step: every step against what was recorded, in the window and as a figure.

use std::{collections::BTreeSet, fs, io::Cursor};

use attnscope::{
    analysis::{
        attention::ScoreStep,
        by_hand::{Numbers, ScorerKind},
        chain::{Against, Chain, Over, Step, StepKind},
        explain::edges::PartsBy,
    },
    capture::{
        Bend, Capture, Cut, Edit, Knockout, Scope,
        file::{self, Contents, Format},
    },
    figure::{
        ViewKind, ViewOptions,
        pen::Medium,
        views::why::{WhyOptions, WhyScene},
    },
    ids::{CaptureId, HeadId},
    lab::{EdgeOptions, MethodCall, Than},
    model::{Logits, RunPlan, Sites, uninterrupted},
    raster::ColorMap,
    session::{Command, Focus, SelectionCommand},
    spec::PatternKind,
};
use eframe::egui::{Key, Role, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use serde_json::Value;

use crate::{
    families::{families, open},
    render::attnscope,
    support::window::{Window, with_text},
    views::{Stage, sentence},
};

/// Single precision on the way from one recorded value to the next.
const NEAR: f32 = 1e-6;

fn everything(name: &str, edits: Vec<Edit>) -> Capture {
    let (model, reference) = open(name);
    let edits = if edits.is_empty() { reference.edits() } else { edits };
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Skip, edits, ..RunPlan::default() };
    model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
}

fn heads(capture: &Capture) -> Vec<HeadId> {
    let layers =
        capture.model().stacks.iter().flat_map(|stack| {
            stack.layers.iter().enumerate().map(move |(layer, spec)| (stack.kind, layer, spec.n_heads))
        });
    let all = layers.flat_map(|(stack, layer, n)| (0..n).map(move |head| HeadId { stack, layer, head }));
    // No query of a layer with a state or a convolution is compared with a key.
    all.filter(|head| capture.model().pattern_of(*head) == Some(PatternKind::Distribution)).collect()
}

/// The chains of the first, a middle and the last query of every head, with their strongest keys.
fn chains(capture: &Capture) -> Vec<Chain> {
    let of_head = |head: HeadId| {
        let n = capture.query_tokens(head.stack).len();
        [0, n / 2, n - 1].map(|query| {
            let (query, key) = Chain::pair(capture, head, [Some(query), None]).unwrap();
            Chain::of(capture, head, query, key, Against::Nothing).unwrap()
        })
    };
    heads(capture).into_iter().flat_map(of_head).collect()
}

fn step(chain: &Chain, is_meant: impl Fn(StepKind) -> bool) -> Option<&Step> {
    chain.steps.iter().find(|step| is_meant(step.kind))
}

#[test]
fn every_step_of_every_family_is_what_was_recorded() {
    let mut wrong = Vec::new();
    for name in families() {
        let capture = everything(&name, Vec::new());
        for chain in chains(&capture) {
            let kinds: Vec<StepKind> = chain.steps.iter().map(|step| step.kind).collect();
            for step in &chain.steps {
                if step.deviation.is_some_and(|far| far.is_nan() || far > NEAR) {
                    wrong.push(format!("{name} {}: {:?} is off by {:?}", chain.head, step.kind, step.deviation));
                }
            }
            let begins = [StepKind::Products, StepKind::Weighted, StepKind::Scores];
            let has_products = begins.iter().any(|kind| kinds.contains(kind));
            let has_rest = [StepKind::Weighed, StepKind::Mixed].iter().all(|kind| kinds.contains(kind));
            if !has_products || !has_rest {
                wrong.push(format!("{name} {}: {kinds:?}", chain.head));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn scorers_with_a_hidden_layer_begin_with_what_query_and_key_bring_to_it() {
    for (name, is_learned) in [
        ("rnnsearch-additive", false),
        ("pointer", false),
        ("bilstm", true),
        ("bilstm-sparsemax", true),
        ("bilstm-rationale", true),
        ("han", true),
    ] {
        let capture = everything(name, Vec::new());
        for chain in chains(&capture) {
            let of = |kind: StepKind| step(&chain, |own| own == kind).map(|step| &step.values);
            let first = if is_learned { StepKind::HiddenKey } else { StepKind::HiddenQuery };
            assert_eq!(chain.steps[0].kind, first, "{name}");
            let (key, bent) = (of(StepKind::HiddenKey).unwrap(), of(StepKind::Bent(Bend::Tanh)).unwrap());
            let sum = of(StepKind::HiddenSum).unwrap_or(key);
            if let Some(query) = of(StepKind::HiddenQuery) {
                assert!(sum.iter().zip(query).zip(key).all(|((sum, q), k)| (sum - (q + k)).abs() <= NEAR), "{name}");
            }
            assert!(bent.iter().zip(sum).all(|(bent, sum)| (bent - sum.tanh()).abs() <= NEAR), "{name}");
            let score = step(&chain, |kind| kind == StepKind::Weighted).unwrap().sum();
            assert!((score - f64::from(of(StepKind::Energies).unwrap()[chain.key])).abs() < f64::from(NEAR), "{name}");
            let compared = chain.steps.iter().filter(|step| step.over == Over::Keys && step.deviation.is_some());
            assert_eq!(compared.count(), 2, "{name}: scores and weights are held against the record");
            assert!(chain.steps.iter().all(|step| step.deviation.is_none_or(|far| far <= NEAR)), "{name}");
        }
        let mut bytes = Vec::new();
        file::write(&[&capture], Contents::ALL, &mut bytes).unwrap();
        let read = file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(99)).unwrap();
        assert_eq!(chains(&read[0]).len(), chains(&capture).len());
        for (read, own) in chains(&read[0]).iter().zip(chains(&capture)) {
            assert_eq!(read.steps, own.steps, "{name}: a capture file keeps the hidden layer");
        }
    }
    for scorer in ["Additive", "Mlp"] {
        let kind = ScorerKind::ALL.into_iter().find(|kind| format!("{kind:?}") == scorer).unwrap();
        let plain = Numbers::example(0).unwrap();
        let numbers = Numbers { scorer: kind.scorer(plain.width()), ..plain };
        let capture = numbers.capture("by hand", CaptureId(1)).unwrap();
        for chain in chains(&capture) {
            assert_eq!(chain.steps[0].kind, StepKind::HiddenQuery, "{scorer}");
            assert!(chain.steps.iter().all(|step| step.deviation.is_none_or(|far| far <= NEAR)), "{scorer}");
        }
    }
}

#[test]
fn products_add_up_to_the_score_and_differences_to_the_quotient_of_weights() {
    for name in ["gpt2", "llama", "bert"] {
        let capture = everything(name, Vec::new());
        for chain in chains(&capture) {
            let Some(scaled) = step(&chain, |kind| matches!(kind, StepKind::Score(ScoreStep::Scale(_)))) else {
                panic!("{name} scales its scores");
            };
            let StepKind::Score(ScoreStep::Scale(scale)) = scaled.kind else { unreachable!() };
            let products = |chain: &Chain| step(chain, |kind| kind == StepKind::Products).unwrap().sum();
            let score = f64::from(scaled.values[chain.key]);
            assert!((products(&chain) * f64::from(scale) - score).abs() < 1e-4 * score.abs().max(1.0));
            let next = Chain::of(&capture, chain.head, chain.query, chain.key, Against::Next).unwrap();
            let Some(other) = next.compared else { continue };
            let [a, b] = [chain.key, other].map(|key| f64::from(chain.weights[key]).ln());
            let difference = products(&next) * f64::from(scale);
            assert!((difference - (a - b)).abs() < 1e-3 * (a - b).abs().max(1.0), "{name}: {difference}, {}", a - b);
            let mean = Chain::of(&capture, chain.head, chain.query, chain.key, Against::Mean).unwrap();
            let seen: Vec<f64> = (0..chain.weights.len())
                .filter(|key| chain.weights[*key] > 0.0)
                .map(|key| f64::from(scaled.values[key]))
                .collect();
            let centred = score - seen.iter().sum::<f64>() / seen.len() as f64;
            assert!((products(&mean) * f64::from(scale) - centred).abs() < 1e-3 * score.abs().max(1.0), "{name}");
        }
    }
}

#[test]
fn a_changed_run_has_its_change_as_a_step() {
    let head = HeadId::single(0, 0);
    let (scope, edges) = (Scope::Heads(vec![head]), vec![[3, 1]]);
    let cut = Edit::Knockout(Knockout { stack: head.stack, scope, edges, cut: Cut::Scores });
    let capture = everything("gpt2", vec![cut]);
    let chain = Chain::of(&capture, head, 3, 2, Against::Nothing).unwrap();
    let changed = step(&chain, |kind| kind == StepKind::Score(ScoreStep::Change)).unwrap();
    assert_eq!(changed.values[1], f32::NEG_INFINITY);
    assert_eq!(chain.weights[1], 0.0);
    assert!(chain.steps.iter().all(|step| step.deviation.is_none_or(|far| far <= NEAR)));
}

#[test]
fn the_strongest_weight_off_the_first_and_special_tokens_is_looked_at_first() {
    let capture = sentence();
    let head = HeadId::single(1, 0);
    let (query, key) = Chain::pair(&capture, head, [None, None]).unwrap();
    let tokens = capture.query_tokens(head.stack);
    assert!(key != 0 && key != query && !tokens[query].special && !tokens[key].special, "{query} {key}");
    assert_eq!(Chain::pair(&capture, head, [Some(2), Some(5)]), Some((2, 5)), "what is held stays");
    assert_eq!(Chain::pair(&capture, head, [Some(2), None]).unwrap().0, 2);
    assert_eq!(Chain::pair(&capture, head, [None, Some(4)]).unwrap().1, 4);
}

#[test]
fn of_many_columns_the_largest_are_drawn_in_the_same_places_of_every_step() {
    let capture = everything("gpt2", Vec::new());
    let chain = Chain::of(&capture, HeadId::single(0, 1), 4, 0, Against::Nothing).unwrap();
    for over in [Over::Vector, Over::Keys, Over::Value, Over::Heads, Over::Stream] {
        let columns = chain.columns(over, 4);
        assert!(columns.len() == 4 && columns.is_sorted(), "{over:?}");
        for step in chain.steps.iter().filter(|step| step.over == over) {
            let rest = step.rest(&columns).unwrap();
            let shown: f64 = columns.iter().map(|column| f64::from(step.values[*column])).sum();
            assert_eq!(rest.n + 4, step.values.len());
            assert!(shown.is_infinite() || (shown + rest.sum - step.sum()).abs() < 1e-6 || step.sum().is_infinite());
        }
    }
    assert!(chain.columns(Over::Keys, 4).contains(&0), "the key that is looked at is shown, however small");
}

#[test]
fn a_key_is_pinned_and_steps_are_walked_by_buttons_and_keys() {
    let mut stage = Stage::new(sentence(), ViewKind::Why).show(vec2(900.0, 900.0));
    stage.run();
    let capture = sentence();
    let head = HeadId::single(0, 0);
    let (query, key) = Chain::pair(&capture, head, [None, None]).unwrap();
    let chain = Chain::of(&capture, head, query, key, Against::Nothing).unwrap();
    let n = chain.steps.len();
    assert!(stage.query_by_label(&format!("Step {n} of {n}")).is_some());
    let canvas = stage.get_by_label("Steps of L0H0").rect();
    let scene = WhyScene::new(&capture, chain.clone().into(), ColorMap::default(), WhyOptions::default());
    let layout = scene.layout(canvas, Medium::Screen);
    let nth = chain.steps.iter().position(Step::is_weights).unwrap();
    let other = (0..9).find(|other| *other != key && layout.strips[nth].cell(*other).is_some()).unwrap();
    let cell = layout.strips[nth].cell(other).unwrap().center();
    stage.hover_at(cell);
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::cell(query, other));
    stage.drag_at(cell);
    stage.drop_at(cell);
    stage.run();
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::cell(query, other));
    let walked = |stage: &egui_kittest::Harness<'_, Stage>| stage.state().session.pane().options.why.walked(n);
    stage.key_press(Key::ArrowRight);
    stage.run();
    assert_eq!(walked(&stage), 1, "a click gave the steps the keys");
    stage.key_press(Key::ArrowRight);
    stage.run();
    stage.get_by_label("Next step").click();
    stage.run();
    assert_eq!(walked(&stage), 3);
    stage.key_press(Key::ArrowLeft);
    stage.get_by_label("Previous step").click();
    stage.run();
    stage.get_by_label("All").click();
    stage.run();
    assert_eq!(walked(&stage), n);
}

#[test]
fn a_held_weight_leads_to_its_steps() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Query 2 three");
    window.click("Key 0 one");
    window.harness.remove_cursor();
    window.settle();
    window.click("Why this weight");
    window.settle();
    let pane = window.app().session().pane();
    assert_eq!((pane.view, pane.selection.pinned), (ViewKind::Why, Focus::cell(2, 0)));
    assert!(window.shows("How does the weight of “one” for “three” in L0H0 come about?"));
}

#[test]
fn a_figure_has_the_steps_that_were_walked_and_its_table_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = "The animal didn't cross the street because it was too tired";
    let arguments = ["render", "why", "--model", "demo:gpt", "--text", text, "--layer", "3", "--head", "2"];
    let more = ["--query", "11", "--walked", "4", "--compared", "next", "--out", &figure, "--data", &data];
    let output = attnscope(&[&arguments[..], &more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    assert!(figure.contains("Query “it”") && figure.contains("Dot products") && !figure.contains("Values mixed"));
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let of = |step: f64| rows.iter().filter(move |row| row["step"] == step).map(|row| row["value"].as_f64().unwrap());
    let [q, k] = [0.0, 1.0].map(|step| of(step).collect::<Vec<_>>());
    let products = of(2.0).zip(q.iter().zip(&k)).all(|(product, (q, k))| (product - q * k).abs() < 1e-4);
    assert!(products && q.len() == 28 && rows.iter().all(|row| row["step"].as_f64().unwrap() < 4.0));
}

#[test]
fn the_parts_of_the_score_are_drawn_beside_the_steps_and_are_in_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let text = "The animal didn't cross the street because it was too tired";
    let shared =
        ["render", "why", "--model", "demo:gpt", "--text", text, "--layer", "3", "--head", "2", "--query", "11"];
    for by in PartsBy::ALL.into_iter().filter(|by| *by != PartsBy::Dimension) {
        let [figure, data] = ["figure.svg", "data.json"].map(|name| folder.path().join(name).display().to_string());
        let more = ["--key", "2", "--parts", by.name(), "--out", &figure, "--data", &data];
        let output = attnscope(&[&shared[..], &more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figure = fs::read_to_string(&figure).unwrap();
        assert!(figure.contains(&format!("by {}", by.title().to_lowercase())), "{by:?}");
        let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
        let rows = data["rows"].as_array().unwrap();
        let named = |name: &str| -> Vec<f64> {
            let of = rows.iter().filter(|row| row["name"] == name);
            of.map(|row| row["value"].as_f64().unwrap()).collect()
        };
        let score = named("Scaled")[2];
        let tables: BTreeSet<&str> =
            rows.iter().filter_map(|row| row["name"].as_str()).filter(|name| name.contains("art")).collect();
        assert!(!tables.is_empty(), "{by:?}");
        for table in tables {
            let sum: f64 = named(table).iter().sum();
            assert!((sum - score).abs() < 1e-4 * score.abs().max(1.0), "{by:?}, {table}: {sum}, not {score}");
        }
    }
    let capture = folder.path().join("run.safetensors").display().to_string();
    let captured = attnscope(&["capture", "--model", "demo:gpt", "--text", text, "--out", &capture]);
    assert!(captured.status.success(), "{}", String::from_utf8_lossy(&captured.stderr));
    let out = folder.path().join("no.svg").display().to_string();
    let refused = attnscope(&["render", "why", "--capture", &capture, "--parts", "source", "--out", &out]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("weights of the model"));
}

#[test]
fn the_window_asks_for_the_parts_of_what_is_held_and_its_file_has_them() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Why)));
    window.app().request(Command::Select(SelectionCommand::Head(HeadId::single(2, 1))));
    window.app().request(Command::Select(SelectionCommand::Pin(Focus::cell(2, 0))));
    let options = WhyOptions { parts: PartsBy::Source, ..WhyOptions::default() };
    let all = ViewOptions { why: options, ..window.app().session().pane().options.clone() };
    window.app().request(Command::SetViewOptions(all));
    window.settle();
    let spoken = window.harness.get_all_by_role(Role::Image).filter_map(|node| node.accesskit_node().label());
    let spoken: Vec<String> = spoken.collect();
    assert!(spoken.iter().any(|said| said.contains("Score of “one” for “three” by source")), "{spoken:?}");
    let session = window.app().session();
    let asked = session.pane().asked(session.document().latest_capture().unwrap());
    let [(_, MethodCall::Edges(EdgeOptions { head, query: 2, key: 0, than, by: PartsBy::Source, .. }))] = asked[..]
    else {
        panic!("{asked:?}");
    };
    assert_eq!((head, than), (HeadId::single(2, 1), Than::Nothing));
    let figure = session.figure().unwrap();
    let report = figure.answers.first().and_then(|answer| answer.report.clone()).expect("the file has the answer");
    assert_eq!(report.method.name, "edges");
}

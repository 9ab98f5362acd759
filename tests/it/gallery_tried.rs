//! The examples that change a run or ask the laboratory: what each claims, measured on its bundled model.

use std::{ops::Range, sync::Arc};

use attnscope::{
    analysis::{
        attention,
        detect::{Detector, Probe},
        explain::{
            alignment::Setting,
            report::{ColumnValues, Report, Value},
            rollout::RolloutOptions,
        },
    },
    capture::Capture,
    ids::{HeadId, Side},
    lab::{
        AlignmentOptions, EmbeddingOptions, FaithfulnessOptions, GradientOptions, LabFocus, LeaveOneOutOptions,
        LeaveOut, MethodCall, MethodPreset, Of, RelevanceQuestion, Rule,
    },
    model::{Edit, Encoded, Model, RunPlan, uninterrupted},
    session::gallery::{EXAMPLES, Example, Topic},
};

use crate::{
    gallery::{opened, position, word},
    lab::{ask, column, number},
};

/// An example with its model, its input, and its runs without and with the changes.
struct Tried {
    example: &'static Example,
    model: Model,
    input: Encoded,
    plain: Arc<Capture>,
    changed: Arc<Capture>,
}

/// What was measured, and the least it has to be.
type Claim = (&'static str, f64, f64);

/// The same where it may be so much at most.
const fn at_most(what: &'static str, value: f64, most: f64) -> Claim {
    (what, -value, -most)
}

impl Tried {
    fn new(example: &'static Example) -> Self {
        let (model, input) = opened(example);
        let input = model.completed(&input, &RunPlan::silent(), &uninterrupted).unwrap();
        let run = |edits: Vec<Edit>| {
            let plan = RunPlan { edits, ..RunPlan::default() };
            Arc::new(model.forward(&input, &plan, &uninterrupted).unwrap())
        };
        let (plain, changed) = (run(Vec::new()), run(example.edits()));
        Self { example, model, input, plain, changed }
    }

    /// The probability of an outcome without and with the changes, at the pinned query or the last.
    fn probability(&self, label: &str) -> [f64; 2] {
        [&self.plain, &self.changed].map(|capture| {
            let rows = &capture.prediction().unwrap().rows;
            let pinned = rows.iter().find(|row| row.position.is_some() && row.position == self.example.query);
            let row = pinned.unwrap_or_else(|| rows.last().unwrap());
            let found = row.top.iter().find(|item| item.label.trim_start_matches('␣') == label);
            found.map_or(0.0, |item| f64::from(item.value))
        })
    }

    fn head(&self) -> HeadId {
        let stack = self.example.stack.unwrap_or_else(|| self.plain.model().stacks[0].kind);
        let (layer, head) = self.example.head.unwrap();
        HeadId { stack, layer, head }
    }

    /// The weight that the pinned query gives a word, without and with the changes.
    fn weight(&self, key: &str) -> [f64; 2] {
        [&self.plain, &self.changed].map(|capture| {
            let pattern = attention::pattern(capture, self.head()).unwrap();
            let key = position(capture.key_tokens(self.head().stack), key);
            f64::from(pattern.row(self.example.query.unwrap()).unwrap()[key])
        })
    }

    /// How far the head that is shown is of a kind, without and with the changes.
    fn kind(&self, kind: Detector) -> [f64; 2] {
        let head = self.head();
        [&self.plain, &self.changed]
            .map(|capture| f64::from(Probe::new(capture, head.stack).score(kind, head.layer, head.head).unwrap()))
    }

    fn induction(&self) -> [f64; 2] {
        self.kind(Detector::Induction)
    }

    fn ask(&self, asked: &MethodCall) -> Report {
        ask(&self.model, &self.input, asked, self.example.asks.unwrap().target)
    }

    /// What a method says about each token of a side.
    fn scores(&self, asked: &MethodCall, name: &str, side: Side) -> Vec<f32> {
        let report = self.ask(asked);
        let leaves = report.leaves();
        let found = leaves.iter().find_map(|leaf| match leaf.value {
            Value::Tokens { axis, values } if axis.side == side && leaf.name.split('.').next() == Some(name) => {
                Some(values.clone())
            }
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{name} is not in {leaves:?}"))
    }

    /// The words of a side from the one that a method says most about; special tokens are no words.
    fn ranked(&self, asked: &MethodCall, name: &str, side: Side) -> Vec<(String, f64)> {
        let (values, tokens) = (self.scores(asked, name, side), self.plain.tokens(side));
        let words = values.iter().zip(tokens).filter(|(value, token)| !token.special && value.is_finite());
        let mut words: Vec<_> = words.map(|(value, token)| (word(token).to_owned(), f64::from(value.abs()))).collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1));
        words
    }

    /// How many times as much a method says about a word as about any other.
    fn lead(&self, asked: &MethodCall, name: &str, side: Side, word: &str) -> f64 {
        let ranked = self.ranked(asked, name, side);
        let own = ranked.iter().find(|(known, _)| known == word).unwrap().1;
        own / ranked.iter().find(|(known, _)| known != word).unwrap().1
    }

    /// The sum of a method's sizes over the patches of these rows and columns, of all.
    fn part(&self, asked: &MethodCall, [rows, columns]: [Range<usize>; 2]) -> f64 {
        let (values, image) = (self.scores(asked, "scores", Side::Encoder), self.plain.image().unwrap());
        let sizes = values[image.n_prefix..].iter().map(|value| f64::from(value.abs()));
        let is_in = |patch: &usize| rows.contains(&(patch / image.grid.1)) && columns.contains(&(patch % image.grid.1));
        let inside: f64 = sizes.clone().enumerate().filter(|(patch, _)| is_in(patch)).map(|(_, size)| size).sum();
        inside / sizes.sum::<f64>()
    }
}

fn of_last_layer(capture: &Capture) -> MethodCall {
    let n_layers = capture.model().stacks.last().unwrap().layers.len();
    MethodCall::Rollout(RolloutOptions { residual: 0.0, start_layer: n_layers - 1, ..RolloutOptions::default() })
}

const RELEVANCE: MethodCall = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 });
const GRADIENT: MethodCall = MethodCall::Gradients(GradientOptions { of: Of::Input, times_input: true, steps: None });
const INTEGRATED: MethodCall =
    MethodCall::Gradients(GradientOptions { of: Of::Input, times_input: true, steps: Some(20) });
const HIDDEN: MethodCall = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide });
const DELETED: MethodCall = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Delete });

/// What an example that changes its run claims.
fn changed(tried: &Tried) -> Vec<Claim> {
    let turns = |from: &str, to: &str| {
        let ([from_before, from_after], [to_before, to_after]) = (tried.probability(from), tried.probability(to));
        [("before", from_before - to_before, 0.2), ("after", to_after - from_after, 0.2)]
    };
    let mut claims = Vec::new();
    match tried.example.title {
        "Without Mary's head" => {
            let [before, after] = tried.probability("her");
            claims.push(("looks at Mary", tried.weight("mary")[0], 0.95));
            claims.push(("85 %", -(before - 0.85).abs(), -0.01));
            claims.push(("11 %", -(after - 0.11).abs(), -0.01));
        }
        "A head that is not needed" => {
            let [before, after] = tried.probability("are");
            claims.push(("looks at the children", tried.weight("children")[0], 0.8));
            claims.push(("sure", before, 0.7));
            claims.push(at_most("as sure as before", (before - after).abs(), 0.02));
        }
        "The dogs near the tree" => {
            claims.extend(turns("are", "is"));
            let [before, after] = tried.weight("dogs");
            claims.extend([("one line", before, 0.7), at_most("cut", after, 0.0)]);
        }
        "A red boat" => {
            claims.extend(turns("car", "boat"));
            let ([car, no_car], [_, boat]) = (tried.weight("car"), tried.weight("boat"));
            claims.extend([("car", car, 0.7), at_most("no car", no_car, 0.0), ("boat", boat, 0.7)]);
        }
        "Induction takes two" => {
            let ([before, after], [tree, no_tree]) = (tried.induction(), tried.probability("tree"));
            claims.extend([("an induction head", before, 0.8), at_most("finds nothing", after, 0.05)]);
            claims.extend([("tree", tree, 0.9), at_most("no tree", no_tree, 0.01)]);
        }
        "Without positions" => {
            let [before, after] = tried.kind(Detector::Previous);
            claims.push(at_most("0.99", (before - 0.99).abs(), 0.005));
            claims.push(at_most("0.25", (after - 0.25).abs(), 0.005));
        }
        "One of several" => {
            let [before, after] = tried.probability("tree");
            claims.push(("an induction head", tried.induction()[0], 0.8));
            claims.extend([("tree", after, 0.9), at_most("as before", before - after, 0.05)]);
            let probe = Probe::new(&tried.plain, tried.head().stack);
            let score = |head: usize| probe.score(Detector::Induction, 1, head).unwrap();
            claims.push(("others do the same", (0..8).filter(|head| score(*head) > 0.7).count() as f64, 3.0));
        }
        "The verdict of one head" => {
            claims.extend(turns("negative", "positive"));
            claims.push(("92 %", -(tried.probability("negative")[0] - 0.92).abs(), -0.01));
            claims.push(("looks at dull", tried.weight("dull")[0], 0.95));
        }
        "Not a bad film, sparsely" => {
            claims.extend(turns("negative", "positive"));
            let heads = (0..6).flat_map(|layer| (0..6).map(move |head| HeadId::single(layer, head)));
            let weights: Vec<f32> =
                heads.flat_map(|head| attention::pattern(&tried.changed, head).unwrap().as_slice().to_vec()).collect();
            let zeros = weights.iter().filter(|weight| **weight == 0.0).count();
            claims.push(("most are zero", zeros as f64 / weights.len() as f64, 0.6));
        }
        title => panic!("nobody checks what {title:?} claims"),
    }
    claims
}

/// What an example that asks the laboratory claims.
#[expect(clippy::too_many_lines, reason = "one entry for each example")]
fn asked(tried: &Tried) -> Vec<Claim> {
    let last = of_last_layer(&tried.plain);
    match tried.example.title {
        "Easy to love" => {
            let love = |asked: &MethodCall, name: &str| tried.lead(asked, name, Side::Only, "love");
            vec![
                ("attention", tried.lead(&last, "scores", Side::Only, "easy"), 1.5),
                ("relevance", love(&RELEVANCE, "gained"), 1.5),
                ("integrated gradients", love(&INTEGRATED, "scores"), 1.15),
                ("hidden", love(&HIDDEN, "effect"), 2.0),
                ("deleted", love(&DELETED, "effect"), 2.0),
            ]
        }
        "What rollout misses" => {
            let place = tried
                .ranked(&MethodCall::Rollout(RolloutOptions::default()), "scores", Side::Only)
                .iter()
                .position(|(word, _)| word == "no");
            vec![
                ("attention", tried.lead(&last, "scores", Side::Only, "no"), 1.5),
                ("buried", place.unwrap() as f64, 6.0),
                ("without it", tried.ranked(&HIDDEN, "effect", Side::Only)[0].1, 0.6),
                ("it", f64::from(u8::from(tried.ranked(&HIDDEN, "effect", Side::Only)[0].0 == "no")), 1.0),
            ]
        }
        "A map that lies, tested" => {
            let side = tried.plain.model().stacks[0].kind.key_side();
            let dull = |asked: &MethodCall, name: &str| tried.lead(asked, name, side, "dull");
            vec![
                at_most("attention", dull(&last, "scores"), 0.02),
                ("gradient", dull(&GRADIENT, "scores"), 2.0),
                ("integrated gradients", dull(&INTEGRATED, "scores"), 2.0),
                ("deleted", dull(&DELETED, "effect"), 5.0),
            ]
        }
        "Other weights, same verdict" => {
            let HeadId { stack, layer, head } = tried.head();
            let options = FaithfulnessOptions {
                stack: Some(stack),
                layer: Some(layer),
                head: Some(head),
                n_permutations: 10,
                n_steps: 100,
                seed: 0,
            };
            let report = tried.ask(&MethodCall::Faithfulness(options));
            let Some(Value::Group(found)) = report.value("adversarial") else { panic!("{report:?}") };
            let number = |name: &str| match found.iter().find(|(known, _)| known == name) {
                Some((_, Value::Number(value))) => *value,
                other => panic!("{name} is {other:?}"),
            };
            let pattern = found.iter().find_map(|(_, value)| match value {
                Value::Tokens { values, .. } => Some(values.clone()),
                _ => None,
            });
            let film = position(tried.plain.key_tokens(stack), "film");
            vec![
                at_most("0.49 nats", (number("jsd") - 0.49).abs(), 0.05),
                at_most("same verdict", number("tvd"), 0.01),
                ("on “film”", f64::from(pattern.unwrap()[film]), 0.8),
                at_most("not so before", tried.weight("film")[0], 0.2),
            ]
        }
        "Come here, Ben" => {
            let subject = tried.example.query.unwrap();
            let turned = &tried.example.asks.unwrap().options().turned["trace"];
            let (capture, head) = (&*tried.plain, HeadId::single(0, 0));
            let focus = LabFocus { capture, head, query: Some(subject), key: None, reverse: None };
            let report = tried.ask(&MethodPreset::from_name("trace").unwrap().ask(&focus, turned).unwrap());
            let total = number(&report, "clean") - number(&report, "corrupted");
            let part = |panel: &str| {
                let Some(Value::Grid { values, .. }) = report.value(panel) else { panic!("{report:?}") };
                let values = values.clone();
                move |position: usize, layer: usize| f64::from(values.row(position).unwrap()[layer]) / total
            };
            let [stream, mlps, attention] = ["effect_resid", "effect_mlp", "effect_attention"].map(part);
            let (last, layers) = (tried.plain.query_tokens(tried.plain.model().stacks[0].kind).len() - 1, 5);
            let others = (0..last).filter(|position| *position != subject);
            let elsewhere = others.flat_map(|position| (0..=layers).map(move |layer| (position, layer)));
            let most = elsewhere.map(|(position, layer)| stream(position, layer)).fold(0.0, f64::max);
            vec![
                ("destroyed", total, 0.4),
                ("where it stands", stream(subject, 0), 0.8),
                at_most("no longer", stream(subject, layers), 0.05),
                ("where it is written", stream(last, layers), 0.9),
                at_most("not yet", stream(last, 0), 0.1),
                at_most("nowhere else", most, 0.1),
                ("MLPs where it stands", mlps(subject, 0), 0.8),
                at_most("MLPs at the end", mlps(last, layers), 0.3),
                ("attention at the end", attention(last, layers), 0.5),
                at_most("attention where it stands", attention(subject, 0), 0.1),
            ]
        }
        "Went is to go" => {
            let turned = &tried.example.asks.unwrap().options().turned["embeddings"];
            let (capture, head) = (&*tried.plain, HeadId::single(0, 0));
            let focus = LabFocus { capture, head, query: None, key: None, reverse: None };
            let MethodCall::Embeddings(question) =
                MethodPreset::from_name("embeddings").unwrap().ask(&focus, turned).unwrap()
            else {
                panic!("another method")
            };
            // How far the expected token is before the next one; below 0 where it is not the first.
            let ahead = |sum: Option<&str>, expected: &str| {
                let arithmetic = sum.map(str::to_owned).or_else(|| question.arithmetic.clone());
                let report = tried.ask(&EmbeddingOptions { arithmetic, ..question.clone() }.into());
                let table = report.value("answers").unwrap();
                let (ColumnValues::Text(tokens), ColumnValues::Number(near)) =
                    (column(table, "token"), column(table, "cosine"))
                else {
                    panic!("{table:?}")
                };
                if tokens[0].ends_with(expected) { near[0] - near[1] } else { -1.0 }
            };
            vec![("saw", ahead(None, "saw"), 0.05), ("mother", ahead(Some("father - man + woman"), "mother"), 0.03)]
        }
        "How well it aligns" => {
            let gold = Some(tried.example.asks.unwrap().set[0].1.to_owned());
            let report =
                tried.ask(&MethodCall::Alignment(AlignmentOptions { setting: Setting::Output, gold, reverse: None }));
            let table = report.value("alignments").unwrap();
            let (ColumnValues::Text(heads), ColumnValues::Number(rates)) =
                (column(table, "head"), column(table, "aer"))
            else {
                panic!("{table:?}")
            };
            let rate = |name: &str| rates[heads.iter().position(|head| head == name).unwrap()];
            vec![
                at_most("head 2", (rate("L2H2") - 0.08).abs(), 0.005),
                at_most("head 3", (rate("L2H3") - 0.08).abs(), 0.005),
                ("layer 0", rate("L0"), 1.0),
            ]
        }
        "Why “green”" => vec![
            ("triangle", tried.part(&RELEVANCE, [3..7, 4..8]), 0.6),
            at_most("circle", tried.part(&RELEVANCE, [2..5, 0..3]), 0.2),
        ],
        title => panic!("nobody checks what {title:?} claims"),
    }
}

#[test]
fn every_example_that_was_tried_is_as_it_says() {
    let mut untrue = Vec::new();
    for example in EXAMPLES.iter().filter(|example| [Topic::WhatIf, Topic::Lab].contains(&example.topic)) {
        let tried = Tried::new(example);
        let claims = if example.asks.is_some() { asked(&tried) } else { changed(&tried) };
        let missed = claims.into_iter().filter(|(_, value, least)| value.is_nan() || value < least);
        untrue.extend(missed.map(|(what, value, least)| format!("{}, {what}: {value}, not {least}", example.title)));
    }
    assert!(untrue.is_empty(), "{untrue:#?}");
}

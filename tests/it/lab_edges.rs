//! One score taken apart, in every family, and two directions of an alignment.

use std::{collections::BTreeSet, sync::Arc};

use attnscope::{
    analysis::explain::{
        alignment::{Setting, Symmetrize},
        edges::PartsBy,
        report::{ColumnValues, Report, Value},
    },
    capture::Capture,
    ids::{HeadId, StackKind},
    lab::{AlignmentOptions, EdgeOptions, LabRun, MethodCall, Reverse, Target, Than, are_two_directions},
    model::{Input, RunPlan, Site, Sites, uninterrupted},
};

use crate::{
    lab::{NO_EDITS, ask, column, demo, fixture, number, refused, try_ask},
    lab_methods::numbers,
};

const SELF: StackKind = StackKind::SelfAttention;

/// Heads whose scores have parts.
const WITH_PARTS: [(&str, StackKind); 22] = [
    ("gpt2", SELF),
    ("bert", SELF),
    ("families/roberta", SELF),
    ("families/llama", SELF),
    ("families/llama-yarn", SELF),
    ("families/qwen3", SELF),
    ("families/gemma2", SELF),
    ("families/gemma3", SELF),
    ("families/gpt_neox", SELF),
    ("families/phi", SELF),
    ("families/stablelm-2", SELF),
    ("families/bloom", SELF),
    ("families/bloom-normed-residual", SELF),
    ("families/deberta-v2", SELF),
    ("families/albert", SELF),
    ("families/modernbert", SELF),
    ("vit", SELF),
    ("families/t5", StackKind::Encoder),
    ("families/t5", StackKind::Cross),
    ("families/bart", StackKind::Decoder),
    ("families/bart", StackKind::Cross),
    ("families/marian", StackKind::Cross),
];

#[test]
fn the_parts_of_a_score_add_up_to_it_in_every_family() {
    for (name, stack) in WITH_PARTS {
        let (model, input) = fixture(name);
        let layer = model.spec().stack(stack).unwrap().layers.len() - 1;
        let head = HeadId { stack, layer, head: 1 };
        let plan = RunPlan { sites: Sites::of(&[Site::Scores]), ..RunPlan::default() };
        let recorded = model.forward(&input, &plan, &uninterrupted).unwrap();
        let scores = recorded.layer(head).unwrap().scores().unwrap().head(head.head).unwrap();
        let (query, key) = (scores.n_rows() - 1, scores.n_cols() - 2);
        let row: Vec<f64> = scores.row(query).unwrap().iter().map(|x| f64::from(*x)).collect();
        let seen: Vec<f64> = row.iter().copied().filter(|x| x.is_finite()).collect();
        let other = row.iter().position(|x| x.is_finite()).unwrap();
        for (than, expected) in [
            (Than::Nothing, row[key]),
            (Than::Mean, row[key] - seen.iter().sum::<f64>() / seen.len() as f64),
            (Than::Key(other), row[key] - row[other]),
        ] {
            let asked =
                MethodCall::Edges(EdgeOptions { head, query, key, than, by: PartsBy::Source, n_top: 1_000_000 });
            let found = try_ask(&model, &input, NO_EDITS, &asked, Target::default());
            let found = found.unwrap_or_else(|error| panic!("{name}, {stack}: {error}")).report;
            assert!((number(&found, "score") - expected).abs() < 1e-5, "{name}, {stack}, {than:?}");
            assert!(!found.notes.iter().any(|note| note.contains("trust")), "{name}, {stack}: {:?}", found.notes);
            let rest: f64 = ["position_bias", "soft_cap"]
                .iter()
                .filter_map(|name| found.value(name))
                .map(|value| match value {
                    Value::Number(value) => *value,
                    other => panic!("{other:?}"),
                })
                .sum();
            for table in ["by_query", "by_key", "pairs"] {
                let sum: f64 = numbers(&found, table, "contribution").iter().sum::<f64>() + rest;
                let size = expected.abs().max(1.0);
                assert!(
                    (sum - expected).abs() < 1e-4 * size,
                    "{name}, {stack}, {than:?}, {table}: {sum}, not {expected}"
                );
            }
            let ColumnValues::Text(parts) = column(found.value("by_query").unwrap(), "part") else { panic!() };
            assert!(!parts.is_empty(), "{name}: {parts:?}");
        }
    }
    let (model, input) = fixture("gpt2");
    let asked = |query, key| {
        MethodCall::Edges(EdgeOptions {
            head: HeadId::single(1, 0),
            query,
            key,
            than: Than::Mean,
            by: PartsBy::Source,
            n_top: 5,
        })
    };
    assert!(refused(&model, &input, &asked(1, 3), Target::default()).contains("cannot see key 3"));
    assert!(refused(&model, &input, &asked(1, 99), Target::default()).contains("no edge"));
    let (model, input) = demo("demo:bilstm", "a fine film");
    let head = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };
    let additive =
        MethodCall::Edges(EdgeOptions { head, query: 0, key: 1, than: Than::Mean, by: PartsBy::Source, n_top: 5 });
    assert!(refused(&model, &input, &additive, Target::default()).contains("stream"));
}

#[test]
fn a_score_is_taken_apart_in_every_way_or_the_reason_is_said() {
    for (name, stack) in WITH_PARTS {
        let (model, input) = fixture(name);
        let layer = model.spec().stack(stack).unwrap().layers.len() - 1;
        let head = HeadId { stack, layer, head: 1 };
        let plan = RunPlan { sites: Sites::of(&[Site::Scores]), ..RunPlan::default() };
        let recorded = model.forward(&input, &plan, &uninterrupted).unwrap();
        let scores = recorded.layer(head).unwrap().scores().unwrap().head(head.head).unwrap();
        let (query, key) = (scores.n_rows() - 1, scores.n_cols() - 2);
        let row: Vec<f64> = scores.row(query).unwrap().iter().map(|x| f64::from(*x)).collect();
        let other = row.iter().position(|x| x.is_finite()).unwrap();
        for by in PartsBy::ALL {
            for (than, expected) in [(Than::Nothing, row[key]), (Than::Key(other), row[key] - row[other])] {
                let asked = MethodCall::Edges(EdgeOptions { head, query, key, than, by, n_top: 1 });
                let found = match try_ask(&model, &input, NO_EDITS, &asked, Target::default()) {
                    Ok(found) => found.report,
                    Err(error) => {
                        let said = error.to_string();
                        let is_told = by == PartsBy::Position && said.contains("cannot be told apart")
                            || by == PartsBy::Back && layer == 0;
                        assert!(is_told, "{name}, {stack}, {by:?}: {said}");
                        continue;
                    }
                };
                assert!(!found.notes.iter().any(|note| note.contains("trust")), "{name}, {by:?}: {:?}", found.notes);
                let rest: f64 = ["position_bias", "soft_cap"]
                    .iter()
                    .filter(|name| found.value(name).is_some())
                    .map(|name| number(&found, name))
                    .sum();
                let column = |table: &str| numbers(&found, table, "contribution").iter().sum::<f64>();
                let sums = match by {
                    PartsBy::Dimension => {
                        let Some(Value::List(all)) = found.value("dimensions") else { panic!("{name}") };
                        vec![all.iter().sum::<f64>() + rest]
                    }
                    PartsBy::Direction | PartsBy::Position => vec![column("parts")],
                    PartsBy::Source | PartsBy::Back => vec![column("by_query") + rest, column("by_key") + rest],
                };
                let size = 1e-4 * expected.abs().max(row[key].abs()).max(1.0);
                let near = |sum: &f64| (sum - expected).abs() < size;
                assert!(sums.iter().all(near), "{name}, {stack}, {by:?}, {than:?}: {sums:?}, not {expected}");
                let ColumnValues::Text(parts) = column_of(&found, by) else { continue };
                let n_weak = parts.iter().filter(|part| part.contains("outside of its directions")).count();
                assert!(n_weak == 0 || than != Than::Nothing, "{name}, {stack}: {parts:?}");
            }
        }
    }
}

/// The names of the parts.
fn column_of(report: &Report, by: PartsBy) -> ColumnValues {
    let table = if matches!(by, PartsBy::Direction | PartsBy::Position) { "parts" } else { "by_key" };
    report.value(table).map_or(ColumnValues::Text(Vec::new()), |value| column(value, "part").clone())
}

#[test]
fn the_parts_of_a_score_say_what_they_are() {
    let parts_of = |folder: &str, by: PartsBy| {
        let (model, input) = fixture(folder);
        let head = HeadId::single(1, 1);
        let asked = MethodCall::Edges(EdgeOptions { head, query: 3, key: 1, than: Than::Nothing, by, n_top: 1 });
        let ColumnValues::Text(parts) = column_of(&ask(&model, &input, &asked, Target::default()), by) else {
            panic!()
        };
        parts
    };
    let of_words = parts_of("gpt2", PartsBy::Position);
    assert!(["content × content", "position × position"].iter().all(|part| of_words.iter().any(|it| it == part)));
    let turned = parts_of("families/llama", PartsBy::Position);
    assert!(turned.iter().any(|part| part == "turned 2 positions apart"), "{turned:?}");
    let brought = parts_of("gpt2", PartsBy::Back);
    let n_brought = brought.iter().filter(|part| part.starts_with("L0H0 from ")).count();
    assert_eq!(n_brought, 2, "the key at 1 reads from itself and the first token: {brought:?}");
    assert!(parts_of("bert", PartsBy::Direction).iter().all(|part| part.starts_with("direction ")));
    let (model, input) = fixture("gpt2");
    let first = EdgeOptions { by: PartsBy::Back, ..EdgeOptions::of(HeadId::single(0, 0), 3, 1) };
    let said = refused(&model, &input, &MethodCall::Edges(first), Target::default());
    assert!(said.contains("no head comes before"), "{said}");
}

#[test]
fn two_directions_become_one_alignment() {
    let (model, _) = demo("demo:translate", "the cat");
    let (source, target) = ("the cat sees the dog", "die Katze sieht den Hund");
    let pair =
        |source: &str, target: &str| model.encode(&Input::text(source).with_target(Input::text(target))).unwrap();
    let (forward, backward) = (pair(source, target), pair(target, source));
    let bench = LabRun::new(&model, &backward, NO_EDITS, &uninterrupted, &|_| {});
    let back = Arc::new(bench.into_plain().unwrap());
    let forth = LabRun::new(&model, &forward, NO_EDITS, &uninterrupted, &|_| {}).into_plain().unwrap();
    assert!(are_two_directions(&forth, &back) && !are_two_directions(&forth, &forth));
    let asked = |run: &Arc<Capture>, way| {
        MethodCall::Alignment(AlignmentOptions {
            setting: Setting::Output,
            gold: Some("0-0 1-1 2-2 3-3 4-4".to_owned()),
            reverse: Some(Reverse { run: Arc::clone(run), way }),
        })
    };
    let links = |report: &Report, table: &str| -> Vec<BTreeSet<String>> {
        let ColumnValues::Texts(all) = column(report.value(table).unwrap(), "links") else { panic!() };
        all.iter().map(|links| links.iter().cloned().collect()).collect()
    };
    let of_way = |way| ask(&model, &forward, &asked(&back, way), Target::default());
    let [narrow, wide, grown] = [Symmetrize::Intersection, Symmetrize::Union, Symmetrize::GrowDiagFinalAnd].map(of_way);
    let pairs = links(&wide, "symmetrized");
    assert_eq!(pairs.len(), back.model().stack(StackKind::Cross).unwrap().layers.len().pow(2));
    for ((narrow, wide), grown) in links(&narrow, "symmetrized").iter().zip(&pairs).zip(links(&grown, "symmetrized")) {
        assert!(narrow.is_subset(&grown) && grown.is_subset(wide));
    }
    // The first pair is of the first layers: what both link, and what either links.
    let first_layer = |report: &Report| {
        let ColumnValues::Text(heads) = column(report.value("alignments").unwrap(), "head") else { panic!() };
        links(report, "alignments")[heads.iter().position(|head| head == "L0").unwrap()].clone()
    };
    let alone = MethodCall::Alignment(AlignmentOptions { setting: Setting::Output, gold: None, reverse: None });
    let backwards = first_layer(&ask(&model, &backward, &alone, Target::default()));
    let turn = |link: &String| {
        let (source, target) = link.split_once('-').unwrap();
        format!("{target}-{source}")
    };
    let turned: BTreeSet<String> = backwards.iter().map(turn).collect();
    let own = &first_layer(&wide);
    assert_eq!(links(&narrow, "symmetrized")[0], own & &turned);
    assert_eq!(pairs[0], own | &turned);
    let recall = |report: &Report| numbers(report, "symmetrized", "recall");
    assert!(recall(&wide).iter().zip(recall(&narrow)).all(|(wide, narrow)| *wide >= narrow));
    let other = pair("der Hund", "the dog");
    let bench = LabRun::new(&model, &other, NO_EDITS, &uninterrupted, &|_| {});
    let others = Arc::new(bench.into_plain().unwrap());
    assert!(!are_two_directions(&others, &back));
    let said = refused(&model, &forward, &asked(&others, Symmetrize::Union), Target::default());
    assert!(said.contains("different source words"), "{said}");
}

//! Weights by the lengths of the value vectors.

use std::{collections::BTreeMap, fs, sync::Arc};

use attnscope::{
    analysis::{
        attention,
        reading::{Aggregate, Captures, Heads, LeaveOut, Reading, Source, pairs, read},
    },
    capture::{Capture, CaptureParts, Computation, InputInfo, Site},
    ids::{HeadId, Side, StackKind},
};

use crate::{
    reading::{benches, close, head, many},
    support::{stacks, synthetic},
};

/// One head's weights by definition, in `f64`: `a·‖v‖` over the sum of its row, times what the row summed to.
pub fn weighed(capture: &Capture, id: HeadId, by_value_norm: bool) -> Vec<Vec<f64>> {
    let (pattern, values) = (attention::pattern(capture, id).unwrap(), capture.v(id).unwrap());
    let length = |key: usize| {
        let squares = values.row(key).unwrap().iter().map(|&entry| f64::from(entry) * f64::from(entry));
        if by_value_norm { squares.sum::<f64>().sqrt() } else { 1.0 }
    };
    let of_row = |row: &[f32]| {
        let products: Vec<f64> = row.iter().enumerate().map(|(key, &weight)| f64::from(weight) * length(key)).collect();
        let (before, after) = (row.iter().map(|&weight| f64::from(weight)).sum::<f64>(), products.iter().sum::<f64>());
        products.iter().map(|product| product * before / after).collect()
    };
    pattern.rows().map(of_row).collect()
}

fn by_value_norm(id: HeadId) -> Reading {
    Reading { source: Source::ByValueNorm, ..Reading::of(id) }
}

/// Without its value vectors.
fn without_values(capture: &Capture) -> Capture {
    let mut stacks = capture.stacks().to_vec();
    stacks.iter_mut().flat_map(|stack| &mut stack.layers).for_each(|layer| layer.sites.remove(Site::V));
    Capture::new(CaptureParts {
        id: capture.id(),
        model: Arc::clone(capture.model()),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, capture.tokens(Side::Only).to_vec())]),
        stacks,
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

#[test]
fn every_stack_has_its_weights_by_the_values_that_the_head_reads() {
    let translation = stacks::translation_capture();
    let picture = synthetic::image_capture((3, 4));
    // Four heads read two sets of keys and values.
    let [pair, story] = benches();
    let mut n_changed = 0;
    for capture in [&translation, &picture, &pair.capture, &story.capture] {
        for stack in &capture.model().stacks {
            for id in [0, 1, 3].map(|head| HeadId { stack: stack.kind, layer: 0, head }) {
                if capture.v(id).is_none() || attention::pattern(capture, id).is_none() {
                    continue;
                }
                let shown = read(Captures::one(capture), &by_value_norm(id)).unwrap();
                let plain = read(Captures::one(capture), &Reading::of(id)).unwrap();
                for (row, expected) in weighed(capture, id, true).iter().enumerate() {
                    let found = shown.matrix.row(row).unwrap();
                    assert!(found.iter().zip(expected).all(|(&a, &b)| close(f64::from(a), b)), "{id:?} row {row}");
                    assert!(close(shown.mass[row].total, plain.mass[row].total), "rows keep their sum");
                    n_changed += usize::from(Some(found) != plain.matrix.row(row));
                }
                assert_eq!(shown.visible, plain.visible, "what is masked stays masked");
                assert!(shown.hidden_text().unwrap().starts_with("weights × norm of the value (a·‖v‖"));
                assert!(plain.hidden_text().is_none());
            }
        }
    }
    assert!(n_changed > 100, "{n_changed} rows say something else");
}

#[test]
fn heads_that_link_a_pair_are_ranked_by_the_weights_that_are_shown() {
    let [pair, _] = benches();
    let reading = Reading {
        source: Source::ByValueNorm,
        leave_out: LeaveOut { special: true, ..LeaveOut::default() },
        ..Reading::default()
    };
    let found = pairs::links(&pair.capture, StackKind::SelfAttention, &reading, (2, 9), &mut |_, _| true);
    let found = found.unwrap().unwrap();
    for link in &found.heads {
        let shown = read(Captures::one(&pair.capture), &reading.with_heads(Heads::One(link.head))).unwrap();
        assert_eq!(Some(link.weight), shown.value_at(2, 9));
    }
    assert!(found.sentence(&found.heads[0]).ends_with("; weights × norm of the value"));
}

#[test]
fn without_values_their_lengths_are_not_guessed() {
    let [pair, _] = benches();
    let capture = without_values(&pair.capture);
    let all = Reading { heads: many(&[], &[], Aggregate::Mean), ..by_value_norm(head(0, 0)) };
    for (reading, name) in [(by_value_norm(head(1, 2)), "L1H2"), (all, "L0H0")] {
        assert_eq!(
            read(Captures::one(&capture), &reading).unwrap_err().to_string(),
            format!("The values of self {name} were not recorded: choose “Weight: raw”")
        );
    }
    assert!(read(Captures::one(&capture), &Reading::of(head(1, 2))).is_ok());
}

/// What is drawn by value norm says so: below it, in its numbers and in what it came from.
#[test]
fn figures_and_numbers_say_that_weights_are_by_value_norm() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let base = ["render", "heatmap", "--model", "demo:gpt", "--text", "one two three", "--layer", "1", "--head", "2"];
    for (flag, found) in [(&["--by-value-norm"][..], true), (&[], false)] {
        let (svg, csv, json) = (of("f.svg"), of("f.csv"), of("f.json"));
        for data in [&csv, &json] {
            let arguments = [&base[..], flag, &["--out", &svg, "--data", data]].concat();
            assert!(crate::render::attnscope(&arguments).status.success());
        }
        let below = crate::render::texts(&fs::read(&svg).unwrap()).join(" ");
        assert_eq!(below.contains("Weights × norm of the value (a·‖v‖, rows keep their sum)"), found, "{below}");
        let name = if found { "weight_by_value_norm" } else { "weight" };
        let csv = fs::read_to_string(csv).unwrap();
        assert!(csv.lines().next().unwrap().ends_with(&format!(",key_text,{name}")), "{csv}");
        let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
        assert_eq!(json["figure"]["options"]["by_value_norm"], found);
    }
}

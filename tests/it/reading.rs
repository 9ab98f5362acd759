use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use attnscope::{
    analysis::reading::{
        Aggregate, Aggregation, Blank, Captures, Heads, LeaveOut, LeftOut, Policy, ReadPattern, Reading, RowLabels,
        SentenceFilter, Source, Which, pairs, read,
    },
    capture::{Capture, CaptureParts, InputInfo, Merging, StackCapture, Token},
    ids::{CaptureId, HeadId, Side, StackKind},
    model::Input,
    protocol::ModelSource,
    spec::{HeadKind, LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

use crate::{
    reading_values,
    support::{
        scripted, stacks,
        synthetic::{D_HEAD, layer_capture},
    },
};

const N_LAYERS: usize = 3;
const N_HEADS: usize = 4;

/// A text with pieces of words, and which of its positions make up each word.
pub struct Bench {
    pub capture: Capture,
    words: Vec<Range<usize>>,
    /// The same for what is written: row `i` writes token `i + 1`.
    written: Vec<Range<usize>>,
    punctuation: Vec<usize>,
}

/// `|` before a token that goes on with the word before it, `/` before one of the second sentence.
pub fn capture(id: u64, labels: &[&str], causal: bool) -> Capture {
    let mut second = false;
    let tokens: Vec<Token> = labels
        .iter()
        .enumerate()
        .map(|(at, label)| {
            second |= label.starts_with('/');
            // A gap between words; pieces touch.
            let start = 10 * at - usize::from(label.starts_with('|') || label.starts_with("##"));
            let text = label.trim_start_matches(['|', '/']).to_owned();
            let special = text.starts_with('[');
            let span = if special { 0..0 } else { start..10 * at + 9 };
            Token {
                id: Some(at as u32),
                special,
                span,
                segment: u8::from(second && !special),
                text,
                group: None,
                position: None,
            }
        })
        .collect();
    let n = tokens.len();
    let layer = LayerSpec { n_kv_heads: 2, ..LayerSpec::new(N_HEADS, D_HEAD) };
    let asked: Vec<usize> = (0..n).map(|at| (id as usize + at) % 5).collect();
    let layers = (0..N_LAYERS).map(|idx| layer_capture(idx + id as usize, &layer, [&asked, &asked], causal));
    Capture::new(CaptureParts {
        id: CaptureId(id),
        model: Arc::new(ModelSpec {
            name: "bench".to_owned(),
            family: "gpt2".to_owned(),
            modality: Modality::Text(TextSpec::new(64, 100)),
            stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers: vec![layer; N_LAYERS], causal }],
            d_model: N_HEADS * D_HEAD,
            n_params: 1,
            head: causal.then_some(HeadKind::NextToken),
            checkpoint: None,
        }),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { layers: layers.collect(), ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: attnscope::capture::Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

fn ranges(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut start = 0;
    let next = |&n: &usize| {
        start += n;
        start - n..start
    };
    lengths.iter().map(next).collect()
}

/// A pair of sentences in word pieces, and a causal text in byte-level pieces.
pub fn benches() -> [Bench; 2] {
    let pair = ["[CLS]", "un", "##believ", "##able", "cat", "!", "[SEP]", "/the", "dog", "##s", "ran", ".", "[SEP]"];
    let story = ["The", "␣anim", "|al", "␣didn", "|'t", "␣cross", "|."];
    [
        Bench {
            capture: capture(1, &pair, false),
            words: ranges(&[1, 3, 1, 1, 1, 1, 2, 1, 1, 1]),
            // An encoder writes nothing.
            written: ranges(&[1, 3, 1, 1, 1, 1, 2, 1, 1, 1]),
            punctuation: vec![5, 11],
        },
        Bench {
            capture: capture(2, &story, true),
            words: ranges(&[1, 2, 2, 1, 1]),
            written: ranges(&[2, 2, 1, 1, 1]),
            punctuation: vec![6],
        },
    ]
}

pub fn head(layer: usize, head: usize) -> HeadId {
    HeadId::single(layer, head)
}

pub fn many(layers: &[usize], heads: &[usize], how: Aggregate) -> Heads {
    let which = |these: &[usize]| match these {
        [] => Which::All,
        these => Which::These(these.iter().copied().collect()),
    };
    Heads::Many(Aggregation { stack: StackKind::SelfAttention, layers: which(layers), heads: which(heads), how })
}

fn all_heads() -> Vec<Heads> {
    vec![
        Heads::One(head(1, 2)),
        many(&[], &[], Aggregate::Mean),
        many(&[0, 2], &[], Aggregate::Max),
        many(&[1], &[1, 3], Aggregate::Min),
        many(&[], &[0], Aggregate::Sum),
    ]
}

fn all_left_out() -> Vec<LeaveOut> {
    let none = LeaveOut::default();
    vec![
        none.clone(),
        LeaveOut { special: true, ..none.clone() },
        LeaveOut { first: true, ..none.clone() },
        LeaveOut { punctuation: true, ..none.clone() },
        LeaveOut { positions: BTreeSet::from([2, 4]), ..none },
        LeaveOut {
            special: true,
            first: true,
            punctuation: true,
            positions: BTreeSet::from([3]),
            ..LeaveOut::default()
        },
    ]
}

/// Every combination of what can be chosen, but for what is subtracted.
pub fn all_readings() -> Vec<Reading> {
    let mut readings = Vec::new();
    for heads in all_heads() {
        for leave_out in all_left_out() {
            for policy in Policy::ALL {
                for sentences in [SentenceFilter::All, SentenceFilter::AToB, SentenceFilter::BToB] {
                    for merging in [Merging::NONE, Merging::WORDS] {
                        for rows in [RowLabels::Read, RowLabels::Written] {
                            let leave_out = LeaveOut { policy, ..leave_out.clone() };
                            let (heads, plain) = (heads.clone(), Reading::default());
                            let plain = Reading { heads, leave_out, sentences, merging, rows, ..plain };
                            let sources = [Source::Weights, Source::ByValueNorm];
                            readings.extend(sources.map(|source| Reading { source, ..plain.clone() }));
                        }
                    }
                }
            }
        }
    }
    readings
}

/// What a reading means, by definition and in `f64`: values, and what each row hides.
fn reference(bench: &Bench, reading: &Reading) -> (Vec<Vec<f64>>, Vec<f64>) {
    let tokens = bench.capture.tokens(Side::Only);
    let n = tokens.len();
    let ids: Vec<HeadId> = match &reading.heads {
        Heads::One(head) => vec![*head],
        Heads::Many(many) => (0..N_LAYERS)
            .flat_map(|layer| (0..N_HEADS).map(move |head| HeadId::single(layer, head)))
            .filter(|id| {
                let within = |which: &Which, at| !matches!(which, Which::These(these) if !these.contains(&at));
                within(&many.layers, id.layer) && within(&many.heads, id.head)
            })
            .collect(),
    };
    // Before heads are taken together, each has its weights counted by its own values.
    let weighed: Vec<_> = ids
        .iter()
        .map(|&id| reading_values::weighed(&bench.capture, id, reading.source == Source::ByValueNorm))
        .collect();
    let weight = |query: usize, key: usize| {
        let all = weighed.iter().map(|pattern| pattern[query][key]);
        match &reading.heads {
            Heads::One(_) => all.sum::<f64>(),
            Heads::Many(many) => match many.how {
                Aggregate::Mean => all.sum::<f64>() / ids.len() as f64,
                Aggregate::Sum => all.sum(),
                Aggregate::Max => all.fold(f64::MIN, f64::max),
                Aggregate::Min => all.fold(f64::MAX, f64::min),
            },
        }
    };
    let out = |key: usize| {
        let choice = &reading.leave_out;
        choice.policy != Policy::Keep
            && ((choice.special && tokens[key].special)
                || (choice.first && key == 0)
                || (choice.punctuation && bench.punctuation.contains(&key))
                || choice.positions.contains(&key))
    };
    // Special tokens close a sentence: of the pair, the first seven tokens are A.
    let is_pair = tokens.iter().any(|token| token.segment == 1);
    let (of_query, of_key) = match reading.sentences {
        SentenceFilter::AToB if is_pair => (0..7, 7..n),
        SentenceFilter::BToB if is_pair => (7..n, 7..n),
        _ => (0..n, 0..n),
    };
    let shown = |query: usize, key: usize| {
        let total: f64 = (0..n).map(|key| weight(query, key)).sum();
        let kept: f64 = (0..n).filter(|&key| !out(key)).map(|key| weight(query, key)).sum();
        if out(key) || !of_query.contains(&query) || !of_key.contains(&key) {
            return 0.0;
        }
        match reading.leave_out.policy {
            Policy::Renormalize if kept < total && kept <= 1e-6 * total => 0.0,
            Policy::Renormalize => weight(query, key) * total / kept,
            Policy::Hide | Policy::Keep => weight(query, key),
        }
    };
    let single = |n: usize| (0..n).map(|at| at..at + 1).collect::<Vec<_>>();
    let cols = if reading.merging.is_merged() { bench.words.clone() } else { single(n) };
    let rows = match (reading.merging.is_merged(), reading.rows) {
        (false, _) => single(n),
        (true, RowLabels::Read) => bench.words.clone(),
        (true, RowLabels::Written) => bench.written.clone(),
    };
    let mean =
        |row: &Range<usize>, value: &dyn Fn(usize) -> f64| row.clone().map(value).sum::<f64>() / row.len() as f64;
    let values = rows.iter().map(|row| {
        let cell = |col: &Range<usize>| mean(row, &|query| col.clone().map(|key| shown(query, key)).sum());
        cols.iter().map(cell).collect()
    });
    let totals = rows.iter().map(|row| mean(row, &|query| (0..n).map(|key| weight(query, key)).sum()));
    (values.collect(), totals.collect())
}

pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn every_combination_is_what_its_definition_says() {
    let mut n = 0;
    for bench in benches() {
        for reading in all_readings() {
            let pattern = read(Captures::one(&bench.capture), &reading).unwrap();
            let (values, totals) = reference(&bench, &reading);
            assert_eq!(pattern.matrix.shape(), [values.len(), values[0].len()], "{reading:?}");
            for (row, expected) in values.iter().enumerate() {
                for (col, &expected) in expected.iter().enumerate() {
                    let value = f64::from(pattern.value(row, col).unwrap());
                    assert!(close(value, expected), "{row}, {col}: {value} is not {expected}: {reading:?}");
                }
                check_mass(&pattern, row, totals[row], &reading);
            }
            n += 1;
        }
    }
    assert_eq!(n, 2 * 5 * 6 * 3 * 3 * 2 * 2 * 2);
}

/// Nothing is lost silently: what a row shows and what it hides are its sum.
fn check_mass(pattern: &ReadPattern, row: usize, total: f64, reading: &Reading) {
    let mass = pattern.mass[row];
    let sum: f64 = pattern.matrix.row(row).unwrap().iter().map(|&value| f64::from(value)).sum();
    assert!(close(mass.total, total), "{mass:?} {reading:?}");
    assert!(close(sum, mass.shown()), "row {row} sums to {sum}: {mass:?} {reading:?}");
    assert!(close(sum, mass.total - mass.hidden()), "{mass:?}");
    match reading.leave_out.policy {
        Policy::Renormalize if reading.sentences == SentenceFilter::All => {
            assert!(close(sum, mass.total) || mass.spread < mass.left_out, "row {row}: {mass:?} {reading:?}");
        }
        Policy::Hide => assert!(mass.spread == 0.0, "{mass:?}"),
        Policy::Keep => assert!(mass.left_out == 0.0, "{mass:?}"),
        Policy::Renormalize => {}
    }
    if matches!(&reading.heads, Heads::One(_)) {
        assert!(close(mass.total, 1.0), "{mass:?}");
    }
}

#[test]
fn a_reading_that_changes_nothing_is_the_capture_bit_for_bit() {
    for bench in benches() {
        let id = head(2, 1);
        let stored = bench.capture.stored_pattern(id).unwrap();
        for reading in [
            Reading::of(id),
            Reading {
                leave_out: LeaveOut { special: true, policy: Policy::Keep, ..LeaveOut::default() },
                ..Reading::of(id)
            },
            Reading { rows: RowLabels::Written, ..Reading::of(id) },
            Reading { heads: many(&[2], &[1], Aggregate::Sum), ..Reading::default() },
            Reading { heads: many(&[2], &[1], Aggregate::Min), ..Reading::default() },
        ] {
            let pattern = read(Captures::one(&bench.capture), &reading).unwrap();
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(pattern.matrix.as_slice()), bits(stored.as_slice()), "{reading:?}");
            assert_eq!(pattern.matrix.as_slice().as_ptr(), stored.as_slice().as_ptr(), "no copy is made: {reading:?}");
        }
    }
}

#[test]
fn rows_of_a_decoder_are_named_by_what_they_write() {
    let capture = stacks::translation_capture();
    let id = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };
    let names = |reading: &Reading| {
        let pattern = read(Captures::one(&capture), reading).unwrap();
        pattern.rows.groups.iter().map(|row| row.text.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&Reading::of(id)), "<pad> die kleine Katze saß auf .");
    let written = Reading { rows: RowLabels::Written, ..Reading::of(id) };
    assert_eq!(names(&written), "die kleine Katze saß auf . …");
    assert_eq!(read(Captures::one(&capture), &written).unwrap().rows.numbered(1), "kleine  after #1");
    let encoder = HeadId { stack: StackKind::Encoder, ..id };
    assert_eq!(names(&written.with_heads(Heads::One(encoder))), "the little cat sat on the warm mat </s>");
    // What comes next is the model's own guess, where it made one.
    let source = ModelSource::Bundled("demo:gpt".to_owned());
    let guessing = scripted::capture(&scripted::model(&source), &Input::text("one two three"));
    let best = &guessing.prediction().unwrap().rows.last().unwrap().top[0].label;
    let written = Reading { rows: RowLabels::Written, ..Reading::of(head(0, 0)) };
    let pattern = read(Captures::one(&guessing), &written).unwrap();
    let rows: Vec<_> = pattern.rows.groups.iter().map(|row| row.text.clone()).collect();
    assert_eq!(rows, ["two".to_owned(), "three".to_owned(), format!("next: {best}")]);
    let [_, story] = benches();
    let written = Reading { merging: Merging::WORDS, rows: RowLabels::Written, ..Reading::of(head(0, 0)) };
    let pattern = read(Captures::one(&story.capture), &written).unwrap();
    let rows: Vec<_> = pattern.rows.groups.iter().map(|row| (row.text.as_str(), row.positions.clone())).collect();
    assert_eq!(rows, [("animal", 0..2), ("didn't", 2..4), ("cross", 4..5), (".", 5..6), ("…", 6..7)]);
}

#[test]
fn masked_cells_of_words_are_those_that_no_piece_may_see() {
    let [pair, story] = benches();
    let reading = Reading { merging: Merging::WORDS, ..Reading::of(head(0, 0)) };
    let pattern = read(Captures::one(&story.capture), &reading).unwrap();
    for row in 0..5 {
        for col in 0..5 {
            assert_eq!(pattern.blank(row, col), (col > row).then_some(Blank::Later), "{row}, {col}");
        }
    }
    let left_out = LeaveOut { punctuation: true, positions: BTreeSet::from([1]), ..LeaveOut::default() };
    let reading = Reading { leave_out: left_out, ..reading };
    let pattern = read(Captures::one(&pair.capture), &reading).unwrap();
    assert_eq!(pattern.blank(0, 3), Some(Blank::LeftOut(LeftOut::Chosen)));
    assert_eq!(pattern.blank(0, 1), None, "a word stays while one of its pieces does");
    let text = pattern.hidden_text().unwrap();
    assert!(
        text.ends_with("% of the attention went to keys that are left out, rows renormalised over the rest"),
        "{text}"
    );
    let everything = LeaveOut { positions: (0..13).collect(), ..LeaveOut::default() };
    let nothing = read(Captures::one(&pair.capture), &Reading { leave_out: everything, ..reading }).unwrap();
    assert_eq!((nothing.range, nothing.total_mass().shown().abs() < 1e-9), ((0.0, 0.0), true));
}

#[test]
fn heads_that_link_a_pair_are_ranked_by_the_weight_that_every_view_shows() {
    let [pair, _] = benches();
    let reading = Reading {
        merging: Merging::WORDS,
        leave_out: LeaveOut { special: true, ..LeaveOut::default() },
        ..Reading::default()
    };
    let mut calls = 0;
    let found = pairs::links(&pair.capture, StackKind::SelfAttention, &reading, (2, 9), &mut |_, n| {
        calls += 1;
        n == N_LAYERS * N_HEADS
    });
    let found = found.unwrap().unwrap();
    assert_eq!((found.query.as_str(), found.key.as_str(), found.n_absent, calls), ("unbelievable", "dogs", 0, 12));
    assert_eq!(found.heads.len(), N_LAYERS * N_HEADS);
    assert!(found.heads.windows(2).all(|two| two[0].weight >= two[1].weight));
    for link in &found.heads {
        let shown = read(Captures::one(&pair.capture), &reading.with_heads(Heads::One(link.head))).unwrap();
        assert_eq!(Some(link.weight), shown.value_at(2, 9));
        let row = shown.matrix.row(1).unwrap();
        assert_eq!(link.rank, 1 + row.iter().filter(|&&other| other > link.weight).count());
        assert_eq!(link.n_keys, 7, "ten words, three of them special");
        let column: f64 = shown.matrix.rows().map(|row| f64::from(row[6])).sum();
        assert!(close(f64::from(link.average.unwrap()), column / 10.0));
    }
    let best = found.sentence(&found.heads[0]);
    assert!(best.contains(" from “unbelievable” to “dogs” (rank "), "{best}");
    let stopped = pairs::links(&pair.capture, StackKind::SelfAttention, &reading, (2, 9), &mut |done, _| done < 3);
    assert_eq!(stopped, Ok(None));
}

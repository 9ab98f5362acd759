use std::{collections::BTreeMap, ops::Range, sync::Arc};

use attnscope::{
    analysis::{
        edges::EdgeFilter,
        reading::{
            Aggregate, Aggregation, Axes, Captures, Heads, LeaveOut, LeftOut, Policy, ReadPattern, Reading, Refusal,
            Source, Which, axes,
            long::{Pool, STRIP_ROWS, is_long, n_strips, overview_level, read_part, reduce, strip_rows},
            read,
            store::{CapturePair, PatternRows, PatternStore},
        },
        stats::{Choices, head_stats},
    },
    capture::{
        AppliedEdit, Capture, CaptureParts, Computation, Cut, Edit, HideToken, InputInfo, Knockout, LayerCapture,
        Matrix, Merging, Normalizer, PerHead, Scope, Sharpen, Site, StackCapture, Unit,
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

use crate::support::synthetic::{Random, token};

const N_HEADS: usize = 2;
const D_HEAD: usize = 8;

/// A text of which only queries, keys and values were kept, run as `computation` says.
fn capture(n_tokens: usize, layer: LayerSpec, computation: Computation) -> Capture {
    let mut random = Random(n_tokens as u64);
    let mut vectors = |n_heads: usize| {
        let values: Vec<f32> = (0..n_heads * n_tokens * D_HEAD).map(|_| 2.0 * random.symmetric()).collect();
        PerHead::new(values, [n_heads, n_tokens, D_HEAD]).unwrap()
    };
    let [q, k, v] = [layer.n_heads, layer.n_kv_heads, layer.n_kv_heads].map(&mut vectors);
    // Every fifth token goes on with the word before.
    let text = |at: usize| if at % 5 == 2 { "##s".to_owned() } else { ["the", "cat", ".", "Sat"][at % 4].to_owned() };
    let mut start = 0;
    let tokens = (0..n_tokens).map(|at| {
        let text = text(at);
        let begin = if text.starts_with("##") { start } else { start + 1 };
        start = begin + text.len();
        token(&text, Some(at as u32 % 90), at == 0, begin)
    });
    let model = ModelSpec {
        name: "long".to_owned(),
        family: "gpt2".to_owned(),
        modality: Modality::Text(TextSpec::new(n_tokens, 100)),
        stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers: vec![layer], causal: true }],
        d_model: N_HEADS * D_HEAD,
        n_params: 1,
        head: None,
        checkpoint: None,
    };
    let layers = vec![LayerCapture::of([(Site::Q, q), (Site::K, k), (Site::V, v)])];
    Capture::new(CaptureParts {
        id: CaptureId(n_tokens as u64),
        model: Arc::new(model),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, tokens.collect())]),
        stacks: vec![StackCapture { kind: StackKind::SelfAttention, layers, ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: BTreeMap::new(),
        computation,
        notes: Vec::new(),
    })
    .unwrap()
}

fn layer() -> LayerSpec {
    LayerSpec { n_kv_heads: 1, ..LayerSpec::new(N_HEADS, D_HEAD) }
}

/// A layer that sees the last tokens, changed runs, and another normaliser.
fn captures(n_tokens: usize) -> Vec<Capture> {
    let head = HeadId::single(0, 1);
    let edits = [
        Edit::HideToken(HideToken { side: Side::Only, position: 70 }),
        Edit::Sharpen(Sharpen { head, by: 1.5 }),
        Edit::Knockout(Knockout {
            stack: StackKind::SelfAttention,
            scope: Scope::All,
            edges: vec![[130, 3], [65, 64]],
            cut: Cut::default(),
        }),
    ];
    let changed = Computation { edits: edits.map(AppliedEdit::Known).into(), ..Computation::default() };
    let sparse = Computation { normalizer: Normalizer::Sparsemax, ..Computation::default() };
    vec![
        capture(n_tokens, layer(), Computation::default()),
        capture(n_tokens, LayerSpec { window: Some(40), softcap: Some(30.0), ..layer() }, Computation::default()),
        capture(n_tokens, layer(), changed),
        capture(n_tokens, layer(), sparse),
    ]
}

fn readings() -> Vec<Reading> {
    let one = Reading::of(HeadId::single(0, 1));
    let left_out = |policy| LeaveOut { special: true, punctuation: true, policy, ..LeaveOut::default() };
    let mean =
        Aggregation { stack: StackKind::SelfAttention, layers: Which::All, heads: Which::All, how: Aggregate::Mean };
    vec![
        Reading { leave_out: left_out(Policy::Renormalize), ..one.clone() },
        Reading { leave_out: left_out(Policy::Hide), merging: Merging::WORDS, ..one.clone() },
        Reading { source: Source::ByValueNorm, merging: Merging::WORDS, ..one.clone() },
        one.with_heads(Heads::Many(mean)),
        one,
    ]
}

fn parts(capture: &Capture, reading: &Reading, axes: &Axes, n_rows: usize) -> Vec<ReadPattern> {
    let part = |rows: Range<usize>| read_part(Captures::one(capture), reading, axes, rows).unwrap();
    (0..axes[0].len()).step_by(n_rows).map(|first| part(first..first + n_rows)).collect()
}

#[test]
fn parts_hold_the_bits_of_the_whole_however_it_is_read() {
    for capture in captures(203) {
        for reading in readings() {
            let whole = read(Captures::one(&capture), &reading).unwrap();
            let axes = axes(&capture, &reading);
            for n_rows in [1, 37, STRIP_ROWS] {
                let parts = parts(&capture, &reading, &axes, n_rows);
                let rows = parts.iter().flat_map(|part| part.matrix.rows());
                let bits = |row: &[f32]| row.iter().map(|weight| weight.to_bits()).collect::<Vec<_>>();
                assert!(rows.map(bits).eq(whole.matrix.rows().map(bits)), "{reading:?}");
                assert!(parts.iter().flat_map(|part| &part.mass).eq(&whole.mass), "{reading:?}");
                let part = &parts[1];
                assert!(part.is_part() && part.visible == whole.visible && part.marks == whole.marks);
                let (row, elsewhere) = (part.here.start, part.here.end);
                assert_eq!(part.ranked_cols(row), whole.ranked_cols(row));
                let query = whole.rows.position(row);
                assert_eq!(part.by_key(query), whole.by_key(query));
                assert_eq!(part.rank(row, 0), whole.rank(row, 0));
                assert!(part.value(elsewhere, 0).is_none() && part.ranked_cols(elsewhere).is_empty());
            }
        }
    }
}

/// Sentences of a text that is read in three parts: each has the mean of its queries and the sums of the others.
#[test]
fn sentences_are_read_in_parts_and_hold_the_numbers_of_the_whole() {
    let capture = capture(1303, layer(), Computation::default());
    let tokens = read(Captures::one(&capture), &Reading::of(HeadId::single(0, 1))).unwrap();
    let merging = Merging { unit: Unit::Sentence, unfolded: Some(2) };
    let reading = Reading { merging, ..Reading::of(HeadId::single(0, 1)) };
    assert!(!is_long(&capture, &reading));
    let merged = read(Captures::one(&capture), &reading).unwrap();
    let n = merged.rows.len();
    assert!((100..600).contains(&n) && merged.matrix.shape() == [n, n], "{n}");
    for (row, queries) in merged.rows.groups.iter().enumerate() {
        for (col, keys) in merged.cols.groups.iter().enumerate() {
            let sum = |query: usize| {
                keys.positions.clone().map(|key| f64::from(tokens.value(query, key).unwrap())).sum::<f64>()
            };
            let mean = queries.positions.clone().map(sum).sum::<f64>() / queries.positions.len() as f64;
            assert!((f64::from(merged.value(row, col).unwrap()) - mean).abs() < 1e-6, "{row} {col}");
        }
        assert!((merged.mass[row].total - 1.0).abs() < 1e-4, "{row}");
    }
    let most = merged.matrix.as_slice().iter().copied().fold(0.0, f32::max);
    assert_eq!(merged.range.1, most, "the range is that of all parts");
}

/// The largest and the mean of the cells of a block that can be seen, one by one.
fn pooled(whole: &ReadPattern, rows: Range<usize>, cols: Range<usize>) -> [f32; 2] {
    let cells = rows.flat_map(|row| cols.clone().map(move |col| (row, col)));
    let seen: Vec<f32> = cells
        .filter(|&(row, col)| whole.visible[row].contains(&col) && whole.cols.groups[col].left_out.is_none())
        .map(|(row, col)| whole.value(row, col).unwrap())
        .collect();
    let sum: f64 = seen.iter().map(|weight| f64::from(*weight)).sum();
    [seen.iter().copied().fold(0.0, f32::max), (sum / seen.len().max(1) as f64) as f32]
}

#[test]
fn a_level_of_detail_keeps_the_largest_and_the_mean_of_every_block() {
    for capture in captures(203) {
        for reading in readings() {
            let whole = read(Captures::one(&capture), &reading).unwrap();
            let (n_rows, n_cols) = (whole.rows.len(), whole.cols.len());
            for (level, part) in
                [1, 4].into_iter().zip(parts(&capture, &reading, &axes(&capture, &reading), STRIP_ROWS))
            {
                let (side, strip) = (1 << level, reduce(&part, part.here.clone(), level));
                let expected_shape = [part.here.len().div_ceil(side), n_cols.div_ceil(side)];
                assert_eq!(strip.max.shape(), expected_shape);
                for row in 0..expected_shape[0] {
                    let first = part.here.start + row * side;
                    for col in 0..expected_shape[1] {
                        let [max, mean] = pooled(
                            &whole,
                            first..(first + side).min(part.here.end),
                            col * side..((col + 1) * side).min(n_cols),
                        );
                        let found = Pool::ALL.map(|pool| strip.values(pool).get(row, col).unwrap());
                        assert!(found[0].to_bits() == max.to_bits() && (found[1] - mean).abs() < 1e-7, "{row} {col}");
                    }
                }
            }
            assert!((0..n_strips(n_rows)).flat_map(|strip| strip_rows(strip, n_rows)).eq(0..n_rows));
        }
    }
    // At most about a thousand blocks each way, and never coarser than a strip is high.
    let levels = [(1_000, 1_000), (4_096, 4_096), (16_384, 16_384), (32_768, 100), (1 << 20, 1 << 20)];
    assert_eq!(levels.map(|(rows, cols)| overview_level(rows, cols)), [0, 2, 4, 5, 6]);
}

/// Above 2,048 × 2,048 a view asks for parts; above 8,192 × 8,192 nothing is held whole.
#[test]
fn a_long_text_is_asked_about_in_parts_and_the_whole_of_a_very_long_one_is_refused() {
    let reading = Reading::of(HeadId::single(0, 0));
    let long = Arc::new(capture(2_100, layer(), Computation::default()));
    assert!(is_long(&long, &reading) && !is_long(&capture(2_048, layer(), Computation::default()), &reading));
    let whole = read(Captures::one(&long), &reading).unwrap();
    let subject = CapturePair::one(Arc::clone(&long));
    let store = PatternStore::default();
    let rows = strip_rows(20, 2_100);
    let ask = || {
        let lines = store.lines_of_part(
            &subject,
            PatternRows { reading: reading.clone(), rows: rows.clone() },
            EdgeFilter::TopK(2),
        );
        (
            store.axes(&subject, &reading),
            lines,
            store.strip(&subject, &reading, (2, 7)),
            store.stats(&subject, HeadId::single(0, 0)),
        )
    };
    ask();
    assert!(store.read_now());
    let (Some(axes), Some(Ok(lines)), Some(Ok(strip)), Some(Ok(stats))) = ask() else { panic!("not answered") };
    assert_eq!(axes[0].len(), 2_100);
    assert_eq!(lines.set.edges.len(), 2 * rows.len(), "two of each row");
    for edge in &lines.set.edges {
        assert_eq!(
            whole.value(edge.query as usize, edge.key as usize),
            Some(edge.weight),
            "rows are counted as in all"
        );
    }
    assert_eq!(strip.max.shape(), [STRIP_ROWS / 4, 525]);
    assert_eq!(
        stats,
        head_stats(&whole.matrix, None, &[true], Choices::of(&long, HeadId::single(0, 0)), true),
        "numbers of a head are summed up part by part"
    );

    let very_long = capture(8_193, layer(), Computation::default());
    let refusal = read(Captures::one(&very_long), &reading).unwrap_err();
    assert_eq!(refusal, Refusal::TooLong { n_query: 8_193, n_key: 8_193 });
    let row = read_part(
        Captures::one(&very_long),
        &reading,
        &attnscope::analysis::reading::axes(&very_long, &reading),
        8_000..8_001,
    );
    let sum: f64 = row.unwrap().matrix.as_slice().iter().map(|weight| f64::from(*weight)).sum();
    assert!((sum - 1.0).abs() < 1e-5);
}

/// A mean over cells that nobody can see would make the edge of the triangle look weak.
#[test]
fn what_the_mask_rules_out_dims_no_mean() {
    let capture = capture(128, layer(), Computation::default());
    let reading = Reading::of(HeadId::single(0, 0));
    let whole = read(Captures::one(&capture), &reading).unwrap();
    let part = read_part(Captures::one(&capture), &reading, &axes(&capture, &reading), 0..2).unwrap();
    let strip = reduce(&part, 0..2, 1);
    let [a, b, c] = [(0, 0), (1, 0), (1, 1)].map(|(row, col)| f64::from(whole.value(row, col).unwrap()));
    assert!((f64::from(strip.mean.get(0, 0).unwrap()) - (a + b + c) / 3.0).abs() < 1e-7);
    assert!(whole.cols.groups.iter().all(|col| col.left_out != Some(LeftOut::Chosen)));
    assert_eq!(
        Matrix::new(vec![0.0; 63], [1, 63]).unwrap().as_slice(),
        &strip.max.row(0).unwrap()[1..],
        "nothing there"
    );
}

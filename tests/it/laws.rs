//! Laws that hold for every capture.

use attnscope::{
    analysis::{
        attention,
        edges::{self, EdgeFilter},
        stats::{self, Choices},
    },
    capture::{Capture, CaptureParts, Computation, Matrix, PerHead, Site, StackCapture},
    ids::{HeadId, Side, StackKind},
    spec::Mask,
};

use crate::support::synthetic::{self, Habit, Random};

fn captures() -> Vec<Capture> {
    vec![
        synthetic::text_capture(33, 2, 5),
        synthetic::causal_text_capture(29, 2, 5),
        synthetic::image_capture((3, 5)),
        synthetic::text_capture(1, 1, 5),
    ]
}

fn heads(capture: &Capture) -> Vec<HeadId> {
    let layers = &capture.model().stacks[0].layers;
    (0..layers.len()).flat_map(|l| (0..layers[l].n_heads).map(move |h| HeadId::single(l, h))).collect()
}

fn matrix(rows: &[&[f32]]) -> Matrix {
    Matrix::new(rows.concat(), [rows.len(), rows[0].len()]).unwrap()
}

/// The capture without what a byte budget would drop.
fn without_patterns(capture: &Capture) -> Capture {
    let stacks: Vec<_> = capture
        .stacks()
        .iter()
        .map(|stack| {
            let mut stack: StackCapture = stack.clone();
            stack.layers.iter_mut().for_each(|layer| layer.sites.remove(Site::Pattern));
            stack
        })
        .collect();
    with_stacks(capture, stacks)
}

/// The capture with other recordings.
fn with_stacks(capture: &Capture, stacks: Vec<StackCapture>) -> Capture {
    Capture::new(CaptureParts {
        id: capture.id(),
        model: capture.model().clone(),
        input: capture.input().clone(),
        tokens: Side::ALL.into_iter().map(|side| (side, capture.tokens(side).to_vec())).collect(),
        stacks,
        image: capture.image().cloned(),
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

fn max_difference(a: &Matrix, b: &Matrix) -> f32 {
    assert_eq!(a.shape(), b.shape());
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn rows_of_every_pattern_sum_to_one() {
    for capture in captures() {
        for head in heads(&capture) {
            for row in attention::pattern(&capture, head).unwrap().rows() {
                let sum: f32 = row.iter().sum();
                assert!((sum - 1.0).abs() < 1e-5, "{head}: {sum}");
            }
        }
    }
}

#[test]
fn a_pattern_that_was_not_stored_is_recomputed_from_q_and_k() {
    for capture in captures() {
        let lean = without_patterns(&capture);
        for head in heads(&capture) {
            assert!(lean.stored_pattern(head).is_none());
            let recomputed = attention::pattern(&lean, head).unwrap();
            let stored = capture.stored_pattern(head).unwrap();
            assert!(max_difference(&recomputed, &stored) < 1e-5, "{head}");
        }
    }
}

#[test]
fn causal_scores_are_masked_above_the_diagonal() {
    let capture = synthetic::causal_text_capture(10, 1, 1);
    let scores = attention::scores(&capture, HeadId::single(0, 0)).unwrap();
    for (query, row) in scores.rows().enumerate() {
        assert!(row[..=query].iter().all(|score| score.is_finite()));
        assert!(row[query + 1..].iter().all(|score| *score == f32::NEG_INFINITY));
    }
}

#[test]
fn moving_all_keys_leaves_the_pattern_alone() {
    let mut random = Random(7);
    let mut values = |n: usize| (0..n).map(|_| random.symmetric() * 2.0).collect::<Vec<f32>>();
    let (q, k, shift) = (values(6 * 8), values(9 * 8), values(8));
    let moved: Vec<f32> = k.iter().zip(shift.iter().cycle()).map(|(k, s)| k + s).collect();
    let pattern_of = |k: &[f32]| {
        let scores = (0..6)
            .flat_map(|i| (0..9).map(move |j| (i, j)))
            .map(|(i, j)| q[i * 8..][..8].iter().zip(&k[j * 8..][..8]).map(|(a, b)| a * b).sum::<f32>());
        attention::softmax(&Matrix::new(scores.collect::<Vec<_>>(), [6, 9]).unwrap()).unwrap()
    };
    assert!(max_difference(&pattern_of(&k), &pattern_of(&moved)) < 1e-5);
}

#[test]
fn a_fully_masked_row_becomes_zeros() {
    let scores = matrix(&[&[f32::NEG_INFINITY, f32::NEG_INFINITY], &[0.0, 0.0]]);
    assert_eq!(attention::softmax(&scores).unwrap(), matrix(&[&[0.0, 0.0], &[0.5, 0.5]]));
}

#[test]
fn synthetic_heads_do_what_they_say() {
    let capture = synthetic::text_capture(26, 1, 5);
    let stats = &stats::stack_stats(&capture, StackKind::SelfAttention)[0];
    for (head, stats) in stats.iter().enumerate() {
        let stats = stats.unwrap();
        match Habit::of(0, head) {
            Habit::Previous => assert!(stats.on_previous.unwrap() > 0.6, "{stats:?}"),
            Habit::First => assert!(stats.on_first > 0.6, "{stats:?}"),
            Habit::Diagonal => assert!(stats.on_self.unwrap() > 0.4, "{stats:?}"),
            Habit::Induction => assert!(stats.on_previous.unwrap() < 0.3 && stats.max_weight > 0.5, "{stats:?}"),
            Habit::Diffuse => assert!(stats.entropy_fraction > 0.8, "{stats:?}"),
        }
    }
}

#[test]
fn statistics_of_a_known_pattern() {
    // Five tokens [CLS] cat . sat [SEP]; entropies and masses worked out by hand.
    let pattern = matrix(&[
        &[0.5, 0.2, 0.1, 0.1, 0.1],
        &[0.1, 0.1, 0.5, 0.1, 0.2],
        &[0.05, 0.6, 0.1, 0.05, 0.2],
        &[0.1, 0.1, 0.6, 0.1, 0.1],
        &[0.2, 0.1, 0.1, 0.1, 0.5],
    ]);
    let stats =
        stats::head_stats(&pattern, None, &[true, false, false, false, true], Choices::behind(Mask::NONE, 5), true);
    let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-5, "{a} is not {b}");
    near(stats.entropy, 1.292_691);
    near(stats.entropy_fraction, 1.292_691 / 5f32.ln());
    near(stats.on_self.unwrap(), 0.26);
    near(stats.on_previous.unwrap(), 0.28);
    near(stats.on_first, 0.19);
    near(stats.on_special, 0.19 + 0.22);
    near(stats.max_weight, 0.6);
}

#[test]
fn a_uniform_causal_head_has_all_the_entropy_it_could_have() {
    let n = 6;
    let values: Vec<f32> =
        (0..n * n).map(|at| if at % n <= at / n { 1.0 / (at / n + 1) as f32 } else { 0.0 }).collect();
    let choices = Choices::behind(Mask { causal: true, window: None }, n);
    let stats = stats::head_stats(&Matrix::new(values, [n, n]).unwrap(), None, &[], choices, true);
    assert!((stats.entropy_fraction - 1.0).abs() < 1e-5, "{stats:?}");
}

#[test]
fn selected_edges_are_entries_of_the_pattern_and_cover_what_was_asked() {
    let capture = synthetic::text_capture(40, 1, 5);
    for head in heads(&capture) {
        let pattern = attention::pattern(&capture, head).unwrap();
        for p in [0.3, 0.9, 1.0] {
            let set = edges::select(&pattern, EdgeFilter::TopP(p));
            for edge in &set.edges {
                assert_eq!(pattern.get(edge.query as usize, edge.key as usize), Some(edge.weight));
            }
            for (query, row) in pattern.rows().enumerate() {
                let mut kept: Vec<f32> =
                    set.edges.iter().filter(|e| e.query as usize == query).map(|e| e.weight).collect();
                kept.sort_by(f32::total_cmp);
                let (mass, row_mass): (f32, f32) = (kept.iter().sum(), row.iter().sum());
                assert!(mass >= p * row_mass - 1e-4, "{head} row {query}: {mass} of {p}");
                assert!(mass - kept[0] < p * row_mass + 1e-4, "{head} row {query}: one entry too many");
            }
            assert!((set.fraction_shown() - set.mass_shown / set.mass_total).abs() < 1e-12);
        }
    }
}

#[test]
fn edge_filters_on_a_small_pattern() {
    let pattern = matrix(&[&[0.4, 0.4, 0.2, 0.0], &[0.25, 0.25, 0.25, 0.25]]);
    let keys = |filter| -> Vec<(u32, u32)> {
        edges::select(&pattern, filter).edges.iter().map(|edge| (edge.query, edge.key)).collect()
    };
    assert_eq!(keys(EdgeFilter::TopK(1)), [(0, 0), (1, 0)], "ties: the lower key");
    assert_eq!(keys(EdgeFilter::TopK(3)), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    assert_eq!(keys(EdgeFilter::TopK(0)), []);
    assert_eq!(keys(EdgeFilter::TopP(0.5)), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(keys(EdgeFilter::TopP(0.0)), []);
    assert_eq!(keys(EdgeFilter::TopP(1.0)).len(), 7, "zeros are no edges");
    assert_eq!(keys(EdgeFilter::Threshold(0.25)), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]);
}

#[test]
fn too_many_edges_keep_the_strongest_and_say_how_many_are_missing() {
    let pattern = matrix(&[&[0.4, 0.4, 0.2, 0.0], &[0.25, 0.25, 0.25, 0.25]]);
    let set = edges::select_at_most(&pattern, EdgeFilter::TopP(1.0), 3);
    let kept: Vec<_> = set.edges.iter().map(|edge| (edge.query, edge.key)).collect();
    assert_eq!(kept, [(0, 0), (0, 1), (1, 0)]);
    assert_eq!((set.n_total, set.n_capped), (7, 4));
    assert!((set.fraction_shown() - 1.05 / 2.0).abs() < 1e-6);
}

/// The self-check must fail when a number is wrong, or it proves nothing.
#[test]
fn a_broken_capture_breaks_its_law() {
    let capture = synthetic::causal_text_capture(9, 2, 3);
    assert!(attnscope::analysis::laws::check(&capture).iter().all(|law| !law.is_broken()));
    let shape = [3, 9, 9];
    let first = capture.stacks()[0].layers[0].pattern().unwrap();
    let broken = |change: &dyn Fn(&mut [f32])| {
        let mut values = first.as_slice().to_vec();
        change(&mut values);
        let mut stacks = capture.stacks().to_vec();
        stacks[0].layers[0].sites.set(Site::Pattern, PerHead::new(values, shape).unwrap());
        let capture = with_stacks(&capture, stacks);
        attnscope::analysis::laws::check(&capture).iter().filter(|law| law.is_broken()).count()
    };
    assert_eq!(broken(&|_| {}), 0);
    assert!(broken(&|values| values[9] += 0.01) >= 1, "a row sums to more than 1");
    assert!(broken(&|values| values.swap(0, 5)) >= 1, "a masked key gets attention");
    assert!(broken(&|values| values[20] = f32::NAN) >= 1, "a weight is no number");
}

//! Statistics of the heads of a stack from the queries and keys of many inputs, or from a run of one; those of two such
//! clouds held against each other.

use rayon::prelude::*;

use super::{
    ContrastTable, HeadRows, HeadSums, InputFacts, RowFacts, StackStatistics, StackTable, contrast, layouts_differ,
};
use crate::{
    analysis::{
        PointCloud, aggregate,
        detect::{StackFacts, TokenCounts, TokenFacts},
        stats::Choices,
        welch::Correction,
    },
    ids::{HeadId, StackKind},
};

/// The heads of a stack over two clouds: the numbers of each, and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastedTables {
    pub sides: [StackTable; 2],
    pub contrast: ContrastTable,
}

/// The table of a stack. `progress(done, total)` is called between groups of heads and answers whether to go on; `None`
/// when it said no.
///
/// # Errors
/// A sentence when patterns are not decided by what is there.
pub fn table_of_cloud(
    cloud: &PointCloud,
    stack: StackKind,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<StackTable, String>> {
    Some(of_cloud(cloud, stack, progress)?.map(|statistics| statistics.table(cloud.n_inputs())))
}

/// Holds a stack over the inputs of `b` against the same over those of `a`: two corpora of one model, or one corpus in two
/// models of the same layout. `progress` is that of [`table_of_cloud`].
///
/// # Errors
/// A sentence when they cannot be compared, or patterns are not decided by what is there.
pub fn contrast_of_clouds(
    [a, b]: [&PointCloud; 2],
    stack: StackKind,
    correction: Correction,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<ContrastedTables, String>> {
    if let Some(refusal) = incomparable(a, b) {
        return Some(Err(refusal));
    }
    let n = [a, b].map(|cloud| cloud.heads(stack).len());
    let total = n[0] + n[1];
    let first = match of_cloud(a, stack, &mut |done, _| progress(done.min(n[0]), total))? {
        Ok(first) => first,
        Err(problem) => return Some(Err(problem)),
    };
    let second = match of_cloud(b, stack, &mut |done, _| progress(n[0] + done.min(n[1]), total))? {
        Ok(second) => second,
        Err(problem) => return Some(Err(problem)),
    };
    let n_inputs = [a.n_inputs(), b.n_inputs()];
    Some(Ok(ContrastedTables {
        contrast: contrast::of_stacks([&first, &second], n_inputs, correction),
        sides: [first.table(n_inputs[0]), second.table(n_inputs[1])],
    }))
}

/// Why two clouds cannot be held against each other, as a sentence; none where they can.
fn incomparable(a: &PointCloud, b: &PointCloud) -> Option<String> {
    let (PointCloud::Inputs(of_a), PointCloud::Inputs(of_b)) = (a, b) else {
        let side = if matches!(a, PointCloud::Inputs(_)) { "the other side shows" } else { "this pane shows" };
        return Some(format!(
            "Heads are held against each other over many inputs, and {side} a single one: open a corpus there"
        ));
    };
    let (Some(model_a), Some(model_b)) = (a.model(), b.model()) else {
        return Some("One of the two corpora has no input: run it first".to_owned());
    };
    if let Some(sentence) = layouts_differ(model_a, model_b) {
        return Some(crate::text::sentence(&sentence));
    }
    let one_model = model_a == model_b;
    let texts = |view: &crate::corpus::CorpusView| {
        let inputs = (0..view.selection().inputs().len()).filter_map(|nth| view.input(nth));
        inputs.map(|row| row.info.clone()).collect::<Vec<_>>()
    };
    if !one_model && texts(of_a) != texts(of_b) {
        return Some(format!(
            "Both the models ({} and {}) and their inputs differ, so that no difference could be told to come from one of \
             them: open the same corpus in both, or two corpora in one model",
            model_a.name, model_b.name
        ));
    }
    let few = [a, b].into_iter().position(|cloud| cloud.n_inputs() < 2)?;
    let which = ["first", "second"][few];
    Some(format!("The {which} corpus has a single input, and a difference needs two on each side: open a longer one"))
}

/// The sums of a stack.
fn of_cloud(
    cloud: &PointCloud,
    stack: StackKind,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<StackStatistics, String>> {
    let Some(spec) = cloud.model().and_then(|model| model.stack(stack)) else {
        return Some(Err("There is no such stack of attention".to_owned()));
    };
    let heads = cloud.heads(stack);
    if let Some(refusal) = heads.iter().find_map(|head| aggregate::refusal(cloud, *head)) {
        return Some(Err(refusal.to_string()));
    }
    let inputs = facts(cloud, stack, spec.causal);
    let mut statistics = StackStatistics::new(spec);
    let mut reached = vec![0u64; inputs.len()];
    let n_at_once = 2 * rayon::current_num_threads().max(1);
    for (nth, group) in heads.chunks(n_at_once).enumerate() {
        if !progress(nth * n_at_once, heads.len()) {
            return None;
        }
        let added: Vec<_> = group.par_iter().map(|head| (*head, of_head(cloud, *head, &inputs))).collect();
        for (head, added) in added {
            match added {
                Ok((sums, bits)) => {
                    statistics.set(head, sums);
                    reached.iter_mut().zip(bits).for_each(|(all, one)| *all |= one);
                }
                Err(problem) => return Some(Err(problem)),
            }
        }
    }
    let segments = cloud.segments(stack);
    for ((facts, reached), segment) in inputs.iter().zip(reached).zip(segments) {
        statistics.note(facts, reached, segment.queries.len());
    }
    progress(heads.len(), heads.len()).then_some(Ok(statistics))
}

/// What the heads of a stack share of each input.
fn facts(cloud: &PointCloud, stack: StackKind, causal: bool) -> Vec<InputFacts> {
    let token = |side, point: usize| cloud.token(side, point).map(|token| (token.text, token.id, token.special));
    let causal = causal && !stack.is_between();
    let side = stack.key_side();
    let keys_of = |segment: &crate::projection::correlation::InputSegment| {
        segment.keys.clone().filter_map(|point| token(side, point)).collect::<Vec<_>>()
    };
    let queries_of = |segment: &crate::projection::correlation::InputSegment| {
        segment.queries.clone().filter_map(|point| token(stack.query_side(), point)).collect::<Vec<_>>()
    };
    let mut counts = TokenCounts::default();
    for segment in &cloud.segments(stack) {
        let queries = stack.is_between().then(|| (stack.query_side(), queries_of(segment)));
        counts.add(queries.into_iter().chain([(side, keys_of(segment))]));
    }
    let of = |segment: &crate::projection::correlation::InputSegment| {
        let (queries, keys) = (queries_of(segment), keys_of(segment));
        let of_keys = Some(counts.of(side, keys.iter().copied()));
        let tokens = TokenFacts::of(&queries, &keys, causal);
        // The last token of a picture is a patch.
        let image = segment.queries.clone().last().and_then(|point| cloud.place(stack.query_side(), point));
        let sees = [stack.query_side(), side].into_iter().any(|side| cloud.has_patches(side));
        let facts = StackFacts::new(stack, tokens, causal, image.map(|(image, _)| image));
        let facts = if sees { facts } else { facts.linked((&queries, &keys), Some(&counts)) };
        match cloud {
            PointCloud::Input(capture) => InputFacts::new(facts, RowFacts::of(capture, &cloud.heads(stack)), of_keys),
            PointCloud::Inputs(_) | PointCloud::Positions(_) => InputFacts::new(facts, RowFacts::WHOLE, of_keys),
        }
    };
    cloud.segments(stack).iter().map(of).collect()
}

/// The sums of a head, and which metrics each input has something for.
fn of_head(cloud: &PointCloud, head: HeadId, inputs: &[InputFacts]) -> Result<(HeadSums, Vec<u64>), String> {
    let (mut sums, mut reached) = (HeadSums::new(), vec![0; inputs.len()]);
    let mask = cloud.model().and_then(|model| model.mask_of(head)).unwrap_or_default();
    let segments = cloud.segments(head.stack);
    aggregate::patterns(cloud, head, &mut |nth, _, pattern| {
        let rows = match cloud {
            PointCloud::Input(capture) => HeadRows::of(capture, head, pattern),
            PointCloud::Inputs(_) | PointCloud::Positions(_) => HeadRows {
                pattern,
                choices: Choices::behind(mask, pattern.n_rows()),
                sinks: None,
                scores: Box::new(|| aggregate::scores(cloud, head, segments.get(nth)?)),
            },
        };
        reached[nth] = sums.add(inputs[nth].parts(), &rows);
        true
    })
    .map_err(|error| error.to_string())?;
    Ok((sums, reached))
}

//! Statistics of the heads of a stack from the queries and keys of many inputs, or from a run of one.

use rayon::prelude::*;

use super::{HeadRows, HeadSums, InputFacts, RowFacts, StackStatistics, StackTable};
use crate::{
    analysis::{
        PointCloud, aggregate,
        detect::{StackFacts, TokenFacts},
        stats::Choices,
    },
    ids::{HeadId, StackKind},
};

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
    progress(heads.len(), heads.len()).then(|| Ok(statistics.table(inputs.len())))
}

/// What the heads of a stack share of each input.
fn facts(cloud: &PointCloud, stack: StackKind, causal: bool) -> Vec<InputFacts> {
    let token = |side, point: usize| cloud.token(side, point).map(|token| (token.text, token.id, token.special));
    let causal = causal && !stack.is_between();
    let of = |segment: &crate::projection::correlation::InputSegment| {
        let queries: Vec<_> = segment.queries.clone().filter_map(|point| token(stack.query_side(), point)).collect();
        let keys: Vec<_> = segment.keys.clone().filter_map(|point| token(stack.key_side(), point)).collect();
        let tokens = TokenFacts::of(&queries, &keys, causal);
        // The last token of a picture is a patch.
        let image = segment.queries.clone().last().and_then(|point| cloud.place(stack.query_side(), point));
        let facts = StackFacts::new(stack, tokens, causal, image.map(|(image, _)| image));
        match cloud {
            PointCloud::Input(capture) => InputFacts::new(facts, RowFacts::of(capture, &cloud.heads(stack))),
            PointCloud::Inputs(_) | PointCloud::Positions(_) => InputFacts::new(facts, RowFacts::WHOLE),
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
        reached[nth] = sums.add((&inputs[nth].of, &inputs[nth].defined), &rows);
        true
    })
    .map_err(|error| error.to_string())?;
    Ok((sums, reached))
}

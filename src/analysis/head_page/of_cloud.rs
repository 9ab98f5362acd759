//! The page of a head from the queries and keys of many inputs, or from a run of one.

use super::{HeadPage, HeadTally, PageInput, PageSequence, PageSize};
use crate::{
    analysis::{
        PointCloud,
        aggregate::{self, AggregateError},
    },
    ids::HeadId,
};

/// Adds up all inputs of a cloud and keeps some. `progress(done, total)` is called between inputs and answers whether to
/// go on; `None` when it said no.
///
/// # Errors
/// A sentence when patterns are not decided by what is there.
pub fn page_of_cloud(
    cloud: &PointCloud,
    head: HeadId,
    size: PageSize,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<HeadPage, String>> {
    match page(cloud, head, size, progress) {
        Err(AggregateError::Stopped) => None,
        answer => Some(answer.map_err(|error| error.to_string())),
    }
}

fn page(
    cloud: &PointCloud,
    head: HeadId,
    size: PageSize,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<HeadPage, AggregateError> {
    let n = cloud.n_inputs();
    let mut tally = HeadTally::new(head, size);
    aggregate::patterns(cloud, head, &mut |nth, segment, pattern| {
        tally.add(nth, &PageInput::of_cloud(cloud, head, segment), pattern);
        progress(nth, n)
    })?;
    let mut sequences = Vec::new();
    let chosen = tally.chosen();
    let inputs: Vec<usize> = chosen.iter().map(|chosen| chosen.input).collect();
    aggregate::patterns_of(cloud, head, &inputs, &mut |nth, segment, pattern| {
        let input = PageInput::of_cloud(cloud, head, segment);
        sequences.extend(PageSequence::keep(chosen[nth], &input, pattern));
        progress(n, n)
    })?;
    Ok(tally.finish(sequences))
}

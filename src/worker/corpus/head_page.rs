//! One head over a list: a pass that adds up and keeps nothing of an input, then the inputs that it chose once more.

use super::{StatisticsOrder, StatisticsPass, head_statistics::plan, input_of};
use crate::{
    analysis::{
        attention,
        head_page::{HeadPage, HeadTally, PageInput, PageSequence, PageSize},
    },
    ids::HeadId,
    model::{Control, ModelError, Progress, Stage},
};

/// What a pass for one head found.
#[derive(Clone, Debug)]
pub struct PagePass {
    pub page: HeadPage,
    /// Statistics of all heads, which ranks come from.
    pub statistics: StatisticsPass,
}

/// Runs all inputs of a list for one head.
///
/// # Errors
/// When `control` says stop, or an input that was run cannot be run again.
pub fn head_page(
    order: StatisticsOrder<'_>,
    head: HeadId,
    size: PageSize,
    control: &Control<'_>,
) -> Result<PagePass, ModelError> {
    let StatisticsOrder { model, list, how } = order;
    let mut statistics = StatisticsPass::new(model);
    let mut tally = HeadTally::new(head, size);
    statistics.run_seen(order, control, &mut |_| Ok(()), &mut |source, capture| {
        if let Some(pattern) = attention::pattern(capture, head) {
            tally.add(source, &PageInput::of_capture(capture, head), &pattern);
        }
    })?;
    let all = tally.chosen();
    let mut sequences = Vec::new();
    for (nth, chosen) in all.iter().enumerate() {
        control(Progress { stage: Stage::Encode, done: nth, total: all.len() })?;
        let encoded = model.encode(&input_of(&list.items[chosen.input].content, how))?;
        let capture = model.forward(&encoded, &plan(), control)?;
        let input = PageInput::of_capture(&capture, head);
        sequences.extend(
            attention::pattern(&capture, head).and_then(|pattern| PageSequence::keep(*chosen, &input, &pattern)),
        );
    }
    Ok(PagePass { page: tally.finish(sequences), statistics })
}

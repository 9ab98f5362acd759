//! Which methods answer a question, with the options that they are asked with.

use crate::{
    analysis::explain::{report::Question, rollout::RolloutOptions},
    ui::ViewCtx,
    worker::{Ask, LeaveOut, Of},
};

/// Steps of the path of integrated gradients: enough for a gap of a percent on short texts.
const N_STEPS: usize = 20;

/// A method as it is shown.
pub struct Column {
    /// What stands above it.
    pub title: &'static str,
    /// What is asked.
    pub ask: Ask,
}

/// Questions that have methods here.
pub fn questions() -> impl Iterator<Item = Question> {
    [Question::Depends].into_iter()
}

/// The methods of a question that suit the model.
pub fn methods(cx: &ViewCtx<'_>, question: Question) -> Vec<Column> {
    let column = |title, ask| Column { title, ask };
    match question {
        Question::Depends => {
            let gradients = |times_input, steps| Ask::Gradients { of: Of::Input, times_input, steps };
            // Nothing multiplied and nothing assumed: what people take attention for.
            let n_layers = cx
                .document
                .latest_capture()
                .and_then(|capture| capture.model().stacks.last().map(|stack| stack.layers.len()))
                .unwrap_or(1);
            let last = RolloutOptions { residual: 0.0, start_layer: n_layers.saturating_sub(1), ..Default::default() };
            let mut columns = vec![
                column("Attention, last layer", Ask::Rollout(last)),
                column("Rollout", Ask::Rollout(RolloutOptions::default())),
                column("Relevance", Ask::Relevance { start_layer: 0 }),
                column("Gradient × input", gradients(true, None)),
                column("Integrated gradients", gradients(true, Some(N_STEPS))),
                column("Left out: hidden", Ask::LeaveOneOut { by: LeaveOut::Hide }),
            ];
            let is_text = cx.document.latest_capture().is_some_and(|capture| capture.image().is_none());
            if is_text {
                columns.push(column("Left out: deleted", Ask::LeaveOneOut { by: LeaveOut::Delete }));
            }
            columns
        }
        _ => Vec::new(),
    }
}

//! Which methods answer a question, with the options that they are asked with.

use crate::{
    analysis::explain::{alignment::Setting, report::Question, rollout::RolloutOptions},
    capture::Cut,
    ids::{HeadId, StackKind},
    ui::ViewCtx,
    worker::{Ask, FaithfulnessOptions, KnockoutOptions, LeaveOut, Of, Subject, TraceOptions},
};

/// Steps of the path of integrated gradients: enough for a gap of a percent on short texts.
const N_STEPS: usize = 20;

/// Tokens and memories that are told.
const N_TOP: usize = 5;
/// Permutations of a row, and steps of the search for one that says the same with other weights.
const N_PERMUTATIONS: usize = 100;
const N_ADVERSARIAL_STEPS: usize = 100;
/// Between softmax and sparsemax.
const ALPHA: f64 = 1.5;
/// Layers in which attention is cut at once.
const N_LAYERS_CUT: usize = 3;

/// A method as it is shown.
pub struct Column {
    /// What stands above it.
    pub title: &'static str,
    /// What is asked.
    pub ask: Ask,
}

/// Questions that have methods here.
pub fn questions() -> impl Iterator<Item = Question> {
    Question::ALL.into_iter()
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
        Question::Moves => {
            vec![column("Norm-based attention", Ask::Norms), column("Effective attention", Ask::Effective)]
        }
        Question::Fact => {
            let mut columns = vec![
                column("Logit lens", Ask::Lens { n_top: N_TOP }),
                column("Direct logit attribution", Ask::DirectLogits),
                column("Feed-forward memories", Ask::Memories { layer: None, n_top: N_TOP }),
                column(
                    "Attention knockout",
                    Ask::Knockout(KnockoutOptions { stack: None, window: N_LAYERS_CUT, cut: Cut::Scores }),
                ),
            ];
            // What is destroyed is the token that is held.
            if let Some(held) = cx.pane.selection.pinned.query {
                let subject = Subject::Positions(held..held + 1);
                columns.push(column("Causal tracing", Ask::Trace(TraceOptions::of(subject))));
            }
            columns
        }
        Question::Believe => {
            let HeadId { stack, layer, head } = cx.pane.selection.head;
            let options = FaithfulnessOptions {
                stack: Some(stack),
                layer: Some(layer),
                head: Some(head),
                n_permutations: N_PERMUTATIONS,
                n_steps: N_ADVERSARIAL_STEPS,
                seed: 0,
            };
            vec![
                column("Faithfulness of this head", Ask::Faithfulness(options)),
                column("Sparser normalisers", Ask::Normalizers { alpha: ALPHA }),
            ]
        }
        Question::Aligns => {
            let crosses = cx.document.latest_capture().is_some_and(|capture| capture.stack(StackKind::Cross).is_some());
            let ask = Ask::Alignment { setting: Setting::Output, gold: None };
            if crosses { vec![column("Word alignment", ask)] } else { Vec::new() }
        }
    }
}

//! Names and formulas of the steps behind a weight.

use super::WhyScene;
use crate::{
    analysis::attention::ScoreStep,
    analysis::chain::{Against, HiddenColumns, Over, Step, StepKind},
    analysis::explain::edges::PartsBy,
    capture::{Bend, words},
    text::{grouped, norm_text, share_text, tick_text, weight_text},
};

impl WhyScene {
    /// A key by its text.
    pub fn key_name(&self, key: usize) -> &str {
        self.keys.get(key).map_or("", |name| words::bare(name))
    }

    /// What is taken apart, and by what.
    pub fn parts_title(&self, by: PartsBy) -> String {
        let (query, key) = (words::bare(&self.query), self.key_name(self.chain.key));
        format!("Score of “{key}” for “{query}” by {}", by.title().to_lowercase())
    }

    /// What a step is called.
    pub fn name(&self, step: &Step) -> String {
        let (query, key) = (words::bare(&self.query), self.key_name(self.chain.key));
        match step.kind {
            StepKind::Query => format!("Query “{query}”"),
            StepKind::Key => format!("Key “{key}”"),
            StepKind::Products => "Product by dimension".to_owned(),
            StepKind::Dots => "Dot products".to_owned(),
            StepKind::HiddenQuery => format!("Query “{query}”, mapped"),
            StepKind::HiddenKey => format!("Key “{key}”, mapped"),
            StepKind::HiddenSum => "Sum of both".to_owned(),
            StepKind::Bent(Bend::Tanh) => "Hyperbolic tangent".to_owned(),
            StepKind::Bent(Bend::Relu) => "Rectified".to_owned(),
            StepKind::Weighted => "Weighed by the energy".to_owned(),
            StepKind::Energies => "Energies".to_owned(),
            StepKind::Score(ScoreStep::Scale(_)) => "Scaled".to_owned(),
            StepKind::Score(ScoreStep::Cap(_)) => "Capped".to_owned(),
            StepKind::Score(ScoreStep::Bias) => "Position bias".to_owned(),
            StepKind::Score(ScoreStep::Mask) => "Masked".to_owned(),
            StepKind::Score(ScoreStep::Change) => "Changed run".to_owned(),
            StepKind::Scores => "Scores".to_owned(),
            StepKind::Weights(_) => "Weights".to_owned(),
            StepKind::Weighed => format!("Value “{key}”"),
            StepKind::Mixed => "Values mixed".to_owned(),
            StepKind::Joined => "Heads joined".to_owned(),
            StepKind::Output => "Output map".to_owned(),
            StepKind::Added | StepKind::Stream => "Residual stream".to_owned(),
        }
    }

    /// How its values come from those before, and their shape.
    pub fn formula(&self, step: &Step) -> String {
        let how = match step.kind {
            StepKind::Query => "q".to_owned(),
            StepKind::Key => match (self.chain.against, self.chain.compared) {
                (Against::Nothing, _) => "k".to_owned(),
                (Against::Mean, _) => "k less the mean of all keys".to_owned(),
                (Against::Next, None) => "k, the only key it sees".to_owned(),
                (Against::Next, Some(other)) => format!("k less that of “{}”", self.key_name(other)),
            },
            StepKind::Products => "q ⊙ k".to_owned(),
            StepKind::Dots => "q · k of each key".to_owned(),
            StepKind::HiddenQuery => "W q".to_owned(),
            StepKind::HiddenKey => "U k + b".to_owned(),
            StepKind::HiddenSum => "W q + U k + b".to_owned(),
            StepKind::Bent(bend) => format!("h = {}", bend.formula()),
            StepKind::Weighted => "v ⊙ h".to_owned(),
            StepKind::Energies => "v · h of each key".to_owned(),
            StepKind::Score(ScoreStep::Scale(scale)) => format!("× {}", norm_text(scale)),
            StepKind::Score(ScoreStep::Cap(cap)) => {
                let cap = norm_text(cap);
                format!("{cap} · tanh(s / {cap})")
            }
            StepKind::Score(ScoreStep::Bias) => "+ b by position".to_owned(),
            StepKind::Score(ScoreStep::Mask) => "−∞ where hidden".to_owned(),
            StepKind::Score(ScoreStep::Change) => "as the changes say".to_owned(),
            StepKind::Scores => "no product of q and k".to_owned(),
            StepKind::Weights(normalizer) => format!("α = {}", normalizer.title()),
            StepKind::Weighed => format!("weighed: {} · v", weight_text(self.chain.weights[self.chain.key])),
            StepKind::Mixed => "z = Σ α v over all keys".to_owned(),
            StepKind::Joined => "z of each head".to_owned(),
            StepKind::Output => "z W_O + b".to_owned(),
            StepKind::Added => "x + attention".to_owned(),
            StepKind::Stream => "after attention, normed".to_owned(),
        };
        format!("{how}  [{}]", grouped(step.values.len()))
    }

    /// What a column is called.
    pub fn column_name(&self, over: Over, column: usize) -> String {
        match over {
            Over::Keys => self.key_name(column).to_owned(),
            Over::Vector | Over::Hidden | Over::Value | Over::Stream => column.to_string(),
            Over::Heads => format!("H{}·{}", column / self.d_value.max(1), column % self.d_value.max(1)),
        }
    }

    /// What the values come to: a sum where they add up to something, else a length.
    pub fn total(&self, step: &Step) -> String {
        match step.kind {
            StepKind::Products | StepKind::Weighted => format!("Σ {}", tick_text(step.sum())),
            StepKind::Weights(_) if self.chain.sink > 0.0 => {
                format!("Σ {}, sink {}", weight_text(step.sum()), share_text(self.chain.sink))
            }
            StepKind::Weights(_) => format!("Σ {}", weight_text(step.sum())),
            StepKind::Dots | StepKind::Energies | StepKind::Score(_) | StepKind::Scores => String::new(),
            StepKind::Query
            | StepKind::Key
            | StepKind::HiddenQuery
            | StepKind::HiddenKey
            | StepKind::HiddenSum
            | StepKind::Bent(_)
            | StepKind::Weighed
            | StepKind::Mixed
            | StepKind::Joined
            | StepKind::Output
            | StepKind::Added
            | StepKind::Stream => format!("length {}", norm_text(step.norm())),
        }
    }

    /// What is said of the columns that are not shown.
    pub fn rest_text(step: &Step, rest: HiddenColumns) -> String {
        let n = grouped(rest.n);
        match step.kind {
            StepKind::Products | StepKind::Weighted => format!("{n} more: {}", tick_text(rest.sum)),
            StepKind::Weights(_) => format!("{n} more: {}", weight_text(rest.sum)),
            _ if rest.is_masked => format!("{n} more, masked"),
            _ => format!("{n} more, ≤ {}", tick_text(rest.largest)),
        }
    }
}

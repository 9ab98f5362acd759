//! Head promised by the class that a checkpoint names in `architectures`. The class decides: a
//! head that it does not have is not shown, even when the weights have one, and a head that is not
//! supported is named.

use super::{Body, Config, HeadKind, Network, Weights, lookup};

/// What a class says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadClass {
    Body,
    /// Which tokens stand where, or follow.
    Words,
    TextClass,
    TokenClass,
    ImageClass,
    /// Something else, such as answers to questions.
    Other,
}

impl HeadClass {
    /// By the library's names; `None` for a class of somebody's own, of which only the weights tell, and without one.
    pub fn of(config: &Config) -> Option<Self> {
        let class = config.architecture()?;
        let ends = |names: &[&str]| names.iter().any(|name| class.ends_with(name));
        Some(if ends(&["ForPreTraining"]) {
            lookup::of_config(config).pretraining
        } else if ends(&[
            "ForCausalLM",
            "ForMaskedLM",
            "ForConditionalGeneration",
            "LMHeadModel",
            "DoubleHeadsModel",
            "MTModel",
            "EncoderDecoderModel",
        ]) {
            Self::Words
        } else if ends(&["ForSequenceClassification", "ForNextSentencePrediction"]) {
            Self::TextClass
        } else if ends(&["ForTokenClassification"]) {
            Self::TokenClass
        } else if ends(&["ForImageClassification", "ForImageClassificationWithTeacher"]) {
            Self::ImageClass
        } else if task(class).is_some() || ends(&["WithProjection"]) {
            Self::Other
        } else if ends(&["Model", "Backbone"]) {
            Self::Body
        } else {
            return None;
        })
    }

    const fn fits(self, head: Option<HeadKind>) -> bool {
        matches!(
            (self, head),
            (Self::Body | Self::Other, None)
                | (Self::Words, Some(HeadKind::NextToken | HeadKind::MaskedLm))
                | (Self::TextClass, Some(HeadKind::TextClass))
                | (Self::TokenClass, Some(HeadKind::TokenClass))
                | (Self::ImageClass, Some(HeadKind::ImageClass))
        )
    }
}

/// Takes away a head that the checkpoint's class does not have, and says what is missing.
pub(super) fn keep(config: &Config, weights: &mut Weights<'_>, network: &mut Network) {
    if config.entries().contains_key("auto_map") {
        weights.warn(
            "config.json names its own code (auto_map), which is not run: the model is computed as transformers' class does",
        );
    }
    let Some(class) = config.architecture() else { return };
    let Some(promise) = HeadClass::of(config) else { return };
    // Those read their class themselves.
    if matches!(network.body, Body::TwoTowers { .. } | Body::TwoStreams(_)) {
        return;
    }
    if promise == HeadClass::Other {
        let what = task(class).map_or_else(|| "a projection".to_owned(), |task| format!("a head for {task}"));
        weights.warn(&format!("{class} has {what}, which is not supported: the model is shown without it"));
    } else if !promise.fits(network.head_kind()) && promise != HeadClass::Body {
        let reason = match weights.last_absent().filter(|_| network.head.is_none()) {
            Some(name) => format!("the weights lack {name}, which transformers fills with random numbers"),
            None => "these weights do not have it as it is known".to_owned(),
        };
        weights.warn(&format!("The head that {class} has is not shown: {reason}"));
    }
    if !promise.fits(network.head_kind()) {
        network.head = None;
    }
}

/// `BertForQuestionAnswering` as “question answering”.
fn task(class: &str) -> Option<String> {
    let (_, task) = class.split_once("For").filter(|(_, task)| task.starts_with(char::is_uppercase))?;
    let mut words = String::new();
    for c in task.chars() {
        if c.is_uppercase() && words.ends_with(char::is_lowercase) {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    Some(words)
}

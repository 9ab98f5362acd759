//! The methods, a file each. A new one is a file and its two lines here.

mod ablation;
mod alignment;
mod attention;
mod attribution_patching;
mod contacts;
mod direct_logits;
mod edges;
mod effective;
mod embeddings;
mod faithfulness;
mod feature;
mod flow;
mod gradients;
mod head_effect;
mod knockout;
mod leave_one_out;
mod lens;
mod masks;
mod memories;
mod named_words;
mod normalizers;
mod norms;
mod rank_one;
mod relevance;
mod rollout;
mod sae;
mod trace;
mod writes;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    LabAnswer, LabError, LabRun, Target,
    method::{Method, MethodPreset, Parameters},
    options::{FieldValues, Scope, Visit},
};
use crate::{
    analysis::explain::{
        report::{MethodSpec, Report, ValueSpec},
        rollout::RolloutOptions,
    },
    capture::Ablation,
};

pub use alignment::{AlignmentOptions, Reverse, are_two_directions, two_texts};
pub use attention::AttentionOptions;
pub use attribution_patching::PatchingOptions;
pub use contacts::Contacts;
pub use direct_logits::DirectLogits;
pub use edges::{EdgeOptions, Than};
pub use effective::Effective;
pub(super) use effective::without_bias;
pub use embeddings::EmbeddingOptions;
pub use faithfulness::FaithfulnessOptions;
pub(super) use faithfulness::{absence, importance};
pub use feature::{FeatureOptions, neurons_of};
pub use flow::FlowOptions;
pub use gradients::{GradientOptions, Of};
pub use head_effect::HeadEffect;
pub use knockout::KnockoutOptions;
pub use leave_one_out::{LeaveOneOutOptions, LeaveOut};
pub use lens::LensOptions;
pub use masks::{Baseline, Depth, MaskingOptions};
pub use memories::MemoryOptions;
pub use named_words::NamedOptions;
pub use normalizers::NormalizerOptions;
pub use norms::Norms;
pub use rank_one::{RewriteOptions, edit_of};
pub use relevance::{RelevanceQuestion, Rule};
pub use sae::{FeatureWords, SaeOptions, rows_of, words_of};
pub use trace::{Restore, SubjectSpan, TraceOptions};
pub use writes::WritesOptions;

/// The map of a method that gives every token a row.
const MAP: ValueSpec = ValueSpec::new("matrix", "From every token (across) to every other (down)", "");
/// What a method gives each token, which stands beside that of others.
const SCORES: ValueSpec = ValueSpec::new("scores", "Scores", "");

/// A method that can be asked.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub spec: &'static MethodSpec,
    /// How the window offers it.
    pub columns: &'static [MethodPreset],
    /// A question with the options that the command line begins with.
    pub begin: fn() -> MethodCall,
}

/// Makes of methods the type of every question and the list of them, in the order in which they are shown.
macro_rules! methods {
    ($($name:ident: $options:ty),* $(,)?) => {
        /// A method with its options.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MethodCall {
            $(#[doc = concat!("See [`", stringify!($options), "`].")] $name($options),)*
        }

        /// Every method, in the order in which they are shown.
        pub const ALL: &[Registered] = &[
            $(Registered {
                spec: <$options as Method>::SPEC,
                columns: <$options as Method>::COLUMNS,
                begin: || MethodCall::$name(<$options as Method>::begin()),
            },)*
        ];

        $(impl From<$options> for MethodCall {
            fn from(options: $options) -> Self {
                Self::$name(options)
            }
        })*

        impl MethodCall {
            /// What the method says of itself.
            pub const fn spec(&self) -> &'static MethodSpec {
                match self { $(Self::$name(_) => <$options as Method>::SPEC,)* }
            }

            /// Shows every option to `visit`, which may change it.
            pub fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
                match self { $(Self::$name(options) => options.options(scope, visit),)* }
            }

            /// Every option with its value as a report tells it.
            pub fn parameters(&self) -> Parameters {
                match self { $(Self::$name(options) => options.parameters(),)* }
            }

            fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
                match self { $(Self::$name(options) => options.run(lab, target),)* }
            }
        }
    };
}

methods! {
    Attention: AttentionOptions,
    Rollout: RolloutOptions,
    Flow: FlowOptions,
    Relevance: RelevanceQuestion,
    Gradients: GradientOptions,
    LeaveOneOut: LeaveOneOutOptions,
    Masks: MaskingOptions,
    Named: NamedOptions,
    Contacts: Contacts,
    Ablation: Ablation,
    HeadEffect: HeadEffect,
    Faithfulness: FaithfulnessOptions,
    Normalizers: NormalizerOptions,
    Norms: Norms,
    Effective: Effective,
    Edges: EdgeOptions,
    Writes: WritesOptions,
    Lens: LensOptions,
    DirectLogits: DirectLogits,
    Trace: TraceOptions,
    Knockout: KnockoutOptions,
    AttributionPatching: PatchingOptions,
    Memories: MemoryOptions,
    Sae: SaeOptions,
    Feature: FeatureOptions,
    RankOne: RewriteOptions,
    Alignment: AlignmentOptions,
    Embeddings: EmbeddingOptions,
}

/// The method with this name.
pub fn named(name: &str) -> Option<&'static Registered> {
    ALL.iter().find(|method| method.spec.name == name)
}

impl MethodCall {
    /// Changes options by name; those of another method are left alone.
    ///
    /// # Errors
    /// Says what values there are when one is none of them.
    pub fn change(&mut self, values: &FieldValues, scope: &Scope<'_>) -> Result<(), String> {
        let mut wrong = None;
        self.options(scope, &mut |mut field| {
            if let Some(Err(why)) = values.get(field.name).map(|value| field.set(value)) {
                wrong.get_or_insert(why);
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// Every option with its value.
    pub fn values(&self, scope: &Scope<'_>) -> FieldValues {
        let mut all = FieldValues::new();
        self.clone().options(scope, &mut |field| drop(all.insert(field.name.to_owned(), field.value.value())));
        all
    }
}

/// Answers a question.
///
/// # Errors
/// When the question does not suit the model or the input, a run fails, or somebody says stop.
pub fn answer(lab: LabRun<'_>, call: &MethodCall, target: Target) -> Result<LabAnswer, LabError> {
    // Weights that methods read are those of the run.
    let lab = LabRun { model: lab.model.changed_by(lab.edits, lab.control)?, ..lab };
    let mut report = call.run(&lab, target)?;
    let own = call.parameters().into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
    let mut parameters: Vec<(Cow<'static, str>, Value)> = own.collect();
    parameters.append(&mut report.parameters);
    report.parameters = parameters;
    let Some(capture) = lab.plain.into_inner() else { return Err(LabError::unsuited("nothing was run")) };
    Ok(LabAnswer { capture, report })
}

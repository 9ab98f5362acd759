//! Queries and keys of each head over all inputs, and the tokens that they belong to.

use std::sync::Arc;

use super::options::Heads;
use crate::{
    analysis::{Cloud, CloudToken},
    capture::Matrix,
    cli::CliError,
    ids::{HeadId, Side, StackKind},
    projection::correlation::Segment,
    spec::ModelSpec,
};

/// One stack of a cloud, and which of its heads are wanted.
pub struct Clouds {
    cloud: Cloud,
    model: Arc<ModelSpec>,
    stack: StackKind,
    heads: Vec<HeadId>,
    segments: Vec<Segment>,
}

impl Clouds {
    /// Finds the heads that all inputs have queries and keys of.
    pub fn new(cloud: Cloud, stack: Option<StackKind>, heads: &Heads) -> Result<Self, CliError> {
        let model = cloud.model().ok_or_else(|| CliError::Failed("there is nothing to project".to_owned()))?;
        let model = Arc::clone(model);
        let kinds: Vec<StackKind> = model.stacks.iter().map(|stack| stack.kind).collect();
        let stack = match stack {
            Some(stack) if kinds.contains(&stack) => stack,
            Some(stack) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let message = format!("there is no stack {}: choose --stack {}", stack.name(), names.join(" or "));
                return Err(CliError::Usage(message));
            }
            None => *kinds.first().ok_or_else(|| CliError::Failed("the model has no attention stack".to_owned()))?,
        };
        let all = cloud.heads(stack);
        if all.is_empty() {
            let message = "there are no queries and keys to project: capture them with --sites q,k";
            return Err(CliError::Failed(message.to_owned()));
        }
        let heads = match heads {
            Heads::All => all,
            Heads::These(heads) => {
                let asked = heads.iter().map(|&(layer, head)| HeadId { stack, layer, head });
                let asked: Vec<HeadId> = asked.collect();
                if let Some(missing) = asked.iter().find(|head| !all.contains(head)) {
                    let (first, last) = (all[0], all[all.len() - 1]);
                    let message = format!("there are no queries and keys of {missing}: heads are {first} to {last}");
                    return Err(CliError::Usage(message));
                }
                asked
            }
        };
        let segments = cloud.segments(stack);
        Ok(Self { cloud, model, stack, heads, segments })
    }

    /// What the points are of.
    pub const fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// The stack.
    pub const fn stack(&self) -> StackKind {
        self.stack
    }

    /// The heads to project.
    pub fn heads(&self) -> &[HeadId] {
        &self.heads
    }

    /// Which queries meet which keys.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The model of all inputs.
    pub fn model(&self) -> &ModelSpec {
        &self.model
    }

    /// Queries and keys of one head.
    pub fn queries_and_keys(&self, head: HeadId) -> Option<[Matrix; 2]> {
        self.cloud.queries_and_keys(head)
    }

    /// The tokens of all queries, in the order of the points.
    pub fn query_rows(&self) -> Vec<CloudToken<'_>> {
        self.rows(self.stack.query_side())
    }

    /// The tokens of all keys.
    pub fn key_rows(&self) -> Vec<CloudToken<'_>> {
        self.rows(self.stack.key_side())
    }

    fn rows(&self, side: Side) -> Vec<CloudToken<'_>> {
        self.cloud.tokens(side).collect()
    }

    /// Whether queries and keys are of two sequences.
    pub fn two_sides(&self) -> bool {
        self.stack.query_side() != self.stack.key_side()
    }

    /// Whether scores of these heads have a part that q and k do not show.
    pub fn has_bias(&self) -> bool {
        self.heads.iter().any(|head| self.model.layer_of(*head).is_some_and(|layer| layer.biased))
    }
}

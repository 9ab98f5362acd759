//! The points of each head, or of each other cell of a space, over all inputs, and the tokens that they belong to.

use std::{ops::Range, sync::Arc};

use super::options::{Heads, ProjectOptions};
use crate::{
    analysis::{CloudToken, PointCloud, Space},
    capture::Matrix,
    cli::CliError,
    ids::{HeadId, StackKind},
    projection::correlation::InputSegment,
    spec::ModelSpec,
};

/// One stack of a cloud in a space, and which of its heads or other cells are wanted.
pub struct Clouds {
    cloud: PointCloud,
    model: Arc<ModelSpec>,
    stack: StackKind,
    space: Space,
    heads: Vec<HeadId>,
    segments: Vec<InputSegment>,
}

impl Clouds {
    /// Finds the cells that all inputs have points of.
    pub fn new(cloud: PointCloud, options: &ProjectOptions) -> Result<Self, CliError> {
        let model = cloud.model().ok_or_else(|| CliError::Failed("there is nothing to project".to_owned()))?;
        let model = Arc::clone(model);
        let kinds: Vec<StackKind> = model.stacks.iter().map(|stack| stack.kind).collect();
        let stack = match options.stack {
            Some(stack) if kinds.contains(&stack) => stack,
            Some(stack) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let message = format!("there is no stack {}: choose --stack {}", stack.name(), names.join(" or "));
                return Err(CliError::Usage(message));
            }
            None => *kinds.first().ok_or_else(|| CliError::Failed("the model has no attention stack".to_owned()))?,
        };
        let space = options.space;
        let all = cloud.cells(stack, space);
        if all.is_empty() {
            return Err(CliError::Failed(match space {
                Space::QueriesKeys => {
                    "there are no queries and keys to project: capture them with --sites q,k".to_owned()
                }
                Space::Values => "there are no values to project: capture them with --sites q,k,v".to_owned(),
                Space::Residual => {
                    "there is no residual stream to project: capture it with --sites q,k,resid".to_owned()
                }
                Space::Positions => cloud.lacks(stack, space).unwrap_or_default(),
            }));
        }
        let cells = match &options.heads {
            Heads::All => all,
            Heads::These(heads) => {
                let asked = heads.iter().map(|&(layer, head)| HeadId { stack, layer, head });
                let mut asked: Vec<HeadId> = asked.map(|head| space.cell_of(head, &model)).collect();
                asked.dedup();
                if let Some(missing) = asked.iter().find(|head| !all.contains(head)) {
                    let (first, last) = (all[0], all[all.len() - 1]);
                    let what = if space.is_joint() { "queries and keys" } else { "values" };
                    let message = format!("there are no {what} of {missing}: heads are {first} to {last}");
                    return Err(CliError::Usage(message));
                }
                asked
            }
        };
        let layers: Vec<usize> = options.layers.iter().flat_map(|list| list.0.iter().copied()).collect();
        if let Some(missing) = layers.iter().find(|layer| !cells.iter().any(|cell| cell.layer == **layer)) {
            let last = cells.last().map_or(0, |cell| cell.layer);
            return Err(CliError::Usage(format!("there is nothing of layer {missing}: the last one is {last}")));
        }
        let cells = cells.into_iter().filter(|cell| layers.is_empty() || layers.contains(&cell.layer)).collect();
        let segments = cloud.segments(stack);
        Ok(Self { cloud, model, stack, space, heads: cells, segments })
    }

    /// What the points are of.
    pub const fn cloud(&self) -> &PointCloud {
        &self.cloud
    }

    /// The stack.
    pub const fn stack(&self) -> StackKind {
        self.stack
    }

    /// The cells to project.
    pub fn heads(&self) -> &[HeadId] {
        &self.heads
    }

    /// Which queries meet which keys.
    pub fn segments(&self) -> &[InputSegment] {
        &self.segments
    }

    /// The model of all inputs.
    pub fn model(&self) -> &ModelSpec {
        &self.model
    }

    /// What the points are.
    pub const fn space(&self) -> Space {
        self.space
    }

    /// The points of one cell, in the order of queries and keys.
    pub fn points_of(&self, cell: HeadId) -> [Option<Matrix>; 2] {
        self.cloud.points_of(self.space, cell)
    }

    /// What a cell is called in a sentence.
    pub fn name(&self, cell: HeadId) -> String {
        self.space.cell_text(cell, &self.model)
    }

    /// What a cell is called in files.
    pub fn key(&self, cell: HeadId) -> String {
        let n_layers = self.model.stack(self.stack).map_or(0, |stack| stack.layers.len());
        match self.space {
            Space::QueriesKeys | Space::Values => cell.to_string(),
            Space::Residual if cell.layer == n_layers => "final".to_owned(),
            Space::Residual => format!("L{}", cell.layer),
            Space::Positions => "positions".to_owned(),
        }
    }

    /// The heads that share the values of a cell.
    pub fn sharing(&self, cell: HeadId) -> Option<Range<usize>> {
        self.model.layer_of(cell).filter(|_| self.space == Space::Values)?.sharing(cell.head)
    }

    /// The tokens of the points of each kind, in their order; none of a kind that the space does not have.
    pub fn rows(&self) -> [Vec<CloudToken<'_>>; 2] {
        self.space.sides(self.stack).map(|side| side.map_or_else(Vec::new, |side| self.cloud.tokens(side).collect()))
    }

    /// Whether queries and keys are of two sequences.
    pub fn two_sides(&self) -> bool {
        self.space.is_joint() && self.stack.query_side() != self.stack.key_side()
    }

    /// Whether scores of these heads have a part that q and k do not show.
    pub fn has_bias(&self) -> bool {
        self.space.is_joint()
            && self.heads.iter().any(|head| self.model.layer_of(*head).is_some_and(|layer| layer.biased))
    }
}

//! Sources of points: the tokens of one input or of many, or the position embeddings of a model.

use std::{ops::Range, sync::Arc};

use crate::{
    analysis::Space,
    capture::{Capture, ImageInfo, Matrix, PatchLook, PositionTable, PositionTables, Token, words},
    corpus::CorpusView,
    ids::{CloudId, HeadId, Side, StackKind},
    projection::correlation::InputSegment,
    spec::ModelSpec,
};

/// Tokens of one input, or of many, as one cloud of points: those of the first input, then those of the second. Which
/// of their vectors are meant is said by a [`Space`]. Cheap to clone.
#[derive(Clone, Debug)]
pub enum PointCloud {
    Input(Arc<Capture>),
    /// Of some inputs of a corpus.
    Inputs(Arc<CorpusView>),
    /// Of no input: positions, of [`Space::Positions`] alone.
    Positions(Arc<PositionTables>),
}

/// The token that a point stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudToken<'a> {
    /// Its input's place in the cloud.
    pub input: usize,
    pub position: usize,
    /// Tokens of its input on this side.
    pub n_positions: usize,
    /// What a person reads; empty where a capture names no tokens.
    pub text: &'a str,
    /// Vocabulary id, if it has one.
    pub id: Option<u32>,
    /// Added by the tokenizer or the model.
    pub special: bool,
}

impl PointCloud {
    /// The key of whatever is kept about it.
    pub fn id(&self) -> CloudId {
        match self {
            Self::Input(capture) => CloudId::Input(capture.id()),
            Self::Inputs(view) => view.id(),
            Self::Positions(tables) => CloudId::Positions(tables.id),
        }
    }

    /// The model; `None` for a corpus without inputs.
    pub fn model(&self) -> Option<&Arc<ModelSpec>> {
        match self {
            Self::Input(capture) => Some(capture.model()),
            Self::Inputs(view) => view.corpus().model(),
            Self::Positions(tables) => Some(&tables.model),
        }
    }

    /// The heads of a stack that have queries and keys, by layer, then head.
    pub fn heads(&self, stack: StackKind) -> Vec<HeadId> {
        match self {
            Self::Input(capture) => {
                let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
                let recorded = layers.iter().enumerate().filter_map(|(layer, data)| {
                    let q = data.q().filter(|_| data.k().is_some())?;
                    Some((layer, q.shape()[0]))
                });
                recorded.flat_map(|(layer, n)| (0..n).map(move |head| HeadId { stack, layer, head })).collect()
            }
            Self::Inputs(view) => view.corpus().heads().filter(|head| head.stack == stack).collect(),
            Self::Positions(_) => Vec::new(),
        }
    }

    /// The cells of a space that have points, by layer, then head.
    pub fn cells(&self, stack: StackKind, space: Space) -> Vec<HeadId> {
        let Some(model) = self.model() else { return Vec::new() };
        let cell = |layer: usize| HeadId { stack, layer, head: 0 };
        match space {
            Space::QueriesKeys => self.heads(stack),
            Space::Values => {
                let layers = model.stack(stack).map_or(&[][..], |stack| &stack.layers);
                let heads = layers
                    .iter()
                    .enumerate()
                    .flat_map(|(layer, spec)| (0..spec.n_heads).map(move |head| HeadId { stack, layer, head }));
                heads.filter(|head| space.cell_of(*head, model) == *head && self.has_values_of(*head)).collect()
            }
            Space::Residual => {
                let n_layers = model.stack(stack).map_or(0, |stack| stack.layers.len());
                (0..=n_layers).map(cell).filter(|cell| self.has_stream(*cell)).collect()
            }
            Space::Positions => {
                let has_table =
                    matches!(self, Self::Positions(tables) if tables.sides.contains_key(&stack.query_side()));
                if has_table { vec![cell(0)] } else { Vec::new() }
            }
        }
    }

    /// The points of a cell, in the order of queries and keys, each kind `[point, width]`; `None` for a kind that the
    /// space does not have, or that was not recorded.
    pub fn points_of(&self, space: Space, cell: HeadId) -> [Option<Matrix>; 2] {
        match space {
            Space::QueriesKeys => self.queries_and_keys(cell).map_or([None, None], |both| both.map(Some)),
            Space::Values => [None, self.values(cell)],
            Space::Residual => [self.stream(cell), None],
            Space::Positions => [self.table(cell.stack.query_side()).map(|table| table.rows.clone()), None],
        }
    }

    /// Why there are no points of a space, as one clause for the user; `None` where there are some.
    pub fn lacks(&self, stack: StackKind, space: Space) -> Option<String> {
        if !self.cells(stack, space).is_empty() {
            return None;
        }
        let of = if matches!(self, Self::Inputs(_)) { "this corpus" } else { "this input" };
        Some(match space {
            Space::QueriesKeys => format!("the queries and keys of {of} were not recorded"),
            Space::Values => format!("the values of {of} were not recorded"),
            Space::Residual => format!("the residual stream of {of} was not recorded"),
            Space::Positions => format!("the {stack} stack has no table of positions"),
        })
    }

    /// One head's queries and keys, `[point, d_head]` each; `None` when they were not recorded.
    pub fn queries_and_keys(&self, head: HeadId) -> Option<[Matrix; 2]> {
        match self {
            Self::Input(capture) => Some([capture.q(head)?, capture.k(head)?]),
            Self::Inputs(view) => view.space(head).map(|space| [space.queries, space.keys]),
            Self::Positions(_) => None,
        }
    }

    /// How long the points of a cell are; as [`Self::points_of`].
    pub fn norms(&self, space: Space, cell: HeadId) -> [Vec<f32>; 2] {
        if let (Self::Inputs(view), Space::QueriesKeys) = (self, space) {
            return view.norms(cell).unwrap_or_default();
        }
        self.points_of(space, cell).map(|points| points.as_ref().map_or_else(Vec::new, lengths_of))
    }

    /// One head's values, `[point, d_head]`, by key; a corpus has them where they are kept.
    pub fn values(&self, head: HeadId) -> Option<Matrix> {
        match self {
            Self::Input(capture) => capture.v(head),
            Self::Inputs(view) => view.values(head),
            Self::Positions(_) => None,
        }
    }

    /// Whether some head of a stack has values.
    pub fn has_values(&self, stack: StackKind) -> bool {
        match self {
            Self::Input(capture) => {
                capture.stack(stack).is_some_and(|stack| stack.layers.iter().any(|layer| layer.v().is_some()))
            }
            Self::Inputs(view) => self.heads(stack).into_iter().any(|head| view.corpus().has_values(head)),
            Self::Positions(_) => false,
        }
    }

    fn has_values_of(&self, head: HeadId) -> bool {
        match self {
            Self::Input(capture) => capture.layer(head).is_some_and(|layer| layer.v().is_some()),
            Self::Inputs(view) => view.corpus().has_values(head),
            Self::Positions(_) => false,
        }
    }

    /// The residual stream before a layer, or behind the last one for the layer after it, `[point, width]`.
    fn stream(&self, cell: HeadId) -> Option<Matrix> {
        let stack = cell.stack.host();
        match self {
            Self::Input(capture) => stream_in(capture, stack, cell.layer).cloned(),
            Self::Inputs(view) => view.stream(stack, cell.layer),
            Self::Positions(_) => None,
        }
    }

    fn has_stream(&self, cell: HeadId) -> bool {
        let stack = cell.stack.host();
        match self {
            Self::Input(capture) => stream_in(capture, stack, cell.layer).is_some(),
            Self::Inputs(view) => view.corpus().has_stream(stack, cell.layer),
            Self::Positions(_) => false,
        }
    }

    fn table(&self, side: Side) -> Option<&PositionTable> {
        match self {
            Self::Positions(tables) => tables.sides.get(&side),
            Self::Input(_) | Self::Inputs(_) => None,
        }
    }

    /// Which queries meet which keys: one entry per input.
    pub fn segments(&self, stack: StackKind) -> Vec<InputSegment> {
        let (queries, keys) = (stack.query_side(), stack.key_side());
        match self {
            Self::Input(capture) => {
                InputSegment::whole(capture.query_tokens(stack).len(), capture.key_tokens(stack).len())
            }
            Self::Inputs(view) => (0..self.n_inputs())
                .map(|nth| InputSegment { queries: view.points(queries, nth), keys: view.points(keys, nth) })
                .collect(),
            Self::Positions(_) => Vec::new(),
        }
    }

    /// Points of a side.
    pub fn n(&self, side: Side) -> usize {
        match self {
            Self::Input(capture) => capture.tokens(side).len(),
            Self::Inputs(view) => view.n(side),
            Self::Positions(_) => self.table(side).map_or(0, |table| table.tokens.len()),
        }
    }

    /// The tokens of a side where there is one input alone, or none.
    fn of_one(&self, side: Side) -> Option<&[Token]> {
        match self {
            Self::Input(capture) => Some(capture.tokens(side)),
            Self::Inputs(_) => None,
            Self::Positions(_) => Some(self.table(side).map_or(&[], |table| &table.tokens)),
        }
    }

    /// The token that a point stands for.
    pub fn token(&self, side: Side, point: usize) -> Option<CloudToken<'_>> {
        if let Some(tokens) = self.of_one(side) {
            let Token { text, id, special, .. } = tokens.get(point)?;
            let n_positions = tokens.len();
            return Some(CloudToken { input: 0, position: point, n_positions, text, id: *id, special: *special });
        }
        let Self::Inputs(view) = self else { return None };
        let input = view.input_of(side, point)?;
        let row = view.token(side, point)?;
        Some(CloudToken {
            input,
            position: row.position,
            n_positions: view.points(side, input).len(),
            text: row.text,
            id: row.id,
            special: row.special,
        })
    }

    /// All tokens of a side, by point.
    pub fn tokens(&self, side: Side) -> impl Iterator<Item = CloudToken<'_>> {
        (0..self.n(side)).filter_map(move |point| self.token(side, point))
    }

    /// Points of the words of a side, in order and without gaps.
    pub fn words(&self, side: Side) -> Vec<Range<usize>> {
        let view = match self {
            Self::Input(capture) => return words::words(capture.tokens(side)),
            Self::Inputs(view) => view,
            Self::Positions(_) => return (0..self.n(side)).map(|point| point..point + 1).collect(),
        };
        let mut found: Vec<Range<usize>> = Vec::new();
        for point in 0..view.n(side) {
            match found.last_mut() {
                Some(word) if view.token(side, point).is_some_and(|token| token.continues) => word.end = point + 1,
                _ => found.push(point..point + 1),
            }
        }
        found
    }

    /// The point of a token of the nth input.
    pub fn point(&self, side: Side, input: usize, position: usize) -> Option<usize> {
        let points = match self {
            Self::Inputs(view) => view.points(side, input),
            Self::Input(_) | Self::Positions(_) => 0..if input == 0 { self.n(side) } else { 0 },
        };
        Some(points.start + position).filter(|point| points.contains(point))
    }

    /// How many inputs.
    pub fn n_inputs(&self) -> usize {
        match self {
            Self::Input(_) | Self::Positions(_) => 1,
            Self::Inputs(view) => view.selection().inputs().len(),
        }
    }

    /// What the nth input is called; empty for one that is alone.
    pub fn input_name(&self, nth: usize) -> &str {
        match self {
            Self::Input(_) | Self::Positions(_) => "",
            Self::Inputs(view) => view.input(nth).map_or("", |input| &input.name),
        }
    }

    /// The nth input's value of an annotation.
    pub fn annotation(&self, nth: usize, name: &str) -> Option<&str> {
        match self {
            Self::Input(_) | Self::Positions(_) => None,
            Self::Inputs(view) => view.corpus().annotation(*view.selection().inputs().get(nth)?, name),
        }
    }

    /// Names of the annotations that inputs have.
    pub fn annotations(&self) -> &[String] {
        match self {
            Self::Input(_) | Self::Positions(_) => &[],
            Self::Inputs(view) => view.corpus().annotations(),
        }
    }

    /// The picture that a point is a patch of, with its row and column there; `None` of other points.
    pub fn place(&self, side: Side, point: usize) -> Option<(&ImageInfo, (usize, usize))> {
        let (image, position) = match self {
            Self::Input(capture) => (capture.image().filter(|_| capture.picture_side() == Some(side))?, point),
            Self::Inputs(view) => {
                let nth = view.input_of(side, point)?;
                let input = view.input(nth).filter(|input| input.picture_side() == Some(side))?;
                (input.image.as_ref()?, point - view.points(side, nth).start)
            }
            Self::Positions(_) => (self.table(side)?.image.as_ref()?, point),
        };
        Some((image, image.place(position)?))
    }

    /// What the patch looks like that a point stands for; `None` of other points, and without the picture.
    pub fn patch(&self, side: Side, point: usize) -> Option<PatchLook> {
        let (image, place) = self.place(side, point)?;
        image.look(place)
    }

    /// Whether the tokens of a side are patches of pictures, apart from special ones.
    pub fn has_patches(&self, side: Side) -> bool {
        match self {
            Self::Input(capture) => capture.picture_side() == Some(side),
            Self::Inputs(view) => view.input(0).is_some_and(|input| input.picture_side() == Some(side)),
            Self::Positions(_) => self.table(side).is_some_and(|table| table.image.is_some()),
        }
    }
}

/// The residual stream before a layer, or behind the last one for the layer after it.
fn stream_in(capture: &Capture, stack: StackKind, layer: usize) -> Option<&Matrix> {
    let n_layers = capture.model().stack(stack)?.layers.len();
    let recorded = capture.stack(stack)?;
    if layer == n_layers { recorded.resid_final() } else { recorded.layers.get(layer)?.resid_pre() }
}

/// The Euclidean length of every row.
pub fn lengths_of(matrix: &Matrix) -> Vec<f32> {
    matrix.rows().map(|row| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32).collect()
}

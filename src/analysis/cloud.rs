//! What a joint space is made of: the queries and keys of one input, or of many.

use std::{ops::Range, sync::Arc};

use crate::{
    capture::{Capture, ImageInfo, Matrix, PatchLook, words},
    corpus::CorpusView,
    ids::{CloudId, HeadId, Side, StackKind},
    projection::correlation::Segment,
    spec::ModelSpec,
};

/// Queries and keys of one input, or of many, as one cloud of points: those of the first input, then those of
/// the second. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Cloud {
    /// Of one input.
    Input(Arc<Capture>),
    /// Of some inputs of a corpus.
    Inputs(Arc<CorpusView>),
}

/// The token that a point stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudToken<'a> {
    /// Its input's place in the cloud.
    pub input: usize,
    /// Its place in its input.
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

impl Cloud {
    /// The key of whatever is kept about it.
    pub fn id(&self) -> CloudId {
        match self {
            Self::Input(capture) => CloudId::Input(capture.id()),
            Self::Inputs(view) => view.id(),
        }
    }

    /// The model; `None` for a corpus without inputs.
    pub fn model(&self) -> Option<&Arc<ModelSpec>> {
        match self {
            Self::Input(capture) => Some(capture.model()),
            Self::Inputs(view) => view.corpus().model(),
        }
    }

    /// The heads of a stack that have queries and keys, by layer, then head.
    pub fn heads(&self, stack: StackKind) -> Vec<HeadId> {
        match self {
            Self::Input(capture) => {
                let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
                let recorded = layers.iter().enumerate().filter_map(|(layer, data)| {
                    let q = data.q.as_ref().filter(|_| data.k.is_some())?;
                    Some((layer, q.shape()[0]))
                });
                recorded.flat_map(|(layer, n)| (0..n).map(move |head| HeadId { stack, layer, head })).collect()
            }
            Self::Inputs(view) => view.corpus().heads().filter(|head| head.stack == stack).collect(),
        }
    }

    /// One head's queries and keys, `[point, d_head]` each; `None` when they were not recorded.
    pub fn queries_and_keys(&self, head: HeadId) -> Option<[Matrix; 2]> {
        match self {
            Self::Input(capture) => Some([capture.q(head)?, capture.k(head)?]),
            Self::Inputs(view) => view.space(head).map(|space| [space.queries, space.keys]),
        }
    }

    /// How long one head's queries and keys are, by point; `None` when they were not recorded.
    pub fn norms(&self, head: HeadId) -> Option<[Vec<f32>; 2]> {
        match self {
            Self::Input(capture) => Some([lengths_of(&capture.q(head)?), lengths_of(&capture.k(head)?)]),
            Self::Inputs(view) => view.norms(head),
        }
    }

    /// One head's values, `[point, d_head]`, by key; a corpus has none.
    pub fn values(&self, head: HeadId) -> Option<Matrix> {
        match self {
            Self::Input(capture) => capture.v(head),
            Self::Inputs(_) => None,
        }
    }

    /// Whether some head of a stack has values.
    pub fn has_values(&self, stack: StackKind) -> bool {
        match self {
            Self::Input(capture) => {
                capture.stack(stack).is_some_and(|stack| stack.layers.iter().any(|layer| layer.v.is_some()))
            }
            Self::Inputs(_) => false,
        }
    }

    /// Which queries meet which keys: one entry per input.
    pub fn segments(&self, stack: StackKind) -> Vec<Segment> {
        let (queries, keys) = (stack.query_side(), stack.key_side());
        match self {
            Self::Input(capture) => Segment::whole(capture.query_tokens(stack).len(), capture.key_tokens(stack).len()),
            Self::Inputs(view) => (0..self.n_inputs())
                .map(|nth| Segment { queries: view.points(queries, nth), keys: view.points(keys, nth) })
                .collect(),
        }
    }

    /// Points of a side.
    pub fn n(&self, side: Side) -> usize {
        match self {
            Self::Input(capture) => capture.tokens(side).len(),
            Self::Inputs(view) => view.n(side),
        }
    }

    /// The token that a point stands for.
    pub fn token(&self, side: Side, point: usize) -> Option<CloudToken<'_>> {
        match self {
            Self::Input(capture) => {
                let tokens = capture.tokens(side);
                let token = tokens.get(point)?;
                Some(CloudToken {
                    input: 0,
                    position: point,
                    n_positions: tokens.len(),
                    text: &token.text,
                    id: token.id,
                    special: token.special,
                })
            }
            Self::Inputs(view) => {
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
        }
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
            Self::Input(capture) => 0..if input == 0 { capture.tokens(side).len() } else { 0 },
            Self::Inputs(view) => view.points(side, input),
        };
        Some(points.start + position).filter(|point| points.contains(point))
    }

    /// How many inputs.
    pub fn n_inputs(&self) -> usize {
        match self {
            Self::Input(_) => 1,
            Self::Inputs(view) => view.selection().inputs().len(),
        }
    }

    /// What the nth input is called; empty for one that is alone.
    pub fn input_name(&self, nth: usize) -> &str {
        match self {
            Self::Input(_) => "",
            Self::Inputs(view) => view.input(nth).map_or("", |input| &input.name),
        }
    }

    /// The nth input's value of an annotation.
    pub fn annotation(&self, nth: usize, name: &str) -> Option<&str> {
        match self {
            Self::Input(_) => None,
            Self::Inputs(view) => view.corpus().annotation(*view.selection().inputs().get(nth)?, name),
        }
    }

    /// Names of the annotations that inputs have.
    pub fn annotations(&self) -> &[String] {
        match self {
            Self::Input(_) => &[],
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
        }
    }
}

/// The Euclidean length of every row.
pub fn lengths_of(matrix: &Matrix) -> Vec<f32> {
    matrix.rows().map(|row| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32).collect()
}

//! How positions enter attention: what the model adds for them, how far it turns queries and keys, its biases by offset,
//! and what their order does to the patterns.

use std::{fmt::Write as _, sync::Arc};

use emath::Rect;

use super::{joined, parts::OfParts};
use crate::{
    analysis::{
        chain::Chain,
        positions::{self, OffsetBias, OrderEffect},
        reach,
    },
    capture::{Capture, Matrix, Rotation, words},
    figure::{page::Captions, pen::Pen},
    ids::{HeadId, StackKind},
};

mod draw;
mod options;
mod spec;

pub use options::PositionsOptions;
pub use spec::SPEC;

/// A part of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The table, position × dimension.
    Table,
    /// Sines and cosines in its place.
    Sinusoids,
    /// Cosines of its rows.
    Cosines,
    /// How alike positions are by how far they are apart.
    Distance,
    /// Pairs of dimensions that turn.
    Turns,
    /// Biases by offset.
    Biases,
    /// How much patterns change with the order.
    Order,
    /// How many tokens the last one has in reach.
    Reach,
}

/// The first rows of a table of position embeddings.
#[derive(Clone, Debug)]
pub struct TableRows {
    /// `[position, d_embedding]`.
    pub rows: Matrix,
    /// `[position, position]`.
    pub cosines: Matrix,
    /// Sines and cosines of the same shape, where positions are places in a text.
    pub sinusoids: Option<Matrix>,
    /// What stands for each position.
    pub names: Vec<String>,
    /// How many positions the table has.
    pub n: usize,
}

/// What positions do in one layer, worked out of a capture.
#[derive(Clone, Debug)]
pub struct PositionFacts {
    pub head: HeadId,
    pub table: Option<TableRows>,
    pub rotation: Option<Arc<Rotation>>,
    /// By head of the layer.
    pub biases: Vec<Vec<OffsetBias>>,
    /// By layer, where another run with the same tokens in another order is there.
    pub order: Option<Vec<OrderEffect>>,
    /// By layers, where a layer alone does not reach all tokens.
    pub reach: Option<Vec<usize>>,
    /// Tokens of the stack.
    pub n_tokens: usize,
    /// How positions are known without a table, as one clause.
    pub otherwise: Option<String>,
}

impl PositionFacts {
    /// What is known of a head, and of another run with its tokens in another order.
    pub fn of(capture: &Capture, other: Option<&Capture>, head: HeadId, options: PositionsOptions) -> Self {
        let encoding = capture.positions();
        let table = encoding.and_then(|encoding| encoding.table(head.stack)).and_then(|table| {
            let n = options.n.min(table.rows.n_rows());
            let width = table.rows.n_cols();
            let first = table.rows.rows().take(n).flatten().copied().collect::<Vec<_>>();
            let rows = Matrix::new(first, [n, width]).ok()?;
            let is_text = table.image.is_none();
            Some(TableRows {
                cosines: positions::cosines(&rows)?,
                sinusoids: is_text.then(|| positions::sinusoids(n, width)).flatten(),
                names: table.tokens.iter().take(n).map(|token| token.text.clone()).collect(),
                n: table.rows.n_rows(),
                rows,
            })
        });
        let n_heads = capture.model().layer_of(head).map_or(0, |layer| layer.n_heads);
        let n_tokens = capture.query_tokens(head.stack).len();
        let reach = reach::of_last(capture, head.stack);
        let of_head = |at: usize| positions::bias_by_offset(capture, HeadId { head: at, ..head });
        Self {
            head,
            table,
            rotation: encoding.and_then(|encoding| encoding.rotation(head)).cloned(),
            biases: (0..n_heads).map(of_head).collect::<Option<Vec<_>>>().unwrap_or_default(),
            order: other.and_then(|other| positions::effect_of_order(capture, other, head.stack)),
            reach: reach.filter(|reach| reach.first().is_some_and(|first| *first < n_tokens)),
            n_tokens,
            otherwise: encoding.and_then(|encoding| encoding.tables.as_ref().err()).cloned(),
        }
    }

    /// The parts that there are.
    pub fn parts(&self) -> Vec<Part> {
        let table = self.table.as_ref();
        let sinusoids = table.is_some_and(|table| table.sinusoids.is_some());
        let parts = [
            (Part::Table, table.is_some()),
            (Part::Cosines, table.is_some()),
            (Part::Sinusoids, sinusoids),
            (Part::Distance, sinusoids || self.rotation.is_some()),
            (Part::Turns, self.rotation.is_some()),
            (Part::Biases, !self.biases.is_empty()),
            (Part::Order, self.order.is_some()),
            (Part::Reach, self.reach.is_some()),
        ];
        parts.into_iter().filter(|(_, is_there)| *is_there).map(|(part, _)| part).collect()
    }
}

/// Why the view has nothing to show of a stack; `None` where it has.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let has_bias = capture.stack(stack).is_some_and(|stack| stack.layers.iter().any(|layer| layer.bias.is_some()));
    match capture.positions() {
        _ if has_bias => None,
        None => Some("Positions are part of the model: open it and run it to see them"),
        Some(encoding) if encoding.table(stack).is_some() || encoding.rotary.contains_key(&stack) => None,
        Some(_) => Some("Nothing is added, turned or biased by position in this stack"),
    }
}

/// The view of one head.
#[derive(Clone, Debug)]
pub struct PositionsScene {
    pub facts: Arc<PositionFacts>,
    /// The query and the key whose turns are drawn.
    pub pair: [usize; 2],
    /// Their names.
    pub names: [String; 2],
    pub options: PositionsOptions,
}

impl PositionsScene {
    /// With the query and the key that are held, or else the strongest key of a query.
    pub fn new(
        capture: &Capture,
        facts: Arc<PositionFacts>,
        held: [Option<usize>; 2],
        options: PositionsOptions,
    ) -> Self {
        let stack = facts.head.stack;
        let (query, key) = Chain::pair(capture, facts.head, held).unwrap_or((0, 0));
        let name = |tokens, at| words::bare(&words::token_text(tokens, at)).to_owned();
        let names = [name(capture.query_tokens(stack), query), name(capture.key_tokens(stack), key)];
        Self { facts, pair: [query, key], names, options }
    }
}

impl OfParts for PositionsScene {
    type Part = Part;

    fn parts(&self) -> Vec<Part> {
        self.facts.parts()
    }

    fn draw_part(&self, part: Part, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_one(part, rect, pen);
    }

    fn said(&self) -> Captions {
        let facts = &self.facts;
        let mut what = match &facts.table {
            Some(table) => format!("Position embeddings: {} of {} positions", table.rows.n_rows(), table.n),
            None => format!("Positions in {}", facts.head),
        };
        if let (None, Some(otherwise)) = (&facts.table, &facts.otherwise) {
            let _ = write!(what, ": {otherwise}");
        }
        let how = "Biases are those of a key less that of the query's own place, which softmax does not see apart";
        let how = if facts.biases.is_empty() { "" } else { how };
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}

//! How a model knows where tokens stand: position embeddings as a table with a row for each position, and rotary
//! embeddings as angles.

use std::{collections::BTreeMap, sync::Arc};

use super::{CropRect, ImageInfo, Matrix, Token};
use crate::{
    ids::{CaptureId, HeadId, Side, StackKind},
    spec::ModelSpec,
};

/// How a model knows where tokens stand, as far as it is the same for every input.
#[derive(Clone, Debug)]
pub struct PositionEncoding {
    /// Its position embeddings, or how positions are known without them, as one clause.
    pub tables: Result<Arc<PositionTables>, String>,
    /// By layer of each stack: how far queries and keys are turned.
    pub rotary: BTreeMap<StackKind, Vec<Option<Arc<Rotation>>>>,
}

impl PositionEncoding {
    /// The rotary embedding of the layer that a head belongs to.
    pub fn rotation(&self, head: HeadId) -> Option<&Arc<Rotation>> {
        self.rotary.get(&head.stack)?.get(head.layer)?.as_ref()
    }

    /// The table that is added to the queries' tokens of a stack.
    pub fn table(&self, stack: StackKind) -> Option<&PositionTable> {
        self.tables.as_ref().ok()?.sides.get(&stack.query_side())
    }
}

/// A rotary embedding (Su et al. 2021).
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    /// Radians per position of each pair of dimensions.
    pub frequencies: Vec<f32>,
    /// Whether a dimension turns together with its neighbour instead of one half of the turned dimensions away.
    pub neighbours: bool,
}

/// The position embeddings of a model; never empty.
#[derive(Clone, Debug)]
pub struct PositionTables {
    pub id: CaptureId,
    pub model: Arc<ModelSpec>,
    /// A table for each sequence that has one.
    pub sides: BTreeMap<Side, PositionTable>,
}

/// The position embeddings of one sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionTable {
    /// `[position, d_embedding]`, from the first position that a token can have.
    pub rows: Matrix,
    /// What stands for each position: its number, or the place of a patch.
    pub tokens: Vec<Token>,
    /// How positions of patches lie, without a picture.
    pub image: Option<ImageInfo>,
}

impl PositionTable {
    /// Of a text.
    pub fn of_text(rows: Matrix) -> Self {
        let token = |position: usize| Token { text: position.to_string(), ..Token::default() };
        Self { tokens: (0..rows.n_rows()).map(token).collect(), rows, image: None }
    }

    /// Of patches, row by row, after tokens that are called `prefix`.
    pub fn of_patches(
        rows: Matrix,
        prefix: impl IntoIterator<Item = String>,
        grid: (usize, usize),
        patch_px: (usize, usize),
    ) -> Self {
        let named = prefix.into_iter().map(|text| Token { text, special: true, ..Token::default() });
        let mut tokens: Vec<Token> = named.collect();
        let n_prefix = tokens.len();
        let place = |at: usize| format!("r{} c{}", at / grid.1.max(1), at % grid.1.max(1));
        tokens.extend((0..grid.0 * grid.1).map(|at| Token { text: place(at), ..Token::default() }));
        let [width, height] = [grid.1 * patch_px.1, grid.0 * patch_px.0].map(|side| side as f32);
        let crop = CropRect { x: 0.0, y: 0.0, width, height };
        Self { rows, tokens, image: Some(ImageInfo { grid, regions: None, n_prefix, patch_px, crop, source: None }) }
    }
}

//! Position embeddings of a model, as a table with a row for each position.

use std::{collections::BTreeMap, sync::Arc};

use super::{CropRect, ImageInfo, Matrix, Token};
use crate::{
    ids::{CaptureId, Side},
    spec::ModelSpec,
};

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
        Self { rows, tokens, image: Some(ImageInfo { grid, n_prefix, patch_px, crop, source: None }) }
    }
}

//! The position embeddings of a network, as plain tables, or how it knows positions without any.

use std::{collections::BTreeMap, sync::Arc};

use candle_core::Tensor;

use super::{
    Body, Network, Tower,
    block::{Block, Stack},
    embedding::{Embedding, TextEmbedding},
    patches::PatchEmbedding,
    relative::RelativeBias,
    rotary::Rotary,
};
use crate::{
    capture::{Matrix, PositionTable, Rotation},
    ids::{Side, StackKind},
    model::ModelError,
};

/// Positions that a table is copied of at most: more are computed ones, which nobody looks at one by one.
const MOST: usize = 1 << 14;

impl Network {
    /// The table of each sequence that has one.
    pub fn position_tables(&self) -> Result<BTreeMap<Side, PositionTable>, ModelError> {
        let mut tables = BTreeMap::new();
        for tower in self.towers() {
            let table = match &tower.embedding {
                Embedding::Text(embedding) => text(embedding)?,
                Embedding::Patches(embedding) => patches(embedding)?,
            };
            tables.extend(table.map(|table| (tower.stack.kind.query_side(), table)));
        }
        Ok(tables)
    }

    /// By layer of each stack that turns queries and keys: how far.
    pub fn rotations(&self) -> BTreeMap<StackKind, Vec<Option<Arc<Rotation>>>> {
        // Patches have two places, of which one number does not tell.
        let has_one_place = |rotary: &&Rotary| rotary.patches.is_none();
        let of_stack = |stack: &Stack| {
            let rotation = |rotary: &Rotary| {
                Arc::new(Rotation { frequencies: rotary.frequencies.clone(), neighbours: rotary.neighbours })
            };
            let all: Vec<_> =
                stack.rotary.iter().map(|rotary| Some(rotary).filter(has_one_place).map(rotation)).collect();
            let of_layer =
                |block: &Arc<Block>| block.attention.heads()?.rotary.and_then(|rotary| all.get(rotary)?.clone());
            stack.blocks.iter().map(of_layer).collect::<Vec<_>>()
        };
        let stacks = self.towers().into_iter().filter(|tower| tower.stack.rotary.iter().any(|it| has_one_place(&it)));
        stacks.map(|tower| (tower.stack.kind, of_stack(&tower.stack))).collect()
    }

    /// How positions are known to a network without a table, as one clause.
    pub fn without_table(&self) -> &'static str {
        let towers = self.towers();
        let attentions =
            || towers.iter().flat_map(|tower| &tower.stack.blocks).filter_map(|block| block.attention.heads());
        let biases = towers.iter().filter_map(|tower| tower.stack.bias.as_ref());
        let bias = biases.chain(attentions().filter_map(|attention| attention.bias.as_ref())).next();
        match bias {
            _ if attentions().any(|attention| attention.rotary.is_some()) => {
                "it has no position embeddings: queries and keys are turned by their positions (rotary)"
            }
            Some(RelativeBias::Alibi { .. }) => {
                "it has no position embeddings: scores fall with the distance between query and key (ALiBi)"
            }
            Some(RelativeBias::Disentangled(_)) => {
                "it has no position embeddings of tokens: contents are compared with relative positions (DeBERTa)"
            }
            Some(RelativeBias::Buckets { .. } | RelativeBias::Grid { .. }) => {
                "it has no position embeddings: a learned bias for relative positions is added to the scores"
            }
            None if towers.is_empty() => "it has no position embeddings: it reads one token after the other",
            None => "it has no position embeddings",
        }
    }

    fn towers(&self) -> Vec<&Tower> {
        match &self.body {
            Body::Single(tower) => vec![tower],
            Body::EncoderDecoder { encoder, decoder, .. } => vec![encoder, decoder],
            Body::TwoTowers { vision, text, .. } => vec![vision, text],
            Body::TwoStreams(body) => vec![&body.vision, &body.text],
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => Vec::new(),
        }
    }
}

fn text(embedding: &TextEmbedding) -> Result<Option<PositionTable>, ModelError> {
    let Some(positions) = &embedding.position else { return Ok(None) };
    let n = positions.table.dim(0)?.saturating_sub(positions.offset).min(embedding.n_ctx).min(MOST);
    let rows = positions.table.narrow(0, positions.offset, n)?;
    Ok(Some(PositionTable::of_text(matrix(&rows)?)))
}

fn patches(embedding: &PatchEmbedding) -> Result<Option<PositionTable>, ModelError> {
    let Some(positions) = &embedding.position else { return Ok(None) };
    let n_prefix = positions.dim(0)?.saturating_sub(embedding.grid.0 * embedding.grid.1);
    let prefix = embedding.prefix_labels()?.into_iter().take(n_prefix);
    Ok(Some(PositionTable::of_patches(matrix(positions)?, prefix, embedding.grid, embedding.patch_px)))
}

fn matrix(rows: &Tensor) -> Result<Matrix, ModelError> {
    let (n, width) = rows.dims2()?;
    Ok(Matrix::new(rows.flatten_all()?.to_vec1::<f32>()?, [n, width])?)
}

//! What a network is made of, for a diagram.

use super::{
    Body, Network, Tower,
    block::{Block, Norms},
    embedding::Embedding,
};
use crate::capture::{Architecture, BlockFacts, BranchNorms, Reads, TowerFacts};

impl Network {
    /// The towers and their blocks; none of a network that is no transformer.
    pub fn architecture(&self) -> Architecture {
        let towers: Vec<&Tower> = match &self.body {
            Body::Single(tower) => vec![tower],
            Body::EncoderDecoder { encoder, decoder, .. } => vec![encoder, decoder],
            Body::TwoTowers { vision, text, .. } => vec![vision, text],
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => Vec::new(),
        };
        Architecture { towers: towers.into_iter().map(facts).collect() }
    }
}

fn facts(tower: &Tower) -> TowerFacts {
    let (reads, adds_positions) = match &tower.embedding {
        Embedding::Text(text) => (Reads::Tokens { n_vocab: text.word.n_vocab().unwrap_or(0) }, text.position.is_some()),
        Embedding::Patches(patches) => {
            let (height_px, width_px) = patches.patch_px;
            (Reads::Patches { height_px, width_px }, patches.position.is_some())
        }
    };
    TowerFacts {
        stack: tower.stack.kind,
        reads,
        adds_positions,
        blocks: tower.stack.blocks.iter().map(|block| of_block(block)).collect(),
        has_final_norm: tower.stack.final_norm.is_some(),
    }
}

fn of_block(block: &Block) -> BlockFacts {
    let norms = |norms: &Norms| BranchNorms {
        before: norms.before.is_some(),
        branch: norms.branch.is_some(),
        after: norms.after.is_some(),
    };
    BlockFacts {
        mixer: block.attention.spec().mixer,
        attention: norms(&block.attention_norms),
        cross: block.cross.as_ref().map(|(_, around)| norms(around)),
        mlp: norms(&block.mlp_norms),
        is_parallel: block.parallel,
        is_rotary: block.attention.heads().is_some_and(|heads| heads.rotary.is_some()),
    }
}

//! What a network is made of, for a diagram.

use super::{
    Body, Network, Tower,
    block::{Block, Norms, Stack},
    embedding::Embedding,
};
use crate::capture::{Architecture, BlockFacts, BranchNorms, Reads, TowerFacts};

impl Network {
    /// The towers and their blocks; none of a network that is no transformer.
    pub fn architecture(&self) -> Architecture {
        if let Body::TwoStreams(body) = &self.body {
            let [of_text, of_vision] = body.stacks();
            // What the head reads stands last.
            let streams = [(of_vision, &body.vision), (of_text, &body.text)];
            let streams = streams.map(|(stack, tower)| behind(stack, Reads::Streams { of: tower.stack.kind }, false));
            return Architecture {
                towers: [facts(&body.vision), facts(&body.text)].into_iter().chain(streams).collect(),
            };
        }
        let towers: Vec<&Tower> = match &self.body {
            Body::Single(tower) => vec![tower],
            Body::EncoderDecoder { encoder, decoder, .. } => vec![encoder, decoder],
            Body::TwoTowers { vision, text, .. } => vec![vision, text],
            Body::TwoStreams(_) | Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => Vec::new(),
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
    behind(&tower.stack, reads, adds_positions)
}

fn behind(stack: &Stack, reads: Reads, adds_positions: bool) -> TowerFacts {
    TowerFacts {
        stack: stack.kind,
        reads,
        adds_positions,
        blocks: stack.blocks.iter().map(|block| of_block(block)).collect(),
        has_final_norm: stack.final_norm.is_some(),
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
        beside: block.beside.as_ref().map(|mixer| mixer.spec().mixer),
        cross: block.cross.as_ref().map(|(_, around)| norms(around)),
        mlp: norms(&block.mlp_norms),
        is_parallel: block.parallel,
        is_rotary: block.attention.heads().is_some_and(|heads| heads.rotary.is_some()),
    }
}

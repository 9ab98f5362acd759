//! A whole model as the forward pass sees it: towers, how they are joined, and the head.

use candle_core::Tensor;

use super::{
    ModelError,
    block::Stack,
    embedding::{Embedding, Table},
    encode::{Encoded, Payload},
    head::Head,
    kernels::Linear,
    pass::{Cache, Pass},
    run::Run,
};
use crate::spec::{Modality, StackSpec};

/// A model as the forward pass sees it.
#[derive(Debug)]
pub(crate) struct Network {
    pub family: &'static str,
    pub modality: Modality,
    pub d_model: usize,
    pub body: Body,
    pub head: Option<Head>,
}

/// A sequence's way through a model.
#[derive(Debug)]
pub(crate) struct Tower {
    pub embedding: Embedding,
    pub stack: Stack,
}

/// How a model's towers are joined.
#[derive(Debug)]
pub(crate) enum Body {
    /// Encoder-only, decoder-only, vision.
    Single(Tower),
    /// The decoder attends to the encoder's output, mapped to its width where the widths differ.
    EncoderDecoder { encoder: Tower, bridge: Option<Linear>, decoder: Tower },
    /// Picture and text apart, compared in the end.
    TwoTowers { vision: Tower, text: Tower },
}

/// The streams that heads read, `[n, d_model]` each, after the final norms.
pub(crate) enum Streams {
    One(Tensor),
    Two { vision: Tensor, text: Tensor },
}

impl Streams {
    /// The stream whose tokens are predicted.
    pub const fn main(&self) -> &Tensor {
        match self {
            Self::One(stream) | Self::Two { text: stream, .. } => stream,
        }
    }
}

impl Tower {
    fn forward(&self, input: &Payload, mut pass: Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        run.checkpoint()?;
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let (x, grid) = self.embedding.forward(input, first)?;
        pass.grid = grid;
        self.stack.forward(x, &mut pass, run)
    }
}

impl Network {
    /// Brings an output that shares its weights with a token embedding into the order in which it is
    /// multiplied fastest, and lets every embedding that shares it read from there: reordering it in
    /// each run would take as long as the product.
    pub fn tie(&mut self) -> candle_core::Result<()> {
        let Some(head) = &mut self.head else { return Ok(()) };
        let towers = match &mut self.body {
            Body::Single(tower) => vec![tower],
            Body::EncoderDecoder { encoder, decoder, .. } => vec![encoder, decoder],
            Body::TwoTowers { text, .. } => vec![text],
        };
        let mut tables: Vec<&mut Table> = Vec::new();
        for tower in towers {
            if let Embedding::Text(embedding) = &mut tower.embedding
                && embedding.word.rows().is_ok_and(|rows| head.output.shares(rows))
            {
                tables.push(&mut embedding.word);
            }
        }
        if tables.is_empty() {
            return Ok(());
        }
        head.output = Linear::new(head.output.matrix()?, head.output.bias.clone())?;
        for table in tables {
            *table = Table::Tied(Linear { bias: None, ..head.output.clone() });
        }
        Ok(())
    }

    /// The attention stacks, in forward order.
    pub fn stacks(&self) -> Vec<StackSpec> {
        match &self.body {
            Body::Single(tower) => tower.stack.specs(),
            Body::EncoderDecoder { encoder, decoder, .. } => {
                encoder.stack.specs().into_iter().chain(decoder.stack.specs()).collect()
            }
            Body::TwoTowers { vision, text } => vision.stack.specs().into_iter().chain(text.stack.specs()).collect(),
        }
    }

    /// All towers on a complete input.
    pub fn forward(&self, input: &Encoded, run: &mut Run<'_>) -> Result<Streams, ModelError> {
        match &self.body {
            Body::Single(tower) => Ok(Streams::One(tower.forward(&input.source, Pass::default(), run)?)),
            Body::EncoderDecoder { .. } => {
                let memory = self.encode(&input.source, run)?;
                Ok(Streams::One(self.decode(input.target()?, Some(&memory), None, run)?))
            }
            Body::TwoTowers { vision, text } => Ok(Streams::Two {
                vision: vision.forward(&input.source, Pass::default(), run)?,
                text: text.forward(input.target()?, Pass::default(), run)?,
            }),
        }
    }

    /// The encoder's output, as the decoder sees it.
    pub fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let Body::EncoderDecoder { encoder, bridge, .. } = &self.body else {
            return Err(ModelError::internal("this model has no encoder of its own"));
        };
        let memory = encoder.forward(source, Pass::default(), run)?;
        Ok(match bridge {
            Some(bridge) => bridge.forward(&memory)?,
            None => memory,
        })
    }

    /// Length from which the writing tower turns all its queries and keys by other angles (LongRoPE).
    pub fn turns_change_at(&self) -> Option<usize> {
        let (Body::Single(tower) | Body::EncoderDecoder { decoder: tower, .. } | Body::TwoTowers { text: tower, .. }) =
            &self.body;
        tower.stack.rotary.iter().find_map(|rotary| Some(rotary.beyond.as_ref()?.0 + 1))
    }

    /// The tower that writes, on new tokens after those in the cache.
    pub fn decode(
        &self,
        tokens: &Payload,
        memory: Option<&Tensor>,
        cache: Option<&mut Cache>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let tower = match &self.body {
            Body::Single(tower) | Body::EncoderDecoder { decoder: tower, .. } | Body::TwoTowers { text: tower, .. } => {
                tower
            }
        };
        tower.forward(tokens, Pass::decoding(memory, cache), run)
    }
}

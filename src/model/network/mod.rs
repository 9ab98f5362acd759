//! A whole model as the forward pass sees it: towers, how they are joined, and the head.

mod architecture;
pub(crate) mod attention;
pub(crate) mod attentive;
pub(crate) mod bilstm;
pub(crate) mod block;
pub(crate) mod branch;
pub(crate) mod cell;
pub(crate) mod convolution;
pub(crate) mod cost;
pub(crate) mod disentangled;
pub(crate) mod documents;
pub(crate) mod embedding;
pub(crate) mod experts;
pub(crate) mod gated_convolution;
pub(crate) mod gated_delta;
pub(crate) mod global;
pub(crate) mod head;
pub(crate) mod interpolate;
pub(crate) mod latent;
pub(crate) mod mamba2;
pub(crate) mod memories;
pub(crate) mod mlp;
pub(crate) mod own_input;
pub(crate) mod packed;
pub(crate) mod pass;
pub(crate) mod patches;
pub(crate) mod pointer;
mod positions;
mod recurrence;
pub(crate) mod recurrent;
pub(crate) mod relative;
pub(crate) mod rotary;
pub(crate) mod routing;
pub(crate) mod sequential;
pub(crate) mod short_convolution;
pub(crate) mod similarity;
pub(crate) mod two_streams;

use candle_core::Tensor;

use self::{
    attentive::AttentiveLm,
    block::Stack,
    embedding::{Embedding, Table},
    head::{Head, Outcome},
    pass::{Cache, Pass},
    rotary::Rotary,
    sequential::{TextReader, TextWriter},
    similarity::{Similarity, TextPosition},
    two_streams::TwoStreams,
};
use crate::{
    capture::Normalizer,
    model::{
        ModelError,
        input::{Encoded, Payload, SentenceEnds},
        kernels::{Linear, RowTable},
        run::{At, Logits, Run},
    },
    spec::{HeadKind, Modality, StackSpec},
};

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
    TwoTowers { vision: Tower, text: Tower, similarity: Similarity },
    /// Picture and text in two streams that attend to each other behind their towers.
    TwoStreams(Box<TwoStreams>),
    /// A recurrent reader and writer with attention between them.
    Recurrent(Box<dyn TextWriter>),
    /// A recurrent reader that attends to its own states.
    Attentive(Box<AttentiveLm>),
    /// A text read by queries that are none of its words.
    Reader(Box<dyn TextReader>),
}

/// The streams that heads read, `[n, d_model]` each, after the final norms.
pub(crate) enum Streams {
    /// `place` is where a head of the whole text reads it.
    One { stream: Tensor, place: usize },
    /// `position` is where the text tower's summary stands.
    Two { vision: Tensor, text: Tensor, position: usize },
}

impl Streams {
    /// The stream whose tokens are predicted.
    pub const fn main(&self) -> &Tensor {
        match self {
            Self::One { stream, .. } | Self::Two { text: stream, .. } => stream,
        }
    }

    /// Where a head of the whole text reads it.
    pub const fn place(&self) -> usize {
        match self {
            Self::One { place, .. } => *place,
            Self::Two { position, .. } => *position,
        }
    }
}

impl Tower {
    fn forward(&self, input: &Payload, mut pass: Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        self.forward_in(input, &mut pass, run)
    }

    /// The final stream, and those before the first layer and behind each.
    fn forward_kept(&self, input: &Payload, run: &mut Run<'_>) -> Result<(Tensor, Vec<Tensor>), ModelError> {
        let mut pass = Pass::keeping();
        let last = self.forward_in(input, &mut pass, run)?;
        Ok((last, pass.kept.unwrap_or_default()))
    }

    fn forward_in(&self, input: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        run.checkpoint()?;
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let (x, grid) = self.embedding.forward(input, first, At::entry(self.stack.kind), run)?;
        pass.grid = grid;
        pass.own_inputs = self.embedding.own_inputs(input, &x)?;
        pass.order = input.positions().cloned();
        if let (true, Payload::Text { ids, .. }) = (self.stack.has_global_maps(), input) {
            pass.global = match run.see_all() {
                Some(chosen) => chosen,
                None => self.stack.global.of(ids)?,
            };
        }
        if !pass.global.is_empty() {
            run.note(global::note(pass.global.len()));
        }
        self.stack.forward(x, pass, run)
    }
}

impl Network {
    /// The tables of token embeddings, that of what is read first.
    pub fn tables(&mut self) -> Vec<&mut Table> {
        let tables = match &mut self.body {
            Body::Single(tower) => vec![tower.embedding.words()],
            Body::EncoderDecoder { encoder, decoder, .. } => {
                vec![encoder.embedding.words(), decoder.embedding.words()]
            }
            Body::TwoTowers { text, .. } => vec![text.embedding.words()],
            Body::TwoStreams(body) => vec![body.text.embedding.words()],
            Body::Recurrent(recurrent) => vec![Some(recurrent.words())],
            Body::Attentive(model) => vec![Some(&mut model.words.word)],
            Body::Reader(reader) => vec![Some(reader.words())],
        };
        tables.into_iter().flatten().collect()
    }

    /// Brings an output that shares its weights with a token embedding into the order in which it is
    /// multiplied fastest, and lets every embedding that shares it read from there: reordering it in
    /// each run would take as long as the product.
    pub fn tie(&mut self) -> candle_core::Result<()> {
        // Taken out for as long as the tables are borrowed.
        let Some(mut head) = self.head.take() else { return Ok(()) };
        let tied = tie(&mut head, self.tables());
        self.head = Some(head);
        tied
    }

    /// The stacks of transformer layers, in forward order.
    pub fn transformers(&self) -> Vec<&Stack> {
        match &self.body {
            Body::Single(tower) => vec![&tower.stack],
            Body::EncoderDecoder { encoder, decoder, .. } => vec![&encoder.stack, &decoder.stack],
            Body::TwoTowers { vision, text, .. } => vec![&vision.stack, &text.stack],
            Body::TwoStreams(body) => {
                let [of_text, of_vision] = body.stacks();
                vec![&body.vision.stack, &body.text.stack, of_text, of_vision]
            }
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => Vec::new(),
        }
    }

    /// Whether the head reads both streams of a two-stream model at once.
    pub fn joins_streams(&self) -> bool {
        matches!(&self.body, Body::TwoStreams(body) if body.whole.is_some())
    }

    /// Gives an output map that shares the numbers of a table those that `own` has for it, where it has some.
    ///
    /// # Errors
    /// Those of `own`.
    pub fn untie<E: From<candle_core::Error>>(
        &mut self,
        own: impl Fn(&RowTable) -> Result<Option<RowTable>, E>,
    ) -> Result<(), E> {
        let Some(mut head) = self.head.take() else { return Ok(()) };
        for table in self.tables() {
            let Ok(rows) = table.rows() else { continue };
            if head.output.shares(rows)
                && let Some(own) = own(rows)?
            {
                head.output = Linear::owning(&own, head.output.bias.clone())?;
            }
        }
        self.head = Some(head);
        Ok(())
    }

    /// The attention stacks, in forward order.
    pub fn stacks(&self) -> Vec<StackSpec> {
        match &self.body {
            Body::Single(_) | Body::EncoderDecoder { .. } | Body::TwoTowers { .. } | Body::TwoStreams(_) => {
                self.transformers().into_iter().flat_map(Stack::specs).collect()
            }
            Body::Recurrent(recurrent) => vec![recurrent.stack()],
            Body::Attentive(model) => vec![model.stack()],
            Body::Reader(reader) => reader.stacks(),
        }
    }

    /// All towers on a complete input.
    pub fn forward(&self, input: &Encoded, run: &mut Run<'_>) -> Result<Streams, ModelError> {
        match &self.body {
            Body::Single(tower) => {
                run.end_early();
                let place = self.place(&input.source, &input.source)?;
                Ok(Streams::One { stream: tower.forward(&input.source, Pass::default(), run)?, place })
            }
            Body::EncoderDecoder { .. } | Body::Recurrent(_) => {
                let memory = self.encode(&input.source, run)?;
                let target = input.target()?;
                let place = self.place(&input.source, target)?;
                Ok(Streams::One { stream: self.decode(target, Some(&memory), None, run)?, place })
            }
            Body::Attentive(model) => {
                let place = self.place(&input.source, &input.source)?;
                Ok(Streams::One { stream: model.forward(&input.source, &mut Pass::default(), run)?, place })
            }
            Body::Reader(reader) => Ok(Streams::One { stream: reader.read(&input.source, run)?, place: 0 }),
            Body::TwoStreams(body) => body.forward(input, run),
            Body::TwoTowers { vision, text, similarity } => {
                let words = input.target()?;
                let position = match words {
                    Payload::Text { ids, .. } => similarity.reads.of(ids),
                    Payload::Image { .. } => return Err(ModelError::internal("the text tower was given a picture")),
                };
                let vision = vision.forward(&input.source, Pass::default(), run)?;
                Ok(Streams::Two { vision, text: text.forward(words, Pass::default(), run)?, position })
            }
        }
    }

    /// Where the head reads a whole text, found in `source`, of the stream of `read`.
    fn place(&self, source: &Payload, read: &Payload) -> Result<usize, ModelError> {
        let (Some(head), Payload::Text { ids, .. }) = (&self.head, source) else { return Ok(0) };
        let refuse = |summary: &str, details: &str| ModelError::Input {
            summary: summary.to_owned(),
            details: details.to_owned(),
        };
        let place = head.reads.place(ids).ok_or_else(|| {
            let advice = "Let the tokenizer add it, or end the ids with it";
            refuse("the text has no end token, where this classifier reads it", advice)
        })?;
        match read {
            Payload::Text { ids, .. } if place >= ids.len() && !ids.is_empty() => {
                let summary = "a classifier reads the same text twice, but the target is shorter than the text";
                Err(refuse(summary, "Leave the target out"))
            }
            _ => Ok(place),
        }
    }

    /// Whether it may read or write step by step.
    pub const fn is_sequential(&self) -> bool {
        matches!(self.body, Body::Recurrent(_) | Body::Reader(_))
    }

    /// What is predicted, if anything.
    pub fn head_kind(&self) -> Option<HeadKind> {
        match &self.body {
            Body::TwoTowers { .. } => Some(HeadKind::Similarity),
            _ => self.head.as_ref().map(|head| head.kind),
        }
    }

    /// Logits and predictions as planned. `label` names a vocabulary id.
    pub fn predict(
        &self,
        streams: &Streams,
        plan: Logits,
        label: &dyn Fn(u32) -> String,
        run: &mut Run<'_>,
    ) -> Result<Outcome, ModelError> {
        match (&self.body, &self.head) {
            (Body::TwoTowers { similarity, .. }, _) if plan != Logits::Skip => {
                similarity.outcome(&self.logits(streams, 0, run)?, plan)
            }
            (_, Some(head)) => head.run(streams.main(), streams.place(), plan, label, &|| run.checkpoint()),
            _ => Ok(Outcome::default()),
        }
    }

    /// Logits of one position, or of the whole input where the head sees it as a whole.
    pub fn logits(&self, streams: &Streams, row: usize, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if let (Body::TwoTowers { similarity, .. }, Streams::Two { vision, text, position }) = (&self.body, streams) {
            return similarity.logits(vision, text, *position, run);
        }
        let x = streams.main();
        match &self.head {
            None => Err(ModelError::Edit("it has no head, so there is no logit to differentiate".to_owned())),
            Some(_) if row >= x.dim(0)? => Err(ModelError::Edit(format!("there is no position {row}"))),
            Some(head) => Ok(head.logits(x, row..row + 1, streams.place())?),
        }
    }

    /// Logits of one position of each of several streams, or of the whole input where the head sees it as a
    /// whole: `[n, n_outcomes]`.
    pub fn logits_of(&self, streams: &[(Streams, usize)], run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let rows = |run: &mut Run<'_>| -> Result<Tensor, ModelError> {
            let rows = streams.iter().map(|(streams, row)| self.logits(streams, *row, run));
            Ok(Tensor::cat(&rows.collect::<Result<Vec<_>, _>>()?, 0)?)
        };
        let (Some(head), false) = (&self.head, matches!(self.body, Body::TwoTowers { .. })) else { return rows(run) };
        let features = streams.iter().map(|(streams, row)| {
            let (x, n) = (streams.main(), streams.main().dim(0)?);
            if *row >= n {
                return Err(ModelError::Edit(format!("there is no position {row} among {n}")));
            }
            Ok(head.features(x, *row..*row + 1, streams.place())?)
        });
        // One product with the vocabulary for all of them.
        Ok(head.logits_of(&Tensor::cat(&features.collect::<Result<Vec<_>, ModelError>>()?, 0)?)?)
    }

    /// What to call the tokens before the patches of a picture.
    pub fn prefix_labels(&self) -> candle_core::Result<Vec<String>> {
        let source = match &self.body {
            Body::Single(tower)
            | Body::EncoderDecoder { encoder: tower, .. }
            | Body::TwoTowers { vision: tower, .. } => &tower.embedding,
            Body::TwoStreams(body) => &body.vision.embedding,
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => return Ok(Vec::new()),
        };
        match source {
            Embedding::Patches(patches) => patches.prefix_labels(),
            Embedding::Text(_) => Ok(Vec::new()),
        }
    }

    /// What fills up a text that must have the model's full length.
    pub const fn padding(&self) -> Option<u32> {
        match &self.body {
            Body::TwoTowers { similarity: Similarity { reads: TextPosition::Last { padding }, .. }, .. } => {
                Some(*padding)
            }
            _ => None,
        }
    }

    /// The encoder's output, as the decoder sees it.
    pub fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let (encoder, bridge) = match &self.body {
            Body::EncoderDecoder { encoder, bridge, .. } => (encoder, bridge),
            Body::Recurrent(recurrent) => return recurrent.encode(source, run),
            Body::Single(_) | Body::TwoTowers { .. } | Body::TwoStreams(_) | Body::Attentive(_) | Body::Reader(_) => {
                return Err(ModelError::internal("this model has no encoder of its own"));
            }
        };
        let memory = encoder.forward(source, Pass::default(), run)?;
        Ok(match bridge {
            Some(bridge) => bridge.forward(&memory)?,
            None => memory,
        })
    }

    /// Length from which the writing tower turns all its queries and keys by other angles (LongRoPE in Phi-3).
    pub fn turns_change_at(&self) -> Option<usize> {
        let (Body::Single(tower) | Body::EncoderDecoder { decoder: tower, .. } | Body::TwoTowers { text: tower, .. }) =
            &self.body
        else {
            return None;
        };
        tower.stack.rotary.iter().find_map(Rotary::turns_anew_at)
    }

    /// Whether the tower that writes sees only what was before.
    pub fn writes_forward(&self) -> bool {
        match &self.body {
            Body::Single(tower) | Body::EncoderDecoder { decoder: tower, .. } | Body::TwoTowers { text: tower, .. } => {
                tower.stack.blocks.iter().all(|block| block.attention.is_causal())
            }
            Body::Recurrent(_) | Body::Attentive(_) => true,
            Body::Reader(_) | Body::TwoStreams(_) => false,
        }
    }

    /// The separator of which an input must have three, where the model tells its two texts apart by them.
    pub const fn separator_of_pairs(&self) -> Option<u32> {
        match &self.body {
            Body::Single(tower) => tower.stack.global.separator(),
            _ => None,
        }
    }

    /// What the one query is called of a model in which words do not attend to words.
    pub fn query(&self) -> Option<&'static str> {
        match &self.body {
            Body::Reader(reader) => Some(reader.query()),
            _ => None,
        }
    }

    /// Where sentences end, where it attends to sentences.
    pub fn sentence_ends(&self) -> Option<SentenceEnds> {
        match &self.body {
            Body::Reader(reader) => reader.sentence_ends().cloned(),
            _ => None,
        }
    }

    /// What makes patterns of scores.
    pub fn normalizer(&self) -> Normalizer {
        match &self.body {
            Body::Reader(reader) => reader.normalizer(),
            _ => Normalizer::Softmax,
        }
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
            Body::Recurrent(recurrent) => return recurrent.decode(tokens, &mut Pass::decoding(memory, cache), run),
            Body::Attentive(model) => return model.forward(tokens, &mut Pass::decoding(memory, cache), run),
            Body::Reader(_) | Body::TwoStreams(_) => return Err(ModelError::internal("this model writes nothing")),
        };
        tower.forward(tokens, Pass::decoding(memory, cache), run)
    }
}

/// Lets an output and the tables that share its weights read from one copy.
fn tie(head: &mut Head, tables: Vec<&mut Table>) -> candle_core::Result<()> {
    let shared = |table: &&mut Table| table.rows().is_ok_and(|rows| head.output.shares(rows));
    let tables: Vec<&mut Table> = tables.into_iter().filter(shared).collect();
    let Some(table) = tables.first() else { return Ok(()) };
    head.output = Linear::owning(table.rows()?, head.output.bias.clone())?;
    for table in tables {
        *table = Table::Tied(Linear { bias: None, ..head.output.clone() });
    }
    Ok(())
}

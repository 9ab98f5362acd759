//! Several inputs in one pass, without padding: their sequences lie one after the other, linear maps and norms
//! work on all of them at once, positions begin anew with each, and each attends for itself.

use std::ops::Range;

use candle_core::{Device, Tensor};

use super::{
    Body, Network, Streams, Tower,
    block::Stack,
    pass::{PackedInput, Pass},
};
use crate::{
    ids::Side,
    model::{
        ModelError,
        input::{Encoded, Payload},
        run::{At, Rows, Run},
    },
};

/// Several inputs of one pass.
pub(crate) struct Pack<'a> {
    pub inputs: &'a [Encoded],
    /// Whether nothing differs between them before they attend in the first layer.
    pub alike: bool,
    /// The rows of each that its head reads ([`Network::read_rows`]); nothing else is computed behind the last
    /// attention. `None` where all are wanted.
    pub read: Option<Vec<Range<usize>>>,
}

impl<'a> Pack<'a> {
    /// Inputs that may have nothing in common, of which everything is wanted.
    pub const fn of(inputs: &'a [Encoded]) -> Self {
        Self { inputs, alike: false, read: None }
    }

    /// Where in its own stream, of what is left of it, the head of each reads.
    fn places(&self, network: &Network) -> Result<Vec<usize>, ModelError> {
        let place = |input: &Encoded| match self.read {
            Some(_) => Ok(0),
            None => network.place(&input.source, input.target.as_ref().unwrap_or(&input.source)),
        };
        self.inputs.iter().map(place).collect()
    }

    /// A pass of these sequences, and their rows in what it gives.
    fn pass<'m>(
        &self,
        memory: Option<&'m Tensor>,
        parts: Vec<PackedInput>,
        read: bool,
        device: &Device,
    ) -> candle_core::Result<(Pass<'m>, Vec<Range<usize>>)> {
        let rows: Vec<Range<usize>> = parts.iter().map(|part| part.rows.clone()).collect();
        let mut pass = Pass::of_parts(memory, parts);
        pass.alike = self.alike;
        let Some(read) = self.read.as_ref().filter(|_| read) else { return Ok((pass, rows)) };
        let places = rows.iter().zip(read).flat_map(|(rows, read)| rows.start + read.start..rows.start + read.end);
        pass.read = Some(Tensor::from_iter(places.map(|row| row as u32), device)?);
        Ok((pass, ranges(read.iter().map(Range::len))))
    }
}

impl Network {
    /// Why inputs of this model have to run one by one; `None` when several can be packed into one pass.
    pub const fn runs_alone(&self) -> Option<&'static str> {
        const GLOBAL: Option<&str> = Some("which tokens see all others is a matter of each input");
        match &self.body {
            Body::Single(tower) if !tower.stack.global.is_none() => GLOBAL,
            Body::EncoderDecoder { encoder, .. } if !encoder.stack.global.is_none() => GLOBAL,
            Body::Single(_) | Body::EncoderDecoder { .. } | Body::TwoTowers { .. } => None,
            Body::TwoStreams(_) => Some("text and picture attend to each other, each pair by itself"),
            // Its rows come one after the other in any case.
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => {
                Some("a recurrent network reads its input token by token")
            }
        }
    }

    /// Whether changed runs have to go one by one: besides what [`Self::runs_alone`] says, a change may choose the
    /// tokens that see all.
    pub fn varies_alone(&self) -> bool {
        let stack = match &self.body {
            Body::Single(tower) | Body::EncoderDecoder { encoder: tower, .. } => Some(&tower.stack),
            _ => None,
        };
        self.runs_alone().is_some() || stack.is_some_and(Stack::has_global_maps)
    }

    /// Whether runs can begin with the stream that enters a layer: nothing else comes from the layers before or from the
    /// tokens.
    pub fn goes_on_from_a_layer(&self) -> bool {
        match &self.body {
            Body::Single(tower) => tower.stack.blocks.iter().all(|block| {
                block.own_input.is_none() && block.attention.heads().is_none_or(|heads| heads.borrows().is_none())
            }),
            _ => false,
        }
    }

    /// Rows of each input in the joined sequence of each side.
    pub fn rows(inputs: &[Encoded]) -> Rows {
        let of_side = |side: Side| {
            let lengths = inputs.iter().map(move |input| input.tokens.get(&side).map_or(0, Vec::len));
            (side, ranges(lengths))
        };
        Side::ALL.into_iter().map(of_side).filter(|(_, rows)| rows.iter().any(|rows| !rows.is_empty())).collect()
    }

    /// The rows of the final stream that row `row` of the logits is read from, where it is some of them.
    pub fn read_rows(&self, input: &Encoded, row: usize) -> Result<Option<Range<usize>>, ModelError> {
        let (Body::Single(tower) | Body::EncoderDecoder { decoder: tower, .. }, Some(head)) = (&self.body, &self.head)
        else {
            return Ok(None);
        };
        // What looks at neighbours in the first layer wants them all.
        if tower.stack.convolution.is_some() && tower.stack.blocks.len() == 1 {
            return Ok(None);
        }
        let text = input.target.as_ref().unwrap_or(&input.source);
        let read = head.reads.rows(row, self.place(&input.source, text)?);
        let n = input.tokens.get(&tower.stack.kind.query_side()).map_or(0, Vec::len);
        match read {
            Some(rows) if rows.end > n => Err(ModelError::Edit(format!("there is no position {row} among {n}"))),
            read => Ok(read),
        }
    }

    /// The streams of several inputs whose streams entering layer `first` of the only stack are known already:
    /// `x` `[n, d_model]`, one after the other, or one for all that are alike.
    pub fn resume_packed(
        &self,
        pack: &Pack<'_>,
        first: usize,
        x: Tensor,
        run: &mut Run<'_>,
    ) -> Result<Vec<Streams>, ModelError> {
        let Body::Single(tower) = &self.body else {
            return Err(ModelError::internal("only a model with one stack can go on from a layer"));
        };
        let rows = Self::rows(pack.inputs).remove(&tower.stack.kind.query_side()).unwrap_or_default();
        let grid = |input: &Encoded| input.image.as_ref().map(|image| image.grid);
        let parts = rows
            .into_iter()
            .zip(pack.inputs)
            .map(|(rows, input)| PackedInput::new(rows, 0..0, grid(input)).at(input.source.positions()))
            .collect();
        let (mut pass, rows) = pack.pass(None, parts, true, x.device())?;
        let stream = tower.stack.forward_from(first, x, &mut pass, run)?;
        one_by_one(&(stream, rows), &pack.places(self)?)
    }

    /// [`Self::forward`] of several inputs at once; one answer for each.
    pub fn forward_packed(&self, pack: &Pack<'_>, run: &mut Run<'_>) -> Result<Vec<Streams>, ModelError> {
        let sources: Vec<&Payload> = pack.inputs.iter().map(|input| &input.source).collect();
        let targets = || pack.inputs.iter().map(Encoded::target).collect::<Result<Vec<&Payload>, _>>();
        match &self.body {
            Body::Single(tower) => {
                run.end_early();
                let places = pack.places(self)?;
                one_by_one(&tower.forward_packed(&sources, None, (pack, true), run)?, &places)
            }
            Body::EncoderDecoder { encoder, bridge, decoder } => {
                let targets = targets()?;
                let places = pack.places(self)?;
                let (mut memory, rows) = encoder.forward_packed(&sources, None, (pack, false), run)?;
                if let Some(bridge) = bridge {
                    memory = bridge.forward(&memory)?;
                }
                one_by_one(&decoder.forward_packed(&targets, Some((&memory, &rows)), (pack, true), run)?, &places)
            }
            Body::TwoTowers { vision, text, similarity } => {
                let words = targets()?;
                let position = |words: &&Payload| match words {
                    Payload::Text { ids, .. } => Ok(similarity.reads.of(ids)),
                    Payload::Image { .. } => Err(ModelError::internal("the text tower was given a picture")),
                };
                let positions = words.iter().map(position).collect::<Result<Vec<_>, _>>()?;
                let (pictures, picture_rows) = vision.forward_packed(&sources, None, (pack, false), run)?;
                let (texts, text_rows) = text.forward_packed(&words, None, (pack, false), run)?;
                let rows = picture_rows.iter().zip(&text_rows).zip(positions);
                rows.map(|((of_picture, of_text), position)| {
                    let (vision, text) = (cut(&pictures, of_picture)?, cut(&texts, of_text)?);
                    Ok(Streams::Two { vision, text, position })
                })
                .collect()
            }
            Body::TwoStreams(_) | Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => {
                Err(ModelError::internal("a network that runs inputs one by one was given several at once"))
            }
        }
    }
}

impl Tower {
    /// The final stream of all inputs, and each one's rows in it; `memory` is the encoder's with the rows there.
    /// `read` says whether the head reads this tower.
    fn forward_packed(
        &self,
        inputs: &[&Payload],
        memory: Option<(&Tensor, &[Range<usize>])>,
        (pack, read): (&Pack<'_>, bool),
        run: &mut Run<'_>,
    ) -> Result<(Tensor, Vec<Range<usize>>), ModelError> {
        run.checkpoint()?;
        let mut embedded = Vec::with_capacity(inputs.len());
        for (idx, input) in inputs.iter().take(if pack.alike { 1 } else { inputs.len() }).enumerate() {
            run.enter(Some(idx));
            embedded.push(self.embedding.forward(input, 0, At::entry(self.stack.kind), run)?);
        }
        run.enter(None);
        let of = |idx: usize| &embedded[if pack.alike { 0 } else { idx }];
        let lengths = (0..inputs.len()).map(|idx| of(idx).0.dim(0)).collect::<candle_core::Result<Vec<_>>>()?;
        let of_memory = |idx: usize| memory.and_then(|(_, rows)| rows.get(idx).cloned()).unwrap_or_default();
        let rows = ranges(lengths.into_iter()).into_iter().enumerate();
        let parts = rows
            .map(|(idx, rows)| PackedInput::new(rows, of_memory(idx), of(idx).1).at(inputs[idx].positions()))
            .collect();
        let x = Tensor::cat(&embedded.iter().map(|(x, _)| x).collect::<Vec<_>>(), 0)?;
        let (mut pass, rows) = pack.pass(memory.map(|(memory, _)| memory), parts, read, x.device())?;
        let own = inputs.iter().zip(&embedded).map(|(input, (x, _))| self.embedding.own_inputs(input, x));
        let own = own.collect::<candle_core::Result<Option<Vec<_>>>>()?;
        pass.own_inputs = own.map(|own| Tensor::cat(&own, 0)).transpose()?.map(|own| pass.spread(own)).transpose()?;
        Ok((self.stack.forward(x, &mut pass, run)?, rows))
    }
}

/// Sequences of these lengths, one after the other.
fn ranges(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    lengths
        .map(|n| {
            let start = end;
            end += n;
            start..end
        })
        .collect()
}

fn cut(x: &Tensor, rows: &Range<usize>) -> candle_core::Result<Tensor> {
    x.narrow(0, rows.start, rows.len())
}

fn one_by_one((x, rows): &(Tensor, Vec<Range<usize>>), places: &[usize]) -> Result<Vec<Streams>, ModelError> {
    rows.iter().zip(places).map(|(rows, place)| Ok(Streams::One { stream: cut(x, rows)?, place: *place })).collect()
}

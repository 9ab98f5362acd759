//! Several inputs in one pass, without padding: their sequences lie one after the other, linear maps and norms
//! work on all of them at once, positions begin anew with each, and each attends for itself.

use std::ops::Range;

use candle_core::Tensor;

use super::{
    Body, Network, Streams, Tower,
    pass::{Part, Pass},
};
use crate::{
    ids::Side,
    model::{
        ModelError,
        input::{Encoded, Payload},
        run::{At, Rows, Run},
    },
};

impl Network {
    /// Why inputs of this model have to run one by one; `None` when several can be packed into one pass.
    pub const fn runs_alone(&self) -> Option<&'static str> {
        match self.body {
            Body::Single(_) | Body::EncoderDecoder { .. } | Body::TwoTowers { .. } => None,
            // Its rows come one after the other in any case.
            Body::Recurrent(_) | Body::BiLstm(_) => Some("a recurrent network reads its input token by token"),
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

    /// The streams of several inputs whose streams entering layer `first` of the only stack are known already,
    /// one after the other in `x` `[n, d_model]`.
    pub fn resume_packed(
        &self,
        inputs: &[Encoded],
        first: usize,
        x: Tensor,
        run: &mut Run<'_>,
    ) -> Result<Vec<Streams>, ModelError> {
        let Body::Single(tower) = &self.body else {
            return Err(ModelError::internal("only a model with one stack can go on from a layer"));
        };
        let rows = Self::rows(inputs).remove(&tower.stack.kind.query_side()).unwrap_or_default();
        let places = inputs.iter().map(|input| self.place(&input.source, &input.source));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let grid = |input: &Encoded| input.image.as_ref().map(|image| image.grid);
        let parts = rows.iter().zip(inputs).map(|(rows, input)| Part::new(rows.clone(), 0..0, grid(input))).collect();
        let stream = tower.stack.forward_from(first, x, &mut Pass::of_parts(None, parts), run)?;
        one_by_one(&(stream, rows), &places)
    }

    /// [`Self::forward`] of several inputs at once; one answer for each.
    pub fn forward_packed(&self, inputs: &[Encoded], run: &mut Run<'_>) -> Result<Vec<Streams>, ModelError> {
        let sources: Vec<&Payload> = inputs.iter().map(|input| &input.source).collect();
        let targets = || inputs.iter().map(Encoded::target).collect::<Result<Vec<&Payload>, _>>();
        let places = |read: &[&Payload]| {
            sources.iter().zip(read).map(|(source, read)| self.place(source, read)).collect::<Result<Vec<_>, _>>()
        };
        match &self.body {
            Body::Single(tower) => {
                run.end_early();
                let places = places(&sources)?;
                one_by_one(&tower.forward_packed(&sources, None, run)?, &places)
            }
            Body::EncoderDecoder { encoder, bridge, decoder } => {
                let targets = targets()?;
                let places = places(&targets)?;
                let (mut memory, rows) = encoder.forward_packed(&sources, None, run)?;
                if let Some(bridge) = bridge {
                    memory = bridge.forward(&memory)?;
                }
                one_by_one(&decoder.forward_packed(&targets, Some((&memory, &rows)), run)?, &places)
            }
            Body::TwoTowers { vision, text, similarity } => {
                let words = targets()?;
                let position = |words: &&Payload| match words {
                    Payload::Text { ids, .. } => Ok(similarity.reads.of(ids)),
                    Payload::Image { .. } => Err(ModelError::internal("the text tower was given a picture")),
                };
                let positions = words.iter().map(position).collect::<Result<Vec<_>, _>>()?;
                let (pictures, picture_rows) = vision.forward_packed(&sources, None, run)?;
                let (texts, text_rows) = text.forward_packed(&words, None, run)?;
                let rows = picture_rows.iter().zip(&text_rows).zip(positions);
                rows.map(|((of_picture, of_text), position)| {
                    let (vision, text) = (cut(&pictures, of_picture)?, cut(&texts, of_text)?);
                    Ok(Streams::Two { vision, text, position })
                })
                .collect()
            }
            Body::Recurrent(_) | Body::BiLstm(_) => {
                Err(ModelError::internal("a recurrent network was given several inputs at once"))
            }
        }
    }
}

impl Tower {
    /// The final stream of all inputs, and each one's rows in it; `memory` is the encoder's with the rows there.
    fn forward_packed(
        &self,
        inputs: &[&Payload],
        memory: Option<(&Tensor, &[Range<usize>])>,
        run: &mut Run<'_>,
    ) -> Result<(Tensor, Vec<Range<usize>>), ModelError> {
        run.checkpoint()?;
        let mut embedded = Vec::with_capacity(inputs.len());
        for (idx, input) in inputs.iter().enumerate() {
            run.enter(Some(idx));
            embedded.push(self.embedding.forward(input, 0, At::entry(self.stack.kind), run)?);
        }
        run.enter(None);
        let lengths = embedded.iter().map(|(x, _)| x.dim(0)).collect::<candle_core::Result<Vec<_>>>()?;
        let rows = ranges(lengths.into_iter());
        let of_memory = |idx: usize| memory.and_then(|(_, rows)| rows.get(idx).cloned()).unwrap_or_default();
        let parts = embedded.iter().zip(&rows).enumerate();
        let parts = parts.map(|(idx, ((_, grid), rows))| Part::new(rows.clone(), of_memory(idx), *grid)).collect();
        let x = Tensor::cat(&embedded.into_iter().map(|(x, _)| x).collect::<Vec<_>>(), 0)?;
        let mut pass = Pass::of_parts(memory.map(|(memory, _)| memory), parts);
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

//! Text and picture in two streams that attend to each other (BridgeTower, Xu et al. 2023): every cross-modal layer
//! takes in one more layer of both towers, then each stream attends to itself and to the other.

use std::array;

use candle_core::Tensor;

use super::{
    Streams, Tower,
    block::{Stack, check_finite},
    pass::Pass,
    similarity::unit,
};
use crate::model::{
    ModelError,
    input::Encoded,
    kernels::{self, Activation, Linear, Norm},
    run::{At, Run, Site},
};

/// Both towers, the streams behind them, and what a head of the whole input reads.
#[derive(Debug)]
pub(crate) struct TwoStreams {
    /// Its final norm is that of every layer that is taken in.
    pub vision: Tower,
    pub text: Tower,
    /// Of the text and of the picture, as many layers each.
    pub streams: [CrossModalStream; 2],
    /// `None` where the head reads the stream of the text, or there is none.
    pub whole: Option<Whole>,
}

/// One of the two streams.
#[derive(Debug)]
pub(crate) struct CrossModalStream {
    /// One per layer.
    pub bridges: Vec<Bridge>,
    pub stack: Stack,
}

/// What enters a cross-modal layer: the stream of a tower, mapped, with what the layer before has left.
#[derive(Debug)]
pub(crate) struct Bridge {
    /// To the width of the cross-modal stream; its bias holds what tells text and picture apart.
    pub map: Linear,
    /// Factor on what is mapped.
    pub of_tower: f32,
    /// Factor on what the layer before has left.
    pub of_stream: f32,
    pub norm: Norm,
}

/// What a head of the whole input reads, one row.
#[derive(Debug)]
pub(crate) enum Whole {
    /// The first tokens of both streams, each through a map and a hyperbolic tangent, side by side.
    Pooled([Linear; 2]),
    /// The cosines between the towers and both streams.
    Cosines(Box<Cosines>),
}

/// Three vectors of one space, and a factor on the cosines between them: text and picture, text and both, picture and
/// both.
#[derive(Debug)]
pub(crate) struct Cosines {
    /// Of the first tokens of both streams, as in [`Whole::Pooled`].
    pub poolers: [Linear; 2],
    /// Of the first tokens of the text tower, of the vision tower as the cross-modal layers take it in, and of what is
    /// pooled.
    pub heads: [Linear; 3],
    /// From the vision tower to the width of the cross-modal stream.
    pub vision: Linear,
    pub scale: f32,
}

impl Bridge {
    /// `[n, d_model]` of a tower's stream `[n, d_tower]` and the stream that the layer before has left.
    fn forward(&self, tower: &Tensor, left: Option<&Tensor>) -> candle_core::Result<Tensor> {
        let mut x = self.map.forward(tower)?;
        if let Some(left) = left {
            x = (scaled(&x, self.of_tower)? + scaled(left, self.of_stream)?)?;
        }
        self.norm.forward(&x)
    }
}

/// A factor of 1 leaves a value as it is.
fn scaled(x: &Tensor, factor: f32) -> candle_core::Result<Tensor> {
    #[expect(clippy::float_cmp, reason = "exactly 1 is no factor")]
    if factor == 1.0 { Ok(x.clone()) } else { x * f64::from(factor) }
}

impl CrossModalStream {
    /// What enters a layer, offered to the run: the other stream attends to it too.
    fn enter(
        &self,
        layer: usize,
        tower: &Tensor,
        left: Option<&Tensor>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let at = At { stack: self.stack.kind, layer };
        run.at(Site::ResidPre, at, self.bridges[layer].forward(tower, left)?)
    }
}

impl TwoStreams {
    /// Both stacks of cross-modal layers, that of the text first.
    pub fn stacks(&self) -> [&Stack; 2] {
        self.streams.each_ref().map(|stream| &stream.stack)
    }

    /// The stream that the head reads: that of the text, or one row where it reads the whole.
    pub fn forward(&self, input: &Encoded, run: &mut Run<'_>) -> Result<Streams, ModelError> {
        let (text, texts) = self.text.forward_kept(input.target()?, run)?;
        let (vision, pictures) = self.vision.forward_kept(&input.source, run)?;
        let n_layers = self.streams[0].bridges.len();
        // The last layers of a tower are those that are taken in; the embeddings come before its first.
        let [first_text, first_picture] = [&texts, &pictures].map(|kept| kept.len() - n_layers);
        let mut left: [Option<Tensor>; 2] = [None, None];
        for layer in 0..n_layers {
            run.checkpoint()?;
            let [of_text, of_vision] = &self.streams;
            // The last layer takes in what the run has seen as the end of each tower.
            let [words, picture] = if layer + 1 == n_layers {
                [text.clone(), vision.clone()]
            } else {
                let picture = pictures[first_picture + layer].clone();
                [texts[first_text + layer].clone(), self.vision.stack.normed(picture)?]
            };
            let words = of_text.enter(layer, &words, left[0].as_ref(), run)?;
            let patches = of_vision.enter(layer, &picture, left[1].as_ref(), run)?;
            let mut pass = Pass::decoding(Some(&patches), None);
            let new_words = of_text.stack.behind(layer, words.clone(), &mut pass, run)?;
            let mut pass = Pass::decoding(Some(&words), None);
            let new_patches = of_vision.stack.behind(layer, patches.clone(), &mut pass, run)?;
            left = [Some(new_words), Some(new_patches)];
        }
        let mut last = Vec::with_capacity(left.len());
        for (stream, x) in self.streams.iter().zip(left) {
            let x = x.ok_or_else(|| ModelError::internal("there are no cross-modal layers"))?;
            last.push(stream.stack.end(x, run)?);
        }
        let stream = match &self.whole {
            None => last.swap_remove(0),
            Some(whole) => check_finite(whole.forward([&text, &vision], [&last[0], &last[1]])?)?,
        };
        Ok(Streams::One { stream, place: 0 })
    }
}

impl Whole {
    /// One row, of the final streams of text and picture: those of the towers, and the cross-modal ones.
    fn forward(&self, towers: [&Tensor; 2], streams: [&Tensor; 2]) -> candle_core::Result<Tensor> {
        match self {
            Self::Pooled(poolers) => pooled(poolers, streams),
            Self::Cosines(cosines) => cosines.forward(towers, streams),
        }
    }
}

impl Cosines {
    fn forward(&self, [text, vision]: [&Tensor; 2], streams: [&Tensor; 2]) -> candle_core::Result<Tensor> {
        let first = |x: &Tensor| x.narrow(0, 0, 1);
        let read = [first(text)?, self.vision.forward(&first(vision)?)?, pooled(&self.poolers, streams)?];
        let mut units = Vec::with_capacity(read.len());
        for (head, x) in self.heads.iter().zip(&read) {
            units.push(unit(&head.forward(x)?)?);
        }
        let cosine = |a: usize, b: usize| (&units[a] * &units[b])?.sum_keepdim(1);
        let all = [cosine(0, 1)?, cosine(0, 2)?, cosine(1, 2)?];
        Tensor::cat(&all, 1)? * f64::from(self.scale)
    }
}

/// The first tokens of both streams, `[1, 2 · d_model]`.
fn pooled(poolers: &[Linear; 2], streams: [&Tensor; 2]) -> candle_core::Result<Tensor> {
    let parts: [candle_core::Result<Tensor>; 2] = array::from_fn(|nth| {
        kernels::activation(&poolers[nth].forward(&streams[nth].narrow(0, 0, 1)?)?, Activation::Tanh)
    });
    let [text, vision] = parts;
    Tensor::cat(&[text?, vision?], 1)
}

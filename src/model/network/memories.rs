//! Sentences as memories (end-to-end memory network, Sukhbaatar et al. 2015): a question, the last sentence, is
//! compared with the others several times, and each time what was found is added to it. The values of one hop are
//! the keys of the next.

use std::ops::Range;

use candle_core::{Result as CandleResult, Tensor};

use super::{
    block::check_finite,
    embedding::{Table, TextEmbedding},
    sequential::{TextReader, attend},
};
use crate::{
    capture::Normalizer,
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::{Payload, SentenceEnds},
        kernels,
        run::{At, Run, Site},
    },
    spec::{LayerSpec, Mask, StackSpec},
};

/// The whole model but its head.
#[derive(Debug)]
pub(crate) struct Memories {
    /// Of all hops side by side, `[n_vocab, (n_hops + 1) · d_head]`.
    pub words: TextEmbedding,
    /// By the distance of a sentence from the last, `[n_sentences, (n_hops + 1) · d_head]`.
    pub time: Tensor,
    pub ends: SentenceEnds,
    pub n_hops: usize,
    pub spec: LayerSpec,
}

impl Memories {
    /// The sums of the words of each sentence, which count by their places in it.
    ///
    /// # Shapes
    /// - `words`: `[n, width]`
    /// - result: `[sentences.len(), width]`
    fn sums(&self, words: &Tensor, sentences: &[Range<usize>]) -> CandleResult<Tensor> {
        let (n, d) = (words.dim(0)?, self.spec.d_head);
        let mut places = Vec::with_capacity(n * d);
        let mut own = vec![0.0f32; sentences.len() * n];
        for (row, sentence) in sentences.iter().enumerate() {
            own[row * n..][sentence.clone()].fill(1.0);
            for place in 1..=sentence.len() {
                let place = place as f32 / sentence.len() as f32;
                places.extend((1..=d).map(|k| (1.0 - place) - k as f32 / d as f32 * (1.0 - 2.0 * place)));
            }
        }
        let places = Tensor::from_vec(places, (n, d), words.device())?.repeat((1, self.n_hops + 1))?;
        Tensor::from_vec(own, (sentences.len(), n), words.device())?.matmul(&(words * places)?)
    }

    /// What the sentences of a story add by their distance from the last of them.
    fn times(&self, n: usize) -> Result<Tensor, ModelError> {
        let most = self.time.dim(0)?;
        let refuse = |summary: String| ModelError::Input {
            summary,
            details: "Give it a story and, as the last sentence, a question".to_owned(),
        };
        match n {
            0 => Err(refuse("there is no story: the last sentence is the question".to_owned())),
            n if n > most => Err(refuse(format!("the story has {n} sentences, but the model reads at most {most}"))),
            n => {
                let distances: Vec<u32> = (0..n as u32).rev().collect();
                Ok(self.time.index_select(&Tensor::new(distances.as_slice(), self.time.device())?, 0)?)
            }
        }
    }
}

impl TextReader for Memories {
    fn query(&self) -> &'static str {
        "[question]"
    }

    fn words(&mut self) -> &mut Table {
        &mut self.words.word
    }

    fn stacks(&self) -> Vec<StackSpec> {
        vec![StackSpec { kind: StackKind::Sentences, layers: vec![self.spec; self.n_hops], causal: false }]
    }

    fn sentence_ends(&self) -> Option<&SentenceEnds> {
        Some(&self.ends)
    }

    fn read(&self, text: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let words = self.words.of(text, 0, At::entry(Side::Encoder.stack()), run)?;
        let sums = self.sums(&words, &self.ends.sentences(text.words()))?;
        let (n, d) = (sums.dim(0)? - 1, self.spec.d_head);
        let memories = (sums.narrow(0, 0, n)? + self.times(n)?)?;
        let of_hop = |hop: usize| memories.narrow(1, hop * d, d)?.contiguous();
        let mut question = sums.narrow(0, n, 1)?.narrow(1, 0, d)?.contiguous()?;
        for layer in 0..self.n_hops {
            run.checkpoint()?;
            let at = At { stack: StackKind::Sentences, layer };
            let q = run.at(Site::Q, at, question.unsqueeze(0)?)?;
            let k = run.at(Site::K, at, of_hop(layer)?.unsqueeze(0)?)?;
            let scores = kernels::scores(&q, &k, self.spec.scale, Mask::NONE)?.squeeze(0)?;
            question = (question + attend(&scores, &of_hop(layer + 1)?, Normalizer::Softmax, at, run)?)?;
        }
        let last = At { stack: StackKind::Sentences, layer: self.n_hops - 1 };
        check_finite(run.at(Site::ResidFinal, last, question)?)
    }
}

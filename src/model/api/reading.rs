//! Part of its stream that a model's head reads.

use super::Model;
use crate::{
    analysis::explain::contacts::ContactMap,
    capture::Matrix,
    model::{
        input::{Encoded, Payload},
        network::{Body, head::Reads},
        run::Logits,
    },
    outputs::OutputKind,
};

/// Which rows of the last stream an output is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadReads {
    At(usize),
    /// The mean of all from a position on.
    MeanFrom(usize),
}

impl HeadReads {
    /// The rows of a map over these tokens that the output reads, as one row.
    pub fn row_of(self, map: &Matrix) -> Vec<f32> {
        match self {
            Self::At(position) => map.row(position).unwrap_or(&[]).to_vec(),
            Self::MeanFrom(first) => {
                let n = map.n_rows().saturating_sub(first).max(1) as f32;
                let mut mean = vec![0.0; map.n_cols()];
                for row in map.rows().skip(first) {
                    mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / n);
                }
                mean
            }
        }
    }
}

impl Model {
    /// What row `row` of the logits reads of the predicted tokens.
    pub fn head_reads(&self, input: &Encoded, row: usize) -> HeadReads {
        let read = input.target.as_ref().unwrap_or(&input.source);
        if let (Body::TwoTowers { similarity, .. }, Payload::Text { ids, .. }) = (&self.network.body, read) {
            return HeadReads::At(similarity.reads.of(ids));
        }
        let Some(head) = &self.network.head else { return HeadReads::At(row) };
        match head.reads {
            Reads::Each => HeadReads::At(row),
            Reads::First | Reads::FirstTwo | Reads::FirstAndMean { .. } => HeadReads::At(0),
            Reads::Mean { n_prefix } => HeadReads::MeanFrom(n_prefix),
            Reads::MeanOfEach => HeadReads::MeanFrom(0),
            reads @ (Reads::Last { .. } | Reads::End { .. }) => match &input.source {
                Payload::Text { ids, .. } => HeadReads::At(reads.place(ids).unwrap_or(0)),
                Payload::Image { .. } => HeadReads::At(0),
            },
        }
    }

    /// What of a picture's tokens a model of two towers compares: the first, or all where they are pooled.
    pub const fn tower_reads(&self) -> HeadReads {
        match &self.network.body {
            Body::TwoTowers { similarity, .. } if similarity.pools_vision() => HeadReads::MeanFrom(0),
            _ => HeadReads::At(0),
        }
    }

    /// Whether the head reads both streams of a two-stream model at once, so that no stream has logits by itself.
    pub fn joins_streams(&self) -> bool {
        self.network.joins_streams()
    }

    /// What makes a map of contacts between residues of all attention maps; `None` of what is no model of proteins, or lacks
    /// it.
    pub const fn contacts(&self) -> Option<&ContactMap> {
        match &self.network.body {
            Body::Single(tower) => tower.stack.contacts.as_ref(),
            Body::EncoderDecoder { .. }
            | Body::TwoTowers { .. }
            | Body::TwoStreams(_)
            | Body::Recurrent(_)
            | Body::Attentive(_)
            | Body::Reader(_) => None,
        }
    }

    /// Whether the head says one thing about the whole input.
    pub fn reads_whole(&self) -> bool {
        match &self.network.body {
            Body::TwoTowers { .. } => true,
            _ => self.network.head.as_ref().is_some_and(|head| head.reads != Reads::Each),
        }
    }

    /// What the numbers of its head are; `None` without a head.
    pub fn outputs(&self) -> Option<OutputKind> {
        match &self.network.body {
            Body::TwoTowers { similarity, .. } => Some(similarity.outputs),
            _ => self.network.head.as_ref().map(|head| head.outputs),
        }
    }

    /// What runs of many inputs ask of the head: its answer where it says one thing about each input.
    pub fn answers_of_inputs(&self) -> Logits {
        let is_asked = self.reads_whole() && !matches!(self.network.body, Body::TwoTowers { .. });
        if is_asked { Logits::Predict } else { Logits::Skip }
    }

    /// How many outcomes a row of logits has; 0 without a head.
    pub fn n_outcomes(&self) -> usize {
        match &self.network.body {
            Body::TwoTowers { .. } => 1,
            _ => self.network.head.as_ref().and_then(|head| head.output.dims().ok()).map_or(0, |(_, n)| n),
        }
    }
}

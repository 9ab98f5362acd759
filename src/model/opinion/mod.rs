//! Second opinions: the same architectures as others have written them (candle-transformers), so that a
//! checkpoint can be held against an implementation that shares no line with ours.
//!
//! An entry reads `config.json` alone first ([`plan`]): whether the library has the architecture, what it is known
//! to do otherwise, and how far it can be followed. Tensors are looked for under the names that the library itself
//! expects, so that an error in our names shows, too.

mod decoders;
mod encoders;
mod seq2seq;
mod settings;
mod tensors;
mod towers;
mod vision;

use candle_core::{IndexOp as _, Tensor};
use serde_json::Value;

pub(crate) use self::{
    decoders::{gemma, gemma2, gemma3, llama, mistral, phi3, qwen2, qwen3},
    encoders::{bert, distilbert},
    seq2seq::{marian, mt5, t5},
    settings::ConfigMap,
    tensors::Tensors,
    towers::{clip, siglip, siglip_vision},
    vision::{dinov2, vit},
};
use crate::{
    ids::StackKind,
    model::{
        ModelError,
        checkpoint::Config,
        input::{Encoded, Payload},
        run::{Control, Progress, Stage},
    },
    spec::HeadKind,
};

/// Positions at which a decoder is asked: the library gives the logits of a text's last token alone.
const N_PREFIXES: usize = 8;

/// What can be known of a second opinion before any weight is read.
pub(crate) struct Plan {
    pub module: &'static str,
    /// How many tokens of the text that is written can be compared, and why not more.
    pub limit: Option<Limit>,
    /// What the library is known to do otherwise with this configuration.
    pub deviations: Vec<Deviation>,
    /// Where the library was led round something that it does otherwise.
    pub remark: Option<&'static str>,
    /// The one size of pictures that it reads.
    pub picture_px: Option<usize>,
    answer: Box<Answer>,
}

type Answer = dyn Fn(Tensors, &OpinionInput<'_>) -> Result<Vec<Output>, ModelError> + Send + Sync;

/// Where the library can no longer be followed.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub n_tokens: usize,
    pub why: &'static str,
}

/// Something that the library does otherwise, and what `config.json` would have to say for us to do the same.
#[derive(Clone, Debug)]
pub(crate) struct Deviation {
    pub why: String,
    pub as_library: Value,
}

/// What both implementations read.
pub(crate) struct OpinionInput<'a> {
    pub source: &'a Payload,
    pub target: Option<&'a Payload>,
    pub limit: Option<usize>,
    pub control: &'a Control<'a>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The logits.
    Logits,
    /// The stream of this stack behind its last layer and norm.
    Final(StackKind),
}

/// Numbers of the library.
pub(crate) struct Output {
    pub of: Compared,
    /// The rows among those of all tokens.
    pub rows: Vec<usize>,
    /// `[rows, width]`.
    pub values: Tensor,
}

impl Plan {
    fn new(
        module: &'static str,
        answer: impl Fn(Tensors, &OpinionInput<'_>) -> Result<Vec<Output>, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self { module, limit: None, deviations: Vec::new(), remark: None, picture_px: None, answer: Box::new(answer) }
    }

    /// What the library computes.
    pub fn answer(&self, tensors: Tensors, reading: &OpinionInput<'_>) -> Result<Vec<Output>, ModelError> {
        (self.answer)(tensors, reading)
    }
}

impl Deviation {
    fn new(why: impl Into<String>, as_library: Value) -> Self {
        Self { why: why.into(), as_library }
    }
}

impl Output {
    /// All rows of `[1, n, width]`.
    fn all(of: Compared, values: &Tensor) -> Result<Self, ModelError> {
        let values = values.i(0)?;
        Ok(Self { of, rows: (0..values.dim(0)?).collect(), values })
    }
}

impl<'a> OpinionInput<'a> {
    pub fn new(encoded: &'a Encoded, plan: &Plan, control: &'a Control<'a>) -> Self {
        let limit = plan.limit.as_ref().map(|limit| limit.n_tokens);
        Self { source: &encoded.source, target: encoded.target.as_ref(), limit, control }
    }

    /// The ids of the only tower or of the encoder, and their segments.
    fn ids(&self) -> Result<(&[u32], &[u32]), ModelError> {
        text(self.source)
    }

    /// The ids that a decoder or the text tower reads.
    fn target_ids(&self) -> Result<&[u32], ModelError> {
        let target = self.target.ok_or_else(|| ModelError::internal("there is no second text"))?;
        Ok(text(target)?.0)
    }

    /// `[1, 3, height, width]`.
    fn pixels(&self) -> Result<Tensor, ModelError> {
        match self.source {
            Payload::Image { pixels, size_px: (height, width) } => {
                Ok(Tensor::from_slice(pixels, (1, 3, *height, *width), &candle_core::Device::Cpu)?)
            }
            Payload::Text { .. } => Err(ModelError::internal("there is no picture")),
        }
    }

    /// The logits behind some beginnings of `ids`, the longest among them, each from `last`.
    fn prefixes(
        &self,
        ids: &[u32],
        mut last: impl FnMut(&Tensor) -> candle_core::Result<Tensor>,
    ) -> Result<Output, ModelError> {
        let n = ids.len().min(self.limit.unwrap_or(usize::MAX)).max(1);
        let n_asked = n.min(N_PREFIXES);
        let lengths: Vec<usize> = (1..=n_asked).map(|nth| (nth * n).div_ceil(n_asked)).collect();
        let mut values = Vec::new();
        for (done, length) in lengths.iter().enumerate() {
            (self.control)(Progress { stage: Stage::Variants, done, total: n_asked })?;
            values.push(last(&row(&ids[..*length])?)?.flatten_all()?);
        }
        let rows = lengths.iter().map(|length| length - 1).collect();
        Ok(Output { of: Compared::Logits, rows, values: Tensor::stack(&values, 0)? })
    }
}

fn text(payload: &Payload) -> Result<(&[u32], &[u32]), ModelError> {
    match payload {
        Payload::Text { ids, segments, .. } => Ok((ids, segments)),
        Payload::Image { .. } => Err(ModelError::internal("there is no text")),
    }
}

/// `[1, n]`.
fn row(ids: &[u32]) -> candle_core::Result<Tensor> {
    Tensor::new(ids, &candle_core::Device::Cpu)?.unsqueeze(0)
}

/// How the library can be asked about a family.
#[derive(Clone, Copy)]
pub(crate) enum OpinionPlan {
    Any(fn(&ConfigMap, Option<HeadKind>) -> Result<Plan, String>),
    /// Of which the library gives the logits of the next token alone.
    Decoder(fn(&ConfigMap) -> Result<Plan, String>),
}

/// How the library can be asked about this checkpoint, whose head is `head`; `ask` is what its family says.
///
/// # Errors
/// A clause that says why it cannot.
pub(crate) fn plan(config: &Config, ask: Option<OpinionPlan>, head: Option<HeadKind>) -> Result<Plan, String> {
    let settings = &ConfigMap::new(config.entries());
    match ask {
        Some(_) if !matches!(config.quantization(), Ok(None)) => {
            Err("it does not read weights that are stored in few bits as this checkpoint's are".to_owned())
        }
        None => {
            let model_type = config.model_type().unwrap_or_default();
            Err(format!("it has no implementation of “{model_type}” to compare with"))
        }
        Some(OpinionPlan::Any(plan)) => plan(settings, head),
        Some(OpinionPlan::Decoder(plan)) => decoders::plan(plan(settings)?, settings, head),
    }
}

//! Plain facts about a model, in the field's words. No engine types, no behaviour beyond look-ups.

use crate::ids::StackKind;

/// What a model is: the facts every view, analysis and file needs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// What the user calls it: the folder's name or a bundled name such as `demo:gpt`.
    pub name: String,
    /// Architecture family, lower case as in `model_type`: `bert`, `gpt2`, `vit`.
    pub family: String,
    /// What the model reads.
    pub modality: Modality,
    /// Attention stacks, in forward order; never empty.
    pub stacks: Vec<StackSpec>,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Number of parameters read from the checkpoint.
    pub n_params: u64,
    /// What the model's head predicts, if it has one.
    pub head: Option<HeadKind>,
}

impl ModelSpec {
    /// The stack of this kind.
    pub fn stack(&self, kind: StackKind) -> Option<&StackSpec> {
        self.stacks.iter().find(|stack| stack.kind == kind)
    }
}

/// What a model reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Modality {
    /// Tokens, at most `n_ctx` of them.
    Text {
        /// Longest input the position embeddings allow, special tokens included.
        n_ctx: usize,
        /// Number of token ids.
        n_vocab: usize,
    },
    /// Pixels.
    Image {
        /// Height and width the model was trained on, in pixels.
        size_px: (usize, usize),
        /// Height and width of a patch, in pixels.
        patch_px: (usize, usize),
        /// Tokens before the patches: CLS, distillation token, registers.
        n_prefix: usize,
    },
}

/// What a prediction head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// Which token stands at each position (BERT-style).
    MaskedLm,
    /// Which token follows each position (GPT-style).
    NextToken,
    /// Which class the text belongs to.
    TextClass,
    /// Which class the image belongs to.
    ImageClass,
}

/// One attention stack of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSpec {
    /// Which stack this is.
    pub kind: StackKind,
    /// Shape of each layer's attention; layers may differ (pruned heads).
    pub layers: Vec<LayerSpec>,
    /// Whether a query may attend only to itself and earlier keys.
    pub causal: bool,
}

impl StackSpec {
    /// The largest head count of any layer: the width of a layers × heads grid.
    pub fn max_heads(&self) -> usize {
        self.layers.iter().map(|layer| layer.n_heads).max().unwrap_or(0)
    }
}

/// Shape of one layer's attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerSpec {
    /// Query heads; attention patterns exist per query head.
    pub n_heads: usize,
    /// Key/value heads; equal to `n_heads` without grouped-query attention.
    pub n_kv_heads: usize,
    /// Width of one head's q, k and v.
    pub d_head: usize,
    /// Factor on `q·kᵀ` before bias and mask; usually `1/√d_head`, 1 for T5.
    pub scale: f32,
}

impl LayerSpec {
    /// The key/value head that query head `head` reads.
    pub fn kv_head(&self, head: usize) -> usize {
        head * self.n_kv_heads / self.n_heads.max(1)
    }
}

//! The points of the forward pass where a value exists: one table for recording, editing and files.

use super::{LayerCapture, Matrix, PerHead, StackCapture};

/// A point in the forward pass where a value exists.
///
/// | site | shape |
/// |---|---|
/// | `Embed` | `[n, d_embedding]` |
/// | `ResidPre`, `AttnOut`, `ResidMid`, `MlpOut`, `ResidPost`, `ResidFinal` | `[n, d_model]` |
/// | `MlpHidden` | `[n, d_mlp]` |
/// | `Q`, `Z` | `[heads, n, d_head]` |
/// | `K`, `V` | `[kv_heads, n, d_head]` |
/// | `Scores`, `Pattern` | `[heads, n_query, n_key]` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// What stands for each token or patch before positions and norms: what gradients of the input are of.
    Embed,
    /// The residual stream entering a layer.
    ResidPre,
    /// Queries, after rotary where the model has it.
    Q,
    /// Keys, after rotary where the model has it.
    K,
    /// Values.
    V,
    /// Scaled and masked, before softmax.
    Scores,
    /// Softmax of the scores.
    Pattern,
    /// `pattern · v`.
    Z,
    /// What attention adds to the residual stream.
    AttnOut,
    /// The residual stream between attention and MLP.
    ResidMid,
    /// The activations inside the MLP, gated where it has a gate.
    MlpHidden,
    /// What the MLP adds to the residual stream.
    MlpOut,
    /// The residual stream leaving a layer; of the last layer, the stream before the final norm.
    ResidPost,
    /// The stream after the last layer and the final norm.
    ResidFinal,
}

/// Where a recording keeps the values of a site.
pub(crate) enum Slot<'a> {
    /// One matrix per head.
    PerHead(&'a mut Option<PerHead>),
    /// One row per token.
    Rows(&'a mut Option<Matrix>),
}

impl Site {
    /// Every site, in forward order.
    pub const ALL: [Self; 14] = [
        Self::Embed,
        Self::ResidPre,
        Self::Q,
        Self::K,
        Self::V,
        Self::Scores,
        Self::Pattern,
        Self::Z,
        Self::AttnOut,
        Self::ResidMid,
        Self::MlpHidden,
        Self::MlpOut,
        Self::ResidPost,
        Self::ResidFinal,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::ResidPre => "resid_pre",
            Self::Q => "q",
            Self::K => "k",
            Self::V => "v",
            Self::Scores => "scores",
            Self::Pattern => "pattern",
            Self::Z => "z",
            Self::AttnOut => "attn_out",
            Self::ResidMid => "resid_mid",
            Self::MlpHidden => "mlp_hidden",
            Self::MlpOut => "mlp_out",
            Self::ResidPost => "resid_post",
            Self::ResidFinal => "resid_final",
        }
    }

    /// The site with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| site.name() == name)
    }

    /// Whether there is one value per head.
    pub const fn is_per_head(self) -> bool {
        matches!(self, Self::Q | Self::K | Self::V | Self::Scores | Self::Pattern | Self::Z)
    }

    /// Whether there is one in each layer, and not one of a whole stack or sequence.
    pub const fn is_of_layer(self) -> bool {
        !matches!(self, Self::Embed | Self::ResidFinal)
    }

    /// Whether its rows are keys, and not queries or tokens of the stream.
    pub const fn is_of_keys(self) -> bool {
        matches!(self, Self::K | Self::V)
    }
}

impl StackCapture {
    /// A stack of which nothing has been recorded yet.
    pub(crate) fn empty(kind: crate::ids::StackKind, n_layers: usize) -> Self {
        Self { kind, layers: vec![LayerCapture::default(); n_layers], ..Self::default() }
    }

    /// One row per token, of a site that has no heads; `layer` does not matter for what a stack has once. What a
    /// sequence has is not here, see [`Capture::embed`](super::Capture::embed).
    pub fn rows(&self, site: Site, layer: usize) -> Option<&Matrix> {
        match site {
            Site::ResidFinal => self.resid_final.as_ref(),
            _ => self.layers.get(layer)?.rows(site),
        }
    }

    /// Where a site of a layer is kept; `None` for a layer that is not there.
    pub(crate) fn slot(&mut self, site: Site, layer: usize) -> Option<Slot<'_>> {
        Some(match site {
            Site::ResidFinal => Slot::Rows(&mut self.resid_final),
            _ => return self.layers.get_mut(layer)?.slot(site),
        })
    }
}

impl LayerCapture {
    /// One matrix per head, of a site that has heads.
    pub const fn per_head(&self, site: Site) -> Option<&PerHead> {
        match site {
            Site::Q => self.q.as_ref(),
            Site::K => self.k.as_ref(),
            Site::V => self.v.as_ref(),
            Site::Scores => self.scores.as_ref(),
            Site::Pattern => self.pattern.as_ref(),
            Site::Z => self.z.as_ref(),
            _ => None,
        }
    }

    /// One row per token, of a site that has no heads.
    pub const fn rows(&self, site: Site) -> Option<&Matrix> {
        match site {
            Site::ResidPre => self.resid_pre.as_ref(),
            Site::AttnOut => self.attn_out.as_ref(),
            Site::ResidMid => self.resid_mid.as_ref(),
            Site::MlpHidden => self.mlp_hidden.as_ref(),
            Site::MlpOut => self.mlp_out.as_ref(),
            Site::ResidPost => self.resid_post.as_ref(),
            _ => None,
        }
    }

    fn slot(&mut self, site: Site) -> Option<Slot<'_>> {
        Some(match site {
            Site::Q => Slot::PerHead(&mut self.q),
            Site::K => Slot::PerHead(&mut self.k),
            Site::V => Slot::PerHead(&mut self.v),
            Site::Scores => Slot::PerHead(&mut self.scores),
            Site::Pattern => Slot::PerHead(&mut self.pattern),
            Site::Z => Slot::PerHead(&mut self.z),
            Site::ResidPre => Slot::Rows(&mut self.resid_pre),
            Site::AttnOut => Slot::Rows(&mut self.attn_out),
            Site::ResidMid => Slot::Rows(&mut self.resid_mid),
            Site::MlpHidden => Slot::Rows(&mut self.mlp_hidden),
            Site::MlpOut => Slot::Rows(&mut self.mlp_out),
            Site::ResidPost => Slot::Rows(&mut self.resid_post),
            Site::Embed | Site::ResidFinal => return None,
        })
    }
}

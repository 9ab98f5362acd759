//! The points of the forward pass where a value can be recorded or changed.

/// A point in the forward pass where a value exists.
///
/// | site | shape |
/// |---|---|
/// | `ResidPre`, `AttnOut`, `ResidMid`, `MlpOut`, `ResidFinal` | `[n, d_model]` |
/// | `Q`, `Z` | `[heads, n, d_head]` |
/// | `K`, `V` | `[kv_heads, n, d_head]` |
/// | `Scores`, `Pattern` | `[heads, n_query, n_key]` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
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
    /// What the MLP adds to the residual stream.
    MlpOut,
    /// The stream after the last layer and the final norm.
    ResidFinal,
}

impl Site {
    /// Whether there is one value per head.
    pub const fn is_per_head(self) -> bool {
        matches!(self, Self::Q | Self::K | Self::V | Self::Scores | Self::Pattern | Self::Z)
    }
}

/// A set of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sites(u16);

impl Sites {
    /// No site: recording nothing costs nothing.
    pub const NONE: Self = Self(0);

    /// The set of these sites.
    pub const fn of(sites: &[Site]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < sites.len() {
            bits |= 1 << sites[i] as u16;
            i += 1;
        }
        Self(bits)
    }

    /// What every view needs: queries, keys, values and patterns.
    pub const fn standard() -> Self {
        Self::of(&[Site::Q, Site::K, Site::V, Site::Pattern])
    }

    /// Everything a capture can hold.
    pub const fn all() -> Self {
        use Site::{K, Pattern, Q, ResidFinal, ResidPre, Scores, V, Z};
        Self::of(&[Q, K, V, Scores, Pattern, Z, ResidPre, ResidFinal])
    }

    /// Whether the set has this site.
    pub const fn contains(self, site: Site) -> bool {
        self.0 & (1 << site as u16) != 0
    }

    /// The set with one more site.
    #[must_use]
    pub const fn with(self, site: Site) -> Self {
        Self(self.0 | 1 << site as u16)
    }
}

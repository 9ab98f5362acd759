//! Set of sites of the forward pass that are recorded, or written to a file.

use super::Site;

/// A set of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sites(u64);

impl Sites {
    /// No site: recording nothing costs nothing.
    pub const NONE: Self = Self(0);

    /// The set of these sites.
    pub const fn of(sites: &[Site]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < sites.len() {
            bits |= 1 << sites[i] as u64;
            i += 1;
        }
        Self(bits)
    }

    /// What every view needs: queries, keys, values and patterns.
    pub const fn standard() -> Self {
        Self::of(&[Site::Q, Site::K, Site::V, Site::Pattern])
    }

    /// Everything there is.
    pub const fn all() -> Self {
        Self::of(&Site::ALL)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has this site.
    pub const fn contains(self, site: Site) -> bool {
        self.0 & (1 << site as u64) != 0
    }

    /// The set with one more site.
    #[must_use]
    pub const fn with(self, site: Site) -> Self {
        Self(self.0 | 1 << site as u64)
    }

    /// The sites of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without some sites.
    #[must_use]
    pub const fn without(self, sites: &[Site]) -> Self {
        Self(self.0 & !Self::of(sites).0)
    }
}

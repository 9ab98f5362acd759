//! Attention is sparse.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, RowChange, Scope,
    codec::{Named, as_text, is_default},
    stack_prefix,
};
use crate::{
    capture::Site,
    ids::{Side, StackKind},
    options::{Visit, whole},
};

/// How far a query sees, and how large a block is, in tokens, where it is offered.
const OFFERED: usize = 4;

/// The end of the sliders; a larger number that was given widens them.
const MOST: usize = 32;

/// Queries can attend only as a sparse form of attention allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restrict {
    #[serde(rename = "sparse", with = "as_text")]
    pub to: Sparsity,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: StackKind,
    #[serde(flatten)]
    pub scope: Scope,
}

/// A form of sparse attention. A key that a mask hides stays hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparsity {
    /// Keys at most `reach` steps of `dilation` positions away (Beltagy et al. 2020); the first `n_global`
    /// tokens see all and are seen by all.
    Window {
        reach: usize,
        /// Positions in a step, at least 1.
        dilation: usize,
        /// Tokens at the beginning that take part in everything.
        n_global: usize,
    },
    /// Keys in the same segment of so many positions and in the one before, of a causal stack: what a memory of one
    /// segment shows (Transformer-XL, Dai et al. 2019), without its own form of positions.
    Segments {
        /// Positions in a segment, at least 1.
        size: usize,
    },
    /// Keys in the same block of so many positions (Child et al. 2019).
    Blocks {
        /// Positions in a block, at least 1.
        size: usize,
    },
}

impl fmt::Display for Sparsity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window { reach, dilation, n_global } => write!(f, "window:{reach}:{dilation}:{n_global}"),
            Self::Segments { size } => write!(f, "segments:{size}"),
            Self::Blocks { size } => write!(f, "blocks:{size}"),
        }
    }
}

impl Sparsity {
    /// The one that displays as `name`; dilation and global tokens may be left out.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.split(':');
        let kind = parts.next()?;
        let numbers: Vec<usize> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
        match (kind, &numbers[..]) {
            ("window", &[reach]) => Some(Self::Window { reach, dilation: 1, n_global: 0 }),
            ("window", &[reach, dilation]) => Some(Self::Window { reach, dilation, n_global: 0 }),
            ("window", &[reach, dilation, n_global]) => Some(Self::Window { reach, dilation, n_global }),
            ("segments", &[size]) => Some(Self::Segments { size }),
            ("blocks", &[size]) => Some(Self::Blocks { size }),
            _ => None,
        }
    }
}

impl Sparsity {
    /// Why it is none, in words.
    fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Window { dilation: 0, .. } => Some("a dilation is at least 1"),
            Self::Segments { size: 0 } => Some("a segment has at least one position"),
            Self::Blocks { size: 0 } => Some("a block has at least one position"),
            Self::Window { .. } | Self::Segments { .. } | Self::Blocks { .. } => None,
        }
    }

    /// Whether a query may attend to a key.
    pub const fn allows(self, query: usize, key: usize) -> bool {
        match self {
            Self::Window { reach, dilation, n_global } => {
                let distance = query.abs_diff(key);
                query < n_global
                    || key < n_global
                    || (distance.is_multiple_of(dilation) && distance / dilation <= reach)
            }
            Self::Segments { size } => key / size == query / size || key / size + 1 == query / size,
            Self::Blocks { size } => query / size == key / size,
        }
    }
}

impl Named for Sparsity {
    const WHAT: &'static str = "form such as window:4, segments:8 or blocks:8";

    fn written(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

impl fmt::Display for Restrict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}attention is restricted to {} {}", stack_prefix(self.stack), self.to, self.scope)
    }
}

impl EditKind for Restrict {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("sparse", "window:REACH, window:REACH:DILATION:GLOBAL, segments:SIZE or blocks:SIZE"),
                ("stack", "whose heads"),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "queries attend only as a sparse form of attention allows",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Stack(stack) = *aim else { return Vec::new() };
        let restrict = |to| Self { to, stack, scope: Scope::All };
        let window = restrict(Sparsity::Window { reach: OFFERED, dilation: 1, n_global: 0 });
        let near = "A query sees only its neighbours; width, dilation and global tokens are under Changes";
        let segments = "A query sees its own segment and the one before, as with a memory; its size is under Changes";
        let blocks = "A query sees only its own block; its size is under Changes";
        let synonyms = &["sparse attention", "Longformer", "sliding window", "dilation", "global tokens"];
        vec![
            EditOffer::new("Window…", near, window).synonyms(synonyms),
            EditOffer::new("Segments…", segments, restrict(Sparsity::Segments { size: OFFERED })).synonyms(&[
                "Transformer-XL",
                "segment recurrence",
                "memory",
                "cached segment",
            ]),
            EditOffer::new("Blocks…", blocks, restrict(Sparsity::Blocks { size: OFFERED })).synonyms(synonyms),
        ]
    }

    fn short(&self) -> String {
        self.to.to_string()
    }

    fn intervention(&self) -> Intervention<'_> {
        let to = self.to;
        let change = RowChange::Hide(Box::new(move |query, key| !to.allows(query, key)));
        Intervention::Rows { site: Site::Scores, extent: Extent::Stack(self.stack, &self.scope), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.scope(Some(self.stack), &self.scope)?;
        let is_causal = there.spec.stack(self.stack).is_some_and(|stack| stack.causal);
        if matches!(self.to, Sparsity::Segments { .. }) && !is_causal {
            return Err(
                "segments follow one another where no query sees a later key: the stack is not causal".to_owned()
            );
        }
        self.to.obstacle().map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        self.to.obstacle().is_none()
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        let mut number = |name, label, meaning, value: &mut usize, least| {
            let most = MOST.max(*value);
            visit(whole(name, label, meaning, value, least..=most).placeholder(name));
        };
        match &mut self.to {
            Sparsity::Window { reach, dilation, n_global } => {
                number("reach", "Steps each way", "How many steps before and behind itself a query sees", reach, 0);
                number("dilation", "Dilation", "Positions in a step; 1 leaves out none", dilation, 1);
                let meaning = "How many tokens at the beginning see all and are seen by all";
                number("global", "Global tokens", meaning, n_global, 0);
            }
            Sparsity::Segments { size } => {
                number("size", "Size of a segment", "How many tokens a segment has", size, 1);
            }
            Sparsity::Blocks { size } => number("size", "Size of a block", "How many tokens a block has", size, 1),
        }
    }
}

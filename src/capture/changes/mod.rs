//! Changes of a run, a file each. A new one is a file and its three lines here.

mod ablate;
mod adapter;
mod check;
mod codec;
mod computation;
mod direction;
mod effect;
mod expert;
mod global;
mod hide;
mod kind;
mod knockout;
mod local;
mod mask;
mod no_positions;
mod normalizer;
mod patch;
mod pattern;
mod permute;
mod rank_one;
mod replace;
mod sharpen;
mod span;
mod sparse;
mod top_k;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::Value;

use crate::{
    ids::{HeadId, Side, StackKind},
    options::FieldValues,
};

pub use ablate::{Ablate, Ablation};
pub use adapter::LeaveOutAdapter;
pub use check::EditContext;
pub use computation::{AppliedEdit, Computation, RowMass};
pub use direction::{Along, Direction, DirectionOf, MeanOf};
pub(crate) use effect::{even_out, shuffled};
pub use expert::{AblateExpert, ExpertAblation};
pub use global::SeeAll;
pub use hide::HideToken;
pub use kind::{
    EditAim, EditKind, EditOffer, EditSpec, Exclusive, Extent, Hides, Intervention, Keeps, Rest, RowChange,
};
pub use knockout::{Cut, Knockout};
pub use local::{Centre, Local};
pub use mask::MaskToken;
pub use no_positions::NoPositions;
pub use normalizer::{Normalize, Normalizer, SigmoidBias};
pub use patch::Patch;
pub use pattern::SetPattern;
pub use permute::{Order, Permute, Positions};
pub use rank_one::RankOne;
pub use replace::ReplaceToken;
pub use sharpen::Sharpen;
pub use span::AdaptiveSpan;
pub use sparse::{Restrict, Sparsity};
pub use top_k::TopK;

/// A kind of change.
pub struct RegisteredEdit {
    /// What it says of itself.
    pub spec: fn() -> &'static EditSpec,
    offers: fn(&EditAim<'_>) -> Vec<EditOffer>,
    read: fn(Value) -> Result<Edit, serde_json::Error>,
}

/// Makes of kinds the type of every change and the list of them, in the order in which they are offered.
macro_rules! changes {
    ($($name:ident),* $(,)?) => {
        /// A change of the forward pass. Everything downstream follows, gradients included.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Edit {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        /// Every kind of change, in the order in which they are offered.
        pub const KINDS: &[RegisteredEdit] = &[
            $(RegisteredEdit {
                spec: <$name as EditKind>::spec,
                offers: <$name as EditKind>::offers,
                read: |json| serde_json::from_value::<$name>(json).map(Edit::$name),
            },)*
        ];

        $(impl From<$name> for Edit {
            fn from(change: $name) -> Self {
                Self::$name(change)
            }
        })*

        impl Edit {
            /// What its kind knows of it.
            pub fn kind(&self) -> &dyn EditKind {
                match self { $(Self::$name(change) => change,)* }
            }

            /// The same, to change it.
            pub fn kind_mut(&mut self) -> &mut dyn EditKind {
                match self { $(Self::$name(change) => change,)* }
            }
        }

        impl Serialize for Edit {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let json = match self { $(Self::$name(change) => serde_json::to_value(change),)* };
                json.map_err(S::Error::custom)?.serialize(to)
            }
        }
    };
}

changes! {
    Ablate,
    SetPattern,
    Sharpen,
    HideToken,
    SeeAll,
    ReplaceToken,
    MaskToken,
    NoPositions,
    Permute,
    Knockout,
    Normalize,
    Restrict,
    Local,
    AdaptiveSpan,
    TopK,
    AblateExpert,
    LeaveOutAdapter,
    RankOne,
    Direction,
    Patch,
}

impl<'de> Deserialize<'de> for Edit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_json(&Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl fmt::Display for Edit {
    /// What is different, as a clause: `head L3H5: output set to 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl Edit {
    /// The change that JSON describes.
    ///
    /// # Errors
    /// Names what this version does not know: the kind, a field, or its value.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let names = || KINDS.iter().map(|kind| (kind.spec)().name());
        let fields = json.as_object().ok_or_else(|| "a change is an object such as {\"hide\": 4}".to_owned())?;
        let Some(kind) = KINDS.iter().find(|kind| fields.contains_key((kind.spec)().name())) else {
            let (given, known) = (fields.keys().next().map_or("", String::as_str), names().collect::<Vec<_>>());
            return Err(format!("there is no change “{given}”; changes begin with one of {}", known.join(", ")));
        };
        let spec = (kind.spec)();
        let is_known = |name: &str| spec.fields.iter().any(|(known, _)| *known == name);
        if let Some(unknown) = fields.keys().find(|name| !is_known(name)) {
            let known: Vec<_> = spec.fields.iter().map(|(name, _)| *name).collect();
            return Err(format!("{} takes {}, not “{unknown}”", spec.name(), known.join(", ")));
        }
        (kind.read)(json.clone()).map_err(|error| format!("{}: {error}", spec.name()))
    }

    /// What Changes offers where something is pointed at.
    pub fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        KINDS.iter().flat_map(|kind| (kind.offers)(aim)).collect()
    }

    /// Whether each would undo the other, so that a run can be made with one of them alone.
    pub fn contradicts(&self, other: &Self) -> bool {
        let exclusive = self.kind().exclusive();
        exclusive.is_some() && exclusive == other.kind().exclusive()
    }

    /// Whether it is the other change after a number was dragged, or cells were drawn on.
    pub fn is_turned(&self, other: &Self) -> bool {
        let mut numbers = FieldValues::new();
        let mut turned = self.clone();
        turned.kind_mut().options(&mut |field| drop(numbers.insert(field.name.to_owned(), field.value.value())));
        turned.clone_from(other);
        turned.kind_mut().options(&mut |mut field| {
            if let Some(value) = numbers.get(field.name) {
                // A number that the other has no place for is another change.
                let _ = field.set(value);
            }
        });
        turned == *self || self.kind().is_redrawn(other)
    }
}

/// Where a change applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    #[default]
    All,
    /// In all heads of these layers.
    Layers(Vec<usize>),
    Heads(Vec<HeadId>),
}

/// A stack's name in front of a layer or site, where it is not the model's only one.
pub(crate) fn stack_prefix(stack: StackKind) -> String {
    if stack == StackKind::SelfAttention { String::new() } else { format!("{stack}.") }
}

/// A head with its stack, where it is not the model's only one: `cross.L2H1`.
pub(crate) fn head_name(head: HeadId) -> String {
    format!("{}{head}", stack_prefix(head.stack))
}

/// A token in a clause.
fn token_name(side: Side, position: usize) -> String {
    match side {
        Side::Only => format!("token {position}"),
        Side::Encoder | Side::Decoder | Side::Vision | Side::Text | Side::Sentences | Side::Chosen => {
            format!("token {position} of the side {}", side.name())
        }
    }
}

/// Numbers in a clause.
fn listed(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

impl Scope {
    /// Whether it has this head.
    pub fn contains(&self, head: HeadId) -> bool {
        match self {
            Self::All => true,
            Self::Layers(layers) => layers.contains(&head.layer),
            Self::Heads(heads) => heads.contains(&head),
        }
    }

    /// Whether it has a head of this layer.
    pub fn touches(&self, stack: StackKind, layer: usize) -> bool {
        match self {
            Self::All => true,
            Self::Layers(layers) => layers.contains(&layer),
            Self::Heads(heads) => heads.iter().any(|head| head.stack == stack && head.layer == layer),
        }
    }
}

impl fmt::Display for Scope {
    /// `everywhere`, `in layers 2, 3`, `in heads L0H1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| items.join(", ");
        match self {
            Self::All => f.write_str("everywhere"),
            Self::Layers(layers) => {
                let s = if layers.len() == 1 { "" } else { "s" };
                write!(f, "in layer{s} {}", list(layers.iter().map(usize::to_string).collect()))
            }
            Self::Heads(heads) => {
                let s = if heads.len() == 1 { "" } else { "s" };
                write!(f, "in head{s} {}", list(heads.iter().map(|head| head_name(*head)).collect()))
            }
        }
    }
}

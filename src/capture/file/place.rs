//! Names of tensors in capture files, and what they mean.

use super::FileError;
use crate::{
    capture::{Bend, Per, Site},
    ids::{Side, StackKind},
};

/// Where a tensor belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TensorSlot {
    Layer {
        stack: StackKind,
        layer: usize,
        what: What,
    },
    Stack {
        stack: StackKind,
        site: Site,
    },
    /// Which tokens see all.
    Global(StackKind),
    /// What a sequence has.
    Sequence {
        side: Side,
        site: Site,
    },
    Logits,
    Picture,
}

/// The name of the picture that a vision model saw.
pub(super) const PICTURE: &str = "picture";

/// What was recorded in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A point of the forward pass.
    Site(Site),
    /// What is added to the scaled scores.
    Bias,
    /// What of each row went to a learned sink.
    Sink,
    /// Keys that the queries of global tokens meet.
    GlobalKeys,
    GlobalValues,
    /// How it scores, where that is no product.
    Scorer(Bend),
}

impl What {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bias" => Self::Bias,
            "sink" => Self::Sink,
            "k_global" => Self::GlobalKeys,
            "v_global" => Self::GlobalValues,
            name => match Bend::from_name(name) {
                Some(bend) => Self::Scorer(bend),
                None => Self::Site(Site::from_name(name).filter(|site| site.is_of_layer())?),
            },
        })
    }
}

/// Which input a name belongs to, and what it is there; `None` for names that mean nothing to us.
pub(super) fn place(name: &str) -> (Option<usize>, Option<TensorSlot>) {
    let (input, name) = numbered(name);
    match name {
        "logits" => return (input, Some(TensorSlot::Logits)),
        PICTURE => return (input, Some(TensorSlot::Picture)),
        _ => {}
    }
    let parts: Vec<&str> = name.splitn(4, '.').collect();
    let place = match parts[..] {
        [stack, "global"] => StackKind::from_name(stack).map(TensorSlot::Global),
        [of, site] => Site::from_name(site).and_then(|site| match site.spec().per {
            Per::Stack => StackKind::from_name(of).map(|stack| TensorSlot::Stack { stack, site }),
            Per::Sequence => Side::from_name(of).map(|side| TensorSlot::Sequence { side, site }),
            Per::Layer => None,
        }),
        [stack, layer, what] => StackKind::from_name(stack).and_then(|stack| {
            Some(TensorSlot::Layer { stack, layer: layer.parse().ok()?, what: What::from_name(what)? })
        }),
        _ => None,
    };
    (input, place)
}

/// The number of the input that a name belongs to, if it has one, and the rest.
fn numbered(name: &str) -> (Option<usize>, &str) {
    let numbered = name.strip_prefix("input").and_then(|rest| rest.split_once('/'));
    match numbered.map(|(number, rest)| (number.parse().ok(), rest)) {
        Some((Some(number), rest)) => (Some(number), rest),
        _ => (None, name),
    }
}

/// Whether a name is that of a picture.
pub(super) fn is_picture(name: &str) -> bool {
    numbered(name).1 == PICTURE
}

/// A name is shown and may become part of a file name elsewhere: nothing that leads out of a folder.
pub(super) fn check_name(name: &str) -> Result<(), FileError> {
    let path_like = name.starts_with('/') || name.contains("..") || name.contains('\\');
    if path_like { Err(FileError::tensor(name, "has a name that looks like a path")) } else { Ok(()) }
}

//! Scope of the options of methods, and options that several methods have.
//!
//! The window, figures and the command line read the options of a method off its visitor ([`Visit`]); none of them knows
//! a method.

use std::sync::Arc;

pub use crate::options::{FieldValue, FieldValues, OptionField, Visit, choose, joined, real, split_texts, whole};

use super::LabFocus;
use crate::{
    capture::Capture,
    ids::{HeadId, StackKind},
};

/// What options depend on beside the method.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Last layer of the deepest stack.
    pub last_layer: usize,
    /// Selected head within its layer.
    pub head: usize,
    /// Run of the other direction, where there is one.
    pub reverse: Option<&'a Arc<Capture>>,
    /// Whether flags of the command line are made of the options: heads and positions are options there, and a
    /// selection in the window.
    pub command_line: bool,
}

impl Scope<'_> {
    /// Of the command line, before any model is known.
    pub const COMMAND_LINE: Self = Self { last_layer: usize::MAX - 1, head: 0, reverse: None, command_line: true };
}

impl<'a> From<&LabFocus<'a>> for Scope<'a> {
    fn from(focus: &LabFocus<'a>) -> Self {
        let stacks = &focus.capture.model().stacks;
        let last_layer = stacks.iter().map(|stack| stack.layers.len()).max().unwrap_or(1).saturating_sub(1);
        Self { last_layer, head: focus.head.head, reverse: focus.reverse, command_line: false }
    }
}

/// The start of random numbers.
pub(super) const fn seed(seed: &mut u64) -> OptionField<'_> {
    let meaning = "Start of the random numbers: the same seed gives the same result";
    OptionField::new("seed", "Seed", meaning, FieldValue::Seed(seed))
}

/// A step between positions: a long text takes long.
pub(super) const fn every(value: &mut usize) -> OptionField<'_> {
    let meaning = "1: every position; 16: every 16th, coarser and 16 times faster";
    whole("every", "Positions apart", meaning, value, 1..=512)
}

/// How many layers are changed together.
pub(super) const fn layers_together<'a>(
    meaning: &'static str,
    value: &'a mut usize,
    scope: &Scope<'_>,
) -> OptionField<'a> {
    OptionField::new("window", "In layers", meaning, FieldValue::OfModel(value, 1..=scope.last_layer + 1))
}

/// The first layer that counts.
pub(super) const fn first_layer<'a>(layer: &'a mut usize, scope: &Scope<'_>) -> OptionField<'a> {
    let range = FieldValue::OfModel(layer, 0..=scope.last_layer);
    OptionField::new("start", "From layer", "Layers before this one are left out", range)
}

/// A layer, or the last of each stack.
pub(super) const fn layer_or_last<'a>(
    layer: &'a mut Option<usize>,
    meaning: &'static str,
    scope: &Scope<'_>,
) -> OptionField<'a> {
    OptionField::new("layer", "Layer", meaning, FieldValue::Layer(layer, scope.last_layer))
}

/// A position, or none, by a flag of the command line.
pub(super) fn read_position(
    visit: &mut Visit<'_>,
    (name, label, meaning): (&'static str, &'static str, &'static str),
    slot: &mut Option<usize>,
) {
    let mut read = |text: &str| {
        *slot = Some(text.parse().map_err(|_| format!("{name} is a whole number: {text} was given"))?);
        Ok(())
    };
    visit(OptionField::new(name, label, meaning, FieldValue::Read(&mut read, "N")));
}

/// An attention stack, by a flag of the command line.
pub(super) fn read_stack(visit: &mut Visit<'_>, meaning: &'static str, slot: &mut Option<StackKind>) {
    let mut read = |text: &str| {
        let names = || StackKind::ALL.map(StackKind::name).join(", ");
        *slot =
            Some(StackKind::from_name(text).ok_or_else(|| format!("stack is one of {}: {text} was given", names()))?);
        Ok(())
    };
    visit(OptionField::new("stack", "Stack", meaning, FieldValue::Read(&mut read, "STACK")));
}

/// A head that has to be named, by flags of the command line.
pub(super) fn read_head(visit: &mut Visit<'_>, head: &mut HeadId) {
    let mut stack = None;
    read_stack(visit, "Attention stack, where there are several", &mut stack);
    head.stack = stack.unwrap_or(head.stack);
    for (name, meaning, slot) in
        [("layer", "The layer", &mut head.layer), ("head", "The head of the layer", &mut head.head)]
    {
        read_number(visit, name, meaning, slot);
    }
}

/// A number that has to be given, by a flag of the command line.
pub(super) fn read_number(visit: &mut Visit<'_>, name: &'static str, meaning: &'static str, slot: &mut usize) {
    let mut read = |text: &str| {
        *slot = text.parse().map_err(|_| format!("{name} is a whole number: {text} was given"))?;
        Ok(())
    };
    visit(OptionField::new(name, name, meaning, FieldValue::Read(&mut read, "N")).required());
}

//! A method of the lab: its parts, and how it is offered.

use std::{borrow::Cow, fmt, sync::Arc};

use serde_json::Value;

use super::{
    LabError, LabRun, MethodCall, Target,
    aim::predicted_side,
    options::{FieldValues, Scope, Visit},
};
use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec, Report},
    capture::Capture,
    ids::{HeadId, Side},
};

/// Options by name as a report tells them.
pub type Parameters = Vec<(&'static str, Value)>;

/// A method: a value is its options, and so a question that can be asked.
pub trait Method: Clone + fmt::Debug + PartialEq + Into<MethodCall> {
    /// What it says of itself.
    const SPEC: &'static MethodSpec;
    /// How the window offers it.
    const COLUMNS: &'static [MethodPreset];

    /// The options that the command line begins with.
    fn begin() -> Self;

    /// Shows every option to `visit`, which may change it.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>);

    /// Every option with its value, defaults included. What the method itself chooses is told with the answer.
    fn parameters(&self) -> Parameters;

    /// Answers the question about an output.
    ///
    /// # Errors
    /// When the question does not suit the model or the input, a run fails, or somebody says stop.
    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError>;
}

/// Capture, head and tokens that a method is called for.
#[derive(Clone, Copy, Debug)]
pub struct LabFocus<'a> {
    /// The run that is explained.
    pub capture: &'a Capture,
    /// The selected head.
    pub head: HeadId,
    /// The pinned query of its stack.
    pub query: Option<usize>,
    /// The pinned key of its stack.
    pub key: Option<usize>,
    /// A run that reads what this one writes, and writes what this one reads.
    pub reverse: Option<&'a Arc<Capture>>,
}

impl LabFocus<'_> {
    /// The pinned token of a side.
    pub(super) fn held(&self, side: Side) -> Option<usize> {
        let stack = self.head.stack;
        let query = self.query.filter(|_| stack.query_side() == side);
        query.or_else(|| self.key.filter(|_| stack.key_side() == side))
    }

    /// The side that is read before anything is predicted.
    pub(super) fn read_side(&self) -> Side {
        let encodes = !self.capture.tokens(Side::Encoder).is_empty();
        if encodes { Side::Encoder } else { predicted_side(self.capture) }
    }
}

/// Why a method cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRefusal {
    /// In the window: why not, or what to click first.
    pub why: Cow<'static, str>,
    /// The same on the command line, where an option says what a click does.
    pub on_command_line: Cow<'static, str>,
}

impl MethodRefusal {
    /// It does not apply to this model, input or head.
    pub(super) fn unsuited(why: impl Into<Cow<'static, str>>) -> Self {
        let why = why.into();
        Self { why: why.clone(), on_command_line: why }
    }

    /// Something is missing: a click, or an option.
    pub(super) const fn without(click: &'static str, option: &'static str) -> Self {
        Self { why: Cow::Borrowed(click), on_command_line: Cow::Borrowed(option) }
    }
}

/// A method as it is shown: some are there several times, with other options.
#[derive(Clone, Copy, Debug)]
pub struct MethodPreset {
    /// Its name in files and on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub method: &'static MethodSpec,
    /// Whether it is there until somebody takes it away; others take long or repeat what is there.
    pub starts: bool,
    /// The question about what is looked at, with the options that it begins with.
    pub ask: fn(&LabFocus<'_>) -> Result<MethodCall, MethodRefusal>,
}

impl PartialEq for MethodPreset {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl MethodPreset {
    /// Every column, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        super::methods::ALL.iter().flat_map(|method| method.columns)
    }

    /// The columns under a question.
    pub fn under(question: LabQuestion) -> impl Iterator<Item = &'static Self> {
        Self::all().filter(move |column| column.method.question == question)
    }

    /// The column with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        Self::all().find(|column| column.name == name)
    }

    /// The question with the options that were changed.
    ///
    /// # Errors
    /// When the method has nothing to say about what is looked at, or an option is out of its range.
    pub fn ask(&self, focus: &LabFocus<'_>, changed: &FieldValues) -> Result<MethodCall, MethodRefusal> {
        let mut call = (self.ask)(focus)?;
        call.change(changed, &focus.into()).map_err(MethodRefusal::unsuited)?;
        Ok(call)
    }
}

//! What stands side by side under a question: methods with the options that they begin with. A method that is
//! listed here is in the window, in figures and on the command line.

use std::sync::Arc;

use super::{
    Ask, Depth, EdgeOptions, FaithfulnessOptions, LeaveOut, MaskingOptions, Of, RewriteOptions, Rule, Subject,
    TraceOptions, aim::predicted_side, defaults, knobs::Settings,
};
use crate::{
    analysis::explain::{alignment::Setting, report::Question, rollout::RolloutOptions},
    capture::{Ablation, Capture},
    ids::{HeadId, Side, StackKind},
};

/// What is looked at while something is asked.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The run that is explained.
    pub capture: &'a Capture,
    /// The head that is looked at.
    pub head: HeadId,
    /// The query of its stack that is held.
    pub query: Option<usize>,
    /// The key of its stack that is held.
    pub key: Option<usize>,
    /// A run that reads what this one writes, and writes what this one reads.
    pub reverse: Option<&'a Arc<Capture>>,
}

impl Sight<'_> {
    /// The token of a side that is held.
    fn held(&self, side: Side) -> Option<usize> {
        let stack = self.head.stack;
        let query = self.query.filter(|_| stack.query_side() == side);
        query.or_else(|| self.key.filter(|_| stack.key_side() == side))
    }

    /// The side that is read before anything is predicted.
    fn read_side(&self) -> Side {
        let encodes = !self.capture.tokens(Side::Encoder).is_empty();
        if encodes { Side::Encoder } else { predicted_side(self.capture) }
    }
}

/// Why a method is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unasked {
    /// In the window: why not, or what to click first.
    pub why: &'static str,
    /// The same on the command line, where an option says what a click does.
    pub on_command_line: &'static str,
}

impl Unasked {
    /// It has nothing to say about what is looked at.
    const fn unsuited(why: &'static str) -> Self {
        Self { why, on_command_line: why }
    }

    /// It waits for something: for a click, or for an option.
    const fn without(click: &'static str, option: &'static str) -> Self {
        Self { why: click, on_command_line: option }
    }
}

/// A method as it is shown: some are there several times, with other options.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// What stands above it.
    pub title: &'static str,
    /// The question that it answers.
    pub question: Question,
    /// Whether it is there until somebody takes it away; others take long or repeat what is there.
    pub starts: bool,
    ask: fn(&Sight<'_>) -> Result<Ask, Unasked>,
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Whether layers of one text follow each other on the side that is predicted.
fn has_layers(sight: &Sight<'_>) -> bool {
    let side = predicted_side(sight.capture);
    let own = |kind: StackKind| kind.query_side() == kind.key_side() && kind.query_side() == side;
    sight.capture.model().stacks.iter().any(|stack| own(stack.kind))
}

const NO_LAYERS: &str = "its only attention goes from one sequence to another, so layers cannot be multiplied";

fn of_text(sight: &Sight<'_>, ask: Ask) -> Result<Ask, Unasked> {
    if sight.capture.image().is_some() {
        Err(Unasked::unsuited("patches of a picture can only be hidden"))
    } else {
        Ok(ask)
    }
}

impl Column {
    /// Every column, in the order in which they are shown.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "attention",
            title: "Attention",
            question: Question::Depends,
            starts: true,
            ask: |_| Ok(Ask::Attention { layer: None, head: None }),
        },
        Self {
            name: "rollout",
            title: "Rollout",
            question: Question::Depends,
            starts: true,
            ask: |sight| {
                if has_layers(sight) {
                    Ok(Ask::Rollout(RolloutOptions::default()))
                } else {
                    Err(Unasked::unsuited(NO_LAYERS))
                }
            },
        },
        Self {
            name: "flow",
            title: "Flow",
            question: Question::Depends,
            starts: false,
            ask: |sight| {
                let ask = Ask::Flow { query: None, options: RolloutOptions::default() };
                if has_layers(sight) { Ok(ask) } else { Err(Unasked::unsuited(NO_LAYERS)) }
            },
        },
        Self {
            name: "relevance",
            title: "Relevance",
            question: Question::Depends,
            starts: true,
            ask: |_| Ok(Ask::Relevance { rule: Rule::Gradient, start_layer: 0 }),
        },
        Self {
            name: "gradients",
            title: "Gradient",
            question: Question::Depends,
            starts: true,
            ask: |_| Ok(Ask::Gradients { of: Of::Input, times_input: defaults::TIMES_INPUT, steps: None }),
        },
        Self {
            name: "integrated",
            title: "Integrated gradients",
            question: Question::Depends,
            starts: true,
            ask: |_| {
                let steps = Some(defaults::PATH_STEPS);
                Ok(Ask::Gradients { of: Of::Input, times_input: defaults::TIMES_INPUT, steps })
            },
        },
        Self {
            name: "hidden",
            title: "If hidden",
            question: Question::Depends,
            starts: true,
            ask: |_| Ok(Ask::LeaveOneOut { by: LeaveOut::Hide }),
        },
        Self {
            name: "masked",
            title: "If masked",
            question: Question::Depends,
            starts: false,
            ask: |sight| of_text(sight, Ask::LeaveOneOut { by: LeaveOut::Mask }),
        },
        Self {
            name: "deleted",
            title: "If deleted",
            question: Question::Depends,
            starts: true,
            ask: |sight| of_text(sight, Ask::LeaveOneOut { by: LeaveOut::Delete }),
        },
        Self {
            name: "masks",
            title: "Smallest mask",
            question: Question::Depends,
            starts: false,
            ask: |_| Ok(Ask::Masks(MaskingOptions::new(Depth::Embeddings))),
        },
        Self {
            name: "ablation",
            title: "Head ablation",
            question: Question::Believe,
            starts: true,
            ask: |_| Ok(Ask::Ablation(Ablation::Zero)),
        },
        Self {
            name: "faithfulness",
            title: "Faithfulness of this head",
            question: Question::Believe,
            starts: true,
            ask: |sight| {
                let HeadId { stack, layer, head } = sight.head;
                Ok(Ask::Faithfulness(FaithfulnessOptions {
                    stack: Some(stack),
                    layer: Some(layer),
                    head: Some(head),
                    ..defaults::FAITHFULNESS
                }))
            },
        },
        Self {
            name: "normalizers",
            title: "Sparser normalisers",
            question: Question::Believe,
            starts: true,
            ask: |_| Ok(Ask::Normalizers { alpha: defaults::ALPHA }),
        },
        Self {
            name: "norms",
            title: "Norm-based attention",
            question: Question::Moves,
            starts: true,
            ask: |_| Ok(Ask::Norms),
        },
        Self {
            name: "effective",
            title: "Effective attention",
            question: Question::Moves,
            starts: true,
            ask: |_| Ok(Ask::Effective),
        },
        Self {
            name: "edges",
            title: "Why this edge",
            question: Question::Moves,
            starts: true,
            ask: |sight| {
                let (Some(query), Some(key)) = (sight.query, sight.key) else {
                    return Err(Unasked::without(
                        "pin a query and a key in another view: the score between them is decomposed",
                        "name a query and a key with --query and --key: the score between them is decomposed",
                    ));
                };
                Ok(Ask::Edges(EdgeOptions::of(sight.head, query, key)))
            },
        },
        Self {
            name: "lens",
            title: "Logit lens",
            question: Question::Fact,
            starts: true,
            ask: |_| Ok(Ask::Lens { n_top: defaults::TOP }),
        },
        Self {
            name: "dla",
            title: "Direct logit attribution",
            question: Question::Fact,
            starts: true,
            ask: |_| Ok(Ask::DirectLogits),
        },
        Self {
            name: "trace",
            title: "Causal tracing",
            question: Question::Fact,
            starts: true,
            ask: |sight| {
                let held = sight.held(sight.read_side());
                let held = held.ok_or(Unasked::without(
                    "pin a token: it is corrupted by noise, then restored layer by layer",
                    "name a token with --query: it is corrupted by noise, then restored layer by layer",
                ))?;
                Ok(Ask::Trace(TraceOptions::of(Subject::Positions(held..held + 1))))
            },
        },
        Self {
            name: "knockout",
            title: "Attention knockout",
            question: Question::Fact,
            starts: true,
            ask: |_| Ok(Ask::Knockout(defaults::KNOCKOUT)),
        },
        Self {
            name: "ff",
            title: "Feed-forward memories",
            question: Question::Fact,
            starts: true,
            ask: |_| Ok(Ask::Memories { layer: None, n_top: defaults::TOP }),
        },
        Self {
            name: "rank-one",
            title: "Rank-one edit",
            question: Question::Fact,
            starts: false,
            ask: |sight| {
                let held = sight.held(sight.read_side());
                let held = held.ok_or(Unasked::without(
                    "pin the last token of a subject: the edit changes what is written about it",
                    "name the last token of a subject with --query: the edit changes what is written about it",
                ))?;
                let options = RewriteOptions::of(Subject::Positions(held..held + 1), None);
                Ok(Ask::RankOne(RewriteOptions { layer: Some(sight.head.layer), ..options }))
            },
        },
        Self {
            name: "alignment",
            title: "Word alignment",
            question: Question::Aligns,
            starts: true,
            ask: |sight| {
                let crosses = sight.capture.stack(StackKind::Cross).is_some_and(|stack| !stack.layers.is_empty());
                let ask = Ask::Alignment { setting: Setting::Output, gold: None, reverse: None };
                let why = "word alignment needs attention from one text to another";
                if crosses { Ok(ask) } else { Err(Unasked::unsuited(why)) }
            },
        },
    ];

    /// The column with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|column| column.name == name)
    }

    /// What is asked, with the options that were turned; why it cannot be asked otherwise.
    ///
    /// # Errors
    /// When the method has nothing to say about what is looked at.
    pub fn ask(&self, sight: &Sight<'_>, turned: &Settings) -> Result<Ask, Unasked> {
        let mut ask = (self.ask)(sight)?;
        ask.turn(turned, sight);
        Ok(ask)
    }
}

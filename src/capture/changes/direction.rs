//! Rows of a site are moved along a direction.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditContext, EditKind, EditSpec, Extent, Intervention, RowChange,
    codec::{Named, as_text, place_of_site, site_name},
    listed, stack_prefix,
};
use crate::{
    capture::Site,
    ids::StackKind,
    options::{Visit, real},
};

/// Ends of the range of a factor; one that was given beyond them widens it.
const MOST_TIMES: f64 = 4.0;

/// Rows of a site are moved along a direction, such as the difference of the means of two sets of inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "DirectionJson", try_from = "DirectionJson")]
pub struct Direction {
    /// Where; a site without heads.
    pub site: Site,
    /// Which stack; of [`Site::Embed`], the one that its sequence enters.
    pub stack: StackKind,
    /// Layer, from 0; not used by `Embed` and `ResidFinal`.
    pub layer: usize,
    /// Which rows; all where none are named.
    pub positions: Vec<usize>,
    /// The direction, as wide as the site.
    pub vector: Vec<f32>,
    pub along: Along,
    /// What it is the difference of, where that is known.
    pub of: Option<DirectionOf>,
}

/// What is done with a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Along {
    /// It is added so many times: `x + factor · d`.
    Add(f32),
    /// What lies along it is taken away: `x − (x · d / ‖d‖²) d`.
    Remove,
}

impl Along {
    /// Shows the factor to `visit`.
    pub fn options(&mut self, visit: &mut Visit<'_>) {
        let Self::Add(factor) = self else { return };
        let mut times = f64::from(*factor);
        let most = MOST_TIMES.max(times.abs());
        let meaning = "1 is the difference of the two means; 0 changes nothing, and below 0 it leads the other way";
        visit(real("add", "Factor of the direction", meaning, &mut times, -most..=most).placeholder("×"));
        *factor = times as f32;
    }
}

/// What a mean over several inputs is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeanOf {
    /// All tokens of all inputs, each as much as any other, so that a long text weighs more.
    #[default]
    All,
    /// The same without special tokens.
    Words,
    /// The means of the tokens of each input, without special ones, so that every input weighs the same.
    Texts,
    /// The last token of each input, special or not: where a decoder says how it goes on.
    Last,
}

vocabulary! {
    MeanOf: name,
    /// What it is, in words.
    words;
    Words("words", "all tokens but special ones"),
    All("all", "all tokens"),
    Texts("texts", "mean of each text"),
    Last("last", "last token"),
}

/// The two sets of inputs between which a direction leads, and over what their means are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionOf {
    pub plus: String,
    /// What it leads away from.
    pub minus: String,
    #[serde(with = "as_text")]
    pub mean: MeanOf,
}

impl fmt::Display for DirectionOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plus, minus, mean } = self;
        write!(f, "the direction from {minus} to {plus} ({})", mean.words())
    }
}

impl Named for MeanOf {
    const WHAT: &'static str = "mean; it is words, all, texts or last";

    fn written(&self) -> String {
        self.name().to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

#[derive(Serialize, Deserialize)]
struct DirectionJson {
    direction: String,
    vector: Vec<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    add: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remove: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    positions: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<DirectionOf>,
}

impl From<Direction> for DirectionJson {
    fn from(Direction { site, stack, layer, positions, vector, along, of }: Direction) -> Self {
        let (add, remove) = match along {
            Along::Add(factor) => (Some(factor), None),
            Along::Remove => (None, Some(true)),
        };
        Self { direction: site_name(stack, site, layer, None), vector, add, remove, positions, of }
    }
}

impl TryFrom<DirectionJson> for Direction {
    type Error = String;

    fn try_from(
        DirectionJson { direction, vector, add, remove, positions, of }: DirectionJson,
    ) -> Result<Self, String> {
        let along = match (add, remove) {
            (Some(factor), None) => Along::Add(factor),
            (None, Some(true)) => Along::Remove,
            (Some(_), Some(_)) | (None, Some(false) | None) => {
                return Err("give a number to add, or say that remove is true".to_owned());
            }
        };
        match place_of_site(&direction)? {
            (stack, site, layer, None) if !site.is_per_head() => {
                Ok(Self { site, stack, layer, positions, vector, along, of })
            }
            _ => Err(format!("“{direction}” is of heads: a direction belongs to the residual stream or an MLP")),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, stack, layer, positions, along, of, .. } = self;
        let rows = if positions.is_empty() { String::new() } else { format!(" at {}", listed(positions)) };
        let place = format!("{}{}", stack_prefix(*stack), site.in_words(*layer, None));
        let what = of.as_ref().map_or_else(|| "a direction".to_owned(), ToString::to_string);
        match along {
            Along::Add(factor) => write!(f, "{place}: {factor} × {what} added{rows}"),
            Along::Remove => write!(f, "{place}: {what} projected out{rows}"),
        }
    }
}

impl EditKind for Direction {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("direction", "site without heads and layer, such as resid_post.L3"),
                ("vector", "as many numbers as the site is wide"),
                ("add", "how many times it is added"),
                ("remove", "true, to project it out instead"),
                ("positions", "which rows; all where nothing is said"),
                ("of", "names of the two sets of inputs, plus and minus, and their mean"),
            ],
            meaning: "rows of a site are moved along a direction, as attnscope direction writes it",
        }
    }

    fn short(&self) -> String {
        match self.along {
            Along::Add(factor) => format!("{factor} × direction"),
            Along::Remove => "direction removed".to_owned(),
        }
    }

    fn intervention(&self) -> Intervention<'_> {
        let Self { site, stack, layer, positions, vector, along, .. } = self;
        let change = RowChange::Move(positions, vector, *along);
        Intervention::Rows { site: *site, extent: Extent::Layer(*stack, *layer, None), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { site, stack, layer, vector, along, .. } = self;
        if site.is_per_head() || site.is_of_pairs() {
            return Err(format!(
                "“{self}” names a site of heads: a direction belongs to the residual stream or an MLP"
            ));
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(format!("“{self}” holds values that are not finite"));
        }
        match along {
            Along::Remove if vector.iter().all(|value| *value == 0.0) => {
                Err(format!("“{self}”, but the direction is 0 everywhere, so there is nothing to project out"))
            }
            Along::Add(factor) if !factor.is_finite() => {
                Err(format!("a direction is added a finite number of times, not {factor}"))
            }
            Along::Add(_) | Along::Remove => there.site(*site, *stack, *layer, None),
        }
    }

    fn is_of_tokens(&self) -> bool {
        !self.positions.is_empty()
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        self.along.options(visit);
    }
}

//! From what a person asks for to figures and numbers: the same for the window and for the command line.

mod files;
mod planes;
mod record;
mod resolved;
mod scenes;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{
        PointCloud,
        debate::CorpusDebate,
        probe::CorpusProbe,
        reading::{Aggregate, Captures, Reading, Whose},
        sae::CorpusFeatures,
        timing::Timing,
    },
    ids::StackKind,
};

use super::{
    About, CaptionKind, Captions, FontSource, Page, Sheet, Typesetter, ViewKind, ViewOptions,
    data::Table,
    page::SIDE_PT,
    palette::Palette,
    views::{Study, lab::Answered},
    write::{SvgText, WriteError},
};

pub use files::{Drawing, draw, provenance};
pub use planes::refined;
pub(super) use record::plain;
pub use resolved::{OnePattern, ResolvedSpec, names_of, no_picture};
pub use scenes::{NamedScene, all};

/// What is to be drawn of a capture, and how. The numbers behind it are those that are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSpec {
    pub view: ViewKind,
    /// The stack; the one that the view is most about when not given.
    pub stack: Option<StackKind>,
    /// Layers; what suits the view when empty.
    pub layers: Vec<usize>,
    /// Heads of each layer; what suits the view when empty.
    pub heads: Vec<usize>,
    /// The query token that is held.
    pub query: Option<usize>,
    /// The key token that is held.
    pub key: Option<usize>,
    /// What is left out, merged and how rows are called; which heads it is of is said above.
    pub reading: Reading,
    /// All heads taken together.
    pub together: Option<Aggregate>,
    pub minus: Option<Subtrahend>,
    /// Options of the views, of which the one that is drawn reads its own and those that are shared; how patterns are
    /// read stands above, as it follows from what is drawn.
    pub options: ViewOptions,
    /// Columns and rows of a sheet that holds all figures.
    pub sheet: Option<[usize; 2]>,
    /// Of what there is a figure each.
    pub each: Each,
    pub paper: Paper,
}

impl FigureSpec {
    /// Whether all figures stand on one sheet.
    pub const fn is_sheet(&self) -> bool {
        self.sheet.is_some() || self.each.query
    }
}

/// A head that is subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtrahend {
    /// Its stack; the one that is drawn when not given.
    pub stack: Option<StackKind>,
    pub layer: usize,
    pub head: usize,
    pub of: Whose,
}

/// Of what there is a figure each, where there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each {
    pub layer: bool,
    pub head: bool,
    /// Of pictures: each word that is written or read, all on one sheet.
    pub query: bool,
}

/// Size and look of a figure, remembered between runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Paper {
    /// Light text on a dark ground instead of dark on light.
    pub dark: bool,
    /// In points; what suits the scene when not given.
    #[serde(rename = "width_pt")]
    pub width: Option<f32>,
    /// In points; what suits the scene when not given.
    #[serde(rename = "height_pt")]
    pub height: Option<f32>,
    /// Whether a PDF that is higher than a page is cut into several.
    pub pages: bool,
    /// Pixels per point of a PNG.
    pub scale: f32,
    pub caption: CaptionKind,
    /// How an SVG holds its text.
    pub svg_text: SvgText,
    pub fonts: FontSource,
}

impl Default for Paper {
    fn default() -> Self {
        Self {
            dark: false,
            width: None,
            height: None,
            pages: false,
            scale: Self::SCALE,
            caption: CaptionKind::default(),
            svg_text: SvgText::default(),
            fonts: FontSource::default(),
        }
    }
}

impl Paper {
    /// Pixels per point of a PNG when nothing else is said: 288 to the inch.
    pub const SCALE: f32 = 4.0;

    /// The page.
    ///
    /// # Errors
    /// When a side makes no figure.
    pub fn page(&self) -> Result<Page, FigureError> {
        for (name, side) in [("width", self.width), ("height", self.height)] {
            if let Some(side) = side.filter(|side| !(SIDE_PT.0..=SIDE_PT.1).contains(side)) {
                return Err(FigureError::Usage(format!(
                    "a {name} of {side} points makes no figure: give one from {} to {} points, or with a unit such as 8.5cm",
                    SIDE_PT.0, SIDE_PT.1
                )));
            }
        }
        Ok(Page {
            palette: if self.dark { Palette::DARK } else { Palette::LIGHT },
            width: self.width,
            height: self.height,
            caption: self.caption,
            about: About::default(),
            title: String::new(),
            provenance: String::new(),
        })
    }
}

/// Why nothing can be drawn. Displays as one clause for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FigureError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// There is nothing like that in the capture, or it cannot be drawn.
    #[error("{0}")]
    Failed(String),
}

impl From<WriteError> for FigureError {
    fn from(error: WriteError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct FigureInput<'a> {
    /// The captures whose patterns are read.
    pub captures: Captures<'a>,
    /// What joint spaces are made of.
    pub cloud: &'a PointCloud,
    /// What the laboratory answered.
    pub answers: &'a [Answered],
    pub measured: &'a Measurements,
}

/// What was measured of the model by running it many times.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Times by the length of the input.
    pub timing: Option<Arc<Timing>>,
    /// Tests of attention as explanation.
    pub debate: Option<Arc<CorpusDebate>>,
    /// Linear probes.
    pub probe: Option<Arc<CorpusProbe>>,
    /// Features of a dictionary.
    pub features: Option<Arc<CorpusFeatures>>,
    /// What all inputs are held against.
    pub against: Option<Against>,
}

impl Measurements {
    /// How many inputs a study is of.
    pub fn n_studied(&self, study: Study) -> Option<usize> {
        match study {
            Study::Probe => self.probe.as_ref().map(|probe| probe.summary.n_texts),
            Study::Features => self.features.as_ref().map(|found| found.n_done - found.left_out.len()),
            Study::Lens => None,
        }
    }

    /// Numbers that tell each apart.
    pub fn identities(&self) -> impl Iterator<Item = usize> {
        let timing = self.timing.iter().map(|timing| Arc::as_ptr(timing) as usize);
        let debate = self.debate.iter().map(|debate| Arc::as_ptr(debate) as usize);
        let probe = self.probe.iter().map(|probe| Arc::as_ptr(probe) as usize);
        let features = self.features.iter().map(|features| Arc::as_ptr(features) as usize);
        let against = self.against.iter().map(|against| match &against.cloud {
            PointCloud::Input(capture) => Arc::as_ptr(capture) as usize,
            PointCloud::Inputs(view) => Arc::as_ptr(view) as usize,
            PointCloud::Positions(tables) => Arc::as_ptr(tables) as usize,
        });
        timing.chain(debate).chain(probe).chain(features).chain(against)
    }
}

/// A cloud that another one is held against, such as a second corpus, or the same in another model.
#[derive(Clone, Debug)]
pub struct Against {
    pub cloud: PointCloud,
    /// What the first cloud and this one are called.
    pub names: [String; 2],
}

/// The numbers of all figures, one after the other.
///
/// # Errors
/// When nothing is drawn.
pub fn table(drawn: &[NamedScene], spec: &FigureSpec, subject: FigureInput<'_>) -> Result<Table, FigureError> {
    let mut table = Table::default();
    for it in drawn {
        table.append((it.table)());
    }
    let heads: Vec<String> = drawn.iter().map(|it| it.label.clone()).collect();
    table.provenance = provenance(spec, subject, &heads, None).to_string();
    if table.is_empty() {
        return Err(FigureError::Failed("nothing is drawn, so there are no numbers to write".to_owned()));
    }
    Ok(table)
}

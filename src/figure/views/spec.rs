//! Specification of a view: each has one in a file of its own, and everything else reads it.

use serde_json::Value;

use crate::{
    analysis::{PointCloud, Space, reading::Reading},
    capture::{Capture, Site},
    figure::{
        ViewKind, ViewOptions,
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::Topic,
    },
    ids::{HeadId, StackKind},
    options::Visit,
    raster::ColorMap,
};

/// Options with the names that metadata of figures once had for them.
type SaidOptions = fn(&ViewOptions) -> Vec<(&'static str, Value)>;

/// A view: its words, what it is about, what it needs, and how its figures come about.
#[derive(Clone, Copy, Debug)]
pub struct ViewSpec {
    /// Its id in files, settings and commands.
    pub kind: ViewKind,
    pub label: &'static str,
    /// Name on the command line, in sessions and addresses, and in file names.
    pub name: &'static str,
    /// Names that earlier versions had for it, which are read as well.
    pub former_names: &'static [&'static str],
    /// What people also call it, for whoever looks for it by another name.
    pub synonyms: &'static [&'static str],
    /// What it shows, in one sentence without its full stop.
    pub help: &'static str,
    pub group: ViewGroup,
    /// Its pages, where an option chooses among several.
    pub pages: Option<Pages>,
    /// What other parts of the program ask about it.
    pub facts: Facts,
    /// How many heads one figure holds.
    pub extent: FigureExtent,
    /// Its options, by their names in [`ViewOptions`].
    pub options: &'static [&'static str],
    /// Shows its options, with those that it shares with other views.
    pub fields: fn(&mut ViewOptions, &ViewScope<'_>, &mut Visit<'_>),
    /// Options by the names that metadata of figures had for them before they were written as they stand in settings;
    /// `None` for a view that is younger.
    pub said: Option<SaidOptions>,
    /// Colours of weights.
    pub color_map: fn(&ViewOptions) -> ColorMap,
    /// What has to be recorded for it, of a run whose patterns are read in this way and whose points are of this space.
    pub needs: fn(&Reading, Space) -> Vec<Site>,
    /// What is recorded as well where that takes little: without it parts of the picture are missing.
    pub wants: &'static [Site],
    /// Why it cannot show a stack of a capture, in words; `None` when it can.
    pub unavailable: fn(&Capture, StackKind) -> Option<&'static str>,
    /// The question that it answers of what is shown.
    pub question: fn(&Topic<'_>) -> String,
    /// What must be known before its picture is believed, in one sentence without its full stop.
    pub caveat: fn(&Topic<'_>) -> String,
    /// What a sheet of its figures shows.
    pub sheet_text: fn(&ResolvedSpec<'_>) -> &'static str,
    /// Its figures with their numbers.
    pub figures: fn(&ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError>,
}

/// What is on show, which decides about the options that there are.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ViewScope<'a> {
    /// Whether every option is there, whatever is on show: on the command line nothing is yet.
    pub all: bool,
    /// Whether values of a method stand in place of attention.
    pub is_explained: bool,
    /// Whether the text is too long for a cell of its own for every weight.
    pub is_long: bool,
    /// Whether the queries are patches.
    pub patches_ask: bool,
    /// Whether the keys are patches of a picture.
    pub has_picture: bool,
    /// Points, where there are any.
    pub cloud: Option<&'a PointCloud>,
    /// The cell of the canvas of points that is selected.
    pub cell: HeadId,
    /// Whether the input has special tokens.
    pub has_special: bool,
    /// Layers of the selected stack, and heads of the widest of them.
    pub n_heads: [usize; 2],
    /// Whether heads are ranked by a search.
    pub is_ranked: bool,
    /// Why queries have no lines to their keys, as a sentence.
    pub no_lines: Option<String>,
}

impl ViewScope<'_> {
    /// Every option.
    pub const COMMAND_LINE: Self = Self {
        all: true,
        is_explained: false,
        is_long: true,
        patches_ask: true,
        has_picture: true,
        cloud: None,
        cell: HeadId { stack: StackKind::SelfAttention, layer: 0, head: 0 },
        has_special: true,
        n_heads: [0, 0],
        is_ranked: true,
        no_lines: None,
    };
}

/// The pages of a view, of which an option chooses one.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    pub n: usize,
    pub label: fn(usize) -> &'static str,
    /// What a page shows, in one sentence.
    pub help: fn(usize) -> &'static str,
    pub shown: fn(&ViewOptions) -> usize,
    pub show: fn(&mut ViewOptions, usize),
}

/// The question that a group of views answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewGroup {
    Look,
    Heads,
    Explain,
    Works,
    Corpus,
}

vocabulary! {
    ViewGroup:
    /// On screen.
    label;
    Look("Look"),
    Heads("Heads"),
    Explain("Explain"),
    Works("How it works"),
    Corpus("Corpus"),
}

impl ViewGroup {
    /// Its views, in the order in which they are offered.
    pub fn views(self) -> impl Iterator<Item = ViewKind> {
        ViewKind::ALL.into_iter().filter(move |view| view.spec().group == self)
    }

    /// The key that shows it.
    pub const fn key(self) -> char {
        (b'1' + self as u8) as char
    }

    /// The question.
    pub const fn question(self) -> &'static str {
        match self {
            Self::Look => "What does it look at?",
            Self::Heads => "Which head does what?",
            Self::Explain => "Why this answer?",
            Self::Works => "How does a weight come about?",
            Self::Corpus => "Is it always so?",
        }
    }
}

/// What other parts of the program ask about a view.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Facts {
    /// Weights of queries and keys of the input: values of a method can stand in their place.
    pub draws_weights: bool,
    /// All inputs of a corpus, where there is one; otherwise the input that was run.
    pub reads_corpus: bool,
    /// Points of a space that is chosen, by a projection.
    pub lays_out_points: bool,
    /// A token is searched for among points, otherwise among the tokens of the input.
    pub searches_points: bool,
    /// Answers of the methods that explain a prediction.
    pub shows_answers: bool,
    /// Tokens stand in the view, each by its name.
    pub names_tokens: bool,
    /// Weights lie on the picture that the model saw.
    pub lies_on_picture: bool,
    /// A figure of one query at a time says something: those of all words make a strip.
    pub has_frames: bool,
    /// Weights are colours, on a scale that several patterns can share.
    pub has_color_scale: bool,
    /// Colours can be logarithmic.
    pub has_log_colors: bool,
    /// A page for a browser has it.
    pub is_on_pages: bool,
    /// What went to no key has columns of its own.
    pub has_rest_columns: bool,
    /// A changed run is drawn beside the same run without a part of its changes.
    pub reads_unchanged: bool,
    /// A score can be taken apart beside its steps.
    pub takes_scores_apart: bool,
    /// What one head writes, and what it does to the prediction, stands beside it.
    pub tells_effects: bool,
    /// What the model says of each token is drawn.
    pub reads_predictions: bool,
    /// A folder with one file for each head, as HeadVis has it, can stand in place of inputs.
    pub reads_folders: bool,
    /// Attention as an explanation is tested on all inputs, by running the model on each.
    pub tests_inputs: bool,
    /// What is found out of all inputs for it, on request.
    pub study: Option<Study>,
    /// All inputs can be held against those of another corpus or model.
    pub contrasts: bool,
    /// Experts of a layer: no head is chosen, and tokens above it are coloured by the expert that they go to.
    pub shows_experts: bool,
    /// Parts of the details beside it.
    pub details: &'static [DetailsPart],
}

/// What is learnt or counted over all inputs of a corpus, by running the model on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Study {
    /// Linear probes.
    Probe,
    /// Features of a dictionary.
    Features,
    /// A Jacobian lens, which is written to a file that methods read through.
    Lens,
}

vocabulary! {
    Study:
    /// What is done, on screen.
    doing;
    Probe("Probing"),
    Features("Counting features"),
    Lens("Fitting a lens"),
}

/// A part of the details beside a view, above its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailsPart {
    /// The query and the key that are pinned or under the pointer.
    Selection,
    /// Strongest partners of them; at rest the strongest pairs.
    Ranking,
    /// The selected head, its kinds and numbers.
    Head,
    /// The input under the pointer or else the one that was run, of those that the view is about.
    Input,
    /// The methods that are shown.
    Methods,
}

impl Facts {
    /// Patterns of one input.
    pub(super) const PATTERNS: Self = Self {
        draws_weights: true,
        details: &[DetailsPart::Selection, DetailsPart::Ranking, DetailsPart::Head],
        ..Self::NONE
    };
    /// Measures of heads over all inputs of a corpus.
    pub(super) const HEADS: Self =
        Self { reads_corpus: true, searches_points: true, details: &[DetailsPart::Head], ..Self::NONE };
    /// Queries, keys or other vectors as points, of all inputs of a corpus.
    pub(super) const POINTS: Self =
        Self { lays_out_points: true, details: &[DetailsPart::Selection, DetailsPart::Ranking], ..Self::HEADS };
    /// Answers of methods.
    pub(super) const ANSWERS: Self = Self {
        shows_answers: true,
        names_tokens: true,
        details: &[DetailsPart::Selection, DetailsPart::Methods],
        ..Self::NONE
    };
    /// A text step by step.
    pub(super) const WRITTEN: Self = Self {
        names_tokens: true,
        reads_predictions: true,
        details: &[DetailsPart::Selection, DetailsPart::Ranking],
        ..Self::NONE
    };
    /// Tests of all inputs of a corpus.
    pub(super) const TESTS: Self =
        Self { reads_corpus: true, tests_inputs: true, details: &[DetailsPart::Input], ..Self::NONE };
    /// What is found out of all inputs of a corpus.
    pub(super) const fn studies(study: Study) -> Self {
        Self { reads_corpus: true, study: Some(study), details: &[DetailsPart::Input], ..Self::NONE }
    }
    /// Steps of one head, as they were recorded.
    pub(super) const STEPS: Self = Self { details: &[DetailsPart::Head], ..Self::NONE };
    /// Experts of one layer.
    pub(super) const EXPERTS: Self = Self { shows_experts: true, ..Self::NONE };
    /// Whether an input that is chosen of a corpus is shown beside it, so that the next one can be chosen.
    pub const fn shows_inputs_beside(self) -> bool {
        self.lays_out_points || self.tests_inputs || self.study.is_some()
    }

    const NONE: Self = Self {
        draws_weights: false,
        reads_corpus: false,
        lays_out_points: false,
        searches_points: false,
        shows_answers: false,
        names_tokens: false,
        lies_on_picture: false,
        has_frames: false,
        has_color_scale: false,
        has_log_colors: false,
        is_on_pages: false,
        has_rest_columns: false,
        reads_unchanged: false,
        takes_scores_apart: false,
        tells_effects: false,
        reads_predictions: false,
        reads_folders: false,
        tests_inputs: false,
        study: None,
        contrasts: false,
        shows_experts: false,
        details: &[],
    };
}

/// How many heads one figure holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureExtent {
    /// One, or several taken together.
    Head,
    /// Those of a layer, told apart.
    Layer,
    /// All of a stack.
    Stack,
}

/// What views of patterns need: of weights by value the values too.
pub(super) fn patterns(reading: &Reading, _: Space) -> Vec<Site> {
    [Site::Pattern].into_iter().chain(reading.source.sites().iter().copied()).collect()
}

/// What views of all inputs need: queries, keys and values, and what the points are made of.
pub(super) fn vectors(_: &Reading, space: Space) -> Vec<Site> {
    [Site::Pattern, Site::Q, Site::K, Site::V].into_iter().chain(space.sites().iter().copied()).collect()
}

/// What a sheet of points shows.
pub(super) fn space_text(resolved: &ResolvedSpec<'_>) -> &'static str {
    match resolved.space() {
        Space::QueriesKeys => "Query–key maps",
        Space::Values => "Values",
        Space::Residual => "Residual stream",
        Space::Positions => "Position embeddings",
    }
}

/// The colours of weights, for all views but those that lie on a picture.
pub(super) const fn color_map(options: &ViewOptions) -> ColorMap {
    options.color_map()
}

/// What can always be shown.
pub(super) const fn available(_: &Capture, _: StackKind) -> Option<&'static str> {
    None
}

/// Views of scores lack them, and what they are made of, in some captures.
pub(super) fn without_scores(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let layers = &capture.stack(stack)?.layers;
    let has_scores = layers.iter().any(|layer| layer.scores().is_some() || layer.q().is_some() && layer.k().is_some());
    (!has_scores).then_some("This capture has neither queries and keys nor scores")
}

/// Views of queries and keys lack them in some captures.
pub(super) fn without_vectors(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let recorded = capture.stack(stack)?;
    let lacks = recorded.layers.iter().all(|layer| layer.q().is_none() || layer.k().is_none());
    lacks.then_some("This capture has no queries and keys")
}

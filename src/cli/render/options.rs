//! Options of `render`, and their checks.

use std::path::PathBuf;

use super::{
    explained::ExplainedFlags,
    flags::ViewFlags,
    parse::{
        Numbers, Theme, parse_head, parse_length, parse_numbers, parse_scale, parse_sheet, parse_svg_text, parse_theme,
    },
};
use crate::{
    analysis::reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, SentenceFilter, Source, Whose},
    capture::{Merging, Unit},
    cli::{
        CliError,
        capture::{BeamOptions, ChanceOptions, Writing},
        compute::ComputeOptions,
        edits::EditOptions,
        inputs::{GroupOptions, InputOptions, parse_position},
        layout::LayoutFlags,
    },
    figure::{
        CaptionKind, FontSource, ViewKind, ViewOptions,
        spec::{Each, FigureSpec, Paper, Subtrahend},
        views::FigureExtent,
        write::SvgText,
    },
    ids::StackKind,
    model::Generation,
};

/// What a session has chosen already, beside the options of views.
const OF_NO_SESSION: [&str; 46] = [
    "model",
    "capture",
    "text",
    "text_b",
    "texts_file",
    "corpus",
    "against_corpus",
    "against_model",
    "image",
    "ids",
    "pixels",
    "no_special",
    "sentence_transformers",
    "brackets",
    "chat",
    "system",
    "no_thinking",
    "groups_column",
    "groups",
    "max_tokens",
    "keep",
    "target",
    "target_ids",
    "generate",
    "temperature",
    "samples",
    "beams",
    "length_penalty",
    "edits",
    "global",
    "stack",
    "layer",
    "head",
    "query",
    "key",
    "aggregate",
    "minus",
    "by_value_norm",
    "hide",
    "words",
    "merge",
    "unfold",
    "sentences",
    "written",
    "sheet",
    "each",
];

/// Options of `attnscope render`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
pub struct RenderOptions {
    /// View to draw.
    #[arg(
        id = "view", value_name = "VIEW", value_parser = ViewKind::parse, required_unless_present = "session",
        help = format!("View to draw: {}", ViewKind::names(|_| true))
    )]
    pub named_view: Option<ViewKind>,
    /// A session file instead of a model and its input: a pane of it is drawn as the window shows it
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_NO_SESSION)]
    pub session: Option<PathBuf>,
    /// Pane of the session, from 0 [default: the active one]
    #[arg(long, value_name = "N", requires = "session")]
    pub pane: Option<usize>,
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long, required_unless_present_any = ["capture", "session"], conflicts_with = "capture")]
    pub model: Option<String>,
    /// A capture file instead of a model and its input
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
    /// With --corpus: hold the heads over this other corpus against those over the first
    #[arg(long, value_name = "FILE", requires = "corpus", conflicts_with = "against_model")]
    pub against_corpus: Option<PathBuf>,
    /// With --corpus: hold the heads of this other model of the same layout against those of the first
    #[arg(long, value_name = "MODEL", requires = "corpus")]
    pub against_model: Option<String>,
    #[command(flatten)]
    pub groups: GroupOptions,
    /// Let the model write at most this many tokens; decoder-only models continue the text
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub generate: Option<u32>,
    #[command(flatten)]
    pub chance: ChanceOptions,
    #[command(flatten)]
    pub beams: BeamOptions,
    #[command(flatten)]
    pub edits: EditOptions,
    /// Figure to write, ending in .svg, .pdf or .png, {layer} and {head} in it giving a file per head; or in .html, a page
    /// for a browser with every head
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    pub out: Option<PathBuf>,
    /// Numbers behind the figure, ending in .csv, .json, .npz or .safetensors
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    #[arg(long, help = format!("Attention stack: {}", StackKind::ALL.map(StackKind::name).join(", ")))]
    pub stack: Option<StackKind>,
    /// Layers, from 0, such as 3 or 0-3,11
    #[arg(long, value_parser = parse_numbers)]
    pub layer: Vec<Numbers>,
    /// Heads.
    #[arg(
        long, value_parser = parse_numbers,
        help = format!(
            "Heads, from 0, such as 5 or 0-3,11 [default: the first one; in {} all]",
            ViewKind::names(|view| view.spec().extent == FigureExtent::Layer)
        )
    )]
    pub head: Vec<Numbers>,
    /// Query token to pin.
    #[arg(
        long, value_name = "N", value_parser = parse_position,
        help = format!(
            "Query token to pin, from 0; in {} the token whose attention is shown",
            ViewKind::names(|view| view.facts().lies_on_picture)
        )
    )]
    pub query: Option<usize>,
    /// Key token to pin, from 0
    #[arg(long, value_name = "N", value_parser = parse_position)]
    pub key: Option<usize>,
    /// Combine all chosen heads: mean, max, min, sum
    #[arg(long, value_name = "HOW")]
    pub aggregate: Option<Aggregate>,
    /// Subtract this head, such as L3H5
    #[arg(long, value_parser = parse_head, value_name = "HEAD")]
    pub minus: Option<(usize, usize)>,
    /// Weight × norm of the value, a·‖v‖, rows scaled back to their sum
    #[arg(long)]
    pub by_value_norm: bool,
    /// Keys to leave out, rows renormalised over the rest: special, first, punctuation, none
    #[arg(long, value_delimiter = ',', value_parser = ["special", "first", "punctuation", "none"], value_name = "WHICH")]
    pub hide: Vec<String>,
    /// Do not renormalise the rows from which keys are left out
    #[arg(long, requires = "hide")]
    pub keep_weights: bool,
    /// Merge pieces of words, and groups of tokens: sum over keys, mean over queries; --brackets, --groups and
    /// --groups-column do so as well
    #[arg(long, conflicts_with = "merge")]
    pub words: bool,
    /// Merge tokens into units, as --words does: tokens, words, sentences, paragraphs
    #[arg(long, value_name = "UNIT")]
    pub merge: Option<Unit>,
    /// Of merged sentences or paragraphs: the one, from 0, whose words stand by themselves among the others
    #[arg(long, value_name = "N", requires = "merge")]
    pub unfold: Option<usize>,
    /// Of a pair of texts: from which one's queries to which one's keys: all, a-a, a-b, b-a, b-b
    #[arg(long, value_name = "FROM-TO", default_value = "all")]
    pub sentences: SentenceFilter,
    /// Label rows with the next token instead of the input token
    #[arg(long)]
    pub written: bool,
    #[command(flatten)]
    pub views: ViewFlags,
    #[command(flatten)]
    pub explained: ExplainedFlags,
    #[command(flatten)]
    pub layout: LayoutFlags,
    /// Several figures on one page, such as 4x3: four columns, three rows
    #[arg(long, value_parser = parse_sheet, value_name = "COLSxROWS")]
    pub sheet: Option<[usize; 2]>,
    /// A sheet with a picture for each: query (each word that is written, or read: its lines, or its patches)
    #[arg(long, value_parser = ["query"], value_name = "WHAT", conflicts_with_all = ["query", "key"])]
    pub each: Option<String>,
    /// Theme: light, dark
    #[arg(long, value_parser = parse_theme, default_value = "light")]
    pub theme: Theme,
    /// Width of the figure in points, or with a unit: 8.5cm, 85mm, 3.3in
    #[arg(long, value_parser = parse_length, value_name = "LENGTH")]
    pub width: Option<f32>,
    /// Height of the figure [default: suits the width]
    #[arg(long, value_parser = parse_length, value_name = "LENGTH")]
    pub height: Option<f32>,
    /// Cut a PDF that is higher than a page of A4 into several pages
    #[arg(long)]
    pub pages: bool,
    /// Pixels per point of a PNG: 4 is 288 dots per inch
    #[arg(long, default_value_t = 4.0, value_parser = parse_scale, value_name = "PX")]
    pub scale: f32,
    /// Caption below the figure: none, short, full
    #[arg(long, default_value = "short", value_name = "HOW")]
    pub caption: CaptionKind,
    /// Text of an SVG: overlay (outlines, with the text over them for selecting), paths (outlines alone)
    #[arg(long, value_parser = parse_svg_text, default_value = "overlay", value_name = "HOW")]
    pub svg_text: SvgText,
    /// Fonts: system (as in the window), bundled (the same file on every machine)
    #[arg(long, default_value = "system", value_name = "WHICH")]
    pub fonts: FontSource,
    #[command(flatten)]
    pub compute: ComputeOptions,
}

impl RenderOptions {
    /// How the model writes; `None` where nothing was said about it.
    pub fn generation(&self) -> Option<Generation> {
        let Self { generate, chance, beams, .. } = *self;
        Writing { generate, chance, top_p: None, seed: self.layout.seed, beams }.generation()
    }

    /// What is asked for, apart from where it comes from and where it goes.
    ///
    /// # Errors
    /// Settings of a layout that change nothing, or are outside their range.
    pub fn spec(&self) -> Result<FigureSpec, CliError> {
        let flat = |lists: &[Numbers]| -> Vec<usize> { lists.iter().flat_map(|list| list.0.iter().copied()).collect() };
        let minus = |(layer, head)| Subtrahend { stack: None, layer, head, of: Whose::This };
        Ok(FigureSpec {
            view: self.view(),
            stack: self.stack,
            layers: flat(&self.layer),
            heads: flat(&self.head),
            query: self.query,
            key: self.key,
            reading: self.reading(),
            together: self.aggregate,
            minus: self.minus.map(minus),
            options: self.view_options()?,
            sheet: self.sheet,
            each: Each { layer: self.names("{layer}"), head: self.names("{head}"), query: self.each.is_some() },
            paper: self.paper(),
        })
    }

    /// Options of the views.
    fn view_options(&self) -> Result<ViewOptions, CliError> {
        self.explained.check(self.view())?;
        let mut options = self.views.options(self.view())?;
        options.projection_mut().layout = self.layout.of_view(self.view(), self.chance.is_asked())?;
        Ok(options)
    }

    /// How patterns are read.
    pub fn reading(&self) -> Reading {
        Reading {
            source: if self.by_value_norm { Source::ByValueNorm } else { Source::Weights },
            leave_out: self.leave_out(),
            merging: self.merging(),
            sentences: self.sentences,
            rows: if self.written || self.each.is_some() { RowLabels::Written } else { RowLabels::Read },
            ..Reading::default()
        }
    }

    fn merging(&self) -> Merging {
        let merging = Merging { unit: self.merge.unwrap_or_default(), unfolded: self.unfold };
        // Groups are there to be seen, unless somebody says otherwise.
        let groups = self.merge.is_none() && (self.input.has_groups() || self.groups.is_some());
        merging.or_words_if(self.words || groups)
    }

    /// The view; of a session the pane's own where none is named.
    pub fn view(&self) -> ViewKind {
        self.named_view.unwrap_or_default()
    }

    /// What it is drawn on.
    pub const fn paper(&self) -> Paper {
        Paper {
            dark: matches!(self.theme, Theme::Dark),
            width: self.width,
            height: self.height,
            pages: self.pages,
            scale: self.scale,
            caption: self.caption,
            svg_text: self.svg_text,
            fonts: self.fonts,
        }
    }

    /// Whether the file's name asks for one file per layer or head.
    fn names(&self, placeholder: &str) -> bool {
        self.out.as_ref().is_some_and(|out| out.to_string_lossy().contains(placeholder))
    }

    fn leave_out(&self) -> LeaveOut {
        let has = |name: &str| self.hide.iter().any(|hidden| hidden == name);
        LeaveOut {
            special: has("special"),
            first: has("first"),
            punctuation: has("punctuation"),
            policy: if self.keep_weights { Policy::Hide } else { Policy::Renormalize },
            ..LeaveOut::default()
        }
    }
}

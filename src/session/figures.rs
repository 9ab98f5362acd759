//! The export dialog: what is drawn of the active pane, how it will look, and where it goes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Cause, Document, Documents, Effect, FigureDialog, HeadSet, Loadable, Notices, Pane, Panes, ViewOptions, jobs::Jobs,
};
use crate::{
    analysis::{
        PointCloud,
        reading::{Extent, Over, Reading, RowLabels, Whose},
    },
    capture::Capture,
    export::{FigureRequest, default_file_name},
    figure::{
        FigureExtent, ViewKind,
        data::DataFormat,
        spec::{Each, FigureSpec, Measurements, Paper, Subtrahend},
    },
    ids::{HeadId, JobId},
    protocol::{DrawFor, RenderedFigure, Request, Update},
    text::grouped,
};

/// Largest preview, in pixels.
const PREVIEW_PX: [f32; 2] = [1120.0, 840.0];
/// Rows of numbers that are previewed.
const PREVIEW_ROWS: usize = 40;
/// Most figures on a sheet that is laid out by itself.
const MAX_COLUMNS: usize = 6;

/// How figures are saved, remembered between runs.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FigureOptions {
    pub kind: FileKind,
    pub range: FigureRange,
    #[serde(flatten)]
    pub paper: Paper,
}

/// A kind of file that a figure or its numbers are saved as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    #[default]
    Svg,
    Pdf,
    Png,
    Html,
    Csv,
    Json,
    Npz,
}

vocabulary! {
    FileKind: name,
    /// On screen.
    title,
    /// What it is for.
    meaning;
    Svg("svg", "SVG", "Vectors for the web and for drawing programs; text can be selected"),
    Pdf("pdf", "PDF", "Vectors for print, fonts embedded"),
    Png("png", "PNG", "Pixels"),
    Html("html", "Page", "One file for any browser: every head, with lines, maps and text that answer to the pointer"),
    Csv("csv", "CSV", "The numbers behind the figure, one row per drawn item"),
    Json("json", "JSON", "The numbers with model, input and options"),
    Npz("npz", "NPZ", "The numbers for NumPy"),
}

impl FileKind {
    /// Every ending that a figure or its numbers can be saved under.
    pub const EXTENSIONS: [&str; 8] = ["svg", "pdf", "png", "html", "csv", "json", "npz", "safetensors"];

    /// The kind of file with numbers, where it holds numbers instead of a picture.
    pub const fn data_format(self) -> Option<DataFormat> {
        match self {
            Self::Csv => Some(DataFormat::Csv),
            Self::Json => Some(DataFormat::Json),
            Self::Npz => Some(DataFormat::Npz),
            Self::Svg | Self::Pdf | Self::Png | Self::Html => None,
        }
    }
}

/// What of the active pane is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FigureRange {
    /// What the pane shows.
    #[default]
    Shown,
    /// Every head of the layer, on one sheet.
    Layer,
    /// Every head of the stack, on one sheet.
    Stack,
    /// Every head of the stack, a file each.
    Files,
    /// The picture for every word that is written or read, on one sheet.
    Words,
}

vocabulary! {
    FigureRange:
    /// In words.
    label;
    Shown("What the pane shows"),
    Layer("All heads of the layer, one sheet"),
    Stack("All heads of the model, one sheet"),
    Files("All heads of the model, one file each"),
    Words("The picture for each word, one sheet"),
}

impl FigureRange {
    /// Whether a pane has it: words alone look at a picture one after the other.
    pub fn suits(self, pane: &Pane, capture: &Capture) -> bool {
        let is_of_words = || capture.picture_side() != Some(pane.selection.stack().query_side());
        self != Self::Words || pane.view.facts().lies_on_picture && is_of_words()
    }
}

/// What the user can ask of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureCommand {
    Open,
    Close,
    /// Change how figures are saved.
    Set(FigureOptions),
    Save,
    /// Put it on the clipboard as pixels.
    CopyPng,
    /// Put it on the clipboard as SVG.
    CopySvg,
    /// Put the numbers behind it on the clipboard.
    CopyNumbers,
}

impl FigureDialog {
    pub(super) fn on_command(
        &mut self,
        command: FigureCommand,
        (panes, documents): (&Panes, &Documents),
        options: &mut FigureOptions,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        let purpose = match command {
            FigureCommand::Open => {
                self.is_open = documents.of(panes.active()).latest_capture().is_some();
                return Vec::new();
            }
            FigureCommand::Close => {
                self.close();
                return Vec::new();
            }
            FigureCommand::Set(chosen) => {
                *options = chosen;
                return Vec::new();
            }
            FigureCommand::Save => return self.save(panes, documents, *options),
            FigureCommand::CopyPng => DrawFor::CopyPng,
            FigureCommand::CopySvg => DrawFor::CopySvg,
            FigureCommand::CopyNumbers => DrawFor::CopyNumbers,
        };
        let Some(figure) = figure(panes.active(), documents, *options) else { return Vec::new() };
        let job = jobs.next();
        self.copying = Some(job);
        vec![Effect::Submit(job, Request::Draw { figure, purpose })]
    }

    /// Asks for the preview of what would be saved now.
    pub(super) fn preview_if_needed(
        &mut self,
        panes: &Panes,
        documents: &Documents,
        options: FigureOptions,
        jobs: &mut Jobs,
    ) -> Option<Effect> {
        // In one lane the two would end each other.
        if !self.is_open || self.copying.is_some() {
            return None;
        }
        let figure = figure(panes.active(), documents, options)?;
        let made_of = figure.identities();
        let purpose = match options.kind.data_format() {
            Some(format) => DrawFor::PreviewNumbers(format, PREVIEW_ROWS),
            None => DrawFor::Preview(PREVIEW_PX),
        };
        let asked = (figure.capture.id(), Arc::clone(&figure.spec), made_of, purpose);
        if self.asked.as_ref() == Some(&asked) {
            return None;
        }
        let job = jobs.next();
        self.asked = Some(asked);
        self.preview.start(job);
        Some(Effect::Submit(job, Request::Draw { figure, purpose }))
    }

    fn save(&mut self, panes: &Panes, documents: &Documents, options: FigureOptions) -> Vec<Effect> {
        let Some(figure) = figure(panes.active(), documents, options) else { return Vec::new() };
        self.close();
        let capture = &figure.capture;
        let input = capture.input();
        let read = [&input.text, &input.image].into_iter().flatten().next().map_or("", String::as_str);
        let extension = options.kind.name();
        let part = figure.spec.part_name();
        let name = default_file_name(&capture.model().name, read, &part, &panes.active().figure_name(), extension);
        vec![Effect::SaveFigure { figure, name, extension }]
    }

    /// Takes in a figure for the dialog or the clipboard.
    pub(super) fn on_event(
        &mut self,
        job: JobId,
        update: Update<RenderedFigure>,
        notices: &mut Notices,
    ) -> Vec<Effect> {
        let copies = self.copying == Some(job);
        if !copies && self.preview.job() != Some(job) {
            return Vec::new();
        }
        match update {
            Update::Answer(RenderedFigure::Preview(preview)) => self.preview = Loadable::Ready(preview),
            Update::Answer(RenderedFigure::Pixels(pixels)) => {
                self.copying = None;
                notices.inform(Cause::Job(job), "Picture copied", "");
                return vec![Effect::CopyPicture(pixels)];
            }
            Update::Answer(RenderedFigure::Svg(svg)) => {
                self.copying = None;
                notices.inform(Cause::Job(job), "SVG copied", "");
                return vec![Effect::CopyText(svg)];
            }
            Update::Answer(RenderedFigure::Numbers(numbers)) => {
                self.copying = None;
                let n_rows = grouped(numbers.lines().count().saturating_sub(1));
                notices.inform(Cause::Job(job), format!("Numbers copied: {n_rows} rows"), "");
                return vec![Effect::CopyText(numbers)];
            }
            Update::Failed(failure) if copies => {
                self.copying = None;
                notices.fail(Cause::Job(job), failure);
            }
            Update::Cancelled if copies => self.copying = None,
            Update::Failed(failure) => self.preview.fail(failure),
            // A copy may have taken its place: it is asked for again.
            Update::Cancelled => {
                self.preview.cancel();
                self.asked = None;
            }
            Update::Progress(_) => {}
        }
        Vec::new()
    }
}

/// What would be saved now of a pane.
pub(super) fn figure(pane: &Pane, documents: &Documents, options: FigureOptions) -> Option<FigureRequest> {
    let document = documents.of(pane);
    let capture = Arc::clone(document.latest_capture()?);
    let minus = pane.minus.and_then(|minus| documents.find(minus.document));
    let unchanged = if pane.view.facts().reads_unchanged { documents.unchanged(document) } else { None };
    let other = minus.filter(|other| other.id != document.id).and_then(Document::latest_capture).or(unchanged).cloned();
    // Lines and maps are of the input that was run, whatever else is open.
    let cloud =
        if pane.view.facts().reads_corpus { pane.cloud(document)? } else { PointCloud::Input(Arc::clone(&capture)) };
    let spec = Arc::new(spec_of(pane, document, (&capture, &cloud), options));
    let answers = pane.answers(&capture);
    let held = pane.against.filter(|_| pane.view.facts().contrasts).and_then(|other| documents.find(other));
    let against = held.and_then(|other| pane.held_against(document, other));
    let (timing, debate) = (document.shown_timing().cloned(), document.debate().cloned());
    let probe = document.studies().and_then(|studies| studies.probe.latest().cloned());
    let features = document.studies().and_then(|studies| studies.features.latest().cloned());
    let measured = Measurements { timing, debate, probe, features, against };
    Some(FigureRequest { spec, capture, cloud, other, answers, measured })
}

/// How what a pane shows is drawn.
fn spec_of(
    pane: &Pane,
    document: &Document,
    (capture, cloud): (&Capture, &PointCloud),
    options: FigureOptions,
) -> FigureSpec {
    let head = pane.selection.head;
    let cell = pane.cell(document);
    let n_heads = pane.n_heads(document);
    let stack = capture.model().stack(head.stack);
    let (n_layers, most_heads) = stack.map_or((1, 1), |stack| (stack.layers.len(), stack.max_heads()));
    let extent_of_view = pane.view.spec().extent;
    // Where an explanation has no numbers of heads, there is one figure of it, or one a layer.
    let extent = pane.explained_extent();
    let one = extent.is_some_and(|extent| extent != Extent::PairsOfHeads);
    let of_patterns = !pane.view.facts().reads_corpus;
    // A page holds every head, and opens with what the pane shows.
    let is_page = options.kind == FileKind::Html;
    let together = pane.options.reading.together.filter(|_| !one && of_patterns && !is_page);
    let range = if one || is_page || !options.range.suits(pane, capture) { FigureRange::Shown } else { options.range };
    let (layers, heads, sheet) = match range {
        _ if extent_of_view == FigureExtent::Stack => (Vec::new(), Vec::new(), None),
        _ if pane.view.facts().shows_answers => (vec![head.layer], vec![head.head], None),
        // A cell of its own for each layer, and one for the final stream; or one in all.
        FigureRange::Stack | FigureRange::Files if !pane.space().is_per_head() => {
            let all: Vec<usize> = cloud.cells(head.stack, pane.space()).iter().map(|cell| cell.layer).collect();
            let columns = all.len().clamp(1, MAX_COLUMNS);
            let sheet = [columns, all.len().div_ceil(columns)];
            (all, Vec::new(), Some(sheet).filter(|_| range == FigureRange::Stack))
        }
        _ if !pane.space().is_per_head() => (vec![cell.layer], Vec::new(), None),
        _ if together.is_some_and(|together| together.over == Over::Stack) => {
            ((0..n_layers).collect(), Vec::new(), None)
        }
        FigureRange::Shown | FigureRange::Words => (vec![head.layer], shown_heads(pane, n_heads), None),
        FigureRange::Layer => {
            let columns = n_heads.clamp(1, MAX_COLUMNS);
            (vec![head.layer], Vec::new(), Some([columns, n_heads.div_ceil(columns)]))
        }
        FigureRange::Stack => {
            let per_layer = if extent_of_view == FigureExtent::Layer { 1 } else { most_heads };
            let columns = if per_layer == 1 { n_layers.clamp(1, MAX_COLUMNS) } else { per_layer };
            (Vec::new(), Vec::new(), Some([columns, (n_layers * per_layer).div_ceil(columns)]))
        }
        FigureRange::Files => (Vec::new(), Vec::new(), None),
    };
    let files = range == FigureRange::Files && !pane.view.facts().shows_answers;
    let of_words = range == FigureRange::Words;
    let reading = pane.drawn_reading(capture);
    FigureSpec {
        view: if is_page && !pane.view.facts().is_on_pages { ViewKind::default() } else { pane.view },
        stack: Some(head.stack),
        layers,
        heads,
        query: pane.selection.pinned.query.filter(|_| !of_words),
        key: pane.selection.pinned.key.filter(|_| !of_words),
        reading: if of_words { Reading { rows: RowLabels::Written, ..reading } } else { reading },
        together: together.map(|together| together.how),
        minus: pane.minus.filter(|_| of_patterns && pane.explained().is_none()).map(|minus| Subtrahend {
            stack: Some(minus.head.stack),
            layer: minus.head.layer,
            head: minus.head.head,
            of: if minus.document == document.id { Whose::This } else { Whose::Other },
        }),
        options: drawn_options(pane, (capture, cloud), cell, range),
        sheet,
        each: Each { layer: files, head: files, query: of_words },
        paper: Paper { pages: options.paper.pages && options.kind == FileKind::Pdf, ..options.paper },
    }
}

/// The options of a pane as a file shows them: what cannot be told here is not shown in the window either.
fn drawn_options(
    pane: &Pane,
    (capture, cloud): (&Capture, &PointCloud),
    cell: HeadId,
    range: FigureRange,
) -> ViewOptions {
    let mut options = pane.options.clone();
    *options.projection_mut() = pane.projection_options();
    options.keep_told(cloud, pane.space(), cell);
    options.shared_scale |= !matches!(range, FigureRange::Shown | FigureRange::Words);
    // Words ask in cross-attention: there is nothing to lead from.
    let from_patches = capture.picture_side() == Some(pane.selection.stack().query_side());
    if pane.explained().is_some() || !from_patches {
        options.image.leave_flows();
    }
    options
}

/// The heads that a pane draws.
fn shown_heads(pane: &Pane, n_heads: usize) -> Vec<usize> {
    let on = pane.selection.heads_on();
    let together = pane.options.reading.together.is_some();
    let several = match pane.explained_extent() {
        None | Some(Extent::PairsOfHeads) => pane.view.spec().extent == FigureExtent::Layer || together,
        Some(_) => false,
    };
    if several && pane.minus.is_none() {
        if on == HeadSet::ALL { Vec::new() } else { on.iter(n_heads).collect() }
    } else {
        vec![pane.selection.head.head]
    }
}

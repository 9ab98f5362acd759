//! One feature of a dictionary over a corpus: how often it fires and where most, what it raises and lowers, the tokens that
//! it comes from, and what is near to it.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        explain::report::{ColumnValues, Report, Value},
        sae::CorpusFeatures,
    },
    capture::{Capture, words},
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        page::{Captions, Scene},
        pen::Pen,
    },
    ids::Side,
    text::{counted, decimal_text, grouped, sentence, share_text, weight_text},
};

mod line;
mod options;
mod spec;

pub use line::RunningText;
pub use options::FeatureChoices;
pub use spec::SPEC;

/// Height of a line.
const ROW_PT: f32 = 5.0 * GRID;
const WIDTH_PT: f32 = 640.0;
const LEAST_PT: f32 = 400.0;
/// A table is at least so wide.
const TABLE_PT: f32 = 150.0;
/// Rows of a table.
const N_ROWS: usize = 8;
/// Between two parts.
const GAP_PT: f32 = 2.0 * GRID;
/// Room for the activation before a text.
const NUMBER_PT: f32 = 14.0 * GRID;

/// What the laboratory says of the feature in the input that is shown, or why it does not, as a sentence.
pub type Told = Result<Arc<Report>, String>;

/// Features with their correlations with another one, the largest first.
pub type FiresWith = Arc<Vec<(usize, f64)>>;

/// The page of a feature.
#[derive(Clone, Debug)]
pub struct FeatureScene {
    pub found: Arc<CorpusFeatures>,
    pub feature: usize,
    pub told: Told,
    /// Features that fire where it fires, with their correlations, the largest first; none until they are found.
    fires_with: Option<FiresWith>,
    /// The tokens of the input that is shown.
    tokens: Arc<[String]>,
}

/// What a place of the page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A text of the corpus, by its place in the list.
    Text(usize),
    Feature(usize),
}

/// A table of what is near to the feature.
struct Near {
    title: &'static str,
    rows: Vec<(String, String)>,
    /// The feature that each row is.
    features: Vec<Option<usize>>,
    /// Said where there is none.
    nothing: String,
}

/// The places of the parts.
struct PageParts {
    texts: Rect,
    sources: Rect,
    tables: Vec<Rect>,
    bottom: f32,
}

impl FeatureScene {
    /// The page of a feature with what a method said of it in a capture, and the features that fire where it does, where they
    /// are known.
    pub fn new(
        found: Arc<CorpusFeatures>,
        (feature, fires_with): (usize, Option<FiresWith>),
        told: Told,
        capture: &Capture,
    ) -> Self {
        let tokens = capture.tokens(capture.model().stacks.first().map_or(Side::Only, |stack| stack.kind.query_side()));
        let tokens = (0..tokens.len()).map(|at| words::token_text(tokens, at).replace('\n', "↵")).collect();
        Self { found, feature, told, fires_with, tokens }
    }

    /// The features that are correlated with it over all tokens, the largest first.
    pub fn correlated(&self) -> &[(usize, f64)] {
        let all = self.fires_with.as_deref().map_or(&[][..], Vec::as_slice);
        &all[..all.len().min(N_ROWS)]
    }

    /// How often it fires, in a sentence.
    pub fn facts(&self) -> String {
        let count = &self.found.counts.features[self.feature];
        let largest = count.texts.first().map_or(0.0, |at| f64::from(at.value));
        format!(
            "Feature {} of {} fires at {} of {}; mean there {}, largest {}",
            self.feature,
            grouped(self.found.d_sae),
            share_text(self.found.density(self.feature)),
            counted(self.found.counts.n_tokens, "token"),
            decimal_text(count.mean()),
            decimal_text(largest),
        )
    }

    /// Words that it raises and lowers; why none are told otherwise.
    fn words(&self) -> Vec<(&'static str, String)> {
        let told = match &self.told {
            Ok(report) => report,
            Err(why) => return vec![("", why.clone())],
        };
        let column = |name: &str| match told.value("words") {
            Some(Value::Table(columns)) => columns.iter().find(|column| column.name == name).map(|it| &it.cells),
            _ => None,
        };
        let listed = |name: &str| match column(name) {
            Some(ColumnValues::Text(words)) => Some(words.join("  ")),
            _ => None,
        };
        let both = [("raises", listed("promoted")), ("lowers", listed("suppressed"))];
        both.into_iter().filter_map(|(name, words)| Some((name, words?))).collect()
    }

    /// The texts in which it fires most.
    fn texts(&self) -> Vec<(usize, RunningText)> {
        let count = &self.found.counts.features[self.feature];
        let most = count.texts.first().map_or(1.0, |at| at.value);
        let of = |at: &crate::analysis::sae::FiringText| {
            let tokens = Arc::clone(self.found.texts.get(at.text)?);
            let values = self.found.activations.in_text(at.text, self.feature);
            Some((at.text, RunningText::new(tokens, values, at.position, most)))
        };
        count.texts.iter().filter_map(of).collect()
    }

    /// The tokens that it comes from in the input that is shown; why not, as a sentence.
    fn sources(&self) -> Result<(RunningText, String), String> {
        let report = self.told.as_ref().map_err(Clone::clone)?;
        let number = |name: &str| match report.value(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        let position = report.parameters.iter().find(|(name, _)| name == "position");
        let position = position.and_then(|(_, value)| value.as_u64()).unwrap_or(0) as usize;
        match report.value("sources") {
            Some(Value::Tokens { values, .. }) => {
                let most = values.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
                let said = format!(
                    "before its activation {}: {} from these tokens, {} from its own embedding, MLPs and biases",
                    decimal_text(number("before").unwrap_or(0.0)),
                    decimal_text(values.iter().map(|value| f64::from(*value)).sum::<f64>()),
                    decimal_text(number("rest").unwrap_or(0.0)),
                );
                let values = values.iter().copied().enumerate().collect();
                Ok((RunningText::new(Arc::clone(&self.tokens), values, position, most), said))
            }
            Some(Value::Missing(why)) => Err(sentence(why)),
            _ => Err("Nothing is told of this input".to_owned()),
        }
    }

    /// What is near to it.
    fn near(&self) -> Vec<Near> {
        let report = self.told.as_ref().ok();
        let table = |value: &str, id: &str, number: &str| -> Vec<(usize, f64)> {
            let Some(Value::Table(columns)) = report.and_then(|report| report.value(value)) else { return Vec::new() };
            let cells = |name: &str| columns.iter().find(|column| column.name == name).map(|column| &column.cells);
            match (cells(id), cells(number)) {
                (Some(ColumnValues::Index(ids)), Some(ColumnValues::Number(numbers))) => {
                    ids.iter().copied().zip(numbers.iter().copied()).take(N_ROWS).collect()
                }
                _ => Vec::new(),
            }
        };
        let of = |title, rows: Vec<(usize, f64)>, text: fn(f64) -> String, are_features: bool, nothing: &str| Near {
            title,
            features: rows.iter().map(|(id, _)| Some(*id).filter(|_| are_features)).collect(),
            rows: rows.into_iter().map(|(id, number)| (id.to_string(), text(number))).collect(),
            nothing: nothing.to_owned(),
        };
        let missing = if report.is_some() { "none" } else { "–" };
        let with = if self.fires_with.is_some() { "none" } else { "…" };
        vec![
            of("Fires with (Pearson)", self.correlated().to_vec(), weight_or_sign, true, with),
            of("Writes like feature (cosine)", table("similar", "feature", "cosine"), weight_or_sign, true, missing),
            of("Writes like neuron (cosine)", table("neurons", "neuron", "cosine"), weight_or_sign, false, missing),
            of("Basis (share of sizes)", table("basis", "index", "share"), share_text, false, missing),
        ]
    }

    fn layout(&self, area: Rect) -> PageParts {
        let line =
            |top: f32, n: usize| Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), ROW_PT * n as f32));
        let head = line(area.top(), 1 + self.words().len());
        let texts = line(head.bottom() + GAP_PT, 1 + self.found.counts.features[self.feature].texts.len());
        let sources = line(texts.bottom() + GAP_PT, 3);
        let top = sources.bottom() + GAP_PT;
        let n = self.near().len();
        let columns = ((area.width() / TABLE_PT) as usize).clamp(1, n);
        let size = vec2(area.width() / columns as f32, ROW_PT * (1 + N_ROWS) as f32);
        let place = |nth: usize| {
            let at = vec2((nth % columns) as f32 * size.x, (nth / columns) as f32 * (size.y + GAP_PT));
            Rect::from_min_size(pos2(area.left(), top) + at, size)
        };
        let tables: Vec<Rect> = (0..n).map(place).collect();
        let bottom = tables.last().map_or(top, Rect::bottom);
        PageParts { texts, sources, tables, bottom }
    }

    /// Its height in a width.
    pub fn height_in(&self, width: f32) -> f32 {
        self.layout(Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0))).bottom
    }

    /// The least width of the page.
    pub const fn least_width_pt() -> f32 {
        LEAST_PT
    }

    /// Places that lead elsewhere, each with what it is.
    pub fn spots(&self, area: Rect) -> Vec<(Rect, Spot)> {
        let layout = self.layout(area);
        let texts = self.texts();
        let texts = texts.iter().enumerate().map(|(nth, (input, _))| (row(layout.texts, 1 + nth), Spot::Text(*input)));
        let near = self.near();
        let tables = near.iter().zip(&layout.tables).flat_map(|(near, rect)| {
            let rows = near.features.iter().enumerate();
            rows.filter_map(|(nth, feature)| Some((row(*rect, 1 + nth), Spot::Feature((*feature)?))))
        });
        texts.chain(tables).collect()
    }
}

/// A cosine or correlation.
fn weight_or_sign(value: f64) -> String {
    if value < 0.0 { format!("−{}", weight_text((-value) as f32)) } else { weight_text(value as f32) }
}

/// A line of a part.
fn row(part: Rect, nth: usize) -> Rect {
    Rect::from_min_size(pos2(part.left(), part.top() + nth as f32 * ROW_PT), vec2(part.width(), ROW_PT))
}

impl Scene for FeatureScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        WIDTH_PT
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        LEAST_PT
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        self.height_in(width)
    }

    fn least_height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        self.height_in(width)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        let layout = self.layout(area);
        let write = |pen: &mut Pen<'_>, row: Rect, words: &str, color| {
            let words = pen.type_.fit(words, SMALL, row.width()).into_owned();
            pen.text(&words, SMALL, color, row.left_center(), Align::Left);
        };
        let head = Rect::from_min_max(area.min, pos2(area.right(), layout.texts.top()));
        write(pen, row(head, 0), &self.facts(), text);
        for (nth, (name, words)) in self.words().into_iter().enumerate() {
            let line = row(head, 1 + nth);
            write(pen, line, name, weak);
            let from = if name.is_empty() { 0.0 } else { NUMBER_PT };
            write(pen, line.with_min_x(line.left() + from), &words, text);
        }
        write(pen, row(layout.texts, 0), "Texts in which it fires most", weak);
        for (nth, (_, running)) in self.texts().iter().enumerate() {
            let line = row(layout.texts, 1 + nth);
            write(pen, line, &decimal_text(f64::from(running.at_middle())), text);
            running.draw(line.with_min_x(line.left() + NUMBER_PT), pen);
        }
        write(pen, row(layout.sources, 0), "Tokens that it comes from in the input that is shown", weak);
        match self.sources() {
            Ok((running, said)) => {
                let line = row(layout.sources, 1);
                write(pen, line, &decimal_text(f64::from(running.at_middle())), text);
                running.draw(line.with_min_x(line.left() + NUMBER_PT), pen);
                write(pen, row(layout.sources, 2), &said, weak);
            }
            Err(why) => write(pen, row(layout.sources, 1), &why, text),
        }
        for (near, rect) in self.near().iter().zip(&layout.tables) {
            let inner = rect.with_max_x(rect.right() - 3.0 * GRID);
            write(pen, row(inner, 0), near.title, weak);
            if near.rows.is_empty() {
                write(pen, row(inner, 1), &near.nothing, weak);
            }
            for (nth, (name, number)) in near.rows.iter().enumerate() {
                let line = row(inner, 1 + nth);
                write(pen, line, name, text);
                pen.text(number, SMALL, text, line.right_center(), Align::Right);
            }
        }
    }

    fn captions(&self) -> Captions {
        let of = format!(
            "{}, {}: features of {} over {}",
            self.found.model,
            self.found.corpus,
            self.found.site,
            counted(self.found.n_done - self.found.left_out.len(), "text")
        );
        let how = "A tint is the activation over the largest of all texts; special tokens are left aside";
        let sources =
            "Sources follow attention along the direction that the feature reads, with the scale of the run held";
        Captions { full: joined([&*of, how, sources]), short: of }
    }
}

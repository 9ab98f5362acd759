//! Words that translate each other: a grid of source and target words with links, gold beside them.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, TitledPiece, n_lines, room};
use crate::{
    analysis::explain::{
        alignment::{Gold, LinkGroup, LinkKind, Links, fertility, groups},
        report::{ColumnValues, Report, TableColumn, Value},
    },
    capture::Matrix,
    figure::{
        font::Align,
        list::faded,
        measure::{GRID, text_size::SMALL},
        path::Path,
        pen::Pen,
        views::cells,
    },
    ids::{HeadId, StackKind},
    text::{decimal_text, share_text, weight_text},
};

const CELL_PT: f32 = 26.0;
const LEAST_CELL_PT: f32 = 12.0;
const MOST_NAME_PT: f32 = 110.0;
/// Width of what the marks mean, without links made by hand and with them.
const LEAST_PT: f32 = 260.0;
const WITH_GOLD_PT: f32 = 430.0;
/// Room for the number of links of a word, at the right of its row and below its column.
const COUNT_PT: f32 = 16.0;
/// Groups of words that are named, one line each.
const MOST_GROUPS: usize = 6;
/// Height of a line of what the marks mean.
const LEGEND_PT: f32 = 22.0;

/// What makes a link of one direction.
const LARGEST: &str = "link (largest weight of the target word)";

/// An alignment of words.
#[derive(Clone, Debug)]
pub struct LinkGrid {
    pub source: Vec<String>,
    pub target: Vec<String>,
    /// Attention between them, target by source, where it is known.
    pub weights: Option<Matrix>,
    /// Links that attention makes.
    pub links: Links,
    pub meaning: &'static str,
    /// Links that somebody made.
    pub gold: Option<Gold>,
}

impl LinkGrid {
    const fn shape(&self) -> (usize, usize) {
        (self.target.len(), self.source.len())
    }

    const fn n_words(&self) -> [usize; 2] {
        [self.source.len(), self.target.len()]
    }

    /// How the words are linked: how many groups there are of each kind, and those that are not one word to one.
    fn told(&self) -> Vec<String> {
        let groups = groups(&self.links, self.n_words());
        let count = |kind: LinkKind| groups.iter().filter(|group| group.kind() == kind).count();
        let pairs = [LinkKind::OneToOne, LinkKind::OneToMany, LinkKind::ManyToOne, LinkKind::ManyToMany];
        let pairs = pairs.map(|kind| format!("{} {}", count(kind), kind.title())).join(" · ");
        let mut lines = vec![format!("Numbers at the edges: links of each word (fertility) · {pairs}")];
        let word = |words: &[String], at: &usize| words.get(*at).cloned().unwrap_or_default();
        for (kind, words) in [(LinkKind::UnlinkedSource, &self.source), (LinkKind::UnlinkedTarget, &self.target)] {
            let alone = groups.iter().filter(|group| group.kind() == kind);
            let names: Vec<String> =
                alone.flat_map(|group| group.sources.iter().chain(&group.targets)).map(|at| word(words, at)).collect();
            if !names.is_empty() {
                lines.push(format!("{}: {}", kind.title(), names.join(", ")));
            }
        }
        let joined = |words: &[String], of: &std::collections::BTreeSet<usize>| {
            of.iter().map(|at| word(words, at)).collect::<Vec<_>>().join(" ")
        };
        let is_wide = |group: &&LinkGroup| {
            !group.sources.is_empty() && !group.targets.is_empty() && group.kind() != LinkKind::OneToOne
        };
        let wide: Vec<&LinkGroup> = groups.iter().filter(is_wide).collect();
        lines.extend(wide.iter().take(MOST_GROUPS).map(|group| {
            format!(
                "{}: {} → {}",
                group.kind().title(),
                joined(&self.source, &group.sources),
                joined(&self.target, &group.targets)
            )
        }));
        if wide.len() > MOST_GROUPS {
            lines.push(format!("{} more groups", wide.len() - MOST_GROUPS));
        }
        lines
    }

    /// Lines of [`Self::told`] at a width.
    fn n_told(&self, width: f32) -> usize {
        self.told().iter().map(|line| n_lines(line, width)).sum()
    }

    fn name_width(&self) -> f32 {
        room(self.target.iter().map(String::as_str), MOST_NAME_PT).max(24.0) + 2.0 * GRID
    }

    fn name_height(&self) -> f32 {
        room(self.source.iter().map(String::as_str), MOST_NAME_PT) + 2.0 * GRID
    }

    fn side(&self, width: f32) -> f32 {
        let n = self.source.len().max(1) as f32;
        ((width - self.name_width() - COUNT_PT) / n).clamp(LEAST_CELL_PT.min(width), CELL_PT)
    }

    fn cells(&self, area: Rect) -> Rect {
        let side = self.side(area.width());
        let corner = area.min + vec2(self.name_width(), self.name_height());
        Rect::from_min_size(corner, vec2(self.source.len() as f32 * side, self.target.len() as f32 * side))
    }

    fn draw_marks(&self, grid: Rect, pen: &mut Pen<'_>) {
        let ink = pen.palette.text;
        let shape = self.shape();
        for &(source, target) in self.gold.iter().flat_map(|gold| &gold.possible) {
            let is_sure = self.gold.as_ref().is_some_and(|gold| gold.sure.contains(&(source, target)));
            if source < shape.1 && target < shape.0 {
                let cell = cells::cell_rect(grid, shape, target, source).shrink(3.0);
                let (width, color) = if is_sure { (2.0, ink) } else { (1.0, faded(ink, 0.6)) };
                pen.frame(cell, width, color);
            }
        }
        for &(source, target) in &self.links {
            let cell = cells::cell_rect(grid, shape, target, source);
            pen.fill(Path::circle(cell.center(), cell.width() * 0.22), ink);
        }
    }

    /// The number of links of each word.
    fn draw_counts(&self, grid: Rect, pen: &mut Pen<'_>) {
        let [sources, targets] = fertility(&self.links, self.n_words());
        let weak = pen.palette.text_weak;
        for (col, n) in sources.iter().enumerate() {
            let x = cells::cell_rect(grid, self.shape(), 0, col).center().x;
            pen.text(&n.to_string(), SMALL, weak, pos2(x, grid.bottom() + COUNT_PT / 2.0), Align::Center);
        }
        for (row, n) in targets.iter().enumerate() {
            let y = cells::cell_rect(grid, self.shape(), row, 0).center().y;
            pen.text(&n.to_string(), SMALL, weak, pos2(grid.right() + COUNT_PT / 2.0, y), Align::Center);
        }
    }

    fn draw_legend(&self, at: Pos2, width: f32, pen: &mut Pen<'_>) {
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        pen.fill(Path::circle(at + vec2(4.0, 0.0), 4.0), pen.palette.text);
        let mut x = 12.0;
        x += pen.text(self.meaning, SMALL, weak, at + vec2(x, 0.0), Align::Left) + 14.0;
        if self.gold.is_none() {
            return;
        }
        // Below each other where there is no room beside each other.
        let mut at = at;
        let several = self.legend_rows(width) > 1;
        for (width, color, name) in [(2.0, text, "hand-made, sure"), (1.0, faded(text, 0.6), "hand-made, possible")] {
            if several {
                (x, at.y) = (0.0, at.y + LEGEND_PT);
            }
            pen.frame(Rect::from_center_size(at + vec2(x + 5.0, 0.0), vec2(8.0, 8.0)), width, color);
            x += 14.0;
            x += pen.text(name, SMALL, weak, at + vec2(x, 0.0), Align::Left) + 14.0;
        }
    }

    fn legend_rows(&self, width: f32) -> usize {
        if self.gold.is_some() && width < WITH_GOLD_PT { 3 } else { 1 }
    }
}

impl Piece for LinkGrid {
    fn width(&self) -> f32 {
        (self.name_width() + self.source.len() as f32 * CELL_PT + COUNT_PT).max(if self.gold.is_some() {
            WITH_GOLD_PT
        } else {
            LEAST_PT
        })
    }

    fn least_width(&self) -> f32 {
        (self.name_width() + self.source.len() as f32 * LEAST_CELL_PT + COUNT_PT).max(LEAST_PT)
    }

    fn height(&self, width: f32) -> f32 {
        let grid = self.name_height() + self.target.len() as f32 * self.side(width) + COUNT_PT;
        grid + self.legend_rows(width) as f32 * LEGEND_PT + self.n_told(width) as f32 * ROW_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (grid, shape) = (self.cells(area), self.shape());
        let most = self.weights.as_ref().map_or(0.0, |all| all.as_slice().iter().copied().fold(0.0, f32::max));
        let (ground, rule, text) = (pen.palette.raised, pen.palette.rule, pen.palette.text);
        for row in 0..shape.0 {
            for col in 0..shape.1 {
                let cell = cells::cell_rect(grid, shape, row, col).shrink(0.5);
                pen.rect(cell, ground);
                let weight = self.weights.as_ref().and_then(|all| all.get(row, col)).unwrap_or(0.0);
                if most > 0.0 {
                    pen.rect(cell, faded(text, 0.55 * weight / most));
                }
            }
        }
        pen.frame(grid, 0.75, rule);
        self.draw_marks(grid, pen);
        let (query, key) = (pen.palette.query, pen.palette.key);
        for (row, word) in self.target.iter().enumerate() {
            let y = cells::cell_rect(grid, shape, row, 0).center().y;
            let word = pen.type_.fit(word, SMALL, self.name_width() - 2.0 * GRID).into_owned();
            pen.text(&word, SMALL, query, pos2(grid.left() - 1.5 * GRID, y), Align::Right);
        }
        for (col, word) in self.source.iter().enumerate() {
            let x = cells::cell_rect(grid, shape, 0, col).center().x;
            let word = pen.type_.fit(word, SMALL, self.name_height() - GRID).into_owned();
            let at = pos2(x, grid.top() - GRID);
            pen.turned(&word, SMALL, key, at, Align::Left, -std::f32::consts::FRAC_PI_2);
        }
        self.draw_counts(grid, pen);
        let top = grid.bottom() + COUNT_PT;
        self.draw_legend(pos2(area.left(), top + LEGEND_PT / 2.0 + 2.0), area.width(), pen);
        let mut at = pos2(area.left(), top + self.legend_rows(area.width()) as f32 * LEGEND_PT + ROW_PT / 2.0);
        for line in self.told() {
            for words in pen.broken(&line, SMALL, area.width()) {
                pen.text(&words, SMALL, pen.palette.text, at, Align::Left);
                at.y += ROW_PT;
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let grid = self.cells(area);
        let (row, col) = cells::cell_at(grid, self.shape(), at)?;
        let weight = self.weights.as_ref().and_then(|all| all.get(row, col));
        let mut text = format!("{} ← {}", self.target[row], self.source[col]);
        if let Some(weight) = weight {
            text = format!("{text}\nweight {}", weight_text(weight));
        }
        let linked = if self.links.contains(&(col, row)) { "linked" } else { "not linked" };
        text = format!("{text}\n{linked}");
        if let Some(gold) = &self.gold {
            let by_hand = if gold.sure.contains(&(col, row)) {
                "hand-made, sure"
            } else if gold.possible.contains(&(col, row)) {
                "hand-made, possible"
            } else {
                "not linked by hand"
            };
            text = format!("{text}, {by_hand}");
        }
        Some(Hit::saying(cells::cell_rect(grid, self.shape(), row, col), text))
    }

    fn spoken(&self) -> Vec<String> {
        let word = |words: &[String], nth: usize| words.get(nth).cloned().unwrap_or_default();
        let link = |&(source, target): &(usize, usize)| {
            format!("{} is linked with {}", word(&self.target, target), word(&self.source, source))
        };
        self.links.iter().map(link).chain(self.told()).collect()
    }
}

/// The links of the head that is looked at, and those of its layer's mean.
pub fn parts(report: &Report, head: HeadId) -> Vec<TitledPiece> {
    let words = |name: &str| -> Vec<String> {
        let found = report.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        found.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    };
    let gold = report.parameters.iter().find(|(name, _)| name == "gold").and_then(|(_, value)| value.as_str());
    let gold = gold.and_then(|text| Gold::parse(text.trim_end(), 0).ok()?.into_iter().next());
    let Some(own) = Alignments::of(report, "alignments") else { return Vec::new() };
    let weights = match report.value("weights") {
        Some(Value::Layers(layers)) => layers.get(head.layer),
        _ => None,
    };
    let weights_of = |one: Option<usize>| match weights {
        Some(Value::Heads { values, .. }) => one.map_or_else(|| values.mean(), |head| values.head(head)),
        _ => None,
    };
    let mut shown = vec![(format!("L{}", head.layer), None, format!("Layer {}, mean of its heads", head.layer))];
    if head.stack == StackKind::Cross {
        let name = format!("L{}H{}", head.layer, head.head);
        shown.insert(0, (name.clone(), Some(head.head), format!("Head {name}")));
    }
    let grid = |all: &Alignments<'_>, row: usize, weights: Option<Matrix>, (title, link): (&str, &'static str)| {
        let piece = LinkGrid {
            source: words("source"),
            target: words("target"),
            weights,
            links: all.links_of(row),
            meaning: link,
            gold: gold.clone(),
        };
        let meaning = "AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), with links A and hand-made links, sure S and \
            possible P: 0 is best";
        let title = format!("{title}{}", all.worth(row));
        TitledPiece { title, meaning: meaning.to_owned(), piece: Arc::new(piece) }
    };
    let mut parts: Vec<TitledPiece> = shown
        .into_iter()
        .filter_map(|(name, one, title)| Some(grid(&own, own.row(&name)?, weights_of(one), (&title, LARGEST))))
        .collect();
    // Of the layers of the other direction the one that agrees most, which nobody has to know by hand.
    if let Some(both) = Alignments::of(report, "symmetrized") {
        let agreement = |row: &usize| both.number("agreement", *row).unwrap_or(f64::NEG_INFINITY);
        let rows = (0..both.names.len()).filter(|row| both.names[*row].starts_with(&format!("L{} + ", head.layer)));
        if let Some(row) = rows.max_by(|a, b| agreement(a).total_cmp(&agreement(b)).then(b.cmp(a))) {
            let other = both.names[row].rsplit(" + ").next().unwrap_or_default();
            let way = report.parameters.iter().find(|(name, _)| name == "symmetrize").and_then(|(_, way)| way.as_str());
            let title =
                format!("Layer {} with {other} of the other direction, {}", head.layer, way.unwrap_or_default());
            // They are made of links, and have no weights.
            parts.push(grid(&both, row, None, (&title, "link of both directions")));
        }
    }
    parts
}

/// A table of alignments.
struct Alignments<'a> {
    columns: &'a [TableColumn],
    names: &'a [String],
    links: &'a [Vec<String>],
}

impl<'a> Alignments<'a> {
    fn of(report: &'a Report, name: &str) -> Option<Self> {
        let Some(Value::Table(columns)) = report.value(name) else { return None };
        let cells = |name: &str| columns.iter().find(|column| column.name == name).map(|column| &column.cells);
        match (cells("head")?, cells("links")?) {
            (ColumnValues::Text(names), ColumnValues::Texts(links)) => Some(Self { columns, names, links }),
            _ => None,
        }
    }

    fn row(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn links_of(&self, row: usize) -> Links {
        let pair = |text: &String| {
            let (source, target) = text.split_once('-')?;
            Some((source.parse().ok()?, target.parse().ok()?))
        };
        self.links.get(row).into_iter().flatten().filter_map(pair).collect()
    }

    fn number(&self, name: &str, row: usize) -> Option<f64> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        match &column.cells {
            ColumnValues::Number(cells) => cells.get(row).filter(|value| value.is_finite()).copied(),
            _ => None,
        }
    }

    /// What it is worth against links made by hand, where there are some.
    fn worth(&self, row: usize) -> String {
        let share = |name: &str| self.number(name, row).map_or_else(|| "–".to_owned(), share_text);
        self.number("aer", row).map_or_else(String::new, |aer| {
            let (aer, precision, recall) = (decimal_text(aer), share("precision"), share("recall"));
            format!(": alignment error rate {aer}, precision {precision}, recall {recall}")
        })
    }
}

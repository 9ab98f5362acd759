//! Tokens that are nearest to words: a list with bars for each, side by side.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, TitledPiece, room};
use crate::{
    analysis::explain::report::{ColumnValues, Report, TableColumn, Value},
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    text::{decimal_text, norm_text},
};

/// Lists that are drawn, and tokens of each; files have all.
const MOST_LISTS: usize = 12;
const MOST_TOKENS: usize = 10;
/// Between lists, beside each other and below.
const BETWEEN_PT: f32 = 4.0 * GRID;
/// Room for a token, for its bar and for its number.
const MOST_NAME_PT: f32 = 110.0;
const LEAST_NAME_PT: f32 = 48.0;
const BAR_PT: f32 = 64.0;
const NUMBER_PT: f32 = 40.0;

/// Nearest tokens of some words.
#[derive(Clone, Debug)]
struct Lists {
    lists: Vec<List>,
    /// What nearness is.
    unit: &'static str,
}

/// Those of one word.
#[derive(Clone, Debug)]
struct List {
    word: String,
    tokens: Vec<(String, f64)>,
}

/// The lists of a report, each with its title.
pub fn parts(report: &Report) -> Vec<TitledPiece> {
    let parameter = |name: &str| {
        let found = report.parameters.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let by = parameter("nearness");
    let unit = if by == "dot" { "dot product" } else { "cosine" };
    let about = |name: &str| report.method.value(name).map_or("", |value| value.meaning);
    let part = |name: &str, title: String| {
        let Some(Value::Table(columns)) = report.value(name) else { return None };
        let lists = Lists { lists: lists(columns)?, unit };
        let n = lists.lists.len();
        let left_out = if n > MOST_LISTS { format!(", the first {MOST_LISTS} of {n} words") } else { String::new() };
        let lists = Lists { lists: lists.lists.into_iter().take(MOST_LISTS).collect(), ..lists };
        let title = format!("{title}{left_out}");
        (n > 0).then(|| TitledPiece { title, meaning: about(name).to_owned(), piece: Arc::new(lists) })
    };
    let of_sum = part("answers", format!("Nearest tokens of {}, by {unit}", parameter("sum")));
    let of_words = part("neighbours", format!("Nearest tokens of each word, by {unit}"));
    of_sum.into_iter().chain(of_words).collect()
}

/// The lists of a table of tokens, where each row may say of which word it is.
fn lists(columns: &[TableColumn]) -> Option<Vec<List>> {
    let texts = |name: &str| {
        columns.iter().find(|column| column.name == name).and_then(|column| match &column.cells {
            ColumnValues::Text(cells) => Some(cells),
            _ => None,
        })
    };
    let ColumnValues::Number(near) = &columns.last()?.cells else { return None };
    let words = texts("word");
    let mut lists: Vec<List> = Vec::new();
    for (nth, (token, near)) in texts("token")?.iter().zip(near).enumerate() {
        let word = words.map_or("", |words| words[nth].as_str());
        match lists.last_mut().filter(|list| list.word == word) {
            Some(list) if list.tokens.len() < MOST_TOKENS => list.tokens.push((token.clone(), *near)),
            Some(_) => {}
            None => lists.push(List { word: word.to_owned(), tokens: vec![(token.clone(), *near)] }),
        }
    }
    Some(lists)
}

impl Lists {
    fn has_words(&self) -> bool {
        self.lists.iter().any(|list| !list.word.is_empty())
    }

    fn name_width(&self) -> f32 {
        let names = self.lists.iter().flat_map(|list| &list.tokens).map(|(token, _)| token.as_str());
        room(names, MOST_NAME_PT).max(LEAST_NAME_PT) + 2.0 * GRID
    }

    fn list_width(&self) -> f32 {
        self.name_width() + BAR_PT + NUMBER_PT
    }

    fn n_beside(&self, width: f32) -> usize {
        let n = self.lists.len().max(1);
        let fit = (((width + BETWEEN_PT) / (self.list_width() + BETWEEN_PT)) as usize).clamp(1, n);
        n.div_ceil(n.div_ceil(fit))
    }

    fn header(&self) -> f32 {
        if self.has_words() { ROW_PT + 2.0 } else { 0.0 }
    }

    fn list_height(&self) -> f32 {
        let rows = self.lists.iter().map(|list| list.tokens.len()).max().unwrap_or(0);
        self.header() + rows as f32 * ROW_PT
    }

    fn place(&self, area: Rect, nth: usize) -> Rect {
        let beside = self.n_beside(area.width());
        let (row, col) = (nth / beside, nth % beside);
        let left = area.left() + col as f32 * (self.list_width() + BETWEEN_PT);
        let top = area.top() + row as f32 * (self.list_height() + BETWEEN_PT);
        let width = self.list_width().min(area.width());
        Rect::from_min_size(pos2(left, top), vec2(width, self.list_height()))
    }

    fn row(&self, place: Rect, nth: usize) -> Rect {
        let top = place.top() + self.header() + nth as f32 * ROW_PT;
        Rect::from_min_size(pos2(place.left(), top), vec2(place.width(), ROW_PT))
    }

    /// The largest of all, so that bars of several lists can be compared.
    fn most(&self) -> f64 {
        let all = self.lists.iter().flat_map(|list| &list.tokens).map(|(_, near)| near.abs());
        all.fold(f64::MIN_POSITIVE, f64::max)
    }

    fn text(&self, near: f64) -> String {
        if self.unit == "cosine" { decimal_text(near) } else { norm_text(near) }
    }
}

impl Piece for Lists {
    fn width(&self) -> f32 {
        let n = self.lists.len().min(4) as f32;
        n * (self.list_width() + BETWEEN_PT) - BETWEEN_PT
    }

    fn least_width(&self) -> f32 {
        self.list_width()
    }

    fn height(&self, width: f32) -> f32 {
        let rows = self.lists.len().div_ceil(self.n_beside(width)) as f32;
        rows * (self.list_height() + BETWEEN_PT) - BETWEEN_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let most = self.most();
        for (nth, list) in self.lists.iter().enumerate() {
            let place = self.place(area, nth);
            if !pen.sees(place) {
                continue;
            }
            if self.has_words() {
                let word = pen.type_.fit(&list.word, SMALL, place.width()).into_owned();
                let at = pos2(place.left(), place.top() + ROW_PT / 2.0);
                pen.text(&word, SMALL, pen.palette.query, at, Align::Left);
            }
            for (nth, (token, near)) in list.tokens.iter().enumerate() {
                let row = self.row(place, nth);
                let middle = row.center().y;
                let token = pen.type_.fit(token, SMALL, self.name_width() - GRID).into_owned();
                pen.text(&token, SMALL, pen.palette.text, pos2(row.left(), middle), Align::Left);
                let left = row.left() + self.name_width();
                let long = ((near.max(0.0) / most) as f32 * BAR_PT).max(0.5);
                pen.rect(Rect::from_x_y_ranges(left..=left + long, row.shrink(3.0).y_range()), pen.palette.bar);
                pen.text(&self.text(*near), SMALL, pen.palette.text_weak, pos2(row.right(), middle), Align::Right);
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        self.lists.iter().enumerate().find_map(|(nth, list)| {
            let place = self.place(area, nth);
            let nth = (0..list.tokens.len()).find(|nth| self.row(place, *nth).contains(at))?;
            let (token, near) = &list.tokens[nth];
            let of = if list.word.is_empty() { String::new() } else { format!(" to {}", list.word) };
            let text = format!(
                "{token}\nnearest{of}: {} of {}\n{} {}",
                nth + 1,
                list.tokens.len(),
                self.unit,
                self.text(*near)
            );
            Some(Hit::saying(self.row(place, nth), text))
        })
    }

    fn spoken(&self) -> Vec<String> {
        let of_list = |list: &List| {
            let tokens: Vec<String> =
                list.tokens.iter().map(|(token, near)| format!("{token} {}", self.text(*near))).collect();
            let of = if list.word.is_empty() { String::new() } else { format!(" to {}", list.word) };
            format!("Nearest{of}: {}", tokens.join(", "))
        };
        self.lists.iter().map(of_list).collect()
    }
}

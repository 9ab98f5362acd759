//! What the laboratory says of a head beside its page: what it writes by its weights alone, and what it does to the
//! prediction of the input that is open.

use std::{borrow::Cow, sync::Arc};

use emath::{Rect, pos2, vec2};

use super::{
    draw_title,
    layout::{HeadLayout, N_SOURCES, N_TOKENS, ROW_PT, shown},
};
use crate::{
    analysis::explain::report::{ColumnValues, Report, TableColumn, Value},
    capture::{Capture, head_name},
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
        views::lab::Answered,
    },
    ids::HeadId,
    text::{change_text, decimal_text, grouped, ordinal_text, sentence},
};

/// Said where there is no model to ask.
pub const NO_MODEL: &str = "It is worked out with the weights of the model, and there is none here";

/// What a head raises and lowers for some tokens that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenPart {
    rows: Vec<WrittenRow>,
    /// Why there are none.
    undefined: Option<String>,
    /// Whether it copies.
    said: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct WrittenRow {
    token: String,
    raised: String,
    lowered: String,
    /// The rank of the token itself.
    own: String,
}

/// What a head does to an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectPart {
    /// Which output.
    title: String,
    /// What it adds from each token, the largest first, and from all others.
    sources: Vec<(String, f64)>,
    /// What they come to, and what is lost without the head.
    said: Vec<String>,
}

/// The answer of a method about a head, among those that there are.
pub fn among<'a>(answers: &'a [Answered], method: &str, head: HeadId) -> Option<&'a Arc<Report>> {
    let name = head_name(head);
    let is_it = |report: &&Arc<Report>| {
        report.method.name == method && parameter(report, "head").is_some_and(|value| *value == name)
    };
    answers.iter().filter_map(|answer| answer.report.as_ref()).find(is_it)
}

fn parameter<'a>(report: &'a Report, name: &str) -> Option<&'a serde_json::Value> {
    report.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// A number of a report; the reason where it is not defined.
fn number(report: &Report, name: &str) -> Option<Result<f64, String>> {
    match report.value(name)? {
        Value::Number(number) => Some(Ok(*number)),
        Value::Missing(why) => Some(Err(why.clone())),
        _ => None,
    }
}

impl WrittenPart {
    /// Of the answer of the method `writes`.
    pub fn of(report: &Report) -> Self {
        let copying = |name: &str, of: &str| match number(report, name)? {
            Ok(score) => Some(format!("{of} {}", change_text(score))),
            Err(why) => Some(format!("{of} {why}")),
        };
        let scores = [copying("copying", "copying score"), copying("copying_of_stream", "of W_V W_O alone")];
        let said = scores.into_iter().flatten().collect::<Vec<_>>().join(", ");
        match report.value("written") {
            Some(Value::Table(columns)) => Self { rows: rows(columns), undefined: None, said },
            Some(Value::Missing(why)) => Self { rows: Vec::new(), undefined: Some(sentence(why)), said },
            _ => Self { said, ..Self::default() },
        }
    }

    /// What is drawn, in lines.
    pub fn spoken(&self) -> String {
        let row = |row: &WrittenRow| format!("{} raises {}; lowers {}", row.token, row.raised, row.lowered);
        let rows = self.rows.iter().map(row).chain(self.undefined.clone());
        rows.chain([sentence(&self.said)]).collect::<Vec<_>>().join("\n")
    }

    fn draw(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (text, weak, plus, minus) = (pen.palette.text, pen.palette.text_weak, pen.palette.plus, pen.palette.minus);
        let shares = [0.0, 0.22, 0.56, 0.88];
        let cell = |row: Rect, nth: usize| {
            let right = shares.get(nth + 1).copied().unwrap_or(1.0);
            let [from, to] = [shares[nth], right].map(|share| row.left() + share * row.width());
            Rect::from_x_y_ranges(from..=to - 2.0 * GRID, row.y_range())
        };
        let write = |pen: &mut Pen<'_>, row: Rect, nth: usize, words: &str, color| {
            let cell = cell(row, nth);
            let words = pen.type_.fit(words, SMALL, cell.width()).into_owned();
            pen.text(&words, SMALL, color, cell.left_center(), Align::Left);
        };
        if let Some(why) = &self.undefined {
            let at = HeadLayout::row(rect, 0).left_top();
            let height = pen.paragraph(why, SMALL, weak, at, rect.width());
            pen.paragraph(&sentence(&self.said), SMALL, weak, at + vec2(0.0, height + GRID), rect.width());
            return;
        }
        for (nth, name) in ["reads", "raises", "lowers", "itself"].into_iter().enumerate() {
            write(pen, HeadLayout::row(rect, 0), nth, name, weak);
        }
        for (nth, row) in self.rows.iter().take(N_TOKENS).enumerate() {
            let at = HeadLayout::row(rect, nth + 1);
            for (nth, (words, color)) in
                [(&row.token, text), (&row.raised, plus), (&row.lowered, minus), (&row.own, weak)]
                    .into_iter()
                    .enumerate()
            {
                write(pen, at, nth, words, color);
            }
        }
        let last = HeadLayout::row(rect, self.rows.len().min(N_TOKENS) + 1);
        let said = pen.type_.fit(&self.said, SMALL, rect.width()).into_owned();
        pen.text(&said, SMALL, weak, last.left_center(), Align::Left);
    }
}

fn rows(columns: &[TableColumn]) -> Vec<WrittenRow> {
    let column = |name: &str| columns.iter().find(|column| column.name == name).map(|column| &column.cells);
    let words = |name: &str, nth: usize| match column(name) {
        Some(ColumnValues::Texts(cells)) => {
            let words = cells.get(nth).into_iter().flatten().map(|word| shown(word.trim()));
            words.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    let Some(ColumnValues::Text(tokens)) = column("token") else { return Vec::new() };
    let own = |nth: usize| match column("rank_of_itself") {
        Some(ColumnValues::Number(ranks)) => {
            ranks.get(nth).filter(|rank| rank.is_finite()).map_or_else(String::new, |rank| ordinal_text(*rank as usize))
        }
        _ => String::new(),
    };
    let row = |(nth, token): (usize, &String)| WrittenRow {
        token: shown(token.trim()),
        raised: words("raised", nth),
        lowered: words("lowered", nth),
        own: own(nth),
    };
    tokens.iter().enumerate().map(row).collect()
}

impl EffectPart {
    /// Of the answer of the method `head-effect`, about an input.
    pub fn of(capture: &Capture, head: HeadId, report: &Report) -> Self {
        let label = |name: &str| Some(shown(parameter(report, name)?.get("label")?.as_str()?.trim()));
        let against = label("against").map_or_else(String::new, |foil| format!(" against “{foil}”"));
        let answer = label("class").map_or_else(|| "the prediction".to_owned(), |answer| format!("“{answer}”"));
        let title = format!("Effect on {answer}{against}, in the open input");
        let mut sources = Vec::new();
        if let Some(Value::Tokens { values, .. }) = report.value("sources") {
            let tokens = capture.key_tokens(head.stack);
            let mut order: Vec<usize> = (0..values.len()).filter(|key| values[*key] != 0.0).collect();
            order.sort_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()).then(a.cmp(b)));
            let name = |key: usize| {
                let text = tokens.get(key).map_or("", |token| token.text.trim());
                format!("{key} {}", shown(text))
            };
            let n_own = if order.len() > N_SOURCES { N_SOURCES - 1 } else { order.len() };
            let (own, others) = order.split_at(n_own);
            sources.extend(own.iter().map(|key| (name(*key), f64::from(values[*key]))));
            if !others.is_empty() {
                let sum = others.iter().map(|key| f64::from(values[*key])).sum();
                sources.push((format!("{} others", grouped(others.len())), sum));
            }
        }
        let raw = report.raw();
        let direct = number(report, "direct").map(|direct| match direct {
            Ok(direct) => format!("Directly {} to the {raw}, the sum of these", change_text(direct)),
            Err(why) => format!("Directly: {why}"),
        });
        let lost = match (number(report, "lost"), number(report, "lost_mean")) {
            (Some(Ok(lost)), Some(Ok(mean))) => {
                Some(format!("Off: {raw} {}, with its mean {}", change_text(-lost), change_text(-mean)))
            }
            _ => None,
        };
        let change = number(report, "change").and_then(Result::ok).map(|change| {
            let flips =
                if report.value("flips") == Some(&Value::Flag(true)) { ", the answer is another one" } else { "" };
            format!("Off: total variation of the output {}{flips}", decimal_text(change))
        });
        Self { title, sources, said: [direct, lost, change].into_iter().flatten().collect() }
    }

    /// What is drawn, in lines.
    pub fn spoken(&self) -> String {
        let source = |(name, part): &(String, f64)| format!("{name} {}", change_text(*part));
        let all = [self.title.clone()].into_iter().chain(self.sources.iter().map(source)).chain(self.said.clone());
        all.collect::<Vec<_>>().join("\n")
    }

    fn draw(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (text, weak, plus, minus) = (pen.palette.text, pen.palette.text_weak, pen.palette.plus, pen.palette.minus);
        let most = self.sources.iter().map(|(_, part)| part.abs()).fold(1e-9, f64::max);
        let middle = rect.left() + 0.55 * rect.width();
        let number_pt = 12.0 * GRID;
        let reach = rect.right() - number_pt - middle;
        for (nth, (name, part)) in self.sources.iter().take(N_SOURCES).enumerate() {
            let row = HeadLayout::row(rect, nth);
            let name = pen.type_.fit(name, SMALL, middle - reach - 2.0 * GRID - row.left()).into_owned();
            pen.text(&name, SMALL, text, row.left_center(), Align::Left);
            let end = middle + reach * (part / most) as f32;
            let bar =
                Rect::from_x_y_ranges(middle.min(end)..=middle.max(end), row.y_range()).shrink2(vec2(0.0, 0.75 * GRID));
            pen.rect(bar, if *part < 0.0 { minus } else { plus });
            pen.text(&change_text(*part), SMALL, weak, row.right_center(), Align::Right);
        }
        let n = self.sources.len().min(N_SOURCES);
        if n > 0 {
            let bottom = HeadLayout::row(rect, n - 1).bottom();
            pen.line(pos2(middle, HeadLayout::row(rect, 0).top()), pos2(middle, bottom), 0.75, pen.palette.rule);
        }
        let mut at = HeadLayout::row(rect, n).left_top();
        for said in &self.said {
            at.y += pen.paragraph(said, SMALL, weak, at, rect.width()).max(ROW_PT);
        }
    }
}

/// Draws what a head writes, or why that is not there.
pub fn draw_written(of: &Result<Arc<WrittenPart>, Cow<'static, str>>, rect: Rect, pen: &mut Pen<'_>) {
    draw_title("Writes, by its weights alone: static, ignores the context", rect, pen);
    match of {
        Ok(of) => of.draw(rect, pen),
        Err(why) => draw_sentence(why, rect, pen),
    }
}

/// Draws what a head does to the output, or why that is not there.
pub fn draw_effect(of: &Result<Arc<EffectPart>, Cow<'static, str>>, rect: Rect, pen: &mut Pen<'_>) {
    match of {
        Ok(of) => {
            draw_title(&of.title, rect, pen);
            of.draw(rect, pen);
        }
        Err(why) => {
            draw_title("Effect on the prediction, in the open input", rect, pen);
            draw_sentence(why, rect, pen);
        }
    }
}

fn draw_sentence(words: &str, rect: Rect, pen: &mut Pen<'_>) {
    let at = HeadLayout::row(rect, 0).left_top();
    pen.paragraph(words, SMALL, pen.palette.text_weak, at, rect.width());
}

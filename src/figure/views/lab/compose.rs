//! From answers to what is drawn of them.

use std::sync::Arc;

use super::{
    Piece, Section, TitledPiece,
    agreement::Agreement,
    bars::{BarColumn, Bars},
    facts::{Facts, Strip},
    grid::Grid,
    links,
    map::{Map, MapAxis, Place},
    masks, nearest,
    panels::Panels,
    patches::Patches,
    plane, sentences, shares,
};
use crate::{
    analysis::explain::{
        compare,
        report::{
            Axis, ColumnValues, Form, LabQuestion, Leaf, MethodPicture, Report, Sorted, TableColumn, Value, ValueSpec,
        },
    },
    capture::{Capture, Matrix},
    ids::{HeadId, Side, StackKind},
    raster::ColorMap,
    text::{decimal_text, norm_text, share_text, weight_text},
};

/// Rows of a table that are drawn; files have all.
const MAX_ROWS: usize = 16;
/// Words in a cell of a table.
const MAX_WORDS: usize = 8;

/// A method with what it answered.
#[derive(Clone, Debug)]
pub struct Answered {
    pub column: &'static str,
    pub title: &'static str,
    /// Its answer; none while that is on its way.
    pub report: Option<Arc<Report>>,
}

impl Answered {
    /// Whether its method says something of pairs of tokens, and nothing of single ones.
    pub fn is_of_pairs(&self) -> bool {
        let method = self.report.as_ref().map(|report| report.method);
        method
            .is_some_and(|method| !method.values.is_empty() && method.values.iter().all(|value| value.name == "matrix"))
    }

    /// Tells answers apart: each is made once.
    pub fn identity(&self) -> usize {
        self.report.as_ref().map_or(0, |report| Arc::as_ptr(report) as usize)
    }
}

/// Everything that is drawn of the answers to a question: maps of `head`, special tokens among words where wanted.
pub fn compose(
    capture: &Capture,
    question: LabQuestion,
    answers: &[Answered],
    (head, with_special): (HeadId, bool),
) -> Vec<Section> {
    let of = |answer: &Answered| {
        let report = answer.report.as_deref();
        Section {
            column: Some(answer.column),
            title: answer.title.to_owned(),
            notes: report.map_or_else(Vec::new, |report| report.notes.clone()),
            parts: report.map_or_else(Vec::new, |report| parts(capture, report, head)),
        }
    };
    if question != LabQuestion::Depends {
        return answers.iter().map(of).collect();
    }
    // What is of pairs alone has no bar beside the others.
    let (pairs, tokens): (Vec<_>, Vec<_>) = answers.iter().cloned().partition(Answered::is_of_pairs);
    let mut sections =
        if tokens.is_empty() && !pairs.is_empty() { Vec::new() } else { by_side(capture, &tokens, with_special) };
    sections.extend(tokens.iter().filter_map(|answer| masks::section(capture, answer)));
    sections.extend(pairs.iter().map(of));
    sections
}

/// Bars, or patches, of all methods side by side, for each side that some method speaks of.
fn by_side(capture: &Capture, answers: &[Answered], with_special: bool) -> Vec<Section> {
    let says = |answer: &Answered, side: Side| compare::scores(answer.report.as_ref()?, side);
    let there: Vec<Side> = Side::ALL.into_iter().filter(|side| !capture.tokens(*side).is_empty()).collect();
    let told = |side: &Side| answers.iter().any(|answer| says(answer, *side).is_some());
    let mut sides: Vec<Side> = there.iter().copied().filter(told).collect();
    if sides.is_empty() {
        // Before anything is known, the one that is read.
        sides.extend(there.first());
    }
    let several = sides.len() > 1;
    let of_side = |side: Side| {
        let is_waited = |answer: &Answered| answer.report.is_none();
        let shown: Vec<&Answered> =
            answers.iter().filter(|answer| is_waited(answer) || says(answer, side).is_some()).collect();
        let silent = answers.iter().filter(|answer| answer.report.is_some() && says(answer, side).is_none());
        let silent: Vec<&str> = silent.map(|answer| answer.title).collect();
        let mut notes = Vec::new();
        if !silent.is_empty() {
            let verb = if silent.len() == 1 { "has" } else { "have" };
            let what = if several { sentences::side_text(side) } else { "single tokens" };
            notes.push(format!("{} {verb} no values for {what}", silent.join(" and ")));
        }
        let of_answer = |answer: &&Answered| BarColumn {
            title: answer.title.to_owned(),
            unit: answer.report.as_deref().map_or("", compare::unit),
            signed: answer.report.as_deref().is_some_and(compare::is_signed),
            values: says(answer, side),
        };
        let mut columns: Vec<BarColumn> = shown.iter().map(of_answer).collect();
        let image = capture.image().filter(|_| capture.picture_side() == Some(side));
        let (positions, left_out) =
            sentences::only_words(capture.tokens(side), &mut columns, with_special || image.is_some());
        notes.extend(left_out);
        let scores: Vec<(String, Vec<f32>)> =
            columns.iter().filter_map(|column| Some((column.title.clone(), column.values.clone()?))).collect();
        let signs = sentences::signs(&columns);
        let piece: Arc<dyn Piece> = if let Some(image) = image {
            Arc::new(Patches::new(side, image, columns))
        } else {
            let tokens = names(capture, &Axis::only(side, positions.clone()), positions.len());
            notes.extend(sentences::largest((&tokens, &positions), &columns));
            Arc::new(Bars { side, positions, tokens, columns })
        };
        notes.extend(signs);
        let mut parts = vec![TitledPiece { title: String::new(), meaning: String::new(), piece }];
        if let Some(agreement) = Agreement::of(&scores) {
            parts.push(TitledPiece {
                title: format!("Do the methods agree? {}", agreement.verdict()),
                meaning:
                    "Kendall’s τ between the sizes that two methods give the tokens: 1 same order, 0 unrelated, −1 \
                    opposite order"
                        .to_owned(),
                piece: Arc::new(agreement),
            });
        }
        let title = if several { crate::text::capitalised(sentences::side_text(side)) } else { String::new() };
        Section { column: None, title, notes, parts }
    };
    sides.into_iter().map(of_side).collect()
}

/// What the tokens of an axis are called.
fn names(capture: &Capture, axis: &Axis, n: usize) -> Vec<String> {
    let tokens = capture.tokens(axis.side);
    let name = |nth: usize| {
        let position = axis.position(nth);
        tokens
            .get(position)
            .map_or_else(|| position.to_string(), |token| crate::capture::words::shown(&token.text, position))
    };
    (0..n).map(name).collect()
}

pub(super) fn token_axis(capture: &Capture, axis: &Axis, n: usize) -> MapAxis {
    let positions = (0..n).map(|nth| axis.position(nth)).collect();
    MapAxis { names: names(capture, axis, n), tokens: Some((axis.side, positions)) }
}

fn numbered(what: &str, first: usize, n: usize) -> MapAxis {
    MapAxis { names: (first..first + n).map(|nth| format!("{what}{nth}")).collect(), tokens: None }
}

/// What is drawn of one report.
fn parts(capture: &Capture, report: &Report, head: HeadId) -> Vec<TitledPiece> {
    let mut parts = Vec::new();
    let mut facts = Facts::default();
    let leaves = report.leaves();
    let mut drawn: Vec<&str> = Vec::new();
    let n_grids = leaves.iter().filter(|leaf| matches!(leaf.value, Value::Grid { .. })).count();
    let has_panels = report.method.picture == MethodPicture::Panels && n_grids > 1;
    let mut grids: Vec<(String, Map)> = Vec::new();
    if report.method.picture == MethodPicture::SelectedHead {
        facts.lines.extend(sentences::without_head(&leaves, head, &sentences::logit_name(report)));
    }
    if report.method.picture == MethodPicture::WordLinks {
        parts.extend(links::parts(report, head));
    }
    if report.method.picture == MethodPicture::Words {
        parts.extend(nearest::parts(report));
        parts.extend(plane::part(report));
    }
    for leaf in &leaves {
        // A value that its method does not describe would have no words; a test holds them against each other.
        let Some(about) = report.method.value(&leaf.name).filter(|about| about.drawn) else { continue };
        let title = about.title.to_owned();
        if let (true, Value::Grid { axis, first_layer, values }) = (has_panels, leaf.value) {
            grids.push((title, grid((capture, report), (axis, *first_layer, values), about)));
            continue;
        }
        if let Some(value) = fact(leaf.value, leaf.layer, about) {
            facts.lines.push([title, value, about.meaning.to_owned()]);
            continue;
        }
        let piece: Option<Arc<dyn Piece>> = match leaf.value {
            Value::List(_) if leaf.layer.is_some() => {
                if drawn.contains(&leaf.name.as_str()) {
                    continue;
                }
                drawn.push(&leaf.name);
                by_head(&leaves, &leaf.name, &title, head)
            }
            _ if leaf.layer.is_some_and(|layer| layer != head.layer) || !is_of(&leaf.name, head.stack) => continue,
            value => of_value((capture, report), (value, about), head),
        };
        if let Some(piece) = piece {
            parts.push(TitledPiece { title: titled(title, leaf, head), meaning: about.meaning.to_owned(), piece });
        }
    }
    if has_panels {
        let meaning = "Each restored by itself, on one scale".to_owned();
        parts.push(TitledPiece { title: String::new(), meaning, piece: Arc::new(Panels::new(grids)) });
    }
    if !facts.lines.is_empty() {
        let piece: Arc<dyn Piece> = Arc::new(facts);
        // Maps come with the numbers that one needs to read them.
        parts.insert(0, TitledPiece { title: String::new(), meaning: String::new(), piece });
    }
    parts
}

/// Of values by stack, whether one is of the stack that is looked at.
pub(super) fn is_of(name: &str, stack: StackKind) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    !name.contains('.') || StackKind::from_name(last).is_none_or(|named| named == stack)
}

fn titled(title: String, leaf: &Leaf<'_>, head: HeadId) -> String {
    match leaf.value {
        Value::Heads { .. } => format!("{title}, {head}"),
        // Of several stacks each has a map of its own.
        Value::List(_) => match leaf.name.split_once('.') {
            Some((_, stack)) if StackKind::from_name(stack).is_some() => format!("{title}: {stack}"),
            _ => title,
        },
        _ => leaf.layer.map_or_else(|| title.clone(), |layer| format!("{title}, layer {layer}")),
    }
}

/// A value that is said in a line.
fn fact(value: &Value, layer: Option<usize>, about: &ValueSpec) -> Option<String> {
    match value {
        Value::List(values) if layer.is_none() && values.iter().all(|value| value.is_nan()) => {
            Some(about.absent.to_owned())
        }
        Value::Number(value) => Some(about.form.text(*value)),
        Value::Count(value) => Some(value.to_string()),
        Value::Flag(value) => Some(if *value { "yes" } else { "no" }.to_owned()),
        Value::Text(value) | Value::Missing(value) => Some(value.clone()),
        _ => None,
    }
}

fn of_value(
    (capture, report): (&Capture, &Report),
    (value, about): (&Value, &ValueSpec),
    head: HeadId,
) -> Option<Arc<dyn Piece>> {
    let title = about.title;
    Some(match value {
        Value::List(values) => Arc::new(Strip { values: values.clone(), unit: String::new() }),
        Value::Tokens { axis, values } => {
            let positions = (0..values.len()).map(|nth| axis.position(nth)).collect();
            // The title stands above already.
            let column = BarColumn { title: String::new(), unit: "", signed: true, values: Some(values.clone()) };
            Arc::new(Bars {
                side: axis.side,
                positions,
                tokens: names(capture, axis, values.len()),
                columns: vec![column],
            })
        }
        Value::Grid { axis, first_layer, values } => {
            Arc::new(grid((capture, report), (axis, *first_layer, values), about))
        }
        Value::Matrix { rows, cols, values } => map((capture, report), (rows, cols), (values.clone(), title), head),
        Value::Heads { rows, cols, values } => {
            map((capture, report), (rows, cols), (values.head(head.head)?, title), head)
        }
        Value::Table(columns) => match shares::piece(columns, title) {
            Some(piece) => piece,
            None => Arc::new(table(columns, about.form, about.sorted)),
        },
        _ => return None,
    })
}

/// Numbers by token and layer.
fn grid(
    (capture, report): (&Capture, &Report),
    (axis, first_layer, values): (&Axis, usize, &Matrix),
    about: &ValueSpec,
) -> Map {
    Map {
        rows: token_axis(capture, axis, values.n_rows()),
        cols: numbered("L", first_layer, values.n_cols()),
        words: about.words.and_then(|name| said(report, name, values)),
        values: values.clone(),
        unit: about.title.to_owned(),
        heads: None,
        marked: None,
        mask: None,
        unsigned: unsigned(report),
        place: Place::ALONE,
    }
}

/// The colours of numbers without a sign: most methods say something else than attention.
fn unsigned(report: &Report) -> ColorMap {
    if report.method.name == "attention" { ColorMap::Heat } else { ColorMap::Explained }
}

fn map(
    (capture, report): (&Capture, &Report),
    (rows, cols): (&Axis, &Axis),
    (values, title): (Matrix, &str),
    head: HeadId,
) -> Arc<dyn Piece> {
    // Queries by keys of the stack that is looked at, of whose pairs its mask speaks.
    let sides = [head.stack.query_side(), head.stack.key_side()];
    let mask = capture.model().mask_of(head).filter(|_| [rows.side, cols.side] == sides);
    Arc::new(Map {
        rows: token_axis(capture, rows, values.n_rows()),
        cols: token_axis(capture, cols, values.n_cols()),
        values,
        words: None,
        unit: title.to_owned(),
        heads: None,
        marked: None,
        mask: mask.map(|mask| (mask, sides.map(|side| capture.tokens(side).len()))),
        unsigned: unsigned(report),
        place: Place::ALONE,
    })
}

/// The most probable token of each layer and position, row by row.
fn said(report: &Report, name: &str, values: &Matrix) -> Option<Vec<String>> {
    let Value::Layers(layers) = report.value(name)? else { return None };
    let tops = |layer: &Value| match layer {
        Value::Table(columns) => columns.iter().find_map(|column| match &column.cells {
            ColumnValues::Texts(cells) => Some(cells.clone()),
            _ => None,
        }),
        _ => None,
    };
    let layers: Vec<Vec<Vec<String>>> = layers.iter().map(tops).collect::<Option<_>>()?;
    let [n_rows, n_cols] = values.shape();
    let at = |row: usize, layer: usize| layers.get(layer)?.get(row)?.first().cloned();
    let all = (0..n_rows).flat_map(|row| (0..n_cols).map(move |layer| (row, layer)));
    all.map(|(row, layer)| at(row, layer)).collect()
}

/// Numbers by layer and head as one map.
fn by_head(leaves: &[Leaf<'_>], name: &str, title: &str, head: HeadId) -> Option<Arc<dyn Piece>> {
    let layers: Vec<&Vec<f64>> = leaves
        .iter()
        .filter(|leaf| leaf.name == name)
        .filter_map(|leaf| match leaf.value {
            Value::List(values) => Some(values),
            _ => None,
        })
        .collect();
    let n_heads = layers.iter().map(|layer| layer.len()).max().filter(|n| *n > 0)?;
    let at = |layer: &Vec<f64>, head: usize| layer.get(head).map_or(f32::NAN, |value| *value as f32);
    let values = layers.iter().flat_map(|layer| (0..n_heads).map(move |head| at(layer, head))).collect::<Vec<f32>>();
    let last = name.rsplit('.').next().unwrap_or(name);
    let stack = StackKind::from_name(last).unwrap_or(head.stack);
    Some(Arc::new(Map {
        rows: numbered("layer ", 0, layers.len()),
        cols: numbered("H", 0, n_heads),
        values: Matrix::new(values, [layers.len(), n_heads]).ok()?,
        words: None,
        unit: title.to_owned(),
        heads: Some(stack),
        marked: (stack == head.stack).then_some((head.layer, head.head)),
        mask: None,
        unsigned: ColorMap::Explained,
        place: Place::ALONE,
    }))
}

/// A table of values, its numbers in the form that the method gives them.
pub(super) fn table(columns: &[TableColumn], form: Form, sorted: &[(&str, Sorted)]) -> Grid {
    let n_rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let mut order: Vec<usize> = (0..n_rows).collect();
    let numbers = |name: &str| {
        columns.iter().find(|column| column.name == name).and_then(|column| match &column.cells {
            ColumnValues::Number(cells) => Some(cells),
            _ => None,
        })
    };
    if let Some((cells, by)) = sorted.iter().find_map(|(name, by)| Some((numbers(name)?, *by))) {
        order.sort_by(|a, b| match by {
            Sorted::Ascending => cells[*a].total_cmp(&cells[*b]),
            Sorted::Descending => cells[*b].total_cmp(&cells[*a]),
            Sorted::BySize => cells[*b].abs().total_cmp(&cells[*a].abs()),
        });
    }
    order.truncate(MAX_ROWS);
    let text = |cells: &ColumnValues, row: usize| match cells {
        ColumnValues::Number(cells) => cells.get(row).map(|value| form.text(*value)).unwrap_or_default(),
        cells => cell_text(cells, row),
    };
    let column = |column: &TableColumn| {
        let cells = order.iter().map(|row| text(&column.cells, *row)).collect();
        let numbers = matches!(column.cells, ColumnValues::Index(_) | ColumnValues::Number(_));
        let name = match &*column.name {
            "aer" => "AER".to_owned(),
            name => crate::text::capitalised(&name.replace('_', " ")),
        };
        (name, cells, numbers)
    };
    Grid { columns: columns.iter().map(column).collect(), n_left_out: n_rows - order.len() }
}

impl Form {
    fn text(self, value: f64) -> String {
        match self {
            Self::Share if value.is_finite() => share_text(value),
            Self::Decimal => decimal_text(value),
            Self::Weight => weight_text(value),
            Self::Share | Self::Measure => norm_text(value),
        }
    }
}

fn cell_text(cells: &ColumnValues, row: usize) -> String {
    let joined = |words: Vec<String>| {
        let rest = if words.len() > MAX_WORDS { " …" } else { "" };
        words.into_iter().take(MAX_WORDS).collect::<Vec<_>>().join(" · ") + rest
    };
    match cells {
        ColumnValues::Index(cells) => cells.get(row).map(usize::to_string).unwrap_or_default(),
        ColumnValues::Number(cells) => cells.get(row).map(|value| norm_text(*value)).unwrap_or_default(),
        ColumnValues::Text(cells) => cells.get(row).cloned().unwrap_or_default(),
        ColumnValues::Texts(cells) => {
            let quoted = |words: &Vec<String>| joined(words.iter().map(|word| format!("“{word}”")).collect());
            cells.get(row).map(quoted).unwrap_or_default()
        }
        ColumnValues::Numbers(cells) => {
            cells.get(row).map(|all| joined(all.iter().map(|value| norm_text(*value)).collect())).unwrap_or_default()
        }
    }
}

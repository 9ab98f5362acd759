//! Steps one to four of a reading: weigh, aggregate, leave out, merge.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use super::{
    Axes, Axis, AxisGroup, Explained, Extent, LeftOut, Marks, Policy, ReadPattern, Reading, Refusal, RowLabels,
    RowMass, Source, aggregate, left_out_keys, rest, sentences,
};
use crate::{
    analysis::attention,
    capture::{Capture, Grouping, Matrix},
    ids::{HeadId, StackKind},
    spec::{HeadKind, Mask, Visibility},
};

/// Below this part of a row the rest is rounding error, and renormalising would show noise as attention.
const NOTHING_LEFT: f64 = 1e-6;
/// About so many queries are read at a time where they are merged into sentences.
const PART_QUERIES: usize = 512;

/// Reads one capture; what is to be subtracted is not looked at.
///
/// # Errors
/// When a head or the values it is weighed by do not exist or were not recorded.
pub(super) fn read(capture: &Capture, reading: &Reading) -> Result<ReadPattern, Refusal> {
    let [mut rows, mut cols] = axes(capture, reading);
    if reading.merging.unit.is_of_words() && reading.source.explained().is_none() {
        return read_in_parts(capture, reading, &[rows, cols]);
    }
    let (mut base, heads) = aggregate::gather(capture, reading, None)?;
    if reading.source.explained().is_some() {
        base = without_silence(base, Arc::make_mut(&mut rows), Arc::make_mut(&mut cols));
    }
    let here = 0..rows.len();
    Ok(merged(capture, reading, (base, 0), heads, [rows, cols], here))
}

/// Reads the rows `here` of one capture, in memory that grows with their number: the same bits as in the whole.
/// `axes` are those of the reading.
///
/// # Errors
/// As [`read`].
pub(super) fn read_part(
    capture: &Capture,
    reading: &Reading,
    axes: &Axes,
    here: Range<usize>,
) -> Result<ReadPattern, Refusal> {
    let n_rows = axes[0].len();
    let here = here.start.min(n_rows)..here.end.min(n_rows);
    let groups = axes[0].groups.get(here.clone()).unwrap_or_default();
    let queries = match groups {
        [] => 0..0,
        [first, ..] => first.positions.start..groups.last().map_or(0, |last| last.positions.end),
    };
    let (base, heads) = aggregate::gather(capture, reading, Some(&queries))?;
    Ok(merged(capture, reading, (base, queries.start), heads, axes.clone(), here))
}

/// Reads all rows of one capture, some at a time: of a long text with few sentences the whole pattern is never there.
///
/// # Errors
/// As [`read`].
fn read_in_parts(capture: &Capture, reading: &Reading, axes: &Axes) -> Result<ReadPattern, Refusal> {
    let groups = &axes[0].groups;
    let mut parts = Vec::new();
    let mut first = 0;
    while first < groups.len().max(1) {
        let n_queries = |row: usize| groups[row].positions.end - groups[first].positions.start;
        let end = (first + 1..groups.len()).find(|row| n_queries(*row) > PART_QUERIES).unwrap_or(groups.len());
        parts.push(read_part(capture, reading, axes, first..end)?);
        first = end.max(first + 1);
    }
    let values: Vec<f32> = parts.iter().flat_map(|part| part.matrix.as_slice()).copied().collect();
    let mass = parts.iter().flat_map(|part| &part.mass).copied().collect();
    let shape = [groups.len(), axes[1].len()];
    let Some(whole) = parts.into_iter().next() else { return Err(Refusal::NoHeads(reading.heads.stack())) };
    // One line of as many values as there are columns per row.
    let matrix = Matrix::new(values, shape).unwrap_or_else(|_| whole.matrix.clone());
    Ok(ReadPattern { matrix, mass, here: 0..groups.len(), shared: false, ..whole }.measured())
}

/// Steps three and four, for the rows `here`; `base` are the weights from a query on.
fn merged(
    capture: &Capture,
    reading: &Reading,
    (base, first_query): (Matrix, usize),
    heads: Vec<HeadId>,
    [rows, cols]: Axes,
    here: Range<usize>,
) -> ReadPattern {
    let stack = reading.heads.stack();
    let explained = reading.source.explained();
    let base = rest::beside((base, first_query), capture, reading, &heads, cols.rest());
    let hidden = left_out_keys(capture, stack, &reading.leave_out);
    let outside = sentences::left_out(capture, stack, reading.sentences);
    let effective = explained.is_none() && heads.iter().any(|head| capture.model().is_effective(*head));
    let plain = outside.is_none() && !hidden.contains(&true) && rows.is_by_position() && cols.is_by_position();
    let shared = plain
        && reading.source == Source::Weights
        && cols.rest().is_empty()
        && matches!(heads.as_slice(), [only] if attention::is_stored(capture, *only));
    let (matrix, mass) = if plain {
        let mass = base.rows().map(|row| RowMass { total: sum(row), ..RowMass::default() }).collect();
        (base, mass)
    } else {
        let [_, outside_keys] = outside.unwrap_or_default();
        // Rows of an explanation are no distributions, nor are effective ones.
        let renormalize = reading.leave_out.policy == Policy::Renormalize && explained.is_none() && !effective;
        let rows = &rows.groups[here.clone()];
        Merger { base: &base, first_query, rows, cols: &cols, hidden, outside_keys, renormalize }.merge()
    };
    let extent = explained.and_then(|explained| explained.extent(stack));
    let stack_is_causal = capture.model().stack(stack).is_some_and(|spec| spec.causal);
    let causal = stack_is_causal && extent.is_none_or(Extent::is_of_pairs);
    let visibilities = match extent {
        Some(Extent::Tokens | Extent::TokensOfLayers) => vec![Visibility::default()],
        // Through all layers together a window ends nowhere.
        Some(Extent::Pairs) => vec![Visibility { mask: Mask { causal, window: None }, global: &[] }],
        _ => visibilities(capture, &heads),
    };
    let visible = visible(&visibilities, &rows, &cols);
    let everywhere = everywhere(&visibilities, &cols);
    let marks = Marks::of(capture, stack, &heads, &rows, &cols);
    let read = ReadPattern {
        source: reading.source.clone(),
        stack,
        heads,
        matrix,
        rows,
        cols,
        here,
        visible,
        everywhere,
        causal,
        marks,
        mass,
        minus_mass: Vec::new(),
        has_two_sides: capture.model().has_two_sides(stack),
        signed: effective || explained.is_some_and(Explained::is_signed),
        effective,
        range: (0.0, 0.0),
        shared,
    };
    read.measured()
}

fn sum(row: &[f32]) -> f64 {
    row.iter().map(|&weight| f64::from(weight)).sum()
}

/// What the rows and the columns of a reading are, without its values. Its heads matter only by their stack.
pub fn axes(capture: &Capture, reading: &Reading) -> Axes {
    let stack = reading.heads.stack();
    let hidden = left_out_keys(capture, stack, &reading.leave_out);
    let (rows, cols) =
        axes_of(capture, reading, &hidden, sentences::left_out(capture, stack, reading.sentences).as_ref());
    [Arc::new(rows), Arc::new(cols)]
}

fn axes_of(capture: &Capture, reading: &Reading, hidden: &[bool], outside: Option<&[Vec<bool>; 2]>) -> (Axis, Axis) {
    let stack = reading.heads.stack();
    let queries = capture.query_tokens(stack);
    let one_row = reading.source.explained().filter(|it| it.extent(stack).is_some_and(|it| !it.is_of_pairs()));
    let sentence = |axis: usize, position: usize| {
        let out = outside.and_then(|outside| outside[axis].get(position)) == Some(&true);
        out.then_some(LeftOut::Sentence)
    };
    let group = |positions: Range<usize>, text, left_out| AxisGroup { positions, text, left_out };
    let side = |side| Grouping::of(capture, side, reading.merging);
    let (of_queries, of_keys) = (side(stack.query_side()), side(stack.key_side()));
    let rows = if let Some(explained) = one_row {
        Axis::new(vec![group(0..queries.len(), explained.row_text(queries.len()), None)])
    } else if reading.rows == RowLabels::Written && writes(capture, stack) {
        let text = |positions: &Range<usize>| match queries.get(positions.start + 1) {
            Some(_) => of_queries.text(positions.start + 1..positions.end + 1),
            None => next_token(capture, positions.start),
        };
        let named = written_groups(&of_queries.groups, queries.len()).into_iter();
        Axis::new(named.map(|at| group(at.clone(), text(&at), sentence(0, at.start))).collect()).written()
    } else {
        let read = of_queries.groups.iter().cloned();
        Axis::new(read.map(|at| group(at.clone(), of_queries.text(at.clone()), sentence(0, at.start))).collect())
            .placed(queries)
    };
    let chosen = |at: &Range<usize>| {
        let all = at.clone().all(|position| hidden.get(position) == Some(&true));
        all.then_some(LeftOut::Chosen)
    };
    let cols = of_keys.groups.iter().cloned().map(|at| {
        let left_out = chosen(&at).or_else(|| sentence(1, at.start));
        group(at.clone(), of_keys.text(at), left_out)
    });
    (rows, Axis::new(cols.collect()).with_rest(rest::kinds(capture, reading)))
}

/// Whether a stack's rows write the next token: decoders that do not classify, and what they attend to.
pub fn writes(capture: &Capture, stack: StackKind) -> bool {
    match stack {
        StackKind::Decoder | StackKind::Cross => capture.model().head != Some(HeadKind::TextClass),
        StackKind::SelfAttention | StackKind::Beside => capture.model().head == Some(HeadKind::NextToken),
        // Of some rows the next token is not the next row.
        StackKind::Encoder
        | StackKind::Vision
        | StackKind::Text
        | StackKind::CrossModalText
        | StackKind::TextToVision
        | StackKind::CrossModalVision
        | StackKind::VisionToText
        | StackKind::Words
        | StackKind::Sentences
        | StackKind::Chosen => false,
    }
}

/// Query positions by what they write: row `i` writes token `i + 1`, so a word's row stands one token
/// earlier than the word; the last query writes what is not there yet.
fn written_groups(groups: &[Range<usize>], n_tokens: usize) -> Vec<Range<usize>> {
    let Some(last) = n_tokens.checked_sub(1) else { return Vec::new() };
    let written = groups.iter().filter(|word| word.start > 0);
    let mut rows: Vec<_> = written.map(|word| word.start - 1..word.end - 1).collect();
    // The first token is written by nobody; a word that it begins is written from its second piece on.
    let first = rows.first().map_or(last, |row| row.start);
    if first > 0 {
        rows.insert(0, 0..first);
    }
    rows.push(last..last + 1);
    rows
}

/// What stands for a token that is not there: what the model would write next, where that is known.
fn next_token(capture: &Capture, position: usize) -> String {
    let guess = capture.prediction().filter(|prediction| prediction.kind == HeadKind::NextToken);
    let row = guess.and_then(|prediction| prediction.rows.iter().find(|row| row.position == Some(position)));
    row.and_then(|row| row.top.first()).map_or_else(|| "…".to_owned(), |best| format!("next: {}", best.label))
}

/// Leaves out and merges, row by row.
struct Merger<'a> {
    base: &'a Matrix,
    /// The query of its first row.
    first_query: usize,
    rows: &'a [AxisGroup],
    cols: &'a Axis,
    /// By key position; shorter where nothing follows.
    hidden: Vec<bool>,
    outside_keys: Vec<bool>,
    renormalize: bool,
}

impl Merger<'_> {
    fn merge(&self) -> (Matrix, Vec<RowMass>) {
        let n_cols = self.cols.len();
        let mut values = Vec::with_capacity(self.rows.len() * n_cols);
        let mut mass = Vec::with_capacity(self.rows.len());
        let mut line = vec![0.0f64; n_cols];
        for row in self.rows {
            line.fill(0.0);
            let mut sums = RowMass::default();
            for query in row.positions.clone() {
                self.add(query, row.left_out.is_some(), &mut line, &mut sums);
            }
            let n = row.positions.len().max(1) as f64;
            values.extend(line.iter().map(|value| (value / n) as f32));
            mass.push(RowMass {
                total: sums.total / n,
                left_out: sums.left_out / n,
                spread: sums.spread / n,
                outside: sums.outside / n,
                unmatched: 0.0,
            });
        }
        let shape = [self.rows.len(), n_cols];
        // One line of `n_cols` values per row.
        (Matrix::new(values, shape).unwrap_or_else(|_| self.base.clone()), mass)
    }

    /// Adds one query's row to the line of its word.
    fn add(&self, query: usize, skipped: bool, line: &mut [f64], sums: &mut RowMass) {
        let Some(row) = query.checked_sub(self.first_query).and_then(|row| self.base.row(row)) else { return };
        let is_hidden = |key: usize| self.hidden.get(key) == Some(&true);
        let (row, rest) = row.split_at(self.cols.n_tokens().min(row.len()));
        let (mut kept, mut left_out) = (0.0f64, 0.0f64);
        for (key, &weight) in row.iter().enumerate() {
            *(if is_hidden(key) { &mut left_out } else { &mut kept }) += f64::from(weight);
        }
        let total = kept + left_out;
        sums.total += total;
        for (place, &weight) in line[self.cols.n_of_tokens()..].iter_mut().zip(rest) {
            let weight = f64::from(weight);
            sums.total += weight;
            *(if skipped { &mut sums.outside } else { place }) += weight;
        }
        sums.left_out += left_out;
        let mut scale = 1.0;
        if self.renormalize && left_out > 0.0 {
            if kept > NOTHING_LEFT * total {
                scale = total / kept;
                sums.spread += left_out;
            } else {
                // What little is left counts as left out, too.
                sums.left_out += kept;
                scale = 0.0;
            }
        }
        for (key, &weight) in row.iter().enumerate().filter(|(key, _)| !is_hidden(*key)) {
            let weight = f64::from(weight) * scale;
            if skipped || self.outside_keys.get(key) == Some(&true) {
                sums.outside += weight;
            } else if let Some(col) = self.cols.group_of(key) {
                line[col] += weight;
            }
        }
    }
}

/// What rows and columns without an answer become: empty, and said to be.
fn without_silence(base: Matrix, rows: &mut Axis, cols: &mut Axis) -> Matrix {
    let [n_rows, n_cols] = base.shape();
    let is_silent = |row: usize, col: usize| base.get(row, col).is_none_or(f32::is_nan);
    for group in &mut rows.groups {
        if group.positions.clone().all(|row| (0..n_cols).all(|col| is_silent(row, col))) {
            group.left_out = group.left_out.or(Some(LeftOut::Unanswered));
        }
    }
    for group in &mut cols.groups {
        if group.positions.clone().all(|col| (0..n_rows).all(|row| is_silent(row, col))) {
            group.left_out = group.left_out.or(Some(LeftOut::Unanswered));
        }
    }
    let values: Vec<f32> = base.as_slice().iter().map(|value| if value.is_nan() { 0.0 } else { *value }).collect();
    Matrix::new(values, [n_rows, n_cols]).unwrap_or(base)
}

/// What the heads may see, each way once.
fn visibilities<'a>(capture: &'a Capture, heads: &[HeadId]) -> Vec<Visibility<'a>> {
    let mut visibilities = Vec::new();
    for head in heads {
        let Some(visibility) = capture.visibility_of(*head) else { continue };
        if !visibilities.contains(&visibility) {
            visibilities.push(visibility);
        }
    }
    visibilities
}

/// Columns of tokens that all see, in order.
fn everywhere(visibilities: &[Visibility<'_>], cols: &Axis) -> Vec<usize> {
    let global = visibilities.iter().flat_map(|visibility| visibility.global);
    global.filter_map(|key| cols.group_of(*key)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Per row the columns next to each other that some head sees from some of its queries.
fn visible(visibilities: &[Visibility<'_>], rows: &Axis, cols: &Axis) -> Vec<Range<usize>> {
    let n_cols = cols.n_of_tokens();
    let (n_query, n_key) = (rows.n_tokens(), cols.n_tokens());
    let of_row = |row: &AxisGroup| {
        let seen = row
            .positions
            .clone()
            .flat_map(|query| visibilities.iter().map(move |visibility| visibility.near(query, n_query, n_key)));
        let seen = seen.filter(|keys| !keys.is_empty()).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
        match seen {
            Some(keys) => {
                let first = cols.group_of(keys.start).unwrap_or(0);
                let last = cols.group_of(keys.end - 1).map_or(n_cols, |last| last + 1);
                first..last
            }
            None => 0..0,
        }
    };
    rows.groups.iter().map(of_row).collect()
}

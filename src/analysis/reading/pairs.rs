//! Heads that link two tokens: every head of a stack, by its weight for one pair.

use super::{Heads, ReadPattern, Reading, Refusal, Source, axes, long, rows};
use crate::{
    analysis::attention,
    capture::Capture,
    ids::{HeadId, StackKind},
    text::weight_text,
};

/// What one head makes of a pair of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub head: HeadId,
    /// The weight of the pair, as it is shown.
    pub weight: f32,
    /// Its place among the keys of the query's row that are shown, from 1.
    pub rank: usize,
    pub n_keys: usize,
    /// What the key gets from a query on average, over the queries that may see it: a head that always
    /// looks at this key does not link the pair in particular. Not known of a text whose pattern is too long to be
    /// held whole: it would take every row of every head.
    pub average: Option<f32>,
}

/// Every head of the reading's stack, strongest first, ties in order of layer and head.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// What the query is called: a token, or a word where words are merged.
    pub query: String,
    pub key: String,
    /// Both as names in a sentence.
    pub names: [String; 2],
    /// Where the weights come from.
    pub source: Source,
    pub heads: Vec<Link>,
    /// Heads that were not recorded, or do not show the pair.
    pub n_absent: usize,
}

/// Ranks every recorded head of a stack for the pair of a query and a key position, read as `reading` says
/// (its heads and what it subtracts are not looked at).
///
/// `go_on` is told how many heads of how many are done, and may stop the work: then `None` is returned.
///
/// # Errors
/// When the stack does not exist, or weights are to count by values that were not recorded.
pub fn links(
    capture: &Capture,
    stack: StackKind,
    reading: &Reading,
    (query, key): (usize, usize),
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Links>, Refusal> {
    let spec = capture.model().stack(stack).ok_or(Refusal::NoHeads(stack))?;
    let any_head = reading.with_heads(Heads::One(HeadId { stack, ..HeadId::default() }));
    // Of a long text one row of each head is read.
    let row = long::is_long(capture, &any_head).then(|| axes(capture, &any_head)).map(|axes| {
        let row = axes[0].group_of(query).unwrap_or(axes[0].len());
        (axes, row..row + 1)
    });
    let layers = spec.layers.iter().enumerate();
    let ids: Vec<HeadId> =
        layers.flat_map(|(layer, shape)| (0..shape.n_heads).map(move |head| HeadId { stack, layer, head })).collect();
    let source = reading.source.clone();
    let mut found = Links {
        query: String::new(),
        key: String::new(),
        names: Default::default(),
        source,
        heads: Vec::new(),
        n_absent: 0,
    };
    for (done, &head) in ids.iter().enumerate() {
        if !go_on(done, ids.len()) {
            return Ok(None);
        }
        if !attention::has_pattern(capture, head) {
            found.n_absent += 1;
            continue;
        }
        let reading = reading.with_heads(Heads::One(head));
        let pattern = match &row {
            Some((axes, row)) => rows::read_part(capture, &reading, axes, row.clone())?,
            None => rows::read(capture, &reading)?,
        };
        if found.heads.is_empty() {
            pattern.rows.text_at(query).clone_into(&mut found.query);
            pattern.cols.text_at(key).clone_into(&mut found.key);
            found.names = [pattern.rows.named_at(query), pattern.cols.named_at(key)];
        }
        match link(&pattern, head, (query, key)) {
            Some(link) => found.heads.push(link),
            None => found.n_absent += 1,
        }
    }
    found.heads.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.head.cmp(&b.head)));
    Ok(Some(found))
}

/// What one pattern makes of a pair of positions; `None` where the pair is not shown.
fn link(pattern: &ReadPattern, head: HeadId, (query, key): (usize, usize)) -> Option<Link> {
    let (row, col) = (pattern.rows.group_of(query)?, pattern.cols.group_of(key)?);
    let weight = pattern.value(row, col)?;
    let (rank, n_keys) = pattern.rank(row, col)?;
    let seen = (0..pattern.rows.len()).filter(|&row| pattern.blank(row, col).is_none());
    let (sum, n) =
        seen.fold((0.0f64, 0usize), |(sum, n), row| (sum + f64::from(pattern.value(row, col).unwrap_or(0.0)), n + 1));
    let is_whole = pattern.here.len() == pattern.rows.len();
    Some(Link { head, weight, rank, n_keys, average: is_whole.then_some((sum / n.max(1) as f64) as f32) })
}

impl Links {
    /// One head's part in words: what it gives to the pair, and what that is worth.
    pub fn sentence(&self, link: &Link) -> String {
        let average = link.average.map(|average| format!("; mean over queries {}", weight_text(average)));
        let average = average.unwrap_or_default();
        let norm = if self.source == Source::ByValueNorm { "; weights × norm of the value" } else { "" };
        let [query, key] = &self.names;
        let weight = weight_text(link.weight);
        format!(
            "{}: weight {weight} from {query} to {key} (rank {} of {}){average}{norm}",
            link.head, link.rank, link.n_keys,
        )
    }
}

//! The weights of a page: stacks, layers and heads with the names of their rows and columns, and the bytes of each layer.

use std::{collections::BTreeMap, io::Write as _};

use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;

use crate::{
    analysis::reading::{Axis, Heads, ReadPattern, Source},
    capture::running_text,
    figure::{
        spec::{FigureError, ResolvedSpec},
        views::grid,
    },
    ids::{HeadId, Side, StackKind},
    text::grouped,
};

/// Most weights of a page: at two bytes each, and deflated, what a browser still opens at once.
const MOST_WEIGHTS: usize = 48 << 20;
/// The code of a pair that has no weight, and the largest of one that has.
const BLANK: u16 = u16::MAX;
const STEPS: f32 = (u16::MAX - 1) as f32;

/// What a page has, by stack.
#[derive(Default, Serialize)]
pub struct Stacks {
    axes: Vec<PageAxis>,
    #[serde(rename = "stacks")]
    all: Vec<PageStack>,
    #[serde(skip)]
    pub value: String,
    #[serde(skip)]
    pub signed: bool,
    /// Whether a colour means the same in every head.
    #[serde(skip)]
    pub shares_scale: bool,
    /// What is not shown as the model computed it.
    #[serde(skip)]
    pub hidden: Option<String>,
}

#[derive(PartialEq, Serialize)]
struct PageAxis {
    names: Vec<String>,
    /// The same as running text.
    texts: Vec<String>,
    /// Which of them the tokenizer or the model added.
    special: Vec<usize>,
}

#[derive(Serialize)]
struct PageStack {
    #[serde(skip)]
    kind: StackKind,
    title: &'static str,
    layers: Vec<PageLayer>,
}

#[derive(Serialize)]
struct PageLayer {
    layer: usize,
    heads: Vec<PageHead>,
}

#[derive(Serialize)]
struct PageHead {
    head: usize,
    /// Places of its axes.
    rows: usize,
    cols: usize,
    low: f32,
    high: f32,
}

/// The weights of a layer: the place of its stack and its own, and their bytes, deflated.
pub type Chunk = (String, Vec<u8>);

/// Reads every head of the page.
pub fn read(resolved: &ResolvedSpec<'_>) -> Result<(Stacks, Vec<Chunk>), FigureError> {
    let stacks = held(resolved)?;
    let (mut page, mut chunks) = (Stacks::default(), Vec::new());
    for (at, (kind, of_stack)) in stacks.into_iter().enumerate() {
        let mut layers = Vec::new();
        for heads in of_stack {
            let mut bytes = ZlibEncoder::new(Vec::new(), Compression::default());
            let mut of_layer = PageLayer { layer: heads[0].layer, heads: Vec::new() };
            for head in heads {
                let read = resolved.read(Heads::One(head))?;
                // What is written to memory cannot fail.
                bytes.write_all(&codes(&read)).ok();
                let rows = page.axis(&read.rows, resolved, kind.query_side());
                let cols = page.axis(&read.cols, resolved, kind.key_side());
                let (low, high) = read.range;
                of_layer.heads.push(PageHead { head: head.head, rows, cols, low, high });
                page.take_words(&read);
            }
            chunks.push((format!("{at}-{}", layers.len()), bytes.finish().unwrap_or_default()));
            layers.push(of_layer);
        }
        page.all.push(PageStack { kind, title: kind.name(), layers });
    }
    Ok((page, chunks))
}

/// A stack with the heads of each of its layers.
type HeadsOf = (StackKind, Vec<Vec<HeadId>>);

/// The recorded heads of each layer, by stack: all, or those of the chosen layers where all are too many.
fn held(resolved: &ResolvedSpec<'_>) -> Result<Vec<HeadsOf>, FigureError> {
    let capture = resolved.capture;
    let all = || {
        let stacks = capture.model().stacks.iter().map(|stack| (stack.kind, grid::recorded(capture, stack.kind)));
        stacks.filter(|(_, layers)| !layers.is_empty()).collect::<Vec<_>>()
    };
    let n_weights = |stacks: &[HeadsOf]| {
        let of_head = |kind: StackKind| capture.query_tokens(kind).len() * capture.key_tokens(kind).len();
        stacks.iter().map(|(kind, layers)| of_head(*kind) * layers.iter().map(Vec::len).sum::<usize>()).sum::<usize>()
    };
    let mut stacks = all();
    let n = n_weights(&stacks);
    if n > MOST_WEIGHTS {
        stacks.retain(|(kind, _)| *kind == resolved.stack);
        for (_, layers) in &mut stacks {
            layers.retain(|heads| resolved.layers.contains(&heads[0].layer));
        }
    }
    if n_weights(&stacks) > MOST_WEIGHTS {
        let most = grouped(MOST_WEIGHTS);
        return Err(FigureError::Failed(format!(
            "a page holds at most {most} weights, and these heads have {}: choose fewer layers, or a shorter text",
            grouped(n)
        )));
    }
    if stacks.iter().all(|(_, layers)| layers.is_empty()) {
        return Err(FigureError::Failed("no attention was recorded".to_owned()));
    }
    Ok(stacks)
}

/// The values of a head as codes: the low bytes of all, then the high ones, which deflates best.
fn codes(read: &ReadPattern) -> Vec<u8> {
    let (low, high) = read.range;
    let unit = if high > low { STEPS / (high - low) } else { 0.0 };
    let n = read.rows.len() * read.cols.len();
    let mut bytes = vec![0; 2 * n];
    for row in 0..read.rows.len() {
        for col in 0..read.cols.len() {
            let value = read.value(row, col).filter(|value| value.is_finite() && read.blank(row, col).is_none());
            let code = value.map_or(BLANK, |value| ((value - low) * unit).round().clamp(0.0, STEPS) as u16);
            let at = row * read.cols.len() + col;
            [bytes[at], bytes[n + at]] = code.to_le_bytes();
        }
    }
    bytes
}

impl Stacks {
    /// Every head, in order.
    pub fn heads(&self) -> Vec<HeadId> {
        let of_layer = |stack: StackKind, it: &PageLayer| {
            let id = |head: &PageHead| HeadId { stack, layer: it.layer, head: head.head };
            it.heads.iter().map(id).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(|stack| stack.layers.iter().flat_map(|it| of_layer(stack.kind, it))).collect()
    }

    /// Number of layers of all stacks.
    pub fn n_layers(&self) -> usize {
        self.all.iter().map(|stack| stack.layers.len()).sum()
    }

    /// The places of stack, layer and head in which a head stands; the first ones where it was not recorded.
    pub fn place(&self, wanted: HeadId) -> [usize; 3] {
        let place = || {
            let stack = self.all.iter().position(|stack| stack.kind == wanted.stack)?;
            let layers = &self.all[stack].layers;
            let layer = layers.iter().position(|layer| layer.layer == wanted.layer)?;
            let head = layers[layer].heads.iter().position(|head| head.head == wanted.head)?;
            Some([stack, layer, head])
        };
        place().unwrap_or_default()
    }

    /// The place of an axis; heads with the same names share it.
    fn axis(&mut self, axis: &Axis, resolved: &ResolvedSpec<'_>, side: Side) -> usize {
        let n = axis.n_of_tokens();
        let tokens = resolved.capture.tokens(side);
        let groups = || axis.groups[..n].iter().map(|group| group.positions.clone());
        let pieces = running_text(resolved.capture, side, groups());
        let rest = axis.rest().iter().map(|rest| format!(" {}", rest.text()));
        let axis = PageAxis {
            names: numbered(axis),
            texts: pieces.into_iter().map(|piece| piece.before + &piece.text).chain(rest).collect(),
            special: groups().enumerate().filter(|(_, at)| tokens[at.start].special).map(|(at, _)| at).collect(),
        };
        self.axes.iter().position(|known| *known == axis).unwrap_or_else(|| {
            self.axes.push(axis);
            self.axes.len() - 1
        })
    }

    /// What the numbers are; the same in every head.
    fn take_words(&mut self, read: &ReadPattern) {
        read.value_label().clone_into(&mut self.value);
        self.signed |= read.signed;
        self.shares_scale = matches!(read.source, Source::Weights) && !read.signed;
        if self.hidden.is_none() {
            self.hidden = read.hidden_text();
        }
    }
}

/// The names of an axis; with their positions where another has the same.
fn numbered(axis: &Axis) -> Vec<String> {
    let mut n_alike: BTreeMap<&str, usize> = BTreeMap::new();
    for group in &axis.groups {
        *n_alike.entry(&group.text).or_default() += 1;
    }
    let name = |at: usize| if n_alike[axis.text(at)] > 1 { axis.numbered(at) } else { axis.text(at).to_owned() };
    (0..axis.len()).map(name).collect()
}

//! Some queries over all keys: what is kept of a long text then grows with its length and not with its square.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use super::attention;
use crate::{
    capture::{
        Capture, CaptureParts, LayerCapture, Matrix, PerHead, RowKind, Site, SiteValue, SiteValues, Sites,
        StackCapture, Token,
    },
    ids::{HeadId, Side, StackKind},
    spec::{LayerSpec, ModelSpec, StackSpec},
};

/// Which queries are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queries {
    /// So many of the last.
    Last(usize),
    /// Those at these positions, from 0.
    At(Vec<usize>),
}

/// Why some queries cannot be kept alone. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChosenError {
    #[error("there is no token {position} among the queries: the last one is {}", n.saturating_sub(1))]
    NoPosition { position: usize, n: usize },
    #[error("some queries are kept of a model with one stack of a text, and this one has {0}")]
    OtherStacks(String),
    #[error("some queries are kept of a run as the model makes it: leave out its changes")]
    Changed,
}

impl FromStr for Queries {
    type Err = String;

    /// `last:8`, or positions such as `5,17,100`.
    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || format!("`{text}` names no queries: give last:8, or positions from 0 such as 5,17,100");
        if let Some(n) = text.strip_prefix("last:") {
            return n.parse().ok().filter(|n| *n > 0).map(Self::Last).ok_or_else(problem);
        }
        let positions: Result<Vec<usize>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        let mut positions = positions.map_err(|_| problem())?;
        positions.sort_unstable();
        positions.dedup();
        Ok(Self::At(positions))
    }
}

impl Queries {
    /// Their positions among `n` tokens, in order.
    ///
    /// # Errors
    /// When there is none at a position.
    pub fn positions(&self, n: usize) -> Result<Vec<usize>, ChosenError> {
        match self {
            Self::Last(last) => Ok((n.saturating_sub(*last)..n).collect()),
            Self::At(positions) => match positions.iter().find(|position| **position >= n) {
                Some(&position) => Err(ChosenError::NoPosition { position, n }),
                None => Ok(positions.clone()),
            },
        }
    }
}

/// The rows of some queries of a capture, in a stack of their own ([`StackKind::Chosen`]) over all keys: patterns (stored
/// ones, else made of queries and keys) where `sites` has them, scores, z, values of the keys and streams where they were
/// recorded. Queries and keys are left out, because without all queries nothing is made of them.
///
/// # Errors
/// When a position has no token, the model has several stacks, or the run was changed.
pub fn chosen(capture: &Capture, queries: &Queries, sites: Sites) -> Result<Capture, ChosenError> {
    let [stack] = capture.stacks() else { return Err(other_stacks(capture)) };
    if stack.kind != StackKind::SelfAttention || capture.image().is_some() {
        return Err(other_stacks(capture));
    }
    if !capture.computation().edits.is_empty() {
        return Err(ChosenError::Changed);
    }
    let tokens = capture.tokens(Side::Only);
    let positions = queries.positions(tokens.len())?;
    let spec = capture.model().stack(stack.kind).ok_or_else(|| other_stacks(capture))?;
    let layers = stack.layers.iter().enumerate().map(|(idx, layer)| {
        let mut kept = LayerCapture::of(picked(&layer.sites, &positions));
        kept.sink = layer.sink.as_ref().and_then(|sink| columns(sink, &positions));
        if sites.contains(Site::Pattern)
            && let Some(pattern) = rows_of_layer(capture, spec.layers.get(idx), idx, &positions)
        {
            kept.sites.set(Site::Pattern, pattern);
        }
        kept
    });
    let kept = StackCapture {
        kind: StackKind::Chosen,
        layers: layers.collect(),
        sites: picked(&stack.sites, &positions),
        global: Vec::new(),
    };
    let listed = |&position: &usize| Token { position: Some(position), ..tokens[position].clone() };
    // What a query sees depends on where it stands, which a stack of some does not know: zeros are zeros.
    let layer_spec = |layer: &LayerSpec| LayerSpec { window: None, global: false, ..*layer };
    let model = ModelSpec {
        stacks: vec![StackSpec {
            kind: StackKind::Chosen,
            layers: spec.layers.iter().map(layer_spec).collect(),
            causal: false,
        }],
        ..ModelSpec::clone(capture.model())
    };
    let mut notes = capture.notes().to_vec();
    notes.push(note(positions.len(), tokens.len()));
    let parts = CaptureParts {
        id: capture.id(),
        model: Arc::new(model),
        input: capture.input().clone(),
        tokens: BTreeMap::from([(Side::Chosen, positions.iter().map(listed).collect()), (Side::Only, tokens.to_vec())]),
        stacks: vec![kept],
        sequences: BTreeMap::new(),
        image: None,
        logits: capture.logits().cloned(),
        prediction: capture.prediction().cloned(),
        generated: capture.generated().cloned(),
        computation: capture.computation().clone(),
        notes,
    };
    Capture::new(parts).map_err(|_| other_stacks(capture))
}

/// What is said of a capture with some queries alone.
pub fn note(n: usize, n_tokens: usize) -> String {
    format!("{n} of {n_tokens} queries were kept: what needs all of them is not defined")
}

fn other_stacks(capture: &Capture) -> ChosenError {
    let names: Vec<&str> = capture.model().stacks.iter().map(|stack| stack.kind.name()).collect();
    ChosenError::OtherStacks(if capture.image().is_some() { "patches".to_owned() } else { names.join(", ") })
}

/// The rows of some queries of every head of a layer; `None` where a head has no pattern.
fn rows_of_layer(capture: &Capture, spec: Option<&LayerSpec>, layer: usize, positions: &[usize]) -> Option<PerHead> {
    let n_heads = spec?.n_heads;
    let n_key = capture.tokens(Side::Only).len();
    let mut values = Vec::with_capacity(n_heads * positions.len() * n_key);
    for head in 0..n_heads {
        for &query in positions {
            let row = attention::pattern_rows(capture, HeadId::single(layer, head), query..query + 1)?;
            values.extend_from_slice(row.row(0)?);
        }
    }
    PerHead::new(values, [n_heads, positions.len(), n_key]).ok()
}

/// What some queries have of recorded values; of keys, their values.
fn picked(sites: &SiteValues, positions: &[usize]) -> SiteValues {
    let mut kept = SiteValues::default();
    for (site, value) in sites.iter() {
        match (site, site.spec().rows) {
            (Site::Q | Site::K | Site::Pattern, _) => {}
            (_, RowKind::Keys) => kept.set(site, value.clone()),
            (_, RowKind::Queries | RowKind::Stream) => {
                let mut shape = value.shape();
                let (n_rows, width) = (shape[shape.len() - 2], shape[shape.len() - 1]);
                let heads = value.as_slice().chunks_exact((n_rows * width).max(1));
                let rows = heads.flat_map(|head| {
                    positions.iter().flat_map(move |row| head[row * width..(row + 1) * width].iter().copied())
                });
                let rows: Vec<f32> = rows.collect();
                let axis = shape.len() - 2;
                shape[axis] = positions.len();
                if let Ok(value) = SiteValue::new(site, rows, &shape) {
                    kept.set(site, value);
                }
            }
        }
    }
    kept
}

fn columns(matrix: &Matrix, positions: &[usize]) -> Option<Matrix> {
    let values: Vec<f32> = matrix.rows().flat_map(|row| positions.iter().map(move |position| row[*position])).collect();
    Matrix::new(values, [matrix.n_rows(), positions.len()]).ok()
}

//! [`Corpus`]: queries and keys of many inputs, by column.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    CorpusError, InputRow, Kept, Label, Selection,
    column::{Column, LayerColumns, LayerRows},
    patches::{small, small_bytes},
    row::predictions,
    tokens::{NONE, Texts, TokenRow, TokenTable},
};
use crate::{
    capture::{Capture, Computation, Matrix},
    ids::{HeadId, Side, StackKind},
    spec::ModelSpec,
};

/// Queries and keys of many inputs of one model. Grows by whole inputs, within a budget of bytes.
#[derive(Clone, Debug)]
pub struct Corpus {
    budget_bytes: u64,
    model: Option<Arc<ModelSpec>>,
    computation: Computation,
    inputs: Vec<InputRow>,
    /// What they take besides tokens: asked for with every input, so it is not added up each time.
    rows_bytes: u64,
    /// Names of the annotations, in the order in which they came.
    annotations: Vec<String>,
    tokens: BTreeMap<Side, TokenTable>,
    texts: Texts,
    layers: BTreeMap<(StackKind, usize), LayerColumns>,
    /// What else is kept where captures have it.
    kept: Kept,
    /// Whether inputs without queries and keys are listed as well.
    takes_any: bool,
    /// Per stack the residual stream behind the last layer, where that is kept.
    ends: BTreeMap<StackKind, Column>,
}

/// One head's queries and keys over a selection of inputs.
#[derive(Clone, Debug)]
pub struct HeadSpace {
    /// `[n_query, d_head]`, inputs one after the other as they were selected.
    pub queries: Matrix,
    /// `[n_key, d_head]`.
    pub keys: Matrix,
    /// For each query its row in the token table of the stack's query side.
    pub query_rows: Vec<u32>,
    /// For each key its row in the token table of the stack's key side.
    pub key_rows: Vec<u32>,
}

impl Corpus {
    /// An empty one that may grow to so many bytes.
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            budget_bytes,
            model: None,
            computation: Computation::default(),
            inputs: Vec::new(),
            rows_bytes: 0,
            annotations: Vec::new(),
            tokens: BTreeMap::new(),
            texts: Texts::default(),
            layers: BTreeMap::new(),
            kept: Kept::default(),
            takes_any: false,
            ends: BTreeMap::new(),
        }
    }

    /// The same for inputs of models that have neither queries nor keys, too: they are listed, and nothing of them is
    /// laid out.
    #[must_use]
    pub fn taking_any(self) -> Self {
        Self { takes_any: true, ..self }
    }

    /// The same for captures whose values or residual stream are kept as well, as far as they have them.
    #[must_use]
    pub fn keeping(self, kept: Kept) -> Self {
        Self { kept, ..self }
    }

    /// The captures of one file, in its order.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn from_captures(captures: &[Arc<Capture>], kept: Kept, budget_bytes: u64) -> Result<Self, CorpusError> {
        let mut corpus = Self::new(budget_bytes).keeping(kept);
        for (source, capture) in captures.iter().enumerate() {
            corpus.append(capture, &Label { source, ..Label::default() })?;
        }
        Ok(corpus)
    }

    /// Bytes that queries and keys of `n` tokens take, and what else is kept, before they are there: of every
    /// stack, or of some layers of it.
    pub fn estimate_bytes(model: &ModelSpec, layers: Option<&[usize]>, kept: Kept, n: impl Fn(Side) -> usize) -> u64 {
        let wanted = |layer: usize| layers.is_none_or(|layers| layers.contains(&layer));
        let mut bytes = Side::ALL.iter().map(|side| n(*side) as u64 * TokenTable::ROW_BYTES).sum::<u64>();
        for stack in &model.stacks {
            let (n_query, n_key) = (n(stack.kind.query_side()) as u64, n(stack.kind.key_side()) as u64);
            let has_stream = kept.residual && !stack.kind.is_between();
            let stream = if has_stream { (size_of::<f32>() * model.d_model) as u64 * n_query } else { 0 };
            bytes += stream;
            for (_, spec) in stack.layers.iter().enumerate().filter(|(layer, _)| wanted(*layer)) {
                let row = (size_of::<f32>() * (spec.d_head + 1)) as u64;
                bytes += row * (n_query * spec.n_heads as u64 + n_key * spec.n_kv_heads as u64) + stream;
                if kept.values {
                    bytes += (size_of::<f32>() * spec.d_value * spec.n_kv_heads) as u64 * n_key;
                }
            }
        }
        bytes
    }

    /// Adds an input that was run, and says at which place.
    ///
    /// # Errors
    /// When it does not fit the inputs that are there, or the budget; the corpus then stays as it is.
    pub fn append(&mut self, capture: &Capture, label: &Label) -> Result<usize, CorpusError> {
        let name = label.name.clone().unwrap_or_else(|| name_of(capture));
        let recorded = || {
            capture.stacks().iter().flat_map(|stack| {
                let layers = stack.layers.iter().enumerate();
                layers.filter_map(|(layer, data)| Some(((stack.kind, layer), LayerRows::of(data)?)))
            })
        };
        let ends = || capture.stacks().iter().filter_map(|stack| Some((stack.kind, stack.resid_final()?)));
        if recorded().next().is_none() && !self.takes_any {
            return Err(CorpusError::NoQueries { name });
        }
        if let Some(model) = &self.model {
            let found = capture.model();
            if !Arc::ptr_eq(model, found) && **model != **found {
                return Err(CorpusError::OtherModel { name, found: found.name.clone(), expected: model.name.clone() });
            }
            if *capture.computation() != self.computation {
                return Err(CorpusError::OtherRun { name });
            }
            let fits = |(at, rows)| self.layers.get(&at).is_some_and(|columns| columns.fits(rows));
            let ends: BTreeMap<StackKind, &Matrix> = ends().collect();
            let goes_on = |(stack, column): (&StackKind, &Column)| ends.get(stack).is_some_and(|it| column.fits(it));
            if recorded().count() != self.layers.len() || !recorded().all(fits) || !self.ends.iter().all(goes_on) {
                return Err(CorpusError::OtherLayers { name });
            }
        }
        let too_long = |side: &Side| self.n_tokens(*side) + capture.tokens(*side).len() >= NONE as usize;
        if Side::ALL.iter().any(too_long) {
            return Err(CorpusError::TooManyTokens);
        }
        let (empty, first_ends): (BTreeMap<_, _>, BTreeMap<_, _>) = match &self.model {
            Some(_) => Default::default(),
            None => (
                recorded().map(|(at, rows)| (at, LayerColumns::like(rows, self.kept))).collect(),
                ends().filter(|_| self.kept.residual).map(|(at, end)| (at, Column::new(end.n_cols()))).collect(),
            ),
        };
        let n_rows = |stack: StackKind| (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
        let size = self.size_bytes();
        let growth = |slack| {
            let columns = self.layers.iter().chain(&empty);
            let n_tokens: usize = Side::ALL.iter().map(|side| capture.tokens(*side).len()).sum();
            let table = n_tokens as u64 * TokenTable::ROW_BYTES + small_bytes(capture.image());
            let columns: u64 = columns.map(|((stack, _), columns)| columns.growth_bytes(n_rows(*stack), slack)).sum();
            let ends = self.ends.iter().chain(&first_ends);
            table + columns + ends.map(|(stack, end)| end.growth_bytes(n_rows(*stack).0, slack)).sum::<u64>()
        };
        let slack = size + growth(true) <= self.budget_bytes;
        let needed = size + growth(false);
        if !slack && needed > self.budget_bytes {
            return Err(CorpusError::Full { needed, budget: self.budget_bytes, n_inputs: self.inputs.len() });
        }
        if self.model.is_none() {
            self.model = Some(Arc::clone(capture.model()));
            self.computation = capture.computation().clone();
            (self.layers, self.ends) = (empty, first_ends);
        }
        for (at, rows) in recorded() {
            if let Some(columns) = self.layers.get_mut(&at) {
                columns.grow(n_rows(at.0), slack);
                columns.extend(rows);
            }
        }
        for (stack, end) in ends() {
            if let Some(column) = self.ends.get_mut(&stack) {
                column.grow(n_rows(stack).0, slack);
                column.extend(end.as_slice());
            }
        }
        self.add_row(capture, label, name);
        Ok(self.inputs.len() - 1)
    }

    fn add_row(&mut self, capture: &Capture, label: &Label, name: String) {
        let input = self.inputs.len();
        let mut tokens = BTreeMap::new();
        for side in Side::ALL {
            let of_side = capture.tokens(side);
            if !of_side.is_empty() {
                let table = self.tokens.entry(side).or_default();
                tokens.insert(side, table.extend(input, of_side, &mut self.texts));
            }
        }
        let mut annotations = vec![NONE; self.annotations.len()];
        let is_own = |(name, _): &(String, String)| !label.annotations.iter().any(|(known, _)| known == name);
        let predicted: Vec<(String, String)> = predictions(capture).into_iter().filter(is_own).collect();
        for (name, value) in label.annotations.iter().chain(&predicted) {
            let column = self.annotations.iter().position(|known| known == name).unwrap_or_else(|| {
                self.annotations.push(name.clone());
                annotations.push(NONE);
                self.annotations.len() - 1
            });
            annotations[column] = self.texts.number(value);
        }
        let image = capture.image().map(small);
        let notes = capture.notes().to_vec();
        let info = capture.input().clone();
        let row = InputRow { source: label.source, name, info, image, notes, tokens, annotations };
        self.rows_bytes += row.size_bytes();
        self.inputs.push(row);
    }

    /// Makes room for so many more tokens of each side at once, as far as the budget allows.
    pub fn reserve(&mut self, n: impl Fn(Side) -> usize) {
        let n_rows = |stack: StackKind| (n(stack.query_side()), n(stack.key_side()));
        let layers = self.layers.iter().map(|((stack, _), columns)| columns.growth_bytes(n_rows(*stack), false));
        let ends = self.ends.iter().map(|(stack, end)| end.growth_bytes(n_rows(*stack).0, false));
        let growth: u64 = layers.chain(ends).sum();
        let table: u64 = self.tokens.keys().map(|side| n(*side) as u64 * TokenTable::ROW_BYTES).sum();
        if self.size_bytes() + growth + table > self.budget_bytes {
            return;
        }
        self.layers.iter_mut().for_each(|((stack, _), columns)| columns.grow(n_rows(*stack), false));
        self.ends.iter_mut().for_each(|(stack, end)| end.grow(n_rows(*stack).0, false));
        self.tokens.iter_mut().for_each(|(side, table)| table.reserve(n(*side)));
    }

    /// The model, once there is an input.
    pub const fn model(&self) -> Option<&Arc<ModelSpec>> {
        self.model.as_ref()
    }

    /// From now on it may grow to so many bytes.
    pub const fn set_budget(&mut self, bytes: u64) {
        self.budget_bytes = bytes;
    }

    /// How its inputs were run: all in the same way.
    pub const fn computation(&self) -> &Computation {
        &self.computation
    }

    /// Bytes it may take.
    pub const fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// Bytes it takes, room for growth included.
    pub fn size_bytes(&self) -> u64 {
        let columns = self.layers.values().map(LayerColumns::size_bytes);
        let columns: u64 = columns.chain(self.ends.values().map(Column::size_bytes)).sum();
        let tokens: u64 = self.tokens.values().map(TokenTable::size_bytes).sum();
        columns + tokens + self.texts.size_bytes() + self.rows_bytes
    }

    /// All inputs.
    pub fn inputs(&self) -> &[InputRow] {
        &self.inputs
    }

    /// Tokens of one side of all inputs.
    pub fn n_tokens(&self, side: Side) -> usize {
        self.tokens.get(&side).map_or(0, TokenTable::len)
    }

    /// One token.
    pub fn token(&self, side: Side, row: usize) -> Option<TokenRow<'_>> {
        self.tokens.get(&side)?.row(row, &self.texts)
    }

    /// How often each text stands among the tokens of a side, by [`TokenRow::text_number`].
    pub fn frequencies(&self, side: Side) -> Vec<u32> {
        self.tokens.get(&side).map_or_else(Vec::new, |table| table.frequencies(self.texts.len()))
    }

    /// Names of the annotations.
    pub fn annotations(&self) -> &[String] {
        &self.annotations
    }

    /// An input's value of the annotation called `name`.
    pub fn annotation(&self, input: usize, name: &str) -> Option<&str> {
        let column = self.annotations.iter().position(|known| known == name)?;
        self.texts.get(*self.inputs.get(input)?.annotations.get(column)?)
    }

    /// Heads whose queries and keys are there, by stack, layer and head.
    pub fn heads(&self) -> impl Iterator<Item = HeadId> {
        self.layers
            .iter()
            .flat_map(|(&(stack, layer), columns)| (0..columns.q.len()).map(move |head| HeadId { stack, layer, head }))
    }

    /// Lengths of a head's queries, one per row of the query side's token table.
    pub fn query_norms(&self, head: HeadId) -> Option<&[f32]> {
        Some(self.layers.get(&(head.stack, head.layer))?.q_norms.get(head.head)?.as_slice())
    }

    /// Lengths of the keys that a head reads, one per row of the key side's token table.
    pub fn key_norms(&self, head: HeadId) -> Option<&[f32]> {
        let (columns, kv) = self.columns_of(head)?;
        Some(columns.k_norms.get(kv)?.as_slice())
    }

    /// One head's queries and keys over some inputs; `None` when it was not recorded. Heads that share keys
    /// get the same ones.
    pub fn space(&self, head: HeadId, selection: &Selection) -> Option<HeadSpace> {
        let (columns, kv) = self.columns_of(head)?;
        let (q, k) = (columns.q.get(head.head)?, columns.k.get(kv)?);
        let query_ranges = self.ranges(head.stack.query_side(), selection.inputs());
        let key_ranges = self.ranges(head.stack.key_side(), selection.inputs());
        let rows =
            |ranges: &[Range<usize>]| -> Vec<u32> { ranges.iter().cloned().flatten().map(|row| row as u32).collect() };
        let (query_rows, key_rows) = (rows(&query_ranges), rows(&key_ranges));
        Some(HeadSpace {
            queries: Matrix::new(q.gather(&query_ranges), [query_rows.len(), q.width()]).ok()?,
            keys: Matrix::new(k.gather(&key_ranges), [key_rows.len(), k.width()]).ok()?,
            query_rows,
            key_rows,
        })
    }

    /// The values that a head reads over some inputs, `[n_key, d_head]`; `None` when they are not kept.
    pub fn values(&self, head: HeadId, selection: &Selection) -> Option<Matrix> {
        let (columns, kv) = self.columns_of(head)?;
        columns.v.get(kv)?.rows(&self.ranges(head.stack.key_side(), selection.inputs()))
    }

    /// The residual stream before a layer over some inputs, `[n_query, width]`, or behind the last layer for the
    /// one after it; `None` when it is not kept.
    pub fn stream(&self, stack: StackKind, layer: usize, selection: &Selection) -> Option<Matrix> {
        self.stream_column(stack, layer)?.rows(&self.ranges(stack.query_side(), selection.inputs()))
    }

    /// Whether the values that a head reads are kept.
    pub fn has_values(&self, head: HeadId) -> bool {
        self.columns_of(head).is_some_and(|(columns, _)| !columns.v.is_empty())
    }

    /// Whether [`Self::stream`] has something.
    pub fn has_stream(&self, stack: StackKind, layer: usize) -> bool {
        self.stream_column(stack, layer).is_some()
    }

    fn stream_column(&self, stack: StackKind, layer: usize) -> Option<&Column> {
        let n_layers = self.model.as_ref()?.stack(stack)?.layers.len();
        if layer == n_layers { self.ends.get(&stack) } else { self.layers.get(&(stack, layer))?.stream.as_ref() }
    }

    /// Keeps the selected inputs alone, in their order, and gives the memory of the others back.
    pub fn keep(&mut self, selection: &Selection) {
        let inputs = selection.inputs();
        let by_side: BTreeMap<Side, Vec<Range<usize>>> =
            Side::ALL.into_iter().map(|side| (side, self.ranges(side, inputs))).collect();
        let of = |side: Side| by_side.get(&side).map_or(&[][..], Vec::as_slice);
        for ((stack, _), columns) in &mut self.layers {
            columns.arrange(of(stack.query_side()), of(stack.key_side()));
        }
        self.ends.iter_mut().for_each(|(stack, end)| end.arrange(of(stack.query_side())));
        for (side, table) in &mut self.tokens {
            table.arrange(of(*side));
        }
        let mut ends: BTreeMap<Side, usize> = BTreeMap::new();
        let mut kept: Vec<InputRow> = inputs.iter().filter_map(|input| self.inputs.get(*input)).cloned().collect();
        for (side, rows) in kept.iter_mut().flat_map(|input| &mut input.tokens) {
            let end = ends.entry(*side).or_default();
            *rows = *end..*end + rows.len();
            *end = rows.end;
        }
        self.rows_bytes = kept.iter().map(InputRow::size_bytes).sum();
        self.inputs = kept;
    }

    /// Takes inputs out.
    pub fn remove(&mut self, inputs: &[usize]) {
        let kept = (0..self.inputs.len()).filter(|input| !inputs.contains(input));
        self.keep(&Selection::of(kept));
    }

    /// Rows of some inputs, one range each.
    fn ranges(&self, side: Side, inputs: &[usize]) -> Vec<Range<usize>> {
        inputs.iter().filter_map(|input| self.inputs.get(*input)).map(|input| input.tokens(side)).collect()
    }

    fn columns_of(&self, head: HeadId) -> Option<(&LayerColumns, usize)> {
        let columns = self.layers.get(&(head.stack, head.layer))?;
        let spec = self.model.as_ref()?.stack(head.stack)?.layers.get(head.layer)?;
        (head.head < columns.q.len()).then(|| (columns, spec.kv_head(head.head)))
    }
}

/// What to call an input that has no name.
fn name_of(capture: &Capture) -> String {
    let info = capture.input();
    [&info.image, &info.text, &info.target].into_iter().flatten().next().cloned().unwrap_or_else(|| {
        let tokens = Side::ALL.iter().map(|side| capture.tokens(*side)).find(|tokens| !tokens.is_empty());
        tokens.unwrap_or_default().iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    })
}

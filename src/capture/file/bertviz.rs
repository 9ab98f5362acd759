//! The data in a page that BertViz wrote (Vig 2019): a list of views, each `{"name", "attn", "left_text",
//! "right_text"}` with layers, heads, queries and keys under `attn`. The neuron view has an object of them, by
//! sentences, with `queries` and `keys` of layers, heads, positions and width in each.

use serde::de::{Error, IgnoredAny, MapAccess};

use super::{
    lists::{Layer, LayerNumbers, List, Tokens},
    metadata::MAX_LAYERS,
};
use crate::{
    capture::Site,
    ids::{Side, StackKind},
};

/// What else stands in a page: how it is to be shown.
const SETTINGS: [&str; 8] =
    ["default_filter", "root_div_id", "layer", "head", "heads", "display_mode", "bidirectional", "total_heads"];

/// Whether a name is that of a setting of a page.
pub(super) fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name)
}

/// Lists of all layers.
#[derive(Default)]
struct LayerLists {
    shape: Vec<usize>,
    flat: Vec<f32>,
}

/// One view of a page.
#[derive(Default)]
pub(super) struct Record {
    /// Where it stands in the file, for messages.
    pub(super) name: String,
    /// What the page calls it: `All`, `Encoder`, `Sentence A -> Sentence B`.
    view: Option<String>,
    attention: LayerLists,
    /// Vectors, in the neuron view.
    queries: Option<LayerLists>,
    keys: Option<LayerLists>,
    /// Tokens that are queries, and that are keys.
    left: Vec<String>,
    right: Vec<String>,
}

/// Reads one view; `values` tells where the parser is when it gives up.
pub(super) fn read<'de, A: MapAccess<'de>>(mut map: A, values: &mut LayerNumbers) -> Result<Record, A::Error> {
    let mut record = Record::default();
    let mut has_attention = false;
    while let Some(key) = map.next_key::<String>()? {
        match key.as_str() {
            "attn" => {
                map.next_value_seed(List { values: &mut *values, depth: 0 })?;
                has_attention = true;
            }
            "queries" => record.queries = Some(vectors(&mut map)?),
            "keys" => record.keys = Some(vectors(&mut map)?),
            "left_text" => map.next_value_seed(Tokens(&mut record.left))?,
            "right_text" => map.next_value_seed(Tokens(&mut record.right))?,
            "name" => record.view = map.next_value()?,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
    }
    if !has_attention {
        return Err(A::Error::custom("an object without attn, which BertViz' views have"));
    }
    record.attention = block(values);
    if record.attention.shape.len() == 4 && record.attention.shape[0] > MAX_LAYERS {
        return Err(A::Error::custom("there are more layers than any model has"));
    }
    Ok(record)
}

impl Record {
    /// Names the view by its place in the neuron view's object.
    pub(super) fn set_part(&mut self, part: &str) {
        self.view = (part == "aa").then(|| FIRST_SENTENCE.to_owned());
    }
}

/// The view of the first sentence alone, whose length says where the second one begins.
const FIRST_SENTENCE: &str = "Sentence A -> Sentence A";

fn block(values: &mut LayerNumbers) -> LayerLists {
    let shape = values.shape.iter().map(|n| n.unwrap_or(0)).collect();
    LayerLists { shape, flat: std::mem::take(&mut values.flat) }
}

fn vectors<'de, A: MapAccess<'de>>(map: &mut A) -> Result<LayerLists, A::Error> {
    let mut values = LayerNumbers::default();
    map.next_value_seed(List { values: &mut values, depth: 0 })?;
    Ok(block(&mut values))
}

/// What was chosen of a page.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) layers: Vec<Layer>,
    /// Views that repeat parts of another one.
    pub(super) n_ignored: usize,
    /// Where the second sentence begins.
    pub(super) second: Option<usize>,
}

/// The views that are whole stacks: encoder, decoder and cross-attention by their names, else the first. `numbers` are
/// those of the layers, where a page has only some.
pub(super) fn choose(records: Vec<Record>, numbers: Option<&[usize]>) -> (Chosen, Vec<(Side, Vec<String>)>) {
    let mut chosen = Chosen::default();
    let mut tokens: Vec<(Side, Vec<String>)> = Vec::new();
    let mut taken: Vec<StackKind> = Vec::new();
    for record in records {
        if record.view.as_deref() == Some(FIRST_SENTENCE) {
            chosen.second = Some(record.left.len());
        }
        let stack = match record.view.as_deref() {
            Some("Encoder") => StackKind::Encoder,
            Some("Decoder") => StackKind::Decoder,
            Some("Cross") => StackKind::Cross,
            // A page about a pair repeats the whole by sentences, after it.
            _ if !taken.is_empty() => {
                chosen.n_ignored += 1;
                continue;
            }
            _ if record.left == record.right => StackKind::SelfAttention,
            _ => StackKind::Cross,
        };
        if taken.contains(&stack) {
            chosen.n_ignored += 1;
            continue;
        }
        taken.push(stack);
        for (side, texts) in [(stack.query_side(), &record.left), (stack.key_side(), &record.right)] {
            if !texts.is_empty() && tokens.iter().all(|(known, _)| *known != side) {
                tokens.push((side, texts.clone()));
            }
        }
        chosen.layers.extend(layers(record, stack, numbers));
    }
    (chosen, tokens)
}

/// One by one; a shape that is no stack's is left as it is, to be refused by name.
fn layers(record: Record, stack: StackKind, numbers: Option<&[usize]>) -> Vec<Layer> {
    let Record { name, attention, queries, keys, .. } = record;
    let parts = [("attn", Site::Pattern, Some(attention)), ("queries", Site::Q, queries), ("keys", Site::K, keys)];
    let mut layers = Vec::new();
    for (part, site, LayerLists { shape, flat }) in
        parts.into_iter().filter_map(|(part, site, it)| Some((part, site, it?)))
    {
        let Some((&n_layers, of_layer)) = shape.split_first().filter(|(_, rest)| rest.len() == 3) else {
            layers.push(Layer { stack, site, idx: 0, name: format!("{name}.{part}"), shape, values: flat });
            continue;
        };
        let size: usize = of_layer.iter().product();
        // Numbers that are not those of these layers say nothing.
        let numbers = numbers.filter(|numbers| numbers.len() == n_layers);
        layers.extend((0..n_layers).map(|idx| Layer {
            stack,
            site,
            idx: numbers.map_or(idx, |numbers| numbers[idx]),
            name: format!("{name}.{part}[{idx}]"),
            shape: of_layer.to_vec(),
            values: flat[idx * size..(idx + 1) * size].to_vec(),
        }));
    }
    layers
}

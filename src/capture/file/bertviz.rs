//! The data in a page that BertViz wrote (Vig 2019): a list of views, each `{"name", "attn", "left_text",
//! "right_text"}` with layers, heads, queries and keys under `attn`.

use serde::de::{Error, IgnoredAny, MapAccess};

use super::{
    lists::{Layer, List, Tokens, Values},
    metadata::MAX_LAYERS,
};
use crate::ids::{Side, StackKind};

/// One view of a page.
#[derive(Default)]
pub(super) struct Record {
    /// Where it stands in the file, for messages.
    pub(super) name: String,
    /// What the page calls it: `All`, `Encoder`, `Sentence A -> Sentence B`.
    view: Option<String>,
    /// Shape and numbers of all layers together.
    shape: Vec<usize>,
    flat: Vec<f32>,
    /// Queries and keys.
    left: Vec<String>,
    right: Vec<String>,
}

/// Reads one view; `values` tells where the parser is when it gives up.
pub(super) fn read<'de, A: MapAccess<'de>>(mut map: A, values: &mut Values) -> Result<Record, A::Error> {
    let mut record = Record::default();
    let mut has_attention = false;
    while let Some(key) = map.next_key::<String>()? {
        match key.as_str() {
            "attn" => {
                map.next_value_seed(List { values: &mut *values, depth: 0 })?;
                has_attention = true;
            }
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
    record.flat = std::mem::take(&mut values.flat);
    record.shape = values.shape.iter().map(|n| n.unwrap_or(0)).collect();
    if record.shape.len() == 4 && record.shape[0] > MAX_LAYERS {
        return Err(A::Error::custom("there are more layers than any model has"));
    }
    Ok(record)
}

/// What was chosen of a page.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) layers: Vec<Layer>,
    /// Views that repeat parts of another one.
    pub(super) n_ignored: usize,
}

/// The views that are whole stacks: encoder, decoder and cross-attention by their names, else the first.
pub(super) fn choose(records: Vec<Record>) -> (Chosen, Vec<(Side, Vec<String>)>) {
    let mut chosen = Chosen::default();
    let mut tokens: Vec<(Side, Vec<String>)> = Vec::new();
    let mut taken: Vec<StackKind> = Vec::new();
    for record in records {
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
        chosen.layers.extend(layers(record, stack));
    }
    (chosen, tokens)
}

/// One by one; a shape that is no stack's is left as it is, to be refused by name.
fn layers(record: Record, stack: StackKind) -> Vec<Layer> {
    let Record { name, shape, flat, .. } = record;
    let Some((&n_layers, of_layer)) = shape.split_first().filter(|(_, rest)| rest.len() == 3) else {
        return vec![Layer { stack, idx: 0, name: format!("{name}.attn"), shape, values: flat }];
    };
    let size: usize = of_layer.iter().product();
    let layer = |idx: usize| Layer {
        stack,
        idx,
        name: format!("{name}.attn[{idx}]"),
        shape: of_layer.to_vec(),
        values: flat[idx * size..(idx + 1) * size].to_vec(),
    };
    (0..n_layers).map(layer).collect()
}

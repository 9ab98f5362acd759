//! Captures to a byte stream: the header first, then every tensor from where it already is.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    FileSite,
    content::{GeneratedEntry, ImageEntry, InputEntry, TokenEntry, TokensEntry},
    metadata::{FORMAT, ModelEntry, VERSION},
};
use crate::{
    capture::{Capture, PerHead},
    ids::Side,
    spec::HeadKind,
};

/// Writes what `captures` hold of `sites`; a site that was not recorded is left out.
///
/// With several captures, which must be of one model, tensor and metadata names get the prefix
/// `input{i}/`. Values are not copied.
///
/// # Errors
/// What the stream returns; captures of different models are refused as invalid input.
pub fn write(captures: &[&Capture], sites: &[FileSite], out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = captures.first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no capture to write"));
    };
    if captures.iter().any(|capture| capture.model() != first.model()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the captures are of different models"));
    }
    let mut metadata = Map::new();
    metadata.insert("format".to_owned(), json!(FORMAT));
    metadata.insert("version".to_owned(), json!(VERSION));
    metadata.insert("model".to_owned(), entry(&ModelEntry::from(&**first.model()))?);
    let mut tensors = Vec::new();
    for (idx, capture) in captures.iter().enumerate() {
        let prefix = if captures.len() > 1 { format!("input{idx}/") } else { String::new() };
        describe(capture, &prefix, &mut metadata)?;
        collect(capture, sites, &prefix, &mut tensors);
    }
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), Value::Object(metadata));
    let mut offset = 0;
    for tensor in &tensors {
        let end = offset + 4 * tensor.values.len();
        let info = json!({ "dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, end] });
        header.insert(tensor.name.clone(), info);
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    // The format wants values to begin at a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for tensor in &tensors {
        write_values(tensor.values, out)?;
    }
    Ok(())
}

struct Tensor<'a> {
    name: String,
    shape: Vec<usize>,
    values: &'a [f32],
}

fn describe(capture: &Capture, prefix: &str, metadata: &mut Map<String, Value>) -> io::Result<()> {
    let tokens: TokensEntry = Side::ALL
        .into_iter()
        .map(|side| (side, capture.tokens(side)))
        .filter(|(_, tokens)| !tokens.is_empty())
        .map(|(side, tokens)| (side.name().to_owned(), tokens.iter().map(TokenEntry::from).collect()))
        .collect();
    metadata.insert(format!("{prefix}tokens"), entry(&tokens)?);
    metadata.insert(format!("{prefix}input"), entry(&InputEntry::from(capture.input()))?);
    if let Some(image) = capture.image() {
        metadata.insert(format!("{prefix}image"), entry(&ImageEntry::from(image))?);
    }
    if let Some(generated) = capture.generated() {
        metadata.insert(format!("{prefix}generated"), entry(&GeneratedEntry::from(generated))?);
    }
    Ok(())
}

/// JSON as a string: safetensors metadata has no other values.
fn entry(value: &impl Serialize) -> io::Result<Value> {
    Ok(Value::String(serde_json::to_string(value)?))
}

fn collect<'a>(capture: &'a Capture, sites: &[FileSite], prefix: &str, tensors: &mut Vec<Tensor<'a>>) {
    let wanted = |site| sites.contains(&site);
    for stack in capture.stacks() {
        for (layer_idx, layer) in stack.layers.iter().enumerate() {
            let per_head: [(FileSite, &Option<PerHead>); 6] = [
                (FileSite::Q, &layer.q),
                (FileSite::K, &layer.k),
                (FileSite::V, &layer.v),
                (FileSite::Scores, &layer.scores),
                (FileSite::Pattern, &layer.pattern),
                (FileSite::Z, &layer.z),
            ];
            for (site, data) in per_head {
                if let Some(data) = data.as_ref().filter(|_| wanted(site)) {
                    let name = format!("{prefix}{}.{layer_idx}.{}", stack.kind, site.name());
                    tensors.push(Tensor { name, shape: data.shape().to_vec(), values: data.as_slice() });
                }
            }
            if let Some(data) = layer.resid_pre.as_ref().filter(|_| wanted(FileSite::Resid)) {
                let name = format!("{prefix}{}.{layer_idx}.resid_pre", stack.kind);
                tensors.push(Tensor { name, shape: data.shape().to_vec(), values: data.as_slice() });
            }
        }
        if let Some(data) = stack.resid_final.as_ref().filter(|_| wanted(FileSite::Resid)) {
            let name = format!("{prefix}{}.resid_final", stack.kind);
            tensors.push(Tensor { name, shape: data.shape().to_vec(), values: data.as_slice() });
        }
    }
    if let Some(data) = capture.logits().filter(|_| wanted(FileSite::Logits)) {
        let classifier =
            matches!(capture.model().head, Some(HeadKind::TextClass | HeadKind::ImageClass | HeadKind::Similarity));
        let shape = if classifier && data.n_rows() == 1 { vec![data.n_cols()] } else { data.shape().to_vec() };
        tensors.push(Tensor { name: format!("{prefix}logits"), shape, values: data.as_slice() });
    }
}

fn write_values(values: &[f32], out: &mut dyn Write) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(values));
    }
    for chunk in values.chunks(4096) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

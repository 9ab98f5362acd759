//! Captures to a byte stream: the header first, then every tensor from where it already is.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Contents,
    metadata::{
        FORMAT, GeneratedEntry, ImageEntry, InputEntry, ModelEntry, PARTIAL, PredictionEntry, TokenEntry, TokensEntry,
        VERSION,
    },
    place::PICTURE,
};
use crate::{
    capture::{Capture, RgbaBuffer, Site},
    ids::Side,
    spec::HeadKind,
};

/// Writes what `captures` hold of `contents`; a site that was not recorded is left out.
///
/// With several captures, which must be of one model, tensor and metadata names get the prefix
/// `input{i}/`. Values are not copied.
///
/// # Errors
/// What the stream returns; captures of different models are refused as invalid input.
pub fn write(captures: &[&Capture], contents: Contents, out: &mut dyn Write) -> io::Result<()> {
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
        collect(capture, contents, &prefix, &mut tensors);
    }
    // Pictures last: their values have one byte, so the next ones would not be aligned.
    tensors.sort_by_key(|tensor| matches!(tensor.values, TensorValues::Picture(_)));
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), Value::Object(metadata));
    let mut offset = 0;
    for tensor in &tensors {
        let end = offset + tensor.values.n_bytes();
        let info = json!({ "dtype": tensor.values.dtype(), "shape": tensor.shape, "data_offsets": [offset, end] });
        header.insert(tensor.name.clone(), info);
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    // The format wants values to begin at a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for tensor in &tensors {
        tensor.values.write(out)?;
    }
    Ok(())
}

struct Tensor<'a> {
    name: String,
    shape: Vec<usize>,
    values: TensorValues<'a>,
}

/// What a tensor holds, where it already is.
enum TensorValues<'a> {
    Floats(&'a [f32]),
    /// 1 for the tokens that are meant, 0 for the others.
    Flags(Vec<f32>),
    /// Without its fourth channel where it is opaque.
    Picture(&'a RgbaBuffer),
}

fn is_opaque(picture: &RgbaBuffer) -> bool {
    picture.pixels.chunks_exact(4).all(|pixel| pixel[3] == u8::MAX)
}

impl TensorValues<'_> {
    fn n_bytes(&self) -> usize {
        match self {
            Self::Floats(values) => size_of_val(*values),
            Self::Flags(values) => size_of_val(&**values),
            Self::Picture(picture) if is_opaque(picture) => picture.pixels.len() / 4 * 3,
            Self::Picture(picture) => picture.pixels.len(),
        }
    }

    const fn dtype(&self) -> &'static str {
        match self {
            Self::Floats(_) | Self::Flags(_) => "F32",
            Self::Picture(_) => "U8",
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Floats(values) => write_values(values, out),
            Self::Flags(values) => write_values(values, out),
            Self::Picture(picture) if is_opaque(picture) => picture.pixels.chunks(4 * 4096).try_for_each(|chunk| {
                let bytes: Vec<u8> = chunk.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
                out.write_all(&bytes)
            }),
            Self::Picture(picture) => out.write_all(&picture.pixels),
        }
    }
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
    if let Some(prediction) = capture.prediction() {
        metadata.insert(format!("{prefix}prediction"), entry(&PredictionEntry::from(prediction))?);
    }
    let computation = capture.computation();
    if !computation.edits.is_empty() {
        metadata.insert(format!("{prefix}edits"), entry(&computation.edits)?);
    }
    metadata.insert(format!("{prefix}normalizer"), Value::String(computation.normalizer.to_string()));
    if computation.partial_rows {
        metadata.insert(format!("{prefix}rows"), Value::String(PARTIAL.to_owned()));
    }
    Ok(())
}

/// JSON as a string: safetensors metadata has no other values.
fn entry(value: &impl Serialize) -> io::Result<Value> {
    Ok(Value::String(serde_json::to_string(value)?))
}

fn collect<'a>(capture: &'a Capture, contents: Contents, prefix: &str, tensors: &mut Vec<Tensor<'a>>) {
    let wanted = |site: Site| contents.sites.contains(site);
    let mut add = |name: String, shape: &[usize], values: &'a [f32]| {
        tensors.push(Tensor {
            name: format!("{prefix}{name}"),
            shape: shape.to_vec(),
            values: TensorValues::Floats(values),
        });
    };
    for stack in capture.stacks() {
        let kind = stack.kind;
        for (layer_idx, layer) in stack.layers.iter().enumerate() {
            let named = |name: &str| format!("{kind}.{layer_idx}.{name}");
            for (site, value) in layer.sites.iter().filter(|(site, _)| wanted(*site)) {
                add(named(site.name()), &value.shape(), value.as_slice());
            }
            // A bias is of use with what it is added to, and a sink with the rows that it completes.
            if let Some(bias) = layer.bias.as_ref().filter(|_| wanted(Site::Q) && wanted(Site::K)) {
                add(named("bias"), &bias.shape(), bias.as_slice());
            }
            for (site, name, data) in [(Site::K, "k_global", &layer.k_global), (Site::V, "v_global", &layer.v_global)] {
                if let Some(data) = data.as_ref().filter(|_| wanted(site)) {
                    add(named(name), &data.shape(), data.as_slice());
                }
            }
            if let Some(scorer) = layer.scorer.as_ref().filter(|_| wanted(Site::Q) && wanted(Site::K)) {
                add(named(scorer.bend.name()), &scorer.rows().shape(), scorer.rows().as_slice());
            }
            let has_rows = wanted(Site::Pattern) || wanted(Site::Scores) || (wanted(Site::Q) && wanted(Site::K));
            if let Some(sink) = layer.sink.as_ref().filter(|_| has_rows) {
                add(named("sink"), &sink.shape(), sink.as_slice());
            }
        }
        for (site, value) in stack.sites.iter().filter(|(site, _)| wanted(*site)) {
            add(format!("{kind}.{}", site.name()), &value.shape(), value.as_slice());
        }
    }
    for side in Side::ALL {
        for site in Site::ALL.into_iter().filter(|site| wanted(*site)) {
            if let Some(data) = capture.of_sequence(side, site) {
                add(format!("{}.{}", side.name(), site.name()), &data.shape(), data.as_slice());
            }
        }
    }
    if let Some(data) = capture.logits().filter(|_| contents.logits) {
        let classifier = matches!(
            capture.model().head,
            Some(HeadKind::TextClass | HeadKind::ImageClass | HeadKind::Similarity | HeadKind::PairClass)
        );
        let shape = if classifier && data.n_rows() == 1 { vec![data.n_cols()] } else { data.shape().to_vec() };
        add("logits".to_owned(), &shape, data.as_slice());
    }
    for stack in capture.stacks().iter().filter(|stack| !stack.global.is_empty()) {
        let n = capture.query_tokens(stack.kind).len();
        let flags = (0..n).map(|position| f32::from(u8::from(stack.global.contains(&position))));
        let (name, values) = (format!("{prefix}{}.global", stack.kind), TensorValues::Flags(flags.collect()));
        tensors.push(Tensor { name, shape: vec![n], values });
    }
    if let Some(picture) = capture.image().and_then(|image| image.source.as_ref()) {
        let n_channels = if is_opaque(picture) { 3 } else { 4 };
        tensors.push(Tensor {
            name: format!("{prefix}{PICTURE}"),
            shape: vec![picture.height, picture.width, n_channels],
            values: TensorValues::Picture(picture),
        });
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

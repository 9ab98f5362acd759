//! Jacobian lenses in their published layout, and in ours.
//!
//! Published: a PyTorch archive `{"J": {layer: [d, d]}, "n_prompts", "source_layers", "d_model", "metadata"}`, rows are
//! outputs; or what a fit keeps on its way, `{"jacobian_sum": {layer: [d, d]}, "n_done", …}`. Ours: safetensors with `J.0`,
//! `J.1`, … and, of what attention adds, `J_attn.0`, …, with the same keys as texts of `__metadata__`.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::Path,
};

use serde_json::{Map, Value};

use super::weights::ArrayFile;
use crate::{
    analysis::explain::jacobian::{HeadJacobians, JacobianLens, JacobianSums},
    capture::Matrix,
    model::LoadError,
    tensor_file::{self, Written},
};

/// The matrices, the sums of matrices, and the matrices of what attention adds.
const MEANS: &str = "J";
const SUMS: &str = "jacobian_sum";
const OF_ATTENTION: &str = "J_attn";
/// The estimator that the layers are read by.
const ESTIMATOR: &str = "jacobian_lens";
const ADVICE: &str = "Choose a lens file with the key J, such as those of neuronpedia/jacobian-lens, or fit one with \
    `attnscope analyze jacobian-lens`";

/// Reads a fitted lens.
///
/// # Errors
/// When the file cannot be read, is something else, or its matrices make no sense; each is named.
pub fn open_lens(path: &Path) -> Result<JacobianLens, LoadError> {
    let file = ArrayFile::open(path)?;
    let groups = [MEANS, SUMS].map(|group| layers(&file, group));
    let [means, sums] = groups;
    let (found, is_sum) = if means.is_empty() { (sums, true) } else { (means, false) };
    let Some((_, first)) = found.iter().next() else {
        return Err(file.refused("is no Jacobian lens: it has no matrices under the key J", ADVICE));
    };
    let rows = file.shape(first).and_then(|shape| shape.first().copied()).unwrap_or(0);
    let d_model = match file.count("d_model") {
        Some(d_model) => usize::try_from(d_model).unwrap_or(0),
        None if is_sum => rows,
        None => return Err(file.refused("does not say the width of the stream (d_model)", ADVICE)),
    };
    let count = |names: &[&str]| names.iter().find_map(|name| file.count(name));
    if let Some(other) = ["estimator", "metadata.estimator"]
        .iter()
        .find_map(|name| file.notes.get(*name)?.as_str())
        .filter(|it| *it != ESTIMATOR)
    {
        let what = format!("was fitted by another estimator ({other}), whose matrices are not read like these");
        return Err(file.refused(what, ADVICE));
    }
    let n_prompts = count(if is_sum { &["n_done", "n_prompts"] } else { &["n_prompts", "metadata.n_prompts"] });
    let n_prompts = usize::try_from(n_prompts.unwrap_or(0)).unwrap_or(0);
    if is_sum && n_prompts == 0 {
        return Err(file.refused("holds sums over no inputs (n_done): its means are not known", ADVICE));
    }
    let factor = if is_sum { 1.0 / n_prompts as f32 } else { 1.0 };
    let matrices = |names: &BTreeMap<usize, String>| -> Result<BTreeMap<usize, Matrix>, LoadError> {
        let read = |(layer, name): (&usize, &String)| {
            let shape = match file.shape(name) {
                Some([rows, cols]) if *rows > 0 && *cols > 0 => [*rows, *cols],
                other => {
                    let what = format!("has no matrix under {name}: its shape is {:?}", other.unwrap_or(&[]));
                    return Err(file.refused(what, ADVICE));
                }
            };
            if shape[0] != d_model {
                let what = format!("has a matrix {name} of the shape {shape:?} for a stream of width {d_model}");
                return Err(file.refused(what, ADVICE));
            }
            let mut values = file.values(name)?;
            if is_sum {
                for value in &mut values {
                    *value *= factor;
                }
            }
            let matrix = Matrix::new(values, shape);
            Ok((*layer, matrix.map_err(|_| file.refused(format!("has no matrix under {name}"), ADVICE))?))
        };
        names.iter().map(read).collect()
    };
    let own = layers(&file, OF_ATTENTION);
    let read = matrices(&found)?;
    let (streams, heads) = match own.is_empty() {
        // Of `z` of all heads side by side, which need not be as wide as the stream.
        true if read.values().all(|matrix| matrix.n_cols() != d_model) => (BTreeMap::new(), HeadJacobians::Z(read)),
        true => (read, HeadJacobians::None),
        false => (read, HeadJacobians::Added(matrices(&own)?)),
    };
    let lens = JacobianLens::new(file.name(), d_model, streams, heads);
    let mut lens = lens.map_err(|what| file.refused(what, ADVICE))?;
    let skipped = count(&["skip_first", "metadata.skip_first_positions", "metadata.skip_first"]);
    lens.n_prompts = n_prompts;
    lens.skip_first = skipped.and_then(|n| usize::try_from(n).ok());
    lens.target_layer = count(&["target_layer", "metadata.target_layer"]);
    Ok(lens)
}

/// Whether a file that was taken for a model is a lens.
pub fn is_lens(path: &Path) -> bool {
    let has = |file: ArrayFile| [MEANS, SUMS].into_iter().any(|group| !layers(&file, group).is_empty());
    path.is_file() && ArrayFile::open(path).is_ok_and(has)
}

/// Names of the tensors of a group by their layer.
fn layers(file: &ArrayFile, group: &str) -> BTreeMap<usize, String> {
    let of = |name: &str| Some((name.strip_prefix(group)?.strip_prefix('.')?.parse().ok()?, name.to_owned()));
    file.names().filter_map(of).collect()
}

/// Writes what was fitted, with texts beside it: the same sums and texts give the same bytes.
///
/// # Errors
/// What the stream returns.
pub fn write_lens(sums: &JacobianSums, notes: &[(&str, String)], out: &mut dyn Write) -> io::Result<()> {
    let shape = vec![sums.d_model, sums.d_model];
    let of = |group: &str, matrices: &[Vec<f64>]| -> Vec<Written> {
        let matrices = matrices.iter().enumerate();
        let values = |matrix| sums.mean(matrix).map(|value| value as f32);
        matrices
            .map(|(layer, matrix)| Written::single(format!("{group}.{layer}"), shape.clone(), values(matrix)))
            .collect()
    };
    let mut tensors = of(MEANS, &sums.streams);
    tensors.extend(of(OF_ATTENTION, &sums.attention));
    let layers: Vec<usize> = (0..sums.streams.len()).collect();
    let own = [
        ("n_prompts", sums.n.to_string()),
        ("d_model", sums.d_model.to_string()),
        ("source_layers", serde_json::to_string(&layers)?),
        ("target_layer", sums.streams.len().to_string()),
        ("estimator", ESTIMATOR.to_owned()),
    ];
    let notes = own.into_iter().chain(notes.iter().cloned());
    let metadata: Map<String, Value> = notes.map(|(name, text)| (name.to_owned(), Value::String(text))).collect();
    tensor_file::write(&tensors, metadata, out)
}

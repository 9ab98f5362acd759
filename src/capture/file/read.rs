//! Capture files in their own container, safetensors: one input or several.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use super::{
    FileError,
    assemble::{Described, InputTensors},
    header,
    metadata::{self, InputEntry, ModelEntry, TokenStyles, TokensEntry},
    place::place,
};
use crate::{
    capture::{Capture, Computation, Normalizer},
    ids::CaptureId,
};

/// Reads every capture of a file; see [`super::read`].
pub(super) fn read(
    source: &mut (impl Read + Seek),
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    let header = header::read(source)?;
    let text = |key: &str| header.metadata.get(key).map(String::as_str);
    let ours = text("format") == Some(metadata::FORMAT);
    if let Some(version) = text("version").filter(|version| ours && *version != metadata::VERSION) {
        return Err(FileError::Version(version.chars().take(16).collect()));
    }
    let model: ModelEntry = text("model").map_or_else(|| Ok(ModelEntry::default()), |m| metadata::parse("model", m))?;
    let mut inputs: BTreeMap<Option<usize>, InputTensors> = BTreeMap::new();
    for entry in header.entries {
        let (input, place) = place(&entry.name);
        let input = inputs.entry(input).or_default();
        match place {
            Some(place) => input.add(place, entry)?,
            None => input.n_ignored += 1,
        }
    }
    inputs.retain(|_, input| input.has_attention());
    if inputs.is_empty() {
        return Err(FileError::NoAttention);
    }
    let mut captures = Vec::with_capacity(inputs.len());
    for (number, input) in inputs {
        let prefix = number.map(|number| format!("input{number}/")).unwrap_or_default();
        let text = |key: &str| text(&format!("{prefix}{key}")).or_else(|| text(key));
        let mut tokens: Option<TokensEntry> = text("tokens").map(|t| metadata::parse("tokens", t)).transpose()?;
        if let Some(tokens) = &mut tokens {
            let styles = if ours { TokenStyles::as_is() } else { TokenStyles::parse(text("token_style"))? };
            styles.apply(tokens);
        }
        let described = Described {
            tokens,
            input: text("input").map(|t| metadata::parse::<InputEntry>("input", t)).transpose()?,
            image: text("image").map(|t| metadata::parse("image", t)).transpose()?,
            generated: text("generated").map(|t| metadata::parse("generated", t)).transpose()?,
            prediction: text("prediction").map(|t| metadata::parse("prediction", t)).transpose()?,
            computation: computation(&text)?,
            notes: Vec::new(),
        };
        captures.push(input.capture(source, &model, described, fallback_name, new_id())?);
    }
    Ok(captures)
}

/// How the patterns came about, as far as the file says.
fn computation<'a>(text: &impl Fn(&str) -> Option<&'a str>) -> Result<Computation, FileError> {
    let edits = text("edits").map_or_else(|| Ok(Vec::new()), |edits| metadata::parse("edits", edits))?;
    let normalizer = text("normalizer").map_or(Ok(Normalizer::Softmax), |name| {
        // Plain, or as JSON like the other entries.
        let name = name.trim_matches('"');
        Normalizer::from_name(name).ok_or_else(|| FileError::Metadata {
            entry: "normalizer",
            problem: format!(
                "{:?} is no normaliser such as sparsemax or entmax:1.5",
                name.chars().take(40).collect::<String>()
            ),
        })
    })?;
    let partial_rows = text("rows").map_or(Ok(false), metadata::rows_are_partial)?;
    Ok(Computation { edits, normalizer, partial_rows })
}

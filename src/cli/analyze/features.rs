//! `attnscope analyze features`: features of a sparse autoencoder over many texts.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::{document, over_corpus::ReadInputs, write};
use crate::{
    analysis::{
        explain::report::spec_json,
        sae::{CorpusFeatures, FEATURES, FiringText, Sae, basis_shares, cosines},
    },
    cli::{CliError, open_model, show_progress},
    lab::{FeatureWords, neurons_of, words_of},
    model::{Projection, open_sae},
    text::{counted, decimal_text, share_text},
    worker::features::go_on,
};

/// Features that are told where none is named.
const N_FEATURES: usize = 20;
/// Features, neurons and directions that are near to each, in files and in the table.
const N_NEAR: usize = 10;
const N_TOLD: usize = 5;
/// Tokens around the one at which a feature fires.
const AROUND: usize = 6;

/// The model, the dictionary and the texts.
#[derive(Debug, Args)]
pub struct FeatureArguments {
    /// A model folder, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    /// Folder of the dictionary as SAELens saved it
    #[arg(long, value_name = "FOLDER")]
    sae: PathBuf,
    #[command(flatten)]
    inputs: ReadInputs,
    /// Features to tell [default: the 20 that fire most in all]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    feature: Vec<usize>,
    /// Texts in which each fires most
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    texts: u16,
    /// Words that each promotes and suppresses
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    words: u16,
    /// Read only the first texts
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON instead of a table; - is stdout
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
}

pub fn run(asked: &FeatureArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let sae = open_sae(&asked.sae)?;
    if let Some(wrong) = asked.feature.iter().find(|feature| **feature >= sae.d_sae) {
        return Err(CliError::Usage(format!("there is no feature {wrong} among {}", sae.d_sae)));
    }
    let model = open_model(&asked.model, &asked.inputs.engine()?)?;
    let kind = model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let list = asked.inputs.list()?;
    let inputs = (0..list.items.len().min(asked.limit.unwrap_or(usize::MAX))).collect();
    let folder = asked.sae.display().to_string();
    let names = (model.spec().name.as_str(), &*asked.inputs.name(), folder.as_str());
    let mut found = CorpusFeatures::new(&sae, names, inputs, asked.texts.into());
    go_on(&mut found, (&model, &sae), (&list, asked.inputs.how.chosen()), &show_progress)?;
    if let Some((text, why)) = found.left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(found.left_out.len(), "text"), text + 1);
    }
    let shown = if asked.feature.is_empty() { found.counts.strongest(N_FEATURES) } else { asked.feature.clone() };
    let neurons = neurons_of(&model, (&sae, kind)).map_err(|error| failed(error.to_string()))?;
    let words =
        words_of(&model, (&sae, kind), &shown, asked.words.into()).map_err(|error| failed(error.to_string()))?;
    match &asked.out {
        None => {
            // A closed pipe is not an error.
            io::stdout().lock().write_all(table(&sae, &found, &shown, words.as_ref()).as_bytes()).ok();
            Ok(())
        }
        Some(out) => {
            let parameters = json!({
                "corpus": asked.inputs.corpus, "sae": asked.sae, "limit": asked.limit, "site": sae.site.name(),
                "layer": sae.layer,
            });
            let result = result((&sae, neurons.as_ref()), &found, &shown, words.as_ref());
            let mut document = document(&FEATURES, &parameters, &[], &result);
            document["model"] = spec_json(model.spec());
            write(&document, out)
        }
    }
}

/// The text around a token, which stands in brackets.
fn around(found: &CorpusFeatures, at: &FiringText) -> String {
    let tokens = found.texts.get(at.text).map_or(&[][..], |text| text);
    let first = at.position.saturating_sub(AROUND);
    let last = (at.position + AROUND + 1).min(tokens.len());
    let mut text = if first > 0 { "… ".to_owned() } else { String::new() };
    for (position, token) in tokens.iter().enumerate().take(last).skip(first) {
        let [before, after] = if position == at.position { ["[", "]"] } else { [""; 2] };
        text.extend([before, token, after]);
        text.push(' ');
    }
    text + if last < tokens.len() { "…" } else { "" }
}

/// What is near to a feature, the nearest first.
fn listed(name: &str, number: &str, of: Vec<(usize, f64)>) -> Value {
    of.into_iter().take(N_NEAR).map(|(id, value)| json!({ name: id, number: value })).collect()
}

fn result(
    (sae, neurons): (&Sae, Option<&Projection>),
    found: &CorpusFeatures,
    shown: &[usize],
    words: Option<&FeatureWords>,
) -> Value {
    let features = shown.iter().enumerate().map(|(nth, feature)| {
        let count = &found.counts.features[*feature];
        let texts = count.texts.iter().map(|at| {
            json!({ "text": at.text, "position": at.position, "activation": at.value, "around": around(found, at) })
        });
        json!({
            "feature": feature, "density": found.density(*feature),
            "mean_when_active": (count.n > 0).then(|| count.mean()),
            "promoted": words.map(|words| &words.promoted[nth]),
            "suppressed": words.map(|words| &words.suppressed[nth]),
            "texts": texts.collect::<Vec<_>>(),
            "correlated": listed("feature", "pearson", found.activations.correlated(*feature, sae.d_sae)),
            "neurons": neurons.map(|map| {
                listed("neuron", "cosine", cosines(sae.direction(*feature), map.weight.rows(), N_NEAR))
            }),
            "basis": basis_shares(sae.direction(*feature), N_NEAR).iter().map(|of| {
                json!({ "index": of.index, "weight": of.value, "share": of.share })
            }).collect::<Vec<_>>(),
        })
    });
    let n_alive = found.n_alive();
    json!({
        "n_tokens": found.counts.n_tokens, "n_features": sae.d_sae, "n_alive": n_alive, "notes": sae.notes,
        "left_out": found.left_out.iter().map(|(text, why)| json!({ "text": text, "why": why })).collect::<Vec<_>>(),
        "features": features.collect::<Vec<_>>(),
    })
}

fn table(sae: &Sae, found: &CorpusFeatures, shown: &[usize], words: Option<&FeatureWords>) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let n_alive = found.n_alive();
    line(format!(
        "{} of {} features of {} fire in {}",
        n_alive,
        sae.d_sae,
        sae.site.in_words(sae.layer, None),
        counted(found.counts.n_tokens, "token")
    ));
    sae.notes.iter().for_each(|note| line(format!("the dictionary: {note}")));
    for (nth, feature) in shown.iter().enumerate() {
        let count = &found.counts.features[*feature];
        let mean = if count.n > 0 { decimal_text(count.mean()) } else { "–".to_owned() };
        let density = share_text(found.density(*feature));
        line(format!("feature {feature}: fires at {density} of the tokens, mean there {mean}"));
        if let Some(words) = words {
            line(format!(
                "  promotes {}; suppresses {}",
                words.promoted[nth].join(" "),
                words.suppressed[nth].join(" ")
            ));
        }
        let with = found.activations.correlated(*feature, sae.d_sae);
        let with: Vec<String> =
            with.iter().take(N_TOLD).map(|(other, r)| format!("{other} ({})", decimal_text(*r))).collect();
        if !with.is_empty() {
            line(format!("  fires together with features {} (Pearson)", with.join(", ")));
        }
        for at in &count.texts {
            line(format!("  {} in text {}: {}", decimal_text(f64::from(at.value)), at.text + 1, around(found, at)));
        }
    }
    line(FEATURES.caveat.to_owned());
    out
}

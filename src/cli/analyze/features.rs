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
        sae::{FEATURES, FeatureCounts, FiringText, Sae},
    },
    capture::{Token, words},
    cli::{CliError, open_model, show_progress},
    ids::StackKind,
    lab::{FeatureWords, LabError, rows_of, words_of},
    model::{Cancelled, Logits, Model, ModelError, Progress, RunPlan, Sites, Stage, open_sae},
    text::{counted, decimal_text, share_text},
    worker::corpus::input_of,
};

/// Features that are told where none is named.
const N_FEATURES: usize = 20;
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

/// Features over the texts, and the tokens of those.
struct TextsRead {
    counts: FeatureCounts,
    tokens: Vec<Vec<Token>>,
    left_out: Vec<(usize, String)>,
}

pub fn run(asked: &FeatureArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let sae = open_sae(&asked.sae)?;
    if let Some(wrong) = asked.feature.iter().find(|feature| **feature >= sae.d_sae) {
        return Err(CliError::Usage(format!("there is no feature {wrong} among {}", sae.d_sae)));
    }
    let model = open_model(&asked.model, &asked.inputs.engine()?)?;
    let kind = model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let found = counted_over(&model, (&sae, kind), asked)?;
    if let Some((text, why)) = found.left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(found.left_out.len(), "text"), text + 1);
    }
    let shown = if asked.feature.is_empty() { found.counts.strongest(N_FEATURES) } else { asked.feature.clone() };
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
            let result = result(&sae, &found, &shown, words.as_ref());
            let mut document = document(&FEATURES, &parameters, &[], &result);
            document["model"] = spec_json(model.spec());
            write(&document, out)
        }
    }
}

/// Runs the texts one by one.
fn counted_over(
    model: &Model,
    (sae, kind): (&Sae, StackKind),
    asked: &FeatureArguments,
) -> Result<TextsRead, CliError> {
    let failed = |error: String| CliError::Failed(error);
    let list = asked.inputs.list()?;
    let plan = RunPlan { sites: Sites::of(&[sae.site]), logits: Logits::Skip, ..RunPlan::default() };
    let n = list.items.len().min(asked.limit.unwrap_or(usize::MAX));
    let counts = FeatureCounts::new(sae.d_sae, asked.texts.into());
    let mut found = TextsRead { counts, tokens: vec![Vec::new(); n], left_out: Vec::new() };
    for (nth, item) in list.items.iter().take(n).enumerate() {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        let run = model
            .encode(&input_of(&item.content, asked.inputs.how.chosen()))
            .and_then(|input| model.forward(&input, &plan, &go_on));
        let capture = match run {
            Ok(capture) => capture,
            Err(ModelError::Cancelled(stop)) => return Err(failed(stop.to_string())),
            Err(error) => {
                found.left_out.push((nth, error.to_string()));
                continue;
            }
        };
        let layers = capture.stack(kind).map_or(&[][..], |stack| &stack.layers);
        let rows = rows_of(sae, layers).map_err(|error: LabError| failed(error.to_string()))?;
        let tokens = capture.query_tokens(kind);
        let real = rows.iter().enumerate().filter(|(at, _)| tokens.get(*at).is_some_and(|token| !token.special));
        let features: Vec<_> = model.engine().install(|| real.map(|(at, row)| (at, sae.features(row))).collect());
        found.counts.add(nth, &features);
        found.tokens[nth] = tokens.to_vec();
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if found.counts.n_tokens == 0 {
        return Err(failed("none of the texts can be run; the warnings say why".to_owned()));
    }
    Ok(found)
}

impl TextsRead {
    /// The text around a token, which stands in brackets.
    fn around(&self, at: &FiringText) -> String {
        let tokens = self.tokens.get(at.text).map_or(&[][..], Vec::as_slice);
        let first = at.position.saturating_sub(AROUND);
        let last = (at.position + AROUND + 1).min(tokens.len());
        let mut text = if first > 0 { "… ".to_owned() } else { String::new() };
        for position in first..last {
            let token = words::token_text(tokens, position);
            let token = token.replace('\n', "↵");
            let [before, after] = if position == at.position { ["[", "]"] } else { [""; 2] };
            text.extend([before, &token, after]);
            text.push(' ');
        }
        text + if last < tokens.len() { "…" } else { "" }
    }
}

fn result(sae: &Sae, found: &TextsRead, shown: &[usize], words: Option<&FeatureWords>) -> Value {
    let features = shown.iter().enumerate().map(|(nth, feature)| {
        let count = &found.counts.features[*feature];
        let texts = count.texts.iter().map(|at| {
            json!({ "text": at.text, "position": at.position, "activation": at.value, "around": found.around(at) })
        });
        json!({
            "feature": feature, "density": count.n as f64 / found.counts.n_tokens as f64,
            "mean_when_active": (count.n > 0).then(|| count.sum / count.n as f64),
            "promoted": words.map(|words| &words.promoted[nth]),
            "suppressed": words.map(|words| &words.suppressed[nth]),
            "texts": texts.collect::<Vec<_>>(),
        })
    });
    let n_alive = found.counts.features.iter().filter(|count| count.n > 0).count();
    json!({
        "n_tokens": found.counts.n_tokens, "n_features": sae.d_sae, "n_alive": n_alive, "notes": sae.notes,
        "left_out": found.left_out.iter().map(|(text, why)| json!({ "text": text, "why": why })).collect::<Vec<_>>(),
        "features": features.collect::<Vec<_>>(),
    })
}

fn table(sae: &Sae, found: &TextsRead, shown: &[usize], words: Option<&FeatureWords>) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let n_alive = found.counts.features.iter().filter(|count| count.n > 0).count();
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
        let mean = if count.n > 0 { decimal_text(count.sum / count.n as f64) } else { "–".to_owned() };
        let density = share_text(count.n as f64 / found.counts.n_tokens as f64);
        line(format!("feature {feature}: fires at {density} of the tokens, mean there {mean}"));
        if let Some(words) = words {
            line(format!(
                "  promotes {}; suppresses {}",
                words.promoted[nth].join(" "),
                words.suppressed[nth].join(" ")
            ));
        }
        for at in &count.texts {
            line(format!("  {} in text {}: {}", decimal_text(f64::from(at.value)), at.text + 1, found.around(at)));
        }
    }
    line(FEATURES.caveat.to_owned());
    out
}

//! `attnscope check`: shows what was understood of a checkpoint, and proves on a probe input that its
//! numbers obey the laws of attention.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use clap::Args;

use super::{CliError, compute::ComputeOptions, inputs::OneInput, show_progress};
use crate::{
    analysis::laws::{self, Law, LawOutcome},
    capture::{Capture, PredictionItem},
    model::{
        Comparison, ImageSource, Input, LIBRARY, Logits, Model, ModelError, RunPlan, Sites, TextInput, Verdict,
        audit::{Audit, Role},
        locate, uninterrupted,
    },
    outputs::OutputKind,
    spec::{CheckpointId, HeadKind, LayerSpec, MixerKind, Modality, ModelSpec, StackSpec},
    text::{bytes_text, counted, norm_text, weight_text},
};

/// Text of the probe: ordinary words that every text model can guess some of.
const SENTENCE: &str = "The animal didn't cross the street because it was too tired.";
/// Picture of the probe.
const PICTURE: &str = "chelsea.jpg";
/// Tokens of the probe for models without a tokenizer.
const N_IDS: usize = 16;

/// What to check.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// A model folder, a bundled name such as demo:gpt, or a hub id in the local cache
    model: String,
    /// Hold it against an independent implementation too: candle (candle-transformers), where it has the architecture
    #[arg(long, value_name = "LIBRARY", value_parser = ["candle"])]
    against: Option<String>,
    #[command(flatten)]
    input: OneInput,
    /// Add what was read of every file: the tables of configuration, tokenizer and tensors
    #[arg(long)]
    details: bool,
    /// Leave the tables out, as is done without --details
    #[arg(long, conflicts_with = "details", hide = true)]
    brief: bool,
    #[command(flatten)]
    compute: ComputeOptions,
}

pub fn run(options: &CheckOptions) -> Result<(), CliError> {
    let engine = options.compute.engine()?;
    let (files, name) = locate::model(&options.model)?;
    let model = Model::load(&files, &name, &engine, &show_progress)?;
    let input = if options.input.is_empty() { probe(&model) } else { options.input.read()? };
    let encoded = model.encode(&input)?;
    let capture = model.forward(&encoded, &everything(), &show_progress)?;
    let laws = laws::check(&capture);
    let read = if options.input.is_empty() { "a probe input" } else { "the input" };
    let compared = options.against.is_some().then(|| model.against_library(&files, &encoded, &show_progress));
    let mut report = verdict(&name, read, &laws, compared.as_ref().map(Result::as_ref));
    let outputs = model.outputs().map(|outputs| (outputs, model.n_outcomes()));
    summary(&mut report, (model.spec(), outputs), model.audit());
    laws_text(&mut report, &capture, read, &laws);
    if let Some(text) = quality(&model, &capture)? {
        writeln!(report, "\nPrediction\n  {text}").ok();
    }
    for note in capture.notes() {
        writeln!(report, "\nNote: {note}").ok();
    }
    for clause in model.unlike_weights(&files, &show_progress).unwrap_or_default() {
        writeln!(report, "\nUnlike other layers: {clause}").ok();
    }
    if let Some(Ok(comparison)) = &compared {
        comparison_text(&mut report, comparison);
    }
    if options.details && !options.brief {
        tables(&mut report, model.audit());
    }
    // A closed pipe (`attnscope check M | head`) is not an error.
    io::stdout().lock().write_all(report.as_bytes()).ok();
    let broken = laws.iter().filter(|law| law.is_broken()).count();
    if broken > 0 {
        return Err(CliError::Failed(format!("{broken} of {} laws do not hold", laws.len())));
    }
    match compared.transpose()? {
        Some(comparison) if comparison.verdict() == Verdict::Differ => Err(CliError::Failed(comparison.sentence())),
        _ => Ok(()),
    }
}

/// What came of everything, first.
fn verdict(name: &str, read: &str, laws: &[Law], compared: Option<Result<&Comparison, &ModelError>>) -> String {
    let count = |outcome: LawOutcome| laws.iter().filter(|law| law.outcome() == outcome).count();
    let words = |(outcome, text): (LawOutcome, &str)| match count(outcome) {
        0 => None,
        n => Some(format!("{} {text}", counted(n, "law"))),
    };
    let n_broken = count(LawOutcome::DoesNotHold);
    let is_one = count(LawOutcome::Holds) == 1;
    let told = [
        (LawOutcome::DoesNotHold, if n_broken == 1 { "does not hold" } else { "do not hold" }),
        (LawOutcome::Holds, if is_one { "holds" } else { "hold" }),
        (LawOutcome::NotTested, "not tested"),
    ];
    let told: Vec<String> = told.into_iter().filter_map(words).collect();
    let mut text = format!("{name}: {}, on {read}\n", told.join(", "));
    match compared {
        Some(Ok(comparison)) => writeln!(text, "{}", comparison.sentence()).ok(),
        Some(Err(error)) => writeln!(text, "not compared with {LIBRARY}: {error}").ok(),
        None => None,
    };
    text.push('\n');
    text
}

fn comparison_text(report: &mut String, comparison: &Comparison) {
    let Comparison { module, stored, .. } = comparison;
    writeln!(report, "\nAgainst {LIBRARY} ({module}), both in single precision; weights are stored as {stored}").ok();
    for line in comparison.lines() {
        writeln!(report, "  {line}").ok();
    }
}

fn summary(report: &mut String, (spec, outputs): (&ModelSpec, Option<(OutputKind, usize)>), audit: &Audit) {
    writeln!(report, "{} ({})", spec.name, spec.family).ok();
    let width = spec.stacks.iter().map(|stack| stack.kind.name().len()).max().unwrap_or(0).max(8);
    for stack in &spec.stacks {
        writeln!(report, "  {:width$} {}", stack.kind.name(), stack_text(stack)).ok();
    }
    writeln!(report, "  width    {}", spec.d_model).ok();
    writeln!(report, "  reads    {}", modality_text(&spec.modality)).ok();
    writeln!(
        report,
        "  predicts {}",
        spec.head.map_or_else(|| "nothing: it has no head".to_owned(), |head| head_text(head, outputs))
    )
    .ok();
    writeln!(report, "  input    {}", audit.input_source).ok();
    let dtypes: Vec<_> = audit.dtypes.iter().map(|(name, n)| format!("{name} × {n}")).collect();
    let (source, n_params) = (&audit.weights_source, spec.n_params);
    let (dtypes, memory) = (dtypes.join(", "), bytes_text(audit.n_bytes));
    writeln!(report, "  weights  {source}: {n_params} parameters; {dtypes}; {memory} in memory").ok();
    if let Some(CheckpointId { revision, checksum, files }) = &spec.checkpoint {
        let commit = revision.iter().map(|revision| format!("revision {revision}, "));
        writeln!(report, "  files    {}SHA-256 {checksum}", commit.collect::<String>()).ok();
        for (name, digest) in files {
            writeln!(report, "           {digest}  {name}").ok();
        }
    }
    for warning in &audit.warnings {
        writeln!(report, "  warning  {warning}").ok();
    }
}

fn stack_text(stack: &StackSpec) -> String {
    let n = stack.layers.len();
    let Some(first) = stack.typical() else { return "no layers".to_owned() };
    let (layers, heads) = (counted(n, "layer"), counted(first.n_heads, "head"));
    let mut text = format!("{layers} × {heads} of {}", first.d_head);
    if first.d_value != first.d_head {
        write!(text, ", values of {}", first.d_value).ok();
    }
    if first.n_kv_heads != first.n_heads {
        write!(text, ", {} of them share each key and value", first.n_heads / first.n_kv_heads.max(1)).ok();
    }
    write!(text, "; scale {}; {}", norm_text(first.scale), if stack.causal { "causal" } else { "sees everything" })
        .ok();
    let count = |has: fn(&LayerSpec) -> bool| stack.layers.iter().filter(|layer| has(layer)).count();
    let windows = count(|layer| layer.window.is_some());
    if let Some(window) = stack.layers.iter().find_map(|layer| layer.window) {
        let reach = if stack.causal { "back" } else { "to either side" };
        write!(text, "; {windows} of {n} layers see at most {} tokens {reach}", window.saturating_sub(1)).ok();
    }
    if count(|layer| layer.global) > 0 {
        text.push_str("; some tokens may see all");
    }
    if count(|layer| layer.biased) > 0 {
        text.push_str("; bias by position");
    }
    if count(|layer| layer.sink) > 0 {
        text.push_str("; learned sinks");
    }
    for mixer in MixerKind::ALL.into_iter().filter(|mixer| !mixer.is_attention()) {
        let layers = stack.layers.iter().filter(|layer| layer.mixer == mixer).count();
        if layers > 0 {
            write!(text, "; {} in {layers} of {n} layers", mixer.title()).ok();
        }
    }
    if count(|layer| layer.gated && layer.mixer.is_attention()) > 0 {
        text.push_str("; gates or norms on what heads read");
    }
    if count(|layer| layer.fixed) > 0 {
        text.push_str("; fixed: no attention");
    }
    if let Some(cap) = first.softcap {
        write!(text, "; scores capped at {cap}").ok();
    }
    text
}

fn modality_text(modality: &Modality) -> String {
    let mut parts = Vec::new();
    if let Some(text) = modality.text() {
        parts.push(format!("text: {}, {} ids", text.length_text(), text.n_vocab));
    }
    if let Some(image) = modality.image() {
        let ((height, width), (rows, cols)) = (image.size_px, image.patch_px);
        parts.push(format!("pictures of {height} × {width} in patches of {rows} × {cols}"));
    }
    if let Some(target) = modality.target() {
        parts.push(format!("writes: {}, {} ids", target.length_text(), target.n_vocab));
    }
    parts.join("; ")
}

fn head_text(head: HeadKind, outputs: Option<(OutputKind, usize)>) -> String {
    let of = match head {
        HeadKind::MaskedLm => return "the token at each position".to_owned(),
        HeadKind::NextToken => return "the token after each position".to_owned(),
        HeadKind::Similarity => return "how well text and picture fit".to_owned(),
        HeadKind::TextClass => "of the text",
        HeadKind::ImageClass => "of the picture",
        HeadKind::TokenClass => "of each token",
        HeadKind::PairClass => "of picture and text",
    };
    match outputs {
        Some((OutputKind::Labels, n)) => format!("{n} labels {of}, each with a probability by itself"),
        Some((OutputKind::Scores, 1)) => format!("a score {of}"),
        Some((OutputKind::Scores, n)) => format!("{n} scores {of}"),
        _ => format!("a class {of}"),
    }
}

fn tables(report: &mut String, audit: &Audit) {
    writeln!(report, "\nConfiguration").ok();
    for (name, value) in &audit.config {
        match value {
            Some(value) => writeln!(report, "  {name} = {value}").ok(),
            None => writeln!(report, "  {name} is not given; the family's default holds").ok(),
        };
    }
    let unread = [
        ("Not read, and change no number", &audit.harmless_keys),
        (
            "Unknown: the architecture's own class does not have them, so they change nothing there either",
            &audit.unknown_keys,
        ),
        ("Tokenizer settings", &audit.tokenizer_keys.read),
        ("Tokenizer settings that change no id", &audit.tokenizer_keys.harmless),
        ("Tokenizer settings that its class does not have, so they are not followed", &audit.tokenizer_keys.ignored),
    ];
    for (what, keys) in unread.into_iter().filter(|(_, keys)| !keys.is_empty()) {
        writeln!(report, "\n{what}").ok();
        for (name, value) in keys {
            writeln!(report, "  {name} = {value}").ok();
        }
    }
    let count = |role: Role| audit.tensors.iter().filter(|tensor| tensor.role == role).count();
    let counts = (count(Role::Used), count(Role::Skipped), count(Role::Unexpected));
    writeln!(report, "\nTensors: {} used, {} not needed, {} unexpected", counts.0, counts.1, counts.2).ok();
    for (expected, found) in &audit.renamed {
        writeln!(report, "  {expected} is called {found}").ok();
    }
    let width = audit.tensors.iter().map(|tensor| tensor.name.len()).max().unwrap_or(0);
    for tensor in &audit.tensors {
        let role = match tensor.role {
            Role::Used => "",
            Role::Skipped => "  not needed",
            Role::Unexpected => "  unexpected",
        };
        writeln!(report, "  {:width$}  {:4}  {:?}{role}", tensor.name, tensor.dtype, tensor.shape).ok();
    }
    for name in &audit.absent {
        writeln!(report, "  {name} is absent, which the model can do without").ok();
    }
}

fn everything() -> RunPlan {
    RunPlan { sites: Sites::all(), logits: Logits::Keep, pattern_budget_bytes: u64::MAX, ..RunPlan::default() }
}

/// What a model reads when nobody says what.
fn probe(model: &Model) -> Input {
    let modality = &model.spec().modality;
    let separator = model.separator_of_pairs();
    let ids = |n_vocab: usize, n_ctx: usize| {
        let mut ids: Vec<u32> = (0..N_IDS.min(n_ctx)).map(|i| (i * 7919 % n_vocab.max(1)) as u32).collect();
        if let Some(separator) = separator {
            ids.retain(|id| *id != separator);
            // A question of a few tokens, and the text behind it.
            ids.splice(ids.len() / 4..ids.len() / 4, [separator; 2]);
            ids.push(separator);
        }
        Input::Ids(ids)
    };
    let text = |spec: Option<&crate::spec::TextSpec>| match spec {
        Some(spec) if !model.has_tokenizer() => ids(spec.n_vocab, spec.n_ctx),
        _ if separator.is_some() => {
            let (text, text_b) = (SENTENCE.to_owned(), Some(SENTENCE.to_owned()));
            Input::Text(TextInput { text, text_b, ..TextInput::default() })
        }
        _ => Input::text(SENTENCE),
    };
    let picture = || Input::Image(ImageSource::Bundled(PICTURE.to_owned()));
    match modality {
        Modality::Text(spec) => text(Some(spec)),
        Modality::Image(_) => picture(),
        Modality::TextToText { source, target } => text(Some(source)).with_target(text(Some(target))),
        Modality::ImageToText { target, .. } => picture().with_target(text(Some(target))),
        Modality::ImageAndText { text: spec, .. } => picture().with_target(text(Some(spec))),
    }
}

fn laws_text(report: &mut String, capture: &Capture, read: &str, laws: &[Law]) {
    let sizes: Vec<_> = capture
        .stacks()
        .iter()
        .map(|stack| {
            let (queries, keys) = (capture.query_tokens(stack.kind).len(), capture.key_tokens(stack.kind).len());
            format!("{} {queries} × {keys}", stack.kind)
        })
        .collect();
    writeln!(report, "\nLaws, on {read} ({})", sizes.join(", ")).ok();
    for law in laws {
        let place = law.at.map_or_else(
            || law.lacks.to_owned(),
            |at| {
                format!("off by at most {}, in {} {at}; limit {}", norm_text(law.worst), at.stack, norm_text(law.limit))
            },
        );
        writeln!(report, "  {:13}  {}: {place}", law.outcome().text(), law.text).ok();
    }
}

/// How well the head does on the probe; `None` when there is none, or none that this can judge.
fn quality(model: &Model, capture: &Capture) -> Result<Option<String>, CliError> {
    let Some(prediction) = capture.prediction() else { return Ok(None) };
    let side = capture.model().stacks.last().map(|stack| stack.kind.query_side());
    let tokens = side.map_or(&[][..], |side| capture.tokens(side));
    let ids: Vec<Option<u32>> = tokens.iter().map(|token| token.id).collect();
    match prediction.kind {
        HeadKind::NextToken => {
            let Some(logits) = capture.logits() else { return Ok(None) };
            let next = ids.iter().skip(1).enumerate().filter_map(|(row, id)| Some((logits.row(row)?, (*id)?)));
            let losses: Vec<f64> = next.filter_map(|(row, id)| Some(surprise(row, *row.get(id as usize)?))).collect();
            if losses.is_empty() {
                return Ok(None);
            }
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            let uniform = logits.n_cols();
            Ok(Some(format!(
                "perplexity {} over {} tokens; guessing has {uniform}",
                norm_text(mean.exp()),
                losses.len()
            )))
        }
        HeadKind::MaskedLm => masked_accuracy(model, capture),
        _ => {
            let Some(row) = prediction.rows.first() else { return Ok(None) };
            let all = match prediction.outputs {
                OutputKind::Tokens | OutputKind::Classes => 1,
                OutputKind::Labels | OutputKind::Scores => row.top.len(),
            };
            let said = row.top.iter().take(all).map(|PredictionItem { label, value, .. }| {
                let measure = prediction.outputs.measure();
                let name = if label == measure { String::new() } else { format!("{label}, ") };
                format!("{name}{measure} {}", weight_text(*value))
            });
            Ok(Some(said.collect::<Vec<_>>().join("\n  ")))
        }
    }
}

/// Negative log-probability of one logit among its row.
fn surprise(row: &[f32], logit: f32) -> f64 {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|x| f64::from(x - max).exp()).sum();
    sum.ln() - f64::from(logit - max)
}

/// Hides each token of the probe in turn and counts how often the model fills in the right one.
fn masked_accuracy(model: &Model, capture: &Capture) -> Result<Option<String>, CliError> {
    let Some(mask) = model.mask_id() else { return Ok(None) };
    let Some(stack) = capture.stacks().first() else { return Ok(None) };
    let tokens = capture.query_tokens(stack.kind);
    let Some(ids) = tokens.iter().map(|token| token.id).collect::<Option<Vec<u32>>>() else { return Ok(None) };
    let (mut right, mut in_five, mut n) = (0, 0, 0);
    for (position, id) in ids.iter().enumerate().filter(|(position, _)| !tokens[*position].special) {
        let mut hidden = ids.clone();
        hidden[position] = mask;
        let plan = RunPlan { sites: Sites::NONE, ..RunPlan::default() };
        let capture = model.forward(&model.encode(&Input::Ids(hidden))?, &plan, &uninterrupted)?;
        let rows = capture.prediction().map_or(&[][..], |prediction| &prediction.rows);
        let Some(row) = rows.iter().find(|row| row.position == Some(position)) else { continue };
        n += 1;
        right += usize::from(row.top.first().is_some_and(|top| top.id == *id));
        in_five += usize::from(row.top.iter().any(|top| top.id == *id));
    }
    Ok((n > 0).then(|| format!("{right} of {n} hidden tokens filled in rightly, {in_five} among the first five")))
}

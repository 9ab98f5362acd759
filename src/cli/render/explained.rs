//! Results of the lab, for figures.

use std::{collections::BTreeMap, sync::Arc};

use clap::Args;
use serde_json::Value;

use super::RenderOptions;
use crate::{
    analysis::{
        PointCloud,
        chain::Chain,
        explain::{
            self,
            report::{LabQuestion, Report},
        },
        head_page::{PageSize, page_of_cloud},
        reading::Captures,
    },
    capture::{Capture, head_name},
    cli::{CliError, show_progress, target::TargetOptions},
    figure::{
        ViewKind,
        spec::{FigureInput, FigureSpec, Measurements, ResolvedSpec},
        views::lab::Answered,
    },
    ids::HeadId,
    lab::{
        self, EdgeOptions, FeatureOptions, FieldValues, HeadEffect, LabFocus, LabRun, MethodCall, MethodPreset, Scope,
        Target, WritesOptions,
    },
    model::{Encoded, Input, Logits, Model, RunPlan},
    text::sentence,
};

/// What is asked of the laboratory.
#[derive(Debug, Args)]
pub struct ExplainedFlags {
    /// Of explain: methods, such as rollout or hidden [default: those of the window]
    #[arg(long = "methods", value_name = "NAME", value_delimiter = ',')]
    methods: Vec<String>,
    /// Of explain: an option of a method, such as rollout.residual=0.3
    #[arg(long = "set", value_name = "METHOD.OPTION=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    target: TargetOptions,
}

impl ExplainedFlags {
    /// Refuses what is asked of a view that explains nothing.
    ///
    /// # Errors
    /// Says what to leave out.
    pub fn check(&self, view: ViewKind) -> Result<(), CliError> {
        let is_asked = !self.methods.is_empty() || !self.set.is_empty() || self.target.is_given();
        let has_target = view.facts().tells_effects && self.methods.is_empty() && self.set.is_empty();
        if is_asked && !view.facts().shows_answers && !has_target {
            let view = view.name();
            let what = "--methods, --set, --position, --class and --against";
            return Err(CliError::Usage(format!(
                "{view} explains nothing: leave out {what}, or draw {}",
                ViewKind::OF_ANSWERS.name()
            )));
        }
        Ok(())
    }

    /// The columns that are shown.
    fn columns(&self, question: LabQuestion) -> Result<Vec<&'static MethodPreset>, CliError> {
        let of_question = || MethodPreset::under(question);
        if self.methods.is_empty() {
            return Ok(of_question().filter(|column| column.starts).collect());
        }
        let find = |name: &String| {
            of_question().find(|column| column.name == name).ok_or_else(|| {
                let names: Vec<&str> = of_question().map(|column| column.name).collect();
                CliError::Usage(format!("{name} is not a method of this question: choose from {}", names.join(", ")))
            })
        };
        self.methods.iter().map(find).collect()
    }

    /// Options by column.
    fn settings(&self) -> Result<BTreeMap<&str, FieldValues>, CliError> {
        let mut all: BTreeMap<&str, FieldValues> = BTreeMap::new();
        for text in &self.set {
            let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
            let Some(((column, name), value)) = parts else {
                return Err(CliError::Usage(format!("{text} is not an option: write it as rollout.residual=0.3")));
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            // Options of the command line are written with hyphens.
            all.entry(column).or_default().insert(name.replace('-', "_"), value);
        }
        Ok(all)
    }
}

/// Asks every method; those that say nothing about this model are left out, which is told.
pub fn explain(
    model: &Model,
    input: &Input,
    (options, spec): (&RenderOptions, &FigureSpec),
) -> Result<(Capture, Vec<Answered>), CliError> {
    let flags = &options.explained;
    let (columns, mut settings) = (flags.columns(spec.options.question())?, flags.settings()?);
    let plan = RunPlan { logits: Logits::Skip, ..RunPlan::silent() };
    let encoded = model.completed(&model.encode(input)?, &plan, &show_progress)?;
    let edits = options.edits.edits();
    let quiet = |_: &Report| {};
    let lab = || LabRun::new(model, &encoded, &edits, &show_progress, &quiet);
    let failed = |error: lab::LabError| CliError::Failed(error.to_string());
    let capture = lab().plain().map_err(failed)?.clone();
    let first = |numbers: &[super::Numbers]| numbers.first().and_then(|list| list.0.first().copied());
    let stack = options.stack.or_else(|| capture.model().stacks.first().map(|stack| stack.kind)).unwrap_or_default();
    let head = HeadId { stack, layer: first(&options.layer).unwrap_or(0), head: first(&options.head).unwrap_or(0) };
    let focus = LabFocus { capture: &capture, head, query: options.query, key: options.key, reverse: None };
    let target = flags.target.target(model)?;
    let (mut answers, mut why_not) = (Vec::new(), Vec::new());
    for column in columns {
        let turned = settings.remove(column.name).unwrap_or_default();
        let found = match column.ask(&focus, &turned) {
            Ok(ask) => {
                let known = ask.values(&Scope::from(&focus));
                if let Some(name) = turned.keys().find(|name| !known.contains_key(*name)) {
                    let names: Vec<&str> = known.keys().map(String::as_str).collect();
                    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                    return Err(CliError::Usage(format!("{} has no option {name}: there is {there}", column.name)));
                }
                lab::answer(lab(), &ask, target).map_err(|error| error.to_string())
            }
            Err(unasked) => Err(unasked.on_command_line.into_owned()),
        };
        match found {
            Ok(answer) => {
                let report = Some(Arc::new(answer.report));
                answers.push(Answered { column: column.name, title: column.title, report });
            }
            Err(why) => why_not.push(format!("{}: {}", column.title, sentence(&why))),
        }
    }
    if let Some(name) = settings.keys().next() {
        return Err(CliError::Usage(format!("--set names {name}, which is not among the methods that are drawn")));
    }
    if answers.is_empty() {
        return Err(CliError::Failed(why_not.join("; ")));
    }
    for why in &why_not {
        log::warn!("{why}");
    }
    Ok((capture, answers))
}

/// The parts of the score that the steps of each head lead to.
///
/// # Errors
/// Says why a score has no such parts.
pub fn parts(
    model: &Model,
    encoded: &Encoded,
    (options, spec): (&RenderOptions, &FigureSpec),
    (capture, cloud): (&Capture, &PointCloud),
) -> Result<Vec<Answered>, CliError> {
    let Some((against, by)) = spec.options.parts_in(spec.view) else { return Ok(Vec::new()) };
    let measured = &Measurements::default();
    let subject = FigureInput { captures: Captures::one(capture), cloud, answers: &[], measured };
    let (edits, quiet) = (options.edits.edits(), |_: &Report| {});
    let mut answers = Vec::new();
    for head in ResolvedSpec::new(spec, subject)?.ids()? {
        let chain = Chain::pair(capture, head, [spec.query, spec.key])
            .and_then(|(query, key)| Chain::of(capture, head, query, key, against));
        let Some(ask) = chain.and_then(|chain| EdgeOptions::beside(&chain, by)) else { continue };
        let lab = LabRun::new(model, encoded, &edits, &show_progress, &quiet);
        let answer = lab::answer(lab, &MethodCall::Edges(ask), Target::default());
        let answer = answer.map_err(|error| CliError::Failed(error.to_string()))?;
        answers.push(Answered { column: "parts", title: "", report: Some(Arc::new(answer.report)) });
    }
    Ok(answers)
}

/// What each head writes by its weights, for the tokens that it attends to most, and what it does to the prediction.
///
/// # Errors
/// When there is no such head or outcome, or a run fails.
pub fn about_heads(
    model: &Model,
    encoded: &Encoded,
    (options, spec): (&RenderOptions, &FigureSpec),
    (capture, cloud): (&Capture, &PointCloud),
) -> Result<Vec<Answered>, CliError> {
    if !spec.view.facts().tells_effects {
        return Ok(Vec::new());
    }
    let subject =
        FigureInput { captures: Captures::one(capture), cloud, answers: &[], measured: &Measurements::default() };
    let (edits, quiet) = (options.edits.edits(), |_: &Report| {});
    let target = options.explained.target.target(model)?;
    let mut answers = Vec::new();
    for head in ResolvedSpec::new(spec, subject)?.ids()? {
        let page = page_of_cloud(cloud, head, PageSize::default(), &mut |_, _| true);
        let read = page.and_then(Result::ok).map(|page| page.read_most()).unwrap_or_default();
        for ask in [MethodCall::Writes(WritesOptions::of(head, read)), HeadEffect { head }.into()] {
            let lab = LabRun::new(model, encoded, &edits, &show_progress, &quiet);
            let report = match lab::answer(lab, &ask, target) {
                Ok(answer) => answer.report,
                Err(error) if error.is_cancelled() => return Err(CliError::Failed(error.to_string())),
                // Said in its place.
                Err(error) => Report::new(ask.spec())
                    .with_parameter("head", head_name(head))
                    .with_value("direct", explain::report::Value::Missing(error.to_string())),
            };
            answers.push(Answered { column: ask.spec().name, title: "", report: Some(Arc::new(report)) });
        }
    }
    Ok(answers)
}

/// What the feature of a dictionary that is drawn writes, and the tokens that it comes from in this input.
///
/// # Errors
/// When a run fails.
pub fn about_feature(
    model: &Model,
    encoded: &Encoded,
    (options, spec): (&RenderOptions, &FigureSpec),
    measured: &Measurements,
) -> Result<Vec<Answered>, CliError> {
    let choices = spec.options.listed();
    let first = || measured.features.as_ref()?.listed(choices.order, "").first().copied();
    let (Some(_), Some(sae), Some(feature)) = (&measured.features, choices.sae.clone(), choices.feature.or_else(first))
    else {
        return Ok(Vec::new());
    };
    let (edits, quiet) = (options.edits.edits(), |_: &Report| {});
    let lab = LabRun::new(model, encoded, &edits, &show_progress, &quiet);
    let ask: MethodCall = FeatureOptions::of(sae, feature).into();
    let answer = lab::answer(lab, &ask, options.explained.target.target(model)?);
    let answer = answer.map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(vec![Answered { column: ask.spec().name, title: "", report: Some(Arc::new(answer.report)) }])
}

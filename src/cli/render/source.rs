//! Sources of numbers: one run of a model, many, or a capture file.

use std::sync::Arc;

use super::{RenderOptions, explained, studied};
use crate::{
    analysis::{PointCloud, Space, debate::CorpusDebate, head_statistics::layouts_differ, positions},
    capture::{Capture, Edit, Site},
    cli::{CliError, inputs::read_captures, open_model, passes, show_progress, spaces},
    corpus::{CorpusView, list::InputList},
    figure::{
        ViewKind,
        spec::{Against, FigureSpec, Measurements},
        views::lab::Answered,
    },
    model::{Encoded, Logits, Model, Preparation, RunPlan, Sites},
    worker::{self, corpus},
};

/// What is drawn.
pub struct Source {
    /// The input whose patterns are shown.
    pub capture: Arc<Capture>,
    /// What joint spaces are made of: the same, or a corpus that it is the first input of.
    pub cloud: PointCloud,
    /// What is subtracted from it, where that is of another input.
    pub other: Option<Arc<Capture>>,
    /// What the laboratory answered.
    pub answers: Vec<Answered>,
    pub measured: Measurements,
}

impl Source {
    /// Nothing that was asked or measured.
    fn of(capture: Arc<Capture>, cloud: PointCloud) -> Self {
        Self { capture, cloud, other: None, answers: Vec::new(), measured: Measurements::default() }
    }

    fn one(capture: Capture) -> Self {
        let capture = Arc::new(capture);
        Self::of(Arc::clone(&capture), PointCloud::Input(capture))
    }
}

/// Runs or reads what is to be drawn.
pub fn read(options: &RenderOptions, spec: &FigureSpec) -> Result<Source, CliError> {
    if spec.space() == Space::Positions {
        spaces::check_positions(!options.input.is_empty(), options.capture.is_some())?;
    }
    let is_held = options.against_corpus.is_some() || options.against_model.is_some();
    if is_held && !spec.view.facts().contrasts {
        let having = ViewKind::names(|view| view.facts().contrasts);
        let message = format!(
            "--against-corpus and --against-model belong to {having}, not to {}: leave them out, or draw that view",
            spec.view.name()
        );
        return Err(CliError::Usage(message));
    }
    if options.capture.is_some() && spec.options.parts_in(spec.view).is_some() {
        let message = "parts of a score are made with the weights of the model: give a --model and its input instead of a \
            --capture, or leave out --parts";
        return Err(CliError::Usage(message.to_owned()));
    }
    if spec.view.facts().shows_answers && options.capture.is_some() {
        let message = "explaining runs the model again: give a --model and its input instead of a --capture";
        return Err(CliError::Usage(message.to_owned()));
    }
    match (&options.capture, &options.model) {
        (Some(_), _) if !options.input.is_empty() => {
            Err(CliError::Usage("a capture has its input already: leave out --text and --image".to_owned()))
        }
        (Some(_), _) if !options.edits.is_empty() => {
            Err(CliError::Usage("a capture is as it was made: leave out --edit, or run its --model".to_owned()))
        }
        (Some(path), _) => of_file(read_captures(path)?, options, spec),
        (None, Some(model)) => run(model, options, spec),
        (None, None) => Err(CliError::Usage("name a --model, a --capture or a --session".to_owned())),
    }
}

fn of_file(captures: Vec<Capture>, options: &RenderOptions, spec: &FigureSpec) -> Result<Source, CliError> {
    if captures.len() < 2 || !spec.view.facts().reads_corpus {
        return Ok(Source::one(options.groups.apply(only_one(captures, "the file holds")?)?));
    }
    refuse_groups(options)?;
    let first = captures.first().cloned().map(Arc::new);
    let capture = first.ok_or_else(|| CliError::Failed("the file is empty".to_owned()))?;
    Ok(Source::of(capture, passes::of_captures(captures, spaces::kept(spec.space()))?))
}

/// Positions are those of one input.
fn refuse_groups(options: &RenderOptions) -> Result<(), CliError> {
    if options.groups.is_some() {
        let message = "--groups has positions of one input, and many are drawn: leave it out";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

fn only_one<T>(mut all: Vec<T>, what: &str) -> Result<T, CliError> {
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(CliError::Failed(format!("there is nothing to draw: {what} none"))),
        (Some(_), false) => {
            let n = all.len() + 1;
            Err(CliError::Usage(format!("a figure shows one input, and {what} {n}: draw them one by one")))
        }
    }
}

fn run(name: &str, options: &RenderOptions, spec: &FigureSpec) -> Result<Source, CliError> {
    if spec.space() == Space::Positions {
        let (cloud, nothing) = spaces::positions(&load(name, options)?)?;
        return Ok(Source::of(Arc::new(nothing), cloud));
    }
    let corpus = if spec.view.facts().reads_corpus { options.input.corpus()? } else { None };
    let inputs = if corpus.is_some() { Vec::new() } else { options.input.read()? };
    let model = load(name, options)?;
    if let Some(list) = corpus {
        let facts = spec.view.facts();
        return match facts.study {
            Some(study) => studied::study(&model, &list, (options, spec), study),
            None if facts.tests_inputs => test_corpus(&model, &list, (options, spec)),
            None => run_corpus(&model, &list, (options, spec)),
        };
    }
    if spec.view.facts().tests_inputs || spec.view.facts().study.is_some() {
        return Err(CliError::Usage(format!("the {} view is about many inputs: name a --corpus", spec.view.name())));
    }
    let input = only_one(inputs, "the command line gives")?;
    if spec.view.facts().shows_answers {
        refuse_groups(options)?;
        let (capture, answers) = explained::explain(&model, &input, (options, spec))?;
        return Ok(Source { answers, ..Source::one(capture) });
    }
    let needs = (spec.view.spec().needs)(&spec.reading, spec.space());
    // Gradients of states are of what is predicted.
    let follows_states = spec.view.spec().wants.contains(&Site::State);
    // Recorded patterns, not recomputed ones: their numbers are those of `capture` to the last digit.
    let mut plan = RunPlan {
        sites: spec.view.spec().wants.iter().copied().fold(Sites::of(&needs), Sites::with),
        logits: match (spec.view.facts().reads_predictions, follows_states) {
            (true, _) => Logits::KeepFew,
            (false, true) => Logits::Predict,
            (false, false) => Logits::Skip,
        },
        pattern_budget_bytes: u64::MAX,
        edits: options.edits.edits(),
        ..RunPlan::default()
    };
    plan.generate = options.generation();
    let encoded = model.encode(&input)?;
    let source = Source::one(options.groups.apply(model.forward(&encoded, &plan, &show_progress)?)?);
    let subject = (&*source.capture, &source.cloud);
    let mut answers = explained::parts(&model, &encoded, (options, spec), subject)?;
    answers.extend(explained::about_heads(&model, &encoded, (options, spec), subject)?);
    let source = Source { answers, ..source };
    if !spec.view.facts().reads_unchanged || positions::permutation(&source.capture).is_none() {
        return Ok(source);
    }
    plan.edits.retain(|edit| !matches!(edit, Edit::Permute(_)));
    Ok(Source { other: Some(Arc::new(model.forward(&encoded, &plan, &show_progress)?)), ..source })
}

fn load(name: &str, options: &RenderOptions) -> Result<Model, CliError> {
    let engine = options.compute.engine()?;
    open_model(name, &engine)
}

/// Queries and keys of every input, and the first of them whole.
fn run_corpus(
    model: &Model,
    list: &InputList,
    (options, spec): (&RenderOptions, &FigureSpec),
) -> Result<Source, CliError> {
    check_corpus(options)?;
    let corpus = passes::corpus(model, list, spaces::kept(spec.space()))?;
    let first = corpus.inputs().first().and_then(|input| list.items.get(input.source));
    let Some(first) = first else {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    };
    let plan = RunPlan {
        sites: spaces::sites(Space::QueriesKeys),
        logits: Logits::Skip,
        pattern_budget_bytes: 0,
        ..RunPlan::default()
    };
    let encoded = model.encode(&corpus::input_of(&first.content, Preparation::default()))?;
    let capture = model.forward(&encoded, &plan, &show_progress)?;
    let cloud = PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))));
    let answers = explained::about_heads(model, &encoded, (options, spec), (&capture, &cloud))?;
    let measured = Measurements { against: against(model, list, (options, spec))?, ..Measurements::default() };
    Ok(Source { answers, measured, ..Source::of(Arc::new(capture), cloud) })
}

/// A corpus is drawn as it is.
pub(super) fn check_corpus(options: &RenderOptions) -> Result<(), CliError> {
    refuse_groups(options)?;
    if !options.input.only_corpus() || options.generation().is_some() || !options.edits.is_empty() {
        let message = "a corpus is drawn as it is: leave out --text, --image, --target, --no-special, \
            --sentence-transformers, --max-tokens, --generate, --beams and --edit";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Tests of every input, and the first one that was tested as it was run.
fn test_corpus(
    model: &Model,
    list: &InputList,
    (options, spec): (&RenderOptions, &FigureSpec),
) -> Result<Source, CliError> {
    check_corpus(options)?;
    let choices = spec.options.tests();
    let names = (model.spec().name.as_str(), &*options.input.corpus_name().to_string_lossy());
    let inputs = choices.inputs(0..list.items.len()).collect::<Vec<_>>();
    let mut debate = CorpusDebate::begin(names, choices.question(), inputs, None);
    worker::debate::go_on(&mut debate, (model, list), &show_progress, &mut |_| {})
        .map_err(|error| CliError::Failed(error.to_string()))?;
    for (input, reason) in &debate.left_out {
        log::warn!("left out: input {input}: {reason}");
    }
    let first = debate.instances.first().map(|instance| instance.input);
    let (source, _) = first_of(model, (list, first), spec)?;
    Ok(Source { measured: Measurements { debate: Some(Arc::new(debate)), ..Measurements::default() }, ..source })
}

/// The run of one input, which stands for what is of all of them.
pub(super) fn first_of(
    model: &Model,
    (list, first): (&InputList, Option<usize>),
    spec: &FigureSpec,
) -> Result<(Source, Encoded), CliError> {
    let first = first.and_then(|input| list.items.get(input));
    let first = first.ok_or_else(|| CliError::Failed("there is no input to run".to_owned()))?;
    let plan =
        RunPlan { sites: Sites::of(&(spec.view.spec().needs)(&spec.reading, spec.space())), ..RunPlan::default() };
    let encoded = model.encode(&corpus::input_of(&first.content, worker::debate::PREPARATION))?;
    Ok((Source::one(model.forward(&encoded, &plan, &show_progress)?), encoded))
}

/// The other side, where heads are held against those over another corpus or of another model.
fn against(
    model: &Model,
    list: &InputList,
    (options, spec): (&RenderOptions, &FigureSpec),
) -> Result<Option<Against>, CliError> {
    let kept = spaces::kept(spec.space());
    let (names, corpus) = match (&options.against_corpus, &options.against_model) {
        (None, None) => return Ok(None),
        (Some(path), _) => {
            let names = [options.input.corpus_name(), path].map(|path| path.display().to_string());
            (names, passes::corpus(model, &options.input.other_corpus(path)?, kept)?)
        }
        (None, Some(name)) => {
            let other = load(name, options)?;
            if let Some(sentence) = layouts_differ(model.spec(), other.spec()) {
                return Err(CliError::Usage(sentence));
            }
            ([model.spec().name.clone(), name.clone()], passes::corpus(&other, list, kept)?)
        }
    };
    Ok(Some(Against { cloud: PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus)))), names }))
}

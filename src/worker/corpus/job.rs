//! A corpus for a document, in the background: what it will take first, then pass by pass, giving way to
//! whatever else the user asks for.

use std::{sync::Arc, time::Instant};

use super::{CorpusRun, Order, Passes, pass_cache::PassCache, read};
use crate::{
    capture::Capture,
    corpus::{
        Corpus, Kept, Label,
        list::{Content, InputList, Item, ListKind, ListOptions},
    },
    ids::Side,
    model::Model,
    protocol::{
        CaptureFile, CorpusAnswer, CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource, EventKind,
        Failure, LeftOut, Request,
    },
    spec::ModelSpec,
    text::{bytes_text, counted, grouped, sentence},
    worker::{
        JobControl, Stop, capture_file,
        disk_cache::{DiskCache, Fingerprint},
        queue::Urgency,
    },
};

/// A corpus that gave way.
#[derive(Clone, Debug)]
pub struct Begun {
    list: Arc<InputList>,
    passes: Passes,
    pace: Pace,
    /// Inputs in the copy that was shown last.
    n_shown: usize,
    /// What is kept on disk, if anything is.
    parts: Option<PassCache>,
    n_recalled: usize,
}

/// How fast passes have been so far.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    secs: f64,
    n_tokens: usize,
}

/// A model, where passes are kept, and what the model is known by there.
pub(super) type Known<'a> = (&'a Model, Option<(&'a DiskCache, &'a Fingerprint)>);

/// Runs a corpus, or goes on with one.
pub fn run(model: Option<Known<'_>>, mut order: CorpusOrder, control: &JobControl) -> Result<EventKind, Stop> {
    let begun = match control.take_begun() {
        Some(begun) => *begun,
        None => match listed(&order.source, control)? {
            Listed::Run(file) => return Ok(EventKind::Corpus(CorpusAnswer::SoFar(Box::new(of_captures(file))))),
            Listed::ToRun(list) => begin(needed(model)?, list, &mut order, control)?,
        },
    };
    go_on(needed(model)?.0, begun, order, control)
}

fn needed(model: Option<Known<'_>>) -> Result<Known<'_>, Stop> {
    let details = "Open a model, then the corpus".to_owned();
    model.ok_or_else(|| Stop::Failed(Failure { summary: "There is no model".to_owned(), details }))
}

/// Inputs from wherever they come.
pub(super) enum Listed {
    ToRun(InputList),
    Run(CaptureFile),
}

pub(super) fn listed(source: &CorpusSource, control: &JobControl) -> Result<Listed, Stop> {
    match source {
        CorpusSource::Captures(file) => Ok(Listed::Run(file.clone())),
        CorpusSource::Lines(text) => {
            let list = InputList::parse(text.as_bytes(), ListKind::Text, &ListOptions::default());
            list.map(Listed::ToRun).map_err(|_| failed("There are no lines to run", "Paste one text per line"))
        }
        CorpusSource::Path { path, list } => {
            let is_json = matches!(ListKind::of_name(&path.to_string_lossy()), ListKind::Json);
            // A JSON file is a list of texts, or the attention of another program.
            if let Some(format) = capture_file::format(path) {
                match capture_file::open(path, format, control) {
                    Ok(file) => return Ok(Listed::Run(file)),
                    Err(Stop::Failed(failure)) if !is_json => return Err(Stop::Failed(failure)),
                    Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                    Err(Stop::Failed(_) | Stop::Later(_)) => {}
                }
            }
            read(path, list).map(Listed::ToRun).map_err(|error| failed(&sentence(&error.to_string()), ""))
        }
    }
}

/// What to call an input that has been run.
fn item_of(capture: &Capture) -> Item {
    let info = capture.input();
    let picture = info.image.clone().map(Content::BundledPicture);
    let text = || Content::Text(info.text.clone().or_else(|| info.target.clone()).unwrap_or_default());
    Item { content: picture.unwrap_or_else(text), name: info.image.clone(), values: Vec::new() }
}

/// Of captures that are there already, which are of one model unless they are left out.
fn of_captures(file: CaptureFile) -> CorpusSoFar {
    let list =
        InputList { items: file.captures.iter().map(|capture| item_of(capture)).collect(), ..InputList::default() };
    let mut corpus = Corpus::new(u64::MAX).keeping(Kept { values: true, residual: true });
    let mut left_out = Vec::new();
    for (source, capture) in file.captures.iter().enumerate() {
        if let Err(error) = corpus.append(capture, &Label { source, ..Label::default() }) {
            left_out.push(LeftOut::of(&list, source, error.to_string()));
        }
    }
    let (list, corpus) = (Arc::new(list), Arc::new(corpus));
    CorpusSoFar { list, corpus, left_out, full: None, file: Some(file), is_whole: true }
}

/// Makes the first inputs ready, says what all will take, and refuses what there is no room for.
fn begin(
    (model, shelf): Known<'_>,
    mut list: InputList,
    order: &mut CorpusOrder,
    control: &JobControl,
) -> Result<Begun, Stop> {
    check_kind(model.spec(), &list)?;
    if let Some(first) = order.options.first {
        list.items.truncate(first);
    }
    let (passes, plan, free) = plan(model, &list, order, control)?;
    let (n_inputs, n_bytes, n_fit) = (plan.n_inputs, plan.n_bytes, plan.n_fit);
    control.tell(EventKind::Corpus(CorpusAnswer::Planned(Arc::new(plan))));
    if let Some((n_fit, free)) = n_fit.zip(free) {
        return Err(Stop::Failed(too_large(n_inputs, n_bytes, free, n_fit)));
    }
    let parts = shelf.map(|(scratch, identity)| PassCache::new(scratch, identity, model, &list, &order.options));
    let mut begun = Begun { list: Arc::new(list), passes, pace: Pace::default(), n_shown: 0, parts, n_recalled: 0 };
    begun.recall(model, control)?;
    Ok(begun)
}

/// The first inputs, made ready, with what all will take and what is free.
pub(super) fn plan(
    model: &Model,
    list: &InputList,
    order: &mut CorpusOrder,
    control: &JobControl,
) -> Result<(Passes, CorpusPlan, Option<u64>), Stop> {
    let free = model.engine().memory_for_a_run();
    let (mut corpus, left_out) = match order.known.take() {
        // The window may show it meanwhile, so it may have to be copied.
        Some(known) => (Arc::unwrap_or_clone(known.corpus), known.left_out),
        None => (Corpus::new(0).keeping(order.options.kept).taking_any(), Vec::new()),
    };
    let size = corpus.size_bytes();
    corpus.set_budget(free.map_or(u64::MAX, |free| size + free / 3 * 2));
    let mut passes = Passes::new(list, corpus, left_out);
    let asked = Order { model, list, options: &order.options };
    // Until it is known what the corpus takes, nothing is too much.
    let budget = passes.set_budget(u64::MAX);
    passes.prepare(asked, &|_| control.check())?;
    passes.set_budget(budget);
    let n_expected = |side| passes.n_expected(side);
    let (layers, kept) = (order.options.layers.as_deref(), order.options.kept);
    let n_bytes = Corpus::estimate_bytes(model.spec(), layers, kept, n_expected);
    let (n_inputs, n_tokens) = (list.items.len(), Side::ALL.into_iter().map(n_expected).sum());
    let n_fit = (n_bytes > budget).then(|| (n_inputs as f64 * budget as f64 / n_bytes as f64) as usize);
    Ok((passes, CorpusPlan { n_inputs, n_tokens, n_bytes, n_fit, notes: list.notes.clone() }, free))
}

fn go_on(model: &Model, mut begun: Begun, order: CorpusOrder, control: &JobControl) -> Result<EventKind, Stop> {
    let list = Arc::clone(&begun.list);
    let options = order.options.clone();
    let asked = Order { model, list: &list, options: &options };
    loop {
        match begun.pass(asked, control) {
            Ok(true) => {}
            Ok(false) => return answer(begun),
            Err(stop) => {
                // What was done is not lost.
                if !begun.passes.corpus().inputs().is_empty() {
                    control.tell(EventKind::Corpus(CorpusAnswer::SoFar(Box::new(so_far(
                        &list,
                        begun.passes.finish(),
                        false,
                    )))));
                }
                return Err(stop);
            }
        }
        if control.is_awaited(Urgency::Corpus) {
            control.put_aside(begun);
            return Err(Stop::Later(Box::new(Request::Corpus(Box::new(order)))));
        }
    }
}

impl Begun {
    /// Takes in what an earlier run has kept, up to the first pass that is missing.
    fn recall(&mut self, model: &Model, control: &JobControl) -> Result<(), Stop> {
        let before = self.passes.n_settled();
        while self.passes.run().full.is_none()
            && let Some(pass) = self.parts.as_mut().and_then(|parts| parts.recall(model))
        {
            control.check()?;
            self.passes.recall(&self.list, pass);
            self.n_recalled = self.passes.n_settled() - before;
            control.send_sign_of_life(EventKind::Corpus(CorpusAnswer::Progress(self.progress())));
            self.show(control);
        }
        Ok(())
    }

    /// Runs one pass and tells how far it is; whether there was anything left to run.
    fn pass(&mut self, asked: Order<'_>, control: &JobControl) -> Result<bool, Stop> {
        let go_on = |_| control.check();
        if !self.passes.prepare(asked, &go_on)? {
            return Ok(false);
        }
        let (started, before) = (Instant::now(), self.n_tokens());
        self.passes.run_next(asked, self.parts.as_mut(), &go_on)?;
        if let Some(trouble) = self.parts.as_ref().and_then(PassCache::trouble) {
            control.tell(EventKind::NotKept(trouble));
        }
        self.pace.secs += started.elapsed().as_secs_f64();
        self.pace.n_tokens += self.n_tokens() - before;
        control.send_sign_of_life(EventKind::Corpus(CorpusAnswer::Progress(self.progress())));
        self.show(control);
        Ok(true)
    }

    /// Shows a copy of what is there when it has doubled. A copy takes time and memory, so there is none of more
    /// than half of the whole: the whole itself comes after it.
    fn show(&mut self, control: &JobControl) {
        let n = self.passes.corpus().inputs().len();
        if n >= (2 * self.n_shown).max(1) && 2 * self.passes.n_settled() <= self.list.items.len() {
            self.n_shown = n;
            control.tell(EventKind::Corpus(CorpusAnswer::SoFar(Box::new(so_far(
                &self.list,
                self.passes.copy(),
                false,
            )))));
        }
    }

    fn n_tokens(&self) -> usize {
        Side::ALL.iter().map(|side| self.passes.corpus().n_tokens(*side)).sum()
    }

    fn progress(&self) -> CorpusProgress {
        let expected: usize = Side::ALL.iter().map(|side| self.passes.n_expected(*side)).sum();
        let left = expected.saturating_sub(self.n_tokens());
        let secs_left = (self.pace.n_tokens > 0).then(|| self.pace.secs / self.pace.n_tokens as f64 * left as f64);
        let (n_done, n_inputs) = (self.passes.n_settled(), self.list.items.len());
        CorpusProgress { n_done, n_inputs, n_recalled: self.n_recalled, secs_left }
    }
}

fn answer(begun: Begun) -> Result<EventKind, Stop> {
    let so_far = so_far(&begun.list, begun.passes.finish(), true);
    if !so_far.corpus.inputs().is_empty() {
        return Ok(EventKind::Corpus(CorpusAnswer::SoFar(Box::new(so_far))));
    }
    let reason = match (&so_far.full, so_far.left_out.first()) {
        (Some(full), _) => full.to_string(),
        (None, Some(first)) => format!("{}: {}", first.name, sentence(&first.reason)),
        (None, None) => String::new(),
    };
    let inputs = counted(so_far.list.items.len(), "input");
    Err(failed(&format!("None of the {inputs} of this corpus can be run"), &reason))
}

fn so_far(list: &Arc<InputList>, (corpus, run): (Corpus, CorpusRun), is_whole: bool) -> CorpusSoFar {
    let (list, corpus) = (Arc::clone(list), Arc::new(corpus));
    CorpusSoFar { list, corpus, left_out: run.left_out, full: run.full, file: None, is_whole }
}

/// Texts for a model that reads, pictures for one that sees.
pub fn check_kind(model: &ModelSpec, list: &InputList) -> Result<(), Stop> {
    let is_text = list.items.first().is_some_and(|item| item.content.text().is_some());
    let name = &model.name;
    match (is_text, model.modality.text().is_some(), model.modality.image().is_some()) {
        (true, false, _) => {
            let summary = format!("{name} sees pictures, and this corpus has texts");
            Err(failed(&summary, "Open a model that reads text, then the corpus again"))
        }
        (false, _, false) => {
            let summary = format!("{name} reads text, and this corpus has pictures");
            Err(failed(&summary, "Open a model that sees pictures, then the corpus again"))
        }
        _ => Ok(()),
    }
}

fn too_large(n_inputs: usize, needed: u64, free: u64, n_fit: usize) -> Failure {
    let summary = format!("This corpus would take about {}, and {} are free", bytes_text(needed), bytes_text(free));
    let details = format!(
        "The first {} of its {} inputs would fit; or keep the queries and keys of fewer layers",
        grouped(n_fit),
        grouped(n_inputs)
    );
    Failure { summary, details }
}

fn failed(summary: &str, details: &str) -> Stop {
    Stop::Failed(Failure { summary: summary.to_owned(), details: details.to_owned() })
}

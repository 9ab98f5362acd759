//! Method calls of a pane, and their results.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::Arc,
};

use super::{Document, Effect, Focus, LabOptions, Loadable, Pane, provenance::RunKey};
use crate::{
    analysis::{chain::Chain, cloud_query::QuestionKind, explain::report::Report, head_page::HeadPage},
    capture::{AppliedEdit, Capture, Edit},
    figure::views::{Study, lab::Answered},
    ids::{CaptureId, HeadId, JobId, ModelId, PaneId, Side},
    lab::{
        EdgeOptions, Estimate, FeatureOptions, FieldValues, HeadEffect, LabFocus, MethodCall, MethodPreset,
        MethodRefusal, Target, TimeLimit, WritesOptions,
    },
    model::{Generation, Input, Progress},
    protocol::{Explanation, ExplanationAnswer, Failure, Lane, LoadAnswer, Request, Update},
    text::sentence,
};

/// Answers that are kept, so that going back to one takes no time.
const MAX_KEPT: usize = 48;

impl LabOptions {
    /// Whether a column is there.
    pub fn shows(&self, column: &MethodPreset) -> bool {
        self.shown.get(column.name).copied().unwrap_or(column.starts)
    }

    /// Adds a column or takes it away.
    pub fn show(&mut self, column: &MethodPreset, shown: bool) {
        // What is as it began is not remembered, so that it may begin otherwise in another version.
        if shown == column.starts {
            self.shown.remove(column.name);
        } else {
            self.shown.insert(column.name.to_owned(), shown);
        }
    }

    /// Gives a column the file or folder that it reads through, from the next answer on.
    pub(super) fn read_through(&mut self, (column, option): (&str, &str), path: &Path) {
        let path = path.display().to_string();
        self.turned.entry(column.to_owned()).or_default().insert(option.to_owned(), path.into());
    }

    /// Options of a column that were turned.
    pub fn turned(&self, column: &MethodPreset) -> Cow<'_, FieldValues> {
        self.turned.get(column.name).map_or_else(Cow::default, Cow::Borrowed)
    }
}

/// A column that a pane shows, and what is asked for it.
#[derive(Clone, Debug)]
pub struct ColumnRequest {
    pub column: &'static MethodPreset,
    /// The question; why there is none otherwise.
    pub ask: Result<MethodCall, MethodRefusal>,
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq)]
struct AnswerKey {
    capture: CaptureId,
    column: &'static str,
    ask: MethodCall,
    target: Target,
}

/// A question with its answer.
#[derive(Clone, Debug)]
struct CachedAnswer {
    key: AnswerKey,
    answer: Loadable<Arc<Report>>,
    /// What was looked at when it was asked.
    subject: Subject,
    /// The column's answer before, to another question.
    before: Option<(Arc<Report>, Subject)>,
    /// What it would take, where that is too long to begin without being told to.
    long: Option<Estimate>,
}

/// What a question is about beside its options: what titles name.
type Subject = (HeadId, Focus);

/// Which question an answer in a column is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerTo {
    /// The one that is asked.
    This,
    /// The one before it about the same, with other options.
    OtherOptions,
    /// One about another head, query or key than titles name now.
    OtherSubject,
}

/// The explanations of a pane, the newest last.
#[derive(Clone, Debug, Default)]
pub struct Explanations {
    asked: Vec<CachedAnswer>,
    /// Which input they are about.
    about: u64,
    /// A run that translates the other way, where some document shows one.
    pub(super) reverse: Option<Arc<Capture>>,
}

/// Where an overlay asks: beside the columns, whose options may be turned while it stays what it is.
pub(super) const OVERLAY: &str = "overlay";

/// A column of the laboratory with one of its options.
type Reader = (&'static str, &'static str);

/// The columns and options that read through what was opened, the one that is shown first, and where it is; `None` of
/// anything else.
pub(super) fn readers_of(opened: &LoadAnswer) -> Option<(&'static [Reader], &Path)> {
    match opened {
        LoadAnswer::IsLens(path) => Some((&[("lens", "jacobian_lens")], path)),
        LoadAnswer::IsSae(path) => Some((&[("sae", "sae"), ("feature", "sae")], path)),
        LoadAnswer::Loaded(_) | LoadAnswer::Opened(_) | LoadAnswer::IsCorpus { .. } => None,
    }
}

/// Where the steps of a weight ask for the parts of its score.
pub const PARTS: &str = "parts";
/// Where the page of a feature of a dictionary asks what it writes and where it comes from.
pub const FEATURE: &str = "feature of the page";
/// Where the page of a head asks what it writes by its weights, and what it does to the prediction.
pub const WRITTEN: &str = "written";
pub const EFFECT: &str = "effect";

impl Explanations {
    fn entry(&self, capture: CaptureId, wanted: (&str, &MethodCall), target: Target) -> Option<&CachedAnswer> {
        let is_it = |CachedAnswer { key, .. }: &&CachedAnswer| {
            key.capture == capture && key.target == target && (key.column, &key.ask) == wanted
        };
        self.asked.iter().rev().find(is_it)
    }

    /// The answer to a question about a run; `None` when it was not asked.
    pub fn find(
        &self,
        capture: CaptureId,
        column: &str,
        ask: &MethodCall,
        target: Target,
    ) -> Option<&Loadable<Arc<Report>>> {
        self.entry(capture, (column, ask), target).map(|entry| &entry.answer)
    }

    /// What a question would take that was not begun because it takes long.
    pub fn takes_long(&self, capture: CaptureId, column: &str, ask: &MethodCall, target: Target) -> Option<&Estimate> {
        self.entry(capture, (column, ask), target)?.long.as_ref()
    }

    /// The answer to a question about a run, in whichever column it was asked.
    pub fn answer_to(&self, capture: CaptureId, ask: &MethodCall, target: Target) -> Option<&Loadable<Arc<Report>>> {
        let is_it = |CachedAnswer { key, .. }: &&CachedAnswer| {
            key.capture == capture && key.target == target && key.ask == *ask
        };
        self.asked.iter().rev().find(is_it).map(|entry| &entry.answer)
    }

    /// What stands in a column of a pane that looks at `subject`: its answer, or for as long as none is there the one to a
    /// question before, which is never shown without a veil.
    fn shown(
        &self,
        capture: CaptureId,
        (column, ask): (&str, &MethodCall),
        target: Target,
        subject: Subject,
    ) -> Option<(&Arc<Report>, AnswerTo)> {
        let told = |of: Subject| if of == subject { AnswerTo::OtherOptions } else { AnswerTo::OtherSubject };
        match self.entry(capture, (column, ask), target) {
            Some(entry) => {
                let own = entry.answer.latest().map(|report| (report, AnswerTo::This));
                let old = entry.before.as_ref().filter(|_| entry.answer.is_pending());
                own.or_else(|| old.map(|(report, of)| (report, told(*of))))
            }
            None => self.newest(capture, column, target).map(|(report, of)| (report, told(of))),
        }
    }

    /// The newest answer of a column about an output of a run, with whichever options: one about another output never
    /// stands in for it.
    fn newest(&self, capture: CaptureId, column: &str, target: Target) -> Option<(&Arc<Report>, Subject)> {
        let is_it = |key: &AnswerKey| key.capture == capture && key.column == column && key.target == target;
        let mut of = self.asked.iter().rev().filter(|it| is_it(&it.key));
        of.find_map(|entry| {
            let own = entry.answer.latest().map(|report| (report, entry.subject));
            own.or_else(|| entry.before.as_ref().map(|(report, of)| (report, *of)))
        })
    }

    /// Lets go of answers about other runs.
    pub(super) fn retain(&mut self, is_there: impl Fn(CaptureId) -> bool) {
        self.asked.retain(|entry| entry.answer.is_pending() || is_there(entry.key.capture));
        self.reverse = self.reverse.take().filter(|capture| is_there(capture.id()));
    }

    /// Whether an answer is on its way.
    pub fn is_pending(&self) -> bool {
        self.running().is_some()
    }

    /// Whether an answer of a column is on its way.
    pub fn awaits(&self, column: &str) -> bool {
        self.asked.iter().any(|entry| entry.key.column == column && entry.answer.is_pending())
    }

    /// Every column whose answer is on its way.
    fn awaited(&self) -> impl Iterator<Item = &'static str> {
        self.asked.iter().filter(|entry| entry.answer.is_pending()).map(|entry| entry.key.column)
    }

    /// The column whose answer is on its way, and how far it is.
    pub fn running(&self) -> Option<(&'static str, Option<Progress>)> {
        let pending = self.asked.iter().filter(|entry| entry.answer.is_pending());
        // The one that tells something is the one that runs.
        let told = pending.max_by_key(|entry| entry.answer.progress().is_some());
        told.map(|entry| (entry.key.column, entry.answer.progress()))
    }

    pub(super) fn on_event(&mut self, job: JobId, update: Update<ExplanationAnswer>) {
        let Some(place) = self.asked.iter().position(|entry| entry.answer.job() == Some(job)) else { return };
        let CachedAnswer { answer, before, long, .. } = &mut self.asked[place];
        match update {
            Update::Progress(progress) => answer.report(progress),
            Update::Answer(ExplanationAnswer::Explaining(report)) => answer.improve(report),
            Update::Answer(ExplanationAnswer::Explained(report)) => {
                *answer = Loadable::Ready(report);
                *before = None;
            }
            Update::Answer(ExplanationAnswer::TakesLong(estimate)) => {
                answer.fail(Failure { summary: sentence(&estimate.to_string()), details: estimate.advice() });
                *long = Some(estimate);
            }
            Update::Failed(failure) => answer.fail(failure),
            // What was stopped can be asked again.
            Update::Cancelled => drop(self.asked.remove(place)),
        }
    }

    /// Stops what a column waits for; it says so, and is not asked again by itself.
    pub(super) fn stop(&mut self, column: &str) {
        for CachedAnswer { key, answer, .. } in &mut self.asked {
            if key.column == column && answer.is_pending() {
                let details = "Run it again, or change an option".to_owned();
                answer.fail(Failure { summary: "It was stopped".to_owned(), details });
            }
        }
    }

    /// Waits for nothing any more.
    pub(super) fn let_go(&mut self) {
        self.asked.retain(|entry| !entry.answer.is_pending());
    }

    /// Forgets what a column said, so that it is asked again.
    pub(super) fn ask_again(&mut self, column: &str) {
        self.asked.retain(|entry| entry.key.column != column || entry.answer.is_pending());
    }

    /// Lets go of what a column did not begin because it takes long.
    fn forget_long(&mut self, column: &str) {
        self.asked.retain(|entry| entry.key.column != column || entry.long.is_none());
    }

    /// Makes room for another question of a column about a run, and tells to stop what is on its way about another run
    /// or for a column that is not shown: it holds up what is looked at.
    fn make_room(
        &mut self,
        pane: PaneId,
        (capture, column): (CaptureId, &str),
        is_shown: impl Fn(&str) -> bool,
    ) -> Vec<Effect> {
        let is_left = |CachedAnswer { key, answer, .. }: &CachedAnswer| {
            answer.is_pending() && key.column != column && (key.capture != capture || !is_shown(key.column))
        };
        let left = self.asked.iter().filter(|entry| is_left(entry));
        let effects = left.map(|entry| Effect::Cancel(Lane::Explain(pane, entry.key.column))).collect();
        self.asked.retain(|entry| !is_left(entry));
        // The same column with other options takes the place of one that is still on its way.
        self.asked.retain(|CachedAnswer { key, answer, .. }| {
            key.capture == capture && !(key.column == column && answer.is_pending())
        });
        let surplus = (self.asked.len() + 1).saturating_sub(MAX_KEPT);
        self.asked.drain(..surplus);
        effects
    }
}

impl Pane {
    /// Head and tokens that methods are called for.
    pub fn lab_focus<'a>(&'a self, capture: &'a Capture) -> LabFocus<'a> {
        let Focus { query, key } = self.selection.pinned;
        LabFocus { capture, head: self.selection.head, query, key, reverse: self.explanations.reverse.as_ref() }
    }

    fn subject(&self) -> Subject {
        (self.selection.head, self.selection.pinned)
    }

    /// What stands in a column of the laboratory, and which question it answers.
    pub fn answer_in(
        &self,
        capture: CaptureId,
        column: &str,
        ask: &MethodCall,
        target: Target,
    ) -> Option<(&Arc<Report>, AnswerTo)> {
        self.explanations.shown(capture, (column, ask), target, self.subject())
    }

    /// The columns that the laboratory shows, in order.
    pub fn wanted(&self, capture: &Capture) -> Vec<ColumnRequest> {
        let focus = self.lab_focus(capture);
        let shown = MethodPreset::under(self.options.question()).filter(|column| self.options.lab.shows(column));
        shown
            .map(|column| ColumnRequest { column, ask: column.ask(&focus, &self.options.lab.turned(column)) })
            .collect()
    }

    /// What its view asks of the laboratory, by column, where it can be asked.
    pub fn asked(&self, capture: &Capture) -> Vec<(&'static str, MethodCall)> {
        if self.view.facts().tells_effects {
            return self.about_head();
        }
        if self.view.facts().study == Some(Study::Features) {
            return self.about_feature().into_iter().collect();
        }
        if !self.view.facts().shows_answers {
            return self.parts(capture).map(|ask| (PARTS, ask)).into_iter().collect();
        }
        self.wanted(capture).into_iter().filter_map(|it| Some((it.column.name, it.ask.ok()?))).collect()
    }

    /// The questions about the selected head; what it writes is asked of the tokens that it attends to most.
    fn about_head(&self) -> Vec<(&'static str, MethodCall)> {
        let head = self.selection.head;
        let read = self.surveys.page(head).map(HeadPage::read_most);
        let written = read.map(|ids| (WRITTEN, WritesOptions::of(head, ids).into()));
        [Some((EFFECT, HeadEffect { head }.into())), written].into_iter().flatten().collect()
    }

    /// The question about the feature of a dictionary that is shown.
    fn about_feature(&self) -> Option<(&'static str, MethodCall)> {
        let choices = self.options.listed();
        Some((FEATURE, FeatureOptions::of(choices.sae.clone()?, choices.feature?).into()))
    }

    /// The question for the parts of the score that its steps lead to.
    fn parts(&self, capture: &Capture) -> Option<MethodCall> {
        let (against, parts) = self.options.parts_in(self.view)?;
        let (head, Focus { query, key }) = (self.selection.head, self.selection.pinned);
        let (query, key) = Chain::pair(capture, head, [query, key])?;
        let chain = Chain::of(capture, head, query, key, against)?;
        EdgeOptions::beside(&chain, parts).map(MethodCall::Edges)
    }

    /// What the laboratory has answered of what the pane shows.
    pub(super) fn answers(&self, capture: &Capture) -> Vec<Answered> {
        let (known, target) = (&self.explanations, self.options.target);
        // A figure has no veil: the answer to another question is not in it.
        let answer = |(column, ask): (&'static str, MethodCall)| {
            let (report, _) = known
                .shown(capture.id(), (column, &ask), target, self.subject())
                .filter(|(_, to)| *to == AnswerTo::This)?;
            let title = MethodPreset::from_name(column).map_or("", |column| column.title);
            Some(Answered { column, title, report: Some(Arc::clone(report)) })
        };
        self.asked(capture).into_iter().filter_map(answer).collect()
    }

    /// Another capture is shown: what was chosen for another input no longer counts.
    pub(super) fn explain_input(&mut self, capture: &Capture) {
        let mut hasher = DefaultHasher::new();
        capture.model().name.hash(&mut hasher);
        for side in Side::ALL {
            capture.tokens(side).iter().for_each(|token| (&token.text, token.id).hash(&mut hasher));
        }
        capture.input().image.hash(&mut hasher);
        let about = hasher.finish();
        if self.explanations.about != about {
            self.explanations.about = about;
            self.options.leave_input();
        }
    }
}

/// All that is needed to make the run that a document shows again.
pub(super) struct ShownRun<'a> {
    pub capture: &'a Arc<Capture>,
    pub model: ModelId,
    pub input: Input,
    pub generation: Option<Generation>,
    pub edits: Vec<Edit>,
}

impl Document {
    /// How to make the run that is shown again, or why that cannot be done.
    pub(super) fn shown_run(&self) -> Result<ShownRun<'_>, String> {
        let Some(capture) = self.latest_capture() else { return Err("It has not been run yet".to_owned()) };
        let (Some(RunKey { experiment, model }), None) = (&self.made, &self.opened) else {
            return Err("It comes from a file, and this method runs the model again: open its model".to_owned());
        };
        if self.model.latest().is_none_or(|here| here.id != model.id) {
            return Err(format!("{} is not open any more: open it again", model.spec.name));
        }
        let known = |edit: &AppliedEdit| match edit {
            AppliedEdit::Known(edit) => Ok(edit.clone()),
            AppliedEdit::Foreign(_) => {
                Err("This run has a change that only another version of AttnScope knows".to_owned())
            }
        };
        let edits = capture.computation().edits.iter().map(known).collect::<Result<_, _>>()?;
        let input = experiment.input(&model.spec).map_err(|failure| failure.summary)?;
        let generation = experiment.generation(&model.spec);
        Ok(ShownRun { capture, model: model.id, input, generation, edits })
    }

    /// How to explain the run that is shown, or why that cannot be done.
    fn explanation(
        &self,
        (pane, column): (PaneId, &'static str),
        ask: &MethodCall,
        target: Target,
        time_limit: TimeLimit,
    ) -> Result<Explanation, String> {
        let ShownRun { capture, model, input, generation, edits } = self.shown_run()?;
        let (shown, ask) = (Arc::clone(capture), ask.clone());
        Ok(Explanation { pane, column, shown, model, input, generation, edits, ask, target, time_limit })
    }
}

impl Pane {
    /// The lanes in which something is found out for this pane alone.
    pub(super) fn asked_lanes(&self) -> Vec<Lane> {
        let surveys = QuestionKind::ALL.map(|kind| Lane::Survey(self.id, kind));
        let surveys = surveys.into_iter().filter(|_| self.surveys.is_pending());
        surveys.chain(self.explanations.awaited().map(|column| Lane::Explain(self.id, column))).collect()
    }

    /// Asks the laboratory, unless the answer is there or on its way.
    pub(super) fn explain(
        &mut self,
        document: &Document,
        (column, time_limit): (&'static str, TimeLimit),
        ask: MethodCall,
        target: Target,
        job: JobId,
    ) -> Vec<Effect> {
        let Some(shown) = document.latest_capture() else { return Vec::new() };
        let capture = shown.id();
        if document.capture.is_pending() || self.explanations.find(capture, column, &ask, target).is_some() {
            return Vec::new();
        }
        let explanation = document.explanation((self.id, column), &ask, target, time_limit);
        let before = self.explanations.newest(capture, column, target);
        let before = before.map(|(report, of)| (Arc::clone(report), of));
        let subject = self.subject();
        let wanted = self.wanted(shown);
        let has_parts = self.options.parts_in(self.view).is_some();
        let about_head = self.view.facts().tells_effects;
        let about_feature = self.view.facts().study == Some(Study::Features);
        let is_shown = |name: &str| {
            let is_part = has_parts && name == PARTS || about_head && [WRITTEN, EFFECT].contains(&name);
            name == OVERLAY
                || name == FEATURE && about_feature
                || is_part
                || wanted.iter().any(|wanted| wanted.column.name == name)
        };
        let mut effects = self.explanations.make_room(self.id, (capture, column), is_shown);
        let mut answer = Loadable::Empty;
        match explanation {
            Ok(explanation) => {
                answer.start(job);
                effects.push(Effect::Submit(job, Request::Explain(Box::new(explanation))));
            }
            Err(summary) => answer.fail(Failure { summary, details: String::new() }),
        }
        let key = AnswerKey { capture, column, ask, target };
        self.explanations.asked.push(CachedAnswer { key, answer, subject, before, long: None });
        effects
    }

    /// Asks the laboratory once more what was not begun because it takes long, with all the time that it takes.
    pub(super) fn explain_anyway(
        &mut self,
        document: &Document,
        column: &'static str,
        ask: MethodCall,
        target: Target,
        job: JobId,
    ) -> Vec<Effect> {
        self.explanations.forget_long(column);
        self.explain(document, (column, TimeLimit::Endless), ask, target, job)
    }
}

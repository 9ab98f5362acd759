//! What is learnt or counted over the corpus of a document: probes, features of a dictionary, lenses that are fitted.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Cause, Document, Effect, Loadable, Notices, OpenCorpus, Panes};
use crate::{
    analysis::{
        explain::jacobian::{LensFit, SKIP_FIRST},
        probe::{CorpusProbe, ProbeQuestion, ProbeVectors},
        sae::CorpusFeatures,
    },
    figure::views::{Study, dictionary::FeatureChoices, probe::ProbeChoices},
    ids::JobId,
    model::Progress,
    protocol::{BegunStudy, Failure, Lane, LensFile, Request, StudyAnswer, StudyOrder, Update},
};

/// The studies of a corpus.
#[derive(Clone, Debug, Default)]
pub struct Studies {
    pub probe: Loadable<Arc<CorpusProbe>>,
    pub features: Loadable<Arc<CorpusFeatures>>,
    /// The lens that was fitted last: where it is, and what is to be known of it.
    pub lens: Loadable<(PathBuf, String)>,
    /// Studies of which it was looked whether an earlier run of the program has kept them.
    recalled: Vec<Study>,
}

impl Studies {
    /// The same without what is on its way.
    pub(super) fn settled(&self) -> Self {
        Self {
            probe: self.probe.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            features: self.features.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            lens: self.lens.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            recalled: self.recalled.clone(),
        }
    }

    /// The job that a study waits for.
    pub const fn job(&self, study: Study) -> Option<JobId> {
        match study {
            Study::Probe => self.probe.job(),
            Study::Features => self.features.job(),
            Study::Lens => self.lens.job(),
        }
    }

    /// Whether something was found.
    pub const fn is_there(&self, study: Study) -> bool {
        match study {
            Study::Probe => self.probe.latest().is_some(),
            Study::Features => self.features.latest().is_some(),
            Study::Lens => self.lens.latest().is_some(),
        }
    }

    /// Whether a study is on its way.
    pub const fn is_pending(&self, study: Study) -> bool {
        self.job(study).is_some()
    }

    /// How far a study is that is on its way.
    pub const fn progress(&self, study: Study) -> Option<Progress> {
        match study {
            Study::Probe => self.probe.progress(),
            Study::Features => self.features.progress(),
            Study::Lens => self.lens.progress(),
        }
    }

    /// What went wrong with a study.
    pub const fn failure(&self, study: Study) -> Option<&Failure> {
        match study {
            Study::Probe => self.probe.failure(),
            Study::Features => self.features.failure(),
            Study::Lens => self.lens.failure(),
        }
    }

    /// Whether there is nothing of a study, nor was.
    const fn is_new(&self, study: Study) -> bool {
        match study {
            Study::Probe => matches!(self.probe, Loadable::Empty),
            Study::Features => matches!(self.features, Loadable::Empty),
            Study::Lens => matches!(self.lens, Loadable::Empty),
        }
    }

    /// The studies that are on their way.
    pub fn pending(&self) -> impl Iterator<Item = Study> {
        Study::ALL.into_iter().filter(|study| self.is_pending(*study))
    }

    fn start(&mut self, study: Study, job: JobId) {
        match study {
            Study::Probe => self.probe.start(job),
            Study::Features => self.features.start(job),
            Study::Lens => self.lens.start(job),
        }
    }

    /// Takes in what is told of a study without an answer.
    fn hear(&mut self, (study, job): (Study, JobId), update: Update<()>) {
        fn told<T>(of: &mut Loadable<T>, job: JobId, update: Update<()>) {
            match update {
                Update::Progress(progress) => of.hear(job, Update::Progress(progress)),
                Update::Cancelled => of.hear(job, Update::Cancelled),
                Update::Failed(failure) => of.hear(job, Update::Failed(failure)),
                Update::Answer(()) => {}
            }
        }
        match study {
            Study::Probe => told(&mut self.probe, job, update),
            Study::Features => told(&mut self.features, job, update),
            Study::Lens => told(&mut self.lens, job, update),
        }
    }
}

impl Document {
    /// What was found out about its corpus, or is on its way.
    pub fn studies(&self) -> Option<&Studies> {
        Some(&self.corpus.as_deref()?.studies)
    }

    /// The question of a probe with these choices; none without a corpus that has a column for it.
    pub fn probe_question(&self, choices: &ProbeChoices) -> Option<ProbeQuestion> {
        let corpus = self.corpus.as_deref()?;
        Some(choices.question(corpus.likely_labels().unwrap_or_default()))
    }

    /// Inputs of its corpus that were not taken out, by their places in the list.
    pub(super) fn there(&self) -> impl Iterator<Item = usize> {
        self.corpus.as_deref().into_iter().flat_map(OpenCorpus::inputs_there)
    }

    /// Whether the probe that is there answers these choices.
    pub fn is_probed(&self, choices: &ProbeChoices) -> bool {
        let found = self.studies().and_then(|studies| studies.probe.latest());
        found.is_some_and(|found| {
            self.probe_question(choices).as_ref() == Some(&found.question)
                && found.inputs.iter().copied().eq(choices.inputs(self.there()))
        })
    }

    /// Why nothing can be learnt over its corpus, as a sentence.
    pub fn study_obstacle(&self) -> Option<&'static str> {
        let list = self.corpus.as_deref().map(|corpus| corpus.data.latest());
        match list {
            None => Some("Open a corpus first: it is learnt from many texts"),
            Some(None) => Some("The inputs of the corpus are being read"),
            Some(Some(_)) => self.debate_obstacle(),
        }
    }

    /// Whether it is time to look whether a study of an earlier run of the program is kept: once for each model and corpus.
    pub fn wants_study_recall(&self, study: Study) -> bool {
        let Some(corpus) = self.corpus.as_deref() else { return false };
        let is_there = corpus.data.latest().is_some_and(|so_far| so_far.is_whole) && !corpus.data.is_pending();
        let is_new = corpus.studies.is_new(study) && !corpus.studies.recalled.contains(&study);
        is_there && is_new && self.study_obstacle().is_none()
    }

    /// Whether a study is looked for among those that are kept; once it is, it is not looked for again.
    fn recalls(&mut self, study: Study) -> bool {
        let wants = self.wants_study_recall(study);
        if let Some(corpus) = self.corpus.as_deref_mut().filter(|_| wants) {
            corpus.studies.recalled.push(study);
        }
        wants
    }

    /// Has kept probes of its corpus read again.
    pub(super) fn recall_probe(&mut self, choices: &ProbeChoices, job: JobId) -> Vec<Effect> {
        if self.recalls(Study::Probe) { self.order_probe(choices, true, job) } else { Vec::new() }
    }

    /// Fits probes over its corpus.
    pub(super) fn probe(&mut self, choices: &ProbeChoices, job: JobId) -> Vec<Effect> {
        self.order_probe(choices, false, job)
    }

    fn order_probe(&mut self, choices: &ProbeChoices, recalls: bool, job: JobId) -> Vec<Effect> {
        let (inputs, question) = (choices.inputs(self.there()).collect(), self.probe_question(choices));
        let begun = question.map(|question| BegunStudy::Probe(question, ProbeVectors::default()));
        begun.map_or_else(Vec::new, |begun| self.study((begun, recalls), inputs, job))
    }

    /// Whether what was counted answers these choices.
    pub fn is_counted(&self, choices: &FeatureChoices) -> bool {
        let found = self.studies().and_then(|studies| studies.features.latest());
        found.is_some_and(|found| {
            Some(&found.sae) == choices.sae.as_ref()
                && found.counts.keeps(choices.texts)
                && found.n_done == found.inputs.len()
                && found.inputs.iter().copied().eq(choices.inputs(self.there()))
        })
    }

    /// Counts the features of a dictionary over its corpus; what was counted before it was stopped is gone on with.
    pub(super) fn count_features(&mut self, choices: &FeatureChoices, job: JobId) -> Vec<Effect> {
        let Some(question) = choices.question() else { return Vec::new() };
        let inputs: Vec<usize> = choices.inputs(self.there()).collect();
        let known = self.studies().and_then(|studies| studies.features.latest());
        let goes_on = known
            .filter(|found| found.sae == question.sae && found.counts.keeps(question.texts) && found.inputs == inputs);
        let begun = goes_on.map_or_else(CorpusFeatures::default, |found| CorpusFeatures::clone(found));
        self.study((BegunStudy::Features(question, begun), false), inputs, job)
    }

    /// Has kept features of its corpus read again.
    pub(super) fn recall_features(&mut self, choices: &FeatureChoices, job: JobId) -> Vec<Effect> {
        let Some(question) = choices.question() else { return Vec::new() };
        let inputs = choices.inputs(self.there()).collect();
        let begun = BegunStudy::Features(question, CorpusFeatures::default());
        if self.recalls(Study::Features) { self.study((begun, true), inputs, job) } else { Vec::new() }
    }

    /// Fits a lens over its corpus, to be written to a file.
    pub(super) fn fit_lens(&mut self, path: PathBuf, job: JobId) -> Vec<Effect> {
        let inputs = self.there().collect();
        let begun = BegunStudy::Lens(LensFile { path, skip_first: SKIP_FIRST }, LensFit::default());
        self.study((begun, false), inputs, job)
    }

    fn study(&mut self, (begun, recalls): (BegunStudy, bool), inputs: Vec<usize>, job: JobId) -> Vec<Effect> {
        if self.study_obstacle().is_some() || inputs.is_empty() {
            return Vec::new();
        }
        let (document, study) = (self.id, begun.study());
        let Some(model) = self.model.latest().map(|model| model.id) else { return Vec::new() };
        let Some(corpus) = self.corpus.as_deref_mut() else { return Vec::new() };
        let Some(so_far) = corpus.data.latest() else { return Vec::new() };
        let (list, name) = (Arc::clone(&so_far.list), corpus.source.name());
        corpus.studies.start(study, job);
        let order = StudyOrder { document, model, list, corpus: name, inputs, begun, recalls };
        vec![Effect::Submit(job, Request::Study(Box::new(order)))]
    }

    /// Takes in what is told of a study; the lens that was fitted, if it was.
    pub(super) fn on_study(
        &mut self,
        (study, job): (Study, JobId),
        update: Update<StudyAnswer>,
        notices: &mut Notices,
    ) -> Option<PathBuf> {
        let studies = &mut self.corpus.as_deref_mut()?.studies;
        if studies.job(study) != Some(job) {
            return None;
        }
        match update {
            Update::Answer(StudyAnswer::Probe(found)) => studies.probe.hear(job, Update::Answer(found)),
            Update::Answer(StudyAnswer::FeaturesSoFar(found)) => studies.features.improve(found),
            Update::Answer(StudyAnswer::Features(found)) => studies.features.hear(job, Update::Answer(found)),
            Update::Answer(StudyAnswer::Lens(path, said)) => {
                studies.lens.hear(job, Update::Answer((path.clone(), said)));
                return Some(path);
            }
            Update::Progress(progress) => studies.hear((study, job), Update::Progress(progress)),
            Update::Cancelled => studies.hear((study, job), Update::Cancelled),
            Update::Failed(failure) => {
                // A probe says it where its chart would be.
                if study == Study::Lens {
                    notices.fail(Cause::Job(job), failure.clone());
                }
                studies.hear((study, job), Update::Failed(failure));
            }
        }
        None
    }

    /// Forgets what was found out about its corpus; the lanes in which something was on its way.
    pub(super) fn forget_studies(&mut self) -> Vec<Lane> {
        let id = self.id;
        let Some(corpus) = self.corpus.as_deref_mut() else { return Vec::new() };
        std::mem::take(&mut corpus.studies).pending().map(|study| Lane::Study(id, study)).collect()
    }

    /// What a lens of its model and corpus is called, as a file.
    pub(super) fn lens_name(&self) -> Option<String> {
        let (model, corpus) = (&self.model.latest()?.spec.name, self.corpus.as_deref()?.source.name());
        let of_name = |name: &str| -> String {
            let stem = Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            stem.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '-' }).collect()
        };
        Some(format!("{}-{}-lens.safetensors", of_name(model), of_name(&corpus)))
    }
}

impl Panes {
    /// Shows the feature that fires most where none is chosen that the dictionary has.
    pub(super) fn begin_with_feature(&mut self, document: &Document) {
        let Some(found) = document.studies().and_then(|studies| studies.features.latest()) else { return };
        for pane in self.iter_mut().filter(|pane| pane.document == document.id) {
            if pane.options.shown_feature().is_none_or(|feature| feature >= found.d_sae) {
                let first = found.listed(pane.options.listed().order, "").first().copied();
                pane.options.show_feature(first);
            }
        }
    }
}

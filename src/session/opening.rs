//! What several parts do together when something is opened: a model is loaded, its run follows, and what belongs to
//! it is shown.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Address, Cause, CorpusDialog, CorpusSheet, Document, Effect, Experiment, FirstStep, Focus, LectureCommand,
    Loadable, NumbersCommand, PathKind, Session, Split,
    arrangement::Arrangements,
    autosave::{OpenState, SessionOutcome, file_name},
    corpora::CorpusInput,
    document::Behind,
    examples::neighbour,
    gallery::EXAMPLES,
    lost_models::FoundModel,
    saved::{Opens, Saved, SavedDocument},
};
use crate::{
    corpus::list::ListKind,
    ids::DocumentId,
    model::ImageSource,
    protocol::{CorpusOptions, CorpusSource, Failure, Lane, LoadedModel, ModelSource, Request},
    text::counted,
};

impl Session {
    /// Opens a model in the active document, because somebody wants this one.
    pub(super) fn load(&mut self, source: ModelSource) -> Vec<Effect> {
        self.load_wanted(self.document().id, source)
    }

    /// Opens a model in a document, because somebody wants this one.
    pub(super) fn load_wanted(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        if let Some(document) = self.documents.find_mut(id) {
            (document.expected, document.behind) = (None, Behind::Nothing);
            document.paths_owed.clear();
        }
        self.load_in(id, source)
    }

    /// Opens a model in a document. Another document's is shared instead of being read again.
    pub(super) fn load_in(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        let (shared, replaces) = (self.documents.shared_model(id, &source), self.documents.replaced_model(id));
        let Some(document) = self.documents.find_mut(id) else { return Vec::new() };
        document.experiment.model = Some(source.clone());
        document.model_owed = false;
        document.picture_owed.take_if(|(seer, _)| *seer != source);
        // A picture is looked at with the model, so that one that cannot be read leaves everything as it is.
        if let Some(model) = shared.filter(|_| document.picture_owed.is_none()) {
            let was_pending = document.model.is_pending();
            document.model = Loadable::Ready(Arc::clone(&model));
            self.greet_in(id, &model);
            let mut effects = if was_pending { vec![Effect::Cancel(Lane::Load(id))] } else { Vec::new() };
            effects.extend(self.model_changed(id));
            effects.extend(self.run_loaded(id));
            return effects;
        }
        let sees = document.picture_owed.as_ref().map(|(_, picture)| picture.clone());
        let (job, model) = (self.jobs.next(), self.jobs.next_model());
        self.models.ask(job, replaces);
        if let Some(document) = self.documents.find_mut(id) {
            document.model.start(job);
        }
        vec![Effect::Submit(job, Request::Load { id: model, document: id, source, replaces, sees })]
    }

    /// Documents that waited for a model to arrive for another one have it now.
    pub(super) fn share_owed(&mut self, model: &Arc<LoadedModel>) -> Vec<Effect> {
        let waits =
            |document: &Document| document.model_owed && document.experiment.model.as_ref() == Some(&model.source);
        let waiting: Vec<_> = self.documents.iter().filter(|it| waits(it)).map(|document| document.id).collect();
        let mut effects = Vec::new();
        for id in waiting {
            // One beside another that was changed has it from there by now.
            let has_it =
                self.documents.find(id).is_some_and(|it| it.model.latest().is_some_and(|it| it.id == model.id));
            if !has_it {
                effects.extend(self.load_in(id, model.source.clone()));
            } else if let Some(document) = self.documents.find_mut(id) {
                document.model_owed = false;
            }
        }
        effects
    }

    /// Opens a model of the session from another place, for all documents that have it.
    pub(super) fn open_found(&mut self, found: FoundModel) -> Vec<Effect> {
        let first = self.documents.expect(&found);
        first.map(|first| self.load_in(first, found.source)).unwrap_or_default()
    }

    /// What a new model brings with it: its warnings, a place among the recent ones, something to read.
    pub(super) fn greet_in(&mut self, id: DocumentId, model: &LoadedModel) {
        let is_own = !matches!(model.source, ModelSource::Bundled(_));
        if is_own {
            self.settings.first_steps.take(FirstStep::OwnModel);
        }
        let has_corpus = self.documents.find(id).is_some_and(|document| document.corpus.is_some());
        if is_own && !has_corpus && !self.settings.recent_models.contains(&model.source) {
            self.panes.look_over(id);
        }
        self.settings.remember_model(&model.source);
        for warning in &model.audit.warnings {
            self.notices.inform(Cause::Model(id, Some(model.source.clone())), warning, "");
        }
        self.panes.show_first_example(id, model, &mut self.documents);
        if let Some(document) = self.documents.find_mut(id) {
            document.read_default(model);
        }
    }

    /// A document has another model now: what it takes of a corpus that is about to be opened is something else, and
    /// what the one before said is not comparable.
    pub(super) fn model_changed(&mut self, id: DocumentId) -> Vec<Effect> {
        let sheet = self.corpus_sheet.as_mut().filter(|sheet| sheet.document == id);
        let mut effects = sheet.map(|sheet| sheet.find_out(&self.documents, &mut self.jobs)).unwrap_or_default();
        if let Some(document) = self.documents.find_mut(id) {
            effects.extend(document.forget_answers(self.jobs.next()));
        }
        effects
    }

    /// Opens the first path of each kind; a second picture would only replace the first.
    pub(super) fn open_paths(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.panes.leave_example(&mut self.documents);
        let mut effects = Vec::new();
        for kind in [PathKind::Session, PathKind::Model, PathKind::Image, PathKind::Text, PathKind::Corpus] {
            let mut of_kind = paths.iter().filter(|path| PathKind::of(path) == kind);
            if let Some(path) = of_kind.next() {
                effects.extend(self.open_path(path, kind));
            }
            if let Some(first) = of_kind.next() {
                let others = match of_kind.count() {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                let summary = format!("Not opened: {}{others}", file_name(first));
                let details = "Only one session, model, picture, text and corpus is opened at a time";
                self.notices.inform(Cause::File(first.clone()), summary, details);
            }
        }
        effects
    }

    /// Opens paths with the model that is on its way: a lens, a dictionary or a folder of pictures is read with it, so
    /// that it waits.
    pub(super) fn open_beside(&mut self, paths: Vec<PathBuf>) -> Vec<Effect> {
        let document = self.active_document();
        let waits = |path: &PathBuf| document.model.is_pending() && PathKind::of(path) == PathKind::Model;
        let (waiting, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(waits);
        document.paths_owed = waiting;
        if others.is_empty() { Vec::new() } else { self.open_paths(&others) }
    }

    /// Opens what waited for a model.
    pub(super) fn open_owed(&mut self, id: DocumentId) -> Vec<Effect> {
        let owed = self.documents.find_mut(id).map(|document| std::mem::take(&mut document.paths_owed));
        owed.filter(|owed| !owed.is_empty()).map_or_else(Vec::new, |owed| self.open_paths(&owed))
    }

    fn open_path(&mut self, path: &Path, kind: PathKind) -> Vec<Effect> {
        match kind {
            PathKind::Model => {
                let bundled = path.to_str().filter(|name| name.starts_with("demo:"));
                let source = bundled.map(|name| ModelSource::Bundled(name.to_owned()));
                self.load(source.unwrap_or_else(|| ModelSource::Path(path.to_owned())))
            }
            PathKind::Image => self.open_image(ImageSource::Path(path.to_owned())),
            PathKind::Text => vec![Effect::ReadText(path.to_owned())],
            PathKind::Corpus => self.open_listed(self.document().id, path.to_owned(), false),
            PathKind::Session => self.keeping.open(path.to_owned(), &mut self.jobs),
        }
    }

    /// Runs a text, on a bundled text model if the current one sees pictures.
    pub(super) fn open_text(&mut self, text: String) -> Vec<Effect> {
        if text.trim().is_empty() {
            self.notices.inform(Cause::Command, "The text is empty, so there is nothing to read", "");
            return Vec::new();
        }
        self.panes.leave_example(&mut self.documents);
        let document = self.documents.of_mut(self.panes.active());
        let id = document.id;
        document.experiment.text = text;
        (document.experiment.text_b, document.experiment.excerpt) = (None, None);
        document.experiment.brackets = false;
        document.experiment.write_anew(false);
        if document.model.is_pending() {
            document.run_owed = true;
            return Vec::new();
        }
        match document.model.latest().cloned() {
            Some(model) if model.spec.modality.text().is_some() => self.run(),
            current => {
                let reader = ModelSource::Bundled("demo:gpt".to_owned());
                if let Some(model) = current {
                    let summary = format!("{} sees pictures, so demo:gpt reads the text", model.spec.name);
                    let details = "Open a BERT or GPT-2 folder to read it with your own model";
                    self.notices.inform(Cause::Model(id, Some(reader.clone())), summary, details);
                }
                self.load(reader)
            }
        }
    }

    /// Shows a picture, on a bundled vision model if the current one reads text.
    pub(super) fn open_image(&mut self, image: ImageSource) -> Vec<Effect> {
        let document = self.documents.of_mut(self.panes.active());
        let id = document.id;
        document.experiment.begun.clear();
        if document.model.is_pending() {
            (document.experiment.image, document.run_owed) = (Some(image), true);
            return Vec::new();
        }
        match document.model.latest().cloned() {
            Some(model) if model.spec.modality.image().is_some() => {
                document.experiment.image = Some(image);
                self.run()
            }
            current => {
                let seer = ModelSource::Bundled("demo:vit".to_owned());
                if let Some(model) = current {
                    let summary = format!("{} reads text, so demo:vit is opened for the picture", model.spec.name);
                    let details = "Open a ViT folder to see the picture with your own model";
                    self.notices.inform(Cause::Model(id, Some(seer.clone())), summary, details);
                }
                // A picture that cannot be read is no reason to leave the model that is there.
                document.picture_owed = Some((seer.clone(), image));
                self.load(seer)
            }
        }
    }

    /// Runs the experiment of the active document.
    pub(super) fn run(&mut self) -> Vec<Effect> {
        self.run_document(self.document().id)
    }

    /// Runs the experiment of a document.
    pub(super) fn run_document(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(document) = self.documents.find_mut(id) else { return Vec::new() };
        document.put_changes_aside(&mut self.notices);
        if document.undo.would_step(&document.experiment) {
            self.arrangements.end_redo();
        }
        let mut effects = document.run(self.jobs.next());
        effects.extend(self.run_plain(id));
        effects
    }

    /// Runs what was asked for while a model was on its way that did not come.
    pub(super) fn run_if_owed(&mut self, id: DocumentId) -> Vec<Effect> {
        let owed = self.documents.find(id).is_some_and(|document| document.run_owed);
        let mut effects = if owed { self.run_document(id) } else { Vec::new() };
        if let Some(document) = self.documents.find_mut(id) {
            effects.extend(document.start_owed_corpus(self.jobs.next()));
        }
        effects
    }

    /// Runs a document whose model is there now, unless that is there for the next run alone.
    pub(super) fn run_loaded(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(document) = self.documents.find_mut(id) else { return Vec::new() };
        if document.runs_loaded() { self.run_document(id) } else { Vec::new() }
    }

    /// Runs an unchanged run beside a changed one again, where it asks for something else now.
    fn run_plain(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some((plain, other_model)) = self.documents.follow_changed(id) else { return Vec::new() };
        let mut effects = if other_model { self.model_changed(plain) } else { Vec::new() };
        effects.extend(self.documents.find_mut(plain).map(|plain| plain.run(self.jobs.next())).unwrap_or_default());
        effects
    }

    /// Does something with numbers in the document of the active pane.
    pub(super) fn change_numbers(&mut self, command: NumbersCommand) -> Vec<Effect> {
        let Self { documents, panes, notices, .. } = self;
        panes.change_numbers(command, documents, notices)
    }

    /// Does something with the lecture: the example of its stop is shown, as long as it goes on.
    pub(super) fn go_to_stop(&mut self, command: LectureCommand) -> Vec<Effect> {
        let stop = self.keeping.lecture.take(command);
        stop.map_or_else(Vec::new, |stop| self.open_example(stop.example))
    }

    /// Opens what is beside the stop, in the lecture, or beside the example.
    pub(super) fn step_example(&mut self, forward: bool) -> Vec<Effect> {
        match self.keeping.lecture.neighbour(forward) {
            Some(place) => self.go_to_stop(LectureCommand::Show(place)),
            None => self.open_example(neighbour(self.document().example, forward)),
        }
    }

    pub(super) fn open_example(&mut self, idx: usize) -> Vec<Effect> {
        let Some(example) = EXAMPLES.get(idx) else { return Vec::new() };
        // A changed run and the plain one beside it are one example.
        if let Some(pane) = self.panes.showing(self.changing().id).first() {
            self.panes.activate(*pane);
        }
        let Self { documents, panes, notices, .. } = self;
        let mut effects = panes.show_example(example, documents);
        let document = documents.of_mut(panes.active());
        let (id, is_there) = (document.id, document.take_example(idx, example));
        if !example.changes.is_empty() {
            panes.put_plain_beside(id, documents, notices);
            documents.of_mut(panes.active()).experiment.changes = example.interventions();
        }
        let others = panes.put_others_beside(example, documents, notices);
        effects.extend(if is_there { self.run() } else { self.load(example.source()) });
        for (id, source) in others {
            effects.extend(self.load_in(id, source));
        }
        effects
    }

    /// Shows a place in the active pane: where the same run is shown already, only what is looked at changes.
    pub(super) fn go_to_address(&mut self, address: Address) -> Vec<Effect> {
        let Self { documents, panes, notices, .. } = self;
        let checkpoint = address.checkpoint.clone();
        if let Some(effects) = panes.go_where_shown(&address, documents) {
            let id = panes.active().document;
            if let Some(document) = documents.find_mut(id) {
                document.checkpoint_then = checkpoint;
            }
            self.tell_other_files(id);
            return effects;
        }
        panes.leave_example(documents);
        let id = documents.of(panes.active()).id;
        let mut effects = panes.close_plain(id, documents);
        panes.active_mut().pending = Some(address.pending());
        let document = documents.of_mut(panes.active());
        if let Some((path, input)) = address.capture {
            document.input_owed = Some(input);
            effects.extend(self.load(ModelSource::Path(path)));
            return effects;
        }
        let before = document.model.latest().filter(|_| !document.model.is_pending()).map(|it| it.source.clone());
        let writing = document.experiment.writing;
        document.opened = None;
        document.experiment = Experiment { writing, ..address.experiment };
        document.checkpoint_then = checkpoint;
        let model = document.experiment.model.clone();
        if !document.experiment.changes.is_empty() {
            document.changes_belong = true;
            panes.put_plain_beside(id, documents, notices);
        }
        effects.extend(match model {
            Some(source) if before.as_ref() != Some(&source) => self.load(source),
            _ => {
                self.tell_other_files(id);
                self.run()
            }
        });
        effects
    }

    /// Says where the files of a document's model are others than those that its session or its link was made with.
    pub(super) fn tell_other_files(&mut self, id: DocumentId) {
        let told = self.documents.find_mut(id).and_then(Document::other_files);
        if let Some(Failure { summary, details }) = told {
            let cause = self.documents.find(id).map_or(Cause::Command, Cause::model);
            self.notices.inform(cause, summary, details);
        }
    }

    /// Looks at a file before it is run, with a bundled model if there is none; where there is nothing to choose it is
    /// run at once.
    pub(super) fn choose_corpus(&mut self, id: DocumentId, path: PathBuf) -> Vec<Effect> {
        self.corpus_dialog = None;
        let sheet = self.corpus_sheet.insert(CorpusSheet::new(id, path));
        let mut effects = sheet.find_out(&self.documents, &mut self.jobs);
        if !self.documents.find(id).is_some_and(Document::has_model) && self.document().id == id {
            effects.extend(self.load(ModelSource::Bundled("demo:bert".to_owned())));
        }
        effects
    }

    /// Runs what was chosen.
    pub(super) fn run_corpus_sheet(&mut self) -> Vec<Effect> {
        let Some(sheet) = self.corpus_sheet.take() else { return Vec::new() };
        let (id, source, options) = (sheet.document, sheet.source(), sheet.options.clone());
        let mut effects = sheet.close();
        effects.extend(self.open_corpus(id, source, options));
        effects
    }

    /// Opens a file or folder as a corpus, on a bundled model if there is none.
    pub(super) fn open_listed(&mut self, id: DocumentId, path: PathBuf, has_pictures: bool) -> Vec<Effect> {
        if !has_pictures && ListKind::of_name(&path.to_string_lossy()) != ListKind::Text {
            return self.choose_corpus(id, path);
        }
        let has_model = self.documents.find(id).is_some_and(Document::has_model);
        let mut effects = self.open_corpus(id, CorpusSource::path(path), CorpusOptions::default());
        if !has_model && self.document().id == id {
            let name = if has_pictures { "demo:vit" } else { "demo:bert" };
            effects.extend(self.load(ModelSource::Bundled(name.to_owned())));
        }
        effects
    }

    /// Opens a corpus in a document; whoever opens one wants to see it.
    pub(super) fn open_corpus(&mut self, id: DocumentId, source: CorpusSource, options: CorpusOptions) -> Vec<Effect> {
        self.corpus_dialog = None;
        // What is looked at of one input is wanted of many.
        let kept = options.kept.or(self.pane().kept());
        let Self { documents, panes, jobs, .. } = self;
        if documents.of(panes.active()).id == id {
            panes.leave_example(documents);
        }
        let Some(document) = documents.find_mut(id) else { return Vec::new() };
        let mut effects = document.take_corpus(source, CorpusOptions { kept, ..options });
        panes.show_corpus(id, documents);
        effects.extend(documents.find_mut(id).and_then(|document| document.start_corpus(jobs.next())));
        effects
    }

    /// Runs a text from a file, unless it may be meant as many inputs.
    pub(super) fn open_text_file(&mut self, path: PathBuf, text: String) -> Vec<Effect> {
        let n_lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        if n_lines == 0 {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let summary = format!("{name} is empty, so there is nothing to read");
            let details = path.display().to_string();
            self.notices.fail(Cause::File(path), Failure { summary, details });
            return Vec::new();
        }
        match CorpusDialog::of_text(path, text, n_lines) {
            Ok(dialog) => self.corpus_dialog = Some(dialog),
            Err(text) => return self.open_text(text),
        }
        Vec::new()
    }

    /// Opens the input that a point of the active pane's cloud belongs to, and holds its token.
    pub(super) fn open_point(&mut self, is_key: bool, point: usize) -> Vec<Effect> {
        let Some(token) = self.pane().token_of_point(self.document(), is_key, point) else { return Vec::new() };
        if let Some(source) = token.source {
            return self.show_corpus_input(source, token.focus);
        }
        self.alignments.pin(&mut self.panes, &self.documents, token.focus);
        Vec::new()
    }

    /// Makes an input of the corpus the document's own, runs it and holds a token of it.
    pub(super) fn show_corpus_input(&mut self, source: usize, focus: Focus) -> Vec<Effect> {
        match self.panes.show_corpus_input(source, focus, &mut self.documents) {
            CorpusInput::Shown(effects) => effects,
            CorpusInput::Read => self.run(),
        }
    }

    /// Shows what was written down, for whoever has no window.
    #[must_use]
    pub fn reopen(&mut self, saved: Saved) -> Vec<Effect> {
        self.open_saved(saved)
    }

    /// Shows what was written down instead of what is open.
    fn open_saved(&mut self, saved: Saved) -> Vec<Effect> {
        let mut effects = self.panes.stop_all();
        effects.extend(self.documents.iter().flat_map(Document::lanes).map(Effect::Cancel));
        effects.extend(self.corpus_sheet.take().map(CorpusSheet::close).unwrap_or_default());
        (self.corpus_dialog, self.figures.is_open) = (None, false);
        self.arrangements = Arrangements::default();
        let left_out = saved.unknown_changes();
        if !left_out.is_empty() {
            let summary = format!("{} of the session left out", counted(left_out.len(), "change"));
            self.notices.inform(Cause::Command, summary, left_out.join("\n"));
        }
        let ids = self.documents.restore(&saved);
        let opens: Vec<_> = saved.documents.iter().map(SavedDocument::opens).collect();
        self.panes.restore(saved.panes, &ids);
        self.keeping.lost_models.clear();
        (self.keeping.bookmarks, self.keeping.notes, self.keeping.lecture, self.keeping.unknown) =
            (saved.bookmarks, saved.notes, saved.lecture, saved.unknown);
        self.keeping.head_notes = saved.head_notes;
        for (id, opens) in ids.into_iter().zip(opens) {
            effects.extend(match opens {
                Some(Opens::Capture(source)) => self.load_in(id, source),
                Some(Opens::Model(source)) => self.open_model(id, source),
                Some(Opens::Numbers(numbers)) => {
                    let Self { documents, panes, notices, .. } = self;
                    let shown = panes.show_numbers(id, Arc::new(*numbers), documents, notices).unwrap_or_default();
                    shown.into_iter().chain(self.load_behind(id)).collect()
                }
                None => Vec::new(),
            });
        }
        effects
    }

    /// Reads the model that a document had beside the capture file that it shows now.
    pub(super) fn load_behind(&mut self, id: DocumentId) -> Vec<Effect> {
        let source = self.documents.find_mut(id).and_then(Document::model_behind);
        source.map(|source| self.open_model(id, source)).unwrap_or_default()
    }

    /// Opens a model of the session; one that is on its way for another document is read once for all.
    fn open_model(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        let on_its_way = |other: &Document| {
            other.id != id && other.model.is_pending() && other.experiment.model.as_ref() == Some(&source)
        };
        if self.documents.iter().any(on_its_way) {
            if let Some(document) = self.documents.find_mut(id) {
                (document.model_owed, document.experiment.model) = (true, Some(source));
            }
            return Vec::new();
        }
        self.load_in(id, source)
    }

    /// Does what follows from a command or an answer about the session as a whole.
    pub(super) fn replace_session(&mut self, answer: SessionOutcome) -> Vec<Effect> {
        let SessionOutcome { mut effects, replacement } = answer;
        if let Some((saved, origin)) = replacement {
            effects.extend(self.open_saved(saved));
            let Self { documents, panes, keeping, settings, notices, jobs, .. } = self;
            effects.extend(keeping.took_up(origin, OpenState { documents, panes }, settings, notices, jobs));
        }
        effects
    }

    /// Opens what was run before beside what is shown.
    pub(super) fn show_before(&mut self) -> Vec<Effect> {
        let Some(before) = self.document().written_before().cloned() else { return Vec::new() };
        let here = self.document().id;
        let Self { documents, panes, notices, .. } = self;
        // Both say why they refuse.
        if !documents.has_room() {
            panes.detach(documents, notices);
            return Vec::new();
        }
        if panes.open_twin(Split::Right, notices).is_none() {
            return Vec::new();
        }
        panes.detach(documents, notices);
        let beside = self.active_document();
        if beside.id == here {
            return Vec::new();
        }
        beside.example = None;
        beside.experiment = before;
        self.run()
    }
}

//! Opening things: models, paths, texts and pictures, and the run that follows.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Document, Effect, Loadable, Session, document::Behind, gallery::EXAMPLES, keeping::file_name, made::Made, saved,
    state::PendingLoad,
};
use crate::{
    ids::{DocumentId, JobId, ModelId},
    model::ImageSource,
    protocol::{Lane, LoadedModel, ModelSource, Request},
};

impl Session {
    /// Opens a model in the active document, because somebody wants this one.
    pub(super) fn load(&mut self, source: ModelSource) -> Vec<Effect> {
        self.load_wanted(self.document().id, source)
    }

    /// Opens a model in a document, because somebody wants this one.
    pub(super) fn load_wanted(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        if let Some(document) = self.find_document_mut(id) {
            (document.expected, document.behind) = (None, Behind::Nothing);
        }
        self.load_in(id, source)
    }

    /// Opens a model in a document. Another document's is shared instead of being read again.
    pub(super) fn load_in(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        let (shared, replaces) = (self.shared_model(id, &source), self.replaced_model(id));
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        document.experiment.model = Some(source.clone());
        document.model_owed = false;
        if let Some(model) = shared {
            let was_pending = document.model.is_pending();
            document.model = Loadable::Ready(Arc::clone(&model));
            self.greet_in(id, &model);
            let mut effects = if was_pending { vec![Effect::Cancel(Lane::Load(id))] } else { Vec::new() };
            effects.extend(self.model_changed(id));
            effects.extend(self.run_loaded(id));
            return effects;
        }
        let (job, model) = (self.new_job(), self.new_model());
        self.loads.insert(job, PendingLoad { document: id, replaces });
        if let Some(document) = self.find_document_mut(id) {
            document.model.start(job);
        }
        vec![Effect::Submit(job, Request::Load { id: model, document: id, source, replaces })]
    }

    /// The model of a document that nobody else needs.
    fn replaced_model(&self, id: DocumentId) -> Option<ModelId> {
        let others = self.documents.iter().filter(|other| other.id != id);
        let needed: Vec<_> = others.flat_map(Document::models).collect();
        self.find_document(id)?.models().find(|id| !needed.contains(id))
    }

    /// The model that another document has from the same place. The document's own is read again: its files may have
    /// changed.
    fn shared_model(&self, id: DocumentId, source: &ModelSource) -> Option<Arc<LoadedModel>> {
        let has_it = |document: &&Document| document.model.latest().is_some_and(|model| model.source == *source);
        if self.find_document(id).is_some_and(|document| has_it(&document)) {
            return None;
        }
        self.documents.iter().find(has_it)?.model.latest().cloned()
    }

    /// Documents that waited for a model to arrive for another one have it now.
    pub(super) fn share_owed(&mut self, model: &Arc<LoadedModel>) -> Vec<Effect> {
        let waits =
            |document: &Document| document.model_owed && document.experiment.model.as_ref() == Some(&model.source);
        let waiting: Vec<_> = self.documents.iter().filter(|it| waits(it)).map(|document| document.id).collect();
        let mut effects = Vec::new();
        for id in waiting {
            // One beside another that was changed has it from there by now.
            let has_it = self.find_document(id).is_some_and(|it| it.model.latest().is_some_and(|it| it.id == model.id));
            if !has_it {
                effects.extend(self.load_in(id, model.source.clone()));
            } else if let Some(document) = self.find_document_mut(id) {
                document.model_owed = false;
            }
        }
        effects
    }

    /// Opens the first path of each kind; a second picture would only replace the first.
    pub(super) fn open_paths(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.leave_example();
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
                self.inform(summary, details.to_owned());
            }
        }
        effects
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
            PathKind::Session => self.open_session(path.to_owned()),
        }
    }

    /// Runs a text, on a bundled text model if the current one sees pictures.
    pub(super) fn open_text(&mut self, text: String) -> Vec<Effect> {
        if text.trim().is_empty() {
            self.inform("The text is empty, so there is nothing to read".to_owned(), String::new());
            return Vec::new();
        }
        self.leave_example();
        let document = self.document_mut();
        document.experiment.text = text;
        (document.experiment.text_b, document.experiment.excerpt) = (None, None);
        document.experiment.continued = false;
        if document.model.is_pending() {
            document.run_owed = true;
            return Vec::new();
        }
        match document.model.latest().cloned() {
            Some(model) if model.spec.modality.text().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    let summary = format!("{} sees pictures, so demo:gpt reads the text", model.spec.name);
                    let details = "Open a BERT or GPT-2 folder to read it with your own model".to_owned();
                    self.inform(summary, details);
                }
                self.load(ModelSource::Bundled("demo:gpt".to_owned()))
            }
        }
    }

    /// Shows a picture, on a bundled vision model if the current one reads text.
    pub(super) fn open_image(&mut self, image: ImageSource) -> Vec<Effect> {
        let document = self.document_mut();
        document.experiment.image = Some(image);
        if document.model.is_pending() {
            document.run_owed = true;
            return Vec::new();
        }
        match document.model.latest().cloned() {
            Some(model) if model.spec.modality.image().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    self.inform(
                        format!("{} reads text, so demo:vit is opened for the picture", model.spec.name),
                        "Open a ViT folder to see the picture with your own model".to_owned(),
                    );
                }
                self.load(ModelSource::Bundled("demo:vit".to_owned()))
            }
        }
    }

    /// Runs the experiment of the active document.
    pub(super) fn run(&mut self) -> Vec<Effect> {
        self.run_document(self.document().id)
    }

    /// Runs the experiment of a document.
    pub(super) fn run_document(&mut self, id: DocumentId) -> Vec<Effect> {
        self.put_changes_aside(id);
        let job = self.new_job();
        let mut effects = self.find_document_mut(id).map(|document| document.run(job)).unwrap_or_default();
        effects.extend(self.run_plain(id));
        effects
    }

    /// Runs what was asked for while a model was on its way that did not come.
    pub(super) fn run_if_owed(&mut self, id: DocumentId) -> Vec<Effect> {
        let owed = self.find_document(id).is_some_and(|document| document.run_owed);
        let mut effects = if owed { self.run_document(id) } else { Vec::new() };
        effects.extend(self.start_owed_corpus(id));
        effects
    }

    /// Runs a document whose model is there now, unless that is there for the next run alone.
    pub(super) fn run_loaded(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        let was_behind = std::mem::take(&mut document.behind) == Behind::Coming;
        if was_behind && !document.run_owed { Vec::new() } else { self.run_document(id) }
    }

    /// What is shown in the active document is no longer the example, nor an input of the corpus.
    pub(super) fn leave_example(&mut self) {
        let id = self.document().id;
        self.document_mut().corpus_input = None;
        if let Some(example) = self.document_mut().example.take().and_then(|idx| EXAMPLES.get(idx)) {
            // What the example made the model write would be forced on another text as well.
            let target = &mut self.document_mut().experiment.target;
            if example.target.is_some_and(|forced| forced == target.as_str()) {
                target.clear();
            }
            let plain = self.document().plain;
            for pane in self.panes.iter_mut().filter(|pane| pane.document == id || Some(pane.document) == plain) {
                pane.leave_example();
            }
        }
    }
}

impl Document {
    fn run(&mut self, job: JobId) -> Vec<Effect> {
        // A model on its way runs the input when it arrives; if it does not, the one before does.
        self.run_owed = self.model.is_pending();
        let (false, Some(model)) = (self.run_owed, self.model.latest().cloned()) else { return Vec::new() };
        let lane = Lane::Run(self.id);
        self.too_long = None;
        let input = match self.experiment.input(&model.spec) {
            Ok(input) => input,
            Err(failure) => {
                let had_job = self.capture.is_pending();
                self.capture.fail(failure);
                return if had_job { vec![Effect::Cancel(lane)] } else { Vec::new() };
            }
        };
        self.undo.ran(&self.experiment, self.drag);
        self.running = Some(Made { experiment: self.experiment.clone(), model: Arc::clone(&model) });
        self.capture.start(job);
        (self.run_again, self.changes_belong) = (false, false);
        let changes = self.experiment.edits();
        let generation = self.experiment.generation(&model.spec);
        vec![Effect::Submit(job, Request::Run { document: self.id, model: model.id, input, generation, changes })]
    }
}

/// What a dropped or chosen path is taken for, judged by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A model folder, a weights file, a capture file or a folder of pictures: the worker finds out which.
    Model,
    Image,
    Text,
    Corpus,
    Session,
}

impl PathKind {
    /// Judges by the extension; a path without a known one is taken for a model folder.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|ext| ext.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "png" | "jpg" | "jpeg" | "webp" | "bmp" | "gif" | "tif" | "tiff" => Self::Image,
            "txt" | "md" | "text" => Self::Text,
            "csv" | "tsv" | "jsonl" | "ndjson" => Self::Corpus,
            saved::EXTENSION => Self::Session,
            _ => Self::Model,
        }
    }

    /// What it is called before it is opened.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Model => "File",
            Self::Image => "Picture",
            Self::Text => "Text",
            Self::Corpus => "List of inputs",
            Self::Session => "Session",
        }
    }
}

//! Opening things: models, paths, texts and pictures, and the run that follows.

use std::path::{Path, PathBuf};

use super::{Effect, NoticeKind, Session, writing::Reading};
use crate::{
    spec::Modality,
    worker::{Failure, ImageSource, Input, Lane, LoadedModel, ModelSource, Request, TextInput},
};

impl Session {
    pub(super) fn load(&mut self, source: ModelSource) -> Vec<Effect> {
        let job = self.new_job();
        self.model.start(job);
        vec![Effect::Submit(job, Request::Load(source))]
    }

    /// Opens the first path of each kind; a second picture would only replace the first.
    pub(super) fn open_paths(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.example = None;
        let mut effects = Vec::new();
        for kind in [PathKind::Model, PathKind::Image, PathKind::Text] {
            let mut of_kind = paths.iter().filter(|path| PathKind::of(path) == kind);
            if let Some(path) = of_kind.next() {
                effects.extend(self.open_path(path, kind));
            }
            let left_out = of_kind.count();
            if left_out > 0 {
                let details = "One model, one picture and one text are open at a time".to_owned();
                let summary = format!("{left_out} more {} left out", kind.plural(left_out));
                self.notify(NoticeKind::Info, Failure { summary, details });
            }
        }
        effects
    }

    fn open_path(&mut self, path: &Path, kind: PathKind) -> Vec<Effect> {
        match kind {
            PathKind::Model => self.load(ModelSource::Path(path.to_owned())),
            PathKind::Image => self.open_image(ImageSource::Path(path.to_owned())),
            PathKind::Text => vec![Effect::ReadText(path.to_owned())],
        }
    }

    /// Runs a text, on a bundled text model if the current one sees pictures.
    pub(super) fn open_text(&mut self, text: String) -> Vec<Effect> {
        self.example = None;
        self.text = text;
        self.text_b = None;
        if self.model.is_pending() {
            self.run_owed = true;
            return Vec::new();
        }
        match self.model.latest().cloned() {
            Some(model) if model.spec.modality.text().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    let summary = format!("{} sees pictures, so demo:gpt reads the text", model.spec.name);
                    let details = "Open a BERT or GPT-2 folder to read it with your own model".to_owned();
                    self.notify(NoticeKind::Info, Failure { summary, details });
                }
                self.load(ModelSource::Bundled("demo:gpt".to_owned()))
            }
        }
    }

    /// Shows a picture, on a bundled vision model if the current one reads text.
    pub(super) fn open_image(&mut self, image: ImageSource) -> Vec<Effect> {
        self.image = Some(image);
        if self.model.is_pending() {
            self.run_owed = true;
            return Vec::new();
        }
        match self.model.latest().cloned() {
            Some(model) if model.spec.modality.image().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    self.notify(
                        NoticeKind::Info,
                        Failure {
                            summary: format!("{} reads text, so the picture is shown with demo:vit", model.spec.name),
                            details: "Open a ViT folder to see the picture with your own model".to_owned(),
                        },
                    );
                }
                self.load(ModelSource::Bundled("demo:vit".to_owned()))
            }
        }
    }

    pub(super) fn run(&mut self) -> Vec<Effect> {
        self.run_reading(Reading::AsItIs)
    }

    pub(super) fn run_reading(&mut self, reading: Reading) -> Vec<Effect> {
        // A model on its way runs the input when it arrives; if it does not, the one before does.
        self.run_owed = self.model.is_pending();
        let (false, Some(model)) = (self.run_owed, self.model.latest().cloned()) else { return Vec::new() };
        let input = match self.input_for(&model) {
            Ok(input) => input,
            Err(failure) => {
                let had_job = self.capture.is_pending();
                self.capture.fail(failure);
                return if had_job { vec![Effect::Cancel(Lane::Run)] } else { Vec::new() };
            }
        };
        let job = self.new_job();
        self.capture.start(job);
        vec![Effect::Submit(job, Request::Run(input, self.generation(&model.spec, reading)))]
    }

    /// Runs what was asked for while a model was on its way that did not come.
    pub(super) fn run_if_owed(&mut self) -> Vec<Effect> {
        if self.run_owed { self.run() } else { Vec::new() }
    }

    fn input_for(&self, model: &LoadedModel) -> Result<Input, Failure> {
        let text = || {
            if self.text.trim().is_empty() {
                return Err(Failure {
                    summary: "There is no text to run".to_owned(),
                    details: "Type a sentence, or drop a text file".to_owned(),
                });
            }
            let text_b = self.text_b.clone().filter(|text| !text.trim().is_empty());
            Ok(Input::Text(TextInput { text: self.text.clone(), text_b, ..TextInput::default() }))
        };
        let image = || {
            self.image.clone().map(Input::Image).ok_or_else(|| Failure {
                summary: "There is no picture to run".to_owned(),
                details: "Drop a picture, or paste one".to_owned(),
            })
        };
        // Without a target the model writes one.
        let with_target = |source: Input| match self.target.trim() {
            "" => source,
            target => source.with_target(Input::text(target)),
        };
        match model.spec.modality {
            Modality::Text(_) => text(),
            Modality::Image(_) => image(),
            Modality::TextToText { .. } => text().map(with_target),
            Modality::ImageToText { .. } => image().map(with_target),
            Modality::ImageAndText { .. } => Ok(image()?.with_target(text()?)),
        }
    }
}

/// What a dropped or chosen path is taken for, judged by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A model folder, a weights file or a capture file: the worker finds out which.
    Model,
    /// A picture.
    Image,
    /// A text.
    Text,
}

impl PathKind {
    /// Judges by the extension; a path without a known one is taken for a model folder.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|ext| ext.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "png" | "jpg" | "jpeg" | "webp" | "bmp" | "gif" | "tif" | "tiff" => Self::Image,
            "txt" | "md" | "text" | "csv" | "tsv" => Self::Text,
            _ => Self::Model,
        }
    }

    const fn plural(self, n: usize) -> &'static str {
        match (self, n) {
            (Self::Model, 1) => "model was",
            (Self::Model, _) => "models were",
            (Self::Image, 1) => "picture was",
            (Self::Image, _) => "pictures were",
            (Self::Text, 1) => "text was",
            (Self::Text, _) => "texts were",
        }
    }
}

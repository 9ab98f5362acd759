//! Provenance of the shown capture: the run it came from, and whether it is stale.

use std::sync::Arc;

use super::{Document, Experiment};
use crate::{
    model::ImageSource,
    protocol::{LoadedModel, ModelSource},
    spec::ModelSpec,
    text::counted,
};

/// Experiment and model of a run.
#[derive(Clone, Debug)]
pub(super) struct RunKey {
    pub experiment: Experiment,
    pub model: Arc<LoadedModel>,
}

impl RunKey {
    /// Whether a run of `model` would be a run of the same weights. Files may have changed since they were read; what
    /// the program brings along has not.
    fn is_of(&self, model: &LoadedModel) -> bool {
        let is_bundled = matches!(model.source, ModelSource::Bundled(_));
        model.id == self.model.id || is_bundled && model.source == self.model.source
    }
}

/// Why the shown capture is not of the current experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// The model, or its run, is on its way.
    Waits,
    /// The run that was asked for failed or was refused.
    Failed,
    /// Something was changed, or a run was stopped, and nothing has been run since.
    Changed,
}

impl Document {
    /// Why the capture that is shown is not of the model, input and changes that are asked for; `None` when it is.
    pub fn stale(&self) -> Option<Stale> {
        self.latest_capture()?;
        if self.is_busy() {
            return Some(Stale::Waits);
        }
        if self.capture.failure().is_some() {
            return Some(Stale::Failed);
        }
        if self.opened.is_some() {
            return None;
        }
        let made = self.made.as_ref()?;
        (!self.asks_for(made)).then_some(Stale::Changed)
    }

    /// Whether a run now would be made of the same.
    fn asks_for(&self, made: &RunKey) -> bool {
        let Some(model) = self.model.latest().filter(|model| made.is_of(model)) else { return false };
        if self.experiment == made.experiment {
            return true;
        }
        // A picture means nothing to a model that reads, nor how a model writes to one that does not.
        let run = |it: &Experiment| (it.input(&model.spec).ok(), it.generation(&model.spec), it.edits());
        run(&self.experiment) == run(&made.experiment)
    }

    /// The experiment that is shown, which may not be the one that is asked for.
    pub(super) fn shown_experiment(&self) -> &Experiment {
        self.made.as_ref().map_or(&self.experiment, |made| &made.experiment)
    }

    /// What to call it among others: the file, or the model with the beginning of its input, both of what is shown.
    pub fn title(&self) -> String {
        self.called(&self.input_name())
    }

    /// The same with all that is read of its input within reason, to be told from another that begins alike.
    pub fn whole_title(&self) -> String {
        const INPUT_CHARS: usize = 2_000;
        self.called(&self.read().chars().take(INPUT_CHARS).collect::<String>())
    }

    fn called(&self, input: &str) -> String {
        if let Some(file) = &self.opened {
            return file.name().into_owned();
        }
        let Some(capture) = self.latest_capture() else {
            return self.model.latest().map_or_else(|| "Nothing yet".to_owned(), |model| model.spec.name.clone());
        };
        let changed = match self.n_changes() {
            0 => String::new(),
            n => format!("{} · ", counted(n, "change")),
        };
        format!("{changed}{} · {input}", capture.model().name)
    }

    /// The beginning of the input that is shown, or the name of its picture.
    pub fn input_name(&self) -> String {
        beginning(self.read())
    }

    /// The text of the input that is shown, or the name of its picture.
    fn read(&self) -> &str {
        let input = self.latest_capture().map(|capture| capture.input());
        input.and_then(|input| input.text.as_deref().or(input.image.as_deref())).unwrap_or_default()
    }

    /// The model that is open, as the window's title, the panel and messages call it: that of the capture file, or the
    /// one that runs next. A result of another one is veiled, under its own name.
    pub fn open_model(&self) -> Option<&ModelSpec> {
        let of_file = self.opened.as_ref().and(self.latest_capture()).map(|capture| &**capture.model());
        of_file.or_else(|| self.model.latest().map(|model| &*model.spec))
    }
}

impl Experiment {
    /// The beginning of what `model` reads of it, or the name of its picture.
    pub(super) fn input_name(&self, model: &ModelSpec) -> String {
        match self.image.as_ref().filter(|_| model.modality.image().is_some()) {
            Some(ImageSource::Path(path)) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Some(ImageSource::Bundled(name) | ImageSource::Embedded { name, .. }) => name.clone(),
            None => beginning(&self.text),
        }
    }
}

/// The beginning of a text, as a name for it.
fn beginning(text: &str) -> String {
    const INPUT_CHARS: usize = 24;
    let start: String = text.chars().take(INPUT_CHARS).collect();
    let more = if text.chars().nth(INPUT_CHARS).is_some() { "…" } else { "" };
    format!("{}{more}", start.trim_end())
}

impl Stale {
    /// What stands over a picture that is `shown`, which is what it is called.
    pub fn text(self, shown: &str) -> String {
        match self {
            Self::Waits | Self::Changed => format!("Shows “{shown}”, before the change"),
            Self::Failed => format!("Shows “{shown}”: the run after it failed"),
        }
    }
}

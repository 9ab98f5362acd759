//! An experiment: all that is needed to compute something again, and the ones that were run before it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Change, WritingOptions, can_continue};
use crate::{
    capture::Excerpt,
    model::{Chat, Generation, ImageSource, Input, Preparation, TextInput},
    protocol::{Failure, ModelSource},
    spec::{Modality, ModelSpec},
};

/// Experiments kept for `Undo`.
const MAX_UNDO: usize = 100;
/// Bytes of pictures and drawn weights that they may hold.
const MAX_UNDO_BYTES: usize = 64 << 20;

/// All that is needed to compute something again. A plain value: comparing two says whether anything that
/// changes numbers was changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experiment {
    /// The model; `None` before one was chosen.
    pub model: Option<ModelSource>,
    pub text: String,
    /// What of it is read when it has more tokens than the model takes; nothing is run then before somebody chose.
    pub excerpt: Option<Excerpt>,
    /// Whether brackets in its texts group the tokens between them.
    pub brackets: bool,
    /// How the chat template of the model is written around the text, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Chat>,
    /// What the system says before the text in a chat template; nothing where it is blank.
    pub system: String,
    /// Second sentence, if the input is a pair.
    pub text_b: Option<String>,
    /// What the decoder of an encoder–decoder is made to write; the model writes itself when it is blank.
    pub target: String,
    pub image: Option<ImageSource>,
    pub writing: WritingOptions,
    /// Whether a decoder-only model continues the text.
    pub continued: bool,
    /// Ids of the tokens that the written text begins with; the model chooses those after them.
    pub begun: Vec<u32>,
    /// What is changed on the way, in order.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

impl Experiment {
    /// What a model reads or sees.
    ///
    /// # Errors
    /// When there is no text or picture.
    pub fn input(&self, model: &ModelSpec) -> Result<Input, Failure> {
        let Self { text, excerpt, brackets, chat, system, text_b, target, image, .. } = self;
        let text = || {
            if text.trim().is_empty() {
                return Err(Failure {
                    summary: "There is no text to run".to_owned(),
                    details: "Type a sentence, or drop a text file".to_owned(),
                });
            }
            let text_b = text_b.clone().filter(|text| !text.trim().is_empty());
            let text_b = text_b.filter(|_| chat.is_none());
            let how =
                Preparation { brackets: *brackets && chat.is_none(), chat: *chat, ..Preparation::reading(*excerpt) };
            let system = chat.and(Some(system.clone())).filter(|system| !system.trim().is_empty());
            Ok(Input::Text(TextInput { text: text.clone(), text_b, system, how }))
        };
        let image = || {
            image.clone().map(Input::Image).ok_or_else(|| Failure {
                summary: "There is no picture to run".to_owned(),
                details: "Drop a picture, or paste one".to_owned(),
            })
        };
        // Without a target the model writes one.
        let with_target = |source: Input| match target.trim() {
            "" => source,
            target => {
                let how = Preparation { brackets: *brackets, ..Preparation::default() };
                source.with_target(Input::Text(TextInput { text: target.to_owned(), how, ..TextInput::default() }))
            }
        };
        match model.modality {
            Modality::Text(_) => text(),
            Modality::Image(_) => image(),
            Modality::TextToText { .. } => text().map(with_target),
            Modality::ImageToText { .. } => image().map(with_target),
            Modality::ImageAndText { .. } => Ok(image()?.with_target(text()?)),
        }
    }

    /// Bytes of the picture and of weights that were drawn, beside what is the same in the step before.
    fn own_bytes(&self, before: Option<&Self>) -> usize {
        let picture = |it: &Self| {
            let Some(ImageSource::Embedded { bytes, .. }) = &it.image else { return None };
            Some(Arc::clone(bytes))
        };
        let shared = before.and_then(picture);
        let own = picture(self).filter(|bytes| shared.as_ref().is_none_or(|shared| !Arc::ptr_eq(bytes, shared)));
        let n_values: usize = self.changes.iter().map(|change| change.edit.n_values()).sum();
        own.map_or(0, |bytes| bytes.len()) + n_values * size_of::<f32>()
    }

    /// How `model` is to write in a run, if it is to.
    pub fn generation(&self, model: &ModelSpec) -> Option<Generation> {
        let continued = self.continued && can_continue(model);
        let writes = model.modality.target().is_some() && self.target.trim().is_empty();
        (continued || writes).then(|| Generation { begun: self.begun.as_slice().into(), ..self.writing.generation() })
    }

    /// Lets the model write from the beginning; one that reads texts alone only where it is to go on.
    pub(super) fn write_anew(&mut self, continued: bool) {
        self.continued = continued;
        self.begun.clear();
    }
}

/// One drag of a slider, or over cells, told from others by when it began: what it changes is one step of undo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag(pub f64);

/// The experiments that were run, around the current one.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    past: Vec<Experiment>,
    future: Vec<Experiment>,
    /// The one that was run last.
    current: Option<Experiment>,
    drag: Option<Drag>,
    /// Steps that there was no room for.
    n_dropped: usize,
}

impl Undo {
    pub const fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    pub const fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    /// The one that was run last.
    pub const fn current(&self) -> Option<&Experiment> {
        self.current.as_ref()
    }

    /// The one that was run before the current one.
    pub fn previous(&self) -> Option<&Experiment> {
        self.past.last()
    }

    /// How many steps lie behind the current one.
    pub const fn depth(&self) -> usize {
        self.n_dropped + self.past.len()
    }

    /// Whether running this is a step.
    pub fn would_step(&self, now: &Experiment) -> bool {
        self.current.as_ref().is_some_and(|current| current != now)
    }

    /// Takes note of what is run now. The same once more is no step, nor is what the same drag leads to.
    pub fn ran(&mut self, now: &Experiment, drag: Option<Drag>) {
        if self.current.as_ref() == Some(now) {
            return;
        }
        self.future.clear();
        let goes_on = drag.is_some() && self.drag == drag;
        self.drag = drag;
        if let Some(current) = self.current.as_mut().filter(|current| goes_on && now.only_turned(current)) {
            now.clone_into(current);
            return;
        }
        self.past.extend(self.current.replace(now.clone()));
        while self.past.len() > MAX_UNDO || self.past.len() > 1 && self.held_bytes() > MAX_UNDO_BYTES {
            self.past.remove(0);
            self.n_dropped += 1;
        }
    }

    /// What the past takes beside what each step shares with the one before it.
    fn held_bytes(&self) -> usize {
        let before = std::iter::once(None).chain(self.past.iter().map(Some));
        self.past.iter().zip(before).map(|(step, before)| step.own_bytes(before)).sum()
    }

    /// The experiment before, or after, the one that was run last; it counts as run from now on.
    pub fn travel(&mut self, backwards: bool) -> Option<Experiment> {
        let (from, to) =
            if backwards { (&mut self.past, &mut self.future) } else { (&mut self.future, &mut self.past) };
        let next = from.pop()?;
        to.extend(self.current.replace(next.clone()));
        self.drag = None;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Experiment {
        Experiment { text: text.to_owned(), ..Experiment::default() }
    }

    #[test]
    fn undo_goes_back_to_what_was_run_and_a_new_run_ends_redo() {
        let mut undo = Undo::default();
        for text in ["a", "b", "b", "c"] {
            undo.ran(&reading(text), None);
        }
        assert_eq!(undo.travel(true), Some(reading("b")));
        assert_eq!(undo.travel(true), Some(reading("a")), "the same once more is no step");
        assert_eq!(undo.travel(true), None);
        assert_eq!(undo.travel(false), Some(reading("b")));
        // What was travelled to is run, which is no new step.
        undo.ran(&reading("b"), None);
        assert!(undo.can_undo() && undo.can_redo());
        undo.ran(&reading("d"), None);
        assert!(!undo.can_redo());
        assert_eq!(undo.travel(true), Some(reading("b")));
    }

    #[test]
    fn the_past_holds_a_hundred_steps_and_no_more_pictures_than_there_is_room_for() {
        let picture = |n: usize| Some(ImageSource::Embedded { name: String::new(), bytes: vec![1; n].into() });
        let (mut undo, large) = (Undo::default(), picture(20 << 20));
        for step in 0..120 {
            undo.ran(&Experiment { image: large.clone(), ..reading(&step.to_string()) }, None);
        }
        assert_eq!((undo.past.len(), undo.depth()), (MAX_UNDO, 119), "one picture is held once");
        for n in 0..8 {
            undo.ran(&Experiment { image: picture((20 << 20) + n), ..Experiment::default() }, None);
        }
        assert_eq!(undo.past.len(), 3);
        assert!(undo.held_bytes() <= MAX_UNDO_BYTES);
    }
}

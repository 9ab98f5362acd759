//! Pictures of the window: taken when the frame has settled, then saved or copied.
//!
//! A screenshot shows the frame that is drawn after it was asked for, so messages and hover are
//! hidden first and two frames pass before it is taken.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use eframe::egui::ColorImage;

use crate::{
    capture::{Capture, RgbaBuffer},
    export::{self, ExportRequest, FigureRequest},
    session::Session,
};

/// Frames drawn without messages and hover before the picture is taken.
const SETTLE_FRAMES: u8 = 2;
/// Frames to wait for the picture; a minimised window may never deliver one.
const GIVE_UP_FRAMES: u8 = 120;

/// What a picture is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    Save,
    File(PathBuf),
}

/// A picture that is being taken.
#[derive(Debug)]
struct Shot {
    purpose: Purpose,
    frames: u8,
}

/// What waits for a place to be saved at.
#[derive(Debug)]
pub enum Unplaced {
    Screenshot {
        /// The pixels.
        pixels: Arc<RgbaBuffer>,
        /// Model, input, selection, view, version.
        metadata: Vec<(String, String)>,
    },
    /// Figures, or the numbers behind them.
    Figure(FigureRequest),
    /// The session, as it is when its place is known.
    Session,
    /// A lens that is fitted when its place is known.
    Lens,
}

impl Unplaced {
    /// How it is written to `path`; `None` for what is no picture.
    pub fn at(self, path: PathBuf) -> Option<ExportRequest> {
        Some(match self {
            Self::Screenshot { pixels, metadata } => ExportRequest::Png { pixels, metadata, path },
            Self::Figure(figure) => ExportRequest::Figures { figure, path },
            Self::Session | Self::Lens => return None,
        })
    }
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotStep {
    Idle,
    Wait,
    /// Ask for the screenshot now.
    Request,
    /// It never came.
    GaveUp,
}

/// All pictures on their way.
#[derive(Debug, Default)]
pub struct Pictures {
    shot: Option<Shot>,
    waiting: BTreeMap<u64, Unplaced>,
    next: u64,
}

impl Pictures {
    /// Starts taking a picture, unless one is being taken.
    pub fn start(&mut self, purpose: Purpose) {
        self.shot.get_or_insert(Shot { purpose, frames: 0 });
    }

    /// Whether messages and hover must stay hidden.
    pub const fn is_taking(&self) -> bool {
        self.shot.is_some()
    }

    /// Counts one frame.
    pub fn step(&mut self) -> ScreenshotStep {
        let Some(shot) = &mut self.shot else { return ScreenshotStep::Idle };
        shot.frames = shot.frames.saturating_add(1);
        if shot.frames == SETTLE_FRAMES + 1 {
            ScreenshotStep::Request
        } else if shot.frames > GIVE_UP_FRAMES {
            self.shot = None;
            ScreenshotStep::GaveUp
        } else {
            ScreenshotStep::Wait
        }
    }

    /// Takes in the screenshot and gives what it is for.
    pub fn receive(&mut self) -> Option<Purpose> {
        Some(self.shot.take()?.purpose)
    }

    /// Keeps something until its place is chosen.
    pub fn keep(&mut self, picture: Unplaced) -> u64 {
        self.next += 1;
        self.waiting.insert(self.next, picture);
        self.next
    }

    /// Takes out what was kept.
    pub fn take(&mut self, number: u64) -> Option<Unplaced> {
        self.waiting.remove(&number)
    }
}

/// Opaque pixels for export: the window has nothing behind it.
pub fn to_rgba(image: &ColorImage) -> RgbaBuffer {
    let pixels = image.pixels.iter().flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b(), 255]).collect();
    RgbaBuffer { width: image.size[0], height: image.size[1], pixels }
}

/// What a picture says about itself.
pub fn metadata(session: &Session) -> Vec<(String, String)> {
    let mut entries = vec![("Software".to_owned(), concat!("AttnScope ", env!("CARGO_PKG_VERSION")).to_owned())];
    let mut add = |name: &str, value: String| entries.push((name.to_owned(), value));
    add("View", "window".to_owned());
    let Some(capture) = session.document().latest_capture() else { return entries };
    let model = capture.model();
    add("Model", format!("{} ({})", model.name, model.family));
    add("Input", input_text(capture));
    add("Selection", selection_text(session, capture));
    entries
}

fn input_text(capture: &Capture) -> String {
    let input = capture.input();
    let parts = [&input.text, &input.text_b, &input.image];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" | ")
}

fn selection_text(session: &Session, capture: &Capture) -> String {
    let selection = &session.pane().selection;
    let stack = selection.stack();
    let mut text = format!("stack {stack}, layer {}, head {}", selection.head.layer, selection.head.head);
    let named = [
        ("query", selection.pinned.query, capture.query_tokens(stack)),
        ("key", selection.pinned.key, capture.key_tokens(stack)),
    ];
    for (name, position, tokens) in named {
        if let Some((position, token)) = position.and_then(|position| Some((position, tokens.get(position)?))) {
            text = format!("{text}, {name} {position} “{}”", token.text);
        }
    }
    text
}

/// The name that the save dialog proposes.
pub fn default_file_name(session: &Session) -> String {
    let capture = session.document().latest_capture();
    let (model, input) =
        capture.map_or_else(|| ("attnscope", String::new()), |it| (it.model().name.as_str(), input_text(it)));
    export::default_file_name(model, &input, "", "window", "png")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_taken_after_the_frame_has_settled() {
        let mut pictures = Pictures::default();
        assert_eq!(pictures.step(), ScreenshotStep::Idle);
        pictures.start(Purpose::Save);
        assert!(pictures.is_taking());
        assert_eq!(
            [pictures.step(), pictures.step(), pictures.step()],
            [ScreenshotStep::Wait, ScreenshotStep::Wait, ScreenshotStep::Request]
        );
        assert_eq!(pictures.receive(), Some(Purpose::Save));
        assert!(!pictures.is_taking());
    }

    #[test]
    fn a_window_that_never_answers_does_not_hide_its_messages_for_ever() {
        let mut pictures = Pictures::default();
        pictures.start(Purpose::Save);
        let gave_up = (0..=GIVE_UP_FRAMES).map(|_| pictures.step()).any(|step| step == ScreenshotStep::GaveUp);
        assert!(gave_up && !pictures.is_taking());
    }
}

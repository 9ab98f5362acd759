//! Pictures of the window or of the view: taken when the frame has settled, then saved or copied.
//!
//! A screenshot shows the frame that is drawn after it was asked for, so messages and hover are
//! hidden first and two frames pass before it is taken.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use eframe::egui::{ColorImage, Rect};

use crate::{
    capture::{Capture, RgbaBuffer},
    export,
    session::{ExportTarget, Session, ViewKind},
};

/// Frames drawn without messages and hover before the picture is taken.
const SETTLE_FRAMES: u8 = 2;
/// Frames to wait for the picture; a minimised window may never deliver one.
const GIVE_UP_FRAMES: u8 = 120;

/// What a picture is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Ask where to save it.
    Save,
    /// Put it on the clipboard.
    Clipboard,
    /// Write it to this file.
    File(PathBuf),
}

/// A picture that is being taken.
#[derive(Debug)]
struct Shot {
    target: ExportTarget,
    purpose: Purpose,
    frames: u8,
}

/// A picture that waits for a place to be saved at.
#[derive(Debug)]
pub struct Picture {
    /// The pixels.
    pub pixels: Arc<RgbaBuffer>,
    /// Model, input, selection, view, version.
    pub metadata: Vec<(String, String)>,
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing is being taken.
    Idle,
    /// Draw another frame.
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
    waiting: BTreeMap<u64, Picture>,
    next: u64,
}

impl Pictures {
    /// Starts taking a picture, unless one is being taken.
    pub fn start(&mut self, target: ExportTarget, purpose: Purpose) {
        self.shot.get_or_insert(Shot { target, purpose, frames: 0 });
    }

    /// Whether messages and hover must stay hidden.
    pub const fn is_taking(&self) -> bool {
        self.shot.is_some()
    }

    /// Counts one frame.
    pub fn step(&mut self) -> Step {
        let Some(shot) = &mut self.shot else { return Step::Idle };
        shot.frames = shot.frames.saturating_add(1);
        if shot.frames == SETTLE_FRAMES + 1 {
            Step::Request
        } else if shot.frames > GIVE_UP_FRAMES {
            self.shot = None;
            Step::GaveUp
        } else {
            Step::Wait
        }
    }

    /// Takes in the screenshot and gives what it is for, cropped to the view if that was asked.
    pub fn receive(&mut self, image: &ColorImage, view_px: Rect) -> Option<(Purpose, ExportTarget, ColorImage)> {
        let Shot { target, purpose, .. } = self.shot.take()?;
        let image = match target {
            ExportTarget::Window => image.clone(),
            ExportTarget::View => crop(image, view_px)?,
        };
        Some((purpose, target, image))
    }

    /// Keeps a picture until its place is chosen.
    pub fn keep(&mut self, picture: Picture) -> u64 {
        self.next += 1;
        self.waiting.insert(self.next, picture);
        self.next
    }

    /// Takes a kept picture out.
    pub fn take(&mut self, number: u64) -> Option<Picture> {
        self.waiting.remove(&number)
    }
}

/// The part of `image` inside `rect_px`. [`ColorImage::region`] does not clamp, so this does.
fn crop(image: &ColorImage, rect_px: Rect) -> Option<ColorImage> {
    let [width, height] = image.size;
    let clamp = |value: f32, max: usize| (value.round().max(0.0) as usize).min(max);
    let (left, right) = (clamp(rect_px.left(), width), clamp(rect_px.right(), width));
    let (top, bottom) = (clamp(rect_px.top(), height), clamp(rect_px.bottom(), height));
    if left >= right || top >= bottom {
        return None;
    }
    let pixels = image.pixels.chunks_exact(width).skip(top).take(bottom - top);
    let pixels = pixels.flat_map(|row| row.iter().skip(left).take(right - left).copied()).collect();
    Some(ColorImage::new([right - left, bottom - top], pixels))
}

/// Opaque pixels for export: the window has nothing behind it.
pub fn to_rgba(image: &ColorImage) -> RgbaBuffer {
    let pixels = image.pixels.iter().flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b(), 255]).collect();
    RgbaBuffer { width: image.size[0], height: image.size[1], pixels }
}

/// What a picture says about itself.
pub fn metadata(session: &Session, target: ExportTarget) -> Vec<(String, String)> {
    let mut entries = vec![("Software".to_owned(), concat!("AttnScope ", env!("CARGO_PKG_VERSION")).to_owned())];
    let mut add = |name: &str, value: String| entries.push((name.to_owned(), value));
    add("View", if target == ExportTarget::View { session.pane().view.name().to_owned() } else { "window".to_owned() });
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
pub fn default_file_name(session: &Session, target: ExportTarget) -> String {
    let (model, input) = session
        .document()
        .latest_capture()
        .map_or_else(|| ("attnscope", String::new()), |it| (it.model().name.as_str(), input_text(it)));
    let head = Some(session.pane().selection.head);
    match (target, session.pane().view) {
        (ExportTarget::Window, _) => export::default_file_name(model, &input, None, "window"),
        (ExportTarget::View, ViewKind::Matrix) => {
            export::default_file_name(model, &input, None, ViewKind::Matrix.name())
        }
        (ExportTarget::View, view) => export::default_file_name(model, &input, head, view.name()),
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, pos2};

    use super::*;

    fn image() -> ColorImage {
        let pixels = (0..12u8).map(Color32::from_gray).collect();
        ColorImage::new([4, 3], pixels)
    }

    #[test]
    fn a_crop_beyond_the_window_is_clamped() {
        let inside = crop(&image(), Rect::from_min_max(pos2(1.0, 1.0), pos2(3.0, 2.0))).unwrap();
        assert_eq!((inside.size, inside.pixels[0].r()), ([2, 1], 5));
        let beyond = crop(&image(), Rect::from_min_max(pos2(2.0, -5.0), pos2(99.0, 99.0))).unwrap();
        assert_eq!(beyond.size, [2, 3]);
        assert!(crop(&image(), Rect::from_min_max(pos2(50.0, 0.0), pos2(60.0, 2.0))).is_none());
    }

    #[test]
    fn a_picture_is_taken_after_the_frame_has_settled() {
        let mut pictures = Pictures::default();
        assert_eq!(pictures.step(), Step::Idle);
        pictures.start(ExportTarget::View, Purpose::Save);
        assert!(pictures.is_taking());
        assert_eq!([pictures.step(), pictures.step(), pictures.step()], [Step::Wait, Step::Wait, Step::Request]);
        let (purpose, target, cropped) = pictures.receive(&image(), Rect::EVERYTHING).unwrap();
        assert_eq!((purpose, target, cropped.size), (Purpose::Save, ExportTarget::View, [4, 3]));
        assert!(!pictures.is_taking());
    }

    #[test]
    fn a_window_that_never_answers_does_not_hide_its_messages_for_ever() {
        let mut pictures = Pictures::default();
        pictures.start(ExportTarget::Window, Purpose::Clipboard);
        let gave_up = (0..=GIVE_UP_FRAMES).map(|_| pictures.step()).any(|step| step == Step::GaveUp);
        assert!(gave_up && !pictures.is_taking());
    }
}

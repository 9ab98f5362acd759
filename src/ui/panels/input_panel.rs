//! Input of the model: the text or the picture.

use eframe::egui::{self, RichText, Stroke, StrokeKind, TextureHandle, Ui, vec2};

use super::{
    chat::ChatPanel,
    editor::{Editor, Look},
    input_chooser,
    language_tags::language_tags_ui,
    numbers::NumbersPanel,
    target::TargetPanel,
    too_long::part_ui,
    undrawn::undrawn_text,
    written::written_ui,
};
use crate::{
    capture::{Capture, RgbaBuffer},
    ids::CaptureId,
    model::ImageSource,
    session::{Command, gallery::SAMPLES},
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        memo::Memo,
        stale::veiled_ui,
        theme::{GRID, radius},
        widgets::section_title_ui,
    },
};

const EDITOR_ROWS: usize = 4;
/// Longer edge of the thumbnail's texture, in pixels.
const THUMBNAIL_PX: usize = 256;

/// The input.
#[derive(Default)]
pub struct InputPanel {
    text: Editor,
    text_b: Editor,
    chat: ChatPanel,
    target: TargetPanel,
    numbers: NumbersPanel,
    thumbnail: Option<(CaptureId, TextureHandle)>,
    undrawn: Memo<CaptureId, Option<String>>,
}

impl InputPanel {
    /// Draws the panel.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        heading_ui(ui, cx);
        let model = cx.document.model.latest().map(|model| &model.spec);
        let spec = model.or_else(|| cx.document.latest_capture().map(|capture| capture.model()));
        if let Some(numbers) = cx.document.numbers() {
            self.numbers.ui(ui, cx, numbers);
        } else if let Some(file) = &cx.document.opened {
            input_chooser::input_chooser_ui(ui, cx, file);
        } else {
            let sees = spec.is_some_and(|spec| spec.modality.image().is_some());
            if sees {
                self.picture_ui(ui, cx);
            }
            if !sees || spec.is_some_and(|spec| spec.modality.text().is_some()) {
                self.text_ui(ui, cx);
                self.chat.ui(ui, cx);
                language_tags_ui(ui, cx);
            }
            part_ui(ui, cx);
            if let Some(spec) = model {
                self.target.ui(ui, cx, spec);
            }
        }
        let Some(capture) = cx.document.latest_capture() else { return };
        veiled_ui(ui, cx, |ui| {
            written_ui(ui, cx, capture);
            if let Some(text) = self.undrawn.get_or_update(capture.id(), || undrawn_text(ui, capture)) {
                ui.label(RichText::new(text).small().color(cx.theme.warning));
            }
        });
    }

    /// Puts the cursor into the text in the next frame.
    pub const fn focus_text(&mut self) {
        self.text.focus();
    }

    fn text_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let experiment = &cx.document.experiment;
        let look = Look { name: "Text", hint: "Type a sentence", n_rows: EDITOR_ROWS };
        if let Some(text) = self.text.ui(ui, cx, &experiment.text, &look) {
            cx.send(Command::SetText(text));
        }
        if let Some(text_b) = experiment.text_b.as_ref().filter(|_| experiment.chat.is_none()) {
            let look = Look { name: "Second sentence", hint: "Type a second sentence", n_rows: 2 };
            if let Some(text_b) = self.text_b.ui(ui, cx, text_b, &look) {
                cx.send(Command::SetTextB(Some(text_b)));
            }
        }
        // A turn of a conversation is one text, in which brackets are letters.
        if experiment.chat.is_some() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            let (label, tooltip) = match experiment.text_b {
                None => ("Add second sentence", "Run a pair of sentences, as BERT was trained on"),
                Some(_) => ("Remove second sentence", "Run only the first sentence"),
            };
            if ui.add(egui::Button::new(label).small()).on_hover_text(tooltip).clicked() {
                if experiment.text_b.is_none() {
                    self.text_b.focus();
                }
                cx.send(Command::SetTextB(experiment.text_b.is_none().then(String::new)));
                cx.send(Command::Run);
            }
            let meaning = "Tokens between brackets are one word of your own, as in [New York] is big, and the brackets \
                are not read; \\[ and \\] are brackets of the text. Dragging over the tokens above a view writes them";
            let mut brackets = experiment.brackets;
            if ui.checkbox(&mut brackets, "[ ] group").on_hover_text(meaning).changed() {
                cx.send(Command::SetBrackets(brackets));
            }
        });
    }

    fn picture_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        if let Some((capture, source)) =
            cx.document.latest_capture().and_then(|it| Some((it, it.image()?.source.as_ref()?)))
        {
            let texture = match &self.thumbnail {
                Some((id, texture)) if *id == capture.id() => texture.clone(),
                _ => {
                    let image = thumbnail(source, THUMBNAIL_PX);
                    let texture = ui.ctx().load_texture("input thumbnail", image, egui::TextureOptions::LINEAR);
                    self.thumbnail = Some((capture.id(), texture.clone()));
                    texture
                }
            };
            let size = texture.size_vec2();
            let scale = (ui.available_width() / size.x).min(30.0 * GRID / size.y).min(1.0);
            veiled_ui(ui, cx, |ui| {
                let image = egui::Image::new((texture.id(), size * scale)).corner_radius(radius::CONTROL);
                let place = ui.add(image.alt_text("The input picture")).rect;
                // A white picture ends where its frame is.
                ui.painter().rect_stroke(place, radius::CONTROL, Stroke::new(1.0, cx.theme.rule), StrokeKind::Outside);
                ui.label(RichText::new(picture_caption(capture, source)).small().color(cx.theme.text_weak));
            });
        }
        ui.horizontal_wrapped(|ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            if ui.button("Choose picture…").on_hover_text(UiCommand::OpenFile.tooltip_with_key(ui.ctx())).clicked() {
                cx.send(Command::Pick(crate::session::FilePurpose::InputFile));
            }
            ui.menu_button("Samples ⏷", |ui| {
                for (name, title) in SAMPLES {
                    if ui.button(*title).clicked() {
                        cx.send(Command::SetImage(ImageSource::Bundled((*name).to_owned())));
                        ui.close();
                    }
                }
            })
            .response
            .on_hover_text("Pictures bundled with AttnScope");
        });
    }
}

/// The heading, with what brings back what was run before.
fn heading_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    ui.add_space(2.0 * GRID);
    ui.horizontal(|ui| {
        section_title_ui(ui, cx.theme, "Input");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            let steps = [(UiCommand::Redo, cx.session.can_redo()), (UiCommand::Undo, cx.session.can_undo())];
            for (command, enabled) in steps {
                let button = egui::Button::new(command.text()).small().frame_when_inactive(false);
                let response = ui.add_enabled(enabled, button).on_hover_text(command.tooltip_with_key(ui.ctx()));
                if response.clicked()
                    && let Some(command) = command.command()
                {
                    cx.send(command);
                }
            }
        });
    });
}

fn picture_caption(capture: &Capture, source: &RgbaBuffer) -> String {
    let name = capture.input().image.as_deref().unwrap_or("picture");
    let grid = capture.image().map_or((0, 0), |image| image.grid);
    if let Some(regions) = capture.image().and_then(|image| image.regions.as_ref()) {
        let n = regions.len();
        let noun = if n == 1 { "region" } else { "regions" };
        return format!("{name} · {} × {} px · {n} {noun}", source.width, source.height);
    }
    format!("{name} · {} × {} px · {} × {} patches", source.width, source.height, grid.1, grid.0)
}

/// A small copy: each pixel is the mean of up to 4 × 4 samples of the pixels it stands for.
fn thumbnail(source: &RgbaBuffer, max_px: usize) -> egui::ColorImage {
    const SAMPLES_PER_AXIS: usize = 4;
    let longer = source.width.max(source.height).max(1);
    let scale = (max_px as f32 / longer as f32).min(1.0);
    let size = |n: usize| ((n as f32 * scale).round() as usize).max(1);
    let (width, height) = (size(source.width), size(source.height));
    let mut rgba = Vec::with_capacity(width * height * 4);
    for y in 0..height {
        for x in 0..width {
            let mut sum = [0u32; 4];
            for sample in 0..SAMPLES_PER_AXIS * SAMPLES_PER_AXIS {
                let at = |pixel: usize, n_small: usize, n_large: usize, step: usize| {
                    (pixel * SAMPLES_PER_AXIS + step) * n_large / (n_small * SAMPLES_PER_AXIS)
                };
                let column = at(x, width, source.width, sample % SAMPLES_PER_AXIS);
                let row = at(y, height, source.height, sample / SAMPLES_PER_AXIS);
                let start = (row * source.width + column) * 4;
                for (channel, total) in sum.iter_mut().enumerate() {
                    *total += u32::from(source.pixels.get(start + channel).copied().unwrap_or(0));
                }
            }
            rgba.extend(sum.map(|total| (total / (SAMPLES_PER_AXIS * SAMPLES_PER_AXIS) as u32) as u8));
        }
    }
    let mut image = egui::ColorImage::from_rgba_unmultiplied([width, height], &rgba);
    image.source_size = vec2(width as f32, height as f32);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_keep_the_aspect_and_average() {
        let pixels: Vec<u8> = (0..8 * 4).flat_map(|i| if i % 2 == 0 { [0, 0, 0, 255] } else { [255; 4] }).collect();
        let source = RgbaBuffer { width: 8, height: 4, pixels };
        let small = thumbnail(&source, 2);
        assert_eq!(small.size, [2, 1]);
        assert!(small.pixels.iter().all(|pixel| pixel.r() == 127));
        assert_eq!(thumbnail(&source, 100).size, [8, 4]);
    }
}

//! Input of the model: the text or the picture, and its tokens.

use eframe::egui::{self, RichText, Stroke, StrokeKind, TextureHandle, Ui, vec2};

use super::{
    editor::{Editor, Look},
    input_chooser,
    language_tags::language_tags_ui,
    target::TargetPanel,
    token_search::TokenSearch,
    too_long::part_ui,
    undrawn::undrawn_text,
    written::written_ui,
};
use crate::{
    analysis::reading::ReadPattern,
    capture::{Capture, RgbaBuffer},
    figure::palette::Ink,
    ids::{CaptureId, Side, StackKind},
    model::ImageSource,
    session::{Command, gallery::SAMPLES},
    text::counted,
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        memo::Memo,
        stale::veiled_ui,
        theme::{GRID, opaque, radius},
        views::overlay_strip_ui,
        widgets::{ChipRoom, ChipTint, TokenChips, section_title_ui, section_ui},
    },
};

const EDITOR_ROWS: usize = 4;
const MAX_CHIPS_HEIGHT: f32 = 56.0 * GRID;
/// Longer edge of the thumbnail's texture, in pixels.
const THUMBNAIL_PX: usize = 256;

/// The input and its tokens.
#[derive(Default)]
pub struct InputPanel {
    text: Editor,
    text_b: Editor,
    target: TargetPanel,
    search: TokenSearch,
    /// The token that the search has just come to.
    reveal: Option<usize>,
    query_chips: TokenChips,
    key_chips: TokenChips,
    thumbnail: Option<(CaptureId, TextureHandle)>,
    undrawn: Memo<CaptureId, Option<String>>,
}

impl InputPanel {
    /// Draws the panel.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, pattern: Option<&ReadPattern>) {
        heading_ui(ui, cx);
        let model = cx.document.model.latest().map(|model| &model.spec);
        let spec = model.or_else(|| cx.document.latest_capture().map(|capture| capture.model()));
        if let Some(file) = &cx.document.opened {
            input_chooser::input_chooser_ui(ui, cx, file);
        } else {
            let sees = spec.is_some_and(|spec| spec.modality.image().is_some());
            if sees {
                self.picture_ui(ui, cx);
            }
            if !sees || spec.is_some_and(|spec| spec.modality.text().is_some()) {
                self.text_ui(ui, cx);
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
            self.tokens_ui(ui, cx, capture, pattern);
            if let Some(text) = self.undrawn.get_or_update(capture.id(), || undrawn_text(ui, capture)) {
                ui.label(RichText::new(text).small().color(cx.theme.warning));
            }
        });
    }

    /// Puts the cursor into the text in the next frame.
    pub const fn focus_text(&mut self) {
        self.text.focus();
    }

    /// Puts the cursor into the token search in the next frame.
    pub const fn focus_search(&mut self) {
        self.search.focus();
    }

    fn text_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let experiment = &cx.document.experiment;
        let look = Look { name: "Text", hint: "Type a sentence", n_rows: EDITOR_ROWS };
        if let Some(text) = self.text.ui(ui, cx, &experiment.text, &look) {
            cx.send(Command::SetText(text));
        }
        if let Some(text_b) = &experiment.text_b {
            let look = Look { name: "Second sentence", hint: "Type a second sentence", n_rows: 2 };
            if let Some(text_b) = self.text_b.ui(ui, cx, text_b, &look) {
                cx.send(Command::SetTextB(Some(text_b)));
            }
        }
        ui.horizontal(|ui| {
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

    fn tokens_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: Option<&ReadPattern>) {
        let stack = cx.pane.selection.stack();
        let (query_side, key_side) = (stack.query_side(), stack.key_side());
        let focus = cx.pane.selection.focus();
        // One row is that of all tokens, whether one is held or not.
        let one_row = pattern.filter(|pattern| pattern.has_one_row()).map(|pattern| pattern.by_key(None));
        let query_row: Option<Vec<f32>> =
            one_row.or_else(|| focus.query.and_then(|query| Some(pattern?.by_key(Some(query)))));
        let has_one_row = pattern.is_some_and(ReadPattern::has_one_row);
        let key_column: Option<Vec<f32>> = match (focus.query, focus.key) {
            (None, Some(key)) if !has_one_row => pattern.map(|it| it.by_query(Some(key))),
            _ => None,
        };
        let look = TintLook::of(cx, pattern);
        let key_tint = query_row.as_deref().map(|weights| look.tint(weights, cx.theme.key));
        let query_tint = key_column.as_deref().map(|weights| look.tint(weights, cx.theme.query));
        if let Some(overlay) = cx.pane.overlay.as_ref().filter(|_| !cx.pane.view.facts().reads_corpus) {
            ui.add_space(GRID);
            overlay_strip_ui(ui, cx, overlay, true);
        }

        // Patches stand on the picture instead.
        let on_picture = capture.picture_side();
        if on_picture != Some(query_side) {
            let tokens = capture.tokens(query_side);
            section_ui(ui, cx.theme, &tokens_title(tokens.len(), query_side, capture));
            let found = self.search.ui(ui, cx, (capture.id(), query_side), tokens);
            self.reveal = found.or(self.reveal);
            let (tint, part) = if query_side == key_side { (key_tint.or(query_tint), 1.0) } else { (query_tint, 0.5) };
            let room = ChipRoom { max_height: MAX_CHIPS_HEIGHT * part, reveal: self.reveal.take() };
            self.query_chips.ui(ui, cx, query_side, tint, room);
        }
        if query_side != key_side && on_picture != Some(key_side) {
            section_ui(ui, cx.theme, &tokens_title(capture.tokens(key_side).len(), key_side, capture));
            self.key_chips.ui(
                ui,
                cx,
                key_side,
                key_tint,
                ChipRoom { max_height: MAX_CHIPS_HEIGHT / 2.0, reveal: None },
            );
        }
    }
}

/// How numbers colour tokens: weights of attention in the colour of their side, other numbers in their own.
struct TintLook<'a> {
    full: f32,
    own: Option<[egui::Color32; 2]>,
    name: &'a str,
}

impl<'a> TintLook<'a> {
    fn of(cx: &ViewCtx<'_>, pattern: Option<&'a ReadPattern>) -> Self {
        let Some((pattern, explained)) = pattern.and_then(|it| Some((it, it.explained()?))) else {
            return Self { full: 1.0, own: None, name: "weight" };
        };
        let ink = |ink: Ink| opaque(cx.theme.palette.ink(ink));
        let own = if pattern.signed { [ink(Ink::More), ink(Ink::Less)] } else { [ink(Ink::Explained); 2] };
        Self { full: pattern.high(), own: Some(own), name: explained.title() }
    }

    fn tint<'b>(&self, weights: &'b [f32], color: egui::Color32) -> ChipTint<'b>
    where
        'a: 'b,
    {
        ChipTint { weights, full: self.full, colors: self.own.unwrap_or([color; 2]), name: self.name }
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
    format!("{name} · {} × {} px · {} × {} patches", source.width, source.height, grid.1, grid.0)
}

fn tokens_title(n: usize, side: Side, capture: &Capture) -> String {
    // One query reads a text by itself.
    let reads_alone =
        capture.model().stack(StackKind::Cross).is_some() && !capture.model().has_two_sides(StackKind::Cross);
    match side {
        Side::Decoder if reads_alone => "Query".to_owned(),
        Side::Encoder if reads_alone => counted(n, "token"),
        Side::Only => counted(n, "token"),
        other => counted(n, &format!("{} token", other.name())),
    }
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

//! The export dialog: kind of file, what is drawn, size and look, with a live preview.

use std::sync::Arc;

use eframe::egui::{
    self, Align, Button, ComboBox, DragValue, Id, Image, Layout, Modal, RichText, Spinner, TextureHandle,
    TextureOptions, Ui, load::SizedTexture, vec2,
};

use super::failure_ui;
use crate::{
    export::Preview,
    session::{Caption, Command, FigureCommand, FigureOptions, FigureRange, FileKind, ViewKind},
    text::counted,
    ui::{PanelCtx, theme::GRID, widgets::section_ui},
};

/// Width of the choices beside the preview.
const CHOICES_PT: f32 = 62.0 * GRID;
/// Points of a centimetre.
const POINTS_PER_CM: f32 = 72.0 / 2.54;
/// Widths that papers ask for: of a column and of a page, in centimetres.
const WIDTHS_CM: [(f32, &str); 3] = [(8.5, "One column"), (12.0, "Text width"), (17.5, "Two columns")];

/// What the dialog remembers of its own.
#[derive(Default)]
pub struct FigureSheet {
    picture: Option<(Arc<Preview>, TextureHandle)>,
}

impl FigureSheet {
    /// Draws the dialog over everything while it is open.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>) {
        if !cx.session.figures.is_open {
            self.picture = None;
            return;
        }
        let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(5.0 * GRID);
        let room = ctx.content_rect().size() - vec2(24.0 * GRID, 36.0 * GRID);
        let preview =
            vec2((room.x - CHOICES_PT).clamp(60.0 * GRID, 210.0 * GRID), room.y.clamp(60.0 * GRID, 150.0 * GRID));
        let modal = Modal::new(Id::unique("figures")).frame(frame).show(ctx, |ui| {
            ui.heading("Export");
            ui.add_space(2.0 * GRID);
            ui.horizontal_top(|ui| {
                ui.allocate_ui_with_layout(vec2(CHOICES_PT, preview.y), Layout::top_down(Align::Min), |ui| {
                    ui.set_width(CHOICES_PT);
                    choices_ui(ui, cx);
                });
                ui.add_space(4.0 * GRID);
                self.preview_ui(ui, cx, preview);
            });
            ui.add_space(3.0 * GRID);
            buttons_ui(ui, cx)
        });
        if modal.inner || modal.should_close() {
            cx.send(Command::Figure(FigureCommand::Close));
        }
    }

    fn preview_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, size: egui::Vec2) {
        let dialog = &cx.session.figures;
        ui.allocate_ui_with_layout(size, Layout::top_down(Align::Center), |ui| {
            ui.set_min_size(size);
            if let Some(failure) = dialog.preview.failure() {
                failure_ui(ui, cx, failure);
                return;
            }
            let Some(preview) = dialog.preview.latest() else {
                ui.add_space(size.y * 0.45);
                ui.add(Spinner::new());
                return;
            };
            let texture = match &self.picture {
                Some((known, texture)) if Arc::ptr_eq(known, preview) => texture.clone(),
                _ => {
                    let pixels = &preview.pixels;
                    let image = egui::ColorImage::from_rgba_unmultiplied([pixels.width, pixels.height], &pixels.pixels);
                    let texture = ui.ctx().load_texture("figure preview", image, TextureOptions::LINEAR);
                    self.picture = Some((Arc::clone(preview), texture.clone()));
                    texture
                }
            };
            let room = size - vec2(0.0, 8.0 * GRID);
            let shown = texture.size_vec2() * (room / texture.size_vec2()).min_elem().min(1.0);
            if dialog.preview.is_pending() {
                ui.multiply_opacity(0.5);
            }
            let image = Image::new(SizedTexture::new(texture.id(), shown)).alt_text("Preview of the figure");
            ui.add(image);
            ui.label(RichText::new(facts(preview)).small().color(cx.theme.text_weak));
            if !preview.missing.is_empty() {
                let text = format!("No font has {}; boxes stand for them", preview.missing.join(" "));
                ui.label(RichText::new(text).small().color(cx.theme.warning));
            }
        });
    }
}

/// Size and number of the figures.
fn facts(preview: &Preview) -> String {
    let [width, height] = preview.size_pt;
    let cm = |points: f32| points / POINTS_PER_CM;
    let size = format!("{width:.0} × {height:.0} pt · {:.1} × {:.1} cm", cm(width), cm(height));
    if preview.n_figures > 1 {
        format!("{size} · the first of {}", counted(preview.n_figures, "figure"))
    } else {
        size
    }
}

fn choices_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let mut options = cx.session.settings.figures;
    section_ui(ui, cx.theme, "File");
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(GRID, GRID);
        for (kind, name, _, meaning) in FileKind::ALL {
            let choice = ui.add(Button::selectable(options.kind == kind, name));
            if choice.on_hover_text(meaning).clicked() {
                options.kind = kind;
            }
        }
    });
    section_ui(ui, cx.theme, "What");
    if cx.pane.view == ViewKind::Lab {
        ui.label(RichText::new("The answers that the pane shows").color(cx.theme.text_weak));
    } else {
        for (range, text) in FigureRange::ALL {
            ui.radio_value(&mut options.range, range, text);
        }
    }
    if !options.kind.is_data() {
        look_ui(ui, cx, &mut options);
    }
    if options != cx.session.settings.figures {
        cx.send(Command::Figure(FigureCommand::Set(options)));
    }
}

fn look_ui(ui: &mut Ui, cx: &PanelCtx<'_>, options: &mut FigureOptions) {
    section_ui(ui, cx.theme, "Size");
    ui.horizontal(|ui| {
        let mut fixed = options.width_pt.is_some();
        let automatic = options.width_pt.unwrap_or(12.0 * POINTS_PER_CM);
        if ui.checkbox(&mut fixed, "Width").on_hover_text("Without it a figure is as wide as suits it").changed() {
            options.width_pt = fixed.then_some(automatic);
        }
        if let Some(points) = &mut options.width_pt {
            let mut cm = *points / POINTS_PER_CM;
            let field = DragValue::new(&mut cm).range(2.0..=100.0).speed(0.1).fixed_decimals(1).suffix(" cm");
            if ui.add(field).accessible_name("Width in centimetres").changed() {
                *points = cm * POINTS_PER_CM;
            }
            ui.menu_button("⏷", |ui| {
                for (cm, name) in WIDTHS_CM {
                    if ui.button(format!("{name}, {cm} cm")).clicked() {
                        *points = cm * POINTS_PER_CM;
                        ui.close();
                    }
                }
            });
        }
    });
    if options.kind == FileKind::Png {
        ui.horizontal(|ui| {
            ui.label("Pixels per point");
            let field = DragValue::new(&mut options.scale).range(0.5..=20.0).speed(0.05).max_decimals(2);
            ui.add(field).accessible_name("Pixels per point");
            let dots = options.scale * 72.0;
            ui.label(RichText::new(format!("{dots:.0} per inch")).small().color(cx.theme.text_weak));
        });
    }
    section_ui(ui, cx.theme, "Look");
    ui.horizontal(|ui| {
        ui.radio_value(&mut options.dark, false, "Light");
        ui.radio_value(&mut options.dark, true, "Dark");
    });
    ui.horizontal(|ui| {
        ui.label("Caption");
        let captions = [
            (Caption::None, "None"),
            (Caption::Short, "Short: which heads, and what is not shown"),
            (Caption::Full, "Full: model, input and how to read it, too"),
        ];
        let shown = captions.iter().find(|(caption, _)| *caption == options.caption).map_or("", |(_, text)| text);
        let combo = ComboBox::from_id_salt("caption").selected_text(shown).width(ui.available_width()).truncate();
        let combo = combo.show_ui(ui, |ui| {
            for (caption, text) in captions {
                ui.selectable_value(&mut options.caption, caption, text);
            }
        });
        combo.response.accessible_name("Caption");
    });
}

/// True when the dialog is to be closed.
fn buttons_ui(ui: &mut Ui, cx: &PanelCtx<'_>) -> bool {
    let ready = cx.session.figures.preview.failure().is_none();
    ui.horizontal(|ui| {
        for (text, command) in [
            ("Save…", FigureCommand::Save),
            ("Copy as PNG", FigureCommand::CopyPng),
            ("Copy as SVG", FigureCommand::CopySvg),
        ] {
            if ui.add_enabled(ready, Button::new(text)).clicked() {
                cx.send(Command::Figure(command));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.button("Cancel").clicked()).inner
    })
    .inner
}

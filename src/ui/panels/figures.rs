//! The export dialog: kind of file, what is drawn, size and look, with a live preview.

use std::sync::Arc;

use eframe::egui::{
    self, Align, Button, ComboBox, DragValue, Grid, Image, Label, Layout, RichText, ScrollArea, Spinner, TextWrapMode,
    TextureHandle, TextureOptions, Ui, Vec2, load::SizedTexture, vec2,
};

use super::failure_ui;
use crate::{
    export::{FigurePreview, NumbersPreview, Preview},
    figure::{
        CaptionKind,
        paper::{self, POINTS_PER_CM},
    },
    session::{Command, FigureCommand, FigureOptions, FigureRange, FileKind},
    text::{bytes_text, counted, whole_text},
    ui::{
        PanelCtx,
        theme::GRID,
        widgets::{Dialog, section_ui},
    },
};

/// Width of the choices beside the preview.
const CHOICES_PT: f32 = 62.0 * GRID;
/// Between them.
const BESIDE_PT: f32 = 6.0 * GRID;
/// The preview is at least this large, and stands below the choices where there is less room beside them; and at most.
const PREVIEW_PT: [Vec2; 2] = [vec2(60.0 * GRID, 60.0 * GRID), vec2(210.0 * GRID, 150.0 * GRID)];
/// What the heading and the buttons take.
const ABOVE_AND_BELOW_PT: f32 = 26.0 * GRID;
/// Width from which the buttons stand in one row.
const BUTTONS_PT: f32 = 90.0 * GRID;
/// Width of the choice of a kind of file.
const KIND_PT: f32 = 13.0 * GRID;
/// Width of a field with a choice.
const COMBO_PT: f32 = 28.0 * GRID;
/// What is said below the preview, and what of a figure that is too high.
const FACTS_PT: f32 = 8.0 * GRID;
const SAID_PT: f32 = 14.0 * GRID;
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
        let room = Dialog::room(ctx) - vec2(0.0, ABOVE_AND_BELOW_PT);
        let beside = room.x - CHOICES_PT - BESIDE_PT;
        let is_beside = beside >= PREVIEW_PT[0].x;
        let free = vec2(if is_beside { beside } else { room.x }, room.y);
        let preview = free.clamp(vec2(PREVIEW_PT[0].x.min(free.x), PREVIEW_PT[0].y), PREVIEW_PT[1]);
        let width = if is_beside { CHOICES_PT + BESIDE_PT + preview.x } else { CHOICES_PT.max(preview.x) };
        let modal = Dialog::new("figures", width).show(ctx, |ui| {
            ui.heading("Export");
            ui.add_space(2.0 * GRID);
            if is_beside {
                ui.horizontal_top(|ui| {
                    ui.spacing_mut().item_spacing.x = 0.0;
                    ui.allocate_ui_with_layout(vec2(CHOICES_PT, preview.y), Layout::top_down(Align::Min), |ui| {
                        ui.set_width(CHOICES_PT);
                        ui.spacing_mut().item_spacing.x = 2.0 * GRID;
                        choices_ui(ui, cx);
                    });
                    ui.add_space(BESIDE_PT);
                    self.preview_ui(ui, cx, preview);
                });
            } else {
                choices_ui(ui, cx);
                ui.add_space(3.0 * GRID);
                self.preview_ui(ui, cx, preview);
            }
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
            if dialog.preview.is_pending() {
                ui.multiply_opacity(0.5);
            }
            match &**preview {
                Preview::Figure(figure) => self.picture_ui(ui, cx, preview, figure),
                Preview::Numbers(numbers) => numbers_ui(ui, cx, numbers),
            }
        });
    }

    fn picture_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, preview: &Arc<Preview>, figure: &FigurePreview) {
        let texture = match &self.picture {
            Some((known, texture)) if Arc::ptr_eq(known, preview) => texture.clone(),
            _ => {
                let pixels = &figure.pixels;
                let image = egui::ColorImage::from_rgba_unmultiplied([pixels.width, pixels.height], &pixels.pixels);
                let texture = ui.ctx().load_texture("figure preview", image, TextureOptions::LINEAR);
                self.picture = Some((Arc::clone(preview), texture.clone()));
                texture
            }
        };
        let said = if figure.too_high.is_some() { SAID_PT } else { 0.0 };
        let room = ui.available_size() - vec2(0.0, FACTS_PT + said);
        let shown = texture.size_vec2() * (room / texture.size_vec2()).min_elem().min(1.0);
        let image = Image::new(SizedTexture::new(texture.id(), shown)).alt_text("Preview of the figure");
        ui.add(image);
        ui.label(RichText::new(facts(figure)).small().color(cx.theme.text_weak));
        if let Some(sentence) = &figure.too_high {
            ui.label(RichText::new(sentence).small().color(cx.theme.warning));
        }
        if !figure.missing.is_empty() {
            let text = format!("No font has {}; they are drawn as boxes", figure.missing.join(" "));
            ui.label(RichText::new(text).small().color(cx.theme.warning));
        }
    }
}

/// The first rows as a table, and how much the file holds.
fn numbers_ui(ui: &mut Ui, cx: &PanelCtx<'_>, numbers: &NumbersPreview) {
    let NumbersPreview { columns, rows, n_rows, n_bytes } = numbers;
    let height = ui.available_height() - FACTS_PT;
    ScrollArea::both().id_salt("numbers").max_height(height).auto_shrink(false).show(ui, |ui| {
        let grid = Grid::new("numbers").num_columns(columns.len()).striped(true).spacing([4.0 * GRID, GRID]);
        grid.show(ui, |ui| {
            let cell = |ui: &mut Ui, text: RichText| drop(ui.add(Label::new(text.small()).extend()));
            for name in columns {
                cell(ui, RichText::new(name).strong());
            }
            ui.end_row();
            for row in rows {
                for value in row {
                    cell(ui, RichText::new(value));
                }
                ui.end_row();
            }
        });
    });
    let size = format!("{} × {}", counted(*n_rows, "row"), counted(columns.len(), "column"));
    let part = if rows.len() < *n_rows { format!(" · the first {} are shown", rows.len()) } else { String::new() };
    let facts = format!("{size} · {}{part}", bytes_text(*n_bytes));
    ui.label(RichText::new(facts).small().color(cx.theme.text_weak));
}

/// Size and number of the figures.
fn facts(preview: &FigurePreview) -> String {
    let size = preview.size_pt;
    let size = format!("{} × {} pt · {}", whole_text(size.x), whole_text(size.y), paper::size_text(size));
    let size = if preview.n_pages > 1 { format!("{size} · {}", counted(preview.n_pages, "page")) } else { size };
    if preview.n_figures > 1 {
        format!("{size} · the first of {}", counted(preview.n_figures, "figure"))
    } else {
        size
    }
}

fn choices_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let mut options = cx.session.settings.figures;
    section_ui(ui, cx.theme, "File");
    Grid::new("kinds of file").spacing(vec2(GRID, GRID)).show(ui, |ui| {
        for (what, holds_numbers) in [("Figure", false), ("Numbers", true)] {
            ui.label(RichText::new(what).color(cx.theme.text_weak));
            let kinds = FileKind::ALL.into_iter().filter(|kind| kind.data_format().is_some() == holds_numbers);
            for kind in kinds {
                let choice = Button::selectable(options.kind == kind, kind.title()).min_size(vec2(KIND_PT, 0.0));
                if ui.add(choice).on_hover_text(kind.meaning()).clicked() {
                    options.kind = kind;
                }
            }
            ui.end_row();
        }
    });
    section_ui(ui, cx.theme, "Content");
    if options.kind == FileKind::Html {
        let text = "Every head of the model; it opens with what the pane shows";
        ui.label(RichText::new(text).color(cx.theme.text_weak));
    } else if cx.pane.view.facts().shows_answers {
        ui.label(RichText::new("The results that the pane shows").color(cx.theme.text_weak));
    } else {
        let suits =
            |range: &FigureRange| cx.document.latest_capture().is_some_and(|capture| range.suits(cx.pane, capture));
        for range in FigureRange::ALL.into_iter().filter(suits) {
            ui.radio_value(&mut options.range, range, range.label());
        }
    }
    if options.kind.data_format().is_none() {
        look_ui(ui, cx, &mut options);
    }
    if options != cx.session.settings.figures {
        cx.send(Command::Figure(FigureCommand::Set(options)));
    }
}

fn look_ui(ui: &mut Ui, cx: &PanelCtx<'_>, options: &mut FigureOptions) {
    if options.kind == FileKind::Html {
        theme_ui(ui, cx, options);
        return;
    }
    section_ui(ui, cx.theme, "Size");
    ui.horizontal(|ui| {
        let mut fixed = options.paper.width.is_some();
        let automatic = options.paper.width.unwrap_or(12.0 * POINTS_PER_CM);
        if ui.checkbox(&mut fixed, "Width").on_hover_text("Off: the figure has its natural width").changed() {
            options.paper.width = fixed.then_some(automatic);
        }
        if let Some(points) = &mut options.paper.width {
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
    if options.kind == FileKind::Pdf {
        let pages = ui.checkbox(&mut options.paper.pages, "Cut into pages of A4");
        pages.on_hover_text("A figure that is higher than a page goes on over the next one");
    }
    if options.kind == FileKind::Png {
        ui.horizontal(|ui| {
            ui.label("Pixels per point");
            let field = DragValue::new(&mut options.paper.scale).range(0.5..=20.0).speed(0.05).max_decimals(2);
            ui.add(field).accessible_name("Pixels per point");
            let dots = options.paper.scale * 72.0;
            ui.label(RichText::new(format!("{} per inch", whole_text(dots))).small().color(cx.theme.text_weak));
        });
    }
    theme_ui(ui, cx, options);
    section_ui(ui, cx.theme, "Caption");
    let captions = [
        (CaptionKind::None, "None", "None, and no question above it"),
        (CaptionKind::Short, "Short", "Short: the question, which heads, what is left out, the caveat, the model"),
        (CaptionKind::Full, "Full", "Full: also the input and how to read it"),
    ];
    let shown = captions.iter().find(|(caption, ..)| *caption == options.paper.caption).map_or("", |(_, name, _)| name);
    let combo = ComboBox::from_id_salt("caption").selected_text(shown).width(COMBO_PT);
    let combo = combo.show_ui(ui, |ui| {
        ui.style_mut().wrap_mode = Some(TextWrapMode::Extend);
        for (caption, _, text) in captions {
            ui.selectable_value(&mut options.paper.caption, caption, text);
        }
    });
    combo.response.accessible_name("Caption");
}

fn theme_ui(ui: &mut Ui, cx: &PanelCtx<'_>, options: &mut FigureOptions) {
    section_ui(ui, cx.theme, "Theme");
    ui.horizontal(|ui| {
        ui.radio_value(&mut options.paper.dark, false, "Light");
        ui.radio_value(&mut options.paper.dark, true, "Dark");
    });
}

/// True when the dialog is to be closed.
fn buttons_ui(ui: &mut Ui, cx: &PanelCtx<'_>) -> bool {
    let ready = cx.session.figures.preview.failure().is_none();
    ui.horizontal_wrapped(|ui| {
        for (text, command) in [
            ("Save…", FigureCommand::Save),
            ("Copy as PNG", FigureCommand::CopyPng),
            ("Copy as SVG", FigureCommand::CopySvg),
        ] {
            if ui.add_enabled(ready, Button::new(text)).clicked() {
                cx.send(Command::Figure(command));
            }
        }
        if ui.max_rect().width() < BUTTONS_PT {
            return ui.button("Cancel").clicked();
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.button("Cancel").clicked()).inner
    })
    .inner
}

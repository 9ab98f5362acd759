//! Arrows from patch to patch in the window: painted, explained and chosen.

use eframe::egui::{Button, Color32, ComboBox, Painter, Rect, RichText, Shape as Painted, Stroke, Ui, vec2};

use crate::{
    analysis::reading::ReadPattern,
    figure::{
        path::Path,
        views::image::{
            PatchColors,
            arrows::{self, CASING_PT, Mark, Shape, VEIL_OPACITY},
            flows::{FlowKind, Flows},
        },
    },
    session::{FlowFilter, ImageOptions, PatchRole},
    text::tick_text,
    ui::{
        ViewCtx,
        theme::{GRID, Theme},
        views::{controls, scale::ScaleBar, source, texture, tooltip},
    },
};

/// Arrows that are listed beside the pointer.
const MAX_ROWS: usize = 6;

/// Pales the picture under the arrows.
pub fn veil(painter: &Painter, crop: Rect, theme: &Theme) {
    painter.rect_filled(crop, 0, theme.canvas.gamma_multiply(VEIL_OPACITY));
}

/// Paints marks from back to front.
pub fn paint(painter: &Painter, crop: Rect, marks: &[Mark], read: &ReadPattern, theme: &Theme) {
    let mut shapes = Vec::new();
    for mark in marks {
        let full = texture::color(arrows::color(&mark.flow, read, &theme.palette));
        if !mark.is_faint {
            add(&mut shapes, mark, CASING_PT, theme.canvas.gamma_multiply(0.8 * mark.opacity));
        }
        add(&mut shapes, mark, 0.0, full.gamma_multiply(mark.opacity));
    }
    // What bends beyond the edge patches stays within the picture.
    painter.with_clip_rect(crop.intersect(painter.clip_rect())).extend(shapes);
}

/// The scale of the widths and opacities of arrows, from the smallest weight that is drawn.
pub fn scale(cx: &ViewCtx<'_>, read: &ReadPattern, filter: FlowFilter) -> ScaleBar {
    let high = arrows::high(read);
    let least = filter.least.min(high);
    let weight = |share: f32| (high - least).mul_add(share, least);
    let look = |share| arrows::look(weight(share), high, cx.theme.palette.text).1;
    let ticks = [0.0, 0.5, 1.0].map(|share| tick_text(weight(share)));
    let meaning = format!("Width and opacity of arrows from {} to {}", tick_text(least), tick_text(high));
    ScaleBar::of_colors(look, ticks, meaning)
}

/// One mark in one colour, grown by `by` on every side.
fn add(shapes: &mut Vec<Painted>, mark: &Mark, by: f32, color: Color32) {
    match mark.shape {
        Shape::Arrow { from, control, neck, tip, half } => {
            // A line and a head that touch: no filled outline of the window may have a corner that goes inwards.
            let stroke = Stroke::new(2.0f32.mul_add(by, mark.width), color);
            shapes.push(Painted::line(arrows::way(from, control, neck).to_vec(), stroke));
            shapes.push(Painted::convex_polygon(arrows::head(neck, tip, half, by).to_vec(), color, Stroke::NONE));
        }
        Shape::Ring { center, radius } => {
            shapes.push(Painted::circle_stroke(center, radius, Stroke::new(2.0f32.mul_add(by, mark.width), color)));
        }
        Shape::Square(rect) => shapes.push(Painted::rect_filled(rect.expand(by), 0, color)),
    }
}

/// The arrows of what is under the pointer.
pub fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, read: &ReadPattern, flows: &Flows, held: (usize, PatchRole)) {
    let capture = cx.document.latest_capture();
    let tokens = capture.map_or(&[][..], |capture| capture.key_tokens(read.stack));
    let own = || flows.drawn.iter().rev().filter(|flow| Flows::is_of(flow, held));
    tooltip::at_pointer(ui, |ui| {
        ui.label(RichText::new(source::token_text(tokens, held.0)).strong());
        for flow in own().take(MAX_ROWS) {
            let leaves = flow.query == held.0;
            let (name, other) = if leaves { ("to", flow.key) } else { ("from", flow.query) };
            let other = if flow.query == flow.key { "itself".to_owned() } else { source::token_text(tokens, other) };
            ui.horizontal(|ui| {
                ui.label(RichText::new(name).color(cx.theme.text_weak));
                ui.label(other);
                ui.label(read.value_text(flow.weight));
            });
        }
        match own().count() {
            0 => drop(controls::caption_ui(ui, cx.theme, "no arrow")),
            n if n > MAX_ROWS => drop(controls::caption_ui(ui, cx.theme, format!("and {} weaker", n - MAX_ROWS))),
            _ => {}
        }
        tooltip::weights_ui(ui, cx, &std::iter::once(read));
    });
}

/// Which of overlay and arrows is shown. `can_flow` says that patches ask.
pub fn choice_ui(ui: &mut Ui, options: &mut ImageOptions, can_flow: bool) {
    let arrows = [
        (
            FlowKind::Strongest,
            "Strongest of each patch",
            "An arrow from each patch to what it attends to most, all patches at once",
        ),
        (FlowKind::All, "All above a weight", "An arrow for every weight above a threshold"),
    ];
    let colors =
        PatchColors::ALL.map(|patch_colors| ((patch_colors, None), patch_colors.label(), patch_colors.meaning()));
    let patch_colors = options.patch_colors;
    let choices =
        colors.into_iter().chain(arrows.map(|(kind, text, meaning)| ((patch_colors, Some(kind)), text, meaning)));
    let shown = (patch_colors, options.flows.filter(|_| can_flow));
    let current = choices.clone().find(|(choice, ..)| *choice == shown).map_or("", |(_, text, _)| text);
    let combo = ComboBox::new("On the picture", "").selected_text(current).show_ui(ui, |ui| {
        for (choice, text, meaning) in choices {
            let item = Button::selectable(choice == shown, text);
            let response = ui.add_enabled(choice.1.is_none() || can_flow, item).on_hover_text(meaning);
            let response =
                response.on_disabled_hover_text("Arrows lead from patch to patch; here the queries are words");
            if response.clicked() {
                (options.patch_colors, options.flows) = choice;
            }
        }
    });
    combo
        .response
        .accessible_name("On the picture")
        .on_hover_text("Drawn on the picture: colours, or arrows from all patches");
}

/// Width of a mark in the legend.
const MARK_PT: f32 = 5.0 * GRID;

/// What the marks mean.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let n_prefix = cx.document.latest_capture().and_then(|capture| capture.image()).map_or(0, |image| image.n_prefix);
    controls::mark_row_ui(ui, cx.theme, MARK_PT, "what a patch attends to", |rect, pen| {
        let (neck, tip, color) = (rect.right_center() - vec2(7.0, 0.0), rect.right_center(), pen.palette.text);
        pen.line(rect.left_center(), neck, 2.0, color);
        pen.fill(Path::polygon(arrows::head(neck, tip, 4.0, 0.0)), color);
    });
    controls::mark_row_ui(ui, cx.theme, MARK_PT, "the patch itself", |rect, pen| {
        pen.fill(Path::ring(rect.center(), 5.0, 2.0), pen.palette.text);
    });
    if n_prefix > 0 {
        let tokens = cx.document.latest_capture().map_or(&[][..], |it| it.key_tokens(cx.pane.selection.stack()));
        let names: Vec<String> = (0..n_prefix).map(|position| source::token_text(tokens, position)).collect();
        let text = format!("{}, beside the picture", names.join(", "));
        controls::mark_row_ui(ui, cx.theme, MARK_PT, &text, |rect, pen| {
            pen.rect(Rect::from_center_size(rect.center(), vec2(7.0, 7.0)), pen.palette.text);
        });
    }
    controls::caption_ui(ui, cx.theme, "Width and opacity grow with the weight");
}

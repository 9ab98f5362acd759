//! Attention of one patch on the picture the model saw, with thumbnails of all heads of the layer.

use std::sync::Arc;

use eframe::egui::{
    Color32, Context, PopupAnchor, Rect, RichText, Role, Sense, Slider, Stroke, StrokeKind, TextureHandle,
    TextureOptions, Ui, WidgetInfo, containers::Tooltip, pos2,
};

use super::{controls, empty, hover::HoverSender, source, texture, texture::HeadThumbs};
use crate::{
    capture::{Capture, ImageInfo, Matrix, RgbaBuffer},
    ids::{CaptureId, HeadId},
    raster::{ColorRange, heatmap::atlas, overlay},
    session::{ColorMapChoice, Command, Focus, HiddenTokens, PatchRole, Smoothing},
    ui::{ViewCtx, memo::Memo, theme::GRID},
};

pub mod layout;
mod paint;
mod weights;

use layout::ImageLayout;
use weights::Subject;

/// Pixels of a smooth overlay per patch; the graphics card interpolates between them.
const SMOOTH_PX_PER_PATCH: usize = 8;
/// Largest side of a smooth overlay.
const MAX_SMOOTH_PX: usize = 512;

/// The Image view with what it remembers between frames.
#[derive(Default)]
pub struct ImageView {
    photo: Memo<(CaptureId, usize), Option<TextureHandle>>,
    pattern: Memo<(CaptureId, HeadId, HiddenTokens), Option<Matrix>>,
    overlay: Memo<(WeightsKey, OverlayLook), Overlay>,
    thumbs: Memo<(WeightsKey, ColorMapChoice), HeadThumbs>,
    hover: HoverSender,
}

/// Everything the weights depend on. The head is left at 0 where all heads are meant.
#[derive(Clone, Copy, PartialEq)]
struct WeightsKey {
    capture: CaptureId,
    head: HeadId,
    hidden: HiddenTokens,
    subject: Subject,
    role: PatchRole,
}

/// How weights become pixels.
#[derive(Clone, Copy, PartialEq)]
struct OverlayLook {
    map: ColorMapChoice,
    smoothing: Smoothing,
    opacity: f32,
    contour: Option<f32>,
}

/// The weights and their texture.
#[derive(Clone)]
struct Overlay {
    weights: Arc<[f32]>,
    range: ColorRange,
    texture: TextureHandle,
    contour: Arc<[overlay::Segment]>,
}

impl ImageView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.session.latest_capture() else { return };
        let Some(image) = capture.image() else { return };
        let head = cx.session.selection.head;
        let options = cx.session.settings.views.image;
        let hidden = cx.session.settings.views.hidden;
        let subject = Subject::of(cx.session.selection.focus(), options.role, image.n_prefix);
        let key = WeightsKey { capture: capture.id(), head, hidden, subject, role: options.role };
        let ctx = ui.ctx().clone();

        ui.horizontal_wrapped(|ui| {
            controls::stack_and_layer_ui(ui, cx);
            ui.add_space(2.0 * GRID);
            controls::edit_options(cx, |options| role_ui(ui, &mut options.image.role));
        });
        let layer_key = WeightsKey { head: HeadId { head: 0, ..head }, ..key };
        let thumbs = self.thumbs.get_or_update((layer_key, options.color_map), || {
            thumbnails(&ctx, capture, image, layer_key, options.color_map)
        });
        HeadThumbs::row_ui(Some(&thumbs), source::n_heads(capture, head), ui, cx);
        let pattern =
            self.pattern.get_or_update((capture.id(), head, hidden), || source::shown_pattern(capture, head, hidden));
        let Some(pattern) = pattern else {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "The attention of this head was not recorded");
            return;
        };
        let look = OverlayLook {
            map: options.color_map,
            smoothing: options.smoothing,
            opacity: options.opacity,
            contour: options.contour,
        };
        let overlay = self.overlay.get_or_update((key, look), || overlay_texture(&ctx, image, &pattern, (key, look)));
        let on_prefix: f32 = overlay.weights.iter().take(image.n_prefix).sum();
        let total: f32 = overlay.weights.iter().sum();
        let mut caption = format!("{head}: {}", subject.caption(capture, head.stack, options.role));
        if image.n_prefix > 0 && total > 0.0 {
            let percent = 100.0 * on_prefix / total;
            caption = format!("{caption}; {percent:.0} % on {}", prefix_name(image.n_prefix));
        }
        controls::caption_ui(ui, cx.theme, caption);
        let max_side = texture::max_side(&ctx);
        let photo = self.photo.get_or_update((capture.id(), max_side), || photo(&ctx, image, max_side));
        self.picture_ui(ui, cx, image, &overlay, photo.as_ref());
    }

    /// Draws the options and the legend.
    #[expect(clippy::unused_self, reason = "every view has the same two methods")]
    pub fn options_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        controls::edit_options(cx, |options| {
            controls::heading_ui(ui, cx.theme, "Overlay");
            let image = &mut options.image;
            controls::color_map_ui(ui, cx.theme, &mut image.color_map);
            controls::row_ui(ui, cx.theme, "Patches", |ui| {
                let kinds = [(Smoothing::Smooth, "Smooth"), (Smoothing::Nearest, "One colour each")];
                controls::choice_ui(ui, "Patches", &mut image.smoothing, &kinds);
            });
            ui.label(RichText::new("Opacity").color(cx.theme.text_weak));
            controls::percent_slider_ui(ui, "Opacity of the overlay", &mut image.opacity, 0.0..=1.0);
            let mut outlined = image.contour.is_some();
            if ui.checkbox(&mut outlined, "Outline the strongest patches").changed() {
                image.contour = outlined.then_some(0.6);
            }
            if let Some(fraction) = &mut image.contour {
                let mut percent = *fraction * 100.0;
                let slider = Slider::new(&mut percent, 5.0..=99.0).suffix(" % of the mass").fixed_decimals(0);
                ui.add(slider).accessible_name("Part of the mass that is outlined");
                *fraction = percent / 100.0;
            }
            controls::hidden_tokens_ui(ui, cx, options);
        });
    }

    fn picture_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        image: &ImageInfo,
        overlay: &Overlay,
        photo: Option<&TextureHandle>,
    ) {
        let area = ui.available_rect_before_wrap();
        let layout = ImageLayout::compute(area, image);
        let role = cx.session.settings.views.image.role;
        let selection = &cx.session.selection;
        let painter = ui.painter().clone();
        match photo {
            Some(photo) => {
                painter.image(photo.id(), layout.picture, texture::FULL_UV, Color32::WHITE);
            }
            None => {
                painter.rect_filled(layout.picture, 0, cx.theme.masked);
            }
        }
        painter.image(overlay.texture.id(), layout.crop, texture::FULL_UV, Color32::WHITE);
        paint::crop(&painter, &layout, cx.theme);
        paint::contour(&painter, layout.crop, image.grid, &overlay.contour, cx.theme);

        let response = ui.interact(layout.picture, ui.scope_id().with("picture"), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Picture with attention"));
        let mut under = response.hover_pos().and_then(|at| layout.patch_at(at));
        let mut clicked = response.clicked().then_some(under).flatten();
        for position in 0..image.n_prefix {
            let cell = layout.token_rect(position);
            let text = prefix_text(cx, position);
            let response = ui.interact(cell, ui.scope_id().with(("prefix", position)), Sense::click());
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Prefix token {text}")));
            let weight = overlay.weights.get(position).copied().unwrap_or(0.0);
            let map = texture::color_map(cx.session.settings.views.image.color_map);
            let fill = texture::color(map.color(overlay.range.fraction(weight)));
            paint::prefix(&painter, cell, &text, fill, response.hovered() || response.has_focus(), cx.theme);
            if response.hovered() {
                under = Some(position);
            }
            if response.clicked() {
                clicked = Some(position);
            }
        }
        let of_role = |focus: Focus| match role {
            PatchRole::Query => (focus.query, focus.key),
            PatchRole::Key => (focus.key, focus.query),
        };
        let (picked, partner) = of_role(selection.focus());
        if let Some(partner) = partner {
            painter.rect_stroke(layout.token_rect(partner), 0, Stroke::new(1.5, cx.theme.text), StrokeKind::Outside);
        }
        if let Some(picked) = picked {
            paint::picked(&painter, layout.token_rect(picked), role, cx.theme);
        }
        let map = texture::color_map(cx.session.settings.views.image.color_map);
        texture::color_bar(&painter, layout.bar, map, overlay.range, cx.theme);
        if let Some(position) = clicked {
            cx.send(Command::Pin(weights::focus(position, role)));
        }
        let focus = under.map_or(Focus::NONE, |position| weights::hover_focus(position, role, selection.pinned));
        self.hover.report(cx, focus);
        if let Some(position) = under {
            readout_ui(ui, cx, position, overlay.weights.get(position).copied());
        }
        ui.allocate_rect(area, Sense::hover());
    }
}

/// Which role a picked patch has.
fn role_ui(ui: &mut Ui, role: &mut PatchRole) {
    for (choice, text, tooltip) in [
        (PatchRole::Query, "Patch as query", "Shows what the picked patch attends to"),
        (PatchRole::Key, "Patch as key", "Shows what attends to the picked patch"),
    ] {
        if ui.selectable_label(*role == choice, text).on_hover_text(tooltip).clicked() {
            *role = choice;
        }
    }
}

fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, position: usize, weight: Option<f32>) {
    let id = ui.scope_id().with("readout");
    let text = prefix_text(cx, position);
    Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::Pointer).gap(4.0 * GRID).show(|ui| {
        ui.horizontal(|ui| {
            ui.label(RichText::new(text).strong());
            if let Some(weight) = weight {
                ui.monospace(controls::weight_text(weight));
            }
        });
        if cx.session.selection.pinned.is_empty() {
            controls::caption_ui(ui, cx.theme, "Click to hold");
        }
    });
}

fn prefix_text(cx: &ViewCtx<'_>, position: usize) -> String {
    let stack = cx.session.selection.stack();
    let tokens = cx.session.latest_capture().map_or(&[][..], |capture| capture.key_tokens(stack));
    source::token_text(tokens, position)
}

fn prefix_name(n_prefix: usize) -> String {
    if n_prefix == 1 { "the prefix token".to_owned() } else { format!("{n_prefix} prefix tokens") }
}

/// The picture as a texture, averaged down where it is larger than a texture may be.
fn photo(ctx: &Context, image: &ImageInfo, max_side: usize) -> Option<TextureHandle> {
    let source = image.source.as_ref()?;
    let factor = source.width.max(source.height).div_ceil(max_side.max(1)).max(1);
    if factor == 1 {
        return Some(texture::load(ctx, "picture", source, TextureOptions::LINEAR));
    }
    Some(texture::load(ctx, "picture", &reduced(source, factor), TextureOptions::LINEAR))
}

/// Every `factor` × `factor` block as its mean.
fn reduced(source: &RgbaBuffer, factor: usize) -> RgbaBuffer {
    let (width, height) = (source.width / factor, source.height / factor);
    let mut pixels = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..4 {
                let block = (0..factor * factor).map(|at| {
                    let (px, py) = (x * factor + at % factor, y * factor + at / factor);
                    usize::from(source.pixels[4 * (py * source.width + px) + channel])
                });
                pixels.push((block.sum::<usize>() / (factor * factor)) as u8);
            }
        }
    }
    RgbaBuffer { width, height, pixels }
}

fn patch_weights(weights: &[f32], image: &ImageInfo) -> Vec<f32> {
    let n_patches = image.grid.0 * image.grid.1;
    weights.iter().skip(image.n_prefix).take(n_patches).copied().collect()
}

fn overlay_texture(
    ctx: &Context,
    image: &ImageInfo,
    pattern: &Matrix,
    (key, look): (WeightsKey, OverlayLook),
) -> Overlay {
    let weights = key.subject.weights(pattern, key.role);
    let patches = patch_weights(&weights, image);
    let range = ColorRange::of(&patches, false);
    let (rows, cols) = image.grid;
    let smooth = look.smoothing == Smoothing::Smooth;
    let side = |n: usize| if smooth { (n * SMOOTH_PX_PER_PATCH).min(MAX_SMOOTH_PX) } else { n }.max(1);
    let map = texture::color_map(look.map);
    let pixels = overlay::overlay(&patches, image.grid, (side(cols), side(rows)), map, range, smooth, look.opacity);
    let sampling = if smooth { TextureOptions::LINEAR } else { TextureOptions::NEAREST };
    Overlay {
        texture: texture::load(ctx, "overlay", &pixels, sampling),
        contour: look.contour.map_or_else(Vec::new, |part| overlay::mass_contour(&patches, image.grid, part)).into(),
        weights: weights.into(),
        range,
    }
}

/// One small overlay per head, without the picture.
fn thumbnails(ctx: &Context, capture: &Capture, image: &ImageInfo, key: WeightsKey, map: ColorMapChoice) -> HeadThumbs {
    let (rows, cols) = image.grid;
    let grid = |head| {
        let pattern = source::shown_pattern(capture, HeadId { head, ..key.head }, key.hidden)?;
        Matrix::new(patch_weights(&key.subject.weights(&pattern, key.role), image), [rows, cols]).ok()
    };
    let heads = 0..source::n_heads(capture, key.head);
    let grids: Vec<Matrix> =
        heads.filter_map(|head| grid(head).or_else(|| Matrix::new(vec![0.0], [1, 1]).ok())).collect();
    let columns = (grids.len() as f32).sqrt().ceil() as usize;
    let atlas = atlas(&grids, rows.max(cols), columns, texture::color_map(map), false, false);
    HeadThumbs::load(ctx, &atlas, TextureOptions::NEAREST)
}

/// A point of the patch grid on screen.
fn on_screen(crop: Rect, (rows, cols): (usize, usize), [x, y]: [f32; 2]) -> eframe::egui::Pos2 {
    pos2(crop.left() + x / cols.max(1) as f32 * crop.width(), crop.top() + y / rows.max(1) as f32 * crop.height())
}

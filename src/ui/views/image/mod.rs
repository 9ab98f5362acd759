//! Attention of one patch on the picture the model saw, with thumbnails of all heads of the layer.

use std::sync::Arc;

use eframe::egui::{Color32, Context, RichText, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, WidgetInfo};

use super::{
    Canvas, controls,
    display_list::ScenePainter,
    groups::HeadGroups,
    hover,
    scale::{Footer, ScaleBar},
    selectors::{self, HeadsIn},
    source, states, texture,
    texture::HeadThumbs,
    toggle_hidden, tooltip,
};
use crate::{
    analysis::reading::{ReadPattern, Reading, store::CapturePair},
    capture::{Capture, ImageInfo, RgbaBuffer},
    figure::{
        list::Rgba,
        pen::Medium,
        views::image::{
            PatchColors, arrows, boxes, draw_contour, draw_crop, draw_prefix,
            flows::Flows,
            stream::{StreamColors, draw_rings},
            swatch,
            weights::Picks,
        },
    },
    ids::{CaptureId, HeadId, StackKind},
    raster::{Colors, overlay},
    session::{Command, FlowFilter, Focus, PatchRole, SelectionCommand},
    text::{capitalised, norm_text, share_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

mod flows;
mod paint;
mod picking;
mod pixels;
mod play;
mod words;

pub use crate::figure::views::image::{layout, weights};
use layout::ImageLayout;
use picking::Picking;
use pixels::{Overlay, OverlayLook, WeightsKey};
use play::Play;

/// Which captures, how they were read, and what that gave.
type LastRead = ((CaptureId, Option<CaptureId>), Reading, Arc<ReadPattern>);

/// Everything that a pattern depends on.
type ReadKey = ((CaptureId, Option<CaptureId>), Reading);

/// Everything that the arrows depend on.
type FlowsKey = ((CaptureId, Option<CaptureId>), Reading, FlowFilter);

/// Everything that what stands around the picture depends on.
type PartsKey =
    (ImageLayout, (Vec<String>, Option<Vec<Rgba>>, Vec<String>), Option<Arc<[overlay::Segment]>>, Vec<usize>, Regions);

/// Positions of regions with what is written at them.
type Regions = Vec<(usize, String)>;

/// Everything that colours of the residual stream depend on.
type StreamKey = (CaptureId, (StackKind, usize), PatchColors, OverlayLook);

/// The residual stream of the patches and its texture, or why there is none.
type Streamed = Result<Option<(Arc<StreamColors>, Overlay)>, String>;

/// What lies on the picture.
struct OnPicture<'a> {
    pattern: &'a ReadPattern,
    overlay: &'a Overlay,
    /// The residual stream in place of weights.
    stream: Option<Arc<StreamColors>>,
    /// Arrows instead of the overlay.
    flows: Option<(FlowFilter, Arc<Flows>)>,
}

/// The Image view with what it remembers between frames.
#[derive(Default)]
pub struct ImageView {
    photo: Memo<(Option<Same<RgbaBuffer>>, usize), Option<TextureHandle>>,
    /// What is shown while the next one is read.
    last: Option<LastRead>,
    overlay: Memo<(WeightsKey, OverlayLook), Overlay>,
    stream: Memo<StreamKey, Streamed>,
    /// What is shown while components of another layer are computed.
    last_stream: Option<((CaptureId, PatchColors), Streamed)>,
    distance: Memo<ReadKey, Option<f32>>,
    play: Play,
    flows: Memo<FlowsKey, Arc<Flows>>,
    thumbs: Memo<(WeightsKey, Colors), HeadThumbs>,
    words: words::Words,
    heads_in: HeadsIn,
    static_parts: ScenePainter<PartsKey>,
}

impl Canvas for ImageView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let picking = picking(cx, capture);
        self.heads_in = HeadsIn::of(ui, cx);
        let n_layers = n_layers(cx, capture);
        let play = &mut self.play;
        let mut own = |ui: &mut Ui| {
            let one_row = cx.pane.explained_extent().is_some_and(|extent| !extent.is_of_pairs());
            if let (Picking::Patches(_), false) = (picking, one_row) {
                let is_of_regions = capture.image().is_some_and(|image| image.regions.is_some());
                controls::edit_options(cx, |options| role_ui(ui, &mut options.image.role, is_of_regions));
            }
            // Arrows are of attention alone.
            if cx.pane.explained().is_none() {
                let can_flow = matches!(picking, Picking::Patches(_));
                controls::edit_options(cx, |options| flows::choice_ui(ui, &mut options.image, can_flow));
            }
            if n_layers > 1 {
                play.button_ui(ui, cx, n_layers);
            }
        };
        selectors::choosers_ui(ui, cx, self.heads_in, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let image = capture.image()?;
        self.play.key(ui, cx, n_layers(cx, capture));
        self.play.go_on(ui, cx, n_layers(cx, capture));
        let head = cx.pane.selection.head;
        let options = cx.pane.options.image;
        let subject = source::subject(cx)?;
        let captures = (subject.this.id(), subject.other.as_ref().map(|other| other.id()));
        let reading = source::shown(cx, capture);
        let picking = picking(cx, capture);
        let patch_colors = options.colors_of(cx.pane.explained().is_some());
        let about = picking::subject(cx.pane.selection.focus(), picking, image.n_prefix).colored_by(patch_colors);
        let key = WeightsKey { captures, reading, subject: about, role: picking.role() };
        let ctx = ui.ctx().clone();

        let answer = cx.patterns.pattern(&subject, &key.reading);
        let layer_key =
            WeightsKey { reading: source::shown_of_head(cx, capture, HeadId { head: 0, ..head }), ..key.clone() };
        let map = options.color_map.on(cx.theme.palette.ground);
        let thumbs_key = (layer_key, map);
        let known = self.thumbs.knows(&thumbs_key);
        let heads = if known || self.heads_in == HeadsIn::Row { None } else { source::heads_of_layer(cx, capture) };
        let thumbs = (known || heads.is_some()).then(|| {
            self.thumbs.get_or_update(thumbs_key.clone(), || {
                pixels::thumbnails(&ctx, &heads.unwrap_or_default(), image, &thumbs_key.0, map)
            })
        });
        if self.heads_in == HeadsIn::Pictures {
            let groups = HeadGroups::of(capture, head);
            HeadThumbs::row_ui(thumbs.as_ref(), source::n_heads(capture, head), groups, ui, cx);
        }
        let pattern = match answer {
            Some(Ok(pattern)) => {
                self.last = Some((captures, key.reading.clone(), Arc::clone(&pattern)));
                Some((key.reading.clone(), pattern))
            }
            Some(Err(refusal)) => {
                states::sentence_ui(ui, cx.theme, &refusal.to_string());
                return None;
            }
            // Another head of the same picture stays until this one is read.
            None => {
                let last = self.last.clone().filter(|last| last.0 == captures && last.2.stack == head.stack);
                last.map(|(_, reading, pattern)| (reading, pattern))
            }
        };
        let (reading, pattern) = pattern?;
        let look = OverlayLook {
            map,
            smoothing: options.smoothing,
            opacity: options.opacity,
            contour: options.contour,
            shared_high: cx.shared_high,
        };
        let filter = options.flow_filter();
        let filter = filter.filter(|_| matches!(picking, Picking::Patches(_)) && cx.pane.explained().is_none());
        let flows = filter.map(|filter| {
            let key = (captures, reading.clone(), filter);
            (filter, self.flows.get_or_update(key, || Arc::new(Flows::of(&pattern, image, filter))))
        });
        let overlay_key = (WeightsKey { reading, ..key }, look);
        let of_layer = (head.stack, head.layer);
        let Some(streamed) = self.streamed(&ctx, cx, &subject, (of_layer, patch_colors, look)) else {
            states::sentence_ui(ui, cx.theme, "Computing the principal components of the patches");
            return None;
        };
        let (stream, overlay) = match streamed {
            Ok(Some((stream, overlay))) => (Some(stream), overlay),
            Ok(None) => {
                let overlay = self.overlay.get_or_update(overlay_key.clone(), || {
                    pixels::overlay_texture(&ctx, image, &pattern, &overlay_key.0, look)
                });
                (None, overlay)
            }
            Err(reason) => {
                states::sentence_ui(ui, cx.theme, &reason);
                return None;
            }
        };
        let on_prefix: f32 = overlay.weights.iter().take(image.n_prefix).sum();
        let total: f32 = overlay.weights.iter().sum();
        let what = source::what(cx, &pattern);
        let writes = controls::query_name(cx) == "Next token";
        let is_signed = about.is_signed(&pattern);
        let about = about.in_words(&pattern, picking.role(), writes);
        // What stands in place of attention is named above.
        let mut caption = if pattern.explained().is_some() { capitalised(&about) } else { format!("{what}: {about}") };
        if let Some((filter, flows)) = &flows {
            let names: Vec<String> = (0..image.n_prefix).map(|position| prefix_text(cx, position)).collect();
            caption = format!("{what}: {}", flows.in_words(&pattern, *filter, &names));
        } else if let Some(stream) = &stream {
            caption = stream.in_words(image, &pattern, &what);
        } else if image.n_prefix > 0 && total > 0.0 && !is_signed && pattern.explained().is_none() {
            let share = share_text(on_prefix / total);
            caption = format!("{caption}; {share} on {}", prefix_name(image.n_prefix));
        }
        let key = (captures, overlay_key.0.reading.clone());
        let distance = self.distance.get_or_update(key, || weights::distance(&pattern, image));
        if let Some(distance) = distance.filter(|_| patch_colors == PatchColors::Weights) {
            caption = format!("{caption}; {}", weights::distance_text(distance));
        }
        if let Some(hidden) = pattern.hidden_text() {
            caption = format!("{caption}; {hidden}");
        }
        if let Picking::Words(role) = picking {
            let axis = if role == PatchRole::Query { &pattern.rows } else { &pattern.cols };
            self.words.ui(ui, cx, capture, (role, axis));
        }
        let max_side = texture::max_side(&ctx);
        // Changed runs see the same picture.
        let source = image.source.clone().map(Same);
        let photo = self.photo.get_or_update((source, max_side), || pixels::photo(&ctx, image, max_side));
        let scale = match filter {
            Some(filter) => Some(flows::scale(cx, &pattern, filter)),
            None if stream.as_ref().is_some_and(|stream| !stream.has_scale()) => None,
            None => Some(ScaleBar::of_range(overlay.map, overlay.range)),
        };
        let on_picture = OnPicture { pattern: &pattern, overlay: &overlay, stream, flows };
        self.picture_ui(ui, cx, image, &on_picture, photo.as_ref());
        Some(Footer { words: caption, scales: scale.into_iter().collect() })
    }

    fn legend_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let asks = cx.document.latest_capture().is_some_and(|capture| patches_ask(cx, capture));
        if asks && cx.pane.options.image.flows.is_some() && cx.pane.explained().is_none() {
            flows::legend_ui(ui, cx);
        }
    }
}

impl ImageView {
    /// What the residual stream says of the patches; `None` while that is computed. Of another layer of the same picture
    /// stays until then.
    fn streamed(
        &mut self,
        ctx: &Context,
        cx: &ViewCtx<'_>,
        subject: &CapturePair,
        (of_layer, patch_colors, look): ((StackKind, usize), PatchColors, OverlayLook),
    ) -> Option<Streamed> {
        let capture = &*subject.this;
        let image = capture.image()?;
        let kept = (capture.id(), patch_colors);
        let found = match patch_colors {
            PatchColors::Components => match cx.patterns.components(subject, of_layer) {
                Some(found) => Some(found),
                None => return self.last_stream.clone().filter(|(of, _)| *of == kept).map(|(_, last)| last),
            },
            PatchColors::Weights | PatchColors::LessMean | PatchColors::Norms => None,
        };
        let streamed = self.stream.get_or_update((capture.id(), of_layer, patch_colors, look), || {
            let stream = match found {
                Some(found) => Some(StreamColors::of_components(capture, of_layer, found)?),
                None => StreamColors::of(capture, of_layer, patch_colors)?,
            };
            let textured = |stream: StreamColors| {
                let texture = pixels::stream_texture(ctx, image, &stream, look);
                (Arc::new(stream), texture)
            };
            Ok(stream.map(textured))
        });
        self.last_stream = Some((kept, streamed.clone()));
        Some(streamed)
    }

    fn picture_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        image: &ImageInfo,
        on_picture: &OnPicture<'_>,
        photo: Option<&TextureHandle>,
    ) {
        let OnPicture { pattern, overlay, stream, flows } = on_picture;
        let area = ui.available_rect_before_wrap();
        let layout = ImageLayout::compute(area, image, Medium::Screen);
        let Some(picking) = cx.document.latest_capture().map(|capture| picking(cx, capture)) else { return };
        let selection = &cx.pane.selection;
        let painter = ui.painter().clone();
        match photo {
            Some(photo) => {
                painter.image(photo.id(), layout.picture, texture::FULL_UV, Color32::WHITE);
            }
            None => {
                painter.rect_filled(layout.picture, 0, cx.theme.raised);
            }
        }
        if flows.is_some() {
            flows::veil(&painter, layout.crop, cx.theme);
        } else {
            painter.image(overlay.texture.id(), layout.crop, texture::FULL_UV, Color32::WHITE);
        }
        let names: Vec<String> = (0..image.n_prefix).map(|position| prefix_text(cx, position)).collect();
        let colored = overlay.weights.iter().map(|weight| overlay.map.color(overlay.range.fraction(*weight)));
        let colors = flows.is_none().then(|| colored.take(image.n_prefix).collect::<Vec<_>>());
        let contour = flows.is_none().then(|| Arc::clone(&overlay.contour));
        let ringed = stream.as_ref().map_or(&[][..], |stream| stream.ringed());
        let has_numbers = flows.is_none() && !overlay.weights.is_empty();
        let number = |value: &f32| if stream.is_some() { norm_text(*value) } else { pattern.value_text(*value) };
        let numbers: Vec<String> =
            overlay.weights.iter().take(if has_numbers { image.n_prefix } else { 0 }).map(number).collect();
        let patches = if has_numbers { weights::of_patches(&overlay.weights, image) } else { Vec::new() };
        let regions: Regions = boxes::named(image, &patches, |position| prefix_text(cx, position), number);
        let around = (names.clone(), colors.clone(), numbers.clone());
        let key = (layout.clone(), around, contour.clone(), ringed.to_vec(), regions.clone());
        self.static_parts.paint(&painter, cx.theme, key, ui.clip_rect(), &|pen| {
            draw_crop(&layout, pen);
            draw_contour(layout.crop, image.grid, contour.as_deref().unwrap_or_default(), pen);
            draw_rings(&layout, ringed, pen);
            boxes::draw(&layout, &regions, pen);
            draw_prefix(&layout, (&names, &numbers), colors.as_deref(), pen);
        });

        let response = ui.interact(layout.picture, ui.scope_id().with("picture"), Sense::click());
        response.widget_info(|| {
            WidgetInfo::labeled(
                Role::Image,
                true,
                if pattern.explained().is_some() || stream.is_some() {
                    "Picture with values that are not attention"
                } else {
                    "Picture with attention"
                },
            )
        });
        let mut under = response.hover_pos().and_then(|at| layout.patch_at(at));
        let mut clicked = response.clicked().then_some(under).flatten();
        let mut twice = response.double_clicked();
        for (position, text) in names.iter().enumerate() {
            let cell = layout.token_rect(position);
            let response = ui.interact(cell, ui.scope_id().with(("prefix", position)), Sense::click());
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Prefix token {text}")));
            if response.hovered() || response.has_focus() {
                let stroke = Stroke::new(1.0, cx.theme.text);
                painter.rect_stroke(swatch(&layout, position), 0, stroke, StrokeKind::Outside);
            }
            if response.hovered() {
                under = Some(position);
            }
            if response.clicked() {
                clicked = Some(position);
                twice = response.double_clicked();
            }
        }
        if let Some([queries, keys]) = cx.pane.picked_tokens(cx.document) {
            let of_patches = |position: &usize| {
                let is_picked =
                    |role, picked: &[bool]| picking.has_patches_as(role) && picked.get(*position) == Some(&true);
                is_picked(PatchRole::Query, &queries) || is_picked(PatchRole::Key, &keys)
            };
            for position in (0..overlay.weights.len()).filter(of_patches) {
                let stroke = Stroke::new(1.5, cx.theme.text);
                painter.rect_stroke(layout.token_rect(position).shrink(1.0), 0, stroke, StrokeKind::Inside);
            }
        }
        let focus = selection.focus();
        let (picked, partner) = picked_of(picking, focus);
        if let Some(partner) = partner {
            painter.rect_stroke(layout.token_rect(partner), 0, Stroke::new(1.5, cx.theme.text), StrokeKind::Outside);
        }
        if let Some(picked) = picked {
            paint::picked(&painter, layout.token_rect(picked), picking.role(), cx.theme);
        }
        if let Some((_, flows)) = flows {
            let high = arrows::high(pattern);
            let held = picked.map(|position| (position, picking.role()));
            let marks = arrows::marks(flows, &layout, image, high, held);
            flows::paint(&painter, layout.crop, &marks, pattern, cx.theme);
        }
        if let Some(position) = clicked {
            let side = cx.document.latest_capture().and_then(|capture| capture.picture_side());
            match side.filter(|_| twice) {
                Some(side) => toggle_hidden(cx, side, position..position + 1),
                None => {
                    cx.send(Command::Select(SelectionCommand::Pin(picking::focus(
                        position,
                        picking,
                        selection.pinned,
                    ))));
                }
            }
        }
        let focus = under.map_or(Focus::NONE, |position| picking::hover_focus(position, picking, selection.pinned));
        hover::report(cx, focus);
        if let (Some(position), Some((_, flows))) = (under, flows) {
            flows::readout_ui(ui, cx, pattern, flows, (position, picking.role()));
        } else if let Some(position) = under {
            let text = |value: &f32| if stream.is_some() { norm_text(*value) } else { pattern.value_text(*value) };
            readout_ui(ui, cx, pattern, (position, overlay.weights.get(position).map(text)));
        }
        ui.allocate_rect(area, Sense::hover());
    }
}

/// How many layers the stack of the pane has.
fn n_layers(cx: &ViewCtx<'_>, capture: &Capture) -> usize {
    capture.model().stack(cx.pane.selection.stack()).map_or(0, |stack| stack.layers.len())
}

/// Of what is in focus, the patch that is picked and the one that it is paired with.
const fn picked_of(picking: Picking, focus: Focus) -> (Option<usize>, Option<usize>) {
    match picking {
        Picking::Patches(PatchRole::Query) => (focus.query, focus.key),
        Picking::Patches(PatchRole::Key) => (focus.key, focus.query),
        Picking::Words(PatchRole::Query) => (None, focus.key),
        Picking::Words(PatchRole::Key) => (None, focus.query),
    }
}

/// Patches ask and answer in a stack of their own; words ask or answer them in cross-attention.
fn picking(cx: &ViewCtx<'_>, capture: &Capture) -> Picking {
    let stack = cx.pane.selection.stack();
    match capture.picture_side().and_then(|side| Picks::of(stack, side)) {
        Some(Picks::Patches) => Picking::Patches(cx.pane.options.image.role),
        Some(Picks::Keys) => Picking::Words(PatchRole::Key),
        Some(Picks::Queries) | None => Picking::Words(PatchRole::Query),
    }
}

/// Whether queries or keys are patches of a picture that is there.
pub fn has_patches(cx: &ViewCtx<'_>, capture: &Capture) -> bool {
    let stack = cx.pane.selection.stack();
    capture.image().is_some() && capture.picture_side().is_some_and(|side| Picks::of(stack, side).is_some())
}

/// Whether the queries and the keys are patches.
pub fn patches_ask(cx: &ViewCtx<'_>, capture: &Capture) -> bool {
    matches!(picking(cx, capture), Picking::Patches(_))
}

/// Which role a picked patch has.
fn role_ui(ui: &mut Ui, role: &mut PatchRole, is_of_regions: bool) {
    let words = if is_of_regions {
        [
            (PatchRole::Query, "Region as query", "Shows what the picked region attends to"),
            (PatchRole::Key, "Region as key", "Shows what attends to the picked region"),
        ]
    } else {
        [
            (PatchRole::Query, "Patch as query", "Shows what the picked patch attends to"),
            (PatchRole::Key, "Patch as key", "Shows what attends to the picked patch"),
        ]
    };
    for (choice, text, tooltip) in words {
        if ui.selectable_label(*role == choice, text).on_hover_text(tooltip).clicked() {
            *role = choice;
        }
    }
}

fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, pattern: &ReadPattern, (position, value): (usize, Option<String>)) {
    let text = prefix_text(cx, position);
    tooltip::at_pointer(ui, |ui| {
        ui.horizontal(|ui| {
            ui.label(RichText::new(text).strong());
            if let Some(value) = value {
                ui.label(value);
            }
        });
        tooltip::weights_ui(ui, cx, &std::iter::once(pattern));
        if cx.pane.selection.pinned.is_empty() {
            controls::caption_ui(ui, cx.theme, "Click to pin");
        }
    });
}

fn prefix_text(cx: &ViewCtx<'_>, position: usize) -> String {
    let capture = cx.document.latest_capture();
    let side = capture.and_then(|capture| Some((capture, capture.picture_side()?)));
    source::token_text(side.map_or(&[][..], |(capture, side)| capture.tokens(side)), position)
}

fn prefix_name(n_prefix: usize) -> String {
    if n_prefix == 1 { "the prefix token".to_owned() } else { format!("{n_prefix} prefix tokens") }
}

//! Pixels to textures, and thumbnails of heads.

use eframe::egui::{
    Align2, Color32, ColorImage, Context, FontId, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions,
    Ui, Vec2, WidgetInfo, pos2, vec2,
};

use crate::{
    capture::RgbaBuffer,
    ids::HeadId,
    raster::heatmap::{Atlas, Tile},
    session::{Command, SelectionCommand},
    ui::{
        ViewCtx,
        theme::text_size,
        views::{
            groups::{GROUP_GAP_PT, HeadGroups},
            menu,
        },
    },
};

/// Smallest and largest side of a thumbnail.
const THUMB_PT: (f32, f32) = (26.0, 60.0);
/// Between two thumbnails.
const THUMB_GAP_PT: f32 = 4.0;
/// Thumbnails are at most this much longer one way than the other.
const MAX_THUMB_ASPECT: f32 = 1.8;
/// From a thumbnail's number down to the bracket of its group.
const BRACKET_PT: f32 = 1.0;
/// Height of the number under a thumbnail.
const THUMB_LABEL_PT: f32 = 14.0;

/// Uploads `image`.
pub fn load(ctx: &Context, name: &str, image: &RgbaBuffer, options: TextureOptions) -> TextureHandle {
    let size = [image.width, image.height];
    ctx.load_texture(name, ColorImage::from_rgba_unmultiplied(size, &image.pixels), options)
}

/// The largest side a texture may have.
pub fn max_side(ctx: &Context) -> usize {
    ctx.input(|input| input.max_texture_side)
}

/// The part of a texture that shows all of it.
pub const FULL_UV: Rect = Rect { min: pos2(0.0, 0.0), max: pos2(1.0, 1.0) };

/// One thumbnail per head of a layer, in one texture.
#[derive(Clone)]
pub struct HeadThumbs {
    texture: TextureHandle,
    /// Where each head's is; `None` where it has none.
    uvs: Vec<Option<Rect>>,
}

impl HeadThumbs {
    /// Uploads an atlas whose tiles are heads.
    pub fn load(ctx: &Context, atlas: &Atlas, options: TextureOptions) -> Self {
        let texture = load(ctx, "head-thumbnails", &atlas.image, options);
        let size = vec2(atlas.image.width.max(1) as f32, atlas.image.height.max(1) as f32);
        let uv = |tile: &Tile| {
            let min = pos2(tile.x as f32, tile.y as f32);
            let rect = Rect::from_min_size(min, vec2(tile.width as f32, tile.height as f32));
            Rect::from_min_max((rect.min.to_vec2() / size).to_pos2(), (rect.max.to_vec2() / size).to_pos2())
        };
        Self { texture, uvs: atlas.tiles.iter().map(|tile| Some(uv(tile))).collect() }
    }

    /// Shows nothing for a head.
    pub fn leave_out(&mut self, head: usize) {
        if let Some(uv) = self.uvs.get_mut(head) {
            *uv = None;
        }
    }

    /// The size at which a thumbnail is drawn inside a square: its own proportions, unless it is so narrow
    /// that little could be seen.
    fn size(&self, idx: usize, side: f32) -> Vec2 {
        let size =
            self.uvs.get(idx).copied().flatten().map_or(Vec2::splat(1.0), |uv| uv.size() * self.texture.size_vec2());
        let aspect = (size.x / size.y.max(1.0)).clamp(1.0 / MAX_THUMB_ASPECT, MAX_THUMB_ASPECT);
        vec2(side * aspect.min(1.0), side / aspect.max(1.0))
    }

    /// Draws a row of `n_heads` thumbnails, without pictures as long as there are none; a click selects
    /// the head.
    pub fn row_ui(thumbs: Option<&Self>, n_heads: usize, groups: HeadGroups, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let head = cx.pane.selection.head;
        let n = n_heads.max(1) as f32;
        let free = ui.available_width() - groups.gaps_width(n_heads);
        let side = ((free + THUMB_GAP_PT) / n - THUMB_GAP_PT).clamp(THUMB_PT.0, THUMB_PT.1).floor();
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(THUMB_GAP_PT, 2.0);
            for idx in 0..n_heads {
                if groups.gap_before(idx) {
                    ui.add_space(GROUP_GAP_PT);
                }
                let (rect, response) = ui.allocate_exact_size(vec2(side, side + THUMB_LABEL_PT), Sense::click());
                let selected = idx == head.head;
                response.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, selected, format!("Head {idx}")));
                let square = Rect::from_min_size(rect.min, vec2(side, side));
                let uv = thumbs.and_then(|thumbs| thumbs.uvs.get(idx).copied().flatten());
                let picture =
                    Rect::from_center_size(square.center(), thumbs.map_or(square.size(), |it| it.size(idx, side)));
                let painter = ui.painter();
                painter.rect_filled(picture, 0, cx.theme.raised);
                if let (Some(thumbs), Some(uv)) = (thumbs, uv) {
                    painter.image(thumbs.texture.id(), picture, uv, Color32::WHITE);
                }
                let (stroke, ink) = if selected {
                    (Stroke::new(2.0, cx.theme.text), cx.theme.text)
                } else if response.hovered() || response.has_focus() {
                    (Stroke::new(1.0, cx.theme.text), cx.theme.text)
                } else {
                    (Stroke::new(1.0, cx.theme.rule), cx.theme.text_weak)
                };
                painter.rect_stroke(picture, 0, stroke, StrokeKind::Outside);
                let at = pos2(square.center().x, rect.bottom());
                let font = FontId::proportional(text_size::SMALL);
                painter.text(at, Align2::CENTER_BOTTOM, idx.to_string(), font, ink);
                let below = rect.bottom() + BRACKET_PT;
                groups.bracket(painter, idx, rect.x_range(), below, THUMB_GAP_PT, cx.theme);
                menu::point_at_head(&response, cx, HeadId { head: idx, ..head });
                if response.clicked() {
                    cx.send(Command::Select(SelectionCommand::Head(HeadId { head: idx, ..head })));
                }
                if let Some(note) = groups.note(idx) {
                    response.on_hover_text(note);
                }
            }
        });
    }
}

/// A raster's colour as the window's.
pub fn color([r, g, b, a]: [u8; 4]) -> Color32 {
    Color32::from_rgba_unmultiplied(r, g, b, a)
}

//! Cells as pictures: one of each head at the size of the overview, side by side in one texture, and one of each
//! cell in sight at the size it has there. They are drawn beside the window's thread; until a picture is there, the
//! one before stands in, larger or smaller.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, mpsc::Receiver},
};

use eframe::egui::{
    Color32, ColorImage, Context, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Vec2, pos2, vec2,
};

use super::{
    drawing::{self, Drawn, Made, Shared, Style, Task},
    looks::Looks,
    state::Same,
};
use crate::{
    analysis::projection::HeadProjection,
    ids::HeadId,
    ui::{painting, views::texture},
};

/// Pixels that are given to the graphics driver in one frame; the rest waits for the next.
const UPLOAD_PX: usize = 3_000_000;
/// Pictures of single cells are made when no more than this many are in sight.
const MAX_SHARP: usize = 400;
/// Around what is in sight of a cell that is larger, as a part of it, so that moving does not soon run out of it.
const MARGIN: f32 = 0.3;
/// A picture is as good as new when its size is this near.
const SAME_SIZE: f32 = 0.002;
/// Tiles of the overview are at least this large, in pixels.
const LEAST_TILE_PX: usize = 12;

/// A cell in sight.
#[derive(Clone)]
pub struct Cell {
    /// Its points.
    pub plane: Arc<HeadProjection>,
    pub rect: Rect,
}

/// A cell's own picture.
struct Sharp {
    made: Made,
    texture: TextureHandle,
}

/// The overview: tiles of one size.
struct Overview {
    texture: TextureHandle,
    tile_px: [usize; 2],
    n_cols: usize,
    size_px: [usize; 2],
    tiles: Vec<Option<Made>>,
}

impl Overview {
    fn corner(&self, slot: usize) -> [usize; 2] {
        [(slot % self.n_cols) * (self.tile_px[0] + 1), (slot / self.n_cols) * (self.tile_px[1] + 1)]
    }

    fn uv(&self, slot: usize) -> Rect {
        let [x, y] = self.corner(slot);
        let size = vec2(self.size_px[0] as f32, self.size_px[1] as f32);
        let corner = vec2(x as f32, y as f32);
        let tile = vec2(self.tile_px[0] as f32, self.tile_px[1] as f32);
        Rect::from_min_max((corner / size).to_pos2(), ((corner + tile) / size).to_pos2())
    }
}

/// Pictures of cells and who draws them.
#[derive(Default)]
pub struct Pictures {
    shared: Arc<Shared>,
    drawn: Option<Receiver<Drawn>>,
    overview: Option<Overview>,
    sharp: HashMap<HeadId, Sharp>,
    /// Sent and not yet come back, so that nothing is drawn twice.
    asked: HashMap<(HeadId, bool), Made>,
    style: Option<Arc<Style>>,
    most: HashMap<HeadId, u32>,
}

impl Drop for Pictures {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.looks.close();
        queue.closed = true;
        queue.tasks.clear();
        drop(queue);
        self.shared.wake.notify_all();
    }
}

impl Pictures {
    /// Colours and sizes of each head's points.
    pub fn looks(&self) -> &Looks {
        &self.shared.looks
    }

    /// The largest count in a head's cell, where counts are drawn.
    pub fn most(&self, head: HeadId) -> Option<u32> {
        self.most.get(&head).copied()
    }

    /// Paints the cells in sight. `all` are the heads of the overview, `small` the size of a cell there.
    pub fn paint(
        &mut self,
        painter: &Painter,
        viewport: Rect,
        style: Style,
        cells: &[Cell],
        all: &[Arc<HeadProjection>],
        small: Vec2,
    ) {
        let ctx = painter.ctx();
        let style = match &self.style {
            Some(known) if **known == style => Arc::clone(known),
            known => {
                if known.as_ref().is_some_and(|known| !known.is_of_the_same(&style)) {
                    self.forget();
                }
                Arc::new(style)
            }
        };
        self.style = Some(Arc::clone(&style));
        self.lay_out(ctx, all.len(), small * style.look.scale);
        self.receive(ctx);
        let tasks = self.tasks(&style, viewport, cells, all, texture::max_side(ctx) as f32);
        let is_settled = tasks.is_empty() && self.asked.is_empty();
        if !is_settled {
            painting::wait_for_picture(ctx);
        }
        self.ask(ctx, tasks);
        self.paint_cells(painter, style.look.scale, cells, all);
    }

    /// Nothing of another cloud stands in.
    fn forget(&mut self) {
        self.sharp.clear();
        self.overview = None;
        self.most.clear();
    }

    /// Makes room for the tiles of the overview, when there is none of this size.
    fn lay_out(&mut self, ctx: &Context, n: usize, small_px: Vec2) {
        let max = texture::max_side(ctx).max(64);
        let mut tile_px = [small_px.x, small_px.y].map(|side| (side.round() as usize).max(LEAST_TILE_PX));
        let (n_cols, size_px) = loop {
            let n_cols = (max / (tile_px[0] + 1)).clamp(1, n.max(1));
            // About square, so that the texture is small along both axes.
            let n_cols = n_cols.min(((n as f32 * tile_px[1] as f32 / tile_px[0] as f32).sqrt().ceil() as usize).max(1));
            let size = [n_cols * (tile_px[0] + 1), n.div_ceil(n_cols).max(1) * (tile_px[1] + 1)];
            if size.iter().all(|side| *side <= max) || tile_px == [4, 4] {
                break (n_cols, size);
            }
            tile_px = tile_px.map(|side| (side / 2).max(4));
        };
        let fits = |known: &Overview| known.tile_px == tile_px && known.tiles.len() == n;
        if self.overview.as_ref().is_some_and(fits) || size_px.iter().any(|side| *side > max) {
            return;
        }
        // What is in sight keeps the look it had, cut out of the overview before: its own pictures stand in.
        let empty = ColorImage::filled(size_px, Color32::TRANSPARENT);
        let texture = ctx.load_texture("planes", empty, TextureOptions::LINEAR);
        self.asked.retain(|(_, sharp), _| *sharp);
        self.overview = Some(Overview { texture, tile_px, n_cols, size_px, tiles: vec![None; n] });
    }

    /// Takes in what was drawn.
    fn receive(&mut self, ctx: &Context) {
        let mut budget = UPLOAD_PX;
        while let Some(receiver) = &self.drawn {
            if budget == 0 {
                ctx.request_repaint();
                return;
            }
            let Ok(Drawn { task: Task { made, slot, .. }, image, most }) = receiver.try_recv() else { return };
            budget = budget.saturating_sub(image.width() * image.height());
            let head = made.plane.0.head;
            self.asked.remove(&(head, slot.is_none()));
            if made.style.cloud.id() != self.style.as_ref().map_or(made.style.cloud.id(), |style| style.cloud.id()) {
                continue;
            }
            if most > 0 {
                self.most.insert(head, most);
            }
            match slot {
                None => {
                    let texture = ctx.load_texture("plane", image, TextureOptions::LINEAR);
                    self.sharp.insert(head, Sharp { made, texture });
                }
                Some(slot) => {
                    let Some(overview) = &mut self.overview else { continue };
                    if overview.tile_px == image.size && slot < overview.tiles.len() {
                        let corner = overview.corner(slot);
                        overview.texture.set_partial(corner, image, TextureOptions::LINEAR);
                        overview.tiles[slot] = Some(made);
                    }
                }
            }
        }
    }

    /// What is missing, the most needed first.
    fn tasks(
        &mut self,
        style: &Arc<Style>,
        viewport: Rect,
        cells: &[Cell],
        all: &[Arc<HeadProjection>],
        max: f32,
    ) -> Vec<Task> {
        let scale = style.look.scale;
        let mut tasks = Vec::new();
        let in_sight: HashMap<HeadId, f32> =
            cells.iter().map(|cell| (cell.plane.head, cell.rect.distance_sq_to_pos(viewport.center()))).collect();
        if let Some(overview) = &self.overview {
            let cell_px = vec2(overview.tile_px[0] as f32, overview.tile_px[1] as f32);
            for (slot, plane) in all.iter().enumerate() {
                let tile = overview.tiles[slot].as_ref();
                if !tile.is_some_and(|made| made.is_of(plane, style)) {
                    let rank = match in_sight.get(&plane.head) {
                        Some(_) if tile.is_none() && !self.sharp.contains_key(&plane.head) => 0.0,
                        Some(_) => 2.0,
                        None => 3.0,
                    };
                    let part_px = Rect::from_min_size(Pos2::ZERO, cell_px);
                    let made = Made { plane: Same(Arc::clone(plane)), style: Arc::clone(style), cell_px, part_px };
                    tasks.push(Task { made, slot: Some(slot), rank });
                }
            }
        }
        let tile_px = self.overview.as_ref().map(|overview| overview.tile_px);
        if cells.len() <= MAX_SHARP {
            for cell in cells {
                let cell_px = cell.rect.size() * scale;
                let is_tile = tile_px
                    .is_some_and(|tile| (cell_px - vec2(tile[0] as f32, tile[1] as f32)).abs().max_elem() <= 0.5);
                let known = self.sharp.get(&cell.plane.head);
                if is_tile {
                    // The tile of the overview is as sharp.
                    continue;
                }
                let seen = at_most(in_pixels(cell.rect.intersect(viewport), cell.rect.min, scale), max - 2.0);
                let good = known.filter(|sharp| {
                    is_near(sharp.made.cell_px, cell_px) && sharp.made.part_px.expand(1.0).contains_rect(seen)
                });
                if good.is_some_and(|sharp| sharp.made.is_of(&cell.plane, style)) {
                    continue;
                }
                let part_px = part(seen, cell_px, max);
                let made = Made { plane: Same(Arc::clone(&cell.plane)), style: Arc::clone(style), cell_px, part_px };
                // The further from the size it has, the sooner; among equals the one in the middle.
                let off = known.map_or(4.0, |sharp| (sharp.made.cell_px.x / cell_px.x).ln().abs().min(4.0));
                let near = 1.0 / (1.0 + in_sight.get(&cell.plane.head).copied().unwrap_or(0.0));
                tasks.push(Task { made, slot: None, rank: 1.8 - 0.1 * off - 0.1 * near });
            }
        }
        self.sharp.retain(|head, _| in_sight.contains_key(head));
        // They are taken from the end: the first cells before the last.
        tasks.reverse();
        tasks.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        tasks
    }

    /// Gives the thread what is to be drawn, instead of what it had not begun.
    fn ask(&mut self, ctx: &Context, tasks: Vec<Task>) {
        if tasks.is_empty() && self.asked.is_empty() {
            return;
        }
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // What is no longer in the queue is being drawn, or on its way here.
        for task in queue.tasks.drain(..) {
            self.asked.remove(&key(&task));
        }
        for task in tasks {
            let under_way = self.asked.get(&key(&task));
            let same = |made: &Made| {
                made.is_of(&task.made.plane.0, &task.made.style)
                    && is_near(made.cell_px, task.made.cell_px)
                    && made.part_px == task.made.part_px
            };
            if !under_way.is_some_and(same) {
                queue.tasks.push(task);
            }
        }
        for task in &queue.tasks {
            self.asked.insert(key(task), task.made.clone());
        }
        let waiting = !queue.tasks.is_empty();
        drop(queue);
        if waiting && self.drawn.is_none() {
            self.drawn = drawing::start(ctx, &self.shared);
        }
        self.shared.wake.notify_all();
    }

    fn paint_cells(&self, painter: &Painter, scale: f32, cells: &[Cell], all: &[Arc<HeadProjection>]) {
        let slots: HashMap<HeadId, usize> = all.iter().enumerate().map(|(slot, plane)| (plane.head, slot)).collect();
        let mut tiles = self.overview.as_ref().map(|overview| Mesh::with_texture(overview.texture.id()));
        for cell in cells {
            let sharp = self.sharp.get(&cell.plane.head);
            let slot = slots.get(&cell.plane.head).copied();
            let tile = self.overview.as_ref().zip(slot).filter(|(overview, slot)| overview.tiles[*slot].is_some());
            let cell_px = cell.rect.size() * scale;
            let off = |size: Vec2| (size.x / cell_px.x).ln().abs();
            let tile_off = tile.map(|(overview, _)| off(vec2(overview.tile_px[0] as f32, overview.tile_px[1] as f32)));
            // On whole pixels, so that what was drawn at this size stays sharp.
            let corner = pos2((cell.rect.min.x * scale).round(), (cell.rect.min.y * scale).round()) / scale;
            match (sharp, tile) {
                (Some(sharp), _) if tile_off.is_none_or(|tile_off| off(sharp.made.cell_px) <= tile_off + 0.01) => {
                    if let (Some(tiles), Some((overview, slot))) = (&mut tiles, tile)
                        && !covers(&sharp.made, cell, painter.clip_rect(), scale)
                    {
                        tiles.add_rect_with_uv(cell.rect, overview.uv(slot), Color32::WHITE);
                        continue;
                    }
                    let grown = cell.rect.size() * scale / sharp.made.cell_px;
                    let part = Rect::from_min_max(
                        corner + sharp.made.part_px.min.to_vec2() * grown / scale,
                        corner + sharp.made.part_px.max.to_vec2() * grown / scale,
                    );
                    let mut mesh = Mesh::with_texture(sharp.texture.id());
                    mesh.add_rect_with_uv(part, texture::FULL_UV, Color32::WHITE);
                    painter.add(Shape::mesh(mesh));
                }
                (_, Some((overview, slot))) => {
                    let size = vec2(overview.tile_px[0] as f32, overview.tile_px[1] as f32) / scale;
                    let exact = (size - cell.rect.size()).abs().max_elem() <= 0.5 / scale;
                    let rect = if exact { Rect::from_min_size(corner, size) } else { cell.rect };
                    if let Some(tiles) = &mut tiles {
                        tiles.add_rect_with_uv(rect, overview.uv(slot), Color32::WHITE);
                    }
                }
                _ => {}
            }
        }
        if let Some(tiles) = tiles.filter(|tiles| !tiles.is_empty()) {
            painter.add(Shape::mesh(tiles));
        }
    }
}

fn key(task: &Task) -> (HeadId, bool) {
    (task.made.plane.0.head, task.slot.is_none())
}

fn is_near(a: Vec2, b: Vec2) -> bool {
    (a.x / b.x - 1.0).abs() < SAME_SIZE && (a.y / b.y - 1.0).abs() < SAME_SIZE
}

/// A rectangle on screen in pixels from a corner.
fn in_pixels(rect: Rect, corner: Pos2, scale: f32) -> Rect {
    Rect::from_min_max(((rect.min - corner) * scale).to_pos2(), ((rect.max - corner) * scale).to_pos2())
}

/// The middle of a rectangle, as large as a texture may be.
fn at_most(rect: Rect, max: f32) -> Rect {
    Rect::from_center_size(rect.center(), rect.size().min(Vec2::splat(max)))
}

/// What of a cell is drawn when `seen` of it is in sight: all, unless it is much larger.
fn part(seen: Rect, cell_px: Vec2, max: f32) -> Rect {
    let whole = Rect::from_min_size(Pos2::ZERO, cell_px);
    let margin = seen.size() * MARGIN;
    let wanted = seen.expand2(margin);
    let is_small = cell_px.x * cell_px.y <= 2.0 * wanted.area() && cell_px.max_elem() <= max;
    let part = if is_small { whole } else { at_most(wanted, max - 1.0).intersect(whole) };
    Rect::from_min_max(part.min.floor(), part.max.ceil())
}

/// Whether what is in sight of a cell is on its picture.
fn covers(made: &Made, cell: &Cell, clip: Rect, scale: f32) -> bool {
    let seen = in_pixels(cell.rect.intersect(clip), cell.rect.min, scale);
    let grown = made.cell_px / (cell.rect.size() * scale);
    let seen = Rect::from_min_max((seen.min.to_vec2() * grown).to_pos2(), (seen.max.to_vec2() * grown).to_pos2());
    made.part_px.expand(1.5).contains_rect(seen)
}

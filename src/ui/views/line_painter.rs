//! Lines as triangles where a graphics card draws them, as a picture drawn beside the window's thread where
//! the processor would draw every one of them again in every frame.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use eframe::egui::{
    Color32, ColorImage, Context, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Vec2, pos2,
};

use super::texture;
use crate::{
    raster::lines::{self, Frame, LineStroke},
    ui::{
        memo::Memo,
        painting::{self, Painting},
    },
};

/// From this many lines on a picture is drawn once instead: without a graphics card, and with one.
const MANY_LINES: (usize, usize) = (48, 6_000);
/// Without a graphics card only the strongest so many stand in for a picture that is being drawn.
const STAND_IN: usize = 200;
/// A picture gives way to a run for so long, in seconds: it would take a core from it, and the run is about to change
/// what is drawn.
const GIVES_WAY_SECS: f64 = 0.2;
/// Around the lines, so that their ends are whole.
const MARGIN_PT: f32 = 2.0;

/// Paints one set of lines; `K` holds everything that they depend on.
pub struct LinePainter<K> {
    picture: Option<(K, Picture)>,
    drawing: Option<(K, Drawing)>,
    /// What gives way to a run, and until when.
    waiting: Option<(K, f64)>,
    mesh: Memo<(K, Pos2, bool), Arc<Mesh>>,
}

impl<K> Default for LinePainter<K> {
    fn default() -> Self {
        Self { picture: None, drawing: None, waiting: None, mesh: Memo::default() }
    }
}

/// The lines of one frame.
pub struct Lines<'a> {
    /// Weakest first, in coordinates that do not depend on where they are scrolled to.
    pub strokes: &'a Arc<[LineStroke]>,
    /// What of them can come into sight before they change, in the same coordinates.
    pub extent: Rect,
    /// Where those coordinates start on screen.
    pub origin: Pos2,
    /// Whether a run is on its way.
    pub is_running: bool,
}

/// What became of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Painted {
    /// Triangles, in their full opacity.
    Triangles,
    /// A picture, in the opacity that was asked for.
    Picture,
}

/// Lines that were drawn once.
struct Picture {
    texture: TextureHandle,
    placed: Placed,
}

/// Where a picture lies on the pixels of the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    /// Where the lines started on screen when it was drawn.
    origin: Pos2,
    /// Upper left corner in physical pixels of the screen.
    min_px: [f32; 2],
    size_px: [usize; 2],
    pixels_per_point: f32,
}

impl Placed {
    fn new(lines: &Lines<'_>, pixels_per_point: f32) -> Self {
        let rect = lines.extent.expand(MARGIN_PT).translate(lines.origin.to_vec2()) * pixels_per_point;
        let min_px = [rect.left().floor(), rect.top().floor()];
        let size_px = [rect.right() - min_px[0], rect.bottom() - min_px[1]].map(|side| side.ceil().max(1.0) as usize);
        Self { origin: lines.origin, min_px, size_px, pixels_per_point }
    }

    fn frame(&self) -> Frame {
        let min = [0, 1].map(|axis| self.min_px[axis] / self.pixels_per_point - self.origin[axis]);
        Frame { min, size_px: self.size_px, scale: self.pixels_per_point }
    }

    /// Where it lies when the lines start at `origin`: on whole pixels, so that it stays sharp.
    fn rect(&self, origin: Pos2) -> Rect {
        let shift = ((origin - self.origin) * self.pixels_per_point).round();
        let min = pos2(self.min_px[0], self.min_px[1]) + shift;
        let size = Vec2::from(self.size_px.map(|side| side as f32));
        Rect::from_min_size(min, size) / self.pixels_per_point
    }
}

/// A picture on its way; it is given up when nobody wants it any more.
struct Drawing {
    wanted: Arc<AtomicBool>,
    receiver: Receiver<ColorImage>,
    placed: Placed,
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

impl Drawing {
    /// Starts drawing on a thread of its own; `None` when the system gives none.
    fn start(ctx: &Context, strokes: &Arc<[LineStroke]>, placed: Placed) -> Option<Self> {
        let wanted = Arc::new(AtomicBool::new(true));
        let (sender, receiver) = sync_channel(1);
        let (ctx, strokes, still_wanted) = (ctx.clone(), Arc::clone(strokes), Arc::clone(&wanted));
        let draw = move || {
            let drawn = lines::draw(&strokes, placed.frame(), || still_wanted.load(Ordering::Relaxed));
            let Some(picture) = drawn else { return };
            let pixels = picture.pixels.iter().map(|&[r, g, b, a]| Color32::from_rgba_premultiplied(r, g, b, a));
            if sender.send(ColorImage::new(picture.size_px, pixels.collect())).is_ok() {
                ctx.request_repaint();
            }
        };
        let thread = thread::Builder::new().name("lines".to_owned()).spawn(draw);
        thread.is_ok().then_some(Self { wanted, receiver, placed })
    }
}

impl<K: PartialEq + Clone> LinePainter<K> {
    /// Paints `lines`, a picture of them in `opacity`. While a picture is being drawn, the one before stands in
    /// if it `resembles` what is wanted.
    pub fn paint(
        &mut self,
        painter: &Painter,
        key: &K,
        lines: &Lines<'_>,
        opacity: f32,
        resembles: impl Fn(&K) -> bool,
    ) -> Painted {
        let ctx = painter.ctx();
        let painting = Painting::of(ctx);
        let many = if painting == Painting::Software { MANY_LINES.0 } else { MANY_LINES.1 };
        let placed = Placed::new(lines, painter.pixels_per_point());
        let fits = placed.size_px.iter().all(|&side| side <= texture::max_side(ctx));
        if lines.strokes.len() <= many || !fits || !self.ask_for(ctx, key, lines, placed) {
            (self.drawing, self.picture) = (None, None);
            self.paint_triangles(painter, key, lines, lines.strokes.len());
            return Painted::Triangles;
        }
        let is_ready = self.picture.as_ref().is_some_and(|(known, _)| known == key);
        if !is_ready {
            painting::wait_for_picture(ctx);
        }
        if let Some((known, picture)) = &self.picture
            && (is_ready || painting == Painting::Software && resembles(known))
        {
            let rect = picture.placed.rect(lines.origin);
            painter.image(picture.texture.id(), rect, texture::FULL_UV, Color32::WHITE.gamma_multiply(opacity));
            return Painted::Picture;
        }
        let n = if painting == Painting::Software { STAND_IN } else { lines.strokes.len() };
        self.paint_triangles(painter, key, lines, n);
        Painted::Triangles
    }

    /// Takes in a picture that has arrived, or has it drawn; false when it cannot be.
    fn ask_for(&mut self, ctx: &Context, key: &K, lines: &Lines<'_>, placed: Placed) -> bool {
        if let Some((drawn, drawing)) = &self.drawing
            && let Ok(image) = drawing.receiver.try_recv()
        {
            let texture = ctx.load_texture("lines", image, TextureOptions::NEAREST);
            self.picture = Some((drawn.clone(), Picture { texture, placed: drawing.placed }));
            self.drawing = None;
        }
        let known = self.picture.as_ref().map(|(known, _)| known);
        let coming = self.drawing.as_ref().map(|(coming, _)| coming);
        if known == Some(key) {
            self.drawing = None;
        } else if coming != Some(key) {
            if lines.is_running && self.gives_way(ctx, key) {
                self.drawing = None;
                return true;
            }
            self.drawing = Drawing::start(ctx, lines.strokes, placed).map(|drawing| (key.clone(), drawing));
            return self.drawing.is_some();
        }
        true
    }

    /// Whether it is too early to draw what was wanted a moment ago.
    fn gives_way(&mut self, ctx: &Context, key: &K) -> bool {
        let now = ctx.input(|input| input.time);
        let until = match &self.waiting {
            Some((waiting, until)) if waiting == key => *until,
            _ => self.waiting.insert((key.clone(), now + GIVES_WAY_SECS)).1,
        };
        if now < until {
            ctx.request_repaint_after_secs((until - now) as f32);
        }
        now < until
    }

    /// The last `n` lines as one mesh.
    fn paint_triangles(&mut self, painter: &Painter, key: &K, lines: &Lines<'_>, n: usize) {
        let strokes = &lines.strokes[lines.strokes.len().saturating_sub(n)..];
        let all = strokes.len() == lines.strokes.len();
        let mesh = self.mesh.get_or_update((key.clone(), lines.origin, all), || {
            let mut mesh = mesh_of(strokes, 1.0 / painter.pixels_per_point());
            mesh.translate(lines.origin.to_vec2());
            Arc::new(mesh)
        });
        painter.add(Shape::Mesh(mesh));
    }
}

/// Lines as strips of four rails, the outer two transparent, so that thin lines are smooth and have the ink of
/// their width at `feather` (one physical pixel, in points): see [`lines::profile`].
fn mesh_of(strokes: &[LineStroke], feather: f32) -> Mesh {
    let mut mesh = Mesh::default();
    mesh.reserve_vertices(8 * strokes.len());
    mesh.reserve_triangles(6 * strokes.len());
    for stroke in strokes {
        strip(&mut mesh, stroke, feather);
    }
    mesh
}

fn strip(mesh: &mut Mesh, stroke: &LineStroke, feather: f32) {
    let [from, to] = [stroke.from, stroke.to].map(Pos2::from);
    let profile = lines::profile(stroke.width, feather);
    let [r, g, b, a] = stroke.color.map(|channel| (channel * profile.peak * 255.0).round() as u8);
    let color = Color32::from_rgba_premultiplied(r, g, b, a);
    let across = (to - from).normalized().rot90();
    let first = mesh.vertices.len() as u32;
    for end in [from, to] {
        mesh.colored_vertex(end - across * profile.outer, Color32::TRANSPARENT);
        mesh.colored_vertex(end - across * profile.inner, color);
        mesh.colored_vertex(end + across * profile.inner, color);
        mesh.colored_vertex(end + across * profile.outer, Color32::TRANSPARENT);
    }
    for rail in 0..3 {
        let (a, b) = (first + rail, first + rail + 4);
        mesh.add_triangle(a, a + 1, b);
        mesh.add_triangle(a + 1, b + 1, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stroke(from: [f32; 2], to: [f32; 2]) -> LineStroke {
        LineStroke { from, to, width: 2.4, color: [0.2, 0.1, 0.0, 0.5] }
    }

    #[test]
    fn a_picture_keeps_its_place_on_the_pixels_of_the_screen() {
        let strokes: Arc<[LineStroke]> = [stroke([10.0, 10.0], [50.0, 30.0])].into();
        let extent = Rect::from_min_max(pos2(0.0, 0.0), pos2(60.0, 40.0));
        let lines = Lines { strokes: &strokes, extent, origin: pos2(100.3, 50.7), is_running: false };
        let placed = Placed::new(&lines, 1.5);
        let rect = placed.rect(lines.origin);
        assert!(rect.contains_rect(extent.translate(lines.origin.to_vec2())), "{rect:?}");
        for scrolled in [0.0, -7.25, 33.1] {
            let px = placed.rect(lines.origin + Vec2::new(0.0, scrolled)) * 1.5;
            assert!((px.min - px.min.round()).length() < 1e-3 && (px.size() - px.size().round()).length() < 1e-3);
        }
        // The frame's corner is the picture's, in the coordinates of the lines.
        let corner = lines.origin + Vec2::from(placed.frame().min);
        assert!((corner - rect.min).length() < 1e-3, "{corner:?} {rect:?}");
    }
}

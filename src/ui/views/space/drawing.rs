//! The threads that draw pictures of cells, beside the window's.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use eframe::egui::{Color32, ColorImage, Context, Pos2, Rect, Vec2};

use super::{
    looks::{By, Looks},
    state::Same,
};
use crate::{
    analysis::{
        PointCloud, Space,
        point_set::PointSet,
        projection::{ColorBy, HeadProjection, SizeBy},
    },
    figure::views::points::{CellPoints, Look, Seen, Turn},
    model::lower_priority,
    raster::points::Canvas,
};

/// Everything that the look of all cells depends on.
#[derive(Clone)]
pub struct Style {
    /// What the points stand for.
    pub cloud: PointCloud,
    /// Which of their vectors are points.
    pub space: Space,
    pub color: ColorBy,
    pub size: SizeBy,
    /// Colours and kind of drawing.
    pub look: Look,
    /// Where a cloud in space is seen from.
    pub turn: Option<Turn>,
    /// All other points are dimmed.
    pub marked: Option<Arc<PointSet>>,
}

impl Style {
    /// Whether both are of the same points.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        (self.cloud.id(), self.space) == (other.cloud.id(), other.space)
    }

    /// What is told of the points.
    pub const fn by(&self) -> By {
        (self.space, self.color, self.size)
    }
}

impl PartialEq for Style {
    fn eq(&self, other: &Self) -> bool {
        self.cloud.id() == other.cloud.id()
            && self.by() == other.by()
            && (self.look, self.turn) == (other.look, other.turn)
            && match (&self.marked, &other.marked) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                (None, None) => true,
                _ => false,
            }
    }
}

/// What a picture shows.
#[derive(Clone)]
pub struct Made {
    pub plane: Same<HeadProjection>,
    pub style: Arc<Style>,
    /// Of the whole cell, in pixels.
    pub cell_px: Vec2,
    /// What of it, in pixels.
    pub part_px: Rect,
}

impl Made {
    pub fn is_of(&self, plane: &Arc<HeadProjection>, style: &Arc<Style>) -> bool {
        Arc::ptr_eq(&self.plane.0, plane) && (Arc::ptr_eq(&self.style, style) || self.style == *style)
    }
}

/// Something to draw.
#[derive(Clone)]
pub struct Task {
    pub made: Made,
    /// The place in the overview, or a picture of its own.
    pub slot: Option<usize>,
    pub rank: f32,
}

pub struct Drawn {
    pub task: Task,
    pub image: ColorImage,
    pub most: u32,
}

/// What the window and the thread that draws share.
#[derive(Default)]
pub struct Shared {
    pub queue: Mutex<Queue>,
    pub wake: Condvar,
    pub looks: Looks,
}

#[derive(Default)]
pub struct Queue {
    pub tasks: Vec<Task>,
    pub closed: bool,
}

/// Starts the thread that draws; `None` when the system gives none.
pub fn start(ctx: &Context, shared: &Arc<Shared>) -> Option<Receiver<Drawn>> {
    let (sender, receiver) = channel();
    let n_threads = thread::available_parallelism().map_or(1, |n| (n.get() / 2).clamp(1, 4));
    let mut any = false;
    for _ in 0..n_threads {
        let (ctx, shared, sender) = (ctx.clone(), Arc::clone(shared), sender.clone());
        let work = move || {
            lower_priority();
            draw_all(&ctx, &shared, &sender);
        };
        any |= thread::Builder::new().name("planes".to_owned()).spawn(work).is_ok();
    }
    any.then_some(receiver)
}

/// Draws what is asked for until nobody wants anything any more.
fn draw_all(ctx: &Context, shared: &Arc<Shared>, sender: &Sender<Drawn>) {
    loop {
        let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let task = loop {
            if queue.closed {
                return;
            }
            if let Some(task) = queue.tasks.pop() {
                break task;
            }
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        drop(queue);
        let (image, most) = draw(shared, &task.made);
        if sender.send(Drawn { task, image, most }).is_err() {
            return;
        }
        ctx.request_repaint();
    }
}

fn draw(shared: &Shared, made: &Made) -> (ColorImage, u32) {
    let plane = &made.plane.0;
    let style = &made.style;
    let tints = shared.looks.wait(&style.cloud, plane.head, style.by());
    let seen = Seen::new(plane, style.turn);
    let size = [made.part_px.width(), made.part_px.height()].map(|side| (side as usize).max(1));
    let mut canvas = Canvas::new(size);
    let cell = Rect::from_min_size(Pos2::ZERO - made.part_px.min.to_vec2(), made.cell_px);
    let points = CellPoints { plane, seen: &seen, tints: &tints, marked: style.marked.as_deref(), cell };
    let most = points.draw(&mut canvas, &style.look);
    let pixels = canvas.bytes().map(|[r, g, b, a]| Color32::from_rgba_premultiplied(r, g, b, a)).collect();
    (ColorImage::new(size, pixels), most)
}

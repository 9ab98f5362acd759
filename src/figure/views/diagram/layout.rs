//! Where the boxes of a diagram are: a column for each tower, from what it reads at the bottom to what it says at the top.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::DiagramScene;
use crate::{
    capture::{BlockFacts, BranchNorms, Reads, TowerFacts},
    figure::measure::GRID,
    ids::{HeadId, StackKind},
    spec::{Experts, LayerSpec, MixerKind},
    text::{capitalised, counted, grouped},
};

/// Least width of a tower with its shapes.
const TOWER_PT: f32 = 74.0 * GRID;
/// Between two towers.
const GAP_PT: f32 = 12.0 * GRID;
/// From the residual stream to the boxes of its branches.
const BRANCH_PT: f32 = 9.0 * GRID;
/// Place of the residual stream in its tower.
const STREAM_PT: f32 = 4.0 * GRID;
/// Height of a box with a line of text.
const LINE_PT: f32 = 6.0 * GRID;
/// Height of a layer that is not open.
const CLOSED_PT: f32 = 3.5 * GRID;
/// Between two boxes.
const BETWEEN_PT: f32 = 2.0 * GRID;
/// Side of the square of a head, and heads in a row.
pub const HEAD_PT: f32 = 3.0 * GRID;
const HEADS_IN_ROW: usize = 16;
/// Room of an addition to the stream.
const SUM_PT: f32 = 5.0 * GRID;
/// Towers grow with their room, to at most so many times their least width and height.
pub const MOST_TIMES: Vec2 = vec2(2.0, 1.5);

/// Something that a click selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Layer(StackKind, usize),
    Head(HeadId),
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is read, and what is said.
    End,
    Closed,
    Norm,
    Attention,
    Cross,
    Mlp,
    Head {
        is_selected: bool,
    },
    /// Where a branch is added to the stream.
    Sum,
}

/// A box with its words.
#[derive(Clone, Debug)]
pub struct DiagramBox {
    pub rect: Rect,
    pub kind: Kind,
    pub label: String,
    pub shape: String,
    pub target: Option<Target>,
}

/// A line with an end.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub from: Pos2,
    pub to: Pos2,
    pub is_of_keys: bool,
}

/// The boxes and the ways between them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub boxes: Vec<DiagramBox>,
    pub ways: Vec<Way>,
    /// The lower end of what was placed last, as it grows upwards.
    top: f32,
    left: f32,
    /// Width of a tower.
    tower: f32,
}

/// The least width of so many towers.
pub fn width(n_towers: usize) -> f32 {
    n_towers as f32 * (TOWER_PT + GAP_PT) - GAP_PT
}

/// The least height of the highest tower.
pub fn height(scene: &DiagramScene) -> f32 {
    let layout = Layout::least(scene, Pos2::ZERO, TOWER_PT);
    -layout.boxes.iter().map(|it| it.rect.top()).fold(0.0, f32::min) + GRID
}

impl Layout {
    /// In an area, from its left upper corner on, as large as there is room for.
    pub fn of(scene: &DiagramScene, area: Rect) -> Self {
        let (n, least) = (scene.architecture.towers.len() as f32, height(scene));
        let tower = ((area.width() + GAP_PT) / n - GAP_PT).clamp(TOWER_PT, MOST_TIMES.x * TOWER_PT);
        let times = (area.height() / least).clamp(1.0, MOST_TIMES.y);
        let foot = area.top() + least * times;
        let to = |at: Pos2| pos2(at.x, foot + at.y * times);
        let mut layout = Self::least(scene, pos2(area.left(), 0.0), tower);
        for it in &mut layout.boxes {
            // Heads and sums keep their form.
            it.rect = match it.kind {
                Kind::Head { .. } => Rect::from_min_size(to(it.rect.min), it.rect.size()),
                Kind::Sum => Rect::from_center_size(to(it.rect.center()), it.rect.size()),
                Kind::End | Kind::Closed | Kind::Norm | Kind::Attention | Kind::Cross | Kind::Mlp => {
                    Rect::from_min_max(to(it.rect.min), to(it.rect.max))
                }
            };
        }
        for way in &mut layout.ways {
            *way = Way { from: to(way.from), to: to(way.to), ..*way };
        }
        layout
    }

    /// From its left lower corner on, of the least height.
    fn least(scene: &DiagramScene, corner: Pos2, tower: f32) -> Self {
        let mut layout = Self { tower, ..Self::default() };
        let mut memory = None;
        for (nth, of_tower) in scene.architecture.towers.iter().enumerate() {
            layout.left = corner.x + nth as f32 * (layout.tower + GAP_PT);
            layout.top = corner.y - GRID;
            let cross = layout.tower(scene, of_tower);
            let end = pos2(layout.left + tower, layout.top);
            if let (Some(cross), Some(from)) = (cross, memory) {
                let from: Pos2 = from;
                let turn = pos2(layout.left - GAP_PT / 2.0, from.y);
                let to = pos2(turn.x, cross.center().y);
                layout.ways.push(Way { from, to: turn, is_of_keys: true });
                layout.ways.push(Way { from: turn, to, is_of_keys: true });
                layout.ways.push(Way { from: to, to: cross.left_center(), is_of_keys: true });
            }
            memory = (of_tower.stack == StackKind::Encoder).then_some(end);
        }
        layout
    }

    /// Places a tower; its open cross-attention.
    fn tower(&mut self, scene: &DiagramScene, tower: &TowerFacts) -> Option<Rect> {
        let (n, d) = (scene.n(tower.stack.query_side()), scene.d_model(tower));
        let stream = format!("[{n}, {d}]");
        let foot = self.top;
        let (read, embedding) = match tower.reads {
            Reads::Tokens { n_vocab } => (counted(n, "token"), format!("Token embeddings of {}", grouped(n_vocab))),
            Reads::Patches { height_px, width_px } => {
                (counted(n, "token"), format!("Patches of {height_px} × {width_px} pixels"))
            }
            Reads::Streams { of } => (counted(n, "token"), capitalised(&format!("{of} tower, layer by layer"))),
        };
        self.wide(LINE_PT, Kind::End, read, String::new());
        let embedding = if tower.adds_positions { format!("{embedding} + positions") } else { embedding };
        self.wide(LINE_PT, Kind::End, embedding, stream.clone());
        let open = scene.open_layer(tower);
        let mut cross = None;
        for (layer, block) in tower.blocks.iter().enumerate() {
            if layer == open {
                cross = self.block(scene, tower, (layer, block));
            } else {
                let target = Some(Target::Layer(tower.stack, layer));
                let n_heads = scene.layer(tower.stack, layer).map_or(0, |layer| layer.n_heads);
                self.wide(CLOSED_PT, Kind::Closed, format!("L{layer}"), counted(n_heads, "head"));
                self.aim(target);
            }
        }
        if tower.has_final_norm {
            self.wide(LINE_PT, Kind::Norm, "Norm".to_owned(), stream);
        }
        let is_last = scene.architecture.towers.last().is_some_and(|last| last.stack == tower.stack);
        if let Some(output) = scene.output.as_ref().filter(|_| is_last) {
            self.wide(LINE_PT, Kind::End, output.clone(), String::new());
        }
        let x = self.left + STREAM_PT;
        self.ways.push(Way { from: pos2(x, foot), to: pos2(x, self.top), is_of_keys: false });
        cross
    }

    /// Places an open layer; its cross-attention.
    fn block(
        &mut self,
        scene: &DiagramScene,
        tower: &TowerFacts,
        (layer, block): (usize, &BlockFacts),
    ) -> Option<Rect> {
        let stack = tower.stack;
        self.top -= BETWEEN_PT;
        let rotary = if block.is_rotary { ", rotary" } else { "" };
        let mixer = match block.mixer {
            MixerKind::Attention => "self-attention",
            MixerKind::GatedDelta | MixerKind::Mamba2 | MixerKind::ShortConvolution => block.mixer.title(),
        };
        let name = format!("L{layer} {mixer}{rotary}");
        let mlp = scene.layer(stack, layer).and_then(|layer| layer.mlp).map_or_else(
            || "MLP".to_owned(),
            |mlp| match mlp.experts {
                Some(Experts { n, n_chosen, is_shared }) => {
                    let shared = if is_shared { " and one of all" } else { "" };
                    format!("{n_chosen} of {n} experts{shared}, {} wide", grouped(mlp.d_hidden))
                }
                None if mlp.n_maps > 2 => format!("gated MLP, {} wide", grouped(mlp.d_hidden)),
                None => format!("MLP, {} wide", grouped(mlp.d_hidden)),
            },
        );
        let mut cross = None;
        let norms = if block.is_parallel { BranchNorms { after: false, ..block.attention } } else { block.attention };
        self.attention(scene, (stack, layer), (Kind::Attention, name), norms, block.is_parallel);
        if let (Some(mixer), Some(kind)) = (block.beside, stack.beside()) {
            let name = format!("L{layer} {}, beside it", mixer.title());
            let within = BranchNorms { before: false, ..BranchNorms::default() };
            self.attention(scene, (kind, layer), (Kind::Attention, name), within, block.is_parallel);
        }
        if let (Some(around), Some(crossing)) = (block.cross, stack.cross()) {
            let name = format!("L{layer} cross-attention");
            cross = Some(self.attention(scene, (crossing, layer), (Kind::Cross, name), around, false));
        }
        self.branch(block.mlp, false, |layout| {
            let shape = format!("[{}, {}]", scene.n(stack.query_side()), scene.d_model(tower));
            let label = if block.is_parallel { format!("{mlp}, beside attention") } else { mlp };
            layout.narrow(LINE_PT, Kind::Mlp, label, shape)
        });
        self.top -= BETWEEN_PT;
        cross
    }

    /// Places an attention with its heads.
    fn attention(
        &mut self,
        scene: &DiagramScene,
        (stack, layer): (StackKind, usize),
        (kind, name): (Kind, String),
        norms: BranchNorms,
        is_parallel: bool,
    ) -> Rect {
        let (n_heads, n_kv) = scene.layer(stack, layer).map_or((0, 0), |layer| (layer.n_heads, layer.n_kv_heads));
        let width = scene.layer(stack, layer).map_or_else(String::new, head_width);
        let (n, n_key) = (scene.n(stack.query_side()), scene.n(stack.key_side()));
        let rows = n_heads.div_ceil(HEADS_IN_ROW).max(1) as f32;
        let heads = if n_kv == n_heads { n_heads.to_string() } else { format!("{n_heads} ({n_kv} of keys)") };
        let shape = format!("{heads} × [{n}, {n_key}], {width}");
        self.branch(norms, is_parallel, |layout| {
            let rect = layout.narrow(LINE_PT + rows * (HEAD_PT + GRID), kind, name, shape);
            for head in 0..n_heads {
                let at = vec2((head % HEADS_IN_ROW) as f32, (head / HEADS_IN_ROW) as f32) * (HEAD_PT + GRID);
                let min = rect.left_top() + vec2(2.0 * GRID, LINE_PT) + at;
                let id = HeadId { stack, layer, head };
                layout.boxes.push(DiagramBox {
                    rect: Rect::from_min_size(min, vec2(HEAD_PT, HEAD_PT)),
                    kind: Kind::Head { is_selected: id == scene.head },
                    label: head.to_string(),
                    shape: String::new(),
                    target: Some(Target::Head(id)),
                });
            }
            rect
        })
    }

    /// Places a branch of the stream with its norms and where it is added.
    fn branch(&mut self, norms: BranchNorms, is_shared: bool, place: impl FnOnce(&mut Self) -> Rect) -> Rect {
        let x = self.left + STREAM_PT;
        let leaves = self.top - GRID;
        if norms.before {
            self.narrow(LINE_PT, Kind::Norm, "Norm".to_owned(), String::new());
        }
        let rect = place(self);
        let mut top = rect;
        if norms.branch {
            top = self.narrow(LINE_PT, Kind::Norm, "Norm".to_owned(), String::new());
        }
        let entry = pos2(self.left + BRANCH_PT, leaves);
        self.ways.push(Way { from: pos2(x, leaves), to: entry, is_of_keys: false });
        self.top -= SUM_PT;
        let sum = pos2(x, self.top + SUM_PT / 2.0);
        self.ways.push(Way {
            from: pos2(top.left() + 2.0 * GRID, top.top()),
            to: pos2(top.left() + 2.0 * GRID, sum.y),
            is_of_keys: false,
        });
        self.ways.push(Way { from: pos2(top.left() + 2.0 * GRID, sum.y), to: sum, is_of_keys: false });
        let label = if is_shared { "+ (with the MLP)" } else { "+" };
        self.boxes.push(DiagramBox {
            rect: Rect::from_center_size(sum, vec2(SUM_PT, SUM_PT) * 0.7),
            kind: Kind::Sum,
            label: label.to_owned(),
            shape: String::new(),
            target: None,
        });
        if norms.after {
            self.wide(LINE_PT, Kind::Norm, "Norm".to_owned(), String::new());
        }
        rect
    }

    /// A box on the stream.
    fn wide(&mut self, height: f32, kind: Kind, label: String, shape: String) -> Rect {
        self.place((0.0, self.tower), height, kind, label, shape)
    }

    /// A box beside the stream.
    fn narrow(&mut self, height: f32, kind: Kind, label: String, shape: String) -> Rect {
        self.place((BRANCH_PT, self.tower), height, kind, label, shape)
    }

    fn place(&mut self, (from, to): (f32, f32), height: f32, kind: Kind, label: String, shape: String) -> Rect {
        self.top -= height + BETWEEN_PT;
        let rect = Rect::from_min_max(pos2(self.left + from, self.top), pos2(self.left + to, self.top + height));
        self.boxes.push(DiagramBox { rect, kind, label, shape, target: None });
        rect
    }

    /// What the last box selects.
    fn aim(&mut self, target: Option<Target>) {
        if let Some(last) = self.boxes.last_mut() {
            last.target = target;
        }
    }
}

/// How wide the heads of a layer are.
fn head_width(layer: &LayerSpec) -> String {
    let LayerSpec { d_head, d_value, .. } = layer;
    if d_head == d_value { format!("{d_head} wide") } else { format!("{d_head} wide, values {d_value}") }
}

//! The scenes of a view, with what they are called and their numbers.

use std::sync::Arc;

use super::{
    Order, OrderError,
    choice::{Choice, OnePattern, names_of, no_picture},
};
use crate::{
    analysis::{
        Space,
        projection::{self, HeadProjection, NoShelf, Projection, Refiner, SizeBy, Tints},
        reading::{self, Aggregate, Heads, RowLabels},
    },
    capture::words,
    figure::{
        Scene, ViewKind,
        data::{self, Table},
        list::Sampling,
        views::{
            heads::{HeadLines, HeadsScene},
            heads_text,
            heatmap::HeatmapScene,
            image::{
                ImageScene, OverlayLook,
                flows::FlowKind,
                weights::{Role, Subject},
            },
            matrix::{MatrixScene, columns},
            scatter::ScatterScene,
        },
    },
    ids::{HeadId, StackKind},
    projection::to_the_end,
    text::capitalised,
};

/// One figure to draw.
pub struct Drawn {
    /// What is drawn.
    pub scene: Box<dyn Scene>,
    /// Its numbers.
    pub table: Box<dyn Fn() -> Table>,
    /// Which layer, where it is one.
    pub layer: Option<usize>,
    /// Which head, where it is one.
    pub head: Option<usize>,
    /// Title on a sheet, and name in the metadata.
    pub label: String,
    /// What a sheet of such figures shows.
    pub view_text: &'static str,
    /// Model and input, in words.
    pub origin: String,
}

/// Every figure that was asked for.
pub fn all(order: &Order, subject: super::Subject<'_>) -> Result<Vec<Drawn>, OrderError> {
    let choice = Choice::new(order, subject)?;
    match order.view {
        ViewKind::Heads => choice.heads(),
        ViewKind::Heatmap => choice.heatmaps(),
        ViewKind::Image => choice.images(),
        ViewKind::Scatter => choice.scatters(),
        ViewKind::Matrix => choice.matrix(),
        ViewKind::Distance => choice.distances(),
        ViewKind::Average => choice.averages(),
        ViewKind::Lab => choice.explanations(),
    }
}

impl Choice<'_> {
    /// A scene with what it is called.
    pub fn drawn(
        &self,
        scene: Box<dyn Scene>,
        table: Box<dyn Fn() -> Table>,
        label: String,
        id: Option<HeadId>,
    ) -> Drawn {
        let is_explained = self.order.reading.source.explained().is_some();
        let view_text = match self.order.view {
            ViewKind::Heads | ViewKind::Heatmap | ViewKind::Image if is_explained => {
                "Result of a method, not attention"
            }
            ViewKind::Heads => "Attention lines",
            ViewKind::Heatmap => "Attention patterns (rows: queries, columns: keys)",
            ViewKind::Image => match self.order.flows.map(|flows| flows.kind) {
                None => "Attention on the picture",
                Some(FlowKind::Strongest) => {
                    "Arrows from each patch to what it attends to most (ring: itself, square: a token before the patches)"
                }
                Some(FlowKind::All) => {
                    "Arrows from patches to what they attend to (ring: themselves, square: a token before the patches)"
                }
            },
            ViewKind::Scatter | ViewKind::Matrix => match self.space() {
                Space::QueriesKeys => "Query–key maps",
                Space::Values => "Values",
                Space::Residual => "Residual stream",
                Space::Positions => "Position embeddings",
            },
            ViewKind::Distance => "Distance and q·k",
            ViewKind::Average => "Mean attention",
            ViewKind::Lab => "Explanations",
        };
        let origin = self.origin.clone();
        Drawn { scene, table, layer: id.map(|id| id.layer), head: id.map(|id| id.head), label, view_text, origin }
    }

    fn heads(&self) -> Result<Vec<Drawn>, OrderError> {
        let filter = self.order.filter;
        let figure = |heads: Vec<HeadLines>, ids: &[HeadId], id: Option<HeadId>| {
            let subject = self.subject(ids);
            let explained = self.order.reading.source.explained();
            let label = if self.order.minus.is_some() || id.is_none() || explained.is_some() {
                subject.clone()
            } else {
                heads_text(ids)
            };
            let scene = HeadsScene {
                heads,
                subject,
                filter,
                pinned: self.pinned(),
                origin: self.origin.clone(),
                has_legend: true,
            };
            let lines = scene.heads.clone();
            let table = Box::new(move || data::heads(&lines));
            let mut drawn = self.drawn(Box::new(scene), table, capitalised(&label), id);
            if ids.len() > 1 {
                drawn.head = None;
            }
            drawn
        };
        if let Some(together) = self.together() {
            let read = self.read(together)?;
            let ids = read.heads.clone();
            let lines = HeadLines::new(0, together_name(self.order.together), read, filter);
            return Ok(vec![figure(vec![lines], &ids, None)]);
        }
        let lines = |id: HeadId, name: String| -> Result<HeadLines, OrderError> {
            Ok(HeadLines::new(id.head, name, self.read(Heads::One(id))?, filter))
        };
        // One figure per head where files or places on the sheet are asked for by head, else one per layer.
        if self.order.each.head || self.order.sheet.is_some() && self.layers.len() == 1 && self.heads.is_none() {
            let one = |id: HeadId| Ok(figure(vec![lines(id, format!("Head {}", id.head))?], &[id], Some(id)));
            return self.ids()?.into_iter().map(one).collect();
        }
        let of_layer = |&layer: &usize| {
            let ids: Vec<HeadId> =
                self.head_numbers(layer).into_iter().map(|head| HeadId { stack: self.stack, layer, head }).collect();
            let name = |id: &HeadId| match self.order.reading.source.explained() {
                Some(explained) if ids.len() == 1 => explained.label(),
                None if ids.len() == 1 => format!("Head {}", id.head),
                _ => id.head.to_string(),
            };
            let mut heads: Vec<HeadLines> = ids.iter().map(|id| lines(*id, name(id))).collect::<Result<_, _>>()?;
            if let (Some(first), true) = (heads.first_mut(), ids.len() > 1) {
                first.name = format!("Head {}", first.name);
            }
            Ok(figure(heads, &ids, ids.first().copied()))
        };
        self.layers.iter().map(of_layer).collect()
    }

    fn heatmaps(&self) -> Result<Vec<Drawn>, OrderError> {
        let patterns = self.patterns()?;
        let high = self.shared_high(&patterns);
        let figure = |(read, id): OnePattern| {
            let subject = self.subject(&read.heads);
            let scene = HeatmapScene {
                read: Arc::clone(&read),
                subject: subject.clone(),
                map: self.order.color_map(),
                log: self.order.log,
                high,
                values: self.order.values,
                pinned: self.pinned(),
                origin: self.origin.clone(),
            };
            self.drawn(Box::new(scene), Box::new(move || data::heatmap(&read)), capitalised(&subject), id)
        };
        Ok(patterns.into_iter().map(figure).collect())
    }

    /// The value of the last colour, where all figures share a scale.
    fn shared_high(&self, patterns: &[OnePattern]) -> Option<f32> {
        self.order.shared_scale.then(|| patterns.iter().map(|(read, _)| read.high()).fold(0.0, f32::max))
    }

    fn images(&self) -> Result<Vec<Drawn>, OrderError> {
        let Some((image, side)) = self.capture.image().zip(self.capture.picture_side()) else {
            return Err(no_picture(self.capture));
        };
        let picks_patches = self.stack.query_side() == side;
        if self.stack.key_side() != side {
            let message = format!("the {} stack does not attend to the picture: choose another --stack", self.stack);
            return Err(OrderError::Failed(message));
        }
        if self.order.reading.words {
            return Err(OrderError::Usage("a picture needs single tokens: leave out --words".to_owned()));
        }
        if self.order.flows.is_some() && !picks_patches {
            return Err(OrderError::Usage(format!(
                "arrows lead from patch to patch, but the queries of the {} stack are words: leave out --flows",
                self.stack
            )));
        }
        let held = match (self.order.query, self.order.key) {
            (None, key) => key.map(|key| (key, Role::Key)),
            (query, _) => query.map(|query| (query, Role::Query)),
        };
        let picked = match (self.order.query, self.order.key) {
            (None, Some(key)) if picks_patches => (Subject::Token(key), Role::Key),
            (query, _) => (Subject::of(query, picks_patches, image.n_prefix), Role::Query),
        };
        let writes = self.order.reading.rows == RowLabels::Written && reading::writes(self.capture, self.stack);
        let partner = self.order.key.filter(|_| picked.1 == Role::Query);
        let sampling = if self.order.smooth { Sampling::Smooth } else { Sampling::Crisp };
        let look = OverlayLook {
            map: self.order.color_map(),
            sampling,
            opacity: self.order.opacity,
            contour: self.order.contour,
        };
        let patterns = self.patterns()?;
        let high = self.shared_high(&patterns);
        let figure = |(read, id): OnePattern| {
            let subject = self.subject(&read.heads);
            let scene = ImageScene {
                read,
                high,
                image: image.clone(),
                names: names_of(self.capture.key_tokens(self.stack)),
                picks_patches,
                writes,
                picked,
                partner,
                look,
                flows: self.order.flows.map(|filter| (filter, held)),
                subject: subject.clone(),
                origin: self.origin.clone(),
            };
            let numbers = scene.clone();
            self.drawn(Box::new(scene), Box::new(move || data::image(&numbers)), capitalised(&subject), id)
        };
        Ok(patterns.into_iter().map(figure).collect())
    }

    fn names(&self) -> [Vec<String>; 2] {
        [self.stack.query_side(), self.stack.key_side()]
            .map(|side| self.cloud.tokens(side).map(|token| words::shown(token.text, token.position)).collect())
    }

    fn plane(&self, cell: HeadId) -> Result<HeadProjection, OrderError> {
        let plane = projection::project_head(self.cloud, cell, self.order.projection).ok_or_else(|| {
            let name = self.cell_text(cell);
            OrderError::Failed(match self.space() {
                Space::QueriesKeys => format!("the queries and keys of {} {cell} were not recorded", cell.stack),
                _ => format!("{name}: not recorded, or not finite"),
            })
        })?;
        let one = Projection {
            cloud: self.cloud.clone(),
            stack: self.stack,
            options: self.order.projection,
            heads: vec![Arc::new(plane)],
        };
        let refined = refined(one)?.heads;
        refined.first().map(|plane| HeadProjection::clone(plane)).ok_or_else(|| OrderError::Failed(String::new()))
    }

    const fn space(&self) -> Space {
        self.order.projection.space
    }

    /// A cell in the middle of a sentence.
    fn cell_text(&self, cell: HeadId) -> String {
        match self.space() {
            Space::QueriesKeys => heads_text(&[cell]),
            space => space.cell_text(cell, self.capture.model()),
        }
    }

    /// The tints of each head; the same ones where heads make no difference.
    fn tints(&self, heads: &[HeadId]) -> Vec<Arc<Tints>> {
        let by = self.order.color_by;
        let size = self.order.size_by;
        let of = |head: HeadId| Arc::new(projection::looks(self.cloud, self.space(), head, by, size));
        match heads.first() {
            Some(&first) if !by.depends_on_head() && size == SizeBy::Same => vec![of(first); heads.len()],
            _ => heads.iter().map(|&head| of(head)).collect(),
        }
    }

    /// Refuses what is about patterns.
    pub fn not_of_planes(&self) -> Result<(), OrderError> {
        let order = self.order;
        if order.together.is_some() || order.minus.is_some() || order.reading.words {
            let view = order.view.name();
            let message = format!("{view} shows vectors, not patterns: leave out --aggregate, --minus and --words");
            return Err(OrderError::Usage(message));
        }
        Ok(())
    }

    fn scatters(&self) -> Result<Vec<Drawn>, OrderError> {
        self.not_of_planes()?;
        let space = self.space();
        let figure = |id: HeadId| {
            let plane = self.plane(id)?;
            let scene = ScatterScene {
                plane: plane.clone(),
                // Of many inputs nobody has the patterns.
                read: if self.cloud.n_inputs() == 1 && space.is_joint() {
                    self.read(Heads::One(id)).ok()
                } else {
                    None
                },
                names: self.names(),
                space,
                stack: self.stack,
                tints: projection::looks(self.cloud, space, id, self.order.color_by, self.order.size_by),
                pinned: self.pinned(),
                subject: self.cell_text(id),
                origin: self.origin.clone(),
            };
            let (cloud, stack) = (self.cloud.clone(), self.stack);
            let table = Box::new(move || data::points([&plane], &cloud, (stack, space)));
            Ok(self.drawn(Box::new(scene), table, capitalised(&self.cell_text(id)), Some(id)))
        };
        self.cells()?.into_iter().map(figure).collect()
    }

    fn matrix(&self) -> Result<Vec<Drawn>, OrderError> {
        self.not_of_planes()?;
        let Some(spec) = self.capture.model().stack(self.stack) else { return Ok(Vec::new()) };
        let projected = projection::project(self.cloud, self.stack, self.order.projection, &mut |_, _| true);
        let Some(projection) = projected else {
            let message = match self.cloud.lacks(self.stack, self.space()) {
                Some(reason) if !self.space().is_joint() => reason,
                _ => format!("the queries and keys of the {} stack were not recorded", self.stack),
            };
            return Err(OrderError::Failed(message));
        };
        let projection = refined(projection)?;
        let planes = projection.heads.clone();
        let heads: Vec<HeadId> = planes.iter().map(|plane| plane.head).collect();
        let (space, model) = (self.space(), self.capture.model());
        let what = match space {
            Space::QueriesKeys => "all heads",
            Space::Values => "values of all heads",
            Space::Residual => "residual stream",
            Space::Positions => "position embeddings",
        };
        let subject = match self.stack {
            StackKind::SelfAttention => what.to_owned(),
            stack => format!("{what} of the {stack} stack"),
        };
        let shared = spec.layers.first().map_or(1, |layer| layer.n_heads / layer.n_kv_heads.max(1));
        let sharing = if space == Space::Values { shared.max(1) } else { 1 };
        let columns = columns(heads.len());
        let scene = MatrixScene {
            grid: if space.is_per_head() {
                (spec.layers.len(), spec.max_heads().div_ceil(sharing))
            } else {
                (heads.len().div_ceil(columns), columns)
            },
            names: (!space.is_per_head()).then(|| heads.iter().map(|cell| space.cell_name(*cell, model)).collect()),
            sharing,
            projection,
            kinds: space.kinds(self.stack),
            tints: self.tints(&heads),
            pinned: self.pinned(),
            subject: subject.clone(),
            origin: self.origin.clone(),
        };
        let (cloud, stack) = (self.cloud.clone(), self.stack);
        let table = Box::new(move || data::points(planes.iter().map(|plane| &**plane), &cloud, (stack, space)));
        Ok(vec![self.drawn(Box::new(scene), table, capitalised(&subject), None)])
    }
}

/// With the layout that was asked for, to its end.
fn refined(planes: Projection) -> Result<Projection, OrderError> {
    let first = planes.heads.first().map(|plane| plane.head).unwrap_or_default();
    let refiner = Refiner::new(planes, first, &NoShelf);
    refiner.finish(&to_the_end).map_err(|error| OrderError::Failed(error.to_string()))
}

/// What the legend calls several heads taken together.
fn together_name(how: Option<Aggregate>) -> String {
    how.map_or_else(String::new, |how| capitalised(how.name()))
}

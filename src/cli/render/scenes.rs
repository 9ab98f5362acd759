//! The scenes of a view: which heads, read as the options say.

use std::sync::Arc;

use super::RenderOptions;
use crate::{
    analysis::{
        attention,
        projection::{self, HeadProjection, ProjectionOptions},
        reading::{self, Aggregation, Captures, Heads, Minus, ReadPattern, Reading, Which, Whose},
    },
    capture::{Capture, Token},
    cli::CliError,
    figure::{
        Scene,
        data::{self, Table},
        list::Sampling,
        views::{
            Pinned, heads_text,
            heads::{HeadLines, HeadsScene},
            heatmap::HeatmapScene,
            image::{
                ImageScene, OverlayLook,
                weights::{Role, Subject},
            },
            matrix::MatrixScene,
            scatter::ScatterScene,
        },
    },
    ids::{HeadId, StackKind},
    raster::ColorMap,
    session::ViewKind,
};

/// Characters of the input that a caption quotes.
const MAX_QUOTED: usize = 240;

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

/// What was chosen, checked against what there is.
struct Choice<'a> {
    options: &'a RenderOptions,
    capture: &'a Capture,
    stack: StackKind,
    layers: Vec<usize>,
    /// `None`: every head of each layer.
    heads: Option<Vec<usize>>,
    origin: String,
}

/// Every figure that was asked for.
pub fn all(options: &RenderOptions, capture: &Capture) -> Result<Vec<Drawn>, CliError> {
    let choice = Choice::new(options, capture)?;
    match options.view {
        ViewKind::Heads => choice.heads(),
        ViewKind::Heatmap => choice.heatmaps(),
        ViewKind::Image => choice.images(),
        ViewKind::Scatter => choice.scatters(),
        ViewKind::Matrix => choice.matrix(),
    }
}

impl<'a> Choice<'a> {
    fn new(options: &'a RenderOptions, capture: &'a Capture) -> Result<Self, CliError> {
        let stack = stack(options, capture)?;
        let flat = |lists: &[super::options::Numbers]| -> Vec<usize> {
            lists.iter().flat_map(|list| list.0.iter().copied()).collect()
        };
        let mut layers = flat(&options.layer);
        let many = options.sheet.is_some() || names(options, "{layer}");
        let spec = capture.model().stack(stack);
        let n_layers = spec.map_or(0, |spec| spec.layers.len());
        let recorded = |layer: &usize| attention::has_pattern(capture, HeadId { stack, layer: *layer, head: 0 });
        if layers.is_empty() {
            let all = (0..n_layers).filter(recorded);
            layers = if many || options.view == ViewKind::Matrix { all.collect() } else { all.take(1).collect() };
        }
        if layers.is_empty() {
            return Err(CliError::Failed(format!("no attention of the {stack} stack was recorded")));
        }
        let chosen = flat(&options.head);
        let all_heads = options.view == ViewKind::Heads
            || options.sheet.is_some()
            || options.aggregate.is_some()
            || names(options, "{head}");
        let heads = match chosen.is_empty() {
            true if all_heads => None,
            true => Some(vec![0]),
            false => Some(chosen),
        };
        let choice = Self { options, capture, stack, layers, heads, origin: origin(capture) };
        choice.check()?;
        Ok(choice)
    }

    fn check(&self) -> Result<(), CliError> {
        for id in self.ids()? {
            // The reader's own words where there is no such head.
            let layer = self.capture.model().stack(self.stack).and_then(|spec| spec.layers.get(id.layer));
            if layer.is_none_or(|layer| id.head >= layer.n_heads) {
                reading::read(Captures::one(self.capture), &Reading::of(id)).map_err(refused)?;
            }
        }
        let (queries, keys) = (self.capture.query_tokens(self.stack), self.capture.key_tokens(self.stack));
        for (name, chosen, tokens) in [("query", self.options.query, queries), ("key", self.options.key, keys)] {
            if let Some(chosen) = chosen.filter(|chosen| *chosen >= tokens.len()) {
                let n = tokens.len();
                return Err(CliError::Failed(format!("there is no {name} {chosen}: there are {n}, counted from 0")));
            }
        }
        Ok(())
    }

    fn head_numbers(&self, layer: usize) -> Vec<usize> {
        let n = self.capture.model().stack(self.stack).and_then(|spec| spec.layers.get(layer)).map_or(0, |it| it.n_heads);
        self.heads.clone().unwrap_or_else(|| (0..n).collect())
    }

    /// Every head that was chosen.
    fn ids(&self) -> Result<Vec<HeadId>, CliError> {
        let n_layers = self.capture.model().stack(self.stack).map_or(0, |spec| spec.layers.len());
        if let Some(layer) = self.layers.iter().find(|layer| **layer >= n_layers) {
            let n = n_layers;
            return Err(CliError::Failed(format!("there is no layer {layer}: the {} stack has {n}, counted from 0", self.stack)));
        }
        let stack = self.stack;
        let of_layer = |&layer: &usize| self.head_numbers(layer).into_iter().map(move |head| HeadId { stack, layer, head });
        Ok(self.layers.iter().flat_map(of_layer).collect())
    }

    fn reading(&self, heads: Heads) -> Reading {
        let minus = self.options.minus.map(|(layer, head)| Minus {
            heads: Heads::One(HeadId { stack: self.stack, layer, head }),
            of: Whose::This,
        });
        Reading {
            heads,
            leave_out: self.options.leave_out(),
            words: self.options.words,
            rows: self.options.rows(),
            minus,
            ..Reading::default()
        }
    }

    fn read(&self, heads: Heads) -> Result<Arc<ReadPattern>, CliError> {
        let read = reading::read(Captures::one(self.capture), &self.reading(heads)).map_err(refused)?;
        if read.cols.groups.iter().all(|group| group.left_out.is_some()) {
            return Err(CliError::Failed("every key is left out: choose less with --hide".to_owned()));
        }
        Ok(Arc::new(read))
    }

    /// All chosen heads taken together.
    fn together(&self) -> Option<Heads> {
        let how = self.options.aggregate?;
        let layers = Which::These(self.layers.iter().copied().collect());
        let heads = self.heads.as_ref().map_or(Which::All, |heads| Which::These(heads.iter().copied().collect()));
        Some(Heads::Many(Aggregation { stack: self.stack, layers, heads, how }))
    }

    /// What is drawn, in words.
    fn subject(&self, heads: &[HeadId]) -> String {
        let which = heads_text(heads);
        let which = match self.options.aggregate {
            Some(how) if heads.len() > 1 => format!("the {} of {which}", how.name()),
            _ => which,
        };
        match self.options.minus {
            Some((layer, head)) => format!("{which} minus L{layer}H{head}"),
            None => which,
        }
    }

    const fn pinned(&self) -> Pinned {
        Pinned { query: self.options.query, key: self.options.key }
    }

    /// One pattern per figure: of each head, or of all together.
    fn patterns(&self) -> Result<Vec<(Arc<ReadPattern>, Option<HeadId>)>, CliError> {
        if let Some(together) = self.together() {
            return Ok(vec![(self.read(together)?, None)]);
        }
        self.ids()?.into_iter().map(|id| Ok((self.read(Heads::One(id))?, Some(id)))).collect()
    }

    fn drawn(&self, scene: Box<dyn Scene>, table: Box<dyn Fn() -> Table>, label: String, id: Option<HeadId>) -> Drawn {
        let view_text = match self.options.view {
            ViewKind::Heads => "Attention lines",
            ViewKind::Heatmap => "Attention patterns (rows: queries, columns: keys)",
            ViewKind::Image => "Attention on the picture",
            ViewKind::Scatter | ViewKind::Matrix => "Joint query–key spaces",
        };
        let origin = self.origin.clone();
        Drawn { scene, table, layer: id.map(|id| id.layer), head: id.map(|id| id.head), label, view_text, origin }
    }

    fn heads(&self) -> Result<Vec<Drawn>, CliError> {
        let filter = self.options.filter();
        let figure = |heads: Vec<HeadLines>, ids: &[HeadId], id: Option<HeadId>| {
            let subject = self.subject(ids);
            let label = if self.options.minus.is_some() || id.is_none() { subject.clone() } else { heads_text(ids) };
            let scene = HeadsScene { heads, subject, filter, pinned: self.pinned(), origin: self.origin.clone() };
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
            let lines = HeadLines::new(0, self.subject(&ids), read, filter);
            return Ok(vec![figure(vec![lines], &ids, None)]);
        }
        let lines = |id: HeadId, name: String| -> Result<HeadLines, CliError> {
            Ok(HeadLines::new(id.head, name, self.read(Heads::One(id))?, filter))
        };
        // One figure per head where files or places on the sheet are asked for by head, else one per layer.
        if names(self.options, "{head}") || self.options.sheet.is_some() && self.layers.len() == 1 && self.heads.is_none() {
            let one = |id: HeadId| Ok(figure(vec![lines(id, format!("Head {}", id.head))?], &[id], Some(id)));
            return self.ids()?.into_iter().map(one).collect();
        }
        let of_layer = |&layer: &usize| {
            let ids: Vec<HeadId> =
                self.head_numbers(layer).into_iter().map(|head| HeadId { stack: self.stack, layer, head }).collect();
            let name = |id: &HeadId| if ids.len() == 1 { format!("Head {}", id.head) } else { id.head.to_string() };
            let mut heads: Vec<HeadLines> = ids.iter().map(|id| lines(*id, name(id))).collect::<Result<_, _>>()?;
            if let (Some(first), true) = (heads.first_mut(), ids.len() > 1) {
                first.name = format!("Head {}", first.name);
            }
            Ok(figure(heads, &ids, ids.first().copied()))
        };
        self.layers.iter().map(of_layer).collect()
    }

    fn heatmaps(&self) -> Result<Vec<Drawn>, CliError> {
        let patterns = self.patterns()?;
        let high = |read: &ReadPattern| if read.signed { read.bound() } else { read.range.1 };
        let shared = patterns.iter().map(|(read, _)| high(read)).fold(0.0, f32::max);
        let figure = |(read, id): (Arc<ReadPattern>, Option<HeadId>)| {
            let subject = self.subject(&read.heads);
            let scene = HeatmapScene {
                read: Arc::clone(&read),
                subject: subject.clone(),
                map: self.options.colormap.unwrap_or_default(),
                log: self.options.log,
                high: self.options.shared_scale.then_some(shared),
                values: self.options.values,
                pinned: self.pinned(),
                origin: self.origin.clone(),
            };
            self.drawn(Box::new(scene), Box::new(move || data::heatmap(&read)), capitalised(&subject), id)
        };
        Ok(patterns.into_iter().map(figure).collect())
    }

    fn images(&self) -> Result<Vec<Drawn>, CliError> {
        let Some((image, side)) = self.capture.image().zip(self.capture.picture_side()) else {
            return Err(no_picture(self.capture));
        };
        let picks_patches = self.stack.query_side() == side;
        if self.stack.key_side() != side {
            let message = format!("the {} stack does not attend to the picture: choose another --stack", self.stack);
            return Err(CliError::Failed(message));
        }
        if self.options.words {
            return Err(CliError::Usage("patches are no words: leave out --words".to_owned()));
        }
        let picked = match (self.options.query, self.options.key) {
            (Some(query), _) => (Subject::Token(query), Role::Query),
            (None, Some(key)) if picks_patches => (Subject::Token(key), Role::Key),
            _ if picks_patches && image.n_prefix > 0 => (Subject::Token(0), Role::Query),
            _ => (Subject::Mean, Role::Query),
        };
        let partner = self.options.key.filter(|_| picked.1 == Role::Query);
        let sampling = if self.options.smooth { Sampling::Smooth } else { Sampling::Crisp };
        let look = OverlayLook {
            map: self.options.colormap.unwrap_or(ColorMap::Magma),
            sampling,
            opacity: self.options.opacity,
            contour: self.options.contour,
        };
        let figure = |(read, id): (Arc<ReadPattern>, Option<HeadId>)| {
            let subject = self.subject(&read.heads);
            let scene = ImageScene {
                read,
                image: image.clone(),
                names: names_of(self.capture.key_tokens(self.stack)),
                picks_patches,
                picked,
                partner,
                look,
                subject: subject.clone(),
                origin: self.origin.clone(),
            };
            let numbers = scene.clone();
            self.drawn(Box::new(scene), Box::new(move || data::image(&numbers)), capitalised(&subject), id)
        };
        Ok(self.patterns()?.into_iter().map(figure).collect())
    }

    fn names(&self) -> [Vec<String>; 2] {
        [self.capture.query_tokens(self.stack), self.capture.key_tokens(self.stack)].map(names_of)
    }

    fn plane(&self, id: HeadId) -> Result<HeadProjection, CliError> {
        let plane = projection::project_head(self.capture, id, ProjectionOptions::default());
        plane.ok_or_else(|| CliError::Failed(format!("the queries and keys of {} {id} were not recorded", id.stack)))
    }

    fn not_of_planes(&self) -> Result<(), CliError> {
        let options = self.options;
        if options.aggregate.is_some() || options.minus.is_some() || options.words {
            let view = options.view.name();
            let message =
                format!("{view} shows queries and keys, not patterns: leave out --aggregate, --minus and --words");
            return Err(CliError::Usage(message));
        }
        Ok(())
    }

    fn scatters(&self) -> Result<Vec<Drawn>, CliError> {
        self.not_of_planes()?;
        let figure = |id: HeadId| {
            let (plane, names) = (self.plane(id)?, self.names());
            let scene = ScatterScene {
                plane: plane.clone(),
                read: self.read(Heads::One(id)).ok(),
                names: names.clone(),
                stack: self.stack,
                color: self.options.color_by,
                pinned: self.pinned(),
                subject: heads_text(&[id]),
                origin: self.origin.clone(),
            };
            let table = Box::new(move || data::planes(std::slice::from_ref(&plane), &names));
            Ok(self.drawn(Box::new(scene), table, capitalised(&heads_text(&[id])), Some(id)))
        };
        self.ids()?.into_iter().map(figure).collect()
    }

    fn matrix(&self) -> Result<Vec<Drawn>, CliError> {
        self.not_of_planes()?;
        let Some(spec) = self.capture.model().stack(self.stack) else { return Ok(Vec::new()) };
        let projected = projection::project(self.capture, self.stack, ProjectionOptions::default(), &mut |_, _| true);
        let Some(projection) = projected else {
            let message = format!("the queries and keys of the {} stack were not recorded", self.stack);
            return Err(CliError::Failed(message));
        };
        let (planes, names) = (projection.heads.clone(), self.names());
        let subject = match self.stack {
            StackKind::SelfAttention => "all heads".to_owned(),
            stack => format!("all heads of the {stack} stack"),
        };
        let scene = MatrixScene {
            grid: (spec.layers.len(), spec.max_heads()),
            projection,
            kinds: match self.stack {
                StackKind::Cross => ["Queries of the decoder", "Keys of the encoder"],
                _ => ["Queries", "Keys"],
            },
            color: self.options.color_by,
            pinned: self.pinned(),
            subject: subject.clone(),
            origin: self.origin.clone(),
        };
        let table = Box::new(move || data::planes(&planes, &names));
        Ok(vec![self.drawn(Box::new(scene), table, capitalised(&subject), None)])
    }
}

/// Whether the file's name asks for one file per layer or head.
fn names(options: &RenderOptions, placeholder: &str) -> bool {
    options.out.as_ref().is_some_and(|out| out.to_string_lossy().contains(placeholder))
}

/// The stack that was asked for, or the one that the view is most about.
fn stack(options: &RenderOptions, capture: &Capture) -> Result<StackKind, CliError> {
    let model = capture.model();
    if let Some(stack) = options.stack {
        if model.stack(stack).is_none() {
            let there: Vec<&str> = model.stacks.iter().map(|stack| stack.kind.name()).collect();
            return Err(CliError::Failed(format!("{} has no {stack} stack: it has {}", model.name, there.join(", "))));
        }
        return Ok(stack);
    }
    if options.view == ViewKind::Image {
        let side = capture.picture_side().ok_or_else(|| no_picture(capture))?;
        let attends = [StackKind::Cross, StackKind::SelfAttention, StackKind::Vision, StackKind::Encoder];
        let found = attends.into_iter().find(|stack| model.stack(*stack).is_some() && stack.key_side() == side);
        return found.ok_or_else(|| no_picture(capture));
    }
    // What a writer attends to is what an encoder–decoder is looked at for.
    let cross = model.stack(StackKind::Cross).map(|stack| stack.kind);
    cross.or_else(|| model.stacks.first().map(|stack| stack.kind)).ok_or_else(|| {
        CliError::Failed("there is nothing to draw: the capture has no attention".to_owned())
    })
}

fn no_picture(capture: &Capture) -> CliError {
    let name = &capture.model().name;
    CliError::Failed(format!(
        "{name} saw no picture, so there is nothing to lay attention over: choose heads, heatmap, scatter or matrix"
    ))
}

fn refused(refusal: reading::Refusal) -> CliError {
    CliError::Failed(refusal.to_string())
}

/// What a person reads for each token; its position where it has no text.
fn names_of(tokens: &[Token]) -> Vec<String> {
    let name = |(at, token): (usize, &Token)| if token.text.is_empty() { format!("#{at}") } else { token.text.clone() };
    tokens.iter().enumerate().map(name).collect()
}

/// Model and input, in words.
fn origin(capture: &Capture) -> String {
    let (model, input) = (capture.model(), capture.input());
    let quoted = |text: &String| {
        let short: String = text.chars().take(MAX_QUOTED).collect();
        let rest = if short.len() < text.len() { "…" } else { "" };
        format!("“{short}{rest}”")
    };
    let texts = [&input.text, &input.text_b].into_iter().flatten().map(quoted);
    let image = input.image.iter().map(|name| format!("picture {name}"));
    let target = input.target.iter().map(|text| format!("target {}", quoted(text)));
    let input: Vec<String> = texts.chain(image).chain(target).collect();
    if input.is_empty() { format!("Model: {}", model.name) } else { format!("Model: {}; input: {}", model.name, input.join(", ")) }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

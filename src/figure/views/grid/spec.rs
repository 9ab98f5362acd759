//! All heads: what the view is, and its figure.

use std::sync::Arc;

use super::{CellsAs, KnownHeads, Places, high, lines, lines::CellLines, recorded, title};
use crate::{
    analysis::{
        detect::{self, Detector},
        head_statistics::{self, Metric},
        reading::{Heads, ReadPattern},
    },
    figure::{
        ViewKind, data,
        data::Table,
        page::{Captions, Scene},
        small::{SmallSheet, Titled},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{
            DetailsPart, Facts, FigureExtent, Pinned, ViewGroup, ViewSpec,
            heads::{HeadLines, HeadsScene, which_lines},
            heatmap::HeatmapScene,
            image, joined, spec,
        },
    },
    ids::HeadId,
    text::{grouped, share_text},
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Grid,
    label: "All heads",
    name: "grid",
    former_names: &[],
    synonyms: &["model view", "all heads", "attention of every head", "thumbnails of heads"],
    help: "Attention of every head as small maps, lines or pictures: rows are layers, or heads sorted and grouped",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts { is_on_pages: true, details: &[DetailsPart::Head], ..Facts::PATTERNS },
    extent: FigureExtent::Stack,
    options: &["grid", "heatmap", "heads", "image"],
    fields: |options, scope, visit| {
        options.grid.visit(scope, visit);
        let cells = options.grid.cells;
        if scope.all || cells == CellsAs::Heatmap {
            options.heatmap.visit_colors(scope, "Grid", visit);
        }
        if scope.all || cells == CellsAs::Lines {
            options.heads.visit(scope, visit);
        }
        if scope.all || cells == CellsAs::Overlay {
            options.image.visit_cells("Grid", visit);
        }
    },
    said: None,
    color_map: |options| match options.grid.cells {
        CellsAs::Heatmap | CellsAs::Lines => spec::color_map(options),
        CellsAs::Overlay => options.image.colors(),
    },
    needs: spec::patterns,
    wants: &[],
    unavailable: spec::available,
    question: |topic| match (topic.options.grid.sort_by, topic.pinned) {
        (Some(Metric::Kind(Detector::Content)), Pinned { query: None, key: None }) => topic.picks(),
        _ => topic.compares(),
    },
    caveat: |topic| topic.of_weights(),
    sheet_text: |resolved| {
        resolved.pattern_text(match resolved.spec.options.grid.cells {
            CellsAs::Heatmap => "Attention of every head (rows: queries, columns: keys)",
            CellsAs::Lines => "Attention of every head (left: queries, right: keys)",
            CellsAs::Overlay => "Attention of every head on the picture",
        })
    },
    figures,
};

/// The widest that a sheet becomes by itself and what suits a cell, in points: how many lines a cell has room for does
/// not depend on the paper.
const SHEET_PT: f32 = 1040.0;
const CELL_PT: f32 = 150.0;

/// The places of the heads that are meant.
///
/// # Errors
/// When they are sorted by a number that none of them has.
pub fn places_of(resolved: &ResolvedSpec<'_>) -> Result<Places, FigureError> {
    let (capture, spec) = (resolved.capture, resolved.spec);
    let options = spec.options.grid;
    let is_meant = |head: &HeadId| {
        resolved.layers.contains(&head.layer) && (spec.heads.is_empty() || spec.heads.contains(&head.head))
    };
    let mut layers = recorded(capture, resolved.stack);
    for heads in &mut layers {
        heads.retain(is_meant);
    }
    let order = options.sort_by.and_then(|score| head_statistics::order(capture, resolved.stack, score, &mut || true));
    if let Some((score, why)) = order.as_ref().and_then(|order| Some((order.score, order.heads.as_ref().err()?))) {
        return Err(FigureError::Failed(format!("heads have no number for {}: {why}", score.title().to_lowercase())));
    }
    let kinds = if options.needs_kinds() { detect::kinds(capture, resolved.stack, &mut || true) } else { None };
    Ok(Places::arranged(options, &layers, KnownHeads { order: order.as_ref(), kinds: kinds.as_ref() }))
}

/// The cells of a figure, with what is to be said of them, and their numbers.
struct Drawn {
    scenes: Vec<Box<dyn Scene>>,
    caption: String,
    table: Box<dyn Fn() -> Table>,
}

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let spec = resolved.spec;
    if spec.together.is_some() || spec.minus.is_some() {
        let message = "grid shows every head for itself: leave out --aggregate and --minus".to_owned();
        return Err(FigureError::Usage(message));
    }
    let places = places_of(resolved)?;
    let heads: Vec<(HeadId, Option<f32>)> = places.heads().collect();
    let read = |&(head, _): &(HeadId, Option<f32>)| resolved.read(Heads::One(head));
    let patterns: Vec<Arc<ReadPattern>> = heads.iter().map(read).collect::<Result<_, _>>()?;
    let Drawn { scenes, caption, table } = match spec.options.grid.cells {
        CellsAs::Heatmap => as_heatmaps(resolved, patterns),
        CellsAs::Lines => as_lines(resolved, &heads, &patterns, places.n_cols),
        CellsAs::Overlay => as_pictures(resolved, &patterns)?,
    };
    let titled = |((head, score), scene): (&(HeadId, Option<f32>), Box<dyn Scene>)| Titled {
        title: title(*head, *score),
        place: Some((head.layer, head.head)),
        scene,
    };
    let maps: Vec<Titled> = heads.iter().zip(scenes).map(titled).collect();
    let subject = match spec.options.grid.words().as_str() {
        "" => "All heads".to_owned(),
        by => format!("Heads {by}"),
    };
    let captions = Captions::both(joined([format!("{subject}: {}", (SPEC.sheet_text)(resolved)).as_str(), &caption]));
    let sheet = SmallSheet::new(maps, places.n_cols, captions).map_err(|_| {
        FigureError::Failed(
            "there are fewer than two heads to show: name more layers or heads, or draw a heatmap".to_owned(),
        )
    })?;
    let groups = places.groups.iter().map(|group| (group.title.clone(), group.n_heads)).collect();
    Ok(vec![resolved.named(Box::new(sheet.grouped(groups)), table, subject, None)])
}

fn as_heatmaps(resolved: &ResolvedSpec<'_>, patterns: Vec<Arc<ReadPattern>>) -> Drawn {
    let spec = resolved.spec;
    let high = high(spec.options.grid, &spec.reading.source);
    let scene = |read: &Arc<ReadPattern>| -> Box<dyn Scene> {
        Box::new(HeatmapScene {
            read: Arc::clone(read),
            subject: resolved.subject(&read.heads),
            options: spec.options.heatmap.of_grid(),
            high,
            pinned: resolved.pinned(),
        })
    };
    let scenes = patterns.iter().map(scene).collect();
    let table = Box::new(move || all(patterns.iter().map(|read| data::heatmap(read))));
    Drawn { scenes, caption: String::new(), table }
}

fn as_lines(
    resolved: &ResolvedSpec<'_>,
    heads: &[(HeadId, Option<f32>)],
    patterns: &[Arc<ReadPattern>],
    n_cols: usize,
) -> Drawn {
    let spec = resolved.spec;
    let options = spec.options.heads.of_grid();
    let most = lines::most_lines((SHEET_PT / n_cols.max(1) as f32).min(CELL_PT));
    let lines = |((head, _), read): (&(HeadId, Option<f32>), &Arc<ReadPattern>)| {
        HeadLines::new(head.head, format!("Head {}", head.head), Arc::clone(read), options.filter())
    };
    let all_lines: Vec<HeadLines> = heads.iter().zip(patterns).map(lines).collect();
    let scene = |lines: &HeadLines| -> Box<dyn Scene> {
        let scene = HeadsScene {
            heads: vec![lines.clone()],
            subject: resolved.subject(&lines.read.heads),
            options: options.clone(),
            high: None,
            pinned: resolved.pinned(),
            has_legend: false,
        };
        Box::new(CellLines { scene, most })
    };
    let scenes = all_lines.iter().map(scene).collect();
    let strongest = |lines: &HeadLines| lines.set.strongest(most);
    let drawn: Vec<(usize, f64)> = all_lines.iter().map(strongest).collect();
    let n_drawn: usize = drawn.iter().map(|(n, _)| n).sum();
    let n_total: usize = all_lines.iter().map(|lines| lines.set.n_total).sum();
    let mass = drawn.iter().map(|(_, mass)| mass).sum::<f64>()
        / all_lines.iter().map(|lines| lines.set.mass_total).sum::<f64>().max(f64::MIN_POSITIVE);
    let of = if spec.reading.source.explained().is_some() { "the sum of all absolute values" } else { "the attention" };
    let caption = format!(
        "{} of {} lines, {} of {of}: {}, at most {} in a cell",
        grouped(n_drawn),
        grouped(n_total),
        share_text(mass),
        which_lines(options.filter()),
        grouped(most),
    );
    let table = Box::new(move || all(all_lines.iter().map(|lines| data::heads(std::slice::from_ref(lines)))));
    Drawn { scenes, caption, table }
}

fn as_pictures(resolved: &ResolvedSpec<'_>, patterns: &[Arc<ReadPattern>]) -> Result<Drawn, FigureError> {
    let scenes = image::of_heads(resolved, patterns, resolved.spec.options.grid.own_scale)?;
    let caption = scenes.first().map(image::ImageScene::picked_text).unwrap_or_default();
    let boxed = |scene: &image::ImageScene| -> Box<dyn Scene> { Box::new(scene.clone()) };
    Ok(Drawn {
        caption: crate::text::capitalised(&caption),
        scenes: scenes.iter().map(boxed).collect(),
        table: Box::new(move || all(scenes.iter().map(data::image))),
    })
}

fn all(tables: impl Iterator<Item = Table>) -> Table {
    let mut all = Table::default();
    tables.for_each(|table| all.append(table));
    all
}

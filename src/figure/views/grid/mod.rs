//! Small patterns of every head of a stack: what the view is, its options, the places of the heads, and its figure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    DetailsPart, Facts, FigureExtent, Pinned, ViewGroup, ViewScope, ViewSpec, heatmap::HeatmapScene, matrix::columns,
    spec,
};
use crate::{
    analysis::{
        attention,
        detect::{self, Detector, KindRanking},
        reading::{Heads, ReadPattern, Source},
    },
    capture::Capture,
    figure::{
        ViewKind, data,
        data::Table,
        page::Captions,
        small::{SmallSheet, Titled},
        spec::{FigureError, NamedScene, ResolvedSpec},
    },
    ids::{HeadId, StackKind},
    options::{FieldValue, OptionField, Visit, choose_with},
    text::decimal_text,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Grid,
    label: "All heads",
    name: "grid",
    former_names: &[],
    synonyms: &["model view", "all heads", "attention of every head", "thumbnails of heads"],
    help: "Attention of every head as small maps: rows are layers, or heads sorted by a kind",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts { is_on_pages: true, details: &[DetailsPart::Head], ..Facts::PATTERNS },
    extent: FigureExtent::Stack,
    options: &["grid", "heatmap"],
    fields: |options, scope, visit| {
        options.grid.visit(scope, visit);
        options.heatmap.visit_colors(scope, "Grid", visit);
    },
    said: None,
    color_map: spec::color_map,
    needs: spec::patterns,
    wants: &[],
    unavailable: spec::available,
    question: |topic| match (topic.options.grid.sort_by, topic.pinned) {
        (Some(Detector::Content), Pinned { query: None, key: None }) => topic.picks(),
        _ => topic.compares(),
    },
    caveat: |topic| topic.of_weights(),
    sheet_text: |resolved| resolved.pattern_text("Attention of every head (rows: queries, columns: keys)"),
    figures,
};

/// Options of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GridOptions {
    /// By what score heads are sorted, highest first; none for rows of layers.
    pub sort_by: Option<Detector>,
    /// Whether heads below the threshold of that kind are left out.
    pub of_kind: bool,
    /// Whether the colours of each head end at its own largest value, not all at one.
    pub own_scale: bool,
}

impl GridOptions {
    /// Sorts heads by a score.
    pub const fn sort(&mut self, by: Detector) {
        self.sort_by = Some(by);
    }

    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let of_kind = |kind: Detector| (Some(kind), kind.name(), kind.definition().title);
        let orders: Vec<_> =
            [(None, "layer", "Layer and head")].into_iter().chain(Detector::orders().map(of_kind)).collect();
        let words = ("sort_by", "Sort by", "Order of the maps: layer, or a score of heads, highest first");
        choose_with(visit, words, &mut self.sort_by, &orders, |field| {
            field.placeholder("KIND").strict().heading("Grid")
        });
        if scope.all || self.sort_by.is_some_and(|by| by.definition().threshold.is_some()) {
            let meaning = "Leave out heads whose score is below the threshold of the kind that they are sorted by";
            let value = FieldValue::Flag(&mut self.of_kind);
            visit(OptionField::new("of_kind", "Only heads of this kind", meaning, value).strict());
        }
        let meaning =
            "Colours of each head end at its own largest value: faint patterns show, heads cannot be compared";
        let value = FieldValue::Flag(&mut self.own_scale);
        visit(OptionField::new("own_scale", "Each head on its own scale", meaning, value).strict());
    }
}

/// The places of heads in a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    pub n_cols: usize,
    /// Row by row, each with the score that it is sorted by; none where a layer has fewer heads than others.
    pub cells: Vec<Option<(HeadId, Option<f32>)>>,
    /// Whether rows are layers and columns heads.
    pub by_layer: bool,
}

impl Places {
    /// Rows of layers, each with the heads that are meant.
    pub fn by_layer(layers: &[Vec<HeadId>]) -> Self {
        let n_cols = layers.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let row = |heads: &Vec<HeadId>| {
            let cells: Vec<_> = heads.iter().map(|head| Some((*head, None))).collect();
            cells.into_iter().chain(std::iter::repeat(None)).take(n_cols).collect::<Vec<_>>()
        };
        Self { n_cols, cells: layers.iter().flat_map(row).collect(), by_layer: true }
    }

    /// Heads in rows of `n_cols`.
    pub fn in_columns(heads: &[HeadId], n_cols: usize) -> Self {
        Self { n_cols, cells: heads.iter().map(|head| Some((*head, None))).collect(), by_layer: false }
    }

    /// Heads that have a score, highest first; `only` those of the kind, where the score makes one.
    pub fn by_kind(kind: &KindRanking, only: bool) -> Self {
        let only = only && kind.detector.definition().threshold.is_some();
        let ranked = &kind.ranked()[..if only { kind.n_of_kind() } else { kind.ranked().len() }];
        let cells: Vec<_> = ranked.iter().map(|(head, score)| Some((*head, Some(*score)))).collect();
        Self { n_cols: columns(cells.len()), cells, by_layer: false }
    }

    /// Number of rows and columns.
    pub const fn grid(&self) -> (usize, usize) {
        (self.cells.len().div_ceil(self.n_cols), self.n_cols)
    }

    /// The head in a row and a column, with its score.
    pub fn at(&self, (row, col): (usize, usize)) -> Option<(HeadId, Option<f32>)> {
        self.cells.get(row * self.n_cols + col).copied().flatten()
    }
}

/// The heads of a stack whose patterns were recorded, by layer.
pub fn recorded(capture: &Capture, stack: StackKind) -> Vec<Vec<HeadId>> {
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers).iter().enumerate();
    let heads = |(layer, shape): (usize, &crate::spec::LayerSpec)| {
        let heads = (0..shape.n_heads).map(|head| HeadId { stack, layer, head });
        heads.filter(|head| attention::has_pattern(capture, *head)).collect()
    };
    layers.map(heads).filter(|heads: &Vec<_>| !heads.is_empty()).collect()
}

/// The value of the last colour: 1 for weights, so that a colour means the same in every head; none where each head has
/// a scale of its own.
pub fn high(options: GridOptions, source: &Source) -> Option<f32> {
    (matches!(source, Source::Weights) && !options.own_scale).then_some(1.0)
}

/// The title of a head that stands by its score.
pub fn title(head: HeadId, score: Option<f32>) -> String {
    score.map_or_else(|| head.to_string(), |score| format!("{head} {}", decimal_text(score)))
}

fn places(resolved: &ResolvedSpec<'_>) -> Result<Places, FigureError> {
    let (capture, spec) = (resolved.capture, resolved.spec);
    let options = spec.options.grid;
    let is_meant = |head: &HeadId| {
        resolved.layers.contains(&head.layer) && (spec.heads.is_empty() || spec.heads.contains(&head.head))
    };
    let Some(sort_by) = options.sort_by else {
        let mut layers = recorded(capture, resolved.stack);
        for heads in &mut layers {
            heads.retain(is_meant);
        }
        return Ok(Places::by_layer(&layers));
    };
    let kinds = detect::kinds(capture, resolved.stack, &mut || true);
    let Some(mut kind) = kinds.and_then(|kinds| kinds.of(sort_by).cloned()) else { return Ok(Places::by_layer(&[])) };
    match &mut kind.heads {
        Ok(heads) => heads.retain(|(head, _)| is_meant(head)),
        Err(why) => {
            let title = sort_by.definition().title.to_lowercase();
            return Err(FigureError::Failed(format!("heads have no score for {title}: {why}")));
        }
    }
    Ok(Places::by_kind(&kind, options.of_kind))
}

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let spec = resolved.spec;
    if spec.together.is_some() || spec.minus.is_some() {
        let message = "grid shows every head for itself: leave out --aggregate and --minus".to_owned();
        return Err(FigureError::Usage(message));
    }
    let places = places(resolved)?;
    let heads: Vec<(HeadId, Option<f32>)> = places.cells.iter().copied().flatten().collect();
    let read = |&(head, _): &(HeadId, Option<f32>)| resolved.read(Heads::One(head));
    let patterns: Vec<Arc<ReadPattern>> = heads.iter().map(read).collect::<Result<_, _>>()?;
    let high = high(spec.options.grid, &spec.reading.source);
    let map = |((head, score), read): (&(HeadId, Option<f32>), &Arc<ReadPattern>)| Titled {
        title: title(*head, *score),
        place: Some((head.layer, head.head)),
        scene: Box::new(HeatmapScene {
            read: Arc::clone(read),
            subject: resolved.subject(&read.heads),
            options: spec.options.heatmap.of_grid(),
            high,
            pinned: resolved.pinned(),
        }),
    };
    let maps: Vec<Titled> = heads.iter().zip(&patterns).map(map).collect();
    let subject = match spec.options.grid.sort_by {
        Some(kind) => format!("Heads by {}", kind.definition().title.to_lowercase()),
        None => "All heads".to_owned(),
    };
    let captions = Captions::both(format!("{subject}: {}.", (SPEC.sheet_text)(resolved)));
    let sheet = SmallSheet::new(maps, places.n_cols, captions).map_err(|_| {
        FigureError::Failed(
            "there are fewer than two heads to show: name more layers or heads, or draw a heatmap".to_owned(),
        )
    })?;
    let table = Box::new(move || {
        let mut all = Table::default();
        for read in &patterns {
            all.append(data::heatmap(read));
        }
        all
    });
    Ok(vec![resolved.named(Box::new(sheet), table, subject, None)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(layer: usize, head: usize) -> HeadId {
        HeadId { stack: StackKind::SelfAttention, layer, head }
    }

    #[test]
    fn layers_with_fewer_heads_keep_their_rows() {
        let places = Places::by_layer(&[vec![head(0, 0)], vec![head(1, 0), head(1, 1)]]);
        assert_eq!(places.grid(), (2, 2));
        assert_eq!(places.at((0, 1)), None);
        assert_eq!(places.at((1, 1)), Some((head(1, 1), None)));
    }

    #[test]
    fn sorted_heads_come_highest_first_and_those_below_the_threshold_are_left_out() {
        let ranked = vec![(head(1, 1), 0.9), (head(0, 0), 0.7), (head(0, 1), 0.1)];
        let kind = KindRanking { detector: Detector::Previous, heads: Ok(ranked) };
        assert_eq!(Places::by_kind(&kind, false).cells.len(), 3);
        let only = Places::by_kind(&kind, true);
        let scores: Vec<f32> = only.cells.iter().flatten().filter_map(|(_, score)| *score).collect();
        assert!(!scores.is_empty() && scores.iter().all(|score| Detector::Previous.holds(*score)), "{scores:?}");
        assert_eq!(only.at((0, 0)), Some((head(1, 1), Some(0.9))));
    }
}

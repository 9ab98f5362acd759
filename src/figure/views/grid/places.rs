//! The places of heads: rows of layers, or heads sorted by a number, in groups with headings.

use super::{GridOptions, GroupBy};
use crate::{
    analysis::{
        detect::{Detector, HeadKinds},
        head_statistics::HeadOrder,
    },
    figure::views::matrix::columns,
    ids::HeadId,
    text::{counted, decimal_text},
};

/// The places of heads in a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    pub n_cols: usize,
    /// Row by row, each with the number that it is sorted by; none where a layer or a group has fewer heads than others.
    pub cells: Vec<Option<(HeadId, Option<f32>)>>,
    /// Whether rows are layers and columns heads.
    pub by_layer: bool,
    /// Headings, each above a row, in order.
    pub groups: Vec<HeadGroup>,
}

/// Heads that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadGroup {
    pub title: String,
    /// The row below its heading.
    pub first_row: usize,
    pub n_heads: usize,
}

/// A head with its number.
type Numbered = (HeadId, Option<f32>);

/// What is known of the heads, as far as an order of them needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownHeads<'a> {
    /// Their numbers, where they are sorted.
    pub order: Option<&'a HeadOrder>,
    /// Their kinds, where they are grouped by these.
    pub kinds: Option<&'a HeadKinds>,
}

impl Places {
    /// The heads of these layers as the options want them.
    pub fn arranged(options: GridOptions, layers: &[Vec<HeadId>], known: KnownHeads<'_>) -> Self {
        let heads = numbered(options, layers, known.order);
        let n_cols = columns(heads.len());
        let groups = match (options.group_by, known.order) {
            (GroupBy::Nothing | GroupBy::Number | GroupBy::Layer, None) => return Self::by_layer(layers),
            (GroupBy::Nothing, Some(_)) => return Self::in_columns(&heads, n_cols),
            (GroupBy::Layer, Some(_)) => {
                let widest = layers.iter().map(Vec::len).max().unwrap_or(0);
                return Self::grouped(of_layers(&heads), widest);
            }
            (GroupBy::Kind, order) => of_kinds(&heads, order.and_then(|order| order.score.kind()), known.kinds),
            (GroupBy::Number, Some(order)) => of_numbers(&heads, order),
        };
        Self::grouped(groups, n_cols)
    }

    /// Rows of layers, each with the heads that are meant.
    pub fn by_layer(layers: &[Vec<HeadId>]) -> Self {
        let n_cols = layers.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut places = Self { n_cols, cells: Vec::new(), by_layer: true, groups: Vec::new() };
        for heads in layers {
            places.push(heads.iter().map(|head| (*head, None)));
        }
        places
    }

    /// Heads in rows of `n_cols`.
    pub fn in_columns(heads: &[Numbered], n_cols: usize) -> Self {
        let cells = heads.iter().copied().map(Some).collect();
        Self { n_cols: n_cols.max(1), cells, by_layer: false, groups: Vec::new() }
    }

    /// Groups one below the other, each below its heading; empty ones are left out.
    fn grouped(groups: Vec<(String, Vec<Numbered>)>, n_cols: usize) -> Self {
        let titled = groups.into_iter().filter(|(_, heads)| !heads.is_empty()).map(|(title, heads)| {
            let title = format!("{title} · {}", counted(heads.len(), "head"));
            (title, heads)
        });
        Self::below_titles(titled.collect(), n_cols)
    }

    fn below_titles(groups: Vec<(String, Vec<Numbered>)>, n_cols: usize) -> Self {
        let widest = groups.iter().map(|(_, heads)| heads.len()).max().unwrap_or(0);
        let n_cols = n_cols.min(widest).max(1);
        let mut places = Self { n_cols, cells: Vec::new(), by_layer: false, groups: Vec::new() };
        for (title, heads) in groups {
            places.groups.push(HeadGroup { title, first_row: places.cells.len() / n_cols, n_heads: heads.len() });
            places.push(heads.into_iter());
        }
        places
    }

    /// The same heads in rows of another length; rows of layers stay.
    #[must_use]
    pub fn in_rows_of(self, n_cols: usize) -> Self {
        if self.by_layer || n_cols == self.n_cols {
            return self;
        }
        let mut heads = self.heads();
        if self.groups.is_empty() {
            return Self::in_columns(&heads.collect::<Vec<_>>(), n_cols);
        }
        let of_group = |group: &HeadGroup| (group.title.clone(), heads.by_ref().take(group.n_heads).collect());
        Self::below_titles(self.groups.iter().map(of_group).collect(), n_cols)
    }

    /// How many rows there are where each has so many heads.
    pub fn n_rows_of(&self, n_cols: usize) -> usize {
        if self.groups.is_empty() {
            return self.heads().count().div_ceil(n_cols.max(1));
        }
        self.groups.iter().map(|group| group.n_heads.div_ceil(n_cols.max(1))).sum()
    }

    /// Adds whole rows of heads.
    fn push(&mut self, heads: impl Iterator<Item = Numbered>) {
        self.cells.extend(heads.map(Some));
        let n_rows = self.cells.len().div_ceil(self.n_cols);
        self.cells.resize(n_rows * self.n_cols, None);
    }

    /// Number of rows and columns.
    pub const fn grid(&self) -> (usize, usize) {
        (self.cells.len().div_ceil(self.n_cols), self.n_cols)
    }

    /// The head in a row and a column, with its number.
    pub fn at(&self, (row, col): (usize, usize)) -> Option<Numbered> {
        self.cells.get(row * self.n_cols + col).copied().flatten()
    }

    /// Row and column of a head.
    pub fn of(&self, head: HeadId) -> Option<(usize, usize)> {
        let at = self.cells.iter().position(|cell| cell.is_some_and(|(known, _)| known == head))?;
        Some((at / self.n_cols, at % self.n_cols))
    }

    /// The head so many columns and rows from another: the next one that way, row after row; none beyond the ends.
    pub fn beside(&self, head: HeadId, [right, down]: [i32; 2]) -> Option<HeadId> {
        let (row, col) = self.of(head)?;
        if down == 0 {
            let at = row * self.n_cols + col;
            let next = |cell: &Option<Numbered>| cell.map(|(head, _)| head);
            return if right > 0 {
                self.cells.iter().skip(at + 1).find_map(next)
            } else {
                self.cells.iter().take(at).rev().find_map(next)
            };
        }
        let row = row.checked_add_signed(down as isize)?;
        // A shorter row ends earlier.
        (0..=col).rev().find_map(|col| self.at((row, col))).map(|(head, _)| head)
    }

    /// The heads with their numbers, in order.
    pub fn heads(&self) -> impl Iterator<Item = Numbered> {
        self.cells.iter().copied().flatten()
    }
}

/// The heads that are meant, in their order.
fn numbered(options: GridOptions, layers: &[Vec<HeadId>], order: Option<&HeadOrder>) -> Vec<Numbered> {
    let Some(order) = order else { return layers.iter().flatten().map(|head| (*head, None)).collect() };
    let kind = order.score.kind().filter(|_| options.of_kind);
    let is_meant = |(head, number): &(HeadId, f32)| {
        kind.is_none_or(|kind| kind.holds(*number)) && layers.iter().any(|heads| heads.contains(head))
    };
    let mut heads: Vec<Numbered> =
        order.ranked().iter().copied().filter(is_meant).map(|(head, number)| (head, Some(number))).collect();
    if options.lowest_first {
        heads.sort_by(|a, b| a.1.unwrap_or_default().total_cmp(&b.1.unwrap_or_default()).then(a.0.cmp(&b.0)));
    }
    heads
}

/// A group for each layer.
fn of_layers(heads: &[Numbered]) -> Vec<(String, Vec<Numbered>)> {
    let mut layers: Vec<usize> = heads.iter().map(|(head, _)| head.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    let of = |layer: usize| heads.iter().copied().filter(|(head, _)| head.layer == layer).collect();
    layers.into_iter().map(|layer| (format!("layer {layer}"), of(layer))).collect()
}

/// A group for each kind, the `named` one first and whole; then heads of none. A head of several kinds stands with the one
/// that it has the highest score for.
fn of_kinds(heads: &[Numbered], named: Option<Detector>, kinds: Option<&HeadKinds>) -> Vec<(String, Vec<Numbered>)> {
    let of_head = |head: HeadId| kinds.map(|kinds| kinds.of_head(head)).unwrap_or_default();
    let kind_of = |head: HeadId| {
        let of_head = of_head(head);
        let has_name = named.and_then(|named| of_head.iter().find(|(kind, _)| *kind == named).copied());
        // Of equal scores the first kind counts.
        has_name.or_else(|| of_head.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)))
    };
    let placed: Vec<(Option<(Detector, f32)>, Numbered)> =
        heads.iter().map(|&(head, number)| (kind_of(head), (head, number))).collect();
    let others = Detector::kinds().filter(|kind| Some(*kind) != named);
    let group = |kind: Detector| {
        let of_kind = placed.iter().filter(|(its, _)| its.is_some_and(|(its, _)| its == kind));
        let mut of_kind: Vec<(f32, Numbered)> =
            of_kind.map(|(its, head)| (its.map_or(0.0, |(_, score)| score), *head)).collect();
        // Without a number of their own heads are sorted by the score that names them.
        if of_kind.iter().all(|(_, (_, number))| number.is_none()) {
            of_kind.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.0.cmp(&b.1.0)));
            for (score, (_, number)) in &mut of_kind {
                *number = Some(*score);
            }
        }
        (kind.definition().title.to_lowercase(), of_kind.into_iter().map(|(_, head)| head).collect())
    };
    let rest = placed.iter().filter(|(kind, _)| kind.is_none()).map(|(_, head)| *head).collect();
    let groups = named.into_iter().chain(others).map(group);
    groups.chain([("no kind".to_owned(), rest)]).collect()
}

/// Heads that are of the kind and those that are not; of a number without a threshold its quarters, from the first head on.
fn of_numbers(heads: &[Numbered], order: &HeadOrder) -> Vec<(String, Vec<Numbered>)> {
    let title = order.score.title().to_lowercase();
    if let Some((kind, (least, _))) = order.score.kind().and_then(|kind| Some((kind, kind.definition().threshold?))) {
        let (is, is_not): (Vec<Numbered>, Vec<Numbered>) =
            heads.iter().partition(|(_, number)| number.is_some_and(|number| kind.holds(number)));
        let below = (format!("{title} below {}", decimal_text(least)), is_not);
        let groups = [(title, is), below];
        // The head that comes first stands in the first group.
        let is_first = heads.first().is_some_and(|(_, number)| number.is_some_and(|number| kind.holds(number)));
        let [above, below] = groups;
        return if is_first { vec![above, below] } else { vec![below, above] };
    }
    let n = heads.len();
    let quarter = |nth: usize| {
        let part = &heads[nth * n / 4..(nth + 1) * n / 4];
        let numbers = || part.iter().filter_map(|(_, number)| *number);
        let ends = [numbers().fold(f32::INFINITY, f32::min), numbers().fold(f32::NEG_INFINITY, f32::max)];
        let [low, high] = ends.map(decimal_text);
        let range = if low == high { low } else { format!("{low} to {high}") };
        (format!("{title} {range}"), part.to_vec())
    };
    (0..4).map(quarter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{
            detect::KindRanking,
            head_statistics::{Metric, Quantity},
        },
        ids::StackKind,
    };

    fn head(layer: usize, head: usize) -> HeadId {
        HeadId { stack: StackKind::SelfAttention, layer, head }
    }

    fn order(score: Metric, ranked: &[(HeadId, f32)]) -> HeadOrder {
        HeadOrder { score, heads: Ok(ranked.to_vec()) }
    }

    fn layers() -> Vec<Vec<HeadId>> {
        (0..2).map(|layer| (0..3).map(|nth| head(layer, nth)).collect()).collect()
    }

    /// Each group with its heads.
    fn groups(places: &Places) -> Vec<(String, Vec<String>)> {
        let ends = places.groups.iter().skip(1).map(|group| group.first_row).chain([places.grid().0]);
        let heads = |rows: std::ops::Range<usize>| {
            let cells = rows.flat_map(|row| (0..places.n_cols).map(move |col| (row, col)));
            cells.filter_map(|cell| Some(places.at(cell)?.0.to_string())).collect()
        };
        places.groups.iter().zip(ends).map(|(group, end)| (group.title.clone(), heads(group.first_row..end))).collect()
    }

    fn named(title: &str, heads: &[&str]) -> (String, Vec<String>) {
        (title.to_owned(), heads.iter().map(|head| (*head).to_owned()).collect())
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
        let layers = [vec![head(0, 0), head(0, 1)], vec![head(1, 1)]];
        let by = order(Detector::Previous.into(), &[(head(1, 1), 0.9), (head(0, 0), 0.7), (head(0, 1), 0.1)]);
        let known = KnownHeads { order: Some(&by), kinds: None };
        let arranged = |options| Places::arranged(options, &layers, known);
        let of = |places: &Places| places.heads().map(|(head, _)| head).collect::<Vec<_>>();
        let mut options = GridOptions::default();
        options.sort(Detector::Previous);
        assert_eq!(of(&arranged(options)), [head(1, 1), head(0, 0), head(0, 1)]);
        let only = arranged(GridOptions { of_kind: true, ..options });
        assert_eq!((of(&only), only.at((0, 0))), (vec![head(1, 1), head(0, 0)], Some((head(1, 1), Some(0.9)))));
        let lowest = arranged(GridOptions { lowest_first: true, ..options });
        assert_eq!(of(&lowest), [head(0, 1), head(0, 0), head(1, 1)]);
        let two = Places::arranged(options, &layers[..1], known);
        assert_eq!(of(&two), [head(0, 0), head(0, 1)], "only those that are meant");
    }

    #[test]
    fn heads_stand_with_their_kind_the_named_one_first_and_whole() {
        let ranking = |detector, heads: &[(HeadId, f32)]| KindRanking { detector, heads: Ok(heads.to_vec()) };
        let kinds = HeadKinds {
            stack: StackKind::SelfAttention,
            kinds: vec![
                ranking(Detector::Previous, &[(head(0, 1), 0.9), (head(0, 0), 0.55), (head(1, 2), 0.1)]),
                ranking(Detector::First, &[(head(1, 0), 0.95), (head(0, 0), 0.7), (head(1, 1), 0.65)]),
            ],
        };
        let options = GridOptions { group_by: GroupBy::Kind, ..GridOptions::default() };
        let places = Places::arranged(options, &layers(), KnownHeads { order: None, kinds: Some(&kinds) });
        let by_score = [
            named("previous token · 1 head", &["L0H1"]),
            named("first token · 3 heads", &["L1H0", "L0H0", "L1H1"]),
            named("no kind · 2 heads", &["L0H2", "L1H2"]),
        ];
        assert_eq!(groups(&places), by_score, "L0H0 is more of a head of the first token");
        assert_eq!(places.at((0, 0)), Some((head(0, 1), Some(0.9))));
        assert_eq!(places.grid(), (3, 3), "every group begins a row");

        let all = [(head(0, 1), 0.9), (head(0, 0), 0.55), (head(1, 2), 0.1), (head(1, 1), 0.05)];
        let by = order(Detector::Previous.into(), &all);
        let options = GridOptions { sort_by: Some(by.score), ..options };
        let places = Places::arranged(options, &layers(), KnownHeads { order: Some(&by), kinds: Some(&kinds) });
        let named_first = [
            named("previous token · 2 heads", &["L0H1", "L0H0"]),
            named("first token · 1 head", &["L1H1"]),
            named("no kind · 1 head", &["L1H2"]),
        ];
        assert_eq!(groups(&places), named_first);
    }

    #[test]
    fn numbers_make_groups_at_their_threshold_or_of_a_quarter_of_the_heads() {
        let all = [0.9, 0.8, 0.52, 0.4, 0.2, 0.1];
        let heads: Vec<HeadId> = layers().into_iter().flatten().collect();
        let ranked: Vec<(HeadId, f32)> = heads.iter().copied().zip(all).collect();
        let of = |score: Metric, lowest_first: bool, group_by: GroupBy| {
            let by = order(score, &ranked);
            let options = GridOptions { sort_by: Some(score), group_by, lowest_first, ..GridOptions::default() };
            groups(&Places::arranged(options, &layers(), KnownHeads { order: Some(&by), kinds: None }))
        };
        let previous = Metric::from(Detector::Previous);
        let above = named("previous token · 3 heads", &["L0H0", "L0H1", "L0H2"]);
        let below = named("previous token below 0.50 · 3 heads", &["L1H0", "L1H1", "L1H2"]);
        assert_eq!(of(previous, false, GroupBy::Number), [above, below]);
        let first = of(previous, true, GroupBy::Number).swap_remove(0);
        assert_eq!(first, named("previous token below 0.50 · 3 heads", &["L1H2", "L1H1", "L1H0"]));
        let quarters = of(Metric::Of(Quantity::Entropy), false, GroupBy::Number);
        let n: Vec<usize> = quarters.iter().map(|(_, heads)| heads.len()).collect();
        assert_eq!((n, &*quarters[1].0), (vec![1, 2, 1, 2], "entropy 0.52 to 0.80 · 2 heads"));
        let of_layers = of(previous, false, GroupBy::Layer);
        assert_eq!(of_layers[1], named("layer 1 · 3 heads", &["L1H0", "L1H1", "L1H2"]));
    }

    #[test]
    fn rows_of_another_length_keep_groups_and_order() {
        let heads: Vec<Numbered> = layers().into_iter().flatten().map(|head| (head, None)).collect();
        let groups = vec![("a".to_owned(), heads[..4].to_vec()), ("b".to_owned(), heads[4..].to_vec())];
        let places = Places::grouped(groups, 2);
        assert_eq!((places.grid(), places.n_rows_of(4)), ((3, 2), 2));
        let wide = places.clone().in_rows_of(4);
        assert_eq!((wide.grid(), wide.heads().collect::<Vec<_>>()), ((2, 4), heads.clone()));
        assert_eq!((wide.groups[1].first_row, &*wide.groups[1].title), (1, "b · 2 heads"));
        assert_eq!(wide.in_rows_of(2), places);
        let by_layer = Places::by_layer(&layers());
        assert_eq!(by_layer.clone().in_rows_of(2), by_layer);
        let plain = Places::in_columns(&heads, 2);
        assert_eq!((plain.n_rows_of(4), plain.in_rows_of(4).grid()), (2, (2, 4)));
    }

    #[test]
    fn steps_go_to_the_next_head_whatever_is_empty_between() {
        let places = Places::by_layer(&[vec![head(0, 0), head(0, 1), head(0, 2)], vec![head(1, 0)]]);
        assert_eq!(places.beside(head(0, 2), [1, 0]), Some(head(1, 0)));
        assert_eq!(places.beside(head(1, 0), [-1, 0]), Some(head(0, 2)));
        assert_eq!(places.beside(head(0, 2), [0, 1]), Some(head(1, 0)), "a shorter row ends earlier");
        assert_eq!(places.beside(head(1, 0), [0, 1]), None);
        assert_eq!(places.beside(head(1, 0), [1, 0]), None);
    }
}

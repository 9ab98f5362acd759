//! Values that colour points, of queries and of keys.

use crate::{
    analysis::{PointCloud, Space},
    ids::HeadId,
};

mod choice;
mod cost;
mod size;
mod values;
mod words;

pub use choice::{AnnotationKey, ColorBy};
pub use cost::is_quick;
use size::size_factor;
pub use size::{SizeBy, Sizing};
pub use values::{Groups, Numbers, PointValues, values};

/// Steps of a scale of colours.
const STEPS: usize = 32;
/// Groups that have a colour of their own: these differ most, to colour-blind eyes too.
const MOST_GROUPS: usize = 8;

/// The colour of one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tint {
    /// That of queries, or that of keys.
    Type,
    Step(u8),
    /// One of a few that differ.
    Group(u8),
    /// A step of the circle of hues.
    Hue(u8),
    /// Of no colour: groups beyond the first few, patches without a hue.
    Rest,
}

impl Tint {
    fn at(fraction: f32) -> Self {
        Self::Step(step(fraction))
    }

    /// Where a step lies on its scale, `0..=1`.
    pub fn fraction(step: u8) -> f32 {
        f32::from(step) / (STEPS - 1) as f32
    }
}

fn step(fraction: f32) -> u8 {
    (fraction.clamp(0.0, 1.0) * (STEPS - 1) as f32).round() as u8
}

/// What tints mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Meaning {
    /// Query or key.
    #[default]
    Type,
    /// What the ends of the scale are.
    Scale([String; 2]),
    /// The circle of hues, from red over green and blue.
    Hues,
    /// What the groups are; only those that occur have a name. The last may be [`Tint::Rest`].
    Groups(Vec<(Tint, String)>),
    /// Why there is nothing to tell; tints are those of queries and keys.
    Missing(String),
}

/// One tint per query and per key, and what they mean. Without any, points have the colours of queries and keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tints {
    pub queries: Vec<Tint>,
    pub keys: Vec<Tint>,
    pub meaning: Meaning,
    /// How large points are.
    pub sizes: Sizing,
    /// What the tints were made of.
    pub values: PointValues,
    /// The smallest and the largest of the values, where these are numbers that differ.
    pub range: Option<[f32; 2]>,
}

impl Tints {
    /// How much larger the point of a query (0) or key (1) is than where all are alike.
    pub fn factor(&self, which: usize, point: usize) -> f32 {
        if self.has_sizes() { size_factor(self.size(which, point)) } else { 1.0 }
    }

    /// The step of size of a query (0) or key (1), into [`Self::size_factors`].
    pub fn size(&self, which: usize, point: usize) -> u8 {
        let Sizing::Steps { of, .. } = &self.sizes else { return 0 };
        of.get(which).and_then(|steps| steps.get(point)).copied().unwrap_or(0)
    }

    const fn has_sizes(&self) -> bool {
        matches!(self.sizes, Sizing::Steps { .. })
    }

    /// The factors of all sizes that occur; one alone where all points are alike.
    pub fn size_factors(&self) -> Vec<f32> {
        if self.has_sizes() { (0..size::N_SIZES).map(size_factor).collect() } else { vec![1.0] }
    }
}

/// Tints together with sizes; where both tell the same, it is found out once.
pub fn looks(cloud: &PointCloud, space: Space, head: HeadId, color: ColorBy, size: SizeBy) -> Tints {
    let mut tints = tints(cloud, space, head, color);
    tints.sizes = match size.as_color() {
        None => Sizing::Same,
        Some(by) if by == color => Sizing::of(size, &tints.values),
        Some(by) => Sizing::of(size, &values(cloud, space, head, by)),
    };
    tints
}

/// The tints of the points of one cell of a space.
pub fn tints(cloud: &PointCloud, space: Space, head: HeadId, by: ColorBy) -> Tints {
    let values = values(cloud, space, head, by);
    let own = || space.sides(head.stack).map(|side| vec![Tint::Type; side.map_or(0, |side| cloud.n(side))]);
    let ([queries, keys], meaning) = match &values {
        PointValues::Type => (own(), Meaning::Type),
        PointValues::Missing(reason) => (own(), Meaning::Missing(reason.clone())),
        PointValues::Numbers(numbers) => of_numbers(numbers),
        PointValues::Groups(groups) => of_groups(groups),
    };
    let range = match &values {
        PointValues::Numbers(numbers) => Some(numbers.range()).filter(|[low, high]| low < high),
        _ => None,
    };
    Tints { queries, keys, meaning, sizes: Sizing::Same, values, range }
}

/// Numbers of queries and keys on one scale, with its ends in words.
fn of_numbers(numbers: &Numbers) -> ([Vec<Tint>; 2], Meaning) {
    let each = |tint: &dyn Fn(f32) -> Tint| numbers.of.each_ref().map(|of| of.iter().copied().map(tint).collect());
    if numbers.cyclic {
        let tint = |value: f32| if value.is_finite() { Tint::Hue(step(value)) } else { Tint::Rest };
        return (each(&tint), Meaning::Hues);
    }
    let [low, high] = numbers.ends.map_or_else(|| numbers.range(), |ends| ends.map(|(_, end)| end));
    let span = if high > low { high - low } else { 1.0 };
    let meaning = Meaning::Scale(match numbers.ends {
        Some(ends) => ends.map(|(name, _)| name.to_owned()),
        None => [low, high].map(|end| numbers.text(end)),
    });
    (each(&|value| if value.is_finite() { Tint::at((value - low) / span) } else { Tint::Type }), meaning)
}

/// A colour for each group, or for the most frequent ones where there are more groups than colours.
fn of_groups(Groups { of, names }: &Groups) -> ([Vec<Tint>; 2], Meaning) {
    let mut counts = vec![0usize; names.len()];
    for group in of.iter().flatten().flatten() {
        if let Some(count) = counts.get_mut(*group as usize) {
            *count += 1;
        }
    }
    let mut tints = vec![Tint::Rest; names.len()];
    if names.len() <= MOST_GROUPS {
        (0u8..).zip(&mut tints).for_each(|(group, tint)| *tint = Tint::Group(group));
    } else {
        let mut largest: Vec<usize> = (0..names.len()).collect();
        largest.sort_by_key(|&group| (std::cmp::Reverse(counts[group]), group));
        largest.truncate(MOST_GROUPS);
        largest.sort_unstable();
        (0u8..).zip(largest).for_each(|(color, group)| tints[group] = Tint::Group(color));
    }
    let named = names.iter().zip(&tints).zip(&counts).filter(|((_, tint), count)| **count > 0 && **tint != Tint::Rest);
    let mut meaning: Vec<(Tint, String)> = named.map(|((name, tint), _)| (*tint, name.clone())).collect();
    let n_others = tints.iter().zip(&counts).filter(|(tint, count)| **tint == Tint::Rest && **count > 0).count();
    if n_others > 0 {
        meaning.push((Tint::Rest, format!("{n_others} others")));
    }
    let tint = |group: &Option<u32>| group.and_then(|group| tints.get(group as usize)).copied().unwrap_or(Tint::Type);
    ([&of[0], &of[1]].map(|side| side.iter().map(tint).collect()), Meaning::Groups(meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(of: [Vec<f32>; 2], unit: &'static str) -> ([Vec<Tint>; 2], Meaning) {
        of_numbers(&Numbers { of, unit, ends: None, cyclic: false })
    }

    #[test]
    fn numbers_share_one_scale_and_equal_ones_one_colour() {
        let ([queries, keys], meaning) = numbers([vec![1.0, 3.0], vec![2.0, f32::NAN]], "times");
        assert_eq!((queries[0], queries[1]), (Tint::at(0.0), Tint::at(1.0)));
        assert_eq!((keys[0], keys[1]), (Tint::at(0.5), Tint::Type), "what is not a number has no place on the scale");
        assert_eq!(meaning, Meaning::Scale(["1 times".to_owned(), "3 times".to_owned()]));
        let ([equal, none], _) = numbers([vec![2.0; 3], Vec::new()], "");
        assert!(equal.iter().all(|tint| *tint == Tint::at(0.0)) && none.is_empty());
        let hues = Numbers { of: [vec![0.5, f32::NAN], Vec::new()], unit: "", ends: None, cyclic: true };
        assert_eq!(of_numbers(&hues).0[0], [Tint::Hue(16), Tint::Rest]);
    }

    #[test]
    fn groups_beyond_the_colours_share_one_and_the_legend_says_how_many() {
        let names: Vec<String> = (0..11).map(|group| format!("g{group}")).collect();
        // The first group and two others occur once, the last not at all.
        let queries: Vec<Option<u32>> = (1..8).chain(0..10).map(Some).chain([None]).collect();
        let ([tints, _], meaning) = of_groups(&Groups { of: [queries, Vec::new()], names });
        let Meaning::Groups(meaning) = meaning else { panic!("{meaning:?}") };
        let shown: Vec<&str> = meaning.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(shown, ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "2 others"]);
        assert_eq!(tints[7], Tint::Group(0));
        assert_eq!(tints[15..], [Tint::Rest, Tint::Rest, Tint::Type], "what has no group has no colour");
    }

    #[test]
    fn every_choice_is_found_by_its_name() {
        assert!(ColorBy::ALL.iter().all(|(by, name, ..)| ColorBy::from_name(name) == Some(*by)));
        assert_eq!(ColorBy::from_name("annotation:label"), Some(ColorBy::Annotation(AnnotationKey::of("label"))));
        assert_eq!(ColorBy::from_name("rainbow").or(ColorBy::from_name("annotation:")), None);
    }
}

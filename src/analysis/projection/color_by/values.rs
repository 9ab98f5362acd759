//! Values of every point, before they become colours: for colours, filters and files alike.

use super::{
    AnnotationKey, ColorBy,
    choice::{NO_ANNOTATION, NO_VALUES_OF_MANY},
    words::{KINDS, frequencies, kinds, length},
};
use crate::{
    analysis::{
        CloudToken, PointCloud, Space,
        aggregate::{self, AggregateError},
        lengths_of,
    },
    ids::{HeadId, Side},
    text::{decimal_text, whole_text},
};

/// Tokens after which colours by position repeat.
const MODULUS: usize = 5;
/// Patches of less saturation have no hue to speak of.
const GREY: f32 = 0.05;

/// One value per query and per key.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PointValues {
    /// Query or key.
    #[default]
    Type,
    /// Numbers; NaN where a point has none.
    Numbers(Numbers),
    Groups(Groups),
    Missing(String),
}

/// One number per query and per key.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Of queries and of keys, by point; NaN where there is none.
    pub of: [Vec<f32>; 2],
    /// What they count; empty for plain numbers.
    pub unit: &'static str,
    /// The ends of the scale in words and numbers; those of the numbers where it has none of its own.
    pub ends: Option<[(&'static str, f32); 2]>,
    /// Whether the ends are the same, as of hues.
    pub cyclic: bool,
}

impl Numbers {
    /// The smallest and the largest; infinities the other way round where there is none.
    pub fn range(&self) -> [f32; 2] {
        let finite = || self.of.iter().flatten().copied().filter(|value| value.is_finite());
        [finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max)]
    }

    /// A number with its unit.
    pub(super) fn text(&self, value: f32) -> String {
        let number = if value.fract() == 0.0 { whole_text(value) } else { decimal_text(value) };
        if self.unit.is_empty() || !value.is_finite() { number } else { format!("{number} {}", self.unit) }
    }
}

/// One group per query and per key.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// Of queries and of keys, by point; a place in `names`, `None` where a point has no group.
    pub of: [Vec<Option<u32>>; 2],
    /// What the groups are called.
    pub names: Vec<String>,
}

/// What is known about the points of one cell of a space; nothing is known about kinds that it does not have.
pub fn values(cloud: &PointCloud, space: Space, head: HeadId, by: ColorBy) -> PointValues {
    let sides = space.sides(head.stack);
    let there = || sides.into_iter().flatten();
    let numbers = |of: [Vec<f32>; 2], unit: &'static str, nothing: &str| {
        if of.iter().flatten().any(|value| value.is_finite()) {
            PointValues::Numbers(Numbers { of, unit, ends: None, cyclic: false })
        } else {
            PointValues::Missing(nothing.to_owned())
        }
    };
    let each = |number: &dyn Fn(CloudToken<'_>) -> f32| per_point(cloud, sides, number);
    // Patches have neither letters nor a vocabulary.
    let of_words = |number: &dyn Fn(Side) -> Vec<f32>| {
        sides.map(|side| match side {
            Some(side) if cloud.has_patches(side) => vec![f32::NAN; cloud.n(side)],
            Some(side) => number(side),
            None => Vec::new(),
        })
    };
    let of_patches = |number: &dyn Fn(Side, usize) -> Option<f32>| {
        let all = |side| (0..cloud.n(side)).map(|point| number(side, point).unwrap_or(f32::NAN)).collect();
        sides.map(|side| side.map_or_else(Vec::new, all))
    };
    // What is known of keys alone.
    let of_keys = |keys: Vec<f32>| [sides[0].map_or_else(Vec::new, |side| vec![f32::NAN; cloud.n(side)]), keys];
    let hsv = |channel: usize| {
        of_patches(&|side, point| {
            let (image, place) = cloud.place(side, point)?;
            let hsv = image.hsv(place)?;
            Some(hsv[channel]).filter(|_| channel > 0 || hsv[1] >= GREY)
        })
    };
    let nothing = |values: PointValues| match values {
        PointValues::Missing(_) => PointValues::Missing("there is no picture".to_owned()),
        values => values,
    };
    match by {
        ColorBy::ValueNorm if !space.is_joint() => {
            PointValues::Missing("values are shown under “Points are”".to_owned())
        }
        ColorBy::Received if !space.is_per_head() => PointValues::Missing("attention is received per head".to_owned()),
        ColorBy::Type => PointValues::Type,
        ColorBy::Position => {
            let of = each(&|token| token.position as f32 / token.n_positions.saturating_sub(1).max(1) as f32);
            PointValues::Numbers(Numbers { of, unit: "", ends: Some([("first", 0.0), ("last", 1.0)]), cyclic: false })
        }
        ColorBy::PositionCounted => numbers(each(&|token| token.position as f32), "", "there are no tokens"),
        ColorBy::PositionModulo => {
            let longest = there().flat_map(|side| cloud.tokens(side)).map(|token| token.n_positions).max();
            let names = (0..MODULUS.min(longest.unwrap_or(0))).map(|at| at.to_string()).collect();
            let group = |token: CloudToken<'_>| Some((token.position % MODULUS) as u32);
            PointValues::Groups(Groups { of: per_point(cloud, sides, &group), names })
        }
        ColorBy::Kind => {
            let of_side = |side| {
                let tokens = cloud.tokens(side).map(|token| (token.text, token.special));
                let kinds = kinds(tokens, &cloud.words(side), cloud.has_patches(side));
                kinds.into_iter().map(|kind| Some(u32::from(kind))).collect()
            };
            let of = sides.map(|side| side.map_or_else(Vec::new, of_side));
            PointValues::Groups(Groups { of, names: KINDS.map(ToOwned::to_owned).to_vec() })
        }
        ColorBy::Length => {
            let lengths = |side| cloud.tokens(side).map(|token| length(token.text)).collect();
            numbers(of_words(&lengths), "letters", "patches have no letters")
        }
        ColorBy::Frequency => numbers(of_words(&|side| frequencies(cloud, side)), "times", "patches have no words"),
        ColorBy::Norm => numbers(cloud.norms(space, head), "", "there are no vectors"),
        ColorBy::ValueNorm => {
            let norms = cloud.values(head).map(|values| lengths_of(&values));
            numbers(of_keys(norms.unwrap_or_default()), "", NO_VALUES_OF_MANY)
        }
        ColorBy::Received => match received(cloud, space, head) {
            Ok(received) => numbers(of_keys(received), "", "there are no keys"),
            Err(reason) => PointValues::Missing(reason.to_string()),
        },
        ColorBy::InputLength => numbers(each(&|token| token.n_positions as f32), "tokens", "there are no tokens"),
        ColorBy::Input => inputs(cloud, sides),
        ColorBy::Annotation(key) => annotation(cloud, sides, key),
        ColorBy::Row => nothing(numbers(of_patches(&|side, point| Some(cloud.place(side, point)?.1.0 as f32)), "", "")),
        ColorBy::Column => {
            nothing(numbers(of_patches(&|side, point| Some(cloud.place(side, point)?.1.1 as f32)), "", ""))
        }
        ColorBy::Radius => nothing(numbers(of_patches(&|side, point| radius(cloud, side, point)), "patches", "")),
        ColorBy::Hue => {
            let of: [Vec<f32>; 2] = hsv(0);
            if there().all(|side| (0..cloud.n(side)).all(|point| cloud.place(side, point).is_none())) {
                return PointValues::Missing("there is no picture".to_owned());
            }
            let ends = Some([("red", 0.0), ("red", 1.0)]);
            PointValues::Numbers(Numbers { of, unit: "", ends, cyclic: true })
        }
        ColorBy::Saturation => nothing(numbers(hsv(1), "", "")),
        ColorBy::Brightness => nothing(numbers(hsv(2), "", "")),
    }
}

/// What keys receive from the queries of all heads that a cell stands for.
fn received(cloud: &PointCloud, space: Space, cell: HeadId) -> Result<Vec<f32>, AggregateError> {
    let sharing = cloud.model().and_then(|model| model.layer_of(cell)).and_then(|layer| layer.sharing(cell.head));
    let heads = sharing.filter(|_| space == Space::Values).unwrap_or(cell.head..cell.head + 1);
    let mut all = aggregate::received(cloud, cell)?;
    for head in heads.skip(1) {
        let more = aggregate::received(cloud, HeadId { head, ..cell })?;
        all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    Ok(all)
}

/// How far a patch is from the centre of its picture, in patches.
fn radius(cloud: &PointCloud, side: Side, point: usize) -> Option<f32> {
    let (image, (row, column)) = cloud.place(side, point).filter(|(image, _)| image.regions.is_none())?;
    let off = |at: usize, n: usize| at as f32 - (n as f32 - 1.0) / 2.0;
    Some(off(row, image.grid.0).hypot(off(column, image.grid.1)))
}

/// The same of every token, of the sides that there are.
fn per_point<T>(cloud: &PointCloud, sides: [Option<Side>; 2], of: &dyn Fn(CloudToken<'_>) -> T) -> [Vec<T>; 2] {
    sides.map(|side| side.map_or_else(Vec::new, |side| cloud.tokens(side).map(of).collect()))
}

/// Few inputs by name, many by their order.
fn inputs(cloud: &PointCloud, sides: [Option<Side>; 2]) -> PointValues {
    let n = cloud.n_inputs();
    if n <= super::MOST_GROUPS {
        let names = (0..n).map(|nth| cloud.input_name(nth).to_owned()).collect();
        let group = |token: CloudToken<'_>| Some(token.input as u32);
        return PointValues::Groups(Groups { of: per_point(cloud, sides, &group), names });
    }
    let of = per_point(cloud, sides, &|token| token.input as f32);
    let ends = Some([("first input", 0.0), ("last input", (n - 1) as f32)]);
    PointValues::Numbers(Numbers { of, unit: "", ends, cyclic: false })
}

/// Numbers where all values are numbers, else groups in the order in which they come.
fn annotation(cloud: &PointCloud, sides: [Option<Side>; 2], key: AnnotationKey) -> PointValues {
    let missing = || PointValues::Missing(NO_ANNOTATION.to_owned());
    let Some(name) = key.name(cloud) else { return missing() };
    let of_inputs: Vec<Option<&str>> = (0..cloud.n_inputs()).map(|nth| cloud.annotation(nth, name)).collect();
    if of_inputs.iter().all(Option::is_none) {
        return missing();
    }
    let number = |text: &&str| text.trim().parse().ok().filter(|number: &f32| number.is_finite());
    if of_inputs.iter().flatten().all(|text| number(text).is_some()) {
        let numbers: Vec<f32> =
            of_inputs.iter().map(|text| text.as_ref().and_then(number).unwrap_or(f32::NAN)).collect();
        let of = per_point(cloud, sides, &|token| numbers[token.input]);
        return PointValues::Numbers(Numbers { of, unit: "", ends: None, cyclic: false });
    }
    let mut names: Vec<String> = Vec::new();
    let groups: Vec<Option<u32>> = of_inputs
        .into_iter()
        .map(|text| {
            let text = text?;
            let known = names.iter().position(|name| name == text);
            Some(known.unwrap_or_else(|| {
                names.push(text.to_owned());
                names.len() - 1
            }) as u32)
        })
        .collect();
    PointValues::Groups(Groups { of: per_point(cloud, sides, &|token| groups[token.input]), names })
}

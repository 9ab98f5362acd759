//! Points of which something holds: what colours can tell, filters can ask for.

use super::{
    PointCloud, Space,
    projection::{ColorBy, PointValues, values},
    search::Hits,
};
use crate::ids::HeadId;

/// What must hold of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub by: ColorBy,
    pub is: Is,
}

/// The answer that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Is {
    /// A number from here to there, both included. On the circle of hues the way may lead over its end.
    Between(f32, f32),
    /// One of these groups, by name.
    OneOf(Vec<String>),
}

/// The points of a cell of a space of which a condition holds; none where there is nothing to ask, or the answer is of another
/// kind than the question.
pub fn filter(cloud: &PointCloud, space: Space, head: HeadId, condition: &Condition) -> Hits {
    let [queries, keys] = among(&values(cloud, space, head, condition.by), &condition.is);
    Hits::of(cloud, head.stack, queries, keys)
}

/// Queries and keys of which it holds, by point, in ascending order.
pub fn among(values: &PointValues, is: &Is) -> [Vec<u32>; 2] {
    match (values, is) {
        (PointValues::Numbers(numbers), &Is::Between(from, to)) => {
            let wraps = numbers.cyclic && from > to;
            let inside = |x: f32| if wraps { x >= from || x <= to } else { (from..=to).contains(&x) };
            numbers.of.each_ref().map(|side| indices(side.iter().copied().map(inside)))
        }
        (PointValues::Groups(groups), Is::OneOf(names)) => {
            let wanted: Vec<bool> = groups.names.iter().map(|name| names.contains(name)).collect();
            let inside = |group: Option<u32>| group.is_some_and(|group| wanted.get(group as usize) == Some(&true));
            groups.of.each_ref().map(|side| indices(side.iter().copied().map(inside)))
        }
        _ => Default::default(),
    }
}

fn indices(wanted: impl Iterator<Item = bool>) -> Vec<u32> {
    (0u32..).zip(wanted).filter_map(|(point, wanted)| wanted.then_some(point)).collect()
}

//! Values of points that take a while to compute.

use super::ColorBy;
use crate::{
    analysis::{PointCloud, Space},
    ids::HeadId,
};

/// Multiplications that take a millisecond or two.
const QUICK_PRODUCTS: usize = 2_000_000;
/// Points about which anything else is known as soon.
const QUICK_POINTS: usize = 20_000;

/// Whether [`super::values`] take no longer than a window may wait between two pictures.
pub fn is_quick(cloud: &PointCloud, space: Space, head: HeadId, by: ColorBy) -> bool {
    match by {
        ColorBy::Type => true,
        // Every pattern is made again.
        ColorBy::Received => {
            let width = cloud.model().and_then(|model| model.layer_of(head)).map_or(0, |layer| layer.d_head);
            let pairs: usize =
                cloud.segments(head.stack).iter().map(|segment| segment.queries.len() * segment.keys.len()).sum();
            pairs.saturating_mul(width) <= QUICK_PRODUCTS
        }
        _ => space.sides(head.stack).into_iter().flatten().map(|side| cloud.n(side)).sum::<usize>() <= QUICK_POINTS,
    }
}

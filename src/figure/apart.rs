//! Names of points in a chart, beside their points and apart from each other.

use emath::{Pos2, Rect, Vec2, vec2};

/// From a point to the edge of its name: the nearest that is free is taken.
const DISTANCES_PT: [f32; 8] = [6.0, 12.0, 20.0, 30.0, 42.0, 56.0, 74.0, 96.0];
/// Directions that are tried at each distance, from right above round to the left.
const N_DIRECTIONS: usize = 16;
/// A name further away than this has a line that leads to it.
pub const LED_PT: f32 = 9.0;

/// Places for names of these sizes, in the order of their points: in the frame, off all marks and off each other. Where
/// nothing is free, the place that meets the least.
pub fn beside(points: &[(Pos2, Vec2)], marks: &[Rect], frame: Rect) -> Vec<Rect> {
    let mut places: Vec<Rect> = Vec::with_capacity(points.len());
    for (at, size) in points {
        let met = |place: &Rect| {
            let others = marks.iter().chain(&places).map(|other| place.intersect(*other));
            let met: f32 = others.filter(Rect::is_positive).map(|met| met.area()).sum();
            let inside = place.intersect(frame);
            met + size.x * size.y - if inside.is_positive() { inside.area() } else { 0.0 }
        };
        let candidates = DISTANCES_PT.iter().flat_map(|far| (0..N_DIRECTIONS).map(|nth| place(*at, *size, *far, nth)));
        let mut best: Option<(f32, Rect)> = None;
        for place in candidates {
            let met = met(&place);
            if best.is_none_or(|(least, _)| met < least - 1e-3) {
                best = Some((met, place));
            }
            if met < 1e-3 {
                break;
            }
        }
        places.extend(best.map(|(_, place)| place));
    }
    places
}

/// A name in a direction from its point, with its edge so far away.
fn place(at: Pos2, size: Vec2, far: f32, nth: usize) -> Rect {
    // To the right first, then to the left, above before below.
    let turn = std::f32::consts::TAU / N_DIRECTIONS as f32;
    let step = (nth / 2) as f32 * if nth.is_multiple_of(2) { 1.0 } else { -1.0 };
    let direction = Vec2::angled(-std::f32::consts::FRAC_PI_4 + step * turn);
    Rect::from_center_size(at + direction * (size / 2.0 + vec2(far, far)), size)
}

#[cfg(test)]
mod tests {
    use emath::pos2;

    use super::*;

    #[test]
    fn names_of_points_in_a_heap_stand_apart_in_the_frame() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, 200.0));
        let heap = (0..7).map(|nth| (pos2(8.0 + 1.5 * nth as f32, 190.0 - nth as f32), vec2(40.0, 12.0)));
        let points: Vec<(Pos2, Vec2)> = heap.collect();
        let marks: Vec<Rect> = points.iter().map(|(at, _)| Rect::from_center_size(*at, vec2(7.0, 7.0))).collect();
        let places = beside(&points, &marks, frame);
        assert_eq!(places.len(), 7);
        for (nth, place) in places.iter().enumerate() {
            assert!(frame.expand(0.1).contains_rect(*place), "{nth}: {place:?}");
            let others = places[nth + 1..].iter().chain(&marks);
            assert!(others.clone().all(|other| !place.shrink(0.1).intersects(*other)), "{nth}: {place:?}");
        }
        let alone = beside(&points[..1], &[], frame)[0];
        assert!(alone.distance_to_pos(points[0].0) < LED_PT, "a name alone is near");
    }
}

//! Texts beside points, as many as there is room for: none covers another or a mark that matters. Pure geometry.

use std::collections::HashMap;

use eframe::egui::{Pos2, Rect, Vec2, vec2};

/// Side of the squares in which texts are looked up that might be in the way.
const SQUARE_PT: f32 = 48.0;
/// Between a point and its text.
const GAP_PT: f32 = 2.0;
/// How much further out the texts of few points may stand, one after the other.
pub const AWAY_PT: [f32; 6] = [14.0, 28.0, 42.0, 56.0, 72.0, 90.0];

/// What is taken already.
#[derive(Default)]
pub struct Taken {
    squares: HashMap<(i32, i32), Vec<Rect>>,
}

impl Taken {
    fn squares(rect: Rect) -> impl Iterator<Item = (i32, i32)> {
        let at = |x: f32| (x / SQUARE_PT).floor() as i32;
        let (rows, cols) = (at(rect.top())..=at(rect.bottom()), at(rect.left())..=at(rect.right()));
        rows.flat_map(move |row| cols.clone().map(move |col| (row, col)))
    }

    /// Whether nothing is there yet.
    pub fn is_free(&self, rect: Rect) -> bool {
        Self::squares(rect).all(|square| {
            self.squares.get(&square).is_none_or(|known| known.iter().all(|other| !other.intersects(rect)))
        })
    }

    /// From now on it is.
    pub fn take(&mut self, rect: Rect) {
        for square in Self::squares(rect) {
            self.squares.entry(square).or_default().push(rect);
        }
    }

    /// The first place beside a point that is free and inside, which is then taken: to the right, to the left, above,
    /// below, at the corners; then the same `away` points further out, from where a line has to lead to the point.
    pub fn beside(&mut self, at: Pos2, size: Vec2, radius: f32, (inside, away): (Rect, &[f32])) -> Option<Rect> {
        let sides =
            [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)];
        let place = |(far, (x, y)): (f32, (f32, f32))| {
            let out = radius + GAP_PT + far;
            Rect::from_center_size(at + vec2(x, y) * (size / 2.0 + Vec2::splat(out)), size)
        };
        let mut places = [0.0].iter().chain(away).flat_map(|far| sides.map(|side| place((*far, side))));
        let found = places.find(|rect| inside.contains_rect(*rect) && self.is_free(*rect))?;
        self.take(found);
        Some(found)
    }

    /// In the middle of a place, or a little off it.
    pub fn around(&mut self, at: Pos2, size: Vec2, inside: Rect) -> Option<Rect> {
        let steps = [vec2(0.0, 0.0), vec2(0.0, -0.8), vec2(0.0, 0.8), vec2(-0.6, 0.0), vec2(0.6, 0.0)];
        let found = steps.into_iter().map(|step| Rect::from_center_size(at + step * size, size));
        let found = found.into_iter().find(|rect| inside.contains_rect(*rect) && self.is_free(*rect))?;
        self.take(found);
        Some(found)
    }
}

/// The numbers `0..n` in an order that is spread over all of them from the start, so that the first few are a fair
/// choice: bits reversed.
pub fn spread(n: usize) -> impl Iterator<Item = usize> {
    let bits = usize::BITS - n.saturating_sub(1).leading_zeros();
    (0..1usize << bits)
        .map(move |idx| if bits == 0 { 0 } else { idx.reverse_bits() >> (usize::BITS - bits) })
        .filter(move |idx| *idx < n)
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn no_text_covers_another_however_many_points_there_are() {
        let inside = Rect::from_min_size(pos2(10.0, 10.0), vec2(400.0, 300.0));
        let (mut taken, mut placed) = (Taken::default(), Vec::new());
        for nth in 0..4000u32 {
            let at = pos2(10.0 + (nth * 7919 % 4001) as f32 * 0.1, 10.0 + (nth * 104_729 % 3001) as f32 * 0.1);
            let size = vec2(12.0 + (nth % 9) as f32 * 7.0, 11.0);
            placed.extend(taken.beside(at, size, 3.0, (inside, &[])));
        }
        assert!(placed.len() > 100, "{}", placed.len());
        for (idx, a) in placed.iter().enumerate() {
            assert!(inside.contains_rect(*a));
            assert!(placed[..idx].iter().all(|b| !a.intersects(*b)), "{a:?}");
        }
    }

    /// Where there is room around a crowd, every one of few points has its text.
    #[test]
    fn every_point_of_a_small_crowd_has_a_text() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let points: Vec<Pos2> =
            (0..22).map(|nth| pos2(170.0, 140.0) + vec2((nth % 5) as f32, (nth / 5) as f32) * 12.0).collect();
        let mut taken = Taken::default();
        for at in &points {
            taken.take(Rect::from_center_size(*at, Vec2::splat(5.6)));
        }
        let placed: Vec<Option<Rect>> =
            points.iter().map(|at| taken.beside(*at, vec2(40.0, 13.0), 3.5, (inside, &AWAY_PT))).collect();
        for (nth, (at, rect)) in points.iter().zip(&placed).enumerate() {
            let rect = rect.unwrap_or_else(|| panic!("point {nth} has none"));
            assert!(inside.contains_rect(rect) && rect.distance_to_pos(*at) < 120.0, "{at:?} {rect:?}");
        }
    }

    #[test]
    fn every_point_has_its_turn_once_and_the_first_ones_are_far_apart() {
        for n in [0, 1, 2, 5, 64, 1000] {
            let mut all: Vec<usize> = spread(n).collect();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
        assert_eq!(spread(1000).take(4).collect::<Vec<_>>(), [0, 512, 256, 768]);
    }
}

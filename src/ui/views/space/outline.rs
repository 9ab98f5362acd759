//! Boxes and lassos: which points lie inside. Pure geometry.

use eframe::egui::{Pos2, Rect};

/// What is drawn with the pointer to pick points.
#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    /// From one corner to the other.
    Box(Pos2, Pos2),
    /// Closed by a line from its end to its start.
    Lasso(Vec<Pos2>),
}

impl Outline {
    /// Goes on to where the pointer is now.
    pub fn extend(&mut self, to: Pos2) {
        match self {
            Self::Box(_, corner) => *corner = to,
            Self::Lasso(corners) => {
                // Steps of less than a point say nothing.
                if corners.last().is_none_or(|last| last.distance(to) >= 1.0) {
                    corners.push(to);
                }
            }
        }
    }

    /// Everything inside lies in it.
    pub fn bounds(&self) -> Rect {
        match self {
            Self::Box(a, b) => Rect::from_two_pos(*a, *b),
            Self::Lasso(corners) => Rect::from_points(corners),
        }
    }

    /// Whether a point lies inside; where a lasso crosses itself, what it goes around an odd number of times.
    pub fn contains(&self, at: Pos2) -> bool {
        let Self::Lasso(corners) = self else { return self.bounds().contains(at) };
        let Some(last) = corners.last() else { return false };
        let mut inside = false;
        let mut from = *last;
        for &to in corners {
            if (from.y > at.y) != (to.y > at.y) {
                let x = (to.x - from.x).mul_add((at.y - from.y) / (to.y - from.y), from.x);
                inside ^= at.x < x;
            }
            from = to;
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn a_lasso_holds_exactly_what_lies_inside() {
        // A horseshoe, open at the top.
        let corners = [(0.0, 0.0), (2.0, 0.0), (2.0, 6.0), (6.0, 6.0), (6.0, 0.0), (8.0, 0.0), (8.0, 9.0), (0.0, 9.0)];
        let lasso = Outline::Lasso(corners.map(|(x, y)| pos2(x, y)).to_vec());
        let inside = |x: usize, y: usize| {
            let (x, y) = (x as f32 + 0.5, y as f32 + 0.5);
            (0.0..8.0).contains(&x) && (0.0..9.0).contains(&y) && !((2.0..6.0).contains(&x) && y < 6.0)
        };
        for (x, y) in (0..10).flat_map(|x| (0..11).map(move |y| (x, y))) {
            assert_eq!(lasso.contains(pos2(x as f32 + 0.5, y as f32 + 0.5)), inside(x, y), "{x} {y}");
        }
        let eight = Outline::Lasso([(0.0, 0.0), (4.0, 4.0), (4.0, 0.0), (0.0, 4.0)].map(|(x, y)| pos2(x, y)).to_vec());
        assert!(eight.contains(pos2(3.5, 2.0)) && eight.contains(pos2(0.5, 2.0)) && !eight.contains(pos2(2.0, 3.5)));
        assert!(!Outline::Lasso(Vec::new()).contains(Pos2::ZERO));
    }

    #[test]
    fn a_box_is_drawn_from_any_corner() {
        let mut outline = Outline::Box(pos2(5.0, 5.0), pos2(5.0, 5.0));
        outline.extend(pos2(1.0, 9.0));
        assert!(outline.contains(pos2(2.0, 8.0)) && !outline.contains(pos2(2.0, 4.0)));
        let mut lasso = Outline::Lasso(vec![pos2(0.0, 0.0)]);
        lasso.extend(pos2(0.2, 0.2));
        lasso.extend(pos2(5.0, 0.0));
        assert_eq!(lasso, Outline::Lasso(vec![pos2(0.0, 0.0), pos2(5.0, 0.0)]));
    }
}

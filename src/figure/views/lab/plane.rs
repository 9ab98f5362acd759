//! Words in the plane of their two principal components, differences of pairs as arrows.

use std::sync::Arc;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{Hit, Piece, ROW_PT, TitledPiece, room};
use crate::{
    analysis::explain::report::{ColumnValues, Report, TableColumn, Value},
    figure::{
        font::Align,
        list::Rgba,
        measure::{GRID, text_size::SMALL},
        path::Path,
        pen::Pen,
    },
    text::{counted, norm_text, share_text},
};

/// Sides of the plane where there is room, its least width, and its least height.
const PLANE_PT: (f32, f32) = (520.0, 360.0);
const LEAST_PT: f32 = 220.0;
const LEAST_HEIGHT_PT: f32 = 160.0;
/// Around the words, and room for the axis below them.
const MARGIN_PT: f32 = 14.0;
const BELOW_PT: f32 = ROW_PT + 2.0;
const MOST_NAME_PT: f32 = 110.0;
const RADIUS_PT: f32 = 2.5;
/// How far an arrow stays away from its words; width and length of its head.
const APART_PT: f32 = 5.0;
const HEAD_PT: (f32, f32) = (3.0, 7.0);
/// Places along an arrow where a name would cover it.
const ARROW_STEPS: usize = 48;
/// The plane of fewer words is a line.
const LEAST_WORDS: usize = 3;

/// The words of an answer.
#[derive(Clone, Debug)]
struct WordPlane {
    words: Vec<(String, [f64; 2])>,
    /// From which word to which.
    arrows: Vec<[usize; 2]>,
    /// Cosine of each arrow's difference with the others, where it has some.
    cosines: Vec<f64>,
    /// Share of the variance along both directions.
    explained: [f64; 2],
}

/// The plane of a report with its title; none of fewer than three words.
pub fn part(report: &Report) -> Option<TitledPiece> {
    let Some(Value::Table(points)) = report.value("points") else { return None };
    let Some(Value::List(explained)) = report.value("explained") else { return None };
    let (names, x, y) = (texts(points, "word")?, numbers(points, "x")?, numbers(points, "y")?);
    let words: Vec<(String, [f64; 2])> =
        names.iter().zip(x.iter().zip(y)).map(|(name, (x, y))| (name.clone(), [*x, *y])).collect();
    let place = |name: &String| names.iter().position(|known| known == name);
    let (mut arrows, mut cosines) = (Vec::new(), Vec::new());
    if let Some(Value::Table(pairs)) = report.value("differences") {
        let cosine = numbers(pairs, "cosine_with_others")?;
        for ((from, to), cosine) in texts(pairs, "from")?.iter().zip(texts(pairs, "to")?).zip(cosine) {
            arrows.push([place(from)?, place(to)?]);
            cosines.push(*cosine);
        }
    }
    let title = if arrows.is_empty() {
        format!("{} in the plane of their principal components", counted(words.len(), "word"))
    } else {
        format!("Differences of {} in the plane of the words’ principal components", counted(arrows.len(), "pair"))
    };
    let explained = [explained.first().copied()?, explained.get(1).copied()?];
    let plane = WordPlane { words, arrows, cosines, explained };
    let meaning = "Equal differences are arrows of one direction and length; the rest of the variance is not seen";
    (plane.words.len() >= LEAST_WORDS).then(|| TitledPiece {
        title,
        meaning: meaning.to_owned(),
        piece: Arc::new(plane),
    })
}

fn texts<'a>(columns: &'a [TableColumn], name: &str) -> Option<&'a Vec<String>> {
    columns.iter().find(|column| column.name == name).and_then(|column| match &column.cells {
        ColumnValues::Text(cells) => Some(cells),
        _ => None,
    })
}

fn numbers<'a>(columns: &'a [TableColumn], name: &str) -> Option<&'a Vec<f64>> {
    columns.iter().find(|column| column.name == name).and_then(|column| match &column.cells {
        ColumnValues::Number(cells) => Some(cells),
        _ => None,
    })
}

impl WordPlane {
    /// Lower left and upper right corner.
    fn range(&self) -> [[f64; 2]; 2] {
        let all = || self.words.iter().map(|(_, place)| place);
        let [least, most] = [f64::min, f64::max]
            .map(|pick| [0, 1].map(|axis| all().map(|place| place[axis]).reduce(pick).unwrap_or(0.0)));
        [least, most]
    }

    /// Where the words may stand: their names need room at the right.
    fn inner(area: Rect) -> Rect {
        let size = vec2(area.width().min(PLANE_PT.0), area.height() - BELOW_PT);
        Rect::from_min_size(area.min, size)
    }

    /// The place of each word: both directions have one scale, so that lengths and angles are right.
    fn places(&self, area: Rect) -> Vec<Pos2> {
        let frame = Self::inner(area);
        let names = room(self.words.iter().map(|(name, _)| name.as_str()), MOST_NAME_PT);
        let within = Rect::from_min_max(
            frame.min + Vec2::splat(MARGIN_PT),
            frame.max - vec2(MARGIN_PT + names.min(frame.width() / 3.0), MARGIN_PT),
        );
        let [least, most] = self.range();
        let size = [0, 1].map(|axis| (most[axis] - least[axis]).max(f64::MIN_POSITIVE));
        let scale = (f64::from(within.width()) / size[0]).min(f64::from(within.height()) / size[1]);
        let middle = [0, 1].map(|axis| f64::midpoint(least[axis], most[axis]));
        let at = |(_, place): &(String, [f64; 2])| {
            let offset = [0, 1].map(|axis| ((place[axis] - middle[axis]) * scale) as f32);
            within.center() + vec2(offset[0], -offset[1])
        };
        self.words.iter().map(at).collect()
    }

    /// The place of each name, beside its word, above or below it, where it covers no other name, word or arrow, or else
    /// no other name and word; none where there is no room.
    fn names(&self, places: &[Pos2]) -> Vec<Option<Rect>> {
        let marks: Vec<Rect> =
            places.iter().map(|at| Rect::from_center_size(*at, Vec2::splat(2.0 * RADIUS_PT))).collect();
        let mut taken: Vec<Rect> = Vec::new();
        let place = |(nth, (name, _)): (usize, &(String, [f64; 2]))| {
            let size = vec2(room([name.as_str()], MOST_NAME_PT), 12.0);
            let (right, left) = (places[nth] + vec2(6.0, 0.0), places[nth] - vec2(6.0 + size.x, 0.0));
            let middle = places[nth] - vec2(size.x / 2.0, 0.0);
            let beside = [(right, 0.0), (left, 0.0), (middle, -11.0), (middle, 11.0)];
            let tries = beside.into_iter().chain([(right, -7.0), (right, 7.0), (left, -7.0), (left, 7.0)]);
            let rects: Vec<Rect> =
                tries.map(|(at, down)| Rect::from_min_size(at + vec2(0.0, down - size.y / 2.0), size)).collect();
            let crossed = |rect: &Rect| {
                self.arrows.iter().any(|[from, to]| {
                    let (from, to) = (places[*from], places[*to]);
                    (0..=ARROW_STEPS).any(|step| rect.contains(from.lerp(to, step as f32 / ARROW_STEPS as f32)))
                })
            };
            let others = || marks.iter().enumerate().filter(|(other, _)| *other != nth).map(|(_, mark)| mark);
            let is_free = |rect: &&Rect| !taken.iter().chain(others()).any(|other| other.intersects(**rect));
            let free = || rects.iter().filter(is_free);
            let found = free().find(|rect| !crossed(rect)).or_else(|| free().next()).copied();
            taken.extend(found);
            found
        };
        self.words.iter().enumerate().map(place).collect()
    }
}

/// An arrow between two words.
fn arrow(from: Pos2, to: Pos2, color: Rgba, pen: &mut Pen<'_>) {
    let along = (to - from).normalized();
    if from.distance(to) <= 2.0 * APART_PT + HEAD_PT.1 {
        // Between neighbours there is no room for a head.
        pen.line(from, to, 1.25, color);
        return;
    }
    let (from, to) = (from + along * APART_PT, to - along * APART_PT);
    let (base, across) = (to - along * HEAD_PT.1, along.rot90() * HEAD_PT.0);
    pen.line(from, base, 1.25, color);
    pen.fill(Path::polygon([to, base + across, base - across]), color);
}

impl Piece for WordPlane {
    fn width(&self) -> f32 {
        PLANE_PT.0
    }

    fn least_width(&self) -> f32 {
        LEAST_PT
    }

    fn height(&self, width: f32) -> f32 {
        let [least, most] = self.range();
        let (across, up) = (most[0] - least[0], most[1] - least[1]);
        let width = width.min(PLANE_PT.0);
        let suits = if across > 0.0 { width * (up / across) as f32 } else { PLANE_PT.1 };
        suits.clamp(LEAST_HEIGHT_PT, PLANE_PT.1.min(width).max(LEAST_HEIGHT_PT)) + 2.0 * MARGIN_PT + BELOW_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let frame = Self::inner(area);
        let (weak, rule, text) = (pen.palette.text_weak, pen.palette.rule, pen.palette.text);
        pen.frame(frame, 0.75, rule);
        let places = self.places(area);
        for (nth, [from, to]) in self.arrows.iter().enumerate() {
            arrow(places[*from], places[*to], pen.palette.head(nth), pen);
        }
        for (nth, rect) in self.names(&places).into_iter().enumerate() {
            pen.fill(Path::circle(places[nth], RADIUS_PT), text);
            if let Some(rect) = rect {
                let name = pen.type_.fit(&self.words[nth].0, SMALL, MOST_NAME_PT).into_owned();
                let (x, align) = match places[nth].x {
                    x if rect.left() > x => (rect.left(), Align::Left),
                    x if rect.right() < x => (rect.right(), Align::Right),
                    x => (x, Align::Center),
                };
                pen.text(&name, SMALL, text, pos2(x, rect.center().y), align);
            }
        }
        let [first, second] = self.explained.map(share_text);
        let axis = format!("across: {first} of the variance of these words, up: {second}");
        let axis = pen.type_.fit(&axis, SMALL, area.width()).into_owned();
        pen.text(&axis, SMALL, weak, pos2(frame.left(), frame.bottom() + BELOW_PT / 2.0 + 1.0), Align::Left);
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let places = self.places(area);
        let near = |nth: &usize| places[*nth].distance(at);
        let nth = (0..places.len()).min_by(|a, b| near(a).total_cmp(&near(b))).filter(|nth| near(nth) < 4.0 * GRID)?;
        let mut lines = vec![self.words[nth].0.clone()];
        for ([from, to], cosine) in self.arrows.iter().zip(&self.cosines).filter(|(pair, _)| pair.contains(&nth)) {
            let others = if cosine.is_finite() {
                format!(": cosine with the others {}", norm_text(*cosine))
            } else {
                String::new()
            };
            lines.push(format!("{} → {}{others}", self.words[*from].0, self.words[*to].0));
        }
        Some(Hit::saying(Rect::from_center_size(places[nth], Vec2::splat(4.0 * RADIUS_PT)), lines.join("\n")))
    }

    fn spoken(&self) -> Vec<String> {
        let arrow = |([from, to], cosine): (&[usize; 2], &f64)| {
            let own = format!("{} to {}", self.words[*from].0, self.words[*to].0);
            if cosine.is_finite() { format!("{own}, cosine with the others {}", norm_text(*cosine)) } else { own }
        };
        self.arrows.iter().zip(&self.cosines).map(arrow).collect()
    }
}

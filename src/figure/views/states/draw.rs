//! Parts of what a recurrence carries, as they are drawn.

use emath::{Rect, pos2, vec2};

use super::{StatesPart, StatesScene};
use crate::{
    analysis::states::Steps,
    capture::{Matrix, RgbaBuffer, Way},
    figure::{
        chart::{Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
        font::Align,
        list::Sampling,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
        views::parts,
    },
    raster::ColorMap,
    text::{counted, norm_text},
};

/// Least width of a token's name.
const NAME_PT: f32 = 10.0 * GRID;

/// How far an axis goes beyond the largest value, so that names have room.
const ABOVE: f64 = 1.3;

/// A line over tokens: its name, and a value where there is one.
type Line = (String, Vec<Option<f64>>);

/// Where the cells of units and steps are: a column for each token.
pub fn cells(rect: Rect) -> Rect {
    parts::data(rect)
}

impl StatesScene {
    /// Draws one part.
    pub(super) fn draw_one(&self, part: StatesPart, rect: Rect, pen: &mut Pen<'_>) {
        match part {
            StatesPart::Units => self.draw_units(rect, pen),
            StatesPart::Path => parts::chart(&self.path(pen), rect, pen),
            StatesPart::Norm | StatesPart::Likeness | StatesPart::Gates | StatesPart::Ends | StatesPart::Gradient => {
                self.draw_lines(part, rect, pen);
            }
        }
    }

    /// The lines of a part over tokens; none of the parts that are drawn otherwise.
    pub fn lines(&self, part: StatesPart) -> Vec<Line> {
        let steps = self.steps();
        let known = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let of_ways = |of: &dyn Fn(&Steps) -> Vec<Option<f64>>| -> Vec<Line> {
            self.facts.steps.iter().map(|steps| (steps.way.name().to_owned(), of(steps))).collect()
        };
        match part {
            StatesPart::Norm => of_ways(&|steps| known(&steps.norms)),
            StatesPart::Likeness => of_ways(&|steps| steps.likeness.clone()),
            StatesPart::Gradient => of_ways(&|steps| known(&steps.gradients)),
            StatesPart::Gates => steps.gates.iter().map(|gate| (gate.name.to_owned(), known(&gate.means))).collect(),
            StatesPart::Ends => {
                let sum = |[shut, open]: &[Vec<f64>; 2]| shut.iter().zip(open).map(|(a, b)| Some(a + b)).collect();
                steps.gates.iter().map(|gate| (gate.name.to_owned(), sum(&gate.ends))).collect()
            }
            StatesPart::Units | StatesPart::Path => Vec::new(),
        }
    }

    /// Title and note of a part over tokens.
    fn words(&self, part: StatesPart) -> [String; 2] {
        let steps = self.steps();
        let way = match steps.way {
            Way::Forward => "read forward, from the left",
            Way::Backward => "read backward, from the right",
        };
        match part {
            StatesPart::Units => {
                let most = norm_text(largest(&steps.states));
                ["State after each step".to_owned(), format!("Units (down), {way}; darkest ±{most}")]
            }
            StatesPart::Norm => ["Length of the state".to_owned(), "‖h‖ after each step".to_owned()],
            StatesPart::Likeness => [
                "Like the step before".to_owned(),
                "Cosine of a state with the one before it in its direction".to_owned(),
            ],
            StatesPart::Gates => {
                ["Gates".to_owned(), format!("Mean over {}, {way}", counted(steps.states.n_cols(), "unit"))]
            }
            StatesPart::Ends => {
                ["Gates at an end".to_owned(), "Part of the units within 0.1 of shut or open".to_owned()]
            }
            StatesPart::Gradient => {
                let outcome = self.facts.outcome.as_deref().unwrap_or_default();
                let order = steps.order();
                let first = order.first().and_then(|first| steps.left()?.get(*first).copied());
                let left = first.map_or_else(String::new, |left| {
                    format!("; at the first step {} of that at the last", norm_text(left))
                });
                ["Gradient through time".to_owned(), format!("‖∂“{outcome}”/∂h‖ by step{left}")]
            }
            StatesPart::Path => {
                let [from, to, distance] = self.pair();
                let name = |at: usize| self.facts.names.get(at).map_or("", String::as_str);
                let note = format!("“{}” to “{}”: d = {distance}", name(from), name(to));
                ["Steps between two tokens".to_owned(), note]
            }
        }
    }

    fn draw_units(&self, rect: Rect, pen: &mut Pen<'_>) {
        let [title, note] = self.words(StatesPart::Units);
        parts::titled(&title, &note, rect, pen);
        let data = cells(rect);
        let states = &self.steps().states;
        let [n, d] = states.shape();
        let (colors, most) = (ColorMap::Signed.on(pen.palette.ground), largest(states));
        let value = |at: usize| states.as_slice()[at % n * d + at / n];
        let pixels = (0..n * d).flat_map(|at| colors.color(0.5 + value(at) / most / 2.0)).collect();
        pen.picture(data, &RgbaBuffer { width: n, height: d, pixels }, Sampling::Crisp);
        pen.frame(data, pen.hairline(), pen.palette.rule);
        if let Some(held) = self.held {
            let pitch = data.width() / n as f32;
            let left = data.left_top() + vec2(held as f32 * pitch, 0.0);
            pen.frame(Rect::from_min_size(left, vec2(pitch, data.height())), 1.0, pen.palette.text);
        }
        for unit in [0, d.saturating_sub(1)] {
            let y = data.top() + (unit as f32 + 0.5) * data.height() / d as f32;
            let at = pos2(data.left() - 1.5 * GRID, y.clamp(data.top() + GRID, data.bottom() - GRID));
            pen.text(&unit.to_string(), SMALL, pen.palette.text_weak, at, Align::Right);
        }
        self.draw_names(data, pen);
    }

    /// The names of the tokens below a part, as many as there is room for.
    fn draw_names(&self, data: Rect, pen: &mut Pen<'_>) {
        let names = &self.facts.names;
        let pitch = data.width() / names.len() as f32;
        let each = (NAME_PT / pitch).ceil().max(1.0) as usize;
        // The selected one has its name, and its neighbours leave room for it.
        let held = self.held.unwrap_or(0);
        for (at, name) in names.iter().enumerate().filter(|(at, _)| at.abs_diff(held) % each == 0) {
            let ink = if self.held == Some(at) { pen.palette.text } else { pen.palette.text_weak };
            let below = pos2(data.left() + (at as f32 + 0.5) * pitch, data.bottom() + 2.5 * GRID);
            let name = pen.type_.fit(name, SMALL, pitch * each as f32 - GRID).into_owned();
            pen.text(&name, SMALL, ink, below, Align::Center);
        }
    }

    fn draw_lines(&self, part: StatesPart, rect: Rect, pen: &mut Pen<'_>) {
        let lines = self.lines(part);
        let [title, note] = self.words(part);
        let values = || lines.iter().flat_map(|(_, values)| values).flatten().copied();
        let [low, high] = [values().fold(0.0, f64::min), values().fold(f64::MIN_POSITIVE, f64::max)];
        let to = match part {
            StatesPart::Likeness | StatesPart::Gates | StatesPart::Ends => 1.0,
            StatesPart::Units | StatesPart::Norm | StatesPart::Gradient | StatesPart::Path => ABOVE * high,
        };
        let palette = pen.palette;
        let series = lines.iter().enumerate().map(|(nth, (name, values))| Series {
            name: if lines.len() > 1 { name.clone() } else { String::new() },
            shape: SeriesShape::Line,
            color: palette.head(nth),
            width: 1.5,
            runs: runs(values),
        });
        let mark = self.held.map(|held| Mark {
            of: MarkOf::X,
            value: held as f64,
            name: String::new(),
            color: palette.edge,
            width: 1.0,
        });
        let n = self.facts.names.len() as f64;
        let chart = Chart {
            title,
            note,
            x: ChartAxis { title: "tokens".to_owned(), from: -0.5, to: n - 0.5, scale: Scale::Whole },
            y: ChartAxis { title: String::new(), from: low, to, scale: Scale::Linear },
            series: series.collect(),
            marks: mark.into_iter().collect(),
        };
        parts::plot(&chart, rect, pen);
        self.draw_names(parts::data(rect), pen);
    }

    /// Steps by distance.
    fn path(&self, pen: &Pen<'_>) -> Chart {
        let palette = &pen.palette;
        let [title, note] = self.words(StatesPart::Path);
        let [_, _, distance] = self.pair();
        let most = self.facts.names.len().saturating_sub(1).max(1);
        let series = self.routes().into_iter().enumerate().map(|(nth, (name, formula, route))| Series {
            name: format!("{name}: {formula}{}", route.length(distance)),
            shape: SeriesShape::Line,
            color: palette.head(nth),
            width: if nth == 0 { 2.0 } else { 1.5 },
            runs: vec![(0..=most).map(|distance| [distance as f64, route.length(distance) as f64]).collect()],
        });
        let mark = Mark { of: MarkOf::X, value: distance as f64, name: String::new(), color: palette.text, width: 1.0 };
        Chart {
            title,
            note,
            x: ChartAxis { title: "distance".to_owned(), from: 0.0, to: most as f64, scale: Scale::Whole },
            y: ChartAxis { title: "steps".to_owned(), from: 0.0, to: most as f64, scale: Scale::Whole },
            series: series.collect(),
            marks: vec![mark],
        }
    }
}

fn largest(matrix: &Matrix) -> f32 {
    matrix.as_slice().iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()))
}

/// Points by token, with a gap where there is no value.
fn runs(values: &[Option<f64>]) -> Vec<Vec<[f64; 2]>> {
    let points = values.iter().enumerate().map(|(at, value)| value.map(|value| [at as f64, value]));
    let points: Vec<Option<[f64; 2]>> = points.collect();
    points
        .split(Option::is_none)
        .filter(|run| !run.is_empty())
        .map(|run| run.iter().flatten().copied().collect())
        .collect()
}

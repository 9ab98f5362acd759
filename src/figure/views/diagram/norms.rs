//! Norms along the residual stream, as a chart.

use super::DiagramScene;
use crate::{
    analysis::stream_norms::{NormsAt, StreamNorms},
    capture::words,
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        list::Rgba,
        palette::Palette,
    },
    text::counted,
};

/// Radius of what is added.
const ADDED_PT: f32 = 2.5;

impl DiagramScene {
    /// The norms as a chart: the stream as lines, what is added to it as points.
    pub(super) fn chart(&self, norms: &StreamNorms, palette: &Palette) -> Chart {
        let line = |name: String, color: Rgba, width: f32, of: &dyn Fn(&NormsAt) -> f64| Series {
            name,
            shape: SeriesShape::Line,
            color,
            width,
            runs: vec![points(&norms.stream, of)],
        };
        let added = |name: &str, color: Rgba, at: &[NormsAt]| Series {
            name: if at.is_empty() { String::new() } else { name.to_owned() },
            shape: SeriesShape::Points,
            color,
            width: ADDED_PT,
            runs: vec![points(at, &NormsAt::mean)],
        };
        let [attention, between, mlp] = &norms.added;
        let mut series = vec![
            added("added by MLP", palette.minus, mlp),
            added("added by cross-attention", palette.key, between),
            added("added by attention", palette.query, attention),
            line(String::new(), palette.text_weak, 0.75, &NormsAt::least),
            line(String::new(), palette.text_weak, 0.75, &NormsAt::most),
            line("stream, mean".to_owned(), palette.text_weak, 1.5, &NormsAt::mean),
        ];
        if let Some((token, name)) = &self.token {
            let of_token = |at: &NormsAt| at.norms.get(*token).copied().unwrap_or(f64::NAN);
            series.push(line(format!("“{}”", words::bare(name)), palette.text, 2.0, &of_token));
        }
        let values = || series.iter().flat_map(Series::points).map(|[_, y]| y);
        let (from, to) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), y| (y.min(from), y.max(to)));
        let n_tokens = norms.stream.first().map_or(0, |at| at.norms.len());
        let last = if norms.ends_normed() { "; last: after the final norm" } else { "" };
        Chart {
            title: "Norm of the stream by layer".to_owned(),
            note: format!("Thin: least and most of {}{last}", counted(n_tokens, "token")),
            x: ChartAxis::over("layers", Scale::Whole, norms.stream.iter().map(|at| at.depth)),
            y: ChartAxis {
                title: String::new(),
                from: from.floor(),
                to: to.ceil().max(from.floor() + 1.0),
                scale: Scale::PowersOfTen,
            },
            series,
            marks: Vec::new(),
        }
    }
}

/// Places with their norms as powers of ten; a norm of 0 has none.
fn points(at: &[NormsAt], of: &dyn Fn(&NormsAt) -> f64) -> Vec<[f64; 2]> {
    at.iter().map(|at| [at.depth, of(at).log10()]).filter(|[_, norm]| norm.is_finite()).collect()
}

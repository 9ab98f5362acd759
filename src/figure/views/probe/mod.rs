//! Linear probes by layer: accuracy on held-out items beside that of random labels.

use std::sync::Arc;

use emath::{Pos2, Rect};

use super::joined;
use crate::{
    analysis::{
        bootstrap::Estimate,
        probe::{CorpusProbe, ProbeSummary, SiteProbe},
    },
    figure::{
        chart::Scale,
        curves::{Curve, CurveChart},
        list::Rgba,
        page::{Captions, Scene},
        pen::Pen,
    },
    text::{decimal_text, share_text},
};

mod options;
mod spec;

pub use options::ProbeChoices;
pub use spec::{SPEC, rows};

const CHART_PT: [f32; 2] = [340.0, 300.0];
const LEAST_PT: [f32; 2] = [230.0, 250.0];
/// Part of a layer by which the two curves stand apart, so that their bars do not cover each other.
const ASIDE: f64 = 0.06;

/// Probes of one model over one corpus.
#[derive(Clone, Debug)]
pub struct ProbeScene(pub Arc<CorpusProbe>);

/// Held-out accuracy with its interval, in words.
pub fn interval_text(of: Estimate) -> String {
    format!("{} ({} to {})", share_text(of.value), share_text(of.low), share_text(of.high))
}

impl ProbeScene {
    /// The least size of the chart.
    pub const LEAST: [f32; 2] = LEAST_PT;

    fn place(&self, site: &SiteProbe) -> f64 {
        site.layer.map_or(0, |layer| layer + usize::from(self.starts())) as f64
    }

    /// Whether the vectors before all layers are there.
    fn starts(&self) -> bool {
        self.0.summary.sites.iter().any(|site| site.layer.is_none())
    }

    /// Curves in two colours.
    fn chart(&self, colors: [Rgba; 2]) -> CurveChart<'static> {
        let ProbeSummary { majority, by_word, sites, .. } = &self.0.summary;
        let points = |of: &dyn Fn(&SiteProbe) -> Estimate, aside: f64| {
            sites.iter().map(|site| (self.place(site) + aside, of(site))).collect()
        };
        let places = || sites.iter().map(|site| self.place(site));
        let [first, last] = [places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max)];
        let mut levels = vec![(majority.value, "commonest class")];
        levels.extend(by_word.map(|of| (of.value, "commonest class of each word")));
        CurveChart {
            title: "Held-out items told right",
            x: if self.starts() { "layers passed" } else { "layer" },
            x_range: [first - 0.3, last.max(first + 1.0) + 0.3],
            y_range: [0.0, 1.03],
            scale: Scale::Whole,
            text: |value| share_text(value),
            dots: Vec::new(),
            curves: vec![
                Curve { name: "labels", points: points(&|site| site.accuracy, -ASIDE), color: colors[0] },
                Curve { name: "random labels", points: points(&|site| site.control, ASIDE), color: colors[1] },
            ],
            levels,
        }
    }

    /// The layer at a place of the chart, and where it stands.
    pub fn at(&self, area: Rect, at: Pos2) -> Option<(&SiteProbe, Rect)> {
        let (frame, axes) = self.chart([Rgba::default(); 2]).frame(area);
        let column = |site: &SiteProbe| {
            let x = self.place(site);
            Rect::from_x_y_ranges(axes.x.at(x - 0.5)..=axes.x.at(x + 0.5), frame.y_range()).intersect(frame)
        };
        let sites = self.0.summary.sites.iter().map(|site| (site, column(site)));
        sites.filter(|_| frame.contains(at)).find(|(_, column)| column.contains(at))
    }

    /// What was found of a layer, a line each.
    pub fn lines(&self, site: &SiteProbe) -> Vec<String> {
        let mut lines = vec![
            site.name.clone(),
            format!("labels {}", interval_text(site.accuracy)),
            format!("random labels {}", interval_text(site.control)),
            format!("selectivity {}", decimal_text(site.selectivity.value)),
            format!("of what was learnt from {}", share_text(site.learnt)),
        ];
        if !site.is_converged {
            lines.push("the fit has not come to its end".to_owned());
        }
        lines
    }
}

impl Scene for ProbeScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        CHART_PT[0]
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        LEAST_PT[0]
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        CHART_PT[1]
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        LEAST_PT[1]
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.chart([pen.palette.head(0), pen.palette.head(1)]).draw(area, pen);
    }

    fn captions(&self) -> Captions {
        let [of, how] = self.0.said();
        let bars = "Bars hold 95 % of sets of held-out texts drawn anew";
        let control = if self.0.summary.by_word.is_some() {
            "Random labels: one for each word, the same wherever it stands"
        } else {
            "Random labels: one for each text"
        };
        Captions { full: joined([&*of, &*how, control, bars]), short: joined([&*of, &*how]) }
    }
}

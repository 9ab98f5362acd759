//! Linear probes by layer as a figure: accuracy beside that of random labels.

use emath::Rect;

use super::{
    chart::Scale,
    curves::{Curve, CurveChart},
    page::{Captions, Scene},
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        probe::{ProbeSummary, SiteProbe},
    },
    text::{counted, share_text},
};

const CHART_PT: [f32; 2] = [340.0, 300.0];
const LEAST_PT: [f32; 2] = [230.0, 250.0];
/// Part of a layer by which the two curves stand apart, so that their bars do not cover each other.
const ASIDE: f64 = 0.06;

/// Probes of one model over one corpus.
#[derive(Clone, Debug)]
pub struct ProbeScene {
    /// What the model, its inputs and the site are called.
    pub model: String,
    pub corpus: String,
    pub site: String,
    /// What the labels are called.
    pub labels: String,
    pub summary: ProbeSummary,
}

impl ProbeScene {
    /// What a point of the figure is, and the sentence that says how it was found.
    pub fn said(&self) -> [String; 2] {
        let ProbeSummary { n_texts, n_items: [learnt, tried], classes, by_word, .. } = &self.summary;
        let tried = if by_word.is_some() {
            format!("{}, tried on {} of other texts", counted(*learnt, "word"), counted(*tried, "word"))
        } else {
            format!("{}, tried on {tried} others", counted(*learnt, "text"))
        };
        let how = format!(
            "Linear probes of {} for {} ({} classes) over {}: learnt from {tried}",
            self.site,
            self.labels,
            classes.len(),
            counted(*n_texts, "text"),
        );
        [format!("{}, {}", self.model, self.corpus), how]
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
        let ProbeSummary { majority, by_word, sites, .. } = &self.summary;
        let starts = sites.iter().any(|site| site.layer.is_none());
        let place = |site: &SiteProbe| site.layer.map_or(0, |layer| layer + usize::from(starts)) as f64;
        let points = |of: &dyn Fn(&SiteProbe) -> Estimate, aside: f64| {
            sites.iter().map(|site| (place(site) + aside, of(site))).collect()
        };
        let last = sites.iter().map(place).fold(1.0, f64::max);
        let mut levels = vec![(majority.value, "commonest class")];
        levels.extend(by_word.map(|of| (of.value, "commonest class of each word")));
        let chart = CurveChart {
            title: "Held-out items told right",
            x: if starts { "layers passed" } else { "layer" },
            x_range: [-0.3, last + 0.3],
            y_range: [0.0, 1.03],
            scale: Scale::Whole,
            text: |value| share_text(value),
            dots: Vec::new(),
            curves: vec![
                Curve { name: "labels", points: points(&|site| site.accuracy, -ASIDE), color: pen.palette.head(0) },
                Curve {
                    name: "random labels",
                    points: points(&|site| site.control, ASIDE),
                    color: pen.palette.head(1),
                },
            ],
            levels,
        };
        chart.draw(area, pen);
    }

    fn captions(&self) -> Captions {
        let [of, how] = self.said();
        let bars = "Bars hold 95 % of sets of held-out texts drawn anew";
        let control = if self.summary.by_word.is_some() {
            "Random labels: one for each word, the same wherever it stands"
        } else {
            "Random labels: one for each text"
        };
        Captions { full: joined([&*of, &*how, control, bars]), short: joined([&*of, &*how]) }
    }
}

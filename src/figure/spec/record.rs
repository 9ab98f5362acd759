//! Everything that a spec says, for the files that it makes: each field is taken apart by name, so that a new one has
//! to be written before it compiles.

use serde::Serialize;
use serde_json::{Value, json};

use super::{FigureSpec, Paper, Subtrahend};
use crate::{
    analysis::{
        edges::EdgeFilter,
        explain::report::Question,
        projection::ProjectionOptions,
        reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, Source, Whose},
    },
    capture::stack_prefix,
    figure::views::image::flows::FlowFilter,
    ids::StackKind,
    raster::ColorMap,
};

impl FigureSpec {
    /// The colours of weights: those that were chosen, or what suits the view.
    pub fn color_map(&self) -> ColorMap {
        self.color_map.unwrap_or(self.view.spec().color_map)
    }

    /// Which heads are drawn, for the name of a file: `L1H5`, `L1H0-H2`, `cross_L0`; nothing for all layers, and for what
    /// an output depends on.
    pub fn part_name(&self) -> String {
        /// More heads than these are counted.
        const MOST: usize = 4;
        let is_of_output = self.view.explains() && self.question == Question::Depends;
        let (&[layer], false) = (&self.layers[..], is_of_output) else { return String::new() };
        let stack = self.stack.filter(|stack| *stack != StackKind::SelfAttention);
        let stack = stack.map_or_else(String::new, |stack| format!("{}_", stack.name()));
        let heads: Vec<String> = self.heads.iter().map(|head| format!("H{head}")).collect();
        let heads = if heads.len() > MOST { format!("-{}-heads", heads.len()) } else { heads.join("-") };
        let minus = self.minus.map_or_else(String::new, |minus| format!("-minus-L{}H{}", minus.layer, minus.head));
        format!("{stack}L{layer}{heads}{minus}")
    }

    /// Every choice by its name.
    pub(super) fn record(&self) -> Value {
        let Self {
            view: _,
            stack,
            layers,
            heads,
            query,
            key,
            reading,
            together,
            minus,
            filter,
            projection,
            color_map: _,
            log,
            values,
            shared_scale,
            smooth,
            opacity,
            contour,
            flows,
            color_by,
            size_by,
            annotation,
            question,
            special: ranks_special,
            distance,
            sheet,
            each,
            paper,
        } = self;
        let Reading { source, heads: _, leave_out, sentences, words, rows, minus: _ } = reading;
        let LeaveOut { special, first, punctuation, positions, policy } = leave_out;
        let ProjectionOptions { space, scale, translate_keys, layout } = projection;
        let Paper { dark, width, height, scale: pixels_per_pt, caption, svg_text, fonts } = paper;
        let explained = source.explained();
        let drawn_map = match (explained, minus) {
            _ if self.view.shows_space() => self.color_map(),
            (Some(explained), _) if !explained.is_signed() => ColorMap::Teal,
            (Some(_), _) | (None, Some(_)) => ColorMap::Diverging,
            (None, None) => self.color_map(),
        };
        let hidden = [(special, "special"), (first, "first"), (punctuation, "punctuation")];
        let hidden: Vec<&str> = hidden.into_iter().filter(|(out, _)| **out).map(|(_, name)| name).collect();
        let lines = match filter {
            EdgeFilter::TopP(p) => json!({ "top_p": plain(p) }),
            EdgeFilter::TopK(k) => json!({ "top_k": k }),
            EdgeFilter::Threshold(least) => json!({ "threshold": plain(least) }),
        };
        let flows = flows.map(|FlowFilter { kind, least }| json!({ "show": kind.name(), "threshold": plain(&least) }));
        let said = [
            ("stack", json!(stack.map(StackKind::name))),
            ("layers", json!(layers)),
            ("heads", json!(heads)),
            ("query", json!(query)),
            ("key", json!(key)),
            ("by_value_norm", json!(*source == Source::ByValueNorm)),
            ("hide", json!(hidden)),
            ("hide_positions", json!(positions)),
            ("renormalized", json!(*policy == Policy::Renormalize)),
            ("left_out", plain(policy)),
            ("sentences", plain(sentences)),
            ("words", json!(words)),
            ("written", json!(*rows == RowLabels::Written)),
            ("aggregate", json!(together.map(Aggregate::name))),
            ("minus", json!(minus.map(minus_text))),
            ("lines", json!(lines)),
            ("space", json!(self.view.is_projected().then(|| space.name()))),
            ("scale", plain(scale)),
            ("translate_keys", json!(translate_keys)),
            ("layout", plain(layout)),
            ("color_map", json!(drawn_map.name())),
            ("log", json!(log)),
            ("values", json!(values)),
            ("shared_scale", json!(shared_scale)),
            ("smooth", json!(smooth)),
            ("opacity", plain(opacity)),
            ("contour", plain(contour)),
            ("flows", json!(flows)),
            ("color_by", plain(color_by)),
            ("size_by", plain(size_by)),
            ("annotation", json!(annotation)),
            ("question", json!(question.name())),
            ("special_ranked", json!(ranks_special)),
            ("distance", plain(distance)),
            ("sheet", json!(sheet)),
            ("each_layer", json!(each.layer)),
            ("each_head", json!(each.head)),
            ("theme", json!(if *dark { "dark" } else { "light" })),
            ("width_pt", plain(width)),
            ("height_pt", plain(height)),
            ("pixels_per_pt", plain(pixels_per_pt)),
            ("caption", json!(format!("{caption:?}").to_lowercase())),
            ("svg_text", json!(format!("{svg_text:?}").to_lowercase())),
            ("fonts", json!(format!("{fonts:?}").to_lowercase())),
        ];
        said.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// What is subtracted, in a few letters.
fn minus_text(Subtrahend { stack, layer, head, of }: Subtrahend) -> String {
    let of = if of == Whose::Other { " of the other input" } else { "" };
    format!("{}L{layer}H{head}{of}", stack.map_or_else(String::new, stack_prefix))
}

/// A value as JSON, numbers as they were typed.
pub(super) fn plain(value: &impl Serialize) -> Value {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

//! Everything that a spec says, for the files that it makes: each field is taken apart by name, so that a new one has
//! to be written before it compiles. Options of a view are said by serde.

use serde::Serialize;
use serde_json::{Value, json};

use super::{FigureSpec, Paper, Subtrahend, resolved::whose_text};
use crate::{
    analysis::{
        Space,
        explain::report::LabQuestion,
        reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, Source},
    },
    capture::{Unit, stack_prefix},
    ids::StackKind,
    raster::ColorMap,
};

impl FigureSpec {
    /// The space whose points are laid out.
    pub const fn space(&self) -> Space {
        self.options.projection().space
    }

    /// The colours of weights that were chosen for the view.
    pub fn color_map(&self) -> ColorMap {
        (self.view.spec().color_map)(&self.options)
    }

    /// Which heads are drawn, for the name of a file: `L1H5`, `L1H0-H2`, `cross_L0`; nothing for all layers, and for what
    /// an output depends on.
    pub fn part_name(&self) -> String {
        /// More heads than these are counted.
        const MOST: usize = 4;
        let is_of_output = self.view.facts().shows_answers && self.options.question() == LabQuestion::Depends;
        let (&[layer], false) = (&self.layers[..], is_of_output) else { return String::new() };
        let stack = self.stack.filter(|stack| *stack != StackKind::SelfAttention);
        let stack = stack.map_or_else(String::new, |stack| format!("{}_", stack.name()));
        let heads: Vec<String> = self.heads.iter().map(|head| format!("H{head}")).collect();
        let heads = if heads.len() > MOST { format!("-{}-heads", heads.len()) } else { heads.join("-") };
        let minus = self.minus.map_or_else(String::new, |minus| format!("-minus-L{}H{}", minus.layer, minus.head));
        format!("{stack}L{layer}{heads}{minus}")
    }

    /// Every choice by its name: what is drawn and how it is read, the options of the view as settings and session files
    /// have them, and some of them by the name that they had in metadata before that.
    pub(super) fn record(&self) -> Value {
        let Self { view, stack, layers, heads, query, key, reading, together, minus, options, sheet, each, paper } =
            self;
        let Reading { source, heads: _, leave_out, sentences, merging, rows, minus: _ } = reading;
        let LeaveOut { special, first, punctuation, positions, policy } = leave_out;
        let Paper { dark, width, height, pages, scale: pixels_per_pt, caption, svg_text, fonts } = paper;
        let hidden = [(special, "special"), (first, "first"), (punctuation, "punctuation")];
        let hidden: Vec<&str> = hidden.into_iter().filter(|(out, _)| **out).map(|(_, name)| name).collect();
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
            ("words", json!(merging.unit == Unit::Word)),
            ("merged", json!(merging.unit.name())),
            ("unfolded", json!(merging.unfolded)),
            ("written", json!(*rows == RowLabels::Written)),
            ("aggregate", json!(together.map(Aggregate::name))),
            ("minus", json!(minus.map(minus_text))),
            ("shared_scale", json!(options.shared_scale)),
            ("color_map", json!(self.drawn_map().name())),
            ("sheet", json!(sheet)),
            ("each_layer", json!(each.layer)),
            ("each_head", json!(each.head)),
            ("each_query", json!(each.query)),
            ("theme", json!(if *dark { "dark" } else { "light" })),
            ("width_pt", plain(width)),
            ("height_pt", plain(height)),
            ("pages", json!(pages)),
            ("pixels_per_pt", plain(pixels_per_pt)),
            ("caption", json!(format!("{caption:?}").to_lowercase())),
            ("svg_text", json!(format!("{svg_text:?}").to_lowercase())),
            ("fonts", json!(format!("{fonts:?}").to_lowercase())),
        ];
        let spec = view.spec();
        let all = plain(options);
        // Apart from the rest: the options of Lines are called `heads`, as the numbers of the drawn heads are.
        let of_view: Value = spec.options.iter().map(|name| ((*name).to_owned(), all[name].clone())).collect();
        said.into_iter()
            .chain(spec.said.map(|said| said(options)).unwrap_or_default())
            .chain([("view_options", of_view)])
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The colours that weights have in the end.
    pub(in crate::figure) fn drawn_map(&self) -> ColorMap {
        match (self.reading.source.explained(), self.minus) {
            _ if self.view.facts().reads_corpus => self.color_map(),
            (Some(explained), _) if !explained.is_signed() => ColorMap::Explained,
            (Some(_), _) | (None, Some(_)) => ColorMap::Signed,
            (None, None) => self.color_map(),
        }
    }
}

/// What is subtracted, in a few letters.
fn minus_text(Subtrahend { stack, layer, head, of }: Subtrahend) -> String {
    format!("{}L{layer}H{head}{}", stack.map_or_else(String::new, stack_prefix), whose_text(of))
}

/// A value as JSON, numbers as they were typed.
pub(in crate::figure) fn plain(value: &impl Serialize) -> Value {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

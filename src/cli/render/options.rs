//! What was asked for, and whether it makes sense.

use std::path::PathBuf;

use crate::{
    analysis::{
        edges::EdgeFilter,
        projection::{ColorBy, ProjectionOptions, SizeBy},
        reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, Whose},
    },
    cli::{
        CliError,
        inputs::{InputOptions, parse_position},
        layout::LayoutFlags,
    },
    figure::{
        CaptionKind, FontSource, ViewKind,
        order::{Each, Order, Paper, Subtrahend},
        views::distance::Shown,
        write::SvgText,
    },
    ids::StackKind,
    raster::ColorMap,
};

/// Options of `attnscope render`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
pub struct RenderOptions {
    /// View to draw: heads, heatmap, image, scatter, matrix
    #[arg(value_parser = parse_view)]
    pub view: ViewKind,
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long, required_unless_present = "capture", conflicts_with = "capture")]
    pub model: Option<String>,
    /// A capture file instead of a model and its input
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
    /// Let the model write at most this many tokens, the most probable ones; decoder-only models continue the text
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub generate: Option<u32>,
    /// Figure to write, ending in .svg, .pdf or .png; {layer} and {head} in it give a file per head
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    pub out: Option<PathBuf>,
    /// Numbers behind the figure, ending in .csv, .json, .npz or .safetensors
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Attention stack: self, encoder, decoder, cross, vision, text
    #[arg(long, value_parser = parse_stack)]
    pub stack: Option<StackKind>,
    /// Layers, from 0, such as 3 or 0-3,11
    #[arg(long, value_parser = parse_numbers)]
    pub layer: Vec<Numbers>,
    /// Heads, from 0, such as 5 or 0-3,11; without it the first one, and in the heads view all of them
    #[arg(long, value_parser = parse_numbers)]
    pub head: Vec<Numbers>,
    /// Query token to hold, from 0; in the image view the token whose attention is shown
    #[arg(long, value_name = "N", value_parser = parse_position)]
    pub query: Option<usize>,
    /// Key token to hold, from 0
    #[arg(long, value_name = "N", value_parser = parse_position)]
    pub key: Option<usize>,
    /// Take all chosen heads together: mean, max, min, sum
    #[arg(long, value_parser = parse_aggregate, value_name = "HOW")]
    pub aggregate: Option<Aggregate>,
    /// Subtract this head, such as L3H5
    #[arg(long, value_parser = parse_head, value_name = "HEAD")]
    pub minus: Option<(usize, usize)>,
    /// Each weight by the length of its key's value vector, a·‖v‖, rows scaled back to their sum
    #[arg(long)]
    pub by_value_norm: bool,
    /// Keys to leave out, rows renormalised over the rest: special, first, punctuation, none
    #[arg(long, value_delimiter = ',', value_parser = ["special", "first", "punctuation", "none"], value_name = "WHICH")]
    pub hide: Vec<String>,
    /// Do not renormalise the rows from which keys are left out
    #[arg(long, requires = "hide")]
    pub keep_weights: bool,
    /// Merge pieces of words: sum over keys, mean over queries
    #[arg(long)]
    pub words: bool,
    /// Name rows by the word that is written next, as alignments are read
    #[arg(long)]
    pub written: bool,
    /// Lines: the strongest of each row that together cover this part of it
    #[arg(long, value_name = "P", value_parser = parse_fraction, conflicts_with_all = ["top_k", "threshold"])]
    pub top_p: Option<f32>,
    /// Lines: so many strongest of each row
    #[arg(long, value_name = "K", conflicts_with = "threshold")]
    pub top_k: Option<usize>,
    /// Lines: weights from this one
    #[arg(long, value_name = "W", value_parser = parse_fraction)]
    pub threshold: Option<f32>,
    /// Colours: viridis, magma, cividis, greys
    #[arg(long, value_parser = parse_color_map, value_name = "NAME")]
    pub colormap: Option<ColorMap>,
    /// Logarithmic colours, which show small weights
    #[arg(long)]
    pub log: bool,
    /// Write values into the cells of a heatmap that have room for them
    #[arg(long)]
    pub values: bool,
    /// One scale of colours for all heatmaps of a sheet
    #[arg(long)]
    pub shared_scale: bool,
    /// Colours of an overlay run into each other between patches
    #[arg(long)]
    pub smooth: bool,
    /// Opacity of an overlay, from 0 to 1
    #[arg(long, value_parser = parse_fraction, default_value_t = 0.65, value_name = "A")]
    pub opacity: f32,
    /// Outline the patches that hold this part of the attention
    #[arg(long, value_parser = parse_fraction, value_name = "P")]
    pub contour: Option<f32>,
    /// Of average: the annotation of a corpus whose values are compared
    #[arg(long, value_name = "NAME")]
    pub annotation: Option<String>,
    /// What colours of points tell: type (query or key), position, modulo, kind, length, frequency, norm
    #[arg(long, value_parser = parse_color_by, default_value = "type", value_name = "WHAT")]
    pub color_by: ColorBy,
    /// What sizes of points tell: same, norm, value-norm, received
    #[arg(long, value_parser = parse_size_by, default_value = "same", value_name = "WHAT")]
    pub size_by: SizeBy,
    #[command(flatten)]
    pub layout: LayoutFlags,
    /// Many figures on one page, such as 4x3: four side by side, three below each other
    #[arg(long, value_parser = parse_sheet, value_name = "COLSxROWS")]
    pub sheet: Option<[usize; 2]>,
    /// Appearance: light, dark
    #[arg(long, value_parser = parse_theme, default_value = "light")]
    pub theme: Theme,
    /// Width of the figure in points, or with a unit: 8.5cm, 85mm, 3.3in
    #[arg(long, value_parser = parse_length, value_name = "LENGTH")]
    pub width: Option<f32>,
    /// Height of the figure; without it what suits the width
    #[arg(long, value_parser = parse_length, value_name = "LENGTH")]
    pub height: Option<f32>,
    /// Pixels per point of a PNG: 4 is 288 dots per inch
    #[arg(long, default_value_t = 4.0, value_parser = parse_scale, value_name = "PX")]
    pub scale: f32,
    /// Words below the figure: none, short, full
    #[arg(long, value_parser = parse_caption, default_value = "short", value_name = "HOW")]
    pub caption: CaptionKind,
    /// Text of an SVG: overlay (outlines, with the text over them for selecting), paths (outlines alone)
    #[arg(long, value_parser = parse_svg_text, default_value = "overlay", value_name = "HOW")]
    pub svg_text: SvgText,
    /// Fonts: system (as in the window), bundled (the same file on every machine)
    #[arg(long, value_parser = parse_fonts, default_value = "system", value_name = "WHICH")]
    pub fonts: FontSource,
    /// Compute threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// A list of layers or heads, as one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<usize>);

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on near-black.
    Dark,
}

impl RenderOptions {
    /// What is asked for, apart from where it comes from and where it goes.
    ///
    /// # Errors
    /// Settings of a layout that change nothing, or are outside their range.
    pub fn order(&self) -> Result<Order, CliError> {
        let flat = |lists: &[Numbers]| -> Vec<usize> { lists.iter().flat_map(|list| list.0.iter().copied()).collect() };
        let minus = |(layer, head)| Subtrahend { stack: None, layer, head, of: Whose::This };
        Ok(Order {
            view: self.view,
            stack: self.stack,
            layers: flat(&self.layer),
            heads: flat(&self.head),
            query: self.query,
            key: self.key,
            reading: Reading {
                by_value_norm: self.by_value_norm,
                leave_out: self.leave_out(),
                words: self.words,
                rows: if self.written { RowLabels::Written } else { RowLabels::Read },
                ..Reading::default()
            },
            together: self.aggregate,
            minus: self.minus.map(minus),
            filter: self.filter(),
            projection: ProjectionOptions { layout: self.layout.of_view(self.view)?, ..ProjectionOptions::default() },
            color_map: self.colormap,
            log: self.log,
            values: self.values,
            shared_scale: self.shared_scale,
            smooth: self.smooth,
            opacity: self.opacity,
            contour: self.contour,
            color_by: self.color_by,
            size_by: self.size_by,
            distance: Shown::default(),
            annotation: self.annotation.clone(),
            sheet: self.sheet,
            each: Each { layer: self.names("{layer}"), head: self.names("{head}") },
            paper: Paper {
                dark: self.theme == Theme::Dark,
                width: self.width,
                height: self.height,
                scale: self.scale,
                caption: self.caption,
                svg_text: self.svg_text,
                fonts: self.fonts,
            },
        })
    }

    /// Whether the file's name asks for one file per layer or head.
    fn names(&self, placeholder: &str) -> bool {
        self.out.as_ref().is_some_and(|out| out.to_string_lossy().contains(placeholder))
    }

    fn filter(&self) -> EdgeFilter {
        match (self.top_p, self.top_k, self.threshold) {
            (_, Some(k), _) => EdgeFilter::TopK(k),
            (_, _, Some(least)) => EdgeFilter::Threshold(least),
            (Some(p), ..) => EdgeFilter::TopP(p),
            _ => EdgeFilter::default(),
        }
    }

    fn leave_out(&self) -> LeaveOut {
        let has = |name: &str| self.hide.iter().any(|hidden| hidden == name);
        LeaveOut {
            special: has("special"),
            first: has("first"),
            punctuation: has("punctuation"),
            policy: if self.keep_weights { Policy::Hide } else { Policy::Renormalize },
            ..LeaveOut::default()
        }
    }
}

fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    format!("choose one of {}", names.into_iter().collect::<Vec<_>>().join(", "))
}

fn parse_view(name: &str) -> Result<ViewKind, String> {
    ViewKind::from_name(name).ok_or_else(|| one_of(ViewKind::ALL.map(ViewKind::name)))
}

fn parse_stack(name: &str) -> Result<StackKind, String> {
    StackKind::from_name(name).ok_or_else(|| one_of(StackKind::ALL.map(StackKind::name)))
}

fn parse_aggregate(name: &str) -> Result<Aggregate, String> {
    Aggregate::from_name(name).ok_or_else(|| one_of(Aggregate::ALL.map(Aggregate::name)))
}

/// `L3H5`.
fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
    let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))
}

fn parse_numbers(text: &str) -> Result<Numbers, String> {
    let wrong = |part: &str| format!("`{part}` is not a number or a range such as 0-3,11");
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n < 10_000).ok_or_else(|| wrong(part));
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(wrong(part));
        }
        numbers.extend(from..=to);
    }
    Ok(Numbers(numbers))
}

fn parse_fraction(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 1".to_owned())
}

fn parse_scale(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.1..=100.0).contains(number));
    number.ok_or_else(|| "give a number from 0.1 to 100".to_owned())
}

/// Points, where no unit is given.
fn parse_length(text: &str) -> Result<f32, String> {
    const UNITS: [(&str, f32); 5] = [("pt", 1.0), ("px", 0.75), ("cm", 72.0 / 2.54), ("mm", 72.0 / 25.4), ("in", 72.0)];
    let (number, unit) =
        UNITS.iter().find_map(|(unit, points)| Some((text.strip_suffix(unit)?, *points))).unwrap_or((text, 1.0));
    let length = number.trim().parse::<f32>().ok().map(|number| number * unit).filter(|points| points.is_finite());
    length.ok_or_else(|| "give a length in points, or with a unit: 8.5cm, 85mm, 3.3in".to_owned())
}

fn parse_sheet(text: &str) -> Result<[usize; 2], String> {
    let sides = text.split_once('x').and_then(|(cols, rows)| Some([cols.parse().ok()?, rows.parse().ok()?]));
    let sides = sides.filter(|sides: &[usize; 2]| sides.iter().all(|side| (1..=64).contains(side)));
    sides.ok_or_else(|| "give columns and rows from 1 to 64, such as 4x3".to_owned())
}

fn parse_color_map(name: &str) -> Result<ColorMap, String> {
    match name {
        "viridis" => Ok(ColorMap::Viridis),
        "magma" => Ok(ColorMap::Magma),
        "cividis" => Ok(ColorMap::Cividis),
        "greys" => Ok(ColorMap::Greys),
        _ => Err(one_of(["viridis", "magma", "cividis", "greys"])),
    }
}

fn parse_size_by(name: &str) -> Result<SizeBy, String> {
    SizeBy::from_name(name).ok_or_else(|| one_of(SizeBy::ALL.map(|(_, name, _)| name)))
}

fn parse_color_by(name: &str) -> Result<ColorBy, String> {
    ColorBy::from_name(name).ok_or_else(|| one_of(ColorBy::ALL.map(|(_, name, ..)| name)))
}

fn parse_theme(name: &str) -> Result<Theme, String> {
    match name {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err(one_of(["light", "dark"])),
    }
}

fn parse_caption(name: &str) -> Result<CaptionKind, String> {
    match name {
        "none" => Ok(CaptionKind::None),
        "short" => Ok(CaptionKind::Short),
        "full" => Ok(CaptionKind::Full),
        _ => Err(one_of(["none", "short", "full"])),
    }
}

fn parse_svg_text(name: &str) -> Result<SvgText, String> {
    match name {
        "overlay" => Ok(SvgText::Overlay),
        "paths" => Ok(SvgText::Paths),
        "font" => Err("embedded fonts are not supported: choose overlay or paths".to_owned()),
        _ => Err(one_of(["overlay", "paths"])),
    }
}

fn parse_fonts(name: &str) -> Result<FontSource, String> {
    match name {
        "system" => Ok(FontSource::System),
        "bundled" => Ok(FontSource::Bundled),
        _ => Err(one_of(["system", "bundled"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        for (text, points) in
            [("240", 240.0), ("240pt", 240.0), ("2.54cm", 72.0), ("25.4mm", 72.0), ("1in", 72.0), ("96px", 72.0)]
        {
            assert!((parse_length(text).unwrap() - points).abs() < 1e-3, "{text}");
        }
        for wrong in ["", "cm", "NaN", "1e99", "wide", "3 feet"] {
            assert!(parse_length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_and_heads_are_read_as_they_are_printed() {
        assert_eq!(parse_numbers("0-2,11"), Ok(Numbers(vec![0, 1, 2, 11])));
        assert_eq!(parse_head("L3H5"), Ok((3, 5)));
        for wrong in ["", "3-1", "a", "-1"] {
            assert!(parse_numbers(wrong).is_err(), "{wrong}");
        }
        assert!(parse_head("3.5").is_err() && parse_head("L3").is_err());
        assert!(parse_sheet("4x0").is_err() && parse_sheet("4x3").is_ok());
    }
}

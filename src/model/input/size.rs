//! The sizes that an image processor's file gives, in all their forms, and what they make of a picture.

use serde_json::Value;

use super::resample::Pixels8;

/// Forms of a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TargetSize {
    Exact(usize, usize),
    ShortestEdge(usize),
    /// The shortest edge, unless the longest would become longer than this.
    Edges(usize, usize),
    Within(usize, usize),
}

/// No model reads larger pictures; a larger number is a damaged file.
const MAX_SIDE_PX: u64 = 4096;

impl TargetSize {
    /// Height and width for this picture.
    pub fn of(self, source: &Pixels8) -> (usize, usize) {
        let (width, height) = (source.width, source.height);
        match self {
            Self::Exact(height, width) => (height, width),
            // Truncated, as in `get_resize_output_image_size`.
            Self::ShortestEdge(short) if width <= height => (short * height / width, short),
            Self::ShortestEdge(short) => (short, short * width / height),
            Self::Edges(short, long) => with_edges((height, width), short, long),
            Self::Within(max_height, max_width) => {
                let scale = (max_height as f64 / height as f64).min(max_width as f64 / width as f64);
                let scaled = |side: usize| ((side as f64 * scale) as usize).max(1);
                (scaled(height), scaled(width))
            }
        }
    }
}

/// As `get_size_with_aspect_ratio`, roundings included.
fn with_edges((height, width): (usize, usize), short: usize, long: usize) -> (usize, usize) {
    let (smaller, larger) = (height.min(width) as f64, height.max(width) as f64);
    let (exact, short) = if larger / smaller * short as f64 > long as f64 {
        let exact = long as f64 * smaller / larger;
        (exact, exact.round_ties_even() as usize)
    } else {
        (short as f64, short)
    };
    let other = |side: usize, by: usize| ((exact * side as f64 / by as f64) as usize).max(1);
    match () {
        () if (height <= width && height == short) || (width <= height && width == short) => (height, width),
        () if width < height => (other(height, width), short.max(1)),
        () => (short.max(1), other(width, height)),
    }
}

/// A size in one of its forms; `square` says what a single number means.
pub(super) fn size(name: &str, value: &Value, square: bool) -> Result<TargetSize, String> {
    let wrong = || format!("{name} is {value}, which is no size in pixels");
    let side = |value: &Value| {
        let side = value.as_u64().filter(|side| (1..=MAX_SIDE_PX).contains(side));
        side.map(|side| side as usize).ok_or_else(wrong)
    };
    let Value::Object(sizes) = value else {
        return match value {
            Value::Array(list) if list.len() >= 2 => Ok(TargetSize::Exact(side(&list[0])?, side(&list[1])?)),
            _ if square => side(value).map(|side| TargetSize::Exact(side, side)),
            _ => side(value).map(TargetSize::ShortestEdge),
        };
    };
    let mut keys: Vec<_> = sizes.keys().map(String::as_str).collect();
    keys.sort_unstable();
    let of = |name: &str| side(&sizes[name]);
    Ok(match keys.as_slice() {
        ["height", "width"] => TargetSize::Exact(of("height")?, of("width")?),
        ["longest_edge", "shortest_edge"] if sizes["longest_edge"].is_null() => {
            TargetSize::ShortestEdge(of("shortest_edge")?)
        }
        ["longest_edge", "shortest_edge"] => TargetSize::Edges(of("shortest_edge")?, of("longest_edge")?),
        ["shortest_edge"] => TargetSize::ShortestEdge(of("shortest_edge")?),
        ["max_height", "max_width"] => TargetSize::Within(of("max_height")?, of("max_width")?),
        _ => {
            return Err(format!(
                "{name} has {}, but needs height and width, shortest_edge, shortest_edge and longest_edge, or \
                 max_height and max_width",
                if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
            ));
        }
    })
}

/// A size that must be height and width; a single number stands for both.
pub(super) fn sides(name: &str, value: &Value) -> Result<(usize, usize), String> {
    match size(name, value, true)? {
        TargetSize::Exact(height, width) => Ok((height, width)),
        _ => Err(format!("{name} needs height and width")),
    }
}

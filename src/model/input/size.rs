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
    /// The shortest edge, unless the longest would become longer than 1333 / 800 of it; both are then cut to multiples of
    /// the second number, and nothing may be left.
    Multiples(usize, usize),
    /// Both sides at least so long, and one of them no longer (timm's `ResizeKeepRatio`).
    Covering(usize, usize),
    /// In whole patches of this side, and no more of them than `most`, as near to the picture's own shape as that allows.
    Patches {
        side: usize,
        most: usize,
    },
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
            Self::Multiples(short, divisor) => in_multiples((height, width), short, divisor),
            Self::Patches { side, most } => in_patches((height, width), side, most),
            Self::Covering(least_height, least_width) => {
                let ratio = (height as f64 / least_height as f64).min(width as f64 / least_width as f64);
                let scaled = |side: usize| (side as f64 / ratio).round_ties_even() as usize;
                (scaled(height), scaled(width))
            }
            Self::Within(max_height, max_width) => {
                let scale = (max_height as f64 / height as f64).min(max_width as f64 / width as f64);
                let scaled = |side: usize| ((side as f64 * scale) as usize).max(1);
                (scaled(height), scaled(width))
            }
        }
    }
}

/// As `get_image_size_for_max_num_patches`, whose search for the scale ends early.
fn in_patches((height, width): (usize, usize), side: usize, most: usize) -> (usize, usize) {
    const STEP: f64 = 1e-5;
    let scaled = |scale: f64, length: usize| {
        let n = (length as f64 * scale / side as f64).ceil() as usize;
        side.max(n * side)
    };
    let (mut least, mut highest) = (STEP / 10.0, 100.0);
    while highest - least >= STEP {
        let scale = f64::midpoint(least, highest);
        let n = scaled(scale, height) as f64 / side as f64 * (scaled(scale, width) as f64 / side as f64);
        if n <= most as f64 {
            least = scale;
        } else {
            highest = scale;
        }
    }
    (scaled(least, height), scaled(least, width))
}

/// As `get_resize_output_image_size` of BridgeTower, roundings included.
fn in_multiples((height, width): (usize, usize), short: usize, divisor: usize) -> (usize, usize) {
    let longest = (1333.0 / 800.0 * short as f64).trunc();
    let scale = short as f64 / height.min(width) as f64;
    let (mut new_height, mut new_width) =
        if height < width { (short as f64, scale * width as f64) } else { (scale * height as f64, short as f64) };
    let longer = new_height.max(new_width);
    if longer > longest {
        (new_height, new_width) = (longest / longer * new_height, longest / longer * new_width);
    }
    let cut = |side: f64| (side + 0.5) as usize / divisor.max(1) * divisor;
    (cut(new_height), cut(new_width))
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

/// A size whose shortest edge is given, cut to multiples of `divisor`.
pub(super) fn in_multiples_of(divisor: usize, asked: TargetSize) -> Result<TargetSize, String> {
    match asked {
        TargetSize::ShortestEdge(short) | TargetSize::Edges(short, _) if short < divisor => {
            Err(format!("size_divisor {divisor} is larger than the shortest_edge {short} of size"))
        }
        TargetSize::ShortestEdge(short) | TargetSize::Edges(short, _) => Ok(TargetSize::Multiples(short, divisor)),
        TargetSize::Exact(..)
        | TargetSize::Within(..)
        | TargetSize::Multiples(..)
        | TargetSize::Covering(..)
        | TargetSize::Patches { .. } => Err("size needs shortest_edge".to_owned()),
    }
}

/// A size that must be a square's, given as its shortest edge.
pub(super) fn square_crop(name: &str, value: &Value) -> Result<(usize, usize), String> {
    match size(name, value, false)? {
        TargetSize::ShortestEdge(side) => Ok((side, side)),
        _ => Err(format!("{name} needs shortest_edge")),
    }
}

/// A size that must be height and width; a single number stands for both.
pub(super) fn sides(name: &str, value: &Value) -> Result<(usize, usize), String> {
    match size(name, value, true)? {
        TargetSize::Exact(height, width) => Ok((height, width)),
        _ => Err(format!("{name} needs height and width")),
    }
}

//! From the words of the command line to what they mean.

use crate::{figure::write::SvgText, options::one_of};

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

/// `L3H5`.
pub fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
    let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))
}

pub fn parse_numbers(text: &str) -> Result<Numbers, String> {
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

pub fn parse_scale(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.1..=100.0).contains(number));
    number.ok_or_else(|| "give a number from 0.1 to 100".to_owned())
}

/// Points, where no unit is given.
pub fn parse_length(text: &str) -> Result<f32, String> {
    const UNITS: [(&str, f32); 5] = [("pt", 1.0), ("px", 0.75), ("cm", 72.0 / 2.54), ("mm", 72.0 / 25.4), ("in", 72.0)];
    let (number, unit) =
        UNITS.iter().find_map(|(unit, points)| Some((text.strip_suffix(unit)?, *points))).unwrap_or((text, 1.0));
    let length = number.trim().parse::<f32>().ok().map(|number| number * unit).filter(|points| points.is_finite());
    length.ok_or_else(|| "give a length in points, or with a unit: 8.5cm, 85mm, 3.3in".to_owned())
}

pub fn parse_sheet(text: &str) -> Result<[usize; 2], String> {
    let sides = text.split_once('x').and_then(|(cols, rows)| Some([cols.parse().ok()?, rows.parse().ok()?]));
    let sides = sides.filter(|sides: &[usize; 2]| sides.iter().all(|side| (1..=64).contains(side)));
    sides.ok_or_else(|| "give columns and rows from 1 to 64, such as 4x3".to_owned())
}

pub fn parse_theme(name: &str) -> Result<Theme, String> {
    match name {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err(one_of(["light", "dark"])),
    }
}

pub fn parse_svg_text(name: &str) -> Result<SvgText, String> {
    match name {
        "overlay" => Ok(SvgText::Overlay),
        "paths" => Ok(SvgText::Paths),
        "font" => Err("embedded fonts are not supported: choose overlay or paths".to_owned()),
        _ => Err(one_of(["overlay", "paths"])),
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

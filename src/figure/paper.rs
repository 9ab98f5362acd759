//! Figures on pages of A4: whether one fits, and where one that does not is cut.

use emath::{Rangef, Vec2};

use super::list::{Figure, Item, Text};
use crate::text::length_text;

/// Points of a centimetre.
pub const POINTS_PER_CM: f32 = 72.0 / 2.54;
/// A page of A4, in centimetres.
const A4: [f32; 2] = [21.0, 29.7];
/// Room of a page between its margins.
const MOST_HIGH: f32 = 25.7;
/// A page is filled at least to this part, unless something is cut through.
const LEAST_FILLED: f32 = 0.4;

/// Width and height in words.
pub fn size_text(size: Vec2) -> String {
    format!("{} × {} cm", length_text(size.x / POINTS_PER_CM), length_text(size.y / POINTS_PER_CM))
}

/// What is said of a figure that is higher than a page, and is not cut: upright, or across where it is wider than that.
/// What is wider than any page is a poster.
pub fn too_high(figure: &Figure) -> Option<String> {
    let [width, height] = [figure.size.x, figure.size.y].map(|side| side / POINTS_PER_CM);
    let (page, most) = match A4.map(|side| width <= side) {
        [true, _] => ("a page of A4 between its margins", MOST_HIGH),
        [false, true] => ("a page of A4 laid across", A4[0]),
        [false, false] => return None,
    };
    (height > most && figure.cuts.is_empty()).then(|| {
        format!(
            "The figure is {}, higher than {page} ({} cm): fewer tokens or heads make it lower, and so do more columns \
             of a sheet; a PDF can be cut into pages",
            size_text(figure.size),
            length_text(most)
        )
    })
}

/// Where a figure that is higher than a page is cut: between pictures and lines of text, else between lines of text.
pub fn cuts(figure: &Figure) -> Vec<f32> {
    let most = MOST_HIGH * POINTS_PER_CM;
    let mut spans: [Vec<Rangef>; 2] = Default::default();
    gather(&figure.items, &mut spans);
    let merged = spans.map(merged);
    let mut cuts = Vec::new();
    let mut top = 0.0;
    while figure.size.y - top > most {
        let limit = top + most;
        let before = |spans: &Vec<Rangef>| {
            let through = spans.get(spans.partition_point(|span| span.max <= limit));
            through.map_or(limit, |span| span.min.min(limit))
        };
        let cut = merged.iter().map(before).find(|cut| *cut > top + LEAST_FILLED * most);
        top = cut.unwrap_or(limit);
        cuts.push(top);
    }
    cuts
}

/// How far an item reaches down: texts and pictures, which are not to be cut through.
pub fn span(item: &Item) -> Option<Rangef> {
    match item {
        Item::Text(Text { at, angle, size, width, .. }) => {
            let end = at.y + angle.sin() * width;
            Some(Rangef::new(at.y.min(end) - size, at.y.max(end) + 0.3 * size))
        }
        Item::Cells(cells) => Some(cells.rect.y_range()),
        Item::Fill(..) | Item::Lines(_) | Item::Clip(..) => None,
    }
}

/// Spans of texts and pictures, and of texts alone.
fn gather(items: &[Item], spans: &mut [Vec<Rangef>; 2]) {
    for item in items {
        if let Item::Clip(_, inner) = item {
            gather(inner, spans);
        }
        let Some(span) = span(item) else { continue };
        spans[0].push(span);
        if matches!(item, Item::Text(_)) {
            spans[1].push(span);
        }
    }
}

/// Spans in order, those that meet as one.
fn merged(mut spans: Vec<Rangef>) -> Vec<Rangef> {
    spans.sort_by(|a, b| a.min.total_cmp(&b.min));
    let mut merged: Vec<Rangef> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.max >= span.min => last.max = last.max.max(span.max),
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use emath::{Rect, pos2, vec2};

    use super::*;
    use crate::figure::list::{Cells, Sampling};

    fn lines_of_text(size: Vec2) -> Figure {
        let n = (size.y / 12.0) as usize;
        let line = |nth: usize| {
            Item::Text(Text { at: pos2(0.0, 12.0 * nth as f32 + 10.0), size: 8.0, width: 50.0, ..Text::default() })
        };
        Figure { size, items: (0..n).map(line).collect(), ..Figure::default() }
    }

    fn cm(width: f32, height: f32) -> Vec2 {
        vec2(width, height) * POINTS_PER_CM
    }

    #[test]
    fn what_is_higher_than_a_page_is_said() {
        let of = |size| too_high(&lines_of_text(size));
        assert_eq!([cm(8.5, 25.0), cm(27.0, 20.5), cm(60.0, 45.0)].map(of), [None, None, None]);
        let said = of(cm(8.5, 30.2)).unwrap();
        assert!(said.starts_with("The figure is 8.5 × 30.2 cm, higher than a page of A4"), "{said}");
        assert!(of(cm(27.0, 22.0)).unwrap().contains("laid across"));
    }

    #[test]
    fn pages_end_between_lines_of_text() {
        let mut figure = lines_of_text(cm(8.5, 60.0));
        figure.cuts = cuts(&figure);
        assert_eq!(figure.cuts.len(), 2);
        for cut in &figure.cuts {
            assert!(figure.items.iter().filter_map(span).all(|span| span.max <= *cut || span.min >= *cut), "{cut}");
        }
        assert!(figure.cuts[0] > 0.95 * MOST_HIGH * POINTS_PER_CM, "{:?}", figure.cuts);
        assert_eq!(too_high(&figure), None);
        assert!(cuts(&lines_of_text(cm(8.5, 25.0))).is_empty());
    }

    #[test]
    fn a_picture_is_cut_only_where_it_fills_a_page() {
        let picture = |top: f32, bottom: f32| {
            let rect = Rect::from_min_max(pos2(0.0, 0.0) + cm(0.0, top), pos2(0.0, 0.0) + cm(8.0, bottom));
            Item::Cells(Cells { rect, size: [1, 1], rgba: Arc::from([0; 4]), sampling: Sampling::Crisp })
        };
        let figure = Figure { size: cm(8.5, 40.0), items: vec![picture(20.0, 30.0)], ..Figure::default() };
        assert!((cuts(&figure)[0] / POINTS_PER_CM - 20.0).abs() < 0.01, "{:?}", cuts(&figure));
        let figure = Figure { items: vec![picture(1.0, 39.0)], ..figure };
        assert!((cuts(&figure)[0] / POINTS_PER_CM - MOST_HIGH).abs() < 0.01);
    }
}

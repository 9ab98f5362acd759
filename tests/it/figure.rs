//! Figures as files: the same picture from every writer, text that can be found, the same bytes every time.

use std::sync::Arc;

use attnscope::{
    analysis::reading::{Captures, Reading, read},
    figure::{
        Align, Figure, FontSource, Item, Typesetter,
        list::{Cells, Line, Sampling},
        palette::Palette,
        path::Path,
        views::heatmap::ruled_out,
        write::{self, PixelOptions, SvgText, WriteError},
    },
    ids::HeadId,
};
use emath::{Pos2, Rect, pos2, vec2};
use resvg::{tiny_skia, usvg};

use crate::support::stacks;

const INK: [u8; 4] = [28, 31, 36, 255];
/// Latin with ligatures and kerning, right-to-left scripts, wide scripts, marks, byte-level pieces, mixtures.
const TEXTS: [&str; 12] = [
    "AVA ffl",
    "Größe",
    "שלום",
    "مرحبا",
    "日本語",
    "e\u{323}\u{301}",
    "␣the",
    "a→b ≤ √2",
    "👍",
    "<&>\"",
    "abc שלום 12",
    "مرحبا 2024 world",
];

/// Everything that a figure can contain, on 360 × 260 points.
fn figure(source: FontSource) -> (Figure, Typesetter) {
    let mut type_ = Typesetter::new(source);
    let size = vec2(360.0, 260.0);
    let mut items = vec![Item::Fill(Path::rect(Rect::from_min_size(Pos2::ZERO, size)), Palette::LIGHT.canvas)];
    for (row, text) in TEXTS.iter().enumerate() {
        let y = 16.0 + 20.0 * row as f32;
        items.push(Item::Text(type_.text(text, 12.0, INK, pos2(100.0, y), Align::Right)));
        let at = pos2(220.0 + 12.0 * row as f32, 250.0);
        items.push(Item::Text(type_.turned(text, 9.0, INK, at, Align::Left, -std::f32::consts::FRAC_PI_2)));
    }
    let lines: Vec<Line> = (0..40)
        .map(|i| Line {
            from: pos2(110.0, 16.0 + 20.0 * (i % 12) as f32),
            to: pos2(205.0, 16.0 + 20.0 * (i * 7 % 12) as f32),
            width: 0.8 + 0.04 * i as f32,
            color: [0, 114, 178, 20 + 5 * i as u8],
        })
        .collect();
    let clip = Rect::from_min_max(pos2(112.0, 10.0), pos2(203.0, 240.0));
    items.push(Item::Clip(clip, vec![Item::Lines(lines.into())]));
    let rgba: Arc<[u8]> = (0..64 * 64u32).flat_map(|i| [(i * 7 % 256) as u8, (i / 64 * 4) as u8, 90, 255]).collect();
    let rect = Rect::from_min_size(pos2(216.0, 10.0), vec2(130.0, 130.0));
    items.push(Item::Cells(Cells { rect, size: [64, 64], rgba, sampling: Sampling::Crisp }));
    items.push(Item::Fill(Path::frame(rect.expand(1.0), 1.0), [98, 105, 117, 255]));
    items.push(Item::Fill(
        Path::rounded(Rect::from_min_size(pos2(216.0, 150.0), vec2(40.0, 16.0)), 5.0),
        [208, 56, 132, 60],
    ));
    items.push(Item::Fill(Path::ring(pos2(280.0, 158.0), 7.0, 2.0), [22, 140, 84, 255]));
    let provenance = r#"{"model":"demo <&> “quoted”"}"#.to_owned();
    let faces = type_.faces().to_vec();
    (Figure { size, items, faces, title: "A & B".to_owned(), provenance, ..Figure::default() }, type_)
}

/// Straight RGBA of an SVG file, by another painter.
fn rendered(svg: &str, scale: f32) -> Vec<u8> {
    let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).unwrap();
    // The file is in points, and usvg counts 96 pixels to the inch.
    let size = tree.size();
    let (width, height) = (360.0 * scale, 260.0 * scale);
    let mut pixmap = tiny_skia::Pixmap::new(width as u32, height as u32).unwrap();
    let transform = tiny_skia::Transform::from_scale(width / size.width(), height / size.height());
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue(), p.alpha()]).collect()
}

/// Mean difference of the channels, and the part of the pixels where one differs by more than 32.
fn difference(a: &[u8], b: &[u8]) -> (f64, f64) {
    assert_eq!(a.len(), b.len());
    let sum: u64 = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let far = |(a, b): &(&[u8], &[u8])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 32);
    let n_far = a.chunks_exact(4).zip(b.chunks_exact(4)).filter(far).count();
    (sum as f64 / a.len() as f64, n_far as f64 / (a.len() / 4) as f64)
}

#[test]
fn svg_and_png_are_the_same_picture() {
    let (figure, _) = figure(FontSource::System);
    let svg = write::svg(&figure, SvgText::Overlay);
    let png = write::pixels(&figure, PixelOptions { scale: 2.0, hinted: false }).unwrap();
    assert_eq!((png.width, png.height), (720, 520));
    let (mean, far) = difference(&rendered(&svg, 2.0), &png.pixels);
    assert!(mean < 0.3, "mean difference {mean:.3} of 255");
    assert!(far < 0.005, "{:.2} % of the pixels differ", 100.0 * far);
    // Hinting moves edges by parts of a pixel, nothing else.
    let hinted = write::pixels(&figure, PixelOptions { scale: 2.0, hinted: true }).unwrap();
    let (mean, _) = difference(&hinted.pixels, &png.pixels);
    assert!(mean > 0.0 && mean < 1.0, "mean difference {mean:.3} of 255");
    // So high that it is painted in several bands, which must fit together.
    let large = write::pixels(&figure, PixelOptions { scale: 8.0, hinted: false }).unwrap();
    assert_eq!((large.width, large.height), (2880, 2080));
    let (mean, far) = difference(&rendered(&svg, 8.0), &large.pixels);
    assert!(mean < 0.3 && far < 0.005, "mean difference {mean:.3}, {:.2} % differ", 100.0 * far);
}

#[test]
fn the_text_of_an_svg_can_be_found_and_left_out() {
    let (figure, _) = figure(FontSource::System);
    let svg = write::svg(&figure, SvgText::Overlay);
    let document = usvg::roxmltree::Document::parse(&svg).unwrap();
    let said: Vec<&str> =
        document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
    for text in TEXTS {
        assert_eq!(said.iter().filter(|said| **said == text).count(), 2, "{text}");
    }
    let text_of = |name: &str| document.descendants().find(|node| node.has_tag_name(name)).and_then(|node| node.text());
    assert_eq!(text_of("title"), Some("A & B"));
    assert_eq!(text_of("metadata"), Some(figure.provenance.as_str()));
    let paths = write::svg(&figure, SvgText::Paths);
    assert!(!paths.contains("<text") && paths.len() < svg.len());
    let (mean, _) = difference(&rendered(&svg, 1.0), &rendered(&paths, 1.0));
    assert_eq!(mean, 0.0, "the text over the outlines leaves no ink");
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let ((a, _), (b, _)) = (figure(FontSource::Bundled), figure(FontSource::Bundled));
    assert_eq!(write::svg(&a, SvgText::Overlay), write::svg(&b, SvgText::Overlay));
    let (pdf, again) = (write::pdf(&a).unwrap(), write::pdf(&b).unwrap());
    assert!(pdf == again, "two runs, two files");
    assert!(pdf.starts_with(b"%PDF-1.") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
    let has = |what: &[u8]| pdf.windows(what.len()).any(|part| part == what);
    assert!(has(b"/FontFile2"), "fonts are embedded");
    assert!(has(b"/ToUnicode"), "and say which characters their glyphs are");
    assert!(pdf.len() < 100_000, "as subsets: {} bytes", pdf.len());
}

#[test]
fn characters_without_a_font_are_named() {
    let (_, bundled) = figure(FontSource::Bundled);
    let missing: Vec<&str> = bundled.missing().collect();
    assert!(missing.contains(&"日") && missing.contains(&"👍") && missing.contains(&"ש"), "{missing:?}");
    for known in ["␣", "→", "√", "ö", "e"] {
        assert!(!missing.contains(&known), "{known} is bundled");
    }
    assert_eq!(bundled.faces().len(), 4, "nothing of the system's was asked for");
}

#[test]
fn right_to_left_text_stands_in_reading_order() {
    let mut type_ = Typesetter::new(FontSource::System);
    let line = type_.line("ab שלום 12", 10.0, INK);
    if type_.missing().count() > 0 {
        // A machine without a Hebrew font draws boxes; their order is the same, so the test goes on.
        assert_eq!(type_.missing().count(), 4);
    }
    let starts: Vec<usize> = line
        .runs
        .iter()
        .flat_map(|run| &run.glyphs)
        .map(|glyph| glyph.text.start)
        .filter(|at| *at >= 3 && *at < 11)
        .collect();
    assert!(starts.is_sorted_by(|a, b| a > b), "from left to right the last letter comes first: {starts:?}");
    let x: Vec<f32> = line.runs.iter().flat_map(|run| &run.glyphs).map(|glyph| glyph.x).collect();
    assert!(x.is_sorted());
    assert!(!line.right_to_left && type_.line("שלום ab", 10.0, INK).right_to_left);
}

#[test]
fn long_texts_are_cut_between_clusters() {
    let mut type_ = Typesetter::new(FontSource::Bundled);
    let text = "internationale\u{301}isation";
    let full = type_.width(text, 10.0);
    assert_eq!(type_.fit(text, 10.0, full + 0.01), text);
    for part in 1..20 {
        let room = full * part as f32 / 20.0;
        let cut = type_.fit(text, 10.0, room).into_owned();
        assert!(cut.ends_with('…') && text.starts_with(cut.trim_end_matches('…')), "{cut}");
        assert!(!cut.ends_with("e…") || !text[cut.len() - '…'.len_utf8()..].starts_with('\u{301}'), "{cut}");
        assert!(cut == "…" || type_.width(&cut, 10.0) <= room, "{cut} in {room}");
    }
    assert!((type_.width(text, 20.0) - 2.0 * full).abs() < 1e-3);
}

#[test]
fn a_picture_that_would_not_fit_is_refused() {
    let (mut figure, _) = figure(FontSource::Bundled);
    let pixels = |figure: &Figure, scale| write::pixels(figure, PixelOptions { scale, hinted: true }).unwrap_err();
    assert!(matches!(pixels(&figure, 200.0), WriteError::TooManyPixels { .. }));
    assert!(pixels(&figure, 200.0).to_string().contains("72000 × 52000"), "{}", pixels(&figure, 200.0));
    for scale in [0.0, -1.0, f32::NAN] {
        assert!(matches!(pixels(&figure, scale), WriteError::NoArea { .. }));
    }
    figure.size = vec2(66_000.0, 1.0);
    assert!(matches!(pixels(&figure, 1.0), WriteError::TooManyPixels { .. }), "one side alone");
    figure.size = vec2(0.0, 10.0);
    assert!(matches!(write::pdf(&figure), Err(WriteError::NoArea { .. })));
}

#[test]
fn a_png_says_how_large_it_is_in_print() {
    let (figure, _) = figure(FontSource::Bundled);
    let bytes = write::png(&figure, PixelOptions { scale: 300.0 / 72.0, hinted: true }).unwrap();
    let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let info = reader.info();
    assert_eq!((info.width, info.height), (1500, 1083));
    let dots = info.pixel_dims.unwrap();
    assert_eq!((dots.xppu, dots.yppu, dots.unit), (11811, 11811, png::Unit::Meter), "300 dots per inch");
    let origin = info.utf8_text.iter().find(|chunk| chunk.keyword == "Description").unwrap().get_text().unwrap();
    assert_eq!(origin, figure.provenance);
}

/// The window and figures hatch the same: before a window, and where later keys are seen also after it.
#[test]
fn what_lies_outside_a_window_is_hatched_on_both_sides() {
    let capture = stacks::window_capture(12, 3);
    let mut pattern = read(Captures::one(&capture), &Reading::of(HeadId::single(0, 0))).unwrap();
    let content = Rect::from_min_size(pos2(5.0, 7.0), vec2(240.0, 120.0));
    let spans = |pattern: &_| -> Vec<(f32, f32)> {
        let hatched = ruled_out::ruled_out(pattern, content, 5..6, ruled_out::out_of_window);
        hatched.iter().map(|rect| ((rect.left() - 5.0) / 20.0, (rect.right() - 5.0) / 20.0)).collect()
    };
    assert_eq!(spans(&pattern), [(0.0, 3.0)], "later keys are masked, not outside");
    pattern.causal = false;
    pattern.visible = (0..12usize).map(|row| row.saturating_sub(2)..(row + 3).min(12)).collect();
    assert_eq!(spans(&pattern), [(0.0, 3.0), (8.0, 12.0)]);
}

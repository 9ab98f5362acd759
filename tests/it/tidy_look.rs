//! The look has one place: nothing outside `style/` names a colour, a corner or a size of text.

use super::tidy::sources;

/// What names one, before its first digit.
const NAMES: [&str; 10] = [
    "from_rgb(",
    "from_gray(",
    "from_black_alpha(",
    "from_white_alpha(",
    "corner_radius(",
    "CornerRadius::same(",
    "FontId::new(",
    "FontId::proportional(",
    "FontId::monospace(",
    ".size(",
];
/// Who paints a rectangle with a corner as its second argument.
const RECTANGLES: [&str; 2] = ["rect_filled(", "rect_stroke("];
/// Colours that egui names itself, but for those of pictures as they are.
const PLAIN: [&str; 4] = ["Color32::TRANSPARENT", "Color32::WHITE", "Color32::BLACK", "Color32::PLACEHOLDER"];

/// Where they are named all the same, and why.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("src/raster/colormap_tables.rs", "colours that others published"),
    ("src/figure/legible.rs", "black and white, where no colour of ours can be read"),
    ("src/ui/theme.rs", "a colour of the palette as the window has it"),
];

#[test]
fn nothing_else_names_a_colour_a_corner_or_a_size_of_text() {
    let mut offences = Vec::new();
    for (path, text) in
        ["src/raster", "src/figure", "src/ui", "src/session", "src/export"].into_iter().flat_map(sources)
    {
        let shown = path.to_string_lossy().replace('\\', "/");
        if EXCEPTIONS.iter().any(|(known, _)| *known == shown) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(what) = named(line) {
                offences.push(format!("{shown}:{}: {what} in `{}`", number + 1, line.trim()));
            }
        }
    }
    assert!(offences.is_empty(), "these belong into src/style:\n{}", offences.join("\n"));
}

/// What a line names that belongs into `style/`.
fn named(line: &str) -> Option<&'static str> {
    let after = |name: &str| {
        line.match_indices(name).map(|(at, found)| line[at + found.len()..].to_owned()).collect::<Vec<_>>()
    };
    let digit = |text: &String| text.starts_with(|c: char| c.is_ascii_digit());
    let names_size = NAMES.iter().any(|name| after(name).iter().any(digit));
    let has_corner = RECTANGLES.iter().flat_map(|name| after(name)).any(|call| {
        let second = second_argument(&call).unwrap_or_default();
        second.starts_with(|c: char| ('1'..='9').contains(&c))
    });
    let named_colors = after("Color32::").into_iter().map(|rest| format!("Color32::{rest}"));
    let mut colors =
        named_colors.filter(|rest| rest["Color32::".len()..].starts_with(|c: char| c.is_ascii_uppercase()));
    let names_color = colors.any(|rest| PLAIN.iter().all(|plain| !rest.starts_with(plain)));
    let is_hex = |text: &String| text.len() >= 6 && text[..6].chars().all(|c| c.is_ascii_hexdigit());
    match (names_size || has_corner, names_color || after("0x").iter().any(is_hex) || is_bytes(line)) {
        (true, _) => Some("a size or a corner"),
        (false, true) => Some("a colour"),
        (false, false) => None,
    }
}

/// The second argument of a call, from behind its bracket.
fn second_argument(call: &str) -> Option<&str> {
    let mut depth = 0;
    let comma = call.char_indices().find_map(|(at, c)| {
        depth += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        (depth == 0 && c == ',').then_some(at)
    })?;
    Some(call[comma + 1..].trim_start())
}

/// Whether four bytes stand in a row, the last of them opaque.
fn is_bytes(line: &str) -> bool {
    line.split('[').skip(1).filter_map(|rest| rest.split(']').next()).any(|inside| {
        let numbers: Vec<&str> = inside.split(',').map(str::trim).collect();
        let all_numbers = numbers.iter().all(|number| number.parse::<u8>().is_ok());
        numbers.len() == 4 && all_numbers && numbers[3] == "255"
    })
}

#[test]
fn what_belongs_into_the_style_is_found() {
    for line in [
        "let red = Color32::from_rgb(255, 0, 0);",
        "painter.rect_filled(rect.expand2(vec2(1.0, 2.0)), 3, fill);",
        "let ink = Color32::RED;",
        "const INK: u32 = 0x1f5fd0;",
        "let ink = [20, 22, 26, 255];",
        "RichText::new(text).size(12.5)",
        "FontId::proportional(11.0)",
    ] {
        assert!(named(line).is_some(), "{line}");
    }
    for line in [
        "painter.rect_filled(rect, radius::MARK, theme.hover);",
        "painter.rect_filled(rect, 0, Color32::WHITE);",
        "RichText::new(text).size(text_size::SMALL)",
        "let shape = [1, 2, 3, 4];",
    ] {
        assert!(named(line).is_none(), "{line}");
    }
}

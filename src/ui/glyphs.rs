//! The window's fonts: the bundled ones in the order in which figures use them too.

use std::sync::Arc;

use eframe::egui::{self, FontData, FontDefinitions, FontFamily};

use super::theme::medium_family;
use crate::style::font;

/// Installs the fonts; what they lack comes from those that egui brings, then from the system.
pub fn install(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::default();
    let ours = [
        ("sans", font::SANS),
        ("medium", font::SANS_MEDIUM),
        ("mono", font::MONO),
        ("math", font::MATH),
        ("symbols", font::SYMBOLS),
    ];
    for (name, bytes) in ours {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    }
    let emoji = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let emoji = emoji.into_iter().filter(|name| !name.starts_with("Ubuntu"));
    let families = [(FontFamily::Proportional, "sans"), (medium_family(), "medium"), (FontFamily::Monospace, "mono")];
    for (family, first) in families {
        let names = [first, "sans", "math", "symbols", "Hack"].map(str::to_owned).into_iter();
        fonts.families.insert(family, names.chain(emoji.clone()).collect());
    }
    ctx.set_fonts(fonts);
}

#[cfg(test)]
mod tests {
    use skrifa::{
        MetadataProvider as _,
        instance::{LocationRef, Size},
    };

    use super::*;

    #[test]
    fn every_symbol_leaves_ink_inside_its_advance() {
        let font = skrifa::FontRef::new(font::SYMBOLS).unwrap();
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        for symbol in "␣⏎⏴⏵⏷←→✖☀🌙📷📋⚠".chars() {
            let glyph = font.charmap().map(symbol).unwrap();
            let (bounds, advance) = (metrics.bounds(glyph).unwrap(), metrics.advance_width(glyph).unwrap());
            assert!(bounds.x_max > bounds.x_min + 200.0 && bounds.y_max > bounds.y_min + 100.0, "{symbol} has ink");
            assert!(bounds.x_min >= 0.0 && bounds.x_max <= advance, "{symbol} stays inside");
        }
    }
}

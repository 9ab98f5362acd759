//! The window's fonts: the bundled ones in the order in which figures use them too.

use std::sync::Arc;

use eframe::egui::{self, FontData, FontDefinitions, FontFamily};

use crate::figure::font::SYMBOLS;

/// Installs the symbols, so that they look the same on a machine without any font, and Hack as a further
/// font for the arrows and letters that Ubuntu lacks. What none of them has comes from the system.
pub fn install(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::default();
    fonts.font_data.insert("symbols".to_owned(), Arc::new(FontData::from_static(SYMBOLS)));
    for (family, more) in [(FontFamily::Proportional, &["symbols", "Hack"][..]), (FontFamily::Monospace, &["symbols"])]
    {
        if let Some(names) = fonts.families.get_mut(&family) {
            let first = 1.min(names.len());
            names.splice(first..first, more.iter().map(|name| (*name).to_owned()));
        }
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
        let font = skrifa::FontRef::new(SYMBOLS).unwrap();
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        for symbol in "␣⏎⏴⏵⏷←→✖☀🌙📷📋⚠".chars() {
            let glyph = font.charmap().map(symbol).unwrap();
            let (bounds, advance) = (metrics.bounds(glyph).unwrap(), metrics.advance_width(glyph).unwrap());
            assert!(bounds.x_max > bounds.x_min + 200.0 && bounds.y_max > bounds.y_min + 100.0, "{symbol} has ink");
            assert!(bounds.x_min >= 0.0 && bounds.x_max <= advance, "{symbol} stays inside");
        }
    }
}

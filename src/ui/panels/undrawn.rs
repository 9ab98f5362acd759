//! Characters of the input that no font of this system can draw.

use std::collections::BTreeSet;

use eframe::egui::{self, Ui};

use crate::{capture::Capture, text::counted};

/// Characters without a font that are named.
const MAX_UNDRAWN: usize = 6;

/// Names the characters that no font of this system can draw, so that nobody takes their boxes for the text.
pub fn undrawn_text(ui: &Ui, capture: &Capture) -> Option<String> {
    let stacks = capture.model().stacks.iter().map(|stack| stack.kind);
    let tokens = stacks.flat_map(|stack| [capture.query_tokens(stack), capture.key_tokens(stack)]).flatten();
    let letters: BTreeSet<char> = tokens.flat_map(|token| token.text.chars()).filter(|c| !c.is_ascii()).collect();
    let font = egui::TextStyle::Body.resolve(ui.style());
    let is_drawn = |c: char| {
        c.is_whitespace() || c.is_control() || is_invisible(c) || ui.ctx().fonts_mut(|fonts| fonts.has_glyph(&font, c))
    };
    let undrawn: Vec<char> = letters.into_iter().filter(|&c| !is_drawn(c)).collect();
    let names: Vec<String> = undrawn.iter().take(MAX_UNDRAWN).map(|&c| format!("U+{:04X}", u32::from(c))).collect();
    let more = if undrawn.len() > MAX_UNDRAWN { ", …" } else { "" };
    (!undrawn.is_empty()).then(|| {
        let n = counted(undrawn.len(), "character");
        format!("⚠ No installed font has {n} of the text ({}{more}); they are shown as boxes", names.join(", "))
    })
}

/// Marks that join letters, set their direction or choose their form, and have no picture of their own.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

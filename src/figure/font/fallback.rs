//! Choice of the face for a cluster: bundled ones first, then those of the system.

use std::{collections::HashMap, sync::Arc};

use egui_system_font_provider::SystemFontProvider;
use epaint::text::{FallbackRequest, FontFamily, FontProvider};

use super::face::{Face, FontBytes};
use crate::style::font;

/// Where to look for characters that the bundled fonts lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FontSource {
    /// Among the fonts of the system, as the window does.
    #[default]
    System,
    /// Nowhere: the same file on every machine.
    Bundled,
}

vocabulary! {
    FontSource: name;
    System("system"),
    Bundled("bundled"),
}

/// The faces that are known so far, and which of them draws what.
pub(super) struct Fallback {
    faces: Vec<Face>,
    /// Answers are kept: the system is slow to ask.
    known: HashMap<String, FaceChoice>,
    system: Option<Arc<SystemFontProvider>>,
}

/// Which face draws a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FaceChoice {
    pub face: usize,
    /// Whether it has all the characters.
    pub complete: bool,
}

impl Fallback {
    pub(super) fn new(source: FontSource) -> Self {
        let bundled = [font::SANS, font::MATH, font::SYMBOLS, epaint_default_fonts::HACK_REGULAR];
        let face = |bytes: &'static [u8]| Face::new(Arc::new(bytes) as FontBytes, 0);
        let faces = bundled.into_iter().filter_map(face).collect();
        // Listing the system's fonts starts now, on a thread of its own.
        let system = (source == FontSource::System).then(|| Arc::new(SystemFontProvider::new()));
        Self { faces, known: HashMap::new(), system }
    }

    pub(super) fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// The first face with every character of the cluster, else the first with its base.
    ///
    /// (Asking for the base alone, as egui does, loses combining marks that the face lacks.)
    pub(super) fn choose(&mut self, cluster: &str) -> FaceChoice {
        if let Some(known) = self.known.get(cluster) {
            return *known;
        }
        let choice = self.find(cluster);
        self.known.insert(cluster.to_owned(), choice);
        choice
    }

    fn find(&mut self, cluster: &str) -> FaceChoice {
        let with_all = |faces: &[Face]| faces.iter().position(|face| visible(cluster).all(|c| face.has(c)));
        if let Some(face) = with_all(&self.faces) {
            return FaceChoice { face, complete: true };
        }
        if self.ask_system(cluster)
            && let Some(face) = with_all(&self.faces)
        {
            return FaceChoice { face, complete: true };
        }
        let with_base = |face: &Face| visible(cluster).next().is_some_and(|c| face.has(c));
        FaceChoice { face: self.faces.iter().position(with_base).unwrap_or(0), complete: false }
    }

    /// Adds the system's face for a cluster; false when it has none.
    fn ask_system(&mut self, cluster: &str) -> bool {
        let request = FallbackRequest { cluster, family: &FontFamily::Proportional };
        let Some(found) = self.system.as_ref().and_then(|system| system.font_for(&request)) else { return false };
        let (data, index) = (found.data.font, found.data.index);
        if self.faces.iter().any(|face| face.is(&data, index)) {
            return false;
        }
        let Some(face) = Face::new(data, index) else { return false };
        self.faces.push(face);
        true
    }
}

/// The characters of a cluster that need a glyph of their own.
fn visible(cluster: &str) -> impl Iterator<Item = char> {
    // Joiners and variation selectors change their neighbours; direction marks change nothing that is drawn.
    cluster.chars().filter(|c| {
        !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ad}')
    })
}

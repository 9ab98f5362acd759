//! A font file and the numbers of it that layout needs.

use std::{fmt, sync::Arc};

use skrifa::{
    FontRef, MetadataProvider as _,
    instance::{LocationRef, Size},
    string::StringId,
};

/// Shared, immutable bytes of a font file.
pub type FontBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// One face of a font file. Cheap to clone.
#[derive(Clone)]
pub struct Face {
    data: FontBytes,
    index: u32,
    name: Arc<str>,
    units_per_em: f32,
    /// Above and below the baseline (the second negative) and between two lines, in em.
    metrics: [f32; 3],
}

impl Face {
    /// Face `index` of a font file; `None` when it cannot be read.
    pub fn new(data: FontBytes, index: u32) -> Option<Self> {
        let font = FontRef::from_index((*data).as_ref(), index).ok()?;
        let metrics = font.metrics(Size::unscaled(), LocationRef::default());
        let units_per_em = f32::from(metrics.units_per_em);
        if units_per_em <= 0.0 {
            return None;
        }
        let name = font.localized_strings(StringId::FULL_NAME).english_or_first();
        let name = name.map_or_else(|| "unnamed".to_owned(), |name| name.to_string()).into();
        let metrics = [metrics.ascent, metrics.descent, metrics.leading].map(|value| value / units_per_em);
        Some(Self { data, index, name, units_per_em, metrics })
    }

    /// The bytes of the file.
    pub const fn data(&self) -> &FontBytes {
        &self.data
    }

    /// Which face of the file.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The name that the font gives itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Font units in one em.
    pub const fn units_per_em(&self) -> f32 {
        self.units_per_em
    }

    /// Height above the baseline, depth below it (negative) and gap between two lines, in em.
    pub const fn metrics(&self) -> [f32; 3] {
        self.metrics
    }

    /// The parsed font; its tables are read in place.
    pub fn font(&self) -> Option<FontRef<'_>> {
        FontRef::from_index((*self.data).as_ref(), self.index).ok()
    }

    /// Whether there is a glyph for `c`.
    pub fn has(&self, c: char) -> bool {
        self.font().is_some_and(|font| font.charmap().map(c).is_some_and(|glyph| glyph.to_u32() != 0))
    }

    /// Whether both are the same face of the same bytes.
    pub fn is(&self, data: &FontBytes, index: u32) -> bool {
        self.index == index && std::ptr::addr_eq(Arc::as_ptr(&self.data), Arc::as_ptr(data))
    }
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Face({})", self.name)
    }
}

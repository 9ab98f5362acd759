//! Figures and the numbers behind them, as files, as a preview, and for the clipboard.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use emath::Vec2;

use super::{ExportError, atomic_write};
use crate::{
    analysis::{PointCloud, reading::Captures},
    capture::{Capture, RgbaBuffer},
    figure::{
        Typesetter,
        data::{self, DataFormat, Table},
        paper,
        spec::{self, Drawing, FigureError, FigureInput, FigureSpec, Measurements},
        views::lab::Answered,
        web,
        write::{FigureFormat, PixelOptions, pixels, svg},
    },
};

/// What is to be drawn, of what.
#[derive(Clone, Debug)]
pub struct FigureRequest {
    pub spec: Arc<FigureSpec>,
    pub capture: Arc<Capture>,
    /// What joint spaces are made of.
    pub cloud: PointCloud,
    /// What may be subtracted from it.
    pub other: Option<Arc<Capture>>,
    /// What the laboratory answered.
    pub answers: Vec<Answered>,
    pub measured: Measurements,
}

/// What would be written, to be looked at.
#[derive(Clone, Debug)]
pub enum Preview {
    Figure(FigurePreview),
    /// The numbers behind figures.
    Numbers(NumbersPreview),
}

/// The beginning of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumbersPreview {
    pub columns: Vec<String>,
    /// The first rows.
    pub rows: Vec<Vec<String>>,
    pub n_rows: usize,
    pub n_bytes: u64,
}

/// A picture of the first figure, as small as it is shown.
#[derive(Clone, Debug)]
pub struct FigurePreview {
    pub pixels: Arc<RgbaBuffer>,
    /// Width and height of the figure, in points.
    pub size_pt: Vec2,
    /// Pages that it is cut into.
    pub n_pages: usize,
    /// What is said where it is higher than a page.
    pub too_high: Option<String>,
    /// How many figures there are.
    pub n_figures: usize,
    /// Characters that no font has.
    pub missing: Vec<String>,
}

impl FigureRequest {
    /// What is drawn.
    pub fn subject(&self) -> FigureInput<'_> {
        let captures = Captures { this: &self.capture, other: self.other.as_deref() };
        FigureInput { captures, cloud: &self.cloud, answers: &self.answers, measured: &self.measured }
    }

    /// What it is made of beside its spec and its capture: numbers that tell each apart.
    pub fn identities(&self) -> Vec<usize> {
        self.answers.iter().map(Answered::identity).chain(self.measured.identities()).collect()
    }

    fn draw(&self, type_: &mut Typesetter) -> Result<Vec<Drawing>, FigureError> {
        spec::draw(spec::all(&self.spec, self.subject())?, &self.spec, self.subject(), type_)
    }

    /// The first figure, at most `max_px` wide and high.
    ///
    /// # Errors
    /// When nothing can be drawn.
    pub fn preview(&self, max_px: [f32; 2]) -> Result<FigurePreview, FigureError> {
        let mut type_ = Typesetter::new(self.spec.paper.fonts);
        let drawings = self.draw(&mut type_)?;
        let figure = &first(&drawings)?.figure;
        let scale = (max_px[0] / figure.size.x).min(max_px[1] / figure.size.y);
        Ok(FigurePreview {
            pixels: Arc::new(pixels(figure, PixelOptions::at(scale))?),
            size_pt: figure.size,
            n_pages: figure.cuts.len() + 1,
            too_high: paper::too_high(figure),
            n_figures: drawings.len(),
            missing: type_.missing().map(ToOwned::to_owned).collect(),
        })
    }

    /// The first `n_rows` rows of the numbers behind the figures, and how large their file is.
    ///
    /// # Errors
    /// When nothing can be drawn.
    pub fn preview_numbers(&self, format: DataFormat, n_rows: usize) -> Result<NumbersPreview, FigureError> {
        let table = self.table()?;
        let mut size = Size(0);
        data::write(&table, format, &mut size).map_err(|error| FigureError::Failed(error.to_string()))?;
        let row = |row| table.columns.iter().map(|column| column.values.text(row).into_owned()).collect();
        Ok(NumbersPreview {
            columns: table.columns.iter().map(|column| column.name.to_string()).collect(),
            rows: (0..table.len().min(n_rows)).map(row).collect(),
            n_rows: table.len(),
            n_bytes: size.0,
        })
    }

    /// The first figure in pixels, at the paper's scale.
    ///
    /// # Errors
    /// When nothing can be drawn, or the picture is too large.
    pub fn pixels(&self) -> Result<RgbaBuffer, FigureError> {
        let drawings = self.draw(&mut Typesetter::new(self.spec.paper.fonts))?;
        Ok(pixels(&first(&drawings)?.figure, PixelOptions::at(self.spec.paper.scale))?)
    }

    /// The first figure as SVG.
    ///
    /// # Errors
    /// When nothing can be drawn.
    pub fn svg(&self) -> Result<String, FigureError> {
        let drawings = self.draw(&mut Typesetter::new(self.spec.paper.fonts))?;
        Ok(svg(&first(&drawings)?.figure, self.spec.paper.svg_text))
    }

    /// The numbers behind the figures, tab-separated.
    ///
    /// # Errors
    /// When nothing can be drawn.
    pub fn numbers(&self) -> Result<String, FigureError> {
        Ok(data::tab_separated(&self.table()?))
    }

    fn table(&self) -> Result<Table, FigureError> {
        let drawn = spec::all(&self.spec, self.subject())?;
        spec::table(&drawn, &self.spec, self.subject())
    }

    /// Writes figures, a page for a browser, or the numbers behind them, as the ending of `path` says. Several figures get a file
    /// each, with layer and head in its name; the folder they are in is answered then.
    ///
    /// # Errors
    /// When nothing can be drawn or written, or the ending is unknown. Files that were there stay whole.
    pub fn write(&self, path: &Path) -> Result<PathBuf, ExportError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if web::is_page(path) {
            let page = web::page(&self.spec, self.subject())?;
            atomic_write(path, |out| out.write_all(&page))?;
            return Ok(path.to_owned());
        }
        if let Some(format) = FigureFormat::from_extension(extension) {
            return self.write_figures(path, extension, format);
        }
        let Some(format) = DataFormat::from_extension(&extension.to_lowercase()) else {
            return Err(ExportError::UnknownKind(path.to_owned()));
        };
        let table = self.table()?;
        atomic_write(path, |out| data::write(&table, format, out))?;
        Ok(path.to_owned())
    }

    fn write_figures(&self, path: &Path, extension: &str, format: FigureFormat) -> Result<PathBuf, ExportError> {
        let drawings = self.draw(&mut Typesetter::new(self.spec.paper.fonts))?;
        let several = drawings.len() > 1;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for Drawing { figure, layer, head } in &drawings {
            let part =
                |letter: &str, number: Option<usize>| number.map_or_else(String::new, |n| format!("{letter}{n}"));
            let name = format!("{stem}-{}{}.{extension}", part("L", *layer), part("H", *head));
            let path = if several { path.with_file_name(name) } else { path.to_owned() };
            let paper = &self.spec.paper;
            let bytes = format.bytes(figure, paper.svg_text, paper.scale).map_err(FigureError::from)?;
            atomic_write(&path, |out| out.write_all(&bytes))?;
        }
        first(&drawings)?;
        Ok(if several { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() })
    }
}

/// Counts what is written to it.
struct Size(u64);

impl Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn first(drawings: &[Drawing]) -> Result<&Drawing, FigureError> {
    drawings.first().ok_or_else(|| FigureError::Failed("there is nothing to draw".to_owned()))
}

//! Files: their kind by their ending, one or many, written whole or not at all.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::RenderOptions;
use crate::{
    cli::CliError,
    export,
    figure::{
        self, Figure,
        data::{DataFormat, Table},
        spec::FigureSpec,
        web,
        write::FigureFormat,
    },
};

fn format(path: &Path) -> Result<FigureFormat, CliError> {
    FigureFormat::from_extension(&extension(path)).ok_or_else(|| {
        CliError::Usage(format!(
            "a figure ends in .svg, .pdf or .png, and a page for a browser in .html: {}",
            path.display()
        ))
    })
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Where figures go.
pub struct FigureOutput {
    out: Option<PathBuf>,
}

impl FigureOutput {
    /// Checks what can be checked before anything is computed.
    pub fn new(options: &RenderOptions) -> Result<Self, CliError> {
        if let Some(out) = &options.out {
            let kind = if web::is_page(out) { None } else { Some(format(out)?) };
            if options.pages && kind != Some(FigureFormat::Pdf) {
                let message = format!("--pages is for a PDF, and {} is none", out.display());
                return Err(CliError::Usage(message));
            }
            let name = out.to_string_lossy();
            let rest = name.replace("{layer}", "").replace("{head}", "");
            if rest.contains(['{', '}']) {
                let message = format!("only {{layer}} and {{head}} can be filled in: {}", out.display());
                return Err(CliError::Usage(message));
            }
            if kind.is_none() && rest.len() < name.len() {
                let message = "a page holds every head: leave {layer} and {head} out of its name";
                return Err(CliError::Usage(message.to_owned()));
            }
            if (options.sheet.is_some() || options.each.is_some()) && rest.len() < name.len() {
                let message =
                    "a sheet is one file: leave {layer} and {head} out of its name, or leave out --sheet or --each";
                return Err(CliError::Usage(message.to_owned()));
            }
            let folder = Path::new(&rest).parent().filter(|folder| !folder.as_os_str().is_empty());
            if rest.len() == name.len()
                && let Some(folder) = folder.filter(|folder| !folder.is_dir())
            {
                return Err(CliError::Failed(export::ExportError::NoFolder(folder.to_owned()).to_string()));
            }
        }
        if let Some(data) = &options.data {
            let ending = extension(data);
            if data != Path::new("-") && DataFormat::from_extension(&ending).is_none() {
                let message = format!("numbers end in .csv, .json, .npz or .safetensors: {}", data.display());
                return Err(CliError::Usage(message));
            }
        }
        Ok(Self { out: options.out.clone() })
    }

    /// The page for a browser, where that is what is written.
    pub fn page(&self) -> Option<&Path> {
        self.out.as_deref().filter(|out| web::is_page(out))
    }

    /// The file of one figure.
    pub fn path(&self, layer: Option<usize>, head: Option<usize>) -> PathBuf {
        let number = |number: Option<usize>| number.map_or_else(|| "all".to_owned(), |number| number.to_string());
        let name = self.out.clone().unwrap_or_default().to_string_lossy().into_owned();
        PathBuf::from(name.replace("{layer}", &number(layer)).replace("{head}", &number(head)))
    }

    /// Whether every figure has a file of its own.
    pub fn check(&self, drawn: &[figure::spec::NamedScene]) -> Result<(), CliError> {
        if self.out.is_none() || self.page().is_some() {
            return Ok(());
        }
        let paths: BTreeSet<PathBuf> = drawn.iter().map(|it| self.path(it.layer, it.head)).collect();
        if paths.len() < drawn.len() {
            let (n, places) = (drawn.len(), paths.len());
            return Err(CliError::Usage(format!(
                "{n} figures need a file each, and --out names {places}: put {{layer}} and {{head}} into it, such as \
                 {{layer}}-{{head}}.svg, or put all on one page with --sheet 4x3"
            )));
        }
        Ok(())
    }
}

/// Writes a figure.
pub fn write(path: &Path, figure: &Figure, spec: &FigureSpec) -> Result<(), CliError> {
    let bytes = format(path)?.bytes(figure, spec.paper.svg_text, spec.paper.scale);
    let bytes = bytes.map_err(|error| CliError::Failed(error.to_string()))?;
    write_bytes(path, &bytes)
}

/// Writes a file whole or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    export::atomic_write(path, |out| out.write_all(bytes)).map_err(|error| CliError::Failed(error.to_string()))
}

/// Writes numbers to a file, or CSV to stdout where the file is `-`.
pub fn write_data(path: &Path, table: &Table) -> Result<(), CliError> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        figure::data::write(table, DataFormat::Csv, &mut bytes).map_err(|error| CliError::Failed(error.to_string()))?;
        // A closed pipe is not an error.
        io::stdout().lock().write_all(&bytes).ok();
        return Ok(());
    }
    let format = DataFormat::from_extension(&extension(path)).unwrap_or(DataFormat::Csv);
    export::atomic_write(path, |out| figure::data::write(table, format, out))
        .map_err(|error| CliError::Failed(error.to_string()))
}

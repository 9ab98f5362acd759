//! `attnscope render`: the figures of the window, and the numbers behind them, without a window.

mod choice;
mod options;
mod output;
mod scenes;
mod source;

pub use options::RenderOptions;

use self::{output::Target, scenes::Drawn};
use super::CliError;
use crate::figure::{Captions, Sheet, Typesetter, data::Table};

pub fn run(options: &RenderOptions) -> Result<(), CliError> {
    let target = Target::new(options)?;
    let page = options.page()?;
    let capture = source::capture(options)?;
    for note in capture.notes() {
        log::warn!("{note}");
    }
    let mut drawn = scenes::all(options, &capture)?;
    let sheet = options.sheet;
    if let Some([n_cols, n_rows]) = sheet
        && drawn.len() > n_cols * n_rows
    {
        let (n, room) = (drawn.len(), n_cols * n_rows);
        return Err(CliError::Usage(format!(
            "{n} figures do not fit on a sheet of {n_cols}x{n_rows}, which has room for {room}: name fewer with --layer \
             and --head, or choose a larger sheet"
        )));
    }
    if sheet.is_none() {
        target.check(&drawn)?;
    }
    let table = options.data.is_some().then(|| table(&drawn, options, &capture)).transpose()?;
    if let Some(out) = &options.out {
        let mut type_ = Typesetter::new(options.fonts);
        if let Some([n_cols, _]) = sheet {
            let captions = sheet_captions(&drawn);
            let heads = drawn.iter().map(|it| it.label.clone()).collect();
            let scenes = drawn.drain(..).map(|it| (it.label, it.scene)).collect();
            let sheet = Sheet { scenes, n_cols, captions };
            output::write(out, &sheet, &page, heads, options, &capture, &mut type_)?;
        } else {
            for it in &drawn {
                let heads = vec![it.label.clone()];
                output::write(&target.path(it), &*it.scene, &page, heads, options, &capture, &mut type_)?;
            }
        }
        let missing: Vec<&str> = type_.missing().collect();
        if !missing.is_empty() {
            log::warn!("no font has {}; boxes stand for them", missing.join(" "));
        }
    }
    match (&options.data, table) {
        (Some(path), Some(table)) => output::write_data(path, &table),
        _ => Ok(()),
    }
}

/// The numbers of all figures, one after the other.
fn table(drawn: &[Drawn], options: &RenderOptions, capture: &crate::capture::Capture) -> Result<Table, CliError> {
    let mut table = Table::default();
    for it in drawn {
        table.append((it.table)());
    }
    let heads: Vec<String> = drawn.iter().map(|it| it.label.clone()).collect();
    table.provenance = output::provenance(options, capture, &heads, None).to_string();
    if table.is_empty() {
        return Err(CliError::Failed("nothing is drawn, so there are no numbers to write".to_owned()));
    }
    Ok(table)
}

/// What is said below several scenes: of which heads, and what holds for all.
fn sheet_captions(drawn: &[Drawn]) -> Captions {
    let (Some(first), Some(last)) = (drawn.first(), drawn.last()) else { return Captions::default() };
    let which = if drawn.len() == 1 { first.label.clone() } else { format!("{} to {}", first.label, last.label) };
    let origin = &first.origin;
    Captions {
        short: format!("{}: {which}.", first.view_text),
        full: format!("{}: {which}. {origin}.", first.view_text),
    }
}

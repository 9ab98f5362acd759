//! `attnscope render`: the figures of the window, and the numbers behind them, without a window.

mod explained;
mod flags;
mod options;
mod output;
mod parse;
mod saved;
mod source;
mod studied;

pub use options::RenderOptions;
pub use parse::{Numbers, parse_head, parse_numbers};

use self::{output::FigureOutput, source::Source};
use super::CliError;
use crate::{
    analysis::reading::Captures,
    figure::{
        Typesetter, paper,
        spec::{self, FigureInput},
        web,
    },
    ids::StackKind,
};

pub fn run(options: &RenderOptions) -> Result<(), CliError> {
    let target = FigureOutput::new(options)?;
    // A size that makes no figure is told before anything is computed.
    options.paper().page()?;
    let (spec, source) = if let Some(session) = &options.session {
        saved::read(session, options)?
    } else {
        let spec = options.spec()?;
        let source = source::read(options, &spec)?;
        (spec, source)
    };
    let Source { capture, cloud, other, answers, measured } = source;
    if let Some(reason) = spec.view.unavailable(&capture, StackKind::Chosen) {
        return Err(CliError::Failed(format!("the {} view cannot be drawn: {reason}", spec.view.name())));
    }
    for note in capture.notes() {
        log::warn!("{note}");
    }
    let subject = FigureInput {
        captures: Captures { this: &capture, other: other.as_deref() },
        cloud: &cloud,
        answers: &answers,
        measured: &measured,
    };
    let drawn = spec::all(&spec, subject)?;
    if !spec.is_sheet() {
        target.check(&drawn)?;
    }
    let table = options.data.is_some().then(|| spec::table(&drawn, &spec, subject)).transpose()?;
    if let Some(path) = target.page() {
        output::write_bytes(path, &web::page(&spec, subject)?)?;
    } else if options.out.is_some() {
        let mut type_ = Typesetter::new(spec.paper.fonts);
        for drawing in spec::draw(drawn, &spec, subject, &mut type_)? {
            if let Some(sentence) = paper::too_high(&drawing.figure).filter(|_| spec.paper.height.is_none()) {
                log::warn!("{sentence} (--pages)");
            }
            output::write(&target.path(drawing.layer, drawing.head), &drawing.figure, &spec)?;
        }
        let missing: Vec<&str> = type_.missing().collect();
        if !missing.is_empty() {
            log::warn!("no font has {}; they are drawn as boxes", missing.join(" "));
        }
    }
    match (&options.data, table) {
        (Some(path), Some(table)) => output::write_data(path, &table),
        _ => Ok(()),
    }
}

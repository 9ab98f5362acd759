//! The thread that draws figures, writes files and lists models, so that neither a run nor the window waits for them.

use std::sync::Arc;

use super::{JobControl, Stop, contents::catalog, thread::Engine};
use crate::{
    export::{self, FigureRequest, Preview, thumbnail},
    figure::spec::FigureError,
    protocol::{DrawFor, EventKind, Failure, RenderedFigure, Request},
    text::sentence,
};

/// Draws and writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileEngine;

impl Engine for FileEngine {
    const THREAD: &'static str = "file-worker";

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        match request {
            Request::Export(request) => match export::write(&request) {
                Ok(path) => Ok(EventKind::Export(path)),
                Err(error) => Err(Stop::Failed(Failure { summary: error.to_string(), details: String::new() })),
            },
            Request::Draw { figure, purpose } => {
                control.check()?;
                Ok(EventKind::Draw(draw(&figure, purpose)?))
            }
            Request::Thumbnail(figure, max_px) => {
                control.check()?;
                Ok(EventKind::Thumbnail(thumbnail::encode(&figure.preview(max_px)?.pixels)))
            }
            Request::Card(figure, max_px) => {
                control.check()?;
                Ok(EventKind::Card(figure.preview(max_px)?.pixels))
            }
            Request::ListModels(recent) => Ok(EventKind::Catalog(catalog(&recent))),
            other => {
                let details = format!("Please report this: {:?}", other.lane());
                Err(Stop::Failed(Failure { summary: "This is not a file to write".to_owned(), details }))
            }
        }
    }
}

/// Draws a figure, or tells its numbers, for whatever it is wanted.
///
/// # Errors
/// When nothing can be drawn.
pub fn draw(figure: &FigureRequest, purpose: DrawFor) -> Result<RenderedFigure, FigureError> {
    Ok(match purpose {
        DrawFor::Preview(max_px) => RenderedFigure::Preview(Arc::new(Preview::Figure(figure.preview(max_px)?))),
        DrawFor::PreviewNumbers(format, n_rows) => {
            RenderedFigure::Preview(Arc::new(Preview::Numbers(figure.preview_numbers(format, n_rows)?)))
        }
        DrawFor::CopyPng => RenderedFigure::Pixels(Arc::new(figure.pixels()?)),
        DrawFor::CopySvg => RenderedFigure::Svg(figure.svg()?),
        DrawFor::CopyNumbers => RenderedFigure::Numbers(figure.numbers()?),
    })
}

impl From<FigureError> for Stop {
    fn from(error: FigureError) -> Self {
        Self::Failed(Failure { summary: sentence(&error.to_string()), details: String::new() })
    }
}

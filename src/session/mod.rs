//! The application's state as a state machine: commands and events in, effects out.
//!
//! Nothing here draws, waits, reads a clock, a file or the engine; the window drives it
//! (`ui/app/logic.rs`) and the tests script it.

mod answers;
mod apply;
mod command;
mod download;
mod examples;
pub mod gallery;
mod history;
mod inputs;
mod loadable;
mod opening;
mod selection;
mod sentences;
mod settings;
mod stacks;
mod state;
mod writing;

pub use apply::PendingSelection;
pub use command::{Command, Effect, ExportTarget, FilePurpose, HeadStep, QueryStep};
pub use download::{Download, DownloadCommand, DownloadStep, SUGGESTIONS};
pub use loadable::Loadable;
pub use opening::PathKind;
pub use selection::{Focus, HeadSet, Selection};
pub use sentences::SentenceFilter;
pub use settings::{
    Appearance, ColorMapChoice, ColorScale, HeadsOptions, HeatmapOptions, HiddenTokens, ImageOptions, PatchRole,
    PointColor, ScatterOptions, Settings, Smoothing, ViewOptions,
};
pub use state::{Notice, NoticeKind, Session, ViewKind};
pub use writing::WritingOptions;

//! The application's state as a state machine: commands and events in, effects out.
//!
//! Nothing here draws, waits, reads a clock, a file or the engine; the window drives it
//! (`ui/app/logic.rs`) and the tests script it.

mod address;
mod apply;
mod arrangement;
mod autosave;
mod bookmarks;
mod cancelling;
mod changes;
mod command;
mod contrasts;
mod corpora;
mod corpus_sheet;
mod debates;
mod delete_tokens;
mod document;
mod documents;
mod download;
mod examples;
mod experiment;
mod explanations;
mod figure_dialog;
mod figures;
mod first_steps;
pub mod gallery;
mod grouped_texts;
mod head_notes;
mod history;
mod jobs;
mod judging;
mod lecture;
mod lenient;
mod links;
mod loadable;
mod lost_models;
mod models;
mod navigation;
mod new_session;
mod notices;
mod numbers;
mod on_event;
mod open_corpus;
mod opening;
mod outcomes;
mod overlays;
mod pane;
mod panes;
mod path_kind;
mod picks;
mod pinned_tokens;
mod projections;
mod provenance;
mod reverse_alignment;
mod running;
pub mod saved;
mod search;
mod second_opinion;
mod selection;
mod settings;
mod showing;
mod spaces;
mod state;
mod studies;
mod surveys;
mod timing;
mod typed;
mod undo;
mod view_cards;
mod writing;

pub use crate::figure::{
    Pages, ViewGroup, ViewKind, ViewOptions,
    views::{
        heatmap::{ColorScale, DrawOptions},
        image::{
            ImageOptions, PatchColors, Smoothing,
            flows::{FlowFilter, FlowKind},
            weights::PatchRole,
        },
        lab::LabOptions,
        scatter::HeadOrder,
    },
};
pub use address::{Address, AddressError};
pub use autosave::{Keeping, Left, SessionCommand};
pub use bookmarks::{Bookmark, BookmarkCommand};
pub use changes::{Change, ChangeCommand, Grouping};
pub use command::{Command, Effect, FilePurpose, HeadStep, PaneCommand, QueryStep, SelectionCommand};
pub use corpora::{BUNDLED_CORPORA, CorpusCommand, CorpusDialog, ListCommand};
pub use corpus_sheet::CorpusSheet;
pub use debates::DebateProgress;
pub use document::Document;
pub use documents::Documents;
pub use download::{Download, DownloadCommand, DownloadStep, SUGGESTIONS};
pub use experiment::{Drag, Experiment};
pub use explanations::{AnswerTo, ColumnRequest, EFFECT, Explanations, FEATURE, PARTS, WRITTEN};
pub use figure_dialog::FigureDialog;
pub use figures::{FigureCommand, FigureOptions, FigureRange, FileKind};
pub use first_steps::{FirstStep, FirstSteps};
pub use head_notes::{HeadNote, MAX_HEAD_NOTE, note_of};
pub use history::{HeadRef, HistoryEntry};
pub use judging::{ListOrder, Only, Question, SaidOrder};
pub use lecture::{Lecture, LectureCommand};
pub use loadable::Loadable;
pub use lost_models::LostModel;
pub use new_session::Anew;
pub use notices::{Cause, Limited, Notice, NoticeKind, Notices};
pub use numbers::NumbersCommand;
pub use open_corpus::OpenCorpus;
pub use overlays::{Substitute, ValueRef};
pub use pane::{Pane, PendingSelection};
pub use panes::{Panes, Split};
pub use path_kind::PathKind;
pub use picks::{PickChange, Picked};
pub use provenance::Stale;
pub use selection::{Focus, HeadSet, Selection};
pub use settings::{Appearance, MovedModel, Settings};
pub use state::Session;
pub use studies::Studies;
pub use surveys::Surveys;
pub use typed::Typed;
pub use view_cards::{CardKey, ViewCards, keys as card_keys};
pub use writing::{WritingOptions, can_continue};

//! Places with names, which are kept with the session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Address, Effect, NoticeKind, Session, saved::MAX_BOOKMARKS};
use crate::{
    figure::FigureExtent,
    ids::JobId,
    protocol::{DrawFor, Drawn, EventKind, Failure, Request},
    text::sentence,
};

/// Largest thumbnail, in pixels: sharp on a screen with two pixels a point.
const THUMBNAIL_PX: [f32; 2] = [160.0, 120.0];

/// A place with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bookmark {
    pub name: String,
    /// Where it is; see [`Address`].
    pub address: String,
    /// How it looked, as a data URI; empty where there is no picture.
    pub thumbnail: String,
    #[serde(skip)]
    pub(super) unknown: Map<String, Value>,
    /// Whose answer is the thumbnail.
    #[serde(skip)]
    pub(super) drawing: Option<JobId>,
}

/// Something to do with bookmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkCommand {
    /// Remember where the active pane is.
    Add,
    /// Go to one, by its place in the list.
    GoTo(usize),
    /// Call one something else.
    Rename(usize, String),
    Remove(usize),
}

impl Bookmark {
    /// Whether its address is one.
    pub(super) fn check(&self) -> Result<(), String> {
        self.address.parse::<Address>().map(drop).map_err(|error| error.to_string())
    }
}

impl Session {
    pub(super) fn on_bookmark_command(&mut self, command: BookmarkCommand) -> Vec<Effect> {
        match command {
            BookmarkCommand::Add => return self.add_bookmark(),
            BookmarkCommand::GoTo(idx) => {
                let address = self.keeping.bookmarks.get(idx).map(|bookmark| bookmark.address.parse::<Address>());
                return match address {
                    Some(Ok(address)) => self.go_to_address(address),
                    Some(Err(error)) => {
                        let summary = sentence(&error.to_string());
                        self.notify(NoticeKind::Error, Failure { summary, details: String::new() });
                        Vec::new()
                    }
                    None => Vec::new(),
                };
            }
            BookmarkCommand::Rename(idx, name) => {
                if let Some(bookmark) = self.keeping.bookmarks.get_mut(idx) {
                    bookmark.name = name;
                }
            }
            BookmarkCommand::Remove(idx) => {
                if idx < self.keeping.bookmarks.len() {
                    self.keeping.bookmarks.remove(idx);
                    // They count bookmarks, whose places have changed.
                    self.notices.retain(|notice| notice.undo.is_none());
                }
            }
        }
        Vec::new()
    }

    fn add_bookmark(&mut self) -> Vec<Effect> {
        if self.keeping.bookmarks.len() >= MAX_BOOKMARKS {
            let details = "Remove a bookmark that you no longer need".to_owned();
            self.inform(format!("There are {MAX_BOOKMARKS} bookmarks, which is the most"), details);
            return Vec::new();
        }
        let (address, left_out) = match self.address(self.pane()) {
            Ok(found) => found,
            Err(failure) => {
                self.notify(NoticeKind::Error, failure);
                return Vec::new();
            }
        };
        if let Some(left_out) = left_out {
            self.inform(left_out.to_owned(), String::new());
        }
        let name = self.place_name();
        let figure = self.figure();
        let drawing = figure.is_some().then(|| self.new_job());
        let (address, unknown) = (address.to_string(), Map::new());
        let undo = BookmarkCommand::Remove(self.keeping.bookmarks.len());
        self.inform_undoable(format!("Bookmark added: {name}"), undo);
        self.keeping.bookmarks.push(Bookmark { name, address, thumbnail: String::new(), unknown, drawing });
        let request = figure.map(|figure| Request::Draw { figure, purpose: DrawFor::Thumbnail(THUMBNAIL_PX) });
        drawing.zip(request).map(|(job, request)| Effect::Submit(job, request)).into_iter().collect()
    }

    /// What the place of the active pane is called: `L2H3 heatmap · demo:gpt · Once upon`.
    fn place_name(&self) -> String {
        let pane = self.pane();
        let head = if pane.view.spec().extent == FigureExtent::Stack {
            String::new()
        } else {
            format!("{} ", pane.selection.head)
        };
        format!("{head}{} · {}", pane.view.name(), self.document().title())
    }

    /// Whether `job` draws a thumbnail.
    pub(super) fn is_thumbnail_job(&self, job: JobId) -> bool {
        self.keeping.bookmarks.iter().any(|bookmark| bookmark.drawing == Some(job))
    }

    pub(super) fn on_thumbnail(&mut self, job: JobId, kind: EventKind) {
        let mut bookmarks = self.keeping.bookmarks.iter_mut();
        let Some(bookmark) = bookmarks.find(|bookmark| bookmark.drawing == Some(job)) else { return };
        match kind {
            EventKind::Progress(_) => return,
            EventKind::Drawn(Drawn::Thumbnail(text)) => bookmark.thumbnail = text,
            // A bookmark without a picture is one, too.
            _ => {}
        }
        bookmark.drawing = None;
    }
}

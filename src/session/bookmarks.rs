//! Places with names, which are kept with the session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Address, Cause, Document, Effect, Keeping, Limited, Notices, Pane, jobs::Jobs, saved::MAX_BOOKMARKS};
use crate::{
    export::FigureRequest,
    figure::FigureExtent,
    ids::JobId,
    protocol::{Failure, Request, Update},
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

impl Keeping {
    /// Remembers where a pane is; `figure` is how it looks.
    pub(super) fn add_bookmark(
        &mut self,
        (pane, document): (&Pane, &Document),
        figure: Option<FigureRequest>,
        notices: &mut Notices,
        jobs: &mut Jobs,
    ) -> Option<Effect> {
        if self.is_full() {
            let summary = format!("There are {MAX_BOOKMARKS} bookmarks, which is the most");
            notices.inform(Cause::Full(Limited::Bookmarks), summary, "Remove a bookmark that you no longer need");
            return None;
        }
        let (address, left_out) = match Address::of(pane, document) {
            Ok(found) => found,
            Err(failure) => {
                notices.fail(Cause::Command, failure);
                return None;
            }
        };
        if let Some(left_out) = left_out {
            notices.inform(Cause::run(document), left_out, "");
        }
        let name = place_name(pane, document);
        let drawing = figure.is_some().then(|| jobs.next());
        let (address, unknown) = (address.to_string(), Map::new());
        let added = Cause::Bookmark(self.bookmarks.len(), address.clone());
        notices.inform(added, format!("Bookmark added: {name}"), "");
        self.bookmarks.push(Bookmark { name, address, thumbnail: String::new(), unknown, drawing });
        let request = figure.map(|figure| Request::Thumbnail(figure, THUMBNAIL_PX));
        drawing.zip(request).map(|(job, request)| Effect::Submit(job, request))
    }

    /// Where a bookmark is.
    pub(super) fn bookmarked(&self, idx: usize, notices: &mut Notices) -> Option<Address> {
        match self.bookmarks.get(idx)?.address.parse::<Address>() {
            Ok(address) => Some(address),
            Err(error) => {
                notices.fail(Cause::Command, Failure { summary: sentence(&error.to_string()), details: String::new() });
                None
            }
        }
    }

    pub(super) fn rename_bookmark(&mut self, idx: usize, name: String) {
        if let Some(bookmark) = self.bookmarks.get_mut(idx) {
            bookmark.name = name;
        }
    }

    pub(super) fn remove_bookmark(&mut self, idx: usize) {
        if idx < self.bookmarks.len() {
            self.bookmarks.remove(idx);
        }
    }

    /// Whether there are as many as there can be.
    pub(super) const fn is_full(&self) -> bool {
        self.bookmarks.len() >= MAX_BOOKMARKS
    }

    pub(super) fn on_thumbnail(&mut self, job: JobId, update: Update<String>) {
        let Some(bookmark) = self.bookmarks.iter_mut().find(|bookmark| bookmark.drawing == Some(job)) else { return };
        // A bookmark without a picture is one, too.
        match update {
            Update::Progress(_) => return,
            Update::Answer(text) => bookmark.thumbnail = text,
            Update::Cancelled | Update::Failed(_) => {}
        }
        bookmark.drawing = None;
    }
}

/// What the place of a pane is called: `L2H3 Heatmap · demo:gpt · Once upon`.
fn place_name(pane: &Pane, document: &Document) -> String {
    let head = if pane.view.spec().extent == FigureExtent::Stack {
        String::new()
    } else {
        format!("{} ", pane.selection.head)
    };
    format!("{head}{} · {}", pane.view.label(), document.title())
}

//! Bookmarks: where they lead, and that they are in the file.

use std::{path::Path, sync::Arc};

use attnscope::{
    ids::HeadId,
    protocol::{EventKind, Request},
    session::{BookmarkCommand, Command, FigureCommand, SelectionCommand, SessionCommand, ViewKind, saved::Saved},
    worker::{FileEngine, Worker},
};

use crate::support::play::{Play, bundled};

#[test]
fn a_bookmark_leads_back_to_model_input_and_head() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 1))));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)));
    assert_eq!(play.asked_names(), ["thumbnail"]);
    let job = play.last_job();
    play.hears(job, EventKind::Thumbnail("data:image/png;base64,AA".to_owned()));
    play.asked.clear();
    let first = play.session.keeping.bookmarks[0].clone();
    let notice = play.session.notices.last().unwrap();
    assert_eq!(notice.text.summary, "Bookmark added: L2H1 Heatmap · demo:gpt · one two three");
    assert_eq!(notice.undo(), Some(BookmarkCommand::Remove(0)), "and can be undone");
    assert_eq!((first.name.as_str(), first.thumbnail.len()), ("L2H1 Heatmap · demo:gpt · one two three", 24));

    play.does(Command::OpenModel(bundled("demo:bert")));
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(0, 0))));
    play.answers();
    // It is in the file, too.
    let mut again = reopened(&play);
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::GoTo(0))));
    again.answers();
    let (pane, document) = (again.session.pane(), again.session.document());
    assert_eq!((pane.view, pane.selection.head), (ViewKind::Heatmap, HeadId::single(2, 1)));
    let capture = document.latest_capture().unwrap();
    assert_eq!((capture.model().name.as_str(), capture.input().text.as_deref()), ("demo:gpt", Some("one two three")));
    // Within the same run nothing is run again.
    again.does(Command::Select(SelectionCommand::Head(HeadId::single(0, 0))));
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::GoTo(0))));
    assert_eq!((again.asked.len(), again.session.pane().selection.head), (0, HeadId::single(2, 1)));
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Rename(0, "mine".to_owned()))));
    assert_eq!(again.session.keeping.bookmarks[0].name, "mine");
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Remove(0))));
    assert!(again.session.keeping.bookmarks.is_empty());
    // What counts places that have changed is no longer offered.
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)));
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)));
    again.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Remove(0))));
    assert!(again.session.notices.iter().all(|notice| notice.undo().is_none()));
}

#[test]
fn every_bookmark_has_its_picture_though_more_is_drawn_meanwhile() {
    let mut play = Play::showing("one two three");
    for view in [ViewKind::Heatmap, ViewKind::Heads, ViewKind::Heatmap] {
        play.does(Command::Select(SelectionCommand::ShowView(view)));
        play.does(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)));
    }
    play.does(Command::Figure(FigureCommand::Open));
    let mut worker = Worker::spawn(FileEngine, Arc::new(|| ())).unwrap();
    let asked = std::mem::take(&mut play.asked);
    for (job, request) in &asked {
        worker.submit(*job, Request::clone(request));
    }
    for _ in asked {
        let event = worker.wait().unwrap();
        play.hears(event.job, event.kind);
    }
    let bookmarks = &play.session.keeping.bookmarks;
    assert!(bookmarks.len() == 3 && bookmarks.iter().all(|it| it.thumbnail.starts_with("data:image/png")));
    assert!(play.session.figures.preview.latest().is_some());
}

/// What a session was written down as, read in a window of its own.
fn reopened(play: &Play) -> Play {
    let saved = Saved::from_json(play.session.saved().to_json(), Path::new("/")).unwrap();
    let mut again = Play::new();
    let effects = again.session.reopen(saved);
    again.sort(effects);
    again.answers();
    again
}

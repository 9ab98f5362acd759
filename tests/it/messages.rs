//! Messages: each goes with what it is about, and none stands over a picture.

use egui_kittest::kittest::Queryable as _;

use attnscope::{
    capture::{Ablate, Ablation, Edit},
    ids::{HeadId, Side},
    model::ImageSource,
    protocol::{CorpusSource, EditRequest, EventKind, LoadAnswer, ModelSource, Request},
    session::{
        BookmarkCommand, ChangeCommand, Command, CorpusCommand, NoticeKind, PaneCommand, SelectionCommand,
        SessionCommand,
    },
};

use crate::support::{
    play::{Play, bundled, state},
    scripted::failure,
    window::{Window, with_text},
};

fn told(play: &Play) -> Vec<&str> {
    play.session.notices.iter().map(|notice| notice.text.summary.as_str()).collect()
}

#[test]
fn a_message_about_a_run_goes_with_what_was_run() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenModel(ModelSource::Path("/models/no-tokenizer".into())));
    let at = play.asked.iter().position(|(_, request)| matches!(request, Request::Load { .. })).unwrap();
    let (job, Request::Load { id, source, .. }) = play.asked.remove(at) else { unreachable!() };
    let model = attnscope::protocol::LoadedModel {
        id,
        ..attnscope::protocol::LoadedModel::clone(&crate::support::scripted::model(&source))
    };
    play.held.insert(id, std::sync::Arc::new(model));
    play.hears(job, EventKind::Load(LoadAnswer::Loaded(std::sync::Arc::clone(&play.held[&id]))));
    let runs = play.last_job();
    play.hears(runs, EventKind::Failed(failure("This model has no tokenizer")));
    assert_eq!(told(&play), ["This model has no tokenizer"]);
    play.asked.retain(|(job, _)| *job != runs);
    play.does(Command::Undo);
    play.answers();
    assert_eq!(play.session.document().open_model().unwrap().name, "demo:gpt");
    assert!(told(&play).is_empty(), "{:?}", told(&play));
}

#[test]
fn a_message_about_a_load_goes_with_the_next_run() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenModel(ModelSource::Path("/nowhere".into())));
    play.hears(play.last_job(), EventKind::Failed(failure("There is nothing at this path")));
    play.asked.clear();
    assert_eq!(told(&play), ["There is nothing at this path"]);
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 1))));
    assert_eq!(told(&play), ["There is nothing at this path"], "looking at something else changes nothing");
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    assert!(told(&play).is_empty());
    assert_eq!(state(&play.session.document().model), "ready");
}

#[test]
fn a_message_about_a_corpus_goes_with_the_corpus() {
    let mut play = Play::showing("one two three");
    let open = |path: &str| Command::Corpus(CorpusCommand::Open(CorpusSource::path(path)));
    play.does(open("texts.csv"));
    play.hears(play.last_corpus().0, EventKind::Failed(failure("demo:gpt reads text, and this corpus has pictures")));
    assert_eq!(told(&play).len(), 1);
    play.does(open("others.csv"));
    assert!(told(&play).is_empty(), "another corpus is there");
    play.hears(play.last_corpus().0, EventKind::Failed(failure("others.csv cannot be read")));
    play.does(Command::Corpus(CorpusCommand::Close));
    assert!(told(&play).is_empty(), "none is there");
}

#[test]
fn changes_that_are_there_again_are_not_said_to_be_closed() {
    let mut play = Play::showing("one two three");
    let edit = EditRequest::Edit(Edit::Ablate(Ablate { head: HeadId::single(1, 1), with: Ablation::Zero }));
    play.does(Command::Change(ChangeCommand::Add(vec![edit])));
    play.answers();
    play.does(Command::InPane(PaneCommand::Close));
    play.answers();
    assert_eq!(told(&play), ["The changes were closed with their pane"]);
    play.does(Command::Undo);
    play.answers();
    assert!(!play.session.changing().experiment.changes.is_empty());
    assert!(told(&play).is_empty());
}

#[test]
fn too_many_panes_are_too_many_until_one_is_closed() {
    let mut play = Play::showing("one two three");
    for _ in 0..4 {
        play.does(Command::SplitPane(attnscope::session::Split::Right));
    }
    assert_eq!(told(&play), ["4 panes are open, which is the most"]);
    play.does(Command::InPane(PaneCommand::Close));
    assert!(told(&play).is_empty());
}

#[test]
fn a_picture_that_cannot_be_read_leaves_the_model_and_its_name() {
    let mut play = Play::showing("one two three");
    let picture = ImageSource::Path("/a/broken.png".into());
    play.does(Command::SetImage(picture.clone()));
    let Request::Load { sees, .. } = &play.asked.last().unwrap().1 else { panic!("no load") };
    assert_eq!(sees.as_ref(), Some(&picture));
    play.hears(play.last_job(), EventKind::Failed(failure("The picture is damaged")));
    let document = play.session.document();
    assert_eq!(document.open_model().unwrap().name, "demo:gpt");
    assert_eq!((&document.experiment.model, &document.experiment.image), (&Some(bundled("demo:gpt")), &None));
    assert_eq!(document.stale(), None, "what is shown is what is asked for");
    assert_eq!(told(&play), ["The picture is damaged"], "nothing is said of a model that was not opened");
    assert!(document.latest_capture().unwrap().tokens(Side::Only).len() == 3);
}

/// The same where the model that sees it is open beside.
#[test]
fn a_picture_that_cannot_be_read_leaves_the_model_although_another_is_open_that_sees() {
    let mut play = Play::showing("one two three");
    play.does(Command::CompareInput);
    play.does(Command::OpenModel(bundled("demo:vit")));
    play.answers();
    play.does(Command::NextPane);
    play.does(Command::SetImage(ImageSource::Path("/a/broken.png".into())));
    assert!(matches!(play.asked.last().unwrap().1, Request::Load { sees: Some(_), .. }));
    play.hears(play.last_job(), EventKind::Failed(failure("The picture is damaged")));
    let document = play.session.document();
    assert_eq!(document.open_model().unwrap().name, "demo:gpt");
    assert_eq!((&document.experiment.image, document.stale()), (&None, None));
    assert_eq!(told(&play), ["The picture is damaged"]);
}

#[test]
fn a_message_is_in_the_status_bar_and_over_no_picture() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)));
    window.app().request(Command::Notify(failure("The disk is on fire")));
    window.settle();
    let screen = window.harness.ctx.content_rect();
    let dismiss = window.harness.query_all_by_label_contains("Dismiss: ").map(|node| node.rect()).collect::<Vec<_>>();
    assert_eq!(dismiss.len(), 1, "one place, and the error first");
    assert!(dismiss[0].top() > screen.bottom() - 28.0, "{:?} of {screen:?}", dismiss[0]);
    let kinds: Vec<NoticeKind> = window.app().session().notices.iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [NoticeKind::Info, NoticeKind::Error], "all are in the list");
    window.click("Dismiss: The disk is on fire");
    window.settle();
    assert!(window.harness.query_by_label_contains("Undo: Bookmark added").is_some(), "then what is good to know");
}

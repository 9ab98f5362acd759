//! A new session in the place of what is shown, and what comes back of one: pictures that are in no file, capture files
//! with the model behind them.

use std::{path::Path, sync::Arc};

use attnscope::{
    analysis::explain::report::LabQuestion,
    capture::RgbaBuffer,
    export::png_bytes,
    lab::{AttentionOptions, MethodCall, Target},
    model::{ImageSource, Input, TextInput},
    protocol::{CaptureFile, EventKind, Failure, LoadAnswer, Request, SessionRequest},
    session::{
        Anew, Command, Loadable, SelectionCommand, SessionCommand, Split, ValueRef, ViewKind,
        saved::{Saved, picture::MAX_PICTURES},
    },
};
use serde_json::{Value, json};

use crate::support::{
    play::{Play, bundled, state},
    scripted,
};

fn new(anew: Anew) -> Command {
    Command::Session(SessionCommand::New(anew))
}

/// A session with work in it that is kept for the case of a crash and in no file.
fn at_work() -> Play {
    let mut play = Play::showing("one two three");
    play.does(Command::SplitPane(Split::Right));
    play.does(Command::Session(SessionCommand::SetNotes("noted".to_owned())));
    play.does(Command::Session(SessionCommand::Keep));
    play.answers();
    play
}

fn is_blank(play: &Play) -> bool {
    let session = &play.session;
    let document = session.document();
    session.panes.len() == 1
        && session.documents.len() == 1
        && matches!((&document.model, &document.capture), (Loadable::Empty, Loadable::Empty))
        && session.keeping.notes.is_empty()
        && session.keeping.file.is_none()
}

/// What was put aside, if anything is on its way there.
fn put_aside(play: &Play) -> Option<Arc<Value>> {
    play.asked.iter().find_map(|(_, request)| match request {
        Request::Session(SessionRequest::SetAside { json, .. }) => json.clone(),
        _ => None,
    })
}

#[test]
fn a_new_session_asks_about_work_that_is_in_no_file() {
    let mut play = at_work();
    play.does(new(Anew::Ask));
    assert!(play.session.keeping.asks_before_new() && play.asked.is_empty());
    play.does(new(Anew::Stay));
    assert!(!play.session.keeping.asks_before_new() && play.session.panes.len() == 2);

    play.does(new(Anew::Ask));
    play.does(new(Anew::Begin));
    assert_eq!(put_aside(&play).unwrap()["notes"], "noted");
    assert_eq!(play.session.panes.len(), 2, "nothing is closed before it can be had again");
    play.answers();
    assert!(is_blank(&play) && play.held.is_empty(), "and the worker has no model any more");
    assert_eq!(play.last_notice(), "The session was closed");
    assert!(play.session.keeping.last.is_some(), "where it is, is in the menu");
    // Nobody is asked about nothing, and nothing takes the place of what was put aside.
    play.does(new(Anew::Ask));
    play.does(Command::Session(SessionCommand::Keep));
    play.does(Command::Session(SessionCommand::End { has_work: true }));
    assert!(is_blank(&play) && put_aside(&play).is_none());
    // It is a session like any other.
    play.asked.clear();
    play.does(Command::SetText("another text".to_owned()));
    play.does(Command::OpenModel(bundled("demo:bert")));
    play.answers();
    assert_eq!(play.n_tokens(), 2);
}

#[test]
fn what_cannot_be_put_aside_is_not_closed() {
    let mut play = at_work();
    play.does(new(Anew::Begin));
    let job = play.last_job();
    play.asked.clear();
    let full = Failure { summary: "The disk is full.".to_owned(), details: String::new() };
    play.hears(job, EventKind::Failed(full));
    assert_eq!((play.session.panes.len(), play.n_tokens()), (2, 3));
    assert!(play.last_notice().starts_with("Nothing was closed"), "{}", play.last_notice());
}

#[test]
fn saving_first_closes_when_it_is_saved_and_only_then() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.attnscope");
    let mut play = at_work();
    play.does(new(Anew::Ask));
    assert_eq!(play.does(new(Anew::Save)), [r#"SaveSession { name: "session.attnscope" }"#]);
    // The dialog was closed; what is saved another time is not closed with it.
    play.does(Command::Session(SessionCommand::SaveAs));
    play.does(Command::Session(SessionCommand::SaveTo(file.clone())));
    play.answers();
    assert_eq!(play.session.panes.len(), 2);

    play.does(Command::Session(SessionCommand::SetNotes("changed".to_owned())));
    play.does(new(Anew::Ask));
    assert!(play.session.keeping.asks_before_new(), "it has changed since");
    play.does(new(Anew::Save));
    play.answers();
    assert!(is_blank(&play));
    assert!(std::fs::read_to_string(&file).unwrap().contains("changed"));
    // What is in its file as it is, is closed without a question.
    play.does(Command::Session(SessionCommand::Open(file)));
    play.answers();
    assert_eq!((play.session.panes.len(), play.last_notice()), (2, "Session opened"));
    play.does(new(Anew::Ask));
    play.answers();
    assert!(is_blank(&play));
}

fn noise(side: usize) -> ImageSource {
    let pixels = (0..4 * side * side).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let bytes = png_bytes(&RgbaBuffer { width: side, height: side, pixels }).unwrap().into();
    ImageSource::Embedded { name: "pasted picture".to_owned(), bytes }
}

fn seeing(image: &ImageSource) -> Play {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:vit")));
    play.answers();
    play.does(Command::SetImage(image.clone()));
    play.answers();
    play
}

fn reopened(json: Value) -> Play {
    let mut play = Play::new();
    let effects = play.session.reopen(Saved::from_json(json, Path::new("/sessions")).unwrap());
    play.sort(effects);
    play
}

#[test]
fn a_pasted_picture_is_in_the_session_once_and_comes_back() {
    let image = noise(40);
    let mut play = seeing(&image);
    play.does(Command::CompareInput);
    play.answers();
    let json = play.session.saved().to_json();
    assert_eq!(json["pictures"].as_array().unwrap().len(), 1, "both documents see it");
    assert_eq!([&json["documents"][0]["image"], &json["documents"][1]["image"]], [&json!({ "embedded": 0 }); 2]);
    let mut again = reopened(serde_json::from_str(&json.to_string()).unwrap());
    again.answers();
    assert!(again.session.documents.iter().all(|document| document.experiment.image.as_ref() == Some(&image)));
    assert_eq!(again.session.saved().to_json(), json, "and would be written just the same");
    assert!(seeing(&ImageSource::Bundled("chelsea".to_owned())).session.saved().to_json().get("pictures").is_none());

    for (field, wrong, why) in [
        ("documents", json!([{ "image": { "embedded": 1 } }]), "it names picture 1, and there are 1"),
        ("pictures", json!([{ "bytes": "no base64!" }]), "are not base64"),
        ("pictures", json!(vec![json!({}); 9]), "9 pictures"),
    ] {
        let mut hostile = json.clone();
        hostile[field] = wrong;
        let error = Saved::from_json(hostile, Path::new("")).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_picture_that_is_too_large_for_the_session_is_said_to_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let too_large = ImageSource::Embedded { name: "large".to_owned(), bytes: vec![1; MAX_PICTURES + 1].into() };
    let mut play = seeing(&too_large);
    play.does(Command::Session(SessionCommand::SaveTo(folder.path().join("a.attnscope"))));
    play.answers();
    let notice = &play.session.notices.last().unwrap().text;
    assert!(notice.details.contains("The session leaves out pasted pictures"), "{notice:?}");
    assert_eq!(play.session.saved().to_json()["documents"][0]["image"], Value::Null);
}

#[test]
fn what_the_lab_shows_in_place_of_attention_is_said_to_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut play = Play::showing("one two three");
    assert_eq!(play.session.pane().options.lab.question, LabQuestion::Depends);
    let ask = MethodCall::Attention(AttentionOptions { layer: None, head: None });
    let value = ValueRef { ask, target: Target::default(), title: "Attention".to_owned(), name: "a".to_owned() };
    play.does(Command::Overlay(Some(Box::new(value)), Some(ViewKind::Heatmap)));
    play.asked.clear();
    play.does(Command::Session(SessionCommand::SaveTo(folder.path().join("a.attnscope"))));
    play.asked.retain(|(_, request)| matches!(request, Request::Session(_)));
    play.answers();
    let notice = &play.session.notices.last().unwrap().text;
    assert!(notice.details.contains("The session does not keep results of Explain"), "{notice:?}");
}

/// A capture file of one text, as the worker reads it.
fn capture_file(path: &str) -> EventKind {
    let gpt = scripted::model(&bundled("demo:gpt"));
    let input = Input::Text(TextInput { text: "a b c d e".to_owned(), ..TextInput::default() });
    let captures = vec![scripted::capture(&gpt, &input)];
    EventKind::Load(LoadAnswer::Opened(CaptureFile { path: path.into(), captures, numbers: None, folder: None }))
}

#[test]
fn a_capture_file_comes_back_with_the_model_behind_it() {
    let path = "/captures/flies.safetensors";
    let mut play = Play::showing("one two three");
    play.does(Command::OpenPaths(vec![path.into()]));
    let job = play.last_job();
    play.asked.clear();
    play.hears(job, capture_file(path));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    let json = play.session.saved().to_json();

    let mut again = reopened(json.clone());
    assert_eq!(again.asked_names(), ["load"], "the file first: it is what is shown");
    let job = again.last_job();
    again.asked.clear();
    again.hears(job, capture_file(path));
    assert_eq!((again.n_tokens(), again.session.pane().view), (5, ViewKind::Heatmap));
    again.answers();
    let document = again.session.document();
    assert_eq!(document.model.latest().unwrap().source, bundled("demo:gpt"));
    assert_eq!((again.n_tokens(), document.shown_input()), (5, Some(0)), "and the file stays");
    assert_eq!(again.session.saved().to_json(), json);
    again.does(Command::Run);
    again.answers();
    assert_eq!((again.n_tokens(), again.session.document().shown_input()), (3, None));

    // Without its model the file is shown all the same, and the session goes on naming it.
    let mut without = reopened(json.clone());
    let job = without.last_job();
    without.hears(job, capture_file(path));
    let job = without.last_job();
    let gone = Failure { summary: "There is no such model".to_owned(), details: String::new() };
    without.hears(job, EventKind::Failed(gone));
    assert_eq!((without.n_tokens(), state(&without.session.document().model)), (5, "failed"));
    assert!(without.session.keeping.lost_models.is_empty() && without.last_notice() == "There is no such model");
    assert_eq!(without.session.saved().to_json(), json);
}

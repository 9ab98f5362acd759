//! The Lab view: what is asked, what is shown, what happens when the input changes.

use attnscope::{
    session::{Command, Loadable, ViewKind},
    worker::{Ask, EventKind, Explanation, LeaveOut, Request, Target},
};
use egui_kittest::kittest::Queryable as _;

use crate::{
    copy::copied,
    support::{
        play::{Play, bundled},
        scripted::failure,
        window::{Window, with_text},
    },
};

fn explanations(play: &Play) -> Vec<Explanation> {
    let asked = play.asked.iter().filter_map(|(_, request)| match request {
        Request::Explain(wanted) => Some((**wanted).clone()),
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_question_is_asked_once_about_what_was_run_and_failure_is_said_in_place() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.answers();
    let ask = Ask::LeaveOneOut { by: LeaveOut::Hide };
    play.does(Command::Explain(ask.clone(), Target::default()));
    play.does(Command::Explain(ask.clone(), Target::default()));
    let asked = explanations(&play);
    assert_eq!(asked.len(), 1, "what is on its way is not asked again");
    assert_eq!((&asked[0].ask, asked[0].edits.len()), (&ask, 0));
    // Somebody types meanwhile: what is shown is still what was run.
    play.does(Command::SetText("something else".to_owned()));
    play.does(Command::Explain(ask.clone(), Target { against: Some(1), ..Target::default() }));
    assert_eq!(explanations(&play)[1].input, asked[0].input);
    let job = play.asked.last().unwrap().0;
    play.hears(job, EventKind::Failed(failure("It has no head")));
    let capture = play.session.document().latest_capture().unwrap().id();
    let target = Target { against: Some(1), ..Target::default() };
    let known = play.session.pane().explanations.find(capture, &ask, target).unwrap();
    assert!(matches!(known, Loadable::Failed { .. }) && play.session.notices.is_empty());
    assert!(!play.session.pane().explanations.is_pending(), "the same method with another target took its place");
}

#[test]
fn methods_stand_side_by_side_with_how_far_they_agree() {
    let mut window = Window::with_size(with_text("Once upon a time there was a cat"), [1280.0, 900.0]);
    window.settle();
    window.click("Lab");
    window.settle();
    for title in ["Rollout", "Relevance", "Integrated gradients", "Left out: hidden"] {
        assert!(window.harness.query_all_by_label(title).next().is_some(), "{title}");
    }
    // The scripted answers of leave-one-out are in the opposite order of all others.
    assert!(window.shows("Do they agree?") && window.shows("1.00") && window.shows("-1.00"));
    assert_eq!(window.app().session().pane().view, ViewKind::Lab);
    let table = copied(&mut window, "Copy all numbers");
    assert_eq!(table[0][..3], ["method", "options", "value"]);
    let of = |method: &str| table.iter().filter(|row| row[0] == method && row[2] == "scores").count();
    // Both ways of leaving out, eight numbers each.
    assert_eq!((of("loo"), of("relevance")), (16, 8));
}

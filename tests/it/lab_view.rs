//! The Lab view: what is asked, what is shown, what happens when the input changes.

use std::sync::Arc;

use attnscope::{
    analysis::explain::{
        alignment::Symmetrize,
        compare,
        report::{LabQuestion, Report, Value},
        rollout::RolloutOptions,
    },
    cli::open::OpenOptions,
    ids::{HeadId, Side},
    lab::{AlignmentOptions, Estimate, LeaveOneOutOptions, LeaveOut, MethodCall, MethodPreset, Target, TimeLimit},
    protocol::{Event, EventKind, Explanation, ExplanationAnswer, Lane, Request, RunAnswer},
    session::{AnswerTo, Command, Loadable, PaneCommand, SelectionCommand, Split, ViewKind, gallery::EXAMPLES},
};
use eframe::egui::{accesskit::Role, pos2};
use egui_kittest::kittest::Queryable as _;

use crate::{
    copy::copied,
    support::{
        play::{Play, bundled},
        scripted::failure,
        stacks,
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
    let ask = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide });
    play.does(Command::InPane(PaneCommand::Explain("hidden", ask.clone(), Target::default())));
    play.does(Command::InPane(PaneCommand::Explain("hidden", ask.clone(), Target::default())));
    let asked = explanations(&play);
    assert_eq!(asked.len(), 1, "what is on its way is not asked again");
    assert_eq!((&asked[0].ask, asked[0].edits.len()), (&ask, 0));
    // Somebody types meanwhile: what is shown is still what was run.
    play.does(Command::SetText("something else".to_owned()));
    play.does(Command::InPane(PaneCommand::Explain(
        "hidden",
        ask.clone(),
        Target { against: Some(1), ..Target::default() },
    )));
    assert_eq!(explanations(&play)[1].input, asked[0].input);
    let job = play.asked.last().unwrap().0;
    play.hears(job, EventKind::Failed(failure("It has no head")));
    let capture = play.session.document().latest_capture().unwrap().id();
    let target = Target { against: Some(1), ..Target::default() };
    let known = play.session.pane().explanations.find(capture, "hidden", &ask, target).unwrap();
    assert!(matches!(known, Loadable::Failed { .. }) && play.session.notices.is_empty());
    assert!(!play.session.pane().explanations.is_pending(), "the same method with another target took its place");
}

#[test]
fn methods_stand_side_by_side_with_how_far_they_agree() {
    let mut window = Window::with_size(with_text("Once upon a time there was a cat"), [1280.0, 900.0]);
    window.settle();
    window.click("Explain");
    window.settle();
    for title in ["Rollout", "Relevance", "Integrated gradients", "If hidden"] {
        assert!(window.harness.query_all_by_label(title).next().is_some(), "{title}");
    }
    // The scripted answers of leave-one-out are in the opposite order of all others.
    // What is painted is said as well.
    let said = |text: &str| window.harness.query_all_by_label_contains(text).next().is_some();
    assert!(said("Do the methods agree? ") && said("Rollout and Relevance: 1.00") && said("If hidden: −1.00"));
    assert_eq!(window.app().session().pane().view, ViewKind::Lab);
    let table = copied(&mut window, "Copy all numbers");
    assert_eq!(table[0][..3], ["method", "options", "value"]);
    let of = |method: &str| table.iter().filter(|row| row[0] == method && row[2] == "scores").count();
    // Both ways of leaving out, eight numbers each.
    assert_eq!((of("loo"), of("relevance")), (16, 8));
}

/// What the pointer has left is under it no more, wherever it went.
#[test]
fn leaving_the_lab_ends_what_is_under_the_pointer() {
    let mut window = Window::with_size(with_text("one two three four five six seven eight"), [1280.0, 900.0]);
    window.click("Explain");
    window.settle();
    let hover = |window: &Window| window.app().session().pane().selection.hover;
    for leave in [None, Some(pos2(120.0, 890.0)), Some(pos2(640.0, 20.0))] {
        for y in 0..60 {
            window.harness.hover_at(pos2(560.0, 150.0 + 10.0 * y as f32));
            window.harness.run_steps(2);
            if !hover(&window).is_empty() {
                break;
            }
        }
        assert!(!hover(&window).is_empty(), "no row was found");
        match leave {
            Some(at) => window.harness.hover_at(at),
            None => window.harness.event(eframe::egui::Event::PointerGone),
        }
        window.harness.run_steps(2);
        assert!(hover(&window).is_empty(), "{leave:?}");
    }
}

#[test]
fn a_turned_option_asks_again_and_the_old_answer_stays_until_the_new_one_is_there() {
    let mut play = Play::showing("one two three four five six seven eight");
    let rollout = |residual: f64| MethodCall::Rollout(RolloutOptions { residual, ..RolloutOptions::default() });
    let target = Target::default();
    let answer = |play: &mut Play, value: f32| {
        let at = play.asked.iter().rposition(|(_, request)| matches!(request, Request::Explain(_))).unwrap();
        let (job, _) = play.asked.remove(at);
        let report = Report::new(attnscope::lab::named("rollout").unwrap().spec)
            .with_value("scores", Value::tokens(Side::Only, vec![value; 8]));
        play.hears(job, EventKind::Explain(ExplanationAnswer::Explained(Arc::new(report))));
    };
    play.does(Command::InPane(PaneCommand::Explain("rollout", rollout(0.5), target)));
    answer(&mut play, 0.25);
    play.does(Command::InPane(PaneCommand::Explain("rollout", rollout(0.4), target)));
    play.does(Command::InPane(PaneCommand::Explain("rollout", rollout(0.3), target)));
    assert_eq!(explanations(&play).len(), 2, "both were asked, and the first of them no longer counts");
    let capture = play.session.document().latest_capture().unwrap().id();
    let shown = |play: &Play| {
        let (report, to) = play.session.pane().answer_in(capture, "rollout", &rollout(0.3), target)?;
        Some((compare::scores(report, Side::Only).unwrap()[0], to))
    };
    assert_eq!(shown(&play), Some((0.25, AnswerTo::OtherOptions)));
    // Under the name of another head it is no answer: it is veiled at once.
    let head = play.session.pane().selection.head;
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 1))));
    assert_eq!(shown(&play), Some((0.25, AnswerTo::OtherSubject)));
    play.does(Command::Select(SelectionCommand::Head(head)));
    assert!(play.session.pane().explanations.find(capture, "rollout", &rollout(0.4), target).is_none());
    answer(&mut play, 0.75);
    play.asked.clear();
    assert_eq!(shown(&play), Some((0.75, AnswerTo::This)));
    // An answer about another output is none to this one, not even for a while.
    let other = Target { position: Some(2), ..target };
    let of_other = |play: &Play| play.session.pane().answer_in(capture, "rollout", &rollout(0.3), other).is_some();
    assert!(!of_other(&play));
    play.does(Command::InPane(PaneCommand::Explain("rollout", rollout(0.3), other)));
    assert!(!of_other(&play));
    answer(&mut play, 0.5);
    assert!(of_other(&play));
    // What is explained belongs to the input, which methods and options do not.
    let mut options = play.session.pane().options.clone();
    options.target = Target { position: Some(3), ..target };
    options.lab.shown.insert("flow".to_owned(), true);
    options.lab.turned.entry("alignment".to_owned()).or_default().insert("gold".to_owned(), "0-0".into());
    play.does(Command::SetViewOptions(options));
    play.does(Command::SetText("one two".to_owned()));
    play.does(Command::Run);
    play.answers();
    let options = &play.session.pane().options;
    let lab = &options.lab;
    assert_eq!((options.target, lab.shown.get("flow")), (target, Some(&true)));
    assert!(lab.turned["alignment"].is_empty(), "links were made for the words of another text");
}

#[test]
fn methods_are_taken_away_and_their_options_turned_in_a_menu() {
    let mut window = Window::with_size(with_text("Once upon a time there was a cat"), [1280.0, 900.0]);
    window.settle();
    window.click("Explain");
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "Rollout").click();
    window.settle();
    assert!(window.shows("Attention rollout") && window.shows("Residual stream"));
    window.harness.get_by_role_and_label(Role::RadioButton, "Largest").click();
    window.settle();
    let fuse = |window: &Window| window.app().session().pane().options.lab.turned["rollout"].get("fuse").cloned();
    assert_eq!(fuse(&window), Some("max".into()));
    let asked = window.harness.get_by_role_and_label(Role::Button, "Reset");
    asked.click();
    window.settle();
    assert!(!window.app().session().pane().options.lab.turned.contains_key("rollout"));
    window.harness.get_by_role_and_label(Role::Button, "Hide").click();
    window.settle();
    assert!(window.harness.query_by_role_and_label(Role::Button, "Rollout").is_none(), "its column is gone");
    assert_eq!(window.app().session().pane().options.lab.shown.get("rollout"), Some(&false));
}

#[test]
fn a_method_is_shown_from_the_index_and_asks_for_what_it_needs_in_its_place() {
    let mut window = Window::with_size(with_text("Once upon a time there was a cat"), [1280.0, 900.0]);
    window.settle();
    window.click("Explain");
    window.click("Which layer");
    window.settle();
    let card = |window: &Window| window.harness.query_by_label("Fold Attribution patching").map(|node| node.rect());
    assert!(card(&window).is_none());
    window.jobs.answer(false);
    window.click("Show Attribution patching");
    window.settle();
    assert_eq!(window.app().session().pane().options.lab.shown.get("attribution-patching"), Some(&true));
    let job = {
        let script = window.jobs.0.borrow();
        let is_it = |request: &Request| matches!(request, Request::Explain(it) if it.column == "attribution-patching");
        script.submitted.iter().rev().find(|(_, request)| is_it(request)).map(|(job, request)| (*job, request.lane()))
    };
    let (job, lane) = job.expect("it was asked");
    let kind = EventKind::Failed(failure("Give the other text"));
    window.jobs.0.borrow_mut().events.push(Event { job, lane, kind });
    window.settle();
    let view = window.app().view_rect();
    assert!(card(&window).is_some_and(|card| view.contains_rect(card)), "it is scrolled to: {:?}", card(&window));
    let field = window.harness.get_by_role_and_label(Role::TextInput, "Other text");
    assert!(view.contains_rect(field.rect()), "the text is given right there");
    window.click("Fold Attribution patching");
    window.settle();
    assert!(window.harness.query_by_role_and_label(Role::TextInput, "Other text").is_none());
}

#[test]
fn what_takes_long_says_so_and_is_run_anyway_on_request() {
    let mut window = Window::with_size(with_text("Once upon a time there was a cat"), [1280.0, 900.0]);
    window.settle();
    window.jobs.answer(false);
    window.click("Explain");
    window.settle();
    let asked = |window: &Window| -> Vec<_> {
        let script = window.jobs.0.borrow();
        let of_column = script.submitted.iter().filter_map(|(job, request)| match request {
            Request::Explain(wanted) if wanted.column == "hidden" => Some((*job, wanted.time_limit)),
            _ => None,
        });
        of_column.collect()
    };
    let [(job, TimeLimit::DEFAULT)] = asked(&window)[..] else { panic!("{:?}", asked(&window)) };
    let long = Estimate { runs: 1234, what: "run", n_tokens: 8, secs: 600.0, every: Some(4) };
    let lane = Lane::Explain(window.app().session().pane().id, "hidden");
    window.jobs.0.borrow_mut().events.push(Event {
        job,
        lane,
        kind: EventKind::Explain(ExplanationAnswer::TakesLong(long)),
    });
    window.settle();
    assert!(window.shows("1,234 runs of 8 tokens") && window.shows("Set “Positions apart” to 4 in its options"));
    assert_eq!(asked(&window).len(), 1, "nobody was asked yet");
    window.jobs.answer(true);
    window.click("Run it anyway");
    window.settle();
    let asked = asked(&window);
    assert_eq!(
        asked.iter().map(|(_, time_limit)| *time_limit).collect::<Vec<_>>(),
        [TimeLimit::DEFAULT, TimeLimit::Endless]
    );
    assert!(!window.shows("Run it anyway"), "the answer is there");
}

#[test]
fn the_other_direction_of_an_example_is_asked_the_same() {
    let mut play = Play::new();
    let example = EXAMPLES.iter().position(|example| example.title == "How well it aligns").unwrap();
    play.does(Command::OpenExample(example));
    play.answers();
    let left = play.session.pane().id;
    play.does(Command::OpenOtherDirection);
    let pane = play.session.pane();
    assert_ne!(pane.id, left);
    assert_eq!((pane.view, pane.options.lab.question), (ViewKind::Lab, LabQuestion::Aligns));
}

#[test]
fn two_directions_of_a_translation_are_put_together_and_held_against_gold() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:t5")));
    play.answers();
    play.does(Command::SetText(">>deu<< the little cat sat on the warm mat".to_owned()));
    let mut options = play.session.pane().options.clone();
    options.lab.question = LabQuestion::Aligns;
    play.does(Command::SetViewOptions(options));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Lab)));
    let left = play.session.pane().id;
    let reverse = |play: &Play| {
        let pane = play.session.panes.get(left).unwrap();
        let capture = play.session.document_of(pane).latest_capture().unwrap();
        let column = MethodPreset::from_name("alignment").unwrap();
        match column.ask(&pane.lab_focus(capture), &pane.options.lab.turned(column)).unwrap() {
            MethodCall::Alignment(AlignmentOptions { reverse, gold, .. }) => (reverse, gold),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reverse(&play), (None, None));
    play.does(Command::OpenOtherDirection);
    let beside = play.session.document();
    assert_eq!(beside.experiment.text, "die kleine Katze saß auf .");
    assert_eq!(beside.experiment.target, "the little cat sat on the warm mat", "without the tag for the language");
    let (job, request) = play.asked.pop().unwrap();
    assert!(matches!(request, Request::Run { .. }));
    let back = Arc::new(stacks::translation_back_capture());
    play.hears(job, EventKind::Run(RunAnswer::Captured(Arc::clone(&back))));
    assert_eq!(reverse(&play), (None, None), "together when somebody says how");
    let mut options = play.session.panes.get(left).unwrap().options.clone();
    options.lab.turned.entry("alignment".to_owned()).or_default().insert("symmetrize".to_owned(), "union".into());
    drop(play.session.apply_in(left, Command::SetViewOptions(options)));
    drop(play.session.apply_in(left, Command::SetGold("0-0 1-1".to_owned())));
    let (both, gold) = reverse(&play);
    let both = both.unwrap();
    assert!(Arc::ptr_eq(&both.run, &back) && both.way == Symmetrize::Union);
    assert_eq!(gold.as_deref(), Some("0-0 1-1"));
    drop(play.session.apply_in(left, Command::SetGold(String::new())));
    assert_eq!(reverse(&play).1, None);
    let document = play.session.documents.last().unwrap().id;
    drop(play.session.apply(Command::CloseDocument(document)));
    assert_eq!(reverse(&play).0, None);
}

/// Two outputs may be compared in panes beside each other; nobody is to take one for the other.
#[test]
fn panes_that_explain_different_outputs_say_which() {
    let options = OpenOptions { view: Some(ViewKind::Lab), ..with_text("one two three") };
    let mut window = Window::with_size(options, [1600.0, 900.0]);
    window.app().request(Command::SplitPane(Split::Right));
    window.settle();
    let same = "Which words does “word20” at position 2 depend on?";
    assert_eq!(window.questions(), [same; 2]);
    let mut options = window.app().session().pane().options.clone();
    options.target = Target { class: Some(22), against: Some(20), ..Target::default() };
    window.app().request(Command::SetViewOptions(options));
    window.settle();
    let other = "Which words does “word22” and not “word20” at position 2 depend on?";
    assert_eq!(window.questions(), [same, other]);
}

//! What a method answered, read and drawn in place of attention: the numbers are the report's, and nothing takes them
//! for attention.

use std::sync::Arc;

use attnscope::{
    analysis::{
        explain::report::{Axis, Report, Value},
        reading::{
            Aggregate, Aggregation, Blank, Captures, Explained, Extent, Heads, LeaveOut, LeftOut, Policy, ReadPattern,
            Reading, Refusal, Which, read,
        },
    },
    capture::{Capture, Matrix, PerHead},
    figure::{data::DataValues, spec},
    ids::{HeadId, Side, StackKind},
    lab::{MethodCall, Norms, Target},
    protocol::{EventKind, ExplanationAnswer, Request, RunAnswer},
    session::{Command, SelectionCommand, ValueRef, ViewKind},
};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use serde_json::json;

use crate::{
    copy::copied,
    support::{
        play::Play,
        scripted::{N_HEADS, N_LAYERS, failure},
        stacks, synthetic,
        window::{Window, with_text},
    },
};

const N: usize = 5;

fn capture() -> Capture {
    synthetic::causal_text_capture(N, 2, 3)
}

/// A number for each place that no other place has.
fn number(layer: usize, head: usize, row: usize, col: usize) -> f32 {
    ((layer * 7 + head) * 11 + row * N + col + 1) as f32 / 16.0
}

fn matrix(layer: usize, head: usize) -> Matrix {
    let values: Vec<f32> = (0..N * N).map(|at| number(layer, head, at / N, at % N)).collect();
    Matrix::new(values, [N, N]).unwrap()
}

fn report() -> Report {
    let heads = |layer| {
        let values: Vec<f32> = (0..3).flat_map(|head| matrix(layer, head).as_slice().to_vec()).collect();
        Value::heads(Side::Only, Side::Only, PerHead::new(values, [3, N, N]).unwrap())
    };
    let class = json!({ "id": 7, "label": "mat" });
    Report::new(attnscope::lab::named("gradients").unwrap().spec)
        .with_parameter("class", class)
        .with_value("scores", Value::tokens(Side::Only, vec![-1.0, 2.0, f32::NAN, -4.0, 0.5]))
        .with_value("some", Value::tokens(Axis::only(Side::Only, vec![1, 3]), vec![6.0, 7.0]))
        .with_value("self", Value::matrix(Side::Only, Side::Only, matrix(0, 0)))
        .with_value("pattern", Value::Layers(vec![heads(0), heads(1)]))
        .with_value("sum", 3.0)
}

fn of(name: &str) -> Explained {
    Explained::new(Arc::new(report()), "Gradients", name).unwrap()
}

fn shown(capture: &Capture, name: &str, reading: Reading) -> Result<ReadPattern, Refusal> {
    read(Captures::one(capture), &of(name).in_place_of(reading))
}

fn head(layer: usize, head: usize) -> Reading {
    Reading::of(HeadId::single(layer, head))
}

#[test]
fn what_is_explained_is_told_with_what_it_is_told_apart_from() {
    assert_eq!(of("scores").what(), "Gradients, scores, why “mat”");
    let report = report().with_parameter("against", json!({ "id": 9, "label": "rug" }));
    let explained = Explained::new(Arc::new(report), "Gradients", "self").unwrap();
    assert_eq!(explained.what(), "Gradients, why “mat” and not “rug”");
}

#[test]
fn every_number_of_a_report_is_read_where_it_belongs() {
    let capture = capture();
    for (layer, idx) in [(0, 0), (0, 2), (1, 1)] {
        let read = shown(&capture, "pattern", head(layer, idx)).unwrap();
        assert_eq!((read.heads.as_slice(), read.signed), (&[HeadId::single(layer, idx)][..], false));
        for row in 0..N {
            for col in 0..N {
                assert_eq!(read.value(row, col), Some(number(layer, idx, row, col)));
                assert_eq!(read.blank(row, col), (col > row).then_some(Blank::Later));
            }
        }
        assert_eq!(read.score(&capture, (1, 0)), None, "the score is that of attention");
    }
    // A map of all layers is the same whichever head is looked at.
    for at in [head(0, 0), head(1, 2)] {
        let read = shown(&capture, "self", at).unwrap();
        assert_eq!((read.matrix, read.heads), (matrix(0, 0), Vec::new()));
    }
    // One row for all queries, empty where the method said nothing.
    let read = shown(&capture, "scores", head(1, 0)).unwrap();
    assert_eq!(read.matrix.as_slice(), [-1.0, 2.0, 0.0, -4.0, 0.5]);
    assert_eq!((read.rows.text(0), read.high(), read.signed, read.has_one_row()), ("“mat”", 4.0, true, true));
    assert_eq!(read.blank(0, 2), Some(Blank::LeftOut(LeftOut::Unanswered)));
    assert_eq!(read.by_key(Some(4)), read.by_key(None));
    assert_eq!(read.strengths().as_slice(), [0.25, 0.5, 0.0, 1.0, 0.125]);
    let read = shown(&capture, "some", head(0, 0)).unwrap();
    assert_eq!(read.matrix.as_slice(), [0.0, 6.0, 0.0, 7.0, 0.0]);
    let extents = ["scores", "self", "pattern"].map(|name| of(name).extent(StackKind::SelfAttention));
    assert_eq!(extents, [Some(Extent::Tokens), Some(Extent::Pairs), Some(Extent::PairsOfHeads)]);
    assert!(Explained::new(Arc::new(report()), "Gradients", "sum").is_none(), "a number is of no token");
}

#[test]
fn heads_are_taken_together_and_what_is_left_out_is_never_shared_out() {
    let capture = capture();
    let many =
        |how| Heads::Many(Aggregation { stack: StackKind::SelfAttention, layers: Which::All, heads: Which::All, how });
    let read = shown(&capture, "pattern", Reading { heads: many(Aggregate::Max), ..Reading::default() }).unwrap();
    assert_eq!(read.value(3, 1), Some(number(1, 2, 3, 1)));
    // There are no numbers of heads to be taken together.
    let read = shown(&capture, "self", Reading { heads: many(Aggregate::Sum), ..Reading::default() }).unwrap();
    assert_eq!(read.matrix, matrix(0, 0));

    let leave_out = LeaveOut { positions: [1].into(), policy: Policy::Renormalize, ..LeaveOut::default() };
    let read = shown(&capture, "self", Reading { leave_out, ..head(0, 0) }).unwrap();
    assert_eq!(read.value(4, 0), Some(number(0, 0, 4, 0)));
    assert_eq!((read.value(4, 1), read.blank(4, 1)), (Some(0.0), Some(Blank::LeftOut(LeftOut::Chosen))));
    assert_eq!(read.hidden_text().unwrap(), "some tokens are left out");
}

#[test]
fn numbers_of_other_tokens_or_of_another_run_are_refused_in_a_sentence() {
    let longer = synthetic::causal_text_capture(N + 1, 2, 3);
    assert_eq!(
        shown(&longer, "self", head(0, 0)).unwrap_err().to_string(),
        "Gradients belongs to another run: run it again, or go back to attention"
    );
    let translation = stacks::translation_capture();
    let cross = Reading::of(HeadId { stack: StackKind::Cross, layer: 0, head: 0 });
    let refusal = shown(&translation, "scores", cross).unwrap_err();
    assert_eq!(refusal, Refusal::SaysNothing { what: "Gradients, scores".to_owned(), stack: StackKind::Cross });
}

const EIGHT: &str = "one two three four five six seven eight";

fn rollout(name: &str) -> ValueRef {
    ValueRef {
        ask: MethodCall::Rollout(attnscope::analysis::explain::rollout::RolloutOptions::default()),
        target: Target::default(),
        title: "Rollout".to_owned(),
        name: name.to_owned(),
    }
}

/// Answers the newest question of the laboratory with this report.
fn explain(play: &mut Play, report: Report) {
    let at = play.asked.iter().rposition(|(_, request)| matches!(request, Request::Explain(_))).unwrap();
    let (job, _) = play.asked.remove(at);
    play.hears(job, EventKind::Explain(ExplanationAnswer::Explained(Arc::new(report))));
}

fn eight(scale: f32) -> Report {
    let values = (1..=8).map(|nth| nth as f32 * scale).collect();
    Report::new(attnscope::lab::named("rollout").unwrap().spec).with_value("scores", Value::tokens(Side::Only, values))
}

#[test]
fn an_overlay_is_of_the_run_that_is_shown_or_not_shown_at_all() {
    let mut play = Play::showing(EIGHT);
    play.does(Command::Overlay(Some(Box::new(rollout("scores"))), Some(ViewKind::Heatmap)));
    assert_eq!(play.session.pane().view, ViewKind::Heatmap);
    assert!(play.session.pane().explained().is_none(), "nobody has answered yet");
    assert_eq!(play.asked_names(), ["explain"], "it is asked for without the laboratory being looked at");
    explain(&mut play, eight(1.0));
    let first = play.session.pane().explained().unwrap().clone();
    assert_eq!(first.what(), "Rollout, scores");

    play.does(Command::SetText("one two three four five six seven nine".to_owned()));
    play.does(Command::Run);
    assert_eq!(play.session.pane().explained(), Some(&first), "what is shown is still what was explained");
    let run = play.asked.iter().position(|(_, request)| matches!(request, Request::Run { .. })).unwrap();
    let run = play.asked.remove(run);
    play.asked.push(run);
    let (job, Request::Run { model, input, changes, .. }) = play.asked.pop().unwrap() else { panic!("no run") };
    let model = Arc::clone(&play.held[&model]);
    play.hears(
        job,
        EventKind::Run(RunAnswer::Captured(crate::support::scripted::changed_capture(&model, &input, &changes))),
    );
    assert!(play.session.pane().explained().is_none(), "the numbers of the run before are not those of this one");
    assert_eq!(play.session.pane().overlay.as_ref().unwrap().missing(), "Rollout of this run is being computed");
    explain(&mut play, eight(2.0));
    assert_ne!(play.session.pane().explained(), Some(&first));

    play.does(Command::SetText("one two three four five six seven ten".to_owned()));
    play.does(Command::Run);
    let at = play.asked.iter().position(|(_, request)| matches!(request, Request::Run { .. })).unwrap();
    let (job, Request::Run { model, input, changes, .. }) = play.asked.remove(at) else { panic!("no run") };
    let model = Arc::clone(&play.held[&model]);
    play.hears(
        job,
        EventKind::Run(RunAnswer::Captured(crate::support::scripted::changed_capture(&model, &input, &changes))),
    );
    let (job, _) = play.asked.pop().unwrap();
    play.hears(job, EventKind::Failed(failure("It has no head")));
    assert_eq!(play.session.pane().overlay.as_ref().unwrap().missing(), "Rollout: It has no head");
    assert!(play.asked.is_empty(), "what failed is not asked again and again");
    play.does(Command::Overlay(None, None));
    assert!(play.session.pane().overlay.is_none());
}

#[test]
fn an_answer_of_the_laboratory_is_shown_in_other_views_and_attention_comes_back() {
    let mut window = Window::with_size(with_text(EIGHT), [1280.0, 900.0]);
    window.click("Explain");
    window.settle();
    let choose = |window: &mut Window, method: &str, path: &[&str]| {
        window.harness.get_by_role_and_label(Role::Button, method).click();
        window.settle();
        window.harness.get_by_role_and_label(Role::Button, &format!("Show {method}")).click();
        window.settle();
        for choice in path {
            window.harness.get_by_role_and_label(Role::Button, choice).click();
            window.settle();
        }
    };
    choose(&mut window, "Relevance", &["In Heatmap"]);
    assert_eq!(window.app().session().pane().view, ViewKind::Heatmap);
    window.harness.get_by_role_and_label(Role::Image, "Relevance, scores, not attention");
    assert!(window.shows("Relevance, scores – not attention") && window.shows("one number for each of 8 tokens"));
    let all = {
        let rect = window.harness.get_by_label("Relevance, scores, not attention").rect();
        window.harness.hover_at(rect.center());
        window.harness.get_by_label("Relevance, scores, not attention").click_secondary();
        window.settle();
        copied(&mut window, "Copy all numbers of this view")
    };
    let at = all[0].iter().position(|name| name == "relevance_scores").unwrap();
    let numbers: Vec<f32> = all[1..].iter().map(|row| row[at].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=8).map(|nth| nth as f32 / 8.0).collect::<Vec<_>>());
    window.settle();

    window.show(ViewKind::Heads);
    window.harness.get_by_label("Lines, not attention");
    assert!(window.shows("of 8 lines") && window.shows("of the sum of all absolute values"));
    window.show(ViewKind::Grid);
    window.harness.get_by_role_and_label(Role::Button, "Token 7 eight").hover();
    window.harness.run_steps(8);
    assert!(window.shows("Relevance 1.00"), "the token’s number, by its name");
    window.show(ViewKind::Heads);

    window.harness.get_all_by_label("Back to attention").next().unwrap().click();
    window.settle();
    window.harness.get_by_label("Attention lines");
    assert!(!window.shows("not attention"));

    window.click("Explain");
    window.settle();
    choose(&mut window, "If hidden", &["On the tokens"]);
    assert_eq!(window.app().session().pane().view, ViewKind::Lab, "the tokens are above it");
    window.harness.get_by_role_and_label(Role::Button, "Token 7 eight");
    assert!(window.shows("If hidden, scores – not attention"));
}

#[test]
fn figures_and_numbers_of_an_overlay_say_what_they_are() {
    let mut play = Play::showing(EIGHT);
    for view in [ViewKind::Heads, ViewKind::Heatmap] {
        play.does(Command::Overlay(Some(Box::new(rollout("scores"))), Some(view)));
        if play.asked_names().contains(&"explain") {
            explain(&mut play, eight(0.25));
        }
        let figure = play.session.figure().unwrap();
        let subject = spec::FigureInput {
            captures: Captures::one(&figure.capture),
            cloud: &figure.cloud,
            answers: &figure.answers,
            measured: &spec::Measurements::default(),
        };
        let drawn = spec::all(&figure.spec, subject).unwrap();
        let table = spec::table(&drawn, &figure.spec, subject).unwrap();
        let column = table.columns.iter().find(|column| column.name == "rollout_scores").unwrap();
        let DataValues::Number(numbers) = &column.values else { panic!("no numbers") };
        assert!(numbers.iter().all(|number| (1..=8).any(|nth| *number == nth as f32 * 0.25)), "{numbers:?}");
        let told: serde_json::Value = serde_json::from_str(&table.provenance).unwrap();
        assert_eq!(told["explanation"]["method"], "rollout");
        assert_eq!(told["explanation"]["caveat"], attnscope::lab::named("rollout").unwrap().spec.caveat);
        let captions = drawn[0].scene.captions();
        assert!(captions.short.starts_with("Rollout, scores"), "{}", captions.short);
        let resolved = spec::ResolvedSpec::new(&figure.spec, subject).unwrap();
        let caveat = resolved.about(resolved.heads_of(&drawn[0])).caveat;
        assert!(caveat.starts_with("Not attention. "), "{caveat}");
        assert!(!captions.full.contains("Attention of"), "{}", captions.full);
    }
}

/// What a method says of every head is drawn of all that are on, as attention is.
#[test]
fn an_answer_by_heads_is_drawn_of_all_heads_that_are_on() {
    let mut play = Play::showing(EIGHT);
    let n = play.n_tokens();
    let heads = |layer: usize| {
        let values = (0..N_HEADS * n * n).map(|at| (layer * 7 + at) as f32).collect::<Vec<_>>();
        Value::heads(Side::Only, Side::Only, PerHead::new(values, [N_HEADS, n, n]).unwrap())
    };
    let norms = Report::new(attnscope::lab::named("norms").unwrap().spec)
        .with_value("norms", Value::Layers((0..N_LAYERS).map(heads).collect()));
    let value = ValueRef { ask: MethodCall::Norms(Norms), title: "Norms".to_owned(), ..rollout("norms") };
    play.does(Command::Overlay(Some(Box::new(value)), Some(ViewKind::Heads)));
    explain(&mut play, norms);
    let drawn = |play: &Play| {
        let figure = play.session.figure().unwrap();
        let subject = spec::FigureInput {
            captures: Captures::one(&figure.capture),
            cloud: &figure.cloud,
            answers: &figure.answers,
            measured: &spec::Measurements::default(),
        };
        let drawn = spec::all(&figure.spec, subject).unwrap();
        (drawn.len(), drawn[0].scene.captions())
    };
    let (n_figures, captions) = drawn(&play);
    assert_eq!(n_figures, 1);
    assert!(captions.short.contains(&format!("of {N_HEADS} heads")), "{}", captions.short);
    assert!(captions.full.contains("Colour shows the head"));
    play.does(Command::Select(SelectionCommand::SoloHead(HeadId::single(0, 1).head)));
    let (_, captions) = drawn(&play);
    assert!(captions.short.contains("of L0H1") && captions.full.contains("Opacity and width show the size"));
    assert!(!captions.full.contains("Colour shows the head"), "{}", captions.full);
}

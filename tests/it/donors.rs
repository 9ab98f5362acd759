//! Changes whose numbers come from other runs, weights that are drawn, tokens that are deleted, and what shows of them.

use std::sync::Arc;

use attnscope::{
    analysis::{
        attention,
        reading::{self, Marks},
    },
    capture::{Ablate, Ablation, AppliedEdit, Capture, Cut, Edit, HideToken, Knockout, Patch, Scope, SetPattern, Site},
    cli::open::OpenOptions,
    corpus::list::{InputList, ListKind, ListOptions},
    ids::{DocumentId, HeadId, ModelId, Side, StackKind},
    model::{Input, Preparation},
    protocol::{EditRequest, EventKind, LoadAnswer, MeanInputs, PatchSource, PatchedRows, Request, RunAnswer},
    session::{ChangeCommand, Command, ViewKind},
};
use eframe::egui::{Event, Modifiers, PointerButton, accesskit::Role, vec2};
use egui_kittest::kittest::Queryable as _;

use crate::{
    support::{
        play::{Play, bundled},
        window::{Window, with_text},
    },
    worker::load,
    worker_models::{Session, failure},
};

const HERE: &str = "Once upon a time there was a little dog";
const THERE: &str = "Once upon a time there was a big red cat";

fn ask(session: &mut Session, text: &str, changes: Vec<EditRequest>) -> EventKind {
    let (document, input) = (DocumentId(1), Input::text(text));
    session.ask(Request::Run { document, model: ModelId(1), input, generation: None, changes }).0
}

fn run(session: &mut Session, text: &str, changes: Vec<EditRequest>) -> Arc<Capture> {
    match ask(session, text, changes) {
        EventKind::Run(RunAnswer::Captured(capture)) => capture,
        other => panic!("{other:?}"),
    }
}

fn probabilities(capture: &Capture) -> Vec<(u32, f32)> {
    let row = capture.prediction().unwrap().rows.last().unwrap();
    row.top.iter().map(|best| (best.id, best.value)).collect()
}

fn taken(site: Site, layer: usize, positions: Vec<usize>, text: &str) -> EditRequest {
    let rows = PatchedRows { site, stack: StackKind::SelfAttention, layer, head: None, positions };
    let (name, input) = ("the other".to_owned(), Input::text(text));
    let from = PatchSource { name, input, generation: None, edits: Vec::new(), positions: None };
    EditRequest::Taken { rows, from: Box::new(from) }
}

/// The same from other positions there.
fn from_positions(wanted: EditRequest, there: Vec<usize>) -> EditRequest {
    match wanted {
        EditRequest::Taken { rows, from } => {
            EditRequest::Taken { rows, from: Box::new(PatchSource { positions: Some(there), ..*from }) }
        }
        other => other,
    }
}

#[test]
fn a_stream_that_is_taken_whole_from_another_run_says_what_that_run_says() {
    let mut session = Session::new();
    assert!(matches!(session.ask(load("demo:gpt")).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let (here, there) = (session.capture(HERE), session.capture(THERE));
    let (n, m) = (here.tokens(Side::Only).len(), there.tokens(Side::Only).len());
    assert!(n < m && probabilities(&here) != probabilities(&there));
    // The text there is longer; its first tokens are the same, so it is cut to the length of the one here.
    let cut = "Once upon a time there was a big red";
    let whole = session.capture(cut);
    assert_eq!(whole.tokens(Side::Only).len(), n, "both have one token a word");
    for layer in [1, 4] {
        let changed = run(&mut session, HERE, vec![taken(Site::ResidPre, layer, (0..n).collect(), cut)]);
        assert_eq!(probabilities(&changed), probabilities(&whole), "layer {layer}");
        // What is in the capture is an ordinary patch, which files and other runs understand.
        let [AppliedEdit::Known(patch @ Edit::Patch(Patch { site: Site::ResidPre, positions, .. }))] =
            &changed.computation().edits[..]
        else {
            panic!("{:?}", changed.computation().edits)
        };
        assert_eq!(positions.len(), n);
        let again = run(&mut session, HERE, vec![patch.clone().into()]);
        assert_eq!(probabilities(&again), probabilities(&changed));
    }
    let one = run(&mut session, HERE, vec![taken(Site::MlpOut, 3, vec![n - 1], cut)]);
    assert!(probabilities(&one) != probabilities(&here) && probabilities(&one) != probabilities(&whole));

    // A row may come from another place: at the last token of the longer text, the end of what the other one says.
    let last = taken(Site::ResidPre, 4, vec![n - 1], THERE);
    let elsewhere = from_positions(last.clone(), vec![m - 1]);
    assert_eq!(
        elsewhere.to_string(),
        format!("token {}: the residual stream before layer 4 patched from token {} of “the other”", n - 1, m - 1)
    );
    let changed = run(&mut session, HERE, vec![elsewhere]);
    let recorded = Arc::new(there);
    let row = recorded.stack(StackKind::SelfAttention).unwrap().layers[4].resid_pre().cloned().unwrap();
    let AppliedEdit::Known(Edit::Patch(Patch { value, positions, .. })) = &changed.computation().edits[0] else {
        panic!()
    };
    assert_eq!((positions, value.row(0)), (&vec![n - 1], row.row(m - 1)));
    let uneven = failure(ask(&mut session, HERE, vec![from_positions(last, vec![0, 1])]));
    assert!(uneven.summary.contains("1 rows are replaced, but 2 rows of “the other” are given"), "{uneven:?}");

    let refused = failure(ask(&mut session, THERE, vec![taken(Site::AttnOut, 0, vec![m - 1], HERE)]));
    let sentence = format!("“the other” has {n} tokens, so it has no token {} to patch from", m - 1);
    assert!(refused.summary.contains(&sentence), "{refused:?}");
}

#[test]
fn the_mean_over_one_input_is_the_mean_of_that_input_and_over_many_another_one() {
    let mut session = Session::new();
    assert!(matches!(session.ask(load("demo:gpt")).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let head = HeadId::single(2, 1);
    let list = |texts: &str| {
        let list = Arc::new(InputList::parse(texts.as_bytes(), ListKind::Text, &ListOptions::default()).unwrap());
        let sources = (0..list.items.len()).collect();
        EditRequest::MeanOver {
            head,
            over: MeanInputs::Listed { name: "a list".to_owned(), list, sources, how: Preparation::default() },
        }
    };
    let plain = session.capture(HERE);
    let own = run(&mut session, HERE, vec![Edit::Ablate(Ablate { head, with: Ablation::Mean }).into()]);
    let over = run(&mut session, HERE, vec![list(HERE)]);
    for ((id, expected), (of, found)) in probabilities(&own).into_iter().zip(probabilities(&over)) {
        assert!(id == of && (expected - found).abs() < 1e-5, "{expected} {found}");
    }
    assert_ne!(probabilities(&own), probabilities(&plain));
    let several = run(&mut session, HERE, vec![list(&format!("{HERE}\n{THERE}\nThe sun was warm"))]);
    assert_ne!(probabilities(&several), probabilities(&own));
    let bundled = EditRequest::MeanOver { head, over: MeanInputs::Bundled("demo:sentences") };
    assert_eq!(bundled.to_string(), "head L2H1: output set to its mean over demo:sentences");
    let over = run(&mut session, HERE, vec![bundled.clone()]);
    assert!(matches!(over.computation().edits[..], [AppliedEdit::Known(Edit::Patch(Patch { site: Site::Z, .. }))]));
    // A longer text gets it at every token, too.
    let longer = run(&mut session, THERE, vec![bundled]);
    let AppliedEdit::Known(Edit::Patch(Patch { positions, .. })) = &longer.computation().edits[0] else {
        panic!("no patch")
    };
    assert_eq!(positions.len(), longer.tokens(Side::Only).len());
    let pictures = EditRequest::MeanOver { head, over: MeanInputs::Bundled("demo:pictures") };
    assert!(failure(ask(&mut session, HERE, vec![pictures])).summary.contains("this corpus has pictures"));
}

#[test]
fn a_deleted_token_is_a_step_of_undo_and_says_when_it_cannot_be() {
    let mut play = Play::showing("one two three");
    let delete = |play: &mut Play, at: std::ops::Range<usize>| {
        play.does(Command::Change(ChangeCommand::Delete(Side::Only, at)));
    };
    delete(&mut play, 1..2);
    assert_eq!(play.session.document().experiment.text, "one three", "one of the two spaces goes with it");
    play.answers();
    assert_eq!((play.n_tokens(), play.last_notice()), (2, "1 token deleted from the text"));
    play.does(Command::Undo);
    play.answers();
    assert_eq!((play.session.document().experiment.text.as_str(), play.n_tokens()), ("one two three", 3));
    delete(&mut play, 2..3);
    play.answers();
    assert_eq!(play.session.document().experiment.text, "one two");
    delete(&mut play, 0..1);
    play.answers();
    assert_eq!(play.session.document().experiment.text, "two");
    delete(&mut play, 0..1);
    assert_eq!(play.last_notice(), "No text would be left");
    play.does(Command::SetText("two four".to_owned()));
    delete(&mut play, 0..1);
    assert_eq!(play.last_notice(), "The text was changed meanwhile: wait until it has been run");
}

#[test]
fn activations_are_taken_from_another_document_in_the_window() {
    let mut play = Play::showing("one two three");
    assert!(play.session.document().donor(play.session.document()).is_ok());
    play.does(Command::CompareInput);
    play.does(Command::OpenModel(bundled("demo:bert")));
    play.answers();
    let [first, second] = [0, 1].map(|at| &play.session.documents[at]);
    assert!(second.donor(first).unwrap_err().contains("of another model"));

    let mut window = Window::open(with_text("one two three"));
    assert!(!window.shows("Patch from…"), "there is no other document");
    window.harness.get_by_label_contains("Change ⏷").click();
    window.settle();
    window.harness.get_by_label_contains("All attention").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "Sparsemax").click();
    window.settle();
    window.harness.get_by_label_contains("Patch from…").click();
    window.settle();
    assert!(window.shows("First click the token"));
    window.harness.get_by_label_contains("Patch from…").click();
    window.settle();
    // The changed run is at the right.
    let queries = window.harness.get_all_by_role_and_label(Role::Button, "Query 1 two");
    queries.max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap().click();
    window.settle();
    window.harness.get_by_label_contains("Patch from…").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "demo:gpt · one two three").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "The residual stream before layer 0").click();
    window.settle();
    let name = "Token 1 “two”: the residual stream before layer 0 patched from “demo:gpt · one two three”";
    window.harness.get_by_role_and_label(Role::CheckBox, name);
}

#[test]
fn weights_are_drawn_on_the_heatmap_and_the_run_follows() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    window.click("Edit weights…");
    window.settle();
    let drawn = |window: &Window| {
        let document = window.app().session().changing();
        match &document.experiment.changes[..] {
            [only] => match &only.edit {
                EditRequest::Edit(Edit::SetPattern(SetPattern { pattern, .. })) => pattern.clone(),
                other => panic!("{other}"),
            },
            others => panic!("{} changes", others.len()),
        }
    };
    let before = drawn(&window);
    let plain = window.app().session().unchanged(window.app().session().changing()).unwrap().clone();
    assert_eq!(Some(&before), plain.stored_pattern(HeadId::single(0, 0)).as_ref(), "it begins with what there was");
    assert_eq!(window.app().session().panes.len(), 2);
    window.harness.get_by_role_and_label(Role::CheckBox, "Head L0H0: no weight edited yet");
    // The changed run is at the right.
    let plots: Vec<_> = window.harness.get_all_by_label("Attention pattern of L0H0").map(|plot| plot.rect()).collect();
    let spans: Vec<_> = plots.iter().map(|plot| [plot.top(), plot.bottom()]).collect();
    assert_eq!(spans[0], spans[1], "both maps stand side by side");
    let plot = plots.into_iter().max_by(|a, b| a.left().total_cmp(&b.left())).unwrap();
    let cell = |row: f32, col: f32| plot.min + plot.size() * vec2((col + 0.5) / 3.0, (row + 0.5) / 3.0);
    let button = |window: &mut Window, pos, pressed| {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        window.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        window.harness.step();
    };
    window.harness.hover_at(cell(2.0, 0.0));
    window.harness.step();
    button(&mut window, cell(2.0, 0.0), true);
    window.harness.hover_at(cell(2.0, 0.2));
    window.harness.step();
    button(&mut window, cell(2.0, 0.2), false);
    window.settle();
    let after = drawn(&window);
    assert_eq!(after.row(2).unwrap(), [1.0, 0.0, 0.0], "all of the row is on the cell that was drawn");
    assert_eq!((after.row(0), after.row(1)), (before.row(0), before.row(1)));
    window.harness.get_by_role_and_label(Role::CheckBox, "Head L0H0: weights set");
    let n_runs = |window: &Window| {
        let submitted = &window.jobs.0.borrow().submitted;
        submitted.iter().filter(|(_, request)| matches!(request, Request::Run { .. })).count()
    };
    assert!(n_runs(&window) >= 3, "the run follows what is drawn");
    window.click("Undo");
    window.settle();
    assert_eq!(drawn(&window), before, "a stroke is a step of its own");
    window.click("Undo");
    window.settle();
    assert!(window.app().session().changing().experiment.changes.is_empty(), "and so is what it was drawn on");
}

#[test]
fn hidden_tokens_and_cut_edges_are_marked_where_patterns_are_shown() {
    for (view, label, key) in
        [(ViewKind::Heads, "Query 1 two", "Key 1 two, hidden"), (ViewKind::Heatmap, "Query labels", "")]
    {
        let mut play_window = Window::open(OpenOptions { view: Some(view), ..with_text("one two three") });
        let window = &mut play_window;
        window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
        for _ in 0..2 {
            // Its middle, which is the second of three tokens.
            window.harness.get_by_label(label).click();
        }
        window.settle();
        window.settle();
        assert!(window.shows("1 token hidden"), "{}", view.label());
        if !key.is_empty() {
            assert!(window.harness.query_all_by_label(key).next().is_some());
        }
    }
    let mut session = Session::new();
    assert!(matches!(session.ask(load("demo:gpt")).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let stack = StackKind::SelfAttention;
    let heads = vec![HeadId::single(1, 2)];
    let cut = Edit::Knockout(Knockout { stack, scope: Scope::Heads(heads), edges: vec![[3, 1]], cut: Cut::Scores });
    let hide = Edit::HideToken(HideToken { side: Side::Only, position: 2 });
    let changed = run(&mut session, HERE, vec![cut.into(), hide.into()]);
    let marks = |head| reading::read(reading::Captures::one(&changed), &reading::Reading::of(head)).unwrap().marks;
    let found = marks(HeadId::single(1, 2));
    assert_eq!((found.hidden_cols.as_slice(), found.cut.as_slice()), (&[2][..], &[(3, 1)][..]));
    assert_eq!(Marks::text_of(&std::iter::once(&found)).unwrap(), "1 token hidden, 1 edge cut");
    assert!(marks(HeadId::single(1, 0)).cut.is_empty(), "another head has the edge");
}

/// Whoever sees the pattern of a head without effect is told that it is its own.
#[test]
fn heads_that_are_put_out_of_action_say_how_and_whether_their_weights_show_it() {
    let mut session = Session::new();
    assert!(matches!(session.ask(load("demo:gpt")).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let ablations = [Ablation::Zero, Ablation::Mean, Ablation::Uniform, Ablation::Shuffle { seed: 1 }];
    let of = |layer: usize, head: usize, with| {
        EditRequest::from(Edit::Ablate(Ablate { head: HeadId::single(layer, head), with }))
    };
    let edits =
        ablations.into_iter().enumerate().map(|(head, with)| of(0, head, with)).chain([of(1, 1, Ablation::Zero)]);
    let plain = run(&mut session, HERE, Vec::new());
    let changed = run(&mut session, HERE, edits.collect());
    let marks = |layer: usize, head: usize| {
        let head = reading::Reading::of(HeadId::single(layer, head));
        reading::read(reading::Captures::one(&changed), &head).unwrap().marks
    };
    let said = |layer, head| Marks::ablated_text_of(&std::iter::once(&marks(layer, head)));
    let all: Vec<String> = (0..4).filter_map(|head| said(0, head)).collect();
    assert_eq!(
        all,
        [
            "L0H0: output set to 0; weights unchanged",
            "L0H1: output set to its mean; weights unchanged",
            "L0H2: weights made uniform",
            "L0H3: weights shuffled"
        ]
    );
    assert_eq!(said(1, 0), None);
    let both = [marks(0, 0), marks(1, 1), marks(1, 0)];
    assert_eq!(Marks::text_of(&both.iter()).unwrap(), "L0H0, L1H1: output set to 0; weights unchanged");
    for (head, unchanged) in [(0, true), (1, true), (2, false), (3, false)] {
        let head = HeadId::single(0, head);
        assert_eq!(attention::pattern(&plain, head) == attention::pattern(&changed, head), unchanged, "{head}");
    }
}

//! What-if in the window, by role and label.

use attnscope::{
    capture::{Edit, SetPattern},
    cli::open::OpenOptions,
    ids::HeadId,
    protocol::{EditRequest, EventKind, Failure, Request},
    session::{Document, Focus, ViewKind},
};
use eframe::egui::{Event, Key, Modifiers, PointerButton, accesskit::Role};
use egui_kittest::{
    Node,
    kittest::{NodeT as _, Queryable as _},
};

use crate::support::window::{Window, with_text};

fn changed(window: &Window) -> &Document {
    window.app().session().changing()
}

fn edits(window: &Window) -> Vec<String> {
    changed(window).experiment.edits().iter().map(EditRequest::to_string).collect()
}

fn n_panes(window: &Window) -> usize {
    window.app().session().panes.len()
}

/// Opens a menu and a menu within it.
fn choose(window: &mut Window, menu: &str, choice: &str) {
    window.harness.get_by_label_contains(menu).click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, choice).click();
    window.settle();
}

#[test]
fn a_head_is_ablated_from_the_menu_and_the_unchanged_run_stands_beside_it() {
    let mut window = Window::open(with_text("one two three"));
    assert!(window.shows("Double-click a token to hide it"));
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "Head L0H0", "Ablate: zero");
    assert_eq!(edits(&window), ["head L0H0: output set to 0"]);
    assert_eq!(n_panes(&window), 2);
    window.harness.get_by_role_and_label(Role::CheckBox, "Head L0H0: output set to 0");
    assert!(window.shows("50 → 40 %"), "before and with the change");
    let runs = window.harness.get_all_by_role_and_label(Role::ComboBox, "Run shown in the pane");
    let runs: Vec<String> = runs.map(|run| run.accesskit_node().value().unwrap_or_default()).collect();
    assert!(runs.contains(&"Δ L0H0 off · word20 50 → 40 %".to_owned()), "{runs:?}");
    assert!(window.shows("; L0H0: output set to 0; weights unchanged"), "whoever sees its lines is told");
    window.harness.get_by_role_and_label(Role::CheckBox, "Head L0H0: output set to 0").click();
    window.settle();
    assert_eq!(edits(&window).len(), 0);
    assert!(!window.shows("50 → 50 %"), "there is nothing to compare");
    window.click("Remove: Head L0H0: output set to 0");
    assert!(changed(&window).experiment.changes.is_empty() && window.shows("Double-click a token to hide it"));
    assert_eq!(n_panes(&window), 1, "the pane that the change opened goes with it");
}

#[test]
fn tokens_are_hidden_by_a_double_click_and_replaced_from_their_menu() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Grid), ..with_text("one two three") });
    // Each of the harness's frames takes a quarter of a second.
    window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    let twice = |window: &mut Window| {
        for _ in 0..2 {
            token(window, "Token 1 two").click();
        }
        window.settle();
    };
    twice(&mut window);
    assert_eq!(edits(&window), ["token 1 is hidden"]);
    assert!(window.app().session().pane().selection.pinned.is_empty());
    window.harness.get_by_role_and_label(Role::CheckBox, "Token 1 “two” is hidden");
    // A third click would be no second double click.
    window.harness.run_steps(24);
    twice(&mut window);
    assert_eq!(edits(&window).len(), 0, "once more shows it again");

    click_secondary(&mut window, "Token 2 three");
    assert_eq!(window.app().session().pane().selection.pinned, Focus::query(2), "the menu’s token is held");
    window.harness.get_by_label_contains("Token “three”").click();
    window.settle();
    window.harness.get_by_label("Replace by").focus();
    window.harness.step();
    window.harness.get_by_label("Replace by").type_text("#17");
    window.settle();
    window.click("Replace");
    assert_eq!(edits(&window), ["token 2 is replaced by the token with the id 17"]);
}

/// A token above the pane with the changes, which is the right one.
fn token<'a>(window: &'a Window, name: &'a str) -> Node<'a> {
    let all = window.harness.query_all_by_role_and_label(Role::Button, name);
    all.max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap()
}

/// The right button over a token, which the pointer comes to first.
fn click_secondary(window: &mut Window, name: &str) {
    token(window, name).hover();
    window.settle();
    token(window, name).click_secondary();
    window.settle();
}

#[test]
fn labels_of_a_heatmap_hide_their_token_and_have_the_menu_of_changes() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    let labels = window.harness.get_by_label("Query labels").rect();
    let pointer = |window: &mut Window, button: PointerButton| {
        let pos = labels.center();
        window.harness.hover_at(pos);
        window.settle();
        for pressed in [true, false] {
            let modifiers = Modifiers::NONE;
            window.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        }
        window.settle();
    };
    pointer(&mut window, PointerButton::Secondary);
    assert_eq!(window.app().session().pane().selection.pinned, Focus::query(1), "the menu’s token is held");
    assert!(window.shows("Token “two”"));
    window.press(Modifiers::NONE, Key::Escape);
    pointer(&mut window, PointerButton::Primary);
    pointer(&mut window, PointerButton::Primary);
    assert_eq!(edits(&window), ["token 1 is hidden"]);
}

/// One choice takes the place of the one before, and undo brings that back.
#[test]
fn tokens_are_made_global_from_their_menu() {
    let model = Some("demo:windows".to_owned());
    let view = Some(ViewKind::Grid);
    let mut window = Window::open(OpenOptions { model, view, ..with_text("one two three four five") });
    let pick = |window: &mut Window, token: &str, choice: &str| {
        click_secondary(window, token);
        let word = token.rsplit(' ').next().unwrap();
        window.harness.get_by_label_contains(&format!("Token “{word}”")).click();
        window.settle();
        window.harness.get_by_role_and_label(Role::Button, choice).click();
        window.settle();
    };
    pick(&mut window, "Token 0 one", "Make global");
    assert_eq!(edits(&window), ["only token 0 has global attention"]);
    pick(&mut window, "Token 4 five", "Make global");
    assert_eq!(edits(&window), ["only tokens 0, 4 have global attention"]);
    pick(&mut window, "Token 0 one", "Not global");
    assert_eq!(edits(&window), ["only token 4 has global attention"]);
    window.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(edits(&window), ["only tokens 0, 4 have global attention"]);

    let mut other = Window::open(OpenOptions { view, ..with_text("one two three") });
    click_secondary(&mut other, "Token 0 one");
    other.harness.get_by_label_contains("Token “one”").click();
    other.settle();
    assert!(!other.shows("Make global"), "a model without such tokens");
}

#[test]
fn an_edge_is_cut_from_the_menu_of_a_cell() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    let pattern = window.harness.get_by_label_contains("Attention pattern of").rect();
    let cell = pattern.min + pattern.size() * eframe::egui::vec2(0.5, 0.9);
    window.harness.hover_at(cell);
    window.settle();
    for pressed in [true, false] {
        window.harness.event(eframe::egui::Event::PointerButton {
            pos: cell,
            button: eframe::egui::PointerButton::Secondary,
            pressed,
            modifiers: eframe::egui::Modifiers::NONE,
        });
    }
    window.settle();
    assert_eq!(window.app().session().pane().selection.pinned, Focus::cell(2, 1), "the menu’s cell is held");
    choose(&mut window, "Edge “three” › “two”", "Cut in layer 0");
    assert_eq!(edits(&window), ["query 2 cannot attend to key 1 in layer 0"]);
    assert!(window.shows("Query 2 “three” cannot attend to key 1 “two” in layer 0"));
}

#[test]
fn the_head_whose_menu_is_opened_is_selected() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heads), ..with_text("one two three") });
    let swatch = window.harness.get_by_role_and_label(Role::CheckBox, "Head 2");
    swatch.hover();
    swatch.click_secondary();
    window.settle();
    assert_eq!(window.head(), HeadId::single(0, 2));
    assert!(window.shows("Head L0H2"));
}

#[test]
fn a_head_keeps_the_pattern_that_it_has_in_another_document() {
    let mut window = Window::open(with_text("one two three"));
    assert!(!window.shows("Pattern of…"), "there is no other document");
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "All attention", "Sparsemax");
    choose(&mut window, "Pattern of…", "demo:gpt · one two three");
    assert_eq!(edits(&window)[1], "head L0H0: weights set");
    let Some(EditRequest::Edit(Edit::SetPattern(SetPattern { pattern, .. }))) =
        changed(&window).experiment.edits().pop()
    else {
        panic!("no pattern was set")
    };
    let plain = window.app().session().unchanged(changed(&window)).unwrap();
    assert_eq!(Some(pattern), plain.stored_pattern(HeadId::single(0, 0)));
}

#[test]
fn the_strongest_keys_are_chosen_from_menus_and_their_number_is_dragged() {
    let mut window = Window::open(with_text("one two three"));
    let said = |k: usize, rest: &str| format!("each query keeps its {k} strongest keys everywhere{rest}");
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "All attention", "Top-k");
    assert_eq!(edits(&window), [said(3, "")]);
    window.harness.get_by_role_and_label(Role::Slider, "Strongest keys").focus();
    window.settle();
    window.press(eframe::egui::Modifiers::NONE, eframe::egui::Key::ArrowLeft);
    assert_eq!(edits(&window), [said(2, "")]);
    window.harness.get_by_role_and_label(Role::CheckBox, "Renormalised").click();
    window.settle();
    assert_eq!(edits(&window), [said(2, ", and the rest of its weight is lost")]);
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "Head L0H0", "Top-k…");
    assert_eq!(edits(&window)[1], "each query keeps its 3 strongest keys in head L0H0");
}

#[test]
fn the_normaliser_is_dragged_and_a_refusal_is_a_sentence() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "All attention", "α-entmax");
    assert_eq!(edits(&window), ["scores are normalised by 1.5-entmax everywhere"]);
    window.harness.get_by_role_and_label(Role::Slider, "α of the normaliser").focus();
    window.settle();
    window.press(eframe::egui::Modifiers::NONE, eframe::egui::Key::ArrowRight);
    assert_ne!(edits(&window), ["scores are normalised by 1.5-entmax everywhere"]);

    window.jobs.answer(false);
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "Head L0H0", "Uniform weights");
    let run = window
        .jobs
        .0
        .borrow()
        .submitted
        .iter()
        .rev()
        .find_map(|(job, request)| matches!(request, Request::Run { .. }).then_some((*job, request.lane())));
    let (job, lane) = run.unwrap();
    let failure = Failure { summary: "Two changes contradict each other".to_owned(), details: String::new() };
    window.jobs.0.borrow_mut().events.push(attnscope::protocol::Event { job, lane, kind: EventKind::Failed(failure) });
    window.settle();
    assert!(window.shows("Two changes contradict each other"));
    assert_eq!((edits(&window).len(), n_panes(&window)), (2, 2));
}

#[test]
fn another_normaliser_is_chosen_below_its_change_and_its_number_is_dragged() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "All attention", "Fusedmax");
    assert_eq!(edits(&window), ["scores are normalised by fusedmax with λ = 0.1 everywhere"]);
    let drag = |window: &mut Window, slider: &str| {
        window.harness.get_by_role_and_label(Role::Slider, slider).focus();
        window.settle();
        window.press(eframe::egui::Modifiers::NONE, eframe::egui::Key::ArrowRight);
    };
    drag(&mut window, "λ of the normaliser");
    assert_ne!(edits(&window), ["scores are normalised by fusedmax with λ = 0.1 everywhere"]);
    assert!(edits(&window)[0].contains("fusedmax"));
    window.harness.get_by_role_and_label(Role::ComboBox, "Normaliser").click();
    window.settle();
    window.harness.get_by_label("α-entmax").click();
    window.settle();
    assert_eq!(edits(&window), ["scores are normalised by 1.5-entmax everywhere"]);
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "All attention", "Sampled");
    drag(&mut window, "Draw");
    assert_eq!(edits(&window)[1], "scores are normalised by draw 1 of softmax (seed 0) everywhere");
}

#[test]
fn a_run_with_a_normaliser_is_asked_for_where_normalisers_are_compared() {
    for (rule, said) in [("Sparsemax", "by sparsemax in head L0H0"), ("Top-2", "2 strongest keys in head L0H0")] {
        let options = OpenOptions { view: Some(ViewKind::Simplex), ..with_text("one two three") };
        let mut window = Window::with_size(options, [1600.0, 1000.0]);
        window.harness.get_by_label("Run with ⏷").click();
        window.settle();
        window.harness.get_by_role_and_label(Role::Button, rule).click();
        window.settle();
        let edits = edits(&window);
        assert!(edits.len() == 1 && edits[0].contains(said), "{edits:?}");
    }
}

#[test]
fn a_score_is_one_number_before_and_after_and_leaves_nothing_to_choose() {
    let mut window = Window::open(OpenOptions { model: Some("demo:score".to_owned()), ..with_text("one two three") });
    assert!(window.shows("score −1.25"));
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "Head L0H0", "Ablate: zero");
    assert!(window.shows("score −1.25 → −1.00") && window.shows("score: −1.25 → −1.00 (+0.25)"));
    assert!(!window.shows("and not on"), "nothing to choose");
}

#[test]
fn the_effect_on_an_outcome_is_a_line_that_stays_and_the_outcome_is_chosen() {
    let mut window = Window::open(with_text("one two three"));
    assert!(!window.shows("Effect of the changes"));
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    choose(&mut window, "Head L0H0", "Ablate: zero");
    // The scripted model gives word20 half of the probability, and four fifths of that with a change.
    let line = "word20: logit −0.69 → −0.92 (−0.22), probability 50.0 % → 40.0 % (−10.0 points)";
    assert!(window.shows("Effect of the changes, at position 2 “three”") && window.shows(line));

    let combo = |window: &mut Window, name: &str| {
        window.harness.get_by_role_and_label(Role::ComboBox, name).click();
        window.settle();
    };
    assert!(window.shows("and not on"), "on word20 and not on anything else");
    combo(&mut window, "Outcome");
    // The field has the cursor as soon as it is there.
    window.harness.event(Event::Text("word77".to_owned()));
    window.settle();
    assert!(window.shows("word777") && window.shows("#777"), "what begins with it");
    window.harness.get_by_label_contains("word77 ").click();
    window.settle();
    assert!(window.shows("word77: logit −8.33 → "), "no longer among the most probable");
    combo(&mut window, "Contrast of the effect");
    assert!(window.harness.query_all_by_label("anything else").count() >= 1 && !window.shows("nothing"));
    window.harness.event(Event::Text("#21".to_owned()));
    window.settle();
    window.click("word21  25 %  #21");
    assert!(window.shows("word77 − word21: logit difference "));
    let target = window.app().session().pane().options.target;
    assert_eq!((target.class, target.against), (Some(77), Some(21)), "the Lab explains the same");

    combo(&mut window, "Outcome");
    window.harness.event(Event::Text("words".to_owned()));
    window.settle();
    assert!(window.shows("“words” is several tokens of this model"));
}

/// What the means of a direction are over stands under it, and is another change when it is chosen.
#[test]
fn the_mean_of_a_direction_is_chosen_under_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    std::fs::write(&path, "the cat sat on the mat\na dog ran\n").unwrap();
    let corpus = OpenOptions { model: Some("demo:gpt".to_owned()), corpus: Some(path), ..OpenOptions::default() };
    let mut window = Window::with_size(corpus, [1280.0, 1500.0]);
    window.click("Input a dog ran");
    window.harness.get_by_label_contains("Direction…").click();
    window.settle();
    choose(&mut window, "Towards demo:sentences", "away from 2 inputs of rows.txt, added after layer 0");
    let says = |window: &Window, mean: &str| {
        let found = edits(window);
        assert!(found[0].contains(&format!("from 2 inputs of rows.txt to demo:sentences ({mean}) added")), "{found:?}");
    };
    says(&window, "all tokens but special ones");
    window.harness.get_by_role_and_label(Role::ComboBox, "Mean over").click();
    window.settle();
    window.click("Mean of each text");
    says(&window, "mean of each text");
}

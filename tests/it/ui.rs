//! The window, driven by role and label as a person drives it; no adapter is needed.

use std::{cell::Cell, path::PathBuf};

use attnscope::{
    cli::open::OpenOptions,
    export::ExportRequest,
    ids::{DocumentId, HeadId},
    model::Input,
    protocol::{EventKind, Lane, ModelSource, Request},
    session::{Appearance, Command, Loadable, SelectionCommand, ViewGroup, ViewKind},
    text::weight_text,
    worker::{GiveBack, give_back_by},
};
use eframe::egui::{
    self, Key, Modifiers,
    accesskit::{Action, ActionRequest, Role, TreeId},
};
use egui_kittest::kittest::Queryable as _;

use crate::support::{
    scripted::failure,
    window::{Window, with_text},
};

#[test]
fn the_first_example_is_open_when_the_window_opens() {
    let window = Window::open(OpenOptions::default());
    assert!(window.app().session().document().latest_capture().is_some());
    assert!(window.shows("demo:gpt"));
    assert!(window.shows("3 layers × 4 heads"));
    let n_tokens = window.harness.query_all_by_label_contains("Query ").count();
    assert!(n_tokens > 10, "{n_tokens} tokens are listed");
}

#[test]
fn typing_runs_once_after_a_pause() {
    let mut window = Window::open(with_text("one two three"));
    let before = window.jobs.n_runs();
    let editor = window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text");
    editor.focus();
    window.harness.step();
    for letter in [" f", "o", "u", "r"] {
        window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").type_text(letter);
        window.harness.step();
    }
    assert_eq!(window.jobs.n_runs(), before, "not while typing");
    window.settle();
    assert_eq!(window.jobs.n_runs(), before + 1);
    let script = window.jobs.0.borrow();
    let Some((_, Request::Run { input: Input::Text(input), .. })) = script.submitted.last() else { panic!("no run") };
    assert_eq!(input.text, "one two three four");
}

#[test]
fn a_failed_run_says_so_and_keeps_the_result() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    window.press(Modifiers::COMMAND, Key::Enter);
    assert!(window.app().session().document().capture.is_pending());
    assert!(window.shows("Cancel"));
    window.app().request(Command::Notify(failure("The disk is on fire")));
    window.jobs.say(EventKind::Failed(failure("The model could not be evaluated")));
    window.settle();
    let said = |window: &Window, text: &str| window.harness.query_all_by_label_contains(text).count();
    assert_eq!(said(&window, "The model could not be evaluated"), 1, "in full in one place");
    assert_eq!(said(&window, "⚠ The run failed"), 1);
    assert!(window.shows("Try something else"));
    assert_eq!(said(&window, "Key "), 3, "the tokens are still there");
    // No message lies over the sentence.
    let places = |text: &str| -> Vec<egui::Rect> {
        let mut all: Vec<_> = window.harness.query_all_by_label_contains(text).map(|node| node.rect()).collect();
        all.sort_by(|a, b| a.top().total_cmp(&b.top()));
        all
    };
    let sentence = places("The model could not be evaluated")[0];
    let shown = places("Shows “demo:gpt").into_iter().max_by(|a, b| a.left().total_cmp(&b.left())).unwrap();
    let [own, of_message] = places("Try something else")[..] else { panic!("one of the run, one of the message") };
    assert!(sentence.bottom() <= own.top() && own.bottom() < shown.top(), "{shown:?} {sentence:?} {own:?}");
    assert!(own.bottom() < of_message.top(), "{own:?} {of_message:?}");
    window.harness.get_by_role_and_label(Role::Button, "Run again");
    // What is of the run before is veiled, tokens included.
    let is_veiled = |text: &str| {
        let shapes = window.harness.output().shapes.iter();
        let colors = shapes.filter_map(|clipped| match &clipped.shape {
            egui::Shape::Text(shape) if shape.galley.text() == text => {
                let color = shape.galley.rows.first()?.row.visuals.mesh.vertices.first()?.color;
                Some(if color == egui::Color32::PLACEHOLDER { shape.fallback_color } else { color })
            }
            _ => None,
        });
        let alphas: Vec<u8> = colors.map(|color| color.a()).collect();
        assert!(!alphas.is_empty(), "{text} is drawn");
        alphas.iter().all(|alpha| *alpha < 200)
    };
    assert!(is_veiled("word20") && is_veiled("two") && !is_veiled("Input"));
}

#[test]
fn a_model_that_does_not_open_says_so_once_and_what_is_open_stays() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    window.app().request(Command::OpenModel(ModelSource::Path("/nowhere".into())));
    window.harness.step();
    window.jobs.say(EventKind::Failed(failure("There is nothing at this path")));
    window.settle();
    let said = |text: &str| window.harness.query_all_by_label_contains(text).count();
    assert_eq!((said("There is nothing at this path"), said("⚠ The model did not open")), (1, 1));
    assert_eq!(said("demo:gpt stays open"), 1);
    assert!(window.harness.query_by_label("Dismiss: There is nothing at this path").is_none());
}

#[test]
fn cancel_stops_the_run_and_keeps_the_result() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    window.press(Modifiers::COMMAND, Key::Enter);
    window.click("Cancel");
    assert_eq!(window.jobs.0.borrow().cancelled, [Lane::Run(DocumentId(1))]);
    assert!(!window.app().session().is_busy());
    assert!(window.shows("3 tokens"));
}

#[test]
fn groups_lead_to_their_views_and_grey_ones_say_why() {
    let mut window = Window::open(with_text("one two three"));
    let view = |window: &Window| window.app().session().pane().view;
    let tab = |window: &mut Window, name: &str| {
        window.harness.get_by_role_and_label(Role::Tab, name).click();
        window.settle();
    };
    tab(&mut window, "Heads");
    assert_eq!(view(&window), ViewKind::Grid);
    tab(&mut window, "Heads");
    assert!(window.shows("Which head does what?"), "a second click shows the views of the group");
    window.click("View: Query–key map");
    assert_eq!(view(&window), ViewKind::Scatter);
    assert!(!window.shows("View: "), "the sheet is closed");
    tab(&mut window, "Look");
    assert_eq!(view(&window), ViewKind::Heads);
    window.press(Modifiers::NONE, Key::G);
    tab(&mut window, "Heads");
    assert_eq!(view(&window), ViewKind::Scatter, "a tab beside the sheet shows its last view");
    assert!(!window.shows("View: "), "the sheet is closed");
    tab(&mut window, "Look");
    window.press(Modifiers::NONE, Key::G);
    for group in ViewGroup::ALL {
        assert!(window.shows(group.question()));
    }
    let is_drawn = |window: &Window, view| {
        let picture = window.app().session().cards.picture((view, None));
        picture.and_then(Loadable::latest).is_some_and(|picture| picture.pixels.iter().any(|value| *value < 200))
    };
    for _ in 0..4 {
        window.settle();
    }
    assert!([ViewKind::Heads, ViewKind::Heatmap, ViewKind::Grid].iter().all(|view| is_drawn(&window, *view)));
    window.harness.get_by_label("View: Picture").hover();
    window.settle();
    assert!(window.shows("This input has no picture"));
    window.click("View: Picture");
    assert_eq!(view(&window), ViewKind::Heads);
    window.harness.get_by_role_and_label(Role::TextInput, "Search views").focus();
    window.harness.step();
    window.harness.get_by_role_and_label(Role::TextInput, "Search views").type_text("logit lens");
    window.settle();
    assert_eq!(window.harness.query_all_by_label_contains("View: ").count(), 6, "the pages of Explain");
    window.harness.get_by_role_and_label(Role::TextInput, "Search views").type_text(" qqq");
    window.settle();
    assert!(window.shows("No view mentions “logit lens qqq”"));
    window.press(Modifiers::NONE, Key::Escape);
    window.press(Modifiers::NONE, Key::G);
    window.click("View: Which layer");
    let pane = window.app().session().pane();
    assert_eq!(pane.view.shown_label(&pane.options), "Which layer");
    window.press(Modifiers::NONE, Key::G);
    window.harness.get_by_role_and_label(Role::TextInput, "Search views").type_text("heatmap");
    window.settle();
    window.press(Modifiers::NONE, Key::Enter);
    assert!(view(&window) == ViewKind::Heatmap && !window.shows("View: "), "Enter shows the first that is found");
    assert!(!is_drawn(&window, ViewKind::Heads), "nothing is drawn that nobody looks at");
}

#[test]
fn keys_step_heads_layers_views_and_history() {
    let mut window = Window::open(with_text("one two three"));
    for (modifiers, key, expected) in [
        (Modifiers::NONE, Key::ArrowRight, HeadId::single(0, 1)),
        (Modifiers::NONE, Key::ArrowDown, HeadId::single(1, 1)),
        (Modifiers::NONE, Key::ArrowLeft, HeadId::single(1, 0)),
        (Modifiers::NONE, Key::ArrowUp, HeadId::single(0, 0)),
        (Modifiers::ALT, Key::ArrowLeft, HeadId::single(1, 0)),
        (Modifiers::ALT, Key::ArrowRight, HeadId::single(0, 0)),
    ] {
        window.press(modifiers, key);
        assert_eq!(window.head(), expected, "{modifiers:?} {key:?}");
    }
    for (key, expected) in [
        (Key::Num2, ViewKind::Grid),
        (Key::Num2, ViewKind::Scatter),
        (Key::Num1, ViewKind::Heads),
        (Key::Num1, ViewKind::Heatmap),
        (Key::Num2, ViewKind::Scatter),
        (Key::Num1, ViewKind::Heatmap),
        (Key::Num1, ViewKind::Text),
        (Key::Num1, ViewKind::Writing),
        (Key::Num1, ViewKind::Paths),
        (Key::Num1, ViewKind::Heads),
    ] {
        window.press(Modifiers::NONE, key);
        assert_eq!(window.app().session().pane().view, expected, "{key:?}");
    }
}

#[test]
fn arrow_keys_belong_to_the_text_while_typing() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
    window.settle();
    window.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(window.head(), HeadId::single(0, 0));
}

#[test]
fn a_clicked_token_is_pinned_until_escape() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Query 1 two");
    window.harness.remove_cursor();
    window.settle();
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    assert!(window.shows("Top keys"));
    assert!(window.shows("word10"), "the prediction follows the pinned position");
    window.press(Modifiers::NONE, Key::Escape);
    assert!(window.app().session().pane().selection.pinned.is_empty());
}

/// Maps of all heads name the head under the pointer; the numbers beside them are of the selected one.
#[test]
fn numbers_beside_maps_of_all_heads_say_that_they_are_of_the_selected_head() {
    let mut window = Window::open(with_text("one two three"));
    for (view, token, title) in [
        (ViewKind::Heads, "Query 1 two", "Under the pointer, in L0H0"),
        (ViewKind::Matrix, "Token 1 two", "in the selected head L0H0"),
    ] {
        window.app().request(Command::Select(SelectionCommand::ShowView(view)));
        window.settle();
        window.harness.get_by_label(token).hover();
        window.settle();
        assert!(window.shows(title), "{view:?}");
    }
}

#[test]
fn the_inspector_names_weight_score_and_rank_of_a_pair() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Query 2 three");
    window.harness.remove_cursor();
    window.settle();
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let row = capture.stored_pattern(HeadId::single(0, 0)).unwrap().row(2).unwrap().to_vec();
    let best = (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    let word = ["one", "two", "three"][best];
    let label = format!("{word}  #{best}");
    window.harness.query_all_by_label_contains(&label).next().unwrap().click();
    window.settle();
    assert_eq!(window.app().session().pane().selection.pinned.key, Some(best));
    assert!(window.shows(&weight_text(row[best])));
    assert!(window.shows("1 of 3"));
}

#[test]
fn a_screenshot_run_writes_the_whole_window_and_closes_it() {
    let options = OpenOptions {
        screenshot: Some("shot.png".into()),
        view: Some(ViewKind::Matrix),
        theme: Some(Appearance::Dark),
        ..with_text("one two three")
    };
    let mut window = Window::open(options);
    window.until("the picture", |window| {
        window.jobs.0.borrow().submitted.iter().any(|(_, request)| matches!(request, Request::Export(_)))
    });
    {
        let script = window.jobs.0.borrow();
        let Some((_, Request::Export(ExportRequest::Png { pixels, path, .. }))) = script.submitted.last() else {
            panic!("no export")
        };
        assert_eq!((pixels.width, path), (1280, &PathBuf::from("shot.png")));
        assert!(
            script.submitted.iter().any(|(_, request)| matches!(request, Request::Project { .. })),
            "the projection that the view needs came first"
        );
    }
    assert_eq!(window.harness.ctx.theme(), egui::Theme::Dark);
    let closes = |window: &Window| {
        let root = &window.harness.output().viewport_output[&egui::ViewportId::ROOT];
        root.commands.contains(&egui::ViewportCommand::Close)
    };
    window.until("the end", closes);
}

#[test]
fn messages_go_away_and_stay_in_the_history() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(Command::Notify(failure("The disk is on fire")));
    window.settle();
    assert!(window.harness.query_by_label("Dismiss: The disk is on fire").is_some(), "as a toast");
    // Twelve seconds at four frames a second.
    window.harness.run_steps(60);
    assert!(window.harness.query_by_label("Dismiss: The disk is on fire").is_none());
    window.click("Messages");
    window.click("Dismiss: The disk is on fire");
    assert!(window.app().session().notices.is_empty());
}

#[test]
fn the_help_sheet_has_keys_glossary_and_formulas_and_closes() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::Questionmark);
    assert!(window.shows("Save a picture of the whole window as PNG") && window.shows(env!("CARGO_PKG_VERSION")));
    window.click("Glossary");
    assert!(window.shows("The vector with which a token looks for keys"));
    window.click("How do I …");
    assert!(window.shows("compare two heads"));
    window.harness.get_by_label("Search help").focus();
    window.harness.step();
    window.harness.get_by_label("Search help").type_text("rollout");
    window.settle();
    assert!(window.shows("Attention of all layers multiplied together"), "the glossary");
    assert!(window.shows("Abnar and Zuidema 2020") && window.shows("rownorm"), "method, source and formula");
    assert!(!window.shows("compare two heads"));
    window.click("Close");
    assert!(!window.shows("Search help"));
}

#[test]
fn a_token_is_found_by_its_text_and_pinned_with_enter() {
    let mut window = Window::open(with_text("one two three twofold"));
    window.press(Modifiers::NONE, Key::Slash);
    window.harness.get_by_label("Find token").type_text("two");
    window.settle();
    assert_eq!(window.app().session().pane().selection.hover.query, Some(1), "a preview while typing");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(3), "Enter again goes on");
}

#[test]
fn a_search_steps_through_its_hits_and_counts_them() {
    let mut window = Window::open(with_text("two one two three two"));
    window.press(Modifiers::NONE, Key::Slash);
    window.harness.get_by_label("Find token").type_text("two");
    window.settle();
    assert!(window.shows("3 found"));
    window.press(Modifiers::NONE, Key::Enter);
    assert!(window.shows("1 of 3"));
    window.press(Modifiers::SHIFT, Key::Enter);
    assert!(window.shows("3 of 3"), "around the start, backwards");
    window.click("Previous hit");
    assert!(window.shows("2 of 3"));
    window.click("Next hit");
    assert!(window.shows("3 of 3"), "the buttons do the same");
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(4));
}

#[test]
fn a_search_that_is_left_goes_and_the_token_it_found_stays() {
    for view in [ViewKind::Heads, ViewKind::Heatmap, ViewKind::Grid, ViewKind::Lab] {
        let mut window = Window::open(OpenOptions { view: Some(view), ..with_text("one two three") });
        let names_tokens = window.harness.query_by_label("Token 0 one").is_none();
        assert_eq!(names_tokens, view != ViewKind::Grid, "{}", view.label());
        window.press(Modifiers::NONE, Key::Slash);
        window.harness.get_by_label("Token 0 one");
        window.harness.get_by_label("Find token").type_text("two");
        window.settle();
        window.press(Modifiers::NONE, Key::Enter);
        window.press(Modifiers::NONE, Key::Escape);
        assert!(window.harness.query_by_label("Find token").is_none(), "{}", view.label());
        assert_eq!(window.harness.query_by_label("Token 0 one").is_none(), names_tokens, "{}", view.label());
        assert_eq!(window.app().session().pane().selection.pinned.query, Some(1), "{}", view.label());
        window.press(Modifiers::NONE, Key::Escape);
        assert!(window.app().session().pane().selection.pinned.is_empty(), "{}", view.label());
    }
}

#[test]
fn views_without_names_of_tokens_have_them_in_a_rail() {
    let mut window = Window::open(with_text("one two three"));
    for view in [ViewKind::Grid, ViewKind::Scatter, ViewKind::Matrix, ViewKind::Distance, ViewKind::Average] {
        window.show(view);
        window.click("Token 2 three");
        assert_eq!(window.app().session().pane().selection.pinned.query, Some(2), "{}", view.label());
        window.press(Modifiers::NONE, Key::Escape);
    }
}

#[test]
fn tokens_are_one_tab_stop_with_arrows_inside() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Grid), ..with_text("one two three") });
    let focused = |window: &Window, label: &str| window.harness.get_by_label(label).is_focused();
    window.harness.get_by_label("Token 0 one").focus();
    window.settle();
    window.press(Modifiers::NONE, Key::ArrowRight);
    assert!(focused(&window, "Token 1 two"));
    assert_eq!(window.head().head, 0, "the arrows do not step heads meanwhile");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    window.press(Modifiers::NONE, Key::Tab);
    let chips = ["Token 0 one", "Token 1 two", "Token 2 three"];
    assert!(chips.iter().all(|chip| !focused(&window, chip)), "Tab leaves the list at once");
}

#[test]
fn escape_closes_what_is_open_before_it_lets_go_of_a_token() {
    let mut window = Window::open(OpenOptions { query: Some(1), ..with_text("one two three") });
    window.click("Open…");
    assert!(window.shows("Browse… ⏷"));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("Browse… ⏷"));
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(window.app().session().pane().selection.pinned.query, None);
}

#[test]
fn a_window_that_rests_forgets_widgets_that_are_gone_and_hears_the_next_key() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::E);
    window.harness.get_by_role_and_label(Role::Button, "Close").focus();
    window.harness.step();
    let focused = |window: &Window| window.harness.ctx.memory(egui::Memory::focused);
    let button = focused(&window).unwrap();
    window.press(Modifiers::NONE, Key::Escape);
    assert!(window.harness.query_by_role_and_label(Role::Button, "Close").is_none());
    // Who reads the screen to somebody gives the focus to any widget that is remembered.
    let asks_for_it = |window: &mut Window| {
        window.harness.event(egui::Event::AccessKitActionRequest(ActionRequest {
            action: Action::Focus,
            target_tree: TreeId::ROOT,
            target_node: button.accesskit_id(),
            data: None,
        }));
        window.harness.step();
    };
    asks_for_it(&mut window);
    assert_eq!(focused(&window), Some(button), "it is remembered while the window is in use");
    for _ in 0..3 {
        window.settle();
    }
    assert_eq!(focused(&window), None, "nobody has the focus for a frame only");
    asks_for_it(&mut window);
    assert_eq!(focused(&window), None, "it is forgotten");
    window.press(Modifiers::NONE, Key::Num2);
    assert_eq!(window.app().session().pane().view, ViewKind::Grid);
}

#[test]
fn a_window_gives_memory_back_when_nobody_does_anything_and_once() {
    thread_local!(static N: Cell<usize> = const { Cell::new(0) });
    give_back_by(GiveBack { of_thread: || {}, of_libraries: || N.set(N.get() + 1) });
    let mut window = Window::open(with_text("one two three"));
    let rests = |window: &mut Window| {
        for _ in 0..3 {
            window.settle();
        }
        N.get()
    };
    assert_eq!(rests(&mut window), 1);
    assert_eq!(rests(&mut window), 1, "it rests already");
    window.press(Modifiers::NONE, Key::Num2);
    assert_eq!(N.get(), 1, "not while somebody does something");
    assert_eq!(rests(&mut window), 2);
}

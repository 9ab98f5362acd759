//! The window, driven by role and label as a person drives it; no adapter is needed.

use std::path::PathBuf;

use attnscope::{
    cli::open::OpenOptions,
    export::ExportRequest,
    ids::{DocumentId, HeadId, StackKind},
    session::{Appearance, Command, FilePurpose, ViewKind, gallery::EXAMPLES},
    worker::{CaptureFile, Choice, EventKind, Input, Lane, ModelSource, Request, TextInput},
};
use eframe::egui::{self, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::support::{
    scripted::{capture, failure, model},
    stacks,
    window::{Window, with_text},
};

#[test]
fn the_first_example_is_open_when_the_window_opens() {
    let window = Window::open(OpenOptions::default());
    assert!(window.app().session().document().latest_capture().is_some());
    assert!(window.shows("demo:gpt"));
    assert!(window.shows("3 layers × 4 heads"));
    let n_tokens = window.harness.query_all_by_label_contains("Token ").count();
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
    window.jobs.say(EventKind::Failed(failure("The model could not be evaluated")));
    window.settle();
    assert!(window.shows("The model could not be evaluated"));
    assert!(window.shows("Try something else"));
    assert_eq!(window.harness.query_all_by_label_contains("Token ").count(), 3, "the tokens are still there");
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
fn tabs_change_the_view_and_grey_ones_say_why() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_role_and_label(Role::Tab, "Heatmap").click();
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::Heatmap);
    window.harness.get_by_role_and_label(Role::Tab, "Image").hover();
    window.settle();
    assert!(window.shows("This input has no picture"));
    window.harness.get_by_role_and_label(Role::Tab, "Image").click();
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::Heatmap);
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
    window.press(Modifiers::NONE, Key::Num5);
    assert_eq!(window.app().session().pane().view, ViewKind::Matrix);
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
    window.click("Token 1 two");
    window.harness.remove_cursor();
    window.settle();
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    assert!(window.shows("Top keys"));
    assert!(window.shows("word10"), "the prediction follows the pinned position");
    window.press(Modifiers::NONE, Key::Escape);
    assert!(window.app().session().pane().selection.pinned.is_empty());
}

#[test]
fn the_inspector_names_weight_score_and_rank_of_a_pair() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Token 2 three");
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
    assert!(window.shows(&format!("{:.5}", row[best])));
    assert!(window.shows("1 of 3"));
}

#[test]
fn an_example_card_changes_model_input_and_view() {
    let mut window = Window::open(OpenOptions::default());
    let shown = |window: &Window| {
        let session = window.app().session();
        (session.document().model.latest().unwrap().spec.name.clone(), session.pane().view)
    };
    window.click("Example: Queries and keys");
    assert_eq!(shown(&window), ("demo:gpt".to_owned(), ViewKind::Matrix));
    window.click("Example: Mary's keys");
    assert_eq!(shown(&window), ("demo:bert".to_owned(), ViewKind::Heads));
    assert_eq!(window.app().session().document().experiment.text, "Mary lost [MASK] keys.");
}

#[test]
fn an_example_of_a_picture_shows_the_picture() {
    let mut window = Window::open(OpenOptions::default());
    // Before the first comes the last.
    window.press(Modifiers::NONE, Key::PageUp);
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::Image);
    assert!(window.shows("4 × 4 patches"));
    assert!(window.shows("Choose picture…"));
}

#[test]
fn the_gallery_lists_every_example_and_opens_one() {
    let mut window = Window::open(OpenOptions::default());
    let cards =
        |window: &Window, of: &str| window.harness.query_all_by_label_contains(&format!("Example: {of}")).count();
    let in_strip = cards(&window, "");
    assert_eq!((cards(&window, EXAMPLES[0].title), cards(&window, "The word after")), (1, 0));
    window.press(Modifiers::NONE, Key::E);
    window.settle();
    assert_eq!(cards(&window, ""), in_strip + EXAMPLES.len());
    window.harness.query_all_by_label("Example: The word after").last().unwrap().click();
    window.settle();
    assert_eq!(window.app().session().document().model.latest().unwrap().spec.name, "demo:bert");
    assert!(cards(&window, "") < EXAMPLES.len(), "the gallery closes when something was chosen");
    assert!(window.shows("The word after: "), "what to look at stays in sight");
    window.press(Modifiers::NONE, Key::PageDown);
    window.settle();
    assert!(!window.shows("The word after: "), "the next one is open");
}

#[test]
fn a_figure_is_previewed_and_saved_under_the_name_that_was_typed() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::E);
    window.settle();
    window.harness.get_by_label("Preview of the figure");
    let preview = window.app().session().figures.preview.latest().cloned().unwrap();
    assert!(preview.pixels.width > 200 && preview.missing.is_empty());
    window.harness.get_by_label("PDF").click();
    window.settle();
    window.desktop.0.borrow_mut().save = Some(PathBuf::from("figure.svg"));
    window.harness.get_by_label("Save…").click();
    window.until("the export", |window| {
        window.jobs.0.borrow().submitted.iter().any(|(_, request)| matches!(request, Request::Export(_)))
    });
    assert_eq!(window.desktop.0.borrow().proposed, ["demo-gpt_one-two-three_L0H0_heads.pdf"]);
    let script = window.jobs.0.borrow();
    let Some((_, Request::Export(ExportRequest::Figures { figure, path }))) = script.submitted.last() else {
        panic!("no export")
    };
    assert_eq!(path, &PathBuf::from("figure.svg"), "the ending that was typed is obeyed");
    let svg = figure.svg().unwrap();
    assert!(["one", "two", "three", "L0"].iter().all(|text| svg.contains(text)), "{}", &svg[..400]);
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
fn dropped_files_say_what_will_happen_and_then_open() {
    let mut window = Window::open(with_text("one two three"));
    let hovered = |path: &str| egui::HoveredFile { path: Some(path.into()), ..egui::HoveredFile::default() };
    window.harness.input_mut().hovered_files = vec![hovered("/pictures/cat.png"), hovered("/models/bert")];
    window.harness.step();
    window.harness.input_mut().hovered_files.clear();
    window.harness.step();
    let runs = window.jobs.n_runs();
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped("/models/vit-mine".into())));
    window.settle();
    assert_eq!(window.app().session().document().model.latest().unwrap().spec.name, "vit-mine");
    assert_eq!(window.jobs.n_runs(), runs + 1);
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("not read by the window".to_owned())
    }
}

#[test]
fn a_dropped_text_file_is_read_and_one_that_is_no_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.txt"), folder.path().join("bad.txt"));
    std::fs::write(&good, "red green blue yellow").unwrap();
    std::fs::write(&bad, [0xff, 0xfe, 0x41]).unwrap();
    let mut window = Window::open(with_text("one two three"));
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(good)));
    window.until("the text", |window| window.app().session().document().experiment.text == "red green blue yellow");
    window.settle();
    assert!(window.shows("4 tokens"));
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(bad)));
    window.until("the refusal", |window| window.shows("This file is not UTF-8 text"));
    assert_eq!(window.app().session().document().experiment.text, "red green blue yellow");
}

#[test]
fn a_pasted_picture_is_shown_to_a_model_that_sees() {
    let mut window = Window::open(with_text("one two three"));
    let image = egui::ColorImage::filled([5, 4], egui::Color32::RED);
    window.harness.event(egui::Event::PasteImage(std::sync::Arc::new(image)));
    window.settle();
    let session = window.app().session();
    assert_eq!(session.document().model.latest().unwrap().spec.name, "demo:vit");
    assert!(window.shows("so the picture is shown with demo:vit"));
}

#[test]
fn the_open_dialogs_open_what_was_chosen() {
    let mut window = Window::open(with_text("one two three"));
    window.desktop.0.borrow_mut().pick = vec!["/models/vit-mine".into()];
    window.click("Open… ⏷");
    window.click("Open model…");
    window
        .until("the model", |window| window.app().session().document().model.latest().unwrap().spec.name == "vit-mine");
    assert_eq!(window.desktop.0.borrow().purposes, [FilePurpose::ModelFolder]);
    window.desktop.0.borrow_mut().pick = vec!["cat.png".into()];
    window.click("Open… ⏷");
    window.click("Open file…");
    window.until("the picture", |window| {
        matches!(window.jobs.0.borrow().submitted.last(), Some((_, Request::Run { input: Input::Image(_), .. })))
    });
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
fn the_shortcut_sheet_lists_every_key_and_closes() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::Questionmark);
    assert!(window.shows("Save a picture of the whole window as PNG"));
    window.click("Close");
    assert!(!window.shows("Save a picture of the whole window as PNG"));
}

#[test]
fn the_appearance_is_switched_and_remembered() {
    let mut window = Window::open(with_text("one two"));
    for (theme, appearance) in [(egui::Theme::Light, Appearance::Light), (egui::Theme::Dark, Appearance::Dark)] {
        window.click("Light or dark");
        assert_eq!(window.harness.ctx.theme(), theme);
        assert_eq!(window.app().session().settings.appearance, appearance);
    }
}

#[test]
fn five_hundred_tokens_cost_no_more_widgets_than_are_in_view() {
    let text = (0..512).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let window = Window::open(with_text(&text));
    assert!(window.shows("512 tokens"));
    let n_chips = window.harness.query_all_by_label_contains("Token ").count();
    assert!((10..120).contains(&n_chips), "{n_chips} chips");
}

#[test]
fn a_window_that_is_barely_large_enough_still_shows_every_tab() {
    let window = Window::with_size(with_text("one two three"), [1024.0, 700.0]);
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1024.0, 700.0));
    for view in ViewKind::ALL {
        let tab = window.harness.get_by_role_and_label(Role::Tab, view.label());
        assert!(screen.contains_rect(tab.rect()), "{}", view.label());
    }
    for label in ["Export…", "Save screenshot…", "Shortcuts"] {
        assert!(screen.contains_rect(window.harness.get_by_label(label).rect()), "{label}");
    }
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
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(4));
}

#[test]
fn tokens_are_one_tab_stop_with_arrows_inside() {
    let mut window = Window::open(with_text("one two three"));
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
fn a_narrow_window_gives_its_width_to_the_view_until_a_panel_is_asked_for() {
    let mut window = Window::with_size(with_text("one two three"), [1024.0, 700.0]);
    assert!(!window.shows("Add second sentence") && !window.shows("This head, over all queries"));
    window.click("Model and input");
    assert!(window.shows("Add second sentence"));
    window.press(Modifiers::NONE, Key::CloseBracket);
    assert!(window.shows("This head, over all queries"));
}

#[test]
fn escape_closes_what_is_open_before_it_lets_go_of_a_token() {
    let mut window = Window::open(OpenOptions { query: Some(1), ..with_text("one two three") });
    window.click("Open… ⏷");
    assert!(window.shows("Open model…"));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("Open model…"));
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(1));
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(window.app().session().pane().selection.pinned.query, None);
}

#[test]
fn examples_keep_their_places_and_fold_away_for_something_of_ones_own() {
    let mut window = Window::open(OpenOptions::default());
    let place = |window: &Window| window.harness.get_by_label("Example: Queries and keys").rect();
    let before = place(&window);
    window.click("Example: Queries and keys");
    assert_eq!(place(&window), before);
    window.app().request(Command::SetText("something of my own".to_owned()));
    window.settle();
    assert!(!window.shows("Example: "));
    window.click("Examples");
    assert!(window.shows("Example: "));
}

#[test]
fn a_second_sentence_makes_a_pair() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Add second sentence");
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Second sentence").focus();
    window.harness.step();
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Second sentence").type_text("four");
    window.settle();
    let script = window.jobs.0.borrow();
    let Some((_, Request::Run { input: Input::Text(input), .. })) = script.submitted.last() else { panic!("no run") };
    assert_eq!(input.text_b.as_deref(), Some("four"));
}

fn with_model(name: &str) -> OpenOptions {
    OpenOptions { model: Some(name.to_owned()), ..with_text("one two three") }
}

#[test]
fn a_target_is_typed_and_taken_back() {
    let mut window = Window::open(with_model("demo:t5"));
    let last_run = |window: &Window| {
        let script = window.jobs.0.borrow();
        let run = script.submitted.iter().rev().find_map(|(_, request)| match request {
            Request::Run { input, generation, .. } => Some((input.clone(), *generation)),
            _ => None,
        });
        run.unwrap()
    };
    let (_, generation) = last_run(&window);
    assert!(generation.is_some(), "without a target the model writes");
    let target = || (Role::MultilineTextInput, "Target");
    window.harness.get_by_role_and_label(target().0, target().1).focus();
    window.harness.step();
    window.harness.get_by_role_and_label(target().0, target().1).type_text("eins zwei");
    window.settle();
    let (Input::Pair { target: forced, .. }, None) = last_run(&window) else { panic!("no target") };
    assert!(matches!(*forced, Input::Text(ref text) if text.text == "eins zwei"));
    assert!(window.harness.query_by_label("Most tokens to write").is_none(), "nothing is left to write");
    for _ in 0..3 {
        window.press(Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(window.app().session().document().experiment.target, "");
    assert!(matches!(last_run(&window), (Input::Text(_), Some(_))));
    assert!(window.harness.query_by_label("Most tokens to write").is_some());
}

#[test]
fn what_the_model_wrote_is_shown_with_its_probabilities_and_picked() {
    let mut window = Window::open(with_model("demo:t5"));
    assert!(window.shows("Written by the model, 6 tokens"));
    window.press(Modifiers::NONE, Key::S);
    assert_eq!(window.head().stack, StackKind::Encoder);
    window.click("Written 3 Katze, 88 % probable");
    assert_eq!(window.head().stack, StackKind::Cross, "the encoder has no such token");
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(3));
    window.press(Modifiers::SHIFT, Key::ArrowRight);
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(4));
    assert_eq!(window.head().head, 0, "Shift and an arrow steps tokens, not heads");
}

#[test]
fn a_text_model_continues_and_says_how() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("How tokens are chosen").click();
    window.settle();
    window.click("sampled");
    assert!(window.harness.query_by_role_and_label(Role::SpinButton, "Temperature").is_some());
    window.click("Continue");
    {
        let script = window.jobs.0.borrow();
        let Some((_, Request::Run { input: Input::Text(_), generation: Some(generation), .. })) =
            script.submitted.last()
        else {
            panic!("no run")
        };
        assert!(matches!(generation.choice, Choice::Sample { .. }));
    }
    assert!(window.app().session().settings.writing.sampled, "remembered");
}

#[test]
fn two_towers_take_a_picture_and_a_text() {
    let window = Window::open(with_model("demo:clip"));
    assert!(window.shows("Choose picture…"));
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_some());
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Target").is_none());
    let script = window.jobs.0.borrow();
    let both = script
        .submitted
        .iter()
        .any(|(_, request)| matches!(request, Request::Run { input: Input::Pair { .. }, generation: None, .. }));
    assert!(both, "both are run");
}

#[test]
fn the_inspector_explains_windows_shared_keys_and_caps() {
    let mut window = Window::open(with_text("one two three"));
    for (capture, sentences) in [
        (stacks::window_capture(9, 4), ["Window 4: sees at most itself and the 3 tokens before", "soft-capped at ±50"]),
        (stacks::translation_capture(), ["A bias by position is added to the scores", "Stack Cross"]),
    ] {
        window.jobs.answer(false);
        window.press(Modifiers::COMMAND, Key::Enter);
        window.jobs.say(EventKind::Captured(std::sync::Arc::new(capture)));
        window.settle();
        let mut seen = [false; 2];
        for _ in 0..3 {
            for (seen, sentence) in seen.iter_mut().zip(sentences) {
                *seen |= window.shows(sentence);
            }
            window.press(Modifiers::NONE, Key::ArrowDown);
            window.press(Modifiers::NONE, Key::S);
        }
        assert_eq!(seen, [true; 2], "{sentences:?}");
    }
}

/// What the whole window looks like, small enough to be kept. What takes time is masked.
#[cfg(feature = "snapshots")]
#[test]
fn the_window_looks_as_it_did() {
    use crate::support::scripted;

    let mut results = egui_kittest::SnapshotResults::new();
    for (name, theme) in [("window light", egui::Theme::Light), ("window dark", egui::Theme::Dark)] {
        let jobs = scripted::ScriptedJobs::answering();
        let options = OpenOptions { query: Some(3), ..with_text("the cat sat on the mat because it was tired") };
        let builder =
            egui_kittest::Harness::builder().with_size([1120.0, 640.0]).with_theme(theme).with_max_steps(40).wgpu();
        let mut harness = builder.build_eframe(move |cc| {
            let desktop = Box::new(scripted::ScriptedDesktop::default());
            attnscope::ui::app::Startup::new(|_| Ok(jobs), desktop, options, std::time::Instant::now())
                .unwrap()
                .attach(cc)
                .unwrap()
        });
        harness.run_steps(6);
        // How long the run took decides how wide the line is, so what is covered must not depend on it.
        let mut status = harness.get_by_label_contains("run took").rect();
        status.set_width(300.0);
        harness.mask(status);
        results.add(harness.try_snapshot(name));
    }
}

#[test]
fn inputs_of_a_capture_file_are_chosen_by_button_and_key() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    let gpt = model(&ModelSource::Bundled("demo:gpt".to_owned()));
    let read = |text: &str| capture(&gpt, &Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() }));
    let captures = vec![read("a first input"), read("the second one of them")];
    window.app().request(Command::OpenPaths(vec!["flies.npz".into()]));
    window.harness.step();
    window.jobs.say(EventKind::Opened(CaptureFile { path: "flies.npz".into(), captures }));
    window.settle();
    assert!(window.shows("From flies.npz") && window.shows("a first input"));
    assert!(!window.shows("Add second sentence"), "a file's text is not edited");
    window.press(Modifiers::COMMAND, Key::PageDown);
    assert!(window.shows("the second one of them") && window.shows("Query 4 them"));
    window.click("Next input");
    assert_eq!(window.app().session().document().shown_input(), Some(0));
    window.press(Modifiers::COMMAND, Key::PageUp);
    assert_eq!(window.app().session().document().shown_input(), Some(1));
    window.jobs.answer(true);
    window.click("Back to demo:gpt");
    assert_eq!(window.app().session().document().shown_input(), None);
    assert!(window.shows("Add second sentence") && window.shows("Query 2 three"));
}

/// Zooming in and out any number of times leaves the panels as wide as they were.
#[test]
fn panels_keep_their_width_through_zooming() {
    const SIZE: egui::Vec2 = egui::vec2(1600.0, 900.0);
    let mut window = Window::with_size(with_text("a sentence with words of several lengths in it"), SIZE.into());
    let width = |window: &Window| {
        let editor = window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").rect().width();
        (editor, window.harness.get_by_label("Subtract").rect().width())
    };
    let before = width(&window);
    for zoom in [1.1, 1.25, 1.45, 1.1, 0.9, 1.3, 1.0, 1.45, 0.8, 1.0] {
        window.harness.ctx.set_zoom_factor(zoom);
        window.harness.set_size(SIZE / zoom);
        window.settle();
    }
    let after = width(&window);
    assert!((before.0 - after.0).abs() < 0.51 && (before.1 - after.1).abs() < 0.51, "{before:?} became {after:?}");
}

/// What one is about to click stays where it is when something fails.
#[test]
fn an_error_moves_no_button() {
    let mut window = Window::open(with_text("one two three"));
    let places = |window: &Window| {
        let text = window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").rect();
        let buttons = ["Open… ⏷", "Add second sentence", "Undo"].map(|label| window.harness.get_by_label(label).rect());
        (text, buttons, window.harness.get_by_label("Token 0 one").rect())
    };
    let before = places(&window);
    window.jobs.answer(false);
    window.press(Modifiers::COMMAND, Key::Enter);
    window.jobs.say(EventKind::Failed(failure("The model could not be evaluated")));
    window.settle();
    assert!(window.shows("The model could not be evaluated"));
    assert_eq!(places(&window), before);
}

//! What the window looks like: room, panels, appearance.

use attnscope::{
    cli::open::OpenOptions,
    protocol::EventKind,
    session::{Appearance, Command, Split, ViewKind, ViewOptions},
};
use eframe::egui::{self, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::{
    scripted::failure,
    window::{Window, with_text},
};

#[test]
fn the_appearance_is_switched_and_remembered() {
    let mut window = Window::open(with_text("one two"));
    for (theme, appearance) in [(egui::Theme::Light, Appearance::Light), (egui::Theme::Dark, Appearance::Dark)] {
        window.click_in_more("Light or dark");
        assert_eq!(window.harness.ctx.theme(), theme);
        assert_eq!(window.app().session().settings.appearance, appearance);
    }
}

#[test]
fn five_hundred_tokens_cost_no_more_widgets_than_are_in_view() {
    let text = (0..512).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let window = Window::open(OpenOptions { view: Some(ViewKind::Grid), ..with_text(&text) });
    assert!(window.shows("512 tokens"));
    let n_chips = window.harness.query_all_by_label_contains("Token ").count();
    assert!((10..120).contains(&n_chips), "{n_chips} chips");
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
            let desktop = Box::new(crate::support::desktop::ScriptedDesktop::default());
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
        let buttons = ["Open…", "Add second sentence", "Undo"].map(|label| window.harness.get_by_label(label).rect());
        (text, buttons, window.harness.get_by_label("Query 0 one").rect())
    };
    let before = places(&window);
    window.jobs.answer(false);
    window.press(Modifiers::COMMAND, Key::Enter);
    window.jobs.say(EventKind::Failed(failure("The model could not be evaluated")));
    window.settle();
    assert!(window.shows("The model could not be evaluated"));
    assert_eq!(places(&window), before);
}

/// Runs of two texts that begin alike are told apart in the headers of their panes, however narrow these are.
#[test]
fn panes_are_called_by_what_tells_their_runs_apart() {
    let mut window = Window::open(with_text("the animal did not cross the broad road"));
    let ask = |window: &mut Window, command: Command| {
        window.app().request(command);
        window.settle();
    };
    let titles = |window: &Window| -> Vec<String> {
        let headers = window.harness.get_all_by_role_and_label(Role::ComboBox, "Run shown in the pane");
        headers.map(|header| header.accesskit_node().value().unwrap_or_default()).collect()
    };
    ask(&mut window, Command::SplitPane(Split::Right));
    assert_eq!(titles(&window), ["demo:gpt · the animal did not cross…"; 2], "one run");
    ask(&mut window, Command::Detach);
    ask(&mut window, Command::SetText("the animal did not cross the broad river".to_owned()));
    window.settle();
    assert_eq!(titles(&window), ["…road", "…river"]);
}

/// A bar to scroll by stands only beside what does not fit.
#[test]
fn lines_of_a_sentence_have_no_scroll_bar() {
    for size in [[1280.0, 800.0], [1024.0, 700.0]] {
        let text = ["word"; 15].join(" ");
        let window = Window::with_size(with_text(&text), size);
        let view = window.app().view_rect();
        let root = window.harness.root();
        let mut bars = root.children_recursive().filter(|node| node.accesskit_node().role() == Role::ScrollBar);
        assert!(bars.all(|bar| !view.contains_rect(bar.rect())), "{size:?}");
    }
}

/// The answer of the model stands at one place, whole, in every view and window, also below a text that needs scrolling.
#[test]
fn the_answer_is_docked_below_the_run() {
    let text = ["a", "long", "text"].repeat(60).join(" ");
    for size in [[1024.0, 700.0], [1280.0, 800.0]] {
        let mut window = Window::with_size(with_text(&text), size);
        let mut places = Vec::new();
        for view in [ViewKind::Heads, ViewKind::Scatter, ViewKind::Lab] {
            window.show(view);
            let title = window.harness.get_by_label_contains("Next token after").rect();
            let row = window.harness.get_by_role_and_label(Role::Button, "word1790 50 %").rect();
            assert!(window.app().view_rect().y_range().contains(title.top()) && row.top() > title.top(), "{size:?}");
            places.push((title, row));
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        let last = places[0].1.top() + 4.0 * places[0].1.height();
        assert!(last < window.app().view_rect().bottom(), "four rows are in sight");
    }
}

/// Under a change the rows of the answer say both, and stay where they are.
#[test]
fn a_changed_run_has_both_answers_in_the_same_rows() {
    let mut window = Window::open(with_text("one two three"));
    let row = |window: &Window, label: &str| window.harness.get_by_label(label).rect();
    let before = row(&window, "word20 50 %");
    window.harness.get_by_label("Change ⏷").click();
    window.settle();
    window.harness.get_by_label_contains("Head L0H0").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "Ablate: zero").click();
    window.settle();
    assert_eq!(row(&window, "word20 50 → 40 %"), before);
}

/// At rest the strongest pairs of the head are in the place of the list that a pinned query will have.
#[test]
fn the_strongest_pairs_stand_where_top_keys_will() {
    let mut window = Window::open(with_text("one two three four five six"));
    let title = window.harness.get_by_label("Strongest pairs").rect();
    let entropy = window.harness.get_by_label("Entropy").rect();
    assert!(window.shows("Hover a token or patch to see its numbers"), "no five dashes");
    let root = window.harness.root();
    let mut pairs = root.children_recursive().filter(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        node.accesskit_node().role() == Role::Button && label.contains(" → ")
    });
    pairs.next().unwrap().click();
    drop(pairs);
    window.settle();
    let pinned = window.app().session().pane().selection.pinned;
    assert!(pinned.query.is_some() && pinned.key.is_some());
    assert_eq!(window.harness.get_by_label("Top keys").rect().min, title.min);
    assert_eq!(window.harness.get_by_label("Entropy").rect(), entropy, "nothing below has moved");
}

/// The details beside a view are of what it is about: nothing of one pair where it shows none.
#[test]
fn details_are_those_of_the_view() {
    let mut window = Window::open(with_text("one two three four five six"));
    let parts = ["Selection", "Strongest pairs", "Entropy", "Subtract", "Heads by kind, in this input"];
    let mut shown = |view: ViewKind| {
        window.show(view);
        parts.map(|part| window.shows(part))
    };
    assert_eq!(shown(ViewKind::Heads), [true; 5]);
    assert_eq!(shown(ViewKind::Grid), [false, false, true, true, true]);
    assert_eq!(shown(ViewKind::Scatter), [true, true, false, false, false]);
    assert_eq!(shown(ViewKind::Lab), [true, false, false, false, false]);
    assert_eq!(shown(ViewKind::Average), [false; 5]);
    assert!(
        window.harness.query_all_by_label(&window.app().session().document().input_name()).next().is_some(),
        "its input"
    );
}

/// Folded, options are those that were changed, each with a way back; the line above them unfolds all.
#[test]
fn options_are_folded_to_those_that_were_changed() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Heatmap);
    window.app().request(Command::UnfoldOptions(false));
    window.settle();
    assert!(!window.shows("Same scale in every pane"));
    let mut options = window.app().session().pane().options.clone();
    options.shared_scale = true;
    window.app().request(Command::SetViewOptions(options));
    window.settle();
    assert!(window.harness.query_by_role_and_label(Role::Button, "Options: 1 changed").is_some());
    window.click("Reset Same scale in every pane");
    assert_eq!(window.app().session().pane().options, ViewOptions::default());
    assert!(!window.shows("Same scale in every pane"));
    window.click("Options");
    assert!(window.app().session().settings.options_unfolded && window.shows("Same scale in every pane"));
}

/// A panel that needs a bar to scroll by is as wide as one that does not.
#[test]
fn a_scroll_bar_moves_no_edge() {
    let [high, low] = [1400.0, 560.0].map(|height| Window::with_size(with_text("one two three"), [1280.0, height]));
    let editor = |window: &Window| window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").rect();
    assert_eq!(editor(&high).x_range(), editor(&low).x_range());
    let field = |window: &Window| window.harness.get_by_label("Subtract").rect();
    assert_eq!(field(&high).x_range(), field(&low).x_range());
}

/// In a narrow window the run is a line above the view, which opens the panel over it.
#[test]
fn the_run_is_a_line_in_a_narrow_window() {
    let mut window = Window::with_size(with_text("one two three"), [720.0, 480.0]);
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_none());
    window.click("Run: demo:gpt · one two three · word20 50 %");
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_some());
    window.harness.set_size(egui::vec2(1024.0, 700.0));
    window.settle();
    assert!(!window.shows("Run: demo:gpt"), "both panels stand beside the view");
    assert!((window.app().view_rect().width() - 536.0).abs() < 8.0, "{:?}", window.app().view_rect());
}

//! What newcomers want to do first, each in at most three actions: the table of `docs/how-to.md`.

use std::path::PathBuf;

use attnscope::{
    analysis::reading::{Aggregate, Over, Together},
    capture::Merging,
    cli::open::OpenOptions,
    export::ExportRequest,
    ids::{HeadId, StackKind},
    protocol::Request,
    session::{FileKind, ViewKind},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::support::window::{Window, with_text};

/// Most actions of a task.
const MAX_ACTIONS: usize = 3;

/// Somebody who sees the window for the first time, and what was done so far.
struct Newcomer {
    window: Window,
    n_actions: usize,
}

impl Newcomer {
    fn with(options: OpenOptions) -> Self {
        Self { window: Window::with_size(options, [1280.0, 1000.0]), n_actions: 0 }
    }

    fn acts(&mut self, act: impl FnOnce(&mut Window)) -> &mut Self {
        self.n_actions += 1;
        assert!(self.n_actions <= MAX_ACTIONS, "too many actions");
        act(&mut self.window);
        self.window.settle();
        self
    }

    fn clicks(&mut self, label: &str) -> &mut Self {
        self.acts(|window| window.click(label))
    }

    /// Opens a list and chooses from it: one action.
    fn chooses(&mut self, list: &str, entry: &str) -> &mut Self {
        self.acts(|window| {
            window.harness.get_by_role_and_label(Role::ComboBox, list).click();
            window.settle();
            window.harness.get_by_role_and_label(Role::Button, entry).click();
        })
    }

    /// Opens a menu and clicks in it: one action.
    fn picks(&mut self, menu: &str, entry: &str) -> &mut Self {
        self.acts(|window| {
            window.harness.get_by_label_contains(menu).click();
            window.settle();
            window.harness.get_by_label(entry).click();
        })
    }

    fn presses(&mut self, modifiers: Modifiers, key: Key) -> &mut Self {
        self.acts(|window| window.press(modifiers, key))
    }

    fn is_saved_as(&mut self, name: &str) {
        self.window.desktop.0.borrow_mut().save = Some(PathBuf::from(name));
    }

    /// The file that was saved.
    fn saved(&mut self) -> PathBuf {
        let path_of = |request: &Request| match request {
            Request::Export(ExportRequest::Figures { path, .. }) => Some(path.clone()),
            _ => None,
        };
        let find =
            |window: &Window| window.jobs.0.borrow().submitted.iter().rev().find_map(|(_, request)| path_of(request));
        self.window.until("the export", |window| find(window).is_some());
        find(&self.window).unwrap()
    }
}

fn heatmap(text: &str) -> OpenOptions {
    OpenOptions { view: Some(ViewKind::Heatmap), ..with_text(text) }
}

#[test]
fn two_heads_are_compared() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.picks("Split ⏷", "Split right");
    user.acts(|window| {
        let heads = window.harness.query_all_by_label("Head 2");
        heads.max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap().click();
    });
    let heads: Vec<_> = user.window.app().session().panes.iter().map(|pane| pane.selection.head).collect();
    assert_eq!(heads, [HeadId::single(0, 0), HeadId::single(0, 2)]);
}

#[test]
fn two_sentences_are_compared() {
    let mut user = Newcomer::with(with_text("one two three"));
    user.picks("Split ⏷", "Split with another input or model");
    user.acts(|window| {
        window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
        window.settle();
        window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").type_text(" four");
        window.settle();
    });
    let session = user.window.app().session();
    let tokens = |pane| session.document_of(pane).latest_capture().unwrap().tokens(attnscope::ids::Side::Only).len();
    let lengths: Vec<_> = session.panes.iter().map(tokens).collect();
    assert_eq!(lengths, [3, 4]);
}

#[test]
fn a_head_is_subtracted_from_another() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.picks("Subtract", "L0H2");
    assert!(user.window.shows("L0H0 − L0H2"));
}

#[test]
fn heads_that_link_two_tokens_are_ranked() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.clicks("Attention pattern of L0H0");
    assert!(user.window.shows("Heads that link these two"));
}

#[test]
fn one_head_is_saved_as_svg() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.is_saved_as("figure.svg");
    user.chooses("Layer", "2").clicks("Head 3").presses(Modifiers::COMMAND | Modifiers::SHIFT, Key::E);
    assert_eq!(user.saved(), PathBuf::from("figure.svg"));
    assert_eq!(user.window.desktop.0.borrow().proposed, ["demo-gpt_one-two-three_L2H3_heatmap.svg"]);
}

#[test]
fn numbers_of_one_head_become_a_csv_file() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.is_saved_as("numbers.csv");
    user.presses(Modifiers::COMMAND, Key::E).clicks("CSV").clicks("Save…");
    assert_eq!(user.saved(), PathBuf::from("numbers.csv"));
    assert_eq!(user.window.app().session().settings.figures.kind, FileKind::Csv);
}

#[test]
fn written_words_are_seen_beside_what_they_align_to() {
    let model = OpenOptions { model: Some("demo:t5".to_owned()), ..with_text("one two three") };
    let mut user = Newcomer::with(model);
    user.acts(|window| window.harness.get_by_role_and_label(Role::RadioButton, "Stack Cross").click());
    user.presses(Modifiers::NONE, Key::Num1);
    assert_eq!(user.window.app().session().pane().selection.stack(), StackKind::Cross);
    assert!(user.window.shows("decoder queries"), "rows are what is written, columns what is read");
}

#[test]
fn reading_aids_are_one_menu_away() {
    let aid = |entry: &str| {
        let mut user = Newcomer::with(heatmap("one two three"));
        user.picks("Show weights as", entry);
        user.window.app().session().pane().options.reading.clone()
    };
    assert!(aid("Special tokens").leave_out.special);
    assert_eq!(aid("Words").merging, Merging::WORDS);
    assert_eq!(aid("Mean").together, Some(Together { how: Aggregate::Mean, over: Over::Layer }));
    assert!(aid("× norm of the value").by_value_norm);
}

#[test]
fn the_text_before_comes_back() {
    let mut user = Newcomer::with(with_text("one two three"));
    user.window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
    user.window.settle();
    user.window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").type_text(" four");
    user.window.settle();
    user.clicks("Undo");
    assert_eq!(user.window.app().session().document().experiment.text, "one two three");
}

#[test]
fn the_steps_of_a_weight_are_walked() {
    let mut user = Newcomer::with(heatmap("one two three"));
    user.clicks("Attention pattern of L0H0").clicks("Why this weight").clicks("Next step");
    let pane = user.window.app().session().pane();
    assert_eq!((pane.view, pane.options.why.steps), (ViewKind::Why, 1), "after all of them comes the first");
}

#[test]
fn the_translator_without_attention_is_found_beside_its_twin() {
    let mut user = Newcomer::with(with_text("one two three"));
    user.presses(Modifiers::NONE, Key::E);
    user.acts(|window| window.harness.get_by_label("Search examples").type_text("bottleneck"));
    user.clicks("Example: With attention");
    let session = user.window.app().session();
    let models = session.panes.iter().map(|pane| session.document_of(pane).model.latest().unwrap().spec.name.clone());
    assert_eq!(models.collect::<Vec<_>>(), ["demo:classic", "demo:bottleneck"]);
}

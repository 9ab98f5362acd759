//! A field that is shown to be typed in has the cursor when it appears, and while a field has it no single key does
//! anything else.

use attnscope::{
    ids::{HeadId, PaneId},
    session::{Command, CorpusCommand, CorpusDialog, SelectionCommand, SessionCommand, ViewKind},
    ui::commands::UiCommand,
};
use eframe::egui::{Event, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

/// What shows a field, and the field's name.
type Way = (fn(&mut Window), &'static str);

const WAYS: [Way; 12] = [
    (|window| window.press(Modifiers::COMMAND, Key::K), "Go to anything"),
    (|window| window.press(Modifiers::NONE, Key::Slash), "Find token"),
    (
        |window| {
            window.show(ViewKind::Scatter);
            window.press(Modifiers::NONE, Key::Slash);
        },
        "Search in query–key maps",
    ),
    (|window| window.click("Add second sentence"), "Second sentence"),
    (|window| window.press(Modifiers::COMMAND, Key::N), "Text"),
    (|window| window.press(Modifiers::NONE, Key::E), "Search examples"),
    (|window| window.press(Modifiers::NONE, Key::Questionmark), "Search help"),
    (
        |window| {
            asks(window, Command::ShowMethod("attribution-patching"));
            window.harness.get_by_label_contains("ttribution patching: options").click();
            window.settle();
        },
        "Other text",
    ),
    (
        |window| {
            asks(window, Command::Select(SelectionCommand::ShowView(ViewKind::Lab)));
            window.harness.query_all_by_role(Role::ComboBox).find(|it| names(it, "Explained outcome")).unwrap().click();
            window.settle();
        },
        "Any token",
    ),
    (|window| window.press(Modifiers::COMMAND, Key::O), "Folder, file or hub id"),
    (|window| asks(window, Command::Corpus(CorpusCommand::Ask(Some(CorpusDialog::Paste)))), "Lines"),
    (
        |window| {
            window.desktop.0.borrow_mut().lacks_dialogs = true;
            asks(window, Command::Session(SessionCommand::Save));
            // The desktop answers on a thread of its own.
            window.until("the sheet", |window| window.shows("Path"));
            window.settle();
        },
        "Path",
    ),
];

fn asks(window: &mut Window, command: Command) {
    window.app().request(command);
    window.settle();
}

fn names(node: &egui_kittest::Node<'_>, name: &str) -> bool {
    node.accesskit_node().label().is_some_and(|label| label.contains(name))
}

/// What single keys change.
fn looked_at(window: &Window) -> (usize, PaneId, bool, ViewKind, HeadId) {
    let session = window.app().session();
    let pane = session.pane();
    (session.panes.len(), pane.id, pane.linked, pane.view, pane.selection.head)
}

#[test]
fn a_field_that_is_shown_to_be_typed_in_has_the_cursor_and_its_keys() {
    for (show, name) in WAYS {
        let mut window = Window::open(with_text("one two three"));
        show(&mut window);
        let focused = window.harness.query_all_by_label(name).any(|field| field.is_focused());
        assert!(focused, "{name}: the field has the cursor");
        let before = looked_at(&window);
        for command in UiCommand::all() {
            let Some(shortcut) = command.shortcut().filter(|it| it.modifiers == Modifiers::NONE) else { continue };
            let is_letter = shortcut.logical_key.name().len() == 1;
            if is_letter {
                window.harness.event(Event::Text(shortcut.logical_key.name().to_lowercase()));
                window.harness.key_press(shortcut.logical_key);
                window.harness.run_steps(2);
                assert_eq!(looked_at(&window), before, "{name}: {} was typed", shortcut.logical_key.name());
            }
        }
        let focused = window.harness.query_all_by_label(name).any(|field| field.is_focused());
        assert!(focused, "{name}: the field keeps the cursor");
    }
}

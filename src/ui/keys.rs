//! The keys of the commands: which one does what, and when it counts.

use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};

use super::commands::UiCommand;

/// When a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Always, also while a text field has the cursor.
    Anywhere,
    /// Unless a text field has the cursor.
    NotInText,
    /// Only while nothing that takes keys has the focus.
    NotTyping,
    /// As before, and no dialog is open, whose main button it presses.
    NotInDialog,
}

impl UiCommand {
    /// The key that does it, if any.
    pub fn shortcut(self) -> Option<KeyboardShortcut> {
        const fn plain(key: Key) -> KeyboardShortcut {
            KeyboardShortcut::new(Modifiers::NONE, key)
        }
        const fn command(key: Key) -> KeyboardShortcut {
            KeyboardShortcut::new(Modifiers::COMMAND, key)
        }
        const fn command_shift(key: Key) -> KeyboardShortcut {
            KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
        }
        const fn shift(key: Key) -> KeyboardShortcut {
            KeyboardShortcut::new(Modifiers::SHIFT, key)
        }
        const fn alt(key: Key) -> KeyboardShortcut {
            KeyboardShortcut::new(Modifiers::ALT, key)
        }
        Some(match self {
            Self::ShowGroup(group) => plain(Key::from_name(group.key().encode_utf8(&mut [0; 4]))?),
            Self::Views => plain(Key::G),
            Self::Open => command(Key::O),
            Self::OpenFile => command_shift(Key::O),
            Self::Run => command(Key::Enter),
            Self::NextHead => plain(Key::ArrowRight),
            Self::PreviousHead => plain(Key::ArrowLeft),
            Self::NextLayer => plain(Key::ArrowDown),
            Self::PreviousLayer => plain(Key::ArrowUp),
            Self::PreviousInput => command(Key::PageUp),
            Self::NextInput => command(Key::PageDown),
            Self::OpenHead => plain(Key::Enter),
            Self::CompareHead => shift(Key::Enter),
            Self::NextStack => plain(Key::S),
            Self::NextQuery => shift(Key::ArrowRight),
            Self::PreviousQuery => shift(Key::ArrowLeft),
            Self::Release => plain(Key::Escape),
            Self::Back => alt(Key::ArrowLeft),
            Self::Forward => alt(Key::ArrowRight),
            Self::Flip => plain(Key::F),
            Self::Undo => command(Key::Z),
            Self::Redo => command_shift(Key::Z),
            Self::SplitRight => command(Key::Backslash),
            Self::SplitBelow => command_shift(Key::Backslash),
            Self::CompareInput => command(Key::N),
            Self::ClosePane => command(Key::W),
            Self::NextPane => plain(Key::W),
            Self::ToggleLink => plain(Key::L),
            Self::FindToken => plain(Key::Slash),
            Self::ExportView => command(Key::E),
            Self::SaveView => command_shift(Key::E),
            Self::ExportWindow => plain(Key::F12),
            Self::NewWindow => command_shift(Key::N),
            Self::SaveSession => command(Key::S),
            Self::SaveSessionAs => command_shift(Key::S),
            Self::AddBookmark => command(Key::B),
            Self::Bookmarks => plain(Key::B),
            Self::CopyAddress => command_shift(Key::L),
            Self::CopyView => command_shift(Key::C),
            Self::ZoomIn => command(Key::Plus),
            Self::ZoomOut => command(Key::Minus),
            Self::ZoomReset => command(Key::Num0),
            Self::ToggleLeft => plain(Key::OpenBracket),
            Self::ToggleInspector => plain(Key::CloseBracket),
            Self::Gallery => plain(Key::E),
            Self::PreviousExample => plain(Key::PageUp),
            Self::NextExample => plain(Key::PageDown),
            Self::Help => plain(Key::Questionmark),
            Self::Palette => command(Key::K),
            Self::Show(_)
            | Self::ViewsOf(_)
            | Self::TypeText
            | Self::HelpOn(_)
            | Self::ShowOption(..)
            | Self::Cancel
            | Self::AllHeads
            | Self::Detach
            | Self::OpenFolder
            | Self::NewSession
            | Self::OpenSession
            | Self::Numbers
            | Self::NumbersOfHead
            | Self::MeasureTimes
            | Self::FitLens
            | Self::Lecture
            | Self::LeaveLecture
            | Self::ToggleTheme => return None,
        })
    }

    /// The tooltip with the key behind it.
    pub fn tooltip_with_key(self, ctx: &egui::Context) -> String {
        self.shortcut().map_or_else(
            || self.tooltip().to_owned(),
            |shortcut| format!("{} ({})", self.tooltip(), keys_text(ctx, &shortcut)),
        )
    }

    /// A plus that some keyboards have above the equals sign.
    fn consumes_other_key(self, input: &mut egui::InputState) -> bool {
        self == Self::ZoomIn && input.consume_key(Modifiers::COMMAND, Key::Equals)
    }

    fn scope(self) -> Scope {
        if matches!(self, Self::Undo | Self::Redo) {
            // A text field undoes its own changes.
            return Scope::NotInText;
        }
        if matches!(self, Self::OpenHead | Self::CompareHead) {
            return Scope::NotInDialog;
        }
        // Without Ctrl a key types, moves the cursor or marks text.
        let types = self.shortcut().is_some_and(|shortcut| !shortcut.modifiers.command);
        if types { Scope::NotTyping } else { Scope::Anywhere }
    }

    /// The commands whose keys were pressed in this frame, taken out of the input.
    ///
    /// Longer shortcuts are asked first, because egui takes Ctrl+Shift+O for Ctrl+O, too.
    pub fn pressed(ctx: &egui::Context) -> Vec<Self> {
        // A menu has the keys that move within it.
        let in_menu = egui::Popup::is_any_open(ctx);
        let in_text = ctx.text_edit_focused();
        let counts = |scope| match scope {
            Scope::Anywhere => true,
            Scope::NotInText => !in_text && !in_menu,
            Scope::NotTyping => !ctx.egui_wants_keyboard_input() && !in_menu,
            Scope::NotInDialog => {
                let in_dialog = ctx.memory(|memory| memory.top_modal_layer().is_some());
                !ctx.egui_wants_keyboard_input() && !in_menu && !in_dialog
            }
        };
        // What is open on top is closed first, and nothing else.
        if egui::Popup::is_any_open(ctx) && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
            egui::Popup::close_all(ctx);
        }
        let mut by_length: Vec<_> =
            Self::all().filter(|it| counts(it.scope())).filter_map(|it| Some((it, it.shortcut()?))).collect();
        by_length.sort_by_key(|(_, shortcut)| !(shortcut.modifiers.shift || shortcut.modifiers.alt));
        ctx.input_mut(|input| {
            by_length
                .into_iter()
                .filter(|(it, shortcut)| input.consume_shortcut(shortcut) || it.consumes_other_key(input))
                .map(|(it, _)| it)
                .collect()
        })
    }
}

/// The keys as they are printed on the keyboard.
pub fn keys_text(ctx: &egui::Context, shortcut: &KeyboardShortcut) -> String {
    ctx.format_shortcut(shortcut)
        .replace("OpenBracket", "[")
        .replace("CloseBracket", "]")
        .replace("Backslash", "\\")
        .replace("Slash", "/")
        .replace("Questionmark", "?")
        .replace("Escape", "Esc")
        .replace("Plus", "+")
        .replace("Minus", "−")
}

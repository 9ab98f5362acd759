//! The one table of what the window can do from a button or a key: text, tooltip, shortcut.
//!
//! Buttons, keys and the shortcut sheet all read it, so they cannot disagree.

use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};

use crate::session::{
    Appearance, Command, DownloadCommand, FigureCommand, FilePurpose, HeadStep, QueryStep, Split, ViewKind,
};

/// Something a button or a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UiCommand {
    /// Show a view.
    Show(ViewKind),
    /// Choose a model folder.
    OpenModel,
    /// Download a model from the hub.
    DownloadModel,
    /// Choose a picture, text or capture.
    OpenFile,
    /// Run now instead of after a pause.
    Run,
    /// Stop what is running.
    Cancel,
    /// One head to the right.
    NextHead,
    /// One head to the left.
    PreviousHead,
    /// One layer down.
    NextLayer,
    /// One layer up.
    PreviousLayer,
    /// The next stack of the model.
    NextStack,
    /// One query token on.
    NextQuery,
    /// One query token back.
    PreviousQuery,
    /// Let go of the pinned token.
    Release,
    /// The input before, of a capture file with several.
    PreviousInput,
    /// The next input of a capture file with several.
    NextInput,
    /// To the selection before.
    Back,
    /// To the selection after.
    Forward,
    /// To the other of the last two places.
    Flip,
    /// To the experiment before.
    Undo,
    /// To the experiment after.
    Redo,
    /// Another pane to the right.
    SplitRight,
    /// Another pane below.
    SplitBelow,
    /// Another pane with a document of its own.
    CompareInput,
    /// Close the active pane.
    ClosePane,
    /// Another pane becomes the active one.
    NextPane,
    /// Follow the other panes, or not.
    ToggleLink,
    /// A document of its own for the active pane.
    Detach,
    /// Put the cursor into the token search.
    FindToken,
    /// Save the figure, or its numbers.
    ExportView,
    /// Save a picture of the window.
    ExportWindow,
    /// Put the figure on the clipboard.
    CopyView,
    /// Light or dark.
    ToggleTheme,
    /// Show or hide the strip of examples.
    ToggleExamples,
    /// Show or hide all examples.
    Gallery,
    /// The example before, in the order of the gallery.
    PreviousExample,
    /// The next example.
    NextExample,
    /// Show or hide the shortcuts.
    Shortcuts,
}

/// When a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Always, also while a text field has the cursor.
    Anywhere,
    /// Only while nothing that takes keys has the focus.
    NotTyping,
}

impl UiCommand {
    /// Every command, in the order of the shortcut sheet.
    pub const ALL: [Self; 42] = [
        Self::Show(ViewKind::Heads),
        Self::Show(ViewKind::Heatmap),
        Self::Show(ViewKind::Image),
        Self::Show(ViewKind::Scatter),
        Self::Show(ViewKind::Matrix),
        Self::PreviousHead,
        Self::NextHead,
        Self::PreviousLayer,
        Self::NextLayer,
        Self::PreviousInput,
        Self::NextInput,
        Self::NextStack,
        Self::PreviousQuery,
        Self::NextQuery,
        Self::Release,
        Self::Back,
        Self::Forward,
        Self::Flip,
        Self::Undo,
        Self::Redo,
        Self::SplitRight,
        Self::SplitBelow,
        Self::CompareInput,
        Self::ClosePane,
        Self::NextPane,
        Self::ToggleLink,
        Self::Detach,
        Self::FindToken,
        Self::OpenModel,
        Self::DownloadModel,
        Self::OpenFile,
        Self::Run,
        Self::Cancel,
        Self::ExportView,
        Self::ExportWindow,
        Self::CopyView,
        Self::ToggleTheme,
        Self::ToggleExamples,
        Self::Gallery,
        Self::PreviousExample,
        Self::NextExample,
        Self::Shortcuts,
    ];

    /// What the button says. `…` means that a dialog follows.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Show(view) => view.label(),
            Self::OpenModel => "Open model…",
            Self::DownloadModel => "Download…",
            Self::OpenFile => "Open file…",
            Self::Run => "Run",
            Self::Cancel => "Cancel",
            Self::NextHead => "Next head",
            Self::PreviousHead => "Previous head",
            Self::NextLayer => "Next layer",
            Self::PreviousLayer => "Previous layer",
            Self::PreviousInput => "Previous input",
            Self::NextInput => "Next input",
            Self::NextStack => "Next stack",
            Self::NextQuery => "Next token",
            Self::PreviousQuery => "Previous token",
            Self::Release => "Release",
            Self::Back => "Back",
            Self::Forward => "Forward",
            Self::Flip => "Flip",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::SplitRight => "Another head beside it",
            Self::SplitBelow => "Another head below it",
            Self::CompareInput => "Another input or model",
            Self::ClosePane => "Close pane",
            Self::NextPane => "Next pane",
            Self::ToggleLink => "Link pane",
            Self::Detach => "Own copy for this pane",
            Self::FindToken => "Find token",
            Self::ExportView => "Export…",
            Self::ExportWindow => "Save screenshot…",
            Self::CopyView => "Copy figure",
            Self::ToggleTheme => "Light or dark",
            Self::ToggleExamples => "Examples",
            Self::Gallery => "All examples…",
            Self::PreviousExample => "Previous example",
            Self::NextExample => "Next example",
            Self::Shortcuts => "Shortcuts",
        }
    }

    /// What it does, in a few words.
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Show(ViewKind::Heads) => "Attention as lines between two columns of tokens",
            Self::Show(ViewKind::Heatmap) => "One head as a matrix of colours",
            Self::Show(ViewKind::Image) => "Attention on the picture",
            Self::Show(ViewKind::Scatter) => "One head’s queries and keys in one plane",
            Self::Show(ViewKind::Matrix) => "Every head’s queries and keys in one plane each",
            Self::OpenModel => "Choose a folder with config.json and the weights",
            Self::DownloadModel => "Fetch a model from the Hugging Face hub, or open one of its cache",
            Self::OpenFile => "Choose a picture, a text, a checkpoint or a capture",
            Self::Run => "Run the model on the input now",
            Self::Cancel => "Stop what is running and keep the last result",
            Self::NextHead => "Select the next head of the layer",
            Self::PreviousHead => "Select the previous head of the layer",
            Self::NextLayer => "Select the same head one layer further",
            Self::PreviousLayer => "Select the same head one layer before",
            Self::PreviousInput => "Show the input before, of a capture file with several",
            Self::NextInput => "Show the next input of a capture file with several",
            Self::NextStack => "Show the next stack: encoder, decoder, cross, vision or text",
            Self::NextQuery => "Pin the query token after the pinned one",
            Self::PreviousQuery => "Pin the query token before the pinned one",
            Self::Release => "Let go of the pinned token",
            Self::Back => "Back to the selection before",
            Self::Forward => "Forward to the selection after",
            Self::Flip => "To the other of the last two places, and back",
            Self::Undo => "Back to the input, target, model and options that were run before",
            Self::Redo => "Forward to what was undone",
            Self::SplitRight => "Show the same a second time, to the right",
            Self::SplitBelow => "Show the same a second time, below",
            Self::CompareInput => "A copy beside it that can get another input or another model",
            Self::ClosePane => "Close the active pane",
            Self::NextPane => "Make the next pane the active one",
            Self::ToggleLink => "Let the active pane follow the others, or not",
            Self::Detach => "A copy that can get another input or another model, to compare the two",
            Self::FindToken => "Find a token by its text and pin it",
            Self::ExportView => "Save the figure of the active pane as SVG, PDF or PNG, or its numbers",
            Self::ExportWindow => "Save a picture of the whole window as PNG",
            Self::CopyView => "Put the figure of the active pane on the clipboard as a picture",
            Self::ToggleTheme => "Switch between the light and the dark appearance",
            Self::ToggleExamples => "Show or hide the strip of examples",
            Self::Gallery => "Choose among all examples",
            Self::PreviousExample => "Open the example before",
            Self::NextExample => "Open the next example",
            Self::Shortcuts => "Show what the keys do",
        }
    }

    /// The key that does it, if any.
    pub const fn shortcut(self) -> Option<KeyboardShortcut> {
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
            Self::Show(ViewKind::Heads) => plain(Key::Num1),
            Self::Show(ViewKind::Heatmap) => plain(Key::Num2),
            Self::Show(ViewKind::Image) => plain(Key::Num3),
            Self::Show(ViewKind::Scatter) => plain(Key::Num4),
            Self::Show(ViewKind::Matrix) => plain(Key::Num5),
            Self::OpenModel => command(Key::O),
            Self::DownloadModel => command(Key::D),
            Self::OpenFile => command_shift(Key::O),
            Self::Run => command(Key::Enter),
            Self::NextHead => plain(Key::ArrowRight),
            Self::PreviousHead => plain(Key::ArrowLeft),
            Self::NextLayer => plain(Key::ArrowDown),
            Self::PreviousLayer => plain(Key::ArrowUp),
            Self::PreviousInput => command(Key::PageUp),
            Self::NextInput => command(Key::PageDown),
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
            Self::ExportWindow => command_shift(Key::S),
            Self::CopyView => command_shift(Key::C),
            Self::Gallery => plain(Key::E),
            Self::PreviousExample => plain(Key::PageUp),
            Self::NextExample => plain(Key::PageDown),
            Self::Shortcuts => plain(Key::Questionmark),
            Self::Cancel | Self::Detach | Self::ToggleTheme | Self::ToggleExamples => return None,
        })
    }

    /// The tooltip with the key behind it.
    pub fn tooltip_with_key(self, ctx: &egui::Context) -> String {
        self.shortcut().map_or_else(
            || self.tooltip().to_owned(),
            |shortcut| format!("{} ({})", self.tooltip(), keys_text(ctx, &shortcut)),
        )
    }

    /// What the session is asked to do; `None` where only the window changes.
    pub const fn command(self) -> Option<Command> {
        Some(match self {
            Self::Show(view) => Command::ShowView(view),
            Self::OpenModel => Command::Pick(FilePurpose::ModelFolder),
            Self::DownloadModel => Command::Download(DownloadCommand::Open),
            Self::OpenFile => Command::Pick(FilePurpose::InputFile),
            Self::Run => Command::Run,
            Self::NextHead => Command::Step(HeadStep::NextHead),
            Self::PreviousHead => Command::Step(HeadStep::PreviousHead),
            Self::NextLayer => Command::Step(HeadStep::NextLayer),
            Self::PreviousLayer => Command::Step(HeadStep::PreviousLayer),
            Self::PreviousInput => Command::PreviousInput,
            Self::NextInput => Command::NextInput,
            Self::NextStack => Command::NextStack,
            Self::NextQuery => Command::StepQuery(QueryStep::Next),
            Self::PreviousQuery => Command::StepQuery(QueryStep::Previous),
            Self::Release => Command::Release,
            Self::Back => Command::Back,
            Self::Forward => Command::Forward,
            Self::Flip => Command::Flip,
            Self::Undo => Command::Undo,
            Self::Redo => Command::Redo,
            Self::SplitRight => Command::SplitPane(Split::Right),
            Self::SplitBelow => Command::SplitPane(Split::Below),
            Self::CompareInput => Command::CompareInput,
            Self::ClosePane => Command::ClosePane,
            Self::NextPane => Command::NextPane,
            Self::ToggleLink => Command::ToggleLink,
            Self::Detach => Command::Detach,
            Self::ExportView => Command::Figure(FigureCommand::Open),
            Self::ExportWindow => Command::SaveScreenshot,
            Self::CopyView => Command::Figure(FigureCommand::CopyPng),
            Self::PreviousExample => Command::PreviousExample,
            Self::NextExample => Command::NextExample,
            Self::Cancel
            | Self::FindToken
            | Self::ToggleTheme
            | Self::ToggleExamples
            | Self::Gallery
            | Self::Shortcuts => {
                return None;
            }
        })
    }

    fn scope(self) -> Scope {
        match self.shortcut() {
            // A text field undoes its own changes.
            _ if matches!(self, Self::Undo | Self::Redo) => Scope::NotTyping,
            // Without Ctrl a key types, moves the cursor or marks text.
            Some(shortcut) if !shortcut.modifiers.command => Scope::NotTyping,
            _ => Scope::Anywhere,
        }
    }

    /// The commands whose keys were pressed in this frame, taken out of the input.
    ///
    /// Longer shortcuts are asked first, because egui takes Ctrl+Shift+O for Ctrl+O, too.
    pub fn pressed(ctx: &egui::Context) -> Vec<Self> {
        let typing = ctx.egui_wants_keyboard_input();
        let mut by_length: Vec<_> = Self::ALL.into_iter().filter_map(|it| Some((it, it.shortcut()?))).collect();
        by_length.sort_by_key(|(_, shortcut)| !(shortcut.modifiers.shift || shortcut.modifiers.alt));
        ctx.input_mut(|input| {
            by_length
                .into_iter()
                .filter(|(it, _)| !typing || it.scope() == Scope::Anywhere)
                .filter_map(|(it, shortcut)| input.consume_shortcut(&shortcut).then_some(it))
                .collect()
        })
    }
}

/// The appearance after a click on the toggle.
pub const fn other_appearance(dark_now: bool) -> Appearance {
    if dark_now { Appearance::Light } else { Appearance::Dark }
}

/// The keys as they are printed on the keyboard.
pub fn keys_text(ctx: &egui::Context, shortcut: &KeyboardShortcut) -> String {
    ctx.format_shortcut(shortcut)
        .replace("Backslash", "\\")
        .replace("Slash", "/")
        .replace("Questionmark", "?")
        .replace("Escape", "Esc")
}

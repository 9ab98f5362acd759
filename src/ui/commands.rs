//! The one table of what the window can do from a button or a key: text, tooltip, and in `keys` the shortcut.
//!
//! Buttons, keys and the shortcut sheet all read it, so they cannot disagree.

use crate::session::{
    Anew, Appearance, BookmarkCommand, Command, DownloadCommand, FigureCommand, FilePurpose, HeadStep, QueryStep,
    SessionCommand, Split, ViewKind,
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
    /// Choose how the figure, or its numbers, are saved.
    ExportView,
    /// Save the figure, or its numbers, as last time.
    SaveView,
    /// Save a picture of the window.
    ExportWindow,
    /// Open another window.
    NewWindow,
    /// Close everything that is shown.
    NewSession,
    /// Save the session to its file.
    SaveSession,
    /// Save the session to another file.
    SaveSessionAs,
    /// Choose a session file.
    OpenSession,
    /// Remember where the active pane is.
    AddBookmark,
    /// Show or hide bookmarks and notes.
    Bookmarks,
    /// Put the address of what is shown on the clipboard.
    CopyAddress,
    /// Put the figure on the clipboard.
    CopyView,
    /// Light or dark.
    ToggleTheme,
    /// Everything larger.
    ZoomIn,
    /// Everything smaller.
    ZoomOut,
    /// Everything as large as at first.
    ZoomReset,
    /// Show or hide the strip of examples.
    ToggleExamples,
    /// Show or hide the panel on the left.
    ToggleLeft,
    /// Show or hide the panel on the right.
    ToggleInspector,
    /// Show or hide all examples.
    Gallery,
    /// The example before, in the order of the gallery.
    PreviousExample,
    /// The next example.
    NextExample,
    /// Show or hide the shortcuts.
    Shortcuts,
    /// Find and do anything by its name.
    Palette,
}

impl UiCommand {
    /// Every command, in the order of the shortcut sheet.
    pub const ALL: [Self; 60] = [
        Self::Show(ViewKind::Heads),
        Self::Show(ViewKind::Heatmap),
        Self::Show(ViewKind::Image),
        Self::Show(ViewKind::Scatter),
        Self::Show(ViewKind::Matrix),
        Self::Show(ViewKind::Distance),
        Self::Show(ViewKind::Average),
        Self::Show(ViewKind::Lab),
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
        Self::SaveView,
        Self::ExportWindow,
        Self::CopyView,
        Self::NewWindow,
        Self::NewSession,
        Self::SaveSession,
        Self::SaveSessionAs,
        Self::OpenSession,
        Self::AddBookmark,
        Self::Bookmarks,
        Self::CopyAddress,
        Self::ToggleTheme,
        Self::ZoomIn,
        Self::ZoomOut,
        Self::ZoomReset,
        Self::ToggleLeft,
        Self::ToggleInspector,
        Self::ToggleExamples,
        Self::Gallery,
        Self::PreviousExample,
        Self::NextExample,
        Self::Shortcuts,
        Self::Palette,
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
            Self::SaveView => "Save figure…",
            Self::ExportWindow => "Save screenshot…",
            Self::CopyView => "Copy figure",
            Self::NewWindow => "New window",
            Self::NewSession => "New session",
            Self::SaveSession => "Save session",
            Self::SaveSessionAs => "Save session as…",
            Self::OpenSession => "Open session…",
            Self::AddBookmark => "Add bookmark",
            Self::Bookmarks => "Bookmarks and notes…",
            Self::CopyAddress => "Copy address",
            Self::ToggleTheme => "Light or dark",
            Self::ZoomIn => "Larger",
            Self::ZoomOut => "Smaller",
            Self::ZoomReset => "Normal size",
            Self::ToggleLeft => "Model and input",
            Self::ToggleInspector => "Numbers and options",
            Self::ToggleExamples => "Examples",
            Self::Gallery => "All examples…",
            Self::PreviousExample => "Previous example",
            Self::NextExample => "Next example",
            Self::Shortcuts => "Shortcuts",
            Self::Palette => "Go to anything",
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
            Self::Show(ViewKind::Lab) => "What a prediction depends on, and whether methods agree",
            Self::Show(ViewKind::Average) => "A head’s mean attention over all inputs, by position and by distance",
            Self::Show(ViewKind::Distance) => "How well distance stands for the dot product, head by head",
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
            Self::SaveView => "Save the figure of the active pane as last time; SVG the first time",
            Self::ExportWindow => "Save a picture of the whole window as PNG",
            Self::CopyView => "Put the figure of the active pane on the clipboard as a picture",
            Self::NewWindow => "Start the program a second time, with a session of its own",
            Self::NewSession => "Close everything that is shown; it can be had again",
            Self::SaveSession => "Save models, inputs, changes and panes as a file that opens them again",
            Self::SaveSessionAs => "Save the session under another name",
            Self::OpenSession => "Open a session file instead of what is shown",
            Self::AddBookmark => "Remember model, input, view and head of the active pane under a name",
            Self::Bookmarks => "Go to a bookmark, and write down what was seen",
            Self::CopyAddress => "Put a text on the clipboard that `attnscope open` shows as this place",
            Self::ToggleTheme => "Switch between the light and the dark appearance",
            Self::ZoomIn => "Show text and controls larger, up to 300 %",
            Self::ZoomOut => "Show text and controls smaller, down to 50 %",
            Self::ZoomReset => "Show text and controls at 100 %",
            Self::ToggleLeft => "Show or hide the panel with model, input and tokens",
            Self::ToggleInspector => "Show or hide the panel with numbers and options",
            Self::ToggleExamples => "Show or hide the strip of examples",
            Self::Gallery => "Choose among all examples",
            Self::PreviousExample => "Open the example before",
            Self::NextExample => "Open the next example",
            Self::Shortcuts => "Show what the keys do",
            Self::Palette => "Find a command, model, example, head or token by its name, and do it or go there",
        }
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
            Self::SaveView => Command::Figure(FigureCommand::Save),
            Self::ExportWindow => Command::SaveScreenshot,
            Self::CopyView => Command::Figure(FigureCommand::CopyPng),
            Self::NewSession => Command::Session(SessionCommand::New(Anew::Ask)),
            Self::SaveSession => Command::Session(SessionCommand::Save),
            Self::SaveSessionAs => Command::Session(SessionCommand::SaveAs),
            Self::OpenSession => Command::Pick(FilePurpose::SessionFile),
            Self::AddBookmark => Command::Session(SessionCommand::Bookmark(BookmarkCommand::Add)),
            Self::CopyAddress => Command::Session(SessionCommand::CopyAddress),
            Self::PreviousExample => Command::PreviousExample,
            Self::NextExample => Command::NextExample,
            Self::Cancel
            | Self::FindToken
            | Self::NewWindow
            | Self::ToggleTheme
            | Self::ZoomIn
            | Self::ZoomOut
            | Self::ZoomReset
            | Self::ToggleLeft
            | Self::ToggleInspector
            | Self::ToggleExamples
            | Self::Bookmarks
            | Self::Gallery
            | Self::Shortcuts
            | Self::Palette => {
                return None;
            }
        })
    }
}

/// The appearance after a click on the toggle.
pub const fn other_appearance(dark_now: bool) -> Appearance {
    if dark_now { Appearance::Light } else { Appearance::Dark }
}

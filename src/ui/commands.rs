//! The one table of what the window can do from a button or a key: text, tooltip, and in `keys` the shortcut.
//!
//! Buttons, keys and the help sheet all read it, so they cannot disagree.

use crate::session::{
    Anew, Appearance, BookmarkCommand, Command, DownloadCommand, FigureCommand, FilePurpose, HeadStep, LectureCommand,
    NumbersCommand, PaneCommand, QueryStep, SelectionCommand, SessionCommand, Split, ViewGroup, ViewKind,
};

/// Something a button or a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UiCommand {
    Show(ViewKind),
    /// Show the views of a group, one after the other.
    ShowGroup(ViewGroup),
    /// Show or hide all views.
    Views,
    /// Show or hide the views of a group.
    ViewsOf(ViewGroup),
    /// Open a model, a file or a folder by its name or path.
    Open,
    /// Choose a folder.
    OpenFolder,
    /// Choose a picture, text or capture.
    OpenFile,
    /// Put the cursor into the text.
    TypeText,
    /// Run now instead of after a pause.
    Run,
    Cancel,
    NextHead,
    PreviousHead,
    NextLayer,
    PreviousLayer,
    AllHeads,
    /// Show the selected head of all heads.
    OpenHead,
    /// The same in a pane beside them.
    CompareHead,
    /// The next stack of the model.
    NextStack,
    NextQuery,
    PreviousQuery,
    /// Let go of the pinned token.
    Release,
    /// The input before, of a capture file with several.
    PreviousInput,
    /// The next input of a capture file with several.
    NextInput,
    Back,
    Forward,
    /// To the other of the last two places.
    Flip,
    /// To the experiment before.
    Undo,
    Redo,
    /// Another pane to the right.
    SplitRight,
    SplitBelow,
    /// Another pane with a document of its own.
    CompareInput,
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
    NewWindow,
    /// Close everything that is shown.
    NewSession,
    /// Save the session to its file.
    SaveSession,
    /// Save the session to another file.
    SaveSessionAs,
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
    ZoomIn,
    ZoomOut,
    /// Everything as large as at first.
    ZoomReset,
    /// Show or hide the panel on the left.
    ToggleLeft,
    /// Show or hide the panel on the right.
    ToggleInspector,
    /// Show or hide all examples.
    Gallery,
    /// The example before, in the order of the gallery, or the stop before.
    PreviousExample,
    NextExample,
    /// Show numbers that are typed.
    Numbers,
    /// Type queries, keys and values of the selected head.
    NumbersOfHead,
    /// Measure times of the model by the length of its input.
    MeasureTimes,
    /// Fit a Jacobian lens over the corpus.
    FitLens,
    /// Go on with the lecture.
    Lecture,
    /// Go on without it.
    LeaveLecture,
    /// Show or hide keys, glossary and version.
    Help,
    /// Look for this in the help.
    HelpOn(&'static str),
    /// Show an option of a view, by its name.
    ShowOption(ViewKind, &'static str),
    /// Find and do anything by its name.
    Palette,
}

impl UiCommand {
    /// Every command, in the order of the shortcut sheet.
    pub fn all() -> impl Iterator<Item = Self> {
        let groups = ViewGroup::ALL.into_iter().map(Self::ShowGroup);
        groups.chain(ViewKind::ALL.into_iter().map(Self::Show)).chain(Self::OTHERS)
    }

    const OTHERS: [Self; 62] = [
        Self::Views,
        Self::PreviousHead,
        Self::NextHead,
        Self::PreviousLayer,
        Self::NextLayer,
        Self::PreviousInput,
        Self::NextInput,
        Self::AllHeads,
        Self::OpenHead,
        Self::CompareHead,
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
        Self::Open,
        Self::OpenFolder,
        Self::OpenFile,
        Self::TypeText,
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
        Self::Gallery,
        Self::PreviousExample,
        Self::NextExample,
        Self::Numbers,
        Self::NumbersOfHead,
        Self::MeasureTimes,
        Self::FitLens,
        Self::Lecture,
        Self::LeaveLecture,
        Self::Help,
        Self::Palette,
    ];

    /// What the button says. `…` means that a dialog follows.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Show(view) => view.label(),
            Self::ShowGroup(group) | Self::ViewsOf(group) => group.label(),
            Self::Views => "All views…",
            Self::Open => "Open…",
            Self::OpenFolder => "Open folder…",
            Self::OpenFile => "Open file…",
            Self::TypeText => "Type a text",
            Self::Run => "Run",
            Self::Cancel => "Cancel",
            Self::NextHead => "Next head",
            Self::PreviousHead => "Previous head",
            Self::NextLayer => "Next layer",
            Self::PreviousLayer => "Previous layer",
            Self::PreviousInput => "Previous input",
            Self::NextInput => "Next input",
            Self::AllHeads => "All heads of the layer",
            Self::OpenHead => "Open the selected head",
            Self::CompareHead => "Open the selected head beside",
            Self::NextStack => "Next stack",
            Self::NextQuery => "Next token",
            Self::PreviousQuery => "Previous token",
            Self::Release => "Unpin",
            Self::Back => "Back",
            Self::Forward => "Forward",
            Self::Flip => "Swap with previous view",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::SplitRight => "Split right",
            Self::SplitBelow => "Split below",
            Self::CompareInput => "Split with another input or model",
            Self::ClosePane => "Close pane",
            Self::NextPane => "Next pane",
            Self::ToggleLink => "Link or unlink pane",
            Self::Detach => "Give this pane its own input",
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
            Self::CopyAddress => "Copy link to this view",
            Self::ToggleTheme => "Light or dark",
            Self::ZoomIn => "Larger",
            Self::ZoomOut => "Smaller",
            Self::ZoomReset => "Normal size",
            Self::ToggleLeft => "Model and input",
            Self::ToggleInspector => "Numbers and options",
            Self::Gallery => "Examples…",
            Self::PreviousExample => "Previous example",
            Self::NextExample => "Next example",
            Self::Numbers => "Numbers by hand",
            Self::NumbersOfHead => "This head by hand",
            Self::MeasureTimes => "Measure time by length",
            Self::FitLens => "Fit a Jacobian lens over the corpus…",
            Self::Lecture => "Lecture",
            Self::LeaveLecture => "Leave the lecture",
            Self::Help | Self::HelpOn(_) => "Help",
            Self::ShowOption(..) => "Option",
            Self::Palette => "Search…",
        }
    }

    /// What it does, in a few words.
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Show(view) => view.spec().help,
            Self::ShowGroup(group) | Self::ViewsOf(group) => group.question(),
            Self::Views => "Choose from all views, as pictures of this model and input",
            Self::Open => "Open a model, a picture, a text, a corpus or a capture, or download a model",
            Self::OpenFolder => "Choose a folder with config.json and the weights, or with pictures",
            Self::OpenFile => "Choose a picture, a text, a checkpoint or a capture",
            Self::TypeText => "Put the cursor into the text that the model reads",
            Self::Run => "Run the model on the input now",
            Self::Cancel => "Stop the running jobs and keep the last results",
            Self::NextHead => "Select the next head of the layer",
            Self::PreviousHead => "Select the previous head of the layer",
            Self::NextLayer => "Select the same head in the next layer",
            Self::PreviousLayer => "Select the same head in the previous layer",
            Self::PreviousInput => "Show the previous input of a capture file with several",
            Self::NextInput => "Show the next input of a capture file with several",
            Self::AllHeads => "Show all heads of the layer",
            Self::OpenHead => "Show the selected head of all heads as its cell does; Esc leads back",
            Self::CompareHead => "Show the selected head of all heads in a pane beside them, to compare it",
            Self::NextStack => "Show the next stack: encoder, decoder, cross, vision or text",
            Self::NextQuery => "Pin the next token as query",
            Self::PreviousQuery => "Pin the previous token as query",
            Self::Release => "Unpin the pinned tokens; without any, go back from a head to all heads",
            Self::Back => "Go back to the previous selection",
            Self::Forward => "Go forward to the next selection",
            Self::Flip => "Switch between the last two views",
            Self::Undo => "Undo the last change of input, target, model or panes",
            Self::Redo => "Redo the change that was undone",
            Self::SplitRight => "Show this view a second time, to the right",
            Self::SplitBelow => "Show this view a second time, below",
            Self::CompareInput => "Show a second pane whose input and model can differ from this one",
            Self::ClosePane => "Close the active pane",
            Self::NextPane => "Make the next pane the active one",
            Self::ToggleLink => {
                "Linked panes share the hovered and the pinned tokens, and step through heads \
                together"
            }
            Self::Detach => "Copy the run, so that input and model of this pane can differ from the others",
            Self::FindToken => "Find a token by its text and pin it",
            Self::ExportView => "Save the figure of the active pane as SVG, PDF or PNG, or its numbers",
            Self::SaveView => "Save the figure of the active pane with the last choices (SVG the first time)",
            Self::ExportWindow => "Save a picture of the whole window as PNG",
            Self::CopyView => "Copy the figure of the active pane to the clipboard as a picture",
            Self::NewWindow => "Open a second window with its own session",
            Self::NewSession => "Close everything and start again; Session › Recent sessions brings it back",
            Self::SaveSession => "Save models, inputs, changes and panes to a session file",
            Self::SaveSessionAs => "Save the session to another file",
            Self::OpenSession => "Open a session file in place of the current session",
            Self::AddBookmark => "Bookmark model, input, view and head of the active pane",
            Self::Bookmarks => "Go to a bookmark, or write notes",
            Self::CopyAddress => "Copy a link that reopens this view",
            Self::ToggleTheme => "Switch between light and dark colours",
            Self::ZoomIn => "Show text and controls larger, up to 300 %",
            Self::ZoomOut => "Show text and controls smaller, down to 50 %",
            Self::ZoomReset => "Show text and controls at 100 %",
            Self::ToggleLeft => "Show or hide the panel with model, input and tokens",
            Self::ToggleInspector => "Show or hide the panel with numbers and options",
            Self::Gallery => "Choose from all examples",
            Self::PreviousExample => "Open the previous example, or the previous stop of the lecture",
            Self::NextExample => "Open the next example, or the next stop of the lecture",
            Self::Numbers => "Type inputs and maps, or queries, keys and values, and see what attention makes of them",
            Self::NumbersOfHead => "Take queries, keys and values of the selected head, to change them by hand",
            Self::FitLens => {
                "Fit a linear map from each layer to the last over the open corpus, and read layers through it"
            }
            Self::MeasureTimes => {
                "Run the model on inputs of several lengths, a few seconds each, and fit a curve to the times"
            }
            Self::Lecture => "Walk through attention from 2014 on, stop by stop, from where the lecture was left",
            Self::LeaveLecture => "Keep what is shown, and the place in the lecture",
            Self::Help | Self::HelpOn(_) => "Keys, glossary, version and licence",
            Self::ShowOption(..) => "Show the option in its view",
            Self::Palette => "Find a command, model, example, head, token or glossary entry by its name",
        }
    }

    /// What people also call it, for whoever looks for it by another name.
    pub const fn synonyms(self) -> &'static [&'static str] {
        match self {
            Self::Show(view) => view.spec().synonyms,
            Self::Views => &["gallery of views", "tabs"],
            Self::Open => &["load model", "open model", "hugging face hub", "download model", "fetch model", "pull"],
            Self::OpenFolder => &["checkpoint", "weights", "model folder"],
            Self::OpenFile => &["load text", "load picture", "load capture", "image", "import"],
            Self::TypeText => &["edit text", "change input", "write"],
            Self::Run => &["forward pass", "compute", "evaluate"],
            Self::Cancel => &["stop", "abort", "interrupt"],
            Self::AllHeads => &["every head", "show heads"],
            Self::OpenHead => &["zoom into head", "enlarge head"],
            Self::CompareHead => &["compare heads", "second head"],
            Self::NextStack => &["encoder", "decoder", "cross attention"],
            Self::Release => &["clear selection", "deselect"],
            Self::SplitRight => &["side by side", "second pane"],
            Self::CompareInput => &["compare two inputs", "compare two models", "difference"],
            Self::ToggleLink => &["synchronise panes", "sync panes"],
            Self::FindToken => &["search token", "search text"],
            Self::ExportView => {
                &["save as svg", "save as pdf", "save as png", "save data", "csv", "json", "npz", "print"]
            }
            Self::SaveView => &["save image", "export figure"],
            Self::ExportWindow => &["capture window", "export picture of the window"],
            Self::CopyView => &["clipboard"],
            Self::NewSession => &["reset", "close everything", "start again"],
            Self::SaveSession | Self::SaveSessionAs => &["save work", "save project", "export session"],
            Self::OpenSession => &["load session", "open project"],
            Self::AddBookmark => &["remember this view"],
            Self::Bookmarks => &["favourites", "notebook"],
            Self::CopyAddress => &["share", "permalink", "url"],
            Self::ToggleTheme => &["dark mode", "light mode", "theme", "colours"],
            Self::ZoomIn => &["zoom in", "increase font size"],
            Self::ZoomOut => &["zoom out", "decrease font size"],
            Self::ZoomReset => &["reset zoom", "100 %"],
            Self::ToggleInspector => &["inspector", "options", "settings"],
            Self::Gallery => &["demos", "tutorial", "getting started"],
            Self::Numbers => &["matrices", "typed numbers", "toy example", "self-attention by hand", "spreadsheet"],
            Self::NumbersOfHead => &["edit q k v", "take head", "matrices"],
            Self::FitLens => &["J-lens", "tuned lens", "jlens", "train lens"],
            Self::MeasureTimes => &["benchmark", "speed", "latency", "seconds", "profile"],
            Self::Lecture => &["slides", "course", "tour", "tutorial", "teaching", "present"],
            Self::Help => &["shortcuts", "keyboard", "glossary", "about", "manual"],
            Self::NextHead
            | Self::PreviousHead
            | Self::NextLayer
            | Self::PreviousLayer
            | Self::NextQuery
            | Self::PreviousQuery
            | Self::PreviousInput
            | Self::NextInput
            | Self::Back
            | Self::Forward
            | Self::Flip
            | Self::Undo
            | Self::Redo
            | Self::SplitBelow
            | Self::ClosePane
            | Self::NextPane
            | Self::Detach
            | Self::NewWindow
            | Self::ToggleLeft
            | Self::PreviousExample
            | Self::NextExample
            | Self::LeaveLecture
            | Self::ShowGroup(_)
            | Self::ViewsOf(_)
            | Self::HelpOn(_)
            | Self::ShowOption(..) => &[],
            Self::Palette => &["go to anything", "command palette"],
        }
    }

    /// What the session is asked to do; `None` where only the window changes.
    pub const fn command(self) -> Option<Command> {
        Some(match self {
            Self::Show(view) => Command::Select(SelectionCommand::ShowView(view)),
            Self::ShowGroup(group) => Command::Select(SelectionCommand::ShowGroup(group)),
            Self::Open => Command::Download(DownloadCommand::Open),
            Self::OpenFolder => Command::Pick(FilePurpose::ModelFolder),
            Self::OpenFile => Command::Pick(FilePurpose::InputFile),
            Self::Run => Command::Run,
            Self::NextHead => Command::Select(SelectionCommand::Step(HeadStep::NextHead)),
            Self::PreviousHead => Command::Select(SelectionCommand::Step(HeadStep::PreviousHead)),
            Self::NextLayer => Command::Select(SelectionCommand::Step(HeadStep::NextLayer)),
            Self::PreviousLayer => Command::Select(SelectionCommand::Step(HeadStep::PreviousLayer)),
            Self::PreviousInput => Command::PreviousInput,
            Self::NextInput => Command::NextInput,
            Self::AllHeads => Command::Select(SelectionCommand::AllHeads),
            Self::OpenHead => Command::Select(SelectionCommand::OpenHead(None)),
            Self::CompareHead => Command::CompareHead(None),
            Self::NextStack => Command::Select(SelectionCommand::NextStack),
            Self::NextQuery => Command::Select(SelectionCommand::StepQuery(QueryStep::Next)),
            Self::PreviousQuery => Command::Select(SelectionCommand::StepQuery(QueryStep::Previous)),
            Self::Release => Command::Select(SelectionCommand::StepOut),
            Self::Back => Command::Back,
            Self::Forward => Command::Forward,
            Self::Flip => Command::Flip,
            Self::Undo => Command::Undo,
            Self::Redo => Command::Redo,
            Self::SplitRight => Command::SplitPane(Split::Right),
            Self::SplitBelow => Command::SplitPane(Split::Below),
            Self::CompareInput => Command::CompareInput,
            Self::ClosePane => Command::InPane(PaneCommand::Close),
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
            Self::Numbers => Command::Numbers(NumbersCommand::Example(0)),
            Self::NumbersOfHead => Command::Numbers(NumbersCommand::OfHead),
            Self::MeasureTimes => Command::MeasureTimes,
            Self::FitLens => Command::InPane(PaneCommand::FitLens),
            Self::Lecture => Command::Lecture(LectureCommand::Resume),
            Self::LeaveLecture => Command::Lecture(LectureCommand::Leave),
            Self::Cancel
            | Self::FindToken
            | Self::TypeText
            | Self::NewWindow
            | Self::ToggleTheme
            | Self::ZoomIn
            | Self::ZoomOut
            | Self::ZoomReset
            | Self::ToggleLeft
            | Self::ToggleInspector
            | Self::Bookmarks
            | Self::Views
            | Self::ViewsOf(_)
            | Self::Gallery
            | Self::Help
            | Self::HelpOn(_)
            | Self::ShowOption(..)
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

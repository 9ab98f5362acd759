//! Commands of the user, and effects for the outside world.

use std::{path::PathBuf, sync::Arc};

use super::{
    Appearance, ChangeCommand, CorpusCommand, DownloadCommand, FigureCommand, Focus, HeadRef, LectureCommand,
    NumbersCommand, PickChange, SessionCommand, Split, ValueRef, ViewGroup, ViewKind, ViewOptions, WritingOptions,
};
use crate::{
    analysis::{
        cloud_query::CloudQuery,
        point_set::{PointSet, Spot},
        search::SearchQuery,
    },
    capture::{Excerpt, RgbaBuffer},
    export::FigureRequest,
    ids::{DocumentId, HeadId, JobId, StackKind},
    lab::{MethodCall, Target},
    model::{Chat, ImageSource},
    protocol::{Lane, ModelSource, Request},
};

/// Something the user asked for.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "few are made, and each is moved a few times")]
pub enum Command {
    /// Look at something in a pane, which need not be the active one and does not become it, or close it.
    InPane(PaneCommand),
    /// Change what the active pane shows, and those linked with it.
    Select(SelectionCommand),
    OpenModel(ModelSource),
    /// Open whatever these are: model folders, weights, captures, pictures, texts. A text comes back
    /// as [`Command::OpenText`] once the window has read it.
    OpenPaths(Vec<PathBuf>),
    /// The same with the model that is on its way: what would take its place waits for it.
    OpenBeside(Vec<PathBuf>),
    /// Read this text from a file, on a bundled text model if the current one sees pictures.
    OpenText(String),
    /// Hold the model against an independent implementation, on what it reads now.
    AskSecondOpinion,
    /// Measure times of the model by the length of its input.
    MeasureTimes,
    /// Open an example, by its index in [`super::gallery::EXAMPLES`].
    OpenExample(usize),
    /// Something to do with numbers that are typed.
    Numbers(NumbersCommand),
    /// Something to do with the lecture.
    Lecture(LectureCommand),
    /// Open the example before in the gallery, before the first the last; in the lecture the stop before.
    PreviousExample,
    /// Open the next example of the gallery, after the last the first; in the lecture the next stop.
    NextExample,
    /// Read this text from a file, or ask whether it is one input or many.
    OpenTextFile {
        path: PathBuf,
        text: String,
    },
    /// Open a corpus in the active document, or something to do with the one that is open.
    Corpus(CorpusCommand),
    /// Open the input that a point of the pane's joint space belongs to, and hold its token.
    OpenPoint {
        is_key: bool,
        /// Which point of the cloud.
        point: usize,
    },
    /// Draw what every view would show, light on dark or dark on light; `None` lets go of the pictures.
    ShowCards(Option<bool>),
    /// Change the text; [`Command::Run`] follows after a pause.
    SetText(String),
    /// Choose what is read of a text that is too long, and run; `None` takes the choice back.
    SetExcerpt(Option<Excerpt>),
    /// Change the second sentence; `None` removes it.
    SetTextB(Option<String>),
    /// Let brackets in the texts group tokens, or be read like other letters, and run.
    SetBrackets(bool),
    /// Write the chat template of the model around the text, or no longer, and run.
    SetChat(Option<Chat>),
    /// Change what the system says in the chat template; [`Command::Run`] follows after a pause.
    SetSystem(String),
    /// Change what the decoder is made to write; [`Command::Run`] follows after a pause.
    SetTarget(String),
    /// Change how the model writes.
    SetWriting(WritingOptions),
    /// Let a text model write on behind the text.
    Continue,
    /// Let the model go on from a text that begins with these tokens, and run.
    WriteFrom(Vec<u32>),
    /// Show the text as the model wrote it before, in a pane beside.
    ShowBefore,
    /// Change the picture and run.
    SetImage(ImageSource),
    /// Run the model on the current input.
    Run,
    /// Change what the model does on the way, or take changes back.
    Change(ChangeCommand),
    /// Show all options of views, or those alone that were changed.
    UnfoldOptions(bool),
    /// Offer the first steps no more.
    CloseFirstSteps,
    /// Stop what runs in a lane.
    Cancel(Lane),
    /// Stop everything that runs.
    CancelAll,
    /// Show a method of the laboratory, by the name of its column.
    ShowMethod(&'static str),
    /// Hold alignments of words against these links, which were made by hand.
    SetGold(String),
    /// Open the two texts with their places exchanged beside, for a model that translates the other way.
    OpenOtherDirection,
    /// Show a value of an answer of the laboratory in place of attention, or attention again; in another view where
    /// one is given.
    Overlay(Option<Box<ValueRef>>, Option<ViewKind>),
    /// Go on with a projection that was stopped.
    Project,
    /// Back to the experiment that was run before: input, target, model, how it writes.
    Undo,
    Redo,
    /// Open a twin of the active pane.
    SplitPane(Split),
    /// Show the selected head of all heads, or this one, in a pane of its own beside them.
    CompareHead(Option<HeadId>),
    /// Open a twin of the active pane and give it a document of its own.
    CompareInput,
    /// Keys and panels speak of this pane from now on.
    Activate,
    /// The next pane, row by row.
    NextPane,
    /// Let the pane follow the others, or not.
    ToggleLink,
    /// Give the active pane a document of its own, a copy of the one it shows.
    Detach,
    /// Show another document in the active pane.
    ShowDocument(DocumentId),
    /// Close a document; the last one stays.
    CloseDocument(DocumentId),
    /// Show another input of the opened capture file, from 0.
    SelectInput(usize),
    /// Show the input before; before the first comes the last.
    PreviousInput,
    /// Show the next input; after the last comes the first.
    NextInput,
    /// Back to the place before: view and selection of the active pane.
    Back,
    Forward,
    /// To the other of the last two places.
    Flip,
    /// Light, dark or system.
    SetAppearance(Appearance),
    SetViewOptions(ViewOptions),
    Pick(FilePurpose),
    /// Download a model, or something on the way there.
    Download(DownloadCommand),
    /// Save a picture of the window: asks where, then writes.
    SaveScreenshot,
    /// Save or copy a figure, or something on the way there.
    Figure(FigureCommand),
    /// Save, open or keep the session, or something to do with its bookmarks, notes and models.
    Session(SessionCommand),
    /// Fit a Jacobian lens over the corpus of the document, and write it to this file.
    FitLens(PathBuf),
    /// Put a text on the clipboard.
    Copy {
        /// What it is, for the message.
        what: String,
        text: String,
    },
    DismissNotice(u64),
    /// Tell the user something that the window found out (an unreadable text file, say).
    Notify(crate::protocol::Failure),
}

/// What is asked for in one pane, without its becoming the active one.
#[derive(Clone, Debug, PartialEq)]
pub enum PaneCommand {
    /// The pointer is over something, or over nothing.
    Hover(Focus),
    /// The pointer is over a point of a joint space, or over none.
    HoverPoint(Option<Spot>),
    /// Ask something about the whole cloud, unless that is known or on its way.
    Survey(CloudQuery),
    /// List all that the model can say, unless that is known or on its way.
    ListOutcomes,
    /// Test attention as an explanation over the corpus, with the options of the pane; what is known is not measured again.
    Debate,
    /// Read again what is kept on disk of the tests over the corpus, where there is something.
    RecallDebate,
    /// Begin the study that its view shows, with the options of the pane.
    Study,
    /// Read again what is kept on disk of the study that its view shows, where there is something.
    RecallStudy,
    /// Ask where the lens is to be written that is fitted over the corpus.
    FitLens,
    /// Ask the laboratory, for a column.
    Explain(&'static str, MethodCall, Target),
    /// Ask the laboratory, for a column, what was not begun because it takes long.
    ExplainAnyway(&'static str, MethodCall, Target),
    /// Forget what a column said, so that it is asked again.
    ExplainAgain(&'static str),
    /// Close it; the last pane stays.
    Close,
}

/// A change of the view and of what is selected in it.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectionCommand {
    ShowView(ViewKind),
    /// Show a page of a view of several.
    ShowPage(ViewKind, usize),
    /// Show the view of a group that was shown last, or the next one where one of them is shown.
    ShowGroup(ViewGroup),
    Stack(StackKind),
    NextStack,
    /// Show another layer, keeping the head where it exists.
    Layer(usize),
    Head(HeadId),
    /// Show the selected head of all heads, or this one, in the view that draws what its cell shows.
    OpenHead(Option<HeadId>),
    /// Back to all heads, where a head was opened from there.
    LeaveHead,
    /// Let go of what is held or picked; where nothing is, as [`Self::LeaveHead`].
    StepOut,
    /// Select a head that was chosen by its name, and draw it: alone, where all of its layer are drawn.
    ShowHead(HeadId),
    /// Step to a neighbouring head or layer.
    Step(HeadStep),
    /// Hold the next or previous query token.
    StepQuery(QueryStep),
    /// Draw or stop drawing a head's lines.
    ToggleHead(usize),
    /// Draw only this head's lines, or all if it already is the only one.
    SoloHead(usize),
    AllHeads,
    /// Hold what was clicked; the same again lets go.
    Pin(Focus),
    /// Let go of what is held, then of what is picked.
    Release,
    /// Pick points out of a joint space; none, to let go of all.
    PickPoints(PointSet, PickChange),
    /// Look for something in the joint spaces; nothing, to look for nothing.
    Search(SearchQuery),
    /// Subtract another head from the selected one, or none.
    Subtract(Option<HeadRef>),
    /// Hold all heads against those of another document, or of none.
    HoldAgainst(Option<DocumentId>),
}

/// A neighbouring head or layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStep {
    PreviousHead,
    NextHead,
    PreviousLayer,
    NextLayer,
}

/// A neighbouring query token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryStep {
    Previous,
    Next,
}

/// Why a file is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePurpose {
    ModelFolder,
    /// A picture, text or capture.
    InputFile,
    CorpusFile,
    CorpusFolder,
    /// Links of words made by hand.
    GoldFile,
    SessionFile,
    /// Where a model of the session is now.
    LostModel,
}

impl FilePurpose {
    /// What stands above the dialog.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ModelFolder => "Open a model folder",
            Self::InputFile => "Open a picture, a text, a checkpoint or a capture",
            Self::CorpusFile => "Open a text, a table or a capture with many inputs",
            Self::CorpusFolder => "Open a folder of pictures as a corpus",
            Self::GoldFile => "Open a file of hand-made word links",
            Self::SessionFile => "Open a session",
            Self::LostModel => "Where is the model of this session?",
        }
    }
}

/// What the outside world is asked to do.
#[derive(Clone, Debug)]
pub enum Effect {
    Submit(JobId, Request),
    Cancel(Lane),
    /// Show a file dialog; the choice comes back as [`Command::OpenPaths`], or as a corpus to open.
    Pick(FilePurpose),
    /// Take a picture of the window and ask where to save it.
    Screenshot,
    /// Ask where to save a figure, then write it.
    SaveFigure {
        figure: FigureRequest,
        name: String,
        /// The ending of a name that is given without a known one.
        extension: &'static str,
    },
    /// Ask where to save the session; the choice comes back as [`SessionCommand::SaveTo`].
    SaveSession {
        name: String,
    },
    /// Ask where to save a lens that is fitted; the choice comes back as [`Command::FitLens`].
    SaveLens {
        name: String,
    },
    /// Put a picture on the clipboard.
    CopyPicture(Arc<RgbaBuffer>),
    /// Put a text on the clipboard.
    CopyText(String),
    /// Read a text file; it comes back as [`Command::OpenTextFile`] or [`Command::Notify`].
    ReadText(PathBuf),
}

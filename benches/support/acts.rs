//! What somebody does in the window, thing by thing: commands as menus, keys and panels give them, and the pointer.

use attnscope::{
    analysis::{
        Space, explain::report::LabQuestion, point_set::PointSet, projection::LayoutMethod, reading::Together,
        search::SearchQuery,
    },
    capture::{Ablate, Ablation, Edit, HideToken, Merging, Normalize, Normalizer, RgbaBuffer, Scope, Sharpen},
    export::png_bytes,
    figure::spec::Paper,
    ids::Side,
    model::{ImageSource, bundled},
    protocol::{CorpusSource, ModelSource},
    session::{
        Anew, BookmarkCommand, ChangeCommand, Command, CorpusCommand, FigureCommand, FigureOptions, FigureRange,
        FileKind, Focus, HeadStep, ListCommand, PaneCommand, PickChange, QueryStep, SelectionCommand, SessionCommand,
        Split, ViewKind, ViewOptions, gallery::EXAMPLES,
    },
};
use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, TouchPhase, pos2, vec2};

use super::Day;

/// What is typed, and read in parts.
const STORY: &str = "Once upon a time there was a little dog who lived beside the river. Every morning the dog ran to the \
    old bridge, because the children from the village came there with bread and apples. One day nobody came. The dog \
    waited until the sun stood high above the hills, then it walked through the village to find them, and it found them \
    all in the garden of the school, where somebody had built a small house with the word \"dog\" above its door.";
/// Bookmarks that a person keeps.
const BOOKMARKS: usize = 12;

/// A thing that is done, how often of a hundred or so, and how.
pub type Act = (&'static str, usize, fn(&mut Day));

/// Everything that is done in a day.
pub const ACTS: [Act; 27] = [
    ("a head or layer is looked at", 18, step),
    ("another view", 14, view),
    ("a click", 10, click),
    ("a text is typed", 9, type_text),
    ("the wheel or a drag", 8, wheel),
    ("a change of the run", 8, change),
    ("undo, redo, back, forward", 8, travel),
    ("a model is opened", 6, open_model),
    ("an example", 6, example),
    ("panes: split, closed, linked", 6, panes),
    ("a question to the Lab", 6, ask_lab),
    ("a layout of points", 5, layout),
    ("a document: compared, shown, closed", 4, documents),
    ("how patterns are read", 4, reading),
    ("a figure is saved", 4, figure),
    ("a run that is stopped", 4, stop),
    ("a picture is pasted", 3, picture),
    ("an input of the corpus", 3, input),
    ("a note or a bookmark", 3, note),
    ("the palette and other sheets", 3, sheets),
    ("a long text", 2, long_text),
    ("a search", 2, search),
    ("a corpus", 2, corpus),
    ("a figure is copied or tried", 2, copy_figure),
    ("a session is saved or opened", 2, session),
    ("the model writes on", 2, write),
    ("a capture file", 1, capture_file),
];

fn type_text(day: &mut Day) {
    let start = day.random.below(STORY.len() - 60);
    let start = STORY[start..].find(' ').map_or(0, |space| start + space + 1);
    let n_keys = 5 + day.random.below(40);
    for end in (start..start + n_keys).step_by(3) {
        day.window.ask(Command::SetText(STORY[start..=end].to_owned()));
        day.frames(1);
    }
    if day.random.one_in(5) {
        day.window.ask(Command::SetTextB(Some(STORY[..30].to_owned())));
    }
}

fn long_text(day: &mut Day) {
    let n = 2 + day.random.below(5);
    day.window.ask(Command::SetText(vec![STORY; n].join(" ")));
    day.window.ask(Command::Run);
}

fn open_model(day: &mut Day) {
    let models: Vec<&str> = bundled::models().collect();
    let name = (*day.random.pick(&models)).to_owned();
    day.window.ask(Command::OpenModel(ModelSource::Bundled(name)));
}

fn example(day: &mut Day) {
    let idx = day.random.below(EXAMPLES.len());
    let open = [Command::OpenExample(idx), Command::OpenExample(idx), Command::NextExample, Command::PreviousExample];
    day.any(open);
}

fn step(day: &mut Day) {
    let n = day.random.below(12);
    day.any([
        Command::Select(SelectionCommand::Step(HeadStep::NextHead)),
        Command::Select(SelectionCommand::Step(HeadStep::PreviousHead)),
        Command::Select(SelectionCommand::Step(HeadStep::NextLayer)),
        Command::Select(SelectionCommand::Step(HeadStep::PreviousLayer)),
        Command::Select(SelectionCommand::Layer(n)),
        Command::Select(SelectionCommand::SoloHead(n)),
        Command::Select(SelectionCommand::ToggleHead(n)),
        Command::Select(SelectionCommand::AllHeads),
        Command::Select(SelectionCommand::NextStack),
        Command::Select(SelectionCommand::StepQuery(QueryStep::Next)),
        Command::Select(SelectionCommand::Pin(Focus { query: Some(n), key: None })),
        Command::Select(SelectionCommand::Release),
    ]);
}

fn view(day: &mut Day) {
    let view = *day.random.pick(&ViewKind::ALL);
    day.window.ask(Command::Select(SelectionCommand::ShowView(view)));
}

/// Somewhere in the middle of the window: what is there answers as it does to anybody.
fn click(day: &mut Day) {
    let at = pos2(360.0 + day.random.below(840) as f32, 220.0 + day.random.below(720) as f32);
    let button = if day.random.one_in(6) { PointerButton::Secondary } else { PointerButton::Primary };
    let double = day.random.one_in(4);
    for pressed in [true, false].repeat(1 + usize::from(double)) {
        day.window.harness.event(Event::PointerMoved(at));
        let modifiers = Modifiers::NONE;
        day.window.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
    }
    day.frames(2);
    day.press(Key::Escape, Modifiers::NONE);
}

fn wheel(day: &mut Day) {
    let modifiers = if day.random.one_in(2) { Modifiers::COMMAND } else { Modifiers::NONE };
    let delta = vec2(0.0, 60.0 - day.random.below(120) as f32);
    for _ in 0..6 {
        day.window.harness.event(Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta,
            modifiers,
            phase: TouchPhase::Move,
            source: MouseWheelSource::Unknown,
        });
        day.frames(1);
    }
}

fn panes(day: &mut Day) {
    day.any([
        Command::SplitPane(Split::Right),
        Command::SplitPane(Split::Below),
        Command::NextPane,
        Command::ToggleLink,
        Command::InPane(PaneCommand::Close),
        Command::InPane(PaneCommand::Close),
    ]);
}

fn documents(day: &mut Day) {
    let open: Vec<_> = day.window.harness.state().session().documents.iter().map(|document| document.id).collect();
    let one = *day.random.pick(&open);
    let close = Command::CloseDocument(one);
    day.any([Command::CompareInput, Command::Detach, Command::ShowDocument(one), close.clone(), close]);
}

/// A change that suits what is shown, one of each kind that people make by hand.
fn change(day: &mut Day) {
    let session = day.window.harness.state().session();
    let Some(capture) = session.changing().latest_capture() else { return };
    let head = session.pane().selection.head;
    let sides = [Side::Only, Side::Encoder, Side::Decoder];
    let Some(side) = sides.into_iter().find(|side| !capture.tokens(*side).is_empty()) else { return };
    let position = day.random.below(capture.tokens(side).len());
    let n_changes = session.changing().experiment.changes.len();
    if n_changes > 3 {
        return day.window.ask(Command::Change(ChangeCommand::Clear));
    }
    let kinds = [Ablation::Zero, Ablation::Mean, Ablation::Uniform, Ablation::Shuffle { seed: 1 }];
    let with = *day.random.pick(&kinds);
    let alpha = 1.1 + day.random.below(80) as f32 / 100.0;
    let edits = [
        Edit::Ablate(Ablate { head, with }),
        Edit::HideToken(HideToken { position, side }),
        Edit::Sharpen(Sharpen { head, by: 2.0 }),
        Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Entmax(alpha) }),
    ];
    let edit = day.random.pick(&edits).clone();
    day.any(
        [
            ChangeCommand::Add(vec![edit.into()]),
            ChangeCommand::Add(vec![Edit::HideToken(HideToken { position, side }).into()]),
            ChangeCommand::Switch(0, n_changes % 2 == 0),
            ChangeCommand::Remove(vec![0]),
            ChangeCommand::Clear,
        ]
        .map(Command::Change),
    );
}

fn travel(day: &mut Day) {
    let steps = [Command::Undo, Command::Undo, Command::Redo, Command::Back, Command::Forward, Command::Flip];
    day.any(steps);
}

/// Options of the active pane, turned.
fn turn(day: &mut Day, turn: impl FnOnce(&mut ViewOptions)) {
    let mut options = day.window.harness.state().session().pane().options.clone();
    turn(&mut options);
    day.window.ask(Command::SetViewOptions(options));
}

fn reading(day: &mut Day) {
    let which = day.random.below(6);
    turn(day, |options| match which {
        0 => options.reading.by_value_norm ^= true,
        1 => options.reading.merging = Merging::words_if(!options.reading.merging.is_merged()),
        2 => options.reading.leave_out.special ^= true,
        3 => options.reading.together = options.reading.together.xor(Some(Together::default())),
        4 => options.heatmap.values ^= true,
        _ => options.shared_scale ^= true,
    });
}

fn layout(day: &mut Day) {
    let methods = [LayoutMethod::Pca, LayoutMethod::Pca, LayoutMethod::Tsne, LayoutMethod::Umap];
    let method = *day.random.pick(&methods);
    let space = *day.random.pick(&[Space::QueriesKeys, Space::QueriesKeys, Space::Values, Space::Residual]);
    let which = day.random.below(5);
    turn(day, |options| {
        options.scatter.projection.layout.method = method;
        options.scatter.choose_space(space);
        options.scatter.density ^= which == 0;
        options.scatter.clusters ^= which == 1;
        options.scatter.corpus ^= which == 2;
    });
    day.any([
        Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)),
        Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)),
    ]);
}

fn search(day: &mut Day) {
    let text = day.random.text(&["the", "dog", "er", "."]).to_owned();
    day.any([
        Command::Select(SelectionCommand::Search(SearchQuery { text, ..SearchQuery::default() })),
        Command::Select(SelectionCommand::Search(SearchQuery::default())),
    ]);
}

fn corpus(day: &mut Day) {
    let is_picture = day
        .window
        .harness
        .state()
        .session()
        .document()
        .latest_capture()
        .is_some_and(|capture| capture.image().is_some());
    let name = if is_picture { "demo:pictures" } else { "demo:sentences" };
    let open = Command::Corpus(CorpusCommand::Open(CorpusSource::path(name)));
    day.any([open.clone(), open, Command::Corpus(CorpusCommand::Close)]);
}

fn input(day: &mut Day) {
    let idx = day.random.below(30);
    day.any([
        Command::Corpus(CorpusCommand::Show(idx)),
        Command::Corpus(CorpusCommand::List(ListCommand::Filter("the".to_owned()))),
        Command::Corpus(CorpusCommand::List(ListCommand::Filter(String::new()))),
        Command::Corpus(CorpusCommand::List(ListCommand::Select([idx, idx + 1].into()))),
        Command::Corpus(CorpusCommand::List(ListCommand::Remove)),
        Command::Corpus(CorpusCommand::List(ListCommand::RestoreAll)),
        Command::NextInput,
        Command::Select(SelectionCommand::PickPoints(PointSet::default(), PickChange::Replace)),
    ]);
}

fn ask_lab(day: &mut Day) {
    let question = *day.random.pick(&LabQuestion::ALL);
    turn(day, |options| options.lab.question = question);
    day.window.ask(Command::Select(SelectionCommand::ShowView(ViewKind::Lab)));
    day.frames(10);
}

fn set_figures(day: &mut Day) {
    let kind = *day.random.pick(&FileKind::ALL);
    let range = *day.random.pick(&[FigureRange::Shown, FigureRange::Shown, FigureRange::Layer, FigureRange::Stack]);
    let dark = day.random.one_in(3);
    day.window.ask(Command::Figure(FigureCommand::Set(FigureOptions {
        kind,
        range,
        paper: Paper { dark, ..Paper::default() },
    })));
}

fn figure(day: &mut Day) {
    set_figures(day);
    day.window.ask(Command::Figure(FigureCommand::Save));
}

fn copy_figure(day: &mut Day) {
    set_figures(day);
    day.any(
        [FigureCommand::CopyPng, FigureCommand::CopySvg, FigureCommand::CopyNumbers, FigureCommand::Open]
            .map(Command::Figure),
    );
    day.frames(8);
    day.window.ask(Command::Figure(FigureCommand::Close));
}

fn stop(day: &mut Day) {
    day.window.ask(Command::Run);
    let n_frames = day.random.below(4);
    day.frames(n_frames);
    day.window.ask(Command::CancelAll);
}

/// Another one each time, of the size of a small photograph.
fn picture(day: &mut Day) {
    let (width, height) = (640, 480);
    let shade = day.random.below(256);
    let pixels = (0..4 * width * height).map(|at| ((at / 64 * (shade + 1)) % 256) as u8).collect();
    let bytes = png_bytes(&RgbaBuffer { width, height, pixels }).unwrap().into();
    let pasted = ImageSource::Embedded { name: "pasted picture".to_owned(), bytes };
    let samples: Vec<&str> = bundled::samples().collect();
    let sample = ImageSource::Bundled((*day.random.pick(&samples)).to_owned());
    day.any([Command::SetImage(pasted), Command::SetImage(sample)]);
}

fn note(day: &mut Day) {
    let session = day.window.harness.state().session();
    let (n, noted) = (session.keeping.bookmarks.len(), format!("{} panes", session.panes.len()));
    let bookmark = |command| Command::Session(SessionCommand::Bookmark(command));
    if n > BOOKMARKS {
        day.window.ask(bookmark(BookmarkCommand::Remove(0)));
    }
    let which = day.random.below(n.max(1));
    day.any([
        bookmark(BookmarkCommand::Add),
        bookmark(BookmarkCommand::GoTo(which)),
        Command::Session(SessionCommand::SetNotes(noted)),
        Command::Session(SessionCommand::CopyAddress),
    ]);
}

fn session(day: &mut Day) {
    let path = day.folder.join(format!("{}.attnscope", day.random.below(3)));
    let save = Command::Session(SessionCommand::SaveTo(path.clone()));
    let open = if path.exists() { Command::Session(SessionCommand::Open(path)) } else { save.clone() };
    let new = Command::Session(SessionCommand::New(Anew::Begin));
    day.any([save.clone(), save, open.clone(), open, new]);
}

fn write(day: &mut Day) {
    day.any([Command::Continue, Command::SetTarget("Ein kleiner Hund".to_owned()), Command::SetTarget(String::new())]);
}

/// What was seen first today, as a file.
fn capture_file(day: &mut Day) {
    day.window.ask(Command::OpenPaths(vec![day.folder.join("capture.safetensors")]));
}

fn sheets(day: &mut Day) {
    let (key, modifiers) = *day.random.pick(&[
        (Key::K, Modifiers::COMMAND),
        (Key::B, Modifiers::NONE),
        (Key::E, Modifiers::COMMAND),
        (Key::Questionmark, Modifiers::NONE),
        (Key::T, Modifiers::NONE),
        (Key::OpenBracket, Modifiers::NONE),
        (Key::CloseBracket, Modifiers::NONE),
    ]);
    day.press(key, modifiers);
    day.frames(3);
    if key == Key::K {
        day.window.harness.event(Event::Text("layer".to_owned()));
        day.frames(3);
    }
    day.press(Key::Escape, Modifiers::NONE);
}

//! The window never lies: after every ordered pair of actions, what is titled, drawn, read out, described and exported
//! is one head of one run of one model, and what is not of what is asked for says so.

use std::time::Instant;

use attnscope::{
    capture::{Ablate, Capture, Edit, words},
    cli::open::OpenOptions,
    export::FigureRequest,
    figure::DetailsPart,
    ids::{HeadId, PaneId},
    model::ImageSource,
    protocol::{CorpusSource, ModelSource},
    session::{
        ChangeCommand, Command, CorpusCommand, Document, FigureCommand, FileKind, Focus, HeadSet, PaneCommand,
        SelectionCommand, Session, Split, ViewKind,
    },
    text::weight_text,
    ui::{App, app::Startup},
};
use eframe::egui::{Event, Key, Modifiers, Rect, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};
use serde_json::Value;

use crate::support::{
    desktop::ScriptedDesktop,
    real::{Oracle, RealJobs},
};

const TEXTS: [&str; 4] =
    ["Mary lost her red keys", "The dog saw the red cat", "A cat sat", "Tom saw Mary and the dog again"];

/// What a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    ChooseHead,
    ChangeText,
    ChangeModel,
    FailModel,
    FailRun,
    Refuse,
    Ablate,
    ClosePane,
    Undo,
    Redo,
    Hover,
    Leave,
    Pin,
    Cancel,
    Split,
    NextPane,
    Link,
    NameHead,
    RemoveChange,
    OpenCorpus,
    CloseCorpus,
}

const ACTS: [Act; 21] = [
    Act::ChooseHead,
    Act::ChangeText,
    Act::ChangeModel,
    Act::FailModel,
    Act::FailRun,
    Act::Refuse,
    Act::Ablate,
    Act::ClosePane,
    Act::Undo,
    Act::Redo,
    Act::Hover,
    Act::Leave,
    Act::Pin,
    Act::Cancel,
    Act::Split,
    Act::NextPane,
    Act::Link,
    Act::NameHead,
    Act::RemoveChange,
    Act::OpenCorpus,
    Act::CloseCorpus,
];

/// What a person does in one pane and the one beside it.
const OF_ONE_PANE: &[Act] = ACTS.split_at(14).0;

/// A walk through all ordered pairs: each follows each, and itself, once.
fn walk(acts: &[Act]) -> Vec<Act> {
    let mut walk = Vec::new();
    for (nth, first) in acts.iter().enumerate() {
        walk.push(*first);
        walk.extend(acts[nth + 1..].iter().flat_map(|second| [*first, *second]));
    }
    walk.push(acts[0]);
    walk
}

struct Stage {
    harness: Harness<'static, App>,
    jobs: RealJobs,
    desktop: ScriptedDesktop,
    oracle: Oracle,
    folder: tempfile::TempDir,
    /// How many things were done.
    n: usize,
    /// How often something was under the pointer.
    n_hovered: usize,
    /// The words that were pinned, and in which pane.
    words: [Option<String>; 2],
    pane: PaneId,
    view: ViewKind,
}

impl Stage {
    fn open(view: ViewKind, heads: HeadSet) -> Self {
        let options = OpenOptions {
            model: Some("demo:gpt".to_owned()),
            text: Some(TEXTS[0].to_owned()),
            view: Some(view),
            ..OpenOptions::default()
        };
        let (jobs, desktop) = (RealJobs::new(), ScriptedDesktop::default());
        let (for_app, desktop_of_app) = (jobs.clone(), desktop.clone());
        let harness = Harness::builder().with_size([1600.0, 1000.0]).with_max_steps(40).build_eframe(move |cc| {
            let startup = Startup::new(|_| Ok(for_app), Box::new(desktop_of_app), options, Instant::now()).unwrap();
            startup.attach(cc).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        let (oracle, words, pane) = (Oracle::default(), [None, None], PaneId(1));
        let mut stage = Self { harness, jobs, desktop, oracle, folder, n: 0, n_hovered: 0, words, pane, view };
        stage.settle();
        for head in 0..stage.session().pane().n_heads(stage.session().document()) {
            if !heads.contains(head) {
                stage.ask(Command::Select(SelectionCommand::ToggleHead(head)));
            }
        }
        stage
    }

    fn n_queries(&self) -> usize {
        let stack = self.session().pane().selection.stack();
        self.session().document().latest_capture().map_or(0, |capture| capture.query_tokens(stack).len())
    }

    fn session(&self) -> &Session {
        self.harness.state().session()
    }

    fn settle(&mut self) {
        self.harness.run_steps(3);
    }

    fn ask(&mut self, command: Command) {
        self.harness.state().request(command);
        self.settle();
    }

    fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    fn does(&mut self, act: Act) {
        self.n += 1;
        let n = self.n;
        let selection = &self.session().pane().selection;
        let head = selection.head;
        let model = self.session().document().model.latest().map(|model| model.spec.name.clone());
        let text = || TEXTS[n % TEXTS.len()].to_owned();
        match act {
            Act::ChooseHead => {
                let next = HeadId { layer: (head.layer + 1) % 2, head: (head.head + n) % 4, ..head };
                self.ask(Command::Select(SelectionCommand::Head(next)));
            }
            Act::ChangeText => self.ask(Command::OpenText(text())),
            Act::ChangeModel => {
                let other = if model.as_deref() == Some("demo:gpt") { "demo:bert" } else { "demo:gpt" };
                self.ask(Command::OpenModel(ModelSource::Bundled(other.to_owned())));
            }
            Act::FailModel => self.ask(Command::OpenModel(ModelSource::Path("/nowhere/at/all".into()))),
            Act::FailRun => self.ask(Command::SetImage(ImageSource::Path("/nowhere/at/all.png".into()))),
            Act::Refuse => self.ask(Command::OpenText("red cat ".repeat(400))),
            Act::Ablate => {
                let edit = Edit::Ablate(Ablate { head, with: attnscope::capture::Ablation::Zero });
                self.ask(Command::Change(ChangeCommand::Add(vec![edit.into()])));
            }
            Act::ClosePane => self.ask(Command::InPane(PaneCommand::Close)),
            Act::Undo => self.ask(Command::Undo),
            Act::Redo => self.ask(Command::Redo),
            Act::Hover => {
                // The second token, by a name of its own or among the names of all rows.
                let by_name = self.harness.query_all_by_label_contains("Query 1 ").next();
                let of_rows = self.harness.query_all_by_label("Query labels").next().map(|rows| rows.rect());
                let row = |rows: Rect| rows.center_top() + vec2(0.0, 1.5 * rows.height() / self.n_queries() as f32);
                let at = by_name.map(|token| token.rect().center()).or(of_rows.map(row));
                if let Some(at) = at {
                    self.harness.hover_at(at);
                    self.settle();
                    // It may lie below the fold.
                    let is_under = self.session().panes.iter().any(|pane| pane.selection.hover.query == Some(1));
                    self.n_hovered += usize::from(is_under);
                }
            }
            Act::Leave => {
                self.harness.event(Event::PointerGone);
                self.settle();
                let hovers = self.session().panes.iter().any(|pane| !pane.selection.hover.is_empty());
                assert!(!hovers, "what the pointer has left is under it no more");
            }
            Act::Pin => {
                let pin = if n.is_multiple_of(2) { Focus::query(2) } else { Focus::cell(2, 1) };
                self.ask(Command::Select(SelectionCommand::Pin(pin)));
                self.words = self.pinned_words();
            }
            Act::Split => {
                let split = if self.session().panes.rows().count() == 1 { Split::Below } else { Split::Right };
                self.ask(Command::SplitPane(split));
            }
            Act::NextPane => self.ask(Command::NextPane),
            Act::Link => self.ask(Command::ToggleLink),
            Act::NameHead => {
                let head = HeadId { layer: n % 2, head: (head.head + 1) % 4, ..head };
                self.palette(&head.to_string());
                assert_eq!(self.session().pane().selection.head, head, "the head that was named");
            }
            Act::RemoveChange => self.ask(Command::Change(ChangeCommand::Remove(vec![0]))),
            Act::OpenCorpus => {
                let lines = format!("{}\n{}", text(), TEXTS[2]);
                self.ask(Command::Corpus(CorpusCommand::Open(CorpusSource::Lines(lines.into()))));
                self.ask(Command::Select(SelectionCommand::ShowView(self.view)));
            }
            Act::CloseCorpus => self.ask(Command::Corpus(CorpusCommand::Close)),
            Act::Cancel => {
                self.jobs.hold(true);
                self.ask(Command::OpenText(text()));
                self.check("while it waits");
                self.ask(Command::CancelAll);
                assert!(!self.session().documents.iter().any(Document::is_busy), "all that was asked for has ended");
                self.jobs.hold(false);
                self.settle();
            }
        }
    }

    /// Chooses something by its name.
    fn palette(&mut self, name: &str) {
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
        self.settle();
        self.harness.event(Event::Text(name.to_owned()));
        self.settle();
        self.harness.key_press(Key::Enter);
        self.settle();
    }

    /// The inputs of all corpora.
    fn corpora(&self) -> Vec<CorpusSource> {
        self.session().documents.iter().filter_map(|it| Some(it.corpus.as_ref()?.source.clone())).collect()
    }

    fn pinned_words(&self) -> [Option<String>; 2] {
        let session = self.session();
        let selection = &session.pane().selection;
        let Some(capture) = session.document().latest_capture() else { return [None, None] };
        let word = |at: usize| words::bare(&capture.query_tokens(selection.stack())[at].text).to_owned();
        [selection.pinned.query.map(word), selection.pinned.key.map(word)]
    }

    /// Compares all that the window says with the run that is drawn.
    fn check(&mut self, what: &str) {
        let session = self.session();
        let document = session.document().clone();
        let capture = document.latest_capture().unwrap().clone();
        let (head, pinned) = (session.pane().selection.head, session.pane().selection.pinned);
        let drawn = session.pane().selection.heads_on();
        let n_heads = session.pane().n_heads(&document);

        // The run is what it says it is.
        let pattern = self.oracle.pattern(&capture, head);
        assert_eq!(capture.stored_pattern(head).unwrap().as_slice(), pattern.as_slice(), "{what}");

        // Titles.
        let session = self.session();
        for pane in session.panes.iter() {
            let of = session.document_of(pane);
            let title = of.title();
            assert_eq!(title, title_of(of.latest_capture().unwrap()), "{what}");
            let says = format!("Shows “{title}”");
            // Two panes may show runs of one name.
            let same =
                session.panes.iter().map(|pane| session.document_of(pane)).filter(|other| other.title() == title);
            let stale: Vec<bool> = same.map(is_stale).collect();
            assert_eq!(self.shows(&says), stale.contains(&true), "{what}: {:?} over {title}", of.experiment.text);
        }

        // What if.
        let changing = session.changing();
        if !is_stale(changing) {
            let made: Vec<String> =
                changing.latest_capture().unwrap().computation().edits.iter().map(ToString::to_string).collect();
            let listed: Vec<String> = changing.experiment.edits().iter().map(ToString::to_string).collect();
            assert_eq!(made, listed, "{what}: the changes that are ticked are those of the run");
            assert!(session.panes.iter().any(|pane| pane.document == changing.id), "{what}");
        }

        // A pin follows its word or is let go.
        let now = self.pinned_words();
        let pane = self.session().panes.active_id();
        for (held, now) in self.words.iter().zip(&now).filter(|_| pane == self.pane) {
            assert!(now.is_none() || now == held, "{what}: {held:?} became {now:?}");
        }
        (self.words, self.pane) = (now, pane);
        self.check_links(what);

        // The inspector.
        assert!(self.shows(&head.to_string()), "{what}: the inspector names another head");
        let hover = self.session().pane().selection.hover;
        let details = self.session().pane().view.facts().details;
        let has_pair = details.contains(&DetailsPart::Selection) && details.contains(&DetailsPart::Ranking);
        // A key behind the query is masked in one of the models.
        let cell = pinned.query.zip(pinned.key).filter(|(query, key)| has_pair && hover.is_empty() && query >= key);
        if let Some((query, key)) = cell {
            let weight = pattern.get(query, key).unwrap();
            assert!(self.shows(&weight_text(weight)), "{what}: the inspector says another weight");
        }
        // What is under the pointer.
        if let (Some(query), None, true) = (hover.query, hover.key, has_pair) {
            let most = pattern.row(query).unwrap().iter().copied().fold(0.0, f32::max);
            assert!(self.shows(&weight_text(most)), "{what}: the ranking is of another row");
        }
        assert!(drawn.contains(head.head), "{what}: the selected head is not drawn");
        self.check_export(what, &capture, (head, drawn.iter(n_heads).collect()));
    }

    /// What a pane is said to share is what it shares.
    fn check_links(&self, what: &str) {
        let session = self.session();
        let panes = &session.panes;
        for pane in panes.iter().filter(|_| panes.len() > 1) {
            let shared = panes.shared(pane, &session.documents);
            assert!(self.harness.query_all_by_label(shared).next().is_some(), "{what}: the badge of a pane");
            let others = panes.iter().filter(|other| pane.linked && other.linked && other.id != pane.id);
            for other in others {
                assert!(shared.contains("tokens, steps"), "{what}: {shared}");
                let heads = [pane, other].map(|pane| pane.selection.head);
                assert!(!shared.contains("head") || heads[0] == heads[1], "{what}: {shared}, {heads:?}");
                let of = |pane| session.document_of(pane).latest_capture().unwrap().id();
                if of(pane) == of(other) {
                    assert_eq!(pane.selection.pinned, other.selection.pinned, "{what}: tokens are shared");
                }
            }
        }
    }

    /// The file that would be written now: its name, its origin, its numbers.
    fn check_export(&mut self, what: &str, capture: &Capture, (head, drawn): (HeadId, Vec<usize>)) {
        let figure: FigureRequest = self.session().figure().unwrap();
        let path = self.folder.path().join("numbers.json");
        figure.write(&path).unwrap();
        let json: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let origin = &json["figure"];
        assert_eq!(origin["model"]["name"], capture.model().name, "{what}");
        assert_eq!(origin["input"]["text"].as_str(), capture.input().text.as_deref(), "{what}");
        let edits: Vec<String> = capture.computation().edits.iter().map(ToString::to_string).collect();
        assert_eq!(origin["changes"], Value::from(edits), "{what}");
        let rows = json["rows"].as_array().unwrap();
        let number = |row: &Value, name: &str| row[name].as_u64().unwrap() as usize;
        let mut heads: Vec<usize> = rows.iter().map(|row| number(row, "head")).collect();
        heads.sort_unstable();
        heads.dedup();
        let one = self.session().pane().view != ViewKind::Heads;
        let expected = if one { vec![head.head] } else { drawn };
        assert_eq!(heads, expected, "{what}: the numbers are of other heads");
        for row in rows {
            let of = HeadId { layer: number(row, "layer"), head: number(row, "head"), ..head };
            assert_eq!(of.layer, head.layer, "{what}");
            let pattern = self.oracle.pattern(capture, of);
            let weight = pattern.get(number(row, "query"), number(row, "key")).unwrap();
            let written = row["weight"].as_f64().unwrap() as f32;
            assert!((weight - written).abs() < 1e-6, "{what}: {of} {row} is {weight}");
        }
    }

    /// The name that the dialog proposes for the numbers.
    fn proposed(&mut self) -> String {
        self.ask(Command::Figure(FigureCommand::Save));
        self.desktop.0.borrow().proposed.last().unwrap().clone()
    }
}

/// What a run is called, from the run alone.
fn title_of(capture: &Capture) -> String {
    let text = capture.input().text.clone().unwrap();
    let start: String = text.chars().take(24).collect();
    let more = if text.chars().count() > 24 { "…" } else { "" };
    let changes = match capture.computation().edits.len() {
        0 => String::new(),
        1 => "1 change · ".to_owned(),
        n => format!("{n} changes · "),
    };
    format!("{changes}{} · {}{more}", capture.model().name, start.trim_end())
}

/// Whether what a document shows is not what it is asked for, told by what both say of themselves.
fn is_stale(document: &Document) -> bool {
    let capture = document.latest_capture().unwrap();
    let model = document.model.latest().unwrap();
    let made: Vec<String> = capture.computation().edits.iter().map(ToString::to_string).collect();
    let asked: Vec<String> = document.experiment.edits().iter().map(ToString::to_string).collect();
    let sees = model.spec.modality.image().is_some();
    document.model.is_pending()
        || document.capture.is_pending()
        || capture.model().name != model.spec.name
        || sees
        || capture.input().text.as_deref() != Some(document.experiment.text.as_str())
        || made != asked
}

fn walk_through(view: ViewKind, heads: HeadSet, acts: &[Act]) {
    let mut stage = Stage::open(view, heads);
    stage.check("at the start");
    let walk = walk(acts);
    let mut pairs: Vec<[Act; 2]> = Vec::new();
    let mut before = None;
    for act in walk {
        let corpora = stage.corpora();
        stage.does(act);
        stage.check(&format!("after {} {act:?}, after {before:?}", stage.n));
        let is_there = |corpus| stage.corpora().contains(corpus);
        assert!(act != Act::ClosePane || corpora.iter().all(is_there), "a corpus is closed by whoever closes it");
        pairs.extend(before.map(|before| [before, act]));
        before = Some(act);
    }
    let n = pairs.len();
    pairs.sort_by_key(|pair| pair.map(|act| act as usize));
    pairs.dedup();
    assert_eq!((n, pairs.len()), (acts.len().pow(2), acts.len().pow(2)), "every ordered pair once");
    assert!(stage.n_hovered > acts.len() / 5, "{} times", stage.n_hovered);
    // All the way back.
    let mut steps = 0;
    while stage.session().can_undo() {
        stage.does(Act::Undo);
        steps += 1;
        stage.check(&format!("{steps} steps back"));
        assert!(steps < 400);
    }
}

#[test]
fn every_pair_of_actions_leaves_lines_of_one_head_that_are_true() {
    walk_through(ViewKind::Heads, HeadSet::only(0), &ACTS);
}

#[test]
fn every_pair_of_actions_leaves_lines_of_several_heads_that_are_true() {
    walk_through(ViewKind::Heads, [0, 2].into_iter().collect(), OF_ONE_PANE);
}

#[test]
fn every_pair_of_actions_leaves_a_heatmap_that_is_true() {
    walk_through(ViewKind::Heatmap, HeadSet::ALL, OF_ONE_PANE);
}

/// A file is called after the heads that are in it.
#[test]
fn a_file_is_called_after_what_is_drawn() {
    let mut stage = Stage::open(ViewKind::Heads, HeadSet::only(0));
    let mut options = stage.session().settings.figures;
    options.kind = FileKind::Csv;
    stage.ask(Command::Figure(FigureCommand::Set(options)));
    assert_eq!(stage.proposed(), "demo-gpt_Mary-lost-her-red-keys_L0H0_lines.csv");
    stage.ask(Command::Select(SelectionCommand::Head(HeadId::single(1, 2))));
    assert_eq!(stage.proposed(), "demo-gpt_Mary-lost-her-red-keys_L1H2_lines.csv");
    stage.ask(Command::Select(SelectionCommand::ToggleHead(3)));
    assert_eq!(stage.proposed(), "demo-gpt_Mary-lost-her-red-keys_L1H2-H3_lines.csv");
    stage.ask(Command::Select(SelectionCommand::AllHeads));
    assert_eq!(stage.proposed(), "demo-gpt_Mary-lost-her-red-keys_L1_lines.csv");
    // What an output depends on is of no head.
    stage.ask(Command::Select(SelectionCommand::ShowView(ViewKind::Lab)));
    assert_eq!(stage.proposed(), "demo-gpt_Mary-lost-her-red-keys_explain.csv");
}

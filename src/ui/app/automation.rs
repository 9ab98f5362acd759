//! The opening state, and the run that saves a picture and exits.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use eframe::egui;

use super::{OpenError, Outcome};
use crate::{
    analysis::search::SearchQuery,
    cli::open::OpenOptions,
    corpus::list::ListOptions,
    ids::JobId,
    protocol::{CorpusSource, Event, Failure, ModelSource, Update},
    session::{
        Command, CorpusCommand, LectureCommand, Loadable, PendingSelection, SelectionCommand, Session, SessionCommand,
        ViewKind,
        gallery::{EXAMPLES, Example},
    },
};

/// Frames that nothing may change in before the picture is taken.
const SETTLED_FRAMES: u32 = 3;

/// What to ask for at the start: the given paths, model and text, or the first example.
pub fn opening(options: &OpenOptions) -> Vec<Command> {
    let OpenOptions { model, text, text_b, target, .. } = options;
    // What cannot be understood was refused before there was a window.
    let (addresses, paths) = options.targets().unwrap_or_default();
    let nothing_named = addresses.is_empty() && paths.is_empty() && model.is_none();
    let mut commands = Vec::new();
    if let Some(example) = options.example {
        commands.push(Command::OpenExample(example));
    } else if let Some(stop) = options.lecture {
        commands.push(Command::Lecture(LectureCommand::Show(stop)));
    } else if let (Some(corpus), true) = (&options.corpus, nothing_named) {
        let sees = corpus.is_dir() || corpus.as_os_str() == "demo:pictures";
        let name = if sees { "demo:vit" } else { "demo:bert" };
        commands.push(Command::OpenModel(ModelSource::Bundled(name.to_owned())));
    } else if nothing_named && text.is_none() {
        // A view that the first example cannot show opens with one that can.
        let on_picture = |view: ViewKind| view.facts().lies_on_picture;
        let shows_image = |example: &Example| options.view.is_some_and(on_picture) && on_picture(example.view);
        commands.push(Command::OpenExample(EXAMPLES.iter().position(shows_image).unwrap_or(0)));
    }
    if let Some(text) = text {
        let read = if model.is_some() { Command::SetText } else { Command::OpenText };
        // A text that is opened is one alone, so the second one follows.
        commands.extend([read(text.clone()), Command::SetTextB(text_b.clone())]);
    }
    if options.brackets {
        commands.push(Command::SetBrackets(true));
    }
    if let Some(chat) = options.chat.chosen() {
        commands.push(Command::SetSystem(options.system.clone().unwrap_or_default()));
        commands.push(Command::SetChat(Some(chat)));
    }
    if let Some(target) = target {
        commands.push(Command::SetTarget(target.clone()));
    }
    if let Some(model) = model {
        let source = match model.strip_prefix("demo:") {
            Some(_) => ModelSource::Bundled(model.clone()),
            None => ModelSource::Path(whole(Path::new(model))),
        };
        commands.push(Command::OpenModel(source));
    }
    if let Some(excerpt) = options.excerpt.chosen() {
        commands.push(Command::SetExcerpt(Some(excerpt)));
    }
    if let Some(address) = addresses.into_iter().next() {
        commands.push(Command::Session(SessionCommand::GoTo(Box::new(address))));
    }
    if !paths.is_empty() {
        commands.push(Command::OpenBeside(paths.iter().map(|path| whole(path)).collect()));
    }
    if let Some(path) = options.corpus.as_deref().map(whole) {
        let list = ListOptions {
            text_column: options.text_column.clone(),
            split: options.split.0,
            groups_column: options.groups_column.clone(),
        };
        commands.push(Command::Corpus(CorpusCommand::Open(CorpusSource::Path { path, list })));
    }
    if let Some(text) = options.search.clone() {
        commands.push(Command::Select(SelectionCommand::Search(SearchQuery {
            text,
            kind: options.search_as,
            case: false,
        })));
    }
    commands
}

/// A path that means the same wherever it is read again; what is no path stays a name.
fn whole(path: &Path) -> PathBuf {
    if path.exists() { std::path::absolute(path).unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() }
}

/// What to select once the first capture has arrived.
pub const fn pending_selection(options: &OpenOptions) -> PendingSelection {
    PendingSelection {
        view: options.view,
        stack: options.stack,
        layer: options.layer,
        head: options.head,
        query: options.query,
        key: None,
        space: options.space,
        asked: None,
        sort_by: None,
    }
}

/// A picture shows the window as it is by itself, wherever somebody left the pointer.
pub fn leave_out_pointer(raw_input: &mut egui::RawInput) {
    let moves = |event: &egui::Event| matches!(event, egui::Event::PointerMoved(_) | egui::Event::MouseMoved(_));
    raw_input.events.retain(|event| !moves(event));
}

/// Waits until everything has settled, takes one picture, and ends the program.
#[derive(Debug)]
pub struct Automation {
    screenshot: Option<PathBuf>,
    view: Option<ViewKind>,
    settled_frames: u32,
    export: Option<JobId>,
    outcome: Outcome,
    over: bool,
}

impl Automation {
    /// Waits for what `options` ask for; the end is told to `outcome`.
    pub fn new(options: OpenOptions, outcome: Outcome) -> Self {
        let OpenOptions { screenshot, view, .. } = options;
        Self { screenshot, view, settled_frames: 0, export: None, outcome, over: false }
    }

    /// Whether the window may close.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// The picture was handed to this job.
    pub const fn wait_for(&mut self, job: JobId) {
        self.export = Some(job);
    }

    /// Takes in what became of the picture.
    pub fn on_event(&mut self, event: &Event) {
        if self.export != Some(event.job) {
            return;
        }
        let Some(update) = event.kind.clone().update::<PathBuf>() else { return };
        match update {
            Update::Answer(_) => self.end(Ok(())),
            Update::Failed(failure) => self.fail(&failure),
            Update::Cancelled => self.end(Err(OpenError("the screenshot was not written".to_owned()))),
            Update::Progress(_) => {}
        }
    }

    /// Ends with this failure.
    pub fn fail(&mut self, failure: &Failure) {
        let details = failure.details.replace('\n', "; ");
        let line = if details.is_empty() { failure.summary.clone() } else { format!("{}: {details}", failure.summary) };
        self.end(Err(OpenError(line)));
    }

    /// Counts one frame; gives the path when it is time for the picture.
    pub fn step(&mut self, session: &Session, window_settled: bool) -> Option<PathBuf> {
        if self.over || self.screenshot.is_none() {
            return None;
        }
        if let Some(failure) = first_failure(session) {
            let failure = failure.clone();
            self.fail(&failure);
            return None;
        }
        let (pane, document) = (session.pane(), session.document());
        // Where there is nothing to lay out, that is said instead.
        let lacks = || pane.lacks(document).is_some();
        let projection_ready =
            !pane.view.facts().lays_out_points || matches!(pane.projection, Loadable::Ready(_)) || lacks();
        let ready = matches!(document.capture, Loadable::Ready(_)) && projection_ready;
        if !ready || session.is_busy() || !window_settled {
            self.settled_frames = 0;
            return None;
        }
        if let Some(view) = self.view
            && let Some(reason) = pane.view_unavailable(document, view)
        {
            self.end(Err(OpenError(format!("the {} view cannot be shown: {reason}", view.name()))));
            return None;
        }
        self.settled_frames += 1;
        if self.settled_frames < SETTLED_FRAMES {
            return None;
        }
        self.screenshot.take()
    }

    fn end(&mut self, outcome: Result<(), OpenError>) {
        self.over = true;
        if let Ok(mut slot) = Arc::clone(&self.outcome).lock() {
            // The first reason is the one that matters.
            slot.get_or_insert(outcome);
        }
    }
}

fn first_failure(session: &Session) -> Option<&Failure> {
    let (pane, document) = (session.pane(), session.document());
    let corpus = || document.corpus.as_ref().and_then(|corpus| corpus.data.failure());
    let run = document.model.failure().or_else(|| document.capture.failure());
    run.or_else(corpus).or_else(|| pane.projection.failure())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Chat;

    #[test]
    fn without_arguments_the_first_example_opens() {
        assert_eq!(opening(&OpenOptions::default()), [Command::OpenExample(0)]);
        let sees = OpenOptions { view: Some(ViewKind::Image), ..OpenOptions::default() };
        let [Command::OpenExample(idx)] = opening(&sees)[..] else { panic!("no example") };
        assert_eq!(EXAMPLES[idx].view, ViewKind::Image);
    }

    #[test]
    fn a_text_goes_to_the_model_that_is_given_with_it() {
        let options = OpenOptions {
            model: Some("demo:gpt".to_owned()),
            text: Some("Hello".to_owned()),
            ..OpenOptions::default()
        };
        let wanted = [
            Command::SetText("Hello".to_owned()),
            Command::SetTextB(None),
            Command::OpenModel(ModelSource::Bundled("demo:gpt".to_owned())),
        ];
        assert_eq!(opening(&options), wanted);
    }

    #[test]
    fn a_text_can_be_a_turn_of_a_conversation() {
        let given = ["attnscope", "--model", "m", "--text", "Hello", "--chat", "--no-thinking", "--system", "Be brief"];
        let options = <Alone as clap::Parser>::try_parse_from(given).unwrap().open;
        let chat = Chat { thinking: Some(false), ..Chat::default() };
        let commands = opening(&options);
        assert!(commands.contains(&Command::SetChat(Some(chat))), "{commands:?}");
        assert!(commands.contains(&Command::SetSystem("Be brief".to_owned())), "{commands:?}");
        let without = |given: &[&str]| <Alone as clap::Parser>::try_parse_from(given).is_err();
        assert!(without(&["attnscope", "--text", "Hello", "--system", "Be brief"]), "nobody says it is a conversation");
    }

    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        open: OpenOptions,
    }

    #[test]
    fn a_failure_is_one_line() {
        let outcome = Outcome::default();
        let mut automation = Automation::new(OpenOptions::default(), Arc::clone(&outcome));
        automation.fail(&Failure { summary: "No weights".to_owned(), details: "Add them\n/a/b".to_owned() });
        let ended = outcome.lock().unwrap().clone();
        assert_eq!(ended, Some(Err(OpenError("No weights: Add them; /a/b".to_owned()))));
        assert!(automation.is_over());
    }
}

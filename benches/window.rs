//! Frames of the whole window with four panes of 512 tokens × 12 heads, layout to triangles, without a
//! screen: with nothing else going on (budget: 12 ms at the median), and while a model of bert-base's size
//! runs, a projection is computed and figures are saved (budget: no frame above 50 ms).
//!
//! Not a microbenchmark: what matters is the slowest frame of a session with everything switched on, so
//! every frame counts and all of them are told.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![expect(clippy::print_stdout, reason = "this is what it is for")]

#[path = "support/bert_base.rs"]
mod bert_base;
#[path = "support/window.rs"]
mod window;

use std::time::Duration;

use attnscope::{
    analysis::projection::ScaleChoice,
    cli::open::OpenOptions,
    session::{Command, FigureCommand, FigureOptions, FileKind, HeadStep, Loadable, SelectionCommand, Split, ViewKind},
};
use bert_base::{N_TOKENS, write_checkpoint};
use window::{Frame, Window};

/// Frames that are measured with nothing else going on.
const QUIET_FRAMES: usize = 300;

fn main() {
    // `cargo test --benches` only looks whether it starts.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_checkpoint(folder.path());
    let options = OpenOptions {
        model: Some(folder.path().to_str().unwrap().to_owned()),
        text: Some(words(0)),
        ..OpenOptions::default()
    };
    let mut window = Window::open(options, folder.path().to_owned());
    window.wait(|app| matches!(app.session().document().capture, Loadable::Ready(_)));
    window.four_panes();
    window.wait(|app| !app.session().panes.iter().any(|pane| pane.projection.is_pending()));
    report("four panes, pointer moving", &window.frames(QUIET_FRAMES, |_, _| ()));
    report("while a run, a projection and an export go on", &window.under_load());
}

fn report(what: &str, frames: &[Frame]) {
    println!("{what}: {} frames", frames.len());
    let of = |name: &str, time: fn(&Frame) -> Duration| {
        let mut sorted: Vec<Duration> = frames.iter().map(time).collect();
        sorted.sort_unstable();
        let ms = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        println!("  {name}: median {:.1} ms, p95 {:.1} ms, slowest {:.1} ms", ms(0.5), ms(0.95), ms(1.0));
    };
    of("from start to end", |frame| frame.wall);
    of("of that on a processor", |frame| frame.cpu);
}

impl Window {
    /// Lines and a heatmap above, other lines and the matrix below.
    fn four_panes(&mut self) {
        for command in [
            Command::Select(SelectionCommand::AllHeads),
            Command::SplitPane(Split::Right),
            Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)),
            Command::SplitPane(Split::Below),
            Command::Select(SelectionCommand::ShowView(ViewKind::Heads)),
            Command::ToggleLink,
            Command::Select(SelectionCommand::Layer(5)),
            Command::SplitPane(Split::Right),
            Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)),
        ] {
            self.ask(command);
            self.frame();
        }
        self.frames(60, |_, _| ());
        assert_eq!(self.harness.state().session().panes.iter().count(), 4);
    }

    /// Frames from the start of all work to the end of the last, with steps through layers between.
    fn under_load(&mut self) -> Vec<Frame> {
        let figures = FigureOptions { kind: FileKind::Pdf, ..FigureOptions::default() };
        self.ask(Command::Figure(FigureCommand::Set(figures)));
        let mut frames = Vec::new();
        for round in 1..=4 {
            let mut options = self.harness.state().session().pane().options.clone();
            options.scatter.projection.scale = ScaleChoice::Fixed(1.0 + round as f32);
            self.ask(Command::SetViewOptions(options));
            self.ask(Command::Figure(FigureCommand::Save));
            self.ask(Command::SetText(words(round)));
            self.ask(Command::Run);
            frames.extend(self.frames(40, |window, at| {
                if at % 10 == 5 {
                    window.ask(Command::Select(SelectionCommand::Step(HeadStep::NextLayer)));
                }
            }));
            while self.harness.state().session().is_busy() {
                frames.push(self.paced_frame());
            }
        }
        frames
    }
}

/// As many words as the model reads, others each time.
fn words(round: usize) -> String {
    let words: Vec<_> = (0..N_TOKENS).map(|at| format!("w{}", (at * 7 + round * 31) % 1000)).collect();
    words.join(" ")
}

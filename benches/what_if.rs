//! How long a change of a run takes to be seen, on bundled models, in the real window with its real threads: from the
//! command of a click to the end of the frame that draws the changed run (budget: 100 ms), and how many runs a second
//! are drawn while the α of a normaliser is dragged with another value in every frame (at least 10).

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![expect(clippy::print_stdout, reason = "this is what it is for")]

#[path = "support/window.rs"]
mod window;

use std::time::{Duration, Instant};

use attnscope::{
    capture::{Edit, HideToken, Normalize, Normalizer, Scope},
    cli::open::OpenOptions,
    ids::{CaptureId, Side},
    session::{ChangeCommand, Command, Drag, Loadable, SelectionCommand, ViewKind},
};
use window::Window;

const MODELS: [&str; 4] = ["demo:bert", "demo:gpt", "demo:sentiment", "demo:vit"];
const VIEWS: [ViewKind; 3] = [ViewKind::Heads, ViewKind::Heatmap, ViewKind::Matrix];
const CLICKS: usize = 12;
const DRAGGED: Duration = Duration::from_secs(3);
/// Somebody who waits longer has gone.
const MOST: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only looks whether it starts.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    // `cargo bench --bench what_if -- demo:vit heads`: these models and views alone.
    let is_wanted = |name: &str, all: &[&str]| {
        let is_named = |name: &str| arguments.iter().any(|argument| argument.eq_ignore_ascii_case(name));
        is_named(name) || !all.iter().any(|other| is_named(other))
    };
    let labels = VIEWS.map(ViewKind::label);
    let folder = tempfile::tempdir().unwrap();
    for model in MODELS.into_iter().filter(|model| is_wanted(model, &MODELS)) {
        for view in VIEWS.into_iter().filter(|view| is_wanted(view.label(), &labels)) {
            let options = OpenOptions { model: Some(model.to_owned()), ..OpenOptions::default() };
            let mut window = Window::open(options, folder.path().to_owned());
            window.wait(|app| matches!(app.session().document().capture, Loadable::Ready(_)));
            window.ask(Command::Select(SelectionCommand::ShowView(view)));
            window.frames(60, |_, _| ());
            measure(&mut window, model, view);
        }
    }
}

/// The only change, turned in a drag that began at this time.
fn replaced(by: Edit, begun: f64) -> ChangeCommand {
    ChangeCommand::Replace(0, by.into(), Drag(begun))
}

fn measure(window: &mut Window, model: &str, view: ViewKind) {
    let capture = window.harness.state().session().document().latest_capture().unwrap().clone();
    let side = [Side::Only, Side::Encoder].into_iter().find(|side| !capture.tokens(*side).is_empty()).unwrap();
    let n = capture.tokens(side).len();
    let hide = |position: usize| Edit::HideToken(HideToken { side, position: 1 + position % (n - 1) });
    // The first change opens a pane with the unchanged run beside it.
    let first = changed(window, ChangeCommand::Add(vec![hide(0).into()]));
    let mut times: Vec<Duration> =
        (1..=CLICKS).map(|position| changed(window, replaced(hide(position), position as f64))).collect();
    times.sort_unstable();
    let _ = changed(window, ChangeCommand::Clear);
    let turned = |alpha: f32| Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Entmax(alpha) });
    let _ = changed(window, ChangeCommand::Add(vec![turned(1.5).into()]));
    let (started, mut drawn, mut n_drawn, mut slowest) = (Instant::now(), shown(window), 0, Duration::ZERO);
    let mut n_frames: u16 = 0;
    while started.elapsed() < DRAGGED {
        n_frames += 1;
        let alpha = 1.1 + 0.8 * f32::from(n_frames % 100) / 100.0;
        window.ask(Command::Change(replaced(turned(alpha), 0.0)));
        slowest = slowest.max(window.paced_frame().wall);
        if shown(window) != drawn {
            (drawn, n_drawn) = (shown(window), n_drawn + 1);
        }
    }
    let rate = f64::from(n_drawn) / started.elapsed().as_secs_f64();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{model}, {view:?}, {n} tokens: first change seen after {:.0} ms, others {:.0} ms (slowest {:.0}); \
         dragged: {rate:.0} runs a second, {n_frames} frames, slowest {:.0} ms",
        ms(first),
        ms(times[CLICKS / 2]),
        ms(times[CLICKS - 1]),
        ms(slowest)
    );
}

/// The changed run that the last frame drew.
fn shown(window: &Window) -> CaptureId {
    window.harness.state().session().changing().latest_capture().unwrap().id()
}

/// How long until a change is seen: to the end of the first frame that was drawn of the new run.
fn changed(window: &mut Window, command: ChangeCommand) -> Duration {
    let before = shown(window);
    let started = Instant::now();
    window.ask(Command::Change(command));
    while shown(window) == before {
        window.paced_frame();
        assert!(started.elapsed() < MOST, "the change is never seen");
    }
    let seen = started.elapsed();
    // What else it brings, such as layouts of points, is not waited for by the next click.
    window.frames(30, |_, _| ());
    seen
}

//! The real window with its real threads, without a screen, frame by frame.

#![allow(dead_code, reason = "each benchmark uses a part")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use attnscope::{
    cli::open::OpenOptions,
    session::{Command, FilePurpose},
    ui::{
        App,
        app::Startup,
        shell::{Choice, Desktop, ScreenshotFn},
    },
    worker::{ModelEngine, SessionEngine, Workers},
};
use eframe::egui::{Context, Event, pos2};
use egui_kittest::Harness;

/// A frame on a screen of 60 Hz.
const FRAME: Duration = Duration::from_millis(16);

/// How long a frame took, and how much of that its thread ran: the rest it waited for a free processor.
#[derive(Clone, Copy)]
pub struct Frame {
    pub wall: Duration,
    pub cpu: Duration,
}

/// How long this thread has run; nothing where the system does not tell (anything but Linux).
fn thread_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Nobody chooses files; whatever is saved goes here.
pub struct Folder(pub PathBuf);

impl Desktop for Folder {
    fn pick(&mut self, _: FilePurpose) -> Choice {
        Box::pin(std::future::ready(None))
    }

    fn save(&mut self, _: &str, extension: &str) -> Choice {
        Box::pin(std::future::ready(Some(vec![self.0.join("figure").with_extension(extension)])))
    }

    fn screenshot(&mut self, _: &Context, _: ScreenshotFn) {}
}

/// The real window with its real threads, without a screen.
pub struct Window {
    pub harness: Harness<'static, App>,
    n_frames: usize,
}

impl Window {
    /// Opened with these options; what is saved goes to `folder`.
    pub fn open(options: OpenOptions, folder: PathBuf) -> Self {
        let desktop = Box::new(Folder(folder));
        let harness = Harness::builder().with_size([1600.0, 1000.0]).build_eframe(move |cc| {
            let jobs = |wake| Workers::spawn(ModelEngine::new()?, None, SessionEngine::default(), wake);
            Startup::new(jobs, desktop, options, Instant::now()).unwrap().attach(cc).unwrap()
        });
        Self { harness, n_frames: 0 }
    }

    pub fn ask(&self, command: Command) {
        self.harness.state().request(command);
    }

    /// One frame with the pointer somewhere else than before, to triangles; how long it took.
    pub fn frame(&mut self) -> Frame {
        self.n_frames += 1;
        let at = self.n_frames as f32;
        self.harness.event(Event::PointerMoved(pos2(300.0 + at * 7.0 % 1000.0, 120.0 + at * 3.0 % 800.0)));
        let (started, ran) = (Instant::now(), thread_time());
        self.harness.step();
        let output = self.harness.output();
        std::hint::black_box(self.harness.ctx.tessellate(output.shapes.clone(), output.pixels_per_point));
        Frame { wall: started.elapsed(), cpu: thread_time().saturating_sub(ran) }
    }

    /// One frame, and what is left of its time on the screen.
    pub fn paced_frame(&mut self) -> Frame {
        let frame = self.frame();
        std::thread::sleep(FRAME.saturating_sub(frame.wall));
        frame
    }

    pub fn wait(&mut self, done: impl Fn(&App) -> bool) {
        while !done(self.harness.state()) {
            self.paced_frame();
        }
    }

    pub fn frames(&mut self, n: usize, between: impl Fn(&Self, usize)) -> Vec<Frame> {
        let mut frames = Vec::with_capacity(n);
        for at in 0..n {
            between(self, at);
            frames.push(self.paced_frame());
        }
        frames
    }
}

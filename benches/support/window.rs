//! The real window with its real threads, without a screen, frame by frame.

#![allow(dead_code, reason = "each benchmark uses a part")]

use std::{
    collections::HashMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use attnscope::{
    cli::open::OpenOptions,
    model::ComputeDevice,
    session::{Command, FilePurpose},
    ui::{
        App,
        app::Startup,
        shell::{Choice, Desktop, ScreenshotFn},
    },
    worker::{ModelEngine, SessionEngine, Workers, disk_cache::DiskCache},
};
use eframe::egui::{Context, Event, TextureId, TexturesDelta, pos2};
use egui_kittest::{Harness, TestRenderer};

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

    fn new_window(&mut self) -> std::io::Result<()> {
        Err(std::io::Error::other("one window is measured at a time"))
    }

    fn screenshot(&mut self, _: &Context, _: ScreenshotFn) {}
}

/// Holds the textures as a painter does, and paints nothing. The harness's own painter begins when the first picture is
/// asked for, and until then keeps everything that it was ever told.
#[derive(Default)]
struct Textures(HashMap<TextureId, Vec<u8>>);

impl TestRenderer for Textures {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        for (id, deltas) in delta.set.drain() {
            // A part of a texture is painted over what is there.
            for whole in deltas.into_iter().filter(|delta| delta.pos.is_none()) {
                self.0.insert(id, vec![0; whole.image.width() * whole.image.height() * whole.image.bytes_per_pixel()]);
            }
        }
        delta.free.drain().for_each(|id| drop(self.0.remove(&id)));
    }

    fn render(&mut self, _: &Context, _: &eframe::egui::FullOutput) -> Result<image::RgbaImage, String> {
        Err("nothing is painted".to_owned())
    }
}

/// The real window with its real threads, without a screen.
pub struct Window {
    pub harness: Harness<'static, App>,
    n_frames: usize,
}

impl Window {
    /// Opened with these options; what is saved goes to `folder`.
    pub fn open(options: OpenOptions, folder: PathBuf) -> Self {
        Self::with(options, folder, None, SessionEngine::default())
    }

    /// The same, which keeps its results and its session in folders of `folder`, as the program does.
    pub fn that_keeps(options: OpenOptions, folder: PathBuf) -> Self {
        let scratch = DiskCache::at(folder.join("cache"), 1 << 30);
        let sessions = SessionEngine::new(Some(folder.join("sessions")));
        Self::with(options, folder, Some(scratch), sessions)
    }

    fn with(options: OpenOptions, folder: PathBuf, scratch: Option<DiskCache>, sessions: SessionEngine) -> Self {
        let desktop = Box::new(Folder(folder));
        let builder = Harness::builder().with_size([1600.0, 1000.0]).renderer(Textures::default());
        let harness = builder.build_eframe(move |cc| {
            let engine = ModelEngine::new(ComputeDevice::Cpu).unwrap().with_scratch(scratch.clone());
            let jobs = |wake| Workers::spawn(engine, scratch, sessions, wake);
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

    /// The time of so many frames in which nobody touches anything.
    pub fn leave_alone(&mut self, n: usize) {
        for _ in 0..n {
            let started = Instant::now();
            self.harness.step();
            std::thread::sleep(FRAME.saturating_sub(started.elapsed()));
        }
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

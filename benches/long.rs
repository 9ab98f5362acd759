//! Frames of the whole window on one head of a long text, layout to triangles, without a screen: 4,096 tokens in Heads
//! and in the Heatmap (budget: 8 ms on a processor at the median), and 32,768 tokens in the Heatmap while it is zoomed
//! and dragged (16 ms), all of it while patterns are read beside it.
//!
//! Queries and keys come from a capture file, so that no model has to run.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![expect(clippy::print_stdout, reason = "this is what it is for")]

#[path = "support/window.rs"]
mod window;

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use attnscope::{
    capture::{
        Capture, CaptureParts, Computation, InputInfo, LayerCapture, PerHead, Site, StackCapture, Token,
        file::{self, Contents},
    },
    cli::open::OpenOptions,
    ids::{CaptureId, Side, StackKind},
    session::{Command, Loadable, SelectionCommand, ViewKind},
    spec::{LayerSpec, Longer, Modality, ModelSpec, StackSpec, TextSpec},
};
use eframe::egui::{Event, Modifiers, PointerButton, pos2};
use window::{Frame, Window};

const D_HEAD: usize = 64;
const FRAMES: usize = 200;

fn main() {
    // `cargo test --benches` only looks whether it starts.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let lengths: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let lengths = if lengths.is_empty() { vec![4_096, 32_768] } else { lengths };
    let folder = tempfile::tempdir().unwrap();
    for n_tokens in lengths {
        let path = write_capture(folder.path(), n_tokens);
        let mut window =
            Window::open(OpenOptions { paths: vec![path], ..OpenOptions::default() }, folder.path().to_owned());
        window.wait(|app| matches!(app.session().document().capture, Loadable::Ready(_)));
        for view in [ViewKind::Heads, ViewKind::Heatmap] {
            window.ask(Command::Select(SelectionCommand::ShowView(view)));
            window.frames(20, |_, _| ());
            report(&format!("{n_tokens} tokens, {}, pointer moving", view.label()), &window.frames(FRAMES, |_, _| ()));
        }
        report(&format!("{n_tokens} tokens, Heatmap, zoomed and dragged"), &window.zoomed_and_dragged());
        println!("  most memory so far: {}", most_memory().unwrap_or_else(|| "not told by this system".to_owned()));
    }
}

/// The most that this process has held, as Linux tells it.
fn most_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().to_owned())
}

fn report(what: &str, frames: &[Frame]) {
    let of = |name: &str, time: fn(&Frame) -> Duration| {
        let mut sorted: Vec<Duration> = frames.iter().map(time).collect();
        sorted.sort_unstable();
        let ms = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        println!("  {name}: median {:.1} ms, p95 {:.1} ms, slowest {:.1} ms", ms(0.5), ms(0.95), ms(1.0));
    };
    println!("{what}: {} frames", frames.len());
    of("from start to end", |frame| frame.wall);
    of("of that on a processor", |frame| frame.cpu);
}

impl Window {
    /// In the middle of the view nearer in steps, and dragged in between.
    fn zoomed_and_dragged(&mut self) -> Vec<Frame> {
        let middle = pos2(700.0, 550.0);
        let mut frames = Vec::new();
        for _ in 0..6 {
            self.harness.event(Event::PointerMoved(middle));
            for _ in 0..5 {
                self.harness.event(Event::Zoom(1.15));
                frames.push(self.paced_frame());
            }
            for pressed in [true, false] {
                let button = PointerButton::Primary;
                self.harness.event(Event::PointerMoved(middle));
                self.harness.event(Event::PointerButton { pos: middle, button, pressed, modifiers: Modifiers::NONE });
                frames.extend(self.frames(20, |_, _| ()));
            }
        }
        frames
    }
}

/// One head of one layer: queries and keys in a fixed sequence, nothing else.
fn write_capture(folder: &Path, n_tokens: usize) -> PathBuf {
    let mut seed = 7u64;
    let mut vectors = || {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 3.0
        };
        let values: Vec<f32> = (0..n_tokens * D_HEAD).map(|_| next()).collect();
        PerHead::new(values, [1, n_tokens, D_HEAD]).unwrap()
    };
    let layer = LayerCapture::of([(Site::Q, vectors()), (Site::K, vectors())]);
    let token = |at: usize| Token { text: format!("w{}", at * 7 % 1000), id: Some(at as u32), ..Token::default() };
    let capture = Capture::new(CaptureParts {
        id: CaptureId(1),
        model: Arc::new(ModelSpec {
            name: "one head".to_owned(),
            family: "llama".to_owned(),
            modality: Modality::Text(TextSpec { n_ctx: n_tokens, n_vocab: n_tokens, longer: Longer::default() }),
            stacks: vec![StackSpec {
                kind: StackKind::SelfAttention,
                layers: vec![LayerSpec::new(1, D_HEAD)],
                causal: true,
            }],
            d_model: D_HEAD,
            n_params: 0,
            head: None,
            checkpoint: None,
        }),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, (0..n_tokens).map(token).collect())]),
        stacks: vec![StackCapture { kind: StackKind::SelfAttention, layers: vec![layer], ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap();
    let path = folder.join(format!("{n_tokens}.safetensors"));
    file::write(&[&capture], Contents::of(&[Site::Q, Site::K]), &mut File::create(&path).unwrap()).unwrap();
    path
}

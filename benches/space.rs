//! The canvas of all heads with synthetic clouds, as a window without a graphics card would draw it, layout to
//! triangles, without a screen: 144 heads × 10,000 points (budget: first picture 1 s after the coordinates exist; 16 ms
//! at the median and 33 ms at the 95th percentile while panning and zooming; 1 ms for what is under the pointer), and
//! 144 × 28,000 (33 ms at the median).
//!
//! Not a microbenchmark: every frame of a session counts, and pictures of cells are drawn beside it all the while.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use attnscope::{
    analysis::{
        PointCloud,
        point_set::{PointSet, Spot},
        projection::{Dims, HeadProjection, Projection, ProjectionOptions},
        reading::store::PatternStore,
    },
    capture::{Capture, CaptureParts, Computation, InputInfo, LayerCapture, PerHead, Site, StackCapture, Token},
    ids::{CaptureId, HeadId, Side, StackKind},
    session::{Command, Loadable, PickChange, SelectionCommand, Session, Settings, ViewKind},
    spec::{LayerSpec, Longer, Modality, ModelSpec, StackSpec, TextSpec},
    ui::{
        CommandQueue, PanelCtx, QueuedCommand, hovering,
        painting::{self, Painting},
        theme::Theme,
        views::Views,
    },
};
use eframe::egui::{Context, Event, Modifiers, MouseWheelUnit, Pos2, RawInput, Rect, TouchPhase, Vec2, pos2, vec2};

const LAYERS: usize = 12;
const HEADS: usize = 12;
const SIZE: Vec2 = vec2(1280.0, 800.0);
/// A frame on a screen of 60 Hz.
const FRAME: Duration = Duration::from_millis(16);

fn main() {
    // `cargo test --benches` only looks whether it starts.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    for n_points in [10_000, 28_000] {
        println!("{} heads × {n_points} points", LAYERS * HEADS);
        measure(n_points);
    }
}

fn measure(n_points: usize) {
    let mut window = Window::new(n_points);
    let started = Instant::now();
    window.until_settled();
    println!("  first picture of all heads: {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    report("pointer moving over all heads", &window.frames(200, |_, at| vec![Window::pointer_at(at)]));
    // In and out again, twice, with pauses as a hand makes them.
    let zoom = |_: &Window, at: usize| {
        let step = if (at / 60).is_multiple_of(2) { 14.0 } else { -14.0 };
        vec![Event::PointerMoved(pos2(740.0, 420.0)), wheel(step)]
    };
    report("zooming from all heads into one and back", &window.frames(240, zoom));
    window.frames(40, |_, _| vec![wheel(9.0)]);
    report("panning among some heads", &window.drag(200));
    window.frames(60, |_, _| vec![wheel(30.0)]);
    report("pointer moving over one head", &window.frames(200, |_, at| vec![Window::pointer_at(at)]));
    window.frames(20, |_, _| vec![wheel(14.0)]);
    report("panning within one head", &window.drag(200));
    let picked: PointSet = (0..n_points / 4).map(Spot::Query).collect();
    window.ask(Command::Select(SelectionCommand::PickPoints(picked, PickChange::Replace)));
    let started = Instant::now();
    window.until_settled();
    println!("  a quarter picked, seen after {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    window.ask(Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)));
    report("flying back to all heads", &window.frames(60, |_, _| Vec::new()));
}

fn report(what: &str, frames: &[Frame]) {
    let of = |time: fn(&Frame) -> Duration| {
        let mut sorted: Vec<Duration> = frames.iter().map(time).collect();
        sorted.sort_unstable();
        [0.5, 0.95, 1.0].map(|part| sorted[((sorted.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3)
    };
    let ([median, p95, most], cpu) = (of(|frame| frame.wall), of(|frame| frame.cpu));
    println!(
        "  {what}: median {median:.2} ms, p95 {p95:.2} ms, slowest {most:.2} ms (of that on a processor {:.2}, {:.2}, {:.2})",
        cpu[0], cpu[1], cpu[2]
    );
}

fn wheel(y: f32) -> Event {
    Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, y),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: eframe::egui::MouseWheelSource::Wheel,
    }
}

/// How long a frame took, and how much of that its thread ran: the rest it waited for a free processor.
#[derive(Clone, Copy)]
struct Frame {
    wall: Duration,
    cpu: Duration,
}

/// How long this thread has run; nothing where the system does not tell (anything but Linux).
fn thread_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// One pane over all of a window that nobody sees, painted by the processor.
struct Window {
    ctx: Context,
    session: Session,
    views: Views,
    patterns: PatternStore,
    started: Instant,
}

impl Window {
    fn new(n_points: usize) -> Self {
        let capture = Arc::new(capture(n_points / 2));
        let mut session = Session::new(Settings::default());
        session.documents[0].capture = Loadable::Ready(Arc::clone(&capture));
        let pane = session.panes.active_mut();
        pane.view = ViewKind::Matrix;
        pane.projection = Loadable::Ready(Arc::new(projection(capture, n_points / 2)));
        let ctx = Context::default();
        attnscope::ui::glyphs::install(&ctx);
        ctx.set_global_style(Theme::light().style());
        Painting::Software.install(&ctx);
        let (views, patterns) = (Views::default(), PatternStore::default());
        let mut window = Self { ctx, session, views, patterns, started: Instant::now() };
        // Fonts are loaded once per program, not per view.
        window.session.documents[0].capture = Loadable::Empty;
        window.frame(Vec::new());
        let Loadable::Ready(projection) = &window.session.pane().projection else { return window };
        let PointCloud::Input(capture) = &projection.cloud else { return window };
        window.session.documents[0].capture = Loadable::Ready(Arc::clone(capture));
        window
    }

    fn pointer_at(at: usize) -> Event {
        Event::PointerMoved(pos2(200.0 + (at * 7 % 900) as f32, 150.0 + (at * 3 % 500) as f32))
    }

    fn ask(&mut self, command: Command) {
        drop(self.session.apply(command));
    }

    fn frame(&mut self, events: Vec<Event>) -> Frame {
        let (started, ran) = (Instant::now(), thread_time());
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SIZE)),
            time: Some(self.started.elapsed().as_secs_f64()),
            events,
            ..RawInput::default()
        };
        let theme = Theme::light();
        let commands = CommandQueue::default();
        let output = self.ctx.run_ui(input, |ui| {
            let cx = PanelCtx::new(&self.session, &theme, &commands, &self.patterns);
            self.views.ui(self.session.pane().view, ui, &cx);
        });
        for QueuedCommand { command, .. } in hovering::join(&self.session, Vec::new(), commands.take()) {
            self.ask(command);
        }
        let (shapes, pixels_per_point) = (output.shapes.clone(), output.pixels_per_point);
        output.drop_without_applying_deltas();
        std::hint::black_box(self.ctx.tessellate(shapes, pixels_per_point));
        Frame { wall: started.elapsed(), cpu: thread_time().saturating_sub(ran) }
    }

    fn frames(&mut self, n: usize, events: impl Fn(&Self, usize) -> Vec<Event>) -> Vec<Frame> {
        let mut frames = Vec::with_capacity(n);
        for at in 0..n {
            let events = events(self, at);
            let frame = self.frame(events);
            std::thread::sleep(FRAME.saturating_sub(frame.wall));
            frames.push(frame);
        }
        frames
    }

    /// The primary button held, to and fro.
    fn drag(&mut self, n: usize) -> Vec<Frame> {
        let button = |pressed| Event::PointerButton {
            pos: pos2(640.0, 400.0),
            button: eframe::egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frames(2, |_, at| vec![Event::PointerMoved(pos2(640.0, 400.0)), button(at == 1)]);
        let to_and_fro = |at: usize| (at as f32 * 0.05).sin() * 300.0;
        let frames = self.frames(n, |_, at| {
            vec![Event::PointerMoved(pos2(640.0 + to_and_fro(at), 400.0 + to_and_fro(at + 9) * 0.5))]
        });
        self.frames(1, |_, _| vec![button(false)]);
        frames
    }

    /// Frames until everything is drawn as it will stay.
    fn until_settled(&mut self) {
        let mut settled = 0;
        while settled < 2 {
            self.frame(Vec::new());
            settled = if painting::is_settled(&self.ctx) { settled + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A model of so many heads that read `n` tokens; its queries and keys are all zero, their layout is made up.
fn capture(n: usize) -> Capture {
    let layer = LayerSpec::new(HEADS, 2);
    let stack = StackSpec { kind: StackKind::SelfAttention, layers: vec![layer; LAYERS], causal: false };
    let model = ModelSpec {
        name: "synthetic".to_owned(),
        family: "bert".to_owned(),
        modality: Modality::Text(TextSpec { n_ctx: n, n_vocab: 1000, longer: Longer::default() }),
        stacks: vec![stack],
        d_model: 2 * HEADS,
        n_params: 1,
        head: None,
        checkpoint: None,
    };
    let zeros = || PerHead::new(vec![0.0; HEADS * n * 2], [HEADS, n, 2]).unwrap();
    let recorded = || LayerCapture::of([(Site::Q, zeros()), (Site::K, zeros())]);
    let token =
        |at: usize| Token { text: format!("w{}", at * 7 % 1009), id: Some(at as u32 % 1000), ..Token::default() };
    let layers = (0..LAYERS).map(|_| recorded()).collect();
    Capture::new(CaptureParts {
        id: CaptureId(n as u64),
        model: Arc::new(model),
        input: InputInfo { text: Some(String::new()), ..InputInfo::default() },
        tokens: BTreeMap::from([(Side::Only, (0..n).map(token).collect())]),
        stacks: vec![StackCapture { kind: StackKind::SelfAttention, layers, ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

/// Spirals, rings and crowds, another one in each head.
fn projection(capture: Arc<Capture>, n: usize) -> Projection {
    let head = |layer: usize, head: usize| {
        let mut state = (layer * HEADS + head) as u32 + 1;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let mut points = |turn: f32| -> Vec<[f32; 3]> {
            let at = |at: usize, random: &mut dyn FnMut() -> f32| {
                let part = at as f32 / n as f32;
                let (x, y) = match (layer + head) % 3 {
                    0 => (part * (part * 30.0 + turn).cos(), part * (part * 30.0 + turn).sin()),
                    1 => ((part * 6.3).cos(), (part * 6.3 + turn).sin()),
                    _ => ((at % 17) as f32 * 0.1, (at % 11) as f32 * 0.1 + turn),
                };
                [x + 0.1 * random() * random(), y + 0.1 * random() * random(), 0.0]
            };
            (0..n).map(|idx| at(idx, &mut random)).collect()
        };
        Arc::new(HeadProjection {
            head: HeadId::single(layer, head),
            queries: points(0.0),
            keys: points(0.3),
            c: 1.0,
            explained: [0.5, 0.2, 0.0],
            refined: None,
            correlation_before: -0.3,
            correlation_after: -0.8,
        })
    };
    let heads = (0..LAYERS).flat_map(|layer| (0..HEADS).map(move |idx| (layer, idx)));
    let options = ProjectionOptions::default();
    debug_assert_eq!(options.layout.dims, Dims::Plane);
    Projection {
        cloud: PointCloud::Input(capture),
        stack: StackKind::SelfAttention,
        options,
        heads: heads.map(|(layer, idx)| head(layer, idx)).collect(),
    }
}

//! One frame of each heavy view, layout to triangles, at 512 tokens × 12 layers × 12 heads; paths through all layers at 64
//! tokens, running text at 4,096. The budget is 8 ms. All heads at once of a model of 12 × 12 and of 32 × 32 heads
//! (12 ms): until every cell is there (300 ms, of 12 × 12), and a frame after that. Numbers of all heads and the page of
//! one: from the answer to the first frame (300 ms), and a frame after that (8 ms).

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

#[path = "../tests/it/support/synthetic.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with the tests, which use all of it")]
mod synthetic;

use std::sync::{Arc, LazyLock};

use attnscope::{
    analysis::{
        PointCloud,
        projection::{Projection, ProjectionOptions, project},
        reading::store::PatternStore,
    },
    capture::Capture,
    figure::views::{atlas::PointColors, grid::CellsAs},
    ids::StackKind,
    protocol::{Event as Answer, EventKind, Request, SurveyAnswer},
    session::{Effect, Focus, Loadable, Session, Settings, ViewKind},
    ui::{CommandQueue, PanelCtx, QueuedCommand, hovering, theme::Theme, views::Views},
};
use eframe::egui::{Context, Event, RawInput, Rect, pos2, vec2};

static CAPTURE: LazyLock<Arc<Capture>> = LazyLock::new(|| Arc::new(synthetic::causal_text_capture(512, 12, 12)));
static SHORT: LazyLock<Arc<Capture>> = LazyLock::new(|| Arc::new(synthetic::causal_text_capture(64, 12, 12)));
static PROJECTION: LazyLock<Option<Arc<Projection>>> = LazyLock::new(|| {
    project(
        &PointCloud::Input(Arc::clone(&CAPTURE)),
        StackKind::SelfAttention,
        ProjectionOptions::default(),
        &mut |_, _| true,
    )
    .map(Arc::new)
});

static LONG: LazyLock<Arc<Capture>> = LazyLock::new(|| Arc::new(synthetic::causal_text_capture(4096, 1, 2)));

const VIEWS: [ViewKind; 6] =
    [ViewKind::Heads, ViewKind::Heatmap, ViewKind::Grid, ViewKind::Matrix, ViewKind::Paths, ViewKind::Text];

/// Layers, and heads of each, of the models whose heads are all shown at once.
const GRIDS: [usize; 2] = [12, 32];
/// Views that wait for an answer about all heads, or about one over all inputs.
const SURVEYS: [ViewKind; 2] = [ViewKind::Atlas, ViewKind::HeadPage];
static LARGE: LazyLock<Arc<Capture>> = LazyLock::new(|| Arc::new(synthetic::causal_text_capture(512, 32, 32)));

/// What a view is measured on.
fn capture(view: ViewKind) -> Arc<Capture> {
    Arc::clone(match view {
        ViewKind::Paths => &SHORT,
        ViewKind::Text => &LONG,
        _ => &CAPTURE,
    })
}

/// A window without a screen.
struct Stage {
    ctx: Context,
    session: Session,
    views: Views,
    patterns: PatternStore,
    frame: usize,
    /// Whether something was on its way in the last frame.
    waits: bool,
    /// Effects of all frames that nobody has carried out.
    asked: Vec<Effect>,
}

impl Stage {
    fn new(view: ViewKind) -> Self {
        Self::of(capture(view), view)
    }

    /// All heads of a model of `side` layers and heads.
    fn of_heads(side: usize, cells: CellsAs) -> Self {
        let capture = if side == 32 { Arc::clone(&LARGE) } else { capture(ViewKind::Grid) };
        let mut stage = Self::of(capture, ViewKind::Grid);
        stage.session.panes.active_mut().options.grid.cells = cells;
        stage
    }

    /// Numbers of all heads of a model of 32 × 32, or the page of one, with the answers to all that the view asks.
    fn surveyed(view: ViewKind) -> Self {
        let mut stage = Self::of(Arc::clone(&LARGE), view);
        stage.session.panes.active_mut().options.atlas.point_color = PointColors::Family;
        // The families are asked for once the numbers are there.
        for _ in 0..2 {
            stage.draw();
            stage.answer();
        }
        stage
    }

    /// Answers questions about the capture, as the worker does.
    fn answer(&mut self) {
        for effect in std::mem::take(&mut self.asked) {
            let Effect::Submit(job, request) = effect else { continue };
            let lane = request.lane();
            let Request::Survey { survey, .. } = request else { continue };
            let found = survey.answer(&mut |_, _| true).unwrap().unwrap();
            let kind = EventKind::Survey(SurveyAnswer::Found(Arc::new(found)));
            self.asked.extend(self.session.on_event(Answer { job, lane, kind }));
        }
    }

    fn of(capture: Arc<Capture>, view: ViewKind) -> Self {
        let mut session = Session::new(Settings::default());
        session.documents[0].capture = Loadable::Ready(Arc::clone(&capture));
        if let Some(projection) = &*PROJECTION {
            session.panes.active_mut().projection = Loadable::Ready(Arc::clone(projection));
        }
        session.panes.active_mut().view = view;
        let ctx = Context::default();
        attnscope::ui::glyphs::install(&ctx);
        ctx.set_global_style(Theme::light().style());
        let (views, patterns) = (Views::default(), PatternStore::default());
        let mut stage = Self { ctx, session, views, patterns, frame: 0, waits: true, asked: Vec::new() };
        // Fonts are loaded once per program, not per view.
        stage.session.documents[0].capture = Loadable::Empty;
        stage.draw();
        stage.session.documents[0].capture = Loadable::Ready(capture);
        stage
    }

    /// One frame with the pointer somewhere else than before; returns the number of primitives.
    fn draw(&mut self) -> usize {
        let pointer = pos2(330.0 + (self.frame % 50) as f32 * 3.0, 200.0 + (self.frame % 37) as f32 * 8.0);
        self.draw_after(Event::PointerMoved(pointer))
    }

    /// One frame after something was done.
    fn draw_after(&mut self, event: Event) -> usize {
        self.frame += 1;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(1280.0, 800.0))),
            time: Some(self.frame as f64 / 60.0),
            events: vec![event],
            ..RawInput::default()
        };
        let theme = Theme::light();
        let commands = CommandQueue::default();
        let output = self.ctx.run_ui(input, |ui| {
            let cx = PanelCtx::new(&self.session, &theme, &commands, &self.patterns);
            self.views.ui(self.session.pane().view, ui, &cx);
        });
        // Beside the window in the program; here the first frames pay for it.
        self.waits = self.patterns.read_now() | self.ctx.has_requested_repaint();
        for QueuedCommand { command, .. } in hovering::join(&self.session, Vec::new(), commands.take()) {
            self.asked.extend(self.session.apply(command));
        }
        let (shapes, pixels_per_point) = (output.shapes.clone(), output.pixels_per_point);
        output.drop_without_applying_deltas();
        self.ctx.tessellate(shapes, pixels_per_point).len()
    }
}

/// The first frame of a view.
#[divan::bench(args = VIEWS, sample_count = 20, sample_size = 1)]
fn first_frame(bencher: divan::Bencher<'_, '_>, view: ViewKind) {
    bencher.with_inputs(|| Stage::new(view)).bench_local_refs(Stage::draw);
}

/// Frames until nothing is on its way any more.
fn complete(stage: &mut Stage) -> usize {
    (0..500)
        .take_while(|_| {
            // A pointer that moves asks for frames itself.
            stage.draw_after(Event::PointerGone);
            stage.waits
        })
        .count()
}

/// Frames until every cell of all heads is there, as a heatmap: reading the patterns included.
#[divan::bench(args = GRIDS, sample_count = 5, sample_size = 1)]
fn all_heads_complete(bencher: divan::Bencher<'_, '_>, side: usize) {
    bencher.with_inputs(|| Stage::of_heads(side, CellsAs::Heatmap)).bench_local_refs(complete);
}

/// The same as lines.
#[divan::bench(args = GRIDS, sample_count = 3, sample_size = 1)]
fn all_heads_complete_as_lines(bencher: divan::Bencher<'_, '_>, side: usize) {
    bencher.with_inputs(|| Stage::of_heads(side, CellsAs::Lines)).bench_local_refs(complete);
}

/// A frame of all heads with the pointer moving, when every cell is there.
#[divan::bench(args = GRIDS, sample_count = 100)]
fn all_heads_hovering(bencher: divan::Bencher<'_, '_>, side: usize) {
    let mut stage = Stage::of_heads(side, CellsAs::Heatmap);
    complete(&mut stage);
    bencher.bench_local(|| stage.draw());
}

/// The first frame with the answer.
#[divan::bench(args = SURVEYS, sample_count = 10, sample_size = 1)]
fn survey_first_frame(bencher: divan::Bencher<'_, '_>, view: ViewKind) {
    bencher.with_inputs(|| Stage::surveyed(view)).bench_local_refs(Stage::draw);
}

/// A frame with the answer and the pointer moving.
#[divan::bench(args = SURVEYS, sample_count = 100)]
fn survey_hovering(bencher: divan::Bencher<'_, '_>, view: ViewKind) {
    let mut stage = Stage::surveyed(view);
    for _ in 0..20 {
        stage.draw();
    }
    bencher.bench_local(|| stage.draw());
}

/// A frame with the pointer moving over the view, everything else unchanged.
#[divan::bench(args = VIEWS, sample_count = 100)]
fn hovering(bencher: divan::Bencher<'_, '_>, view: ViewKind) {
    let mut stage = Stage::new(view);
    for _ in 0..20 {
        stage.draw();
    }
    bencher.bench_local(|| stage.draw());
}

/// A frame with a token held, so that its lines are drawn apart.
#[divan::bench(args = VIEWS, sample_count = 100)]
fn pinned(bencher: divan::Bencher<'_, '_>, view: ViewKind) {
    let mut stage = Stage::new(view);
    stage.session.panes.active_mut().selection.pinned = Focus::query(20);
    for _ in 0..20 {
        stage.draw();
    }
    bencher.bench_local(|| stage.draw());
}

fn main() {
    divan::main();
}

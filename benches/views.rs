//! One frame of each heavy view, layout to triangles, at 512 tokens × 12 layers × 12 heads; paths through all layers at 64
//! tokens, running text at 4,096. The budget is 8 ms.

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
    ids::StackKind,
    session::{Focus, Loadable, Session, Settings, ViewKind},
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
}

impl Stage {
    fn new(view: ViewKind) -> Self {
        let mut session = Session::new(Settings::default());
        session.documents[0].capture = Loadable::Ready(capture(view));
        if let Some(projection) = &*PROJECTION {
            session.panes.active_mut().projection = Loadable::Ready(Arc::clone(projection));
        }
        session.panes.active_mut().view = view;
        let ctx = Context::default();
        attnscope::ui::glyphs::install(&ctx);
        ctx.set_global_style(Theme::light().style());
        let mut stage = Self { ctx, session, views: Views::default(), patterns: PatternStore::default(), frame: 0 };
        // Fonts are loaded once per program, not per view.
        stage.session.documents[0].capture = Loadable::Empty;
        stage.draw();
        stage.session.documents[0].capture = Loadable::Ready(capture(view));
        stage
    }

    /// One frame with the pointer somewhere else than before; returns the number of primitives.
    fn draw(&mut self) -> usize {
        self.frame += 1;
        let pointer = pos2(330.0 + (self.frame % 50) as f32 * 3.0, 200.0 + (self.frame % 37) as f32 * 8.0);
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(1280.0, 800.0))),
            time: Some(self.frame as f64 / 60.0),
            events: vec![Event::PointerMoved(pointer)],
            ..RawInput::default()
        };
        let theme = Theme::light();
        let commands = CommandQueue::default();
        let output = self.ctx.run_ui(input, |ui| {
            let cx = PanelCtx::new(&self.session, &theme, &commands, &self.patterns);
            self.views.ui(self.session.pane().view, ui, &cx);
        });
        // Beside the window in the program; here the first frames pay for it.
        self.patterns.read_now();
        for QueuedCommand { command, .. } in hovering::join(&self.session, Vec::new(), commands.take()) {
            let _ = self.session.apply(command);
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

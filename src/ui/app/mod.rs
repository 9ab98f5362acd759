//! The frame loop: one session, one worker, one desktop.
//!
//! - [`logic`](self): takes in answers and is the only place that changes the session;
//! - `ui`, `panes`: draw, and change nothing;
//! - `autosave`, `resting`: what is kept for the case of a crash, and memory given back while the program is idle;
//! - `automation`: the opening state and `--screenshot`;
//! - `renderer`: with or without a graphics card;
//! - `sides`: panels that make room in a narrow window;
//! - `patterns`: which patterns that were read are still needed;
//! - `pictures`, `timing`: screenshots and frame times.

mod automation;
mod autosave;
mod desktop;
mod jobs;
mod logic;
mod panes;
mod patterns;
mod pictures;
mod renderer;
mod resting;
mod sides;
mod timing;
mod ui;

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use eframe::egui::{self, Rect};

use self::{
    automation::Automation, autosave::Autosave, desktop::Paths, pictures::Pictures, resting::Rest, sides::Sides,
    timing::FrameTimes,
};
use super::{
    CommandQueue, glyphs,
    painting::Painting,
    panels::{
        BookmarkSheet, CorpusDialog, CorpusDrawer, FigureSheet, Gallery, HelpSheet, Inspector, LeftPanel, Notices,
        OpenSheet, Palette, ViewsSheet,
    },
    shell::{Desktop, NativeDesktop, Shell, WakeFn},
    theme::Theme,
    views::{LAYOUT_PASSES, Views},
    zoom,
};
use crate::{
    analysis::reading::store::PatternStore,
    cli::open::{OpenOptions, RendererChoice},
    ids::{JobId, PaneId},
    session::{Command, Session, Settings, ViewGroup},
    worker::PatternThread,
};

pub use self::jobs::Jobs;

/// What the system knows the program as; its settings lie in a folder of this name.
pub const APP_ID: &str = "attnscope";
/// Key of the settings in eframe's storage.
const SETTINGS_KEY: &str = "attnscope settings";
/// The window of the first start, in points.
const DEFAULT_SIZE: [f32; 2] = [1280.0, 800.0];
const MIN_SIZE: [f32; 2] = [720.0, 480.0];

/// Why the program ends with an error instead of a window or a picture: one line for stderr.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

/// What is started before there is a window, so that the first model loads while it opens.
pub struct Startup {
    session: Session,
    jobs: Box<dyn Jobs>,
    shell: Shell,
    analyst: PatternThread,
    options: OpenOptions,
    started: Instant,
    ctx: Arc<OnceLock<egui::Context>>,
    outcome: Outcome,
}

/// How an automated run ended; filled in once.
type Outcome = Arc<Mutex<Option<Result<(), OpenError>>>>;

/// A sheet that is read or chosen from, and closed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sheet {
    /// All examples.
    Gallery,
    /// All views, or those of a group.
    Views(Option<ViewGroup>),
    /// Keys, glossary and what this program is.
    Help,
    Palette,
    Bookmarks,
}

/// The window.
pub struct App {
    session: Session,
    jobs: Box<dyn Jobs>,
    shell: Shell,
    /// What each pane remembers between frames.
    views: HashMap<PaneId, Views>,
    left: LeftPanel,
    drawer: CorpusDrawer,
    inspector: Inspector,
    notices: Notices,
    open: OpenSheet,
    figures: FigureSheet,
    corpus: CorpusDialog,
    palette: Palette,
    paths: Paths,
    bookmarks: BookmarkSheet,
    help: HelpSheet,
    gallery: Gallery,
    views_sheet: ViewsSheet,
    autosave: Autosave,
    rest: Rest,
    /// Every pattern that was read, and who reads what is missing.
    patterns: PatternStore,
    analyst: PatternThread,
    pictures: Pictures,
    automation: Option<Automation>,
    frame_times: Option<FrameTimes>,
    /// What panels, keys and the desktop ask for.
    commands: CommandQueue,
    view_commands: CommandQueue,
    clock: Clock,
    /// When the text that was typed is run, in egui's seconds.
    run_at: Option<f64>,
    /// When each job was asked for.
    job_started: HashMap<JobId, Instant>,
    run_secs: Option<f64>,
    /// Whether the first steps are offered, as long as nobody closes them: whoever opens something by its name knows them.
    offers_steps: bool,
    /// What lies over everything.
    sheet: Option<Sheet>,
    /// Where the active pane stands, in points.
    view_rect: Rect,
    /// Which side panels are open.
    sides: Sides,
    title: String,
}

/// Times since the process started.
#[derive(Clone, Copy, Debug)]
struct Clock {
    started: Instant,
    /// A frame with a capture was drawn, but not yet known to be painted.
    lines_drawn: bool,
    /// When the first frame with a capture had been painted.
    first_lines: Option<Duration>,
}

/// Opens the window and returns when it is closed.
///
/// `make_jobs` gets the function that asks for a frame and returns the worker. `started` is the
/// moment the process started, as near as the caller knows.
///
/// # Errors
/// When no window can be opened, or when an automated run (`--screenshot`) failed.
pub fn open_window<J: Jobs + 'static>(
    make_jobs: impl FnOnce(WakeFn) -> std::io::Result<J>,
    options: &OpenOptions,
    started: Instant,
) -> Result<(), OpenError> {
    if cfg!(target_os = "linux")
        && ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].iter().all(|name| std::env::var_os(name).is_none())
    {
        let advice = "`attnscope capture`, `check`, `pull` and `models` need none";
        return Err(OpenError(format!("there is no display for the window; {advice}")));
    }
    let startup = Startup::new(make_jobs, Box::new(NativeDesktop), options.clone(), started)
        .map_err(|error| OpenError(format!("the background thread cannot be started: {error}")))?;
    let outcome = Arc::clone(&startup.outcome);
    let (renderer, painting) = renderer::choose(options.renderer);
    let window = WindowOptions::of(options);
    let startup = Rc::new(RefCell::new(Some(startup)));
    let open = |renderer| {
        let startup = Rc::clone(&startup);
        let attach = move |cc: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
            let startup =
                startup.borrow_mut().take().ok_or_else(|| OpenError("the window was opened twice".to_owned()))?;
            let app = startup.attach(cc)?;
            painting.install(&cc.egui_ctx);
            Ok(Box::new(app))
        };
        eframe::run_native(APP_ID, window.native(renderer, painting), Box::new(attach))
    };
    let mut opened = open(renderer);
    if let Err(error) = &opened
        && options.renderer == RendererChoice::Auto
        && renderer == eframe::Renderer::Glow
        && startup.borrow().is_some()
    {
        log::warn!("OpenGL could not open a window ({error}); trying wgpu");
        opened = open(eframe::Renderer::Wgpu);
    }
    opened.map_err(|error| OpenError(format!("no window can be opened: {error}")))?;
    let outcome = outcome.lock().ok().and_then(|mut outcome| outcome.take());
    outcome.unwrap_or(Ok(()))
}

/// How large the window opens.
struct WindowOptions {
    size: Option<[f32; 2]>,
    fixed: bool,
}

impl WindowOptions {
    fn of(options: &OpenOptions) -> Self {
        Self { size: options.size, fixed: options.size.is_some() || options.screenshot.is_some() }
    }

    /// What eframe is told.
    fn native(&self, renderer: eframe::Renderer, painting: Painting) -> eframe::NativeOptions {
        let size = self.size.unwrap_or(DEFAULT_SIZE);
        let viewport = egui::ViewportBuilder::default()
            .with_title("AttnScope")
            .with_app_id(APP_ID)
            .with_min_inner_size(MIN_SIZE)
            .with_inner_size(size);
        let mut native = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
        if self.fixed {
            native.persist_window = false;
            // What the window remembers of the last time is put in before this is asked, whatever was set.
            native.window_builder = Some(Box::new(move |viewport: egui::ViewportBuilder| {
                viewport.with_inner_size(size).with_maximized(false).with_fullscreen(false)
            }));
        }
        renderer::apply(&mut native, renderer, painting);
        native
    }
}

impl Startup {
    /// Starts the worker and asks for the opening state.
    pub fn new<J: Jobs + 'static>(
        make_jobs: impl FnOnce(WakeFn) -> std::io::Result<J>,
        desktop: Box<dyn Desktop>,
        options: OpenOptions,
        started: Instant,
    ) -> std::io::Result<Self> {
        let ctx: Arc<OnceLock<egui::Context>> = Arc::default();
        let for_wake = Arc::clone(&ctx);
        // Before there is a window nobody sleeps, so there is nobody to wake.
        let wake: WakeFn = Arc::new(move || {
            if let Some(ctx) = for_wake.get() {
                ctx.request_repaint();
            }
        });
        let jobs = Box::new(make_jobs(Arc::clone(&wake))?);
        let shell = Shell::new(desktop, Arc::clone(&wake));
        let analyst = PatternThread::spawn(wake)?;
        let mut startup = Self {
            session: Session::default(),
            jobs,
            shell,
            analyst,
            options,
            started,
            ctx,
            outcome: Outcome::default(),
        };
        startup.open();
        Ok(startup)
    }

    /// Moves into the window.
    pub fn attach(self, cc: &eframe::CreationContext<'_>) -> Result<App, OpenError> {
        let Self { mut session, jobs, shell, analyst, options, started, ctx, outcome } = self;
        ctx.get_or_init(|| cc.egui_ctx.clone());
        glyphs::install(&cc.egui_ctx);
        cc.egui_ctx.options_mut(|options| options.max_passes = LAYOUT_PASSES);
        for (theme, ours) in [(egui::Theme::Light, Theme::light()), (egui::Theme::Dark, Theme::dark())] {
            cc.egui_ctx.set_style_of(theme, ours.style());
        }
        let automated = options.screenshot.is_some();
        // The window was made for the zoom of the last time.
        if automated && cc.egui_ctx.zoom_factor() != 1.0 {
            let size = options.size.unwrap_or(DEFAULT_SIZE).into();
            cc.egui_ctx.send_viewport_cmd(egui::ViewportCommand::InnerSize(size));
        }
        zoom::install(&cc.egui_ctx, automated);
        if automated {
            // A picture for documentation must not depend on how the panels were left last time.
            cc.egui_ctx.memory_mut(|memory| memory.data.clear());
            zoom::answer(&cc.egui_ctx, None);
        } else if let Some(stored) = cc.storage.and_then(|it| it.get_string(SETTINGS_KEY)) {
            session.restore(Settings::read(&stored));
        }
        if let Some(theme) = options.theme {
            session.settings.appearance = theme;
        }
        let frame_times = options.frame_times.as_deref().map(FrameTimes::create).transpose();
        let frame_times = frame_times.map_err(|error| OpenError(format!("frame times cannot be written: {error}")))?;
        if let Some(frame_times) = &frame_times {
            frame_times.attach(&cc.egui_ctx);
        }
        let offers_steps = session.document().example.is_some();
        let app = App {
            session,
            jobs,
            shell,
            views: HashMap::new(),
            left: LeftPanel::default(),
            drawer: CorpusDrawer::default(),
            inspector: Inspector::default(),
            notices: Notices::default(),
            open: OpenSheet::default(),
            figures: FigureSheet::default(),
            corpus: CorpusDialog::default(),
            palette: Palette::default(),
            paths: Paths::new(&cc.egui_ctx),
            bookmarks: BookmarkSheet::default(),
            help: HelpSheet::default(),
            gallery: Gallery::default(),
            views_sheet: ViewsSheet::default(),
            autosave: Autosave::default(),
            rest: Rest::default(),
            patterns: PatternStore::default(),
            analyst,
            pictures: Pictures::default(),
            automation: automated.then(|| Automation::new(options, outcome)),
            frame_times,
            commands: CommandQueue::default(),
            view_commands: CommandQueue::default(),
            clock: Clock { started, lines_drawn: false, first_lines: None },
            run_at: None,
            job_started: HashMap::new(),
            run_secs: None,
            offers_steps,
            sheet: None,
            view_rect: Rect::NOTHING,
            sides: Sides::default(),
            title: String::new(),
        };
        app.apply_appearance(&cc.egui_ctx);
        Ok(app)
    }
}

impl App {
    /// What is shown.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Where the active pane stands, in points.
    pub const fn view_rect(&self) -> Rect {
        self.view_rect
    }

    /// Asks for something, as a button would; it happens in the next frame.
    pub fn request(&self, command: Command) {
        self.commands.push(command);
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        let started = Instant::now();
        self.frame_painted(frame.info().cpu_usage);
        self.run_logic(ctx);
        let at = self.clock.started.elapsed();
        if let Some(frame_times) = &mut self.frame_times {
            let row = frame_times.current();
            row.at = at;
            row.logic = started.elapsed();
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let started = Instant::now();
        let requests = self.draw(ui);
        self.patterns.ask(&mut self.analyst);
        self.apply_requests(ui.ctx(), &requests);
        self.frame_drawn(ui.ctx(), started);
    }

    fn raw_input_hook(&mut self, _ctx: &egui::Context, raw_input: &mut egui::RawInput) {
        if self.automation.is_some() {
            automation::leave_out_pointer(raw_input);
        }
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        if self.automation.is_none() {
            storage.set_string(SETTINGS_KEY, self.session.settings.write());
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.end();
    }

    fn persist_egui_memory(&self) -> bool {
        self.automation.is_none()
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}

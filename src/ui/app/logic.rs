//! Taking in answers and doing what was asked for: the only place that changes the session.

use std::{borrow::Cow, time::Instant};

use eframe::egui::{self, ColorImage, ThemePreference};

use super::{
    App, Sheet, Startup,
    pictures::{Purpose, Unplaced},
    sides::{Room, Side},
};
use crate::{
    protocol::{CaptureFile, EventKind, LoadAnswer, Request, RunAnswer},
    session::{
        Anew, Appearance, ChangeCommand, Command, CorpusCommand, DownloadCommand, Effect, FigureCommand, FileKind,
        LectureCommand, PaneCommand, SelectionCommand, SessionCommand, saved::EXTENSION,
    },
    ui::{
        QueuedCommand,
        commands::{UiCommand, other_appearance},
        hovering, painting,
        panels::{HelpSheet, Palette, PathSheet, WindowRequests, focus_search},
        views::seek_option,
        zoom,
    },
};

/// Text is run this long after the last key.
const TYPING_PAUSE_SECS: f64 = 0.3;

impl Startup {
    /// Asks the worker for the opening state.
    pub(super) fn open(&mut self) {
        let pending = super::automation::pending_selection(&self.options);
        for command in super::automation::opening(&self.options) {
            // What a corpus keeps follows from the space that is to be shown.
            if matches!(command, Command::Corpus(_)) {
                self.session.prefer_when_ready(pending);
            }
            self.ask(command);
        }
        self.session.prefer_when_ready(pending);
        let edits = self.options.edits.edits();
        if !edits.is_empty() {
            self.ask(Command::Change(ChangeCommand::Add(edits.into_iter().map(Into::into).collect())));
        }
    }

    fn ask(&mut self, command: Command) {
        for effect in self.session.apply(command) {
            match effect {
                Effect::Submit(job, request) => self.jobs.submit(job, request),
                Effect::ReadText(path) => self.shell.read_text(path),
                // Nothing that the opening asks for needs the window.
                Effect::Cancel(_)
                | Effect::Pick(_)
                | Effect::Screenshot
                | Effect::SaveFigure { .. }
                | Effect::SaveSession { .. }
                | Effect::SaveLens { .. }
                | Effect::CopyPicture(_)
                | Effect::CopyText(_) => {}
            }
        }
    }
}

impl App {
    /// Everything that happens before a frame is drawn, and also while the window is hidden.
    pub(super) fn run_logic(&mut self, ctx: &egui::Context) {
        for event in self.shell.drain() {
            self.on_shell_event(event);
        }
        self.analyst.drain_into(&self.patterns);
        for event in self.jobs.drain() {
            if let Some(automation) = &mut self.automation {
                automation.on_event(&event);
            }
            if !matches!(event.kind, EventKind::Progress(_))
                && let Some(asked) = self.job_started.remove(&event.job)
                && matches!(event.kind, EventKind::Run(RunAnswer::Captured(_)))
            {
                self.run_secs = Some(asked.elapsed().as_secs_f64());
            }
            if !matches!(event.kind, EventKind::Progress(_) | EventKind::Session(_)) {
                self.note_change(ctx);
            }
            let is_new =
                matches!(event.kind, EventKind::Run(RunAnswer::Captured(_)) | EventKind::Load(LoadAnswer::Opened(_)));
            let effects = self.session.on_event(event);
            self.perform(ctx, effects);
            if is_new {
                self.forget_patterns();
            }
        }
        self.take_path();
        self.take_files_and_pictures(ctx);
        self.forget_places(ctx);
        for command in UiCommand::pressed(ctx) {
            self.on_ui_command(ctx, command);
        }
        self.run_typed_text(ctx);
        self.apply_commands(ctx);
        self.keep(ctx);
        self.rest(ctx);
        self.take_picture(ctx);
        self.automate(ctx);
        self.show_title(ctx);
        if self.frame_times.is_some() {
            // There is nothing to measure in a window that sleeps.
            ctx.request_repaint();
        }
    }

    /// Applies what was asked for while the frame was drawn.
    pub(super) fn apply_requests(&mut self, ctx: &egui::Context, requests: &WindowRequests) {
        for command in requests {
            self.on_ui_command(ctx, *command);
        }
        let (mut panels, mut views) = (self.commands.take(), self.view_commands.take());
        if self.pictures.is_taking() {
            // No pointer belongs on a picture.
            let looks = |asked: &QueuedCommand| {
                matches!(asked.command, Command::InPane(PaneCommand::Hover(_) | PaneCommand::HoverPoint(_)))
            };
            panels.retain(|asked| !looks(asked));
            views.retain(|asked| !looks(asked));
        }
        for asked in hovering::join(&self.session, panels, views) {
            self.commands.push(asked);
        }
        self.apply_commands(ctx);
    }

    /// Light, dark or as the system says.
    pub(super) fn apply_appearance(&self, ctx: &egui::Context) {
        ctx.set_theme(match self.session.settings.appearance {
            Appearance::System => ThemePreference::System,
            Appearance::Light => ThemePreference::Light,
            Appearance::Dark => ThemePreference::Dark,
        });
    }

    /// One frame has been painted.
    pub(super) fn frame_painted(&mut self, painted_secs: Option<f32>) {
        if self.clock.lines_drawn && self.clock.first_lines.is_none() {
            let at = self.clock.started.elapsed();
            self.clock.first_lines = Some(at);
            log::info!("first lines after {:.0} ms", at.as_secs_f64() * 1e3);
        }
        if let Some(frame_times) = &mut self.frame_times {
            frame_times.next(painted_secs, self.clock.first_lines);
        }
    }

    /// One frame has been laid out and drawn, and goes to the painter now.
    pub(super) fn frame_drawn(&mut self, ctx: &egui::Context, started: Instant) {
        if !self.clock.lines_drawn && self.session.document().latest_capture().is_some() {
            self.clock.lines_drawn = true;
            // The next frame is how the window learns that this one was painted.
            ctx.request_repaint();
        }
        let visible = self.frame_times.is_some().then(|| self.visible_text());
        if let (Some(frame_times), Some(visible)) = (&mut self.frame_times, visible) {
            let row = frame_times.current();
            row.ui = started.elapsed();
            row.visible = visible;
        }
    }

    /// The columns of the frame table that say what was on screen.
    fn visible_text(&self) -> String {
        let pane = self.session.pane();
        let head = pane.selection.head;
        let (n_query, n_key, n_heads) = self.session.document().latest_capture().map_or((0, 0, 0), |capture| {
            let layer = capture.model().layer_of(head);
            (
                capture.query_tokens(head.stack).len(),
                capture.key_tokens(head.stack).len(),
                layer.map_or(0, |layer| layer.n_heads),
            )
        });
        let pending = u8::from(self.session.is_busy());
        format!("{},{},{n_query},{n_key},{n_heads},{pending}", pane.view.name(), head.layer)
    }

    fn apply_commands(&mut self, ctx: &egui::Context) {
        for QueuedCommand { pane, command } in self.commands.take() {
            let pane = pane.unwrap_or_else(|| self.session.pane().id);
            let document = self.session.document();
            let writes = || document.model.latest().is_some_and(|model| document.writes_target(&model.spec));
            let is_typed = matches!(command, Command::SetText(_) | Command::SetTextB(_) | Command::SetTarget(_));
            // Other options write another text.
            if is_typed || matches!(command, Command::SetWriting(_)) && writes() {
                self.run_soon(ctx);
            } else if matches!(command, Command::Run | Command::Continue) {
                self.run_at = None;
            }
            self.note_work(ctx, &command);
            let n_panes = self.session.panes.len();
            let asks_for_input = command == Command::CompareInput;
            let sets_appearance = matches!(command, Command::SetAppearance(_));
            let effects = self.session.apply_in(pane, command);
            if sets_appearance {
                self.apply_appearance(ctx);
            }
            if asks_for_input && self.session.panes.len() > n_panes {
                self.await_input(ctx);
            }
            self.perform(ctx, effects);
            // The frame that was just drawn shows the state before.
            ctx.request_repaint();
        }
    }

    /// Whoever asks for another input goes on to type it.
    fn await_input(&mut self, ctx: &egui::Context) {
        let document = self.session.document();
        let has_text = document.opened.is_none()
            && document.model.latest().is_none_or(|model| model.spec.modality.text().is_some());
        self.sides.open(Side::Left, Room::of(ctx, &self.session));
        if has_text {
            self.left.focus_text();
        }
    }

    fn toggle(&mut self, sheet: Sheet) {
        self.sheet = if self.sheet == Some(sheet) { None } else { Some(sheet) };
    }

    fn on_ui_command(&mut self, ctx: &egui::Context, command: UiCommand) {
        match command {
            // What lies over everything is let go of first.
            UiCommand::Release if self.paths.sheet.is_some() => {
                self.paths.sheet.iter_mut().for_each(PathSheet::close);
            }
            UiCommand::Release if self.session.download.is_open => {
                self.commands.push(Command::Download(DownloadCommand::Close));
            }
            UiCommand::Release if self.session.figures.is_open => {
                self.commands.push(Command::Figure(FigureCommand::Close));
            }
            UiCommand::Release if self.session.corpus_dialog.is_some() => {
                self.commands.push(Command::Corpus(CorpusCommand::Ask(None)));
            }
            UiCommand::Release if self.session.corpus_sheet.is_some() => {
                self.commands.push(Command::Corpus(CorpusCommand::CloseSheet));
            }
            UiCommand::Release if !self.session.keeping.lost_models.is_empty() => {
                self.commands.push(Command::Session(SessionCommand::LeaveModel));
            }
            UiCommand::Release if self.session.keeping.asks_before_new() => {
                self.commands.push(Command::Session(SessionCommand::New(Anew::Stay)));
            }
            UiCommand::Release if self.sheet.is_some() => self.sheet = None,
            UiCommand::Release if self.session.leaves_lecture() => {
                self.commands.push(Command::Lecture(LectureCommand::Leave));
            }
            UiCommand::Bookmarks => self.toggle(Sheet::Bookmarks),
            UiCommand::Gallery => self.toggle(Sheet::Gallery),
            UiCommand::Views => self.toggle(Sheet::Views(None)),
            UiCommand::ViewsOf(group) => self.toggle(Sheet::Views(Some(group))),
            UiCommand::Help => {
                self.help = HelpSheet::default();
                self.toggle(Sheet::Help);
            }
            UiCommand::HelpOn(term) => {
                self.help = HelpSheet::on(term);
                self.sheet = Some(Sheet::Help);
            }
            UiCommand::ShowOption(view, name) => {
                self.sides.open(Side::Right, Room::of(ctx, &self.session));
                seek_option(ctx, view, name);
                self.commands.push(Command::Select(SelectionCommand::ShowView(view)));
                self.commands.push(Command::UnfoldOptions(true));
            }
            UiCommand::Palette => {
                self.palette = Palette::default();
                self.paths.looker.forget();
                self.toggle(Sheet::Palette);
            }
            UiCommand::ToggleLeft => self.sides.toggle(Side::Left, Room::of(ctx, &self.session)),
            UiCommand::ToggleInspector => self.sides.toggle(Side::Right, Room::of(ctx, &self.session)),
            UiCommand::NewWindow => self.shell.new_window(),
            UiCommand::ZoomIn => zoom::step(ctx, true),
            UiCommand::ZoomOut => zoom::step(ctx, false),
            UiCommand::ZoomReset => zoom::reset(ctx),
            UiCommand::ToggleTheme => {
                let dark_now = ctx.theme() == egui::Theme::Dark;
                self.commands.push(Command::SetAppearance(other_appearance(dark_now)));
            }
            UiCommand::FindToken if self.session.pane().view.facts().searches_points => {
                self.sides.open(Side::Right, Room::of(ctx, &self.session));
                focus_search(ctx);
            }
            UiCommand::FindToken => {
                let pane = self.session.pane().id;
                self.views.entry(pane).or_default().focus_search();
            }
            UiCommand::TypeText => self.await_input(ctx),
            UiCommand::Cancel => self.commands.push(Command::CancelAll),
            other => {
                let pane = self.session.pane();
                let views = self.views.entry(pane.id).or_default();
                if let Some(command) = other.command().map(|command| views.in_view(pane, command)) {
                    self.commands.push(command);
                }
            }
        }
        ctx.request_repaint();
    }

    pub(super) fn perform(&mut self, ctx: &egui::Context, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Submit(job, request) => {
                    if matches!(request, Request::Run { .. }) {
                        self.job_started.insert(job, Instant::now());
                    }
                    self.jobs.submit(job, request);
                }
                Effect::Cancel(lane) => self.jobs.cancel(lane),
                Effect::Pick(purpose) => self.shell.pick(purpose),
                Effect::Screenshot => self.pictures.start(Purpose::Save),
                Effect::SaveFigure { figure, name, extension } => {
                    let number = self.pictures.keep(Unplaced::Figure(figure));
                    self.shell.save(number, &name, extension, &FileKind::EXTENSIONS);
                }
                Effect::SaveSession { name } => {
                    let number = self.pictures.keep(Unplaced::Session);
                    self.shell.save(number, &name, EXTENSION, &[]);
                }
                Effect::SaveLens { name } => {
                    let number = self.pictures.keep(Unplaced::Lens);
                    self.shell.save(number, &name, "safetensors", &[]);
                }
                Effect::CopyPicture(pixels) => {
                    let size = [pixels.width, pixels.height];
                    ctx.copy_image(ColorImage::from_rgba_unmultiplied(size, &pixels.pixels));
                }
                Effect::CopyText(text) => ctx.copy_text(text),
                Effect::ReadText(path) => self.shell.read_text(path),
            }
            ctx.request_repaint();
        }
    }

    fn run_soon(&mut self, ctx: &egui::Context) {
        self.run_at = Some(ctx.input(|input| input.time) + TYPING_PAUSE_SECS);
    }

    fn run_typed_text(&mut self, ctx: &egui::Context) {
        let Some(run_at) = self.run_at else { return };
        let left_secs = run_at - ctx.input(|input| input.time);
        if left_secs > 0.0 {
            ctx.request_repaint_after_secs(left_secs as f32);
        } else {
            self.run_at = None;
            self.commands.push(Command::Run);
        }
    }

    fn automate(&mut self, ctx: &egui::Context) {
        let Some(automation) = &mut self.automation else { return };
        let settled = self.run_at.is_none()
            && !self.pictures.is_taking()
            && !self.patterns.is_busy()
            && painting::is_settled(ctx);
        if let Some(path) = automation.step(&self.session, settled) {
            self.pictures.start(Purpose::File(path));
        }
        if automation.is_over() {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        ctx.request_repaint();
    }

    fn show_title(&mut self, ctx: &egui::Context) {
        let document = self.session.document();
        let file = document.opened.as_ref().map(CaptureFile::name);
        let model = || document.open_model().map(|model| Cow::Borrowed(model.name.as_str()));
        let keeping = &self.session.keeping;
        let changed = if keeping.is_changed { " •" } else { "" };
        let session = keeping.name().map(|name| Cow::Owned(format!("{name}{changed}")));
        let parts = file.or_else(model).into_iter().chain(session).chain([Cow::Borrowed("AttnScope")]);
        let title = parts.collect::<Vec<_>>().join(" — ");
        if title != self.title {
            self.title.clone_from(&title);
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title));
        }
    }
}

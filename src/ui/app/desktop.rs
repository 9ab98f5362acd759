//! Exchange with the desktop: dialogs, dropped files, pictures of the window.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use eframe::egui::{self, ColorImage, Event as EguiEvent};

use super::{
    App,
    pictures::{self, Purpose, ScreenshotStep, Unplaced},
};
use crate::{
    export::ExportRequest,
    model::ImageSource,
    protocol::{CorpusSource, Failure, Request},
    session::{Command, CorpusCommand, DownloadCommand, FilePurpose, SessionCommand},
    ui::{
        look::{self, Looked, Looker, There},
        panels::{PathFor, PathSheet},
        shell::ShellEvent,
    },
};

/// Paths that are typed: where they lead, and the sheet that asks for one where the desktop has no dialog.
pub struct Paths {
    pub looker: Looker,
    pub sheet: Option<PathSheet>,
    /// Paths that were dropped one by one, until it is known what lies there.
    dropped: VecDeque<PathBuf>,
}

impl Paths {
    /// Nothing is typed yet.
    pub fn new(ctx: &egui::Context) -> Self {
        let ctx = ctx.clone();
        Self { looker: Looker::new(Arc::new(move || ctx.request_repaint())), sheet: None, dropped: VecDeque::new() }
    }
}

impl App {
    fn on_chosen(&mut self, purpose: FilePurpose, paths: Vec<PathBuf>) {
        let first = paths.first().cloned();
        let corpus = |command: fn(PathBuf) -> CorpusCommand| {
            Some(Command::Corpus(first.clone().map_or(CorpusCommand::Ask(None), command)))
        };
        let command = match purpose {
            FilePurpose::ModelFolder | FilePurpose::InputFile => Some(Command::OpenPaths(paths)),
            FilePurpose::CorpusFile => corpus(CorpusCommand::Choose),
            FilePurpose::CorpusFolder => corpus(|path| CorpusCommand::Open(CorpusSource::path(path))),
            FilePurpose::SessionFile => first.map(|path| Command::Session(SessionCommand::Open(path))),
            FilePurpose::LostModel => first.map(|path| Command::Session(SessionCommand::ModelIsAt(path))),
            FilePurpose::GoldFile => {
                if let Some(path) = first {
                    self.shell.read_gold(path);
                }
                None
            }
        };
        if let Some(command) = command {
            self.commands.push(command);
        }
    }

    pub(super) fn on_shell_event(&mut self, event: ShellEvent) {
        match event {
            ShellEvent::Chosen(purpose, paths) => self.on_chosen(purpose, paths),
            ShellEvent::Text(path, text) => self.commands.push(Command::OpenTextFile { path, text }),
            ShellEvent::Gold(text) => self.commands.push(Command::SetGold(text.trim().to_owned())),
            ShellEvent::Screenshot(image) => self.on_screenshot(&image),
            ShellEvent::Pasted(bytes) => {
                let name = "pasted picture".to_owned();
                self.commands.push(Command::SetImage(ImageSource::Embedded { name, bytes }));
            }
            ShellEvent::SaveTo(number, path) => {
                if let Some(unplaced) = self.pictures.take(number) {
                    let is_lens = matches!(unplaced, Unplaced::Lens);
                    match unplaced.at(path.clone()) {
                        Some(request) => drop(self.export(request)),
                        None if is_lens => self.commands.push(Command::FitLens(path)),
                        None => self.commands.push(Command::Session(SessionCommand::SaveTo(path))),
                    }
                }
            }
            ShellEvent::Dismissed(picture) => drop(picture.and_then(|number| self.pictures.take(number))),
            ShellEvent::NoDialog(purpose, name) => {
                self.paths.looker.forget();
                self.paths.sheet = Some(PathSheet::new(purpose, &name));
            }
            ShellEvent::Failed(failure) => {
                if let Some(automation) = &mut self.automation {
                    automation.fail(&failure);
                }
                self.commands.push(Command::Notify(failure));
            }
        }
    }

    pub(super) fn take_picture(&mut self, ctx: &egui::Context) {
        match self.pictures.step() {
            ScreenshotStep::Idle => {}
            ScreenshotStep::Wait => ctx.request_repaint(),
            ScreenshotStep::Request => self.shell.screenshot(ctx),
            ScreenshotStep::GaveUp => self.commands.push(Command::Notify(Failure {
                summary: "The system gave no picture of the window".to_owned(),
                details: "Show the window and try again".to_owned(),
            })),
        }
    }

    fn on_screenshot(&mut self, image: &ColorImage) {
        let Some(purpose) = self.pictures.receive() else { return };
        let metadata = pictures::metadata(&self.session);
        let pixels = Arc::new(pictures::to_rgba(image));
        match purpose {
            Purpose::Save => {
                let name = pictures::default_file_name(&self.session);
                let number = self.pictures.keep(Unplaced::Screenshot { pixels, metadata });
                self.shell.save(number, &name, "png", &[]);
            }
            Purpose::File(path) => {
                let job = self.export(ExportRequest::Png { pixels, metadata, path });
                if let Some(automation) = &mut self.automation {
                    automation.wait_for(job);
                }
            }
        }
    }

    /// Does what a path was asked for, once somebody answered.
    pub(super) fn take_path(&mut self) {
        let Some(sheet) = self.paths.sheet.take() else { return };
        let event = match sheet.answered() {
            Err(sheet) => return self.paths.sheet = Some(sheet),
            Ok((PathFor::Open(purpose), Some(path))) => ShellEvent::Chosen(purpose, vec![path]),
            Ok((PathFor::Save { number, .. }, Some(path))) => ShellEvent::SaveTo(number, path),
            Ok((PathFor::Open(_), None)) => ShellEvent::Dismissed(None),
            Ok((PathFor::Save { number, .. }, None)) => ShellEvent::Dismissed(Some(number)),
        };
        self.on_shell_event(event);
    }

    /// Opens the paths that were dropped, in their order; a folder with nothing to open in it is looked through in the
    /// sheet.
    fn open_dropped(&mut self) {
        while let Some(path) = self.paths.dropped.pop_front() {
            let typed = path.display().to_string();
            let command = match self.paths.looker.look(&typed) {
                Some(Ok(None)) => return self.paths.dropped.push_front(path),
                Some(Ok(Some(Looked { there: There::Folder, .. }))) => {
                    Command::Download(DownloadCommand::OpenWith(format!("{typed}/")))
                }
                Some(Ok(Some(_)) | Err(_)) | None => Command::OpenPaths(vec![path]),
            };
            self.commands.push(command);
        }
    }

    fn export(&mut self, request: ExportRequest) -> crate::ids::JobId {
        let job = self.session.start_export();
        self.jobs.submit(job, Request::Export(request));
        job
    }

    /// Dropped files, pasted pictures and pasted paths; what is pasted into a field stays there.
    pub(super) fn take_files_and_pictures(&mut self, ctx: &egui::Context) {
        if !ctx.egui_wants_keyboard_input()
            && let Some(text) = ctx.input(|input| {
                input.events.iter().find_map(|event| match event {
                    EguiEvent::Paste(text) if look::parse(text).is_some() => Some(text.clone()),
                    _ => None,
                })
            })
        {
            self.commands.push(Command::Download(DownloadCommand::OpenWith(text)));
        }
        let (paths, pasted) = ctx.input(|input| {
            let paths: Vec<_> = input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect();
            let pasted = input.events.iter().find_map(|event| match event {
                EguiEvent::PasteImage(image) => Some(Arc::clone(image)),
                _ => None,
            });
            (paths, pasted)
        });
        match <[PathBuf; 1]>::try_from(paths) {
            Ok([path]) => self.paths.dropped.push_back(path),
            Err(paths) if paths.is_empty() => {}
            Err(paths) => self.commands.push(Command::OpenPaths(paths)),
        }
        self.open_dropped();
        if let Some(image) = pasted {
            self.shell.pack(image);
        }
    }
}

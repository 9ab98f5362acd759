//! The download dialog: type or pick an id, see what it costs, fetch it, open it.

use eframe::egui::{self, Button, Key, ProgressBar, RichText, ScrollArea, Spinner, TextEdit, Ui};

use super::failure_ui;
use crate::{
    hub::{Plan, Transfer},
    model::locate::KnownModel,
    session::{Command, Download, DownloadCommand, DownloadStep, SUGGESTIONS, Typed},
    text::{bytes_text, sentence},
    ui::{
        PanelCtx,
        look::{self, Entered, Looked, Looker, There},
        theme::GRID,
        widgets::{Dialog, field_ui, section_ui},
    },
};

const WIDTH: f32 = 128.0 * GRID;
/// Height of a list before it scrolls.
const LIST_HEIGHT: f32 = 42.0 * GRID;

/// What the dialog remembers of its own.
#[derive(Debug, Default)]
pub struct DownloadDialog {
    was_open: bool,
    entered: Entered,
}

impl DownloadDialog {
    /// Draws the dialog over everything while it is open.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>, looker: &mut Looker) {
        let download = &cx.session.download;
        let just_opened = download.is_open && !self.was_open;
        self.was_open = download.is_open;
        if !download.is_open {
            self.entered.forget();
            return;
        }
        let modal = Dialog::new("download", WIDTH).show(ctx, |ui| {
            ui.heading("Download a model");
            ui.add_space(GRID);
            self.name_ui(ui, cx, looker, just_opened);
            ui.add_space(2.0 * GRID);
            step_ui(ui, cx);
            cached_ui(ui, cx);
            ui.add_space(2.0 * GRID);
            let text = if download.running().is_some() { "Continue in background" } else { "Close" };
            ui.button(text).clicked()
        });
        if modal.inner || modal.should_close() {
            send(cx, DownloadCommand::Close);
        }
    }

    /// The field for an id; a path that is typed into it is opened instead.
    fn name_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, looker: &mut Looker, just_opened: bool) {
        let download = &cx.session.download;
        let free = download.running().is_none();
        // What may be an id is one here.
        let local = match look::parse(&download.name) {
            Some(Ok(Typed::Paths(_) | Typed::Bundled(_))) => looker.look(&download.name),
            Some(Err(why)) => Some(Err(why)),
            Some(Ok(Typed::Hub(_) | Typed::Either(..))) | None => None,
        };
        let is_looking = matches!(local, Some(Ok(None)));
        ui.add_enabled_ui(free, |ui| {
            let label = "Id on the Hugging Face hub, or a path on this computer";
            let label = ui.label(RichText::new(label).color(cx.theme.text_weak));
            let entered = ui
                .horizontal(|ui| {
                    let mut name = download.name.clone();
                    let edit = TextEdit::singleline(&mut name)
                        .hint_text("owner/name")
                        .desired_width(ui.available_width() - 17.5 * GRID);
                    let edit = ui.add(edit).labelled_by(label.id);
                    if just_opened {
                        edit.request_focus();
                    }
                    if edit.changed() {
                        send(cx, DownloadCommand::SetName(name));
                    }
                    let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                    let is_ready = !download.name.trim().is_empty();
                    let (text, meaning) = match local {
                        None => ("Look up", "List its files and their sizes"),
                        Some(_) => ("Open", "Open what is at this path"),
                    };
                    ui.add_enabled(is_ready, Button::new(text)).on_hover_text(meaning).clicked() || entered
                })
                .inner;
            let entered = self.entered.counts(&download.name, entered, is_looking);
            match local {
                None if entered => send(cx, DownloadCommand::LookUp),
                None => {}
                Some(found) => local_ui(ui, cx, found, entered),
            }
        });
    }
}

fn send(cx: &PanelCtx<'_>, command: DownloadCommand) {
    cx.send(Command::Download(command));
}

/// What is at a path, and opens it.
fn local_ui(ui: &mut Ui, cx: &PanelCtx<'_>, found: Result<Option<&Looked>, String>, entered: bool) {
    let says = match &found {
        Ok(None) => "Looking …".to_owned(),
        Ok(Some(looked)) if looked.there == There::Free => "There is nothing at this path".to_owned(),
        Ok(Some(looked)) => looked.what(),
        Err(why) => why.clone(),
    };
    ui.add(egui::Label::new(RichText::new(says).color(cx.theme.text_weak)).wrap());
    let opens = found.ok().flatten().and_then(Looked::opens);
    if let Some(command) = opens.filter(|_| entered) {
        send(cx, DownloadCommand::Close);
        cx.send(command);
    }
}

fn step_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    match &cx.session.download.step {
        DownloadStep::Choosing => suggestions_ui(ui, cx),
        DownloadStep::Asking { id, transfer, .. } => {
            ui.horizontal(|ui| {
                ui.add(Spinner::new());
                let retry = transfer.as_ref().and_then(|transfer| transfer.retry.as_ref());
                ui.label(retry.map_or_else(|| format!("Looking up {id}"), |retry| sentence(&retry.text())));
            });
            action_ui(ui, cx, "Cancel", DownloadCommand::Stop);
        }
        DownloadStep::Ready { plan, problem } => {
            plan_ui(ui, cx, plan);
            if let Some(problem) = problem {
                ui.label(RichText::new(format!("⚠ {problem}")).color(cx.theme.warning));
            }
            let start = format!("Download {}", bytes_text(plan.missing_bytes()));
            action_ui(ui, cx, &start, DownloadCommand::Start);
        }
        DownloadStep::Running { plan, transfer, .. } => {
            ui.label(RichText::new(plan.id.to_string()).strong());
            transfer_ui(ui, cx, plan, transfer.as_ref());
            action_ui(ui, cx, "Cancel", DownloadCommand::Stop);
        }
        DownloadStep::Stopped(plan) => {
            ui.label(format!("Stopped. The downloaded part of {} is kept", plan.id));
            action_ui(ui, cx, "Resume", DownloadCommand::Start);
        }
        DownloadStep::Failed { failure, plan } => {
            failure_ui(ui, cx, failure);
            match plan {
                Some(_) => action_ui(ui, cx, "Resume", DownloadCommand::Start),
                None => action_ui(ui, cx, "Try again", DownloadCommand::LookUp),
            }
        }
        DownloadStep::Done(plan) => {
            ui.label(format!("{} is in the cache, {}", plan.id, bytes_text(plan.total_bytes())));
            action_ui(ui, cx, "Open it", DownloadCommand::OpenModel(plan.id.to_string()));
        }
    }
}

/// The one thing to do next.
fn action_ui(ui: &mut Ui, cx: &PanelCtx<'_>, text: &str, command: DownloadCommand) {
    ui.add_space(GRID);
    if ui.button(RichText::new(text).strong()).clicked() {
        send(cx, command);
    }
}

fn suggestions_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    section_ui(ui, cx.theme, "Suggestions");
    for (id, what) in SUGGESTIONS {
        ui.horizontal(|ui| {
            if ui.link(id).on_hover_text("Look up its files and their sizes").clicked() {
                send(cx, DownloadCommand::SetName(id.to_owned()));
                send(cx, DownloadCommand::LookUp);
            }
            ui.label(RichText::new(what).small().color(cx.theme.text_weak));
        });
    }
}

fn plan_ui(ui: &mut Ui, cx: &PanelCtx<'_>, plan: &Plan) {
    let (total, missing) = (plan.total_bytes(), plan.missing_bytes());
    let here =
        if missing < total { format!(" · {} already downloaded", bytes_text(total - missing)) } else { String::new() };
    let n = plan.files.len();
    ui.label(RichText::new(plan.id.to_string()).strong());
    ui.label(RichText::new(format!("{n} files · {}{here}", bytes_text(total))).color(cx.theme.text_weak));
    ScrollArea::vertical().id_salt("files").max_height(LIST_HEIGHT).show(ui, |ui| {
        for file in &plan.files {
            field_ui(ui, cx.theme, &file.name, bytes_text(file.size_bytes));
        }
    });
}

fn transfer_ui(ui: &mut Ui, cx: &PanelCtx<'_>, plan: &Plan, transfer: Option<&Transfer>) {
    let started = Transfer {
        done_bytes: plan.total_bytes() - plan.missing_bytes(),
        total_bytes: plan.total_bytes(),
        ..Transfer::default()
    };
    let transfer = transfer.unwrap_or(&started);
    ui.add(ProgressBar::new(transfer.fraction()).desired_height(2.0 * GRID).fill(cx.theme.accent));
    let color = if transfer.retry.is_some() { cx.theme.warning } else { cx.theme.text };
    ui.label(RichText::new(sentence(&transfer.text())).color(color));
    ui.label(RichText::new(&transfer.file).small().color(cx.theme.text_weak));
}

fn cached_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let Download { cached, .. } = &cx.session.download;
    section_ui(ui, cx.theme, "In the cache");
    if cached.is_empty() {
        ui.label(RichText::new("No models yet").color(cx.theme.text_weak));
        return;
    }
    ScrollArea::vertical().id_salt("cached").max_height(LIST_HEIGHT).show(ui, |ui| {
        for KnownModel { name, family, size_bytes, problem } in cached {
            ui.horizontal(|ui| {
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    ui.label(RichText::new(bytes_text(*size_bytes)).small().color(cx.theme.text_weak));
                    ui.with_layout(egui::Layout::left_to_right(egui::Align::Center).with_main_wrap(false), |ui| {
                        let link = ui.add_enabled(problem.is_none(), egui::Link::new(name));
                        let link = link.on_hover_text("Open it (needs no network)");
                        if link.on_disabled_hover_text(problem.as_deref().unwrap_or_default()).clicked() {
                            send(cx, DownloadCommand::OpenModel(name.clone()));
                        }
                        let note =
                            problem.as_ref().map_or_else(|| family.clone(), |_| format!("{family}, not supported"));
                        ui.label(RichText::new(note).small().color(cx.theme.text_weak));
                    });
                });
            });
        }
    });
}

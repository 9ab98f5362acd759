//! The download of a model from the hub, step by step: what it costs, how far it is, how it ended.

use eframe::egui::{Frame, ProgressBar, RichText, ScrollArea, Spinner, Ui};

use crate::{
    hub::{Plan, Transfer},
    protocol::ModelSource,
    session::{Command, DownloadCommand, DownloadStep},
    text::{bytes_text, sentence},
    ui::{
        PanelCtx,
        panels::failure_ui,
        theme::{GRID, radius},
        widgets::field_ui,
    },
};

/// Height of the list of files before it scrolls.
const FILES_PT: f32 = 26.0 * GRID;

/// The one thing to do next: what the button says, and what it does; none before anything was asked.
struct Action(String, Vec<Command>);

impl Action {
    fn of(step: &DownloadStep) -> Option<Self> {
        let action = |text: &str, command| Some(Self(text.to_owned(), vec![Command::Download(command)]));
        match step {
            DownloadStep::Choosing => None,
            DownloadStep::Asking { .. } | DownloadStep::Running { .. } => action("Cancel", DownloadCommand::Stop),
            DownloadStep::Ready { plan, .. } => {
                action(&format!("Download {}", bytes_text(plan.missing_bytes())), DownloadCommand::Start)
            }
            DownloadStep::Stopped(_) | DownloadStep::Failed { plan: Some(_), .. } => {
                action("Resume", DownloadCommand::Start)
            }
            DownloadStep::Failed { plan: None, .. } => action("Try again", DownloadCommand::LookUp),
            DownloadStep::Done(plan) => {
                let open = Command::OpenModel(ModelSource::Hub(plan.id.to_string()));
                Some(Self("Open it".to_owned(), vec![Command::Download(DownloadCommand::Close), open]))
            }
        }
    }
}

/// Whether Enter does the next thing: whatever is on its way is stopped by a click alone.
pub const fn awaits_enter(step: &DownloadStep) -> bool {
    match step {
        DownloadStep::Choosing | DownloadStep::Asking { .. } | DownloadStep::Running { .. } => false,
        DownloadStep::Ready { .. } | DownloadStep::Stopped(_) | DownloadStep::Failed { .. } | DownloadStep::Done(_) => {
            true
        }
    }
}

/// Draws how far the download is, with the one thing to do next, which `entered` does, too.
pub fn step_ui(ui: &mut Ui, cx: &PanelCtx<'_>, entered: bool) {
    let step = &cx.session.download.step;
    let Some(Action(text, commands)) = Action::of(step) else { return };
    ui.add_space(GRID);
    Frame::new().fill(cx.theme.raised).corner_radius(radius::CONTROL).inner_margin(2.0 * GRID).show(ui, |ui| {
        ui.set_width(ui.available_width());
        match step {
            DownloadStep::Choosing => {}
            DownloadStep::Asking { id, transfer, .. } => {
                ui.horizontal(|ui| {
                    ui.add(Spinner::new());
                    let retry = transfer.as_ref().and_then(|transfer| transfer.retry.as_ref());
                    ui.label(retry.map_or_else(|| format!("Looking up {id}"), |retry| sentence(&retry.text())));
                });
            }
            DownloadStep::Ready { plan, problem } => {
                plan_ui(ui, cx, plan);
                if let Some(problem) = problem {
                    ui.label(RichText::new(format!("⚠ {problem}")).color(cx.theme.warning));
                }
            }
            DownloadStep::Running { plan, transfer, .. } => transfer_ui(ui, cx, plan, transfer.as_ref()),
            DownloadStep::Stopped(plan) => {
                ui.label(format!("Stopped. The downloaded part of {} is kept", plan.id));
            }
            DownloadStep::Failed { failure, .. } => failure_ui(ui, cx, failure),
            DownloadStep::Done(plan) => {
                ui.label(format!("{} is in the cache, {}", plan.id, bytes_text(plan.total_bytes())));
            }
        }
        ui.add_space(GRID);
        if ui.button(RichText::new(text).strong()).clicked() || entered {
            for command in commands {
                cx.send(command);
            }
        }
    });
}

fn plan_ui(ui: &mut Ui, cx: &PanelCtx<'_>, plan: &Plan) {
    let (total, missing) = (plan.total_bytes(), plan.missing_bytes());
    let here =
        if missing < total { format!(" · {} already downloaded", bytes_text(total - missing)) } else { String::new() };
    let n = plan.files.len();
    ui.label(RichText::new(plan.id.to_string()).strong());
    ui.label(RichText::new(format!("{n} files · {}{here}", bytes_text(total))).color(cx.theme.text_weak));
    ScrollArea::vertical().id_salt("files").max_height(FILES_PT).show(ui, |ui| {
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
    ui.label(RichText::new(plan.id.to_string()).strong());
    ui.add(ProgressBar::new(transfer.fraction()).desired_height(2.0 * GRID).fill(cx.theme.accent));
    let color = if transfer.retry.is_some() { cx.theme.warning } else { cx.theme.text };
    ui.label(RichText::new(sentence(&transfer.text())).color(color));
    ui.label(RichText::new(&transfer.file).small().color(cx.theme.text_weak));
}

//! The line at the bottom: what is running and how far, how long the last run took, what was said last.

use eframe::egui::{self, Align, Label, Layout, Popup, ProgressBar, RichText, Role, Ui, WidgetInfo};

use super::{
    WindowRequests,
    notices::{Notices, current_ui, history_ui},
};
use crate::{
    hub::Transfer,
    ids::DocumentId,
    model::Progress,
    protocol::{CorpusProgress, Failure, Lane},
    session::{Command, Document, OpenCorpus, Session},
    text::{counted, duration_text, share_text},
    ui::{PanelCtx, commands::UiCommand, theme::GRID, widgets::bytes_text, zoom},
};

/// What a message needs to be read, and what it takes where there is less for it and for what is idle.
const NOTICE_PT: [f32; 2] = [30.0 * GRID, 120.0 * GRID];
/// Width of the progress bar, and the room from which on it is shown.
const PROGRESS_PT: [f32; 2] = [32.0 * GRID, 75.0 * GRID];
/// What the button to cancel takes.
const CANCEL_PT: f32 = 16.0 * GRID;

/// What only the window knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusFacts {
    /// From asking for the last run to having its result, in seconds.
    pub run_secs: Option<f64>,
}

/// Draws the bar.
pub fn status_bar_ui(
    ui: &mut Ui,
    cx: &PanelCtx<'_>,
    (facts, notices): (StatusFacts, &mut Notices),
    requests: &mut WindowRequests,
) {
    let notice = notices.current(ui.ctx(), cx);
    ui.horizontal_centered(|ui| {
        ui.style_mut().override_text_style = Some(egui::TextStyle::Small);
        // What can be clicked has its room first.
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            messages_ui(ui, cx);
            zoom_ui(ui, requests);
            proposal_ui(ui);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let is_new = notice.is_some_and(|(_, is_new)| is_new);
                if let Some(running) = running(cx.session) {
                    running_ui(ui, cx, &running);
                } else if !is_new || ui.available_width() > NOTICE_PT[1] {
                    idle_ui(ui, cx, facts);
                }
                if let Some(notice) = notice.filter(|_| ui.available_width() > NOTICE_PT[0]) {
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| current_ui(ui, cx, notice));
                }
            });
        });
    });
}

/// What is shown, or in a few words what failed: the pane or the panel on the left says it in full.
fn idle_ui(ui: &mut Ui, cx: &PanelCtx<'_>, facts: StatusFacts) {
    let Document { model, capture, too_long, .. } = cx.document;
    let (text, failure) = match (capture.failure(), model.failure()) {
        (Some(failure), _) if too_long.is_some() => ("⚠ The text is too long".to_owned(), Some(failure)),
        (Some(failure), _) => ("⚠ The run failed".to_owned(), Some(failure)),
        (None, Some(failure)) => ("⚠ The model did not open".to_owned(), Some(failure)),
        (None, None) => (idle_text(cx.session, facts), None),
    };
    let color = if failure.is_some() { cx.theme.error } else { cx.theme.text_weak };
    let label = ui.add(Label::new(RichText::new(text).color(color)).truncate());
    if let Some(Failure { summary, details }) = failure {
        label.on_hover_text(format!("{summary}\n{details}").trim_end());
    }
}

fn messages_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let count = cx.session.notices.len();
    let button = ui.add(egui::Button::new(format!("Messages {count}")).small().frame_when_inactive(false));
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Messages"));
    Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| history_ui(ui, cx));
}

/// How large everything is, where it is not as large as the system says; a click puts that right.
fn zoom_ui(ui: &mut Ui, requests: &mut WindowRequests) {
    let Some(text) = zoom::text(ui.ctx()) else { return };
    let command = UiCommand::ZoomReset;
    let button = ui.add(egui::Button::new(&text).small().frame_when_inactive(false));
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, command.text()));
    if button.on_hover_text(command.tooltip_with_key(ui.ctx())).clicked() {
        requests.push(command);
    }
}

/// Proposes once to show everything larger where the window is very large.
fn proposal_ui(ui: &mut Ui) {
    let Some(zoom) = zoom::proposal(ui.ctx()) else { return };
    let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
    if close.accessible_name("Keep this size").on_hover_text("Keep this size").clicked() {
        zoom::answer(ui.ctx(), None);
    }
    let larger = ui.add(egui::Button::new(format!("Zoom to {}", share_text(zoom))).small());
    if larger.on_hover_text("Everything larger; the keys and the menu ⋯ change it again").clicked() {
        zoom::answer(ui.ctx(), Some(zoom));
    }
    ui.label("Is this window too small to read?");
}

/// A job, in words.
struct Running {
    lane: Lane,
    text: String,
    fraction: f32,
}

/// The job that the user waits for longest, and how far it is.
fn running(session: &Session) -> Option<Running> {
    let steps = |lane, what: &str, progress| {
        let (text, fraction) = match progress {
            Some(Progress { stage, done, total }) if total > 0 => {
                (format!("{} {done} of {total}", stage.label()), done as f32 / total as f32)
            }
            Some(Progress { stage, .. }) => (stage.label().to_owned(), 0.0),
            None => (what.to_owned(), 0.0),
        };
        Some(Running { lane, text, fraction })
    };
    // What the user looks at comes first.
    let here = session.pane();
    let documents = || [session.document()].into_iter().chain(&session.documents);
    let panes = || [here].into_iter().chain(session.panes.iter());
    if let Some(document) = documents().find(|document| document.model.is_pending()) {
        steps(Lane::Load(document.id), "Loading", document.model.progress())
    } else if let Some(document) = documents().find(|document| document.capture.is_pending()) {
        steps(Lane::Run(document.id), "Running", document.capture.progress())
    } else if let Some((id, corpus)) = documents()
        .filter_map(|document| Some((document.id, document.corpus.as_deref()?)))
        .find(|(_, corpus)| corpus.data.is_pending())
    {
        Some(corpus_running(id, corpus))
    } else if let Some(pane) = panes().find(|pane| pane.projection.is_pending()) {
        steps(pane.projection_lane(), "Projecting", pane.projection.progress())
    } else if let Some((pane, (kind, progress))) = panes().find_map(|pane| Some((pane, pane.surveys.running()?))) {
        steps(Lane::Survey(pane.id, kind), "Measuring", progress)
    } else if let Some((pane, (column, progress))) = panes().find_map(|pane| Some((pane, pane.explanations.running()?)))
    {
        steps(Lane::Explain(pane.id, column), "Explaining", progress)
    } else if let Some(document) = documents().find(|document| document.second_opinion.is_pending()) {
        steps(Lane::SecondOpinion(document.id), "Comparing", document.second_opinion.progress())
    } else if let Some(document) = documents().find(|document| document.timing.is_pending()) {
        steps(Lane::Measure(document.id), "Measuring", document.timing.progress())
    } else if let Some((id, debate)) = documents()
        .filter_map(|document| Some((document.id, &document.corpus.as_deref()?.debate)))
        .find(|(_, debate)| debate.is_pending())
    {
        steps(Lane::Debate(id), "Testing", debate.progress())
    } else if let Some((id, study, progress)) = documents().find_map(|document| {
        let studies = document.studies()?;
        let study = studies.pending().next()?;
        Some((document.id, study, studies.progress(study)))
    }) {
        steps(Lane::Study(id, study), study.doing(), progress)
    } else if !session.exports_pending.is_empty() {
        steps(Lane::Export, "Writing file", None)
    } else {
        let (plan, transfer) = session.download.running()?;
        let how_far = transfer.map_or_else(String::new, |transfer| format!(": {}", transfer.text()));
        let fraction = transfer.map_or(0.0, Transfer::fraction);
        Some(Running { lane: Lane::Download, text: format!("Downloading {}{how_far}", plan.id), fraction })
    }
}

fn corpus_running(id: DocumentId, corpus: &OpenCorpus) -> Running {
    let Some(CorpusProgress { n_done, n_inputs, .. }) = corpus.progress else {
        return Running { lane: Lane::Corpus(id), text: "Reading inputs".to_owned(), fraction: 0.0 };
    };
    let text = format!("Running input {n_done} of {n_inputs}");
    Running { lane: Lane::Corpus(id), text, fraction: n_done as f32 / n_inputs.max(1) as f32 }
}

fn running_ui(ui: &mut Ui, cx: &PanelCtx<'_>, running: &Running) {
    let Running { lane, text, fraction } = running;
    if ui.available_width() > PROGRESS_PT[1] {
        let bar = ProgressBar::new(*fraction).desired_width(PROGRESS_PT[0]).desired_height(1.5 * GRID);
        ui.add(bar.fill(cx.theme.accent));
    }
    let room = (ui.available_width() - CANCEL_PT).max(0.0);
    ui.scope(|ui| {
        ui.set_max_width(room);
        ui.add(Label::new(text).truncate());
    });
    let cancel = ui.add(egui::Button::new(UiCommand::Cancel.text()).small());
    if cancel.on_hover_text(UiCommand::Cancel.tooltip()).clicked() {
        cx.send(Command::Cancel(*lane));
    }
}

fn idle_text(session: &Session, facts: StatusFacts) -> String {
    let Some(capture) = session.document().latest_capture() else { return "Ready".to_owned() };
    if let Some(folder) = session.document().folder() {
        return format!("{} of the folder {}", counted(folder.index.heads.len(), "head"), folder.name());
    }
    let n_tokens = capture.query_tokens(session.pane().selection.stack()).len();
    let of = if session.pane().shows_corpus(session.document()) { "This input: " } else { "" };
    let mut parts = vec![format!("{of}{}", counted(n_tokens, "token"))];
    parts.extend(facts.run_secs.map(|secs| format!("run took {}", duration_text(secs))));
    parts.push(format!("capture {}", bytes_text(capture.size_bytes())));
    parts.join(" · ")
}

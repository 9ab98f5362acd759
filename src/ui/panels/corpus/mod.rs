//! A corpus: where it comes from, how far it is, and its inputs to choose among.

mod dialog;
mod list;
mod menu;
mod sheet;

use eframe::egui::{self, Align, ComboBox, Layout, ProgressBar, RichText, Role, ScrollArea, TextEdit, Ui, WidgetInfo};

use super::failure_ui;
use crate::{
    analysis::PointCloud,
    corpus::{Corpus, SortBy},
    ids::Side,
    protocol::{CorpusSoFar, Lane},
    session::{Command, CorpusCommand, ListCommand, OpenCorpus},
    text::{grouped, wait_text},
    ui::{PanelCtx, ViewCtx, theme::GRID, widgets::bytes_text},
};

pub use dialog::CorpusDialog;
pub use menu::corpus_menu_ui;

/// Least height of the panel, in points: a few rows of the list.
const MIN_HEIGHT: f32 = 45.0 * GRID;
/// Room for a reason why an input was left out.
const REASON_WIDTH: f32 = 90.0 * GRID;

/// The lower part of the left panel, while a corpus is open.
#[derive(Default)]
pub struct CorpusPanel {
    list: list::InputList,
}

impl CorpusPanel {
    /// Draws it at the bottom of what is left of the panel.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        let Some(open) = cx.document.corpus.as_deref() else { return };
        let room = ui.available_height();
        let sizes = MIN_HEIGHT.min(0.6 * room)..=0.8 * room;
        let frame = egui::Frame::new().inner_margin(egui::Margin { top: GRID as i8, ..egui::Margin::ZERO });
        let panel = egui::Panel::bottom("corpus").frame(frame).resizable(true).default_size(0.5 * room);
        panel.size_range(sizes).show(ui, |ui| self.contents_ui(ui, cx, open));
    }

    /// Lets go of what it painted of a corpus that is closed.
    pub fn rest(&mut self) {
        self.list.rest();
    }

    fn contents_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, open: &OpenCorpus) {
        ui.spacing_mut().item_spacing.y = GRID;
        heading_ui(ui, cx, open);
        state_ui(ui, cx, open);
        unchanged_ui(ui, cx);
        let Some(so_far) = open.data.latest() else {
            ui.allocate_space(ui.available_size());
            return;
        };
        search_ui(ui, cx, open, &so_far.corpus);
        let footer = egui::Panel::bottom("corpus footer").frame(egui::Frame::new()).resizable(false);
        footer.show_separator_line(false).show(ui, |ui| footer_ui(ui, cx, open, so_far));
        if open.rows().is_empty() {
            let text = format!("No input has “{}”", open.filter.trim());
            ui.label(RichText::new(text).color(cx.theme.text_weak));
            ui.allocate_space(ui.available_size());
            return;
        }
        self.list.ui(ui, cx, open, &so_far.corpus);
    }
}

fn send(cx: &ViewCtx<'_>, command: CorpusCommand) {
    cx.send(Command::Corpus(command));
}

fn heading_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
            close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close corpus"));
            if close.on_hover_text("Close this corpus; its results stay on disk for a while").clicked() {
                send(cx, CorpusCommand::Close);
            }
            let other = egui::containers::menu::MenuButton::from_button(egui::Button::new("⏷").small());
            let (other, _) = other.ui(ui, |ui| corpus_menu_ui(ui, cx));
            other.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Open another corpus"));
            other.on_hover_text("Open another corpus in place of this one");
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.label(RichText::new("Corpus").small().strong().color(cx.theme.text_weak));
                ui.add(egui::Label::new(open.source.name()).truncate());
            });
        });
    });
}

/// How far it is, what it takes, and what to do about it.
fn state_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus) {
    if let Some(failure) = open.data.failure() {
        failure_ui(ui, cx, failure);
        ui.horizontal(|ui| {
            if let Some(first) = open.first_that_fit()
                && ui.button(format!("Take the first {}", grouped(first))).clicked()
            {
                send(cx, CorpusCommand::OpenFirst(first));
            }
            if ui.button("Try again").clicked() {
                send(cx, CorpusCommand::GoOn);
            }
        });
        return;
    }
    if open.is_waiting() {
        ui.label(RichText::new("Runs once a model is open").color(cx.theme.text_weak));
        return;
    }
    if open.data.is_pending() {
        running_ui(ui, cx, open);
        return;
    }
    ui.label(RichText::new(facts_text(open)).small().color(cx.theme.text_weak));
    if open.can_go_on() {
        ui.horizontal(|ui| {
            let (n_done, n) = how_far(open);
            let text = if n_done > 0 {
                format!("Stopped after {} of {}", grouped(n_done), grouped(n))
            } else {
                "Not run with this model".to_owned()
            };
            ui.label(text);
            let text = if n_done > 0 { "Resume" } else { "Run" };
            if ui.button(text).on_hover_text("Run the inputs that have not been run").clicked() {
                send(cx, CorpusCommand::GoOn);
            }
        });
    }
}

/// Says that what is changed about the document's input is not changed about those of a corpus.
fn unchanged_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    if let Some(sentence) = cx.document.unchanged_corpus() {
        ui.add(egui::Label::new(RichText::new(sentence).small().color(cx.theme.text_weak)).wrap());
    }
}

fn running_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus) {
    let (n_done, n) = how_far(open);
    let fraction = n_done as f32 / n.max(1) as f32;
    let facts = match (&open.plan, n_done) {
        (None, _) => "Reading the inputs".to_owned(),
        (Some(plan), 0) => format!(
            "{} inputs · about {} tokens · {}",
            grouped(plan.n_inputs),
            grouped(plan.n_tokens),
            bytes_text(plan.n_bytes)
        ),
        (Some(plan), _) => {
            let left = open.progress.and_then(|progress| progress.secs_left).map(wait_text);
            let left = left.map_or_else(String::new, |left| format!(" · {left} left"));
            format!("{} of {} inputs{left} · {} in total", grouped(n_done), grouped(n), bytes_text(plan.n_bytes))
        }
    };
    ui.label(RichText::new(facts).small().color(cx.theme.text_weak));
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let stop = ui.add(egui::Button::new("Stop").small());
            if stop.on_hover_text("Stop: finished inputs stay, the others can be run later").clicked() {
                cx.send(Command::Cancel(Lane::Corpus(cx.document.id)));
            }
            let bar = ProgressBar::new(fraction).desired_height(1.5 * GRID).desired_width(ui.available_width());
            ui.add(bar.fill(cx.theme.accent)).accessible_name("Progress of the corpus");
        });
    });
}

/// Inputs that were run or left out, of how many.
fn how_far(open: &OpenCorpus) -> (usize, usize) {
    let there = open.data.latest().map(|so_far| {
        let n_done = so_far.corpus.inputs().len() + so_far.left_out.len();
        (n_done, so_far.list.items.len())
    });
    let progress = open.progress.map(|progress| (progress.n_done, progress.n_inputs));
    progress.filter(|_| open.data.is_pending()).or(there).unwrap_or_default()
}

/// What is there, and what it takes.
fn facts_text(open: &OpenCorpus) -> String {
    let (Some(so_far), Some(view)) = (open.data.latest(), open.view()) else { return String::new() };
    let (n, n_all) = (view.selection().inputs().len(), so_far.list.items.len());
    let n_tokens: usize = Side::ALL.into_iter().map(|side| view.n(side)).sum();
    let inputs = if n == n_all { grouped(n) } else { format!("{} of {}", grouped(n), grouped(n_all)) };
    format!("{inputs} inputs · {} tokens · {}", grouped(n_tokens), bytes_text(so_far.corpus.size_bytes()))
}

/// What narrows the list, and what sorts it.
fn search_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, corpus: &Corpus) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        let (by, descending) = &open.sort;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let symbol = if *descending { "↓" } else { "↑" };
            let turn = ui.add(egui::Button::new(symbol).small());
            let (meaning, name) = if *descending {
                ("Largest first; click for smallest first", "Sorted from the largest")
            } else {
                ("Smallest first; click for largest first", "Sorted from the smallest")
            };
            turn.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
            if turn.on_hover_text(meaning).clicked() {
                send(cx, CorpusCommand::List(ListCommand::Sort(by.clone(), !descending)));
            }
            let combo =
                ComboBox::from_id_salt("sort corpus").selected_text(sort_text(by)).width(19.0 * GRID).truncate();
            let combo = combo.show_ui(ui, |ui| {
                let annotations = corpus.annotations().iter().cloned().map(SortBy::Annotation);
                for choice in [SortBy::Source, SortBy::Name, SortBy::Tokens].into_iter().chain(annotations) {
                    if ui.selectable_label(choice == *by, sort_text(&choice)).clicked() {
                        send(cx, CorpusCommand::List(ListCommand::Sort(choice, *descending)));
                    }
                }
            });
            combo.response.on_hover_text("Sort the list by").accessible_name("Sort by");
            let mut filter = open.filter.clone();
            let hint = match corpus.annotations().first() {
                Some(name) => format!("Filter, or {name}=…"),
                None => "Filter".to_owned(),
            };
            let field = TextEdit::singleline(&mut filter).hint_text(hint).desired_width(ui.available_width());
            let field = ui
                .add(field)
                .on_hover_text("Part of the name or text, or an annotation and its value, such as label=round");
            if field.accessible_name("Filter inputs").changed() {
                send(cx, CorpusCommand::List(ListCommand::Filter(filter)));
            }
        });
    });
}

fn sort_text(by: &SortBy) -> &str {
    match by {
        SortBy::Source => "in order",
        SortBy::Name => "by name",
        SortBy::Tokens => "by tokens",
        SortBy::Annotation(name) => name,
    }
}

/// What can be done with the inputs that are selected or listed, and which are not there.
fn footer_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, so_far: &CorpusSoFar) {
    let n_there = open.view().map_or(0, |view| view.selection().inputs().len());
    let (n, what) = match open.selected.len() {
        0 => (open.rows().len(), "listed"),
        n => (n, "selected"),
    };
    let (n_removed, n_steps) = open.n_removed();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(GRID, GRID);
        // The places of these do not depend on what is selected.
        let can = n > 0 && n < n_there;
        let text = if can { format!("Remove {}", grouped(n)) } else { "Remove".to_owned() };
        let remove = ui.add_enabled(can, egui::Button::new(text).small());
        let remove = remove.on_hover_text(format!("Remove the {what} inputs from the query–key map (Delete)"));
        if remove.on_disabled_hover_text("First filter the list, or select rows with Ctrl- or Shift-click").clicked() {
            send(cx, CorpusCommand::List(ListCommand::Remove));
        }
        let text = if can { format!("Keep only {}", grouped(n)) } else { "Keep only".to_owned() };
        let keep = ui.add_enabled(can, egui::Button::new(text).small());
        let keep = keep.on_hover_text(format!("Remove all but the {what} inputs from the query–key map"));
        if keep.on_disabled_hover_text("First filter the list, or select rows with Ctrl- or Shift-click").clicked() {
            send(cx, CorpusCommand::List(ListCommand::Keep));
        }
        if n_steps > 0 {
            let restore = ui.add(egui::Button::new("Put back").small());
            if restore.on_hover_text("Put back the inputs removed last").clicked() {
                send(cx, CorpusCommand::List(ListCommand::Restore));
            }
        }
        if n_steps > 1 {
            let all = ui.add(egui::Button::new(format!("Put back all {}", grouped(n_removed))).small());
            if all.clicked() {
                send(cx, CorpusCommand::List(ListCommand::RestoreAll));
            }
        }
        if !so_far.left_out.is_empty() {
            left_out_ui(ui, cx, so_far);
        }
    });
}

fn left_out_ui(ui: &mut Ui, cx: &ViewCtx<'_>, so_far: &CorpusSoFar) {
    let text = RichText::new(format!("⚠ {} left out", grouped(so_far.left_out.len()))).small().color(cx.theme.warning);
    let menu = ui.menu_button(text, |ui| {
        ui.set_width(REASON_WIDTH);
        let height = 2.0 * ui.text_style_height(&egui::TextStyle::Small) + 2.0 * GRID;
        let area = ScrollArea::vertical().max_height(60.0 * GRID);
        area.show_rows(ui, height, so_far.left_out.len(), |ui, rows| {
            for left_out in so_far.left_out.get(rows).unwrap_or_default() {
                let name = format!("{}  {}", left_out.source + 1, left_out.name);
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.add(egui::Label::new(RichText::new(name).small()).truncate());
                let reason = RichText::new(&left_out.reason).small().color(cx.theme.text_weak);
                ui.add(egui::Label::new(reason).truncate()).on_hover_text(&left_out.reason);
            }
        });
    });
    menu.response.on_hover_text("Inputs that could not be run, and why");
}

/// Whether the joint spaces of the pane show the corpus, or the input alone.
pub fn cloud_choice_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(open) = cx.document.corpus.as_deref() else {
        ui.horizontal(|ui| {
            ui.label(RichText::new("Show").color(cx.theme.text_weak));
            ui.label("this input");
            ui.menu_button("Open corpus… ⏷", |ui| corpus_menu_ui(ui, cx))
                .response
                .on_hover_text("Show the queries and keys of many inputs at once");
        });
        return;
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new("Show").color(cx.theme.text_weak));
        let mut options = cx.pane.options.clone();
        let is_there = open.view().is_some();
        let shows = matches!(cx.pane.cloud(cx.document), Some(PointCloud::Inputs(_)));
        for (value, text) in [(false, "This input"), (true, "Corpus")] {
            let chosen = shows == value;
            let button = ui.add_enabled(is_there || !value, egui::Button::selectable(chosen, text));
            if button.on_disabled_hover_text("None of its inputs has been run yet").clicked() && !chosen {
                *options.corpus_mut() = value;
                cx.send(Command::SetViewOptions(options.clone()));
            }
        }
    });
}

//! A corpus: where it comes from, how far it is, and its inputs to choose among.

mod dialog;
mod list;
mod menu;
mod said;
mod sheet;

use eframe::egui::{self, Align, ComboBox, Layout, ProgressBar, RichText, Role, ScrollArea, TextEdit, Ui, WidgetInfo};

use super::{failure_ui, prediction::answer_text};
use crate::{
    analysis::PointCloud,
    corpus::{Corpus, SortBy},
    ids::Side,
    protocol::{CorpusSoFar, Failure, Lane},
    session::{Command, CorpusCommand, ListCommand, ListOrder, Only, OpenCorpus, SaidOrder},
    text::{grouped, wait_text},
    ui::{
        PanelCtx, ViewCtx,
        theme::GRID,
        widgets::{bytes_text, section_title_ui},
    },
};

pub use dialog::CorpusDialog;
pub use menu::corpus_menu_ui;

/// Height of the open drawer, in points, until somebody drags its edge.
const OPEN_PT: f32 = 46.0 * GRID;
/// Height of the closed drawer: one line.
const CLOSED_PT: f32 = 7.0 * GRID;
/// Least height of the open drawer: a few rows of the list.
const LEAST_PT: f32 = 36.0 * GRID;
/// Height of the room from which it is open by itself.
const OPEN_FROM_PT: f32 = 110.0 * GRID;
/// The largest part of the room that the drawer takes from the view.
const LARGEST: f32 = 0.6;
/// Width of the filter.
const FILTER_PT: f32 = 40.0 * GRID;
/// Width of the bar that says how far a corpus is.
const PROGRESS_PT: f32 = 24.0 * GRID;
/// Room for a reason why an input was left out.
const REASON_WIDTH: f32 = 90.0 * GRID;

/// The drawer below the view, while a corpus is open.
#[derive(Default)]
pub struct CorpusDrawer {
    list: list::InputList,
    /// Whether somebody opened or closed it; as the room allows until then.
    chosen: Option<bool>,
}

impl CorpusDrawer {
    /// Draws it at the bottom of what is left; one line where it is closed or there is no room for more.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        let Some(open) = cx.document.corpus.as_deref() else { return };
        let room = ui.available_height();
        let most = LARGEST * room;
        let has_room = most >= LEAST_PT;
        let is_open = has_room && self.chosen.unwrap_or(room >= OPEN_FROM_PT);
        let frame = egui::Frame::new().fill(cx.theme.panel);
        let side = 3 * GRID as i8;
        if !is_open {
            let panel =
                egui::Panel::bottom("closed corpus").frame(frame.inner_margin(egui::Margin::symmetric(side, 0)));
            panel
                .resizable(false)
                .exact_size(CLOSED_PT)
                .show(ui, |ui| self.heading_ui(ui, cx, open, (is_open, has_room)));
            return;
        }
        let frame = frame.inner_margin(egui::Margin { left: side, right: side, top: 0, bottom: GRID as i8 });
        let panel = egui::Panel::bottom("corpus").frame(frame).resizable(true).default_size(OPEN_PT);
        panel.size_range(LEAST_PT..=most).show(ui, |ui| self.contents_ui(ui, cx, open));
    }

    /// Lets go of what it painted of a corpus that is closed.
    pub fn rest(&mut self) {
        self.list.rest();
    }

    fn contents_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, open: &OpenCorpus) {
        ui.spacing_mut().item_spacing.y = GRID;
        self.heading_ui(ui, cx, open, (true, true));
        if let Some(failure) = open.data.failure() {
            failed_ui(ui, cx, open, failure);
        }
        unchanged_ui(ui, cx);
        let Some(so_far) = open.data.latest() else {
            ui.allocate_space(ui.available_size());
            return;
        };
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = egui::vec2(GRID, GRID);
            search_ui(ui, cx, open, &so_far.corpus);
            ui.add_space(2.0 * GRID);
            said::said_ui(ui, cx, open, so_far);
            ui.add_space(2.0 * GRID);
            choice_ui(ui, cx, open, so_far);
        });
        if open.rows().is_empty() {
            let text = match (open.filter.trim(), open.only) {
                ("", Only::Wrong) => "The model is right about every input that has a label".to_owned(),
                ("", _) => "No input is listed".to_owned(),
                (filter, Only::All) => format!("No input has “{filter}”"),
                (filter, _) => format!("None of these inputs has “{filter}”"),
            };
            ui.label(RichText::new(text).color(cx.theme.text_weak));
            ui.allocate_space(ui.available_size());
            return;
        }
        self.list.ui(ui, cx, open, &so_far.corpus);
    }

    /// One line: the corpus, how far it is and what it takes, which input is shown, and what to do about it.
    fn heading_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, (is_open, has_room): (bool, bool)) {
        let size = egui::vec2(ui.available_width(), CLOSED_PT);
        ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
            ui.set_min_size(size);
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
            run_ui(ui, cx, open);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let (symbol, name) = if is_open { ("⏷", "Hide the list") } else { ("⏵", "Show the list") };
                let fold = ui.add_enabled(has_room, egui::Button::new(symbol).small().frame_when_inactive(false));
                fold.widget_info(|| WidgetInfo::labeled(Role::Button, has_room, name));
                let fold = fold.on_disabled_hover_text("The window is too low for the list");
                if fold.on_hover_text(name).clicked() {
                    self.chosen = Some(!is_open);
                }
                ui.label(RichText::new("Corpus").small().strong().color(cx.theme.text_weak));
                ui.add(egui::Label::new(open.source.name()).truncate());
                let facts = RichText::new(state_text(open)).small().color(cx.theme.text_weak);
                ui.add_space(GRID);
                ui.add(egui::Label::new(facts).truncate());
                if let Some(shown) = shown_name(cx, open).filter(|_| !is_open) {
                    ui.add_space(GRID);
                    ui.add(egui::Label::new(format!("shown: {shown}")).truncate());
                }
            });
        });
    }
}

/// Draws what is known of the input under the pointer, else of the one that is shown.
pub fn input_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    section_title_ui(ui, cx.theme, "Input");
    let corpus = cx.document.corpus.as_deref().and_then(|open| open.data.latest()).map(|so_far| &so_far.corpus);
    let pointed = list::pointed(ui).filter(|_| corpus.is_some());
    let of_corpus = pointed
        .or(cx.document.corpus_input)
        .zip(corpus)
        .and_then(|(source, corpus)| Some((corpus, corpus.inputs().iter().position(|input| input.source == source)?)));
    match of_corpus {
        Some((corpus, at)) => list::about_ui(ui, cx, corpus, at),
        None => drop(ui.add(egui::Label::new(cx.document.input_name()).wrap())),
    }
    if let Some(answer) = answer_text(cx).filter(|_| pointed.is_none_or(|it| cx.document.corpus_input == Some(it))) {
        ui.add(egui::Label::new(format!("Answer: {answer}")).wrap());
    }
}

/// The input of the corpus that the views show.
fn shown_name<'a>(cx: &ViewCtx<'_>, open: &'a OpenCorpus) -> Option<&'a str> {
    let source = cx.document.corpus_input?;
    let inputs = open.data.latest()?.corpus.inputs();
    inputs.iter().find(|input| input.source == source).map(|input| input.name.as_str())
}

fn send(cx: &ViewCtx<'_>, command: CorpusCommand) {
    cx.send(Command::Corpus(command));
}

/// Why it could not be run, and what to do about it.
fn failed_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, failure: &Failure) {
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
}

/// Says that what is changed about the document's input is not changed about those of a corpus.
fn unchanged_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    if let Some(sentence) = cx.document.unchanged_corpus() {
        ui.add(egui::Label::new(RichText::new(sentence).small().color(cx.theme.text_weak)).wrap());
    }
}

/// How far it is and what it takes, in a few words.
fn state_text(open: &OpenCorpus) -> String {
    if open.data.failure().is_some() {
        return String::new();
    }
    if open.is_waiting() {
        return "Runs once a model is open".to_owned();
    }
    let (n_done, n) = how_far(open);
    if !open.data.is_pending() {
        return match (open.can_go_on(), n_done) {
            (false, _) => facts_text(open),
            (true, 0) => "Not run with this model".to_owned(),
            (true, _) => format!("Stopped after {} of {}", grouped(n_done), grouped(n)),
        };
    }
    match (&open.plan, n_done) {
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
    }
}

/// Starts or stops the run of the inputs, from the right.
fn run_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus) {
    let (n_done, n) = how_far(open);
    if open.data.is_pending() {
        let stop = ui.add(egui::Button::new("Stop").small());
        if stop.on_hover_text("Stop: finished inputs stay, the others can be run later").clicked() {
            cx.send(Command::Cancel(Lane::Corpus(cx.document.id)));
        }
        let fraction = n_done as f32 / n.max(1) as f32;
        let bar = ProgressBar::new(fraction).desired_height(1.5 * GRID).desired_width(PROGRESS_PT);
        ui.add(bar.fill(cx.theme.accent)).accessible_name("Progress of the corpus");
    } else if open.can_go_on() && open.data.failure().is_none() && !open.is_waiting() {
        let text = if n_done > 0 { "Resume" } else { "Run" };
        let go_on = ui.add(egui::Button::new(text).small());
        if go_on.on_hover_text("Run the inputs that have not been run").clicked() {
            send(cx, CorpusCommand::GoOn);
        }
    }
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
    let (by, descending) = &open.sort;
    let mut filter = open.filter.clone();
    let hint = match corpus.annotations().first() {
        Some(name) => format!("Filter, or {name}=…"),
        None => "Filter".to_owned(),
    };
    let field = ui
        .add(TextEdit::singleline(&mut filter).hint_text(hint).desired_width(FILTER_PT))
        .on_hover_text("Part of the name or text, or an annotation and its value, such as label=round");
    if field.accessible_name("Filter inputs").changed() {
        send(cx, CorpusCommand::List(ListCommand::Filter(filter)));
    }
    let combo = ComboBox::from_id_salt("sort corpus").selected_text(sort_text(by)).width(24.0 * GRID).truncate();
    let combo = combo.show_ui(ui, |ui| {
        let annotations = corpus.annotations().iter().cloned().map(SortBy::Annotation);
        let plain = [SortBy::Source, SortBy::Name, SortBy::Tokens].into_iter().chain(annotations).map(ListOrder::By);
        // What the model says, once it was asked.
        let speech = cx.document.speech().filter(|_| open.said.latest().is_some());
        let of_said = SaidOrder::ALL.into_iter().filter(|order| speech.is_some_and(|speech| order.is_of(speech)));
        for choice in plain.chain(of_said.map(ListOrder::Said)) {
            if ui.selectable_label(choice == *by, sort_text(&choice)).clicked() {
                send(cx, sort(choice, *descending));
            }
        }
    });
    combo.response.on_hover_text("Sort the list by").accessible_name("Sort by");
    let symbol = if *descending { "↓" } else { "↑" };
    let turn = ui.add(egui::Button::new(symbol).small());
    let (meaning, name) = if *descending {
        ("Largest first; click for smallest first", "Sorted from the largest")
    } else {
        ("Smallest first; click for largest first", "Sorted from the smallest")
    };
    turn.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    if turn.on_hover_text(meaning).clicked() {
        send(cx, sort(by.clone(), !descending));
    }
}

fn sort(by: ListOrder, descending: bool) -> CorpusCommand {
    CorpusCommand::List(match by {
        ListOrder::By(by) => ListCommand::Sort(by, descending),
        ListOrder::Said(by) => ListCommand::SortSaid(by, descending),
    })
}

fn sort_text(by: &ListOrder) -> &str {
    match by {
        ListOrder::By(SortBy::Source) => "in order",
        ListOrder::By(SortBy::Name) => "by name",
        ListOrder::By(SortBy::Tokens) => "by tokens",
        ListOrder::By(SortBy::Annotation(name)) => name,
        ListOrder::Said(order) => order.title(),
    }
}

/// What can be done with the inputs that are selected or listed, and which are not there.
fn choice_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, so_far: &CorpusSoFar) {
    let n_there = open.view().map_or(0, |view| view.selection().inputs().len());
    let (n, what) = match open.selected.len() {
        0 => (open.rows().len(), "listed"),
        n => (n, "selected"),
    };
    let (n_removed, n_steps) = open.n_removed();
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

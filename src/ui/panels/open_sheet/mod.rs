//! The one sheet to open anything: by its path, by its id on the hub, or from what there is.

use eframe::egui::{
    self, Context, FontId, Id, Key, Modifiers, Rect, RichText, Role, ScrollArea, Sense, TextEdit, Ui, WidgetInfo, pos2,
    text::{CCursor, CCursorRange, LayoutJob, TextWrapping},
    vec2,
};

mod download;
mod rows;

use rows::{OpenRow, Origin};

use super::{
    WindowRequests,
    corpus::corpus_menu_ui,
    palette::{Chosen, paths},
};
use crate::{
    session::{Command, DownloadCommand},
    ui::{
        PanelCtx,
        commands::UiCommand,
        look::{Entered, Looker},
        theme::{GRID, radius, text_size},
        widgets::{Dialog, Steps, command_button_ui, focus_when_opened, main_button_ui},
    },
};

/// Size of the contents, where the window has room: with its margins the sheet has 640 × 480.
const SIZE_PT: egui::Vec2 = vec2(150.0 * GRID, 110.0 * GRID);
/// Height of a row, and of a heading above some.
const ROW_PT: f32 = 7.0 * GRID;
/// Rows of a page.
const PAGE: usize = 8;
/// Of the width of a row for its name.
const NAME: f32 = 0.4;
/// Height of the lines that tell all about the row that Enter opens, and of what is below them.
const ABOUT_PT: f32 = 9.0 * GRID;
const BELOW_PT: f32 = 10.0 * GRID;
/// The list is never lower.
const LEAST_LIST_PT: f32 = 3.0 * ROW_PT;

/// The sheet's own state.
#[derive(Debug, Default)]
pub struct OpenSheet {
    was_open: bool,
    /// The row that Enter opens.
    at: usize,
    /// What the field had in it when it was drawn last.
    drawn: String,
    entered: Entered,
}

impl OpenSheet {
    /// Draws the sheet over everything while it is open.
    pub fn ui(&mut self, ctx: &Context, cx: &PanelCtx<'_>, looker: &mut Looker, requests: &mut WindowRequests) {
        let download = &cx.session.download;
        if !download.is_open {
            *self = Self::default();
            return;
        }
        if !std::mem::replace(&mut self.was_open, true) {
            looker.forget();
        }
        let typed = &download.name;
        let rows = rows::rows(cx, typed, looker);
        let field = Id::unique("what to open");
        let has_cursor = ctx.memory(|memory| memory.has_focus(field));
        let steps = if has_cursor { Steps::take(ctx, PAGE) } else { Steps::default() };
        if self.drawn != *typed {
            self.at = 0;
        }
        self.at = steps.from(self.at, rows.len());
        let completion = rows.iter().find_map(|row| match &row.chosen {
            Some(Chosen::Type(typed)) => Some(typed.clone()),
            Some(Chosen::Session(_) | Chosen::Window(_)) | None => None,
        });
        let tab =
            has_cursor && completion.is_some() && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab));
        if steps.any() || tab {
            self.entered.forget();
        }
        // What is looked up stands first.
        let is_looking = self.at == 0 && paths::is_looking(typed, looker);
        let entered = self.entered.counts(typed, steps.enter, is_looking);
        let goes_on = self.at == 0 && !typed.is_empty() && download::awaits_enter(&download.step);
        let modal = Dialog::new("open", SIZE_PT.x).show(ctx, |ui| {
            let top = ui.cursor().top();
            ui.heading("Open");
            ui.add_space(GRID);
            self.field_ui(ui, cx, field, completion.is_some());
            download::step_ui(ui, cx, entered && goes_on);
            ui.add_space(GRID);
            let room = SIZE_PT.y.min(Dialog::room(ctx).y) - (ui.cursor().top() - top);
            let height = (room - ABOUT_PT - BELOW_PT).max(LEAST_LIST_PT);
            let (clicked, told) = self.list_ui(ui, cx, &rows, height, steps.any());
            about_ui(ui, cx, rows.get(told));
            let closes = below_ui(ui, cx, requests);
            (clicked, closes)
        });
        let (clicked, closes) = modal.inner;
        let chosen = clicked.or_else(|| (entered && !goes_on).then_some(self.at));
        let chosen = chosen.and_then(|at| rows.get(at)).and_then(|row| row.chosen.clone());
        if closes || modal.should_close() {
            send(cx, DownloadCommand::Close);
        }
        match chosen.or_else(|| completion.filter(|_| tab).map(Chosen::Type)) {
            Some(Chosen::Type(typed)) => send(cx, DownloadCommand::SetName(typed)),
            Some(Chosen::Session(command)) => {
                if !matches!(*command, Command::Download(_)) {
                    send(cx, DownloadCommand::Close);
                }
                cx.send(*command);
            }
            Some(Chosen::Window(command)) => requests.push(command),
            None => {}
        }
        if clicked.is_some() {
            ctx.memory_mut(|memory| memory.request_focus(field));
        }
    }

    /// Draws the field, in which Tab completes where there is something to complete.
    fn field_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, id: Id, completes: bool) {
        let name = &cx.session.download.name;
        let mut typed = name.clone();
        let field = TextEdit::singleline(&mut typed).id(id).hint_text("Folder, file or hub id").lock_focus(completes);
        let mut output = field.desired_width(f32::INFINITY).margin(vec2(2.0 * GRID, 1.5 * GRID)).show(ui);
        // What came from elsewhere is gone on with.
        if self.drawn != *name {
            let end = CCursorRange::one(CCursor::new(name.chars().count()));
            output.state.cursor.set_char_range(Some(end));
            output.state.store(ui.ctx(), id);
        }
        let field = output.response.response.accessible_name("Folder, file or hub id");
        focus_when_opened(ui, &field);
        self.drawn.clone_from(name);
        if field.changed() {
            self.drawn.clone_from(&typed);
            self.at = 0;
            send(cx, DownloadCommand::SetName(typed));
        }
    }

    /// Draws the rows below their headings; the one that was clicked, and the one to tell more about.
    fn list_ui(
        &self,
        ui: &mut Ui,
        cx: &PanelCtx<'_>,
        rows: &[OpenRow],
        height: f32,
        moved: bool,
    ) -> (Option<usize>, usize) {
        let (mut clicked, mut told) = (None, self.at);
        let list = ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink(false);
        list.id_salt("list").show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let mut last = None;
            for (idx, row) in rows.iter().enumerate() {
                if row.origin != Origin::Typed && last != Some(row.origin) {
                    heading_ui(ui, cx, row.origin.title());
                }
                last = Some(row.origin);
                let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_PT), Sense::CLICK);
                let is_selected = idx == self.at;
                let can = row.chosen.is_some();
                let name = [&row.name, row.reason.as_ref().unwrap_or(&row.facts), &row.note];
                let name = name.map(String::as_str).join(": ");
                response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, can, is_selected, &name));
                if is_selected && moved {
                    ui.scroll_to_rect(rect, None);
                }
                if ui.is_rect_visible(rect) {
                    let ground = if is_selected { cx.theme.accent_ground } else { cx.theme.hover };
                    if is_selected || response.hovered() {
                        ui.painter().rect_filled(rect, radius::CONTROL, ground);
                    }
                    row_ui(ui, cx, rect, row);
                }
                if response.hovered() {
                    told = idx;
                }
                if response.clicked() && can {
                    clicked = Some(idx);
                }
            }
            let typed = cx.session.download.name.trim();
            match &cx.session.download.known {
                None => note_ui(ui, cx, "Looking for models …"),
                Some(_) if rows.is_empty() => {
                    let how = "Type the path of a file or folder, or the id of a model on the Hugging Face hub";
                    note_ui(ui, cx, &format!("Nothing is called “{typed}”. {how}"));
                }
                Some(_) => {}
            }
        });
        (clicked, told)
    }
}

fn send(cx: &PanelCtx<'_>, command: DownloadCommand) {
    cx.send(Command::Download(command));
}

fn heading_ui(ui: &mut Ui, cx: &PanelCtx<'_>, title: &str) {
    ui.add_space(2.0 * GRID);
    ui.label(RichText::new(title).small().strong().color(cx.theme.text_weak));
}

fn note_ui(ui: &mut Ui, cx: &PanelCtx<'_>, text: &str) {
    ui.add_space(GRID);
    ui.add(egui::Label::new(RichText::new(text).color(cx.theme.text_weak)).wrap());
}

/// Name, what is known, and what it needs.
fn row_ui(ui: &Ui, cx: &PanelCtx<'_>, rect: Rect, row: &OpenRow) {
    let theme = cx.theme;
    let inner = rect.shrink2(vec2(2.0 * GRID, 0.0));
    let small = FontId::proportional(text_size::SMALL);
    let can = row.chosen.is_some();
    let [name_ink, ink] = if can { [theme.text, theme.text_weak] } else { [theme.disabled; 2] };
    let put = |text: &str, font: FontId, ink: egui::Color32, from: f32, to: f32| {
        let mut job = LayoutJob::simple_singleline(text.to_owned(), font, ink);
        job.wrap = TextWrapping::truncate_at_width((inner.width() * (to - from) - 2.0 * GRID).max(0.0));
        let galley = ui.painter().layout_job(job);
        let at = pos2(inner.left() + inner.width() * from, inner.center().y - galley.size().y / 2.0);
        ui.painter().galley(at, galley, ink);
    };
    put(&row.name, FontId::proportional(text_size::BODY), name_ink, 0.0, NAME);
    let (known, note) = row.reason.as_ref().map_or((&row.facts, row.note.as_str()), |reason| (reason, ""));
    let note = ui.painter().layout_no_wrap(note.to_owned(), small.clone(), ink);
    put(known, small, ink, NAME, 1.0 - note.size().x / inner.width());
    ui.painter().galley(inner.right_center() - vec2(note.size().x, note.size().y / 2.0), note, ink);
}

/// All about a row, in two lines at most.
fn about_ui(ui: &mut Ui, cx: &PanelCtx<'_>, row: Option<&OpenRow>) {
    let about = row.map_or("", |row| row.about.as_str());
    let warns = row.is_some_and(|row| row.reason.is_some());
    let ink = if warns { cx.theme.warning } else { cx.theme.text_weak };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ABOUT_PT), Sense::hover());
    let mut job =
        LayoutJob::simple(about.to_owned(), FontId::proportional(text_size::SMALL), ink, rect.width() - 4.0 * GRID);
    job.wrap.max_rows = 2;
    let galley = ui.painter().layout_job(job);
    ui.painter().galley(rect.min + vec2(2.0 * GRID, GRID), galley, ink);
}

/// Dialogs for whoever would rather choose than type; true when the sheet is to be closed.
fn below_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) -> bool {
    let mut closes = false;
    ui.horizontal(|ui| {
        ui.menu_button("Browse… ⏷", |ui| {
            for command in [UiCommand::OpenFolder, UiCommand::OpenFile, UiCommand::OpenSession] {
                if command_button_ui(ui, command, true).clicked() {
                    requests.push(command);
                    closes = true;
                    ui.close();
                }
            }
            let corpus = ui.menu_button("Corpus", |ui| closes |= corpus_menu_ui(ui, cx));
            corpus.response.on_hover_text("Many inputs at once");
        });
        let text = if cx.session.download.running().is_some() { "Continue in background" } else { "Close" };
        let (close, entered) = main_button_ui(ui, text, true, false);
        closes |= close.clicked() || entered;
    });
    closes
}

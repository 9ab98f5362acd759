//! Draws what the methods answered: the same pieces as in figures, with what the pointer does.

use std::sync::Arc;

use eframe::egui::{
    Align, Button, CursorIcon, Id, Label, Layout, Rect, RectAlign, Response, RichText, Role, Sense, Spinner, Stroke,
    StrokeKind, Ui, UiBuilder, Vec2, WidgetInfo, pos2, vec2,
};
use egui_plot::Corner;

use super::{
    asked::{AskedColumn, LabColumns},
    index, options,
};
use crate::{
    analysis::explain::report::{LabQuestion, Report},
    capture::Capture,
    figure::{
        chart::Chart,
        views::lab::{Answered, Hit, Section, TitledPiece, compose},
    },
    ids::{CaptureId, HeadId, Side},
    session::{AnswerTo, Command, Focus, PaneCommand, SelectionCommand, ViewOptions},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        stale::veiled_answers_ui,
        theme::{GRID, radius, text_size},
        views::{chart::ChartUi, display_list::PiecePainter, hover, menu, states::Nothing, tooltip},
    },
};

/// Between parts that stand side by side.
const BESIDE_PT: f32 = 6.0 * GRID;
/// Cards stand side by side where each has this width, so many at most.
const CARD_PT: f32 = 150.0 * GRID;
const MOST_CARDS: usize = 6;
/// Least width of a chart where there is room, and its height.
const CHART_PT: (f32, f32) = (420.0, 190.0);
/// How near the pointer must be to one of several lines.
const REACH_PT: f32 = 16.0;
/// A longer line of text is hard to read.
const MOST_SENTENCE_PT: f32 = 180.0 * GRID;

/// Everything that sections are made from.
type Key = (CaptureId, LabQuestion, (HeadId, bool), Vec<(&'static str, Option<Same<Report>>)>);

/// What was composed and painted.
#[derive(Default)]
pub struct Pieces {
    composed: Memo<Key, Arc<Vec<Section>>>,
    painter: PiecePainter<Same<Vec<Section>>>,
}

impl Pieces {
    /// Draws the answers of a pane.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Arc<Capture>, asked: &LabColumns) {
        let (question, head) = (cx.pane.options.lab.question, cx.pane.selection.head);
        let special = cx.pane.options.lab.special;
        let answers = asked.answers();
        if asked.columns.is_empty() && asked.unsuited.is_empty() {
            let usual = ("Show the usual ones", "The methods that are shown at first");
            let show = |options: &mut ViewOptions| options.lab.shown.clear();
            Nothing::from("No method is shown: choose some under “Methods”").by_options(cx, usual, show).ui(ui, cx);
            return;
        }
        let reports = |answer: &Answered| (answer.column, answer.report.clone().map(Same));
        let key = (capture.id(), question, (head, special), answers.iter().map(reports).collect());
        let sections =
            self.composed.get_or_update(key, || Arc::new(compose(capture, question, &answers, (head, special))));
        let cards = cards(&sections, asked);
        let room = ui.clip_rect().width().min(ui.available_width());
        let n_columns = ((room + BESIDE_PT) / (CARD_PT + BESIDE_PT)).floor().clamp(1.0, MOST_CARDS as f32) as usize;
        let width = (room - BESIDE_PT * (n_columns - 1) as f32) / n_columns as f32;
        let spacing = ui.spacing().item_spacing;
        for row in in_rows(&cards, n_columns, width) {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = BESIDE_PT;
                for card in row {
                    ui.vertical(|ui| {
                        ui.spacing_mut().item_spacing = spacing;
                        let width = if card.is_wider(width) { room } else { width };
                        if card.least_width() <= width {
                            ui.set_max_width(width);
                        }
                        if n_columns > 1 {
                            ui.set_min_width(width);
                        }
                        self.card_ui(ui, cx, (capture, asked), (card, &sections));
                    });
                }
            });
        }
        for (titles, why) in &asked.unsuited {
            note_ui(ui, cx, &format!("{}: {why}", titles.join(", ")));
        }
    }

    fn card_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        (capture, asked): (&Capture, &LabColumns),
        (card, sections): (&Card<'_>, &Arc<Vec<Section>>),
    ) {
        let is_open = heading_ui(ui, cx, capture, card);
        if let Some(column) = card.column.filter(|_| is_open) {
            options::front_ui(ui, cx, capture, column);
        }
        let Some(section) = card.section.filter(|_| is_open) else {
            if let Some(column) = card.column.filter(|_| is_open) {
                failure_ui(ui, cx, capture, column);
            }
            return;
        };
        let columns: &[AskedColumn] = if section.column.is_none() { &asked.columns } else { &[] };
        let to = card.column.map_or_else(|| oldest(columns), |column| column.to);
        veiled_answers_ui(ui, section.column, to, |ui| {
            self.section_ui(ui, cx, (capture, columns), (card.first_part, section, sections));
        });
    }

    /// The notes of an answer and its parts.
    fn section_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        (capture, columns): (&Capture, &[AskedColumn]),
        (first_part, section, sections): (usize, &Section, &Arc<Vec<Section>>),
    ) {
        for note in &section.notes {
            note_ui(ui, cx, note);
        }
        let room = ui.clip_rect().width().min(ui.available_width());
        let mut nth = first_part;
        for row in side_by_side(&section.parts, room) {
            ui.horizontal_top(|ui| {
                for (place, part) in row.iter().enumerate() {
                    if place > 0 {
                        ui.add_space(BESIDE_PT);
                    }
                    ui.vertical(|ui| {
                        if row.len() > 1 {
                            ui.set_width(part.width());
                        }
                        self.part_ui(ui, cx, (capture, columns), (part, nth, sections));
                    });
                    nth += 1;
                }
            });
        }
    }

    fn part_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        (capture, columns): (&Capture, &[AskedColumn]),
        (part, nth, sections): (&TitledPiece, usize, &Arc<Vec<Section>>),
    ) {
        if !part.title.is_empty() {
            let title = RichText::new(&part.title).size(text_size::SMALL).strong().color(cx.theme.text_weak);
            let title = sentence_ui(ui, title);
            if !part.meaning.is_empty() {
                title.on_hover_text(&part.meaning);
            }
        }
        let piece = &part.piece;
        if let Some(chart) = piece.chart(&cx.theme.palette) {
            return chart_ui(ui, cx, part, (&chart, nth));
        }
        let width = ui.clip_rect().width().min(ui.available_width()).clamp(piece.least_width(), 280.0 * GRID);
        let (area, response) = ui.allocate_exact_size(vec2(width, piece.height(width)), Sense::click());
        let spoken = || piece.spoken().join(". ");
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, spoken()));
        let seen = area.intersect(ui.clip_rect());
        if seen.is_positive() {
            let key = Same(Arc::clone(sections));
            self.painter.paint(nth, (ui.painter(), cx.theme), key, (area, seen), &|pen| piece.draw(area, pen));
            held_ui(ui, cx, part, area);
        }
        heads_ui(ui, cx, capture, columns, &piece.columns(area));
        if let Some(hit) = response.hover_pos().and_then(|at| piece.at(area, at)) {
            let drawn = Rect::from_min_size(area.min, vec2(piece.width().min(area.width()), area.height()));
            let about = Rect::from_x_y_ranges(drawn.x_range(), hit.rect.y_range()).intersect(ui.clip_rect());
            hit_ui(ui, cx, capture, (&hit, about), &response);
        }
        ui.add_space(2.0 * GRID);
    }
}

/// What is furthest from the question among answers that are drawn together.
fn oldest(columns: &[AskedColumn]) -> AnswerTo {
    let there = columns.iter().filter(|column| column.answer.report.is_some());
    there.map(|column| column.to).max().unwrap_or(AnswerTo::This)
}

/// What stands together: the answer of a method, or why there is none.
struct Card<'a> {
    title: &'a str,
    column: Option<&'a AskedColumn>,
    /// None where the method failed.
    section: Option<&'a Section>,
    /// Number of its first part among all.
    first_part: usize,
}

impl Card<'_> {
    /// The least width at which it can be read.
    fn least_width(&self) -> f32 {
        let parts = self.section.map_or(&[][..], |section| &section.parts);
        parts.iter().map(|part| part.piece.least_width()).fold(0.0, f32::max)
    }

    /// Whether it has a row of its own: it is about all methods together, or cannot be read at a width.
    fn is_wider(&self, width: f32) -> bool {
        self.column.is_none() || self.least_width() > width
    }
}

/// What is about all methods, then each method in order.
fn cards<'a>(sections: &'a [Section], asked: &'a LabColumns) -> Vec<Card<'a>> {
    let find = |name: &str| asked.columns.iter().find(|column| column.column.name == name);
    let mut n_parts = 0;
    let of_section = |section: &'a Section| {
        let first_part = n_parts;
        n_parts += section.parts.len();
        Card { title: &section.title, column: section.column.and_then(find), section: Some(section), first_part }
    };
    let mut cards: Vec<Card<'_>> = sections.iter().map(of_section).collect();
    let failed = asked.columns.iter().filter(|column| column.failure.is_some());
    cards.extend(failed.map(|column| Card {
        title: column.column.title,
        column: Some(column),
        section: None,
        first_part: 0,
    }));
    let place = |card: &Card<'_>| {
        let name = card.column?.column.name;
        asked.columns.iter().position(|column| column.column.name == name)
    };
    cards.sort_by_key(place);
    cards
}

/// Rows of as many cards; one that is wider than the others has a row of its own.
fn in_rows<'a, 'b>(cards: &'b [Card<'a>], n_columns: usize, width: f32) -> Vec<&'b [Card<'a>]> {
    let apart = |a: &Card<'_>, b: &Card<'_>| a.is_wider(width) == b.is_wider(width) && !a.is_wider(width);
    cards.chunk_by(apart).flat_map(|run| run.chunks(n_columns)).collect()
}

/// A part that is a chart, with what is under the pointer.
fn chart_ui(ui: &mut Ui, cx: &ViewCtx<'_>, part: &TitledPiece, (chart, nth): (&Chart, usize)) {
    let piece = &part.piece;
    let room = ui.clip_rect().width().min(ui.available_width());
    let size = vec2(part.width().max(CHART_PT.0).min(room).max(piece.least_width()), CHART_PT.1);
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, piece.spoken().join(". ")));
    let subject = Id::unique((cx.pane.options.lab.question.name(), &part.title));
    let charts = ChartUi { chart, salt: nth, subject, legend: Corner::RightTop, moves: true };
    let plotted = charts.show(ui, cx.theme, area);
    let beside = plotted.beside_pointer().into_iter().map(|(nth, values)| (plotted.drop(values), nth, values));
    let nearest = beside.min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, nth, values)) = nearest.filter(|(drop, ..)| *drop <= REACH_PT || chart.series.len() == 1) {
        plotted.ring(ui, cx.theme, [values]);
        tooltip::at_pointer(ui, |ui| said_ui(ui, cx, &piece.readout(nth, values)));
    }
    ui.add_space(2.0 * GRID);
}

/// A first line in bold, the others small.
fn said_ui(ui: &mut Ui, cx: &ViewCtx<'_>, text: &str) {
    let mut lines = text.lines();
    ui.strong(lines.next().unwrap_or_default());
    for line in lines {
        let line = RichText::new(line).size(text_size::SMALL).color(cx.theme.text_weak);
        ui.add(Label::new(line).wrap());
    }
}

/// Parts that fit beside each other where there is much room, in rows.
fn side_by_side(parts: &[TitledPiece], room: f32) -> Vec<&[TitledPiece]> {
    let mut rows = Vec::new();
    let mut rest = parts;
    while !rest.is_empty() {
        let mut used = 0.0;
        let fits = rest.iter().take_while(|part| {
            used += part.width() + 2.0 * BESIDE_PT;
            used <= room
        });
        let (row, after) = rest.split_at(fits.count().max(1));
        rows.push(row);
        rest = after;
    }
    rows
}

/// Marks the rows of the token that is held or under the pointer elsewhere.
fn held_ui(ui: &Ui, cx: &ViewCtx<'_>, part: &TitledPiece, area: Rect) {
    let stack = cx.pane.selection.stack();
    let focus = cx.pane.selection.pinned;
    let sides = [(focus.query, stack.query_side()), (focus.key, stack.key_side())];
    for (position, side) in sides.into_iter().filter_map(|(position, side)| Some((position?, side))) {
        for row in part.piece.rows_of(area, (side, position)) {
            let stroke = Stroke::new(1.5, cx.theme.text);
            ui.painter().rect_stroke(row.expand(1.0), radius::MARK, stroke, StrokeKind::Outside);
        }
    }
}

/// What is under the pointer, and what a click does; what it says stands beside the row `about`.
fn hit_ui(ui: &Ui, cx: &ViewCtx<'_>, capture: &Capture, (hit, about): (&Hit, Rect), response: &Response) {
    let stroke = Stroke::new(1.0, cx.theme.text_weak);
    ui.painter().rect_stroke(hit.rect, radius::MARK, stroke, StrokeKind::Inside);
    tooltip::beside(ui, about, RectAlign::RIGHT_START, |ui| said_ui(ui, cx, &hit.text));
    if let Some(head) = hit.head {
        menu::point_at_head(response, cx, head);
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        if response.clicked() {
            cx.send(Command::Select(SelectionCommand::ShowHead(head)));
        }
    }
    let Some((side, position)) = hit.token else { return };
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    let stack = cx.pane.selection.stack();
    let focus = if stack.query_side() == side { Focus::query(position) } else { Focus::key(position) };
    let is_here = stack.query_side() == side || stack.key_side() == side;
    if is_here {
        hover::report(cx, focus);
    }
    if response.clicked() {
        if !is_here && let Some(other) = reader_of(capture, side) {
            cx.send(Command::Select(SelectionCommand::Stack(other)));
        }
        let is_held = is_here && cx.pane.selection.pinned == focus;
        cx.send(Command::Select(SelectionCommand::Pin(if is_held { Focus::NONE } else { focus })));
    }
}

/// A stack whose queries or keys are the tokens of a side.
fn reader_of(capture: &Capture, side: Side) -> Option<crate::ids::StackKind> {
    let stacks = &capture.model().stacks;
    let of = |stack: &&crate::spec::StackSpec| stack.kind.query_side() == side || stack.kind.key_side() == side;
    stacks.iter().find(of).map(|stack| stack.kind)
}

/// A button over the heading of each column that opens its menu.
fn heads_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, columns: &[AskedColumn], places: &[Rect]) {
    // Columns that say nothing about this side have no place, so they are told apart by what is drawn.
    let shown: Vec<&AskedColumn> = columns.iter().filter(|column| column.failure.is_none()).collect();
    if shown.len() != places.len() {
        return;
    }
    for (column, place) in shown.into_iter().zip(places) {
        let id = ui.scope_id().with((column.column.name, place.left() as i32, place.top() as i32));
        let response = ui.interact(place.expand(2.0), id, Sense::click());
        let title = column.column.title;
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, title));
        let color = if response.hovered() { cx.theme.text } else { cx.theme.text_weak };
        let at = pos2(place.right() - 6.0, place.center().y);
        if column.is_waiting {
            let spinner = Rect::from_center_size(at, Vec2::splat(10.0));
            Spinner::new().paint_at(ui, spinner);
        } else {
            let font = eframe::egui::FontId::proportional(text_size::SMALL);
            ui.painter().text(at, eframe::egui::Align2::CENTER_CENTER, "⏷", font, color);
        }
        let response = response.on_hover_cursor(CursorIcon::PointingHand);
        options::menu_ui(&response, cx, capture, column);
        tooltip::above(&response, &format!("{title}: options, formula, source\n{}", column.ask.spec().caveat));
    }
}

/// What stands above a card, and a click on which folds it; whether it is open.
fn heading_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, card: &Card<'_>) -> bool {
    if card.title.is_empty() {
        return true;
    }
    let (title, column) = (card.title, card.column);
    let id = Id::unique(("open card", cx.pane.id.0, title));
    let mut is_open = ui.data(|data| data.get_temp(id)).unwrap_or(true);
    ui.add_space(GRID);
    let heading = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        if column.is_some() {
            let text = RichText::new(format!("{} {title}", if is_open { "⏷" } else { "⏵" })).strong();
            let fold = ui.add(Button::new(text).frame(false));
            fold.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, format!("Fold {title}")));
            if fold.on_hover_text(if is_open { "Fold this answer" } else { "Show this answer" }).clicked() {
                is_open = !is_open;
                ui.data_mut(|data| data.insert_temp(id, is_open));
            }
        } else {
            ui.label(RichText::new(title).strong());
        }
        let Some(column) = column else { return };
        let response = ui.add(Button::new("Options ⏷").small());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{title}: options")));
        options::menu_ui(&response, cx, capture, column);
        response.on_hover_text("Options, formula, source");
        if column.is_waiting {
            ui.add(Spinner::new().size(text_size::BODY));
            let what = match (&column.answer.report, column.to) {
                (None, _) => "running",
                (Some(_), AnswerTo::OtherSubject) => "running; shows what was looked at before",
                (Some(_), _) => "",
            };
            ui.label(RichText::new(what).color(cx.theme.text_weak));
        }
    });
    if let Some(column) = column {
        if index::is_sought(ui, cx, column.column.name) {
            heading.response.scroll_to_me(Some(Align::Min));
        }
        if is_open {
            sentence_ui(ui, RichText::new(column.ask.spec().caveat).small().color(cx.theme.text_weak));
        }
    }
    is_open
}

fn note_ui(ui: &mut Ui, cx: &ViewCtx<'_>, note: &str) {
    sentence_ui(ui, RichText::new(crate::text::sentence(note)).small().color(cx.theme.text_weak));
}

/// A text that is broken where the focus ends, however wide what stands above it is.
fn sentence_ui(ui: &mut Ui, text: RichText) -> Response {
    let width = ui.clip_rect().width().min(ui.available_width()).min(MOST_SENTENCE_PT);
    let room = Rect::from_min_size(ui.cursor().min, vec2(width, 0.0));
    let builder = UiBuilder::new().max_rect(room).layout(Layout::top_down(Align::Min));
    ui.scope_builder(builder, |ui| ui.add(Label::new(text).wrap())).inner
}

/// What went wrong with a method in a sentence, with what is to be given, and once more on request.
fn failure_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let Some(failure) = &column.failure else { return };
    let said = match &column.long {
        Some(estimate) => format!("{failure}. {}, or:", estimate.advice()),
        None => failure.clone(),
    };
    sentence_ui(ui, RichText::new(said).small().color(cx.theme.text_weak));
    if options::required_ui(ui, cx, capture, column) {
        return;
    }
    let (name, target) = (column.column.name, cx.pane.options.target);
    if column.long.is_some() {
        if ui.small_button("Run it anyway").clicked() {
            cx.send(Command::InPane(PaneCommand::ExplainAnyway(name, column.ask.clone(), target)));
        }
    } else if ui.small_button("Run again").clicked() {
        cx.send(Command::InPane(PaneCommand::ExplainAgain(name)));
    }
}

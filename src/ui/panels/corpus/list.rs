//! The inputs of a corpus as a list that scrolls however long it is.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use eframe::egui::{
    self, Align2, ColorImage, FontId, Id, Key, Modifiers, Rect, Response, Role, ScrollArea, TextureHandle, TextureId,
    TextureOptions, Ui, WidgetInfo, pos2, vec2,
};

use super::said::{row_text, said_text};
use crate::{
    capture::RgbaBuffer,
    corpus::{Corpus, InputRow, PREDICTED, PREDICTED_CLASS, SortBy},
    ids::Side,
    session::{Command, CorpusCommand, ListCommand, ListOrder, OpenCorpus},
    text::{counted, weight_text},
    ui::{
        ViewCtx,
        theme::{FOCUS_PT, GRID, radius, text_size},
        widgets::{Along, Roving},
    },
};

const ROW_PT: f32 = 5.5 * GRID;
/// The value of a row stands at most this far from its beginning.
const WIDEST_PT: f32 = 180.0 * GRID;
/// Room for one digit of the number of an input.
const DIGIT_PT: f32 = 1.75 * GRID;
/// Longest part of a name that is laid out; no list is so wide that it shows more.
const MAX_CHARS: usize = 160;
/// Longest text in a tooltip.
const MAX_TOOLTIP_CHARS: usize = 600;

/// Small copies of pictures that are kept as textures: more than there are rows in any window.
const MAX_TEXTURES: usize = 256;

/// What the list remembers between frames.
#[derive(Default)]
pub struct InputList {
    /// The row that was clicked last, from which a range reaches.
    anchor: usize,
    /// Pictures that were in sight, by their place in the list.
    textures: HashMap<usize, (Arc<RgbaBuffer>, TextureHandle)>,
}

impl InputList {
    /// Draws the list over the space that is left.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, corpus: &Corpus) {
        let rows = open.rows();
        let list = Id::unique("corpus list");
        ui.spacing_mut().item_spacing.y = 0.0;
        let area = ScrollArea::vertical().id_salt(list).auto_shrink([false, false]);
        let area = match revealed(ui, list, cx, open, corpus) {
            Some(row) => {
                // In the middle, where it is seen among its neighbours.
                let top = (row as f32 + 0.5) * ROW_PT - ui.available_height() / 2.0;
                area.vertical_scroll_offset(top.max(0.0))
            }
            None => area,
        };
        let last = corpus.inputs().last().map_or(0, |input| input.source + 1);
        let number_pt = GRID + DIGIT_PT * last.to_string().len() as f32;
        let mut pointed: Option<usize> = None;
        area.show_rows(ui, ROW_PT, rows.len(), |ui, visible| {
            let roving = Roving::new(ui, list, &visible);
            for at in visible {
                let Some(input) = rows.get(at).and_then(|input| corpus.inputs().get(*input)) else { continue };
                let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_PT), roving.sense(at));
                let is_shown = cx.document.corpus_input == Some(input.source);
                let is_selected = open.selected.contains(&input.source);
                response.widget_info(|| {
                    WidgetInfo::selected(Role::Button, true, is_selected, format!("Input {}", input.name))
                });
                row_ui(
                    ui,
                    cx,
                    (rect, number_pt, &response),
                    input,
                    &value_text(open, corpus, rows[at]),
                    (self.texture(ui, input), is_shown, is_selected),
                );
                roving.keys(ui, &response, at, rows.len(), Along::Column);
                let removes = || ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Delete));
                if response.has_focus() && !open.selected.is_empty() && removes() {
                    cx.send(Command::Corpus(CorpusCommand::List(ListCommand::Remove)));
                }
                if response.clicked() {
                    self.on_click(ui, cx, open, corpus, at);
                }
                if response.hovered() {
                    pointed = Some(input.source);
                }
                response.on_hover_ui(|ui| {
                    ui.set_max_width(90.0 * GRID);
                    about_ui(ui, cx, corpus, rows[at]);
                });
            }
        });
        let before = ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or_default(pointed_id()), pointed));
        if before != pointed {
            // Details are drawn before the list.
            ui.request_repaint();
        }
    }

    /// Lets go of pictures of a corpus that nobody holds any more.
    pub fn rest(&mut self) {
        self.textures.retain(|_, (picture, _)| Arc::strong_count(picture) > 1);
    }

    /// The small copy of a picture.
    fn texture(&mut self, ui: &Ui, input: &InputRow) -> Option<TextureId> {
        let picture = input.image.as_ref()?.source.as_ref()?;
        if let Some((known, texture)) = self.textures.get(&input.source)
            && Arc::ptr_eq(known, picture)
        {
            return Some(texture.id());
        }
        if self.textures.len() >= MAX_TEXTURES {
            self.textures.clear();
        }
        let image = ColorImage::from_rgba_unmultiplied([picture.width, picture.height], &picture.pixels);
        let texture = ui.ctx().load_texture("corpus picture", image, TextureOptions::LINEAR);
        let id = texture.id();
        self.textures.insert(input.source, (Arc::clone(picture), texture));
        Some(id)
    }

    /// A click shows an input; with Ctrl it is selected or not, with Shift all between are.
    fn on_click(&mut self, ui: &Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, corpus: &Corpus, at: usize) {
        let source = |row: usize| corpus.inputs()[open.rows()[row]].source;
        let modifiers = ui.input(|input| input.modifiers);
        let mut selected = open.selected.clone();
        if modifiers.shift {
            let anchor = self.anchor.min(open.rows().len() - 1);
            selected = (anchor.min(at)..=anchor.max(at)).map(source).collect();
        } else if modifiers.command {
            if !selected.remove(&source(at)) {
                selected.insert(source(at));
            }
            self.anchor = at;
        } else {
            self.anchor = at;
            selected = BTreeSet::new();
            cx.send(Command::Corpus(CorpusCommand::Show(source(at))));
        }
        if selected != open.selected {
            cx.send(Command::Corpus(CorpusCommand::List(ListCommand::Select(selected))));
        }
    }
}

/// The row of the input that is shown, when that has just become another one from somewhere else than the list.
fn revealed(ui: &Ui, list: Id, cx: &ViewCtx<'_>, open: &OpenCorpus, corpus: &Corpus) -> Option<usize> {
    let shown = cx.document.corpus_input;
    let before = ui.ctx().data_mut(|data| {
        let known = data.get_temp_mut_or_insert_with(list.with("shown"), || None::<usize>);
        std::mem::replace(known, shown)
    });
    let here = ui.ctx().pointer_latest_pos().is_some_and(|at| ui.max_rect().contains(at));
    if before == shown || here {
        return None;
    }
    open.rows().iter().position(|input| Some(corpus.inputs()[*input].source) == shown)
}

fn row_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    (rect, number_pt, response): (Rect, f32, &Response),
    input: &InputRow,
    value: &str,
    (picture, is_shown, is_selected): (Option<TextureId>, bool, bool),
) {
    if !ui.is_rect_visible(rect) {
        return;
    }
    let painter = ui.painter();
    if is_selected {
        painter.rect_filled(rect, radius::MARK, ui.visuals().selection.bg_fill);
    } else if response.hovered() || response.has_focus() {
        painter.rect_filled(rect, radius::MARK, ui.visuals().widgets.hovered.weak_bg_fill);
    }
    if response.has_focus() {
        painter.rect_stroke(rect, radius::MARK, egui::Stroke::new(FOCUS_PT, cx.theme.accent), egui::StrokeKind::Inside);
    }
    if is_shown {
        let bar = Rect::from_min_max(rect.min, pos2(rect.left() + GRID / 2.0, rect.bottom()));
        painter.rect_filled(bar, 0, cx.theme.accent);
    }
    let middle = rect.center().y;
    let small = FontId::proportional(text_size::SMALL);
    let number = format!("{}", input.source + 1);
    let number_at = pos2(rect.left() + number_pt, middle);
    painter.text(number_at, Align2::RIGHT_CENTER, number, small.clone(), cx.theme.text_weak);
    let value = painter.layout_no_wrap(value.to_owned(), small, cx.theme.text_weak);
    // Near its name, however wide the drawer is.
    let right = rect.right().min(rect.left() + WIDEST_PT);
    let value_at = pos2(right - value.size().x - 2.0 * GRID, middle - value.size().y / 2.0);
    let mut name_at = pos2(number_at.x + 2.0 * GRID, middle);
    if let Some(picture) = picture {
        let square = Rect::from_min_size(pos2(name_at.x, rect.top() + 1.0), vec2(ROW_PT - 2.0, ROW_PT - 2.0));
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        painter.image(picture, square, whole, egui::Color32::WHITE);
        name_at.x = square.right() + 1.5 * GRID;
    }
    let clip = Rect::from_min_max(pos2(name_at.x, rect.top()), pos2(value_at.x - GRID, rect.bottom()));
    let name: String = input.name.chars().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let color = if is_shown { cx.theme.accent } else { cx.theme.text };
    painter.with_clip_rect(clip.intersect(ui.clip_rect())).text(
        name_at,
        Align2::LEFT_CENTER,
        name,
        FontId::proportional(text_size::BODY),
        color,
    );
    painter.galley(value_at, value, cx.theme.text_weak);
}

/// What stands at the end of a row: what the list is sorted by, else what the model was asked about it, the label of a
/// picture, what the model says of a text, or the number of its tokens.
fn value_text(open: &OpenCorpus, corpus: &Corpus, input: usize) -> String {
    const CHARS: usize = 16;
    let is_number = |name: &str| name.starts_with(PREDICTED) && name != PREDICTED_CLASS;
    let label = |name: &String| match corpus.number(input, name).filter(|_| is_number(name)) {
        Some(number) => weight_text(number),
        None => corpus.annotation(input, name).unwrap_or_default().chars().take(CHARS).collect(),
    };
    let mut all = corpus.annotations().iter().filter(|name| name.starts_with(PREDICTED));
    // One of several numbers would not say of what it is.
    let predicted = match (all.next(), all.next()) {
        (first, None) => first,
        (first, Some(_)) => first.filter(|name| *name == PREDICTED_CLASS),
    };
    let row = &corpus.inputs()[input];
    let said = open.said.latest().and_then(|said| Some(row_text(said.of(row.source)?, said)));
    let first = corpus.annotations().first().filter(|_| row.image.is_some());
    match &open.sort.0 {
        ListOrder::By(SortBy::Annotation(name)) => label(name),
        ListOrder::By(SortBy::Source | SortBy::Name) => {
            said.unwrap_or_else(|| first.or(predicted).map_or_else(|| n_tokens(row).to_string(), label))
        }
        ListOrder::By(SortBy::Tokens) => n_tokens(row).to_string(),
        ListOrder::Said(_) => said.unwrap_or_default(),
    }
}

fn n_tokens(input: &InputRow) -> usize {
    Side::ALL.into_iter().map(|side| input.tokens(side).len()).sum()
}

/// Where the input under the pointer is kept, by its place in the source.
fn pointed_id() -> Id {
    Id::unique("corpus input under the pointer")
}

/// The input under the pointer.
pub fn pointed(ui: &Ui) -> Option<usize> {
    ui.data(|data| data.get_temp(pointed_id())).flatten()
}

/// All that is known of an input.
pub fn about_ui(ui: &mut Ui, cx: &ViewCtx<'_>, corpus: &Corpus, at: usize) {
    let Some(input) = corpus.inputs().get(at) else { return };
    let name: String = input.name.chars().take(MAX_TOOLTIP_CHARS).collect();
    ui.add(egui::Label::new(name).wrap());
    let mut facts = vec![counted(n_tokens(input), "token")];
    let annotations = corpus.annotations().iter();
    facts.extend(annotations.filter_map(|name| Some(format!("{name}: {}", corpus.annotation(at, name)?))));
    let said = cx.document.corpus.as_deref().and_then(|open| open.said.latest());
    facts.extend(said.and_then(|said| Some(said_text(said.of(input.source)?, said))));
    facts.extend(input.notes.iter().cloned());
    for fact in facts {
        ui.add(egui::Label::new(egui::RichText::new(fact).small().color(cx.theme.text_weak)).wrap());
    }
}

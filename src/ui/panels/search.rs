//! The search in joint spaces: what is looked for, how much was found, and the heads in which it lies together.

use eframe::egui::{self, Align, Button, Context, Id, Label, ProgressBar, RichText, TextEdit, Ui};

use crate::{
    analysis::{
        cloud_query::Found,
        rank_heads::{NEIGHBORS, RankedHead},
        search::SearchKind,
    },
    projection::quality::Gathering,
    session::{Command, Loadable, PaneCommand, SelectionCommand},
    text::{counted, decimal_text, share_text},
    ui::{PanelCtx, commands::UiCommand, theme::GRID, views::controls, widgets::section_ui},
};

const CASE: &str = "Upper and lower case differ";

/// Heads that are named before the list has to be scrolled.
const SHOWN: f32 = 8.0;
/// Height of one of them.
const ROW_PT: f32 = 4.5 * GRID;

fn field_id() -> Id {
    Id::unique("search in joint spaces")
}

/// Puts the cursor into the field.
pub fn focus_search(ctx: &Context) {
    ctx.memory_mut(|memory| memory.request_focus(field_id()));
}

/// Draws the search, where the view shows joint spaces.
pub fn search_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let has_points = cx.pane.cloud(cx.document).is_some() && cx.document.folder().is_none();
    if !cx.pane.view.facts().searches_points || !has_points {
        return;
    }
    section_ui(ui, cx.theme, "Search");
    let mut search = cx.pane.search.clone();
    let kinds = SearchKind::ALL.map(|kind| (kind, kind.title()));
    let field = TextEdit::singleline(&mut search.text)
        .id(field_id())
        .hint_text(search.kind.hint())
        .desired_width(f32::INFINITY);
    let tooltip = UiCommand::FindToken.tooltip_with_key(ui.ctx());
    ui.add(field).on_hover_text(tooltip).accessible_name("Search in query–key maps");
    ui.horizontal(|ui| {
        controls::choice_ui(ui, "Kind of search", &mut search.kind, &kinds);
        let case = ui.add_enabled(search.kind != SearchKind::Id, Button::selectable(search.case, "Aa"));
        if case.on_hover_text(CASE).accessible_name(CASE).clicked() {
            search.case = !search.case;
        }
    });
    if search != cx.pane.search {
        cx.send(Command::Select(SelectionCommand::Search(search)));
    }
    let Some(question) = cx.pane.search_question() else { return };
    let answer = cx.pane.search_answer(cx.document);
    if answer.is_none() {
        cx.send(Command::InPane(PaneCommand::Survey(question)));
    }
    if let Some(Loadable::Failed { failure, .. }) = answer {
        ui.add(Label::new(RichText::new(&failure.summary).color(cx.theme.warning)).wrap());
        return;
    }
    if let Some(progress) = answer.and_then(Loadable::progress) {
        let done = progress.done as f32 / progress.total.max(1) as f32;
        ui.add(ProgressBar::new(done).desired_height(GRID).fill(cx.theme.accent)).accessible_name("Search");
    }
    if let Some(found) = cx.pane.found(cx.document) {
        found_ui(ui, cx, found);
    }
    ui.add_space(2.0 * GRID);
}

fn found_ui(ui: &mut Ui, cx: &PanelCtx<'_>, found: &Found) {
    let text = match (found.hits.n_tokens(), found.hits.n_inputs) {
        (0, _) => "Nothing found".to_owned(),
        (tokens, 1) => counted(tokens, "token"),
        (tokens, inputs) => format!("{} in {}", counted(tokens, "token"), counted(inputs, "input")),
    };
    controls::caption_ui(ui, cx.theme, text);
    let told = found.ranked.iter().filter(|ranked| ranked.found.score().is_some()).count();
    if told == 0 {
        if found.hits.n_tokens() == 1 {
            controls::caption_ui(ui, cx.theme, "A single token has no cluster: search for more");
        }
        return;
    }
    let about = format!(
        "Share of hits among the {NEIGHBORS} nearest neighbours of each hit, scaled: 0 is chance, 1 is all. With \
        several words, copies of the same word are left out."
    );
    let cells = if cx.pane.space().is_per_head() { "Heads" } else { "Layers" };
    controls::caption_ui(ui, cx.theme, format!("{cells} where these tokens cluster")).on_hover_text(about);
    let list = egui::ScrollArea::vertical().id_salt("ranked heads").max_height(SHOWN * ROW_PT);
    list.auto_shrink([false, true]).show_rows(ui, ROW_PT - ui.spacing().item_spacing.y, told, |ui, rows| {
        for ranked in &found.ranked[rows] {
            head_ui(ui, cx, ranked);
        }
    });
}

fn head_ui(ui: &mut Ui, cx: &PanelCtx<'_>, ranked: &RankedHead) {
    let (head, score) = (ranked.head, ranked.found.score().unwrap_or_default());
    let model = cx.document.latest_capture().map(|capture| capture.model());
    let text = model.map_or_else(|| head.to_string(), |model| cx.pane.space().cell_name(head, model));
    let gathering = ranked.found.across.or(ranked.found.any);
    let width = ui.available_width();
    ui.horizontal(|ui| {
        let name = Button::selectable(cx.pane.cell(cx.document) == head, &text).min_size([12.0 * GRID, 0.0].into());
        let mut response = ui.add(name).accessible_name(format!("{text}: hits cluster"));
        if let Some(gathering) = gathering {
            let Gathering { hit, chance } = gathering;
            let of = counted(ranked.found.n_looked, "hit");
            response = response.on_hover_text(format!(
                "{} of the neighbours of {of} are hits; {} by chance",
                share_text(hit),
                share_text(chance)
            ));
        }
        if response.clicked() {
            cx.send(Command::Select(SelectionCommand::ShowHead(head)));
        }
        let bar = ProgressBar::new(score.max(0.0) as f32).desired_height(1.5 * GRID).fill(cx.theme.accent);
        ui.add(bar.desired_width((width - 26.0 * GRID).max(4.0 * GRID)));
        ui.with_layout(egui::Layout::right_to_left(Align::Center), |ui| {
            controls::caption_ui(ui, cx.theme, decimal_text(score));
        });
    });
}

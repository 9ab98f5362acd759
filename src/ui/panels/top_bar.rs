//! The bar above everything: where the selection was, the groups of views, the search, and what leaves the window. What
//! has no room in it is in its menu.

use eframe::egui::{
    self, Align, Align2, Button, FontId, Layout, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2,
    vec2,
};

use super::{
    WindowRequests,
    compare::{compare_contents_ui, compare_ui},
    session_menu::session_contents_ui,
    views_sheet::VIEWS_SHEET,
};
use crate::{
    session::{ViewGroup, ViewKind},
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        keys::keys_text,
        theme::{FOCUS_PT, GRID, radius, text_size},
        views::view_choices_ui,
        widgets::{Dialog, command_button_ui, menu_ui, symbol_button_ui, symbol_button_width, text_button_width},
        zoom,
    },
};

/// Height of the bar.
pub const HEADER_PT: f32 = 11.0 * GRID;
/// Between two parts of the bar.
const GAP_PT: f32 = GRID;
/// Between what is on the left and the tabs, and after them.
const WIDE_GAP_PT: f32 = 3.0 * GRID;
const TAB_PT: f32 = 31.0 * GRID;
/// Beside the text of a tab.
const TAB_MARGIN_PT: f32 = 3.0 * GRID;
const SEARCH_PT: f32 = 50.0 * GRID;

/// What may stand in the bar or in its menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarItem {
    Search,
    History,
    Export,
    Split,
}

impl BarItem {
    /// The first keeps its place in the bar longest.
    const BY_PRIORITY: [Self; 4] = [Self::Search, Self::History, Self::Export, Self::Split];

    /// Its width in the bar.
    fn width(self, ui: &Ui) -> f32 {
        match self {
            Self::Search => symbol_button_width(ui, " ") + GAP_PT,
            Self::History => 2.0 * (symbol_button_width(ui, "⏴") + GAP_PT),
            Self::Export => text_button_width(ui, UiCommand::ExportView.text()) + GAP_PT,
            Self::Split => text_button_width(ui, "Split ⏷") + GAP_PT,
        }
    }
}

/// Whether a command of the bar makes sense now.
fn is_enabled(cx: &PanelCtx<'_>, command: UiCommand) -> bool {
    let is_empty = cx.document.latest_capture().is_none();
    let impossible = [
        (UiCommand::Back, !cx.pane.can_go_back()),
        (UiCommand::Forward, !cx.pane.can_go_forward()),
        (UiCommand::ExportView, is_empty),
        (UiCommand::CopyView, is_empty),
    ];
    !impossible.contains(&(command, true))
}

/// What the bar shows in the room that it has.
struct BarLayout {
    /// The groups beside each other; else one menu of all views.
    tabs: bool,
    /// The search as a field; else as a symbol.
    search_field: bool,
    /// What else.
    places: Vec<BarItem>,
}

impl BarLayout {
    fn in_room(ui: &Ui, cx: &PanelCtx<'_>, room: f32) -> Self {
        let symbols: f32 = ["◧", "⋯", "◨"].into_iter().map(|it| symbol_button_width(ui, it) + GAP_PT).sum();
        let room = room - symbols - 2.0 * WIDE_GAP_PT;
        let all_tabs = ViewGroup::ALL.len() as f32 * TAB_PT;
        let tabs = all_tabs + BarItem::Search.width(ui) + BarItem::History.width(ui) <= room;
        let mut left = room - if tabs { all_tabs } else { views_button_width(ui, cx) };
        let mut fits = |width: f32| {
            left -= width;
            left >= 0.0
        };
        let n_places = BarItem::BY_PRIORITY.into_iter().take_while(|place| fits(place.width(ui))).count();
        let search_field = n_places == BarItem::BY_PRIORITY.len() && fits(SEARCH_PT);
        Self { tabs, search_field, places: BarItem::BY_PRIORITY[..n_places].to_vec() }
    }

    fn has(&self, place: BarItem) -> bool {
        self.places.contains(&place)
    }
}

/// Draws the bar.
pub fn top_bar_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = GAP_PT;
        let shown = BarLayout::in_room(ui, cx, ui.available_width());
        if shown.has(BarItem::History) {
            for (command, symbol) in [(UiCommand::Back, "⏴"), (UiCommand::Forward, "⏵")] {
                symbol_ui(ui, cx, command, symbol, requests);
            }
        }
        symbol_ui(ui, cx, UiCommand::ToggleLeft, "◧", requests);
        if shown.tabs {
            ui.add_space(WIDE_GAP_PT - GAP_PT);
            ui.spacing_mut().item_spacing.x = 0.0;
            for group in ViewGroup::ALL {
                tab_ui(ui, cx, group, requests);
            }
        } else {
            let right: f32 = ["⋯", "◨"].into_iter().map(|it| symbol_button_width(ui, it) + GAP_PT).sum();
            ui.scope(|ui| {
                ui.set_max_width(ui.available_width() - right);
                views_menu_ui(ui, cx, requests);
            });
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GAP_PT;
            symbol_ui(ui, cx, UiCommand::ToggleInspector, "◨", requests);
            more_ui(ui, cx, &shown, requests);
            if shown.has(BarItem::Split) {
                compare_ui(ui, cx, requests);
            }
            if shown.has(BarItem::Export) {
                let command = UiCommand::ExportView;
                let button = Button::new(command.text()).frame_when_inactive(false);
                let response = ui.add_enabled(is_enabled(cx, command), button);
                if response.on_hover_text(command.tooltip_with_key(ui.ctx())).clicked() {
                    requests.push(command);
                }
            }
            if shown.search_field {
                search_ui(ui, cx, requests);
            } else if shown.has(BarItem::Search) {
                glass_ui(ui, cx, requests);
            }
        });
    });
}

fn symbol_ui(ui: &mut Ui, cx: &PanelCtx<'_>, command: UiCommand, symbol: &str, requests: &mut WindowRequests) {
    if symbol_button_ui(ui, command, symbol, is_enabled(cx, command)).clicked() {
        requests.push(command);
    }
}

/// What looks like a field and opens the search over everything.
fn search_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let command = UiCommand::Palette;
    let (rect, response) = ui.allocate_exact_size(vec2(SEARCH_PT, 7.0 * GRID), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, command.text()));
    let edge = if response.has_focus() { (2.0, cx.theme.accent) } else { (1.0, cx.theme.text_weak) };
    let ground = if response.hovered() { cx.theme.hover } else { cx.theme.canvas };
    ui.painter().rect(rect, 4, ground, Stroke::from(edge), StrokeKind::Inside);
    let text = |at: egui::Pos2, align: Align2, text: String| {
        ui.painter().text(at, align, text, FontId::proportional(text_size::BODY), cx.theme.text_weak);
    };
    let inner = rect.shrink2(vec2(2.0 * GRID, 0.0));
    text(inner.left_center(), Align2::LEFT_CENTER, "Search…".to_owned());
    if let Some(shortcut) = command.shortcut() {
        text(inner.right_center(), Align2::RIGHT_CENTER, keys_text(ui.ctx(), &shortcut));
    }
    if response.on_hover_text(command.tooltip_with_key(ui.ctx())).clicked() {
        requests.push(command);
    }
}

/// The same as a symbol: a magnifying glass.
fn glass_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let response = symbol_button_ui(ui, UiCommand::Palette, " ", true);
    let (center, stroke) = (response.rect.center(), Stroke::new(1.5, cx.theme.text_weak));
    ui.painter().circle_stroke(center - vec2(1.5, 1.5), 4.5, stroke);
    ui.painter().line_segment([center + vec2(2.0, 2.0), center + vec2(6.0, 6.0)], stroke);
    if response.clicked() {
        requests.push(UiCommand::Palette);
    }
}

/// The menu with what has no room in the bar, and with what is rarely needed.
fn more_ui(ui: &mut Ui, cx: &PanelCtx<'_>, shown: &BarLayout, requests: &mut WindowRequests) {
    let menu = menu_ui(ui, Button::new("⋯").frame_when_inactive(false), |ui| {
        for place in BarItem::BY_PRIORITY.into_iter().filter(|place| !shown.has(*place)) {
            match place {
                BarItem::Search => item_ui(ui, cx, UiCommand::Palette, requests),
                BarItem::History => {
                    for command in [UiCommand::Back, UiCommand::Forward] {
                        item_ui(ui, cx, command, requests);
                    }
                }
                BarItem::Export => item_ui(ui, cx, UiCommand::ExportView, requests),
                BarItem::Split => drop(ui.menu_button("Split ⏷", |ui| compare_contents_ui(ui, cx, requests))),
            }
        }
        if shown.places.len() < BarItem::BY_PRIORITY.len() {
            ui.separator();
        }
        let keeping = &cx.session.keeping;
        let name = keeping.name().unwrap_or_else(|| "Not saved yet".to_owned());
        let state = if keeping.is_changed { "\nChanged since it was saved" } else { "" };
        let session = ui.menu_button("Session", |ui| session_contents_ui(ui, cx, requests));
        session.response.on_hover_text(format!("Save this session, or open another\n{name}{state}"));
        for command in [
            UiCommand::Gallery,
            UiCommand::Lecture,
            UiCommand::CopyView,
            UiCommand::ExportWindow,
            UiCommand::ToggleTheme,
            UiCommand::NewWindow,
            UiCommand::Help,
        ] {
            item_ui(ui, cx, command, requests);
        }
        ui.separator();
        ui.weak(format!("Size {}", zoom::text(ui.ctx()).unwrap_or_else(|| "100 %".to_owned())));
        for command in [UiCommand::ZoomIn, UiCommand::ZoomOut, UiCommand::ZoomReset] {
            // Stays open: one step is seldom enough.
            if command_button_ui(ui, command, true).clicked() {
                requests.push(command);
            }
        }
    });
    menu.widget_info(|| WidgetInfo::labeled(Role::Button, true, "More"));
    menu.on_hover_text("Session, examples, lecture, screenshot, theme, size of text and controls, help");
}

fn item_ui(ui: &mut Ui, cx: &PanelCtx<'_>, command: UiCommand, requests: &mut WindowRequests) {
    if command_button_ui(ui, command, is_enabled(cx, command)).clicked() {
        requests.push(command);
        ui.close();
    }
}

/// The view that is shown, and behind it all others.
fn views_menu_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let name = cx.pane.view.shown_label(&cx.pane.options);
    let menu = menu_ui(ui, Button::new(views_text(cx)).truncate().frame_when_inactive(false), |ui| {
        if let Some(view) = view_choices_ui(ui, cx) {
            requests.push(UiCommand::Show(view));
            ui.close();
        }
    });
    menu.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("View: {name}")));
    menu.on_hover_text("Show another view");
}

fn views_text(cx: &PanelCtx<'_>) -> String {
    format!("{} ⏷", cx.pane.view.shown_label(&cx.pane.options))
}

fn views_button_width(ui: &Ui, cx: &PanelCtx<'_>) -> f32 {
    text_button_width(ui, views_text(cx)) + GAP_PT
}

/// A group and its last view, of which a click shows the view, and a second one all views of the group; one without a view
/// that can be shown is grey and says why.
fn tab_ui(ui: &mut Ui, cx: &PanelCtx<'_>, group: ViewGroup, requests: &mut WindowRequests) {
    let shown = cx.pane.view.spec().group == group;
    let leads_to = if shown { Some(cx.pane.view) } else { cx.pane.view_of_group(cx.document, group) };
    let named = leads_to.or_else(|| group.views().next());
    let (rect, response) = ui.allocate_exact_size(vec2(TAB_PT, HEADER_PT), Sense::click());
    let is_enabled = leads_to.is_some();
    response.widget_info(|| WidgetInfo::selected(Role::Tab, is_enabled, shown, group.label()));
    if response.hovered() && is_enabled && !shown {
        ui.painter().rect_filled(rect.shrink2(vec2(0.0, GRID)), radius::CONTROL, cx.theme.hover);
    }
    if response.has_focus() {
        ui.painter().rect_stroke(
            rect.shrink(GRID),
            radius::CONTROL,
            Stroke::new(FOCUS_PT, cx.theme.accent),
            StrokeKind::Inside,
        );
    }
    let faint = |color: egui::Color32| if is_enabled { color } else { color.gamma_multiply(0.55) };
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    let line = |y: f32, text: String, size: f32, color: egui::Color32| {
        let at = pos2(rect.left() + TAB_MARGIN_PT, rect.top() + y);
        painter.text(at, Align2::LEFT_CENTER, text, FontId::proportional(size), faint(color));
    };
    let name = named.map_or("", |view| view.shown_label(&cx.pane.options));
    let mark = if shown { " ⏷" } else { "" };
    let ink = if shown { cx.theme.text } else { cx.theme.text_weak };
    line(3.75 * GRID, group.label().to_owned(), text_size::BODY, ink);
    line(8.0 * GRID, format!("{name}{mark}"), text_size::SMALL, cx.theme.text_weak);
    if shown {
        let line = Rect::from_min_max(pos2(rect.left() + GRID, rect.bottom() - 2.0), rect.max - vec2(GRID, 0.0));
        ui.painter().rect_filled(line, 0, cx.theme.accent);
    }
    if response.clicked() && is_enabled {
        requests.push(if shown { UiCommand::ViewsOf(group) } else { UiCommand::ShowGroup(group) });
    }
    // The sheet of views is closed by the same click.
    let clicked = ui.input(|input| input.pointer.interact_pos().filter(|_| input.pointer.primary_clicked()));
    let is_beside_sheet = |at| cx.session.cards.dark().is_some() && !Dialog::covers(ui.ctx(), VIEWS_SHEET, at);
    if clicked.is_some_and(|at| rect.contains(at) && is_beside_sheet(at)) && is_enabled && !shown {
        requests.push(UiCommand::ShowGroup(group));
    }
    about_group_ui(cx, group, is_enabled, response);
}

/// The question of a group, the keys that lead to it, and why none of its views can be shown.
fn about_group_ui(cx: &ViewCtx<'_>, group: ViewGroup, is_enabled: bool, response: Response) {
    response.on_hover_ui(|ui| {
        ui.label(UiCommand::ShowGroup(group).tooltip_with_key(ui.ctx()));
        let names: Vec<&str> = group.views().map(ViewKind::label).collect();
        ui.weak(names.join(" · "));
        let reason = || group.views().find_map(|view| cx.view_unavailable(view));
        if let Some(reason) = (!is_enabled).then(reason).flatten() {
            ui.colored_label(cx.theme.warning, reason);
        }
    });
}

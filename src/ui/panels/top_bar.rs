//! The bar above everything: where the selection was, the views, and what leaves the window. What has no room in it
//! is in its menu.

use eframe::egui::{self, Align, Align2, Button, FontId, Layout, Response, Role, Sense, Ui, WidgetInfo, vec2};

use super::{
    WindowRequests,
    compare::{compare_contents_ui, compare_ui},
    session_menu::{session_contents_ui, session_menu_ui},
};
use crate::{
    session::ViewKind,
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        theme::{GRID, text_size},
        views::view_choices_ui,
        widgets::{command_button_ui, menu_ui, symbol_button_ui, symbol_button_width, text_button_width},
        zoom,
    },
};

/// Between two parts of the bar.
const GAP_PT: f32 = GRID;
/// Between what is on the left and the tabs, and after them.
const WIDE_GAP_PT: f32 = 3.0 * GRID;
/// Beside the name of a view in its tab.
const TAB_MARGIN_PT: f32 = 2.5 * GRID;

/// What may stand in the bar or in its menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarItem {
    History,
    Export,
    Session,
    Compare,
    Examples,
    Help,
    Theme,
    Screenshot,
    CopyFigure,
}

/// What an item is made of.
#[derive(Clone, Copy)]
enum BarContent {
    SessionMenu,
    CompareMenu,
    Commands(&'static [UiCommand]),
}

impl BarItem {
    /// The first keeps its place in the bar longest.
    const BY_PRIORITY: [Self; 9] = [
        Self::History,
        Self::Export,
        Self::Session,
        Self::Compare,
        Self::Examples,
        Self::Help,
        Self::Theme,
        Self::Screenshot,
        Self::CopyFigure,
    ];

    /// As they stand on the right, from right to left.
    const FROM_THE_RIGHT: [Self; 8] = [
        Self::Help,
        Self::Theme,
        Self::Screenshot,
        Self::CopyFigure,
        Self::Compare,
        Self::Session,
        Self::Export,
        Self::Examples,
    ];

    /// Its width in the bar.
    fn width(self, ui: &Ui, cx: &PanelCtx<'_>) -> f32 {
        match self {
            Self::History => 2.0 * (symbol_button_width(ui, "⏴") + GAP_PT),
            Self::Session => text_button_width(ui, "Session") + GAP_PT,
            Self::Compare => text_button_width(ui, "Compare") + GAP_PT,
            Self::Export => text_button_width(ui, UiCommand::ExportView.text()) + GAP_PT,
            Self::Examples => text_button_width(ui, UiCommand::ToggleExamples.text()) + GAP_PT,
            Self::Help | Self::Theme | Self::Screenshot | Self::CopyFigure => {
                symbol_button_width(ui, self.symbol(cx)) + GAP_PT
            }
        }
    }

    const fn content(self) -> BarContent {
        BarContent::Commands(match self {
            Self::Session => return BarContent::SessionMenu,
            Self::Compare => return BarContent::CompareMenu,
            Self::History => &[UiCommand::Back, UiCommand::Forward],
            Self::Export => &[UiCommand::ExportView],
            Self::Examples => &[UiCommand::ToggleExamples],
            Self::Help => &[UiCommand::Help],
            Self::Theme => &[UiCommand::ToggleTheme],
            Self::Screenshot => &[UiCommand::ExportWindow],
            Self::CopyFigure => &[UiCommand::CopyView],
        })
    }

    const fn symbol(self, cx: &PanelCtx<'_>) -> &'static str {
        match self {
            Self::Help => "?",
            Self::Theme if cx.view.theme.dark => "☀",
            Self::Theme => "🌙",
            Self::Screenshot => "📷",
            Self::CopyFigure => "📋",
            Self::History | Self::Export | Self::Session | Self::Compare | Self::Examples => "",
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
    /// Names of all views beside each other; else one menu of them.
    tabs: bool,
    /// What else.
    parts: Vec<BarItem>,
}

impl BarLayout {
    fn in_room(ui: &Ui, cx: &PanelCtx<'_>, room: f32) -> Self {
        let ends = symbol_button_width(ui, "◧") + symbol_button_width(ui, "◨") + symbol_button_width(ui, "⋯");
        let room = room - ends - 3.0 * GAP_PT - 2.0 * WIDE_GAP_PT;
        let history = BarItem::History.width(ui, cx);
        let all_tabs: f32 = ViewKind::ALL.into_iter().map(|view| tab_width(ui, view) + GAP_PT).sum();
        let tabs = all_tabs + history <= room;
        let mut left = room - if tabs { all_tabs } else { views_button_width(ui, cx) };
        let fits = |part: &BarItem| {
            left -= part.width(ui, cx);
            left >= 0.0
        };
        Self { tabs, parts: BarItem::BY_PRIORITY.into_iter().take_while(fits).collect() }
    }

    fn has(&self, part: BarItem) -> bool {
        self.parts.contains(&part)
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
        ui.add_space(WIDE_GAP_PT - GAP_PT);
        if shown.tabs {
            for view in ViewKind::ALL {
                tab_ui(ui, cx, view, requests);
            }
        } else {
            views_menu_ui(ui, cx, requests);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GAP_PT;
            symbol_ui(ui, cx, UiCommand::ToggleInspector, "◨", requests);
            more_ui(ui, cx, &shown, requests);
            for part in BarItem::FROM_THE_RIGHT.into_iter().filter(|part| shown.has(*part)) {
                part_ui(ui, cx, part, requests);
            }
        });
    });
}

fn symbol_ui(ui: &mut Ui, cx: &PanelCtx<'_>, command: UiCommand, symbol: &str, requests: &mut WindowRequests) {
    if symbol_button_ui(ui, command, symbol, is_enabled(cx, command)).clicked() {
        requests.push(command);
    }
}

/// A part on the right of the bar.
fn part_ui(ui: &mut Ui, cx: &PanelCtx<'_>, part: BarItem, requests: &mut WindowRequests) {
    match part.content() {
        BarContent::SessionMenu => session_menu_ui(ui, cx, requests),
        BarContent::CompareMenu => compare_ui(ui, cx, requests),
        BarContent::Commands(commands) => {
            for command in commands.iter().copied() {
                match part.symbol(cx) {
                    "" => {
                        let button = Button::new(command.text()).frame_when_inactive(false);
                        let response = ui.add_enabled(is_enabled(cx, command), button);
                        if response.on_hover_text(command.tooltip_with_key(ui.ctx())).clicked() {
                            requests.push(command);
                        }
                    }
                    symbol => symbol_ui(ui, cx, command, symbol, requests),
                }
            }
        }
    }
}

/// The menu with what has no room in the bar, and with what is rarely needed.
fn more_ui(ui: &mut Ui, cx: &PanelCtx<'_>, shown: &BarLayout, requests: &mut WindowRequests) {
    let menu = menu_ui(ui, Button::new("⋯").frame_when_inactive(false), |ui| {
        for part in BarItem::BY_PRIORITY.into_iter().filter(|part| !shown.has(*part)) {
            match part.content() {
                BarContent::SessionMenu => {
                    drop(ui.menu_button("Session", |ui| session_contents_ui(ui, cx, requests)));
                }
                BarContent::CompareMenu => {
                    drop(ui.menu_button("Compare", |ui| compare_contents_ui(ui, cx, requests)));
                }
                BarContent::Commands(commands) => {
                    for command in commands {
                        item_ui(ui, cx, *command, requests);
                    }
                }
            }
        }
        if shown.parts.len() < BarItem::BY_PRIORITY.len() {
            ui.separator();
        }
        for command in [UiCommand::NewWindow, UiCommand::Palette] {
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
    menu.on_hover_text("More commands: new window, size of text and controls, buttons that do not fit here");
}

fn item_ui(ui: &mut Ui, cx: &PanelCtx<'_>, command: UiCommand, requests: &mut WindowRequests) {
    if command_button_ui(ui, command, is_enabled(cx, command)).clicked() {
        requests.push(command);
        ui.close();
    }
}

/// The name of the view that is shown, and behind it all others.
fn views_menu_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let name = cx.pane.view.label();
    let menu = menu_ui(ui, Button::new(views_text(cx)).frame_when_inactive(false), |ui| {
        if let Some(view) = view_choices_ui(ui, cx) {
            requests.push(UiCommand::Show(view));
            ui.close();
        }
    });
    menu.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("View: {name}")));
    menu.on_hover_text("Show another view");
}

fn views_text(cx: &PanelCtx<'_>) -> String {
    format!("{} ⏷", cx.pane.view.label())
}

fn views_button_width(ui: &Ui, cx: &PanelCtx<'_>) -> f32 {
    text_button_width(ui, views_text(cx)) + GAP_PT
}

fn tab_font() -> FontId {
    FontId::proportional(text_size::BODY + 0.5)
}

fn tab_width(ui: &Ui, view: ViewKind) -> f32 {
    let text = UiCommand::Show(view).text().to_owned();
    let galley = ui.painter().layout_no_wrap(text, tab_font(), egui::Color32::PLACEHOLDER);
    galley.size().x + 2.0 * TAB_MARGIN_PT
}

/// A view's name; the shown one is underlined, one that cannot apply is grey and says why.
fn tab_ui(ui: &mut Ui, cx: &ViewCtx<'_>, view: ViewKind, requests: &mut WindowRequests) {
    let command = UiCommand::Show(view);
    let unavailable = cx.view_unavailable(view);
    let shown = cx.pane.view == view;
    let color = match (unavailable.is_some(), shown) {
        (true, _) => cx.theme.text_weak.gamma_multiply(0.55),
        (false, true) => cx.theme.text,
        (false, false) => cx.theme.text_weak,
    };
    let galley = ui.painter().layout_no_wrap(command.text().to_owned(), tab_font(), color);
    let size = vec2(tab_width(ui, view), ui.available_height());
    let sense = if unavailable.is_some() { Sense::hover() } else { Sense::click() };
    let (rect, response) = ui.allocate_exact_size(size, sense);
    response.widget_info(|| WidgetInfo::selected(Role::Tab, unavailable.is_none(), shown, command.text()));
    if response.hovered() && unavailable.is_none() && !shown {
        ui.painter().rect_filled(rect.shrink2(vec2(0.0, 1.5 * GRID)), 4, cx.theme.masked);
    }
    if response.has_focus() {
        let stroke = egui::Stroke::new(1.0, cx.theme.accent);
        ui.painter().rect_stroke(rect.shrink(1.5 * GRID), 4, stroke, egui::StrokeKind::Inside);
    }
    let text_rect = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), rect);
    ui.painter().galley(text_rect.min, galley, color);
    if shown {
        let line = egui::Rect::from_min_max(
            egui::pos2(text_rect.left() - GRID, rect.bottom() - 2.0),
            egui::pos2(text_rect.right() + GRID, rect.bottom()),
        );
        ui.painter().rect_filled(line, 0, cx.theme.accent);
    }
    if response.clicked() {
        requests.push(command);
    }
    about_view_ui(cx, view, response);
}

/// What a view is for, and why it cannot be shown.
fn about_view_ui(cx: &ViewCtx<'_>, view: ViewKind, response: Response) {
    let unavailable = cx.view_unavailable(view);
    response.on_hover_ui(|ui| {
        ui.label(UiCommand::Show(view).tooltip_with_key(ui.ctx()));
        if let Some(reason) = unavailable {
            ui.colored_label(cx.theme.warning, reason);
        }
    });
}

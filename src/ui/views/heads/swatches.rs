//! One swatch per head: which heads are drawn, in which colour.

use eframe::egui::{Button, Role, Sense, Ui, Vec2, WidgetInfo, vec2};

use super::paint;
use crate::{
    analysis::reading,
    ids::HeadId,
    session::{Command, SelectionCommand},
    ui::{
        ViewCtx,
        theme::GRID,
        views::{
            groups::{GROUP_GAP_PT, HeadGroups},
            menu, tooltip,
        },
    },
};

/// Size of a head's swatch.
const SWATCH_PT: Vec2 = vec2(26.0, 24.0);
/// Between two swatches.
const SWATCH_GAP_PT: f32 = 2.0;
/// From a swatch down to the bracket of its group.
const BRACKET_PT: f32 = 3.0;

/// How a head is put out of action in the run that is shown.
fn ablated_how(cx: &ViewCtx<'_>, head: HeadId) -> Option<&'static str> {
    cx.document.latest_capture().and_then(|capture| reading::ablated(capture, head))
}

/// One swatch per head: a click turns its lines on or off, a double click shows it alone.
pub fn swatches_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_heads: usize, groups: HeadGroups) {
    let selection = &cx.pane.selection;
    ui.spacing_mut().item_spacing.x = SWATCH_GAP_PT;
    for head in 0..n_heads {
        if groups.gap_before(head) {
            ui.add_space(GROUP_GAP_PT);
        }
        let (rect, response) = ui.allocate_exact_size(SWATCH_PT, Sense::click());
        let on = selection.heads_on().contains(head);
        response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, format!("Head {head}")));
        let ablated = ablated_how(cx, HeadId { head, ..selection.head });
        let look = paint::SwatchLook {
            on,
            ablated: ablated.is_some(),
            selected: selection.head.head == head,
            hovered: response.hovered() || response.has_focus(),
        };
        paint::swatch(ui.painter(), rect, head, look, cx.theme);
        let below = rect.bottom() + BRACKET_PT;
        groups.bracket(ui.painter(), head, rect.x_range(), below, SWATCH_GAP_PT, cx.theme);
        if response.double_clicked() {
            cx.send(Command::Select(SelectionCommand::SoloHead(head)));
        } else if response.clicked() {
            cx.send(Command::Select(SelectionCommand::ToggleHead(head)));
        }
        menu::point_at_head(&response, cx, HeadId { head, ..selection.head });
        let notes = [groups.note(head), ablated.map(ToOwned::to_owned)];
        let name = notes.into_iter().flatten().fold(format!("Head {head}"), |name, note| format!("{name} · {note}"));
        let how = "Click: show or hide. Double-click: show alone. Right-click: change it";
        tooltip::above(&response, &format!("{name}\n{how}"));
    }
    ui.add_space(GRID);
    let all_on = (0..n_heads).all(|head| selection.heads_on().contains(head));
    let all = ui.add_enabled(!all_on, Button::new("All"));
    if all.accessible_name("Show all heads").clicked() {
        cx.send(Command::Select(SelectionCommand::AllHeads));
    }
}

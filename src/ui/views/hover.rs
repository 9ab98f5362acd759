//! Tokens under the pointer.

use eframe::egui::Response;

use crate::{
    analysis::reading::Axis,
    figure::views::regions::{Pointed, Region},
    session::{Command, Focus, PaneCommand},
    ui::ViewCtx,
};

/// The cell of some regions that the pointer is on.
pub fn under(response: &Response, regions: &[Region]) -> Option<Pointed> {
    let at = response.hover_pos()?;
    regions.iter().find_map(|region| region.at(at))
}

/// The token positions of a row and a column; a row that stands for all queries is none of them.
pub fn tokens([row, col]: [Option<usize>; 2], [rows, cols]: [&Axis; 2], has_one_row: bool) -> Focus {
    let query = row.filter(|_| !has_one_row).and_then(|row| rows.position(row));
    Focus { query, key: col.and_then(|col| cols.position(col)) }
}

/// The row and the column that token positions belong to.
pub fn in_pattern(focus: Focus, [rows, cols]: [&Axis; 2]) -> [Option<usize>; 2] {
    [focus.query.and_then(|query| rows.group_of(query)), focus.key.and_then(|key| cols.group_of(key))]
}

/// What is pinned after a click on the name of a token: that of its own side, or none there any more. The other side stays as it is, so
/// that a query and a key make a pair.
pub const fn clicked(pinned: Focus, here: Focus, was_pinned: bool) -> Focus {
    match (here.query, here.key) {
        (Some(_), _) => Focus { query: if was_pinned { None } else { here.query }, key: pinned.key },
        (None, key) => Focus { query: pinned.query, key: if was_pinned { None } else { key } },
    }
}

/// Reports what is under the pointer in this frame. It ends by silence: what nobody reports is under no pointer.
pub fn report(cx: &ViewCtx<'_>, focus: Focus) {
    if !focus.is_empty() {
        cx.send(Command::InPane(PaneCommand::Hover(focus)));
    }
}

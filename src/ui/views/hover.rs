//! Tokens under the pointer.

use crate::{
    session::{Command, Focus, PaneCommand},
    ui::ViewCtx,
};

/// Reports what is under the pointer in this frame. It ends by silence: what nobody reports is under no pointer.
pub fn report(cx: &ViewCtx<'_>, focus: Focus) {
    if !focus.is_empty() {
        cx.send(Command::InPane(PaneCommand::Hover(focus)));
    }
}

//! Sends the focus under the pointer when it changes, and takes back only what it sent.

use crate::{
    session::{Command, Focus},
    ui::ViewCtx,
};

/// Remembers whether the session's hover came from this view, so that leaving the view does not
/// erase what a panel just reported.
#[derive(Debug, Default)]
pub struct HoverSender {
    mine: bool,
}

impl HoverSender {
    /// Reports what is under the pointer in this frame.
    pub fn report(&mut self, cx: &ViewCtx<'_>, focus: Focus) {
        let known = cx.pane.selection.hover;
        if focus.is_empty() {
            if std::mem::take(&mut self.mine) && !known.is_empty() {
                cx.send(Command::Hover(Focus::NONE));
            }
            return;
        }
        self.mine = true;
        if known != focus {
            cx.send(Command::Hover(focus));
        }
    }
}

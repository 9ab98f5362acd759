//! One Tab stop for a list of many things: arrow keys move within it.

use eframe::egui::{EventFilter, Id, Key, Modifiers, Response, Sense, Ui};

/// Which keys lead to the thing before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Left and right, and up and down as well: things that wrap like words.
    Line,
    Column,
}

impl Along {
    const fn keys(self) -> &'static [(Key, bool)] {
        const UP: (Key, bool) = (Key::ArrowUp, false);
        const DOWN: (Key, bool) = (Key::ArrowDown, true);
        match self {
            Self::Line => &[(Key::ArrowLeft, false), (Key::ArrowRight, true), UP, DOWN],
            Self::Column => &[UP, DOWN],
        }
    }

    /// Keeps these keys for what has the focus, instead of moving that.
    fn lock(self, ui: &Ui, response: &Response) {
        let horizontal_arrows = self == Self::Line;
        let filter = EventFilter { horizontal_arrows, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    }
}

/// The thing that the keyboard is at in a list of `n` things that is drawn as one, while that has the focus, and whether
/// an arrow key has just led there.
pub fn stepped(ui: &Ui, response: &Response, n: usize, along: Along) -> Option<(usize, bool)> {
    if !response.has_focus() || n == 0 {
        return None;
    }
    along.lock(ui, response);
    let before = ui.ctx().data(|data| data.get_temp(response.id)).unwrap_or(0usize).min(n - 1);
    let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    let at = along.keys().iter().filter(|(key, _)| pressed(*key)).fold(before, |at, (_, forward)| match forward {
        true => (at + 1).min(n - 1),
        false => at.saturating_sub(1),
    });
    ui.ctx().data_mut(|data| data.insert_temp(response.id, at));
    Some((at, at != before))
}

/// The Tab stop of one list.
#[derive(Clone, Copy, Debug)]
pub struct Roving {
    list: Id,
    stop: usize,
    /// The stop was moved in the last frame and waits for the focus.
    wants_focus: bool,
}

impl Roving {
    /// Of the list `list`, of which at least the things in `visible` are drawn. The stop is where the keyboard was
    /// last, or else at the first thing in sight.
    pub fn new(ui: &Ui, list: Id, visible: &std::ops::Range<usize>) -> Self {
        let known: Option<(usize, bool)> = ui.ctx().data(|data| data.get_temp(list));
        let (stop, wants_focus) = known.unwrap_or((visible.start, false));
        let stop = if visible.contains(&stop) || wants_focus { stop } else { visible.start };
        Self { list, stop, wants_focus }
    }

    /// The thing that must be brought into sight because the keyboard moved to it.
    pub fn moved_to(&self) -> Option<usize> {
        self.wants_focus.then_some(self.stop)
    }

    /// What the thing at `position` senses.
    pub fn sense(&self, position: usize) -> Sense {
        if position == self.stop { Sense::click() } else { Sense::CLICK }
    }

    /// Takes the keys of the thing at `position`, one of `n`.
    pub fn keys(&self, ui: &Ui, response: &Response, position: usize, n: usize, along: Along) {
        let remember = |stop: usize, wants: bool| ui.ctx().data_mut(|data| data.insert_temp(self.list, (stop, wants)));
        if position != self.stop {
            return;
        }
        if self.wants_focus {
            response.request_focus();
            remember(position, false);
        }
        if !response.has_focus() {
            return;
        }
        along.lock(ui, response);
        for &(key, forward) in along.keys() {
            if ui.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                let next = if forward { (position + 1).min(n.saturating_sub(1)) } else { position.saturating_sub(1) };
                if next != position {
                    remember(next, true);
                    ui.ctx().request_repaint();
                }
            }
        }
    }
}

//! The keys that choose from a list below a field, which keeps the cursor.

use eframe::egui::{Context, Key, Modifiers};

/// What was asked of the list by keys, taken before the field sees them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    by: isize,
    pub enter: bool,
}

impl Steps {
    /// Takes the keys of this frame; a page has so many rows.
    pub fn take(ctx: &Context, page: usize) -> Self {
        let page = page as isize;
        let keys = [(Key::ArrowDown, 1), (Key::ArrowUp, -1), (Key::PageDown, page), (Key::PageUp, -page)];
        ctx.input_mut(|input| {
            let steps = keys.map(|(key, step)| step * input.count_and_consume_key(Modifiers::NONE, key) as isize);
            Self { by: steps.into_iter().sum(), enter: input.consume_key(Modifiers::NONE, Key::Enter) }
        })
    }

    /// Whether another row is asked for.
    pub const fn any(self) -> bool {
        self.by != 0
    }

    /// The row after these steps: around the ends one by one, never beyond them by pages.
    pub fn from(self, at: usize, n_rows: usize) -> usize {
        let last = n_rows.saturating_sub(1);
        let at = at.min(last);
        match self.by {
            1 if at == last => 0,
            -1 if at == 0 => last,
            by => at.saturating_add_signed(by).min(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_around_the_ends_and_pages_stop_there() {
        let step = |by, at| Steps { by, enter: false }.from(at, 30);
        assert_eq!([step(1, 4), step(-1, 4), step(1, 29), step(-1, 0)], [5, 3, 0, 29]);
        assert_eq!([step(12, 4), step(12, 25), step(-12, 4)], [16, 29, 0]);
        assert_eq!(Steps { by: 1, enter: false }.from(7, 0), 0, "of an empty list");
    }
}

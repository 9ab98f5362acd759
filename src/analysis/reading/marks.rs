//! [`Marks`]: what changes of the run took from a pattern, so that a weight of 0 is not taken for the model's own.

use super::Axis;
use crate::{
    capture::{AppliedEdit, Capture, Edit},
    ids::{HeadId, Side, StackKind},
    text::counted,
};

/// What changes of the run took from a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Rows whose token nothing can attend to.
    pub hidden_rows: Vec<usize>,
    /// Columns whose token nothing can attend to.
    pub hidden_cols: Vec<usize>,
    /// Cells whose query cannot attend to the key in some of the heads.
    pub cut: Vec<(usize, usize)>,
}

impl Marks {
    /// Those of a run, in a pattern of these heads with these rows and columns.
    pub(super) fn of(capture: &Capture, stack: StackKind, heads: &[HeadId], rows: &Axis, cols: &Axis) -> Self {
        let mut marks = Self::default();
        let group = |axis: &Axis, of: Side, side: Side, position: usize| {
            axis.group_of(position).filter(|_| of == side && axis.groups.len() > 1)
        };
        for edit in &capture.computation().edits {
            match edit {
                AppliedEdit::Known(Edit::HideToken { side, position }) => {
                    marks.hidden_rows.extend(group(rows, stack.query_side(), *side, *position));
                    marks.hidden_cols.extend(group(cols, stack.key_side(), *side, *position));
                }
                AppliedEdit::Known(Edit::Knockout { stack: of, scope, edges, .. })
                    if *of == stack && heads.iter().any(|head| scope.contains(*head)) =>
                {
                    let cell = |[query, key]: &[usize; 2]| Some((rows.group_of(*query)?, cols.group_of(*key)?));
                    marks.cut.extend(edges.iter().filter_map(cell));
                }
                _ => {}
            }
        }
        for list in [&mut marks.hidden_rows, &mut marks.hidden_cols] {
            list.sort_unstable();
            list.dedup();
        }
        marks.cut.sort_unstable();
        marks.cut.dedup();
        marks
    }

    /// Whether nothing was taken.
    pub const fn is_empty(&self) -> bool {
        self.hidden_rows.is_empty() && self.hidden_cols.is_empty() && self.cut.is_empty()
    }

    /// What was taken, in words: `1 token hidden, 2 edges cut`; `None` for nothing.
    pub fn text(&self) -> Option<String> {
        let hidden = self.hidden_cols.len().max(self.hidden_rows.len());
        let hidden = (hidden > 0).then(|| format!("{} hidden", counted(hidden, "token")));
        let cut = (!self.cut.is_empty()).then(|| format!("{} cut", counted(self.cut.len(), "edge")));
        let parts: Vec<String> = hidden.into_iter().chain(cut).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

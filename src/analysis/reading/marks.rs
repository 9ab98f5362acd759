//! [`Marks`]: what changes of the run took from a pattern, so that a weight of 0 is not taken for the model's own, and
//! which heads were put out of action, so that their weights are not taken for 0.

use super::Axis;
use crate::{
    capture::{AppliedEdit, Capture, Edit, HideToken, Knockout},
    ids::{HeadId, Side, StackKind},
    text::counted,
};

/// More heads than these are counted, not named.
const MOST_NAMED: usize = 4;

/// What was done to a head that is put out of action, and whether that is seen in its weights; `None` where it is not.
pub fn ablated(capture: &Capture, head: HeadId) -> Option<&'static str> {
    let mut put_out = capture.computation().edits.iter().rev().filter_map(|edit| edit.known()?.kind().puts_out());
    put_out.find_map(|(of, how)| (of == head).then_some(how))
}

/// What changes of the run took from a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Rows whose token nothing can attend to.
    pub hidden_rows: Vec<usize>,
    /// Columns whose token nothing can attend to.
    pub hidden_cols: Vec<usize>,
    /// Cells whose query cannot attend to the key in some of the heads.
    pub cut: Vec<(usize, usize)>,
    /// Heads that are put out of action, and how.
    pub ablated: Vec<(HeadId, &'static str)>,
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
                AppliedEdit::Known(Edit::HideToken(HideToken { position, side })) => {
                    marks.hidden_rows.extend(group(rows, stack.query_side(), *side, *position));
                    marks.hidden_cols.extend(group(cols, stack.key_side(), *side, *position));
                }
                AppliedEdit::Known(Edit::Knockout(Knockout { stack: of, scope, edges, .. }))
                    if *of == stack && heads.iter().any(|head| scope.contains(*head)) =>
                {
                    let cell = |[query, key]: &[usize; 2]| Some((rows.group_of(*query)?, cols.group_of(*key)?));
                    marks.cut.extend(edges.iter().filter_map(cell));
                }
                AppliedEdit::Known(_) | AppliedEdit::Foreign(_) => {}
            }
        }
        for list in [&mut marks.hidden_rows, &mut marks.hidden_cols] {
            list.sort_unstable();
            list.dedup();
        }
        marks.cut.sort_unstable();
        marks.cut.dedup();
        marks.ablated = heads.iter().filter_map(|head| Some((*head, ablated(capture, *head)?))).collect();
        marks
    }

    /// Whether no token and no edge was taken.
    pub const fn is_empty(&self) -> bool {
        self.hidden_rows.is_empty() && self.hidden_cols.is_empty() && self.cut.is_empty()
    }

    /// What was taken, in words: `1 token hidden, 2 edges cut`; `None` for nothing.
    fn taken_text(&self) -> Option<String> {
        let hidden = self.hidden_cols.len().max(self.hidden_rows.len());
        let hidden = (hidden > 0).then(|| format!("{} hidden", counted(hidden, "token")));
        let cut = (!self.cut.is_empty()).then(|| format!("{} cut", counted(self.cut.len(), "edge")));
        let parts: Vec<String> = hidden.into_iter().chain(cut).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Of patterns of one run: what was taken from the first of which something was, and which heads are put out of
    /// action: `1 token hidden; L0H2: output set to 0; weights unchanged`; `None` for nothing.
    pub fn text_of<'a>(all: &(impl Iterator<Item = &'a Self> + Clone)) -> Option<String> {
        let parts: Vec<String> =
            all.clone().find_map(Self::taken_text).into_iter().chain(Self::ablated_text_of(all)).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Which heads are put out of action in some of these patterns, in words; `None` where none is.
    pub fn ablated_text_of<'a>(all: &(impl Iterator<Item = &'a Self> + Clone)) -> Option<String> {
        let mut heads: Vec<(&str, HeadId)> =
            all.clone().flat_map(|marks| &marks.ablated).map(|(head, how)| (*how, *head)).collect();
        heads.sort_unstable();
        heads.dedup();
        let of_kind = |alike: &[(&str, HeadId)]| {
            let names = match alike.len() {
                0..=MOST_NAMED => alike.iter().map(|(_, head)| head.to_string()).collect::<Vec<_>>().join(", "),
                n => counted(n, "head"),
            };
            format!("{names}: {}", alike.first().map_or("", |(how, _)| how))
        };
        let kinds: Vec<String> = heads.chunk_by(|a, b| a.0 == b.0).map(of_kind).collect();
        (!kinds.is_empty()).then(|| kinds.join("; "))
    }
}

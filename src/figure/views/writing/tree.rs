//! Texts that a beam search kept, as a tree: a column per token, the text that was taken along the top.

use std::iter::successors;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    capture::Beams,
    figure::{
        font::Align,
        list::Line,
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        pen::Pen,
    },
    style::size::CONTROL_PT,
    text::{decimal_text, ordinal_text, share_text},
};

/// Width of a token with its probability and the edge before it.
const TOKEN_PT: f32 = 30.0 * GRID;
/// Length of the edge before a token.
const EDGE_PT: f32 = 4.0 * GRID;
/// Width of a token's name.
const NAME_PT: f32 = 15.0 * GRID;
/// Height of the title.
const TITLE_PT: f32 = 6.0 * GRID;

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is in the text that was taken.
    Taken,
    /// It is in another text that ended.
    Ended,
    /// The texts that it is in were dropped.
    Dropped,
}

/// Where each token stands.
#[derive(Clone, Debug)]
pub struct BeamTree {
    pub beams: Beams,
    /// By token: its column and its row.
    pub places: Vec<[usize; 2]>,
    pub fates: Vec<Fate>,
    n_cols: usize,
    n_rows: usize,
}

impl BeamTree {
    pub fn new(beams: Beams) -> Self {
        let nodes = &beams.nodes;
        let mut fates = vec![Fate::Dropped; nodes.len()];
        for (nth, (last, _)) in beams.hypotheses.iter().enumerate() {
            for node in successors(Some(*last), |node| nodes.get(*node)?.0) {
                fates[node] = fates[node].min(if nth == 0 { Fate::Taken } else { Fate::Ended });
            }
        }
        // What follows each token, the first of all at place 0: from the last to be drawn to the first.
        let mut after = vec![Vec::new(); nodes.len() + 1];
        for (node, (parent, _)) in nodes.iter().enumerate() {
            after[parent.map_or(0, |parent| parent + 1)].push(node);
        }
        for children in &mut after {
            children.sort_by_key(|child| (std::cmp::Reverse(fates[*child]), std::cmp::Reverse(*child)));
        }
        let mut places = vec![[0, 0]; nodes.len()];
        let (mut n_cols, mut n_rows) = (0, 0);
        let mut pending: Vec<_> = after[0].iter().map(|node| (*node, 0, false)).collect();
        while let Some((node, col, goes_on)) = pending.pop() {
            n_rows += usize::from(!goes_on);
            n_cols = n_cols.max(col + 1);
            places[node] = [col, n_rows - 1];
            let children = &after[node + 1];
            // The first one goes on in the row of its parent.
            pending
                .extend(children.iter().enumerate().map(|(nth, child)| (*child, col + 1, nth + 1 == children.len())));
        }
        Self { beams, places, fates, n_cols, n_rows }
    }

    /// How large it is, with room for the score behind the last token.
    pub fn size(&self) -> Vec2 {
        vec2((self.n_cols + 1) as f32 * TOKEN_PT, TITLE_PT + self.n_rows as f32 * CONTROL_PT)
    }

    /// The place of a token, where the tree begins at a corner.
    pub fn cell(&self, corner: Pos2, node: usize) -> Rect {
        let [col, row] = self.places[node];
        let at = corner + vec2(col as f32 * TOKEN_PT, TITLE_PT + row as f32 * CONTROL_PT);
        Rect::from_min_size(at, vec2(TOKEN_PT, CONTROL_PT))
    }

    /// Draws it from a corner on.
    pub(super) fn draw(&self, corner: Pos2, pen: &mut Pen<'_>) {
        let title = "Texts that were kept: probability of each token, score of those that ended";
        pen.text(title, SMALL, pen.palette.text_weak, corner + vec2(GRID, TITLE_PT / 2.0), Align::Left);
        let cell = |node: usize| self.cell(corner, node);
        // The text that was taken is drawn over the others.
        for fate in [Fate::Dropped, Fate::Ended, Fate::Taken] {
            let (ink, width) = match fate {
                Fate::Taken => (pen.palette.text, 1.5),
                Fate::Ended => (pen.palette.text_weak, 1.0),
                Fate::Dropped => (pen.palette.disabled, 1.0),
            };
            for (node, (parent, token)) in
                self.beams.nodes.iter().enumerate().filter(|(node, _)| self.fates[*node] == fate)
            {
                let rect = cell(node);
                if !pen.sees(rect) {
                    continue;
                }
                let (left, middle) = (rect.left(), rect.center().y);
                let turn = left + EDGE_PT / 2.0;
                let from = parent.map_or(pos2(turn, middle), |parent| pos2(left, cell(parent).center().y));
                let ends = [from, pos2(turn, from.y), pos2(turn, middle), pos2(left + EDGE_PT, middle)];
                let edge = ends.windows(2).map(|ends| Line { from: ends[0], to: ends[1], width, color: ink });
                pen.lines(edge.collect());
                let name = pen.type_.fit(&token.label, BODY, NAME_PT).into_owned();
                pen.text(&name, BODY, ink, pos2(left + EDGE_PT + GRID, middle), Align::Left);
                let number = pos2(rect.right() - GRID, middle);
                pen.text(&share_text(token.value), SMALL, ink, number, Align::Right);
            }
        }
        for (nth, (last, score)) in self.beams.hypotheses.iter().enumerate() {
            let ink = if nth == 0 { pen.palette.text } else { pen.palette.text_weak };
            let text = format!("{}: {}", ordinal_text(nth + 1), decimal_text(*score));
            pen.text(&text, SMALL, ink, cell(*last).right_center() + vec2(EDGE_PT, 0.0), Align::Left);
        }
    }
}

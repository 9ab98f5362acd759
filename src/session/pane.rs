//! A pane: a view of a document, with its own selection and options.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Document, Explanations, Focus, HeadRef, HeadSet, HeadStep, Loadable, QueryStep, Selection, Substitute, Surveys,
    ViewGroup, ViewKind, ViewOptions, gallery::ExampleQuestion, history::History,
};
use crate::{
    analysis::{
        Space, attention,
        detect::Detector,
        projection::Projection,
        reading::{self, ReadingOptions},
        search::SearchQuery,
    },
    capture::Capture,
    ids::{DocumentId, HeadId, PaneId, StackKind},
    lab::Target,
    protocol::Lane,
};

/// A view of a document, with its own selection and options.
#[derive(Clone, Debug)]
pub struct Pane {
    pub id: PaneId,
    pub document: DocumentId,
    pub view: ViewKind,
    /// The view of all heads that the shown head was opened from.
    pub(super) opened_from: Option<ViewKind>,
    /// The view of each group that was shown last.
    pub(super) last_views: [Option<ViewKind>; ViewGroup::ALL.len()],
    pub selection: Selection,
    /// What is subtracted from the selected head.
    pub minus: Option<HeadRef>,
    /// The document whose corpus, or model, all heads are held against.
    pub against: Option<DocumentId>,
    pub options: ViewOptions,
    /// Whether it follows the other panes: what is under the pointer, what is held, steps to other heads.
    pub linked: bool,
    /// The joint query–key planes of the selected stack.
    pub projection: Loadable<Arc<Projection>>,
    /// What the last projection job was asked for, so that one that failed or was stopped is not asked for again.
    pub(super) projecting: Option<super::projections::LayoutRequest>,
    /// What was asked about its whole cloud.
    pub surveys: Surveys,
    /// What it asked the laboratory.
    pub explanations: Explanations,
    /// The method that was asked for by its name, and how many were before it.
    pub sought_method: Option<(usize, &'static str)>,
    /// What is shown in place of attention.
    pub overlay: Option<Substitute>,
    /// What is looked for in its joint spaces.
    pub search: SearchQuery,
    pub(super) history: History,
    /// What to select once the capture of an example or an `open` request has arrived.
    pub(super) pending: Option<PendingSelection>,
    /// The user's own options while an example is shown with its own.
    pub(super) own_options: Option<ViewOptions>,
    /// What was chosen for the input that is on its way, of a session that was written down.
    pub(super) returning: Option<Box<Returning>>,
    /// What a later version wrote beside it into a session file.
    pub(super) unknown: Map<String, Value>,
}

/// What belongs to one input, and is let go of when another one comes.
#[derive(Clone, Debug)]
pub(super) struct Returning {
    pub reading: ReadingOptions,
    pub target: Target,
}

/// What to select once a capture has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingSelection {
    pub view: Option<ViewKind>,
    pub stack: Option<StackKind>,
    pub layer: Option<usize>,
    pub head: Option<usize>,
    pub query: Option<usize>,
    pub key: Option<usize>,
    pub space: Option<Space>,
    /// What to ask the laboratory.
    pub asked: Option<ExampleQuestion>,
    /// By what score to sort all heads.
    pub sort_by: Option<Detector>,
}

impl PendingSelection {
    /// What `self` asks for, and what `other` asks for where `self` says nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            view: self.view.or(other.view),
            stack: self.stack.or(other.stack),
            layer: self.layer.or(other.layer),
            head: self.head.or(other.head),
            query: self.query.or(other.query),
            key: self.key.or(other.key),
            space: self.space.or(other.space),
            asked: self.asked.or(other.asked),
            sort_by: self.sort_by.or(other.sort_by),
        }
    }
}

impl Pane {
    /// A pane that shows `document`.
    pub fn new(id: PaneId, document: DocumentId, options: ViewOptions) -> Self {
        Self {
            id,
            document,
            view: ViewKind::default(),
            opened_from: None,
            last_views: Default::default(),
            selection: Selection::default(),
            minus: None,
            against: None,
            options,
            linked: true,
            projection: Loadable::Empty,
            projecting: None,
            surveys: Surveys::default(),
            explanations: Explanations::default(),
            overlay: None,
            search: SearchQuery::default(),
            history: History::default(),
            pending: None,
            own_options: None,
            sought_method: None,
            returning: None,
            unknown: Map::new(),
        }
    }

    /// Another pane that shows the same, without its past.
    #[must_use]
    pub(super) fn twin(&self, id: PaneId) -> Self {
        let projection = self.projection.latest().cloned().map_or(Loadable::Empty, Loadable::Ready);
        let history = History::default();
        Self { id, projection, projecting: None, opened_from: None, history, pending: None, ..self.clone() }
    }

    /// Whether there is a place to go back to.
    pub const fn can_go_back(&self) -> bool {
        self.history.can_go_back()
    }

    /// Whether there is a place to go forward to.
    pub const fn can_go_forward(&self) -> bool {
        self.history.can_go_forward()
    }

    /// Whether there is another place to flip to.
    pub const fn can_flip(&self) -> bool {
        self.history.can_flip()
    }

    /// Why `view` cannot be shown here, in words; `None` when it can.
    pub fn view_unavailable(&self, document: &Document, view: ViewKind) -> Option<&'static str> {
        document.view_unavailable(view, self.selection.stack())
    }

    /// The lane in which its planes are projected: another pane's where that shows the same ones.
    pub fn projection_lane(&self) -> Lane {
        Lane::Project(self.projecting.map_or(self.id, |asked| asked.lane))
    }

    /// Whether the projection was stopped before there was one.
    pub const fn is_projection_stopped(&self) -> bool {
        matches!(self.projection, Loadable::Empty) && self.projecting.is_some()
    }

    /// The newest projection of what is shown, even while another is on its way.
    pub fn shown_projection(&self, document: &Document) -> Option<&Arc<Projection>> {
        let (projection, cloud) = (self.projection.latest()?, self.cloud(document)?);
        let fits = projection.stack == self.selection.stack()
            && projection.options.space == self.space()
            && projection.cloud.id() == cloud.id();
        fits.then_some(projection)
    }

    /// Shows another view, if it can be shown.
    pub(super) fn show_view(&mut self, document: &Document, view: ViewKind) {
        if self.view_unavailable(document, view).is_none() {
            self.last_views[self.view.spec().group as usize] = Some(self.view);
            self.opened_from = None;
            self.view = view;
            self.selection.hover = Focus::NONE;
            self.clamp_focus(document);
        }
    }

    /// Shows a page of a view of several, if it can be shown.
    pub(super) fn show_page(&mut self, document: &Document, view: ViewKind, page: usize) {
        self.show_view(document, view);
        if let Some(pages) = view.spec().pages.filter(|pages| self.view == view && page < pages.n) {
            (pages.show)(&mut self.options, page);
        }
    }

    /// The view that is shown where no other is wanted, or the first that can be shown.
    fn usual_view(&self, document: &Document) -> ViewKind {
        let can_be_shown = |view: &ViewKind| self.view_unavailable(document, *view).is_none();
        let usual = Some(ViewKind::default()).filter(can_be_shown);
        usual.or_else(|| ViewKind::ALL.into_iter().find(can_be_shown)).unwrap_or_default()
    }

    /// The view that a group leads to: the one that was shown last or the first that can be shown; where one of its views
    /// is shown, the next. `None` where none other can be shown.
    pub fn view_of_group(&self, document: &Document, group: ViewGroup) -> Option<ViewKind> {
        let can_be_shown = |view: &ViewKind| self.view_unavailable(document, *view).is_none();
        let mut views: Vec<ViewKind> = group.views().filter(|view| *view == self.view || can_be_shown(view)).collect();
        match views.iter().position(|view| *view == self.view) {
            Some(here) => {
                views.rotate_left(here + 1);
                views.into_iter().next().filter(|view| *view != self.view)
            }
            None => self.last_views[group as usize].filter(can_be_shown).or_else(|| views.into_iter().next()),
        }
    }

    pub(super) fn show_group(&mut self, document: &Document, group: ViewGroup) {
        if let Some(view) = self.view_of_group(document, group) {
            self.show_view(document, view);
        }
    }

    /// Selects the existing head nearest to `head`.
    pub(super) fn select(&mut self, document: &Document, head: HeadId) {
        let before = self.selection.stack();
        self.selection.is_final = self.is_final(document, head);
        self.selection.head = match document.latest_capture() {
            Some(capture) => nearest_head(capture, head),
            None => head,
        };
        self.follow_stack(document, before);
        self.clamp_focus(document);
    }

    /// Selects a head that was chosen by its name, and draws it: alone, where all of its layer are drawn.
    pub(super) fn show_head(&mut self, document: &Document, head: HeadId) {
        self.select(document, head);
        if self.selection.heads_on() == HeadSet::ALL {
            self.selection.draw(HeadSet::NONE);
        }
    }

    /// Shows a head of all heads in the view that draws what its cell shows; of another view nothing changes.
    pub(super) fn open_head(&mut self, document: &Document, head: HeadId) {
        if self.view == ViewKind::OF_HEADS {
            self.show_head(document, head);
            self.show_view(document, self.options.grid.cells().view());
            self.opened_from = Some(ViewKind::OF_HEADS).filter(|from| *from != self.view);
        }
    }

    /// Back to all heads, where a head was opened from there.
    pub(super) fn leave_head(&mut self, document: &Document) {
        if let Some(from) = self.opened_from {
            self.show_view(document, from);
        }
    }

    /// Whether a head is shown that was opened from all heads.
    pub const fn is_opened_head(&self) -> bool {
        self.opened_from.is_some()
    }

    /// Keeps of the selection what means the same in the selected stack as it did in `before`: a query
    /// only where the queries are the same tokens, a key only where the keys are.
    fn follow_stack(&mut self, document: &Document, before: StackKind) {
        let now = self.selection.stack();
        if now == before {
            return;
        }
        let same_queries = now.query_side() == before.query_side();
        let same_keys = now.key_side() == before.key_side();
        for focus in [&mut self.selection.pinned, &mut self.selection.hover] {
            *focus = Focus { query: focus.query.filter(|_| same_queries), key: focus.key.filter(|_| same_keys) };
        }
        if self.view_unavailable(document, self.view).is_some() {
            self.view = self.usual_view(document);
        }
    }

    pub(super) fn clamp_focus(&mut self, document: &Document) {
        let Some(capture) = document.latest_capture() else { return };
        let stack = self.selection.stack();
        // What went to no key has a column behind the last one where patterns are drawn whole.
        let has_columns = self.view.facts().has_rest_columns;
        let n_rest = if has_columns { reading::rest_of(capture, stack).len() } else { 0 };
        let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len() + n_rest);
        let clamp = |focus: Focus| Focus {
            query: focus.query.filter(|&query| query < n_query),
            key: focus.key.filter(|&key| key < n_key),
        };
        self.selection.pinned = clamp(self.selection.pinned);
        self.selection.hover = clamp(self.selection.hover);
    }

    pub(super) fn step(&mut self, document: &Document, step: HeadStep) {
        if !self.space().is_joint() {
            return self.step_cell(document, step);
        }
        let HeadId { stack, layer, head } = self.selection.head;
        let Some(spec) = document.latest_capture().and_then(|capture| capture.model().stack(stack)) else { return };
        let n_layers = spec.layers.len().max(1);
        let n_heads = spec.n_heads(layer).max(1);
        let next = match step {
            HeadStep::PreviousHead => HeadId { stack, layer, head: (head + n_heads - 1) % n_heads },
            HeadStep::NextHead => HeadId { stack, layer, head: (head + 1) % n_heads },
            HeadStep::PreviousLayer => HeadId { stack, layer: (layer + n_layers - 1) % n_layers, head },
            HeadStep::NextLayer => HeadId { stack, layer: (layer + 1) % n_layers, head },
        };
        self.select(document, next);
    }

    /// The next stack of the model, after the last one the first.
    pub(super) fn next_stack(&self, document: &Document) -> Option<StackKind> {
        let stacks = &document.latest_capture()?.model().stacks;
        let here = stacks.iter().position(|stack| stack.kind == self.selection.stack())?;
        stacks.get((here + 1) % stacks.len()).map(|stack| stack.kind)
    }

    /// Draws a head as well, which becomes the selected one; or no longer, and then another that is drawn is the selected
    /// one. The last one stays.
    pub(super) fn toggle_head(&mut self, document: &Document, head: usize) {
        let (on, selected) = (self.selection.heads_on(), self.selection.head);
        if !on.contains(head) {
            self.selection.draw(on.with(head));
            return self.select(document, HeadId { head, ..selected });
        }
        let n_heads = self.n_heads(document);
        let left: HeadSet = on.without(head).iter(n_heads).collect();
        let nearest = left.iter(n_heads).find(|other| *other > head).or_else(|| left.iter(n_heads).last());
        let Some(nearest) = nearest else { return };
        let next = if selected.head == head { HeadId { head: nearest, ..selected } } else { selected };
        self.select(document, next);
        self.selection.draw(left);
    }

    pub(super) fn solo_head(&mut self, document: &Document, head: usize) {
        let solo = self.selection.heads_on().is_only(head, self.n_heads(document));
        self.select(document, HeadId { head, ..self.selection.head });
        self.selection.draw(if solo { HeadSet::ALL } else { HeadSet::NONE });
    }

    /// Number of heads in the selected layer.
    pub fn n_heads(&self, document: &Document) -> usize {
        let layer = document.latest_capture().and_then(|capture| capture.model().layer_of(self.selection.head));
        layer.map_or(0, |layer| layer.n_heads)
    }

    /// Pins the query after or before the pinned one. Without one, the first that the model wrote, else
    /// the first of all.
    pub(super) fn step_query(&mut self, document: &Document, step: QueryStep) {
        let Some(capture) = document.latest_capture() else { return };
        let side = self.selection.stack().query_side();
        let n = capture.tokens(side).len();
        if n == 0 {
            return;
        }
        let written = capture.generated().filter(|written| written.side == side && written.first < n);
        let next = match (self.selection.pinned.query, step) {
            (Some(query), QueryStep::Next) => (query + 1) % n,
            (Some(query), QueryStep::Previous) => (query + n - 1) % n,
            (None, QueryStep::Next) => written.map_or(0, |written| written.first),
            (None, QueryStep::Previous) => n - 1,
        };
        self.selection.pinned = Focus::query(next);
        self.selection.hover = Focus::NONE;
    }

    /// Lets go of what an example brought along: the user's own options come back.
    pub(super) fn leave_example(&mut self) {
        if let Some(own) = self.own_options.take() {
            self.options = own;
        }
    }

    /// Shows the capture that has just arrived in `document`, and keeps the selection where it still makes
    /// sense after the one that was shown `before`.
    pub(super) fn adopt(&mut self, document: &Document, before: Option<&Capture>) {
        let Some(capture) = document.latest_capture() else { return };
        let has_picture = capture.image().is_some();
        let had_picture = before.map(|before| before.image().is_some());
        self.follow(before, document);
        self.explain_input(capture);
        // Positions of one text are other tokens in the next.
        self.options.reading = self.options.reading.without_positions();
        if had_picture != Some(has_picture) {
            self.view = ViewKind::of_input(has_picture);
        }
        if let Some(returning) = self.returning.take() {
            (self.options.reading, self.options.target) = (returning.reading, returning.target);
        }
        let pending = self.pending.take().unwrap_or_default();
        if let Some(asked) = pending.asked {
            self.options.lab.clone_from(&asked.options());
            self.options.target = asked.target;
        }
        if let Some(space) = pending.space {
            self.options.scatter.choose_space(space);
        }
        if let Some(by) = pending.sort_by {
            self.options.grid.sort(by);
            // The question is which head, not which word.
            self.selection.pinned = Focus::NONE;
        }
        let old = self.selection.head;
        let head = HeadId {
            stack: pending.stack.unwrap_or_else(|| opening_stack(capture, old.stack)),
            layer: pending.layer.unwrap_or(old.layer),
            head: pending.head.unwrap_or(old.head),
        };
        self.select(document, head);
        if pending.head.is_some() {
            self.selection.draw(HeadSet::NONE);
        }
        if pending.query.is_some() || pending.key.is_some() {
            self.selection.pinned = Focus { query: pending.query, key: pending.key };
        }
        self.clamp_focus(document);
        if pending.layer.is_none() {
            self.leave_empty_layer(document);
        }
        if let Some(view) = pending.view
            && self.view_unavailable(document, view).is_none()
        {
            self.view = view;
        } else if self.view_unavailable(document, self.view).is_some() {
            self.view = self.usual_view(document);
        }
    }

    /// Goes to the first layer with attention when nothing was recorded in the selected one: files of
    /// other programs may begin anywhere.
    fn leave_empty_layer(&mut self, document: &Document) {
        let Some(capture) = document.latest_capture() else { return };
        let here = self.selection.head;
        if attention::is_shown(capture, here) {
            return;
        }
        let others = capture.stacks().iter().filter(|stack| stack.kind != here.stack);
        let stacks = capture.stack(here.stack).into_iter().chain(others);
        let mut layers = stacks.flat_map(|stack| (0..stack.layers.len()).map(|layer| (stack.kind, layer)));
        let at = |(stack, layer)| HeadId { stack, layer, head: here.head };
        if let Some(found) = layers.find(|&place| attention::is_shown(capture, at(place))) {
            self.select(document, at(found));
        }
    }
}

fn nearest_head(capture: &Capture, wanted: HeadId) -> HeadId {
    let stacks = &capture.model().stacks;
    let Some(stack) = stacks.iter().find(|stack| stack.kind == wanted.stack).or_else(|| stacks.first()) else {
        return wanted;
    };
    let layer = wanted.layer.min(stack.layers.len().saturating_sub(1));
    let n_heads = stack.n_heads(layer);
    HeadId { stack: stack.kind, layer, head: wanted.head.min(n_heads.saturating_sub(1)) }
}

/// The stack that is shown of a model whose stacks do not include `before`: the one that only such a
/// model has, cross-attention, where it was recorded; else the first.
fn opening_stack(capture: &Capture, before: StackKind) -> StackKind {
    let stacks = &capture.model().stacks;
    if stacks.iter().any(|stack| stack.kind == before) {
        return before;
    }
    let recorded = |kind: &StackKind| capture.stack(*kind).is_some_and(|stack| !stack.layers.is_empty());
    let cross = stacks.iter().map(|stack| stack.kind).filter(|kind| kind.is_cross()).find(recorded);
    cross.or_else(|| stacks.first().map(|stack| stack.kind)).unwrap_or(before)
}

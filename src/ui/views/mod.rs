//! Views of a document, in the centre of the window.
//!
//! Each view is a folder, whose `mod.rs` wires input and output. Layout and drawing are those of its figures
//! (`src/figure/views`). Views read a [`ViewCtx`] and push commands; between frames they own nothing but memos and where
//! the user has panned to.

use eframe::egui::{PointerButton, Popup, Rect, RichText, Ui, UiBuilder};

use self::{scale::Footer, selectors::HeadsIn};
use super::{ViewCtx, theme::GRID};
use crate::{
    analysis::PointCloud,
    ids::HeadId,
    session::{Command, HeadStep, Pane, SelectionCommand, ViewKind},
};

mod atlas;
mod average;
mod camera;
mod changes;
mod chart;
pub(super) mod controls;
mod cost;
mod debate;
mod diagram;
mod dictionary;
mod display_list;
mod display_menu;
mod distance;
mod experts;
mod fields;
mod frame;
mod grid;
mod groups;
mod headpage;
mod heads;
mod heatmap;
mod hover;
mod image;
mod lab;
mod line_painter;
mod menu;
mod of_heads;
mod overlay;
mod overview;
mod parts;
mod paths;
mod pending;
mod positions;
mod probe;
mod rail;
mod recurrence;
mod scale;
mod selectors;
mod simplex;
mod small_maps;
mod source;
mod space;
mod states;
mod studies;
mod text;
mod text_width;
mod texture;
mod tile_atlas;
mod told;
mod tooltip;
mod why;
mod writing;

pub use changes::{
    HeadChange, change_text, changes_menu_ui, dragged_tokens_ui, head_changes, hidden_by, short_change_text,
    toggle_hidden,
};
pub use controls::{drag, grouped, query_name};
pub use fields::{KnownOption, known_options, narrow_field_ui, seek_option};
pub use frame::{SCALE_PT, question, scrolled_ui};
pub use groups::sharing_text;
pub use heatmap::is_drawn_on;
pub use lab::{OutcomeChoice, method_specs_ui, outcome_label};
pub use menu::{copy_menu_ui, head_page_button_ui, pane_menu_ui};
pub use selectors::{LAYOUT_PASSES, stack_name, view_choices_ui};
pub use source::{shared_high, shown_pattern, subject, what};
pub use states::error_card_ui;
pub use told::is_first_picture;
pub use why::why_button_ui;

/// Width of the free border around a view, in points.
const MARGIN_PT: f32 = 3.0 * GRID;

/// A view in the window.
trait Canvas {
    /// Draws the choosers above it.
    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, HeadsIn::Row, None);
    }

    /// Draws it over all the space that is left in `ui`; what the row below it says of it.
    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer>;

    /// Draws what its colours and marks mean, below its options.
    fn legend_ui(&mut self, _ui: &mut Ui, _cx: &ViewCtx<'_>) {}

    /// Lets go of all that was painted. Where the user has panned to stays.
    fn rest(&mut self);

    /// The head that a step leads to where heads have places of their own.
    fn neighbour(&self, _from: HeadId, _step: HeadStep) -> Option<HeadId> {
        None
    }
}

/// Every view with what it remembers between frames.
#[derive(Default)]
pub struct Views {
    /// What stands below the question of an example.
    pub told: told::ToldLine,
    rail: rail::TokenRail,
    heads: heads::HeadsView,
    heatmap: heatmap::HeatmapView,
    grid: grid::GridView,
    image: image::ImageView,
    writing: writing::WritingView,
    space: space::SpaceView,
    distance: distance::DistanceView,
    atlas: atlas::AtlasView,
    headpage: headpage::HeadView,
    average: average::AverageView,
    debate: debate::DebateView,
    probe: probe::ProbeView,
    dictionary: dictionary::FeaturesView,
    lab: lab::LabView,
    paths: paths::PathsView,
    why: why::WhyView,
    simplex: simplex::SimplexView,
    positions: positions::PositionsView,
    diagram: diagram::DiagramView,
    cost: cost::CostView,
    text: text::TextView,
    states: recurrence::StatesView,
    experts: experts::ExpertsView,
}

impl Views {
    /// Draws `kind` over all the space that is left in `ui`, with the row of its scale below it.
    pub fn ui(&mut self, kind: ViewKind, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let whole = ui.available_rect_before_wrap();
        ui.painter().rect_filled(whole, 0, cx.theme.canvas);
        let (area, below) = whole.split_top_bottom_at_y(whole.bottom() - frame::SCALE_PT);
        // One canvas for all heads and for one, so that a drag goes on from the one to the other.
        let salt = if kind.facts().lays_out_points { "space" } else { kind.name() };
        let shown = ui.scope_builder(UiBuilder::new().id_salt(("above", salt)).max_rect(area), |ui| {
            ui.shrink_clip_rect(area);
            scrolled_ui(ui, |ui| self.canvas_ui((kind, salt), ui, cx))
        });
        frame::scale_ui(ui, cx, below, shown.inner.as_ref());
        ui.advance_cursor_after_rect(whole);
    }

    /// Puts the cursor into the search for a token of the input in the next frame.
    pub const fn focus_search(&mut self) {
        self.rail.focus_search();
    }

    fn canvas_ui(&mut self, (kind, salt): (ViewKind, &str), ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let area = ui.available_rect_before_wrap();
        let shown = ui.scope_builder(UiBuilder::new().id_salt(salt).max_rect(inner(area)), |ui| {
            ui.shrink_clip_rect(area);
            if let Some(nothing) = states::reason(cx, kind) {
                nothing.ui(ui, cx);
                return None;
            }
            self.canvas(kind).choosers_ui(ui, cx);
            let overlay = cx.pane.overlay.as_ref().filter(|_| !kind.facts().reads_corpus);
            // Where no weights are drawn its values stand on the tokens.
            let on_tokens = overlay.filter(|_| !kind.facts().draws_weights);
            if let Some(overlay) = on_tokens {
                overlay::strip_ui(ui, cx, overlay);
            }
            if cx.document.folder().is_none() {
                self.rail.ui(ui, cx, on_tokens.is_some());
            }
            part_ui(ui, cx, kind);
            if let Some(overlay) = overlay.filter(|_| on_tokens.is_none())
                && !overlay::above_ui(ui, cx, overlay)
            {
                return None;
            }
            leave_ui(ui, cx);
            self.canvas(kind).ui(ui, cx)
        });
        ui.advance_cursor_after_rect(area);
        shown.inner
    }

    /// What a command means in the view of a pane: a step from head to head goes to the next one that is seen.
    pub fn in_view(&mut self, pane: &Pane, command: Command) -> Command {
        let Command::Select(SelectionCommand::Step(step)) = command else { return command };
        let next = self.canvas(pane.view).neighbour(pane.selection.head, step);
        next.map_or(command, |head| Command::Select(SelectionCommand::Head(head)))
    }

    /// Lets go of all that was painted of views other than `shown`, which is painted anew when they are shown again.
    /// Where the user has panned to stays.
    pub fn rest(&mut self, shown: ViewKind) {
        // The two views of points are one.
        let stays = |kind: ViewKind| kind == shown || kind.facts().lays_out_points && shown.facts().lays_out_points;
        for kind in ViewKind::ALL.into_iter().filter(|kind| !stays(*kind)) {
            self.canvas(kind).rest();
        }
    }

    /// Draws the options and the legend of `kind`, one below the other.
    pub fn options_ui(&mut self, kind: ViewKind, ui: &mut Ui, cx: &ViewCtx<'_>, unfolded: bool) {
        if cx.document.latest_capture().is_none() {
            return;
        }
        fields::panel_ui(ui, cx, kind, unfolded);
        self.canvas(kind).legend_ui(ui, cx);
    }

    fn canvas(&mut self, kind: ViewKind) -> &mut dyn Canvas {
        match kind {
            ViewKind::Heads => &mut self.heads,
            ViewKind::Heatmap => &mut self.heatmap,
            ViewKind::Grid => &mut self.grid,
            ViewKind::Image => &mut self.image,
            ViewKind::Writing => &mut self.writing,
            ViewKind::Paths => &mut self.paths,
            ViewKind::Scatter | ViewKind::Matrix => &mut self.space,
            ViewKind::Distance => &mut self.distance,
            ViewKind::Atlas => &mut self.atlas,
            ViewKind::HeadPage => &mut self.headpage,
            ViewKind::Average => &mut self.average,
            ViewKind::Debate => &mut self.debate,
            ViewKind::Probe => &mut self.probe,
            ViewKind::Dictionary => &mut self.dictionary,
            ViewKind::Lab => &mut self.lab,
            ViewKind::Why => &mut self.why,
            ViewKind::Simplex => &mut self.simplex,
            ViewKind::Positions => &mut self.positions,
            ViewKind::Diagram => &mut self.diagram,
            ViewKind::Cost => &mut self.cost,
            ViewKind::Text => &mut self.text,
            ViewKind::States => &mut self.states,
            ViewKind::Experts => &mut self.experts,
        }
    }
}

/// Leads back from a head that was opened from all heads, by the click that opened it.
fn leave_ui(ui: &Ui, cx: &ViewCtx<'_>) {
    let is_meant = cx.pane.is_opened_head() && !Popup::is_any_open(ui.ctx());
    let rect = ui.available_rect_before_wrap();
    let is_double = || ui.input(|input| input.pointer.button_double_clicked(PointerButton::Primary));
    if is_meant && ui.rect_contains_pointer(rect) && is_double() {
        cx.send(Command::Select(SelectionCommand::LeaveHead));
    }
}

/// Says above the view that only a part of the text was read.
fn part_ui(ui: &mut Ui, cx: &ViewCtx<'_>, kind: ViewKind) {
    let shows_others =
        kind.facts().lays_out_points && !matches!(cx.pane.cloud(cx.document), Some(PointCloud::Input(_)));
    let part = cx.document.latest_capture().and_then(|capture| capture.input().part);
    if let Some(part) = part.filter(|_| !shows_others) {
        ui.label(RichText::new(part.to_string()).small().color(cx.theme.text_weak));
    }
}

/// The part of `area` that views draw in: choosers stand close below the question.
fn inner(area: Rect) -> Rect {
    area.shrink(MARGIN_PT).with_min_y(area.top() + GRID)
}

//! The list of features: found by number or token, sorted, one chosen.

use std::sync::Arc;

use eframe::egui::{
    Align, Label, Layout, RichText, Role, ScrollArea, Sense, TextEdit, Ui, UiBuilder, WidgetInfo, vec2,
};

use crate::{
    analysis::sae::{CorpusFeatures, FeatureOrder},
    text::{counted, decimal_text, share_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        theme::{GRID, text_size},
        views::controls,
    },
};

/// Height of a line.
const ROW_PT: f32 = 5.5 * GRID;
/// Where columns begin, as parts of the width.
const COLUMNS: [f32; 4] = [0.0, 0.17, 0.36, 0.54];

/// What the list remembers between frames.
#[derive(Default)]
pub struct FeatureList {
    sought: String,
    listed: Memo<(Same<CorpusFeatures>, FeatureOrder, String), Arc<Vec<usize>>>,
}

impl FeatureList {
    fn listed(&mut self, cx: &ViewCtx<'_>, found: &Arc<CorpusFeatures>) -> Arc<Vec<usize>> {
        let order = cx.pane.options.dictionary.order;
        let key = (Same(Arc::clone(found)), order, self.sought.clone());
        let sought = &self.sought;
        self.listed.get_or_update(key, || Arc::new(found.listed(order, sought)))
    }

    /// The feature that is shown: the one that was chosen, if the dictionary has it, else the first of the list.
    pub fn chosen(&mut self, cx: &ViewCtx<'_>, found: &Arc<CorpusFeatures>) -> Option<usize> {
        let chosen = cx.pane.options.dictionary.feature.filter(|feature| *feature < found.d_sae);
        chosen.or_else(|| self.listed(cx, found).first().copied())
    }

    /// Draws the search, the order and the list.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, found: &Arc<CorpusFeatures>, chosen: Option<usize>) {
        ui.horizontal(|ui| {
            let hint = "Number or token";
            let field = TextEdit::singleline(&mut self.sought).hint_text(hint).desired_width(32.0 * GRID);
            ui.add(field).accessible_name("Find a feature");
            controls::edit_options(cx, |options| {
                let all = FeatureOrder::CHOICES.map(|(order, _, title)| (order, title));
                controls::choice_ui(ui, "Sort features", &mut options.dictionary.order, &all);
            });
        });
        let listed = self.listed(cx, found);
        controls::caption_ui(
            ui,
            cx.theme,
            format!("{}: number, fires at, mean there, strongest token", counted(listed.len(), "feature")),
        );
        let area = ScrollArea::vertical().id_salt("list of features").auto_shrink(false);
        area.show_rows(ui, ROW_PT, listed.len(), |ui, rows| {
            for feature in &listed[rows] {
                row_ui(ui, cx, found, *feature, chosen == Some(*feature));
            }
        });
    }
}

/// One feature.
fn row_ui(ui: &mut Ui, cx: &ViewCtx<'_>, found: &CorpusFeatures, feature: usize, is_chosen: bool) {
    let (rect, row) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_PT), Sense::click());
    let token = found.strongest_token(feature).unwrap_or_default();
    let density = share_text(found.density(feature));
    let mean = decimal_text(found.counts.features[feature].mean());
    row.widget_info(|| {
        let name = format!("Feature {feature}: fires at {density}, mean {mean}, strongest at {token}");
        WidgetInfo::selected(Role::Button, true, is_chosen, name)
    });
    if is_chosen || row.hovered() {
        let fill = if is_chosen { ui.visuals().selection.bg_fill } else { cx.theme.text.gamma_multiply(0.06) };
        ui.painter().rect_filled(rect, 0.0, fill);
    }
    for (from, text) in COLUMNS.into_iter().zip([feature.to_string(), density, mean, token.to_owned()]) {
        let cell = rect.with_min_x(rect.left() + from * rect.width());
        let mut inside = ui.new_child(UiBuilder::new().max_rect(cell).layout(Layout::left_to_right(Align::Center)));
        inside.set_clip_rect(cell.intersect(ui.clip_rect()));
        let color = if is_chosen { ui.visuals().selection.stroke.color } else { cx.theme.text };
        inside.add(Label::new(RichText::new(text).size(text_size::SMALL).color(color)).selectable(false));
    }
    if row.clicked() {
        controls::edit_options(cx, |options| options.dictionary.feature = Some(feature));
    }
}

//! What marks and colours mean, and picking points by it.

use std::sync::Arc;

use eframe::egui::{DragValue, Label, Painter, Pos2, RichText, Sense, Ui, Vec2};

use super::paint::diamond;
use crate::{
    analysis::{
        Cloud,
        filter::{Condition, Is, filter},
        point_set::{PointSet, Spot},
        projection::{self, ColorBy, Meaning, Numbers, Values},
    },
    ids::{CloudId, HeadId, StackKind},
    session::{Command, PickChange},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, text_size},
        views::{controls, texture},
    },
};

/// What colours mean, for a head of a cloud.
pub type Legend = Memo<(CloudId, HeadId, ColorBy), Arc<Facts>>;

/// What a legend says.
pub struct Facts {
    meaning: Meaning,
    /// The smallest and the largest number, where colours are a scale.
    range: Option<[f32; 2]>,
}

/// Draws the legend of the selected head; a click on a kind or a group picks its points.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>, legend: &mut Legend) {
    controls::heading_ui(ui, cx.theme, "Legend");
    let Some(cloud) = cx.pane.cloud(cx.document) else { return };
    let (head, by) = (cx.pane.selection.head, cx.pane.options.scatter.color);
    let facts = legend.get_or_update((cloud.id(), head, by), || Arc::new(facts(&cloud, head, by)));
    let [queries, keys] = match head.stack {
        StackKind::Cross => ["Queries of the decoder", "Keys of the encoder"],
        _ => ["Queries", "Keys"],
    };
    let meaning = &facts.meaning;
    let n = [head.stack.query_side(), head.stack.key_side()].map(|side| cloud.n(side));
    for (text, is_query, color) in [(queries, true, cx.theme.query), (keys, false, cx.theme.key)] {
        let color = if matches!(meaning, Meaning::Type | Meaning::Missing(_)) { color } else { cx.theme.text_weak };
        let clicked = mark_ui(ui, cx, text, |painter, at| {
            if is_query {
                painter.circle_filled(at, 4.0, color);
            } else {
                diamond(painter, at, 5.0, color);
            }
        });
        if clicked {
            let spots =
                if is_query { (0..n[0]).map(Spot::Query).collect() } else { (0..n[1]).map(Spot::Key).collect() };
            pick(ui, cx, spots);
        }
    }
    match meaning {
        Meaning::Type => {}
        Meaning::Missing(reason) => {
            controls::caption_ui(ui, cx.theme, reason);
        }
        Meaning::Hues => {
            texture::gradient_ui(ui, cx.theme, ["red", "", "red"], |turns| cx.theme.hue_color(turns));
        }
        Meaning::Scale([low, high]) => {
            texture::gradient_ui(ui, cx.theme, [low, "", high], |fraction| cx.theme.position_color(fraction));
        }
        Meaning::Groups(groups) => {
            for (group, name) in groups {
                let color = cx.theme.tint(*group, cx.theme.text);
                let dot = |painter: &Painter, at| {
                    painter.circle_filled(at, 4.0, color);
                };
                if mark_ui(ui, cx, name, dot) {
                    pick(ui, cx, found(&cloud, head, by, Is::OneOf(vec![name.clone()])));
                }
            }
        }
    }
    if let Some(range) = facts.range {
        range_ui(ui, cx, (&cloud, head, by), range);
    }
}

fn facts(cloud: &Cloud, head: HeadId, by: ColorBy) -> Facts {
    let range = match projection::values(cloud, head, by) {
        Values::Numbers(Numbers { of, .. }) => {
            let finite = || of.iter().flatten().copied().filter(|value| value.is_finite());
            let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
            (low < high).then_some([low, high])
        }
        _ => None,
    };
    Facts { meaning: projection::tints(cloud, head, by).meaning, range }
}

/// Numbers from here to there, and a button that picks the points that have them.
fn range_ui(ui: &mut Ui, cx: &ViewCtx<'_>, (cloud, head, by): (&Cloud, HeadId, ColorBy), [low, high]: [f32; 2]) {
    let id = ui.scope_id().with(("picked by number", cx.pane.id, by));
    let [mut from, mut to] = ui.data(|data| data.get_temp::<[f32; 2]>(id)).unwrap_or([low, high]);
    ui.horizontal(|ui| {
        let speed = f64::from(high - low) / 100.0;
        let number = |value| DragValue::new(value).speed(speed).range(low..=high).max_decimals(2);
        ui.add(number(&mut from)).accessible_name("Pick from");
        ui.label("to");
        ui.add(number(&mut to)).accessible_name("Pick to");
        ui.data_mut(|data| data.insert_temp(id, [from, to]));
        if ui.small_button("Pick").on_hover_text("The points with these numbers; with Ctrl in addition").clicked() {
            pick(ui, cx, found(cloud, head, by, Is::Between(from, to)));
        }
    });
}

fn found(cloud: &Cloud, head: HeadId, by: ColorBy, is: Is) -> PointSet {
    let hits = filter(cloud, head, &Condition { by, is });
    let queries = hits.queries.iter().map(|query| Spot::Query(*query as usize));
    queries.chain(hits.keys.iter().map(|key| Spot::Key(*key as usize))).collect()
}

fn pick(ui: &Ui, cx: &ViewCtx<'_>, points: PointSet) {
    let adds = ui.input(|input| input.modifiers.command);
    cx.send(Command::PickPoints(points, if adds { PickChange::Add } else { PickChange::Replace }));
}

/// A mark and what it means; whether it was clicked.
fn mark_ui(ui: &mut Ui, cx: &ViewCtx<'_>, text: &str, draw: impl FnOnce(&Painter, Pos2)) -> bool {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(Vec2::splat(3.0 * GRID), Sense::hover());
        draw(ui.painter(), rect.center());
        let words = RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
        let label = ui.add(Label::new(words).truncate().sense(Sense::click()));
        label.on_hover_text("Click to pick these points; with Ctrl in addition").clicked()
    })
    .inner
}

//! Legend of marks and colours, and picking of points by it.

use eframe::egui::{DragValue, Label, Rect, RichText, Role, Sense, Ui, Vec2, WidgetInfo};

use super::{draw, looks::Looks};
use crate::{
    analysis::{
        filter::{Is, among},
        point_set::{PointSet, Spot},
        projection::{ColorBy, Meaning, SizeBy, Sizing, Tint, Tints},
    },
    figure::{list::Rgba, pen::Pen, views::scatter::legend::mark},
    session::{Command, PickChange, SelectionCommand, ViewKind},
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
        views::{
            controls::{self, grouped},
            scale::ScaleBar,
        },
    },
};

/// Radius of a mark.
const MARK_PT: f32 = 4.0;

/// The scale of the colours of the selected head. With counts instead of marks, `most` is the largest; `None` where
/// colours are no numbers.
pub fn scale(ui: &Ui, cx: &ViewCtx<'_>, looks: &Looks, most: Option<u32>) -> Option<ScaleBar> {
    let (head, space, options) = (cx.pane.cell(cx.document), cx.pane.space(), cx.pane.options.scatter);
    let scale = |color: &dyn Fn(f32) -> Rgba, [low, high]: [&str; 2], of: &str| {
        let ticks = [low, "", high].map(str::to_owned);
        Some(ScaleBar::of_colors(color, ticks, format!("{of}; the scale is that of {head}")))
    };
    if options.density {
        let most = most.map_or_else(|| "many".to_owned(), |most| grouped(most as usize));
        let map = draw::density_map(cx.theme);
        return scale(&|part| map.color(part), ["1", &most], &format!("Points in a square, {most} or more"));
    }
    let cloud = cx.pane.cloud(cx.document).filter(|cloud| cloud.lacks(head.stack, space).is_none())?;
    let tints = looks.get(ui.ctx(), &cloud, head, (space, options.color, options.size))?;
    let palette = &cx.theme.palette;
    match &tints.meaning {
        Meaning::Hues => scale(&|turns| palette.hue(turns), ["red", "red"], "Colours of points"),
        Meaning::Scale([low, high]) => scale(&|part| palette.position(part), [low, high], "Colours of points"),
        Meaning::Type | Meaning::Missing(_) | Meaning::Groups(_) => None,
    }
}

/// Draws the legend of the marks of the selected head; a click on a kind or a group picks its points.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>, looks: &Looks) {
    controls::heading_ui(ui, cx.theme, "Legend");
    let Some(cloud) = cx.pane.cloud(cx.document) else { return };
    let (head, space, options) = (cx.pane.cell(cx.document), cx.pane.space(), cx.pane.options.scatter);
    if cloud.lacks(head.stack, space).is_some() {
        return;
    }
    let found = looks.get(ui.ctx(), &cloud, head, (space, options.color, options.size));
    let is_known = found.is_some();
    let tints = found.unwrap_or_default();
    let [queries, keys] = space.kinds(head.stack);
    let meaning = &tints.meaning;
    let n = space.sides(head.stack).map(|side| side.map_or(0, |side| cloud.n(side)));
    let palette = &cx.theme.palette;
    for (text, is_query, color) in [(queries, true, palette.query), (keys, false, palette.key)] {
        let Some(text) = text else { continue };
        let color = if matches!(meaning, Meaning::Type | Meaning::Missing(_)) { color } else { palette.text_weak };
        if mark_ui(ui, cx, text, (is_query, color)) {
            let spots =
                if is_query { (0..n[0]).map(Spot::Query).collect() } else { (0..n[1]).map(Spot::Key).collect() };
            pick(ui, cx, spots);
        }
    }
    if !is_known {
        controls::caption_ui(ui, cx.theme, "Computing colours and sizes …");
        return;
    }
    match meaning {
        Meaning::Type | Meaning::Hues | Meaning::Scale(_) => {}
        Meaning::Missing(reason) => {
            controls::caption_ui(ui, cx.theme, reason);
        }
        Meaning::Groups(groups) => {
            for (group, name) in groups {
                if mark_ui(ui, cx, name, (true, palette.tint(*group, palette.text))) {
                    pick(ui, cx, of_group(&tints, *group, name));
                }
            }
        }
    }
    if let Some(range) = tints.range {
        range_ui(ui, cx, (&tints, options.color), range);
    }
    sizes_ui(ui, cx, &tints.sizes);
    if cx.pane.view == ViewKind::Matrix && (options.color.depends_on_head() || options.size != SizeBy::Same) {
        controls::caption_ui(ui, cx.theme, format!("Each head has its own scales; these are those of {head}"));
    }
}

/// What the smallest and the largest points stand for.
fn sizes_ui(ui: &mut Ui, cx: &ViewCtx<'_>, sizes: &Sizing) {
    match sizes {
        Sizing::Same => {}
        Sizing::Missing(reason) => {
            controls::caption_ui(ui, cx.theme, format!("No sizes: {reason}")).on_hover_text(reason);
        }
        Sizing::Steps { ends, .. } => {
            ui.horizontal(|ui| {
                for (radius, name, text) in [(2.0, "Smallest", &ends[0]), (8.0, "Largest", &ends[1])] {
                    let draw = |rect: Rect, pen: &mut Pen<'_>| {
                        mark(true, rect.center(), radius, pen.palette.text_weak, pen);
                    };
                    let response = controls::mark_ui(ui, cx.theme, Vec2::splat(16.0), name, draw);
                    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
                    controls::caption_ui(ui, cx.theme, text);
                    ui.add_space(GRID);
                }
            });
        }
    }
}

/// Numbers from here to there, and a button that picks the points that have them.
fn range_ui(ui: &mut Ui, cx: &ViewCtx<'_>, (tints, by): (&Tints, ColorBy), [low, high]: [f32; 2]) {
    let id = ui.scope_id().with(("picked by number", cx.pane.id, by, [low, high].map(f32::to_bits)));
    let [mut from, mut to] = ui.data(|data| data.get_temp::<[f32; 2]>(id)).unwrap_or([low, high]);
    ui.horizontal(|ui| {
        let speed = f64::from(high - low) / 100.0;
        let number = |value| DragValue::new(value).speed(speed).range(low..=high).max_decimals(2);
        ui.add(number(&mut from)).accessible_name("Pick from");
        ui.label("to");
        ui.add(number(&mut to)).accessible_name("Pick to");
        ui.data_mut(|data| data.insert_temp(id, [from, to]));
        if ui.small_button("Pick").on_hover_text("Pick the points with these numbers; with Ctrl: add them").clicked() {
            pick(ui, cx, of_points(among(&tints.values, &Is::Between(from, to))));
        }
    });
}

/// The points of a group; of those without a colour of their own, all of them.
fn of_group(tints: &Tints, group: Tint, name: &str) -> PointSet {
    if group != Tint::Rest {
        return of_points(among(&tints.values, &Is::OneOf(vec![name.to_owned()])));
    }
    let rest = |tints: &[Tint]| (0u32..).zip(tints).filter(|(_, tint)| **tint == group).map(|(at, _)| at).collect();
    of_points([rest(&tints.queries), rest(&tints.keys)])
}

fn of_points([queries, keys]: [Vec<u32>; 2]) -> PointSet {
    let queries = queries.into_iter().map(|query| Spot::Query(query as usize));
    queries.chain(keys.into_iter().map(|key| Spot::Key(key as usize))).collect()
}

fn pick(ui: &Ui, cx: &ViewCtx<'_>, points: PointSet) {
    let adds = ui.input(|input| input.modifiers.command);
    cx.send(Command::Select(SelectionCommand::PickPoints(
        points,
        if adds { PickChange::Add } else { PickChange::Replace },
    )));
}

/// A mark and what it means; whether it was clicked.
fn mark_ui(ui: &mut Ui, cx: &ViewCtx<'_>, text: &str, (is_query, color): (bool, Rgba)) -> bool {
    ui.horizontal(|ui| {
        let draw = |rect: Rect, pen: &mut Pen<'_>| mark(is_query, rect.center(), MARK_PT, color, pen);
        controls::mark_ui(ui, cx.theme, Vec2::splat(3.0 * GRID), (is_query, color), draw);
        let words = RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
        let label = ui.add(Label::new(words).truncate().sense(Sense::click()));
        label.widget_info(|| WidgetInfo::labeled(Role::Button, true, text));
        label.on_hover_text("Click to pick these points; with Ctrl: add them").clicked()
    })
    .inner
}

//! Options of the joint space, and what its marks and colours mean.

use eframe::egui::{Checkbox, DragValue, Ui};

use super::{canvas, draw, legend::legend_ui, looks::Looks};
use crate::{
    analysis::{
        Space,
        projection::{ColorBy, Dims, LayoutMethod, LayoutOptions, ProjectionOptions, ScaleChoice, SizeBy},
    },
    projection::Metric,
    session::HeadOrder,
    ui::{
        ViewCtx,
        theme::opaque,
        views::{
            controls::{self, grouped},
            texture,
        },
    },
};

/// What is on the canvas, what its marks mean, and how the joint space is made and laid out; with counts instead of marks, `most` is the largest.
pub fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>, looks: &Looks, most: Option<u32>) {
    controls::edit_options(cx, |options| {
        controls::heading_ui(ui, cx.theme, "Canvas");
        let scatter = &mut options.scatter;
        let (space, is_one) = (cx.pane.space(), cx.pane.space() == Space::Positions);
        controls::row_about_ui(ui, cx.theme, "Points are", space.meaning(), |ui| {
            let spaces = Space::ALL.map(|(space, _, text, _)| (space, text));
            let mut chosen = scatter.projection.space;
            if controls::choice_ui(ui, "Space", &mut chosen, &spaces) {
                scatter.choose_space(chosen);
            }
        });
        if !is_one {
            let text = if space.is_per_head() { "Sort heads by" } else { "Sort layers by" };
            controls::row_ui(ui, cx.theme, text, |ui| {
                controls::choice_ui(ui, "Order of heads", &mut scatter.order, &orders(cx));
            });
        }
        ui.checkbox(&mut scatter.density, "Density instead of points")
            .on_hover_text("How many points lie where, for crowds too dense for single points");
        let texts = Checkbox::new(&mut scatter.labels, "Texts of tokens");
        ui.add_enabled(!scatter.density && !scatter.clusters, texts)
            .on_hover_text("As many as there is room for, beside their points")
            .on_disabled_hover_text("Not together with density or names of clusters");
        if space.is_joint() {
            let no_lines = canvas::no_lines(cx);
            let lines = Checkbox::new(&mut scatter.lines, "Lines of every query");
            ui.add_enabled(no_lines.is_none(), lines)
                .on_hover_text(
                    "From each query of the shown input to its two strongest keys, if their weight is at least 0.05",
                )
                .on_disabled_hover_text(no_lines.unwrap_or_default());
        }
        ui.checkbox(&mut scatter.clusters, "Names of clusters")
            .on_hover_text("Clusters of the selected head, named by the token that is most over-represented in them");
    });
    if cx.pane.options.scatter.density {
        let most = most.map_or_else(|| "many".to_owned(), |most| format!("{} points or more", grouped(most as usize)));
        let map = draw::density_map(cx.theme);
        texture::gradient_ui(ui, cx.theme, ["1", "", &most], |part| opaque(map.color(part)));
        controls::caption_ui(ui, cx.theme, "Points in a square; the scale is that of this head");
    }
    marks_ui(ui, cx);
    if cx.pane.space().is_joint() {
        scaling_ui(ui, cx);
    }
    controls::edit_options(cx, |options| layout_ui(ui, cx, &mut options.scatter.projection.layout));
    legend_ui(ui, cx, looks);
}

/// What colours and sizes tell.
fn marks_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(cloud) = cx.pane.cloud(cx.document) else { return };
    let (head, space) = (cx.pane.cell(cx.document), cx.pane.space());
    controls::edit_options(cx, |options| {
        controls::heading_ui(ui, cx.theme, "Points");
        let scatter = &mut options.scatter;
        let shown = ui.add_enabled_ui(!scatter.density, |ui| {
            controls::row_ui(ui, cx.theme, "Colour", |ui| {
                let mut named = ColorBy::choices(&cloud, space, head.stack);
                // What was chosen for other points stays to be seen.
                if named.iter().all(|(by, _)| *by != scatter.color) {
                    named.push((scatter.color, scatter.color.text().to_owned()));
                }
                let choices: Vec<_> = named.iter().map(|(by, text)| (*by, text.as_str())).collect();
                controls::choice_ui(ui, "Colour of points", &mut scatter.color, &choices);
            });
            controls::row_ui(ui, cx.theme, "Size", |ui| {
                let choices = SizeBy::ALL.map(|(by, _, text)| (by, text, by.missing(&cloud, space, head)));
                controls::choice_with_reasons_ui(ui, "Size of points", &mut scatter.size, &choices);
            });
        });
        shown.response.on_disabled_hover_text("Density shows how many points there are, not their colours");
    });
}

/// How queries and keys are brought into one space.
pub fn scaling_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    controls::edit_options(cx, |options| {
        controls::heading_ui(ui, cx.theme, "Scaling of queries and keys");
        let scatter = &mut options.scatter;
        scale_ui(ui, cx, &mut scatter.projection);
    });
}

/// How queries and keys are scaled and moved against each other.
fn scale_ui(ui: &mut Ui, cx: &ViewCtx<'_>, projection: &mut ProjectionOptions) {
    let ProjectionOptions { scale, translate_keys, .. } = projection;
    controls::row_ui(ui, cx.theme, "Scale c", |ui| {
        let mut fixed = match *scale {
            ScaleChoice::Auto => 0,
            ScaleChoice::None => 1,
            ScaleChoice::Fixed(_) => 2,
            ScaleChoice::Search => 3,
        };
        let choices = [(0, "Equal norms"), (3, "Best correlation"), (1, "As given"), (2, "Fixed")];
        if controls::choice_ui(ui, "Scale of queries and keys", &mut fixed, &choices) {
            *scale = match fixed {
                0 => ScaleChoice::Auto,
                1 => ScaleChoice::None,
                3 => ScaleChoice::Search,
                _ => ScaleChoice::Fixed(1.0),
            };
        }
    });
    if let ScaleChoice::Fixed(c) = scale {
        let mut draft = *c;
        let slider = eframe::egui::Slider::new(&mut draft, 0.1..=10.0).logarithmic(true).update_while_editing(false);
        if ui.add(slider).accessible_name("Scale c").drag_stopped()
            || (draft != *c && !ui.ctx().egui_is_using_pointer())
        {
            *c = draft;
        }
    }
    ui.checkbox(translate_keys, "Move the mean key onto the mean query");
}

/// What heads can be sorted by.
fn orders(cx: &ViewCtx<'_>) -> Vec<(HeadOrder, &'static str)> {
    let space = cx.pane.space();
    let plain = if space.is_per_head() { "Layer and head" } else { "Layer" };
    let mut orders = vec![(HeadOrder::Layer, plain), (HeadOrder::Explained, "Explained variance")];
    if space.is_joint() {
        orders.insert(1, (HeadOrder::Correlation, "Correlation"));
        orders.push((HeadOrder::Scale, "Difference of norms"));
    }
    if cx.pane.ranking(cx.document).is_some() {
        orders.push((HeadOrder::Hits, "Hits of the search"));
    }
    orders
}

/// How the points come into the plane, and what that depends on.
fn layout_ui(ui: &mut Ui, cx: &ViewCtx<'_>, layout: &mut LayoutOptions) {
    controls::heading_ui(ui, cx.theme, "Layout");
    let methods =
        [(LayoutMethod::Pca, "Principal components"), (LayoutMethod::Tsne, "t-SNE"), (LayoutMethod::Umap, "UMAP")];
    controls::row_ui(ui, cx.theme, "Method", |ui| {
        controls::choice_ui(ui, "Method of the layout", &mut layout.method, &methods);
    });
    controls::row_ui(ui, cx.theme, "Points lie", |ui| {
        controls::choice_ui(
            ui,
            "Dimensions",
            &mut layout.dims,
            &[(Dims::Plane, "In the plane"), (Dims::Space, "In space")],
        );
    });
    if !layout.is_refined() {
        return;
    }
    let metrics = [(Metric::Euclidean, "Euclidean"), (Metric::Cosine, "Cosine")];
    controls::row_ui(ui, cx.theme, "Distance", |ui| {
        controls::choice_ui(ui, "Distance of the layout", &mut layout.metric, &metrics);
    });
    if layout.method == LayoutMethod::Tsne {
        let meaning = "Number of neighbours each point keeps close, roughly";
        controls::row_about_ui(ui, cx.theme, "Perplexity", meaning, |ui| {
            let drag = DragValue::new(&mut layout.perplexity).range(2.0..=500.0).update_while_editing(false);
            ui.add(drag.fixed_decimals(0)).accessible_name("Perplexity");
        });
        controls::row_about_ui(
            ui,
            cx.theme,
            "Iterations",
            "Total number of steps; the layout is shown as it develops",
            |ui| {
                let drag = DragValue::new(&mut layout.iterations).range(50..=10_000).update_while_editing(false);
                ui.add(drag).accessible_name("Iterations");
            },
        );
    } else {
        let meaning = "Points that each one is compared with: few show detail, many show the whole";
        controls::row_about_ui(ui, cx.theme, "Neighbours", meaning, |ui| {
            let drag = DragValue::new(&mut layout.neighbors).range(2..=500).update_while_editing(false);
            ui.add(drag).accessible_name("Neighbours");
        });
        controls::row_about_ui(ui, cx.theme, "Least distance", "Smallest distance between points", |ui| {
            let drag = DragValue::new(&mut layout.min_dist).range(0.0..=1.0).speed(0.01).update_while_editing(false);
            ui.add(drag).accessible_name("Least distance");
        });
    }
    controls::row_about_ui(ui, cx.theme, "Seed", "The same seed gives the same picture", |ui| {
        let drag = DragValue::new(&mut layout.seed).update_while_editing(false);
        ui.add(drag).accessible_name("Seed");
    });
}

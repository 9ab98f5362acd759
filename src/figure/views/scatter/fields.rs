//! Options of points as the window and the command line show them.

use super::options::{HeadOrder, ScatterOptions};
use crate::{
    analysis::{
        Space,
        projection::{ColorBy, Dims, LayoutMethod, LayoutOptions, ProjectionOptions, ScaleChoice, SizeBy},
    },
    figure::views::ViewScope,
    options::{FieldValue, OptionField, Visit, choose_with, in_window, one_of, put},
    projection::Metric,
};

impl ScatterOptions {
    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        self.visit_canvas(scope, visit);
        self.visit_marks(scope, visit);
        visit_scaling(&mut self.projection, scope, visit);
        visit_layout(&mut self.projection.layout, visit);
    }

    /// What the points are, and what is drawn beside them.
    fn visit_canvas(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let mut space = self.projection.space;
        let meaning = if scope.all {
            "Of qk-map and qk-maps: points: qk (queries with keys), values, residual (tokens before each layer; the layer \
             after the last one is the final stream), positions (of the model, without an input)"
        } else {
            space.meaning()
        };
        let spaces = Space::ALL.map(|space| (space, space.name(), space.title()));
        choose_with(visit, ("space", "Points are", meaning), &mut space, &spaces, |field| {
            field.placeholder("WHAT").strict().heading("Canvas")
        });
        if space != self.projection.space {
            self.choose_space(space);
        }
        if space != Space::Positions {
            let label = if space.is_per_head() { "Sort heads by" } else { "Sort layers by" };
            let orders = orders(space, scope.is_ranked);
            let words = ("order", label, "Order of the maps on the canvas");
            choose_with(visit, words, &mut self.order, &orders, in_window);
        }
        let meaning = "How many points lie where, for crowds too dense for single points";
        visit(flag("density", "Density instead of points", meaning, &mut self.density));
        let meaning = "As many as there is room for, beside their points";
        let obstacle = self.density || self.clusters;
        let obstacle = obstacle.then(|| "Not together with density or names of clusters".to_owned());
        visit(flag("labels", "Texts of tokens", meaning, &mut self.labels).unless(obstacle));
        if space.is_joint() {
            let meaning =
                "From each query of the shown input to its two strongest keys, if their weight is at least 0.05";
            visit(flag("lines", "Lines of every query", meaning, &mut self.lines).unless(scope.no_lines.clone()));
        }
        let meaning = "Clusters of the selected head, named by the token that is most over-represented in them";
        visit(flag("clusters", "Names of clusters", meaning, &mut self.clusters));
    }

    /// What colours and sizes tell.
    fn visit_marks(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let (color, size, space) = (&mut self.color, &mut self.size, self.projection.space);
        let name = ColorBy::ALL.into_iter().find(|(by, ..)| by == color).map_or("", |(_, name, ..)| name);
        let mut read = |text: &str| {
            put(color, ColorBy::from_name(text).ok_or_else(|| one_of(ColorBy::ALL.map(|(_, name, ..)| name))))
        };
        let meaning = "Colours of points: type (query or key), position, modulo, kind, length, frequency, norm";
        let field = OptionField::new("color_by", "Colours of points", meaning, FieldValue::Text(name, &mut read));
        visit(field.placeholder("WHAT").strict().on_command_line());
        let sizes = SizeBy::CHOICES;
        let meaning = "Sizes of points: same, norm, value-norm, received";
        let Some(cloud) = scope.cloud else {
            if scope.all {
                let words = ("size_by", "Size of points", meaning);
                choose_with(visit, words, size, &sizes, |field| field.placeholder("WHAT").strict());
            }
            return;
        };
        let obstacle = self.density.then(|| "Density shows how many points there are, not their colours".to_owned());
        let mut named = ColorBy::choices(cloud, space, scope.cell.stack);
        // What was chosen for other points stays to be seen.
        if named.iter().all(|(by, _)| by != color) {
            named.push((*color, color.text().to_owned()));
        }
        let choices: Vec<_> = named.iter().map(|(by, text)| (*by, text.as_str(), text.as_str())).collect();
        let words = ("color_by", "Colour of points", "Property of a token that colours its points");
        choose_with(visit, words, color, &choices, |field| {
            field.in_window().heading("Points").unless(obstacle.clone())
        });
        let missing = sizes.map(|(by, ..)| by.missing(cloud, space, scope.cell)).to_vec();
        choose_with(visit, ("size_by", "Size of points", meaning), size, &sizes, |field| {
            field.in_window().unless(obstacle).unless_each(missing)
        });
    }
}

/// Whether something is drawn.
fn flag<'a>(name: &'static str, label: &'static str, meaning: &'static str, on: &'a mut bool) -> OptionField<'a> {
    OptionField::new(name, label, meaning, FieldValue::Flag(on)).in_window()
}

/// Shows how queries and keys are brought into one space.
pub fn visit_scaling(projection: &mut ProjectionOptions, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
    if !projection.space.is_joint() && !scope.all {
        return;
    }
    let ProjectionOptions { scale, translate_keys, .. } = projection;
    let fixed = if let ScaleChoice::Fixed(_) = scale { *scale } else { ScaleChoice::Fixed(1.0) };
    let choices = [
        (ScaleChoice::Auto, "auto", "Equal norms"),
        (ScaleChoice::Search, "search", "Best correlation"),
        (ScaleChoice::None, "none", "As given"),
        (fixed, "fixed", "Fixed"),
    ];
    let meaning = "Scale c, by which queries are divided and keys multiplied; weights do not change";
    choose_with(visit, ("scale_by", "Scale c", meaning), scale, &choices, |field| {
        field.in_window().heading("Scaling of queries and keys")
    });
    if let ScaleChoice::Fixed(c) = scale {
        let field = OptionField::new("scale_c", "Fixed c", meaning, FieldValue::Small(c, 0.1..=10.0));
        visit(field.in_window().settles());
    }
    let meaning = "All keys are moved by one vector; weights do not change";
    let value = FieldValue::Flag(translate_keys);
    visit(OptionField::new("translate_keys", "Move the mean key onto the mean query", meaning, value).in_window());
}

/// Shows how the points come into the plane, and what that depends on.
fn visit_layout(layout: &mut LayoutOptions, visit: &mut Visit<'_>) {
    let methods = [
        (LayoutMethod::Pca, "pca", "Principal components"),
        (LayoutMethod::Tsne, "tsne", "t-SNE"),
        (LayoutMethod::Umap, "umap", "UMAP"),
    ];
    let meaning = "How points are laid out: principal components are exact, t-SNE and UMAP keep neighbours together";
    let words = ("method", "Method", meaning);
    choose_with(visit, words, &mut layout.method, &methods, |field| field.in_window().heading("Layout"));
    let dims = [(Dims::Plane, "2", "In the plane"), (Dims::Space, "3", "In space")];
    let meaning = "Two dimensions, or three that dragging turns";
    choose_with(visit, ("dims", "Points lie", meaning), &mut layout.dims, &dims, in_window);
    if !layout.is_refined() {
        return;
    }
    let metrics = [(Metric::Euclidean, "euclidean", "Euclidean"), (Metric::Cosine, "cosine", "Cosine")];
    let meaning = "How t-SNE and UMAP measure distances";
    choose_with(visit, ("metric", "Distance", meaning), &mut layout.metric, &metrics, in_window);
    let mut number = |name, label, meaning, value| {
        visit(OptionField::new(name, label, meaning, value).in_window().settles());
    };
    if layout.method == LayoutMethod::Tsne {
        let meaning = "Number of neighbours each point keeps close, roughly";
        number("perplexity", "Perplexity", meaning, FieldValue::Number(&mut layout.perplexity, 2.0..=500.0));
        let meaning = "Total number of steps; the layout is shown as it develops";
        number("iterations", "Iterations", meaning, FieldValue::Whole(&mut layout.iterations, 50..=10_000));
    } else {
        let meaning = "Points that each one is compared with: few show detail, many show the whole";
        number("neighbors", "Neighbours", meaning, FieldValue::Whole(&mut layout.neighbors, 2..=500));
        let meaning = "Smallest distance between points";
        number("min_dist", "Least distance", meaning, FieldValue::Number(&mut layout.min_dist, 0.0..=1.0));
    }
    number("seed", "Seed", "The same seed gives the same picture", FieldValue::Seed(&mut layout.seed));
}

/// What heads, or layers, can be sorted by.
fn orders(space: Space, is_ranked: bool) -> Vec<(HeadOrder, &'static str, &'static str)> {
    let plain = if space.is_per_head() { "Layer and head" } else { "Layer" };
    let mut orders =
        vec![(HeadOrder::Layer, "layer", plain), (HeadOrder::Explained, "explained", "Explained variance")];
    if space.is_joint() {
        orders.insert(1, (HeadOrder::Correlation, "correlation", "Correlation"));
        orders.push((HeadOrder::Scale, "scale", "Difference of norms"));
    }
    if is_ranked {
        orders.push((HeadOrder::Hits, "hits", "Hits of the search"));
    }
    orders
}

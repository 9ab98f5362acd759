//! Tables of the views.

use std::borrow::Cow;

use super::{DataColumn, DataValues, Table};
use crate::{
    analysis::{
        PointCloud, Space,
        projection::HeadProjection,
        reading::{
            ReadPattern, Source,
            pairs::{Link, Links},
        },
    },
    capture::{Capture, words},
    figure::views::{
        heads::HeadLines,
        image::{ImageScene, flows::Flows, stream::StreamValues, weights::PatchRole},
    },
    ids::{HeadId, StackKind},
};

/// Which heads the weights of a pattern come from.
fn heads_of(read: &ReadPattern) -> (String, String) {
    let list = |mut numbers: Vec<usize>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
    };
    let layers = read.heads.iter().map(|head| head.layer).collect();
    (list(layers), list(read.heads.iter().map(|head| head.head).collect()))
}

/// Rows of cells of patterns.
#[derive(Default)]
struct CellRows {
    stack: Vec<String>,
    layer: Vec<String>,
    head: Vec<String>,
    query: Vec<u32>,
    query_text: Vec<String>,
    key: Vec<u32>,
    key_text: Vec<String>,
    value: Vec<f32>,
    /// What the values are called; nothing while there is none.
    name: Option<Cow<'static, str>>,
}

impl CellRows {
    fn push(&mut self, read: &ReadPattern, (layer, head): &(String, String), row: usize, col: usize) {
        let (Some(query), Some(key)) = (read.rows.position(row), read.cols.position(col)) else { return };
        let Some(value) = read.value(row, col) else { return };
        self.stack.push(read.stack.name().to_owned());
        self.layer.push(layer.clone());
        self.head.push(head.clone());
        self.query.push(read.rows.place(query) as u32);
        self.query_text.push(read.rows.text(row).to_owned());
        self.key.push(key as u32);
        self.key_text.push(read.cols.text(col).to_owned());
        self.value.push(value);
        self.name = Some(read.value_name());
    }

    fn table(self) -> Table {
        let columns = vec![
            DataColumn::new("stack", DataValues::Text(self.stack)),
            DataColumn::new("layer", numbers_or_text(self.layer)),
            DataColumn::new("head", numbers_or_text(self.head)),
            DataColumn::new("query", DataValues::Index(self.query)),
            DataColumn::new("query_text", DataValues::Text(self.query_text)),
            DataColumn::new("key", DataValues::Index(self.key)),
            DataColumn::new("key_text", DataValues::Text(self.key_text)),
            DataColumn::new(self.name.unwrap_or("weight".into()), DataValues::Number(self.value)),
        ];
        Table::of(columns)
    }
}

/// Numbers where every value is one; several heads taken together stay a list.
fn numbers_or_text(values: Vec<String>) -> DataValues {
    let numbers: Option<Vec<u32>> = values.iter().map(|value| value.parse().ok()).collect();
    numbers.map_or(DataValues::Text(values), DataValues::Index)
}

/// One row per line that is drawn: by head, query, key.
pub fn heads(heads: &[HeadLines]) -> Table {
    let mut cells = CellRows::default();
    for head in heads {
        let names = heads_of(&head.read);
        for edge in &head.set.edges {
            cells.push(&head.read, &names, edge.query as usize, edge.key as usize);
        }
    }
    cells.table()
}

/// One row per cell that shows a weight.
pub fn heatmap(read: &ReadPattern) -> Table {
    let (mut cells, names) = (CellRows::default(), heads_of(read));
    for row in 0..read.rows.len() {
        for col in 0..read.cols.len() {
            if read.blank(row, col).is_none() {
                cells.push(read, &names, row, col);
            }
        }
    }
    cells.table()
}

/// The cells of one query, one row per key that shows a weight.
pub fn of_query(read: &ReadPattern, row: usize) -> Table {
    let (mut cells, names) = (CellRows::default(), heads_of(read));
    for col in (0..read.cols.len()).filter(|&col| read.blank(row, col).is_none()) {
        cells.push(read, &names, row, col);
    }
    cells.table()
}

/// The cells of one key, one row per query that shows a weight.
pub fn of_key(read: &ReadPattern, col: usize) -> Table {
    let (mut cells, names) = (CellRows::default(), heads_of(read));
    for row in (0..read.rows.len()).filter(|&row| read.blank(row, col).is_none()) {
        cells.push(read, &names, row, col);
    }
    cells.table()
}

/// One cell: its weight with the score before softmax, where the pattern is of one head, and the weight's rank
/// among the keys of its query. Without a row where nothing is shown.
pub fn pair(read: &ReadPattern, capture: &Capture, (row, col): (usize, usize)) -> Table {
    let mut cells = CellRows::default();
    if read.blank(row, col).is_none() {
        cells.push(read, &heads_of(read), row, col);
    }
    let mut table = cells.table();
    if table.is_empty() {
        return table;
    }
    if read.heads.len() == 1 && !read.signed && read.explained().is_none() {
        let score = read.score(capture, (row, col)).unwrap_or(f32::NAN);
        table.columns.push(DataColumn::new("score", DataValues::Number(vec![score])));
    }
    if let Some((rank, n)) = read.rank(row, col) {
        table.columns.push(DataColumn::new("rank", DataValues::Index(vec![rank as u32])));
        table.columns.push(DataColumn::new("of", DataValues::Index(vec![n as u32])));
    }
    table
}

/// Every head by what it gives to a pair, strongest first.
pub fn links(links: &Links) -> Table {
    let of =
        |number: fn(&Link) -> usize| DataValues::Index(links.heads.iter().map(|link| number(link) as u32).collect());
    let [weight, average] = if links.source == Source::ByValueNorm {
        ["weight_by_value_norm", "average_by_value_norm"]
    } else {
        ["weight", "average"]
    };
    Table::of([
        ("layer", of(|link| link.head.layer)),
        ("head", of(|link| link.head.head)),
        ("query_text", DataValues::Text(vec![links.query.clone(); links.heads.len()])),
        ("key_text", DataValues::Text(vec![links.key.clone(); links.heads.len()])),
        (weight, DataValues::Number(links.heads.iter().map(|link| link.weight).collect())),
        ("rank", of(|link| link.rank)),
        ("of", of(|link| link.n_keys)),
        (average, DataValues::Number(links.heads.iter().map(|link| link.average.unwrap_or(f32::NAN)).collect())),
    ])
}

/// Left, top, right and bottom of the regions of a picture in its pixels, empty for tokens before them.
fn region_edges(scene: &ImageScene, n: usize) -> Vec<DataColumn> {
    let Some(regions) = &scene.image.regions else { return Vec::new() };
    let edge = |(nth, name): (usize, &'static str)| {
        let at = |position: usize| {
            let region = position.checked_sub(scene.image.n_prefix).and_then(|region| regions.get(region));
            region.map_or_else(String::new, |region| region[nth].to_string())
        };
        DataColumn::new(name, numbers_or_text((0..n).map(at).collect()))
    };
    ["x0", "y0", "x1", "y1"].into_iter().enumerate().map(edge).collect()
}

/// One row per token of the picture: what is drawn on it.
pub fn image(scene: &ImageScene) -> Table {
    if let Some((filter, _)) = scene.flows {
        return flows(&scene.read, &Flows::of(&scene.read, &scene.image, filter));
    }
    let n = scene.image.n_prefix + scene.image.grid.0 * scene.image.grid.1;
    let (layer, head) = heads_of(&scene.read);
    let n_cols = scene.image.grid.1.max(1);
    let place = |at: usize| {
        let patch = at.checked_sub(scene.image.n_prefix);
        patch.map_or((String::new(), String::new()), |patch| {
            ((patch / n_cols).to_string(), (patch % n_cols).to_string())
        })
    };
    let (rows, cols): (Vec<_>, Vec<_>) = (0..n).map(place).unzip();
    let edges = region_edges(scene, n);
    let role = if scene.picked.1 == PatchRole::Query { "key" } else { "query" };
    let mut columns = vec![
        DataColumn::new("stack", DataValues::Text(vec![scene.read.stack.name().to_owned(); n])),
        DataColumn::new("layer", numbers_or_text(vec![layer; n])),
        DataColumn::new("head", numbers_or_text(vec![head; n])),
        DataColumn::new("role", DataValues::Text(vec![role.to_owned(); n])),
        DataColumn::new("position", DataValues::Index((0..n as u32).collect())),
        DataColumn::new(
            "text",
            DataValues::Text((0..n).map(|at| scene.names.get(at).cloned().unwrap_or_default()).collect()),
        ),
    ];
    if edges.is_empty() {
        columns.extend([DataColumn::new("row", numbers_or_text(rows)), DataColumn::new("col", numbers_or_text(cols))]);
    }
    columns.extend(edges);
    match scene.stream.as_ref().map(|stream| &stream.values) {
        None => {
            let name = scene.picked.0.value_name(&scene.read);
            columns.push(DataColumn::new(name, DataValues::Number(scene.weights())));
        }
        Some(StreamValues::Norms(norms)) => {
            columns.push(DataColumn::new("norm", DataValues::Number(norms.norms.clone())));
        }
        Some(StreamValues::Components(components)) => {
            // Tokens before the patches have none.
            let before = std::iter::repeat_n(f32::NAN, scene.image.n_prefix);
            columns.extend(["component_1", "component_2", "component_3"].into_iter().enumerate().map(
                |(axis, name)| {
                    let places = components.places.iter().map(|place| place[axis]);
                    DataColumn::new(name, DataValues::Number(before.clone().chain(places).collect()))
                },
            ));
        }
    }
    Table::of(columns)
}

/// One row per arrow that is drawn: by query, then key.
fn flows(read: &ReadPattern, flows: &Flows) -> Table {
    let (mut cells, names) = (CellRows::default(), heads_of(read));
    let mut drawn: Vec<_> = flows.drawn.iter().map(|flow| (flow.query, flow.key)).collect();
    drawn.sort_unstable();
    for (query, key) in drawn {
        if let (Some(row), Some(col)) = (read.rows.group_of(query), read.cols.group_of(key)) {
            cells.push(read, &names, row, col);
        }
    }
    cells.table()
}

/// One row per point: of each plane the queries, then the keys, with the tokens that they stand for. Where cells are
/// no heads there is none to name; the layer after the last one is the final residual stream.
pub fn points<'a>(
    planes: impl IntoIterator<Item = &'a HeadProjection>,
    cloud: &PointCloud,
    (stack, space): (StackKind, Space),
) -> Table {
    let tokens = space.sides(stack).map(|side| side.map_or_else(Vec::new, |side| cloud.tokens(side).collect()));
    let names = [false, true].map(|is_key| space.kind_of(is_key).to_lowercase());
    let (mut stack, mut layer, mut head) = (Vec::new(), Vec::new(), Vec::new());
    let (mut kind, mut input, mut position, mut text) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut x, mut y, mut z) = (Vec::new(), Vec::new(), Vec::new());
    for plane in planes {
        let HeadId { stack: of, layer: l, head: h } = plane.head;
        for (name, points, tokens) in [(&names[0], &plane.queries, &tokens[0]), (&names[1], &plane.keys, &tokens[1])] {
            for (&[px, py, pz], token) in points.iter().zip(tokens) {
                stack.push(of.name().to_owned());
                layer.push(l as u32);
                head.push(h as u32);
                kind.push(name.clone());
                input.push(token.input as u32);
                position.push(token.position as u32);
                text.push(words::shown(token.text, token.position));
                x.push(px);
                y.push(py);
                z.push(pz);
            }
        }
    }
    let stack = DataColumn::new("stack", DataValues::Text(stack));
    let layer = (space != Space::Positions).then(|| DataColumn::new("layer", DataValues::Index(layer)));
    let head = space.is_per_head().then(|| DataColumn::new("head", DataValues::Index(head)));
    let columns = vec![
        DataColumn::new("kind", DataValues::Text(kind)),
        DataColumn::new("position", DataValues::Index(position)),
        DataColumn::new("text", DataValues::Text(text)),
        DataColumn::new("x", DataValues::Number(x)),
        DataColumn::new("y", DataValues::Number(y)),
    ];
    // In the plane there is no third coordinate, and one input needs no number.
    let depth = z.iter().any(|z| *z != 0.0).then(|| DataColumn::new("z", DataValues::Number(z)));
    let input = (cloud.n_inputs() > 1).then(|| DataColumn::new("input", DataValues::Index(input)));
    let cell = [Some(stack), layer, head].into_iter().flatten();
    Table::of(cell.chain(columns).chain(depth).chain(input))
}

/// A number of a part of a view: the part, what the number is of, its row and column, and the number.
pub type PartRow = (&'static str, String, usize, usize, f64);

/// The numbers of a view of parts.
pub fn parts(rows: &[PartRow]) -> Table {
    let index = |of: fn(&PartRow) -> usize| DataValues::Index(rows.iter().map(|row| of(row) as u32).collect());
    let columns = vec![
        DataColumn::new("part", DataValues::Text(rows.iter().map(|row| row.0.to_owned()).collect())),
        DataColumn::new("name", DataValues::Text(rows.iter().map(|row| row.1.clone()).collect())),
        DataColumn::new("row", index(|row| row.2)),
        DataColumn::new("column", index(|row| row.3)),
        DataColumn::new("value", DataValues::Number(rows.iter().map(|row| row.4 as f32).collect())),
    ];
    Table::of(columns)
}

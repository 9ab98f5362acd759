//! A page for a browser: one file that needs no other and no network, with every recorded head and what reads them.
//!
//! The picture is drawn there, by `page.js` from the numbers in the page, with the colours and the words of the window.
//! Weights are whole numbers of two bytes between the smallest and the largest of their head, a step being at most
//! 1/65,534 of that range; those of a layer are deflated together and unpacked when they are looked at.

mod planes;

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::Value;

use self::planes::{Chunk, Stacks};
use super::{
    ViewKind,
    spec::{self, FigureError, FigureInput, FigureSpec, ResolvedSpec},
    views::{
        grid::{self, CellsAs},
        heads_text,
    },
};
use crate::{
    capture::Capture,
    ids::HeadId,
    style::{N_HUES, Palette, Rgba},
    text::counted,
};

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The ending of its file name.
pub const ENDING: &str = "html";

/// What the script draws from. Its fields are those of `data` there.
#[derive(Serialize)]
struct Data<'a> {
    title: String,
    caption: String,
    provenance: Value,
    views: Vec<Tab>,
    theme: &'static str,
    start: Start,
    /// What a number is called.
    value: String,
    signed: bool,
    /// The value of the last colour where heads share it.
    high: Option<f32>,
    palettes: Palettes,
    arranged: Option<Arranged>,
    #[serde(flatten)]
    stacks: &'a Stacks,
}

#[derive(Serialize)]
struct Tab {
    name: &'static str,
    label: &'static str,
}

/// Where heads stand in the view of all heads, where they are sorted or grouped.
#[derive(Serialize)]
struct Arranged {
    stack: usize,
    cols: usize,
    /// By what, in words.
    by: String,
    /// Row by row: layer and head by their places in the lists of the stack, and a title.
    cells: Vec<Option<(usize, usize, String)>>,
    /// Rows with a heading above them.
    headings: Vec<(usize, String)>,
}

impl Arranged {
    fn of(resolved: &ResolvedSpec<'_>, stacks: &Stacks, heads: &[HeadId]) -> Result<Option<Self>, FigureError> {
        let places = grid::places_of(resolved)?;
        let known = |head: &HeadId| heads.contains(head).then(|| stacks.place(*head));
        let Some(stack) = places.heads().find_map(|(head, _)| Some(known(&head)?[0])).filter(|_| !places.by_layer)
        else {
            return Ok(None);
        };
        let cell = |cell: &Option<(HeadId, Option<f32>)>| {
            let (head, score) = (*cell)?;
            let [_, layer, at] = known(&head)?;
            Some((layer, at, grid::title(head, score)))
        };
        Ok(Some(Self {
            stack,
            cols: places.n_cols,
            by: resolved.spec.options.grid.words(),
            cells: places.cells.iter().map(cell).collect(),
            headings: places.groups.iter().map(|group| (group.first_row, group.title.clone())).collect(),
        }))
    }
}

/// What the page opens with, by places in its lists.
#[derive(Serialize)]
struct Start {
    view: &'static str,
    stack: usize,
    layer: usize,
    head: usize,
    /// Heads of the layer whose lines are drawn as well.
    also: Vec<usize>,
    query: Option<usize>,
    /// What the cells of all heads are drawn as.
    cells: &'static str,
}

#[derive(Serialize)]
struct Palettes {
    light: Colours,
    dark: Colours,
}

/// Colours of one appearance.
#[derive(Serialize)]
struct Colours {
    ground: [u8; 3],
    /// Of pairs that have no weight.
    blank: [u8; 3],
    heads: Vec<String>,
    /// 256 steps of three bytes.
    map: String,
}

/// Whether a file of this name is a page.
pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ENDING))
}

/// The page as bytes of a file: all heads that were recorded, as the reading of `spec` has them; those of its layers
/// alone where all are more than a page holds. It opens with the view, the first head and the query of `spec`.
///
/// # Errors
/// When nothing was recorded, a reading cannot be made of single heads, or there are too many weights for a page.
pub fn page(spec: &FigureSpec, subject: FigureInput<'_>) -> Result<Vec<u8>, FigureError> {
    let view = tab(spec.view).ok_or_else(|| {
        let names = ViewKind::names(|view| view.facts().is_on_pages);
        FigureError::Usage(format!("a page for a browser holds {names}: {} is none of them", spec.view.name()))
    })?;
    if spec.together.is_some() || spec.is_sheet() {
        let message = "a page shows every head for itself: leave out --aggregate and --sheet".to_owned();
        return Err(FigureError::Usage(message));
    }
    let cells = spec.options.grid.cells();
    if cells == CellsAs::Overlay {
        let message = "a page holds no picture: draw its cells as heatmap or lines (--cells), or a figure".to_owned();
        return Err(FigureError::Usage(message));
    }
    let resolved = ResolvedSpec::new(spec, subject)?;
    let (stacks, chunks) = planes::read(&resolved)?;
    let heads = stacks.heads();
    let chosen = resolved.ids()?;
    let chosen = if spec.heads.is_empty() { &chosen[..chosen.len().min(1)] } else { &chosen };
    let places: Vec<[usize; 3]> = chosen.iter().map(|head| stacks.place(*head)).collect();
    let [stack, layer, head] = places.first().copied().unwrap_or_default();
    let also = places.iter().skip(1).filter(|place| place[..2] == [stack, layer]).map(|place| place[2]).collect();
    // The order belongs to the view of all heads.
    let arranged = if spec.view == ViewKind::OF_HEADS { Arranged::of(&resolved, &stacks, &heads)? } else { None };
    let data = Data {
        arranged,
        title: title(subject.captures.this),
        caption: caption(&resolved, &heads, &stacks),
        provenance: spec::provenance(spec, subject, &[heads_text(&heads)], None),
        views: ViewKind::ALL.into_iter().filter_map(tab).collect(),
        theme: if spec.paper.dark { "dark" } else { "light" },
        start: Start { view: view.name, stack, layer, head, also, query: spec.query, cells: cells.name() },
        value: stacks.value.clone(),
        signed: stacks.signed,
        high: stacks.shares_scale.then_some(1.0),
        palettes: Palettes { light: colours(&Palette::LIGHT, spec), dark: colours(&Palette::DARK, spec) },
        stacks: &stacks,
    };
    let json = serde_json::to_string(&data).map_err(|error| FigureError::Failed(error.to_string()))?;
    let plane = |(id, bytes): Chunk| {
        format!("<script type=\"text/plain\" id=\"plane-{id}\">{}</script>", STANDARD.encode(bytes))
    };
    let planes: Vec<String> = chunks.into_iter().map(plane).collect();
    let style =
        [(":root", Palette::LIGHT), (":root[data-theme=\"dark\"]", Palette::DARK)].map(variables).concat() + STYLE;
    let fields = [
        ("{{title}}", escaped(&data.title)),
        ("{{style}}", style),
        // The end of the element in which it stands must not be read in a text.
        ("{{data}}", json.replace('<', "\\u003c")),
        ("{{planes}}", planes.join("\n")),
        ("{{script}}", SCRIPT.to_owned()),
    ];
    Ok(filled(FRAME, fields).into_bytes())
}

fn tab(view: ViewKind) -> Option<Tab> {
    view.facts().is_on_pages.then(|| Tab { name: view.name(), label: view.label() })
}

/// The template with each field in the place of its name, in the order in which they stand there.
fn filled<const N: usize>(template: &str, fields: [(&str, String); N]) -> String {
    let mut out = String::with_capacity(template.len() + fields.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    for (name, text) in fields {
        let (before, after) = rest.split_once(name).unwrap_or((rest, ""));
        out.push_str(before);
        out.push_str(&text);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn title(capture: &Capture) -> String {
    let input = capture.input();
    let read = [&input.text, &input.image, &input.target].into_iter().flatten().next();
    let model = &capture.model().name;
    read.map_or_else(|| format!("Attention of {model}"), |read| format!("{model}: {}", shortened(read)))
}

/// Characters of the input in a title.
const TITLE_CHARS: usize = 80;

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(TITLE_CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

/// What must be known of the page: which heads it has, what is not shown, the caveat, model and input.
fn caption(resolved: &ResolvedSpec<'_>, heads: &[HeadId], stacks: &Stacks) -> String {
    let about = resolved.about(heads.to_vec());
    let n_layers = stacks.n_layers();
    let held = format!("{} of {}", counted(heads.len(), "head"), counted(n_layers, "layer"));
    let parts = [held, stacks.hidden.clone().unwrap_or_default(), about.caveat, about.origin.full];
    let said = parts.iter().filter(|part| !part.is_empty()).map(|part| format!("{}.", part.trim_end_matches('.')));
    said.collect::<Vec<_>>().join(" ")
}

fn colours(palette: &Palette, spec: &FigureSpec) -> Colours {
    let opaque = |[red, green, blue, _]: Rgba| [red, green, blue];
    Colours {
        ground: opaque(palette.canvas),
        blank: opaque(palette.raised),
        heads: (0..N_HUES).map(|head| hex(palette.head(head))).collect(),
        map: STANDARD.encode(spec.drawn_map().on(palette.ground).table().map(opaque).as_flattened()),
    }
}

fn hex([red, green, blue, _]: Rgba) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colours that the style sheet names.
fn variables((selector, palette): (&str, Palette)) -> String {
    let Palette {
        canvas,
        panel,
        hover,
        rule,
        edge,
        text,
        text_weak,
        accent,
        accent_ground,
        query,
        key,
        plus,
        minus,
        ..
    } = palette;
    let named = [
        ("canvas", canvas),
        ("panel", panel),
        ("hover", hover),
        ("rule", rule),
        ("edge", edge),
        ("text", text),
        ("text-weak", text_weak),
        ("accent", accent),
        ("accent-ground", accent_ground),
        ("query", query),
        ("key", key),
        ("plus", plus),
        ("minus", minus),
    ];
    let lines: Vec<String> = named.iter().map(|(name, color)| format!("--{name}: {};", hex(*color))).collect();
    format!("{selector} {{ {} }}\n", lines.join(" "))
}

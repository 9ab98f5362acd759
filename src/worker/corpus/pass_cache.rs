//! Passes of a corpus on disk, so that a job that was stopped or killed goes on where it was.
//!
//! A part is one pass: what was read, its tokens, queries and keys, and the inputs that were left out. Parts stand
//! under a key of everything that decides about their numbers; annotations come from the list.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    ops::Range,
    sync::Arc,
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::{
    capture::{
        Capture, CaptureParts, Computation, CropRect, ImageInfo, InputInfo, LayerCapture, Matrix, PerHead, Prediction,
        PredictionItem, PredictionRow, RgbaBuffer, Site, SiteValues, StackCapture, TextPart, Token,
    },
    corpus::{
        list::{Content, InputList},
        small_picture,
    },
    ids::{Side, StackKind},
    model::{Model, kernels::KernelPath, next_capture_id},
    outputs::OutputKind,
    protocol::CorpusOptions,
    spec::HeadKind,
    worker::disk_cache::{CacheKey, DiskCache, Fingerprint},
};

/// How parts are written; another number makes all old ones unknown.
const FORMAT: u32 = 5;

/// Where the passes of one corpus are kept.
#[derive(Clone, Debug)]
pub struct PassCache {
    scratch: DiskCache,
    key: CacheKey,
    /// The number of the next one.
    next: usize,
}

/// What came of one pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// Places in the list, with what came of them.
    pub inputs: Vec<(usize, Capture)>,
    /// Those of which nothing came.
    pub left_out: Vec<Failed>,
}

/// An input of which nothing came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    pub source: usize,
    pub reason: String,
    /// Whether it was run, or could not even be made ready.
    pub was_run: bool,
}

/// A key with the inputs of a list: texts themselves, of pictures the path, the size and the time of the last change.
pub(super) fn with_inputs(key: Fingerprint, list: &InputList) -> Fingerprint {
    list.items.iter().fold(key, |key, item| match &item.content {
        Content::Text(text) => key.and(b"text").and(text.as_bytes()),
        Content::Grouped(grouped) => key.and(b"grouped").and(grouped.to_string().as_bytes()),
        Content::BundledPicture(name) => key.and(b"bundled").and(name.as_bytes()),
        Content::Picture(path) => {
            key.and(b"picture").and(path.as_os_str().as_encoded_bytes()).and(&stamp(fs::metadata(path)))
        }
    })
}

impl PassCache {
    /// Of a list that goes through a model known as `identity`.
    pub fn new(
        scratch: &DiskCache,
        identity: &Fingerprint,
        model: &Model,
        list: &InputList,
        how: &CorpusOptions,
    ) -> Self {
        let CorpusOptions { layers, kept, first: _, pack_tokens } = how;
        let number = |n: usize| (n as u64).to_le_bytes();
        let mut key = identity.clone().and(&FORMAT.to_le_bytes()).and(&program());
        key = key.and(model.engine().device_name().as_bytes()).and(&number(model.engine().n_threads()));
        key =
            key.and(format!("{:?} {layers:?} {kept:?}", KernelPath::supported()).as_bytes()).and(&number(*pack_tokens));
        Self { scratch: scratch.clone(), key: with_inputs(key, list).key(), next: 0 }
    }

    /// Why passes cannot be kept, the first time that anybody asks.
    pub fn trouble(&self) -> Option<String> {
        self.scratch.trouble()
    }

    /// The next pass, if it is there already.
    pub fn recall(&mut self, model: &Model) -> Option<Pass> {
        let pass = decode(&self.scratch.read_part(&self.key, self.next)?, model)?;
        self.next += 1;
        Some(pass)
    }

    /// The next pass, if it is there already and one of just these inputs.
    pub fn recall_of(&mut self, sources: &[usize], model: &Model) -> Option<Pass> {
        let before = self.next;
        let pass = self.recall(model)?;
        let same = pass.sources().eq(sources.iter().copied().collect::<BTreeSet<_>>());
        if !same {
            self.next = before;
        }
        Some(pass).filter(|_| same)
    }

    /// Keeps a pass behind those that are there.
    pub fn keep(&mut self, pass: &Pass) {
        if let Some(bytes) = encode(pass) {
            self.scratch.write_part(&self.key, self.next, &bytes);
            self.next += 1;
        }
    }
}

impl Pass {
    /// The inputs that were run, in the order of the list.
    fn sources(&self) -> impl Iterator<Item = usize> {
        let failed = self.left_out.iter().filter(|left_out| left_out.was_run).map(|left_out| left_out.source);
        self.inputs.iter().map(|(source, _)| *source).chain(failed).collect::<BTreeSet<_>>().into_iter()
    }
}

/// This program: its version, and which build of it.
fn program() -> Vec<u8> {
    let build = env::current_exe().and_then(fs::metadata);
    [env!("CARGO_PKG_VERSION").as_bytes(), &stamp(build)].concat()
}

/// Size and time of the last change.
fn stamp(metadata: std::io::Result<fs::Metadata>) -> Vec<u8> {
    let Ok(metadata) = metadata else { return Vec::new() };
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    [&metadata.len().to_le_bytes()[..], &changed.unwrap_or_default().as_nanos().to_le_bytes()].concat()
}

/// What stands before the numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    inputs: Vec<KeptInput>,
    left_out: Vec<Failed>,
}

#[derive(Serialize, Deserialize)]
struct KeptInput {
    source: usize,
    /// Text, second text, picture and target.
    info: [Option<String>; 4],
    part: Option<TextPart>,
    content: Option<Vec<Range<usize>>>,
    image: Option<Picture>,
    notes: Vec<String>,
    /// What the head says of the whole input.
    prediction: Option<Said>,
    tokens: Vec<(usize, Vec<Piece>)>,
    /// By stack: layer by layer, then the stream behind the last one.
    stacks: Vec<(StackKind, Vec<Shapes>, Option<[usize; 2]>)>,
}

/// Of a layer's queries, keys and values, and of the stream before it, where they were recorded.
type Shapes = ([Option<[usize; 3]>; 3], Option<[usize; 2]>);
/// Grid, tokens before it, size of a patch, crop; width and height of the small copy, where there is one.
type Picture = ((usize, usize), usize, (usize, usize), [f32; 4], Option<(usize, usize)>);
/// Kind of head and of its numbers; id, name and value of each outcome.
type Said = (HeadKind, OutputKind, Vec<(u32, String, f32)>);
/// Text, id, special, begin, end, segment, group.
type Piece = (String, Option<u32>, bool, usize, usize, u8, Option<u32>);

fn encode(pass: &Pass) -> Option<Vec<u8>> {
    let inputs = pass.inputs.iter().map(|(source, capture)| entry(*source, capture)).collect();
    let header = serde_json::to_vec(&Header { inputs, left_out: pass.left_out.clone() }).ok()?;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    for (_, capture) in &pass.inputs {
        if let Some(picture) = capture.image().and_then(|image| small_picture(image).source) {
            bytes.extend_from_slice(&picture.pixels);
        }
        for stack in capture.stacks() {
            for layer in &stack.layers {
                let per_head = [layer.q(), layer.k(), layer.v()].into_iter().flatten().map(PerHead::as_slice);
                for values in per_head.chain(layer.resid_pre().map(Matrix::as_slice)) {
                    bytes.extend_from_slice(bytemuck::cast_slice(values));
                }
            }
            bytes.extend_from_slice(bytemuck::cast_slice(stack.resid_final().map_or(&[][..], Matrix::as_slice)));
        }
    }
    Some(bytes)
}

fn entry(source: usize, capture: &Capture) -> KeptInput {
    let InputInfo { text, text_b, image, target, part, content } = capture.input().clone();
    let piece = |token: &Token| {
        let Token { text, id, special, span, segment, group, position: _ } = token.clone();
        (text, id, special, span.start, span.end, segment, group)
    };
    let tokens = Side::ALL.into_iter().enumerate().map(|(nth, side)| (nth, capture.tokens(side)));
    let tokens = tokens.filter(|(_, tokens)| !tokens.is_empty());
    let shapes = |layer: &LayerCapture| -> Shapes {
        let per_head = [layer.q(), layer.k(), layer.v()].map(|values| values.map(PerHead::shape));
        (per_head, layer.resid_pre().map(Matrix::shape))
    };
    let stacks = capture.stacks().iter();
    KeptInput {
        source,
        info: [text, text_b, image, target],
        part,
        content,
        image: capture.image().map(small_picture).map(|info| {
            let CropRect { x, y, width, height } = info.crop;
            let size = info.source.map(|picture| (picture.width, picture.height));
            (info.grid, info.n_prefix, info.patch_px, [x, y, width, height], size)
        }),
        notes: capture.notes().to_vec(),
        prediction: capture.prediction().and_then(said),
        tokens: tokens.map(|(nth, tokens)| (nth, tokens.iter().map(piece).collect())).collect(),
        stacks: stacks
            .map(|stack| {
                let end = stack.resid_final().map(Matrix::shape);
                (stack.kind, stack.layers.iter().map(shapes).collect(), end)
            })
            .collect(),
    }
}

fn said(prediction: &Prediction) -> Option<Said> {
    let row = prediction.rows.first().filter(|row| row.position.is_none())?;
    let item = |item: &PredictionItem| (item.id, item.label.clone(), item.value);
    Some((prediction.kind, prediction.outputs, row.top.iter().map(item).collect()))
}

fn prediction((kind, outputs, top): Said) -> Prediction {
    let item = |(id, label, value)| PredictionItem { id, label, value };
    let top = top.into_iter().map(item).collect();
    Prediction { kind, outputs, rows: vec![PredictionRow { position: None, top }] }
}

/// `None` when it is not what [`encode`] writes of this model.
fn decode(bytes: &[u8], model: &Model) -> Option<Pass> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok().filter(|len| *len <= rest.len())?;
    let (header, mut values) = rest.split_at(len);
    let Header { inputs, left_out } = serde_json::from_slice(header).ok()?;
    let inputs: Option<Vec<_>> =
        inputs.into_iter().map(|entry| Some((entry.source, capture(entry, &mut values, model)?))).collect();
    Some(Pass { inputs: inputs?, left_out })
}

fn image(picture: Picture, values: &mut &[u8]) -> Option<ImageInfo> {
    let (grid, n_prefix, patch_px, [x, y, width, height], size) = picture;
    let source = match size {
        Some((width, height)) => {
            let n_bytes = width.checked_mul(height)?.checked_mul(4)?;
            let (pixels, rest) = values.split_at_checked(n_bytes)?;
            *values = rest;
            Some(Arc::new(RgbaBuffer { width, height, pixels: pixels.to_vec() }))
        }
        None => None,
    };
    Some(ImageInfo { grid, regions: None, n_prefix, patch_px, crop: CropRect { x, y, width, height }, source })
}

fn capture(entry: KeptInput, values: &mut &[u8], model: &Model) -> Option<Capture> {
    let [text, text_b, name, target] = entry.info;
    let token = |(text, id, special, start, end, segment, group): Piece| {
        let span = start..end;
        Token { text, id, special, span, segment, group, position: None }
    };
    let tokens: Option<BTreeMap<Side, Vec<Token>>> = entry
        .tokens
        .into_iter()
        .map(|(nth, pieces)| Some((*Side::ALL.get(nth)?, pieces.into_iter().map(token).collect())))
        .collect();
    let image = match entry.image {
        Some(picture) => Some(image(picture, values)?),
        None => None,
    };
    let mut stacks = Vec::with_capacity(entry.stacks.len());
    for (kind, layers, end) in entry.stacks {
        let layers: Option<Vec<LayerCapture>> = layers.into_iter().map(|shapes| layer(shapes, values)).collect();
        let mut sites = SiteValues::default();
        if let Some(shape) = end {
            sites.set(Site::ResidFinal, Matrix::new(numbers(&shape, values)?, shape).ok()?);
        }
        stacks.push(StackCapture { kind, layers: layers?, sites, global: Vec::new() });
    }
    Capture::new(CaptureParts {
        id: next_capture_id(),
        model: Arc::clone(model.spec()),
        input: InputInfo { text, text_b, image: name, target, part: entry.part, content: entry.content },
        tokens: tokens?,
        stacks,
        image,
        logits: None,
        prediction: entry.prediction.map(prediction),
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: entry.notes,
    })
    .ok()
}

fn layer((per_head, stream): Shapes, values: &mut &[u8]) -> Option<LayerCapture> {
    let mut sites = SiteValues::default();
    for (site, shape) in [Site::Q, Site::K, Site::V].into_iter().zip(per_head) {
        if let Some(shape) = shape {
            sites.set(site, PerHead::new(numbers(&shape, values)?, shape).ok()?);
        }
    }
    if let Some(shape) = stream {
        sites.set(Site::ResidPre, Matrix::new(numbers(&shape, values)?, shape).ok()?);
    }
    Some(LayerCapture::of(sites))
}

/// So many of the numbers that follow as a shape holds.
fn numbers(shape: &[usize], values: &mut &[u8]) -> Option<Vec<f32>> {
    let n_bytes = shape.iter().try_fold(4usize, |n, size| n.checked_mul(*size))?;
    let (mine, rest) = values.split_at_checked(n_bytes)?;
    *values = rest;
    Some(mine.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect())
}

//! Made-up captures whose heads show the patterns that real models learn.
//!
//! Every pattern is the softmax of scores computed from the capture's own q and k, so every law that
//! holds for a model's capture holds here too. The same arguments always give the same values.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use attnscope::{
    capture::{
        Capture, CaptureParts, Computation, CropRect, ImageInfo, InputInfo, LayerCapture, PerHead, RgbaBuffer, Site,
        StackCapture, Token,
    },
    ids::{CaptureId, Side, StackKind},
    spec::{ImageSpec, LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

/// Width of one head's q, k and v.
pub const D_HEAD: usize = 32;

const WORDS: [&str; 12] = ["the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "so", "warm", "."];

/// What one made-up head attends to; heads take them in turn, each layer starting one further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// The token before.
    Previous,
    /// The first token.
    First,
    /// Itself.
    Diagonal,
    /// The token after an earlier copy of itself.
    Induction,
    /// A little of everything.
    Diffuse,
}

impl Habit {
    /// What head `head` of layer `layer` does.
    pub fn of(layer: usize, head: usize) -> Self {
        [Self::Previous, Self::First, Self::Diagonal, Self::Induction, Self::Diffuse][(layer + head) % 5]
    }
}

/// A bidirectional text model: `[CLS]`, words, `[SEP]`.
pub fn text_capture(n_tokens: usize, n_layers: usize, n_heads: usize) -> Capture {
    text(n_tokens, n_layers, n_heads, false)
}

/// A causal text model: words only, upper triangle masked.
pub fn causal_text_capture(n_tokens: usize, n_layers: usize, n_heads: usize) -> Capture {
    text(n_tokens, n_layers, n_heads, true)
}

/// A vision model with a CLS token, 2 layers × 5 heads and `grid` = (rows, columns) patches of 8 px, with
/// the picture it saw.
pub fn image_capture(grid: (usize, usize)) -> Capture {
    let (rows, cols) = grid;
    let mut tokens = vec![token("[CLS]", None, true, 0)];
    for row in 0..rows {
        tokens.extend((0..cols).map(|col| token(&format!("r{row} c{col}"), None, false, 0)));
    }
    // Patches of equal brightness band count as the same "word".
    let words: Vec<usize> =
        std::iter::once(usize::MAX).chain((0..rows * cols).map(|p| (p / cols) / 2 + (p % cols) / 2)).collect();
    let image = picture(grid);
    let modality = Modality::Image(ImageSpec { size_px: (rows * 8, cols * 8), patch_px: (8, 8), n_prefix: 1 });
    let input = InputInfo { image: Some("disc.png".to_owned()), ..InputInfo::default() };
    build("synthetic-vit", "vit", modality, input, tokens, &words, (2, 5), false, Some(image))
}

/// A disc on a gradient, covered by `grid` patches of 8 model pixels with a CLS token before them.
pub fn picture(grid: (usize, usize)) -> ImageInfo {
    let (rows, cols) = grid;
    let (width, height) = (cols * 16 + 8, rows * 16);
    let pixels = (0..width * height)
        .flat_map(|p| {
            let (x, y) = (p % width, p / width);
            let disc = (x as f32 - width as f32 / 2.0).hypot(y as f32 - height as f32 / 2.0) < height as f32 / 3.0;
            [(x * 255 / width) as u8, (y * 255 / height) as u8, if disc { 220 } else { 60 }, 255]
        })
        .collect();
    ImageInfo {
        grid,
        regions: None,
        n_prefix: 1,
        patch_px: (8, 8),
        crop: CropRect { x: 4.0, y: 0.0, width: (cols * 16) as f32, height: height as f32 },
        source: Some(Arc::new(RgbaBuffer { width, height, pixels })),
    }
}

fn text(n_tokens: usize, n_layers: usize, n_heads: usize, causal: bool) -> Capture {
    let mut tokens = Vec::new();
    let mut words = Vec::new();
    let mut sentence = String::new();
    for idx in 0..n_tokens {
        let special = !causal && n_tokens > 2 && (idx == 0 || idx + 1 == n_tokens);
        if special {
            tokens.push(token(if idx == 0 { "[CLS]" } else { "[SEP]" }, Some(idx as u32 % 2), true, sentence.len()));
            words.push(usize::MAX - idx);
        } else {
            let word = idx % WORDS.len();
            if !sentence.is_empty() {
                sentence.push(' ');
            }
            tokens.push(token(WORDS[word], Some(10 + word as u32), false, sentence.len()));
            sentence.push_str(WORDS[word]);
            words.push(if word == 4 { 0 } else { word });
        }
    }
    let (name, family) = if causal { ("synthetic-gpt", "gpt2") } else { ("synthetic-bert", "bert") };
    let modality = Modality::Text(TextSpec::new(n_tokens.max(512), 100));
    let input = InputInfo { text: Some(sentence), ..InputInfo::default() };
    build(name, family, modality, input, tokens, &words, (n_layers, n_heads), causal, None)
}

/// A token of a made-up text that begins at byte `start`.
pub fn token(text: &str, id: Option<u32>, special: bool, start: usize) -> Token {
    let end = if special || id.is_none() { start } else { start + text.len() };
    Token { text: text.to_owned(), id, special, span: start..end, segment: 0, group: None, position: None }
}

#[expect(clippy::too_many_arguments, reason = "one call per kind of model")]
fn build(
    name: &str,
    family: &str,
    modality: Modality,
    input: InputInfo,
    tokens: Vec<Token>,
    words: &[usize],
    (n_layers, n_heads): (usize, usize),
    causal: bool,
    image: Option<ImageInfo>,
) -> Capture {
    let n = tokens.len();
    let layer = LayerSpec::new(n_heads, D_HEAD);
    let spec = ModelSpec {
        name: name.to_owned(),
        family: family.to_owned(),
        modality,
        stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers: vec![layer; n_layers], causal }],
        d_model: n_heads * D_HEAD,
        n_params: 1_000_000,
        head: None,
        checkpoint: None,
    };
    let layers = (0..n_layers).map(|idx| layer_capture(idx, &layer, [words, words], causal)).collect();
    let id = CaptureId((n * 1_000_000 + n_layers * 1000 + n_heads * 2 + usize::from(causal)) as u64);
    Capture::new(CaptureParts {
        id,
        model: Arc::new(spec),
        input,
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { kind: StackKind::SelfAttention, layers, ..StackCapture::default() }],
        image,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

/// One layer between the words that ask and the words that answer. Heads that share their keys have one
/// habit together.
pub fn layer_capture(idx: usize, layer: &LayerSpec, words: [&[usize]; 2], causal: bool) -> LayerCapture {
    let [n_query, n_key] = words.map(<[usize]>::len);
    let (mut q, mut k, mut v, mut pattern) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut group_k = Vec::new();
    for head in 0..layer.n_heads {
        let mut random = Random((idx * 997 + head + 1) as u64);
        let (head_q, head_k) = queries_and_keys(Habit::of(idx, layer.kv_head(head)), words, &mut random);
        if head == 0 || layer.kv_head(head) != layer.kv_head(head - 1) {
            k.extend(head_k.iter().flatten().copied());
            v.extend((0..n_key * D_HEAD).map(|_| random.symmetric()));
            group_k = head_k;
        }
        for (query, q) in head_q.iter().enumerate() {
            let visible = layer.mask(causal).visible(query, n_query, n_key);
            pattern.extend(row_of_pattern(q, &group_k, layer.scale, visible));
        }
        q.extend(head_q.into_iter().flatten());
    }
    let per_head = |data: Vec<f32>, shape| PerHead::new(data, shape).unwrap();
    LayerCapture::of([
        (Site::Q, per_head(q, [layer.n_heads, n_query, D_HEAD])),
        (Site::K, per_head(k, [layer.n_kv_heads, n_key, D_HEAD])),
        (Site::V, per_head(v, [layer.n_kv_heads, n_key, D_HEAD])),
        (Site::Pattern, per_head(pattern, [layer.n_heads, n_query, n_key])),
    ])
}

/// Softmax of the visible scores of one query; the rest is masked.
fn row_of_pattern(q: &[f32], keys: &[Vec<f32>], scale: f32, visible: Range<usize>) -> Vec<f32> {
    let score = |k: &Vec<f32>| f64::from(q.iter().zip(k).map(|(a, b)| a * b).sum::<f32>() * scale);
    let scores: Vec<f64> = keys[visible.clone()].iter().map(score).collect();
    let max = scores.iter().copied().fold(f64::MIN, f64::max);
    let exps: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    let mut row = vec![0.0; keys.len()];
    row[visible].iter_mut().zip(exps).for_each(|(weight, e)| *weight = (e / sum) as f32);
    row
}

fn queries_and_keys(habit: Habit, words: [&[usize]; 2], random: &mut Random) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let [asking, answering] = words;
    let (n_query, n_key) = (asking.len(), answering.len());
    // Where both differ in length, a diagonal goes from corner to corner.
    let slope = if n_query == n_key { 1.0 } else { (n_key as f32 - 1.0) / (n_query as f32 - 1.0).max(1.0) };
    // Noise keeps rows from being exact copies of each other; an own mean keeps clouds of q and k apart.
    let mut noisy = |mut features: Vec<f32>, mean: f32| {
        for x in &mut features {
            *x += 0.15 * random.symmetric() + mean;
        }
        features
    };
    let mut q = Vec::with_capacity(n_query);
    let mut k = Vec::with_capacity(n_key);
    for position in 0..n_query.max(n_key) {
        let (query, key) = match habit {
            Habit::Previous => (place(position as f32 * slope - 1.0, 1.6), place(position as f32, 1.6)),
            Habit::Diagonal => (place(position as f32 * slope, 1.2), place(position as f32, 1.2)),
            Habit::First => (axis(0, 5.0), axis(0, if position == 0 { 5.0 } else { 0.2 })),
            Habit::Induction => {
                let before = if position == 0 { usize::MAX / 2 } else { answering[(position - 1) % n_key] };
                (word(asking[position % n_query], 1.5), word(before, 1.5))
            }
            Habit::Diffuse => (place(position as f32 * 0.1, 0.4), place(position as f32 * 0.1, 0.4)),
        };
        if position < n_query {
            q.push(noisy(query, 0.05));
        }
        if position < n_key {
            k.push(noisy(key, -0.05));
        }
    }
    (q, k)
}

/// Sines and cosines of a position: the dot product of two falls off with their distance.
fn place(position: f32, gain: f32) -> Vec<f32> {
    (0..D_HEAD)
        .map(|dim| {
            let angle = position * 2.5 * 0.8_f32.powi(dim as i32 / 2);
            gain * if dim % 2 == 0 { angle.cos() } else { angle.sin() }
        })
        .collect()
}

fn axis(dim: usize, gain: f32) -> Vec<f32> {
    (0..D_HEAD).map(|d| if d == dim { gain } else { 0.0 }).collect()
}

fn word(word: usize, gain: f32) -> Vec<f32> {
    let mut random = Random(word as u64 ^ 0x5eed);
    (0..D_HEAD).map(|_| gain * random.symmetric().signum()).collect()
}

/// `SplitMix64` (Steele et al., 2014): small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `-1..1`.
    pub fn symmetric(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

//! Made-up captures of the kinds of models that have more than one plain stack: encoder and decoder, two
//! towers, shared keys, sliding windows, pairs of sentences.

use std::{collections::BTreeMap, sync::Arc};

use attnscope::{
    capture::{
        Capture, CaptureParts, Computation, Generated, ImageInfo, InputInfo, PredictionItem, StackCapture, Token,
    },
    ids::{CaptureId, Side, StackKind},
    spec::{HeadKind, ImageSpec, LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

use super::synthetic::{D_HEAD, layer_capture, picture, token};

const TEXT: TextSpec = TextSpec::new(512, 1000);

/// The words of each side.
type Sides = BTreeMap<Side, Vec<Token>>;

/// An encoder–decoder on texts: 9 encoder tokens, 7 decoder tokens of which the model wrote the last 6.
pub fn translation_capture() -> Capture {
    Capture::new(translation_parts()).unwrap()
}

/// The same where two texts more were sampled: another from its third word on, and the same once more.
pub fn sampled_capture() -> Capture {
    let mut parts = translation_parts();
    let generated = parts.generated.as_mut().unwrap();
    let item = |id: u32, label: &str, value| PredictionItem { id, label: label.to_owned(), value };
    let first: Vec<PredictionItem> = generated.candidates.iter().map(|step| step[0].clone()).collect();
    let other = [first[0].clone(), first[1].clone(), item(92, "Hund", 0.01), item(93, "lief", 0.5)];
    generated.samples = vec![first.clone(), other.to_vec(), first];
    parts.id = CaptureId(1_000_001);
    Capture::new(parts).unwrap()
}

/// The same where the first three words were given.
pub fn branched_capture() -> Capture {
    let mut parts = translation_parts();
    parts.generated.as_mut().unwrap().n_given = 3;
    parts.id = CaptureId(1_000_002);
    Capture::new(parts).unwrap()
}

fn translation_parts() -> CaptureParts {
    let source = "the little cat sat on the warm mat </s>";
    let sides =
        Sides::from([(Side::Encoder, words(source)), (Side::Decoder, words("<pad> die kleine Katze saß auf ."))]);
    let layers = vec![LayerSpec { biased: true, ..LayerSpec::new(4, D_HEAD) }; 3];
    let mut parts = parts(
        "synthetic-t5",
        Modality::TextToText { source: TEXT, target: TEXT },
        sides,
        &[
            (StackKind::Encoder, layers.clone(), false),
            (StackKind::Decoder, layers.clone(), true),
            (StackKind::Cross, vec![LayerSpec::new(4, D_HEAD); 2], false),
        ],
    );
    parts.input.text = Some(source.to_owned());
    let probabilities = vec![0.91, 0.34, 0.88, 0.62, 0.07, 0.99];
    let item = |id: u32, label: &str, value| PredictionItem { id, label: label.to_owned(), value };
    let step = |(nth, (token, p)): (usize, (&Token, &f32))| {
        vec![item(token.id.unwrap_or(0), &token.text, *p), item(90 + nth as u32, ["Hund", "ein"][nth % 2], 0.01)]
    };
    let candidates = parts.tokens[&Side::Decoder][1..].iter().zip(&probabilities).enumerate().map(step).collect();
    parts.generated =
        Some(Generated { side: Side::Decoder, first: 1, probabilities, candidates, ..Generated::default() });
    // Scores of biased layers cannot be recomputed, and were not recorded.
    parts
}

/// The texts of [`translation_capture`] the other way round, in another model.
pub fn translation_back_capture() -> Capture {
    let sides = Sides::from([
        (Side::Encoder, words("die kleine Katze saß auf . </s>")),
        (Side::Decoder, words("<pad> The little cat sat on the warm mat")),
    ]);
    let layers = vec![LayerSpec::new(4, D_HEAD); 2];
    let stacks = [StackKind::Encoder, StackKind::Decoder, StackKind::Cross]
        .map(|kind| (kind, layers.clone(), kind == StackKind::Decoder));
    let modality = Modality::TextToText { source: TEXT, target: TEXT };
    Capture::new(parts("synthetic-back", modality, sides, &stacks)).unwrap()
}

/// An encoder–decoder with many encoder tokens and few decoder tokens.
pub fn summary_capture(n_encoder: usize, n_decoder: usize) -> Capture {
    let many = |n: usize| (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let sides = Sides::from([(Side::Encoder, words(&many(n_encoder))), (Side::Decoder, words(&many(n_decoder)))]);
    let layers = vec![LayerSpec::new(4, D_HEAD); 2];
    let kinds = [StackKind::Encoder, StackKind::Decoder, StackKind::Cross];
    let stacks = kinds.map(|kind| (kind, layers.clone(), kind == StackKind::Decoder));
    let parts = parts("synthetic-bart", Modality::TextToText { source: TEXT, target: TEXT }, sides, &stacks);
    Capture::new(parts).unwrap()
}

/// A picture that a decoder describes.
pub fn caption_capture(grid: (usize, usize)) -> Capture {
    let image = picture(grid);
    let sides = Sides::from([(Side::Encoder, patches(&image)), (Side::Decoder, words("<s> a bright disc on a wall"))]);
    let layers = vec![LayerSpec::new(4, D_HEAD); 2];
    let modality = Modality::ImageToText { source: seen(&image), target: TEXT };
    let kinds = [StackKind::Encoder, StackKind::Decoder, StackKind::Cross];
    let stacks = kinds.map(|kind| (kind, layers.clone(), kind == StackKind::Decoder));
    let mut parts = parts("synthetic-captioner", modality, sides, &stacks);
    parts.input.image = Some("disc.png".to_owned());
    parts.image = Some(image);
    let probabilities = vec![0.8, 0.41, 0.73, 0.9, 0.55, 0.2];
    parts.generated = Some(Generated { side: Side::Decoder, first: 1, probabilities, ..Generated::default() });
    Capture::new(parts).unwrap()
}

/// A picture and a text that are compared.
pub fn two_tower_capture(grid: (usize, usize)) -> Capture {
    let image = picture(grid);
    let sides = Sides::from([(Side::Vision, patches(&image)), (Side::Text, words("<s> a photo of a disc </s>"))]);
    let modality = Modality::ImageAndText { image: seen(&image), text: TEXT };
    let mut parts = parts(
        "synthetic-clip",
        modality,
        sides,
        &[
            (StackKind::Vision, vec![LayerSpec::new(4, D_HEAD); 3], false),
            (StackKind::Text, vec![LayerSpec::new(2, D_HEAD); 2], true),
        ],
    );
    parts.input = InputInfo {
        image: Some("disc.png".to_owned()),
        text: Some("a photo of a disc".to_owned()),
        ..InputInfo::default()
    };
    parts.image = Some(image);
    Capture::new(parts).unwrap()
}

/// A picture and a text that attend to each other behind their towers.
pub fn two_stream_capture(grid: (usize, usize)) -> Capture {
    let image = picture(grid);
    let sides = Sides::from([(Side::Vision, patches(&image)), (Side::Text, words("<s> a photo of a disc </s>"))]);
    let modality = Modality::ImageAndText { image: seen(&image), text: TEXT };
    let kinds = [
        StackKind::Vision,
        StackKind::Text,
        StackKind::CrossModalText,
        StackKind::TextToVision,
        StackKind::CrossModalVision,
        StackKind::VisionToText,
    ];
    let stacks = kinds.map(|kind| (kind, vec![LayerSpec::new(2, D_HEAD); 2], false));
    let mut parts = parts("synthetic-streams", modality, sides, &stacks);
    let text = Some("a photo of a disc".to_owned());
    parts.input = InputInfo { image: Some("disc.png".to_owned()), text, ..InputInfo::default() };
    parts.image = Some(image);
    Capture::new(parts).unwrap()
}

/// Eight query heads on two key heads.
pub fn shared_keys_capture(n_tokens: usize) -> Capture {
    let text = (0..n_tokens).map(|i| ["the", "cat", "sat", "on"][i % 4]).collect::<Vec<_>>().join(" ");
    let layer = LayerSpec { n_kv_heads: 2, ..LayerSpec::new(8, D_HEAD) };
    causal("synthetic-llama", &text, vec![layer; 3])
}

/// Layers that see the last `window` tokens, and every second one that sees all.
pub fn window_capture(n_tokens: usize, window: usize) -> Capture {
    let text = (0..n_tokens).map(|i| ["the", "cat", "sat", "on"][i % 4]).collect::<Vec<_>>().join(" ");
    let all = LayerSpec { softcap: Some(50.0), ..LayerSpec::new(4, D_HEAD) };
    let near = LayerSpec { window: Some(window), ..LayerSpec::new(4, D_HEAD) };
    let layers = vec![near, all, near];
    causal("synthetic-gemma", &text, layers)
}

/// Two sentences with their special tokens.
pub fn pair_capture() -> Capture {
    let mut tokens = words("<cls> the cat sat <sep> it was warm <sep>");
    // As a tokenizer tells it: special tokens are of no sentence.
    tokens[5..8].iter_mut().for_each(|token| token.segment = 1);
    let sides = Sides::from([(Side::Only, tokens)]);
    let stacks = [(StackKind::SelfAttention, vec![LayerSpec::new(4, D_HEAD); 2], false)];
    let mut parts = parts("synthetic-pair", Modality::Text(TEXT), sides, &stacks);
    parts.input.text = Some("the cat sat".to_owned());
    parts.input.text_b = Some("it was warm".to_owned());
    Capture::new(parts).unwrap()
}

fn causal(name: &str, text: &str, layers: Vec<LayerSpec>) -> Capture {
    let sides = Sides::from([(Side::Only, words(text))]);
    let mut parts = parts(name, Modality::Text(TEXT), sides, &[(StackKind::SelfAttention, layers, true)]);
    parts.input.text = Some(text.to_owned());
    Capture::new(parts).unwrap()
}

fn words(text: &str) -> Vec<Token> {
    let mut start = 0;
    let words = text.split(' ').enumerate().map(|(idx, word)| {
        let token = token(word, Some(idx as u32), word.starts_with('<'), start);
        start += word.len() + 1;
        token
    });
    words.collect()
}

fn patches(image: &ImageInfo) -> Vec<Token> {
    let mut tokens = vec![token("[CLS]", None, true, 0)];
    let (rows, cols) = image.grid;
    tokens.extend((0..rows * cols).map(|p| token(&format!("r{} c{}", p / cols, p % cols), None, false, 0)));
    tokens
}

fn seen(image: &ImageInfo) -> ImageSpec {
    let (rows, cols) = image.grid;
    ImageSpec { size_px: (rows * 8, cols * 8), patch_px: image.patch_px, n_prefix: image.n_prefix }
}

fn parts(name: &str, modality: Modality, tokens: Sides, stacks: &[(StackKind, Vec<LayerSpec>, bool)]) -> CaptureParts {
    // The same spelling is the same word.
    let word = |token: &Token| token.text.bytes().fold(7, |hash: usize, byte| hash.wrapping_mul(31) + byte as usize);
    let words: BTreeMap<Side, Vec<usize>> =
        tokens.iter().map(|(side, tokens)| (*side, tokens.iter().map(word).collect())).collect();
    let recorded = |(kind, layers, causal): &(StackKind, Vec<LayerSpec>, bool)| {
        let words = [words[&kind.query_side()].as_slice(), words[&kind.key_side()].as_slice()];
        let layers = layers.iter().enumerate().map(|(idx, layer)| layer_capture(idx, layer, words, *causal));
        StackCapture { kind: *kind, layers: layers.collect(), ..StackCapture::default() }
    };
    let n_tokens: usize = tokens.values().map(Vec::len).sum();
    let spec = ModelSpec {
        name: name.to_owned(),
        family: name.trim_start_matches("synthetic-").to_owned(),
        modality,
        stacks: stacks
            .iter()
            .map(|(kind, layers, causal)| StackSpec { kind: *kind, layers: layers.clone(), causal: *causal })
            .collect(),
        d_model: 4 * D_HEAD,
        n_params: 1_000_000,
        head: modality.target().map(|_| HeadKind::NextToken),
        checkpoint: None,
    };
    CaptureParts {
        id: CaptureId(name.bytes().fold(n_tokens as u64, |id, byte| id.wrapping_mul(131) + u64::from(byte))),
        model: Arc::new(spec),
        input: InputInfo::default(),
        stacks: stacks.iter().map(recorded).collect(),
        tokens,
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    }
}

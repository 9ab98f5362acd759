//! What is fuzzed: one line for each reader. A reader answers with the sentence it refuses an input with, or goes on
//! to use what it has read, since a file may also do its harm later.

use std::{fs, io::Cursor, path::Path, sync::OnceLock};

use attnscope::{
    analysis::{
        attention, laws,
        reading::{self, Captures, Reading},
        stats,
    },
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    corpus::list::{InputList, ListKind, ListOptions, Split},
    ids::{CaptureId, HeadId},
    model::{
        Engine, Input, LoadError, Model, ModelError, ModelFiles, RunPlan, TextInput,
        input::{ImageSource, InputError, open_picture},
        uninterrupted,
    },
    spec::Modality,
};

use super::corpus::{Seed, Shape, all, ending, written};
use super::{beside, containers, heads, sessions};

/// A reader, and what it is fed.
pub struct Target {
    pub name: &'static str,
    /// Files that are right.
    pub seeds: fn() -> Vec<Seed>,
    /// Reads a file that lies on disk beside what belongs to it.
    pub read: fn(&Path) -> Result<(), String>,
    /// The most memory that reading takes, apart from [`ROOM`], as a multiple of the file's size.
    pub multiple: usize,
}

/// Memory that any reader may take, however small the file: what a small model, a picture's limit or the
/// tables of a tokenizer need.
pub const ROOM: usize = 64 << 20;

/// Every reader.
pub const TARGETS: &[Target] = &[
    Target { name: "safetensors", seeds: weights, read: model, multiple: 16 },
    Target { name: "quantised", seeds: quantised, read: model, multiple: 16 },
    Target { name: "gguf", seeds: gguf, read: model, multiple: 16 },
    Target { name: "adapter", seeds: beside::adapters, read: beside::adapter, multiple: 64 },
    Target { name: "template", seeds: beside::templates, read: beside::template, multiple: 256 },
    Target { name: "config", seeds: configs, read: model, multiple: 64 },
    Target { name: "generation", seeds: generation, read: model, multiple: 64 },
    Target { name: "index", seeds: indices, read: model, multiple: 64 },
    Target { name: "tokenizer", seeds: tokenizers, read: tokenizer, multiple: 256 },
    Target { name: "vocabulary", seeds: vocabularies, read: tokenizer, multiple: 256 },
    Target { name: "sentencepiece", seeds: sentencepiece, read: tokenizer, multiple: 256 },
    Target { name: "pickle", seeds: pickles, read: model, multiple: 64 },
    Target { name: "preprocessor", seeds: preprocessors, read: model, multiple: 64 },
    Target { name: "picture", seeds: pictures, read: picture, multiple: usize::MAX },
    Target { name: "capture-safetensors", seeds: captures, read: capture, multiple: 16 },
    Target { name: "capture-json", seeds: lists, read: capture, multiple: 64 },
    Target { name: "capture-gzip", seeds: packed_lists, read: capture, multiple: 1100 },
    Target { name: "capture-npy", seeds: arrays, read: capture, multiple: 16 },
    Target { name: "capture-npz", seeds: archives, read: capture, multiple: 1100 },
    Target { name: "heads-json", seeds: heads::plain, read: heads::read, multiple: 64 },
    Target { name: "heads-gzip", seeds: heads::packed, read: heads::read, multiple: 1100 },
    Target { name: "inputs", seeds: inputs, read: list, multiple: 64 },
    Target { name: "session", seeds: sessions::sessions, read: sessions::session, multiple: 64 },
    Target { name: "address", seeds: sessions::addresses, read: sessions::address, multiple: 64 },
];

fn weights() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures", "model.safetensors", Shape::Safetensors);
    // Of every family one is enough to know its names.
    seeds.retain(|seed| seed.bytes.len() < 80_000);
    seeds
}

/// Weights that are stored in few bits alone.
fn quantised() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures/families", "model.safetensors", Shape::Safetensors);
    seeds.retain(|seed| seed.folder.join("numbers.safetensors").exists());
    seeds
}

/// Each alone in its folder, whose model it is then.
fn gguf() -> Vec<Seed> {
    let seeds = ending("tests/fixtures/gguf", ".gguf", Shape::Bytes);
    seeds.into_iter().map(|seed| written("model.gguf", seed.bytes, Shape::Bytes)).collect()
}

fn configs() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures/families", "config.json", Shape::Json);
    seeds.extend(
        ["bert", "gpt2", "vit", "bert-classifier"]
            .iter()
            .flat_map(|name| all(&format!("tests/fixtures/{name}"), "config.json", Shape::Json)),
    );
    seeds
}

fn generation() -> Vec<Seed> {
    all("tests/fixtures/families", "generation_config.json", Shape::Json)
}

fn indices() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/bert-sharded", ".index.json", Shape::Json);
    seeds.extend(ending("tests/fixtures/bin/sharded", ".index.json", Shape::Json));
    seeds
}

fn tokenizers() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures", "tokenizer.json", Shape::Json);
    seeds.extend(all("assets/models", "tokenizer.json", Shape::Json).into_iter().map(|mut seed| {
        shorten(&mut seed.bytes);
        seed
    }));
    let steps = [
        r#"{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Replace","pattern":{"Regex":" +"},"content":" "}]}"#,
        r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
        r#"{"type":"Precompiled","precompiled_charsmap":"AAAAAA=="}"#,
    ];
    let splits = [
        r#"{"type":"Split","pattern":{"Regex":"\\s+|[^\\s]+"},"behavior":"Isolated","invert":false}"#,
        r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#,
        r#"{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"Punctuation"}]}"#,
    ];
    let ends = [
        r#"{"type":"RobertaProcessing","sep":["b",1],"cls":["a",0],"trim_offsets":true,"add_prefix_space":false}"#,
        r#"{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"a":{"id":"a","ids":[0],"tokens":["a"]}}}"#,
        r#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#,
    ];
    let models = [
        r#"{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["▁",-1.0],["a",-2.0],["b",-2.5],["ab",-3.0]],"byte_fallback":false}"#,
        r#"{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"","max_input_chars_per_word":100,"vocab":{"a":0,"b":1,"c":2}}"#,
        r#"{"type":"BPE","dropout":null,"unk_token":"a","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":true,"vocab":{"a":0,"b":1,"ab":2,"▁":3},"merges":[["a","b"]]}"#,
    ];
    let decoders = [
        r#"{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}"#,
        r#"{"type":"WordPiece","prefix":"","cleanup":true}"#,
        r#"{"type":"BPEDecoder","suffix":"</w>"}"#,
    ];
    for at in 0..3 {
        let text = format!(
            r#"{{"version":"1.0","truncation":{{"direction":"Right","max_length":512,"strategy":"LongestFirst","stride":0}},"padding":{{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"a"}},"added_tokens":[{{"id":9,"content":"<x>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":true}}],"normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{}}}"#,
            steps[at], splits[at], ends[at], decoders[at], models[at]
        );
        seeds.push(written("tokenizer.json", text, Shape::Json));
    }
    seeds
}

/// Leaves the first two hundred of a vocabulary and of its merges: the rest is more of the same.
fn shorten(bytes: &mut Vec<u8>) {
    const KEPT: usize = 200;
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let model = &mut value["model"];
    if let Some(words) = model["vocab"].as_object_mut() {
        *words = std::mem::take(words).into_iter().take(KEPT).collect();
    }
    if let Some(pieces) = model["vocab"].as_array_mut() {
        pieces.truncate(KEPT);
    }
    if let Some(merges) = model["merges"].as_array_mut() {
        merges.clear();
    }
    *bytes = value.to_string().into_bytes();
}

fn vocabularies() -> Vec<Seed> {
    let json = ["vocab.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];
    let mut seeds: Vec<Seed> =
        json.iter().flat_map(|name| all("tests/fixtures/tokenizers", name, Shape::Json)).collect();
    seeds.extend(["vocab.txt", "merges.txt"].iter().flat_map(|name| all("tests/fixtures", name, Shape::Bytes)));
    seeds
}

fn sentencepiece() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/tokenizers", ".model", Shape::Protobuf);
    seeds.extend(ending("tests/fixtures/tokenizers", ".spm", Shape::Protobuf));
    seeds
}

fn pickles() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/bin", ".bin", Shape::Torch);
    let (config, name) = ("tests/fixtures/bert", "pytorch_model.bin");
    for seed in seeds.iter_mut().filter(|seed| !seed.folder.join("config.json").exists()) {
        seed.folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(config);
        name.clone_into(&mut seed.name);
    }
    seeds
}

fn preprocessors() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures", "preprocessor_config.json", Shape::Json);
    seeds.extend(all("tests/fixtures", "processor_config.json", Shape::Json));
    seeds
}

fn pictures() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/preprocessing", ".png", Shape::Picture);
    seeds.extend(ending("tests/fixtures/preprocessing", ".jpg", Shape::Picture));
    seeds.extend(ending("assets/samples", ".png", Shape::Picture));
    // The small ones in the other formats.
    for seed in ending("tests/fixtures/preprocessing", ".png", Shape::Picture) {
        let Ok(picture) = image::load_from_memory(&seed.bytes) else { continue };
        for (format, end) in
            [(image::ImageFormat::Gif, "gif"), (image::ImageFormat::Bmp, "bmp"), (image::ImageFormat::WebP, "webp")]
        {
            let mut bytes = Cursor::new(Vec::new());
            if picture.to_rgba8().write_to(&mut bytes, format).is_ok() {
                seeds.push(written(&format!("picture.{end}"), bytes.into_inner(), Shape::Picture));
            }
        }
    }
    seeds
}

/// Captures of every kind of model, as this program writes them, and other programs' files.
fn captures() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/foreign", ".safetensors", Shape::Safetensors);
    for name in
        ["bert", "gpt2", "vit", "families/t5", "families/vit-gpt2", "families/clip", "families/bilstm-sparsemax"]
    {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        let Ok(model) = open(&folder) else { continue };
        let Some(capture) = input_of(&model).and_then(|input| {
            let encoded = model.encode(&input).ok()?;
            model.forward(&encoded, &RunPlan::default(), &uninterrupted).ok()
        }) else {
            continue;
        };
        let mut bytes = Vec::new();
        if file::write(&[&capture], Contents::ALL, &mut bytes).is_ok() {
            seeds.push(written("capture.safetensors", bytes, Shape::Safetensors));
        }
    }
    let rows = [0.6f32, 0.0, 0.25, 0.75, 0.4, 0.0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    for (metadata, sink) in [
        (r#""rows":"partial""#, ""),
        (r#""x":"y""#, r#","self.0.sink":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]}"#),
    ] {
        let header = format!(
            r#"{{"__metadata__":{{{metadata}}},"self.0.pattern":{{"dtype":"F32","shape":[1,2,2],"data_offsets":[0,16]}}{sink}}}"#
        );
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &rows].concat();
        seeds.push(written("capture.safetensors", bytes, Shape::Safetensors));
    }
    seeds
}

fn lists() -> Vec<Seed> {
    let page = r#"[{"name":null,"attn":[[[[1,0],[0.5,0.5]]]],"left_text":["a","b"],"right_text":["a","b"]}]"#;
    let object =
        r#"{"tokens":["a","b"],"attentions":[[[[1,0],[0.25,0.75]],[[1,0],[0,1]]],[[[1,0],[1,0]],[[0,1],[0,1]]]]}"#;
    let cross = r#"{"encoder_attentions":[[[[1]]]],"cross_attentions":[[[[1],[1]]]],"decoder_attentions":[[[[1,0],[0.5,0.5]]]],"encoder_tokens":["x"],"decoder_tokens":["y","z"]}"#;
    let mut seeds = ending("tests/fixtures/foreign", ".json", Shape::Json);
    seeds.extend([page, object, cross, "[[[[1,0],[0.5,0.5]]]]"].map(|text| written("capture.json", text, Shape::Json)));
    seeds
}

fn packed_lists() -> Vec<Seed> {
    let pack = |seed: Seed| written("capture.json.gz", containers::packed(&seed.bytes), Shape::Gzip);
    lists().into_iter().map(pack).collect()
}

fn arrays() -> Vec<Seed> {
    let mut seeds = ending("tests/fixtures/foreign", ".npy", Shape::Npy);
    let half = |n: usize, value: u16| std::iter::repeat_n(value.to_le_bytes(), n).flatten().collect::<Vec<u8>>();
    for (descr, shape, data) in
        [("<f2", "(1, 1, 2, 2)", half(4, 0x3800)), ("<f4", "(1, 1, 1)", 1f32.to_le_bytes().to_vec())]
    {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let bytes = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &data].concat();
        seeds.push(written("capture.npy", bytes, Shape::Npy));
    }
    seeds
}

fn archives() -> Vec<Seed> {
    ending("tests/fixtures/foreign", ".npz", Shape::Npz)
}

fn inputs() -> Vec<Seed> {
    let table = "text,label,score\n\"a, \"\"quoted\"\" one\",pos,0.5\nplain,neg,\n";
    let lines = "{\"text\": \"one\", \"label\": 1}\n{\"text\": \"two\"}\n\"three\"\n";
    let json = r#"[{"text": "one", "year": 1999, "tags": ["a"]}, "two", {"sentence": "three"}]"#;
    vec![
        written("list.csv", table, Shape::Bytes),
        written("list.tsv", table.replace(',', "\t"), Shape::Bytes),
        written("list.json", json, Shape::Json),
        written("list.jsonl", lines, Shape::Bytes),
        written("list.txt", "One. Two!\n\nThree? Äöü.\r\n", Shape::Bytes),
    ]
}

pub fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::cpu(Some(1)).unwrap_or_else(|error| unreachable!("no thread to compute on: {error}")))
}

fn said(error: &LoadError) -> String {
    error.to_string()
}

fn open(folder: &Path) -> Result<Model, String> {
    let files = ModelFiles::open(folder).map_err(|error| said(&error))?;
    Model::load(&files, "damaged", engine(), &uninterrupted).map_err(|error| said(&error))
}

/// Something that a model can read whatever it is.
fn input_of(model: &Model) -> Option<Input> {
    let ids = |n_vocab: usize| Input::Ids((0..4u32).map(|id| id % n_vocab.max(1) as u32).collect());
    let pixels = |size_px: (usize, usize)| {
        let n = size_px.0.checked_mul(size_px.1)?.checked_mul(3).filter(|n| *n < 1 << 20)?;
        Some(Input::Pixels { data: vec![0.25; n].into(), size_px })
    };
    Some(match model.spec().modality {
        Modality::Text(text) => ids(text.n_vocab),
        Modality::Image(image) => pixels(image.size_px)?,
        Modality::TextToText { source, target } => ids(source.n_vocab).with_target(ids(target.n_vocab)),
        Modality::ImageToText { source, target } => pixels(source.size_px)?.with_target(ids(target.n_vocab)),
        Modality::ImageAndText { image, text } => pixels(image.size_px)?.with_target(ids(text.n_vocab)),
    })
}

/// Opens a checkpoint and runs it once.
fn model(path: &Path) -> Result<(), String> {
    let model = open(path.parent().unwrap_or(path))?;
    let failed = |error: ModelError| error.to_string();
    if let Some(input) = input_of(&model) {
        let encoded = model.encode(&input).map_err(failed)?;
        model.forward(&encoded, &RunPlan::default(), &uninterrupted).map_err(failed)?;
    }
    if model.spec().modality.image().is_some() {
        let Ok(encoded) = model.encode(&Input::Image(ImageSource::Bundled("chelsea".to_owned()))) else {
            return Ok(());
        };
        drop(encoded);
    }
    Ok(())
}

/// Reads a vocabulary, a few texts with it, and writes them again.
fn tokenizer(path: &Path) -> Result<(), String> {
    let said = |error: InputError| error.to_string();
    let files = ModelFiles::folder(path.parent().unwrap_or(path));
    let encoder = Model::tokenizer(&files).map_err(said)?;
    for text in ["The cat's 12 mats – naïve 東京 😀", "a ab\tb  <x> </s>", " "] {
        let text_b = text.starts_with('a').then(|| "zweiter Satz".to_owned());
        let input = TextInput { text: text.to_owned(), text_b, ..TextInput::default() };
        let Ok(encoded) = encoder.encode(&input, 24) else { continue };
        let _ = encoder.decode(&encoded.ids);
    }
    let _ = encoder.encode_target("ein Ziel", 16);
    for id in [0, 1, 9, 255, 100_000, u32::MAX] {
        encoder.decode_label(id);
        encoder.target_tokens(&[id, 1, id]);
        let _ = encoder.decode(&[id]);
    }
    Ok(())
}

fn picture(path: &Path) -> Result<(), String> {
    open_picture(&ImageSource::Path(path.to_owned())).map(drop).map_err(|error| error.to_string())
}

/// Reads a capture and looks at all of it.
fn capture(path: &Path) -> Result<(), String> {
    let format = path.file_name().and_then(|name| Format::of_name(name.to_str()?)).unwrap_or(Format::Safetensors);
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let mut next = 0;
    let mut new_id = || {
        next += 1;
        CaptureId(next)
    };
    let captures =
        file::read(&mut Cursor::new(bytes), format, "damaged", &mut new_id).map_err(|error| error.to_string())?;
    for capture in &captures {
        look_at(capture);
    }
    Ok(())
}

fn look_at(capture: &Capture) {
    laws::unexplained_pattern(capture);
    for stack in capture.stacks() {
        stats::stack_stats(capture, stack.kind);
        let heads =
            stack.layers.iter().enumerate().take(2).map(|(layer, _)| HeadId { stack: stack.kind, layer, head: 0 });
        for head in heads {
            attention::pattern(capture, head);
            let _ = reading::read(Captures::one(capture), &Reading::of(head));
        }
    }
    let _ = file::write(&[capture], Contents::ALL, &mut Vec::new());
}

fn list(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let kind = ListKind::of_name(&path.to_string_lossy());
    for split in [Split::Lines, Split::Sentences] {
        InputList::parse(&bytes, kind, &ListOptions { split, ..ListOptions::default() })
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

//! Attention of other programs: what the documented snippets save, BertViz' lists, NumPy's arrays, and
//! hostile files of each kind.

use std::{
    fs,
    io::{Cursor, Write as _},
};

use attnscope::{
    analysis::{attention, laws, stats},
    capture::{
        Capture, PerHead, RowMass,
        file::{self, Format},
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    model::{Input, RunPlan, TextInput, uninterrupted},
};
use safetensors::SafeTensors;

use crate::parity::{fixture, load};

/// What the snippets of `docs/captures.md` read.
const TEXT: &str = "The cat did not cross the street because it was too tired.";

pub fn read(bytes: &[u8], format: Format) -> Result<Capture, String> {
    let mut captures =
        file::read(&mut Cursor::new(bytes), format, "some file", &mut || CaptureId(7)).map_err(|it| it.to_string())?;
    assert_eq!(captures.len(), 1);
    Ok(captures.remove(0))
}

fn json(text: &str) -> Result<Capture, String> {
    read(text.as_bytes(), Format::Json)
}

/// A file that `tests/fixtures/check_docs.py` got from a snippet.
fn snippet(name: &str) -> Capture {
    let bytes = fs::read(fixture("foreign").join(name)).unwrap();
    read(&bytes, Format::of_name(name).unwrap()).unwrap()
}

pub fn texts(capture: &Capture, side: Side) -> Vec<&str> {
    capture.tokens(side).iter().map(|token| token.text.as_str()).collect()
}

pub fn site<'a>(capture: &'a Capture, stack: StackKind, layer: usize, name: &str) -> &'a PerHead {
    let layer = &capture.stack(stack).unwrap().layers[layer];
    let site = match name {
        "q" => layer.q(),
        "k" => layer.k(),
        "v" => layer.v(),
        _ => layer.pattern(),
    };
    site.unwrap()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

pub fn patterns(capture: &Capture) -> Vec<&PerHead> {
    capture.stacks()[0].layers.iter().filter_map(|layer| layer.pattern()).collect()
}

#[track_caller]
pub fn refused(result: Result<Capture, String>, words: &[&str]) {
    let message = result.unwrap_err();
    assert!(!message.contains('\n') && message.len() < 300, "one sentence: {message}");
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}

#[test]
fn what_the_documented_snippets_save_is_shown_with_the_same_numbers() {
    for (name, n_tensors) in
        [("patterns", 2), ("sites", 8), ("grouped", 8), ("cross", 5), ("lens", 8), ("lens_rotary", 8)]
    {
        let capture = snippet(&format!("{name}.safetensors"));
        let bytes = fs::read(fixture("foreign").join(format!("{name}.reference.safetensors"))).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(reference.len(), n_tensors);
        for (tensor, view) in reference.iter() {
            let parts: Vec<&str> = tensor.split('.').collect();
            let stack = StackKind::from_name(parts[0]).unwrap();
            let shown = site(&capture, stack, parts[1].parse().unwrap(), parts[2]);
            assert_eq!(shown.shape().as_slice(), view.shape(), "{name} {tensor}");
            let expected: Vec<f32> = view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            let difference = largest_difference(shown.as_slice(), &expected);
            assert!(difference <= 2e-5, "{name} {tensor} differs by {difference:e}");
        }
        assert!(capture.notes().is_empty(), "{name}: {:?}", capture.notes());
    }
}

/// Queries and keys are only worth showing when they are those that made the patterns.
#[test]
fn saved_queries_and_keys_make_the_saved_patterns() {
    for name in ["sites", "grouped", "lens", "lens_rotary"] {
        let capture = snippet(&format!("{name}.safetensors"));
        assert!(capture.model().stacks[0].causal, "{name}: nobody said so, but the patterns show it");
        assert_eq!(laws::unexplained_pattern(&capture), None, "{name}");
        for (layer, head) in [(0, 0), (0, 3), (1, 1), (1, 2)] {
            let head = HeadId::single(layer, head);
            // Without stored scores these are computed from q and k.
            let made = attention::softmax(&attention::scores(&capture, head).unwrap()).unwrap();
            let saved = capture.stored_pattern(head).unwrap();
            let difference = largest_difference(made.as_slice(), saved.as_slice());
            assert!(difference < 1e-4, "{name} {head} differs by {difference:e}");
        }
    }
    let grouped = snippet("grouped.safetensors").model().stacks[0].layers[0];
    assert_eq!((grouped.n_heads, grouped.n_kv_heads, grouped.d_head), (4, 2, 8));
}

#[test]
fn the_snippets_and_our_own_forward_pass_agree() {
    for (folder, name) in [("bert", "patterns"), ("gpt2", "sites")] {
        let model = load(folder);
        let input = Input::Text(TextInput { text: TEXT.to_owned(), ..TextInput::default() });
        let ours = model.forward(&model.encode(&input).unwrap(), &RunPlan::default(), &uninterrupted).unwrap();
        let theirs = snippet(&format!("{name}.safetensors"));
        assert_eq!(patterns(&ours).len(), patterns(&theirs).len());
        for (ours, theirs) in patterns(&ours).into_iter().zip(patterns(&theirs)) {
            assert_eq!(ours.shape(), theirs.shape());
            let difference = largest_difference(ours.as_slice(), theirs.as_slice());
            assert!(difference <= 1e-5, "{name} differs by {difference:e}");
        }
        let theirs = theirs.tokens(Side::Only);
        assert_eq!(ours.tokens(Side::Only).len(), theirs.len());
        assert_eq!(theirs[0].special, folder == "bert", "[CLS] is known by its name");
    }
}

#[test]
fn the_same_attention_in_every_container_is_the_same() {
    let expected = snippet("patterns.safetensors");
    for ending in ["json", "npz", "npy"] {
        let capture = snippet(&format!("patterns.{ending}"));
        assert_eq!(patterns(&capture), patterns(&expected), "{ending}");
        assert_eq!(capture.model().name, "some file");
        if ending == "npy" {
            assert_eq!(texts(&capture, Side::Only)[..2], ["0", "1"], "positions stand in for tokens");
            assert!(capture.notes()[0].contains("no tokens"));
        } else {
            assert_eq!(capture.tokens(Side::Only), expected.tokens(Side::Only), "{ending}");
        }
    }
}

#[test]
fn cross_attention_is_rectangular() {
    let capture = snippet("cross.safetensors");
    let (n_decoder, n_encoder) = (capture.tokens(Side::Decoder).len(), capture.tokens(Side::Encoder).len());
    assert_ne!(n_decoder, n_encoder);
    assert_eq!(site(&capture, StackKind::Cross, 1, "pattern").shape(), [4, n_decoder, n_encoder]);
    let kinds: Vec<_> = capture.model().stacks.iter().map(|stack| (stack.kind, stack.causal)).collect();
    assert_eq!(kinds, [(StackKind::Encoder, false), (StackKind::Decoder, true), (StackKind::Cross, false)]);
}

#[test]
fn lists_open_with_and_without_batch_object_and_tokens() {
    // Two layers with one and two heads.
    let layers = "[[[[1, 0], [0.25, 0.75]]], [[[1, 0], [0, 1]], [[0.5, 0.5], [1e-3, 0.999]]]]";
    let batched = "[[[[[1, 0], [0.25, 0.75]]]], [[[[1, 0], [0, 1]], [[0.5, 0.5], [1e-3, 0.999]]]]]";
    for text in [
        layers.to_owned(),
        batched.to_owned(),
        format!(r#"{{"attention": {layers}}}"#),
        format!(
            r#"{{"tokens": [["a", "b"]], "sentence_b_start": 1, "attentions": {batched}, "cross_attention": null}}"#
        ),
    ] {
        let capture = json(&text).unwrap();
        let shapes: Vec<_> = patterns(&capture).iter().map(|pattern| pattern.shape()).collect();
        assert_eq!(shapes, [[1, 2, 2], [2, 2, 2]]);
        assert_eq!(capture.stored_pattern(HeadId::single(1, 1)).unwrap().row(1), Some(&[1e-3, 0.999][..]));
        let has_tokens = text.contains("tokens");
        assert_eq!(texts(&capture, Side::Only), if has_tokens { ["a", "b"] } else { ["0", "1"] });
    }
    let bertviz = r#"{"encoder_attention": [[[[0.5, 0.5], [0.5, 0.5]]]], "decoder_attention": [[[[1.0]]]],
        "cross_attention": [[[[0.75, 0.25]]]], "encoder_tokens": ["x", "y"], "decoder_tokens": ["</s>"]}"#;
    let capture = json(bertviz).unwrap();
    assert_eq!(site(&capture, StackKind::Cross, 0, "pattern").as_slice(), [0.75, 0.25]);
    assert_eq!((texts(&capture, Side::Encoder), texts(&capture, Side::Decoder)), (vec!["x", "y"], vec!["</s>"]));
    assert!(capture.tokens(Side::Decoder)[0].special);
}

/// What BertViz writes into its pages: views with layers, heads and two lists of tokens.
#[test]
fn the_data_of_bertviz_pages_opens() {
    let square = "[[[[1, 0], [0.25, 0.75]]], [[[1, 0], [0, 1]]]]";
    let all = format!(r#"{{"name": null, "attn": {square}, "left_text": ["a", "b"], "right_text": ["a", "b"]}}"#);
    let part =
        r#"{"name": "Sentence A -> Sentence A", "attn": [[[[1]]], [[[1]]]], "left_text": ["a"], "right_text": ["a"]}"#;
    for page in [
        format!(r#"{{"attention": [{all}], "default_filter": "0", "root_div_id": "bertviz"}}"#),
        format!(r#"{{"attention": [{all}, {part}]}}"#),
    ] {
        let capture = json(&page).unwrap();
        assert_eq!(patterns(&capture).len(), 2);
        assert_eq!(capture.stored_pattern(HeadId::single(0, 0)).unwrap().row(1), Some(&[0.25, 0.75][..]));
        assert_eq!(texts(&capture, Side::Only), ["a", "b"]);
        let n_left_out = usize::from(page.contains("Sentence A"));
        assert_eq!(capture.notes().len(), n_left_out, "how to show a page is no tensor: {:?}", capture.notes());
    }
    let translation = format!(
        r#"{{"attention": [
            {{"name": "Encoder", "attn": {square}, "left_text": ["a", "b"], "right_text": ["a", "b"]}},
            {{"name": "Decoder", "attn": [[[[1]]]], "left_text": ["x"], "right_text": ["x"]}},
            {{"name": "Cross", "attn": [[[[0.5, 0.5]]]], "left_text": ["x"], "right_text": ["a", "b"]}}]}}"#
    );
    let capture = json(&translation).unwrap();
    assert_eq!(site(&capture, StackKind::Cross, 0, "pattern").shape(), [1, 1, 2]);
    assert_eq!((texts(&capture, Side::Encoder), texts(&capture, Side::Decoder)), (vec!["a", "b"], vec!["x"]));
    let damaged = all.replace("0.75", "NaN");
    refused(json(&format!(r#"{{"attention": [{damaged}]}}"#)), &["attention[0]", "not a number", "[0, 0, 1, 1]"]);
    refused(json(r#"{"attention": [{"left_text": ["a"]}]}"#), &["attention[0]", "attn"]);
    let shapeless = all.replace(square, "[[1]]");
    refused(json(&format!(r#"{{"attention": [{shapeless}]}}"#)), &["attention[0].attn"]);
}

#[test]
fn a_single_layer_opens_as_one() {
    let capture = json("[[[1, 0], [0.25, 0.75]], [[0.5, 0.5], [0, 1]]]").unwrap();
    assert_eq!(patterns(&capture).iter().map(|it| it.shape()).collect::<Vec<_>>(), [[2, 2, 2]]);
    assert_eq!(capture.stored_pattern(HeadId::single(0, 1)).unwrap().row(0), Some(&[0.5, 0.5][..]));
    let capture = read(&npy("'<f4'", "(1, 2, 2)", &f32s(&SQUARE)), Format::Npy).unwrap();
    assert_eq!(patterns(&capture)[0].as_slice(), SQUARE);
}

#[test]
fn packed_lists_open_within_bounds() {
    let pack = |text: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    };
    let lists = br#"{"attentions": [[[[1.0, 0.0], [0.25, 0.75]]]], "tokens": ["a", "b"]}"#;
    let capture = read(&pack(lists), Format::of_name("x.JSON.gz").unwrap()).unwrap();
    assert_eq!(patterns(&capture)[0].as_slice(), SQUARE);
    assert_eq!(texts(&capture, Side::Only), ["a", "b"]);
    let packed = pack(lists);
    for len in 0..packed.len() {
        assert!(read(&packed[..len], Format::JsonGz).is_err(), "cut to {len}");
    }
    let bomb = pack(&vec![b' '; 80 << 20]);
    refused(read(&bomb, Format::JsonGz), &["unpacks to more", "unpack it first"]);
    refused(read(lists, Format::JsonGz), &["gzip"]);
}

/// Rows that are rightly less than 1, declared in one of two ways.
#[test]
fn incomplete_rows_are_declared_or_refused() {
    let file = |metadata: &str, sink: Option<[f32; 2]>| {
        let sink = sink.map_or(Vec::new(), |sink| f32s(&sink));
        let entry =
            if sink.is_empty() { "" } else { r#","self.0.sink":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]}"# };
        let header = format!(
            r#"{{"__metadata__":{metadata},"self.0.pattern":{{"dtype":"F32","shape":[1,2,2],"data_offsets":[0,16]}}{entry}}}"#
        );
        let data = [f32s(&[0.6, 0.0, 0.25, 0.75]), sink].concat();
        read(&[&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat(), Format::Safetensors)
    };
    refused(file("{}", None), &["self.0.pattern", "query 0 sums to 0.6", "\"rows\": \"partial\"", ".sink"]);
    refused(file(r#"{"rows":"full"}"#, None), &["sum to 1"]);
    refused(file(r#"{"rows":"some"}"#, None), &["rows", "neither full nor partial"]);

    let partial = file(r#"{"rows":"partial"}"#, None).unwrap();
    assert_eq!(partial.row_mass(HeadId::single(0, 0)), RowMass::Partial);
    assert!(partial.notes().iter().any(|note| note.contains("lack up to 0.40")), "{:?}", partial.notes());
    assert_eq!(patterns(&partial)[0].as_slice()[0], 0.6, "never renormalised");
    let stats = stats::stack_stats(&partial, StackKind::SelfAttention)[0][0].unwrap();
    assert_eq!(stats.rows, RowMass::Partial);

    let sink = file("{}", Some([0.4, 0.0])).unwrap();
    assert_eq!(sink.row_mass(HeadId::single(0, 0)), RowMass::Sink);
    assert_eq!(sink.sink(HeadId::single(0, 0)), Some(&[0.4, 0.0][..]));
    assert!(sink.notes().iter().any(|note| note.contains("0.40") && note.contains("sink")), "{:?}", sink.notes());
    refused(file("{}", Some([0.2, 0.0])), &["self.0.pattern", "sums to 0.8", "with its sink"]);
    refused(file("{}", Some([1.4, 0.0])), &["self.0.sink", "above 1"]);
    refused(file("{}", Some([-0.4, 0.0])), &["self.0.sink", "negative"]);
    // Lists and arrays say it in their own ways.
    let short = "[[[0.6, 0], [0.25, 0.75]]]";
    refused(json(&format!("[{short}]")), &["attentions[0]", "sums to 0.6"]);
    let list = json(&format!(r#"{{"attentions": [{short}], "rows": "partial"}}"#)).unwrap();
    assert_eq!(list.row_mass(HeadId::single(0, 0)), RowMass::Partial);
    refused(json(&format!(r#"{{"attentions": [{short}], "rows": "some"}}"#)), &["rows", "neither full nor partial"]);
    refused(json(&format!(r#"{{"attentions": [{short}], "rows": 7}}"#)), &["rows", "string"]);
    // Both come back from a file of our own.
    for capture in [partial, sink] {
        let mut bytes = Vec::new();
        file::write(&[&capture], file::Contents::DEFAULT, &mut bytes).unwrap();
        let again = read(&bytes, Format::Safetensors).unwrap();
        assert_eq!(again.computation(), capture.computation());
        assert_eq!(again.sink(HeadId::single(0, 0)), capture.sink(HeadId::single(0, 0)));
    }
}

#[test]
fn hostile_lists_are_refused_by_name() {
    let one = "[[1, 0], [0.5, 0.5]]";
    let layer = |rows: &str| json(&format!("[[{one}], [{rows}]]"));
    refused(layer("[[1, 0], [NaN, 1]]"), &["attentions[1]", "not a number", "[0, 1, 0]", "line 1"]);
    refused(layer("[[1, 0], [0.5, NaN]]"), &["attentions[1]", "not a number", "[0, 1, 1]"]);
    refused(layer("[[1, 0], [Infinity, 1]]"), &["attentions[1]", "not a number"]);
    refused(layer("[[1, 0], [null, 1]]"), &["attentions[1]", "null", "[0, 1, 0]"]);
    refused(layer("[[1, 0], [\"0\", 1]]"), &["attentions[1]", "string"]);
    refused(layer("[[1, 0], [1e300, 0]]"), &["attentions[1]"]);
    refused(layer("[[1, 0], [1e999, 0]]"), &["attentions[1]"]);
    refused(layer("[[1, 0], [1.5, -0.5]]"), &["attentions[1]", "negative", "[0, 1, 1]"]);
    refused(layer("[[1, 0], [1.5, 1.5]]"), &["attentions[1]", "head 0, query 1 sums to 3"]);
    refused(layer("[[1, 0], [0.5, 0.5, 0]]"), &["attentions[1]", "a list of 3 stands beside lists of 2"]);
    refused(layer("[[1, 0], 1]"), &["attentions[1]", "mixed"]);
    refused(layer("[[1, 0], [[1], 0]]"), &["attentions[1]", "mixed"]);
    refused(layer("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"), &["attentions[1]", "3 positions"]);
    refused(layer("[]"), &["attentions[1]", "[1, 0]"]);
    refused(json("[[[[1, 0], [0, 1"), &["attentions[0]", "cut short"]);
    refused(json("[[[[[[1]]]]]]"), &["attentions[0]", "more levels"]);
    refused(json("[[1, 0], [0, 1]]"), &["attentions[0]", "[2]", "heads, queries and keys"]);
    refused(json("[[[1, 0], [0, 1]], [[1]]]"), &["attentions[1]", "[1, 1]", "[2, 2]"]);
    refused(json("[[[[[1]]], [[[1]]]]]"), &["attentions[0]", "batch of 2"]);
    refused(json("[[[[1, 0]]]]"), &["attentions[0]", "not square"]);
    refused(json("[[[[]]]]"), &["attentions[0]", "empty"]);
    refused(json(&format!("[{}]", vec!["[[[1]]]"; 1025].join(","))), &["attentions[1024]", "more layers"]);
    refused(json(&"[".repeat(100_000)), &["attentions[0]"]);
    for nothing in ["[]", "{}", r#"{"hidden_states": [[1, 2]]}"#, r#"{"attentions": null}"#] {
        refused(json(nothing), &["no attention"]);
    }
    for broken in ["", "true", "\"attentions\"", "{\"a\"", r#"{"other": [NaN]}"#, "[] []"] {
        refused(json(broken), &["not a capture file"]);
    }
    let with = |rest: &str| json(&format!(r#"{{"attentions": [[{one}]], {rest}}}"#));
    assert!(with(r#""tokens": ["a", "b"]"#).is_ok());
    refused(with(r#""tokens": ["a", "b", "c"]"#), &["attentions[0]", "3 self tokens"]);
    refused(with(r#""tokens": [1, 2]"#), &["tokens", "integer"]);
    refused(with(r#""tokens": ["a", "b"], "tokens": ["a", "b"]"#), &["tokens", "twice"]);
    refused(with(&format!(r#""tokens": [{}]"#, vec!["\"\""; 70_000].join(","))), &["tokens"]);
    refused(with(&format!(r#""attention": [[{one}]]"#)), &["attention[0]", "twice"]);
}

/// A NumPy file with this type, shape and values.
pub fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes(), values].concat()
}

pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub const SQUARE: [f32; 4] = [1.0, 0.0, 0.25, 0.75];

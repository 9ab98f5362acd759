//! Tokens of other programs: special ones by their spelling, pieces of a vocabulary as they read, and rows of dropout.

use attnscope::{
    capture::{Capture, file::Format, words},
    ids::{HeadId, Side},
};
use safetensors::{Dtype, tensor::TensorView};

use crate::foreign::{f32s, npy, read, refused, texts};

/// A file of one layer with one head, whose rows are even unless given.
fn file(n: usize, rows: Option<&[f32]>, metadata: &[(&str, &str)]) -> Result<Capture, String> {
    let even = vec![1.0 / n as f32; n * n];
    let values = f32s(rows.unwrap_or(&even));
    let view = TensorView::new(Dtype::F32, vec![1, n, n], &values).unwrap();
    let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    read(&safetensors::serialize([("self.0.pattern", view)], Some(metadata)).unwrap(), Format::Safetensors)
}

fn listed(tokens: &[&str], more: &[(&str, &str)]) -> Result<Capture, String> {
    let tokens_entry = serde_json::json!({ "self": tokens }).to_string();
    file(tokens.len(), None, &[&[("tokens", tokens_entry.as_str())], more].concat())
}

fn merged(capture: &Capture) -> Vec<String> {
    let tokens = capture.tokens(Side::Only);
    words::words(tokens).into_iter().map(|word| words::word_text(tokens, word)).collect()
}

#[test]
fn special_tokens_are_known_without_being_called_so() {
    let tokens = r#"{"self": [{"text": "[CLS]"}, {"text": "cat"}, "<pad>", {"text": "[SEP]", "special": false}]}"#;
    let capture = file(4, None, &[("tokens", tokens)]).unwrap();
    let special: Vec<bool> = capture.tokens(Side::Only).iter().map(|token| token.special).collect();
    assert_eq!(special, [true, false, true, false], "what a file says goes before the spelling");
}

#[test]
fn pieces_read_and_merge_as_those_of_a_model() {
    let bytes = ["<s>", "a", "Ġca", "f", "Ã©", ",", "Ġä»", "Ĭ", "å¤", "©", "</s>"];
    let capture = listed(&bytes, &[]).unwrap();
    assert_eq!(texts(&capture, Side::Only)[2..7], ["␣ca", "f", "é", ",", "␣今¹"]);
    assert_eq!(merged(&capture), ["<s>", "a", "café", ",", "今", "天", "</s>"]);
    assert_eq!(merged(&listed(&["▁un", "believ", "able", "▁cats"], &[]).unwrap()), ["unbelievable", "cats"]);
    assert_eq!(merged(&listed(&["a</w>", "photo", "graph</w>"], &[]).unwrap()), ["a", "photograph"]);
    assert_eq!(merged(&listed(&["un", "##believ", "##able"], &[]).unwrap()), ["unbelievable"]);
    let lists = |style: &str| {
        let text = format!(r#"{{"attentions": [[[[1, 0], [0.5, 0.5]]]], "tokens": ["a", "Ġb"]{style}}}"#);
        texts(&read(text.as_bytes(), Format::Json).unwrap(), Side::Only).join(" ")
    };
    assert_eq!((lists(""), lists(r#", "token_style": "as is""#)), ("a ␣b".to_owned(), "a Ġb".to_owned()));
}

#[test]
fn a_file_says_how_its_tokens_are_spelled() {
    let maltese = ["Ġorġ", "jaf", "li", "Ġanni"];
    assert_eq!(merged(&listed(&maltese, &[]).unwrap()), maltese, "letters of a text");
    for style in ["byte-level", r#""byte-level""#, r#"{"self": "byte-level", "decoder": "as is"}"#] {
        let capture = listed(&["Ġthe"], &[("token_style", style)]).unwrap();
        assert_eq!(texts(&capture, Side::Only), ["␣the"], "{style}");
    }
    refused(listed(&["a"], &[("token_style", "bpe")]), &["token_style", "bpe", "byte-level", "as is"]);
    let other = r#"{"attentions": [[[[1]]]], "tokens": ["a"], "token_style": "bpe"}"#;
    refused(read(other.as_bytes(), Format::Json), &["token_style", "bpe"]);
    // What was written by this program holds labels, whatever they look like.
    let labels = [("format", "attnscope-capture"), ("version", "1")];
    assert_eq!(texts(&listed(&["Ġthe", "Ġcat"], &labels).unwrap(), Side::Only), ["Ġthe", "Ġcat"]);
}

/// Pages of BertViz about some layers and heads, about two sentences, and of its neuron view.
#[test]
fn pages_say_which_layers_and_sentences_they_are_of() {
    let page = |rest: &str| {
        let view = r#"{"name": "All", "attn": [[[[1, 0], [0.25, 0.75]]], [[[0.5, 0.5], [0, 1]]]], "left_text": ["a", "b"],
            "right_text": ["a", "b"]}"#;
        let part = r#"{"name": "Sentence A -> Sentence A", "attn": [[[[1]]], [[[0.5]]]], "left_text": ["a"], "right_text": ["a"]}"#;
        read(format!(r#"{{"attention": [{view}, {part}]{rest}}}"#).as_bytes(), Format::Json).unwrap()
    };
    let some = page(r#", "include_layers": [3, 7], "include_heads": [5], "total_heads": 12"#);
    let row = |layer: usize| some.stored_pattern(HeadId::single(layer, 0)).map(|it| it.row(0).unwrap().to_vec());
    assert_eq!((row(0), row(3), row(7)), (None, Some(vec![1.0, 0.0]), Some(vec![0.5, 0.5])));
    assert!(some.notes().iter().any(|note| note.contains("heads 5 of the model")), "{:?}", some.notes());
    assert_eq!(some.tokens(Side::Only).iter().map(|token| token.segment).collect::<Vec<_>>(), [0, 1]);
    let all = page(r#", "include_layers": [0, 1], "include_heads": [0]"#);
    assert!(!all.notes().iter().any(|note| note.contains("heads")), "{:?}", all.notes());
    let neurons = r#"{"attention": {"all": {"attn": [[[[1, 0], [0.5, 0.5]]]], "queries": [[[[1, 2, 3], [4, 5, 6]]]],
        "keys": [[[[0, 0, 1], [0, 1, 0]]]], "left_text": ["a", "b"], "right_text": ["a", "b"]},
        "aa": {"attn": [[[[1]]]], "left_text": ["a"], "right_text": ["a"]}}, "bidirectional": false}"#;
    let capture = read(neurons.as_bytes(), Format::Json).unwrap();
    assert_eq!(capture.q(HeadId::single(0, 0)).unwrap().row(1), Some(&[4.0, 5.0, 6.0][..]));
    assert_eq!(capture.k(HeadId::single(0, 0)).unwrap().shape(), [2, 3]);
    assert_eq!(capture.tokens(Side::Only)[1].segment, 1);
    let lists = |start: usize| {
        let text =
            format!(r#"{{"attentions": [[[[1, 0], [0.5, 0.5]]]], "tokens": ["a", "b"], "sentence_b_start": {start}}}"#);
        read(text.as_bytes(), Format::Json)
    };
    assert_eq!(lists(1).unwrap().tokens(Side::Only)[1].segment, 1);
    refused(lists(2), &["tokens", "second sentence", "2"]);
    refused(read(neurons.replace("[4, 5, 6]", "[4, 5]").as_bytes(), Format::Json), &["attention.all"]);
    refused(read(br#"{"attention": {"all": [1]}}"#, Format::Json), &["attention.all", "attn"]);
}

#[test]
fn rows_of_a_model_in_training_are_refused_with_what_to_call() {
    let dropped = [1.25, 0.0, 0.0, 0.75];
    refused(file(2, Some(&dropped), &[]), &["self.0.pattern", "head 0, query 0 sums to 1.25", "model.eval()"]);
    let message = file(2, Some(&[0.5, 0.0, 0.0, 0.75]), &[]).unwrap_err();
    assert!(message.contains("partial") && !message.contains("eval"), "rows that all lack something: {message}");
    let array = npy("'<f4'", "(1, 1, 2, 2)", &f32s(&dropped));
    refused(read(&array, Format::Npy), &["array[0]", "model.eval()"]);
}

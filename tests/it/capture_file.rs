//! Capture files: what is written comes back, other programs' files open, lying ones are refused by name.

use std::{fmt::Write as _, io::Cursor};

use attnscope::{
    analysis::attention,
    capture::{
        Capture, CaptureParts, Computation, LayerCapture, Matrix, Site, SiteValue, StackCapture, Token,
        file::{self, Contents, Format},
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    spec::{HeadKind, Modality, TextSpec},
};

use crate::support::synthetic;

fn write(captures: &[&Capture], contents: Contents) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(captures, contents, &mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<Capture>, String> {
    let mut next = 100;
    let mut new_id = || {
        next += 1;
        CaptureId(next)
    };
    file::read(&mut Cursor::new(bytes), Format::Safetensors, "some file", &mut new_id)
        .map_err(|error| error.to_string())
}

fn parts(capture: &Capture) -> CaptureParts {
    CaptureParts {
        id: capture.id(),
        model: capture.model().clone(),
        input: capture.input().clone(),
        tokens: Side::ALL
            .into_iter()
            .map(|side| (side, capture.tokens(side).to_vec()))
            .filter(|(_, tokens)| !tokens.is_empty())
            .collect(),
        stacks: capture.stacks().to_vec(),
        image: capture.image().cloned(),
        logits: capture.logits().cloned(),
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    }
}

fn assert_same_data(a: &StackCapture, b: &StackCapture) {
    assert_eq!((a.kind, &a.sites, &a.layers), (b.kind, &b.sites, &b.layers));
}

/// A safetensors file of patterns and such, each `(name, shape, values)`.
fn foreign(tensors: &[(&str, &[usize], Vec<f32>)], metadata: &[(&str, &str)]) -> Vec<u8> {
    let mut header = format!("{{\"__metadata__\":{}", serde_json::json!(pairs(metadata)));
    let mut data = Vec::new();
    for (name, shape, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let offsets = [begin, data.len()];
        write!(header, ",{name:?}:{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":{offsets:?}}}").unwrap();
    }
    with_header(&(header + "}"), &data)
}

fn pairs(metadata: &[(&str, &str)]) -> serde_json::Map<String, serde_json::Value> {
    metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()
}

fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn uniform(n_heads: usize, n_query: usize, n_key: usize) -> Vec<f32> {
    vec![1.0 / n_key as f32; n_heads * n_query * n_key]
}

/// What is said about a file that must not open.
fn refusal(bytes: &[u8]) -> String {
    let message = read(bytes).unwrap_err();
    assert!(!message.contains('\n'), "one sentence: {message}");
    message
}

#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) {
    let message = refusal(bytes);
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}

#[test]
fn a_capture_comes_back_as_it_was() {
    for capture in
        [synthetic::text_capture(12, 2, 3), synthetic::causal_text_capture(9, 1, 5), synthetic::image_capture((3, 4))]
    {
        let bytes = write(&[&capture], Contents::DEFAULT);
        let opened = read(&bytes).unwrap().remove(0);
        assert_eq!(opened.model(), capture.model());
        assert_eq!(opened.input(), capture.input());
        assert_eq!(opened.tokens(Side::Only), capture.tokens(Side::Only));
        assert_same_data(&opened.stacks()[0], &capture.stacks()[0]);
        assert_eq!(opened.id(), CaptureId(101));
        assert!(opened.notes().is_empty(), "{:?}", opened.notes());
        let (a, b) = (opened.image(), capture.image());
        assert_eq!(
            a.map(|i| (i.grid, i.n_prefix, i.patch_px, i.crop)),
            b.map(|i| (i.grid, i.n_prefix, i.patch_px, i.crop))
        );
    }
}

#[test]
fn every_site_and_pruned_heads_come_back() {
    let mut parts = parts(&synthetic::causal_text_capture(6, 2, 4));
    let model = std::sync::Arc::make_mut(&mut parts.model);
    model.head = Some(HeadKind::TextClass);
    // Layer 1 has lost two heads.
    model.stacks[0].layers[1].n_heads = 2;
    model.stacks[0].layers[1].n_kv_heads = 2;
    let values = |n: usize| (0..n).map(|i| i as f32 * 0.25 - 3.0).collect::<Vec<f32>>();
    let scores = (0..72).map(|i| if i % 6 > (i / 6) % 6 { f32::NEG_INFINITY } else { i as f32 }).collect::<Vec<_>>();
    let recorded = [
        (Site::Scores, scores, &[2, 6, 6][..]),
        (Site::Z, values(2 * 6 * synthetic::D_HEAD), &[2, 6, synthetic::D_HEAD]),
        (Site::ResidPre, values(6 * 7), &[6, 7]),
    ];
    parts.stacks[0].layers[1] =
        LayerCapture::of(recorded.map(|(site, values, shape)| (site, SiteValue::new(site, values, shape).unwrap())));
    parts.stacks[0].sites.set(Site::ResidFinal, Matrix::new(values(6 * 7), [6, 7]).unwrap());
    parts.logits = Matrix::new(values(3), [1, 3]).ok();
    let capture = Capture::new(parts).unwrap();
    let bytes = write(&[&capture], Contents::ALL);
    let opened = read(&bytes).unwrap().remove(0);
    assert_eq!(opened.model(), capture.model());
    assert_same_data(&opened.stacks()[0], &capture.stacks()[0]);
    assert_eq!(opened.logits(), capture.logits());
    // The reference reader agrees on names and shapes.
    let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(reference.tensor("self.0.k").unwrap().shape(), [4, 6, synthetic::D_HEAD]);
    assert_eq!(reference.tensor("logits").unwrap().shape(), [3], "a classifier has one row, so no axis for it");
    assert!(reference.tensor("self.resid_final").is_ok() && reference.tensor("self.1.resid_pre").is_ok());
}

#[test]
fn values_may_have_another_width_than_keys() {
    let mut parts = parts(&synthetic::causal_text_capture(6, 1, 4));
    std::sync::Arc::make_mut(&mut parts.model).stacks[0].layers[0].d_value = 5;
    let values = |n: usize| (0..n).map(|i| i as f32 * 0.25 - 3.0).collect::<Vec<f32>>();
    for site in [Site::V, Site::Z] {
        let value = SiteValue::new(site, values(4 * 6 * 5), &[4, 6, 5]).unwrap();
        parts.stacks[0].layers[0].sites.set(site, value);
    }
    let capture = Capture::new(parts).unwrap();
    let bytes = write(&[&capture], Contents::ALL);
    let opened = read(&bytes).unwrap().remove(0);
    assert_eq!(opened.model(), capture.model());
    assert_same_data(&opened.stacks()[0], &capture.stacks()[0]);
    // A file that says nothing of widths is believed by its tensors, and one width is not taken for the other.
    let tensors = |v: usize| {
        let tensors: [(&str, &[usize], Vec<f32>); 4] = [
            ("self.0.pattern", &[4, 2, 2], uniform(4, 2, 2)),
            ("self.0.q", &[4, 2, 5], vec![0.1; 40]),
            ("self.0.v", &[2, 2, 3], vec![0.2; 12]),
            ("self.0.z", &[4, 2, v], vec![0.2; 8 * v]),
        ];
        foreign(&tensors, &[])
    };
    let layer = read(&tensors(3)).unwrap()[0].model().stacks[0].layers[0];
    assert_eq!((layer.n_heads, layer.n_kv_heads, layer.d_head, layer.d_value), (4, 2, 5, 3));
    refused(&tensors(5), &["self.0.z", "width 5", "3 belongs"]);
}

#[test]
fn metadata_is_what_the_format_promises() {
    let bytes = write(&[&synthetic::text_capture(5, 2, 3)], Contents::of(&[Site::Pattern]));
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!((metadata["format"].as_str(), metadata["version"].as_str()), ("attnscope-capture", "1"));
    let json = |key: &str| -> serde_json::Value { serde_json::from_str(&metadata[key]).unwrap() };
    let stack = &json("model")["stacks"][0];
    assert_eq!((&stack["name"], &stack["layers"], &stack["heads"]), (&"self".into(), &2.into(), &3.into()));
    assert_eq!((&stack["kv_heads"], &stack["d_head"], &stack["causal"]), (&3.into(), &32.into(), &false.into()));
    assert_eq!(
        json("tokens")["self"][1],
        serde_json::json!({ "text": "cat", "id": 11, "special": false, "start": 0, "end": 3 })
    );
    let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names = reference.names();
    names.sort_unstable();
    assert_eq!(names, ["self.0.pattern", "self.1.pattern"], "only what was asked for");
}

#[test]
fn several_inputs_share_a_file() {
    let captures = [synthetic::text_capture(4, 1, 2), synthetic::text_capture(7, 1, 2)];
    // The model of both must be the same one.
    let bytes = write(&[&captures[0], &captures[1]], Contents::DEFAULT);
    let opened = read(&bytes).unwrap();
    assert_eq!(opened.len(), 2);
    for (opened, capture) in opened.iter().zip(&captures) {
        assert_eq!(opened.tokens(Side::Only), capture.tokens(Side::Only));
        assert_same_data(&opened.stacks()[0], &capture.stacks()[0]);
    }
    assert!(opened[0].id() != opened[1].id());
    // Tensors outside of the inputs that are no attention do not make an input of their own.
    let stray = [("input3/self.0.pattern", &[1, 1, 1][..], vec![1.0]), ("logits", &[2], vec![0.5, 0.5])];
    assert_eq!(read(&foreign(&stray, &[])).unwrap().len(), 1);
    let other = synthetic::text_capture(4, 2, 2);
    assert!(file::write(&[&captures[0], &other], Contents::DEFAULT, &mut Vec::new()).is_err());
    assert!(file::write(&[], Contents::DEFAULT, &mut Vec::new()).is_err());
}

#[test]
fn a_file_of_another_program_needs_only_patterns() {
    let causal = vec![1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.25, 0.25, 0.5];
    let bytes = foreign(&[("self.0.pattern", &[1, 3, 3], causal), ("extra", &[1], vec![0.0])], &[("format", "pt")]);
    let opened = read(&bytes).unwrap().remove(0);
    let head = HeadId::single(0, 0);
    assert_eq!(opened.model().name, "some file");
    assert!(opened.model().stacks[0].causal);
    assert_eq!(attention::pattern(&opened, head).unwrap().get(2, 2), Some(0.5));
    assert!(opened.q(head).is_none());
    assert_eq!(opened.tokens(Side::Only)[2].text, "2", "positions stand in for tokens");
    assert_eq!(opened.notes().len(), 2, "no tokens, one tensor ignored: {:?}", opened.notes());
    assert!(matches!(opened.model().modality, Modality::Text(TextSpec { n_ctx: 3, .. })));
}

#[test]
fn another_scale_and_another_direction_are_named() {
    let rows = [0.7, 0.2, 0.1, 0.3, 0.3, 0.4, 0.1, 0.6, 0.3];
    let turned = [0, 3, 6, 1, 4, 7, 2, 5, 8].map(|at| rows[at]).to_vec();
    let of = |values: Vec<f32>| foreign(&[("self.0.pattern", &[1, 3, 3], values)], &[]);
    assert!(read(&of(rows.to_vec())).is_ok());
    refused(&of(rows.map(|weight| 100.0 * weight).to_vec()), &["sums to 100", "per cent: divide them by 100"]);
    refused(&of(turned), &["the other way round", "exchange the last two axes"]);
    refused(&of(rows.map(|weight| 0.5 * weight).to_vec()), &["sums to 0.5", "\"rows\": \"partial\""]);
}

/// What a file says of its rows is held against them.
#[test]
fn a_file_that_calls_itself_causal_is_not_believed() {
    let bytes = write(&[&synthetic::text_capture(6, 1, 2)], Contents::DEFAULT);
    let at = bytes.windows(14).position(|it| it == b"causal\\\":false").unwrap() + 9;
    let mut declared = bytes.clone();
    declared[at..at + 5].copy_from_slice(b"true ");
    let [honest, other] = [bytes, declared].map(|bytes| read(&bytes).unwrap().remove(0));
    assert!(honest.notes().is_empty() && !other.model().stacks[0].causal);
    let note = other.notes().concat();
    assert!(note.contains("says that its self attention is causal") && note.contains("later tokens"), "{note}");
}

#[test]
fn grouped_keys_and_cross_attention_of_another_program() {
    let tensors: [(&str, &[usize], Vec<f32>); 5] = [
        ("cross.0.pattern", &[4, 2, 3], uniform(4, 2, 3)),
        ("cross.0.q", &[4, 2, 5], vec![0.1; 40]),
        ("cross.0.k", &[2, 3, 5], vec![0.2; 30]),
        ("encoder.1.pattern", &[1, 3, 3], uniform(1, 3, 3)),
        ("decoder.0.pattern", &[1, 2, 2], uniform(1, 2, 2)),
    ];
    let tokens = r#"{"encoder":[{"text":"a"},{"text":"b"},{"text":"c"}],"decoder":[{"text":"x","id":7},{"text":"y"}]}"#;
    let opened = read(&foreign(&tensors, &[("tokens", tokens)])).unwrap().remove(0);
    let layer = opened.model().stack(StackKind::Cross).unwrap().layers[0];
    assert_eq!((layer.n_heads, layer.n_kv_heads, layer.d_head), (4, 2, 5));
    assert_eq!(opened.key_tokens(StackKind::Cross)[2].text, "c");
    assert_eq!(opened.query_tokens(StackKind::Cross)[0].id, Some(7));
    assert_eq!(opened.stack(StackKind::Encoder).unwrap().layers.len(), 2, "layer 0 is there, and empty");
    assert!(opened.notes().is_empty(), "{:?}", opened.notes());
}

#[test]
fn rows_that_nearly_sum_to_one_are_accepted_with_a_note() {
    let pattern = |sum: f32| foreign(&[("cross.0.pattern", &[1, 1, 2], vec![sum - 0.5, 0.5])], &[]);
    let notes = |sum: f32| read(&pattern(sum)).unwrap()[0].notes().join(" ");
    assert!(!notes(1.0005).contains("sum of 1"));
    assert!(notes(1.005).contains("cross.0.pattern"), "{}", notes(1.005));
    refused(&pattern(1.02), &["cross.0.pattern", "do not sum to 1", "head 0, query 0", "1.02"]);
    refused(&pattern(3.0), &["cross.0.pattern"]);
}

#[test]
fn bad_values_are_refused_by_name() {
    let pattern = |values: [f32; 4]| foreign(&[("self.3.pattern", &[1, 2, 2], values.to_vec())], &[]);
    refused(&pattern([0.5, 0.5, f32::NAN, 1.0]), &["self.3.pattern", "not a number", "[0, 1, 0]"]);
    refused(&pattern([1.5, -0.5, 0.5, 0.5]), &["self.3.pattern", "negative", "-0.5"]);
    refused(&pattern([0.0, 0.0, 0.5, 0.5]), &["self.3.pattern", "sum to 1"]);
    refused(&pattern([f32::INFINITY, 0.0, 0.5, 0.5]), &["self.3.pattern"]);
    let with_q = |value| {
        let q = ("self.0.q", &[1, 2, 1][..], vec![value, 1.0]);
        foreign(&[("self.0.pattern", &[1, 2, 2], uniform(1, 2, 2)), q], &[])
    };
    refused(&with_q(f32::NAN), &["self.0.q"]);
    refused(&with_q(f32::NEG_INFINITY), &["self.0.q"]);
    assert!(read(&with_q(-1.0)).is_ok());
}

#[test]
fn bad_shapes_are_refused_by_name() {
    let good: (&str, &[usize], Vec<f32>) = ("self.0.pattern", &[2, 3, 3], uniform(2, 3, 3));
    let with = |name, shape, n| foreign(&[good.clone(), (name, shape, vec![0.25; n])], &[]);
    refused(&with("self.1.pattern", &[1, 2, 4], 8), &["self.1.pattern"]);
    refused(&foreign(&[("self.0.pattern", &[1, 1, 2], vec![0.5; 2])], &[]), &["self.0.pattern", "not square"]);
    refused(&with("self.1.pattern", &[4, 4], 16), &["self.1.pattern", "2 axes where 3"]);
    refused(&with("self.1.pattern", &[1, 4, 4], 16), &["self.1.pattern", "4 positions", "self.0.pattern has 3"]);
    refused(&with("self.0.q", &[1, 3, 4], 12), &["self.0", "heads where"]);
    refused(&with("self.0.k", &[2, 2, 4], 16), &["self.0.k", "2 positions"]);
    refused(&with("self.0.v", &[0, 3, 4], 0), &["self.0.v", "empty"]);
    refused(&with("self.0.resid_pre", &[4], 4), &["self.0.resid_pre", "1 axes where 2"]);
    refused(&with("logits", &[1, 2, 2], 4), &["logits", "axes"]);
    refused(&with("self.4000000000.q", &[2, 3, 1], 6), &["self.4000000000.q", "layer number"]);
    let far = foreign(&[("self.4000000000.pattern", &[1, 1, 1], vec![1.0])], &[]);
    refused(&far, &["self.4000000000.pattern", "layer number"]);
    let tokens = r#"{"self":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]}"#;
    refused(&foreign(std::slice::from_ref(&good), &[("tokens", tokens)]), &["self.0.pattern", "4 self tokens"]);
    let three: [(&str, &[usize], Vec<f32>); 2] =
        [("self.0.q", &[3, 2, 4], vec![0.0; 24]), ("self.0.k", &[2, 2, 4], vec![0.0; 16])];
    refused(&foreign(&three, &[]), &["self.0", "cannot share"]);
}

#[test]
fn lying_headers_are_refused_before_anything_is_allocated() {
    let entry = |shape: &str, offsets: &str| {
        with_header(
            &format!(r#"{{"self.0.pattern":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#),
            &1f32.to_le_bytes(),
        )
    };
    assert!(read(&entry("[1,1,1]", "[0,4]")).is_ok());
    for (shape, offsets) in [
        ("[1000,1000,1000]", "[0,4]"),
        ("[1000,1000,1000]", "[0,4000000000]"),
        ("[18446744073709551615,18446744073709551615,2]", "[0,4]"),
        ("[4611686018427387905,1,1]", "[0,4]"),
        ("[1,1,1]", "[4,0]"),
        ("[1,1,1]", "[4,8]"),
    ] {
        refused(&entry(shape, offsets), &["self.0.pattern"]);
    }
    refused(&entry("[-1,1,1]", "[0,4]"), &["self.0.pattern", "shape"]);
    let overlapping = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    refused(&with_header(overlapping, &[0; 4]), &["b", "begin"]);
    let gap = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
    refused(&with_header(gap, &[0; 8]), &["a", "begin"]);
    let short = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    refused(&with_header(short, &[0; 8]), &["length"]);
    refused(b"", &["too short"]);
    refused(&u64::MAX.to_le_bytes(), &["header"]);
    refused(&with_header("{", &[]), &["header"]);
    refused(&with_header("[]", &[]), &["header"]);
    refused(&with_header(&"[".repeat(100_000), &[]), &["header"]);
    refused(b"PK\x03\x04 and so on, a picture perhaps", &["header"]);
}

#[test]
fn bad_names_and_types_are_refused_by_name() {
    let named = |name: &str| foreign(&[(name, &[1, 1, 1], vec![1.0])], &[]);
    for name in ["../x.pattern", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "input0/../self.0.pattern"] {
        refused(&named(name), &["looks like a path"]);
    }
    let long = refusal(&named(&("x".repeat(5000) + "..")));
    assert!(long.len() < 200, "a long name does not flood the window: {long}");
    let listed =
        foreign(&[("self.0.pattern", &[1, 2, 2], uniform(1, 2, 2))], &[("tokens", r#"{"self":["[CLS]","a"]}"#)]);
    let tokens = read(&listed).unwrap()[0].tokens(Side::Only).to_vec();
    assert_eq!(
        tokens.iter().map(|t| (t.text.as_str(), t.special)).collect::<Vec<_>>(),
        [("[CLS]", true), ("a", false)]
    );
    let twice = r#"{"self.0.pattern":{"dtype":"F32","shape":[1,1,1],"data_offsets":[0,4]},
        "self.0.pattern":{"dtype":"F32","shape":[1,1,1],"data_offsets":[4,8]}}"#;
    refused(&with_header(twice, &[0; 8]), &["self.0.pattern", "twice"]);
    let disguised = foreign(
        &[("input0/self.0.pattern", &[1, 1, 1], vec![1.0]), ("input00/self.0.pattern", &[1, 1, 1], vec![1.0])],
        &[],
    );
    refused(&disguised, &["twice"]);
    let half = r#"{"self.0.pattern":{"dtype":"F16","shape":[1,1,2],"data_offsets":[0,4]}}"#;
    refused(&with_header(half, &[0; 4]), &["self.0.pattern", "F16", "float32"]);
    refused(&named("model.embeddings.weight"), &["no attention"]);
    refused(&named("self.0.q"), &["no attention"]);
}

#[test]
fn bad_descriptions_are_refused_or_ignored() {
    let pattern: [(&str, &[usize], Vec<f32>); 1] = [("self.0.pattern", &[1, 2, 2], uniform(1, 2, 2))];
    let with = |key, text| foreign(&pattern, &[(key, text)]);
    refused(&with("model", "not json"), &["model"]);
    refused(&with("tokens", r#"{"self":[1,2]}"#), &["tokens"]);
    let layers = r#"{"stacks":[{"name":"self","layers":1000000000,"heads":1}]}"#;
    refused(&with("model", layers), &["self", "1000000000 layers"]);
    let heads = r#"{"stacks":[{"name":"self","layers":1,"heads":9}]}"#;
    refused(&with("model", heads), &["self.0.pattern", "1 heads where 9"]);
    let fewer = r#"{"stacks":[{"name":"self","layers":0,"heads":1}]}"#;
    refused(&with("model", fewer), &["self.0.pattern", "layer"]);
    let grid = r#"{"grid_height":9223372036854775807,"grid_width":5,"n_prefix":1,"patch_height":8,"patch_width":8}"#;
    refused(&with("image", grid), &["image", "2 tokens"]);
    let newer = foreign(&pattern, &[("format", "attnscope-capture"), ("version", "2")]);
    refused(&newer, &["version 2", "newer"]);
    // A span that would cut a letter in two, or lies outside the text, is no span.
    let spans = foreign(
        &pattern,
        &[
            ("tokens", r#"{"self":[{"text":"ä","start":0,"end":1},{"text":"b","start":5,"end":900}]}"#),
            ("input", r#"{"text":"äb"}"#),
        ],
    );
    let opened = read(&spans).unwrap().remove(0);
    assert!(opened.tokens(Side::Only).iter().all(|token: &Token| token.span == (0..0)));
    assert_eq!(opened.input().text.as_deref(), Some("äb"));
}

#[test]
fn a_truncated_or_flipped_file_never_panics() {
    let bytes = write(&[&synthetic::text_capture(3, 1, 1)], Contents::DEFAULT);
    for len in (0..bytes.len()).step_by(7) {
        assert!(read(&bytes[..len]).is_err());
    }
    let mut random = synthetic::Random(11);
    let mut n_refused = 0;
    for _ in 0..300 {
        let mut broken = bytes.clone();
        let at = (random.next() % broken.len() as u64) as usize;
        broken[at] ^= 1 << (random.next() % 8);
        n_refused += usize::from(read(&broken).is_err());
    }
    assert!(n_refused > 0);
}

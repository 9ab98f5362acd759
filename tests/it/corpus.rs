//! Corpora: lists of inputs from files' bytes, and queries and keys of many inputs by column.

use std::sync::Arc;

use attnscope::{
    analysis::PointCloud,
    capture::Capture,
    corpus::{
        Corpus, CorpusError, CorpusView, Filter, Kept, Label, Selection, SortBy,
        list::{Content, InputList, ListError, ListKind, ListOptions, Split},
    },
    ids::{HeadId, Side, StackKind},
    model::{Engine, Input, Logits, Model, ModelFiles, RunPlan, Site, Sites, locate, uninterrupted},
};

use crate::support::synthetic;

fn parse(text: impl AsRef<[u8]>, kind: ListKind, column: Option<&str>) -> Result<InputList, ListError> {
    let options = ListOptions { text_column: column.map(str::to_owned), ..ListOptions::default() };
    InputList::parse(text.as_ref(), kind, &options)
}

fn texts(list: &InputList) -> Vec<&str> {
    let contents = list.items.iter().map(|item| &item.content);
    contents.filter_map(|content| if let Content::Text(text) = content { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn a_table_has_texts_with_annotations() {
    let table = "\u{FEFF}id;Review;stars\r\n1;\"A film; with \"\"quotes\"\"\r\nand a second line\";5\r\n\r\n2;Short;\r\n3;;4\r\n";
    let list = parse(table, ListKind::Table, None).unwrap();
    assert_eq!(texts(&list), ["A film; with \"quotes\"\r\nand a second line", "Short"]);
    assert_eq!(list.columns, ["id", "stars"]);
    assert_eq!(list.items[1].values, [Some("2".to_owned()), None]);
    assert_eq!(list.notes, ["The column “Review” was taken for the text", "1 input without a text left out"]);

    // Without a telling name the longest column is the text; a name that is given decides.
    let table = "a,b\nx,much longer than the other\n";
    assert_eq!(texts(&parse(table, ListKind::Table, None).unwrap()), ["much longer than the other"]);
    assert_eq!(texts(&parse(table, ListKind::Table, Some("A")).unwrap()), ["x"]);
    // A single column needs no remark, and a last line no end.
    let list = parse("label\nfirst\nsecond", ListKind::Table, None).unwrap();
    assert_eq!((texts(&list), list.notes.len()), (vec!["first", "second"], 0));
    let long = format!("text\tx\n{}\t1\n", "long ".repeat(5000));
    assert_eq!(texts(&parse(long, ListKind::Table, None).unwrap())[0].len(), 25_000);
}

#[test]
fn json_gives_the_same_lists() {
    let objects = r#"[{"text": "One", "n": 1, "tags": ["a"]}, {"text": "Two", "label": "b", "n": null}, {"text": ""}]"#;
    let list = parse(objects, ListKind::Json, None).unwrap();
    assert_eq!(texts(&list), ["One", "Two"]);
    assert_eq!(list.columns, ["n", "tags", "label"]);
    assert_eq!(
        list.annotations(&list.items[0]),
        [("n".to_owned(), "1".to_owned()), ("tags".to_owned(), "[\"a\"]".to_owned())]
    );
    let lines = "{\"text\": \"One\"}\n\n{\"text\": \"Two\", \"n\": 2}\n";
    assert_eq!(texts(&parse(lines, ListKind::JsonLines, None).unwrap()), ["One", "Two"]);
    assert_eq!(texts(&parse(r#"["One", "Two"]"#, ListKind::Json, None).unwrap()), ["One", "Two"]);
    assert_eq!(texts(&parse("\"One\"\n\"Two\"", ListKind::JsonLines, None).unwrap()), ["One", "Two"]);
}

#[test]
fn plain_text_has_an_input_a_line_or_a_sentence() {
    let text = "A first\nline. A second (2.5 m)?\n\n  \nAnother paragraph!\n";
    assert_eq!(
        texts(&parse(text, ListKind::Text, None).unwrap()),
        ["A first", "line. A second (2.5 m)?", "Another paragraph!"]
    );
    let options = ListOptions { split: Split::Sentences, ..ListOptions::default() };
    let list = InputList::parse(text.as_bytes(), ListKind::Text, &options).unwrap();
    assert_eq!(texts(&list), ["A first line.", "A second (2.5 m)?", "Another paragraph!"]);
    let paragraphs: Vec<_> = list.items.iter().map(|item| item.values[0].as_deref()).collect();
    assert_eq!(paragraphs, [Some("1"), Some("1"), Some("2")]);
    assert_eq!(parse("line\n".repeat(1_000_000), ListKind::Text, None).unwrap().items.len(), 1_000_000);
}

#[test]
fn lists_that_cannot_be_read_say_why() {
    let cases: [(&[u8], ListKind, Option<&str>, &str); 15] = [
        (b"", ListKind::Text, None, "the file is empty"),
        (b" \n\t\n", ListKind::Table, None, "the file is empty"),
        (b"text,label\n", ListKind::Table, None, "a header and no rows"),
        (b"text\n\"\"\n", ListKind::Table, None, "all of its texts are empty"),
        (b"a,b\n1,2\n", ListKind::Table, Some("text"), "no column “text”; there are a, b"),
        (b"one line\n", ListKind::Text, Some("review"), "without columns, so none is called “review”"),
        (b"a,b\n1,2\n1,2,3\n", ListKind::Table, None, "row 2 has 3 fields, but the header has 2"),
        (b"a,b\n1,2\n\"1,2\n3,4\n", ListKind::Table, None, "row 2 begins a quotation that never ends"),
        (b"\x89PNG\xFF\0\0", ListKind::Text, None, "byte 0 cannot be read"),
        (b"text\0\0", ListKind::Text, None, "byte 4 cannot be read"),
        (b"\xFF\xFEa\0", ListKind::Text, None, "UTF-16"),
        (b"{\"text\": \"a\"}", ListKind::Json, None, "is a list of texts or of objects"),
        (b"[1, 2]", ListKind::Json, None, "entry 1 is neither a text nor an object"),
        (b"\"a\"\n{\"text\": \"b\"}\n", ListKind::JsonLines, None, "line 1 is a text among objects"),
        (b"{\"n\": 1}\nnonsense\n", ListKind::JsonLines, None, "line 2 is not JSON"),
    ];
    for (bytes, kind, column, expected) in cases {
        let said = parse(bytes, kind, column).unwrap_err().to_string();
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let said = parse(r#"[{"body": "x", "n": "y"}]"#, ListKind::Json, Some("text")).unwrap_err().to_string();
    assert_eq!(said, "it has no column “text”; there are body, n");
}

fn demo(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn capture(model: &Model, input: &Input) -> Capture {
    let sites = Sites::of(&[Site::Q, Site::K]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap()
}

fn label(source: usize, name: &str, value: &str) -> Label {
    Label { source, annotations: vec![(name.to_owned(), value.to_owned())], ..Label::default() }
}

const SENTENCES: [(&str, &str); 3] =
    [("Once upon a time there was a cat.", "10"), ("The dog ran.", "9"), ("She saw the cat and the dog.", "x")];

/// Three sentences, annotated.
fn corpus(model: &Model, budget: u64) -> (Corpus, Vec<Capture>) {
    let captures: Vec<_> = SENTENCES.iter().map(|(text, _)| capture(model, &Input::text(*text))).collect();
    let mut corpus = Corpus::new(budget);
    for (source, (capture, (_, value))) in captures.iter().zip(SENTENCES).enumerate() {
        corpus.append(capture, &label(source, "rank", value)).unwrap();
    }
    (corpus, captures)
}

/// Rows of one head of some captures, one after the other.
fn joined<'a>(captures: impl IntoIterator<Item = &'a Capture>, head: HeadId) -> (Vec<f32>, Vec<f32>) {
    let (mut q, mut k) = (Vec::new(), Vec::new());
    for capture in captures {
        q.extend_from_slice(capture.q(head).unwrap().as_slice());
        k.extend_from_slice(capture.k(head).unwrap().as_slice());
    }
    (q, k)
}

#[test]
fn a_head_s_queries_and_keys_are_those_of_its_inputs() {
    let model = demo("demo:gpt");
    let (corpus, captures) = corpus(&model, u64::MAX);
    let stack = &model.spec().stacks[0];
    assert_eq!(corpus.heads().count(), stack.layers.iter().map(|layer| layer.n_heads).sum::<usize>());
    for head in corpus.heads() {
        let space = corpus.space(head, &corpus.all()).unwrap();
        let (q, k) = joined(&captures, head);
        assert_eq!((space.queries.as_slice(), space.keys.as_slice()), (&q[..], &k[..]), "{head}");
        for (norms, rows) in [(corpus.query_norms(head), &space.queries), (corpus.key_norms(head), &space.keys)] {
            let expected: Vec<f32> = rows.rows().map(|row| row.iter().map(|x| x * x).sum::<f32>().sqrt()).collect();
            for (norm, expected) in norms.unwrap().iter().zip(&expected) {
                assert!((norm - expected).abs() <= 1e-5 * expected, "{head}: {norm} {expected}");
            }
        }
    }
    // The rows name the tokens.
    let space = corpus.space(HeadId::single(0, 0), &Selection::of([2, 0])).unwrap();
    let (q, _) = joined([&captures[2], &captures[0]], HeadId::single(0, 0));
    assert_eq!(space.queries.as_slice(), q);
    let mut rows = space.query_rows.iter();
    for input in [2, 0] {
        for (position, token) in captures[input].tokens(Side::Only).iter().enumerate() {
            let row = corpus.token(Side::Only, *rows.next().unwrap() as usize).unwrap();
            assert_eq!((row.input, row.position, row.id, row.text), (input, position, token.id, token.text.as_str()));
        }
    }
    assert!(rows.next().is_none());
    // Equal texts share a number, and are counted.
    let dogs: Vec<_> = (0..corpus.n_tokens(Side::Only))
        .filter_map(|row| corpus.token(Side::Only, row))
        .filter(|token| token.text.trim_matches(|c: char| !c.is_alphabetic()) == "dog")
        .collect();
    assert_eq!(dogs.iter().map(|token| token.input).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(dogs[0].text_number, dogs[1].text_number);
    assert_eq!(corpus.frequencies(Side::Only)[dogs[0].text_number as usize], 2);
}

#[test]
fn keys_that_heads_share_are_kept_once() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/families/qwen3");
    let files = ModelFiles::open(&folder).unwrap();
    let model = Model::load(&files, "qwen3", &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let layer = model.spec().stacks[0].layers[0];
    assert!(layer.n_kv_heads < layer.n_heads, "the fixture shares keys");
    let captures: Vec<_> = [3, 5].map(|n| capture(&model, &Input::Ids((1..=n).collect()))).into();
    let captures: Vec<_> = captures.into_iter().map(Arc::new).collect();
    let corpus = Corpus::from_captures(&captures, Kept::default(), u64::MAX).unwrap();
    for head in 0..layer.n_heads {
        let head = HeadId::single(0, head);
        let (q, k) = joined(captures.iter().map(Arc::as_ref), head);
        let space = corpus.space(head, &corpus.all()).unwrap();
        assert_eq!((space.queries.as_slice(), space.keys.as_slice()), (&q[..], &k[..]));
    }
    // The estimate counts shared keys once, and is what the columns take.
    let estimate =
        Corpus::estimate_bytes(model.spec(), None, Kept::default(), |side| if side == Side::Only { 8 } else { 0 });
    let per_row = (layer.n_heads + layer.n_kv_heads) * (layer.d_head + 1) * model.spec().stacks[0].layers.len();
    assert_eq!(estimate, (8 * (4 * per_row + 18)) as u64);
    assert!(corpus.size_bytes() >= estimate);
}

#[test]
fn cross_attention_has_tokens_of_two_sides() {
    let model = demo("demo:translate");
    let input = Input::text("The cat sleeps.").with_target(Input::text("Die Katze"));
    let corpus = Corpus::from_captures(&[Arc::new(capture(&model, &input))], Kept::default(), u64::MAX).unwrap();
    let head = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };
    let space = corpus.space(head, &corpus.all()).unwrap();
    assert_eq!(space.query_rows.len(), corpus.n_tokens(Side::Decoder));
    assert_eq!(space.key_rows.len(), corpus.n_tokens(Side::Encoder));
    assert_eq!([space.queries.n_rows(), space.keys.n_rows()], [space.query_rows.len(), space.key_rows.len()]);
}

#[test]
fn a_corpus_keeps_to_its_budget() {
    let model = demo("demo:gpt");
    let (whole, captures) = corpus(&model, u64::MAX);
    let budget = whole.size_bytes() * 2 / 3;
    let mut small = Corpus::new(budget);
    let n = captures.iter().take_while(|capture| small.append(capture, &Label::default()).is_ok()).count();
    assert!((1..3).contains(&n), "{n}");
    let before = small.space(HeadId::single(0, 0), &small.all()).unwrap().queries;
    let error = small.append(&captures[n], &Label::default()).unwrap_err();
    assert!(matches!(error, CorpusError::Full { n_inputs, .. } if n_inputs == n));
    assert!(error.to_string().contains(&format!("The {n} input")), "{error}");
    assert!(small.size_bytes() <= budget, "{} {budget}", small.size_bytes());
    assert_eq!(small.space(HeadId::single(0, 0), &small.all()).unwrap().queries, before);
    // Where one was taken out there is room again.
    small.remove(&[0]);
    small.append(&captures[0], &Label::default()).unwrap();
    assert!(small.size_bytes() <= budget);
}

#[test]
fn inputs_are_filtered_sorted_and_removed() {
    let model = demo("demo:gpt");
    let (mut corpus, captures) = corpus(&model, u64::MAX);
    let filtered = |filter: Filter| corpus.filtered(&corpus.all(), &filter).inputs().to_vec();
    assert_eq!(filtered(Filter::Text("CAT".to_owned())), [0, 2]);
    let annotation = "rank".to_owned();
    assert_eq!(filtered(Filter::Equal { annotation: annotation.clone(), value: "x".to_owned() }), [2]);
    assert_eq!(filtered(Filter::Between { annotation: annotation.clone(), from: 9.0, to: 9.5 }), [1]);
    let n = captures[1].tokens(Side::Only).len();
    assert_eq!(filtered(Filter::Tokens { from: 0, to: n }), [1]);
    let sorted = |by: SortBy, descending| corpus.sorted(&corpus.all(), &by, descending).inputs().to_vec();
    // Numbers by their size, not by their digits.
    assert_eq!(sorted(SortBy::Annotation(annotation.clone()), false), [1, 0, 2]);
    assert_eq!(sorted(SortBy::Name, true), [1, 2, 0]);
    assert_eq!(sorted(SortBy::Tokens, false)[0], 1);
    assert_eq!(sorted(SortBy::Source, true), [2, 1, 0]);

    // What stays keeps its tokens, annotations, queries and keys.
    corpus.keep(&Selection::of([2, 1]));
    assert_eq!(corpus.inputs().iter().map(|input| input.source).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(corpus.annotation(1, &annotation), Some("9"));
    for head in corpus.heads() {
        let (q, k) = joined([&captures[2], &captures[1]], head);
        let space = corpus.space(head, &corpus.all()).unwrap();
        assert_eq!((space.queries.as_slice(), space.keys.as_slice()), (&q[..], &k[..]), "{head}");
        assert_eq!(corpus.query_norms(head).unwrap().len(), space.queries.n_rows());
    }
    let second = corpus.inputs()[1].tokens(Side::Only);
    assert_eq!(second.len(), n);
    assert!(second.clone().all(|row| corpus.token(Side::Only, row).unwrap().input == 1));
    corpus.remove(&[0, 1]);
    assert_eq!((corpus.inputs().len(), corpus.n_tokens(Side::Only)), (0, 0));
}

#[test]
fn captures_that_do_not_belong_together_are_refused() {
    let (gpt, bert) = (demo("demo:gpt"), demo("demo:bert"));
    let (mut corpus, captures) = corpus(&gpt, u64::MAX);
    let size = corpus.size_bytes();
    let other = capture(&bert, &Input::text("Hello"));
    let part = gpt
        .forward(
            &gpt.encode(&Input::text("Hello")).unwrap(),
            &RunPlan { layers: Some(vec![0]), ..RunPlan::default() },
            &uninterrupted,
        )
        .unwrap();
    let silent = RunPlan { sites: Sites::NONE, ..RunPlan::default() };
    let silent = gpt.forward(&gpt.encode(&Input::text("Hello")).unwrap(), &silent, &uninterrupted).unwrap();
    for (capture, expected) in [
        (&other, "“Hello” is of demo:bert, but the corpus is of demo:gpt"),
        (&part, "other layers"),
        (&silent, "no queries and keys"),
    ] {
        let said = corpus.append(capture, &Label::default()).unwrap_err().to_string();
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!((corpus.inputs().len(), corpus.size_bytes()), (captures.len(), size));
}

#[test]
fn inputs_of_a_corpus_and_one_input_are_clouds_alike() {
    let captures = [3, 4, 5].map(|n| Arc::new(synthetic::text_capture(n, 2, 2)));
    let corpus = Arc::new(Corpus::from_captures(&captures, Kept::default(), u64::MAX).unwrap());
    // The last input, then the first.
    let view = Arc::new(CorpusView::new(corpus, Selection::of([2, 0, 9])));
    let (side, stack) = (Side::Only, StackKind::SelfAttention);
    let cloud = PointCloud::Inputs(Arc::clone(&view));
    assert_eq!((cloud.n_inputs(), cloud.n(side), view.input_of(side, 8)), (2, 8, None));
    assert_eq!(cloud.segments(stack).iter().map(|it| it.keys.clone()).collect::<Vec<_>>(), [0..5, 5..8]);
    let one = [&captures[2], &captures[0]].map(|capture| PointCloud::Input(Arc::clone(capture)));
    let at = |cloud: &PointCloud, point| {
        cloud.token(side, point).map(|it| (it.position, it.n_positions, it.text.to_owned()))
    };
    for point in 0..8 {
        let (input, position) = if point < 5 { (0, point) } else { (1, point - 5) };
        assert_eq!(at(&cloud, point), at(&one[input], position));
        assert_eq!(cloud.token(side, point).unwrap().input, input);
        assert_eq!(cloud.point(side, input, position), Some(point));
    }
    assert_eq!((cloud.point(side, 0, 5), cloud.point(side, 2, 0)), (None, None), "beyond an input, beyond the inputs");
    let words = one
        .iter()
        .zip([0, 5])
        .flat_map(|(one, start)| one.words(side).into_iter().map(move |word| word.start + start..word.end + start));
    assert_eq!(cloud.words(side), words.collect::<Vec<_>>());
    for head in cloud.heads(stack) {
        let joint = cloud.queries_and_keys(head).unwrap();
        let each = one.each_ref().map(|one| one.queries_and_keys(head).unwrap());
        for which in [0, 1] {
            assert_eq!(joint[which].as_slice(), [each[0][which].as_slice(), each[1][which].as_slice()].concat());
        }
    }
}

#[test]
fn texts_of_a_table_are_taken_apart_and_keep_what_is_known_of_their_row() {
    let options = ListOptions { text_column: Some("note".to_owned()), split: Split::Sentences, groups_column: None };
    let table = "id,note,title\n1,The cat sat. It slept!,A\n2,A dog ran.,B\n";
    let list = InputList::parse(table.as_bytes(), ListKind::Table, &options).unwrap();
    let texts: Vec<(&Content, Vec<(String, String)>)> =
        list.items.iter().map(|item| (&item.content, list.annotations(item))).collect();
    let of = |text: &str, id: &str, title: &str| {
        (Content::Text(text.to_owned()), vec![("id".to_owned(), id.to_owned()), ("title".to_owned(), title.to_owned())])
    };
    let expected = [of("The cat sat.", "1", "A"), of("It slept!", "1", "A"), of("A dog ran.", "2", "B")];
    assert!(texts.iter().map(|(text, known)| ((*text).clone(), known.clone())).eq(expected), "{texts:?}");
    assert_eq!(list.text_columns, ["note", "id", "title"], "the one that was taken comes first");
    let lines = b"{\"n\": 1, \"body\": \"One. Two.\", \"by\": \"x\"}";
    let list = InputList::parse(lines, ListKind::JsonLines, &ListOptions { text_column: None, ..options }).unwrap();
    assert_eq!((list.items.len(), list.text_columns), (2, vec!["body".to_owned(), "by".to_owned()]));
}

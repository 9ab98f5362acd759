//! Attention of many inputs added up, against the patterns of single runs; colours, filters and patches of a cloud.

use std::{path::Path, sync::Arc};

use attnscope::{
    analysis::{
        PointCloud, Space, aggregate,
        aggregate::AggregateError,
        attention,
        filter::{Condition, Is, filter},
        lengths_of,
        projection::{AnnotationKey, ColorBy, Meaning, PointValues, SizeBy, Sizing, Tint, looks, tints, values},
    },
    capture::{Capture, Matrix, THUMBNAIL_PX},
    corpus::{Corpus, CorpusView, Label, Selection},
    ids::{HeadId, Side},
    model::{Engine, Input, Logits, Model, ModelFiles, RunPlan, Site, Sites, locate, uninterrupted},
};

use crate::support::synthetic;

const QK: Space = Space::QueriesKeys;

const HEAD: HeadId = HeadId::single(1, 2);

fn demo(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn fixture(name: &str) -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/families").join(name);
    Model::load(&ModelFiles::open(&folder).unwrap(), name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap()
}

fn run(model: &Model, input: &Input) -> Capture {
    let sites = Sites::of(&[Site::Q, Site::K, Site::V, Site::Pattern]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap()
}

fn cloud(captures: &[Arc<Capture>], annotations: &[(&str, &[&str])]) -> PointCloud {
    let mut corpus = Corpus::new(u64::MAX);
    for (source, capture) in captures.iter().enumerate() {
        let values = annotations.iter().map(|(name, values)| ((*name).to_owned(), values[source].to_owned()));
        let values = values.filter(|(_, value)| !value.is_empty()).collect();
        corpus.append(capture, &Label { source, annotations: values, ..Label::default() }).unwrap();
    }
    PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))))
}

fn near(actual: f32, expected: f64) {
    assert!((f64::from(actual) - expected).abs() < 2e-6, "{actual} is not {expected}");
}

const TEXTS: [&str; 3] = ["Once upon a time there was a cat.", "The dog ran.", "She saw the cat and the dog."];

#[test]
fn attention_of_a_corpus_is_the_mean_of_its_inputs() {
    let model = demo("demo:gpt");
    let captures: Vec<Arc<Capture>> = TEXTS.iter().map(|text| Arc::new(run(&model, &Input::text(*text)))).collect();
    let cloud = cloud(&captures, &[("who", &["cat", "dog", "cat"])]);
    let patterns: Vec<_> = captures.iter().map(|capture| capture.stored_pattern(HEAD).unwrap()).collect();

    // Every pattern is what the run stored.
    let mut n = 0;
    aggregate::patterns(&cloud, HEAD, &mut |nth, segment, pattern| {
        assert_eq!((segment.queries.len(), pattern.n_cols()), (patterns[nth].n_rows(), patterns[nth].n_cols()));
        for (a, b) in pattern.as_slice().iter().zip(patterns[nth].as_slice()) {
            near(*a, f64::from(*b));
        }
        n += 1;
        true
    })
    .unwrap();
    assert_eq!(n, 3);

    let received = aggregate::received(&cloud, HEAD).unwrap();
    let mut point = 0;
    for pattern in &patterns {
        for key in 0..pattern.n_cols() {
            near(received[point], pattern.rows().map(|row| f64::from(row[key])).sum());
            point += 1;
        }
    }

    // By position: the mean over the inputs that are long enough, rows brought back to one.
    let mean = aggregate::by_position(&cloud, HEAD, &mut |_| true).unwrap();
    let longest = patterns.iter().map(Matrix::n_rows).max().unwrap();
    assert_eq!(mean.pattern.shape(), [longest; 2]);
    for query in 0..longest {
        let those = || patterns.iter().filter(|pattern| pattern.n_rows() > query);
        assert_eq!(mean.n_inputs[query] as usize, those().count());
        let weight = |key: usize| {
            let having: Vec<f64> = those().filter_map(|pattern| pattern.get(query, key)).map(f64::from).collect();
            if having.is_empty() { 0.0 } else { having.iter().sum::<f64>() / having.len() as f64 }
        };
        let mass: f64 = (0..longest).map(weight).sum();
        for key in 0..longest {
            near(mean.pattern.get(query, key).unwrap(), weight(key) / mass);
        }
    }

    // The standard deviation, and the share of the attention that positions fix.
    let (mut changing, mut from_uniform) = (0.0, 0.0);
    for (query, key) in (0..longest).flat_map(|query| (0..=query).map(move |key| (query, key))) {
        let weights: Vec<f64> = patterns.iter().filter_map(|pattern| pattern.get(query, key)).map(f64::from).collect();
        let n = weights.len() as f64;
        let center = weights.iter().sum::<f64>() / n;
        let variance = weights.iter().map(|weight| (weight - center).powi(2)).sum::<f64>() / (n - 1.0);
        near(mean.deviation.get(query, key).unwrap(), if n > 1.0 { variance.sqrt() } else { 0.0 });
        if n > 1.0 {
            changing += n * variance;
            from_uniform += weights.iter().map(|weight| (weight - 1.0 / (query as f64 + 1.0)).powi(2)).sum::<f64>();
        }
    }
    assert!((mean.fixed_share.unwrap() - (1.0 - changing / from_uniform)).abs() < 1e-6);

    // By offset, over pairs that a causal mask lets through.
    let (all, by_value) = aggregate::by_offset(&cloud, HEAD, Some("who"), &mut |_| true).unwrap();
    assert_eq!(all.offsets, (1 - longest as i32..=0).collect::<Vec<_>>());
    let before = |chosen: &[usize]| {
        let pairs = chosen.iter().flat_map(|nth| {
            let pattern = &patterns[*nth];
            (1..pattern.n_rows()).map(move |query| f64::from(pattern.get(query, query - 1).unwrap()))
        });
        let pairs: Vec<f64> = pairs.collect();
        pairs.iter().sum::<f64>() / pairs.len() as f64
    };
    near(all.weights[longest - 2], before(&[0, 1, 2]));
    assert_eq!(
        by_value.iter().map(|(value, mean)| (value.as_str(), mean.n_inputs)).collect::<Vec<_>>(),
        [("cat", 2), ("dog", 1)]
    );
    let cat = &by_value[0].1;
    near(cat.weights[cat.weights.len() - 2], before(&[0, 2]));
    assert_eq!(aggregate::by_offset(&cloud, HEAD, None, &mut |_| false).unwrap_err(), AggregateError::Stopped);

    // Every head of a layer with a cap and one with a window, too.
    for name in ["gemma2", "qwen3-window"] {
        let model = fixture(name);
        let captures = [3, 9].map(|n| Arc::new(run(&model, &Input::Ids((1..=n).collect()))));
        let cloud = self::cloud(&captures, &[]);
        for head in cloud.heads(HEAD.stack) {
            aggregate::patterns(&cloud, head, &mut |nth, _, pattern| {
                let stored = captures[nth].stored_pattern(head).unwrap();
                for (a, b) in pattern.as_slice().iter().zip(stored.as_slice()) {
                    near(*a, f64::from(*b));
                }
                true
            })
            .unwrap();
        }
    }
}

#[test]
fn what_queries_and_keys_do_not_decide_is_refused() {
    let model = fixture("bloom");
    let capture = Arc::new(run(&model, &Input::Ids((1..=6).collect())));
    let head = HeadId::single(0, 1);
    let many = cloud(&[Arc::clone(&capture)], &[]);
    let refused = aggregate::received(&many, head).unwrap_err();
    assert_eq!(refused, AggregateError::Biased(head));
    let Meaning::Missing(reason) = tints(&many, QK, head, ColorBy::Received).meaning else { panic!("a colour") };
    assert!(reason.contains("a position bias that"), "{reason}");
    // One input has its bias beside it.
    let one = aggregate::received(&PointCloud::Input(Arc::clone(&capture)), head).unwrap();
    let pattern = attention::pattern(&capture, head).unwrap();
    near(one[2], pattern.rows().map(|row| f64::from(row[2])).sum());
    let none = HeadId::single(0, 99);
    assert_eq!(aggregate::received(&many, none).unwrap_err(), AggregateError::NotRecorded(none));
}

#[test]
fn colours_tell_what_is_known_of_inputs() {
    let model = demo("demo:bert");
    let captures: Vec<Arc<Capture>> = TEXTS.iter().map(|text| Arc::new(run(&model, &Input::text(*text)))).collect();
    let cloud = cloud(&captures, &[("who", &["cat", "dog", "cat"]), ("rank", &["3", "", "1.5"])]);
    let n: Vec<usize> = captures.iter().map(|capture| capture.tokens(Side::Only).len()).collect();
    let head = HeadId::single(0, 0);
    let by_name = |name: &str| ColorBy::from_name(name).unwrap();
    let told = tints(&cloud, QK, head, by_name("annotation:who"));
    assert_eq!(
        told.meaning,
        Meaning::Groups(vec![(Tint::Group(0), "cat".to_owned()), (Tint::Group(1), "dog".to_owned())])
    );
    assert_eq!(
        (told.queries[0], told.keys[n[0]], told.queries[n[0] + n[1]]),
        (Tint::Group(0), Tint::Group(1), Tint::Group(0))
    );
    let told = tints(&cloud, QK, head, by_name("annotation:rank"));
    assert_eq!(told.meaning, Meaning::Scale(["1.50".to_owned(), "3".to_owned()]));
    assert_eq!(
        (told.queries[0], told.queries[n[0]]),
        (Tint::Step(31), Tint::Type),
        "an input without a value has no colour"
    );
    let missing = tints(&cloud, QK, head, ColorBy::Annotation(AnnotationKey::of("mood"))).meaning;
    assert_eq!(missing, Meaning::Missing("the inputs have no such annotation".to_owned()));
    let lengths = tints(&cloud, QK, head, ColorBy::InputLength).meaning;
    let (shortest, longest) = (n.iter().min().unwrap(), n.iter().max().unwrap());
    assert_eq!(lengths, Meaning::Scale([format!("{shortest} tokens"), format!("{longest} tokens")]));
    let counted = tints(&cloud, QK, head, ColorBy::PositionCounted);
    assert_eq!(counted.meaning, Meaning::Scale(["0".to_owned(), (longest - 1).to_string()]));
    assert_eq!(counted.queries[3], counted.keys[n[0] + 3], "the same in every input");
    assert!(matches!(tints(&cloud, QK, head, ColorBy::Input).meaning, Meaning::Groups(names) if names.len() == 3));
    assert!(
        matches!(tints(&cloud, QK, head, ColorBy::ValueNorm).meaning, Meaning::Missing(_)),
        "a corpus keeps no values"
    );
    assert!(matches!(tints(&cloud, QK, head, ColorBy::Hue).meaning, Meaning::Missing(_)));
    let names: Vec<String> = ColorBy::choices(&cloud, QK, head.stack).into_iter().map(|(_, name)| name).collect();
    assert!(
        names.ends_with(&["who".to_owned(), "rank".to_owned()]) && !names.iter().any(|name| name.contains("patch"))
    );

    // One input has values: their lengths, of keys alone.
    let alone = PointCloud::Input(Arc::clone(&captures[0]));
    let PointValues::Numbers(norms) = values(&alone, QK, head, ColorBy::ValueNorm) else { panic!("no values") };
    let expected = captures[0].v(head).unwrap().row(3).unwrap().iter().map(|x| x * x).sum::<f32>().sqrt();
    near(norms.of[1][3], f64::from(expected));
    assert!(norms.of[0].iter().all(|norm| norm.is_nan()));

    // Of many inputs lengths were kept, in the order of those that were selected.
    let PointCloud::Inputs(view) = &cloud else { panic!("one input") };
    let some = PointCloud::Inputs(Arc::new(CorpusView::new(Arc::clone(view.corpus()), Selection::of([2, 0]))));
    let expected: Vec<f32> =
        [&captures[2], &captures[0]].iter().flat_map(|capture| lengths_of(&capture.k(head).unwrap())).collect();
    assert_eq!(some.norms(QK, head)[1], expected);
    let rows = some.queries_and_keys(head).unwrap();
    assert_eq!(some.norms(QK, head), rows.each_ref().map(lengths_of));

    // What colours and sizes both tell has one scale.
    let both = looks(&cloud, QK, head, ColorBy::Norm, SizeBy::Norm);
    let (Meaning::Scale(colours), Sizing::Steps { of, ends, .. }) = (&both.meaning, &both.sizes) else {
        panic!("{both:?}")
    };
    assert_eq!(colours, ends);
    let largest = both.range.unwrap()[1];
    let PointValues::Numbers(numbers) = &both.values else { panic!("no numbers") };
    assert!(
        (0..2).all(|side| numbers.of[side].iter().zip(&of[side]).all(|(norm, step)| *norm < largest || *step == 5))
    );
    assert_eq!(looks(&cloud, QK, head, ColorBy::Norm, SizeBy::Same).sizes, Sizing::Same);
    assert!(matches!(looks(&cloud, QK, head, ColorBy::Type, SizeBy::ValueNorm).sizes, Sizing::Missing(_)));

    // Filters ask what colours tell.
    let ask = |by, is| filter(&cloud, QK, head, &Condition { by, is });
    let dogs = ask(by_name("annotation:who"), Is::OneOf(vec!["dog".to_owned()]));
    assert_eq!(dogs.queries, (n[0] as u32..(n[0] + n[1]) as u32).collect::<Vec<_>>());
    assert_eq!((dogs.keys == dogs.queries, dogs.n_inputs), (true, 1));
    let special = ask(ColorBy::Kind, Is::OneOf(vec!["special".to_owned()]));
    assert_eq!(special.queries.len(), 6, "two in each sentence");
    assert_eq!(ask(by_name("annotation:rank"), Is::Between(1.0, 2.0)).queries.len(), n[2]);
    assert!(ask(ColorBy::Type, Is::Between(0.0, 1.0)).is_empty());
}

/// The same places and colours from a capture and from a corpus, which keeps a small copy of the picture.
#[test]
fn patches_have_places_colours_and_looks() {
    let capture = Arc::new(synthetic::image_capture((4, 6)));
    let many = cloud(&[Arc::clone(&capture), Arc::clone(&capture)], &[]);
    let one = PointCloud::Input(Arc::clone(&capture));
    let n = one.n(Side::Only);
    let head = HeadId::single(0, 0);
    assert_eq!((one.patch(Side::Only, 0), many.patch(Side::Only, n)), (None, None), "CLS is no patch");
    for point in 1..n {
        let (look, same) = (one.patch(Side::Only, point).unwrap(), many.patch(Side::Only, n + point).unwrap());
        assert_eq!(look.thumbnail, same.thumbnail);
        assert_eq!(look.thumbnail.len(), THUMBNAIL_PX * THUMBNAIL_PX);
        assert!(look.hsv.iter().zip(same.hsv).all(|(a, b)| (a - b).abs() < 0.02), "{look:?} {same:?}");
        assert_eq!(many.place(Side::Only, n + point).unwrap().1, ((point - 1) / 6, (point - 1) % 6));
    }
    let numbers = |by| match values(&many, QK, head, by) {
        PointValues::Numbers(numbers) => numbers.of[0].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((numbers(ColorBy::Row)[n + 7], numbers(ColorBy::Column)[n + 9]), (1.0, 2.0));
    near(numbers(ColorBy::Radius)[1], 1.5f64.hypot(2.5));
    assert!(numbers(ColorBy::Brightness)[0].is_nan() && numbers(ColorBy::Saturation)[1] > 0.0);
    let hues = tints(&many, QK, head, ColorBy::Hue);
    assert_eq!((hues.meaning, hues.queries[0]), (Meaning::Hues, Tint::Rest));
    assert!(matches!(hues.queries[1], Tint::Hue(_)));
    // Red lies on both sides of the end.
    let hue = numbers(ColorBy::Hue);
    let reds = filter(&many, QK, head, &Condition { by: ColorBy::Hue, is: Is::Between(0.9, 0.1) });
    let expected = hue.iter().filter(|hue| **hue >= 0.9 || **hue <= 0.1).count();
    assert_eq!(reds.queries.len(), expected);
    let names: Vec<String> = ColorBy::choices(&many, QK, head.stack).into_iter().map(|(_, name)| name).collect();
    assert!(names.iter().any(|name| name == "Hue of the patch") && !names.iter().any(|name| name == "Frequency"));
}

#[test]
fn a_pattern_that_never_changes_is_fixed_and_one_input_tells_nothing() {
    let model = demo("demo:gpt");
    let one = Arc::new(run(&model, &Input::text(TEXTS[0])));
    let of = |captures: &[Arc<Capture>]| aggregate::by_position(&cloud(captures, &[]), HEAD, &mut |_| true).unwrap();
    let twice = of(&[Arc::clone(&one), Arc::clone(&one)]);
    assert!((twice.fixed_share.unwrap() - 1.0).abs() < 1e-9);
    assert!(twice.deviation.as_slice().iter().all(|deviation| *deviation < 1e-6));
    assert_eq!(of(&[one]).fixed_share, None);
}

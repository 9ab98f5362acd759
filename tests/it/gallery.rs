//! Every example of the gallery on its bundled model: what its hint claims is measured, so that a model
//! that is trained anew cannot make the gallery tell stories.

use attnscope::{
    analysis::{
        attention,
        projection::{self, ProjectionOptions},
    },
    capture::{Capture, Token},
    ids::HeadId,
    model::{Engine, ImageSource, Input, Model, RunPlan, locate, uninterrupted},
    session::gallery::{EXAMPLES, Example, ExampleInput},
};

/// What an example has to show, in the head it opens.
enum Claim {
    /// Each query gives the token before it at least so much, on average.
    Previous(f32),
    /// These tokens together get at least so much, on average over the queries behind the eighth.
    Gathers(&'static [&'static str], f32),
    /// The token behind the earlier occurrence of the query's gets at least so much, on average.
    Induction(f32),
    /// The pinned query gives this word more than any other, and at least so much.
    Pinned(&'static str, f32),
    /// Of the source pieces, the second gets most when the first is written.
    Aligns(&'static [(&'static str, &'static str)]),
    /// Distances in the plane follow the products of queries and keys, on average over all heads.
    Near,
    /// Some two heads of the layer differ by so much in the row of some query.
    Differ(f32),
}

fn claim(example: &Example) -> Claim {
    match example.title {
        "Once upon a time" => Claim::Previous(0.35),
        "Full stops and commas" => Claim::Gathers(&[".", ","], 0.6),
        "Repeated words" => Claim::Induction(0.4),
        "A red car" => Claim::Pinned("car", 0.3),
        "Queries and keys" => Claim::Near,
        "A cat" | "A rocket" => Claim::Differ(0.2),
        "Towards a red car" => {
            Claim::Aligns(&[("Frau", "woman"), ("ging", "walking"), ("Straße", "road"), ("Auto", "car")])
        }
        "A white house" => Claim::Aligns(&[("maison", "house"), ("bl", "white"), ("acheté", "bought")]),
        "The verb comes last" => Claim::Aligns(&[("neues", "new"), ("Buch", "book"), ("gekauft", "bought")]),
        title => panic!("nobody checks what {title:?} claims"),
    }
}

fn capture(example: &Example) -> Capture {
    let (files, name) = locate::model(example.model).unwrap();
    let engine = Engine::cpu(Some(1)).unwrap();
    let model = Model::load(&files, &name, &engine, &uninterrupted).unwrap();
    let source = match example.input {
        ExampleInput::Text(text) => Input::text(text),
        ExampleInput::Sample(name) => Input::Image(ImageSource::Bundled(name.to_owned())),
    };
    let input = match example.target {
        Some(target) => source.with_target(Input::text(target)),
        None => source,
    };
    model.forward(&model.encode(&input).unwrap(), &RunPlan::default(), &uninterrupted).unwrap()
}

/// A token without the mark of its leading space.
fn word(token: &Token) -> &str {
    token.text.trim_start_matches(|c: char| !c.is_alphanumeric() && !c.is_ascii_punctuation())
}

fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let values: Vec<f32> = values.collect();
    values.iter().sum::<f32>() / values.len() as f32
}

fn position(tokens: &[Token], text: &str) -> usize {
    tokens.iter().position(|token| word(token) == text).unwrap_or_else(|| panic!("no token {text:?} in {tokens:?}"))
}

/// How far a capture goes along with a claim, and how far it has to; larger is more.
fn measured(claim: &Claim, capture: &Capture, example: &Example) -> (f32, f32) {
    let stack = example.stack.unwrap_or_else(|| capture.model().stacks[0].kind);
    let (layer, head) = example.head.unwrap_or_default();
    let head = HeadId { stack, layer, head };
    let pattern = attention::pattern(capture, head).unwrap();
    let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
    let rows = || pattern.rows().enumerate();
    match *claim {
        Claim::Previous(least) => (mean(rows().skip(1).map(|(query, row)| row[query - 1])), least),
        Claim::Gathers(words, least) => {
            let sum =
                |row: &[f32]| row.iter().zip(keys).filter(|(_, key)| words.contains(&word(key))).map(|(w, _)| w).sum();
            (mean(rows().skip(8).map(|(_, row)| sum(row))), least)
        }
        Claim::Induction(least) => {
            let followed = |query: usize| {
                (0..query.saturating_sub(1)).rev().find(|&before| word(&queries[before]) == word(&queries[query]))
            };
            (mean(rows().filter_map(|(query, row)| Some(row[followed(query)? + 1]))), least)
        }
        Claim::Pinned(text, least) => {
            let row = pattern.row(example.query.unwrap()).unwrap();
            let weight = row[position(keys, text)];
            (if row.iter().all(|other| *other <= weight) { weight } else { 0.0 }, least)
        }
        Claim::Aligns(pairs) => {
            // Position 0 reads the start and writes the first piece; the tag and the end are no words.
            let best = |row: &[f32]| (1..keys.len() - 1).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            let hits = pairs.iter().filter(|(written, said)| {
                let row = pattern.row(position(queries, written) - 1).unwrap();
                best(row) == position(keys, said)
            });
            (hits.count() as f32, pairs.len() as f32)
        }
        Claim::Near => {
            let projection =
                projection::project(capture, stack, ProjectionOptions::default(), &mut |_, _| true).unwrap();
            (-mean(projection.heads.iter().map(|head| head.correlation_after)), 0.3)
        }
        Claim::Differ(least) => {
            let n_heads = capture.model().stacks[0].layers[layer].n_heads;
            let patterns = (0..n_heads).map(|idx| attention::pattern(capture, HeadId { head: idx, ..head }).unwrap());
            let patterns: Vec<_> = patterns.collect();
            let pairs = patterns.iter().flat_map(|a| patterns.iter().map(move |b| (a, b)));
            let largest = pairs.flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice())).map(|(a, b)| (a - b).abs());
            (largest.fold(0.0, f32::max), least)
        }
    }
}

#[test]
fn every_example_shows_what_it_says() {
    for example in EXAMPLES {
        let capture = capture(example);
        let (value, least) = measured(&claim(example), &capture, example);
        assert!(value >= least, "{}: {value} instead of {least}", example.title);
    }
}

#[test]
fn the_gallery_is_well_formed() {
    for (idx, example) in EXAMPLES.iter().enumerate() {
        assert!(EXAMPLES[..idx].iter().all(|other| other.title != example.title), "{} twice", example.title);
        assert!(example.stack.is_some() == example.target.is_some(), "{}", example.title);
        let n_letters = example.hint.chars().count();
        assert!(n_letters <= 110, "{}: {n_letters} letters", example.title);
    }
}

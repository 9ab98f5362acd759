//! Kinds of cross-attention heads and of heads of pictures: scores as those of a plain computation on stored patterns, and what
//! the bundled models have.

use std::collections::BTreeSet;

use attnscope::{
    analysis::{
        attention,
        detect::{Detector, TokenCounts},
        head_statistics::{HeadStatistics, Metric, Quantity},
    },
    capture::{Capture, Site, Token},
    ids::{HeadId, Side, StackKind},
    model::{self, ImageSource, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
};

fn captures(name: &str, inputs: &[Input]) -> Vec<Capture> {
    let (files, name) = locate::model(name).unwrap();
    let model = Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), logits: Logits::Skip, ..RunPlan::default() };
    let run = |input: &Input| model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap();
    inputs.iter().map(run).collect()
}

fn statistics(captures: &[Capture]) -> HeadStatistics {
    let mut statistics = HeadStatistics::new(captures[0].model());
    let counts = TokenCounts::of_captures(captures);
    captures.iter().enumerate().for_each(|(source, capture)| statistics.add(source, capture, Some(&counts)));
    statistics
}

/// The keys that a query is asked about, where it is.
type Wanted<'a> = dyn Fn(&Capture, usize) -> Option<Vec<usize>> + 'a;

/// The mean weight on these keys over the queries that have some, and the mean share of all keys that they are.
fn dense(captures: &[Capture], head: HeadId, wanted: &Wanted<'_>) -> Option<[f64; 2]> {
    let mut rows = Vec::new();
    for capture in captures {
        let pattern = attention::pattern(capture, head).unwrap();
        for query in 0..pattern.n_rows() {
            let Some(keys) = wanted(capture, query).filter(|keys| !keys.is_empty()) else { continue };
            let mass: f64 = keys.iter().map(|key| f64::from(pattern.get(query, *key).unwrap())).sum();
            let all: f64 = (0..pattern.n_cols()).map(|key| f64::from(pattern.get(query, key).unwrap())).sum();
            rows.push([mass, mass - all * keys.len() as f64 / pattern.n_cols() as f64]);
        }
    }
    let n = rows.len() as f64;
    let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / n;
    (!rows.is_empty()).then(|| [mean(0), mean(1)])
}

/// Holds two numbers of every head of a stack against [`dense`].
fn check(captures: &[Capture], stack: StackKind, (detector, gain): (Detector, Quantity), wanted: &Wanted<'_>) {
    let statistics = statistics(captures);
    let of_stack = statistics.of_stack(stack).unwrap();
    for head in of_stack.ids() {
        let sums = of_stack.head(head).unwrap();
        let expected = dense(captures, head, wanted).unwrap();
        for (metric, expected) in [Metric::Kind(detector), Metric::Of(gain)].into_iter().zip(expected) {
            let found = sums.statistic(metric).unwrap().value;
            assert!((found - expected).abs() < 1e-6, "{head} {metric:?}: {found} instead of {expected}");
        }
    }
}

const PAIRS: [(&str, &str); 6] = [
    (">>deu<< Tom has a dog.", "Tom hat einen Hund."),
    (">>deu<< Tom has my friend.", "Tom hat meinen Freund."),
    (">>deu<< Mary has a house.", "Maria hat ein Haus."),
    (">>deu<< I have a friend.", "Ich habe einen Freund."),
    (">>deu<< I see the dog.", "Ich sehe den Hund."),
    (">>deu<< I need it today.", "Ich brauche es heute."),
];

fn pairs() -> Vec<Input> {
    let pair = |(source, target): &(&str, &str)| Input::Pair {
        source: Box::new(Input::text(*source)),
        target: Box::new(Input::text(*target)),
    };
    PAIRS.iter().map(pair).collect()
}

#[test]
fn links_of_two_texts_are_those_of_their_tokens() {
    let captures = captures("demo:translate", &pairs());
    let is_word = |token: &Token| !token.special;
    let texts = |capture: &Capture, side: Side| -> BTreeSet<String> {
        capture.tokens(side).iter().filter(|token| is_word(token)).map(|token| token.text.clone()).collect()
    };
    let copies = |capture: &Capture, at: usize| -> Option<Vec<usize>> {
        let own = capture.tokens(Side::Decoder).get(at).filter(|token| is_word(token))?;
        let keys = capture.tokens(Side::Encoder).iter().enumerate();
        Some(keys.filter(|(_, key)| is_word(key) && key.text == own.text).map(|(key, _)| key).collect())
    };
    // Twice the inputs with both by those with each, as sets.
    let partners = |capture: &Capture, at: usize| -> Option<Vec<usize>> {
        let own = capture.tokens(Side::Decoder).get(at).filter(|token| is_word(token))?;
        let with = |side: Side, text: &str| -> BTreeSet<usize> {
            (0..captures.len()).filter(|nth| texts(&captures[*nth], side).contains(text)).collect()
        };
        let here = with(Side::Decoder, &own.text);
        let dice = |text: &String| {
            let there = with(Side::Encoder, text);
            let both = here.intersection(&there).count();
            if both < 2 { 0.0 } else { 2.0 * both as f64 / (here.len() + there.len()) as f64 }
        };
        let all: Vec<(String, f64)> =
            texts(capture, Side::Encoder).into_iter().map(|text| (text.clone(), dice(&text))).collect();
        let most = all.iter().map(|(_, dice)| *dice).fold(0.0, f64::max);
        let best: Vec<&String> = all.iter().filter(|(_, dice)| *dice == most).map(|(text, _)| text).collect();
        let [best] = best[..] else { return None };
        let keys = capture.tokens(Side::Encoder).iter().enumerate();
        (most >= 0.3).then(|| keys.filter(|(_, key)| is_word(key) && key.text == *best).map(|(key, _)| key).collect())
    };
    check(&captures, StackKind::Cross, (Detector::Copied, Quantity::CopiedGain), &copies);
    check(&captures, StackKind::Cross, (Detector::CopiedNext, Quantity::CopiedNextGain), &|of, at| copies(of, at + 1));
    check(&captures, StackKind::Cross, (Detector::Translated, Quantity::TranslatedGain), &partners);
    check(&captures, StackKind::Cross, (Detector::TranslatedNext, Quantity::TranslatedNextGain), &|of, at| {
        partners(of, at + 1)
    });
    check(&captures, StackKind::Cross, (Detector::Last, Quantity::LastGain), &|of, _| {
        Some(vec![of.tokens(Side::Encoder).len() - 1])
    });
}

#[test]
fn patches_of_a_picture_are_told_by_their_places() {
    let picture = |name: &str| Input::Image(ImageSource::Bundled(name.to_owned()));
    let captures = captures("demo:vit", &[picture("cat-face"), picture("rocket")]);
    // Eight rows of eight patches behind the class token.
    let place = |token: usize| token.checked_sub(1).map(|patch| [patch / 8, patch % 8]);
    let others = |query: usize, is_meant: &dyn Fn([usize; 2], [usize; 2]) -> bool| -> Option<Vec<usize>> {
        let own = place(query)?;
        Some((1..65).filter(|key| *key != query && place(*key).is_some_and(|other| is_meant(own, other))).collect())
    };
    let stack = StackKind::SelfAttention;
    check(&captures, stack, (Detector::Row, Quantity::RowGain), &|_, query| others(query, &|a, b| a[0] == b[0]));
    check(&captures, stack, (Detector::Column, Quantity::ColumnGain), &|_, query| others(query, &|a, b| a[1] == b[1]));
    check(&captures, stack, (Detector::Neighbours, Quantity::NeighboursGain), &|_, query| {
        others(query, &|a, b| a[0].abs_diff(b[0]) <= 1 && a[1].abs_diff(b[1]) <= 1)
    });
}

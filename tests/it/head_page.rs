//! One head over many inputs: worked examples, brute force on stored patterns, the command line.

use std::{collections::BTreeMap, sync::Arc};

use attnscope::{
    analysis::{
        PointCloud, attention,
        detect::{StackFacts, TokenFacts, Undefined},
        head_page::{HeadPage, HeadTally, MOST_TOKENS, N_BARS, PageInput, PageSequence, PageSize, page_of_cloud},
    },
    capture::{Capture, Matrix, Site},
    corpus::{Corpus, CorpusView, Kept},
    ids::{HeadId, Side, StackKind},
    model::{self, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
    spec::{Mask, Visibility},
};

use crate::render::attnscope;

const ONLY: HeadId = HeadId::single(0, 0);

/// A causal head on tokens with these ids.
struct Toy {
    texts: Vec<String>,
    ids: Vec<u32>,
    pattern: Matrix,
}

impl Toy {
    fn new(ids: &[u32], rows: &[&[f32]]) -> Self {
        let n = ids.len();
        let mut pattern = vec![0.0; n * n];
        for (into, row) in pattern.chunks_mut(n).zip(rows) {
            into[..row.len()].copy_from_slice(row);
        }
        let texts = ids.iter().map(|id| format!("<{id}>")).collect();
        Self { texts, ids: ids.to_vec(), pattern: Matrix::new(pattern, [n, n]).unwrap() }
    }

    fn input(&self) -> PageInput<'_> {
        let tokens: Vec<_> =
            self.texts.iter().zip(&self.ids).map(|(text, id)| (text.as_str(), Some(*id), false)).collect();
        let facts = TokenFacts::of(&tokens, &tokens, true);
        let mask = Mask { causal: true, ..Mask::default() };
        PageInput {
            queries: tokens.clone(),
            keys: tokens,
            facts: StackFacts::new(StackKind::SelfAttention, facts, true, None),
            visibility: Visibility { mask, global: &[] },
        }
    }
}

fn page(toys: &[Toy], size: PageSize) -> HeadPage {
    let mut tally = HeadTally::new(ONLY, size);
    toys.iter().enumerate().for_each(|(nth, toy)| tally.add(nth, &toy.input(), &toy.pattern));
    let keep = |chosen: &attnscope::analysis::head_page::Chosen| {
        let toy = &toys[chosen.input];
        PageSequence::keep(*chosen, &toy.input(), &toy.pattern)
    };
    let kept = tally.chosen().iter().filter_map(keep).collect();
    tally.finish(kept)
}

fn example() -> Toy {
    Toy::new(
        &[9, 5, 6, 5, 6],
        &[&[1.0], &[0.6, 0.4], &[0.5, 0.3, 0.2], &[0.2, 0.1, 0.6, 0.1], &[0.3, 0.005, 0.1, 0.5, 0.095]],
    )
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
}

#[test]
fn numbers_of_the_worked_example() {
    let page = page(&[example()], PageSize::default());
    assert_eq!((page.activations.as_slice(), page.n_queries), (&[0.6][..], 5));
    let keys = page.keys.as_ref().unwrap();
    let shares: Vec<_> = keys.tokens.iter().map(|token| (token.id.unwrap(), keys.share(token)[0], token.n)).collect();
    for ((id, share, n), expected) in shares.iter().zip([(9, 0.52, 1), (5, 0.281, 2), (6, 0.199, 2)]) {
        assert_eq!((*id, *n), (expected.0, expected.2));
        near(*share, expected.1);
    }
    for (token, chance) in keys.tokens.iter().zip([0.456_667, 0.346_667, 0.196_667]) {
        near(token.chance / keys.total[1], chance);
    }
    near(keys.concentration, 0.010_870);
    near(keys.entropy, 1.018_019);
    // The largest weights of rows 1 to 4 are 0.6, 0.5, 0.6 and 0.5; the first query has no choice.
    let queries = page.queries.as_ref().unwrap();
    assert_eq!(queries.tokens.iter().map(|token| token.id.unwrap()).collect::<Vec<_>>(), [5, 6]);
    near(queries.tokens[0].mass, 1.2);
    near(queries.concentration, (1.2 / 2.2) * (2.4f64 / 2.2).ln() + (1.0 / 2.2) * (2.0f64 / 2.2).ln());
    let distances = page.distances.as_ref().unwrap();
    for ([mass, _], expected) in distances.back.iter().zip([1.795, 2.0, 0.905, 0.3]) {
        near(*mass, expected / 5.0);
    }
    assert!(distances.back.len() == 4 && distances.ahead.is_empty());
    near(distances.back.iter().map(|[_, even]| even).sum(), 1.0);
    // The largest weight off the first row, the first column and the diagonal.
    let strongest = &page.pairs[0];
    assert_eq!((strongest.query.position, strongest.key.position, strongest.weight), (3, 2, 0.6));
    assert_eq!((strongest.key.before.as_str(), strongest.key.after.as_str()), (" <9> <5>", " <5> <6>"));
    assert_eq!(page.pairs.len(), 6);
    assert_eq!(page.weights.iter().sum::<u64>(), 15, "every pair that the mask shows");
    let kept = &page.sequences[0];
    assert_eq!(kept.largest_received(), [0.0, 0.3, 0.6, 0.5, 0.0]);
    assert_eq!(kept.largest_given(), [0.0, 0.0, 0.3, 0.6, 0.5]);
}

#[test]
fn equal_numbers_stand_in_the_order_of_the_list_whatever_order_they_are_added_in() {
    let low = Toy::new(&[1, 2, 3], &[&[1.0], &[0.5, 0.5], &[0.2, 0.3, 0.5]]);
    let toys = [example(), low, example()];
    let size = PageSize { n_intervals: 3, n_samples: 1, n_pairs: 2 };
    let page = page(&toys, size);
    assert_eq!(page.intervals.n_tied, 2);
    assert_eq!(page.sequences.iter().map(|of| (of.input, of.interval)).collect::<Vec<_>>(), [(0, 3), (2, 2), (1, 1)]);
    assert_eq!(page.pairs.iter().map(|pair| pair.input).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(page.activation_bars(Some(1))[6], 1);
    assert_eq!(page.activation_bars(None).iter().sum::<u64>(), 3);
    let mut backwards = HeadTally::new(ONLY, size);
    for (nth, toy) in toys.iter().enumerate().rev() {
        backwards.add(nth, &toy.input(), &toy.pattern);
    }
    let again = backwards.finish(page.sequences.clone());
    assert_eq!((&again.pairs, &again.intervals), (&page.pairs, &page.intervals));
}

#[test]
fn a_long_input_is_cut_around_its_strongest_pair() {
    let n = 400;
    let ids: Vec<u32> = (0..n).collect();
    let rows: Vec<Vec<f32>> = (0..n as usize).map(|row| vec![1.0 / (row + 1) as f32; row + 1]).collect();
    let mut toy = Toy::new(&ids, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut weights = toy.pattern.as_slice().to_vec();
    weights[350 * n as usize + 340] = 0.9;
    toy.pattern = Matrix::new(weights, [n as usize; 2]).unwrap();
    let page = page(&[toy], PageSize::default());
    let kept = &page.sequences[0];
    assert!(kept.is_cut() && kept.queries.texts.len() == MOST_TOKENS && kept.queries.n_tokens == 400);
    let [row, col] = [350 - kept.queries.start, 340 - kept.keys.start];
    assert_eq!(kept.pattern.get(row, col), Some(0.9));
    assert_eq!((kept.queries.texts[row].as_str(), kept.strongest.unwrap().weight), ("<350>", 0.9));
}

const TEXTS: [&str; 5] = [
    "The cat sat on the mat, and the dog sat on the rug.",
    "One day a little girl saw a big red ball.",
    "Tom had a boat. Tom had a dog. Tom was happy.",
    "She ran, and ran, and ran.",
    "The sun is up.",
];

fn runs(model: &Model) -> Vec<Arc<Capture>> {
    let sites = Sites::of(&[Site::Pattern, Site::Q, Site::K]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    let run = |text: &&str| model.forward(&model.encode(&Input::text(*text)).unwrap(), &plan, &uninterrupted).unwrap();
    TEXTS.iter().map(|text| Arc::new(run(text))).collect()
}

/// Activation of each input, mass and chance of each key token, mass by distance.
type Dense = (Vec<f32>, BTreeMap<u32, [f64; 2]>, BTreeMap<isize, f64>);

/// By brute force on stored patterns.
fn dense(captures: &[Arc<Capture>], head: HeadId) -> Dense {
    let (mut activations, mut tokens, mut offsets) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for capture in captures {
        let pattern = attention::pattern(capture, head).unwrap();
        let all = capture.tokens(Side::Only);
        let causal = capture.model().stacks[0].causal;
        let mut most = f32::NAN;
        for query in 0..all.len() {
            let n_seen = if causal { query + 1 } else { all.len() };
            for (key, token) in all.iter().enumerate().take(n_seen) {
                let weight = pattern.get(query, key).unwrap();
                let [mass, chance] = tokens.entry(token.id.unwrap()).or_insert([0.0; 2]);
                *mass += f64::from(weight);
                *chance += 1.0 / n_seen as f64;
                *offsets.entry(key as isize - query as isize).or_insert(0.0) += f64::from(weight);
                if query > 0 && key > 0 && query != key && !token.special {
                    most = most.max(weight);
                }
            }
        }
        activations.push(most);
    }
    (activations, tokens, offsets)
}

#[test]
fn sums_are_those_of_brute_force_on_stored_patterns() {
    for name in ["demo:gpt", "demo:bert"] {
        let (files, name) = locate::model(name).unwrap();
        let model = Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
        let captures = runs(&model);
        for head in [HeadId::single(0, 1), HeadId::single(1, 0)] {
            let mut tally = HeadTally::new(head, PageSize::default());
            for (nth, capture) in captures.iter().enumerate() {
                tally.add(nth, &PageInput::of_capture(capture, head), &attention::pattern(capture, head).unwrap());
            }
            let page = tally.finish(Vec::new());
            let (activations, tokens, offsets) = dense(&captures, head);
            assert_eq!(page.activations, activations, "{name} {head}");
            let keys = page.keys.as_ref().unwrap();
            assert_eq!(keys.n_tokens, tokens.len());
            for token in &keys.tokens {
                let [mass, chance] = tokens[&token.id.unwrap()];
                assert!((token.mass - mass).abs() < 1e-9 && (token.chance - chance).abs() < 1e-9, "{token:?}");
            }
            let total: [f64; 2] = tokens.values().fold([0.0; 2], |all, [a, b]| [all[0] + a, all[1] + b]);
            let part = |[mass, chance]: &[f64; 2]| mass / total[0] * ((mass / total[0]) / (chance / total[1])).ln();
            let divergence: f64 = tokens.values().filter(|[mass, _]| *mass > 0.0).map(part).sum();
            assert!((keys.concentration - divergence).abs() < 1e-9, "{name} {head}");
            let distances = page.distances.as_ref().unwrap();
            let near = offsets.iter().filter(|(offset, _)| (-3..=-2).contains(*offset)).map(|(_, mass)| mass);
            let expected = near.sum::<f64>() / distances.n_rows as f64;
            assert!((distances.back[2][0] - expected).abs() < 1e-9);
            assert_eq!(distances.ahead.is_empty(), captures[0].model().stacks[0].causal, "{name}");
            assert_eq!(page.weights.len(), N_BARS);
        }
        // Of a corpus, which keeps queries and keys alone, the same inputs come out.
        let head = HeadId::single(1, 0);
        let corpus = Corpus::from_captures(&captures, Kept::default(), u64::MAX).unwrap();
        let cloud = PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))));
        let found = page_of_cloud(&cloud, head, PageSize::default(), &mut |_, _| true).unwrap().unwrap();
        let (activations, ..) = dense(&captures, head);
        for (a, b) in found.activations.iter().zip(&activations) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        assert_eq!((found.n_inputs, found.sequences.len(), found.intervals.of.len()), (5, 5, 5));
        let top = &found.sequences[0];
        assert_eq!(top.strongest.unwrap().weight, found.activations[top.input]);
        assert!(
            page_of_cloud(&cloud, head, PageSize::default(), &mut |done, _| done < 2).is_none(),
            "it can be stopped"
        );
    }
}

#[test]
fn patches_have_no_tokens_and_no_distances_in_tokens() {
    let (files, name) = locate::model("demo:vit").unwrap();
    let model = Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let sample = model::bundled::samples().next().unwrap().to_owned();
    let input = Input::Image(model::ImageSource::Bundled(sample));
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), logits: Logits::Skip, ..RunPlan::default() };
    let capture = model.forward(&model.encode(&input).unwrap(), &plan, &uninterrupted).unwrap();
    let cloud = PointCloud::Input(Arc::new(capture));
    let head = HeadId { stack: model.spec().stacks[0].kind, layer: 0, head: 0 };
    let page = page_of_cloud(&cloud, head, PageSize::default(), &mut |_, _| true).unwrap().unwrap();
    assert_eq!(page.keys, Err(Undefined::NoVocabulary));
    assert_eq!(page.queries, Err(Undefined::NoVocabulary));
    assert_eq!(page.distances, Err(Undefined::NoOrder));
    assert!(page.activations[0] > 0.0 && page.pairs.len() == PageSize::default().n_pairs);
}

#[test]
fn the_command_line_finds_the_induction_head_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts.txt");
    std::fs::write(&texts, TEXTS.join("\n")).unwrap();
    let texts = texts.to_str().unwrap();
    let asked = ["analyze", "head", "--model", "demo:gpt", "--corpus", texts, "--layer", "1", "--head", "0"];
    let table = attnscope(&asked);
    let printed = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success(), "{}", String::from_utf8_lossy(&table.stderr));
    for words in ["L1H0 over 5 inputs", "Strongest pairs", "Writes, by its weights alone", "copying score: "] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let json = attnscope(&[&asked[..], &["--samples", "2", "--out", "-"]].concat());
    let found: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let intervals = found["result"]["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 5);
    let top = &intervals[0]["sequences"][0];
    let n = top["queries"]["tokens"].as_array().unwrap().len();
    let sum: f64 = top["pattern"][n - 1].as_array().unwrap().iter().map(|weight| weight.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    let written = &found["result"]["writes"];
    let token = &written["tokens"][0];
    assert_eq!(token["raised"].as_array().unwrap().len(), 20);
    assert!(token["rank_of_itself"].as_u64().unwrap() <= written["n_outcomes"].as_u64().unwrap());
    assert_eq!(token["id"], found["result"]["keys"]["tokens"][0]["id"], "the token that gets most of the weight");
    assert!(written["copying"].as_f64().unwrap().abs() <= 1.0);
    let csv = folder.path().join("head.csv");
    let written = attnscope(&[&asked[..], &["--out", csv.to_str().unwrap()]].concat());
    assert!(written.status.success());
    let csv = std::fs::read_to_string(csv).unwrap();
    for part in [
        "number,induction,",
        "activation,interval 5,",
        "pair,",
        "key token,",
        "distance,back 2–3,",
        "weights,",
        "raised,",
        "copying,",
    ] {
        assert!(csv.lines().any(|line| line.starts_with(part)), "{part}: {csv:.600}");
    }
    let wrong =
        attnscope(&["analyze", "head", "--model", "demo:gpt", "--corpus", texts, "--layer", "9", "--head", "0"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("no head L9H0"));
}

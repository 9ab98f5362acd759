//! Every example of the gallery on its bundled model: what its hint claims is measured, so that a model
//! that is trained anew cannot make the gallery tell stories.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud, attention,
        detect::{Detector, Probe},
        explain::normalizers,
        projection::{self, ProjectionOptions},
        reading,
        simplex::ScoreRow,
        states::{Route, Steps},
        written::WrittenText,
    },
    capture::{Capture, Matrix, Token, Way},
    figure::views::positions::{PositionFacts, PositionsOptions},
    ids::{HeadId, Side, StackKind},
    model::{Encoded, Engine, ImageSource, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
    session::{
        ViewKind,
        gallery::{EXAMPLES, Example, ExampleInput},
    },
};

use crate::gallery_measures::{
    is_made, is_parted, largest_ahead, led, longest_of_median, n_heads_that_look, off_correlations, off_variances,
};

/// What an example has to show, in the head it opens unless it says otherwise.
enum Claim {
    /// The detector gives the head at least so much.
    Detects(Detector, f32),
    /// These tokens together get at least so much, on average over the queries behind the eighth.
    Gathers(&'static [&'static str], f32),
    /// No token gets more than so much, on average over the queries behind the eighth.
    Spreads(f32),
    /// Each first word gives the second more than any other, and at least so much.
    Looks(&'static [(&'static str, &'static str)], f32),
    /// Of the source pieces, the second gets most when the first is written.
    Aligns(&'static [(&'static str, &'static str)]),
    /// The mean of the layer's heads aligns so.
    LayerAligns(&'static [(&'static str, &'static str)]),
    /// The model's first guess, at the pinned query where it guesses at each, and its least probability.
    Predicts(&'static str, f32),
    /// Distances in the plane follow the products of queries and keys, on average over all heads.
    Near,
    /// The pinned query gives the patches of these rows and columns so many times their share.
    Focuses([std::ops::Range<usize>; 2], f32),
    /// These words together get at least so much.
    Shares(&'static [&'static str], f32),
    /// Each of these words gets at most so much.
    Ignores(&'static [&'static str], f32),
    /// The model's first guess on this text instead, and its least probability.
    Turns(&'static str, &'static str, f32),
    /// Each written token but the first gets at least so much where the input has it, when it is written.
    Points(f32),
    /// All the weight is on these words, and each has some.
    Only(&'static [&'static str]),
    /// Every stack has so many layers of so many heads.
    Made([usize; 3], usize),
    /// The text that the model writes by itself.
    Writes(&'static str),
    /// The token of this step, and its strongest rival, with their probabilities.
    Nearly(usize, [(&'static str, f32); 2]),
    /// Every query gives all its weight to this key.
    Rests(&'static str),
    /// The same verdict, to the last digits, on this text instead.
    SameAs(&'static str),
    /// α-entmax of the scores of the pinned query leaves so many keys.
    Leaves(f64, usize),
    /// The mean variance of the scores within a row, before the scale and after it.
    Varies([f64; 2]),
    /// The mean cosine of position embeddings so far apart.
    Alike(&'static [(usize, f32)]),
    /// No query gives a later key anything, in any head.
    Causal,
    /// In so many heads the pinned query gives this word most.
    Heads(&'static str, usize),
    /// The correlation of score and distance in these heads, by layer and number.
    Follows(&'static [((usize, usize), f64)]),
    /// The gradient at the step of the first token that a reader reads, by that at its last.
    Left(f64),
    /// So many steps lie between the first token that a reader reads and the last.
    Apart(usize),
    /// Over the drawn paths of all layers the pinned output is led to this word of the source so many times as much as to
    /// any other.
    Leads(&'static str, f32),
    /// The first principal component of all patches in these rows is above that of all others, with this part of the variance.
    Parts(std::ops::Range<usize>, f64),
    /// The length of the longest vector of a patch over the median.
    Longest(f32),
    /// When the word is written, the patch that gets most is in these rows and columns.
    Shows(&'static [(&'static str, [std::ops::Range<usize>; 2])]),
    /// When the word is written, so many of the four patches with most lie in these rows and columns: of its weights, and
    /// of its weights less the mean of all words.
    Clears(&'static str, [std::ops::Range<usize>; 2], [usize; 2]),
}

/// Everything an example claims.
fn claims(example: &Example) -> Vec<Claim> {
    match example.title {
        "Mary's keys" => vec![Claim::Looks(&[("[MASK]", "mary")], 0.8), Claim::Predicts("her", 0.6)],
        "Tom's keys" => vec![Claim::Looks(&[("[MASK]", "tom")], 0.8), Claim::Predicts("his", 0.6)],
        "The princess and his hat" => {
            vec![Claim::Looks(&[("[MASK]", "princess")], 0.4), Claim::Predicts("his", 0.3)]
        }
        "The children are" => vec![Claim::Looks(&[("[MASK]", "children")], 0.8), Claim::Predicts("are", 0.6)],
        "A red car" => vec![Claim::Looks(&[("red@2", "car")], 0.5), Claim::Predicts("car", 0.4)],
        "A cat" => vec![Claim::Focuses([2..4, 1..4], 5.0), Claim::Predicts("cat", 0.5)],
        "A cat, called a dog" => vec![Claim::Focuses([3..5, 4..6], 3.0), Claim::Predicts("dog", 0.5)],
        "The blocks of 2017" => vec![Claim::Made([3, 3, 3], 4)],
        "The fifth word" => {
            vec![Claim::Writes("Ich sah einen Freund im Park."), Claim::Nearly(4, [("␣im", 0.50), ("␣in", 0.38)])]
        }
        "One vector" => {
            vec![Claim::Rests("</s>"), Claim::Writes("Mon père est une femme, mon père est très professeur.")]
        }
        "A film in a fairy tale" => vec![Claim::Predicts(".", 0.5)],
        "With attention" => vec![
            Claim::Writes("Mon père est médecin et ma mère est professeur."),
            Claim::Aligns(&[("père", "father"), ("médecin", "doctor"), ("mère", "mother"), ("professeur", "teacher")]),
        ],
        "Through both stacks" => vec![Claim::Leads("dog", 1.05), Claim::Predicts("Hund", 0.3)],
        "A verdict on its words" => vec![Claim::Shares(&["tough", "really"], 0.625), Claim::Predicts("negative", 0.6)],
        "Not good" => vec![Claim::Looks(&[("[CLS]", "not")], 0.8), Claim::Predicts("negative", 0.5)],
        "One verdict, one row" => vec![Claim::Looks(&[("[query]", "dull")], 0.4), Claim::Predicts("negative", 0.9)],
        "A map that lies" => vec![
            Claim::Ignores(&["dull"], 0.01),
            Claim::Predicts("negative", 0.9),
            Claim::Turns("The actors are good, but the story is.", "positive", 0.6),
        ],
        "Exact zeros" => vec![Claim::Only(&["jokes", "flat"]), Claim::Predicts("negative", 0.9)],
        "Nothing else was read" => vec![
            Claim::Only(&["plot", "thin", "jokes", "flat"]),
            Claim::Predicts("negative", 0.9),
            Claim::SameAs("A plot as thin, with jokes so flat!"),
        ],
        "Life is really tough" => vec![
            Claim::Looks(&[("[query]", "tough")], 0.33),
            Claim::Shares(&["tough", "really"], 0.625),
            Claim::Predicts("negative", 0.6),
        ],
        "Life, step by step" => vec![Claim::Left(4.68), Claim::Predicts("negative", 0.8)],
        "One vector, step by step" => vec![Claim::Left(1.0 / 6.13), Claim::Apart(13)],
        "From scores to weights" => {
            vec![Claim::Looks(&[("it", "animal")], 0.605), Claim::Leaves(1.5, 3), Claim::Leaves(2.0, 1)]
        }
        "Back to her name" => vec![
            Claim::Looks(&[("loved", "Lily"), ("play", "Lily"), ("with", "Lily")], 0.59),
            Claim::Predicts("his", 0.27),
        ],
        "Fine, but dull" => vec![Claim::Looks(&[("[CLS]", "fine")], 0.5), Claim::Predicts("negative", 0.7)],
        "Which sentence says so" => {
            vec![Claim::Looks(&[("[document]", "highly recommend.")], 0.19), Claim::Predicts("positive", 0.935)]
        }
        "Terrible value" => vec![
            Claim::Looks(&[("terrible value.", "value"), ("ordered pasta entree.", "ordered")], 0.3),
            Claim::Predicts("negative", 0.99),
        ],
        "Who has the football" => vec![Claim::Looks(&[("[question]", "Mary took the football.")], 0.95)],
        "Where she went" => {
            vec![Claim::Looks(&[("[question]", "Mary went to the garden.")], 0.7), Claim::Predicts("garden", 0.99)]
        }
        "Not a bad film" => vec![Claim::Looks(&[("[CLS]", "bad")], 0.5), Claim::Predicts("negative", 0.6)],
        _ => vec![claim(example)],
    }
}

/// Written words with the words that they stand for.
const SCORED: &[(&str, &str)] =
    &[("sœur", "sister"), ("oublie", "forgets"), ("chapeau", "hat"), ("vert", "green"), ("père", "father")];

fn claim(example: &Example) -> Claim {
    match example.title {
        "Too tired" | "How 0.61 comes about" => Claim::Looks(&[("it", "animal")], 0.6),
        "Once upon a time" | "The word before, in numbers" => Claim::Detects(Detector::Previous, 0.9),
        "Words in pieces" => Claim::Looks(&[("n", "mag"), ("if", "n"), ("ic", "if"), ("ent", "ic")], 0.9),
        "Two words back" => {
            Claim::Looks(&[("dog", "The"), ("and", "old"), ("the", "dog"), ("cat", "the"), ("sat", "young")], 0.5)
        }
        "Forty-eight heads" => Claim::Heads("animal", 4),
        "One blank, five heads" => Claim::Heads("mary", 5),
        "Another person, another paragraph" => Claim::Looks(&[("came", "Ben"), ("park", "Ben"), (".@3", "Ben")], 0.69),
        "A friend, not a dog" => Claim::Nearly(3, [("␣Hund", 0.0), ("␣Freund", 0.95)]),
        "Down to “slow”" => Claim::Leads("slow", 2.0),
        "All paths lead to the first word" => Claim::Leads("Lily", 20.0),
        "Sky and ground" => Claim::Parts(0..3, 0.51),
        "No patch stands out" => Claim::Longest(1.4),
        "No looking ahead" => Claim::Causal,
        "Near, in some heads" => Claim::Follows(&[((0, 0), -0.95), ((4, 5), -0.02)]),
        "The root of d" => Claim::Varies([25.9, 0.93]),
        "Positions beside each other" => Claim::Alike(&[(1, 0.99), (8, 0.51), (32, -0.09)]),
        "Nothing to repeat" => Claim::Spreads(0.3),
        "Since the last “and”" => {
            let behind = &[("bar", "and"), ("ked", "and"), ("at", "and"), ("the@2", "and"), ("cat", "and")];
            Claim::Looks(behind, 0.55)
        }
        "Who it is about" => {
            let persons = &[("had", "Lily"), ("ball", "Lily"), ("liked", "She"), ("play", "She"), ("with", "She")];
            Claim::Looks(persons, 0.5)
        }
        "What “it” is" => Claim::Looks(&[("it", "cat")], 0.8),
        "Mom and her flower" => Claim::Looks(&[("her", "Mom")], 0.55),
        "Sorted by pointing" => Claim::Points(0.99),
        "Named and seen" => Claim::Shows(&[("triangle", [3..7, 4..8]), ("circle", [2..5, 0..3])]),
        "Seen more than by the others" => Claim::Clears("triangle", [3..7, 4..8], [3, 4]),
        "Left or right" => Claim::Shows(&[("left", [5..8, 4..8])]),
        "A head for yellow" => Claim::Shows(&[("green", [5..8, 5..8]), ("yellow", [5..8, 5..8])]),
        "A white house, in 2015" => Claim::Aligns(&[("acheté", "bought"), ("maison", "house"), ("bl", "white")]),
        "Four scorers, one sentence" => Claim::Aligns(SCORED),
        "Home, in 2015" => Claim::Aligns(&[("nach", "home"), ("Hause", "home")]),
        "The word after" => Claim::Detects(Detector::Next, 0.7),
        "Pieces find their word" => {
            Claim::Looks(&[("##er", "photograph"), ("##ians", "politic"), ("##t", "##ones")], 0.7)
        }
        "An article and its noun" => Claim::Looks(&[("the@1", "man"), ("the@2", "boy"), ("the@3", "garden")], 0.5),
        "Full stops and commas" => Claim::Gathers(&[".", ","], 0.6),
        "Repeated words" => Claim::Detects(Detector::Induction, 0.4),
        "Queries and keys" => Claim::Near,
        "A rocket" => Claim::Focuses([2..8, 3..5], 3.0),
        "A face" => Claim::Focuses([0..3, 2..5], 3.0),
        "Light with light" => Claim::Detects(Detector::Brightness, 0.5),
        "Like colours" => Claim::Detects(Detector::Hue, 0.15),
        "My father's hat, in 2015" => {
            Claim::Aligns(&[("perdu", "lost"), ("chapeau", "hat"), ("mon", "my"), ("père", "father")])
        }
        "Towards a red car" | "Towards a red car, in 2015" => {
            Claim::Aligns(&[("Frau", "woman"), ("ging", "walking"), ("Straße", "road"), ("ro", "red"), ("Auto", "car")])
        }
        "A white house" => Claim::Aligns(&[("maison", "house"), ("bl", "white"), ("acheté", "bought")]),
        "My father's green hat" | "A green hat in two rows" | "Two texts, word by word" => {
            Claim::Aligns(&[("chapeau", "hat"), ("vert", "gre"), ("mon", "My"), ("père", "father")])
        }
        "A translated word, step by step" => Claim::Aligns(&[("chapeau", "hat")]),
        "Not, twice" => Claim::LayerAligns(&[("ne", "not"), ("pas", "not"), ("parle", "speak")]),
        "Home before going" => Claim::Aligns(&[("nach", "home"), ("Hause", "home"), ("gehen", "go")]),
        "The verb comes last" => Claim::Aligns(&[("neues", "new"), ("Buch", "book"), ("gekauft", "bought")]),
        title => panic!("nobody checks what {title:?} claims"),
    }
}

/// The model of an example, with its input made ready.
pub fn opened(example: &Example) -> (Model, Encoded) {
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
    let encoded = model.encode(&input).unwrap();
    (model, encoded)
}

pub fn capture(example: &Example) -> Capture {
    let (model, input) = opened(example);
    let sites = example.view.spec().wants.iter().copied().fold(Sites::standard(), Sites::with);
    let plan = RunPlan { sites, logits: Logits::KeepFew, ..RunPlan::default() };
    model.forward(&input, &plan, &uninterrupted).unwrap()
}

/// A token without the mark of its leading space.
pub fn word(token: &Token) -> &str {
    token.text.trim_start_matches(|c: char| !c.is_alphanumeric() && !c.is_ascii_punctuation())
}

fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let values: Vec<f32> = values.collect();
    values.iter().sum::<f32>() / values.len() as f32
}

/// Where a text stands; `red@2` is the second `red`.
pub fn position(tokens: &[Token], text: &str) -> usize {
    let (text, nth) = text.split_once('@').map_or((text, 1), |(text, nth)| (text, nth.parse().unwrap()));
    let found = tokens.iter().enumerate().filter(|(_, token)| word(token) == text).nth(nth - 1);
    found.unwrap_or_else(|| panic!("no token {text:?} in {tokens:?}")).0
}

pub fn largest(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

pub fn all_heads(capture: &Capture, stack: StackKind) -> impl Iterator<Item = HeadId> {
    let layers = capture.model().stack(stack).unwrap().layers.iter().enumerate();
    layers.flat_map(move |(layer, of)| (0..of.n_heads).map(move |head| HeadId { stack, layer, head }))
}

/// Rows and columns of patches.
type Area = [std::ops::Range<usize>; 2];

/// How many written words look most at the word that they stand for, and of how many.
fn aligned(capture: &Capture, stack: StackKind, pattern: &Matrix, pairs: &[(&str, &str)]) -> (f32, f32) {
    let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
    // Position 0 reads the start and writes the first piece; the tag and the end are no words.
    let best = |row: &[f32]| 1 + largest(&row[1..keys.len() - 1]);
    let hits = pairs
        .iter()
        .filter(|(written, said)| best(pattern.row(position(queries, written) - 1).unwrap()) == position(keys, said));
    (hits.count() as f32, pairs.len() as f32)
}

/// The steps of the reader of the source, from the left.
fn read_forward(capture: &Capture) -> Steps {
    Steps::of(capture, Side::Encoder, Way::Forward).unwrap()
}

/// The place of every patch among the keys, and whether it lies in these rows and columns.
fn patches(capture: &Capture, [rows, columns]: &Area) -> Vec<(usize, bool)> {
    let image = capture.image().unwrap();
    let (n_prefix, n_columns) = (image.n_prefix, image.grid.1);
    (0..image.grid.0 * n_columns)
        .map(|patch| (n_prefix + patch, rows.contains(&(patch / n_columns)) && columns.contains(&(patch % n_columns))))
        .collect()
}

/// How far the mean cosines of position embeddings so far apart are from what is told.
fn off_cosines(capture: &Capture, head: HeadId, told: &[(usize, f32)]) -> f32 {
    let table = PositionFacts::of(capture, None, head, PositionsOptions::default()).table.unwrap();
    let apart = |by: usize| mean((by..table.cosines.n_rows()).map(|at| table.cosines.row(at).unwrap()[at - by]));
    told.iter().map(|(by, told)| (apart(*by) - told).abs()).fold(0.0, f32::max)
}

/// Whether a step is held that has this token and this strongest rival, as probable as told.
fn is_nearly(capture: &Capture, example: &Example, nth: usize, told: &[(&str, f32)]) -> bool {
    let step = WrittenText::of(capture).unwrap().steps.swap_remove(nth);
    let found = [(step.text.as_str(), step.probability.unwrap()), (&step.rivals[0].label, step.rivals[0].value)];
    let is_told = found.iter().zip(told).all(|(it, told)| it.0 == told.0 && (it.1 - told.1).abs() < 0.005);
    is_told && example.query == Some(step.query)
}

/// How many keys of a row α-entmax leaves.
fn n_kept(row: &ScoreRow, alpha: f64) -> usize {
    normalizers::entmax(&row.scores, alpha).iter().filter(|weight| **weight > 0.0).count()
}

/// How far a capture goes along with a claim, and how far it has to; larger is more.
#[expect(clippy::too_many_lines, reason = "an arm for each kind of claim")]
fn measured(claim: &Claim, capture: &Arc<Capture>, example: &Example) -> (f32, f32) {
    let stack = example.stack.unwrap_or_else(|| capture.model().stacks[0].kind);
    let (layer, head) = example.head.unwrap_or_default();
    let head = HeadId { stack, layer, head };
    let of_head = |idx: usize| attention::pattern(capture, HeadId { head: idx, ..head }).unwrap();
    let n_heads = capture.model().stack(stack).unwrap().layers[layer].n_heads;
    let pattern = of_head(head.head);
    let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
    let aligned = |pattern: &Matrix, pairs: &[(&str, &str)]| aligned(capture, stack, pattern, pairs);
    let patches = |area: &Area| patches(capture, area);
    match claim {
        Claim::Detects(detector, least) => {
            (Probe::new(capture, stack).score(*detector, layer, head.head).unwrap(), *least)
        }
        Claim::Gathers(words, least) => {
            let sum =
                |row: &[f32]| row.iter().zip(keys).filter(|(_, key)| words.contains(&word(key))).map(|(w, _)| w).sum();
            (mean(pattern.rows().skip(8).map(sum)), *least)
        }
        Claim::Spreads(most) => {
            let mean_of = |key: usize| mean(pattern.rows().skip(8).map(|row| row[key]));
            (-(0..keys.len()).map(mean_of).fold(0.0, f32::max), -most)
        }
        Claim::Looks(pairs, least) => {
            let weight = |(query, key): &(&str, &str)| {
                let (row, key) = (pattern.row(position(queries, query)).unwrap(), position(keys, key));
                if largest(row) == key { row[key] } else { 0.0 }
            };
            (pairs.iter().map(weight).fold(1.0, f32::min), *least)
        }
        Claim::Aligns(pairs) => aligned(&pattern, pairs),
        Claim::Points(least) => {
            let weight = |written: usize| pattern.row(written - 1).unwrap()[position(keys, word(&queries[written]))];
            assert!(queries.len() > 2 && queries.len() <= keys.len());
            ((1..queries.len()).map(weight).fold(1.0, f32::min), *least)
        }
        Claim::LayerAligns(pairs) => {
            let heads: Vec<_> = (0..n_heads).map(of_head).collect();
            let sum = |idx: usize| heads.iter().map(|head| head.as_slice()[idx]).sum();
            let sum: Vec<f32> = (0..pattern.as_slice().len()).map(sum).collect();
            aligned(&Matrix::new(sum, pattern.shape()).unwrap(), pairs)
        }
        Claim::Predicts(label, least) => {
            let rows = &capture.prediction().unwrap().rows;
            let row = rows.iter().find(|row| row.position.is_none() || row.position == example.query).unwrap();
            let best = &row.top[0];
            (if best.label.trim_start_matches(['␣', '▁', ' ']) == *label { best.value } else { 0.0 }, *least)
        }
        Claim::Near => {
            let projection = projection::project(
                &PointCloud::Input(Arc::clone(capture)),
                stack,
                ProjectionOptions::default(),
                &mut |_, _| true,
            )
            .unwrap();
            (-mean(projection.heads.iter().map(|head| head.correlation_after)), 0.3)
        }
        Claim::Focuses(area, least) => {
            let (row, patches) = (pattern.row(example.query.unwrap()).unwrap(), patches(area));
            let inside = patches.iter().filter(|(_, inside)| *inside);
            let (n, mass) = inside.fold((0, 0.0), |(n, mass), (key, _)| (n + 1, mass + row[*key]));
            let all: f32 = patches.iter().map(|(key, _)| row[*key]).sum();
            (mass / all / (n as f32 / patches.len() as f32), *least)
        }
        Claim::Shares(words, least) => {
            let row = pattern.row(example.query.unwrap()).unwrap();
            (words.iter().map(|word| row[position(keys, word)]).sum(), *least)
        }
        Claim::Ignores(words, most) => {
            let row = pattern.row(example.query.unwrap()).unwrap();
            let most_found = words.iter().map(|word| row[position(keys, word)]).fold(0.0, f32::max);
            (-most_found, -most)
        }
        Claim::Turns(text, label, least) => {
            let other = self::capture(&Example { input: ExampleInput::Text(text), ..*example });
            let best = &other.prediction().unwrap().rows[0].top[0];
            (if best.label == *label { best.value } else { 0.0 }, *least)
        }
        Claim::Only(words) => {
            let row = pattern.row(example.query.unwrap()).unwrap();
            let agrees = row.iter().zip(keys).all(|(weight, key)| (*weight > 0.0) == words.contains(&word(key)));
            (f32::from(agrees), 1.0)
        }
        Claim::Writes(text) => {
            let written: String =
                queries.iter().filter(|token| !token.special).map(|token| token.text.replace('␣', " ")).collect();
            (f32::from(written.trim() == *text), 1.0)
        }
        Claim::Nearly(nth, told) => (f32::from(is_nearly(capture, example, *nth, told)), 1.0),
        Claim::Rests(key) => {
            let key = position(keys, key);
            (pattern.rows().map(|row| row[key]).fold(1.0, f32::min), 1.0)
        }
        Claim::SameAs(text) => {
            let other = self::capture(&Example { input: ExampleInput::Text(text), ..*example });
            let probability = |capture: &Capture| capture.prediction().unwrap().rows[0].top[0].value;
            (-(probability(capture) - probability(&other)).abs(), -1e-5)
        }
        Claim::Leaves(alpha, n) => {
            let row = ScoreRow::of(capture, head, example.query.unwrap(), None).unwrap();
            (-(n_kept(&row, *alpha) as f32 - *n as f32).abs(), 0.0)
        }
        Claim::Varies(told) => (-off_variances(capture, head, *told), -0.01),
        Claim::Causal => (-largest_ahead(capture, stack), 0.0),
        Claim::Made(layers, n_heads) => (f32::from(is_made(capture, layers, *n_heads)), 1.0),
        Claim::Heads(word, n) => {
            let (query, key) = (example.query.unwrap(), position(keys, word));
            (-(n_heads_that_look(capture, stack, [query, key]) as f32 - *n as f32).abs(), 0.0)
        }
        Claim::Follows(heads) => (-off_correlations(capture, stack, heads), -0.005),
        Claim::Alike(told) => (-off_cosines(capture, head, told), -0.006),
        Claim::Left(told) => {
            let left = read_forward(capture).left().unwrap()[0];
            (-(left / told - 1.0).abs() as f32, -0.01)
        }
        Claim::Apart(steps) => {
            let n = read_forward(capture).states.n_rows();
            (-(Route::Recurrence.length(n - 1) as f32 - *steps as f32).abs(), 0.0)
        }
        Claim::Leads(word, least) => (led(capture, head, example.query.unwrap(), position(keys, word)), *least),
        Claim::Parts(rows, share) => (f32::from(is_parted(capture, head, rows.clone(), *share)), 1.0),
        Claim::Longest(told) => (-(longest_of_median(capture, head) - told).abs(), -0.05),
        Claim::Shows(words) => {
            let hits = words.iter().filter(|(written, area)| {
                let row = pattern.row(position(queries, written) - 1).unwrap();
                let patches = patches(area);
                patches.iter().max_by(|a, b| row[a.0].total_cmp(&row[b.0])).unwrap().1
            });
            (hits.count() as f32, words.len() as f32)
        }
        Claim::Clears(written, area, told) => {
            let row = pattern.row(position(queries, written) - 1).unwrap();
            let of_all = |key: usize| mean(pattern.rows().map(|row| row[key]));
            let n_inside = |less: &dyn Fn(usize) -> f32| {
                let mut patches = patches(area);
                patches.sort_by(|a, b| (row[b.0] - less(b.0)).total_cmp(&(row[a.0] - less(a.0))));
                patches[..4].iter().filter(|(_, inside)| *inside).count()
            };
            (f32::from([n_inside(&|_| 0.0), n_inside(&of_all)] == *told), 1.0)
        }
    }
}

#[test]
fn every_example_shows_what_it_says() {
    let mut untrue = Vec::new();
    // What the others claim is measured in `gallery_tried`.
    for example in EXAMPLES.iter().filter(|example| example.changes.is_empty() && example.asks.is_none()) {
        let capture = Arc::new(capture(example));
        for claim in claims(example) {
            let (value, least) = measured(&claim, &capture, example);
            if value < least {
                untrue.push(format!("{}: {value} instead of {least}", example.title));
            }
        }
    }
    assert!(untrue.is_empty(), "{untrue:#?}");
}

/// The largest weight of a query of the first example, pieces of words added up by hand, with its word.
fn most(capture: &Capture, head: HeadId, query: usize) -> (f32, &'static str) {
    let words = ["The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired"];
    let starts = [0, 1, 2, 4, 6, 7, 10, 11, 12, 13, 14, 15];
    let pattern = attention::pattern(capture, head).unwrap();
    let row = pattern.row(query).unwrap();
    let of_word = |nth: usize| (row[starts[nth]..starts[nth + 1]].iter().sum::<f32>(), words[nth]);
    (0..words.len()).map(of_word).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

#[test]
fn where_a_query_looks_most_is_read_from_its_run() {
    let capture = capture(&EXAMPLES[0]);
    let kind = capture.model().stacks[0].kind;
    for (layer, head, query, word) in [(3, 2, 11, "it"), (0, 0, 14, "tired"), (1, 5, 5, "cross"), (5, 4, 12, "was")] {
        let head = HeadId { stack: kind, layer, head };
        let others = (0..6).flat_map(|layer| (0..8).map(move |head| HeadId { stack: kind, layer, head }));
        let n = others.filter(|other| most(&capture, *other, query).1 != most(&capture, head, query).1).count();
        let sentence = reading::strongest(&capture, head, query).unwrap();
        // A word in pieces is asked as the mean of its pieces.
        let (weight, key) = most(&capture, head, query);
        if word != "cross" {
            let begins = format!("In this head, one of 48, “{word}” gives {weight:.2} of its attention to “{key}”.");
            assert_eq!(sentence, format!("{begins} Of the other 47 heads, {n} look elsewhere."));
        }
        assert!(sentence.contains(&format!("“{word}” gives ")), "{sentence}");
    }
    assert_eq!(reading::strongest(&capture, HeadId { stack: kind, layer: 9, head: 0 }, 11), None);
}

#[test]
fn scorers_find_the_same_words_and_differ_in_sharpness() {
    let example = EXAMPLES.iter().find(|example| example.title == "Four scorers, one sentence").unwrap();
    let entropies = [example.model].into_iter().chain(example.beside.iter().copied()).map(|model| {
        let capture = capture(&Example { model, ..*example });
        let pattern = capture.stored_pattern(HeadId { stack: StackKind::Cross, layer: 0, head: 0 }).unwrap();
        let found = aligned(&capture, StackKind::Cross, &pattern, SCORED);
        assert_eq!(found.0, found.1, "{model}");
        let nats = |row: &[f32]| -row.iter().filter(|it| **it > 0.0).map(|it| it * it.ln()).sum::<f32>();
        mean(pattern.rows().map(nats))
    });
    for ((model, told), nats) in
        ["additive", "mlp", "bilinear", "dot"].iter().zip([0.66, 0.65, 0.02, 0.14]).zip(entropies)
    {
        assert!((nats - told).abs() < 0.006, "{model}: {nats}");
    }
}

#[test]
fn translators_know_the_tags_of_their_languages() {
    for name in ["demo:translate", "demo:classic", "demo:bottleneck", "demo:bert", "demo:captions"] {
        let (files, title) = locate::model(name).unwrap();
        let model = Model::load(&files, &title, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
        let tags = model.language_tags();
        let known: &[&str] = if name == "demo:bert" || name == "demo:captions" { &[] } else { &[">>deu<<", ">>fra<<"] };
        assert_eq!(tags, known, "{name}");
        for example in EXAMPLES.iter().filter(|example| example.model == name) {
            if let (ExampleInput::Text(text), false) = (example.input, tags.is_empty()) {
                assert!(tags.iter().any(|tag| text.starts_with(tag.as_str())), "{}", example.title);
            }
        }
    }
}

#[test]
fn the_gallery_is_well_formed() {
    for (idx, example) in EXAMPLES.iter().enumerate() {
        assert!(EXAMPLES[..idx].iter().all(|other| other.title != example.title), "{} twice", example.title);
        let has_stacks = ["translate", "classic", "bottleneck", "scorer-additive", "captions", "pointer", "documents"]
            .contains(&example.model.trim_start_matches("demo:"));
        assert_eq!(example.stack.is_some(), has_stacks, "{}", example.title);
        let n_letters = example.hint.chars().count();
        assert!(n_letters <= 110, "{}: {n_letters} letters", example.title);
        assert_eq!(example.asks.is_some(), example.view == ViewKind::Lab, "{}", example.title);
    }
}

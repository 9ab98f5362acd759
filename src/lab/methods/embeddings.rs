//! The table of token embeddings: nearest tokens, words added and taken away, differences in the plane (Mikolov et al.
//! 2013).

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    analysis::explain::{
        embeddings::{Nearest, Nearness, Plane, arithmetic, arithmetic_text, mean, norm, parallel, weighted_sum},
        report::{ColumnValues, LabQuestion, MethodPicture, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::words::bare,
    ids::Side,
    lab::{
        LabError, LabRun, Method, MethodPreset, TOP, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, read_position, whole},
    },
};

/// Numbers of the table that are held at once.
const AT_ONCE: usize = 1 << 22;
/// Words that are placed in the plane, at most.
const MOST_WORDS: usize = 64;
/// Tokens of the input that are asked about where no word is given.
const MOST_OF_INPUT: usize = 24;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "embeddings",
    title: "Embedding table",
    question: LabQuestion::Words,
    about: "Nearest tokens, words added and taken away, and differences of words in the table of token embeddings \
            (Mikolov et al. 2013)",
    example: "--model demo:gpt --arithmetic \"played - play + go\" --pair \"play played\" \
              --pair \"go went\"",
    caveat: "The table is what a token is before any layer and any context; frequent, rare and misspelt tokens lie \
             together as well, and small models have few analogies.",
    formula: "E(w) = mean of the rows of the tokens of w\nnearest: argmax over t of cos(E_t, v) or E_t · v\n\
              a − b + c: v = E(a) − E(b) + E(c), the tokens of a, b and c left out\n\
              plane: principal components of the words that were asked about",
    source: "Mikolov et al. 2013",
    values: &[
        ValueSpec { drawn: false, ..ValueSpec::new("answers", "Nearest tokens", "Tokens of its words are left out") },
        ValueSpec {
            drawn: false,
            ..ValueSpec::new("neighbours", "Nearest tokens", "Tokens of the word itself are left out")
        },
        ValueSpec { drawn: false, ..ValueSpec::new("points", "Words in the plane", "") },
        ValueSpec::new(
            "differences",
            "Differences of pairs",
            "Cosine with the others: of a difference with the sum of the others, 1 where all are parallel",
        ),
        ValueSpec::of_files("explained"),
        ValueSpec { drawn: false, ..ValueSpec::new("words", "Tokens of each word", "") },
    ],
    picture: MethodPicture::Words,
    ..MethodSpec::EMPTY
};

/// Which words are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingOptions {
    /// Words whose nearest tokens are listed; the tokens of the input where nothing is given.
    pub words: Vec<String>,
    /// A sum and difference of words.
    pub arithmetic: Option<String>,
    /// Two words each, whose difference is drawn.
    pub pairs: Vec<String>,
    pub nearness: Nearness,
    /// Tokens that are listed.
    pub n_top: usize,
    /// The token of the input that is asked about where nothing is given.
    pub position: Option<usize>,
}

impl EmbeddingOptions {
    /// Whether words were given, so that those of the input are not asked about.
    pub const fn is_given(&self) -> bool {
        !self.words.is_empty() || !self.pairs.is_empty() || self.arithmetic.is_some()
    }

    /// The given words as a text.
    pub fn in_a_row(&self) -> String {
        let all: Vec<&str> = self.words.iter().chain(&self.pairs).chain(&self.arithmetic).map(String::as_str).collect();
        all.join(" ")
    }
}

impl Method for EmbeddingOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "embeddings",
        title: "Embedding table",
        method: &SPEC,
        starts: true,
        ask: |focus| Ok(Self { position: focus.held(focus.read_side()), ..Self::begin() }.into()),
    }];

    fn begin() -> Self {
        Self {
            words: Vec::new(),
            arithmetic: None,
            pairs: Vec::new(),
            nearness: Nearness::Cosine,
            n_top: 2 * TOP,
            position: None,
        }
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Words whose nearest tokens are listed; without words, sum and pairs those of the input";
        visit(
            OptionField::new("words", "Words", meaning, FieldValue::Texts(&mut self.words, "king | queen")).in_front(),
        );
        let meaning = "A sum and difference of words, whose nearest tokens are listed";
        let value = FieldValue::Words(&mut self.arithmetic, "king - man + woman");
        visit(OptionField::new("arithmetic", "Sum", meaning, value).in_front());
        let meaning = "Pairs of words whose differences are compared and drawn as arrows";
        let value = FieldValue::Texts(&mut self.pairs, "man woman | he she");
        visit(OptionField::new("pairs", "Pairs", meaning, value).in_front());
        choose(visit, ("nearness", "Nearness", "How near tokens are"), &mut self.nearness, &Nearness::CHOICES);
        visit(whole("top", "Listed", "Number of nearest tokens listed", &mut self.n_top, 1..=1000));
        if scope.command_line {
            let words =
                ("token", "Token", "Position of the token of the text that is asked about where no word is given");
            read_position(visit, words, &mut self.position);
        }
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("words", json!(self.words)),
            ("arithmetic", json!(self.arithmetic)),
            ("pairs", json!(self.pairs)),
            ("nearness", json!(self.nearness.name())),
            ("top", json!(self.n_top)),
            ("token", json!(self.position)),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, _target: Target) -> Result<Report, LabError> {
        embeddings(lab, self)
    }
}

/// A word with its vector.
#[derive(Clone, Debug)]
struct Word {
    /// As it was given, or its token.
    text: String,
    tokens: Vec<u32>,
    vector: Vec<f64>,
}

impl Word {
    /// Of tokens: the mean of their rows.
    fn of(lab: &LabRun<'_>, text: String, tokens: Vec<u32>) -> Result<Self, LabError> {
        let rows = lab.model.token_embeddings(&tokens)?;
        Ok(Self { text, vector: mean(rows.rows()), tokens })
    }

    /// Of what somebody wrote.
    fn read(lab: &LabRun<'_>, text: &str) -> Result<Self, LabError> {
        Self::of(lab, text.to_owned(), lab.model.pieces_of(text)?)
    }

    fn labels(&self, lab: &LabRun<'_>) -> Vec<String> {
        self.tokens.iter().map(|id| lab.model.embedding_label(*id)).collect()
    }

    fn ids(&self) -> impl Iterator<Item = usize> {
        self.tokens.iter().map(|id| *id as usize)
    }
}

/// The words of a question, each once.
#[derive(Default)]
struct Words(Vec<Word>);

impl Words {
    /// The place of a word among them.
    fn add(&mut self, word: Word) -> usize {
        let known = self.0.iter().position(|known| known.text == word.text && known.tokens == word.tokens);
        known.unwrap_or_else(|| {
            self.0.push(word);
            self.0.len() - 1
        })
    }

    fn read(&mut self, lab: &LabRun<'_>, text: &str) -> Result<usize, LabError> {
        Ok(self.add(Word::read(lab, text)?))
    }

    /// The tokens of the input, or the one that is held; and whether some were left out.
    fn add_input(&mut self, lab: &LabRun<'_>, position: Option<usize>) -> Result<(Vec<usize>, bool), LabError> {
        let plain = lab.plain()?;
        let sides = [Side::Encoder, Side::Only, Side::Text, Side::Decoder];
        let is_text = |side: &Side| !plain.tokens(*side).is_empty() && plain.picture_side() != Some(*side);
        let side = sides.into_iter().find(is_text).unwrap_or_default();
        let tokens = plain.tokens(side);
        let mut asked = Vec::new();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !token.special) {
            let Some(id) = token.id else { continue };
            if self.0.len() == MOST_OF_INPUT && position.is_none() {
                return Ok((asked, true));
            }
            let nth = self.add(Word::of(lab, lab.model.embedding_label(id), vec![id])?);
            if position.is_none_or(|position| position == at) && !asked.contains(&nth) {
                asked.push(nth);
            }
        }
        match position {
            Some(position) if asked.is_empty() => {
                Err(LabError::unsuited(format!("position {position} has no token of the text: name a word instead")))
            }
            _ => Ok((asked, false)),
        }
    }
}

/// Two words of a pair.
fn pair(text: &str) -> Result<[&str; 2], LabError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.try_into().map_err(|_| {
        LabError::unsuited(format!("“{text}” is no pair: give two words with a space between them, such as man woman"))
    })
}

fn embeddings(lab: &LabRun<'_>, options: &EmbeddingOptions) -> Result<Report, LabError> {
    lab.plain()?;
    let n_rows = lab.model.n_embeddings()?;
    let mut words = Words::default();
    let mut report = Report::new(&SPEC);
    let is_given = options.is_given();
    let asked = if is_given {
        options.words.iter().map(|word| words.read(lab, word)).collect::<Result<Vec<_>, _>>()?
    } else {
        let (asked, are_more) = words.add_input(lab, options.position)?;
        if are_more {
            report
                .notes
                .push(format!("of the input the first {MOST_OF_INPUT} different tokens: name words for others"));
        }
        asked
    };
    let terms = options.arithmetic.as_deref().map(arithmetic).transpose().map_err(LabError::unsuited)?;
    let mut sum: Vec<(f64, usize)> = Vec::new();
    for (sign, word) in terms.iter().flatten() {
        sum.push((*sign, words.read(lab, word)?));
    }
    let mut arrows: Vec<[usize; 2]> = Vec::new();
    for text in &options.pairs {
        let [from, to] = pair(text)?;
        arrows.push([words.read(lab, from)?, words.read(lab, to)?]);
    }
    let n_words = words.0.len();
    if n_words > MOST_WORDS && is_given {
        let what = format!("{n_words} words are asked about: give at most {MOST_WORDS}");
        return Err(LabError::unsuited(what));
    }
    let of_words = asked.iter().map(|nth| (words.0[*nth].vector.clone(), words.0[*nth].ids().collect()));
    let vector = weighted_sum(sum.iter().map(|(sign, nth)| (*sign, words.0[*nth].vector.as_slice())));
    let left_out: BTreeSet<usize> = sum.iter().flat_map(|(_, nth)| words.0[*nth].ids()).collect();
    let of_sum = (!sum.is_empty()).then_some((vector, left_out));
    let mut found = nearest(lab, Nearest::new(of_words.chain(of_sum), options.nearness, options.n_top), n_rows)?;
    if let Some(terms) = &terms {
        let answers = found.pop().unwrap_or_default();
        report = report.with_parameter("sum", arithmetic_text(terms));
        report = report.with_value("answers", ranked(lab, options.nearness, &[(None, answers.as_slice())]));
        // a − b + c: b is to a as c is to the answer.
        let signs: Vec<f64> = sum.iter().map(|(sign, _)| *sign).collect();
        if let (Some((id, _)), true) = (answers.first(), signs == [1.0, -1.0, 1.0]) {
            let id = *id as u32;
            let answer = words.add(Word::of(lab, bare(&lab.model.embedding_label(id)).to_owned(), vec![id])?);
            arrows.extend([[sum[1].1, sum[0].1], [sum[2].1, answer]]);
        }
        report.notes.push(format!("the tokens of {} are left out of its nearest tokens", arithmetic_text(terms)));
    }
    let lists: Vec<NearestOf<'_>> =
        asked.iter().zip(&found).map(|(nth, found)| (Some(words.0[*nth].text.as_str()), found.as_slice())).collect();
    report = report.with_value("neighbours", ranked(lab, options.nearness, &lists));
    let several: Vec<String> =
        words.0.iter().filter(|word| word.tokens.len() > 1).map(|word| told(lab, word)).collect();
    if !several.is_empty() {
        report.notes.push(several.join("; "));
    }
    report = report.with_value(
        "words",
        Value::Table(vec![
            texts("word", words.0.iter().map(|word| word.text.clone())),
            TableColumn::new("tokens", ColumnValues::Texts(words.0.iter().map(|word| word.labels(lab)).collect())),
            TableColumn::new("length", ColumnValues::Number(words.0.iter().map(|word| norm(&word.vector)).collect())),
        ]),
    );
    let vectors: Vec<Vec<f64>> = words.0.iter().map(|word| word.vector.clone()).collect();
    let plane = Plane::of(&vectors);
    let along = |axis: usize| ColumnValues::Number(plane.places.iter().map(|place| place[axis]).collect());
    report = report
        .with_value(
            "points",
            Value::Table(vec![
                texts("word", words.0.iter().map(|word| word.text.clone())),
                TableColumn::new("x", along(0)),
                TableColumn::new("y", along(1)),
            ]),
        )
        .with_value("explained", plane.explained.to_vec());
    arrows.dedup();
    if !arrows.is_empty() {
        report = report.with_value("differences", differences(&words.0, &arrows));
    }
    Ok(report)
}

/// Goes through the table.
fn nearest(lab: &LabRun<'_>, mut nearest: Nearest, n_rows: usize) -> Result<Vec<Vec<(usize, f64)>>, LabError> {
    let width = lab.model.token_embeddings(&[0])?.n_cols();
    let at_once = (AT_ONCE / width.max(1)).max(1);
    for first in (0..n_rows).step_by(at_once) {
        lab.step(first, n_rows)?;
        let ids: Vec<u32> = (first..n_rows.min(first + at_once)).map(|id| id as u32).collect();
        nearest.add(first, &lab.model.token_embeddings(&ids)?);
    }
    Ok(nearest.found())
}

/// A word, where the list has one, and the tokens nearest to it with how near they are.
type NearestOf<'a> = (Option<&'a str>, &'a [(usize, f64)]);

/// Lists of nearest tokens, one below the other; each under its word, where it has one.
fn ranked(lab: &LabRun<'_>, nearness: Nearness, lists: &[NearestOf<'_>]) -> Value {
    let rows =
        || lists.iter().flat_map(|(word, list)| list.iter().enumerate().map(move |(nth, found)| (word, nth, found)));
    let words: Option<Vec<String>> = rows().map(|(word, ..)| word.map(str::to_owned)).collect();
    let mut columns: Vec<TableColumn> = words.map(|words| texts("word", words.into_iter())).into_iter().collect();
    columns.extend([
        TableColumn::new("rank", ColumnValues::Index(rows().map(|(_, nth, _)| nth + 1).collect())),
        texts("token", rows().map(|(_, _, (id, _))| lab.model.embedding_label(*id as u32))),
        TableColumn::new("id", ColumnValues::Index(rows().map(|(_, _, (id, _))| *id).collect())),
        TableColumn::new(nearness.name(), ColumnValues::Number(rows().map(|(.., (_, near))| *near).collect())),
    ]);
    Value::Table(columns)
}

fn texts(name: &'static str, cells: impl Iterator<Item = String>) -> TableColumn {
    TableColumn::new(name, ColumnValues::Text(cells.collect()))
}

/// The differences of pairs, and how parallel they are.
fn differences(words: &[Word], arrows: &[[usize; 2]]) -> Value {
    let of_pair = |[from, to]: &[usize; 2]| {
        weighted_sum([(1.0, words[*to].vector.as_slice()), (-1.0, words[*from].vector.as_slice())])
    };
    let all: Vec<Vec<f64>> = arrows.iter().map(of_pair).collect();
    let cosines = parallel(&all).into_iter().map(|cosine| cosine.unwrap_or(f64::NAN)).collect();
    Value::Table(vec![
        texts("from", arrows.iter().map(|[from, _]| words[*from].text.clone())),
        texts("to", arrows.iter().map(|[_, to]| words[*to].text.clone())),
        TableColumn::new("length", ColumnValues::Number(all.iter().map(|vector| norm(vector)).collect())),
        TableColumn::new("cosine_with_others", ColumnValues::Number(cosines)),
    ])
}

/// A word of several tokens, in words.
fn told(lab: &LabRun<'_>, word: &Word) -> String {
    format!("“{}” is the mean of {}", word.text, word.labels(lab).join(", "))
}

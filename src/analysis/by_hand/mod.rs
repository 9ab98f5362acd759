//! Attention computed by hand: small inputs and maps, or queries, keys and values, as somebody typed them.
//!
//! ```text
//! q = x W_Q,  k = x W_K,  v = x W_V
//! score_ij = scorer(q_i, k_j),  α_i = normaliser(score_i),  z_i = Σ_j α_ij v_j
//! ```
//!
//! The result is a capture like that of a model with one layer and one head.

mod typing;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::attention;
use crate::{
    capture::{
        self, Bend, Capture, CaptureParts, Computation, InputInfo, LayerCapture, Matrix, Normalizer, PerHead, Site,
        SiteValue, SiteValues, StackCapture, Token,
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    json_file,
    spec::{LayerSpec, Mask, Modality, ModelSpec, StackSpec, TextSpec},
    text::told,
};

/// What `format` says in a file.
pub const FORMAT: &str = "attnscope-numbers";
/// The most tokens: more is not read as single numbers.
pub const MOST: usize = 16;
/// The most columns of a matrix: those of heads that numbers are taken of.
pub const WIDEST: usize = 128;

pub use typing::{Cells, ScorerKind};

/// A matrix as it is typed, row by row.
pub type Rows = Vec<Vec<f64>>;

/// Everything that is typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// [`FORMAT`].
    pub format: String,
    /// Name of each row; their numbers where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// `[n, d_model]`: inputs, with a map for each of q, k and v.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<Rows>,
    /// `[d_model, d_head]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wq: Option<Rows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wk: Option<Rows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wv: Option<Rows>,
    /// `[n, d_head]`: in place of inputs and a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<Rows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<Rows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v: Option<Rows>,
    #[serde(default)]
    pub scorer: Scorer,
    /// Factor on the scorer's products in place of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Whether a query sees itself and earlier keys alone.
    #[serde(default)]
    pub causal: bool,
    /// A query sees only keys less than this many positions away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// What makes weights of scores, by its name.
    #[serde(default = "softmax")]
    pub normalizer: String,
}

/// How well a key fits a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scorer {
    /// `q · k`.
    #[default]
    Dot,
    /// `q · k / √d_head`.
    ScaledDot,
    /// `q · k / (‖q‖ ‖k‖)`; 0 where either is 0.
    Cosine,
    /// `q W · k` (Luong et al. 2015), W `[d_head, d_head]`.
    Bilinear { w: Rows },
    /// `energy · tanh(q W_Q + k W_K)` (Bahdanau et al. 2015), maps `[d_head, width]`.
    Additive { wq: Rows, wk: Rows, energy: Vec<f64> },
    /// `energy · relu([q, k] W + b)`, W `[2 · d_head, width]`.
    Mlp { w: Rows, b: Vec<f64>, energy: Vec<f64> },
}

fn softmax() -> String {
    Normalizer::Softmax.to_string()
}

/// Whether a file that begins so holds such numbers.
pub fn begins(start: &[u8]) -> bool {
    start.windows(FORMAT.len()).any(|part| part == FORMAT.as_bytes())
}

/// Why numbers cannot be computed with, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NumbersError(String);

impl NumbersError {
    /// With this sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

fn refuse<T>(what: impl Into<String>) -> Result<T, NumbersError> {
    Err(NumbersError(what.into()))
}

impl Numbers {
    /// Reads a file.
    ///
    /// # Errors
    /// Says what in it is none of the known entries.
    pub fn from_json(bytes: &[u8]) -> Result<Self, NumbersError> {
        let value = json_file::read(bytes).map_err(|why| NumbersError(format!("The numbers cannot be read: {why}")))?;
        serde_json::from_value(value)
            .or_else(|why| refuse(format!("The numbers cannot be used: {}", told(&why.to_string()))))
    }

    /// The capture of these numbers.
    ///
    /// # Errors
    /// Names the matrix that is missing, is no matrix, or does not fit the others.
    pub fn capture(&self, name: &str, id: CaptureId) -> Result<Capture, NumbersError> {
        if self.format != FORMAT {
            return refuse(format!("The format is “{}”, not “{FORMAT}”", told(&self.format)));
        }
        let Some(normalizer) = Normalizer::from_name(&self.normalizer) else {
            return refuse(format!("There is no normaliser “{}”", told(&self.normalizer)));
        };
        let x = self.inputs()?;
        let [q, k, v] = self.vectors()?;
        let n = q.n_rows();
        if n > MOST {
            return refuse(format!("There are {n} tokens: at most {MOST} are read as single numbers"));
        }
        for other in [&k, &v] {
            if other.n_rows() != n {
                let (name, rows) = (other.name, other.n_rows());
                return refuse(format!("{name} has {rows} rows and q has {n}: every token has a row in each"));
            }
        }
        let d_head = v.n_cols();
        let scored = self.scored([&q, &k])?;
        for made in [&q, &k, &v, &scored.scores] {
            Typed::of(made.name, &made.rows)?;
        }
        let mut layer = LayerSpec { window: self.window, ..LayerSpec::new(1, d_head) };
        layer.scale = scored.scale as f32;
        let scores = masked(&scored.scores, layer.mask(self.causal))?;
        let pattern = attention::normalized(&scores, normalizer, (HeadId::default(), 0));
        let pattern = pattern.ok_or_else(|| NumbersError("There are no numbers".to_owned()))?;
        let z = Typed::from_fn("z", n, d_head, |query, dim| {
            let row = pattern.row(query).unwrap_or(&[]);
            row.iter().enumerate().map(|(key, weight)| f64::from(*weight) * v.rows[key][dim]).sum()
        });
        let mut sites = SiteValues::default();
        if let Some([q, k]) = &scored.vectors {
            if q.n_cols() != d_head {
                let (theirs, own) = (q.n_cols(), d_head);
                return refuse(format!("Queries are {theirs} wide and values {own}: give both one width"));
            }
            sites.set(Site::Q, q.per_head()?);
            sites.set(Site::K, k.per_head()?);
        }
        sites.set(Site::V, v.per_head()?);
        sites.set(Site::Z, z.per_head()?);
        for (site, values) in [(Site::Scores, &scores), (Site::Pattern, &pattern)] {
            let [n_query, n_key] = values.shape();
            let value = SiteValue::new(site, values.as_slice(), &[1, n_query, n_key]);
            sites.set(site, value.map_err(|error| NumbersError(error.to_string()))?);
        }
        if let Some(x) = &x {
            sites.set(Site::ResidPre, x.matrix()?);
        }
        let kind = StackKind::SelfAttention;
        let model = ModelSpec {
            name: name.to_owned(),
            family: ModelSpec::UNKNOWN_FAMILY.to_owned(),
            modality: Modality::Text(TextSpec::new(MOST, 0)),
            stacks: vec![StackSpec { kind, layers: vec![layer], causal: self.causal }],
            d_model: x.as_ref().map_or(d_head, Typed::n_cols),
            n_params: 0,
            head: None,
            checkpoint: None,
        };
        let layer = LayerCapture { scorer: scored.scorer, ..LayerCapture::of(sites) };
        let stack = StackCapture { kind, layers: vec![layer], ..StackCapture::default() };
        let parts = CaptureParts {
            id,
            model: Arc::new(model),
            input: InputInfo::default(),
            tokens: BTreeMap::from([(Side::Only, self.tokens(n)?)]),
            stacks: vec![stack],
            sequences: BTreeMap::new(),
            image: None,
            logits: None,
            prediction: None,
            generated: None,
            computation: Computation { normalizer, ..Computation::default() },
            notes: vec!["Computed from numbers that were typed".to_owned()],
        };
        Capture::new(parts).map_err(|error| NumbersError(error.to_string()))
    }

    fn inputs(&self) -> Result<Option<Typed>, NumbersError> {
        self.x.as_ref().map(|x| Typed::of("x", x)).transpose()
    }

    /// Queries, keys and values, given or made of inputs.
    fn vectors(&self) -> Result<[Typed; 3], NumbersError> {
        let x = self.inputs()?;
        let of = |own: (&'static str, &Option<Rows>), map: (&'static str, &Option<Rows>)| match (own.1, map.1, &x) {
            (Some(rows), None, _) => Typed::of(own.0, rows),
            (None, Some(map_rows), Some(x)) => x.mapped(own.0, &Typed::of(map.0, map_rows)?),
            (Some(_), Some(_), _) => refuse(format!("Give {} or {}, not both", own.0, map.0)),
            (None, Some(_), None) => refuse(format!("{} needs inputs x", map.0)),
            (None, None, _) => refuse(format!("Give {}, or x and {}", own.0, map.0)),
        };
        Ok([
            of(("q", &self.q), ("wq", &self.wq))?,
            of(("k", &self.k), ("wk", &self.wk))?,
            of(("v", &self.v), ("wv", &self.wv))?,
        ])
    }

    fn tokens(&self, n: usize) -> Result<Vec<Token>, NumbersError> {
        if !self.tokens.is_empty() && self.tokens.len() != n {
            return refuse(format!("There are {} tokens and {n} rows of queries", self.tokens.len()));
        }
        let text = |at: usize| self.tokens.get(at).map_or_else(|| (at + 1).to_string(), Clone::clone);
        Ok((0..n).map(|at| Token { text: text(at), ..Token::default() }).collect())
    }

    /// Scores of every query with every key, without a mask.
    fn scored(&self, [q, k]: [&Typed; 2]) -> Result<Scored, NumbersError> {
        let product = |q: Typed, k: Typed, usual: f64| {
            let scale = self.scale.unwrap_or(usual);
            if q.n_cols() != k.n_cols() {
                return refuse(format!("Queries are {} wide and keys {}", q.n_cols(), k.n_cols()));
            }
            let scores = Typed::from_fn("scores", q.n_rows(), k.n_rows(), |i, j| scale * dot(&q.rows[i], &k.rows[j]));
            Ok(Scored { scores, scale, vectors: Some([q, k]), scorer: None })
        };
        let hidden = |bend: Bend, queries: &Typed, keys: &Typed, energy: &[f64]| {
            let scale = self.scale.unwrap_or(1.0);
            let rows = [&queries.rows[..], &keys.rows, &[energy.to_vec()]].concat();
            let scorer = capture::Scorer::new(bend, Typed { name: "the hidden layer", rows }.matrix()?, keys.n_rows());
            let scorer = scorer.map_err(|error| NumbersError(error.to_string()))?;
            let score = |i: usize, j: usize| scale * scorer.score(i, j).unwrap_or(f64::NAN);
            let scores = Typed::from_fn("scores", queries.n_rows(), keys.n_rows(), score);
            Ok(Scored { scores, scale, vectors: None, scorer: Some(scorer) })
        };
        match &self.scorer {
            Scorer::Dot => product(q.clone(), k.clone(), 1.0),
            Scorer::ScaledDot => product(q.clone(), k.clone(), 1.0 / (q.n_cols() as f64).sqrt()),
            Scorer::Cosine => product(q.of_length_one(), k.of_length_one(), 1.0),
            Scorer::Bilinear { w } => product(q.mapped("q", &Typed::of("w", w)?)?, k.clone(), 1.0),
            Scorer::Additive { wq, wk, energy } => {
                let (queries, keys) =
                    (q.mapped("q", &Typed::of("scorer’s wq", wq)?)?, k.mapped("k", &Typed::of("scorer’s wk", wk)?)?);
                check_width("energy", energy.len(), queries.n_cols())?;
                check_width("scorer’s wk", keys.n_cols(), queries.n_cols())?;
                hidden(Bend::Tanh, &queries, &keys, energy)
            }
            Scorer::Mlp { w, b, energy } => {
                let map = Typed::of("w", w)?;
                check_width("w", map.n_rows(), q.n_cols() + k.n_cols())?;
                check_width("b", b.len(), map.n_cols())?;
                check_width("energy", energy.len(), map.n_cols())?;
                let (of_query, of_key) = map.rows.split_at(q.n_cols());
                let [of_query, of_key] = [of_query, of_key].map(|rows| Typed { name: "w", rows: rows.to_vec() });
                let (queries, mut keys) = (q.mapped("q", &of_query)?, k.mapped("k", &of_key)?);
                keys.rows.iter_mut().for_each(|row| row.iter_mut().zip(b).for_each(|(key, bias)| *key += bias));
                hidden(Bend::Relu, &queries, &keys, energy)
            }
        }
    }
}

/// Scores, and the vectors whose products they are, where they are products.
struct Scored {
    scores: Typed,
    scale: f64,
    vectors: Option<[Typed; 2]>,
    /// The hidden layer, where they meet in one.
    scorer: Option<capture::Scorer>,
}

/// A checked matrix with its name.
#[derive(Clone, Debug)]
struct Typed {
    name: &'static str,
    rows: Rows,
}

impl Typed {
    fn of(name: &'static str, rows: &Rows) -> Result<Self, NumbersError> {
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 {
            return refuse(format!("{name} is empty"));
        }
        if let Some(at) = rows.iter().position(|row| row.len() != width) {
            let n = rows[at].len();
            return refuse(format!("Row {} of {name} has {n} numbers and the first has {width}", at + 1));
        }
        // A map may read a query and a key side by side.
        if rows.len() > 2 * WIDEST || width > WIDEST {
            return refuse(format!(
                "{name} is {} × {width}: rows of at most {WIDEST} numbers are read as single ones",
                rows.len()
            ));
        }
        if rows.iter().flatten().any(|value| !(*value as f32).is_finite()) {
            return refuse(format!("{name} has a number that is too large"));
        }
        Ok(Self { name, rows: rows.clone() })
    }

    fn from_fn(name: &'static str, n_rows: usize, n_cols: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        Self { name, rows: (0..n_rows).map(|row| (0..n_cols).map(|col| value(row, col)).collect()).collect() }
    }

    const fn n_rows(&self) -> usize {
        self.rows.len()
    }

    fn n_cols(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Every row by a map `[in, out]`.
    fn mapped(&self, name: &'static str, map: &Self) -> Result<Self, NumbersError> {
        if self.n_cols() != map.n_rows() {
            let (own, theirs) = (self.n_cols(), map.n_rows());
            return refuse(format!("{} has {theirs} rows and {} is {own} wide", map.name, self.name));
        }
        let value = |row: usize, col: usize| self.rows[row].iter().zip(&map.rows).map(|(x, row)| x * row[col]).sum();
        Ok(Self::from_fn(name, self.n_rows(), map.n_cols(), value))
    }

    /// Rows divided by their length; rows of zeros stay.
    fn of_length_one(&self) -> Self {
        let length = |row: &[f64]| dot(row, row).sqrt();
        let one = |row: &Vec<f64>| match length(row) {
            0.0 => row.clone(),
            length => row.iter().map(|value| value / length).collect(),
        };
        Self { name: self.name, rows: self.rows.iter().map(one).collect() }
    }

    fn values(&self) -> Vec<f32> {
        self.rows.iter().flatten().map(|value| *value as f32).collect()
    }

    fn per_head(&self) -> Result<PerHead, NumbersError> {
        let made = PerHead::new(self.values(), [1, self.n_rows(), self.n_cols()]);
        made.map_err(|error| NumbersError(error.to_string()))
    }

    fn matrix(&self) -> Result<Matrix, NumbersError> {
        Matrix::new(self.values(), [self.n_rows(), self.n_cols()]).map_err(|error| NumbersError(error.to_string()))
    }
}

fn check_width(name: &str, n: usize, expected: usize) -> Result<(), NumbersError> {
    if n == expected { Ok(()) } else { refuse(format!("{name} has {n} where {expected} belong")) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scores of which a mask hides some.
fn masked(scores: &Typed, mask: Mask) -> Result<Matrix, NumbersError> {
    let (n_query, n_key) = (scores.n_rows(), scores.n_cols());
    let values: Vec<f32> = (0..n_query)
        .flat_map(|query| {
            let seen = mask.visible(query, n_query, n_key);
            let value =
                move |key: usize| if seen.contains(&key) { scores.rows[query][key] as f32 } else { f32::NEG_INFINITY };
            (0..n_key).map(value)
        })
        .collect();
    Matrix::new(values, [n_query, n_key]).map_err(|error| NumbersError(error.to_string()))
}

//! Numbers as they are typed: examples, the numbers of a recorded head, and all of them as text and back.

use super::{FORMAT, MOST, Numbers, NumbersError, Rows, Scorer, WIDEST, refuse};
use crate::{
    capture::{Capture, PerHead, words},
    ids::{CaptureId, HeadId, StackKind},
    text::told,
};

/// Numbers of slides, with their names.
const EXAMPLES: [(&str, &str); 2] = [
    ("Self-attention of three inputs", include_str!("../../../examples/numbers/self-attention.json")),
    ("Additive scorer", include_str!("../../../examples/numbers/scorers.json")),
];

/// Numbers of one name, as they are typed.
#[derive(Debug)]
pub enum Cells<'a> {
    Rows(&'a mut Rows),
    Row(&'a mut Vec<f64>),
}

impl Cells<'_> {
    /// The numbers, a line for each row.
    pub fn text(&self) -> String {
        let line = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        match self {
            Self::Rows(rows) => rows.iter().map(line).collect::<Vec<_>>().join("\n"),
            Self::Row(row) => line(row),
        }
    }

    /// Takes the numbers of a text: rows on lines of their own, between numbers spaces or commas.
    ///
    /// # Errors
    /// Names the first word that is no number.
    pub fn take(&mut self, text: &str) -> Result<(), NumbersError> {
        let number = |word: &str| {
            let read = word.replace('−', "-").parse().ok().filter(|value: &f64| value.is_finite());
            read.ok_or_else(|| NumbersError(format!("“{}” is no number", told(word))))
        };
        let row = |line: &str| {
            let words = line.split([' ', ',', ';', '\t']).filter(|word| !word.is_empty());
            words.map(number).collect::<Result<Vec<f64>, _>>()
        };
        match self {
            Self::Rows(rows) => {
                **rows = text.lines().filter(|line| !line.trim().is_empty()).map(row).collect::<Result<_, _>>()?;
            }
            Self::Row(values) => **values = row(&text.replace('\n', " "))?,
        }
        Ok(())
    }
}

/// Kinds of scorers, as they are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScorerKind {
    Dot,
    ScaledDot,
    Cosine,
    Bilinear,
    Additive,
    Mlp,
}

vocabulary! {
    ScorerKind:
    /// On screen.
    title;
    Dot("Dot product"),
    ScaledDot("Scaled dot product"),
    Cosine("Cosine"),
    Bilinear("Bilinear"),
    Additive("Additive"),
    Mlp("MLP"),
}

impl Scorer {
    /// Which kind it is.
    pub const fn kind(&self) -> ScorerKind {
        match self {
            Self::Dot => ScorerKind::Dot,
            Self::ScaledDot => ScorerKind::ScaledDot,
            Self::Cosine => ScorerKind::Cosine,
            Self::Bilinear { .. } => ScorerKind::Bilinear,
            Self::Additive { .. } => ScorerKind::Additive,
            Self::Mlp { .. } => ScorerKind::Mlp,
        }
    }
}

impl ScorerKind {
    /// A scorer of vectors of `width` numbers, with identities for its maps and ones for its energy.
    pub fn scorer(self, width: usize) -> Scorer {
        let identity =
            || -> Rows { (0..width).map(|row| (0..width).map(|col| one_if(row == col)).collect()).collect() };
        let energy = vec![1.0; width];
        match self {
            Self::Dot => Scorer::Dot,
            Self::ScaledDot => Scorer::ScaledDot,
            Self::Cosine => Scorer::Cosine,
            Self::Bilinear => Scorer::Bilinear { w: identity() },
            Self::Additive => Scorer::Additive { wq: identity(), wk: identity(), energy },
            Self::Mlp => Scorer::Mlp { w: [identity(), identity()].concat(), b: vec![0.0; width], energy },
        }
    }
}

fn one_if(is_one: bool) -> f64 {
    if is_one { 1.0 } else { 0.0 }
}

impl Numbers {
    /// All that is typed as numbers, by name.
    pub fn cells(&mut self) -> Vec<(&'static str, Cells<'_>)> {
        let matrices = [
            ("x", &mut self.x),
            ("Wq", &mut self.wq),
            ("Wk", &mut self.wk),
            ("Wv", &mut self.wv),
            ("q", &mut self.q),
            ("k", &mut self.k),
            ("v", &mut self.v),
        ];
        let rows = |(name, rows): (&'static str, _)| Some((name, Cells::Rows(Option::as_mut(rows)?)));
        let mut cells: Vec<_> = matrices.into_iter().filter_map(rows).collect();
        match &mut self.scorer {
            Scorer::Dot | Scorer::ScaledDot | Scorer::Cosine => {}
            Scorer::Bilinear { w } => cells.push(("W of the scorer", Cells::Rows(w))),
            Scorer::Additive { wq, wk, energy } => {
                cells.push(("Wq of the scorer", Cells::Rows(wq)));
                cells.push(("Wk of the scorer", Cells::Rows(wk)));
                cells.push(("Energy", Cells::Row(energy)));
            }
            Scorer::Mlp { w, b, energy } => {
                cells.push(("W of the scorer", Cells::Rows(w)));
                cells.push(("Bias of the scorer", Cells::Row(b)));
                cells.push(("Energy", Cells::Row(energy)));
            }
        }
        cells
    }

    /// The same with queries, keys and values in place of inputs and maps.
    ///
    /// # Errors
    /// As [`Self::capture`].
    pub fn without_inputs(&self) -> Result<Self, NumbersError> {
        let capture = self.capture("", CaptureId(0))?;
        let [q, k, v] = self.vectors()?;
        let tokens = capture.query_tokens(StackKind::SelfAttention).iter().map(|token| token.text.clone()).collect();
        let [q, k, v] = [q, k, v].map(|typed| Some(typed.rows));
        Ok(Self { tokens, x: None, wq: None, wk: None, wv: None, q, k, v, ..self.clone() })
    }

    /// How wide queries are.
    pub fn width(&self) -> usize {
        self.vectors().map_or(0, |[q, ..]| q.n_cols())
    }

    /// The names of the examples, in order.
    pub fn examples() -> impl Iterator<Item = &'static str> {
        EXAMPLES.iter().map(|(name, _)| *name)
    }

    /// An example.
    ///
    /// # Errors
    /// When there is none at this place.
    pub fn example(idx: usize) -> Result<Self, NumbersError> {
        let (_, json) = EXAMPLES.get(idx).ok_or_else(|| NumbersError("There is no such example".to_owned()))?;
        Self::from_json(json.as_bytes())
    }

    /// Queries, keys and values of a recorded head, of the first tokens where there are more than [`MOST`].
    ///
    /// # Errors
    /// Says why they do not give its weights: something that is not typed takes part.
    pub fn of_head(capture: &Capture, head: HeadId) -> Result<Self, NumbersError> {
        let Some((spec, layer)) = capture.model().layer_of(head).zip(capture.layer(head)) else {
            return refuse("There is no such head");
        };
        let (queries, keys) = (capture.query_tokens(head.stack), capture.key_tokens(head.stack));
        let obstacle = match () {
            () if head.stack.query_side() != head.stack.key_side() => Some("its queries and keys are of two texts"),
            () if !spec.mixer.is_attention() => Some("no query is compared with a key there"),
            () if spec.biased => Some("a bias by position is added to its scores"),
            () if spec.softcap.is_some() => Some("its scores are capped"),
            () if spec.sink => Some("it has a sink"),
            () if !capture.global_tokens(head).is_empty() => Some("some of its tokens see all others"),
            () if spec.d_head > WIDEST => Some("it is wider than numbers are read"),
            () => None,
        };
        if let Some(why) = obstacle {
            return refuse(format!("{head} cannot be computed by hand: {why}"));
        }
        let n = queries.len().min(keys.len()).min(MOST);
        let rows = |values: Option<&PerHead>, of: usize| {
            let matrix = values.and_then(|values| values.head(of))?;
            let row = |row: &[f32]| row.iter().map(|value| rounded(*value)).collect();
            Some(matrix.rows().take(n).map(row).collect::<Rows>())
        };
        let kv = spec.kv_head(head.head);
        let [q, k, v] = [rows(layer.q(), head.head), rows(layer.k(), kv), rows(layer.v(), kv)];
        if q.is_none() || k.is_none() || v.is_none() {
            return refuse(format!("Queries, keys and values of {head} were not recorded: run the model again"));
        }
        Ok(Self {
            format: FORMAT.to_owned(),
            tokens: (0..n).map(|at| words::bare(&words::token_text(queries, at)).to_owned()).collect(),
            x: None,
            wq: None,
            wk: None,
            wv: None,
            q,
            k,
            v,
            scorer: Scorer::Dot,
            scale: Some(rounded(spec.scale)),
            causal: capture.model().stack(head.stack).is_some_and(|stack| stack.causal),
            window: spec.window,
            normalizer: capture.computation().normalizer_of(head).to_string(),
        })
    }
}

/// A number in the fewest digits that are read as the same one.
fn rounded(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

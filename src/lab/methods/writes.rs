//! What a head writes by its weights alone: outcomes that it raises and lowers for a token that it reads, and whether it
//! copies (Elhage et al. 2021).

use serde_json::json;

use crate::{
    analysis::explain::report::{ColumnValues, Form, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    capture::{Capture, head_name},
    ids::HeadId,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        head_writes::{HeadWrites, TokenWritten, head_writes},
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, read_head, whole},
    },
    model::Model,
};

/// Tokens of the input that are asked about where none is named.
const N_OF_INPUT: usize = 8;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "writes",
    title: "What a head writes, by its weights",
    question: LabQuestion::Moves,
    about: "Tokens that a head raises and lowers for each token it reads, by its weights alone, and whether it copies \
            (Elhage et al. 2021)",
    example: "--model demo:gpt --text \"Once upon a time\" --layer 1 --head 0",
    caveat: "Weights alone ignore the context: above the first layer a head reads more than a token's embedding, and what \
             it attends to has no part in it.",
    formula: "row of t = E[t] · N · W_V · W_O · N' · U, with γ and without the deviation of the norms N and N', and without \
              biases\ncopying = Σ Re λ / Σ |λ|, with the eigenvalues of (W_O N' U) (E N W_V)\n\
              of the stream: with those of W_V W_O",
    source: "Elhage et al. 2021",
    values: &[
        ValueSpec::new(
            "written",
            "Raised and lowered by the head, by token that is read",
            "By weights alone; numbers of one row compare, those of two rows do not: each has a scale of its own",
        ),
        ValueSpec::new("copying", "Copying score", "1: every token raises itself; −1: every token lowers itself")
            .form(Form::Decimal),
        ValueSpec::new(
            "copying_of_stream",
            "Copying score of W_V W_O alone",
            "Without the embeddings: whether what is read from the stream comes back as itself",
        )
        .form(Form::Decimal),
    ],
    ..MethodSpec::EMPTY
};

/// Which head, and of which tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritesOptions {
    pub head: HeadId,
    /// Words whose tokens are read; without words and ids those that the head attends to most in the input.
    pub words: Vec<String>,
    /// Tokens that are read, by id.
    pub ids: Vec<u32>,
    /// Outcomes that are listed of each.
    pub n_top: usize,
}

impl WritesOptions {
    /// Of some tokens.
    pub const fn of(head: HeadId, ids: Vec<u32>) -> Self {
        Self { head, words: Vec::new(), ids, n_top: 5 }
    }
}

impl Method for WritesOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "writes",
        title: "What the head writes, by its weights",
        method: &SPEC,
        starts: false,
        ask: |focus| Ok(Self::of(focus.head, Vec::new()).into()),
    }];

    fn begin() -> Self {
        Self::of(HeadId::default(), Vec::new())
    }

    // In the window the head is the one that is selected.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            read_head(visit, &mut self.head);
        }
        let meaning = "Words that the head reads; without them those that it attends to most in this input";
        visit(
            OptionField::new("words", "Words", meaning, FieldValue::Texts(&mut self.words, "king | queen")).in_front(),
        );
        visit(whole("top", "Listed", "Number of tokens that are listed", &mut self.n_top, 1..=1000));
    }

    // The head is told with the answer.
    fn parameters(&self) -> Parameters {
        vec![("words", json!(self.words)), ("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, _target: Target) -> Result<Report, LabError> {
        let plain = lab.plain()?;
        let mut ids = self.ids.clone();
        for word in &self.words {
            ids.extend(lab.model.pieces_of(word)?);
        }
        if ids.is_empty() {
            ids = attended(plain, self.head);
        }
        let found = head_writes(lab.model, self.head, &ids, self.n_top, lab.control)?;
        Ok(report_of(lab.model, &found))
    }
}

/// The tokens of the vocabulary that a head attends to most in an input, special ones left out.
fn attended(capture: &Capture, head: HeadId) -> Vec<u32> {
    let Some(pattern) = capture.stored_pattern(head) else { return Vec::new() };
    let mut found: Vec<(u32, f64)> = Vec::new();
    for (key, token) in capture.key_tokens(head.stack).iter().enumerate().filter(|(_, token)| !token.special) {
        let Some(id) = token.id else { continue };
        let mass: f64 = pattern.rows().filter_map(|row| row.get(key)).map(|weight| f64::from(*weight)).sum();
        match found.iter_mut().find(|(known, _)| *known == id) {
            Some((_, sum)) => *sum += mass,
            None => found.push((id, mass)),
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.into_iter().take(N_OF_INPUT).map(|(id, _)| id).collect()
}

/// As a report.
fn report_of(model: &Model, found: &HeadWrites) -> Report {
    let mut report = Report::new(&SPEC).with_parameter("head", head_name(found.head));
    let written = match &found.tokens {
        Ok(tokens) => {
            report = report.with_parameter("n_outcomes", found.n_outcomes);
            table(model, tokens)
        }
        Err(why) => Value::Missing(format!("not defined: {why}")),
    };
    let number = |of: &Result<f64, String>| match of {
        Ok(score) => Value::Number(*score),
        Err(why) => Value::Missing(format!("not defined: {why}")),
    };
    report
        .with_value("written", written)
        .with_value("copying", number(&found.copying))
        .with_value("copying_of_stream", number(&found.copying_of_stream))
}

fn table(model: &Model, tokens: &[TokenWritten]) -> Value {
    let labels = |of: &[(u32, f32)]| of.iter().map(|(id, _)| model.outcome_label(*id)).collect::<Vec<_>>();
    let numbers = |of: &[(u32, f32)]| of.iter().map(|(_, logit)| f64::from(*logit)).collect::<Vec<_>>();
    let mut columns =
        vec![TableColumn::new("token", ColumnValues::Text(tokens.iter().map(|token| token.label.clone()).collect()))];
    if tokens.iter().any(|token| token.own_rank.is_some()) {
        let ranks = tokens.iter().map(|token| token.own_rank.map_or(f64::NAN, |rank| rank as f64));
        columns.push(TableColumn::new("rank_of_itself", ColumnValues::Number(ranks.collect())));
    }
    for (name, logits, of) in [
        ("raised", "raised_by", (|token| &token.raised) as fn(&TokenWritten) -> &Vec<(u32, f32)>),
        ("lowered", "lowered_by", |token| &token.lowered),
    ] {
        columns.push(TableColumn::new(name, ColumnValues::Texts(tokens.iter().map(|t| labels(of(t))).collect())));
        columns.push(TableColumn::new(logits, ColumnValues::Numbers(tokens.iter().map(|t| numbers(of(t))).collect())));
    }
    Value::Table(columns)
}

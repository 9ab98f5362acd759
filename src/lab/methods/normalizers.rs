//! Other normalisers: every head under one, such as α-entmax, which can give keys a weight of exactly 0 (Peters et al.
//! 2019).

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        divergence::kl,
        normalizers::{support, weights},
        report::{Form, LabQuestion, MethodSpec, Report, Value, ValueSpec},
    },
    capture::{Normalize, Normalizer, PerHead, Scope as EditScope},
    ids::HeadId,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{Scope, Visit, choose, real},
        patterns::by_stack,
    },
    model::{Edit, Logits, Site, Sites, Start, Variant},
    spec::HeadKind,
};

/// Values of α that are computed.
const ALPHAS: std::ops::RangeInclusive<f64> = 1.0..=16.0;

/// Values of λ and w.
const LAMBDAS: std::ops::RangeInclusive<f64> = 0.0..=16.0;
const WS: std::ops::RangeInclusive<f64> = -16.0..=16.0;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "normalizers",
    title: "Other normalisers",
    question: LabQuestion::Believe,
    about: "Every head under another normaliser: pattern, keys with weight, and how far the output drifts",
    example: "--model demo:bert --text \"the cat sat\" --alpha 1.5",
    caveat: "The model was trained with another normaliser, so its output with this one shows an effect, not \
        how well it could do.",
    formula: "softmax: exp(z) / Σ exp(z)\nα-entmax: relu((α-1) z - τ)^(1/(α-1)), Σ = 1; sparsemax is α = 2\n\
        fusedmax: sparsemax of argmin_y ½‖y - z‖² + λ Σ |y_(i+1) - y_i|\n\
        chain: p(c_i = 1), p(c) ∝ exp(Σ z_i c_i + w Σ c_i c_(i+1)), c_i = 0 or 1; chain-simplex: divided by the sum\n\
        sparsemap-chain: argmax_μ Σ z_i μ_i + w Σ ν_i - ½‖μ‖², μ and ν such probabilities\n\
        sigmoid: 1 / (1 + exp(-z)); argmax: 1 at the largest z; sample: 1 at a key drawn by softmax",
    source: "Martins and Astudillo 2016; Niculae and Blondel 2017; Kim et al. 2017; Niculae et al. 2018; Peters et al. \
        2019; Ramapuram et al. 2024",
    values: &[
        ValueSpec::new("pattern", "Weights under this normaliser", "The head’s weights with this normaliser"),
        ValueSpec::new("support", "Keys with any weight, mean of queries", "Softmax gives every key a weight above 0"),
        ValueSpec::new(
            "drift",
            "Change of the output if this head alone has it (nats)",
            "Kullback–Leibler divergence from the model’s own output",
        ),
        ValueSpec::new(
            "drift_all",
            "Change of the output if all heads have it (nats)",
            "Kullback–Leibler divergence from the model’s output",
        ),
        ValueSpec::new("score_drift", "Change of the score if this head alone has it", "Size of the difference"),
        ValueSpec::new("score_drift_all", "Change of the score if all heads have it", "Size of the difference")
            .form(Form::Weight),
    ],
    ..MethodSpec::EMPTY
};

/// The normaliser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalizerOptions {
    /// One of [`Normalizer::families`], whose number is below.
    pub family: Normalizer,
    /// Of α-entmax: 1 is softmax, 2 sparsemax.
    pub alpha: f64,
    /// Of fusedmax.
    pub lambda: f64,
    /// Of chains.
    pub w: f64,
}

impl NormalizerOptions {
    /// What makes weights of scores.
    pub fn normalizer(self) -> Normalizer {
        match self.family {
            Normalizer::Entmax(_) => Normalizer::Entmax(self.alpha as f32),
            Normalizer::Fusedmax(_) => Normalizer::Fusedmax(self.lambda as f32),
            Normalizer::ChainSimplex(_) => Normalizer::ChainSimplex(self.w as f32),
            Normalizer::Chain(_) => Normalizer::Chain(self.w as f32),
            Normalizer::SparsemapChain(_) => Normalizer::SparsemapChain(self.w as f32),
            Normalizer::Softmax
            | Normalizer::Sparsemax
            | Normalizer::Sigmoid(_)
            | Normalizer::Argmax
            | Normalizer::Sample { .. } => self.family,
        }
    }
}

impl Method for NormalizerOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "normalizers",
        title: "Sparser normalisers",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self::begin().into()),
    }];

    /// Between softmax and sparsemax.
    fn begin() -> Self {
        Self { family: Normalizer::Entmax(1.5), alpha: 1.5, lambda: 0.1, w: 1.0 }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let what = ("normalizer", "Normaliser", "What makes weights of scores in place of softmax");
        choose(visit, what, &mut self.family, &Normalizer::families());
        let meaning = "α of α-entmax: 1 is softmax, 2 is sparsemax; the larger α, the more weights are exactly 0";
        visit(real("alpha", "α", meaning, &mut self.alpha, ALPHAS));
        let meaning = "λ of fusedmax: 0 is sparsemax; the larger λ, the more neighbours share a weight";
        visit(real("lambda", "λ", meaning, &mut self.lambda, LAMBDAS));
        let meaning = "w of the chains: what two neighbours that are both chosen add to their scores";
        visit(real("w", "w", meaning, &mut self.w, WS));
    }

    fn parameters(&self) -> Parameters {
        let alpha = matches!(self.family, Normalizer::Entmax(_)).then(|| ("alpha", json!(self.alpha)));
        [("normalizer", json!(self.normalizer().to_string()))].into_iter().chain(alpha).collect()
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        normalizers(lab, *self, target)
    }
}

/// Every head's pattern under another normaliser, and what the output does when it has it.
fn normalizers(lab: &LabRun<'_>, options: NormalizerOptions, target: Target) -> Result<Report, LabError> {
    let (alpha, with) = (options.alpha, options.normalizer());
    if !ALPHAS.contains(&alpha) {
        return Err(LabError::unsuited(format!("α goes from 1 (softmax) over 2 (sparsemax) to 16; {alpha} was given")));
    }
    let plain = lab.plain()?;
    let recorded = lab.run(Sites::of(&[Site::Scores, Site::ResidPre]), Logits::Skip)?;
    let stacks = &plain.model().stacks;
    let total: usize = stacks.iter().map(|stack| stack.layers.len()).sum();
    let (mut done, mut heads, mut variants) = (0, Vec::new(), Vec::new());
    let (mut patterns, mut sizes) = (Vec::new(), Vec::new());
    for stack in stacks {
        let (mut layers, mut supports) = (Vec::new(), Vec::new());
        for layer in 0..stack.layers.len() {
            lab.step(done, total)?;
            done += 1;
            let first = HeadId { stack: stack.kind, layer, head: 0 };
            let found = recorded.layer(first);
            let scores = found.and_then(|layer| layer.scores());
            let scores = scores.ok_or_else(|| LabError::unsuited("its scores cannot be recorded"))?;
            let pattern = renormalised(scores, first, with)?;
            let [n_heads, n_query, n_key] = pattern.shape();
            let of_head = |head: usize| {
                let rows = pattern.as_slice()[head * n_query * n_key..][..n_query * n_key].chunks_exact(n_key.max(1));
                let n: usize = rows.map(|row| support(&row.iter().map(|w| f64::from(*w)).collect::<Vec<f64>>())).sum();
                n as f64 / n_query.max(1) as f64
            };
            supports.push(Value::List((0..n_heads).map(of_head).collect()));
            layers.push(Value::heads(stack.kind.query_side(), stack.kind.key_side(), pattern));
            let start = found.filter(|_| lab.model.goes_on()).and_then(|found| found.resid_pre().cloned());
            let start = start.map(|stream| Start { layer, stream });
            heads.extend((0..n_heads).map(|head| (HeadId { stack: stack.kind, layer, head }, start.clone())));
        }
        patterns.push((Cow::Borrowed(stack.kind.name()), Value::Layers(layers)));
        sizes.push((Cow::Borrowed(stack.kind.name()), Value::Layers(supports)));
    }
    let mut report = Report::new(&SPEC);
    report.values = by_stack("pattern", patterns);
    report.values.extend(by_stack("support", sizes));
    let predicts = plain.prediction().is_some_and(|found| found.kind != HeadKind::Similarity);
    if !predicts {
        return Ok(report.with_value(
            "drift",
            Value::Missing("the model predicts nothing, so there is no change of the output to measure".to_owned()),
        ));
    }
    let aim = target.aim(lab)?;
    report.parameters = aim.parameters(lab);
    let edits = |scope: Option<EditScope>| {
        let mut edits = lab.edits.to_vec();
        edits.extend(scope.map(|scope| Edit::Normalize(Normalize { with, scope })));
        Cow::Owned(edits)
    };
    let input = || Cow::Borrowed(lab.input);
    let row = aim.row;
    variants.push(Variant { input: input(), edits: edits(None), start: None, row });
    variants.push(Variant { input: input(), edits: edits(Some(EditScope::All)), start: None, row });
    for (head, start) in &heads {
        let edits = edits(Some(EditScope::Heads(vec![*head])));
        variants.push(Variant { input: input(), edits, start: start.clone(), row });
    }
    let (mut before, mut drifts) = ((None, 0.0), Vec::with_capacity(variants.len()));
    lab.model.logits_of(&variants, lab.control, &mut |idx, logits| {
        let now = (aim.distribution(logits), aim.value(logits));
        match (&before, &now) {
            _ if idx == 0 => before = now,
            ((Some(before), _), (Some(p), _)) => drifts.push(kl(before, p)),
            ((_, before), (_, score)) => drifts.push((score - before).abs()),
        }
    })?;
    let [of_one, of_all] =
        if aim.outputs.has_probabilities() { ["drift", "drift_all"] } else { ["score_drift", "score_drift_all"] };
    let mut of_head = drifts.iter().skip(1).copied();
    let by_layer = stacks.iter().map(|stack| {
        let layers = stack.layers.iter().map(|layer| Value::List(of_head.by_ref().take(layer.n_heads).collect()));
        (Cow::Borrowed(stack.kind.name()), Value::Layers(layers.collect()))
    });
    let by_layer = by_layer.collect();
    report.values.extend(by_stack(of_one, by_layer));
    Ok(report.with_value(of_all, drifts.first().copied().unwrap_or(f64::NAN)))
}

/// Patterns that a normaliser makes of scores `[heads, queries, keys]` of a layer, from its first head on.
fn renormalised(scores: &PerHead, first: HeadId, with: Normalizer) -> Result<PerHead, LabError> {
    let [_, n_query, n_key] = scores.shape();
    let mut values = Vec::with_capacity(scores.as_slice().len());
    for (idx, row) in scores.as_slice().chunks_exact(n_key.max(1)).enumerate() {
        let row: Vec<f64> = row.iter().map(|score| f64::from(*score)).collect();
        let at = (HeadId { head: idx / n_query.max(1), ..first }, idx % n_query.max(1));
        values.extend(weights(with, at, &row).into_iter().map(|weight| weight as f32));
    }
    PerHead::new(values, scores.shape()).map_err(|_| LabError::unsuited("there are no scores"))
}

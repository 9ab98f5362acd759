//! The row of attention that an output is read from, as tests of explanations change it: permuted, erased, replaced.

use std::borrow::Cow;

use super::{
    Aim, LabError, LabRun,
    patterns::{check_shares, patterns},
    row_map::RowMap,
};
use crate::{
    analysis::explain::{
        adversary::{Adversary, AdversaryOptions, Output, Pull, adversary},
        erasure::{erased, until_flip},
        permutation::permuted,
        rank::descending,
    },
    capture::{HideToken, Matrix, SetPattern},
    ids::{HeadId, StackKind},
    model::{Edit, HeadReads, Logits, Objective, Site, Sites, Start, Taps, Variant},
    outputs::OutputKind,
};

/// Outcomes for which adversarial attention is looked for by runs: each takes a backward pass of its own.
const MOST_OUTCOMES: usize = 8;
/// Operations that the search may take: some ten minutes of a small processor.
const MOST_OPERATIONS: f64 = 1e14;
/// Bytes of patterns and streams that wait for their runs.
const WAITING_BYTES: usize = 64 << 20;

/// Where the row is that is put to the test.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowPlace {
    /// The stack; the one that is read for the prediction where there is none.
    pub stack: Option<StackKind>,
    /// The layer; the last where there is none.
    pub layer: Option<usize>,
    /// The head; all of the layer together where there is none.
    pub head: Option<usize>,
}

/// The row that is read, in one head or in all of a layer.
pub(super) struct ReadRow<'a> {
    lab: &'a LabRun<'a>,
    aim: Aim,
    pub heads: Vec<HeadId>,
    pub query: usize,
    /// Keys that the query can see.
    pub keys: Vec<usize>,
    /// Those of them that are no special tokens; all where that leaves too few.
    pub real: Vec<usize>,
    patterns: Vec<Matrix>,
    start: Option<Start>,
    /// What the logits are of a row, where that is known without a run.
    map: Option<RowMap>,
}

impl<'a> ReadRow<'a> {
    /// The row of an output.
    pub fn of(lab: &'a LabRun<'a>, aim: Aim, place: RowPlace) -> Result<Self, LabError> {
        let plain = lab.plain()?;
        let model = plain.model();
        let kinds = [place.stack, aim.stack.cross(), Some(aim.stack)];
        let spec = match place.stack {
            Some(kind) => model.stack(kind),
            None => kinds
                .into_iter()
                .flatten()
                .find_map(|kind| model.stack(kind))
                .or_else(|| model.stacks.iter().find(|stack| stack.kind.query_side() == aim.side)),
        };
        let spec = spec.ok_or_else(|| LabError::unsuited("the model has no such stack"))?;
        let (HeadReads::At(query), true) = (aim.reads, spec.kind.query_side() == aim.side) else {
            let what = "the output does not read a single row of this attention: it reads the mean of all rows, or \
                other tokens";
            return Err(LabError::unsuited(what));
        };
        let n_layers = spec.layers.len();
        let layer = place.layer.unwrap_or_else(|| n_layers.saturating_sub(1));
        if layer >= n_layers {
            return Err(LabError::unsuited(format!("there is no layer {layer} among {n_layers}")));
        }
        let n_heads = spec.n_heads(layer);
        let heads = match place.head {
            Some(head) if head >= n_heads => {
                return Err(LabError::unsuited(format!("there is no head {head}: layer {layer} has {n_heads}")));
            }
            Some(head) => head..head + 1,
            None => 0..n_heads,
        };
        let heads = heads.map(|head| HeadId { stack: spec.kind, layer, head });
        let heads: Vec<HeadId> = heads.filter(|head| !lab.is_off(*head)).collect();
        if heads.is_empty() {
            let what = match place.head {
                Some(head) => format!("L{layer}H{head} is switched off already, so its weights change nothing"),
                None => format!("all heads of layer {layer} are switched off already, so their weights change nothing"),
            };
            return Err(LabError::unsuited(what));
        }
        check_shares(plain, heads.iter().copied())?;
        let all = patterns(plain, spec)?;
        let patterns: Vec<Matrix> = heads.iter().filter_map(|head| all.get(layer)?.head(head.head)).collect();
        let (tokens, n_query) = (plain.key_tokens(spec.kind), plain.query_tokens(spec.kind).len());
        let visibility = plain.visibility_of(heads[0]).unwrap_or_default();
        let side = spec.kind.key_side();
        let hidden = |key: &usize| {
            let is = |edit: &Edit| matches!(edit, Edit::HideToken(HideToken { side: of, position }) if *of == side && position == key);
            lab.edits.iter().any(is)
        };
        let keys: Vec<usize> = visibility.keys(query, n_query, tokens.len()).filter(|key| !hidden(key)).collect();
        if keys.len() < 2 {
            let what = "the position that is read sees a single token, so its weight is always 1: choose a later \
                position or a longer text";
            return Err(LabError::unsuited(what));
        }
        let mut real: Vec<usize> = keys.iter().copied().filter(|key| !tokens[*key].special).collect();
        if real.len() < 2 {
            real.clone_from(&keys);
        }
        let start = if lab.model.goes_on() {
            let recorded = lab.run(Sites::of(&[Site::ResidPre]), Logits::Skip)?;
            let stream = recorded.layer(heads[0]).and_then(|layer| layer.resid_pre().cloned());
            stream.map(|stream| Start { layer, stream })
        } else {
            None
        };
        Ok(Self { lab, aim, heads, query, keys, real, patterns, start, map: None })
    }

    /// The row of each head, `[n_keys]`.
    pub fn weights(&self) -> Vec<Vec<f64>> {
        let of = |pattern: &Matrix| pattern.row(self.query).unwrap_or(&[]).iter().map(|w| f64::from(*w)).collect();
        self.patterns.iter().map(of).collect()
    }

    /// Changes of a run in which the heads have other rows.
    fn edits(&self, rows: &[Vec<f64>]) -> Result<Vec<Edit>, LabError> {
        let mut edits = self.lab.edits.to_vec();
        let is_given =
            |edit: &Edit| matches!(edit, Edit::SetPattern(SetPattern { head, .. }) if self.heads.contains(head));
        edits.retain(|edit| !is_given(edit));
        for ((head, pattern), row) in self.heads.iter().zip(&self.patterns).zip(rows) {
            let n = pattern.n_cols();
            let mut values = pattern.as_slice().to_vec();
            for (value, weight) in values[self.query * n..(self.query + 1) * n].iter_mut().zip(row) {
                *value = *weight as f32;
            }
            let pattern = Matrix::new(values, pattern.shape()).map_err(|_| LabError::unsuited("a pattern is empty"))?;
            edits.push(Edit::SetPattern(SetPattern { head: *head, pattern }));
        }
        Ok(edits)
    }

    /// What `read` makes of the logits in runs with other rows of each head.
    pub fn run<T>(&self, changed: &[Vec<Vec<f64>>], read: impl Fn(&[f32]) -> T) -> Result<Vec<T>, LabError> {
        if let Some(map) = &self.map {
            return Ok(changed.iter().map(|rows| read(&map.logits(&rows[0]))).collect());
        }
        let streams = self.start.as_ref().map_or(0, |start| start.stream.as_slice().len());
        let each = 4 * (streams + self.patterns.iter().map(|pattern| pattern.as_slice().len()).sum::<usize>());
        let mut found = Vec::with_capacity(changed.len());
        for (part, changed) in changed.chunks((WAITING_BYTES / each.max(1)).max(1)).enumerate() {
            self.lab.step(part, part + 1)?;
            let variants = changed.iter().map(|rows| {
                let edits = Cow::Owned(self.edits(rows)?);
                let input = Cow::Borrowed(self.lab.input);
                Ok(Variant { input, edits, start: self.start.clone(), row: self.aim.row })
            });
            let variants = variants.collect::<Result<Vec<_>, LabError>>()?;
            let each = &mut |_: usize, logits: &[f32]| found.push(read(logits));
            self.lab.model.logits_of(&variants, self.lab.control, each)?;
        }
        Ok(found)
    }

    /// The probabilities of the output in such runs; empty where it is a score.
    pub fn probabilities(&self, changed: &[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>, LabError> {
        self.run(changed, |logits| self.aim.distribution(logits).unwrap_or_default())
    }

    /// The same keys of several rows, their mean.
    pub fn mean(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        let n = rows.len().max(1) as f64;
        self.keys.iter().map(|key| rows.iter().map(|row| row[*key]).sum::<f64>() / n).collect()
    }

    /// Gradients of an objective by the row, under changes; the heads' sum, by key that is seen.
    fn gradient(&self, edits: Vec<Edit>, objective: Objective) -> Result<Vec<f64>, LabError> {
        let mut plan = self.lab.plan(Sites::NONE, Logits::Skip);
        plan.edits = edits;
        let taps = Taps::of(&[Site::Pattern]);
        let (_, found) = self.lab.model.gradients(self.lab.input, &plan, objective, taps, self.lab.control)?;
        let mut sums = vec![0.0; self.keys.len()];
        for head in &self.heads {
            let gradient = found.layer(*head).and_then(|layer| layer.pattern()).and_then(|all| all.head(head.head));
            let row = gradient.as_ref().and_then(|all| all.row(self.query)).unwrap_or(&[]);
            for (sum, key) in sums.iter_mut().zip(&self.keys) {
                *sum += row.get(*key).map_or(0.0, |value| f64::from(*value));
            }
        }
        Ok(sums)
    }

    /// Rows whose weights lie on other keys, the same for all heads.
    pub fn permutations(&self, count: usize, seed: u64) -> Result<Vec<Vec<Vec<f64>>>, LabError> {
        let rows = self.weights();
        let places: Vec<f64> = (0..rows[0].len()).map(|key| key as f64).collect();
        let orders = permuted(&places, &self.real, count, seed)?;
        let of_order = |order: Vec<f64>| {
            rows.iter().map(|row| order.iter().map(|key| row[*key as usize]).collect()).collect::<Vec<Vec<f64>>>()
        };
        Ok(orders.into_iter().map(of_order).collect())
    }

    /// Every head attends evenly to what it sees.
    pub fn uniform(&self) -> Vec<Vec<f64>> {
        let mut row = vec![0.0; self.patterns[0].n_cols()];
        for key in &self.keys {
            row[*key] = 1.0 / self.keys.len() as f64;
        }
        vec![row; self.heads.len()]
    }

    /// The share of keys that have to go, in an order of them, until the decision flips.
    pub fn flips_at(&self, order: &[usize], decision: usize) -> Result<Option<f64>, LabError> {
        let rows = self.weights();
        let without = |n: usize| {
            let gone: Vec<usize> = order[..n].iter().map(|nth| self.keys[*nth]).collect();
            rows.iter().map(|row| erased(row, &gone)).collect::<Vec<Vec<f64>>>()
        };
        let changed: Vec<_> = (1..=order.len()).map(without).collect();
        let decisions: Vec<usize> = self.probabilities(&changed)?.iter().map(|p| descending(p)[0]).collect();
        let mut decide = |_: &[f64], gone: &[usize]| Ok::<_, LabError>(decisions[gone.len() - 1]);
        let flip = until_flip(&self.mean(&rows), order, decision, &mut decide)?;
        Ok(flip.map(|flip| flip.fraction))
    }

    /// Whether adversarial attention can be looked for; why not otherwise.
    ///
    /// # Errors
    /// When a run fails or somebody says stop.
    pub fn adversary(&self, p: &[f64], search: AdversaryOptions) -> Result<Result<Adversary, String>, LabError> {
        if let Some(why) = self.adversary_refusal(p.len(), search) {
            return Ok(Err(why));
        }
        let n_cols = self.patterns[0].n_cols();
        let rows = |weights: &Vec<f64>| {
            let mut row = vec![0.0; n_cols];
            for (key, weight) in self.keys.iter().zip(weights) {
                row[*key] = *weight;
            }
            vec![row; self.heads.len()]
        };
        let mut above = |candidates: &[Vec<f64>], pull: Pull<'_>| -> Result<Vec<Output>, LabError> {
            let changed: Vec<_> = candidates.iter().map(rows).collect();
            let outputs = self.probabilities(&changed)?.into_iter().enumerate().map(|(k, p)| {
                let Some(factors) = pull(k, &p) else { return Ok(Output { p, gradient: None }) };
                let gradient = self.pulled(&changed[k], &p, &factors)?;
                Ok(Output { p, gradient: Some(gradient) })
            });
            outputs.collect()
        };
        let weights = self.mean(&self.weights());
        let go_on = |done: usize, total: usize| self.lab.step(done, total).is_ok();
        adversary(&weights, p, search, &mut above, &go_on).map(Ok)
    }

    /// Why adversarial attention is not looked for.
    fn adversary_refusal(&self, n_outcomes: usize, search: AdversaryOptions) -> Option<String> {
        if search.n_steps == 0 {
            return Some("it was not requested".to_owned());
        }
        if self.map.is_some() {
            return None;
        }
        let spec = self.lab.model.spec();
        let n_layers: usize = spec.stacks.iter().map(|stack| stack.layers.len()).sum();
        let (n, width) = (self.patterns[0].n_cols() as f64, spec.d_model as f64);
        let runs = search.n_steps * search.n_candidates * if n_outcomes == 2 { 1 } else { n_outcomes };
        if n_outcomes > MOST_OUTCOMES {
            Some(format!("left out: needs one backward pass per outcome ({n_outcomes}) and step"))
        } else if runs as f64 * 3.0 * n * n_layers as f64 * 24.0 * width * width > MOST_OPERATIONS {
            Some(format!("left out: needs {runs} backward passes; choose fewer steps"))
        } else {
            None
        }
    }

    /// The gradient of `Σ_o c_o p_o` by the weights of the keys that are seen, in a run with these rows.
    fn pulled(&self, changed: &[Vec<f64>], p: &[f64], factors: &[f64]) -> Result<Vec<f64>, LabError> {
        let row = self.aim.row;
        let mean: f64 = factors.iter().zip(p).map(|(c, p)| c * p).sum();
        let by_logit: Vec<f64> = factors.iter().zip(p).map(|(c, p)| p * (c - mean)).collect();
        let is_label = self.aim.outputs == OutputKind::Labels;
        if let Some(map) = &self.map {
            let first = if is_label { self.aim.id } else { 0 };
            let of_logits: Vec<(u32, f64)> =
                if is_label { vec![(first, by_logit[0])] } else { (first..).zip(by_logit).collect() };
            return Ok(self.keys.iter().map(|key| map.slope(*key, &of_logits)).collect());
        }
        let edits = self.edits(changed)?;
        // Of two outcomes one's gain is the other's loss, as of a label and its absence.
        let objectives: Vec<(Objective, f64)> = if is_label {
            vec![(Objective::Logit { row, id: self.aim.id }, by_logit[0])]
        } else if p.len() == 2 {
            vec![(Objective::LogitDifference { row, id: 0, against: 1 }, by_logit[0])]
        } else {
            (0u32..).zip(&by_logit).map(|(id, factor)| (Objective::Logit { row, id }, *factor)).collect()
        };
        let mut gradient = vec![0.0; self.keys.len()];
        for (objective, factor) in objectives {
            let own = self.gradient(edits.clone(), objective)?;
            gradient.iter_mut().zip(own).for_each(|(sum, slope)| *sum += factor * slope);
        }
        Ok(gradient)
    }

    /// The gradient of the probability of what is decided, or of its logarithm, by each weight, by key that is seen:
    /// both put keys into one order.
    pub fn decision_gradient(&self, decision: usize) -> Result<Vec<f64>, LabError> {
        // That a label does not hold is as probable as its logit is low.
        let (of, sign) = match (self.aim.outputs, decision) {
            (OutputKind::Labels, 0) => (Objective::Logit { row: self.aim.row, id: self.aim.id }, 1.0),
            (OutputKind::Labels, _) => (Objective::Logit { row: self.aim.row, id: self.aim.id }, -1.0),
            _ => (Objective::LogProbability { of: vec![(self.aim.row, decision as u32)] }, 1.0),
        };
        Ok(self.gradient(self.lab.edits.to_vec(), of)?.iter().map(|slope| sign * slope).collect())
    }

    /// The same row, with the logits as an affine function of it where they are one: of a single head whose output goes
    /// into a linear head without anything between, as in recurrent classifiers. A few runs find the function and check
    /// it; where it does not hold, every changed row is run.
    pub fn mapped(mut self) -> Result<Self, LabError> {
        let [pattern] = &self.patterns[..] else { return Ok(self) };
        let n = pattern.n_cols();
        let probes: Vec<Vec<Vec<f64>>> = RowMap::probes(n, &self.keys).into_iter().map(|row| vec![row]).collect();
        let given = self.weights();
        let checks = [given, self.uniform(), vec![reversed(&self.keys, &self.weights()[0])]];
        let logits = self.run(&[&probes[..], &checks[..]].concat(), <[f32]>::to_vec)?;
        let (probed, checked) = logits.split_at(probes.len());
        let map = RowMap::of(n, &self.keys, probed);
        let holds = checks.iter().zip(checked).all(|(rows, logits)| map.is_near(&rows[0], logits));
        self.map = holds.then_some(map);
        Ok(self)
    }

    /// Whether changed rows need no runs ([`Self::mapped`]).
    pub const fn is_mapped(&self) -> bool {
        self.map.is_some()
    }
}

/// The weights of the keys that are seen, in the opposite order.
fn reversed(keys: &[usize], row: &[f64]) -> Vec<f64> {
    let mut turned = vec![0.0; row.len()];
    for (to, from) in keys.iter().zip(keys.iter().rev()) {
        turned[*to] = row[*from];
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::explain::{
            divergence::{jsd, tvd},
            permutation::median,
        },
        lab::{LabRun, Target},
        model::{Engine, Input, Model, locate, uninterrupted},
    };

    fn model(name: &str) -> Model {
        let (files, title) = locate::model(name).unwrap();
        Model::load(&files, &title, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap()
    }

    #[test]
    fn rows_without_runs_come_to_what_runs_do() {
        let model = model("demo:bilstm");
        let input = model.encode(&Input::text("a fine and clever film with a weak ending")).unwrap();
        let lab = LabRun::new(&model, &input, &[], &uninterrupted, &|_| {});
        let aim = Target::default().aim(&lab).unwrap();
        let row = || ReadRow::of(&lab, aim, RowPlace::default()).unwrap();
        let (run, mapped) = (row(), row().mapped().unwrap());
        assert!(mapped.is_mapped() && !run.is_mapped());
        let near = |a: &[f64], b: &[f64]| {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-5), "{a:?} against {b:?}");
        };
        let rows = run.permutations(10, 3).unwrap();
        for (a, b) in run.probabilities(&rows).unwrap().iter().zip(mapped.probabilities(&rows).unwrap()) {
            near(a, &b);
        }
        let p = run.probabilities(&[run.weights()]).unwrap().remove(0);
        near(&run.pulled(&rows[0], &p, &[1.0, -0.5]).unwrap(), &mapped.pulled(&rows[0], &p, &[1.0, -0.5]).unwrap());
        let search = AdversaryOptions { n_steps: 8, seed: 4, ..AdversaryOptions::default() };
        let far = |row: &ReadRow<'_>| row.adversary(&p, search).unwrap().unwrap();
        for (a, b) in far(&run).candidates.iter().zip(far(&mapped).candidates) {
            near(&a.weights, &b.weights);
        }
    }

    #[test]
    fn a_transformer_has_no_such_function_and_is_run() {
        let model = model("demo:sentiment");
        let input = model.encode(&Input::text("a fine film")).unwrap();
        let lab = LabRun::new(&model, &input, &[], &uninterrupted, &|_| {});
        let aim = Target::default().aim(&lab).unwrap();
        let place = RowPlace { head: Some(0), ..RowPlace::default() };
        assert!(!ReadRow::of(&lab, aim, place).unwrap().mapped().unwrap().is_mapped());
        let all = ReadRow::of(&lab, aim, RowPlace::default()).unwrap().mapped().unwrap();
        assert!(!all.is_mapped());
        let changed = all.probabilities(&all.permutations(5, 0).unwrap()).unwrap();
        assert!(median(&changed.iter().map(|p| p[0]).collect::<Vec<_>>()).is_some_and(|p| (0.0..=1.0).contains(&p)));
    }

    /// `tests/fixtures/generate_debate.py`.
    #[test]
    fn weights_in_the_opposite_order_are_as_far_as_by_scipy_and_do_what_they_do_in_pytorch() {
        let expected = include_str!("../../tests/fixtures/lab/debate.json");
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        let reviews = include_str!("../../assets/corpora/reviews.csv");
        let model = model("demo:bilstm");
        let mut n = 0;
        for (line, expected) in reviews.lines().skip(1).zip(expected["demo:bilstm"].as_array().unwrap()) {
            let Some((text, _)) = line.rsplit_once(',').filter(|(text, _)| !text.contains('"')) else { continue };
            let input = model.encode(&Input::text(text)).unwrap();
            let lab = LabRun::new(&model, &input, &[], &uninterrupted, &|_| {});
            let row = ReadRow::of(&lab, Target::default().aim(&lab).unwrap(), RowPlace::default()).unwrap();
            let row = row.mapped().unwrap();
            let own = row.weights();
            let turned = vec![reversed(&row.keys, &own[0])];
            let found = row.probabilities(&[own.clone(), turned.clone()]).unwrap();
            for (found, name) in [(tvd(&found[0], &found[1]), "tvd"), (jsd(&own[0], &turned[0]), "jsd")] {
                let expected = expected["turned"][name].as_f64().unwrap();
                assert!((found - expected).abs() < 1e-5, "{text}: {name} {found} against {expected}");
            }
            n += 1;
        }
        assert!(n > 3, "reviews without quotes");
    }
}

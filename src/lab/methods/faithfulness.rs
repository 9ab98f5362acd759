//! Faithfulness: whether the weights of the row that is read say what the output depends on (Jain and Wallace 2019,
//! Serrano and Smith 2019, Wiegreffe and Pinter 2019).

use std::borrow::Cow;

use serde_json::json;

use super::leave_one_out::{LeaveOut, leave_one_out};
use crate::{
    analysis::explain::{
        adversary::{AdversaryOptions, Output, Pull, adversary},
        divergence::tvd,
        erasure::{Order, erased, random_orders, until_flip},
        gradients as sums,
        permutation::{median, permuted},
        rank::{descending, kendall},
        report::{Axis, Form, LabQuestion, MethodSpec, Report, Value, ValueSpec},
    },
    capture::{Capture, HideToken, Matrix, SetPattern, head_name},
    glossary,
    ids::{HeadId, Side, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, read_position, read_stack, seed, whole},
        patterns::{check_shares, patterns},
    },
    model::{Edit, HeadReads, Logits, Objective, Site, Sites, Start, Taps, Variant},
    outputs::OutputKind,
};

/// Random orders of erasure beside the four others.
const N_RANDOM: usize = 5;
/// Outcomes for which adversarial attention is looked for: each takes a backward pass of its own.
const MOST_OUTCOMES: usize = 8;
/// Operations that the search may take: some ten minutes of a small processor.
const MOST_OPERATIONS: f64 = 1e14;
/// Bytes of patterns and streams that wait for their runs.
const WAITING_BYTES: usize = 64 << 20;

const TVD: &str = glossary::TOTAL_VARIATION.meaning;
const TAU: &str = glossary::TAU.meaning;
const P: &str = glossary::P_VALUE.meaning;
const SIZE: &str = "Size of the difference";

/// An order in which weights are erased.
const fn erased_by(name: &'static str, title: &'static str) -> ValueSpec {
    let meaning = "Share of the keys whose weights are set to 0 in this order until the most probable outcome changes";
    ValueSpec { absent: "the decision never flips", ..ValueSpec::new(name, title, meaning).form(Form::Share) }
}

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "faithfulness",
    title: "Faithfulness",
    question: LabQuestion::Believe,
    about: "Whether the weights show what the output depends on: correlations, permutation, erasure, adversary",
    example: "--model demo:bilstm --text \"a fine film\"",
    caveat: "Other attention with the same output shows that these weights are not the only possible \
        explanation, not that they are a wrong one.",
    formula: "τ_b = (C - D) / √((T - T_x)(T - T_y))\n\
        permutation: median of ½ Σ_o |p̃_o - p_o|, of a label |p̃ - p|, of a score |s̃ - s|\n\
        adversarial: maximise JSD(α̃, α) with the output kept\n\
        erasure: fraction of weights set to 0, the rest renormalised, until the decision flips",
    source: "Jain and Wallace 2019; Serrano and Smith 2019; Wiegreffe and Pinter 2019",
    values: &[
        ValueSpec::new(
            "attention",
            "Weights in the row that is read",
            "The head’s weights in the row that the output is read from",
        ),
        ValueSpec::new("kendall_gradient", "Agreement with gradient × input (τ)", TAU).form(Form::Decimal),
        ValueSpec::new("p_gradient", "p-value", P).form(Form::Weight),
        ValueSpec::new("kendall_loo", "Agreement with leave-one-out (τ)", TAU).form(Form::Decimal),
        ValueSpec::new("p_loo", "p-value", P).form(Form::Weight),
        ValueSpec::new("permutation", "Change under shuffled weights, each shuffle", TVD),
        ValueSpec::new("permutation_median", "Change under shuffled weights, median", TVD).form(Form::Weight),
        ValueSpec::new("uniform", "Change under equal weights", TVD).form(Form::Weight),
        ValueSpec::new("score_permutation", "Change of the score under shuffled weights, each shuffle", SIZE),
        ValueSpec::new("score_permutation_median", "Change of the score under shuffled weights, median", SIZE)
            .form(Form::Weight),
        ValueSpec::new("score_uniform", "Change of the score under equal weights", SIZE).form(Form::Weight),
        erased_by("erasure.attention", "Erased until the outcome flips, largest weights first"),
        erased_by("erasure.gradient", "… largest gradients first"),
        erased_by("erasure.attention_gradient", "… largest weight × gradient first"),
        erased_by("erasure.product", "… largest weight × gradient first"),
        erased_by("erasure.ascending", "… smallest weights first"),
        erased_by("erasure.random", "Erased until the outcome flips, random orders"),
        ValueSpec::new(
            "adversarial",
            "Other weights, same output",
            "Weights as far from these as possible that leave the output unchanged",
        ),
        ValueSpec::new(
            "adversarial.jsd",
            "Farthest weights with the same output",
            "Jensen–Shannon divergence in nats: 0 is the same weights, 0.69 none in common",
        ),
        ValueSpec::new("adversarial.tvd", "Change under the farthest weights", TVD).form(Form::Weight),
        ValueSpec::new("adversarial.pattern", "The farthest weights", "The same output with other attention"),
    ],
    ..MethodSpec::EMPTY
};

/// Which attention is put to the test, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaithfulnessOptions {
    /// In which stack; the one that is read for the prediction where there is none.
    pub stack: Option<StackKind>,
    /// In which layer; the last where there is none.
    pub layer: Option<usize>,
    /// Which head; all of the layer together where there is none.
    pub head: Option<usize>,
    pub n_permutations: usize,
    /// Steps of the search for adversarial attention; none at all with 0.
    pub n_steps: usize,
    /// What permutations, random orders and adversaries begin with.
    pub seed: u64,
}

impl Method for FaithfulnessOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "faithfulness",
        title: "Faithfulness of this head",
        method: &SPEC,
        starts: true,
        ask: |focus| {
            let HeadId { stack, layer, head } = focus.head;
            Ok(Self { stack: Some(stack), layer: Some(layer), head: Some(head), ..Self::begin() }.into())
        },
    }];

    /// Of all heads of the last layer.
    fn begin() -> Self {
        Self { stack: None, layer: None, head: None, n_permutations: 100, n_steps: 100, seed: 0 }
    }

    // In the window the head is the selected one.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let meaning = "Attention stack [default: cross-attention where there is some]";
            read_stack(visit, meaning, &mut self.stack);
            let meaning = "All heads of this layer together [default: the last layer]";
            read_position(visit, ("layer", "Layer", meaning), &mut self.layer);
            let mut read = |text: &str| {
                let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
                let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
                let (layer, head) = head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))?;
                (self.layer, self.head) = (Some(layer), Some(head));
                Ok(())
            };
            let value = FieldValue::Read(&mut read, "HEAD");
            let field = OptionField::new("head", "Head", "One head, such as L3H5", value);
            visit(field.conflicts(&["layer"]));
        }
        let meaning = "Number of random orders of the weights for which the output is computed";
        visit(whole("permutations", "Permutations", meaning, &mut self.n_permutations, 1..=10_000));
        let meaning = "Steps of the search for other weights with the same output; 0 leaves it out";
        visit(whole("steps", "Search steps", meaning, &mut self.n_steps, 0..=10_000));
        visit(seed(&mut self.seed));
    }

    fn parameters(&self) -> Parameters {
        vec![("permutations", json!(self.n_permutations)), ("steps", json!(self.n_steps)), ("seed", json!(self.seed))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        faithfulness(lab, *self, target)
    }
}

/// The row that is read, in one head or in all of a layer.
struct ExplainedRow<'a> {
    lab: &'a LabRun<'a>,
    aim: Aim,
    heads: Vec<HeadId>,
    query: usize,
    /// Keys that the query can see.
    keys: Vec<usize>,
    /// Those of them that are no special tokens; all where that leaves too few.
    real: Vec<usize>,
    patterns: Vec<Matrix>,
    start: Option<Start>,
}

impl<'a> ExplainedRow<'a> {
    fn of(lab: &'a LabRun<'a>, aim: Aim, options: FaithfulnessOptions) -> Result<Self, LabError> {
        let plain = lab.plain()?;
        let model = plain.model();
        let kinds = [options.stack, Some(StackKind::Cross), Some(aim.side.stack())];
        let spec = match options.stack {
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
        let layer = options.layer.unwrap_or_else(|| n_layers.saturating_sub(1));
        if layer >= n_layers {
            return Err(LabError::unsuited(format!("there is no layer {layer} among {n_layers}")));
        }
        let n_heads = spec.n_heads(layer);
        let heads = match options.head {
            Some(head) if head >= n_heads => {
                return Err(LabError::unsuited(format!("there is no head {head}: layer {layer} has {n_heads}")));
            }
            Some(head) => head..head + 1,
            None => 0..n_heads,
        };
        let heads = heads.map(|head| HeadId { stack: spec.kind, layer, head });
        let heads: Vec<HeadId> = heads.filter(|head| !lab.is_off(*head)).collect();
        if heads.is_empty() {
            let what = match options.head {
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
        Ok(Self { lab, aim, heads, query, keys, real, patterns, start })
    }

    /// The row of each head, `[n_keys]`.
    fn weights(&self) -> Vec<Vec<f64>> {
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
    fn run<T>(&self, changed: &[Vec<Vec<f64>>], read: impl Fn(&[f32]) -> T) -> Result<Vec<T>, LabError> {
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
    fn probabilities(&self, changed: &[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>, LabError> {
        self.run(changed, |logits| self.aim.distribution(logits).unwrap_or_default())
    }

    /// The same keys of several rows, their mean.
    fn mean(&self, rows: &[Vec<f64>]) -> Vec<f64> {
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
    fn permutations(&self, options: FaithfulnessOptions) -> Result<Vec<Vec<Vec<f64>>>, LabError> {
        let rows = self.weights();
        let places: Vec<f64> = (0..rows[0].len()).map(|key| key as f64).collect();
        let orders = permuted(&places, &self.real, options.n_permutations, options.seed)?;
        let of_order = |order: Vec<f64>| {
            rows.iter().map(|row| order.iter().map(|key| row[*key as usize]).collect()).collect::<Vec<Vec<f64>>>()
        };
        Ok(orders.into_iter().map(of_order).collect())
    }

    /// Every head attends evenly to what it sees.
    fn uniform(&self) -> Vec<Vec<f64>> {
        let mut row = vec![0.0; self.patterns[0].n_cols()];
        for key in &self.keys {
            row[*key] = 1.0 / self.keys.len() as f64;
        }
        vec![row; self.heads.len()]
    }

    /// The share of keys that have to go, in an order of them, until the decision flips.
    fn flips_at(&self, order: &[usize], decision: usize) -> Result<Option<f64>, LabError> {
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
    fn adversarial(&self, p: &[f64], options: FaithfulnessOptions) -> Result<Value, LabError> {
        let n_outcomes = p.len();
        let spec = self.lab.model.spec();
        let n_layers: usize = spec.stacks.iter().map(|stack| stack.layers.len()).sum();
        let (n, width) = (self.patterns[0].n_cols() as f64, spec.d_model as f64);
        let candidates = AdversaryOptions::default().n_candidates;
        let runs = options.n_steps * candidates * if n_outcomes == 2 { 1 } else { n_outcomes };
        let why = if options.n_steps == 0 {
            Some("it was not requested".to_owned())
        } else if n_outcomes > MOST_OUTCOMES {
            Some(format!("left out: needs one backward pass per outcome ({n_outcomes}) and step"))
        } else if runs as f64 * 3.0 * n * n_layers as f64 * 24.0 * width * width > MOST_OPERATIONS {
            Some(format!("left out: needs {runs} backward passes; choose fewer steps"))
        } else {
            None
        };
        if let Some(why) = why {
            return Ok(Value::Missing(why));
        }
        let n_cols = self.patterns[0].n_cols();
        let rows = |weights: &Vec<f64>| {
            let mut row = vec![0.0; n_cols];
            for (key, weight) in self.keys.iter().zip(weights) {
                row[*key] = *weight;
            }
            vec![row; self.heads.len()]
        };
        let row = self.aim.row;
        let mut above = |candidates: &[Vec<f64>], pull: Pull<'_>| -> Result<Vec<Output>, LabError> {
            let changed: Vec<_> = candidates.iter().map(rows).collect();
            let outputs = self.probabilities(&changed)?.into_iter().enumerate().map(|(k, p)| {
                let Some(factors) = pull(k, &p) else { return Ok(Output { p, gradient: None }) };
                let mean: f64 = factors.iter().zip(&p).map(|(c, p)| c * p).sum();
                let by_logit: Vec<f64> = factors.iter().zip(&p).map(|(c, p)| p * (c - mean)).collect();
                let edits = self.edits(&changed[k])?;
                // Of two outcomes one's gain is the other's loss, as of a label and its absence.
                let objectives: Vec<(Objective, f64)> = if self.aim.outputs == OutputKind::Labels {
                    vec![(Objective::Logit { row, id: self.aim.id }, by_logit[0])]
                } else if n_outcomes == 2 {
                    vec![(Objective::LogitDifference { row, id: 0, against: 1 }, by_logit[0])]
                } else {
                    (0u32..).zip(&by_logit).map(|(id, factor)| (Objective::Logit { row, id }, *factor)).collect()
                };
                let mut gradient = vec![0.0; self.keys.len()];
                for (objective, factor) in objectives {
                    let own = self.gradient(edits.clone(), objective)?;
                    gradient.iter_mut().zip(own).for_each(|(sum, slope)| *sum += factor * slope);
                }
                Ok(Output { p, gradient: Some(gradient) })
            });
            outputs.collect()
        };
        let weights = self.mean(&self.weights());
        let search = AdversaryOptions { n_steps: options.n_steps, seed: options.seed, ..AdversaryOptions::default() };
        let go_on = |done: usize, total: usize| self.lab.step(done, total).is_ok();
        let found = adversary(&weights, p, search, &mut above, &go_on)?;
        let best = found.best.map(|best| &found.candidates[best]);
        let pattern = best.map_or(&weights, |best| &best.weights);
        Ok(Value::Group(vec![
            (Cow::Borrowed("jsd"), found.max_jsd().into()),
            (Cow::Borrowed("tvd"), best.map_or(0.0, |best| tvd(&best.p, p)).into()),
            (Cow::Borrowed("pattern"), self.by_key(pattern)),
        ]))
    }

    fn by_key(&self, values: &[f64]) -> Value {
        let side = self.heads[0].stack.key_side();
        Value::tokens(Axis::only(side, self.keys.clone()), values.iter().map(|value| *value as f32).collect())
    }
}

/// Gradient × input of each token, patterns held fixed, as sizes.
fn importance(lab: &LabRun<'_>, aim: &Aim, side: Side) -> Result<Option<Vec<f64>>, LabError> {
    let plan = lab.plan(Sites::of(&[Site::Embed]), Logits::Skip);
    let taps = Taps { sites: Sites::of(&[Site::Embed]), fixed_patterns: true };
    let (capture, found) = lab.model.gradients(lab.input, &plan, aim.objective(), taps, lab.control)?;
    let (Some(input), Some(gradient)) = (capture.embed(side), found.embed(side)) else { return Ok(None) };
    Ok(Some(sums::importance(std::slice::from_ref(gradient), input)?))
}

/// What each token's absence changes, of one side.
fn absence(lab: &LabRun<'_>, capture: &Capture, side: Side, target: Target) -> Result<(LeaveOut, Vec<f64>), LabError> {
    let mixes =
        capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side && stack.kind.query_side() == side);
    // Where words do not attend to words, hiding one from the query would be what erasing its weight is.
    let by = if mixes || !lab.edits.is_empty() { LeaveOut::Hide } else { LeaveOut::Delete };
    let report = leave_one_out(lab, by, target)?;
    let leaves = report.leaves();
    // Of a score there is no change of probabilities, but that of the score.
    let of = |name: &str| {
        leaves.iter().filter(|leaf| leaf.name.starts_with(name)).find_map(|leaf| match leaf.value {
            Value::Tokens { axis, values } if axis.side == side => {
                Some(values.iter().map(|value| f64::from(value.abs())).collect::<Vec<f64>>())
            }
            _ => None,
        })
    };
    let own = of("effect").or_else(|| of("logit"));
    let missing = || LabError::unsuited("no token of the attended text could be left out");
    Ok((by, own.ok_or_else(missing)?))
}

/// Whether the attention that is read for an output says what the output depends on.
fn faithfulness(lab: &LabRun<'_>, options: FaithfulnessOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let row = ExplainedRow::of(lab, aim, options)?;
    let side = row.heads[0].stack.key_side();
    let weights = row.weights();
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let heads: Vec<String> = row.heads.iter().map(|head| head_name(*head)).collect();
    report.parameters.push((Cow::Borrowed("heads"), json!(heads)));
    report.parameters.push((Cow::Borrowed("query"), json!(row.query)));
    report = report.with_value("attention", row.by_key(&row.mean(&weights)));
    let (by, absent) = absence(lab, plain, side, target)?;
    report.parameters.push((Cow::Borrowed("left_out_by"), json!(by.name())));
    let of_real = |values: &[f64]| row.real.iter().map(|key| values[*key]).collect::<Vec<f64>>();
    let attention: Vec<f64> =
        row.real.iter().map(|key| weights.iter().map(|row| row[*key]).sum::<f64>() / weights.len() as f64).collect();
    let correlate = |values: Option<Vec<f64>>| {
        let found = values.and_then(|values| kendall(&attention, &values));
        let why = || Value::Missing("fewer than three tokens, or all of them equal".to_owned());
        found.map_or_else(|| [why(), why()], |found| [found.tau.into(), found.p.into()])
    };
    let slopes = importance(lab, &aim, side)?;
    let [tau, p] = correlate(slopes.as_deref().map(of_real));
    report = report.with_value("kendall_gradient", tau).with_value("p_gradient", p);
    let [tau, p] = correlate(Some(of_real(&absent)));
    report = report.with_value("kendall_loo", tau).with_value("p_loo", p);
    (lab.partial)(&report);

    let changed = [vec![weights], vec![row.uniform()], row.permutations(options)?].concat();
    if !aim.outputs.has_probabilities() {
        let scores = row.run(&changed, |logits| aim.value(logits))?;
        let changes: Vec<f64> = scores[2..].iter().map(|changed| (changed - scores[0]).abs()).collect();
        report.notes.push(
            "a score decides nothing and has no probabilities: weights are not erased until a decision flips, and no \
             others are looked for that leave the probabilities as they are"
                .to_owned(),
        );
        return Ok(report
            .with_value("score_permutation", changes.clone())
            .with_value("score_permutation_median", median(&changes).unwrap_or(f64::NAN))
            .with_value("score_uniform", (scores[1] - scores[0]).abs()));
    }
    let outputs = row.probabilities(&changed)?;
    let p = &outputs[0];
    let changes: Vec<f64> = outputs[2..].iter().map(|changed| tvd(p, changed)).collect();
    report = report
        .with_value("permutation", changes.clone())
        .with_value("permutation_median", median(&changes).unwrap_or(f64::NAN))
        .with_value("uniform", tvd(p, &outputs[1]));
    (lab.partial)(&report);

    let decision = descending(p)[0];
    // Its logarithm puts keys in the order in which the probability itself does; that a label does not hold is as
    // probable as its logit is low.
    let (of, sign) = match (aim.outputs, decision) {
        (OutputKind::Labels, 0) => (Objective::Logit { row: aim.row, id: aim.id }, 1.0),
        (OutputKind::Labels, _) => (Objective::Logit { row: aim.row, id: aim.id }, -1.0),
        _ => (Objective::LogProbability { of: vec![(aim.row, decision as u32)] }, 1.0),
    };
    let gradient: Vec<f64> = row.gradient(lab.edits.to_vec(), of)?.iter().map(|slope| sign * slope).collect();
    let mean = row.mean(&row.weights());
    let share = |fraction: Option<f64>| {
        fraction.map_or_else(|| Value::Missing("the decision never flips".to_owned()), Into::into)
    };
    let mut erasure: Vec<(Cow<'static, str>, Value)> = Vec::new();
    for order in Order::ALL {
        let fraction = row.flips_at(&order.of(&mean, &gradient), decision)?;
        erasure.push((Cow::Borrowed(order.name()), share(fraction)));
    }
    let mut random = Vec::new();
    for order in random_orders(row.keys.len(), N_RANDOM, options.seed) {
        random.push(row.flips_at(&order, decision)?.unwrap_or(f64::NAN));
    }
    erasure.push((Cow::Borrowed("random"), random.into()));
    report = report.with_value("erasure", Value::Group(erasure));
    report.notes.push("gradients of the erasure are those of the decision's probability".to_owned());
    (lab.partial)(&report);

    let adversarial = row.adversarial(p, options)?;
    if row.heads.len() > 1 && !matches!(adversarial, Value::Missing(_)) {
        report.notes.push("adversarial weights are the same in all heads of the layer".to_owned());
    }
    Ok(report.with_value("adversarial", adversarial))
}

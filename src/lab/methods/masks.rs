//! What does this output depend on? The smallest set of states with which it stays (after De Cao et al. 2020).
//!
//! What a masked state is replaced by is either nothing or the mean of this input's own states at the layer. The
//! published method learns it from many inputs; learnt from one, it would learn to say the answer by itself.

use std::{borrow::Cow, sync::Arc};

use serde_json::json;

use super::SCORES;
use crate::{
    analysis::explain::{
        dense::Dense,
        masks::{Mask, MaskOptions, smallest_mask},
        report::{ColumnValues, LabQuestion, MethodPicture, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Capture, Matrix, Patch},
    ids::{HeadId, Side, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, Target,
        aim::{one_number, probabilities},
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, real, seed, whole},
        patterns::by_stack,
    },
    model::{Edit, Logits, Objective, RunPlan, Site, Sites, Taps, Variant},
};

/// Operations that a search may take: some ten minutes of a small processor.
const MOST_OPERATIONS: f64 = 1e14;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "masks",
    title: "Smallest mask",
    question: LabQuestion::Depends,
    about: "Smallest set of tokens that keeps the output, of the embeddings or in every layer (De Cao et al. 2020)",
    example: "--model demo:sentiment --text \"a fine film\" --depth layers",
    caveat: "The kept tokens are sufficient for the output, not its cause: several sets can be sufficient, and \
        gates learnt for one input can find a path that the model never uses.",
    formula: "x'_t = g_t · x_t + (1 - g_t) · b, with b the mean of the states or 0\n\
        minimise Σ_t P(g_t > 0) while KL(p ‖ p') ≤ margin\n\
        g_t = cut(σ((noise + logit_t) / T) · 1.2 - 0.2) to 0..1, T = 0.2",
    source: "De Cao et al. 2020; Louizos et al. 2018",
    values: &[
        SCORES,
        ValueSpec::new("gates", "Gates", ""),
        ValueSpec::new("masks", "Masks", ""),
        ValueSpec::new("search", "Search", ""),
    ],
    picture: MethodPicture::Search,
    ..MethodSpec::EMPTY
};

/// How the masks are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskingOptions {
    /// What takes the place of a masked state.
    pub baseline: Baseline,
    pub depth: Depth,
    /// How far the outcomes' probabilities may move, in nats.
    pub margin: f64,
    /// Steps of the search in each layer.
    pub n_steps: usize,
    pub seed: u64,
}

impl MaskingOptions {
    /// The settings of the search on matrices.
    pub const fn new(depth: Depth) -> Self {
        Self { baseline: Baseline::Mean, depth, margin: 0.1, n_steps: 300, seed: 0 }
    }
}

impl Method for MaskingOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "masks",
        title: "Smallest mask",
        method: &SPEC,
        starts: false,
        ask: |_| Ok(Self::begin().into()),
    }];

    fn begin() -> Self {
        Self::new(Depth::Embeddings)
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        choose(visit, ("depth", "Of", "States to mask"), &mut self.depth, &Depth::CHOICES);
        if scope.command_line {
            let mut layers = false;
            let value = FieldValue::Flag(&mut layers);
            let field = OptionField::new("layers", "Layers", "The same as --depth layers", value);
            visit(OptionField { hidden: true, ..field.conflicts(&["depth"]) });
            if layers {
                self.depth = Depth::Layers;
            }
        }
        choose(
            visit,
            ("baseline", "In its place", "Replacement of a masked state"),
            &mut self.baseline,
            &Baseline::CHOICES,
        );
        let meaning = "Largest allowed change of the output probabilities, in nats";
        visit(real("margin", "Margin", meaning, &mut self.margin, 0.0..=100.0));
        let meaning = "Steps of the search in each layer";
        visit(whole("steps", "Search steps", meaning, &mut self.n_steps, 1..=10_000));
        visit(seed(&mut self.seed));
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("baseline", json!(self.baseline.name())),
            ("depth", json!(self.depth.name())),
            ("margin", json!(self.margin)),
            ("steps", json!(self.n_steps)),
            ("seed", json!(self.seed)),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        masks(lab, *self, target)
    }
}

/// What takes the place of a masked state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Baseline {
    /// The mean of the states of this input at this layer.
    #[default]
    Mean,
    Zero,
}

/// Which states are masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Those that enter the first layer.
    #[default]
    Embeddings,
    /// Those that enter each layer, and those that leave the last: a search for each.
    Layers,
}

vocabulary! {
    Baseline: name, title;
    Mean("mean", "The mean state"),
    Zero("zero", "Nothing"),
}

impl Baseline {
    fn of(self, states: &Matrix) -> Vec<f64> {
        let mut mean = vec![0.0; states.n_cols()];
        if self == Self::Mean {
            for row in states.rows() {
                mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            for sum in &mut mean {
                *sum /= states.n_rows().max(1) as f64;
            }
        }
        mean
    }
}

vocabulary! {
    Depth: name, title;
    Embeddings("embeddings", "The embeddings"),
    Layers("layers", "Every layer"),
}

/// States that can be masked: one row per token.
struct MaskedStates {
    side: Side,
    stack: StackKind,
    site: Site,
    layer: usize,
    states: Matrix,
}

impl MaskedStates {
    /// The states with each row `g · x + (1 - g) · baseline`.
    fn masked(&self, gates: &[f64], baseline: &[f64]) -> Result<Edit, LabError> {
        let [n, width] = self.states.shape();
        let values = self.states.rows().zip(gates).flat_map(|(row, gate)| {
            row.iter().zip(baseline).map(move |(x, b)| (gate * f64::from(*x) + (1.0 - gate) * b) as f32)
        });
        let value = Matrix::new(values.collect::<Vec<f32>>(), [n, width]);
        let value = value.map_err(|_| LabError::unsuited("there are no states to mask"))?;
        let positions = (0..n).collect();
        Ok(Edit::Patch(Patch { site: self.site, stack: self.stack, layer: self.layer, head: None, positions, value }))
    }
}

/// The places of a run, those of a side's embeddings first.
fn places(capture: &Capture, depth: Depth, notes: &mut Vec<String>) -> Vec<MaskedStates> {
    let mut all = Vec::new();
    let sides = Side::ALL.into_iter().filter(|side| !capture.tokens(*side).is_empty());
    for side in sides {
        let stack = side.stack();
        let n_layers = capture.model().stack(stack).map_or(0, |stack| stack.layers.len());
        let rows = |site: Site, layer: usize| capture.stack(stack)?.layers.get(layer)?.rows(site).cloned();
        let place =
            |(site, layer): (Site, usize)| Some(MaskedStates { side, stack, site, layer, states: rows(site, layer)? });
        let own: Vec<MaskedStates> = (0..n_layers)
            .map(|layer| (Site::ResidPre, layer))
            .chain([(Site::ResidPost, n_layers.saturating_sub(1))])
            .filter_map(place)
            .collect();
        if own.is_empty() {
            // Recurrent networks have no layers between, but embeddings they have.
            let embedded = capture.embed(side).cloned();
            all.extend(embedded.map(|states| MaskedStates { side, stack, site: Site::Embed, layer: 0, states }));
            if depth == Depth::Layers {
                notes.push(format!("{} has no layers with a state per token: its embeddings are masked", side.name()));
            }
            continue;
        }
        let wanted = if depth == Depth::Embeddings { 1 } else { own.len() };
        all.extend(own.into_iter().take(wanted));
    }
    all
}

/// One place's search.
struct MaskSearch<'a> {
    lab: &'a LabRun<'a>,
    aim: Aim,
    /// The outcomes' probabilities without masks.
    plain: Arc<[f32]>,
    options: MaskingOptions,
}

impl MaskSearch<'_> {
    /// The divergence with masked states, and its gradient by the gates.
    fn divergence(&self, place: &MaskedStates, baseline: &[f64], gates: &[f64]) -> Result<(f64, Vec<f64>), LabError> {
        let mut plan: RunPlan = self.lab.plan(Sites::NONE, Logits::Skip);
        plan.edits.push(place.masked(gates, baseline)?);
        plan.layers = Some(vec![place.layer]);
        let objective = Objective::Divergence { row: self.aim.row, id: self.aim.id, from: Arc::clone(&self.plain) };
        let quiet = |_| self.lab.step(0, 1).map_or(Err(crate::model::Cancelled), |()| Ok(()));
        let taps = Taps::of(&[place.site]);
        let (_, found) = self.lab.model.gradients(self.lab.input, &plan, objective, taps, &quiet)?;
        let gradient = match place.site {
            Site::Embed => found.embed(place.side),
            site => found
                .layer(HeadId { stack: place.stack, layer: place.layer, head: 0 })
                .and_then(|layer| layer.rows(site)),
        };
        let gradient = gradient.ok_or_else(|| LabError::unsuited("a state has no gradient"))?;
        let slopes = gradient.rows().zip(place.states.rows()).map(|(gradient, row)| {
            let along = gradient.iter().zip(row).zip(baseline).map(|((g, x), b)| f64::from(*g) * (f64::from(*x) - b));
            along.sum::<f64>()
        });
        Ok((f64::from(found.value), slopes.collect()))
    }

    fn smallest(&self, place: &MaskedStates, (nth, n_places): (usize, usize)) -> Result<Mask, LabError> {
        let MaskingOptions { margin, n_steps, seed, .. } = self.options;
        let baseline = self.options.baseline.of(&place.states);
        let options = MaskOptions { n_steps, margin, seed, ..MaskOptions::default() };
        let go_on = |done: usize, total: usize| self.lab.step(nth * total + done, n_places * total).is_ok();
        let mut masked = |gates: &[f64]| self.divergence(place, &baseline, gates);
        smallest_mask(place.states.n_rows(), options, &mut masked, &go_on)
    }
}

/// The smallest masks with which the output stays, of the embeddings or of every layer.
fn masks(lab: &LabRun<'_>, options: MaskingOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    probabilities(
        plain,
        "a mask is the smallest that keeps them within the margin; see which tokens the score needs by leaving them out",
    )?;
    if options.n_steps == 0 {
        return Err(LabError::unsuited("the search needs at least one step"));
    }
    let mut report = Report::new(&SPEC);
    report.parameters = vec![(Cow::Borrowed("position"), aim.row.into())];
    let capture = lab.run(Sites::of(&[Site::Embed, Site::ResidPre, Site::ResidPost]), Logits::Skip)?;
    let places = places(&capture, options.depth, &mut report.notes);
    if places.is_empty() {
        return Err(LabError::unsuited("the states of this model cannot be recorded, so none can be masked"));
    }
    refuse_too_long(lab, &places, options)?;
    let mut p = Vec::new();
    let variant = Variant::of(lab.input, lab.edits, aim.row);
    lab.model.logits_of(&[variant], lab.control, &mut |_, logits| {
        p = aim.distribution(logits).unwrap_or_default();
    })?;
    let plain = p.iter().map(|p| *p as f32).collect();
    let search = MaskSearch { lab, aim, plain, options };
    let mut found: Vec<(&MaskedStates, Mask)> = Vec::with_capacity(places.len());
    for (nth, place) in places.iter().enumerate() {
        found.push((place, search.smallest(place, (nth, places.len()))?));
        (lab.partial)(&told(report.clone(), &places, &found));
    }
    if found.iter().any(|(_, mask)| !mask.within_margin) {
        let what = "with these gates the output changes by more than the margin: use more steps or a wider margin";
        report.notes.push(what.to_owned());
    }
    Ok(told(report, &places, &found))
}

/// Refuses what would take too long, before anything is run for it.
fn refuse_too_long(lab: &LabRun<'_>, places: &[MaskedStates], options: MaskingOptions) -> Result<(), LabError> {
    let spec = lab.model.spec();
    let n_layers: usize = spec.stacks.iter().map(|stack| stack.layers.len()).sum();
    let n: usize = lab.input.tokens.values().map(Vec::len).max().unwrap_or(1);
    let pass = 3.0 * n as f64 * n_layers as f64 * 24.0 * (spec.d_model as f64).powi(2);
    let passes = places.len() * options.n_steps;
    if pass * passes as f64 <= MOST_OPERATIONS {
        return Ok(());
    }
    let fitting = (MOST_OPERATIONS / pass / places.len() as f64) as usize;
    let advice =
        if fitting >= 50 { format!("use {fitting} steps at most") } else { "mask only the embeddings".to_owned() };
    Err(LabError::unsuited(format!(
        "this would be {passes} backward passes of {n} tokens, which takes too long: {advice}"
    )))
}

/// What is known, by side.
fn told(mut report: Report, places: &[MaskedStates], found: &[(&MaskedStates, Mask)]) -> Report {
    let mut sides: Vec<Side> = places.iter().map(|place| place.side).collect();
    sides.dedup();
    let [mut scores, mut grids, mut layers, mut searches] = [const { Vec::new() }; 4];
    for side in sides {
        let all = places.iter().filter(|place| place.side == side).count();
        let own: Vec<&Mask> = found.iter().filter(|(place, _)| place.side == side).map(|(_, mask)| mask).collect();
        let Some(first) = own.first() else { continue };
        let name = || Cow::Borrowed(side.name());
        scores.push((name(), Value::tokens(side, first.gates.iter().map(|gate| *gate as f32).collect())));
        if all > 1 {
            let gate = |row: usize, col: usize| own.get(col).map_or(f64::NAN, |mask| mask.gates[row]);
            grids.push((name(), Value::grid(side, Dense::from_fn(first.gates.len(), all, gate).to_matrix())));
        }
        let table = Value::Table(vec![
            TableColumn::new("layer", ColumnValues::Index((0..own.len()).collect())),
            TableColumn::new("kept", ColumnValues::Index(own.iter().map(|mask| n_kept(mask)).collect())),
            TableColumn::new("divergence", ColumnValues::Number(own.iter().map(|mask| mask.divergence).collect())),
            TableColumn::new(
                "within_margin",
                ColumnValues::Text(
                    own.iter().map(|mask| if mask.within_margin { "yes" } else { "no" }.to_owned()).collect(),
                ),
            ),
        ]);
        layers.push((name(), table));
        let curve = |mask: &&Mask| {
            let of = |pick: fn(&crate::analysis::explain::masks::MaskStep) -> f64| {
                Value::List(mask.steps.iter().map(pick).collect())
            };
            Value::Group(vec![
                (Cow::Borrowed("open"), of(|step| step.n_open)),
                (Cow::Borrowed("divergence"), of(|step| step.divergence)),
                (Cow::Borrowed("multiplier"), of(|step| step.multiplier)),
            ])
        };
        searches.push((name(), Value::Layers(own.iter().map(curve).collect())));
    }
    report.values = by_stack("scores", scores);
    for (name, values) in [("gates", grids), ("masks", layers), ("search", searches)] {
        if !values.is_empty() {
            report.values.extend(by_stack(name, values));
        }
    }
    report
}

fn n_kept(mask: &Mask) -> usize {
    mask.kept.iter().filter(|kept| **kept).count()
}

//! A checkpoint held against another implementation of its architecture.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::Value;

use super::Model;
use crate::{
    capture::Capture,
    model::{
        ModelError,
        checkpoint::{Config, ModelFiles, lay_over},
        families,
        input::{Encoded, Input, Payload},
        opinion::{Compared, OpinionInput, Output, Plan, Tensors, plan},
        run::{Control, Logits, RunPlan, Site, Sites},
    },
    text::counted,
};

/// The library whose implementations are asked.
pub const LIBRARY: &str = "candle-transformers";

/// Two implementations in single precision agree up to this difference, relative to the largest number of a row.
pub const AGREED: f32 = 1e-4;

/// How far an independent implementation agrees about one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The library's module, such as `bert`.
    pub module: &'static str,
    /// The element types in the weight files; both compute in single precision.
    pub stored: String,
    /// One per kind of numbers that both have.
    pub agreements: Vec<Agreement>,
    /// What the library is known to do otherwise with this checkpoint. Empty when all agree.
    pub deviations: Vec<String>,
    /// The agreements once the same is done here. Empty when that was not tried.
    pub adjusted: Vec<Agreement>,
    /// What was not compared, or not as the library has it, and why.
    pub remarks: Vec<String>,
}

/// How far one kind of numbers agrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    pub of: Compared,
    /// Rows (positions) and columns.
    pub shape: [usize; 2],
    pub absolute: f32,
    /// The largest difference relative to the largest number of the library's row.
    pub relative: f32,
    /// The row, among those of all tokens, and column of the largest relative difference.
    pub at: (usize, usize),
    /// The number there, here and in the library.
    pub values: (f32, f32),
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both compute the same.
    Agree,
    /// The library does something else on purpose; done here too, both compute the same.
    AgreeOtherwise,
    /// They compute something else, and nobody knows why.
    Differ,
}

impl Agreement {
    fn holds(&self) -> bool {
        self.relative <= AGREED
    }

    /// One line: how far, where, and in what numbers.
    pub fn text(&self) -> String {
        let Self { shape: [rows, columns], absolute, relative, at, values, .. } = self;
        format!(
            "{} ({} × {columns}): largest difference {absolute:.1e}, relative {relative:.1e}, at position {} in column {} \
             ({:.6} here, {:.6} there)",
            self.of.name(),
            counted(*rows, "position"),
            at.0,
            at.1,
            values.0,
            values.1
        )
    }
}

impl Compared {
    /// In words.
    pub fn name(self) -> String {
        match self {
            Self::Logits => "logits".to_owned(),
            Self::Final(stack) => format!("final stream of {stack}"),
        }
    }
}

impl Comparison {
    /// What it comes down to.
    pub fn verdict(&self) -> Verdict {
        let all = |agreements: &[Agreement]| !agreements.is_empty() && agreements.iter().all(Agreement::holds);
        match (all(&self.agreements), all(&self.adjusted)) {
            (true, _) => Verdict::Agree,
            (false, true) => Verdict::AgreeOtherwise,
            (false, false) => Verdict::Differ,
        }
    }

    /// Everything that was found, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.agreements.iter().map(Agreement::text).collect();
        lines.extend(self.remarks.clone());
        for deviation in &self.deviations {
            lines.push(format!("known: {deviation}"));
        }
        lines.extend(self.adjusted.iter().map(|agreement| format!("with the same here: {}", agreement.text())));
        lines
    }

    /// The verdict in one sentence.
    pub fn sentence(&self) -> String {
        let worst = |agreements: &[Agreement]| {
            let worst = agreements.iter().max_by(|a, b| a.relative.total_cmp(&b.relative));
            worst.map_or((String::new(), 0.0), |worst| (worst.of.name(), worst.relative))
        };
        let ((of, relative), module) = (worst(&self.agreements), self.module);
        match self.verdict() {
            Verdict::Agree => format!(
                "{LIBRARY} ({module}) computes the same: the largest relative difference is {relative:.1e} ({of}), within {AGREED:.0e}"
            ),
            Verdict::AgreeOtherwise => format!(
                "{LIBRARY} ({module}) differs by {relative:.1e} ({of}), for a known reason: {}. Computed in that way here too, both agree to {:.1e}",
                self.deviations.join("; "),
                worst(&self.adjusted).1
            ),
            Verdict::Differ => format!(
                "{LIBRARY} ({module}) computes something else: the largest relative difference is {relative:.1e} ({of}), more than {AGREED:.0e}, \
                 and no reason is known"
            ),
        }
    }
}

impl Model {
    /// Runs the library's implementation of this architecture on the weights in `files`, reads `input` with both, and
    /// compares what they have in common. Where the library is known to do something else, the same is done here too
    /// in a second comparison.
    ///
    /// # Errors
    /// When the library does not have the architecture, cannot read the files, or `control` says stop.
    pub fn against_library(
        &self,
        files: &ModelFiles,
        input: &Encoded,
        control: &Control<'_>,
    ) -> Result<Comparison, ModelError> {
        let config =
            Config::read(files, families::type_of_class).map_err(|error| ModelError::Opinion(error.to_string()))?;
        let plan = plan(&config, families::opinion(&config), self.network.head_kind()).map_err(ModelError::Opinion)?;
        self.check_room(files)?;
        let resized = self.resized(input, &plan)?;
        let input = self.completed(&resized, &RunPlan::silent(), control)?;
        let tensors = self.engine.install(|| Tensors::read(files, self.engine.device(), control))?;
        // A library that was never meant for whatever a user opens: some of it breaks off instead of answering.
        let answer = || plan.answer(tensors, &OpinionInput::new(&input, &plan, control));
        let outputs = self.engine.install(|| catch_unwind(AssertUnwindSafe(answer)));
        let outputs = match outputs {
            Ok(Err(ModelError::Engine(error))) => Err(ModelError::Opinion(first_line(&error.to_string()))),
            Ok(outputs) => outputs,
            Err(_) => Err(ModelError::Opinion("its implementation broke off".to_owned())),
        }?;
        let own = |model: &Self| model.agreements(&outputs, &input, control);
        let mut comparison = Comparison {
            module: plan.module,
            stored: self.audit.dtypes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
            agreements: own(self)?,
            deviations: Vec::new(),
            adjusted: Vec::new(),
            remarks: plan.remark.into_iter().map(str::to_owned).collect(),
        };
        let n_written = input.target.as_ref().unwrap_or(&input.source).len();
        if let Some(limit) = plan.limit.as_ref().filter(|limit| limit.n_tokens < n_written) {
            comparison.remarks.push(format!("only the first {} of {n_written} tokens: {}", limit.n_tokens, limit.why));
        }
        if comparison.verdict() == Verdict::Differ && !plan.deviations.is_empty() {
            let mut changes = Value::Null;
            plan.deviations.iter().for_each(|deviation| lay_over(&mut changes, &deviation.as_library));
            let adjusted = Self::load_with(files, &self.spec.name, &self.engine, (&changes, None), control);
            comparison.adjusted = own(&adjusted.map_err(|error| ModelError::Opinion(error.to_string()))?)?;
            comparison.deviations = plan.deviations.iter().map(|deviation| deviation.why.clone()).collect();
        }
        Ok(comparison)
    }

    /// Weight matrices in `files` whose size is far from that of the same matrix in other layers, each in a clause:
    /// what can be seen of a damaged file that is otherwise in order.
    ///
    /// # Errors
    /// When there is no room for a second copy of the weights, or `control` says stop.
    pub fn unlike_weights(&self, files: &ModelFiles, control: &Control<'_>) -> Result<Vec<String>, ModelError> {
        self.check_room(files)?;
        self.engine.install(|| Tensors::read(files, self.engine.device(), control)?.unlike())
    }

    /// Refuses a second copy of the weights that does not fit.
    fn check_room(&self, files: &ModelFiles) -> Result<(), ModelError> {
        let needed = files.size_bytes().saturating_add(Tensors::bytes_of(self.audit.n_params));
        match self.engine.available_memory() {
            Some(available) if needed > available => Err(ModelError::Opinion(format!(
                "a second copy of its weights needs {} MB of memory, but only {} are free",
                needed / 1_000_000,
                available / 1_000_000
            ))),
            _ => Ok(()),
        }
    }

    /// The picture at the one size that the library reads, if it is of another.
    fn resized<'a>(&self, input: &'a Encoded, plan: &Plan) -> Result<Cow<'a, Encoded>, ModelError> {
        let (Some(side), Payload::Image { pixels, size_px }) = (plan.picture_px, &input.source) else {
            return Ok(Cow::Borrowed(input));
        };
        let (height, width) = *size_px;
        if (height, width) == (side, side) {
            return Ok(Cow::Borrowed(input));
        }
        let pixel = |channel: usize, y: usize, x: usize| {
            pixels[(channel * height + y * height / side) * width + x * width / side]
        };
        let row = |channel, y| (0..side).map(move |x| pixel(channel, y, x));
        let data = (0..3).flat_map(|channel| (0..side).flat_map(move |y| row(channel, y))).collect();
        let picture = Input::Pixels { data, size_px: (side, side) };
        let input = match &input.target {
            Some(Payload::Text { ids, .. }) => picture.with_target(Input::Ids(ids.clone())),
            _ => picture,
        };
        Ok(Cow::Owned(self.encode(&input)?))
    }

    fn agreements(
        &self,
        outputs: &[Output],
        input: &Encoded,
        control: &Control<'_>,
    ) -> Result<Vec<Agreement>, ModelError> {
        let plan = RunPlan { sites: Sites::of(&[Site::ResidFinal]), logits: Logits::Keep, ..RunPlan::default() };
        let capture = self.forward(input, &plan, control)?;
        outputs.iter().map(|output| agreement(output, &capture)).collect()
    }
}

fn agreement(output: &Output, capture: &Capture) -> Result<Agreement, ModelError> {
    let of = output.of;
    let ours = match of {
        Compared::Logits => capture.logits(),
        Compared::Final(stack) => capture.stack(stack).and_then(|stack| stack.resid_final()),
    };
    let ours = ours.ok_or_else(|| ModelError::Opinion(format!("there is no {} here to compare with", of.name())))?;
    let theirs = output.values.to_vec2::<f32>()?;
    let mut worst = Agreement {
        of,
        shape: [theirs.len(), ours.n_cols()],
        absolute: 0.0,
        relative: -1.0,
        at: (0, 0),
        values: (0.0, 0.0),
    };
    for (row, theirs) in output.rows.iter().zip(&theirs) {
        let own = ours.row(*row).filter(|own| own.len() == theirs.len());
        let own = own.ok_or_else(|| {
            ModelError::Opinion(format!(
                "its {} has rows of {}, and here they have {}",
                of.name(),
                theirs.len(),
                ours.n_cols()
            ))
        })?;
        let largest = theirs.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        for (column, (own, other)) in own.iter().zip(theirs).enumerate() {
            let difference = if own == other { 0.0 } else { (own - other).abs() };
            // What is no number agrees with nothing.
            let difference = if difference.is_nan() { f32::INFINITY } else { difference };
            worst.absolute = worst.absolute.max(difference);
            if difference / largest > worst.relative {
                (worst.relative, worst.at, worst.values) = (difference / largest, (*row, column), (*own, *other));
            }
        }
    }
    Ok(worst)
}

/// Candle's messages go on with where they were made.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}

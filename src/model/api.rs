//! [`Model`]: a checkpoint that is ready to run, and everything that can be asked of it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use candle_core::Tensor;

use super::{
    Control, Edit, Encoded, Engine, Input, LoadError, ModelError, ModelFiles, RunPlan, Sites,
    audit::Audit,
    config::Config,
    embedding::Embedding,
    encode::{Payload, Reader},
    families::{self, Network},
    head::{Head, Outcome},
    run::{Recorded, Run},
    uniformity,
    weights::Weights,
};
use crate::{
    capture::{Capture, CaptureParts, PerHead, StackCapture},
    ids::{CaptureId, StackKind},
    spec::{ModelSpec, StackSpec},
};

/// An opened checkpoint.
#[derive(Debug)]
pub struct Model {
    spec: Arc<ModelSpec>,
    audit: Audit,
    engine: Engine,
    network: Network,
    reader: Reader,
}

/// A number computed from the output, to be differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// One logit; `row` is a token position (0 for classifiers).
    Logit {
        /// Row of the logits.
        row: usize,
        /// Token or class.
        id: u32,
    },
    /// The difference of two logits of one row.
    LogitDifference {
        /// Row of the logits.
        row: usize,
        /// Token or class whose logit counts positive.
        id: u32,
        /// Token or class whose logit counts negative.
        against: u32,
    },
    /// The squared length of one position of the final stream, for models without a head.
    SquaredNorm {
        /// Token position.
        position: usize,
    },
}

/// The gradient of an [`Objective`].
#[derive(Clone, Debug)]
pub struct Gradients {
    /// The objective's value.
    pub value: f32,
    /// One per layer: `[head, query, key]`.
    pub patterns: Vec<PerHead>,
}

impl Model {
    /// Opens a checkpoint. `name` is what the user calls it.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing of an earlier model is touched.
    pub fn load(files: &ModelFiles, name: &str, engine: &Engine, control: &Control<'_>) -> Result<Self, LoadError> {
        let config = Config::read(files)?;
        families::check(&config)?;
        let (network, mut audit) = engine.install(|| {
            let mut weights = Weights::open(files, engine.device().clone(), control)?;
            let network = families::build(&config, &mut weights)?;
            Ok::<_, LoadError>((network, weights.finish()))
        })?;
        let reader = Reader::open(files, &network.modality)?;
        let (source, warning) = reader.source();
        audit.input_source = source;
        audit.warnings.extend(warning);
        let spec = ModelSpec {
            name: name.to_owned(),
            family: network.family.to_owned(),
            modality: network.modality,
            stacks: vec![StackSpec {
                kind: StackKind::SelfAttention,
                layers: network.stack.blocks.iter().map(|block| block.attention.spec).collect(),
                causal: network.causal,
            }],
            d_model: network.d_model,
            n_params: audit.n_params,
            head: network.head.as_ref().map(Head::kind),
        };
        Ok(Self { spec: Arc::new(spec), audit, engine: engine.clone(), network, reader })
    }

    /// What the model is.
    pub const fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    /// What was found in its files.
    pub const fn audit(&self) -> &Audit {
        &self.audit
    }

    /// What it computes on.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Tokenises a text or cuts a picture into patches.
    ///
    /// # Errors
    /// When the input does not suit the model.
    pub fn encode(&self, input: &Input) -> Result<Encoded, ModelError> {
        self.reader.encode(input)
    }

    /// Runs the model and records what the plan asks for.
    ///
    /// # Errors
    /// When the input or an edit does not fit, the output is not finite, or `control` says stop.
    pub fn forward(&self, input: &Encoded, plan: &RunPlan, control: &Control<'_>) -> Result<Capture, ModelError> {
        self.engine.install(|| {
            let mut run = Run::new(plan, self.network.stack.blocks.len(), false, control);
            let x = self.stream(input, &mut run)?;
            let mut outcome = Outcome::default();
            if let Some(head) = &self.network.head {
                let n_layers = self.network.stack.blocks.len();
                outcome = head.run(&x, plan.logits, &|id| self.reader.label(id), &|| run.checkpoint(n_layers))?;
            }
            let Recorded { layers, resid_final, n_omitted, .. } = run.finish();
            let mut notes = input.notes.clone();
            if n_omitted > 0 {
                let n = layers.len();
                notes.push(format!("Patterns of {n_omitted} of {n} layers are not stored, to save memory"));
            }
            if plan.edits.is_empty() && uniformity::is_nearly_uniform(&layers, self.network.causal) {
                notes.push("Attention is nearly uniform in all heads: are the weights random or untrained?".to_owned());
            }
            notes.extend(outcome.note);
            let stack = StackCapture { kind: StackKind::SelfAttention, layers, resid_final };
            Ok(Capture::new(CaptureParts {
                id: next_capture_id(),
                model: Arc::clone(&self.spec),
                input: input.input.clone(),
                tokens: input.tokens.clone(),
                stacks: vec![stack],
                image: input.image.clone(),
                logits: outcome.logits,
                prediction: outcome.prediction,
                notes,
            })?)
        })
    }

    /// How an objective changes with every weight of every pattern, other patterns fixed downstream
    /// only through what they compute.
    ///
    /// # Errors
    /// As [`Self::forward`], and when the objective does not fit the model.
    pub fn pattern_gradients(
        &self,
        input: &Encoded,
        objective: Objective,
        edits: &[Edit],
        control: &Control<'_>,
    ) -> Result<Gradients, ModelError> {
        let plan = RunPlan { sites: Sites::NONE, edits: edits.to_vec(), ..RunPlan::default() };
        self.engine.install(|| {
            let mut run = Run::new(&plan, self.network.stack.blocks.len(), true, control);
            let x = self.stream(input, &mut run)?;
            let taps = run.finish().taps;
            let value = self.objective(&x, objective)?;
            let grads = value.backward()?;
            let mut patterns = Vec::with_capacity(taps.len());
            for tap in &taps {
                let shape = tap.dims3()?.into();
                // Without a gradient the objective does not depend on this layer.
                let values = match grads.get(tap) {
                    Some(grad) => super::kernels::share(grad)?,
                    None => vec![0.0; tap.elem_count()].into(),
                };
                patterns.push(PerHead::new(values, shape)?);
            }
            Ok(Gradients { value: value.to_scalar()?, patterns })
        })
    }

    /// The final stream `[n, d_model]`.
    fn stream(&self, input: &Encoded, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        run.checkpoint(0)?;
        let x = match (&self.network.embedding, &input.payload) {
            (Embedding::Text(embedding), Payload::Text { ids, segments }) => embedding.forward(ids, segments)?,
            (Embedding::Patches(embedding), Payload::Image { pixels, size_px }) => {
                embedding.forward(pixels, *size_px)?
            }
            _ => {
                return Err(ModelError::Input {
                    summary: "this input was prepared for another model".to_owned(),
                    details: String::new(),
                });
            }
        };
        self.network.stack.forward(x, run)
    }

    fn objective(&self, x: &Tensor, objective: Objective) -> Result<Tensor, ModelError> {
        let logits = |row: usize| -> Result<Tensor, ModelError> {
            let Some(head) = &self.network.head else {
                return Err(ModelError::Edit("it has no head, so there is no logit to differentiate".to_owned()));
            };
            if row >= x.dim(0)? {
                return Err(ModelError::Edit(format!("there is no position {row}")));
            }
            Ok(head.logits(x, row..row + 1)?.flatten_all()?)
        };
        let pick = |logits: &Tensor, id: u32| -> Result<Tensor, ModelError> {
            if id as usize >= logits.dim(0)? {
                return Err(ModelError::Edit(format!("there is no outcome {id}")));
            }
            Ok(logits.get(id as usize)?)
        };
        match objective {
            Objective::Logit { row, id } => pick(&logits(row)?, id),
            Objective::LogitDifference { row, id, against } => {
                let logits = logits(row)?;
                Ok((pick(&logits, id)? - pick(&logits, against)?)?)
            }
            Objective::SquaredNorm { position } if position < x.dim(0)? => {
                Ok(x.narrow(0, position, 1)?.sqr()?.sum_all()?)
            }
            Objective::SquaredNorm { position } => Err(ModelError::Edit(format!("there is no position {position}"))),
        }
    }
}

/// The identity of a new capture, unique within the process.
pub fn next_capture_id() -> CaptureId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CaptureId(NEXT.fetch_add(1, Ordering::Relaxed))
}

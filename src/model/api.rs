//! [`Model`]: a checkpoint that is ready to run, and everything that can be asked of it.

mod adapter;
mod against;
mod embeddings;
mod jacobian;
mod objective;
mod packed;
mod positions;
mod reading;
mod twins;
mod variants;
mod weights;
mod wiring;
mod written;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ptr,
    sync::{Arc, OnceLock},
};

pub use against::{AGREED, Agreement, Comparison, LIBRARY, Verdict};
pub use jacobian::MeanJacobians;
pub use objective::Objective;
pub use reading::HeadReads;
pub use twins::{Guide, Schedule, TrainedTwin, TwinMeasures, TwinOutput, TwinPlan, Twins};
pub use variants::{Start, Variant};
pub use weights::{FinalNorm, Projection};
pub use wiring::{BlockShape, BranchNorms, HeadMaps, StreamStart};
pub use written::ValueMaps;

use self::adapter::{AdapterState, WithoutAdapter};
use candle_core::Tensor;
use serde_json::Value;

use crate::{
    capture::{
        AppliedEdit, Architecture, Capture, CaptureParts, Computation, Generated, LayerCapture, Matrix,
        PositionEncoding, SiteValues, StackCapture, StateGradients, Way,
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    model::{
        Instead, LoadError, ModelError,
        checkpoint::{Config, ModelFiles, Share, Shelf, Weights, audit::Audit, identity, key_audit},
        engine::Engine,
        families,
        input::{Encoded, ImageProcessor, Input, InputError, Reader, TextEncoder, replaced},
        kernels::RowTable,
        network::{Network, Streams, cost::Lengths, embedding::Table, head::Outcome},
        opinion,
        run::{
            Control, Edit, Logits, Recorded, RecordedSites, Run, RunPlan, Site, Sites, Tapped, Taps, edits, uniformity,
        },
        writing::{Decoding, complete},
    },
    spec::ModelSpec,
};

/// An opened checkpoint.
#[derive(Debug)]
pub struct Model {
    spec: Arc<ModelSpec>,
    audit: Audit,
    engine: Engine,
    network: Network,
    /// Token embeddings of what it reads.
    words: Option<Table>,
    reader: Reader,
    decoding: Decoding,
    /// Made when it is asked for: tables are large.
    positions: OnceLock<Arc<PositionEncoding>>,
    architecture: Arc<Architecture>,
    adapter: AdapterState,
}

/// The gradient of an [`Objective`].
#[derive(Clone, Debug)]
pub struct Gradients {
    pub value: f32,
    /// Gradients of the tapped sites, each where a recording has its values.
    pub stacks: Vec<StackCapture>,
    /// Gradients of what each sequence has: of the input embeddings and of the states of recurrences.
    pub sequences: BTreeMap<Side, SiteValues>,
}

impl Gradients {
    /// Those of the layer that `head` belongs to.
    pub fn layer(&self, head: HeadId) -> Option<&LayerCapture> {
        self.stacks.iter().find(|stack| stack.kind == head.stack)?.layers.get(head.layer)
    }

    /// Those of the input embeddings of one side.
    pub fn embed(&self, side: Side) -> Option<&Matrix> {
        self.sequences.get(&side)?.rows(Site::Embed)
    }
}

impl Model {
    /// Opens a checkpoint. `name` is what the user calls it.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing of an earlier model is touched.
    pub fn load(files: &ModelFiles, name: &str, engine: &Engine, control: &Control<'_>) -> Result<Self, LoadError> {
        let shelf = files.merged().map(|_| Shelf::default());
        let share = shelf.as_ref().map(|shelf| Share { shelf, leaves_out: false });
        let load = || Self::load_with(files, name, engine, (&Value::Null, share), control);
        let (model, checkpoint) = identity::beside(files, control, load)?;
        let adapter = shelf.map_or(AdapterState::None, |shelf| {
            AdapterState::Merged(Box::new(WithoutAdapter::new(files.clone(), shelf)))
        });
        Ok(Self { spec: Arc::new(ModelSpec { checkpoint, ..ModelSpec::clone(&model.spec) }), adapter, ..model })
    }

    /// As [`Self::load`], with `changes` laid over `config.json`, and what it shares with the same model without its adapter.
    fn load_with(
        files: &ModelFiles,
        name: &str,
        engine: &Engine,
        (changes, share): (&Value, Option<Share<'_>>),
        control: &Control<'_>,
    ) -> Result<Self, LoadError> {
        let config = Config::read(files, families::type_of_class)?.with_changes(changes);
        families::check(&config)?;
        key_audit::check(&config, families::keys_of)?;
        let how = config.quantization()?;
        let mut weights = Weights::open(files, (how, share), engine, control)?;
        // Everything that can be refused is found before gigabytes are read.
        let rehearsed = engine.install(|| weights.rehearse(|weights| families::build(&config, weights)));
        // A value of the wrong kind may be why it could not be built.
        config.check_kinds()?;
        if rehearsed.is_ok() {
            weights.check_adapter()?;
        }
        let mut reader =
            Reader::open(files, &rehearsed?.modality, families::tokenizer, families::image_processor(&config))?;
        let special = reader.encoder.as_ref().map(|encoder| encoder.special_ids());
        let decoding = Decoding::read(&config, files, special, families::class_ids, families::first_read(&config))?;
        let unread = key_audit::account(&config, families::keys_of)?;
        config.check_kinds()?;
        let (mut network, mut audit) = engine.install(|| {
            let mut network = families::build(&config, &mut weights)?;
            network.untie(|rows| weights.before_adapter(rows))?;
            network.tie()?;
            if let Some(share) = share.filter(|share| !share.leaves_out) {
                let tables = network.tables();
                let rows: Vec<&RowTable> = tables.iter().filter_map(|table| table.rows().ok()).collect();
                share.shelf.keep_tables_of(&rows);
            }
            Ok::<_, LoadError>((network, weights.finish()))
        })?;
        reader.start = decoding.start;
        reader.prefix_labels = network.prefix_labels()?;
        reader.query = network.query();
        reader.sentences = network.sentence_ends();
        reader.padding = network.padding();
        let (source, warnings) = reader.source();
        audit.config = config.asked().lookups();
        (audit.harmless_keys, audit.unknown_keys) = (unread.harmless, unread.unknown);
        audit.note_file("generation", [&decoding.read, &decoding.harmless, &decoding.unknown]);
        if let Some(keys) = reader.processor_keys() {
            audit.note_file("image_processor", [&keys.read, &keys.harmless, &keys.unknown]);
        }
        audit.second_opinion = opinion::plan(&config, families::opinion(&config), network.head_kind()).err();
        audit.input_source = source;
        audit.warnings.extend(unread.overruled);
        audit.warnings.extend(files.adapter_beside());
        audit.tokenizer_keys = reader.encoder.as_ref().map(|encoder| encoder.keys().clone()).unwrap_or_default();
        audit.warnings.extend(warnings);
        audit.warnings.extend(decoding.warning());
        let spec = ModelSpec {
            name: name.to_owned(),
            family: network.family.to_owned(),
            modality: network.modality,
            stacks: network.stacks(),
            d_model: network.d_model,
            n_params: audit.n_params,
            head: network.head_kind(),
            checkpoint: None,
        };
        let architecture = Arc::new(network.architecture());
        let words = network.tables().first().map(|table| Table::clone(table));
        Ok(Self {
            spec: Arc::new(spec),
            audit,
            engine: engine.clone(),
            network,
            words,
            reader,
            decoding,
            positions: OnceLock::new(),
            architecture,
            adapter: AdapterState::None,
        })
    }

    /// The tokenizer of a checkpoint, without its model.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn tokenizer(files: &ModelFiles) -> Result<TextEncoder, InputError> {
        TextEncoder::from_files(files, families::tokenizer)
    }

    /// The image processor of a checkpoint, without its model, for pictures of this size (height, width).
    ///
    /// # Errors
    /// When it cannot be used, or nothing says which it is.
    pub fn image_processor(files: &ModelFiles, size_px: (usize, usize)) -> Result<ImageProcessor, InputError> {
        let config = Config::read(files, families::type_of_class).ok();
        ImageProcessor::from_files(files, config.as_ref().and_then(families::image_processor), size_px)
    }

    /// What the model is.
    pub const fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    /// What was found in its files.
    pub const fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Whether it can read text; without a tokenizer it reads token ids only.
    pub const fn has_tokenizer(&self) -> bool {
        self.reader.encoder.is_some()
    }

    /// The separator of which an input must have three, where the model answers questions about a text and tells the
    /// two apart by them.
    pub const fn separator_of_pairs(&self) -> Option<u32> {
        self.network.separator_of_pairs()
    }

    /// The token that stands for a hidden one (`[MASK]`, `<mask>`).
    pub fn mask_id(&self) -> Option<u32> {
        let encoder = self.reader.encoder.as_ref()?;
        ["[MASK]", "<mask>"].into_iter().find_map(|piece| encoder.id_of(piece))
    }

    /// What a text may begin with to say in which language its translation is to be, such as `>>deu<<`; none for
    /// models of one target language.
    pub fn language_tags(&self) -> Vec<String> {
        let translates = self.spec.stack(StackKind::Cross).is_some();
        self.reader.encoder.as_ref().filter(|_| translates).map_or_else(Vec::new, |encoder| encoder.language_tags())
    }

    /// Whether its checkpoint has a chat template, and whether that asks if the model is to think first.
    pub fn chat(&self) -> Option<bool> {
        self.reader.encoder.as_ref().filter(|_| self.spec.modality.image().is_none())?.chat()
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

    /// Another text beside an input that may be complete already: prepared in the same way, and with the same to write.
    /// A classifier that reads its input twice reads this one twice.
    ///
    /// # Errors
    /// When the input has no text, or the other text does not suit the model.
    pub fn encode_beside(&self, own: &Encoded, text: &str, control: &Control<'_>) -> Result<Encoded, ModelError> {
        let mut other = self.encode(&own.given.with_text(text)?)?;
        if own.target.is_some() && other.target.is_none() {
            if self.network.head.as_ref().is_some_and(|head| head.labels.is_some()) {
                return self.completed(&other, &RunPlan::silent(), control);
            }
            other.target.clone_from(&own.target);
            other.tokens.extend(own.tokens.get_key_value(&Side::Decoder).map(|(side, tokens)| (*side, tokens.clone())));
        }
        // What a decoder alone wrote behind its input.
        if let Some(written) = own.written_behind(&self.encode(&own.given)?) {
            let last = other.tokens.get(&Side::Only).map_or(0, Vec::len).saturating_sub(1);
            let label = |id| self.reader.label(id);
            other = other.continued(Side::Only, last, written, &label).unwrap_or(other);
        }
        Ok(other)
    }

    /// Runs the model and records what the plan asks for. A decoder without a target writes its text
    /// first; a text model continues its input when the plan says so.
    ///
    /// # Errors
    /// When the input or an edit does not fit, the output is not finite, or `control` says stop.
    pub fn forward(&self, input: &Encoded, plan: &RunPlan, control: &Control<'_>) -> Result<Capture, ModelError> {
        Ok(self.pass(input, plan, None, control)?.0)
    }

    /// Runs the model as [`Self::forward`] does, and says how an objective changes with every value of the
    /// sites that are tapped, everything downstream following.
    ///
    /// # Errors
    /// As [`Self::forward`], and when the objective does not fit the model.
    pub fn gradients(
        &self,
        input: &Encoded,
        plan: &RunPlan,
        objective: Objective,
        taps: Taps,
        control: &Control<'_>,
    ) -> Result<(Capture, Gradients), ModelError> {
        let (capture, gradients) = self.pass(input, plan, Some((objective, taps)), control)?;
        Ok((capture, gradients.ok_or_else(|| ModelError::internal("a pass has no gradients"))?))
    }

    /// The input with the text that a decoder without a target writes; any other input as it is.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn completed(&self, input: &Encoded, plan: &RunPlan, control: &Control<'_>) -> Result<Encoded, ModelError> {
        self.engine.install(|| {
            let (input, _) = complete(&self.network, &self.reader, &self.decoding, input, plan, control)?;
            Ok(input.into_owned())
        })
    }

    fn pass(
        &self,
        input: &Encoded,
        plan: &RunPlan,
        differentiated: Option<(Objective, Taps)>,
        control: &Control<'_>,
    ) -> Result<(Capture, Option<Gradients>), ModelError> {
        let model = self.changed_by(&plan.edits, control)?;
        if !ptr::eq(model, self) {
            return model.pass(input, plan, differentiated, control);
        }
        // States are followed back, which costs one more pass, where somebody looks at them.
        let follows_states = differentiated.is_none()
            && self.network.is_sequential()
            && plan.sites.contains(Site::State)
            && plan.logits != Logits::Skip
            && edits::check_gradients(&plan.edits).is_ok();
        let taps = match &differentiated {
            Some((_, taps)) => *taps,
            None if follows_states => Taps::of(&[Site::State, Site::StateBack]),
            None => Taps::NONE,
        };
        if differentiated.is_some() && !taps.fixed_patterns {
            edits::check_gradients(&plan.edits)?;
        }
        let writes = plan.generate.is_some() || (input.target.is_none() && self.spec.modality.target().is_some());
        if writes {
            // What is known before the text is written: the encoder's input, or the prompt.
            let silent = RunPlan { sites: Sites::NONE, edits: Vec::new(), ..plan.clone() };
            self.check_memory(input, &silent, Taps::NONE)?;
        }
        self.engine.install(|| {
            let (input, generated) = complete(&self.network, &self.reader, &self.decoding, input, plan, control)?;
            edits::check(&plan.edits, &self.spec, &input.tokens)?;
            let label = |id| self.reader.label(id);
            let input = if plan.edits.iter().any(edits::is_of_input) {
                Cow::Owned(replaced(input.into_owned(), &plan.edits, self.mask_id(), &label)?)
            } else {
                input
            };
            self.check_memory(&input, plan, taps)?;
            let mut run = Run::new(plan, &self.spec.stacks, taps, control);
            let streams = self.network.forward(&input, &mut run)?;
            let value =
                differentiated.map(|(objective, _)| self.objective(&streams, objective, &mut run)).transpose()?;
            let outcome = self.network.predict(&streams, plan.logits, &label, &mut run)?;
            let followed = if follows_states { self.predicted(&streams, &outcome, &mut run)? } else { None };
            let mut recorded = run.finish()?;
            let tapped = std::mem::take(&mut recorded.tapped);
            let gradients = value.map(|value| self.differentiate(&value, &tapped)).transpose()?;
            let capture = self.capture(&input, plan, outcome, recorded, generated)?;
            let Some((outcome, value)) = followed else { return Ok((capture, gradients)) };
            let norms = state_norms(&self.differentiate(&value, &tapped)?);
            Ok((capture.with_state_gradients(StateGradients { outcome, norms }), gradients))
        })
    }

    /// The most probable outcome of the last row with its logit; `None` without a prediction.
    fn predicted(
        &self,
        streams: &Streams,
        outcome: &Outcome,
        run: &mut Run<'_>,
    ) -> Result<Option<(String, Tensor)>, ModelError> {
        let last = outcome.prediction.as_ref().and_then(|prediction| prediction.rows.last());
        let Some((row, item)) = last.and_then(|row| Some((row.position, row.top.first()?))) else { return Ok(None) };
        let objective = Objective::Logit { row: row.unwrap_or(0), id: item.id };
        Ok(Some((item.label.clone(), self.objective(streams, objective, run)?)))
    }

    fn differentiate(&self, value: &Tensor, tapped: &[Tapped]) -> Result<Gradients, ModelError> {
        let mut gradients = RecordedSites::of(&self.spec.stacks);
        if !tapped.is_empty() {
            let grads = value.backward()?;
            for Tapped { site, at, zeros, .. } in tapped {
                // Without a gradient the objective does not depend on this layer.
                let grad = grads.get(zeros).map_or_else(|| zeros.zeros_like(), |grad| Ok(grad.clone()))?;
                gradients.keep(*site, *at, &grad)?;
            }
        }
        let (stacks, sequences) = gradients.into_stacks();
        Ok(Gradients { value: value.to_scalar()?, stacks, sequences })
    }

    /// What was recorded of one input, as a capture.
    fn capture(
        &self,
        input: &Encoded,
        plan: &RunPlan,
        outcome: Outcome,
        recorded: Recorded,
        generated: Option<Generated>,
    ) -> Result<Capture, ModelError> {
        let Recorded { stacks, sequences, n_omitted, notes: said, .. } = recorded;
        let mut notes = input.notes.clone();
        notes.extend(said);
        if n_omitted > 0 {
            let n: usize = stacks.iter().map(|stack| stack.layers.len()).sum();
            notes.push(format!("Patterns of {n_omitted} of {n} layers are not stored, to save memory"));
        }
        if plan.edits.is_empty() && uniformity::is_nearly_uniform(&stacks, &self.spec.stacks) {
            notes.push("Attention is nearly uniform in all heads: are the weights random or untrained?".to_owned());
        }
        notes.extend(outcome.note);
        let capture = Capture::new(CaptureParts {
            id: next_capture_id(),
            model: Arc::clone(&self.spec),
            input: input.input.clone(),
            tokens: input.tokens.clone(),
            stacks,
            sequences,
            image: input.image.clone(),
            logits: outcome.logits,
            prediction: outcome.prediction,
            generated,
            computation: Computation {
                edits: plan.edits.iter().cloned().map(AppliedEdit::Known).collect(),
                normalizer: self.network.normalizer(),
                ..Computation::default()
            },
            notes,
        })?;
        let capture = capture.with_positions(Arc::clone(self.positions()));
        Ok(capture.with_architecture(Arc::clone(&self.architecture)))
    }

    /// The gradients of all patterns, and nothing else.
    ///
    /// # Errors
    /// As [`Self::gradients`].
    pub fn pattern_gradients(
        &self,
        input: &Encoded,
        objective: Objective,
        edits: &[Edit],
        control: &Control<'_>,
    ) -> Result<Gradients, ModelError> {
        let plan = RunPlan { edits: edits.to_vec(), ..RunPlan::silent() };
        Ok(self.gradients(input, &plan, objective, Taps::of(&[Site::Pattern]), control)?.1)
    }

    /// Bytes of memory that [`Self::forward`] takes at its peak besides the model, estimated from shapes;
    /// a text that the model is still to write is not counted.
    pub fn peak_bytes(&self, input: &Encoded, plan: &RunPlan) -> u64 {
        self.network.peak_bytes(&lengths(input), plan, Taps::NONE)
    }

    /// Refuses a run for which there is no room, before anything is allocated for it.
    fn check_memory(&self, input: &Encoded, plan: &RunPlan, taps: Taps) -> Result<(), ModelError> {
        let Some(available) = self.engine.memory_for_a_run() else { return Ok(()) };
        let lengths = lengths(input);
        let needed = |lengths: &Lengths| self.network.peak_bytes(lengths, plan, taps);
        if needed(&lengths) <= available {
            return Ok(());
        }
        let n = lengths.longest();
        let fits = |n: usize| needed(&lengths.with_longest(n)) <= available;
        // The longest that fits, by halving: needs grow with the length.
        let (mut fitting, mut too_long) = (0, n);
        while too_long - fitting > 1 {
            let middle = fitting.midpoint(too_long);
            if fits(middle) { fitting = middle } else { too_long = middle }
        }
        let lean = |sites: Sites| sites.without(&[Site::Pattern, Site::Scores]);
        let lean_plan = RunPlan { sites: lean(plan.sites), ..plan.clone() };
        let lean_taps = Taps { sites: lean(taps.sites), fixed_patterns: taps.fixed_patterns };
        let is_leaner = lean_plan.sites != plan.sites || lean_taps != taps;
        // What is asked of a run for nothing but patterns is not helped by leaving them out.
        let is_of_more = !taps.any() || lean_taps.any();
        let instead =
            if is_leaner && is_of_more && self.network.peak_bytes(&lengths, &lean_plan, lean_taps) <= available {
                Instead::NoPatterns
            } else if taps.any() {
                Instead::FewerSites
            } else {
                Instead::Nothing
            };
        Err(ModelError::TooLarge { needed: needed(&lengths), available, n, fitting, instead })
    }
}

fn lengths(input: &Encoded) -> Lengths {
    Lengths::new(|side| input.tokens.get(&side).map_or(0, Vec::len))
}

/// The identity of a new capture, unique within the process.
pub fn next_capture_id() -> CaptureId {
    CaptureId::next()
}

/// Lengths of the gradients of states, by token.
fn state_norms(gradients: &Gradients) -> BTreeMap<(Side, Way), Vec<f64>> {
    let length = |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let mut norms = BTreeMap::new();
    for (side, values) in &gradients.sequences {
        for way in Way::ALL {
            if let Some(rows) = values.rows(way.state()) {
                norms.insert((*side, way), rows.rows().map(length).collect());
            }
        }
    }
    norms
}

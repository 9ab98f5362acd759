//! The tensors of one input to a capture: shapes agreed on first, then values read and checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Seek},
    sync::Arc,
};

use super::{
    FileError,
    entry::CheckedTensor,
    metadata::{
        self, GeneratedEntry, ImageEntry, InputEntry, ModelEntry, PredictionEntry, StackEntry, TokensEntry,
        default_scale,
    },
    place::{TensorSlot, What},
    record,
};
use crate::{
    capture::{AppliedEdit, Capture, CaptureParts, Computation, InputInfo, Matrix, RowKind, Site, Token, Width},
    ids::{CaptureId, Side, StackKind},
    spec::{ImageSpec, LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

/// What a file says about one input besides its tensors.
#[derive(Default)]
pub(super) struct Described {
    pub(super) tokens: Option<TokensEntry>,
    pub(super) input: Option<InputEntry>,
    pub(super) image: Option<ImageEntry>,
    pub(super) generated: Option<GeneratedEntry>,
    pub(super) prediction: Option<PredictionEntry>,
    pub(super) computation: Computation,
    /// Sentences that the user must see.
    pub(super) notes: Vec<String>,
}

/// The tensors of one input.
#[derive(Default)]
pub(super) struct InputTensors {
    tensors: Vec<(TensorSlot, CheckedTensor)>,
    places: BTreeSet<TensorSlot>,
    /// Tensors whose names mean nothing to us.
    pub(super) n_ignored: usize,
}

impl InputTensors {
    /// Adds a tensor. `input0/x` and `input00/x` would be the same place, which is refused.
    pub(super) fn add(&mut self, place: TensorSlot, entry: CheckedTensor) -> Result<(), FileError> {
        if !self.places.insert(place) {
            return Err(FileError::tensor(&entry.name, "appears twice under another spelling"));
        }
        self.tensors.push((place, entry));
        Ok(())
    }

    /// Whether there is anything to look at.
    pub(super) fn has_attention(&self) -> bool {
        self.places.iter().any(|place| match *place {
            TensorSlot::Layer { what: What::Site(Site::Pattern | Site::Scores), .. } => true,
            TensorSlot::Layer { stack, layer, what: What::Site(Site::Q) } => {
                self.places.contains(&TensorSlot::Layer { stack, layer, what: What::Site(Site::K) })
            }
            _ => false,
        })
    }

    /// Builds the capture; `source` is where entries that lie in a file are read from.
    pub(super) fn capture(
        self,
        source: &mut (impl Read + Seek),
        model: &ModelEntry,
        described: Described,
        fallback_name: &str,
        id: CaptureId,
    ) -> Result<Capture, FileError> {
        let input: InputInfo = described.input.map(InputInfo::from).unwrap_or_default();
        let mut notes = described.notes;
        let (tokens, has_tokens) = self.tokens(described.tokens.unwrap_or_default(), &input)?;
        if !has_tokens {
            notes.push("The file has no tokens, so positions are shown".to_owned());
        }
        if let (Some(chosen), Some(all)) = (tokens.get(&Side::Chosen), tokens.get(&Side::Only)) {
            if let Some(position) = chosen.iter().filter_map(|token| token.position).find(|at| *at >= all.len()) {
                let problem = format!("there is no token {position}, of which there are {}", all.len());
                return Err(FileError::Metadata { entry: "tokens", problem });
            }
            notes.push(format!(
                "The file has the rows of {} of {} queries alone: what needs all of them is not defined",
                chosen.len(),
                all.len()
            ));
        }
        let mut stacks = self.stack_specs(model)?;
        self.check_shapes(&stacks)?;
        check_edits(&described.computation, &tokens)?;
        let generated = described.generated.map(|generated| generated.generated(&tokens)).transpose()?;
        let prediction = described.prediction.map(|prediction| prediction.prediction(&tokens)).transpose()?;
        let d_model = model.d_model.unwrap_or_else(|| self.d_model(&stacks));
        let n_longest = tokens.values().map(Vec::len).max().unwrap_or(0);
        if self.n_ignored > 0 {
            notes.push(format!("{} tensors are of kinds that are not shown", self.n_ignored));
        }
        let recorded = record::read(self.tensors, source, (&stacks, &tokens), &described.computation, &mut notes)?;
        let picture = recorded.picture.clone().map(Arc::new);
        let side = [Side::Vision, Side::Encoder, Side::Only].into_iter().find_map(|side| tokens.get(&side));
        let n_on_picture = side.map_or(0, Vec::len);
        let image = described.image.map(|image| image.info(n_on_picture, picture)).transpose()?;
        for stack in &mut stacks {
            // Only a stack that nobody described is judged by its looks.
            if model.stacks.iter().all(|entry| entry.kind() != stack.kind) {
                stack.causal = recorded.looks_causal(stack.kind);
            } else if let Some(weight) = recorded.beyond(stack.kind)
                && stack.causal
                && described.computation.edits.is_empty()
            {
                stack.causal = false;
                notes.push(format!(
                    "The file says that its {} attention is causal, but its rows have weights of up to {weight:.2} on \
                     later tokens, so it is shown as seeing both ways",
                    stack.kind
                ));
            }
        }
        let modality = model.modality.unwrap_or_else(|| {
            if let Some(image) = &image {
                let n = if image.regions.is_some() { (1, 1) } else { image.grid };
                return Modality::Image(ImageSpec {
                    size_px: (n.0 * image.patch_px.0, n.1 * image.patch_px.1),
                    patch_px: image.patch_px,
                    n_prefix: image.n_prefix,
                });
            }
            let n_vocab = recorded.logits.as_ref().map_or(0, Matrix::n_cols);
            Modality::Text(TextSpec::new(n_longest, n_vocab))
        });
        let spec = ModelSpec {
            name: model.name.clone().unwrap_or_else(|| fallback_name.to_owned()),
            family: model.family.clone().unwrap_or_else(|| ModelSpec::UNKNOWN_FAMILY.to_owned()),
            modality,
            stacks,
            d_model,
            n_params: model.n_params.unwrap_or(0),
            head: model.head,
            checkpoint: model.checkpoint.clone(),
        };
        let parts = CaptureParts {
            id,
            model: Arc::new(spec),
            input,
            tokens,
            stacks: recorded.stacks,
            sequences: recorded.sequences,
            image,
            logits: recorded.logits,
            prediction,
            generated,
            computation: described.computation,
            notes,
        };
        Capture::new(parts).map_err(|error| FileError::NotACapture(error.to_string()))
    }

    /// Token lists of every side that a tensor refers to, made up of positions where the file has none;
    /// and whether it had any.
    fn tokens(
        &self,
        mut described: TokensEntry,
        input: &InputInfo,
    ) -> Result<(BTreeMap<Side, Vec<Token>>, bool), FileError> {
        let mut tokens: BTreeMap<Side, Vec<Token>> = BTreeMap::new();
        for side in Side::ALL {
            if let Some(list) = described.remove(side.name()) {
                tokens.insert(side, list.into_iter().map(|token| token.token(input)).collect());
            }
        }
        let has_tokens = !tokens.is_empty();
        let mut made_up: BTreeMap<Side, String> = BTreeMap::new();
        for (place, entry) in &self.tensors {
            for (side, axis) in sides(*place, entry)? {
                let n = entry.shape[axis];
                if let Some(known) = tokens.get(&side) {
                    if known.len() != n {
                        let against = match made_up.get(&side) {
                            Some(other) if *other == entry.name => {
                                return Err(FileError::tensor(other, "is not square, as self-attention is"));
                            }
                            Some(other) => format!("{other} has {}", known.len()),
                            None => format!("there are {} {} tokens", known.len(), side.name()),
                        };
                        let problem = format!("has {n} positions along axis {axis}, but {against}");
                        return Err(FileError::tensor(&entry.name, problem));
                    }
                } else {
                    let position = |idx: usize| Token { text: idx.to_string(), ..Token::default() };
                    tokens.insert(side, (0..n).map(position).collect());
                    made_up.insert(side, entry.name.clone());
                }
            }
        }
        Ok((tokens, has_tokens))
    }

    /// The described stacks, and those that only tensors know of.
    fn stack_specs(&self, model: &ModelEntry) -> Result<Vec<StackSpec>, FileError> {
        let mut specs = model.stacks.iter().map(StackEntry::spec).collect::<Result<Vec<_>, _>>()?;
        for kind in StackKind::ALL {
            if specs.iter().any(|spec| spec.kind == kind) {
                continue;
            }
            let mut layers: BTreeMap<usize, Guess> = BTreeMap::new();
            for (place, entry) in &self.tensors {
                let TensorSlot::Layer { stack, layer, what } = *place else { continue };
                if stack == kind {
                    if layer >= metadata::MAX_LAYERS {
                        return Err(FileError::tensor(&entry.name, "has a layer number that no model has"));
                    }
                    layers.entry(layer).or_default().learn(what, &entry.shape);
                }
            }
            let Some((&last, _)) = layers.last_key_value() else { continue };
            let Some(first) = layers.values().next().copied() else { continue };
            let layers = (0..=last).map(|layer| layers.get(&layer).copied().unwrap_or(first).spec()).collect();
            specs.push(StackSpec { kind, layers, causal: false });
        }
        Ok(specs)
    }

    /// Every shape is the one that the specs and token counts imply; counts were checked before.
    fn check_shapes(&self, specs: &[StackSpec]) -> Result<(), FileError> {
        for (place, entry) in &self.tensors {
            let TensorSlot::Layer { stack, layer, what } = *place else { continue };
            let spec = specs.iter().find(|spec| spec.kind == stack);
            let Some(spec) = spec.and_then(|spec| spec.layers.get(layer)) else {
                return Err(FileError::tensor(&entry.name, "is of a layer that the model does not have"));
            };
            let n_heads = match what {
                What::Scorer(_) => continue,
                What::Site(site) if !site.is_per_head() => continue,
                What::Site(site) if site.is_of_keys() => spec.n_kv_heads,
                What::Site(_) | What::Bias | What::Sink | What::GlobalKeys | What::GlobalValues => spec.n_heads,
            };
            if entry.shape[0] != n_heads || n_heads > metadata::MAX_HEADS {
                let problem = format!("has {} heads where {n_heads} belong", entry.shape[0]);
                return Err(FileError::tensor(&entry.name, problem));
            }
            let width = head_width(what).map(|width| width.of(spec));
            if let Some(width) = width.filter(|width| entry.shape[2] != *width) {
                let problem = format!("has heads of width {} where {width} belongs", entry.shape[2]);
                return Err(FileError::tensor(&entry.name, problem));
            }
            if !spec.n_heads.is_multiple_of(spec.n_kv_heads.max(1)) {
                let problem = format!("has {} heads, which {} key heads cannot share", spec.n_heads, spec.n_kv_heads);
                return Err(FileError::tensor(&entry.name, problem));
            }
        }
        Ok(())
    }

    fn d_model(&self, specs: &[StackSpec]) -> usize {
        let resid = self.tensors.iter().find_map(|(place, entry)| match place {
            TensorSlot::Stack { site: Site::ResidFinal, .. }
            | TensorSlot::Layer { what: What::Site(Site::ResidPre), .. } => entry.shape.get(1).copied(),
            _ => None,
        });
        let of_heads = || specs.first()?.layers.first().map(|layer| layer.n_heads * layer.d_value);
        resid.or_else(of_heads).unwrap_or(0)
    }
}

/// Which axes of a tensor count the tokens of which side; checks the rank on the way.
fn sides(place: TensorSlot, entry: &CheckedTensor) -> Result<Vec<(Side, usize)>, FileError> {
    let (rank, sides) = match place {
        TensorSlot::Logits => {
            let fits = matches!(entry.shape.len(), 1 | 2);
            (if fits { entry.shape.len() } else { 2 }, Vec::new())
        }
        TensorSlot::Picture => (3, Vec::new()),
        TensorSlot::Stack { stack, .. } => (2, vec![(stack.query_side(), 0)]),
        TensorSlot::Global(stack) => (1, vec![(stack.query_side(), 0)]),
        TensorSlot::Sequence { side, .. } => (2, vec![(side, 0)]),
        TensorSlot::Layer { stack, what, .. } => match what {
            // One row stands for every query, or holds what each distance adds.
            What::Bias if entry.shape.get(1) == Some(&1) => (3, Vec::new()),
            What::GlobalKeys | What::GlobalValues => (3, vec![(stack.key_side(), 1)]),
            What::Bias => (3, vec![(stack.query_side(), 1), (stack.key_side(), 2)]),
            What::Sink => (2, vec![(stack.query_side(), 1)]),
            // Rows of queries and of keys.
            What::Scorer(_) => (2, Vec::new()),
            What::Site(site) => {
                let (rank, side) = match site.spec().rows {
                    RowKind::Stream => (2, stack.query_side()),
                    RowKind::Queries => (3, stack.query_side()),
                    RowKind::Keys => (3, stack.key_side()),
                };
                let keys = site.is_of_pairs().then_some((stack.key_side(), rank - 1));
                (rank, [(side, rank - 2)].into_iter().chain(keys).collect())
            }
        },
    };
    if entry.shape.len() != rank {
        let problem = format!("has {} axes where {rank} belong", entry.shape.len());
        return Err(FileError::tensor(&entry.name, problem));
    }
    if entry.n_values == 0 {
        return Err(FileError::tensor(&entry.name, "is empty"));
    }
    Ok(sides)
}

/// Rows that a run was given belong to the positions there are.
fn check_edits(computation: &Computation, tokens: &BTreeMap<Side, Vec<Token>>) -> Result<(), FileError> {
    let len = |side: Side| tokens.get(&side).map_or(0, Vec::len);
    for edit in computation.edits.iter().filter_map(AppliedEdit::known) {
        if !edit.kind().fits(&len) {
            let problem = format!("“{edit}” does not fit the tokens");
            return Err(FileError::Metadata { entry: "edits", problem });
        }
    }
    Ok(())
}

/// A width of the heads of a layer.
#[derive(Clone, Copy)]
enum HeadWidth {
    Keys,
    Values,
}

impl HeadWidth {
    const fn of(self, spec: &LayerSpec) -> usize {
        match self {
            Self::Keys => spec.d_head,
            Self::Values => spec.d_value,
        }
    }
}

/// The width of a tensor that has one vector per head and token.
fn head_width(what: What) -> Option<HeadWidth> {
    match what {
        What::Site(site) => match site.spec().width {
            Width::Head => Some(HeadWidth::Keys),
            Width::Value => Some(HeadWidth::Values),
            Width::Embedding
            | Width::Model
            | Width::Mlp
            | Width::Experts
            | Width::Keys
            | Width::State
            | Width::Gates => None,
        },
        What::GlobalKeys => Some(HeadWidth::Keys),
        What::GlobalValues => Some(HeadWidth::Values),
        What::Bias | What::Sink | What::Scorer(_) => None,
    }
}

/// What the tensors of a layer say about its shape.
#[derive(Clone, Copy, Default)]
struct Guess {
    n_heads: Option<usize>,
    n_kv_heads: Option<usize>,
    d_head: Option<usize>,
    d_value: Option<usize>,
}

impl Guess {
    fn learn(&mut self, what: What, shape: &[usize]) {
        let (&[n_heads, _, _] | &[n_heads, _]) = shape else { return };
        let width = shape.get(2).copied().unwrap_or(0);
        match what {
            What::Scorer(_) => return,
            What::Site(site) if !site.is_per_head() => return,
            What::Site(site) if site.is_of_keys() => self.n_kv_heads = self.n_kv_heads.or(Some(n_heads)),
            _ => self.n_heads = self.n_heads.or(Some(n_heads)),
        }
        match head_width(what) {
            Some(HeadWidth::Keys) => self.d_head = self.d_head.or(Some(width)),
            Some(HeadWidth::Values) => self.d_value = self.d_value.or(Some(width)),
            None => {}
        }
    }

    fn spec(self) -> LayerSpec {
        let n_heads = self.n_heads.or(self.n_kv_heads).unwrap_or(0);
        // Where one of them is not there, nothing says that they differ.
        let d_head = self.d_head.or(self.d_value).unwrap_or(0);
        LayerSpec {
            n_kv_heads: self.n_kv_heads.unwrap_or(n_heads),
            d_value: self.d_value.unwrap_or(d_head),
            scale: default_scale(d_head),
            ..LayerSpec::new(n_heads, d_head)
        }
    }
}

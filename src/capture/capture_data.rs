//! [`Capture`]: everything recorded in one forward pass, checked once when it is built.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use super::{
    Architecture, Computation, ImageInfo, Matrix, PerHead, PositionEncoding, RowMass, Scorer, ShapeError, Site,
    SiteValues, TextPart, Token, Way, check,
    groups::{GroupError, Groups},
};
use crate::{
    ids::{CaptureId, HeadId, Side, StackKind},
    outputs::OutputKind,
    spec::{HeadKind, ModelSpec},
};

/// Everything recorded in one forward pass. Immutable; shared as `Arc<Capture>`.
#[derive(Clone, Debug)]
pub struct Capture {
    parts: CaptureParts,
    positions: Option<Arc<PositionEncoding>>,
    architecture: Option<Arc<Architecture>>,
    state_gradients: Option<Arc<StateGradients>>,
}

/// How much what a run predicts depends on the states of a recurrence, by backpropagation through time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateGradients {
    /// The outcome whose logit is meant: the predicted class, or the token that is predicted last.
    pub outcome: String,
    /// ‖∂L/∂h‖ of the state after each token, with all that follows from it.
    pub norms: BTreeMap<(Side, Way), Vec<f64>>,
}

/// The fields of a [`Capture`], before the invariants are checked.
#[derive(Clone, Debug)]
pub struct CaptureParts {
    pub id: CaptureId,
    pub model: Arc<ModelSpec>,
    pub input: InputInfo,
    pub tokens: BTreeMap<Side, Vec<Token>>,
    /// One entry per stack of the model, in the model's order.
    pub stacks: Vec<StackCapture>,
    /// By side, the sites that a sequence has, `[n, width]` each.
    pub sequences: BTreeMap<Side, SiteValues>,
    /// How patches lie on the picture, for vision models.
    pub image: Option<ImageInfo>,
    /// `[n, n_vocab]` or `[1, n_classes]`; `None` without a head or when not asked for.
    pub logits: Option<Matrix>,
    /// What the model's head says, if it has one.
    pub prediction: Option<Prediction>,
    /// Which decoder tokens the model wrote itself, if it did.
    pub generated: Option<Generated>,
    /// How the patterns came about: changes of the forward pass, and what their rows hold.
    pub computation: Computation,
    /// Sentences the user must see: truncation, uniform attention, tolerance notes.
    pub notes: Vec<String>,
}

/// What was fed to the model, for captions, file names and metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputInfo {
    /// The text, if any.
    pub text: Option<String>,
    /// The second sentence of a pair, if any.
    pub text_b: Option<String>,
    /// A name for the image, if any.
    pub image: Option<String>,
    /// The decoder's text that was given, if any.
    pub target: Option<String>,
    /// What was read of the text, if it was not all of it.
    pub part: Option<TextPart>,
    /// Where in the text, in bytes and in order, stands what was said, if a chat template stands around it.
    pub content: Option<Vec<Range<usize>>>,
}

impl InputInfo {
    /// Whether a token of the text is one that a chat template wrote.
    pub fn is_of_template(&self, token: &Token) -> bool {
        let apart = |said: &Range<usize>| token.span.end <= said.start || said.end <= token.span.start;
        !token.span.is_empty() && self.content.as_ref().is_some_and(|content| content.iter().all(apart))
    }
}

/// A continuation that the model wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// Which tokens they are: of the decoder, or of the only sequence.
    pub side: Side,
    /// Position of the first of them.
    pub first: usize,
    /// The probability the model gave each of them, in `0..=1`.
    pub probabilities: Vec<f32>,
    /// By step, the most probable tokens under the rules of the checkpoint, from the most probable one on; a text that
    /// the model ended has one step more than tokens. Empty where they were not recorded.
    pub candidates: Vec<Vec<PredictionItem>>,
    /// The token that ended the text, which is not a part of it.
    pub end: Option<PredictionItem>,
    /// How many of the first tokens were given instead of chosen.
    pub n_given: usize,
    /// What was kept on the way, behind the tokens that were given, where the text is the best of several.
    pub beams: Option<Beams>,
    /// Texts that were drawn by chance behind the tokens that were given, with the probability of each token; the first is
    /// the text itself. A text that the model ended has that token too. Empty where one text was written.
    pub samples: Vec<Vec<PredictionItem>>,
}

/// Texts that a beam search kept on its way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beams {
    /// Each token with the one before it, which stands before it here too; `None` for the first of a text.
    pub nodes: Vec<(Option<usize>, PredictionItem)>,
    /// The last token of each text that ended, and its score, from the best one on: the first was taken.
    pub hypotheses: Vec<(usize, f32)>,
}

impl Beams {
    /// The tokens of a text up to one, from the first on.
    pub fn path(&self, last: usize) -> Vec<&PredictionItem> {
        let node = |node: usize| self.nodes.get(node);
        let nodes = std::iter::successors(node(last), |(parent, _)| node((*parent)?));
        let mut path: Vec<_> = nodes.map(|(_, token)| token).collect();
        path.reverse();
        path
    }
}

/// One stack's recordings.
#[derive(Clone, Debug, Default)]
pub struct StackCapture {
    pub kind: StackKind,
    /// One entry per layer; a layer that was not recorded is empty.
    pub layers: Vec<LayerCapture>,
    /// The sites that a stack has once.
    pub sites: SiteValues,
    /// Positions, in order, of tokens that see all and that all see, in the layers that have some.
    pub global: Vec<usize>,
}

/// One layer's recordings. Absent sites were not asked for, were over the budget, or are unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerCapture {
    /// The sites that each layer has.
    pub sites: SiteValues,
    /// `[head, key, d_head]`: the keys that the queries of global tokens meet.
    pub k_global: Option<PerHead>,
    /// `[head, key, d_head]`: the values that those move.
    pub v_global: Option<PerHead>,
    /// `[head, query or 1, key]`, or by distance `[head, 1, query + key − 1]`, of which the last query's row is the
    /// first part: what is added to the scaled scores before the mask, for models whose bias depends on positions;
    /// see [`LayerCapture::bias_row`]. Layers that share a bias share its storage.
    pub bias: Option<PerHead>,
    /// `[head, query]`: the part of each row that went to a learned sink instead of a key.
    pub sink: Option<Matrix>,
    /// How it scores, where that is no product of queries and keys.
    pub scorer: Option<Scorer>,
}

impl StackCapture {
    /// A stack of which nothing has been recorded yet.
    pub(crate) fn empty(kind: StackKind, n_layers: usize) -> Self {
        Self { kind, layers: vec![LayerCapture::default(); n_layers], ..Self::default() }
    }

    /// One row per token, of a site that has no heads; `layer` does not matter for what a stack has once. What a
    /// sequence has is not here, see [`Capture::embed`].
    pub fn rows(&self, site: Site, layer: usize) -> Option<&Matrix> {
        if site.is_of_layer() { self.layers.get(layer)?.rows(site) } else { self.sites.rows(site) }
    }

    /// `[n, d_model]` after the final norm.
    pub fn resid_final(&self) -> Option<&Matrix> {
        self.sites.rows(Site::ResidFinal)
    }

    /// Where a site of a layer is kept; `None` for a layer that is not there.
    pub(crate) fn sites_mut(&mut self, site: Site, layer: usize) -> Option<&mut SiteValues> {
        if site.is_of_layer() {
            self.layers.get_mut(layer).map(|layer| &mut layer.sites)
        } else {
            Some(&mut self.sites)
        }
    }
}

impl LayerCapture {
    /// A layer of which these sites were recorded.
    pub fn of(sites: impl Into<SiteValues>) -> Self {
        Self { sites: sites.into(), ..Self::default() }
    }

    /// One matrix per head, of a site that has heads.
    pub fn per_head(&self, site: Site) -> Option<&PerHead> {
        self.sites.per_head(site)
    }

    /// One row per token, of a site that has no heads.
    pub fn rows(&self, site: Site) -> Option<&Matrix> {
        self.sites.rows(site)
    }

    /// `[head, query, d_head]`, after rotary where the model has it.
    pub fn q(&self) -> Option<&PerHead> {
        self.per_head(Site::Q)
    }

    /// `[kv_head, key, d_head]`, after rotary where the model has it.
    pub fn k(&self) -> Option<&PerHead> {
        self.per_head(Site::K)
    }

    /// `[kv_head, key, d_head]`.
    pub fn v(&self) -> Option<&PerHead> {
        self.per_head(Site::V)
    }

    /// `[head, query, key]`: scaled, biased and masked (`-inf` where masked), before softmax.
    pub fn scores(&self) -> Option<&PerHead> {
        self.per_head(Site::Scores)
    }

    /// `[head, query, key]`: softmax of the scores; rows sum to one, with the sink where there is one.
    pub fn pattern(&self) -> Option<&PerHead> {
        self.per_head(Site::Pattern)
    }

    /// `[head, query, key]`: signed factors of values, in a layer without a softmax; rows sum to anything.
    pub fn effective(&self) -> Option<&PerHead> {
        self.per_head(Site::Effective)
    }

    /// `[head, query, d_head]`: pattern · v, or effective · v.
    pub fn z(&self) -> Option<&PerHead> {
        self.per_head(Site::Z)
    }

    /// `[query, d_model]`: the residual stream entering the layer.
    pub fn resid_pre(&self) -> Option<&Matrix> {
        self.rows(Site::ResidPre)
    }
}

/// What the model's head says about the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// What kind of statement it is.
    pub kind: HeadKind,
    /// What its numbers are.
    pub outputs: OutputKind,
    /// One row per predicted position; a classifier has a single row without a position.
    pub rows: Vec<PredictionRow>,
}

impl Prediction {
    /// The position that is meant when nobody says which, of a model that says something at each of its `tokens`: the
    /// masked one, else the first word; `None` where that is the last, or the whole.
    pub fn default_position(&self, tokens: &[Token], is_mask: impl Fn(&Token) -> bool) -> Option<usize> {
        if !matches!(self.kind, HeadKind::MaskedLm | HeadKind::TokenClass) {
            return None;
        }
        let is_said = |position: &usize| self.rows.iter().any(|row| row.position == Some(*position));
        let first_word = || (0..tokens.len()).find(|position| !tokens[*position].special && is_said(position));
        tokens.iter().position(is_mask).or_else(first_word)
    }
}

/// The most probable outcomes at one position, best first; scores in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionRow {
    /// Token position the statement is about; `None` for a classifier.
    pub position: Option<usize>,
    pub top: Vec<PredictionItem>,
}

impl CaptureParts {
    /// What is to be known about texts that are longer than the model was made for.
    fn beyond(&self) -> Vec<String> {
        let modality = &self.model.modality;
        let note = |(side, tokens): (&Side, &Vec<Token>)| {
            let spec = match side {
                Side::Decoder => modality.target(),
                Side::Vision | Side::Sentences | Side::Chosen => None,
                Side::Only | Side::Encoder | Side::Text => modality.text(),
            };
            spec?.beyond(tokens.len())
        };
        self.tokens.iter().filter_map(note).collect()
    }
}

/// One outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionItem {
    /// Token or class index.
    pub id: u32,
    /// Token text or class name.
    pub label: String,
    /// Its probability, in `0..=1`, or the score itself.
    pub value: f32,
}

impl Capture {
    /// Checks that every recording has the shape that the model and the tokens imply. A run that was changed, and a
    /// text longer than the model was made for, get a note that says so.
    ///
    /// # Errors
    /// Names the first recording that does not fit.
    pub fn new(mut parts: CaptureParts) -> Result<Self, ShapeError> {
        for stack in &parts.stacks {
            check::stack(&parts, stack)?;
        }
        check::sequences(&parts)?;
        check::logits(&parts)?;
        if let Some(note) = parts.computation.note()
            && !parts.notes.contains(&note)
        {
            parts.notes.insert(0, note);
        }
        for note in parts.beyond() {
            if !parts.notes.contains(&note) {
                parts.notes.push(note);
            }
        }
        Ok(Self { parts, positions: None, architecture: None, state_gradients: None })
    }

    /// The same capture with other groups of tokens. Its identity stays, so it is for one that nobody has looked at yet.
    ///
    /// # Errors
    /// When they do not fit the tokens.
    pub fn grouped(mut self, groups: &Groups) -> Result<Self, GroupError> {
        groups.mark(&mut self.parts.tokens)?;
        Ok(self)
    }

    /// Whether a person grouped some of its tokens.
    pub fn has_groups(&self) -> bool {
        self.parts.tokens.values().flatten().any(|token| token.group.is_some())
    }

    /// The same capture of a model that knows positions in this way.
    #[must_use]
    pub fn with_positions(self, positions: Arc<PositionEncoding>) -> Self {
        Self { positions: Some(positions), ..self }
    }

    /// The same capture of a model that is made of this.
    #[must_use]
    pub fn with_architecture(self, architecture: Arc<Architecture>) -> Self {
        Self { architecture: Some(architecture), ..self }
    }

    /// The same capture of a run that was followed back through time.
    #[must_use]
    pub fn with_state_gradients(self, gradients: StateGradients) -> Self {
        Self { state_gradients: Some(Arc::new(gradients)), ..self }
    }

    /// How much what was predicted depends on each state; `None` where nothing was followed back, and of a file.
    pub const fn state_gradients(&self) -> Option<&Arc<StateGradients>> {
        self.state_gradients.as_ref()
    }

    /// What the model is made of; `None` where the capture is of a file.
    pub const fn architecture(&self) -> Option<&Arc<Architecture>> {
        self.architecture.as_ref()
    }

    /// How the model knows where tokens stand; `None` where the capture is of a file.
    pub const fn positions(&self) -> Option<&Arc<PositionEncoding>> {
        self.positions.as_ref()
    }

    /// Identity for caches.
    pub const fn id(&self) -> CaptureId {
        self.parts.id
    }

    /// The model that was run.
    pub const fn model(&self) -> &Arc<ModelSpec> {
        &self.parts.model
    }

    /// What was fed in.
    pub const fn input(&self) -> &InputInfo {
        &self.parts.input
    }

    /// How patches lie on the picture, for vision models.
    pub const fn image(&self) -> Option<&ImageInfo> {
        self.parts.image.as_ref()
    }

    /// `[n, n_vocab]` or `[1, n_classes]`, when recorded.
    pub const fn logits(&self) -> Option<&Matrix> {
        self.parts.logits.as_ref()
    }

    /// What the model's head says.
    pub const fn prediction(&self) -> Option<&Prediction> {
        self.parts.prediction.as_ref()
    }

    /// The continuation the model wrote, if it did.
    pub const fn generated(&self) -> Option<&Generated> {
        self.parts.generated.as_ref()
    }

    /// How the patterns came about.
    pub const fn computation(&self) -> &Computation {
        &self.parts.computation
    }

    /// How much of the attention the rows of a head hold.
    pub fn row_mass(&self, head: HeadId) -> RowMass {
        match self.layer(head) {
            Some(layer) if layer.sink.is_some() => RowMass::Sink,
            Some(layer) if layer.pattern().is_some() && self.parts.computation.partial_rows => RowMass::Partial,
            _ if !self.parts.computation.normalizer_of(head).sums_to_one() => RowMass::Free,
            _ => RowMass::Full,
        }
    }

    /// The part of each query's row that went to a learned sink; `None` where there is none.
    pub fn sink(&self, head: HeadId) -> Option<&[f32]> {
        self.layer(head)?.sink.as_ref()?.row(head.head)
    }

    /// Sentences the user must see.
    pub fn notes(&self) -> &[String] {
        &self.parts.notes
    }

    /// The same capture with one more sentence that the user must see.
    #[must_use]
    pub fn with_note(mut self, note: String) -> Self {
        self.parts.notes.push(note);
        self
    }

    /// All stacks that were recorded.
    pub fn stacks(&self) -> &[StackCapture] {
        &self.parts.stacks
    }

    /// The recordings of one stack.
    pub fn stack(&self, kind: StackKind) -> Option<&StackCapture> {
        self.parts.stacks.iter().find(|stack| stack.kind == kind)
    }

    /// The recordings of the layer that `head` belongs to.
    pub fn layer(&self, head: HeadId) -> Option<&LayerCapture> {
        self.stack(head.stack)?.layers.get(head.layer)
    }

    /// What stands for each token of one side before positions and norms, `[n, d_embedding]`.
    pub fn embed(&self, side: Side) -> Option<&Matrix> {
        self.of_sequence(side, Site::Embed)
    }

    /// One row per token of a side, of a site that a sequence has.
    pub fn of_sequence(&self, side: Side, site: Site) -> Option<&Matrix> {
        self.parts.sequences.get(&side)?.rows(site)
    }

    /// One head's pattern `[query, key]`, if it was stored. See `analysis::attention::pattern` for
    /// the version that recomputes what was over the budget.
    pub fn stored_pattern(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.pattern()?.head(head.head)
    }

    /// One head's queries `[query, d_head]`.
    pub fn q(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.q()?.head(head.head)
    }

    /// The keys `[key, d_head]` that one query head reads.
    pub fn k(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.k()?.head(self.kv_head(head)?)
    }

    /// The values `[key, d_head]` that one query head reads.
    pub fn v(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.v()?.head(self.kv_head(head)?)
    }

    /// Tokens of one side; empty when there are none.
    pub fn tokens(&self, side: Side) -> &[Token] {
        self.parts.tokens.get(&side).map_or(&[], Vec::as_slice)
    }

    /// Whose tokens are the patches of [`Self::image`], with the tokens before them.
    pub fn picture_side(&self) -> Option<Side> {
        let image = self.image()?;
        let n = image.n_prefix + image.grid.0 * image.grid.1;
        [Side::Vision, Side::Encoder, Side::Only].into_iter().find(|&side| self.tokens(side).len() == n)
    }

    /// Query tokens of one stack: the rows of its patterns.
    pub fn query_tokens(&self, stack: StackKind) -> &[Token] {
        self.tokens(stack.query_side())
    }

    /// Key tokens of one stack: the columns of its patterns.
    pub fn key_tokens(&self, stack: StackKind) -> &[Token] {
        self.tokens(stack.key_side())
    }

    /// Bytes held by the recordings; storage that several layers share counts once.
    pub fn size_bytes(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let mut once = |values: &[f32]| {
            let new = seen.insert(values.as_ptr() as usize);
            if new { size_of_val(values) as u64 } else { 0 }
        };
        let mut bytes = self.parts.logits.as_ref().map_or(0, |logits| once(logits.as_slice()));
        let of_sequences = self.parts.sequences.values().flat_map(SiteValues::iter);
        bytes += of_sequences.map(|(_, value)| once(value.as_slice())).sum::<u64>();
        for stack in &self.parts.stacks {
            let of_layers = stack.layers.iter().flat_map(|layer| layer.sites.iter());
            bytes += stack.sites.iter().chain(of_layers).map(|(_, value)| once(value.as_slice())).sum::<u64>();
            for layer in &stack.layers {
                bytes += layer.beside().map(|data| once(data.as_slice())).sum::<u64>();
                let rows = [layer.sink.as_ref(), layer.scorer.as_ref().map(Scorer::rows)];
                bytes += rows.into_iter().flatten().map(|rows| once(rows.as_slice())).sum::<u64>();
            }
        }
        bytes
    }

    fn kv_head(&self, head: HeadId) -> Option<usize> {
        Some(self.parts.model.layer_of(head)?.kv_head(head.head))
    }
}

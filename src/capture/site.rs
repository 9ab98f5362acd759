//! The points of the forward pass where a value exists: the table that runs, edits, captures and files read.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Matrix, PerHead, ShapeError};
use crate::spec::MixerKind;

/// A point in the forward pass where a value exists, in forward order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// What stands for each token or patch before positions and norms: what gradients of the input are of.
    Embed,
    /// The gates of a recurrence that reads forward, after their functions, side by side: `i f g o` of an LSTM,
    /// `r z n` of a GRU. They are recorded alone: no change reaches them.
    Gates,
    /// The cell of an LSTM that reads forward; recorded alone.
    Cell,
    /// The state of a recurrence that reads forward, after each token.
    State,
    /// The gates of one that reads backward.
    GatesBack,
    CellBack,
    StateBack,
    /// The residual stream entering a layer.
    ResidPre,
    /// Queries, after rotary where the model has it.
    Q,
    /// Keys, after rotary where the model has it.
    K,
    V,
    /// Scaled and masked, before softmax.
    Scores,
    Pattern,
    /// The signed factors by which values add up to `z` in a layer without a softmax; recorded with patterns, alone.
    Effective,
    /// `pattern · v`, or `effective · v`.
    Z,
    /// What attention adds to the residual stream.
    AttnOut,
    /// The residual stream between attention and MLP.
    ResidMid,
    /// The router's scores of experts; none where there are no experts.
    RouterLogits,
    /// The weights of the experts that a token goes to, 0 for the others.
    Router,
    /// The activated gate of a gated MLP, which scales its hidden layer; none where there is no gate.
    MlpGate,
    /// The activations inside the MLP, gated where it has a gate.
    MlpHidden,
    /// What the MLP adds to the residual stream.
    MlpOut,
    /// The residual stream leaving a layer; of the last layer, the stream before the final norm.
    ResidPost,
    /// The stream after the last layer and the final norm.
    ResidFinal,
}

/// Every site, in forward order.
const TABLE: [SiteSpec; 24] = [
    SiteSpec::new(Site::Embed, "embed", RowKind::Stream, Width::Embedding)
        .once_per(Per::Sequence)
        .called("the embeddings"),
    SiteSpec::new(Site::Gates, "gates", RowKind::Stream, Width::Gates).of_recurrence("the gates"),
    SiteSpec::new(Site::Cell, "cell", RowKind::Stream, Width::State).of_recurrence("the cell"),
    SiteSpec::new(Site::State, "state", RowKind::Stream, Width::State).of_recurrence("the state"),
    SiteSpec::new(Site::GatesBack, "gates_back", RowKind::Stream, Width::Gates).of_recurrence("the gates backward"),
    SiteSpec::new(Site::CellBack, "cell_back", RowKind::Stream, Width::State).of_recurrence("the cell backward"),
    SiteSpec::new(Site::StateBack, "state_back", RowKind::Stream, Width::State).of_recurrence("the state backward"),
    SiteSpec::new(Site::ResidPre, "resid_pre", RowKind::Stream, Width::Model)
        .chosen_as("resid")
        .patched_as("the residual stream before"),
    SiteSpec::new(Site::Q, "q", RowKind::Queries, Width::Head),
    SiteSpec::new(Site::K, "k", RowKind::Keys, Width::Head),
    SiteSpec::new(Site::V, "v", RowKind::Keys, Width::Value),
    SiteSpec::new(Site::Scores, "scores", RowKind::Queries, Width::Keys),
    SiteSpec::new(Site::Pattern, "pattern", RowKind::Queries, Width::Keys),
    SiteSpec::new(Site::Effective, "effective", RowKind::Queries, Width::Keys).chosen_as("pattern"),
    SiteSpec::new(Site::Z, "z", RowKind::Queries, Width::Value).patched_as("the z of"),
    SiteSpec::new(Site::AttnOut, "attn_out", RowKind::Stream, Width::Model).patched_as("the attention output of"),
    SiteSpec::new(Site::ResidMid, "resid_mid", RowKind::Stream, Width::Model),
    SiteSpec::new(Site::RouterLogits, "router_logits", RowKind::Stream, Width::Experts)
        .of_mlp()
        .chosen_as("router")
        .called("the router's scores in"),
    SiteSpec::new(Site::Router, "router", RowKind::Stream, Width::Experts).of_mlp().called("the experts' weights in"),
    SiteSpec::new(Site::MlpGate, "mlp_gate", RowKind::Stream, Width::Mlp).of_mlp(),
    SiteSpec::new(Site::MlpHidden, "mlp_hidden", RowKind::Stream, Width::Mlp).of_mlp(),
    SiteSpec::new(Site::MlpOut, "mlp_out", RowKind::Stream, Width::Model).of_mlp().patched_as("the MLP output of"),
    SiteSpec::new(Site::ResidPost, "resid_post", RowKind::Stream, Width::Model).called("the residual stream after"),
    SiteSpec::new(Site::ResidFinal, "resid_final", RowKind::Stream, Width::Model)
        .chosen_as("resid")
        .once_per(Per::Stack)
        .called("the residual stream after the final norm"),
];

/// A row of the table is found by its site, and a set of sites is one word.
const _: () = {
    assert!(TABLE.len() <= u64::BITS as usize);
    let mut idx = 0;
    while idx < TABLE.len() {
        assert!(TABLE[idx].site as usize == idx);
        idx += 1;
    }
};

/// What there is to know about a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSpec {
    pub site: Site,
    pub name: &'static str,
    /// The name by which it is asked for, maybe together with others.
    pub choice: &'static str,
    pub per: Per,
    pub rows: RowKind,
    pub width: Width,
    /// Its name in a sentence, before the layer or head.
    pub words: Option<&'static str>,
    /// Whether the window offers to patch it.
    pub is_patched: bool,
    /// Whether it is a value of an MLP, which is computed in pieces where nobody looks.
    pub is_of_mlp: bool,
}

/// How often there is a value of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Layer,
    /// One behind the last layer of a stack.
    Stack,
    /// One where a sequence enters, or where a recurrence reads it.
    Sequence,
}

/// The rows of a site's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The tokens of the stream: `[n, width]`.
    Stream,
    /// Queries, of each head: `[heads, n_query, width]`.
    Queries,
    /// Keys, of each key head: `[kv_heads, n_key, width]`.
    Keys,
}

/// The columns of a site's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// `d_embedding`.
    Embedding,
    /// `d_model`.
    Model,
    /// `d_mlp`.
    Mlp,
    /// `n_experts`.
    Experts,
    /// `d_head`.
    Head,
    /// `d_value`.
    Value,
    /// `n_key`.
    Keys,
    /// `d_state`, of a recurrence.
    State,
    /// `d_state`, once for each gate of a recurrence.
    Gates,
}

impl SiteSpec {
    const fn new(site: Site, name: &'static str, rows: RowKind, width: Width) -> Self {
        Self {
            site,
            name,
            choice: name,
            per: Per::Layer,
            rows,
            width,
            words: None,
            is_patched: false,
            is_of_mlp: false,
        }
    }

    const fn of_mlp(self) -> Self {
        Self { is_of_mlp: true, ..self }
    }

    const fn once_per(self, per: Per) -> Self {
        Self { per, ..self }
    }

    const fn of_recurrence(self, words: &'static str) -> Self {
        self.once_per(Per::Sequence).chosen_as("states").called(words)
    }

    const fn chosen_as(self, choice: &'static str) -> Self {
        Self { choice, ..self }
    }

    const fn called(self, words: &'static str) -> Self {
        Self { words: Some(words), ..self }
    }

    const fn patched_as(self, words: &'static str) -> Self {
        Self { is_patched: true, ..self.called(words) }
    }
}

impl Site {
    /// Every site, in forward order.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Embed; TABLE.len()];
        let mut idx = 0;
        while idx < TABLE.len() {
            all[idx] = TABLE[idx].site;
            idx += 1;
        }
        all
    };

    /// Its row of the table.
    pub const fn spec(self) -> &'static SiteSpec {
        &TABLE[self as usize]
    }

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The site with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| site.name() == name)
    }

    /// Whether there is one value per head.
    pub const fn is_per_head(self) -> bool {
        !matches!(self.spec().rows, RowKind::Stream)
    }

    /// Whether there is one in each layer, and not one of a whole stack or sequence.
    pub const fn is_of_layer(self) -> bool {
        matches!(self.spec().per, Per::Layer)
    }

    /// Whether there is one of a sequence, in no layer.
    pub const fn is_of_sequence(self) -> bool {
        matches!(self.spec().per, Per::Sequence)
    }

    /// Whether it is of a recurrence.
    pub const fn is_of_recurrence(self) -> bool {
        matches!(self.spec().width, Width::State | Width::Gates)
    }

    /// Whether its rows are keys, and not queries or tokens of the stream.
    pub const fn is_of_keys(self) -> bool {
        matches!(self.spec().rows, RowKind::Keys)
    }

    /// Whether it has a value for each pair of a query and a key.
    pub const fn is_of_pairs(self) -> bool {
        matches!(self.spec().width, Width::Keys)
    }

    /// Whether heads that move values in this way have it.
    pub const fn is_of_heads(self, mixer: MixerKind) -> bool {
        match mixer {
            MixerKind::Attention => !matches!(self, Self::Effective),
            MixerKind::GatedDelta | MixerKind::Mamba2 => {
                !matches!(self, Self::Q | Self::K | Self::Scores | Self::Pattern)
            }
            MixerKind::ShortConvolution => {
                !matches!(self, Self::Q | Self::K | Self::Scores | Self::Pattern | Self::Effective)
            }
        }
    }

    /// Its value in a layer, or in a head of it, in words: `the residual stream before layer 2`.
    pub fn in_words(self, layer: usize, head: Option<usize>) -> String {
        let SiteSpec { words, name, .. } = self.spec();
        if let Some(words) = words.filter(|_| !self.is_of_layer()) {
            return words.to_owned();
        }
        let words = words.map_or_else(|| format!("{name} of"), str::to_owned);
        match head.filter(|_| self.is_per_head()) {
            Some(head) => format!("{words} L{layer}H{head}"),
            None => format!("{words} layer {layer}"),
        }
    }
}

impl Serialize for Site {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Site {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom(format!("there is no site {name}")))
    }
}

/// The direction in which a recurrence reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    #[default]
    Forward,
    Backward,
}

vocabulary! {
    Way: name, title;
    Forward("forward", "Forward"),
    Backward("backward", "Backward"),
}

impl Way {
    /// The state after each token.
    pub const fn state(self) -> Site {
        match self {
            Self::Forward => Site::State,
            Self::Backward => Site::StateBack,
        }
    }

    /// The cell after each token.
    pub const fn cell(self) -> Site {
        match self {
            Self::Forward => Site::Cell,
            Self::Backward => Site::CellBack,
        }
    }

    /// The gates at each token.
    pub const fn gates(self) -> Site {
        match self {
            Self::Forward => Site::Gates,
            Self::Backward => Site::GatesBack,
        }
    }

    /// The direction that a site of a recurrence belongs to.
    pub fn of(site: Site) -> Option<Self> {
        Self::ALL.into_iter().find(|way| [way.state(), way.cell(), way.gates()].contains(&site))
    }
}

/// The value of a site.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteValue {
    PerHead(PerHead),
    Rows(Matrix),
}

impl SiteValue {
    /// Takes `data` as the value of `site`, with its heads as the first axis where it has some.
    ///
    /// # Errors
    /// When the shape has another number of axes, or of values.
    pub fn new(site: Site, data: impl Into<Arc<[f32]>>, shape: &[usize]) -> Result<Self, ShapeError> {
        let data = data.into();
        match *shape {
            [n_heads, n, width] if site.is_per_head() => PerHead::new(data, [n_heads, n, width]).map(Self::PerHead),
            [n, width] if !site.is_per_head() => Matrix::new(data, [n, width]).map(Self::Rows),
            _ => Err(ShapeError {
                what: format!("{} has the shape {shape:?}", site.name()),
                expected: vec![if site.is_per_head() { 3 } else { 2 }],
                actual: shape.len(),
            }),
        }
    }

    /// All values, row by row.
    pub fn as_slice(&self) -> &[f32] {
        match self {
            Self::PerHead(data) => data.as_slice(),
            Self::Rows(data) => data.as_slice(),
        }
    }

    /// `[heads, rows, columns]` or `[rows, columns]`.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Self::PerHead(data) => data.shape().to_vec(),
            Self::Rows(data) => data.shape().to_vec(),
        }
    }
}

impl From<PerHead> for SiteValue {
    fn from(data: PerHead) -> Self {
        Self::PerHead(data)
    }
}

impl From<Matrix> for SiteValue {
    fn from(data: Matrix) -> Self {
        Self::Rows(data)
    }
}

/// The values of the sites of one layer, or of what a stack has once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteValues(BTreeMap<Site, SiteValue>);

impl SiteValues {
    /// Keeps the value of a site.
    pub fn set(&mut self, site: Site, value: impl Into<SiteValue>) {
        self.0.insert(site, value.into());
    }

    /// Forgets the value of a site.
    pub fn remove(&mut self, site: Site) {
        self.0.remove(&site);
    }

    /// All values, in forward order.
    pub fn iter(&self) -> impl Iterator<Item = (Site, &SiteValue)> {
        self.0.iter().map(|(site, value)| (*site, value))
    }

    /// One matrix per head, of a site that has heads.
    pub fn per_head(&self, site: Site) -> Option<&PerHead> {
        match self.0.get(&site)? {
            SiteValue::PerHead(data) => Some(data),
            SiteValue::Rows(_) => None,
        }
    }

    /// One row per token, of a site that has no heads.
    pub fn rows(&self, site: Site) -> Option<&Matrix> {
        match self.0.get(&site)? {
            SiteValue::Rows(data) => Some(data),
            SiteValue::PerHead(_) => None,
        }
    }
}

impl<V: Into<SiteValue>, const N: usize> From<[(Site, V); N]> for SiteValues {
    fn from(values: [(Site, V); N]) -> Self {
        Self(values.into_iter().map(|(site, value)| (site, value.into())).collect())
    }
}

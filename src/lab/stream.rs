//! The stream at one place as a sum of everything that was added to it on the way.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    LabError, LabRun,
    head_outputs::{add_up, by_head, head_parts},
};
use crate::{
    analysis::explain::{
        dense::{Dense, narrow, wide},
        edges::{FrozenNorm, VectorParts},
    },
    capture::{Capture, Matrix, PerHead, head_name, stack_prefix, words},
    ids::{HeadId, StackKind},
    model::{BranchNorms, FinalNorm, Logits, Site, Sites},
};

/// Said where there is no stream.
pub(super) const NO_STREAM: &str = "its layers have no residual stream: recurrent networks carry a state instead";

/// Where the stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamPoint {
    Entering(usize),
    /// Between attention within the sequence and attention to another one, in a decoder's layer.
    BeforeCross(usize),
    /// Behind the last layer, before the final norm.
    Leaving,
}

impl StreamPoint {
    /// Whether nothing but an MLP adds between the heads of a layer of `n_layers` and this place.
    const fn is_next(self, layer: usize, n_layers: usize) -> bool {
        match self {
            Self::Entering(next) => layer + 1 == next,
            Self::BeforeCross(own) => layer == own,
            Self::Leaving => layer + 1 == n_layers,
        }
    }
}

/// A run that was recorded to be followed.
pub(super) struct Walk<'a> {
    lab: &'a LabRun<'a>,
    capture: Capture,
    /// What maps each head back to the stream.
    maps: BTreeMap<(StackKind, usize), (PerHead, Vec<f64>)>,
    /// Attention that is no sum of heads.
    undivided: BTreeSet<(StackKind, usize)>,
    pub heads: LastHeads,
}

/// Why parts of a stream are not followed in the layers of two streams.
pub(super) const BRIDGED: &str = "what enters a cross-modal layer is a tower's stream, joined with what the layer before \
    left and normed, and parts cannot be followed through it";

/// How the heads that add last before a place are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastHeads {
    Whole,
    /// By the tokens that they read from.
    ByToken,
}

/// A norm as it acts on the parts of one position.
pub(super) fn frozen(norm: &FinalNorm) -> FrozenNorm<'_> {
    let FinalNorm { centred, weight, bias, eps } = norm;
    FrozenNorm { weight, bias: bias.as_deref(), epsilon: f64::from(*eps), centred: *centred }
}

impl<'a> Walk<'a> {
    pub fn new(lab: &'a LabRun<'a>, heads: LastHeads) -> Result<Self, LabError> {
        let sites = [Site::Embed, Site::ResidPre, Site::Z, Site::AttnOut, Site::MlpOut, Site::ResidPost];
        let of_tokens: &[Site] = match heads {
            LastHeads::Whole => &[],
            LastHeads::ByToken => &[Site::Pattern, Site::V],
        };
        let capture = lab.run(
            Sites::of(&[&sites[..], &[Site::Q, Site::K, Site::Scores, Site::ResidFinal], of_tokens].concat()),
            Logits::Skip,
        )?;
        Ok(Self { lab, capture, maps: BTreeMap::new(), undivided: BTreeSet::new(), heads })
    }

    /// The run.
    pub const fn capture(&self) -> &Capture {
        &self.capture
    }

    /// What the reader should know.
    pub fn notes(&self) -> Option<String> {
        let n = self.undivided.len();
        (n > 0).then(|| {
            format!(
                "attention of {n} layers is normalised or gated before it is added, or was changed: it is one component, \
                not one per head"
            )
        })
    }

    /// The parts of the stream of `own` at a position.
    pub fn parts(&mut self, own: StackKind, position: usize, place: StreamPoint) -> Result<VectorParts, LabError> {
        let missing = || LabError::unsuited(NO_STREAM);
        let n_layers = self.capture.stack(own).map_or(0, |stack| stack.layers.len());
        if n_layers == 0 {
            return Err(missing());
        }
        if own.is_cross_modal() {
            return Err(LabError::unsuited(BRIDGED));
        }
        let mut parts = self.entry(own, position)?;
        let crossing = own.cross().filter(|kind| self.capture.stack(*kind).is_some());
        for layer in 0..n_layers {
            if place == StreamPoint::Entering(layer) {
                break;
            }
            let shape = self.lab.model.block_shape(own, layer)?;
            let what = "its layers do more than attention and an MLP add to the stream, and parts cannot be followed \
                through that";
            let shape = shape.ok_or_else(|| LabError::unsuited(what))?;
            let name = |kind: StackKind, what: &str| format!("{}L{layer} {what}", stack_prefix(kind));
            let heads = if place.is_next(layer, n_layers) { self.heads } else { LastHeads::Whole };
            carry(&mut parts, &shape.attention, &name(own, "norm bias"));
            self.attention(&mut parts, (own, layer), position, heads)?;
            if let Some(kind) = own.beside().filter(|kind| self.capture.stack(*kind).is_some()) {
                self.attention(&mut parts, (kind, layer), position, heads)?;
            }
            settle(&mut parts, &shape.attention, &name(own, "norm bias"));
            if place == StreamPoint::BeforeCross(layer) {
                return Ok(parts);
            }
            if let (Some(norms), Some(crossing)) = (&shape.cross, crossing) {
                carry(&mut parts, norms, &name(crossing, "norm bias"));
                self.attention(&mut parts, (crossing, layer), position, heads)?;
                settle(&mut parts, norms, &name(crossing, "norm bias"));
            }
            let mlp = self.capture.stack(own).and_then(|stack| stack.layers[layer].rows(Site::MlpOut)?.row(position));
            let mlp = mlp.map(wide).ok_or_else(missing)?;
            if shape.mlp.carries && shape.parallel {
                let what = "its attention and MLP read the same stream and change it before they add to it";
                return Err(LabError::unsuited(what));
            }
            carry(&mut parts, &shape.mlp, &name(own, "MLP norm bias"));
            parts.add(name(own, "MLP"), mlp);
            settle(&mut parts, &shape.mlp, &name(own, "MLP norm bias"));
        }
        self.check(&parts, own, position, place)?;
        Ok(parts)
    }

    /// Token and position where they can be told apart, else one embedding.
    fn entry(&self, own: StackKind, position: usize) -> Result<VectorParts, LabError> {
        let side = own.query_side();
        let first = self.capture.stack(own).and_then(|stack| stack.layers.first()?.resid_pre()?.row(position));
        let first = first.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
        let mut whole = VectorParts::default();
        whole.add("embedding", wide(first));
        let entry = self.lab.model.entry(self.lab.input, side)?.filter(|entry| !entry.added.is_empty());
        let token = self.capture.embed(side).and_then(|rows| rows.row(position));
        let (Some(entry), Some(token)) = (entry, token) else { return Ok(whole) };
        let mut parts = VectorParts::default();
        parts.add("token embedding", token.iter().map(|x| f64::from(*x) * f64::from(entry.scale)).collect());
        for (name, rows) in &entry.added {
            parts.add(*name, rows.row(position).map(wide).unwrap_or_default());
        }
        if let Some(norm) = &entry.norm {
            parts.norm(frozen(norm), "embedding norm bias");
        }
        // What a change of the run put in their place is no sum of these.
        let is_sum = add_up(parts.vectors.iter().map(Vec::as_slice), first);
        Ok(if is_sum { parts } else { whole })
    }

    /// What the heads of one layer add.
    fn attention(
        &mut self,
        parts: &mut VectorParts,
        (kind, layer): (StackKind, usize),
        position: usize,
        heads: LastHeads,
    ) -> Result<(), LabError> {
        let missing = || LabError::unsuited(NO_STREAM);
        let recorded = self.capture.stack(kind).and_then(|stack| stack.layers.get(layer)).ok_or_else(missing)?;
        let (Some(z), Some(out)) = (recorded.z(), recorded.rows(Site::AttnOut).and_then(|rows| rows.row(position)))
        else {
            return Err(missing());
        };
        let spec = self.capture.model().stack(kind).and_then(|stack| stack.layers.get(layer)).ok_or_else(missing)?;
        if spec.gated {
            let name = format!("{}L{layer} {}", stack_prefix(kind), spec.mixer.title());
            self.undivided.insert((kind, layer));
            parts.add(name, wide(out));
            return Ok(());
        }
        if !self.maps.contains_key(&(kind, layer)) {
            let map = self.lab.model.attention_output(kind, layer)?.ok_or_else(missing)?;
            let bias = map.bias.as_deref().map(wide).unwrap_or_default();
            self.maps.insert((kind, layer), (by_head(&map, z.shape()[0])?, bias));
        }
        let Some((map, bias)) = self.maps.get(&(kind, layer)) else { return Err(missing()) };
        let own = head_parts(z, map, position);
        if !add_up(own.iter().map(Vec::as_slice).chain([&bias[..]]), out) {
            self.undivided.insert((kind, layer));
            parts.add(format!("{}L{layer} attention", stack_prefix(kind)), wide(out));
            return Ok(());
        }
        for (head, vector) in own.into_iter().enumerate() {
            let id = HeadId { stack: kind, layer, head };
            let of_head = map.head(head).filter(|_| heads == LastHeads::ByToken);
            match of_head.and_then(|map| self.by_token(id, &map, position, &vector)) {
                Some(tokens) => tokens.into_iter().for_each(|(name, vector)| parts.add(name, vector)),
                None => parts.add(head_name(id), vector),
            }
        }
        if !bias.is_empty() {
            parts.add(format!("{}L{layer} attention bias", stack_prefix(kind)), bias.clone());
        }
        Ok(())
    }

    /// What a head brings to a position from each token that it reads from, with the positions of these; `None` where
    /// that is not all it adds.
    fn brought(&self, head: HeadId, map: &Matrix, position: usize, whole: &[f64]) -> Option<(Vec<usize>, Dense)> {
        let (pattern, values) = (self.capture.stored_pattern(head)?, self.capture.v(head)?);
        let weights = pattern.row(position)?;
        let read: Vec<usize> = (0..weights.len()).filter(|key| weights[*key] != 0.0).collect();
        let of =
            |row: usize, col: usize| f64::from(weights[read[row]]) * values.get(read[row], col).map_or(0.0, f64::from);
        let brought = Dense::from_fn(read.len(), values.n_cols(), of).product(&Dense::from(map)).ok()?;
        add_up(brought.rows(), &narrow(whole)).then_some((read, brought))
    }

    /// The same of a head whose part of the stream is known, after [`Self::parts`] of its position.
    pub fn brought_by(&self, head: HeadId, position: usize, whole: &[f64]) -> Option<(Vec<usize>, Dense)> {
        let (map, _) = self.maps.get(&(head.stack, head.layer))?;
        self.brought(head, &map.head(head.head)?, position, whole)
    }

    /// The same by the names of the tokens.
    fn by_token(&self, head: HeadId, map: &Matrix, position: usize, whole: &[f64]) -> Option<Vec<(String, Vec<f64>)>> {
        let (read, brought) = self.brought(head, map, position, whole)?;
        let tokens = self.capture.key_tokens(head.stack);
        let texts: Vec<String> =
            (0..tokens.len()).map(|key| words::bare(&words::token_text(tokens, key)).to_owned()).collect();
        let name = |key: &usize| format!("{} from {}", head_name(head), words::named(&texts, *key, *key));
        Some(read.iter().map(name).zip(brought.rows().map(<[f64]>::to_vec)).collect())
    }

    /// Refuses parts that are not all there is.
    fn check(&self, parts: &VectorParts, own: StackKind, position: usize, place: StreamPoint) -> Result<(), LabError> {
        let layers = self.capture.stack(own).map_or(&[][..], |stack| &stack.layers);
        let stream: Option<&Matrix> = match place {
            StreamPoint::Entering(layer) => layers.get(layer).and_then(|layer| layer.resid_pre()),
            StreamPoint::Leaving => layers.last().and_then(|layer| layer.rows(Site::ResidPost)),
            StreamPoint::BeforeCross(_) => return Ok(()),
        };
        let row = stream.and_then(|stream| stream.row(position)).ok_or_else(|| LabError::unsuited(NO_STREAM))?;
        if add_up(parts.vectors.iter().map(Vec::as_slice), row) {
            return Ok(());
        }
        let what = "the stream is not the sum of its contributions, because it was edited: remove those changes";
        Err(LabError::unsuited(what))
    }
}

/// Before a branch adds: some add to the normed stream.
fn carry(parts: &mut VectorParts, norms: &BranchNorms, name: &str) {
    if let Some(norm) = norms.before.as_ref().filter(|_| norms.carries) {
        parts.norm(frozen(norm), name);
    }
}

/// After a branch has added.
fn settle(parts: &mut VectorParts, norms: &BranchNorms, name: &str) {
    if let Some(norm) = &norms.after {
        parts.norm(frozen(norm), name);
    }
}

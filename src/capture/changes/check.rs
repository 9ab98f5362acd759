//! What there is to change, for the check before anything is computed.

use std::collections::BTreeMap;

use super::{Edit, Intervention, Scope, head_name, stack_prefix};
use crate::{
    capture::{Per, Site, Token},
    ids::{HeadId, Side, StackKind},
    spec::{LayerSpec, ModelSpec},
};

/// What there is to change: the stacks of a model, the tokens of an input.
pub struct EditContext<'a> {
    pub spec: &'a ModelSpec,
    pub tokens: &'a BTreeMap<Side, Vec<Token>>,
}

impl EditContext<'_> {
    /// Refuses changes of stacks, layers, heads, tokens and rows that are not there, and changes that contradict each
    /// other.
    ///
    /// # Errors
    /// Says in words what does not fit.
    pub fn check(&self, edits: &[Edit]) -> Result<(), String> {
        for (idx, edit) in edits.iter().enumerate() {
            edit.kind().check(self)?;
            self.mixers(edit)?;
            if let Some(other) = edits[..idx].iter().find(|other| edit.contradicts(other)) {
                return Err(format!("“{other}” and “{edit}” contradict each other: remove one of them"));
            }
        }
        Ok(())
    }

    /// Refuses a change of what layers without a softmax do not have.
    fn mixers(&self, edit: &Edit) -> Result<(), String> {
        let lacks = |stack: StackKind, layer: usize, spec: &LayerSpec| match edit.kind().intervention() {
            Intervention::Rows { site, extent, .. } => {
                site.is_per_head() && !site.is_of_heads(spec.mixer) && extent.touches(stack, layer)
            }
            Intervention::Normalize(scope, _) => !spec.mixer.is_attention() && scope.touches(stack, layer),
            Intervention::Reorder { .. } | Intervention::LeaveOutPositions => !spec.mixer.is_attention(),
            Intervention::Read { .. }
            | Intervention::SeeAll(_)
            | Intervention::AddToMlp { .. }
            | Intervention::LeaveOutAdapter(_) => false,
        };
        for stack in &self.spec.stacks {
            let layers = || stack.layers.iter().enumerate();
            let Some((layer, spec)) = layers().find(|(layer, spec)| lacks(stack.kind, *layer, spec)) else { continue };
            let others = layers().filter(|(_, spec)| spec.mixer.is_attention()).map(|(layer, _)| layer.to_string());
            let others = others.collect::<Vec<_>>().join(", ");
            let others = match others.as_str() {
                "" => "none of its heads has".to_owned(),
                others => format!("only the layers {others} have"),
            };
            let (name, mixer) = (format!("{}L{layer}", stack_prefix(stack.kind)), spec.mixer.title());
            return Err(match edit.kind().intervention() {
                Intervention::Reorder { .. } | Intervention::LeaveOutPositions => {
                    format!("“{edit}” makes no sense in {name} ({mixer}), which reads tokens one after the other")
                }
                Intervention::Rows { .. }
                | Intervention::Normalize(..)
                | Intervention::Read { .. }
                | Intervention::SeeAll(_)
                | Intervention::LeaveOutAdapter(_)
                | Intervention::AddToMlp { .. } => format!(
                    "“{edit}” makes no sense in {name} ({mixer}), where no query is compared with a key: {others} scores \
                     and weights"
                ),
            });
        }
        Ok(())
    }

    pub(super) fn n(&self, side: Side) -> usize {
        self.tokens.get(&side).map_or(0, Vec::len)
    }

    pub(super) fn token(&self, side: Side, position: usize) -> Result<(), String> {
        let n = self.n(side);
        if position < n {
            return Ok(());
        }
        Err(format!("there is no token {position} among {n} of the side {}", side.name()))
    }

    /// A token that has an id, as patches do not.
    pub(super) fn token_with_id(
        &self,
        side: Side,
        position: usize,
        edit: &dyn std::fmt::Display,
    ) -> Result<(), String> {
        self.token(side, position)?;
        let has_id = self.tokens.get(&side).is_some_and(|tokens| tokens[position].id.is_some());
        has_id
            .then_some(())
            .ok_or_else(|| format!("“{edit}” needs a token with an id, which patches do not have, nor sentences"))
    }

    fn stack(&self, kind: StackKind) -> Result<&[LayerSpec], String> {
        self.spec.stack(kind).map(|stack| &stack.layers[..]).ok_or_else(|| {
            let names: Vec<_> = self.spec.stacks.iter().map(|stack| stack.kind.name()).collect();
            format!("there is no stack {kind}, only {}", names.join(", "))
        })
    }

    pub(super) fn layer(&self, kind: StackKind, layer: usize) -> Result<&LayerSpec, String> {
        let layers = self.stack(kind)?;
        layers.get(layer).ok_or_else(|| {
            let (stack, n) = (stack_prefix(kind), layers.len());
            format!("there is no layer {stack}L{layer}: the stack has {n}")
        })
    }

    pub(super) fn head(&self, head: HeadId) -> Result<(), String> {
        head_among(head, self.layer(head.stack, head.layer)?.n_heads)
    }

    pub(super) fn scope(&self, stack: Option<StackKind>, scope: &Scope) -> Result<(), String> {
        if let Some(stack) = stack {
            self.stack(stack)?;
        }
        match scope {
            Scope::All => Ok(()),
            Scope::Layers(layers) => {
                let most = self.spec.stacks.iter().filter(|of| stack.is_none_or(|kind| of.kind == kind));
                let n = most.map(|stack| stack.layers.len()).max().unwrap_or(0);
                match layers.iter().find(|layer| **layer >= n) {
                    Some(layer) => Err(format!("there is no layer {layer} among {n}")),
                    None if layers.is_empty() => Err("no layer is named in which to change something".to_owned()),
                    None => Ok(()),
                }
            }
            Scope::Heads(heads) => {
                if heads.is_empty() {
                    return Err("no head is named in which to change something".to_owned());
                }
                heads.iter().try_for_each(|head| self.head(*head))?;
                match heads.iter().find(|head| stack.is_some_and(|stack| head.stack != stack)) {
                    Some(head) => Err(format!("head {} is of another stack", head_name(*head))),
                    None => Ok(()),
                }
            }
        }
    }

    /// Whether a site is there, of this head where one is named.
    pub(super) fn site(&self, site: Site, stack: StackKind, layer: usize, head: Option<usize>) -> Result<(), String> {
        match site.spec().per {
            Per::Sequence if stack.sequence().is_none_or(|side| self.n(side) == 0) => {
                Err(format!("no sequence enters at {stack}"))
            }
            Per::Sequence => Ok(()),
            Per::Stack => self.stack(stack).map(|_| ()),
            Per::Layer => {
                let spec = self.layer(stack, layer)?;
                let n_heads = if site.is_of_keys() { spec.n_kv_heads } else { spec.n_heads };
                head.map_or(Ok(()), |head| head_among(HeadId { stack, layer, head }, n_heads))
            }
        }
    }
}

fn head_among(head: HeadId, n_heads: usize) -> Result<(), String> {
    if head.head < n_heads {
        return Ok(());
    }
    Err(format!("there is no head {}: the layer has {n_heads}", head_name(head)))
}

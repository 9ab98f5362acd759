//! Whether changes fit a model and an input, and each other: before anything is computed.

use std::collections::BTreeMap;

use super::super::{Edit, Site};
use crate::{
    capture::{Along, Normalizer, Per, Scope, Sparsity, Token, head_name, stack_prefix},
    ids::{HeadId, Side, StackKind},
    model::ModelError,
    spec::{LayerSpec, ModelSpec, StackSpec},
};

/// Refuses edits of stacks, layers, heads, tokens and rows that are not there, and edits that contradict each
/// other. `spec.stacks` are those of the model, `tokens` those of the input.
pub(crate) fn check(edits: &[Edit], spec: &ModelSpec, tokens: &BTreeMap<Side, Vec<Token>>) -> Result<(), ModelError> {
    let there = There { spec, tokens };
    for (idx, edit) in edits.iter().enumerate() {
        there.check(edit)?;
        if let Some(other) = edits[..idx].iter().find(|other| edit.contradicts(other)) {
            return refuse(format!("“{other}” and “{edit}” contradict each other: remove one of them"));
        }
    }
    Ok(())
}

fn head_among(head: HeadId, n_heads: usize) -> Result<(), ModelError> {
    if head.head < n_heads {
        return Ok(());
    }
    refuse(format!("there is no head {}: the layer has {n_heads}", head_name(head)))
}

fn refuse<T>(what: String) -> Result<T, ModelError> {
    Err(ModelError::Edit(what))
}

/// What there is to change.
struct There<'a> {
    spec: &'a ModelSpec,
    tokens: &'a BTreeMap<Side, Vec<Token>>,
}

impl There<'_> {
    fn check(&self, edit: &Edit) -> Result<(), ModelError> {
        match edit {
            Edit::Ablate { head, .. } | Edit::SetPattern { head, .. } => self.head(*head),
            Edit::Sharpen { head, by } if by.is_finite() && *by > 0.0 => self.head(*head),
            Edit::Sharpen { by, .. } => {
                refuse(format!("scores can be multiplied by numbers above 0 only, not by {by}"))
            }
            Edit::HideToken { side, position } => {
                if self.n(*side) == 0 || !self.spec.stacks.iter().any(|stack| stack.kind.key_side() == *side) {
                    let side = side.name();
                    return refuse(format!(
                        "no attention reads the side {side}, whose token {position} is to be hidden"
                    ));
                }
                self.token(*side, *position)
            }
            Edit::SeeAll { positions } => {
                let has_maps = |stack: &&StackSpec| stack.layers.iter().any(|layer| layer.global);
                let Some(stack) = self.spec.stacks.iter().find(has_maps) else {
                    return refuse(format!("“{edit}” needs a model that has tokens that see all, such as Longformer"));
                };
                positions.iter().try_for_each(|position| self.token(stack.kind.key_side(), *position))
            }
            Edit::ReplaceToken { side, position, .. } | Edit::MaskToken { side, position } => {
                self.token(*side, *position)?;
                match self.tokens.get(side).and_then(|tokens| tokens[*position].id) {
                    Some(_) => Ok(()),
                    None => refuse(format!("“{edit}” needs a token with an id, which patches do not have")),
                }
            }
            Edit::Knockout { stack, scope, edges, .. } => {
                self.scope(Some(*stack), scope)?;
                let (n_query, n_key) = (self.n(stack.query_side()), self.n(stack.key_side()));
                match edges.iter().find(|[query, key]| *query >= n_query || *key >= n_key) {
                    Some([query, key]) => {
                        refuse(format!("there is no edge from query {query} to key {key} among {n_query} × {n_key}"))
                    }
                    None if edges.is_empty() => refuse("name the edge to cut".to_owned()),
                    None => Ok(()),
                }
            }
            Edit::Restrict { stack, scope, to } => {
                self.scope(Some(*stack), scope)?;
                match to {
                    Sparsity::Window { dilation: 0, .. } => refuse("a dilation is at least 1".to_owned()),
                    Sparsity::Blocks { size: 0 } => refuse("a block has at least one position".to_owned()),
                    Sparsity::Window { .. } | Sparsity::Blocks { .. } => Ok(()),
                }
            }
            Edit::Normalize { scope, with } => {
                self.scope(None, scope)?;
                self.without_sinks(scope)?;
                match with {
                    Normalizer::Entmax(alpha) if !(1.0..=16.0).contains(alpha) => {
                        refuse(format!("α of entmax goes from 1 to 16, not to {alpha}"))
                    }
                    Normalizer::Fusedmax(lambda) if !lambda.is_finite() || *lambda < 0.0 => {
                        refuse(format!("λ of fusedmax is 0 or more, not {lambda}"))
                    }
                    _ => Ok(()),
                }
            }
            Edit::RankOne { stack: StackKind::Cross, .. } => {
                refuse(format!("“{edit}” names cross-attention, which has no MLP of its own: name the decoder's"))
            }
            Edit::RankOne { left, right, .. } if !left.iter().chain(right).all(|value| value.is_finite()) => {
                refuse(format!("“{edit}” holds values that are not finite"))
            }
            Edit::RankOne { stack, layer, .. } => self.layer(*stack, *layer).map(|_| ()),
            Edit::Direction { site, .. } if site.is_per_head() || site.is_of_pairs() => {
                refuse(format!("“{edit}” names a site of heads: a direction belongs to the residual stream or an MLP"))
            }
            Edit::Direction { vector, .. } if !vector.iter().all(|value| value.is_finite()) => {
                refuse(format!("“{edit}” holds values that are not finite"))
            }
            Edit::Direction { vector, along: Along::Remove, .. } if vector.iter().all(|value| *value == 0.0) => {
                refuse(format!("“{edit}”, but the direction is 0 everywhere, so there is nothing to project out"))
            }
            Edit::Direction { along: Along::Add(factor), .. } if !factor.is_finite() => {
                refuse(format!("a direction is added a finite number of times, not {factor}"))
            }
            Edit::Direction { site, stack, layer, .. } => {
                self.patch(edit, *site, HeadId { stack: *stack, layer: *layer, head: 0 })
            }
            Edit::Patch { site, stack, layer, head, positions, value } => {
                self.patch(edit, *site, HeadId { stack: *stack, layer: *layer, head: head.unwrap_or(0) })?;
                match positions.len() {
                    0 => refuse(format!("“{edit}” changes no row")),
                    n if n != value.n_rows() => {
                        refuse(format!("“{edit}” has {} rows of values for {n} positions", value.n_rows()))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn n(&self, side: Side) -> usize {
        self.tokens.get(&side).map_or(0, Vec::len)
    }

    fn token(&self, side: Side, position: usize) -> Result<(), ModelError> {
        let n = self.n(side);
        if position < n {
            return Ok(());
        }
        refuse(format!("there is no token {position} among {n} of the side {}", side.name()))
    }

    fn stack(&self, kind: StackKind) -> Result<&[LayerSpec], ModelError> {
        self.spec.stack(kind).map(|stack| &stack.layers[..]).ok_or_else(|| {
            let names: Vec<_> = self.spec.stacks.iter().map(|stack| stack.kind.name()).collect();
            ModelError::Edit(format!("there is no stack {kind}, only {}", names.join(", ")))
        })
    }

    fn layer(&self, kind: StackKind, layer: usize) -> Result<&LayerSpec, ModelError> {
        let layers = self.stack(kind)?;
        layers.get(layer).ok_or_else(|| {
            let (stack, n) = (stack_prefix(kind), layers.len());
            ModelError::Edit(format!("there is no layer {stack}L{layer}: the stack has {n}"))
        })
    }

    fn head(&self, head: HeadId) -> Result<(), ModelError> {
        head_among(head, self.layer(head.stack, head.layer)?.n_heads)
    }

    /// Refuses another normaliser where a sink is part of the softmax.
    fn without_sinks(&self, scope: &Scope) -> Result<(), ModelError> {
        for stack in &self.spec.stacks {
            for (layer, _) in stack.layers.iter().enumerate().filter(|(_, layer)| layer.sink) {
                if scope.touches(stack.kind, layer) {
                    return refuse(format!(
                        "layer {layer} has learned sinks, which are part of its softmax: another normaliser has no \
                        place for them"
                    ));
                }
            }
        }
        Ok(())
    }

    fn scope(&self, stack: Option<StackKind>, scope: &Scope) -> Result<(), ModelError> {
        if let Some(stack) = stack {
            self.stack(stack)?;
        }
        match scope {
            Scope::All => Ok(()),
            Scope::Layers(layers) => {
                let most = self.spec.stacks.iter().filter(|of| stack.is_none_or(|kind| of.kind == kind));
                let n = most.map(|stack| stack.layers.len()).max().unwrap_or(0);
                match layers.iter().find(|layer| **layer >= n) {
                    Some(layer) => refuse(format!("there is no layer {layer} among {n}")),
                    None if layers.is_empty() => refuse("no layer is named in which to change something".to_owned()),
                    None => Ok(()),
                }
            }
            Scope::Heads(heads) => {
                if heads.is_empty() {
                    return refuse("no head is named in which to change something".to_owned());
                }
                heads.iter().try_for_each(|head| self.head(*head))?;
                match heads.iter().find(|head| stack.is_some_and(|stack| head.stack != stack)) {
                    Some(head) => refuse(format!("head {} is of another stack", head_name(*head))),
                    None => Ok(()),
                }
            }
        }
    }

    fn patch(&self, edit: &Edit, site: Site, at: HeadId) -> Result<(), ModelError> {
        match site.spec().per {
            Per::Sequence if self.n(at.stack.query_side()) == 0 || at.stack == StackKind::Cross => {
                refuse(format!("no sequence enters at {}", at.stack))
            }
            Per::Sequence => Ok(()),
            Per::Stack => self.stack(at.stack).map(|_| ()),
            Per::Layer => {
                let layer = self.layer(at.stack, at.layer)?;
                let n_heads = if site.is_of_keys() { layer.n_kv_heads } else { layer.n_heads };
                let has_head = matches!(edit, Edit::Patch { head: Some(_), .. });
                if has_head { head_among(at, n_heads) } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Modality, TextSpec};

    #[test]
    fn another_normaliser_is_refused_where_sinks_are_part_of_the_softmax() {
        let plain = LayerSpec::new(2, 4);
        let layers = vec![plain, LayerSpec { sink: true, ..plain }];
        let spec = ModelSpec {
            name: "sinks".to_owned(),
            family: ModelSpec::UNKNOWN_FAMILY.to_owned(),
            modality: Modality::Text(TextSpec::new(8, 8)),
            stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers, causal: true }],
            d_model: 8,
            n_params: 1,
            checkpoint: None,
            head: None,
        };
        let of = |scope| check(&[Edit::Normalize { scope, with: Normalizer::Sparsemax }], &spec, &BTreeMap::new());
        assert!(of(Scope::Layers([0].into())).is_ok());
        for scope in [Scope::All, Scope::Layers([1].into()), Scope::Heads([HeadId::single(1, 0)].into())] {
            let error = of(scope).unwrap_err().to_string();
            assert!(error.contains("layer 1 has learned sinks"), "{error}");
        }
    }
}

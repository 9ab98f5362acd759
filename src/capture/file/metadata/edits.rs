//! `edits`: the changes a run was made with, in the words that the command line takes.

use serde_json::{Map, Value, json};

use crate::{
    capture::{
        Ablation, Along, AppliedEdit, Cut, DirectionOf, Edit, Matrix, MeanOf, Normalizer, Scope, Site, Sparsity,
        head_name, stack_prefix,
    },
    ids::{HeadId, Side, StackKind},
};

/// A change as JSON.
pub fn edit_to_json(edit: &AppliedEdit) -> Value {
    let edit = match edit {
        AppliedEdit::Known(edit) => edit,
        AppliedEdit::Foreign(json) => return serde_json::from_str(json).unwrap_or_else(|_| json.clone().into()),
    };
    let rows = |matrix: &Matrix| matrix.rows().map(<[f32]>::to_vec).collect::<Vec<_>>();
    let of_side = |mut json: Value, side: Side| {
        if side != Side::Only {
            json["side"] = side.name().into();
        }
        json
    };
    let of_stack = |mut json: Value, stack: StackKind, scope: &Scope| {
        if stack != StackKind::SelfAttention {
            json["stack"] = stack.name().into();
        }
        match scope {
            Scope::All => {}
            Scope::Layers(layers) => json["layers"] = json!(layers),
            Scope::Heads(heads) => json["heads"] = heads.iter().map(|head| head_name(*head)).collect(),
        }
        json
    };
    match edit {
        Edit::Ablate { head, with } => {
            let head = head_name(*head);
            match with {
                Ablation::Zero => json!({ "ablate": head, "with": "zero" }),
                Ablation::Mean => json!({ "ablate": head, "with": "mean" }),
                Ablation::Uniform => json!({ "ablate": head, "with": "uniform" }),
                Ablation::Shuffle { seed } => json!({ "ablate": head, "with": "shuffle", "seed": seed }),
            }
        }
        Edit::SetPattern { head, pattern } => json!({ "pattern": head_name(*head), "value": rows(pattern) }),
        Edit::Sharpen { head, by } => json!({ "sharpen": head_name(*head), "by": by }),
        Edit::HideToken { side, position } => of_side(json!({ "hide": position }), *side),
        Edit::SeeAll { positions } => json!({ "global": positions }),
        Edit::ReplaceToken { side, position, id } => of_side(json!({ "replace": position, "id": id }), *side),
        Edit::MaskToken { side, position } => of_side(json!({ "mask": position }), *side),
        Edit::Knockout { stack, scope, edges, cut } => {
            let mut json = of_stack(json!({ "knockout": edges }), *stack, scope);
            if *cut == Cut::Pattern {
                json["after"] = "softmax".into();
            }
            json
        }
        Edit::Restrict { stack, scope, to } => of_stack(json!({ "sparse": to.to_string() }), *stack, scope),
        Edit::Normalize { scope, with } => {
            of_stack(json!({ "normalizer": with.to_string() }), StackKind::SelfAttention, scope)
        }
        Edit::RankOne { stack, layer, left, right } => {
            json!({ "rank_one": format!("{}L{layer}", stack_prefix(*stack)), "left": left, "right": right })
        }
        Edit::Direction { site, stack, layer, positions, vector, along, of } => {
            let place = format!("{}{}.L{layer}", stack_prefix(*stack), site.name());
            let mut json = json!({ "direction": place, "vector": vector });
            match along {
                Along::Add(factor) => json["add"] = json!(factor),
                Along::Remove => json["remove"] = true.into(),
            }
            if !positions.is_empty() {
                json["positions"] = json!(positions);
            }
            if let Some(DirectionOf { plus, minus, mean }) = of {
                json["of"] = json!({ "plus": plus, "minus": minus, "mean": mean.name() });
            }
            json
        }
        Edit::Patch { site, stack, layer, head, positions, value } => {
            let head = head.map_or_else(String::new, |head| format!("H{head}"));
            let place = format!("{}{}.L{layer}{head}", stack_prefix(*stack), site.name());
            json!({ "patch": place, "positions": positions, "value": rows(value) })
        }
    }
}

/// A change from JSON; one that this version does not know is kept as it is.
pub(in crate::capture::file) fn edit_from_json(json: &Value) -> AppliedEdit {
    known_edit(json).map_or_else(|| AppliedEdit::Foreign(json.to_string()), AppliedEdit::Known)
}

/// The change that JSON describes; `None` for what is none, or only another version knows.
pub fn known_edit(json: &Value) -> Option<Edit> {
    let fields = Fields(json.as_object()?);
    let has = |name: &str| fields.0.contains_key(name);
    let (edit, names): (Edit, &[&str]) = if has("ablate") {
        let with = match fields.text("with")? {
            "zero" => Ablation::Zero,
            "mean" => Ablation::Mean,
            "uniform" => Ablation::Uniform,
            "shuffle" => Ablation::Shuffle { seed: fields.0.get("seed").map_or(Some(0), Value::as_u64)? },
            _ => return None,
        };
        let names: &[&str] =
            if matches!(with, Ablation::Shuffle { .. }) { &["ablate", "with", "seed"] } else { &["ablate", "with"] };
        (Edit::Ablate { head: fields.head("ablate")?, with }, names)
    } else if has("pattern") {
        (
            Edit::SetPattern { head: fields.head("pattern")?, pattern: rows(fields.0.get("value")?)? },
            &["pattern", "value"],
        )
    } else if has("sharpen") {
        (Edit::Sharpen { head: fields.head("sharpen")?, by: fields.0.get("by")?.as_f64()? as f32 }, &["sharpen", "by"])
    } else if has("hide") {
        (Edit::HideToken { side: fields.side()?, position: fields.index("hide")? }, &["hide", "side"])
    } else if has("global") {
        (Edit::SeeAll { positions: indices(fields.0.get("global")?)? }, &["global"])
    } else if has("replace") {
        let id = u32::try_from(fields.index("id")?).ok()?;
        (
            Edit::ReplaceToken { side: fields.side()?, position: fields.index("replace")?, id },
            &["replace", "id", "side"],
        )
    } else if has("mask") {
        (Edit::MaskToken { side: fields.side()?, position: fields.index("mask")? }, &["mask", "side"])
    } else if has("knockout") {
        let edges = fields.0.get("knockout")?.as_array()?.iter().map(|edge| match indices(edge)?[..] {
            [query, key] => Some([query, key]),
            _ => None,
        });
        let cut = match fields.0.get("after") {
            None => Cut::Scores,
            Some(after) => (after == "softmax").then_some(Cut::Pattern)?,
        };
        (
            Edit::Knockout {
                stack: fields.stack()?,
                scope: fields.scope()?,
                edges: edges.collect::<Option<_>>()?,
                cut,
            },
            &["knockout", "after", "stack", "layers", "heads"],
        )
    } else if has("sparse") {
        let to = Sparsity::from_name(fields.text("sparse")?)?;
        (Edit::Restrict { stack: fields.stack()?, scope: fields.scope()?, to }, &["sparse", "stack", "layers", "heads"])
    } else if has("normalizer") {
        let with = Normalizer::from_name(fields.text("normalizer")?)?;
        (Edit::Normalize { scope: fields.scope()?, with }, &["normalizer", "layers", "heads"])
    } else if has("rank_one") {
        let (stack, layer, None) = place(fields.text("rank_one")?)? else { return None };
        let (left, right) = (numbers(fields.0.get("left")?)?, numbers(fields.0.get("right")?)?);
        (Edit::RankOne { stack, layer, left, right }, &["rank_one", "left", "right"])
    } else if has("direction") {
        (fields.direction()?, &["direction", "vector", "add", "remove", "positions", "of"])
    } else if has("patch") {
        (fields.patch()?, &["patch", "positions", "value"])
    } else {
        return None;
    };
    // What is not understood must not be passed over.
    fields.0.keys().all(|name| names.contains(&name.as_str())).then_some(edit)
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn index(&self, name: &str) -> Option<usize> {
        index(self.0.get(name)?)
    }

    fn head(&self, name: &str) -> Option<HeadId> {
        head(self.text(name)?)
    }

    /// The only side, unless another one is named.
    fn side(&self) -> Option<Side> {
        self.0.get("side").map_or(Some(Side::Only), |side| Side::from_name(side.as_str()?))
    }

    /// The only stack, unless another one is named.
    fn stack(&self) -> Option<StackKind> {
        self.0.get("stack").map_or(Some(StackKind::SelfAttention), |stack| StackKind::from_name(stack.as_str()?))
    }

    fn scope(&self) -> Option<Scope> {
        match (self.0.get("layers"), self.0.get("heads")) {
            (None, None) => Some(Scope::All),
            (Some(layers), None) => Some(Scope::Layers(indices(layers)?)),
            (None, Some(heads)) => {
                Some(Scope::Heads(heads.as_array()?.iter().map(|text| head(text.as_str()?)).collect::<Option<_>>()?))
            }
            (Some(_), Some(_)) => None,
        }
    }

    /// `decoder.resid_post.L3`, and one of `add` and `remove`.
    fn direction(&self) -> Option<Edit> {
        let (stack, site, layer, None) = self.place_of("direction")? else { return None };
        let along = match (self.0.get("add"), self.0.get("remove")) {
            (Some(factor), None) => Along::Add(factor.as_f64()? as f32),
            (None, Some(remove)) => remove.as_bool()?.then_some(Along::Remove)?,
            _ => return None,
        };
        let positions = self.0.get("positions").map_or(Some(Vec::new()), indices)?;
        let vector = numbers(self.0.get("vector")?)?;
        let of = self.0.get("of").map_or(Some(None), |of| direction_of(of.as_object()?).map(Some))?;
        (!site.is_per_head()).then_some(Edit::Direction { site, stack, layer, positions, vector, along, of })
    }

    /// `cross.z.L0H1`: the stack may be missing, the site may not.
    fn place_of(&self, name: &str) -> Option<(StackKind, Site, usize, Option<usize>)> {
        let (before, at) = self.text(name)?.rsplit_once('.')?;
        let (stack, site) = before.rsplit_once('.').unwrap_or((StackKind::SelfAttention.name(), before));
        let (_, layer, head) = place(at)?;
        Some((StackKind::from_name(stack)?, Site::from_name(site)?, layer, head))
    }

    fn patch(&self) -> Option<Edit> {
        let (stack, site, layer, head) = self.place_of("patch")?;
        let positions = indices(self.0.get("positions")?)?;
        let value = rows(self.0.get("value")?)?;
        (positions.len() == value.n_rows() && site.is_per_head() == head.is_some()).then_some(())?;
        Some(Edit::Patch { site, stack, layer, head, positions, value })
    }
}

/// Two sets by name and the mean over them, and nothing else.
fn direction_of(json: &Map<String, Value>) -> Option<DirectionOf> {
    let text = |name: &str| json.get(name)?.as_str();
    let of = DirectionOf {
        plus: text("plus")?.to_owned(),
        minus: text("minus")?.to_owned(),
        mean: MeanOf::from_name(text("mean")?)?,
    };
    (json.len() == 3).then_some(of)
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|value| usize::try_from(value).ok())
}

fn indices(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(index).collect()
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(|value| value.as_f64().map(|value| value as f32)).collect()
}

/// The head of `L3H5` or `cross.L2H1`.
fn head(text: &str) -> Option<HeadId> {
    let (stack, layer, head) = place(text)?;
    Some(HeadId { stack, layer, head: head? })
}

/// Stack, layer and head of `L3H5`, `cross.L2H1` or `L3`.
fn place(text: &str) -> Option<(StackKind, usize, Option<usize>)> {
    let (stack, at) = text.rsplit_once('.').unwrap_or((StackKind::SelfAttention.name(), text));
    let at = at.strip_prefix('L')?;
    let (layer, head) = at.split_once('H').map_or((at, None), |(layer, head)| (layer, Some(head)));
    let head = head.map(str::parse).transpose().ok()?;
    Some((StackKind::from_name(stack)?, layer.parse().ok()?, head))
}

/// Rows of equal length; `null`, which is how JSON writes what is no number, is minus infinity.
fn rows(json: &Value) -> Option<Matrix> {
    let rows = json.as_array()?;
    let n_cols = rows.first()?.as_array()?.len();
    let mut values = Vec::new();
    for row in rows {
        let row = row.as_array().filter(|row| row.len() == n_cols)?;
        for value in row {
            values.push(if value.is_null() { f32::NEG_INFINITY } else { value.as_f64()? as f32 });
        }
    }
    Matrix::new(values, [rows.len(), n_cols]).ok()
}

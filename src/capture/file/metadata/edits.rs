//! `edits`: the changes a run was made with, in the words that the command line takes.

use serde_json::{Value, json};

use crate::{
    capture::{AppliedEdit, Edit, Matrix, Site, stack_prefix},
    ids::{Side, StackKind},
};

/// A change as JSON.
pub(in crate::capture::file) fn edit_to_json(edit: &AppliedEdit) -> Value {
    let edit = match edit {
        AppliedEdit::Known(edit) => edit,
        AppliedEdit::Foreign(json) => return serde_json::from_str(json).unwrap_or_else(|_| json.clone().into()),
    };
    let rows = |matrix: &Matrix| matrix.rows().map(<[f32]>::to_vec).collect::<Vec<_>>();
    match edit {
        Edit::AblateHead { stack, layer, head } => {
            json!({ "ablate": format!("{}L{layer}H{head}", stack_prefix(*stack)), "with": "zero" })
        }
        Edit::SetPattern { stack, layer, head, pattern } => {
            json!({ "pattern": format!("{}L{layer}H{head}", stack_prefix(*stack)), "value": rows(pattern) })
        }
        Edit::HideToken { side: Side::Only, position } => json!({ "hide": position }),
        Edit::HideToken { side, position } => json!({ "hide": position, "side": side.name() }),
        Edit::Patch { site, stack, layer, head, positions, value } => {
            let head = head.map_or_else(String::new, |head| format!("H{head}"));
            let place = format!("{}{}.L{layer}{head}", stack_prefix(*stack), site.name());
            json!({ "patch": place, "positions": positions, "value": rows(value) })
        }
    }
}

/// A change from JSON; one that this version does not know is kept as it is.
pub(in crate::capture::file) fn edit_from_json(json: &Value) -> AppliedEdit {
    known(json).map_or_else(|| AppliedEdit::Foreign(json.to_string()), AppliedEdit::Known)
}

fn known(json: &Value) -> Option<Edit> {
    let fields = json.as_object()?;
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let text = |name: &str| fields.get(name)?.as_str();
    let index = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
    match names[..] {
        ["ablate", "with"] if text("with") == Some("zero") => {
            let (stack, layer, head) = place(text("ablate")?)?;
            Some(Edit::AblateHead { stack, layer, head: head? })
        }
        ["pattern", "value"] => {
            let (stack, layer, head) = place(text("pattern")?)?;
            Some(Edit::SetPattern { stack, layer, head: head?, pattern: rows(&fields["value"])? })
        }
        ["hide"] => Some(Edit::HideToken { side: Side::Only, position: index(&fields["hide"])? }),
        ["hide", "side"] => {
            let side = Side::ALL.into_iter().find(|side| text("side") == Some(side.name()))?;
            Some(Edit::HideToken { side, position: index(&fields["hide"])? })
        }
        ["patch", "positions", "value"] => {
            // `cross.z.L0H1`: the stack may be missing, the site may not.
            let name = text("patch")?;
            let (before, at) = name.rsplit_once('.')?;
            let (stack, site) = before.rsplit_once('.').unwrap_or((StackKind::SelfAttention.name(), before));
            let (_, layer, head) = place(at)?;
            let positions = fields["positions"].as_array()?.iter().map(index).collect::<Option<Vec<_>>>()?;
            let value = rows(&fields["value"])?;
            let (stack, site) = (StackKind::from_name(stack)?, Site::from_name(site)?);
            (positions.len() == value.n_rows() && site.is_per_head() == head.is_some()).then_some(())?;
            Some(Edit::Patch { site, stack, layer, head, positions, value })
        }
        _ => None,
    }
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

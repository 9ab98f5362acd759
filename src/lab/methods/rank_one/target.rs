//! What a rank-one edit is to make the model say, one token or several, and the prompts that it is asked with.

use std::borrow::Cow;

use super::RewriteOptions;
use crate::{
    ids::Side,
    lab::{
        Aim, LabError, LabRun,
        outcome::{outcome_id, readings},
    },
    model::{Edit, Encoded, Model, ModelError, Variant},
    outputs::{OutputKind, id_of},
    spec::{HeadKind, Modality},
};

/// What is to be said instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its tokens in order, or its class.
    pub ids: Vec<u32>,
}

impl Object {
    /// The one that a text names: a class, or tokens that are written one after the other. A masked model writes one
    /// token at its mask, so that it gets the first alone.
    pub fn find(lab: &LabRun<'_>, aim: &Aim, text: &str, notes: &mut Vec<String>) -> Result<Self, LabError> {
        let text = text.trim();
        if aim.outputs != OutputKind::Tokens || id_of(text).is_some() {
            return Ok(Self { ids: vec![outcome_id(lab.model, text)?] });
        }
        let ids = readings(lab.model, text).into_iter().next().filter(|_| !text.is_empty());
        let mut ids = ids
            .ok_or_else(|| LabError::unsuited(format!("“{text}” is not a token of this model: name another object")))?;
        if ids.len() > 1 && !writes_on(lab, aim)? {
            let first = lab.model.outcome_label(ids[0]);
            notes.push(format!(
                "“{text}” has {} tokens, but a mask takes one: only the first, “{first}”, is used",
                ids.len()
            ));
            ids.truncate(1);
        }
        Ok(Self { ids })
    }

    /// What it is called.
    pub fn label(&self, model: &Model) -> String {
        self.ids.iter().map(|id| model.outcome_label(*id)).collect()
    }

    /// The input with the first `n` of its tokens read behind the row that is predicted from.
    pub fn read_before<'a>(
        &self,
        model: &Model,
        input: &'a Encoded,
        (side, row): (Side, usize),
        n: usize,
    ) -> Result<Cow<'a, Encoded>, LabError> {
        let Some(ids) = self.ids.get(..n).filter(|ids| !ids.is_empty()) else { return Ok(Cow::Borrowed(input)) };
        let longer = input.continued(side, row, ids, &|id| model.outcome_label(id));
        longer.map(Cow::Owned).ok_or_else(|| LabError::unsuited("nothing can be written after this input"))
    }
}

/// Whether what is said at a place is read at the next one.
fn writes_on(lab: &LabRun<'_>, aim: &Aim) -> Result<bool, LabError> {
    let stack = lab.plain()?.model().stack(aim.stack);
    Ok(matches!(aim.side, Side::Only | Side::Decoder) && stack.is_none_or(|stack| stack.causal))
}

/// A text that is asked before and after.
pub struct Prompt<'a> {
    pub kind: &'static str,
    pub text: String,
    input: Cow<'a, Encoded>,
    row: usize,
    /// Changes that are made in any case.
    edits: &'a [Edit],
}

/// The text itself, and those that were given.
pub fn prompts<'a>(lab: &'a LabRun<'a>, aim: &Aim, options: &RewriteOptions) -> Result<Vec<Prompt<'a>>, LabError> {
    let plain = lab.plain()?;
    let own = plain.input().text.clone().unwrap_or_default();
    let mut all =
        vec![Prompt { kind: "prompt", text: own, input: Cow::Borrowed(lab.input), row: aim.row, edits: lab.edits }];
    let given = [("paraphrase", &options.paraphrases), ("neighbour", &options.neighbours)];
    for (kind, text) in given.into_iter().flat_map(|(kind, texts)| texts.iter().map(move |text| (kind, text))) {
        if lab.input.tokens.contains_key(&Side::Decoder) || matches!(lab.model.spec().modality, Modality::Image(_)) {
            let what = "other prompts need a model that reads one text: leave out paraphrases and neighbours";
            return Err(LabError::unsuited(what));
        }
        let input = lab.model.encode(&lab.input.given.with_text(text).map_err(ModelError::from)?)?;
        let tokens = input.tokens.get(&aim.side).map_or(&[][..], Vec::as_slice);
        let kind_of_head = plain.prediction().map(|prediction| prediction.kind);
        let row = match kind_of_head {
            _ if lab.model.reads_whole() => 0,
            Some(HeadKind::MaskedLm) => {
                let mask = lab.model.mask_id();
                let found = tokens.iter().position(|token| token.id.is_some() && token.id == mask);
                found.ok_or_else(|| LabError::unsuited(format!("“{text}” has no mask for the answer")))?
            }
            _ => tokens.len().saturating_sub(1),
        };
        all.push(Prompt { kind, text: text.clone(), input: Cow::Owned(input), row, edits: &[] });
    }
    Ok(all)
}

/// What is said to a prompt.
pub struct Said {
    /// Probabilities of all outcomes.
    pub p: Vec<f64>,
    /// The probability of the object, all of its tokens together.
    pub object: f64,
}

/// What is said to each prompt.
pub fn said(
    lab: &LabRun<'_>,
    prompts: &[Prompt<'_>],
    (side, object): (Side, &Object),
    edit: Option<&Edit>,
) -> Result<Vec<Said>, LabError> {
    let mut variants = Vec::with_capacity(prompts.len() * object.ids.len());
    for prompt in prompts {
        let edits: Vec<Edit> = prompt.edits.iter().chain(edit).cloned().collect();
        for nth in 0..object.ids.len() {
            let input = object.read_before(lab.model, &prompt.input, (side, prompt.row), nth)?.into_owned();
            variants.push(Variant {
                input: Cow::Owned(input),
                edits: Cow::Owned(edits.clone()),
                start: None,
                row: prompt.row + nth,
            });
        }
    }
    let outputs = lab.model.outputs().unwrap_or(OutputKind::Tokens);
    let mut rows = Vec::with_capacity(variants.len());
    lab.model.logits_of(&variants, lab.control, &mut |_, logits| rows.push(outputs.values(logits)))?;
    let of_prompt = |rows: &[Vec<f64>]| {
        let each = rows.iter().zip(&object.ids).map(|(p, id)| p.get(*id as usize).copied().unwrap_or(f64::NAN));
        Said { p: rows.first().cloned().unwrap_or_default(), object: each.product() }
    };
    Ok(rows.chunks(object.ids.len().max(1)).map(of_prompt).collect())
}

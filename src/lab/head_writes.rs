//! What a head writes by its weights alone: for some tokens the outcomes that it raises and lowers, and whether it copies.

use super::{LabError, stream::frozen};
use crate::{
    analysis::explain::{
        copying::{before_norm, behind_norm, copying_score, extremes, rank_of},
        dense::Dense,
    },
    capture::Matrix,
    ids::{HeadId, StackKind},
    model::{Control, FinalNorm, Model, ModelError, Progress, Stage, ValueMaps},
    outputs::OutputKind,
};

/// Tokens of the vocabulary whose products exist at once.
const AT_ONCE: usize = 4096;

/// What a head writes of one token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenWritten {
    /// The token that is read.
    pub id: u32,
    pub label: String,
    /// The outcomes that it raises most, with what it adds to their logits but for a factor that is the same for all.
    pub raised: Vec<(u32, f32)>,
    /// Those that it lowers most.
    pub lowered: Vec<(u32, f32)>,
    /// The rank of the token itself among what is raised, 1 for the first; `None` where outcomes are no tokens.
    pub own_rank: Option<usize>,
}

/// What is known of a head by its weights alone. Each part that is not defined has the reason, as a clause.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadWrites {
    pub head: HeadId,
    /// In the order of the tokens that were asked about.
    pub tokens: Result<Vec<TokenWritten>, String>,
    /// Number of outcomes among which is ranked.
    pub n_outcomes: usize,
    /// `Σ Re λ / Σ |λ|` of the table from every token to every other.
    pub copying: Result<f64, String>,
    /// The same of `W_V W_O` alone, without the tables of tokens.
    pub copying_of_stream: Result<f64, String>,
}

/// Said where the parts of a block cannot be followed.
const NO_BLOCK: &str = "its layers are no blocks of attention and MLP around a residual stream";

/// Said of heads whose output depends on more than their maps.
const GATED: &str =
    "a gate of each query scales what it reads before it is added, so its maps alone do not tell what it writes";

/// Reads what `head` writes of some tokens, `n_top` outcomes each, without a run: `ids` are of the vocabulary that the
/// keys of its stack are made of.
///
/// # Errors
/// When there is no such head, weights cannot be read, or `control` says stop.
pub fn head_writes(
    model: &Model,
    head: HeadId,
    ids: &[u32],
    n_top: usize,
    control: &Control<'_>,
) -> Result<HeadWrites, LabError> {
    let n_outcomes = if model.outputs().is_some() { model.n_outcomes() } else { 0 };
    let undefined = |why: String, copying_of_stream| HeadWrites {
        head,
        tokens: Err(why.clone()),
        n_outcomes,
        copying: Err(why),
        copying_of_stream,
    };
    if model.spec().layer_of(head).is_some_and(|layer| layer.gated) {
        return Ok(undefined(GATED.to_owned(), Err(GATED.to_owned())));
    }
    let Some(maps) = model.value_maps(head)? else {
        return Ok(undefined(NO_BLOCK.to_owned(), Err(NO_BLOCK.to_owned())));
    };
    let copying_of_stream = of_stream(&maps);
    let folded = match folded(model, head, &maps) {
        Ok(folded) => folded,
        Err(error) => return Ok(undefined(reason(error)?, copying_of_stream)),
    };
    let tokens = match written(model, head, &folded, ids, n_top) {
        Ok(tokens) => Ok(tokens),
        Err(error) => Err(reason(error)?),
    };
    let copying = match copying(model, head.stack, &folded, control) {
        Ok(score) => Ok(score),
        Err(error) => Err(reason(error)?),
    };
    Ok(HeadWrites { head, tokens, n_outcomes, copying, copying_of_stream })
}

/// Why something is not defined; what stops everything is an error still.
fn reason(error: LabError) -> Result<String, LabError> {
    match error {
        error if error.is_cancelled() => Err(error),
        LabError::Model(ModelError::Edit(why)) | LabError::Unsuited(why) => Ok(why),
        LabError::Explain(error) => Ok(error.to_string()),
        error @ (LabError::Model(_) | LabError::TakesLong(_)) => Err(error),
    }
}

fn of_stream(maps: &ValueMaps) -> Result<f64, String> {
    if maps.value.n_rows() != maps.output.n_cols() {
        return Err("it reads another stream than it writes to".to_owned());
    }
    let small = Dense::from(&maps.output).product(&Dense::from(&maps.value));
    small.and_then(|small| copying_score(&small)).map_err(|error| error.to_string())
}

/// The maps of a head with the norms in front of them and behind them.
fn folded(model: &Model, head: HeadId, maps: &ValueMaps) -> Result<ValueMaps, LabError> {
    let mut value = Dense::from(&maps.value);
    for norm in norms_before(model, head)?.iter().rev() {
        value = behind_norm(frozen(norm), value)?;
    }
    let mut output = Dense::from(&maps.output);
    for norm in &norms_behind(model, head)? {
        output = before_norm(output, frozen(norm))?;
    }
    Ok(ValueMaps { value: value.to_matrix(), output: output.to_matrix() })
}

/// The norms between a token and the values of a head, in their order.
fn norms_before(model: &Model, head: HeadId) -> Result<Vec<FinalNorm>, LabError> {
    let HeadId { stack, layer, .. } = head;
    let mut norms: Vec<FinalNorm> = model.embedding_norm(stack)?.into_iter().collect();
    if stack.is_cross() {
        norms.extend(model.final_norm(StackKind::Encoder)?);
    } else {
        let shape = model.block_shape(stack, layer)?.ok_or_else(|| LabError::unsuited(NO_BLOCK))?;
        norms.extend(shape.attention.before);
    }
    Ok(norms)
}

/// The norms that what a head writes goes through on the way to the logits, in their order.
fn norms_behind(model: &Model, head: HeadId) -> Result<Vec<FinalNorm>, LabError> {
    let own = head.stack.host();
    let n_layers = model.spec().stack(own).map_or(0, |stack| stack.layers.len());
    let mut norms = Vec::new();
    for layer in head.layer..n_layers {
        let shape = model.block_shape(own, layer)?.ok_or_else(|| LabError::unsuited(NO_BLOCK))?;
        // Of the head's own layer the branches before it are not on its way.
        let branches = [(head.stack == own, Some(shape.attention)), (head.stack != own, shape.cross)];
        let mut is_behind = layer > head.layer;
        for (is_own, branch) in branches {
            let Some(branch) = branch else { continue };
            let is_own = is_own && layer == head.layer;
            if is_own && branch.is_normed {
                let what = "what its heads write is normalised together before it is added, so none of them has an effect \
                    of its own";
                return Err(LabError::unsuited(what));
            }
            if is_behind {
                norms.extend(branch.before.filter(|_| branch.carries));
            }
            is_behind |= is_own;
            if is_behind {
                norms.extend(branch.after);
            }
        }
        if shape.mlp.carries && shape.parallel {
            let what = "its attention and MLP read the same stream and change it before they add to it";
            return Err(LabError::unsuited(what));
        }
        norms.extend(shape.mlp.before.filter(|_| shape.mlp.carries));
        norms.extend(shape.mlp.after);
    }
    norms.extend(model.final_norm(own)?);
    Ok(norms)
}

fn written(
    model: &Model,
    head: HeadId,
    folded: &ValueMaps,
    ids: &[u32],
    n_top: usize,
) -> Result<Vec<TokenWritten>, LabError> {
    check_end(model, head.stack)?;
    let n_outcomes = model.n_outcomes();
    if ids.is_empty() {
        // What is not defined is told where nothing is asked, too.
        model.said_by(&folded.output, 0..1)?;
        model.read_tokens(head.stack, &[0])?;
        return Ok(Vec::new());
    }
    let rows = model.read_tokens(head.stack, ids)?;
    check_width(rows.n_cols(), folded)?;
    let vectors = Dense::from(&rows).product(&Dense::from(&folded.value))?.product(&Dense::from(&folded.output))?;
    let said: Matrix = model.said_by(&vectors.to_matrix(), 0..n_outcomes)?;
    let of_tokens = model.outputs() == Some(OutputKind::Tokens);
    let token = |(id, logits): (&u32, &[f32])| {
        let [raised, lowered] = extremes(logits, n_top)
            .map(|order| order.into_iter().map(|nth| (nth as u32, logits[nth])).collect::<Vec<_>>());
        let own_rank = rank_of(logits, *id as usize).filter(|_| of_tokens);
        TokenWritten { id: *id, label: model.embedding_label(*id), raised, lowered, own_rank }
    };
    Ok(ids.iter().zip(said.rows()).map(token).collect())
}

fn copying(model: &Model, stack: StackKind, folded: &ValueMaps, control: &Control<'_>) -> Result<f64, LabError> {
    check_end(model, stack)?;
    if model.outputs() != Some(OutputKind::Tokens) {
        return Err(LabError::unsuited("its outcomes are classes, and no class is a token that is read"));
    }
    check_width(model.read_tokens(stack, &[0])?.n_cols(), folded)?;
    let n_read = model.n_read(stack).unwrap_or(0);
    let n = model.n_outcomes().min(n_read);
    let d_head = folded.value.n_cols();
    let mut sum = Dense::zeros(d_head, d_head);
    let n_parts = n.div_ceil(AT_ONCE);
    for part in 0..n_parts {
        control(Progress { stage: Stage::Measure, done: part, total: n_parts })
            .map_err(|stop| LabError::Model(stop.into()))?;
        let tokens = part * AT_ONCE..n.min((part + 1) * AT_ONCE);
        sum = sum.plus(&Dense::from(&model.copied(stack, folded, tokens)?))?;
    }
    Ok(copying_score(&sum)?)
}

/// Refuses a head whose stream does not end in the logits.
fn check_end(model: &Model, stack: StackKind) -> Result<(), LabError> {
    if model.outputs().is_none() {
        return Err(LabError::unsuited("the model has no head, so there are no logits"));
    }
    if stack.is_cross_modal() {
        return Err(LabError::unsuited("words enter the layers of this stack through a tower, not as they are"));
    }
    if matches!(stack, StackKind::Encoder | StackKind::Vision | StackKind::Text) {
        return Err(LabError::unsuited("no logits are read from the stream of this stack"));
    }
    Ok(())
}

fn check_width(width: usize, folded: &ValueMaps) -> Result<(), LabError> {
    if width == folded.value.n_rows() {
        return Ok(());
    }
    Err(LabError::unsuited("a map to another width stands between the words and what the head reads"))
}

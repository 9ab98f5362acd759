//! A model's queries and keys of all inputs of a list.

use super::passes::{Order, Passes};
use crate::{
    capture::Capture,
    corpus::{Corpus, CorpusError, list::InputList},
    model::{Cancelled, Control, Encoded, Model, ModelError, RunPlan},
    protocol::{CorpusOptions, LeftOut},
};

/// What became of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorpusRun {
    /// Inputs that are new in the corpus.
    pub n_added: usize,
    /// Inputs that the model cannot read, in their order.
    pub left_out: Vec<LeftOut>,
    /// Why not everything is in it that could be.
    pub full: Option<CorpusError>,
}

/// Runs `model` on every input that is not in the corpus yet, and adds their queries and keys, and what else is to be
/// kept, several inputs at once. `on_pack` sees the corpus after each pass, first after the shortest of the first inputs.
///
/// In the end inputs stand in the order of the list. Unreadable inputs are left out one by one, and a corpus
/// that is full keeps what it has.
///
/// # Errors
/// When `control` says stop, between two layers; what was added stays, and the next call goes on from there.
pub fn capture(
    model: &Model,
    list: &InputList,
    corpus: &mut Corpus,
    options: &CorpusOptions,
    control: &Control<'_>,
    on_pack: &mut dyn FnMut(&Corpus),
) -> Result<CorpusRun, Cancelled> {
    let order = Order { model, list, options };
    let there = std::mem::replace(corpus, Corpus::new(0)).keeping(options.kept);
    let mut passes = Passes::new(list, there, Vec::new());
    let mut all = || {
        while passes.prepare(order, control)? {
            passes.run_next(order, None, control)?;
            on_pack(passes.corpus());
        }
        Ok(())
    };
    let stopped = all();
    let (whole, run) = passes.finish();
    *corpus = whole;
    stopped.map(|()| run)
}

/// Several inputs in one pass; when that fails each by itself, so that only those fail that have to.
///
/// # Errors
/// When `control` says stop.
pub fn run_pack(
    model: &Model,
    inputs: &[Encoded],
    plan: &RunPlan,
    control: &Control<'_>,
) -> Result<Vec<Result<Capture, ModelError>>, Cancelled> {
    let one = |input| match model.forward(input, plan, control) {
        Err(ModelError::Cancelled(stop)) => Err(stop),
        answer => Ok(answer),
    };
    match model.forward_packed(inputs, plan, control) {
        Ok(captures) => Ok(captures.into_iter().map(Ok).collect()),
        Err(ModelError::Cancelled(stop)) => Err(stop),
        Err(error) if inputs.len() == 1 => Ok(vec![Err(error)]),
        Err(_) => inputs.iter().map(one).collect(),
    }
}

/// Groups of inputs for one pass each: short ones first, inputs of about the same length together, about
/// `pack_tokens` tokens in each group. One that is longer is alone.
pub fn packs(lengths: &[usize], pack_tokens: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|input| lengths[*input]);
    let mut packs: Vec<Vec<usize>> = Vec::new();
    let mut n = usize::MAX;
    for input in order {
        match packs.last_mut() {
            Some(pack) if n + lengths[input] <= pack_tokens => {
                pack.push(input);
                n += lengths[input];
            }
            _ => {
                packs.push(vec![input]);
                n = lengths[input];
            }
        }
    }
    packs
}

//! A model's queries and keys of all inputs of a list.

use std::collections::{BTreeMap, BTreeSet};

use super::input_of;
use crate::{
    capture::Capture,
    corpus::{
        Corpus, CorpusError, Label, SortBy,
        list::{Content, InputList},
    },
    ids::Side,
    model::{Cancelled, Control, Encoded, Logits, Model, ModelError, Progress, RunPlan, Site, Sites, Stage},
};

/// Tokens of a pack, unless something else is asked for: enough for the matrix products to be efficient,
/// few enough for first results to come soon.
const PACK_TOKENS: usize = 768;
/// Characters of a text that stand for it in messages.
const SHOWN: usize = 60;

/// How a corpus is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusOptions {
    /// Layers whose queries and keys are kept; `None` is all of them.
    pub layers: Option<Vec<usize>>,
    /// About so many tokens go through the model at once.
    pub pack_tokens: usize,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self { layers: None, pack_tokens: PACK_TOKENS }
    }
}

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

/// An input that the model cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its place in the list.
    pub source: usize,
    /// What it is called.
    pub name: String,
    /// Why, as one sentence.
    pub reason: String,
}

/// An input made ready.
struct Ready {
    source: usize,
    encoded: Encoded,
}

impl Ready {
    fn n_tokens(&self) -> usize {
        self.encoded.tokens.values().map(Vec::len).sum()
    }

    fn n_on(&self, side: Side) -> usize {
        self.encoded.tokens.get(&side).map_or(0, Vec::len)
    }
}

/// Runs `model` on every input that is not in the corpus yet, and adds their queries and keys: short ones
/// first, several at once. `on_pack` sees the corpus after each pass, first after the shortest inputs.
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
    let mut run = CorpusRun::default();
    let ready = encode(model, list, corpus, options, control, &mut run)?;
    let lengths: Vec<usize> = ready.iter().map(Ready::n_tokens).collect();
    // What the corpus will have in the end, so that its columns grow once.
    let whole: BTreeMap<Side, usize> = Side::ALL
        .map(|side| (side, corpus.n_tokens(side) + ready.iter().map(|ready| ready.n_on(side)).sum::<usize>()))
        .into();
    let packs = packs(&lengths, options.pack_tokens);
    let sites = Sites::of(&[Site::Q, Site::K]);
    let plan = RunPlan { sites, layers: options.layers.clone(), logits: Logits::Skip, ..RunPlan::default() };
    let mut ready: Vec<Option<Ready>> = ready.into_iter().map(Some).collect();
    for (idx, pack) in packs.iter().enumerate() {
        let inputs: Vec<Ready> = pack.iter().filter_map(|at| ready.get_mut(*at)?.take()).collect();
        let (sources, encoded): (Vec<usize>, Vec<Encoded>) =
            inputs.into_iter().map(|ready| (ready.source, ready.encoded)).unzip();
        let of_all = |progress: Progress| {
            // Layers of every pass together.
            let Progress { stage, done, total } = progress;
            control(Progress { stage, done: idx * total + done, total: packs.len() * total })
        };
        let captures = run_pack(model, &encoded, &plan, &of_all)?;
        // What `encode` found not to fit is said unless the corpus was full even before.
        let mut is_full = false;
        for (source, capture) in sources.into_iter().zip(captures) {
            let name = list.items[source].name.clone();
            match capture {
                Ok(capture) => {
                    let label = Label { source, name, annotations: list.annotations(&list.items[source]) };
                    match corpus.append(&capture, &label) {
                        Ok(_) => run.n_added += 1,
                        Err(full @ CorpusError::Full { .. }) => {
                            run.full = Some(full);
                            is_full = true;
                        }
                        Err(error) => run.left_out.push(left_out(list, source, &error.to_string())),
                    }
                }
                Err(error) => run.left_out.push(left_out(list, source, &sentence(&error))),
            }
            if is_full {
                break;
            }
        }
        if idx == 0 {
            let there: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, corpus.n_tokens(side))).into();
            corpus.reserve(|side| whole[&side].saturating_sub(there[&side]));
        }
        on_pack(corpus);
        if is_full {
            break;
        }
    }
    let sorted = corpus.sorted(&corpus.all(), &SortBy::Source, false);
    if sorted != corpus.all() {
        corpus.keep(&sorted);
    }
    run.left_out.sort_by_key(|left_out| left_out.source);
    Ok(run)
}

/// What is not in the corpus yet, made ready, as far as there can be room for it.
fn encode(
    model: &Model,
    list: &InputList,
    corpus: &Corpus,
    options: &CorpusOptions,
    control: &Control<'_>,
    run: &mut CorpusRun,
) -> Result<Vec<Ready>, Cancelled> {
    let there: BTreeSet<usize> = corpus.inputs().iter().map(|input| input.source).collect();
    let mut ready: Vec<Ready> = Vec::new();
    let mut n_tokens: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, corpus.n_tokens(side))).into();
    for (source, item) in list.items.iter().enumerate().filter(|(source, _)| !there.contains(source)) {
        control(Progress { stage: Stage::Encode, done: source, total: list.items.len() })?;
        match model.encode(&input_of(&item.content)) {
            Ok(encoded) => {
                let input = Ready { source, encoded };
                for (side, n) in &mut n_tokens {
                    *n += input.n_on(*side);
                }
                let layers = options.layers.as_deref();
                let needed = Corpus::estimate_bytes(model.spec(), layers, |side| n_tokens[&side]);
                if needed > corpus.budget_bytes() {
                    // What comes later would not fit in any case; millions of texts need not be read to know it.
                    let n_inputs = there.len() + ready.len();
                    run.full = Some(CorpusError::Full { needed, budget: corpus.budget_bytes(), n_inputs });
                    break;
                }
                ready.push(input);
            }
            Err(error) => run.left_out.push(left_out(list, source, &sentence(&error))),
        }
    }
    Ok(ready)
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

fn left_out(list: &InputList, source: usize, reason: &str) -> LeftOut {
    let item = &list.items[source];
    let name = item.name.clone().unwrap_or_else(|| match &item.content {
        Content::Text(text) if text.chars().count() > SHOWN => text.chars().take(SHOWN).chain(['…']).collect(),
        Content::Text(text) => text.clone(),
        Content::Picture(path) => path.display().to_string(),
        Content::BundledPicture(name) => name.clone(),
    });
    LeftOut { source, name, reason: reason.to_owned() }
}

fn sentence(error: &ModelError) -> String {
    let details = error.details();
    if details.is_empty() { error.to_string() } else { format!("{error}. {details}") }
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

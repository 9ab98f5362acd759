//! What the tests over a corpus have found, kept on disk: opened again, they go on where they were.

use serde::{Deserialize, Serialize};

use super::{
    corpus::{inputs_key, model_key},
    debate::PREPARATION,
    disk_cache::{CacheKey, DiskCache, Fingerprint},
};
use crate::{
    analysis::debate::{CorpusDebate, DebateOptions, Instance},
    corpus::list::InputList,
    model::Model,
    protocol::DebateOrder,
};

/// How results are written; another number makes all old ones unknown.
const FORMAT: &str = "attnscope debate of a window 1";

/// Where the results of one model over one list are kept.
#[derive(Clone, Debug)]
pub struct KeptDebate {
    scratch: DiskCache,
    key: CacheKey,
}

/// What is kept: numbers of inputs; sums of them are made again.
#[derive(Serialize, Deserialize)]
struct KeptInputs {
    instances: Vec<Instance>,
    left_out: Vec<(usize, String)>,
}

impl KeptDebate {
    /// Of a model known as `identity` over a list, with options that decide about the numbers.
    pub fn new(
        scratch: &DiskCache,
        (model, identity): (&Model, &Fingerprint),
        list: &InputList,
        options: &DebateOptions,
    ) -> Self {
        let key = Fingerprint::new(FORMAT).and(env!("CARGO_PKG_VERSION").as_bytes());
        let key = key.and(model_key(identity, model).as_bytes()).and(inputs_key(list, PREPARATION).as_bytes());
        Self { scratch: scratch.clone(), key: key.and(format!("{options:?}").as_bytes()).key() }
    }

    /// What an order is answered with from before, as far as that goes.
    pub fn recall(&self, model: &Model, order: &DebateOrder) -> Option<CorpusDebate> {
        let kept = self.read()?;
        let names = (model.spec().name.as_str(), order.corpus.as_str());
        let mut known = CorpusDebate::begin(names, order.question.clone(), order.inputs.clone(), None);
        (known.instances, known.left_out) = (kept.instances, kept.left_out);
        Some(known)
    }

    fn read(&self) -> Option<KeptInputs> {
        serde_json::from_slice(&self.scratch.read(&self.key)?).ok()
    }

    /// Keeps what was measured, beside what is there of other inputs.
    pub fn keep(&self, found: &CorpusDebate) {
        let mut kept = KeptInputs { instances: found.instances.clone(), left_out: found.left_out.clone() };
        let is_other = |input: usize| !found.inputs.contains(&input);
        if let Some(before) = self.read() {
            kept.instances.extend(before.instances.into_iter().filter(|of| is_other(of.input)));
            kept.left_out.extend(before.left_out.into_iter().filter(|(input, _)| is_other(*input)));
        }
        if let Ok(bytes) = serde_json::to_vec(&kept) {
            self.scratch.write(&self.key, &bytes);
        }
    }
}

//! One pass over a list that adds up statistics of heads: nothing of an input is kept, and a pass that was stopped
//! goes on where it was.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{chunk_size, input_of, keys, packs, passes::sentence, run_pack};
use crate::{
    analysis::{
        detect::{TokenCounts, known_token},
        head_statistics::{HeadStatistics, Metric},
    },
    capture::{Capture, Site},
    corpus::list::InputList,
    digest::sha256,
    ids::{Side, StackKind},
    model::{Cancelled, Control, Encoded, Logits, Model, ModelError, Preparation, Progress, RunPlan, Sites, Stage},
    protocol::LeftOut,
    worker::disk_cache::Fingerprint,
};

/// Inputs of the first chunk, after which there is a first table; each chunk has twice as many as the one before.
const FIRST_CHUNK: usize = 20;
/// Tokens that go through the model at once.
const PACK_TOKENS: usize = 768;
/// Bytes of the patterns of a pass; those of more are made head by head.
const PATTERN_BYTES: u64 = 256 << 20;
/// What a file of a pass that was stopped begins with.
const MAGIC: &[u8] = b"attnscope head statistics 2\n";

/// What statistics are of.
#[derive(Clone, Copy)]
pub struct StatisticsOrder<'a> {
    pub model: &'a Model,
    pub list: &'a InputList,
    /// How texts are prepared.
    pub how: Preparation,
}

/// A pass over a list, as far as it is. Which inputs share a pass and the order in which they are added depend on the
/// list alone.
#[derive(Clone, Debug)]
pub struct StatisticsPass {
    statistics: HeadStatistics,
    /// Inputs that cannot be read, with the reason.
    left_out: Vec<(usize, String)>,
    place: PassPlace,
    /// How often tokens are in the list, counted before the first pack.
    counts: Option<TokenCounts>,
}

/// Where a pass is: in which chunk, and how many of its packs were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PassPlace {
    start: usize,
    n_packs: usize,
}

/// Why a pass cannot go on from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("the file holds no statistics of a pass that was stopped, or is damaged: name another one for --resume")]
    Damaged,
    #[error(
        "the file holds statistics of another model, other inputs, or of another version of the program: name another \
         one for --resume, or delete it"
    )]
    Other,
}

/// Hears of what was seen of an input, by its place in the list.
pub type Seen<'a> = &'a mut dyn FnMut(usize, &Capture);

/// What is recorded for statistics of patterns.
pub(super) fn plan() -> RunPlan {
    RunPlan {
        sites: Sites::of(&[Site::Pattern, Site::Q, Site::K]),
        logits: Logits::Skip,
        pattern_budget_bytes: PATTERN_BYTES,
        ..RunPlan::default()
    }
}

/// What stands before the sums.
#[derive(Serialize, Deserialize)]
struct StateHeader {
    key: String,
    checksum: String,
    left_out: Vec<(usize, String)>,
    place: PassPlace,
}

/// Counts the tokens of a list; inputs that cannot be read are left out, and are so again in the pass. What a decoder writes by
/// itself is written for it first.
fn counted(order: StatisticsOrder<'_>, control: &Control<'_>) -> Result<TokenCounts, Cancelled> {
    let mut counts = TokenCounts::default();
    let items = &order.list.items;
    let writes = order.model.spec().stack(StackKind::Cross).is_some();
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Skip, ..RunPlan::default() };
    for (source, item) in items.iter().enumerate().filter(|(_, item)| item.content.text().is_some()) {
        control(Progress { stage: Stage::Encode, done: source, total: items.len() })?;
        let Ok(mut encoded) = order.model.encode(&input_of(&item.content, order.how)) else { continue };
        if writes && !encoded.tokens.contains_key(&Side::Decoder) {
            match order.model.forward(&encoded, &plan, &|_| {
                control(Progress { stage: Stage::Encode, done: source, total: items.len() })
            }) {
                Ok(capture) => drop(encoded.tokens.insert(Side::Decoder, capture.tokens(Side::Decoder).to_vec())),
                Err(ModelError::Cancelled(stop)) => return Err(stop),
                Err(_) => continue,
            }
        }
        counts.add(encoded.tokens.iter().map(|(side, tokens)| (*side, tokens.iter().map(known_token).collect())));
    }
    Ok(counts)
}

/// A name of everything that decides about the numbers but for the threads.
pub fn statistics_key(identity: &Fingerprint, order: StatisticsOrder<'_>) -> String {
    let numbers = Metric::ALL.map(Metric::name).join(" ");
    keys::both(&identity.clone().and(numbers.as_bytes()), order.model, order.list, order.how)
}

impl StatisticsPass {
    /// From the beginning.
    pub fn new(model: &Model) -> Self {
        Self {
            statistics: HeadStatistics::new(model.spec()),
            left_out: Vec::new(),
            place: PassPlace::default(),
            counts: None,
        }
    }

    /// What was added up so far.
    pub const fn statistics(&self) -> &HeadStatistics {
        &self.statistics
    }

    /// Inputs that were added or left out.
    pub fn n_done(&self) -> usize {
        self.statistics.inputs().len() + self.left_out.len()
    }

    /// Inputs that cannot be read, in their order.
    pub fn left_out(&self, list: &InputList) -> Vec<LeftOut> {
        let mut left_out: Vec<_> =
            self.left_out.iter().map(|(source, reason)| LeftOut::of(list, *source, reason.clone())).collect();
        left_out.sort_by_key(|left_out| left_out.source);
        left_out
    }

    /// Runs what is left, pack by pack; `told` hears after each.
    ///
    /// # Errors
    /// When `control` or `told` says stop; the next call goes on from there.
    pub fn run(
        &mut self,
        order: StatisticsOrder<'_>,
        control: &Control<'_>,
        told: &mut dyn FnMut(&Self) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        self.run_seen(order, control, told, &mut |_, _| {})
    }

    /// [`Self::run`]; `seen` is shown what was seen of each input, by its place in the list.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_seen(
        &mut self,
        order: StatisticsOrder<'_>,
        control: &Control<'_>,
        told: &mut dyn FnMut(&Self) -> Result<(), Cancelled>,
        seen: Seen<'_>,
    ) -> Result<(), Cancelled> {
        let items = &order.list.items;
        if self.counts.is_none() {
            self.counts = Some(counted(order, control)?);
        }
        while self.place.start < items.len() {
            let are_pictures = items[self.place.start].content.text().is_none();
            let most = chunk_size(are_pictures);
            let size = (self.place.start + FIRST_CHUNK).min(most);
            let end = (self.place.start + size).min(items.len());
            self.chunk((order, self.place.start..end), control, told, seen)?;
            self.place = PassPlace { start: end, n_packs: 0 };
        }
        Ok(())
    }

    /// The packs of a chunk that were not added yet.
    fn chunk(
        &mut self,
        (order, chunk): (StatisticsOrder<'_>, Range<usize>),
        control: &Control<'_>,
        told: &mut dyn FnMut(&Self) -> Result<(), Cancelled>,
        seen: Seen<'_>,
    ) -> Result<(), Cancelled> {
        let StatisticsOrder { model, list, how } = order;
        let (mut sources, mut ready, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for source in chunk {
            control(Progress { stage: Stage::Encode, done: source, total: list.items.len() })?;
            match model.encode(&input_of(&list.items[source].content, how)) {
                Ok(encoded) => {
                    sources.push(source);
                    ready.push(Some(encoded));
                }
                Err(error) => unreadable.push((source, sentence(&error))),
            }
        }
        if self.place.n_packs == 0 {
            // Of a chunk that goes on they were left out before.
            unreadable.retain(|(source, _)| !self.left_out.iter().any(|(known, _)| known == source));
            self.left_out.append(&mut unreadable);
        }
        let lengths: Vec<usize> =
            ready.iter().flatten().map(|input: &Encoded| input.tokens.values().map(Vec::len).sum()).collect();
        let plan = plan();
        for pack in packs(&lengths, PACK_TOKENS).into_iter().skip(self.place.n_packs) {
            let inputs: Vec<Encoded> = pack.iter().filter_map(|at| ready[*at].take()).collect();
            let captures = run_pack(model, &inputs, &plan, control)?;
            for (at, capture) in pack.iter().zip(captures) {
                match capture {
                    Ok(capture) => {
                        model.engine().install(|| self.statistics.add(sources[*at], &capture, self.counts.as_ref()));
                        seen(sources[*at], &capture);
                    }
                    Err(error) => self.left_out.push((sources[*at], sentence(&error))),
                }
            }
            self.place.n_packs += 1;
            told(self)?;
        }
        Ok(())
    }

    /// All of it, to go on from there another time.
    ///
    /// # Errors
    /// When JSON cannot be written.
    pub fn to_bytes(&self, key: &str) -> serde_json::Result<Vec<u8>> {
        let sums = self.statistics.to_bytes()?;
        let (left_out, place) = (self.left_out.clone(), self.place);
        let header = StateHeader { key: key.to_owned(), checksum: sha256(&sums), left_out, place };
        Ok([MAGIC, &serde_json::to_vec(&header)?, b"\n", &sums].concat())
    }

    /// What [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// When it is something else, or of something else.
    pub fn from_bytes(bytes: &[u8], key: &str, model: &Model) -> Result<Self, StateError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(StateError::Damaged)?;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(StateError::Damaged)?;
        let header: StateHeader = serde_json::from_slice(&rest[..end]).map_err(|_| StateError::Damaged)?;
        if header.key != key {
            return Err(StateError::Other);
        }
        let sums = &rest[end + 1..];
        if header.checksum != sha256(sums) {
            return Err(StateError::Damaged);
        }
        let statistics = HeadStatistics::from_bytes(sums, model.spec()).ok_or(StateError::Damaged)?;
        Ok(Self { statistics, left_out: header.left_out, place: header.place, counts: None })
    }
}

//! A folder with one file for each head over a list: sums come with the pass for statistics, then inputs that heads chose
//! are run once more, for as many heads at a time as there is memory for.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{StatisticsOrder, StatisticsPass, head_statistics::plan, input_of};
use crate::{
    analysis::{
        attention,
        detect::Probe,
        head_folder::{
            CloudPair, FolderHow, FolderScale, FolderTally, HeadCloud, HeadFile, SequenceId, ShownPart, SparseRows,
            StoredSequence, distance_histogram, name, plain_text, unit_histogram,
        },
        head_page::{Chosen, Intervals},
        head_statistics::{StackTable, telling_pairs},
    },
    capture::{Capture, Site},
    export::{ExportError, atomic_write},
    ids::{HeadId, StackKind},
    model::{Cancelled, Control, ModelError, Progress, RunPlan, Stage},
    spec::StackSpec,
    text::{counted, told, unreadable},
};

/// Bytes of sequences that are kept at a time.
const GROUP_BYTES: usize = 96 << 20;
/// Bars of the histogram of activations, from 0 to 1.
const N_BARS: usize = 50;
/// Pairs of the cloud of a head.
const CLOUD_PAIRS: usize = 1000;

/// What is written, and where.
#[derive(Clone, Copy, Debug)]
pub struct FolderOrder<'a> {
    pub folder: &'a Path,
    pub stack: StackKind,
    pub scale: FolderScale,
    /// What model and corpus are called.
    pub names: [&'a str; 2],
}

/// A folder that is about to be written: what the first pass adds up for it.
#[derive(Debug)]
pub struct FolderPass<'a> {
    order: FolderOrder<'a>,
    tally: FolderTally,
    /// Tokens of each input, by its place in the list.
    lengths: BTreeMap<usize, usize>,
    /// Width of the vectors of a head.
    width: usize,
}

/// Clouds that were written: of which heads, and the tokens of their sequences by name.
#[derive(Debug, Default)]
struct Clouds {
    heads: Vec<HeadId>,
    texts: BTreeMap<String, Vec<String>>,
}

/// The strongest pairs of a head so far, with their vectors.
#[derive(Debug, Default)]
struct CloudHeap(Vec<CloudVectors>);

/// A pair with its weight, and the output, query, key and value.
#[derive(Clone, Debug)]
struct CloudVectors {
    weight: f32,
    pair: CloudPair,
    vectors: [Vec<f32>; 4],
}

impl CloudHeap {
    /// Adds the strongest pairs of an input; of a head without these vectors none.
    fn add(&mut self, capture: &Capture, head: HeadId, input: usize) {
        let vectors =
            || Some([capture.layer(head)?.z()?.head(head.head)?, capture.q(head)?, capture.k(head)?, capture.v(head)?]);
        let (Some(vectors), Some(pattern)) = (vectors(), attention::pattern(capture, head)) else { return };
        let facts = Probe::new(capture, head.stack).into_facts();
        let mut pairs: Vec<_> =
            telling_pairs(&pattern, facts.tokens(), true).filter(|pair| pair.weight > 0.0).collect();
        pairs.sort_by(|a, b| b.weight.total_cmp(&a.weight).then((a.query, a.key).cmp(&(b.query, b.key))));
        pairs.truncate(CLOUD_PAIRS);
        let weakest = if self.0.len() < CLOUD_PAIRS { 0.0 } else { self.0.last().map_or(0.0, |last| last.weight) };
        for pair in pairs.into_iter().filter(|pair| pair.weight > weakest) {
            let places = [pair.query, pair.query, pair.key, pair.key];
            let vectors = [0, 1, 2, 3].map(|of| vectors[of].row(places[of]).unwrap_or_default().to_vec());
            let (query, key) = (pair.query as u32, pair.key as u32);
            let pair_of = CloudPair { sequence: input as u64, query, key };
            self.0.push(CloudVectors { weight: pair.weight, pair: pair_of, vectors });
        }
        self.0.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.pair.cmp(&b.pair)));
        self.0.truncate(CLOUD_PAIRS);
    }

    /// Their principal components; none of few pairs.
    fn laid_out(self) -> Option<HeadCloud> {
        if self.0.len() < 2 {
            return None;
        }
        let of = |kind: usize| (kind, self.0.iter().map(|of| of.vectors[kind].clone()).collect::<Vec<_>>());
        HeadCloud::of_vectors(self.0.iter().map(|of| of.pair).collect(), &[0, 1, 2, 3].map(of))
    }
}

/// What the files of a head are called.
fn file_name(head: HeadId) -> String {
    name::HEAD_PATTERN.replace("{layer}", &head.layer.to_string()).replace("{head}", &head.head.to_string())
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFolder {
    pub n_heads: usize,
    pub n_sequences: usize,
}

/// Why a folder is not written. Displays as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(
        "The folder is there and holds {found}, which would be mixed with what is written: name a new one: {}",
        .folder.display()
    )]
    Taken { folder: PathBuf, found: String },
    #[error("The folder cannot be made ({reason}): {}", .folder.display())]
    Folder { folder: PathBuf, reason: String },
    #[error("The stack {0} has no text on both sides of its attention: a folder of heads has tokens")]
    NoText(StackKind),
    #[error("The stack {0} attends from one sequence to another: a folder of heads has one sequence")]
    TwoSequences(StackKind),
    #[error(transparent)]
    Write(#[from] ExportError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("A file of the folder cannot be made: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<Cancelled> for FolderError {
    fn from(stop: Cancelled) -> Self {
        Self::Model(stop.into())
    }
}

impl<'a> FolderPass<'a> {
    /// Makes the folder, and marks it as one that is not whole.
    ///
    /// # Errors
    /// When there is something else in it, or it cannot be made, or the stack has no tokens of one text.
    pub fn begin(order: FolderOrder<'a>, heads: Vec<HeadId>) -> Result<Self, FolderError> {
        if order.stack.is_between() {
            return Err(FolderError::TwoSequences(order.stack));
        }
        make(order.folder)?;
        let tally = FolderTally::new(order.stack, heads, order.scale.kept);
        Ok(Self { order, tally, lengths: BTreeMap::new(), width: 0 })
    }

    /// Runs the first pass, and adds up what a folder has beside statistics.
    ///
    /// # Errors
    /// When `control` says stop, or the stack has no text.
    pub fn run(
        &mut self,
        pass: &mut StatisticsPass,
        order: StatisticsOrder<'_>,
        control: &Control<'_>,
    ) -> Result<(), FolderError> {
        let stack = self.order.stack;
        let no_text = Cell::new(false);
        let mut seen = |source: usize, capture: &Capture| {
            if capture.picture_side() == Some(stack.query_side()) {
                no_text.set(true);
                return;
            }
            self.lengths.insert(source, capture.query_tokens(stack).len());
            self.width =
                capture.model().stack(stack).and_then(|spec| spec.layers.first()).map_or(0, |layer| layer.d_head);
            let tally = &mut self.tally;
            order.model.engine().install(|| tally.add(capture));
        };
        let mut told = |_: &StatisticsPass| if no_text.get() { Err(Cancelled) } else { Ok(()) };
        let ran = pass.run_seen(order, control, &mut told, &mut seen);
        if no_text.get() {
            return Err(FolderError::NoText(stack));
        }
        Ok(ran?)
    }

    /// Runs what heads chose once more and writes all files; the folder is whole when the last one is there.
    ///
    /// # Errors
    /// When `control` says stop, a file cannot be written, or an input that was run cannot be run again.
    pub fn finish(
        &self,
        pass: &StatisticsPass,
        order: StatisticsOrder<'_>,
        control: &Control<'_>,
    ) -> Result<WrittenFolder, FolderError> {
        let tables = pass.statistics().tables();
        let Some(table) = tables.iter().find(|table| table.stack == self.order.stack) else {
            return Err(FolderError::NoText(self.order.stack));
        };
        let all: Vec<Vec<f32>> = table.heads.iter().map(|head| activations(pass, *head)).collect();
        let chosen: Vec<Vec<Chosen>> = all
            .iter()
            .map(|of| Intervals::of(of, self.order.scale.n_intervals).chosen(self.order.scale.n_samples))
            .collect();
        let groups = groups(&chosen.iter().map(|chosen| self.bytes_of(chosen)).collect::<Vec<_>>());
        let total: usize = groups.iter().map(|group| inputs_of(&chosen[group.clone()]).len()).sum();
        let (mut done, mut n_sequences) = (0, 0);
        let mut written = Clouds::default();
        let plan = RunPlan { sites: plan().sites.with(Site::V).with(Site::Z), ..plan() };
        for group in groups {
            let mut clouds: Vec<CloudHeap> = group.clone().map(|_| CloudHeap::default()).collect();
            let mut kept: Vec<Vec<Option<StoredSequence>>> =
                chosen[group.clone()].iter().map(|chosen| vec![None; chosen.len()]).collect();
            for (input, wanted) in inputs_of(&chosen[group.clone()]) {
                control(Progress { stage: Stage::Inputs, done, total })?;
                done += 1;
                let encoded = order.model.encode(&input_of(&order.list.items[input].content, order.how))?;
                let capture = order.model.forward(&encoded, &plan, control)?;
                for (nth, place) in wanted {
                    let at = group.start + nth;
                    clouds[nth].add(&capture, table.heads[at], input);
                    let activation = all[at].get(input).copied();
                    kept[nth][place] = self.sequence(&capture, table.heads[at], chosen[at][place], activation);
                }
            }
            for (nth, (kept, cloud)) in kept.into_iter().zip(clouds).enumerate() {
                let at = group.start + nth;
                let cloud = order.model.engine().install(|| cloud.laid_out());
                self.write_cloud(table.heads[at], cloud, &kept, &mut written)?;
                let sequences: Vec<StoredSequence> = kept.into_iter().flatten().collect();
                n_sequences += sequences.len();
                self.write_head((pass, table), table.heads[at], &all[at], sequences)?;
            }
        }
        self.write_index(table, order, &written)?;
        Ok(WrittenFolder { n_heads: table.heads.len(), n_sequences })
    }

    /// What sequences take in memory, about.
    fn bytes_of(&self, chosen: &[Chosen]) -> usize {
        let length = |chosen: &Chosen| self.lengths.get(&chosen.input).copied().unwrap_or(0);
        // An index and a weight of eight bytes together, and a token with its text.
        let sequences: usize = chosen.iter().map(|chosen| length(chosen) * (8 * self.order.scale.kept.most + 40)).sum();
        sequences + CLOUD_PAIRS * 4 * 4 * self.width
    }

    /// Writes the cloud of a head, if it has one, and keeps the tokens of its sequences.
    fn write_cloud(
        &self,
        head: HeadId,
        cloud: Option<HeadCloud>,
        kept: &[Option<StoredSequence>],
        written: &mut Clouds,
    ) -> Result<(), FolderError> {
        let Some(cloud) = cloud else { return Ok(()) };
        let folder = self.order.folder.join(name::CLOUDS);
        fs::create_dir_all(&folder).map_err(|error| not_made(&folder, &error))?;
        for sequence in kept.iter().flatten() {
            written.texts.entry(sequence.id.to_string()).or_insert_with(|| sequence.tokens.clone());
        }
        written.heads.push(head);
        write(&folder.join(file_name(head)), &cloud.to_json()?)
    }

    fn sequence(
        &self,
        capture: &Capture,
        head: HeadId,
        chosen: Chosen,
        activation: Option<f32>,
    ) -> Option<StoredSequence> {
        let pattern = attention::pattern(capture, head)?;
        let tokens = capture.query_tokens(self.order.stack).iter().map(|token| plain_text(&token.text)).collect();
        Some(StoredSequence {
            id: SequenceId::Number(chosen.input as u64),
            interval: Some(chosen.interval as u64),
            tokens,
            rows: SparseRows::of(&pattern, self.order.scale.kept),
            max_activation: activation.filter(|of| !of.is_nan()).map(|of| four_decimals(f64::from(of))),
        })
    }

    fn write_head(
        &self,
        (pass, table): (&StatisticsPass, &StackTable),
        head: HeadId,
        activations: &[f32],
        sequences: Vec<StoredSequence>,
    ) -> Result<(), FolderError> {
        let sums = pass.statistics().of_stack(table.stack).and_then(|stack| stack.head(head));
        let longest = self.lengths.values().copied().max().unwrap_or(0);
        let distances =
            sums.map(|sums| distance_histogram(sums.offsets(), longest)).filter(|of| !of.bin_values.is_empty());
        let [top_queries, top_keys] = self.tally.top_tokens(head);
        let of_inputs: Vec<f64> = activations.iter().filter(|of| !of.is_nan()).map(|of| f64::from(*of)).collect();
        let mut bars = vec![0.0; N_BARS];
        for activation in &of_inputs {
            bars[((activation * N_BARS as f64) as usize).min(N_BARS - 1)] += 1.0;
        }
        let n = of_inputs.len();
        let mut statistics = vec![("n_samples".to_owned(), n as f64)];
        if n > 0 {
            statistics
                .push(("mean_max_activation".to_owned(), four_decimals(of_inputs.iter().sum::<f64>() / n as f64)));
        }
        let weights =
            ShownPart { label: String::new(), description: String::new(), part: Ok(self.tally.weights(head)) };
        let file = HeadFile {
            sequences,
            distances,
            top_queries,
            top_keys,
            activations: Some(unit_histogram(&bars)),
            statistics,
            plots: vec![weights],
            ..HeadFile::default()
        };
        write(&self.order.folder.join(name::HEADS).join(file_name(head)), &file.to_json()?)
    }

    /// The files of the folder as a whole: that by which it is recognised comes last.
    fn write_index(&self, table: &StackTable, order: StatisticsOrder<'_>, clouds: &Clouds) -> Result<(), FolderError> {
        let spec = order.model.spec().stack(table.stack);
        let [model, dataset] = self.order.names;
        let how = FolderHow {
            model,
            dataset,
            table,
            n_layers: spec.map_or(0, |spec| spec.layers.len()),
            n_heads: spec.map_or(0, StackSpec::max_heads),
            causal: spec.is_some_and(|spec| spec.causal),
            scale: self.order.scale,
            clouds: &clouds.heads,
            n_listed: order.list.items.len(),
            longest: self.lengths.values().copied().max().unwrap_or(0),
            version: env!("CARGO_PKG_VERSION"),
        };
        let folder = self.order.folder;
        if !clouds.heads.is_empty() {
            let texts = folder.join(name::CLOUDS).join(name::CLOUD_SEQUENCES);
            write(&texts, &serde_json::to_vec(&clouds.texts)?)?;
        }
        let attributions = folder.join(name::ATTRIBUTIONS);
        fs::create_dir_all(&attributions).map_err(|error| not_made(&attributions, &error))?;
        write(&folder.join(name::CONFIG), &serde_json::to_vec_pretty(&how.config())?)?;
        write(&folder.join("server_config.json"), b"{}")?;
        write(&attributions.join(name::MANIFEST), b"{}")?;
        write(&folder.join(name::SCATTER), &serde_json::to_vec(&how.scatter())?)?;
        fs::remove_file(folder.join(name::UNFINISHED)).map_err(|error| not_made(folder, &error))
    }
}

/// By the place of an input in the list, NaN where it has none.
fn activations(pass: &StatisticsPass, head: HeadId) -> Vec<f32> {
    let statistics = pass.statistics();
    let sums = statistics.of_stack(head.stack).and_then(|stack| stack.head(head));
    let by_order = sums.map_or(&[][..], |sums| sums.activations());
    let n = statistics.inputs().iter().max().map_or(0, |last| *last as usize + 1);
    let mut all = vec![f32::NAN; n];
    for (source, activation) in statistics.inputs().iter().zip(by_order) {
        all[*source as usize] = *activation;
    }
    all
}

/// As all numbers of these files.
fn four_decimals(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn not_made(folder: &Path, error: &io::Error) -> FolderError {
    FolderError::Folder { folder: folder.to_owned(), reason: unreadable(error) }
}

/// Makes a folder, or takes one that is empty or was not finished.
fn make(folder: &Path) -> Result<(), FolderError> {
    let failed = |error: io::Error| not_made(folder, &error);
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            let unfinished = folder.join(name::UNFINISHED).is_file();
            if let Some(Ok(entry)) = entries.next().filter(|_| !unfinished) {
                let found = told(&entry.file_name().to_string_lossy()).into_owned();
                return Err(FolderError::Taken { folder: folder.to_owned(), found });
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    fs::create_dir_all(folder.join(name::HEADS)).map_err(failed)?;
    let words = b"This folder is not whole: it is being written, or whatever wrote it was stopped. The same command \
        begins it again.\n";
    write(&folder.join(name::UNFINISHED), words)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    Ok(atomic_write(path, |out| out.write_all(bytes))?)
}

/// Neighbouring heads whose sequences have room at a time.
fn groups(bytes: &[usize]) -> Vec<std::ops::Range<usize>> {
    let (mut groups, mut start, mut sum) = (Vec::new(), 0, 0);
    for (at, bytes) in bytes.iter().enumerate() {
        if at > start && sum + bytes > GROUP_BYTES {
            groups.push(start..at);
            (start, sum) = (at, 0);
        }
        sum += bytes;
    }
    if start < bytes.len() {
        groups.push(start..bytes.len());
    }
    groups
}

/// Inputs that some heads chose, in their order, each with those heads and the place among what they chose.
fn inputs_of(chosen: &[Vec<Chosen>]) -> BTreeMap<usize, Vec<(usize, usize)>> {
    let mut inputs: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (nth, chosen) in chosen.iter().enumerate() {
        for (place, chosen) in chosen.iter().enumerate() {
            inputs.entry(chosen.input).or_default().push((nth, place));
        }
    }
    inputs
}

impl WrittenFolder {
    /// Such as `8 heads with 160 sequences`.
    pub fn text(&self) -> String {
        format!("{} with {}", counted(self.n_heads, "head"), counted(self.n_sequences, "sequence"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_share_memory_and_none_is_left_out() {
        let half = GROUP_BYTES / 2;
        assert_eq!(groups(&[half, half, 1, 2 * GROUP_BYTES, 1]), [0..2, 2..3, 3..4, 4..5]);
        assert!(groups(&[]).is_empty());
        let chosen = |inputs: &[usize]| inputs.iter().map(|input| Chosen { input: *input, interval: 1 }).collect();
        let inputs = inputs_of(&[chosen(&[5, 2]), chosen(&[2])]);
        assert_eq!(inputs.into_iter().collect::<Vec<_>>(), [(2, vec![(0, 1), (1, 0)]), (5, vec![(0, 0)])]);
    }
}

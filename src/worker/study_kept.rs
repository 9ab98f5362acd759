//! What was learnt or counted over a corpus, kept on disk: asked again, also by the next program, it is not computed anew.

use std::{fs, io, path::Path, time::UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{
    corpus::{inputs_key, model_key},
    debate::PREPARATION,
    disk_cache::{CacheKey, DiskCache, Fingerprint},
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        explain::jacobian::{JacobianSums, LensFit},
        probe::{CorpusProbe, ProbeQuestion, ProbeSummary, SiteProbe},
        sae::CorpusFeatures,
    },
    model::Model,
    protocol::{BegunStudy, StudyOrder},
};

/// How results are written; another number makes all old ones unknown.
const FORMAT: &str = "attnscope study of a window 1";
/// Sums of lenses that take more are not kept.
const MOST_LENS_BYTES: usize = 1 << 29;

/// Where what one study comes to is kept.
#[derive(Clone, Debug)]
pub struct KeptStudy {
    scratch: DiskCache,
    key: CacheKey,
}

/// What is kept of a probe; numbers are their bits.
#[derive(Serialize, Deserialize)]
struct KeptProbe {
    left_out: Vec<(usize, String)>,
    n_texts: usize,
    n_items: [usize; 2],
    classes: Vec<String>,
    has_words: bool,
    sites: Vec<(String, Option<usize>, bool)>,
    numbers: Vec<u64>,
}

/// What stands before the sums of a lens.
#[derive(Serialize, Deserialize)]
struct LensHeader {
    n: usize,
    n_done: usize,
    left_out: Vec<(usize, String)>,
}

impl KeptStudy {
    /// Of a model known as `identity` and an order: its inputs and everything else that decides about the numbers. None of a
    /// dictionary that is not there.
    pub fn new(scratch: &DiskCache, (model, identity): (&Model, &Fingerprint), order: &StudyOrder) -> Option<Self> {
        let key = Fingerprint::new(FORMAT).and(env!("CARGO_PKG_VERSION").as_bytes());
        let key = key.and(model_key(identity, model).as_bytes()).and(inputs_key(&order.list, PREPARATION).as_bytes());
        let key = key.and(format!("{:?}", order.inputs).as_bytes());
        let key = match &order.begun {
            BegunStudy::Probe(question, _) => key.and(format!("probe {question:?}").as_bytes()),
            BegunStudy::Features(question, _) => {
                let files = folder_state(Path::new(&question.sae)).ok()?;
                key.and(format!("features {} {files:?}", question.texts).as_bytes())
            }
            BegunStudy::Lens(file, _) => key.and(format!("lens {}", file.skip_first).as_bytes()),
        };
        Some(Self { scratch: scratch.clone(), key: key.key() })
    }

    /// The probes that an order asks for, if they were fitted before.
    pub fn probe(&self, model: &Model, order: &StudyOrder, question: &ProbeQuestion) -> Option<CorpusProbe> {
        let kept: KeptProbe = serde_json::from_slice(&self.scratch.read(&self.key)?).ok()?;
        let left_out = kept.left_out.clone();
        Some(CorpusProbe {
            model: model.spec().name.clone(),
            corpus: order.corpus.clone(),
            question: question.clone(),
            inputs: order.inputs.clone(),
            left_out,
            summary: kept.summary()?,
        })
    }

    /// Keeps fitted probes.
    pub fn keep_probe(&self, found: &CorpusProbe) {
        if let Ok(bytes) = serde_json::to_vec(&KeptProbe::of(found)) {
            self.scratch.write(&self.key, &bytes);
        }
    }

    /// What was counted before of the features that an order asks for.
    pub fn features(&self, model: &Model, order: &StudyOrder, folder: &str) -> Option<CorpusFeatures> {
        let names = (model.spec().name.as_str(), order.corpus.as_str(), folder);
        let known = CorpusFeatures::from_bytes(&self.scratch.read(&self.key)?, names)?;
        (known.inputs == order.inputs).then_some(known)
    }

    /// Keeps what was counted of features so far.
    pub fn keep_features(&self, found: &CorpusFeatures) {
        if let Ok(bytes) = found.to_bytes() {
            self.scratch.write(&self.key, &bytes);
        }
    }

    /// What was added up before of a lens of a model, whose sums have the shapes of `empty`.
    pub fn lens(&self, empty: &JacobianSums) -> Option<LensFit> {
        let bytes = self.scratch.read(&self.key)?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let LensHeader { n, n_done, left_out } = serde_json::from_slice(&bytes[..end]).ok()?;
        let (numbers, []) = bytes[end + 1..].as_chunks::<8>() else { return None };
        let mut numbers = numbers.iter().copied().map(f64::from_le_bytes);
        let mut sums = JacobianSums { n, ..empty.clone() };
        for sum in sums.streams.iter_mut().chain(&mut sums.attention).flatten() {
            *sum = numbers.next()?;
        }
        numbers.next().is_none().then_some(LensFit { sums, n_done, left_out })
    }

    /// Keeps the sums of a lens, unless they are very large.
    pub fn keep_lens(&self, fit: &LensFit) {
        let all = || fit.sums.streams.iter().chain(&fit.sums.attention).flatten();
        if fit.n_done == 0 || 8 * all().count() > MOST_LENS_BYTES {
            return;
        }
        let header = LensHeader { n: fit.sums.n, n_done: fit.n_done, left_out: fit.left_out.clone() };
        let Ok(mut bytes) = serde_json::to_vec(&header) else { return };
        bytes.push(b'\n');
        bytes.extend(all().flat_map(|number| number.to_le_bytes()));
        self.scratch.write(&self.key, &bytes);
    }
}

impl KeptProbe {
    fn of(found: &CorpusProbe) -> Self {
        let ProbeSummary { n_texts, n_items, classes, majority, by_word, control_ceiling, sites } = &found.summary;
        let bits = |of: &Estimate| [of.value, of.low, of.high].map(f64::to_bits);
        let mut numbers = [bits(majority), by_word.as_ref().map_or([0; 3], bits)].concat();
        numbers.push(control_ceiling.to_bits());
        for site in sites {
            numbers.extend([&site.accuracy, &site.control, &site.selectivity].into_iter().flat_map(bits));
            numbers.push(site.learnt.to_bits());
        }
        Self {
            left_out: found.left_out.clone(),
            n_texts: *n_texts,
            n_items: *n_items,
            classes: classes.clone(),
            has_words: by_word.is_some(),
            sites: sites.iter().map(|site| (site.name.clone(), site.layer, site.is_converged)).collect(),
            numbers,
        }
    }

    fn summary(self) -> Option<ProbeSummary> {
        let mut numbers = self.numbers.into_iter().map(f64::from_bits);
        let mut number = || numbers.next();
        let mut estimate = || Some(Estimate { value: number()?, low: number()?, high: number()? });
        let (majority, by_word) = (estimate()?, estimate()?);
        let control_ceiling = number()?;
        let site = |(name, layer, is_converged)| {
            let mut estimate = || Some(Estimate { value: number()?, low: number()?, high: number()? });
            let [accuracy, control, selectivity] = [estimate()?, estimate()?, estimate()?];
            Some(SiteProbe { name, layer, accuracy, control, selectivity, learnt: number()?, is_converged })
        };
        Some(ProbeSummary {
            n_texts: self.n_texts,
            n_items: self.n_items,
            classes: self.classes,
            majority,
            by_word: Some(by_word).filter(|_| self.has_words),
            control_ceiling,
            sites: self.sites.into_iter().map(site).collect::<Option<_>>()?,
        })
    }
}

/// Names, lengths and times of the files of a folder: a dictionary that was trained anew is another one.
fn folder_state(folder: &Path) -> io::Result<Vec<(String, u64, u128)>> {
    let of = |entry: io::Result<fs::DirEntry>| -> io::Result<_> {
        let entry = entry?;
        let metadata = fs::metadata(entry.path())?;
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        Ok((entry.file_name().to_string_lossy().into_owned(), metadata.len(), changed))
    };
    let mut all = fs::read_dir(folder)?.map(of).collect::<io::Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

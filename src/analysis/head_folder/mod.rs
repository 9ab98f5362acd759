//! Folders with one file for each head over many inputs, as HeadVis (Anthropic, 2026) and its port in Neuronpedia have
//! them: what stands in their files, added up, written and read. Nothing here touches a disk.
//!
//! Of each row a file has the strongest weights alone ([`SparseRows`]), which sum to less than one.

mod attribution;
mod cloud;
mod index;
mod of_head;
mod sparse;
mod tally;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use crate::{
    capture::{Capture, CaptureParts, Computation, InputInfo, LayerCapture, ShapeError, StackCapture, Token},
    ids::{CaptureId, HeadId, Side},
    spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

pub use attribution::{AttributedPlace, Attribution, Circuit, FeaturePair, attributed, features_from_json};
pub use cloud::{CloudCluster, CloudLayout, CloudPair, CloudPanel, HeadCloud, MOST_LAYOUTS, PANELS};
pub use index::{FolderHow, FolderIndex, FolderMetric, FolderScale, IndexError, OwnPart, OwnParts};
pub use of_head::{HeadFile, Histogram, RefusedSequence, SequenceId, ShownPart, StoredSequence, TokenWeight};
pub use sparse::{KeptWeights, RowsError, SparseRows};
pub use tally::{FolderTally, distance_histogram, plain_text, unit_histogram};

/// A folder that was opened. The files of heads are read one by one, when their head is looked at.
#[derive(Clone, Debug)]
pub struct HeadFolder {
    pub path: PathBuf,
    pub index: FolderIndex,
    /// Heads that it names and has no file of.
    pub absent: BTreeSet<HeadId>,
}

impl HeadFolder {
    /// The family of the model of [`Self::capture`], which stands for a folder alone.
    pub const FAMILY: &str = "folder of heads";

    /// What to call it: the name of the folder.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Whether it names a head, with or without a file of it.
    pub fn names(&self, head: HeadId) -> bool {
        self.index.heads.binary_search(&head).is_ok()
    }

    /// What stands in place of a run of the model: its layout and the name of the folder, and no attention.
    ///
    /// # Errors
    /// Never of an index that was read.
    pub fn capture(&self, id: CaptureId) -> Result<Capture, ShapeError> {
        let (n_layers, n_heads) = self.index.grid;
        let kind = FolderIndex::STACK;
        let layers = vec![LayerSpec { scale: 1.0, ..LayerSpec::new(n_heads, 0) }; n_layers];
        let model = ModelSpec {
            name: self.index.model.clone(),
            family: Self::FAMILY.to_owned(),
            modality: Modality::Text(TextSpec::new(0, 0)),
            stacks: vec![StackSpec { kind, layers, causal: self.index.causal }],
            d_model: 0,
            n_params: 0,
            head: None,
            checkpoint: None,
        };
        let token = Token { text: self.name(), ..Token::default() };
        Capture::new(CaptureParts {
            id,
            model: Arc::new(model),
            input: InputInfo { text: self.index.dataset.clone(), ..InputInfo::default() },
            tokens: BTreeMap::from([(Side::Only, vec![token])]),
            stacks: vec![StackCapture {
                kind,
                layers: vec![LayerCapture::default(); n_layers],
                ..StackCapture::default()
            }],
            sequences: BTreeMap::new(),
            image: None,
            logits: None,
            prediction: None,
            generated: None,
            computation: Computation::default(),
            notes: self.index.notes.iter().map(|note| crate::text::capitalised(note)).collect(),
        })
    }

    /// Why the sequences of a head cannot be shown, as a sentence; none where they can.
    pub fn lacks(&self, head: HeadId) -> Option<String> {
        let file = || self.index.file_name(head);
        if !self.names(head) {
            Some(format!("The folder {} does not name {head}", self.name()))
        } else if self.absent.contains(&head) {
            Some(format!("The folder {} names {head} and has no file {}/{} of it", self.name(), name::HEADS, file()))
        } else {
            None
        }
    }
}

/// Names of the files.
pub mod name {
    /// What the folder is of, and how it was made.
    pub const CONFIG: &str = "config.json";
    /// Numbers of every head; a folder is recognised by it.
    pub const SCATTER: &str = "scatter_data.json";
    /// Folder with a file for each head.
    pub const HEADS: &str = "heads";
    /// Folder with a file for each head that has a cloud, beside one with the tokens of their sequences.
    pub const CLOUDS: &str = "umap";
    pub const CLOUD_SEQUENCES: &str = "sequences.json";
    /// Folder with pairs that are attributed to features, and the file that names them.
    pub const ATTRIBUTIONS: &str = "attributions";
    pub const MANIFEST: &str = "manifest.json";
    /// Lies in a folder while it is written, and goes last.
    pub const UNFINISHED: &str = "unfinished.txt";
    /// How the file of a head is called, when nothing else is said.
    pub const HEAD_PATTERN: &str = "L{layer}H{head}.json";
}

/// Under this name the files that are written have their pairs by weight.
const WEIGHTS_KEY: &str = "pairs_by_weight";

/// To so many decimals weights are written: their file has half of the size.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

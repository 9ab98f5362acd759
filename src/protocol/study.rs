//! Something that is learnt or counted over the corpus of a document: what is asked, and what came of it.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::{
        explain::jacobian::LensFit,
        probe::{CorpusProbe, ProbeQuestion, ProbeVectors},
        sae::{CorpusFeatures, FeatureQuestion},
    },
    corpus::list::InputList,
    figure::views::Study,
    ids::{DocumentId, ModelId},
};

/// A study of inputs of a corpus.
#[derive(Clone, Debug)]
pub struct StudyOrder {
    pub document: DocumentId,
    pub model: ModelId,
    /// All inputs, and what the corpus is called.
    pub list: Arc<InputList>,
    pub corpus: String,
    /// Those that it is of, by their places in the list.
    pub inputs: Vec<usize>,
    pub begun: BegunStudy,
    /// Whether nothing is run: what is kept of an earlier run is told alone.
    pub recalls: bool,
}

/// A question with what there is of its answer, to go on from there.
#[derive(Clone, Debug)]
pub enum BegunStudy {
    Probe(ProbeQuestion, ProbeVectors),
    Features(FeatureQuestion, CorpusFeatures),
    Lens(LensFile, LensFit),
}

/// A Jacobian lens to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LensFile {
    /// Where it is written.
    pub path: PathBuf,
    /// Positions at the beginning of each text that are left out; so is its last.
    pub skip_first: usize,
}

impl BegunStudy {
    /// Which study it is.
    pub const fn study(&self) -> Study {
        match self {
            Self::Probe(..) => Study::Probe,
            Self::Features(..) => Study::Features,
            Self::Lens(..) => Study::Lens,
        }
    }
}

/// What a study came to.
#[derive(Clone, Debug)]
pub enum StudyAnswer {
    Probe(Arc<CorpusProbe>),
    /// Of the inputs so far; others are on their way, or it was stopped.
    FeaturesSoFar(Arc<CorpusFeatures>),
    Features(Arc<CorpusFeatures>),
    /// A lens was written: where, and what is to be known of it, as a sentence.
    Lens(PathBuf, String),
}

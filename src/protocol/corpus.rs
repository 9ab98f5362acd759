//! A corpus to run: where its inputs come from, how they are run, and what came of them.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::{
        accuracy::Judgements,
        debate::{CorpusDebate, CorpusQuestion},
    },
    capture::groups::GroupedText,
    corpus::{
        Corpus, CorpusError, Kept,
        list::{Content, InputList, ListOptions},
    },
    ids::{DocumentId, ModelId},
};

use super::CaptureFile;

/// Tokens of a pack, unless something else is asked for: enough for the matrix products to be efficient,
/// few enough for first results to come soon.
const PACK_TOKENS: usize = 768;
/// Characters of a text that stand for it in messages.
const SHOWN: usize = 60;

/// A corpus to run for a document.
#[derive(Clone, Debug)]
pub struct CorpusOrder {
    pub document: DocumentId,
    /// By which model; captures need none.
    pub model: ModelId,
    pub source: CorpusSource,
    pub options: CorpusOptions,
    /// What is there already of the same inputs, to go on from there.
    pub known: Option<CorpusSoFar>,
}

impl CorpusOrder {
    /// From the beginning.
    pub fn new(document: DocumentId, model: ModelId, source: CorpusSource, options: CorpusOptions) -> Self {
        Self { document, model, source, options, known: None }
    }
}

/// Inputs of a corpus on which attention is tested as an explanation.
#[derive(Clone, Debug)]
pub struct DebateOrder {
    pub document: DocumentId,
    pub model: ModelId,
    /// All inputs, and what the corpus is called.
    pub list: Arc<InputList>,
    pub corpus: String,
    pub question: CorpusQuestion,
    /// Those that are tested, by their places in the list.
    pub inputs: Vec<usize>,
    /// What was measured before, to go on from there.
    pub known: Option<Arc<CorpusDebate>>,
    /// Whether it is answered with what is kept on disk alone, and nothing is run.
    pub recalls: bool,
}

/// Where inputs come from.
#[derive(Clone, Debug, PartialEq)]
pub enum CorpusSource {
    /// A text, table or JSON file, a folder of pictures, a capture file, or a corpus inside the program.
    Path {
        /// Which, such as `demo:sentences`.
        path: PathBuf,
        /// How a text or table is read.
        list: ListOptions,
    },
    Lines(Arc<str>),
    /// The inputs of a capture file, which were run already.
    Captures(CaptureFile),
}

impl CorpusSource {
    /// A file, a folder or a corpus inside the program, read in the usual way.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::Path { path: path.into(), list: ListOptions::default() }
    }

    /// What to call it.
    pub fn name(&self) -> String {
        match self {
            Self::Path { path, .. } => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            Self::Lines(_) => "Pasted lines".to_owned(),
            Self::Captures(file) => file.name().into_owned(),
        }
    }
}

/// What a corpus will take, told before the first pass.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusPlan {
    pub n_inputs: usize,
    /// Tokens of all of them, judged by the first ones.
    pub n_tokens: usize,
    /// Bytes that queries and keys will take.
    pub n_bytes: u64,
    /// How many of the first inputs there is room for, where there is none for all of them.
    pub n_fit: Option<usize>,
    /// Sentences about how the list was read.
    pub notes: Vec<String>,
}

/// What can be chosen about a corpus before it is run, and what it will take as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorpusLook {
    /// Names of the columns that can hold the text, the one that does first; empty where there are no columns.
    pub text_columns: Vec<String>,
    /// Names of all columns.
    pub columns: Vec<String>,
    /// Whether there is anything to choose.
    pub has_choice: bool,
    /// The beginnings of the first inputs.
    pub samples: Vec<String>,
    /// What it will take; `None` without a model.
    pub plan: Option<CorpusPlan>,
    /// Seconds that it will take, judged by its first pass; `None` before that.
    pub secs: Option<f64>,
}

/// What a model is asked about the inputs of a corpus.
#[derive(Clone, Debug)]
pub struct JudgeRequest {
    pub document: DocumentId,
    pub model: ModelId,
    pub list: Arc<InputList>,
    /// The column of the list with names or numbers of the right classes.
    pub label_column: Option<String>,
    /// What is said already, to go on from there.
    pub known: Arc<Judgements>,
}

/// What a model says of the inputs of a corpus.
#[derive(Clone, Debug)]
pub enum JudgeAnswer {
    /// Of the first inputs; the others are on their way.
    SoFar(Arc<Judgements>),
    Judged(Arc<Judgements>),
}

/// How far a corpus is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorpusProgress {
    /// Inputs that were run or left out.
    pub n_done: usize,
    pub n_inputs: usize,
    /// Those of them that an earlier run had kept.
    pub n_recalled: usize,
    /// Seconds that are left, judged by the passes so far.
    pub secs_left: Option<f64>,
}

/// A corpus as far as it was run.
#[derive(Clone, Debug)]
pub struct CorpusSoFar {
    /// All inputs, run or not.
    pub list: Arc<InputList>,
    /// What came of those that were run.
    pub corpus: Arc<Corpus>,
    /// Inputs that cannot be read, in their order.
    pub left_out: Vec<LeftOut>,
    /// Why not everything is in it that could be.
    pub full: Option<CorpusError>,
    /// The file with the captures, where the inputs were run already.
    pub file: Option<CaptureFile>,
    /// Whether this is all there will be.
    pub is_whole: bool,
}

/// How a corpus is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusOptions {
    /// Layers whose queries and keys are kept; `None` is all of them.
    pub layers: Option<Vec<usize>>,
    /// What is kept besides queries and keys.
    pub kept: Kept,
    /// Only the first so many inputs of the list; `None` is all of them.
    pub first: Option<usize>,
    /// About so many tokens go through the model at once.
    pub pack_tokens: usize,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self { layers: None, kept: Kept::default(), first: None, pack_tokens: PACK_TOKENS }
    }
}

/// An input that the model cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub source: usize,
    pub name: String,
    pub reason: String,
}

impl LeftOut {
    /// An input of a list, and why.
    pub fn of(list: &InputList, source: usize, reason: String) -> Self {
        let item = &list.items[source];
        let name = item.name.clone().unwrap_or_else(|| match &item.content {
            Content::Text(text) | Content::Grouped(GroupedText { text, .. }) => {
                let more = (text.chars().count() > SHOWN).then_some('…');
                text.chars().take(SHOWN).chain(more).collect()
            }
            Content::Picture(path) => path.display().to_string(),
            Content::BundledPicture(name) => name.clone(),
        });
        Self { source, name, reason }
    }
}

//! A probe of a corpus: what is asked, the vectors that are gathered for it, and what was found.

use serde::{Deserialize, Serialize};

use super::{ProbeItems, ProbeOptions, ProbeSite, ProbeSummary};
use crate::{capture::Site, text::counted};

/// Every layer, as it is written.
const ALL_LAYERS: &str = "all";

/// The vector that stands for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Mean over all tokens but special ones.
    #[default]
    Words,
    /// First token, such as CLS.
    First,
    /// Last token.
    Last,
}

vocabulary! {
    Pool: name, title;
    Words("words", "Mean over all tokens but special ones"),
    First("first", "First token, such as [CLS]"),
    Last("last", "Last token"),
}

/// What has a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labelling {
    /// Whole texts: a column with one label each.
    #[default]
    Texts,
    /// Words, as spaces part them: a column with as many labels, between spaces or bars.
    Words,
}

vocabulary! {
    Labelling: name, title;
    Texts("texts", "Texts"),
    Words("words", "Words"),
}

/// Layers in a row, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerSpan {
    pub first: usize,
    pub last: usize,
}

impl LayerSpan {
    /// From `2-5` or `3`; none from `all`.
    ///
    /// # Errors
    /// Says how layers are written.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if text == ALL_LAYERS {
            return Ok(None);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let span = || Some(Self { first: first.trim().parse().ok()?, last: last.trim().parse().ok()? });
        let span = span().filter(|Self { first, last }| first <= last);
        span.map(Some).ok_or_else(|| format!("layers are written as {ALL_LAYERS}, 3 or 2-5: {text} was given"))
    }

    /// As it is written.
    pub fn text(span: Option<Self>) -> String {
        span.map_or_else(|| ALL_LAYERS.to_owned(), |Self { first, last }| format!("{first}-{last}"))
    }
}

/// Sites that have one vector for each token: those that can be probed.
pub fn probed_sites() -> impl Iterator<Item = Site> {
    let is_probed = |site: &Site| site.is_of_layer() && (!site.is_per_head() || *site == Site::Z);
    Site::ALL.into_iter().filter(is_probed)
}

/// What is asked of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeQuestion {
    pub site: Site,
    /// One head of a site with heads; all side by side otherwise.
    pub head: Option<usize>,
    /// All layers where none are named.
    pub layers: Option<LayerSpan>,
    /// The column with the labels, by its name.
    pub column: String,
    pub labelling: Labelling,
    /// Of whole texts.
    pub pool: Pool,
    pub options: ProbeOptions,
}

impl Default for ProbeQuestion {
    fn default() -> Self {
        Self {
            site: Site::ResidPost,
            head: None,
            layers: None,
            column: String::new(),
            labelling: Labelling::default(),
            pool: Pool::default(),
            options: ProbeOptions::default(),
        }
    }
}

impl ProbeQuestion {
    /// Whether a layer is probed.
    pub fn has(&self, layer: usize) -> bool {
        self.layers.is_none_or(|LayerSpan { first, last }| (first..=last).contains(&layer))
    }

    /// Whether the vectors before all layers are probed: those that the first layer reads of the stream.
    pub fn has_embeddings(&self) -> bool {
        self.site == Site::ResidPost && self.has(0)
    }

    /// The column of the labels among the columns of a corpus.
    ///
    /// # Errors
    /// When there is no such column: a clause that names those that there are.
    pub fn place(&self, columns: &[String]) -> Result<usize, String> {
        columns.iter().position(|known| *known == self.column).ok_or_else(|| {
            let known = if columns.is_empty() { "none".to_owned() } else { columns.join(", ") };
            format!("the corpus has no column {}: it has {known}", self.column)
        })
    }

    /// The site in words, with its head.
    pub fn site_text(&self) -> String {
        let head = self.head.map(|head| format!(" of head {head}")).unwrap_or_default();
        format!("{}{head}", self.site.name())
    }
}

/// Labelled vectors of each layer as far as they are gathered, and inputs without.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeVectors {
    pub items: ProbeItems,
    /// Words by their numbers.
    pub words: Vec<String>,
    pub sites: Vec<ProbeSite>,
    pub left_out: Vec<(usize, String)>,
    /// How many of the inputs are done.
    pub n_done: usize,
}

/// Probes of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusProbe {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub question: ProbeQuestion,
    /// The inputs that it is of, by their places in the list.
    pub inputs: Vec<usize>,
    /// Those of them without vectors or labels, and why.
    pub left_out: Vec<(usize, String)>,
    pub summary: ProbeSummary,
}

impl CorpusProbe {
    /// What was probed, and the sentence that says how it was found.
    pub fn said(&self) -> [String; 2] {
        let ProbeSummary { n_texts, n_items: [learnt, tried], classes, by_word, .. } = &self.summary;
        let tried = if by_word.is_some() {
            format!("{}, tried on {} of other texts", counted(*learnt, "word"), counted(*tried, "word"))
        } else {
            format!("{}, tried on {tried} others", counted(*learnt, "text"))
        };
        let how = format!(
            "Linear probes of {} for {} ({} classes) over {}: learnt from {tried}",
            self.question.site_text(),
            self.question.column,
            classes.len(),
            counted(*n_texts, "text"),
        );
        [format!("{}, {}", self.model, self.corpus), how]
    }
}

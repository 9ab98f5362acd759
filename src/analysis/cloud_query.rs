//! Queries about a whole cloud that take a while: numbers of every head, a search in all of them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    PointCloud,
    aggregate::{self, AggregateError, OffsetMean, PositionMean},
    distance_fidelity::{self, HeadPlot, HeadProxy},
    head_folder::{HeadFile, HeadFolder},
    head_page::{HeadPage, PageSize, page_of_cloud},
    head_statistics::{ContrastedTables, Families, Fingerprints, StackTable, contrast_of_clouds, table_of_cloud},
    point_set::{PointSet, Spot},
    projection::{LayoutOptions, ProjectionOptions},
    sae::CorpusFeatures,
    search::{self, Hits, RankedHead, SearchQuery},
    welch::Correction,
};
use crate::{
    corpus::{CorpusView, Selection},
    ids::{CloudId, HeadId, StackKind},
    text::capitalised,
};

/// Pairs of query and key that a plot shows.
const PLOTTED_PAIRS: usize = 4000;

/// Inputs of a first answer.
const FIRST_INPUTS: usize = 20;

/// A question about a cloud.
#[derive(Clone, Debug)]
pub struct Survey {
    pub cloud: PointCloud,
    /// About which of its stacks.
    pub stack: StackKind,
    /// How queries and keys are scaled and moved; the layout has no part in it.
    pub options: ProjectionOptions,
    pub question: CloudQuery,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum CloudQuery {
    /// How distance stands for the dot product, in every head.
    Proxies,
    /// The same in one head, with pairs to be drawn.
    Plot(HeadId),
    /// Which tokens are meant, and in which heads they lie together.
    Search(SearchQuery),
    /// A head's mean attention by position and by offset, and for each value of an annotation.
    Average(HeadId, Option<String>),
    /// What every head attends to, in numbers.
    Statistics,
    /// The same, held against what they attend to in another cloud.
    Contrast(OtherCloud, Correction),
    /// At most so many families of the heads of a table.
    Families(KnownTable, usize),
    /// One head over all inputs.
    Page(HeadId),
    /// The file of a head, in a folder that was opened.
    Stored(StoredHead),
    /// Which features of a dictionary fire where one does.
    FiresWith(KnownFeatures, usize),
}

/// What was counted of the features of a dictionary.
#[derive(Clone, Debug)]
pub struct KnownFeatures(pub Arc<CorpusFeatures>);

impl PartialEq for KnownFeatures {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A head of a folder.
#[derive(Clone, Debug)]
pub struct StoredHead {
    pub folder: Arc<HeadFolder>,
    pub head: HeadId,
}

impl PartialEq for StoredHead {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.folder, &other.folder) && self.head == other.head
    }
}

/// An answer with numbers of all heads: [`CloudResult::Statistics`] or [`CloudResult::Contrast`].
#[derive(Clone, Debug)]
pub struct KnownTable(pub Arc<CloudResult>);

impl PartialEq for KnownTable {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A cloud that another one is held against.
#[derive(Clone, Debug)]
pub struct OtherCloud(pub PointCloud);

impl PartialEq for OtherCloud {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

/// Questions of one kind take each other's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// [`CloudQuery::Proxies`].
    Proxies,
    /// [`CloudQuery::Plot`].
    Plot,
    /// [`CloudQuery::Search`].
    Search,
    /// [`CloudQuery::Average`].
    Average,
    /// [`CloudQuery::Statistics`].
    Statistics,
    /// [`CloudQuery::Contrast`].
    Contrast,
    /// [`CloudQuery::Families`].
    Families,
    /// [`CloudQuery::Page`].
    Page,
    /// [`CloudQuery::Stored`].
    Stored,
    /// [`CloudQuery::FiresWith`].
    FiresWith,
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyKey {
    cloud: CloudId,
    stack: StackKind,
    options: ProjectionOptions,
    question: CloudQuery,
}

/// Mean attention of one head.
#[derive(Clone, Debug)]
pub struct Average {
    pub head: HeadId,
    pub positions: PositionMean,
    /// By how far keys are from queries.
    pub offsets: OffsetMean,
    /// The same for each value of the annotation that was named.
    pub groups: Vec<(String, OffsetMean)>,
}

/// What was found.
#[derive(Clone, Debug)]
pub enum CloudResult {
    Proxies(Vec<HeadProxy>),
    Plot(Box<HeadPlot>),
    Average(Box<Average>),
    Search(Box<Found>),
    Statistics(Box<StackTable>),
    Contrast(Box<ContrastedTables>),
    Families(Arc<Families>),
    Page(Box<HeadPage>),
    Stored(Arc<HeadFile>),
    /// Features with their correlations, the largest first.
    FiresWith(Arc<Vec<(usize, f64)>>),
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which points.
    pub hits: Hits,
    pub points: Arc<PointSet>,
    /// Heads in which hits lie together come first; empty where nothing was found.
    pub ranked: Vec<RankedHead>,
    /// The score of each head that has one.
    pub scores: Arc<BTreeMap<HeadId, f32>>,
}

impl Found {
    fn new(hits: Hits, ranked: Vec<RankedHead>) -> Self {
        let spots = |points: &[u32], spot: fn(usize) -> Spot| {
            points.iter().map(|point| spot(*point as usize)).collect::<Vec<_>>()
        };
        let points = [spots(&hits.queries, Spot::Query), spots(&hits.keys, Spot::Key)].concat();
        let scores = ranked.iter().filter_map(|ranked| Some((ranked.head, ranked.found.score()? as f32))).collect();
        Self { hits, points: Arc::new(points.into_iter().collect()), ranked, scores: Arc::new(scores) }
    }
}

impl CloudResult {
    /// The numbers of all heads; of two sides those of the first.
    pub fn table(&self) -> Option<&StackTable> {
        match self {
            Self::Statistics(table) => Some(table),
            Self::Contrast(found) => Some(&found.sides[0]),
            Self::Proxies(_)
            | Self::Plot(_)
            | Self::Average(_)
            | Self::Search(_)
            | Self::Families(_)
            | Self::Page(_)
            | Self::Stored(_)
            | Self::FiresWith(_) => None,
        }
    }
}

impl CloudQuery {
    /// Its kind.
    pub const fn kind(&self) -> QuestionKind {
        match self {
            Self::Proxies => QuestionKind::Proxies,
            Self::Plot(_) => QuestionKind::Plot,
            Self::Search(_) => QuestionKind::Search,
            Self::Average(..) => QuestionKind::Average,
            Self::Statistics => QuestionKind::Statistics,
            Self::Contrast(..) => QuestionKind::Contrast,
            Self::Families(..) => QuestionKind::Families,
            Self::Page(_) => QuestionKind::Page,
            Self::Stored(_) => QuestionKind::Stored,
            Self::FiresWith(..) => QuestionKind::FiresWith,
        }
    }
}

impl QuestionKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Proxies,
        Self::Plot,
        Self::Search,
        Self::Average,
        Self::Statistics,
        Self::Contrast,
        Self::Families,
        Self::Page,
        Self::Stored,
        Self::FiresWith,
    ];
}

impl SurveyKey {
    /// Whether both speak of the same points, so that one answer can stand in for the other for a moment.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        // The file of one head says nothing of another head, nor a feature of another one, not for a moment.
        let is_of_another = match (&self.question, &other.question) {
            (CloudQuery::Stored(one), CloudQuery::Stored(another)) => one != another,
            (CloudQuery::FiresWith(..), CloudQuery::FiresWith(..)) => self.question != other.question,
            _ => false,
        };
        (self.cloud, self.stack) == (other.cloud, other.stack) && !is_of_another
    }

    /// Whether it is the page of a head.
    pub fn is_page_of(&self, head: HeadId) -> bool {
        self.question == CloudQuery::Page(head)
    }

    /// Whether all that it is about is still there.
    pub fn holds(&self, is_there: impl Fn(CloudId) -> bool) -> bool {
        let other = match &self.question {
            CloudQuery::Contrast(other, _) => Some(other.0.id()),
            _ => None,
        };
        is_there(self.cloud) && other.is_none_or(is_there)
    }
}

impl Survey {
    /// Everything that the answer depends on.
    pub fn key(&self) -> SurveyKey {
        // What is told of patterns knows no joint space.
        let options = match self.question {
            CloudQuery::Average(..)
            | CloudQuery::Statistics
            | CloudQuery::Contrast(..)
            | CloudQuery::Families(..)
            | CloudQuery::Page(_)
            | CloudQuery::Stored(_)
            | CloudQuery::FiresWith(..) => ProjectionOptions::default(),
            _ => ProjectionOptions { layout: LayoutOptions::default(), ..self.options },
        };
        SurveyKey { cloud: self.cloud.id(), stack: self.stack, options, question: self.question.clone() }
    }

    /// The same question about the first inputs alone, where all of them take a while and some give a first answer.
    pub fn first(&self) -> Option<Self> {
        let PointCloud::Inputs(view) = &self.cloud else { return None };
        let inputs = view.selection().inputs();
        if self.question != CloudQuery::Statistics || inputs.len() < 2 * FIRST_INPUTS {
            return None;
        }
        let first = Selection::of(inputs.iter().copied().take(FIRST_INPUTS));
        let view = CorpusView::new(Arc::clone(view.corpus()), first);
        Some(Self { cloud: PointCloud::Inputs(Arc::new(view)), question: CloudQuery::Statistics, ..*self })
    }

    /// Finds out. `progress(done, total)` is called between heads and answers whether to go on; `None` when it said
    /// no.
    ///
    /// # Errors
    /// One sentence: what is wrong with the question, or that there are no queries and keys.
    pub fn answer(&self, progress: &mut dyn FnMut(usize, usize) -> bool) -> Option<Result<CloudResult, String>> {
        let Self { cloud, stack, options, question } = self;
        // What was counted needs no queries and keys.
        if let CloudQuery::FiresWith(known, feature) = question {
            let found = known.0.activations.correlated(*feature, known.0.d_sae);
            return progress(1, 1).then(|| Ok(CloudResult::FiresWith(Arc::new(found))));
        }
        if let Some(reason) = cloud.lacks(*stack, options.space) {
            return Some(Err(capitalised(&reason)));
        }
        match question {
            CloudQuery::Proxies => {
                distance_fidelity::proxies(cloud, *stack, *options, true, progress).map(CloudResult::Proxies).map(Ok)
            }
            CloudQuery::Plot(head) => {
                let plot = distance_fidelity::plot(cloud, *head, *options, PLOTTED_PAIRS);
                Some(plot.map(|plot| CloudResult::Plot(Box::new(plot))).ok_or_else(|| {
                    format!(
                        "The queries and keys of {head} cannot be compared: they were not recorded, or are not finite"
                    )
                }))
            }
            CloudQuery::Statistics => {
                let table = table_of_cloud(cloud, *stack, progress)?;
                Some(table.map(|table| CloudResult::Statistics(Box::new(table))))
            }
            CloudQuery::Contrast(other, correction) => {
                if let Some(reason) = other.0.lacks(*stack, options.space) {
                    return Some(Err(format!("On the other side {reason}")));
                }
                let tables = contrast_of_clouds([cloud, &other.0], *stack, *correction, progress)?;
                Some(tables.map(|tables| CloudResult::Contrast(Box::new(tables))))
            }
            CloudQuery::Families(known, n) => Some(match known.0.table() {
                Some(table) => Ok(CloudResult::Families(Arc::new(Fingerprints::of(table).families(*n)))),
                None => Err("There are no numbers of all heads to tell families by".to_owned()),
            }),
            CloudQuery::Page(head) => {
                let page = page_of_cloud(cloud, *head, PageSize::default(), progress)?;
                Some(page.map(|page| CloudResult::Page(Box::new(page))))
            }
            // Whoever has the disk reads it.
            CloudQuery::Stored(stored) => Some(Err(format!("The file of {} was not read", stored.head))),
            CloudQuery::FiresWith(..) => None,
            CloudQuery::Average(head, annotation) => average(cloud, *head, annotation.as_deref(), progress),
            CloudQuery::Search(search) => match search.find(cloud, *stack, options.space) {
                Err(error) => Some(Err(error.to_string())),
                Ok(hits) => {
                    let ranked = if hits.is_empty() {
                        Vec::new()
                    } else {
                        search::rank(cloud, *stack, &hits, *options, progress)?
                    };
                    Some(Ok(CloudResult::Search(Box::new(Found::new(hits, ranked)))))
                }
            },
        }
    }
}

fn average(
    cloud: &PointCloud,
    head: HeadId,
    annotation: Option<&str>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<CloudResult, String>> {
    let n = cloud.n_inputs();
    let mut found = || {
        let positions = aggregate::by_position(cloud, head, &mut |nth| progress(nth, 2 * n))?;
        let (offsets, groups) = aggregate::by_offset(cloud, head, annotation, &mut |nth| progress(n + nth, 2 * n))?;
        Ok(CloudResult::Average(Box::new(Average { head, positions, offsets, groups })))
    };
    match found() {
        Err(AggregateError::Stopped) => None,
        answer => Some(answer.map_err(|error| error.to_string())),
    }
}

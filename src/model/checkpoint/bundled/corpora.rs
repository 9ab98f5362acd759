//! Corpora inside the program: sentences with their sources, pairs of translations, reviews, reviews with the words that
//! decide them, and pictures drawn by `assets/corpora/pictures.py`.

/// A corpus inside the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundledCorpus {
    /// The bytes of a table with a column `text`.
    Table(&'static [u8]),
    /// Labels and names of sample pictures.
    Pictures(Vec<(&'static str, &'static str)>),
}

const SENTENCES: &str = "demo:sentences";
const DRAWN: &str = "demo:pictures";
const PAIRS: &str = "demo:pairs";
const REVIEWS: &str = "demo:reviews";
const RATIONALES: &str = "demo:rationales";

macro_rules! picture {
    ($label:literal, $name:literal) => {
        ($label, $name, include_bytes!(concat!("../../../../assets/corpora/pictures/", $name)))
    };
}

/// Label, name and file of each picture.
pub(super) static PICTURES: [(&str, &str, &[u8]); 32] = [
    picture!("circle", "circle-1.png"),
    picture!("circle", "circle-2.png"),
    picture!("circle", "circle-3.png"),
    picture!("circle", "circle-4.png"),
    picture!("ring", "ring-1.png"),
    picture!("ring", "ring-2.png"),
    picture!("ring", "ring-3.png"),
    picture!("ring", "ring-4.png"),
    picture!("square", "square-1.png"),
    picture!("square", "square-2.png"),
    picture!("square", "square-3.png"),
    picture!("square", "square-4.png"),
    picture!("star", "star-1.png"),
    picture!("star", "star-2.png"),
    picture!("star", "star-3.png"),
    picture!("star", "star-4.png"),
    picture!("stripes", "stripes-1.png"),
    picture!("stripes", "stripes-2.png"),
    picture!("stripes", "stripes-3.png"),
    picture!("stripes", "stripes-4.png"),
    picture!("triangle", "triangle-1.png"),
    picture!("triangle", "triangle-2.png"),
    picture!("triangle", "triangle-3.png"),
    picture!("triangle", "triangle-4.png"),
    picture!("wave", "wave-1.png"),
    picture!("wave", "wave-2.png"),
    picture!("wave", "wave-3.png"),
    picture!("wave", "wave-4.png"),
    picture!("cross", "cross-1.png"),
    picture!("cross", "cross-2.png"),
    picture!("cross", "cross-3.png"),
    picture!("cross", "cross-4.png"),
];

/// Names of the corpora inside the program.
pub fn corpora() -> impl Iterator<Item = &'static str> {
    [SENTENCES, DRAWN, PAIRS, REVIEWS, RATIONALES].into_iter()
}

/// The corpus called `name`.
pub fn corpus(name: &str) -> Option<BundledCorpus> {
    match name {
        SENTENCES => Some(BundledCorpus::Table(include_bytes!("../../../../assets/corpora/sentences.csv"))),
        PAIRS => Some(BundledCorpus::Table(include_bytes!("../../../../assets/corpora/pairs.tsv"))),
        REVIEWS => Some(BundledCorpus::Table(include_bytes!("../../../../assets/corpora/reviews.csv"))),
        RATIONALES => Some(BundledCorpus::Table(include_bytes!("../../../../assets/corpora/rationales.csv"))),
        DRAWN => Some(BundledCorpus::Pictures(PICTURES.iter().map(|(label, name, _)| (*label, *name)).collect())),
        _ => None,
    }
}

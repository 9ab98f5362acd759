//! Heads of syntax: how often the strongest weight between words goes along a relation of a treebank, and how attention
//! goes from one class of words to another.
//!
//! Of every other sentence it is seen which head and which fixed offset do best, and the others tell how well they do: the
//! best of many heads on the same words would do well by chance.

use std::collections::BTreeMap;

use super::{
    explain::{
        dense::Dense,
        report::{LabQuestion, MethodSpec},
        syntax::{OFFSETS, predicted_heads},
    },
    lengths::{Estimate, wilson},
};
use crate::ids::HeadId;

/// What `attnscope analyze syntax` says of itself.
pub const SYNTAX: MethodSpec = MethodSpec {
    name: "syntax",
    title: "Heads of syntax",
    question: LabQuestion::Believe,
    about: "How often the strongest weight of a word goes to its syntactic head, or to its dependent, by relation of a treebank, \
            beside the best fixed offset",
    example: "--model demo:bert --corpus trees.conllu --out syntax.svg",
    caveat: "A head that finds a relation attends to it; whether the model uses it is another question, and most relations are \
             short, so that a fixed offset finds many of them.",
    formula: "weight(w → v) = Σ over pieces of v, mean over pieces of w; found: argmax over other words, those that a causal \
              mask hides left out; head and offset are chosen on every other sentence, shares are of the others",
    source: "Clark et al. 2019; Voita et al. 2019",
    values: &[],
    ..MethodSpec::EMPTY
};

/// All relations together.
const ALL: &str = "all";

/// Which way attention goes along a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkWay {
    /// From a word to its syntactic head.
    ToHead,
    /// From a syntactic head to its dependent.
    ToDependent,
}

vocabulary! {
    LinkWay: name, title;
    ToHead("to-head", "dependent → head"),
    ToDependent("to-dependent", "head → dependent"),
}

/// The words of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordTree {
    /// Of each word its syntactic head, from 0; none of the root, and where it is not known.
    pub heads: Vec<Option<usize>>,
    /// Of each word the relation to its head.
    pub relations: Vec<String>,
    /// Of each word its class; empty where classes are not known.
    pub classes: Vec<String>,
}

/// Words of one half of the sentences in one relation and way, and how many each head and offset finds.
#[derive(Clone, Debug, Default, PartialEq)]
struct HalfHits {
    n: usize,
    /// By head.
    of_heads: Vec<usize>,
    /// By offset.
    of_offsets: Vec<usize>,
}

/// Attention from one class to another.
#[derive(Clone, Debug, Default, PartialEq)]
struct ClassSum {
    n_queries: usize,
    /// Sum of the shares of the words that can be seen.
    visible: f64,
    /// By head.
    weights: Vec<f64>,
}

/// Counts over sentences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTally {
    heads: Vec<HeadId>,
    n_sentences: usize,
    of: BTreeMap<(String, LinkWay), [HalfHits; 2]>,
    classes: BTreeMap<(String, String), ClassSum>,
}

/// A relation one way.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    pub relation: String,
    pub way: LinkWay,
    /// Words that were chosen on, and those that tell how well.
    pub n: [usize; 2],
    pub head: HeadId,
    pub found: Estimate,
    /// The offset that does best, and how well.
    pub offset: isize,
    pub by_offset: f64,
}

/// Attention of the head that goes most from one class to another.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRow {
    pub query: String,
    pub key: String,
    pub n_queries: usize,
    pub head: HeadId,
    /// Mean share of the weight between words.
    pub weight: f64,
    /// Mean share of the words that can be seen.
    pub visible: f64,
}

impl LinkTally {
    /// No sentence yet of these heads.
    pub fn new(heads: Vec<HeadId>) -> Self {
        Self { heads, ..Self::default() }
    }

    /// The heads, in the order in which maps are given.
    pub fn heads(&self) -> &[HeadId] {
        &self.heads
    }

    /// Adds a sentence: attention between its words for each head, of a causal model only backwards.
    pub fn add(&mut self, tree: &WordTree, maps: &[Dense], causal: bool) {
        let half = self.n_sentences % 2;
        self.n_sentences += 1;
        let can_see = |query: usize, key: usize| query != key && (!causal || key < query);
        for way in LinkWay::ALL {
            let gold: Vec<Option<usize>> = (0..)
                .zip(&tree.heads)
                .map(|(word, head)| {
                    head.filter(|head| match way {
                        LinkWay::ToHead => can_see(word, *head),
                        LinkWay::ToDependent => can_see(*head, word),
                    })
                })
                .collect();
            let found: Vec<Vec<Option<usize>>> =
                maps.iter().map(|map| predicted_heads(&seen(map, &can_see), way == LinkWay::ToDependent)).collect();
            for (word, head) in gold.iter().enumerate().filter_map(|(word, head)| Some((word, (*head)?))) {
                let relation = tree.relations.get(word).map_or("", String::as_str);
                for name in [relation, ALL] {
                    let halves = self.of.entry((name.to_owned(), way)).or_default();
                    let hits = &mut halves[half];
                    hits.n += 1;
                    hits.of_heads.resize(maps.len(), 0);
                    for (hit, found) in hits.of_heads.iter_mut().zip(&found) {
                        *hit += usize::from(found[word] == Some(head));
                    }
                    hits.of_offsets.resize(OFFSETS.count(), 0);
                    for (hit, offset) in hits.of_offsets.iter_mut().zip(OFFSETS) {
                        *hit += usize::from(word.checked_add_signed(offset) == Some(head));
                    }
                }
            }
        }
        self.add_classes(tree, maps, &can_see);
    }

    fn add_classes(&mut self, tree: &WordTree, maps: &[Dense], can_see: &dyn Fn(usize, usize) -> bool) {
        for (query, class) in tree.classes.iter().enumerate() {
            let keys: Vec<usize> = (0..tree.classes.len()).filter(|key| can_see(query, *key)).collect();
            let totals: Vec<f64> =
                maps.iter().map(|map| keys.iter().map(|key| map.at(query, *key)).sum::<f64>()).collect();
            if keys.is_empty() || totals.contains(&0.0) {
                continue;
            }
            let mut others: Vec<&String> = keys.iter().map(|key| &tree.classes[*key]).collect();
            others.sort_unstable();
            others.dedup();
            for other in others {
                let sum = self.classes.entry((class.clone(), other.clone())).or_default();
                let of: Vec<usize> = keys.iter().copied().filter(|key| tree.classes[*key] == *other).collect();
                sum.n_queries += 1;
                sum.visible += of.len() as f64 / keys.len() as f64;
                sum.weights.resize(maps.len(), 0.0);
                for ((weight, map), total) in sum.weights.iter_mut().zip(maps).zip(&totals) {
                    *weight += of.iter().map(|key| map.at(query, *key)).sum::<f64>() / total;
                }
            }
        }
    }

    /// How many sentences were added.
    pub const fn n_sentences(&self) -> usize {
        self.n_sentences
    }

    /// Relations with at least so many words in either half, the commonest first; all of them together come before.
    pub fn rows(&self, least: usize) -> Vec<LinkRow> {
        let mut rows: Vec<LinkRow> = self
            .of
            .iter()
            .filter(|(_, [chosen, told])| chosen.n.min(told.n) >= least.max(1))
            .filter_map(|((relation, way), [chosen, told])| {
                let head = best(&chosen.of_heads)?;
                let offset = best(&chosen.of_offsets)?;
                Some(LinkRow {
                    relation: relation.clone(),
                    way: *way,
                    n: [chosen.n, told.n],
                    head: self.heads[head],
                    found: wilson(told.of_heads[head], told.n),
                    offset: OFFSETS.clone().nth(offset)?,
                    by_offset: told.of_offsets[offset] as f64 / told.n as f64,
                })
            })
            .collect();
        rows.sort_by_key(|row| (row.relation != ALL, std::cmp::Reverse(row.n[1]), row.relation.clone(), row.way));
        rows
    }

    /// Every head in every relation: relation, way, head, words and hits of both halves together.
    pub fn all(&self) -> impl Iterator<Item = (&str, LinkWay, HeadId, usize, usize)> {
        self.of.iter().flat_map(move |((relation, way), [one, other])| {
            let n = one.n + other.n;
            let hits = move |at: usize| one.of_heads.get(at).unwrap_or(&0) + other.of_heads.get(at).unwrap_or(&0);
            self.heads.iter().enumerate().map(move |(at, head)| (relation.as_str(), *way, *head, n, hits(at)))
        })
    }

    /// Classes of words with at least so many queries: the head with the largest share from one to the other. The largest
    /// excess over the share of the words that can be seen comes first.
    pub fn class_rows(&self, least: usize) -> Vec<ClassRow> {
        let row = |((query, key), sum): (&(String, String), &ClassSum)| {
            let n = sum.n_queries as f64;
            let (head, weight) =
                sum.weights.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
            Some(ClassRow {
                query: query.clone(),
                key: key.clone(),
                n_queries: sum.n_queries,
                head: self.heads[head],
                weight: weight / n,
                visible: sum.visible / n,
            })
        };
        let mut rows: Vec<ClassRow> =
            self.classes.iter().filter(|(_, sum)| sum.n_queries >= least.max(1)).filter_map(row).collect();
        rows.sort_by(|a, b| (b.weight - b.visible).total_cmp(&(a.weight - a.visible)));
        rows
    }
}

/// A map in which no word has a weight that it cannot have, so that a word with a smaller one comes before it.
fn seen(map: &Dense, can_see: &dyn Fn(usize, usize) -> bool) -> Dense {
    Dense::from_fn(map.n_rows(), map.n_cols(), |row, col| if can_see(row, col) { map.at(row, col) } else { -1.0 })
}

/// The first of the largest; none of nothing.
fn best(of: &[usize]) -> Option<usize> {
    (0..of.len()).rev().max_by_key(|at| of[*at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::toy;

    fn tree() -> WordTree {
        // The old dog sleeps.
        WordTree {
            heads: vec![Some(2), Some(2), Some(3), None],
            relations: ["det", "amod", "nsubj", "root"].map(str::to_owned).to_vec(),
            classes: ["DET", "ADJ", "NOUN", "VERB"].map(str::to_owned).to_vec(),
        }
    }

    fn heads(n: usize) -> Vec<HeadId> {
        (0..n).map(|head| HeadId { head, ..HeadId::default() }).collect()
    }

    #[test]
    fn a_head_is_chosen_on_one_half_and_told_by_the_other() {
        // The first goes to the word after, the second to syntactic heads.
        let next =
            toy::dense(&[[0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7], [0.1, 0.1, 0.7, 0.1]]);
        let syntax =
            toy::dense(&[[0.3, 0.1, 0.5, 0.1], [0.1, 0.3, 0.5, 0.1], [0.1, 0.1, 0.2, 0.6], [0.1, 0.1, 0.6, 0.2]]);
        let mut tally = LinkTally::new(heads(2));
        tally.add(&tree(), &[next.clone(), syntax.clone()], false);
        assert!(tally.rows(1).is_empty(), "one half alone tells nothing");
        // In the other half the second head fails in one of three words.
        let worse =
            toy::dense(&[[0.3, 0.5, 0.1, 0.1], [0.1, 0.3, 0.5, 0.1], [0.1, 0.1, 0.2, 0.6], [0.1, 0.1, 0.6, 0.2]]);
        tally.add(&tree(), &[next, worse], false);
        let rows = tally.rows(1);
        let all = rows.iter().find(|row| row.relation == "all" && row.way == LinkWay::ToHead).unwrap();
        assert_eq!((all.n, all.head.head, all.offset), ([3, 3], 1, 1));
        assert!((all.found.value - 2.0 / 3.0).abs() < 1e-12 && (all.by_offset - 2.0 / 3.0).abs() < 1e-12, "{all:?}");
        let det = rows.iter().find(|row| row.relation == "det" && row.way == LinkWay::ToHead).unwrap();
        assert_eq!((det.head.head, det.found.value, det.offset, det.by_offset), (1, 0.0, 2, 1.0));
        let hits: Vec<_> = tally.all().filter(|(name, way, ..)| (*name, *way) == ("all", LinkWay::ToHead)).collect();
        assert_eq!(hits.iter().map(|(.., n, hits)| (*n, *hits)).collect::<Vec<_>>(), [(6, 4), (6, 5)]);
    }

    #[test]
    fn a_causal_head_is_asked_about_words_that_it_can_see() {
        let map = toy::dense(&[[1.0, 0.0, 0.0, 0.0], [0.9, 0.1, 0.0, 0.0], [0.2, 0.7, 0.1, 0.0], [0.1, 0.1, 0.8, 0.0]]);
        let mut tally = LinkTally::new(heads(1));
        for _ in 0..2 {
            tally.add(&tree(), std::slice::from_ref(&map), true);
        }
        let rows = tally.rows(1);
        assert!(rows.iter().all(|row| row.way == LinkWay::ToDependent), "every head stands behind: {rows:?}");
        let of = |name: &str| rows.iter().find(|row| row.relation == name).unwrap().found.value;
        // The dog is what attends most to “old”, and the verb to “dog”; “The” is seen most by “old”.
        assert_eq!((of("amod"), of("nsubj"), of("det")), (1.0, 1.0, 0.0));
    }

    #[test]
    fn attention_between_classes_is_held_against_what_can_be_seen() {
        let map = toy::dense(&[[0.4, 0.0, 0.6, 0.0], [0.1, 0.5, 0.3, 0.1], [0.2, 0.1, 0.1, 0.6], [0.0, 0.0, 1.0, 0.0]]);
        let mut tally = LinkTally::new(heads(1));
        tally.add(&tree(), &[map], false);
        let rows = tally.class_rows(1);
        let of = |query: &str, key: &str| rows.iter().find(|row| row.query == query && row.key == key).unwrap();
        let det = of("DET", "NOUN");
        assert!(
            (det.weight - 1.0).abs() < 1e-12 && (det.visible - 1.0 / 3.0).abs() < 1e-12,
            "the word itself counts not"
        );
        assert!((of("ADJ", "NOUN").weight - 0.6).abs() < 1e-12);
        assert_eq!((rows.len(), rows[0].n_queries), (12, 1));
    }
}

//! How many words each word is linked with, and the kinds of groups that links make (Brown et al. 1993).

use std::collections::BTreeSet;

use super::Links;

/// How many source words are linked with how many target words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    OneToOne,
    /// A source word with several target words.
    OneToMany,
    /// Several source words with a target word.
    ManyToOne,
    ManyToMany,
    /// A source word without a link.
    UnlinkedSource,
    /// A target word without a link.
    UnlinkedTarget,
}

vocabulary! {
    LinkKind: name,
    /// In figures, before its number.
    title;
    OneToOne("one_to_one", "one-to-one"),
    OneToMany("one_to_many", "one-to-many"),
    ManyToOne("many_to_one", "many-to-one"),
    ManyToMany("many_to_many", "many-to-many"),
    UnlinkedSource("unaligned_source", "unaligned source words"),
    UnlinkedTarget("unaligned_target", "unaligned target words"),
}

/// Words that links join, directly or by way of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkGroup {
    pub sources: BTreeSet<usize>,
    pub targets: BTreeSet<usize>,
}

impl LinkGroup {
    /// What it is called by its numbers of words.
    pub fn kind(&self) -> LinkKind {
        match (self.sources.len(), self.targets.len()) {
            (_, 0) => LinkKind::UnlinkedSource,
            (0, _) => LinkKind::UnlinkedTarget,
            (1, 1) => LinkKind::OneToOne,
            (1, _) => LinkKind::OneToMany,
            (_, 1) => LinkKind::ManyToOne,
            _ => LinkKind::ManyToMany,
        }
    }
}

/// Number of links of each source word (its fertility) and of each target word.
pub fn fertility(links: &Links, [n_source, n_target]: [usize; 2]) -> [Vec<usize>; 2] {
    let mut counts = [vec![0; n_source], vec![0; n_target]];
    for (source, target) in links {
        for (of_side, word) in counts.iter_mut().zip([source, target]) {
            if let Some(count) = of_side.get_mut(*word) {
                *count += 1;
            }
        }
    }
    counts
}

/// The groups of so many source and target words: each word is in one; those of source words first, in their order.
pub fn groups(links: &Links, [n_source, n_target]: [usize; 2]) -> Vec<LinkGroup> {
    let mut groups: Vec<LinkGroup> = Vec::new();
    let mut known = BTreeSet::new();
    for source in 0..n_source {
        if known.contains(&source) {
            continue;
        }
        let mut group = LinkGroup { sources: BTreeSet::from([source]), targets: BTreeSet::new() };
        loop {
            let size = group.sources.len() + group.targets.len();
            for (source, target) in links {
                if group.sources.contains(source) || group.targets.contains(target) {
                    group.sources.insert(*source);
                    group.targets.insert(*target);
                }
            }
            if group.sources.len() + group.targets.len() == size {
                break;
            }
        }
        known.extend(group.sources.iter().copied());
        groups.push(group);
    }
    let linked: BTreeSet<usize> = groups.iter().flat_map(|group| &group.targets).copied().collect();
    let alone = |target| LinkGroup { sources: BTreeSet::new(), targets: BTreeSet::from([target]) };
    groups.extend((0..n_target).filter(|target| !linked.contains(target)).map(alone));
    groups
}

/// Number of groups of each kind, in the order of [`LinkKind::ALL`].
pub fn kinds(links: &Links, n_words: [usize; 2]) -> [usize; LinkKind::ALL.len()] {
    let groups = groups(links, n_words);
    LinkKind::ALL.map(|kind| groups.iter().filter(|group| group.kind() == kind).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Target by source, `x` for a link: a hand-made sentence with every kind.
    const MATRIX: [&str; 7] = [
        "x.......", // one-to-one
        ".x......", // one-to-many: the second source word …
        ".x......", // … is two target words
        "..xx....", // many-to-one
        "....xx..", // many-to-many
        ".....x..", "........", // a target word without a link
    ];

    fn links() -> Links {
        let row = |(target, row): (usize, &&str)| {
            row.bytes().enumerate().filter(|(_, cell)| *cell == b'x').map(move |(source, _)| (source, target)).collect()
        };
        MATRIX.iter().enumerate().flat_map(|row_of| -> Vec<(usize, usize)> { row(row_of) }).collect()
    }

    #[test]
    fn links_of_a_matrix_are_counted_by_row_and_column() {
        let [sources, targets] = fertility(&links(), [8, 7]);
        assert_eq!(sources, [1, 2, 1, 1, 1, 2, 0, 0]);
        assert_eq!(targets, [1, 1, 1, 2, 2, 1, 0]);
        assert_eq!(sources.iter().sum::<usize>(), links().len());
    }

    #[test]
    fn each_word_is_in_one_group_of_a_kind() {
        let groups = groups(&links(), [8, 7]);
        let found: Vec<(Vec<usize>, Vec<usize>, &str)> = groups
            .iter()
            .map(|it| (it.sources.iter().copied().collect(), it.targets.iter().copied().collect(), it.kind().name()))
            .collect();
        let expected = [
            (vec![0], vec![0], "one_to_one"),
            (vec![1], vec![1, 2], "one_to_many"),
            (vec![2, 3], vec![3], "many_to_one"),
            (vec![4, 5], vec![4, 5], "many_to_many"),
            (vec![6], vec![], "unaligned_source"),
            (vec![7], vec![], "unaligned_source"),
            (vec![], vec![6], "unaligned_target"),
        ];
        assert_eq!(found, expected);
        assert_eq!(kinds(&links(), [8, 7]), [1, 1, 1, 1, 2, 1]);
        assert_eq!(kinds(&Links::new(), [2, 3]), [0, 0, 0, 0, 2, 3]);
    }
}

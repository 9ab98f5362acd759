//! Everything that a model can say, by name: listed once, so that names can be completed while they are typed.

use crate::{capture::words::bare, ids::ModelId, outputs::id_of};

/// The outcomes of one model: its tokens or classes, by id.
#[derive(Clone, Debug)]
pub struct Outcomes {
    model: ModelId,
    labels: Vec<Box<str>>,
    /// Ids in the order of [`plain`] names.
    by_name: Vec<u32>,
}

/// A name as it is looked for: without the marks of a space before it, in small letters.
fn plain(label: &str) -> String {
    bare(label.trim()).to_lowercase()
}

impl Outcomes {
    /// Of a model, with the name of each outcome in the order of ids.
    pub fn new(model: ModelId, labels: Vec<Box<str>>) -> Self {
        let mut by_name: Vec<u32> = (0..).take(labels.len()).collect();
        by_name.sort_by_cached_key(|id| (plain(&labels[*id as usize]), labels[*id as usize].len()));
        Self { model, labels, by_name }
    }

    /// Whose they are.
    pub const fn model(&self) -> ModelId {
        self.model
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The name of one.
    pub fn label(&self, id: u32) -> Option<&str> {
        self.labels.get(id as usize).map(AsRef::as_ref)
    }

    /// Those that begin with what was typed, at most so many: first those that are called so, then longer names, each the
    /// most probable first and of equal ones the shortest. Of `#123` the one with this id, as of `123` where nothing is
    /// called so.
    pub fn find(&self, typed: &str, most: usize, probability: impl Fn(u32) -> f64) -> Vec<u32> {
        let known = |id: Option<u32>| id.filter(|id| self.label(*id).is_some()).into_iter().collect::<Vec<u32>>();
        if typed.trim().starts_with('#') {
            return known(id_of(typed));
        }
        let needle = plain(typed);
        if needle.is_empty() {
            return Vec::new();
        }
        let from = self.by_name.partition_point(|id| plain(&self.labels[*id as usize]) < needle);
        let begins = |id: &&u32| plain(&self.labels[**id as usize]).starts_with(&needle);
        let mut found: Vec<u32> = self.by_name[from..].iter().take_while(begins).copied().collect();
        let mut ranked: Vec<(bool, f64, usize, u32)> = found
            .drain(..)
            .map(|id| {
                let label = &self.labels[id as usize];
                (plain(label) != needle, probability(id), label.chars().count(), id)
            })
            .collect();
        ranked.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        found.extend(ranked.into_iter().map(|(.., id)| id));
        found.truncate(most);
        if found.is_empty() {
            return known(typed.trim().parse().ok());
        }
        found
    }

    /// Whether what was typed is the whole name of one.
    pub fn has(&self, typed: &str) -> bool {
        let needle = plain(typed);
        self.by_name.binary_search_by(|id| plain(&self.labels[*id as usize]).cmp(&needle)).is_ok()
    }

    /// Those with which a word begins that is no name itself, the longest first, at most so many.
    pub fn beginnings(&self, word: &str, most: usize) -> Vec<u32> {
        let word = plain(word);
        let ends = word.char_indices().map(|(at, _)| at).skip(1).collect::<Vec<_>>();
        let of = |end: &usize| {
            let needle = &word[..*end];
            let from = self.by_name.partition_point(|id| plain(&self.labels[*id as usize]).as_str() < needle);
            self.by_name[from..].iter().copied().take_while(move |id| plain(&self.labels[*id as usize]) == needle)
        };
        ends.iter().rev().flat_map(of).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_and_words_of_several_tokens_are_begun() {
        let labels = ["␣Li", "␣Lily", "Lily", "li", "##ly", "␣the", "ext", "␣extra"].map(Box::from).to_vec();
        let outcomes = Outcomes::new(ModelId(1), labels);
        let names =
            |ids: Vec<u32>| ids.into_iter().map(|id| outcomes.label(id).unwrap().to_owned()).collect::<Vec<_>>();
        let equal = |_: u32| 0.0;
        assert_eq!(names(outcomes.find("LI", 9, equal)), ["li", "␣Li", "Lily", "␣Lily"]);
        assert_eq!(names(outcomes.find("li", 1, equal)), ["li"]);
        assert_eq!(names(outcomes.find(" #5 ", 9, equal)), ["␣the"]);
        assert_eq!(names(outcomes.find("5", 9, equal)), ["␣the"], "nothing is called 5");
        let numbered = Outcomes::new(ModelId(1), ["17", "b", "c"].map(Box::from).to_vec());
        assert_eq!(
            (numbered.find("17", 9, equal), numbered.find("#1", 9, equal), numbered.find("1", 9, equal)),
            (vec![0], vec![1], vec![0])
        );
        assert!(outcomes.find("#99", 9, equal).is_empty() && outcomes.find(" ", 9, equal).is_empty());
        let said = |id: u32| [0.3, 0.2, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0][id as usize];
        assert_eq!(names(outcomes.find("lily", 9, said)), ["␣Lily", "Lily"], "the one that the model says");
        assert_eq!(
            names(outcomes.find("li", 9, said)),
            ["␣Li", "li", "␣Lily", "Lily"],
            "what is called so comes first"
        );
        assert!(outcomes.has("Lily") && !outcomes.has("extraordinary"));
        assert_eq!(names(outcomes.beginnings("extraordinary", 2)), ["␣extra", "ext"]);
    }
}

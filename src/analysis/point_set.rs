//! A set of the points of a joint space, whichever head lays them out.

/// Queries and keys by their numbers in a cloud. Equal when they hold the same points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PointSet {
    queries: Bits,
    keys: Bits,
}

/// One point of a cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    /// A query, by its number in the cloud.
    Query(usize),
    /// A key, by its number in the cloud.
    Key(usize),
}

impl PointSet {
    /// Whether there is no point in it.
    pub const fn is_empty(&self) -> bool {
        self.queries.0.is_empty() && self.keys.0.is_empty()
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.queries.len() + self.keys.len()
    }

    /// Whether a point is in it.
    pub fn contains(&self, spot: Spot) -> bool {
        match spot {
            Spot::Query(query) => self.queries.contains(query),
            Spot::Key(key) => self.keys.contains(key),
        }
    }

    /// Adds a point.
    pub fn insert(&mut self, spot: Spot) {
        match spot {
            Spot::Query(query) => self.queries.insert(query),
            Spot::Key(key) => self.keys.insert(key),
        }
    }

    /// Its queries, in ascending order.
    pub fn queries(&self) -> impl Iterator<Item = usize> {
        self.queries.iter()
    }

    /// Its keys, in ascending order.
    pub fn keys(&self) -> impl Iterator<Item = usize> {
        self.keys.iter()
    }

    /// The points of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The points of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|spot| other.contains(*spot)).collect()
    }

    /// The points that `other` has not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|spot| !other.contains(*spot)).collect()
    }

    /// Its points: queries, then keys.
    pub fn iter(&self) -> impl Iterator<Item = Spot> {
        self.queries().map(Spot::Query).chain(self.keys().map(Spot::Key))
    }
}

impl FromIterator<Spot> for PointSet {
    fn from_iter<T: IntoIterator<Item = Spot>>(spots: T) -> Self {
        let mut set = Self::default();
        for spot in spots {
            set.insert(spot);
        }
        set
    }
}

/// Numbers as bits; the last word is never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Bits(Vec<u64>);

impl Bits {
    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(at, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_points_are_added_shared_and_taken_away() {
        let of = |queries: &[usize], keys: &[usize]| -> PointSet {
            queries.iter().map(|&at| Spot::Query(at)).chain(keys.iter().map(|&at| Spot::Key(at))).collect()
        };
        let (a, b) = (of(&[3, 64, 200], &[0]), of(&[64, 7], &[0, 9]));
        assert_eq!(a.union(&b), of(&[3, 7, 64, 200], &[0, 9]));
        assert_eq!(a.intersection(&b), of(&[64], &[0]));
        assert_eq!(a.without(&b), of(&[200, 3], &[]), "equal whatever the order, and without empty ends");
        assert_eq!(a.without(&a), PointSet::default());
        assert_eq!((a.len(), a.queries().collect::<Vec<_>>()), (4, vec![3, 64, 200]));
        assert!(a.contains(Spot::Query(200)) && !a.contains(Spot::Key(200)) && !a.contains(Spot::Query(9999)));
    }
}

//! Words as vectors: nearest tokens, sums and differences of words, and the plane of some of them (Mikolov et al. 2013).

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{capture::Matrix, projection::symmetric_eigen};

/// How near two embeddings are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nearness {
    /// Cosine of the angle between them.
    #[default]
    Cosine,
    /// Their dot product.
    Dot,
}

vocabulary! {
    Nearness: name, title;
    Cosine("cosine", "Cosine"),
    Dot("dot", "Dot product"),
}

impl Nearness {
    /// That of two vectors of one width; NaN for the cosine of a vector of length 0.
    pub fn of(self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::Cosine => dot(a, b) / (norm(a) * norm(b)),
            Self::Dot => dot(a, b),
        }
    }
}

/// The dot product of two vectors.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The length of a vector.
pub fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// The mean of some vectors: of a word of several tokens.
pub fn mean<'a>(vectors: impl ExactSizeIterator<Item = &'a [f32]>) -> Vec<f64> {
    let n = vectors.len().max(1) as f64;
    let mut sum = Vec::new();
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    for value in &mut sum {
        *value /= n;
    }
    sum
}

/// The sum of some vectors, each times its factor.
pub fn weighted_sum<'a>(terms: impl IntoIterator<Item = (f64, &'a [f64])>) -> Vec<f64> {
    let mut sum = Vec::new();
    for (factor, vector) in terms {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += factor * value);
    }
    sum
}

/// The rows of a table that are nearest to some vectors, while the table is read block by block.
#[derive(Clone, Debug)]
pub struct Nearest {
    nearness: Nearness,
    n_top: usize,
    wanted: Vec<Wanted>,
}

/// A vector with the nearest rows so far.
#[derive(Clone, Debug)]
struct Wanted {
    vector: Vec<f64>,
    /// Rows that are left out: those that were asked about.
    left_out: BTreeSet<usize>,
    /// Row and nearness, the nearest first; of equals the first row.
    found: Vec<(usize, f64)>,
}

impl Nearest {
    /// A search for the `n_top` nearest rows of each vector, but for those that it leaves out.
    pub fn new(
        vectors: impl IntoIterator<Item = (Vec<f64>, BTreeSet<usize>)>,
        nearness: Nearness,
        n_top: usize,
    ) -> Self {
        let wanted = |(vector, left_out)| Wanted { vector, left_out, found: Vec::new() };
        Self { nearness, n_top, wanted: vectors.into_iter().map(wanted).collect() }
    }

    /// Takes the rows of the table from `first` on, `[n, d_embedding]`. Rows without a nearness, such as the zeros of
    /// a token for padding under the cosine, are passed over.
    pub fn add(&mut self, first: usize, rows: &Matrix) {
        let (nearness, n_top) = (self.nearness, self.n_top);
        let wide: Vec<Vec<f64>> = rows.rows().map(|row| row.iter().copied().map(f64::from).collect()).collect();
        self.wanted.par_iter_mut().for_each(|wanted| {
            let near: Vec<f64> = wide.par_iter().map(|row| nearness.of(&wanted.vector, row)).collect();
            for (nth, value) in near.into_iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let is_near = wanted.found.len() < n_top || wanted.found.last().is_some_and(|(_, last)| value > *last);
                if is_near && !wanted.left_out.contains(&(first + nth)) {
                    let place = wanted.found.partition_point(|(_, known)| *known >= value);
                    wanted.found.insert(place, (first + nth, value));
                    wanted.found.truncate(n_top);
                }
            }
        });
    }

    /// Rows and nearness for each vector, the nearest first.
    pub fn found(self) -> Vec<Vec<(usize, f64)>> {
        self.wanted.into_iter().map(|wanted| wanted.found).collect()
    }
}

/// Some vectors in the plane of their two principal components.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Across and up, one per vector.
    pub places: Vec<[f64; 2]>,
    /// Share of the variance along each direction.
    pub explained: [f64; 2],
}

impl Plane {
    /// Of vectors of one width. From their products with each other, as there are fewer words than dimensions.
    pub fn of(vectors: &[Vec<f64>]) -> Self {
        let n = vectors.len();
        let mean = weighted_sum(vectors.iter().map(|vector| (1.0 / n.max(1) as f64, vector.as_slice())));
        let centred: Vec<Vec<f64>> =
            vectors.iter().map(|vector| weighted_sum([(1.0, vector.as_slice()), (-1.0, mean.as_slice())])).collect();
        let products: Vec<f64> = centred.iter().flat_map(|a| centred.iter().map(|b| dot(a, b))).collect();
        let pairs = symmetric_eigen(&products, n).unwrap_or_default();
        let total: f64 = pairs.iter().map(|(value, _)| value.max(0.0)).sum();
        let axis = |nth: usize| pairs.get(nth).filter(|(value, _)| *value > 1e-12 * total);
        let place = |nth: usize, word: usize| axis(nth).map_or(0.0, |(value, along)| along[word] * value.sqrt());
        Self {
            places: (0..n).map(|word| [place(0, word), place(1, word)]).collect(),
            explained: [0, 1].map(|nth| axis(nth).map_or(0.0, |(value, _)| value / total)),
        }
    }
}

/// Of each difference the cosine with the mean of the others: 1 where all are parallel. None of a single one.
pub fn parallel(differences: &[Vec<f64>]) -> Vec<Option<f64>> {
    let of_one = |(nth, own): (usize, &Vec<f64>)| {
        let others = differences.iter().enumerate().filter(|(other, _)| *other != nth);
        let others = weighted_sum(others.map(|(_, vector)| (1.0, vector.as_slice())));
        Some(Nearness::Cosine.of(own, &others)).filter(|cosine| !others.is_empty() && cosine.is_finite())
    };
    differences.iter().enumerate().map(of_one).collect()
}

/// A sum and difference of words: each with its sign.
///
/// `king - man + woman`; words without a sign between them are one, such as `New York`.
///
/// # Errors
/// Says what is missing.
pub fn arithmetic(text: &str) -> Result<Vec<(f64, String)>, String> {
    let example = "write it as king - man + woman, with spaces around the signs";
    let (mut terms, mut sign): (Vec<(f64, String)>, Option<f64>) = (Vec::new(), Some(1.0));
    let mut has_sign = false;
    for part in text.split_whitespace() {
        match (part, sign) {
            ("+" | "-" | "−", Some(_)) if has_sign => return Err(format!("two signs follow each other: {example}")),
            ("+" | "-" | "−", _) => {
                sign = Some(if part == "+" { 1.0 } else { -1.0 });
                has_sign = true;
            }
            (word, Some(own)) => {
                terms.push((own, word.to_owned()));
                (sign, has_sign) = (None, false);
            }
            (word, None) => {
                if let Some((_, term)) = terms.last_mut() {
                    *term = format!("{term} {word}");
                }
            }
        }
    }
    if has_sign {
        return Err(format!("no word stands behind the last sign: {example}"));
    }
    if terms.is_empty() {
        return Err(format!("there is no word: {example}"));
    }
    Ok(terms)
}

/// The terms as they are written.
pub fn arithmetic_text(terms: &[(f64, String)]) -> String {
    let mut text = String::new();
    for (nth, (sign, word)) in terms.iter().enumerate() {
        text += match (nth, *sign < 0.0) {
            (0, false) => "",
            (0, true) => "− ",
            (_, false) => " + ",
            (_, true) => " − ",
        };
        text += word;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_words_is_read_with_its_signs() {
        let read = |text: &str| arithmetic(text).map(|terms| (arithmetic_text(&terms), terms));
        let terms = |terms: &[(f64, &str)]| terms.iter().map(|(sign, word)| (*sign, (*word).to_owned())).collect();
        let king = terms(&[(1.0, "king"), (-1.0, "man"), (1.0, "woman")]);
        assert_eq!(read("king - man + woman"), Ok(("king − man + woman".to_owned(), king)));
        let new_york = terms(&[(-1.0, "New York"), (1.0, "well-known")]);
        assert_eq!(read("− New York + well-known"), Ok(("− New York + well-known".to_owned(), new_york)));
        for (wrong, why) in
            [("", "no word"), ("king -", "behind the last sign"), ("- - king", "two signs"), ("a + - b", "two signs")]
        {
            assert!(read(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }

    #[test]
    fn blocks_of_a_table_give_the_nearest_rows_of_all_of_it() {
        let rows = [[1.0, 0.0], [2.0, 0.1], [0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [-1.0, 0.0]];
        let table =
            |range: std::ops::Range<usize>| Matrix::new(rows[range.clone()].concat(), [range.len(), 2]).unwrap();
        let found = |nearness: Nearness, left_out: &[usize], blocks: &[std::ops::Range<usize>]| {
            let wanted = (vec![1.0, 0.0], left_out.iter().copied().collect());
            let mut nearest = Nearest::new([wanted], nearness, 3);
            for block in blocks {
                nearest.add(block.start, &table(block.clone()));
            }
            nearest.found()[0].iter().map(|(row, _)| *row).collect::<Vec<_>>()
        };
        // The row of zeros has no angle; of equals the first comes first.
        assert_eq!(found(Nearness::Cosine, &[], &[0..5, 5..6]), [0, 4, 1]);
        assert_eq!(found(Nearness::Dot, &[], &[0..5, 5..6]), [4, 1, 0]);
        assert_eq!(found(Nearness::Dot, &[4], &[0..5, 5..6]), [1, 0, 2]);
        for nearness in Nearness::ALL {
            assert_eq!(found(nearness, &[1], &[0..5, 5..6]), found(nearness, &[1], &[0..2, 2..3, 3..6]));
        }
    }

    #[test]
    fn parallel_differences_are_parallel_in_the_plane() {
        let vectors = [[0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 1.0], [0.0, 3.0, 0.0, 1.0], [2.0, 3.0, 0.0, 1.0]];
        let vectors: Vec<Vec<f64>> = vectors.iter().map(|vector| vector.to_vec()).collect();
        let Plane { places, explained } = Plane::of(&vectors);
        let step = |from: usize, to: usize| [0, 1].map(|axis| places[to][axis] - places[from][axis]);
        let [a, b] = [step(0, 1), step(2, 3)];
        assert!((a[0] - b[0]).abs() < 1e-9 && (a[1] - b[1]).abs() < 1e-9, "{a:?} {b:?}");
        assert!((a[0].hypot(a[1]) - 2.0).abs() < 1e-9, "a plane that holds all words keeps their distances");
        assert!((explained[0] - 9.0 / 13.0).abs() < 1e-9 && (explained[1] - 4.0 / 13.0).abs() < 1e-9, "{explained:?}");
        assert_eq!(Plane::of(&vectors[..1]).places, [[0.0, 0.0]]);
        let differences = [vec![1.0, 0.0], vec![2.0, 0.0], vec![0.0, 1.0]];
        let found: Vec<f64> = parallel(&differences).into_iter().flatten().collect();
        let expected = [2.0 / 5f64.sqrt(), 1.0 / 2f64.sqrt(), 0.0];
        assert!(found.iter().zip(expected).all(|(found, known)| (found - known).abs() < 1e-12), "{found:?}");
        assert_eq!(parallel(&differences[..1]), [None]);
    }
}

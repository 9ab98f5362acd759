//! Comparison of methods on the same tokens, and their agreement.

use super::{
    rank::{Kendall, kendall},
    report::{Leaf, Report, Value},
};
use crate::{capture::Token, ids::Side};

/// What a method says about each token of a side: the value that belongs beside those of other methods.
pub fn scores(report: &Report, side: Side) -> Option<Vec<f32>> {
    let leaves: Vec<Leaf<'_>> = report.leaves();
    let of = |name: &str| {
        leaves.iter().find_map(|leaf| match leaf.value {
            Value::Tokens { axis, values }
                if axis.side == side && axis.only.is_none() && leaf.name.split('.').next() == Some(name) =>
            {
                Some(values.clone())
            }
            _ => None,
        })
    };
    of("gained")
        .or_else(|| of("scores"))
        .or_else(|| of("logit"))
        .or_else(|| of("prefix"))
        .or_else(|| only_row(report, side))
}

/// The positions that a ranking of words has: special tokens are no words, so they are left out unless somebody wants
/// them, or there is nothing else.
pub fn ranked_positions(tokens: &[Token], with_special: bool) -> Vec<usize> {
    let words: Vec<usize> = (0..tokens.len()).filter(|&at| with_special || !tokens[at].special).collect();
    if words.is_empty() { (0..tokens.len()).collect() } else { words }
}

/// The part of what a method gives the tokens, signs left aside, that a ranking leaves out, `0..=1`.
pub fn share_left_out(values: &[f32], ranked: &[usize]) -> f32 {
    let size = |value: Option<&f32>| value.copied().filter(|it| it.is_finite()).map_or(0.0, |it| f64::from(it.abs()));
    let all: f64 = values.iter().map(|value| size(Some(value))).sum();
    let kept: f64 = ranked.iter().map(|&at| size(values.get(at))).sum();
    if all > 0.0 { ((all - kept) / all) as f32 } else { 0.0 }
}

/// The only row of a map that is about one output.
fn only_row(report: &Report, side: Side) -> Option<Vec<f32>> {
    let map = report.method.values.iter().find(|value| value.row_is_scores)?;
    match report.value(map.name)? {
        Value::Matrix { cols, values, .. } if cols.side == side => {
            (values.n_rows() == 1).then(|| values.row(0).unwrap_or(&[]).to_vec())
        }
        _ => None,
    }
}

/// What the numbers of [`scores`] are counted in.
pub fn unit(report: &Report) -> &'static str {
    (report.method.scores)(report).unit
}

/// Whether the numbers of [`scores`] can speak against the output: lengths, and what only adds weights up, cannot.
pub fn is_signed(report: &Report) -> bool {
    (report.method.scores)(report).signed
}

/// How far two methods agree about the sizes of what they give to tokens that both speak of. None where they are too
/// few, or all equal.
pub fn agreement(a: &[f32], b: &[f32]) -> Option<Kendall> {
    let pairs = a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite());
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.map(|(a, b)| (f64::from(a.abs()), f64::from(b.abs()))).unzip();
    kendall(&a, &b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::report::{Axis, MethodSpec};

    const METHOD: MethodSpec = MethodSpec::EMPTY;

    #[test]
    fn methods_are_compared_by_the_sizes_of_what_both_speak_of() {
        let agree = |a: &[f32], b: &[f32]| agreement(a, b).map(|found| found.tau);
        assert_eq!(agree(&[1.0, -2.0, 3.0, f32::NAN], &[0.1, 0.2, -0.3, 9.0]), Some(1.0));
        assert_eq!(agree(&[3.0, 2.0, 1.0], &[1.0, 2.0, 3.0]), Some(-1.0));
        assert_eq!(agree(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None, "one side says nothing");
    }

    #[test]
    fn special_tokens_are_no_words_unless_there_are_no_others() {
        let token = |special| Token { special, ..Token::default() };
        let tokens = [true, false, false, true].map(token);
        let words = ranked_positions(&tokens, false);
        assert_eq!((words.as_slice(), ranked_positions(&tokens, true).len()), (&[1, 2][..], 4));
        assert_eq!(ranked_positions(&[token(true)], false), [0]);
        assert!((share_left_out(&[0.3, -0.4, 0.2, -0.1], &words) - 0.4).abs() < 1e-6, "signs left aside");
        assert_eq!(share_left_out(&[0.0, f32::NAN], &[]), 0.0);
    }

    #[test]
    fn what_a_token_gained_comes_before_what_it_began_with() {
        let tokens = |values: Vec<f32>| Value::tokens(Side::Only, values);
        let report = Report::new(&METHOD)
            .with_value("scores", tokens(vec![1.0, 0.5]))
            .with_value("gained", tokens(vec![0.0, 0.5]));
        assert_eq!(scores(&report, Side::Only), Some(vec![0.0, 0.5]));
        assert_eq!(scores(&report, Side::Encoder), None);
        let some = Report::new(&METHOD).with_value("scores", Value::tokens(Axis::only(Side::Only, vec![3]), vec![1.0]));
        assert_eq!(scores(&some, Side::Only), None, "what is said of some tokens is no column");
    }
}

//! What different methods say about the same tokens, and how far they agree.

use super::{
    rank::{Kendall, kendall},
    report::{Leaf, Method, Report, Value},
};
use crate::ids::Side;

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
        .or_else(|| flowed(report, side))
}

/// Flow of one output is a map of one row.
fn flowed(report: &Report, side: Side) -> Option<Vec<f32>> {
    match report.value("matrix")? {
        Value::Matrix { cols, values, .. } if report.method == Method::Flow && cols.side == side => {
            (values.n_rows() == 1).then(|| values.row(0).unwrap_or(&[]).to_vec())
        }
        _ => None,
    }
}

/// What the numbers of [`scores`] are counted in when they are lengths of gradients.
const SLOPE: &str = "slope";

/// What the numbers of [`scores`] are counted in.
pub fn unit(report: &Report) -> &'static str {
    let is_set = |name: &str| report.parameters.iter().any(|(known, value)| known == name && *value == true);
    let by_pattern = || report.parameters.iter().any(|(known, value)| known == "of" && *value == "pattern");
    match report.method {
        Method::Attention => "weight",
        Method::Rollout | Method::Flow => "share",
        Method::Relevance => "relevance",
        Method::Gradients if by_pattern() && !is_set("times_input") => "logits per weight",
        Method::Gradients if !by_pattern() && !is_set("times_input") => SLOPE,
        Method::Gradients => "logits",
        Method::LeaveOneOut => "logits lost",
        _ => "",
    }
}

/// Whether the numbers of [`scores`] can speak against the output: lengths, and what only adds weights up, cannot.
pub fn is_signed(report: &Report) -> bool {
    matches!(report.method, Method::Gradients | Method::LeaveOneOut) && unit(report) != SLOPE
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
    use crate::analysis::explain::report::Axis;

    #[test]
    fn methods_are_compared_by_the_sizes_of_what_both_speak_of() {
        let agree = |a: &[f32], b: &[f32]| agreement(a, b).map(|found| found.tau);
        assert_eq!(agree(&[1.0, -2.0, 3.0, f32::NAN], &[0.1, 0.2, -0.3, 9.0]), Some(1.0));
        assert_eq!(agree(&[3.0, 2.0, 1.0], &[1.0, 2.0, 3.0]), Some(-1.0));
        assert_eq!(agree(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None, "one side says nothing");
    }

    #[test]
    fn what_a_token_gained_comes_before_what_it_began_with() {
        let tokens = |values: Vec<f32>| Value::tokens(Side::Only, values);
        let report = Report::new(Method::Relevance)
            .with_value("scores", tokens(vec![1.0, 0.5]))
            .with_value("gained", tokens(vec![0.0, 0.5]));
        assert_eq!(scores(&report, Side::Only), Some(vec![0.0, 0.5]));
        assert_eq!(scores(&report, Side::Encoder), None);
        let some = Report::new(Method::Relevance)
            .with_value("scores", Value::tokens(Axis::only(Side::Only, vec![3]), vec![1.0]));
        assert_eq!(scores(&some, Side::Only), None, "what is said of some tokens is no column");
    }
}

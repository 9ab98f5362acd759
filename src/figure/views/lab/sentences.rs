//! Caption texts for results of the lab.

use super::{
    bars::BarColumn,
    compose::{Answered, is_of},
    masks,
};
use crate::{
    analysis::explain::{
        compare,
        report::{LabQuestion, Leaf, Report, Value},
    },
    capture::{Capture, Token, words},
    ids::{HeadId, Side},
    outputs::SCORE,
    spec::SIMILARITY,
    text::{decimal_text, share_text},
};

/// Kinds of tokens that are named.
const MOST_NAMES: usize = 4;

/// Answers of which nothing is drawn, because they say nothing about single tokens.
pub fn silent<'a>(
    capture: &Capture,
    question: LabQuestion,
    answers: &'a [Answered],
) -> impl Iterator<Item = &'a Answered> {
    let says = |report: &Report| Side::ALL.into_iter().any(|side| compare::scores(report, side).is_some());
    let speaks = move |answer: &Answered| {
        question != LabQuestion::Depends
            || answer.report.as_deref().is_none_or(says)
            || masks::section(capture, answer).is_some()
            || answer.is_of_pairs()
    };
    answers.iter().filter(move |answer| !speaks(answer))
}

/// What a side is called in a sentence.
pub(super) const fn side_text(side: Side) -> &'static str {
    match side {
        Side::Encoder => "the source",
        Side::Decoder => "the written text",
        Side::Vision => "the picture",
        Side::Text => "the text",
        Side::Sentences => "the sentences",
        Side::Chosen => "the chosen tokens",
        Side::Only => "the input",
    }
}

/// Token by token which methods give it most, those of most methods first; `positions` are those of the tokens in the
/// input.
pub fn largest((tokens, positions): (&[String], &[usize]), columns: &[BarColumn]) -> Option<String> {
    let mut found: Vec<(usize, bool, Vec<&str>)> = Vec::new();
    for BarColumn { title, values, .. } in columns {
        let Some(values) = values else { continue };
        let there = (0..values.len()).filter(|nth| values[*nth].is_finite() && values[*nth] != 0.0);
        let Some(most) = there.rev().max_by(|a, b| values[*a].abs().total_cmp(&values[*b].abs())) else { continue };
        let against = values[most] < 0.0;
        match found.iter_mut().find(|(token, sign, _)| (*token, *sign) == (most, against)) {
            Some((_, _, titles)) => titles.push(title),
            None => found.push((most, against, vec![title])),
        }
    }
    found.sort_by_key(|(_, _, titles)| std::cmp::Reverse(titles.len()));
    let said = |(token, against, titles): &(usize, bool, Vec<&str>)| {
        let against = if *against { ", lowers it" } else { "" };
        let position = *positions.get(*token)?;
        Some(format!("{}{against} ({})", words::named(tokens, *token, position), titles.join(", ")))
    };
    let said: Option<Vec<String>> = found.iter().map(said).collect();
    said.filter(|said| !said.is_empty()).map(|said| format!("Most on {}", said.join("; ")))
}

/// Keeps in `columns` the positions that a ranking of words has; gives them, and what is said of the others.
pub fn only_words(tokens: &[Token], columns: &mut [BarColumn], with_special: bool) -> (Vec<usize>, Option<String>) {
    let positions = compare::ranked_positions(tokens, with_special);
    let given = columns.iter().filter_map(|it| Some((it.title.as_str(), it.values.as_deref()?)));
    let said = left_out(tokens, &positions, &given.collect::<Vec<_>>());
    for column in columns {
        let kept = |values: &Vec<f32>| positions.iter().filter_map(|&at| values.get(at).copied()).collect();
        column.values = column.values.as_ref().map(kept);
    }
    (positions, said)
}

/// Which tokens a ranking leaves out, and how much of what each method gives they have, by its title; none where all
/// are ranked.
pub fn left_out(tokens: &[Token], ranked: &[usize], given: &[(&str, &[f32])]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for at in (0..tokens.len()).filter(|at| ranked.binary_search(at).is_err()) {
        if !names.contains(&tokens[at].text.as_str()) {
            names.push(&tokens[at].text);
        }
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let share = |values: &[f32]| share_text(compare::share_left_out(values, ranked));
    let shares = match given {
        [] => String::new(),
        [(_, values)] => format!(": {}", share(values)),
        many => {
            let each: Vec<String> =
                many.iter().map(|(title, values)| format!("{} of {title}", share(values))).collect();
            format!(": {}", each.join(", "))
        }
    };
    (!names.is_empty()).then(|| format!("{}{more} left out{shares}", names.join(", ")))
}

/// What the colours of bars mean, and whose bars cannot speak against the output; none where no bar does.
pub fn signs(columns: &[BarColumn]) -> Option<String> {
    let answered = || columns.iter().filter(|column| column.values.is_some());
    let speaks_against = |column: &&BarColumn| column.values.iter().flatten().any(|value| *value < 0.0);
    if !answered().any(|column| speaks_against(&column)) {
        return None;
    }
    let without: Vec<&str> = answered().filter(|column| !column.signed).map(|column| column.title.as_str()).collect();
    let cannot = match without.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} has no sign"),
        [some @ .., last] => format!("; {} and {last} have no sign", some.join(", ")),
    };
    Some(format!("Orange: raises the score · blue: lowers it{cannot}"))
}

/// The logit that is explained, or the difference of two: `logit(“Lily”) − logit(“Ben”)`.
pub fn logit_name(report: &Report) -> String {
    let label = |name: &str| {
        let (_, value) = report.parameters.iter().find(|(known, _)| known == name)?;
        value.get("label").and_then(serde_json::Value::as_str).map(ToOwned::to_owned)
    };
    let raw = report.raw();
    match (label("class"), label("against")) {
        (Some(class), _) if class == SIMILARITY || class == SCORE => format!("the {class}"),
        (Some(class), Some(against)) => format!("{raw}(“{class}”) − {raw}(“{against}”)"),
        (Some(class), None) => format!("{raw}(“{class}”)"),
        (None, _) => format!("the {raw}"),
    }
}

/// What is lost without the head that is looked at, in a line.
pub fn without_head(leaves: &[Leaf<'_>], head: HeadId, logit: &str) -> Option<[String; 3]> {
    let of = |name: &str| -> Vec<(usize, &Vec<f64>)> {
        let here = leaves.iter().filter(|leaf| leaf.name.starts_with(name) && is_of(&leaf.name, head.stack));
        here.filter_map(|leaf| match leaf.value {
            Value::List(values) => Some((leaf.layer?, values)),
            _ => None,
        })
        .collect()
    };
    let own = |name: &str| of(name).into_iter().find(|(layer, _)| *layer == head.layer)?.1.get(head.head).copied();
    // A head that was left out has no number.
    let known = |name: &str| own(name).filter(|it| it.is_finite());
    // Scores have no probabilities that could move.
    let (lost, change) = (known("logit")?, known("change"));
    // Each measure has a place of its own among the heads: the map beside shows one of them.
    let place = |name: &str, size: f64, moves: [&str; 2]| {
        let all = of(name).into_iter().flat_map(|(_, values)| values).filter(|it| it.is_finite());
        let (n_more, n) = all.fold((0, 0), |(more, n), it| (more + usize::from(it.abs() > size.abs()), n + 1));
        match n_more {
            0 => format!("none of {n} heads {} more", moves[0]),
            1 => format!("1 of {n} heads {} more", moves[0]),
            _ => format!("{n_more} of {n} heads {} more", moves[1]),
        }
    };
    let what = if lost < 0.0 { "rises" } else { "falls" };
    let moved = change.map_or_else(String::new, |change| {
        let place = place("change", change, ["moves", "move"]);
        format!(", and {} of the probability moves to other outcomes ({place})", share_text(change))
    });
    let changed = place("logit", lost, ["changes it", "change it"]);
    let text = format!("{logit} {what} by {} ({changed}){moved}", decimal_text(lost.abs()));
    if change.is_none() {
        return Some([format!("Without {head}"), text, "Difference of two runs".to_owned()]);
    }
    let meaning = "Moved probability: total variation distance between the outputs, 0 % no change, 100 % completely \
                   different";
    Some([format!("Without {head}"), text, meaning.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, signed: bool, values: &[f32]) -> BarColumn {
        BarColumn { title: title.to_owned(), unit: "", signed, values: Some(values.to_vec()) }
    }

    #[test]
    fn what_a_ranking_leaves_out_is_said_with_its_share() {
        let token = |text: &str| Token { text: text.to_owned(), special: text.starts_with('['), ..Token::default() };
        let tokens = ["[CLS]", "fine", "film", "[SEP]", "yes", "[SEP]"].map(token);
        let ranked = compare::ranked_positions(&tokens, false);
        let attention: (&str, &[f32]) = ("Attention", &[0.25, 0.3, 0.2, 0.125, 0.07, 0.055]);
        assert_eq!(left_out(&tokens, &ranked, &[attention]).unwrap(), "[CLS], [SEP] left out: 43 %");
        let both = left_out(&tokens, &ranked, &[attention, ("If hidden", &[0.0, -1.0, 1.0, 0.0, 0.0, 0.0])]).unwrap();
        assert_eq!(both, "[CLS], [SEP] left out: 43 % of Attention, 0 % of If hidden");
        assert_eq!(left_out(&tokens, &[0, 1, 2, 3, 4, 5], &[]), None);
    }

    #[test]
    fn words_and_signs_are_named() {
        let tokens: Vec<String> = ["easy", "to", "love"].map(str::to_owned).to_vec();
        let columns = [
            column("Attention", false, &[0.5, 0.1, 0.2]),
            column("If hidden", true, &[-0.4, f32::NAN, 1.0]),
            column("Gradient", true, &[-1.0, 0.0, 0.2]),
            column("If deleted", true, &[-0.3, 0.0, 0.9]),
            BarColumn { title: "Flow".to_owned(), unit: "", signed: false, values: None },
        ];
        assert_eq!(
            largest((&tokens, &[1, 2, 4]), &columns).unwrap(),
            "Most on “love” (If hidden, If deleted); “easy” (Attention); “easy”, lowers it (Gradient)"
        );
        // Of two with one text the place in the input is told, not the one in the ranking.
        let alike: Vec<String> = ["the", "dog", "the"].map(str::to_owned).to_vec();
        assert_eq!(largest((&alike, &[1, 2, 5]), &columns[..1]).unwrap(), "Most on “the” #1 (Attention)");
        assert_eq!(signs(&columns).unwrap(), "Orange: raises the score · blue: lowers it; Attention has no sign");
        assert_eq!(signs(&columns[..1]), None);
        assert_eq!(largest((&tokens, &[0, 1, 2]), &[column("Nothing", true, &[0.0, f32::NAN, 0.0])]), None);
    }
}

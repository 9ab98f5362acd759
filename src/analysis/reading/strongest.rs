//! Where a query looks most, in a sentence.

use super::{Captures, Reading, read};
use crate::{
    capture::{Capture, Merging, RowMass},
    ids::HeadId,
    text::{decimal_text, grouped},
};

/// The key that a query gives most of its attention in a head, words whole, and whether other heads of the stack look
/// there most as well. `None` where the head was not recorded or the query looks at nothing.
pub fn strongest(capture: &Capture, head: HeadId, query: usize) -> Option<String> {
    let most_in = |head: HeadId| {
        let pattern = read(Captures::one(capture), &Reading { merging: Merging::WORDS, ..Reading::of(head) }).ok()?;
        let row = pattern.row(pattern.rows.group_of(query)?)?.get(..pattern.cols.n_of_tokens())?;
        let (key, weight) = row.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        (weight > 0.0).then_some((pattern, key, weight))
    };
    let (pattern, key, weight) = most_in(head)?;
    let layers = capture.model().stack(head.stack)?.layers.iter().enumerate();
    let all = layers.flat_map(|(layer, shape)| (0..shape.n_heads).map(move |nth| HeadId { layer, head: nth, ..head }));
    let others: Vec<bool> =
        all.filter(|other| *other != head).filter_map(most_in).map(|(_, other, _)| other == key).collect();
    let n_elsewhere = others.iter().filter(|is_alike| !**is_alike).count();
    let rest = match (others.len(), n_elsewhere) {
        (0, _) => String::new(),
        (n, elsewhere) if n == elsewhere => " Other heads look elsewhere.".to_owned(),
        (_, 0) => " So do all others.".to_owned(),
        (n, 1) => format!(" Of the other {n} heads, 1 looks elsewhere."),
        (n, elsewhere) => format!(" Of the other {n} heads, {elsewhere} look elsewhere."),
    };
    let head_of = match others.len() {
        0 => "In the only head".to_owned(),
        n => format!("In this head, one of {},", grouped(n + 1)),
    };
    let (from, to) = (pattern.rows.named_at(query), pattern.cols.named(key));
    let weight = decimal_text(weight);
    Some(match capture.row_mass(head) {
        RowMass::Free => format!("{head_of} {from} gives {to} the weight {weight}; weights need not sum to 1.{rest}"),
        RowMass::Full | RowMass::Sink | RowMass::Partial => {
            format!("{head_of} {from} gives {weight} of its attention to {to}.{rest}")
        }
    })
}

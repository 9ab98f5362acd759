//! Reading one pattern minus another, and what cannot be read.

use std::collections::BTreeSet;

use attnscope::{
    analysis::reading::{Aggregate, Blank, Captures, Heads, LeaveOut, LeftOut, Minus, Reading, Refusal, Whose, read},
    capture::{Capture, Merging},
    ids::{HeadId, StackKind},
};

use crate::{
    reading::{all_readings, benches, capture, close, head, many},
    support::{
        stacks,
        synthetic::{self},
    },
};

#[test]
fn a_head_minus_itself_is_nothing_and_minus_another_is_the_difference() {
    for bench in benches() {
        for reading in all_readings() {
            let minus = |heads: &Heads| Some(Minus { heads: heads.clone(), of: Whose::This });
            let captures = Captures::one(&bench.capture);
            let own = read(captures, &Reading { minus: minus(&reading.heads), ..reading.clone() }).unwrap();
            assert!(own.matrix.as_slice().iter().all(|&value| value == 0.0) && own.signed, "{reading:?}");
            let other = Heads::One(head(0, 0));
            let difference = read(captures, &Reading { minus: minus(&other), ..reading.clone() }).unwrap();
            let this = read(captures, &reading).unwrap();
            let that = read(captures, &reading.with_heads(other)).unwrap();
            let expected: Vec<f32> =
                this.matrix.as_slice().iter().zip(that.matrix.as_slice()).map(|(a, b)| a - b).collect();
            assert_eq!(difference.matrix.as_slice(), expected, "{reading:?}");
            assert_eq!((difference.mass, difference.minus_mass), (this.mass, that.mass));
        }
    }
}

#[test]
fn documents_are_subtracted_word_by_word() {
    let this = capture(1, &["[CLS]", "the", "un", "##seen", "cat", "sat", "[SEP]"], false);
    let other = capture(3, &["[CLS]", "the", "cat", "un", "##heard", "sat", "[SEP]"], false);
    let id = head(1, 1);
    let minus = Some(Minus { heads: Heads::One(id), of: Whose::Other });
    let both = Captures { this: &this, other: Some(&other) };
    let words = Reading { merging: Merging::WORDS, minus: minus.clone(), ..Reading::of(id) };
    let pattern = read(both, &words).unwrap();
    let plain = Reading { merging: Merging::WORDS, ..Reading::of(id) };
    let (a, b) = (read(Captures::one(&this), &plain).unwrap(), read(Captures::one(&other), &plain).unwrap());
    // “unseen” has no partner; [CLS] the cat sat [SEP] have.
    let partners = [Some(0), Some(1), None, Some(2), Some(4), Some(5)];
    for (row, their_row) in partners.into_iter().enumerate() {
        for (col, their_col) in partners.into_iter().enumerate() {
            let value = pattern.value(row, col).unwrap();
            match their_row.zip(their_col) {
                Some((r, c)) => {
                    assert_eq!(value, a.value(row, col).unwrap() - b.value(r, c).unwrap());
                    assert_eq!(pattern.blank(row, col), None);
                }
                None => assert_eq!((value, pattern.blank(row, col)), (0.0, Some(Blank::LeftOut(LeftOut::Unmatched)))),
            }
        }
        // What went to the word without a partner is told on both sides.
        if let Some(r) = their_row {
            assert!(close(pattern.mass[row].unmatched, f64::from(a.value(row, 2).unwrap())));
            assert!(close(pattern.minus_mass[row].unmatched, f64::from(b.value(r, 3).unwrap())));
            let sum: f64 = pattern.matrix.row(row).unwrap().iter().map(|&value| f64::from(value)).sum();
            assert!(close(sum, pattern.mass[row].shown() - pattern.minus_mass[row].shown()));
        }
    }
    // A position that is left out is left out where its partner is: “cat” is 4 here and 2 there.
    let leave_out = LeaveOut { positions: BTreeSet::from([4]), ..LeaveOut::default() };
    let without = read(both, &Reading { leave_out: leave_out.clone(), minus, ..Reading::of(id) }).unwrap();
    let there = LeaveOut { positions: BTreeSet::from([2]), ..LeaveOut::default() };
    let a = read(Captures::one(&this), &Reading { leave_out, ..Reading::of(id) }).unwrap();
    let b = read(Captures::one(&other), &Reading { leave_out: there, ..Reading::of(id) }).unwrap();
    assert_eq!(without.value(1, 5), Some(a.value(1, 5).unwrap() - b.value(1, 5).unwrap()));
}

#[test]
fn what_cannot_be_read_says_why() {
    let text = capture(1, &["[CLS]", "a", "b"], false);
    let strange = capture(4, &["x", "y"], false);
    let picture = synthetic::image_capture((2, 3));
    let finer = synthetic::image_capture((4, 3));
    let translation = stacks::translation_capture();
    let fails = |this: &Capture, other: Option<&Capture>, reading: &Reading| {
        read(Captures { this, other }, reading).unwrap_err().to_string()
    };
    let minus = |head: HeadId, of| Some(Minus { heads: Heads::One(head), of });
    let of_other = Reading { minus: minus(head(0, 0), Whose::Other), ..Reading::of(head(0, 0)) };
    assert_eq!(
        fails(&text, None, &Reading::of(head(0, 9))),
        "There is no self L0H9: the layer has 4 heads, counted from 0"
    );
    assert_eq!(
        fails(&text, None, &Reading { heads: many(&[7], &[], Aggregate::Mean), ..Reading::default() }),
        "There is no self L7H0: the stack has 3 layers, counted from 0"
    );
    assert_eq!(
        fails(&text, None, &Reading::of(HeadId { stack: StackKind::Cross, ..HeadId::default() })),
        "There is no cross L0H0: bench has self"
    );
    assert_eq!(fails(&text, None, &of_other), "There is nothing to subtract: the other run has no result");
    assert_eq!(
        fails(&text, Some(&picture), &of_other),
        "A text and a picture cannot be subtracted: the queries are words in one and patches in the other"
    );
    assert_eq!(
        fails(&picture, Some(&finer), &of_other),
        "The pictures have 2 × 3 and 4 × 3 patches; only equal grids can be subtracted"
    );
    assert_eq!(
        fails(&text, Some(&strange), &of_other),
        "The two texts have no queries in common, so there is nothing to subtract"
    );
    let decoder = |stack| HeadId { stack, layer: 0, head: 0 };
    let sides =
        Reading { minus: minus(decoder(StackKind::Cross), Whose::This), ..Reading::of(decoder(StackKind::Decoder)) };
    assert_eq!(
        fails(&translation, None, &sides),
        "decoder minus cross is not defined: the keys of the two stacks are tokens of different sequences"
    );
    assert!(read(Captures { this: &picture, other: Some(&picture) }, &of_other).is_ok(), "equal grids can be");
    assert!(matches!(
        read(Captures::one(&text), &Reading { heads: many(&[], &[9], Aggregate::Mean), ..Reading::default() }),
        Err(Refusal::NoHeads(StackKind::SelfAttention))
    ));
}

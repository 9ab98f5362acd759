//! What of a row went to no key: learned sinks and what an incomplete file lacks, in readings, views and figures.

use std::{fs, path::Path};

use attnscope::{
    analysis::{
        reading::{
            Aggregate, Aggregation, Captures, Heads, LeaveOut, Minus, Policy, ReadPattern, Reading, Rest, Which, Whose,
            read,
        },
        stats,
    },
    capture::{Capture, RowMass, file::Format},
    ids::{HeadId, StackKind},
    session::{Focus, ViewKind},
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;

use crate::{
    foreign::{f32s, read as read_file},
    render::{attnscope, texts},
    views::Stage,
};

const HEAD: HeadId = HeadId { stack: StackKind::SelfAttention, layer: 0, head: 0 };
/// Two heads of two causal queries: sums 0.75 and 1, then 0.25 and 0.5.
const WEIGHTS: [f32; 8] = [0.75, 0.0, 0.5, 0.5, 0.25, 0.0, 0.125, 0.375];
const SINKS: [f32; 4] = [0.25, 0.0, 0.75, 0.5];

fn bytes(sink: bool) -> Vec<u8> {
    let (metadata, entry) = if sink {
        (String::new(), r#","self.0.sink":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]}"#)
    } else {
        (r#","rows":"partial""#.to_owned(), "")
    };
    let header = format!(
        r#"{{"__metadata__":{{"tokens":"{{\"self\":[\"the\",\"cat\"]}}"{metadata}}},"self.0.pattern":{{"dtype":"F32","shape":[2,2,2],"data_offsets":[0,32]}}{entry}}}"#
    );
    let data = [f32s(&WEIGHTS), if sink { f32s(&SINKS) } else { Vec::new() }].concat();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

fn capture(sink: bool) -> Capture {
    read_file(&bytes(sink), Format::Safetensors).unwrap()
}

fn pattern(capture: &Capture, reading: &Reading) -> ReadPattern {
    read(Captures::one(capture), reading).unwrap()
}

#[test]
fn what_went_to_no_key_has_a_column_behind_the_keys() {
    for (sink, kind) in [(true, Rest::Sink), (false, Rest::Missing)] {
        let capture = capture(sink);
        let read = pattern(&capture, &Reading::of(HEAD));
        assert_eq!(read.matrix.as_slice(), [0.75, 0.0, 0.25, 0.5, 0.5, 0.0], "{kind:?}");
        assert_eq!((read.cols.text(2), read.cols.rest_at(2), read.cols.rest_at(1)), (kind.text(), Some(kind), None));
        assert_eq!((read.cols.n_of_tokens(), read.of_keys().shape()), (2, [2, 2]));
        // The mask rules out the later key and nothing behind the last one.
        assert_eq!(read.visible, [0..1, 0..2]);
        assert!(read.blank(0, 1).is_some() && read.blank(0, 2).is_none());
        assert!(read.mass.iter().all(|mass| (mass.total - 1.0).abs() < 1e-6));
        assert_eq!(read.ranked_cols(0), [(0, 0.75), (2, 0.25)]);
        assert_eq!(read.by_key(Some(0)), [0.75, 0.0], "of tokens alone");
        let said = read.hidden_text().unwrap();
        assert!(said.starts_with("12 % of the attention") && said.contains(kind.meaning()), "{said}");
    }
}

#[test]
fn nothing_scales_what_went_to_no_key() {
    for sink in [true, false] {
        let capture = capture(sink);
        let all = Aggregation { stack: HEAD.stack, layers: Which::All, heads: Which::All, how: Aggregate::Mean };
        let read_with =
            |heads: Heads, leave_out: LeaveOut| pattern(&capture, &Reading { heads, leave_out, ..Reading::of(HEAD) });
        let mean = read_with(Heads::Many(all.clone()), LeaveOut::default());
        assert_eq!(mean.matrix.as_slice(), [0.5, 0.0, 0.5, 0.3125, 0.4375, 0.25]);
        let most = Heads::Many(Aggregation { how: Aggregate::Max, ..all });
        assert_eq!(read_with(most, LeaveOut::default()).matrix.row(1).unwrap(), [0.5, 0.5, 0.5]);
        // Without the first key the second has what both had.
        let first = LeaveOut { first: true, policy: Policy::Renormalize, ..LeaveOut::default() };
        let head = Heads::One(HeadId { head: 1, ..HEAD });
        assert_eq!(read_with(head.clone(), first.clone()).matrix.row(1).unwrap(), [0.0, 0.5, 0.5]);
        let hide = LeaveOut { policy: Policy::Hide, ..first };
        assert_eq!(read_with(head, hide).matrix.row(1).unwrap(), [0.0, 0.375, 0.5]);
        // Of a difference both ends have their column.
        let minus = Minus { heads: Heads::One(HeadId { head: 1, ..HEAD }), of: Whose::This };
        let difference = pattern(&capture, &Reading { minus: Some(minus), ..Reading::of(HEAD) });
        assert_eq!(difference.matrix.row(0).unwrap(), [0.5, 0.0, -0.5]);
    }
}

/// A sink is one more choice of a row; what a file lacks could be any number of keys.
#[test]
fn entropy_is_told_of_rows_that_are_whole_with_their_sink() {
    let of = |sink: bool| stats::stack_stats(&capture(sink), HEAD.stack)[0][1].unwrap();
    let expected = -(0.25f32 * 0.25f32.ln()
        + 0.75 * 0.75f32.ln()
        + 0.125 * 0.125f32.ln()
        + 0.375 * 0.375f32.ln()
        + 0.5 * 0.5f32.ln())
        / 2.0;
    assert!((of(true).entropy - expected).abs() < 1e-6, "{} is not {expected}", of(true).entropy);
    assert_eq!((of(true).rows, of(false).rows), (RowMass::Sink, RowMass::Partial));
}

#[test]
fn views_draw_the_column_and_name_it() {
    for (sink, name) in [(true, "(sink)"), (false, "(missing)")] {
        let mut stage = Stage::new(capture(sink), ViewKind::Heads).show(vec2(900.0, 600.0));
        stage.run();
        let label = format!("Key 2 {name}");
        stage.get_by_label(&label).hover();
        stage.run();
        assert_eq!(stage.state().session.pane().selection.hover, Focus::key(2), "{name}");
        stage.get_by_label(&label).click();
        stage.run();
        // Held it is drawn alone, and no other view takes it for a token.
        assert_eq!(stage.state().session.pane().selection.pinned, Focus::key(2));
        let mut stage = Stage::new(capture(sink), ViewKind::Heatmap).show(vec2(900.0, 700.0));
        stage.run();
        let caption = if sink { "went to the learned sink" } else { "is not in the file" };
        assert!(stage.query_by_label_contains(caption).is_some(), "{caption}");
    }
}

#[test]
fn figures_and_their_numbers_have_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (sink, name) in [(true, "(sink)"), (false, "(missing)")] {
        fs::write(at("rows.safetensors"), bytes(sink)).unwrap();
        for view in ["heads", "heatmap"] {
            let arguments =
                ["render", view, "--capture", &at("rows.safetensors"), "--out", &at("x.svg"), "--data", &at("x.csv")];
            let output = attnscope(&arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let drawn = texts(&fs::read(Path::new(&at("x.svg"))).unwrap());
            assert!(drawn.iter().any(|text| text == name), "{view}: {drawn:?}");
            let numbers = fs::read_to_string(at("x.csv")).unwrap();
            assert!(numbers.lines().any(|line| line.contains(name) && line.ends_with("0.25")), "{view}: {numbers}");
        }
    }
}

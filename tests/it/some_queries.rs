//! Some queries over all keys: their rows are those of the whole run, and what needs all rows says so.

use std::fs;

use attnscope::{
    analysis::{
        chosen::{Queries, chosen},
        reading::{Captures, Reading, read},
    },
    capture::{Capture, Matrix},
    figure::ViewKind,
    ids::{HeadId, Side, StackKind},
    model::{Engine, Input, Model, RunPlan, Site, Sites, locate, uninterrupted},
};
use safetensors::SafeTensors;

use crate::render::attnscope;

const TEXT: &str = "Once upon a time there was a little dog and the dog was happy";

fn whole() -> Capture {
    let (files, name) = locate::model("demo:gpt").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let encoded = model.encode(&Input::text(TEXT)).unwrap();
    model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap()
}

fn of(head: HeadId) -> HeadId {
    HeadId { stack: StackKind::Chosen, ..head }
}

#[test]
fn rows_of_some_queries_are_those_of_the_whole() {
    let whole = whole();
    let n = whole.tokens(Side::Only).len();
    for (asked, positions) in [("last:3", vec![n - 3, n - 2, n - 1]), ("7,2,2", vec![2, 7])] {
        let some = chosen(&whole, &asked.parse().unwrap(), Sites::NONE.with(Site::Pattern)).unwrap();
        let places: Vec<_> = some.tokens(Side::Chosen).iter().map(|token| token.position).collect();
        assert_eq!(places, positions.iter().copied().map(Some).collect::<Vec<_>>());
        for head in [HeadId::single(0, 0), HeadId::single(4, 2)] {
            let rows =
                |matrix: &Matrix| positions.iter().map(|at| matrix.row(*at).unwrap().to_vec()).collect::<Vec<_>>();
            let expected = rows(&whole.stored_pattern(head).unwrap());
            let found = some.stored_pattern(of(head)).unwrap();
            assert_eq!(found.rows().map(<[f32]>::to_vec).collect::<Vec<_>>(), expected);
            let shown = read(Captures::one(&some), &Reading::of(of(head))).unwrap();
            let names: Vec<String> = (0..shown.rows.len()).map(|row| shown.rows.numbered(row)).collect();
            let expected = positions.iter().map(|at| format!("{}  #{at}", whole.tokens(Side::Only)[*at].text));
            assert_eq!(names, expected.collect::<Vec<_>>(), "named by their places in the text");
            assert_eq!(shown.cols.len(), n);
        }
    }
    let shown = |view: ViewKind| {
        view.unavailable(
            &chosen(&whole, &Queries::Last(2), Sites::NONE.with(Site::Pattern)).unwrap(),
            StackKind::Chosen,
        )
    };
    assert_eq!([ViewKind::Heads, ViewKind::Heatmap, ViewKind::Text, ViewKind::Grid].map(shown), [None; 4]);
    for view in [ViewKind::Scatter, ViewKind::Paths, ViewKind::Average] {
        assert!(shown(view).is_some_and(|why| why.contains("not defined for some queries")), "{view:?}");
    }
    let refused = chosen(&whole, &Queries::At(vec![n]), Sites::NONE.with(Site::Pattern)).unwrap_err().to_string();
    assert_eq!(refused, format!("there is no token {n} among the queries: the last one is {}", n - 1));
    assert!("last:0".parse::<Queries>().is_err() && "a,b".parse::<Queries>().is_err());
}

#[test]
fn a_file_of_some_queries_is_small_and_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let capture = |more: &[&str], out: &str| {
        let output = attnscope(&[&["capture", "--model", "demo:gpt", "--out", out], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let (all, some) = (name("all.safetensors"), name("some.safetensors"));
    capture(&["--text", TEXT, "--sites", "pattern"], &all);
    capture(&["--text", TEXT, "--sites", "pattern", "--queries", "3,11"], &some);
    let [all_bytes, some_bytes] = [&all, &some].map(|path| fs::read(path).unwrap());
    let [all_file, some_file] = [&all_bytes, &some_bytes].map(|bytes| SafeTensors::deserialize(bytes).unwrap());
    let whole = all_file.tensor("self.2.pattern").unwrap();
    let rows = some_file.tensor("chosen.2.pattern").unwrap();
    let [heads, n, _] = whole.shape()[..] else { panic!("{:?}", whole.shape()) };
    assert_eq!(rows.shape(), [heads, 2, n]);
    for head in 0..heads {
        for (row, query) in [3, 11].into_iter().enumerate() {
            let at = |from: usize| from * n * 4..(from + 1) * n * 4;
            assert_eq!(rows.data()[at(head * 2 + row)], whole.data()[at(head * n + query)], "{head} {query}");
        }
    }
    let draw = |view: &str, more: &[&str]| {
        attnscope(&[&["render", view, "--capture", &some, "--fonts", "bundled"], more].concat())
    };
    let data = name("data.csv");
    let output = draw("heatmap", &["--data", &data]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = fs::read_to_string(&data).unwrap();
    assert!(table.contains("chosen,0,0,3,") && table.contains("chosen,0,0,11,"), "{table}");
    let output = draw("qk-map", &["--data", &data]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("not defined for some queries"), "{said}");
    let output =
        attnscope(&["capture", "--model", "demo:translate", "--text", "Hi", "--queries", "last:1", "--out", &all]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("one stack of a text"), "{said}");
}

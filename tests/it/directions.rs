//! Directions as changes of a run: added, projected out, made of two sets of inputs.

use std::{fs, sync::Arc};

use attnscope::{
    capture::{Along, AppliedEdit, Edit, Matrix, Site, file},
    corpus::list::{InputList, Kind, ListOptions},
    ids::StackKind,
    model::{Encoded, Logits, Model, RunPlan, Sites, uninterrupted},
    protocol::{Between, MeanInputs, Rows, TokensMeant},
    worker::direction,
};

use crate::{
    lab::{demo, fixture},
    render::attnscope,
};

const SELF: StackKind = StackKind::SelfAttention;

fn logits(model: &Model, input: &Encoded, edits: &[Edit]) -> Matrix {
    let plan = RunPlan { logits: Logits::Keep, edits: edits.to_vec(), ..RunPlan::silent() };
    model.forward(input, &plan, &uninterrupted).unwrap().logits().unwrap().clone()
}

/// A direction is added, or projected out, at some rows or at all; the run is that with the rows themselves patched.
#[test]
fn a_direction_moves_rows_as_a_patch_of_the_moved_rows_does() {
    for (name, layer) in [("gpt2", 0), ("bert", 1)] {
        let (model, input) = fixture(name);
        let plan = RunPlan { sites: Sites::of(&[Site::ResidPost]), ..RunPlan::default() };
        let plain = model.forward(&input, &plan, &uninterrupted).unwrap();
        let stream = plain.stack(SELF).unwrap().layers[layer].rows(Site::ResidPost).cloned().unwrap();
        let [n, width] = stream.shape();
        let vector: Vec<f32> = (0..width).map(|at| (0.7 * at as f32).sin()).collect();
        let square: f32 = vector.iter().map(|value| value * value).sum();
        for (along, positions) in [
            (Along::Add(1.5), vec![]),
            (Along::Add(-2.0), vec![1, 3]),
            (Along::Remove, vec![]),
            (Along::Remove, vec![2]),
        ] {
            let is_here = |row: &usize| positions.is_empty() || positions.contains(row);
            let rows: Vec<usize> = (0..n).filter(is_here).collect();
            let moved = rows.iter().flat_map(|row| {
                let old = stream.row(*row).unwrap();
                let along_it: f32 = old.iter().zip(&vector).map(|(a, b)| a * b).sum();
                let factor = match along {
                    Along::Add(factor) => factor,
                    Along::Remove => -along_it / square,
                };
                old.iter().zip(&vector).map(|(old, d)| old + factor * d).collect::<Vec<f32>>()
            });
            let value = Matrix::new(moved.collect::<Vec<f32>>(), [rows.len(), width]).unwrap();
            let patch = Edit::Patch { site: Site::ResidPost, stack: SELF, layer, head: None, positions: rows, value };
            let direction = Edit::Direction {
                site: Site::ResidPost,
                stack: SELF,
                layer,
                positions: positions.clone(),
                vector: vector.clone(),
                along,
            };
            let [found, expected] = [&direction, &patch].map(|edit| logits(&model, &input, std::slice::from_ref(edit)));
            let size = expected.as_slice().iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            let unchanged = logits(&model, &input, &[]);
            let far = |a: &Matrix, b: &Matrix| {
                a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0_f32, f32::max)
            };
            assert!(far(&found, &expected) < 1e-5 * size, "{name} {along:?} {positions:?}");
            assert!(far(&found, &unchanged) > 1e-3 * size, "{name} {along:?} changes nothing");
            let written = file::edit_to_json(&AppliedEdit::Known(direction.clone()));
            assert_eq!(file::known_edit(&written), Some(direction), "{written}");
        }
    }
    let (model, input) = fixture("gpt2");
    let refuse = |site, vector: Vec<f32>, along| {
        let edit = Edit::Direction { site, stack: SELF, layer: 0, positions: vec![], vector, along };
        model
            .forward(&input, &RunPlan { edits: vec![edit], ..RunPlan::default() }, &uninterrupted)
            .unwrap_err()
            .to_string()
    };
    assert!(refuse(Site::ResidPost, vec![1.0], Along::Add(1.0)).contains("the site is 32 wide"));
    assert!(refuse(Site::Z, vec![1.0; 32], Along::Add(1.0)).contains("a site of heads"));
    assert!(refuse(Site::ResidPost, vec![0.0; 32], Along::Remove).contains("nothing to project out"));
}

fn set(name: &str, texts: &str) -> MeanInputs {
    let list = InputList::parse(texts.as_bytes(), Kind::Text, &ListOptions::default()).unwrap();
    let sources = (0..list.items.len()).collect();
    MeanInputs::Listed { name: name.to_owned(), list: Arc::new(list), sources }
}

const GOOD: &str = "a fine and moving film\na great heart\nfunny and wise\n";
const BAD: &str = "a dull and lifeless film\na waste of time\nstupid and boring\n";

/// The difference of two means leads from one set to the other, and what lies along it can be taken away.
#[test]
fn a_direction_between_two_sets_leads_from_one_to_the_other() {
    let (model, input) = demo("demo:sentiment", "a film about a ship");
    let rows = Rows { site: Site::ResidPost, stack: SELF, layer: 1, head: None, positions: Vec::new() };
    let of = |plus: MeanInputs, minus: MeanInputs, along: Along| {
        let wanted = Between { rows: rows.clone(), plus, minus, tokens: TokensMeant::Words, along };
        direction(&model, &wanted, &uninterrupted)
    };
    let found = |plus, minus, along| of(plus, minus, along).unwrap();
    let vector =
        |edit: &Edit| if let Edit::Direction { vector, .. } = edit { vector.clone() } else { panic!("{edit}") };
    let there = found(set("good", GOOD), set("bad", BAD), Along::Add(1.0));
    let back = found(set("bad", BAD), set("good", GOOD), Along::Add(1.0));
    assert!(vector(&there).iter().zip(vector(&back)).all(|(a, b)| (a + b).abs() < 1e-5));
    // By hand: the stream of each text alone, without its special tokens.
    let mean = |texts: &str| {
        let (mut sum, mut n) = (vec![0.0_f64; vector(&there).len()], 0);
        for text in texts.lines() {
            let plan = RunPlan { sites: Sites::of(&[Site::ResidPost]), ..RunPlan::default() };
            let input = model.encode(&attnscope::model::Input::text(text)).unwrap();
            let run = model.forward(&input, &plan, &uninterrupted).unwrap();
            let stream = run.stack(SELF).unwrap().layers[1].rows(Site::ResidPost).cloned().unwrap();
            for (row, _) in stream.rows().zip(run.query_tokens(SELF)).filter(|(_, token)| !token.special) {
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                n += 1;
            }
        }
        sum.into_iter().map(|sum| sum / f64::from(n)).collect::<Vec<f64>>()
    };
    for ((found, plus), minus) in vector(&there).iter().zip(mean(GOOD)).zip(mean(BAD)) {
        assert!((f64::from(*found) - (plus - minus)).abs() < 1e-4, "{found} is not {plus} - {minus}");
    }
    let positive = |factor: f32| {
        let edit = found(set("good", GOOD), set("bad", BAD), Along::Add(factor));
        let logits = logits(&model, &input, &[edit]);
        logits.row(0).unwrap()[1] - logits.row(0).unwrap()[0]
    };
    let [less, plain, more] = [-1.0, 0.0, 1.0].map(positive);
    assert!(less < plain && plain < more, "{less} {plain} {more}");
    let MeanInputs::Listed { name, list, .. } = set("nothing", GOOD) else { panic!("a list") };
    let nothing = MeanInputs::Listed { name, list, sources: Vec::new() };
    assert!(of(nothing, set("bad", BAD), Along::Remove).is_err(), "an empty set has no mean");
}

#[test]
fn a_direction_is_written_by_one_command_and_followed_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("good.txt"), GOOD).unwrap();
    fs::write(path("bad.txt"), BAD).unwrap();
    let (good, bad, out) = (path("good.txt"), path("bad.txt"), path("direction.json"));
    let fixed = ["direction", "--model", "demo:sentiment", "--plus", &good, "--minus", &bad, "--layer", "1"];
    let made = attnscope(&[&fixed[..], &["--add", "-2", "--out", &out]].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let edit = format!("@{out}");
    let analyze = ["analyze", "dla", "--model", "demo:gpt", "--text", "Once upon a time", "--edit", &edit];
    let refused = attnscope(&analyze);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("wide"), "another model is another width");
    let capture = path("run.safetensors");
    let run = ["capture", "--model", "demo:sentiment", "--text", "a film", "--edit", &edit, "--out", &capture];
    assert!(attnscope(&run).status.success());
    let wrong = attnscope(&[&fixed[..], &["--site", "z", "--out", &out]].concat());
    assert_eq!(wrong.status.code(), Some(1));
}

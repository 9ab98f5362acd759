//! Directions as changes of a run: added, projected out, made of two sets of inputs.

use std::{fs, sync::Arc};

use attnscope::{
    capture::{Along, Direction, DirectionOf, Edit, Excerpt, Keep, Matrix, MeanOf, Patch, Site},
    corpus::list::{InputList, ListKind, ListOptions},
    ids::{ModelId, StackKind},
    model::{Encoded, Input, Logits, Model, Preparation, RunPlan, Sites, uninterrupted},
    protocol::{Between, EditRequest, MeanInputs, PatchedRows},
    worker::{Means, Stop},
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
            let patch =
                Edit::Patch(Patch { site: Site::ResidPost, stack: SELF, layer, head: None, positions: rows, value });
            let direction = Edit::Direction(Direction {
                site: Site::ResidPost,
                stack: SELF,
                layer,
                positions: positions.clone(),
                vector: vector.clone(),
                along,
                of: Some(DirectionOf { plus: "good".to_owned(), minus: "bad".to_owned(), mean: MeanOf::Texts })
                    .filter(|_| layer == 0),
            });
            let [found, expected] = [&direction, &patch].map(|edit| logits(&model, &input, std::slice::from_ref(edit)));
            let size = expected.as_slice().iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            let unchanged = logits(&model, &input, &[]);
            let far = |a: &Matrix, b: &Matrix| {
                a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0_f32, f32::max)
            };
            assert!(far(&found, &expected) < 1e-5 * size, "{name} {along:?} {positions:?}");
            assert!(far(&found, &unchanged) > 1e-3 * size, "{name} {along:?} changes nothing");
            let written = serde_json::to_value(&direction).unwrap();
            assert_eq!(Edit::from_json(&written), Ok(direction), "{written}");
        }
    }
    let (model, input) = fixture("gpt2");
    let refuse = |site, vector: Vec<f32>, along| {
        let edit =
            Edit::Direction(Direction { site, stack: SELF, layer: 0, positions: vec![], vector, along, of: None });
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
    let list = InputList::parse(texts.as_bytes(), ListKind::Text, &ListOptions::default()).unwrap();
    let sources = (0..list.items.len()).collect();
    MeanInputs::Listed { name: name.to_owned(), list: Arc::new(list), sources, how: Preparation::default() }
}

/// The direction, and what is said about its inputs.
fn direction(model: &Model, wanted: &Between) -> Result<(Edit, String), String> {
    let mut said = Vec::new();
    match Means::default().direction((ModelId(1), model), wanted, (&uninterrupted, &mut said)) {
        Ok(edit) => Ok((edit, said.join("; "))),
        Err(Stop::Failed(failure)) => Err(failure.summary),
        Err(stop) => panic!("{stop:?}"),
    }
}

fn vector(edit: &Edit) -> &[f32] {
    let Edit::Direction(Direction { vector, .. }) = edit else { panic!("{edit}") };
    vector
}

const GOOD: &str = "a fine and moving film\na great heart\nfunny and wise\n";
const BAD: &str = "a dull and lifeless film\na waste of time\nstupid and boring\n";

/// The difference of two means leads from one set to the other, and what lies along it can be taken away.
#[test]
fn a_direction_between_two_sets_leads_from_one_to_the_other() {
    let (model, input) = demo("demo:sentiment", "a film about a ship");
    let rows = PatchedRows { site: Site::ResidPost, stack: SELF, layer: 1, head: None, positions: Vec::new() };
    let of = |plus: MeanInputs, minus: MeanInputs, along: Along| {
        direction(&model, &Between { rows: rows.clone(), plus, minus, mean: MeanOf::Words, along })
    };
    let found = |plus, minus, along| of(plus, minus, along).unwrap().0;
    let there = found(set("good", GOOD), set("bad", BAD), Along::Add(1.0));
    let back = found(set("bad", BAD), set("good", GOOD), Along::Add(1.0));
    assert!(vector(&there).iter().zip(vector(&back)).all(|(a, b)| (a + b).abs() < 1e-5));
    // By hand: the stream of each text alone, without its special tokens.
    let mean = |texts: &str| {
        let (mut sum, mut n) = (vec![0.0_f64; vector(&there).len()], 0);
        for text in texts.lines() {
            let plan = RunPlan { sites: Sites::of(&[Site::ResidPost]), ..RunPlan::default() };
            let input = model.encode(&Input::text(text)).unwrap();
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
    let MeanInputs::Listed { name, list, how, .. } = set("nothing", GOOD) else { panic!("a list") };
    let nothing = MeanInputs::Listed { name, list, sources: Vec::new(), how };
    assert!(of(nothing, set("bad", BAD), Along::Remove).is_err(), "an empty set has no mean");
}

/// The mean of a site over inputs, each run by itself.
fn by_hand(model: &Model, inputs: &[Input], site: Site, mean: MeanOf) -> Vec<f64> {
    let (mut sum, mut n) = (Vec::new(), 0.0);
    for input in inputs {
        let plan = RunPlan { sites: Sites::of(&[site]), ..RunPlan::default() };
        let run = model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap();
        let values = match site {
            Site::Embed => run.embed(SELF.query_side()).cloned(),
            site => run.stack(SELF).unwrap().layers[1].rows(site).cloned(),
        };
        let tokens = run.query_tokens(SELF);
        let counts = |at: usize| match mean {
            MeanOf::All => true,
            MeanOf::Words | MeanOf::Texts => !tokens[at].special,
            MeanOf::Last => at + 1 == tokens.len(),
        };
        let rows: Vec<usize> = (0..tokens.len()).filter(|at| counts(*at)).collect();
        let share = if mean == MeanOf::Texts { 1.0 / rows.len() as f64 } else { 1.0 };
        for row in rows.iter().filter_map(|at| values.as_ref()?.row(*at)) {
            sum.resize(row.len(), 0.0);
            sum.iter_mut().zip(row).for_each(|(sum, value): (&mut f64, _)| *sum += share * f64::from(*value));
        }
        n += share * rows.len() as f64;
    }
    sum.into_iter().map(|sum| sum / n).collect()
}

/// All inputs of a list are read, over what the mean is is said, and so are inputs that are cut or left out.
#[test]
fn a_mean_is_over_all_inputs_of_a_list_and_says_what_it_leaves_out() {
    let (model, _) = demo("demo:sentiment", "a film");
    let minus = "a dull and lifeless film that nobody needs";
    let plus: Vec<String> = (0..300).map(|nth| format!("{} film", "very ".repeat(nth % 7) + "good")).collect();
    let read = |texts: &[String], how: Preparation| {
        let text = |text: &String| {
            Input::Text(attnscope::model::TextInput { text: text.clone(), how: how.of_many(), ..Default::default() })
        };
        texts.iter().map(text).collect::<Vec<_>>()
    };
    let of = |plus: &str, (site, stack), mean, how| {
        let rows = PatchedRows { site, stack, layer: 1, head: None, positions: Vec::new() };
        let prepared = |inputs| match inputs {
            MeanInputs::Listed { name, list, sources, .. } => MeanInputs::Listed { name, list, sources, how },
            bundled @ MeanInputs::Bundled(_) => bundled,
        };
        let (plus, minus) = (prepared(set("plus", plus)), prepared(set("minus", minus)));
        let wanted = Between { rows, plus, minus, mean, along: Along::Add(1.0) };
        let words = EditRequest::Between(Box::new(wanted.clone())).to_string();
        assert!(words.contains(&format!("from minus to plus ({})", mean.words())), "{words}");
        direction(&model, &wanted)
    };
    let all = plus.join("\n");
    let bare = Preparation { no_special: true, ..Preparation::default() };
    for (site, mean, how) in MeanOf::ALL
        .map(|mean| (Site::ResidPost, mean, Preparation::default()))
        .into_iter()
        .chain([(Site::Embed, MeanOf::Words, Preparation::default()), (Site::ResidPost, MeanOf::All, bare)])
    {
        let (edit, said) = of(&all, (site, SELF), mean, how).unwrap();
        assert_eq!(said, "", "nothing is left out");
        let Edit::Direction(Direction { of: Some(named), .. }) = &edit else { panic!("{edit}") };
        assert_eq!((named.plus.as_str(), named.mean), ("plus", mean));
        let (there, here) = (
            by_hand(&model, &read(&plus, how), site, mean),
            by_hand(&model, &read(&[minus.to_owned()], how), site, mean),
        );
        for ((found, plus), minus) in vector(&edit).iter().zip(there).zip(here) {
            assert!((f64::from(*found) - (plus - minus)).abs() < 1e-5, "{site:?} {mean:?}: {found}, {plus} - {minus}");
        }
    }
    let long = format!("a good film\n{}", "good ".repeat(3000));
    let (_, said) = of(&long, (Site::ResidPost, SELF), MeanOf::Words, Preparation::default()).unwrap();
    assert!(
        said.contains("Read in part: 1 of 2 inputs of plus") && said.contains("tokens, of which the first"),
        "{said}"
    );
    let short = Preparation::reading(Some(Excerpt::of(Keep::First, 4)));
    let (edit, said) = of(&all, (Site::ResidPost, SELF), MeanOf::All, short).unwrap();
    assert!(said.contains("Read in part: 1 of 1 input of minus"), "{said}");
    let here = by_hand(&model, &read(&[minus.to_owned()], short), Site::ResidPost, MeanOf::All);
    let there = by_hand(&model, &read(&plus, short), Site::ResidPost, MeanOf::All);
    for ((found, plus), minus) in vector(&edit).iter().zip(there).zip(here) {
        assert!((f64::from(*found) - (plus - minus)).abs() < 1e-5, "--max-tokens: {found}");
    }
    let same = of(minus, (Site::ResidPost, SELF), MeanOf::Words, Preparation::default()).unwrap_err();
    assert!(same.contains("plus and minus have the same mean"), "{same}");
    let absent = of(&all, (Site::ResidPost, StackKind::Cross), MeanOf::Words, Preparation::default()).unwrap_err();
    assert!(absent.contains("there is no stack cross, only self"), "{absent}");
    let heads = of(&all, (Site::Z, SELF), MeanOf::Words, Preparation::default()).unwrap_err();
    assert!(heads.contains("z is a site of heads"), "{heads}");
}

#[test]
fn cross_attention_says_whose_stream_it_reads() {
    let (model, _) = demo("demo:translate", "a dog");
    let rows =
        PatchedRows { site: Site::ResidPost, stack: StackKind::Cross, layer: 0, head: None, positions: Vec::new() };
    let (plus, minus) = (set("plus", "a dog"), set("minus", "two cats"));
    let wanted = Between { rows, plus, minus, mean: MeanOf::Words, along: Along::Remove };
    let said = direction(&model, &wanted).unwrap_err();
    assert!(said.contains("cross-attention has no resid_post of its own"), "{said}");
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
    let again = attnscope(&[&fixed[..], &["--mean", "texts", "--no-special", "--out", &out]].concat());
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let written: serde_json::Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(written["of"], serde_json::json!({ "plus": "good.txt", "minus": "bad.txt", "mean": "texts" }));
    let wrong = attnscope(&[&fixed[..], &["--site", "z", "--out", &out]].concat());
    assert_eq!(wrong.status.code(), Some(1));
}

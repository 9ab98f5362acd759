//! What attention costs: the view in the window and as a figure, and the sizes that formulas need.

use std::{fs, io::Cursor, process::Command, sync::Arc};

use attnscope::{
    analysis::{
        approximations::Directions,
        cost::{self, Pairs},
    },
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    figure::{
        FontSource, Typesetter, ViewKind,
        list::{Item, Line},
        palette::Palette,
        pen::Pen,
        views::{
            cost::{CostFacts, CostOptions, CostPart, CostScene},
            parts::OfParts as _,
        },
    },
    ids::{CaptureId, HeadId, StackKind},
    model::{RunPlan, Site, Sites, uninterrupted},
    raster::ColorMap,
    spec::MlpSpec,
};
use eframe::egui::{Pos2, Rect, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    lab::fixture,
    views::{Stage, sentence},
};

fn capture(folder: &str) -> Capture {
    let (model, encoded) = fixture(folder);
    let sites = Sites::of(&[Site::Q, Site::K, Site::V, Site::Pattern]);
    model.forward(&encoded, &RunPlan { sites, ..RunPlan::default() }, &uninterrupted).unwrap()
}

fn facts(folder: &str, stack: StackKind) -> CostFacts {
    CostFacts::of(&capture(folder), HeadId { stack, ..HeadId::default() })
}

#[test]
fn a_model_says_the_sizes_of_its_mlps_and_a_capture_file_keeps_them() {
    let gpt2 = capture("gpt2");
    let layers = &gpt2.model().stacks[0].layers;
    let d_model = gpt2.model().d_model;
    assert_eq!(layers[0].mlp, Some(MlpSpec { d_model, d_hidden: 4 * d_model, n_maps: 2, experts: None }));
    let llama = capture("families/llama");
    let gated = llama.model().stacks[0].layers[0].mlp.unwrap();
    assert_eq!(gated.n_maps, 3);
    let t5 = capture("families/t5");
    let cross = t5.model().stack(StackKind::Cross).unwrap();
    assert!(cross.layers.iter().all(|layer| layer.mlp.is_none()), "the block of a decoder has one MLP");
    for capture in [&gpt2, &llama, &t5] {
        let mut bytes = Vec::new();
        file::write(&[capture], Contents::DEFAULT, &mut bytes).unwrap();
        let read = file::read(&mut Cursor::new(bytes), Format::Safetensors, "", &mut || CaptureId(1)).unwrap();
        assert_eq!(read[0].model().stacks, capture.model().stacks);
    }
}

#[test]
fn each_head_is_approximated_as_far_as_methods_are_for_it() {
    let gpt2 = facts("gpt2", StackKind::SelfAttention);
    assert_eq!(
        gpt2.parts(),
        [CostPart::Work, CostPart::Memory, CostPart::Patterns, CostPart::Ranks, CostPart::Hashing, CostPart::Features]
    );
    let of_head = gpt2.of_head.unwrap();
    let (_, last) = of_head.ranks.last().unwrap();
    assert!(last.frobenius < 1e-6 && last.same_top > 0.999, "the whole rank is the pattern: {last:?}");
    assert!(of_head.ranks[0].1.frobenius > 0.01, "{:?}", of_head.ranks[0]);
    let masses: Vec<f64> = of_head.hashing.iter().map(|(_, values)| values.last().unwrap().1).collect();
    assert!(masses.len() == 2 && masses.iter().all(|mass| (0.0..=1.0 + 1e-6).contains(mass)), "{masses:?}");
    let features = of_head.features.unwrap();
    assert_eq!(features.len(), Directions::ALL.len());
    for (folder, stack, why) in [
        ("families/t5", StackKind::Encoder, "bias"),
        ("families/bloom", StackKind::SelfAttention, "bias"),
        ("families/gemma2", StackKind::SelfAttention, "capped"),
        ("families/mistral", StackKind::SelfAttention, "more than causal"),
    ] {
        let said = facts(folder, stack).of_head.unwrap().features.unwrap_err();
        assert!(said.contains(why), "{folder}: {said}");
    }
    assert!(facts("bert", StackKind::SelfAttention).of_head.unwrap().features.is_ok());
}

#[test]
fn formulas_are_of_every_stack_and_of_the_masks_that_there_are() {
    let names = |facts: &CostFacts| {
        let lines = facts.work(CostOptions::default());
        lines.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let gpt2 = facts("gpt2", StackKind::SelfAttention);
    let all = ["maps", "MLP", "pairs, all", "pairs, causal", "pairs, window 128", "pairs, rank 8"];
    assert_eq!(names(&gpt2), all);
    let bert = facts("bert", StackKind::SelfAttention);
    assert_eq!(names(&bert), ["maps", "MLP", "pairs, all", "pairs, window ±128", "pairs, rank 8"]);
    let t5 = facts("families/t5", StackKind::Encoder);
    let model = Arc::clone(&t5.model);
    let stack = |kind| {
        let mut one = model.as_ref().clone();
        one.stacks.retain(|stack| stack.kind == kind);
        cost::pairs(&one, Pairs::Masked, 100)
    };
    let parts: f64 = [StackKind::Encoder, StackKind::Decoder, StackKind::Cross].into_iter().map(stack).sum();
    assert!((cost::pairs(&model, Pairs::Masked, 100) / parts - 1.0).abs() < 1e-12);
}

#[test]
fn the_window_shows_what_attention_costs() {
    let mut stage = Stage::new(capture("gpt2"), ViewKind::Cost).show(vec2(900.0, 1100.0));
    stage.run();
    stage.get_by_label("Cost of L0H0");
    assert_eq!(ViewKind::Cost.unavailable(&sentence(), StackKind::SelfAttention), None, "formulas need no vectors");
}

#[test]
fn a_figure_says_what_is_a_formula_and_has_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = "The animal didn't cross the street because it was too tired";
    let arguments = ["render", "cost", "--model", "demo:gpt", "--text", text, "--layer", "3", "--head", "2"];
    let more =
        ["--cost-rank", "3", "--cost-window", "16", "--approximation", "features", "--out", &figure, "--data", &data];
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["Formula, GFLOP", "Formula, MB", "L3H2: relative errors by rank", "Random features"] {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let parts = ["flop", "bytes", "rank", "hashing", "features", "pattern", "error"];
    assert!(parts.iter().all(|part| rows.iter().any(|row| row["part"] == *part)));
    let of = |name: &str, tokens: usize| {
        rows.iter().find(|row| row["name"] == name && row["row"] == tokens).unwrap()["value"].as_f64().unwrap()
    };
    assert!((of("pairs, all", 1024) / of("pairs, all", 512) - 4.0).abs() < 1e-6);
    assert!((of("pairs, rank 3", 1024) / of("pairs, rank 3", 512) - 2.0).abs() < 1e-6);
}

#[test]
fn parts_grow_with_their_room_and_names_keep_off_marks() {
    let scene = CostScene::new(
        Arc::new(facts("gpt2", StackKind::SelfAttention)),
        None,
        CostOptions::default(),
        ColorMap::default(),
    );
    let placed = |size: Vec2| scene.placed(Rect::from_min_size(Pos2::ZERO, size));
    let least = placed(Vec2::ZERO)[0].1.size();
    let large = placed(vec2(1900.0, 1200.0));
    let size = large[0].1.size();
    assert!(size.x > 1.5 * least.x && size.y > 1.5 * least.y, "{size:?} of {least:?}");
    assert!(size.x <= 2.0 * least.x && size.y <= 2.0 * least.y, "{size:?} of {least:?}");
    let used = large.iter().map(|(_, rect)| rect.area()).sum::<f32>();
    assert!(used > 0.5 * 1900.0 * 1200.0, "{used}");
    for width in [536.0, 720.0, 1024.0] {
        let right = placed(vec2(width, 600.0)).iter().map(|(_, rect)| rect.right()).fold(0.0, f32::max);
        assert!((right - width).abs() < 1.0, "{right} of {width}");
    }
    // No name of a series lies over the mark of this input's length, wherever that is.
    let mut type_ = Typesetter::new(FontSource::Bundled);
    for n in [4, 8, 100, 5000] {
        let mut facts = (*scene.facts).clone();
        facts.n = n;
        let scene = CostScene::new(Arc::new(facts), None, CostOptions::default(), ColorMap::default());
        let mut pen = Pen::new(&mut type_, Palette::LIGHT);
        scene.draw_part(CostPart::Work, Rect::from_min_size(Pos2::ZERO, least), &mut pen);
        let upright =
            pen.items.iter().filter_map(|item| if let Item::Lines(lines) = item { Some(lines) } else { None });
        let upright: Vec<Line> =
            upright.flat_map(|lines| lines.iter().copied()).filter(|line| line.from.x == line.to.x).collect();
        assert_eq!(upright.len(), 1, "{n}");
        for item in &pen.items {
            let Item::Text(text) = item else { continue };
            let across = text.at.x..text.at.x + text.width;
            let [low, high] = [upright[0].from.y, upright[0].to.y];
            let meets = across.contains(&upright[0].from.x) && (high..low).contains(&(text.at.y - text.size / 2.0));
            assert!(!meets, "{n}: “{}” lies over the mark", text.text);
        }
    }
}

//! Final outputs against candle-transformers, an implementation that shares no code with ours.

use std::fs;

use attnscope::model::{Logits, RunPlan, Sites, uninterrupted};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bert, vit};

use crate::parity::{Reference, fixture, load};

fn weights(folder: &str) -> VarBuilder<'static> {
    let bytes = fs::read(fixture(folder).join("model.safetensors")).unwrap();
    VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).unwrap()
}

fn config<T: serde::de::DeserializeOwned>(folder: &str) -> T {
    serde_json::from_slice(&fs::read(fixture(folder).join("config.json")).unwrap()).unwrap()
}

fn assert_close(ours: &[f32], theirs: &Tensor) {
    let theirs = theirs.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < 1e-4, "{ours} against {theirs}");
    }
}

#[test]
fn bert_agrees_with_candle_transformers() {
    let ids: Vec<u32> = vec![2, 17, 40, 99, 123, 7, 3];
    let theirs = bert::BertModel::load(weights("bert-bare"), &config("bert-bare")).unwrap();
    let input = Tensor::new(ids.as_slice(), &Device::Cpu).unwrap().unsqueeze(0).unwrap();
    let theirs = theirs.forward(&input, &input.zeros_like().unwrap(), None).unwrap();
    let model = load("bert-bare");
    let encoded = model.encode(&attnscope::model::Input::Ids(ids)).unwrap();
    let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
    let ours = model.forward(&encoded, &plan, &uninterrupted).unwrap();
    assert_close(ours.stacks()[0].resid_final.as_ref().unwrap().as_slice(), &theirs);
}

#[test]
fn vit_agrees_with_candle_transformers() {
    let reference = Reference::open("vit", "reference.safetensors");
    let input = reference.input();
    let attnscope::model::Input::Pixels { data, size_px } = &input else { panic!("the reference has pixels") };
    let theirs = vit::Model::new(&config("vit"), 4, weights("vit")).unwrap();
    let pixels = Tensor::from_slice(data, (1, 3, size_px.0, size_px.1), &Device::Cpu).unwrap();
    let theirs = theirs.forward(&pixels).unwrap();
    let model = load("vit");
    let plan = RunPlan { logits: Logits::Keep, ..RunPlan::default() };
    let ours = model.forward(&model.encode(&input).unwrap(), &plan, &uninterrupted).unwrap();
    assert_close(ours.logits().unwrap().as_slice(), &theirs);
}

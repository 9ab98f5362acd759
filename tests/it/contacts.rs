//! Maps of contacts between the residues of a protein, against `predict_contacts` of transformers.

use std::{fs, sync::Arc};

use attnscope::{
    analysis::{
        explain::report::Value,
        reading::{Captures, Explained, Reading, read},
    },
    ids::HeadId,
    lab::{Contacts, MethodCall, Target},
};
use safetensors::SafeTensors;

use crate::{
    lab::{NO_EDITS, demo, fixture, refused, try_ask},
    parity,
    render::attnscope,
};

#[test]
fn maps_of_contacts_are_those_of_transformers() {
    for name in ["esm", "esm-1b", "esm-classifier", "esm-tokens"] {
        let (model, input) = fixture(&format!("families/{name}"));
        let call: MethodCall = Contacts.into();
        let answered = try_ask(&model, &input, NO_EDITS, &call, Target::default()).unwrap();
        let Some(Value::Matrix { values: map, .. }) = answered.report.value("matrix") else { panic!("{name}: no map") };
        let file = fs::read(parity::fixture(&format!("families/{name}")).join("contacts.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&file).unwrap();
        let tensor = file.tensor("contacts").unwrap();
        let n = tensor.shape()[0];
        assert_eq!(map.shape(), [n + 2, n + 2], "{name}");
        let expected = tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        for (at, expected) in expected.enumerate() {
            let found = map.get(at / n + 1, at % n + 1).unwrap();
            assert!((found - expected).abs() <= 1e-5, "{name} {at}: {found}, not {expected}");
        }
        assert!(map.get(0, 3).unwrap().is_nan(), "{name}: what begins the sequence is no residue");
        // It stands in place of attention in every view.
        let report = Arc::new(answered.report.clone());
        let explained = Explained::new(report, "Contacts", "matrix").unwrap();
        let reading = explained.in_place_of(Reading::of(HeadId::single(0, 0)));
        let shown = read(Captures::one(&answered.capture), &reading).unwrap();
        assert_eq!(shown.value(1, 2), map.get(1, 2), "{name}");
        assert!(shown.rows.groups[0].left_out.is_some(), "{name}");
    }
}

#[test]
fn a_figure_has_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("contacts.svg");
    let model = parity::fixture("families/esm");
    let given = ["render", "explain", "--ids", "0,5,6,7,8,9,10,2", "--methods", "contacts", "--model"];
    let output = attnscope(&[&given[..], &[model.to_str().unwrap(), "--out", out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(&out).unwrap().contains("Probability that two residues touch"));
}

#[test]
fn other_models_predict_no_contacts() {
    let (model, input) = demo("demo:bert", "the cat sat");
    let said = refused(&model, &input, &Contacts.into(), Target::default());
    assert!(said.contains("contact_head"), "{said}");
}

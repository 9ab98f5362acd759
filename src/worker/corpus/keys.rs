//! Names of what decides about the numbers over a corpus, for files that a later run goes on from.

use super::pass_cache::with_inputs;
use crate::{
    corpus::list::InputList,
    model::{Model, Preparation},
    worker::disk_cache::Fingerprint,
};

/// Of what a model known as `identity` computes with this version of the program on this device.
fn of_model(identity: &Fingerprint, model: &Model) -> Fingerprint {
    identity.clone().and(env!("CARGO_PKG_VERSION").as_bytes()).and(model.engine().device_name().as_bytes())
}

/// A name of the model's numbers: weights that were changed or trained anew have another.
pub fn model_key(identity: &Fingerprint, model: &Model) -> String {
    of_model(identity, model).key().to_string()
}

/// A name of the inputs of a list and of how they are prepared.
pub fn inputs_key(list: &InputList, how: Preparation) -> String {
    with_inputs(Fingerprint::new("inputs").and(format!("{how:?}").as_bytes()), list).key().to_string()
}

/// A name of both.
pub(super) fn both(identity: &Fingerprint, model: &Model, list: &InputList, how: Preparation) -> String {
    with_inputs(of_model(identity, model).and(format!("{how:?}").as_bytes()), list).key().to_string()
}

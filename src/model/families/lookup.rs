//! Families by `model_type`, and what to say of one that is not among them.

use super::{
    Body, ClassIds, Config, FAMILIES, Family, FamilyGroup, FirstRead, LoadError, Network, OpinionPlan, ProcessorClass,
    TokenizerClass, Weights, family::Build, gated_decoder, head_class, plain_decoder, refused,
};

/// As many names are told of those that are like an unknown one.
const MAX_NEAR: usize = 4;

/// The family of a `model_type`.
pub(super) fn of(model_type: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().flatten().find(|family| family.model_type == model_type)
}

/// The family of a configuration.
pub(super) fn of_config(config: &Config) -> &'static Family {
    config.model_type().ok().and_then(|model_type| of(&model_type)).unwrap_or(&Family::BASE)
}

/// The `model_type`s of a group, in order.
fn types_of(group: FamilyGroup) -> Vec<&'static str> {
    let families = FAMILIES.iter().copied().flatten().filter(|family| family.group == Some(group));
    let mut types: Vec<_> = families.map(|family| family.model_type).collect();
    types.sort_unstable();
    types
}

/// All that can be opened, group by group.
fn all_types() -> impl Iterator<Item = &'static str> {
    FamilyGroup::ALL.into_iter().flat_map(types_of)
}

/// How many `model_type`s can be opened, which of them are called much like this one, and where all are listed.
fn supported(model_type: &str) -> String {
    let all: Vec<&str> = all_types().collect();
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let wanted = plain(model_type);
    let in_common = |name: &str| wanted.chars().zip(plain(name).chars()).take_while(|(a, b)| a == b).count();
    // What begins with all of a name, or with most of its letters.
    let is_near = |name: &&&str| in_common(name) >= wanted.len().min(plain(name).len()).min(4);
    let mut near: Vec<&str> = all.iter().filter(is_near).copied().collect();
    near.sort_by_key(|name| std::cmp::Reverse(in_common(name)));
    near.truncate(MAX_NEAR);
    let near = if near.is_empty() { String::new() } else { format!(", among them {}", near.join(", ")) };
    format!("{} types are supported{near}; `attnscope models` and docs/families.md list them", all.len())
}

/// The `model_type` that a class implies where the file has none.
pub(crate) fn type_of_class(class: &str) -> Option<&'static str> {
    let mut families = FAMILIES.iter().copied().flatten();
    let family = families.find(|family| family.classes.iter().any(|begin| class.starts_with(begin)))?;
    Some(family.model_type)
}

/// The `model_type` that one of the library's classes is likely of, such as `llama` of `LlamaForCausalLM`.
fn likely_type(class: &str) -> Option<&'static str> {
    let ends = ["For", "Model", "LMHead", "DoubleHeads", "MTModel"];
    let stem = ends.iter().filter_map(|end| class.find(end)).min().map(|end| class[..end].to_lowercase())?;
    all_types().find(|name| name.replace(['-', '_'], "").trim_end_matches("text") == stem)
}

/// All supported `model_type`s by what they are, to read.
pub(crate) fn listed() -> impl Iterator<Item = (&'static str, String)> {
    FamilyGroup::ALL.into_iter().map(|group| (group.title(), types_of(group).join(", ")))
}

/// Whether a checkpoint of this `model_type` can be opened.
pub(crate) fn is_supported(model_type: &str) -> bool {
    of(model_type).is_some_and(|family| family.group.is_some())
}

/// Token ids that the class of a `model_type` has when the file does not name them.
pub(crate) fn class_ids(model_type: &str) -> ClassIds {
    of(model_type).map_or(&[], |family| family.ids)
}

/// Which class reads the texts of a `model_type`.
pub(crate) fn tokenizer(model_type: &str) -> Option<TokenizerClass> {
    of(model_type).map(|family| family.tokenizer).or_else(|| refused::tokenizer(model_type))
}

/// Which class reads the pictures of a model, or of its encoder.
pub(crate) fn image_processor(config: &Config) -> Option<&'static ProcessorClass> {
    let encoder = config.entries().get("encoder").and_then(|encoder| of(encoder.get("model_type")?.as_str()?));
    encoder.unwrap_or_else(|| of_config(config)).image_processor
}

/// What a classifier's decoder reads first.
pub(crate) fn first_read(config: &Config) -> FirstRead {
    of_config(config).first_read
}

/// The implementation to compare a model with.
pub(crate) fn opinion(config: &Config) -> Option<OpinionPlan> {
    of_config(config).opinion
}

/// Why a model of this `model_type` cannot be opened; `path` is where it is.
pub(crate) fn unsupported(model_type: &str, path: String) -> LoadError {
    let model_type = model_type.to_owned();
    if let Some(known) = likely_type(&model_type) {
        return LoadError::OtherKind {
            what: format!("config.json names no model_type; by its class {model_type} this is “{known}”"),
            advice: format!("Add \"model_type\": \"{known}\" to config.json"),
            path,
        };
    }
    match refused::reason(&model_type) {
        Some(reason) => LoadError::Refused { model_type, reason, path },
        None => LoadError::UnknownFamily { supported: supported(&model_type), model_type, path },
    }
}

/// Refuses an unknown architecture before any weight is looked for.
pub(crate) fn check(config: &Config) -> Result<(), LoadError> {
    let family = config.model_type()?;
    if !is_supported(&family) {
        return Err(unsupported(&family, config.location()));
    }
    Ok(())
}

/// The network that a whole checkpoint describes, with the head that its class has.
pub(crate) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let mut network = network(config, weights)?;
    if let Body::Single(tower) = &mut network.body
        && tower.stack.detach()
    {
        weights.warn("It could attend to an encoder, but comes without one, so that attention is left out");
    }
    head_class::keep(config, weights, &mut network);
    Ok(network)
}

/// The network of a configuration, which may be a part of a larger one.
pub(super) fn network(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let model_type = config.model_type()?;
    let build = of(&model_type).and_then(|family| family.build);
    match build.ok_or_else(|| unsupported(&model_type, config.location()))? {
        Build::Own(build) => build(config, weights),
        Build::Gated(variant) => gated_decoder::build(config, weights, variant),
        Build::Plain(plain) => plain_decoder::build(config, weights, plain),
    }
}

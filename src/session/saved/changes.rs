//! Changes of a run as JSON: what the command line takes, and what takes its numbers from elsewhere by name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::ImageRef;
use crate::{
    capture::{Along, Edit, MeanOf, Site},
    ids::{HeadId, Side, StackKind},
    model::{Generation, Input, Preparation, TextInput, TokenChoice},
    protocol::{Between, EditRequest, MeanInputs, PatchSource, PatchedRows},
    session::{BUNDLED_CORPORA, Change, WritingOptions},
};

/// A change with whether it is made.
#[derive(Serialize, Deserialize)]
struct SavedChange {
    edit: Value,
    #[serde(default = "yes")]
    on: bool,
}

const fn yes() -> bool {
    true
}

/// For `serde(with)`. What has no name that could be written, such as a mean over inputs of a file that was listed once,
/// is left out; see [`is_written`].
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(changes: &[Change], to: S) -> Result<S::Ok, S::Error> {
    let written = |change: &Change| Some(SavedChange { edit: to_json(&change.edit)?, on: change.on });
    changes.iter().filter_map(written).collect::<Vec<_>>().serialize(to)
}

/// For `serde(with)`. A change that is not known is left out.
///
/// # Errors
/// For what is no list of changes.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Change>, D::Error> {
    let known = |written: SavedChange| Some(Change { edit: from_json(&written.edit).ok()?, on: written.on });
    Ok(Vec::<SavedChange>::deserialize(from)?.into_iter().filter_map(known).collect())
}

/// Why changes of a list are left out, a clause each.
pub(super) fn left_out(changes: &Value) -> Vec<String> {
    let edits = changes.as_array().into_iter().flatten().filter_map(|written| written.get("edit"));
    edits.filter_map(|edit| from_json(edit).err()).collect()
}

/// Whether a change has a name under which it can be made again.
pub fn is_written(change: &EditRequest) -> bool {
    to_json(change).is_some()
}

/// Another run, from which rows are taken.
#[derive(Serialize, Deserialize)]
struct WrittenDonor {
    name: String,
    input: WrittenInput,
    #[serde(default)]
    writes: Option<WrittenWriting>,
    #[serde(default)]
    edits: Vec<Edit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    positions: Option<Vec<usize>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenInput {
    Text {
        text: String,
        text_b: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        #[serde(flatten)]
        how: Preparation,
    },
    Image(ImageRef),
    Pair(Box<Self>, Box<Self>),
}

#[derive(Serialize, Deserialize)]
struct WrittenWriting {
    max_tokens: usize,
    sampled: Option<(f64, f64, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    begun: Vec<u32>,
    /// How many texts are kept, and the power of their length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beams: Option<(usize, f64)>,
    /// How many texts are drawn by chance, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    texts: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct WrittenRows {
    site: String,
    stack: StackKind,
    layer: usize,
    head: Option<usize>,
    positions: Vec<usize>,
}

pub(in crate::session) fn to_json(edit: &EditRequest) -> Option<Value> {
    Some(match edit {
        EditRequest::Edit(edit) => serde_json::to_value(edit).ok()?,
        EditRequest::Word { side, position, text } => {
            json!({ "replace": position, "side": side.name(), "word": text })
        }
        EditRequest::MeanOver { head, over: MeanInputs::Bundled(name) } => json!({ "mean": head, "over": name }),
        EditRequest::MeanOver { over: MeanInputs::Listed { .. }, .. } => return None,
        EditRequest::Between(between) => {
            let (MeanInputs::Bundled(plus), MeanInputs::Bundled(minus)) = (&between.plus, &between.minus) else {
                return None;
            };
            let PatchedRows { site, stack, layer, head, positions } = between.rows.clone();
            let rows = WrittenRows { site: site.name().to_owned(), stack, layer, head, positions };
            let mut json = json!({ "between": serde_json::to_value(rows).ok()?, "plus": plus, "minus": minus });
            json["tokens"] = between.mean.name().into();
            json["add"] = match between.along {
                Along::Add(factor) => json!(factor),
                Along::Remove => Value::Null,
            };
            json
        }
        EditRequest::Taken { rows, from } => {
            let PatchedRows { site, stack, layer, head, positions } = rows.clone();
            let rows = WrittenRows { site: site.name().to_owned(), stack, layer, head, positions };
            let writes =
                from.generation.as_ref().map(|Generation { max_new_tokens, choice, begun, n_texts }| WrittenWriting {
                    max_tokens: *max_new_tokens,
                    sampled: match *choice {
                        TokenChoice::Greedy | TokenChoice::Beams { .. } => None,
                        TokenChoice::Sample { temperature, top_p, seed } => Some((temperature, top_p, seed)),
                    },
                    beams: match *choice {
                        TokenChoice::Beams { width, length_penalty } => Some((width, length_penalty)),
                        TokenChoice::Greedy | TokenChoice::Sample { .. } => None,
                    },
                    begun: begun.to_vec(),
                    texts: Some(*n_texts).filter(|n| *n > 1),
                });
            let donor = WrittenDonor {
                name: from.name.clone(),
                input: input_of(&from.input)?,
                writes,
                edits: from.edits.clone(),
                positions: from.positions.clone(),
            };
            json!({ "take": serde_json::to_value(rows).ok()?, "from": serde_json::to_value(donor).ok()? })
        }
    })
}

/// The change that JSON describes.
///
/// # Errors
/// Names what this version does not know.
pub(in crate::session) fn from_json(json: &Value) -> Result<EditRequest, String> {
    let Some(name) = ["word", "between", "over", "take"].into_iter().find(|name| json.get(name).is_some()) else {
        return Edit::from_json(json).map(EditRequest::Edit);
    };
    requested(json).ok_or_else(|| format!("a change with “{name}” has a wrong or unknown part"))
}

/// A change that takes its numbers from elsewhere.
fn requested(json: &Value) -> Option<EditRequest> {
    let fields = json.as_object()?;
    let text = |name: &str| fields.get(name)?.as_str();
    let names = |names: &[&str]| fields.keys().all(|name| names.contains(&name.as_str()));
    if let Some(word) = text("word") {
        let side = fields.get("side").map_or(Some(Side::Only), |side| Side::from_name(side.as_str()?))?;
        let position = usize::try_from(fields.get("replace")?.as_u64()?).ok()?;
        let edit = EditRequest::Word { side, position, text: word.to_owned() };
        return names(&["word", "replace", "side"]).then_some(edit);
    }
    if let Some(rows) = fields.get("between") {
        let WrittenRows { site, stack, layer, head, positions } = WrittenRows::deserialize(rows).ok()?;
        let rows = PatchedRows { site: Site::from_name(&site)?, stack, layer, head, positions };
        let set = |name: &str| BUNDLED_CORPORA.into_iter().find(|(known, _)| text(name) == Some(known));
        let (plus, minus) = (MeanInputs::Bundled(set("plus")?.0), MeanInputs::Bundled(set("minus")?.0));
        let mean = MeanOf::from_name(text("tokens")?)?;
        let along = fields.get("add")?.as_f64().map_or(Along::Remove, |factor| Along::Add(factor as f32));
        let between = Between { rows, plus, minus, mean, along };
        return names(&["between", "plus", "minus", "tokens", "add"]).then(|| EditRequest::Between(Box::new(between)));
    }
    if let Some(over) = text("over") {
        let (known, _) = BUNDLED_CORPORA.into_iter().find(|(name, _)| *name == over)?;
        let head = HeadId::deserialize(fields.get("mean")?).ok()?;
        return names(&["mean", "over"]).then_some(EditRequest::MeanOver { head, over: MeanInputs::Bundled(known) });
    }
    let WrittenRows { site, stack, layer, head, positions } = WrittenRows::deserialize(fields.get("take")?).ok()?;
    let WrittenDonor { name, input, writes, edits, positions: there } =
        WrittenDonor::deserialize(fields.get("from")?).ok()?;
    let rows = PatchedRows { site: Site::from_name(&site)?, stack, layer, head, positions };
    let generation = writes.map(|WrittenWriting { max_tokens, sampled, begun, beams, texts }| Generation {
        max_new_tokens: max_tokens,
        choice: match (sampled, beams) {
            (Some((temperature, top_p, seed)), _) => TokenChoice::Sample { temperature, top_p, seed },
            (None, Some((width, length_penalty))) => TokenChoice::Beams { width, length_penalty },
            (None, None) => TokenChoice::Greedy,
        },
        begun: begun.into(),
        n_texts: texts.unwrap_or(1).clamp(1, WritingOptions::MAX_TEXTS),
    });
    let from = Box::new(PatchSource { name, input: read_input(input)?, generation, edits, positions: there });
    names(&["take", "from"]).then_some(EditRequest::Taken { rows, from })
}

fn input_of(input: &Input) -> Option<WrittenInput> {
    Some(match input {
        Input::Text(TextInput { text, text_b, system, how }) => {
            WrittenInput::Text { text: text.clone(), text_b: text_b.clone(), system: system.clone(), how: *how }
        }
        Input::Image(source) => WrittenInput::Image(ImageRef::elsewhere(source)?),
        Input::Pair { source, target } => WrittenInput::Pair(Box::new(input_of(source)?), Box::new(input_of(target)?)),
        Input::Ids(_) | Input::Pixels { .. } => return None,
    })
}

fn read_input(written: WrittenInput) -> Option<Input> {
    Some(match written {
        WrittenInput::Text { text, text_b, system, how } => Input::Text(TextInput { text, text_b, system, how }),
        WrittenInput::Image(image) => Input::Image(image.source(&[])?),
        WrittenInput::Pair(source, target) => read_input(*source)?.with_target(read_input(*target)?),
    })
}

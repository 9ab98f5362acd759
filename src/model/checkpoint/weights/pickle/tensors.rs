//! Finds the tensors in the object that a checkpoint holds: a dictionary, or one inside another.

use candle_core::pickle::Object;

use super::{SAVE_WEIGHTS, Unreadable, guard::class_name};
use crate::model::checkpoint::weights::entry::{MAX_DIMS, is_presentable};

/// Where training programs put the weights beside optimizer and settings, commonest first.
const WRAPPERS: [&str; 6] = ["state_dict", "model_state_dict", "model", "module", "net", "weights"];
/// Dictionaries inside dictionaries that are looked into.
const MAX_WRAPPERS: usize = 3;

/// A tensor as the pickle describes it: a strided view of a storage.
#[derive(Debug)]
pub(super) struct Described {
    pub dtype_name: String,
    /// Name of the part of the archive that holds the storage.
    pub storage: String,
    /// First value, in values from the start of the storage.
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// The tensors of a checkpoint by name, and the keys that lead to them, joined by dots.
pub(super) fn find(mut object: Object) -> Result<(Vec<(String, Described)>, String), Unreadable> {
    let mut path = String::new();
    for _ in 0..=MAX_WRAPPERS {
        let Object::Dict(items) = object else { return Err(not_a_dictionary(&object)) };
        let Some(key) = wrapper(&items)? else { return Ok((tensors(items)?, path)) };
        let inner = items.into_iter().find(|(name, _)| is_text(name, &key));
        object = inner.map_or(Object::None, |(_, value)| value);
        path = if path.is_empty() { key } else { format!("{path}.{key}") };
    }
    Err(no_tensors())
}

/// The key under which a dictionary has the weights, when they are not directly in it.
fn wrapper(items: &[(Object, Object)]) -> Result<Option<String>, Unreadable> {
    let known = WRAPPERS.into_iter().find(|wrapper| {
        items
            .iter()
            .any(|(name, value)| is_text(name, wrapper) && matches!(value, Object::Dict(items) if !items.is_empty()))
    });
    if let Some(known) = known {
        return Ok(Some(known.to_owned()));
    }
    if has_tensors(items) {
        return Ok(None);
    }
    let mut inner: Vec<&str> = items
        .iter()
        .filter_map(|(name, value)| match (name, value) {
            (Object::Unicode(name), Object::Dict(items)) if is_presentable(name) && has_tensors(items) => {
                Some(name.as_str())
            }
            _ => None,
        })
        .collect();
    inner.sort_unstable();
    match inner.as_slice() {
        [] => Err(no_tensors()),
        [name] => Ok(Some((*name).to_owned())),
        several => Err(Unreadable::Foreign {
            what: format!("holds several sets of weights: {}", several.join(", ")),
            advice: "Save the one to look at in Python, torch.save(torch.load(FILE)[NAME], FILE)",
        }),
    }
}

fn has_tensors(items: &[(Object, Object)]) -> bool {
    items.iter().any(|(name, value)| matches!(name, Object::Unicode(_)) && !matches!(tensor(value), Ok(None)))
}

fn tensors(items: Vec<(Object, Object)>) -> Result<Vec<(String, Described)>, Unreadable> {
    let mut found = Vec::new();
    for (name, value) in items {
        let Object::Unicode(name) = name else { continue };
        if !is_presentable(&name) {
            return Err(Unreadable::Damaged(format!("a name in it has {} bytes or is not text", name.len())));
        }
        match tensor(&value) {
            Ok(Some(tensor)) => found.push((name, tensor)),
            Ok(None) => {}
            Err(Malformed) => return Err(Unreadable::Damaged(format!("tensor {name} is not described well"))),
        }
    }
    Ok(found)
}

/// A tensor that the pickle describes in a way that makes no sense.
pub(super) struct Malformed;

/// A tensor or parameter; `None` for everything else.
pub(super) fn tensor(object: &Object) -> Result<Option<Described>, Malformed> {
    match object {
        Object::Reduce { callable, args } => rebuilt(callable, args),
        _ => Ok(None),
    }
}

/// What PyTorch's function `callable` would make of `args`.
fn rebuilt(callable: &Object, args: &Object) -> Result<Option<Described>, Malformed> {
    let Object::Class { module_name, class_name } = callable else { return Ok(None) };
    if !is_presentable(class_name) {
        return Err(Malformed);
    }
    let args = match args {
        Object::Tuple(args) => args.as_slice(),
        _ => &[],
    };
    match (module_name.as_str(), class_name.as_str(), args) {
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state", [data, ..]) => tensor(data),
        ("torch._tensor", "_rebuild_from_type_v2", [callable, _, args, ..]) => rebuilt(callable, args),
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2", [storage, offset, shape, strides, ..]) => {
            described(storage, [offset, shape, strides], None).ok_or(Malformed).map(Some)
        }
        ("torch._utils", "_rebuild_tensor_v3", [storage, offset, shape, strides, _, _, dtype, ..]) => {
            described(storage, [offset, shape, strides], Some(dtype)).ok_or(Malformed).map(Some)
        }
        (
            "torch._utils",
            "_rebuild_parameter"
            | "_rebuild_parameter_with_state"
            | "_rebuild_tensor"
            | "_rebuild_tensor_v2"
            | "_rebuild_tensor_v3",
            _,
        ) => Err(Malformed),
        // Sparse, quantised and other tensors: noted, so that whoever needs one learns what it is.
        ("torch._utils", kind, _) => Ok(kind.strip_prefix("_rebuild_").map(|kind| Described {
            dtype_name: kind.to_owned(),
            storage: String::new(),
            offset: 0,
            shape: Vec::new(),
            strides: Vec::new(),
        })),
        _ => Ok(None),
    }
}

fn described(storage: &Object, view: [&Object; 3], dtype: Option<&Object>) -> Option<Described> {
    let Object::PersistentLoad(storage) = storage else { return None };
    let Object::Tuple(storage) = &**storage else { return None };
    // What it is, type, name, device, number of values.
    let [_, kind, Object::Unicode(storage), ..] = storage.as_slice() else { return None };
    let Object::Class { class_name, .. } = dtype.unwrap_or(kind) else { return None };
    if !is_presentable(class_name) || !is_presentable(storage) {
        return None;
    }
    let [offset, shape, strides] = view;
    let (shape, strides) = (sizes(shape)?, sizes(strides)?);
    if shape.len() != strides.len() {
        return None;
    }
    Some(Described {
        dtype_name: dtype_name(class_name),
        storage: storage.clone(),
        offset: size(offset)?,
        shape,
        strides,
    })
}

fn sizes(object: &Object) -> Option<Vec<usize>> {
    match object {
        Object::Tuple(sizes) if sizes.len() <= MAX_DIMS => sizes.iter().map(size).collect(),
        _ => None,
    }
}

fn size(object: &Object) -> Option<usize> {
    match object {
        Object::Int(n) => usize::try_from(*n).ok(),
        Object::Long(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}

/// The name that safetensors has for the type of a PyTorch storage, or the type's own.
fn dtype_name(class: &str) -> String {
    let name = match class {
        "DoubleStorage" => "F64",
        "FloatStorage" => "F32",
        "HalfStorage" => "F16",
        "BFloat16Storage" => "BF16",
        "LongStorage" => "I64",
        "IntStorage" => "I32",
        "ShortStorage" => "I16",
        "CharStorage" => "I8",
        "ByteStorage" => "U8",
        "BoolStorage" => "BOOL",
        "float8_e4m3fn" => "F8_E4M3",
        "float8_e5m2" => "F8_E5M2",
        other => other,
    };
    name.to_owned()
}

fn is_text(object: &Object, text: &str) -> bool {
    matches!(object, Object::Unicode(found) if found == text)
}

fn no_tensors() -> Unreadable {
    Unreadable::Foreign {
        what: "holds no tensors".to_owned(),
        advice: "Choose the file with the weights, often called pytorch_model.bin",
    }
}

fn not_a_dictionary(object: &Object) -> Unreadable {
    let what = match class_name(object) {
        Some(class) => format!("holds an object of the class {class} instead of a dictionary of tensors"),
        None => "holds no dictionary of tensors".to_owned(),
    };
    Unreadable::Foreign { what, advice: SAVE_WEIGHTS }
}

//! Models in several files: `llama-gguf-split` writes `NAME-00001-of-00003.gguf` and so on, all metadata in the first.

use super::{GgufError, container::Container, meta::MetaValue};
use crate::tensor_file::shown;

/// More parts than any model has.
const MAX_PARTS: usize = 1 << 12;

/// A number of the metadata that counts parts or tensors.
fn count(container: &Container, key: &str) -> Option<usize> {
    container.metadata.get(key).and_then(MetaValue::as_u64).and_then(|n| usize::try_from(n).ok())
}

/// The names of all files of a model of which `name` is one, in order: the only one of a whole model.
///
/// # Errors
/// When it is a part and is not called as one.
pub(super) fn names(name: &str, container: &Container) -> Result<Vec<String>, GgufError> {
    let n = count(container, "split.count").unwrap_or(1);
    if n <= 1 {
        return Ok(vec![name.to_owned()]);
    }
    if n > MAX_PARTS {
        return Err(GgufError::Damaged(format!("its split.count says {n} parts")));
    }
    let ending = format!("-of-{n:05}.gguf");
    let stem = name.len().checked_sub(ending.len()).and_then(|at| {
        let (before, end) = name.split_at_checked(at)?;
        end.eq_ignore_ascii_case(&ending).then_some(before)?.rsplit_once('-')
    });
    let stem = stem.filter(|(_, digits)| digits.len() == 5 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    match stem {
        Some((stem, _)) => Ok((1..=n).map(|nth| format!("{stem}-{nth:05}{ending}")).collect()),
        None => Err(GgufError::Unsupported(format!(
            "it is one of {n} parts, which are found by their names: call it NAME-{:05}{ending} again",
            count(container, "split.no").map_or(1, |no| no.saturating_add(1))
        ))),
    }
}

/// Refuses parts that are not those of one model, in their order.
pub(super) fn check(parts: &[(&str, &Container)]) -> Result<(), GgufError> {
    let n = parts.len();
    for (idx, (name, container)) in parts.iter().enumerate() {
        let (no, of) = (count(container, "split.no"), count(container, "split.count"));
        if (no, of) != (Some(idx), Some(n)) {
            let number = |number: Option<usize>| number.map_or_else(|| "no number".to_owned(), |n| n.to_string());
            return Err(GgufError::Damaged(format!(
                "its part {} is not the {}. of {n}: its split.no is {} and its split.count {}",
                shown(name),
                idx + 1,
                number(no),
                number(of)
            )));
        }
    }
    let found: usize = parts.iter().map(|(_, container)| container.tensors.len()).sum();
    match parts.first().and_then(|(_, first)| count(first, "split.tensors.count")) {
        Some(told) if told != found => {
            Err(GgufError::Damaged(format!("its split.tensors.count says {told} tensors, and its parts have {found}")))
        }
        _ => Ok(()),
    }
}

//! Tensors of llama.cpp's files under the names, and in the order of numbers, that Hugging Face's files have.

use super::{container::StoredTensor, facts::Facts, types::NumberType};

/// What the converter did to a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    /// Of each of so many heads, the two dimensions that turn together were put side by side.
    Paired(Whose),
    /// Queries, keys and values of all heads were put one after the other; they were head by head.
    Grouped,
    /// Rows and columns were exchanged.
    Transposed,
    /// One was added to each number.
    PlusOne,
    /// Several tensors were put one upon the other; `{part}` in the name is the number of one.
    Stacked,
    /// The only row of a matrix was made a vector.
    OneRow,
    /// It was given an ending.
    Ended,
    /// It is read with the metadata.
    Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Queries,
    Keys,
}

/// A tensor's name in both layouts, without `.weight` or `.bias`, `{}` standing for a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamePair {
    pub own: &'static str,
    pub hub: &'static str,
    pub change: Change,
}

pub(super) const fn same(own: &'static str, hub: &'static str) -> NamePair {
    NamePair { own, hub, change: Change::Nothing }
}

pub(super) const fn changed(own: &'static str, hub: &'static str, change: Change) -> NamePair {
    NamePair { own, hub, change }
}

/// Heads of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadCounts {
    pub queries: usize,
    pub keys: usize,
}

impl HeadCounts {
    pub fn of(facts: &Facts<'_>) -> Result<Self, String> {
        let queries = facts.size("attention.head_count")?;
        let keys = facts.optional_size("attention.head_count_kv")?.unwrap_or(queries);
        let count = |n: u64| usize::try_from(n).map_err(|error| error.to_string());
        Ok(Self { queries: count(queries)?, keys: count(keys)? })
    }
}

/// A tensor as the families ask for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MappedTensor {
    pub name: String,
    pub kind: NumberType,
    pub shape: Vec<usize>,
    /// Dimensions and the steps along each, in numbers, where the numbers do not lie in order.
    pub order: Option<(Vec<usize>, Vec<usize>)>,
    /// What is added to each number.
    pub shift: f32,
    /// First byte, from the start of the file.
    pub start: u64,
    /// Number of the file of the model that it lies in.
    pub part: usize,
}

/// What is made of one tensor.
///
/// # Errors
/// A clause about a tensor that the architecture does not have, or has in another shape.
pub(super) fn mapped(
    tensor: &StoredTensor,
    tables: &[&[NamePair]],
    heads: HeadCounts,
) -> Result<Vec<MappedTensor>, String> {
    let name = &tensor.name;
    let unknown = || format!("it has a tensor {name}, which is not known in this architecture");
    let (own, layer) = without_layer(name);
    let (own, ending) = own.rsplit_once('.').ok_or_else(unknown)?;
    let (own, part) = without_part(own);
    let pair = tables.iter().copied().flatten().find(|pair| pair.own == own.as_str()).ok_or_else(unknown)?;
    if !["weight", "bias"].contains(&ending) {
        return Err(unknown());
    }
    let hub = format!("{}.{ending}", pair.hub.replace("{}", layer));
    // Where parts are stacked, the name is cut up with them.
    let hub = if part.is_empty() { hub } else { hub.replace(PART, part) };
    let misshapen = || format!("its tensor {name} has the shape {:?}", tensor.shape);
    let (kind, shape, start) = (tensor.kind, tensor.shape.clone(), tensor.start);
    let whole = MappedTensor { name: hub, kind, shape, order: None, shift: 0.0, start, part: tensor.part };
    let mapped = match pair.change {
        Change::Nothing => whole,
        Change::Ended => MappedTensor { name: pair.hub.replace("{}", layer), ..whole },
        Change::Metadata => return Ok(Vec::new()),
        Change::PlusOne => MappedTensor { shift: -1.0, ..whole },
        Change::OneRow => match whole.shape[..] {
            [width] => MappedTensor { shape: vec![1, width], ..whole },
            _ => whole,
        },
        Change::Transposed => match whole.shape[..] {
            [rows, columns] => MappedTensor {
                shape: vec![columns, rows],
                order: Some((vec![columns, rows], vec![1, columns])),
                ..whole
            },
            // A bias is no matrix.
            _ => whole,
        },
        Change::Paired(whose) => {
            let n = if whose == Whose::Queries { heads.queries } else { heads.keys };
            // The file's row `2 i + half` of a head is row `half · n/2 + i` of the other layout.
            split_rows(whole, (n, 2), |rest, width| [2 * rest * width, width, 2 * width]).ok_or_else(misshapen)?
        }
        Change::Grouped => {
            let n = heads.queries;
            split_rows(whole, (n, 3), |rest, width| [rest * width, n * rest * width, width]).ok_or_else(misshapen)?
        }
        Change::Stacked => return stacked(&whole).ok_or_else(misshapen),
    };
    Ok(vec![mapped])
}

/// A name with `{}` for the number of its layer, and that number.
fn without_layer(name: &str) -> (String, &str) {
    const LAYER: &str = "blk.";
    let Some(at) = name.find(LAYER).map(|at| at + LAYER.len()) else { return (name.to_owned(), "") };
    let n_digits = name[at..].bytes().take_while(u8::is_ascii_digit).count();
    let (layer, rest) = name[at..].split_at(n_digits);
    (format!("{}{{}}{rest}", &name[..at]), layer)
}

/// What stands in names for the number of a part of a layer.
const PART: &str = "{part}";

/// A name with [`PART`] for the number that it ends with, and that number.
fn without_part(name: &str) -> (String, &str) {
    match name.rsplit_once('.') {
        Some((before, part)) if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {
            (format!("{before}.{PART}"), part)
        }
        _ => (name.to_owned(), ""),
    }
}

/// A matrix or a vector whose rows are split in two dimensions and what remains, in an order of which `strides` gives the
/// steps along these three from the rows that remain and their width. `None` where they do not split so.
fn split_rows(
    whole: MappedTensor,
    (first, second): (usize, usize),
    strides: impl Fn(usize, usize) -> [usize; 3],
) -> Option<MappedTensor> {
    let (rows, width) = match whole.shape[..] {
        [rows] => (rows, 1),
        [rows, width] => (rows, width),
        _ => return None,
    };
    let n = first.checked_mul(second).filter(|n| *n > 0 && rows.is_multiple_of(*n))?;
    let rest = rows / n;
    let order = (vec![first, second, rest, width], [&strides(rest, width)[..], &[1]].concat());
    Some(MappedTensor { order: Some(order), ..whole })
}

/// The parts of a tensor that lie one after the other.
fn stacked(whole: &MappedTensor) -> Option<Vec<MappedTensor>> {
    /// More parts than any layer has.
    const MOST: usize = 1 << 12;
    let (&n, shape) = whole.shape.split_first().filter(|(n, rest)| **n <= MOST && !rest.is_empty())?;
    let n_bytes = whole.kind.bytes_of(shape.iter().product::<usize>() as u64)?;
    let part = |idx: usize| MappedTensor {
        name: whole.name.replace(PART, &idx.to_string()),
        shape: shape.to_vec(),
        start: whole.start + idx as u64 * n_bytes,
        ..whole.clone()
    };
    Some((0..n).map(part).collect())
}

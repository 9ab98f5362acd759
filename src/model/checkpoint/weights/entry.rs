//! Declaration of one tensor in a weights file: its type, shape, and where its values lie.

use crate::model::kernels::Half;
pub(super) use crate::tensor_file::is_presentable;

/// How numbers are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
}

vocabulary! {
    Dtype: name;
    F64("F64"),
    F32("F32"),
    F16("F16"),
    Bf16("BF16"),
}

impl Dtype {
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The format of two bytes, if it is one.
    pub const fn half(self) -> Option<Half> {
        match self {
            Self::F64 | Self::F32 => None,
            Self::F16 => Some(Half::F16),
            Self::Bf16 => Some(Half::Bf16),
        }
    }
}

/// One tensor of a file, as declared and checked: the file is long enough for it, and as many values
/// as the shape says are stored.
#[derive(Clone, Debug)]
pub(super) struct TensorEntry {
    /// The type's name, as safetensors calls it where it has one.
    pub dtype_name: String,
    /// `None` for types that weights do not have (integers, booleans, eight-bit floats).
    pub dtype: Option<Dtype>,
    pub shape: Vec<usize>,
    /// Steps between neighbours along each dimension, in values; `None` when the values lie in order.
    pub strides: Option<Vec<usize>>,
    /// First byte, from the start of the file.
    pub start: u64,
}

impl TensorEntry {
    /// Number of values; whoever made the entry checked that it fits.
    pub fn n_values(&self) -> usize {
        self.shape.iter().product()
    }
}

/// More dimensions than any weight has.
pub(super) const MAX_DIMS: usize = 16;
/// Distance from the first to the last value, plus one: what has to be read for a tensor of these
/// strides. Zero when the tensor is empty, `None` when the numbers are absurd.
pub(super) fn extent(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .zip(strides)
        .try_fold(1usize, |extent, (&dim, &stride)| extent.checked_add((dim - 1).checked_mul(stride)?))
}

/// Whether values with these strides lie one after the other, last dimension first.
pub(super) fn in_order(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1usize;
    shape.iter().zip(strides).rev().all(|(&dim, &stride)| {
        let fits = dim <= 1 || stride == expected;
        expected = expected.saturating_mul(dim);
        fits
    })
}

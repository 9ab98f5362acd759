//! Declaration of one tensor in a weights file: its type, shape, and where its values lie.

use crate::model::kernels::{BlockType, Half};
pub(super) use crate::tensor_file::is_presentable;

/// How numbers are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    /// Of GGUF files alone; rows are whole blocks.
    Blocks(BlockType),
}

impl Dtype {
    /// The type that safetensors and PyTorch's files call so.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "F64" => Self::F64,
            "F32" => Self::F32,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            _ => return None,
        })
    }

    /// The type that GGUF files call so.
    pub fn of_gguf(name: &str) -> Option<Self> {
        Self::from_name(name).or_else(|| BlockType::from_name(name).map(Self::Blocks))
    }

    /// Numbers that are stored together, and the bytes of them.
    const fn unit(self) -> (usize, usize) {
        match self {
            Self::F64 => (1, 8),
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Blocks(kind) => (kind.n_values(), kind.size_bytes()),
        }
    }

    /// Bytes of so many numbers, which are whole blocks.
    pub const fn bytes_of(self, n_values: usize) -> usize {
        let (len, bytes) = self.unit();
        n_values / len * bytes
    }

    /// The format of two bytes, if it is one.
    pub const fn half(self) -> Option<Half> {
        match self {
            Self::F64 | Self::F32 | Self::Blocks(_) => None,
            Self::F16 => Some(Half::F16),
            Self::Bf16 => Some(Half::Bf16),
        }
    }
}

/// The numbers of a tensor in another order than that of the file, one dimension after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rearranged {
    /// As many as the tensor has numbers; a dimension of its shape may be split.
    pub dims: Vec<usize>,
    /// Steps between neighbours along each of `dims`, in numbers.
    pub strides: Vec<usize>,
}

/// One tensor of a file, as declared and checked: the file is long enough for it, and as many values
/// as the shape says are stored.
#[derive(Clone, Debug)]
pub(super) struct TensorEntry {
    /// The type's name, as safetensors calls it where it has one.
    pub dtype_name: String,
    /// `None` for types that are not read (integers, booleans, eight-bit floats).
    pub dtype: Option<Dtype>,
    pub shape: Vec<usize>,
    /// `None` when the values lie in order.
    pub order: Option<Rearranged>,
    /// What is added to each value: some files store norms plus one.
    pub shift: f32,
    /// First byte, from the start of the file.
    pub start: u64,
}

impl TensorEntry {
    /// Whether its values lie in order, each for itself, as they are.
    pub fn is_plain(&self) -> bool {
        self.order.is_none() && self.shift == 0.0 && !matches!(self.dtype, Some(Dtype::Blocks(_)))
    }

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

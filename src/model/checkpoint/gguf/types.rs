//! Number formats of GGUF files: what each is called, and how many bytes a block of so many values takes.

/// A number format of `ggml.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberType {
    /// As files store it.
    id: u32,
    pub name: &'static str,
    /// Values of one block: a row of a tensor is whole blocks.
    pub block_len: u64,
    /// Bytes of one block.
    pub block_bytes: u64,
}

impl NumberType {
    /// The format that a file calls by this number.
    pub fn from_id(id: u32) -> Option<Self> {
        TYPES.into_iter().find(|kind| kind.id == id)
    }

    /// Bytes of so many values; `None` beyond all numbers.
    pub const fn bytes_of(self, n_values: u64) -> Option<u64> {
        (n_values / self.block_len).checked_mul(self.block_bytes)
    }
}

const fn kind(id: u32, name: &'static str, block_len: u64, block_bytes: u64) -> NumberType {
    NumberType { id, name, block_len, block_bytes }
}

/// Every format that `ggml.h` has today; the numbers between them were given to formats that no file has any more.
const TYPES: [NumberType; 34] = [
    kind(0, "F32", 1, 4),
    kind(1, "F16", 1, 2),
    kind(2, "Q4_0", 32, 18),
    kind(3, "Q4_1", 32, 20),
    kind(6, "Q5_0", 32, 22),
    kind(7, "Q5_1", 32, 24),
    kind(8, "Q8_0", 32, 34),
    kind(9, "Q8_1", 32, 40),
    kind(10, "Q2_K", 256, 84),
    kind(11, "Q3_K", 256, 110),
    kind(12, "Q4_K", 256, 144),
    kind(13, "Q5_K", 256, 176),
    kind(14, "Q6_K", 256, 210),
    kind(15, "Q8_K", 256, 292),
    kind(16, "IQ2_XXS", 256, 66),
    kind(17, "IQ2_XS", 256, 74),
    kind(18, "IQ3_XXS", 256, 98),
    kind(19, "IQ1_S", 256, 50),
    kind(20, "IQ4_NL", 32, 18),
    kind(21, "IQ3_S", 256, 110),
    kind(22, "IQ2_S", 256, 82),
    kind(23, "IQ4_XS", 256, 136),
    kind(24, "I8", 1, 1),
    kind(25, "I16", 1, 2),
    kind(26, "I32", 1, 4),
    kind(27, "I64", 1, 8),
    kind(28, "F64", 1, 8),
    kind(29, "IQ1_M", 256, 56),
    kind(30, "BF16", 1, 2),
    kind(34, "TQ1_0", 256, 54),
    kind(35, "TQ2_0", 256, 66),
    kind(39, "MXFP4", 32, 17),
    kind(40, "NVFP4", 64, 36),
    kind(41, "Q1_0", 128, 18),
];

//! The ways of storing weights in few bits that are read.

/// How a configuration says that weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantization {
    /// Blocks of 32 numbers of four bits and a power of two for each (`mxfp4`).
    Mxfp4,
    /// 8-bit floating point, and what blocks of it are multiplied by (`fp8`).
    Fp8,
    /// 8-bit floating point, and what rows, blocks or all of it are multiplied by (`compressed-tensors`).
    CompressedFloat,
}

impl Quantization {
    /// What the audit says of it.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Mxfp4 => {
                "Weights of experts are stored in four bits (MXFP4) and widened when they are read: every number is the \
                 one that transformers computes with after `Mxfp4Config(dequantize=True)`"
            }
            Self::Fp8 | Self::CompressedFloat => {
                "Weights are stored in 8-bit floating point and multiplied by their scales when they are read: they are \
                 those of transformers with dequantize=True in single precision. Activations are not quantised"
            }
        }
    }
}

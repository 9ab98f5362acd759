//! The ways of storing weights in few bits that are read, by what a configuration says of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// How a configuration says that weights are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantization {
    /// Blocks of 32 numbers of four bits and a power of two for each (`mxfp4`).
    Mxfp4,
    /// 8-bit floating point, and what blocks of it are multiplied by (`fp8`).
    Fp8,
    /// 8-bit floating point, and what rows, blocks or all of it are multiplied by (`compressed-tensors`).
    CompressedFloat,
    /// Integers, and what rows or groups of them are multiplied by (`compressed-tensors`, `pack-quantized`).
    CompressedIntegers,
    /// Integers with a scale and a zero for each group of inputs (`gptq`).
    Gptq {
        /// Inputs of a group; `None` for all of them.
        group_size: Option<usize>,
        bits: u64,
        /// Whether zeros are stored as they are, and not less one (`gptq_v2`).
        whole_zeros: bool,
    },
    /// As GPTQ, in another order (`awq`, version `gemm`).
    Awq,
    /// Integers with a scale and a bias for each group of inputs (MLX, `affine`).
    Mlx {
        /// Of all maps but those in `own`.
        bits: u64,
        /// Bits of maps of their own, by name.
        own: BTreeMap<String, u64>,
    },
    /// Numbers of four bits that choose among sixteen, and what blocks of them are multiplied by (bitsandbytes).
    BitsAndBytes4,
    /// Integers, and what rows of them are multiplied by (bitsandbytes).
    BitsAndBytes8,
}

impl Quantization {
    /// The way that settings describe.
    ///
    /// # Errors
    /// For a way that is not read: its name, its bits and what else tells it from those that are.
    pub fn of(settings: &Map<String, Value>) -> Result<Self, String> {
        let text = |name: &str| settings.get(name).and_then(Value::as_str);
        let number = |name: &str| settings.get(name).and_then(Value::as_u64);
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool).unwrap_or(false);
        let bits = number("bits").or_else(|| integers(settings)).or_else(|| {
            let of_flags = [("load_in_4bit", 4), ("load_in_8bit", 8), ("_load_in_4bit", 4), ("_load_in_8bit", 8)];
            of_flags.into_iter().find(|(name, _)| flag(name)).map(|(_, bits)| bits)
        });
        let unnamed = if settings.contains_key("group_size") { "MLX" } else { "by an unnamed method" };
        let method = text("quant_method").unwrap_or(unnamed);
        let told = |more: &str| {
            let named = bits.map_or_else(|| method.to_owned(), |bits| format!("{method}, {bits} bits"));
            if more.is_empty() { named } else { format!("{named}, {more}") }
        };
        let group_size = settings.get("group_size").and_then(Value::as_i64);
        let group_size = group_size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
        match (method, bits) {
            ("mxfp4", _) => Ok(Self::Mxfp4),
            ("fp8", _) if text("fmt").is_none_or(|format| format == "e4m3") => Ok(Self::Fp8),
            ("compressed-tensors", bits) => match text("format") {
                Some("float-quantized") => Ok(Self::CompressedFloat),
                Some("pack-quantized") if matches!(bits, Some(4 | 8)) => Ok(Self::CompressedIntegers),
                format => Err(told(format.unwrap_or_default())),
            },
            ("gptq", Some(bits @ (4 | 8))) => match text("checkpoint_format").unwrap_or("gptq") {
                "gptq" => Ok(Self::Gptq { group_size, bits, whole_zeros: false }),
                "gptq_v2" => Ok(Self::Gptq { group_size, bits, whole_zeros: true }),
                format => Err(told(&format!("in the format {format}"))),
            },
            ("awq", Some(4)) => match text("version").map(str::to_lowercase).as_deref() {
                None | Some("gemm") => Ok(Self::Awq),
                Some(version) => Err(told(&format!("in the version {version}"))),
            },
            ("MLX", Some(bits)) => mlx(settings, bits).map_err(|more| told(&more)),
            ("bitsandbytes", Some(4)) => Ok(Self::BitsAndBytes4),
            ("bitsandbytes", Some(8)) => Ok(Self::BitsAndBytes8),
            _ => Err(told("")),
        }
    }

    /// Method and bits; `None` where weights may also be stored in single precision.
    pub fn named(&self) -> Option<String> {
        match self {
            Self::Mxfp4 | Self::Fp8 | Self::CompressedFloat => None,
            Self::CompressedIntegers => Some("compressed-tensors".to_owned()),
            Self::Gptq { bits, .. } => Some(format!("gptq, {bits} bits")),
            Self::Awq => Some("awq, 4 bits".to_owned()),
            Self::Mlx { bits, .. } => Some(format!("MLX, {bits} bits")),
            Self::BitsAndBytes4 => Some("bitsandbytes, 4 bits".to_owned()),
            Self::BitsAndBytes8 => Some("bitsandbytes, 8 bits".to_owned()),
        }
    }

    /// What the audit says of it.
    pub fn told(&self) -> String {
        match self {
            Self::Mxfp4 => {
                "Weights of experts are stored in four bits (MXFP4) and kept so: every number is the one that \
                 transformers computes with after `Mxfp4Config(dequantize=True)`"
                    .to_owned()
            }
            Self::Fp8 | Self::CompressedFloat => {
                "Weights are stored in 8-bit floating point and multiplied by their scales when they are used: they are \
                 those of transformers with dequantize=True in single precision. Activations are not quantised"
                    .to_owned()
            }
            Self::CompressedIntegers => integers_told("compressed-tensors"),
            Self::Gptq { bits, .. } => integers_told(&format!("GPTQ, {bits} bits")),
            Self::Awq => integers_told("AWQ, 4 bits"),
            Self::Mlx { bits, .. } => integers_told(&format!("MLX, {bits} bits")),
            Self::BitsAndBytes4 => {
                "Weights are stored in 4 bits (bitsandbytes) and widened when they are used: every number is the one of \
                 `dequantize_4bit` in single precision"
                    .to_owned()
            }
            Self::BitsAndBytes8 => {
                "Weights are stored in 8 bits (bitsandbytes) and widened when they are used: every number is the one of \
                 `int8_vectorwise_dequant`. Activations are not quantised"
                    .to_owned()
            }
        }
    }
}

fn integers_told(how: &str) -> String {
    format!(
        "Weights are stored as integers ({how}) and widened when they are used: every number is the one of the scales \
         and zeros in the file, computed in single precision"
    )
}

/// Bits of the integers that all groups of compressed-tensors have.
fn integers(settings: &Map<String, Value>) -> Option<u64> {
    let groups = settings.get("config_groups")?.as_object()?;
    let bits = |group: &Value| {
        let weights = &group["weights"];
        weights["num_bits"].as_u64().filter(|_| weights["type"].as_str().is_none_or(|kind| kind == "int"))
    };
    let mut all = groups.values().map(bits);
    let first = all.next()??;
    all.all(|bits| bits == Some(first)).then_some(first)
}

/// Settings of MLX: of all maps, and of some by name, which may be `false` for those that are not quantised.
fn mlx(settings: &Map<String, Value>, bits: u64) -> Result<Quantization, String> {
    let check = |settings: &Map<String, Value>| match settings.get("mode").and_then(Value::as_str) {
        None | Some("affine") => Ok(()),
        Some(mode) => Err(format!("in the mode {mode}")),
    };
    check(settings)?;
    let mut own = BTreeMap::new();
    for (name, value) in settings {
        let Some(of_map) = value.as_object() else { continue };
        check(of_map).map_err(|mode| format!("{name} {mode}"))?;
        own.extend(of_map.get("bits").and_then(Value::as_u64).map(|bits| (name.clone(), bits)));
    }
    if let Some((name, bits)) = own.iter().find(|(_, bits)| ![4, 8].contains(*bits)) {
        return Err(format!("{name} of {bits}"));
    }
    if [4, 8].contains(&bits) { Ok(Quantization::Mlx { bits, own }) } else { Err(String::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &Value) -> Result<Quantization, String> {
        Quantization::of(settings.as_object().unwrap())
    }

    #[test]
    fn ways_are_known_by_their_settings() {
        use serde_json::json;

        let gptq = |group_size, bits, whole_zeros| Ok(Quantization::Gptq { group_size, bits, whole_zeros });
        let settings = json!({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": true});
        assert_eq!(of(&settings), gptq(Some(128), 4, false));
        let settings = json!({"quant_method": "gptq", "bits": 8, "group_size": -1, "checkpoint_format": "gptq_v2"});
        assert_eq!(of(&settings), gptq(None, 8, true));
        assert_eq!(of(&json!({"quant_method": "awq", "bits": 4, "version": "GEMM"})), Ok(Quantization::Awq));
        assert_eq!(of(&json!({"quant_method": "bitsandbytes", "load_in_8bit": true})), Ok(Quantization::BitsAndBytes8));
        let settings = json!({"group_size": 64, "bits": 4, "model.embed_tokens": {"bits": 8}, "lm_head": false});
        let own = BTreeMap::from([("model.embed_tokens".to_owned(), 8)]);
        assert_eq!(of(&settings), Ok(Quantization::Mlx { bits: 4, own }));
        for (settings, told) in [
            (json!({"quant_method": "gptq", "bits": 3}), "gptq, 3 bits"),
            (
                json!({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}),
                "gptq, 4 bits, in the format marlin",
            ),
            (json!({"quant_method": "awq", "bits": 4, "version": "gemv"}), "awq, 4 bits, in the version gemv"),
            (json!({"group_size": 32, "bits": 4, "mode": "mxfp4"}), "MLX, 4 bits, in the mode mxfp4"),
            (json!({"group_size": 32, "bits": 4, "lm_head": {"bits": 6}}), "MLX, 4 bits, lm_head of 6"),
            (json!({"group_size": 32, "bits": 3}), "MLX, 3 bits"),
            (json!({"quant_method": "hqq"}), "hqq"),
            (json!({}), "by an unnamed method"),
        ] {
            assert_eq!(of(&settings), Err(told.to_owned()));
        }
    }
}

//! bitsandbytes: codes of four bits that choose among sixteen numbers, which the file has, with a scale for each block of
//! them, perhaps of few bits itself; and integers of eight bits with the largest number of each row.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde_json::Value;

use super::{
    EntryTable, Placed, Quantized, StoredBytes, StoredForm,
    codes::{self, CodedTensor},
};
use crate::model::{
    LoadError,
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// How the name of what describes a tensor of four bits goes on after that of the tensor.
const STATE: &str = ".quant_state.bitsandbytes__";
/// More bytes than any description has.
const MAX_STATE: usize = 1 << 16;
/// What the largest number of a row is divided by: 1 / 127 in single precision, as the library has it.
const OF_127: f32 = 7.874_016e-3;

/// Four bits: `nf4` and `fp4`.
#[derive(Debug)]
struct Four {
    name: String,
    /// Numbers in a row, and of which neighbours share a scale.
    width: usize,
    block: usize,
    codes: Placed,
    /// The sixteen numbers.
    map: Placed,
    scales: Scales,
}

#[derive(Debug)]
enum Scales {
    Plain(Placed),
    Nested(Box<NestedScales>),
}

/// Scales of few bits: bytes that choose among 256 numbers, the scale of each block of them, and what is added to all.
#[derive(Debug)]
struct NestedScales {
    codes: Placed,
    map: Placed,
    scales: Placed,
    block: usize,
    offset: f32,
}

/// What a tensor of four bits says of itself.
struct State {
    kind: String,
    shape: [usize; 2],
    block: usize,
    /// Block and offset of scales that have few bits.
    nested: Option<(usize, f32)>,
}

impl State {
    fn read(stored: StoredBytes<'_>, name: &str, (shard, entry): &Placed) -> Result<Self, String> {
        let wrong = || format!("{name} does not say how it is stored");
        let n = entry.n_values();
        if entry.dtype_name != "U8" || n > MAX_STATE {
            return Err(wrong());
        }
        let bytes = stored.bytes(&(*shard, entry.clone()), 0, n).map_err(|error| format!("{name}: {error}"))?;
        let state: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
        let size = |name: &str| state[name].as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        let shape: Option<Vec<usize>> = state["shape"]
            .as_array()
            .and_then(|shape| shape.iter().map(|size| size.as_u64().and_then(|n| usize::try_from(n).ok())).collect());
        let shape = shape.and_then(|shape| <[usize; 2]>::try_from(shape).ok()).ok_or_else(wrong)?;
        let nested = match (size("nested_blocksize"), state["nested_offset"].as_f64()) {
            (Some(block), Some(offset)) => Some((block, offset as f32)),
            _ => None,
        };
        let kind = state["quant_type"].as_str().unwrap_or_default().to_owned();
        Ok(Self { kind, shape, block: size("blocksize").ok_or_else(wrong)?, nested })
    }
}

/// `{name}` with `.absmax`, `.quant_map` and `.quant_state.…` beside it becomes a matrix `[d_out, d_in]`.
pub(super) fn take_4(entries: &mut EntryTable, stored: StoredBytes<'_>) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    let states = entries.keys().filter_map(|name| Some((name.clone(), name.split_once(STATE)?.0.to_owned())));
    for (state_name, name) in states.collect::<Vec<_>>() {
        let State { kind, shape, block, nested } = State::read(stored, &state_name, &entries[&state_name])?;
        if !["nf4", "fp4"].contains(&kind.as_str()) {
            return Err(format!("{name} is stored as “{kind}” of bitsandbytes, of which nf4 and fp4 are read"));
        }
        let codes = entries.get(&name).cloned().ok_or_else(|| format!("{state_name} has no {name} beside it"))?;
        let map = codes::beside(entries, &name, ".quant_map", &["F32"])?;
        let n = shape[0].checked_mul(shape[1]).ok_or_else(|| format!("{name} has the shape {shape:?}"))?;
        // Some files call their bytes numbers of another type.
        let n_bytes = codes.1.dtype.map_or_else(|| codes.1.n_values(), |dtype| dtype.bytes_of(codes.1.n_values()));
        let n_blocks = n.div_ceil(block);
        let (scales, fits) = match nested {
            None => {
                let scales = codes::beside(entries, &name, ".absmax", &["F32"])?;
                let fits = scales.1.n_values() == n_blocks;
                (Scales::Plain(scales), fits)
            }
            Some((of_scales, offset)) => {
                let codes = codes::beside(entries, &name, ".absmax", &["U8"])?;
                let map = codes::beside(entries, &name, ".nested_quant_map", &["F32"])?;
                let scales = codes::beside(entries, &name, ".nested_absmax", &["F32"])?;
                let fits = codes.1.n_values() == n_blocks
                    && map.1.n_values() == 256
                    && scales.1.n_values() == n_blocks.div_ceil(of_scales);
                (Scales::Nested(Box::new(NestedScales { codes, map, scales, block: of_scales, offset })), fits)
            }
        };
        if !(fits && n_bytes == n.div_ceil(2) && map.1.n_values() == 16 && codes.1.order.is_none()) {
            return Err(format!("{name} has {n_bytes} bytes for the shape {shape:?} in {kind}, or not as many scales"));
        }
        let endings: &[&str] = if nested.is_some() {
            &[".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"]
        } else {
            &[".absmax", ".quant_map"]
        };
        let mut companions: Vec<_> = endings.iter().map(|ending| format!("{name}{ending}")).collect();
        companions.push(state_name);
        let width = shape[1];
        let tensor = CodedTensor {
            name: name.clone(),
            shape: shape.to_vec(),
            dtype_name: kind.to_uppercase(),
            codes: codes.clone(),
            group_bytes: width / shared(width, block).max(1) * size_of::<f32>(),
            code_width: CodeWidth::Four,
            companions,
        };
        found.extend([codes::put(entries, tensor, Four { name, width, block, codes, map, scales })]);
    }
    Ok(found)
}

/// Neighbours of each row that share a scale: blocks go on from row to row.
const fn shared(width: usize, block: usize) -> usize {
    let (mut a, mut b) = (width, block);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Scales {
    /// The scale of each block.
    fn numbers(&self, stored: StoredBytes<'_>, name: &str) -> Result<Vec<f32>, LoadError> {
        let named = |ending: &str| format!("{name}{ending}");
        match self {
            Self::Plain(scales) => stored.numbers(&named(".absmax"), scales),
            Self::Nested(nested) => {
                let NestedScales { codes, map, scales, block, offset } = &**nested;
                let codes = stored.bytes(codes, 0, codes.1.n_values())?;
                let map = stored.numbers(&named(".nested_quant_map"), map)?;
                let scales = stored.numbers(&named(".nested_absmax"), scales)?;
                let number = |(at, code): (usize, u8)| map[usize::from(code)] * scales[at / block] + offset;
                Ok(codes.into_iter().enumerate().map(number).collect())
            }
        }
    }
}

impl StoredForm for Four {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let width = self.width;
        let (first, end) = (rows.start * width, rows.end * width);
        let bytes = stored.bytes(&self.codes, first / 2, end.div_ceil(2) - first / 2)?;
        // The first of two is in the upper half; rows go on from byte to byte.
        let code = |at: usize| {
            let byte = bytes[at / 2 - first / 2];
            if at.is_multiple_of(2) { byte >> 4 } else { byte & 0xf }
        };
        let of_row = |row: usize| {
            let (first, end) = (row * width, (row + 1) * width);
            (first..end).step_by(2).map(move |at| code(at) | if at + 1 < end { code(at + 1) << 4 } else { 0 })
        };
        let scales = self.scales.numbers(stored, &self.name)?;
        let shared = shared(width, self.block).max(1);
        Ok(RowPart::Codes(CodeRows {
            width,
            code_width: CodeWidth::Four,
            codes: rows.flat_map(of_row).collect(),
            values: Arc::from(stored.numbers(&format!("{}.quant_map", self.name), &self.map)?),
            form: GroupForm::Scaled { again: 1.0 },
            groups: ScaleGroups::Runs(shared),
            scales: GroupNumbers::new((first..end).step_by(shared).map(|at| scales[at / self.block]).collect()),
            offsets: GroupNumbers::none(),
        }))
    }
}

/// Eight bits.
#[derive(Debug)]
struct Eight {
    stem: String,
    width: usize,
    codes: Placed,
    scales: Placed,
}

/// `{name}.weight` of bytes with `{name}.SCB` `[d_out]` beside it becomes a matrix `[d_out, d_in]`.
pub(super) fn take_8(entries: &mut EntryTable) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    for stem in codes::stems(entries, ".SCB") {
        let codes = codes::beside(entries, &stem, ".weight", &["I8"])?;
        let scales = codes::beside(entries, &stem, ".SCB", &["F32"])?;
        let [d_out, width] = codes::matrix(&stem, &codes.1)?;
        if scales.1.shape != [d_out] {
            return Err(format!("{stem}.SCB {:?} has not a number for each of {d_out} rows", scales.1.shape));
        }
        let format = format!("{stem}.weight_format");
        let mut companions = vec![format!("{stem}.SCB")];
        companions.extend(entries.contains_key(&format).then_some(format));
        let tensor = CodedTensor {
            name: format!("{stem}.weight"),
            shape: vec![d_out, width],
            dtype_name: "INT8".to_owned(),
            codes: codes.clone(),
            group_bytes: size_of::<f32>(),
            code_width: CodeWidth::Eight,
            companions,
        };
        found.extend([codes::put(entries, tensor, Eight { stem, width, codes, scales })]);
    }
    Ok(found)
}

impl StoredForm for Eight {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let width = self.width;
        let scales = stored.numbers(&format!("{}.SCB", self.stem), &self.scales)?;
        Ok(RowPart::Codes(CodeRows {
            width,
            code_width: CodeWidth::Eight,
            codes: stored.bytes(&self.codes, rows.start * width, rows.len() * width)?,
            values: (0..=u8::MAX).map(|code| f32::from(code.cast_signed())).collect(),
            form: GroupForm::Scaled { again: OF_127 },
            groups: ScaleGroups::Runs(width),
            scales: GroupNumbers::new(scales[rows].to_vec()),
            offsets: GroupNumbers::none(),
        }))
    }
}

//! MXFP4, as gpt-oss is published: 16 bytes hold 32 numbers of four bits, the even ones in the lower halves, and a byte
//! beside them the power of two that multiplies them all.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{EntryTable, Placed, Quantized, StoredBytes, StoredForm};
use crate::model::{
    LoadError,
    checkpoint::weights::entry::{Dtype, TensorEntry},
    kernels::{BlockPart, BlockType, RowPart},
};

/// How names of the numbers end, and of their exponents.
const BLOCKS: &str = "_blocks";
const SCALES: &str = "_scales";
/// What the audit calls the type.
const NAME: &str = "MXFP4";
/// Numbers that share an exponent.
const BLOCK: usize = 32;

#[derive(Debug)]
struct Mxfp4 {
    codes: Placed,
    exponents: Placed,
    /// Blocks in a row.
    n_blocks: usize,
}

/// `{name}_blocks` `[…, d_out, n_blocks, 16]` and `{name}_scales` `[…, d_out, n_blocks]` become `{name}_blocks`
/// `[…, d_out, 32 · n_blocks]`.
pub(super) fn take(entries: &mut EntryTable) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    let names: Vec<String> = entries.keys().filter(|name| name.ends_with(BLOCKS)).cloned().collect();
    for name in names {
        let scales_name = format!("{}{SCALES}", name.trim_end_matches(BLOCKS));
        let (codes, scales) = (entries[&name].clone(), entries.get(&scales_name).cloned());
        let Some(scales) = scales else { return Err(format!("{name} has no {scales_name} beside it")) };
        let (shape, of_blocks) = (&codes.1.shape, &scales.1.shape);
        let fits = shape.split_last().is_some_and(|(bytes, outer)| *bytes == BLOCK / 2 && outer == of_blocks);
        if !(fits && is_bytes(&codes.1) && is_bytes(&scales.1)) {
            return Err(format!("{name} {shape:?} and {scales_name} {of_blocks:?} are no blocks of {BLOCK} numbers"));
        }
        let mut whole = of_blocks.clone();
        if let Some(last) = whole.last_mut() {
            *last *= BLOCK;
        }
        let (width, n_blocks) = (whole.last().copied().unwrap_or(0), of_blocks.last().copied().unwrap_or(0));
        let size_bytes = of_blocks.iter().product::<usize>() as u64 * BlockType::Mxfp4.size_bytes() as u64;
        let (shard, start) = (codes.0, codes.1.start);
        let entry = TensorEntry {
            dtype_name: NAME.to_owned(),
            dtype: Some(Dtype::F32),
            shape: whole,
            order: None,
            shift: 0.0,
            start,
        };
        entries.insert(name.clone(), (shard, entry));
        let form = Arc::new(Mxfp4 { codes, exponents: scales, n_blocks });
        found.insert(name, Quantized { form, width, shard, size_bytes, companions: vec![scales_name] });
    }
    Ok(found)
}

fn is_bytes(entry: &TensorEntry) -> bool {
    entry.dtype_name == "U8" && entry.order.is_none()
}

impl StoredForm for Mxfp4 {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let (first, n) = (rows.start * self.n_blocks, rows.len() * self.n_blocks);
        let exponents = stored.bytes(&self.exponents, first, n)?;
        let codes = stored.bytes(&self.codes, first * BLOCK / 2, n * BLOCK / 2)?;
        let mut bytes = Vec::with_capacity(n * BlockType::Mxfp4.size_bytes());
        for (codes, exponent) in codes.as_chunks::<{ BLOCK / 2 }>().0.iter().zip(exponents) {
            bytes.push(exponent);
            bytes.extend(halves(codes));
        }
        Ok(RowPart::Blocks(BlockPart { kind: BlockType::Mxfp4, bytes }))
    }
}

/// The numbers of a block with the first half of them in the lower halves of bytes, from pairs of neighbours.
fn halves(pairs: &[u8; BLOCK / 2]) -> [u8; BLOCK / 2] {
    let code = |at: usize| pairs[at / 2] >> (at % 2 * 4) & 0xf;
    std::array::from_fn(|at| code(at) | code(at + BLOCK / 2) << 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_come_apart() {
        // The numbers 0 … 15 twice, two in a byte.
        let pairs = std::array::from_fn(|at| (at % 8 * 2) as u8 | ((at % 8 * 2 + 1) << 4) as u8);
        assert_eq!(halves(&pairs), std::array::from_fn(|at| (at | at << 4) as u8));
    }
}

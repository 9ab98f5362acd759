//! MXFP4, as gpt-oss is published: 16 bytes hold 32 numbers of four bits, the even ones in the lower halves, and a byte
//! beside them the power of two that multiplies them all.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{CodeForm, EntryTable, PIECE, Quantized, StoredBytes};
use crate::model::{
    LoadError,
    checkpoint::weights::entry::{Dtype, TensorEntry},
};

/// How names of the numbers end, and of their exponents.
pub(super) const BLOCKS: &str = "_blocks";
const SCALES: &str = "_scales";
/// What the audit calls the type.
const NAME: &str = "MXFP4";
/// Numbers that share an exponent.
const BLOCK: usize = 32;
/// What four bits stand for.
const VALUES: [f32; 16] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

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
        // All of them are numbers of this type: three bits of a mantissa and a power of two.
        let entry = TensorEntry {
            dtype_name: NAME.to_owned(),
            dtype: Some(Dtype::Bf16),
            shape: whole,
            order: None,
            shift: 0.0,
            start: codes.1.start,
        };
        entries.insert(name.clone(), (codes.0, entry));
        found.insert(name, Quantized { form: CodeForm::Mxfp4, codes, scales, companions: vec![scales_name] });
    }
    Ok(found)
}

fn is_bytes(entry: &TensorEntry) -> bool {
    entry.dtype_name == "U8" && entry.order.is_none()
}

/// Fills `out` with the numbers from `first` on, the first of a block.
pub(super) fn fill(
    stored: StoredBytes<'_>,
    (codes, scales): (&(usize, TensorEntry), &(usize, TensorEntry)),
    first: usize,
    out: &mut [f32],
) -> Result<(), LoadError> {
    out.par_chunks_mut(PIECE).enumerate().try_for_each(|(nth, piece)| {
        let first = first + nth * PIECE;
        let bytes = stored.bytes(codes, first / 2, piece.len() / 2)?;
        let exponents = stored.bytes(scales, first / BLOCK, piece.len() / BLOCK)?;
        for ((out, bytes), exponent) in piece.chunks_exact_mut(BLOCK).zip(bytes.chunks_exact(BLOCK / 2)).zip(exponents)
        {
            let scale = (f32::from(exponent) - 127.0).exp2();
            for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
                pair[0] = VALUES[usize::from(byte & 15)] * scale;
                pair[1] = VALUES[usize::from(byte >> 4)] * scale;
            }
        }
        Ok(())
    })
}

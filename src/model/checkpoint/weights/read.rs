//! Reads the values of one tensor into `f32`, in parallel pieces, and checks that they are finite.

use std::io::{self, Read, SeekFrom};

use rayon::prelude::*;

use super::entry::{Dtype, Rearranged, TensorEntry, extent};
use crate::model::{LoadError, checkpoint::ModelFiles};

/// Values per task, whole blocks of any type: large enough that opening the file once per task costs nothing.
const PIECE: usize = 1 << 20;
/// Values per read: what was just read is still in the cache when it is checked and converted.
const BLOCK: usize = 1 << 15;

/// Fills `out` with the values from `first` on of a tensor whose values lie in order.
pub(super) fn fill_from(
    files: &ModelFiles,
    shard: &str,
    (name, dtype, start): (&str, Dtype, u64),
    first: usize,
    out: &mut [f32],
) -> Result<(), LoadError> {
    match read_run(files, shard, dtype, start + dtype.bytes_of(first) as u64, out) {
        Ok(true) => Ok(()),
        Ok(false) => Err(LoadError::NotFinite { name: name.to_owned(), path: files.location_of(shard) }),
        Err(source) => Err(LoadError::Io { file: shard.to_owned(), path: files.location_of(shard), source }),
    }
}

/// Fills `out` with the tensor's values.
pub(super) fn fill(
    files: &ModelFiles,
    shard: &str,
    name: &str,
    entry: &TensorEntry,
    out: &mut [f32],
) -> Result<(), LoadError> {
    let path = || files.location_of(shard);
    let Some(dtype) = entry.dtype else {
        return Err(LoadError::Dtype { name: name.to_owned(), dtype: entry.dtype_name.clone(), path: path() });
    };
    let finite = match &entry.order {
        None => read_run(files, shard, dtype, entry.start, out),
        Some(Rearranged { dims, strides }) => {
            let mut run = vec![0.0; extent(dims, strides).unwrap_or(0)];
            read_run(files, shard, dtype, entry.start, &mut run).map(|_| {
                gather(&run, dims, strides, out);
                out.iter().all(|value| value.is_finite())
            })
        }
    };
    if entry.shift != 0.0 {
        for value in &mut *out {
            *value += entry.shift;
        }
    }
    match finite {
        Ok(true) => Ok(()),
        Ok(false) => Err(LoadError::NotFinite { name: name.to_owned(), path: path() }),
        Err(source) => Err(LoadError::Io { file: shard.to_owned(), path: path(), source }),
    }
}

/// Reads values that lie one after the other; answers whether all of them are finite.
fn read_run(files: &ModelFiles, shard: &str, dtype: Dtype, start: u64, out: &mut [f32]) -> io::Result<bool> {
    let finite = out.par_chunks_mut(PIECE).enumerate().map(|(idx, piece)| {
        let (mut reader, _) = files.reader(shard)?;
        reader.seek(SeekFrom::Start(start + dtype.bytes_of(idx * PIECE) as u64))?;
        read_piece(&mut *reader, dtype, piece)
    });
    finite.try_reduce(|| true, |a, b| Ok(a & b))
}

/// Copies a strided view into order, last dimension first. Transposed and sliced weights are saved as
/// such views.
fn gather(run: &[f32], shape: &[usize], strides: &[usize], out: &mut [f32]) {
    let Some((&row, outer)) = shape.split_last() else { return };
    let stride = strides.last().copied().unwrap_or(1);
    for (idx, out) in out.chunks_exact_mut(row.max(1)).enumerate() {
        let mut rest = idx;
        let mut start = 0;
        for (dim, stride) in outer.iter().zip(strides).rev() {
            start += rest % dim * stride;
            rest /= dim;
        }
        for (col, out) in out.iter_mut().enumerate() {
            *out = run[start + col * stride];
        }
    }
}

/// Reads little-endian numbers; answers whether all of them are finite.
fn read_piece(reader: &mut dyn Read, dtype: Dtype, out: &mut [f32]) -> io::Result<bool> {
    let mut bytes = Vec::new();
    let mut finite = true;
    for block in out.chunks_mut(BLOCK) {
        if dtype == Dtype::F32 && cfg!(target_endian = "little") {
            reader.read_exact(bytemuck::cast_slice_mut(block))?;
        } else {
            bytes.resize(dtype.bytes_of(block.len()), 0);
            reader.read_exact(&mut bytes)?;
            convert(dtype, &bytes, block);
        }
        // No early exit, so that the loop vectorises.
        finite &= block.iter().fold(true, |finite, value| finite & value.is_finite());
    }
    Ok(finite)
}

fn convert(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::F64 => each(bytes, out, |bytes| f64::from_le_bytes(bytes) as f32),
        Dtype::F32 => each(bytes, out, f32::from_le_bytes),
        Dtype::F16 => each(bytes, out, |bytes| f32_from_f16(u16::from_le_bytes(bytes))),
        Dtype::Bf16 => each(bytes, out, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)),
        Dtype::Blocks(kind) => kind.widen(bytes, out),
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut [f32], f: impl Fn([u8; N]) -> f32) {
    let (numbers, _) = bytes.as_chunks::<N>();
    for (number, out) in numbers.iter().zip(out) {
        *out = f(*number);
    }
}

/// Widens a half-precision number; exact, subnormals included.
fn f32_from_f16(bits: u16) -> f32 {
    /// 2¹¹², the difference of the exponent biases.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let is_special = bits & 0x7c00 == 0x7c00;
    let value = if is_special { f32::from_bits(magnitude | 0x7f80_0000) } else { f32::from_bits(magnitude) * REBIAS };
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::{f32_from_f16, gather};

    #[test]
    fn views_are_copied_into_order() {
        let run: Vec<f32> = (0..24).map(|n| n as f32).collect();
        let mut out = [0.0; 6];
        gather(&run, &[2, 3], &[1, 2], &mut out);
        assert_eq!(out, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
        gather(&run, &[3, 1, 2], &[8, 100, 3], &mut out);
        assert_eq!(out, [0.0, 3.0, 8.0, 11.0, 16.0, 19.0]);
        gather(&run, &[6], &[4], &mut out);
        assert_eq!(out, [0.0, 4.0, 8.0, 12.0, 16.0, 20.0]);
    }

    #[test]
    fn half_precision_widens_exactly() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, expected) in cases {
            assert_eq!(f32_from_f16(bits), expected, "{bits:#06x}");
        }
        assert!(f32_from_f16(0x7e00).is_nan());
    }
}

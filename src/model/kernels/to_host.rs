//! Copies a tensor of any strides out of the engine, once, into storage that is shared by `Arc`.

use std::{mem::MaybeUninit, sync::Arc};

use candle_core::{CpuStorage, Result, Storage, Tensor, bail};
use rayon::prelude::*;

/// Values below which one thread is faster than several.
const PARALLEL_FROM: usize = 64 * 1024;
/// Values per task.
const CHUNK: usize = 16 * 1024;

/// The values of an `f32` tensor of two or three dimensions, in row-major order.
pub fn to_host(x: &Tensor) -> Result<Arc<[f32]>> {
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cpu(CpuStorage::F32(data)) = &*storage else {
        drop(storage);
        return Ok(x.flatten_all()?.to_vec1::<f32>()?.into());
    };
    let (n_rows, n_cols, stride) = match (layout.dims(), layout.stride()) {
        (&[rows, cols], &[row, col]) => ((1, rows), cols, (0, row, col)),
        (&[heads, rows, cols], &[head, row, col]) => ((heads, rows), cols, (head, row, col)),
        _ => bail!("a recording has two or three dimensions, not {:?}", layout.dims()),
    };
    let (n_heads, n_rows) = n_rows;
    let start = layout.start_offset();
    let mut shared = Arc::new_uninit_slice(n_heads * n_rows * n_cols);
    let Some(out) = Arc::get_mut(&mut shared) else { bail!("a new allocation is already shared") };
    if n_cols > 0 {
        let copy = |(row, out): (usize, &mut [MaybeUninit<f32>])| {
            let from = start + (row / n_rows) * stride.0 + (row % n_rows) * stride.1;
            if stride.2 == 1 {
                out.write_copy_of_slice(&data[from..from + n_cols]);
            } else {
                for (col, out) in out.iter_mut().enumerate() {
                    out.write(data[from + col * stride.2]);
                }
            }
        };
        if out.len() < PARALLEL_FROM {
            out.chunks_exact_mut(n_cols).enumerate().for_each(copy);
        } else {
            out.par_chunks_exact_mut(n_cols).with_min_len(CHUNK.div_ceil(n_cols)).enumerate().for_each(copy);
        }
    }
    // SAFETY: the rows cover the whole allocation, and `copy` writes all of each row or panics.
    #[expect(unsafe_code, reason = "avoids filling large recordings twice")]
    Ok(unsafe { shared.assume_init() })
}

/// Hands the values of a tensor to `f` in row-major order, without a copy where they lie like that.
pub fn with_values<R>(x: &Tensor, f: impl FnOnce(&[f32]) -> R) -> Result<R> {
    let (storage, layout) = x.storage_and_layout();
    if let (Storage::Cpu(CpuStorage::F32(data)), Some((start, end))) = (&*storage, layout.contiguous_offsets()) {
        return Ok(f(&data[start..end]));
    }
    drop(storage);
    Ok(f(&x.flatten_all()?.to_vec1::<f32>()?))
}

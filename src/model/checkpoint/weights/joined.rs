//! Linear maps of several experts in one tensor.

use candle_core::Tensor;

use super::{Half, Stored, Weights};
use crate::model::{
    LoadError,
    kernels::{self, BlockRows, Linear, StoredMatrix, has_kernels},
    run::{Progress, Stage},
};

/// How the file names tensors of four-bit numbers ([`super::quantized`]), whose rows are the outputs of maps.
const BLOCKS: &str = "_blocks";

impl Weights<'_> {
    /// Map `idx` of the `n` that lie one after the other in the tensor `name` `[n, d_in, d_out]`, with its bias in
    /// `{name}_bias` `[n, d_out]`. `order[i]` is the output of the file that becomes output `i`.
    pub fn linear_of_joined(
        &mut self,
        name: &str,
        (idx, n): (usize, usize),
        (d_in, d_out): (usize, usize),
        order: Option<&[usize]>,
    ) -> Result<Linear, LoadError> {
        let blocks = format!("{name}{BLOCKS}");
        let (name_in_file, shape, stored) = if self.has(&blocks) {
            (blocks.as_str(), [n, d_out, d_in], Stored::OutIn)
        } else {
            (name, [n, d_in, d_out], Stored::InOut)
        };
        let shared = self.shelf().zip(self.joined_key(name, name_in_file, idx));
        if let Some((shelf, key)) = &shared
            && let Some(map) = shelf.map(key)
        {
            return Ok(map);
        }
        let weight = match self.blocks_of_joined(name_in_file, &shape, idx, order)? {
            Some(weight) => weight,
            None => self.single_of_joined((name_in_file, &shape, stored), idx, order)?,
        };
        let mut bias = Vec::new();
        self.read_one(&mut bias, &format!("{name}_bias"), &[n, d_out], idx)?;
        if self.is_rehearsing() {
            return Ok(Linear { weight, bias: Some(self.zeros(&[d_out])?) });
        }
        if let Some(order) = order {
            bias = order.iter().map(|&column| bias[column]).collect();
        }
        let map = Linear { weight, bias: Some(Tensor::from_vec(bias, d_out, &self.device)?) };
        if let Some((shelf, key)) = shared {
            shelf.keep_map(key, &map);
        }
        Ok(map)
    }

    /// By what one of several maps is kept that an adapter does not change.
    fn joined_key(&self, name: &str, name_in_file: &str, idx: usize) -> Option<String> {
        let found = [self.find(name_in_file)?, self.find(&format!("{name}_bias"))?];
        (!found.iter().any(|name| self.is_changed(name))).then(|| format!("{found:?} {idx}"))
    }

    /// A map whose outputs stay as the file has them; `None` where they are not its rows.
    fn blocks_of_joined(
        &mut self,
        name: &str,
        &[_, d_out, d_in]: &[usize; 3],
        idx: usize,
        order: Option<&[usize]>,
    ) -> Result<Option<StoredMatrix>, LoadError> {
        let found = self.find(name).filter(|found| self.quantized.contains_key(found));
        let Some(found) = found.filter(|_| !self.is_rehearsing() && has_kernels(&self.device)) else { return Ok(None) };
        if self.is_changed(&found) && self.merged().is_some() {
            return Ok(None);
        }
        (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
        let row = |output: usize| idx * d_out + output;
        let rows: Vec<usize> = match order {
            Some(order) => order.iter().copied().map(row).collect(),
            None => (0..d_out).map(row).collect(),
        };
        let rows = BlockRows::new(vec![self.row_part(&found, &rows, d_in)?], d_in)?;
        self.audit.n_params += (d_out * d_in) as u64;
        self.audit.n_bytes += rows.size_bytes() as u64;
        self.note_used(found);
        Ok(Some(StoredMatrix::blocks(rows)))
    }

    /// A map that is read in single precision.
    fn single_of_joined(
        &mut self,
        (name, shape, stored): (&str, &[usize; 3], Stored),
        idx: usize,
        order: Option<&[usize]>,
    ) -> Result<StoredMatrix, LoadError> {
        let (d_in, d_out) = match stored {
            Stored::OutIn => (shape[2], shape[1]),
            Stored::InOut => (shape[1], shape[2]),
        };
        let mut values = std::mem::take(&mut self.scratch);
        let half = self.read_one(&mut values, name, shape, idx)?;
        if let Some(order) = order.filter(|_| !self.is_rehearsing()) {
            values = match stored {
                Stored::OutIn => {
                    order.iter().flat_map(|&row| values[row * d_in..(row + 1) * d_in].iter().copied()).collect()
                }
                Stored::InOut => {
                    let of_row = |row: &[f32]| order.iter().map(|&column| row[column]).collect::<Vec<_>>();
                    values.chunks_exact(d_out.max(1)).flat_map(of_row).collect()
                }
            };
        }
        let weight = self.weight(&values, (d_in, d_out), stored, half)?;
        self.scratch = values;
        Ok(weight)
    }

    /// Map `idx` of the `n` that lie one after the other in the tensor `name` `[n, d_out, d_in]`, without a bias.
    pub fn linear_of_stacked(
        &mut self,
        name: &str,
        (idx, n): (usize, usize),
        (d_in, d_out): (usize, usize),
    ) -> Result<Linear, LoadError> {
        let shape = [n, d_out, d_in];
        let weight = match self.blocks_of_joined(name, &shape, idx, None)? {
            Some(weight) => weight,
            None => self.single_of_joined((name, &shape, Stored::OutIn), idx, None)?,
        };
        Ok(Linear { weight, bias: None })
    }

    /// Reads what a tensor holds at `idx` of its first dimension.
    fn read_one(
        &mut self,
        values: &mut Vec<f32>,
        name: &str,
        shape: &[usize],
        idx: usize,
    ) -> Result<Option<Half>, LoadError> {
        let found = self.checked(name, shape)?;
        self.meets(&found, shape)?;
        if self.is_rehearsing() {
            return Ok(None);
        }
        (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
        let n: usize = shape[1..].iter().product();
        let (shard, entry) = &self.entries[&found];
        let half = entry.dtype.and_then(super::Dtype::half);
        let whole = !entry.is_plain() || self.shards.get(*shard).is_none();
        values.clear();
        if whole {
            let mut all = vec![0.0; entry.n_values()];
            match self.merged() {
                Some(adapter) if self.shards.get(*shard).is_none() => adapter.fill(&found, &mut all)?,
                _ => self.fill_from(&found, 0, &mut all)?,
            }
            values.extend_from_slice(&all[idx * n..(idx + 1) * n]);
        } else {
            values.resize(n, 0.0);
            self.fill_from(&found, idx * n, values)?;
        }
        self.audit.n_params += n as u64;
        self.audit.n_bytes += kernels::bytes_of(n as u64);
        self.note_used(found);
        Ok(half)
    }
}

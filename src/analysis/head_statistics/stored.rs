//! Sums as bytes and back, bit by bit, so that a pass that was stopped goes on where it was.

use serde::{Deserialize, Serialize};

use super::{HeadStatistics, HeadSums, Moments, N_METRICS, OffsetSums};
use crate::{analysis::detect::Undefined, ids::StackKind, spec::ModelSpec};

/// What stands before the numbers.
#[derive(Serialize, Deserialize)]
struct SumsHeader {
    inputs: Vec<u32>,
    stacks: Vec<StackHeader>,
}

#[derive(Serialize, Deserialize)]
struct StackHeader {
    stack: StackKind,
    n_heads: Vec<usize>,
    undefined: Vec<(usize, Undefined, u64)>,
    n_queries: u64,
}

impl HeadStatistics {
    /// A line of JSON, then the sums of all heads as little-endian `f64`, then activations as `f32`.
    ///
    /// # Errors
    /// When JSON cannot be written.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let stacks = self.stacks.iter().map(|stack| StackHeader {
            stack: stack.stack,
            n_heads: stack.n_heads.clone(),
            undefined: stack.undefined.iter().map(|((slot, reason), n)| (*slot, *reason, *n)).collect(),
            n_queries: stack.n_queries,
        });
        let header = SumsHeader { inputs: self.inputs.clone(), stacks: stacks.collect() };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        let heads = || self.stacks.iter().flat_map(|stack| &stack.heads);
        let mut numbers = Vec::new();
        for head in heads() {
            numbers.extend(head.moments.iter().flat_map(|moments| moments.to_numbers()));
            head.offsets.to_numbers(&mut numbers);
        }
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(heads().flat_map(|head| &head.activations).flat_map(|activation| activation.to_le_bytes()));
        Ok(bytes)
    }

    /// What [`Self::to_bytes`] wrote for this model; `None` for anything else.
    pub fn from_bytes(bytes: &[u8], model: &ModelSpec) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let SumsHeader { inputs, stacks } = serde_json::from_slice(&bytes[..end]).ok()?;
        let mut statistics = Self::new(model);
        if statistics.stacks.len() != stacks.len() {
            return None;
        }
        for (stack, header) in statistics.stacks.iter_mut().zip(stacks) {
            if (stack.stack, &stack.n_heads) != (header.stack, &header.n_heads) {
                return None;
            }
            stack.undefined = header.undefined.into_iter().map(|(slot, reason, n)| ((slot, reason), n)).collect();
            stack.n_queries = header.n_queries;
        }
        let n_heads: usize = statistics.stacks.iter().map(|stack| stack.heads.len()).sum();
        let per_head = N_METRICS * Moments::N_NUMBERS + OffsetSums::N_NUMBERS;
        let (numbers, activations) = bytes[end + 1..].split_at_checked(n_heads * per_head * size_of::<f64>())?;
        if activations.len() != n_heads * inputs.len() * size_of::<f32>() {
            return None;
        }
        let mut numbers = numbers.as_chunks().0.iter().copied().map(f64::from_le_bytes);
        let mut activations = activations.as_chunks().0.iter().copied().map(f32::from_le_bytes);
        for head in statistics.stacks.iter_mut().flat_map(|stack| &mut stack.heads) {
            *head = HeadSums {
                moments: (0..N_METRICS).map(|_| moments(&mut numbers)).collect::<Option<_>>()?,
                offsets: OffsetSums::from_numbers(&mut numbers)?,
                activations: activations.by_ref().take(inputs.len()).collect(),
            };
        }
        statistics.inputs = inputs;
        Some(statistics)
    }
}

fn moments(numbers: &mut impl Iterator<Item = f64>) -> Option<Moments> {
    let mut of = [0.0; Moments::N_NUMBERS];
    for number in &mut of {
        *number = numbers.next()?;
    }
    Some(Moments::from_numbers(of))
}

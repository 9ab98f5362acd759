//! Backward pass.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    super::{
        heads::{rows_per_task, seen},
        product::{Onto, OutputBuffer, Product, Threads, View},
        simd,
    },
    block::{BlockInput, BlockRows},
    scratch::{give_back, with_scratch},
};
use crate::spec::AttentionParams;

/// Gradients of queries `[n_query, heads · d_head]`, and of keys and values `[n_key, kv_heads · d_head]`.
pub(super) struct Gradients {
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
}

impl BlockInput<'_> {
    /// Patterns are computed again, block by block. One task for each key/value head, so that its gradients are
    /// added up by one thread and in one order.
    pub fn gradients(&self, grad: &[f32]) -> Gradients {
        let (n_query, n_key, n_kv) = (self.q.n, self.k.n, self.k.n_heads);
        let mut gradients = Gradients {
            q: vec![0.0; n_query * self.q.n_heads * self.q.d],
            k: vec![0.0; n_key * n_kv * self.k.d],
            v: vec![0.0; n_key * n_kv * self.v.d],
        };
        let Gradients { q, k, v } = &mut gradients;
        let targets = [OutputBuffer::new(q), OutputBuffer::new(k), OutputBuffer::new(v)];
        let rows = rows_per_task(n_query);
        let n_parts = if self.params.softcap.is_some() { 3 } else { 2 };
        let scratch = n_parts * rows * n_key + n_key;
        (0..n_kv).into_par_iter().with_max_len(1).for_each(|kv| {
            with_scratch(scratch, |buffer| {
                for head in kv * self.group..(kv + 1) * self.group {
                    for first in (0..n_query).step_by(rows) {
                        self.block_gradients(head, first..n_query.min(first + rows), grad, buffer, targets);
                    }
                }
            });
        });
        give_back(scratch);
        gradients
    }

    /// Adds what some rows of a head have to do with the gradients.
    fn block_gradients(
        &self,
        head: usize,
        rows: Range<usize>,
        grad: &[f32],
        buffer: &mut [f32],
        [dq, dk, dv]: [OutputBuffer; 3],
    ) {
        let AttentionParams { scale, softcap, mask, .. } = *self.params;
        let keys = seen(mask, &rows, self.q.n, self.k.n);
        if keys.is_empty() {
            return;
        }
        let (kv, d) = (head / self.group, self.v.d);
        let n = rows.len() * keys.len();
        let (pattern, buffer) = buffer.split_at_mut(n);
        let (slope, buffer) = buffer.split_at_mut(n);
        let (row_slope, cap_slope) = buffer.split_at_mut(keys.len());
        let place = BlockRows { buffer: OutputBuffer::new(pattern), start: 0, row_stride: keys.len() };
        self.pattern(head, &rows, &keys, place, |nth, scores| {
            if let Some(cap) = softcap {
                simd::cap_slope(self.level, scores, cap, &mut cap_slope[nth * keys.len()..][..scores.len()]);
            }
        });
        // The gradient of the result, of this head's rows.
        let width = self.q.n_heads * d;
        let grad = View { data: grad, start: rows.start * width + head * d, row_stride: width, col_stride: 1 };
        let of = |start, row_stride, n_rows, n_inner, n_cols| Product {
            start,
            row_stride,
            n_rows,
            n_inner,
            n_cols,
            a: grad,
            b: grad,
            alpha: 1.0,
            onto: Onto::Nothing,
            threads: Threads::One,
        };
        let values = self.v.head(kv).rows_from(keys.start);
        let by_pattern = Product { b: values.transposed(), ..of(0, keys.len(), rows.len(), d, keys.len()) };
        // SAFETY: the scratch is this thread's own.
        #[expect(unsafe_code, reason = "products write into a part of a buffer")]
        unsafe {
            OutputBuffer::new(slope).product(&by_pattern);
        }
        for (nth, query) in rows.clone().enumerate() {
            let visible = mask.visible(query, self.q.n, self.k.n);
            let (from, to) = (visible.start - keys.start, visible.end - keys.start);
            let row = nth * keys.len()..(nth + 1) * keys.len();
            let (pattern, slope) = (&pattern[row.clone()], &mut slope[row.clone()]);
            let inner = &mut row_slope[..to - from];
            simd::softmax_backward(self.level, &pattern[from..to], &slope[from..to], inner);
            slope.fill(0.0);
            slope[from..to].copy_from_slice(inner);
            if softcap.is_some() {
                let caps = &cap_slope[row.start..][..to - from];
                slope[from..to].iter_mut().zip(caps).for_each(|(slope, cap)| *slope *= cap);
            }
        }
        let view = |data| View { data, start: 0, row_stride: keys.len(), col_stride: 1 };
        let (pattern, slope) = (view(pattern), view(slope));
        let (q_width, k_width, v_width) =
            (self.q.n_heads * self.q.d, self.k.n_heads * self.k.d, self.v.n_heads * self.v.d);
        // SAFETY: this head's rows of the queries' gradient, and this key/value head's columns of the others, are
        // this task's own.
        #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
        unsafe {
            dq.product(&Product {
                a: slope,
                b: self.k.head(kv).rows_from(keys.start),
                alpha: scale,
                ..of(rows.start * q_width + head * self.q.d, q_width, rows.len(), keys.len(), self.q.d)
            });
            dk.product(&Product {
                a: slope.transposed(),
                b: self.q.head(head).rows_from(rows.start),
                alpha: scale,
                onto: Onto::What,
                ..of(keys.start * k_width + kv * self.k.d, k_width, keys.len(), rows.len(), self.k.d)
            });
            dv.product(&Product {
                a: pattern.transposed(),
                b: grad,
                onto: Onto::What,
                ..of(keys.start * v_width + kv * d, v_width, keys.len(), rows.len(), d)
            });
        }
    }
}

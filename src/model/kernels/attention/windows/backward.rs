//! Backward pass.

use rayon::prelude::*;

use super::{
    super::{
        super::{
            heads::rows_per_task,
            product::{Onto, OutputBuffer, Product, Threads, View},
            simd,
        },
        scratch::{give_back, with_scratch},
    },
    RowBlock, WindowInput, matrix,
};

impl WindowInput<'_> {
    /// Gradients of queries, keys and values, `[n, heads · d_head]` each. Patterns are computed again; one task for
    /// each key/value head, so that its gradients are added up in one order.
    pub fn gradients(&self, grad: &[f32]) -> [Vec<f32>; 3] {
        let (n, n_kv) = (self.q.n, self.k.n_heads);
        let mut gradients = [(self.q.n_heads, self.q.d), (n_kv, self.k.d), (n_kv, self.v.d)]
            .map(|(n_heads, d)| vec![0.0; n * n_heads * d]);
        let targets = gradients.each_mut().map(|values| OutputBuffer::new(values));
        let rows = rows_per_task(n).min(n);
        let scratch = self.scratch(2 * rows + self.k.d + self.v.d + 1);
        (0..n_kv).into_par_iter().with_max_len(1).for_each(|kv| {
            with_scratch(scratch, |buffer| {
                for head in kv * self.group..(kv + 1) * self.group {
                    for first in (0..n).step_by(rows) {
                        self.block_gradients(&self.block(head, first..n.min(first + rows)), grad, buffer, targets);
                    }
                }
            });
        });
        give_back(scratch);
        gradients
    }

    /// Adds what a block has to do with the gradients.
    fn block_gradients(&self, block: &RowBlock<'_>, grad: &[f32], buffer: &mut [f32], [dq, dk, dv]: [OutputBuffer; 3]) {
        let (head, n_rows, n_columns) = (block.head, block.rows.len(), block.n_columns());
        let (kv, d) = (head / self.group, self.v.d);
        let (pattern, buffer) = buffer.split_at_mut(n_rows * n_columns);
        let (slope, buffer) = buffer.split_at_mut(n_rows * n_columns);
        let (keys, buffer) = buffer.split_at_mut(n_columns * self.k.d);
        let (values, buffer) = buffer.split_at_mut(n_columns * d);
        let (of_keys, buffer) = buffer.split_at_mut(n_columns * self.k.d);
        let (of_values, buffer) = buffer.split_at_mut(n_columns * d);
        let row_slope = &mut buffer[..n_columns];
        self.pattern(block, keys, pattern, |_, _| {});
        block.gather(self.v.head(kv), d, values);
        // The gradient of the result, of this head's rows.
        let width = self.q.n_heads * d;
        let grad = View { data: grad, start: block.rows.start * width + head * d, row_stride: width, col_stride: 1 };
        let of = |a, b, [n_rows, n_inner, n_cols]: [usize; 3], alpha| Product {
            start: 0,
            row_stride: n_cols,
            n_rows,
            n_inner,
            n_cols,
            a,
            b,
            alpha,
            onto: Onto::Nothing,
            threads: Threads::One,
        };
        // SAFETY: the scratch is this thread's own.
        #[expect(unsafe_code, reason = "products write into a part of a buffer")]
        unsafe {
            let values = matrix(values, d).transposed();
            OutputBuffer::new(slope).product(&of(grad, values, [n_rows, d, n_columns], 1.0));
            let pattern = matrix(pattern, n_columns).transposed();
            OutputBuffer::new(of_values).product(&of(pattern, grad, [n_columns, n_rows, d], 1.0));
        }
        for (pattern, slope) in pattern.chunks_exact(n_columns).zip(slope.chunks_exact_mut(n_columns)) {
            simd::softmax_backward(self.level, pattern, slope, row_slope);
            slope.copy_from_slice(row_slope);
        }
        let (scale, q_width) = (self.windows.scale, self.q.n_heads * self.q.d);
        // SAFETY: as above; this head's rows of the queries' gradient are this task's own.
        #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
        unsafe {
            let q = self.q.head(head).rows_from(block.rows.start);
            let transposed = matrix(slope, n_columns).transposed();
            OutputBuffer::new(of_keys).product(&of(transposed, q, [n_columns, n_rows, self.q.d], scale));
            dq.product(&Product {
                start: block.rows.start * q_width + head * self.q.d,
                row_stride: q_width,
                ..of(matrix(slope, n_columns), matrix(keys, self.k.d), [n_rows, n_columns, self.q.d], scale)
            });
        }
        for (target, added, view, d) in [(dk, &*of_keys, self.k, self.k.d), (dv, &*of_values, self.v, d)] {
            for (key, added) in block.keys().zip(added.chunks_exact(d)) {
                // SAFETY: this key/value head's columns are this task's own.
                #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
                let sum = unsafe { target.slice((key * view.n_heads + kv) * d, d) };
                sum.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
            }
        }
    }
}

//! One block of query rows.

use std::ops::Range;

use super::{
    super::{
        heads::{Views, for_each_block, rows_per_task, seen},
        ops::filled,
        product::{Onto, Product, Target, Threads, View},
        simd::{self, Level},
    },
    Form,
    scratch::{give_back, with_scratch},
};

/// A bias of which a query's row is a slice; see [`super::Bias`] for its shapes.
#[derive(Clone, Copy)]
pub(super) struct BiasRows<'a> {
    pub data: &'a [f32],
    pub head_stride: usize,
    /// Where the first query's row begins.
    pub first: usize,
    /// From one query's row to the next one's: back where the bias depends on the distance.
    pub row_stride: isize,
}

impl<'a> BiasRows<'a> {
    pub const NONE: Self = BiasRows { data: &[], head_stride: 0, first: 0, row_stride: 0 };

    /// What is added to a query's scores of these keys; empty where there is none.
    fn row(&self, head: usize, query: usize, keys: Range<usize>) -> &'a [f32] {
        if self.data.is_empty() {
            return &[];
        }
        let start = (head * self.head_stride + self.first).wrapping_add_signed(query as isize * self.row_stride);
        &self.data[start + keys.start..start + keys.end]
    }
}

/// What attention is computed from.
pub(super) struct Input<'a> {
    pub q: Views<'a>,
    pub k: Views<'a>,
    pub v: Views<'a>,
    /// Query heads that share a key/value head.
    pub group: usize,
    pub bias: BiasRows<'a>,
    pub form: Form,
    pub level: Level,
}

/// Where the rows of a block are: `[rows, keys]` of a buffer.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub buffer: Target,
    pub start: usize,
    pub row_stride: usize,
}

impl Place {
    /// # Safety
    /// These rows were written before, and no other task writes them meanwhile.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    unsafe fn view<'a>(self, n_rows: usize, n_keys: usize) -> View<'a> {
        let n = n_rows.saturating_sub(1) * self.row_stride + n_keys;
        // SAFETY: promised by the caller.
        View { data: unsafe { self.buffer.slice(self.start, n) }, start: 0, row_stride: self.row_stride, col_stride: 1 }
    }
}

impl Input<'_> {
    /// The result `[n_query, heads · d_head]`; all of `pattern` is written, where it is wanted.
    pub fn run(&self, pattern: Option<Target>) -> Vec<f32> {
        let (n_heads, n_query, n_key, width) = (self.q.n_heads, self.q.n, self.k.n, self.q.n_heads * self.v.d);
        let scratch = rows_per_task(n_query) * n_key;
        let fill = |out: &mut [f32]| {
            let out = Target::new(out);
            for_each_block(n_heads, n_query, n_heads * n_query * n_key * self.q.d, |head, rows| {
                let keys = seen(self.form.mask, &rows, n_query, n_key);
                let Some(pattern) = pattern else {
                    return with_scratch(scratch, |buffer| {
                        let place = Place { buffer: Target::new(buffer), start: 0, row_stride: keys.len() };
                        self.block(head, &rows, &keys, place, out);
                    });
                };
                let start = (head * n_query + rows.start) * n_key;
                for row in 0..rows.len() {
                    // SAFETY: each task owns its rows of its head's pattern, which outlives the tasks.
                    #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
                    unsafe {
                        pattern.write(start + row * n_key, std::iter::repeat_n(0.0, keys.start));
                        let rest = n_key - keys.end;
                        pattern.write(start + row * n_key + keys.end, std::iter::repeat_n(0.0, rest));
                    }
                }
                let place = Place { buffer: pattern, start: start + keys.start, row_stride: n_key };
                self.block(head, &rows, &keys, place, out);
            });
        };
        // SAFETY: the blocks cover all rows of all heads.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(n_query * width, fill) };
        give_back(scratch);
        out
    }

    /// The pattern of some rows of a head, in `place`, and their rows of the result.
    fn block(&self, head: usize, rows: &Range<usize>, keys: &Range<usize>, place: Place, out: Target) {
        let (width, d) = (self.q.n_heads * self.v.d, self.v.d);
        self.pattern(head, rows, keys, place, |_, _| {});
        let product = Product {
            start: rows.start * width + head * d,
            row_stride: width,
            n_rows: rows.len(),
            n_inner: keys.len(),
            n_cols: d,
            // SAFETY: as below; what lies between these rows are hidden parts of the same rows.
            #[expect(unsafe_code, reason = "the task's own part of one buffer")]
            a: unsafe { place.view(rows.len(), keys.len()) },
            b: self.v.head(head / self.group).rows_from(keys.start),
            alpha: 1.0,
            onto: Onto::Nothing,
            threads: Threads::One,
        };
        // SAFETY: each task owns the columns of its head in its rows, and the buffers outlive the tasks.
        #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
        unsafe {
            if keys.is_empty() {
                // Nobody is seen.
                for row in rows.clone() {
                    out.write(row * width + head * d, std::iter::repeat_n(0.0, d));
                }
            } else {
                out.product(&product);
            }
        }
    }

    /// Writes the pattern of some rows of a head on the keys that any of them sees; `scored` is shown each row's
    /// visible scores before they are capped.
    pub fn pattern(
        &self,
        head: usize,
        rows: &Range<usize>,
        keys: &Range<usize>,
        place: Place,
        mut scored: impl FnMut(usize, &[f32]),
    ) {
        let Form { scale, softcap, mask } = self.form;
        let product = Product {
            start: place.start,
            row_stride: place.row_stride,
            n_rows: rows.len(),
            n_inner: self.q.d,
            n_cols: keys.len(),
            a: self.q.head(head).rows_from(rows.start),
            b: self.k.head(head / self.group).rows_from(keys.start).transposed(),
            alpha: scale,
            onto: Onto::Nothing,
            threads: Threads::One,
        };
        // SAFETY: each task owns its place, whose buffer outlives the tasks.
        #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
        unsafe {
            place.buffer.product(&product);
        }
        for (nth, query) in rows.clone().enumerate() {
            let visible = mask.visible(query, self.q.n, self.k.n);
            // SAFETY: as above, and the row was just written.
            #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
            let row = unsafe { place.buffer.slice(place.start + nth * place.row_stride, keys.len()) };
            let (from, to) = (visible.start - keys.start, visible.end - keys.start);
            row[..from].fill(0.0);
            row[to..].fill(0.0);
            let row = &mut row[from..to];
            scored(nth, row);
            let bias = self.bias.row(head, query, visible);
            if softcap.is_some() || !bias.is_empty() {
                simd::cap_and_bias(self.level, row, softcap, bias);
            }
            simd::softmax(self.level, row);
        }
    }
}

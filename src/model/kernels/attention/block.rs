//! One block of query rows.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    super::{
        heads::{Views, for_each_block, rows_per_task, seen},
        ops::filled,
        product::{Onto, OutputBuffer, Product, Threads, View},
        simd::{self, Level},
    },
    scratch::{give_back, with_scratch},
    sink_share,
};
use crate::spec::AttentionParams;

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
pub(super) struct BlockInput<'a> {
    pub q: Views<'a>,
    pub k: Views<'a>,
    pub v: Views<'a>,
    /// Query heads that share a key/value head.
    pub group: usize,
    pub bias: BiasRows<'a>,
    pub params: &'a AttentionParams,
    pub level: Level,
}

/// What is kept of what lies between queries and the result.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    Nothing,
    /// `[heads, n_query, n_key]`.
    Pattern(OutputBuffer),
    /// `[heads, n_query]`, what went to the sinks.
    Sink(OutputBuffer),
}

/// Where the rows of a block are: `[rows, keys]` of a buffer.
#[derive(Clone, Copy)]
pub(super) struct BlockRows {
    pub buffer: OutputBuffer,
    pub start: usize,
    pub row_stride: usize,
}

impl BlockRows {
    /// # Safety
    /// These rows were written before, and no other task writes them meanwhile.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    unsafe fn view<'a>(self, n_rows: usize, n_keys: usize) -> View<'a> {
        let n = n_rows.saturating_sub(1) * self.row_stride + n_keys;
        // SAFETY: promised by the caller.
        View { data: unsafe { self.buffer.slice(self.start, n) }, start: 0, row_stride: self.row_stride, col_stride: 1 }
    }
}

impl BlockInput<'_> {
    /// The result `[n_query, heads · d_head]`; all of what is kept is written.
    pub fn run(&self, kept: Kept) -> Vec<f32> {
        // SAFETY: all rows of all heads are written.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(self.q.n * self.width(), |out| self.fill(OutputBuffer::new(out), kept)) };
        give_back(self.scratch());
        out
    }

    /// The results of parts that attend each for itself, one after the other: each of some rows of the queries to
    /// some of the keys and values.
    pub fn run_parts(&self, parts: &[(Range<usize>, Range<usize>)]) -> Vec<f32> {
        let of = |(rows, keys): &(Range<usize>, Range<usize>)| BlockInput {
            q: self.q.rows(rows),
            k: self.k.rows(keys),
            v: self.v.rows(keys),
            ..*self
        };
        let mut n = 0;
        let mut ends = Vec::with_capacity(parts.len());
        for (rows, _) in parts {
            n += rows.len() * self.width();
            ends.push(n);
        }
        let fill = |out: &mut [f32]| {
            let out = OutputBuffer::new(out);
            parts.par_iter().zip(ends).for_each(|(part, end)| {
                let n = part.0.len() * self.width();
                of(part).fill(out.part(end - n, n), Kept::Nothing);
            });
        };
        // SAFETY: the parts cover the result, and each writes all of its own.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(n, fill) };
        give_back(parts.iter().map(|part| of(part).scratch()).max().unwrap_or(0));
        out
    }

    const fn width(&self) -> usize {
        self.q.n_heads * self.v.d
    }

    /// Values of a block's rows.
    const fn scratch(&self) -> usize {
        rows_per_task(self.q.n) * self.k.n
    }

    /// Writes all of `out`, and of what is kept.
    fn fill(&self, out: OutputBuffer, kept: Kept) {
        let (n_heads, n_query, n_key) = (self.q.n_heads, self.q.n, self.k.n);
        for_each_block(n_heads, n_query, n_heads * n_query * n_key * self.q.d, |head, rows| {
            let keys = seen(self.params.mask, &rows, n_query, n_key);
            let Kept::Pattern(pattern) = kept else {
                return with_scratch(self.scratch(), |buffer| {
                    let place = BlockRows { buffer: OutputBuffer::new(buffer), start: 0, row_stride: keys.len() };
                    self.block(head, &rows, &keys, place, out);
                    if let Kept::Sink(shares) = kept {
                        let of_row = |nth: usize| sink_share(&buffer[nth * keys.len()..(nth + 1) * keys.len()]);
                        // SAFETY: each task owns its rows of its head, and the buffer outlives the tasks.
                        #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
                        unsafe {
                            shares.write(head * n_query + rows.start, (0..rows.len()).map(of_row));
                        }
                    }
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
            let place = BlockRows { buffer: pattern, start: start + keys.start, row_stride: n_key };
            self.block(head, &rows, &keys, place, out);
        });
    }

    /// The pattern of some rows of a head, in `place`, and their rows of the result.
    fn block(&self, head: usize, rows: &Range<usize>, keys: &Range<usize>, place: BlockRows, out: OutputBuffer) {
        let (width, d) = (self.width(), self.v.d);
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
        place: BlockRows,
        mut scored: impl FnMut(usize, &[f32]),
    ) {
        let AttentionParams { scale, softcap, mask, .. } = *self.params;
        let sink = self.params.sink_of(head);
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
            simd::softmax(self.level, row, sink);
        }
    }
}

//! Matrix products on gemm: one product of two views into a part of a buffer.

/// Multiply–adds below which one thread is faster than several.
pub(super) const PARALLEL_FROM: usize = 64 * 64 * 64;

/// A matrix inside a slice: where it starts and how far apart rows and columns are.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub data: &'a [f32],
    pub start: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

impl View<'_> {
    pub fn transposed(self) -> Self {
        Self { row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    pub fn rows_from(self, row: usize) -> Self {
        Self { start: self.start + row * self.row_stride, ..self }
    }

    pub fn columns_from(self, column: usize) -> Self {
        Self { start: self.start + column * self.col_stride, ..self }
    }

    /// Panics when an `n_rows × n_cols` matrix does not lie inside the slice.
    fn check(self, n_rows: usize, n_cols: usize) {
        if n_rows > 0 && n_cols > 0 {
            let last = self.start + (n_rows - 1) * self.row_stride + (n_cols - 1) * self.col_stride;
            assert!(last < self.data.len(), "a matrix view reaches beyond its data");
        }
    }
}

/// What becomes of what a target holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    /// It is overwritten, and may be anything.
    Nothing,
    /// The product is added to it.
    What,
}

/// Who computes one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// The calling thread: the products themselves are shared out.
    One,
    /// All, when there is enough to do.
    All,
}

/// `target[start + i·row_stride + j] = alpha · (a · b)[i, j]`.
pub(super) struct Product<'a> {
    pub start: usize,
    pub row_stride: usize,
    pub n_rows: usize,
    /// Columns of `a`, rows of `b`.
    pub n_inner: usize,
    pub n_cols: usize,
    pub a: View<'a>,
    pub b: View<'a>,
    pub alpha: f32,
    pub onto: Onto,
    pub threads: Threads,
}

/// Where products go: a buffer that several tasks write at once, each its own part.
#[derive(Clone, Copy)]
pub(super) struct OutputBuffer {
    data: *mut f32,
    len: usize,
}

// SAFETY: writing through it is unsafe, and whoever does so promises disjoint parts.
#[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
unsafe impl Send for OutputBuffer {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
unsafe impl Sync for OutputBuffer {}

impl OutputBuffer {
    pub const fn new(buffer: &mut [f32]) -> Self {
        Self { data: buffer.as_mut_ptr(), len: buffer.len() }
    }

    /// `n` places from `start` on.
    pub fn part(self, start: usize, n: usize) -> Self {
        assert!(start + n <= self.len, "a part reaches beyond its target");
        Self { data: self.data.wrapping_add(start), len: n }
    }

    /// `target[start + i] = values[i]`.
    ///
    /// # Safety
    /// The buffer is still there, and no other task reads or writes these places meanwhile.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    pub unsafe fn write(self, start: usize, values: impl ExactSizeIterator<Item = f32>) {
        let n = values.len();
        assert!(start + n <= self.len, "a row reaches beyond its target");
        // SAFETY: the region was just checked to lie inside the buffer, and is the caller's alone.
        let out = unsafe { std::slice::from_raw_parts_mut(self.data.add(start), n) };
        for (out, value) in out.iter_mut().zip(values) {
            *out = value;
        }
    }

    /// `n` values from `start` on, to be changed in place.
    ///
    /// # Safety
    /// The buffer outlives `'a`, what is read of them was written before, and no other task reads or writes
    /// them meanwhile.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    pub unsafe fn slice<'a>(self, start: usize, n: usize) -> &'a mut [f32] {
        assert!(start + n <= self.len, "a row reaches beyond its target");
        // SAFETY: the region was just checked to lie inside the buffer, and is the caller's alone.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(start), n) }
    }

    /// Writes a product.
    ///
    /// # Safety
    /// The buffer is still there, no other task reads or writes these rows and columns of it meanwhile, and
    /// what is to be added to was written before.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    pub unsafe fn product(self, product: &Product<'_>) {
        let &Product { start, row_stride, n_rows: m, n_inner: k, n_cols: n, a, b, alpha, onto, threads } = product;
        if m == 0 || n == 0 {
            return;
        }
        a.check(m, k);
        b.check(k, n);
        assert!(start + (m - 1) * row_stride + n <= self.len, "a product reaches beyond its target");
        let worthwhile = rayon::current_num_threads() > 1 && m * k * n >= PARALLEL_FROM;
        let parallelism = if threads == Threads::All && worthwhile {
            gemm::Parallelism::Rayon(rayon::current_num_threads())
        } else {
            gemm::Parallelism::None
        };
        // SAFETY: both inputs and the target were just checked to lie inside their buffers, the target is the
        // caller's alone, and all strides are non-negative.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                self.data.add(start),
                1,
                row_stride as isize,
                onto == Onto::What,
                a.data.as_ptr().add(a.start),
                a.col_stride as isize,
                a.row_stride as isize,
                b.data.as_ptr().add(b.start),
                b.col_stride as isize,
                b.row_stride as isize,
                1.0,
                alpha,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

//! Libraries behind a guard: of a hundred damaged `tokenizer.json` files two or three make the tokenizers library
//! panic instead of saying so, some when it reads them, some only when they are used, and of a thousand damaged
//! pictures one or two a decoder.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a step of the library; `None` when it panicked.
///
/// What the step changes is sound afterwards, or given up by the caller: a tokenizer is either not built
/// at all, or only read (its cache of words is skipped once its lock is poisoned), and a picture is not made.
pub(super) fn guarded<R>(step: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(step)).ok()
}

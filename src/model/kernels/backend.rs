//! In which of several ways the operations are computed: usually the best one for device and processor.

use std::cell::Cell;

use candle_core::{Device, Tensor};

/// A way to compute the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelPath {
    /// candle's own differentiable operations, as on devices without our kernels.
    Operations,
    /// Our kernels, for any processor.
    Portable,
    /// Our kernels, with AVX2 and FMA.
    Avx2,
    /// Our kernels, with AVX-512.
    Avx512,
}

thread_local! {
    static FORCED: Cell<Option<KernelPath>> = const { Cell::new(None) };
}

impl KernelPath {
    /// Those that this processor can go, slowest first.
    pub fn supported() -> Vec<Self> {
        let mut ways = vec![Self::Operations, Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                ways.push(Self::Avx2);
            }
            let all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if all {
                ways.push(Self::Avx512);
            }
        }
        ways
    }

    /// What [`with_path`] asks for on this thread.
    pub(super) fn forced() -> Option<Self> {
        FORCED.get()
    }
}

/// Runs `work` with every operation that it starts on this thread, and their gradients, computed in one
/// way: so that tests reach the ways that this machine would not take.
pub fn with_path<R>(way: KernelPath, work: impl FnOnce() -> R) -> R {
    struct Restored(Option<KernelPath>);
    impl Drop for Restored {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    let _restored = Restored(FORCED.replace(Some(way)));
    work()
}

/// Whether our kernels compute on this tensor.
pub(super) fn is_fused(x: &Tensor) -> bool {
    has_kernels(x.device())
}

/// Whether our kernels compute on this device, so that weights are kept as they read them.
pub fn has_kernels(device: &Device) -> bool {
    device.is_cpu() && KernelPath::forced() != Some(KernelPath::Operations)
}

//! What computes: threads of a pool of their own, so that the window keeps a core, and a device.

mod device;
mod memory;
mod priority;

pub use device::ComputeDevice;
pub(crate) use memory::available as free_memory;
pub use priority::lower_priority;

use std::sync::Arc;

use candle_core::Device;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::kernels::{KernelPath, with_path};

/// Compute threads and device. Cheap to clone; clones share the threads.
#[derive(Clone, Debug)]
pub struct Engine {
    pool: Arc<ThreadPool>,
    device: Device,
    asked: ComputeDevice,
    /// Bytes a model may take, whatever the system says.
    memory_limit: Option<u64>,
    /// Bytes a run may take beside the model, whatever the system says.
    run_memory: Option<u64>,
}

/// How an engine is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// Number of compute threads; `None` is all cores but one, at least one.
    pub threads: Option<usize>,
    /// Runs the compute threads below the priority of a window's thread ([`lower_priority`]).
    pub low_priority: bool,
    /// What runs the models.
    pub device: ComputeDevice,
}

impl Engine {
    /// Starts the compute threads and opens the device.
    ///
    /// # Errors
    /// When the system refuses to start the threads, or there is no such device.
    pub fn open(options: &EngineOptions) -> Result<Self, EngineError> {
        let EngineOptions { threads, low_priority, device: asked } = *options;
        let device = asked.open().map_err(EngineError::Device)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or_else(|| cores.saturating_sub(1)).max(1);
        let start = move |_| {
            if low_priority {
                lower_priority();
            }
        };
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|idx| format!("compute-{idx}"))
            .start_handler(start)
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        Ok(Self { pool: Arc::new(pool), device, asked, memory_limit: None, run_memory: None })
    }

    /// [`Self::open`] with so many threads on the CPU, where nobody looks at a window.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn cpu(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::open(&EngineOptions { threads, ..EngineOptions::default() })
    }

    /// Refuses models that need more than so many bytes, instead of asking the system what is free.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Refuses runs that need more than so many bytes beside the model's weights, instead of asking the
    /// system what is free.
    #[must_use]
    pub fn with_run_memory(mut self, bytes: u64) -> Self {
        self.run_memory = Some(bytes);
        self
    }

    /// Has each compute thread do something when it has nothing else to do; nobody waits for it.
    pub fn on_each_thread(&self, act: fn()) {
        self.pool.spawn_broadcast(move |_| act());
    }

    /// Number of compute threads.
    pub fn n_threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The name of what the work runs on.
    pub const fn device_name(&self) -> &'static str {
        self.asked.name()
    }

    /// Runs `work` with the engine's threads as rayon's current ones, and its operations in the way of the device.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(|| match self.asked {
            ComputeDevice::Operations => with_path(KernelPath::Operations, work),
            ComputeDevice::Cpu | ComputeDevice::Cuda | ComputeDevice::Metal => work(),
        })
    }

    /// Bytes that a new model may take; `None` when nobody knows.
    pub(crate) fn available_memory(&self) -> Option<u64> {
        self.memory_limit.or_else(|| memory::available().filter(|_| self.device.is_cpu()))
    }

    /// Bytes that a run may take; the weights are there already. `None` when nobody knows.
    pub(crate) fn memory_for_a_run(&self) -> Option<u64> {
        self.run_memory.or_else(|| memory::available().filter(|_| self.device.is_cpu()))
    }

    pub(crate) const fn device(&self) -> &Device {
        &self.device
    }
}

/// Why an engine cannot be started.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the compute threads could not be started: {0}")]
    Threads(String),
    #[error("the device cannot be used: {0}")]
    Device(String),
}

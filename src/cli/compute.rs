//! What a subcommand computes with.

use super::CliError;
use crate::model::{ComputeDevice, Engine, EngineOptions};

/// What a subcommand that runs a model computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ComputeOptions {
    /// Compute threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    on: DeviceOptions,
}

/// The device of a model, of the command line and of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct DeviceOptions {
    /// Device that runs the model.
    #[arg(
        long, value_name = "DEVICE", default_value = "cpu", value_parser = parse_device,
        help = format!("Device that runs the model: {}", ComputeDevice::described())
    )]
    pub device: ComputeDevice,
}

impl ComputeOptions {
    /// Starts the engine, with all cores but one where no number of threads is given.
    ///
    /// # Errors
    /// When no thread can be started, or the device cannot be opened.
    pub fn engine(self) -> Result<Engine, CliError> {
        self.start(self.threads.map(usize::from))
    }

    /// Starts the engine, with all cores where no number of threads is given: no window wants one.
    ///
    /// # Errors
    /// When no thread can be started, or the device cannot be opened.
    pub fn engine_of_all_cores(self) -> Result<Engine, CliError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.start(Some(self.threads.map_or(cores, usize::from)))
    }

    fn start(self, threads: Option<usize>) -> Result<Engine, CliError> {
        let options = EngineOptions { threads, device: self.on.device, ..EngineOptions::default() };
        Engine::open(&options).map_err(|error| CliError::Failed(error.to_string()))
    }
}

/// A device that this build has.
fn parse_device(name: &str) -> Result<ComputeDevice, String> {
    let device: ComputeDevice = name.parse()?;
    device.obstacle().map_or(Ok(device), |obstacle| Err(obstacle.to_owned()))
}

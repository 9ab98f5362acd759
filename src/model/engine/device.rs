//! Devices that models run on.

use candle_core::Device;

/// What runs a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeDevice {
    /// The kernels of this crate.
    #[default]
    Cpu,
    /// candle's own operations on the CPU: the way that other devices go, so that it can be tried without one.
    Operations,
    /// The first graphics card of NVIDIA.
    Cuda,
    /// The graphics card of a Mac.
    Metal,
}

vocabulary! {
    ComputeDevice: name, meaning;
    Cpu("cpu", "the processor, with kernels of this program"),
    Operations("operations", "the processor, with the operations that other devices have: slower"),
    Cuda("cuda", "an NVIDIA graphics card"),
    Metal("metal", "the graphics card of a Mac"),
}

impl ComputeDevice {
    /// Why this build cannot run models on it, as advice.
    pub const fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Cuda if !cfg!(feature = "cuda") => {
                Some("this build has no code for NVIDIA graphics cards: build it with --features cuda")
            }
            Self::Metal if !cfg!(feature = "metal") => {
                Some("this build has no code for graphics cards of Macs: build it there with --features metal")
            }
            Self::Cpu | Self::Operations | Self::Cuda | Self::Metal => None,
        }
    }

    /// All that this build has, with their meanings.
    pub fn described() -> String {
        let there = Self::ALL.into_iter().filter(|device| device.obstacle().is_none());
        there.map(|device| format!("{} ({})", device.name(), device.meaning())).collect::<Vec<_>>().join(", ")
    }

    /// # Errors
    /// When there is no such device, or this build cannot use it.
    pub(super) fn open(self) -> Result<Device, String> {
        if let Some(obstacle) = self.obstacle() {
            return Err(obstacle.to_owned());
        }
        match self {
            Self::Cpu | Self::Operations => Ok(Device::Cpu),
            Self::Cuda => Device::new_cuda(0).map_err(|error| error.to_string()),
            Self::Metal => Device::new_metal(0).map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_this_build_lacks_is_refused_with_the_way_to_get_it() {
        assert!(ComputeDevice::Cpu.open().is_ok() && ComputeDevice::Operations.open().is_ok());
        for (device, feature) in [(ComputeDevice::Cuda, "cuda"), (ComputeDevice::Metal, "metal")] {
            if let Some(obstacle) = device.obstacle() {
                assert!(obstacle.contains(&format!("--features {feature}")), "{obstacle}");
                assert_eq!(device.open().unwrap_err(), obstacle);
                assert!(!ComputeDevice::described().contains(feature));
            }
        }
    }
}

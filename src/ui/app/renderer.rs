//! Choice of the renderer: the graphics card through wgpu, or OpenGL where there is no card.
//!
//! Mesa's software drivers serve both. Their shader for wgpu weighs four texels by hand for every pixel,
//! which takes four fifths of a frame's time; the one for OpenGL samples a texture.

use std::time::Instant;

use eframe::{
    NativeOptions,
    wgpu::{Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags},
};

use crate::{
    cli::open::RendererChoice,
    ui::{painting::Painting, shell::block_on},
};

/// Whether OpenGL without a card is any good: Windows then only has its version 1.1.
const HAS_SOFTWARE_OPENGL: bool = cfg!(all(unix, not(target_os = "macos")));

/// Decides how the window is painted, asking the drivers where that is left open.
pub fn choose(choice: RendererChoice) -> (eframe::Renderer, Painting) {
    match choice {
        RendererChoice::Glow => (eframe::Renderer::Glow, painting()),
        RendererChoice::Wgpu => (eframe::Renderer::Wgpu, painting()),
        RendererChoice::Auto => match painting() {
            Painting::Software if HAS_SOFTWARE_OPENGL => (eframe::Renderer::Glow, Painting::Software),
            painting => (eframe::Renderer::Wgpu, painting),
        },
    }
}

/// Sets what goes with a renderer.
pub fn apply(native: &mut NativeOptions, renderer: eframe::Renderer, painting: Painting) {
    native.renderer = renderer;
    // Noise against banding costs a software driver more than the few smooth gradients are worth.
    native.dithering = painting == Painting::Hardware;
}

/// Whether a graphics card paints. Where it cannot be told, one is assumed.
fn painting() -> Painting {
    // Every Mac has one, and asking takes time.
    if cfg!(target_os = "macos") {
        return Painting::Hardware;
    }
    if !has_graphics_device() {
        return Painting::Software;
    }
    let asked = Instant::now();
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    // OpenGL alone is left to OpenGL's own painter, which is at least as good on every driver.
    descriptor.flags = InstanceFlags::empty();
    descriptor.backends = Backends::from_env().unwrap_or(Backends::PRIMARY);
    let backends = descriptor.backends;
    let instance = Instance::new(descriptor);
    let adapters = block_on(instance.enumerate_adapters(backends));
    let kinds: Vec<DeviceType> = adapters.iter().map(|adapter| adapter.get_info().device_type).collect();
    log::info!("graphics adapters {kinds:?}, listed in {:.1} ms", asked.elapsed().as_secs_f64() * 1e3);
    if kinds.iter().all(|kind| *kind == DeviceType::Cpu) { Painting::Software } else { Painting::Hardware }
}

/// Whether the system has a device that a driver of a graphics card could open. Loading every driver just to hear
/// that there is none would take a good part of the time to the first lines.
fn has_graphics_device() -> bool {
    // Open drivers, NVIDIA's, Windows beneath Linux, and the usual three of small boards.
    const DEVICES: [&str; 7] = ["dri", "nvidia", "nvhost", "dxg", "mali", "kgsl", "pvr"];
    if !cfg!(target_os = "linux") {
        return true;
    }
    let Ok(entries) = std::fs::read_dir("/dev") else { return true };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| DEVICES.iter().any(|device| name.to_string_lossy().starts_with(device)))
}

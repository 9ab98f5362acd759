//! Finished layouts on disk, by the points and options that they depend on.

use super::disk_cache::{CacheKey, DiskCache, Fingerprint};
use crate::{
    analysis::projection::{LayoutCache, LayoutOptions, Refined},
    projection::Points,
};

/// What stands before the coordinates: iterations done and in all, perplexity.
const HEADER: usize = 3;

impl LayoutCache for DiskCache {
    fn find(&self, points: Points<'_>, options: &LayoutOptions) -> Option<(Vec<f32>, Refined)> {
        let bytes = self.read(&key(points, options)?)?;
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect();
        let (&[iteration, iterations, perplexity], layout) = numbers.split_first_chunk::<HEADER>()?;
        let perplexity = Some(perplexity).filter(|perplexity| perplexity.is_finite());
        Some((layout.to_vec(), Refined { iteration: iteration as usize, iterations: iterations as usize, perplexity }))
    }

    fn keep(&self, points: Points<'_>, options: &LayoutOptions, layout: &[f32], refined: Refined) {
        let Some(key) = key(points, options) else { return };
        let header = [refined.iteration as f32, refined.iterations as f32, refined.perplexity.unwrap_or(f32::NAN)];
        let bytes: Vec<u8> = header.iter().chain(layout).flat_map(|number| number.to_le_bytes()).collect();
        self.write(&key, &bytes);
    }
}

/// Another version of the program may lay points out in another way.
fn key(points: Points<'_>, options: &LayoutOptions) -> Option<CacheKey> {
    let options = serde_json::to_vec(options).ok()?;
    let size = [points.n() as u64, points.width() as u64].map(u64::to_le_bytes).concat();
    let fingerprint = Fingerprint::new("layout").and(env!("CARGO_PKG_VERSION").as_bytes()).and(&options).and(&size);
    Some(fingerprint.and(bytemuck::cast_slice(points.values())).key())
}

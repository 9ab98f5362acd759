//! Layout of the picture, its patches, the prefix tokens and the colour bar. Pure geometry in
//! points, without an egui context.

use std::sync::Arc;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    capture::{CropRect, ImageInfo},
    figure::{
        measure::{BAR_AND_TICKS_PT, GRID},
        pen::Medium,
        views::cells,
    },
};

/// Size of the cell of a prefix token.
pub const PREFIX_PT: Vec2 = vec2(72.0, 28.0);
/// Free space between the parts.
pub const GAP_PT: f32 = 3.0 * GRID;

/// The parts of the view.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageLayout {
    pub picture: Rect,
    /// The part that the patch grid covers.
    pub crop: Rect,
    /// The column of prefix tokens.
    pub prefix: Rect,
    /// Colour bar with its numbers; the window has it in a row below.
    pub bar: Option<Rect>,
    grid: (usize, usize),
    /// Where regions lie that stand in place of patches.
    regions: Option<Arc<[Rect]>>,
    n_prefix: usize,
}

impl ImageLayout {
    /// The picture alone, over all of a rectangle of its proportions.
    pub fn bare(rect: Rect, image: &ImageInfo) -> Self {
        let (size, crop) = size_and_crop(image);
        let scale = rect.size() / size.max(Vec2::splat(1.0));
        let crop = Rect::from_min_size(rect.min + vec2(crop.x, crop.y) * scale, vec2(crop.width, crop.height) * scale);
        let none = Rect::from_min_size(rect.min, Vec2::ZERO);
        let regions = regions_on(crop, image);
        Self { picture: rect, crop, prefix: none, bar: None, grid: image.grid, regions, n_prefix: image.n_prefix }
    }

    /// Fits the picture into what prefix tokens and colour bar leave of `area`.
    pub fn compute(area: Rect, image: &ImageInfo, medium: Medium) -> Self {
        let (size, crop) = size_and_crop(image);
        let left = if image.n_prefix > 0 { PREFIX_PT.x + GAP_PT } else { 0.0 };
        let has_bar = medium == Medium::Paper;
        let right = if has_bar { GAP_PT + BAR_AND_TICKS_PT } else { 0.0 };
        let free = (area.size() - vec2(left + right, 0.0)).max(Vec2::splat(1.0));
        let scale = (free.x / size.x.max(1.0)).min(free.y / size.y.max(1.0));
        let picture_size = size * scale;
        let x = (area.left() + left + (free.x - picture_size.x) / 2.0).round();
        let picture = Rect::from_min_size(pos2(x, area.top().round()), picture_size);
        let crop =
            Rect::from_min_size(picture.min + vec2(crop.x, crop.y) * scale, vec2(crop.width, crop.height) * scale);
        let prefix_size = vec2(PREFIX_PT.x, PREFIX_PT.y * image.n_prefix as f32);
        Self {
            picture,
            crop,
            prefix: Rect::from_min_size(pos2(x - left, picture.top()), prefix_size),
            bar: has_bar.then(|| {
                let size = vec2(BAR_AND_TICKS_PT, picture.height().min(60.0 * GRID));
                Rect::from_min_size(pos2(picture.right() + GAP_PT, picture.top()), size)
            }),
            grid: image.grid,
            regions: regions_on(crop, image),
            n_prefix: image.n_prefix,
        }
    }

    /// The cell of a token: a prefix cell, a patch or a region.
    pub fn token_rect(&self, position: usize) -> Rect {
        match position.checked_sub(self.n_prefix) {
            None => Rect::from_min_size(self.prefix.min + vec2(0.0, PREFIX_PT.y * position as f32), PREFIX_PT),
            Some(patch) => {
                if let Some(regions) = &self.regions {
                    return regions.get(patch).copied().unwrap_or(Rect::from_min_size(self.crop.min, Vec2::ZERO));
                }
                let cols = self.grid.1.max(1);
                cells::cell_rect(self.crop, self.grid, patch / cols, patch % cols)
            }
        }
    }

    /// What of the picture lies outside the crop: the model does not see it.
    pub fn unseen(&self) -> impl Iterator<Item = Rect> {
        let (picture, crop) = (self.picture, self.crop);
        [
            picture.with_max_y(crop.top()),
            picture.with_min_y(crop.bottom()),
            Rect::from_x_y_ranges(picture.left()..=crop.left(), crop.y_range()),
            Rect::from_x_y_ranges(crop.right()..=picture.right(), crop.y_range()),
        ]
        .into_iter()
        .filter(|part| part.width() > 0.5 && part.height() > 0.5)
    }

    /// The token of the patch at `at`, or of the smallest region there, so that no region hides one inside it.
    pub fn patch_at(&self, at: Pos2) -> Option<usize> {
        if let Some(regions) = &self.regions {
            let under = regions.iter().enumerate().filter(|(_, region)| region.contains(at));
            let smallest = under.min_by(|a, b| a.1.area().total_cmp(&b.1.area()));
            return smallest.map(|(nth, _)| self.n_prefix + nth);
        }
        let (row, col) = cells::cell_at(self.crop, self.grid, at)?;
        Some(self.n_prefix + row * self.grid.1 + col)
    }
}

/// Where the regions of a picture lie while what the model sees of it lies at `crop`.
fn regions_on(crop: Rect, image: &ImageInfo) -> Option<Arc<[Rect]>> {
    let of = image.crop;
    let scale = crop.size() / vec2(of.width, of.height).max(Vec2::splat(f32::MIN_POSITIVE));
    let place = |x: f32, y: f32| crop.min + vec2(x - of.x, y - of.y) * scale;
    let on = |[left, top, right, bottom]: &[f32; 4]| Rect::from_min_max(place(*left, *top), place(*right, *bottom));
    image.regions.as_ref().map(|regions| regions.iter().map(on).collect())
}

/// Size of the picture, or of the bare grid, in any unit: wherever a picture is drawn, it has these proportions.
pub fn proportions(image: &ImageInfo) -> Vec2 {
    size_and_crop(image).0.max(Vec2::splat(1.0))
}

/// Size of the picture and what the model sees of it, in pixels; without a picture the grid stands alone.
fn size_and_crop(image: &ImageInfo) -> (Vec2, CropRect) {
    if let Some(source) = &image.source {
        return (vec2(source.width as f32, source.height as f32), image.crop);
    }
    if image.regions.is_some() {
        return (vec2(image.crop.width, image.crop.height), image.crop);
    }
    let (rows, cols) = image.grid;
    let size = vec2((cols * image.patch_px.1) as f32, (rows * image.patch_px.0) as f32);
    (size, CropRect { x: 0.0, y: 0.0, width: size.x, height: size.y })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(n_prefix: usize) -> ImageInfo {
        let crop = CropRect { x: 50.0, y: 0.0, width: 100.0, height: 100.0 };
        let source = crate::capture::RgbaBuffer { width: 200, height: 100, pixels: vec![0; 80_000] };
        ImageInfo {
            grid: (4, 5),
            regions: None,
            n_prefix,
            patch_px: (8, 8),
            crop,
            source: Some(std::sync::Arc::new(source)),
        }
    }

    #[test]
    fn patches_lie_on_the_crop_of_the_picture() {
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(800.0, 300.0));
        let layout = ImageLayout::compute(area, &image(1), Medium::Paper);
        assert!((layout.picture.aspect_ratio() - 2.0).abs() < 1e-3);
        assert!((layout.crop.center().x - layout.picture.center().x).abs() < 1e-3);
        assert!(layout.prefix.right() < layout.picture.left());
        assert!(layout.bar.is_some_and(|bar| bar.right() <= area.right() + 1.0));
        // Token 0 is the prefix; token 1 is the first patch, token 20 the last.
        assert!(layout.token_rect(1).min.distance(layout.crop.min) < 1e-3);
        assert!(layout.token_rect(20).max.distance(layout.crop.max) < 1e-2);
        for position in 1..=20 {
            assert_eq!(layout.patch_at(layout.token_rect(position).center()), Some(position));
        }
        assert_eq!(layout.patch_at(layout.picture.left_center()), None, "outside the crop there is no patch");
    }

    #[test]
    fn regions_lie_on_the_picture_and_the_smallest_is_pointed_at() {
        let boxes = [[0.0, 0.0, 200.0, 100.0], [100.0, 20.0, 180.0, 90.0], [120.0, 40.0, 140.0, 60.0]];
        let crop = CropRect { x: 0.0, y: 0.0, width: 200.0, height: 100.0 };
        let regions = ImageInfo { grid: (1, 3), regions: Some(boxes.into()), crop, ..image(1) };
        for regions in [regions.clone(), ImageInfo { source: None, ..regions }] {
            let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(700.0, 300.0));
            let layout = ImageLayout::compute(area, &regions, Medium::Screen);
            assert!((layout.picture.aspect_ratio() - 2.0).abs() < 1e-3);
            let scale = layout.picture.width() / 200.0;
            let second = layout.token_rect(2);
            assert!(second.min.distance(layout.picture.min + vec2(100.0, 20.0) * scale) < 1e-2);
            assert!((second.size() - vec2(80.0, 70.0) * scale).length() < 1e-2);
            let at = |x: f32, y: f32| layout.patch_at(layout.picture.min + vec2(x, y) * scale);
            assert_eq!((at(10.0, 10.0), at(110.0, 30.0), at(130.0, 50.0)), (Some(1), Some(2), Some(3)));
            assert_eq!(layout.patch_at(layout.picture.min - vec2(5.0, 5.0)), None);
        }
    }

    #[test]
    fn without_a_picture_the_grid_stands_alone() {
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(500.0, 500.0));
        let layout = ImageLayout::compute(area, &ImageInfo { source: None, ..image(0) }, Medium::Paper);
        assert_eq!(layout.crop, layout.picture);
        assert!((layout.crop.aspect_ratio() - 1.25).abs() < 1e-3);
    }
}

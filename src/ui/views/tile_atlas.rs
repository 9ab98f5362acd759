//! Many small pictures in a few textures: each is painted once, at the size it is shown, and kept until it changes.

use std::{collections::HashMap, hash::Hash};

use eframe::egui::{ColorImage, Context, Rect, TextureHandle, TextureId, TextureOptions, pos2, vec2};

/// Sides of the squares that pictures lie in. A picture has any size up to its square, so that the textures stay while
/// cells become a little larger or smaller.
const SQUARES_PX: [usize; 12] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024];
/// Least side of a texture.
const PAGE_PX: usize = 1024;
/// Free pixels around each picture, so that smooth sampling sees no neighbour.
const GAP_PX: usize = 1;

/// The pictures; `I` tells them apart, `K` is everything that the pixels of one depend on.
pub struct TileAtlas<I, K> {
    square_px: usize,
    page_px: usize,
    options: TextureOptions,
    pages: Vec<TextureHandle>,
    tiles: HashMap<I, Tile<K>>,
    /// Squares that nothing lies in any more, and how many were ever used.
    free: Vec<usize>,
    n_used: usize,
}

struct Tile<K> {
    square: usize,
    size: [usize; 2],
    key: K,
}

impl<I: Copy + Eq + Hash, K: PartialEq> TileAtlas<I, K> {
    /// For pictures of at most so many pixels along a side.
    pub fn new(side_px: usize, options: TextureOptions, max_side: usize) -> Self {
        let square_px = square(side_px, max_side);
        let page_px = PAGE_PX.max(square_px + 2 * GAP_PX).min(max_side);
        Self { square_px, page_px, options, pages: Vec::new(), tiles: HashMap::new(), free: Vec::new(), n_used: 0 }
    }

    /// Whether pictures of this size belong into squares of this size, sampled in this way.
    pub fn suits(&self, side_px: usize, options: TextureOptions, max_side: usize) -> bool {
        self.square_px == square(side_px, max_side) && self.options == options
    }

    /// The largest side of a picture.
    pub const fn most_px(&self) -> usize {
        self.square_px
    }

    /// Whether a picture is there as it is to be.
    pub fn knows(&self, id: I, key: &K) -> bool {
        self.tiles.get(&id).is_some_and(|tile| tile.key == *key)
    }

    /// Puts a picture in, in place of the one before.
    pub fn put(&mut self, ctx: &Context, id: I, key: K, image: ColorImage) {
        let known = self.tiles.get(&id).map(|tile| tile.square);
        let square = known.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.n_used += 1;
            self.n_used - 1
        });
        let per_page = self.per_row() * self.per_row();
        while self.pages.len() <= square / per_page {
            let empty = ColorImage::filled([self.page_px; 2], eframe::egui::Color32::TRANSPARENT);
            self.pages.push(ctx.load_texture("tiles", empty, self.options));
        }
        let size = image.size;
        let at = self.corner(square);
        let options = self.options;
        if let Some(page) = self.pages.get_mut(square / per_page) {
            page.set_partial(at, image, options);
        }
        self.tiles.insert(id, Tile { square, size, key });
    }

    /// The texture of a picture, and the part of it.
    pub fn picture(&self, id: I) -> Option<(TextureId, Rect)> {
        let tile = self.tiles.get(&id)?;
        let page = self.pages.get(tile.square / (self.per_row() * self.per_row()))?;
        let ([x, y], [width, height]) = (self.corner(tile.square), tile.size);
        let size = vec2(width as f32, height as f32) / self.page_px as f32;
        let corner = pos2(x as f32, y as f32) / self.page_px as f32;
        Some((page.id(), Rect::from_min_size(corner, size)))
    }

    /// Lets go of pictures; their squares are used again.
    pub fn retain(&mut self, keep: impl Fn(I) -> bool) {
        let free = &mut self.free;
        self.tiles.retain(|id, tile| {
            let stays = keep(*id);
            if !stays {
                free.push(tile.square);
            }
            stays
        });
    }

    /// How many pictures there are.
    pub fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Textures that hold them.
    #[cfg(test)]
    fn n_pages(&self) -> usize {
        self.pages.len()
    }

    const fn per_row(&self) -> usize {
        let n = self.page_px / (self.square_px + 2 * GAP_PX);
        if n == 0 { 1 } else { n }
    }

    /// Where a square begins in its texture, in pixels.
    const fn corner(&self, square: usize) -> [usize; 2] {
        let (n, pitch) = (self.per_row(), self.square_px + 2 * GAP_PX);
        let nth = square % (n * n);
        [nth % n * pitch + GAP_PX, nth / n * pitch + GAP_PX]
    }
}

/// The side of the squares for pictures of a size.
fn square(side_px: usize, max_side: usize) -> usize {
    let fits = SQUARES_PX.into_iter().find(|square| *square >= side_px).unwrap_or(SQUARES_PX[SQUARES_PX.len() - 1]);
    fits.min(max_side.saturating_sub(2 * GAP_PX))
}

#[cfg(test)]
mod tests {
    use eframe::egui::Color32;

    use super::*;

    fn image(size: [usize; 2]) -> ColorImage {
        ColorImage::filled(size, Color32::RED)
    }

    #[test]
    fn a_thousand_small_pictures_lie_apart_in_one_or_two_textures() {
        let ctx = Context::default();
        let mut atlas: TileAtlas<usize, u8> = TileAtlas::new(22, TextureOptions::LINEAR, 8192);
        for id in 0..1024 {
            atlas.put(&ctx, id, 0, image([22, 20]));
        }
        assert_eq!((atlas.len(), atlas.n_pages()), (1024, 1));
        let pictures: Vec<(TextureId, Rect)> = (0..1024).map(|id| atlas.picture(id).unwrap()).collect();
        let apart = |(a, b): (&(TextureId, Rect), &(TextureId, Rect))| a.0 != b.0 || !a.1.expand(1e-4).intersects(b.1);
        assert!(pictures.iter().zip(&pictures[1..]).all(apart));
        let size = pictures[7].1.size() * 1024.0;
        assert!((size - vec2(22.0, 20.0)).length() < 1e-2, "a picture of its own size: {size:?}");
    }

    #[test]
    fn a_picture_is_known_by_what_it_depends_on_and_squares_are_used_again() {
        let ctx = Context::default();
        let mut atlas: TileAtlas<&str, u8> = TileAtlas::new(100, TextureOptions::NEAREST, 4096);
        atlas.put(&ctx, "a", 1, image([100, 100]));
        atlas.put(&ctx, "b", 1, image([90, 100]));
        assert!(atlas.knows("a", &1) && !atlas.knows("a", &2) && !atlas.knows("c", &1));
        let place = atlas.picture("a").unwrap().1.min;
        atlas.put(&ctx, "a", 2, image([80, 80]));
        assert_eq!(atlas.picture("a").unwrap().1.min, place, "in place of the one before");
        atlas.retain(|id| id == "b");
        atlas.put(&ctx, "c", 1, image([10, 10]));
        assert_eq!(atlas.picture("c").unwrap().1.min, place);
        assert!(atlas.suits(97, TextureOptions::NEAREST, 4096) && atlas.most_px() == 128);
        assert!(!atlas.suits(96, TextureOptions::NEAREST, 4096) && !atlas.suits(100, TextureOptions::LINEAR, 4096));
    }

    #[test]
    fn squares_never_reach_beyond_the_largest_texture() {
        let ctx = Context::default();
        let mut atlas: TileAtlas<u8, u8> = TileAtlas::new(5000, TextureOptions::LINEAR, 512);
        assert_eq!(atlas.most_px(), 510);
        atlas.put(&ctx, 0, 0, image([510, 510]));
        atlas.put(&ctx, 1, 0, image([510, 510]));
        assert_eq!(atlas.n_pages(), 2);
    }
}

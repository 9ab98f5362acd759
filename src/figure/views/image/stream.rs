//! Colours of patches from the residual stream in place of weights. The window and figures agree.

use std::sync::Arc;

use emath::Rect;

use super::{PatchColors, boxes, layout::ImageLayout};
use crate::{
    analysis::{
        patch_stream::{OUTLIER, PatchComponents, PatchNorms, rows},
        reading::ReadPattern,
    },
    capture::{Capture, ImageInfo, Matrix, RgbaBuffer},
    figure::{path::Path, pen::Pen},
    ids::StackKind,
    text::{capitalised, norm_text, share_text},
};

/// Width of the ring round an outlier, with the ground beside it.
const RING_PT: f32 = 2.0;

/// What the residual stream says of the patches.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamColors {
    /// Which stream, in words.
    of: String,
    pub values: StreamValues,
}

/// Numbers of the patches in the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamValues {
    Norms(PatchNorms),
    Components(Arc<PatchComponents>),
}

impl StreamColors {
    /// Of the stream that a layer reads; `None` where colours are weights.
    ///
    /// # Errors
    /// Says so when the stream was not recorded.
    pub fn of(
        capture: &Capture,
        (stack, layer): (StackKind, usize),
        patch_colors: PatchColors,
    ) -> Result<Option<Self>, String> {
        match patch_colors {
            PatchColors::Weights | PatchColors::LessMean => Ok(None),
            PatchColors::Norms => {
                let (image, rows, of) = stream(capture, (stack, layer))?;
                Ok(Some(Self { of, values: StreamValues::Norms(PatchNorms::of(rows, image)) }))
            }
            PatchColors::Components => {
                let found = PatchComponents::of_layer(capture, stack, layer).map(Arc::new);
                Self::of_components(capture, (stack, layer), found).map(Some)
            }
        }
    }

    /// Of principal components that were found elsewhere.
    ///
    /// # Errors
    /// Says so when the stream was not recorded, or has none.
    pub fn of_components(
        capture: &Capture,
        layer: (StackKind, usize),
        found: Option<Arc<PatchComponents>>,
    ) -> Result<Self, String> {
        let (_, _, of) = stream(capture, layer)?;
        let components = found.ok_or_else(|| format!("{} has values that are not finite", capitalised(&of)))?;
        Ok(Self { of, values: StreamValues::Components(components) })
    }

    /// One number per token of the picture, where there is one.
    pub fn numbers(&self) -> Vec<f32> {
        match &self.values {
            StreamValues::Norms(norms) => norms.norms.clone(),
            StreamValues::Components(_) => Vec::new(),
        }
    }

    /// Whether colours stand for one number each, with a scale.
    pub const fn has_scale(&self) -> bool {
        matches!(self.values, StreamValues::Norms(_))
    }

    /// Positions of the patches with a ring.
    pub fn ringed(&self) -> &[usize] {
        match &self.values {
            StreamValues::Norms(norms) => &norms.outliers,
            StreamValues::Components(_) => &[],
        }
    }

    /// One pixel per patch, where each has a colour of three numbers.
    pub fn pixels(&self, image: &ImageInfo, opacity: f32) -> Option<RgbaBuffer> {
        let StreamValues::Components(components) = &self.values else { return None };
        let alpha = (255.0 * opacity).round() as u8;
        let opaque = components.colors().into_iter().map(|[red, green, blue]| [red, green, blue, alpha]);
        Some(boxes::painted(&opaque.collect::<Vec<_>>(), image))
    }

    /// What colours show. `read` and `subject` say which attention outliers get.
    pub fn in_words(&self, image: &ImageInfo, read: &ReadPattern, subject: &str) -> String {
        match &self.values {
            StreamValues::Norms(PatchNorms { norms, median, outliers }) => {
                let most = norms.iter().skip(image.n_prefix).copied().fold(0.0, f32::max);
                let norms = format!(
                    "Norms of patches in {}: median {}, largest {}",
                    self.of,
                    norm_text(*median),
                    norm_text(most)
                );
                if outliers.is_empty() {
                    return format!("{norms}; none from {OUTLIER} × the median on");
                }
                let ringed = format!(
                    "{norms}; {} from {OUTLIER} × the median on, ringed",
                    if outliers.len() == 1 { "1 patch".to_owned() } else { format!("{} patches", outliers.len()) }
                );
                if read.signed || read.explained().is_some() {
                    return ringed;
                }
                let weights = read.by_key(None);
                let got: f32 = outliers.iter().filter_map(|position| weights.get(*position)).sum();
                let share = share_text(got / weights.iter().sum::<f32>().max(f32::MIN_POSITIVE));
                format!("{ringed}: {share} of the attention of {subject} goes to them")
            }
            StreamValues::Components(components) => {
                let [red, green, blue] = components.shares.map(share_text);
                format!(
                    "Principal components of the patches in {} as red, green and blue ({red}, {green} and {blue} of the \
                     variance), each from its least to its largest",
                    self.of
                )
            }
        }
    }
}

/// The picture, and the stream that a layer reads with its name.
fn stream(capture: &Capture, (stack, layer): (StackKind, usize)) -> Result<(&ImageInfo, &Matrix, String), String> {
    let of_image = capture.image().zip(rows(capture, stack, layer)).map(|(image, (rows, of))| (image, rows, of));
    of_image.ok_or_else(|| format!("The residual stream of layer {layer} was not recorded"))
}

/// Rings round patches: dark on light, so that they show on any picture.
pub fn draw_rings(layout: &ImageLayout, ringed: &[usize], pen: &mut Pen<'_>) {
    for position in ringed {
        let cell: Rect = layout.token_rect(*position);
        let radius = 0.42 * cell.width().min(cell.height());
        for (by, color) in [(1.0, pen.palette.canvas), (0.0, pen.palette.text)] {
            pen.fill(Path::ring(cell.center(), radius + by, 2.0f32.mul_add(by, RING_PT)), color);
        }
    }
}

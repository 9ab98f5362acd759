//! Recordings of one forward pass: immutable, plain `f32` data.
//!
//! Nothing here names the engine, the window, a thread or a file's bytes (reading and writing
//! capture files is [`mod@file`]'s job, on byte slices). A capture may come from our own forward pass
//! or from a file another program wrote, so everything but the patterns is optional.

mod architecture;
mod bias;
mod capture_data;
pub mod changes;
mod check;
mod excerpt;
pub mod file;
mod global;
pub mod groups;
mod matrix;
mod patches;
mod positions;
mod running;
mod scorer;
mod site;
mod site_set;
pub(crate) mod spelling;
mod tokens;
mod units;
pub mod words;

pub use architecture::{Architecture, BlockFacts, BranchNorms, Reads, TowerFacts};
pub use capture_data::{
    Beams, Capture, CaptureParts, Generated, InputInfo, LayerCapture, Prediction, PredictionItem, PredictionRow,
    StackCapture, StateGradients,
};
pub use changes::{
    Ablate, AblateExpert, Ablation, AdaptiveSpan, Along, AppliedEdit, Centre, Computation, Cut, Direction, DirectionOf,
    Edit, ExpertAblation, HideToken, Knockout, LeaveOutAdapter, Local, MaskToken, MeanOf, NoPositions, Normalize,
    Normalizer, Order, Patch, Permute, Positions, RankOne, ReplaceToken, Restrict, RowMass, Scope, SeeAll, SetPattern,
    Sharpen, SigmoidBias, Sparsity,
};
pub(crate) use changes::{even_out, head_name, shuffled, stack_prefix};
pub use excerpt::{Excerpt, Keep, TextPart, TokenCount};
pub use matrix::{Matrix, PerHead, ShapeError};
pub use patches::{PatchLook, THUMBNAIL_PX};
pub use positions::{PositionEncoding, PositionTable, PositionTables, Rotation};
pub use running::{TextPiece, joined_text, running_text};
pub use scorer::{Bend, Scorer};
pub use site::{Per, RowKind, Site, SiteSpec, SiteValue, SiteValues, Way, Width};
pub use site_set::Sites;
pub use tokens::{CropRect, ImageInfo, RgbaBuffer, Token};
pub use units::{Grouping, Merging, Unit, label_sentences, part_at, parts};

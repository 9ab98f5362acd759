//! What options of methods are when nobody says otherwise: the same in the window, in figures and on the command line.

use super::{FaithfulnessOptions, KnockoutOptions};
use crate::capture::Cut;

/// Whether gradients are multiplied by what they are of: what a token adds, and not how steep the output is there.
pub const TIMES_INPUT: bool = true;
/// Steps of the path of integrated gradients: enough for a gap of a percent on short texts.
pub const PATH_STEPS: usize = 20;
/// Tokens or classes of a layer, and memories, that are told.
pub const TOP: usize = 5;
/// Pairs of parts of an edge that are told.
pub const EDGE_PAIRS: usize = 12;
/// Between softmax and sparsemax.
pub const ALPHA: f64 = 1.5;
/// Of all heads of the last layer.
pub const FAITHFULNESS: FaithfulnessOptions =
    FaithfulnessOptions { stack: None, layer: None, head: None, n_permutations: 100, n_steps: 100, seed: 0 };
/// Of every key, in the stack of the predicted tokens.
pub const KNOCKOUT: KnockoutOptions = KnockoutOptions { stack: None, window: 3, cut: Cut::Scores, every: 1 };

//! Corpora from files, and runs of a model on all of their inputs.

mod capture;
mod job;
mod order;
mod passes;
mod read;

pub use capture::{CorpusOptions, CorpusRun, LeftOut, capture, packs, run_pack};
pub(super) use job::run;
pub use order::{CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource};
pub use passes::{Order, Passes};
pub use read::{CorpusFileError, read};

use crate::{
    corpus::list::Content,
    model::{ImageSource, Input},
};

/// What the model is given of an item.
pub fn input_of(content: &Content) -> Input {
    match content {
        Content::Text(text) => Input::text(text),
        Content::Picture(path) => Input::Image(ImageSource::Path(path.clone())),
        Content::BundledPicture(name) => Input::Image(ImageSource::Bundled(name.clone())),
    }
}

//! Corpora from files, and runs of a model on all of their inputs.

mod capture;
mod head_folder;
mod head_page;
mod head_statistics;
mod job;
mod judge;
mod keys;
mod look;
mod pass_cache;
mod passes;
mod read;

use std::path::{Path, PathBuf};

pub use capture::{CorpusRun, capture, packs, run_pack};
pub use head_folder::{FolderError, FolderOrder, FolderPass, WrittenFolder};
pub use head_page::{PagePass, head_page};
pub use head_statistics::{StateError, StatisticsOrder, StatisticsPass, statistics_key};
pub(super) use job::{Begun, check_kind, run};
pub(super) use judge::judge_for_window;
pub use judge::{JudgeError, JudgeOrder, judge, says_nothing};
pub use keys::{inputs_key, model_key};
pub(super) use look::look;
pub use passes::{Order, Passes, chunk_size, sites_of};
pub(super) use read::is_picture;
pub use read::{CorpusFileError, read};

use crate::{
    corpus::list::{Content, ListKind, ListOptions},
    model::{ImageSource, Input, ModelFiles, Preparation, TextInput},
};

/// Whether a path that was taken for a model or a capture is a list of inputs, and whether of pictures: a JSON file
/// with texts, or a folder with pictures and no checkpoint.
pub(super) fn listed_in(path: &Path) -> Option<(PathBuf, bool)> {
    let is_json = path.is_file() && ListKind::of_name(&path.to_string_lossy()) == ListKind::Json;
    let files = ModelFiles::folder(path);
    let is_folder = path.is_dir() && !path.join("config.json").exists() && !files.has_weights();
    if !is_json && !is_folder {
        return None;
    }
    let list = read(path, &ListOptions::default()).ok()?;
    let has_pictures = list.items.iter().any(|item| matches!(item.content, Content::Picture(_)));
    Some((path.to_owned(), has_pictures))
}

/// What the model is given of an item, as one of many.
pub fn input_of(content: &Content, how: Preparation) -> Input {
    match content {
        Content::Text(text) => {
            Input::Text(TextInput { text: text.clone(), how: how.of_many(), ..TextInput::default() })
        }
        Content::Grouped(grouped) => {
            let how = Preparation { brackets: true, ..how.of_many() };
            Input::Text(TextInput { text: grouped.to_string(), how, ..TextInput::default() })
        }
        Content::Picture(path) => Input::Image(ImageSource::Path(path.clone())),
        Content::BundledPicture(name) => Input::Image(ImageSource::Bundled(name.clone())),
    }
}

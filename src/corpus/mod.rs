//! Many inputs of one model, stored by column.
//!
//! A [`Corpus`] keeps, per head, the queries and keys of every token of every input with their norms, and one
//! table of tokens per side; values and the residual stream when that is asked for ([`Kept`]). Patterns are not kept:
//! an input that is looked at is run again. A [`list::InputList`] is what a corpus is made of before anything was run: texts or pictures with
//! annotations, as files give them.
//!
//! Nothing here reads a file, names the engine or starts a thread: `worker/corpus/` does.

mod column;
mod error;
mod kept;
pub mod list;
mod patches;
mod row;
mod select;
mod store;
mod tokens;
mod view;

pub use error::CorpusError;
pub use kept::Kept;
pub use patches::small as small_picture;
pub use row::{InputRow, Label, PREDICTED, PREDICTED_CLASS};
pub use select::{Filter, Selection, SortBy};
pub use store::{Corpus, HeadSpace};
pub use tokens::TokenRow;
pub use view::CorpusView;

//! What was found in a checkpoint, so that a user can trust what was loaded.

/// The weight audit shown after every load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Tensors the model read.
    pub n_loaded: usize,
    /// Parameters in those tensors.
    pub n_params: u64,
    /// Element types in the file and how many tensors have each, e.g. `F16 × 53`.
    pub dtypes: Vec<(String, usize)>,
    /// Tensors in the file that the model does not use.
    pub unexpected: Vec<String>,
    /// Tensors found under another name than the family's own: `(expected, found)`.
    pub renamed: Vec<(String, String)>,
    /// Optional tensors the file does not have (a head, say); a required one is an error instead.
    pub absent: Vec<String>,
    /// Where the tokenizer or image processor came from, e.g. `tokenizer.json`.
    pub input_source: String,
    /// Sentences the user must see.
    pub warnings: Vec<String>,
}

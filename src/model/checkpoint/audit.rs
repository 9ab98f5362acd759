//! Findings about a checkpoint, so that a user can trust what was loaded.

/// The weight audit shown after every load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub n_loaded: usize,
    /// Parameters in those tensors.
    pub n_params: u64,
    /// Bytes that they take in memory: matrices and tables of two bytes a number stay so.
    pub n_bytes: u64,
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
    /// Which of the files in the folder the weights were read from.
    pub weights_source: String,
    /// Name of the adapter that is merged into the model, if there is one.
    pub adapter: Option<String>,
    /// Sentences the user must see.
    pub warnings: Vec<String>,
    /// Every tensor of the checkpoint, by name.
    pub tensors: Vec<TensorFact>,
    /// What was looked up in `config.json`: the name that was found and its value, or the first name
    /// that was tried and `None`.
    pub config: Vec<(String, Option<String>)>,
    /// Keys of `config.json` that were not read and are known to change no number, with their values.
    pub harmless_keys: Vec<(String, String)>,
    /// Keys of `config.json` that the class it names does not have, with their values: nobody obeys them.
    pub unknown_keys: Vec<(String, String)>,
    /// Why no independent implementation can be asked about it; `None` where one can.
    pub second_opinion: Option<String>,
    /// What became of the keys of `tokenizer_config.json`.
    pub tokenizer_keys: TokenizerKeys,
}

/// What became of the keys of a `tokenizer_config.json`, with their values as one would quote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizerKeys {
    pub read: Vec<(String, String)>,
    /// They change no id and no text.
    pub harmless: Vec<(String, String)>,
    /// The class that reads the checkpoint does not have them.
    pub ignored: Vec<(String, String)>,
}

/// One tensor of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorFact {
    pub name: String,
    /// Its element type in the file.
    pub dtype: String,
    /// Its shape in the file.
    pub shape: Vec<usize>,
    pub role: Role,
}

/// What became of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Used,
    /// A copy of another one or a buffer: known, and not needed.
    Skipped,
    /// The model knows nothing of it.
    Unexpected,
}

impl Audit {
    /// Adds what became of the keys of another file than `config.json`: those that were read, that change nothing, and
    /// that nobody knows. `file` stands before their names.
    pub(in crate::model) fn note_file(&mut self, file: &str, [read, harmless, unknown]: [&[(String, String)]; 3]) {
        let named = |(name, value): &(String, String)| (format!("{file}.{name}"), value.clone());
        self.config.extend(read.iter().map(named).map(|(name, value)| (name, Some(value))));
        self.harmless_keys.extend(harmless.iter().map(named));
        self.unknown_keys.extend(unknown.iter().map(named));
    }

    /// Notes another name once.
    pub(super) fn note_renamed(&mut self, expected: &str, found: &str) {
        let renamed = (expected.to_owned(), found.to_owned());
        if !self.renamed.contains(&renamed) {
            self.renamed.push(renamed);
        }
    }
}

//! What the sentence-transformers library does to a text before the tokenizer: it takes the spaces around it away, may put
//! it into lower case, and reads no more than the first tokens. After `Transformer.tokenize` of sentence-transformers 5.

use serde_json::Value;

use super::{InputError, TextInput, read};
use crate::{capture::Excerpt, model::checkpoint::ModelFiles, text::counted};

/// The files that may say so, by the model that they were once written for.
const FILES: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// What a checkpoint says to that library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentenceRules {
    file: &'static str,
    lower: bool,
    /// Tokens that are read at most.
    longest: Option<usize>,
}

impl SentenceRules {
    /// `None` where the checkpoint is none of that library's.
    ///
    /// # Errors
    /// When the file is not JSON.
    pub fn from_files(files: &ModelFiles) -> Result<Option<Self>, InputError> {
        for file in FILES {
            let Some(bytes) = read(files, file)? else { continue };
            let config: Value = serde_json::from_slice(&bytes)
                .map_err(|error| InputError::BadFile { file, reason: error.to_string() })?;
            let longest = config.get("max_seq_length").and_then(Value::as_u64);
            return Ok(Some(Self {
                file,
                lower: config.get("do_lower_case").and_then(Value::as_bool).unwrap_or(false),
                longest: longest.and_then(|longest| usize::try_from(longest).ok()),
            }));
        }
        Ok(None)
    }

    /// For the audit.
    pub fn warning(&self) -> Option<String> {
        let does = self.does();
        (!does.is_empty()).then(|| {
            format!(
                "{} makes sentence-transformers {does}, which transformers and AttnScope do only when they are asked \
                 (--sentence-transformers on the command line)",
                self.file
            )
        })
    }

    /// For the notes of a run.
    pub fn note(&self) -> String {
        let does = self.does();
        let does = if does.is_empty() { "take spaces around a text away".to_owned() } else { does };
        format!("Prepared as {} makes sentence-transformers do: {does}", self.file)
    }

    /// A text as that library gives it to a model that reads at most `n_ctx` tokens.
    pub fn prepared(&self, input: &TextInput, n_ctx: usize) -> TextInput {
        let prepare = |text: &str| {
            let text = text.trim();
            if self.lower { text.to_lowercase() } else { text.to_owned() }
        };
        let excerpt = input.excerpt.unwrap_or(Excerpt::FITTING);
        let n_tokens = [excerpt.n_tokens, self.longest].into_iter().flatten().min().map(|n| n.min(n_ctx));
        TextInput {
            text: prepare(&input.text),
            text_b: input.text_b.as_deref().map(prepare),
            excerpt: Some(Excerpt { n_tokens, ..excerpt }),
            ..input.clone()
        }
    }

    fn does(&self) -> String {
        let lower = self.lower.then(|| "put a text into lower case".to_owned());
        let longest = self.longest.map(|longest| format!("read its first {} only", counted(longest, "token")));
        lower.into_iter().chain(longest).collect::<Vec<_>>().join(" and ")
    }
}

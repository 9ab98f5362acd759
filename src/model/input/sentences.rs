//! What the sentence-transformers library does to a text before the tokenizer: it takes the spaces around it away, may put
//! it into lower case, and reads no more than the first tokens. After `Transformer.tokenize` of sentence-transformers 5.

use serde_json::Value;

use super::{InputError, Preparation, TextInput, read, settings::CONFIG};
use crate::{capture::Excerpt, model::checkpoint::ModelFiles, spec::TextLimits, text::counted};

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

/// What the library keeps of its own: a prompt for every text.
const PROMPTS: &str = "config_sentence_transformers.json";
/// What a folder of that library has at least.
const MODULES: &str = "modules.json";

/// What a checkpoint says to that library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentenceRules {
    file: &'static str,
    lower: bool,
    longest: Option<Longest>,
    /// What stands in front of every text.
    prompt: Option<String>,
}

/// Tokens that are read at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Longest {
    /// As its file says.
    Own(usize),
    /// As the tokenizer says, but no more than the model was made for.
    OfTokenizer(usize),
}

impl SentenceRules {
    /// `None` where the checkpoint is none of that library's. `tokenizer` is what `tokenizer_config.json` says.
    ///
    /// # Errors
    /// When a file is not JSON.
    pub fn from_files(files: &ModelFiles, tokenizer: &Value) -> Result<Option<Self>, InputError> {
        let mut found = None;
        for file in FILES.into_iter().chain([PROMPTS, MODULES]) {
            found = json(files, file)?.map(|config| (file, config));
            if found.is_some() {
                break;
            }
        }
        let Some((file, config)) = found else { return Ok(None) };
        let length = |value: &Value, key: &str| {
            // Those who set no limit write a number that no list is as long as.
            value.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0)
        };
        let of_tokenizer = || length(tokenizer, "model_max_length").map(Longest::OfTokenizer);
        Ok(Some(Self {
            file,
            lower: config.get("do_lower_case").and_then(Value::as_bool).unwrap_or(false),
            longest: length(&config, "max_seq_length").map(Longest::Own).or_else(of_tokenizer),
            prompt: json(files, PROMPTS)?.as_ref().and_then(default_prompt),
        }))
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

    /// A text as that library gives it to a model.
    pub fn prepared(&self, input: &TextInput, limits: TextLimits) -> TextInput {
        let prepare = |text: &str| {
            let text = text.trim();
            if self.lower { text.to_lowercase() } else { text.to_owned() }
        };
        // The library puts a prompt before a text, not before a pair of them.
        let prompt = self.prompt.as_deref().filter(|_| input.text_b.is_none()).unwrap_or_default();
        let excerpt = input.how.excerpt.unwrap_or(Excerpt::FITTING);
        let longest = self.longest.map(|longest| match longest {
            Longest::Own(n) => n,
            Longest::OfTokenizer(n) => n.min(limits.usual),
        });
        let n_tokens = [excerpt.n_tokens, longest].into_iter().flatten().min().map(|n| n.min(limits.most));
        TextInput {
            text: prepare(&format!("{prompt}{}", input.text)),
            text_b: input.text_b.as_deref().map(prepare),
            how: Preparation { excerpt: Some(Excerpt { n_tokens, ..excerpt }), ..input.how },
            system: None,
        }
    }

    fn does(&self) -> String {
        let prompt = self.prompt.as_ref().map(|prompt| format!("put “{prompt}” before a text ({PROMPTS})"));
        let lower = self.lower.then(|| "put a text into lower case".to_owned());
        let longest = self.longest.map(|longest| match longest {
            Longest::Own(n) => format!("read its first {} only", counted(n, "token")),
            Longest::OfTokenizer(n) => format!("read its first {} only ({CONFIG})", counted(n, "token")),
        });
        prompt.into_iter().chain(lower).chain(longest).collect::<Vec<_>>().join(" and ")
    }
}

/// The prompt that is used when nobody names one.
fn default_prompt(config: &Value) -> Option<String> {
    let name = config.get("default_prompt_name")?.as_str()?;
    let prompt = config.get("prompts")?.get(name)?.as_str()?;
    (!prompt.is_empty()).then(|| prompt.to_owned())
}

fn json(files: &ModelFiles, file: &'static str) -> Result<Option<Value>, InputError> {
    let Some(bytes) = read(files, file)? else { return Ok(None) };
    let bad = |error: serde_json::Error| InputError::BadFile { file, reason: error.to_string() };
    serde_json::from_slice(&bytes).map(Some).map_err(bad)
}

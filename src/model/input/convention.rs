//! What a family of tokenizers takes for granted, beside its vocabulary: which special tokens there
//! are and what they do.

use serde_json::Value;

/// A family, named after its class in the transformers library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    Albert,
    Bert,
    Camembert,
    Clip,
    DebertaV2,
    Gemma,
    Gpt2,
    Llama,
    Marian,
    MBart,
    MBart50,
    MpNet,
    Qwen2,
    Roberta,
    T5,
    XlmRoberta,
    /// None of these: no special tokens beside those that the checkpoint names.
    Other,
}

impl Convention {
    /// From `tokenizer_class`, or else from `model_type`.
    pub fn of(tokenizer: &Value, model: &Value) -> Self {
        // A vision-encoder-decoder model has its text in the decoder.
        let of_decoder = model.get("decoder").and_then(|decoder| text(decoder, "model_type"));
        let model_type = of_decoder.or_else(|| text(model, "model_type"));
        let from_class = class(tokenizer, model).and_then(Self::from_class);
        let from_model_type = || Self::from_model_type(model_type?);
        from_class.or_else(from_model_type).unwrap_or(Self::Other)
    }

    /// The class that the checkpoint names, when it is not one of these families and says more than
    /// that there is a tokenizer.
    pub fn unknown_class<'a>(tokenizer: &'a Value, model: &'a Value) -> Option<&'a str> {
        let class = class(tokenizer, model)?;
        let says_nothing = matches!(class, "PreTrainedTokenizer" | "TokenizersBackend" | "");
        (!says_nothing && Self::from_class(class).is_none()).then_some(class)
    }

    /// Whether the checkpoint names a class that goes by the file of the tokenizers library alone: the general one, one
    /// that adds nothing to it, or one that the transformers library does not know and reads as the general one.
    pub fn goes_by_file(tokenizer: &Value, model: &Value) -> bool {
        let general = ["PreTrainedTokenizer", "TokenizersBackend", "ConvBertTokenizer"];
        class(tokenizer, model).is_some_and(|class| general.contains(&class) || Self::from_class(class).is_none())
    }

    /// Whether a tokenizer of this class tells a model that has segments which of two texts a token is of.
    pub fn tells_segments(tokenizer: &Value, model: &Value) -> bool {
        Self::of(tokenizer, model) != Self::Albert
            && !Self::goes_by_file(tokenizer, model)
            && class(tokenizer, model) != Some("DistilBertTokenizer")
    }

    fn from_class(class: &str) -> Option<Self> {
        Some(match class {
            "AlbertTokenizer" => Self::Albert,
            "BertTokenizer"
            | "ConvBertTokenizer"
            | "DistilBertTokenizer"
            | "ElectraTokenizer"
            | "LayoutLMTokenizer"
            | "MobileBertTokenizer"
            | "SqueezeBertTokenizer" => Self::Bert,
            "CamembertTokenizer" => Self::Camembert,
            "CLIPTokenizer" => Self::Clip,
            "DebertaV2Tokenizer" => Self::DebertaV2,
            "GemmaTokenizer" => Self::Gemma,
            "GPT2Tokenizer" | "GPTNeoXTokenizer" | "CodeGenTokenizer" => Self::Gpt2,
            "LlamaTokenizer" | "CodeLlamaTokenizer" => Self::Llama,
            "MarianTokenizer" => Self::Marian,
            "MBartTokenizer" => Self::MBart,
            "MBart50Tokenizer" => Self::MBart50,
            "MPNetTokenizer" => Self::MpNet,
            "Qwen2Tokenizer" => Self::Qwen2,
            "RobertaTokenizer" | "BartTokenizer" | "LEDTokenizer" | "LongformerTokenizer" => Self::Roberta,
            "T5Tokenizer" => Self::T5,
            "XLMRobertaTokenizer" => Self::XlmRoberta,
            _ => return None,
        })
    }

    fn from_model_type(model_type: &str) -> Option<Self> {
        Some(match model_type {
            "albert" => Self::Albert,
            "bert" | "distilbert" | "electra" => Self::Bert,
            "camembert" => Self::Camembert,
            "clip" | "clip_text_model" => Self::Clip,
            "deberta-v2" => Self::DebertaV2,
            "gemma" | "gemma2" | "gemma3" | "gemma3_text" => Self::Gemma,
            "gpt2" | "gpt_neo" | "gpt_neox" | "opt" | "phi" => Self::Gpt2,
            "llama" | "mistral" | "mixtral" | "phi3" => Self::Llama,
            "marian" => Self::Marian,
            "mbart" => Self::MBart,
            "mpnet" => Self::MpNet,
            "qwen2" | "qwen3" => Self::Qwen2,
            "roberta" | "bart" | "longformer" | "led" | "trocr" => Self::Roberta,
            "t5" | "mt5" | "umt5" | "longt5" => Self::T5,
            "xlm-roberta" | "xlm-roberta-xl" => Self::XlmRoberta,
            _ => return None,
        })
    }

    /// Roles and texts of the special tokens.
    pub const fn special_tokens(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Albert => &[
                ("bos_token", "[CLS]"),
                ("eos_token", "[SEP]"),
                ("unk_token", "<unk>"),
                ("sep_token", "[SEP]"),
                ("pad_token", "<pad>"),
                ("cls_token", "[CLS]"),
                ("mask_token", "[MASK]"),
            ],
            Self::Bert | Self::DebertaV2 => &[
                ("unk_token", "[UNK]"),
                ("sep_token", "[SEP]"),
                ("pad_token", "[PAD]"),
                ("cls_token", "[CLS]"),
                ("mask_token", "[MASK]"),
            ],
            Self::Clip => &[
                ("bos_token", "<|startoftext|>"),
                ("eos_token", "<|endoftext|>"),
                ("unk_token", "<|endoftext|>"),
                ("pad_token", "<|endoftext|>"),
            ],
            Self::Gemma => {
                &[("bos_token", "<bos>"), ("eos_token", "<eos>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")]
            }
            Self::Gpt2 => {
                &[("bos_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>"), ("unk_token", "<|endoftext|>")]
            }
            Self::Llama => &[("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")],
            Self::MpNet => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "[UNK]"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
            Self::Camembert | Self::MBart | Self::MBart50 | Self::Roberta | Self::XlmRoberta => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
            Self::Qwen2 => &[("eos_token", "<|endoftext|>"), ("pad_token", "<|endoftext|>")],
            Self::Marian | Self::T5 => &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")],
            Self::Other => &[],
        }
    }

    /// Whether the mask stands for a word with the space before it.
    pub const fn mask_takes_space(self) -> bool {
        matches!(
            self,
            Self::Albert
                | Self::Camembert
                | Self::MBart
                | Self::MBart50
                | Self::MpNet
                | Self::Roberta
                | Self::XlmRoberta
        )
    }
}

/// The declared class, without the mark of its fast version.
fn class<'a>(tokenizer: &'a Value, model: &'a Value) -> Option<&'a str> {
    let class = text(tokenizer, "tokenizer_class").or_else(|| text(model, "tokenizer_class"))?;
    Some(class.strip_suffix("Fast").unwrap_or(class))
}

fn text<'a>(source: &'a Value, key: &str) -> Option<&'a str> {
    source.get(key)?.as_str()
}

//! What a family of tokenizers takes for granted, beside its vocabulary: which special tokens there
//! are and what they do; and which of the classes of transformers 5 reads a checkpoint.

use serde_json::Value;

/// A family, named after its class in the transformers library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    Albert,
    Bert,
    Camembert,
    Clip,
    CodeGen,
    CodeLlama,
    DebertaV2,
    Esm,
    Gemma,
    Gpt2,
    GptNeoX,
    Llama,
    M2m100,
    Marian,
    MBart,
    MBart50,
    MpNet,
    Nllb,
    Pegasus,
    Qwen2,
    Roberta,
    Siglip,
    Siglip2,
    T5,
    XlmRoberta,
    /// None of these: what stands in `tokenizer.json` counts, and no special tokens beside those that the checkpoint
    /// names.
    Other,
}

impl Convention {
    /// The class that `AutoTokenizer` of transformers 5 takes for a checkpoint with a `tokenizer.json`.
    ///
    /// `is_byte_level` says whether that file has a part of the kind `ByteLevel`; it is asked only where it counts.
    pub fn of(
        tokenizer: &Value,
        model: &Value,
        tokenizer_of: TokenizerOf,
        is_byte_level: impl FnOnce() -> bool,
    ) -> Self {
        let registered = registered(model, tokenizer_of);
        let Some(named) = class(tokenizer, model) else {
            return match registered {
                Registered::Class(class) | Registered::Always(class) => class,
                Registered::Nothing | Registered::OfEncoder => Self::Other,
            };
        };
        let named = Self::from_class(named).unwrap_or(Self::Other);
        if has_own_code(tokenizer) {
            return named;
        }
        match registered {
            Registered::Always(class) => class,
            // The class writes its words with `▁`, which a vocabulary of bytes does not.
            _ if named == Self::Llama && is_byte_level() => Self::Other,
            _ => named,
        }
    }

    /// The family of a checkpoint that has no `tokenizer.json`: by its class, else by its `model_type`.
    pub fn of_vocabulary(tokenizer: &Value, model: &Value, tokenizer_of: TokenizerOf) -> Self {
        let from_class = class(tokenizer, model).and_then(Self::from_class);
        // A vision-encoder-decoder model has its text in the decoder.
        let of_decoder = model.get("decoder").and_then(|decoder| text(decoder, "model_type"));
        let model_type = of_decoder.or_else(|| text(model, "model_type"));
        let from_model_type = || Some(tokenizer_class(model_type?, tokenizer_of).alone);
        from_class.or_else(from_model_type).unwrap_or(Self::Other)
    }

    /// The class that the checkpoint names, when it is not one of these families and says more than
    /// that there is a tokenizer.
    pub fn unknown_class<'a>(tokenizer: &'a Value, model: &'a Value) -> Option<&'a str> {
        let class = class(tokenizer, model)?;
        let says_nothing = matches!(class, "PreTrainedTokenizer" | "TokenizersBackend" | "BloomTokenizer" | "");
        (!says_nothing && Self::from_class(class).is_none()).then_some(class)
    }

    /// The class that the checkpoint names and transformers would take, where its rules are not known here.
    pub fn unfollowed_class<'a>(tokenizer: &'a Value, model: &'a Value, tokenizer_of: TokenizerOf) -> Option<&'a str> {
        let is_overruled = matches!(registered(model, tokenizer_of), Registered::Always(_));
        if is_overruled && !has_own_code(tokenizer) {
            return None;
        }
        Self::unknown_class(tokenizer, model)
    }

    /// Whether a tokenizer of this family tells a model that has segments which of two texts a token is of.
    pub fn tells_segments(self, tokenizer: &Value, model: &Value) -> bool {
        match class(tokenizer, model) {
            Some("DistilBertTokenizer") => false,
            // Goes by the file, but keeps this of the class that it is made from.
            Some("ConvBertTokenizer") => true,
            _ => matches!(self, Self::Bert | Self::DebertaV2),
        }
    }

    /// The name of the class in transformers 5.
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::Albert => "AlbertTokenizer",
            Self::Bert => "BertTokenizer",
            Self::Camembert => "CamembertTokenizer",
            Self::Clip => "CLIPTokenizer",
            Self::CodeGen => "CodeGenTokenizer",
            Self::CodeLlama => "CodeLlamaTokenizer",
            Self::DebertaV2 => "DebertaV2Tokenizer",
            Self::Esm => "EsmTokenizer",
            Self::Gemma => "GemmaTokenizer",
            Self::Gpt2 => "GPT2Tokenizer",
            Self::GptNeoX => "GPTNeoXTokenizer",
            Self::Llama => "LlamaTokenizer",
            Self::M2m100 => "M2M100Tokenizer",
            Self::Marian => "MarianTokenizer",
            Self::MBart => "MBartTokenizer",
            Self::MBart50 => "MBart50Tokenizer",
            Self::MpNet => "MPNetTokenizer",
            Self::Nllb => "NllbTokenizer",
            Self::Pegasus => "PegasusTokenizer",
            Self::Qwen2 => "Qwen2Tokenizer",
            Self::Roberta => "RobertaTokenizer",
            Self::Siglip => "SiglipTokenizer",
            Self::Siglip2 => "Siglip2Tokenizer",
            Self::T5 => "T5Tokenizer",
            Self::XlmRoberta => "XLMRobertaTokenizer",
            Self::Other => "TokenizersBackend",
        }
    }

    /// The family of a class without the mark of its fast version; other names of a class are here, too.
    fn from_class(class: &str) -> Option<Self> {
        Some(match class {
            "AlbertTokenizer" => Self::Albert,
            "BertTokenizer"
            | "DistilBertTokenizer"
            | "ElectraTokenizer"
            | "LayoutLMTokenizer"
            | "LxmertTokenizer"
            | "MobileBertTokenizer"
            | "SqueezeBertTokenizer" => Self::Bert,
            "CamembertTokenizer" => Self::Camembert,
            "CLIPTokenizer" => Self::Clip,
            "CodeGenTokenizer" => Self::CodeGen,
            "CodeLlamaTokenizer" => Self::CodeLlama,
            "ConvBertTokenizer" => Self::Other,
            "DebertaV2Tokenizer" => Self::DebertaV2,
            "EsmTokenizer" => Self::Esm,
            "GemmaTokenizer" => Self::Gemma,
            "GPT2Tokenizer" => Self::Gpt2,
            "GPTNeoXTokenizer" => Self::GptNeoX,
            "LlamaTokenizer" | "Phi3Tokenizer" => Self::Llama,
            "M2M100Tokenizer" => Self::M2m100,
            "MarianTokenizer" => Self::Marian,
            "MBartTokenizer" => Self::MBart,
            "MBart50Tokenizer" => Self::MBart50,
            "MPNetTokenizer" => Self::MpNet,
            "NllbTokenizer" => Self::Nllb,
            "PegasusTokenizer" => Self::Pegasus,
            "Qwen2Tokenizer" => Self::Qwen2,
            "RobertaTokenizer" | "BartTokenizer" | "LEDTokenizer" | "LongformerTokenizer" | "MvpTokenizer" => {
                Self::Roberta
            }
            "SiglipTokenizer" => Self::Siglip,
            "Siglip2Tokenizer" => Self::Siglip2,
            "T5Tokenizer" => Self::T5,
            "XLMRobertaTokenizer" => Self::XlmRoberta,
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
            Self::DebertaV2 => &[
                ("bos_token", "[CLS]"),
                ("eos_token", "[SEP]"),
                ("unk_token", "[UNK]"),
                ("sep_token", "[SEP]"),
                ("pad_token", "[PAD]"),
                ("cls_token", "[CLS]"),
                ("mask_token", "[MASK]"),
            ],
            Self::Bert => &[
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
            Self::Esm => &[
                ("eos_token", "<eos>"),
                ("unk_token", "<unk>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<cls>"),
                ("mask_token", "<mask>"),
            ],
            Self::Gemma | Self::Siglip2 => &[
                ("bos_token", "<bos>"),
                ("eos_token", "<eos>"),
                ("unk_token", "<unk>"),
                ("pad_token", "<pad>"),
                ("mask_token", "<mask>"),
            ],
            Self::Gpt2 | Self::CodeGen => {
                &[("bos_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>"), ("unk_token", "<|endoftext|>")]
            }
            Self::GptNeoX => &[
                ("bos_token", "<|endoftext|>"),
                ("eos_token", "<|endoftext|>"),
                ("unk_token", "<|endoftext|>"),
                ("pad_token", "<|padding|>"),
            ],
            Self::Llama | Self::CodeLlama => &[("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")],
            Self::MpNet => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "[UNK]"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
            // A class that leaves its beginning to the checkpoint.
            Self::MBart50 => &[
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
            Self::M2m100 => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
            ],
            Self::Pegasus => {
                &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>"), ("mask_token", "<mask_2>")]
            }
            Self::Camembert | Self::MBart | Self::Nllb | Self::Roberta | Self::XlmRoberta => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
            Self::Qwen2 => {
                &[("eos_token", "<|endoftext|>"), ("unk_token", "<|endoftext|>"), ("pad_token", "<|endoftext|>")]
            }
            Self::Siglip => &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "</s>")],
            Self::Marian | Self::T5 => &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")],
            Self::Other => &[],
        }
    }

    /// Whether the mask stands for a word with the space before it.
    pub const fn mask_takes_space(self) -> bool {
        self.class_strips_mask() || matches!(self, Self::Albert | Self::Roberta | Self::XlmRoberta)
    }

    /// The same in the classes of transformers 5: fewer of them say so.
    pub const fn class_strips_mask(self) -> bool {
        matches!(self, Self::Camembert | Self::MBart | Self::MBart50 | Self::MpNet | Self::Nllb)
    }

    /// Whether the classes look for their mask in the normalised text.
    pub const fn class_normalizes_mask(self) -> bool {
        matches!(self, Self::Nllb)
    }
}

/// What `TOKENIZER_MAPPING_NAMES` of transformers 5 has for a `model_type`.
#[derive(Clone, Copy)]
enum Registered {
    /// A class, unless the checkpoint names another one.
    Class(Convention),
    /// A class whatever the checkpoint names.
    Always(Convention),
    /// Nothing: the checkpoint names a class, or the file counts.
    Nothing,
    /// The class of its encoder, which is a model of its own.
    OfEncoder,
}

/// Which class reads the texts of a `model_type`.
#[derive(Clone, Copy)]
pub(crate) struct TokenizerClass {
    registered: Registered,
    /// Whose a vocabulary is that comes without a `tokenizer.json` and without a class.
    alone: Convention,
    /// Whether its words were once written down wrongly.
    pub(super) wrong_words: bool,
}

/// The tokenizers of families; `None` for a `model_type` that is none of them.
pub(crate) type TokenizerOf = fn(&str) -> Option<TokenizerClass>;

impl TokenizerClass {
    /// The class that the checkpoint names, or what its file says.
    pub const NONE: Self = Self { registered: Registered::Nothing, alone: Convention::Other, wrong_words: false };
    /// The tokenizer of the encoder's model.
    pub const OF_ENCODER: Self = Self { registered: Registered::OfEncoder, ..Self::NONE };
    /// What the file says, as the classes that checkpoints name are known to be wrong.
    pub const OF_FILE: Self = Self::always(Convention::Other);

    /// This class, unless the checkpoint names another one.
    pub const fn class(class: Convention) -> Self {
        Self { registered: Registered::Class(class), alone: class, ..Self::NONE }
    }

    /// This class whatever the checkpoint names.
    pub const fn always(class: Convention) -> Self {
        Self { registered: Registered::Always(class), alone: class, ..Self::NONE }
    }

    /// The same, and the class of a vocabulary that comes without a `tokenizer.json`.
    pub const fn alone(self, alone: Convention) -> Self {
        Self { alone, ..self }
    }

    /// The same of a model whose words were once written down wrongly.
    pub const fn with_wrong_words(self) -> Self {
        Self { wrong_words: true, ..self }
    }
}

fn tokenizer_class(model_type: &str, tokenizer_of: TokenizerOf) -> TokenizerClass {
    tokenizer_of(model_type).unwrap_or(TokenizerClass::NONE)
}

/// What is registered for the model that the text is of.
fn registered(model: &Value, tokenizer_of: TokenizerOf) -> Registered {
    let of = |model: &Value| {
        text(model, "model_type").map_or(Registered::Nothing, |name| tokenizer_class(name, tokenizer_of).registered)
    };
    match of(model) {
        Registered::OfEncoder => model.get("encoder").map_or(Registered::Nothing, of),
        registered => registered,
    }
}

/// Whether the checkpoint brings a tokenizer's program of its own, which is not run.
pub(super) fn has_own_code(tokenizer: &Value) -> bool {
    match tokenizer.get("auto_map") {
        Some(Value::Array(_)) => true,
        Some(map) => map.get("AutoTokenizer").is_some_and(|code| !code.is_null()),
        None => false,
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

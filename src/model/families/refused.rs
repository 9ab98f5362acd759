//! Models that are not computed here: architectures whose attention is not one map between the tokens of one sequence,
//! and why; and tokenizers, which captures of other programs need.

use super::{Convention, TokenizerClass};

/// Which class reads the texts of a `model_type` that is not computed here.
pub(super) fn tokenizer(model_type: &str) -> Option<TokenizerClass> {
    Some(match model_type {
        "gemma3" => TokenizerClass::class(Convention::Gemma),
        "longt5" => TokenizerClass::NONE.alone(Convention::T5),
        "mistral3" | "voxtral" | "ministral" | "pixtral" => TokenizerClass::NONE.with_wrong_words(),
        "umt5" => TokenizerClass::OF_FILE.alone(Convention::T5),
        "xlm-roberta-xl" => TokenizerClass::OF_FILE.alone(Convention::XlmRoberta),
        _ => return None,
    })
}

/// Why a known `model_type` cannot be shown, to follow “it is not supported because”.
pub(super) fn reason(model_type: &str) -> Option<&'static str> {
    Some(match model_type {
        "swin" | "swinv2" | "swin2sr" | "maskformer-swin" | "donut-swin" | "hiera" | "maxvit" | "nat" | "dinat"
        | "sam" | "vitdet" => "its patches attend only to others within windows, so no pattern spans the whole picture",
        "gemma3n" | "gemma3n_text" => {
            "its layers carry four streams, of which each layer predicts all and corrects them (AltUp), and a layer has one \
             residual stream here"
        }
        "mistral3" => {
            "it reads pictures among the words; a text decoder alone, of the type ministral3 or mistral, can be opened"
        }
        "pvt" | "pvt_v2" | "segformer" | "glpn" | "cvt" | "levit" | "mobilevit" | "mobilevitv2" | "efficientformer"
        | "swiftformer" | "mvit" => {
            "its patches shrink to coarser grids from stage to stage, so queries and keys are different patches"
        }
        "convnext" | "convnextv2" | "resnet" | "regnet" | "bit" | "mobilenet_v1" | "mobilenet_v2" | "efficientnet"
        | "focalnet" | "poolformer" | "van" | "dinov3_convnext" => "it has no attention",
        _ => return None,
    })
}

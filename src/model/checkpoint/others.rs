//! Configurations of quantised weights, and those that other programs write: of models without a `model_type`.

use serde_json::{Map, Value};

use super::{Config, formats::RECORD, quantization::Quantization};
use crate::model::LoadError;

impl Config {
    /// How the file says that weights are quantised; MLX says so under a name of its own.
    ///
    /// # Errors
    /// For ways that are not read.
    pub fn quantization(&self) -> Result<Option<Quantization>, LoadError> {
        let names = ["quantization_config", "compression_config", "quantization"];
        let found = names.into_iter().find_map(|name| {
            let (name, value) = self.values.get_key_value(name)?;
            Some((name, value, value.as_object()?))
        });
        let Some((name, value, settings)) = found else { return Ok(None) };
        self.note(name, Some(value));
        if let Some(how) = known(settings) {
            return Ok(Some(how));
        }
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool).unwrap_or(false);
        let bits = match settings.get("bits").and_then(Value::as_u64) {
            None if flag("load_in_4bit") => Some(4),
            None if flag("load_in_8bit") => Some(8),
            bits => bits,
        };
        let unnamed = if settings.contains_key("group_size") { "MLX" } else { "by an unnamed method" };
        let method = settings.get("quant_method").and_then(Value::as_str).unwrap_or(unnamed);
        let how = bits.map_or_else(|| method.to_owned(), |bits| format!("{method}, {bits} bits"));
        Err(LoadError::Quantised { how, path: self.path.clone() })
    }

    /// What a configuration is that names neither a `model_type` nor a class.
    pub(super) fn unnamed(&self) -> LoadError {
        let kinds = [
            ("pretrained_cfg", "a model of timm", RECORD),
            ("model_cfg", "a model of OpenCLIP", RECORD),
            ("pooling_mode_mean_tokens", "only the pooling of a sentence-transformer", "Open the folder around it"),
            ("in_features", "only a layer of a sentence-transformer", "Open the folder around it"),
            ("peft_type", "an adapter", "Merge it into its model first, and open that"),
            ("_diffusers_version", "a part of a diffusion pipeline", "Open its text_encoder or image_encoder"),
            ("n_mels", "a model in OpenAI's own format", RECORD),
            ("add_source_bos", "a model of CTranslate2", RECORD),
            ("registered_name", "a model of Keras", RECORD),
            ("norm_eps", "a model in the original format of LLaMA or Mistral", RECORD),
        ];
        match kinds.into_iter().find(|(key, ..)| self.values.contains_key(*key)) {
            Some((_, what, advice)) => LoadError::OtherKind {
                what: format!("{} names no model_type: it describes {what}", self.file),
                advice: advice.to_owned(),
                path: self.path.clone(),
            },
            None => self.error("it names no model_type, which says what kind of model this is (such as “bert”)"),
        }
    }
}

/// The way that settings describe, if it is read.
fn known(settings: &Map<String, Value>) -> Option<Quantization> {
    let text = |name: &str| settings.get(name).and_then(Value::as_str);
    match text("quant_method")? {
        "mxfp4" => Some(Quantization::Mxfp4),
        "fp8" if text("fmt").is_none_or(|format| format == "e4m3") => Some(Quantization::Fp8),
        "compressed-tensors" if text("format") == Some("float-quantized") => Some(Quantization::CompressedFloat),
        _ => None,
    }
}

//! Configurations of quantised weights, and those that other programs write: of models without a `model_type`.

use super::{Config, formats::RECORD, quantization::Quantization};
use crate::model::LoadError;

impl Config {
    /// How the file says that weights are quantised; MLX says so under a name of its own.
    ///
    /// # Errors
    /// For ways that are not read.
    pub fn quantization(&self) -> Result<Option<Quantization>, LoadError> {
        let names = ["quantization_config", "compression_config", "quantization"];
        for name in names.into_iter().filter(|name| self.values.contains_key(*name)) {
            self.note(name, self.values.get(name));
        }
        let found = names.into_iter().find_map(|name| self.values.get(name)?.as_object());
        let Some(settings) = found else { return Ok(None) };
        let how = Quantization::of(settings).map_err(|how| LoadError::Quantised { how, path: self.path.clone() })?;
        Ok(Some(how))
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

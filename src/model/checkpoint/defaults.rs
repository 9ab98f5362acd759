//! Defaults of families where the configuration is silent, where that is not the same for all of them.

use serde_json::Value;

use super::Config;
use crate::model::LoadError;

const MAX_WIDTH: usize = 1 << 20;

impl Config {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether a decoder sees only what was before; `is_causal` makes an encoder of one (embedding models).
    pub fn is_causal(&self) -> bool {
        self.flag("is_causal", true)
    }

    /// A number that `null` switches off; `default` where the file does not say.
    pub fn number_unless_null(&self, name: &'static str, default: Option<f64>) -> Result<Option<f64>, LoadError> {
        let number = self.number(&[name])?;
        Ok(if self.values.contains_key(name) { number } else { default })
    }

    /// What is added to the variance, under this name alone.
    pub fn norm_eps(&self, name: &'static str, default: f32) -> Result<f32, LoadError> {
        match self.number(&[name])? {
            None => Ok(default),
            Some(eps) if (0.0..=1.0).contains(&eps) => Ok(eps as f32),
            Some(eps) => Err(self.error(format!("{name} is {eps}"))),
        }
    }

    /// As [`heads`](Self::heads), of a family whose heads have the width `d_head` when the file does not say.
    pub fn heads_of(&self, d_model: usize, d_head: Option<usize>) -> Result<(usize, usize), LoadError> {
        match (self.optional_size(&["head_dim"], MAX_WIDTH)?, d_head) {
            (None, Some(d_head)) => Ok((self.size(&["num_attention_heads"], MAX_WIDTH)?, d_head)),
            _ => self.heads(d_model),
        }
    }

    /// As [`n_kv_heads`](Self::n_kv_heads), of a family with a number of its own when the file does not say;
    /// `null` means as many as heads.
    pub fn n_kv_heads_of(&self, n_heads: usize, default: Option<usize>) -> Result<usize, LoadError> {
        let default = default.filter(|_| !self.values.contains_key("num_key_value_heads"));
        match default {
            Some(n) if n_heads.is_multiple_of(n) => Ok(n),
            Some(n) => {
                Err(self.error(format!("{n} key/value heads do not divide {n_heads} heads (num_key_value_heads)")))
            }
            None => self.n_kv_heads(n_heads),
        }
    }

    /// A copy with values for what the file leaves out.
    pub fn or(&self, defaults: &Value) -> Self {
        self.clone().with_defaults(defaults)
    }
}

//! Sparse autoencoders in the layout of `SAELens`: a folder with `cfg.json` and `sae_weights.safetensors`.

use std::path::Path;

use serde_json::Value;

use super::{ModelFiles, weights::ArrayFile};
use crate::{
    analysis::sae::{Activation, InputNorm, Sae},
    capture::Site,
    model::LoadError,
};

const CONFIG: &str = "cfg.json";
const WEIGHTS: &str = "sae_weights.safetensors";
const ADVICE: &str = "Choose a folder that SAELens saved, of the kind standard, topk, jumprelu or gated, learnt from the \
    residual stream or from an output of attention or MLP";

/// Sites by the last part of the names that `TransformerLens` has for them.
const SITES: [(&str, Site); 6] = [
    ("hook_resid_pre", Site::ResidPre),
    ("hook_resid_mid", Site::ResidMid),
    ("hook_resid_post", Site::ResidPost),
    ("hook_attn_out", Site::AttnOut),
    ("hook_mlp_out", Site::MlpOut),
    ("attn.hook_z", Site::Z),
];

/// Whether a folder that was taken for a model is a dictionary.
pub fn is_sae(path: &Path) -> bool {
    let files = ModelFiles::folder(path);
    path.is_dir() && files.contains(CONFIG) && files.contains(WEIGHTS)
}

/// What a dictionary says of itself.
struct About {
    config: Value,
    folder: String,
}

impl About {
    /// A value on top, among what is said of the model (`metadata`), or under an older name.
    fn get(&self, names: &[&str]) -> Option<&Value> {
        let of = |name: &&str| self.config.get(name).or_else(|| self.config.get("metadata")?.get(name));
        names.iter().find_map(of).filter(|value| !value.is_null())
    }

    fn text(&self, names: &[&str]) -> Option<&str> {
        self.get(names)?.as_str()
    }

    fn count(&self, names: &[&str]) -> Option<usize> {
        self.get(names)?.as_u64().and_then(|n| usize::try_from(n).ok())
    }

    fn refused(&self, what: impl Into<String>) -> LoadError {
        LoadError::Foreign { file: CONFIG.to_owned(), path: self.folder.clone(), what: what.into(), advice: ADVICE }
    }

    /// The site and layer of a name such as `blocks.8.hook_resid_pre`.
    fn place(&self) -> Result<(Site, usize), LoadError> {
        let name = self.text(&["hook_name", "hook_point"]);
        let name = name.ok_or_else(|| self.refused("does not say where it was learnt (hook_name)"))?;
        let found = name.strip_prefix("blocks.").and_then(|rest| rest.split_once('.')).and_then(|(layer, hook)| {
            let (_, site) = SITES.iter().find(|(known, _)| *known == hook)?;
            Some((*site, layer.parse().ok()?))
        });
        found.ok_or_else(|| self.refused(format!("was learnt at {name}, which is no site that is recorded here")))
    }

    /// The kind, its `k`, and whether the file names another activation.
    fn kind(&self) -> Result<&str, LoadError> {
        let activation = self.text(&["activation_fn", "activation_fn_str"]).unwrap_or("relu");
        match (self.text(&["architecture"]).unwrap_or("standard"), activation) {
            ("standard", "topk") => Ok("topk"),
            ("standard", "relu") => Ok("standard"),
            ("standard", other) => Err(self.refused(format!("has the activation {other}, which is not computed here"))),
            (known @ ("topk" | "jumprelu" | "gated"), _) => Ok(known),
            (other, _) => Err(self.refused(format!("is a dictionary of the kind {other}, which is not read"))),
        }
    }

    fn input_norm(&self) -> Result<(InputNorm, bool), LoadError> {
        Ok(match self.get(&["normalize_activations"]) {
            None | Some(Value::Bool(false)) => (InputNorm::None, false),
            Some(Value::Bool(true)) => (InputNorm::None, true),
            Some(Value::String(name)) => match name.as_str() {
                "none" => (InputNorm::None, false),
                "expected_average_only_in" => (InputNorm::None, true),
                "layer_norm" => (InputNorm::Layer, false),
                "constant_norm_rescale" => (InputNorm::ConstantNorm, false),
                other => {
                    return Err(self.refused(format!("normalises inputs by {other}, which is not computed here")));
                }
            },
            Some(other) => return Err(self.refused(format!("normalises inputs by {other}, which is no known way"))),
        })
    }
}

/// Reads a dictionary.
///
/// # Errors
/// When a file is missing or damaged, the dictionary is of a kind or a site that is not known, or its tensors do not fit
/// together; each is named.
pub fn open_sae(path: &Path) -> Result<Sae, LoadError> {
    let files = ModelFiles::folder(path);
    let folder = path.display().to_string();
    let about = About { config: Value::Null, folder: folder.clone() };
    if !is_sae(path) {
        return Err(about.refused(format!("and {WEIGHTS} are not both in this folder, so it is no dictionary")));
    }
    let io_error = |source| LoadError::Io { file: CONFIG.to_owned(), path: folder.clone(), source };
    let bytes = files.read(CONFIG).transpose().map_err(io_error)?.unwrap_or_default();
    let config = crate::json_file::read(&bytes).map_err(|error| LoadError::Damaged {
        file: CONFIG.to_owned(),
        path: folder.clone(),
        reason: error.to_string(),
    })?;
    let about = About { config, folder };
    let (site, layer) = about.place()?;
    let kind = about.kind()?.to_owned();
    let (input_norm, is_folded) = about.input_norm()?;
    let missing = |name: &str| about.refused(format!("does not say {name}"));
    let d_in = about.count(&["d_in"]).filter(|n| *n > 0).ok_or_else(|| missing("the width of its inputs (d_in)"))?;
    let d_sae = about.count(&["d_sae"]).filter(|n| *n > 0).ok_or_else(|| missing("its number of features (d_sae)"))?;
    let file = ArrayFile::open(&path.join(WEIGHTS))?;
    let tensor = |name: &str, shape: &[usize]| -> Result<Vec<f32>, LoadError> {
        match file.shape(name) {
            Some(found) if found == shape => file.values(name),
            Some(found) => {
                let what = format!("has a tensor {name} of the shape {found:?} where {CONFIG} implies {shape:?}");
                Err(file.refused(what, ADVICE))
            }
            None => Err(LoadError::MissingTensor { name: name.to_owned(), path: file.path() }),
        }
    };
    let of_features = |name: &str| tensor(name, &[d_sae]);
    if file.shape("scaling_factor").is_some() && of_features("scaling_factor")?.iter().any(|factor| *factor != 1.0) {
        return Err(file.refused("scales its features by a scaling_factor that is not 1", ADVICE));
    }
    let activation = match kind.as_str() {
        "jumprelu" if file.shape("threshold").is_none() && file.shape("log_threshold").is_some() => {
            Activation::JumpRelu(of_features("log_threshold")?.into_iter().map(f32::exp).collect())
        }
        "jumprelu" => Activation::JumpRelu(of_features("threshold")?),
        "gated" => Activation::Gated {
            b_gate: of_features("b_gate")?,
            r_mag: of_features("r_mag")?,
            b_mag: of_features("b_mag")?,
        },
        "topk" => {
            let kept = about.get(&["activation_fn_kwargs"]).and_then(|it| it.get("k")?.as_u64());
            let k = about.count(&["k", "activation_fn_k"]).or_else(|| usize::try_from(kept?).ok());
            let k = k.filter(|k| *k > 0).ok_or_else(|| missing("how many features fire at once (k)"))?;
            let rescaled = about.get(&["rescale_acts_by_decoder_norm"]).and_then(Value::as_bool).unwrap_or(false);
            Activation::TopK { k, rescaled }
        }
        _ => Activation::Standard,
    };
    let is_gated = matches!(activation, Activation::Gated { .. });
    let is_set = |names: &[&str]| about.get(names).and_then(Value::as_bool);
    let centred = about
        .get(&["model_from_pretrained_kwargs"])
        .and_then(|it| it.get("center_writing_weights")?.as_bool())
        .unwrap_or(false);
    let mut notes = Vec::new();
    if is_folded {
        notes.push(
            "inputs were scaled by a factor when it was learnt, which is taken to be folded into its weights"
                .to_owned(),
        );
    }
    if is_set(&["prepend_bos"]) == Some(true) {
        notes.push("it was learnt with a token for the beginning before each text".to_owned());
    }
    if centred {
        notes.push("it was learnt from a stream less its mean, which is taken away here as well".to_owned());
    }
    Ok(Sae {
        site,
        layer,
        d_in,
        d_sae,
        activation,
        input_norm,
        centred: centred && site != Site::Z,
        less_bias: is_set(&["apply_b_dec_to_input"]).unwrap_or(true),
        encoder: tensor("W_enc", &[d_in, d_sae])?,
        encoder_bias: if is_gated { vec![0.0; d_sae] } else { of_features("b_enc")? },
        decoder: tensor("W_dec", &[d_sae, d_in])?,
        decoder_bias: tensor("b_dec", &[d_in])?,
        notes,
    })
}

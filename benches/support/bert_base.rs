//! A checkpoint of the size of bert-base that reads words `w0` to `w999`.

use std::{fs, path::Path};

use safetensors::{Dtype, tensor::TensorView};

const D_MODEL: usize = 768;
const D_MLP: usize = 3072;
/// Layers.
pub const N_LAYERS: usize = 12;
const N_VOCAB: usize = 1000;
/// Tokens of the longest input.
pub const N_TOKENS: usize = 512;

/// A checkpoint of the right shapes; what is in it does not change how long it takes.
pub fn write_checkpoint(folder: &Path) {
    let config = serde_json::json!({
        "model_type": "bert", "hidden_size": D_MODEL, "num_hidden_layers": N_LAYERS, "num_attention_heads": 12,
        "intermediate_size": D_MLP, "vocab_size": N_VOCAB, "max_position_embeddings": N_TOKENS,
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let words: serde_json::Map<_, _> = (0..N_VOCAB).map(|id| (format!("w{id}"), id.into())).collect();
    let tokenizer = serde_json::json!({
        "version": "1.0", "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"},
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![N_VOCAB, D_MODEL]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![N_TOKENS, D_MODEL]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, D_MODEL]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![D_MODEL]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![D_MODEL]),
    ];
    for layer in 0..N_LAYERS {
        let maps = [
            ("attention.self.query", D_MODEL, D_MODEL),
            ("attention.self.key", D_MODEL, D_MODEL),
            ("attention.self.value", D_MODEL, D_MODEL),
            ("attention.output.dense", D_MODEL, D_MODEL),
            ("intermediate.dense", D_MLP, D_MODEL),
            ("output.dense", D_MODEL, D_MLP),
        ];
        for (name, d_out, d_in) in maps {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![d_out, d_in]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![d_out]));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![D_MODEL]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![D_MODEL]));
        }
    }
    let bytes: Vec<u8> = (0..D_MLP * D_MODEL).flat_map(|i| ((i % 97) as f32 * 1e-4).to_le_bytes()).collect();
    let tensors = shapes.iter().map(|(name, shape)| {
        let n_bytes = 4 * shape.iter().product::<usize>();
        (name, TensorView::new(Dtype::F32, shape.clone(), &bytes[..n_bytes]).unwrap())
    });
    safetensors::serialize_to_file(tensors, None, &folder.join("model.safetensors")).unwrap();
}

//! `CodeGen`: GPT-J with one map of queries, values and keys, in the four parts in which it was trained.

use super::{BOS, Convention, EOS, Family, Output, Plain, QkvNames, TokenizerClass, gptj};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[super::config_keys::SUMMARY, &["n_ctx"]],
    aliases: &[
        ("hidden_size", "n_embd"),
        ("max_position_embeddings", "n_positions"),
        ("num_attention_heads", "n_head"),
        ("num_hidden_layers", "n_layer"),
    ],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "codegen",
    qkv: QkvNames::Shards("attn.qkv_proj", 4),
    out: "attn.out_proj",
    mlp: ["mlp.fc_in", "mlp.fc_out"],
    outputs: &[Output { bias: true, ..Output::new("lm_head", false) }],
    buffers: &["attn.causal_mask", "attn.bias", "attn.masked_bias"],
    choices: gptj::choices,
    ..Plain::BASE
};

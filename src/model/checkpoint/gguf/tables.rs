//! Names of tensors in llama.cpp's files and in those of Hugging Face's libraries, by parts that several architectures
//! share.

use super::names::{Change, NamePair, Whose, changed, same};

pub(super) const EMBEDDING: &[NamePair] = &[
    same("token_embd", "model.embed_tokens"),
    same("output_norm", "model.norm"),
    same("output", "lm_head"),
    changed("rope_freqs", "", Change::Metadata),
    changed("rope_factors_long", "", Change::Metadata),
    changed("rope_factors_short", "", Change::Metadata),
];

pub(super) const GEMMA_EMBEDDING: &[NamePair] = &[
    same("token_embd", "model.embed_tokens"),
    changed("output_norm", "model.norm", Change::PlusOne),
    same("output", "lm_head"),
];

pub(super) const ATTENTION: &[NamePair] = &[
    same("blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"),
    same("blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"),
    same("blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    same("blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
];

pub(super) const ATTENTION_PAIRED: &[NamePair] = &[
    changed("blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", Change::Paired(Whose::Queries)),
    changed("blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", Change::Paired(Whose::Keys)),
    same("blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    same("blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
];

pub(super) const QK_NORMS: &[NamePair] = &[
    same("blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"),
    same("blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"),
];

pub(super) const NORMS: &[NamePair] = &[
    same("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    same("blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"),
];

pub(super) const MLP: &[NamePair] = &[
    same("blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"),
    same("blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"),
    same("blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
];

pub(super) const MIXTRAL: &[NamePair] = &[
    same("blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"),
    changed("blk.{}.ffn_gate_exps", "model.layers.{}.block_sparse_moe.experts.{part}.w1", Change::Stacked),
    changed("blk.{}.ffn_up_exps", "model.layers.{}.block_sparse_moe.experts.{part}.w3", Change::Stacked),
    changed("blk.{}.ffn_down_exps", "model.layers.{}.block_sparse_moe.experts.{part}.w2", Change::Stacked),
];

/// Experts one by one, as files from before April 2024 have them.
pub(super) const MIXTRAL_APART: &[NamePair] = &[
    same("blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"),
    same("blk.{}.ffn_gate.{part}", "model.layers.{}.block_sparse_moe.experts.{part}.w1"),
    same("blk.{}.ffn_up.{part}", "model.layers.{}.block_sparse_moe.experts.{part}.w3"),
    same("blk.{}.ffn_down.{part}", "model.layers.{}.block_sparse_moe.experts.{part}.w2"),
];

pub(super) const EXPERTS: &[NamePair] = &[
    same("blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"),
    changed("blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.{part}.gate_proj", Change::Stacked),
    changed("blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.{part}.up_proj", Change::Stacked),
    changed("blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.{part}.down_proj", Change::Stacked),
];

pub(super) const SHARED_EXPERT: &[NamePair] = &[
    changed("blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate", Change::OneRow),
    same("blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"),
    same("blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"),
    same("blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"),
];

pub(super) const GEMMA_NORMS: &[NamePair] = &[
    changed("blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::PlusOne),
    changed("blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", Change::PlusOne),
];

pub(super) const GEMMA_2_NORMS: &[NamePair] = &[
    changed("blk.{}.attn_norm", "model.layers.{}.input_layernorm", Change::PlusOne),
    changed("blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm", Change::PlusOne),
    changed("blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", Change::PlusOne),
    changed("blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm", Change::PlusOne),
];

pub(super) const GEMMA_QK_NORMS: &[NamePair] = &[
    changed("blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm", Change::PlusOne),
    changed("blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm", Change::PlusOne),
];

pub(super) const OLMO_2: &[NamePair] = &[
    same("blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"),
    same("blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"),
];

pub(super) const GLM_4: &[NamePair] = &[
    same("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    same("blk.{}.post_attention_norm", "model.layers.{}.post_self_attn_layernorm"),
    same("blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"),
    same("blk.{}.post_ffw_norm", "model.layers.{}.post_mlp_layernorm"),
    same("blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"),
    same("blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
];

pub(super) const STARCODER_2: &[NamePair] =
    &[same("blk.{}.ffn_up", "model.layers.{}.mlp.c_fc"), same("blk.{}.ffn_down", "model.layers.{}.mlp.c_proj")];

pub(super) const GPT_OSS: &[NamePair] = &[
    same("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    same("blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"),
    changed("blk.{}.attn_sinks", "model.layers.{}.self_attn.sinks", Change::Ended),
    same("blk.{}.ffn_gate_inp", "model.layers.{}.mlp.router"),
    changed("blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.{part}.gate_proj", Change::Stacked),
    changed("blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.{part}.up_proj", Change::Stacked),
    changed("blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.{part}.down_proj", Change::Stacked),
];

pub(super) const STABLELM: &[NamePair] = &[
    changed("blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm.norms.{part}", Change::Stacked),
    changed("blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm.norms.{part}", Change::Stacked),
];

pub(super) const PHI_2: &[NamePair] = &[
    same("token_embd", "model.embed_tokens"),
    same("output_norm", "model.final_layernorm"),
    same("output", "lm_head"),
    same("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    same("blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"),
    same("blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"),
    same("blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    same("blk.{}.attn_output", "model.layers.{}.self_attn.dense"),
    same("blk.{}.ffn_up", "model.layers.{}.mlp.fc1"),
    same("blk.{}.ffn_down", "model.layers.{}.mlp.fc2"),
];

pub(super) const PHI_3: &[NamePair] = &[
    same("blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"),
    same("blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
    same("blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"),
    same("blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
];

pub(super) const GPT_2: &[NamePair] = &[
    same("token_embd", "transformer.wte"),
    same("position_embd", "transformer.wpe"),
    same("output_norm", "transformer.ln_f"),
    same("output", "lm_head"),
    same("blk.{}.attn_norm", "transformer.h.{}.ln_1"),
    changed("blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn", Change::Transposed),
    changed("blk.{}.attn_output", "transformer.h.{}.attn.c_proj", Change::Transposed),
    same("blk.{}.ffn_norm", "transformer.h.{}.ln_2"),
    changed("blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc", Change::Transposed),
    changed("blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj", Change::Transposed),
];

pub(super) const GPT_NEOX: &[NamePair] = &[
    same("token_embd", "gpt_neox.embed_in"),
    same("output_norm", "gpt_neox.final_layer_norm"),
    same("output", "embed_out"),
    same("blk.{}.attn_norm", "gpt_neox.layers.{}.input_layernorm"),
    changed("blk.{}.attn_qkv", "gpt_neox.layers.{}.attention.query_key_value", Change::Grouped),
    same("blk.{}.attn_output", "gpt_neox.layers.{}.attention.dense"),
    same("blk.{}.ffn_norm", "gpt_neox.layers.{}.post_attention_layernorm"),
    same("blk.{}.ffn_up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"),
    same("blk.{}.ffn_down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"),
];

pub(super) const BLOOM: &[NamePair] = &[
    same("token_embd", "transformer.word_embeddings"),
    same("token_embd_norm", "transformer.word_embeddings_layernorm"),
    same("output_norm", "transformer.ln_f"),
    same("output", "lm_head"),
    same("blk.{}.attn_norm", "transformer.h.{}.input_layernorm"),
    changed("blk.{}.attn_qkv", "transformer.h.{}.self_attention.query_key_value", Change::Grouped),
    same("blk.{}.attn_output", "transformer.h.{}.self_attention.dense"),
    same("blk.{}.ffn_norm", "transformer.h.{}.post_attention_layernorm"),
    same("blk.{}.ffn_up", "transformer.h.{}.mlp.dense_h_to_4h"),
    same("blk.{}.ffn_down", "transformer.h.{}.mlp.dense_4h_to_h"),
];

pub(super) const BERT: &[NamePair] = &[
    same("token_embd", "bert.embeddings.word_embeddings"),
    same("position_embd", "bert.embeddings.position_embeddings"),
    changed("token_types", "bert.embeddings.token_type_embeddings", Change::OneRow),
    same("token_embd_norm", "bert.embeddings.LayerNorm"),
    same("blk.{}.attn_q", "bert.encoder.layer.{}.attention.self.query"),
    same("blk.{}.attn_k", "bert.encoder.layer.{}.attention.self.key"),
    same("blk.{}.attn_v", "bert.encoder.layer.{}.attention.self.value"),
    same("blk.{}.attn_output", "bert.encoder.layer.{}.attention.output.dense"),
    same("blk.{}.attn_output_norm", "bert.encoder.layer.{}.attention.output.LayerNorm"),
    same("blk.{}.ffn_up", "bert.encoder.layer.{}.intermediate.dense"),
    same("blk.{}.ffn_down", "bert.encoder.layer.{}.output.dense"),
    same("blk.{}.layer_output_norm", "bert.encoder.layer.{}.output.LayerNorm"),
];

pub(super) const NOMIC_BERT: &[NamePair] = &[
    same("token_embd", "nomic_bert.embeddings.word_embeddings"),
    changed("token_types", "nomic_bert.embeddings.token_type_embeddings", Change::OneRow),
    same("token_embd_norm", "nomic_bert.emb_ln"),
    same("blk.{}.attn_qkv", "nomic_bert.encoder.layers.{}.attn.Wqkv"),
    same("blk.{}.attn_output", "nomic_bert.encoder.layers.{}.attn.out_proj"),
    same("blk.{}.attn_output_norm", "nomic_bert.encoder.layers.{}.norm1"),
    same("blk.{}.ffn_up", "nomic_bert.encoder.layers.{}.mlp.fc11"),
    same("blk.{}.ffn_gate", "nomic_bert.encoder.layers.{}.mlp.fc12"),
    same("blk.{}.ffn_down", "nomic_bert.encoder.layers.{}.mlp.fc2"),
    same("blk.{}.layer_output_norm", "nomic_bert.encoder.layers.{}.norm2"),
];

pub(super) const T5: &[NamePair] = &[
    same("token_embd", "shared"),
    same("output", "lm_head"),
    same("enc.blk.{}.attn_norm", "encoder.block.{}.layer.0.layer_norm"),
    same("enc.blk.{}.attn_q", "encoder.block.{}.layer.0.SelfAttention.q"),
    same("enc.blk.{}.attn_k", "encoder.block.{}.layer.0.SelfAttention.k"),
    same("enc.blk.{}.attn_v", "encoder.block.{}.layer.0.SelfAttention.v"),
    same("enc.blk.{}.attn_o", "encoder.block.{}.layer.0.SelfAttention.o"),
    same("enc.blk.{}.attn_rel_b", "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias"),
    same("enc.blk.{}.ffn_norm", "encoder.block.{}.layer.1.layer_norm"),
    same("enc.blk.{}.ffn_down", "encoder.block.{}.layer.1.DenseReluDense.wo"),
    same("enc.output_norm", "encoder.final_layer_norm"),
    same("dec.blk.{}.attn_norm", "decoder.block.{}.layer.0.layer_norm"),
    same("dec.blk.{}.attn_q", "decoder.block.{}.layer.0.SelfAttention.q"),
    same("dec.blk.{}.attn_k", "decoder.block.{}.layer.0.SelfAttention.k"),
    same("dec.blk.{}.attn_v", "decoder.block.{}.layer.0.SelfAttention.v"),
    same("dec.blk.{}.attn_o", "decoder.block.{}.layer.0.SelfAttention.o"),
    same("dec.blk.{}.attn_rel_b", "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias"),
    same("dec.blk.{}.cross_attn_norm", "decoder.block.{}.layer.1.layer_norm"),
    same("dec.blk.{}.cross_attn_q", "decoder.block.{}.layer.1.EncDecAttention.q"),
    same("dec.blk.{}.cross_attn_k", "decoder.block.{}.layer.1.EncDecAttention.k"),
    same("dec.blk.{}.cross_attn_v", "decoder.block.{}.layer.1.EncDecAttention.v"),
    same("dec.blk.{}.cross_attn_o", "decoder.block.{}.layer.1.EncDecAttention.o"),
    same("dec.blk.{}.cross_attn_rel_b", "decoder.block.{}.layer.1.EncDecAttention.relative_attention_bias"),
    same("dec.blk.{}.ffn_norm", "decoder.block.{}.layer.2.layer_norm"),
    same("dec.blk.{}.ffn_down", "decoder.block.{}.layer.2.DenseReluDense.wo"),
    same("dec.output_norm", "decoder.final_layer_norm"),
];

pub(super) const T5_GATED: &[NamePair] = &[
    same("enc.blk.{}.ffn_gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"),
    same("enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi_1"),
    same("dec.blk.{}.ffn_gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"),
    same("dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi_1"),
];

pub(super) const T5_PLAIN: &[NamePair] = &[
    same("enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi"),
    same("dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi"),
];

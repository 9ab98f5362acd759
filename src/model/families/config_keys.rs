//! Keys of `config.json` that families leave unread on purpose, and why that is right: those of all families, and lists
//! that several share.
//!
//! The rule: every key that transformers' own class of a `model_type` knows, and every one that its model
//! asks for, is read by the family, or stands here or in the family's constant. `tests/it/keys.rs` holds this against those classes
//! (`tests/fixtures/configurations`). A key that no class knows (notes of tools, leftovers of training) is
//! obeyed by nobody, so it stops nothing: `attnscope check` lists it.

use super::{Family, Limit, family::LayerKeys, lookup};
use crate::model::checkpoint::key_audit::{Keys, ROTARY_KIND};

/// Keys that every configuration has: names, outputs, how things are stored.
const EVERYWHERE: &[&str] = &[
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_attn_implementation_internal",
    "_commit_hash",
    "_name_or_path",
    "_num_labels",
    "architectures",
    "attn_implementation",
    // Code of the checkpoint's own; a warning says that it is not run.
    "auto_map",
    "chunk_size_feed_forward",
    "dtype",
    "finetuning_task",
    "gradient_checkpointing",
    "id2label",
    "is_decoder",
    "is_encoder_decoder",
    "label2id",
    "language",
    "model_type",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "pretraining_tp",
    "problem_type",
    "return_dict",
    "task_specific_params",
    "tie_encoder_decoder",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "tf_legacy_loss",
    // Asked for by heads over the vocabulary alone.
    "tie_word_embeddings",
    "use_bfloat16",
    "use_cache",
];

/// What only training looks at: dropout is off in a forward pass, and weights come from the file.
const TRAINING: &[&str] = &[
    "activation_dropout",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_pdrop",
    "classif_dropout",
    "classifier_dropout",
    "classifier_dropout_prob",
    "cls_dropout",
    "decoder_layerdrop",
    "drop_path_rate",
    "dropout",
    "dropout_rate",
    "embd_pdrop",
    "embed_dropout",
    "embedding_dropout",
    "encoder_layerdrop",
    "hidden_dropout",
    "hidden_dropout_prob",
    "init_std",
    "initializer_cutoff_factor",
    "initializer_factor",
    "initializer_range",
    "layerdrop",
    "mlp_dropout",
    "pooler_dropout",
    "qa_dropout",
    "resid_dropout",
    "resid_pdrop",
    "seq_classif_dropout",
    "summary_first_dropout",
    "summary_last_dropout",
];

/// How texts are tokenised and written; the tokenizer's and the writing's files come first.
const TEXT: &[&str] = &[
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "cls_token_id",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "max_new_tokens",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_scores",
    "pad_token_id",
    "prefix",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "temperature",
    "tokenizer_class",
    "top_k",
    "top_p",
    "typical_p",
];

/// What the masks of all models ask a configuration for, and only masks of other kinds of layers use.
const MASKS: &[&str] = &["attention_chunk_size", "sliding_window"];

/// Sizes of tables of which the weights tell.
pub(super) const TABLES: &[&str] = &["relative_attention_num_buckets", "type_vocab_size"];

/// What files say outside the section of rotary embeddings, where they have one.
pub(super) const BESIDE_ROTARY: &[&str] = &[
    "global_rope_theta",
    "local_rope_theta",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "rope_local_base_freq",
    "rope_theta",
    "rotary_emb_base",
    "rotary_pct",
];

/// Heads for several choices, which are not shown.
pub(super) const SUMMARY: &[&str] =
    &["summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj"];

/// What a vision transformer is asked for as part of another model; sizes that the weights tell.
pub(super) const BACKBONE: &[&str] = &[
    "apply_layernorm",
    "encoder_stride",
    "layer_scale_init_value",
    "layerscale_value",
    "mlp_ratio",
    "num_register_tokens",
    "out_features",
    "out_indices",
    "pooler_act",
    "pooler_output_size",
    "reshape_hidden_states",
    "stage_names",
    "use_mask_token",
];

/// Sizes that the weights tell, and a start value that the weights hold.
pub(super) const TWO_TOWERS: &[&str] =
    &["logit_scale_init_value", "projection_dim", "projection_size", "vision_use_head"];

/// Heads that were cut out: the reference no longer does it, and the weights would not fit. Layers with a configuration
/// of their own.
const OF_ALL: &[Limit] = &[("pruned_heads", &["{}"]), ("per_layer_config", &["{}"])];
/// The same of families whose layers may differ.
const OF_DIFFERENT_LAYERS: &[Limit] = &[("pruned_heads", &["{}"])];
/// Without a mask of the future there is nothing to make of it.
pub(super) const CAUSALITY: &[&str] = &["is_causal"];
/// Attention in both directions in a decoder.
pub(super) const CAUSAL: &[Limit] = &[("is_causal", &["true"])];
/// Decoders without attention to an encoder.
pub(super) const NO_CROSS: &[Limit] = &[("add_cross_attention", &["false"])];

/// Attention in both directions of later Gemmas.
pub(super) const ONE_DIRECTION: &[Limit] = &[("use_bidirectional_attention", &["false"])];
/// What Gemma's classes have for models that see pictures, and for caches.
pub(super) const GEMMA: &[&str] =
    &["_sliding_window_pattern", "cache_implementation", "image_token_id", "mm_tokens_per_image"];
/// Heads whose width does not follow from their number.
pub(super) const HEAD_WIDTH: &[Limit] = &[("head_dim", &[])];

/// What every family leaves unread.
pub(super) const OF_ALL_FAMILIES: &[&[&str]] = &[EVERYWHERE, TRAINING, TEXT, MASKS];

/// What a `model_type` leaves unread; of a section, by the type that the section names.
pub(crate) fn keys_of(model_type: &str) -> Keys {
    let everywhere = OF_ALL_FAMILIES;
    if model_type == ROTARY_KIND {
        return Keys { everywhere, harmless: &[ROTARY], only: &[], limits: OF_ALL, aliases: &[] };
    }
    let family = lookup::of(model_type).unwrap_or(&Family::BASE);
    let Family { harmless, limits, aliases, .. } = *family;
    let of_all = match family.layers {
        LayerKeys::Alike => OF_ALL,
        LayerKeys::Apart => OF_DIFFERENT_LAYERS,
    };
    Keys { everywhere, harmless, only: limits, limits: of_all, aliases }
}

/// Parameters of kinds of rotary embeddings other than the one that is asked for.
const ROTARY: &[&str] = &[
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "factor",
    "finetuned",
    "high_freq_factor",
    "long_factor",
    "low_freq_factor",
    "long_mscale",
    "mscale",
    "mscale_all_dim",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "rope_theta",
    "rope_type",
    "short_factor",
    "short_mscale",
    "truncate",
    "type",
];

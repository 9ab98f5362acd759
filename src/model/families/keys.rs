//! Which keys of `config.json` each family leaves unread on purpose, and why that is right.
//!
//! The rule: every key that transformers' own class of a `model_type` knows, and every one that its model
//! asks for, is read by the family, or stands here. `tests/it/keys.rs` holds this against those classes
//! (`tests/fixtures/configurations`). A key that no class knows (notes of tools, leftovers of training) is
//! obeyed by nobody, so it stops nothing: `attnscope check` lists it.

use crate::model::checkpoint::keys::{Keys, Limit, ROTARY_KIND};

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
const TABLES: &[&str] = &["relative_attention_num_buckets", "type_vocab_size"];

/// What files say outside the section of rotary embeddings, where they have one.
const BESIDE_ROTARY: &[&str] = &[
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
const SUMMARY: &[&str] = &["summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj"];

/// What a vision transformer is asked for as part of another model; sizes that the weights tell.
const BACKBONE: &[&str] = &[
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
const TWO_TOWERS: &[&str] = &["logit_scale_init_value", "projection_dim", "projection_size", "vision_use_head"];

/// Heads that were cut out: the reference no longer does it, and the weights would not fit. Layers with a configuration
/// of their own.
const OF_ALL: &[Limit] = &[("pruned_heads", &["{}"]), ("per_layer_config", &["{}"])];
/// Without a mask of the future there is nothing to make of it.
const CAUSALITY: &[&str] = &["is_causal"];
/// Attention in both directions in a decoder.
const CAUSAL: &[Limit] = &[("is_causal", &["true"])];
/// Decoders without attention to an encoder.
const NO_CROSS: &[Limit] = &[("add_cross_attention", &["false"])];

/// Attention in both directions of later Gemmas.
const ONE_DIRECTION: &[Limit] = &[("use_bidirectional_attention", &["false"])];
/// Heads whose width does not follow from their number.
const HEAD_WIDTH: &[Limit] = &[("head_dim", &[])];

/// What a `model_type` leaves unread; of a section, by the type that the section names.
pub(crate) fn keys_of(model_type: &str) -> Keys {
    let harmless: &[&[&str]] = match model_type {
        ROTARY_KIND => &[ROTARY],
        "albert" => &[CAUSALITY, TABLES, &["gap_size", "inner_group_num", "net_structure_type", "num_memory_blocks"]],
        "beit" => &[CAUSALITY, BACKBONE, SEGMENTATION, &["vocab_size"]],
        "bert" | "camembert" | "mpnet" | "roberta" | "xlm-roberta" => &[CAUSALITY, TABLES],
        "bloom" => &[&["slow_but_exact"]],
        "clip" | "clip_vision_model" | "siglip" | "siglip_text_model" | "siglip_vision_model" => {
            &[CAUSALITY, TWO_TOWERS]
        }
        "clip_text_model" => &[TWO_TOWERS],
        "deberta-v2" => &[
            CAUSALITY,
            TABLES,
            // Of a convolution, where there is one.
            &["conv_act", "conv_groups", "legacy", "max_relative_positions", "pooler_hidden_act", "pooler_hidden_size"],
        ],
        "deit" | "dinov2" | "dinov2_with_registers" | "vit" => &[CAUSALITY, BACKBONE],
        // The weights have the table that it says how to compute.
        "distilbert" => &[CAUSALITY, &["sinusoidal_pos_embds"]],
        "electra" => &[CAUSALITY, SUMMARY, TABLES],
        "encoder-decoder" | "vision-encoder-decoder" => &[CAUSALITY],
        "gemma" | "gemma2" | "gemma3_text" => &[
            BESIDE_ROTARY,
            &["_sliding_window_pattern", "cache_implementation", "image_token_id", "mm_tokens_per_image"],
        ],
        // The order in which scores are scaled and widened: the same numbers in 32 bits.
        "gpt2" => &[SUMMARY, &["reorder_and_upcast_attn"]],
        "gpt_neo" => &[&["attention_types"]],
        // Kernels of another device, and which rows training computes.
        "modernbert" => &[
            CAUSALITY,
            BESIDE_ROTARY,
            &["classifier_activation", "classifier_bias", "classifier_pooling", "decoder_bias"],
            &["deterministic_flash_attn", "sparse_pred_ignore_index", "sparse_prediction"],
        ],
        // How a graph of it is traced for other programs.
        "led" => &[&["onnx_export"]],
        "longformer" => &[CAUSALITY, TABLES, &["onnx_export"]],
        "opt" => &[&["word_embed_proj_dim"]],
        // They say again what `feed_forward_proj` says.
        "mt5" | "t5" => &[TABLES, &["dense_act_fn", "is_gated_act"]],
        "gpt_neox" | "llama" | "mistral" | "phi" | "phi3" | "stablelm" => &[BESIDE_ROTARY],
        "qwen2" | "qwen3" => &[BESIDE_ROTARY, &["use_sliding_window"]],
        _ => &[],
    };
    let only: &[&[Limit]] = match model_type {
        "bloom" | "gpt_neo" => &[CAUSAL, NO_CROSS],
        "gpt_neox" => &[CAUSAL, HEAD_WIDTH],
        "gemma" | "gemma2" | "gemma3_text" => &[CAUSAL, ONE_DIRECTION],
        "modernbert" => &[HEAD_WIDTH],
        "bart" | "clip_text_model" | "gpt2" | "led" | "llama" | "marian" | "mbart" | "mistral" | "mt5" | "opt"
        | "phi" | "phi3" | "qwen2" | "qwen3" | "stablelm" | "t5" | "trocr" => &[CAUSAL],
        _ => &[],
    };
    let aliases: &[(&str, &str)] = match model_type {
        "bart" | "led" | "marian" | "mbart" => &[
            ("num_attention_heads", "encoder_attention_heads"),
            ("hidden_size", "d_model"),
            ("num_hidden_layers", "encoder_layers"),
        ],
        "bloom" => &[("num_hidden_layers", "n_layer"), ("num_attention_heads", "n_head"), ("n_embed", "hidden_size")],
        "distilbert" => {
            &[("hidden_size", "dim"), ("num_attention_heads", "n_heads"), ("num_hidden_layers", "n_layers")]
        }
        "gpt2" => &[
            ("hidden_size", "n_embd"),
            ("max_position_embeddings", "n_positions"),
            ("n_ctx", "n_positions"),
            ("num_attention_heads", "n_head"),
            ("num_hidden_layers", "n_layer"),
        ],
        "gpt_neo" => &[("num_attention_heads", "num_heads"), ("num_hidden_layers", "num_layers")],
        "mt5" | "t5" => &[
            ("head_dim", "d_kv"),
            ("hidden_size", "d_model"),
            ("num_attention_heads", "num_heads"),
            ("num_hidden_layers", "num_layers"),
        ],
        "trocr" => &[
            ("hidden_size", "d_model"),
            ("num_attention_heads", "decoder_attention_heads"),
            ("num_hidden_layers", "decoder_layers"),
        ],
        _ => &[],
    };
    Keys { everywhere: &[EVERYWHERE, TRAINING, TEXT, MASKS], harmless, only, limits: OF_ALL, aliases }
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

/// BEiT's heads for segmentation.
const SEGMENTATION: &[&str] = &[
    "add_fpn",
    "auxiliary_channels",
    "auxiliary_concat_input",
    "auxiliary_loss_weight",
    "auxiliary_num_convs",
    "pool_scales",
    "segmentation_indices",
    "semantic_loss_ignore_index",
    "use_auxiliary_head",
];

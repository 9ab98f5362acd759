//! One file per architecture: what it says of itself ([`family::Family`]), and how a configuration and tensor names map
//! to the generic embedding, block and head. No arithmetic here.

mod albert;
mod attentive_lm;
mod bart;
mod beit;
mod bert;
mod bilstm;
mod bloom;
mod bridgetower;
mod clip;
mod codegen;
mod cohere;
mod config_keys;
mod deberta;
mod decoder;
mod deepseek_v2;
mod deepseek_v3;
mod dinov2;
mod dinov3;
mod distilbert;
mod electra;
mod encoder;
mod encoder_decoder;
mod esm;
mod eurobert;
mod experts;
mod falcon;
mod falcon_h1;
mod family;
mod gated_decoder;
mod gemma;
mod gemma2;
mod gemma3;
mod gemma4;
mod glm4;
mod glm4_moe_lite;
mod gpt2;
mod gpt_bigcode;
mod gpt_neo;
mod gpt_neox;
mod gpt_oss;
mod gptj;
mod granite;
mod granitemoehybrid;
mod han;
mod head_class;
mod latent;
mod lfm2;
mod linear_layers;
mod llama;
mod longformer;
mod lookup;
mod mamba;
mod memn2n;
mod ministral3;
mod mistral;
mod mixtral;
mod modernbert;
mod mpnet;
mod mpt;
mod nomic_bert;
mod olmo2;
mod olmo3;
mod olmoe;
mod open_clip;
mod opt;
mod parts;
mod phi;
mod phi3;
mod plain_decoder;
mod pointer;
mod qwen2;
mod qwen3;
mod qwen3_5;
mod qwen3_next;
mod qwen_moe;
mod refused;
mod rnnsearch;
mod roberta;
mod siglip;
mod siglip2;
mod smollm3;
mod stablelm;
mod starcoder2;
mod t5;
mod timm;
mod timm_architectures;
mod timm_eva;
mod trocr;
mod variant;
mod vision;
mod vit;

pub(crate) use self::{
    config_keys::keys_of,
    lookup::{
        build, check, class_ids, first_read, image_processor, is_supported, listed, opinion, tokenizer, type_of_class,
        unsupported,
    },
};

// What families are built of, named here for all of them.
use self::{
    decoder::{Output, map, network},
    encoder::{BERT_BLOCK, BlockNames, HeadNames, Sizes, blocks, count_from, embedding},
    experts::{ExpertLayers, ExpertPlan, ExpertShape, ExpertTensors, RouterPlan, SharedExpert, WeightSum},
    family::{Family, FamilyGroup},
    head_class::HeadClass,
    latent::{LatentPlan, LatentShape, TurnedPairs},
    linear_layers::{DeltaNames, LinearPlan, LinearShape},
    mamba::{MambaPlan, MambaShape},
    parts::{
        ClassHead, classifier, cross, layer_norm, linear, mlp, n_classes, outcomes, qkv, table_name, vocabulary_map,
    },
    plain_decoder::{Choices, Plain, QkvNames},
    variant::{Biases, DecoderNames, Multipliers, NormPlaces, NormWeights, QkNorms, TwoWay, Variant, Windows},
    vision::{Layers, Names, Pictures, tokens},
};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        checkpoint::{
            Config, Factors, LinearPart, Stored, Weights,
            config::MAX_LAYERS,
            ids::{BOS, ClassIds, EOS, FirstRead, PAD, START},
            key_audit::Limit,
        },
        input::{Convention, ProcessorClass, TokenizerClass},
        kernels::{Activation, Linear, Norm, NormKind, RowTable},
        network::{
            Body, Network, Tower,
            attention::{Attention, HeadNorm, MultiHead, Projections, QkNorm},
            block::{Block, Norms, Stack},
            embedding::{Embedding, OwnInputs, Positions, Table, TextEmbedding},
            experts::{GateClamp, Mixture},
            head::{Head, Outcomes, Reads, Transform},
            interpolate::Interpolation,
            mlp::{Dense, Mlp, NormedDense},
            own_input::OwnInput,
            relative::{AlibiForm, RelativeBias},
            rotary::{LayerKind, PatchAxis, PatchPlaces, QueryGrowth, Rotary, RotaryDialect, RotaryPatches},
            similarity::{Pool, Similarity, TextPosition},
        },
        opinion::{self, OpinionPlan},
    },
    outputs::OutputKind,
    spec::{HeadKind, ImageSpec, LayerSpec, Longer, Modality, TextSpec},
};

/// Every family, file by file.
const FAMILIES: &[&[Family]] = &[
    albert::FAMILIES,
    attentive_lm::FAMILIES,
    bart::FAMILIES,
    beit::FAMILIES,
    bert::FAMILIES,
    bilstm::FAMILIES,
    bloom::FAMILIES,
    bridgetower::FAMILIES,
    clip::FAMILIES,
    codegen::FAMILIES,
    cohere::FAMILIES,
    deberta::FAMILIES,
    deepseek_v2::FAMILIES,
    deepseek_v3::FAMILIES,
    dinov2::FAMILIES,
    dinov3::FAMILIES,
    distilbert::FAMILIES,
    electra::FAMILIES,
    esm::FAMILIES,
    eurobert::FAMILIES,
    falcon::FAMILIES,
    falcon_h1::FAMILIES,
    gemma::FAMILIES,
    gemma2::FAMILIES,
    gemma3::FAMILIES,
    gemma4::FAMILIES,
    glm4::FAMILIES,
    glm4_moe_lite::FAMILIES,
    gpt2::FAMILIES,
    gpt_bigcode::FAMILIES,
    gpt_neo::FAMILIES,
    gpt_neox::FAMILIES,
    gpt_oss::FAMILIES,
    gptj::FAMILIES,
    granite::FAMILIES,
    granitemoehybrid::FAMILIES,
    han::FAMILIES,
    lfm2::FAMILIES,
    llama::FAMILIES,
    longformer::FAMILIES,
    memn2n::FAMILIES,
    ministral3::FAMILIES,
    mistral::FAMILIES,
    mixtral::FAMILIES,
    modernbert::FAMILIES,
    mpnet::FAMILIES,
    nomic_bert::FAMILIES,
    mpt::FAMILIES,
    olmo2::FAMILIES,
    olmo3::FAMILIES,
    olmoe::FAMILIES,
    open_clip::FAMILIES,
    opt::FAMILIES,
    encoder_decoder::FAMILIES,
    phi::FAMILIES,
    phi3::FAMILIES,
    pointer::FAMILIES,
    qwen2::FAMILIES,
    qwen3::FAMILIES,
    qwen3_5::FAMILIES,
    qwen3_next::FAMILIES,
    qwen_moe::FAMILIES,
    rnnsearch::FAMILIES,
    roberta::FAMILIES,
    siglip::FAMILIES,
    siglip2::FAMILIES,
    smollm3::FAMILIES,
    stablelm::FAMILIES,
    starcoder2::FAMILIES,
    t5::FAMILIES,
    timm::FAMILIES,
    trocr::FAMILIES,
    vit::FAMILIES,
];

//! BEiT: a vision transformer whose scores are biased by the offset between patches, without biases on
//! its keys, and with a learned factor on what each branch adds.

use super::{
    Body, ClassHead, Config, Embedding, Family, HeadKind, Layers, LoadError, Modality, Names, Network, Pictures,
    ProcessorClass, Reads, RelativeBias, Stack, StackKind, Tower, Transform, Weights, classifier, config_keys,
    layer_norm, tokens,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::CAUSALITY, config_keys::BACKBONE, SEGMENTATION, &["vocab_size"]],
    classes: &["Beit"],
    ..Family::vision("beit", &ProcessorClass::BEIT, build)
}];

const BODY: &str = "beit.";
const TABLE: &str = "relative_position_bias.relative_position_bias_table";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let pictures = Pictures::of(config)?;
    weights.set_prefix(BODY, &["embeddings.cls_token"]);
    let mut embedding = pictures.embedding(weights, "beit.embeddings.patch_embeddings.projection", d_model, true)?;
    embedding.prefix = Some(tokens(weights, "beit.embeddings.cls_token", 1, d_model)?);
    if config.flag("use_absolute_position_embeddings", false) {
        let n = 1 + pictures.n_patches();
        embedding.position = Some(tokens(weights, "beit.embeddings.position_embeddings", n, d_model)?);
    }
    weights.skip("beit.embeddings.mask_token");

    let mut layers = Layers::of(config, Names::vit(weights, BODY), BODY, d_model)?;
    layers.bias = [true, false, true];
    layers.scales = weights.has(&layers.name(0, "lambda_1")).then_some(["lambda_1", "lambda_2"]);
    let shared = config.flag("use_shared_relative_position_bias", false);
    let own = config.flag("use_relative_position_bias", false);
    layers.spec.biased = shared || own;
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let n_heads = layers.spec.n_heads;
    let of_all = if shared {
        let old = format!("beit.encoder.{TABLE}");
        let new = "beit.shared_position_bias.relative_position_bias_table".to_owned();
        Some(table(weights, if weights.has(&old) { &old } else { &new }, n_heads, pictures)?)
    } else {
        None
    };
    let grid = pictures.grid;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let mut block = layers.block(weights, layer, d_mlp)?;
        if own {
            let old = layers.name(layer, &format!("attention.attention.{TABLE}"));
            let name = if weights.has(&old) { old } else { layers.name(layer, TABLE) };
            let mut table = table(weights, &name, n_heads, pictures)?;
            // A layer may have its own bias besides that of all layers.
            table.iter_mut().zip(of_all.iter().flatten()).for_each(|(own, of_all)| *own += of_all);
            if let Some(heads) = block.attention.heads_mut() {
                heads.bias = Some(RelativeBias::Grid { table, n_heads, grid });
            }
        }
        blocks.push(block);
    }
    let mean = config.flag("use_mean_pooling", true);
    let final_norm = if mean { None } else { Some(layer_norm(weights, "beit.layernorm", d_model, layers.eps)?) };
    let mut stack = Stack::new(StackKind::SelfAttention, blocks, final_norm);
    stack.bias = of_all.filter(|_| !own).map(|table| RelativeBias::Grid { table, n_heads, grid });
    let head = if weights.has("classifier.weight") {
        let norm = if mean { Some(layer_norm(weights, "beit.pooler.layernorm", d_model, layers.eps)?) } else { None };
        let reads = if mean { Reads::Mean { n_prefix: 1 } } else { Reads::First };
        let parts =
            ClassHead { kind: HeadKind::ImageClass, reads, transform: Transform { norm, ..Transform::default() } };
        Some(classifier(config, weights, "classifier", d_model, parts)?)
    } else {
        for part in ["weight", "bias"] {
            weights.skip(&format!("beit.pooler.layernorm.{part}"));
        }
        weights.note_absent("classifier.weight");
        None
    };
    Ok(Network {
        family: "beit",
        modality: Modality::Image(pictures.spec(1)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Patches(embedding), stack }),
        head,
    })
}

/// The biases under `name`, one per offset and head.
fn table(weights: &mut Weights<'_>, name: &str, n_heads: usize, pictures: Pictures) -> Result<Vec<f32>, LoadError> {
    let grid = pictures.grid;
    let n = (2 * grid.0 - 1) * (2 * grid.1 - 1) + 3;
    let table = weights.tensor(name, &[n, n_heads])?.flatten_all()?.to_vec1()?;
    // An index into the table that old files carry along.
    weights.skip(&name.replace("_table", "_index"));
    weights.skip(&name.replace("relative_position_bias_table", "relative_position_index"));
    Ok(table)
}

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

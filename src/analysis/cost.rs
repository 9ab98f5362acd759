//! The cost of a run by its length: products of the linear maps and of pairs of queries and keys, and bytes, as formulas
//! of the sizes of a model. A product with its addition counts as two operations (FLOP); normalisation, softmax and the
//! embedding are left out.

use crate::{
    ids::StackKind,
    spec::{LatentSpec, LayerSpec, Mask, ModelSpec, StackSpec},
};

/// Bytes of a number in memory.
const BYTES: f64 = 4.0;
/// Lengths beyond this are not looked at.
const LONGEST: usize = 1 << 40;

/// The pairs of queries and keys that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Every query with every key.
    All,
    /// Those that the masks of the model show.
    Masked,
    /// Of those, keys at most so many places away.
    Window(usize),
    /// None: a pattern of this rank takes so many products with queries and keys each.
    Rank(usize),
}

impl Pairs {
    /// How many there are in a layer, of `n` tokens.
    pub fn count(self, layer: &LayerSpec, causal: bool, n: usize) -> f64 {
        let mask = layer.mask(causal);
        match self {
            Self::All => n as f64 * n as f64,
            Self::Masked => mask.n_visible(n),
            Self::Window(reach) => {
                let reach = mask.window.map_or(reach + 1, |own| own.min(reach + 1));
                Mask { window: Some(reach), ..mask }.n_visible(n)
            }
            Self::Rank(rank) => 2.0 * n as f64 * rank as f64,
        }
    }
}

/// The attention layers of a model, each with its stack. Where positions alone give the pattern there are none, and
/// layers with a state in place of attention are left out.
fn layers(model: &ModelSpec) -> impl Iterator<Item = (&StackSpec, &LayerSpec)> {
    let all = model.stacks.iter().flat_map(|stack| stack.layers.iter().map(move |layer| (stack, layer)));
    all.filter(|(_, layer)| !layer.fixed && layer.mixer.is_attention())
}

/// Width of the stream of a stack.
fn width(model: &ModelSpec, stack: StackKind) -> f64 {
    let mlp = model.stack(stack).and_then(|stack| stack.layers.iter().find_map(|layer| layer.mlp));
    mlp.map_or(model.d_model, |mlp| mlp.d_model) as f64
}

/// FLOP of the maps to queries, keys and values and from the heads to the stream, in all layers.
pub fn maps(model: &ModelSpec, n: usize) -> f64 {
    let of_layer = |(stack, layer): (&StackSpec, &LayerSpec)| {
        let [d_query, d_key] = [stack.kind.query_side(), stack.kind.key_side()]
            .map(|side| width(model, if stack.kind.is_cross_modal() { model.last_stack(side) } else { side.stack() }));
        let [queries, keys, values] =
            [(layer.n_heads, layer.d_head), (layer.n_kv_heads, layer.d_head), (layer.n_kv_heads, layer.d_value)]
                .map(|(n_heads, width)| (n_heads * width) as f64);
        let read = match layer.latent {
            None => d_query * queries + d_key * (keys + values),
            Some(LatentSpec { queries: rank, keys: latent, turned }) => {
                let of_queries = rank.map_or(d_query * queries, |rank| rank as f64 * (d_query + queries));
                let own = keys - (layer.n_kv_heads * turned) as f64 + values;
                of_queries + d_key * (latent + turned) as f64 + latent as f64 * own
            }
        };
        2.0 * n as f64 * (read + d_query * (layer.n_heads * layer.d_value) as f64)
    };
    layers(model).map(of_layer).sum()
}

/// FLOP of the MLPs of all layers; `None` where their sizes are not known.
pub fn mlps(model: &ModelSpec, n: usize) -> Option<f64> {
    let streams = layers(model).filter(|(stack, _)| !stack.kind.is_cross());
    streams
        .map(|(_, layer)| layer.mlp.map(|mlp| 2.0 * (mlp.n_maps * n) as f64 * (mlp.d_model * mlp.d_hidden) as f64))
        .sum()
}

/// FLOP of scores and of sums of values, in all layers.
pub fn pairs(model: &ModelSpec, pairs: Pairs, n: usize) -> f64 {
    let of_layer = |(stack, layer): (&StackSpec, &LayerSpec)| {
        2.0 * pairs.count(layer, stack.causal, n) * (layer.n_heads * (layer.d_head + layer.d_value)) as f64
    };
    layers(model).map(of_layer).sum()
}

/// The least length at which pairs cost as much as all linear maps, those of the MLPs too as far as they are known;
/// `None` where that is at no length.
pub fn even(model: &ModelSpec, of: Pairs) -> Option<usize> {
    let is_more = |n: usize| pairs(model, of, n) >= maps(model, n) + mlps(model, n).unwrap_or(0.0);
    let (mut below, mut above) = (0, 1);
    while !is_more(above) {
        (below, above) = (above, 2 * above);
        if above > LONGEST {
            return None;
        }
    }
    while above - below > 1 {
        let middle = below.midpoint(above);
        if is_more(middle) { above = middle } else { below = middle }
    }
    Some(above)
}

/// Bytes of the weights, each as a number of four bytes.
pub fn weight_bytes(model: &ModelSpec) -> f64 {
    BYTES * model.n_params as f64
}

/// Bytes of what a model that writes keeps of the keys and values of all layers: them, or what they are read from where that
/// is narrower by design (latent attention).
pub fn key_value_bytes(model: &ModelSpec, n: usize) -> f64 {
    let width = |layer: &LayerSpec| match layer.latent {
        None => layer.n_kv_heads * (layer.d_head + layer.d_value),
        Some(latent) => latent.keys + latent.turned,
    };
    layers(model).map(|(_, layer)| BYTES * n as f64 * width(layer) as f64).sum()
}

/// Bytes of the patterns of all heads, where they are recorded.
pub fn pattern_bytes(model: &ModelSpec, n: usize) -> f64 {
    layers(model).map(|(_, layer)| BYTES * layer.n_heads as f64 * n as f64 * n as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{MlpSpec, Modality, TextSpec};

    /// One block of GPT-2.
    fn block(causal: bool) -> ModelSpec {
        let mlp = Some(MlpSpec { d_model: 768, d_hidden: 3072, n_maps: 2, experts: None });
        let layers = vec![LayerSpec { mlp, ..LayerSpec::new(12, 64) }];
        ModelSpec {
            name: "block".to_owned(),
            family: "gpt2".to_owned(),
            modality: Modality::Text(TextSpec::new(1024, 50_257)),
            stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers, causal }],
            d_model: 768,
            n_params: 1000,
            head: None,
            checkpoint: None,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} is not {expected}");
    }

    #[test]
    fn a_block_of_gpt2_costs_what_its_formulas_say() {
        let model = block(true);
        for (n, [of_maps, of_pairs, of_mlp, of_patterns]) in [
            (128, [0.603_980, 0.050_332, 1.207_960, 0.786_432]),
            (1024, [4.831_838, 3.221_225, 9.663_676, 50.331_648]),
            (16_384, [77.309_411, 824.633_721, 154.618_823, 12_884.901_888]),
        ] {
            near(maps(&model, n) / 1e9, of_maps);
            near(pairs(&model, Pairs::All, n) / 1e9, of_pairs);
            near(mlps(&model, n).unwrap() / 1e9, of_mlp);
            near(pattern_bytes(&model, n) / 1e6, of_patterns);
        }
        near(key_value_bytes(&model, 1024) / 1e3, 6291.456);
        near(weight_bytes(&model), 4000.0);
        near(pairs(&model, Pairs::Rank(64), 1024), 4.0 * 2.0 * 1024.0 * 64.0 * 768.0);
    }

    #[test]
    fn latents_cost_less_than_what_is_read_from_them() {
        let mut model = block(true);
        let latent = LatentSpec { queries: Some(200), keys: 100, turned: 16 };
        let layer = LayerSpec { d_value: 32, latent: Some(latent), ..model.stacks[0].layers[0] };
        model.stacks[0].layers[0] = layer;
        // Of queries down and up, of keys and values down and up, and from the heads to the stream.
        let maps_of_token = 768 * 200 + 200 * 12 * 64 + 768 * 116 + 100 * 12 * (48 + 32) + 12 * 32 * 768;
        near(maps(&model, 10), 20.0 * f64::from(maps_of_token));
        near(pairs(&model, Pairs::All, 10), 2.0 * 100.0 * 12.0 * 96.0);
        near(key_value_bytes(&model, 10), 4.0 * 10.0 * 116.0);
        model.stacks[0].layers[0].latent = Some(LatentSpec { queries: None, ..latent });
        let other = maps_of_token - 768 * 200 - 200 * 12 * 64 + 768 * 12 * 64;
        near(maps(&model, 10), 20.0 * f64::from(other));
    }

    #[test]
    fn pairs_cost_as_much_as_the_maps_at_six_widths_and_twice_as_far_behind_a_causal_mask() {
        assert_eq!(even(&block(true), Pairs::All), Some(4608));
        assert_eq!(even(&block(true), Pairs::Masked), Some(9215), "a query sees itself as well");
        assert_eq!(even(&block(false), Pairs::Masked), Some(4608));
        assert_eq!(even(&block(true), Pairs::Window(128)), None);
        let mut unknown = block(true);
        unknown.stacks[0].layers[0].mlp = None;
        assert_eq!((mlps(&unknown, 8), even(&unknown, Pairs::All)), (None, Some(1536)), "without MLP at two widths");
    }

    #[test]
    fn visible_pairs_are_counted_as_masks_show_them() {
        let layer = LayerSpec::new(12, 64);
        near(Pairs::Masked.count(&layer, true, 1024), 524_800.0);
        near(Pairs::Window(128).count(&layer, false, 1024), 246_656.0);
        for causal in [false, true] {
            for window in [None, Some(1), Some(3), Some(7), Some(40)] {
                for n in [1, 2, 7, 20] {
                    let mask = Mask { causal, window };
                    let counted: usize = (0..n).map(|query| mask.visible(query, n, n).len()).sum();
                    assert_eq!(mask.n_visible(n), counted as f64, "{mask:?} of {n}");
                }
            }
        }
        // A window is never wider than the model's own.
        let near_only = LayerSpec { window: Some(3), ..layer };
        assert_eq!(Pairs::Window(128).count(&near_only, true, 20), Pairs::Masked.count(&near_only, true, 20));
    }
}

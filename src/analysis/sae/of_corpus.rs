//! Features of a dictionary over a corpus: where they fire, how strongly, and together with which others.

use std::sync::Arc;

use super::{FeatureCounts, Sae};
use crate::capture::{Site, Token, words};

/// Bytes of activations up to which a corpus is kept.
pub const MOST_BYTES: usize = 1 << 28;

/// Activations that are not zero, token after token: compressed rows, as a sparse matrix has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activations {
    /// Where the activations of each token begin, and where the last ones end.
    pub(super) starts: Vec<usize>,
    pub(super) features: Vec<u32>,
    pub(super) values: Vec<f32>,
    /// The text and the position of each token.
    pub(super) at: Vec<(u32, u32)>,
}

impl Activations {
    /// Adds the activations of the tokens of a text, each with its position; features of a token in their order.
    pub fn add(&mut self, text: usize, tokens: &[(usize, Vec<(usize, f32)>)]) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for (position, features) in tokens {
            self.features.extend(features.iter().map(|(feature, _)| *feature as u32));
            self.values.extend(features.iter().map(|(_, value)| *value));
            self.starts.push(self.features.len());
            self.at.push((text as u32, *position as u32));
        }
    }

    /// How many tokens there are.
    pub const fn n_tokens(&self) -> usize {
        self.at.len()
    }

    /// Bytes that it takes.
    pub const fn n_bytes(&self) -> usize {
        8 * self.features.len() + 16 * self.at.len()
    }

    /// Features and values of a token.
    fn of_token(&self, token: usize) -> impl Iterator<Item = (usize, f32)> {
        let all = self.starts[token]..self.starts[token + 1];
        self.features[all.clone()].iter().map(|feature| *feature as usize).zip(self.values[all].iter().copied())
    }

    /// The value of a feature at a token; 0 where it does not fire.
    fn value(&self, token: usize, feature: usize) -> f32 {
        let all = self.starts[token]..self.starts[token + 1];
        let place = self.features[all.clone()].binary_search(&(feature as u32));
        place.map_or(0.0, |place| self.values[all.start + place])
    }

    /// Values of a feature in a text, by position; special tokens have none.
    pub fn in_text(&self, text: usize, feature: usize) -> Vec<(usize, f32)> {
        let first = self.at.partition_point(|(at, _)| (*at as usize) < text);
        let own = self.at[first..].iter().take_while(|(at, _)| *at as usize == text).enumerate();
        own.map(|(nth, (_, position))| (*position as usize, self.value(first + nth, feature))).collect()
    }

    /// Pearson's correlation of a feature with all others over all tokens, the largest first; those that never fire, or
    /// always alike, have none.
    pub fn correlated(&self, feature: usize, d_sae: usize) -> Vec<(usize, f64)> {
        let mut sums = vec![[0.0f64; 3]; d_sae];
        for token in 0..self.n_tokens() {
            let own = f64::from(self.value(token, feature));
            for (other, value) in self.of_token(token) {
                let Some([sum, square, product]) = sums.get_mut(other) else { continue };
                let value = f64::from(value);
                *sum += value;
                *square += value * value;
                *product += own * value;
            }
        }
        let n = self.n_tokens() as f64;
        let spread = |[sum, square, _]: [f64; 3]| n * square - sum * sum;
        let Some(own) = sums.get(feature).copied().filter(|own| spread(*own) > 0.0) else { return Vec::new() };
        let of = |(other, all): (usize, &[f64; 3])| {
            let spread = spread(*all) * spread(own);
            (spread > 0.0 && other != feature).then(|| (other, (n * all[2] - all[0] * own[0]) / spread.sqrt()))
        };
        let mut found: Vec<(usize, f64)> = sums.iter().enumerate().filter_map(of).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }
}

/// What a list of features is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureOrder {
    /// All that it fires, summed up.
    #[default]
    Sum,
    Density,
    Mean,
    Largest,
    Number,
}

vocabulary! {
    FeatureOrder: name, title;
    Sum("sum", "Most in all"),
    Density("density", "Most often"),
    Mean("mean", "Strongest where active"),
    Largest("largest", "Largest activation"),
    Number("number", "By number"),
}

/// What is counted over a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureQuestion {
    /// Folder of the dictionary.
    pub sae: String,
    /// Texts that are kept of each feature.
    pub texts: usize,
}

/// A dictionary's features over the inputs of a corpus, as far as they were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorpusFeatures {
    /// What the model and its inputs are called, and the folder of the dictionary.
    pub model: String,
    pub corpus: String,
    pub sae: String,
    /// The dictionary's site in words.
    pub site: String,
    pub d_sae: usize,
    pub notes: Vec<String>,
    /// The inputs that it is of, by their places in the list, and how many of them are done.
    pub inputs: Vec<usize>,
    pub n_done: usize,
    /// Those of them that cannot be run, and why.
    pub left_out: Vec<(usize, String)>,
    pub counts: FeatureCounts,
    pub activations: Activations,
    /// Texts by their places in the list, token by token; empty of those that were not run.
    pub texts: Vec<Arc<[String]>>,
}

impl CorpusFeatures {
    /// Nothing yet of a dictionary.
    pub fn new(sae: &Sae, (model, corpus, folder): (&str, &str, &str), inputs: Vec<usize>, n_texts: usize) -> Self {
        Self {
            model: model.to_owned(),
            corpus: corpus.to_owned(),
            sae: folder.to_owned(),
            site: place(sae),
            d_sae: sae.d_sae,
            notes: sae.notes.clone(),
            inputs,
            counts: FeatureCounts::new(sae.d_sae, n_texts),
            ..Self::default()
        }
    }

    /// Adds an input that was run: its tokens, and the features of those that are not special.
    pub fn add(&mut self, input: usize, tokens: &[Token], features: &[(usize, Vec<(usize, f32)>)]) {
        self.counts.add(input, features);
        self.activations.add(input, features);
        if self.texts.len() <= input {
            self.texts.resize(input + 1, Arc::default());
        }
        let text = |at| words::token_text(tokens, at).replace('\n', "↵");
        self.texts[input] = (0..tokens.len()).map(text).collect();
    }

    /// Features that fire and are looked for, in an order: a number finds that feature, other words those whose strongest
    /// token has them.
    pub fn listed(&self, order: FeatureOrder, sought: &str) -> Vec<usize> {
        let sought = sought.trim().to_lowercase();
        let is_sought = |feature: &usize| {
            sought.is_empty()
                || sought.parse() == Ok(*feature)
                || self.strongest_token(*feature).is_some_and(|token| token.to_lowercase().contains(&sought))
        };
        let of = |feature: usize| &self.counts.features[feature];
        let key = |feature: usize| match order {
            FeatureOrder::Sum => of(feature).sum,
            FeatureOrder::Density => of(feature).n as f64,
            FeatureOrder::Mean => of(feature).mean(),
            FeatureOrder::Largest => of(feature).texts.first().map_or(0.0, |at| f64::from(at.value)),
            FeatureOrder::Number => -(feature as f64),
        };
        let all = 0..self.counts.features.len();
        let mut found: Vec<usize> = all.filter(|feature| of(*feature).n > 0).filter(is_sought).collect();
        found.sort_by(|a, b| key(*b).total_cmp(&key(*a)).then(a.cmp(b)));
        found
    }

    /// The token at which a feature fires most.
    pub fn strongest_token(&self, feature: usize) -> Option<&str> {
        let at = self.counts.features.get(feature)?.texts.first()?;
        self.texts.get(at.text)?.get(at.position).map(String::as_str)
    }

    /// Share of the tokens at which a feature fires.
    pub fn density(&self, feature: usize) -> f64 {
        let n = self.counts.features.get(feature).map_or(0, |of| of.n);
        n as f64 / self.counts.n_tokens.max(1) as f64
    }

    /// How many features fire at all.
    pub fn n_alive(&self) -> usize {
        self.counts.features.iter().filter(|of| of.n > 0).count()
    }

    /// Whether a feature exists.
    ///
    /// # Errors
    /// Says how many there are.
    pub fn check(&self, feature: usize) -> Result<(), String> {
        if feature < self.d_sae { Ok(()) } else { Err(format!("there is no feature {feature} among {}", self.d_sae)) }
    }
}

/// The site of a dictionary in words.
fn place(sae: &Sae) -> String {
    let Sae { site, layer, .. } = sae;
    match site {
        Site::Z => format!("heads of layer {layer}, side by side"),
        _ => site.in_words(*layer, None),
    }
}

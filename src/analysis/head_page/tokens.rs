//! Weight by token of the vocabulary, against what chance would put there.

use std::collections::BTreeMap;

use crate::analysis::detect::KnownToken;

/// Tokens that a table keeps.
const N_KEPT: usize = 50;

/// A token by its id, or by its text where it has none: two ids with the same text are two tokens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TokenKey {
    Id(u32),
    Text(String),
}

/// Sums by token.
#[derive(Clone, Debug, Default)]
pub struct TokenSums {
    of: BTreeMap<TokenKey, TokenMass>,
}

/// What one token has.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenMass {
    pub text: String,
    /// Vocabulary id, if it has one.
    pub id: Option<u32>,
    /// Added by the tokenizer or the model.
    pub special: bool,
    pub mass: f64,
    /// What chance puts there, in the same unit.
    pub chance: f64,
    /// How often the token comes.
    pub n: u64,
}

/// The tokens with most weight.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenTable {
    /// The one with most weight first; of equal ones that with the lower id.
    pub tokens: Vec<TokenMass>,
    /// Different tokens.
    pub n_tokens: usize,
    /// Weight of all tokens, and what chance puts on them.
    pub total: [f64; 2],
    /// Kullback–Leibler divergence of the shares of tokens from their shares by chance, in nats: 0 where the head does as chance.
    pub concentration: f64,
    /// Entropy of the shares of tokens, in nats.
    pub entropy: f64,
}

impl TokenSums {
    /// Adds what one token of an input has.
    pub fn add(&mut self, (text, id, special): &KnownToken<'_>, mass: f64, chance: f64) {
        let key = id.map_or_else(|| TokenKey::Text((*text).to_owned()), TokenKey::Id);
        let of = self.of.entry(key).or_insert_with(|| TokenMass {
            text: (*text).to_owned(),
            id: *id,
            special: *special,
            mass: 0.0,
            chance: 0.0,
            n: 0,
        });
        of.mass += mass;
        of.chance += chance;
        of.n += 1;
    }

    /// The table; none where no token has any weight.
    pub fn table(self) -> Option<TokenTable> {
        let sum = |number: fn(&TokenMass) -> f64| self.of.values().map(number).sum::<f64>();
        let total = [sum(|token| token.mass), sum(|token| token.chance)];
        if total[0] <= 0.0 || total[1] <= 0.0 {
            return None;
        }
        let shares = self.of.values().map(|token| [token.mass / total[0], token.chance / total[1]]);
        let (mut concentration, mut entropy) = (0.0, 0.0);
        for [share, chance] in shares.filter(|[share, _]| *share > 0.0) {
            concentration += share * (share / chance).ln();
            entropy -= share * share.ln();
        }
        let n_tokens = self.of.len();
        let mut tokens: Vec<TokenMass> = self.of.into_values().collect();
        tokens.sort_by(|a, b| b.mass.total_cmp(&a.mass));
        tokens.truncate(N_KEPT);
        Some(TokenTable { tokens, n_tokens, total, concentration, entropy })
    }
}

impl TokenTable {
    /// The share of a token in the weight of all, and how many times that of chance this is.
    pub fn share(&self, token: &TokenMass) -> [f64; 2] {
        let share = token.mass / self.total[0];
        [share, share * self.total[1] / token.chance]
    }
}

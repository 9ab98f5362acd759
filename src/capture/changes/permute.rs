//! Tokens in another order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Intervention,
    codec::{Named, as_text, is_default},
    listed,
};
use crate::{
    capture::Token,
    ids::Side,
    options::{Visit, choose, whole},
    random::SplitMix,
    spec::StackSpec,
};

/// The end of the slider of the seed; a larger number that was given widens it.
const MOST: usize = 16;

/// Tokens are read in another order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permute {
    #[serde(rename = "permute")]
    pub order: Order,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub side: Side,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub positions: Positions,
}

/// The positions of tokens that are read in another order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Positions {
    #[default]
    Kept,
    Moved,
}

vocabulary! {
    Positions: name, title;
    Kept("kept", "Those of the new places"),
    Moved("moved", "Those of the old places"),
}

impl Named for Positions {
    const WHAT: &'static str = "kind of positions: kept or moved";

    fn written(&self) -> String {
        self.name().to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

/// Which order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Order {
    /// A random one, in which special tokens stay where they are.
    Seed(usize),
    /// For each place the old place of its token.
    Places(Vec<usize>),
}

impl Order {
    /// For each place the old place of its token.
    pub fn places(&self, tokens: &[Token]) -> Vec<usize> {
        let seed = match self {
            Self::Places(places) => return places.clone(),
            Self::Seed(seed) => *seed,
        };
        let mut places: Vec<usize> = (0..tokens.len()).collect();
        let own: Vec<usize> = places.iter().copied().filter(|place| !tokens[*place].special).collect();
        let mut from = own.clone();
        SplitMix::new(seed as u64).shuffle(&mut from);
        for (place, from) in own.into_iter().zip(from) {
            places[place] = from;
        }
        places
    }
}

impl fmt::Display for Permute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.order {
            Order::Seed(seed) => write!(f, "tokens are read in a random order (seed {seed})")?,
            Order::Places(places) => write!(f, "tokens are read in the order {}", listed(places))?,
        }
        match self.side {
            Side::Only => {}
            Side::Encoder | Side::Decoder | Side::Vision | Side::Text | Side::Sentences | Side::Chosen => {
                write!(f, " on the side {}", self.side.name())?;
            }
        }
        match self.positions {
            Positions::Kept => Ok(()),
            Positions::Moved => f.write_str(" with their positions"),
        }
    }
}

impl EditKind for Permute {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("permute", "a seed, or for each place the old place of its token"),
                ("side", "whose"),
                ("positions", "kept, those of the new places, or moved with the tokens"),
            ],
            meaning: "tokens are read in another order",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Stack(stack) = aim else { return Vec::new() };
        let side = stack.key_side();
        let meaning = "Tokens change places, special ones excepted; the seed, and whether positions move with them, are \
                       under Changes";
        let synonyms = &["permutation", "shuffle words", "bag of words"];
        let obstacle = match side {
            Side::Vision => Some("The order of patches is that of the picture"),
            Side::Sentences => Some("The order of sentences is that of their words"),
            Side::Only | Side::Encoder | Side::Decoder | Side::Text | Side::Chosen => None,
        };
        let change = Self { order: Order::Seed(1), side, positions: Positions::Kept };
        vec![EditOffer { obstacle, ..EditOffer::new("Random order", meaning, change).synonyms(synonyms) }]
    }

    fn short(&self) -> String {
        "other order".to_owned()
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::Reorder { side: self.side, order: &self.order, positions: self.positions }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let n = there.n(self.side);
        there.token_with_id(self.side, n.saturating_sub(1), self)?;
        if self.positions == Positions::Moved {
            self.check_that_positions_move(there)?;
        }
        let Order::Places(places) = &self.order else { return Ok(()) };
        let mut sorted = places.clone();
        sorted.sort_unstable();
        let is_order = sorted.into_iter().eq(0..n);
        is_order.then_some(()).ok_or_else(|| format!("an order of {n} tokens names each place from 0 once"))
    }

    fn fits(&self, len: &dyn Fn(Side) -> usize) -> bool {
        match &self.order {
            Order::Seed(_) => true,
            Order::Places(places) => places.len() == len(self.side),
        }
    }

    fn is_of_tokens(&self) -> bool {
        matches!(self.order, Order::Places(_))
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Order(self.side))
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        if let Order::Seed(seed) = &mut self.order {
            let most = MOST.max(*seed);
            visit(
                whole("seed", "Seed of the order", "Another one is another order", seed, 0..=most).placeholder("seed"),
            );
        }
        let meaning = "Positions of the tokens: those of their new places, or moved with them: kept or moved";
        choose(visit, ("positions", "Positions", meaning), &mut self.positions, &Positions::CHOICES);
    }
}

impl Permute {
    /// Refuses stacks in which more than positions tells the order of tokens.
    fn check_that_positions_move(&self, there: &EditContext<'_>) -> Result<(), String> {
        let of_side = |stack: &&StackSpec| stack.kind.query_side() == self.side && !stack.kind.is_between();
        let why = match there.spec.stacks.iter().find(of_side) {
            None => "recurrence reads one token after the other",
            Some(stack) if stack.causal => "a causal mask lets a token see those before its place",
            Some(stack) if stack.layers.iter().any(|layer| layer.window.is_some()) => "windows go by places",
            Some(_) => return Ok(()),
        };
        Err(format!("positions cannot move with the tokens: {why}"))
    }
}

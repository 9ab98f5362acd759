//! One input as the page of a head reads it.

use crate::{
    analysis::{
        PointCloud,
        detect::{KnownToken, StackFacts, TokenFacts, Undefined},
        head_statistics::{WeightedPair, telling_pairs},
    },
    capture::{Capture, ImageInfo, Matrix, Token},
    ids::{HeadId, StackKind},
    projection::correlation::InputSegment,
    spec::Visibility,
};

/// Tokens of an input on both sides of a stack, and which keys its queries see.
pub struct PageInput<'a> {
    pub queries: Vec<KnownToken<'a>>,
    pub keys: Vec<KnownToken<'a>>,
    pub facts: StackFacts,
    pub visibility: Visibility<'a>,
}

impl<'a> PageInput<'a> {
    fn new(
        stack: StackKind,
        [queries, keys]: [Vec<KnownToken<'a>>; 2],
        causal: bool,
        (image, visibility): (Option<&ImageInfo>, Visibility<'a>),
    ) -> Self {
        let facts = StackFacts::new(stack, TokenFacts::of(&queries, &keys, causal), causal, image);
        Self { queries, keys, facts, visibility }
    }

    /// An input that was run.
    pub fn of_capture(capture: &'a Capture, head: HeadId) -> Self {
        let stack = head.stack;
        let known = |token: &'a Token| (token.text.as_str(), token.id, token.special);
        let tokens = [capture.query_tokens(stack), capture.key_tokens(stack)];
        let causal = !stack.is_between() && capture.model().stack(stack).is_some_and(|spec| spec.causal);
        let image = capture.image().filter(|_| capture.picture_side() == Some(stack.query_side()));
        let visibility = capture.visibility_of(head).unwrap_or_default();
        Self::new(stack, tokens.map(|tokens| tokens.iter().map(known).collect()), causal, (image, visibility))
    }

    /// One input of a cloud.
    pub fn of_cloud(cloud: &'a PointCloud, head: HeadId, segment: &InputSegment) -> Self {
        if let PointCloud::Input(capture) = cloud {
            return Self::of_capture(capture, head);
        }
        let stack = head.stack;
        let sides = [(stack.query_side(), &segment.queries), (stack.key_side(), &segment.keys)];
        let tokens = sides.map(|(side, points)| {
            let tokens = points.clone().filter_map(|point| cloud.token(side, point));
            tokens.map(|token| (token.text, token.id, token.special)).collect()
        });
        let model = cloud.model();
        let causal = !stack.is_between() && model.and_then(|model| model.stack(stack)).is_some_and(|spec| spec.causal);
        // The last token of a picture is a patch.
        let last = segment.queries.clone().last();
        let image = last.and_then(|point| cloud.place(stack.query_side(), point)).map(|(image, _)| image);
        let mask = model.and_then(|model| model.mask_of(head)).unwrap_or_default();
        Self::new(stack, tokens, causal, (image, Visibility { mask, global: &[] }))
    }

    /// The pairs that count for the activation, of keys that their query sees.
    pub fn telling_pairs(&self, pattern: &Matrix) -> impl Iterator<Item = WeightedPair> {
        let (n_queries, n_keys) = (pattern.n_rows(), pattern.n_cols());
        let all = telling_pairs(pattern, self.facts.tokens(), !self.facts.stack().is_between());
        all.filter(move |pair| self.visibility.sees(pair.query, pair.key, n_queries, n_keys))
    }

    /// Whether its tokens are those of a vocabulary.
    ///
    /// # Errors
    /// Patches are none.
    pub fn check_tokens(&self) -> Result<(), Undefined> {
        if self.facts.is_of_patches() { Err(Undefined::NoVocabulary) } else { Ok(()) }
    }
}

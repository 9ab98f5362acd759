//! A soft span of attention.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, RowChange, Scope, codec::is_default,
    stack_prefix,
};
use crate::{
    capture::Site,
    ids::{Side, StackKind},
    options::{Visit, real},
};

/// The span and its ramp where a change is offered.
const OFFERED: f32 = 4.0;
/// The end of the sliders; a larger number that was given widens them.
const MOST: f64 = 32.0;
/// The least ramp that is dragged to: of the query alone at a span of 0.
const LEAST_RAMP: f64 = 1.0;

/// Queries see as far as a soft span reaches (adaptive attention span, Sukhbaatar et al. 2019): before a row is
/// normalised, `exp(score)` of a key `x` positions away is multiplied by `clamp((ramp + span − x) / ramp, 0, 1)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveSpan {
    /// Positions within which nothing changes.
    pub span: f32,
    /// Positions over which the factor then falls to 0, above 0.
    pub ramp: f32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: StackKind,
    #[serde(flatten)]
    pub scope: Scope,
}

impl AdaptiveSpan {
    /// The factor of `exp(score)` of a key so many positions away.
    pub fn factor(&self, away: usize) -> f32 {
        ((self.ramp + self.span - away as f32) / self.ramp).clamp(0.0, 1.0)
    }

    /// Why it is none, in words.
    fn obstacle(&self) -> Option<&'static str> {
        let is_span = self.span.is_finite() && self.span >= 0.0;
        let is_ramp = self.ramp.is_finite() && self.ramp > 0.0;
        match (is_span, is_ramp, self.stack.is_between()) {
            (false, ..) => Some("a span has 0 positions or more"),
            (true, false, _) => Some("a ramp has more than 0 positions"),
            (true, true, true) => {
                Some("a query and its keys are of two sequences there, with no distance between them")
            }
            (true, true, false) => None,
        }
    }
}

impl fmt::Display for AdaptiveSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { span, ramp, stack, scope } = self;
        write!(f, "{}attention has a span of {span} positions and a ramp of {ramp} {scope}", stack_prefix(*stack))
    }
}

impl EditKind for AdaptiveSpan {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("span", "positions within which nothing changes, z"),
                ("ramp", "positions over which keys then fade out, R"),
                ("stack", "whose heads"),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "queries see as far as a soft span reaches: exp(score) × clamp((R + z − distance) / R, 0, 1)",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let (stack, scope) = match aim {
            EditAim::Head { head, .. } => (head.stack, Scope::Heads(vec![*head])),
            EditAim::Stack(stack) => (*stack, Scope::All),
            EditAim::Tokens { .. } | EditAim::Edges { .. } | EditAim::Expert(_) | EditAim::Adapter(_) => {
                return Vec::new();
            }
        };
        if stack.is_between() {
            return Vec::new();
        }
        let meaning = "Keys fade out with their distance, as with adaptive spans; drag span and ramp under Changes";
        let synonyms = &["adaptive attention span", "adaptive span", "Sukhbaatar", "soft mask", "ramp"];
        let change = Self { span: OFFERED, ramp: OFFERED, stack, scope };
        vec![EditOffer::new("Span…", meaning, change).synonyms(synonyms)]
    }

    fn short(&self) -> String {
        format!("span {}", self.span)
    }

    fn intervention(&self) -> Intervention<'_> {
        // A factor of exp(score) is its logarithm among scores.
        let change = RowChange::Add(Box::new(|query, key| self.factor(query.abs_diff(key)).ln()));
        Intervention::Rows { site: Site::Scores, extent: Extent::Stack(self.stack, &self.scope), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.scope(Some(self.stack), &self.scope)?;
        self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        self.obstacle().is_none()
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        let mut number = |name, label, meaning, value: &mut f32, least: f64| {
            let mut wide = f64::from(*value);
            let range = least.min(wide)..=MOST.max(wide);
            visit(real(name, label, meaning, &mut wide, range).placeholder(name));
            *value = wide as f32;
        };
        number("span", "Span", "Positions within which nothing changes, z", &mut self.span, 0.0);
        number("ramp", "Ramp", "Positions over which keys then fade out, R", &mut self.ramp, LEAST_RAMP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{capture::Edit, ids::HeadId};

    fn span(span: f32, ramp: f32) -> AdaptiveSpan {
        AdaptiveSpan { span, ramp, stack: StackKind::default(), scope: Scope::All }
    }

    #[test]
    fn a_factor_is_1_within_the_span_and_falls_to_0_over_the_ramp() {
        let factors = |of: &AdaptiveSpan| (0..7).map(|away| of.factor(away)).collect::<Vec<_>>();
        assert_eq!(factors(&span(2.0, 2.0)), [1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(factors(&span(0.0, 4.0)), [1.0, 0.75, 0.5, 0.25, 0.0, 0.0, 0.0]);
        assert_eq!(factors(&span(0.0, 1e-3)), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "a query sees itself alone");
        assert_eq!(factors(&span(100.0, 1.0)), [1.0; 7]);
    }

    #[test]
    fn what_is_out_of_reach_is_hidden_and_the_rest_keeps_its_share_by_the_factors() {
        let edit: Edit = span(1.0, 2.0).into();
        let scores = [0.2_f32, 1.0, -0.3, 0.5, 0.1];
        let mut row = scores;
        edit.apply_to_row(Site::Scores, HeadId::default(), 4, &mut row);
        let share = |key: usize| (row[key].exp(), [0.0, 0.0, 0.5, 1.0, 1.0][key] * scores[key].exp());
        assert!((0..5).map(share).all(|(found, expected)| (found - expected).abs() < 1e-6), "{row:?}");
        let hides = edit.hides(HeadId::default()).unwrap();
        assert_eq!((0..5).map(|key| hides(4, key)).collect::<Vec<_>>(), [true, true, false, false, false]);
    }
}

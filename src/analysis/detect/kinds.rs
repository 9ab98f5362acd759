//! Heads by kind: every head of a stack, ranked by each of [`Detector::orders`].

use super::{Detector, Probe, Undefined};
use crate::{
    analysis::attention,
    capture::Capture,
    ids::{HeadId, StackKind},
};

/// One kind, with every head that has a score.
#[derive(Clone, Debug, PartialEq)]
pub struct KindRanking {
    pub detector: Detector,
    /// Heads with their scores, the highest first, ties in order of layer and head; why there are none.
    pub heads: Result<Vec<(HeadId, f32)>, Undefined>,
}

impl KindRanking {
    /// Heads with their scores, the highest first; none where the kind is not defined.
    pub fn ranked(&self) -> &[(HeadId, f32)] {
        self.heads.as_deref().unwrap_or_default()
    }

    /// How many heads are of the kind.
    pub fn n_of_kind(&self) -> usize {
        self.ranked().iter().take_while(|(_, score)| self.detector.holds(*score)).count()
    }

    /// The score of one head.
    pub fn score(&self, head: HeadId) -> Option<f32> {
        self.ranked().iter().find(|(known, _)| *known == head).map(|(_, score)| *score)
    }
}

/// The heads of a stack by kind.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadKinds {
    pub stack: StackKind,
    /// In the order of [`Detector::ALL`].
    pub kinds: Vec<KindRanking>,
}

impl HeadKinds {
    /// The ranking of one kind.
    pub fn of(&self, detector: Detector) -> Option<&KindRanking> {
        self.kinds.iter().find(|kind| kind.detector == detector)
    }

    /// What one head is called, with its scores.
    pub fn of_head(&self, head: HeadId) -> Vec<(Detector, f32)> {
        let score = |kind: &KindRanking| Some((kind.detector, kind.score(head)?));
        self.kinds.iter().filter_map(score).filter(|(detector, score)| detector.holds(*score)).collect()
    }
}

/// Ranks the heads of a stack by kind, on this input. `go_on` is asked between heads; `None` when it says no.
pub fn kinds(capture: &Capture, stack: StackKind, go_on: &mut dyn FnMut() -> bool) -> Option<HeadKinds> {
    let probe = Probe::new(capture, stack);
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers);
    let mut kinds: Vec<KindRanking> =
        Detector::orders().map(|detector| KindRanking { detector, heads: Err(Undefined::NotRecorded) }).collect();
    for (layer, shape) in layers.iter().enumerate() {
        for head in 0..shape.n_heads {
            if !go_on() {
                return None;
            }
            let id = HeadId { stack, layer, head };
            let Some(pattern) = attention::pattern(capture, id) else { continue };
            for kind in &mut kinds {
                match (probe.score_of(kind.detector, &pattern), &mut kind.heads) {
                    (Ok(score), Ok(heads)) => heads.push((id, score)),
                    (Ok(score), heads) => *heads = Ok(vec![(id, score)]),
                    (Err(why), Err(known)) => *known = why,
                    (Err(_), Ok(_)) => {}
                }
            }
        }
    }
    for kind in &mut kinds {
        if let Ok(heads) = &mut kind.heads {
            heads.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        }
    }
    Some(HeadKinds { stack, kinds })
}

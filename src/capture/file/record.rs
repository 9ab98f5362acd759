//! Values into the places they belong to, each checked for what its name says it is.

use std::io::{Read, Seek};

use super::{
    FileError,
    entry::Entry,
    place::{Place, Site},
    values,
};
use crate::{
    capture::{LayerCapture, Matrix, PerHead, StackCapture},
    ids::StackKind,
    spec::StackSpec,
};

/// What the tensors of one input held.
pub(super) struct Recorded {
    pub(super) stacks: Vec<StackCapture>,
    pub(super) logits: Option<Matrix>,
    /// The pattern whose rows miss a sum of 1 by most, and by how much; only when it is worth a note.
    worst: Option<(f64, String)>,
}

/// Reads the values of `tensors`, whose shapes were checked against `specs`.
pub(super) fn read(
    tensors: Vec<(Place, Entry)>,
    source: &mut (impl Read + Seek),
    specs: &[StackSpec],
    notes: &mut Vec<String>,
) -> Result<Recorded, FileError> {
    let empty = |spec: &StackSpec| StackCapture {
        kind: spec.kind,
        layers: vec![LayerCapture::default(); spec.layers.len()],
        resid_final: None,
    };
    let mut recorded = Recorded { stacks: specs.iter().map(empty).collect(), logits: None, worst: None };
    for (place, entry) in tensors {
        recorded.take(place, &entry, source)?;
    }
    if let Some((deviation, name)) = &recorded.worst {
        notes.push(format!("Rows of {name} miss a sum of 1 by up to {deviation:.4}"));
    }
    Ok(recorded)
}

impl Recorded {
    fn take(&mut self, place: Place, entry: &Entry, source: &mut (impl Read + Seek)) -> Result<(), FileError> {
        match place {
            Place::Logits => {
                let shape = if let [n_classes] = entry.shape[..] { [1, n_classes] } else { entry.shape_of()? };
                self.logits = Some(matrix(entry, shape, source)?);
            }
            Place::ResidFinal(kind) => {
                let data = matrix(entry, entry.shape_of()?, source)?;
                if let Some(stack) = self.stack(kind) {
                    stack.resid_final = Some(data);
                }
            }
            Place::Site { stack, layer, site: Site::ResidPre } => {
                let data = matrix(entry, entry.shape_of()?, source)?;
                if let Some(layer) = self.layer(stack, layer) {
                    layer.resid_pre = Some(data);
                }
            }
            Place::Site { stack, layer, site } => {
                let data = self.per_head(site, entry, source)?;
                if let Some(layer) = self.layer(stack, layer)
                    && let Some(slot) = slot(layer, site)
                {
                    *slot = Some(data);
                }
            }
        }
        Ok(())
    }

    fn per_head(&mut self, site: Site, entry: &Entry, source: &mut (impl Read + Seek)) -> Result<PerHead, FileError> {
        let data = entry.read(source)?;
        match site {
            Site::Pattern => {
                let deviation = values::check_pattern(entry, &data)?;
                if let Some(deviation) = deviation
                    && self.worst.as_ref().is_none_or(|(known, _)| deviation > *known)
                {
                    self.worst = Some((deviation, entry.name.clone()));
                }
            }
            Site::Scores => values::check_scores(entry, &data)?,
            _ => values::check_finite(entry, &data)?,
        }
        PerHead::new(data, entry.shape_of()?).map_err(|error| FileError::tensor(&entry.name, error.to_string()))
    }

    fn stack(&mut self, kind: StackKind) -> Option<&mut StackCapture> {
        self.stacks.iter_mut().find(|stack| stack.kind == kind)
    }

    fn layer(&mut self, kind: StackKind, layer: usize) -> Option<&mut LayerCapture> {
        self.stack(kind)?.layers.get_mut(layer)
    }

    /// Whether every pattern of a stack is square and zero above the diagonal.
    pub(super) fn looks_causal(&self, kind: StackKind) -> bool {
        let layers = self.stacks.iter().filter(|stack| stack.kind == kind).flat_map(|stack| &stack.layers);
        let mut patterns = layers.filter_map(|layer| layer.pattern.as_ref()).peekable();
        patterns.peek().is_some() && patterns.all(is_causal)
    }
}

fn is_causal(pattern: &PerHead) -> bool {
    let [_, n_query, n_key] = pattern.shape();
    let above = |(idx, row): (usize, &[f32])| row[idx % n_query + 1..].iter().all(|weight| *weight == 0.0);
    n_query == n_key && n_key > 1 && pattern.as_slice().chunks_exact(n_key).enumerate().all(above)
}

/// Where a site with one matrix per head is kept.
const fn slot(layer: &mut LayerCapture, site: Site) -> Option<&mut Option<PerHead>> {
    Some(match site {
        Site::Q => &mut layer.q,
        Site::K => &mut layer.k,
        Site::V => &mut layer.v,
        Site::Scores => &mut layer.scores,
        Site::Pattern => &mut layer.pattern,
        Site::Z => &mut layer.z,
        Site::ResidPre => return None,
    })
}

fn matrix(entry: &Entry, shape: [usize; 2], source: &mut (impl Read + Seek)) -> Result<Matrix, FileError> {
    let data = entry.read(source)?;
    values::check_finite(entry, &data)?;
    Matrix::new(data, shape).map_err(|error| FileError::tensor(&entry.name, error.to_string()))
}

//! Layouts of heads that were paused because another head is selected.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Projection, ProjectionOptions};
use crate::ids::{CloudId, HeadId};

/// Heads that are kept: who looks around comes back to one of the last few.
const MOST: usize = 4;

/// Everything that a layout on its way depends on.
#[derive(Clone, Copy, PartialEq)]
struct LayoutKey {
    cloud: CloudId,
    options: ProjectionOptions,
    head: HeadId,
}

impl LayoutKey {
    fn of(planes: &Projection, head: HeadId) -> Self {
        Self { cloud: planes.cloud.id(), options: planes.options, head }
    }
}

/// What there was of the last heads that were left.
pub struct Left<T>(Mutex<Vec<(LayoutKey, T)>>);

impl<T> Default for Left<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Left<T> {
    pub fn put(&self, planes: &Projection, head: HeadId, what: T) {
        let mut left = self.lock();
        left.push((LayoutKey::of(planes, head), what));
        let surplus = left.len().saturating_sub(MOST);
        left.drain(..surplus);
    }

    pub fn take(&self, planes: &Projection, head: HeadId) -> Option<T> {
        let mut left = self.lock();
        // What is asked of one cloud tells that nobody looks at the others.
        left.retain(|(key, _)| key.cloud == planes.cloud.id());
        let at = left.iter().position(|(key, _)| *key == LayoutKey::of(planes, head))?;
        Some(left.remove(at).1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(LayoutKey, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

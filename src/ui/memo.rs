//! A value that is recomputed when its key changes, instead of when somebody remembers a flag.

use std::sync::Arc;

/// Remembers one value for one key. The key must hold everything the value depends on.
#[derive(Debug)]
pub struct Memo<K, V> {
    slot: Option<(K, V)>,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self { slot: None }
    }
}

impl<K: PartialEq, V: Clone> Memo<K, V> {
    /// The value for `key`, computed if the key is new.
    pub fn get_or_update(&mut self, key: K, compute: impl FnOnce() -> V) -> V {
        match &self.slot {
            Some((known, value)) if *known == key => value.clone(),
            _ => {
                let value = compute();
                self.slot = Some((key, value.clone()));
                value
            }
        }
    }

    /// Whether the value for `key` is remembered.
    pub fn knows(&self, key: &K) -> bool {
        self.slot.as_ref().is_some_and(|(known, _)| known == key)
    }
}

/// A value that does not change: equal when it is the very same. Layouts on their way are others in every step.
#[derive(Clone)]
pub struct Same<T>(pub Arc<T>);

impl<T> PartialEq for Same<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

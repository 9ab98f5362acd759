//! Colours and sizes of points, found out once for each head: beside the window's thread where that takes a while.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use eframe::egui::Context;

use crate::{
    analysis::{
        PointCloud, Space,
        projection::{self, ColorBy, SizeBy, Tints},
    },
    ids::{CloudId, HeadId},
    model::lower_priority,
};

/// Of which space, what is told by colours, and what by sizes.
pub type By = (Space, ColorBy, SizeBy);
type Key = (CloudId, By, HeadId);
/// Whoever comes first finds out; others wait for that.
type Slot = Arc<OnceLock<Arc<Tints>>>;

/// The looks of the heads that were seen last. Clones share them.
#[derive(Clone, Default)]
pub struct Looks(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    slots: HashMap<Key, Slot>,
    /// What the thread shall find out, the last first.
    wanted: Vec<(PointCloud, Key)>,
    runs: bool,
}

impl Looks {
    /// What is known, or can be in no time; `None` while it is being found out. Then there will be another frame.
    pub fn get(&self, ctx: &Context, cloud: &PointCloud, head: HeadId, by: By) -> Option<Arc<Tints>> {
        let key = key(cloud, head, by);
        let slot = self.slot(key);
        if let Some(tints) = slot.get() {
            return Some(Arc::clone(tints));
        }
        let quick = |what: Option<ColorBy>| what.is_none_or(|what| projection::is_quick(cloud, by.0, head, what));
        if quick(Some(by.1)) && quick(by.2.as_color()) || !self.ask(ctx, cloud, key) {
            return Some(find(&slot, cloud, key));
        }
        None
    }

    /// The same for a thread that may wait.
    pub fn wait(&self, cloud: &PointCloud, head: HeadId, by: By) -> Arc<Tints> {
        let key = key(cloud, head, by);
        find(&self.slot(key), cloud, key)
    }

    /// Nobody wants anything any more.
    pub fn close(&self) {
        self.lock().wanted.clear();
    }

    fn slot(&self, key: Key) -> Slot {
        let mut state = self.lock();
        if !state.slots.contains_key(&key) {
            // Looks of another cloud, or by something else, are hardly wanted again.
            state.slots.retain(|(cloud, by, _), _| (*cloud, *by) == (key.0, key.1));
            state.wanted.retain(|(_, (cloud, by, _))| (*cloud, *by) == (key.0, key.1));
        }
        Arc::clone(state.slots.entry(key).or_default())
    }

    /// Has the thread find out; whether there is one.
    fn ask(&self, ctx: &Context, cloud: &PointCloud, key: Key) -> bool {
        let mut state = self.lock();
        if !state.wanted.iter().any(|(_, known)| *known == key) {
            state.wanted.push((cloud.clone(), key));
        }
        if !state.runs {
            let (looks, ctx) = (self.clone(), ctx.clone());
            let work = move || looks.run(&ctx);
            state.runs = thread::Builder::new().name("looks".to_owned()).spawn(work).is_ok();
        }
        state.runs
    }

    /// Finds out what is wanted, and ends.
    fn run(&self, ctx: &Context) {
        lower_priority();
        while let Some((cloud, key)) = self.next() {
            let slot = self.slot_of(&key);
            if let Some(slot) = slot {
                find(&slot, &cloud, key);
                ctx.request_repaint();
            }
            self.lock().wanted.retain(|(_, known)| *known != key);
        }
    }

    /// It stays among what is wanted until it is known, so that it is not asked for again.
    fn next(&self) -> Option<(PointCloud, Key)> {
        let mut state = self.lock();
        let next = state.wanted.last().cloned();
        state.runs = next.is_some();
        next
    }

    fn slot_of(&self, key: &Key) -> Option<Slot> {
        self.lock().slots.get(key).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One for all heads of a stack where it does not depend on the head.
fn key(cloud: &PointCloud, head: HeadId, (space, color, size): By) -> Key {
    let own = color.depends_on_head() || size != SizeBy::Same;
    (cloud.id(), (space, color, size), if own { head } else { HeadId { stack: head.stack, ..HeadId::default() } })
}

fn find(slot: &Slot, cloud: &PointCloud, (_, (space, color, size), head): Key) -> Arc<Tints> {
    Arc::clone(slot.get_or_init(|| Arc::new(projection::looks(cloud, space, head, color, size))))
}

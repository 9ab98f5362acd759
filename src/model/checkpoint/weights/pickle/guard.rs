//! Runs candle's pickle reader on bytes that nobody vouches for.
//!
//! The reader only builds a description of the objects: names of classes stay names, and nothing is
//! imported or called. But it believes lengths, copies whatever is fetched from the memo, and nests
//! as deep as it is told, so each instruction is weighed before it runs.

use std::collections::HashMap;

use candle_core::pickle::{Object, Stack};

use super::{SAVE_WEIGHTS, Unreadable};
use crate::model::checkpoint::weights::entry::is_presentable;

/// Deeper nesting than any checkpoint has; dropping the result takes a call per level.
const MAX_DEPTH: usize = 64;
/// Copies that a small pickle may ask for; a larger one may ask for as many objects as it has bytes.
const MIN_COPIES: usize = 1 << 16;
/// Bytes of text that count as one object.
const TEXT_BYTES: usize = 32;
/// The reader quotes whole objects in its messages.
const MAX_REASON_CHARS: usize = 120;

/// What an object on the stack costs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Objects in it, itself included; long texts count as several.
    n_objects: usize,
    depth: usize,
}

/// The object that a pickle describes.
pub(super) fn parse(pickle: &[u8]) -> Result<Object, Unreadable> {
    let mut rest = pickle;
    let mut stack = Stack::empty();
    let mut costs = Costs { stack: Vec::new(), memo: HashMap::new(), copies_left: pickle.len().max(MIN_COPIES) };
    loop {
        let step = StackEffect::next(rest).map_err(Unreadable::Damaged)?;
        costs.admit(step).map_err(Unreadable::Damaged)?;
        let n_rest = rest.len();
        let ends = match stack.read(&mut rest) {
            Ok(ends) => ends,
            Err(error) => return Err(explain(&error, step, stack.stack())),
        };
        if ends {
            return stack.finalize().map_err(|error| explain(&error, step, &[]));
        }
        costs.update(step, stack.stack().len(), n_rest - rest.len()).map_err(Unreadable::Damaged)?;
    }
}

/// What an instruction does to the stack, as far as costs go.
#[derive(Clone, Copy, Debug)]
enum StackEffect {
    Header,
    /// Copies the top into the memo.
    Put(u32),
    /// Copies from the memo to the top.
    Get(u32),
    /// Adds what is above a list or dictionary to it.
    Collect,
    /// Pushes something new, or makes one object of several.
    Other,
}

impl StackEffect {
    /// Looks at the next instruction without running it.
    fn next(rest: &[u8]) -> Result<Self, String> {
        let cut_off = || "its description of the tensors is cut off".to_owned();
        let (code, arguments) = rest.split_first().ok_or_else(cut_off)?;
        let byte = || arguments.first().copied().ok_or_else(cut_off);
        let long = || arguments.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(cut_off);
        Ok(match code {
            0x80 => Self::Header,
            b'q' => Self::Put(byte()?.into()),
            b'r' => Self::Put(long()?),
            b'h' => Self::Get(byte()?.into()),
            b'j' => Self::Get(long()?),
            b's' | b'u' | b'a' | b'e' => Self::Collect,
            // A text is allocated before it is read.
            b'X' if long()? as usize > arguments.len() - 4 => return Err(cut_off()),
            // An integer is assembled in 64 bits.
            0x8a if byte()? > 8 => return Err("it contains an integer of more than 64 bits".to_owned()),
            _ => Self::Other,
        })
    }
}

/// The costs of what is on candle's stack and in its memo, slot by slot.
struct Costs {
    stack: Vec<Cost>,
    memo: HashMap<u32, Cost>,
    copies_left: usize,
}

impl Costs {
    /// Refuses a copy that would be one too many.
    fn admit(&mut self, step: StackEffect) -> Result<(), String> {
        let copied = match step {
            StackEffect::Put(_) => self.stack.last(),
            StackEffect::Get(id) => self.memo.get(&id),
            StackEffect::Header | StackEffect::Collect | StackEffect::Other => None,
        };
        let n_objects = copied.map_or(0, |cost| cost.n_objects);
        self.copies_left = self
            .copies_left
            .checked_sub(n_objects)
            .ok_or("its description of the tensors repeats itself without end")?;
        Ok(())
    }

    /// Follows what an instruction of `n_bytes` did to the stack, which now has `len` objects.
    fn update(&mut self, step: StackEffect, len: usize, n_bytes: usize) -> Result<(), String> {
        match step {
            StackEffect::Header => {}
            StackEffect::Put(id) => {
                self.memo.extend(self.stack.last().map(|cost| (id, *cost)));
            }
            StackEffect::Get(id) => self.stack.extend(self.memo.get(&id)),
            StackEffect::Other if len > self.stack.len() => {
                self.stack.push(Cost { n_objects: 1 + n_bytes / TEXT_BYTES, depth: 0 });
            }
            StackEffect::Collect | StackEffect::Other => {
                let parts = self.stack.split_off(len.saturating_sub(1).min(self.stack.len()));
                let n_objects = parts.iter().map(|cost| cost.n_objects).sum::<usize>();
                let deepest = |parts: &[Cost]| parts.iter().map(|cost| cost.depth + 1).max().unwrap_or(0);
                let cost = match (step, parts.split_first()) {
                    // The list is there already; only its new items are a level below it.
                    (StackEffect::Collect, Some((list, items))) => {
                        Cost { n_objects, depth: list.depth.max(deepest(items)) }
                    }
                    _ => Cost { n_objects: n_objects + 1, depth: deepest(&parts) },
                };
                if cost.depth > MAX_DEPTH {
                    return Err("its description of the tensors is nested too deeply".to_owned());
                }
                self.stack.push(cost);
            }
        }
        Ok(())
    }
}

/// What the reader could not do.
fn explain(error: &candle_core::Error, step: StackEffect, stack: &[Object]) -> Unreadable {
    // Objects that only Python code can fill: the one in question is on top.
    if let (StackEffect::Collect, Some(class)) = (step, stack.last().and_then(class_name)) {
        let what = format!("contains an object of the class {class}, which only Python can read");
        return Unreadable::Foreign { what, advice: SAVE_WEIGHTS };
    }
    let reason: String = error.to_string().chars().take_while(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
    Unreadable::Damaged(format!("its description of the tensors cannot be read ({reason})"))
}

/// `module.Class`, of a class or of what it would be called to make.
pub(super) fn class_name(object: &Object) -> Option<String> {
    match object {
        Object::Class { module_name, class_name } => {
            Some(format!("{module_name}.{class_name}")).filter(|name| is_presentable(name))
        }
        Object::Reduce { callable, .. } | Object::Build { callable, .. } => class_name(callable),
        _ => None,
    }
}

//! Damage to JSON that stays JSON most of the time: values at their ends, of another kind, of another place,
//! missing, twice, too many, nested without end.

use serde_json::{Map, Value, json};

use super::{bytes, rng::Rng};

/// Stands for text that no value has: what follows it is put in as it is, without quotation marks.
const RAW: &str = "\u{e000}";
/// Stands for a quotation mark in raw text.
const QUOTE: char = '\u{e002}';
/// Stands before a key that is there already.
const AGAIN: &str = "\u{e001}";
/// More than any parser should follow.
const DEPTHS: [usize; 4] = [64, 127, 300, 100_000];

/// Breaks a JSON text; one that is none is broken as bytes.
pub fn damaged(text: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut broken = text.to_vec();
    let Ok(mut value) = serde_json::from_slice::<Value>(text) else {
        bytes::damage(&mut broken, other, rng);
        return broken;
    };
    let other: Value = serde_json::from_slice(other).unwrap_or(Value::Null);
    damage(&mut value, &other, rng);
    let mut broken = written(&value);
    if rng.one_in(12) {
        bytes::damage(&mut broken, text, rng);
    }
    broken
}

/// Breaks a value in one to several places.
pub fn damage(value: &mut Value, other: &Value, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let copy = somewhere(if rng.one_in(3) { other } else { value }, rng);
        change(place(value, rng), copy, rng);
    }
}

/// The text of a value, with what stands for raw text put in.
pub fn written(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    let mark = format!("\"{RAW}");
    let mut parts = text.split(&mark);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (raw, rest) = part.split_once('"').unwrap_or((part, ""));
        let raw = raw.replace(QUOTE, "\"");
        // Deep nesting is said by its depth, which is shorter to carry about.
        match raw.split_once('×').and_then(|(what, depth)| Some((what, depth.parse::<usize>().ok()?))) {
            Some((what, depth)) => out.push_str(&what.repeat(depth)),
            None => out.push_str(&raw),
        }
        out.push_str(rest);
    }
    out.replace(AGAIN, "").into_bytes()
}

/// A walk from the top that ends early most of the time: what is far up decides most.
fn path(value: &Value, rng: &mut Rng) -> Vec<usize> {
    let mut path = Vec::new();
    let mut at = value;
    loop {
        let n = match at {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if n == 0 || (!path.is_empty() && rng.one_in(4)) {
            return path;
        }
        let idx = rng.below(n);
        path.push(idx);
        at = match at {
            Value::Array(items) => &items[idx],
            Value::Object(fields) => fields.values().nth(idx).unwrap_or(&Value::Null),
            _ => return path,
        };
    }
}

fn place<'a>(value: &'a mut Value, rng: &mut Rng) -> &'a mut Value {
    let path = path(value, rng);
    path.into_iter().fold(value, |at, idx| match at {
        Value::Array(items) => &mut items[idx],
        Value::Object(fields) => fields.values_mut().nth(idx).unwrap_or_else(|| unreachable!("the path was walked")),
        other => other,
    })
}

/// A copy of some part, unless it is large.
fn somewhere(value: &Value, rng: &mut Rng) -> Value {
    const MOST: usize = 4096;
    let mut copy = value.clone();
    let part = place(&mut copy, rng).take();
    if part.to_string().len() > MOST { Value::Null } else { part }
}

fn change(at: &mut Value, copy: Value, rng: &mut Rng) {
    match (at, rng.below(4)) {
        (at, 0) => *at = any(rng),
        (at, 1) if rng.one_in(2) => *at = copy,
        (Value::Number(number), _) => {
            let known = number.as_f64().unwrap_or(0.0);
            let near = [known + 1.0, known - 1.0, -known, known * 2.0, known * 1e6, known / 3.0];
            let near = *rng.pick(&near);
            *number = if near.fract() == 0.0 && near.abs() < 1e15 {
                (near as i64).into()
            } else {
                serde_json::Number::from_f64(near).unwrap_or_else(|| 0.into())
            };
        }
        (Value::String(text), _) => *text = string(text, rng),
        (Value::Bool(flag), _) => *flag = !*flag,
        (Value::Array(items), _) => list(items, copy, rng),
        (Value::Object(fields), _) => object(fields, copy, rng),
        (at @ Value::Null, _) => *at = copy,
    }
}

fn list(items: &mut Vec<Value>, copy: Value, rng: &mut Rng) {
    let at = rng.below(items.len());
    match rng.below(6) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 => items.truncate(at),
        2 => items.insert(at, copy),
        3 if !items.is_empty() => {
            // Of one thing too many.
            let again = items[at].clone();
            let n = if again.to_string().len() < 64 { 1 << rng.below(12) } else { 2 };
            items.splice(at..at, std::iter::repeat_n(again, n));
        }
        4 if !items.is_empty() => {
            let with = rng.below(items.len());
            items.swap(at, with);
        }
        _ => items.insert(at, any(rng)),
    }
}

fn object(fields: &mut Map<String, Value>, copy: Value, rng: &mut Rng) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    if keys.is_empty() {
        fields.insert("x".to_owned(), copy);
        return;
    }
    let key = rng.pick(&keys).clone();
    match rng.below(6) {
        0 | 1 => drop(fields.shift_remove(&key)),
        2 => drop(fields.insert(format!("{AGAIN}{key}"), copy)),
        3 => {
            let with = rng.pick(&keys).clone();
            let (a, b) = (fields[&key].clone(), fields[&with].clone());
            fields.insert(key, b);
            fields.insert(with, a);
        }
        4 => {
            let value = fields.shift_remove(&key).unwrap_or_default();
            fields.insert(string(&key, rng), value);
        }
        _ => drop(fields.insert(key, any(rng))),
    }
}

fn string(text: &str, rng: &mut Rng) -> String {
    match rng.below(7) {
        0 => String::new(),
        1 => text.chars().take(rng.below(text.len() + 1)).collect(),
        2 => text.repeat(2 + rng.below(3)),
        3 => format!("{text}{}", rng.pick(&["\0", "\n", " ", "\u{202e}", "é", "\u{10ffff}", "▁", "$A", "]", "("])),
        4 => text.chars().rev().collect(),
        5 => rng.pick(&["../../x", "/dev/zero", "-1", "1e400", "NaN", "{}", "gelu", "softmax", "(a*)*b"]).to_string(),
        _ => "a".repeat(1 << rng.below(17)),
    }
}

/// A value that nobody expects.
fn any(rng: &mut Rng) -> Value {
    let raw = |text: &str| Value::String(format!("{RAW}{text}"));
    match rng.below(14) {
        0 => Value::Null,
        1 => Value::Bool(rng.one_in(2)),
        2 => json!([]),
        3 => json!({}),
        4 | 5 => json!(bytes::extreme(rng)),
        6 => json!(-(bytes::extreme(rng) as i64 >> 1)),
        7 => json!(*rng.pick(&[0.5, -0.0, 1e-320, 1e38, 1e39, 1e300, -1e300])),
        8 => {
            let numbers = ["1e999", "-1e999", "123456789012345678901234567890", "NaN", "Infinity", "01", "+1", "'x'"];
            raw(rng.text(&numbers))
        }
        9 => raw(&format!("[×{}", rng.pick(&DEPTHS))),
        10 => raw(&format!("{{{QUOTE}a{QUOTE}:×{}", rng.pick(&DEPTHS))),
        11 => {
            // Whole, and deep enough to be tried.
            let depth = 20 + rng.below(100);
            (0..depth).fold(json!(1), |inner, _| json!([inner]))
        }
        12 => json!("x".repeat(1 << rng.below(14))),
        _ => json!(rng.below(300)),
    }
}

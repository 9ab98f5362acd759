//! JSON as Python's `json.dumps` writes it.

use std::fmt::Write as _;

use minijinja::{Error, ErrorKind, Value, value::ValueKind};

/// Values within each other.
const MAX_DEPTH: usize = 64;
/// The widest indentation; Python has no limit.
pub(super) const MAX_INDENT: usize = 64;

/// How values are written.
pub(super) struct JsonStyle {
    /// Between the members of a list.
    pub between: String,
    /// Between a key and its value.
    pub after_key: String,
    pub indent: Option<String>,
    pub is_ascii: bool,
    /// Whether keys are sorted.
    pub sorts: bool,
}

impl JsonStyle {
    /// # Errors
    /// For what is no JSON.
    pub fn written(&self, value: &Value) -> Result<String, Error> {
        let mut out = String::new();
        self.write(value, 0, &mut out)?;
        Ok(out)
    }

    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        let refused = |what: String| Err(Error::new(ErrorKind::BadSerialization, what));
        if depth > MAX_DEPTH {
            return refused(format!("lists and dictionaries lie more than {MAX_DEPTH} deep within each other"));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&value.to_string()),
            ValueKind::String => self.write_text(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                let members: Vec<Value> = value.try_iter()?.collect();
                let write = |member: &Value, out: &mut String| self.write(member, depth + 1, out);
                self.write_members(['[', ']'], &members, depth, out, write)?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sorts {
                    keys.sort();
                }
                let write = |key: &Value, out: &mut String| {
                    match key.kind() {
                        ValueKind::Bool | ValueKind::None => {
                            out.push('"');
                            self.write(key, depth, out)?;
                            out.push('"');
                        }
                        _ => self.write_text(&key.to_string(), out),
                    }
                    out.push_str(&self.after_key);
                    self.write(&value.get_item(key)?, depth + 1, out)
                };
                self.write_members(['{', '}'], &keys, depth, out, write)?;
            }
            kind => return refused(format!("a value of the kind {kind} is no JSON")),
        }
        Ok(())
    }

    fn write_members(
        &self,
        around: [char; 2],
        members: &[Value],
        depth: usize,
        out: &mut String,
        write: impl Fn(&Value, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let line = |depth: usize, out: &mut String| {
            if let Some(indent) = self.indent.as_ref().filter(|_| !members.is_empty()) {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        out.push(around[0]);
        for (place, member) in members.iter().enumerate() {
            if place > 0 {
                out.push_str(&self.between);
            }
            line(depth + 1, out);
            write(member, out)?;
        }
        line(depth, out);
        out.push(around[1]);
        Ok(())
    }

    fn write_text(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || self.is_ascii && !c.is_ascii() => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(out, "\\u{unit:04x}").ok();
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

//! Rules of normalising inside a `tokenizer.json`, looked at before the library reads them: it reserves as much memory
//! as four bytes of theirs ask for.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

/// Bytes in front of the rules that say how long their first part is.
const LENGTH: usize = 4;

/// The one part of the file that is looked at.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
}

/// Refuses compiled rules that claim to be longer than they are.
///
/// # Errors
/// One clause that says what is wrong.
pub(super) fn check(tokenizer: &[u8]) -> Result<(), String> {
    let file: File = serde_json::from_slice(tokenizer).map_err(|error| error.to_string())?;
    check_part(&file.normalizer)
}

fn check_part(part: &Value) -> Result<(), String> {
    match part {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match value {
            Value::String(text) if name == "precompiled_charsmap" => check_rules(text),
            value => check_part(value),
        }),
        Value::Array(parts) => parts.iter().try_for_each(check_part),
        _ => Ok(()),
    }
}

fn check_rules(text: &str) -> Result<(), String> {
    let Ok(rules) = base64::engine::general_purpose::STANDARD.decode(text) else {
        return Err("its normalisation rules are not base64".to_owned());
    };
    // Without any rules the library has nothing to reserve.
    let Some((length, rest)) = rules.split_first_chunk::<LENGTH>() else { return Ok(()) };
    let claimed = u32::from_le_bytes(*length) as usize;
    if claimed > rest.len() {
        return Err(format!("its normalisation rules claim {claimed} bytes, and have {}", rest.len()));
    }
    Ok(())
}

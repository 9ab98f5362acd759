//! Numbers, names and sentences as people read them. Named by every layer, depends on none.

use std::{
    borrow::Cow,
    io::{self, ErrorKind},
    path::Path,
};

mod numbers;

pub use numbers::{
    cell_text, change_text, compact_count, decimal_text, duration_text, length_text, norm_text, ordinal_text,
    points_text, power_text, secs_text, share_text, signed, stepped_text, tick_text, weight_text, whole_text,
};

/// Endings of the pictures that are opened.
pub const PICTURE_FILES: [&str; 9] = ["png", "jpg", "jpeg", "jpe", "webp", "gif", "bmp", "tif", "tiff"];
/// The same as people call them.
pub const PICTURE_KINDS: &str = "PNG, JPEG, WebP, GIF, BMP and TIFF";

/// Bytes in decimal units.
pub fn bytes_text(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.0} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// Bytes of memory beside those that are free: `0.9 of 16 GB`, `53.2 MB of 16 GB`.
pub fn memory_text(n: u64, free: u64) -> String {
    let gigabytes = |n: u64| n as f64 / 1e9;
    let free = format!("{:.*} GB", usize::from(free < 10_000_000_000), gigabytes(free));
    if n < 100_000_000 { format!("{} of {free}", bytes_text(n)) } else { format!("{:.1} of {free}", gigabytes(n)) }
}

/// A number of things: `1 token`, `16,303 tokens`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// How long something still takes, in whole units: `40 s`, `12 min`, `3 h 05 min`.
pub fn wait_text(secs: f64) -> String {
    let secs = secs.max(0.0).ceil() as u64;
    match secs {
        0..90 => format!("{secs} s"),
        90..5_400 => format!("{} min", secs.div_ceil(60)),
        _ => format!("{} h {:02} min", secs / 3_600, secs % 3_600 / 60),
    }
}

/// `262144` as `262,144`.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A title from the word on in which it differs from those of `others` that begin like it; `None` where it differs from
/// all of them at its beginning, of which as many characters are seen as fit.
pub fn from_difference<'a>(title: &str, fit: usize, others: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Titles with less in common are told apart as they are, where there is room.
    const ALIKE: usize = 12;
    /// What is seen of the difference at least.
    const SEEN: usize = 8;
    /// The beginning of a longer word than this is left out, too, and of a shorter one where little fits.
    const WORD: usize = 16;
    const SHOWN: usize = 60;
    let common = |other: &str| title.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let alike = others.into_iter().filter(|other| *other != title).map(common).max()?;
    if alike < ALIKE.min(fit.saturating_sub(SEEN)) {
        return None;
    }
    let chars: Vec<char> = title.chars().collect();
    let before = &chars[..alike.min(chars.len() - 1)];
    let after = |ends: fn(&char) -> bool| before.iter().rposition(ends).map_or(0, |at| at + 1);
    let word = after(|c| c.is_whitespace());
    let start =
        if before.len() - word > WORD.min(fit.saturating_sub(SEEN)) { after(|c| !c.is_alphanumeric()) } else { word };
    let rest: String = chars[start..].iter().take(SHOWN).collect();
    (start > 0).then(|| format!("…{}", rest.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// What a file says, in a sentence of ours: on one line, without what a terminal would obey, and no longer than a
/// person reads. Of a long one the end is kept, too, where parsers say what is wrong.
pub fn told(text: &str) -> Cow<'_, str> {
    const START: usize = 160;
    const END: usize = 80;
    let is_plain = |c: char| !c.is_control() && !is_turning(c);
    if text.len() <= START + END && text.chars().all(is_plain) {
        return text.into();
    }
    let plain: Vec<char> = text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
    if plain.len() <= START + END {
        return plain.into_iter().collect();
    }
    let (start, end) = (&plain[..START], &plain[plain.len() - END..]);
    start.iter().chain(&[' ', '…', ' ']).chain(end).copied().collect()
}

/// Marks that turn the direction of what follows.
const fn is_turning(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first letter large.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `text` with a large letter at the start, unless it starts with the name of a file or a host.
pub fn sentence(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    if first_word.contains(['.', '_']) { text.to_owned() } else { capitalised(text) }
}

/// Why a file cannot be read, to go on after a colon.
pub fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file, check the spelling".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "reading it is not allowed".to_owned(),
        _ => error.to_string(),
    }
}

/// What folders around a checkpoint are called whatever is in them.
const SAY_NOTHING: [&str; 6] = ["model", "checkpoint", "final", "output", "pytorch", "weights"];

/// The name by which people know the checkpoint in a folder, or whose weights file this is: the id of a
/// snapshot in the hub's cache, else the folder's own name, or that of the first folder around it that says
/// more than `model`; of a GGUF file, of which there may be many in a folder, its own.
pub fn checkpoint_name(path: &Path) -> Option<String> {
    if path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("gguf")) {
        return path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    }
    let is_file = path.extension().is_some_and(|ext| ["safetensors", "bin", "pt", "pth"].iter().any(|it| ext == *it));
    let folder = path.parent().filter(|folder| is_file && folder.file_name().is_some()).unwrap_or(path);
    let names: Vec<_> = folder.iter().rev().map(|name| name.to_string_lossy()).collect();
    if let [_, snapshots, repo, ..] = names.as_slice()
        && snapshots == "snapshots"
        && let Some(id) = repo.strip_prefix("models--")
    {
        return Some(id.replace("--", "/"));
    }
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\']);
    let mut telling = names.iter().filter(|name| is_name(name) && !SAY_NOTHING.contains(&name.as_ref()));
    telling.next().or(names.first()).filter(|name| is_name(name)).map(|name| name.clone().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_that_begin_alike_begin_where_they_differ() {
        let [road, street, other] =
            ["demo:gpt · The animal crossed the road", "demo:gpt · The animal crossed the street", "demo:bert · The"];
        let all = [road, street, other];
        assert_eq!(
            all.map(|title| from_difference(title, 60, all)),
            [Some("…road".into()), Some("…street".into()), None]
        );
        assert_eq!(from_difference(road, 60, [road, other]), None, "as it is beside itself and what begins otherwise");
        // The beginning of another one, and names that are one long word.
        assert_eq!(from_difference("demo:gpt · The cat", 60, ["demo:gpt · The cat sat"]), Some("…cat".into()));
        let [dog, cat] = ["demo:gpt · A dog ran", "demo:gpt · The cat sat"];
        assert_eq!([60, 14].map(|fit| from_difference(dog, fit, [cat])), [None, Some("…A dog ran".into())]);
        let [small, large] = ["google/bert_uncased_L-2_H-128 · a", "google/bert_uncased_L-4_H-256 · a"];
        assert_eq!(from_difference(small, 60, [large]), Some("…2_H-128 · a".into()));
        let (classic, bottleneck) = ("demo:classic · a", "demo:bottleneck · a");
        assert_eq!(
            [60, 10].map(|fit| from_difference(classic, fit, [bottleneck])),
            [None, Some("…classic · a".into())]
        );
    }

    #[test]
    fn checkpoints_are_called_by_the_folder_that_tells_them_apart() {
        for (folder, name) in [
            ("/home/ann/tiny-bert", "tiny-bert"),
            ("/home/ann/tiny-bert/model", "tiny-bert"),
            ("/home/ann/tiny-bert/output/final", "tiny-bert"),
            (
                "/hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots/8b32",
                "sentence-transformers/all-MiniLM-L6-v2",
            ),
            ("/hub/models--gpt2/snapshots/607a30d", "gpt2"),
            ("/backup/snapshots/607a30d", "607a30d"),
            ("/home/ann/tiny-bert/model.safetensors", "tiny-bert"),
            ("model.safetensors", "model.safetensors"),
            ("/hub/models--a--b-GGUF/snapshots/607a30d/b.Q4_K_M.gguf", "b.Q4_K_M"),
            ("/model", "model"),
        ] {
            assert_eq!(checkpoint_name(Path::new(folder)).as_deref(), Some(name), "{folder}");
        }
        assert_eq!(checkpoint_name(Path::new("/")), None);
    }
}

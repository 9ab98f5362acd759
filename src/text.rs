//! Numbers as people read them. Named by every layer, depends on none.

/// Bytes in decimal units.
pub fn bytes_text(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.0} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// A number of things: `1 token`, `2 tokens`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
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

//! One form for each kind of number, the same in tooltips, panels, captions and figures. The minus is as long as
//! a plus; NaN is a dash.

/// What stands for a number that there is not.
const NONE: &str = "–";

/// An attention weight, a probability or a p-value: `0.993`, `<0.001`, and `0` for exactly 0. Of a difference the sign
/// is kept.
pub fn weight_text(weight: impl Into<f64>) -> String {
    let weight = weight.into();
    match weight.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.001 => least(weight, "0.001"),
        _ => fixed(weight, 3),
    }
}

/// A share or a probability in percent, with two digits: `99 %`, `7.1 %`, `<0.1 %`, and `0 %` for exactly 0.
pub fn share_text(share: impl Into<f64>) -> String {
    let percent = 100.0 * share.into();
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.1 => least(percent, "0.1 %"),
        size if size < 9.95 => format!("{} %", fixed(percent, 1)),
        _ => format!("{} %", fixed(percent, 0)),
    }
}

/// Logits, scores, correlations, divergences in nats: two decimals, `<0.01`, and `0.00` for exactly 0.
pub fn decimal_text(value: impl Into<f64>) -> String {
    let value = value.into();
    if value != 0.0 && value.abs() < 0.005 { least(value, "0.01") } else { fixed(value, 2) }
}

/// A place in an order: `1st`, `12th`, `42nd`.
pub fn ordinal_text(place: usize) -> String {
    let ending = match (place % 100, place % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{place}{ending}")
}

/// A difference of such numbers, with its sign: `+0.41`, `−3.39`, `<+0.01`.
pub fn change_text(value: impl Into<f64>) -> String {
    let value = value.into();
    match decimal_text(value) {
        text if value <= 0.0 || value.is_nan() => text,
        text => text.strip_prefix('<').map_or_else(|| format!("+{text}"), |least| format!("<+{least}")),
    }
}

/// Two probabilities in percent and their difference in points, in as many decimals as tell them apart.
pub fn points_text(before: f64, after: f64) -> [String; 3] {
    let [before, after] = [100.0 * before, 100.0 * after];
    let points = after - before;
    let decimals = match points.abs() {
        0.05.. => 1,
        0.005.. => 2,
        0.0005.. => 3,
        _ => 1,
    };
    let smallest = fixed(10f64.powi(-(decimals as i32)), decimals);
    let percent = |percent: f64| match fixed(percent, decimals) {
        text if percent > 0.0 && is_zero(&text) => format!("<{smallest} %"),
        text => format!("{text} %"),
    };
    let change = match fixed(points, decimals) {
        text if points != 0.0 && is_zero(&text) => least(points, &smallest).replace('<', "<+"),
        text if points > 0.0 => format!("+{text}"),
        text => text,
    };
    [percent(before), percent(after), change]
}

/// A mean distance in tokens, a length in centimetres: one decimal.
pub fn length_text(length: impl Into<f64>) -> String {
    fixed(length.into(), 1)
}

/// Pixels, points, dots per inch, steps: whole numbers.
pub fn whole_text(value: impl Into<f64>) -> String {
    fixed(value.into(), 0)
}

/// A norm, or a measure whose kind is not known: three digits that count.
pub fn norm_text(norm: impl Into<f64>) -> String {
    digits(norm.into(), 3)
}

/// A number at a scale of colours: two decimals, three where it is small, then powers of ten.
pub fn tick_text(value: impl Into<f64>) -> String {
    let value = value.into();
    match value.abs() {
        0.0 => "0".to_owned(),
        0.1.. => fixed(value, 2),
        0.001.. => fixed(value, 3),
        _ => digits(value, 3),
    }
}

/// A power of ten: in all digits where there are few.
pub fn power_text(exponent: i32) -> String {
    match exponent {
        0..=5 => super::grouped(10f64.powi(exponent) as usize),
        -2..0 => fixed(10f64.powi(exponent), exponent.unsigned_abs() as usize),
        _ => format!("10{}", superscript(exponent)),
    }
}

/// How long something took.
pub fn duration_text(secs: f64) -> String {
    if secs < 1.0 { format!("{secs:.0} ms", secs = secs * 1e3) } else { format!("{secs:.1} s") }
}

/// A short time, in the unit that suits it.
pub fn secs_text(secs: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| secs >= *unit).unwrap_or((1e-9, "ns"));
    format!("{} {name}", norm_text(secs / unit))
}

/// A number of parameters, short.
pub fn compact_count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1} k", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} M", n as f64 / 1e6),
        _ => format!("{:.2} B", n as f64 / 1e9),
    }
}

/// The weight in a cell of a heatmap, as short as it can be: `.99`, `<.01`, and `0` for exactly 0.
pub fn cell_text(weight: impl Into<f64>) -> String {
    let weight = weight.into();
    match weight.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.01 => least(weight, ".01"),
        size => {
            let text = fixed(size, 2);
            signed(weight, text.strip_prefix('0').unwrap_or(&text))
        }
    }
}

/// A number of an axis whose numbers are `step` apart: as many decimals as tell neighbours apart.
pub fn stepped_text(value: f64, step: f64) -> String {
    // A step of 0.1 has one decimal, whatever its logarithm is rounded to.
    let decimals = (-step.log10() - 1e-9).ceil().clamp(0.0, 12.0);
    fixed(value, decimals as usize)
}

/// The size is below what is told: `<0.001`, of a negative number `>−0.001`.
fn least(value: f64, text: &str) -> String {
    if value < 0.0 { format!(">−{text}") } else { format!("<{text}") }
}

/// With so many decimals; what rounds to 0 has no sign.
fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { NONE.to_owned() } else { signed(value, "∞") };
    }
    let size = format!("{:.decimals$}", value.abs());
    if is_zero(&size) { size } else { signed(value, &size) }
}

fn is_zero(size: &str) -> bool {
    size.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// With so many digits that count; powers of ten where there would be many zeros.
fn digits(value: f64, n: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return fixed(value, 0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-3..=6).contains(&magnitude) {
        let mantissa = value.abs() / 10f64.powi(magnitude);
        return signed(value, &format!("{:.*}×10{}", n - 2, mantissa, superscript(magnitude)));
    }
    let decimals = (n as i32 - 1 - magnitude).clamp(0, n as i32) as usize;
    if magnitude >= 3 && decimals == 0 {
        return signed(value, &super::grouped(value.abs().round() as usize));
    }
    fixed(value, decimals)
}

fn superscript(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |byte: u8| DIGITS.get(usize::from(byte.wrapping_sub(b'0'))).copied().unwrap_or('⁻');
    number.to_string().bytes().map(digit).collect()
}

/// The size of a number with its sign.
pub fn signed(value: f64, size: &str) -> String {
    if value < 0.0 { format!("−{size}") } else { size.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_has_one_form() {
        let all = |text: fn(f64) -> String, numbers: &[f64]| numbers.iter().map(|it| text(*it)).collect::<Vec<_>>();
        let weights = all(weight_text, &[0.0, -0.0, 0.993_4, 6e-14, 0.000_99, 1.0, -0.25, -1e-9, f64::NAN]);
        assert_eq!(weights, ["0", "0", "0.993", "<0.001", "<0.001", "1.000", "−0.250", ">−0.001", "–"]);
        let shares = all(share_text, &[0.0, 0.993, 0.071, 0.0996, 0.0004, 1.0, -0.25, -0.0001]);
        assert_eq!(shares, ["0 %", "99 %", "7.1 %", "10 %", "<0.1 %", "100 %", "−25 %", ">−0.1 %"]);
        let logits = all(decimal_text, &[0.0, -3.394, 12.0, -0.001, f64::NEG_INFINITY]);
        assert_eq!(logits, ["0.00", "−3.39", "12.00", ">−0.01", "−∞"]);
        assert_eq!(all(change_text, &[0.0, 0.411, -3.394, 0.001]), ["0.00", "+0.41", "−3.39", "<+0.01"]);
        let norms = all(norm_text, &[0.0, 0.123_44, 1.0711, 12.345, 123.4, 1234.5, 1.2e-5]);
        assert_eq!(norms, ["0", "0.123", "1.07", "12.3", "123", "1,235", "1.2×10⁻⁵"]);
        let ticks = all(tick_text, &[0.0, 0.5, -0.0123, 8e-5, 12.0]);
        assert_eq!(ticks, ["0", "0.50", "−0.012", "8.0×10⁻⁵", "12.00"]);
        assert_eq!(points_text(0.402_11, 0.402_31), ["40.21 %", "40.23 %", "+0.02"]);
        assert_eq!(points_text(3e-7, 0.0), ["<0.1 %", "0.0 %", ">−0.1"]);
        assert_eq!(points_text(0.4, 0.4), ["40.0 %", "40.0 %", "0.0"]);
        let cells = all(cell_text, &[0.0, 0.991, 1.0, -0.25, 0.004, -1e-9, 10.02, f64::NAN]);
        let places = [1, 2, 3, 4, 11, 12, 21, 112, 122].map(ordinal_text);
        assert_eq!(places, ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th", "122nd"]);
        assert_eq!(cells, ["0", ".99", "1.00", "−.25", "<.01", ">−.01", "10.02", "–"]);
    }
}

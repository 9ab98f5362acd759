//! Colours as eyes see them, colour-blind ones too, and how different they look.

use super::Rgba;

pub type Matrix = [[f64; 3]; 3];

pub const NORMAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// Machado, Oliveira and Fernandes 2009, severity 1: protanopia, deuteranopia, tritanopia, in linear light.
pub const BLIND: [Matrix; 3] = [
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
];

fn linear([red, green, blue, _]: Rgba) -> [f64; 3] {
    [red, green, blue].map(|channel| {
        let x = f64::from(channel) / 255.0;
        if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
    })
}

fn times(matrix: Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

/// Oklab (Ottosson 2020): distances are roughly how different two colours look.
fn oklab(linear: [f64; 3]) -> [f64; 3] {
    let cones = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    let lab = [
        [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
    ];
    times(lab, times(cones, linear.map(|channel| channel.clamp(0.0, 1.0))).map(f64::cbrt))
}

/// The smallest distance between two of `colors` to eyes that see through `eyes`.
pub fn closest(colors: &[Rgba], eyes: Matrix) -> f64 {
    let seen: Vec<_> = colors.iter().map(|&color| oklab(times(eyes, linear(color)))).collect();
    let distance = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let pairs = seen.iter().enumerate().flat_map(|(idx, a)| seen[..idx].iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| distance(a, b)).fold(f64::INFINITY, f64::min)
}

/// The smallest distance between one of `colors` and one of `others` to eyes that see through `eyes`.
pub fn apart(colors: &[Rgba], others: &[Rgba], eyes: Matrix) -> f64 {
    let pairs = colors.iter().flat_map(|&a| others.iter().map(move |&b| closest(&[a, b], eyes)));
    pairs.fold(f64::INFINITY, f64::min)
}

//! Jacobian lenses (Gurnee et al. 2026): linear maps, fitted over a corpus, from the stream of a layer to the last one.
//!
//! `J_l` is the mean over inputs and source positions `t` of `Σ_t′ ∂h[t′]/∂x_l[t]`, where `x_l` is the stream behind layer
//! `l`, `h` that behind the last layer before the final norm, and `t` and `t′` run over the same positions: all but the
//! first ones and the last. A layer is read as `norm(J_l · x_l) · W_U`; there is no bias, and `J = I` is the logit lens.

use std::{collections::BTreeMap, fmt};

use rayon::prelude::*;

use super::{
    ExplainError,
    report::{LabQuestion, MethodSpec},
};
use crate::{capture::Matrix, digest::Sha256};

/// The fit of a lens, as the command line has it.
pub const JACOBIAN_LENS: MethodSpec = MethodSpec {
    name: "jacobian-lens",
    title: "Jacobian lens",
    question: LabQuestion::Fact,
    about: "Fits a Jacobian lens over many texts: the mean slope of the last stream by that of each layer, and of its heads",
    example: "--model demo:gpt --corpus demo:reviews --limit 100 --out lens.safetensors",
    caveat: "A lens is a mean over texts and positions: what a layer does with one text need not go its way.",
    formula: "J_l = mean over texts and positions t of Σ_t′ ∂h_last[t′]/∂x_l[t], read as LN_f(J_l x_l) · W_U",
    source: "Gurnee et al. 2026",
    ..MethodSpec::EMPTY
};

/// First positions that are not fitted by default, as in the published estimator.
pub const SKIP_FIRST: usize = 16;
/// Tokens of an input that are read at most by default, as in the published estimator.
pub const MAX_TOKENS: usize = 128;

/// Maps of what attention writes.
#[derive(Clone, Debug, Default)]
pub enum HeadJacobians {
    #[default]
    None,
    /// By layer, of what attention adds to the stream, `[d_model, d_model]`.
    Added(BTreeMap<usize, Matrix>),
    /// By layer, of `z` of all heads side by side, `[d_model, heads · d_head]`.
    Z(BTreeMap<usize, Matrix>),
}

/// A fitted lens. Rows of its matrices are outputs.
#[derive(Clone)]
pub struct JacobianLens {
    /// File that it came from.
    pub name: String,
    pub d_model: usize,
    /// Inputs that the means are over; 0 where the file does not say.
    pub n_prompts: usize,
    /// First positions that were not fitted.
    pub skip_first: Option<usize>,
    /// Layer whose stream it leads to, where the file says; negative ones count from the end.
    pub target_layer: Option<i64>,
    streams: BTreeMap<usize, Matrix>,
    heads: HeadJacobians,
    digest: String,
}

impl fmt::Debug for JacobianLens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JacobianLens({}, {})", self.name, self.digest)
    }
}

impl PartialEq for JacobianLens {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl JacobianLens {
    /// A lens of matrices by layer.
    ///
    /// # Errors
    /// When there is none, or one has another shape; a clause that names it.
    pub fn new(
        name: impl Into<String>,
        d_model: usize,
        streams: BTreeMap<usize, Matrix>,
        heads: HeadJacobians,
    ) -> Result<Self, String> {
        let mut digest = Sha256::default();
        let of_heads = match &heads {
            HeadJacobians::None => None,
            HeadJacobians::Added(of) | HeadJacobians::Z(of) => Some(of),
        };
        if streams.is_empty() && of_heads.is_none_or(BTreeMap::is_empty) {
            return Err("has no matrix of any layer".to_owned());
        }
        for (kind, layer, matrix, of_z) in streams.iter().map(|(layer, matrix)| ("J", layer, matrix, false)).chain(
            of_heads
                .into_iter()
                .flatten()
                .map(|(layer, matrix)| ("J of attention", layer, matrix, matches!(heads, HeadJacobians::Z(_)))),
        ) {
            let [n_rows, n_cols] = matrix.shape();
            if n_rows != d_model || (n_cols != d_model && !of_z) {
                return Err(format!(
                    "has a matrix {kind} of layer {layer} of the shape [{n_rows}, {n_cols}] for a stream of width {d_model}"
                ));
            }
            if matrix.as_slice().iter().any(|value| !value.is_finite()) {
                return Err(format!("has numbers that are not finite in the matrix {kind} of layer {layer}"));
            }
            digest.update(format!("{kind} {layer}").as_bytes());
            digest.update(bytemuck::cast_slice(matrix.as_slice()));
        }
        let digest = digest.text();
        let name = name.into();
        Ok(Self { name, d_model, n_prompts: 0, skip_first: None, target_layer: None, streams, heads, digest })
    }

    /// Layers of whose streams there are matrices.
    pub fn layers(&self) -> impl Iterator<Item = usize> {
        self.streams.keys().copied()
    }

    /// The matrix of the stream behind a layer, `[d_model, d_model]`.
    pub fn stream(&self, layer: usize) -> Option<&Matrix> {
        self.streams.get(&layer)
    }

    /// The matrices of what attention writes.
    pub const fn heads(&self) -> &HeadJacobians {
        &self.heads
    }

    /// What tells it from other lenses: SHA-256 of its matrices.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The lens for a model; one with a matrix for every layer, the last included, is of `z` of the heads: a stream has none
    /// behind the last layer.
    ///
    /// # Errors
    /// When it was not fitted for such a model: a sentence that says how they differ, and what to do.
    pub fn suited(mut self, d_model: usize, n_layers: usize) -> Result<Self, String> {
        let are_all = self.streams.keys().copied().eq(0..n_layers);
        if are_all && n_layers > 0 && matches!(self.heads, HeadJacobians::None) {
            self.heads = HeadJacobians::Z(std::mem::take(&mut self.streams));
        }
        self.check(d_model, n_layers)?;
        Ok(self)
    }

    /// Whether it was fitted for such a model.
    ///
    /// # Errors
    /// As [`Self::suited`].
    pub fn check(&self, d_model: usize, n_layers: usize) -> Result<(), String> {
        let name = &self.name;
        if self.d_model != d_model {
            return Err(format!(
                "the lens {name} is of a stream of width {}, but this model’s has {d_model}: choose the lens of this model",
                self.d_model
            ));
        }
        let of_heads = match &self.heads {
            HeadJacobians::None => None,
            HeadJacobians::Added(of) | HeadJacobians::Z(of) => of.keys().next_back(),
        };
        let last = self.streams.keys().next_back().map(|layer| layer + 1).max(of_heads.copied());
        if let Some(layer) = last.filter(|layer| *layer >= n_layers) {
            return Err(format!(
                "the lens {name} has a layer {}, but this model has {n_layers} layers: choose the lens of this model",
                if of_heads == Some(&layer) { layer } else { layer - 1 }
            ));
        }
        let end = n_layers as i64 - 1;
        match self.target_layer {
            Some(target) if target != end && target + n_layers as i64 != end => Err(format!(
                "the lens {name} leads to layer {target}, but layers are read through the head behind layer {end}: fit it \
                 again without another target layer"
            )),
            _ => Ok(()),
        }
    }
}

/// Sums of mean Jacobians over inputs, `[d_model, d_model]` each, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JacobianSums {
    pub d_model: usize,
    /// Inputs that were added.
    pub n: usize,
    /// By layer, of the stream behind it; the last layer has none.
    pub streams: Vec<Vec<f64>>,
    /// By layer, of what its attention adds.
    pub attention: Vec<Vec<f64>>,
}

/// A fit as far as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LensFit {
    pub sums: JacobianSums,
    /// How many of the first texts are done.
    pub n_done: usize,
    /// Texts that are too short or cannot be read, and why.
    pub left_out: Vec<(usize, String)>,
}

/// A mean Jacobian beside that of a layer that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerJacobian {
    /// Frobenius norm over that of the identity.
    pub norm: f64,
    /// Frobenius norm of the difference from the identity, over that of the identity.
    pub from_identity: f64,
}

impl JacobianSums {
    /// Nothing yet, of a model.
    pub fn new(d_model: usize, n_layers: usize) -> Self {
        let zeros = vec![0.0; d_model * d_model];
        let streams = vec![zeros.clone(); n_layers.saturating_sub(1)];
        Self { d_model, n: 0, streams, attention: vec![zeros; n_layers] }
    }

    /// Adds the mean Jacobians of an input.
    pub fn add(&mut self, streams: &[Vec<f64>], attention: &[Vec<f64>]) {
        self.n += 1;
        let both = self.streams.iter_mut().zip(streams).chain(self.attention.iter_mut().zip(attention));
        for (sums, values) in both {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// A sum as a mean.
    pub fn mean<'a>(&self, sums: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let n = self.n.max(1) as f64;
        sums.iter().map(move |sum| sum / n)
    }

    /// How far the mean of each stream is from leaving it as it is.
    pub fn layers(&self) -> Vec<LayerJacobian> {
        let width = self.d_model.max(1);
        let of = |sums: &Vec<f64>| {
            let (mut norm, mut difference) = (0.0, 0.0);
            for (nth, value) in self.mean(sums).enumerate() {
                let identity = f64::from(u8::from(nth / width == nth % width));
                norm += value * value;
                difference += (value - identity).powi(2);
            }
            let root = |square: f64| (square / width as f64).sqrt();
            LayerJacobian { norm: root(norm), from_identity: root(difference) }
        };
        self.streams.iter().map(of).collect()
    }
}

/// `rows · Jᵀ`: each row of `[n, d_in]` through a matrix `[d_model, d_in]`.
///
/// # Errors
/// When the widths differ.
pub fn carried(jacobian: &Matrix, rows: &Matrix) -> Result<Matrix, ExplainError> {
    let [width, d_in] = jacobian.shape();
    let n = rows.n_rows();
    ExplainError::check_shape("the stream", &[n, d_in], &rows.shape())?;
    let mut values = vec![0.0f32; n * width];
    values.par_chunks_mut(width.max(1)).zip(rows.as_slice().par_chunks(d_in.max(1))).for_each(|(out, row)| {
        out.iter_mut().zip(jacobian.rows()).for_each(|(out, line)| *out = dot(line, row) as f32);
    });
    Matrix::new(values, [n, width]).map_err(|_| ExplainError::option("the lens", width, "a matrix that is not empty"))
}

/// A vector through some columns of a matrix, `J[:, first..first + n] · v`.
pub fn carried_part(jacobian: &Matrix, first: usize, vector: &[f64]) -> Vec<f64> {
    let part = |line: &[f32]| {
        line.iter().skip(first).zip(vector).map(|(weight, value)| f64::from(*weight) * value).sum::<f64>()
    };
    jacobian.rows().map(part).collect()
}

/// A product in double precision, in eight sums.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (first, rest) = a.as_chunks::<8>();
    let (second, left) = b.as_chunks::<8>();
    for (a, b) in first.iter().zip(second) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += f64::from(*a) * f64::from(*b));
    }
    let rest: f64 = rest.iter().zip(left).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(values: &[f32], shape: [usize; 2]) -> Matrix {
        Matrix::new(values.to_vec(), shape).unwrap()
    }

    /// Two layers of width two with a matrix each but for the last.
    fn lens() -> JacobianLens {
        let reference = matrix(&[1.200_969_8, 0.281_815_3, 0.643_749_4, 1.248_779_6], [2, 2]);
        JacobianLens::new("toy", 2, BTreeMap::from([(0, reference)]), HeadJacobians::None).unwrap()
    }

    #[test]
    fn a_stream_goes_through_the_rows_of_its_matrix() {
        let h = matrix(&[0.4, -0.7], [1, 2]);
        let found = carried(lens().stream(0).unwrap(), &h).unwrap();
        for (found, expected) in found.as_slice().iter().zip([0.283_117_2, -0.616_645_9]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        // The same in parts, as heads bring them.
        let parts =
            [carried_part(lens().stream(0).unwrap(), 0, &[0.4]), carried_part(lens().stream(0).unwrap(), 1, &[-0.7])];
        for (number, found) in found.as_slice().iter().enumerate() {
            assert!((parts[0][number] + parts[1][number] - f64::from(*found)).abs() < 1e-6);
        }
        assert!(carried(lens().stream(0).unwrap(), &matrix(&[1.0, 2.0, 3.0], [1, 3])).is_err());
    }

    #[test]
    fn a_lens_of_another_model_is_refused_with_the_difference() {
        let lens = lens();
        assert!(lens.check(2, 2).is_ok());
        assert!(lens.check(3, 2).unwrap_err().contains("width 2"));
        assert!(lens.check(2, 1).unwrap_err().contains("a layer 0"));
        let target = |target: i64| JacobianLens { target_layer: Some(target), ..lens.clone() };
        assert!(target(2).check(2, 3).is_ok() && target(-1).check(2, 3).is_ok());
        assert!(target(-2).check(2, 3).unwrap_err().contains("layer -2"));
    }

    #[test]
    fn matrices_of_other_shapes_and_infinite_numbers_are_refused() {
        let of = |values: &[f32], shape| {
            JacobianLens::new("toy", 2, BTreeMap::from([(3, matrix(values, shape))]), HeadJacobians::None)
        };
        assert!(of(&[1.0; 6], [2, 3]).unwrap_err().contains("[2, 3]"));
        assert!(of(&[1.0, f32::NAN, 0.0, 1.0], [2, 2]).unwrap_err().contains("layer 3"));
        assert!(JacobianLens::new("toy", 2, BTreeMap::new(), HeadJacobians::None).is_err());
        assert!(of(&[1.0; 4], [2, 2]).unwrap() != of(&[2.0; 4], [2, 2]).unwrap());
    }
}

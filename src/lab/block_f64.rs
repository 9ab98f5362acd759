//! One block recomputed in double precision.
//!
//! Rules that divide by what they share out lose digits where a sum nearly cancels: with single precision
//! activations relevance is right to some 1e-3 of the largest value, with these to 1e-5.

use crate::{
    analysis::explain::dense::Dense,
    capture::{LayerCapture, PerHead},
    lab::LabError,
    model::{BlockShape, FinalNorm, Projection, Site},
};

/// A recorded value that is farther than this from the recomputed one, in parts of the largest, comes from something
/// that is not computed again here: single precision is nearer.
const FAR: f64 = 1e-3;

/// The maps of one block without gates, whose heads read one stream.
pub struct Maps {
    /// How they are put together.
    pub shape: BlockShape,
    /// Queries, keys and values of all heads side by side.
    pub qkv: Projection,
    /// From the heads' values to the stream.
    pub out: Projection,
    pub up: Projection,
    pub down: Projection,
}

/// One head in a [`Pass`].
pub struct HeadPass {
    /// `[n, d_head]`.
    pub q: Dense,
    /// `[n, d_head]`.
    pub k: Dense,
    /// `[n, d_head]`.
    pub v: Dense,
    /// `[n, n]`.
    pub pattern: Dense,
}

/// What one block computes of one input.
pub struct Pass {
    /// The stream before the block, `[n, d_model]`.
    pub entering: Dense,
    /// What attention reads of it.
    pub read: Dense,
    pub heads: Vec<HeadPass>,
    /// What the heads' values were mixed to, side by side, `[n, heads · d_head]`.
    pub z: Dense,
    pub attn_out: Dense,
    /// The stream between the branches.
    pub middle: Dense,
    /// What the MLP reads of it.
    pub read_middle: Dense,
    /// Inside the MLP, after its activation.
    pub hidden: Dense,
    pub mlp_out: Dense,
    /// The stream after the block.
    pub leaving: Dense,
}

impl Pass {
    /// Computes the block from the stream before it, and keeps what a changed run recorded.
    ///
    /// # Errors
    /// When a site is missing in the record, or shapes do not fit.
    pub fn of(maps: &Maps, entering: &Dense, scale: f32, record: &Record<'_>) -> Result<Self, LabError> {
        let entering = record.kept_rows(entering.clone(), Site::ResidPre)?;
        let read = normed(&entering, maps.shape.attention.before.as_ref());
        let joint = mapped(&read, &maps.qkv)?;
        let [n_heads, n, d_head] = record.heads(Site::Q)?.shape();
        let mut heads = Vec::with_capacity(n_heads);
        let mut z = Dense::zeros(n, n_heads * d_head);
        for head in 0..n_heads {
            let part = |part: usize| {
                let first = (part * n_heads + head) * d_head;
                Dense::from_fn(n, d_head, |row, col| joint.at(row, first + col))
            };
            let [q, k, v] =
                [(0, Site::Q), (1, Site::K), (2, Site::V)].map(|(nth, site)| record.kept_head(part(nth), site, head));
            let (q, k, v) = (q?, k?, v?);
            let seen = record.head(Site::Pattern, head)?;
            let pattern = record.kept(softmax(&q.product(&k.transposed())?, scale, &seen), seen);
            let mixed = record.kept_head(pattern.product(&v)?, Site::Z, head)?;
            for (to, from) in z.rows_mut().zip(mixed.rows()) {
                to[head * d_head..][..d_head].copy_from_slice(from);
            }
            heads.push(HeadPass { q, k, v, pattern });
        }
        let attn_out = record.kept_rows(mapped(&z, &maps.out)?, Site::AttnOut)?;
        let middle = normed(&entering.clone().plus(&attn_out)?, maps.shape.attention.after.as_ref());
        let middle = record.kept_rows(middle, Site::ResidMid)?;
        let read_middle = normed(&middle, maps.shape.mlp.before.as_ref());
        let mut hidden = mapped(&read_middle, &maps.up)?;
        hidden.as_mut_slice().iter_mut().for_each(|x| *x = maps.shape.activation.at(*x));
        let hidden = record.kept_rows(hidden, Site::MlpHidden)?;
        let mlp_out = record.kept_rows(mapped(&hidden, &maps.down)?, Site::MlpOut)?;
        let leaving = normed(&middle.clone().plus(&mlp_out)?, maps.shape.mlp.after.as_ref());
        Ok(Self { entering, read, heads, z, attn_out, middle, read_middle, hidden, mlp_out, leaving })
    }
}

fn missing() -> LabError {
    LabError::unsuited(
        "relevance cannot be propagated through this model: its activations cannot be recorded".to_owned(),
    )
}

/// What a run recorded of a layer, beside what is computed of it again.
pub struct Record<'a> {
    pub layer: &'a LayerCapture,
    /// Whether the run was changed: then every number that differs at all is the run's own, since a change can be as
    /// small as rounding.
    pub changed: bool,
}

impl Record<'_> {
    fn heads(&self, site: Site) -> Result<&PerHead, LabError> {
        self.layer.per_head(site).ok_or_else(missing)
    }

    fn head(&self, site: Site, head: usize) -> Result<Dense, LabError> {
        Ok(Dense::from(&self.heads(site)?.head(head).ok_or_else(missing)?))
    }

    fn kept_rows(&self, computed: Dense, site: Site) -> Result<Dense, LabError> {
        Ok(self.kept(computed, Dense::from(self.layer.rows(site).ok_or_else(missing)?)))
    }

    fn kept_head(&self, computed: Dense, site: Site, head: usize) -> Result<Dense, LabError> {
        Ok(self.kept(computed, self.head(site, head)?))
    }

    /// What was computed, unless the record says something else.
    fn kept(&self, computed: Dense, recorded: Dense) -> Dense {
        let largest = recorded.as_slice().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let far = if self.changed { 0.0 } else { FAR * largest };
        let same = computed.shape() == recorded.shape();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= far;
        if same && computed.as_slice().iter().zip(recorded.as_slice()).all(near) { computed } else { recorded }
    }
}

/// Softmax of `scores · scale` over the keys that were seen at all.
fn softmax(products: &Dense, scale: f32, seen: &Dense) -> Dense {
    let score = |row: usize, col: usize| {
        if seen.at(row, col) > 0.0 { products.at(row, col) * f64::from(scale) } else { f64::NEG_INFINITY }
    };
    let mut pattern = Dense::from_fn(products.n_rows(), products.n_cols(), score);
    for row in pattern.rows_mut() {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for x in row.iter_mut() {
            *x = if x.is_finite() { (*x - most).exp() } else { 0.0 };
        }
        let sum: f64 = row.iter().sum();
        for x in row.iter_mut().filter(|_| sum > 0.0) {
            *x /= sum;
        }
    }
    pattern
}

/// `x · weight + bias`.
fn mapped(x: &Dense, map: &Projection) -> Result<Dense, LabError> {
    let mut out = x.product(&Dense::from(&map.weight))?;
    if let Some(bias) = &map.bias {
        for row in out.rows_mut() {
            row.iter_mut().zip(bias).for_each(|(x, bias)| *x += f64::from(*bias));
        }
    }
    Ok(out)
}

/// What a branch reads of the stream.
fn normed(stream: &Dense, norm: Option<&FinalNorm>) -> Dense {
    let mut normed = stream.clone();
    let Some(norm) = norm else { return normed };
    for row in normed.rows_mut() {
        let n = row.len().max(1) as f64;
        let mean = if norm.centred { row.iter().sum::<f64>() / n } else { 0.0 };
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let deviation = (variance + f64::from(norm.eps)).sqrt();
        for (nth, (x, weight)) in row.iter_mut().zip(&norm.weight).enumerate() {
            let bias = norm.bias.as_ref().map_or(0.0, |bias| f64::from(bias[nth]));
            *x = (*x - mean) / deviation * f64::from(*weight) + bias;
        }
    }
    normed
}

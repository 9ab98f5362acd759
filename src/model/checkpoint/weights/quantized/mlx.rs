//! MLX's affine form: integers of neighbouring inputs in a word, a scale and a bias for each group of them. A number is
//! `code · scale + bias` (`mlx.core.dequantize`).

use std::{collections::BTreeMap, ops::Range};

use super::{
    EntryTable, Placed, Quantized, StoredBytes, StoredForm,
    codes::{self, CodedTensor, FLOATS, per_word},
};
use crate::model::{
    LoadError,
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// What the name of the scales ends with.
const SCALES: &str = ".scales";

#[derive(Debug)]
struct Mlx {
    stem: String,
    code_width: CodeWidth,
    width: usize,
    /// Groups in a row.
    n_groups: usize,
    codes: Placed,
    scales: Placed,
    biases: Placed,
}

/// `{name}.weight` `[…, d_out, words]`, `.scales` and `.biases` `[…, d_out, n_groups]` become `{name}.weight`
/// `[…, d_out, d_in]`.
pub(super) fn take(
    entries: &mut EntryTable,
    bits: u64,
    own: &BTreeMap<String, u64>,
) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    for stem in codes::stems(entries, SCALES) {
        let codes = codes::beside(entries, &stem, ".weight", &["U32"])?;
        let scales = codes::beside(entries, &stem, SCALES, &FLOATS)?;
        let biases = codes::beside(entries, &stem, ".biases", &FLOATS)?;
        let bits = own.get(&stem).copied().unwrap_or(bits);
        let code_width = codes::code_width(bits);
        let mut shape = codes.1.shape.clone();
        let of_scales = &scales.1.shape;
        let (width, n_groups) = match (shape.last_mut(), of_scales.last()) {
            (Some(last), Some(n_groups)) => {
                *last *= per_word(code_width);
                (*last, *n_groups)
            }
            _ => (0, 0),
        };
        let same_rows =
            shape.len() == of_scales.len() && shape.iter().zip(of_scales).rev().skip(1).all(|(a, b)| a == b);
        if !(same_rows && of_scales == &biases.1.shape && n_groups > 0 && width.is_multiple_of(n_groups)) {
            return Err(format!(
                "{stem}.weight {:?} does not fit its scales {of_scales:?} and biases {:?} in {bits} bits",
                codes.1.shape, biases.1.shape
            ));
        }
        let tensor = CodedTensor {
            name: format!("{stem}.weight"),
            shape,
            dtype_name: format!("MLX, {bits} bits"),
            codes: codes.clone(),
            group_bytes: n_groups * (codes::number_bytes(&scales.1) + codes::number_bytes(&biases.1)),
            code_width,
            companions: vec![format!("{stem}{SCALES}"), format!("{stem}.biases")],
        };
        found.extend([codes::put(entries, tensor, Mlx { stem, code_width, width, n_groups, codes, scales, biases })]);
    }
    Ok(found)
}

impl StoredForm for Mlx {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let row_bytes = self.code_width.bytes_of(self.width);
        let of_groups = rows.start * self.n_groups..rows.end * self.n_groups;
        let numbers = |ending: &str, tensor| -> Result<GroupNumbers, LoadError> {
            let all = stored.numbers(&format!("{}{ending}", self.stem), tensor)?;
            Ok(GroupNumbers::new(all[of_groups.clone()].to_vec()))
        };
        Ok(RowPart::Codes(CodeRows {
            width: self.width,
            code_width: self.code_width,
            codes: stored.bytes(&self.codes, rows.start * row_bytes, rows.len() * row_bytes)?,
            values: codes::integers(self.code_width, 0.0),
            form: GroupForm::Shifted,
            groups: ScaleGroups::Runs(self.width / self.n_groups),
            scales: numbers(SCALES, &self.scales)?,
            offsets: numbers(".biases", &self.biases)?,
        }))
    }
}

//! AWQ as `WQLinear_GEMM` of `AutoAWQ` packs it: eight outputs in a word, the even ones first; a scale and a zero for each
//! group of inputs and each output. A number is `(code − zero) · scale`.

use std::{collections::BTreeMap, ops::Range};

use super::{
    EntryTable, Placed, Quantized, StoredBytes, StoredForm,
    codes::{self, CodedTensor, FLOATS, WORDS, code_of, columns},
};
use crate::model::{
    LoadError,
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// What the name of the codes ends with.
const CODES: &str = ".qweight";
/// Outputs in a word.
const PER_WORD: usize = 8;
/// The place of each output in its word.
const PLACES: [usize; PER_WORD] = [0, 4, 1, 5, 2, 6, 3, 7];

#[derive(Debug)]
struct Awq {
    stem: String,
    /// Inputs and outputs.
    dims: (usize, usize),
    /// `[d_in, d_out / 8]`.
    codes: Placed,
    /// `[n_groups, d_out / 8]`.
    zeros: Placed,
    /// `[n_groups, d_out]`.
    scales: Placed,
}

/// `{name}.qweight`, `.qzeros` and `.scales` become `{name}.weight` `[d_out, d_in]`.
pub(super) fn take(entries: &mut EntryTable) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    for stem in codes::stems(entries, CODES) {
        let codes = codes::beside(entries, &stem, CODES, &WORDS)?;
        let zeros = codes::beside(entries, &stem, ".qzeros", &WORDS)?;
        let scales = codes::beside(entries, &stem, ".scales", &FLOATS)?;
        let [d_in, n_words] = codes::matrix(&stem, &codes.1)?;
        let [n_groups, d_out] = codes::matrix(&stem, &scales.1)?;
        let fits = d_out == n_words * PER_WORD
            && zeros.1.shape == [n_groups, n_words]
            && n_groups > 0
            && d_in.is_multiple_of(n_groups)
            && d_in.is_multiple_of(2);
        if !fits {
            return Err(format!(
                "{stem}{CODES} {:?} does not fit its zeros {:?} and scales {:?} in 4 bits",
                codes.1.shape, zeros.1.shape, scales.1.shape
            ));
        }
        let tensor = CodedTensor {
            name: format!("{stem}.weight"),
            shape: vec![d_out, d_in],
            dtype_name: "AWQ, 4 bits".to_owned(),
            codes: codes.clone(),
            group_bytes: n_groups * (codes::number_bytes(&scales.1) + 1),
            code_width: CodeWidth::Four,
            companions: vec![format!("{stem}.qzeros"), format!("{stem}.scales")],
        };
        entries.remove(&format!("{stem}{CODES}"));
        found.extend([codes::put(entries, tensor, Awq { stem, dims: (d_in, d_out), codes, zeros, scales })]);
    }
    Ok(found)
}

/// The code of an output in a row of words.
const fn code(words: &[u32], output: usize) -> u32 {
    code_of(words[output / PER_WORD], PLACES[output % PER_WORD], CodeWidth::Four)
}

impl StoredForm for Awq {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let (d_in, d_out) = self.dims;
        let n_words = d_out / PER_WORD;
        let words = stored.words(&self.codes)?;
        let pairs: Vec<&[u32]> = words.chunks_exact(2 * n_words).collect();
        let byte = |output: usize, pair: &[u32]| {
            let (first, second) = pair.split_at(n_words);
            (code(first, output) | code(second, output) << 4) as u8
        };
        let codes = rows.clone().flat_map(|row| pairs.iter().map(move |pair| byte(row, pair))).collect();
        let zeros = stored.words(&self.zeros)?;
        let zero = |row: usize, words: &[u32]| code(words, row) as f32;
        let offsets = rows.clone().flat_map(|row| zeros.chunks_exact(n_words).map(move |words| zero(row, words)));
        let scales = stored.numbers(&format!("{}.scales", self.stem), &self.scales)?;
        let n_groups = scales.len() / d_out.max(1);
        Ok(RowPart::Codes(CodeRows {
            width: d_in,
            code_width: CodeWidth::Four,
            codes,
            values: codes::integers(CodeWidth::Four, 0.0),
            form: GroupForm::Centred,
            groups: ScaleGroups::Runs(d_in / n_groups.max(1)),
            offsets: GroupNumbers::new(offsets.collect()),
            scales: GroupNumbers::new(columns(&scales, d_out, rows)),
        }))
    }
}

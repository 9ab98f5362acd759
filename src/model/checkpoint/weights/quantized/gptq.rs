//! GPTQ: integers of several inputs in a word, a scale and a zero for each group of inputs and each output, and perhaps
//! the group of each input, which are then in no order.
//!
//! A number is `(code − zero) · scale` (`TorchQuantLinear` of `GPTQModel`, `QuantLinear` of `AutoGPTQ`).

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    EntryTable, Placed, Quantized, StoredBytes, StoredForm,
    codes::{self, CodedTensor, FLOATS, WORDS, code_of, columns, per_word},
};
use crate::model::{
    LoadError,
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// What the name of the codes ends with.
const CODES: &str = ".qweight";

#[derive(Debug)]
struct Gptq {
    stem: String,
    code_width: CodeWidth,
    /// Inputs and outputs.
    dims: (usize, usize),
    /// `[d_in / per word, d_out]`.
    codes: Placed,
    /// `[n_groups, d_out / per word]`.
    zeros: Placed,
    /// `[n_groups, d_out]`.
    scales: Placed,
    /// `[d_in]`.
    group_of: Option<Placed>,
    /// Inputs of a group, where they are in order.
    group_size: usize,
    whole_zeros: bool,
}

/// `{name}.qweight`, `.qzeros`, `.scales` and perhaps `.g_idx` become `{name}.weight` `[d_out, d_in]`.
pub(super) fn take(
    entries: &mut EntryTable,
    (bits, group_size): (u64, Option<usize>),
    whole_zeros: bool,
) -> Result<BTreeMap<String, Quantized>, String> {
    let code_width = codes::code_width(bits);
    let mut found = BTreeMap::new();
    for stem in codes::stems(entries, CODES) {
        let codes = codes::beside(entries, &stem, CODES, &WORDS)?;
        let zeros = codes::beside(entries, &stem, ".qzeros", &WORDS)?;
        let scales = codes::beside(entries, &stem, ".scales", &FLOATS)?;
        let index = format!("{stem}.g_idx");
        let group_of =
            entries.contains_key(&index).then(|| codes::beside(entries, &stem, ".g_idx", &WORDS)).transpose()?;
        let [n_words, d_out] = codes::matrix(&stem, &codes.1)?;
        let [n_groups, n_scales] = codes::matrix(&stem, &scales.1)?;
        let per_word = per_word(code_width);
        let d_in = n_words * per_word;
        let group_size = group_size.unwrap_or(d_in);
        if group_of.as_ref().is_some_and(|(_, entry)| entry.shape != [d_in]) {
            return Err(format!("{stem}.g_idx is not of the {d_in} inputs that {stem}{CODES} has in {bits} bits"));
        }
        let fits = n_scales == d_out
            && zeros.1.shape == [n_groups, d_out.div_ceil(per_word)]
            && (group_of.is_some() || n_groups == d_in.div_ceil(group_size));
        if !fits {
            return Err(format!(
                "{stem}{CODES} of {d_in} inputs and {d_out} outputs in {bits} bits does not fit its zeros {:?} and scales {:?}",
                zeros.1.shape, scales.1.shape
            ));
        }
        let mut companions = vec![format!("{stem}.qzeros"), format!("{stem}.scales")];
        companions.extend(group_of.is_some().then_some(index));
        let name = format!("{stem}.weight");
        let tensor = CodedTensor {
            name,
            shape: vec![d_out, d_in],
            dtype_name: format!("GPTQ, {bits} bits"),
            codes: codes.clone(),
            group_bytes: n_groups * (codes::number_bytes(&scales.1) + 1),
            code_width,
            companions,
        };
        entries.remove(&format!("{stem}{CODES}"));
        let dims = (d_in, d_out);
        let form = Gptq { stem, code_width, dims, codes, zeros, scales, group_of, group_size, whole_zeros };
        found.extend([codes::put(entries, tensor, form)]);
    }
    Ok(found)
}

impl Gptq {
    /// The zero of each group of some outputs, output after output.
    fn zeros(&self, words: &[u32], rows: Range<usize>) -> Vec<f32> {
        let per_word = per_word(self.code_width);
        // Zeros less one were made so for a whole word.
        let one = match (self.whole_zeros, self.code_width) {
            (true, _) => 0,
            (false, CodeWidth::Four) => 0x1111_1111,
            (false, CodeWidth::Eight) => 0x0101_0101,
        };
        let n_words = self.dims.1.div_ceil(per_word).max(1);
        let zero = |row: usize, words: &[u32]| {
            code_of(words[row / per_word].wrapping_add(one), row % per_word, self.code_width) as f32
        };
        rows.flat_map(|row| words.chunks_exact(n_words).map(move |words| zero(row, words))).collect()
    }

    fn groups(&self, stored: StoredBytes<'_>, n_groups: usize) -> Result<ScaleGroups, LoadError> {
        let Some(group_of) = &self.group_of else { return Ok(ScaleGroups::Runs(self.group_size)) };
        let group_of = stored.words(group_of)?;
        if let Some(wrong) = group_of.iter().find(|group| **group as usize >= n_groups) {
            let reason = format!("{}.g_idx names the group {wrong} of {n_groups}", self.stem);
            return Err(stored.damaged(&self.codes, reason));
        }
        let in_order = n_groups == self.dims.0.div_ceil(self.group_size)
            && group_of.iter().enumerate().all(|(at, group)| at / self.group_size == *group as usize);
        Ok(if in_order { ScaleGroups::Runs(self.group_size) } else { ScaleGroups::Each(Arc::from(group_of)) })
    }
}

impl StoredForm for Gptq {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let (d_in, d_out) = self.dims;
        let words = columns(&stored.words(&self.codes)?, d_out, rows.clone());
        let scales = stored.numbers(&format!("{}.scales", self.stem), &self.scales)?;
        let n_groups = scales.len() / d_out.max(1);
        Ok(RowPart::Codes(CodeRows {
            width: d_in,
            code_width: self.code_width,
            // The inputs of a word lie in its bytes as they do in memory.
            codes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            values: codes::integers(self.code_width, 0.0),
            form: GroupForm::Centred,
            groups: self.groups(stored, n_groups)?,
            offsets: GroupNumbers::new(self.zeros(&stored.words(&self.zeros)?, rows.clone())),
            scales: GroupNumbers::new(columns(&scales, d_out, rows)),
        }))
    }
}

//! Integers of compressed-tensors (`pack-quantized`): those of neighbouring inputs in a word, above zero by half of their
//! range; a scale for each group of inputs, each output or all of them, and perhaps a zero. A number is
//! `(code − zero) · scale`.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    EntryTable, Placed, Quantized, StoredBytes, StoredForm,
    codes::{self, CodedTensor, FLOATS, WORDS, code_of, per_word},
};
use crate::model::{
    LoadError,
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// What the name of the codes ends with.
const CODES: &str = ".weight_packed";

#[derive(Debug)]
struct Packed {
    stem: String,
    code_width: CodeWidth,
    /// Inputs, and words of a row.
    width: (usize, usize),
    /// Groups in a row.
    n_groups: usize,
    codes: Placed,
    scales: Placed,
    /// `[d_out / per word, n_groups]`.
    zeros: Option<Placed>,
    group_of: Option<Placed>,
}

/// `{name}.weight_packed` `[d_out, words]`, `.weight_scale` `[d_out, n_groups]`, `.weight_shape` and perhaps
/// `.weight_zero_point` and `.weight_g_idx` become `{name}.weight` `[d_out, d_in]`.
pub(super) fn take(entries: &mut EntryTable, stored: StoredBytes<'_>) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    for stem in codes::stems(entries, CODES) {
        let codes = codes::beside(entries, &stem, CODES, &WORDS)?;
        let scales = codes::beside(entries, &stem, ".weight_scale", &FLOATS)?;
        let shape = codes::beside(entries, &stem, ".weight_shape", &["I64", "I32"])?;
        let optional = |ending: &str| {
            let name = format!("{stem}{ending}");
            entries.contains_key(&name).then(|| codes::beside(entries, &stem, ending, &WORDS)).transpose()
        };
        let (zeros, group_of) = (optional(".weight_zero_point")?, optional(".weight_g_idx")?);
        let [d_out, n_words] = codes::matrix(&stem, &codes.1)?;
        let [n_scales, n_groups] = codes::matrix(&stem, &scales.1)?;
        let d_in = second_of(stored, &shape).ok_or_else(|| format!("{stem}.weight_shape is no shape of a matrix"))?;
        // As many codes as fill the words.
        let width = [CodeWidth::Four, CodeWidth::Eight]
            .into_iter()
            .find(|width| d_in.div_ceil(per_word(*width)) == n_words)
            .ok_or_else(|| {
                format!("{stem}{CODES} has {n_words} words for {d_in} inputs, which are neither of 4 nor of 8 bits")
            })?;
        let zeros_fit =
            zeros.as_ref().is_none_or(|(_, zeros)| zeros.shape == [d_out.div_ceil(per_word(width)), n_groups]);
        let groups_fit = match &group_of {
            Some((_, groups)) => groups.shape == [d_in],
            None => n_groups > 0 && d_in.is_multiple_of(n_groups),
        };
        if !(n_scales == d_out && zeros_fit && groups_fit) {
            return Err(format!(
                "{stem}{CODES} {:?} does not fit its scales {:?} and zeros",
                codes.1.shape, scales.1.shape
            ));
        }
        let endings = [
            (".weight_scale", true),
            (".weight_shape", true),
            (".weight_zero_point", zeros.is_some()),
            (".weight_g_idx", group_of.is_some()),
        ];
        let companions = endings.iter().filter(|(_, is_there)| *is_there).map(|(ending, _)| format!("{stem}{ending}"));
        let tensor = CodedTensor {
            name: format!("{stem}.weight"),
            shape: vec![d_out, d_in],
            dtype_name: format!("INT{}", 32 / per_word(width)),
            codes: codes.clone(),
            group_bytes: n_groups * (codes::number_bytes(&scales.1) + usize::from(zeros.is_some())),
            code_width: width,
            companions: companions.collect(),
        };
        entries.remove(&format!("{stem}{CODES}"));
        let form = Packed { stem, code_width: width, width: (d_in, n_words), n_groups, codes, scales, zeros, group_of };
        found.extend([codes::put(entries, tensor, form)]);
    }
    Ok(found)
}

/// The second of two whole numbers, which the tensor of a shape holds.
fn second_of(stored: StoredBytes<'_>, shape: &Placed) -> Option<usize> {
    if shape.1.shape != [2] {
        return None;
    }
    if shape.1.dtype_name == "I32" {
        return usize::try_from(stored.words(shape).ok()?[1]).ok();
    }
    let bytes = stored.bytes(shape, 8, 8).ok()?;
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok().filter(|size| *size < 1 << 32)
}

impl Packed {
    fn groups(&self, stored: StoredBytes<'_>) -> Result<ScaleGroups, LoadError> {
        let Some(group_of) = &self.group_of else { return Ok(ScaleGroups::Runs(self.width.0 / self.n_groups)) };
        let group_of = stored.words(group_of)?;
        match group_of.iter().find(|group| **group as usize >= self.n_groups) {
            None => Ok(ScaleGroups::Each(Arc::from(group_of))),
            Some(wrong) => {
                let reason = format!("{}.weight_g_idx names the group {wrong} of {}", self.stem, self.n_groups);
                Err(stored.damaged(&self.codes, reason))
            }
        }
    }
}

impl StoredForm for Packed {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let (d_in, n_words) = self.width;
        let bytes = stored.bytes(&self.codes, rows.start * 4 * n_words, rows.len() * 4 * n_words)?;
        // The last word of a row may have room for more.
        let row_bytes = self.code_width.bytes_of(d_in);
        let codes = bytes.chunks_exact(4 * n_words).flat_map(|row| &row[..row_bytes]).copied().collect();
        let scales = stored.numbers(&format!("{}.weight_scale", self.stem), &self.scales)?;
        let scales = GroupNumbers::new(scales[rows.start * self.n_groups..rows.end * self.n_groups].to_vec());
        let middle = self.code_width.n_codes() as f32 / 2.0;
        let per_word = per_word(self.code_width);
        let (values, form, offsets) = match &self.zeros {
            None => (codes::integers(self.code_width, middle), GroupForm::Scaled { again: 1.0 }, GroupNumbers::none()),
            // Zeros are above zero by as much as the codes.
            Some(zeros) => {
                let words = stored.words(zeros)?;
                let zero = |row: usize, group: usize| {
                    code_of(words[row / per_word * self.n_groups + group], row % per_word, self.code_width) as f32
                };
                let zeros = rows.clone().flat_map(|row| (0..self.n_groups).map(move |group| (row, group)));
                let zeros = zeros.map(|(row, group)| zero(row, group)).collect();
                (codes::integers(self.code_width, 0.0), GroupForm::Centred, GroupNumbers::new(zeros))
            }
        };
        let groups = self.groups(stored)?;
        Ok(RowPart::Codes(CodeRows {
            width: d_in,
            code_width: self.code_width,
            codes,
            values,
            form,
            groups,
            scales,
            offsets,
        }))
    }
}

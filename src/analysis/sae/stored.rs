//! What was counted of features as bytes and back, bit by bit, so that it is gone on with another time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Activations, CorpusFeatures, FeatureCount, FeatureCounts, FiringText};

/// What stands before the numbers.
#[derive(Serialize, Deserialize)]
struct FeaturesHeader {
    site: String,
    d_sae: usize,
    notes: Vec<String>,
    inputs: Vec<usize>,
    n_done: usize,
    left_out: Vec<(usize, String)>,
    n_tokens: usize,
    n_texts: usize,
    texts: Vec<Vec<String>>,
    /// Activations that are not zero, and tokens.
    n_values: usize,
    n_at: usize,
}

/// Numbers of four and eight bytes, one after the other.
struct PackedNumbers<'a>(&'a [u8]);

impl PackedNumbers<'_> {
    fn small(&mut self) -> Option<[u8; 4]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }

    fn whole(&mut self) -> Option<u32> {
        self.small().map(u32::from_le_bytes)
    }

    fn value(&mut self) -> Option<f32> {
        self.small().map(f32::from_le_bytes)
    }

    fn long(&mut self) -> Option<[u8; 8]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }
}

impl CorpusFeatures {
    /// A line of JSON, then the counts of every feature and all activations as little-endian numbers.
    ///
    /// # Errors
    /// When JSON cannot be written.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let Activations { starts, features, values, at } = &self.activations;
        let header = FeaturesHeader {
            site: self.site.clone(),
            d_sae: self.d_sae,
            notes: self.notes.clone(),
            inputs: self.inputs.clone(),
            n_done: self.n_done,
            left_out: self.left_out.clone(),
            n_tokens: self.counts.n_tokens,
            n_texts: self.counts.n_texts,
            texts: self.texts.iter().map(|text| text.to_vec()).collect(),
            n_values: values.len(),
            n_at: at.len(),
        };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        for FeatureCount { n, sum, texts } in &self.counts.features {
            bytes.extend((*n as u64).to_le_bytes());
            bytes.extend(sum.to_le_bytes());
            bytes.extend((texts.len() as u32).to_le_bytes());
            for FiringText { text, position, value } in texts {
                bytes.extend([*text as u32, *position as u32].into_iter().flat_map(u32::to_le_bytes));
                bytes.extend(value.to_le_bytes());
            }
        }
        // Each but the first is where the one before ends.
        bytes.extend(starts.iter().skip(1).flat_map(|start| (*start as u64).to_le_bytes()));
        bytes.extend(features.iter().flat_map(|feature| feature.to_le_bytes()));
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(at.iter().flat_map(|(text, position)| [*text, *position]).flat_map(u32::to_le_bytes));
        Ok(bytes)
    }

    /// What [`Self::to_bytes`] wrote, of what is called so; `None` of anything else.
    pub fn from_bytes(bytes: &[u8], (model, corpus, folder): (&str, &str, &str)) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: FeaturesHeader = serde_json::from_slice(&bytes[..end]).ok()?;
        let mut numbers = PackedNumbers(&bytes[end + 1..]);
        let counts = FeatureCounts {
            n_tokens: header.n_tokens,
            features: (0..header.d_sae).map(|_| count(&mut numbers)).collect::<Option<_>>()?,
            n_texts: header.n_texts,
        };
        let mut starts = Vec::new();
        for _ in 0..header.n_at {
            starts.push(u64::from_le_bytes(numbers.long()?) as usize);
        }
        if header.n_at > 0 {
            starts.insert(0, 0);
        }
        let features = (0..header.n_values).map(|_| numbers.whole()).collect::<Option<Vec<_>>>()?;
        let values = (0..header.n_values).map(|_| numbers.value()).collect::<Option<Vec<_>>>()?;
        let place = |numbers: &mut PackedNumbers<'_>| Some((numbers.whole()?, numbers.whole()?));
        let at = (0..header.n_at).map(|_| place(&mut numbers)).collect::<Option<Vec<_>>>()?;
        let fits = starts.is_sorted() && starts.last().copied().unwrap_or(0) == values.len();
        (fits && numbers.0.is_empty()).then(|| Self {
            model: model.to_owned(),
            corpus: corpus.to_owned(),
            sae: folder.to_owned(),
            site: header.site,
            d_sae: header.d_sae,
            notes: header.notes,
            inputs: header.inputs,
            n_done: header.n_done,
            left_out: header.left_out,
            counts,
            activations: Activations { starts, features, values, at },
            texts: header.texts.into_iter().map(Arc::from).collect(),
        })
    }
}

fn count(numbers: &mut PackedNumbers<'_>) -> Option<FeatureCount> {
    let n = u64::from_le_bytes(numbers.long()?) as usize;
    let sum = f64::from_le_bytes(numbers.long()?);
    let n_texts = numbers.whole()?;
    let text = |numbers: &mut PackedNumbers<'_>| {
        let (text, position) = (numbers.whole()? as usize, numbers.whole()? as usize);
        Some(FiringText { text, position, value: numbers.value()? })
    };
    Some(FeatureCount { n, sum, texts: (0..n_texts).map(|_| text(numbers)).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_comes_back_bit_by_bit() {
        let mut found = CorpusFeatures {
            site: "the stream after layer 1".to_owned(),
            d_sae: 3,
            inputs: vec![4, 7],
            n_done: 2,
            left_out: vec![(7, "it is too long".to_owned())],
            counts: FeatureCounts::new(3, 2),
            ..CorpusFeatures::default()
        };
        let tokens = [(1, vec![(0, 0.1f32), (2, 1.0 / 3.0)]), (2, vec![]), (3, vec![(2, 0.7)])];
        found.add(4, &[], &tokens);
        found.texts[4] = ["a", "b\n", "c"].map(str::to_owned).into();
        (found.model, found.corpus, found.sae) = ("m".to_owned(), "c".to_owned(), "s".to_owned());
        let bytes = found.to_bytes().unwrap();
        assert_eq!(CorpusFeatures::from_bytes(&bytes, ("m", "c", "s")), Some(found));
        assert_eq!(CorpusFeatures::from_bytes(&bytes[..bytes.len() - 1], ("m", "c", "s")), None);
        let empty = CorpusFeatures::default();
        assert_eq!(CorpusFeatures::from_bytes(&empty.to_bytes().unwrap(), ("", "", "")), Some(empty));
    }
}

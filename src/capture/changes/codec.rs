//! Parts of changes as JSON: names of heads, places and forms as texts, matrices as rows.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Scope, head_name, stack_prefix};
use crate::{
    capture::{Matrix, Site},
    ids::{HeadId, Side, StackKind},
};

/// Something that files and the command line write as a text.
pub(super) trait Named: Sized {
    /// What it is, for the sentence about a text that is none.
    const WHAT: &'static str;
    fn written(&self) -> String;
    fn read(text: &str) -> Option<Self>;
}

impl Named for Side {
    const WHAT: &'static str = "side";

    fn written(&self) -> String {
        self.name().to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

impl Named for HeadId {
    const WHAT: &'static str = "head such as L3H5";

    fn written(&self) -> String {
        head_name(*self)
    }

    /// The head of `L3H5` or `cross.L2H1`.
    fn read(text: &str) -> Option<Self> {
        let (stack, layer, head) = place(text)?;
        Some(Self { stack, layer, head: head? })
    }
}

/// Stack, layer and head of `L3H5`, `cross.L2H1` or `L3`.
pub(super) fn place(text: &str) -> Option<(StackKind, usize, Option<usize>)> {
    place_of(text, 'H')
}

/// Stack, layer and the number behind `letter`, as in `L3H5` or `cross.L2H1`.
pub(super) fn place_of(text: &str, letter: char) -> Option<(StackKind, usize, Option<usize>)> {
    let (stack, at) = text.rsplit_once('.').unwrap_or((StackKind::SelfAttention.name(), text));
    let at = at.strip_prefix('L')?;
    let (layer, number) = at.split_once(letter).map_or((at, None), |(layer, number)| (layer, Some(number)));
    let number = number.map(str::parse).transpose().ok()?;
    Some((StackKind::from_name(stack)?, layer.parse().ok()?, number))
}

/// `cross.z.L0H1`: the stack may be missing, the site may not.
pub(super) fn place_of_site(text: &str) -> Result<(StackKind, Site, usize, Option<usize>), String> {
    let read = || {
        let (before, at) = text.rsplit_once('.')?;
        let (stack, site) = before.rsplit_once('.').unwrap_or((StackKind::SelfAttention.name(), before));
        let (_, layer, head) = place(at)?;
        Some((StackKind::from_name(stack)?, Site::from_name(site)?, layer, head))
    };
    read().ok_or_else(|| format!("“{text}” is no place such as resid_post.L3 or z.L0H1"))
}

/// The text of a place.
pub(super) fn site_name(stack: StackKind, site: Site, layer: usize, head: Option<usize>) -> String {
    let head = head.map_or_else(String::new, |head| format!("H{head}"));
    format!("{}{}.L{layer}{head}", stack_prefix(stack), site.name())
}

/// For `serde(with)`.
pub(super) mod as_text {
    use super::{Deserialize, Deserializer, Named, Serializer};
    use serde::de::Error as _;

    pub fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.written())
    }

    pub fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        T::read(&text).ok_or_else(|| D::Error::custom(format!("“{text}” is no {}", T::WHAT)))
    }
}

/// For `serde(with)`: rows of equal length; `null`, which is how JSON writes what is no number, is minus infinity.
pub(super) mod rows {
    use super::{Deserialize, Deserializer, Matrix, Serialize, Serializer};
    use serde::de::Error as _;

    pub fn serialize<S: Serializer>(value: &Matrix, to: S) -> Result<S::Ok, S::Error> {
        value.rows().map(<[f32]>::to_vec).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Matrix, D::Error> {
        let rows = Vec::<Vec<Option<f32>>>::deserialize(from)?;
        let n_cols = rows.first().map_or(0, Vec::len);
        if n_cols == 0 || rows.iter().any(|row| row.len() != n_cols) {
            return Err(D::Error::custom("rows have to be of equal length"));
        }
        let shape = [rows.len(), n_cols];
        let values: Vec<f32> = rows.into_iter().flatten().map(|value| value.unwrap_or(f32::NEG_INFINITY)).collect();
        Matrix::new(values, shape).map_err(D::Error::custom)
    }
}

/// `{}`, `{"layers": [2, 3]}` or `{"heads": ["L0H1"]}`, among the fields of a change.
#[derive(Serialize, Deserialize)]
struct ScopeFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layers: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heads: Option<Vec<HeadText>>,
}

#[derive(Serialize, Deserialize)]
struct HeadText(#[serde(with = "as_text")] HeadId);

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (layers, heads) = match self {
            Self::All => (None, None),
            Self::Layers(layers) => (Some(layers.clone()), None),
            Self::Heads(heads) => (None, Some(heads.iter().copied().map(HeadText).collect())),
        };
        ScopeFields { layers, heads }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match ScopeFields::deserialize(from)? {
            ScopeFields { layers: None, heads: None } => Ok(Self::All),
            ScopeFields { layers: Some(layers), heads: None } => Ok(Self::Layers(layers)),
            ScopeFields { layers: None, heads: Some(heads) } => {
                Ok(Self::Heads(heads.into_iter().map(|HeadText(head)| head).collect()))
            }
            ScopeFields { layers: Some(_), heads: Some(_) } => Err(D::Error::custom("give layers or heads, not both")),
        }
    }
}

/// Whether files leave a value out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

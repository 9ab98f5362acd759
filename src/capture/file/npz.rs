//! Several NumPy arrays in one zip file, stored or deflated: attention of whole stacks or layer by layer,
//! and tokens.
//!
//! The zip crate is in the tree anyway, because candle reads PyTorch's files with it.

use std::io::{Read, Seek, SeekFrom};

use zip::{ZipArchive, read::ZipFile, result::ZipError};

use super::{
    FileError,
    foreign::{self, Found},
    npy::Array,
    place::{self, TensorSlot, What},
};
use crate::{
    capture::Capture,
    ids::{CaptureId, Side, StackKind},
};

/// What an archive may unpack to: so much in any case, and so many times its own size. Attention
/// shrinks to a third or so; what shrinks to a hundredth was made to fill the memory.
const MAX_UNPACKED: u64 = 64 << 20;
const MAX_RATIO: u64 = 64;
/// What NumPy calls arrays that were saved without names, before their number.
const UNNAMED: &str = "arr_";

/// Reads the one capture of an `.npz` file; see [`super::read`].
pub(super) fn read(
    source: &mut (impl Read + Seek),
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    let file_len = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    let mut archive = ZipArchive::new(source).map_err(broken)?;
    if archive.has_duplicate_names() {
        return Err(FileError::NotACapture("two of its arrays have the same name".to_owned()));
    }
    let names: Vec<String> =
        archive.file_names().map(|name| Ok(name?.into_owned())).collect::<Result<_, _>>().map_err(broken)?;
    let n_unnamed = names.iter().filter(|name| name.starts_with(UNNAMED)).count();
    let mut budget = (file_len.saturating_mul(MAX_RATIO)).saturating_add(MAX_UNPACKED);
    let mut found = Found::default();
    for file_name in &names {
        place::check_name(file_name)?;
        let array = file_name.strip_suffix(".npy");
        let Some((name, role)) = array.and_then(|name| Some((name, role(name, n_unnamed)?))) else {
            found.ignore(1);
            continue;
        };
        let mut member = archive.by_name(file_name).map_err(|error| unreadable(name, error))?;
        let size = member.size();
        budget = budget.checked_sub(size).ok_or_else(|| {
            let problem = format!("unpacks to {size} bytes, too many for a file of {file_len}; save it uncompressed");
            FileError::tensor(name, problem)
        })?;
        let array = Array::read_header(&mut member, name)?;
        array.check_size(size)?;
        take(&role, name, &array, &mut member, &mut found)?;
    }
    found.capture(fallback_name, new_id())
}

/// What an array is, by its name.
enum Role {
    Stack(StackKind),
    Layer(usize),
    Site(TensorSlot),
    Tokens(Side),
    Rows,
    TokenStyle,
}

fn role(name: &str, n_unnamed: usize) -> Option<Role> {
    let numbered = |prefix: &str| name.strip_prefix(prefix).and_then(|number| number.parse().ok());
    if let Some(stack) = foreign::attention_stack(name) {
        Some(Role::Stack(stack))
    } else if let Some(side) = foreign::token_side(name) {
        Some(Role::Tokens(side))
    } else if name == foreign::ROWS {
        Some(Role::Rows)
    } else if name == foreign::TOKEN_STYLE {
        Some(Role::TokenStyle)
    } else if let Some(layer) = numbered("layer_") {
        Some(Role::Layer(layer))
    } else if let Some(layer) = numbered(UNNAMED) {
        // Arrays that were saved without names: one is a stack, several are its layers.
        Some(if n_unnamed == 1 { Role::Stack(StackKind::SelfAttention) } else { Role::Layer(layer) })
    } else {
        match place::place(name) {
            (None, Some(place @ TensorSlot::Layer { .. })) => Some(Role::Site(place)),
            _ => None,
        }
    }
}

fn take<R: Read + Seek>(
    role: &Role,
    name: &str,
    array: &Array,
    member: &mut ZipFile<'_, R>,
    found: &mut Found,
) -> Result<(), FileError> {
    match *role {
        Role::Stack(stack) => array.read_stack(member, stack, found)?,
        Role::Tokens(side) => found.set_tokens(side, array.read_texts(member)?)?,
        Role::Rows => found.set_rows(array.read_texts(member)?.first().map_or("", String::as_str))?,
        Role::TokenStyle => {
            found.set_token_style(array.read_texts(member)?.into_iter().next().unwrap_or_default());
        }
        Role::Layer(layer) => {
            let shape = foreign::layer_shape(name, &array.shape)?;
            found.add_layer(StackKind::SelfAttention, layer, name.to_owned(), &shape, array.read_all(member)?)?;
        }
        Role::Site(place @ TensorSlot::Layer { what, .. }) => {
            let shape = match what {
                What::Site(site) if !site.is_per_head() => array.shape.clone(),
                What::Sink | What::Scorer(_) => array.shape.clone(),
                _ => foreign::layer_shape(name, &array.shape)?.to_vec(),
            };
            found.add(place, name.to_owned(), shape, array.read_all(member)?)?;
        }
        Role::Site(_) => {}
    }
    // The end is where the checksum is compared.
    match member.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(FileError::tensor(name, "is longer than the archive says")),
        Err(error) => Err(FileError::tensor(name, format!("cannot be unpacked ({error})"))),
    }
}

fn broken(error: ZipError) -> FileError {
    match error {
        ZipError::Io(error) => FileError::Io(error),
        error => FileError::NotACapture(format!("its archive is broken ({error})")),
    }
}

fn unreadable(name: &str, error: ZipError) -> FileError {
    match error {
        ZipError::Io(error) => FileError::Io(error),
        error => FileError::tensor(name, format!("cannot be unpacked ({error})")),
    }
}

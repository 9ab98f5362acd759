//! A packed text, unpacked as it is read, and no further than a text of its size can be.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;

/// What a file may unpack to: so much in any case, and so many times its own size. Numbers shrink to a
/// tenth or so; what shrinks to a hundredth was made to fill the memory.
const MAX_UNPACKED: u64 = 64 << 20;
const MAX_RATIO: u64 = 64;

/// The text of a whole file.
///
/// # Errors
/// When its length cannot be found out; reading fails where it unpacks to more than a text of its size can hold.
pub fn unpacked<S: Read + Seek>(source: &mut S) -> io::Result<impl Read + use<'_, S>> {
    let file_len = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    let left = file_len.saturating_mul(MAX_RATIO).saturating_add(MAX_UNPACKED);
    // The parser asks for bytes one by one.
    Ok(BufReader::new(Bounded { source: MultiGzDecoder::new(source), left }))
}

struct Bounded<R> {
    source: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.left = self
            .left
            .checked_sub(n as u64)
            .ok_or_else(|| io::Error::other("it unpacks to more than a text of its size can hold; unpack it first"))?;
        Ok(n)
    }
}

//! Damage to containers that keeps their frame whole, so that what is inside is read: lengths, checksums and
//! directories are written anew around what was broken.

use std::io::{Cursor, Read as _, Write as _};

use serde_json::Value;

use super::{bytes, json, rng::Rng};

/// A safetensors file: its header as JSON, descriptions inside of it, shapes with places that fit, or its values.
pub fn safetensors(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let parts = |file: &[u8]| -> Option<(Value, Vec<u8>)> {
        let n = usize::try_from(u64::from_le_bytes(*file.first_chunk()?)).ok()?;
        Some((serde_json::from_slice(file.get(8..8 + n)?).ok()?, file[8 + n..].to_vec()))
    };
    let Some((mut header, mut data)) = parts(file) else { return file.to_vec() };
    let other = parts(other).map_or(Value::Null, |(header, _)| header);
    match rng.below(6) {
        0 => values(&mut data, rng),
        1 => {
            // What has no value may claim any other size.
            let at = rng.below(data.len() + 1);
            let [a, b] = [bytes::extreme(rng), bytes::extreme(rng)];
            let shape = *rng.pick(&[[a, 0, b], [0, a, b], [a, b, 0]]);
            let fields = header.as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
            let mut tensors: Vec<&mut Value> = fields.filter(|value| value.get("shape").is_some()).collect();
            let idx = rng.below(tensors.len());
            if let Some(tensor) = tensors.get_mut(idx) {
                tensor["shape"] = serde_json::json!(shape);
                tensor["data_offsets"] = serde_json::json!([at, at]);
            }
        }
        2 if header["__metadata__"].is_object() => {
            let described = header["__metadata__"].as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
            let mut described: Vec<&mut Value> = described.collect();
            let idx = rng.below(described.len());
            if let Some(text) = described.get_mut(idx) {
                let inner = text.as_str().unwrap_or_default().as_bytes();
                let inner = json::damaged(inner, inner, rng);
                **text = Value::String(String::from_utf8_lossy(&inner).into_owned());
            }
        }
        _ => json::damage(&mut header, &other, rng),
    }
    let text = json::written(&header);
    let n = if rng.one_in(16) { bytes::extreme(rng) } else { text.len() as u64 };
    [&n.to_le_bytes()[..], &text, &data].concat()
}

/// Puts numbers that no weight has among the values.
fn values(data: &mut Vec<u8>, rng: &mut Rng) {
    let odd = [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, -1.0, 2.0, f32::MIN_POSITIVE / 4.0, 1e30];
    for _ in 0..=rng.below(8) {
        let at = rng.below(data.len() / 4) * 4;
        if let Some(place) = data.get_mut(at..at + 4) {
            place.copy_from_slice(&rng.pick(&odd).to_le_bytes());
        }
    }
    if rng.one_in(4) {
        data.truncate(rng.below(data.len() + 1));
    }
}

/// A NumPy array: its dictionary with a length that fits, or its values.
pub fn npy(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    const FRONT: usize = 10;
    let header = file.get(8..FRONT).map(|len| FRONT + usize::from(u16::from_le_bytes([len[0], len[1]])));
    let Some((dictionary, data)) = header.and_then(|end| Some((file.get(FRONT..end)?, file.get(end..)?))) else {
        let mut broken = file.to_vec();
        bytes::damage(&mut broken, other, rng);
        return broken;
    };
    let (mut text, mut data) = (String::from_utf8_lossy(dictionary).into_owned(), data.to_vec());
    match rng.below(5) {
        0 => values(&mut data, rng),
        1 => {
            let kinds = ["|O", "<U9", "<U999999999999", "|S1", ">f8", "<f2", "<c16", "<f3", "<M8[ns]", "|V0", "<U0"];
            text = text.replace("<f4", rng.text(&kinds));
        }
        2 => {
            let dims: Vec<String> = (0..rng.below(7)).map(|_| bytes::extreme(rng).to_string()).collect();
            let (front, _) = text.split_once("'shape'").unwrap_or((&text, ""));
            text = format!("{front}'shape': ({},), }}\n", dims.join(", "));
        }
        3 => {
            let number = rng.text(&["", "0", "9", "-1", "99999"]);
            text = text.replacen(|digit: char| digit.is_ascii_digit(), number, 2);
        }
        _ => {
            let mut broken = text.into_bytes();
            bytes::damage(&mut broken, other, rng);
            text = String::from_utf8_lossy(&broken).into_owned();
        }
    }
    let n = if rng.one_in(8) { bytes::extreme(rng) as u16 } else { text.len() as u16 };
    [&file[..8], &n.to_le_bytes(), text.as_bytes(), &data].concat()
}

/// Which part of a zip archive to break, and how.
pub type Inner = fn(&str, &[u8], &[u8], &mut Rng) -> Vec<u8>;

/// A zip archive with one member broken, left out, renamed or doubled, written anew with checksums that fit.
pub fn zip(file: &[u8], rng: &mut Rng, inner: Inner) -> Vec<u8> {
    let mut members = members(file);
    if members.is_empty() {
        return file.to_vec();
    }
    // The smallest member of an archive of weights describes the others.
    let smallest = (0..members.len()).min_by_key(|&idx| members[idx].1.len()).unwrap_or(0);
    let described = members.iter().position(|(name, _)| is_pickle(name));
    let idx = if rng.one_in(2) { described.unwrap_or(smallest) } else { rng.below(members.len()) };
    match rng.below(12) {
        0 => drop(members.remove(idx)),
        1 => {
            let again = members[idx].clone();
            members.push(again);
        }
        2 => {
            let name = *rng.pick(&["../x", "", "data.pkl", "archive/data/0", "a\0b", "attentions.npy", "layer_9.npy"]);
            name.clone_into(&mut members[idx].0);
        }
        _ => {
            let other = members[rng.below(members.len())].1.clone();
            let (name, content) = &mut members[idx];
            *content = inner(name, content, &other, rng);
        }
    }
    archive(&members)
}

/// Names and contents; none of an archive that cannot be read.
pub fn members(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(file)) else { return Vec::new() };
    let n = archive.len();
    let mut read = |idx| {
        let mut member = archive.by_index(idx).ok()?;
        let name = member.name().ok()?.into_owned();
        let mut content = Vec::new();
        member.read_to_end(&mut content).ok()?;
        Some((name, content))
    };
    (0..n).map(&mut read).collect::<Option<_>>().unwrap_or_default()
}

/// A zip archive without compression, as PyTorch writes it.
fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let facts = [crc32(content), content.len() as u32, content.len() as u32];
        let facts: Vec<u8> = facts.iter().flat_map(|fact| fact.to_le_bytes()).collect();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &facts, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &common, &[0; 10]].concat());
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), content].concat());
    }
    let n = (members.len() as u16).to_le_bytes();
    let place = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes).concat();
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &n, &n, &place, &[0, 0]].concat()
}

/// Whether a member of an archive of weights describes the others.
pub fn is_pickle(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end == "pkl")
}

/// A pickle: codes of its small machine among its bytes.
pub fn pickle(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    /// Marks, memo, tuples, dictionaries, calls, persistent ids, numbers, texts.
    const CODES: &[u8] = b"(qrhjt\x85\x86\x87)}]ubsaeRQcJKMGX\x8a\x80.N\x88\x89oiV0123";
    let mut broken = file.to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(broken.len());
        match rng.below(4) {
            0 => broken.splice(at..at, [*rng.pick(CODES)]).for_each(drop),
            1 if at < broken.len() => broken[at] = *rng.pick(CODES),
            2 => {
                // The same few codes again and again: nesting, copies, growth.
                let few: Vec<u8> = (0..=rng.below(5)).map(|_| *rng.pick(CODES)).collect();
                broken.splice(at..at, few.repeat(1 << rng.below(14)));
            }
            _ => bytes::damage(&mut broken, other, rng),
        }
    }
    broken
}

/// A `SentencePiece` model, field by field.
pub fn protobuf(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut fields = split(file);
    if fields.is_empty() {
        return file.to_vec();
    }
    for _ in 0..=rng.below(3) {
        let mut idx = rng.below(fields.len());
        // The two descriptions stand last, behind hundreds of pieces.
        if rng.one_in(3) {
            idx = fields.len() - 1 - rng.below(fields.len().min(4));
        }
        match rng.below(6) {
            0 if fields.len() > 1 => drop(fields.remove(idx)),
            1 => {
                let again = fields[idx].clone();
                fields.splice(idx..idx, std::iter::repeat_n(again, 1 << rng.below(6)));
            }
            2 => {
                let with = rng.below(fields.len());
                fields.swap(idx, with);
            }
            _ => {
                let (_, content) = &mut fields[idx];
                bytes::damage(content, other, rng);
            }
        }
    }
    let mut broken = Vec::new();
    for (tag, content) in fields {
        broken.push(tag);
        varint(content.len(), &mut broken);
        broken.extend(content);
    }
    if rng.one_in(8) {
        bytes::damage(&mut broken, other, rng);
    }
    broken
}

/// Fields with bytes in them, which is all that stands on top of such a file.
fn split(mut rest: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut fields = Vec::new();
    while let Some((&tag, mut after)) = rest.split_first() {
        let (mut len, mut shift) = (0usize, 0);
        while let Some((&byte, next)) = after.split_first() {
            after = next;
            len |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 || shift > 28 {
                break;
            }
        }
        let Some((content, next)) = after.split_at_checked(len).filter(|_| tag & 7 == 2) else { break };
        fields.push((tag, content.to_vec()));
        rest = next;
    }
    fields
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A PNG with a chunk broken and its checksum put right; any other picture as bytes.
pub fn picture(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    const FRONT: &[u8] = b"\x89PNG\r\n\x1a\n";
    let mut broken = file.to_vec();
    let Some(mut rest) = file.strip_prefix(FRONT).filter(|_| !rng.one_in(4)) else {
        bytes::damage(&mut broken, other, rng);
        return broken;
    };
    let mut chunks = Vec::new();
    while let Some((len, after)) = rest.split_first_chunk::<4>() {
        let len = u32::from_be_bytes(*len) as usize;
        let Some((content, next)) = after.split_at_checked(4 + len) else { break };
        chunks.push(content.to_vec());
        rest = next.get(4..).unwrap_or_default();
    }
    let idx = if rng.one_in(3) { 0 } else { rng.below(chunks.len()) };
    let (name, content) = chunks[idx].split_at(4);
    let (name, mut content) = (name.to_vec(), content.to_vec());
    bytes::damage(&mut content, other, rng);
    chunks[idx] = [name, content].concat();
    if rng.one_in(8) {
        let again = chunks[rng.below(chunks.len())].clone();
        chunks.insert(idx, again);
    }
    broken = FRONT.to_vec();
    for chunk in chunks {
        broken.extend((chunk.len() as u32 - 4).to_be_bytes());
        broken.extend(&chunk);
        broken.extend(crc32(&chunk).to_be_bytes());
    }
    broken
}

/// A packed JSON file: broken inside, or so much of one thing that it packs to nothing.
pub fn gzip(file: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let unpacked = |file| {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut text).map(|_| text).unwrap_or_default()
    };
    let mut text = unpacked(file);
    match rng.below(8) {
        0 => {
            let at = rng.below(text.len());
            text.splice(at..at, std::iter::repeat_n(*rng.pick(b" 0[,\"a"), 1 << (10 + rng.below(13))));
        }
        1 => {
            let mut broken = file.to_vec();
            bytes::damage(&mut broken, other, rng);
            return broken;
        }
        _ => text = json::damaged(&text, &unpacked(other), rng),
    }
    packed(&text)
}

/// A text packed by gzip.
pub fn packed(text: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text).and_then(|()| packer.finish()).unwrap_or_default()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

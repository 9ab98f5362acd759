//! What fuzzing found, one by one: each was a panic, memory without end, or no sentence.

use std::{fs, io::Cursor, path::Path};

use attnscope::{
    capture::{
        Excerpt, Keep,
        file::{self, Format},
    },
    ids::CaptureId,
    model::{
        Model, ModelFiles,
        input::{ImageSource, Preparation, TextInput, open_picture},
    },
    text::told,
};

use crate::{foreign::npy, parity::fixture};

fn sentence(text: &str) -> &str {
    assert!(!text.contains(char::is_control) && text.len() < 700, "no sentence: {text:?}");
    text
}

/// Chunks of a PNG, each with a checksum that fits.
fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in chunks {
        let mut crc = flate2::Crc::new();
        crc.update(*name);
        crc.update(content);
        bytes.extend((content.len() as u32).to_be_bytes());
        bytes.extend(*name);
        bytes.extend(*content);
        bytes.extend(crc.sum().to_be_bytes());
    }
    bytes
}

fn picture_refused(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    fs::write(&path, bytes).unwrap();
    let error = open_picture(&ImageSource::Path(path)).unwrap_err().to_string();
    sentence(&error).to_owned()
}

/// The PNG decoder counted the colours of a palette in a table of 256.
#[test]
fn a_palette_of_more_colours_than_there_can_be() {
    let header = [0, 0, 0, 4, 0, 0, 0, 4, 8, 3, 0, 0, 0];
    let packed = {
        use std::io::Write as _;
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&[0; 20]).unwrap();
        packer.finish().unwrap()
    };
    let with = |palette: &[u8]| png(&[(b"IHDR", &header), (b"PLTE", palette), (b"IDAT", &packed), (b"IEND", &[])]);
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.png");
    fs::write(&good, with(&[7; 12])).unwrap();
    assert_eq!(open_picture(&ImageSource::Path(good)).unwrap().size_px(), (4, 4));
    let message = picture_refused(&with(&[7; 900]));
    assert!(message.contains("damaged"), "{message}");
}

/// Two hundred megapixels with sixteen bits and alpha would take four gigabytes before they are scaled down.
#[test]
fn pictures_are_refused_by_what_they_would_take() {
    let header = |side: u32, depth: u8, color: u8| {
        [&side.to_be_bytes()[..], &side.to_be_bytes(), &[depth, color, 0, 0, 0]].concat()
    };
    for (depth, color, most) in [(16, 6, 43), (8, 6, 66), (8, 2, 166), (8, 0, 200)] {
        let side = ((f64::from(most) + 1.0) * 1e6).sqrt().ceil() as u32;
        let header = header(side, depth, color);
        let message = picture_refused(&png(&[(b"IHDR", &header), (b"IDAT", &[]), (b"IEND", &[])]));
        assert!(message.contains(&format!("more than the {most} megapixels")), "{message}");
    }
}

/// A picture of 33 times 47 pixels with a frame of 223 megapixels in it took 1.1 GB.
#[test]
fn frames_of_a_gif_are_no_larger_than_pictures() {
    let screen = [&b"GIF89a"[..], &33u16.to_le_bytes(), &47u16.to_le_bytes(), &[0x80, 0, 0], &[0; 6]].concat();
    let frame = |width: u16, height: u16| {
        [&[0x2C, 0, 0, 0, 0][..], &width.to_le_bytes(), &height.to_le_bytes(), &[0, 2, 2, 0x44, 1, 0, 0x3B]].concat()
    };
    let message = picture_refused(&[screen, frame(4096, 54_437)].concat());
    assert!(message.contains("a frame in it is larger"), "{message}");
}

/// Four bytes of a normaliser's rules asked the tokenizers library for seven gigabytes.
#[test]
fn rules_of_normalising_that_claim_to_be_longer_than_they_are() {
    let tokenizer = |rules: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            r#"{{"version":"1.0","normalizer":{{"type":"Sequence","normalizers":[{{"type":"Precompiled","precompiled_charsmap":"{rules}"}}]}},
            "model":{{"type":"WordLevel","vocab":{{"a":0}},"unk_token":"a"}}}}"#
        );
        fs::write(folder.path().join("tokenizer.json"), text).unwrap();
        Model::tokenizer(&ModelFiles::folder(folder.path())).map_err(|error| error.to_string())
    };
    let message = tokenizer("xxxxxxxx").unwrap_err();
    assert!(message.contains("claim 3346078919 bytes, and have 2"), "{message}");
    assert!(tokenizer("%%").unwrap_err().contains("base64"));
    tokenizer("AAAAAA==").unwrap();
}

/// Of a pair of long texts every piece that was cut off was put together with every other: two gigabytes for two texts
/// of nine thousand words, more than a minute for longer ones.
#[test]
fn a_pair_of_long_texts_is_cut_without_putting_together_what_is_cut_off() {
    let encoder = Model::tokenizer(&ModelFiles::folder(fixture("bert"))).unwrap();
    let text = "the street ".repeat(20_000);
    let excerpt = Some(Excerpt::of(Keep::First, 16));
    let input = TextInput {
        text: text.clone(),
        text_b: Some(text),
        how: Preparation::reading(excerpt),
        ..TextInput::default()
    };
    let encoded = encoder.encode(&input, 24).unwrap();
    assert_eq!(encoded.ids.len(), 16);
}

/// What a file says is told on one line and in so many words as a person reads.
#[test]
fn what_is_quoted_from_files_stays_a_sentence() {
    assert_eq!(told("plain – text"), "plain – text");
    assert_eq!(told("two\nlines\u{202e} turned"), "two lines  turned");
    let long = told(&format!("{}{}", "a".repeat(100_000), " at line 7")).into_owned();
    assert!(long.chars().count() < 260 && long.ends_with("a at line 7") && long.contains(" … "), "{long}");

    // The type of a NumPy array, the files of an index, a line of merges, a class.
    let array = npy("'<f\\x07'", "(1, 1, 1)", &[0; 4]);
    let array = String::from_utf8_lossy(&array).replace("\\x07", "\u{7}\u{7}\n\u{1}").into_bytes();
    let error = file::read(&mut Cursor::new(array), Format::Npy, "x", &mut || CaptureId(1)).unwrap_err();
    sentence(&error.to_string());
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let copy = |from: &Path| fs::copy(from, folder.path().join(from.file_name().unwrap())).unwrap();
    copy(&fixture("bert-sharded/config.json"));
    write("model.safetensors.index.json", &format!(r#"{{"weight_map":{{"a":"{}\n"}}}}"#, "a".repeat(9000)));
    sentence(&crate::hostile_models::refused(folder.path()).to_string());
    copy(&fixture("tokenizers/roberta/vocab.json"));
    write("merges.txt", &format!("#version: 0.2\n{}\t \u{7} b c\n", "a".repeat(9000)));
    let refusal = |folder: &Path| Model::tokenizer(&ModelFiles::folder(folder)).unwrap_err().to_string();
    assert!(sentence(&refusal(folder.path())).contains("merges.txt"));
}

//! Other programs' arrays: `.npy` and `.npz`, good and hostile.

use std::io::{Cursor, Write as _};

use attnscope::{
    capture::{Capture, RowMass, file::Format},
    ids::{HeadId, Side, StackKind},
};
use half::f16;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::foreign::{SQUARE, f32s, npy, patterns, read, refused, site, texts};

fn npz(method: CompressionMethod, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn stored(members: &[(&str, Vec<u8>)]) -> Result<Capture, String> {
    read(&npz(CompressionMethod::Stored, members), Format::Npz)
}

/// `<U2`, as NumPy keeps texts.
fn token_array(texts: &[&str]) -> Vec<u8> {
    let code = |text: &str, idx| text.chars().nth(idx).map_or(0, u32::from).to_le_bytes();
    let values: Vec<u8> = texts.iter().flat_map(|text| [code(text, 0), code(text, 1)]).flatten().collect();
    npy("'<U2'", &format!("({},)", texts.len()), &values)
}

#[test]
fn arrays_of_every_width_and_order_open() {
    let wide: Vec<u8> = SQUARE.iter().flat_map(|value| f64::from(*value).to_be_bytes()).collect();
    let half: Vec<u8> = SQUARE.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect();
    for (descr, bytes) in [("'<f4'", f32s(&SQUARE)), ("'>f8'", wide), ("'<f2'", half)] {
        for shape in ["(1, 1, 2, 2)", "(1, 1, 1, 2, 2)"] {
            let capture = read(&npy(descr, shape, &bytes), Format::Npy).unwrap();
            assert_eq!(patterns(&capture)[0].as_slice(), SQUARE, "{descr} {shape}");
        }
    }
}

#[test]
fn archives_hold_stacks_or_layers_with_tokens() {
    let layer = |shape: &str| npy("'<f4'", shape, &f32s(&SQUARE));
    let tokens = ("tokens.npy", token_array(&["ä", "of"]));
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for layers in [
            vec![("attentions.npy", npy("'<f4'", "(2, 1, 2, 2)", &f32s(&[SQUARE, SQUARE].concat())))],
            vec![("layer_0.npy", layer("(1, 2, 2)")), ("layer_1.npy", layer("(1, 1, 2, 2)"))],
            vec![("arr_0.npy", layer("(1, 1, 2, 2)")), ("arr_1.npy", layer("(1, 1, 2, 2)"))],
            vec![("self.0.pattern.npy", layer("(1, 2, 2)")), ("self.1.pattern.npy", layer("(1, 2, 2)"))],
        ] {
            let capture =
                read(&npz(method, &[&layers[..], std::slice::from_ref(&tokens)].concat()), Format::Npz).unwrap();
            assert_eq!(patterns(&capture).len(), 2);
            assert!(patterns(&capture).iter().all(|pattern| pattern.as_slice() == SQUARE));
            assert_eq!(texts(&capture, Side::Only), ["ä", "of"]);
        }
    }
    let stack = npy("'<f4'", "(2, 1, 2, 2)", &f32s(&[SQUARE, SQUARE].concat()));
    let alone = stored(&[("arr_0.npy", stack), tokens]).unwrap();
    assert_eq!(patterns(&alone).len(), 2, "one array without a name is a stack");
    let q = npy("'<f4'", "(1, 2, 3)", &f32s(&[0.5; 6]));
    let with_q = stored(&[("self.0.pattern.npy", layer("(1, 2, 2)")), ("self.0.q.npy", q)]).unwrap();
    assert_eq!(with_q.q(HeadId::single(0, 0)).unwrap().shape(), [2, 3]);
    let cross = npy("'<f4'", "(1, 1, 2, 1)", &f32s(&[1.0, 1.0]));
    let cross = stored(&[("cross_attentions.npy", cross), ("note.txt", b"hello".to_vec())]).unwrap();
    assert_eq!(site(&cross, StackKind::Cross, 0, "pattern").shape(), [1, 2, 1]);
    assert!(cross.notes().iter().any(|note| note.contains("not shown")), "the text is no array: {:?}", cross.notes());
}

#[test]
fn hostile_arrays_are_refused_by_name() {
    let array = |descr: &str, shape: &str, values: &[u8]| read(&npy(descr, shape, values), Format::Npy);
    let square = f32s(&SQUARE);
    refused(array("'<f4'", "(1, 1, 2, 2)", &f32s(&[1.0, 0.0, f32::NAN, 1.0])), &["array[0]", "not a number"]);
    refused(array("'<f4'", "(1, 1, 2, 2)", &f32s(&[1.0, 0.0, 1.5, 1.5])), &["array[0]", "sums to 3"]);
    refused(array("'<f4'", "(1000, 1000, 1000, 1)", &square), &["array", "[1000, 1000, 1000, 1]", "16 bytes"]);
    refused(array("'<f4'", "(4294967295, 4294967295, 4294967295, 1)", &square), &["array", "more than any file"]);
    refused(array("'<f4'", "(1000000000, 0, 1, 1)", &[]), &["array", "empty"]);
    refused(array("'<f4'", "(2000, 1, 1, 1)", &f32s(&[1.0; 2000])), &["array", "2000 layers"]);
    refused(array("'<f4'", "(1, 1, 2, 2)", &square[..12]), &["array", "12 bytes"]);
    refused(array("'<f4'", "(2, 2)", &square), &["array", "2 axes"]);
    refused(array("'<f4'", "(1, 2, 1, 2, 1)", &square), &["array", "batch of 2"]);
    refused(array("'<f4'", "(1, 1, 1, 4)", &square), &["array[0]", "not square"]);
    refused(array("'|O'", "(1, 1, 2, 2)", &square), &["array", "pickle"]);
    refused(array("'<i4'", "(1, 1, 2, 2)", &square), &["array", "<i4", "float32"]);
    refused(array("'<U1'", "(1, 1, 2, 2)", &square), &["array", "texts"]);
    refused(array("[('a', '<f4')]", "(4,)", &square), &["array", "no plain numbers"]);
    refused(array("'<f4'", "(-1, 2)", &square), &["array", "shape"]);
    let mut fortran = npy("'<f4'", "(1, 1, 2, 2)", &square);
    let at = fortran.windows(5).position(|window| window == b"False").unwrap();
    fortran.splice(at..at + 5, *b"True ");
    refused(read(&fortran, Format::Npy), &["array", "ascontiguousarray"]);
    refused(read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", Format::Npy), &["array", "header"]);
    for short in [&b""[..], b"\x93NUMP", b"PK\x03\x04abcdefgh"] {
        refused(read(short, Format::Npy), &["array", "not a NumPy array"]);
    }
}

#[test]
fn hostile_archives_are_refused_by_name() {
    let pattern = || npy("'<f4'", "(1, 1, 2, 2)", &f32s(&SQUARE));
    let with = |name: &str, bytes: Vec<u8>| stored(&[("attentions.npy", pattern()), (name, bytes)]);
    refused(with("../x.npy", pattern()), &["../x.npy", "path"]);
    refused(with("/etc/passwd", Vec::new()), &["/etc/passwd", "path"]);
    refused(with("tokens.npy", token_array(&["a", "b", "c"])), &["attentions[0]", "3 self tokens"]);
    refused(with("tokens.npy", npy("'|O'", "(2,)", b"\x80\x04cos\nsystem\n")), &["tokens", "pickle"]);
    refused(with("tokens.npy", npy("'<U1'", "(1000000,)", &[0; 4])), &["tokens", "4 bytes"]);
    refused(with("layer_0.npy", npy("'<f4'", "(1, 2, 2)", &f32s(&SQUARE))), &["layer_0", "twice"]);
    refused(with("layer_4000000000.npy", npy("'<f4'", "(1, 2, 2)", &f32s(&SQUARE))), &["layer_4000000000", "layer"]);
    refused(stored(&[("weights.npy", pattern())]), &["no attention"]);
    refused(stored(&[("attentions.npy", b"\x80\x04\x95 pickled".to_vec())]), &["attentions", "not a NumPy array"]);

    // Two members of one name: the writer refuses, so the second is renamed afterwards.
    let mut twice = npz(CompressionMethod::Stored, &[("layer_0.npy", pattern()), ("layer_1.npy", pattern())]);
    let renamed: Vec<usize> = (0..twice.len() - 7).filter(|&at| twice[at..].starts_with(b"layer_1")).collect();
    for at in renamed {
        twice[at + 6] = b'0';
    }
    refused(read(&twice, Format::Npz), &["same name"]);

    // A flipped bit is noticed by the checksum even where the numbers stay plausible.
    let mut flipped = npz(CompressionMethod::Stored, &[("attentions.npy", pattern())]);
    let at = flipped.windows(4).position(|window| window == 0.25f32.to_le_bytes()).unwrap();
    flipped[at] ^= 1;
    refused(read(&flipped, Format::Npz), &["attentions", "unpacked"]);

    // Rows that sum to one, and shrink to a thousandth.
    let n = 4500;
    let mut identity = vec![0.0f32; n * n];
    (0..n).for_each(|i| identity[i * n + i] = 1.0);
    let bomb = npy("'<f4'", &format!("(1, 1, {n}, {n})"), &f32s(&identity));
    let bomb = npz(CompressionMethod::Deflated, &[("attentions.npy", bomb)]);
    refused(read(&bomb, Format::Npz), &["attentions", "unpacks to", "save it uncompressed"]);
    refused(read(b"PK\x03\x04 not really", Format::Npz), &["archive"]);
}

#[test]
fn truncated_and_flipped_files_never_panic() {
    let archive = npz(
        CompressionMethod::Deflated,
        &[("attentions.npy", npy("'<f4'", "(1, 1, 2, 2)", &f32s(&SQUARE))), ("tokens.npy", token_array(&["a", "b"]))],
    );
    let lists = br#"{"attentions": [[[[1.0, 0.0], [0.25, 0.75]]]], "tokens": ["a", "b"]}"#.to_vec();
    let array = npy("'<f4'", "(1, 1, 2, 2)", &f32s(&SQUARE));
    let mut random = crate::support::synthetic::Random(5);
    for (format, bytes) in [(Format::Npz, archive), (Format::Json, lists), (Format::Npy, array)] {
        assert!(read(&bytes, format).is_ok());
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len], format).is_err(), "{format:?} cut to {len}");
        }
        let mut n_refused = 0;
        for _ in 0..500 {
            let mut broken = bytes.clone();
            let at = (random.next() % broken.len() as u64) as usize;
            broken[at] ^= 1 << (random.next() % 8);
            n_refused += usize::from(read(&broken, format).is_err());
        }
        assert!(n_refused > 100, "{format:?}: {n_refused}");
    }
}

#[test]
fn archives_declare_incomplete_rows_and_sinks() {
    let short = ("layer_0.npy", npy("'<f4'", "(1, 2, 2)", &f32s(&[0.6, 0.0, 0.25, 0.75])));
    let rows: Vec<u8> = "partial".chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    refused(stored(std::slice::from_ref(&short)), &["layer_0", "sums to 0.6"]);
    for shape in ["()", "(1,)"] {
        let partial = stored(&[short.clone(), ("rows.npy", npy("'<U7'", shape, &rows))]).unwrap();
        assert_eq!(partial.row_mass(HeadId::single(0, 0)), RowMass::Partial);
    }
    let pattern = ("self.0.pattern.npy", short.1);
    let sink = stored(&[pattern, ("self.0.sink.npy", npy("'<f4'", "(1, 2)", &f32s(&[0.4, 0.0])))]).unwrap();
    assert_eq!(sink.sink(HeadId::single(0, 0)), Some(&[0.4, 0.0][..]));
}

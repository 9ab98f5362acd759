//! Files out: pictures that say where they came from, whole files or none, names.

use std::{fs, path::Path, sync::Arc};

use attnscope::{
    capture::RgbaBuffer,
    export::{self, ExportError, ExportRequest, atomic_write, default_file_name},
    ids::{HeadId, StackKind},
};

fn picture(alpha: u8) -> RgbaBuffer {
    let pixels = (0..6 * 4u8).flat_map(|i| [i * 10, 255 - i, i, alpha]).collect();
    RgbaBuffer { width: 6, height: 4, pixels }
}

fn request(pixels: RgbaBuffer, metadata: &[(&str, &str)], path: &Path) -> ExportRequest {
    ExportRequest::Png {
        pixels: Arc::new(pixels),
        metadata: metadata.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        path: path.to_owned(),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_saved_picture_has_its_pixels_and_its_origin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.png");
    for alpha in [255, 100] {
        let metadata =
            [("Model", "demo:gpt"), ("Input", "naïve “quotes” 猫\0"), ("", "no keyword"), ("Ключ", "a"), ("Empty", "")];
        assert_eq!(export::write(&request(picture(alpha), &metadata, &path)).unwrap(), path);
        let opened = image::open(&path).unwrap();
        assert_eq!(opened.color().has_alpha(), alpha != 255, "opaque pictures carry no alpha");
        assert_eq!(opened.to_rgba8().into_raw(), picture(alpha).pixels);
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap()));
        let reader = decoder.read_info().unwrap();
        let latin: Vec<_> =
            reader.info().uncompressed_latin1_text.iter().map(|c| (c.keyword.as_str(), c.text.as_str())).collect();
        assert_eq!(latin, [("Model", "demo:gpt"), ("Comment", "no keyword"), ("Comment", "a"), ("Empty", "")]);
        let unicode = &reader.info().utf8_text;
        assert_eq!(unicode.len(), 1);
        assert_eq!(
            (unicode[0].keyword.as_str(), unicode[0].get_text().unwrap().as_str()),
            ("Input", "naïve “quotes” 猫")
        );
    }
    assert_eq!(names_in(folder.path()), ["view.png"], "nothing else is left behind");
}

#[test]
fn pixels_that_do_not_fill_the_picture_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.png");
    for (width, height) in [(0, 0), (7, 4), (usize::MAX, 4)] {
        let broken = RgbaBuffer { width, height, ..picture(255) };
        let error = export::write(&request(broken, &[], &path)).unwrap_err();
        assert!(matches!(error, ExportError::NoPicture { .. }), "{error}");
    }
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.safetensors");
    fs::write(&path, "old").unwrap();
    let error = atomic_write(&path, |out| {
        out.write_all(b"half of the new")?;
        Err(std::io::ErrorKind::StorageFull.into())
    })
    .unwrap_err();
    assert!(error.to_string().starts_with("The disk is full"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["capture.safetensors"]);
    atomic_write(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn places_that_cannot_be_written_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no such folder").join("a.png");
    let error = export::write(&request(picture(255), &[], &missing)).unwrap_err();
    assert!(error.to_string().starts_with("The folder does not exist"), "{error}");
    assert!(error.to_string().ends_with("no such folder"), "{error}");
    let error = export::write(&request(picture(255), &[], folder.path())).unwrap_err();
    assert!(error.to_string().starts_with("This is a folder"), "{error}");
    let denied = atomic_write(&folder.path().join("x"), |_| Err(std::io::ErrorKind::PermissionDenied.into()));
    assert!(denied.unwrap_err().to_string().starts_with("Writing is not allowed here"));
}

#[test]
fn default_names_are_safe_everywhere() {
    let head = Some(HeadId::single(2, 3));
    assert_eq!(default_file_name("demo:gpt", "", head, "heads", "png"), "demo-gpt_L2H3_heads.png");
    assert_eq!(
        default_file_name("demo:gpt", "Once upon a time, there was a cat", head, "heads", "png"),
        "demo-gpt_Once-upon-a-time-there_L2H3_heads.png"
    );
    assert_eq!(
        default_file_name("../../etc/passwd", "猫", None, "Query–key matrix", "png"),
        "etc-passwd_Query-key-matrix.png"
    );
    let cross = HeadId { stack: StackKind::Cross, layer: 0, head: 11 };
    assert_eq!(default_file_name("", "", Some(cross), "heatmap", "png"), "attention_cross_L0H11_heatmap.png");
    assert_eq!(default_file_name("m", &"x".repeat(500), None, "v", "png"), format!("m_{}_v.png", "x".repeat(24)));
}

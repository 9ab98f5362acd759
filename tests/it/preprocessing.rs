//! Pictures to pixel values, against what the Python image processors produce.

use std::{fs, path::PathBuf, sync::Arc};

use attnscope::{
    capture::RgbaBuffer,
    export::png_bytes,
    model::{
        Encoded, ImageSource, Input, Model, ModelFiles, bundled,
        input::{ImageProcessor, open_picture},
    },
};
use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A folder of a model that has the image processor of ViT when its files name none.
fn folder_of_vit() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), r#"{"model_type": "vit"}"#).unwrap();
    folder
}

fn processor(config: &Value) -> ImageProcessor {
    let folder = folder_of_vit();
    fs::write(folder.path().join("preprocessor_config.json"), config.to_string()).unwrap();
    Model::image_processor(&ModelFiles::folder(folder.path()), (224, 224)).unwrap()
}

#[test]
fn pixel_values_are_those_of_the_reference() {
    let cases: Value = serde_json::from_str(&fs::read_to_string(fixture("preprocessing/cases.json")).unwrap()).unwrap();
    let expected = fs::read(fixture("preprocessing/expected.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&expected).unwrap();
    let cases_of = cases["cases"].as_array().unwrap();
    assert!(cases_of.len() > 20);
    for case in cases_of {
        let (name, picture) = (case["case"].as_str().unwrap(), case["picture"].as_str().unwrap());
        let processor = processor(&cases["settings"][case["settings"].as_str().unwrap()]);
        let picture = open_picture(&ImageSource::Path(fixture("preprocessing").join(picture))).unwrap();
        let encoded = processor.encode(&picture, (4, 4), 1).unwrap();
        let tensor = expected.tensor(name).unwrap();
        assert_eq!(tensor.shape(), [3, encoded.size_px.0, encoded.size_px.1], "{name}");
        let expected: Vec<f32> =
            tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        let worst = expected.iter().zip(&encoded.pixels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-6, "{name}: {worst}");
    }
}

/// timm says in `config.json` what becomes of a picture (`tests/fixtures/generate_timm_pictures.py`).
#[test]
fn pictures_of_timm_are_made_ready_as_its_transforms_do() {
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(fixture("preprocessing/timm.json")).unwrap()).unwrap();
    let file = fs::read(fixture("preprocessing/timm.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&file).unwrap();
    assert!(file.len() >= 20);
    for (name, tensor) in file.tensors() {
        let (case, picture) = name.split_once('/').unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = serde_json::json!({"architecture": "vit_tiny_patch16_224", "pretrained_cfg": settings[case]});
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let processor = Model::image_processor(&ModelFiles::folder(folder.path()), (224, 224)).unwrap();
        let picture = open_picture(&ImageSource::Path(fixture("preprocessing").join(picture))).unwrap();
        let encoded = processor.encode(&picture, (4, 4), 1).unwrap();
        assert_eq!(tensor.shape(), [3, encoded.size_px.0, encoded.size_px.1], "{name}");
        let expected = tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        let worst = expected.zip(&encoded.pixels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-6, "{name}: {worst}");
    }
}

/// DINOv3's processor resizes numbers, not bytes (`tests/fixtures/generate_floats.py`).
#[test]
fn pictures_that_are_rescaled_first_are_resized_as_pytorch_does() {
    let file = fs::read(fixture("preprocessing/floats.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&file).unwrap();
    assert!(file.len() >= 4);
    for (name, tensor) in file.tensors() {
        let (picture, filter) = name.rsplit_once('.').and_then(|(name, _)| name.rsplit_once('.')).unwrap();
        let (resample, [_, height, width]) = (if filter == "bicubic" { 3 } else { 2 }, tensor.shape()) else {
            panic!("{name}: {:?}", tensor.shape())
        };
        let size = serde_json::json!({"height": height, "width": width});
        let settings = serde_json::json!({
            "image_processor_type": "DINOv3ViTImageProcessorFast", "size": size, "resample": resample
        });
        let picture = open_picture(&ImageSource::Path(fixture("preprocessing").join(picture))).unwrap();
        let encoded = processor(&settings).encode(&picture, (4, 4), 1).unwrap();
        assert_eq!(encoded.size_px, (*height, *width), "{name}");
        let expected = tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        let worst = expected.zip(&encoded.pixels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 5e-6, "{name}: {worst}");
    }
}

/// Frames that cover part of their canvas, colours that count as transparent, pages and sixteen bits: each pixel is
/// Pillow's (`tests/fixtures/generate_pictures.py`).
#[test]
fn pictures_have_the_pixels_of_pillow() {
    let as_they_are = processor(&serde_json::json!({"do_resize": false, "do_normalize": false}));
    let pixels = |path: PathBuf| {
        let picture = open_picture(&ImageSource::Path(path.clone()));
        let picture = picture.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let encoded = as_they_are.encode(&picture, (1, 1), 0).unwrap();
        (encoded.size_px, encoded.pixels.iter().map(|value| (value * 255.0).round() as u8).collect::<Vec<_>>())
    };
    let expected = |path: &PathBuf| PathBuf::from(format!("{}.png", path.display()));
    let files = || fs::read_dir(fixture("pictures")).unwrap().map(|file| file.unwrap().path());
    let pairs: Vec<_> = files().filter(|path| expected(path).exists()).collect();
    let differs = |path: &&PathBuf| pixels((*path).clone()) != pixels(expected(path));
    let different: Vec<_> = pairs.iter().filter(differs).collect();
    assert!(pairs.len() > 30 && different.is_empty(), "of {} pictures these differ: {different:?}", pairs.len());
    for file in fs::read_dir(fixture("pictures/refused")).unwrap() {
        let error = open_picture(&ImageSource::Path(file.unwrap().path())).unwrap_err();
        assert!(
            error.to_string().starts_with("this TIFF ") && error.details().starts_with("Save it as PNG"),
            "{error}"
        );
    }
}

/// The first page of several is read, and that is told.
#[test]
fn pages_of_a_tiff_are_counted() {
    let notes = |name: &str| open_picture(&ImageSource::Path(fixture("pictures").join(name))).unwrap().notes.concat();
    let files = fs::read_dir(fixture("pictures")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let tiffs: Vec<_> = files.filter(|name| name.strip_suffix(".tiff").is_some()).collect();
    let paged = tiffs.iter().filter(|name| notes(name).contains("Page 1 of its 3 is read")).count();
    assert!(0 < paged && paged < tiffs.len(), "{paged} of {}", tiffs.len());
    let deep = tiffs.iter().filter(|name| notes(name).contains("16 bits")).count();
    assert!(0 < deep && deep < tiffs.len(), "{deep}");
}

#[test]
fn patches_know_where_they_lie_on_the_picture() {
    let picture = open_picture(&ImageSource::Path(fixture("preprocessing/wide.png"))).unwrap();
    let (width, height) = picture.size_px();
    assert!(width > height);
    let config = serde_json::json!({
        "size": {"shortest_edge": 32}, "do_center_crop": true, "crop_size": {"height": 32, "width": 32}
    });
    let encoded = processor(&config).encode(&picture, (8, 8), 1).unwrap();
    assert_eq!(encoded.info.grid, (4, 4));
    assert_eq!(encoded.tokens.len(), 17);
    assert!(encoded.tokens[0].special && encoded.tokens[0].text == "[CLS]");
    assert_eq!(encoded.tokens[1].text, "r0 c0");
    assert_eq!(encoded.tokens[16].text, "r3 c3");
    let crop = encoded.info.crop;
    assert!((crop.height - height as f32).abs() < 0.5, "{crop:?}");
    assert!((crop.x + crop.width / 2.0 - width as f32 / 2.0).abs() < 2.0, "{crop:?} is in the middle");
    assert_eq!(encoded.info.source.unwrap().width, width, "shown at its own resolution");
}

fn embedded(name: &str, picture: &RgbaBuffer) -> ImageSource {
    ImageSource::Embedded { name: name.to_owned(), bytes: png_bytes(picture).unwrap().into() }
}

#[test]
fn an_embedded_picture_is_seen_to_the_last_bit() {
    let pixels = (0..4 * 9 * 7_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 9) as u8).collect();
    let picture = RgbaBuffer { width: 9, height: 7, pixels };
    let opened = open_picture(&embedded("noise", &picture)).unwrap();
    assert_eq!((opened.name.as_str(), &*opened.shown), ("noise", &picture));
    let broken = ImageSource::Embedded { name: "broken".to_owned(), bytes: Arc::from(&b"\x89PNG"[..]) };
    assert!(open_picture(&broken).unwrap_err().to_string().contains("picture"));
}

#[test]
fn without_a_processor_file_the_defaults_of_vit_hold() {
    let processor = Model::image_processor(&ModelFiles::folder(folder_of_vit().path()), (12, 18)).unwrap();
    let white = RgbaBuffer { width: 2, height: 1, pixels: vec![255; 8] };
    let source = embedded("white", &white);
    let encoded = processor.encode(&open_picture(&source).unwrap(), (6, 6), 1).unwrap();
    assert_eq!(encoded.size_px, (12, 18));
    assert_eq!(encoded.info.grid, (2, 3));
    assert!(encoded.pixels.iter().all(|&value| (value - 1.0).abs() < 1e-6));
}

#[test]
fn a_joint_description_of_pictures_and_texts_serves_as_well() {
    let folder = folder_of_vit();
    let files = || ModelFiles::folder(folder.path());
    let write = |config: Value| fs::write(folder.path().join("processor_config.json"), config.to_string()).unwrap();
    let part = serde_json::json!({"image_processor_type": "SiglipImageProcessor", "size": {"height": 8, "width": 12}});
    write(serde_json::json!({"processor_class": "SiglipProcessor", "image_processor": part}));
    let joint = Model::image_processor(&files(), (224, 224)).unwrap();
    assert_eq!(joint.source(), "processor_config.json");
    let picture = open_picture(&ImageSource::Path(fixture("preprocessing/wide.png"))).unwrap();
    let encoded = joint.encode(&picture, (4, 4), 0).unwrap();
    assert_eq!(encoded.pixels, processor(&part).encode(&picture, (4, 4), 0).unwrap().pixels);
    assert_eq!((encoded.size_px, encoded.tokens.len()), ((8, 12), 6));
    // An older file beside it comes second.
    fs::write(folder.path().join("preprocessor_config.json"), r#"{"size": 64}"#).unwrap();
    assert_eq!(Model::image_processor(&files(), (224, 224)).unwrap(), joint);
    fs::remove_file(folder.path().join("preprocessor_config.json")).unwrap();
    write(serde_json::json!({"processor_class": "CLIPProcessor"}));
    assert_eq!(Model::image_processor(&files(), (8, 8)).unwrap().source(), "the defaults of the processor");
    write(serde_json::json!({"image_processor": {"size": -1}}));
    let error = Model::image_processor(&files(), (8, 8)).unwrap_err();
    assert!(error.to_string().starts_with("processor_config.json cannot be used"), "{error}");
}

/// Without a processor's name the model's kind decides what is meant by silence; a number is the shortest edge for some.
#[test]
fn the_kind_of_model_decides_what_silence_means() {
    let folder = tempfile::tempdir().unwrap();
    let picture = open_picture(&ImageSource::Path(fixture("preprocessing/wide.png"))).unwrap();
    let encoded = |model: Value, config: Value| {
        fs::write(folder.path().join("config.json"), model.to_string()).unwrap();
        fs::write(folder.path().join("preprocessor_config.json"), config.to_string()).unwrap();
        let processor = Model::image_processor(&ModelFiles::folder(folder.path()), (16, 16)).unwrap();
        processor.encode(&picture, (4, 4), 0).unwrap()
    };
    for (model_type, class) in
        [("clip", "CLIP"), ("dinov2", "Bit"), ("deit", "DeiT"), ("beit", "Beit"), ("siglip", "Siglip"), ("vit", "ViT")]
    {
        let config = serde_json::json!({"size": {"height": 16, "width": 20}});
        let mut named = config.clone();
        named["image_processor_type"] = format!("{class}ImageProcessor").into();
        let model = serde_json::json!({"model_type": model_type});
        assert_eq!(encoded(model, config).pixels, encoded(Value::Null, named).pixels, "{model_type}");
    }
    let size = |model_type: &str, size: Value| {
        encoded(serde_json::json!({"model_type": model_type}), serde_json::json!({"size": size})).size_px
    };
    assert_eq!(size("vit", 12.into()), (12, 12));
    assert_ne!(size("siglip", 12.into()), (12, 12));
    assert_eq!(size("vit", serde_json::json!([8, 12])), (8, 12), "height and width");
}

/// Pillow makes all grey values above 255 white, and so does the reference.
#[test]
fn grey_pictures_of_sixteen_bits_are_cut_at_white() {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 4, 1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let grey = [0u16, 200, 255, 771].map(u16::to_be_bytes).concat();
    encoder.write_header().unwrap().write_image_data(&grey).unwrap();
    let picture = open_picture(&ImageSource::Embedded { name: "x-ray".to_owned(), bytes: bytes.into() }).unwrap();
    let red: Vec<u8> = picture.shown.pixels.iter().step_by(4).copied().collect();
    assert_eq!(red, [0, 200, 255, 255]);
    assert!(picture.notes.concat().contains("16 bits"), "{:?}", picture.notes);
}

#[test]
fn damaged_settings_are_refused() {
    let folder = folder_of_vit();
    for config in [
        "[]",
        "{",
        r#"{"size": -3}"#,
        r#"{"size": 1000000000}"#,
        r#"{"size": {"depth": 3}}"#,
        r#"{"resample": 77}"#,
        r#"{"image_mean": [1, 2]}"#,
        r#"{"image_std": [1, 0, 1]}"#,
        r#"{"do_center_crop": true, "crop_size": {"shortest_edge": 3}}"#,
        r#"{"size": {"longest_edge": 9}}"#,
        r#"{"size": {"height": 9, "width": 9, "shortest_edge": 9}}"#,
        r#"{"size": null}"#,
        r#"{"do_center_crop": true}"#,
        r#"{"do_pad": true, "pad_size": {"shortest_edge": 9}}"#,
        r#"{"do_resize": "yes"}"#,
        r#"{"image_processor_type": "CLIPImageProcessor", "use_square_size": true}"#,
        r#"{"image_processor_type": "ConvNextImageProcessor"}"#,
    ] {
        fs::write(folder.path().join("preprocessor_config.json"), config).unwrap();
        let error = Model::image_processor(&ModelFiles::folder(folder.path()), (8, 8)).unwrap_err();
        assert!(error.to_string().starts_with("preprocessor_config.json cannot be used"), "{config}: {error}");
    }
}

#[test]
fn bad_pictures_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        open_picture(&ImageSource::Path(path)).unwrap_err().to_string()
    };
    assert_eq!(refusal("text.png", b"not a picture at all"), "this is not a picture that can be opened");
    assert_eq!(refusal("empty.png", b""), "this is not a picture that can be opened");
    let png = fs::read(fixture("preprocessing/wide.png")).unwrap();
    assert!(refusal("cut.png", &png[..png.len() / 2]).contains("damaged or cut short"));
    let jpg = fs::read(fixture("preprocessing/wide.jpg")).unwrap();
    assert!(refusal("cut.jpg", &jpg[..jpg.len() / 2]).contains("damaged or cut short"));
    assert!(refusal("head.jpg", &jpg[..30]).contains("damaged or cut short"));
    assert!(
        refusal("huge.png", &huge_png()).starts_with("the picture has 30000 × 30000 pixels"),
        "refused by its declared size"
    );
    let missing = open_picture(&ImageSource::Path(folder.path().join("missing.png"))).unwrap_err();
    assert!(missing.to_string().starts_with("the picture cannot be read"));
    assert!(missing.details().contains("missing.png"), "the path comes last");
    assert!(open_picture(&ImageSource::Path(folder.path().to_owned())).is_err());
    assert!(open_picture(&ImageSource::Bundled("nothing".to_owned())).is_err());
}

#[test]
fn a_very_thin_picture_is_not_blown_up() {
    let thin = RgbaBuffer { width: 2000, height: 1, pixels: vec![255; 8000] };
    let source = embedded("thin", &thin);
    let processor = processor(&serde_json::json!({"size": {"shortest_edge": 224}}));
    let error = processor.encode(&open_picture(&source).unwrap(), (16, 16), 1).unwrap_err();
    assert!(error.to_string().contains("too thin"));
}

#[test]
fn every_sample_picture_opens() {
    assert!(bundled::samples().count() >= 3);
    for name in bundled::samples() {
        let picture = open_picture(&ImageSource::Bundled(name.to_owned())).unwrap();
        assert!(picture.size_px().0 > 100, "{name}");
    }
}

/// A valid PNG header that declares 30,000 × 30,000 pixels, and next to nothing behind it.
fn huge_png() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 30_000, 30_000);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().unwrap();
    writer.write_chunk(png::chunk::IDAT, &[0x78, 0x01]).unwrap();
    drop(writer);
    bytes
}

/// A changed run sees the same picture again, which is not decoded again; another file in its place is another picture.
#[test]
fn a_picture_is_made_ready_once_until_its_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    let (model, _) = crate::families::open("vit");
    let read = |from: &str| {
        fs::copy(fixture("preprocessing").join(from), &path).unwrap();
        model.encode(&Input::Image(ImageSource::Path(path.clone()))).unwrap()
    };
    let source = |encoded: &Encoded| encoded.image.as_ref().unwrap().source.clone().unwrap();
    let (first, again, other) = (read("wide.png"), read("wide.png"), read("gray.png"));
    assert!(Arc::ptr_eq(&source(&first), &source(&again)) && first.tokens == again.tokens);
    assert_ne!(source(&other).pixels, source(&first).pixels);
    assert_eq!(source(&read("wide.png")).pixels, source(&first).pixels);
}

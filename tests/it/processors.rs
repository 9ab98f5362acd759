//! What becomes of the keys of an image processor's file, held against transformers' own classes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use attnscope::model::{
    ImageSource, Model, ModelFiles,
    input::{EncodedImage, ImageProcessor, open_picture},
};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::parity::fixture;

/// `tests/fixtures/configurations/processors.json`.
fn classes() -> Value {
    serde_json::from_slice(&fs::read(fixture("configurations/processors.json")).unwrap()).unwrap()
}

/// A folder with a `config.json`.
fn folder_of(model: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), model.to_string()).unwrap();
    folder
}

/// The same of a model that has the processor of ViT when its files name none.
fn folder_of_vit() -> TempDir {
    folder_of(&json!({"model_type": "vit"}))
}

/// The processor that a file describes, or the sentence that refuses it.
fn read(folder: &TempDir, file: &Value) -> Result<ImageProcessor, String> {
    fs::write(folder.path().join("preprocessor_config.json"), file.to_string()).unwrap();
    Model::image_processor(&ModelFiles::folder(folder.path()), (16, 16)).map_err(|error| error.to_string())
}

fn encode(processor: &ImageProcessor, picture: &str) -> EncodedImage {
    let picture = open_picture(&ImageSource::Path(fixture("preprocessing").join(picture))).unwrap();
    processor.encode(&picture, (4, 4), 1).unwrap()
}

/// No attribute of any class is forgotten: each is read, known to change no pixel, or refused with its name; and a file
/// that is silent means what the class means.
#[test]
fn every_attribute_of_every_class_is_accounted_for() {
    let (classes, folder) = (classes(), folder_of_vit());
    let mut forgotten = Vec::new();
    let mut counts = BTreeMap::<&str, [usize; 3]>::new();
    for (name, class) in classes["classes"].as_object().unwrap() {
        let silent = json!({"image_processor_type": format!("{name}ImageProcessor")});
        let with = |key: &str, value: &Value| {
            let mut file = silent.clone();
            file[key] = value.clone();
            file
        };
        let defaults = class["keys"].as_object().unwrap();
        let asked = class["asked"].as_array().unwrap().iter().filter_map(Value::as_str);
        let [n_read, n_harmless, n_named] = counts.entry(name).or_default();
        for key in defaults.keys().map(String::as_str).chain(asked) {
            // A value of no meaning: whoever reads it complains.
            match read(&folder, &with(key, &json!({"odd": 1}))) {
                Err(sentence) if sentence.contains(key) => *n_named += 1,
                Err(sentence) => forgotten.push(format!("{name}: {key}: {sentence}")),
                Ok(processor) if processor.keys().read.iter().any(|(read, _)| read == key) => *n_read += 1,
                Ok(processor) if processor.keys().harmless.iter().any(|(known, _)| known == key) => *n_harmless += 1,
                Ok(_) => forgotten.push(format!("{name}: {key} is not known")),
            }
        }
        let by_class = encode(&read(&folder, &silent).unwrap(), "wide.png");
        for (key, default) in defaults.iter().filter(|(_, default)| !default.is_null()) {
            let said = encode(&read(&folder, &with(key, default)).unwrap(), "wide.png");
            if (&said.pixels, said.size_px) != (&by_class.pixels, by_class.size_px) {
                forgotten.push(format!("{name}: {key} is not {default} when it is left out"));
            }
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:#?}");
    println!("read without complaint, harmless, read or refused with their name: {counts:?}");
    assert!(
        counts.len() == 12 && counts.values().all(|[_, harmless, named]| *named >= 12 && *harmless >= 7),
        "{counts:?}"
    );
}

#[test]
fn processors_that_do_more_are_refused_by_name() {
    let (classes, folder) = (classes(), folder_of_vit());
    let others = classes["others"].as_array().unwrap();
    assert!(others.len() > 100);
    for name in others.iter().filter_map(Value::as_str) {
        for key in ["image_processor_type", "feature_extractor_type"] {
            let sentence = read(&folder, &json!({key: name, "size": 8})).unwrap_err();
            assert!(sentence.contains(&format!("“{name}”, which is not supported")), "{sentence}");
        }
    }
    // The model's configuration may name it, too.
    fs::write(folder.path().join("config.json"), r#"{"image_processor_type": "ConvNextImageProcessor"}"#).unwrap();
    assert!(read(&folder, &json!({"size": 8})).unwrap_err().contains("ConvNext"));
    assert!(read(&folder, &json!({"size": 8, "image_processor_type": "ViTImageProcessorFast"})).is_ok());
}

#[test]
fn what_files_rarely_say_gives_the_pixels_of_the_reference() {
    let (classes, folder) = (classes(), folder_of_vit());
    let expected = fs::read(fixture("configurations/processors.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&expected).unwrap();
    for case in classes["cases"].as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let processor = read(&folder, &case["file"]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let encoded = encode(&processor, case["picture"].as_str().unwrap());
        let tensor = expected.tensor(name).unwrap();
        assert_eq!(tensor.shape(), [3, encoded.size_px.0, encoded.size_px.1], "{name}");
        let values = tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        let worst = values.zip(&encoded.pixels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-6, "{name}: {worst}");
    }
}

/// Keys that no class has are told, and so is what a processor cannot do with a picture.
#[test]
fn keys_of_nobody_and_pictures_beyond_the_padding_are_told() {
    let folder = folder_of_vit();
    let file = json!({"size": 8, "crop_pct": 0.9, "processor_class": "ViTProcessor", "image_std": [0.5, 0.5, 0.25]});
    let processor = read(&folder, &file).unwrap();
    let names = |entries: &[(String, String)]| entries.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>();
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names(&processor.keys().unknown), set(&["crop_pct"]));
    assert_eq!(names(&processor.keys().harmless), set(&["processor_class"]));
    assert_eq!(names(&processor.keys().read), set(&["image_std", "size"]));
    let small = read(&folder, &json!({"size": [8, 12], "do_pad": true, "pad_size": 9})).unwrap();
    let picture = open_picture(&ImageSource::Path(fixture("preprocessing/wide.png"))).unwrap();
    let error = small.encode(&picture, (4, 4), 1).unwrap_err().to_string();
    assert!(error.contains("12 × 8") && error.contains("9 × 9") && error.contains("pad_size"), "{error}");
    // Python writes numbers that JSON does not have.
    fs::write(folder.path().join("preprocessor_config.json"), r#"{"size": 8, "note": NaN}"#).unwrap();
    assert!(Model::image_processor(&ModelFiles::folder(folder.path()), (16, 16)).is_ok());
}

/// Nothing is assumed of a processor that neither the files nor the family name.
#[test]
fn a_model_without_an_image_processor_is_refused() {
    let folder = folder_of(&json!({"model_type": "bert"}));
    let missing = Model::image_processor(&ModelFiles::folder(folder.path()), (16, 16)).unwrap_err().to_string();
    let unnamed = read(&folder, &json!({"size": 8})).unwrap_err();
    for (sentence, why) in [(missing, "it is missing"), (unnamed, "it names no image_processor_type")] {
        let reason = format!("{why}, and models of this type have no image processor of their own");
        assert_eq!(sentence, format!("preprocessor_config.json cannot be used: {reason}"));
    }
    assert!(read(&folder, &json!({"image_processor_type": "ViTImageProcessor"})).is_ok());
}

/// A file without a `model_type` is told by its class, and a pair of an encoder and a decoder by its encoder.
#[test]
fn the_family_names_the_processor_that_the_files_do_not() {
    let pixels = |model: Value, file: Value| encode(&read(&folder_of(&model), &file).unwrap(), "wide.png").pixels;
    let (size, named) = (json!({"size": 8}), json!({"size": 8, "image_processor_type": "BeitImageProcessor"}));
    let beit = pixels(json!({}), named);
    assert_eq!(pixels(json!({"architectures": ["BeitModel"]}), size.clone()), beit);
    let pair = json!({"model_type": "vision-encoder-decoder", "encoder": {"model_type": "beit"}});
    assert_eq!(pixels(pair, size.clone()), beit);
    assert_ne!(pixels(json!({"model_type": "vit"}), size), beit);
}

/// The file of a camera that was held in one of eight ways; `xmp` says it in the other of two places.
fn held(way: u8, xmp: bool) -> Vec<u8> {
    let jpeg = fs::read(fixture("preprocessing/wide.jpg")).unwrap();
    let segment = if xmp {
        format!("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta tiff:Orientation=\"{way}\"/>").into_bytes()
    } else {
        let mut exif = b"Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([way, 0, 0, 0, 0, 0, 0, 0]);
        exif
    };
    let len = (segment.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &len, &segment, &jpeg[2..]].concat()
}

/// As `PIL.ImageOps.exif_transpose`, which pipelines call.
#[test]
fn pictures_are_turned_as_the_camera_says() {
    let open = |bytes: Vec<u8>| {
        open_picture(&ImageSource::Embedded { name: "photo".to_owned(), bytes: bytes.into() }).unwrap().shown
    };
    let plain = open(fs::read(fixture("preprocessing/wide.jpg")).unwrap());
    let (width, height) = (plain.width, plain.height);
    let at = |x: usize, y: usize| &plain.pixels[4 * (y * width + x)..][..4];
    for way in 1..=8u8 {
        for xmp in [false, true] {
            let turned = open(held(way, xmp));
            let on_its_side = way >= 5;
            let size = if on_its_side { (height, width) } else { (width, height) };
            assert_eq!((turned.width, turned.height), size, "{way}");
            for (y, row) in turned.pixels.chunks_exact(4 * turned.width).enumerate() {
                for (x, pixel) in row.chunks_exact(4).enumerate() {
                    let (right, below) = (turned.width - 1 - x, turned.height - 1 - y);
                    let source = match way {
                        1 => at(x, y),
                        2 => at(right, y),
                        3 => at(right, below),
                        4 => at(x, below),
                        5 => at(y, x),
                        6 => at(y, right),
                        7 => at(below, right),
                        _ => at(below, x),
                    };
                    assert_eq!(pixel, source, "{way} at {x}, {y}");
                }
            }
        }
    }
}

//! Regions of a picture as keys: read with checks, written as they were, drawn, pointed at and named.

use std::io::Cursor;

use attnscope::{
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    session::{Focus, ViewKind},
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::{Value, json};

use crate::{render::attnscope, views::Stage};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/regions.safetensors");
/// What the script that writes the file says.
const BOXES: [[f32; 4]; 4] =
    [[0.0, 0.0, 64.0, 20.0], [6.0, 12.0, 34.0, 44.0], [16.0, 28.0, 24.0, 44.0], [40.0, 10.0, 60.0, 46.0]];

fn read(bytes: &[u8]) -> Result<Capture, String> {
    let mut new_id = || CaptureId(7);
    let read = file::read(&mut Cursor::new(bytes), Format::Safetensors, "regions", &mut new_id);
    read.map(|mut captures| captures.remove(0)).map_err(|error| error.to_string())
}

fn fixture() -> Capture {
    read(&std::fs::read(FILE).unwrap()).unwrap()
}

/// The file with other entries of `image`, `null` takes one away; without its picture if `bare`.
fn with(entries: &Value, bare: bool) -> Vec<u8> {
    let bytes = std::fs::read(FILE).unwrap();
    let n_header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + n_header]).unwrap();
    let mut data = bytes[8 + n_header..].to_vec();
    if bare {
        let picture = header.as_object_mut().unwrap().remove("picture").unwrap();
        data.truncate(picture["data_offsets"][0].as_u64().unwrap() as usize);
    }
    let mut image: Value = serde_json::from_str(header["__metadata__"]["image"].as_str().unwrap()).unwrap();
    for (key, value) in entries.as_object().unwrap() {
        if value.is_null() {
            image.as_object_mut().unwrap().remove(key);
        } else {
            image[key] = value.clone();
        }
    }
    header["__metadata__"]["image"] = image.to_string().into();
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn regions_come_back_as_they_were() {
    let capture = fixture();
    let image = capture.image().unwrap();
    assert_eq!(image.regions.as_deref(), Some(&BOXES[..]));
    assert_eq!(capture.picture_side(), Some(Side::Encoder));
    let mut bytes = Vec::new();
    file::write(&[&capture], Contents::DEFAULT, &mut bytes).unwrap();
    assert_eq!(read(&bytes).unwrap().image(), Some(image));
    // Without the picture its size stands for it.
    let bare = read(&with(&json!({}), true)).unwrap();
    assert_eq!(bare.image().unwrap().regions, image.regions);
    assert_eq!(bare.image().unwrap().crop, image.crop);
    // A part of the width and of the height is the same box.
    let parts: Vec<[f32; 4]> = BOXES.iter().map(|[a, b, c, d]| [a / 64.0, b / 48.0, c / 64.0, d / 48.0]).collect();
    let parts = read(&with(&json!({"regions": parts, "unit": "fraction", "width": null, "height": null}), false));
    for (read, said) in parts.unwrap().image().unwrap().regions.as_ref().unwrap().iter().zip(BOXES) {
        assert!(read.iter().zip(said).all(|(a, b)| (a - b).abs() < 1e-4), "{read:?}");
    }
    // A detector that rounds up is cut at the edge.
    let mut boxes = BOXES;
    boxes[3][3] = 48.7;
    let cut = read(&with(&json!({ "regions": boxes }), false)).unwrap();
    assert_eq!(cut.image().unwrap().regions.as_ref().unwrap()[3][3], 48.0);
}

#[test]
fn regions_that_cannot_be_are_refused_by_name() {
    let other = |nth: usize, region: Value| {
        let mut boxes: Vec<Value> = BOXES.iter().map(|region| json!(region)).collect();
        boxes[nth] = region;
        json!({ "regions": boxes })
    };
    let cases = [
        (json!({ "regions": BOXES[..3] }), &["3 regions", "4 tokens"][..]),
        (json!({ "regions": [] }), &["0 regions"]),
        (json!({ "n_prefix": u64::MAX }), &["4 regions"]),
        (other(1, json!([6, 12, 34])), &["region 1", "3 numbers"]),
        (other(2, json!([16, 28, 8, 16])), &["region 2", "no area", "corner with width and height"]),
        (other(3, json!([40, 10, 66, 46])), &["region 3", "outside of the picture", "pixels of 64 × 48"]),
        (other(0, json!([0, 0, 1e39, 20])), &["region 0"]),
        (json!({ "unit": "fraction" }), &["outside of the picture", "fractions of"]),
        (json!({ "unit": "inch" }), &["inch"]),
        (json!({ "width": 640 }), &["640 × 48", "64 × 48"]),
        (json!({ "grid_height": 2, "grid_width": 2 }), &["not both"]),
        (json!({ "regions": null }), &["neither a grid", "nor regions"]),
    ];
    for (entries, words) in &cases {
        let message = read(&with(entries, false)).unwrap_err();
        assert!(!message.contains('\n'), "one sentence: {message}");
        for word in *words {
            assert!(message.contains(word), "{message:?} does not say {word:?}");
        }
    }
    let message = read(&with(&json!({"width": null, "height": null}), true)).unwrap_err();
    assert!(message.contains("width and height"), "{message}");
    let message = read(&with(&json!({ "width": 1u64 << 40 }), true)).unwrap_err();
    assert!(message.contains("65536"), "{message}");
}

#[test]
fn regions_are_pointed_at_and_held_as_patches_are() {
    let mut stage = Stage::new(fixture(), ViewKind::Image);
    stage.session.panes.active_mut().selection.head = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };
    let mut stage = stage.show(vec2(900.0, 700.0));
    stage.run();
    let picture = stage.get_by_label("Picture with attention").rect();
    let at = |x: f32, y: f32| picture.min + picture.size() * vec2(x / 64.0, y / 48.0);
    // The door lies in the house, and is what is meant there.
    for (place, key) in [(at(8.0, 40.0), Some(1)), (at(20.0, 35.0), Some(2)), (at(50.0, 30.0), Some(3))] {
        stage.hover_at(place);
        stage.run();
        assert_eq!(stage.state().session.pane().selection.hover, Focus { query: None, key });
    }
    assert!(stage.query_by_label("tree").is_some(), "the region under the pointer is named");
    stage.hover_at(at(36.0, 47.0));
    stage.run();
    assert!(stage.state().session.pane().selection.hover.is_empty(), "there is no region");
}

#[test]
fn figures_have_the_boxes_with_names_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (figure, data) = (path("regions.svg"), path("regions.csv"));
    let arguments = ["render", "picture", "--capture", FILE, "--layer", "0", "--head", "0", "--query", "1"];
    let done = attnscope(&[&arguments[..], &["--out", &figure, "--data", &data]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let table = std::fs::read_to_string(&data).unwrap();
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines[0].contains("x0,y0,x1,y1"), "{table}");
    assert!(lines[3].contains("door") && lines[3].contains("16,28,24,44"), "{table}");
    let sheet = path("sheet.svg");
    let arguments = ["render", "grid", "--capture", FILE, "--cells", "overlay", "--query", "1", "--out", &sheet];
    let done = attnscope(&arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

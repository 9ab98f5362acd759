//! What is remembered between runs.

use attnscope::{
    figure::{
        CaptionKind,
        spec::Paper,
        views::average::{AverageOptions, PairsShow},
    },
    raster::ColorMap,
    session::{Command, FigureOptions, FigureRange, FileKind, Settings},
};

use crate::support::play::{Play, bundled};

#[test]
fn recent_models_are_newest_first_without_repeats() {
    let mut play = Play::new();
    for name in ["demo:gpt", "demo:vit", "demo:gpt"] {
        play.does(Command::OpenModel(bundled(name)));
        play.answers();
    }
    assert_eq!(play.session.settings.recent_models, [bundled("demo:gpt"), bundled("demo:vit")]);
}

/// Settings in which nothing is as it is by default.
fn unusual_settings() -> Settings {
    let stored = r#"{
        "appearance": "Dark",
        "recent_models": [{ "Bundled": "demo:gpt" }, { "Path": "/models/mine" }],
        "views": {
            "reading": { "words": true, "rows": "Written" },
            "heatmap": { "color_map": "Cividis", "scale": "Log", "values": false },
            "image": { "color_map": "Greys", "opacity": 0.25, "smoothing": "Nearest", "contour": 0.5, "role": "Key" },
            "scatter": { "color": "Position" },
            "average": "kind"
        },
        "figures": {
            "kind": "Pdf", "range": "Layer", "dark": true, "width_pt": 200.5, "scale": 2.5, "caption": "Full"
        },
        "first_steps": { "closed": true },
        "writing": { "max_tokens": 7, "sampled": true, "temperature": 0.5, "top_p": 0.5, "seed": 3 }
    }"#;
    serde_json::from_str(stored).unwrap()
}

#[test]
fn options_are_read_as_earlier_versions_wrote_them() {
    let Settings { views, figures, .. } = unusual_settings();
    assert_eq!((views.heatmap.color_map, views.image.color_map), (ColorMap::Cividis, ColorMap::Greys));
    assert_eq!(views.average, AverageOptions { annotation: Some("kind".to_owned()), pairs: PairsShow::Mean });
    let two = Settings::read(r#"{"views":{"average":{"annotation":"mood","pairs":"Deviation"}}}"#).views.average;
    assert_eq!(two, AverageOptions { annotation: Some("mood".to_owned()), pairs: PairsShow::Deviation });
    let paper = Paper { dark: true, width: Some(200.5), scale: 2.5, caption: CaptionKind::Full, ..Paper::default() };
    assert_eq!(figures, FigureOptions { kind: FileKind::Pdf, range: FigureRange::Layer, paper });
    // No earlier version offered the maps of differences and explanations.
    let strange = Settings::read(r#"{"views":{"heatmap":{"color_map":"Diverging","values":false}}}"#).views.heatmap;
    assert_eq!((strange.color_map, strange.values), (ColorMap::Heat, false));
}

#[test]
fn settings_are_remembered_and_ignore_what_they_do_not_know() {
    let settings = unusual_settings();
    assert_eq!(Settings::read(&settings.write()), settings);
    let mut later: serde_json::Value = serde_json::from_str(&settings.write()).unwrap();
    later["from the future"] = 1.into();
    later["views"]["heatmap"]["from the future"] = "too".into();
    assert_eq!(Settings::read(&later.to_string()), settings);
    assert_eq!(Settings::read(r#"{"appearance":"Dark"}"#).appearance, attnscope::session::Appearance::Dark);
    for nonsense in ["", "[1]", "(appearance:Dark)"] {
        assert_eq!(Settings::read(nonsense), Settings::default(), "{nonsense}");
    }
}

/// A value that is not understood, such as a choice of a later version, loses itself alone.
#[test]
fn each_setting_that_is_not_understood_loses_itself_alone() {
    fn leaves(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(name, field)| leaves(field, &format!("{at}/{name}"), found));
            }
            serde_json::Value::Array(list) if !list.is_empty() => {
                list.iter().enumerate().for_each(|(idx, element)| leaves(element, &format!("{at}/{idx}"), found));
            }
            _ => found.push(at.to_owned()),
        }
    }
    let json = |settings: &Settings| serde_json::from_str::<serde_json::Value>(&settings.write()).unwrap();
    let settings = json(&unusual_settings());
    let default = json(&Settings::default());
    let mut places = Vec::new();
    leaves(&settings, "", &mut places);
    assert!(places.len() > 30, "{places:?}");
    for place in places {
        let mut stored = settings.clone();
        *stored.pointer_mut(&place).unwrap() = serde_json::json!({ "Later": "choice" });
        let read = json(&Settings::read(&stored.to_string()));
        let mut expected = settings.clone();
        if let Some(idx) = place.strip_prefix("/recent_models/") {
            let idx: usize = idx.split('/').next().unwrap().parse().unwrap();
            expected["recent_models"].as_array_mut().unwrap().remove(idx);
        } else if let (Some(at), Some(usual)) = (expected.pointer_mut(&place), default.pointer(&place)) {
            *at = usual.clone();
        }
        assert_eq!(read, expected, "{place}");
    }
}

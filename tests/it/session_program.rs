//! Session files and addresses on the command line.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap()
}

fn refused(arguments: &[&str], code: i32, why: &str) {
    let output = attnscope(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(why), "{why}: {said}");
}

/// A session with a heatmap above, and below a changed run beside the plain one.
fn written(folder: &Path, change: impl Fn(&mut Value)) -> PathBuf {
    let model = json!({ "bundled": "demo:gpt" });
    let changes = json!([{ "edit": { "ablate": "L0H1", "with": "mean" } }]);
    let mut json = json!({
        "format": "attnscope-session", "version": 1,
        "documents": [
            { "model": model, "text": "Once upon a time", "changes": changes, "plain": 1 },
            { "model": model, "text": "Once upon a time" },
        ],
        "panes": [
            { "row": 2, "document": 1, "view": "heads", "layer": 1, "head": 0, "active": true },
            { "row": 2, "document": 0, "view": "heatmap", "layer": 2, "head": 3,
              "minus": { "document": 1, "layer": 2, "head": 3 } },
            { "row": 0, "document": 1, "view": "heatmap", "layer": 2, "head": 3 },
        ],
    });
    change(&mut json);
    let path = folder.join("a.attnscope");
    std::fs::write(&path, json.to_string()).unwrap();
    path
}

/// The numbers behind a figure, as the program gives them.
fn numbers(arguments: &[&str]) -> String {
    let output = attnscope(&[arguments, &["--data", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pane_of_a_session_is_drawn_with_the_numbers_of_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), |_| {});
    let session = ["render", "--session", file.to_str().unwrap()];
    let by_hand = ["--model", "demo:gpt", "--text", "Once upon a time", "--layer", "2", "--head", "3"];
    let plain = numbers(&[&["render", "heatmap"][..], &by_hand].concat());
    // Panes go by the list, wherever their rows stand.
    assert_eq!(numbers(&[&session[..], &["--pane", "2"]].concat()), plain);
    // The active one is drawn where none is named, in another view where one is.
    let heads = numbers(&["render", "heads", "--session", file.to_str().unwrap()]);
    assert_eq!(numbers(&session), heads);
    assert_ne!(numbers(&["render", "heatmap", "--session", file.to_str().unwrap()]), heads);
    // What is subtracted may be of another document.
    let difference = numbers(&[&session[..], &["--pane", "1"]].concat());
    assert_ne!(difference, plain);
    let out = folder.path().join("a.svg");
    let drawn = [&session[..], &["--pane", "1", "--caption", "full", "--out", out.to_str().unwrap()]].concat();
    assert!(attnscope(&drawn).status.success());
    assert!(std::fs::read_to_string(&out).unwrap().contains("head L0H1: output set to its mean"));
}

#[test]
fn what_cannot_be_drawn_or_opened_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), |_| {});
    let file = file.to_str().unwrap();
    let out = folder.path().join("x.svg");
    let out = out.to_str().unwrap();
    refused(&["render", "--session", file, "--pane", "3", "--out", out], 2, "the session has 3 panes");
    refused(&["render", "--session", file, "--text", "a", "--out", out], 2, "cannot be used with");
    refused(&["render", "--pane", "1", "--out", out], 2, "--session");
    refused(&["render", "--session", "missing.attnscope", "--out", out], 1, "no such file");
    refused(&["render", "image", "--session", file, "--out", out], 1, "the picture view cannot be drawn");
    let gone = json!({ "path": "gone" });
    let newer = written(folder.path(), |json| json["version"] = 7.into());
    refused(&["render", "--session", newer.to_str().unwrap(), "--out", out], 1, "written by a newer AttnScope");
    let lost = written(folder.path(), |json| {
        (json["documents"][0]["model"], json["documents"][1]["model"]) = (gone.clone(), gone.clone());
    });
    refused(&["render", "--session", lost.to_str().unwrap(), "--out", out], 1, "gone");
    refused(&["open", "attnscope://open?modell=a"], 2, "“modell” in this link is not valid");
    refused(&["open", "attnscope:nonsense"], 2, "not an AttnScope link");
}

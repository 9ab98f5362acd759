//! Session files and addresses: read, opened without a worker, and written again.

use std::{fs, path::Path};

use attnscope::{
    export::thumbnail,
    session::{Address, Session, saved::Saved},
};

use super::corpus::{Seed, Shape, written};

pub fn sessions() -> Vec<Seed> {
    let text = r#"{
        "format": "attnscope-session", "version": 1, "later": {"a": [1]},
        "documents": [
            {"model": {"bundled": "demo:gpt"}, "text": "Once upon", "text_b": null, "plain": 1, "corpus": 0, "changes": [
                {"edit": {"ablate": "L0H1", "with": "mean"}, "on": true}, {"edit": {"pattern": "L1H0", "value": [[1, 0], [0.5, 0.5]]}},
                {"edit": {"replace": 1, "word": "cat"}}, {"edit": {"mean": {"stack": "self", "layer": 0, "head": 1}, "over": "demo:sentences"}},
                {"edit": {"take": {"site": "z", "stack": "self", "layer": 1, "head": 2, "positions": [0]}, "from": {"name": "a", "input": {"text": {"text": "b", "text_b": null}}}}}
            ]},
            {"model": {"path": "mine", "config": "9f86d0"}, "image": {"path": "cat.png"}, "writing": {"max_tokens": 7, "temperature": 0.5}},
            {"capture": "a.safetensors", "input": 2, "example": "Once"}
        ],
        "panes": [
            {"document": 0, "view": "heatmap", "stack": "cross", "layer": 2, "head": 3, "heads_on": [0, 5], "query": 4, "key": 1, "active": true,
             "minus": {"document": 1, "stack": "self", "layer": 0, "head": 1}, "target": {"position": 3, "class": 5},
             "options": {"heatmap": {"color_map": "Magma"}, "lab": {"shown": {"rollout": false}}, "reading": {"leave_out": {"positions": [1, 2]}}}},
            {"document": 2, "row": 1, "linked": false, "search": {"text": "a", "kind": "Regex", "case": true}}
        ],
        "corpora": [{"path": "texts.csv", "text_column": "text", "first": 10, "layers": [0, 1], "removed": [3, 4]}],
        "bookmarks": [{"name": "a", "address": "attnscope://open?model=demo:gpt&text=a&layer=1", "thumbnail":
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}],
        "notes": "seen", "saved_as": {"path": "/a/b.attnscope", "checksum": "00"}
    }"#;
    vec![written("a.attnscope", text.to_owned(), Shape::Json)]
}

pub fn addresses() -> Vec<Seed> {
    [
        "attnscope://open?model=demo:gpt&text=Once%20upon%20a%20time&text_b=b&view=heatmap&stack=self&layer=1&head=2&query=2&key=1",
        "attnscope://open?path=/models/mine&image=/pictures/a%20cat.png&target=c&writes=1&edit=%7B%22hide%22%3A1%7D",
        "attnscope://open?capture=/captures/a.safetensors&input=3&stack=cross&layer=2",
    ]
    .into_iter()
    .map(|text| written("address.txt", text.to_owned(), Shape::Bytes))
    .collect()
}

/// Reads a session, shows it as far as that goes without models, and writes it again.
pub fn session(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let folder = path.parent().unwrap_or(path);
    let saved = Saved::from_bytes(&bytes, folder).map_err(|error| error.to_string())?;
    for bookmark in &saved.bookmarks {
        let _ = thumbnail::decode(&bookmark.thumbnail);
    }
    let mut session = Session::default();
    let effects = session.reopen(saved);
    assert!(!session.panes.is_empty() && effects.len() < 1000, "{} effects", effects.len());
    let again = Saved::from_json(session.saved().to_json(), folder);
    again.map(drop).map_err(|error| panic!("what was written is not read: {error}"))
}

/// Reads an address and writes it again.
pub fn address(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let address: Address = String::from_utf8_lossy(&bytes).parse().map_err(|error| format!("{error}"))?;
    let text = address.to_string();
    assert_eq!(text.parse::<Address>().map(|again| again.to_string()), Ok(text), "an address is read as it is written");
    Ok(())
}

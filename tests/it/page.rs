//! The page for a browser: its numbers are those of the capture, it holds every head, and needs nothing else.

use std::{
    fs,
    io::{Cursor, Read as _},
    path::Path,
};

use attnscope::{
    capture::{
        Capture,
        file::{self, Format},
    },
    export::{ExportRequest, Preview},
    ids::{CaptureId, HeadId, StackKind},
    protocol::Request,
    session::ViewKind,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use eframe::egui::{Key, Modifiers};
use flate2::read::ZlibDecoder;
use serde_json::Value;

use crate::{
    render::attnscope,
    support::window::{Window, with_text},
};

/// A page, taken apart as its script does it.
struct Page {
    html: String,
    data: Value,
}

impl Page {
    fn read(path: &Path) -> Self {
        let html = fs::read_to_string(path).unwrap();
        let data = serde_json::from_str(between(&html, "id=\"data\">", "</script>")).unwrap();
        Self { html, data }
    }

    /// Weights of a head by its places, `None` where there is none.
    fn weights(&self, [stack, layer, head]: [usize; 3]) -> Vec<Option<f32>> {
        let packed = between(&self.html, &format!("id=\"plane-{stack}-{layer}\">"), "</script>");
        let mut bytes = Vec::new();
        ZlibDecoder::new(&*STANDARD.decode(packed).unwrap()).read_to_end(&mut bytes).unwrap();
        let heads = self.data["stacks"][stack]["layers"][layer]["heads"].as_array().unwrap();
        let n_names =
            |axis: &Value| self.data["axes"][axis.as_u64().unwrap() as usize]["names"].as_array().unwrap().len();
        let n = |head: &Value| n_names(&head["rows"]) * n_names(&head["cols"]);
        let from: usize = heads[..head].iter().map(|head| 2 * n(head)).sum();
        let (of, n) = (&heads[head], n(&heads[head]));
        let [low, high] = ["low", "high"].map(|name| of[name].as_f64().unwrap() as f32);
        let code = |at: usize| u16::from_le_bytes([bytes[from + at], bytes[from + n + at]]);
        let value = |code: u16| (code != u16::MAX).then(|| low + f32::from(code) / 65534.0 * (high - low));
        (0..n).map(|at| value(code(at))).collect()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).unwrap_or_else(|| panic!("no {start}")).0
}

fn captured(folder: &Path, model: &[&str]) -> (Capture, String) {
    let path = folder.join("capture.safetensors").display().to_string();
    let output = attnscope(&[&["capture"], model, &["--out", &path]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut source = Cursor::new(fs::read(&path).unwrap());
    let captures = file::read(&mut source, Format::Safetensors, "some file", &mut || CaptureId(1)).unwrap();
    (captures.into_iter().next().unwrap(), path)
}

fn page(arguments: &[&str], out: &Path) -> Page {
    let output = attnscope(&[&["render"], arguments, &["--out", out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Page::read(out)
}

#[test]
fn every_weight_of_every_stack_is_in_the_page() {
    let folder = tempfile::tempdir().unwrap();
    for model in [
        &["--model", "demo:gpt", "--text", "Once upon a time"][..],
        &["--model", "demo:translate", "--text", "Good morning", "--target", "Guten Morgen"],
    ] {
        let (capture, path) = captured(folder.path(), model);
        let page = page(&["lines", "--capture", &path], &folder.path().join("page.html"));
        let mut n_heads = 0;
        for (at, stack) in capture.model().stacks.iter().enumerate() {
            assert_eq!(page.data["stacks"][at]["title"], stack.kind.name());
            for layer in 0..stack.layers.len() {
                for head in 0..stack.n_heads(layer) {
                    let id = HeadId { stack: stack.kind, layer, head };
                    let pattern = capture.stored_pattern(id).unwrap();
                    let weights = page.weights([at, layer, head]);
                    assert_eq!(weights.len(), pattern.as_slice().len());
                    let n_cols = pattern.n_cols();
                    for (nth, (weight, expected)) in weights.iter().zip(pattern.as_slice()).enumerate() {
                        let is_later = matches!(stack.kind, StackKind::SelfAttention | StackKind::Decoder)
                            && nth % n_cols > nth / n_cols;
                        assert_eq!(weight.is_none(), is_later, "{id} {nth}");
                        assert!(weight.is_none_or(|weight| (weight - expected).abs() < 1e-5), "{id} {nth}");
                    }
                    n_heads += 1;
                }
            }
        }
        assert!(page.data["caption"].as_str().unwrap().starts_with(&format!("{n_heads} heads of ")));
        assert_eq!(page.data["provenance"]["model"]["name"], model[1]);
    }
}

#[test]
fn a_page_opens_with_what_was_chosen_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let text = "The </script><b>cat</b> & “dog”\nsat {{script}}";
    let arguments = ["heatmap", "--model", "demo:gpt", "--text", text, "--layer", "3", "--head", "5", "--query", "2"];
    let page = page(&arguments, &folder.path().join("page.html"));
    let start = &page.data["start"];
    let places = ["view", "stack", "layer", "head", "query"].map(|name| start[name].clone());
    assert_eq!(places.map(|it| it.to_string()), ["\"heatmap\"", "0", "3", "5", "2"]);
    let texts = page.data["axes"][0]["texts"].as_array().unwrap();
    let joined: String = texts.iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(joined, text, "the text is given back as it was typed");
    let outside = ["http:", "https:", "src=", "href=", "@import", "fetch(", "XMLHttpRequest"];
    let found: Vec<_> = outside.iter().filter(|what| page.html.contains(**what)).collect();
    assert!(found.is_empty(), "{found:?}");
    let planes: usize = page.html.lines().filter(|line| line.contains("id=\"plane-")).map(str::len).sum();
    assert!(page.html.len() - planes < 400_000, "{} bytes beside the weights", page.html.len() - planes);
    // Each element begins and ends once, whatever the text says.
    assert_eq!(page.html.matches("</script>").count(), 6 + 2);
}

#[test]
fn what_no_page_holds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page.html").display().to_string();
    let many = folder.path().join("{head}.html").display().to_string();
    for (arguments, out, code, said) in [
        (&["why"][..], &out, 2, "a page for a browser holds lines, heatmap, text, grid"),
        (&["lines", "--aggregate", "mean"], &out, 2, "leave out --aggregate"),
        (&["heatmap"], &many, 2, "a page holds every head"),
        (&["heatmap", "--pages"], &out, 2, "--pages is for a PDF"),
        (&["lines", "--layer", "9"], &out, 1, "no layer 9"),
    ] {
        let model = ["--model", "demo:gpt", "--text", "one two"];
        let output = attnscope(&[&["render"], arguments, &model, &["--out", out]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
    assert!(!Path::new(&out).exists());
}

#[test]
fn the_window_saves_a_page_of_every_head_that_opens_with_its_own() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Why);
    window.press(Modifiers::COMMAND, Key::E);
    window.settle();
    window.click("Page");
    assert!(window.shows("Every head of the model; it opens with what the pane shows"));
    let preview = window.app().session().figures.preview.latest().cloned();
    assert!(matches!(preview.as_deref(), Some(Preview::Figure(_))), "{preview:?}");
    let path = tempfile::tempdir().unwrap().keep().join("page.html");
    window.desktop.0.borrow_mut().save = Some(path.clone());
    window.click("Save…");
    window.until("the export", |window| {
        window.jobs.0.borrow().submitted.iter().any(|(_, request)| matches!(request, Request::Export(_)))
    });
    let script = window.jobs.0.borrow();
    let Some((_, Request::Export(ExportRequest::Figures { figure, .. }))) = script.submitted.last() else {
        panic!("no export")
    };
    figure.write(&path).unwrap();
    let page = Page::read(&path);
    let head = figure.capture.model().stacks[0].layers.iter().map(|layer| layer.n_heads).sum::<usize>();
    assert!(page.data["caption"].as_str().unwrap().starts_with(&format!("{head} heads")));
    assert_eq!(page.data["start"]["view"], "lines", "the steps of one weight are on no page");
}

//! `attnscope render`: the figures of every view, their numbers, and what is refused.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use attnscope::{
    figure::palette::{Ink, Palette},
    text::weight_text,
};
use resvg::usvg;
use safetensors::SafeTensors;
use serde_json::Value;

const STORY: &str = "Once upon a time there was a little dog";

pub fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope"))
        .args(arguments)
        // Neither a screen nor the machine's own models.
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env("HF_HUB_CACHE", fixture("no-cache"))
        .output()
        .unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures").join(name)
}

pub fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples").join(name).display().to_string()
}

/// Runs `render` and returns the bytes of `out`.
fn render(arguments: &[&str], out: &Path) -> Vec<u8> {
    let output = attnscope(&[&["render"], arguments, &["--out", out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    fs::read(out).unwrap()
}

/// Every text of an SVG file, which another parser reads.
pub fn texts(svg: &[u8]) -> Vec<String> {
    let svg = std::str::from_utf8(svg).unwrap();
    let document = usvg::roxmltree::Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

/// Width and height of an SVG file in points.
fn size(svg: &[u8]) -> [f32; 2] {
    let tree = usvg::Tree::from_data(svg, &usvg::Options::default()).unwrap();
    // 96 pixels to the inch.
    [tree.size().width(), tree.size().height()].map(|side| side * 0.75)
}

#[test]
fn every_view_is_drawn_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let coffee = sample("coffee.jpg");
    let gpt = ["--model", "demo:gpt", "--text", STORY, "--layer", "2"];
    let tokens = ["Once", "␣upon", "␣a", "␣time", "␣there", "␣was", "␣little", "␣dog"];
    let vit = ["--model", "demo:vit", "--image", &coffee, "--layer", "1"];
    let translate = ["--model", "demo:translate", "--text", "Good morning", "--target", "Guten Morgen", "--layer", "1"];
    let cases: [(&str, &[&str], &[&str]); 6] = [
        ("heads", &gpt, &tokens),
        ("heatmap", &gpt, &tokens),
        ("scatter", &gpt, &["Queries", "Keys"]),
        ("matrix", &["--model", "demo:gpt", "--text", STORY], &["Head 0", "Layer 5", "Queries"]),
        ("image", &vit, &["[CLS]"]),
        ("heads", &translate, &["Query (decoder, 4 tokens)"]),
    ];
    for (view, arguments, said) in cases {
        let arguments = [&[view], arguments].concat();
        let svg = render(&arguments, &folder.path().join("figure.svg"));
        let texts = texts(&svg);
        for text in said {
            assert!(texts.iter().any(|known| known == text), "{arguments:?} does not say {text}: {texts:?}");
        }
        let pdf = render(&arguments, &folder.path().join("figure.pdf"));
        assert!(pdf.starts_with(b"%PDF-1.") && pdf.len() > 5_000, "{arguments:?}");
        let png = render(&[&arguments[..], &["--scale", "2"]].concat(), &folder.path().join("figure.png"));
        let picture = image::load_from_memory(&png).unwrap();
        let [width, height] = size(&svg).map(|side| (2.0 * side).round() as u32);
        assert!(picture.width().abs_diff(width) <= 1 && picture.height().abs_diff(height) <= 1, "{arguments:?}");
        let rgb = picture.to_rgb8();
        let colors: std::collections::BTreeSet<[u8; 3]> = rgb.pixels().map(|pixel| pixel.0).collect();
        assert!(colors.len() > 20, "{arguments:?}: {} colours", colors.len());
        assert_eq!(rgb.get_pixel(0, 0).0, [255; 3], "light unless asked otherwise");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left behind");
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for extension in ["svg", "pdf"] {
        let file = |name: &str| {
            let text = ["heads", "--model", "demo:gpt", "--text", STORY, "--fonts", "bundled", "--caption", "full"];
            render(&text, &folder.path().join(format!("{name}.{extension}")))
        };
        assert!(file("a") == file("b"), "{extension}");
    }
}

/// The pattern of one head as `capture` writes it: `[query, key]`.
fn captured(folder: &Path, layer: usize, head: usize) -> (PathBuf, usize, Vec<f32>) {
    let out = folder.join("capture.safetensors");
    let arguments = ["capture", "--model", "demo:gpt", "--text", STORY, "--out", out.to_str().unwrap()];
    assert!(attnscope(&arguments).status.success());
    let bytes = fs::read(&out).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let pattern = tensors.tensor(&format!("self.{layer}.pattern")).unwrap();
    let n = pattern.shape()[2];
    let values = pattern.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    (out, n, values.skip(head * n * n).take(n * n).collect())
}

#[test]
fn numbers_equal_the_capture_to_the_last_digit() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, n, pattern) = captured(folder.path(), 3, 5);
    let expected: Vec<(usize, usize, f32)> =
        (0..n * n).filter(|at| at % n <= at / n).map(|at| (at / n, at % n, pattern[at])).collect();
    let from_model = ["--model", "demo:gpt", "--text", STORY];
    let from_file = ["--capture", capture.to_str().unwrap()];
    for source in [&from_model[..], &from_file] {
        let data = |extension: &str| {
            let path = folder.path().join(format!("data.{extension}"));
            let fixed = ["render", "heatmap", "--layer", "3", "--head", "5", "--data", path.to_str().unwrap()];
            let output = attnscope(&[&fixed[..], source].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::read(path).unwrap()
        };
        let csv = String::from_utf8(data("csv")).unwrap();
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("stack,layer,head,query,query_text,key,key_text,weight"));
        let read = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!((fields[0], fields[1], fields[2]), ("self", "3", "5"));
            (fields[3].parse().unwrap(), fields[5].parse().unwrap(), fields[7].parse().unwrap())
        };
        assert_eq!(lines.map(read).collect::<Vec<(usize, usize, f32)>>(), expected);

        let json: Value = serde_json::from_slice(&data("json")).unwrap();
        let rows = json["rows"].as_array().unwrap();
        let weights: Vec<f32> = rows.iter().map(|row| row["weight"].to_string().parse().unwrap()).collect();
        assert_eq!(weights, expected.iter().map(|row| row.2).collect::<Vec<_>>());
        assert_eq!((&rows[0]["query_text"], &json["figure"]["model"]["name"]), (&"Once".into(), &"demo:gpt".into()));

        let bytes = data("safetensors");
        let tensor = SafeTensors::deserialize(&bytes).unwrap();
        let weights = tensor.tensor("weight").unwrap();
        let floats = |data: &[u8]| data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect::<Vec<_>>();
        assert_eq!(floats(weights.data()), expected.iter().map(|row| row.2).collect::<Vec<_>>());

        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(data("npz"))).unwrap();
        let mut npy = Vec::new();
        zip.by_name("weight.npy").unwrap().read_to_end(&mut npy).unwrap();
        let header = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
        assert!(header.is_multiple_of(64) && String::from_utf8_lossy(&npy[..header]).contains("'<f4'"));
        assert_eq!(floats(&npy[header..]), expected.iter().map(|row| row.2).collect::<Vec<_>>());
    }
}

#[test]
fn the_numbers_of_lines_are_those_that_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (_, n, pattern) = captured(folder.path(), 1, 4);
    let path = folder.path().join("lines.csv");
    let model = ["render", "heads", "--model", "demo:gpt", "--text", STORY, "--layer", "1", "--head", "4"];
    let output = attnscope(&[&model[..], &["--top-k", "1", "--data", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = fs::read_to_string(path).unwrap();
    let weights: Vec<f32> = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let largest: Vec<f32> = pattern.chunks_exact(n).map(|row| row.iter().copied().fold(0.0, f32::max)).collect();
    assert_eq!(weights, largest, "one line for each query");
    // What is subtracted, merged and left out goes through the same numbers.
    let data = |more: &[&str]| {
        let output = attnscope(&[&model[..], more, &["--data", "-"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(data(&["--minus", "L1H0"]).starts_with("stack,layer,head,query,query_text,key,key_text,difference\n"));
    let shown = data(&["--hide", "first", "--top-p", "1"]);
    assert!(shown.lines().skip(1).all(|line| line.split(',').nth(5) != Some("0")), "{shown}");
}

#[test]
fn many_heads_are_many_files_or_one_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let model = ["heatmap", "--model", "demo:gpt", "--text", "Once upon a time", "--layer", "0,2", "--head", "1-2"];
    let pattern = folder.path().join("{layer}-{head}.svg");
    let output = attnscope(&[&["render"], &model[..], &["--out", pattern.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["0-1.svg", "0-2.svg", "2-1.svg", "2-2.svg"]);
    assert_ne!(fs::read(folder.path().join("0-1.svg")).unwrap(), fs::read(folder.path().join("2-1.svg")).unwrap());

    let sheet = render(&[&model[..], &["--sheet", "2x2"]].concat(), &folder.path().join("sheet.svg"));
    let texts = texts(&sheet);
    // Rows are layers and columns are heads, which is said once, as is what the colours mean.
    let n = |wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    assert_eq!(["L0", "L2", "H1", "H2", "weight 0", "␣time"].map(n), [1, 1, 1, 1, 1, 4], "{texts:?}");

    // Lines mean the same in all of them, which is said once; heads are named by their columns alone.
    let lines = [&["heads"], &model[1..], &["--sheet", "2x2"]].concat();
    let of_lines = |more: &[&str]| self::texts(&render(&[&lines[..], more].concat(), &folder.path().join("lines.svg")));
    let n = |texts: &[String], wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    let texts = of_lines(&[]);
    assert_eq!(["weight 0", "H1", "H2", "Head 1"].map(|it| n(&texts, it)), [1, 1, 1, 0], "{texts:?}");
    let texts = of_lines(&["--minus", "L1H0"]);
    assert_eq!(["difference 0", "more", "less"].map(|it| n(&texts, it)), [1; 3], "{texts:?}");
}

/// Text of a paragraph is broken into lines, and a line into words.
fn all_text(svg: &[u8]) -> String {
    texts(svg).join(" ")
}

#[test]
fn figures_say_their_question_their_caveat_and_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let figure = |view: &str, rest: &[&str]| {
        let base = [view, "--model", "demo:gpt", "--text", STORY];
        all_text(&render(&[&base[..], rest].concat(), &out))
    };
    let one = figure("heatmap", &["--layer", "1", "--head", "5", "--query", "3"]);
    for said in ["in L1H5?", "One head of 48; weights are not reasons.", "Model: demo:gpt."] {
        assert!(one.contains(said), "“{said}” in {one}");
    }
    assert!(!one.contains(STORY), "the input stands in a full caption only");
    let full = figure("heatmap", &["--layer", "1", "--head", "5", "--caption", "full"]);
    assert!(full.contains("weights are not reasons. Model: demo:gpt; input: “"), "{full}");
    let none = figure("heatmap", &["--layer", "1", "--head", "5", "--caption", "none"]);
    assert!(!none.contains('?') && !none.contains("Model:"), "{none}");
    assert!(figure("grid", &[]).contains("Which of 48 heads differ?"));
    assert!(figure("grid", &["--layer", "0-1"]).contains("Which of 16 heads differ?"));
    assert!(figure("qk-maps", &[]).contains("In which of 48 heads are keys near their queries?"));
    assert!(figure("lines", &["--layer", "2", "--aggregate", "mean"]).contains("in the mean of 8 heads of layer 2?"));
    let changed = figure("heatmap", &["--edit", r#"{"ablate":"L0H1","with":"zero"}"#]);
    assert!(changed.contains("Model: demo:gpt. "), "{changed}");
}

/// Rows and columns of weights have one name, in the question and beside them.
#[test]
fn questions_name_words_as_rows_and_columns_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let figure = |arguments: &[&str]| all_text(&render(arguments, &out));
    let street = ["lines", "--model", "demo:gpt", "--text", "He crossed the street", "--query", "6", "--key", "1"];
    assert!(figure(&street).contains("How much does “re” look at “c” in"), "{}", figure(&street));
    let merged = figure(&[&street[..], &["--words"]].concat());
    assert!(merged.contains("How much does “street” look at “crossed” in"), "{merged}");

    let hat = ["heatmap", "--model", "demo:translate", "--text", ">>fra<< My father's green hat"];
    let hat = [&hat[..], &["--target", "Le chapeau vert", "--layer", "2", "--head", "2"]].concat();
    let written = figure(&[&hat[..], &["--query", "1", "--key", "7", "--written"]].concat());
    assert!(written.contains("How much is “hat” looked at to write “chapeau” in cross-attention L2H2?"), "{written}");
    let last = figure(&[&hat[..], &["--query", "3", "--written"]].concat());
    assert!(last.contains("What is looked at to write the next token in cross-attention L2H2?"), "{last}");
    let steps = ["why", "--model", "demo:translate", "--text", ">>fra<< My father's green hat", "--query", "1"];
    let steps = figure(&[&steps[..], &["--target", "Le chapeau vert", "--layer", "2", "--head", "2"]].concat());
    assert!(steps.contains("How do the weights of “Le” in cross-attention L2H2 come about?"), "{steps}");

    let life = ["states", "--model", "demo:bilstm", "--text", "Life is really tough.", "--query", "0"];
    assert!(
        figure(&life).contains("What is left of the first word, step by step?"),
        "the query is no word of the text"
    );
    assert!(figure(&[&life[..], &["--key", "3"]].concat()).contains("What is left of “tough”, step by step?"));
}

/// Pieces that only a changed order puts beside each other are no word.
#[test]
fn words_of_a_permuted_text_are_those_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let text = ["lines", "--model", "demo:gpt", "--text", "He crossed the street", "--words"];
    let told = |edit: &str| texts(&render(&[&text[..], &["--edit", edit]].concat(), &out));
    // He c ross ed the st re et: pieces of two words in turn, and then whole words the other way round.
    let mixed = told(r#"{"permute":[0,5,1,6,2,7,3,4]}"#);
    for piece in ["He", "st", "c", "re", "ross", "et", "ed", "the"] {
        assert!(mixed.iter().any(|text| text == piece), "{piece}: {mixed:?}");
    }
    let turned = told(r#"{"permute":[5,6,7,4,1,2,3,0]}"#);
    for word in ["street", "the", "crossed", "He"] {
        assert!(turned.iter().any(|text| text == word), "{word}: {turned:?}");
    }
}

#[test]
fn a_sheet_of_arrows_says_what_widths_mean() {
    let folder = tempfile::tempdir().unwrap();
    let cat = sample("chelsea.jpg");
    let arrows = ["picture", "--model", "demo:vit", "--image", &cat, "--layer", "2", "--head", "0-5", "--flows"];
    let texts = texts(&render(&[&arrows[..], &["--sheet", "3x2"]].concat(), &folder.path().join("sheet.svg")));
    let scales: Vec<&String> = texts.iter().filter(|text| text.starts_with("weight 0.")).collect();
    assert_eq!(scales.len(), 1, "{texts:?}");
    assert!(texts.iter().any(|text| text == "1.00"), "{texts:?}");
}

#[test]
fn a_written_text_is_a_strip_of_the_lines_of_each_word() {
    let folder = tempfile::tempdir().unwrap();
    let text = ["lines", "--model", "demo:gpt", "--text", "Once upon a time", "--generate", "3", "--head", "2"];
    let told = texts(&render(&[&text[..], &["--each", "query"]].concat(), &folder.path().join("strip.svg")));
    let frames = ["␣upon", "␣a", "␣time", ",", "␣there", "␣was"];
    for word in frames {
        // The title of its frame, and a name at both ends of the sheet, which is two frames high.
        let n = told.iter().filter(|text| *text == word).count();
        assert!(n > 2, "{word}: {told:?}");
    }
    assert!(!told.iter().any(|text| text == "H2"), "frames are called by their words: {told:?}");
    assert!(told.join(" ").contains("each word is written"), "{told:?}");
}

/// Show, Attend and Tell: the picture once for each word that is written over it.
#[test]
fn a_caption_is_a_strip_of_pictures_with_a_word_each() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, out) = (sample("scene-1.png"), folder.path().join("strip.svg"));
    let picture = ["picture", "--model", "demo:captions", "--image", &scene, "--generate", "16", "--head", "2"];
    let strip = [&picture[..], &["--each", "query"]].concat();
    let data = folder.path().join("strip.json");
    let svg = render(&[&strip[..], &["--data", data.to_str().unwrap()]].concat(), &out);
    let told = texts(&svg);
    let words = ["a", "green", "triangle", "right", "of", "a", "yellow", "circle"];
    let of_word = |text: &String| {
        let is_of = |word: &&&str| text.strip_prefix(**word).is_some_and(|rest| rest.starts_with(" · 0."));
        words.iter().find(is_of).copied()
    };
    let titles: Vec<&str> = told.iter().filter_map(of_word).collect();
    assert_eq!(titles, words, "{told:?}");
    let n_images = String::from_utf8_lossy(&svg).matches("<image").count();
    assert_eq!(n_images, 2 * words.len() + 1, "pictures, overlays and the scale");
    let all = told.join(" ");
    assert!(all.contains("L0H2") && all.contains("each word is written"), "{all}");
    let ends = |told: &[String]| ["largest of each", "0.78"].map(|end| told.iter().any(|text| text == end));
    assert_eq!(ends(&told), [true, false], "{told:?}");
    let shared = texts(&render(&[&strip[..], &["--shared-scale"]].concat(), &out));
    assert_eq!(ends(&shared), [false, true], "{shared:?}");

    let refused = |arguments: &[&str], said: &str| {
        let output = attnscope(&[&["render"], arguments, &["--out", out.to_str().unwrap()]].concat());
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{arguments:?}: {output:?}");
    };
    refused(&["heatmap", "--model", "demo:gpt", "--text", "Once", "--each", "query"], "drawn of lines, picture");
    let cat = sample("chelsea.jpg");
    refused(&["picture", "--model", "demo:vit", "--image", &cat, "--each", "query"], "are no words");
    refused(&[&strip[..], &["--sheet", "2x2"]].concat(), "do not fit on a sheet of 2x2");
}

#[test]
fn figures_have_the_size_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let heads = ["heads", "--model", "demo:gpt", "--text", STORY];
    let out = folder.path().join("figure.svg");
    let [width, _] = size(&render(&[&heads[..], &["--width", "8.5cm"]].concat(), &out));
    assert!((width - 240.94).abs() < 0.1, "{width}");
    let [width, height] = size(&render(&[&heads[..], &["--width", "300", "--height", "2in"]].concat(), &out));
    assert!((width - 300.0).abs() < 0.1 && (height - 144.0).abs() < 0.1, "{width} × {height}");
}

/// A column of a journal with a long text is higher than its page.
#[test]
fn a_figure_that_is_higher_than_a_page_is_said_and_can_be_cut_into_pages() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.pdf");
    let story = [STORY; 12].join(" ");
    let run = |more: &[&str]| {
        let arguments = ["render", "lines", "--model", "demo:gpt", "--text", &story, "--width", "8.5cm"];
        let output = attnscope(&[&arguments, more, &["--out", out.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{more:?}");
        (String::from_utf8(output.stderr).unwrap(), fs::read(&out).unwrap())
    };
    let pages = |pdf: &[u8]| pdf.windows(11).filter(|part| *part == b"/Type/Page/").count();
    let (said, whole) = run(&[]);
    assert!(said.contains("The figure is 8.5 × ") && said.contains("higher than a page of A4"), "{said}");
    assert!(said.contains("--pages"), "{said}");
    let (said, cut) = run(&["--pages"]);
    assert_eq!(said, "");
    assert!(pages(&cut) > pages(&whole) + 1, "{} pages instead of {}", pages(&cut), pages(&whole));
    assert_eq!(run(&["--height", "20cm"]).0, "", "made to fit");
    let svg = ["render", "lines", "--model", "demo:gpt", "--text", "Once", "--pages", "--out", "figure.svg"];
    let output = attnscope(&svg);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--pages is for a PDF"));
}

#[test]
fn a_long_input_stays_a_file_of_moderate_size() {
    let folder = tempfile::tempdir().unwrap();
    let text = [STORY; 8].join(". ");
    let heads = ["heads", "--model", "demo:gpt", "--text", &text, "--layer", "0", "--max-tokens", "64"];
    let svg = render(&heads, &folder.path().join("figure.svg"));
    assert!(svg.len() < 2_000_000, "{} bytes", svg.len());
    let n = texts(&svg).iter().filter(|text| text.trim_start_matches('␣') == "Once").count();
    assert!(n >= 8 && n.is_multiple_of(2), "{n} labels of the same word in two columns");
}

#[test]
fn what_cannot_be_drawn_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let out = out.to_str().unwrap();
    let nowhere = folder.path().join("nowhere/figure.svg");
    let taken = tempfile::Builder::new().suffix(".svg").tempdir().unwrap();
    let taken = taken.path();
    let coffee = sample("coffee.jpg");
    let gpt = ["--model", "demo:gpt", "--text", STORY];
    let cases: [(&[&str], &str, i32, &str); 25] = [
        (&["image"], out, 1, "has no picture"),
        (&["heads", "--stack", "cross"], out, 1, "has no cross stack: it has self"),
        (&["heatmap", "--layer", "99"], out, 1, "no layer 99"),
        (&["heatmap", "--layer", "1", "--head", "8"], out, 1, "L1H8"),
        (&["scatter", "--head", "99"], out, 1, "H99"),
        (&["heads", "--query", "99"], out, 1, "no query 99: there are 9, counted from 0"),
        (&["heads", "--query", "dog"], out, 2, "`dog` is not a position"),
        (&["heads", "--width", "0"], out, 2, "0 points"),
        (&["heads", "--width", "1000000"], out, 2, "1000000 points"),
        (&["heads", "--height", "1e6"], out, 2, "1000000 points"),
        (&["heads", "--width", "wide"], out, 2, "8.5cm"),
        (&["heads"], nowhere.to_str().unwrap(), 1, "folder does not exist"),
        (&["heads"], folder.path().to_str().unwrap(), 2, ".svg, .pdf or .png"),
        (&["heads"], taken.to_str().unwrap(), 1, "This is a folder"),
        (&["heads"], "-", 2, ".svg, .pdf or .png"),
        (&["heads"], "figure.jpeg", 2, ".svg, .pdf or .png"),
        (&["heatmap", "--head", "0-3"], out, 2, "{head}"),
        (&["heatmap", "--sheet", "1x1", "--layer", "0"], out, 2, "do not fit on a sheet of 1x1"),
        (&["heatmap"], "{title}.svg", 2, "{layer} and {head}"),
        (&["heads", "--minus", "L9H9"], out, 1, "L9H9"),
        (&["scatter", "--words"], out, 2, "patterns"),
        (&["galaxy"], out, 2, "choose one of lines, heatmap, "),
        (&["heads", "--svg-text", "font"], out, 2, "not supported"),
        (&["heads", "--data", "numbers.xlsx"], out, 2, ".csv, .json"),
        (&["heads", "--text", "a second text"], out, 2, "one input"),
    ];
    for (arguments, out, code, said) in cases {
        let output = attnscope(&[&["render"], arguments, &gpt, &["--out", out]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?} does not say `{said}`: {stderr}");
        assert!(code == 2 || stderr.trim().lines().count() == 1, "{arguments:?}: {stderr}");
    }
    let missing = ["render", "heads", "--capture", "nothing.safetensors", "--out", out];
    let stderr = String::from_utf8(attnscope(&missing).stderr).unwrap();
    assert!(stderr.contains("there is no such file") && !stderr.contains("os error"), "{stderr}");
    let vit = ["render", "image", "--model", "demo:vit", "--image", &coffee, "--words", "--out", out];
    assert_eq!(attnscope(&vit).status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn a_figure_that_fails_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.png");
    fs::write(&out, "old").unwrap();
    let arguments = ["render", "heads", "--model", "demo:gpt", "--text", "Once", "--width", "14400", "--scale", "100"];
    let output = attnscope(&[&arguments[..], &["--out", out.to_str().unwrap()]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("1440000 ×") && stderr.contains("smaller scale"), "{stderr}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn planes_are_laid_out_and_coloured_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("plane.svg");
    let one = ["--model", "demo:gpt", "--text", STORY, "--layer", "2", "--head", "1"];
    let of = |more: &[&str]| render(&[&["scatter"], &one[..], more].concat(), &out);
    let tsne = of(&["--method", "tsne", "--iterations", "100", "--caption", "full"]);
    let text = texts(&tsne).join(" ");
    assert!(text.contains("t-SNE of perplexity 6 after 100 of 100 iterations"), "{text}");
    assert_eq!(of(&["--method", "tsne", "--iterations", "100", "--caption", "full"]), tsne, "twice the same");
    assert_ne!(of(&["--method", "umap", "--iterations", "100", "--caption", "full"]), tsne);
    let kinds = texts(&of(&["--color-by", "kind"]));
    assert!(kinds.iter().any(|text| text == "capitalised") && kinds.iter().any(|text| text == "word"), "{kinds:?}");
    let norms = texts(&of(&["--color-by", "norm"]));
    assert!(norms.iter().filter(|text| text.parse::<f32>().is_ok()).count() >= 2, "the ends of the scale: {norms:?}");
    for (view, flags, expected) in [
        ("scatter", &["--method", "umap", "--perplexity", "9"][..], "--perplexity changes nothing with --method umap"),
        ("heads", &["--method", "tsne"], "lines has no points to lay out"),
        ("scatter", &["--method", "tsne", "--perplexity", "0.1"], "perplexity is 0.1"),
        (
            "heads",
            &["--size-by", "norm"],
            "--size-by is an option of qk-map and qk-maps, not of lines: leave out --size-by",
        ),
        ("distance", &["--color-by", "kind"], "not of distance: leave out --color-by"),
        ("matrix", &["--annotation", "mood"], "--annotation is an option of average, not of qk-maps"),
        ("heatmap", &["--question", "fact"], "--question is an option of explain"),
        ("heatmap", &["--methods", "rollout"], "heatmap explains nothing"),
        ("scatter", &["--top-p", "0.5", "--top-k", "3"], "'--top-p <P>' cannot be used with '--top-k <K>'"),
        ("image", &["--opacity", "2"], "'--opacity <A>': opacity goes from 0 to 1: 2 was given"),
        (
            "heatmap",
            &["--colormap", "teal"],
            "'--colormap <NAME>': colormap is one of heat, viridis, magma, cividis, greys",
        ),
    ] {
        let refused = attnscope(&[&["render", view], &one[..], flags, &["--out", "x.svg"]].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(expected), "{said}");
    }
    let unknown = attnscope(&[&["render", "scatter"], &one[..], &["--color-by", "mood", "--out", "x.svg"]].concat());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("choose one of type, position, absolute"));
}

/// The line of a pair that is pinned is in the full colour of its head, and its weight stands at it, however small that is.
#[test]
fn a_pinned_pair_is_a_line_that_is_seen_with_its_weight() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["lines", "--model", "demo:gpt", "--text", STORY, "--layer", "0", "--head", "1"];
    let (_, n, pattern) = captured(folder.path(), 0, 1);
    let mut pairs: Vec<(f32, String, String)> = pattern
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(at, weight)| (*weight, (at / n).to_string(), (at % n).to_string()))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [red, green, blue, _] = Palette::LIGHT.ink(Ink::Head(1));
    let full = format!("#{red:02x}{green:02x}{blue:02x}");
    // The legend has it too.
    let n_plain = String::from_utf8(render(&lines, &folder.path().join("plain.svg"))).unwrap().matches(&full).count();
    for (weight, query, key) in [pairs.first().unwrap(), pairs.last().unwrap()] {
        let pin = ["--query", query, "--key", key];
        let svg = render(&[&lines[..], &pin[..]].concat(), &folder.path().join("pair.svg"));
        let shown = texts(&svg);
        assert!(shown.contains(&weight_text(*weight)), "{weight}: {shown:?}");
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.matches(&full).count() > n_plain, "{weight}: no line in {full}");
    }
}

#[test]
fn hidden_tokens_are_struck_out_in_every_figure_that_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let [red, green, blue, _] = Palette::LIGHT.text;
    let stroke = format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"");
    for view in ["heads", "heatmap"] {
        let n_strikes = |edit: &[&str]| {
            let model = ["--model", "demo:gpt", "--text", STORY, "--layer", "2"];
            let svg = render(&[&[view], &model[..], edit].concat(), &folder.path().join("figure.svg"));
            String::from_utf8(svg).unwrap().matches(&stroke).count()
        };
        assert_eq!([n_strikes(&[]), n_strikes(&["--edit", r#"{"hide":1}"#])], [0, 2], "{view}: as query and as key");
    }
}

//! The architecture's invariants, checked on the source text.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The most lines of a file; above this it has more than one purpose.
const MAX_LINES: usize = 600;
const WITH_SOURCES: [&str; 3] = ["src", "tests", "benches"];

/// Each layer and the sibling layers it may name. `ids` and `spec` are free for all.
const LAYERS: [(&str, &[&str]); 16] = [
    ("style", &[]),
    ("projection", &[]),
    ("capture", &[]),
    ("corpus", &["capture"]),
    ("analysis", &["capture", "projection", "corpus"]),
    ("raster", &["style", "capture", "analysis"]),
    ("figure", &["style", "capture", "projection", "analysis", "raster"]),
    ("hub", &[]),
    ("model", &["capture", "analysis", "hub"]),
    ("lab", &["capture", "corpus", "analysis", "model"]),
    ("export", &["capture", "analysis", "raster", "figure"]),
    ("protocol", &["capture", "analysis", "corpus", "figure", "hub", "model", "lab", "export"]),
    (
        "worker",
        &[
            "capture",
            "projection",
            "analysis",
            "corpus",
            "raster",
            "figure",
            "hub",
            "model",
            "lab",
            "export",
            "protocol",
        ],
    ),
    ("session", &["capture", "analysis", "corpus", "raster", "figure", "hub", "model", "lab", "export", "protocol"]),
    (
        "cli",
        &[
            "capture",
            "projection",
            "analysis",
            "corpus",
            "raster",
            "figure",
            "hub",
            "model",
            "lab",
            "export",
            "protocol",
            "worker",
            "session",
        ],
    ),
    (
        "ui",
        &[
            "style",
            "capture",
            "projection",
            "analysis",
            "corpus",
            "raster",
            "figure",
            "hub",
            "model",
            "lab",
            "export",
            "protocol",
            "worker",
            "session",
            "cli",
        ],
    ),
];

/// Layers that know models by facts and numbers alone, and what they may name of `model` and `hub`: plain data.
const WITHOUT_MODELS: [&str; 3] = ["protocol", "session", "ui"];
const PLAIN_DATA: [&str; 16] = [
    "model::Chat",
    "model::TokenChoice",
    "model::Comparison",
    "model::Generation",
    "model::ImageSource",
    "model::Input",
    "model::Preparation",
    "model::Progress",
    "model::TextInput",
    "model::Verdict",
    "model::audit::Audit",
    "model::locate::KnownModel",
    "model::lower_priority",
    "hub::Plan",
    "hub::RepoId",
    "hub::Transfer",
];

/// Each wing of `model/` and those it may name; `api`, where they meet, may name all.
const WINGS: [(&str, &[&str]); 11] = [
    ("error", &[]),
    ("kernels", &[]),
    ("engine", &["kernels"]),
    ("run", &["error", "kernels"]),
    ("checkpoint", &["error", "kernels", "engine", "run"]),
    ("input", &["error", "checkpoint"]),
    ("network", &["error", "kernels", "run", "checkpoint", "input"]),
    ("writing", &["error", "run", "checkpoint", "input", "network"]),
    ("opinion", &["error", "run", "checkpoint", "input"]),
    ("families", &["error", "kernels", "run", "checkpoint", "input", "network", "opinion"]),
    ("locate", &["error", "checkpoint", "families"]),
];

/// Folders of which no two modules may name each other.
const WITHOUT_CIRCLES: [&str; 8] = [
    "src/model/run",
    "src/model/checkpoint",
    "src/model/checkpoint/weights",
    "src/model/input",
    "src/model/network",
    "src/model/writing",
    "src/hub",
    "src/capture/file",
];

/// Words that only one part of the tree may use, where, and why.
const RESERVED: [(&[&str], &[&str], &str); 7] = [
    (&["candle_core", "candle_nn"], &["src/model/"], "the engine stays in model/"),
    (&["pulp"], &["src/projection/"], "vectors in safe code stay in projection/"),
    (&["ureq"], &["src/hub/"], "the network stays in hub/"),
    (
        &["ring::digest"],
        &["src/digest.rs", "src/hub/", "src/worker/disk_cache.rs"],
        "checksums of files, of downloads and of what is kept on disk",
    ),
    (&["egui::", "eframe", "rfd::"], &["src/ui/", "src/main.rs"], "the window stays in ui/"),
    // `emath` is free for all: points and rectangles, the same for the window and for files.
    (&["krilla", "vello_cpu", "harfrust", "epaint::text"], &["src/figure/", "src/ui/"], "writers stay in figure/"),
    (
        &["std::fs", "std::thread", "std::time", "Instant::now", "std::net", "rayon"],
        &[
            "src/projection/",
            "src/analysis/",
            "src/hub/",
            "src/model/",
            "src/export/",
            "src/worker/",
            "src/cli/",
            "src/ui/",
            "src/main.rs",
        ],
        "capture, corpus, raster, figure and session do no IO, start no thread and read no clock",
    ),
];

#[test]
fn layers_use_only_what_lies_below_them() {
    let mut offences = Vec::new();
    for (path, text) in sources("src") {
        let module = module_of(&path);
        let Some((layer, allowed)) = LAYERS.iter().find(|(name, _)| Some(*name) == module.first().map(String::as_str))
        else {
            continue;
        };
        for named in named_paths(&module, &text) {
            let is_layer = LAYERS.iter().any(|(name, _)| *name == named[0]);
            if is_layer && named[0] != *layer && !allowed.contains(&named[0].as_str()) {
                offences.push(format!("{}: {layer} may not use {}", path.display(), named.join("::")));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Models live on the worker thread: nobody else holds one, loads one or runs one.
#[test]
fn session_and_window_name_only_plain_data_of_the_model() {
    let mut offences = Vec::new();
    for layer in WITHOUT_MODELS {
        for (path, text) in sources(&format!("src/{layer}")) {
            let named = named_paths(&module_of(&path), &text);
            let of_model = named.iter().filter(|named| ["model", "hub"].contains(&named[0].as_str()));
            let is_plain = |name: &String| PLAIN_DATA.contains(&name.as_str());
            let names = of_model.map(|named| named.join("::")).filter(|name| !is_plain(name));
            offences.extend(names.map(|name| format!("{}: {layer} may not use {name}", path.display())));
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Files outside of `families/` that name a `model_type` for another reason than to tell families apart.
const WITH_MODEL_TYPES: [(&str, &str); 3] = [
    ("src/model/checkpoint/bundled.rs", "folders of the bundled models"),
    ("src/model/checkpoint/gguf/", "llama.cpp's names of architectures and tokenizers"),
    ("src/model/opinion/", "modules of the other library"),
];

/// What a family does otherwise stands in its file.
#[test]
fn model_types_are_named_by_their_families_alone() {
    let quoted = |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let types: BTreeSet<String> = sources("src/model/families")
        .iter()
        .flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| {
            ["model_type: \"", "family: \"", "..Family::", "[Family::"].iter().any(|said| line.contains(said))
        })
        .flat_map(|line| quoted(&line))
        .filter(|name| name.chars().next().is_some_and(|first| first.is_ascii_lowercase()))
        .collect();
    assert!(types.len() > 45, "{types:?}");
    let mut offences = Vec::new();
    for (path, text) in sources("src") {
        let shown = path.display().to_string();
        if shown.contains("/families/") || WITH_MODEL_TYPES.iter().any(|(known, _)| shown.contains(known)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let named = quoted(line).into_iter().filter(|name| types.contains(name));
            offences.extend(named.map(|name| format!("{shown}: “{name}”")));
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn wings_of_the_model_use_only_those_above_them() {
    let mut offences = Vec::new();
    for (path, text) in sources("src/model") {
        let module = module_of(&path);
        let Some((wing, allowed)) = WINGS.iter().find(|(name, _)| Some(*name) == module.get(1).map(String::as_str))
        else {
            continue;
        };
        for named in named_paths(&module, &text) {
            let [first, second, ..] = named.as_slice() else { continue };
            // Errors are the one thing that wings take from the root.
            let is_error = ["Cancelled", "LoadError", "ModelError"].contains(&second.as_str());
            let second = if is_error { "error" } else { second };
            let is_fine = second == *wing || allowed.contains(&second);
            if first == "model" && !is_fine {
                offences.push(format!("{}: {wing} may not use {}", path.display(), named.join("::")));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn no_two_modules_of_a_folder_name_each_other() {
    for folder in WITHOUT_CIRCLES {
        let mut arrows = BTreeSet::new();
        for (path, text) in sources(folder) {
            let module = module_of(&path);
            let depth = Path::new(folder).components().count() - 1;
            let Some(own) = module.get(depth) else { continue };
            for named in named_paths(&module, &text) {
                if named.len() > depth && named[..depth] == module[..depth] && named[depth] != *own {
                    arrows.insert((own.clone(), named[depth].clone()));
                }
            }
        }
        assert!(!arrows.is_empty(), "nothing in {folder} names anything beside it");
        let both: Vec<_> =
            arrows.iter().filter(|(from, to)| arrows.contains(&(to.clone(), from.clone())) && from < to).collect();
        assert!(both.is_empty(), "{folder}: these name each other: {both:?}");
    }
}

#[test]
fn reserved_words_stay_in_their_layer() {
    let mut offences = Vec::new();
    for (path, text) in sources("src") {
        let name = path.to_string_lossy().replace('\\', "/");
        for (words, homes, reason) in RESERVED {
            if homes.iter().any(|home| name.starts_with(home)) {
                continue;
            }
            for (number, line) in code_lines(&text) {
                if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                    offences.push(format!("{name}:{number}: `{word}`: {reason}"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn source_files_stay_readable() {
    let long: Vec<_> = WITH_SOURCES
        .into_iter()
        .flat_map(sources)
        .filter(|(_, text)| text.lines().count() > MAX_LINES)
        .map(|(path, text)| format!("{}: {} lines, at most {MAX_LINES}", path.display(), text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<_> = sources("src")
        .into_iter()
        .filter(|(_, text)| !text.trim_start().starts_with("//!"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no module documentation:\n{}", silent.join("\n"));
}

#[test]
fn documents_name_paths_that_exist() {
    let mut folders = ["assets", "benches", "docs", "packaging", "python", "src", "tests"].map(PathBuf::from).to_vec();
    let mut known = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path.clone());
            }
            known.insert(format!("/{}{}", path.display(), if path.extension().is_none() { "/" } else { "" }));
        }
        known.insert(format!("/{}/", folder.display()));
    }
    let notes = fs::read_dir(root().join("docs/design")).unwrap().map(|entry| entry.unwrap().path());
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into_iter().chain(notes) {
        let text = fs::read_to_string(&document).unwrap();
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = [".rs", ".py", ".md", ".toml", "/"].iter().any(|end| name.ends_with(end));
            let is_plain = !name.contains("NAME") && name.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
            // A short form is the end of a path.
            let end = format!("/{name}");
            let exists = || root().join(name).exists() || known.iter().any(|path| path.ends_with(&end));
            if is_path && is_plain && !exists() {
                missing.push(format!("{}: {name}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(missing.is_empty(), "named, but not there:\n{}", missing.join("\n"));
}

/// Two versions of gemm would silently lose the AVX-512 kernels, two of egui do not fit together, and a
/// second ring would be built for a checksum alone.
#[test]
fn unified_dependencies_have_one_version() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["gemm", "candle-core", "egui", "tokenizers", "image", "ring"] {
        let n_versions = lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count();
        assert_eq!(n_versions, 1, "{name} is in Cargo.lock {n_versions} times");
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under `folder`, with its path relative to the crate.
pub fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(folder != "src" || found.len() > 10, "the walk found only {} files", found.len());
    found
}

/// `src/model/run/plan.rs` as `model`, `run`, `plan`.
fn module_of(path: &Path) -> Vec<String> {
    let parts = path.with_extension("");
    let parts = parts.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// What a file names inside the crate, from the crate's root, in `use` and in the code.
fn named_paths(module: &[String], text: &str) -> Vec<Vec<String>> {
    let code: String = code_lines(text).flat_map(|(_, line)| [line, "\n"]).collect();
    let mut named = Vec::new();
    for statement in code.split(';') {
        if let Some(at) = statement.rfind("use ") {
            flatten(&statement[at + "use ".len()..], "", &mut named);
        }
        for (at, _) in statement.match_indices("crate::").chain(statement.match_indices("super::")) {
            let path: String =
                statement[at..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
            named.push(path);
        }
    }
    named.iter().filter_map(|path| resolve(module, path)).collect()
}

/// The paths of a `use` tree.
fn flatten(tree: &str, prefix: &str, named: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, members)) = tree.split_once('{') else {
        if !tree.is_empty() {
            named.push(format!("{prefix}{tree}"));
        }
        return;
    };
    let members = members.strip_suffix('}').unwrap_or(members);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in members.char_indices().chain([(members.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&members[start..at.max(start)], &format!("{prefix}{head}"), named);
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// A path as seen from the crate's root; `None` when it leads elsewhere.
fn resolve(module: &[String], path: &str) -> Option<Vec<String>> {
    let path = path.split(" as ").next()?.trim().trim_end_matches("::");
    let mut from = module.to_vec();
    let mut parts = path.split("::").peekable();
    match *parts.peek()? {
        "crate" => from.clear(),
        "self" => {}
        "super" => {
            while parts.next_if_eq(&"super").is_some() {
                from.pop();
            }
        }
        _ => return None,
    }
    from.extend(parts.filter(|part| !matches!(*part, "crate" | "self")).map(str::to_owned));
    (!from.is_empty()).then_some(from)
}

/// Lines that are not comments, numbered from 1.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(idx, line)| (idx + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Numbers that people read have one form for each kind, in `text/numbers.rs`: nobody else says how many decimals there
/// are. What is read by programs, in files and in logs of times, says it itself.
#[test]
fn nobody_forms_numbers_by_hand() {
    const FOR_PROGRAMS: [&str; 3] = ["src/figure/write/", "src/figure/data/", "src/ui/app/timing.rs"];
    let mut offences = Vec::new();
    for layer in ["ui", "figure", "cli", "session", "lab", "analysis", "export"] {
        for (path, text) in sources(&format!("src/{layer}")) {
            let place = path.to_string_lossy().replace('\\', "/");
            if FOR_PROGRAMS.iter().any(|program| place.contains(program)) {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().enumerate().filter(|(_, line)| !line.contains("log::") && forms_number(line));
            offences.extend(lines.map(|(nth, line)| format!("{place}:{}: {}", nth + 1, line.trim())));
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
    assert!(forms_number("format!(\"{score:.2}\")") && forms_number("{:>7.3}") && forms_number("{x:.digits$}"));
    assert!(forms_number("{:.0e}") && forms_number("{value:e}") && !forms_number("{name:width$} {:>10} {a.b}"));
}

/// Whether a place in a format string says how many decimals a number has, or a power of ten.
fn forms_number(line: &str) -> bool {
    line.split('{').skip(1).filter_map(|after| after.split_once('}')).any(|(place, _)| {
        let form = place.split_once(':').filter(|(_, form)| !form.starts_with(':')).map(|(_, form)| form);
        let is_form =
            |form: &str| form.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".$*<>^+_#?".contains(&byte));
        form.is_some_and(|form| is_form(form) && (form.contains('.') || form == "e"))
    })
}

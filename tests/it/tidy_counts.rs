//! Counts that may fall and must not grow: how far what belongs to one place is known elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use attnscope::session::ViewKind;

use super::tidy::sources;

/// Files that tell views apart beside the data of the gallery: the registry of canvases, and views that lead to another one.
const TELLING_VIEWS_APART: usize = 4;
/// Files that know options of a view by name outside its folder.
const KNOWING_OPTIONS: usize = 0;
/// Catch-all arms of matches over enums of the crate, in protocol, worker, session and window.
const CATCH_ALL_ARMS: usize = 0;
/// Names that four or more types have.
const OVERUSED_NAMES: usize = 0;

/// Folders that draw views with options of the same name, where the folder has another one.
const SHARED: [(&str, &str); 3] = [("matrix", "scatter"), ("space", "scatter"), ("recurrence", "states")];

#[test]
fn views_are_told_apart_in_few_places() {
    let mut telling = BTreeSet::new();
    for (path, text) in product_code() {
        let owner = view_of(&path).unwrap_or_default();
        let names = ViewKind::ALL.map(|view| format!("{view:?}"));
        let is_own =
            |name: &str| owner == name.to_lowercase() || owner == "space" && ["Scatter", "Matrix"].contains(&name);
        let named =
            names.iter().filter(|name| !is_own(name)).find(|name| mentions(&text, &format!("ViewKind::{name}")));
        let is_data = path == Path::new("src/figure/view_kind.rs") || path.starts_with("src/session/gallery");
        if named.is_some() && !is_data {
            telling.insert(path);
        }
    }
    check("files that tell views apart", TELLING_VIEWS_APART, &telling);
}

#[test]
fn options_of_a_view_are_known_by_name_in_its_folder_alone() {
    let views: BTreeSet<String> = sources("src/figure/views").iter().filter_map(|(path, _)| view_of(path)).collect();
    assert!(views.len() >= ViewKind::ALL.len());
    let mut knowing = BTreeSet::new();
    for (path, text) in product_code() {
        let owner = view_of(&path).unwrap_or_default();
        let owner = SHARED.iter().find(|(folder, _)| *folder == owner).map_or(&*owner, |(_, options)| options);
        let names_one = |view: &String| {
            let name = format!("options.{view}");
            let after = text.match_indices(&name).map(|(at, found)| &text[at + found.len()..]);
            let mut fields = after.filter(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
            fields.any(|after| !calls(after))
        };
        // The command line has options of its own.
        let is_other = path.starts_with("src/cli/project") || path == Path::new("src/figure/view_options.rs");
        if !is_other && views.iter().any(|view| view != owner && names_one(view)) {
            knowing.insert(path);
        }
    }
    check("files that know options of a view by name outside it", KNOWING_OPTIONS, &knowing);
}

#[test]
fn a_new_variant_is_handled_where_it_matters() {
    let enums = types().into_iter().filter(|(_, kinds)| kinds.contains(&"enum")).map(|(name, _)| name);
    let enums: BTreeSet<String> = enums.collect();
    let mut found = BTreeSet::new();
    let is_read = |path: &Path| ["protocol", "worker", "session", "ui"].iter().any(|layer| is_of(path, layer));
    for (path, text) in product_code().into_iter().filter(|(path, _)| is_read(path)) {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let depth = indent(line);
            let Some((pattern, _)) = line.trim_start().split_once("=>") else { continue };
            let name = pattern.trim_end();
            if !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') || hands_on(name, &lines[at..]) {
                continue;
            }
            let arms = lines[..at].iter().rev().take_while(|line| line.is_empty() || indent(line) >= depth);
            let mut arms = arms.filter(|line| indent(line) == depth);
            if arms.any(|arm| names_variant(arm.split("=>").next().unwrap_or_default(), &enums)) {
                found.insert(format!("{}:{}: {}", path.display(), at + 1, line.trim()).into());
            }
        }
    }
    check("catch-all arms over own enums", CATCH_ALL_ARMS, &found);
}

#[test]
fn few_names_are_carried_by_four_types() {
    let names = types().into_iter().filter(|(_, kinds)| kinds.len() >= 4);
    let names = names.map(|(name, kinds)| format!("{name} ({})", kinds.len()).into()).collect();
    check("names of four or more types", OVERUSED_NAMES, &names);
}

fn check(what: &str, most: usize, found: &BTreeSet<PathBuf>) {
    let listed: Vec<String> = found.iter().map(|it| it.display().to_string()).collect();
    assert!(found.len() <= most, "{what}: {} of at most {most}:\n{}", found.len(), listed.join("\n"));
}

/// Sources with empty lines for comments, and without their tests.
fn product_code() -> Vec<(PathBuf, String)> {
    let code = |text: &str| {
        let lines = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().lines();
        lines.flat_map(|line| [if line.trim_start().starts_with("//") { "" } else { line }, "\n"]).collect()
    };
    sources("src").into_iter().map(|(path, text)| (path, code(&text))).collect()
}

/// The view whose folder a file is in.
fn view_of(path: &Path) -> Option<String> {
    let mut parts = path.iter().skip(1).map(|part| part.to_string_lossy());
    let is_view = matches!(&*parts.next()?, "figure" | "ui") && parts.next()? == "views";
    let folder = parts.next().filter(|_| is_view)?.into_owned();
    Path::new(&folder).extension().is_none().then_some(folder)
}

fn is_of(path: &Path, layer: &str) -> bool {
    path.starts_with(Path::new("src").join(layer))
}

/// Whether a path is named as a whole.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric()))
}

/// Whether a function is called: options may be asked.
fn calls(after: &str) -> bool {
    let Some(field) = after.trim_start().strip_prefix('.') else { return false };
    field.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').starts_with('(')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a pattern names a variant of one of these enums.
fn names_variant(pattern: &str, enums: &BTreeSet<String>) -> bool {
    let mut words = pattern.split(|c: char| !c.is_alphanumeric() && c != ':');
    words.any(|word| word.split_once("::").is_some_and(|(name, _)| name == "Self" || enums.contains(name)))
}

/// Whether the first of these lines is an arm that binds the value and uses it: what another function is given, or what
/// stays as it is, is not swallowed.
fn hands_on(name: &str, lines: &[&str]) -> bool {
    let depth = indent(lines[0]);
    let body = lines.iter().skip(1).take_while(|line| line.is_empty() || indent(line) > depth);
    let mut body = lines[0].split_once("=>").map(|(_, body)| body).into_iter().chain(body.copied());
    name != "_" && body.any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name))
}

/// Every type by its name, with what each of that name is.
fn types() -> BTreeMap<String, Vec<&'static str>> {
    let mut types: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (_, text) in product_code() {
        for line in text.lines() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for kind in ["struct", "enum", "trait"] {
                let at = words.iter().position(|word| *word == kind);
                let name = at.and_then(|at| words.get(at + 1)).filter(|name| name.starts_with(char::is_uppercase));
                if let Some(name) = name {
                    types.entry((*name).to_owned()).or_default().push(kind);
                }
            }
        }
    }
    types
}

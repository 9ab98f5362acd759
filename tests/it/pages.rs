//! The pages of `docs/`: their commands are understood, the examples and pictures that they name are there.

use std::{fs, path::Path, path::PathBuf};

use attnscope::session::gallery::EXAMPLES;

use crate::render::attnscope;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Every page with its file.
fn pages() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let files = files.chain([docs().with_file_name("README.md")]);
    files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// What stands between backticks, and the lines of blocks of code.
fn code(page: &str) -> Vec<&str> {
    let blocks = page.split("```");
    blocks
        .enumerate()
        .flat_map(|(nth, part)| {
            let (mark, skip) = if nth % 2 == 1 { ('\n', 1) } else { ('`', 2) };
            part.split(mark).skip(1).step_by(skip)
        })
        .collect()
}

/// The arguments of a command as a shell would cut them; `None` where one is left out (`…`) or in capitals.
fn arguments(command: &str) -> Option<Vec<String>> {
    let mut found = vec![String::new()];
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None | Some('"'), '\\') => found.last_mut().unwrap().extend(letters.next()),
            (None, ' ') => found.push(String::new()),
            (None, '#') if found.last().unwrap().is_empty() => break,
            _ => found.last_mut().unwrap().push(letter),
        }
    }
    assert_eq!(quote, None, "a quote is open: {command}");
    found.retain(|argument| !argument.is_empty());
    let placeholder = |argument: &String| argument.contains('…') || argument.chars().all(|c| c.is_ascii_uppercase());
    (!found.iter().any(placeholder)).then_some(found)
}

/// Whether the command line takes these arguments; what is missing among them is not seen.
fn is_understood(of: &[&str]) -> Result<(), String> {
    let told = attnscope(&[of, &["--help"]].concat());
    if told.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&told.stderr).into_owned()) }
}

#[test]
fn commands_of_the_pages_are_understood() {
    let (mut n, mut wrong) = (0, Vec::new());
    for (path, page) in pages() {
        let commands = code(&page).into_iter().filter_map(|code| code.strip_prefix("attnscope "));
        for command in commands {
            let Some(arguments) = arguments(command) else { continue };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "help").collect();
            n += 1;
            wrong.extend(is_understood(&arguments).err().map(|error| (path.clone(), command.to_owned(), error)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n > 40, "{n} commands");
    is_understood(&["render", "nothing"]).unwrap_err();
    is_understood(&["open", "--example", "of nothing"]).unwrap_err();
}

/// The last cell of every row of the tables of a page.
fn last_cells(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit(" | ").next())
}

/// What stands between curly quotes, quotes within them included.
fn quoted(cell: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, Vec::new());
    for letter in cell.chars() {
        depth -= usize::from(letter == '”');
        if depth > 0 {
            let title: &mut String = found.last_mut().unwrap();
            title.push(letter);
        } else if letter == '“' {
            found.push(String::new());
        }
        depth += usize::from(letter == '“');
    }
    found
}

#[test]
fn ideas_of_lectures_name_examples_and_changes_that_exist() {
    let page = fs::read_to_string(docs().join("lectures.md")).unwrap();
    let titles: Vec<String> = last_cells(&page).flat_map(quoted).collect();
    assert!(titles.len() > 50, "{}", titles.len());
    for title in titles {
        assert!(EXAMPLES.iter().any(|example| example.title == title), "no example is called “{title}”");
    }
    let changes: Vec<&str> = code(&page).into_iter().filter(|code| code.starts_with('{')).collect();
    assert!(changes.len() > 15, "{}", changes.len());
    for change in changes {
        is_understood(&["capture", "--edit", change]).unwrap();
    }
    is_understood(&["capture", "--edit", r#"{"normalizer": "nothing"}"#]).unwrap_err();
}

#[test]
fn pictures_of_the_pages_are_there() {
    for (path, page) in pages() {
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if !file.is_empty() && !file.contains(':') {
                assert!(path.with_file_name(file).exists(), "{} links to {link}", path.display());
            }
        }
    }
}

//! Looking where a path that is being typed leads: what is there, and how it could go on. The disk is read on a thread
//! of its own, so that a slow one never stops the window.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use super::shell::WakeFn;
use crate::{
    hub::RepoId,
    model::locate::KnownModel,
    protocol::{CorpusSource, ModelSource},
    session::{BUNDLED_CORPORA, Command, CorpusCommand, DownloadCommand, PathKind, Typed},
    text::{bytes_text, counted, memory_text, told},
    worker::{Contents, cached, contents, head_folder},
};

/// Entries of a folder that are offered.
const MAX_OFFERED: usize = 40;
/// Answers that are kept: what is typed, and what it means with its ending.
const MAX_KNOWN: usize = 4;
/// Entries of a folder that are looked through.
const MAX_ENTRIES: usize = 20_000;

/// What lies where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    Model(KnownModel),
    /// A capture, or a list of inputs in JSON.
    Captures,
    /// A folder with one file for each head.
    Heads,
    Pictures(usize),
    /// A folder with none of these.
    Folder,
    File(PathKind),
    Several(usize),
    /// Something inside the program.
    Bundled(String),
    /// A model of the hub that is in the local cache.
    Cached(KnownModel),
    /// A model of the hub that is not.
    OnHub(RepoId),
    /// Nothing yet, in a folder that exists.
    Free,
    /// Nothing that can be opened, in one sentence.
    Nothing(String),
}

/// A way to go on with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub name: String,
    /// What the field then has in it.
    pub typed: String,
    pub what: &'static str,
}

/// What was found where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    pub typed: String,
    /// The paths that this means.
    pub paths: Vec<PathBuf>,
    pub there: There,
    /// Whether that is a folder, whatever is in it.
    pub is_folder: bool,
    /// How it could go on, folders first.
    pub completions: Vec<Completion>,
}

impl Looked {
    /// What it is, in words.
    pub fn what(&self) -> String {
        let model = |what: &str, known: &KnownModel| match (&known.problem, needs(known)) {
            (Some(problem), _) => format!("{what} that does not open: {problem}"),
            (None, Some(needs)) => format!("{what}: {} · {needs}", facts(known)),
            (None, None) => format!("{what}: {}", facts(known)),
        };
        match &self.there {
            There::Model(known) => model("Model", known),
            There::Cached(known) => model("Model in the local cache", known),
            There::OnHub(id) => format!("Look for {id} on the Hugging Face hub; it is not in the local cache"),
            There::Captures => "Capture, or inputs in a JSON file".to_owned(),
            There::Heads => "Folder of heads over a corpus (HeadVis)".to_owned(),
            There::Pictures(n) => format!("Folder with {}: a corpus", counted(*n, "picture")),
            There::Folder => "Folder".to_owned(),
            There::File(kind) => kind.what().to_owned(),
            There::Several(n) => counted(*n, "path"),
            There::Bundled(_) => "Inside the program".to_owned(),
            There::Free => "Nothing is there yet".to_owned(),
            There::Nothing(why) => why.clone(),
        }
    }

    /// How it is opened; `None` where there is nothing to open.
    pub fn opens(&self) -> Option<Command> {
        Some(match &self.there {
            There::Free | There::Nothing(_) => return None,
            There::Cached(known) => Command::OpenModel(ModelSource::Hub(known.name.clone())),
            There::OnHub(id) => Command::Download(DownloadCommand::Find(id.to_string())),
            There::Bundled(name) if BUNDLED_CORPORA.iter().any(|(known, _)| known == name) => {
                Command::Corpus(CorpusCommand::Open(CorpusSource::path(name.clone())))
            }
            There::Bundled(name) => Command::OpenModel(ModelSource::Bundled(name.clone())),
            There::Model(_)
            | There::Captures
            | There::Heads
            | There::Pictures(_)
            | There::Folder
            | There::File(_)
            | There::Several(_) => Command::OpenPaths(self.paths.clone()),
        })
    }
}

/// What the files of a model say of it, short.
pub fn facts(known: &KnownModel) -> String {
    let shape = known.shape.map(|(layers, heads)| format!(" · {layers} × {heads} heads")).unwrap_or_default();
    format!("{}{shape} · {}", known.family, bytes_text(known.size_bytes))
}

/// The memory that a model takes, of what is free.
pub fn needs(known: &KnownModel) -> Option<String> {
    let needs = known.needs?;
    let free = needs.free_bytes.map(|free| memory_text(needs.bytes, free));
    Some(format!("needs {}", free.unwrap_or_else(|| bytes_text(needs.bytes))))
}

/// Enter that was pressed before it was known where a path leads, kept for exactly the text that it was pressed for.
#[derive(Debug, Default)]
pub struct Entered(Option<Box<str>>);

impl Entered {
    /// Whether Enter counts in this frame: pressed now, or before, while `typed` was still looked up. Another text, or
    /// another wish of the user, lets go of it.
    pub fn counts(&mut self, typed: &str, pressed: bool, is_looking: bool) -> bool {
        let entered = pressed || self.0.take().is_some_and(|known| *known == *typed);
        if entered && is_looking {
            self.0 = Some(typed.into());
        }
        entered && !is_looking
    }

    /// Forgets it.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

/// Looks at one path at a time.
pub struct Looker {
    wake: WakeFn,
    sender: SyncSender<Looked>,
    receiver: Receiver<Looked>,
    is_looking: bool,
    /// The newest last.
    known: Vec<Looked>,
}

impl Looker {
    /// `wake` asks for a frame.
    pub fn new(wake: WakeFn) -> Self {
        let (sender, receiver) = sync_channel(1);
        Self { wake, sender, receiver, is_looking: false, known: Vec::new() }
    }

    /// What lies where `typed` leads: nothing while that is looked up. `None` where that names nothing to open.
    ///
    /// # Errors
    /// One sentence, for what cannot be a path.
    pub fn look(&mut self, typed: &str) -> Option<Result<Option<&Looked>, String>> {
        match parse(typed)? {
            Ok(_) => Some(Ok(self.ask(typed))),
            Err(why) => Some(Err(why)),
        }
    }

    /// Whether it is being looked up where `typed` leads.
    pub fn is_looking(&mut self, typed: &str) -> bool {
        matches!(self.look(typed), Some(Ok(None)))
    }

    /// Looks anew from now on, whatever was found before.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn ask(&mut self, typed: &str) -> Option<&Looked> {
        for found in self.receiver.try_iter() {
            self.is_looking = false;
            self.known.push(found);
        }
        let surplus = self.known.len().saturating_sub(MAX_KNOWN);
        self.known.drain(..surplus);
        let place = self.known.iter().rposition(|known| known.typed == typed);
        if place.is_none() && !self.is_looking {
            let (sender, wake, typed) = (self.sender.clone(), WakeFn::clone(&self.wake), typed.to_owned());
            let thread = thread::Builder::new().name("look".to_owned()).spawn(move || {
                if sender.send(look(&typed)).is_ok() {
                    wake();
                }
            });
            // Without a thread it is asked again in the next frame.
            self.is_looking = thread.is_ok();
        }
        place.map(|place| &self.known[place])
    }
}

/// Reads what was typed, in the home folder of the user.
pub fn parse(typed: &str) -> Option<Result<Typed, String>> {
    Typed::parse(typed, home().as_deref())
}

fn home() -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    env::var_os(name).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Reads the disk.
fn look(typed: &str) -> Looked {
    let (paths, there) = match parse(typed) {
        None => (Vec::new(), There::Nothing(format!("“{}” names nothing to open", told(typed)))),
        Some(Err(why)) => (Vec::new(), There::Nothing(why)),
        Some(Ok(Typed::Bundled(name))) => (Vec::new(), There::Bundled(name)),
        Some(Ok(Typed::Hub(id))) => (Vec::new(), of_hub(id)),
        Some(Ok(Typed::Either(path, id))) => match at(&path) {
            There::Free | There::Nothing(_) => (vec![path], of_hub(id)),
            there => (vec![path], there),
        },
        Some(Ok(Typed::Paths(paths))) => {
            let there = match paths.as_slice() {
                [path] => at(path),
                many => {
                    let missing =
                        many.iter().map(|path| at(path)).find(|it| matches!(it, There::Free | There::Nothing(_)));
                    match missing {
                        Some(There::Nothing(why)) => There::Nothing(why),
                        Some(_) => There::Nothing("One of these paths leads nowhere".to_owned()),
                        None => There::Several(many.len()),
                    }
                }
            };
            (paths, there)
        }
    };
    let (is_folder, completions) = match paths.as_slice() {
        [path] => (path.is_dir(), completions(typed.trim(), path)),
        _ => (false, Vec::new()),
    };
    Looked { typed: typed.to_owned(), paths, there, is_folder, completions }
}

fn of_hub(id: RepoId) -> There {
    cached(&id.to_string()).map_or_else(|| There::OnHub(id), There::Cached)
}

fn at(path: &Path) -> There {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return trouble(path, &error),
    };
    if metadata.is_dir()
        && let Err(error) = fs::read_dir(path)
    {
        return trouble(path, &error);
    }
    if metadata.is_file()
        && let Err(error) = fs::File::open(path)
    {
        return trouble(path, &error);
    }
    match contents(path) {
        Contents::Model(known) => There::Model(known),
        Contents::Captures => There::Captures,
        Contents::Heads => There::Heads,
        Contents::Pictures(n) => There::Pictures(n),
        Contents::Other if metadata.is_dir() => There::Folder,
        Contents::Other => There::File(PathKind::of(path)),
    }
}

/// Why nothing is read at a path.
fn trouble(path: &Path, error: &io::Error) -> There {
    let shown = path.display().to_string();
    let shown = told(&shown);
    match error.kind() {
        io::ErrorKind::NotFound => {
            let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
            match path.ancestors().skip(1).find(is_there) {
                Some(folder) if Some(folder) == path.parent() => There::Free,
                Some(folder) => There::Nothing(format!(
                    "There is nothing at {shown}: of its folders {} is the last that exists",
                    told(&folder.display().to_string())
                )),
                None => There::Nothing(format!("There is nothing at {shown}")),
            }
        }
        io::ErrorKind::PermissionDenied => There::Nothing(format!("Reading {shown} is not allowed")),
        io::ErrorKind::NotADirectory => {
            There::Nothing(format!("There is nothing at {shown}: a part of it is a file, and no folder"))
        }
        io::ErrorKind::InvalidFilename => {
            There::Nothing(format!("A name in this path is longer than the system takes: {shown}"))
        }
        _ => There::Nothing(format!("{shown} cannot be read: {error}")),
    }
}

/// How what was typed could go on: the entries of the folder that it ends in, with what was typed of their names.
fn completions(typed: &str, path: &Path) -> Vec<Completion> {
    let ends_in_folder = typed.ends_with(['/', std::path::MAIN_SEPARATOR]) || matches!(typed, "~" | "." | "..");
    let (folder, begun) = if ends_in_folder {
        (path, String::new())
    } else {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        (path.parent().unwrap_or(Path::new("")), name.unwrap_or_default())
    };
    // What was typed stays as it is where the names follow it as they are.
    let is_plain = !typed.starts_with(['"', '\'']) && !typed.starts_with("file:") && !typed.contains("\\ ");
    let base = match typed.rfind('/') {
        Some(at) if is_plain => typed[..=at].to_owned(),
        _ if folder.as_os_str().is_empty() => String::new(),
        _ => format!("{}/", folder.display().to_string().trim_end_matches('/')),
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found: Vec<(bool, String)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MAX_ENTRIES)
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let fits = name.to_lowercase().starts_with(&begun) && (begun.starts_with('.') || !name.starts_with('.'));
            // A link to a folder is one.
            fits.then(|| (!entry.path().is_dir(), name))
        })
        .collect();
    found.sort_by_cached_key(|(is_file, name)| (*is_file, name.to_lowercase()));
    found.truncate(MAX_OFFERED);
    let completion = |(is_file, name): (bool, String)| {
        let path = folder.join(&name);
        let what = match is_file {
            true => PathKind::of(&path).what(),
            false if head_folder::is_head_folder(&path) => "Folder of heads",
            false if path.join("config.json").exists() => "Model folder",
            false => "Folder",
        };
        let end = if is_file { "" } else { "/" };
        Completion { typed: format!("{base}{name}{end}"), name, what }
    };
    // What is typed to the end needs no offer.
    found.into_iter().map(completion).filter(|it| it.typed.trim_end_matches('/') != typed).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["my bert", "pictures", ".hidden", "empty"] {
            fs::create_dir(at(name)).unwrap();
        }
        for name in ["my bert/config.json", "pictures/a.png", "pictures/b.jpg", "notes.txt", "rows.csv", "cat.png"] {
            fs::write(at(name), "{\"model_type\": \"bert\"}").unwrap();
        }
        folder
    }

    #[test]
    fn a_path_says_what_is_there_before_it_is_opened() {
        let folder = folder();
        let root = folder.path().display();
        let what = |typed: &str| look(typed).what();
        assert_eq!(
            what(&format!("{root}/my bert")),
            "Model that does not open: this model folder has no weights, neither model.safetensors nor pytorch_model.bin",
            "the folder is a checkpoint's"
        );
        assert_eq!(what(&format!("{root}/pictures/\n")), "Folder with 2 pictures: a corpus");
        assert_eq!(what(&format!("file://{root}/notes.txt")), "Text");
        assert_eq!(what(&format!("'{root}/rows.csv'")), "List of inputs");
        assert_eq!(what(&format!("{root}/cat.png")), "Picture");
        assert_eq!(what(&format!("{root}/empty")), "Folder");
        assert_eq!(what("demo:gpt"), "Inside the program");
        let opened = look(&format!("{root}/cat.png")).opens();
        assert_eq!(opened, Some(Command::OpenPaths(vec![folder.path().join("cat.png")])));
        assert_eq!(look("demo:gpt").opens(), Some(Command::OpenModel(ModelSource::Bundled("demo:gpt".to_owned()))));
        let several = look(&format!("file://{root}/my%20bert\nfile://{root}/cat.png\n"));
        assert_eq!((several.what().as_str(), several.paths.len()), ("2 paths", 2));
    }

    #[test]
    fn what_cannot_be_read_gets_one_sentence() {
        let folder = folder();
        let root = folder.path().display();
        let what = |typed: String| {
            let looked = look(&typed);
            assert_eq!(looked.opens(), None, "{typed}");
            looked.what()
        };
        assert_eq!(what(format!("{root}/nothing")), "Nothing is there yet");
        let deep = what(format!("{root}/empty/x/y/z"));
        assert!(deep.ends_with(&format!("of its folders {root}/empty is the last that exists")), "{deep}");
        assert!(what(format!("{root}/notes.txt/x")).ends_with("a part of it is a file, and no folder"));
        assert!(what(format!("{root}/{}", "a".repeat(300))).starts_with("A name in this path is longer than"));
        let there = trouble(Path::new("/secret"), &io::ErrorKind::PermissionDenied.into());
        assert_eq!(there, There::Nothing("Reading /secret is not allowed".to_owned()));
    }

    #[test]
    fn enter_waits_for_the_text_that_it_was_pressed_for() {
        let mut entered = Entered::default();
        assert!(entered.counts("/a", true, false), "nothing is looked up");
        assert!(!entered.counts("/a", false, false), "once");
        assert!(!entered.counts("/b", true, true) && !entered.counts("/b", false, true));
        assert!(entered.counts("/b", false, false) && !entered.counts("/b", false, false));
        assert!(!entered.counts("/b", true, true) && !entered.counts("/bc", false, false), "another text");
        assert!(!entered.counts("/b", false, false), "and it stays forgotten");
    }

    #[test]
    fn names_of_a_folder_complete_what_was_typed() {
        let folder = folder();
        let root = folder.path().display();
        let offers = |typed: &str| {
            let found = look(typed).completions;
            found.into_iter().map(|it| (it.typed.replace(&root.to_string(), "R"), it.what)).collect::<Vec<_>>()
        };
        let offer = |typed: &str, what| (typed.to_owned(), what);
        assert_eq!(offers(&format!("{root}/MY")), [offer("R/my bert/", "Model folder")]);
        assert_eq!(offers(&format!("{root}/.h")), [offer("R/.hidden/", "Folder")]);
        let all = offers(&format!("{root}/"));
        assert_eq!(
            (all.len(), &all[0], &all[5]),
            (6, &offer("R/empty/", "Folder"), &offer("R/rows.csv", "List of inputs"))
        );
        assert_eq!(offers(&format!("\"{root}/not\"")), [offer("R/notes.txt", "Text")]);
        assert_eq!(offers(&format!("{root}/notes.txt")), []);
    }
}

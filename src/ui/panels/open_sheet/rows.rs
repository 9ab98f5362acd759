//! Rows of the sheet to open anything: what was typed, and the models, sessions and corpora to choose from.

use std::path::Path;

use crate::{
    model::locate::KnownModel,
    protocol::{CorpusSource, ModelSource},
    session::{BUNDLED_CORPORA, Command, CorpusCommand, DownloadCommand, SUGGESTIONS, SessionCommand},
    text::sentence,
    ui::{
        PanelCtx,
        look::{Looker, facts, needs},
        panels::{
            model_panel::{source_name, source_text},
            palette::{Chosen, PaletteRow, paths},
        },
    },
};

/// Where something that can be opened comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the field says.
    Typed,
    Recent,
    Cache,
    /// What another program has on this machine.
    Elsewhere,
    Inside,
    Hub,
}

impl Origin {
    /// What stands above its rows; nothing above what was typed.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Typed => "",
            Self::Recent => "Recent",
            Self::Cache => "In the cache",
            Self::Elsewhere => "Of llama.cpp, Ollama and LM Studio",
            Self::Inside => "Inside",
            Self::Hub => "On the Hugging Face hub",
        }
    }
}

/// Something to open.
pub struct OpenRow {
    pub origin: Origin,
    pub name: String,
    /// What is known of it, short.
    pub facts: String,
    /// At the right edge.
    pub note: String,
    /// In full, for the line below the list.
    pub about: String,
    /// Why it cannot be opened, if so.
    pub reason: Option<String>,
    /// What opens it, or goes on towards that.
    pub chosen: Option<Chosen>,
}

impl OpenRow {
    fn new(origin: Origin, name: String, command: Command) -> Self {
        let (facts, note, about) = (String::new(), String::new(), String::new());
        Self { origin, name, facts, note, about, reason: None, chosen: Some(Chosen::session(command)) }
    }

    fn of_typed(row: PaletteRow) -> Self {
        let (facts, note) = (row.about().to_owned(), row.kind.to_owned());
        let about = facts.clone();
        Self { origin: Origin::Typed, name: row.text, facts, note, about, reason: row.reason, chosen: row.chosen }
    }

    /// A model, with what the catalogue says of it.
    fn of_model(origin: Origin, source: &ModelSource, known: Option<&KnownModel>) -> Self {
        let row = Self::new(origin, source_name(source), Command::OpenModel(source.clone()));
        let about = source_text(source);
        let Some(known) = known else { return Self { about, ..row } };
        let reason = known.problem.as_deref().map(sentence);
        let (facts, note) = (facts(known), needs(known).unwrap_or_default());
        let about = reason.as_ref().map_or_else(|| about.clone(), |reason| format!("{reason} ({about})"));
        Self { facts, note, about, chosen: row.chosen.filter(|_| reason.is_none()), reason, ..row }
    }

    fn mentions(&self, typed: &str) -> bool {
        let all = format!("{} {} {}", self.name, self.facts, self.origin.title()).to_lowercase();
        typed.to_lowercase().split_whitespace().all(|word| all.contains(word))
    }
}

/// What can be opened and mentions what was typed, with what that leads to first.
pub fn rows(cx: &PanelCtx<'_>, typed: &str, looker: &mut Looker) -> Vec<OpenRow> {
    let mut rows: Vec<OpenRow> = paths::rows(cx, typed, looker).into_iter().map(OpenRow::of_typed).collect();
    // What has a row by its path needs no other.
    let is_new = rows.is_empty();
    rows.extend(listed(cx).filter(|row| row.mentions(typed) && (is_new || row.name != typed.trim())));
    rows.extend(paths::hub_row(typed).map(OpenRow::of_typed));
    rows
}

fn listed<'a>(cx: &'a PanelCtx<'_>) -> impl Iterator<Item = OpenRow> + 'a {
    let (settings, download) = (&cx.session.settings, &cx.session.download);
    let catalog = download.known.as_deref().unwrap_or_default();
    let known = move |source: &ModelSource| catalog.iter().find(|(of, _)| of == source).map(|(_, known)| known);
    let recent = settings.recent_models.iter().filter(|source| !matches!(source, ModelSource::Bundled(_)));
    let recent = recent.map(move |source| OpenRow::of_model(Origin::Recent, source, known(source)));
    let sessions = settings.recent_sessions.iter().map(|path| session_row(path));
    let own_corpora = settings.recent_corpora.iter().map(|path| corpus_row(path));
    let others = catalog.iter().filter_map(move |(source, known)| {
        let origin = match source {
            ModelSource::Bundled(_) => Origin::Inside,
            ModelSource::Hub(_) if !settings.recent_models.contains(source) => Origin::Cache,
            ModelSource::Path(_) if !settings.recent_models.contains(source) => {
                let row = OpenRow::of_model(Origin::Elsewhere, source, Some(known));
                return Some(OpenRow { name: known.name.clone(), ..row });
            }
            ModelSource::Hub(_) | ModelSource::Path(_) => return None,
        };
        Some(OpenRow::of_model(origin, source, Some(known)))
    });
    let corpora = BUNDLED_CORPORA.iter().map(|(name, title)| {
        let open = Command::Corpus(CorpusCommand::Open(CorpusSource::path(*name)));
        let about = format!("{name}, a corpus bundled with AttnScope");
        OpenRow {
            facts: (*title).to_owned(),
            note: "Corpus".to_owned(),
            about,
            ..OpenRow::new(Origin::Inside, (*name).to_owned(), open)
        }
    });
    let is_here = move |id: &str| known(&ModelSource::Hub(id.to_owned())).is_some();
    let suggested = SUGGESTIONS.iter().filter(move |(id, _)| !is_here(id)).map(|(id, what)| {
        let find = Command::Download(DownloadCommand::Find((*id).to_owned()));
        let about = "Look up its files and their sizes".to_owned();
        OpenRow {
            facts: (*what).to_owned(),
            note: "Download…".to_owned(),
            about,
            ..OpenRow::new(Origin::Hub, (*id).to_owned(), find)
        }
    });
    recent.chain(sessions).chain(own_corpora).chain(others).chain(corpora).chain(suggested)
}

fn corpus_row(path: &Path) -> OpenRow {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let open = Command::Corpus(CorpusCommand::Open(CorpusSource::path(path)));
    let about = path.display().to_string();
    OpenRow { note: "Corpus".to_owned(), about, ..OpenRow::new(Origin::Recent, name, open) }
}

fn session_row(path: &Path) -> OpenRow {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let open = Command::Session(SessionCommand::Open(path.to_owned()));
    let about = format!("{}, in place of this session", path.display());
    OpenRow { note: "Session".to_owned(), about, ..OpenRow::new(Origin::Recent, name, open) }
}

//! Typed paths in the palette: what is there, and how they could go on.

use super::{
    fuzzy::Fit,
    rows::{Chosen, PaletteRow},
};
use crate::{
    hub::RepoId,
    session::{Command, DownloadCommand, PathKind, Typed},
    text::told,
    ui::{
        PanelCtx,
        look::{self, Looked, Looker, There},
        panels::drop_overlay::consequence,
    },
};

/// What a path is, and what a model that is not here is.
const KIND: &str = "Path";
const HUB: &str = "Hugging Face hub";

/// The rows of what was typed, where that is a path or names a model of the hub. Bundled models are rows of their own.
pub fn rows(cx: &PanelCtx<'_>, typed: &str, looker: &mut Looker) -> Vec<PaletteRow> {
    if is_bundled(typed) {
        return Vec::new();
    }
    let own = |detail: String, chosen: Option<Chosen>| {
        let reason = chosen.is_none().then(|| detail.clone());
        PaletteRow {
            kind: KIND,
            text: told(typed.trim()).into_owned(),
            detail,
            chosen,
            reason,
            synonyms: &[],
            fit: found(),
        }
    };
    match looker.look(typed) {
        None => Vec::new(),
        Some(Err(why)) => vec![own(why, None)],
        Some(Ok(None)) => vec![own("Looking …".to_owned(), None)],
        Some(Ok(Some(looked))) => {
            let kind = if matches!(looked.there, There::OnHub(_)) { HUB } else { KIND };
            let first = PaletteRow { kind, ..own(about(cx, looked), chosen(looked)) };
            std::iter::once(first).chain(completions(looked)).collect()
        }
    }
}

/// The row of a word that can be the id of a model on the hub.
pub fn hub_row(typed: &str) -> Option<PaletteRow> {
    let id = RepoId::parse(typed).filter(|_| look::parse(typed).is_none())?;
    Some(PaletteRow {
        kind: HUB,
        text: id.to_string(),
        detail: "Look for it on the Hugging Face hub".to_owned(),
        chosen: Some(Chosen::session(Command::Download(DownloadCommand::Find(id.to_string())))),
        reason: None,
        synonyms: &[],
        fit: found(),
    })
}

/// Whether it is being looked up where what was typed leads.
pub fn is_looking(typed: &str, looker: &mut Looker) -> bool {
    !is_bundled(typed) && looker.is_looking(typed)
}

fn is_bundled(typed: &str) -> bool {
    matches!(Typed::parse(typed, None), Some(Ok(Typed::Bundled(_))))
}

const fn found() -> Fit {
    Fit { score: i32::MAX, at: Vec::new() }
}

/// A folder is gone into first, and opened when it is there.
fn chosen(looked: &Looked) -> Option<Chosen> {
    let typed = looked.typed.trim();
    if looked.there == There::Folder && !typed.ends_with(['/', '"', '\'']) {
        return Some(Chosen::Type(format!("{typed}/")));
    }
    looked.opens().map(Chosen::session)
}

fn about(cx: &PanelCtx<'_>, looked: &Looked) -> String {
    let what = looked.what();
    if let (There::File(kind), [path]) = (&looked.there, looked.paths.as_slice())
        && *kind != PathKind::Model
    {
        format!("{what}. {}", consequence(cx, path))
    } else if matches!(looked.there, There::Model(_) | There::Cached(_)) {
        format!("{what}. Open it")
    } else {
        what
    }
}

fn completions(looked: &Looked) -> impl Iterator<Item = PaletteRow> {
    looked.completions.iter().map(|completion| PaletteRow {
        kind: completion.what,
        text: completion.name.clone(),
        detail: "Go on with this name (Tab)".to_owned(),
        chosen: Some(Chosen::Type(completion.typed.clone())),
        reason: None,
        synonyms: &[],
        fit: found(),
    })
}

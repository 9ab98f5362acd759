//! Typed paths in the palette: what is there, and how they could go on.

use super::{
    fuzzy::Fit,
    rows::{Chosen, PaletteRow},
};
use crate::{
    session::{PathKind, Typed},
    text::told,
    ui::{
        PanelCtx,
        look::{Looked, Looker, There},
        panels::drop_overlay::consequence,
    },
};

/// The rows of what was typed, where that is a path or names a model of the hub. Bundled models are rows of their own.
pub fn rows(cx: &PanelCtx<'_>, typed: &str, looker: &mut Looker) -> Vec<PaletteRow> {
    if is_bundled(typed) {
        return Vec::new();
    }
    let own = |detail: String, chosen: Option<Chosen>| {
        let reason = chosen.is_none().then(|| detail.clone());
        PaletteRow {
            kind: "Path",
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
            let first = own(about(cx, looked), chosen(looked));
            std::iter::once(first).chain(completions(looked)).collect()
        }
    }
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

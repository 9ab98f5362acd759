//! `attnscope models`: what can be opened without a path.

use std::io::{self, Write as _};

use crate::{
    model::locate::{self, KnownModel},
    text::bytes_text,
};

pub fn run() {
    let models = locate::known_models();
    let width = models.iter().map(|model| model.name.chars().count()).max().unwrap_or(0);
    let families = models.iter().map(|model| model.family.chars().count()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for KnownModel { name, family, size_bytes, problem, .. } in models {
        let size = bytes_text(size_bytes);
        let verdict = problem.unwrap_or_else(|| "opens".to_owned());
        // A closed pipe (`attnscope models | head`) is not an error.
        if writeln!(out, "{name:width$}  {family:families$}  {size:>10}  {verdict}").is_err() {
            return;
        }
    }
    writeln!(out, "\nModels of these types open by their folder or their hub id:").ok();
    for (kind, types) in locate::supported_types() {
        writeln!(out, "  {kind}: {types}").ok();
    }
}

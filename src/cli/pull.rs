//! `attnscope pull`: fetch a model into the shared Hugging Face cache.

use std::io::{self, IsTerminal as _, Write as _};

use super::{CliError, bar_text, one_line};
use crate::{
    hub::{self, Environment, HubError, Monitor, Plan, RepoId, Transfer},
    text::bytes_text,
};

/// Options of `attnscope pull`.
#[derive(Debug, clap::Args)]
pub struct PullOptions {
    /// A model on the hub, such as openai-community/gpt2, optionally with @ and a branch, tag or commit
    #[arg(value_name = "ID[@REVISION]")]
    id: String,
}

impl From<HubError> for CliError {
    fn from(error: HubError) -> Self {
        let message = one_line(&error.to_string(), &error.details());
        match error {
            HubError::Id(_) => Self::Usage(message),
            _ => Self::Failed(message),
        }
    }
}

/// Says what will be fetched, fetches it, and prints the folder.
pub fn run(options: &PullOptions) -> Result<(), CliError> {
    let id = RepoId::parse(&options.id).ok_or_else(|| HubError::Id(options.id.clone()))?;
    let environment = Environment::read()?;
    let plan = match hub::plan(&environment, &id, &Terminal) {
        // Nothing to compare with, so what is here is as good as it gets.
        Err(HubError::Offline { cached: true, .. }) => {
            tell(&format!("{id} is in the cache; HF_HUB_OFFLINE forbids to look for a newer one"));
            return print_folder(&environment, &id);
        }
        plan => plan?,
    };
    tell(&summary(&plan));
    hub::download(&environment, &plan, &Terminal)?;
    print_folder(&environment, &id)
}

fn summary(plan: &Plan) -> String {
    let (n, total, missing) = (plan.files.len(), plan.total_bytes(), plan.missing_bytes());
    match total - missing {
        _ if missing == 0 => format!("{}: {n} files, {}, all in the cache", plan.id, bytes_text(total)),
        0 => format!("{}: {n} files, {}", plan.id, bytes_text(total)),
        have => format!(
            "{}: {n} files, {}, of which {} are here and {} are fetched",
            plan.id,
            bytes_text(total),
            bytes_text(have),
            bytes_text(missing)
        ),
    }
}

fn print_folder(environment: &Environment, id: &RepoId) -> Result<(), CliError> {
    let folder = environment.cache.snapshot(id);
    let folder = folder.ok_or_else(|| CliError::Failed(format!("{id} was removed from the cache meanwhile")))?;
    // A closed pipe is not an error.
    writeln!(io::stdout(), "{}", folder.display()).ok();
    Ok(())
}

/// One line for whoever reads stderr.
fn tell(line: &str) {
    writeln!(io::stderr(), "{line}").ok();
}

/// Shows a bar where somebody watches; Ctrl+C ends the process, and what has arrived stays.
struct Terminal;

impl Monitor for Terminal {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn report(&self, transfer: &Transfer) {
        let mut stderr = io::stderr();
        if !stderr.is_terminal() {
            if let Some(retry) = &transfer.retry {
                tell(&retry.text());
            }
            return;
        }
        let text = transfer.text();
        let over = transfer.total_bytes > 0 && transfer.done_bytes >= transfer.total_bytes;
        let end = if over { "\r\x1b[K" } else { "\x1b[K" };
        let bar = bar_text(transfer.fraction());
        write!(stderr, "\r{bar} {text}{end}").and_then(|()| stderr.flush()).ok();
    }
}

//! Reasons why a download failed: one sentence, and what to do about it.

use std::{
    io::{self, ErrorKind},
    path::PathBuf,
};

use crate::text::{bytes_text, wait_text};

/// Why something on the hub did not work.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// What was typed is no id.
    #[error("{0:?} is not the id of a model")]
    Id(String),
    /// `HF_ENDPOINT` is no address.
    #[error("HF_ENDPOINT is not an address: {0:?}")]
    Endpoint(String),
    /// There is nowhere to put models.
    #[error("there is no home folder to keep models in")]
    NoCache,
    /// The user wants no network.
    #[error("HF_HUB_OFFLINE forbids to ask the hub, and {id} is {}in the cache", if *cached { "" } else { "not " })]
    Offline {
        id: String,
        /// Whether it is here anyway.
        cached: bool,
    },
    /// There is no such model or revision.
    #[error("{host} has no model {id}")]
    NotFound { id: String, host: String },
    /// The model exists, but not for us.
    #[error("{}", problem.summary(id, endpoint))]
    Access {
        id: String,
        /// Address of who was asked.
        endpoint: String,
        /// Why not.
        problem: AccessProblem,
    },
    /// The server asks for a longer pause than anybody waits.
    #[error("{host} asks to come back in {}", wait_text(*secs))]
    Busy {
        host: String,
        /// How long, in seconds.
        secs: f64,
    },
    /// The server has a problem of its own.
    #[error("{host} answers with error {status}")]
    Server { host: String, status: u16 },
    /// The server was not reached at all.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// The connection broke, more often than is worth trying.
    #[error("the connection to {host} broke: {reason}")]
    Broken { host: String, reason: String },
    /// The server does not do what it announced; nothing of it was kept.
    #[error("{host} sent something else than it announced: {what}")]
    Lied {
        host: String,
        /// What is wrong with it, with the file's name.
        what: String,
    },
    /// A file's name would lead out of the cache.
    #[error("a file of {id} has a name that could lead elsewhere: {name:?}")]
    HostileName { id: String, name: String },
    /// There is nothing to open.
    #[error("there is no {missing} in {id}")]
    NotAModel {
        id: String,
        /// What is not there.
        missing: &'static str,
        found: String,
    },
    /// Another program is at it.
    #[error("another program is downloading {file} at the moment")]
    Locked { file: String },
    /// The cache cannot be written.
    #[error("{}", cache_summary(source, *missing_bytes))]
    Cache {
        source: io::Error,
        path: PathBuf,
        /// Bytes that are still to come.
        missing_bytes: u64,
    },
    /// The caller asked to stop; not a failure.
    #[error("the download was stopped")]
    Cancelled,
}

/// Why a model is not for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessProblem {
    /// Its conditions were not accepted, or nobody said who we are.
    Gated,
    /// Nobody said who we are; the model may be private or may not exist.
    NoToken,
    /// The token is not valid.
    BadToken,
    /// The token is valid, but does not open this.
    Forbidden,
}

impl AccessProblem {
    fn summary(self, id: &str, endpoint: &str) -> String {
        let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
        match self {
            Self::Gated => format!("only those who accepted its conditions may download {id}"),
            Self::NoToken => format!("{host} shows no model {id} to somebody without a token"),
            Self::BadToken => format!("{host} does not accept the token"),
            Self::Forbidden => format!("the token may not read {id}"),
        }
    }

    fn details(self, id: &str, endpoint: &str) -> String {
        match self {
            Self::Gated => format!(
                "Accept them at {endpoint}/{id}, make a token at {endpoint}/settings/tokens and put it into \
                 HF_TOKEN"
            ),
            Self::NoToken => "Check the spelling. If the model is private, put a token that may read it into HF_TOKEN \
                              or run `hf auth login`"
                .to_owned(),
            Self::BadToken => {
                format!("Make a new one at {endpoint}/settings/tokens and put it into HF_TOKEN, or remove the old one")
            }
            Self::Forbidden => format!("Give it the right at {endpoint}/settings/tokens, or use another one"),
        }
    }
}

impl HubError {
    /// What to do about it; may be empty.
    pub fn details(&self) -> String {
        const KEPT: &str = "What has arrived is kept, and the next attempt goes on from there";
        match self {
            Self::Id(_) => "Type it as it stands on the hub, such as openai-community/gpt2, or with a revision, such \
                            as openai-community/gpt2@main"
                .to_owned(),
            Self::Endpoint(_) => "Give a full address such as https://huggingface.co, or unset it".to_owned(),
            Self::NoCache => "Name a folder in HF_HOME".to_owned(),
            Self::Offline { cached: true, .. } => "It opens as it is".to_owned(),
            Self::Offline { .. } => "Unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE to download".to_owned(),
            Self::NotFound { .. } => "Check the spelling of the id and of the revision".to_owned(),
            Self::Access { id, endpoint, problem } => problem.details(id, endpoint),
            Self::Busy { .. } => format!("Try again then. {KEPT}"),
            Self::Server { .. } => format!("Try again later. {KEPT}"),
            Self::Unreachable { .. } => {
                "Check the network. Models that are in the cache already open without it".to_owned()
            }
            Self::Broken { .. } => format!("Check the network and try again. {KEPT}"),
            Self::Lied { .. } => "Nothing wrong was kept. If a login page or a proxy stands in between, pass it and \
                                  try again; otherwise choose another HF_ENDPOINT"
                .to_owned(),
            Self::HostileName { .. } => "Nothing was downloaded; tell the owner of the model".to_owned(),
            Self::NotAModel { found, .. } => {
                format!("AttnScope reads config.json with safetensors or pytorch_model.bin weights; this holds {found}")
            }
            Self::Locked { .. } => "Wait until it has finished, or end it".to_owned(),
            Self::Cache { source, path, .. } => match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    format!("Make room, or name a folder on another disk in HF_HOME. {KEPT}: {}", path.display())
                }
                _ => format!("Name a folder that you may write to in HF_HOME: {}", path.display()),
            },
            Self::Cancelled => KEPT.to_owned(),
        }
    }
}

fn cache_summary(source: &io::Error, missing_bytes: u64) -> String {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("the disk is full: {} are still to come", bytes_text(missing_bytes))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "the cache for models cannot be written to".to_owned()
        }
        _ => format!("the cache for models cannot be used: {source}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_disk_says_becomes_a_sentence() {
        for (kind, summary, advice) in [
            (ErrorKind::StorageFull, "the disk is full: 2.00 GB are still to come", "Make room"),
            (ErrorKind::ReadOnlyFilesystem, "the cache for models cannot be written to", "HF_HOME"),
            (ErrorKind::PermissionDenied, "the cache for models cannot be written to", "HF_HOME"),
        ] {
            let path = PathBuf::from("a").join("b");
            let error = HubError::Cache { source: kind.into(), path: path.clone(), missing_bytes: 2_000_000_000 };
            assert_eq!(error.to_string(), summary);
            assert!(error.details().contains(advice) && error.details().ends_with(&path.display().to_string()));
        }
    }
}

//! The Hugging Face hub: the cache it shares with Python, and downloads into it.
//!
//! [`Environment`] says where the cache and the server are; [`plan`] asks the server which files a
//! model consists of and how large they are; [`download`] fetches what is missing. What has arrived
//! stays in an `.incomplete` file, so a download that was stopped, broken or killed goes on from there.
//! A file gets its name in the cache only after its length and its checksum were found right.

mod address;
mod attempts;
mod cache;
mod checksum;
mod client;
mod environment;
mod error;
mod fetch;
mod id;
mod needed;
mod pace;
mod partial;
mod plan;
mod programs;
mod transfer;
mod trouble;

pub use cache::Cache;
pub use environment::{Environment, RetryPolicy, Token};
pub use error::{AccessProblem, HubError};
pub use fetch::download;
pub use id::RepoId;
pub use plan::{Plan, PlannedFile, plan};
pub use programs::{OtherModel, OtherPrograms};
pub use transfer::{Monitor, Retry, Transfer};

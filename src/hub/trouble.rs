//! Reasons why a request failed, and whether it is worth another.

use std::time::Duration;

use super::HubError;

/// Why one attempt failed.
#[derive(Debug)]
pub enum Trouble {
    /// It may be better next time.
    Passing {
        /// What to say if it is not.
        error: HubError,
        /// The pause that the server asks for.
        pause: Option<Duration>,
        /// Whether enough arrived to start counting attempts anew.
        progressed: bool,
    },
    /// It will not be better next time.
    Final(HubError),
}

impl From<HubError> for Trouble {
    fn from(error: HubError) -> Self {
        Self::Final(error)
    }
}

//! Downloads, on a thread of their own: they last long and wait most of the time.

use std::time::Duration;

use super::{JobControl, Stop, thread::Engine};
use crate::{
    hub::{self, Environment, HubError, Monitor, Transfer},
    model::locate,
    protocol::{DownloadAnswer, EventKind, Failure, Request},
    text::sentence,
};

/// Answers what is asked about the hub.
#[derive(Clone, Debug, Default)]
pub struct HubEngine {
    /// `None` for what the process's variables and the token file say at each request.
    environment: Option<Environment>,
}

impl HubEngine {
    /// With another server, cache or retry policy than the process's.
    pub const fn with(environment: Environment) -> Self {
        Self { environment: Some(environment) }
    }
}

impl Engine for HubEngine {
    const THREAD: &'static str = "hub-worker";
    // The system can hold a thread for some seconds while it looks for a server that does not answer.
    // Ending there is safe: what has arrived is on disk, and nothing has its name before it is whole.
    const CLOSING: Option<Duration> = Some(Duration::from_secs(1));

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let environment = self.environment.clone().map_or_else(Environment::read, Ok)?;
        match request {
            Request::PlanDownload(id) => {
                let plan = hub::plan(&environment, &id, control)?;
                let problem = plan.model_type.as_deref().and_then(locate::unknown_family);
                Ok(EventKind::Download(DownloadAnswer::Planned {
                    plan: plan.into(),
                    problem: problem.as_deref().map(sentence),
                }))
            }
            Request::Download(plan) => {
                hub::download(&environment, &plan, control)?;
                Ok(EventKind::Download(DownloadAnswer::Downloaded(plan)))
            }
            other => {
                let details = format!("Please report this: {:?}", other.lane());
                Err(Stop::Failed(Failure { summary: "This is not a download".to_owned(), details }))
            }
        }
    }
}

impl Monitor for JobControl {
    fn is_cancelled(&self) -> bool {
        self.check().is_err()
    }

    fn report(&self, transfer: &Transfer) {
        self.send_sign_of_life(EventKind::Download(DownloadAnswer::Transfer(transfer.clone())));
    }
}

impl From<HubError> for Stop {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Cancelled => Self::Cancelled,
            error => Self::Failed(Failure { summary: sentence(&error.to_string()), details: error.details() }),
        }
    }
}

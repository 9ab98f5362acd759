//! Progress of a download, and its cancellation.

use crate::text::{bytes_text, wait_text};

/// How far a download is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The file that is being fetched.
    pub file: String,
    /// Bytes of all files that are here.
    pub done_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// Speed over the last seconds, once there is one.
    pub bytes_per_sec: Option<f64>,
    /// Why nothing arrives at the moment, if so.
    pub retry: Option<Retry>,
}

/// A pause before the next attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    pub why: String,
    /// Length of the pause, in seconds.
    pub pause_secs: f64,
}

impl Retry {
    /// What happened and what happens next.
    pub fn text(&self) -> String {
        format!("{}; trying again in {}", self.why, wait_text(self.pause_secs))
    }
}

impl Transfer {
    /// `123.4 MB of 548.1 MB · 12.3 MB/s · 35 s left`, or why nothing arrives.
    pub fn text(&self) -> String {
        if let Some(retry) = &self.retry {
            return retry.text();
        }
        let amount = format!("{} of {}", bytes_text(self.done_bytes), bytes_text(self.total_bytes));
        match (self.bytes_per_sec, self.secs_left()) {
            (Some(speed), Some(secs)) => {
                format!("{amount} · {}/s · {} left", bytes_text(speed as u64), wait_text(secs))
            }
            _ => amount,
        }
    }

    /// Finished part, `0..=1`.
    pub fn fraction(&self) -> f32 {
        if self.total_bytes == 0 { 0.0 } else { (self.done_bytes as f64 / self.total_bytes as f64) as f32 }
    }

    /// Time left at the present speed, in seconds.
    pub fn secs_left(&self) -> Option<f64> {
        let speed = self.bytes_per_sec.filter(|speed| *speed > 0.0)?;
        Some(self.total_bytes.saturating_sub(self.done_bytes) as f64 / speed)
    }
}

/// Whoever waits for a download.
pub trait Monitor: Sync {
    /// Whether the download is to stop; asked often.
    fn is_cancelled(&self) -> bool;
    /// Takes note of how far it is; called at most some ten times a second.
    fn report(&self, transfer: &Transfer);
}

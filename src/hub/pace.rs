//! Speed over the last seconds. The time is given, not read.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The speed is that of the last seconds, so that it follows the line and does not flicker.
const WINDOW: Duration = Duration::from_secs(5);
/// Below this time any speed would be a guess.
const SHORTEST: Duration = Duration::from_millis(300);

/// Counts bytes as they arrive.
#[derive(Debug, Default)]
pub struct Pace {
    /// Bytes that arrived up to each moment, oldest first.
    marks: VecDeque<(Instant, u64)>,
    arrived: u64,
}

impl Pace {
    /// Takes note of `bytes` that arrived at `now`.
    pub fn add(&mut self, now: Instant, bytes: u64) {
        self.arrived += bytes;
        self.marks.push_back((now, self.arrived));
        // The newest mark outside the window stays: the window reaches back to it.
        while self.marks.get(1).is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.marks.pop_front();
        }
    }

    /// Bytes per second.
    pub fn bytes_per_sec(&self) -> Option<f64> {
        let ((first, before), (last, after)) = (self.marks.front()?, self.marks.back()?);
        let time = last.duration_since(*first);
        (time >= SHORTEST).then(|| (after - before) as f64 / time.as_secs_f64())
    }

    /// Forgets the past: what follows a pause has its own speed.
    pub fn restart(&mut self) {
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pace = Pace::default();
        pace.add(at(0), 0);
        pace.add(at(100), 1_000);
        assert_eq!(pace.bytes_per_sec(), None, "too early to tell");
        pace.add(at(1_000), 1_000);
        assert_eq!(pace.bytes_per_sec(), Some(2_000.0));
        for second in 2..=20 {
            pace.add(at(second * 1_000), 500);
        }
        assert_eq!(pace.bytes_per_sec(), Some(500.0), "what was fast at the beginning is forgotten");
        pace.restart();
        assert_eq!(pace.bytes_per_sec(), None);
    }
}

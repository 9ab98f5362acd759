//! The walk through the lecture: its stop, and the way on.

use serde::{Deserialize, Serialize};

use super::gallery::{self, Stop};

/// Something to do with the lecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LectureCommand {
    /// Go on where it was left.
    Resume,
    /// Show a stop, by its place.
    Show(usize),
    Leave,
}

/// How far the lecture was walked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Lecture {
    /// The stop that is shown, or was when it was left.
    place: usize,
    is_on: bool,
}

impl Lecture {
    /// The place of its stop, while it goes on.
    pub fn place(self) -> Option<usize> {
        self.is_on.then_some(self.place)
    }

    /// The stop that is shown, while it goes on.
    pub fn stop(self) -> Option<Stop> {
        gallery::stops().nth(self.place()?).map(|(_, stop)| stop)
    }

    /// The place before or behind its stop, while it goes on.
    pub(super) fn neighbour(self, forward: bool) -> Option<usize> {
        self.is_on.then(|| if forward { self.place + 1 } else { self.place.saturating_sub(1) })
    }

    /// Takes a command; the stop that is to be shown. Behind the last there is none.
    pub(super) fn take(&mut self, command: LectureCommand) -> Option<Stop> {
        let last = gallery::stops().count().saturating_sub(1);
        (self.place, self.is_on) = match command {
            LectureCommand::Resume => (self.place, true),
            LectureCommand::Show(place) => (place.min(last), true),
            LectureCommand::Leave => (self.place, false),
        };
        self.stop()
    }
}

/// The same in a session file, by the title of the example: stops come and go between versions.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    stop: String,
    left: bool,
}

impl From<Lecture> for Written {
    fn from(lecture: Lecture) -> Self {
        let stop = gallery::stops().nth(lecture.place).map_or("", |(_, stop)| stop.example().title);
        Self { stop: stop.to_owned(), left: !lecture.is_on }
    }
}

impl From<Written> for Lecture {
    fn from(written: Written) -> Self {
        let place = gallery::stops().position(|(_, stop)| stop.example().title == written.stop);
        place.map_or_else(Self::default, |place| Self { place, is_on: !written.left })
    }
}

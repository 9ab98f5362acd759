//! Threads that compute while somebody moves the pointer.

use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Of 0 to 99; threads have 50 at first.
const BEHIND: u8 = 25;

/// Lets other threads go before the calling one where processors are scarce; where they are not it changes nothing.
/// A system that does not allow this is no reason to stop.
pub fn step_back() {
    let behind = ThreadPriorityValue::try_from(BEHIND).map(ThreadPriority::Crossplatform);
    if let Err(error) = behind.and_then(|priority| priority.set_for_current().map_err(|error| format!("{error:?}"))) {
        log::debug!("the priority of a thread stays as it is: {error}");
    }
}

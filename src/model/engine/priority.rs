//! Priority of threads that compute while a window is in use.

use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Of 0 to 99; threads start with 50.
const LOW: u8 = 25;

/// Lowers the priority of the calling thread, which matters where processors are scarce. A system that refuses is
/// logged and otherwise ignored.
pub fn lower_priority() {
    let low = ThreadPriorityValue::try_from(LOW).map(ThreadPriority::Crossplatform);
    if let Err(error) = low.and_then(|priority| priority.set_for_current().map_err(|error| format!("{error:?}"))) {
        log::debug!("the priority of a thread stays as it is: {error}");
    }
}

//! Another window: the program a second time, with a session of its own, as when it is started twice.

use std::{
    io,
    process::{Command, Stdio},
    thread,
};

/// Starts it.
///
/// # Errors
/// When the system does not find or start the program.
pub fn start() -> io::Result<()> {
    let mut window = Command::new(std::env::current_exe()?).arg("open").stdin(Stdio::null()).spawn()?;
    // Somebody has to take in how it ended, or the system keeps it in its table.
    thread::Builder::new().name("other-window".to_owned()).spawn(move || window.wait()).map(drop)
}

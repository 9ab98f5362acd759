//! Session files for a session whose worker is played.

use attnscope::{
    export::atomic_write,
    protocol::{EventKind, Failure, SessionAnswer, SessionRequest},
};

/// What a worker says that keeps nothing, reads and writes files, and finds nothing left behind.
pub fn answer(request: &SessionRequest) -> EventKind {
    let answer = match request {
        SessionRequest::Begin => SessionAnswer::Begun(Vec::new(), None),
        SessionRequest::SetAside { json: Some(_), .. } => SessionAnswer::PutAside("/kept/last.attnscope".into()),
        SessionRequest::Keep(..) | SessionRequest::SetAside { .. } | SessionRequest::Discard(_) => SessionAnswer::Done,
        SessionRequest::Read(path) => match std::fs::read(path) {
            Ok(bytes) => SessionAnswer::Read {
                path: path.clone(),
                json: serde_json::from_slice(&bytes).unwrap(),
                checksum: format!("{} bytes", bytes.len()),
                is_kept: false,
            },
            Err(error) => {
                let details = path.display().to_string();
                return EventKind::Failed(Failure { summary: error.to_string(), details });
            }
        },
        SessionRequest::Write { path, json, .. } => {
            let text = json.to_string();
            atomic_write(path, |out| out.write_all(text.as_bytes())).unwrap();
            SessionAnswer::Written { path: path.clone(), checksum: format!("{} bytes", text.len()) }
        }
    };
    EventKind::Session(Box::new(answer))
}

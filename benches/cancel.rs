//! How long a cancelled forward pass takes to let go: the size of bert-base, 512 tokens, stopped while a
//! layer in the middle is being computed.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

#[path = "support/bert_base.rs"]
mod bert_base;

use std::{cell::RefCell, sync::Arc};

use attnscope::{
    ids::{DocumentId, JobId, ModelId},
    model::{ComputeDevice, Input, Stage},
    protocol::{EventKind, Lane, LoadAnswer, ModelSource, Request, RunAnswer},
    worker::{ModelEngine, Worker},
};
use bert_base::{N_LAYERS, N_TOKENS, write_checkpoint};
use divan::Bencher;

/// The only document and the only model of this benchmark.
const DOCUMENT: DocumentId = DocumentId(1);
const MODEL: ModelId = ModelId(1);

fn main() {
    divan::main();
}

/// The worker of the window, and the number of its last job.
struct Session {
    worker: Worker,
    job: u64,
}

impl Session {
    fn submit(&mut self, request: Request) {
        self.job += 1;
        self.worker.submit(JobId(self.job), request);
    }

    /// Waits for an event of the last job.
    fn wait(&mut self, wanted: impl Fn(&EventKind) -> bool) {
        loop {
            let event = self.worker.wait().unwrap();
            assert!(!matches!(event.kind, EventKind::Failed(_) | EventKind::Run(RunAnswer::Captured(_))), "{event:?}");
            if event.job == JobId(self.job) && wanted(&event.kind) {
                return;
            }
        }
    }
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn cancel_bert_base_512(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    write_checkpoint(folder.path());
    let worker = Worker::spawn(ModelEngine::new(ComputeDevice::Cpu).unwrap(), Arc::new(|| ())).unwrap();
    let session = RefCell::new(Session { worker, job: 0 });
    session.borrow_mut().submit(Request::Load {
        id: MODEL,
        document: DOCUMENT,
        source: ModelSource::Path(folder.path().to_owned()),
        replaces: None,
        sees: None,
    });
    session.borrow_mut().wait(|kind| matches!(kind, EventKind::Load(LoadAnswer::Loaded(_))));
    bencher
        .with_inputs(|| {
            let mut session = session.borrow_mut();
            session.submit(Request::Run {
                document: DOCUMENT,
                model: MODEL,
                input: Input::Ids(vec![5; N_TOKENS]),
                generation: None,
                changes: Vec::new(),
            });
            session.wait(
                |kind| matches!(kind, EventKind::Progress(at) if at.stage == Stage::Forward && at.done >= N_LAYERS / 2),
            );
        })
        .bench_local_values(|()| {
            let mut session = session.borrow_mut();
            session.worker.cancel(Lane::Run(DOCUMENT));
            session.wait(|kind| matches!(kind, EventKind::Cancelled));
        });
}

//! How long a cancelled forward pass takes to let go: the size of bert-base, 512 tokens, stopped while a
//! layer in the middle is being computed.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use std::{cell::RefCell, fs, path::Path, sync::Arc};

use attnscope::{
    ids::{DocumentId, JobId, ModelId},
    worker::{EventKind, Input, Lane, ModelEngine, ModelSource, Request, Stage, Worker},
};
use divan::Bencher;
use safetensors::{Dtype, tensor::TensorView};

/// The only document and the only model of this benchmark.
const DOCUMENT: DocumentId = DocumentId(1);
const MODEL: ModelId = ModelId(1);

const D_MODEL: usize = 768;
const D_MLP: usize = 3072;
const N_LAYERS: usize = 12;
const N_VOCAB: usize = 1000;
const N_TOKENS: usize = 512;

fn main() {
    divan::main();
}

/// A checkpoint of the right shapes; what is in it does not change how long it takes.
fn write_checkpoint(folder: &Path) {
    let config = serde_json::json!({
        "model_type": "bert", "hidden_size": D_MODEL, "num_hidden_layers": N_LAYERS, "num_attention_heads": 12,
        "intermediate_size": D_MLP, "vocab_size": N_VOCAB, "max_position_embeddings": N_TOKENS,
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![N_VOCAB, D_MODEL]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![N_TOKENS, D_MODEL]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, D_MODEL]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![D_MODEL]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![D_MODEL]),
    ];
    for layer in 0..N_LAYERS {
        let maps = [
            ("attention.self.query", D_MODEL, D_MODEL),
            ("attention.self.key", D_MODEL, D_MODEL),
            ("attention.self.value", D_MODEL, D_MODEL),
            ("attention.output.dense", D_MODEL, D_MODEL),
            ("intermediate.dense", D_MLP, D_MODEL),
            ("output.dense", D_MODEL, D_MLP),
        ];
        for (name, d_out, d_in) in maps {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![d_out, d_in]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![d_out]));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![D_MODEL]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![D_MODEL]));
        }
    }
    let bytes: Vec<u8> = (0..D_MLP * D_MODEL).flat_map(|i| ((i % 97) as f32 * 1e-4).to_le_bytes()).collect();
    let tensors = shapes.iter().map(|(name, shape)| {
        let n_bytes = 4 * shape.iter().product::<usize>();
        (name, TensorView::new(Dtype::F32, shape.clone(), &bytes[..n_bytes]).unwrap())
    });
    safetensors::serialize_to_file(tensors, None, &folder.join("model.safetensors")).unwrap();
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
            assert!(!matches!(event.kind, EventKind::Failed(_) | EventKind::Captured(_)), "{event:?}");
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
    let worker = Worker::spawn(ModelEngine::new().unwrap(), Arc::new(|| ())).unwrap();
    let session = RefCell::new(Session { worker, job: 0 });
    session.borrow_mut().submit(Request::Load {
        id: MODEL,
        document: DOCUMENT,
        source: ModelSource::Path(folder.path().to_owned()),
        replaces: None,
    });
    session.borrow_mut().wait(|kind| matches!(kind, EventKind::Loaded(_)));
    bencher
        .with_inputs(|| {
            let mut session = session.borrow_mut();
            session.submit(Request::Run {
                document: DOCUMENT,
                model: MODEL,
                input: Input::Ids(vec![5; N_TOKENS]),
                generation: None,
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

//! A corpus behind the window: what it will take, first results, giving way, stopping, and what is refused.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use attnscope::{
    analysis::debate::{CorpusQuestion, DebateOptions, DebateTest},
    corpus::list::{ListOptions, Split},
    ids::{DocumentId, JobId, ModelId, Side},
    model::{self, Input},
    protocol::{
        CorpusAnswer, CorpusLook, CorpusOptions, CorpusOrder, CorpusSoFar, CorpusSource, DebateAnswer, DebateOrder,
        Event, EventKind, Failure, Lane, LoadAnswer, ModelSource, Request, RunAnswer,
    },
    worker::{ModelEngine, Worker, disk_cache::DiskCache},
};

use crate::worker::{load_from, run_on};

const CORPUS: JobId = JobId(7);

fn worker(model: &str, engine: model::Engine) -> Worker {
    worker_of(model, ModelEngine::with_engine(engine))
}

fn worker_of(model: &str, engine: ModelEngine) -> Worker {
    let mut worker = Worker::spawn(engine, Arc::new(|| ())).unwrap();
    worker.submit(JobId(1), load_from(ModelSource::Bundled(model.to_owned())));
    let loaded = answer(&mut worker, |kind| !matches!(kind, EventKind::Progress(_)));
    assert!(matches!(loaded.kind, EventKind::Load(LoadAnswer::Loaded(_))), "{loaded:?}");
    worker
}

fn engine() -> model::Engine {
    model::Engine::cpu(Some(2)).unwrap()
}

/// The next event of a kind.
fn answer(worker: &mut Worker, wanted: impl Fn(&EventKind) -> bool) -> Event {
    std::iter::from_fn(|| worker.wait()).find(|event| wanted(&event.kind)).unwrap()
}

fn order(source: CorpusSource) -> CorpusOrder {
    let options = CorpusOptions { pack_tokens: 300, ..CorpusOptions::default() };
    CorpusOrder::new(DocumentId(1), ModelId(1), source, options)
}

fn submit(worker: &mut Worker, order: CorpusOrder) {
    worker.submit(CORPUS, Request::Corpus(Box::new(order)));
}

/// How a corpus ends.
fn end(worker: &mut Worker) -> EventKind {
    let is_end = |kind: &EventKind| match kind {
        EventKind::Corpus(CorpusAnswer::SoFar(so_far)) => so_far.is_whole,
        EventKind::Failed(_) | EventKind::Cancelled => true,
        _ => false,
    };
    answer(worker, is_end).kind
}

fn whole(worker: &mut Worker) -> CorpusSoFar {
    match end(worker) {
        EventKind::Corpus(CorpusAnswer::SoFar(so_far)) => *so_far,
        other => panic!("{other:?}"),
    }
}

fn failure(worker: &mut Worker) -> Failure {
    match end(worker) {
        EventKind::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_corpus_says_what_it_will_take_and_shows_what_is_there_as_it_doubles() {
    let mut worker = worker("demo:gpt", engine());
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    let EventKind::Corpus(CorpusAnswer::Planned(plan)) = worker.wait().unwrap().kind else {
        panic!("first what it will take")
    };
    let (mut shown, mut done) = (Vec::new(), Vec::new());
    let whole = loop {
        match worker.wait().unwrap().kind {
            EventKind::Corpus(CorpusAnswer::Progress(progress)) => {
                done.push((progress.n_done, progress.secs_left.unwrap()));
            }
            EventKind::Corpus(CorpusAnswer::SoFar(so_far)) if so_far.is_whole => break so_far,
            EventKind::Corpus(CorpusAnswer::SoFar(so_far)) => shown.push(so_far.corpus.inputs().len()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((plan.n_inputs, whole.corpus.inputs().len()), (200, 200));
    // All of them are in the first chunk, so both are known and not judged.
    let corpus = &whole.corpus;
    assert_eq!(plan.n_tokens, corpus.n_tokens(Side::Only));
    assert!(corpus.size_bytes() >= plan.n_bytes && corpus.size_bytes() < plan.n_bytes + plan.n_bytes / 4);
    assert!(shown.len() > 1 && shown.windows(2).all(|pair| pair[1] >= 2 * pair[0]), "{shown:?}");
    assert!(*shown.last().unwrap() <= 100, "no copy of more than half: {shown:?}");
    assert!(done.is_sorted_by_key(|(done, _)| *done) && done.last().unwrap().1 == 0.0, "{done:?}");
    // Nobody keeps a second one.
    assert_eq!(Arc::strong_count(&whole.corpus), 1);
}

#[test]
fn a_run_that_is_asked_for_meanwhile_goes_first() {
    let mut worker = worker("demo:bert", engine());
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    answer(&mut worker, |kind| matches!(kind, EventKind::Corpus(CorpusAnswer::Planned(_))));
    worker.submit(JobId(8), run_on(ModelId(1), Input::text("Time flies")));
    let is_answer = |kind: &EventKind| match kind {
        EventKind::Corpus(CorpusAnswer::SoFar(so_far)) => so_far.is_whole,
        kind => matches!(kind, EventKind::Run(RunAnswer::Captured(_))),
    };
    assert_eq!(answer(&mut worker, is_answer).job, JobId(8));
    assert_eq!(whole(&mut worker).corpus.inputs().len(), 200, "and the corpus goes on where it was");
}

#[test]
fn a_stopped_corpus_hands_over_what_it_has_and_goes_on_from_there() {
    let mut worker = worker("demo:bert", engine());
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    let second = std::cell::Cell::new(0);
    answer(&mut worker, |kind| {
        second.set(second.get() + usize::from(matches!(kind, EventKind::Corpus(CorpusAnswer::Progress(_)))));
        second.get() == 2
    });
    worker.cancel(Lane::Corpus(DocumentId(1)));
    let mut so_far = None;
    let stopped = answer(&mut worker, |kind| {
        matches!(kind, EventKind::Cancelled)
            || matches!(kind, EventKind::Corpus(CorpusAnswer::SoFar(so_far)) if so_far.is_whole)
    });
    assert!(matches!(stopped.kind, EventKind::Cancelled), "{stopped:?}");
    // Once more, looking at what it hands over before it ends.
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    answer(&mut worker, |kind| matches!(kind, EventKind::Corpus(CorpusAnswer::Progress(_))));
    worker.cancel(Lane::Corpus(DocumentId(1)));
    while let Some(Event { kind, .. }) = worker.wait() {
        match kind {
            EventKind::Corpus(CorpusAnswer::SoFar(corpus)) => so_far = Some(*corpus),
            EventKind::Cancelled => break,
            _ => {}
        }
    }
    let known = so_far.unwrap();
    let n_known = known.corpus.inputs().len();
    assert!((1..200).contains(&n_known) && !known.is_whole, "{n_known}");
    let mut rest = order(CorpusSource::path("demo:sentences"));
    rest.known = Some(known);
    submit(&mut worker, rest);
    let EventKind::Corpus(CorpusAnswer::Progress(first)) =
        answer(&mut worker, |kind| matches!(kind, EventKind::Corpus(CorpusAnswer::Progress(_)))).kind
    else {
        unreachable!()
    };
    assert!(first.n_done > n_known, "{first:?}");
    let went_on = whole(&mut worker).corpus;
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    let at_once = whole(&mut worker).corpus;
    for head in at_once.heads() {
        let [a, b] = [&went_on, &at_once].map(|corpus| corpus.space(head, &corpus.all()).unwrap());
        assert!(a.queries == b.queries && a.keys == b.keys, "{head}: the same bytes");
    }
}

#[test]
fn first_results_of_a_long_list_come_after_its_first_inputs() {
    let mut worker = worker("demo:gpt", engine());
    let lines: Vec<String> = (0..100_000).map(|n| format!("The cat number {n:05} sat on the mat.")).collect();
    let mut long = order(CorpusSource::Lines(lines.join("\n").into()));
    long.options.layers = Some(vec![0]);
    submit(&mut worker, long);
    let EventKind::Corpus(CorpusAnswer::Planned(plan)) = worker.wait().unwrap().kind else { panic!("a plan") };
    assert_eq!(plan.n_inputs, 100_000);
    let first = answer(&mut worker, |kind| !matches!(kind, EventKind::Corpus(CorpusAnswer::Progress(_))));
    let EventKind::Corpus(CorpusAnswer::SoFar(first)) = first.kind else { panic!("{first:?}") };
    assert!(first.corpus.inputs().iter().all(|input| input.source < 512), "from the beginning of the list");
    // Judged by the first ones, to a tenth.
    let per_input = first.corpus.n_tokens(Side::Only) as f64 / first.corpus.inputs().len() as f64;
    assert!((plan.n_tokens as f64 / (per_input * 1e5) - 1.0).abs() < 0.1, "{plan:?} {per_input}");
    worker.cancel(Lane::Corpus(DocumentId(1)));
}

#[test]
fn what_there_is_no_room_for_is_refused_before_it_runs() {
    let mut worker = worker("demo:gpt", engine().with_run_memory(3_000_000));
    submit(&mut worker, order(CorpusSource::path("demo:sentences")));
    let refused = failure(&mut worker);
    for words in ["This corpus would take about", "3.0 MB are free"] {
        assert!(refused.summary.contains(words), "{refused:?}");
    }
    let n_fit: usize = refused.details.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!((10..200).contains(&n_fit), "{refused:?}");
    let mut smaller = order(CorpusSource::path("demo:sentences"));
    smaller.options.first = Some(n_fit / 2);
    submit(&mut worker, smaller);
    assert_eq!(whole(&mut worker).corpus.inputs().len(), n_fit / 2);
}

#[test]
fn corpora_that_cannot_be_run_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let column = |path: PathBuf| {
        let list = ListOptions { text_column: Some("text".to_owned()), ..ListOptions::default() };
        CorpusSource::Path { path, list }
    };
    let mut worker = worker("demo:gpt", engine());
    for (source, expected) in [
        (CorpusSource::path(file("empty.txt", "")), "the file is empty"),
        (CorpusSource::path(folder.path().join("missing.csv")), "there is no such file, check the spelling"),
        (column(file("a.csv", "a,b\n1,2\n")), "no column “text”; there are a, b"),
        (CorpusSource::path(file("a.json", "[[1, 2]]")), "cannot be read"),
        (CorpusSource::path("demo:pictures"), "demo:gpt reads text, and this corpus has pictures"),
        (CorpusSource::Lines(" \n ".into()), "There are no lines to run"),
    ] {
        submit(&mut worker, order(source));
        let failure = failure(&mut worker);
        assert!(failure.summary.contains(expected), "{expected}: {failure:?}");
    }
}

#[test]
fn one_damaged_picture_among_many_and_captures_of_another_model_are_left_out_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/corpora/pictures");
    for entry in fs::read_dir(pictures).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "png") {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    fs::write(folder.path().join("broken.png"), b"\x89PNG but no more").unwrap();
    let mut worker = worker("demo:vit", engine());
    submit(&mut worker, order(CorpusSource::path(folder.path())));
    let so_far = whole(&mut worker);
    assert_eq!((so_far.corpus.inputs().len(), so_far.left_out.len()), (32, 1));
    assert_eq!(so_far.left_out[0].name, "broken.png");

    let run = |worker: &mut Worker, input| {
        worker.submit(JobId(8), run_on(ModelId(1), input));
        match answer(worker, |kind| !matches!(kind, EventKind::Progress(_))).kind {
            EventKind::Run(RunAnswer::Captured(capture)) => capture,
            other => panic!("{other:?}"),
        }
    };
    let picture = model::ImageSource::Bundled("chelsea".to_owned());
    let seen = run(&mut worker, Input::Image(picture));
    let mut reader = self::worker("demo:gpt", engine());
    let read = ["One", "Two words"].map(|text| run(&mut reader, Input::text(text)));
    let captures = vec![Arc::clone(&read[0]), seen, Arc::clone(&read[1])];
    let file =
        attnscope::protocol::CaptureFile { path: "two.safetensors".into(), captures, numbers: None, folder: None };
    submit(&mut worker, order(CorpusSource::Captures(file)));
    let so_far = whole(&mut worker);
    assert_eq!(so_far.corpus.inputs().iter().map(|input| input.source).collect::<Vec<_>>(), [0, 2]);
    assert!(so_far.left_out[0].reason.contains("a corpus has one model"), "{:?}", so_far.left_out);
}

#[test]
fn a_look_says_what_can_be_chosen_and_what_it_will_take() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let rows = "7,The cat sat on the mat. It slept.,short\n".repeat(40);
    fs::write(&table, format!("id,story,tag\n{rows}")).unwrap();
    let mut worker = worker("demo:gpt", engine());
    let mut look = |list: ListOptions, layers: Option<Vec<usize>>| {
        let source = CorpusSource::Path { path: table.clone(), list };
        let options = CorpusOptions { layers, ..CorpusOptions::default() };
        let order = CorpusOrder::new(DocumentId(1), ModelId(1), source, options);
        worker.submit(CORPUS, Request::LookAtCorpus(Box::new(order)));
        let first = answer(&mut worker, |kind| matches!(kind, EventKind::Look(_))).kind;
        let last = answer(&mut worker, |kind| matches!(kind, EventKind::Look(_))).kind;
        let (EventKind::Look(first), EventKind::Look(last)) = (first, last) else { panic!("no look") };
        assert!(first.secs.is_none() && first.plan == last.plan, "memory is known before time");
        assert!(last.secs.is_some_and(|secs| secs > 0.0));
        last
    };
    let whole = look(ListOptions::default(), None);
    assert!(whole.has_choice);
    assert_eq!(whole.text_columns, ["story", "id", "tag"]);
    assert!(whole.samples[0].starts_with("The cat sat on the mat."));
    let split = look(ListOptions { split: Split::Sentences, ..ListOptions::default() }, None);
    let n = |look: &CorpusLook| look.plan.as_ref().map(|plan| (plan.n_inputs, plan.n_bytes)).unwrap();
    assert_eq!((n(&whole).0, n(&split).0), (40, 80));
    let fewer = look(ListOptions::default(), Some(vec![0]));
    assert!(n(&fewer).1 < n(&whole).1 / 2, "{:?} {:?}", n(&fewer), n(&whole));
    let tags = look(ListOptions { text_column: Some("tag".to_owned()), ..ListOptions::default() }, None);
    assert_eq!(tags.text_columns[0], "tag");
}

#[test]
fn inputs_of_a_model_without_queries_and_keys_are_listed_and_tested() {
    let mut worker = worker("demo:bilstm", engine());
    let lines = "A dull and slow film\nA fine and warm film\nNot a word of it is new";
    submit(&mut worker, order(CorpusSource::Lines(lines.into())));
    let so_far = whole(&mut worker);
    assert_eq!((so_far.corpus.inputs().len(), so_far.left_out.len()), (3, 0), "{:?}", so_far.left_out);
    let options = DebateOptions { tests: vec![DebateTest::Permutation], ..DebateOptions::default() };
    let order = DebateOrder {
        document: DocumentId(1),
        model: ModelId(1),
        list: Arc::clone(&so_far.list),
        corpus: "Pasted lines".to_owned(),
        question: CorpusQuestion { options, epsilon: 0.01, label_column: None },
        inputs: vec![0, 2],
        known: None,
        recalls: false,
    };
    let mut tested = |order: &DebateOrder| {
        worker.submit(JobId(9), Request::Debate(Box::new(order.clone())));
        answer(&mut worker, |kind| matches!(kind, EventKind::Debate(DebateAnswer::Found(_)) | EventKind::Failed(_)))
            .kind
    };
    let EventKind::Debate(DebateAnswer::Found(found)) = tested(&order) else { panic!("not tested") };
    assert!(found.is_whole() && found.instances.iter().map(|of| of.input).eq([0, 2]), "{found:?}");
    let mut other = order;
    other.question.label_column = Some("label".to_owned());
    let EventKind::Failed(failure) = tested(&other) else { panic!("there is no such column") };
    assert_eq!(failure.summary, "The inputs have no column label: it has none");
}

#[test]
fn tests_are_kept_on_disk_and_gone_on_with_by_the_next_program() {
    let folder = tempfile::tempdir().unwrap();
    let run = |order: &DebateOrder| {
        let cache = DiskCache::at(folder.path().join("cache"), u64::MAX);
        let mut worker = worker_of("demo:bilstm", ModelEngine::with_engine(engine()).with_scratch(Some(cache)));
        worker.submit(JobId(9), Request::Debate(Box::new(order.clone())));
        let is_end = |kind: &EventKind| {
            matches!(kind, EventKind::Debate(DebateAnswer::Found(_)) | EventKind::Failed(_) | EventKind::Cancelled)
        };
        answer(&mut worker, is_end).kind
    };
    let texts = folder.path().join("texts.txt");
    fs::write(&texts, "A dull and slow film\nA fine and warm film\nNot a word of it is new\n").unwrap();
    let list = Arc::new(attnscope::worker::corpus::read(&texts, &ListOptions::default()).unwrap());
    let options = DebateOptions { tests: vec![DebateTest::Permutation], ..DebateOptions::default() };
    let order = |inputs: &[usize], recalls: bool| DebateOrder {
        document: DocumentId(1),
        model: ModelId(1),
        list: Arc::clone(&list),
        corpus: "Pasted lines".to_owned(),
        question: CorpusQuestion { options: options.clone(), epsilon: 0.01, label_column: None },
        inputs: inputs.to_vec(),
        known: None,
        recalls,
    };
    assert!(matches!(run(&order(&[0, 1, 2], true)), EventKind::Cancelled), "nothing is kept yet");
    let EventKind::Debate(DebateAnswer::Found(first)) = run(&order(&[0, 2], false)) else { panic!("not tested") };
    let EventKind::Debate(DebateAnswer::Found(kept)) = run(&order(&[0, 1, 2], true)) else { panic!("not kept") };
    assert_eq!((kept.instances.as_slice(), kept.missing()), (first.instances.as_slice(), vec![1]));
    let EventKind::Debate(DebateAnswer::Found(whole)) = run(&order(&[0, 1, 2], false)) else { panic!("not tested") };
    assert!(whole.is_whole());
    // Of fewer inputs what is kept of the others stays.
    assert!(matches!(run(&order(&[1], false)), EventKind::Debate(_)));
    let EventKind::Debate(DebateAnswer::Found(again)) = run(&order(&[0, 1, 2], true)) else { panic!("not kept") };
    assert_eq!(again.instances, whole.instances);
    let other = DebateOptions { seed: 3, ..options.clone() };
    let mut other_seed = order(&[0], true);
    other_seed.question.options = other;
    assert!(matches!(run(&other_seed), EventKind::Cancelled), "other numbers are other results");
}

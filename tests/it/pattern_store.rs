use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use attnscope::{
    analysis::{
        edges::{EdgeFilter, select},
        patch_stream::PatchComponents,
        reading::{
            Captures, LeaveOut, Minus, Reading, Refusal, Whose, read,
            store::{CapturePair, PatternQuery, PatternReader, PatternResult, PatternStore, Want, answer},
        },
    },
    capture::{Matrix, Merging, Site},
    ids::{CaptureId, HeadId, StackKind},
    worker::PatternThread,
};

use crate::{flows::with_stacks, support::synthetic};

/// Writes down what it is asked.
#[derive(Default)]
struct Scribe(Vec<Vec<Want>>);

impl PatternReader for Scribe {
    fn ask(&mut self, wants: Vec<Want>) {
        self.0.push(wants);
    }
}

impl Scribe {
    /// Answers everything of the newest request.
    fn answer_into(&self, store: &PatternStore) {
        for want in self.0.last().into_iter().flatten() {
            store.insert(want.key.clone(), answer(want, &mut || true).unwrap());
        }
    }
}

/// Long enough not to be read at once.
fn long() -> CapturePair {
    CapturePair::one(Arc::new(synthetic::causal_text_capture(300, 2, 4)))
}

fn readings() -> Vec<Reading> {
    (0..4).map(|head| Reading { merging: Merging::WORDS, ..Reading::of(HeadId::single(1, head)) }).collect()
}

#[test]
fn short_texts_are_read_at_once_and_long_ones_are_asked_for_once() {
    let store = PatternStore::default();
    let mut scribe = Scribe::default();
    let short = CapturePair::one(Arc::new(synthetic::text_capture(12, 1, 2)));
    let reading = Reading::of(HeadId::single(0, 1));
    let pattern = store.pattern(&short, &reading).unwrap().unwrap();
    assert_eq!(pattern.matrix, read(Captures::one(&short.this), &reading).unwrap().matrix);
    store.ask(&mut scribe);
    assert!(scribe.0.is_empty(), "nobody was asked");

    let long = long();
    for _ in 0..3 {
        for reading in readings() {
            assert!(store.pattern(&long, &reading).is_none());
        }
        store.ask(&mut scribe);
    }
    assert_eq!(scribe.0.len(), 1, "asked once, not in every frame");
    assert_eq!(scribe.0[0].len(), 4);
    assert!(store.is_busy());
    scribe.answer_into(&store);
    assert!(!store.is_busy());
    for reading in readings() {
        let pattern = store.pattern(&long, &reading).unwrap().unwrap();
        assert_eq!(pattern.matrix, read(Captures::one(&long.this), &reading).unwrap().matrix);
    }
}

#[test]
fn newest_wins_and_partial_answers_stay() {
    let store = PatternStore::default();
    let mut scribe = Scribe::default();
    let long = long();
    let [a, b, c, _] = readings().try_into().unwrap();
    let ask = |readings: &[&Reading], scribe: &mut Scribe| {
        let known: Vec<bool> = readings.iter().map(|reading| store.pattern(&long, reading).is_some()).collect();
        store.ask(scribe);
        known
    };
    assert_eq!(ask(&[&a, &b], &mut scribe), [false, false]);
    let first = &scribe.0[0][0];
    store.insert(first.key.clone(), answer(first, &mut || true).unwrap());
    // Another head is looked at: the one that is known is not asked for again, the new one is.
    assert_eq!(ask(&[&a, &c], &mut scribe), [true, false]);
    assert_eq!(scribe.0.len(), 2);
    assert_eq!(scribe.0[1].iter().map(|want| &want.key.question).collect::<Vec<_>>(), [&PatternQuery::Pattern(c)]);
    // A failure is an answer, too; what was asked with it may be asked again.
    store.give_up(&Refusal::NoOther);
    assert!(!store.is_busy());
}

#[test]
fn lines_and_links_come_from_the_same_patterns() {
    let store = PatternStore::default();
    let mut scribe = Scribe::default();
    let long = long();
    let reading = readings().remove(2);
    let filter = EdgeFilter::TopK(2);
    assert!(store.lines(&long, &reading, filter).is_none());
    assert!(store.links(&long, StackKind::SelfAttention, &reading, (9, 3)).is_none());
    store.ask(&mut scribe);
    scribe.answer_into(&store);
    let lines = store.lines(&long, &reading, filter).unwrap().unwrap();
    let pattern = store.pattern(&long, &reading).unwrap().unwrap();
    assert!(Arc::ptr_eq(&lines.pattern, &pattern), "one pattern in memory");
    assert_eq!(lines.set, select(&pattern.matrix, filter));
    let links = store.links(&long, StackKind::SelfAttention, &reading, (9, 3)).unwrap().unwrap();
    let this = links.heads.iter().find(|link| link.head == HeadId::single(1, 2)).unwrap();
    assert_eq!(Some(this.weight), pattern.value_at(9, 3));
    // Lines of a difference are its largest values, whatever their sign.
    let minus = Some(Minus { heads: readings().remove(0).heads, of: Whose::This });
    let difference = Reading { minus, ..reading };
    store.lines(&long, &difference, filter);
    store.ask(&mut scribe);
    scribe.answer_into(&store);
    let lines = store.lines(&long, &difference, filter).unwrap().unwrap();
    assert!(
        lines
            .set
            .edges
            .iter()
            .all(|edge| { edge.weight == lines.pattern.value(edge.query as usize, edge.key as usize).unwrap().abs() })
    );
    // What the links do not depend on does not make them a new question.
    assert!(store.links(&long, StackKind::SelfAttention, &difference, (9, 3)).is_some());
}

#[test]
fn the_budget_is_kept_but_for_what_is_on_screen() {
    let long = long();
    // Two matrices of 300 × 300 fit.
    let store = PatternStore::new(900_000);
    let mut scribe = Scribe::default();
    let mut look = |reading: &Reading| {
        let known = store.pattern(&long, reading).is_some();
        store.ask(&mut scribe);
        if !known {
            scribe.answer_into(&store);
        }
        known
    };
    // Left out, so that the matrices are the store's own.
    let leave_out = LeaveOut { first: true, ..LeaveOut::default() };
    let all: Vec<Reading> =
        readings().into_iter().map(|reading| Reading { leave_out: leave_out.clone(), ..reading }).collect();
    for reading in &all {
        look(reading);
        look(reading);
    }
    assert!(store.size_bytes() <= 900_000, "{}", store.size_bytes());
    assert!(look(&all[3]) && !look(&all[0]), "the oldest went first");

    let mut scribe = Scribe::default();
    for _ in 0..4 {
        for reading in &all {
            drop(store.pattern(&long, reading));
        }
        store.ask(&mut scribe);
        scribe.answer_into(&store);
    }
    assert!(scribe.0.len() <= 2, "what is on screen is not computed again and again: {}", scribe.0.len());

    store.retain(|id| id == CaptureId(77));
    assert_eq!(store.size_bytes(), 0);
}

#[test]
fn the_analysis_thread_tells_each_answer_and_a_refusal_is_one() {
    let store = PatternStore::default();
    let (sender, woken) = std::sync::mpsc::channel();
    let mut analyst = PatternThread::spawn(Arc::new(move || {
        sender.send(()).ok();
    }))
    .unwrap();
    let long = long();
    let missing = Reading { merging: Merging::WORDS, ..Reading::of(HeadId::single(1, 9)) };
    let started = Instant::now();
    let mut known = 0;
    while known < 5 {
        known = readings().iter().filter(|reading| store.pattern(&long, reading).is_some()).count();
        known += usize::from(store.pattern(&long, &missing).is_some());
        store.ask(&mut analyst);
        if known < 5 {
            woken.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        analyst.drain_into(&store);
        assert!(started.elapsed() < Duration::from_mins(1));
    }
    assert!(matches!(store.pattern(&long, &missing), Some(Err(Refusal::NoSuchHead { .. }))));
    for reading in readings() {
        let pattern = store.pattern(&long, &reading).unwrap().unwrap();
        assert_eq!(pattern.matrix, read(Captures::one(&long.this), &reading).unwrap().matrix);
    }
    let key = |reading: &Reading| attnscope::analysis::reading::store::PatternKey {
        this: long.this.id(),
        other: None,
        question: PatternQuery::Pattern(reading.clone()),
    };
    assert!(matches!(store.get(&key(&readings()[0])), Some(Ok(PatternResult::Pattern(_)))));
}

#[test]
fn components_of_patches_are_computed_beside_the_window_and_asked_for_once() {
    let made = synthetic::image_capture((24, 24));
    let mut stacks = made.stacks().to_vec();
    let (n, width) = (24 * 24 + 1, made.model().d_model);
    for (nth, layer) in stacks.iter_mut().flat_map(|stack| &mut stack.layers).enumerate() {
        let value = |at: usize| ((37 + nth) * at % 101) as f32 + (at % width * at % 13) as f32;
        let stream: Vec<f32> = (0..n * width).map(value).collect();
        layer.sites.set(Site::ResidPre, Matrix::new(stream, [n, width]).unwrap());
    }
    let picture = CapturePair::one(Arc::new(with_stacks(&made, stacks)));
    let store = PatternStore::default();
    let mut scribe = Scribe::default();
    let layers = [0, 1].map(|layer| (StackKind::SelfAttention, layer));
    for _ in 0..3 {
        assert!(layers.iter().all(|layer| store.components(&picture, *layer).is_none()), "that takes long");
        store.ask(&mut scribe);
    }
    assert_eq!(scribe.0.len(), 1);
    scribe.answer_into(&store);
    let found = layers.map(|layer| store.components(&picture, layer).unwrap().unwrap());
    for ((stack, layer), found) in layers.into_iter().zip(&found) {
        assert_eq!(**found, PatchComponents::of_layer(&picture.this, stack, layer).unwrap());
    }
    assert_ne!(found[0], found[1]);
    // The capture without the stream has the same number, so the store is another.
    let (store, plain) = (PatternStore::default(), CapturePair::one(Arc::new(made)));
    assert_eq!(store.components(&plain, layers[0]), Some(None), "without a stream there are none");
}

//! Texts that a model writes: limits, chance, cancelling, and what becomes of them in files.

use std::{
    io::Cursor,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use attnscope::{
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    ids::{CaptureId, Side, StackKind},
    model::{Cancelled, Generation, Input, ModelError, Progress, RunPlan, Stage, TokenChoice, uninterrupted},
};

use crate::parity::load;

const SOURCE: [u32; 7] = [5, 9, 14, 3, 22, 31, 1];

fn write(family: &str, generation: Generation) -> Capture {
    let model = load(&format!("families/{family}"));
    let input = model.encode(&Input::Ids(SOURCE.to_vec())).unwrap();
    let plan = RunPlan { generate: Some(generation), ..RunPlan::default() };
    model.forward(&input, &plan, &uninterrupted).unwrap()
}

fn text(capture: &Capture) -> Vec<u32> {
    let generated = capture.generated().unwrap();
    let tokens = &capture.tokens(generated.side)[generated.first..];
    assert_eq!(tokens.len(), generated.probabilities.len());
    tokens.iter().filter_map(|token| token.id).collect()
}

fn at_most(max_new_tokens: usize) -> Generation {
    Generation { max_new_tokens, ..Generation::default() }
}

#[test]
fn a_written_text_has_one_map_of_each_kind() {
    let capture = write("t5", at_most(7));
    assert_eq!(text(&capture).len(), 7);
    assert!(capture.notes().iter().any(|note| note.contains("at 7 new tokens")), "{:?}", capture.notes());
    // The start token and the text: the last token has been read, too.
    let shape = |stack| capture.stack(stack).unwrap().layers[0].pattern().unwrap().shape();
    assert_eq!(shape(StackKind::Encoder)[1..], [7, 7]);
    assert_eq!(shape(StackKind::Decoder)[1..], [8, 8]);
    assert_eq!(shape(StackKind::Cross)[1..], [8, 7]);
    assert!(capture.tokens(Side::Decoder)[0].special);
}

#[test]
fn a_text_ends_where_the_positions_end() {
    let capture = write("marian", at_most(1000));
    let n_ctx = capture.model().modality.target().unwrap().n_ctx;
    assert!(capture.tokens(Side::Decoder).len() <= n_ctx, "{n_ctx}");
}

#[test]
fn the_same_seed_writes_the_same_text() {
    let sample = |temperature, seed| {
        let choice = TokenChoice::Sample { temperature, top_p: 0.95, seed };
        text(&write("t5", Generation { choice, ..at_most(12) }))
    };
    assert_eq!(sample(1.5, 7), sample(1.5, 7));
    assert!((0..5).any(|seed| sample(1.5, seed) != sample(1.5, 7)));
    assert_eq!(sample(0.0, 7), text(&write("t5", at_most(12))), "no temperature, no chance");
}

#[test]
fn writing_reports_each_token_and_stops_when_told_to() {
    let model = load("families/t5");
    let input = model.encode(&Input::Ids(SOURCE.to_vec())).unwrap();
    let plan = RunPlan { generate: Some(at_most(9)), ..RunPlan::default() };
    let seen = Mutex::new(Vec::new());
    let watch = |progress: Progress| {
        seen.lock().unwrap().push(progress);
        Ok(())
    };
    model.forward(&input, &plan, &watch).unwrap();
    let seen = seen.into_inner().unwrap();
    let mut tokens: Vec<_> = seen.iter().filter(|p| p.stage == Stage::Generate).map(|p| (p.done, p.total)).collect();
    assert!(tokens.is_sorted(), "{tokens:?}");
    tokens.dedup();
    assert_eq!(tokens, (0..9).map(|n| (n, 9)).collect::<Vec<_>>());

    // Wherever it is told to stop, it goes no further.
    let n_calls = seen.len();
    for stop_at in [0, 1, n_calls / 3, n_calls / 2, n_calls - 1] {
        let calls = AtomicUsize::new(0);
        let stop = |_: Progress| if calls.fetch_add(1, Ordering::Relaxed) < stop_at { Ok(()) } else { Err(Cancelled) };
        let stopped = model.forward(&input, &plan, &stop);
        assert!(matches!(stopped, Err(ModelError::Cancelled(_))), "{stop_at}");
        assert_eq!(calls.into_inner(), stop_at + 1);
    }
}

#[test]
fn models_that_cannot_write_say_so() {
    let model = load("families/bert");
    let input = model.encode(&Input::Ids(vec![3, 4, 5])).unwrap();
    let plan = RunPlan { generate: Some(at_most(3)), ..RunPlan::default() };
    let error = model.forward(&input, &plan, &uninterrupted).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
}

#[test]
fn written_texts_survive_a_file() {
    for family in ["marian-separate", "vit-gpt2"] {
        let model = load(&format!("families/{family}"));
        let input = match family {
            "vit-gpt2" => Input::Pixels { data: vec![0.25; 3 * 24 * 16].into(), size_px: (24, 16) },
            _ => Input::Ids(SOURCE.to_vec()),
        };
        let input = model.encode(&input).unwrap();
        let plan = RunPlan { generate: Some(at_most(6)), ..RunPlan::default() };
        let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
        assert_eq!(capture.generated().unwrap().side, Side::Decoder);
        let mut bytes = Vec::new();
        file::write(&[&capture], Contents::DEFAULT, &mut bytes).unwrap();
        let again = file::read(&mut Cursor::new(&bytes), Format::Safetensors, "some file", &mut || CaptureId(1))
            .unwrap()
            .remove(0);
        assert_eq!(again.generated(), capture.generated(), "{family}");
        assert_eq!(again.model(), capture.model(), "{family}");
        for side in [Side::Encoder, Side::Decoder] {
            assert_eq!(again.tokens(side), capture.tokens(side), "{family}");
        }
        assert_eq!(again.image().map(|image| image.grid), capture.image().map(|image| image.grid), "{family}");
        for stack in [StackKind::Encoder, StackKind::Decoder, StackKind::Cross] {
            let pattern = |capture: &Capture| capture.stack(stack).unwrap().layers[0].pattern().cloned().unwrap();
            assert_eq!(pattern(&again).as_slice(), pattern(&capture).as_slice(), "{family} {stack}");
        }
        // A text that claims other tokens than there are is refused.
        let lie = String::from_utf8_lossy(&bytes).contains(r#"\"first\":1"#);
        assert!(lie, "{family}");
        let at = bytes.windows(11).position(|part| part == br#"\"first\":1"#).unwrap();
        bytes[at + 10] = b'2';
        let error =
            file::read(&mut Cursor::new(&bytes), Format::Safetensors, "some file", &mut || CaptureId(1)).unwrap_err();
        assert!(error.to_string().contains("generated"), "{error}");
    }
}

//! Capture files in a session: their inputs, and the model behind them.

use attnscope::{
    capture::{Capture, Computation, LayerCapture, Site},
    ids::{HeadId, Side},
    model::{Input, TextInput},
    protocol::{CaptureFile, EventKind, LoadAnswer, RunAnswer},
    session::{Command, Focus, SelectionCommand, ViewKind},
};

use crate::support::{
    play::{Play, bundled},
    scripted::{N_LAYERS, capture, model},
};

/// A capture file with one input per text, as the worker reads it.
fn capture_file(texts: &[&str]) -> EventKind {
    let gpt = model(&bundled("demo:gpt"));
    let read =
        |text: &&str| capture(&gpt, &Input::Text(TextInput { text: (*text).to_owned(), ..TextInput::default() }));
    EventKind::Load(LoadAnswer::Opened(CaptureFile {
        path: "some/flies.safetensors".into(),
        captures: texts.iter().map(read).collect(),
        numbers: None,
        folder: None,
    }))
}

impl Play {
    fn opens(&mut self, texts: &[&str]) {
        self.does(Command::OpenPaths(vec!["some/flies.safetensors".into()]));
        let job = self.last_job();
        self.asked.clear();
        self.hears(job, capture_file(texts));
    }
}

#[test]
fn a_capture_file_is_shown_and_the_model_stays_for_the_next_run() {
    let mut play = Play::showing("one two three");
    play.opens(&["a b c d e"]);
    assert_eq!((play.n_tokens(), play.session.document().shown_input()), (5, Some(0)));
    assert_eq!(play.session.document().model.latest().unwrap().spec.name, "demo:gpt");
    assert!(play.session.settings.recent_models.iter().all(|source| *source == bundled("demo:gpt")));
    play.does(Command::NextInput);
    assert_eq!(play.session.document().shown_input(), Some(0), "a single input is its own neighbour");
    play.does(Command::Run);
    play.answers();
    assert_eq!((play.n_tokens(), play.session.document().shown_input()), (3, None));
    play.does(Command::NextInput);
    play.does(Command::SelectInput(0));
    assert_eq!(play.n_tokens(), 3, "without a file there is nothing to choose");
}

#[test]
fn inputs_of_a_file_are_chosen_stepped_through_and_travelled_back_to() {
    let mut play = Play::new();
    play.opens(&["a", "a b", "a b c d"]);
    play.does(Command::SelectInput(2));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 2))));
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(3))));
    play.does(Command::NextInput);
    assert_eq!(
        (play.session.document().shown_input(), play.n_tokens()),
        (Some(0), 1),
        "after the last comes the first"
    );
    let selection = &play.session.pane().selection;
    assert_eq!((selection.head, selection.pinned), (HeadId::single(1, 2), Focus::NONE), "only what exists is kept");
    play.does(Command::PreviousInput);
    assert_eq!(play.session.document().shown_input(), Some(2));
    play.does(Command::SelectInput(99));
    assert_eq!(play.session.document().shown_input(), Some(2));
    play.does(Command::Back);
    play.does(Command::Back);
    assert_eq!(
        (play.session.document().shown_input(), play.session.pane().selection.pinned),
        (Some(2), Focus::query(3))
    );
    // A projection belongs to its input.
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    play.answers();
    play.does(Command::NextInput);
    assert_eq!(play.asked_names(), ["project"]);
}

#[test]
fn choosing_an_input_stops_a_run_that_would_replace_it() {
    let mut play = Play::showing("one two three");
    play.opens(&["a", "a b"]);
    play.does(Command::Run);
    let run = play.last_job();
    assert_eq!(play.does(Command::NextInput), ["Cancel(Run(DocumentId(1)))"]);
    let late = capture(&model(&bundled("demo:gpt")), &Input::Text(TextInput::default()));
    play.hears(run, EventKind::Run(RunAnswer::Captured(late)));
    assert_eq!((play.session.document().shown_input(), play.n_tokens()), (Some(1), 2));
}

#[test]
fn a_file_that_begins_later_opens_where_its_attention_begins() {
    let mut play = Play::new();
    let EventKind::Load(LoadAnswer::Opened(mut file)) = capture_file(&["a b"]) else { panic!("no file") };
    let old = &file.captures[0];
    let mut parts = attnscope::capture::CaptureParts {
        id: old.id(),
        model: old.model().clone(),
        input: old.input().clone(),
        tokens: [(Side::Only, old.tokens(Side::Only).to_vec())].into(),
        stacks: old.stacks().to_vec(),
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: vec!["once".to_owned()],
    };
    for layer in &mut parts.stacks[0].layers[..N_LAYERS - 1] {
        *layer = LayerCapture::default();
    }
    let last = &mut parts.stacks[0].layers[N_LAYERS - 1];
    last.sites.remove(Site::Q);
    last.sites.remove(Site::K);
    let capture = std::sync::Arc::new(Capture::new(parts).unwrap());
    file.captures = vec![capture.clone(), capture];
    play.does(Command::OpenPaths(vec!["flies.npz".into()]));
    play.hears(play.last_job(), EventKind::Load(LoadAnswer::Opened(file)));
    assert_eq!(play.session.pane().selection.head.layer, N_LAYERS - 1);
    assert_eq!(play.session.notices.iter().filter(|notice| notice.text.summary == "once").count(), 1);
    for view in [ViewKind::Scatter, ViewKind::Matrix] {
        assert!(
            play.session
                .pane()
                .view_unavailable(play.session.document(), view)
                .unwrap()
                .contains("no queries and keys")
        );
    }
}

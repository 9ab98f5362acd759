//! The session as a state machine: commands and events in, effects and state out.

use attnscope::{
    capture::{Capture, Computation, LayerCapture},
    ids::{HeadId, Side, StackKind},
    session::{
        Command, Focus, HeadSet, HeadStep, PendingSelection, QueryStep, Settings, ViewKind, ViewOptions,
        WritingOptions,
        gallery::{self, EXAMPLES},
    },
    worker::{
        CaptureFile, Choice, EventKind, ImageSource, Input, Lane, ModelSource, Progress, Request, Stage, TextInput,
    },
};

use crate::support::{
    play::{DOCUMENT, Play, bundled, state},
    scripted::{N_HEADS, N_LAYERS, capture, failure, model},
    stacks,
};

#[test]
fn a_loaded_model_runs_the_input_at_once() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:gpt")));
    assert_eq!(play.asked_names(), ["load"]);
    play.answers();
    assert_eq!((state(&play.session.document().model), state(&play.session.document().capture)), ("ready", "ready"));
    assert!(play.n_tokens() > 0, "a default sentence is shown when nothing was typed");
}

#[test]
fn answers_to_superseded_jobs_are_ignored() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetText("a b".to_owned()));
    play.does(Command::Run);
    let late = play.last_job();
    play.does(Command::SetText("a b c d e".to_owned()));
    play.does(Command::Run);
    let newest = play.last_job();
    let gpt = model(&bundled("demo:gpt"));
    let with = |text: &str| {
        EventKind::Captured(capture(&gpt, &Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() })))
    };
    play.hears(late, with("a b"));
    assert_eq!((play.n_tokens(), state(&play.session.document().capture)), (3, "pending over previous"));
    play.hears(late, EventKind::Failed(failure("late")));
    assert_eq!(state(&play.session.document().capture), "pending over previous");
    play.hears(newest, with("a b c d e"));
    assert_eq!((play.n_tokens(), state(&play.session.document().capture)), (5, "ready"));
}

#[test]
fn a_failure_keeps_what_was_there() {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    play.hears(play.last_job(), EventKind::Failed(failure("The model could not be evaluated")));
    assert_eq!((state(&play.session.document().capture), play.n_tokens()), ("failed over previous", 3));
    assert_eq!(play.last_notice(), "The model could not be evaluated");

    play.does(Command::OpenModel(ModelSource::Path("/models/broken".into())));
    play.hears(play.last_job(), EventKind::Failed(failure("This folder has no config.json")));
    assert_eq!(state(&play.session.document().model), "failed over previous");
    play.asked.clear();
    play.does(Command::Run);
    assert_eq!(play.asked_names(), ["run"], "the previous model still runs");
}

#[test]
fn progress_is_shown_and_cancelling_leaves_no_trace() {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    let job = play.last_job();
    let progress = Progress { stage: Stage::Forward, done: 3, total: 12 };
    play.hears(job, EventKind::Progress(progress));
    assert_eq!(play.session.document().capture.progress(), Some(progress));
    let effects = play.does(Command::Cancel(Lane::Run(DOCUMENT)));
    assert_eq!(effects, ["Cancel(Run(DocumentId(1)))"]);
    assert_eq!((state(&play.session.document().capture), play.n_tokens()), ("ready", 3));
    let n_notices = play.session.notices.len();
    play.hears(job, EventKind::Cancelled);
    assert_eq!((state(&play.session.document().capture), play.session.notices.len()), ("ready", n_notices));
}

#[test]
fn an_empty_text_is_refused_in_words_and_keeps_the_result() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetText("  \n".to_owned()));
    play.does(Command::Run);
    assert!(play.asked.is_empty());
    assert_eq!(play.session.document().capture.failure().unwrap().summary, "There is no text to run");
    assert_eq!(play.n_tokens(), 3);
}

#[test]
fn every_example_opens_its_model_input_and_view() {
    for (idx, example) in EXAMPLES.iter().enumerate() {
        let mut play = Play::showing("one two three");
        play.does(Command::OpenExample(idx));
        play.answers();
        assert_eq!(play.session.document().example, Some(idx));
        assert_eq!(play.session.document().model.latest().unwrap().spec.name, example.model, "{}", example.title);
        assert_eq!(play.session.pane().view, example.view, "{}", example.title);
        assert_eq!(state(&play.session.document().capture), "ready", "{}", example.title);
    }
}

#[test]
fn examples_follow_each_other_as_the_gallery_has_them_and_around_its_ends() {
    let mut play = Play::showing("one two three");
    let order: Vec<usize> = gallery::by_topic().map(|(idx, _)| idx).collect();
    assert_eq!(order.len(), EXAMPLES.len(), "each has a topic");
    play.does(Command::NextExample);
    assert_eq!(play.session.document().example, Some(order[0]));
    play.does(Command::PreviousExample);
    assert_eq!(play.session.document().example, order.last().copied());
    play.does(Command::NextExample);
    play.does(Command::NextExample);
    assert_eq!(play.session.document().example, Some(order[1]));
}

#[test]
fn an_example_of_the_current_model_only_runs() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenExample(1));
    assert_eq!(play.asked_names(), ["run"]);
    play.does(Command::SetText("mine".to_owned()));
    assert_eq!(play.session.document().example, None, "an edited example is not the example any more");
}

#[test]
fn what_an_example_made_the_model_write_is_not_forced_on_another_text() {
    let forced = EXAMPLES.iter().position(|example| example.target.is_some()).unwrap();
    let mut play = Play::showing("one two three");
    play.does(Command::OpenExample(forced));
    play.answers();
    assert_eq!(play.session.document().experiment.target, EXAMPLES[forced].target.unwrap());
    play.does(Command::SetText("mine".to_owned()));
    assert_eq!(play.session.document().experiment.target, "", "the model writes its own");
    play.does(Command::SetTarget("meins".to_owned()));
    play.does(Command::SetText("mine again".to_owned()));
    assert_eq!(play.session.document().experiment.target, "meins", "what the user typed stays");
}

#[test]
fn a_picture_on_a_text_model_opens_a_model_that_sees() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetImage(ImageSource::Bundled("chelsea".to_owned())));
    assert!(matches!(&play.asked[0].1, Request::Load { source: ModelSource::Bundled(name), .. } if name == "demo:vit"));
    assert!(play.last_notice().contains("demo:vit"), "and says so");
    play.answers();
    assert_eq!((state(&play.session.document().capture), play.session.pane().view), ("ready", ViewKind::Image));
}

#[test]
fn a_text_on_a_model_that_sees_opens_one_that_reads() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:vit")));
    play.answers();
    play.does(Command::OpenText("one two".to_owned()));
    assert!(matches!(&play.asked[0].1, Request::Load { source: ModelSource::Bundled(name), .. } if name == "demo:gpt"));
    play.answers();
    assert_eq!((play.n_tokens(), play.session.pane().view), (2, ViewKind::Heads));
}

#[test]
fn dropped_files_open_the_first_of_each_kind() {
    let mut play = Play::new();
    let paths = ["model-vit", "a.png", "b.jpg", "c.JPEG", "t.txt"].map(std::path::PathBuf::from);
    let effects = play.does(Command::OpenPaths(paths.to_vec()));
    assert_eq!(effects, [r#"ReadText("t.txt")"#]);
    assert_eq!(play.asked_names(), ["load"]);
    assert_eq!(play.session.document().experiment.image, Some(ImageSource::Path("a.png".into())));
    assert_eq!(play.last_notice(), "2 more pictures were left out");
    play.answers();
    let input = play.session.document().latest_capture().unwrap().image().is_some();
    assert!(input, "the picture runs when the model has arrived");
}

#[test]
fn steps_wrap_and_keep_a_head_alone() {
    let mut play = Play::showing("one two three");
    play.does(Command::SoloHead(0));
    play.does(Command::Step(HeadStep::PreviousHead));
    assert_eq!(play.session.pane().selection.head, HeadId::single(0, N_HEADS - 1));
    assert_eq!(play.session.pane().selection.heads_on, HeadSet::only(N_HEADS - 1));
    play.does(Command::Step(HeadStep::NextHead));
    play.does(Command::Step(HeadStep::PreviousLayer));
    assert_eq!(play.session.pane().selection.head, HeadId::single(N_LAYERS - 1, 0));
    play.does(Command::SoloHead(0));
    assert_eq!(play.session.pane().selection.heads_on, HeadSet::ALL, "the second time shows all again");
}

#[test]
fn the_selection_is_clamped_to_what_exists() {
    let mut play = Play::showing("one two three four");
    play.does(Command::SelectHead(HeadId::single(99, 99)));
    assert_eq!(play.session.pane().selection.head, HeadId::single(N_LAYERS - 1, N_HEADS - 1));
    play.does(Command::Pin(Focus::cell(3, 2)));
    play.does(Command::Hover(Focus::query(40)));
    play.does(Command::SetText("one two three".to_owned()));
    play.does(Command::Run);
    play.answers();
    assert_eq!(play.session.pane().selection.pinned, Focus { query: None, key: Some(2) });
    assert_eq!(play.session.pane().selection.hover, Focus::NONE);
}

#[test]
fn hover_previews_and_the_same_click_lets_go() {
    let mut play = Play::showing("one two three");
    play.does(Command::Pin(Focus::query(1)));
    play.does(Command::Hover(Focus::query(2)));
    assert_eq!(play.session.pane().selection.focus(), Focus::query(2));
    play.does(Command::Hover(Focus::NONE));
    assert_eq!(play.session.pane().selection.focus(), Focus::query(1));
    play.does(Command::Pin(Focus::query(1)));
    assert_eq!(play.session.pane().selection.focus(), Focus::NONE);
}

#[test]
fn back_and_forward_travel_through_selections() {
    let mut play = Play::showing("one two three");
    let start = play.session.pane().selection.head;
    play.does(Command::SelectLayer(1));
    play.does(Command::Pin(Focus::query(2)));
    play.does(Command::ShowView(ViewKind::Heatmap));
    play.does(Command::Hover(Focus::query(0)));
    play.does(Command::Back);
    assert_eq!((play.session.pane().view, play.session.pane().selection.pinned), (ViewKind::Heads, Focus::query(2)));
    play.does(Command::Back);
    play.does(Command::Back);
    assert_eq!((play.session.pane().selection.head, play.session.pane().selection.pinned), (start, Focus::NONE));
    assert!(!play.session.pane().can_go_back() && play.session.pane().can_go_forward());
    for _ in 0..3 {
        play.does(Command::Forward);
    }
    assert_eq!((play.session.pane().view, play.session.pane().selection.head.layer), (ViewKind::Heatmap, 1));
    play.does(Command::Back);
    play.does(Command::SelectLayer(2));
    assert!(!play.session.pane().can_go_forward(), "a new step forgets what lay ahead");
}

#[test]
fn a_projection_is_asked_for_once_and_only_when_it_is_shown() {
    let mut play = Play::showing("one two three");
    assert!(play.asked.is_empty());
    play.does(Command::ShowView(ViewKind::Matrix));
    assert_eq!(play.asked_names(), ["project"]);
    play.does(Command::SelectLayer(1));
    play.does(Command::ShowView(ViewKind::Scatter));
    assert_eq!(play.asked_names(), ["project"], "while it is computed");
    play.answers();
    play.does(Command::ShowView(ViewKind::Heads));
    play.does(Command::ShowView(ViewKind::Matrix));
    assert!(play.asked.is_empty(), "nor when it is there");
    let mut options = ViewOptions::default();
    options.scatter.projection.translate_keys = false;
    play.does(Command::SetViewOptions(options));
    assert_eq!(play.asked_names(), ["project"], "other options are another projection");
    play.hears(play.last_job(), EventKind::Failed(failure("No")));
    play.asked.clear();
    play.does(Command::SelectLayer(2));
    assert!(play.asked.is_empty(), "a failure is not asked for again");
    play.does(Command::Run);
    play.answers();
    assert_eq!(state(&play.session.pane().projection), "ready", "but a new capture is");
}

#[test]
fn a_view_that_cannot_show_the_capture_says_why_and_is_not_shown() {
    let mut play = Play::showing("one two three");
    play.does(Command::ShowView(ViewKind::Image));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
    assert!(
        play.session.pane().view_unavailable(play.session.document(), ViewKind::Image).unwrap().contains("picture")
    );
    assert!(
        ViewKind::ALL
            .iter()
            .filter(|view| play.session.pane().view_unavailable(play.session.document(), **view).is_some())
            .eq([&ViewKind::Image])
    );
}

#[test]
fn the_opening_state_is_taken_when_the_capture_arrives() {
    let mut play = Play::new();
    play.does(Command::OpenExample(0));
    play.session.prefer_when_ready(PendingSelection {
        view: Some(ViewKind::Heatmap),
        layer: Some(1),
        head: Some(2),
        query: Some(3),
        ..PendingSelection::default()
    });
    play.answers();
    let selection = &play.session.pane().selection;
    assert_eq!((play.session.pane().view, selection.head), (ViewKind::Heatmap, HeadId::single(1, 2)));
    assert_eq!((selection.heads_on, selection.pinned), (HeadSet::only(2), Focus::query(3)));
}

#[test]
fn recent_models_are_newest_first_without_repeats() {
    let mut play = Play::new();
    for name in ["demo:gpt", "demo:vit", "demo:gpt"] {
        play.does(Command::OpenModel(bundled(name)));
        play.answers();
    }
    assert_eq!(play.session.settings.recent_models, [bundled("demo:gpt"), bundled("demo:vit")]);
}

/// Settings in which nothing is as it is by default.
fn unusual_settings() -> Settings {
    let stored = r#"{
        "appearance": "Dark",
        "recent_models": [{ "Bundled": "demo:gpt" }, { "Path": "/models/mine" }],
        "views": {
            "reading": { "words": true, "rows": "Written" },
            "heatmap": { "color_map": "Cividis", "scale": "Log", "values": false },
            "image": { "color_map": "Greys", "opacity": 0.25, "smoothing": "Nearest", "contour": 0.5, "role": "Key" },
            "scatter": { "color": "Position" }
        },
        "writing": { "max_tokens": 7, "sampled": true, "temperature": 0.5, "top_p": 0.5, "seed": 3 }
    }"#;
    serde_json::from_str(stored).unwrap()
}

#[test]
fn settings_are_remembered_and_ignore_what_they_do_not_know() {
    let settings = unusual_settings();
    assert_eq!(Settings::read(&settings.write()), settings);
    let mut later: serde_json::Value = serde_json::from_str(&settings.write()).unwrap();
    later["from the future"] = 1.into();
    later["views"]["heatmap"]["from the future"] = "too".into();
    assert_eq!(Settings::read(&later.to_string()), settings);
    assert_eq!(Settings::read(r#"{"appearance":"Dark"}"#).appearance, attnscope::session::Appearance::Dark);
    for nonsense in ["", "[1]", "(appearance:Dark)"] {
        assert_eq!(Settings::read(nonsense), Settings::default(), "{nonsense}");
    }
}

/// A value that is not understood, such as a choice of a later version, loses itself alone.
#[test]
fn each_setting_that_is_not_understood_loses_itself_alone() {
    fn leaves(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(name, field)| leaves(field, &format!("{at}/{name}"), found));
            }
            serde_json::Value::Array(list) if !list.is_empty() => {
                list.iter().enumerate().for_each(|(idx, element)| leaves(element, &format!("{at}/{idx}"), found));
            }
            _ => found.push(at.to_owned()),
        }
    }
    let json = |settings: &Settings| serde_json::from_str::<serde_json::Value>(&settings.write()).unwrap();
    let settings = json(&unusual_settings());
    let default = json(&Settings::default());
    let mut places = Vec::new();
    leaves(&settings, "", &mut places);
    assert!(places.len() > 30, "{places:?}");
    for place in places {
        let mut stored = settings.clone();
        *stored.pointer_mut(&place).unwrap() = serde_json::json!({ "Later": "choice" });
        let read = json(&Settings::read(&stored.to_string()));
        let mut expected = settings.clone();
        if let Some(idx) = place.strip_prefix("/recent_models/") {
            let idx: usize = idx.split('/').next().unwrap().parse().unwrap();
            expected["recent_models"].as_array_mut().unwrap().remove(idx);
        } else if let (Some(at), Some(usual)) = (expected.pointer_mut(&place), default.pointer(&place)) {
            *at = usual.clone();
        }
        assert_eq!(read, expected, "{place}");
    }
}

#[test]
fn exports_end_with_a_message_and_do_not_disturb_each_other() {
    let mut play = Play::showing("one two three");
    let (first, second) = (play.session.start_export(), play.session.start_export());
    assert!(play.session.is_busy());
    play.hears(second, EventKind::Exported("/tmp/b.png".into()));
    assert_eq!(play.last_notice(), "Saved");
    play.hears(first, EventKind::Failed(failure("The disk is full")));
    assert_eq!(play.last_notice(), "The disk is full");
    assert!(!play.session.is_busy());
}

/// A capture file with one input per text, as the worker reads it.
fn capture_file(texts: &[&str]) -> EventKind {
    let gpt = model(&bundled("demo:gpt"));
    let read =
        |text: &&str| capture(&gpt, &Input::Text(TextInput { text: (*text).to_owned(), ..TextInput::default() }));
    EventKind::Opened(CaptureFile { path: "some/flies.safetensors".into(), captures: texts.iter().map(read).collect() })
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
    play.does(Command::SelectHead(HeadId::single(1, 2)));
    play.does(Command::Pin(Focus::query(3)));
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
    play.does(Command::ShowView(ViewKind::Scatter));
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
    play.hears(run, EventKind::Captured(late));
    assert_eq!((play.session.document().shown_input(), play.n_tokens()), (Some(1), 2));
}

#[test]
fn a_file_that_begins_later_opens_where_its_attention_begins() {
    let mut play = Play::new();
    let EventKind::Opened(mut file) = capture_file(&["a b"]) else { panic!("no file") };
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
        computation: Computation::default(),
        notes: vec!["once".to_owned()],
    };
    for layer in &mut parts.stacks[0].layers[..N_LAYERS - 1] {
        *layer = LayerCapture::default();
    }
    let last = &mut parts.stacks[0].layers[N_LAYERS - 1];
    (last.q, last.k) = (None, None);
    let capture = std::sync::Arc::new(Capture::new(parts).unwrap());
    file.captures = vec![capture.clone(), capture];
    play.does(Command::OpenPaths(vec!["flies.npz".into()]));
    play.hears(play.last_job(), EventKind::Opened(file));
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

/// The worker has the new model by then, so the window must show it.
#[test]
fn a_load_that_was_cancelled_too_late_counts() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenModel(bundled("demo:new-gpt")));
    let load = play.last_job();
    play.does(Command::Cancel(Lane::Load(DOCUMENT)));
    assert_eq!(play.session.document().model.latest().unwrap().spec.name, "demo:gpt");
    play.asked.clear();
    play.hears(load, EventKind::Loaded(model(&bundled("demo:new-gpt"))));
    assert_eq!(play.session.document().model.latest().unwrap().spec.name, "demo:new-gpt");
    assert_eq!(play.asked_names(), ["run"], "and what is shown comes from it");
}

#[test]
fn a_load_that_was_superseded_too_late_counts_when_the_next_one_fails() {
    for end in [EventKind::Failed(failure("No")), EventKind::Cancelled] {
        let mut play = Play::showing("one two three");
        play.does(Command::OpenModel(bundled("demo:new-gpt")));
        let late = play.last_job();
        play.does(Command::OpenModel(bundled("demo:broken")));
        let next = play.last_job();
        play.asked.clear();
        play.hears(late, EventKind::Loaded(model(&bundled("demo:new-gpt"))));
        assert_eq!((play.asked_names(), state(&play.session.document().model)), (vec![], "pending over previous"));
        play.hears(next, end);
        assert_eq!(play.session.document().model.latest().unwrap().spec.name, "demo:new-gpt");
        assert_eq!(play.asked_names(), ["run"]);
    }
}

#[test]
fn a_run_asked_for_while_a_model_was_coming_is_made_up_for() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenModel(bundled("demo:broken")));
    let load = play.last_job();
    play.asked.clear();
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    assert!(play.asked.is_empty());
    play.hears(load, EventKind::Failed(failure("No")));
    assert_eq!(play.asked_names(), ["run"], "on the model that stayed");
    play.answers();
    assert_eq!(play.n_tokens(), 2);
}

/// A session that shows a capture of a model with several stacks.
fn showing_stacks(capture: attnscope::capture::Capture) -> Play {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    play.hears(play.last_job(), EventKind::Captured(std::sync::Arc::new(capture)));
    play.asked.clear();
    play
}

#[test]
fn another_stack_keeps_what_means_the_same_there() {
    let mut play = showing_stacks(stacks::translation_capture());
    assert_eq!(play.session.pane().selection.stack(), StackKind::Cross, "what only such a model has is shown first");
    play.does(Command::SelectHead(HeadId { stack: StackKind::Decoder, layer: 2, head: 3 }));
    play.does(Command::Pin(Focus::cell(4, 2)));
    play.does(Command::SelectStack(StackKind::Cross));
    let selection = &play.session.pane().selection;
    assert_eq!(selection.head, HeadId { stack: StackKind::Cross, layer: 1, head: 3 }, "cross has two layers");
    assert_eq!(selection.pinned, Focus::query(4), "the decoder still asks, but other tokens answer");
    play.does(Command::SelectStack(StackKind::Encoder));
    assert!(play.session.pane().selection.pinned.is_empty(), "neither side is the same");
    for expected in [StackKind::Decoder, StackKind::Cross, StackKind::Encoder] {
        play.does(Command::NextStack);
        assert_eq!(play.session.pane().selection.stack(), expected);
    }
    for _ in 0..4 {
        play.does(Command::Back);
    }
    assert_eq!(play.session.pane().selection.stack(), StackKind::Cross);
    assert_eq!(play.session.pane().selection.pinned, Focus::query(4), "back brings the query with the stack");
}

#[test]
fn the_picture_is_shown_for_the_stacks_that_look_at_it() {
    let mut play = showing_stacks(stacks::caption_capture((4, 5)));
    assert_eq!((play.session.pane().view, play.session.pane().selection.stack()), (ViewKind::Image, StackKind::Cross));
    play.does(Command::SelectStack(StackKind::Encoder));
    assert_eq!(play.session.pane().view, ViewKind::Image);
    play.does(Command::SelectStack(StackKind::Decoder));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
    assert!(play.session.pane().view_unavailable(play.session.document(), ViewKind::Image).unwrap().contains("cross"));
    let mut play = showing_stacks(stacks::two_tower_capture((4, 4)));
    assert_eq!((play.session.pane().view, play.session.pane().selection.stack()), (ViewKind::Image, StackKind::Vision));
    play.does(Command::SelectStack(StackKind::Text));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
}

#[test]
fn steps_go_through_what_the_model_wrote() {
    let mut play = showing_stacks(stacks::caption_capture((4, 5)));
    for expected in [1, 2, 3] {
        play.does(Command::StepQuery(QueryStep::Next));
        assert_eq!(play.session.pane().selection.pinned, Focus::query(expected));
    }
    play.does(Command::StepQuery(QueryStep::Previous));
    assert_eq!(play.session.pane().selection.pinned, Focus::query(2));
    play.does(Command::Release);
    play.does(Command::StepQuery(QueryStep::Previous));
    assert_eq!(play.session.pane().selection.pinned, Focus::query(6), "without one, from the end");
}

#[test]
fn a_text_model_writes_on_only_when_asked() {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    assert!(matches!(play.asked[0].1, Request::Run { generation: None, .. }));
    play.asked.clear();
    let writing = WritingOptions { max_tokens: 9, sampled: true, top_p: f64::NAN, ..WritingOptions::default() };
    play.does(Command::SetWriting(writing));
    play.does(Command::Continue);
    let Some((_, Request::Run { input: Input::Text(_), generation: Some(generation), .. })) = play.asked.last() else {
        panic!("no run")
    };
    assert_eq!(generation.max_new_tokens, 9);
    let Choice::Sample { temperature, top_p, seed } = generation.choice else { panic!("greedy") };
    assert_eq!((temperature, top_p, seed), (1.0, 1.0, 0), "nonsense of a settings file is not passed on");
}

#[test]
fn a_target_is_forced_and_a_blank_one_is_written() {
    let mut play = Play::new();
    play.does(Command::SetText("one two".to_owned()));
    play.does(Command::OpenModel(bundled("demo:t5")));
    let loaded = EventKind::Loaded(model(&bundled("demo:t5")));
    play.hears(play.last_job(), loaded);
    let (_, request) = play.asked.last().unwrap();
    assert!(matches!(request, Request::Run { input: Input::Text(_), generation: Some(_), .. }), "{request:?}");
    play.does(Command::SetTarget("eins zwei".to_owned()));
    play.does(Command::Run);
    let (_, request) = play.asked.last().unwrap();
    assert!(matches!(request, Request::Run { input: Input::Pair { .. }, generation: None, .. }), "{request:?}");
}

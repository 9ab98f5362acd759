//! The session as a state machine: commands and events in, effects and state out.

use attnscope::{
    analysis::detect::Detector,
    ids::HeadId,
    lab::{AttentionOptions, MethodCall, RelevanceQuestion, Rule, Target},
    model::{ImageSource, Input, Progress, Stage, TextInput},
    protocol::{EventKind, Lane, LoadAnswer, ModelSource, Request, RunAnswer},
    session::{
        Command, FirstStep, Focus, HeadSet, HeadStep, PaneCommand, PendingSelection, SelectionCommand, Split, ViewKind,
        ViewOptions,
        gallery::{self, EXAMPLES, ExampleInput},
    },
};

use crate::support::{
    play::{DOCUMENT, Play, bundled, state},
    scripted::{N_HEADS, N_LAYERS, capture, failure, model},
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
        EventKind::Run(RunAnswer::Captured(capture(
            &gpt,
            &Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() }),
        )))
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
        // No scripted model has states.
        let lacks = example.view == ViewKind::States;
        assert!(lacks || play.session.pane().view == example.view, "{}", example.title);
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
fn a_bundled_model_without_an_input_opens_with_its_first_example() {
    for (model, title) in [("demo:bert", "The word after"), ("demo:vit", "A cat")] {
        let mut play = Play::new();
        play.does(Command::OpenModel(bundled(model)));
        play.answers();
        let example = &EXAMPLES[play.session.document().example.unwrap()];
        assert_eq!((example.title, example.model), (title, model));
        let experiment = &play.session.document().experiment;
        match example.input {
            ExampleInput::Text(text) => assert_eq!(experiment.text, text),
            ExampleInput::Sample(name) => assert_eq!(experiment.image, Some(ImageSource::Bundled(name.to_owned()))),
        }
        assert_eq!(play.session.pane().view, example.view);
    }
    let typed = Play::showing("one two three");
    assert_eq!((typed.session.document().example, &*typed.session.document().experiment.text), (None, "one two three"));
}

#[test]
fn a_model_that_was_never_open_shows_all_its_heads() {
    let mut play = Play::showing("one two three");
    let view = |play: &Play| (play.session.pane().view, play.session.pane().options.grid.sort_by);
    let own = |name: &str| Command::OpenModel(ModelSource::Path(name.into()));
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(1))));
    play.does(own("/models/mine"));
    assert_eq!(view(&play).0, ViewKind::Heads, "the picture before stays until there is another one");
    play.answers();
    assert_eq!(view(&play), (ViewKind::Grid, Some(Detector::Content.into())));
    assert_eq!(play.session.pane().selection.pinned, Focus::NONE, "it asks for a head");
    assert!(play.session.settings.first_steps.has(FirstStep::AllHeads), "they are in sight");
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    for command in [Command::OpenModel(bundled("demo:bert")), own("/models/mine")] {
        play.does(command);
        play.answers();
        assert_eq!(view(&play).0, ViewKind::Heads, "it is known");
    }
    play.session.prefer_when_ready(PendingSelection { view: Some(ViewKind::Heatmap), ..PendingSelection::default() });
    play.does(own("/models/another"));
    play.answers();
    assert_eq!(view(&play).0, ViewKind::Heatmap, "this view was asked for");
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
    assert_eq!(play.last_notice(), "Not opened: b.jpg and 1 more");
    play.answers();
    let input = play.session.document().latest_capture().unwrap().image().is_some();
    assert!(input, "the picture runs when the model has arrived");
}

#[test]
fn steps_wrap_and_keep_a_head_alone() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::SoloHead(0)));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::PreviousHead)));
    assert_eq!(play.session.pane().selection.head, HeadId::single(0, N_HEADS - 1));
    assert_eq!(play.session.pane().selection.heads_on(), HeadSet::only(N_HEADS - 1));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::PreviousLayer)));
    assert_eq!(play.session.pane().selection.head, HeadId::single(N_LAYERS - 1, 0));
    play.does(Command::Select(SelectionCommand::SoloHead(0)));
    assert_eq!(play.session.pane().selection.heads_on(), HeadSet::ALL, "the second time shows all again");
}

#[test]
fn the_selection_is_clamped_to_what_exists() {
    let mut play = Play::showing("one two three four");
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(99, 99))));
    assert_eq!(play.session.pane().selection.head, HeadId::single(N_LAYERS - 1, N_HEADS - 1));
    play.does(Command::Select(SelectionCommand::Pin(Focus::cell(3, 2))));
    play.does(Command::InPane(PaneCommand::Hover(Focus::query(40))));
    play.does(Command::SetText("one two three".to_owned()));
    play.does(Command::Run);
    play.answers();
    assert_eq!(play.session.pane().selection.pinned, Focus { query: None, key: Some(2) });
    assert_eq!(play.session.pane().selection.hover, Focus::NONE);
}

#[test]
fn hover_previews_and_the_same_click_lets_go() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(1))));
    play.does(Command::InPane(PaneCommand::Hover(Focus::query(2))));
    assert_eq!(play.session.pane().selection.focus(), Focus::query(2));
    play.does(Command::InPane(PaneCommand::Hover(Focus::NONE)));
    assert_eq!(play.session.pane().selection.focus(), Focus::query(1));
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(1))));
    assert_eq!(play.session.pane().selection.focus(), Focus::NONE);
}

#[test]
fn back_and_forward_travel_through_selections() {
    let mut play = Play::showing("one two three");
    let start = play.session.pane().selection.head;
    play.does(Command::Select(SelectionCommand::Layer(1)));
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(2))));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::InPane(PaneCommand::Hover(Focus::query(0))));
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
    play.does(Command::Select(SelectionCommand::Layer(2)));
    assert!(!play.session.pane().can_go_forward(), "a new step forgets what lay ahead");
}

#[test]
fn a_projection_is_asked_for_once_and_only_when_it_is_shown() {
    let mut play = Play::showing("one two three");
    assert!(play.asked.is_empty());
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)));
    assert_eq!(play.asked_names(), ["project"]);
    play.does(Command::Select(SelectionCommand::Layer(1)));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    assert_eq!(play.asked_names(), ["project"], "while it is computed");
    play.answers();
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)));
    assert!(play.asked.is_empty(), "nor when it is there");
    let mut options = ViewOptions::default();
    options.scatter.projection.translate_keys = false;
    play.does(Command::SetViewOptions(options));
    assert_eq!(play.asked_names(), ["project"], "other options are another projection");
    play.hears(play.last_job(), EventKind::Failed(failure("No")));
    play.asked.clear();
    play.does(Command::Select(SelectionCommand::Layer(2)));
    assert!(play.asked.is_empty(), "a failure is not asked for again");
    play.does(Command::Run);
    play.answers();
    assert_eq!(state(&play.session.pane().projection), "ready", "but a new capture is");
}

#[test]
fn a_view_that_cannot_show_the_capture_says_why_and_is_not_shown() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Image)));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
    assert!(
        play.session.pane().view_unavailable(play.session.document(), ViewKind::Image).unwrap().contains("picture")
    );
    let missing = |view: &ViewKind| play.session.pane().view_unavailable(play.session.document(), *view).is_some();
    let missing: Vec<ViewKind> = ViewKind::ALL.into_iter().filter(missing).collect();
    assert_eq!(missing, [ViewKind::Image, ViewKind::Debate, ViewKind::States, ViewKind::Experts]);
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
    assert_eq!((selection.heads_on(), selection.pinned), (HeadSet::only(2), Focus::query(3)));
}

#[test]
fn exports_end_with_a_message_and_do_not_disturb_each_other() {
    let mut play = Play::showing("one two three");
    let (first, second) = (play.session.start_export(), play.session.start_export());
    assert!(play.session.is_busy());
    play.hears(second, EventKind::Export("/tmp/b.png".into()));
    assert_eq!(play.last_notice(), "Saved");
    play.hears(first, EventKind::Failed(failure("The disk is full")));
    assert_eq!(play.last_notice(), "The disk is full");
    assert!(!play.session.is_busy());
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
    play.hears(load, EventKind::Load(LoadAnswer::Loaded(model(&bundled("demo:new-gpt")))));
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
        play.hears(late, EventKind::Load(LoadAnswer::Loaded(model(&bundled("demo:new-gpt")))));
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

#[test]
fn closing_a_pane_and_stopping_end_all_that_the_lab_was_asked() {
    let mut play = Play::showing("one two three");
    play.does(Command::SplitPane(Split::Right));
    for way in [Command::InPane(PaneCommand::Close), Command::CancelAll] {
        let relevance = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 });
        for (column, ask) in [
            ("attention", MethodCall::Attention(AttentionOptions { layer: None, head: None })),
            ("relevance", relevance),
        ] {
            play.does(Command::InPane(PaneCommand::Explain(column, ask, Target::default())));
        }
        let stopped = play.does(way.clone());
        for column in ["attention", "relevance"] {
            let ended = stopped.iter().any(|effect| effect.contains("Cancel(Explain") && effect.contains(column));
            assert!(ended, "{way:?} lets {column} run: {stopped:?}");
        }
    }
}

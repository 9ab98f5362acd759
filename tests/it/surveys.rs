//! Questions about whole clouds: asked once, superseded by newer ones, stopped, kept.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud,
        cloud_query::{CloudQuery, CloudResult, Survey},
        explain::{report::Report, rollout::RolloutOptions},
        point_set::Spot,
        projection::{LayoutMethod, ProjectionOptions, ScaleChoice},
        search::{SearchKind, SearchQuery},
    },
    ids::{HeadId, JobId, PaneId, StackKind},
    lab::{MethodCall, Target},
    protocol::{EventKind, ExplanationAnswer, Request, SurveyAnswer},
    session::{Command, PaneCommand, SelectionCommand, ViewKind},
    worker::{SurveyEngine, Worker},
};

use crate::support::{play::Play, synthetic};

fn looking_for(text: &str) -> CloudQuery {
    CloudQuery::Search(SearchQuery { text: text.to_owned(), ..SearchQuery::default() })
}

fn found(play: &Play, question: CloudQuery) -> Option<Arc<CloudResult>> {
    let (pane, document) = (play.session.pane(), play.session.document());
    let survey = pane.survey(document, question).unwrap();
    pane.surveys.find(&survey).and_then(|answer| answer.latest().cloned())
}

/// What the real thread says to a request.
fn answer(request: Request) -> EventKind {
    let mut worker = Worker::spawn(SurveyEngine::new().unwrap(), Arc::new(|| ())).unwrap();
    worker.submit(JobId(1), request);
    std::iter::from_fn(|| worker.wait())
        .map(|event| event.kind)
        .find(|kind| !matches!(kind, EventKind::Progress(_)))
        .unwrap()
}

#[test]
fn a_question_is_asked_once_and_its_answer_is_kept() {
    let mut play = Play::showing("one two three");
    play.does(Command::InPane(PaneCommand::Survey(looking_for("two"))));
    let (job, request) = play.asked.pop().unwrap();
    play.does(Command::InPane(PaneCommand::Survey(looking_for("two"))));
    assert!(play.asked.is_empty(), "it is on its way");
    play.hears(job, answer(request));
    let Some(CloudResult::Search(answered)) = found(&play, looking_for("two")).as_deref().cloned() else { panic!() };
    assert_eq!(answered.hits.queries, [1]);
    assert!(found(&play, looking_for("three")).is_none(), "another question has no answer yet");

    // A newer question takes the place of one that is on its way; its late answer is nobody's.
    play.does(Command::InPane(PaneCommand::Survey(looking_for("three"))));
    let (late, late_request) = play.asked.pop().unwrap();
    play.does(Command::InPane(PaneCommand::Survey(looking_for("one"))));
    let (job, request) = play.asked.pop().unwrap();
    play.hears(late, answer(late_request));
    assert!(found(&play, looking_for("three")).is_none());
    play.hears(job, answer(request));
    assert!(found(&play, looking_for("one")).is_some());
    // Back to what is known.
    play.does(Command::InPane(PaneCommand::Survey(looking_for("two"))));
    assert!(play.asked.is_empty() && found(&play, looking_for("two")).is_some());

    // The layout has no part in it, the scale has.
    let mut options = play.session.pane().options.clone();
    options.scatter.projection.layout.method = LayoutMethod::Umap;
    play.does(Command::SetViewOptions(options.clone()));
    assert!(found(&play, looking_for("two")).is_some());
    options.scatter.projection.scale = ScaleChoice::Fixed(3.0);
    play.does(Command::SetViewOptions(options));
    assert!(found(&play, looking_for("two")).is_none());
}

#[test]
fn what_was_found_out_about_a_run_goes_with_it() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    play.answers();
    play.does(Command::InPane(PaneCommand::Survey(looking_for("two"))));
    let (job, request) = play.asked.pop().unwrap();
    play.hears(job, answer(request));
    let rollout = MethodCall::Rollout(RolloutOptions::default());
    play.does(Command::InPane(PaneCommand::Explain("rollout", rollout, Target::default())));
    let answered = Arc::new(Report::new(attnscope::lab::named("rollout").unwrap().spec));
    let (run, report) = (play.session.document().latest_capture().unwrap(), &answered);
    let (run, report) = (Arc::downgrade(run), Arc::downgrade(report));
    play.hears(play.last_job(), EventKind::Explain(ExplanationAnswer::Explained(answered)));
    play.asked.clear();
    // In a view that asks for none of this, nothing takes its place.
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    assert_eq!((run.strong_count() > 0, report.strong_count()), (true, 1), "it is still what is shown");
    play.answers();
    assert_eq!((run.strong_count(), report.strong_count()), (0, 0));
}

#[test]
fn what_is_stopped_is_not_asked_again_until_it_is_wanted() {
    let mut play = Play::showing("one two three");
    play.does(Command::InPane(PaneCommand::Survey(CloudQuery::Proxies)));
    let (job, request) = play.asked.pop().unwrap();
    let lane = request.lane();
    play.does(Command::Cancel(lane));
    play.does(Command::InPane(PaneCommand::Survey(CloudQuery::Proxies)));
    assert!(play.asked.is_empty(), "stopped is stopped");
    play.hears(job, EventKind::Cancelled);
    play.does(Command::Project);
    play.does(Command::InPane(PaneCommand::Survey(CloudQuery::Proxies)));
    assert_eq!(play.asked.pop().unwrap().1.lane(), lane);
}

#[test]
fn the_thread_measures_every_head_and_says_what_is_wrong_with_a_question() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(30, 2, 3)));
    let ask = |question| {
        let (stack, options) = (StackKind::SelfAttention, ProjectionOptions::default());
        answer(Request::Survey {
            pane: PaneId(1),
            survey: Arc::new(Survey { cloud: cloud.clone(), stack, options, question }),
        })
    };
    let EventKind::Survey(SurveyAnswer::Found(found)) = ask(CloudQuery::Proxies) else { panic!() };
    let CloudResult::Proxies(proxies) = &*found else { panic!() };
    assert_eq!(proxies.len(), 6);
    let EventKind::Survey(SurveyAnswer::Found(found)) = ask(CloudQuery::Plot(HeadId::single(1, 2))) else { panic!() };
    let CloudResult::Plot(plot) = &*found else { panic!() };
    assert_eq!(plot.proxy, proxies[5], "one head's numbers are those among all");
    assert!(plot.pairs.len() == 900 && plot.curve.windows(2).all(|steps| steps[0].c < steps[1].c));
    let EventKind::Failed(failure) =
        ask(CloudQuery::Search(SearchQuery { text: "(".to_owned(), kind: SearchKind::Regex, case: false }))
    else {
        panic!()
    };
    assert!(failure.summary.starts_with("This is not a regular expression"), "{}", failure.summary);
    let EventKind::Failed(failure) = ask(CloudQuery::Plot(HeadId::single(7, 0))) else { panic!() };
    assert!(failure.summary.contains("L7H0"), "{}", failure.summary);
}

#[test]
fn a_search_marks_its_hits_and_ranks_the_heads() {
    let mut play = Play::showing("one two three two");
    play.does(Command::Select(SelectionCommand::Search(SearchQuery {
        text: "two".to_owned(),
        ..SearchQuery::default()
    })));
    let pane = play.session.pane();
    let question = pane.search_question().unwrap();
    assert!(pane.hits(play.session.document()).is_none(), "not asked yet");
    play.does(Command::InPane(PaneCommand::Survey(question)));
    let (job, request) = play.asked.pop().unwrap();
    play.hears(job, answer(request));
    let (pane, document) = (play.session.pane(), play.session.document());
    let hits = pane.hits(document).unwrap();
    assert_eq!((hits.len(), hits.contains(Spot::Query(1)), hits.contains(Spot::Key(2))), (4, true, false));
    let heads = pane.cloud(document).unwrap().heads(pane.selection.stack());
    assert_eq!(pane.ranking(document).unwrap().len(), heads.len());
    play.does(Command::Select(SelectionCommand::Search(SearchQuery::default())));
    let pane = play.session.pane();
    assert!(pane.search_question().is_none() && pane.hits(play.session.document()).is_none());
}

#[test]
fn what_was_found_in_other_points_is_not_shown_while_these_are_measured() {
    let mut play = Play::showing("one two three");
    let plot = || CloudQuery::Plot(HeadId::single(0, 0));
    play.does(Command::InPane(PaneCommand::Survey(plot())));
    let (job, request) = play.asked.pop().unwrap();
    play.hears(job, answer(request));
    assert!(found(&play, plot()).is_some());
    // Another head of the same input: the one before stands in for it.
    let other = || CloudQuery::Plot(HeadId::single(0, 1));
    play.does(Command::InPane(PaneCommand::Survey(other())));
    assert!(found(&play, other()).is_some());
    play.asked.clear();
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    play.answers();
    play.does(Command::InPane(PaneCommand::Survey(other())));
    assert!(found(&play, other()).is_none(), "its pairs would name tokens of another text");
}

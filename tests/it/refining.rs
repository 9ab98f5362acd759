//! Layouts that are refined: head by head, shown while they are made, kept when they are done.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud,
        projection::{
            self, Aside, Dims, LayoutMethod, LayoutOptions, NoShelf, Projection, ProjectionOptions, Refined, Refiner,
        },
    },
    ids::{HeadId, JobId, PaneId, StackKind},
    projection::{ProjectionError, to_the_end},
    protocol::{EventKind, ProjectionAnswer, Request},
    session::{Command, HeadStep, Pane, PaneCommand, SelectionCommand, Split, ViewKind},
    worker::{ProjectionEngine, Worker, disk_cache::DiskCache},
};

use crate::support::{play::Play, scripted, synthetic};

fn options(method: LayoutMethod) -> ProjectionOptions {
    let layout = LayoutOptions { method, iterations: 300, ..LayoutOptions::default() };
    ProjectionOptions { layout, ..ProjectionOptions::default() }
}

fn start(cloud: &PointCloud, options: ProjectionOptions) -> Projection {
    projection::project(cloud, StackKind::SelfAttention, options, &mut |_, _| true).unwrap()
}

fn points(planes: &Projection) -> Vec<[f32; 3]> {
    planes.heads.iter().flat_map(|plane| plane.queries.iter().chain(&plane.keys)).copied().collect()
}

#[test]
fn every_head_is_refined_to_the_end_and_equally_on_one_thread_and_on_two() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(40, 2, 2)));
    for method in [LayoutMethod::Tsne, LayoutMethod::Umap] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let planes = start(&cloud, options(method));
            pool.install(|| Refiner::new(planes, HeadId::single(0, 0), &NoShelf).finish(&to_the_end)).unwrap()
        };
        let one = on(1);
        assert!(one.is_complete() && points(&one).iter().flatten().all(|x| x.is_finite()));
        assert!(one.heads.iter().all(|plane| plane.queries.len() == 40 && plane.keys.len() == 40));
        assert_ne!(points(&one), points(&start(&cloud, options(method))), "it is another layout");
        assert_eq!(points(&one), points(&on(2)));
    }
}

#[test]
fn the_head_that_is_looked_at_comes_first_and_what_is_done_is_not_done_again() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(12, 3, 2)));
    let first = HeadId::single(1, 1);
    let mut refiner = Refiner::new(start(&cloud, options(LayoutMethod::Tsne)), first, &NoShelf);
    while !refiner.planes().is_finished(first) {
        assert!(refiner.step(&to_the_end).unwrap());
    }
    let planes = refiner.planes();
    let done: Vec<HeadId> = planes.heads.iter().map(|it| it.head).filter(|&head| planes.is_finished(head)).collect();
    assert_eq!(done, [first]);
    assert_eq!(refiner.progress(), (1, 6));
    // From there another one goes on.
    let kept = Arc::clone(planes.heads.iter().find(|plane| plane.head == first).unwrap());
    let all = Refiner::new(planes, HeadId::single(0, 0), &NoShelf).finish(&to_the_end).unwrap();
    assert!(all.heads.iter().any(|plane| Arc::ptr_eq(plane, &kept)));
}

#[test]
fn a_layout_stops_where_it_is_told_to_and_odd_inputs_are_laid_out_too() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(30, 1, 1)));
    let mut refiner = Refiner::new(start(&cloud, options(LayoutMethod::Umap)), HeadId::single(0, 0), &NoShelf);
    assert_eq!(refiner.step(&|_, _| false), Err(ProjectionError::Stopped));
    // One token, two, three: fewer than any neighbourhood.
    for n in 1..=3 {
        let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(n, 1, 1)));
        for method in [LayoutMethod::Tsne, LayoutMethod::Umap] {
            let planes = start(&cloud, options(method));
            let planes = Refiner::new(planes, HeadId::single(0, 0), &NoShelf).finish(&to_the_end).unwrap();
            assert!(points(&planes).iter().flatten().all(|x| x.is_finite()), "{n} tokens, {method:?}");
        }
    }
}

#[test]
fn a_finished_layout_is_kept_on_disk_for_the_same_points_and_options_alone() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = DiskCache::at(folder.path().to_owned(), 1 << 20);
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(30, 1, 2)));
    let steps = |cloud: &PointCloud, options| {
        let mut refiner = Refiner::new(start(cloud, options), HeadId::single(0, 0), &scratch);
        let n = std::iter::from_fn(|| refiner.step(&to_the_end).unwrap().then_some(())).count();
        (n, points(&refiner.planes()))
    };
    let mut options = options(LayoutMethod::Tsne);
    let first = steps(&cloud, options);
    assert_eq!(first.0, 2 * 301);
    assert_eq!(steps(&cloud, options), (2, first.1.clone()), "one step a head, and the same points");
    options.layout.seed = 3;
    assert!(steps(&cloud, options).0 > 2);
    options.layout.seed = LayoutOptions::default().seed;
    options.translate_keys = false;
    assert!(steps(&cloud, options).0 > 2, "other points");
    let other = PointCloud::Input(Arc::new(synthetic::text_capture(31, 1, 2)));
    options.translate_keys = true;
    assert!(steps(&other, options).0 > 2);
    // Space is another layout than the plane.
    options.layout.dims = Dims::Space;
    let (n, points) = steps(&cloud, options);
    assert!(n > 2 && points.iter().any(|point| point[2] != 0.0));
    assert!(first.1.iter().all(|point| point[2] == 0.0));
}

#[test]
fn the_thread_shows_principal_components_at_once_and_then_every_head_on_its_way() {
    let mut worker = Worker::spawn(ProjectionEngine::new(None).unwrap(), Arc::new(|| ())).unwrap();
    let request = Request::Project {
        pane: PaneId(1),
        cloud: PointCloud::Input(Arc::new(synthetic::text_capture(60, 2, 2))),
        stack: StackKind::SelfAttention,
        options: options(LayoutMethod::Tsne),
        known: None,
        first: HeadId::single(1, 0),
    };
    worker.submit(JobId(1), request);
    let mut refined = Vec::new();
    let last = loop {
        match worker.wait().unwrap().kind {
            EventKind::Project(ProjectionAnswer::Refined(planes)) => refined.push(planes),
            EventKind::Project(ProjectionAnswer::Projected(planes)) => break planes,
            EventKind::Progress(_) => {}
            other => panic!("{other:?}"),
        }
    };
    let first_of =
        |planes: &Projection| planes.heads.iter().find(|it| it.head == HeadId::single(1, 0)).unwrap().refined;
    assert_eq!(first_of(&refined[0]), None, "principal components come at once");
    assert!(first_of(&refined[1]).is_some_and(|it| it.iteration < it.iterations), "then the head that is looked at");
    assert!(last.is_complete());
}

/// A projection of what was asked for, with so many iterations of each head done.
fn halfway(request: &Request, iteration: usize) -> Arc<Projection> {
    let mut planes = Projection::clone(&scripted::projection(request));
    for plane in &mut planes.heads {
        let refined = Refined { iteration, iterations: 300, perplexity: Some(1.0) };
        *plane = Arc::new(projection::HeadProjection { refined: Some(refined), ..(**plane).clone() });
    }
    Arc::new(planes)
}

#[test]
fn the_session_shows_each_step_stops_on_request_and_goes_on() {
    let mut play = Play::showing("one two three");
    let mut views = play.session.pane().options.clone();
    views.scatter.projection = options(LayoutMethod::Tsne);
    play.does(Command::SetViewOptions(views.clone()));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    let (job, request) = play.asked.pop().unwrap();
    let iteration = |play: &Play| {
        play.session.pane().projection.latest().and_then(|planes| planes.heads[0].refined).map(|it| it.iteration)
    };
    play.hears(job, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 10))));
    assert_eq!(iteration(&play), Some(10));
    assert!(play.session.pane().projection.is_pending());

    // Another head comes first now; what is known goes along.
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    let (second, request) = play.asked.pop().unwrap();
    let Request::Project { known, first, .. } = &request else { panic!("{request:?}") };
    assert_eq!((*first, known.as_ref().unwrap().heads[0].refined.unwrap().iteration), (HeadId::single(0, 1), 10));
    play.hears(job, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 7))));
    assert_eq!(iteration(&play), Some(10), "the job before is not listened to any more");

    play.hears(second, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 20))));
    play.does(Command::Cancel(attnscope::protocol::Lane::Project(play.session.pane().id)));
    assert_eq!((iteration(&play), play.session.pane().projection.is_pending()), (Some(20), false));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    assert!(play.asked.is_empty(), "stopped is stopped");
    play.does(Command::Project);
    let (third, request) = play.asked.pop().unwrap();
    let done = halfway(&request, 300);
    play.hears(third, EventKind::Project(ProjectionAnswer::Projected(Arc::clone(&done))));

    // Another method and back: nothing is computed twice.
    let tsne = views.clone();
    views.scatter.projection = options(LayoutMethod::Pca);
    play.does(Command::SetViewOptions(views));
    let (fourth, request) = play.asked.pop().unwrap();
    play.hears(fourth, EventKind::Project(ProjectionAnswer::Projected(scripted::projection(&request))));
    play.does(Command::SetViewOptions(tsne.clone()));
    assert!(play.asked.is_empty());
    assert!(Arc::ptr_eq(play.session.pane().projection.latest().unwrap(), &done));

    // What nobody would show any more is not computed to its end.
    let mut other = tsne.clone();
    other.scatter.projection.layout.seed = 7;
    play.does(Command::SetViewOptions(other));
    assert!(matches!(play.asked.pop().unwrap().1, Request::Project { .. }));
    assert_eq!(play.does(Command::SetViewOptions(tsne)), ["Cancel(Project(PaneId(1)))"]);
    assert!(Arc::ptr_eq(play.session.pane().projection.latest().unwrap(), &done) && play.asked.is_empty());
}

#[test]
fn heads_that_come_later_are_lined_up_behind_the_one_that_is_on_its_way() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(20, 2, 2)));
    let all = start(&cloud, options(LayoutMethod::Umap));
    let (current, first) = (HeadId::single(1, 1), HeadId::single(0, 1));
    let alone =
        Projection { heads: all.heads.iter().filter(|it| it.head == current).cloned().collect(), ..all.clone() };
    let mut refiner = Refiner::new(alone, first, &NoShelf);
    assert!(refiner.step(&to_the_end).unwrap() && refiner.step(&to_the_end).unwrap());
    refiner.add(all.heads.iter().filter(|it| it.head != current).cloned());
    let order: Vec<HeadId> = std::iter::from_fn(|| {
        let before: Vec<HeadId> = finished(&refiner.planes());
        while finished(&refiner.planes()) == before {
            if !refiner.step(&to_the_end).unwrap() {
                return None;
            }
        }
        finished(&refiner.planes()).into_iter().find(|head| !before.contains(head))
    })
    .collect();
    assert_eq!(order, [current, first, HeadId::single(0, 0), HeadId::single(1, 0)]);
    assert_eq!(refiner.planes().heads.iter().map(|it| it.head).collect::<Vec<_>>(), cloud.heads(all.stack));
}

fn finished(planes: &Projection) -> Vec<HeadId> {
    planes.heads.iter().map(|it| it.head).filter(|head| planes.is_finished(*head)).collect()
}

#[test]
fn a_head_that_was_left_goes_on_where_it_was() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(40, 1, 2)));
    let [first, second] = [0, 1].map(|head| HeadId::single(0, head));
    for method in [LayoutMethod::Tsne, LayoutMethod::Umap] {
        let begun = start(&cloud, options(method));
        let aside = Aside::default();
        let iteration = |planes: &Projection, head: HeadId| {
            planes.heads.iter().find(|plane| plane.head == head).unwrap().refined.map_or(0, |it| it.iteration)
        };
        let look_at = |planes: Projection, head: HeadId, n_steps: usize| {
            let mut refiner = Refiner::new(planes, head, &NoShelf).with_aside(&aside);
            for _ in 0..n_steps {
                assert!(refiner.step(&to_the_end).unwrap());
            }
            refiner.planes()
        };
        let planes = look_at(begun.clone(), first, 51);
        let planes = look_at(planes, second, 21);
        assert_eq!((iteration(&planes, first), iteration(&planes, second)), (50, 20));
        let planes = look_at(planes, first, 11);
        assert_eq!(iteration(&planes, first), 60, "it did not begin again");
        let whole = Refiner::new(planes, first, &NoShelf).with_aside(&aside).finish(&to_the_end).unwrap();
        let at_once = Refiner::new(begun, first, &NoShelf).finish(&to_the_end).unwrap();
        assert_eq!(points(&whole), points(&at_once), "{method:?}: the same bytes as without a break");
    }
}

#[test]
fn panes_that_show_the_same_wait_for_one_layout() {
    let mut play = Play::showing("one two three");
    let mut views = play.session.pane().options.clone();
    views.scatter.projection = options(LayoutMethod::Tsne);
    play.does(Command::SetViewOptions(views.clone()));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    let (job, request) = play.asked.pop().unwrap();
    play.hears(job, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 10))));
    play.does(Command::SplitPane(Split::Right));
    assert!(play.asked.is_empty(), "it is on its way already");
    play.hears(job, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 20))));
    let iterations = |play: &Play| -> Vec<usize> {
        let latest = |pane: &Pane| pane.projection.latest().unwrap().heads[0].refined.unwrap().iteration;
        play.session.panes.iter().map(latest).collect()
    };
    assert_eq!(iterations(&play), [20, 20], "both see it move");

    // The head that is looked at in the new pane comes first, for both.
    play.does(Command::ToggleLink);
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    let (job, request) = play.asked.pop().unwrap();
    assert!(play.asked.is_empty() && matches!(&request, Request::Project { first, .. } if first.head == 1));
    play.hears(job, EventKind::Project(ProjectionAnswer::Refined(halfway(&request, 30))));
    assert_eq!(iterations(&play), [30, 30]);

    // One leaves: the other still waits, and what is wanted instead is computed beside it.
    let mut other = views.clone();
    other.scatter.projection.layout.seed = 7;
    assert!(play.does(Command::SetViewOptions(other)).is_empty(), "nothing is stopped");
    let (theirs, new) = play.asked.pop().unwrap();
    assert_ne!(new.lane(), request.lane());
    let done = halfway(&request, 300);
    play.hears(job, EventKind::Project(ProjectionAnswer::Projected(Arc::clone(&done))));
    let first = play.session.panes.iter().next().unwrap();
    assert!(Arc::ptr_eq(first.projection.latest().unwrap(), &done) && !first.projection.is_pending());
    // It is closed before it is done: nobody waits any more.
    assert_eq!(play.does(Command::InPane(PaneCommand::Close)), [format!("Cancel({:?})", new.lane())]);
    play.hears(theirs, EventKind::Project(ProjectionAnswer::Refined(halfway(&new, 5))));
    assert_eq!(iterations(&play), [300]);
}

//! A figure's metadata say everything that made it: any choice that is another makes other metadata.

use attnscope::{
    analysis::{
        Space,
        edges::EdgeFilter,
        explain::report::Question,
        projection::{ColorBy, Dims, LayoutMethod, LayoutOptions, ProjectionOptions, ScaleChoice, SizeBy},
        reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, SentenceFilter, Source, Whose},
    },
    capture::{Ablation, Edit},
    figure::{
        CaptionKind, FontSource, ViewKind,
        spec::{self, Each, FigureSpec, Paper, Subtrahend},
        views::{
            distance,
            image::flows::{FlowFilter, FlowKind},
        },
        write::SvgText,
    },
    ids::{HeadId, StackKind},
    projection::Metric,
    raster::ColorMap,
    session::{ChangeCommand, Command},
};

use crate::support::play::Play;

type Turn = fn(&mut FigureSpec);

/// One other choice for every field, and for every field of its parts. A field that is new has to be named here.
fn turns(spec: &FigureSpec) -> Vec<(&'static str, Turn)> {
    let FigureSpec {
        view: _,
        stack: _,
        layers: _,
        heads: _,
        query: _,
        key: _,
        reading: Reading { source: _, heads: _, leave_out, sentences: _, words: _, rows: _, minus: _ },
        together: _,
        minus: _,
        filter: _,
        projection: ProjectionOptions { space: _, scale: _, translate_keys: _, layout },
        color_map: _,
        log: _,
        values: _,
        shared_scale: _,
        smooth: _,
        opacity: _,
        contour: _,
        flows: _,
        color_by: _,
        size_by: _,
        annotation: _,
        question: _,
        special: _,
        distance: _,
        sheet: _,
        each: Each { layer: _, head: _ },
        paper: Paper { dark: _, width: _, height: _, scale: _, caption: _, svg_text: _, fonts: _ },
    } = spec;
    let LeaveOut { special: _, first: _, punctuation: _, positions: _, policy: _ } = leave_out;
    let LayoutOptions {
        method: _,
        dims: _,
        metric: _,
        perplexity: _,
        iterations: _,
        neighbors: _,
        min_dist: _,
        epochs: _,
        seed: _,
    } = layout;
    vec![
        ("view", |it| it.view = ViewKind::Matrix),
        ("stack", |it| it.stack = Some(StackKind::Cross)),
        ("layers", |it| it.layers = vec![2]),
        ("heads", |it| it.heads = vec![1, 3]),
        ("query", |it| it.query = Some(1)),
        ("key", |it| it.key = Some(1)),
        ("source", |it| it.reading.source = Source::ByValueNorm),
        ("special", |it| it.reading.leave_out.special = true),
        ("first", |it| it.reading.leave_out.first = true),
        ("punctuation", |it| it.reading.leave_out.punctuation = true),
        ("positions", |it| it.reading.leave_out.positions = [1].into()),
        ("policy", |it| it.reading.leave_out.policy = Policy::Keep),
        ("sentences", |it| it.reading.sentences = SentenceFilter::AToB),
        ("words", |it| it.reading.words = true),
        ("rows", |it| it.reading.rows = RowLabels::Written),
        ("together", |it| it.together = Some(Aggregate::Max)),
        ("minus", |it| it.minus = Some(Subtrahend { stack: None, layer: 0, head: 1, of: Whose::This })),
        ("minus of", |it| it.minus = Some(Subtrahend { stack: None, layer: 0, head: 1, of: Whose::Other })),
        ("filter", |it| it.filter = EdgeFilter::TopK(7)),
        ("space", |it| it.projection.space = Space::Residual),
        ("scale", |it| it.projection.scale = ScaleChoice::Search),
        ("translate keys", |it| it.projection.translate_keys = !it.projection.translate_keys),
        ("method", |it| it.projection.layout.method = LayoutMethod::Umap),
        ("dims", |it| it.projection.layout.dims = Dims::Space),
        ("metric", |it| it.projection.layout.metric = Metric::Cosine),
        ("perplexity", |it| it.projection.layout.perplexity = 12.5),
        ("iterations", |it| it.projection.layout.iterations = 77),
        ("neighbors", |it| it.projection.layout.neighbors = 9),
        ("min_dist", |it| it.projection.layout.min_dist = 0.45),
        ("epochs", |it| it.projection.layout.epochs = Some(31)),
        ("seed", |it| it.projection.layout.seed = 4),
        ("colour map", |it| it.color_map = Some(ColorMap::Greys)),
        ("log", |it| it.log = !it.log),
        ("values", |it| it.values = !it.values),
        ("shared scale", |it| it.shared_scale = !it.shared_scale),
        ("smooth", |it| it.smooth = !it.smooth),
        ("opacity", |it| it.opacity = 0.35),
        ("contour", |it| it.contour = Some(0.25)),
        ("flows", |it| it.flows = Some(FlowFilter { kind: FlowKind::All, least: 0.05 })),
        ("colour by", |it| it.color_by = ColorBy::Norm),
        ("size by", |it| it.size_by = SizeBy::Norm),
        ("annotation", |it| it.annotation = Some("kind".to_owned())),
        ("question", |it| it.question = Question::Moves),
        ("special ranked", |it| it.special = !it.special),
        ("distance", |it| it.distance = distance::Shown { before: !it.distance.before, ..it.distance }),
        ("sheet", |it| it.sheet = Some([2, 3])),
        ("each layer", |it| it.each.layer = true),
        ("each head", |it| it.each.head = true),
        ("dark", |it| it.paper.dark = true),
        ("width", |it| it.paper.width = Some(123.0)),
        ("height", |it| it.paper.height = Some(123.0)),
        ("pixels", |it| it.paper.scale = 2.5),
        ("caption", |it| it.paper.caption = CaptionKind::Full),
        ("svg text", |it| it.paper.svg_text = SvgText::Paths),
        ("fonts", |it| it.paper.fonts = FontSource::Bundled),
    ]
}

#[test]
fn every_choice_is_in_the_metadata_of_a_figure() {
    let play = Play::showing("one two three");
    let request = play.session.figure().unwrap();
    // A view that shows a space names it.
    let base = FigureSpec { view: ViewKind::Scatter, ..(*request.spec).clone() };
    let record = |spec: &FigureSpec| spec::provenance(spec, request.subject(), &[], None);
    let mut seen = vec![record(&base)];
    for (name, turn) in turns(&base) {
        let mut spec = base.clone();
        turn(&mut spec);
        assert_ne!(spec, base, "{name} is what it was");
        let said = record(&spec);
        assert!(!seen.contains(&said), "{name} is not said: {said}");
        seen.push(said);
    }
    assert_eq!(
        seen[0]["options"]["opacity"].to_string(),
        request.spec.opacity.to_string(),
        "numbers as they were typed"
    );
}

#[test]
fn every_change_of_the_run_is_in_the_metadata() {
    let mut play = Play::showing("one two three");
    let edit = |head| Edit::Ablate { head: HeadId::single(1, head), with: Ablation::Zero }.into();
    play.does(Command::Change(ChangeCommand::Add((0..4).map(edit).collect())));
    let hide = |position| Edit::HideToken { side: attnscope::ids::Side::Only, position }.into();
    play.does(Command::Change(ChangeCommand::Add((0..2).map(hide).collect())));
    play.answers();
    let request = play.session.figure().unwrap();
    let said = spec::provenance(&request.spec, request.subject(), &[], None);
    assert_eq!(said["changes"].as_array().unwrap().len(), 6, "not the first four alone");
    assert_eq!(said["changes"][5], "token 1 is hidden");
}

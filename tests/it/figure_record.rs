//! A figure's metadata say everything that made it: any choice that is another makes other metadata.

use attnscope::{
    analysis::{
        Space,
        edges::EdgeFilter,
        explain::report::LabQuestion,
        projection::{ColorBy, Dims, LayoutMethod, ScaleChoice, SizeBy},
        reading::{Aggregate, LeaveOut, Policy, Reading, RowLabels, SentenceFilter, Source, Whose},
    },
    capture::{Ablate, Ablation, Edit, HideToken, Merging, Unit},
    figure::{
        CaptionKind, FontSource, ViewKind, ViewOptions,
        spec::{self, Each, FigureSpec, Paper, Subtrahend},
        views::{
            average::PairsShow,
            heatmap::ColorScale,
            image::{Smoothing, flows::FlowKind},
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

/// One other choice for every field of a spec beside the options of views, and for every field of its parts. A field that
/// is new has to be named here.
fn turns(spec: &FigureSpec) -> Vec<(&'static str, Turn)> {
    let FigureSpec {
        view: _,
        stack: _,
        layers: _,
        heads: _,
        query: _,
        key: _,
        reading: Reading { source: _, heads: _, leave_out, sentences: _, merging: _, rows: _, minus: _ },
        together: _,
        minus: _,
        options: _,
        sheet: _,
        each: Each { layer: _, head: _, query: _ },
        paper: Paper { dark: _, width: _, height: _, pages: _, scale: _, caption: _, svg_text: _, fonts: _ },
    } = spec;
    let LeaveOut { special: _, first: _, punctuation: _, positions: _, policy: _ } = leave_out;
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
        ("words", |it| it.reading.merging = Merging::WORDS),
        ("unfolded", |it| it.reading.merging = Merging { unit: Unit::Sentence, unfolded: Some(1) }),
        ("rows", |it| it.reading.rows = RowLabels::Written),
        ("together", |it| it.together = Some(Aggregate::Max)),
        ("minus", |it| it.minus = Some(Subtrahend { stack: None, layer: 0, head: 1, of: Whose::This })),
        ("minus of", |it| it.minus = Some(Subtrahend { stack: None, layer: 0, head: 1, of: Whose::Other })),
        ("sheet", |it| it.sheet = Some([2, 3])),
        ("each layer", |it| it.each.layer = true),
        ("each query", |it| it.each.query = true),
        ("each head", |it| it.each.head = true),
        ("dark", |it| it.paper.dark = true),
        ("width", |it| it.paper.width = Some(123.0)),
        ("height", |it| it.paper.height = Some(123.0)),
        ("pages", |it| it.paper.pages = true),
        ("pixels", |it| it.paper.scale = 2.5),
        ("caption", |it| it.paper.caption = CaptionKind::Full),
        ("svg text", |it| it.paper.svg_text = SvgText::Paths),
        ("fonts", |it| it.paper.fonts = FontSource::Bundled),
    ]
}

/// One other choice for options that figures are drawn by, each with a view that has it.
fn option_turns() -> Vec<(&'static str, ViewKind, Turn)> {
    use ViewKind::{Average, Distance, Heads, Heatmap, Image, Lab, Scatter};
    vec![
        ("filter", Heads, |it| it.options.heads.filter = EdgeFilter::TopK(7)),
        ("colours of a heatmap", Heatmap, |it| it.options.heatmap.color_map = ColorMap::Greys),
        ("colours of a mean", Average, |it| it.options.heatmap.color_map = ColorMap::Greys),
        ("colours of a picture", Image, |it| it.options.image.color_map = ColorMap::Greys),
        ("log", Heatmap, |it| it.options.heatmap.scale = ColorScale::Log),
        ("values", Heatmap, |it| it.options.heatmap.values = !it.options.heatmap.values),
        ("shared scale", Heatmap, |it| it.options.shared_scale = !it.options.shared_scale),
        ("smooth", Image, |it| it.options.image.smoothing = Smoothing::Smooth),
        ("opacity", Image, |it| it.options.image.opacity = 0.35),
        ("contour", Image, |it| it.options.image.contour = Some(0.25)),
        ("flows", Image, |it| it.options.image.flows = Some(FlowKind::All)),
        ("least flow", Image, |it| it.options.image.all_from = 0.05),
        ("space", Scatter, |it| it.options.scatter.projection.space = Space::Residual),
        ("scale", Distance, |it| it.options.scatter.projection.scale = ScaleChoice::Search),
        ("translate keys", Scatter, |it| it.options.scatter.projection.translate_keys ^= true),
        ("method", Scatter, |it| it.options.scatter.projection.layout.method = LayoutMethod::Umap),
        ("dims", Scatter, |it| it.options.scatter.projection.layout.dims = Dims::Space),
        ("metric", Scatter, |it| it.options.scatter.projection.layout.metric = Metric::Cosine),
        ("perplexity", Scatter, |it| it.options.scatter.projection.layout.perplexity = 12.5),
        ("iterations", Scatter, |it| it.options.scatter.projection.layout.iterations = 77),
        ("neighbors", Scatter, |it| it.options.scatter.projection.layout.neighbors = 9),
        ("min_dist", Scatter, |it| it.options.scatter.projection.layout.min_dist = 0.45),
        ("epochs", Scatter, |it| it.options.scatter.projection.layout.epochs = Some(31)),
        ("seed", Scatter, |it| it.options.scatter.projection.layout.seed = 4),
        ("colour by", Scatter, |it| it.options.scatter.color = ColorBy::Norm),
        ("size by", Scatter, |it| it.options.scatter.size = SizeBy::Norm),
        ("pairs show", Average, |it| it.options.average.pairs = PairsShow::Deviation),
        ("annotation", Average, |it| it.options.average.annotation = Some("kind".to_owned())),
        ("question", Lab, |it| it.options.lab.question = LabQuestion::Moves),
        ("special ranked", Lab, |it| it.options.lab.special = !it.options.lab.special),
        ("distance", Distance, |it| it.options.distance.before = !it.options.distance.before),
    ]
}

#[test]
fn every_choice_is_in_the_metadata_of_a_figure() {
    let play = Play::showing("one two three");
    let request = play.session.figure().unwrap();
    let record = |spec: &FigureSpec| spec::provenance(spec, request.subject(), &[], None);
    let base = (*request.spec).clone();
    let mut seen = vec![record(&base)];
    for (name, turn) in turns(&base) {
        let mut spec = base.clone();
        turn(&mut spec);
        assert_ne!(spec, base, "{name} is what it was");
        let said = record(&spec);
        assert!(!seen.contains(&said), "{name} is not said: {said}");
        seen.push(said);
    }
    for (name, view, turn) in option_turns() {
        let base = FigureSpec { view, ..base.clone() };
        let mut spec = base.clone();
        turn(&mut spec);
        assert_ne!(spec, base, "{name} is what it was");
        assert_ne!(record(&spec), record(&base), "{name} is not said");
    }
    let image = record(&FigureSpec { view: ViewKind::Image, ..base });
    assert_eq!(image["options"]["opacity"].to_string(), "0.85", "numbers as they were typed");
}

/// Fields of options that are no part of what a figure is: weights that are about to be drawn by hand.
const NOT_SAID: [(&str, &str); 1] = [("heatmap", "draw")];

/// Names of the fields of each view's options, as their definitions have them.
fn fields_of_views() -> Vec<(String, Vec<String>)> {
    let text = format!("{:#?}", ViewOptions::default());
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let Some((name, _)) = line.trim_start().split_once(':') else { continue };
        match (depth, found.last_mut()) {
            (4, _) => found.push((name.to_owned(), Vec::new())),
            (8, Some((_, fields))) => fields.push(name.to_owned()),
            _ => {}
        }
    }
    found.retain(|(name, _)| !["reading", "shared_scale", "target"].contains(&name.as_str()));
    found
}

#[test]
fn metadata_have_every_field_of_a_views_options_as_a_session_file_has_it() {
    let play = Play::showing("one two three");
    let request = play.session.figure().unwrap();
    let saved = serde_json::to_string(&request.spec.options).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    let all = fields_of_views();
    assert!(all.len() >= 7 && all.iter().all(|(_, fields)| !fields.is_empty()), "{all:?}");
    for (name, fields) in all {
        let views = ViewKind::ALL.into_iter().filter(|view| view.spec().options.contains(&name.as_str()));
        let views: Vec<ViewKind> = views.collect();
        assert!(!views.is_empty(), "no view has the options {name}");
        for view in views {
            let spec = FigureSpec { view, ..(*request.spec).clone() };
            let said = spec::provenance(&spec, request.subject(), &[], None);
            let said = &said["options"]["view_options"][&name];
            assert_eq!(*said, saved[&name], "{view:?}");
            // The one field of a mean stands for all of it.
            let Some(said) = said.as_object() else { continue };
            let lacks = |field: &&String| !said.contains_key(*field) && !NOT_SAID.contains(&(&name, field));
            assert_eq!(fields.iter().find(lacks), None, "of {name}");
        }
    }
}

#[test]
fn every_change_of_the_run_is_in_the_metadata() {
    let mut play = Play::showing("one two three");
    let edit = |head| Edit::Ablate(Ablate { head: HeadId::single(1, head), with: Ablation::Zero }).into();
    play.does(Command::Change(ChangeCommand::Add((0..4).map(edit).collect())));
    let hide = |position| Edit::HideToken(HideToken { side: attnscope::ids::Side::Only, position }).into();
    play.does(Command::Change(ChangeCommand::Add((0..2).map(hide).collect())));
    play.answers();
    let request = play.session.figure().unwrap();
    let said = spec::provenance(&request.spec, request.subject(), &[], None);
    assert_eq!(said["changes"].as_array().unwrap().len(), 6, "not the first four alone");
    assert_eq!(said["changes"][5], "token 1 is hidden");
}

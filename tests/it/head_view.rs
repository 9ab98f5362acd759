//! The page of a head in the window, and its figure.

use attnscope::{
    analysis::head_page::TriedInput,
    cli::open::OpenOptions,
    figure::{
        pen::Medium,
        views::{atlas::layout::AtlasLayout, headpage::layout::HeadLayout},
    },
    ids::HeadId,
    lab::MethodCall,
    session::{Command, Focus, HeadNote, Loadable, SelectionCommand, SessionCommand, ViewKind, note_of},
};
use eframe::egui::{Event, Modifiers, PointerButton, Pos2, Rect, pos2, vec2};
use egui_kittest::kittest::Queryable as _;

use crate::{
    render::attnscope,
    support::window::Window,
    views::{Stage, sentence},
};

#[test]
fn a_token_is_asked_as_query_and_as_key_and_a_bar_tells_its_number() {
    let mut stage = Stage::new(sentence(), ViewKind::HeadPage).show(vec2(1000.0, 700.0));
    for _ in 0..3 {
        stage.run();
    }
    let area = stage.get_by_label_contains("Page of L").rect();
    let cloud = stage.state().session.pane().cloud(stage.state().session.document()).unwrap();
    let head = stage.state().session.pane().selection.head;
    let size = attnscope::analysis::head_page::PageSize::default();
    let page = attnscope::analysis::head_page::page_of_cloud(&cloud, head, size, &mut |_, _| true).unwrap().unwrap();
    // Places of bars and of the first token do not depend on the widths of texts.
    let whole = Rect::from_min_size(Pos2::ZERO, vec2(area.width(), 0.0));
    let layout = HeadLayout::of(whole, (&page, None), 1, &mut |_| 8.0).moved(area.min.to_vec2());
    let first = layout.texts[0].tokens[0].rect;
    stage.hover_at(first.left_center() + vec2(3.0, 0.0));
    stage.run();
    assert!(
        stage.query_by_label_contains("as a query: ").is_some()
            && stage.query_by_label_contains("as a key: ").is_some()
    );
    let strongest = (page.activations[0] * 20.0) as usize;
    let bar = HeadLayout::bar(layout.activations, strongest, 20);
    stage.hover_at(bar.center());
    stage.run();
    assert!(stage.query_by_label_contains("activation 0.").is_some());
    assert!(stage.query_by_label_contains(": 1 input").is_some());
    stage.hover_at(HeadLayout::bar(layout.weights, 0, 20).center());
    stage.run();
    assert!(stage.query_by_label_contains("weight 0").is_some());
}

#[test]
fn the_page_goes_with_the_head_that_is_chosen() {
    let mut stage = Stage::new(sentence(), ViewKind::HeadPage).show(vec2(1000.0, 700.0));
    stage.run();
    let to = HeadId::single(2, 1);
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::Head(to)));
    for _ in 0..3 {
        stage.run();
    }
    assert!(stage.query_by_label("Page of L2H1").is_some());
    stage.hover_at(pos2(1.0, 1.0));
    stage.run();
    assert!(stage.query_by_label_contains("as a query: ").is_none());
}

#[test]
fn a_click_on_a_text_opens_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts.txt");
    std::fs::write(&texts, "the cat sat on the mat\na dog ran\nrain fell all day\n").unwrap();
    let options = OpenOptions { model: Some("demo:gpt".to_owned()), corpus: Some(texts), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 900.0]);
    window.show(ViewKind::HeadPage);
    window.settle();
    let area = window.harness.get_by_label_contains("Page of L").rect();
    let session = window.app().session();
    let cloud = session.pane().cloud(session.document()).unwrap();
    let size = attnscope::analysis::head_page::PageSize::default();
    let head = session.pane().selection.head;
    let page = attnscope::analysis::head_page::page_of_cloud(&cloud, head, size, &mut |_, _| true).unwrap().unwrap();
    let whole = Rect::from_min_size(Pos2::ZERO, vec2(area.width(), 0.0));
    let capture = session.document().latest_capture().unwrap();
    let tried = TriedInput::of(&page, capture, &capture.stored_pattern(head).unwrap()).unwrap();
    let layout = HeadLayout::of(whole, (&page, Some(&tried.sequence)), 3, &mut |_| 8.0).moved(area.min.to_vec2());
    // The open input is above them.
    assert_eq!((layout.texts[0].sequence, layout.texts[1].sequence), (page.sequences.len(), 0));
    let at = layout.texts[1].tokens[0].rect.left_center() + vec2(3.0, 0.0);
    window.harness.drag_at(at);
    window.harness.drop_at(at);
    window.settle();
    let lines = ["the cat sat on the mat", "a dog ran", "rain fell all day"];
    let first = &page.sequences[0];
    assert_eq!(window.app().session().document().experiment.text, lines[first.input]);
    // The token is the query, of the key that it attends to most; the page stays.
    window.until("the run", |window| !window.app().session().document().is_busy());
    let row = first.pattern.row(0).unwrap();
    let key = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
    assert_eq!(window.app().session().pane().selection.pinned, Focus::cell(0, key));
    assert_eq!(window.app().session().pane().view, ViewKind::HeadPage);
    // What it does there, and what it writes whatever the input.
    let known = |window: &Window| {
        let (pane, document) = (window.app().session().pane(), window.app().session().document());
        let capture = document.latest_capture().unwrap();
        let asked = pane.asked(capture);
        let answer = |(column, ask): &(&str, MethodCall)| {
            pane.explanations.find(capture.id(), column, ask, pane.options.target).and_then(Loadable::latest).is_some()
        };
        asked.len() == 2 && asked.iter().all(answer)
    };
    window.until("the effect, and what it writes", known);
    // The steps of its strongest pair of all.
    window.click("Why its strongest pair");
    window.until("the run", |window| !window.app().session().document().is_busy());
    let strongest = &page.pairs[0];
    let pane = window.app().session().pane();
    assert_eq!((pane.view, pane.selection.head), (ViewKind::Why, head));
    assert_eq!(pane.selection.pinned, Focus::cell(strongest.query.position, strongest.key.position));
    assert_eq!(window.app().session().document().experiment.text, lines[strongest.input]);
    window.app().request(Command::Back);
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::HeadPage);
}

#[test]
fn the_page_is_opened_from_the_details_and_by_a_double_click_in_the_atlas() {
    let options = OpenOptions { model: Some("demo:gpt".to_owned()), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 900.0]);
    window.show(ViewKind::Grid);
    window.click(ViewKind::HeadPage.label());
    assert_eq!(window.app().session().pane().view, ViewKind::HeadPage);
    window.show(ViewKind::Atlas);
    window.until("the table", |window| window.shows("double-click opens its page"));
    let area = window.harness.get_by_label("Numbers of all heads").rect();
    let stack = window.app().session().document().latest_capture().unwrap().model().stacks[0].clone();
    let layout = AtlasLayout::of_scene(area, (stack.layers.len(), stack.max_heads()), Medium::Screen);
    let at = layout.heads().cell(1, 2).center();
    window.harness.hover_at(at);
    // The click on the button is long ago: the second one is no third.
    window.harness.run_steps(60);
    // The clock of the harness runs fast.
    window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    for pressed in [true, false, true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        window.harness.event_modifiers(Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
    }
    window.settle();
    window.harness.run_steps(30);
    let pane = window.app().session().pane();
    assert_eq!((pane.view, pane.selection.head), (ViewKind::HeadPage, HeadId::single(1, 2)));
}

#[test]
fn figures_in_three_formats_have_the_texts_of_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts.txt");
    std::fs::write(&texts, "Tom had a dog. Tom was happy.\nShe ran, and ran, and ran.\nThe sun is up.").unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (svg, pdf, png, data) = (path("head.svg"), path("head.pdf"), path("head.png"), path("head.csv"));
    let corpus = texts.to_str().unwrap();
    let asked = ["render", "head", "--model", "demo:gpt", "--corpus", corpus, "--layer", "1", "--head", "0"];
    for out in [&svg, &pdf, &png] {
        let output = attnscope(&[&asked[..], &["--out", out, "--data", &data]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let picture = std::fs::read_to_string(&svg).unwrap();
    for words in [
        "Inputs of interval 3 of 3",
        "Strongest pairs",
        "nats from chance",
        "Writes, by its weights alone",
        "copying score ",
        "Effect on “",
        "with its mean ",
    ] {
        assert!(picture.contains(words), "{words}");
    }
    let table = std::fs::read_to_string(&data).unwrap();
    assert_eq!(table.lines().filter(|line| !line.starts_with('#')).count(), 4, "{table}");
    assert!(std::fs::metadata(&pdf).unwrap().len() > 1000 && std::fs::metadata(&png).unwrap().len() > 1000);
    let weaker = attnscope(&[&asked[..], &["--interval", "1", "--out", &svg]].concat());
    assert!(weaker.status.success() && std::fs::read_to_string(&svg).unwrap().contains("interval 1 of 3"));
    let foil = attnscope(&[&asked[..], &["--class", " the", "--against", " a", "--out", &svg]].concat());
    assert!(foil.status.success(), "{}", String::from_utf8_lossy(&foil.stderr));
    assert!(std::fs::read_to_string(&svg).unwrap().contains("Effect on “␣the” against “␣a”"));
    let wrong = attnscope(&[&asked[..], &["--interval", "0", "--out", &svg]].concat());
    assert!(!wrong.status.success());
}

#[test]
fn a_text_is_tried_in_place_and_a_note_is_kept_with_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts.txt");
    std::fs::write(&texts, "the cat sat on the mat\na dog ran\nrain fell all day\n").unwrap();
    let options = OpenOptions { model: Some("demo:gpt".to_owned()), corpus: Some(texts), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 900.0]);
    window.show(ViewKind::HeadPage);
    window.until("the page", |window| window.shows("Page of L"));
    window.app().request(Command::SetText("a dog ran and a dog ran".to_owned()));
    window.app().request(Command::Run);
    window.settle();
    window.until("the run", |window| !window.app().session().document().is_busy());
    let session = window.app().session();
    let head = session.pane().selection.head;
    let cloud = session.pane().cloud(session.document()).unwrap();
    let size = attnscope::analysis::head_page::PageSize::default();
    let page = attnscope::analysis::head_page::page_of_cloud(&cloud, head, size, &mut |_, _| true).unwrap().unwrap();
    let capture = session.document().latest_capture().unwrap();
    let place = TriedInput::of(&page, capture, &capture.stored_pattern(head).unwrap()).unwrap().place.unwrap();
    let above = page.activations.iter().filter(|known| **known > place.activation).count();
    assert_eq!((place.rank, place.n_ranked), (above + 1, 3));
    let reached = page.intervals.of.iter().filter(|interval| place.activation >= interval.range[0]);
    assert_eq!(place.interval, reached.map(|interval| interval.number).max().unwrap_or(1));
    // What is noted comes back with the session, and nothing takes it away.
    let note = |text: &str| {
        let note = HeadNote::new("demo:gpt", head, text.to_owned());
        Command::Session(SessionCommand::NoteHead(note))
    };
    window.app().request(note("looks back"));
    window.settle();
    let kept = &window.app().session().keeping.head_notes;
    assert_eq!(note_of(kept, "demo:gpt", head), "looks back");
    assert_eq!(note_of(kept, "demo:bert", head), "");
    window.app().request(note("x".repeat(5000).as_str()));
    window.settle();
    assert_eq!(note_of(&window.app().session().keeping.head_notes, "demo:gpt", head), "looks back", "too long");
    window.show(ViewKind::Atlas);
    window.app().request(note(""));
    window.settle();
    assert!(window.app().session().keeping.head_notes.is_empty());
}

//! The views in the centre: what they show, what they ask for, and that every control has a name.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud,
        projection::project,
        reading::{SentenceFilter, store::PatternStore},
    },
    capture::Capture,
    ids::{HeadId, StackKind},
    protocol::{Event, EventKind, Request, SurveyAnswer},
    session::{Command, Effect, Focus, Loadable, SelectionCommand, Session, Settings, ViewKind},
    ui::{CommandQueue, PanelCtx, QueuedCommand, hovering, theme::Theme, views::Views},
};
use eframe::egui::{
    Event as Input, Modifiers, MouseWheelSource, MouseWheelUnit, Shape, TouchPhase, Vec2, accesskit::Role, vec2,
};
use egui_kittest::{Harness, kittest::Queryable as _};

use crate::{
    render,
    support::{stacks, synthetic},
};

/// A session, its views, and everything they asked for.
pub struct Stage {
    pub session: Session,
    pub views: Views,
    pub patterns: PatternStore,
    pub asked: Vec<Command>,
    pub dark: bool,
}

impl Stage {
    pub fn new(capture: Capture, view: ViewKind) -> Self {
        let mut session = Session::new(Settings::default());
        session.documents[0].capture = Loadable::Ready(Arc::new(capture));
        session.panes.active_mut().view = view;
        Self { session, views: Views::default(), patterns: PatternStore::default(), asked: Vec::new(), dark: false }
    }

    /// With the planes of every head.
    pub fn projected(mut self) -> Self {
        let capture = Arc::clone(self.session.document().latest_capture().unwrap());
        let options = self.session.pane().options.scatter.projection;
        let projection =
            project(&PointCloud::Input(capture), self.session.pane().selection.stack(), options, &mut |_, _| true)
                .unwrap();
        self.session.panes.active_mut().projection = Loadable::Ready(Arc::new(projection));
        self
    }

    /// Shows the view in a window of `size`; what it asks for is done before the next frame.
    pub fn show(self, size: Vec2) -> Harness<'static, Self> {
        let builder =
            Harness::builder().with_size(size).with_max_steps(64).with_context_setup(attnscope::ui::glyphs::install);
        #[cfg(feature = "snapshots")]
        let builder = builder.wgpu();
        builder.build_ui_state(
            |ui, stage| {
                let theme = if stage.dark { Theme::dark() } else { Theme::light() };
                ui.ctx().set_global_style(theme.style());
                let commands = CommandQueue::default();
                let cx = PanelCtx::new(&stage.session, &theme, &commands, &stage.patterns);
                stage.views.ui(stage.session.pane().view, ui, &cx);
                if stage.patterns.read_now() {
                    ui.ctx().request_repaint();
                }
                for QueuedCommand { command, .. } in hovering::join(&stage.session, Vec::new(), commands.take()) {
                    stage.asked.push(command.clone());
                    let effects = stage.session.apply(command);
                    stage.measure(effects);
                }
            },
            self,
        )
    }

    /// Answers questions about the whole cloud at once; everything else waits for ever.
    fn measure(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Submit(job, request @ Request::Survey { .. }) = effect
                && let Request::Survey { survey, .. } = &request
            {
                let found = survey.answer(&mut |_, _| true).unwrap().unwrap();
                let kind = EventKind::Survey(SurveyAnswer::Found(Arc::new(found)));
                let _ = self.session.on_event(Event { job, lane: request.lane(), kind });
            }
        }
    }

    /// Shows the options of the view instead of the view.
    pub fn show_options(self) -> Harness<'static, Self> {
        Harness::builder()
            .with_size(vec2(280.0, 1000.0))
            .with_context_setup(attnscope::ui::glyphs::install)
            .build_ui_state(
                |ui, stage| {
                    let theme = Theme::light();
                    ui.ctx().set_global_style(theme.style());
                    let commands = CommandQueue::default();
                    let cx = PanelCtx::new(&stage.session, &theme, &commands, &stage.patterns);
                    stage.views.options_ui(stage.session.pane().view, ui, &cx, true);
                    for QueuedCommand { command, .. } in commands.take() {
                        stage.asked.push(command.clone());
                        let _ = stage.session.apply(command);
                    }
                },
                self,
            )
    }
}

pub fn sentence() -> Capture {
    synthetic::text_capture(9, 3, 4)
}

#[test]
fn hovering_and_clicking_a_token_focuses_it_everywhere() {
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    stage.get_by_label("Query 2 sat").hover();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::query(2));
    stage.get_by_label("Query 2 sat").click();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::query(2));
    stage.get_by_label("Key 3 on").hover();
    stage.run();
    assert_eq!(
        stage.state().session.pane().selection.hover,
        Focus::cell(2, 3),
        "a key beside a pinned query is their cell"
    );
    stage.remove_cursor();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::NONE);
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::query(2));
}

/// A query and a key that are clicked one after the other are held as a pair, in either order.
#[test]
fn a_query_and_a_key_that_are_clicked_make_a_pair() {
    for clicks in [["Query 5 mat", "Key 2 sat"], ["Key 2 sat", "Query 5 mat"]] {
        let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
        stage.run();
        for label in clicks {
            stage.get_by_label(label).click();
            stage.run_steps(20);
        }
        assert_eq!(stage.state().session.pane().selection.pinned, Focus::cell(5, 2), "{clicks:?}");
        // Another key takes the place of the first.
        stage.get_by_label("Key 3 on").click();
        stage.run_steps(20);
        assert_eq!(stage.state().session.pane().selection.pinned, Focus::cell(5, 3), "{clicks:?}");
    }
}

#[test]
fn swatches_turn_heads_off_until_one_is_left() {
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    for head in 0..4 {
        stage.get_by_label(&format!("Head {head}")).click();
        stage.run();
        // Clicks in quick succession at different places are not a double click, but time must pass.
        stage.run_steps(20);
    }
    let selection = stage.state().session.pane().selection.clone();
    assert!(selection.heads_on().is_only(3, 4) && selection.head.head == 3, "the last one stays");
    stage.get_by_label("Show all heads").click();
    stage.run();
    assert!((0..4).all(|head| stage.state().session.pane().selection.heads_on().contains(head)));
}

#[test]
fn the_caption_says_what_is_drawn_of_what_there_is() {
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    // 4 heads × 9 × 9 entries, none of them zero.
    assert!(stage.query_by_label_contains("of 324 lines").is_some());
}

#[test]
fn leaving_every_token_out_is_said_instead_of_shown() {
    for view in [ViewKind::Heads, ViewKind::Heatmap] {
        let mut stage = Stage::new(synthetic::causal_text_capture(1, 1, 2), view);
        stage.session.panes.active_mut().options.reading.leave_out.first = true;
        let mut stage = stage.show(vec2(700.0, 500.0));
        // Ends only when nothing asks to be drawn again.
        stage.run();
        stage.get_by_label("Every token is left out: see “Show weights as”");
        stage.get_by_label("Show all").click();
        stage.run();
        assert!(
            stage.query_by_label("Show all").is_none() && !stage.state().session.pane().options.reading.leave_out.first
        );
    }
}

#[test]
fn a_view_that_shows_nothing_leads_to_one_that_does() {
    let mut stage = Stage::new(sentence(), ViewKind::Image).show(vec2(700.0, 500.0));
    stage.run();
    stage.get_by_label("Show Lines").click();
    stage.run();
    assert_eq!(stage.state().session.pane().view, ViewKind::Heads);
}

#[test]
fn long_inputs_draw_only_the_tokens_in_sight() {
    let mut stage = Stage::new(synthetic::causal_text_capture(200, 1, 2), ViewKind::Heads).show(vec2(700.0, 500.0));
    stage.run();
    assert!(stage.query_by_label("Query 3 on").is_some());
    assert!(stage.query_by_label("Query 150 because").is_none());
}

#[test]
fn the_heatmap_names_the_cell_under_the_pointer() {
    let mut stage = Stage::new(sentence(), ViewKind::Heatmap).show(vec2(900.0, 700.0));
    stage.run();
    let plot = stage.get_by_label("Attention pattern of L0H0").rect();
    let cell = plot.size() / 9.0;
    stage.hover_at(plot.min + cell * vec2(3.5, 5.5));
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::cell(5, 3));
    assert!(stage.query_by_label("Score").is_some(), "the readout shows the score");
    stage.get_by_label("Head 2").click();
    stage.run();
    stage.get_by_label("Attention pattern of L0H2");
}

/// With nine tokens there are ten lines each way.
#[test]
fn cells_that_are_large_enough_have_borders_where_that_is_asked_for() {
    let rule = Theme::light().rule;
    let n_lines = |capture: Capture, cell_border: bool| {
        let mut stage = Stage::new(capture, ViewKind::Heatmap);
        stage.session.panes.active_mut().options.heatmap.cell_border = cell_border;
        let mut stage = stage.show(vec2(900.0, 700.0));
        stage.run();
        let is_border = |shape: &Shape| matches!(shape, Shape::LineSegment { stroke, .. } if stroke.color == rule);
        stage.output().shapes.iter().filter(|clipped| is_border(&clipped.shape)).count()
    };
    assert_eq!([false, true].map(|on| n_lines(sentence(), on)), [0, 20]);
    assert_eq!(n_lines(synthetic::text_capture(150, 1, 1), true), 0, "cells of less than 6 points");

    let mut stage = Stage::new(sentence(), ViewKind::Heatmap).show_options();
    stage.get_by_label("Cell border").click();
    stage.run();
    assert!(stage.state().session.pane().options.heatmap.cell_border);

    let folder = tempfile::tempdir().unwrap();
    let draw = |view: &str, more: &[&str]| {
        let out = folder.path().join("figure.svg");
        let input = ["render", view, "--model", "demo:gpt", "--text", "one two", "--out", out.to_str().unwrap()];
        let output = render::attnscope(&[&input[..], more].concat());
        let lines = std::fs::read_to_string(&out).map_or(0, |svg| svg.matches("stroke-width=").count());
        (lines, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let [without, with] = [&[][..], &["--cell-border"]].map(|more| draw("heatmap", more).0);
    assert!(with >= without + 6, "{without} lines without, {with} with");
    let refusal = draw("grid", &["--cell-border"]).1;
    assert!(refusal.contains("--cell-border is an option of heatmap"), "{refusal}");
}

#[test]
fn the_wheel_zooms_the_heatmap_about_the_pointer() {
    let mut stage = Stage::new(sentence(), ViewKind::Heatmap).show(vec2(900.0, 700.0));
    stage.run();
    let plot = stage.get_by_label("Attention pattern of L0H0").rect();
    let near_corner = plot.min + plot.size() * 0.98;
    stage.hover_at(near_corner);
    stage.run();
    stage.event(wheel(600.0));
    stage.run();
    stage.hover_at(plot.min + plot.size() * 0.02);
    stage.run();
    let hover = stage.state().session.pane().selection.hover;
    assert!(hover.query.unwrap() > 2 && hover.key.unwrap() > 2, "the last cells fill the plot now: {hover:?}");
}

pub fn wheel(y: f32) -> Input {
    Input::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, y),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: MouseWheelSource::Wheel,
    }
}

#[test]
fn a_view_that_rests_lets_go_of_its_pictures_and_keeps_where_it_was() {
    for view in [ViewKind::Heatmap, ViewKind::Matrix] {
        let mut stage = Stage::new(sentence(), view).projected().show(vec2(900.0, 700.0));
        // What is under a pointer that is not where the wheel was turned tells how near one looks.
        let at = |stage: &mut Harness<'_, Stage>| {
            stage.hover_at(vec2(420.0, 300.0).to_pos2());
            stage.run();
            stage.state().session.pane().selection.hover
        };
        stage.run();
        let far = at(&mut stage);
        stage.hover_at(vec2(560.0, 520.0).to_pos2());
        stage.event(wheel(if view == ViewKind::Heatmap { 600.0 } else { 60.0 }));
        stage.run();
        let show = |stage: &mut Harness<'_, Stage>, view| {
            stage.state_mut().session.panes.active_mut().view = view;
            stage.run();
        };
        let near = at(&mut stage);
        let n_textures = |stage: &Harness<'_, Stage>| stage.ctx.tex_manager().read().allocated().count();
        let n_shown = n_textures(&stage);
        show(&mut stage, ViewKind::Heads);
        let n_hidden = n_textures(&stage);
        stage.state_mut().views.rest(ViewKind::Heads);
        assert!(n_textures(&stage) < n_hidden, "{view:?}: {n_shown}, {n_hidden}");
        show(&mut stage, view);
        assert_eq!(n_textures(&stage), n_shown, "{view:?}");
        // Points of a plane are small: there may be one under the pointer or not.
        if view == ViewKind::Heatmap {
            assert_ne!(near, far);
            assert_eq!(at(&mut stage), near);
        }
    }
}

#[test]
fn every_view_without_a_capture_says_what_to_do() {
    for view in ViewKind::ALL {
        let mut stage = Stage::new(sentence(), view);
        stage.session.documents[0].capture = Loadable::Empty;
        let mut stage = stage.show(vec2(700.0, 500.0));
        stage.run();
        stage.get_by_label("Open a model or an example to see its attention");
        stage.get_by_label("Open…");
    }
}

#[test]
fn options_of_every_view_can_be_drawn_and_have_names() {
    for view in ViewKind::ALL {
        println!("options of {}", view.label());
        let mut stage = Stage::new(synthetic::image_capture((4, 5)), view).show_options();
        stage.run();
        assert_eq!(stage.state().asked, [], "drawing the options of {} asks for nothing", view.label());
    }
}

#[test]
fn the_stack_is_chosen_above_every_view_that_has_several() {
    for view in [ViewKind::Heads, ViewKind::Heatmap, ViewKind::Scatter, ViewKind::Matrix] {
        let mut stage = Stage::new(stacks::translation_capture(), view);
        let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Encoder)));
        let mut stage = stage.show(vec2(900.0, 600.0));
        stage.run_steps(4);
        stage.get_by_role_and_label(Role::RadioButton, "Stack Cross").click();
        stage.run_steps(4);
        assert_eq!(stage.state().session.pane().selection.stack(), StackKind::Cross, "{}", view.label());
    }
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    assert!(stage.query_by_label_contains("Stack ").is_none(), "one stack is no choice");
}

#[test]
fn cross_attention_has_two_labelled_columns_of_different_length() {
    let mut stage = Stage::new(stacks::translation_capture(), ViewKind::Heads);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let mut stage = stage.show(vec2(900.0, 600.0));
    stage.run();
    // A row of cross-attention is named by the word that it writes, which comes after the one it reads.
    stage.get_by_label("Query 2 Katze");
    assert!(stage.query_by_label_contains("Query 7").is_none(), "there are seven queries");
    // A query and a key make a pair; each column is chosen by itself, and the same once more lets go of it.
    let pair = Focus::cell(2, 8);
    for (label, pinned) in [("Key 8 </s>", Focus::key(8)), ("Query 2 Katze", pair), ("Key 8 </s>", Focus::query(2))] {
        stage.get_by_label(label).click();
        stage.run_steps(20);
        assert_eq!(stage.state().session.pane().selection.pinned, pinned);
    }
}

#[test]
fn the_short_column_stays_while_the_long_one_scrolls() {
    let mut stage = Stage::new(stacks::summary_capture(120, 5), ViewKind::Heads);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let mut stage = stage.show(vec2(900.0, 500.0));
    stage.run();
    assert!(stage.query_by_label("Key 119 w119").is_none());
    stage.hover_at(stage.get_by_label("Key 3 w3").rect().center());
    stage.run();
    stage.event(wheel(-9000.0));
    stage.run_steps(30);
    stage.get_by_label("Key 119 w119");
    for query in 0..5 {
        let written = if query == 4 { "…".to_owned() } else { format!("w{}", query + 1) };
        stage.get_by_label(&format!("Query {query} {written}"));
    }
}

#[test]
fn a_rectangular_heatmap_names_the_right_cell() {
    let mut stage = Stage::new(stacks::translation_capture(), ViewKind::Heatmap);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let mut stage = stage.show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("7 decoder queries × 9 encoder keys").is_some());
    let plot = stage.get_by_label("Attention pattern of L0H0").rect();
    stage.hover_at(plot.min + plot.size() * vec2(8.5 / 9.0, 1.5 / 7.0));
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::cell(1, 8));
    let labels = stage.get_by_label("Key labels").rect();
    stage.hover_at(labels.center());
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::key(4), "a label means its whole column");
}

/// A word that patches attend to is picked above the picture, and a patch beside it is what asks.
#[test]
fn words_that_patches_attend_to_are_picked_as_keys() {
    let mut stage = Stage::new(stacks::two_stream_capture((4, 4)), ViewKind::Image);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::VisionToText)));
    let mut stage = stage.show(vec2(900.0, 700.0));
    stage.run();
    stage.get_by_label("Word 2 photo").click();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::key(2));
    let picture = stage.get_by_label("Picture with attention").rect();
    stage.hover_at(picture.center() + vec2(1.0, 1.0));
    stage.run();
    let hovered = stage.state().session.pane().selection.hover;
    assert_eq!(hovered.key, Some(2));
    assert!(hovered.query.is_some_and(|patch| patch > 2), "{hovered:?}");
}

/// Rows of cross-attention are named by what is written unless somebody wants otherwise.
#[test]
fn axes_have_the_same_names_in_both_views_and_in_figures() {
    let names = ["Next token (decoder)", "Key (encoder)"];
    for view in [ViewKind::Heatmap, ViewKind::Heads] {
        let mut stage = Stage::new(stacks::translation_capture(), view);
        let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
        let mut stage = stage.show(vec2(900.0, 700.0));
        stage.run();
        let is_there = |name: &str| {
            let begins = |shape: &Shape| matches!(shape, Shape::Text(text) if text.galley.text().starts_with(name.trim_end_matches(')')));
            stage.output().shapes.iter().any(|clipped| begins(&clipped.shape))
        };
        assert_eq!(names.map(is_there), [true; 2], "{view:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let input = ["--model", "demo:translate", "--text", "the dog", "--stack", "cross", "--written"];
    let output = render::attnscope(&[&["render", "heatmap", "--out", out.to_str().unwrap()], &input[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let texts = render::texts(&std::fs::read(out).unwrap());
    assert!(names.iter().all(|name| texts.iter().any(|text| text == name)), "{texts:?}");
}

#[test]
fn a_part_of_a_pair_says_what_it_leaves_out() {
    for view in [ViewKind::Heads, ViewKind::Heatmap] {
        let mut stage = Stage::new(stacks::pair_capture(), view).show(vec2(1100.0, 700.0));
        stage.run();
        stage.get_by_role_and_label(Role::RadioButton, "Sentences A→B").click();
        stage.run();
        assert_eq!(stage.state().session.pane().options.reading.sentences, SentenceFilter::AToB);
        let capture = Arc::clone(stage.state().session.document().latest_capture().unwrap());
        let heads = if view == ViewKind::Heads { 0..4 } else { 0..1 };
        // The first five tokens are the first sentence, its closing token included.
        let to_b = |head| {
            let pattern = capture.stored_pattern(HeadId::single(0, head)).unwrap();
            (0..5).map(|query| pattern.row(query).unwrap()[5..].iter().sum::<f32>()).sum::<f32>()
        };
        let n_rows = 5.0 * heads.len() as f32;
        let percent = 100.0 * heads.map(to_b).sum::<f32>() / n_rows;
        let text = format!("{:.0} % went to the sentence that is not shown, weights are not", 100.0 - percent);
        assert!(stage.query_by_label_contains(&text).is_some(), "{text} in {}", view.label());
    }
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    assert!(stage.query_by_label_contains("Sentences").is_none(), "one sentence has no parts");
}

#[test]
fn heads_that_share_keys_say_so() {
    let mut stage = Stage::new(stacks::shared_keys_capture(8), ViewKind::Heads).show(vec2(900.0, 600.0));
    stage.run();
    let gap = |a: &str, b: &str| stage.get_by_label(b).rect().left() - stage.get_by_label(a).rect().right();
    assert!(gap("Head 3", "Head 4") > gap("Head 2", "Head 3") + 3.0, "a gap between the groups");
    stage.get_by_label("Head 5").hover();
    stage.run_steps(20);
    assert!(stage.query_by_label_contains("Heads 4–7 share keys and values 1").is_some());
}

#[test]
fn windows_are_named_in_the_layer_choice_and_the_legend() {
    let mut stage = Stage::new(stacks::window_capture(12, 4), ViewKind::Heatmap).show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("causal, window 4").is_some());
    let plot = stage.get_by_label("Attention pattern of L0H0").rect();
    stage.hover_at(plot.min + plot.size() * vec2(0.5 / 12.0, 10.5 / 12.0));
    stage.run();
    stage.get_by_label("outside the window");
    stage.get_by_label("Next layer").click();
    stage.run();
    assert!(stage.query_by_label_contains("window 4").is_none(), "the second layer sees all");
    let mut options = Stage::new(stacks::window_capture(12, 4), ViewKind::Heatmap).show_options();
    options.run();
    assert!(options.query_by_label_contains("Outside the window of 4").is_some());
}

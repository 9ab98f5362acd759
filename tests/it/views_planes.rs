//! The views of pictures and planes, and pictures of all views for a person to look at.

use attnscope::{
    analysis::{
        point_set::Spot,
        projection::{ColorBy, Dims, SizeBy},
    },
    ids::{HeadId, StackKind},
    session::{Command, Focus, HeadStep, PickChange, SelectionCommand, ViewKind},
};
use eframe::egui::{Event, Modifiers, PointerButton, Pos2, Rect, Shape, accesskit::Role, vec2};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use crate::{
    support::{stacks, synthetic},
    views::{Stage, sentence, wheel},
};

#[test]
fn the_picture_starts_with_cls_and_shows_the_patch_that_is_picked() {
    let mut stage = Stage::new(synthetic::image_capture((4, 5)), ViewKind::Image).show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("L0H0: what “[CLS]” attends to").is_some());
    let picture = stage.get_by_label("Picture with attention").rect();
    // The grid covers the picture but for 4 of 88 pixels at either side.
    let crop = picture.shrink2(vec2(picture.width() * 4.0 / 88.0, 0.0));
    let patch = crop.min + crop.size() * vec2(2.5 / 5.0, 1.5 / 4.0);
    stage.hover_at(patch);
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::query(1 + 5 + 2));
    assert!(stage.query_by_label_contains("what “r1 c2” attends to").is_some());
    stage.get_by_label("Patch as key").click();
    stage.run();
    stage.get_by_label("Prefix token [CLS]").click();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::key(0));
    assert!(stage.query_by_label_contains("what attends to “[CLS]”").is_some());
}

#[test]
fn zooming_into_a_plane_opens_its_head_and_back_again() {
    let mut stage = Stage::new(sentence(), ViewKind::Matrix).projected().show(vec2(900.0, 600.0));
    stage.run();
    let canvas = stage.get_by_label("Query–key maps of all heads").rect();
    // 3 layers × 4 heads: the middle of layer 2, head 1.
    stage.hover_at(canvas.min + canvas.size() * vec2(1.5 / 4.0, 2.5 / 3.0));
    stage.run();
    assert!(stage.query_by_label("L2H1").is_some(), "the head under the pointer is named");
    let shown = |stage: &egui_kittest::Harness<'static, Stage>| {
        let pane = stage.state().session.pane();
        (pane.view, pane.selection.head)
    };
    // One gesture: all heads as long as several are in sight, then the one under the pointer, and back.
    stage.event(wheel(60.0));
    stage.run();
    assert_eq!(shown(&stage).0, ViewKind::Matrix, "a little nearer");
    stage.event(wheel(900.0));
    stage.run();
    assert_eq!(shown(&stage), (ViewKind::Scatter, HeadId::single(2, 1)));
    let alone = stage.get_by_label("Query–key map of L2H1").rect();
    assert!(alone.width() > canvas.width(), "one head does without the names of rows and columns");
    stage.event(wheel(-2000.0));
    stage.run();
    assert_eq!(shown(&stage), (ViewKind::Matrix, HeadId::single(2, 1)));
    assert_eq!(stage.get_by_label("Query–key maps of all heads").rect(), canvas, "everything is where it was");
    // Keys, buttons and double clicks lead to the same places.
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
    stage.run();
    assert_eq!(stage.get_by_label("Query–key map of L2H1").rect(), alone);
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    stage.run();
    assert_eq!(stage.get_by_label("Query–key map of L2H2").rect(), alone);
    stage.get_by_label("‹ All heads").click();
    stage.run();
    assert_eq!(shown(&stage), (ViewKind::Matrix, HeadId::single(2, 2)));
    assert_eq!(stage.get_by_label("Query–key maps of all heads").rect(), canvas);
}

/// Drags from one place to others with the primary button, under modifiers.
fn drag(stage: &mut egui_kittest::Harness<'static, Stage>, way: &[Pos2], modifiers: Modifiers) {
    let button = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
    stage.event_modifiers(Event::PointerMoved(way[0]), modifiers);
    stage.event_modifiers(button(way[0], true), modifiers);
    stage.run();
    for at in way {
        stage.event_modifiers(Event::PointerMoved(*at), modifiers);
        stage.run();
    }
    let end = way[way.len() - 1];
    stage.event_modifiers(button(end, false), modifiers);
    stage.run();
    stage.event(Event::PointerGone);
    stage.run();
}

#[test]
fn points_that_are_picked_stay_picked_in_every_head_and_every_view() {
    let mut stage = Stage::new(sentence(), ViewKind::Scatter).projected().show(vec2(900.0, 600.0));
    stage.run();
    let plane = stage.get_by_label("Query–key map of L0H0").rect();
    let picked = |stage: &egui_kittest::Harness<'static, Stage>| {
        let session = &stage.state().session;
        session.pane().picked(session.document()).map_or(0, |picked| picked.len())
    };
    // A box around the left half, and the same with a line drawn by hand around the right half: together all.
    let (left, right) = (plane.split_left_right_at_fraction(0.5).0, plane.split_left_right_at_fraction(0.5).1);
    drag(&mut stage, &[left.min, left.max], Modifiers::ALT);
    let n_left = picked(&stage);
    assert!(n_left > 0 && n_left < 18, "{n_left} of 9 queries and 9 keys");
    let corners = [right.left_top(), right.right_top(), right.right_bottom(), right.left_bottom()];
    drag(&mut stage, &corners, Modifiers::SHIFT);
    assert_eq!(picked(&stage), 18 - n_left, "a new outline takes the place of the one before");
    drag(&mut stage, &[left.min, left.max], Modifiers { alt: true, ..Modifiers::COMMAND });
    assert_eq!(picked(&stage), 18, "with Ctrl it adds");
    drag(&mut stage, &[left.min, left.max], Modifiers::ALT);
    assert!(stage.query_by_label_contains(&format!("{n_left} picked")).is_some(), "their number is told");

    let set = |stage: &egui_kittest::Harness<'static, Stage>| {
        let session = &stage.state().session;
        session.pane().picked(session.document()).cloned()
    };
    let before = set(&stage);
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    stage.run();
    assert_eq!(set(&stage), before, "the same points in the next head");
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    stage.run();
    let named = stage.query_all_by_label_contains(", picked").count();
    assert_eq!(named, n_left, "their tokens are marked among the lines");
    for command in
        [Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)), Command::Select(SelectionCommand::Release)]
    {
        let _ = stage.state_mut().session.apply(command);
        stage.run();
    }
    assert_eq!(set(&stage), None, "Esc lets go of them");
}

/// The texts that were painted within a rectangle.
fn texts(stage: &egui_kittest::Harness<'static, Stage>, within: Rect) -> Vec<String> {
    fn collect(shape: &Shape, within: Rect, found: &mut Vec<String>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect(shape, within, found)),
            Shape::Text(text) if within.contains(text.pos) => found.push(text.galley.text().to_owned()),
            _ => {}
        }
    }
    let mut found = Vec::new();
    stage.output().shapes.iter().for_each(|clipped| collect(&clipped.shape, within, &mut found));
    found
}

/// The numbers of a layout stand below it, and every one of few points has its text.
#[test]
fn few_points_all_have_a_text_and_picking_moves_none() {
    let mut stage = Stage::new(sentence(), ViewKind::Scatter).projected().show(vec2(420.0, 500.0));
    stage.run();
    let plane = |stage: &egui_kittest::Harness<'static, Stage>| stage.get_by_label("Query–key map of L0H0").rect();
    let before = plane(&stage);
    let caption = stage.get_by_label_contains("correlation of q·k and distance").rect();
    assert!(caption.top() >= before.bottom(), "{caption:?} below {before:?}");
    let named = texts(&stage, before);
    let missing: Vec<&str> = sentence_words().filter(|word| named.iter().filter(|it| it == word).count() < 2).collect();
    assert!(missing.is_empty() && named.len() >= 18, "{missing:?} of {named:?}");
    let points = [Spot::Query(3), Spot::Key(5)].into_iter().collect();
    let _ = stage.state_mut().session.apply(Command::Select(SelectionCommand::PickPoints(points, PickChange::Replace)));
    stage.run();
    assert!(stage.query_by_label_contains("2 picked").is_some());
    assert_eq!(plane(&stage), before, "the canvas stays where it is");
}

/// The words of [`sentence`] that occur once.
fn sentence_words() -> impl Iterator<Item = &'static str> {
    ["cat", "sat", "on", "mat", "because", "it"].into_iter()
}

#[test]
fn counts_and_clusters_and_a_space_can_be_drawn_and_turned() {
    let mut stage = Stage::new(sentence(), ViewKind::Scatter);
    let mut options = stage.session.pane().options.clone();
    options.scatter.projection.layout.dims = Dims::Space;
    options.scatter.clusters = true;
    let _ = stage.session.apply(Command::SetViewOptions(options.clone()));
    let mut stage = stage.projected().show(vec2(900.0, 600.0));
    stage.run();
    let plane = stage.get_by_label("Query–key map of L0H0").rect();
    let hovered = |stage: &mut egui_kittest::Harness<'static, Stage>| {
        // Wherever the pointer goes, a point under it is named in space as in the plane.
        (0..40).flat_map(|row| (0..40).map(move |col| (row, col))).find_map(|(row, col)| {
            stage.hover_at(plane.min + plane.size() * vec2((col as f32 + 0.5) / 40.0, (row as f32 + 0.5) / 40.0));
            stage.step();
            stage.step();
            let hover = stage.state().session.pane().selection.hover;
            (!hover.is_empty()).then_some((row, col, hover))
        })
    };
    let before = hovered(&mut stage).unwrap();
    drag(&mut stage, &[plane.center(), plane.center() + vec2(160.0, 40.0)], Modifiers::NONE);
    assert_ne!(hovered(&mut stage).unwrap(), before, "dragging turns it");
    options.scatter.density = true;
    let _ = stage.state_mut().session.apply(Command::SetViewOptions(options));
    stage.run_steps(8);
    stage.get_by_label("Query–key map of L0H0");
}

#[test]
fn without_a_projection_the_planes_say_what_is_coming() {
    for view in [ViewKind::Scatter, ViewKind::Matrix] {
        let mut stage = Stage::new(sentence(), view).show(vec2(900.0, 600.0));
        stage.run();
        assert!(stage.query_by_label_contains("queries and keys of every head").is_some(), "{}", view.label());
    }
}

#[test]
fn queries_and_keys_of_different_tokens_stand_in_one_plane() {
    let mut stage = Stage::new(stacks::translation_capture(), ViewKind::Scatter);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let mut stage = stage.projected().show(vec2(900.0, 600.0));
    stage.run_steps(4);
    stage.get_by_label("Query–key map of L0H0");
    stage.get_by_label("‹ All heads").click();
    stage.run_steps(4);
    assert!(stage.query_by_label_contains("7 queries and 9 keys each").is_some());
}

#[test]
fn a_word_lights_the_patches_it_attends_to() {
    let mut stage = Stage::new(stacks::caption_capture((4, 5)), ViewKind::Heads);
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let _ = stage.session.apply(Command::Select(SelectionCommand::ShowView(ViewKind::Image)));
    let mut stage = stage.show(vec2(1000.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("mean over all queries").is_some(), "nothing is picked yet");
    stage.get_by_label("Word 2 disc").click();
    stage.run();
    assert!(stage.query_by_label_contains("what is attended to when “disc” is written").is_some());
    let picture = stage.get_by_label("Picture with attention").rect();
    stage.hover_at(picture.center());
    stage.run();
    let hover = stage.state().session.pane().selection.hover;
    assert!(hover.query == Some(2) && hover.key.is_some(), "a patch under the pointer answers the word: {hover:?}");
    stage.get_by_role_and_label(Role::RadioButton, "Stack Decoder").click();
    stage.run();
    assert_eq!(stage.state().session.pane().view, ViewKind::Heads, "the decoder's keys are words, not patches");
}

/// Writes pictures of the views to the folder named by `VIEW_PICTURES`, for a person to look at.
#[cfg(feature = "snapshots")]
#[test]
#[ignore = "a tool for the eye, not a test"]
fn pictures_of_the_views() {
    type Make = fn() -> attnscope::capture::Capture;

    let Some(folder) = std::env::var_os("VIEW_PICTURES") else { return };
    let only = std::env::var("VIEW_ONLY").unwrap_or_default();
    let folder = std::path::PathBuf::from(folder);
    let captures: [(&str, Make); 4] = [
        ("short", || synthetic::text_capture(12, 4, 4)),
        ("many", || synthetic::causal_text_capture(40, 12, 12)),
        ("long", || synthetic::causal_text_capture(300, 4, 12)),
        ("image", || synthetic::image_capture((14, 14))),
    ];
    for view in ViewKind::ALL {
        for (name, capture) in &captures {
            for (dark, size) in [(false, vec2(900.0, 600.0)), (true, vec2(700.0, 500.0)), (false, vec2(1600.0, 1000.0))]
            {
                let file = format!("{}-{name}-{}.png", view.name(), size.x);
                if !file.contains(&only) {
                    continue;
                }
                let mut stage = Stage::new(capture(), view).projected();
                stage.dark = dark;
                if size.x < 800.0 {
                    let _ = stage.session.apply(Command::Select(SelectionCommand::Pin(Focus::query(6))));
                }
                let effects = stage.session.apply(Command::Select(SelectionCommand::ShowView(view)));
                assert!(effects.len() < 2);
                let mut stage = stage.show(size);
                stage.run();
                stage.render().unwrap().save(folder.join(file)).unwrap();
            }
        }
    }
}

/// Writes the made-up captures to the folder named by `CAPTURES`, to open them in the real window.
#[test]
#[ignore = "a tool for the eye, not a test"]
fn captures_to_look_at() {
    use attnscope::capture::file::{Contents, write};

    let Some(folder) = std::env::var_os("CAPTURES") else { return };
    for capture in [
        stacks::translation_capture(),
        stacks::summary_capture(120, 9),
        stacks::caption_capture((10, 14)),
        stacks::two_tower_capture((8, 8)),
        stacks::shared_keys_capture(14),
        stacks::window_capture(24, 6),
        stacks::pair_capture(),
    ] {
        let path = std::path::Path::new(&folder).join(format!("{}.safetensors", capture.model().name));
        write(&[&capture], Contents::DEFAULT, &mut std::fs::File::create(path).unwrap()).unwrap();
    }
}

#[test]
fn a_click_in_the_legend_picks_a_kind_a_group_or_a_range() {
    let mut stage = Stage::new(sentence(), ViewKind::Scatter).projected();
    let mut options = stage.session.pane().options.clone();
    options.scatter.color = ColorBy::PositionModulo;
    let _ = stage.session.apply(Command::SetViewOptions(options.clone()));
    let mut stage = stage.show_options();
    stage.run();
    let picked = |stage: &Harness<'static, Stage>| {
        let session = &stage.state().session;
        session.pane().picked(session.document()).map_or(0, |picked| picked.len())
    };
    for (label, expected) in [("Keys", 9), ("Queries", 9), ("4", 2)] {
        stage.get_by_label(label).click();
        stage.run();
        assert_eq!(picked(&stage), expected, "{label}: of nine tokens one is 4 modulo 5, as a query and as a key");
    }
    options.scatter.color = ColorBy::Norm;
    let _ = stage.state_mut().session.apply(Command::SetViewOptions(options));
    stage.run();
    stage.get_by_label("Pick").click();
    stage.run();
    assert_eq!(picked(&stage), 18, "the whole range is every point");
}

#[test]
fn what_takes_a_while_to_tell_is_found_out_beside_the_window() {
    // More pairs than there is time for between two frames.
    let mut stage = Stage::new(synthetic::text_capture(700, 1, 1), ViewKind::Scatter).show_options();
    stage.run();
    let mut options = stage.state().session.pane().options.clone();
    options.scatter.size = SizeBy::Received;
    let _ = stage.state_mut().session.apply(Command::SetViewOptions(options));
    stage.step();
    assert!(stage.query_by_label_contains("Computing colours").is_some(), "the window goes on meanwhile");
    let begun = std::time::Instant::now();
    while stage.query_by_label_contains("Computing colours").is_some() {
        assert!(begun.elapsed().as_secs() < 60, "nothing came");
        std::thread::sleep(std::time::Duration::from_millis(5));
        stage.step();
    }
    assert!(stage.query_by_label("Smallest").is_some() && stage.query_by_label("Largest").is_some());
}

#[test]
fn what_changes_nothing_now_cannot_be_chosen() {
    let mut stage = Stage::new(sentence(), ViewKind::Matrix).projected().show_options();
    stage.run();
    let disabled = |stage: &Harness<'static, Stage>, label: &str| {
        stage.query_all_by_label(label).any(|node| node.accesskit_node().is_disabled())
    };
    assert!(disabled(&stage, "Lines of every query"), "lines are drawn in one head");
    assert!(!disabled(&stage, "Size of points"));
    let mut options = stage.state().session.pane().options.clone();
    options.scatter.density = true;
    for command in [Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)), Command::SetViewOptions(options)] {
        let _ = stage.state_mut().session.apply(command);
    }
    stage.run();
    assert!(!disabled(&stage, "Lines of every query"));
    assert!(disabled(&stage, "Size of points") && disabled(&stage, "Colour of points"), "counts have neither");
}

/// A token under the pointer is numbered as everywhere else.
#[test]
fn a_point_is_numbered_as_its_token_is_elsewhere() {
    let mut stage = Stage::new(sentence(), ViewKind::Scatter).projected().show(vec2(900.0, 600.0));
    stage.run();
    let plane = stage.get_by_label("Query–key map of L0H0").rect();
    for at in (0..400).map(|nth| vec2(nth as f32 % 20.0 + 0.5, (nth / 20) as f32 + 0.5) / 20.0) {
        stage.hover_at(plane.min + plane.size() * at);
        stage.run();
        let hover = stage.state().session.pane().selection.hover;
        if let Some(position) = hover.query.or(hover.key) {
            assert!(stage.query_by_label(&format!("#{position} of 9 tokens")).is_some());
            return;
        }
    }
    panic!("no point lies under any of 400 places");
}

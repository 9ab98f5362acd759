use std::{collections::BTreeSet, sync::Arc};

use attnscope::{
    analysis::reading::{
        Aggregate, Captures, LeaveOut, Over, Policy, ReadPattern, ReadingOptions, SentenceFilter, Together, Which,
        read, store::PatternStore,
    },
    ids::HeadId,
    session::{Focus, Loadable, Session, Settings, ViewKind},
    ui::{
        Asked, CommandQueue, PanelCtx,
        panels::inspector_ui,
        theme::Theme,
        views::{Views, shown_pattern},
    },
};
use eframe::egui::{self, Panel, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};

use crate::reading::capture;

/// A view with the inspector beside it.
struct Stage {
    session: Session,
    views: Views,
    patterns: PatternStore,
}

fn show(view: ViewKind, options: &ReadingOptions, head: HeadId, pinned: Focus) -> Harness<'static, Stage> {
    let labels = ["[CLS]", "un", "##believ", "##able", "cat", "!", "[SEP]", "/the", "dog", "##s", "ran", ".", "[SEP]"];
    let mut session = Session::new(Settings::default());
    session.documents[0].capture = Loadable::Ready(Arc::new(capture(1, &labels, false)));
    let pane = session.panes.active_mut();
    pane.view = view;
    pane.options.reading = options.clone();
    pane.selection.head = head;
    pane.selection.pinned = pinned;
    let stage = Stage { session, views: Views::default(), patterns: PatternStore::default() };
    let builder = Harness::builder().with_size(vec2(1300.0, 900.0)).with_max_steps(64);
    builder.with_context_setup(attnscope::ui::glyphs::install).build_ui_state(
        |ui, stage| {
            let theme = Theme::light();
            ui.ctx().set_global_style(theme.style());
            let commands = CommandQueue::default();
            let cx = PanelCtx::new(&stage.session, &theme, &commands, &stage.patterns);
            let shown = shown_pattern(&cx);
            Panel::right("inspector").exact_size(280.0).show(ui, |ui| inspector_ui(ui, &cx, &shown));
            egui::CentralPanel::default().show(ui, |ui| stage.views.ui(cx.pane.view, ui, &cx));
            if stage.patterns.read_now() {
                ui.ctx().request_repaint();
            }
            for Asked { command, .. } in commands.take() {
                let _ = stage.session.apply(command);
            }
        },
        stage,
    )
}

/// A few of the combinations; `tests/it/reading.rs` holds all of them against their definition.
fn combinations() -> Vec<ReadingOptions> {
    let plain = ReadingOptions::default();
    let leave_out = LeaveOut { special: true, punctuation: true, ..LeaveOut::default() };
    let hide = LeaveOut { first: true, positions: BTreeSet::from([4]), policy: Policy::Hide, ..LeaveOut::default() };
    let together = |over, how| Some(Together { over, how });
    vec![
        plain.clone(),
        ReadingOptions { leave_out: leave_out.clone(), ..plain.clone() },
        ReadingOptions { leave_out: hide.clone(), words: true, ..plain.clone() },
        ReadingOptions { words: true, together: together(Over::Layer, Aggregate::Max), ..plain.clone() },
        ReadingOptions { leave_out, words: true, together: together(Over::Stack, Aggregate::Mean), ..plain.clone() },
        ReadingOptions { leave_out: hide, sentences: SentenceFilter::AToB, ..plain },
    ]
}

fn expected(stage: &Stage) -> ReadPattern {
    let (pane, document) = (stage.session.pane(), stage.session.document());
    let capture = document.latest_capture().unwrap();
    let reading = pane.options.reading.shown(capture, pane.selection.head, &Which::All, None);
    read(Captures::one(capture), &reading).unwrap()
}

fn three_digits(weight: f32) -> String {
    if weight >= 0.000_95 || weight == 0.0 { format!("{weight:.3}") } else { format!("{weight:.0e}") }
}

#[test]
fn tooltip_cells_and_inspector_show_one_number() {
    // From a piece of “unbelievable” to a piece of “dogs”.
    let (query, key, head) = (2, 8, HeadId::single(1, 2));
    for options in combinations() {
        let mut stage = show(ViewKind::Heatmap, &options, head, Focus::cell(query, key));
        stage.run();
        let pattern = expected(stage.state());
        let weight = pattern.value_at(query, key).unwrap();
        let text = format!("{weight:.5}  (");
        assert!(stage.query_by_label_contains(&text).is_some(), "the inspector shows {text}: {options:?}");
        let plot = stage.get_by_label_contains("Attention pattern of").rect();
        let (row, col) = (pattern.rows.group_of(query).unwrap(), pattern.cols.group_of(key).unwrap());
        let part = |at: usize, n: usize| (at as f32 + 0.5) / n as f32;
        let size = plot.size() * vec2(part(col, pattern.cols.len()), part(row, pattern.rows.len()));
        stage.hover_at(pos2(plot.left() + size.x, plot.top() + size.y));
        stage.run();
        let text = three_digits(weight);
        assert!(stage.query_all_by_label(&text).next().is_some(), "the tooltip shows {text}: {options:?}");
        if let Some(hidden) = pattern.hidden_text() {
            assert!(stage.query_by_label_contains(&hidden).is_some(), "{hidden}: {options:?}");
        }
    }
}

#[test]
fn the_tooltip_of_lines_and_the_inspector_show_one_number() {
    let (query, key, head) = (2, 8, HeadId::single(1, 2));
    for options in combinations() {
        let mut stage = show(ViewKind::Heads, &options, head, Focus::query(query));
        stage.run();
        let pattern = expected(stage.state());
        let weight = pattern.value_at(query, key).unwrap();
        let position = pattern.cols.position(pattern.cols.group_of(key).unwrap()).unwrap();
        stage.get_by_label(&format!("Key {position} {}", pattern.cols.text_at(key))).hover();
        stage.run();
        let inspector = format!("{weight:.5}  (");
        assert!(stage.query_by_label_contains(&inspector).is_some(), "{inspector}: {options:?}");
        let text = three_digits(weight);
        assert!(stage.query_all_by_label(&text).next().is_some(), "the tooltip shows {text}: {options:?}");
    }
}

#[test]
fn a_head_that_links_the_pinned_pair_is_one_click_away() {
    let mut stage = show(ViewKind::Heads, &ReadingOptions::default(), HeadId::single(0, 0), Focus::cell(2, 8));
    stage.run();
    let capture = Arc::clone(stage.state().session.document().latest_capture().unwrap());
    let weight = |layer, head| capture.stored_pattern(HeadId::single(layer, head)).unwrap().get(2, 8).unwrap();
    let heads = (0..3).flat_map(|layer| (0..4).map(move |head| (layer, head)));
    let (layer, best) = heads.max_by(|&(a, b), &(c, d)| weight(a, b).total_cmp(&weight(c, d))).unwrap();
    stage.get_by_label_contains(&format!("L{layer}H{best}   rank ")).click();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.head, HeadId::single(layer, best));
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::cell(2, 8), "the pair stays");
}

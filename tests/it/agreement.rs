use std::{collections::BTreeSet, sync::Arc};

use attnscope::{
    analysis::reading::{
        Aggregate, Captures, LeaveOut, Over, Policy, ReadPattern, ReadingOptions, SentenceFilter, Together, Which,
        read, store::PatternStore,
    },
    capture::Merging,
    figure::{
        data::{self, DataFormat, DataValues, Table},
        spec,
    },
    ids::HeadId,
    session::{Command, Focus, Loadable, SelectionCommand, Session, Settings, ViewKind},
    text::{decimal_text, weight_text},
    ui::{
        CommandQueue, PanelCtx, QueuedCommand, hovering,
        panels::Inspector,
        theme::Theme,
        views::{Views, shown_pattern},
    },
};
use eframe::egui::{self, Panel, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};

use crate::{reading::capture, support::play::Play};

const LABELS: [&str; 13] =
    ["[CLS]", "un", "##believ", "##able", "cat", "!", "[SEP]", "/the", "dog", "##s", "ran", ".", "[SEP]"];

/// A view with the inspector beside it.
struct Stage {
    session: Session,
    views: Views,
    inspector: Inspector,
    patterns: PatternStore,
}

fn looking_at(view: ViewKind, options: &ReadingOptions, head: HeadId, pinned: Focus) -> Session {
    let mut session = Session::new(Settings::default());
    session.documents[0].capture = Loadable::Ready(Arc::new(capture(1, &LABELS, false)));
    let pane = session.panes.active_mut();
    pane.view = view;
    pane.options.reading = options.clone();
    pane.selection.head = head;
    pane.selection.pinned = pinned;
    session
}

fn show(view: ViewKind, options: &ReadingOptions, head: HeadId, pinned: Focus) -> Harness<'static, Stage> {
    let stage = Stage {
        session: looking_at(view, options, head, pinned),
        views: Views::default(),
        inspector: Inspector::default(),
        patterns: PatternStore::default(),
    };
    let builder = Harness::builder().with_size(vec2(1300.0, 900.0)).with_max_steps(64);
    builder.with_context_setup(attnscope::ui::glyphs::install).build_ui_state(
        |ui, stage| {
            let theme = Theme::light();
            ui.ctx().set_global_style(theme.style());
            let commands = CommandQueue::default();
            let cx = PanelCtx::new(&stage.session, &theme, &commands, &stage.patterns);
            let shown = shown_pattern(&cx);
            Panel::right("inspector").exact_size(280.0).show(ui, |ui| stage.inspector.ui(ui, &cx, &shown));
            egui::CentralPanel::default().show(ui, |ui| stage.views.ui(cx.pane.view, ui, &cx));
            if stage.patterns.read_now() {
                ui.ctx().request_repaint();
            }
            for QueuedCommand { command, .. } in hovering::join(&stage.session, Vec::new(), commands.take()) {
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
        ReadingOptions { leave_out: hide.clone(), merging: Merging::WORDS, ..plain.clone() },
        ReadingOptions { merging: Merging::WORDS, together: together(Over::Layer, Aggregate::Max), ..plain.clone() },
        ReadingOptions {
            leave_out,
            merging: Merging::WORDS,
            together: together(Over::Stack, Aggregate::Mean),
            ..plain.clone()
        },
        ReadingOptions { leave_out: hide, sentences: SentenceFilter::AToB, ..plain.clone() },
        ReadingOptions { by_value_norm: true, ..plain.clone() },
        ReadingOptions {
            by_value_norm: true,
            merging: Merging::WORDS,
            together: together(Over::Layer, Aggregate::Max),
            ..plain
        },
    ]
}

/// What is left out, and what becomes of it; whether pieces are merged; how heads are taken together; which
/// sentences; whether weights count by their values: everything with everything.
fn every_combination() -> Vec<ReadingOptions> {
    let none = LeaveOut::default();
    let left_out = [
        none.clone(),
        LeaveOut { special: true, punctuation: true, ..none.clone() },
        LeaveOut { first: true, positions: BTreeSet::from([4, 8]), ..none },
    ];
    let how = [Aggregate::Mean, Aggregate::Max, Aggregate::Min, Aggregate::Sum];
    let together = [Over::Layer, Over::Stack].into_iter().flat_map(|over| how.map(|how| Some(Together { over, how })));
    let together: Vec<_> = together.chain([None]).collect();
    let mut all = Vec::new();
    for leave_out in &left_out {
        for policy in Policy::ALL {
            for merging in [Merging::NONE, Merging::WORDS] {
                for &together in &together {
                    for sentences in [SentenceFilter::All, SentenceFilter::AToB, SentenceFilter::BToB] {
                        for by_value_norm in [false, true] {
                            let leave_out = LeaveOut { policy, ..leave_out.clone() };
                            let rows = None;
                            all.push(ReadingOptions { by_value_norm, leave_out, merging, together, sentences, rows });
                        }
                    }
                }
            }
        }
    }
    all
}

fn expected(stage: &Stage) -> ReadPattern {
    shown(&stage.session)
}

/// What the view of one pattern shows.
fn shown(session: &Session) -> ReadPattern {
    let (pane, document) = (session.pane(), session.document());
    let capture = document.latest_capture().unwrap();
    let reading = pane.options.reading.shown(capture, pane.selection.head, &Which::All, None);
    read(Captures::one(capture), &reading).unwrap()
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
        let text = weight_text(weight);
        let n_shown = stage.query_all_by_label(&text).count();
        assert!(n_shown > 0, "the inspector shows {text}: {options:?}");
        let plot = stage.get_by_label_contains("Attention pattern of").rect();
        let (row, col) = (pattern.rows.group_of(query).unwrap(), pattern.cols.group_of(key).unwrap());
        let part = |at: usize, n: usize| (at as f32 + 0.5) / n as f32;
        let size = plot.size() * vec2(part(col, pattern.cols.len()), part(row, pattern.rows.len()));
        stage.hover_at(pos2(plot.left() + size.x, plot.top() + size.y));
        stage.run();
        assert!(stage.query_all_by_label(&text).count() > n_shown, "the tooltip shows {text}, too: {options:?}");
        if let Some(score) = pattern.score(stage.state().session.document().latest_capture().unwrap(), (row, col)) {
            let score = if score.is_finite() { decimal_text(score) } else { "masked".to_owned() };
            assert!(stage.query_all_by_label(&score).count() >= 2, "both show the score {score}: {options:?}");
        }
        let note = stage.query_all_by_label("Weight × ‖v‖").count() >= 2;
        assert_eq!(note, options.by_value_norm, "the tooltip and the inspector say what they show: {options:?}");
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
        let text = weight_text(weight);
        let n_shown = stage.query_all_by_label(&text).count();
        assert!(n_shown >= 2, "the tooltip and the inspector show {text}: {options:?}");
        let note = stage.query_by_label("weights × ‖v‖").is_some();
        assert_eq!(note, options.by_value_norm, "the tooltip says what it shows: {options:?}");
    }
}

/// The numbers that are written for what a session shows, in the window's export and by `render --data`.
fn exported(session: &Session) -> Table {
    let figure = session.figure().unwrap();
    spec::table(&spec::all(&figure.spec, figure.subject()).unwrap(), &figure.spec, figure.subject()).unwrap()
}

/// Head, query, key and the bits of the weight of each row; and those of the same rows read back from a file.
fn rows_of(session: &Session) -> [Vec<(String, u32, u32, u32)>; 2] {
    let table = &exported(session);
    let head = match table.column("head") {
        Some(DataValues::Index(heads)) => heads.iter().map(u32::to_string).collect(),
        Some(DataValues::Text(heads)) => heads.clone(),
        other => panic!("{other:?}"),
    };
    let index = |name: &str| match table.column(name) {
        Some(DataValues::Index(positions)) => positions.clone(),
        other => panic!("{other:?}"),
    };
    let by_value_norm = session.pane().options.reading.by_value_norm;
    let name = if by_value_norm { "weight_by_value_norm" } else { "weight" };
    let Some(DataValues::Number(weights)) = table.column(name) else { panic!("no weights") };
    assert!(table.provenance.contains(&format!("\"by_value_norm\":{by_value_norm}")), "{}", table.provenance);
    let places = || head.iter().cloned().zip(index("query")).zip(index("key"));
    let mut csv = Vec::new();
    data::write(table, DataFormat::Csv, &mut csv).unwrap();
    let lines = String::from_utf8(csv).unwrap();
    let written = lines.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f32>().unwrap());
    let rows = |weights: Vec<f32>| {
        assert_eq!(weights.len(), head.len());
        places().zip(weights).map(|(((head, query), key), weight)| (head, query, key, weight.to_bits())).collect()
    };
    [rows(weights.clone()), rows(written.collect())]
}

/// What is exported is what is shown, to the last bit, whatever is left out, merged and taken together.
#[test]
fn exported_numbers_are_those_on_screen_in_every_combination() {
    let head = HeadId::single(1, 2);
    let mut n_rows = 0;
    for options in every_combination() {
        let session = looking_at(ViewKind::Heatmap, &options, head, Focus::NONE);
        let pattern = shown(&session);
        let [in_memory, in_file] = rows_of(&session);
        let cells = (0..pattern.rows.len()).flat_map(|row| (0..pattern.cols.len()).map(move |col| (row, col)));
        let cells = cells.filter(|&(row, col)| pattern.blank(row, col).is_none());
        let expected: Vec<_> = cells
            .map(|(row, col)| {
                let (query, key) = (pattern.rows.position(row).unwrap(), pattern.cols.position(col).unwrap());
                (query as u32, key as u32, pattern.value_at(query, key).unwrap().to_bits())
            })
            .collect();
        let without_head =
            |rows: &[(String, u32, u32, u32)]| rows.iter().map(|row| (row.1, row.2, row.3)).collect::<Vec<_>>();
        assert_eq!(without_head(&in_memory), expected, "{options:?}");
        assert_eq!(in_memory, in_file, "{options:?}");
        n_rows += expected.len();

        // Lines: every one has the weight of its own head, or of the heads that are taken together.
        let session = looking_at(ViewKind::Heads, &options, head, Focus::NONE);
        let capture = session.document().latest_capture().unwrap();
        let of_head = |head: HeadId| read(Captures::one(capture), &options.of_head(capture, head)).unwrap();
        let [in_memory, in_file] = rows_of(&session);
        assert_eq!(in_memory, in_file, "{options:?}");
        for (name, query, key, bits) in in_memory {
            let drawn = match options.together {
                Some(_) => pattern.clone(),
                None => of_head(HeadId { head: name.parse().unwrap(), ..head }),
            };
            let weight = drawn.value_at(query as usize, key as usize).unwrap();
            assert_eq!(weight.to_bits(), bits, "{name} {query} → {key}: {options:?}");
        }
    }
    assert!(n_rows > 10_000, "{n_rows} numbers were compared");
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

/// Choices about patterns that a view does not show do not stop its figure, in the window's words or any others.
#[test]
fn what_is_chosen_for_patterns_does_not_stop_figures_of_vectors_and_means() {
    let mut play = Play::showing("The cat sat on the mat");
    let mut options = play.session.pane().options.clone();
    options.reading.merging = Merging::WORDS;
    options.reading.together = Some(Together::default());
    play.does(Command::SetViewOptions(options));
    for view in
        [ViewKind::Scatter, ViewKind::Matrix, ViewKind::Distance, ViewKind::Average, ViewKind::Atlas, ViewKind::Heads]
    {
        play.does(Command::Select(SelectionCommand::ShowView(view)));
        let figure = play.session.figure().unwrap();
        let drawn = spec::all(&figure.spec, figure.subject());
        assert!(drawn.is_ok_and(|figures| !figures.is_empty()), "{view:?}");
        assert_eq!(figure.spec.reading.merging.is_merged(), view == ViewKind::Heads, "{view:?}");
    }
}

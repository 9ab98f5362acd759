//! Where the answers of the laboratory stand: nothing is cut, and no column is one word wide, however narrow the pane
//! or the paper.

use std::sync::Arc;

use attnscope::{
    analysis::explain::report::{Axis, ColumnValues, LabQuestion, Report, TableColumn, Value},
    capture::Matrix,
    figure::{
        About, CaptionKind, Captions, FontSource, Item, Page, Scene as _, Typesetter, figure,
        list::Text,
        palette::Palette,
        pen::Pen,
        views::lab::{Answered, LabScene, ROW_PT, Section, compose},
    },
    ids::{HeadId, Side},
};
use eframe::egui::{Rect, pos2, vec2};

use crate::support::synthetic::causal_text_capture;

const N: usize = 9;
/// Narrow panes, 12 cm of paper in the window's points, wide panes.
const WIDTHS: [f32; 6] = [262.0, 288.0, 340.0, 437.0, 700.0, 1200.0];

fn answer(title: &'static str, report: Report) -> Answered {
    Answered { column: title, title, report: Some(Arc::new(report)) }
}

fn scores(seed: usize) -> Vec<f32> {
    (0..N).map(|nth| ((nth * 7 + seed * 5) % N) as f32 / 10.0).collect()
}

/// Six methods about the same tokens.
fn side_by_side() -> Vec<Section> {
    let titles =
        ["Attention", "Rollout", "Relevance", "Integrated gradients", "If another word stands there", "If hidden"];
    let report = |seed| {
        Report::new(attnscope::lab::named("rollout").unwrap().spec)
            .with_value("scores", Value::tokens(Side::Only, scores(seed)))
    };
    let answers: Vec<Answered> =
        titles.into_iter().enumerate().map(|(seed, title)| answer(title, report(seed))).collect();
    compose(&causal_text_capture(N, 2, 2), LabQuestion::Depends, &answers, (HeadId::single(0, 0), false))
}

/// Sentences, numbers and a table.
fn one_by_one() -> Vec<Section> {
    let sentence = "8 more rows of the table are in the file, and this sentence goes on for as long as it can";
    let names: Vec<String> = (0..4).map(|nth| format!("head L{nth}H1 of the second stack of the model")).collect();
    let said: Vec<String> =
        (0..4).map(|nth| format!("it moves {nth} tokens back and then some more of them")).collect();
    let table = Value::Table(vec![
        TableColumn::new("head", ColumnValues::Text(names)),
        TableColumn::new("says", ColumnValues::Text(said)),
        TableColumn::new("size", ColumnValues::Number(vec![0.5; 4])),
    ]);
    let report = Report::new(attnscope::lab::named("faithfulness").unwrap().spec)
        .with_value("permutation_median", Value::Number(0.25))
        .with_value("erasure.attention_gradient", Value::Text(sentence.to_owned()))
        .with_value("permutation", Value::List(vec![0.1, 0.2, 0.3]))
        .with_value("words", table);
    let answers = [answer("Faithfulness", report)];
    compose(&causal_text_capture(N, 2, 2), LabQuestion::Believe, &answers, (HeadId::single(0, 0), false))
}

fn texts(items: &[Item]) -> Vec<&Text> {
    let mut found = Vec::new();
    for item in items {
        match item {
            Item::Text(text) => found.push(text),
            Item::Clip(_, inner) => found.extend(texts(inner)),
            _ => {}
        }
    }
    found
}

/// About where the letters of a line stand.
fn place(text: &Text) -> Rect {
    Rect::from_min_max(text.at - vec2(0.0, 0.7 * text.size), text.at + vec2(text.width, 0.15 * text.size))
}

#[test]
fn nothing_is_cut_and_nothing_overlaps_at_any_width() {
    let mut type_ = Typesetter::new(FontSource::Bundled);
    for sections in [side_by_side(), one_by_one()] {
        let scene = LabScene { sections, captions: Captions::default() };
        for width in WIDTHS {
            let mut pen = Pen::new(&mut type_, Palette::LIGHT);
            assert!(scene.least_width(&mut pen) <= width, "{}", scene.least_width(&mut pen));
            let height = scene.height(width, &mut pen);
            let area = Rect::from_min_size(pos2(5.0, 7.0), vec2(width, height));
            scene.draw(area, &mut pen);
            let texts = texts(&pen.items);
            let all: String = texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join(" ");
            assert!(!all.contains('…') || scene.sections[0].title == "Faithfulness", "{width}: {all}");
            for (nth, text) in texts.iter().enumerate().filter(|(_, text)| text.angle == 0.0) {
                let rect = place(text);
                assert!(area.expand(2.0).contains_rect(rect), "{width}: “{}” at {rect:?} in {area:?}", text.text);
                for other in &texts[..nth] {
                    let overlaps = rect.shrink(1.0).intersects(place(other).shrink(1.0));
                    assert!(other.angle != 0.0 || !overlaps, "{width}: “{}” over “{}”", text.text, other.text);
                }
            }
        }
    }
}

#[test]
fn a_sentence_is_never_broken_into_single_words() {
    let mut type_ = Typesetter::new(FontSource::Bundled);
    let scene = LabScene { sections: one_by_one(), captions: Captions::default() };
    for width in WIDTHS {
        let mut pen = Pen::new(&mut type_, Palette::LIGHT);
        let height = scene.height(width, &mut pen);
        scene.draw(Rect::from_min_size(pos2(0.0, 0.0), vec2(width, height)), &mut pen);
        let lines = texts(&pen.items);
        let of_sentence: Vec<&&Text> = lines
            .iter()
            .skip_while(|line| !line.text.starts_with("8 more"))
            .take_while(|line| line.text != "0.25")
            .collect();
        let first = of_sentence.first().unwrap();
        assert!(first.text.split(' ').count() >= 4, "{width}: “{}”", first.text);
    }
}

/// A narrow table does not make its title a column of single words.
#[test]
fn a_title_has_room_for_several_words() {
    let table = Value::Table(vec![TableColumn::new("head", ColumnValues::Text(vec!["L0H0".to_owned()]))]);
    let answers =
        [answer("Ablation", Report::new(attnscope::lab::named("ablation").unwrap().spec).with_value("flips", table))];
    let sections =
        compose(&causal_text_capture(N, 2, 2), LabQuestion::Believe, &answers, (HeadId::single(0, 0), false));
    let mut type_ = Typesetter::new(FontSource::Bundled);
    for part in sections.iter().flat_map(|section| &section.parts).filter(|part| !part.title.is_empty()) {
        assert!(part.width() >= part.piece.width());
        let mut pen = Pen::new(&mut type_, Palette::LIGHT);
        let lines = pen.broken(&part.title, 11.0, part.width()).len();
        assert!(lines <= 2, "“{}” in {lines} lines of {}", part.title, part.width());
    }
    assert!(sections[0].parts.iter().any(|part| part.piece.width() < 100.0));
}

/// What the window shows and `render lab` writes: the answer to whether methods agree is whole on 12 cm, and with three
/// columns, which set no more width than their bars.
#[test]
fn whether_methods_agree_is_said_in_full_on_paper() {
    let sections = side_by_side();
    let verdict =
        sections[0].parts.iter().find(|part| part.title.starts_with("Do the methods agree?")).unwrap().title.clone();
    let three = Section { parts: sections[0].parts.clone(), ..sections[0].clone() };
    for (sections, width) in [(vec![three], None), (sections, Some(340.0))] {
        let scene = LabScene { sections, captions: Captions::default() };
        let page = Page {
            palette: Palette::LIGHT,
            width,
            height: None,
            caption: CaptionKind::None,
            about: About::default(),
            title: String::new(),
            provenance: String::new(),
        };
        let figure = figure(&page, &scene, &mut Typesetter::new(FontSource::Bundled));
        let lines = texts(&figure.items);
        let all = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
        assert!(all.contains(&verdict), "{all}");
        for line in lines {
            assert!(place(line).right() <= figure.size.x && line.at.x >= 0.0, "“{}” is cut", line.text);
            assert!(width.is_none() || line.size >= 7.0, "letters of {} points", line.size);
        }
    }
}

/// What the mask rules out has the look that it has in the Heatmap, and not that of 0.
#[test]
fn a_map_of_pairs_leaves_out_what_the_mask_rules_out() {
    let capture = causal_text_capture(N, 2, 2);
    let values: Vec<f32> = (0..N * N).map(|at| if at % N > at / N { 0.0 } else { 0.1 + (at % 5) as f32 }).collect();
    let axis = Axis::all(Side::Only);
    let value = Value::Matrix { rows: axis.clone(), cols: axis, values: Matrix::new(values, [N, N]).unwrap() };
    let answers = [answer(
        "Weights",
        Report::new(attnscope::lab::named("normalizers").unwrap().spec).with_value("pattern", value),
    )];
    let sections = compose(&capture, LabQuestion::Believe, &answers, (HeadId::single(0, 0), false));
    let mut type_ = Typesetter::new(FontSource::Bundled);
    let mut pen = Pen::new(&mut type_, Palette::LIGHT);
    let piece = &sections[0].parts[0].piece;
    let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(500.0, piece.height(500.0)));
    piece.draw(area, &mut pen);
    let cells = pen.items.iter().find_map(|item| match item {
        Item::Cells(cells) if cells.size == [N as u32; 2] => Some(cells.clone()),
        _ => None,
    });
    let cells = cells.unwrap();
    let color = |row: usize, col: usize| cells.rgba[4 * (row * N + col)..][..4].to_vec();
    let zero = attnscope::style::Palette::LIGHT.explained(0.0).to_vec();
    let masked = color(0, N - 1);
    assert_ne!(masked, zero);
    for row in 0..N {
        for col in 0..N {
            assert_eq!(color(row, col) == masked, col > row, "{row}, {col}");
        }
    }
    // The pointer says so, too.
    let at = cells.rect.min + cells.rect.size() * vec2(8.5, 0.5) / N as f32;
    assert!(piece.at(area, at).unwrap().text.contains("masked"));
}

/// Short values stand beside their names, also where there is just as much room as both want.
#[test]
fn values_stand_beside_their_names_and_parts_of_a_logit_have_two_decimals() {
    let table = Value::Table(vec![
        TableColumn::new("component", ColumnValues::Text(vec!["L0 MLP".to_owned(), "L1H2".to_owned()])),
        TableColumn::new("contribution", ColumnValues::Number(vec![0.885_04, -2.381_1])),
    ]);
    let report = Report::new(attnscope::lab::named("dla").unwrap().spec)
        .with_value("components", table)
        .with_value("constant", Value::Number(0.57))
        .with_value("sum", Value::Number(9.42))
        .with_value("logit", Value::Number(9.42));
    let answers = [answer("Direct logit attribution", report)];
    let sections = compose(&causal_text_capture(N, 2, 2), LabQuestion::Fact, &answers, (HeadId::single(0, 0), false));
    let [facts, table] = &sections[0].parts[..] else { panic!("{} parts", sections[0].parts.len()) };
    assert_eq!(facts.piece.height(facts.piece.width()), 3.0 * ROW_PT);
    assert_eq!(table.piece.spoken(), ["L1H2 −2.38", "L0 MLP 0.89"]);
}

//! The right button copies numbers, to the last digit.

use attnscope::{analysis::attention, cli::open::OpenOptions, ids::HeadId, session::ViewKind};
use eframe::egui::OutputCommand;
use egui_kittest::kittest::Queryable as _;

use crate::support::window::{Window, with_text};

/// What is on the clipboard after a click on `label`.
pub fn copied(window: &mut Window, label: &str) -> Vec<Vec<String>> {
    window.harness.get_by_label(label).click();
    for _ in 0..8 {
        window.harness.step();
        for command in &window.harness.output().platform_output.commands {
            if let OutputCommand::CopyText(text) = command {
                return text.lines().map(|line| line.split('\t').map(ToOwned::to_owned).collect()).collect();
            }
        }
    }
    panic!("{label} copied nothing");
}

fn column(table: &[Vec<String>], name: &str) -> Vec<String> {
    let at = table[0].iter().position(|column| column == name).unwrap_or_else(|| panic!("no {name} in {table:?}"));
    table[1..].iter().map(|row| row[at].clone()).collect()
}

fn numbers(table: &[Vec<String>], name: &str) -> Vec<f32> {
    column(table, name).iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn the_right_button_copies_the_cell_its_row_and_its_column_under_the_pointer() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let (head, pattern) = (HeadId::single(0, 0), capture.stored_pattern(HeadId::single(0, 0)).unwrap());
    // The middle of three by three cells.
    let open = |window: &mut Window| {
        window.harness.get_by_label("Attention pattern of L0H0").hover();
        window.settle();
        window.harness.get_by_label("Attention pattern of L0H0").click_secondary();
        window.settle();
    };
    open(&mut window);
    let cell = copied(&mut window, "Copy two › two");
    assert_eq!(numbers(&cell, "weight"), [pattern.get(1, 1).unwrap()]);
    assert_eq!(numbers(&cell, "score"), [attention::score(&capture, head, 1, 1).unwrap()]);
    assert_eq!(column(&cell, "key_text"), ["two"]);
    window.settle();
    assert!(window.shows("Copied two › two"), "it is said");

    open(&mut window);
    let row = copied(&mut window, "Copy what two attends to");
    assert_eq!(numbers(&row, "weight"), pattern.row(1).unwrap()[..2], "the third is masked");
    open(&mut window);
    let col = copied(&mut window, "Copy what attends to two");
    assert_eq!(numbers(&col, "query"), [1.0, 2.0]);

    open(&mut window);
    let all = copied(&mut window, "Copy all numbers of this view");
    assert_eq!(all.len(), 1 + 6, "a causal pattern of three");
    assert_eq!(numbers(&all, "weight")[5], pattern.get(2, 2).unwrap());
}

#[test]
fn lines_of_several_heads_are_copied_with_a_row_each() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("Query 0 one").hover();
    window.settle();
    window.harness.get_by_label("Query 0 one").click_secondary();
    window.settle();
    let table = copied(&mut window, "Copy what one attends to");
    let heads = numbers(&table, "head");
    assert_eq!(heads, [0.0, 1.0, 2.0, 3.0], "the first query sees itself alone, in each of the four heads");
    assert_eq!(numbers(&table, "weight"), [1.0; 4]);
}

#[test]
fn numbers_of_the_inspector_are_copied_too() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("Largest weight").click_secondary();
    window.settle();
    let table = copied(&mut window, "Copy the numbers of this head");
    let largest = table.iter().find(|row| row[0] == "max_weight").unwrap();
    assert_eq!(largest[1].parse::<f32>().unwrap(), 1.0);
    let entropy = table.iter().find(|row| row[0] == "entropy_nats").unwrap();
    assert!(entropy[1].parse::<f32>().unwrap() > 0.0);
}

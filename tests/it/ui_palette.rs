use attnscope::{
    protocol::ModelSource,
    session::{Command, Focus, HeadSet, SelectionCommand, ViewKind, gallery::EXAMPLES},
};
use eframe::egui::{
    Key, Modifiers,
    accesskit::{Role, Toggled},
};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

/// Opens the palette and types.
fn typed(text: &str) -> Window {
    let mut window = Window::open(with_text("the animal was tired because the road was long"));
    open(&mut window, text);
    window
}

fn open(window: &mut Window, text: &str) {
    window.press(Modifiers::COMMAND, Key::K);
    window.harness.get_by_label("Go to anything").type_text(text);
    window.settle();
}

fn rows(window: &Window) -> Vec<String> {
    window.harness.query_all_by_role(Role::ListBoxOption).filter_map(|node| node.accesskit_node().label()).collect()
}

fn is_open(window: &Window) -> bool {
    window.harness.query_by_label("Go to anything").is_some()
}

#[test]
fn a_command_is_found_by_letters_of_its_name_and_done() {
    let mut window = typed("heatm");
    assert_eq!(rows(&window)[0], "Heatmap: Attention of one head as a matrix: rows are queries, columns are keys");
    window.press(Modifiers::NONE, Key::Enter);
    assert!(!is_open(&window));
    assert_eq!(window.app().session().pane().view, ViewKind::Heatmap);

    // A command of the window alone, by the first letters of its words.
    open(&mut window, "lod");
    assert!(rows(&window)[0].starts_with("Light or dark"), "{:?}", rows(&window));
    let before = window.harness.ctx.theme();
    window.press(Modifiers::NONE, Key::Enter);
    assert_ne!(window.harness.ctx.theme(), before);
}

#[test]
fn methods_and_directions_are_found_by_their_names() {
    let mut window = typed("attribution patching");
    assert!(rows(&window)[0].starts_with("Attribution patching: "), "{:?}", rows(&window));
    window.press(Modifiers::NONE, Key::Enter);
    let pane = window.app().session().pane();
    let lab = &pane.options.lab;
    assert_eq!((pane.view, lab.shown.get("attribution-patching")), (ViewKind::Lab, Some(&true)));
    open(&mut window, "direction between");
    assert!(rows(&window)[0].contains("Open a corpus first"), "{:?}", rows(&window));
    assert!(window.harness.get_by_label("Direction… ⏷").accesskit_node().is_disabled(), "it is there, and grey");
}

#[test]
fn arrows_choose_escape_leaves_and_nothing_found_is_said() {
    let mut window = typed("example");
    let all = rows(&window);
    window.press(Modifiers::NONE, Key::ArrowDown);
    window.press(Modifiers::NONE, Key::ArrowDown);
    window.press(Modifiers::NONE, Key::ArrowUp);
    let selected = |window: &Window| {
        let nodes = window.harness.query_all_by_role(Role::ListBoxOption);
        nodes
            .filter(|node| node.accesskit_node().toggled() == Some(Toggled::True))
            .filter_map(|node| node.accesskit_node().label())
            .collect::<Vec<_>>()
    };
    assert_eq!(selected(&window), [all[1].clone()]);
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!is_open(&window));

    open(&mut window, "qq, qq");
    assert!(window.shows("Nothing is called “qq, qq”") && rows(&window).is_empty());
    window.press(Modifiers::NONE, Key::Enter);
    assert!(is_open(&window), "there is nothing to be done");
    window.press(Modifiers::COMMAND, Key::K);
    assert!(!is_open(&window), "the key closes it too");
}

#[test]
fn heads_and_tokens_of_what_is_open_are_found() {
    let mut window = typed("l2h3");
    assert_eq!(rows(&window)[0], "L2H3: Select this head");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!((window.head().layer, window.head().head), (2, 3));

    open(&mut window, "L2H9");
    assert_eq!(rows(&window)[0], "L2H9: There is no such head: layer 2 has 4 heads, from 0");
    window.press(Modifiers::NONE, Key::Enter);
    assert!(is_open(&window));
    window.press(Modifiers::NONE, Key::Escape);

    open(&mut window, "cross L0H1");
    assert!(rows(&window)[0].contains("There is no cross stack"), "{:?}", rows(&window));
    window.press(Modifiers::NONE, Key::Escape);

    open(&mut window, "tired");
    let tokens: Vec<String> = rows(&window).into_iter().filter(|row| row.contains("Token #")).collect();
    assert_eq!(tokens, ["tired: Token #3: pin it as query"]);
    window.press(Modifiers::NONE, Key::ArrowUp);
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().pane().selection.pinned, Focus::query(3));
}

#[test]
fn models_and_examples_are_opened() {
    let mut window = typed("demo:bert");
    assert!(rows(&window)[0].starts_with("demo:bert: "), "{:?}", rows(&window));
    window.press(Modifiers::NONE, Key::Enter);
    let source = |window: &Window| window.app().session().document().model.latest().unwrap().source.clone();
    assert_eq!(source(&window), ModelSource::Bundled("demo:bert".to_owned()));

    let idx = EXAMPLES.len() - 1;
    open(&mut window, EXAMPLES[idx].title);
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().document().example, Some(idx));
}

/// A view that cannot be shown says why, and stays where it is.
#[test]
fn what_cannot_be_done_now_says_why() {
    let mut window = typed("pictu");
    let row = rows(&window).into_iter().find(|row| row.starts_with("Picture: ")).unwrap();
    assert!(row.contains("picture") && row != "Picture: Attention drawn on the picture", "{row}");
    window.press(Modifiers::NONE, Key::Enter);
    assert!(is_open(&window));
    assert_ne!(window.app().session().pane().view, ViewKind::Image);
}

#[test]
fn an_address_is_a_row_and_a_broken_one_says_what_is_wrong() {
    let window = typed("attnscope://open?model=demo:gpt&text=Once&layer=2&head=3");
    assert!(rows(&window)[0].ends_with("head=3: Go to this view"), "{:?}", rows(&window));
    let mut window = typed("attnscope://open?model=demo:gpt&layer=many");
    assert!(rows(&window)[0].contains("“layer” in this link is not valid"), "{:?}", rows(&window));
    window.press(Modifiers::NONE, Key::Enter);
    assert!(is_open(&window), "there is nowhere to go");
}

#[test]
fn heads_of_a_kind_are_listed_with_their_scores_and_gone_to() {
    let mut window = Window::open(with_text("one two three four five six seven"));
    open(&mut window, "previous to");
    let listed: Vec<String> =
        rows(&window).into_iter().filter(|row| row.starts_with("Previous token") && row.contains("Score ")).collect();
    assert!(listed.len() == 3 && listed[0].contains("Score 0."), "{listed:?}");
    assert!(listed[0].starts_with("Previous token L"), "{listed:?}");
    assert!(listed[1..].iter().all(|row| row.starts_with("Previous token: not quite L")), "{listed:?}");
    let score = |row: &String| row.split("Score ").nth(1).unwrap()[..4].parse::<f32>().unwrap();
    assert!(listed.is_sorted_by(|a, b| score(a) >= score(b)), "{listed:?}");
    let place = rows(&window).iter().position(|row| *row == listed[1]).unwrap();
    for _ in 0..place {
        window.press(Modifiers::NONE, Key::ArrowDown);
    }
    window.press(Modifiers::NONE, Key::Enter);
    assert!(listed[1].contains(&format!(" {}: Score", window.head())), "{} {listed:?}", window.head());
    assert!(
        window.shows("Heads by kind, in this input") && window.shows("Previous token   L"),
        "the inspector ranks them"
    );

    // Nothing is 0 that is not defined.
    open(&mut window, "induction");
    let row = rows(&window).into_iter().find(|row| row.starts_with("Induction: ")).unwrap();
    assert_eq!(row, "Induction: Not defined in this input: no token comes twice");
    assert!(!window.shows("Induction   L"));
}

#[test]
fn examples_are_found_by_what_they_say() {
    let window = typed("induc");
    let shown = rows(&window);
    for example in EXAMPLES.iter().filter(|example| example.mentions("induc")) {
        assert!(shown.iter().any(|row| row.starts_with(&format!("{}: ", example.title))), "{}", example.title);
    }
    assert!(EXAMPLES.iter().filter(|example| example.mentions("induc")).count() >= 4);
}

#[test]
fn while_nothing_is_typed_the_examples_stand_first() {
    let mut window = typed("");
    let shown = rows(&window);
    assert!(shown[0].starts_with("Examples…: ") && shown[3].starts_with("Open…: "), "{shown:?}");
    window.press(Modifiers::NONE, Key::Enter);
    assert!(window.harness.query_by_label("Search examples").is_some());
}

#[test]
fn a_term_of_the_glossary_leads_to_its_entry_in_the_help() {
    let mut window = typed("attention sink");
    let place = rows(&window).iter().position(|row| row.starts_with("Attention sink: ")).unwrap();
    (0..place).for_each(|_| window.press(Modifiers::NONE, Key::ArrowDown));
    window.press(Modifiers::NONE, Key::Enter);
    assert!(!is_open(&window) && window.shows("a place for unused attention"));
    let top = |text: &str| window.harness.query_all_by_label(text).next().unwrap().rect().top();
    let headings = ["Glossary", "Keys", "How do I …", "Methods and formulas"];
    let below = headings.iter().flat_map(|text| window.harness.query_all_by_label(text).skip(1));
    assert!(below.map(|node| node.rect().top()).all(|at| at > top("Attention sink") - 40.0), "nothing is above it");
}

/// A short id has no owner by which to tell it from a word.
#[test]
fn an_id_of_the_hub_leads_to_the_sheet_that_downloads_it() {
    for (text, found) in
        [("owner/model", "owner/model: Look for owner/model"), ("distilgpt2", "distilgpt2: Look for it")]
    {
        let mut window = typed(text);
        window.until("the hub", |window| rows(window).first().is_some_and(|row| row.starts_with(found)));
        window.press(Modifiers::NONE, Key::Enter);
        assert!(!is_open(&window) && window.app().session().download.is_open, "{text}");
        assert!(window.shows(&format!("Looking up {text}")));
    }
}

/// Nobody has to know what a command is called here.
#[test]
fn commands_are_found_by_what_they_are_called_elsewhere() {
    let mut window = Window::open(with_text("the animal was tired because the road was long"));
    for (typed, found) in [
        ("ablate", "Ablate: zero · L0H0: "),
        ("knock out", "Ablate: zero · L0H0: "),
        ("prune", "Ablate: zero · L0H0: "),
        ("all heads", "All heads: "),
        ("attention map", "Heatmap: "),
        ("save", "Save "),
        ("export", "Export…: "),
        ("svg", "Export…: "),
        ("feature importance", "Explain: "),
        ("scatter plot", "Query–key map: "),
        ("dark mode", "Light or dark: "),
        ("hugging face", "Open…: "),
        ("keyboard", "Help: "),
        ("permalink", "Copy link to this view: "),
    ] {
        open(&mut window, typed);
        assert!(rows(&window)[0].starts_with(found), "{typed}: {:?}", rows(&window));
        window.press(Modifiers::NONE, Key::Escape);
    }
    open(&mut window, "knockout");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().changing().experiment.changes.len(), 1, "the selected head is ablated");
    window.app().request(Command::Select(SelectionCommand::SoloHead(1)));
    window.settle();
    open(&mut window, "all heads of the layer");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(window.app().session().pane().selection.heads_on(), HeadSet::ALL);
}

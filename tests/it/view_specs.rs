//! What views say of themselves.

use std::{collections::BTreeSet, fs, path::Path};

use attnscope::{
    analysis::{
        Space,
        reading::{Reading, Source},
    },
    capture::Site,
    figure::{ViewGroup, ViewKind},
    model::Sites,
    session::{Address, saved::Saved},
    ui::commands::UiCommand,
};
use serde_json::json;

use crate::render::attnscope;

#[test]
fn no_two_views_share_a_name_or_a_label() {
    let distinct = |of: &dyn Fn(ViewKind) -> String| ViewKind::ALL.map(of).into_iter().collect::<BTreeSet<_>>().len();
    let n = ViewKind::ALL.len();
    assert_eq!(distinct(&|view| view.name().to_owned()), n);
    assert_eq!(distinct(&|view| view.label().to_owned()), n);
    assert_eq!(distinct(&|view| view.spec().help.to_owned()), n);
}

#[test]
fn a_view_is_called_as_in_the_window_everywhere_and_its_former_names_are_read() {
    let names = ViewKind::names(|_| true);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md")).unwrap();
    let listed = format!("`{}`", names.replace(", ", "`, `"));
    assert!(page.contains(&listed), "docs/cli.md does not list the views as {listed}");
    for command in ["render", "open"] {
        let help = attnscope(&[command, "--help"]);
        let help = String::from_utf8(help.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(&names), "{help}");
    }
    let former = ["heads", "image", "scatter", "matrix", "lab"].map(|name| (name, ViewKind::from_name(name)));
    let now = [ViewKind::Heads, ViewKind::Image, ViewKind::Scatter, ViewKind::Matrix, ViewKind::Lab];
    for ((name, found), view) in former.into_iter().zip(now) {
        assert_eq!(found, Some(view), "{name}");
        let address: Address = format!("attnscope://open?model=demo:gpt&view={name}").parse().unwrap();
        assert_eq!(address.to_string(), format!("attnscope://open?model=demo:gpt&view={}", view.name()));
        let of = |name: &str| {
            json!({
                "format": "attnscope-session", "version": 1, "panes": [{ "view": name }],
                "documents": [{ "model": { "bundled": "demo:gpt" }, "text": "Once" }],
            })
        };
        let read = |name: &str| Saved::from_json(of(name), Path::new("/sessions")).unwrap().to_json();
        assert_eq!(read(name), read(view.name()));
        assert_eq!(read(name)["panes"][0]["view"], view.name());
    }
}

#[test]
fn every_view_has_a_command_and_belongs_to_a_question_with_a_key() {
    for view in ViewKind::ALL {
        assert!(UiCommand::all().any(|it| it == UiCommand::Show(view)), "{view:?}");
    }
    for group in ViewGroup::ALL {
        assert!(group.views().next().is_some(), "no view answers: {}", group.question());
        let key = UiCommand::ShowGroup(group).shortcut().unwrap_or_else(|| panic!("{group:?} has no key"));
        assert_eq!(key.logical_key.symbol_or_name(), group.key().to_string());
    }
}

#[test]
fn a_run_of_the_window_records_what_every_view_needs() {
    let by_value = Reading { source: Source::ByValueNorm, ..Reading::default() };
    for view in ViewKind::ALL {
        for site in (view.spec().needs)(&by_value, Space::QueriesKeys) {
            assert!(Sites::standard().contains(site), "{view:?} needs {site:?}");
        }
    }
    let lines = (ViewKind::Heads.spec().needs)(&Reading::default(), Space::Residual);
    assert_eq!(lines, [Site::Pattern], "lines are drawn of patterns alone");
}

//! What views say of themselves.

use std::collections::BTreeSet;

use attnscope::{
    analysis::{
        Space,
        reading::{Reading, Source},
    },
    capture::Site,
    figure::{Group, ViewKind},
    model::Sites,
    ui::commands::UiCommand,
};

#[test]
fn no_two_views_share_a_name_a_label_or_a_key() {
    let distinct = |of: &dyn Fn(ViewKind) -> String| ViewKind::ALL.map(of).into_iter().collect::<BTreeSet<_>>().len();
    let n = ViewKind::ALL.len();
    assert_eq!(distinct(&|view| view.name().to_owned()), n);
    assert_eq!(distinct(&|view| view.label().to_owned()), n);
    assert_eq!(distinct(&|view| view.spec().help.to_owned()), n);
    assert_eq!(distinct(&|view| view.spec().key.to_string()), n);
    for view in ViewKind::ALL {
        assert_eq!(ViewKind::from_name(view.name()), Some(view));
    }
}

#[test]
fn every_view_has_a_command_with_its_key_and_belongs_to_a_question() {
    for view in ViewKind::ALL {
        let command = UiCommand::Show(view);
        assert!(UiCommand::all().any(|it| it == command), "{view:?}");
        let key = command.shortcut().unwrap_or_else(|| panic!("{view:?} has no key"));
        assert_eq!(key.logical_key.symbol_or_name(), view.spec().key.to_string());
    }
    for group in Group::ALL {
        assert!(ViewKind::ALL.iter().any(|view| view.spec().group == group), "no view answers: {}", group.question());
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

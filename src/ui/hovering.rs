//! Tokens under the pointer, as reported while the frame was drawn; none where nothing was reported.

use super::QueuedCommand;
use crate::{
    ids::PaneId,
    session::{Command, Focus, PaneCommand, Session},
};

/// What panels and views asked for in a frame, in the order in which it happens: first what is under the pointer now, so
/// that a click in the same frame decides after it.
pub fn join(session: &Session, panels: Vec<QueuedCommand>, views: Vec<QueuedCommand>) -> Vec<QueuedCommand> {
    let looks = |asked: &QueuedCommand| {
        matches!(asked.command, Command::InPane(PaneCommand::Hover(_) | PaneCommand::HoverPoint(_)))
    };
    let (in_panels, panels): (Vec<_>, Vec<_>) = panels.into_iter().partition(looks);
    let (in_views, views): (Vec<_>, Vec<_>) = views.into_iter().partition(looks);
    // What a person points at in a panel is nearer than a view behind it.
    let reported = if in_panels.is_empty() { in_views } else { in_panels };
    hovered(session, &reported).into_iter().chain(panels).chain(views).collect()
}

/// What has to be said to each pane so that it knows what is under the pointer now; the pane that the pointer is in comes
/// last, since those that are linked with it follow it.
fn hovered(session: &Session, reported: &[QueuedCommand]) -> Vec<QueuedCommand> {
    let at = |asked: &QueuedCommand| asked.pane.unwrap_or(session.panes.active_id());
    let focus = reported.iter().rev().find_map(|asked| {
        let Command::InPane(PaneCommand::Hover(focus)) = asked.command else { return None };
        Some((at(asked), focus))
    });
    let spot_of = |pane: PaneId| {
        reported.iter().rev().find_map(|asked| {
            let Command::InPane(PaneCommand::HoverPoint(spot)) = asked.command else { return None };
            spot.filter(|_| at(asked) == pane)
        })
    };
    let linked = |id: PaneId| session.panes.get(id).is_some_and(|pane| pane.linked);
    let mut said = Vec::new();
    for pane in session.panes.iter() {
        let here = |command: Command| QueuedCommand { pane: Some(pane.id), command };
        let spot = spot_of(pane.id);
        if pane.selection.spot != spot {
            said.push(here(Command::InPane(PaneCommand::HoverPoint(spot))));
        }
        let follows = focus.is_some_and(|(from, _)| from == pane.id || linked(from) && pane.linked);
        if !follows && !pane.selection.hover.is_empty() {
            said.push(here(Command::InPane(PaneCommand::Hover(Focus::NONE))));
        }
    }
    let is_new = |(id, focus): &(PaneId, Focus)| session.panes.get(*id).is_some_and(|it| it.selection.hover != *focus);
    let new = focus.filter(is_new);
    said.extend(
        new.map(|(pane, focus)| QueuedCommand {
            pane: Some(pane),
            command: Command::InPane(PaneCommand::Hover(focus)),
        }),
    );
    said
}

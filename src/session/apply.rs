//! The transitions: what each command does to the session. What the worker's answers do is in
//! `answers.rs`.

use super::{Command, Effect, Focus, HeadSet, Pane, Place, Session, ViewOptions, travel::Way};
use crate::{
    ids::{HeadId, PaneId},
    lab::Patience,
    protocol::Lane,
};

impl Session {
    /// Does what the user asked for in the active pane.
    #[must_use]
    pub fn apply(&mut self, command: Command) -> Vec<Effect> {
        self.apply_in(self.panes.active_id(), command)
    }

    /// Does what the user asked for in a pane, which becomes the active one; looking at something with the
    /// pointer is no reason for that.
    #[must_use]
    pub fn apply_in(&mut self, pane: PaneId, command: Command) -> Vec<Effect> {
        if let Command::Hover(focus) = command {
            self.set_focus(pane, |selection| &mut selection.hover, focus);
            return Vec::new();
        }
        if let Command::Survey(question) = command {
            return self.survey(pane, question);
        }
        if let Command::Explain(column, ask, target) = command {
            return self.explain(pane, (column, Patience::DEFAULT), ask, target);
        }
        if let Command::ExplainAnyway(column, ask, target) = command {
            return self.explain_anyway(pane, column, ask, target);
        }
        if command == Command::ListOutcomes {
            let document = self.panes.get(pane).map(|pane| pane.document);
            return document.map_or_else(Vec::new, |document| self.list_outcomes(document));
        }
        if let Command::ExplainAgain(column) = command {
            self.explain_again(pane, column);
            return Vec::new();
        }
        if let Command::HoverPoint(spot) = command {
            self.with_pane(pane, |pane, _| pane.selection.spot = spot);
            return Vec::new();
        }
        if command == Command::ClosePane {
            if self.panes.len() == 1 {
                return Vec::new();
            }
            return self.close_pane(pane);
        }
        self.panes.activate(pane);
        let moves = !matches!(command, Command::Back | Command::Forward | Command::Flip);
        let places: Vec<(PaneId, Place)> =
            self.panes.iter().filter(|_| moves).filter_map(|pane| Some((pane.id, self.place(pane.id)?))).collect();
        let mut effects = self.transition(command);
        self.remember(places);
        effects.extend(self.follow_up());
        effects
    }

    /// What follows from any command and any answer: what is no longer needed goes, what is now shown is asked for.
    pub(super) fn follow_up(&mut self) -> Vec<Effect> {
        let mut effects = self.forget_models();
        self.forget_clouds();
        effects.extend(self.project_if_needed());
        self.pair_directions();
        effects.extend(self.explain_if_needed());
        effects.extend(self.preview_if_needed());
        effects
    }

    fn transition(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::OpenModel(source) => {
                self.leave_example();
                self.document_mut().experiment.continued = false;
                self.owe_corpus();
                return self.load(source);
            }
            Command::AskSecondOpinion => return self.ask_second_opinion(),
            Command::OpenPaths(paths) => return self.open_paths(&paths),
            Command::OpenText(text) => return self.open_text(text),
            Command::OpenTextFile { path, text } => return self.open_text_file(path, text),
            Command::Corpus(command) => return self.on_corpus_command(command),
            Command::OpenPoint { is_key, point } => return self.open_point(is_key, point),
            Command::OpenExample(idx) => return self.open_example(idx),
            Command::PreviousExample => return self.step_example(false),
            Command::NextExample => return self.step_example(true),
            Command::SetText(text) => {
                self.leave_example();
                self.document_mut().experiment.text = text;
            }
            Command::SetExcerpt(excerpt) => {
                self.document_mut().experiment.excerpt = excerpt;
                return self.run();
            }
            Command::SetTextB(text_b) => {
                self.leave_example();
                self.document_mut().experiment.text_b = text_b;
            }
            Command::SetTarget(target) => {
                self.leave_example();
                self.document_mut().experiment.target = target;
            }
            Command::SetWriting(writing) => {
                self.settings.writing = writing;
                self.document_mut().experiment.writing = writing;
            }
            Command::SetImage(image) => {
                self.leave_example();
                return self.open_image(image);
            }
            Command::Run | Command::Continue => {
                self.document_mut().experiment.continued = command == Command::Continue;
                return self.run();
            }
            Command::Change(command) => return self.on_change_command(command),
            Command::SetGold(links) => self.panes.active_mut().options.lab.set_gold(links),
            Command::OpenOtherDirection => return self.open_other_direction(),
            Command::Overlay(value, view) => self.show_overlay(value.map(|value| *value), view),
            Command::Project => {
                self.project_again();
                self.survey_again(self.panes.active_id());
            }
            Command::Undo => return self.undo(true),
            Command::Redo => return self.undo(false),
            Command::Cancel(lane) => return self.cancel_together(lane),
            Command::CancelAll => return self.cancel_all(),
            Command::SelectInput(idx) => return self.select_input(self.panes.active_id(), idx),
            Command::PreviousInput => return self.step_input(true),
            Command::NextInput => return self.step_input(false),
            Command::Back => return self.travel(Way::Back),
            Command::Forward => return self.travel(Way::Forward),
            Command::Flip => return self.travel(Way::Flip),
            Command::SplitPane(split) => drop(self.split(split)),
            Command::CompareInput => {
                if self.split(super::Split::Right).is_some() {
                    self.detach();
                }
            }
            Command::NextPane => self.panes.activate(self.panes.next()),
            Command::ToggleLink => {
                let pane = self.panes.active_mut();
                pane.linked = !pane.linked;
            }
            Command::Detach => self.detach(),
            Command::ShowDocument(document) => self.show_document(document),
            Command::CloseDocument(document) => return self.close_document(document),
            Command::SetAppearance(appearance) => self.settings.appearance = appearance,
            Command::SetViewOptions(options) => {
                let pane = self.panes.active_mut();
                // Whoever changes what an example came with means to keep it.
                pane.own_options = None;
                self.settings.views = ViewOptions { reading: options.reading.without_positions(), ..options.clone() };
                pane.options = options;
                pane.translate_picks();
            }
            Command::Pick(purpose) => return vec![Effect::Pick(purpose)],
            Command::Download(command) => return self.on_download_command(command),
            Command::SaveScreenshot => return vec![Effect::Screenshot],
            Command::Figure(command) => return self.on_figure_command(command),
            Command::Session(command) => return self.on_session_command(command),
            Command::Copy { what, text } => {
                self.inform(format!("Copied {what}"), String::new());
                return vec![Effect::CopyText(text)];
            }
            Command::DismissNotice(id) => self.notices.retain(|notice| notice.id != id),
            Command::Notify(failure) => self.notify(super::NoticeKind::Error, failure),
            selecting => self.change_selection(&selecting),
        }
        Vec::new()
    }

    /// What changes only where the active pane, and those linked with it, are.
    fn change_selection(&mut self, command: &Command) {
        let head = self.pane().selection.head;
        match *command {
            Command::SelectStack(stack) => {
                self.with_active(|pane, document| pane.select(document, HeadId { stack, ..head }));
            }
            Command::NextStack => self.with_active(|pane, document| {
                if let Some(stack) = pane.next_stack(document) {
                    pane.select(document, HeadId { stack, ..head });
                }
            }),
            Command::SelectLayer(layer) => {
                self.with_active(|pane, document| pane.select(document, HeadId { layer, ..head }));
            }
            Command::SelectHead(head) => self.with_active(|pane, document| pane.select(document, head)),
            Command::Step(step) => {
                for pane in self.linked_panes() {
                    self.with_pane(pane, |pane, document| pane.step(document, step));
                }
            }
            Command::StepQuery(step) => {
                self.with_active(|pane, document| pane.step_query(document, step));
                self.pin(self.pane().selection.pinned);
            }
            Command::ToggleHead(head) => self.with_active(|pane, document| pane.toggle_head(document, head)),
            Command::SoloHead(head) => self.with_active(|pane, document| pane.solo_head(document, head)),
            Command::AllHeads => self.panes.active_mut().selection.draw(HeadSet::ALL),
            Command::Pin(focus) => {
                let again = self.pane().selection.pinned == focus;
                self.pin(if again { Focus::NONE } else { focus });
            }
            Command::Release => self.release(),
            Command::PickPoints(ref points, change) => self.pick_points(points, change),
            Command::ShowView(view) => self.with_active(|pane, document| pane.show_view(document, view)),
            Command::Search(ref search) => self.with_active(|pane, _| pane.search.clone_from(search)),
            Command::Subtract(minus) => {
                let open = minus.is_none_or(|minus| self.find_document(minus.document).is_some());
                self.panes.active_mut().minus = minus.filter(|_| open);
            }
            // Everything else has been done.
            _ => {}
        }
    }

    pub(super) fn let_go(&mut self) {
        self.pin(Focus::NONE);
        self.set_focus(self.panes.active_id(), |selection| &mut selection.hover, Focus::NONE);
    }

    fn pin(&mut self, focus: Focus) {
        self.set_focus(self.panes.active_id(), |selection| &mut selection.pinned, focus);
    }

    fn cancel(&mut self, lane: Lane) -> Vec<Effect> {
        let mut effects = vec![Effect::Cancel(lane)];
        match lane {
            Lane::Download => return self.stop_download(),
            Lane::Look => return self.close_corpus_sheet(),
            // Whoever still shows a pattern asks for it again; a corpus hands over what it has before it ends.
            // Files of sessions are always written.
            Lane::Catalog | Lane::Forget | Lane::Analysis | Lane::Session | Lane::Corpus(_) | Lane::Outcomes(_) => {}
            Lane::Load(id) => {
                if let Some(document) = self.find_document_mut(id) {
                    document.model.cancel();
                    document.keep_model();
                }
                effects.extend(self.run_if_owed(id));
            }
            Lane::Run(id) => {
                if let Some(document) = self.find_document_mut(id) {
                    document.capture.cancel();
                }
            }
            Lane::Project(_) => {
                for pane in self.panes.iter_mut().filter(|pane| pane.projection_lane() == lane) {
                    pane.projection.cancel();
                }
            }
            Lane::SecondOpinion(id) => {
                if let Some(document) = self.find_document_mut(id) {
                    document.second_opinion.cancel();
                }
            }
            Lane::Survey(id, kind) => self.stop_survey(id, kind),
            Lane::Explain(id, column) => self.stop_explaining(id, column),
            Lane::Export => self.exports_pending.clear(),
            Lane::Draw => self.figures.preview.cancel(),
        }
        effects
    }

    /// Stops what runs in a lane with all that was asked for together with it: the other methods of the laboratory, the
    /// run beside.
    fn cancel_together(&mut self, lane: Lane) -> Vec<Effect> {
        let panes = || self.panes.iter().flat_map(Pane::asked_lanes);
        let together: Vec<Lane> = match lane {
            Lane::Explain(..) => panes().filter(|it| matches!(it, Lane::Explain(..))).collect(),
            Lane::Survey(..) => panes().filter(|it| matches!(it, Lane::Survey(..))).collect(),
            Lane::Run(_) => {
                let running = self.documents.iter().filter(|document| document.capture.is_pending());
                running.map(|document| Lane::Run(document.id)).collect()
            }
            _ => Vec::new(),
        };
        let others = together.into_iter().filter(|other| *other != lane);
        std::iter::once(lane).chain(others).flat_map(|lane| self.cancel(lane)).collect()
    }

    /// The lanes that the user waits for are told to stop; a load first, since another run may follow it.
    fn cancel_all(&mut self) -> Vec<Effect> {
        let mut lanes: Vec<Lane> = self.documents.iter().map(|document| Lane::Load(document.id)).collect();
        lanes.extend(self.documents.iter().map(|document| Lane::Run(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::Corpus(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::SecondOpinion(document.id)));
        lanes.extend(self.panes.iter().map(Pane::projection_lane));
        lanes.extend(self.panes.iter().flat_map(Pane::asked_lanes));
        lanes.extend([Lane::Export, Lane::Download]);
        lanes.into_iter().flat_map(|lane| self.cancel(lane)).collect()
    }
}

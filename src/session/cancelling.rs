//! Stopping: what each lane leaves behind, and which lanes are stopped together.

use super::{CorpusSheet, Effect, Pane, Session};
use crate::{figure::views::Study, protocol::Lane};

impl Session {
    pub(super) fn cancel(&mut self, lane: Lane) -> Vec<Effect> {
        let mut effects = vec![Effect::Cancel(lane)];
        match lane {
            Lane::Download => return self.download.stop(),
            Lane::Look => return self.corpus_sheet.take().map(CorpusSheet::close).unwrap_or_default(),
            // Patterns that are still shown are asked for again; a cancelled corpus publishes what it has, as do its tests.
            // Files of sessions are always written.
            Lane::Catalog
            | Lane::Forget
            | Lane::Analysis
            | Lane::Thumbnail
            | Lane::Session
            | Lane::Corpus(_)
            | Lane::Debate(_)
            | Lane::Study(..)
            | Lane::Outcomes(_) => {}
            Lane::Judge(id) => {
                if let Some(document) = self.documents.find_mut(id) {
                    document.stop_judging();
                }
            }
            Lane::Load(id) => {
                if let Some(document) = self.documents.find_mut(id) {
                    document.load_ended();
                }
                effects.extend(self.run_if_owed(id));
            }
            Lane::Run(id) => {
                if let Some(document) = self.documents.find_mut(id) {
                    document.capture.cancel();
                }
            }
            Lane::Project(_) => {
                for pane in self.panes.iter_mut().filter(|pane| pane.projection_lane() == lane) {
                    pane.projection.cancel();
                }
            }
            Lane::Measure(id) => {
                if let Some(document) = self.documents.find_mut(id) {
                    document.timing.cancel();
                }
            }
            Lane::SecondOpinion(id) => {
                if let Some(document) = self.documents.find_mut(id) {
                    document.second_opinion.cancel();
                }
            }
            Lane::Survey(id, kind) => self.panes.change(id, &self.documents, |pane, _| pane.surveys.stop(kind)),
            Lane::Explain(id, column) => {
                self.panes.change(id, &self.documents, |pane, _| pane.explanations.stop(column));
            }
            Lane::Export => self.exports_pending.clear(),
            Lane::Draw => self.figures.preview.cancel(),
            Lane::Card => self.cards.stop(),
        }
        effects
    }

    /// Stops what runs in a lane with all that was asked for together with it: the other methods of the laboratory, the
    /// run beside.
    pub(super) fn cancel_together(&mut self, lane: Lane) -> Vec<Effect> {
        let panes = || self.panes.iter().flat_map(Pane::asked_lanes);
        let together: Vec<Lane> = match lane {
            Lane::Explain(..) => panes().filter(|it| matches!(it, Lane::Explain(..))).collect(),
            Lane::Survey(..) => panes().filter(|it| matches!(it, Lane::Survey(..))).collect(),
            Lane::Run(_) => {
                let running = self.documents.iter().filter(|document| document.capture.is_pending());
                running.map(|document| Lane::Run(document.id)).collect()
            }
            Lane::Load(_)
            | Lane::Catalog
            | Lane::Forget
            | Lane::Analysis
            | Lane::Session
            | Lane::Look
            | Lane::Corpus(_)
            | Lane::Debate(_)
            | Lane::Study(..)
            | Lane::Judge(_)
            | Lane::Outcomes(_)
            | Lane::Project(_)
            | Lane::SecondOpinion(_)
            | Lane::Measure(_)
            | Lane::Export
            | Lane::Draw
            | Lane::Thumbnail
            | Lane::Card
            | Lane::Download => Vec::new(),
        };
        let others = together.into_iter().filter(|other| *other != lane);
        std::iter::once(lane).chain(others).flat_map(|lane| self.cancel(lane)).collect()
    }

    /// The lanes that the user waits for are told to stop; a load first, since another run may follow it.
    pub(super) fn cancel_all(&mut self) -> Vec<Effect> {
        let mut lanes: Vec<Lane> = self.documents.iter().map(|document| Lane::Load(document.id)).collect();
        lanes.extend(self.documents.iter().map(|document| Lane::Run(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::Corpus(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::Debate(document.id)));
        lanes
            .extend(self.documents.iter().flat_map(|document| Study::ALL.map(|study| Lane::Study(document.id, study))));
        lanes.extend(self.documents.iter().map(|document| Lane::Judge(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::SecondOpinion(document.id)));
        lanes.extend(self.documents.iter().map(|document| Lane::Measure(document.id)));
        lanes.extend(self.panes.iter().map(Pane::projection_lane));
        lanes.extend(self.panes.iter().flat_map(Pane::asked_lanes));
        lanes.extend([Lane::Export, Lane::Download]);
        lanes.into_iter().flat_map(|lane| self.cancel(lane)).collect()
    }
}

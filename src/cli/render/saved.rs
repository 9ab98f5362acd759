//! A pane of a session file: the session is opened as the window opens it, and drawn without one.

use std::{fs::File, io::Read as _, path::Path, sync::Arc};

use super::{RenderOptions, source::Source};
use crate::{
    cli::{CliError, one_line},
    export::FigureRequest,
    figure::spec::FigureSpec,
    ids::PaneId,
    json_file::MAX_BYTES,
    protocol::{Failure, Request},
    session::{Command, Effect, PaneCommand, SelectionCommand, Session, saved::Saved},
    text::unreadable,
    worker::{ModelEngine, Worker},
};

/// Reads the session, computes what the pane shows, and says how it is drawn.
pub fn read(path: &Path, options: &RenderOptions) -> Result<(FigureSpec, Source), CliError> {
    let saved = open(path)?;
    let n_panes = saved.panes.len().max(1);
    let nth = options.pane.unwrap_or_else(|| saved.panes.iter().position(|pane| pane.active).unwrap_or(0));
    if nth >= n_panes {
        let s = if n_panes == 1 { "" } else { "s" };
        return Err(CliError::Usage(format!(
            "the session has {n_panes} pane{s}, counted from 0: there is no pane {nth}"
        )));
    }
    // Panes stand in rows, which is not the order of the list.
    let mut places: Vec<usize> = (0..n_panes).collect();
    places.sort_by_key(|at| saved.panes.get(*at).map_or(0, |pane| pane.row));
    let place = places.iter().position(|at| *at == nth).unwrap_or(0);
    let mut played = Played::new(options)?;
    let effects = played.session.reopen(saved);
    played.perform(effects);
    played.settle();
    let pane = played.session.panes.iter().nth(place).map(|pane| pane.id).unwrap_or_default();
    played.asks(pane, Command::Activate);
    if let Some(view) = options.named_view {
        if let Some(reason) = played.session.document().view_unavailable(view, played.session.pane().selection.stack())
        {
            return Err(CliError::Failed(format!("the {} view cannot be drawn: {reason}", view.name())));
        }
        played.asks(pane, Command::Select(SelectionCommand::ShowView(view)));
    }
    played.explain(pane);
    played.test(pane);
    played.check()?;
    let figure = played.session.figure();
    let figure = figure.ok_or_else(|| CliError::Failed("the pane has nothing to draw".to_owned()))?;
    let spec = FigureSpec { paper: options.paper(), ..FigureSpec::clone(&figure.spec) };
    let FigureRequest { capture, cloud, other, answers, measured, .. } = figure;
    Ok((spec, Source { capture, cloud, other, answers, measured }))
}

fn open(path: &Path) -> Result<Saved, CliError> {
    let fails = |why: String| CliError::Failed(format!("{why}: {}", path.display()));
    let cannot = |error: &std::io::Error| fails(format!("the session cannot be read: {}", unreadable(error)));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot(&error))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(fails("this is not a session file but a folder or a device".to_owned()));
    }
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    // What is named in it may be named from where it lies.
    let folder = std::path::absolute(path).map_err(|error| cannot(&error))?;
    Saved::from_bytes(&bytes, folder.parent().unwrap_or(Path::new(""))).map_err(|error| fails(error.to_string()))
}

/// A session without a window.
struct Played {
    session: Session,
    worker: Worker,
}

impl Played {
    fn new(options: &RenderOptions) -> Result<Self, CliError> {
        let fails = |error: &dyn std::fmt::Display| CliError::Failed(error.to_string());
        let engine = options.compute.engine()?;
        let worker = Worker::spawn(ModelEngine::with_engine(engine), Arc::new(|| ())).map_err(|error| fails(&error))?;
        Ok(Self { session: Session::default(), worker })
    }

    fn asks(&mut self, pane: PaneId, command: Command) {
        let effects = self.session.apply_in(pane, command);
        self.perform(effects);
    }

    /// Hands on what decides about numbers; what would only be looked at on the way is left.
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Submit(_, Request::Project { .. } | Request::Survey { .. } | Request::Draw { .. }) => {}
                Effect::Submit(job, request) => self.worker.submit(job, request),
                Effect::Cancel(lane) => self.worker.cancel(lane),
                // There is nobody to ask or to show anything to.
                _ => {}
            }
        }
    }

    /// Waits until everything is there, or is known not to come.
    fn settle(&mut self) {
        while self.is_busy() {
            let Some(event) = self.worker.wait() else { return };
            let effects = self.session.on_event(event);
            self.perform(effects);
        }
    }

    fn is_busy(&self) -> bool {
        let corpora = || self.session.documents.iter().filter_map(|document| document.corpus.as_ref());
        self.session.documents.iter().any(crate::session::Document::is_busy)
            || corpora().any(|corpus| {
                corpus.data.is_pending() || corpus.debate.is_pending() || corpus.studies.pending().next().is_some()
            })
            || self.session.panes.iter().any(|pane| pane.explanations.is_pending())
    }

    /// Asks the laboratory what the pane shows of it, column by column.
    fn explain(&mut self, id: PaneId) {
        let Some(pane) = self.session.panes.get(id) else { return };
        let target = pane.options.target;
        let Some(capture) = self.session.document_of(pane).latest_capture() else { return };
        for (column, ask) in pane.asked(capture) {
            self.asks(id, Command::InPane(PaneCommand::ExplainAnyway(column, ask, target)));
            self.settle();
        }
    }

    /// Makes the tests, or the study, that the pane shows.
    fn test(&mut self, id: PaneId) {
        let Some(facts) = self.session.panes.get(id).map(|pane| pane.view.facts()) else { return };
        let command = match facts.study {
            Some(_) => PaneCommand::Study,
            None if facts.tests_inputs => PaneCommand::Debate,
            None => return,
        };
        self.asks(id, Command::InPane(command));
        self.settle();
    }

    /// Whether the pane shows what it is to show.
    fn check(&self) -> Result<(), CliError> {
        let document = self.session.document();
        for lost in &self.session.keeping.lost_models {
            match &lost.failure {
                None => log::warn!("this model is another one than when the session was saved: {}", lost.place()),
                Some(failure) if document.latest_capture().is_none() => return Err(failed(failure)),
                Some(failure) => log::warn!("{}", failure.summary),
            }
        }
        let corpus = document.corpus.as_ref();
        let corpus = corpus.and_then(|corpus| corpus.failure());
        match document.model.failure().or_else(|| document.capture.failure()).or(corpus) {
            Some(failure) => Err(failed(failure)),
            None => Ok(()),
        }
    }
}

fn failed(failure: &Failure) -> CliError {
    CliError::Failed(one_line(&failure.summary, &failure.details))
}

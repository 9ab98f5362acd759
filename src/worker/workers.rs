//! The threads behind the window, as one.

use std::{io, sync::Arc};

use super::{
    Event, FileEngine, HubEngine, Lane, ProjectionEngine, Request, SurveyEngine, Wake, Worker, scratch::Scratch,
    thread::Engine,
};
use crate::ids::JobId;

/// The model's thread and those for projections, surveys, downloads and files; a request goes to the thread that its lane
/// belongs to.
#[derive(Debug)]
pub struct Workers {
    model: Worker,
    projection: Worker,
    survey: Worker,
    hub: Worker,
    files: Worker,
}

impl Workers {
    /// Starts the threads. What can be computed again is kept in `scratch`.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub fn spawn(engine: impl Engine + Send + 'static, scratch: Option<Scratch>, wake: Wake) -> io::Result<Self> {
        let projection = Worker::spawn(ProjectionEngine::new(scratch)?, Arc::clone(&wake))?;
        let survey = Worker::spawn(SurveyEngine::new()?, Arc::clone(&wake))?;
        let hub = Worker::spawn(HubEngine::default(), Arc::clone(&wake))?;
        let files = Worker::spawn(FileEngine, Arc::clone(&wake))?;
        Ok(Self { model: Worker::spawn(engine, wake)?, projection, survey, hub, files })
    }

    /// Asks for something; never blocks.
    pub fn submit(&mut self, job: JobId, request: Request) {
        self.thread_of(request.lane()).submit(job, request);
    }

    /// Stops what runs or waits in a lane.
    pub fn cancel(&mut self, lane: Lane) {
        self.thread_of(lane).cancel(lane);
    }

    /// Everything that was said since the last call; never blocks.
    pub fn drain(&mut self) -> Vec<Event> {
        [&mut self.model, &mut self.projection, &mut self.survey, &mut self.hub, &mut self.files]
            .map(Worker::drain)
            .concat()
    }

    const fn thread_of(&mut self, lane: Lane) -> &mut Worker {
        match lane {
            Lane::Project(_) => &mut self.projection,
            Lane::Survey(..) => &mut self.survey,
            Lane::Download => &mut self.hub,
            Lane::Export | Lane::Draw => &mut self.files,
            _ => &mut self.model,
        }
    }
}

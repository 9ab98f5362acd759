//! Data for figures of points, and of measures of many inputs.

use std::sync::Arc;

use super::{FigureError, ResolvedSpec};
use crate::{
    analysis::{
        Space,
        cloud_query::{CloudQuery, CloudResult, Survey},
        projection::{self, HeadProjection, NoShelf, Projection, Refiner},
    },
    capture::words,
    figure::views::heads_text,
    ids::HeadId,
    projection::to_the_end,
};

impl ResolvedSpec<'_> {
    /// What a person reads for each token that is a point, of queries and of keys.
    pub fn names(&self) -> [Vec<String>; 2] {
        [self.stack.query_side(), self.stack.key_side()]
            .map(|side| self.cloud.tokens(side).map(|token| words::shown(token.text, token.position)).collect())
    }

    /// The points of a cell, laid out to the end.
    ///
    /// # Errors
    /// When it was not recorded.
    pub fn plane(&self, cell: HeadId) -> Result<HeadProjection, FigureError> {
        let plane = projection::project_head(self.cloud, cell, self.spec.options.projection()).ok_or_else(|| {
            let name = self.cell_text(cell);
            FigureError::Failed(match self.space() {
                Space::QueriesKeys => format!("the queries and keys of {} {cell} were not recorded", cell.stack),
                _ => format!("{name}: not recorded, or not finite"),
            })
        })?;
        let one = Projection {
            cloud: self.cloud.clone(),
            stack: self.stack,
            options: self.spec.options.projection(),
            heads: vec![Arc::new(plane)],
        };
        let refined = refined(one)?.heads;
        refined.first().map(|plane| HeadProjection::clone(plane)).ok_or_else(|| FigureError::Failed(String::new()))
    }

    /// The space that is laid out.
    pub const fn space(&self) -> Space {
        self.spec.space()
    }

    /// A cell in the middle of a sentence.
    pub fn cell_text(&self, cell: HeadId) -> String {
        match self.space() {
            Space::QueriesKeys => heads_text(&[cell]),
            space => space.cell_text(cell, self.capture.model()),
        }
    }

    /// Refuses what is about patterns.
    pub fn not_of_planes(&self) -> Result<(), FigureError> {
        let spec = self.spec;
        if spec.together.is_some() || spec.minus.is_some() || spec.reading.merging.is_merged() {
            let view = spec.view.name();
            let message =
                format!("{view} shows vectors, not patterns: leave out --aggregate, --minus, --words and --merge");
            return Err(FigureError::Usage(message));
        }
        Ok(())
    }

    /// Measures.
    pub fn ask(&self, question: CloudQuery) -> Result<Arc<CloudResult>, FigureError> {
        let survey =
            Survey { cloud: self.cloud.clone(), stack: self.stack, options: self.spec.options.projection(), question };
        match survey.answer(&mut |_, _| true) {
            Some(Ok(finding)) => Ok(Arc::new(finding)),
            Some(Err(problem)) => Err(FigureError::Failed(problem)),
            None => Err(FigureError::Failed("it was stopped".to_owned())),
        }
    }
}

/// With the layout that was asked for, to its end.
pub fn refined(planes: Projection) -> Result<Projection, FigureError> {
    let first = planes.heads.first().map(|plane| plane.head).unwrap_or_default();
    let refiner = Refiner::new(planes, first, &NoShelf);
    refiner.finish(&to_the_end).map_err(|error| FigureError::Failed(error.to_string()))
}

//! The Distance view of the heads that were chosen.

use std::sync::Arc;

use super::{OrderError, choice::Choice, scenes::Drawn};
use crate::{
    analysis::{
        proxy,
        survey::{Finding, Question, Survey},
    },
    figure::{
        data::{Column, Table, Values},
        views::{distance::DistanceScene, heads_text},
    },
    projection::correlation::Correlation,
    text::capitalised,
};

impl Choice<'_> {
    /// One figure per head: all heads' numbers, and its pairs.
    pub fn distances(&self) -> Result<Vec<Drawn>, OrderError> {
        self.not_of_planes()?;
        let Some(spec) = self.capture.model().stack(self.stack) else { return Ok(Vec::new()) };
        let proxies = self.ask(Question::Proxies)?;
        let figure = |id| {
            let scene = DistanceScene {
                proxies: Arc::clone(&proxies),
                plot: Some(self.ask(Question::Plot(id))?),
                grid: (spec.layers.len(), spec.max_heads()),
                head: id,
                shown: self.order.distance,
                caveat: proxy::caveat(self.cloud, id),
                origin: self.origin.clone(),
            };
            let numbers = Arc::clone(&proxies);
            let table = Box::new(move || table(&numbers));
            Ok(self.drawn(Box::new(scene), table, capitalised(&heads_text(&[id])), Some(id)))
        };
        self.ids()?.into_iter().map(figure).collect()
    }

    /// Measures.
    pub(super) fn ask(&self, question: Question) -> Result<Arc<Finding>, OrderError> {
        let survey = Survey { cloud: self.cloud.clone(), stack: self.stack, options: self.order.projection, question };
        match survey.answer(&mut |_, _| true) {
            Some(Ok(finding)) => Ok(Arc::new(finding)),
            Some(Err(problem)) => Err(OrderError::Failed(problem)),
            None => Err(OrderError::Failed("it was stopped".to_owned())),
        }
    }
}

/// One row per head.
fn table(found: &Finding) -> Table {
    let Finding::Proxies(proxies) = found else { return Table::default() };
    let index = |name: &'static str, of: &dyn Fn(usize) -> usize| Column {
        name: name.into(),
        values: Values::Index((0..proxies.len()).map(|row| of(row) as u32).collect()),
    };
    let number = |name: &'static str, of: &dyn Fn(usize) -> Option<f64>| Column {
        name: name.into(),
        values: Values::Number((0..proxies.len()).map(|row| of(row).map_or(f32::NAN, |x| x as f32)).collect()),
    };
    let before = |row: usize| -> &Correlation { &proxies[row].correlations.before };
    let after = |row: usize| -> &Correlation { &proxies[row].correlations.after };
    let stacks = proxies.iter().map(|proxy| proxy.head.stack.name().to_owned()).collect();
    let columns = vec![
        Column { name: "stack".into(), values: Values::Text(stacks) },
        index("layer", &|row| proxies[row].head.layer),
        index("head", &|row| proxies[row].head.head),
        number("c", &|row| Some(proxies[row].c)),
        number("norm_disparity", &|row| proxies[row].norms.disparity()),
        number("pooled_pearson_before", &|row| before(row).pooled.pearson),
        number("pooled_pearson_after", &|row| after(row).pooled.pearson),
        number("per_query_pearson_before", &|row| before(row).per_query.pearson),
        number("per_query_pearson_after", &|row| after(row).per_query.pearson),
        number("pooled_spearman_before", &|row| before(row).pooled.spearman),
        number("pooled_spearman_after", &|row| after(row).pooled.spearman),
        number("per_query_spearman_before", &|row| before(row).per_query.spearman),
        number("per_query_spearman_after", &|row| after(row).per_query.spearman),
    ];
    Table { provenance: String::new(), columns }
}

//! Measures of all heads together: the hits of a search and how they lie, and what neighbours share.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    clouds::Clouds,
    options::{ProjectOptions, Translation},
};
use crate::{
    analysis::{
        projection::{ProjectionOptions, ScaleChoice},
        rank_heads::{self, RankedHead},
        search::{Hits, SearchQuery},
    },
    cli::{CliError, show_progress},
    ids::HeadId,
    model::{Progress, Stage},
    projection::{quality::Gathering, space::Scale},
};

/// Answers for every head of the stack.
#[derive(Default)]
pub struct Measured {
    search: Option<(SearchQuery, Hits, Vec<RankedHead>)>,
    shared: BTreeMap<String, Vec<RankedHead>>,
}

impl Measured {
    /// Finds out what the options ask for.
    ///
    /// # Errors
    /// A search that is not of its kind, or something that the tokens do not have.
    pub fn of(clouds: &Clouds, options: &ProjectOptions) -> Result<Self, CliError> {
        let (cloud, stack) = (clouds.cloud(), clouds.stack());
        let scale = match options.scale {
            Scale::Auto => ScaleChoice::Auto,
            Scale::None => ScaleChoice::None,
            Scale::Search => ScaleChoice::Search,
            Scale::Fixed(c) => ScaleChoice::Fixed(c as f32),
        };
        let translate_keys = options.translate == Translation::Keys;
        let space = ProjectionOptions { space: options.space, scale, translate_keys, ..ProjectionOptions::default() };
        // Nobody stops this but by ending the program.
        let mut tell =
            |done: usize, total: usize| show_progress(Progress { stage: Stage::Project, done, total }).is_ok();
        let mut measured = Self::default();
        if let Some(text) = &options.search {
            let search = SearchQuery { text: text.clone(), kind: options.search_as, case: options.match_case };
            let hits = search.find(cloud, stack, options.space).map_err(|error| CliError::Usage(error.to_string()))?;
            let ranked = rank_heads::rank(cloud, stack, &hits, space, &mut tell).unwrap_or_default();
            measured.search = Some((search, hits, ranked));
        }
        for (name, shared) in &options.shared {
            let ranked =
                rank_heads::rank_shared(cloud, stack, *shared, space, &mut tell).unwrap_or_else(|| Ok(Vec::new()));
            let ranked = ranked.map_err(|reason| CliError::Failed(format!("{name} cannot be shared: {reason}")))?;
            measured.shared.insert(name.clone(), ranked);
        }
        Ok(measured)
    }

    /// What was searched for and found, and heads in their order.
    pub fn summary(&self, clouds: &Clouds) -> Map<String, Value> {
        let order = |ranked: &[RankedHead]| ranked.iter().map(|head| json!(clouds.key(head.head))).collect::<Value>();
        let mut summary = Map::new();
        if let Some((search, hits, ranked)) = &self.search {
            summary.insert(
                "search".to_owned(),
                json!({
                    "text": search.text,
                    "as": search.kind.name(),
                    "match_case": search.case,
                    "queries": hits.queries,
                    "keys": hits.keys,
                    "inputs": hits.n_inputs,
                    "neighbors": rank_heads::NEIGHBORS,
                    "ranked": order(ranked),
                }),
            );
        }
        if !self.shared.is_empty() {
            let ranked: Map<String, Value> =
                self.shared.iter().map(|(name, ranked)| (name.clone(), order(ranked))).collect();
            summary.insert("shared".to_owned(), json!({ "neighbors": rank_heads::NEIGHBORS, "ranked": ranked }));
        }
        summary
    }

    /// The same of one head, in numbers.
    pub fn of_head(&self, head: HeadId) -> Map<String, Value> {
        let find = |ranked: &[RankedHead]| ranked.iter().find(|ranked| ranked.head == head).map(of_ranked);
        let mut facts = Map::new();
        if let Some(found) = self.search.as_ref().and_then(|(.., ranked)| find(ranked)) {
            facts.insert("search".to_owned(), found);
        }
        let shared: Map<String, Value> =
            self.shared.iter().filter_map(|(name, ranked)| Some((name.clone(), find(ranked)?))).collect();
        if !shared.is_empty() {
            facts.insert("shared".to_owned(), Value::Object(shared));
        }
        facts
    }
}

fn of_ranked(RankedHead { found, .. }: &RankedHead) -> Value {
    let of =
        |gathering: Gathering| json!({ "hit": gathering.hit, "chance": gathering.chance, "score": gathering.score() });
    json!({
        "score": found.score(),
        "any": found.any.map(of),
        "across_texts": found.across.map(of),
        "looked_at": found.n_looked,
        "among": found.n_among,
    })
}

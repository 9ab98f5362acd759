//! What a made-up model makes of a corpus.

use std::sync::Arc;

use attnscope::{
    corpus::{
        Corpus, Label,
        list::{Content, InputList, ListKind, ListOptions},
    },
    model::{Input, Preparation},
    protocol::{
        CorpusAnswer, CorpusLook, CorpusOrder, CorpusPlan, CorpusSoFar, CorpusSource, EventKind, LeftOut, LoadedModel,
    },
    worker::corpus,
};

use super::scripted::{capture, failure};

/// The whole corpus that was asked for; texts that begin with “unreadable” are left out.
pub fn answer(order: &CorpusOrder, model: &LoadedModel) -> EventKind {
    let list = match &order.source {
        CorpusSource::Path { path, list } => match corpus::read(path, list) {
            Ok(list) => list,
            Err(error) => return EventKind::Failed(failure(&error.to_string())),
        },
        CorpusSource::Lines(text) => {
            InputList::parse(text.as_bytes(), ListKind::Text, &ListOptions::default()).unwrap()
        }
        CorpusSource::Captures(_) => return EventKind::Failed(failure("No captures here")),
    };
    let mut corpus = Corpus::new(u64::MAX);
    let mut left_out = Vec::new();
    for (source, item) in list.items.iter().enumerate() {
        if let Content::Text(text) = &item.content
            && text.starts_with("unreadable")
        {
            let reason = "The text is empty".to_owned();
            left_out.push(LeftOut { source, name: text.clone(), reason });
            continue;
        }
        let input: Input = corpus::input_of(&item.content, Preparation::default());
        let label = Label { source, name: item.name.clone(), annotations: list.annotations(item) };
        corpus.append(&capture(model, &input), &label).unwrap();
    }
    let (list, corpus) = (Arc::new(list), Arc::new(corpus));
    EventKind::Corpus(CorpusAnswer::SoFar(Box::new(CorpusSoFar {
        list,
        corpus,
        left_out,
        full: None,
        file: None,
        is_whole: true,
    })))
}

/// What is known of a corpus before it is run: ten seconds an input.
pub fn look(order: &CorpusOrder) -> EventKind {
    let CorpusSource::Path { path, list } = &order.source else { return EventKind::Look(Arc::default()) };
    let list = match corpus::read(path, list) {
        Ok(list) => list,
        Err(error) => return EventKind::Failed(failure(&error.to_string())),
    };
    let n_inputs = list.items.len();
    let n_bytes = order.options.layers.as_ref().map_or(4000, |layers| 1000 * layers.len() as u64);
    let plan = CorpusPlan { n_inputs, n_tokens: 5 * n_inputs, n_bytes, n_fit: None, notes: Vec::new() };
    EventKind::Look(Arc::new(CorpusLook {
        has_choice: list.text_columns.len() > 1,
        columns: list.text_columns.iter().take(1).chain(&list.columns).cloned().collect(),
        text_columns: list.text_columns,
        samples: Vec::new(),
        plan: Some(plan),
        secs: Some(10.0 * n_inputs as f64),
    }))
}

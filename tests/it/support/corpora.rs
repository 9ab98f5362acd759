//! What a made-up model makes of a corpus.

use std::sync::Arc;

use attnscope::{
    corpus::{
        Corpus, Label,
        list::{Content, InputList, Kind, ListOptions},
    },
    worker::{CorpusOrder, CorpusSoFar, CorpusSource, EventKind, Input, LoadedModel, corpus},
};

use super::scripted::{capture, failure};

/// The whole corpus that was asked for; texts that begin with “unreadable” are left out.
pub fn answer(order: &CorpusOrder, model: &LoadedModel) -> EventKind {
    let list = match &order.source {
        CorpusSource::Path { path, list } => match corpus::read(path, list) {
            Ok(list) => list,
            Err(error) => return EventKind::Failed(failure(&error.to_string())),
        },
        CorpusSource::Lines(text) => InputList::parse(text.as_bytes(), Kind::Text, &ListOptions::default()).unwrap(),
        CorpusSource::Captures(_) => return EventKind::Failed(failure("No captures here")),
    };
    let mut corpus = Corpus::new(u64::MAX);
    let mut left_out = Vec::new();
    for (source, item) in list.items.iter().enumerate() {
        if let Content::Text(text) = &item.content
            && text.starts_with("unreadable")
        {
            let reason = "The text is empty".to_owned();
            left_out.push(corpus::LeftOut { source, name: text.clone(), reason });
            continue;
        }
        let input: Input = corpus::input_of(&item.content);
        let label = Label { source, name: item.name.clone(), annotations: list.annotations(item) };
        corpus.append(&capture(model, &input), &label).unwrap();
    }
    let (list, corpus) = (Arc::new(list), Arc::new(corpus));
    EventKind::Corpus(Box::new(CorpusSoFar { list, corpus, left_out, full: None, file: None, is_whole: true }))
}

//! A look at a corpus before it is run: what can be chosen, what it will take, and for how long.

use std::{sync::Arc, time::Instant};

use super::{
    Order,
    job::{Known, Listed, check_kind, listed, plan},
};
use crate::{
    corpus::list::{Content, ListKind},
    ids::Side,
    protocol::{CorpusLook, CorpusOrder, CorpusSource, EventKind},
    worker::{JobControl, Stop},
};

/// Inputs of which the beginning is shown, and how much of it.
const SAMPLES: (usize, usize) = (3, 200);

/// Reads the list and tells what can be chosen, then what it will take, and at last, with one pass run, how long.
/// Nothing of that is kept.
pub fn look(model: Option<Known<'_>>, mut order: CorpusOrder, control: &JobControl) -> Result<EventKind, Stop> {
    let Listed::ToRun(mut list) = listed(&order.source, control)? else {
        return Ok(EventKind::Look(Arc::default()));
    };
    if let Some(first) = order.options.first {
        list.items.truncate(first);
    }
    let is_text = matches!(&order.source, CorpusSource::Path { path, .. } if is_plain(path));
    let text = |content: &Content| match content {
        Content::Grouped(grouped) => Some(grouped.to_string().chars().take(SAMPLES.1).collect()),
        content => content.text().map(|text| text.chars().take(SAMPLES.1).collect()),
    };
    let mut look = CorpusLook {
        text_columns: list.text_columns.clone(),
        columns: list.text_columns.iter().take(1).chain(&list.columns).cloned().collect(),
        has_choice: list.text_columns.len() > 1 || is_text,
        samples: list.items.iter().filter_map(|item| text(&item.content)).take(SAMPLES.0).collect(),
        ..CorpusLook::default()
    };
    let Some((model, _)) = model else { return Ok(EventKind::Look(Arc::new(look))) };
    check_kind(model.spec(), &list)?;
    let (mut passes, planned, _) = plan(model, &list, &mut order, control)?;
    let (n_tokens, has_room) = (planned.n_tokens, planned.n_fit.is_none());
    look.plan = Some(planned);
    control.tell(EventKind::Look(Arc::new(look.clone())));
    if has_room {
        let started = Instant::now();
        passes.run_next(Order { model, list: &list, options: &order.options }, None, &|_| control.check())?;
        let n_run: usize = Side::ALL.iter().map(|side| passes.corpus().n_tokens(*side)).sum();
        look.secs = (n_run > 0).then(|| started.elapsed().as_secs_f64() / n_run as f64 * n_tokens as f64);
    }
    Ok(EventKind::Look(Arc::new(look)))
}

fn is_plain(path: &std::path::Path) -> bool {
    path.is_file() && ListKind::of_name(&path.to_string_lossy()) == ListKind::Text
}

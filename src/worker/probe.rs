//! Vectors of a site over a corpus with labels, for linear probes.

use std::{
    collections::HashMap,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::corpus::input_of;
use crate::{
    analysis::probe::{Labelling, LayerSpan, Pool, ProbeQuestion, ProbeSite, ProbeSummary, ProbeVectors, probe},
    capture::{Capture, LayerCapture, Site, Sites, Token},
    corpus::list::{InputList, Item},
    ids::{HeadId, StackKind},
    model::{Cancelled, Control, Logits, Model, ModelError, Preparation, Progress, RunPlan, Stage},
    text::{bytes_text, counted},
};

/// What is recorded of which inputs.
#[derive(Clone, Copy)]
pub struct ProbeOrder<'a> {
    pub model: &'a Model,
    pub list: &'a InputList,
    pub how: Preparation,
    /// By their places in the list.
    pub inputs: &'a [usize],
    pub question: &'a ProbeQuestion,
}

/// Numbers of words, and of classes.
struct Numbering(HashMap<String, usize>);

impl Numbering {
    /// As they were given so far.
    fn going_on(known: &[String]) -> Self {
        Self(known.iter().cloned().enumerate().map(|(number, name)| (name, number)).collect())
    }

    /// The number of a name; a new one is put behind the others.
    fn of(&mut self, name: &str, known: &mut Vec<String>) -> usize {
        let next = known.len();
        *self.0.entry(name.to_owned()).or_insert_with(|| {
            known.push(name.to_owned());
            next
        })
    }
}

/// Gathers the vectors of an order from the beginning.
///
/// # Errors
/// As [`go_on`].
pub fn probe_vectors(order: ProbeOrder<'_>, control: &Control<'_>) -> Result<ProbeVectors, ModelError> {
    let mut found = ProbeVectors::default();
    go_on(&mut found, order, control)?;
    Ok(found)
}

/// Runs the model on the inputs that are missing and keeps the vectors that have labels.
///
/// # Errors
/// When there is no such column, no memory for them, the model has no such site or layer, or `control` says stop, after
/// which it can be gone on; inputs that cannot be run or have no label are left out.
pub fn go_on(found: &mut ProbeVectors, order: ProbeOrder<'_>, control: &Control<'_>) -> Result<(), ModelError> {
    let ProbeOrder { model, list, question, .. } = order;
    let wrong = |summary: String| ModelError::Input { summary, details: String::new() };
    let column = question.place(&list.columns).map_err(wrong)?;
    let stacks = &model.spec().stacks;
    let stack = stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let n_layers = stacks.first().map_or(0, |stack| stack.layers.len());
    if let Some(LayerSpan { last, .. }) = question.layers.filter(|span| span.last >= n_layers) {
        return Err(wrong(format!("there is no layer {last}: the model has {}", counted(n_layers, "layer"))));
    }
    let starts = question.has_embeddings();
    let sites = [question.site].into_iter().chain(starts.then_some(Site::ResidPre));
    let plan = RunPlan { sites: Sites::of(&sites.collect::<Vec<_>>()), logits: Logits::Skip, ..RunPlan::default() };
    if found.sites.is_empty() {
        let embeddings = || ProbeSite { name: "embeddings".to_owned(), layer: None, ..ProbeSite::default() };
        let of_layer = |layer| ProbeSite { name: format!("layer {layer}"), layer: Some(layer), ..ProbeSite::default() };
        found.sites.extend(starts.then(embeddings));
        found.sites.extend((0..n_layers).filter(|layer| question.has(*layer)).map(of_layer));
    }
    let mut classes = Numbering::going_on(&found.items.classes);
    let mut words = Numbering::going_on(&found.words);
    let n = order.inputs.len();
    for nth in found.n_done..n {
        let (input, go_on) =
            (order.inputs[nth], |_: Progress| control(Progress { stage: Stage::Inputs, done: nth, total: n }));
        let Some(item) = list.items.get(input) else { continue };
        let run =
            model.encode(&input_of(&item.content, order.how)).and_then(|input| model.forward(&input, &plan, &go_on));
        let labelled = match &run {
            Ok(capture) => labelled((list, item), (question, column), capture.query_tokens(stack)),
            Err(ModelError::Cancelled(_)) => return run.map(drop),
            Err(error) => Err(error.to_string()),
        };
        found.n_done = nth + 1;
        let (capture, labelled) = match (run, labelled) {
            (Ok(capture), Ok(labelled)) => (capture, labelled),
            (_, Err(why)) => {
                found.left_out.push((input, why));
                continue;
            }
            (Err(error), Ok(_)) => return Err(error),
        };
        for of in labelled {
            for place in &mut found.sites {
                let vector = vector(&capture, (stack, place.layer), question, &of.tokens).ok_or_else(|| {
                    ModelError::Edit(format!("it has no vectors of {} in {}", question.site.name(), place.name))
                })?;
                place.width = vector.len();
                place.rows.extend(vector);
            }
            found.items.text.push(input);
            found.items.class.push(classes.of(of.label, &mut found.items.classes));
            found.items.word.extend(of.word.map(|word| words.of(word, &mut found.words)));
        }
        check_memory(model, found, (nth + 1, n))?;
    }
    Ok(control(Progress { stage: Stage::Inputs, done: n, total: n })?)
}

/// Fits probes of vectors that were gathered, on the threads of the model's engine.
///
/// # Errors
/// When there are too few texts or classes, or `control` says stop.
pub fn fit(
    model: &Model,
    found: &ProbeVectors,
    question: &ProbeQuestion,
    control: &Control<'_>,
) -> Result<ProbeSummary, ModelError> {
    let (n_done, total) = (AtomicUsize::new(0), found.sites.len());
    let step = |_: usize| {
        let done = n_done.fetch_add(1, Ordering::Relaxed);
        control(Progress { stage: Stage::Training, done, total }).is_ok()
    };
    let summary = model.engine().install(|| probe(&found.items, &found.sites, &question.options, &step));
    let summary = summary.map_err(|error| ModelError::Input { summary: error.to_string(), details: String::new() })?;
    control(Progress { stage: Stage::Training, done: total, total })?;
    Ok(summary.ok_or(Cancelled)?)
}

/// One thing with a label: its tokens, its label and its word.
struct LabelledTokens<'a> {
    tokens: Vec<usize>,
    label: &'a str,
    word: Option<&'a str>,
}

/// Stops where the vectors of all inputs, judged by those that are there, would not fit.
fn check_memory(model: &Model, found: &ProbeVectors, (done, n): (usize, usize)) -> Result<(), ModelError> {
    let bytes: usize = found.sites.iter().map(|site| 4 * site.rows.len()).sum();
    // The fits hold them once more, in another scale.
    let needed = 3 * bytes as u64 / done as u64 * n as u64;
    let Some(available) = model.engine().memory_for_a_run().filter(|available| needed > *available) else {
        return Ok(());
    };
    let summary = format!(
        "the vectors of {} would take {}, and {} are free",
        counted(n, "input"),
        bytes_text(needed),
        bytes_text(available)
    );
    Err(ModelError::Input { summary, details: "Read fewer of them".to_owned() })
}

/// The tokens, labels and words of one input.
fn labelled<'a>(
    (list, item): (&InputList, &'a Item),
    (question, column): (&ProbeQuestion, usize),
    tokens: &[Token],
) -> Result<Vec<LabelledTokens<'a>>, String> {
    let value = item.values.get(column).and_then(Option::as_deref).map(str::trim).filter(|value| !value.is_empty());
    let value = value.ok_or("it has no label")?;
    if question.labelling == Labelling::Texts {
        let real = (0..tokens.len()).filter(|position| !tokens[*position].special);
        let tokens: Vec<usize> = match question.pool {
            Pool::Words => real.collect(),
            Pool::First => (0..tokens.len().min(1)).collect(),
            Pool::Last => tokens.len().checked_sub(1).into_iter().collect(),
        };
        return if tokens.is_empty() {
            Err("it has no tokens but special ones".to_owned())
        } else {
            Ok(vec![LabelledTokens { tokens, label: value, word: None }])
        };
    }
    let (text, spans) = item.content.text().zip(list.words_of(item)).ok_or("it has no words")?;
    let tags = labels_in(value);
    if tags.len() != spans.len() {
        return Err(format!("it has {} and {}", counted(spans.len(), "word"), counted(tags.len(), "label")));
    }
    let of_word = |(span, label): (Range<usize>, &'a str)| {
        let is_part = |token: &Token| !token.special && span.start < token.span.end && token.span.start < span.end;
        let tokens: Vec<usize> = (0..tokens.len()).filter(|position| is_part(&tokens[*position])).collect();
        // A text that was cut ends before its last words.
        (!tokens.is_empty()).then(|| LabelledTokens { tokens, label, word: Some(&text[span]) })
    };
    Ok(spans.into_iter().zip(tags).filter_map(of_word).collect())
}

/// The labels of words in a cell, between bars or spaces.
pub fn labels_in(cell: &str) -> Vec<&str> {
    if cell.contains('|') { cell.split('|').map(str::trim).collect() } else { cell.split_whitespace().collect() }
}

/// The mean over some tokens of the vectors of a layer, or of the stream before all layers.
fn vector(
    capture: &Capture,
    (stack, at): (StackKind, Option<usize>),
    question: &ProbeQuestion,
    tokens: &[usize],
) -> Option<Vec<f32>> {
    let layer = |layer: usize| -> Option<&LayerCapture> { capture.layer(HeadId { stack, layer, head: 0 }) };
    let mut sum: Vec<f64> = Vec::new();
    let mut add = |first: usize, row: &[f32]| {
        sum.resize(sum.len().max(first + row.len()), 0.0);
        sum[first..].iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    };
    if question.site.is_per_head() {
        let values = layer(at?)?.z()?;
        let [n_heads, _, width] = values.shape();
        let heads: Vec<usize> = question.head.map_or_else(|| (0..n_heads).collect(), |head| vec![head]);
        for (nth, head) in heads.into_iter().enumerate() {
            let rows = values.head(head)?;
            for token in tokens {
                add(nth * width, rows.row(*token)?);
            }
        }
    } else {
        let rows = match at {
            None => layer(0)?.resid_pre()?,
            Some(at) => layer(at)?.rows(question.site)?,
        };
        for token in tokens {
            add(0, rows.row(*token)?);
        }
    }
    let n = tokens.len().max(1) as f64;
    Some(sum.into_iter().map(|value| (value / n) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analysis::probe::ProbeOptions, corpus::list::Content};

    fn token(text: &str, span: Range<usize>, special: bool) -> Token {
        Token { text: text.to_owned(), span, special, ..Token::default() }
    }

    #[test]
    fn words_have_the_tokens_that_lie_in_them_and_as_many_labels() {
        let item = |tags: &str| Item {
            content: Content::Text("New  Yorkers run".to_owned()),
            name: None,
            values: vec![Some(tags.to_owned())],
        };
        let tokens = [
            token("[CLS]", 0..0, true),
            token("New", 0..3, false),
            token("York", 5..9, false),
            token("##ers", 9..12, false),
            token("run", 13..16, false),
        ];
        let of_words = ProbeQuestion {
            site: Site::ResidPost,
            head: None,
            layers: None,
            column: "tags".to_owned(),
            labelling: Labelling::Words,
            pool: Pool::Words,
            options: ProbeOptions::default(),
        };
        for tags in ["JJ NNS VB", "JJ|NNS | VB"] {
            let item = item(tags);
            let found = labelled((&InputList::default(), &item), (&of_words, 0), &tokens).unwrap();
            let told: Vec<_> = found.iter().map(|of| (of.word.unwrap(), of.label, of.tokens.clone())).collect();
            assert_eq!(told, [("New", "JJ", vec![1]), ("Yorkers", "NNS", vec![2, 3]), ("run", "VB", vec![4])]);
        }
        let few = item("JJ NNS");
        let said = labelled((&InputList::default(), &few), (&of_words, 0), &tokens).err().unwrap();
        assert!(said.contains("3 words and 2 labels"), "{said}");
        let whole = item("positive");
        let of_texts = |pool| ProbeQuestion { labelling: Labelling::Texts, pool, ..of_words.clone() };
        let pooled =
            |pool| labelled((&InputList::default(), &whole), (&of_texts(pool), 0), &tokens).unwrap().remove(0).tokens;
        assert_eq!(
            [pooled(Pool::Words), pooled(Pool::First), pooled(Pool::Last)],
            [vec![1, 2, 3, 4], vec![0], vec![4]]
        );
        assert!(labelled((&InputList::default(), &whole), (&of_texts(Pool::Words), 1), &tokens).is_err());
    }
}

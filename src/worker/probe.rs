//! Vectors of a site over a corpus with labels, for linear probes.

use std::{collections::HashMap, ops::Range};

use super::corpus::input_of;
use crate::{
    analysis::probe::{ProbeItems, ProbeSite},
    capture::{Capture, LayerCapture, Site, Sites, Token},
    corpus::list::{InputList, Item},
    ids::{HeadId, StackKind},
    model::{Cancelled, Control, Logits, Model, ModelError, Preparation, Progress, RunPlan, Stage},
    text::{bytes_text, counted},
};

/// The vector that stands for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pool {
    /// Mean over all tokens but special ones.
    #[default]
    Words,
    /// First token, such as CLS.
    First,
    /// Last token.
    Last,
}

vocabulary! {
    Pool: name, words;
    Words("words", "mean over all tokens but special ones"),
    First("first", "first token, such as [CLS]"),
    Last("last", "last token"),
}

/// What has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOf {
    /// Whole texts: the column with the label.
    Texts(usize, Pool),
    /// Words, as spaces part them: the column with as many labels, between spaces or bars.
    Words(usize),
}

/// What is recorded of which inputs.
#[derive(Clone, Copy)]
pub struct ProbeOrder<'a> {
    pub model: &'a Model,
    pub list: &'a InputList,
    pub how: Preparation,
    /// At most so many of the first inputs.
    pub limit: usize,
    pub site: Site,
    /// One head of a site with heads; all side by side otherwise.
    pub head: Option<usize>,
    pub labels: LabelOf,
}

/// Labelled vectors of each layer, and inputs without.
#[derive(Clone, Debug, Default)]
pub struct ProbeVectors {
    pub items: ProbeItems,
    pub sites: Vec<ProbeSite>,
    pub left_out: Vec<(usize, String)>,
}

/// Numbering and numbers of words, and of classes.
#[derive(Default)]
struct Numbering(HashMap<String, usize>);

impl Numbering {
    fn of(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn into_list(self) -> Vec<String> {
        let mut all: Vec<(String, usize)> = self.0.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        all.into_iter().map(|(name, _)| name).collect()
    }
}

/// One thing with a label: its tokens, its label and its word.
struct LabelledTokens<'a> {
    tokens: Vec<usize>,
    label: &'a str,
    word: Option<&'a str>,
}

/// Runs the model on the inputs and keeps the vectors that have labels.
///
/// # Errors
/// When there is no memory for them, the model has no such site, or `control` says stop; inputs that cannot be run or have
/// no label are left out.
pub fn probe_vectors(order: ProbeOrder<'_>, control: &Control<'_>) -> Result<ProbeVectors, ModelError> {
    let ProbeOrder { model, list, site, .. } = order;
    let stacks = &model.spec().stacks;
    let stack = stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let n_layers = stacks.first().map_or(0, |stack| stack.layers.len());
    let starts = site == Site::ResidPost;
    let sites = if starts { Sites::of(&[site, Site::ResidPre]) } else { Sites::of(&[site]) };
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    let mut found = ProbeVectors::default();
    if starts {
        found.sites.push(ProbeSite { name: "embeddings".to_owned(), layer: None, ..ProbeSite::default() });
    }
    let of_layer = |layer| ProbeSite { name: format!("layer {layer}"), layer: Some(layer), ..ProbeSite::default() };
    found.sites.extend((0..n_layers).map(of_layer));
    let (mut classes, mut words) = (Numbering::default(), Numbering::default());
    let n = list.items.len().min(order.limit);
    for (nth, item) in list.items.iter().take(n).enumerate() {
        let go_on =
            |_: Progress| -> Result<(), Cancelled> { control(Progress { stage: Stage::Inputs, done: nth, total: n }) };
        let run =
            model.encode(&input_of(&item.content, order.how)).and_then(|input| model.forward(&input, &plan, &go_on));
        let capture = match run {
            Ok(capture) => capture,
            Err(ModelError::Cancelled(stop)) => return Err(stop.into()),
            Err(error) => {
                found.left_out.push((nth, error.to_string()));
                continue;
            }
        };
        let labelled = match labelled(list, item, order.labels, capture.query_tokens(stack)) {
            Ok(labelled) => labelled,
            Err(why) => {
                found.left_out.push((nth, why));
                continue;
            }
        };
        for of in labelled {
            for (at, place) in found.sites.iter_mut().enumerate() {
                let vector = vector(&capture, (stack, at, starts), order, &of.tokens).ok_or_else(|| {
                    ModelError::Edit(format!("it has no vectors of {} in {}", site.name(), place.name))
                })?;
                place.width = vector.len();
                place.rows.extend(vector);
            }
            found.items.text.push(nth);
            found.items.class.push(classes.of(of.label));
            found.items.word.extend(of.word.map(|word| words.of(word)));
        }
        check_memory(model, &found, (nth + 1, n))?;
    }
    control(Progress { stage: Stage::Inputs, done: n, total: n })?;
    found.items.classes = classes.into_list();
    Ok(found)
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
    Err(ModelError::Input { summary, details: "Read fewer of them with --limit".to_owned() })
}

/// The tokens, labels and words of one input.
fn labelled<'a>(
    list: &InputList,
    item: &'a Item,
    labels: LabelOf,
    tokens: &[Token],
) -> Result<Vec<LabelledTokens<'a>>, String> {
    let (LabelOf::Texts(column, _) | LabelOf::Words(column)) = labels;
    let value = item.values.get(column).and_then(Option::as_deref).map(str::trim).filter(|value| !value.is_empty());
    let value = value.ok_or("it has no label")?;
    let LabelOf::Words(_) = labels else {
        let LabelOf::Texts(_, pool) = labels else { return Err("it has no label".to_owned()) };
        let real = (0..tokens.len()).filter(|position| !tokens[*position].special);
        let tokens: Vec<usize> = match pool {
            Pool::Words => real.collect(),
            Pool::First => (0..tokens.len().min(1)).collect(),
            Pool::Last => tokens.len().checked_sub(1).into_iter().collect(),
        };
        return if tokens.is_empty() {
            Err("it has no tokens but special ones".to_owned())
        } else {
            Ok(vec![LabelledTokens { tokens, label: value, word: None }])
        };
    };
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

/// The mean over some tokens of the vectors at a place; the first place is before all layers where the stream is read.
fn vector(
    capture: &Capture,
    (stack, at, starts): (StackKind, usize, bool),
    order: ProbeOrder<'_>,
    tokens: &[usize],
) -> Option<Vec<f32>> {
    let layer = |layer: usize| -> Option<&LayerCapture> { capture.layer(HeadId { stack, layer, head: 0 }) };
    let mut sum: Vec<f64> = Vec::new();
    let mut add = |first: usize, row: &[f32]| {
        sum.resize(sum.len().max(first + row.len()), 0.0);
        sum[first..].iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    };
    if order.site.is_per_head() {
        let values = layer(at)?.z()?;
        let [n_heads, _, width] = values.shape();
        let heads: Vec<usize> = order.head.map_or_else(|| (0..n_heads).collect(), |head| vec![head]);
        for (nth, head) in heads.into_iter().enumerate() {
            let rows = values.head(head)?;
            for token in tokens {
                add(nth * width, rows.row(*token)?);
            }
        }
    } else {
        let rows = match (starts, at) {
            (true, 0) => layer(0)?.resid_pre()?,
            (true, at) => layer(at - 1)?.rows(order.site)?,
            (false, at) => layer(at)?.rows(order.site)?,
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
    use crate::corpus::list::Content;

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
        for tags in ["JJ NNS VB", "JJ|NNS | VB"] {
            let item = item(tags);
            let found = labelled(&InputList::default(), &item, LabelOf::Words(0), &tokens).unwrap();
            let told: Vec<_> = found.iter().map(|of| (of.word.unwrap(), of.label, of.tokens.clone())).collect();
            assert_eq!(told, [("New", "JJ", vec![1]), ("Yorkers", "NNS", vec![2, 3]), ("run", "VB", vec![4])]);
        }
        let few = item("JJ NNS");
        let said = labelled(&InputList::default(), &few, LabelOf::Words(0), &tokens).err().unwrap();
        assert!(said.contains("3 words and 2 labels"), "{said}");
        let whole = item("positive");
        let pooled =
            |pool| labelled(&InputList::default(), &whole, LabelOf::Texts(0, pool), &tokens).unwrap().remove(0).tokens;
        assert_eq!(
            [pooled(Pool::Words), pooled(Pool::First), pooled(Pool::Last)],
            [vec![1, 2, 3, 4], vec![0], vec![4]]
        );
        assert!(labelled(&InputList::default(), &whole, LabelOf::Texts(1, Pool::Words), &tokens).is_err());
    }
}

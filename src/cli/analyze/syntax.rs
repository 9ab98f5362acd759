//! `attnscope analyze syntax`: relations of a treebank, and classes of words, that heads attend along.

use std::{fmt::Write as _, ops::Range};

use clap::Args;
use serde_json::{Value, json};

use super::over_corpus::MeasuredInputs;
use crate::{
    analysis::{
        attention,
        explain::{
            alignment::{Queries, word_map},
            dense::Dense,
        },
        word_links::{ClassRow, LinkRow, LinkTally, LinkWay, SYNTAX, WordTree},
    },
    capture::{Capture, Token, head_name},
    cli::{CliError, open_model, show_progress},
    corpus::list::{InputList, Item},
    figure::{
        data::{DataValues, Table},
        word_links::LinkSummary,
    },
    ids::HeadId,
    model::{Cancelled, Logits, ModelError, Progress, RunPlan, Site, Sites, Stage},
    spec::StackSpec,
    text::{counted, share_text},
    worker::{corpus::input_of, probe::labels_in},
};

/// Pairs of classes that are printed.
const N_CLASSES: usize = 10;

/// The model, the treebank, and its columns.
#[derive(Debug, Args)]
pub struct SyntaxArguments {
    /// A model folder, a bundled model such as demo:bert, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    /// Column with the number of the syntactic head of each word, from 1, and 0 of the root
    #[arg(long, value_name = "NAME", default_value = "heads")]
    heads_column: String,
    /// Column with the relation of each word to its syntactic head
    #[arg(long, value_name = "NAME", default_value = "deprel")]
    relations_column: String,
    /// Column with the class of each word
    #[arg(long, value_name = "NAME", default_value = "upos")]
    tag_column: String,
    /// Leave out relations and pairs of classes with fewer words in either half of the sentences
    #[arg(long, default_value_t = 10, value_name = "N")]
    least: usize,
}

/// Places of the columns; classes are not needed.
struct Columns {
    heads: usize,
    relations: usize,
    classes: Option<usize>,
}

pub fn run(asked: &SyntaxArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let list = asked.inputs.read.list()?;
    let columns = columns(&list, asked)?;
    let model = open_model(&asked.model, &asked.inputs.read.engine()?)?;
    let stack = model.spec().stacks.iter().find(|stack| stack.kind.query_side() == stack.kind.key_side());
    let stack = stack.ok_or_else(|| failed("none of its attention goes from words to words of one text".to_owned()))?;
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), logits: Logits::Skip, ..RunPlan::default() };
    let mut tally = LinkTally::new(heads_of(stack));
    let mut left_out = Vec::new();
    let n = asked.inputs.n_of(list.items.len());
    for (nth, item) in list.items.iter().take(n).enumerate() {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        let run = model
            .encode(&input_of(&item.content, asked.inputs.read.how.chosen()))
            .and_then(|input| model.forward(&input, &plan, &go_on));
        let added = match run {
            Ok(capture) => add(&mut tally, &capture, (&list, item), &columns, stack),
            Err(ModelError::Cancelled(stop)) => return Err(failed(stop.to_string())),
            Err(error) => Err(error.to_string()),
        };
        left_out.extend(added.err().map(|why| (nth, why)));
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if let Some((input, why)) = left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(left_out.len(), "input"), input + 1);
    }
    let scene = LinkSummary {
        model: model.spec().name.clone(),
        corpus: asked.inputs.read.name(),
        n_sentences: tally.n_sentences(),
        rows: tally.rows(asked.least),
        classes: tally.class_rows(asked.least),
    };
    if scene.rows.is_empty() {
        return Err(failed(format!(
            "no relation has {} in both halves of {}: read more sentences, or give a smaller --least",
            counted(asked.least, "word"),
            counted(scene.n_sentences, "sentence")
        )));
    }
    let document = document(&scene, &left_out, asked);
    let question = "Which heads attend along which relation?";
    asked.inputs.tell((&scene.figure(), &document), (&SYNTAX, question), || rows(&tally), || table(&scene))
}

fn columns(list: &InputList, asked: &SyntaxArguments) -> Result<Columns, CliError> {
    let find = |name: &str| list.columns.iter().position(|known| known == name);
    let needed = |name: &str| {
        find(name).ok_or_else(|| {
            let known = if list.columns.is_empty() { "none".to_owned() } else { list.columns.join(", ") };
            CliError::Usage(format!(
                "the corpus has no column {name}: it has {known}; give a treebank (.conllu), or name columns with \
                 --heads-column and --relations-column"
            ))
        })
    };
    Ok(Columns {
        heads: needed(&asked.heads_column)?,
        relations: needed(&asked.relations_column)?,
        classes: find(&asked.tag_column),
    })
}

fn heads_of(stack: &StackSpec) -> Vec<HeadId> {
    let of_layer = |(layer, spec): (usize, &crate::spec::LayerSpec)| {
        (0..spec.n_heads).map(move |head| HeadId { stack: stack.kind, layer, head })
    };
    stack.layers.iter().enumerate().flat_map(of_layer).collect()
}

/// Adds a sentence.
fn add(
    tally: &mut LinkTally,
    capture: &Capture,
    (list, item): (&InputList, &Item),
    columns: &Columns,
    stack: &StackSpec,
) -> Result<(), String> {
    let (tree, words) = read(list, item, columns, capture.query_tokens(stack.kind))?;
    let map = |head: &HeadId| {
        let pattern = attention::pattern(capture, *head).ok_or("it is too long to keep its patterns")?;
        word_map(&pattern, &words, &words, Queries::Mean).map_err(|error| error.to_string())
    };
    let maps: Vec<Dense> = tally.heads().to_vec().iter().map(map).collect::<Result<_, String>>()?;
    tally.add(&tree, &maps, stack.causal);
    Ok(())
}

/// The words of a sentence that have tokens, and the tokens of each.
fn read(
    list: &InputList,
    item: &Item,
    columns: &Columns,
    tokens: &[Token],
) -> Result<(WordTree, Vec<Range<usize>>), String> {
    let spans = list.words_of(item).ok_or("it has no words")?;
    let cell = |column: usize| -> Result<Vec<&str>, String> {
        let cell = item.values.get(column).and_then(Option::as_deref).unwrap_or_default();
        let labels = labels_in(cell);
        if labels.len() == spans.len() {
            Ok(labels)
        } else {
            let (n_words, n_labels) = (counted(spans.len(), "word"), counted(labels.len(), "label"));
            Err(format!("it has {n_words} and {n_labels} of them in column {}", list.columns[column]))
        }
    };
    let (heads, relations) = (cell(columns.heads)?, cell(columns.relations)?);
    let classes = columns.classes.map(cell).transpose()?;
    // A token belongs to the word in which it begins; a text that was cut ends before its last words.
    let of_word = |span: &Range<usize>| {
        let is_part = |token: &Token| !token.special && span.contains(&token.span.start) && !token.span.is_empty();
        let first = tokens.iter().position(is_part)?;
        let n = tokens[first..].iter().take_while(|token| is_part(token)).count();
        Some(first..first + n)
    };
    let places: Vec<Option<Range<usize>>> = spans.iter().map(of_word).collect();
    let mut numbers = Vec::with_capacity(places.len());
    let mut n_words = 0;
    for place in &places {
        numbers.push(place.as_ref().map(|_| n_words));
        n_words += usize::from(place.is_some());
    }
    let mut tree = WordTree::default();
    for (nth, _) in places.iter().enumerate().filter(|(_, place)| place.is_some()) {
        let head: usize = heads[nth].parse().map_err(|_| format!("“{}” is no number of a word", heads[nth]))?;
        tree.heads.push(head.checked_sub(1).and_then(|head| *numbers.get(head)?));
        tree.relations.push(relations[nth].to_owned());
        tree.classes.extend(classes.as_ref().map(|classes| classes[nth].to_owned()));
    }
    if n_words == 0 { Err("it has no words".to_owned()) } else { Ok((tree, places.into_iter().flatten().collect())) }
}

fn document(scene: &LinkSummary, left_out: &[(usize, String)], asked: &SyntaxArguments) -> Value {
    let row = |row: &LinkRow| {
        json!({
            "relation": row.relation, "way": row.way.name(), "n_chosen_on": row.n[0], "n": row.n[1],
            "layer": row.head.layer, "head": row.head.head,
            "found": { "value": row.found.value, "low": row.found.low, "high": row.found.high },
            "offset": row.offset, "found_by_offset": row.by_offset,
        })
    };
    let class = |row: &ClassRow| {
        json!({
            "query": row.query, "key": row.key, "n": row.n_queries, "layer": row.head.layer, "head": row.head.head,
            "weight": row.weight, "visible": row.visible,
        })
    };
    json!({
        "method": SYNTAX.name,
        "parameters": asked.inputs.parameters(json!({
            "heads_column": asked.heads_column, "relations_column": asked.relations_column,
            "tag_column": asked.tag_column, "least": asked.least,
        })),
        "model": scene.model,
        "caveat": SYNTAX.caveat,
        "result": {
            "n": scene.n_sentences,
            "left_out": left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "relations": scene.rows.iter().map(row).collect::<Vec<_>>(),
            "classes": scene.classes.iter().map(class).collect::<Vec<_>>(),
        },
    })
}

/// A row for each relation, way and head.
fn rows(tally: &LinkTally) -> Table {
    let all: Vec<(&str, LinkWay, HeadId, usize, usize)> = tally.all().collect();
    let index = |of: fn(&(&str, LinkWay, HeadId, usize, usize)) -> usize| {
        DataValues::Index(all.iter().map(|row| of(row) as u32).collect())
    };
    Table::of([
        ("relation", DataValues::Text(all.iter().map(|row| row.0.to_owned()).collect())),
        ("way", DataValues::Text(all.iter().map(|row| row.1.name().to_owned()).collect())),
        ("layer", index(|row| row.2.layer)),
        ("head", index(|row| row.2.head)),
        ("words", index(|row| row.3)),
        ("found", index(|row| row.4)),
    ])
}

fn table(scene: &LinkSummary) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}, {} of {}: heads that do best on every other sentence, over the others; 95 % intervals",
        scene.model,
        counted(scene.n_sentences, "sentence"),
        scene.corpus,
    ));
    for row in &scene.rows {
        line(format!(
            "{}: {} ({} to {}) of {} by {}; {} by the word at {:+}",
            LinkSummary::name(row),
            share_text(row.found.value),
            share_text(row.found.low),
            share_text(row.found.high),
            counted(row.n[1], "word"),
            head_name(row.head),
            share_text(row.by_offset),
            row.offset,
        ));
    }
    for row in scene.classes.iter().take(N_CLASSES) {
        line(format!(
            "{} → {}: {} gives them {} of its weight between words, {} of the words are such",
            row.query,
            row.key,
            head_name(row.head),
            share_text(row.weight),
            share_text(row.visible),
        ));
    }
    line(SYNTAX.caveat.to_owned());
    out
}

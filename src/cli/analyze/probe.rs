//! `attnscope analyze probe`: linear probes of a site over a corpus with labels.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
};

use clap::Args;
use serde_json::{Value, json};

use super::over_corpus::{ReadInputs, write_each};
use crate::{
    analysis::{
        bootstrap::Estimate,
        probe::{CorpusProbe, Labelling, LayerSpan, PROBE, Pool, ProbeOptions, ProbeQuestion, SiteProbe, probed_sites},
    },
    capture::Site,
    cli::{CliError, open_model, show_progress},
    figure::views::probe::{ProbeScene, interval_text, rows},
    options::one_of,
    text::{counted, decimal_text, share_text},
    worker::probe::{ProbeOrder, fit, probe_vectors},
};

/// The column that is taken where none is named.
const LABEL: &str = "label";

/// The model, the inputs with their labels, and the probes.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// A model folder, a bundled model such as demo:bert, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: ReadInputs,
    /// Column with the label of each text [default: label]
    #[arg(long, value_name = "NAME", conflicts_with = "tag_column")]
    label_column: Option<String>,
    /// Column with a label for each word of the text, between spaces or bars; words are what spaces part
    #[arg(long, value_name = "NAME")]
    tag_column: Option<String>,
    #[arg(long, help = site_help(), default_value = "resid_post", value_parser = parse_site)]
    site: Site,
    /// One head of --site z [default: all side by side]
    #[arg(long, value_name = "H")]
    head: Option<usize>,
    /// The layers, such as 3 or 2-5, or all [default: all]
    #[arg(long, value_name = "LAYERS")]
    layers: Option<String>,
    #[arg(long, help = pool_help(), default_value = "words", value_parser = parse_pool, conflicts_with = "tag_column")]
    pool: Pool,
    /// Weight of the losses beside the penalty of the weights
    #[arg(long, default_value_t = 1.0, value_name = "C")]
    c: f64,
    /// Leave vectors as they are, instead of bringing each number to mean 0 and deviation 1
    #[arg(long)]
    as_they_are: bool,
    /// Share of the texts that nothing is learnt from
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    held_out: f64,
    /// Read only the first inputs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How often held-out texts are drawn anew for the intervals
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    samples: u32,
    /// The same seed gives the same split and the same random labels
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Write JSON (.json), a row for each layer (.csv), or a figure (.svg, .pdf, .png), instead of a table; - is JSON on
    /// stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
}

fn site_help() -> String {
    let names: Vec<&str> = probed_sites().map(Site::name).collect();
    format!("Site that is probed, in every layer: {}", names.join(", "))
}

fn pool_help() -> String {
    let each = Pool::ALL.map(|pool| format!("{} ({})", pool.name(), pool.title()));
    format!("Vector that stands for a text: {}", each.join(", "))
}

fn parse_site(name: &str) -> Result<Site, String> {
    probed_sites().find(|site| site.name() == name).ok_or_else(|| one_of(probed_sites().map(Site::name)))
}

fn parse_pool(name: &str) -> Result<Pool, String> {
    Pool::from_name(name).ok_or_else(|| one_of(Pool::ALL.map(Pool::name)))
}

impl ProbeArguments {
    fn options(&self) -> Result<ProbeOptions, CliError> {
        if !(0.05..=0.9).contains(&self.held_out) {
            return Err(CliError::Usage("--held-out is a share from 0.05 to 0.9, such as 0.2".to_owned()));
        }
        if !(self.c.is_finite() && self.c > 0.0) {
            return Err(CliError::Usage("--c is above 0: the smaller, the smaller the weights".to_owned()));
        }
        if self.head.is_some() && self.site != Site::Z {
            return Err(CliError::Usage("--head is of the site z, which heads have: give --site z".to_owned()));
        }
        Ok(ProbeOptions {
            c: self.c,
            standardize: !self.as_they_are,
            held_out: self.held_out,
            samples: self.samples as usize,
            seed: self.seed,
        })
    }
}

pub fn run(asked: &ProbeArguments) -> Result<(), CliError> {
    let options = asked.options()?;
    let list = asked.inputs.list()?;
    let name = asked.tag_column.as_deref().or(asked.label_column.as_deref()).unwrap_or(LABEL);
    let question = ProbeQuestion {
        site: asked.site,
        head: asked.head,
        layers: LayerSpan::parse(asked.layers.as_deref().unwrap_or("all")).map_err(CliError::Usage)?,
        column: name.to_owned(),
        labelling: if asked.tag_column.is_some() { Labelling::Words } else { Labelling::Texts },
        pool: asked.pool,
        options,
    };
    question.place(&list.columns).map_err(|why| {
        CliError::Usage(format!("{why}; name one with --label-column, or with --tag-column for words"))
    })?;
    let model = open_model(&asked.model, &asked.inputs.engine()?)?;
    let inputs: Vec<usize> = (0..list.items.len().min(asked.limit.unwrap_or(usize::MAX))).collect();
    let how = asked.inputs.how.chosen();
    let order = ProbeOrder { model: &model, list: &list, how, inputs: &inputs, question: &question };
    let found = probe_vectors(order, &show_progress)?;
    if let Some((input, why)) = found.left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(found.left_out.len(), "input"), input + 1);
    }
    let summary = fit(&model, &found, &question, &show_progress)?;
    let scene = ProbeScene(Arc::new(CorpusProbe {
        model: model.spec().name.clone(),
        corpus: asked.inputs.name(),
        question,
        inputs,
        left_out: found.left_out,
        summary,
    }));
    if asked.out.is_empty() {
        // A closed pipe is not an error.
        io::stdout().lock().write_all(table(&scene).as_bytes()).ok();
    }
    let document = document(&scene.0, (asked, name));
    write_each(&asked.out, (&scene, &document), (&PROBE, "In which layer can the labels be told?"), || {
        rows(&scene.0.summary.sites)
    })
}

fn document(found: &CorpusProbe, (asked, name): (&ProbeArguments, &str)) -> Value {
    let number = |of: Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let summary = &found.summary;
    let site = |of: &SiteProbe| {
        json!({
            "site": of.name, "layer": of.layer, "accuracy": number(of.accuracy), "control": number(of.control),
            "selectivity": number(of.selectivity), "learnt": of.learnt, "converged": of.is_converged,
        })
    };
    json!({
        "method": PROBE.name,
        "parameters": {
            "corpus": asked.inputs.corpus, "text_column": asked.inputs.text_column, "labels": name,
            "of": if asked.tag_column.is_some() { "words" } else { "texts" }, "site": asked.site.name(),
            "head": asked.head, "layers": LayerSpan::text(found.question.layers), "pool": asked.pool.name(), "c": asked.c, "standardized": !asked.as_they_are,
            "held_out": asked.held_out, "limit": asked.limit, "samples": asked.samples, "seed": asked.seed,
        },
        "model": found.model,
        "caveat": PROBE.caveat,
        "result": {
            "n_texts": summary.n_texts, "n_learnt": summary.n_items[0], "n_tried": summary.n_items[1],
            "classes": summary.classes, "majority": number(summary.majority),
            "majority_of_word": summary.by_word.map(number), "control_ceiling": summary.control_ceiling,
            "left_out": found.left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "sites": summary.sites.iter().map(site).collect::<Vec<_>>(),
        },
    })
}

fn table(scene: &ProbeScene) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let summary = &scene.0.summary;
    let [of, how] = scene.0.said();
    line(of);
    line(how);
    line(format!("commonest class: {}", interval_text(summary.majority)));
    if let Some(by_word) = summary.by_word {
        line(format!("commonest class of each word: {}", interval_text(by_word)));
        line(format!("random labels can reach {}", share_text(summary.control_ceiling)));
    }
    for of in &summary.sites {
        let note = if of.is_converged { "" } else { "; the fit has not come to its end" };
        line(format!(
            "{}: labels {}, random labels {}, selectivity {}{note}",
            of.name,
            interval_text(of.accuracy),
            share_text(of.control.value),
            decimal_text(of.selectivity.value)
        ));
    }
    line(PROBE.caveat.to_owned());
    out
}

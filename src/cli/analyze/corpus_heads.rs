//! `attnscope analyze heads --corpus`: statistics of every head over many inputs.

use std::{
    cell::RefCell,
    fmt::Write as _,
    fs,
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::{
    contrast_heads, document,
    heads::{HeadsOptions, undefined_text},
    write,
};
use crate::{
    analysis::{
        detect,
        explain::report::spec_json,
        head_folder::FolderScale,
        head_statistics::{
            Families, Family, Fingerprints, HeadStatistics, Metric, MetricColumn, RankedStatistic, StackTable,
            Thresholds, layouts_differ,
        },
        welch::Correction,
    },
    cli::{CliError, open_identified, render::parse_head, show_progress},
    export,
    figure::views::atlas::FAMILIES,
    ids::{HeadId, StackKind},
    model::{Cancelled, Engine},
    options::one_of,
    protocol::LeftOut,
    text::{counted, decimal_text, grouped, sentence, unreadable},
    worker::corpus::{
        FolderError, FolderOrder, FolderPass, StatisticsOrder, StatisticsPass, WrittenFolder, statistics_key,
    },
};

/// Heads that the table names for each metric.
const N_BEST: usize = 3;
/// Similar heads that are named.
const N_SIMILAR: usize = 5;
/// Heads of a family that are named.
const N_NAMED: usize = 16;
/// Inputs that are named for each head, those in which it is most active.
const N_INPUTS: usize = 5;

/// What can be said about statistics over a corpus.
#[derive(Clone, Debug, clap::Args)]
pub struct CorpusHeadsOptions {
    /// With --corpus: numbers to tell, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME,…", requires = "corpus", value_parser = parse_metric)]
    metrics: Vec<Metric>,
    /// With --corpus: hold the heads over this other corpus against those over the first
    #[arg(long, value_name = "FILE", requires = "corpus", conflicts_with = "against_model")]
    against: Option<PathBuf>,
    /// With --corpus: hold the heads of this other model of the same layout against those of the first
    #[arg(long, value_name = "MODEL", requires = "corpus")]
    against_model: Option<String>,
    /// With --against or --against-model: how p-values are corrected for the number of heads [default: holm]
    #[arg(long, value_name = "METHOD", requires = "corpus", value_parser = parse_correction)]
    correction: Option<Correction>,
    /// With --corpus: how many families heads are put into by the likeness of their numbers, from 2 to 12 [default: 6]
    #[arg(long, value_name = "N", requires = "corpus", value_parser = clap::value_parser!(u8).range(2..=12))]
    families: Option<u8>,
    /// With --corpus: all numbers of one head with their ranks, such as L1H0
    #[arg(long, value_name = "LlHh", requires = "corpus", value_parser = parse_head)]
    pub(super) head: Option<(usize, usize)>,
    /// With --corpus: where sums are kept on the way, and where they go on from when the file is there
    #[arg(long, value_name = "FILE", requires = "corpus", conflicts_with_all = ["against", "against_model"])]
    resume: Option<PathBuf>,
    /// With --resume: keep the sums after this many inputs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    keep_every: u16,
    #[command(flatten)]
    folder: FolderOptions,
}

/// What is written for other programs to show.
#[derive(Clone, Debug, clap::Args)]
struct FolderOptions {
    /// With --corpus: also write a new folder with a file for each head, as HeadVis has it: sequences by activation with
    /// the strongest weights of each token, histograms, tables of tokens
    #[arg(long, value_name = "DIR", requires = "corpus", conflicts_with_all = ["against", "against_model", "resume"])]
    headvis: Option<PathBuf>,
    /// With --headvis: intervals of activation with the same number of inputs [default: 10]
    #[arg(long, requires = "headvis", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    intervals: Option<u16>,
    /// With --headvis: inputs of each interval [default: 20]
    #[arg(long, requires = "headvis", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    per_interval: Option<u16>,
    /// With --headvis: stack whose heads are written, where a model has several [default: the first]
    #[arg(long, requires = "headvis", value_name = "STACK")]
    stack: Option<StackKind>,
}

impl FolderOptions {
    /// How a folder is made.
    fn scale(&self) -> FolderScale {
        let usual = FolderScale::default();
        FolderScale {
            n_intervals: self.intervals.map_or(usual.n_intervals, usize::from),
            n_samples: self.per_interval.map_or(usual.n_samples, usize::from),
            ..usual
        }
    }

    /// The pass for statistics, with a folder written on the way.
    fn write(
        &self,
        folder: &Path,
        pass: &mut StatisticsPass,
        order: StatisticsOrder<'_>,
        names: [&str; 2],
    ) -> Result<WrittenFolder, CliError> {
        let spec = order.model.spec();
        let of = self.stack.or_else(|| spec.stacks.first().map(|stack| stack.kind));
        let Some(stack) = of.and_then(|stack| spec.stack(stack)) else {
            let stacks: Vec<String> = spec.stacks.iter().map(|stack| stack.kind.to_string()).collect();
            let asked = of.map_or_else(String::new, |stack| stack.to_string());
            return Err(CliError::Usage(format!("the model has no stack {asked}; it has {}", stacks.join(", "))));
        };
        let layers = stack.layers.iter().enumerate();
        let head = |layer: usize, head: usize| HeadId { stack: stack.kind, layer, head };
        let heads = layers.flat_map(|(layer, spec)| (0..spec.n_heads).map(move |nth| head(layer, nth))).collect();
        let failed = |error: FolderError| CliError::Failed(error.to_string());
        let how = FolderOrder { folder, stack: stack.kind, scale: self.scale(), names };
        let mut writing = FolderPass::begin(how, heads).map_err(failed)?;
        writing.run(pass, order, &show_progress).map_err(failed)?;
        if pass.statistics().inputs().is_empty() {
            return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
        }
        writing.finish(pass, order, &show_progress).map_err(failed)
    }
}

fn parse_correction(name: &str) -> Result<Correction, String> {
    Correction::from_name(name).ok_or_else(|| one_of(Correction::ALL.map(Correction::name)))
}

fn parse_metric(name: &str) -> Result<Metric, String> {
    Metric::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        format!("choose from {}", names.join(", "))
    })
}

impl CorpusHeadsOptions {
    /// The families of a stack.
    fn families(&self, table: &StackTable) -> Families {
        Fingerprints::of(table).families(self.families.map_or(FAMILIES, usize::from))
    }

    /// Whether a number is to be told.
    pub(super) fn wants(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }
}

pub fn run(options: &HeadsOptions) -> Result<(), CliError> {
    let (input, how) = (&options.input, &options.of_corpus);
    let list = input.corpus()?.filter(|_| input.only_list()).ok_or_else(|| {
        CliError::Usage("a corpus is read by itself: leave out other inputs, or give them without --corpus".to_owned())
    })?;
    let name =
        options.model.as_deref().ok_or_else(|| CliError::Usage("name a --model to read the corpus".to_owned()))?;
    let engine = options.compute.engine()?;
    let (model, identity) = open_identified(name, &engine)?;
    let order = StatisticsOrder { model: &model, list: &list, how: input.preparation() };
    if how.against.is_some() || how.against_model.is_some() {
        return against(options, (name, order), &engine);
    }
    if how.families.is_some() && how.head.is_some() {
        return Err(CliError::Usage("--families are of all heads: leave out --head".to_owned()));
    }
    if how.correction.is_some() {
        return Err(CliError::Usage("--correction belongs to --against or --against-model".to_owned()));
    }
    let key = statistics_key(&identity, order);
    let mut pass = match &how.resume {
        Some(path) => resumed(path, &key, order)?,
        None => StatisticsPass::new(&model),
    };
    let kept = RefCell::new((pass.n_done(), Ok(())));
    let mut told = |pass: &StatisticsPass| {
        let Some(path) = &how.resume else { return Ok(()) };
        let (n_kept, failed) = &mut *kept.borrow_mut();
        if pass.n_done() < *n_kept + usize::from(how.keep_every) {
            return Ok(());
        }
        *n_kept = pass.n_done();
        *failed = keep(pass, path, &key);
        if failed.is_ok() { Ok(()) } else { Err(Cancelled) }
    };
    let written = if let Some(folder) = &how.folder.headvis {
        let corpus = input.corpus_name().display().to_string();
        Some((folder, how.folder.write(folder, &mut pass, order, [name, &corpus])?))
    } else {
        let ran = pass.run(order, &show_progress, &mut told);
        kept.into_inner().1?;
        ran.map_err(|stop| CliError::Failed(stop.to_string()))?;
        None
    };
    if let Some(path) = &how.resume {
        keep(&pass, path, &key)?;
    }
    let left_out = pass.left_out(&list);
    for LeftOut { name, reason, .. } in &left_out {
        log::warn!("left out: {name}: {reason}");
    }
    let statistics = pass.statistics();
    if statistics.inputs().is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    let tables = statistics.tables();
    match &options.out {
        Some(out) if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => {
            write_csv(&tables, how, out)
        }
        Some(out) => {
            let parameters = json!({
                "metrics": how.metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>(),
                "n_inputs": statistics.inputs().len(),
                "left_out": left_out.iter().map(|one| json!({ "input": one.source, "reason": one.reason })).collect::<Vec<_>>(),
            });
            let mut document = document(&detect::METHOD, &parameters, &[], &result(statistics, &tables, how));
            document["model"] = spec_json(model.spec());
            write(&document, out)
        }
        None => {
            if let Some((folder, written)) = written {
                // A closed pipe is not an error.
                writeln!(io::stdout().lock(), "{} written to {}\n", written.text(), folder.display()).ok();
            }
            let table = match how.head {
                Some((layer, head)) => of_head(&tables, how, layer, head)?,
                None => table(&tables, how, left_out.len()),
            };
            // A closed pipe is not an error.
            io::stdout().lock().write_all(table.as_bytes()).ok();
            Ok(())
        }
    }
}

/// Holds the heads over another corpus or of another model against those of an order.
fn against(
    options: &HeadsOptions,
    (name, order): (&str, StatisticsOrder<'_>),
    engine: &Engine,
) -> Result<(), CliError> {
    let (input, how) = (&options.input, &options.of_corpus);
    let other = how.against_model.as_deref().map(|other| open_identified(other, engine)).transpose()?;
    let other_model = other.as_ref().map_or(order.model, |(model, _)| model);
    if let Some(sentence) = layouts_differ(order.model.spec(), other_model.spec()) {
        return Err(CliError::Usage(sentence));
    }
    let list = how.against.as_deref().map(|path| input.other_corpus(path)).transpose()?;
    let first = summed(order)?;
    let second =
        summed(StatisticsOrder { model: other_model, list: list.as_ref().unwrap_or(order.list), how: order.how })?;
    let corpora = [input.corpus_name(), how.against.as_deref().unwrap_or(Path::new(""))];
    let [corpus, other_corpus] = corpora.map(|path| path.display().to_string());
    let names = match &how.against_model {
        Some(other) => [name, other],
        None => [&*corpus, &*other_corpus],
    };
    let models = [&**order.model.spec(), &**other_model.spec()];
    let statistics = [first.statistics(), second.statistics()];
    let sides = contrast_heads::Sides { names, models, statistics };
    contrast_heads::tell(sides, how, how.correction.unwrap_or_default(), options.out.as_deref())
}

/// All inputs of an order, added up.
fn summed(order: StatisticsOrder<'_>) -> Result<StatisticsPass, CliError> {
    let mut pass = StatisticsPass::new(order.model);
    pass.run(order, &show_progress, &mut |_| Ok(())).map_err(|stop| CliError::Failed(stop.to_string()))?;
    for LeftOut { name, reason, .. } in &pass.left_out(order.list) {
        log::warn!("left out: {name}: {reason}");
    }
    if pass.statistics().inputs().is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    Ok(pass)
}

/// A pass that goes on from a file, or one from the beginning where there is no file yet.
fn resumed(path: &Path, key: &str, order: StatisticsOrder<'_>) -> Result<StatisticsPass, CliError> {
    let failed = |reason: String| CliError::Failed(format!("{reason}: {}", path.display()));
    match fs::read(path) {
        Ok(bytes) => {
            StatisticsPass::from_bytes(&bytes, key, order.model).map_err(|error| failed(sentence(&error.to_string())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(StatisticsPass::new(order.model)),
        Err(error) => Err(failed(format!("the sums cannot be read: {}", unreadable(&error)))),
    }
}

/// The whole file or none.
fn keep(pass: &StatisticsPass, path: &Path, key: &str) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(format!("the sums cannot be kept: {error}"));
    let bytes = pass.to_bytes(key).map_err(|error| failed(error.to_string()))?;
    export::atomic_write(path, |out| out.write_all(&bytes)).map_err(|error| failed(error.to_string()))
}

/// By stack: every head with its numbers, and each metric with what it is.
fn result(statistics: &HeadStatistics, tables: &[StackTable], how: &CorpusHeadsOptions) -> Value {
    let stacks = tables.iter().map(|table| {
        let columns: Vec<&MetricColumn> = table.columns.iter().filter(|column| how.wants(column.metric)).collect();
        let metric = |column: &&MetricColumn| {
            let threshold = column.metric.threshold();
            let left_out: Map<String, Value> =
                column.left_out.iter().map(|(reason, n)| (reason.to_string(), (*n).into())).collect();
            let of = json!({
                "title": column.metric.title(), "meaning": column.metric.meaning(),
                "threshold": threshold.map(|(least, _)| least), "n_of": column.metric.counts(),
                "inputs_left_out": left_out,
            });
            (column.metric.name().to_owned(), of)
        };
        let heads: Vec<Value> = table
            .heads
            .iter()
            .enumerate()
            .map(|(at, head)| {
                let number = |column: &&MetricColumn| {
                    let value = column.cells[at].map_or(Value::Null, |cell| cell_json(&cell));
                    (column.metric.name().to_owned(), value)
                };
                let kinds: Vec<&str> =
                    table.kinds_of(*head, &Thresholds::default()).iter().map(|(metric, _)| metric.name()).collect();
                json!({
                    "layer": head.layer, "head": head.head, "kinds": kinds,
                    "metrics": columns.iter().map(number).collect::<Map<String, Value>>(),
                    "most_active": most_active(statistics, *head),
                })
            })
            .collect();
        let families = how.families(table);
        let family = |(nth, family): (usize, &Family)| {
            let heads: Vec<String> = family.heads.iter().map(ToString::to_string).collect();
            let reasons: Vec<Value> =
                family.reasons.iter().map(|(metric, high)| json!({ "metric": metric.name(), "high": high })).collect();
            json!({ "family": nth + 1, "heads": heads, "reasons": reasons, "silhouette": family.silhouette })
        };
        let told: Vec<Value> = families.all().iter().enumerate().map(family).collect();
        let undefined: Map<String, Value> = table
            .undefined
            .iter()
            .filter(|(metric, _)| how.wants(*metric))
            .map(|(metric, reason)| (metric.name().to_owned(), reason.to_string().into()))
            .collect();
        let of = json!({
            "n_inputs": table.n_inputs, "n_queries": table.n_queries, "undefined": undefined,
            "metrics": columns.iter().map(metric).collect::<Map<String, Value>>(), "heads": heads,
            "families": { "silhouette": families.mean_silhouette(), "of": told },
        });
        (table.stack.name().to_owned(), of)
    });
    Value::Object(stacks.collect())
}

fn cell_json(RankedStatistic { statistic, rank, n_ranked }: &RankedStatistic) -> Value {
    json!({
        "value": statistic.value, "error": statistic.error, "n": statistic.n_rows, "inputs": statistic.n_inputs,
        "rank": rank, "of": n_ranked,
    })
}

/// Inputs in which a head is most active, by their place in the list.
fn most_active(statistics: &HeadStatistics, head: HeadId) -> Vec<Value> {
    let sums = statistics.of_stack(head.stack).and_then(|stack| stack.head(head));
    let activations = sums.map_or(&[][..], |sums| sums.activations());
    let mut order: Vec<(u32, f32)> = statistics.inputs().iter().copied().zip(activations.iter().copied()).collect();
    order.retain(|(_, activation)| !activation.is_nan());
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let one = |(input, activation): (u32, f32)| json!({ "input": input, "activation": activation });
    order.into_iter().take(N_INPUTS).map(one).collect()
}

/// A line for each head and metric.
fn write_csv(tables: &[StackTable], how: &CorpusHeadsOptions, out: &Path) -> Result<(), CliError> {
    let mut text = "stack,layer,head,metric,value,error,n,inputs,rank,of\n".to_owned();
    for table in tables {
        for (at, head) in table.heads.iter().enumerate() {
            for column in table.columns.iter().filter(|column| how.wants(column.metric)) {
                write!(text, "{},{},{},{},", head.stack, head.layer, head.head, column.metric.name()).ok();
                if let Some(RankedStatistic { statistic, rank, n_ranked }) = column.cells[at] {
                    let error = statistic.error.map(|error| error.to_string()).unwrap_or_default();
                    let (n, inputs) = (statistic.n_rows, statistic.n_inputs);
                    write!(text, "{},{error},{n},{inputs},{rank},{n_ranked}", statistic.value).ok();
                } else {
                    text.push_str(",,,,,");
                }
                text.push('\n');
            }
        }
    }
    export::atomic_write(out, |out| out.write_all(text.as_bytes())).map_err(|error| CliError::Failed(error.to_string()))
}

/// The highest numbers by metric.
fn table(tables: &[StackTable], how: &CorpusHeadsOptions, n_left_out: usize) -> String {
    let n = tables.first().map_or(0, |table| table.n_inputs);
    let inputs = counted(n, "input");
    let mut text =
        format!("Highest numbers over {inputs}, with standard errors; * reaches the threshold of the kind\n");
    if n_left_out > 0 {
        writeln!(text, "{} left out, as the warnings say", counted(n_left_out, "input")).ok();
    }
    for table in tables {
        let queries = grouped(table.n_queries as usize);
        writeln!(text, "\n{}, {} heads, {queries} queries", table.stack, table.heads.len()).ok();
        for column in table.columns.iter().filter(|column| how.wants(column.metric)) {
            write!(text, "  {:<20}", column.metric.name()).ok();
            for at in column.order().into_iter().take(N_BEST) {
                let Some(cell) = column.cells[at] else { continue };
                let holds =
                    column.metric.threshold().is_some_and(|(least, _)| cell.statistic.value >= f64::from(least));
                let mark = if holds { '*' } else { ' ' };
                write!(text, "  {:<6} {:>16}{mark}", table.heads[at].to_string(), cell.text()).ok();
            }
            if let Some((least, _)) = column.metric.threshold() {
                write!(text, "  from {least} on").ok();
            }
            let n: u64 = column.left_out.iter().map(|(_, n)| n).sum();
            if n > 0 {
                let reasons: Vec<String> = column.left_out.iter().map(|(reason, _)| reason.to_string()).collect();
                write!(text, "  without {}: {}", counted(n as usize, "input"), reasons.join(", ")).ok();
            }
            text.push('\n');
        }
        text.push_str(&undefined(table, how));
        let families = how.families(table);
        if let Some(silhouette) = families.mean_silhouette() {
            let silhouette = decimal_text(silhouette);
            writeln!(text, "\n  Families by average linkage of standardised numbers, mean silhouette {silhouette}")
                .ok();
        }
        for (nth, family) in families.all().iter().enumerate() {
            let heads: Vec<String> = family.heads.iter().take(N_NAMED).map(ToString::to_string).collect();
            let more = if family.heads.len() > N_NAMED { " …" } else { "" };
            writeln!(text, "  {:>2}  {}\n      {}{more}", nth + 1, family.text(), heads.join(" ")).ok();
        }
    }
    text
}

/// The numbers that no head of a stack has, with the reasons.
fn undefined(table: &StackTable, how: &CorpusHeadsOptions) -> String {
    let wanted = table.undefined.iter().filter(|(metric, _)| how.wants(*metric));
    undefined_text(wanted.map(|(metric, reason)| (metric.name(), *reason)))
}

/// All numbers of one head, with their ranks.
fn of_head(tables: &[StackTable], how: &CorpusHeadsOptions, layer: usize, head: usize) -> Result<String, CliError> {
    let mut text = String::new();
    for table in tables {
        let Some(id) = table.heads.iter().copied().find(|id| (id.layer, id.head) == (layer, head)) else { continue };
        let kinds: Vec<&str> =
            table.kinds_of(id, &Thresholds::default()).iter().map(|(metric, _)| metric.kind_title()).collect();
        let kinds = if kinds.is_empty() { "no known kind".to_owned() } else { kinds.join(", ") };
        writeln!(text, "{id} of {}: {kinds}", table.stack).ok();
        for metric in Metric::ALL.into_iter().filter(|metric| how.wants(*metric)) {
            let Some(cell) = table.cell(metric, id) else { continue };
            let (rank, n) = (cell.rank_text(), cell.statistic.n_rows as usize);
            let of = counted(n, metric.counts());
            writeln!(text, "  {:<20} {:>16}, {rank}, {of}", metric.name(), cell.text()).ok();
        }
        text.push_str(&undefined(table, how));
        let similar = Fingerprints::of(table).similar_to(id, N_SIMILAR);
        if !similar.is_empty() {
            writeln!(
                text,
                "  Similar heads, by the cosine of standardised numbers, with those on which both stand out:"
            )
            .ok();
        }
        for similar in similar {
            writeln!(text, "    {}", similar.text()).ok();
        }
    }
    let missing = || CliError::Usage(format!("the model has no head L{layer}H{head}"));
    if text.is_empty() { Err(missing()) } else { Ok(text) }
}

//! `attnscope direction`: the difference of the means of a site between two sets of inputs, as a change of other runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;

use super::{CliError, compute::ComputeOptions, inputs::PreparationOptions, note, open_model, show_progress};
use crate::{
    capture::{Along, MeanOf, Site},
    corpus::list::ListOptions,
    export,
    ids::{ModelId, StackKind},
    protocol::{Between, MeanInputs, PatchedRows},
    worker::{Means, Stop, corpus},
};

/// Sites without heads, which alone have directions.
fn sites() -> impl Iterator<Item = Site> {
    Site::ALL.into_iter().filter(|site| !site.is_per_head() && !site.is_of_recurrence())
}

fn site_help() -> String {
    format!("Site that is averaged: {}", sites().map(Site::name).collect::<Vec<_>>().join(", "))
}

fn mean_help() -> String {
    let each = MeanOf::ALL.map(|mean| format!("{} ({})", mean.name(), mean.words()));
    format!("What a mean is over: {}; with all and words a long text weighs more", each.join(", "))
}

/// Options of `attnscope direction`.
#[derive(Debug, Args)]
pub struct DirectionOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    /// Inputs that the direction leads to: a text, table or JSON file, or a bundled list such as demo:sentences
    #[arg(long, value_name = "FILE")]
    plus: String,
    /// Inputs that it leads away from
    #[arg(long, value_name = "FILE")]
    minus: String,
    #[arg(long, help = site_help(), default_value = "resid_post", value_parser = parse_site)]
    site: Site,
    /// Layer of the site; sites before and after all layers have none
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// Attention stack whose tokens are averaged [default: the first of the model]
    #[arg(long)]
    stack: Option<StackKind>,
    #[arg(long, alias = "tokens", help = mean_help(), default_value = MeanOf::Words.name())]
    mean: MeanOf,
    /// How the texts of both lists are prepared.
    #[command(flatten)]
    how: PreparationOptions,
    /// Times that the change adds the direction
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        conflicts_with = "remove"
    )]
    add: f32,
    /// Project the direction out instead
    #[arg(long)]
    remove: bool,
    /// Where to write the change, for --edit @FILE
    #[arg(long, value_name = "FILE.json")]
    out: PathBuf,
    #[command(flatten)]
    compute: ComputeOptions,
}

fn parse_site(name: &str) -> Result<Site, String> {
    Site::from_name(name).ok_or_else(|| "choose a site such as resid_post".to_owned())
}

/// Computes the direction and writes the change.
pub fn run(options: &DirectionOptions) -> Result<(), CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::Failed(error.to_string());
    let read = |path: &String| -> Result<MeanInputs, CliError> {
        let list = corpus::read(Path::new(path), &ListOptions::default()).map_err(|error| failed(&error))?;
        list.notes.iter().for_each(|sentence| note(&format!("{sentence}: {path}")));
        let sources = (0..list.items.len()).collect();
        let name = Path::new(path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        Ok(MeanInputs::Listed { name, list: Arc::new(list), sources, how: options.how.chosen() })
    };
    let (plus, minus) = (read(&options.plus)?, read(&options.minus)?);
    let model = open_model(&options.model, &options.compute.engine()?)?;
    let stack = options.stack.or_else(|| model.spec().stacks.first().map(|stack| stack.kind)).unwrap_or_default();
    let DirectionOptions { site, mean, .. } = *options;
    let layer = match options.layer {
        Some(layer) if site.is_of_layer() => layer,
        None if site.is_of_layer() => {
            return Err(CliError::Usage(format!("name the layer of {} with --layer", site.name())));
        }
        given => {
            if given.is_some() {
                note(&format!("{} is there once, whatever the layer", site.name()));
            }
            0
        }
    };
    let rows = PatchedRows { site, stack, layer, head: None, positions: Vec::new() };
    let along = if options.remove { Along::Remove } else { Along::Add(options.add) };
    let wanted = Between { rows, plus, minus, mean, along };
    let mut said = Vec::new();
    let found = Means::default().direction((ModelId(0), &model), &wanted, (&show_progress, &mut said));
    let edit = found.map_err(|stop| match stop {
        Stop::Failed(failure) => CliError::Failed(failure.summary),
        Stop::Cancelled | Stop::Later(_) => CliError::Failed("stopped".to_owned()),
    })?;
    for sentence in &said {
        note(sentence);
    }
    export::atomic_write(&options.out, |writer| Ok(serde_json::to_writer(writer, &edit)?))
        .map_err(|error| failed(&error))
}

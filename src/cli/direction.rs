//! `attnscope direction`: the difference of the means of a site between two sets of inputs, as a change of other runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;

use super::{CliError, engine, open_model, show_progress};
use crate::{
    capture::{Along, AppliedEdit, Site, file},
    corpus::list::ListOptions,
    export,
    ids::StackKind,
    protocol::{Between, MeanInputs, Rows, TokensMeant},
    worker::{Stop, corpus, direction},
};

/// Names have underscores, which a doc comment would set as code.
const SITE_HELP: &str =
    "Site that is averaged: embed, resid_pre, resid_mid, resid_post, attn_out, mlp_out or mlp_hidden";

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
    #[arg(long, help = SITE_HELP, default_value = "resid_post", value_parser = parse_site)]
    site: Site,
    /// Layer of the site
    #[arg(long, value_name = "L")]
    layer: usize,
    /// Attention stack whose tokens are averaged [default: the first of the model]
    #[arg(long, value_parser = parse_stack)]
    stack: Option<StackKind>,
    /// Tokens that count: words (all but special ones), all or last
    #[arg(long, default_value = TokensMeant::Words.name(), value_parser = parse_tokens)]
    tokens: TokensMeant,
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
    /// Compute threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

fn parse_site(name: &str) -> Result<Site, String> {
    Site::from_name(name).ok_or_else(|| "choose a site such as resid_post".to_owned())
}

fn parse_stack(name: &str) -> Result<StackKind, String> {
    StackKind::from_name(name).ok_or_else(|| format!("choose from {}", StackKind::ALL.map(StackKind::name).join(", ")))
}

fn parse_tokens(name: &str) -> Result<TokensMeant, String> {
    TokensMeant::ALL
        .into_iter()
        .find(|tokens| tokens.name() == name)
        .ok_or_else(|| "choose words, all or last".to_owned())
}

/// Computes the direction and writes the change.
pub fn run(options: &DirectionOptions) -> Result<(), CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::Failed(error.to_string());
    let read = |path: &String| -> Result<MeanInputs, CliError> {
        let list = corpus::read(Path::new(path), &ListOptions::default()).map_err(|error| failed(&error))?;
        let sources = (0..list.items.len()).collect();
        Ok(MeanInputs::Listed { name: path.clone(), list: Arc::new(list), sources })
    };
    let (plus, minus) = (read(&options.plus)?, read(&options.minus)?);
    let model = open_model(&options.model, &engine(options.threads.map(usize::from))?)?;
    let stack = options.stack.or_else(|| model.spec().stacks.first().map(|stack| stack.kind)).unwrap_or_default();
    let DirectionOptions { site, layer, tokens, .. } = *options;
    let rows = Rows { site, stack, layer, head: None, positions: Vec::new() };
    let along = if options.remove { Along::Remove } else { Along::Add(options.add) };
    let wanted = Between { rows, plus, minus, tokens, along };
    let edit = direction(&model, &wanted, &show_progress).map_err(|stop| match stop {
        Stop::Failed(failure) => CliError::Failed(failure.summary),
        Stop::Cancelled | Stop::Later(_) => CliError::Failed("stopped".to_owned()),
    })?;
    let json = file::edit_to_json(&AppliedEdit::Known(edit));
    export::atomic_write(&options.out, |writer| Ok(serde_json::to_writer(writer, &json)?))
        .map_err(|error| failed(&error))
}

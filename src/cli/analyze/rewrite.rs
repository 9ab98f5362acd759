//! Options of writing another association over one.

use std::path::{Path, PathBuf};

use clap::Args;

use super::lab::{self, LabOptions, Method};
use crate::{
    capture::{AppliedEdit, file},
    cli::CliError,
    corpus::list::{Content, ListOptions},
    export,
    lab::{Ask, RewriteOptions, Subject, edit_of},
    worker::corpus,
};

#[derive(Debug, Args)]
pub struct RankOne {
    #[command(flatten)]
    lab: LabOptions,
    /// Subject, whose last token is the key: positions such as 2..5, the last not included, or words of the text
    #[arg(long, value_name = "A..B|WORDS")]
    subject: String,
    /// New answer: a token's text, or a class; --class names the present answer
    #[arg(long, value_name = "TEXT")]
    object: String,
    /// Layer whose MLP is changed [default: one in the middle]
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// A text that asks the same in other words; give it several times for several
    #[arg(long, value_name = "TEXT")]
    paraphrase: Vec<String>,
    /// A text whose answer should stay; give it several times for several
    #[arg(long, value_name = "TEXT")]
    neighbour: Vec<String>,
    /// Texts whose keys should keep their values: a text, table or JSON file [default: the bundled sentences]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Steps of the search for the value
    #[arg(long, value_name = "N", default_value_t = RewriteOptions::of(Subject::Positions(0..0), None).n_steps as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    steps: u16,
    /// Ridge: share of the keys' mean square added to every direction
    #[arg(long, value_name = "R", default_value_t = RewriteOptions::of(Subject::Positions(0..0), None).ridge)]
    ridge: f64,
    /// Write the change itself, for --edit @FILE
    #[arg(long, value_name = "FILE.json")]
    edit_out: Option<PathBuf>,
}

/// The options with the corpus read.
struct Read<'a> {
    options: &'a RankOne,
    corpus: Vec<String>,
}

impl Method for Read<'_> {
    fn lab(&self) -> &LabOptions {
        &self.options.lab
    }
    fn ask(&self) -> Ask {
        self.options.ask(self.corpus.clone())
    }
}

impl RankOne {
    /// The question; `corpus` are the texts whose keys keep their values.
    pub fn ask(&self, corpus: Vec<String>) -> Ask {
        let Self { subject, object, layer, paraphrase, neighbour, steps, ridge, .. } = self;
        Ask::RankOne(RewriteOptions {
            subject: Subject::parse(subject),
            object: Some(object.clone()),
            layer: *layer,
            paraphrases: paraphrase.clone(),
            neighbours: neighbour.clone(),
            corpus,
            n_steps: usize::from(*steps),
            ridge: *ridge,
        })
    }

    /// Reads the corpus, writes the answer, and the change where that is wanted.
    pub fn run(&self) -> Result<(), CliError> {
        let corpus = self.keys.as_deref().map(texts).transpose()?.unwrap_or_default();
        let report = lab::answered(&Read { options: self, corpus })?;
        let (Some(path), Some(edit)) = (&self.edit_out, edit_of(&report)) else { return Ok(()) };
        let json = file::edit_to_json(&AppliedEdit::Known(edit));
        export::atomic_write(path, |writer| Ok(serde_json::to_writer(writer, &json)?))
            .map_err(|error| CliError::Failed(error.to_string()))
    }
}

/// The texts of a file.
fn texts(path: &Path) -> Result<Vec<String>, CliError> {
    let list = corpus::read(path, &ListOptions::default()).map_err(|error| CliError::Failed(error.to_string()))?;
    let text = |content| if let Content::Text(text) = content { Some(text) } else { None };
    let texts: Vec<String> = list.items.into_iter().filter_map(|item| text(item.content)).collect();
    if texts.is_empty() {
        return Err(CliError::Failed(format!("{} has no texts: keys are taken from texts", path.display())));
    }
    Ok(texts)
}

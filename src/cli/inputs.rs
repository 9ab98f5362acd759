//! Inputs of subcommands: texts, pictures, raw ids or raw pixels, and a decoder's text.

use std::{
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::CliError;
use crate::{
    capture::{
        Capture, Excerpt, Keep,
        file::{FileError, Format},
        groups::Groups,
    },
    corpus::list::{Content, InputList, ListOptions, Split},
    model::{Chat, ImageSource, Input, Preparation, TextInput},
    text::unreadable,
    worker::{self, corpus},
};

/// Inputs as every subcommand takes them.
#[derive(Debug, Default, clap::Args)]
pub struct InputOptions {
    /// Text to run on; give it several times for several inputs
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,
    /// A file with one text per line
    #[arg(long, value_name = "FILE")]
    texts_file: Option<PathBuf>,
    /// Many inputs: a text file, a table (CSV), JSON or JSON lines, a folder of pictures, or demo:sentences,
    /// demo:pairs, demo:reviews, demo:rationales or demo:pictures; what cannot be read among them is left out
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    /// Column of a corpus with the text [default: the likeliest]
    #[arg(long, value_name = "NAME", requires = "corpus")]
    text_column: Option<String>,
    /// Column of a corpus with the words of each text, separated by | or spaces: they become groups of tokens; it may be
    /// the column with the text
    #[arg(long, value_name = "NAME", requires = "corpus")]
    groups_column: Option<String>,
    /// One input of a corpus is one of: lines (rows of a table), sentences
    #[arg(long, value_name = "WHAT", requires = "corpus", default_value = "lines", value_parser = parse_split)]
    split: SplitBy,
    /// Picture to run on; give it several times for several inputs
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    #[command(flatten)]
    rest: InputRest,
}

/// The one input that a subcommand takes.
#[derive(Debug, Default, clap::Args)]
pub struct OneInput {
    /// Text to run on
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Picture to run on
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    #[command(flatten)]
    rest: InputRest,
}

/// What is said about inputs, one or many.
#[derive(Debug, Default, clap::Args)]
struct InputRest {
    /// Second sentence of a pair
    #[arg(long, value_name = "TEXT", requires = "text")]
    text_b: Option<String>,
    /// Raw token ids, separated by commas: skips the tokenizer
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    ids: Vec<u32>,
    /// A safetensors file with `pixel_values` [3, height, width]: skips the image processor
    #[arg(long, value_name = "FILE")]
    pixels: Option<PathBuf>,
    /// How texts are prepared.
    #[command(flatten)]
    how: PreparationOptions,
    /// Text of the system before the text, in a chat template
    #[arg(long, value_name = "TEXT", requires = "chat")]
    system: Option<String>,
    /// Text that the decoder of an encoder–decoder is forced to write [default: the model writes]
    #[arg(long, value_name = "TEXT", conflicts_with = "target_ids")]
    target: Option<String>,
    /// Token ids that the decoder reads, start token included: skips the tokenizer
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    target_ids: Vec<u32>,
}

/// How every text is prepared that a subcommand reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct PreparationOptions {
    /// Leave out the special tokens that the tokenizer would add
    #[arg(long, conflicts_with = "chat")]
    no_special: bool,
    /// Prepare texts as sentence-transformers does where the model says how: prompt, lower case, longest text
    #[arg(long, conflicts_with = "chat")]
    sentence_transformers: bool,
    /// Brackets in texts group tokens into words of one's own, as in "[New York] is big"; \[ and \] are brackets
    /// of the text
    #[arg(long, conflicts_with_all = ["sentence_transformers", "chat"])]
    pub brackets: bool,
    #[command(flatten)]
    chat: ChatOptions,
    /// What is read of a text that is too long.
    #[command(flatten)]
    excerpt: ExcerptOptions,
}

impl PreparationOptions {
    /// What was chosen.
    pub fn chosen(self) -> Preparation {
        let Self { no_special, sentence_transformers, brackets, chat, excerpt } = self;
        Preparation { no_special, sentence_transformers, brackets, chat: chat.chosen(), excerpt: excerpt.chosen() }
    }
}

/// Whether texts are turns of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ChatOptions {
    /// Write the model's chat template around each text, as a turn of the user
    #[arg(long)]
    chat: bool,
    /// Tell the chat template that the model is not to think first; most that ask think where nobody says
    #[arg(long, requires = "chat")]
    no_thinking: bool,
}

impl ChatOptions {
    /// What was chosen.
    pub fn chosen(self) -> Option<Chat> {
        self.chat.then(|| Chat { thinking: self.no_thinking.then_some(false), ..Chat::default() })
    }
}

/// What is read of a text with more tokens than the model takes. Without a choice it is refused; the window offers one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ExcerptOptions {
    /// Read at most this many tokens of each text [default: all; refused where the model's positions end]
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Which tokens of a longer text --max-tokens reads: first, last
    #[arg(long, value_name = "END", requires = "max_tokens")]
    keep: Option<Keep>,
}

impl ExcerptOptions {
    /// What was chosen.
    pub fn chosen(self) -> Option<Excerpt> {
        self.max_tokens.map(|n_tokens| Excerpt::of(self.keep.unwrap_or_default(), n_tokens))
    }
}

/// What one input of a plain text is; a line unless it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitBy(pub Split);

impl InputOptions {
    /// Whether the inputs are those of a corpus.
    pub const fn is_corpus(&self) -> bool {
        self.corpus.is_some()
    }

    /// The corpus that was named; what is to be known about it is a warning.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn corpus(&self) -> Result<Option<InputList>, CliError> {
        if self.is_corpus() && self.rest.system.is_some() {
            let message = "what runs over a corpus as a whole takes no --system: give the texts by --texts-file";
            return Err(CliError::Usage(message.to_owned()));
        }
        self.list()
    }

    /// The corpus that was named, to be run input by input.
    fn list(&self) -> Result<Option<InputList>, CliError> {
        self.corpus.as_deref().map(|path| self.other_corpus(path)).transpose()
    }

    /// The name of the corpus; empty where none was given.
    pub fn corpus_name(&self) -> &Path {
        self.corpus.as_deref().unwrap_or(Path::new(""))
    }

    /// Another corpus, which is read as the one that was named.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn other_corpus(&self, path: &Path) -> Result<InputList, CliError> {
        let options = ListOptions {
            text_column: self.text_column.clone(),
            split: self.split.0,
            groups_column: self.groups_column.clone(),
        };
        let list = corpus::read(path, &options).map_err(|error| CliError::Failed(error.to_string()))?;
        for note in &list.notes {
            log::warn!("{note}: {}", path.display());
        }
        Ok(list)
    }

    /// Whether nothing else was given besides a corpus.
    pub fn only_corpus(&self) -> bool {
        self.only_list() && self.rest.how == PreparationOptions::default()
    }

    /// Whether a corpus was given, and no other input.
    pub fn only_list(&self) -> bool {
        self.corpus.is_some()
            && self.text.is_empty()
            && self.texts_file.is_none()
            && self.image.is_empty()
            && self.rest.is_empty()
            && self.rest.target.is_none()
            && self.rest.target_ids.is_empty()
            && self.rest.text_b.is_none()
    }

    /// How texts are prepared.
    pub fn preparation(&self) -> Preparation {
        self.rest.how.chosen()
    }

    /// Whether nothing was given to run on.
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.texts_file.is_none()
            && self.corpus.is_none()
            && self.image.is_empty()
            && self.rest.is_empty()
    }

    /// What to run on, each with the target that was given.
    pub fn read(&self) -> Result<Vec<Input>, CliError> {
        let how = self.rest.how.chosen();
        let how = if self.is_corpus() { how.of_many() } else { how };
        let mut texts: Vec<(String, Preparation)> = self.text.iter().map(|text| (text.clone(), how)).collect();
        if let Some(path) = &self.texts_file {
            let content = fs::read_to_string(path)
                .map_err(|error| CliError::Failed(format!("the texts cannot be read: {error}: {}", path.display())))?;
            let lines = content.lines().filter(|line| !line.trim().is_empty());
            texts.extend(lines.map(|line| (line.to_owned(), how)));
        }
        let mut pictures: Vec<Input> = self.image.iter().map(|path| picture(path)).collect();
        for item in self.list()?.into_iter().flat_map(|list| list.items) {
            match item.content {
                Content::Text(text) => texts.push((text, how)),
                Content::Grouped(text) => texts.push((text.to_string(), Preparation { brackets: true, ..how })),
                picture => pictures.push(corpus::input_of(&picture, Preparation::default())),
            }
        }
        let inputs = self.rest.inputs(texts, pictures, how)?;
        inputs.ok_or_else(|| {
            let message = "give one kind of text (--text, --texts-file or --corpus, or --ids), one kind of picture \
                           (--image or --pixels), or both for a model that reads both";
            CliError::Usage(message.to_owned())
        })
    }
}

impl OneInput {
    /// Whether nothing was given to run on.
    pub const fn is_empty(&self) -> bool {
        self.text.is_none() && self.image.is_none() && self.rest.is_empty()
    }

    /// What to run on, with the target that was given.
    pub fn read(&self) -> Result<Input, CliError> {
        let how = self.rest.how.chosen();
        let texts = self.text.iter().map(|text| (text.clone(), how)).collect();
        let pictures = self.image.iter().map(|path| picture(path)).collect();
        let inputs = self.rest.inputs(texts, pictures, how)?;
        inputs.and_then(|mut inputs| inputs.pop()).ok_or_else(|| {
            let message = "give one text (--text or --ids), one picture (--image or --pixels), or both for a model \
                           that reads both";
            CliError::Usage(message.to_owned())
        })
    }
}

fn picture(path: &Path) -> Input {
    Input::Image(ImageSource::Path(path.to_owned()))
}

impl InputRest {
    /// Whether nothing among it can be run.
    const fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.pixels.is_none()
    }

    /// All that can be run, each with the target that was given; `None` where there is nothing, or kinds are mixed.
    fn inputs(
        &self,
        texts: Vec<(String, Preparation)>,
        mut pictures: Vec<Input>,
        how: Preparation,
    ) -> Result<Option<Vec<Input>>, CliError> {
        let ids = (!self.ids.is_empty()).then(|| Input::Ids(self.ids.clone()));
        let is_mixed = (!pictures.is_empty() && self.pixels.is_some()) || (!texts.is_empty() && ids.is_some());
        pictures.extend(self.pixels.as_deref().map(read_pixels).transpose()?);
        let texts = texts.into_iter().map(|(text, how)| {
            let (text_b, system) = (self.text_b.clone(), self.system.clone());
            Input::Text(TextInput { text, text_b, system, how })
        });
        let texts: Vec<Input> = texts.chain(ids).collect();
        let sources = match (pictures.is_empty(), texts.is_empty()) {
            _ if is_mixed => return Ok(None),
            (true, true) => return Ok(None),
            (false, true) => pictures,
            (true, false) => texts,
            // A model that compares both, or one that is made to write the text: each picture with each text.
            (false, false) => {
                let with_texts =
                    |picture: Input| texts.iter().map(move |text| picture.clone().with_target(text.clone()));
                pictures.into_iter().flat_map(with_texts).collect()
            }
        };
        let target = match &self.target {
            Some(text) => {
                let how = Preparation { brackets: how.brackets, ..Preparation::default() };
                Input::Text(TextInput { text: text.clone(), how, ..TextInput::default() })
            }
            None if self.target_ids.is_empty() => return Ok(Some(sources)),
            None => Input::Ids(self.target_ids.clone()),
        };
        Ok(Some(sources.into_iter().map(|source| source.with_target(target.clone())).collect()))
    }
}

impl InputOptions {
    /// Whether something groups tokens.
    pub const fn has_groups(&self) -> bool {
        self.rest.how.brackets || self.groups_column.is_some()
    }
}

/// A file with groups of tokens.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GroupOptions {
    /// Groups of tokens that are words of one's own: JSON lists of positions, such as [[3, 4], [7, 8, 9]], or an object
    /// with such lists by side ("encoder", "decoder")
    #[arg(long, value_name = "FILE.json")]
    groups: Option<PathBuf>,
}

impl GroupOptions {
    /// Whether a file was named.
    pub const fn is_some(&self) -> bool {
        self.groups.is_some()
    }

    /// Groups the tokens of a capture.
    ///
    /// # Errors
    /// When the file cannot be read, or its groups do not fit the tokens.
    pub fn apply(&self, capture: Capture) -> Result<Capture, CliError> {
        let Some(path) = &self.groups else { return Ok(capture) };
        let failed =
            |problem: String| CliError::Failed(format!("the groups cannot be used: {problem}: {}", path.display()));
        let bytes = fs::read(path).map_err(|error| failed(unreadable(&error)))?;
        let groups: Groups = serde_json::from_slice(&bytes).map_err(|_| {
            failed(
                "it has to hold lists of positions such as [[3, 4], [7, 8, 9]], or an object with them by side"
                    .to_owned(),
            )
        })?;
        capture.grouped(&groups).map_err(|error| failed(error.to_string()))
    }
}

/// How a plain text is cut.
pub fn parse_split(text: &str) -> Result<SplitBy, String> {
    match text {
        "lines" => Ok(SplitBy(Split::Lines)),
        "sentences" => Ok(SplitBy(Split::Sentences)),
        _ => Err("choose from lines, sentences".to_owned()),
    }
}

/// Reads `pixel_values`, `[3, height, width]` or `[1, 3, height, width]`, f32.
fn read_pixels(path: &Path) -> Result<Input, CliError> {
    let fail = |what: String| CliError::Failed(format!("the pixels cannot be read: {what}: {}", path.display()));
    let bytes = fs::read(path).map_err(|error| fail(unreadable(&error)))?;
    let tensors = safetensors::SafeTensors::deserialize(&bytes).map_err(|error| fail(error.to_string()))?;
    let tensor = tensors.tensor("pixel_values").map_err(|error| fail(error.to_string()))?;
    let (&[3, height, width] | &[1, 3, height, width]) = tensor.shape() else {
        return Err(fail(format!("pixel_values has the shape {:?} instead of [3, height, width]", tensor.shape())));
    };
    if tensor.dtype() != safetensors::Dtype::F32 {
        return Err(fail(format!("pixel_values is {:?} instead of F32", tensor.dtype())));
    }
    let data: Arc<[f32]> = tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(Input::Pixels { data, size_px: (height, width) })
}

/// Reads every capture of a file.
pub fn read_captures(path: &Path) -> Result<Vec<Capture>, CliError> {
    let failed = |error: String| CliError::Failed(format!("{error}: {}", path.display()));
    let format = path.file_name().and_then(|name| Format::of_name(name.to_str()?)).ok_or_else(|| {
        CliError::Usage(format!("a capture ends in .safetensors, .json, .json.gz, .npy or .npz: {}", path.display()))
    })?;
    let file = File::open(path).map_err(|error| failed(FileError::from(error).to_string()))?;
    worker::read_captures(&mut BufReader::new(file), format, &path.display().to_string()).map_err(failed)
}

/// A position on the command line.
pub fn parse_position(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a position: give a whole number, counted from 0"))
}

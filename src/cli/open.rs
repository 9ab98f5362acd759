//! `attnscope open`: what the window starts with. Only the options; the window is opened by `ui`.

use std::path::PathBuf;

use super::{
    compute::DeviceOptions,
    edits::EditOptions,
    inputs::{ChatOptions, ExcerptOptions, SplitBy, parse_split},
};
use crate::{
    analysis::{Space, search::SearchKind},
    ids::StackKind,
    options::one_of,
    session::{
        Address, Appearance, ViewKind,
        gallery::{EXAMPLES, stops},
    },
};

/// How an address begins, which no path does.
const SCHEME: &str = "attnscope:";

/// What paints the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RendererChoice {
    /// wgpu where there is a graphics card, OpenGL where there is none.
    #[default]
    Auto,
    /// Vulkan, Metal or DirectX.
    Wgpu,
    /// OpenGL.
    Glow,
}

vocabulary! {
    RendererChoice: name;
    Auto("auto"),
    Wgpu("wgpu"),
    Glow("glow"),
}

/// What the window starts with.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct OpenOptions {
    /// Model folders, checkpoint or capture files, folders of heads (HeadVis), pictures, texts, tables, session files and
    /// addresses (`attnscope://open?…`) to open, in any order
    pub paths: Vec<PathBuf>,
    /// A model folder, a bundled model such as demo:gpt, or a hub id in the local cache
    #[arg(long)]
    pub model: Option<String>,
    /// Text to run the model on
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// Second sentence of a pair
    #[arg(long, value_name = "TEXT")]
    pub text_b: Option<String>,
    /// Brackets in texts group tokens into words of one's own, as in "[New York] is big"
    #[arg(long, requires = "text", conflicts_with = "chat")]
    pub brackets: bool,
    /// Whether the text is a turn of a conversation.
    #[command(flatten)]
    pub chat: ChatOptions,
    /// Text of the system before the text, in a chat template
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub system: Option<String>,
    /// What is read of a text that is too long.
    #[command(flatten)]
    pub excerpt: ExcerptOptions,
    /// Text that the decoder of an encoder–decoder is forced to write [default: the model writes]
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
    /// Many inputs: a text file, a table (CSV), JSON or JSON lines, a folder of pictures, a capture file, or
    /// demo:sentences, demo:pairs, demo:reviews, demo:rationales or demo:pictures
    #[arg(long, value_name = "PATH")]
    pub corpus: Option<PathBuf>,
    /// Column of a corpus with the text [default: the likeliest]
    #[arg(long, value_name = "NAME", requires = "corpus")]
    pub text_column: Option<String>,
    /// Column of a corpus with the words of each text, separated by | or spaces: they become groups of tokens
    #[arg(long, value_name = "NAME", requires = "corpus")]
    pub groups_column: Option<String>,
    /// One input of a corpus is one of: lines (rows of a table), sentences
    #[arg(long, value_name = "WHAT", requires = "corpus", default_value = "lines", value_parser = parse_split)]
    pub split: SplitBy,
    /// Changes to begin with.
    #[command(flatten)]
    pub edits: EditOptions,
    /// Example to open, by its title
    #[arg(
        long, value_parser = parse_example, value_name = "TITLE",
        conflicts_with_all = ["paths", "model", "text", "corpus"]
    )]
    pub example: Option<usize>,
    /// Stop of the lecture to open, by its number or title [default: the first]
    #[arg(
        long, value_parser = parse_stop, value_name = "STOP", num_args = 0..=1, default_missing_value = "1",
        conflicts_with_all = ["paths", "model", "text", "corpus", "example"]
    )]
    pub lecture: Option<usize>,
    /// View to show.
    #[arg(
        long, value_parser = ViewKind::parse,
        help = format!("View to show: {}", ViewKind::names(|_| true))
    )]
    pub view: Option<ViewKind>,
    #[arg(long, help = format!("Attention stack to show: {}", StackKind::ALL.map(StackKind::name).join(", ")))]
    pub stack: Option<StackKind>,
    /// Layer to show, from 0
    #[arg(long)]
    pub layer: Option<usize>,
    /// Head to show, from 0
    #[arg(long)]
    pub head: Option<usize>,
    /// Query token to pin, from 0
    #[arg(long)]
    pub query: Option<usize>,
    /// Points of the query–key maps.
    #[arg(
        long, value_name = "WHAT",
        help = format!(
            "Points of {}: qk (queries with keys), values, residual, positions",
            ViewKind::names(|view| view.facts().lays_out_points)
        )
    )]
    pub space: Option<Space>,
    /// Tokens to search the query–key maps for.
    #[arg(
        long, value_name = "TEXT",
        help = format!(
            "Search the query–key maps for tokens that contain this text ({})",
            ViewKind::names(|view| view.facts().lays_out_points)
        )
    )]
    pub search: Option<String>,
    /// Kind of search: text, word (whole words, several separated by commas), regex (in words), id
    #[arg(long, requires = "search", default_value = "text", value_name = "KIND")]
    pub search_as: SearchKind,
    /// Theme: light, dark, system
    #[arg(long)]
    pub theme: Option<Appearance>,
    /// Size of the window in points, such as 1280x800
    #[arg(long, value_parser = parse_size, value_name = "WIDTHxHEIGHT")]
    pub size: Option<[f32; 2]>,
    #[command(flatten)]
    pub compute: DeviceOptions,
    /// Renderer: auto (wgpu with a graphics card, OpenGL without), wgpu, glow (OpenGL)
    #[arg(long, default_value = "auto")]
    pub renderer: RendererChoice,
    /// Save a picture of the window once everything has settled, and exit
    #[arg(long, value_name = "FILE.png")]
    pub screenshot: Option<PathBuf>,
    /// Write the milliseconds of every frame to this file
    #[arg(long, value_name = "FILE.csv")]
    pub frame_times: Option<PathBuf>,
}

impl OpenOptions {
    /// Addresses among the paths, and the paths.
    ///
    /// # Errors
    /// One sentence, when an address cannot be understood.
    pub fn targets(&self) -> Result<(Vec<Address>, Vec<PathBuf>), String> {
        let is_address = |path: &&PathBuf| path.to_str().is_some_and(|text| text.starts_with(SCHEME));
        let (addresses, paths): (Vec<_>, Vec<_>) = self.paths.iter().partition(is_address);
        let read = |path: &PathBuf| path.to_string_lossy().parse::<Address>().map_err(|error| error.to_string());
        Ok((addresses.into_iter().map(read).collect::<Result<_, _>>()?, paths.into_iter().cloned().collect()))
    }

    /// Whether everything that was given can be understood and opened together. Of several paths of one kind the window
    /// opens the first, and says which it does not.
    ///
    /// # Errors
    /// One sentence that says what cannot.
    pub fn check(&self) -> Result<(), String> {
        let (addresses, paths) = self.targets()?;
        if addresses.len() > 1 {
            return Err("one address is opened at a time: leave the others out".to_owned());
        }
        if self.corpus.is_some() && self.chat.chosen().is_some() {
            return Err("the window runs a corpus without the chat template: leave out --chat or --corpus".to_owned());
        }
        let is_model =
            |path: &&PathBuf| path.to_string_lossy().starts_with("demo:") || path.join("config.json").is_file();
        match (&self.model, paths.iter().find(is_model)) {
            (Some(model), Some(path)) => {
                Err(format!("one model is opened at a time: leave out --model {model} or {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

fn parse_example(title: &str) -> Result<usize, String> {
    let found = EXAMPLES.iter().position(|example| example.title.eq_ignore_ascii_case(title));
    found.ok_or_else(|| one_of(EXAMPLES.iter().map(|example| example.title)))
}

fn parse_stop(text: &str) -> Result<usize, String> {
    let numbered = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let found = match numbered {
        Some(place) => Some(place).filter(|place| *place < stops().count()),
        None => stops().position(|(_, stop)| stop.example().title.eq_ignore_ascii_case(text)),
    };
    let titles = || one_of(stops().map(|(_, stop)| stop.example().title));
    found.ok_or_else(|| format!("give a number from 1 to {}, or {}", stops().count(), titles()))
}

fn parse_size(text: &str) -> Result<[f32; 2], String> {
    let size = text.split_once('x').and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    match size {
        Some(size) if size.iter().all(|side| (200.0..=16_384.0).contains(side)) => Ok(size),
        _ => Err("give width and height in points from 200 to 16384, such as 1280x800".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_sensible_numbers() {
        assert_eq!(parse_size("1280x800"), Ok([1280.0, 800.0]));
        for wrong in ["1280", "x800", "1280x", "0x0", "1e9x5", "NaNxNaN", "-1280x800"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_models_are_not_opened_together() {
        let options = |model: &str, paths: [&str; 1]| OpenOptions {
            model: Some(model.to_owned()),
            paths: paths.map(PathBuf::from).to_vec(),
            ..OpenOptions::default()
        };
        let refusal = options("demo:gpt", ["demo:bert"]).check().unwrap_err();
        assert!(refusal.contains("demo:gpt") && refusal.contains("demo:bert"), "{refusal}");
        assert_eq!(options("demo:vit", ["pictures"]).check(), Ok(()), "a folder of pictures is no model");
    }

    #[test]
    fn a_stop_of_the_lecture_is_named_by_number_or_title() {
        assert_eq!(parse_stop("1"), Ok(0));
        assert_eq!(
            parse_stop("towards a RED car").map(|place| stops().nth(place).unwrap().1.example().title),
            Ok("Towards a red car")
        );
        for wrong in ["0", "999", "-1", "no such stop"] {
            assert!(parse_stop(wrong).is_err_and(|error| error.starts_with("give a number from 1 to ")), "{wrong}");
        }
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        assert_eq!("cross".parse(), Ok(StackKind::Cross));
        assert!("grid".parse::<StackKind>().is_err_and(|message| message.contains("self, encoder")));
    }
}

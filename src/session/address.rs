//! The address of a place as a text: which model reads what, and what is looked at of it.
//!
//! `attnscope://open?model=demo:gpt&text=Once%20upon%20a%20time&view=heatmap&layer=3&head=5`

use std::{fmt, path::PathBuf, str::FromStr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{
    Change, Document, Documents, Effect, Experiment, Focus, Pane, Panes, PendingSelection, ViewKind,
    saved::{changes, reference},
};
use crate::{
    capture::Excerpt,
    ids::StackKind,
    model::{Chat, ImageSource},
    protocol::{EditRequest, Failure, ModelSource},
    spec::CheckpointMark,
    text::told,
};

/// How every address begins.
const BEGINNING: &str = "attnscope://open?";
/// Bytes of an address that is read.
const MAX_BYTES: usize = 64 << 10;
/// Bytes of all changes in an address that is made: with more it is none to be sent around.
const MAX_EDITS: usize = 2000;
/// Bytes of the texts of an address that is made: encoded, each may take three.
const MAX_TEXT: usize = MAX_BYTES / 4;
/// Digits of a checksum in an address that is made, and the fewest of one that is read.
const CHECKSUM_DIGITS: usize = 16;
const SHORT: usize = 7;
/// What stands in a value as it is.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b'/').remove(b',');
/// What the part `chat` of an address is made of, beside the mark of the template itself.
const CHAT: &str = "template";
const THINKING: &str = "thinking";
const NO_THINKING: &str = "no-thinking";
const NO_PROMPT: &str = "no-prompt";
/// What can stand in an address.
const NAMES: [&str; 26] = [
    "model",
    "hub",
    "path",
    "revision",
    "checksum",
    "capture",
    "input",
    "text",
    "text_b",
    "brackets",
    "chat",
    "system",
    "max_tokens",
    "keep",
    "target",
    "sample",
    "image",
    "view",
    "stack",
    "layer",
    "head",
    "query",
    "key",
    "writes",
    "begun",
    "edit",
];

/// A place: a model with its input and changes, or a capture file, and what is looked at of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Address {
    /// Model, input and changes.
    pub experiment: Experiment,
    /// Which files the model was read from; of one inside the program nothing is said.
    pub checkpoint: CheckpointMark,
    /// A capture file instead, with which of its inputs.
    pub capture: Option<(PathBuf, usize)>,
    pub view: Option<ViewKind>,
    pub stack: Option<StackKind>,
    /// The layer, from 0.
    pub layer: Option<usize>,
    /// The head, from 0.
    pub head: Option<usize>,
    pub focus: Focus,
}

/// Why a text is no address. Displays as a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It begins otherwise.
    #[error("this is not an AttnScope link: a link begins with {BEGINNING}")]
    Beginning,
    /// It is too long.
    #[error("this link is longer than {} KB", MAX_BYTES >> 10)]
    TooLong,
    /// A part without a value, of another name, or twice.
    #[error("“{name}” in this link is not valid: {why}")]
    Part { name: String, why: String },
    /// Neither model nor capture.
    #[error("this link names no model: add model=demo:gpt, hub=ID or path=FOLDER")]
    NoModel,
}

impl fmt::Display for Address {
    /// The text. Pictures from the clipboard and what has no name are left out: for what is shown, `Session::address` says so.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BEGINNING)?;
        let mut separator = "";
        let mut part = |name: &str, value: &str| {
            write!(f, "{separator}{name}={}", utf8_percent_encode(value, ENCODED))?;
            separator = "&";
            Ok(())
        };
        let Experiment { model, text, excerpt, brackets, chat, system, text_b, target, image, .. } = &self.experiment;
        let Experiment { continued, begun, .. } = &self.experiment;
        if let Some((path, input)) = &self.capture {
            part("capture", &path.to_string_lossy())?;
            part("input", &input.to_string())?;
        } else {
            match model {
                Some(ModelSource::Bundled(name)) => part("model", name)?,
                Some(ModelSource::Hub(name)) => part("hub", name)?,
                // A name in the cache of models, as it was typed.
                Some(ModelSource::Path(path)) if path.is_relative() => part("hub", &path.to_string_lossy())?,
                Some(ModelSource::Path(path)) => part("path", &path.to_string_lossy())?,
                None => {}
            }
            let CheckpointMark { revision, checksum } = &self.checkpoint;
            for (name, value) in [("revision", revision), ("checksum", checksum)] {
                if let Some(value) = value {
                    part(name, value)?;
                }
            }
            match image {
                Some(ImageSource::Bundled(name)) => part("sample", name)?,
                Some(ImageSource::Path(path)) => part("image", &path.to_string_lossy())?,
                Some(ImageSource::Embedded { .. }) | None => {}
            }
            let texts = [("text", Some(text)), ("text_b", text_b.as_ref()), ("target", Some(target))];
            for (name, value) in texts {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    part(name, value)?;
                }
            }
            if let Some(Excerpt { keep, n_tokens }) = excerpt {
                if let Some(n_tokens) = n_tokens {
                    part("max_tokens", &n_tokens.to_string())?;
                }
                part("keep", keep.name())?;
            }
            if *brackets {
                part("brackets", "1")?;
            }
            if let Some(chat) = chat {
                part("chat", &chat_parts(*chat))?;
                if !system.is_empty() {
                    part("system", system)?;
                }
            }
            if *continued {
                part("writes", "1")?;
            }
            if !begun.is_empty() {
                part("begun", &begun.iter().map(u32::to_string).collect::<Vec<_>>().join(","))?;
            }
            for edit in self.experiment.edits() {
                if let Some(json) = changes::to_json(&edit) {
                    part("edit", &json.to_string())?;
                }
            }
        }
        if let Some(view) = self.view {
            part("view", view.name())?;
        }
        if let Some(stack) = self.stack {
            part("stack", stack.name())?;
        }
        let Focus { query, key } = self.focus;
        for (name, value) in [("layer", self.layer), ("head", self.head), ("query", query), ("key", key)] {
            if let Some(value) = value {
                part(name, &value.to_string())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Address {
    type Err = AddressError;

    /// Reads an address. Nothing is opened or looked for.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let parts = text.strip_prefix(BEGINNING).ok_or(AddressError::Beginning)?;
        if text.len() > MAX_BYTES {
            return Err(AddressError::TooLong);
        }
        let mut address = Self::default();
        let mut seen = Vec::new();
        for part in parts.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let fails =
                |why: String| AddressError::Part { name: told(name).into_owned(), why: told(&why).into_owned() };
            if !NAMES.contains(&name) {
                return Err(fails(format!("known parts are {}", NAMES.join(", "))));
            }
            if name != "edit" && seen.contains(&name) {
                return Err(fails("it is given twice".to_owned()));
            }
            seen.push(name);
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| fails("it is not UTF-8".to_owned()))?;
            if value.is_empty() {
                return Err(fails("it has no value".to_owned()));
            }
            address.take(name, &value).map_err(fails)?;
        }
        let n_models = ["model", "hub", "path", "capture"].iter().filter(|name| seen.contains(*name)).count();
        if n_models == 0 {
            return Err(AddressError::NoModel);
        }
        if n_models > 1 {
            let why = "give only one of model, hub, path and capture".to_owned();
            return Err(AddressError::Part { name: "model".to_owned(), why });
        }
        if seen.contains(&"input") && !seen.contains(&"capture") {
            let why = "it needs a capture, and the link names none".to_owned();
            return Err(AddressError::Part { name: "input".to_owned(), why });
        }
        Ok(address)
    }
}

impl Address {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let experiment = &mut self.experiment;
        let number = || value.parse::<usize>().map_err(|_| format!("give a whole number from 0, not {value}"));
        let id = |id: &str| id.parse().map_err(|_| format!("give token ids such as 12,7, not {id}"));
        // An address may come from anywhere, and there is no folder that a part of a path could be meant from.
        let path = || reference::whole(value).map(PathBuf::from);
        match name {
            "model" => experiment.model = Some(ModelSource::Bundled(value.to_owned())),
            "hub" => experiment.model = Some(ModelSource::Hub(value.to_owned())),
            "path" => experiment.model = Some(ModelSource::Path(path()?)),
            "revision" => self.checkpoint.revision = Some(digits(value)?),
            "checksum" => self.checkpoint.checksum = Some(digits(value)?),
            "capture" => self.capture = Some((path()?, self.capture.take().map_or(0, |(_, input)| input))),
            "input" => self.capture = Some((self.capture.take().map(|(path, _)| path).unwrap_or_default(), number()?)),
            "text" => value.clone_into(&mut experiment.text),
            "max_tokens" => experiment.excerpt.get_or_insert_default().n_tokens = Some(number()?),
            "keep" => experiment.excerpt.get_or_insert_default().keep = value.parse()?,
            "text_b" => experiment.text_b = Some(value.to_owned()),
            "target" => value.clone_into(&mut experiment.target),
            "sample" => experiment.image = Some(ImageSource::Bundled(value.to_owned())),
            "image" => experiment.image = Some(ImageSource::Path(path()?)),
            "view" => self.view = Some(ViewKind::parse(value)?),
            "stack" => self.stack = Some(value.parse()?),
            "layer" => self.layer = Some(number()?),
            "head" => self.head = Some(number()?),
            "query" => self.focus.query = Some(number()?),
            "key" => self.focus.key = Some(number()?),
            "writes" if value == "1" => experiment.continued = true,
            "begun" => experiment.begun = value.split(',').map(id).collect::<Result<_, _>>()?,
            "brackets" if value == "1" => experiment.brackets = true,
            "chat" => experiment.chat = Some(chat_of(value)?),
            "system" => value.clone_into(&mut experiment.system),
            "writes" | "brackets" => return Err("it can only be 1".to_owned()),
            _ => {
                let json = serde_json::from_str(value).map_err(|error| format!("it is not JSON ({error})"))?;
                let edit = changes::from_json(&json)?;
                experiment.changes.push(Change { edit, on: true });
            }
        }
        Ok(())
    }

    /// What is selected there.
    pub const fn pending(&self) -> PendingSelection {
        let Focus { query, key } = self.focus;
        PendingSelection {
            view: self.view,
            stack: self.stack,
            layer: self.layer,
            head: self.head,
            query,
            key,
            space: None,
            asked: None,
            sort_by: None,
        }
    }
}

/// Hexadecimal digits of a commit or a checksum.
fn digits(value: &str) -> Result<String, String> {
    if (SHORT..=64).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(value.to_ascii_lowercase())
    } else {
        Err(format!("give {SHORT} to 64 hexadecimal digits"))
    }
}

impl Address {
    /// The address of what a pane shows, with what it cannot say.
    ///
    /// # Errors
    /// When what is shown is nowhere: there is no model yet, or it sees a picture from the clipboard.
    pub(super) fn of(pane: &Pane, document: &Document) -> Result<(Self, Option<&'static str>), Failure> {
        let nowhere =
            |summary: &str, details: &str| Err(Failure { summary: summary.to_owned(), details: details.to_owned() });
        let mut experiment = document.shown_experiment().clone();
        let capture = document.opened.as_ref().map(|file| (file.path.clone(), document.shown_input().unwrap_or(0)));
        if document.numbers().is_some() {
            return nowhere("Numbers that were typed have no link", "Save the session: it keeps them");
        }
        let mut left_out = None;
        if let Some((path, _)) = &capture {
            experiment = Experiment::default();
            if path.to_str().is_none() {
                return nowhere("The path of this file is not valid text", "Rename its folder");
            }
        } else {
            if experiment.model.is_none() {
                return nowhere("There is nothing to link to", "Open a model first");
            }
            if let Some(ImageSource::Embedded { .. }) = experiment.image {
                return nowhere("A pasted picture has no file to link to", "Save it as a file and open that");
            }
            if [&experiment.text, &experiment.target, &experiment.system].map(String::len).into_iter().sum::<usize>()
                > MAX_TEXT
            {
                return nowhere("This text is too long for a link", "Save the session to a file instead");
            }
            let edits = experiment.edits();
            let written: Vec<_> = edits.iter().map(changes::to_json).collect();
            let n_bytes: usize = written.iter().flatten().map(|json| json.to_string().len()).sum();
            if n_bytes > MAX_EDITS || written.contains(&None) {
                experiment.changes.clear();
                left_out = Some("Its changes are too long for a link: save the session to a file instead");
            }
        }
        let Pane { view, selection, .. } = pane;
        let head = selection.head;
        let is_elsewhere = !matches!(experiment.model, None | Some(ModelSource::Bundled(_)));
        let CheckpointMark { revision, checksum } =
            if is_elsewhere { document.checkpoint() } else { CheckpointMark::default() };
        let checksum = checksum.map(|checksum| checksum.chars().take(CHECKSUM_DIGITS).collect());
        let address = Self {
            experiment,
            checkpoint: CheckpointMark { revision, checksum },
            capture,
            view: Some(*view),
            stack: Some(head.stack),
            layer: Some(head.layer),
            head: Some(head.head),
            focus: selection.pinned,
        };
        Ok((address, left_out))
    }

    /// Whether a document shows the same run.
    fn is_shown_in(&self, document: &Document) -> bool {
        match (&self.capture, &document.opened) {
            (Some((path, _)), Some(file)) => file.path == *path,
            (None, None) => document.made.as_ref().is_some_and(|made| {
                let ran = &made.experiment;
                let edits = |it: &Experiment| -> Vec<EditRequest> { it.edits() };
                let Experiment { model, text, excerpt, brackets, chat, system, text_b, target, image, .. } =
                    &self.experiment;
                (&ran.model, &ran.text, &ran.excerpt) == (model, text, excerpt)
                    && (&ran.text_b, &ran.target, &ran.image) == (text_b, target, image)
                    && (ran.brackets, ran.chat, &ran.system) == (*brackets, *chat, system)
                    && edits(ran) == edits(&self.experiment)
                    && (ran.continued, &ran.begun) == (self.experiment.continued, &self.experiment.begun)
            }),
            _ => false,
        }
    }
}

/// How a chat template is written around a text, in words separated by commas.
fn chat_parts(Chat { thinking, no_prompt }: Chat) -> String {
    let thinking = thinking.map(|thinking| if thinking { THINKING } else { NO_THINKING });
    let parts = [Some(CHAT), thinking, no_prompt.then_some(NO_PROMPT)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(",")
}

fn chat_of(value: &str) -> Result<Chat, String> {
    let mut chat = Chat::default();
    for part in value.split(',') {
        match part {
            CHAT => {}
            THINKING => chat.thinking = Some(true),
            NO_THINKING => chat.thinking = Some(false),
            NO_PROMPT => chat.no_prompt = true,
            _ => {
                return Err(format!(
                    "it can be {CHAT}, {THINKING}, {NO_THINKING} and {NO_PROMPT}, separated by commas"
                ));
            }
        }
    }
    Ok(chat)
}

impl Panes {
    /// Goes to a place in the active pane where the same run is shown already, and only what is looked at changes;
    /// `None` where it is not.
    pub(super) fn go_where_shown(&mut self, address: &Address, documents: &mut Documents) -> Option<Vec<Effect>> {
        let same = |document: &&Document| {
            !document.is_busy() && document.latest_capture().is_some() && address.is_shown_in(document)
        };
        let active = documents.of(self.active());
        let before = active.latest_capture().cloned();
        let id = Some(active).filter(same).or_else(|| documents.iter().find(same))?.id;
        let pane = self.active_mut();
        (pane.document, pane.pending) = (id, Some(address.pending()));
        if let Some((_, input)) = address.capture {
            return Some(self.select_input(self.active_id(), input, documents));
        }
        self.change_active(documents, |pane, document| pane.adopt(document, before.as_deref()));
        Some(Vec::new())
    }
}

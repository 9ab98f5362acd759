//! Texts as turns of a conversation: the template of a checkpoint is written around them, as `apply_chat_template` of
//! transformers 5.24 does.

mod dates;
mod environment;
mod json;

use std::{ops::Range, time::SystemTime};

use minijinja::{ErrorKind, Value};
use serde_json::Value as Json;

use self::environment::Raised;
use super::{InputError, guard::guarded, read, settings::SmallFiles};
use crate::model::checkpoint::ModelFiles;

/// The newer place of a template; it goes over `tokenizer_config.json`.
const FILE: &str = "chat_template.jinja";
/// Bytes of a template; the longest of published ones have some 20 kB.
const MAX_BYTES: usize = 1 << 20;
/// What a template may use, in minijinja's fuel: steps, and memory of 64 bytes for each, beside what the text needs.
const FUEL: u64 = 400_000;
/// By these names templates are told whether the model is to think first.
const THINKING: [&str; 2] = ["enable_thinking", "thinking"];
/// Characters of private use, which no text has of itself.
const PRIVATE: Range<u32> = 0xE000..0xF8FF;

/// How a text is said in a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Chat {
    /// Whether the model is to think first, where the template asks; as the template has it where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Leave out the beginning of the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_prompt: bool,
}

/// The template of a checkpoint.
#[derive(Debug)]
pub(super) struct ChatTemplate {
    source: String,
    /// Special tokens by role.
    tokens: Vec<(String, String)>,
    /// Why it cannot be used, in a clause.
    problem: Option<String>,
    reads_thinking: bool,
}

/// A text with the template around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub text: String,
    /// Where in it stands what was said, in bytes, in order.
    pub content: Vec<Range<usize>>,
    /// What the user must know.
    pub notes: Vec<String>,
}

impl ChatTemplate {
    /// What the checkpoint has; `None` where there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn from_files(files: &ModelFiles, settings: &SmallFiles) -> Result<Option<Self>, InputError> {
        let of_file = read(files, FILE)?.map(|bytes| match String::from_utf8(bytes.into_owned()) {
            Ok(text) => Ok(text),
            Err(_) => Err(format!("{FILE} is not text")),
        });
        let of_config = || settings.get("chat_template").filter(|value| !value.is_null()).map(default_of);
        let Some(source) = of_file.or_else(of_config) else { return Ok(None) };
        let token = |role: &str| settings.token(role).map(|token| (role.to_owned(), token.content));
        let tokens = super::settings::ROLES.iter().filter_map(|role| token(role)).collect();
        Ok(Some(Self::new(source, tokens)))
    }

    /// A template, or why there is none, with special tokens by role.
    pub fn new(source: Result<String, String>, tokens: Vec<(String, String)>) -> Self {
        let (source, mut problem) = match source {
            Ok(source) => (source, None),
            Err(problem) => (String::new(), Some(problem)),
        };
        if source.len() > MAX_BYTES {
            problem = Some(format!("it has {} bytes, and no more than {MAX_BYTES} are read", source.len()));
        }
        let source = if problem.is_none() { environment::without_generation(&source).into_owned() } else { source };
        let mut reads_thinking = false;
        if problem.is_none() {
            let (environment, raised) = environment::new(SystemTime::UNIX_EPOCH);
            match guarded(|| {
                environment.template_from_str(&source).map(|template| template.undeclared_variables(false))
            }) {
                Some(Ok(names)) => reads_thinking = THINKING.iter().any(|name| names.contains(*name)),
                Some(Err(error)) => problem = Some(said(&error, &raised)),
                None => problem = Some("it cannot be read".to_owned()),
            }
        }
        Self { source, tokens, problem, reads_thinking }
    }

    /// Why it cannot be used, in a clause.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether it asks whether the model is to think first.
    pub const fn reads_thinking(&self) -> bool {
        self.reads_thinking
    }

    /// What is said, by a user and before by the system, with the template around it.
    ///
    /// # Errors
    /// One clause that says why the template cannot be used.
    pub fn around(
        &self,
        text: &str,
        system: Option<&str>,
        chat: Chat,
        now: SystemTime,
    ) -> Result<Conversation, String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let rendered = self.render(text, system, chat, now)?;
        let content = self.content(&rendered, text, system, chat, now);
        let mut notes = Vec::new();
        if self.source.contains("strftime_now") {
            notes.push(format!(
                "The chat template writes the date of today ({}, in UTC), so another day gives another text",
                dates::written(now, "%Y-%m-%d")
            ));
        }
        if chat.thinking.is_some() && !self.reads_thinking {
            notes.push(
                "The chat template does not ask whether the model is to think first, so that choice changes nothing"
                    .to_owned(),
            );
        }
        Ok(Conversation { text: rendered, content, notes })
    }

    fn render(&self, text: &str, system: Option<&str>, chat: Chat, now: SystemTime) -> Result<String, String> {
        let said_by = |role: &str, content: &str| {
            Value::from_pairs([("role", Value::from(role)), ("content", Value::from(content))])
        };
        let system = system.filter(|system| !system.is_empty()).map(|system| said_by("system", system));
        let messages: Vec<Value> = system.into_iter().chain([said_by("user", text)]).collect();
        let tokens = self.tokens.iter().map(|(role, token)| (role.as_str(), Value::from(token.as_str())));
        let thinking =
            chat.thinking.into_iter().flat_map(|thinking| THINKING.map(|name| (name, Value::from(thinking))));
        let own = [
            ("messages", Value::from(messages)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(!chat.no_prompt)),
        ];
        let context = Value::from_pairs(tokens.chain(thinking).chain(own));
        let (mut environment, raised) = environment::new(now);
        environment.set_fuel(Some(FUEL + text.len() as u64));
        let rendered = guarded(|| environment.render_str(&self.source, context));
        rendered.unwrap_or_else(|| Err(ErrorKind::InvalidOperation.into())).map_err(|error| said(&error, &raised))
    }

    /// Where in the rendered text stands what was said: the same is rendered once more with a mark before and behind it,
    /// which goes where it goes. Where marks change the text, the text itself is looked for.
    fn content(
        &self,
        rendered: &str,
        text: &str,
        system: Option<&str>,
        chat: Chat,
        now: SystemTime,
    ) -> Vec<Range<usize>> {
        let is_free =
            |c: &char| ![self.source.as_str(), text, system.unwrap_or_default()].iter().any(|t| t.contains(*c));
        let mut free = PRIVATE.filter_map(char::from_u32).filter(is_free);
        if let (Some(start), Some(end)) = (free.next(), free.next()) {
            let marked = |text: &str| {
                let core = text.trim();
                if core.is_empty() { text.to_owned() } else { text.replacen(core, &format!("{start}{core}{end}"), 1) }
            };
            let again = self.render(&marked(text), system.map(marked).as_deref(), chat, now);
            if let Some((plain, ranges)) = again.ok().and_then(|again| unmarked(&again, start, end))
                && plain == rendered
            {
                return ranges;
            }
        }
        let found = |text: &str, at: Option<usize>| at.map(|at| at..at + text.trim().len());
        let system = system.map(str::trim).and_then(|system| found(system, rendered.find(system)));
        let own = found(text, rendered.rfind(text.trim()));
        match own {
            Some(own) => system.filter(|system| system.end <= own.start).into_iter().chain([own]).collect(),
            None => std::iter::once(0..rendered.len()).collect(),
        }
    }
}

/// A text without marks, and what stood between them; `None` where they do not pair.
fn unmarked(text: &str, start: char, end: char) -> Option<(String, Vec<Range<usize>>)> {
    let (mut plain, mut ranges, mut open) = (String::new(), Vec::new(), None);
    for c in text.chars() {
        if c == start {
            if open.replace(plain.len()).is_some() {
                return None;
            }
        } else if c == end {
            ranges.push(open.take()?..plain.len());
        } else {
            plain.push(c);
        }
    }
    open.is_none().then_some((plain, ranges))
}

/// The template that counts where nobody names one.
fn default_of(value: &Json) -> Result<String, String> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    match value {
        Json::String(text) => Ok(text.clone()),
        Json::Array(named) => {
            let default = named.iter().rev().find(|entry| entry["name"] == "default");
            default.and_then(|entry| text(&entry["template"])).ok_or_else(|| {
                let names: Vec<String> = named.iter().filter_map(|entry| text(&entry["name"])).collect();
                format!("there are several ({}) and none is called default", names.join(", "))
            })
        }
        _ => Err("chat_template of tokenizer_config.json is neither text nor a list of named templates".to_owned()),
    }
}

/// An error in a clause.
fn said(error: &minijinja::Error, raised: &Raised) -> String {
    if let Some(message) = raised.take() {
        return format!("it says “{}”", crate::text::told(&message));
    }
    let place = error.line().map_or_else(String::new, |line| format!("line {line}: "));
    let what = match error.kind() {
        ErrorKind::OutOfFuel => "it takes too many steps or too much memory, and may never end".to_owned(),
        kind => match error.detail() {
            Some(detail) => format!("{kind}: {detail}"),
            None => kind.to_string(),
        },
    };
    format!("{place}{}", crate::text::told(&what))
}

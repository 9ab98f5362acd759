//! What templates find beside their own variables: `_compile_jinja_template` of transformers 5.24.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::SystemTime,
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Value,
    syntax::SyntaxConfig,
    value::{Kwargs, ValueKind},
};
use regex::Regex;

use super::{dates, json};

/// What a template said when it refused its messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Raised(Arc<Mutex<Option<String>>>);

impl Raised {
    fn set(&self, message: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    }

    /// What was said, once.
    pub fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An environment like that of transformers, in which it is `now`.
pub(super) fn new(now: SystemTime) -> (Environment<'static>, Raised) {
    let mut environment = Environment::new();
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", to_json);
    environment.add_test("sequence", has_parts);
    environment.add_test("iterable", has_parts);
    environment.add_function("strftime_now", move |format: &str| dates::written(now, format));
    let raised = Raised::default();
    let raise = raised.clone();
    environment.add_function("raise_exception", move |message: Value| -> Result<Value, Error> {
        raise.set(message.to_string());
        Err(Error::new(ErrorKind::InvalidOperation, message.to_string()))
    });
    (environment, raised)
}

/// Whether a value can be gone through; as in Python, texts and dictionaries can.
fn has_parts(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Iterable)
}

/// `tojson` as transformers has it: nothing is escaped for HTML, and letters stay letters.
#[expect(clippy::needless_pass_by_value, reason = "the signature of a filter")]
fn to_json(value: &Value, ascii: Option<Value>, options: Kwargs) -> Result<Value, Error> {
    let flag = |name: &str| Ok::<_, Error>(options.get::<Option<Value>>(name)?.is_some_and(|value| value.is_true()));
    let is_ascii = ascii.is_some_and(|value| value.is_true()) | flag("ensure_ascii")?;
    let sorts = flag("sort_keys")?;
    let indent = options.get::<Option<Value>>("indent")?.filter(|value| !value.is_none());
    let indent = indent.map(|value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(value.as_usize().unwrap_or_default().min(json::MAX_INDENT)),
    });
    let separators = options.get::<Option<Value>>("separators")?.filter(|value| !value.is_none());
    let separator = |place: usize, usual: &str| match &separators {
        Some(given) => given.get_item_by_index(place).map(|value| value.to_string()),
        None => Ok(usual.to_owned()),
    };
    let between = separator(0, if indent.is_some() { "," } else { ", " })?;
    let style = json::JsonStyle { between, after_key: separator(1, ": ")?, indent, is_ascii, sorts };
    options.assert_all_used()?;
    style.written(value).map(Value::from)
}

/// A template without the tags around what a model has written: they mark it for training and write nothing. What is set
/// between them is not known outside.
pub(super) fn without_generation(source: &str) -> Cow<'_, str> {
    static TAG: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\{%(?P<a>[-+]?)\s*(?P<end>end)?generation\s*(?P<b>[-+]?)%\}").ok());
    TAG.as_ref().map_or(Cow::Borrowed(source), |tag| tag.replace_all(source, "{%${a} ${end}with ${b}%}"))
}

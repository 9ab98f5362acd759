//! Flags of a method, made of its options.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Command, error::ErrorKind, parser::ValueSource};
use serde_json::Value;

use crate::{
    corpus::list::ListOptions,
    lab::{FieldValue, MethodCall, OptionField, Scope},
    worker::corpus,
};

/// A command with a flag for each option.
pub fn augment(command: Command, mut call: MethodCall) -> Command {
    let mut args = Vec::new();
    call.options(&Scope::COMMAND_LINE, &mut |field| args.push(flag(&field)));
    command.args(args)
}

/// The flag of an option.
fn flag(field: &OptionField<'_>) -> Arg {
    let default = Some(field.value.value()).filter(|value| !value.is_null());
    let default = default.map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned));
    let arg = Arg::new(field.name).long(field.name.replace('_', "-")).required(field.required).hide(field.hidden);
    let arg = arg.conflicts_with_all(field.conflicts.iter().copied()).help(help(field));
    match &field.value {
        FieldValue::Flag(_) => {
            let arg = arg.value_name("YES").num_args(0..=1).default_missing_value("true");
            if field.hidden { arg } else { arg.default_value(default.unwrap_or_default()) }
        }
        FieldValue::Texts(..) => {
            // Each time one of them, so by the name of one.
            let one = field.name.strip_suffix('s').unwrap_or(field.name);
            arg.long(one).alias(field.name).value_name("TEXT").action(ArgAction::Append)
        }
        FieldValue::FileWords(..) | FieldValue::FileTexts(_) => arg.value_name("FILE"),
        FieldValue::Words(..) => arg.value_name(field.placeholder.unwrap_or("TEXT")),
        FieldValue::Read(_, placeholder) => arg.value_name(*placeholder),
        // The last layer is not known before the model.
        FieldValue::Layer(..) => arg.value_name("L"),
        _ => arg.value_name("VALUE").default_value(default.unwrap_or_default()),
    }
}

/// The meaning, with the names of a choice.
fn help(field: &OptionField<'_>) -> String {
    match &field.value {
        FieldValue::Choice(_, names) => {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            format!("{} [one of: {}]", field.meaning, names.join(", "))
        }
        FieldValue::Layer(..) => format!("{} [default: the last]", field.meaning),
        _ => field.meaning.to_owned(),
    }
}

/// Files that options are read from: the option's name, and the path.
pub type Files = Vec<(&'static str, PathBuf)>;

/// The question with the flags that were given; what stands in files is read later.
pub fn read(call: &mut MethodCall, matches: &ArgMatches) -> Result<Files, clap::Error> {
    let (mut wrong, mut files) = (None, Files::new());
    call.options(&Scope::COMMAND_LINE, &mut |mut field| {
        if matches.value_source(field.name) != Some(ValueSource::CommandLine) {
            return;
        }
        if matches!(field.value, FieldValue::FileWords(..) | FieldValue::FileTexts(_)) {
            files.extend(matches.get_one::<String>(field.name).map(|path| (field.name, PathBuf::from(path))));
            return;
        }
        let given: Vec<&String> = matches.get_many::<String>(field.name).into_iter().flatten().collect();
        if let Err(why) = field.set(&value(&field, &given)) {
            wrong.get_or_insert(why);
        }
    });
    wrong.map_or(Ok(files), |why| Err(clap::Error::raw(ErrorKind::ValueValidation, format!("--{why}\n"))))
}

/// The question with what stands in files.
pub fn read_files(call: &mut MethodCall, files: &Files) -> Result<(), String> {
    let mut wrong = None;
    call.options(&Scope::COMMAND_LINE, &mut |mut field| {
        let Some((_, path)) = files.iter().find(|(name, _)| *name == field.name) else { return };
        let value = match field.value {
            FieldValue::FileTexts(_) => texts(path).map(Value::from),
            _ => fs::read_to_string(path)
                .map(Value::from)
                .map_err(|error| format!("{} cannot be read: {error}", path.display())),
        };
        if let Err(why) = value.and_then(|value| field.set(&value)) {
            wrong.get_or_insert(why);
        }
    });
    wrong.map_or(Ok(()), Err)
}

/// What was given, as a value of the option.
fn value(field: &OptionField<'_>, given: &[&String]) -> Value {
    let last = given.last().map_or("", |text| text.as_str());
    match &field.value {
        FieldValue::Texts(..) => Value::from(given.iter().map(|text| text.as_str()).collect::<Vec<_>>()),
        _ => Value::from(last),
    }
}

/// The texts of a list of inputs.
fn texts(path: &Path) -> Result<Vec<String>, String> {
    let list = corpus::read(path, &ListOptions::default()).map_err(|error| error.to_string())?;
    let texts: Vec<String> = list.items.iter().filter_map(|item| item.content.text()).map(str::to_owned).collect();
    if texts.is_empty() {
        return Err(format!("{} has no texts: keys are taken from texts", path.display()));
    }
    Ok(texts)
}

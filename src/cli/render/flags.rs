//! Flags of the views, made of their options.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, parser::ValueSource};
use serde_json::Value;

use crate::{
    cli::CliError,
    figure::{ViewKind, ViewOptions, views::ViewScope},
    options::{FieldValue, Offered, OptionField, Visit},
};

/// Options of the views as they were given: what was typed, by the option's name.
#[derive(Clone, Debug, Default)]
pub struct ViewFlags(BTreeMap<&'static str, String>);

impl ViewFlags {
    /// The options of the views.
    ///
    /// # Errors
    /// When an option is given that would be looked for in vain in what is drawn.
    pub fn options(&self, view: ViewKind) -> Result<ViewOptions, CliError> {
        let mut refused = Ok(());
        let own = names(view);
        each_field(&mut ViewOptions::default(), &mut |field| {
            let usual = field.value.value();
            let given = self.0.get(field.name).filter(|given| usual != given.as_str());
            if field.strict && given.is_some() && !own.contains(&field.name) && refused.is_ok() {
                refused = Err(refusal(field.name, view));
            }
        });
        refused?;
        let mut options = ViewOptions::default();
        let mut wrong = None;
        each_field(&mut options, &mut |mut field| match (&mut field.value, self.0.get(field.name)) {
            // Also where the window begins with it.
            (FieldValue::Flag(on), given) => **on = given.is_some(),
            (_, Some(given)) => wrong = wrong.take().or(field.set(&Value::from(given.as_str())).err()),
            (_, None) => {}
        });
        wrong.map_or(Ok(options), |why| Err(CliError::Usage(why)))
    }
}

impl Args for ViewFlags {
    fn augment_args(command: Command) -> Command {
        // Those that depend on the view are not said.
        let mut usual: BTreeMap<&str, Option<Value>> = BTreeMap::new();
        each_field(&mut ViewOptions::default(), &mut |field| {
            let value = Some(field.value.value());
            let known = usual.entry(field.name).or_insert_with(|| value.clone());
            *known = known.take().filter(|known| Some(known) == value.as_ref());
        });
        let mut args = Vec::new();
        each_field(&mut ViewOptions::default(), &mut |field| {
            args.extend(usual.remove(field.name).map(|usual| flag(&field, usual)));
        });
        command.args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ViewFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = BTreeMap::new();
        each_field(&mut ViewOptions::default(), &mut |field| {
            if matches.value_source(field.name) != Some(ValueSource::CommandLine) {
                return;
            }
            let text = match field.value {
                FieldValue::Flag(_) => Some(matches.get_flag(field.name).to_string()),
                _ => matches.get_one::<String>(field.name).cloned(),
            };
            given.extend(text.map(|text| (field.name, text)));
        });
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Shows the options of all views; one that several have is shown as often.
fn each_field(options: &mut ViewOptions, visit: &mut Visit<'_>) {
    for view in ViewKind::ALL {
        fields_of(view, options, visit);
    }
}

/// Shows the options of a view that the command line has.
fn fields_of(view: ViewKind, options: &mut ViewOptions, visit: &mut Visit<'_>) {
    (view.spec().fields)(options, &ViewScope::COMMAND_LINE, &mut |field| {
        if field.offered != Offered::Window {
            visit(field);
        }
    });
}

/// The names of the options of a view.
fn names(view: ViewKind) -> Vec<&'static str> {
    let mut names = Vec::new();
    fields_of(view, &mut ViewOptions::default(), &mut |field| names.push(field.name));
    names
}

fn refusal(name: &'static str, view: ViewKind) -> CliError {
    let having: Vec<&str> =
        ViewKind::ALL.into_iter().filter(|view| names(*view).contains(&name)).map(ViewKind::name).collect();
    let (flag, having, view) = (name.replace('_', "-"), having.join(" and "), view.name());
    CliError::Usage(format!("--{flag} is an option of {having}, not of {view}: leave out --{flag}"))
}

/// The flag of an option, with what it usually is.
fn flag(field: &OptionField<'_>, usual: Option<Value>) -> Arg {
    let name = field.name;
    let arg = Arg::new(name).long(name.replace('_', "-")).help(field.meaning);
    // A session has chosen already.
    let arg = arg.conflicts_with_all(field.conflicts.iter().copied()).conflicts_with("session");
    if matches!(field.value, FieldValue::Flag(_)) {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_parser(move |text: &str| checked(name, text));
    let placeholder =
        if let FieldValue::Read(_, placeholder) = field.value { Some(placeholder) } else { field.placeholder };
    let arg = arg.value_name(placeholder.unwrap_or("VALUE"));
    let arg = match field.bare {
        Some(bare) => arg.num_args(0..=1).default_missing_value(bare),
        None => arg,
    };
    match usual {
        Some(Value::String(usual)) => arg.default_value(usual),
        _ => arg,
    }
}

/// What was typed, when every view that has the option takes it.
fn checked(name: &'static str, text: &str) -> Result<String, String> {
    let mut wrong = None;
    each_field(&mut ViewOptions::default(), &mut |mut field| {
        if field.name == name {
            wrong = wrong.take().or(field.set(&Value::from(text)).err());
        }
    });
    wrong.map_or(Ok(text.to_owned()), Err)
}

//! Options by name, each with its meaning and its range.
//!
//! What has options shows them to a visitor, which may change them. The window draws them and remembers those that were
//! changed, figures set them by name, and the command line makes its flags of them.

use std::{collections::BTreeMap, fmt::Display, ops::RangeInclusive};

use serde_json::{Value, json};

/// Options that were changed, by name.
pub type FieldValues = BTreeMap<String, Value>;

/// What is shown an option and may change it.
pub type Visit<'a> = dyn FnMut(OptionField<'_>) + 'a;

/// Separator of the texts of [`FieldValue::Texts`] in one line.
const BETWEEN_TEXTS: char = '|';

/// One option.
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
pub struct OptionField<'a> {
    /// Name in files and on the command line, where hyphens stand for underscores.
    pub name: &'static str,
    pub label: &'static str,
    pub meaning: &'static str,
    pub value: FieldValue<'a>,
    /// Options that it cannot be given together with, on the command line.
    pub conflicts: &'static [&'static str],
    /// Whether it has no default on the command line.
    pub required: bool,
    /// Whether help leaves it out, as it repeats another one.
    pub hidden: bool,
    /// Whether the window has it above the answer, and not in the menu alone.
    pub in_front: bool,
    /// What stands for its value in help, where its kind does not say it.
    pub placeholder: Option<&'static str>,
    /// What it is on the command line when it is given without a value.
    pub bare: Option<&'static str>,
    /// Values that a choice had before, with those that they are now.
    pub former_values: &'static [(&'static str, &'static str)],
    /// Whether it is refused where nothing has it, instead of being left aside.
    pub strict: bool,
    pub offered: Offered,
    /// Heading that it begins in the window.
    pub heading: Option<&'static str>,
    /// Why it cannot be changed now, as a sentence.
    pub obstacle: Option<String>,
    /// Why alternatives of a choice cannot be chosen now, by their index.
    pub obstacles: Vec<Option<String>>,
    pub counts: Counts,
    pub made: Made,
}

/// When a change of an option counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    #[default]
    AtOnce,
    /// When its control is let go: what follows takes a while.
    WhenLetGo,
}

/// How the file comes about that an option names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Made {
    /// It is given.
    #[default]
    Elsewhere,
    /// It is given, or the window fits it over the corpus that is open.
    OverCorpus,
}

/// Where an option is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offered {
    #[default]
    Everywhere,
    /// The command line has it in another form.
    Window,
    /// The window has it in another form.
    CommandLine,
}

/// Value of an option, and its range.
pub enum FieldValue<'a> {
    /// A whole number in a range.
    Whole(&'a mut usize, RangeInclusive<usize>),
    /// A whole number whose range depends on the model: one from another model stops at the end.
    OfModel(&'a mut usize, RangeInclusive<usize>),
    /// A layer up to this one; none for the last of each stack.
    Layer(&'a mut Option<usize>, usize),
    Seed(&'a mut u64),
    /// A number in double precision.
    Real(&'a mut f64, RangeInclusive<f64>),
    /// A part of a whole, in percent on screen.
    Share(&'a mut f32, RangeInclusive<f32>),
    /// The same, or none; the share that it is when it is turned on.
    ShareOrNone(&'a mut Option<f32>, RangeInclusive<f32>, f32),
    /// A number of which small ones matter most.
    Small(&'a mut f32, RangeInclusive<f32>),
    /// A number in single precision.
    Number(&'a mut f32, RangeInclusive<f32>),
    /// Yes or no.
    Flag(&'a mut bool),
    /// Words, or none; an example.
    Words(&'a mut Option<String>, &'static str),
    /// Several texts; an example.
    Texts(&'a mut Vec<String>, &'static str),
    /// Words that the command line reads from a file, or none; an example.
    FileWords(&'a mut Option<String>, &'static str),
    /// Texts that the command line reads from a list of inputs.
    FileTexts(&'a mut Vec<String>),
    /// One of several, by index: names in files, names on screen.
    Choice(&'a mut usize, &'a [(&'a str, &'a str)]),
    /// A text that its owner reads itself, of the command line alone: the placeholder of its flag.
    Read(&'a mut dyn FnMut(&str) -> Result<(), String>, &'static str),
    /// A text that its owner reads itself, and the one that stands for its value now.
    Text(&'a str, &'a mut dyn FnMut(&str) -> Result<(), String>),
}

impl<'a> OptionField<'a> {
    /// An option that nothing conflicts with.
    pub const fn new(name: &'static str, label: &'static str, meaning: &'static str, value: FieldValue<'a>) -> Self {
        Self {
            name,
            label,
            meaning,
            value,
            conflicts: &[],
            required: false,
            hidden: false,
            in_front: false,
            placeholder: None,
            bare: None,
            former_values: &[],
            strict: false,
            offered: Offered::Everywhere,
            heading: None,
            obstacle: None,
            obstacles: Vec::new(),
            counts: Counts::AtOnce,
            made: Made::Elsewhere,
        }
    }

    /// The same, above the answer in the window.
    #[must_use]
    pub fn in_front(self) -> Self {
        Self { in_front: true, ..self }
    }

    /// The same, of the window alone.
    #[must_use]
    pub fn in_window(self) -> Self {
        Self { offered: Offered::Window, ..self }
    }

    /// The same, of the command line alone.
    #[must_use]
    pub fn on_command_line(self) -> Self {
        Self { offered: Offered::CommandLine, ..self }
    }

    /// The same below a heading.
    #[must_use]
    pub fn heading(self, heading: &'static str) -> Self {
        Self { heading: Some(heading), ..self }
    }

    /// The same with the reason for which it cannot be changed now.
    #[must_use]
    pub fn unless(self, obstacle: Option<String>) -> Self {
        Self { obstacle, ..self }
    }

    /// The same with the reasons for which alternatives cannot be chosen now.
    #[must_use]
    pub fn unless_each(self, obstacles: Vec<Option<String>>) -> Self {
        Self { obstacles, ..self }
    }

    /// The same, counting when the control is let go.
    #[must_use]
    pub fn settles(self) -> Self {
        Self { counts: Counts::WhenLetGo, ..self }
    }

    /// The same, of a file that the window can fit over a corpus.
    #[must_use]
    pub fn made_over_corpus(self) -> Self {
        Self { made: Made::OverCorpus, ..self }
    }

    /// The same without a default on the command line.
    #[must_use]
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same with what stands for its value in help.
    #[must_use]
    pub fn placeholder(self, placeholder: &'static str) -> Self {
        Self { placeholder: Some(placeholder), ..self }
    }

    /// The same without the options that it cannot be given together with.
    #[must_use]
    pub fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }

    /// The same, which takes these values, too, for those that they are now.
    #[must_use]
    pub fn formerly(self, former_values: &'static [(&'static str, &'static str)]) -> Self {
        Self { former_values, ..self }
    }

    /// The same, refused where nothing has it.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// Takes a value.
    ///
    /// # Errors
    /// Says what values there are when this is none of them; the option stays as it was.
    pub fn set(&mut self, value: &Value) -> Result<(), String> {
        let name = self.name.replace('_', "-");
        let given = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        // On the command line every value is a text.
        let count = || value.as_u64().or_else(|| value.as_str()?.parse().ok());
        let whole = || count().and_then(|value| usize::try_from(value).ok());
        let no_number = || format!("{name} is a whole number: {given} was given");
        match &mut self.value {
            FieldValue::Whole(slot, range) => **slot = within(&name, whole().ok_or_else(no_number)?, range)?,
            FieldValue::OfModel(slot, range) => {
                **slot = whole().ok_or_else(no_number)?.clamp(*range.start(), *range.end());
            }
            FieldValue::Layer(slot, last) => {
                let layer = if value.is_null() { *last } else { whole().ok_or_else(no_number)? };
                **slot = Some(layer).filter(|layer| layer < last);
            }
            FieldValue::Seed(slot) => **slot = count().ok_or_else(no_number)?,
            FieldValue::Real(slot, range) => {
                let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
                let number = number.ok_or_else(|| format!("{name} is a number: {given} was given"))?;
                **slot = within(&name, number, range)?;
            }
            FieldValue::Share(slot, range) | FieldValue::Small(slot, range) | FieldValue::Number(slot, range) => {
                **slot = within(&name, real_of(&name, value, &given)?, range)?;
            }
            FieldValue::ShareOrNone(slot, range, _) => {
                **slot =
                    if value.is_null() { None } else { Some(within(&name, real_of(&name, value, &given)?, range)?) };
            }
            FieldValue::Flag(slot) => {
                let flag = value.as_bool().or_else(|| given.parse().ok());
                **slot = flag.ok_or_else(|| format!("{name} is true or false: {given} was given"))?;
            }
            FieldValue::Words(slot, _) | FieldValue::FileWords(slot, _) => {
                if value.is_object() || value.is_array() {
                    return Err(format!("{name} is a text: {given} was given"));
                }
                **slot = (!value.is_null()).then_some(given).filter(|words| !words.is_empty());
            }
            FieldValue::Texts(slot, _) | FieldValue::FileTexts(slot) => {
                if value.is_object() {
                    return Err(format!("{name} is a list of texts: {given} was given"));
                }
                let texts = match value {
                    Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                    Value::Null => Vec::new(),
                    _ => split_texts(&given),
                };
                **slot = texts;
            }
            FieldValue::Choice(slot, names) => {
                let now =
                    self.former_values.iter().find(|(former, _)| *former == given).map_or(&*given, |(_, now)| now);
                let known = names.iter().position(|(name, _)| *name == now);
                let all = || names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                **slot = known.ok_or_else(|| format!("{name} is one of {}: {given} was given", all()))?;
            }
            FieldValue::Read(read, _) | FieldValue::Text(_, read) => read(&given)?,
        }
        Ok(())
    }
}

/// A number that was given as one or as a text.
fn real_of(name: &str, value: &Value, given: &str) -> Result<f32, String> {
    let number = value.as_f64().map(|number| number as f32).or_else(|| given.parse().ok());
    number.ok_or_else(|| format!("{name} is a number: {given} was given"))
}

/// The value when it is in its range.
fn within<T: PartialOrd + Display>(name: &str, value: T, range: &RangeInclusive<T>) -> Result<T, String> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(format!("{name} goes from {} to {}: {value} was given", range.start(), range.end()))
}

impl FieldValue<'_> {
    /// The value as it is remembered; `null` for what is read by the method itself.
    pub fn value(&self) -> Value {
        match self {
            Self::Whole(value, _) | Self::OfModel(value, _) => json!(value),
            Self::Layer(value, last) => json!(value.unwrap_or(*last)),
            Self::Seed(value) => json!(value),
            Self::Real(value, _) => json!(value),
            // As it is typed: the shortest number that is read as this one.
            Self::Share(value, _) | Self::Small(value, _) | Self::Number(value, _) => json!(value.to_string()),
            Self::ShareOrNone(value, ..) => json!(value.map(|value| value.to_string())),
            Self::Flag(value) => json!(value),
            Self::Words(value, _) | Self::FileWords(value, _) => json!(value),
            Self::Texts(texts, _) | Self::FileTexts(texts) => {
                json!((!texts.is_empty()).then(|| joined(texts)))
            }
            Self::Choice(value, names) => json!(names.get(**value).map(|(name, _)| name)),
            Self::Read(..) => Value::Null,
            Self::Text(text, _) => json!(text),
        }
    }
}

/// Several texts in one line.
pub fn joined(texts: &[String]) -> String {
    texts.join(&format!(" {BETWEEN_TEXTS} "))
}

/// The texts of a line.
pub fn split_texts(line: &str) -> Vec<String> {
    line.split(BETWEEN_TEXTS).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// One of several values.
pub fn choose<T: Clone + PartialEq>(
    visit: &mut Visit<'_>,
    words: (&'static str, &'static str, &'static str),
    value: &mut T,
    all: &[(T, &str, &str)],
) {
    choose_with(visit, words, value, all, |field| field);
}

/// The same, with what is to be said of the option beside its words.
pub fn choose_with<T: Clone + PartialEq>(
    visit: &mut Visit<'_>,
    (name, label, meaning): (&'static str, &'static str, &'static str),
    value: &mut T,
    all: &[(T, &str, &str)],
    more: impl for<'a> FnOnce(OptionField<'a>) -> OptionField<'a>,
) {
    let names: Vec<(&str, &str)> = all.iter().map(|(_, name, label)| (*name, *label)).collect();
    let known = all.iter().position(|(known, ..)| known == value);
    let mut chosen = known.unwrap_or(0);
    visit(more(OptionField::new(name, label, meaning, FieldValue::Choice(&mut chosen, &names))));
    // A value that is none of these stays until another is chosen.
    if let Some((chosen, ..)) = all.get(chosen).filter(|_| known.is_some() || chosen != 0) {
        *value = chosen.clone();
    }
}

/// The option, of the window alone.
pub fn in_window(field: OptionField<'_>) -> OptionField<'_> {
    field.in_window()
}

/// A number from 0 to 1.
///
/// # Errors
/// Says so when this is none.
pub fn fraction(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 1".to_owned())
}

/// Puts what was read into its place.
///
/// # Errors
/// Why nothing was read; what is there stays.
pub fn put<T>(place: &mut T, read: Result<T, String>) -> Result<(), String> {
    *place = read?;
    Ok(())
}

/// The names of which one is to be chosen, as a clause.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    format!("choose one of {}", names.into_iter().collect::<Vec<_>>().join(", "))
}

/// A whole number in a range.
pub const fn whole<'a>(
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
    value: &'a mut usize,
    range: RangeInclusive<usize>,
) -> OptionField<'a> {
    OptionField::new(name, label, meaning, FieldValue::Whole(value, range))
}

/// A number in a range.
pub const fn real<'a>(
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
    value: &'a mut f64,
    range: RangeInclusive<f64>,
) -> OptionField<'a> {
    OptionField::new(name, label, meaning, FieldValue::Real(value, range))
}

//! Rows of the palette: commands, models, bookmarks, examples, heads and tokens, or by its address.

use super::fuzzy::{Fit, fit};
use crate::{
    analysis::detect::{Definition, Detector, KindRanking},
    capture::Along,
    glossary::TERMS,
    ids::{HeadId, StackKind},
    lab::MethodPreset,
    protocol::{CorpusSource, MeanInputs, ModelSource},
    session::{
        Address, BUNDLED_CORPORA, BookmarkCommand, ChangeCommand, Command, CorpusCommand, Focus, SelectionCommand,
        SessionCommand, ViewKind,
        gallery::{EXAMPLES, Example},
    },
    spec::ModelSpec,
    text::{capitalised, counted, decimal_text},
    ui::{
        PanelCtx,
        commands::UiCommand,
        panels::{
            direction,
            model_panel::{bundled_models, source_name, source_text},
        },
        views::{HeadChange, KnownOption, head_changes, known_options, subject},
    },
};

/// What stands first while nothing is typed: the examples, then what is done most.
const FIRST: [UiCommand; 7] = [
    UiCommand::Gallery,
    UiCommand::Lecture,
    UiCommand::Views,
    UiCommand::Open,
    UiCommand::ExportView,
    UiCommand::CompareInput,
    UiCommand::Help,
];
/// What every address begins with.
const SCHEME: &str = "attnscope://";
/// Tokens that are listed; Find token steps through any number.
const MAX_TOKENS: usize = 24;
/// Heads by kind that are listed, of all kinds together.
const MAX_HEADS: usize = 12;
/// Heads that are listed of a kind, also where fewer are of it.
const NEAREST: usize = 3;
/// Letters from which on a kind of head is looked for: ranking the heads takes a while in a long text; and other names of
/// commands.
const LEAST_LETTERS: usize = 3;
/// Of two rows that fit alike the one whose own name it is comes first.
const OTHER_NAME: i32 = 8;

/// Whether each word of what was typed begins a word of a name; a few letters begin too many.
fn begins_words(typed: &str, name: &str) -> bool {
    let begins = |word: &str| name.split_whitespace().any(|of_name| of_name.starts_with(&word.to_lowercase()));
    typed.trim().chars().count() >= LEAST_LETTERS && typed.split_whitespace().all(begins)
}

/// What a row does.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// What a button or a key does.
    Window(UiCommand),
    /// What the session is asked for.
    Session(Box<Command>),
    /// What stands in the field then.
    Type(String),
}

impl Chosen {
    pub fn session(command: Command) -> Self {
        Self::Session(Box::new(command))
    }
}

/// One row of the palette.
pub struct PaletteRow {
    /// What it is: shown at its right where it has no key.
    pub kind: &'static str,
    pub text: String,
    pub detail: String,
    /// What it does, to be done; none where there is nothing to do.
    pub chosen: Option<Chosen>,
    /// Why it cannot be chosen, if so.
    pub reason: Option<String>,
    /// What people also call it.
    pub synonyms: &'static [&'static str],
    /// How its name, or another one of it, fits what was typed.
    pub fit: Fit,
}

impl PaletteRow {
    /// The row with how it fits `typed`, if it does: by its name, or by words that begin another one of it.
    fn fitting(self, typed: &str) -> Option<Self> {
        let of_synonym =
            |synonym: &&str| fit(typed, synonym).map(|fit| Fit { score: fit.score - OTHER_NAME, at: Vec::new() });
        let synonyms = self.synonyms.iter().filter(|synonym| begins_words(typed, synonym));
        let fits = synonyms.filter_map(of_synonym).chain(fit(typed, &self.text));
        let fit = fits.max_by_key(|fit| fit.score)?;
        Some(Self { fit, ..self })
    }

    /// What it does, or why it cannot be chosen.
    pub fn about(&self) -> &str {
        self.reason.as_ref().unwrap_or(&self.detail)
    }
}

/// What fits `typed`, best first; without anything typed, everything in its order. `hits` are the tokens that have it
/// in them.
pub fn rows(cx: &PanelCtx<'_>, typed: &str, hits: &[usize]) -> Vec<PaletteRow> {
    let mut rows: Vec<PaletteRow> = named(cx).filter_map(|row| row.fitting(typed)).collect();
    rows.extend(kind_rows(cx, typed));
    if typed.trim().is_empty() {
        let place = |row: &PaletteRow| FIRST.iter().position(|it| row.chosen == Some(Chosen::Window(*it)));
        rows.sort_by_key(|row| place(row).unwrap_or(FIRST.len()));
    } else {
        rows.extend(option_rows(cx).chain(terms()).filter_map(|row| row.fitting(typed)));
        rows.sort_by_key(|row| std::cmp::Reverse(row.fit.score));
    }
    let mut first: Vec<PaletteRow> = address_row(typed).into_iter().chain(head_row(cx, typed)).collect();
    first.extend(rows);
    first.extend(mentioning_rows(typed));
    first.extend(token_rows(cx, hits));
    first
}

/// An example by its index.
fn example_row(idx: usize, fit: Fit) -> PaletteRow {
    let Example { title, hint, .. } = EXAMPLES[idx];
    let chosen = Some(Chosen::session(Command::OpenExample(idx)));
    PaletteRow {
        kind: "Example",
        text: title.to_owned(),
        detail: hint.to_owned(),
        chosen,
        reason: None,
        synonyms: &[],
        fit,
    }
}

/// Examples that mention what was typed elsewhere than in their titles.
fn mentioning_rows(typed: &str) -> impl Iterator<Item = PaletteRow> {
    let mentions = !typed.trim().is_empty();
    let mentions = move |example: &Example| mentions && fit(typed, example.title).is_none() && example.mentions(typed);
    let found = EXAMPLES.iter().enumerate().filter(move |(_, example)| mentions(example));
    found.map(|(idx, _)| example_row(idx, Fit { score: 0, at: Vec::new() }))
}

/// Heads of the kinds whose name has what was typed in it, with their scores.
fn kind_rows(cx: &PanelCtx<'_>, typed: &str) -> Vec<PaletteRow> {
    let needle = typed.trim().to_lowercase();
    let is_meant = |detector: &Detector| detector.definition().title.to_lowercase().contains(&needle);
    let meant: Vec<Detector> = Detector::kinds().filter(is_meant).collect();
    let (Some(subject), false) = (subject(cx), needle.chars().count() < LEAST_LETTERS || meant.is_empty()) else {
        return Vec::new();
    };
    let row = |detector: Detector, text: String, detail: String, head: Option<HeadId>| {
        let fit = fit(typed, detector.definition().title)?;
        let chosen = head.map(|head| Chosen::session(Command::Select(SelectionCommand::ShowHead(head))));
        let reason = head.is_none().then(|| detail.clone());
        Some(PaletteRow { kind: "Head", text, detail, chosen, reason, synonyms: &[], fit })
    };
    let waiting = |why: &str| {
        let rows = meant.iter().map(|it| row(*it, it.definition().title.to_owned(), why.to_owned(), None));
        rows.flatten().collect()
    };
    let kinds = match cx.patterns.kinds(&subject, cx.pane.selection.stack()) {
        Some(Ok(kinds)) => kinds,
        Some(Err(refusal)) => return waiting(&refusal.to_string()),
        None => return waiting("The heads are being ranked"),
    };
    let n_each = MAX_HEADS / meant.len();
    let of_kind = |kind: &KindRanking| -> Vec<PaletteRow> {
        let Definition { title, threshold, .. } = kind.detector.definition();
        let rows = match &kind.heads {
            Err(why) => {
                vec![row(kind.detector, (*title).to_owned(), format!("Not defined in this input: {why}"), None)]
            }
            Ok(heads) => {
                let least = threshold.map_or(0.0, |(least, _)| least);
                let n_of_kind = kind.n_of_kind();
                let n = n_of_kind.max(NEAREST).min(n_each);
                let of_head = |(head, score): &(HeadId, f32)| {
                    let (more, score_is) = match (kind.detector.holds(*score), n_of_kind) {
                        (true, _) => ("", "at least"),
                        (false, 0) => (": no head, nearest", "less than"),
                        (false, _) => (": not quite", "less than"),
                    };
                    let detail = format!("Score {}, {score_is} {least}: select this head", decimal_text(*score));
                    let name = format!("{title}{more} {head}");
                    row(kind.detector, name, detail, Some(*head))
                };
                heads.iter().take(n).map(of_head).collect()
            }
        };
        rows.into_iter().flatten().collect()
    };
    meant.iter().filter_map(|detector| kinds.of(*detector)).flat_map(of_kind).collect()
}

/// Everything that has a name of its own.
fn named<'a>(cx: &'a PanelCtx<'_>) -> impl Iterator<Item = PaletteRow> + 'a {
    let row = |kind, text: String, detail: String, chosen| PaletteRow {
        kind,
        text,
        detail,
        chosen: Some(chosen),
        reason: None,
        synonyms: &[],
        fit: Fit { score: 0, at: Vec::new() },
    };
    // Closing what is open on top closes the palette, which Esc does.
    let commands = UiCommand::all().filter(|it| !matches!(it, UiCommand::Palette | UiCommand::Release));
    let commands = commands.map(move |command| {
        let (kind, reason) = if let UiCommand::Show(view) = command {
            ("View", cx.view_unavailable(view).map(ToOwned::to_owned))
        } else if command == UiCommand::LeaveLecture && cx.session.keeping.lecture.place().is_none() {
            ("Command", Some("The lecture is not shown".to_owned()))
        } else if command == UiCommand::MeasureTimes {
            ("Command", cx.document.timing_obstacle().map(ToOwned::to_owned))
        } else if command == UiCommand::FitLens {
            ("Command", cx.document.study_obstacle().map(ToOwned::to_owned))
        } else {
            ("Command", None)
        };
        let text = command.text().to_owned();
        let synonyms = command.synonyms();
        PaletteRow { reason, synonyms, ..row(kind, text, command.tooltip().to_owned(), Chosen::Window(command)) }
    });
    let head = cx.pane.selection.head;
    let unchangeable = cx.document.unchangeable();
    let changes = cx.document.latest_capture().map_or_else(Vec::new, |_| head_changes(cx, head));
    let changes = changes.into_iter().map(move |HeadChange { name, meaning, synonyms, edits }| {
        let change = Chosen::session(Command::Change(ChangeCommand::Add(edits)));
        let reason = unchangeable.map(ToOwned::to_owned);
        PaletteRow { reason, synonyms, ..row("Change", format!("{name} · {head}"), meaning.to_owned(), change) }
    });
    let directions = direction_rows(cx);
    let methods = MethodPreset::all().map(move |column| {
        let reason = cx.view_unavailable(ViewKind::OF_ANSWERS).map(ToOwned::to_owned);
        let detail = format!("{} {}", column.method.question.text(), column.method.caveat);
        let show = Chosen::session(Command::ShowMethod(column.name));
        PaletteRow { reason, ..row("Explain", column.title.to_owned(), detail, show) }
    });
    let model = move |kind, source: ModelSource| {
        let open = Chosen::session(Command::OpenModel(source.clone()));
        row(kind, source_name(&source), source_text(&source), open)
    };
    let bundled = bundled_models().map(move |name| model("Bundled model", ModelSource::Bundled(name.to_owned())));
    let recent = cx.session.settings.recent_models.iter();
    let recent = recent.filter(|source| !matches!(source, ModelSource::Bundled(_)));
    let recent = recent.map(move |source| model("Recent model", source.clone()));
    let examples = (0..EXAMPLES.len()).map(|idx| example_row(idx, Fit { score: 0, at: Vec::new() }));
    let corpora = BUNDLED_CORPORA.iter().map(move |(name, what)| {
        let open = CorpusCommand::Open(CorpusSource::path(*name));
        row("Bundled corpus", (*name).to_owned(), (*what).to_owned(), Chosen::session(Command::Corpus(open)))
    });
    let bookmarks = cx.session.keeping.bookmarks.iter().enumerate().map(move |(idx, bookmark)| {
        let go = Chosen::session(Command::Session(SessionCommand::Bookmark(BookmarkCommand::GoTo(idx))));
        row("Bookmark", bookmark.name.clone(), "Go to this view".to_owned(), go)
    });
    let changes = changes.chain(directions).chain(methods);
    commands.chain(changes).chain(bookmarks).chain(recent).chain(bundled).chain(corpora).chain(examples)
}

/// The directions that can be added after the selected layer, or why there is none.
fn direction_rows(cx: &PanelCtx<'_>) -> Vec<PaletteRow> {
    let layer = cx.pane.selection.head.layer;
    let row = |text: String, detail: String, chosen: Option<Chosen>| PaletteRow {
        kind: "Change",
        text,
        reason: chosen.is_none().then(|| detail.clone()),
        detail,
        chosen,
        synonyms: direction::SYNONYMS,
        fit: Fit { score: 0, at: Vec::new() },
    };
    let sets = match direction::sets(cx) {
        Ok(sets) => sets,
        Err(reason) => return vec![row("Direction between two sets of inputs".to_owned(), reason.to_owned(), None)],
    };
    let pairs = sets.iter().flat_map(|plus| sets.iter().filter(move |minus| *minus != plus).map(move |it| [plus, it]));
    let of_pair = |[plus, minus]: [&MeanInputs; 2]| {
        let edit = direction::edit(cx, layer, [plus, minus], Along::Add(1.0));
        let text = format!("Direction towards {}, away from {} · after layer {layer}", plus.name(), minus.name());
        let detail = "Add the difference of the means of two sets of inputs to the residual stream; the layer can be \
            changed under Changes";
        row(text, detail.to_owned(), Some(Chosen::session(Command::Change(ChangeCommand::Add(vec![edit])))))
    };
    pairs.map(of_pair).collect()
}

/// The options of all views.
fn option_rows(cx: &PanelCtx<'_>) -> impl Iterator<Item = PaletteRow> {
    known_options(cx).into_iter().map(|KnownOption { view, name, label, meaning, is_here }| {
        let absent = || (!is_here).then_some("not an option of what is shown now");
        let reason = cx.view_unavailable(view).or_else(absent);
        PaletteRow {
            kind: "Option",
            text: label.to_owned(),
            detail: format!("{}: {meaning}", view.label()),
            chosen: Some(Chosen::Window(UiCommand::ShowOption(view, name))),
            reason: reason.map(|reason| format!("{}: {reason}", view.label())),
            synonyms: &[],
            fit: Fit { score: 0, at: Vec::new() },
        }
    })
}

/// The glossary, whose meanings stand in the list.
fn terms() -> impl Iterator<Item = PaletteRow> {
    TERMS.iter().map(|term| PaletteRow {
        kind: "Glossary",
        text: term.name.to_owned(),
        detail: term.meaning.to_owned(),
        chosen: Some(Chosen::Window(UiCommand::HelpOn(term.name))),
        reason: None,
        synonyms: &[],
        fit: Fit { score: 0, at: Vec::new() },
    })
}

/// The place whose address was typed or pasted.
fn address_row(typed: &str) -> Option<PaletteRow> {
    let typed = typed.trim();
    if !typed.starts_with(SCHEME) {
        return None;
    }
    let (chosen, reason) = match typed.parse::<Address>() {
        Ok(address) => (Some(Chosen::session(Command::Session(SessionCommand::GoTo(Box::new(address))))), None),
        Err(error) => (None, Some(crate::text::sentence(&error.to_string()))),
    };
    Some(PaletteRow {
        kind: "Link",
        text: typed.to_owned(),
        detail: "Go to this view".to_owned(),
        chosen,
        reason,
        synonyms: &[],
        fit: Fit { score: i32::MAX, at: Vec::new() },
    })
}

/// The head or the layer that was typed: `L3H5`, `cross L2H1`, `L4`.
fn head_row(cx: &PanelCtx<'_>, typed: &str) -> Option<PaletteRow> {
    let capture = cx.document.latest_capture()?;
    let TypedHead { stack, layer, head } = TypedHead::parse(typed)?;
    let stack = stack.unwrap_or(cx.pane.selection.stack());
    let several = capture.model().stacks.len() > 1;
    let name = |text: String| if several { format!("{stack} {text}") } else { text };
    let id = HeadId { stack, layer, head: head.unwrap_or(cx.pane.selection.head.head) };
    let text = name(head.map_or_else(|| format!("L{layer}"), |_| id.to_string()));
    let chosen = Some(Chosen::session(Command::Select(SelectionCommand::ShowHead(id))));
    let reason = absence(capture.model(), stack, layer, head);
    let detail = if head.is_some() { "Select this head" } else { "Select the head of this number in this layer" };
    let at = (0..text.chars().count()).collect();
    Some(PaletteRow {
        kind: "Head",
        text,
        detail: detail.to_owned(),
        chosen,
        reason,
        synonyms: &[],
        fit: Fit { score: i32::MAX, at },
    })
}

/// Why there is no such head.
fn absence(model: &ModelSpec, stack: StackKind, layer: usize, head: Option<usize>) -> Option<String> {
    let Some(spec) = model.stack(stack) else {
        let kinds: Vec<&str> = model.stacks.iter().map(|stack| stack.kind.name()).collect();
        return Some(format!("There is no {stack} stack: {} has {}", model.name, kinds.join(", ")));
    };
    let Some(shape) = spec.layers.get(layer) else {
        return Some(format!("There is no such layer: {}, from 0", counted(spec.layers.len(), "layer")));
    };
    let missing = head.is_some_and(|head| head >= shape.n_heads);
    missing.then(|| format!("There is no such head: layer {layer} has {}, from 0", counted(shape.n_heads, "head")))
}

/// A head, or a layer, as people write it.
#[derive(Debug, PartialEq, Eq)]
struct TypedHead {
    stack: Option<StackKind>,
    layer: usize,
    head: Option<usize>,
}

impl TypedHead {
    /// `L3H5`, `l3 h5`, `cross L2H1`, `L4`.
    fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim().to_lowercase();
        let stack = typed.split_once(' ').and_then(|(name, rest)| Some((StackKind::from_name(name)?, rest)));
        let (stack, rest) = stack.map_or((None, typed.as_str()), |(stack, rest)| (Some(stack), rest));
        let rest: String = rest.split_whitespace().collect();
        let rest = rest.strip_prefix('l')?;
        let (layer, head) = match rest.split_once('h') {
            Some((layer, head)) => (layer, Some(head.parse().ok()?)),
            None => (rest, None),
        };
        Some(Self { stack, layer: layer.parse().ok()?, head })
    }
}

/// Tokens that have what was typed in them; as many as can be looked through.
fn token_rows(cx: &PanelCtx<'_>, hits: &[usize]) -> Vec<PaletteRow> {
    let Some(capture) = cx.document.latest_capture() else { return Vec::new() };
    let side = cx.pane.selection.stack().query_side();
    let tokens = capture.tokens(side);
    let of_several = capture.model().stacks.len() > 1;
    let at = |position: usize| tokens.get(position).and_then(|token| token.position).unwrap_or(position);
    let place = |position: usize| match (side.name(), of_several) {
        (name, true) => format!("{} token #{}: pin it as query", capitalised(name), at(position)),
        (_, false) => format!("Token #{}: pin it as query", at(position)),
    };
    let row = |&position: &usize| PaletteRow {
        kind: "Token",
        text: tokens.get(position).map_or_else(String::new, |token| token.text.trim().to_owned()),
        detail: place(position),
        chosen: Some(Chosen::session(Command::Select(SelectionCommand::Pin(Focus::query(position))))),
        reason: None,
        synonyms: &[],
        fit: Fit { score: 0, at: Vec::new() },
    };
    hits.iter().take(MAX_TOKENS).map(row).collect()
}

/// What is said where more tokens were found than are listed.
pub fn more_tokens(n_hits: usize) -> Option<String> {
    (n_hits > MAX_TOKENS).then(|| format!("and {} further on in the text", counted(n_hits - MAX_TOKENS, "token")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_people_write_them() {
        let place = |stack, layer, head| Some(TypedHead { stack, layer, head });
        assert_eq!(TypedHead::parse("L3H5"), place(None, 3, Some(5)));
        assert_eq!(TypedHead::parse(" l12 h0 "), place(None, 12, Some(0)));
        assert_eq!(TypedHead::parse("cross L2H1"), place(Some(StackKind::Cross), 2, Some(1)));
        assert_eq!(TypedHead::parse("L4"), place(None, 4, None));
        for other in ["light", "lh", "L", "3", "cross", "L1H", "L1Hx", "l1h2h3"] {
            assert_eq!(TypedHead::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_row_says_how_many_tokens_it_leaves_out() {
        assert_eq!(more_tokens(MAX_TOKENS), None);
        assert_eq!(more_tokens(MAX_TOKENS + 1).unwrap(), "and 1 token further on in the text");
    }
}

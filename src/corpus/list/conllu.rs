//! CoNLL-U: sentences of a treebank, with the word class, the syntactic head and the relation of each word as columns.
//!
//! The format is that of universaldependencies.org/format.html. A column has as many values as the sentence has words,
//! between bars. Words that are written together (`1-2 don't`) are one word here: it has the class of its parts joined by
//! `+`, and the head and relation of the first part whose head is another word. Empty nodes (`8.1`) are left out.

use super::{Content, InputList, Item, ListError, MAX_INPUTS, WORDS};

/// Names of the columns.
const COLUMNS: [&str; 4] = [WORDS, "upos", "heads", "deprel"];
/// Name of what is run.
const TEXT: &str = "text";
const N_FIELDS: usize = 10;
const BAR: &str = "|";

/// A word of the treebank.
struct TreeWord<'a> {
    form: &'a str,
    class: &'a str,
    /// From 1; 0 is none.
    head: usize,
    relation: &'a str,
    has_space: bool,
}

/// Words from `first` to `last` that are written together.
struct JoinedWords<'a> {
    first: usize,
    last: usize,
    form: &'a str,
    has_space: bool,
}

#[derive(Default)]
struct TreeSentence<'a> {
    text: Option<&'a str>,
    name: Option<&'a str>,
    words: Vec<TreeWord<'a>>,
    together: Vec<JoinedWords<'a>>,
}

pub(super) fn parse(text: &str, wanted: Option<&str>) -> Result<InputList, ListError> {
    let columns = COLUMNS.map(str::to_owned).to_vec();
    if let Some(wanted) = wanted.filter(|wanted| *wanted != TEXT) {
        return Err(ListError::NoColumn { wanted: wanted.to_owned(), columns: vec![TEXT.to_owned()] });
    }
    let mut list = InputList { columns, text_columns: vec![TEXT.to_owned()], ..InputList::default() };
    let mut sentence = TreeSentence::default();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |problem: String| ListError::Row { what: "line", number, problem };
        let line = line.trim_end();
        if line.is_empty() {
            list.items.extend(std::mem::take(&mut sentence).item());
        } else if let Some(comment) = line.strip_prefix('#') {
            let value = |name: &str| comment.trim().strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim);
            sentence.text = value("text").or(sentence.text);
            sentence.name = value("sent_id").or(sentence.name);
        } else {
            sentence.add(line).map_err(wrong)?;
        }
        if list.items.len() > MAX_INPUTS {
            return Err(ListError::TooMany);
        }
    }
    list.items.extend(sentence.item());
    Ok(list)
}

impl<'a> TreeSentence<'a> {
    fn add(&mut self, line: &'a str) -> Result<(), String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, form, _, class, _, _, head, relation, _, misc] = fields[..] else {
            return Err(format!("has {} columns between tabs, and a treebank {N_FIELDS}", fields.len()));
        };
        let has_space = !misc.split(BAR).any(|entry| entry == "SpaceAfter=No");
        let next = self.words.len() + 1;
        if id.contains('.') {
            return Ok(());
        }
        if let Some((first, last)) = id.split_once('-') {
            let (first, last) =
                first.parse().ok().zip(last.parse().ok()).ok_or_else(|| format!("has the number {id}"))?;
            if first != next || last < first {
                return Err(format!("has the words {id}, where number {next} comes next"));
            }
            self.together.push(JoinedWords { first, last, form, has_space });
            return Ok(());
        }
        if id.parse() != Ok(next) {
            return Err(format!("has the number {id}, where {next} comes next"));
        }
        let head = if head == "_" { 0 } else { head.parse().map_err(|_| format!("has the head {head}"))? };
        self.words.push(TreeWord { form, class, head, relation, has_space });
        Ok(())
    }

    /// None of a sentence without words.
    fn item(self) -> Option<Item> {
        let mut surface: Vec<(usize, usize, &str, bool)> = Vec::new();
        let mut next = 1;
        while next <= self.words.len() {
            let whole = self.together.iter().find(|together| together.first == next);
            let last = whole.map_or(next, |together| together.last.min(self.words.len()));
            let word = &self.words[next - 1];
            let (form, has_space) = whole.map_or((word.form, word.has_space), |it| (it.form, it.has_space));
            surface.push((next, last, form, has_space));
            next = last + 1;
        }
        if surface.is_empty() {
            return None;
        }
        // From 1, as heads are; 0 where there is none.
        let place = |word: usize| surface.iter().position(|(first, last, ..)| (*first..=*last).contains(&word));
        let (mut classes, mut heads, mut relations) = (Vec::new(), Vec::new(), Vec::new());
        let mut text = String::new();
        for (nth, (first, last, form, has_space)) in surface.iter().enumerate() {
            let parts = &self.words[first - 1..*last];
            let outside = |part: &&TreeWord<'_>| place(part.head) != Some(nth);
            let main = parts.iter().find(outside).unwrap_or(&parts[0]);
            classes.push(parts.iter().map(|part| part.class).collect::<Vec<_>>().join("+"));
            heads.push(place(main.head).filter(|head| *head != nth).map_or(0, |head| head + 1).to_string());
            relations.push(main.relation.to_owned());
            text.push_str(form);
            text.push_str(if *has_space { " " } else { "" });
        }
        let forms: Vec<&str> = surface.iter().map(|(_, _, form, _)| *form).collect();
        let text = self.text.map_or_else(|| text.trim_end().to_owned(), str::to_owned);
        let values = [forms.join(BAR), classes.join(BAR), heads.join(BAR), relations.join(BAR)];
        Some(Item {
            content: Content::Text(text),
            name: self.name.map(str::to_owned),
            values: values.into_iter().map(Some).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREES: &str = "# sent_id = one\n# text = They don't run.\n\
        1\tThey\tthey\tPRON\t_\t_\t4\tnsubj\t_\t_\n\
        2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n\
        2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_\n\
        3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_\n\
        3.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_\n\
        4\trun\trun\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n\
        5\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_\n\n\n\
        1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n\
        2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_";

    #[test]
    fn sentences_have_their_words_classes_heads_and_relations() {
        let list = parse(TREES, None).unwrap();
        let [first, second] = &list.items[..] else { panic!("{list:?}") };
        let values = |item: &Item| item.values.iter().map(|value| value.clone().unwrap()).collect::<Vec<_>>();
        assert_eq!((first.content.text(), first.name.as_deref()), (Some("They don't run."), Some("one")));
        assert_eq!(values(first), ["They|don't|run|.", "PRON|AUX+PART|VERB|PUNCT", "3|3|0|3", "nsubj|aux|root|punct"]);
        assert_eq!((second.content.text(), second.name.as_deref()), (Some("Go!"), None));
        assert_eq!(values(second), ["Go|!", "VERB|PUNCT", "0|1", "root|punct"]);
        assert_eq!(list.columns, COLUMNS);
        assert!(parse(TREES, Some("words")).is_err() && parse(TREES, Some(TEXT)).is_ok());
    }

    #[test]
    fn lines_that_are_no_words_are_named() {
        let said = |text: &str| parse(text, None).unwrap_err().to_string();
        assert!(said("1\tGo").contains("line 1 has 2 columns between tabs, and a treebank 10"), "{}", said("1\tGo"));
        let line = |id: &str, head: &str| format!("{id}\tGo\t_\t_\t_\t_\t{head}\troot\t_\t_");
        assert!(said(&line("2", "0")).contains("where 1 comes next"));
        assert!(said(&line("1-x", "0")).contains("has the number 1-x"));
        assert!(said(&line("2-3", "_")).contains("where number 1 comes next"));
        assert!(said(&line("1", "9e9")).contains("has the head 9e9"));
        let far = parse(&line("1", "7"), None).unwrap();
        assert_eq!(far.items[0].values[2].as_deref(), Some("0"), "a head that is not there is none");
        let cut = format!("1-9\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n{}", line("1", "0"));
        assert_eq!(parse(&cut, None).unwrap().items.len(), 1);
        assert!(parse("# text = nothing\n\n", None).unwrap().items.is_empty());
    }
}

//! Gold alignments and the alignment error rate (Och and Ney 2003).

use super::{super::ExplainError, Links};

/// One sentence's gold alignment: sure links, and possible ones, which include the sure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gold {
    /// Links that everybody sees.
    pub sure: Links,
    /// Links that are not wrong.
    pub possible: Links,
}

impl Gold {
    /// One sentence for each line: `0-0` is a sure link of source and target word, `2p1` a possible one.
    ///
    /// `first` is the number of the first word in the file, 0 or 1.
    pub fn parse(text: &str, first: usize) -> Result<Vec<Self>, ExplainError> {
        text.lines().enumerate().map(|(nth, line)| Self::parse_line(line, first, nth + 1)).collect()
    }

    fn parse_line(line: &str, first: usize, number: usize) -> Result<Self, ExplainError> {
        let mut gold = Self::default();
        for link in line.split_whitespace() {
            let (separator, sure) = if link.contains('p') { ('p', false) } else { ('-', true) };
            let word = |text: &str| text.parse::<usize>().ok()?.checked_sub(first);
            let pair = link.split_once(separator).and_then(|(source, target)| Some((word(source)?, word(target)?)));
            let Some(pair) = pair else {
                let problem = format!(
                    "{link} is not a link: write 3-5 for a sure one or 3p5 for a possible one, words counted from {first}"
                );
                return Err(ExplainError::Line { line: number, problem });
            };
            gold.possible.insert(pair);
            if sure {
                gold.sure.insert(pair);
            }
        }
        Ok(gold)
    }
}

/// How good alignments are, over all sentences of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aer {
    n_links: usize,
    n_sure: usize,
    sure_found: usize,
    possible_found: usize,
}

impl Aer {
    /// Counts one sentence.
    pub fn add(&mut self, links: &Links, gold: &Gold) {
        self.n_links += links.len();
        self.n_sure += gold.sure.len();
        self.sure_found += links.intersection(&gold.sure).count();
        self.possible_found += links.intersection(&gold.possible).count();
    }

    /// `1 - (|A∩S| + |A∩P|) / (|A| + |S|)`, 0 being the best; none where there are neither links nor gold.
    pub fn error_rate(&self) -> Option<f64> {
        let n = self.n_links + self.n_sure;
        (n > 0).then(|| 1.0 - (self.sure_found + self.possible_found) as f64 / n as f64)
    }

    /// `|A∩P| / |A|`; none without links, where a published script divides by 0.
    pub fn precision(&self) -> Option<f64> {
        (self.n_links > 0).then(|| self.possible_found as f64 / self.n_links as f64)
    }

    /// `|A∩S| / |S|`; none without sure links.
    pub fn recall(&self) -> Option<f64> {
        (self.n_sure > 0).then(|| self.sure_found as f64 / self.n_sure as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::toy, *};

    #[test]
    fn the_worked_example() {
        let gold = &Gold::parse("0-0 1-1 2p1 2p2", 0).unwrap()[0];
        assert_eq!((gold.sure.len(), gold.possible.len()), (2, 4));
        let mut aer = Aer::default();
        aer.add(&Links::from([(0, 0), (1, 1), (2, 2), (0, 1)]), gold);
        toy::assert_near(
            &[aer.error_rate().unwrap(), aer.precision().unwrap(), aer.recall().unwrap()],
            &[0.166_667, 0.75, 1.0],
        );
    }

    #[test]
    fn nothing_found_has_no_precision_and_files_are_checked() {
        let gold = Gold::parse("1-1\n\n2p3 1-2", 1).unwrap();
        assert_eq!(gold[0].sure, Links::from([(0, 0)]));
        assert_eq!((gold[1].possible.len(), gold[2].possible.len()), (0, 2));
        let mut aer = Aer::default();
        assert_eq!(aer.error_rate(), None);
        aer.add(&Links::new(), &gold[0]);
        assert_eq!((aer.error_rate(), aer.precision(), aer.recall()), (Some(1.0), None, Some(0.0)));
        let wrong = Gold::parse("0-0\n1:1", 0).unwrap_err().to_string();
        assert!(wrong.starts_with("line 2: 1:1 is not a link"), "{wrong}");
        assert!(Gold::parse("0-1", 1).is_err(), "words counted from 1 have no 0");
    }
}

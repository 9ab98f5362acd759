//! The question that a view answers, made from what is shown, and the sentence about what its picture is worth: the same
//! in the window and in figures.

use super::{Pinned, stack_prefix};
use crate::{
    analysis::{Space, paths::PathMeasure, reading::Explained},
    capture::{Capture, Grouping, Merging, words},
    figure::ViewOptions,
    ids::{HeadId, Side, StackKind},
    text::{capitalised, counted},
};

/// Characters of a token in a question.
const MAX_TOKEN: usize = 24;

/// The subject of a picture, as far as its question names it.
#[derive(Clone, Debug)]
pub struct Topic<'a> {
    pub capture: &'a Capture,
    pub stack: StackKind,
    /// The heads whose numbers are drawn; none where they are all of the stack.
    pub heads: Vec<HeadId>,
    /// How they become one, where they do.
    pub together: Option<&'static str>,
    /// What is subtracted, in words.
    pub minus: Option<String>,
    /// The two sides that heads are held against each other over, in words.
    pub against: Option<[String; 2]>,
    pub pinned: Pinned,
    /// What tokens are merged into where weights are drawn.
    pub merging: Merging,
    /// Whether rows of weights are named by the token that is written next.
    pub writes: bool,
    /// Values in place of attention.
    pub explained: Option<&'a Explained>,
    /// The output that is explained, in words.
    pub output: Option<String>,
    /// How many inputs the numbers are of.
    pub n_inputs: usize,
    pub options: &'a ViewOptions,
}

impl Topic<'_> {
    /// Which heads, in words: `L3H2`, `3 heads of layer 3`.
    pub fn which(&self) -> String {
        let heads = match self.heads.as_slice() {
            [] => counted(0, "head"),
            [head] => head.to_string(),
            [first, rest @ ..] if rest.iter().all(|head| head.layer == first.layer) => {
                format!("{} of layer {}", counted(self.heads.len(), "head"), first.layer)
            }
            all => counted(all.len(), "head"),
        };
        let heads = match self.together {
            Some(how) if self.heads.len() > 1 => format!("the {how} of {heads}"),
            _ => heads,
        };
        match stack_prefix(self.stack).trim_end_matches(", ") {
            "" => heads,
            _ if self.stack == StackKind::Chosen => heads,
            stack => format!("{stack} {heads}"),
        }
    }

    /// How many heads are drawn.
    fn n_drawn(&self) -> usize {
        if self.heads.is_empty() { self.n_heads() } else { self.heads.len() }
    }

    /// How many heads the stack has.
    fn n_heads(&self) -> usize {
        let stack = self.capture.model().stack(self.stack);
        stack.map_or(0, |stack| stack.layers.iter().map(|layer| layer.n_heads).sum())
    }

    /// What a token of a side is called.
    fn token(&self, side: Side, position: usize) -> String {
        self.called(side, position, &words::token_text(self.capture.tokens(side), position))
    }

    /// What a token of a side is called where weights are drawn: by its word or sentence, where tokens are merged.
    fn word(&self, side: Side, position: usize) -> String {
        if !self.merging.is_merged() {
            return self.token(side, position);
        }
        let grouping = Grouping::of(self.capture, side, self.merging);
        match grouping.groups.iter().find(|group| group.contains(&position)) {
            Some(group) => self.called(side, position, &grouping.text(group.clone())),
            None => self.token(side, position),
        }
    }

    /// A token in a sentence.
    fn called(&self, side: Side, position: usize, text: &str) -> String {
        let is_patch = self.is_of_patches(side) && self.capture.image().is_some_and(|image| position >= image.n_prefix);
        match words::bare(text) {
            _ if is_patch && self.has_regions() => format!("region “{text}”"),
            _ if is_patch => format!("patch {text}"),
            "" => format!("“{text}”"),
            bare if bare.chars().count() > MAX_TOKEN => {
                format!("“{}…”", bare.chars().take(MAX_TOKEN).collect::<String>())
            }
            bare => format!("“{bare}”"),
        }
    }

    /// Whether a side is the picture.
    pub fn is_of_patches(&self, side: Side) -> bool {
        self.capture.picture_side() == Some(side)
    }

    /// What one query is called.
    fn a_query(&self) -> &'static str {
        match self.is_of_patches(self.stack.query_side()) {
            true if self.has_regions() => "region",
            true => "patch",
            false => "token",
        }
    }

    /// Whether parts of the picture are regions in place of patches.
    fn has_regions(&self) -> bool {
        self.capture.image().is_some_and(|image| image.regions.is_some())
    }

    /// The query and the key that are held, in words.
    fn held(&self) -> [Option<String>; 2] {
        let Pinned { query, key } = self.pinned;
        [query.map(|at| self.token(self.stack.query_side(), at)), key.map(|at| self.token(self.stack.key_side(), at))]
    }

    /// The same as rows and columns of weights are named, and whether the query is what is written.
    fn drawn(&self) -> ([Option<String>; 2], bool) {
        let Pinned { query, key } = self.pinned;
        let (side, writes) = (self.stack.query_side(), self.writes && self.explained.is_none());
        let row = |at: usize| match at + usize::from(writes) {
            next if next < self.capture.tokens(side).len() => self.word(side, next),
            _ => "the next token".to_owned(),
        };
        ([query.map(row), key.map(|at| self.word(self.stack.key_side(), at))], writes)
    }

    /// The question of views that draw weights.
    pub fn looks(&self) -> String {
        let which = self.which();
        let (held, writes) = self.drawn();
        if let Some(explained) = self.explained {
            let title = explained.title();
            let what = match (explained.outcome(), held) {
                (_, [Some(query), Some(key)]) => format!("how much does {key} count for {query}?"),
                (_, [Some(query), None]) => format!("what counts for {query}?"),
                (Some(outcome), [None, _]) => format!("what does {outcome} depend on?"),
                (None, [None, Some(key)]) => format!("what does {key} count for?"),
                (None, [None, None]) => format!("what counts for each {}?", self.a_query()),
            };
            return format!("{title}: {what}");
        }
        if let Some(minus) = &self.minus {
            let about = match held {
                [Some(query), _] => format!(" for {query}"),
                [None, Some(key)] => format!(" on {key}"),
                [None, None] => String::new(),
            };
            return format!("Where do {which} and {minus} differ{about}?");
        }
        match held {
            [Some(query), Some(key)] if writes => format!("How much is {key} looked at to write {query} in {which}?"),
            [Some(query), None] if writes => format!("What is looked at to write {query} in {which}?"),
            [Some(query), Some(key)] => format!("How much does {query} look at {key} in {which}?"),
            [Some(query), None] => format!("What does {query} look at in {which}?"),
            [None, Some(key)] => format!("What looks at {key} in {which}?"),
            [None, None] if self.is_of_patches(self.stack.key_side()) => {
                format!("Where does each {} look in {which}?", self.a_query())
            }
            [None, None] => format!("What does each {} look at in {which}?", self.a_query()),
        }
    }

    /// The question of the text itself.
    pub fn reads(&self) -> String {
        let at_rest = self.pinned.is_empty() && self.explained.is_none() && self.minus.is_none();
        if at_rest { format!("What is looked at in {}?", self.which()) } else { self.looks() }
    }

    /// The question of views of all heads.
    pub fn compares(&self) -> String {
        let heads = counted(self.n_drawn(), "head");
        match self.held() {
            [Some(query), _] => format!("Where does {query} look in each of {heads}?"),
            [None, Some(key)] => format!("Which of {heads} look at {key}?"),
            [None, None] => format!("Which of {heads} differ?"),
        }
    }

    /// The question of views of all heads, where those come first that have something to see.
    pub fn picks(&self) -> String {
        format!("Which of its {} is worth a look?", counted(self.n_heads(), "head"))
    }

    /// The question of a text step by step.
    pub fn was_written(&self) -> String {
        match self.pinned.query {
            Some(query) if query + 1 < self.capture.tokens(self.stack.query_side()).len() => {
                let token = self.token(self.stack.query_side(), query + 1);
                format!("What could have been written in place of {token}?")
            }
            _ => "How was the text written?".to_owned(),
        }
    }

    /// The question of points of one cell.
    pub fn is_near(&self) -> String {
        let which = self.which();
        // Of many inputs a token is held by its point.
        let held = if self.n_inputs == 1 { self.held() } else { [None, None] };
        let over =
            if self.n_inputs == 1 { String::new() } else { format!(" over {}", counted(self.n_inputs, "input")) };
        match (self.options.projection().space, held) {
            (Space::QueriesKeys, [Some(query), _]) => format!("Which keys are near {query} in {which}?"),
            (Space::QueriesKeys, [None, Some(key)]) => format!("Which queries are near {key} in {which}?"),
            (Space::QueriesKeys, [None, None]) => format!("Which keys are near which queries in {which}{over}?"),
            (Space::Values, _) => format!("Which tokens have values alike in {which}{over}?"),
            (Space::Residual, _) => {
                let layer = self.heads.first().map_or(0, |head| head.layer);
                format!("Which tokens are alike before layer {layer}{over}?")
            }
            (Space::Positions, _) => "Which positions are alike?".to_owned(),
        }
    }

    /// The question of points of all cells.
    pub fn are_near(&self) -> String {
        let heads = counted(self.n_drawn(), "head");
        match self.options.projection().space {
            Space::QueriesKeys => format!("In which of {heads} are keys near their queries?"),
            Space::Values => format!("In which of {heads} are values alike?"),
            Space::Residual => "In which layer do tokens become alike?".to_owned(),
            Space::Positions => "Which positions are alike?".to_owned(),
        }
    }

    /// The question of the steps behind a weight.
    pub fn comes_about(&self) -> String {
        let which = self.which();
        match self.held() {
            [Some(query), Some(key)] => format!("How does the weight of {key} for {query} in {which} come about?"),
            [Some(query), None] => format!("How do the weights of {query} in {which} come about?"),
            [None, Some(key)] => format!("How does a weight of {key} in {which} come about?"),
            [None, None] => format!("How does a weight of {which} come about?"),
        }
    }

    /// The question of normalisers.
    pub fn normalises(&self) -> String {
        let which = self.which();
        match self.held() {
            [Some(query), _] => format!("What makes scores of {query} weights in {which}?"),
            [None, _] => format!("What makes scores weights in {which}?"),
        }
    }

    /// The question of the model as boxes.
    pub fn is_made_of(&self) -> String {
        format!("Where in {} is {}?", self.capture.model().name, self.which())
    }

    /// The question of paths through all layers.
    pub fn passes(&self) -> String {
        let ways = match self.held() {
            [Some(query), Some(key)] => format!("which way leads from {key} to {query} through the layers?"),
            [Some(query), None] => format!("which ways lead to {query} through the layers?"),
            [None, Some(key)] => format!("which ways lead from {key} through the layers?"),
            [None, None] => "which way through the layers?".to_owned(),
        };
        match self.options.path_measure() {
            PathMeasure::Raw => capitalised(&ways),
            measure @ (PathMeasure::Rollout | PathMeasure::Flow) => format!("{}: {ways}", measure.title()),
        }
    }

    /// The question of positions.
    pub fn knows_positions(&self) -> String {
        format!("How does {} know where tokens stand?", self.which())
    }

    /// The question of cost.
    pub fn costs(&self) -> String {
        format!("What does length cost, and can {} be approximated?", self.which())
    }

    /// The question of experts.
    pub fn is_sent(&self) -> String {
        let layer = self.heads.first().map_or(0, |head| head.layer);
        match self.held() {
            [Some(token), _] => format!("Which experts does {token} go to in layer {layer}?"),
            [None, _] => format!("Which experts do tokens go to in layer {layer}?"),
        }
    }

    /// The question of recurrences, of the tokens of a side.
    pub fn is_left(&self, side: Option<Side>) -> String {
        let [query, key] = self.held();
        let held = if side == Some(self.stack.key_side()) {
            key
        } else {
            query.filter(|_| side == Some(self.stack.query_side()))
        };
        format!("What is left of {}, step by step?", held.as_deref().unwrap_or("the first word"))
    }

    /// The question of distance beside the dot product.
    pub fn follows(&self) -> String {
        format!("Does distance follow q·k in {}?", self.which())
    }

    /// The question of means over inputs.
    pub fn averages(&self) -> String {
        format!("What does {} do on average over {}?", self.which(), counted(self.n_inputs, "input"))
    }

    /// What must be known before weights are believed.
    pub fn of_weights(&self) -> String {
        match (self.explained, self.heads.as_slice()) {
            (Some(explained), _) => format!("Not attention. {}", explained.method().caveat),
            (None, [_]) => format!("One head of {}; weights are not reasons", self.n_heads()),
            (None, _) => "Weights are not reasons".to_owned(),
        }
    }

    /// What must be known before the steps behind a weight are believed.
    pub fn of_steps(&self) -> String {
        format!("Numbers of this run as recorded, of one head of {}; weights are not reasons", self.n_heads())
    }

    /// What must be known before points are believed.
    pub fn of_points(&self) -> String {
        "A map keeps only a part of what is near in all dimensions".to_owned()
    }

    /// What must be known before correlations are believed.
    pub fn of_pairs(&self) -> String {
        format!("Correlations of the pairs of {} alone", counted(self.n_inputs, "input"))
    }

    /// What must be known before means are believed.
    pub fn of_means(&self) -> String {
        match self.n_inputs {
            1 => "The mean of one input is that input".to_owned(),
            _ => "A mean hides what single inputs do".to_owned(),
        }
    }
}

//! Options of linear probes.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::probe::{Labelling, LayerSpan, Pool, ProbeOptions, ProbeQuestion, probed_sites},
    capture::Site,
    options::{FieldValue, OptionField, Visit, choose_with, put, real, whole},
};

/// Largest number of inputs that can be asked for.
const MOST_INPUTS: usize = 1_000_000;
/// Shares of texts that can be held out.
const HELD_OUT: std::ops::RangeInclusive<f64> = 0.05..=0.9;

/// What is probed, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeChoices {
    pub site: Site,
    /// All layers where none are named.
    pub layers: Option<LayerSpan>,
    /// Column with the labels; the likely one where none is named.
    pub label_column: Option<String>,
    pub labelling: Labelling,
    pub pool: Pool,
    /// So many of the first inputs; all where it is 0.
    pub first: usize,
    /// Weight of the losses beside the penalty.
    pub c: f64,
    /// Share of the texts that nothing is learnt from.
    pub held_out: f64,
    pub seed: u64,
}

impl Default for ProbeChoices {
    fn default() -> Self {
        let ProbeOptions { c, held_out, seed, .. } = ProbeOptions::default();
        Self {
            site: Site::ResidPost,
            layers: None,
            label_column: None,
            labelling: Labelling::default(),
            pool: Pool::default(),
            first: 0,
            c,
            held_out,
            seed,
        }
    }
}

impl ProbeChoices {
    /// What is asked of a corpus whose labels are likely to be in a column.
    pub fn question(&self, likely: &str) -> ProbeQuestion {
        let Self { site, layers, labelling, pool, c, held_out, seed, .. } = *self;
        ProbeQuestion {
            site,
            head: None,
            layers,
            column: self.label_column.clone().unwrap_or_else(|| likely.to_owned()),
            labelling,
            pool,
            options: ProbeOptions { c, held_out, seed, ..ProbeOptions::default() },
        }
    }

    /// The inputs that are probed, of those that there are.
    pub fn inputs(&self, there: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        there.take(if self.first == 0 { usize::MAX } else { self.first })
    }

    /// Shows the options; those that the window has above the chart are of the command line alone.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of probes: the site whose vectors labels are told from, in every layer";
        let sites: Vec<_> = probed_sites().map(|site| (site, site.name(), site.name())).collect();
        choose_with(visit, ("probe_site", "Site", meaning), &mut self.site, &sites, |field| {
            field.strict().on_command_line()
        });
        let layers = LayerSpan::text(self.layers);
        let meaning = "Of probes: the layers, such as 3 or 2-5, or all";
        let mut read = |text: &str| put(&mut self.layers, LayerSpan::parse(text));
        let value = FieldValue::Text(&layers, &mut read);
        visit(OptionField::new("probe_layers", "Layers", meaning, value).strict().on_command_line());
        let meaning = "Column of the corpus with classes: histograms are told apart by them instead of by what the model says; of \
             probes, the labels";
        let value = FieldValue::Words(&mut self.label_column, "label");
        let field = OptionField::new("label_column", "Labels", meaning, value);
        visit(field.placeholder("NAME").strict().on_command_line());
        let meaning = "Of probes: whether whole texts have labels, or words, with as many labels in a cell";
        choose_with(visit, ("probe_labels", "Labels of", meaning), &mut self.labelling, &Labelling::CHOICES, |field| {
            field.strict().on_command_line()
        });
        let meaning = "Of probes: the vector that stands for a text";
        choose_with(visit, ("probe_pool", "A text is", meaning), &mut self.pool, &Pool::CHOICES, |field| {
            field.heading("Probes over a corpus").strict()
        });
        let meaning = "Of probes: so many of the first inputs; 0 is all of them";
        visit(whole("probe_inputs", "Inputs", meaning, &mut self.first, 0..=MOST_INPUTS).strict().settles());
        let meaning = "Of probes: weight of the losses beside the penalty of the weights";
        visit(real("probe_c", "C", meaning, &mut self.c, 0.001..=1000.0).strict().settles());
        let meaning = "Of probes: share of the texts that nothing is learnt from";
        visit(real("probe_held_out", "Held out", meaning, &mut self.held_out, HELD_OUT).strict().settles());
        let meaning = "Of probes: the same seed gives the same split and the same random labels";
        visit(OptionField::new("probe_seed", "Seed", meaning, FieldValue::Seed(&mut self.seed)).strict());
    }
}

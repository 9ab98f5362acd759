//! `attnscope analyze debate`: the published tests of attention as explanation, over many inputs.

use clap::Args;
use serde_json::{Value, json};

use super::{
    debate_state::{DebateState, Measured},
    over_corpus::{KeptMeasures, MeasuredInputs},
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::{
            AgreementSummary, BoxOf, ByLargest, DebateOptions, DebateSummary, DebateTest, Histogram, InputLabels,
            Instance, METHOD, SummaryOptions, labelled_summary,
        },
    },
    cli::{CliError, open_identified, show_progress},
    corpus::list::InputList,
    figure::views::debate::{DebateScene, rows},
    model::{Cancelled, Model, Progress, Stage},
    text::{capitalised, decimal_text, share_text, weight_text},
    worker::{self, disk_cache::Fingerprint},
};

/// Quarters of the largest weight.
const QUARTERS: [&str; 4] = ["0 to ¼", "¼ to ½", "½ to ¾", "¾ to 1"];

/// The classifier, its inputs, and the tests.
#[derive(Debug, Args)]
pub struct DebateArguments {
    /// A classifier: a model folder, a bundled model such as demo:bilstm, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    #[command(flatten)]
    kept: KeptMeasures,
    /// The tests: correlation, permutation, adversary, erasure, or all
    #[arg(long, value_name = "TEST,TEST,…", value_delimiter = ',', default_value = ALL, value_parser = tests_named)]
    test: Vec<Tests>,
    /// Layer of the row of attention that the output reads [default: the last]
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// One head of that layer [default: all; attention is their mean, and changes are of all of them]
    #[arg(long, value_name = "H")]
    head: Option<usize>,
    /// Random orders of the weights of each input
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    permutations: u32,
    /// Steps of the search for other weights [default: 500 where the output is an affine function of the weights, as in
    /// recurrent classifiers; 100 where each step runs the model]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: Option<u32>,
    /// Column with classes: histograms are told apart by them instead of by what the model says
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// How much the probabilities may change under other weights
    #[arg(long, default_value_t = 0.01, value_name = "SHARE")]
    epsilon: f64,
}

const ALL: &str = "all";

/// One test, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tests {
    All,
    One(DebateTest),
}

fn tests_named(text: &str) -> Result<Tests, String> {
    let names = || DebateTest::ALL.map(DebateTest::name).join(", ");
    match DebateTest::from_name(text) {
        Some(test) => Ok(Tests::One(test)),
        None if text == ALL => Ok(Tests::All),
        None => Err(format!("it is one of {}, {ALL}", names())),
    }
}

impl DebateArguments {
    fn options(&self) -> DebateOptions {
        let is_asked =
            |test: &DebateTest| self.test.iter().any(|asked| [Tests::All, Tests::One(*test)].contains(asked));
        DebateOptions {
            tests: DebateTest::ALL.into_iter().filter(is_asked).collect(),
            layer: self.layer,
            head: self.head,
            n_permutations: self.permutations as usize,
            n_steps: self.steps.map(|steps| steps as usize),
            seed: self.inputs.seed,
        }
    }
}

pub fn run(asked: &DebateArguments) -> Result<(), CliError> {
    if !(0.0..=1.0).contains(&asked.epsilon) {
        return Err(CliError::Usage("--epsilon is a share, such as 0.01".to_owned()));
    }
    let list = asked.inputs.read.list()?;
    let labels = asked.label_column.as_deref().map(|column| InputLabels::of(&list, column)).transpose();
    let labels = labels.map_err(CliError::Usage)?;
    let (model, identity) = open_identified(&asked.model, &asked.inputs.read.engine()?)?;
    if !model.reads_whole() || model.outputs().is_none_or(|outputs| !outputs.has_probabilities()) {
        let what = "is no classifier: the tests compare probabilities of one output for each text";
        return Err(CliError::Usage(format!("{} {what}", asked.model)));
    }
    let options = asked.options();
    let measured = measured((&model, &identity), &list, &options, asked)?;
    let how = SummaryOptions { epsilon: asked.epsilon, samples: asked.inputs.samples(), seed: asked.inputs.seed };
    let summary = labelled_summary(&measured.instances, labels.as_ref(), &how);
    let scene = DebateScene { model: model.spec().name.clone(), corpus: asked.inputs.read.name(), summary };
    let document = document(&scene, &measured, (&options, asked));
    asked.inputs.tell(
        (&scene, &document),
        (&METHOD, "Is attention explanation?"),
        || rows(&measured.instances, asked.epsilon),
        || table(&scene, &measured, &options),
    )
}

/// Measures every input that the state does not have yet.
fn measured(
    (model, identity): (&Model, &Fingerprint),
    list: &InputList,
    options: &DebateOptions,
    asked: &DebateArguments,
) -> Result<Measured<Instance>, CliError> {
    let n = asked.inputs.n_of(list.items.len());
    let how = asked.inputs.read.how;
    let mut state = DebateState::begin(asked.kept.resume.as_deref(), (model, identity), list, (options, how))?;
    let prepared = how.chosen();
    for nth in state.n_done()..n {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        let content = &list.items[nth].content;
        match worker::debate::measure(model, (nth, content), prepared, options, &go_on) {
            Ok(instance) => state.add(instance),
            Err(error) => state.leave_out(nth, error.to_string()),
        }
        state.check_vain(nth, n)?;
        state.keep_now_and_then()?;
    }
    state.keep()?;
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    state.measured(n)
}

/// The result as JSON.
fn document(
    scene: &DebateScene,
    measured: &Measured<Instance>,
    (options, asked): (&DebateOptions, &DebateArguments),
) -> Value {
    let number = |estimate: &Estimate| json!({ "value": estimate.value, "low": estimate.low, "high": estimate.high });
    let histogram = |of: &Histogram| {
        json!({
            "class": of.class, "n": of.n, "mean": of.mean, "std": of.std, "significant": of.significant,
            "shares": of.shares,
        })
    };
    let histograms = |of: &[Histogram]| of.iter().map(histogram).collect::<Vec<Value>>();
    let agreement = |of: &AgreementSummary| {
        json!({
            "n": of.n, "constant": of.n_constant, "mean": number(&of.mean), "std": of.std,
            "significant": of.significant, "by_chance": of.by_chance, "histograms": histograms(&of.by_class),
        })
    };
    let boxed = |of: &BoxOf| json!({ "n": of.n, "mean": number(&of.mean), "quartiles": of.five });
    let by_largest = |of: &ByLargest| {
        let bins = of.boxes.iter().zip(QUARTERS);
        let bins = bins.map(|(of, largest)| json!({ "largest_weight": largest, "box": of.as_ref().map(boxed) }));
        json!({ "all": boxed(&of.all), "bins": bins.collect::<Vec<_>>() })
    };
    let DebateSummary { classes, labelled, gradient, leave_one_out, both, permutation, adversary, erasure, .. } =
        &scene.summary;
    let adversary = adversary.as_ref().map(|of| {
        let lengths = of.of_lengths.iter().map(|(tokens, far)| json!({ "tokens": tokens, "jsd": number(far) }));
        json!({
            "by_largest": by_largest(&of.by_largest), "histograms": histograms(&of.by_class),
            "reachable": of.reachable, "by_chance": of.by_chance, "candidates_kept": of.kept, "candidates": 5,
            "restarts": 1, "steps": of.n_steps, "by_length": lengths.collect::<Vec<_>>(),
        })
    });
    let erasure = erasure.as_ref().map(|orders| {
        let order = orders.iter().map(
            |of| json!({ "order": of.name, "n": of.n, "never": of.n_never, "flips": of.flips.as_ref().map(boxed) }),
        );
        order.collect::<Vec<_>>()
    });
    let tests = options
        .tests
        .iter()
        .map(|test| json!({ "test": test.name(), "shows": test.shows(), "published": test.published() }));
    json!({
        "method": METHOD.name,
        "parameters": asked.inputs.parameters(json!({
            "tests": options.tests, "layer": options.layer, "head": options.head,
            "permutations": options.n_permutations, "steps": options.n_steps, "epsilon": asked.epsilon,
            "label_column": asked.label_column,
            "seed": options.seed,
        })),
        "model": scene.model,
        "caveat": METHOD.caveat,
        "tests": tests.collect::<Vec<_>>(),
        "result": {
            "n": measured.instances.len(),
            "left_out": measured.left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "says_label": labelled.as_ref().map(|of| json!({ "n": of.n, "right": of.n_right })),
            "classes": classes.iter().map(|(class, n)| json!({ "class": class, "n": n })).collect::<Vec<_>>(),
            "correlation": gradient.as_ref().map(|gradient| json!({
                "gradient": agreement(gradient),
                "leave_one_out": leave_one_out.as_ref().map(agreement),
                "gradient_and_leave_one_out": both.as_ref().map(agreement),
            })),
            "permutation": permutation.as_ref().map(by_largest),
            "adversary": adversary,
            "erasure": erasure,
        },
    })
}

/// The result as text.
fn table(scene: &DebateScene, measured: &Measured<Instance>, options: &DebateOptions) -> String {
    let DebateSummary { labelled, gradient, leave_one_out, both, permutation, adversary, erasure, .. } = &scene.summary;
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let left_out = measured.left_out.len();
    line(format!("{} on {}: {}, {left_out} left out", scene.model, scene.corpus, scene.inputs_text()));
    if let Some(labelled) = labelled {
        line(capitalised(&format!("{}.", labelled.text())));
    }
    let named = [
        ("τ of attention and gradient × input", gradient),
        ("τ of attention and leave-one-out", leave_one_out),
        ("τ of gradient × input and leave-one-out", both),
    ];
    for (name, found) in named.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?))) {
        line(format!("{name:<42} {}", scene.agreement_text(found)));
    }
    let quarters = |of: &ByLargest, text: &dyn Fn(f64) -> String| {
        let bins = of.boxes.iter().zip(QUARTERS).filter_map(|(of, name)| Some((of.as_ref()?, name)));
        let bins = bins.map(|(of, name)| format!("{name}: {} (n {})", text(of.five[2]), of.n));
        format!("{:<42} {}", "  median by the largest weight", bins.collect::<Vec<_>>().join(", "))
    };
    if let Some(found) = permutation {
        let name = "Change under shuffled weights";
        line(format!("{name:<42} {}", DebateScene::permutation_text(found)));
        line(quarters(found, &|value| weight_text(value)));
    }
    if let Some(found) = adversary {
        let name = "Farthest weights, same output, JSD in nats";
        line(format!("{name:<42} {}", scene.adversary_text(found)));
        line(quarters(&found.by_largest, &|value| decimal_text(value)));
    }
    for order in erasure.iter().flatten() {
        let name = format!("Erased until it flips, by {}", order.title);
        let box_text = |of: &BoxOf| {
            let Estimate { value, low, high } = of.mean;
            let [value, low, high] = [value, low, high].map(share_text);
            format!("median {}, mean {value} ({low} to {high})", share_text(of.five[2]))
        };
        let flips = order.flips.as_ref().map_or_else(|| "none flips".to_owned(), box_text);
        line(format!("{name:<42} {flips}, never flips {} of {}", order.n_never, order.n));
    }
    for test in &options.tests {
        line(format!("{}: {} {}.", test.name(), test.shows(), test.published()));
    }
    line(METHOD.caveat.to_owned());
    out
}

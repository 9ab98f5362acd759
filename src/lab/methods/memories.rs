//! Feed-forward layers as memories (Geva et al. 2021, 2022): which fire, and what their values promote.

use serde_json::json;

use crate::{
    analysis::explain::{
        dense::{Dense, wide},
        memories::{n_active, norms, ranked},
        normalizers::softmax,
        rank::descending,
        report::{ColumnValues, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::Matrix,
    lab::{
        LabError, LabRun, Method, MethodPreset, TOP, Target,
        aim::{one_number, one_stream},
        method::Parameters,
        options::{Scope, Visit, layer_or_last, whole},
        stream::NO_STREAM,
    },
    model::{HeadReads, Logits, Site, Sites},
    outputs::OutputKind,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "ff",
    title: "Feed-forward memories",
    question: LabQuestion::Fact,
    about: "Which memories of a feed-forward layer fire, and which tokens their values promote (Geva et al. 2021)",
    example: "--model demo:gpt --text \"Once upon a\" --layer 2",
    caveat: "The words that a value promotes are read without the later layers; many memories fire at once, and \
        few of them mean something alone.",
    formula: "m = act(x K^T + b), FF(x) = Σ_i m_i v_i + b'\ncontribution of i = |m_i| · ‖v_i‖",
    source: "Geva et al. 2021, 2022",
    values: &[
        ValueSpec::new(
            "memories",
            "Memories that fire most",
            "Contribution is the norm of the added vector; tokens are those that its value promotes",
        ),
        ValueSpec::new("n_active", "Memories that fire", ""),
        ValueSpec::new("n_memories", "Memories of the layer", ""),
    ],
    ..MethodSpec::EMPTY
};

/// Which memories are told, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Their layer; the last where there is none.
    pub layer: Option<usize>,
    /// How many memories, and tokens of each.
    pub n_top: usize,
}

impl Method for MemoryOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "ff",
        title: "Feed-forward memories",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self::begin().into()),
    }];

    fn begin() -> Self {
        Self { layer: None, n_top: TOP }
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        visit(layer_or_last(&mut self.layer, "Layer whose memories are listed", scope));
        let meaning = "Number of memories, and of tokens that each promotes";
        visit(whole("top", "Listed", meaning, &mut self.n_top, 1..=1000));
    }

    // The layer is told with the answer.
    fn parameters(&self) -> Parameters {
        vec![("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        memories(lab, *self, target)
    }
}

fn memories(
    lab: &LabRun<'_>,
    MemoryOptions { layer, n_top }: MemoryOptions,
    target: Target,
) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    one_number(lab.plain()?)?;
    one_stream(lab)?;
    let stack = aim.stack;
    let capture = lab.run(Sites::of(&[Site::MlpHidden]), Logits::Skip)?;
    let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
    let n_layers = layers.len();
    let layer = layer.unwrap_or_else(|| n_layers.saturating_sub(1));
    if layer >= n_layers && n_layers > 0 {
        return Err(LabError::unsuited(format!("there is no layer {layer} among {n_layers}")));
    }
    let position = match (target.position, aim.reads) {
        (Some(position), _) if !lab.model.reads_whole() => position,
        (_, HeadReads::At(position) | HeadReads::MeanFrom(position)) => position,
    };
    let hidden = layers.get(layer).and_then(|layer| layer.rows(Site::MlpHidden)?.row(position));
    let (Some(hidden), Some(output)) = (hidden, lab.model.mlp_output(stack, layer)?) else {
        return Err(LabError::unsuited("it has no feed-forward layers, so there are no memories"));
    };
    let coefficients = wide(hidden);
    let lengths = norms(&Dense::from(&output.weight));
    let all = ranked(&coefficients, &lengths)?;
    let width = output.weight.n_cols();
    // The norm's weight is folded into what is read; its bias and the head's say nothing about the value.
    let gain = lab.model.final_norm(stack)?.map_or_else(|| vec![1.0; width], |norm| norm.weight);
    let shown = &all[..all.len().min(n_top)];
    let mut vectors = vec![0.0; width];
    for memory in shown {
        let value = output.weight.row(memory.index).unwrap_or(&[]);
        // A memory that takes away is shown by what it takes away.
        vectors.extend(value.iter().zip(&gain).map(|(value, gain)| value * gain));
    }
    let vectors = Matrix::new(vectors, [shown.len() + 1, width]).map_err(|_| LabError::unsuited(NO_STREAM))?;
    let mut report = Report::new(&SPEC).with_parameter("position", position).with_parameter("layer", layer);
    let mut columns = vec![
        TableColumn::new("index", ColumnValues::Index(shown.iter().map(|memory| memory.index).collect())),
        TableColumn::new("coefficient", ColumnValues::Number(shown.iter().map(|memory| memory.coefficient).collect())),
        TableColumn::new(
            "contribution",
            ColumnValues::Number(shown.iter().map(|memory| memory.contribution).collect()),
        ),
    ];
    let says_one_of = matches!(aim.outputs, OutputKind::Tokens | OutputKind::Classes);
    if let (Ok(_), false, true) = (lab.model.unembedding(0), lab.model.reads_whole(), says_one_of) {
        let logits = lab.model.unembed(stack, &vectors, true, 0)?;
        let nothing = logits.row(0).map(wide).unwrap_or_default();
        let (mut tokens, mut probabilities) = (Vec::new(), Vec::new());
        for row in logits.rows().skip(1) {
            let p = softmax(&row.iter().zip(&nothing).map(|(a, b)| f64::from(*a) - b).collect::<Vec<f64>>());
            let top = descending(&p).into_iter().take(n_top);
            let (labels, values) = top.map(|id| (lab.model.outcome_label(id as u32), p[id])).unzip();
            tokens.push(labels);
            probabilities.push(values);
        }
        columns.push(TableColumn::new("tokens", ColumnValues::Texts(tokens)));
        columns.push(TableColumn::new("probabilities", ColumnValues::Numbers(probabilities)));
        let note = "the weight of the final norm is included in the values, its mean and scale are not";
        report.notes.push(note.to_owned());
    } else {
        let note = "more than one linear map lies between the stream and the outcomes, so no value promotes tokens \
            by itself";
        report.notes.push(note.to_owned());
    }
    Ok(report
        .with_value("memories", Value::Table(columns))
        .with_value("n_active", n_active(&coefficients, &lengths))
        .with_value("n_memories", coefficients.len()))
}

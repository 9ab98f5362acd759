//! Layers with a state in place of attention: what is shown of them, what is not defined, what can be changed.

use attnscope::{
    analysis::{
        attention,
        head_statistics::HeadStatistics,
        reading,
        reading::{Aggregate, Aggregation, Captures, Heads, Reading, Refusal, Source, Which},
        stats,
    },
    capture::{Ablate, Ablation, Capture, HideToken},
    ids::{HeadId, Side, StackKind},
    model::{Edit, Logits, Model, RunPlan, Sites, uninterrupted},
};

use crate::families::open;

const SELF: StackKind = StackKind::SelfAttention;
/// Of a layer with a state, and of one with a softmax.
const STATE: HeadId = HeadId { stack: SELF, layer: 0, head: 2 };
const SOFTMAX: HeadId = HeadId { stack: SELF, layer: 1, head: 2 };

fn run(model: &Model, ids: &[u32], edits: Vec<Edit>) -> Result<Capture, String> {
    let encoded = model.encode(&attnscope::model::Input::Ids(ids.into())).unwrap();
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(&encoded, &plan, &uninterrupted).map_err(|error| error.to_string())
}

fn ids(n: usize) -> Vec<u32> {
    (0..n).map(|at| (17 * at as u32 + 5) % 99).collect()
}

#[test]
fn an_effective_pattern_is_shown_as_what_it_is() {
    let (model, _) = open("qwen3_next");
    let capture = run(&model, &ids(20), Vec::new()).unwrap();
    let read = |reading: &Reading| reading::read(Captures::one(&capture), reading);
    let shown = read(&Reading::of(STATE)).unwrap();
    assert!(shown.signed && shown.effective && !shown.is_difference());
    assert!(shown.range.0 < 0.0 && shown.range.1 > 0.0, "{:?}", shown.range);
    assert_eq!(shown.value_name(), "effective_weight");
    assert!(shown.hidden_text().unwrap().contains("effective, signed, not a distribution"));
    assert_eq!(shown.matrix.as_slice(), attention::effective(&capture, STATE, None).unwrap().as_slice());
    let plain = read(&Reading::of(SOFTMAX)).unwrap();
    assert!(!plain.signed && !plain.effective);
    let by_value = Reading { source: Source::ByValueNorm, ..Reading::of(STATE) };
    assert_eq!(read(&by_value).unwrap_err(), Refusal::SignedByValue(STATE));
    let together = |layers: Which| {
        let many = Aggregation { stack: SELF, layers, heads: Which::All, how: Aggregate::Mean };
        read(&Reading { heads: Heads::Many(many), ..Reading::default() })
    };
    assert_eq!(together(Which::These([0, 1].into())).unwrap_err(), Refusal::TwoKinds);
    assert!(together(Which::These([0, 2].into())).unwrap().effective);
    // All that there are is all that have attention.
    assert!(together(Which::All).unwrap().heads.iter().all(|head| head.layer == 1));
}

#[test]
fn what_is_of_distributions_is_not_defined_for_it() {
    let (model, _) = open("qwen3_next");
    let capture = run(&model, &ids(20), Vec::new()).unwrap();
    assert_eq!(attention::pattern(&capture, STATE), None);
    assert_eq!(stats::of_head(&capture, STATE), None);
    assert!(stats::of_head(&capture, SOFTMAX).is_some());
    let mut statistics = HeadStatistics::new(&capture.model().clone());
    statistics.add(0, &capture, None);
    let stack = statistics.of_stack(SELF).unwrap();
    let defined = |head| {
        let sums = stack.head(head).unwrap();
        attnscope::analysis::head_statistics::Metric::ALL.iter().filter(|it| sums.statistic(**it).is_some()).count()
    };
    assert_eq!(defined(STATE), 0);
    assert!(defined(SOFTMAX) > 5);
}

#[test]
fn heads_with_a_state_are_put_out_and_nothing_else_of_them_is_changed() {
    let (model, _) = open("qwen3_next");
    let plain = run(&model, &ids(20), Vec::new()).unwrap();
    let ablated = run(&model, &ids(20), vec![Ablate { head: STATE, with: Ablation::Zero }.into()]).unwrap();
    let z = |capture: &Capture, head: usize| capture.layer(STATE).unwrap().z().unwrap().head(head).unwrap();
    assert!(z(&ablated, 2).as_slice().iter().all(|value| *value == 0.0));
    assert_eq!(z(&ablated, 1), z(&plain, 1));
    assert_ne!(ablated.logits(), plain.logits());
    let hidden = run(&model, &ids(20), vec![HideToken { side: Side::Only, position: 3 }.into()]).unwrap_err();
    assert!(hidden.contains("gated delta rule") && hidden.contains("only the layers 1"), "{hidden}");
    let evened = run(&model, &ids(20), vec![Ablate { head: STATE, with: Ablation::Uniform }.into()]).unwrap_err();
    assert!(evened.contains("no query is compared with a key"), "{evened}");
    assert!(run(&model, &ids(20), vec![Ablate { head: SOFTMAX, with: Ablation::Uniform }.into()]).is_ok());
}

/// Longer than a chunk, so that states go from one to the next.
#[test]
fn packed_inputs_have_states_of_their_own() {
    let (model, _) = open("qwen3_5_text");
    let inputs = [70, 9].map(|n| model.encode(&attnscope::model::Input::Ids(ids(n).as_slice().into())).unwrap());
    let plan = RunPlan { logits: Logits::Keep, ..RunPlan::default() };
    let together = model.forward_packed(&inputs, &plan, &uninterrupted).unwrap();
    for (input, packed) in inputs.iter().zip(&together) {
        let alone = model.forward(input, &plan, &uninterrupted).unwrap();
        let (a, b) =
            (alone.layer(STATE).unwrap().effective().unwrap(), packed.layer(STATE).unwrap().effective().unwrap());
        assert_eq!(a.shape(), b.shape());
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}

//! What the values of reports are called, and what they mean.

use crate::{analysis::explain::report::Method, glossary};

/// Title and meaning of a value, with its unit; the name itself where nothing better is known.
pub fn about(method: Method, name: &str) -> (String, String) {
    let known = of_method(method, name).or_else(|| common(name));
    let (title, meaning) = known.unwrap_or(("", ""));
    let title = if title.is_empty() { plain(name) } else { title.to_owned() };
    (title, meaning.to_owned())
}

/// `erasure.attention` as `Erasure attention`.
fn plain(name: &str) -> String {
    crate::text::capitalised(&name.replace(['_', '.'], " "))
}

const TVD: &str = glossary::TOTAL_VARIATION.meaning;
const ERASED: &str =
    "Share of the keys whose weights are set to 0 in this order until the most probable outcome changes";
const TAU: &str = glossary::TAU.meaning;
const P: &str = glossary::P_VALUE.meaning;

fn of_method(method: Method, name: &str) -> Option<(&'static str, &'static str)> {
    Some(match (method, name) {
        (Method::Faithfulness, "attention") => {
            ("Weights in the row that is read", "The head’s weights in the row that the output is read from")
        }
        (Method::Faithfulness, "kendall_gradient") => ("Agreement with gradient × input (τ)", TAU),
        (Method::Faithfulness, "p_gradient" | "p_loo") => ("p-value", P),
        (Method::Faithfulness, "kendall_loo") => ("Agreement with leave-one-out (τ)", TAU),
        (Method::Faithfulness, "permutation") => ("Change under shuffled weights, each shuffle", TVD),
        (Method::Faithfulness, "permutation_median") => ("Change under shuffled weights, median", TVD),
        (Method::Faithfulness, "uniform") => ("Change under equal weights", TVD),
        (Method::Faithfulness, "erasure.attention") => {
            ("Erased until the outcome flips, largest weights first", ERASED)
        }
        (Method::Faithfulness, "erasure.gradient") => ("… largest gradients first", ERASED),
        (Method::Faithfulness, "erasure.attention_gradient" | "erasure.product") => {
            ("… largest weight × gradient first", ERASED)
        }
        (Method::Faithfulness, "erasure.ascending") => ("… smallest weights first", ERASED),
        (Method::Faithfulness, "erasure.random") => ("Erased until the outcome flips, random orders", ERASED),
        (Method::Faithfulness, "adversarial") => {
            ("Other weights, same output", "Weights as far from these as possible that leave the output unchanged")
        }
        (Method::Faithfulness, "adversarial.jsd") => (
            "Farthest weights with the same output",
            "Jensen–Shannon divergence in nats: 0 is the same weights, 0.69 none in common",
        ),
        (Method::Faithfulness, "adversarial.tvd") => ("Change under the farthest weights", TVD),
        (Method::Faithfulness, "adversarial.pattern") => {
            ("The farthest weights", "The same output with other attention")
        }
        (Method::Normalizers, "pattern") => {
            ("Weights under this normaliser", "The head’s weights with this normaliser")
        }
        (Method::Normalizers, name) if name.starts_with("support") => {
            ("Keys with any weight, mean of queries", "Softmax gives every key a weight above 0")
        }
        (Method::Normalizers, "drift_all") => {
            ("Change of the output if all heads have it (nats)", "Kullback–Leibler divergence from the model’s output")
        }
        (Method::Normalizers, name) if name.starts_with("drift") => (
            "Change of the output if this head alone has it (nats)",
            "Kullback–Leibler divergence from the model’s own output",
        ),
        (Method::Norms, name) if name.ends_with("mixing_ratio") => (
            "Mixing ratio by token",
            "Share of the other tokens in the output of the layer: 0 only the token itself, 1 only others",
        ),
        (Method::Norms, _) => ("Norm of the moved vectors, ‖α·f(x)‖", "From the key (across) to the query (down)"),
        (Method::Effective, name) if name.ends_with("identifiable") => {
            ("Weights are identifiable", "Yes: no other weights give the same output of the head")
        }
        (Method::Effective, _) => {
            ("Effective attention", "The part of the weights that can change the head’s output; it can be negative")
        }
        (Method::Lens, "probability") => (
            "Probability of the final prediction, with the prediction of each layer",
            "Words are the most probable token of each layer and position",
        ),
        (Method::Lens, "rank") => ("Rank of the final prediction", "0 is the most probable"),
        (Method::Lens, "divergence") => (
            "Distance to the final output (nats)",
            "Kullback–Leibler divergence of the layer’s prediction from the final one",
        ),
        (Method::DirectLogits, "components") => {
            ("Contribution of each component (logits)", "Largest first; they sum to the logit")
        }
        (Method::DirectLogits, name) if name.starts_with("heads") => {
            ("Contribution of each head (logits)", "Direct contribution to the output, not through later layers")
        }
        (Method::DirectLogits, "constant") => ("Contribution of the output biases (logits)", ""),
        (Method::DirectLogits, "sum") => ("Sum of all (logits)", ""),
        (Method::DirectLogits, "logit") => ("Logit of the model", "The sum must equal it"),
        (Method::Trace, "effect") => {
            ("Recovered probability", "Probability of the answer with this state restored, minus that under noise")
        }
        (Method::Trace, "clean") => ("Probability of the answer", "Without noise"),
        (Method::Trace, "corrupted") => ("… with noise on the token", "Nothing restored"),
        (Method::Trace, "sigma") => ("Standard deviation of the embeddings", "The unit of the noise"),
        (Method::Knockout, "effect") => (
            "Relative change of the answer’s probability (%)",
            "If the position that is read cannot see the token in these layers",
        ),
        (Method::Knockout, "clean") => ("Probability of the answer", "With all edges"),
        (Method::Memories, "memories") => (
            "Memories that fire most",
            "Contribution is the norm of the added vector; tokens are those that its value promotes",
        ),
        (Method::Memories, "n_active") => ("Memories that fire", ""),
        (Method::Memories, "n_memories") => ("Memories of the layer", ""),
        (Method::Alignment, "alignments") => (
            "All heads",
            "Monotonicity: share of neighbouring links that do not step back. AER: alignment error rate, 1 − (|A∩S| \
            + |A∩P|) / (|A| + |S|) with links A, sure S and possible P: 0 is best",
        ),
        (Method::Alignment, "symmetrized") => (
            "Both directions combined",
            "Every layer of this model with every layer of the other; agreement is the share of links that both have",
        ),
        (Method::Alignment, "coverage") => {
            ("Attention that each source token gets", "Around 1 where each is translated once")
        }
        (Method::Ablation, name) if name.starts_with("change") => ("Change of the output without each head", TVD),
        (Method::Ablation, name) if name.starts_with("logit") => (
            "Score lost without each head",
            "The logit that is explained, or the difference of two, minus the same without the head: positive if the head \
             raises it",
        ),
        (Method::Ablation, name) if name.starts_with("flips") => ("Heads whose removal changes the answer", ""),
        _ => return None,
    })
}

fn common(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "matrix" | "self" => ("From every token (across) to every other (down)", ""),
        "value" => ("Explained logit", ""),
        "gap" => ("Gap to completeness", "How far the sum over tokens misses the difference of the logits"),
        _ => return None,
    })
}

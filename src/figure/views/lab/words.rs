//! What the values of reports are called, and what they mean.

use crate::analysis::explain::report::Method;

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

const TVD: &str = "Total variation between the outputs: 0 is no change, 1 another output altogether";
const ERASED: &str =
    "Share of the keys whose weights are set to 0 in this order until the most probable outcome changes";
const TAU: &str = "Kendall’s τ: 1 is the same order, 0 none, −1 the opposite";
const P: &str = "How probable such a τ is between orders that have nothing to do with each other";

fn of_method(method: Method, name: &str) -> Option<(&'static str, &'static str)> {
    Some(match (method, name) {
        (Method::Faithfulness, "attention") => {
            ("Its weights in the row that is read", "The head’s weights in the row that the output is read from")
        }
        (Method::Faithfulness, "kendall_gradient") => ("Agreement with gradient × input (τ)", TAU),
        (Method::Faithfulness, "p_gradient" | "p_loo") => ("p of that τ", P),
        (Method::Faithfulness, "kendall_loo") => ("Agreement with leave-one-out (τ)", TAU),
        (Method::Faithfulness, "permutation") => ("Change under shuffled weights, each time", TVD),
        (Method::Faithfulness, "permutation_median") => ("Change under shuffled weights, median", TVD),
        (Method::Faithfulness, "uniform") => ("Change under equal weights", TVD),
        (Method::Faithfulness, "erasure.attention") => ("Erased until it flips, largest weights first", ERASED),
        (Method::Faithfulness, "erasure.gradient") => ("… largest gradients first", ERASED),
        (Method::Faithfulness, "erasure.attention_gradient" | "erasure.product") => {
            ("… largest weight × gradient first", ERASED)
        }
        (Method::Faithfulness, "erasure.ascending") => ("… smallest weights first", ERASED),
        (Method::Faithfulness, "erasure.random") => ("Erased until it flips, each of some random orders", ERASED),
        (Method::Faithfulness, "adversarial") => {
            ("Other weights, same output", "Weights as far from these as possible that leave the output as it is")
        }
        (Method::Faithfulness, "adversarial.jsd") => (
            "Farthest weights with the same output",
            "Jensen–Shannon divergence in nats: 0 is the same weights, 0.69 none in common",
        ),
        (Method::Faithfulness, "adversarial.tvd") => ("Change under the farthest weights", TVD),
        (Method::Faithfulness, "adversarial.pattern") => {
            ("The farthest weights", "They say the same with other attention")
        }
        (Method::Normalizers, "pattern") => ("Weights under this normaliser", "What the head’s weights would be"),
        (Method::Normalizers, name) if name.starts_with("support") => {
            ("Keys with any weight, mean of queries", "Softmax gives every key some")
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
            "Share of the other tokens in what leaves the layer: 0 is the token itself alone, 1 others alone",
        ),
        (Method::Norms, _) => ("Length of what is moved, ‖α·f(x)‖", "From the key (across) to the query (down)"),
        (Method::Effective, name) if name.ends_with("identifiable") => {
            ("Weights are identifiable", "Whether no other weights give the same output of the head")
        }
        (Method::Effective, _) => {
            ("Effective attention", "What of the weights can change the head’s output; it may be negative")
        }
        (Method::Lens, "probability") => (
            "Probability of what is said in the end, with what each layer would say",
            "Words are the most probable token of each layer and position",
        ),
        (Method::Lens, "rank") => ("Rank of what is said in the end", "0 is the most probable"),
        (Method::Lens, "divergence") => (
            "Distance to the final output (nats)",
            "Kullback–Leibler divergence of what the layer would say from what is said in the end",
        ),
        (Method::DirectLogits, "components") => {
            ("What each component adds (logits)", "The largest first; they add up to the logit")
        }
        (Method::DirectLogits, name) if name.starts_with("heads") => {
            ("What each head adds (logits)", "Directly to the output, not through later layers")
        }
        (Method::DirectLogits, "constant") => ("Added by the biases of the output (logits)", ""),
        (Method::DirectLogits, "sum") => ("Sum of all (logits)", ""),
        (Method::DirectLogits, "logit") => ("Logit of the model", "What the sum has to be"),
        (Method::Trace, "effect") => (
            "Probability that comes back",
            "Probability of the answer with this state restored, less that under the noise",
        ),
        (Method::Trace, "clean") => ("Probability of the answer", "Without noise"),
        (Method::Trace, "corrupted") => ("… with noise on the token", "Nothing restored"),
        (Method::Trace, "sigma") => ("Standard deviation of the embeddings", "The unit of the noise"),
        (Method::Knockout, "effect") => (
            "Change of the answer’s probability (%)",
            "When the position that is read cannot see the token in these layers",
        ),
        (Method::Knockout, "clean") => ("Probability of the answer", "With all edges"),
        (Method::Memories, "memories") => (
            "Memories that fire most",
            "Contribution is the length of what is added; tokens are those that its value promotes",
        ),
        (Method::Memories, "n_active") => ("Memories that fire at all", ""),
        (Method::Memories, "n_memories") => ("Memories of the layer", ""),
        (Method::Alignment, "alignments") => (
            "All heads",
            "Monotonicity: the part of neighbouring links that do not step back. AER: alignment error rate, \
             1 − (|A∩S| + |A∩P|) / (|A| + |S|) with links A, sure S and possible P: 0 is best",
        ),
        (Method::Alignment, "symmetrized") => (
            "Both directions as one",
            "Every layer of this model with every layer of the other; agreement is the part of their links that both \
             make",
        ),
        (Method::Alignment, "coverage") => {
            ("Attention that each source token gets", "Around 1 where each is translated once")
        }
        (Method::Ablation, name) if name.starts_with("change") => ("Change of the output without each head", TVD),
        (Method::Ablation, name) if name.starts_with("logit") => (
            "Logit lost without each head",
            "Logit of the explained output less that without the head: positive where the head speaks for it",
        ),
        (Method::Ablation, name) if name.starts_with("flips") => ("Heads without which the answer is another one", ""),
        _ => return None,
    })
}

fn common(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "matrix" | "self" => ("From every token (across) to every other (down)", ""),
        "value" => ("Logit that is explained", ""),
        "gap" => ("Gap to completeness", "How far the sum over tokens misses the difference of the logits"),
        _ => return None,
    })
}

//! The words of the program, each defined once: the help sheet lists them, tooltips say them.

/// A term with its meaning in plain sentences, and its formula where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub name: &'static str,
    /// One or two sentences.
    pub meaning: &'static str,
    /// Empty where there is none.
    pub formula: &'static str,
}

const fn term(name: &'static str, meaning: &'static str) -> Term {
    Term { name, meaning, formula: "" }
}

const fn formula(name: &'static str, meaning: &'static str, formula: &'static str) -> Term {
    Term { name, meaning, formula }
}

/// The product of query and key that softmax turns into a weight.
pub const SCORE: Term = formula(
    "Score",
    "How well a query fits a key, after scaling, bias, cap and mask and before softmax. A masked key has none.",
    "score = scale · q · k + bias",
);
/// How much a query takes of a key.
pub const WEIGHT: Term = formula(
    "Weight",
    "How much of a key’s value a query takes, from 0 to 1. The weights of a query sum to 1 over the keys it can see, \
    unless the run was changed to weigh every key by itself.",
    "weight = softmax(scores of the query)",
);
/// The pattern of a head without a softmax.
pub const EFFECTIVE_PATTERN: Term = formula(
    "Effective pattern",
    "How values add up to the output of a head without a softmax, as the input has set its state: signed numbers, whose \
    rows need not sum to 1.",
    "z_t = Σ_s M[t, s] v_s",
);
/// The place of a weight in its row.
pub const RANK: Term = term(
    "Rank",
    "Place of the weight among the keys that the query can see and that are not left out: 1 is the largest.",
);
/// How spread out the attention of a head is.
pub const ENTROPY: Term = formula(
    "Entropy",
    "How spread out the attention of a query is: 0 nats if one key gets everything, 100 % if all visible keys get the \
     same.",
    "H = −Σ a ln a",
);
/// Kendall's τ.
pub const TAU: Term = formula(
    "Kendall’s τ",
    "Agreement of two orders of the same tokens: 1 same order, 0 unrelated, −1 opposite order.",
    "τ = (C − D) / √((T − T_x)(T − T_y))",
);
/// How surprising a τ is.
pub const P_VALUE: Term =
    term("p-value", "Probability of a τ at least this far from 0 between two unrelated orders. Small is surprising.");
/// How different two outputs are.
pub const TOTAL_VARIATION: Term = formula(
    "Total variation distance",
    "How different two predictions are: 0 no change, 1 completely different.",
    "½ Σ |p − p′|",
);

/// Every term, in alphabetical order.
pub const TERMS: &[Term] = &[
    term(
        "Ablation",
        "A head or token is switched off and the model runs again; the change of the output shows its effect.",
    ),
    term(
        "Activation patching",
        "Activations of one run are replaced by those of another run. What then changes was carried by them.",
    ),
    formula(
        "AER (alignment error rate)",
        "Error of word links against hand-made ones, sure S and possible P: 0 is best.",
        "1 − (|A∩S| + |A∩P|) / (|A| + |S|)",
    ),
    term("Attention knockout", "Single edges from a query to a key are cut, in some layers or all."),
    term(
        "Attention sink",
        "A key, often the first token or punctuation, that gets much attention without carrying meaning: a place for \
         unused attention.",
    ),
    formula(
        "Beam search",
        "Several texts are written at once; at every step the most probable ones are kept, and of those that ended the \
         one with the best score is taken.",
        "score = log p(text) / length^α",
    ),
    term("Capture", "The recorded attention of one run, as a file or in memory."),
    term(
        "Causal mask",
        "In a decoder a token sees itself and earlier tokens only. Later keys are masked: they get no weight.",
    ),
    term(
        "Causal tracing",
        "A token is hidden by noise, then single states are restored, to see which bring the answer back.",
    ),
    term("Corpus", "Many inputs of one model, looked at together."),
    term(
        "Cross-attention",
        "Attention from one sequence to another: a decoder’s queries, an encoder’s keys and values.",
    ),
    term("Direct logit attribution", "The logit split into what each head and layer adds to it directly."),
    term("Duplicate-token head", "A head that attends to earlier copies of the same token."),
    term("Edge", "One pair of a query and a key in one head."),
    term("Effective attention", "The weights without the part that cannot change the head’s output."),
    EFFECTIVE_PATTERN,
    formula(
        "Entmax, sparsemax",
        "Replacements of softmax that set small weights to exactly 0; α = 1 is softmax, α = 2 is sparsemax.",
        "relu((α−1) z − τ)^(1/(α−1)), Σ = 1",
    ),
    ENTROPY,
    term("Faithfulness", "Whether an explanation names what the output really depends on."),
    term(
        "Feed-forward memory",
        "One hidden unit of a feed-forward layer: it fires for some inputs and adds a fixed vector that promotes some \
         tokens.",
    ),
    term("Flow", "Attention flow: the most attention that could pass from a token through all layers to the output."),
    term(
        "Global attention",
        "Some tokens see all others and are seen by all, in models whose other tokens see a window only.",
    ),
    term("Gradient", "How steeply the output changes with an input or a weight, at this input."),
    term("Grouped-query attention", "Several query heads share one set of keys and values."),
    term("Head", "One of the parallel attention maps of a layer. L3H5 is head 5 of layer 3; both are counted from 0."),
    term(
        "Induction head",
        "A head that continues repetitions: it attends to the token that followed an earlier copy of the present token.",
    ),
    formula(
        "Integrated gradients",
        "Gradients averaged on the path from an empty input to this one.",
        "(x − x₀) · mean of ∂y/∂x",
    ),
    formula(
        "Jensen–Shannon divergence",
        "How different two rows of weights are, in nats: 0 the same, 0.69 nothing in common.",
        "½ KL(p ‖ m) + ½ KL(q ‖ m), m = (p + q) / 2",
    ),
    TAU,
    term("Key", "The vector by which a token is found by queries. In a pattern, keys are the columns."),
    formula(
        "Kullback–Leibler divergence",
        "How far a distribution is from another, in nats; 0 is the same.",
        "KL(p ‖ q) = Σ p ln(p / q)",
    ),
    term("Layer", "One block of the model: attention and a feed-forward part. Counted from 0."),
    term(
        "Leave-one-out",
        "Each token is hidden, masked or deleted in turn; the change of the output is its importance.",
    ),
    term("Logit", "The model’s raw number for an outcome, before softmax turns it into a probability."),
    term("Logit lens", "The state of every layer is read as if it were the last: what the model would predict there."),
    term("Mixing ratio", "Share of other tokens in what leaves a layer at a token: 0 only itself, 1 only others."),
    term("Nat", "Unit of entropy and divergence with natural logarithms; 1 nat is 1.44 bits."),
    formula(
        "Norm-weighted attention",
        "Each weight times the norm of the vector that it moves: a key with a short value hardly counts.",
        "‖α · f(x)‖",
    ),
    P_VALUE,
    term("Patch", "A square of a picture; vision models read patches as tokens."),
    term(
        "Pattern",
        "The weights of a head: rows are queries, columns are keys, each row sums to 1 unless every key is \
        weighed by itself.",
    ),
    term("Perplexity (t-SNE)", "About how many neighbours each point keeps close."),
    term("Pin", "Click a token to keep it selected; Esc unpins it."),
    term("Prefix token", "A token before the patches of a picture, such as [CLS] or a register."),
    term("Previous-token head", "A head that attends to the token just before."),
    term("Principal components", "The directions in which points vary most; the first two are drawn."),
    term("Query", "The vector with which a token looks for keys. In a pattern, queries are the rows."),
    term("Query–key map", "Queries and keys of a head as points of one plane, scaled so that near means a high score."),
    RANK,
    term("Rank-one edit", "A small change of one weight matrix that makes the model give another answer."),
    term("Relevance", "Attention weighted by gradients and multiplied through the layers: what raised the output."),
    term("Residual stream", "The vector of a token that every layer reads and adds to."),
    formula(
        "Rollout",
        "Attention of all layers multiplied together, with a share for the residual stream.",
        "R = Â_L · … · Â_1, Â = rownorm(w·I + (1−w)·A)",
    ),
    formula(
        "Scale c",
        "Queries are divided by c and keys multiplied by it before they are drawn; scores stay the same.",
        "q / c, c · k",
    ),
    SCORE,
    term("Sliding window", "A query sees only keys within some distance."),
    formula(
        "Softmax, temperature",
        "Turns scores into weights. A temperature below 1 makes the weights sharper, above 1 more even.",
        "exp(s/T) / Σ exp(s/T)",
    ),
    term("Special token", "A token that is not text, such as [CLS], [SEP] or the start of text."),
    term("Stack", "A sequence of attention layers: encoder, decoder, cross, vision or text. Many models have one."),
    term("t-SNE, UMAP", "Layouts that keep neighbours together; distances between far points mean nothing."),
    term("Token", "A piece of text with a number: a word, a part of a word or a sign. ␣ marks the space before it."),
    TOTAL_VARIATION,
    term("Value", "The vector that a key hands to the queries that attend to it."),
    WEIGHT,
    formula("z", "The output of a head before its output matrix: the weighted sum of values.", "z = Σ weight · v"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_order_and_said_in_plain_sentences() {
        for pair in TERMS.windows(2) {
            let [a, b] = [pair[0].name, pair[1].name].map(str::to_lowercase);
            assert!(a < b, "{a} before {b}");
        }
        for Term { name, meaning, .. } in TERMS {
            assert!(meaning.ends_with('.') && meaning.len() < 180, "{name}: {meaning}");
        }
    }
}

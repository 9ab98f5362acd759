//! The methods, and what every one's answer is worth.

use std::fmt;

use super::Question;

/// A method of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Attention itself, the row that is read.
    Attention,
    /// Attention of all layers multiplied up.
    Rollout,
    /// What can flow from each input to an output through all layers.
    Flow,
    /// Attention weighted by its gradient, summed up over layers.
    Relevance,
    /// Gradients of the target by attention or by the input.
    Gradients,
    /// What changes when a token is left out.
    LeaveOneOut,
    /// What changes when a head is switched off.
    Ablation,
    /// The smallest set of states with which the output stays.
    Masks,
    /// Whether a head's weights say what the output depends on.
    Faithfulness,
    /// Attention times the length of what it moves.
    Norms,
    /// The part of attention that has an effect.
    Effective,
    /// What each layer would say.
    Lens,
    /// What each component adds to a logit.
    DirectLogits,
    /// Where a fact that was destroyed can be restored.
    Trace,
    /// What is lost when queries may not see keys.
    Knockout,
    /// Which memories of a feed-forward layer fire.
    Memories,
    /// Another association written over one that is there.
    RankOne,
    /// One score taken apart.
    Edges,
    /// What heads do.
    Heads,
    /// Words that translate each other.
    Alignment,
    /// Attention under other normalisers.
    Normalizers,
}

impl Method {
    /// Every method, in the order in which they are shown.
    pub const ALL: [Self; 21] = [
        Self::Attention,
        Self::Rollout,
        Self::Flow,
        Self::Relevance,
        Self::Gradients,
        Self::LeaveOneOut,
        Self::Ablation,
        Self::Masks,
        Self::Faithfulness,
        Self::Normalizers,
        Self::Norms,
        Self::Effective,
        Self::Edges,
        Self::Heads,
        Self::Trace,
        Self::Knockout,
        Self::Lens,
        Self::DirectLogits,
        Self::Memories,
        Self::RankOne,
        Self::Alignment,
    ];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Rollout => "rollout",
            Self::Flow => "flow",
            Self::Relevance => "relevance",
            Self::Gradients => "gradients",
            Self::LeaveOneOut => "loo",
            Self::Ablation => "ablation",
            Self::Masks => "masks",
            Self::Faithfulness => "faithfulness",
            Self::Norms => "norms",
            Self::Effective => "effective",
            Self::Lens => "lens",
            Self::DirectLogits => "dla",
            Self::Trace => "trace",
            Self::Knockout => "knockout",
            Self::Memories => "ff",
            Self::RankOne => "rank-one",
            Self::Edges => "edges",
            Self::Heads => "heads",
            Self::Alignment => "alignment",
            Self::Normalizers => "normalizers",
        }
    }

    /// The method with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What the window calls it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Attention => "Attention",
            Self::Rollout => "Attention rollout",
            Self::Flow => "Attention flow",
            Self::Relevance => "Gradient-weighted relevance",
            Self::Gradients => "Gradients",
            Self::LeaveOneOut => "Leave-one-out",
            Self::Ablation => "Head ablation",
            Self::Masks => "Smallest mask",
            Self::Faithfulness => "Faithfulness",
            Self::Norms => "Norm-based attention",
            Self::Effective => "Effective attention",
            Self::Lens => "Logit lens",
            Self::DirectLogits => "Direct logit attribution",
            Self::Trace => "Causal tracing",
            Self::Knockout => "Attention knockout",
            Self::Memories => "Feed-forward memories",
            Self::RankOne => "Rank-one edit",
            Self::Edges => "Score decomposition",
            Self::Heads => "Kinds of heads",
            Self::Alignment => "Word alignment",
            Self::Normalizers => "Other normalisers",
        }
    }

    /// The question that it belongs to.
    pub const fn question(self) -> Question {
        match self {
            Self::Attention
            | Self::Rollout
            | Self::Flow
            | Self::Relevance
            | Self::Gradients
            | Self::LeaveOneOut
            | Self::Masks => Question::Depends,
            Self::Ablation | Self::Faithfulness | Self::Normalizers => Question::Believe,
            Self::Norms | Self::Effective | Self::Edges | Self::Heads => Question::Moves,
            Self::Trace | Self::Knockout | Self::Lens | Self::DirectLogits | Self::Memories | Self::RankOne => {
                Question::Fact
            }
            Self::Alignment => Question::Aligns,
        }
    }

    /// What a reader must know before believing the numbers, in one sentence.
    pub const fn caveat(self) -> &'static str {
        match self {
            Self::Attention => {
                "Weights show where one layer attends, not what it takes from there or whether the output uses it."
            }
            Self::Rollout => {
                "Rollout uses attention weights only: it ignores values, feed-forward layers and signs, and the \
                share of the residual stream is an assumption."
            }
            Self::Flow => {
                "Flow bounds what attention weights could carry, not what was carried; under a causal mask more \
                paths lead to early tokens."
            }
            Self::Relevance => {
                "Relevance keeps only what raises the target: evidence against it is cut off in every layer, and \
                gradients describe the output only near this input."
            }
            Self::Gradients => {
                "A gradient is the slope at this input: if the output saturates it is small although the token \
                matters, and it says nothing about larger changes."
            }
            Self::LeaveOneOut => {
                "The model may never have seen an input with a missing token, and two tokens that can replace each \
                other both look unimportant."
            }
            Self::Ablation => {
                "The model was never trained to run without a head, and heads that can replace each other all look \
                unimportant."
            }
            Self::Masks => {
                "The kept tokens are sufficient for the output, not its cause: several sets can be sufficient, and \
                gates learnt for one input can find a path that the model never uses."
            }
            Self::Faithfulness => {
                "Other attention with the same output shows that these weights are not the only possible \
                 explanation, not that they are a wrong one."
            }
            Self::Norms => {
                "Norms measure how long the moved vectors are, not whether the output uses them, and long vectors \
                can cancel each other."
            }
            Self::Effective => {
                "Effective attention is the weights without the part that cannot change this head's output; it can \
                be negative, and its rows need not sum to 1."
            }
            Self::Lens => {
                "Every layer is read as if it were the last: a model need not keep its coming prediction in that \
                form."
            }
            Self::DirectLogits => {
                "Only the direct path to the logits counts, with the final norm held fixed: the effect of a \
                component through later layers is counted there."
            }
            Self::Trace => {
                "Restoring shows where the information is sufficient to recover the answer, under this noise; it \
                does not show that the fact is stored there."
            }
            Self::Knockout => {
                "The model was never trained to run without these edges; a small effect can also mean that the \
                information takes another path."
            }
            Self::Memories => {
                "The words that a value promotes are read without the later layers; many memories fire at once, and \
                few of them mean something alone."
            }
            Self::RankOne => {
                "A change of one layer that rewrites the answer does not show that the fact was stored there, and \
                prompts about other things may change with it."
            }
            Self::Edges => {
                "The parts describe this run with its norms held fixed, and large parts of opposite signs cancel: \
                only ablation shows what happens without a part."
            }
            Self::Heads => "The scores show what a head attends to, not what the model uses it for.",
            Self::Alignment => {
                "Cross-attention is not trained to align: it may attend to a word one step earlier, to punctuation, \
                or to the end of the sentence."
            }
            Self::Normalizers => {
                "The model was trained with another normaliser, so its output with this one shows an effect, not \
                how well it could do."
            }
        }
    }

    /// How it is computed.
    pub const fn formula(self) -> &'static str {
        match self {
            Self::Attention => "mean over heads of A_l[i, ·], with i the position that is read for the output",
            Self::Rollout => "F_l = fuse over heads of A_l\nÂ_l = rownorm(w·I + (1-w)·F_l)\nR = Â_L · … · Â_2 · Â_1",
            Self::Flow => {
                "capacity of (l, i) → (l-1, j) = Â_l[i, j]\nf(q, k) = maximum flow from (L, q) to (0, k)\n\
                 F[q, k] = f(q, k) / Σ_k f(q, k)"
            }
            Self::Relevance => {
                "Ā_l = mean over heads of relu(∂y/∂A_l ⊙ A_l)\nR = I; for each layer: R ← R + Ā_l · R\n\
                 across stacks: R_qs ← R_qs + N(R_qq)ᵀ · Ā · N(R_ss), N(R) = rownorm(R - I) + I"
            }
            Self::Gradients => {
                "g = ∂y/∂A, or ∂y/∂x of the input embeddings\ngradient × input: Σ_d g_d · x_d\n\
                 integrated: (x - x₀) ⊙ mean over t of ∂y/∂x at x₀ + t·(x - x₀)"
            }
            Self::LeaveOneOut => "effect of token t = ½ Σ_o |p_o(without t) - p_o|\nlogit effect = y(without t) - y",
            Self::Ablation => {
                "z_h = 0, its mean over positions, or A_h = 1 / n of visible keys, or A_h with its weights shuffled\n\
                 change = ½ Σ_o |p_o(without h) - p_o|\nlogit = y - y(without h)"
            }
            Self::Masks => {
                "x'_t = g_t · x_t + (1 - g_t) · b, with b the mean of the states or 0\n\
                 minimise Σ_t P(g_t > 0) while KL(p ‖ p') ≤ margin\n\
                 g_t = cut(σ((noise + logit_t) / T) · 1.2 - 0.2) to 0..1, T = 0.2"
            }
            Self::Faithfulness => {
                "τ_b = (C - D) / √((T - T_x)(T - T_y))\npermutation: median of ½ Σ_o |p̃_o - p_o|\n\
                 adversarial: maximise JSD(α̃, α) with the output kept\n\
                 erasure: fraction of weights set to 0, the rest renormalised, until the decision flips"
            }
            Self::Norms => {
                "f_h(x_j) = (x_j W_V + b_V) W_O^h\nnorm-based attention = ‖Σ_h α^h_ij f_h(x_j)‖\n\
                 mixing ratio = ‖Σ_{j≠i} c_ij‖ / (‖Σ_{j≠i} c_ij‖ + ‖c_ii‖)"
            }
            Self::Effective => "T = X W_V W_O^h = U S Wᵀ\nA_eff = A · U Uᵀ, with the columns of U whose s > 0",
            Self::Lens => "logits_l = LN_f(x_l) · W_U + b_U, with the statistics of x_l",
            Self::DirectLogits => {
                "s = √(var(x_L) + ε), held fixed\nattribution of c = ((c - mean c) / s ⊙ γ) · (W_U[t] - W_U[t'])"
            }
            Self::Trace => {
                "P = p(answer); P* = p(answer) with noise on the subject\ntotal effect = P - P*\n\
                 indirect effect of (token, layer) = P*(restored there) - P*"
            }
            Self::Knockout => "score(q, k) = -∞ for the cut edges in a window of layers\neffect = 100 · (p' - p) / p",
            Self::Memories => "m = act(x Kᵀ + b), FF(x) = Σ_i m_i v_i + b'\ncontribution of i = |m_i| · ‖v_i‖",
            Self::RankOne => {
                "k = act(x Kᵀ + b) at the subject's last token; v = what must come out there for the new object:\n\
                 argmin -Σ log p(token of the object | prompt, tokens before it) + λ ‖v - W k‖²\n\
                 W' = W + (v - W k) (C⁻¹ k)ᵀ / (kᵀ C⁻¹ k), C = Σ k kᵀ / n of a corpus + ridge"
            }
            Self::Edges => "score = scale · q · kᵀ + bias + mask, with q and k as sums of their parts",
            Self::Heads => "mean over queries of the weight on the keys that the detector looks for",
            Self::Alignment => {
                "X = attention with source pieces summed and target pieces averaged\n\
                 link of target word t = argmax over s of X[t, s]\nAER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|)"
            }
            Self::Normalizers => {
                "softmax: exp(z) / Σ exp(z)\nα-entmax: relu((α-1) z - τ)^(1/(α-1)), Σ = 1; sparsemax is α = 2\n\
                 fusedmax: sparsemax of argmin_y ½‖y - z‖² + λ Σ |y_(i+1) - y_i|"
            }
        }
    }

    /// Where it comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Attention => "Bahdanau et al. 2015; Vaswani et al. 2017",
            Self::Rollout | Self::Flow => "Abnar and Zuidema 2020",
            Self::Relevance => "Chefer et al. 2021a, 2021b",
            Self::Gradients => "Simonyan et al. 2014; Sundararajan et al. 2017",
            Self::LeaveOneOut => "Li et al. 2016; Jain and Wallace 2019",
            Self::Ablation => "Michel et al. 2019; Voita et al. 2019",
            Self::Faithfulness => "Jain and Wallace 2019; Serrano and Smith 2019; Wiegreffe and Pinter 2019",
            Self::Norms => "Kobayashi et al. 2020, 2021",
            Self::Effective => "Brunner et al. 2020",
            Self::Lens => "nostalgebraist 2020",
            Self::DirectLogits | Self::Edges => "Elhage et al. 2021",
            Self::Masks => "De Cao et al. 2020; Louizos et al. 2018",
            Self::Trace | Self::RankOne => "Meng et al. 2022",
            Self::Knockout => "Geva et al. 2023",
            Self::Memories => "Geva et al. 2021, 2022",
            Self::Heads => "Clark et al. 2019; Voita et al. 2019; Olsson et al. 2022",
            Self::Alignment => "Och and Ney 2003; Kobayashi et al. 2020",
            Self::Normalizers => "Martins and Astudillo 2016; Niculae and Blondel 2017; Peters et al. 2019",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

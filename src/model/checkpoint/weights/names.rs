//! Names under which a checkpoint keeps the tensors that a family knows under its own names.
//!
//! A family's names are those of the library's full model: a body under a prefix such as `bert.` or
//! `model.`, and heads beside it. A checkpoint may have the body bare, or everything inside one
//! wrapper or several (`module.`, `base_model.model.`, `backbone.`), or only the body inside one.

/// How old TensorFlow conversions call the parameters of a norm.
pub(super) const OLD_NAMES: [(&str, &str); 2] =
    [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];

/// Parts of names added by training wrappers (`torch.compile`, FSDP, activation checkpointing).
pub(super) const WRAPPERS: [&str; 3] = ["_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."];

/// A checkpoint's name without [`WRAPPERS`].
pub(super) fn without_wrappers(name: String) -> String {
    WRAPPERS.iter().fold(name, |name, wrapper| if name.contains(wrapper) { name.replace(wrapper, "") } else { name })
}

/// What stands before a checkpoint's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// The family's prefix of the body, such as `bert.`; may be empty.
    own: &'static str,
    /// What the checkpoint has in its place.
    pub found: String,
}

impl Placement {
    /// Looks for the body tensor `anchor` among the names of a checkpoint.
    ///
    /// When there are several, `own` itself comes first, then `own` in a wrapper, then the shortest
    /// prefix: longer ones belong to parts inside the body, such as a decoder's attention to an encoder.
    pub fn find<'a>(own: &'static str, anchor: &str, names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let prefixes = names.filter_map(|name| name.strip_suffix(anchor)).filter(|prefix| is_whole(prefix));
        let found = prefixes.min_by_key(|prefix| {
            let wraps_own = prefix.strip_suffix(own).is_some_and(is_whole);
            (*prefix != own, !wraps_own, prefix.len(), *prefix)
        })?;
        Some(Self { own, found: found.to_owned() })
    }

    /// The family's prefix and the checkpoint's, when they differ.
    pub fn renamed(&self) -> Option<(String, String)> {
        (self.found != self.own).then(|| (format!("{}…", self.own), format!("{}…", self.found)))
    }

    /// Names under which the checkpoint may have the family's `name`, the likeliest first.
    pub fn candidates(&self, name: &str) -> Vec<String> {
        let Self { own, found } = self;
        let mut candidates = Vec::new();
        if let Some(rest) = name.strip_prefix(own) {
            candidates.push(format!("{found}{rest}"));
        }
        // A head: inside every wrapper of the body, or only the outer ones.
        let mut wrapper = found.strip_suffix(own).filter(|wrapper| is_whole(wrapper)).unwrap_or(found);
        loop {
            candidates.push(format!("{wrapper}{name}"));
            let Some(inside) = wrapper.strip_suffix('.') else { break };
            wrapper = inside.rfind('.').map_or("", |dot| &wrapper[..=dot]);
        }
        candidates
    }
}

/// Whether a prefix ends where a part of a name ends.
fn is_whole(prefix: &str) -> bool {
    prefix.is_empty() || prefix.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name that is chosen for the family's `name` among those of a checkpoint.
    fn place<'a>(own: &'static str, anchor: &str, name: &str, names: &[&'a str]) -> Option<&'a str> {
        let placement = Placement::find(own, anchor, names.iter().copied()).unwrap();
        let candidates = placement.candidates(name);
        candidates.iter().find_map(|candidate| names.iter().find(|name| *name == candidate)).copied()
    }

    #[test]
    fn the_body_may_be_bare_or_wrapped_and_heads_may_be_anywhere() {
        let (anchor, head) = ("embed.weight", "lm_head.weight");
        let cases = [
            // (own prefix, names in the file: anchor and head)
            ("bert.", ["bert.embed.weight", "lm_head.weight"]),
            ("bert.", ["embed.weight", "lm_head.weight"]),
            ("bert.", ["module.bert.embed.weight", "module.lm_head.weight"]),
            ("bert.", ["module.embed.weight", "lm_head.weight"]),
            ("bert.", ["backbone.embed.weight", "lm_head.weight"]),
            ("bert.", ["backbone.embed.weight", "backbone.lm_head.weight"]),
            ("bert.", ["backbone.bert.embed.weight", "lm_head.weight"]),
            ("bert.", ["bert._orig_mod.embed.weight", "lm_head.weight"]),
            ("bert.", ["_orig_mod.module.bert.embed.weight", "_orig_mod.module.lm_head.weight"]),
            ("model.", ["model.embed.weight", "lm_head.weight"]),
            ("model.", ["embed.weight", "lm_head.weight"]),
            ("model.", ["module.embed.weight", "module.lm_head.weight"]),
            ("model.", ["model.model.embed.weight", "model.lm_head.weight"]),
            ("model.", ["base_model.model.model.embed.weight", "base_model.model.lm_head.weight"]),
            ("model.decoder.", ["decoder.embed.weight", "lm_head.weight"]),
            ("", ["embed.weight", "lm_head.weight"]),
            ("", ["module.embed.weight", "module.lm_head.weight"]),
            ("", ["model.embed.weight", "lm_head.weight"]),
            ("", ["base_model.model.embed.weight", "base_model.model.lm_head.weight"]),
        ];
        for (own, names) in cases {
            assert_eq!(place(own, anchor, &format!("{own}{anchor}"), &names), Some(names[0]), "{own} {names:?}");
            assert_eq!(place(own, anchor, head, &names), Some(names[1]), "{own} {names:?}");
            assert_eq!(place(own, anchor, "other.weight", &names), None, "{own} {names:?}");
        }
    }

    #[test]
    fn the_exact_and_then_the_shortest_prefix_is_taken() {
        let find = |own, anchor, names: &[&'static str]| {
            Placement::find(own, anchor, names.iter().copied()).map(|placement| placement.found)
        };
        let attention =
            ["decoder.layers.0.encoder_attn.k.weight", "decoder.layers.0.k.weight", "encoder.layers.0.k.weight"];
        assert_eq!(find("encoder.", "layers.0.k.weight", &attention).as_deref(), Some("encoder."));
        assert_eq!(find("text_model.", "e.weight", &["a.e.weight", "sub_text_model.e.weight"]).as_deref(), Some("a."));
        assert_eq!(find("bert.", "e.weight", &["a.e.weight", "b.c.bert.e.weight"]).as_deref(), Some("b.c.bert."));
        assert_eq!(find("model.", "e.weight", &["e.weight", "z.e.weight"]).as_deref(), Some(""));
        // Part of a name is not the name.
        assert_eq!(find("", "wte.weight", &["newte.weight"]), None);
    }
}

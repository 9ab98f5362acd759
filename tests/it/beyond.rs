//! Texts longer than the model was made for: read where positions are computed, refused where they have a table.

use attnscope::{
    capture::{Capture, Excerpt, Keep},
    ids::StackKind,
    model::{Input, Model, ModelFiles, Preparation, RunPlan, TextInput, uninterrupted},
    spec::{Longer, TextLimits},
};
use serde_json::{Map, Value, json};

use crate::{families, keys::Changed};

fn run(model: &Model, input: &Input) -> Capture {
    model.forward(&model.encode(input).unwrap(), &RunPlan::default(), &uninterrupted).unwrap()
}

/// Values of all patterns of the first stack.
fn patterns(capture: &Capture, stack: StackKind) -> Vec<f32> {
    let layers = &capture.stack(stack).unwrap().layers;
    layers.iter().flat_map(|layer| layer.pattern().unwrap().as_slice().to_vec()).collect()
}

fn made_for(name: &str, key: &str, n: usize) -> Changed {
    Changed::new(&format!("families/{name}"), |config: &mut Map<String, Value>| {
        let trained = config.insert(key.to_owned(), json!(n));
        if name.starts_with("deberta") {
            // The furthest distance is the length where no other is said.
            config.insert("max_relative_positions".to_owned(), trained.unwrap());
        }
    })
}

#[test]
fn computed_positions_go_on_beyond_the_length() {
    for (name, key) in [
        ("llama", "max_position_embeddings"),
        ("gpt_neox", "max_position_embeddings"),
        ("phi", "max_position_embeddings"),
        ("gemma3", "max_position_embeddings"),
        ("modernbert", "max_position_embeddings"),
        ("deberta-v3", "max_position_embeddings"),
        ("bloom", "seq_length"),
    ] {
        let (model, reference) = families::open(name);
        let input = reference.input();
        let whole = run(&model, &input);
        assert!(whole.notes().iter().all(|note| !note.contains("was made for")), "{name}: {:?}", whole.notes());
        let shorter = made_for(name, key, 4).model().unwrap();
        let spec = *shorter.spec().modality.text().unwrap();
        assert_eq!((spec.n_ctx, spec.longer), (4, Longer::Read), "{name}");
        let capture = run(&shorter, &input);
        let [ours, theirs] = [&capture, &whole].map(|capture| patterns(capture, StackKind::SelfAttention));
        assert!(ours == theirs, "{name}: the length changes nothing");
        let notes = capture.notes().join("; ");
        let n = capture.tokens(attnscope::ids::Side::Only).len();
        assert!(notes.contains(&format!("{n} tokens are more than the 4 that")), "{name}: {notes}");
    }
    for name in ["gpt2", "gptj", "opt", "bert"] {
        let (model, _) = families::open(name);
        let spec = *model.spec().modality.text().unwrap();
        assert_eq!((spec.longer, spec.limits()), (Longer::Refused, spec.n_ctx.into()), "{name}");
        let error = model.encode(&Input::Ids(vec![5; spec.n_ctx + 1])).unwrap_err().to_string();
        assert!(error.contains(&format!("reads at most {}", spec.n_ctx)), "{name}: {error}");
    }
}

/// What is read where somebody chooses, where nobody does, and where as much is read as the model was made for.
#[test]
fn one_rule_says_how_much_of_a_text_is_read() {
    let fixture = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bert");
    let encoder = Model::tokenizer(&ModelFiles::folder(fixture)).unwrap();
    let limits = TextLimits { usual: 5, most: 100 };
    let read = |n_words: usize, excerpt| {
        let text =
            TextInput { text: "the ".repeat(n_words), how: Preparation::reading(excerpt), ..TextInput::default() };
        encoder.encode(&text, limits).map(|encoded| encoded.ids.len()).map_err(|error| error.to_string())
    };
    let whole = read(20, None).unwrap();
    assert!(whole > 20, "{whole}");
    assert_eq!(read(20, Some(Excerpt::FITTING)), Ok(5));
    assert_eq!(read(20, Some(Excerpt::of(Keep::Last, 9))), Ok(9));
    assert_eq!(read(20, Some(Excerpt::of(Keep::First, 90))), Ok(whole));
    for excerpt in [None, Some(Excerpt::of(Keep::First, 200))] {
        assert!(read(200, excerpt).unwrap_err().ends_with("reads at most 100"));
    }
}

#[test]
fn odd_shares_of_a_head_are_refused_where_the_library_fails() {
    let share = |name: &str, share: f64| {
        Changed::new(name, |config| {
            config["rope_parameters"]["partial_rotary_factor"] = json!(share);
        })
    };
    // Heads of 8.
    for odd in [0.125, 0.4, 0.7] {
        let error = share("families/stablelm", odd).refusal().to_string();
        assert!(error.contains("odd number of rotated dimensions"), "{error}");
    }
    share("families/stablelm", 0.5).model().unwrap();
    share("families/gpt_neox", 0.4).model().unwrap();
}

/// Transformers looks for `truncate` beside the kinds of layers, not inside one.
#[test]
fn truncate_counts_beside_the_kinds_of_layers() {
    let (_, reference) = families::open("olmo3");
    let with = |place: &str| {
        let model = Changed::new("families/olmo3", |config| {
            let ropes = &mut config["rope_parameters"];
            ropes["full_attention"]["original_max_position_embeddings"] = json!(240);
            match place {
                "inside" => ropes["full_attention"]["truncate"] = json!(false),
                "beside" => ropes["truncate"] = json!(false),
                _ => {}
            }
        });
        patterns(&run(&model.model().unwrap(), &reference.input()), StackKind::SelfAttention)
    };
    let plain = with("nowhere");
    assert!(with("inside") == plain, "it is not read there");
    assert!(with("beside") != plain, "it is read there");
}

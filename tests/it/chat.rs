//! Chat templates against what transformers makes of them, and what is done with those that cannot be used.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use attnscope::{
    model::{
        Chat, Input, Model, ModelFiles, Preparation, TextInput,
        input::{Conversation, TextEncoder},
    },
    session::Command,
};
use serde_json::{Value, json};

use crate::{keys::Changed, parity::fixture, support::play::Play};

fn turn(text: &str, system: Option<&str>, chat: Chat) -> TextInput {
    TextInput {
        text: text.to_owned(),
        system: system.map(str::to_owned),
        how: Preparation { chat: Some(chat), ..Preparation::default() },
        ..TextInput::default()
    }
}

/// A tokenizer with a template.
fn encoder(config: &Value, template: Option<&str>) -> TextEncoder {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixture("gpt2/tokenizer.json"), folder.path().join("tokenizer.json")).unwrap();
    fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    if let Some(template) = template {
        fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    }
    Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap()
}

fn said(encoder: &TextEncoder, input: &TextInput, now: SystemTime) -> Result<Conversation, String> {
    encoder.conversation(input, now).unwrap().unwrap()
}

/// What a template makes of one word.
fn of_template(template: &str) -> Result<String, String> {
    let encoder = encoder(&json!({}), Some(template));
    said(&encoder, &turn("word", None, Chat::default()), UNIX_EPOCH).map(|conversation| conversation.text)
}

#[test]
fn templates_of_every_family_write_what_transformers_writes() {
    let read = fs::read(fixture("chat/templates.json")).unwrap();
    let written: Value = serde_json::from_slice(&read).unwrap();
    let now = UNIX_EPOCH + Duration::from_secs(written["seconds"].as_u64().unwrap());
    for (name, template) in written["templates"].as_object().unwrap() {
        let encoder = encoder(&written["tokens"], template.as_str());
        let texts = written["texts"].as_array().unwrap();
        for (case, expected) in texts.iter().zip(written["rendered"][name].as_array().unwrap()) {
            let (text, system) = (case["text"].as_str().unwrap(), case["system"].as_str());
            let chat = Chat { thinking: case["thinking"].as_bool(), no_prompt: case["prompt"] == false };
            let conversation = said(&encoder, &turn(text, system, chat), now);
            let Some(expected) = expected.as_str() else {
                let refused = conversation.unwrap_err();
                assert_eq!(refused, format!("it says “{}”", expected["refused"].as_str().unwrap()), "{name}");
                continue;
            };
            let Conversation { text: rendered, content, .. } = conversation.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(rendered, expected, "{name} of {text:?}");
            if name != "values" && name != "apart" {
                let own = &rendered[content.last().unwrap().clone()];
                assert_eq!(own, text.trim(), "what was said in {name}: {content:?}");
            }
        }
    }
}

#[test]
fn the_file_goes_over_the_settings_and_of_named_templates_the_default_counts() {
    let named = json!([{ "name": "rag", "template": "rag" }, { "name": "default", "template": "of the list" }]);
    let of = |config: &Value, file: Option<&str>| {
        let encoder = encoder(config, file);
        said(&encoder, &turn("word", None, Chat::default()), UNIX_EPOCH).map(|conversation| conversation.text)
    };
    assert_eq!(of(&json!({ "chat_template": "of the settings" }), Some("of the file")).unwrap(), "of the file");
    assert_eq!(of(&json!({ "chat_template": named }), None).unwrap(), "of the list");
    let without = of(&json!({ "chat_template": [{ "name": "rag", "template": "rag" }] }), None).unwrap_err();
    assert!(without.contains("several (rag) and none is called default"), "{without}");
}

#[test]
fn a_template_that_cannot_be_used_is_refused_in_a_sentence() {
    let long = format!("{{# {} #}}", "x".repeat(2 << 20));
    for (template, clause) in [
        (long.as_str(), "and no more than 1048576 are read"),
        ("{% for i in range(9000) %}{% for j in range(9000) %}{{ j }}{% endfor %}{% endfor %}", "may never end"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        (
            "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
            "may never end",
        ),
        ("{{ 'x' * 99999999 }}", "may never end"),
        ("{{ open('/etc/passwd') }}", "open"),
        ("{% include 'other' %}", "line 1"),
        ("one\ntwo {% if %}", "line 2"),
        ("{{ messages[0].content.nothing() }}", "nothing"),
        ("{{ missing.key }}", "undefined"),
        ("{{ raise_exception('no\nsuch role') }}", "it says “no such role”"),
    ] {
        let refused = of_template(template).unwrap_err();
        assert!(refused.contains(clause), "{clause:?} in {refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
}

#[test]
fn the_template_is_read_in_place_of_the_text_and_without_a_second_beginning() {
    let folder = Changed::new("gpt2", |_| {});
    let template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}{% endfor %}";
    fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    let model = folder.model().unwrap();
    assert_eq!(model.chat(), Some(false));
    let encoded = model.encode(&Input::Text(turn(" The cat ", Some("sat"), Chat::default()))).unwrap();
    let read = encoded.input.text.clone().unwrap();
    assert!(read.ends_with("[system] sat[user] The cat"), "{read}");
    let plain = TextInput {
        text: read.clone(),
        how: Preparation { no_special: true, ..Preparation::default() },
        ..TextInput::default()
    };
    let ids = |input: TextInput| -> Vec<Option<u32>> {
        let encoded = model.encode(&Input::Text(input)).unwrap();
        encoded.tokens.into_values().flatten().map(|token| token.id).collect()
    };
    assert_eq!(ids(turn(" The cat ", Some("sat"), Chat::default())), ids(plain));
    let content: Vec<&str> = encoded.input.content.iter().flatten().map(|said| &read[said.clone()]).collect();
    assert_eq!(content, ["sat", "The cat"]);
    let tokens = encoded.tokens.values().flatten();
    let own: String =
        tokens.filter(|token| !encoded.input.is_of_template(token)).map(|t| &read[t.span.clone()]).collect();
    assert!(own.contains("sat") && own.contains("The cat") && !own.contains("user"), "{own:?}");

    // One that cannot be used leaves the text as it is, and says so.
    fs::write(folder.path().join("chat_template.jinja"), "{{ raise_exception('nobody may speak') }}").unwrap();
    let model = folder.model().unwrap();
    let encoded = model.encode(&Input::Text(turn("The cat", None, Chat::default()))).unwrap();
    assert_eq!(encoded.input.text.as_deref(), Some("The cat"));
    assert!(encoded.notes.join("; ").contains("so the text is read as it is: it says “nobody may speak”"));
    // None at all is an error, because somebody asked for it.
    fs::remove_file(folder.path().join("chat_template.jinja")).unwrap();
    let error = folder.model().unwrap().encode(&Input::Text(turn("The cat", None, Chat::default()))).unwrap_err();
    assert!(error.to_string().contains("no chat template"), "{error}");
}

#[test]
fn a_session_keeps_the_template_and_its_system() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetSystem("Be brief.".to_owned()));
    play.does(Command::SetChat(Some(Chat { thinking: Some(false), no_prompt: false })));
    let asked = |play: &Play| match play
        .session
        .document()
        .experiment
        .input(&play.session.document().model.latest().unwrap().spec)
    {
        Ok(Input::Text(text)) => (text.how.chat, text.system),
        other => panic!("{other:?}"),
    };
    let wanted = (Some(Chat { thinking: Some(false), no_prompt: false }), Some("Be brief.".to_owned()));
    assert_eq!(asked(&play), wanted);
    play.answers();
    let address = play.session.address(play.session.pane()).unwrap().0.to_string();
    assert!(address.contains("&chat=template,no-thinking&system=Be%20brief."), "{address}");
    play.does(Command::SetChat(None));
    assert_eq!(asked(&play), (None, None), "what the system says is kept, and not said");
}

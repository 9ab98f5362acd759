//! Addresses of places: copied, read again, gone to, and refused.

use attnscope::{
    capture::{Edit, HideToken},
    ids::{HeadId, Side, StackKind},
    model::ImageSource,
    protocol::{EditRequest, ModelSource},
    session::{Address, ChangeCommand, Command, Focus, SelectionCommand, SessionCommand, ViewKind},
};

use crate::support::play::{Play, bundled};

fn address(play: &Play) -> Address {
    play.session.address(play.session.pane()).unwrap().0
}

#[test]
fn an_address_says_what_is_shown_and_leads_back_to_it() {
    let mut play = Play::showing("50% of “Grüße” & x=1 #?+/");
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 2))));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::Select(SelectionCommand::Pin(Focus::cell(2, 1))));
    let hide = EditRequest::Edit(Edit::HideToken(HideToken { side: Side::Only, position: 1 }));
    play.does(Command::Change(ChangeCommand::Add(vec![hide.clone()])));
    play.answers();
    let told = address(&play);
    let text = told.to_string();
    assert!(text.is_ascii() && !text.contains(' '), "{text}");
    assert!(text.starts_with("attnscope://open?model=demo:gpt&text=50%25%20of%20%E2%80%9CGr"), "{text}");
    assert!(text.ends_with("&view=heatmap&stack=self&layer=1&head=2&query=2&key=1"), "{text}");
    let read: Address = text.parse().unwrap();
    assert_eq!(read.experiment.text, "50% of “Grüße” & x=1 #?+/");
    assert_eq!((read.experiment.edits(), read.to_string()), (vec![hide], text));

    let mut other = Play::showing("something else");
    other.does(Command::Session(SessionCommand::GoTo(Box::new(read))));
    other.answers();
    assert_eq!(address(&other), told);
    let changed = other.session.document().latest_capture().unwrap().computation().edits.len();
    assert_eq!(changed, 1, "with its changes, and the plain run beside it");
    assert_eq!(other.session.panes.len(), 2);
    // Back is a step of undo like any other.
    other.does(Command::Undo);
    other.answers();
    assert_eq!(other.session.document().latest_capture().unwrap().input().text.as_deref(), Some("something else"));
}

#[test]
fn pictures_files_and_names_of_the_cache_have_addresses() {
    for text in [
        "attnscope://open?hub=owner/name&text=a&text_b=b&view=lines&stack=self&layer=0&head=0",
        "attnscope://open?model=a&text=b&max_tokens=512&keep=last",
        "attnscope://open?model=a&text=b&chat=template,no-thinking,no-prompt&system=Be%20brief.",
        "attnscope://open?hub=owner/name&revision=0123456789abcdef&checksum=fedcba9876543210&text=a",
        "attnscope://open?model=demo:vit&sample=chelsea&view=picture&stack=self&layer=0&head=0&query=5",
        "attnscope://open?path=/models/mine&image=/pictures/a%20cat.png&target=c&writes=1",
        "attnscope://open?capture=/captures/a.safetensors&input=3&stack=cross&layer=2",
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
    }
    let address: Address = "attnscope://open?hub=owner/name&stack=cross&sample=chelsea".parse().unwrap();
    assert_eq!(address.experiment.model, Some(ModelSource::Hub("owner/name".to_owned())));
    assert_eq!(address.stack, Some(StackKind::Cross));
    assert_eq!(address.experiment.image, Some(ImageSource::Bundled("chelsea".to_owned())));
}

#[test]
fn malformed_addresses_are_refused_in_a_sentence_each() {
    let long = format!("attnscope://open?model=a&text={}", "a".repeat(70_000));
    for (text, why) in [
        ("", "a link begins with attnscope://open?"),
        ("https://example.org", "a link begins with attnscope://open?"),
        ("attnscope://shut?model=a", "a link begins with"),
        ("attnscope://open?", "names no model"),
        ("attnscope://open?text=a", "names no model"),
        ("attnscope://open?input=3", "names no model"),
        ("attnscope://open?model=a&hub=b", "only one of"),
        ("attnscope://open?path=/a&input=3", "and the link names none"),
        ("attnscope://open?model=", "it has no value"),
        ("attnscope://open?model=a&layer", "it has no value"),
        ("attnscope://open?model=a&layer=-1", "a whole number from 0, not -1"),
        ("attnscope://open?model=a&layer=99999999999999999999", "a whole number"),
        ("attnscope://open?model=a&layer=1&layer=2", "it is given twice"),
        ("attnscope://open?model=a&laier=1", "known parts are model"),
        ("attnscope://open?model=a&view=hologram", "one of lines, heatmap"),
        ("attnscope://open?model=a&stack=up", "one of self"),
        ("attnscope://open?model=a&text=%FF", "not UTF-8"),
        ("attnscope://open?model=a&edit={", "not JSON"),
        ("attnscope://open?model=a&edit=%7B%22ablate%22%3A7%7D", "ablate: invalid type: integer `7`"),
        ("attnscope://open?hub=a&checksum=xyz", "7 to 64 hexadecimal digits"),
        ("attnscope://open?path=models/mine", "not complete"),
        ("attnscope://open?path=../mine", "leads out"),
        ("attnscope://open?model=a&image=//server/a.png", "another machine"),
        (&long, "longer than 64 KB"),
    ] {
        let error = text.parse::<Address>().expect_err(text).to_string();
        assert!(error.contains(why) && !error.contains('\n') && error.len() < 300, "{text}: {error}");
    }
}

#[test]
fn what_is_nowhere_has_no_address() {
    let mut play = Play::new();
    let copied = play.does(Command::Session(SessionCommand::CopyAddress));
    assert!(copied.is_empty());
    assert_eq!(play.last_notice(), "There is nothing to link to");
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.answers();
    let copied = play.does(Command::Session(SessionCommand::CopyAddress));
    assert!(copied[0].contains("attnscope://open?model=demo:gpt&text=The%20animal"), "{copied:?}");
}

//! Sessions as files: what comes back, what a later version wrote, models that have moved, and hostile files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use attnscope::{
    capture::{Ablate, Ablation, Edit, HideToken, Merging},
    ids::HeadId,
    protocol::{
        EditRequest, EventKind, Failure, LoadAnswer, LoadedModel, ModelSource, Request, SessionAnswer, SessionRequest,
    },
    raster::ColorMap,
    session::{
        Address, Change, ChangeCommand, Command, HeadStep, PaneCommand, SelectionCommand, SessionCommand, Split,
        ViewKind, ViewOptions,
        saved::{MAX_BOOKMARKS, Saved},
    },
    spec::{CheckpointId, CheckpointMark, ModelSpec},
};
use serde_json::{Value, json};

use crate::support::{
    play::{DOCUMENT, Play, bundled},
    scripted,
};

fn ablated(head: usize) -> EditRequest {
    EditRequest::Edit(Edit::Ablate(Ablate { head: HeadId::single(1, head), with: Ablation::Mean }))
}

/// Two texts on two models, one of them changed with its plain run beside it, in three panes.
fn busy() -> Play {
    let mut play = Play::showing("one two three four");
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 3))));
    play.does(Command::Select(SelectionCommand::SoloHead(1)));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::Select(SelectionCommand::StepQuery(attnscope::session::QueryStep::Previous)));
    play.does(Command::Change(ChangeCommand::Add(vec![
        ablated(2),
        EditRequest::Edit(Edit::HideToken(HideToken { side: attnscope::ids::Side::Only, position: 1 })),
    ])));
    play.answers();
    play.does(Command::Change(ChangeCommand::Switch(1, false)));
    play.answers();
    play.does(Command::SplitPane(Split::Below));
    play.does(Command::Detach);
    play.does(Command::Change(ChangeCommand::Clear));
    play.does(Command::SetText("another text of five words".to_owned()));
    play.does(Command::OpenModel(bundled("demo:bert")));
    play.answers();
    let mut options = play.session.pane().options.clone();
    options.heatmap.color_map = ColorMap::Cividis;
    options.reading.merging = Merging::WORDS;
    play.does(Command::SetViewOptions(options));
    play.does(Command::ToggleLink);
    play.does(Command::Session(SessionCommand::SetNotes("What was seen: “nothing”".to_owned())));
    let head = attnscope::ids::HeadId::single(1, 2);
    let note = attnscope::session::HeadNote::new("demo:gpt", head, "looks back".to_owned());
    play.does(Command::Session(SessionCommand::NoteHead(note)));
    play
}

/// What is read from a file, in a session that had shown something else.
fn opened(saved: Saved) -> Play {
    let mut play = Play::showing("something else");
    let effects = play.session.reopen(saved);
    play.sort(effects);
    play.answers();
    play
}

fn read(json: Value) -> Saved {
    Saved::from_json(json, Path::new("/sessions")).unwrap()
}

#[test]
fn what_was_shown_comes_back() {
    let play = busy();
    let saved = play.session.saved();
    let json = saved.to_json();
    assert_eq!((json["format"].as_str(), json["version"].as_u64()), (Some("attnscope-session"), Some(1)));
    assert_eq!(Saved::from_bytes(json.to_string().as_bytes(), Path::new("/")).unwrap(), saved);

    let again = opened(read(json));
    assert_eq!(again.session.saved(), saved, "and would be written just the same");
    let shown = |play: &Play| {
        let of_pane = |pane: &attnscope::session::Pane| {
            let document = play.session.document_of(pane);
            let capture = document.latest_capture().unwrap();
            (
                (pane.view, pane.selection.head, pane.selection.heads_on(), pane.selection.pinned, pane.linked),
                pane.options.clone(),
                (capture.input().text.clone(), capture.computation().edits.len(), capture.model().name.clone()),
            )
        };
        play.session.panes.rows().map(|row| row.iter().map(of_pane).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&again), shown(&play));
    assert_eq!(again.session.pane().view, play.session.pane().view);
    assert_eq!(again.session.keeping.notes, "What was seen: “nothing”");
    let head = attnscope::ids::HeadId::single(1, 2);
    assert_eq!(attnscope::session::note_of(&again.session.keeping.head_notes, "demo:gpt", head), "looks back");
    // The changed run still follows: what is changed there is not changed in the plain one beside it.
    let changed = again.session.documents.iter().find(|document| document.plain.is_some()).unwrap();
    assert_eq!(changed.experiment.changes.iter().map(|change| change.on).collect::<Vec<_>>(), [true, false]);
    assert_eq!(again.held.len(), 2, "a model that two documents have is read once");
}

#[test]
fn what_a_later_version_wrote_is_written_again() {
    let mut json = busy().session.saved().to_json();
    let later = json!({ "of a later version": [1, 2] });
    json["later"] = later.clone();
    json["documents"][0]["later"] = later.clone();
    json["documents"][0]["model"]["later"] = later.clone();
    json["panes"][1]["later"] = later.clone();
    json["panes"][1]["options"]["heatmap"]["later"] = later.clone();
    // A choice that is not known loses itself alone.
    json["panes"][2]["options"]["heatmap"]["color_map"] = "Rainbow".into();
    let mut play = opened(read(json.clone()));
    let written = play.session.saved().to_json();
    json["panes"][2]["options"]["heatmap"]["color_map"] = "Heat".into();
    assert_eq!(written, json);
    // Where it stood goes with the pane.
    play.does(Command::Activate);
    play.does(Command::InPane(PaneCommand::Close));
    assert_eq!(play.session.saved().to_json()["documents"][0]["later"], later);
}

fn missing(path: &str) -> Failure {
    Failure { summary: "There is no such folder".to_owned(), details: path.to_owned() }
}

/// A session whose model lies in a folder, with the checksum that it had.
fn on_a_folder(config: &str) -> Saved {
    let document = json!({ "model": { "path": "/models/mine", "config": config }, "text": "one two three" });
    read(json!({
        "format": "attnscope-session", "version": 1,
        "documents": [document, document], "panes": [{ "document": 0 }, { "document": 1, "row": 1, "head": 2 }],
    }))
}

/// Answers the only load that is asked for; as a working model would unless `path` is not there.
fn answer_load(play: &mut Play, there: &[&str], config: &str) -> PathBuf {
    let at = play.asked.iter().position(|(_, request)| matches!(request, Request::Load { .. })).unwrap();
    let (job, request) = play.asked.remove(at);
    let Request::Load { id, source, .. } = request else { unreachable!() };
    let ModelSource::Path(path) = source.clone() else { panic!("{source:?}") };
    let kind = if there.iter().any(|there| path == Path::new(there)) {
        let loaded =
            LoadedModel { id, config: Some(config.to_owned()), ..LoadedModel::clone(&scripted::model(&source)) };
        play.held.insert(id, loaded.into());
        EventKind::Load(LoadAnswer::Loaded(play.held[&id].clone()))
    } else {
        EventKind::Failed(missing(&path.to_string_lossy()))
    };
    play.hears(job, kind);
    path
}

#[test]
fn a_model_that_has_moved_is_asked_for_once_and_found_the_next_time() {
    let mut play = Play::new();
    let effects = play.session.reopen(on_a_folder("c1"));
    play.sort(effects);
    assert_eq!(play.asked_names(), ["load"], "once for both documents");
    assert_eq!(answer_load(&mut play, &[], ""), Path::new("/models/mine"));
    let lost = play.session.keeping.lost_models.first().unwrap();
    assert_eq!((lost.place().as_str(), &lost.failure), ("/models/mine", &Some(missing("/models/mine"))));
    // Nothing is lost while nobody answers.
    assert_eq!(play.session.saved().to_json()["documents"][1]["model"]["path"], "/models/mine");

    play.does(Command::Session(SessionCommand::ModelIsAt("/elsewhere/mine".into())));
    assert_eq!(answer_load(&mut play, &["/elsewhere/mine"], "c1"), Path::new("/elsewhere/mine"));
    play.answers();
    assert!(play.session.keeping.lost_models.is_empty());
    assert!(play.session.documents.iter().all(|document| document.latest_capture().is_some()));
    let saved = play.session.saved().to_json();
    assert_eq!(saved["documents"][0]["model"], json!({ "path": "/elsewhere/mine", "config": "c1" }));

    // The next session that names it is looked for there, and nobody is asked.
    let mut next = Play::new();
    next.session.settings = play.session.settings.clone();
    let effects = next.session.reopen(on_a_folder("c1"));
    next.sort(effects);
    answer_load(&mut next, &[], "");
    assert!(next.session.keeping.lost_models.is_empty());
    assert_eq!(answer_load(&mut next, &["/elsewhere/mine"], "c1"), Path::new("/elsewhere/mine"));
    assert!(next.session.keeping.lost_models.is_empty());
    // Only if it is gone from there as well.
    let effects = next.session.reopen(on_a_folder("c1"));
    next.asked.clear();
    next.sort(effects);
    answer_load(&mut next, &[], "");
    answer_load(&mut next, &[], "");
    assert_eq!(next.session.keeping.lost_models[0].place(), "/elsewhere/mine");
    next.does(Command::Session(SessionCommand::LeaveModel));
    assert_eq!(next.session.saved().to_json()["documents"][1]["model"]["path"], "/elsewhere/mine");
}

#[test]
fn a_model_that_is_another_one_now_is_not_shown_in_silence() {
    let mut play = Play::new();
    let effects = play.session.reopen(on_a_folder("c1"));
    play.sort(effects);
    answer_load(&mut play, &["/models/mine"], "c2");
    play.answers();
    assert!(play.session.keeping.lost_models[0].failure.is_none());
    // As long as nobody says so, the session goes on naming the one that it was saved with.
    assert_eq!(play.session.saved().to_json()["documents"][0]["model"]["config"], "c1");
    play.does(Command::Session(SessionCommand::UseModel));
    assert!(play.session.keeping.lost_models.is_empty());
    assert_eq!(play.session.saved().to_json()["documents"][1]["model"]["config"], "c2");
}

/// Answers the load that was asked for last with a model whose files have this checksum.
fn answer_with_files(play: &mut Play, checksum: &str) {
    let at = play.asked.iter().rposition(|(_, request)| matches!(request, Request::Load { .. })).unwrap();
    let (job, request) = play.asked.remove(at);
    let Request::Load { id, source, .. } = request else { unreachable!() };
    let model = LoadedModel { id, ..LoadedModel::clone(&scripted::model(&source)) };
    let revision = Some("fedcba9876543210".to_owned());
    let checkpoint = CheckpointId { revision, checksum: checksum.to_owned(), files: BTreeMap::new() };
    let spec = ModelSpec { checkpoint: Some(checkpoint), ..ModelSpec::clone(&model.spec) };
    play.held.insert(id, LoadedModel { spec: spec.into(), ..model }.into());
    play.hears(job, EventKind::Load(LoadAnswer::Loaded(play.held[&id].clone())));
    play.answers();
}

#[test]
fn a_session_and_a_link_say_so_when_the_files_of_their_model_have_changed() {
    let mut play = Play::new();
    play.does(Command::OpenModel(ModelSource::Hub("owner/name".to_owned())));
    answer_with_files(&mut play, &"a1".repeat(32));
    let saved = play.session.saved().to_json();
    assert_eq!(saved["documents"][0]["checkpoint"]["checksum"], "a1".repeat(32));
    let address = play.session.address(play.session.pane()).unwrap().0;
    assert!(address.to_string().contains("&revision=fedcba9876543210&checksum=a1a1a1a1a1a1a1a1&"), "{address}");

    for (checksum, is_told) in [("a1", false), ("b2", true)] {
        let told = |play: &Play| play.session.notices.iter().any(|it| it.text.summary.contains("have changed since"));
        let mut again = Play::new();
        let effects = again.session.reopen(read(saved.clone()));
        again.sort(effects);
        // Nothing is lost before the files are known.
        assert_eq!(again.session.saved().to_json()["documents"][0]["checkpoint"], saved["documents"][0]["checkpoint"]);
        answer_with_files(&mut again, &checksum.repeat(32));
        assert_eq!(told(&again), is_told, "session, {checksum}");
        let mut other = Play::new();
        other.does(Command::Session(SessionCommand::GoTo(Box::new(address.clone()))));
        answer_with_files(&mut other, &checksum.repeat(32));
        assert_eq!(told(&other), is_told, "link, {checksum}");
    }
    // The files that are open already are compared too.
    let Address { checkpoint, .. } = address.clone();
    let elsewhere =
        Address { checkpoint: CheckpointMark { checksum: Some("c3c3c3c3".to_owned()), ..checkpoint }, ..address };
    play.does(Command::Session(SessionCommand::GoTo(Box::new(elsewhere))));
    assert!(play.last_notice().contains("The files of owner/name have changed"), "{}", play.last_notice());
}

#[test]
fn a_session_is_saved_under_a_name_and_not_over_somebody_elses_work() {
    let mut play = Play::showing("one two three");
    assert_eq!(play.does(Command::Session(SessionCommand::Save)), [r#"SaveSession { name: "session.attnscope" }"#]);
    play.does(Command::Session(SessionCommand::SaveTo("/s/a.attnscope".into())));
    let (job, Request::Session(SessionRequest::Write { replaces: None, .. })) = play.asked.pop().unwrap() else {
        panic!("a name that was chosen is written to, whatever is there")
    };
    let checksum = "abc".to_owned();
    play.hears(job, written("/s/a.attnscope", checksum));
    assert_eq!((play.session.keeping.name().as_deref(), play.last_notice()), (Some("a.attnscope"), "Session saved"));
    assert_eq!(play.session.settings.recent_sessions, [PathBuf::from("/s/a.attnscope")]);

    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    play.does(Command::Session(SessionCommand::Keep));
    assert!(play.session.keeping.is_changed);
    play.asked.clear();
    play.does(Command::Session(SessionCommand::Save));
    let (job, request) = play.asked.pop().unwrap();
    let Request::Session(SessionRequest::Write { replaces: Some(known), .. }) = request else { panic!("{request:?}") };
    assert_eq!(known, "abc");
    play.hears(job, EventKind::Session(Box::new(SessionAnswer::ChangedElsewhere("/s/a.attnscope".into()))));
    assert!(play.last_notice().contains("another window has saved it"), "{}", play.last_notice());
    assert!(play.session.keeping.is_changed);
    // A full disk says so, and what is shown stays.
    play.does(Command::Session(SessionCommand::Save));
    let job = play.last_job();
    play.hears(job, EventKind::Failed(missing("the disk is full")));
    assert_eq!(play.last_notice(), "There is no such folder");
    assert_eq!(play.n_tokens(), 3);
}

fn written(path: &str, checksum: String) -> EventKind {
    EventKind::Session(Box::new(SessionAnswer::Written { path: path.into(), checksum }))
}

#[test]
fn what_cannot_be_kept_is_told_once_and_tried_again() {
    let mut play = Play::showing("one two three");
    for n_told in [1, 1] {
        play.does(Command::Session(SessionCommand::Keep));
        let job = play.last_job();
        play.hears(job, EventKind::Failed(missing("the disk is full")));
        let told =
            play.session.notices.iter().filter(|notice| notice.text.summary.contains("cannot be saved automatically"));
        assert_eq!(told.count(), n_told);
        assert!(play.session.keeping.is_troubled());
    }
    play.does(Command::Session(SessionCommand::Keep));
    let job = play.last_job();
    play.hears(job, EventKind::Session(Box::new(SessionAnswer::Done)));
    assert!(!play.session.keeping.is_troubled());
    play.asked.clear();
    play.does(Command::Session(SessionCommand::Keep));
    assert!(play.asked.is_empty(), "the same is not written twice");
}

/// Every hostile file has one sentence, and what is shown stays.
#[test]
fn hostile_files_are_refused_in_a_sentence_each() {
    let whole = busy().session.saved().to_json();
    let text = whole.to_string();
    let changed = |place: &str, value: Value| {
        let mut json = whole.clone();
        *json.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        json.to_string()
    };
    let list = |n: usize, of: &str| format!("[{}{of}]", format!("{of},").repeat(n - 1));
    let with_list = |name: &str, list: String| {
        format!(r#"{{"format":"attnscope-session","version":1,"documents":[{{}}],"{name}":{list}}}"#)
    };
    let files = [
        (text[..text.len() / 2].to_owned(), "it ends in the middle"),
        (String::new(), "it ends in the middle"),
        ("[]".to_owned(), "this is not an AttnScope session"),
        (r#"{"format":"attnscope-capture"}"#.to_owned(), "this is not an AttnScope session"),
        (changed("/version", 2.into()), "written by a newer AttnScope (version 2"),
        (changed("/version", "1".into()), "the version of this session is not valid"),
        (with_list("panes", list(5, "{}")), "this session has 5 panes, but at most 4"),
        (with_list("panes", list(1_000_000, "{}")), "parts"),
        (with_list("panes", list(400_000, "{}")), "this session has 400000 panes"),
        (with_list("panes", "[".repeat(100_000)), "deep within each other"),
        (with_list("bookmarks", list(MAX_BOOKMARKS + 1, "{}")), "bookmarks"),
        (changed("/documents", json!([])), "it is empty"),
        (changed("/documents", json!({})), "it is not a list"),
        (changed("/documents/0/text", 7.into()), "document 0 of this session is not valid"),
        (changed("/documents/0/model", json!({ "path": 7 })), "document 0"),
        (changed("/documents/0/model", json!({ "path": "../../etc" })), "leads out of the session’s folder"),
        (changed("/documents/0/model", json!({ "path": r"\\server\share" })), "leads to another machine"),
        (changed("/documents/0/image", json!({ "path": "//server/share/a.png" })), "leads to another machine"),
        (changed("/documents/0/changes", json!([7])), "document 0"),
        (changed("/documents/0/plain", 0.into()), "in a circle"),
        (changed("/documents/0/plain", 99.into()), "it names document 99, and there are 3"),
        (changed("/documents/0/corpus", 0.into()), "it names corpus 0, and there are 0"),
        (changed("/panes/1/document", 1_000_000_000.into()), "pane 1"),
        (changed("/panes/1/view", "hologram".into()), "no view is called “hologram”"),
        (changed("/panes/1/head", json!(-1)), "pane 1"),
        (changed("/panes/1/head", json!(1e300)), "pane 1"),
        (changed("/notes", json!({})), "they are not text"),
        (changed("/bookmarks", json!([{ "address": "attnscope://open?text=a" }])), "names no model"),
    ];
    for (text, why) in files {
        let error = Saved::from_bytes(text.as_bytes(), Path::new("/sessions")).expect_err(why).to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert!(!error.contains('\n') && error.len() < 400, "{error}");
    }
    // Numbers that no model has are those of the nearest head it has.
    let mut far = whole;
    for (place, value) in [("/panes/0/layer", 1_000_000_000), ("/panes/0/head", 77), ("/panes/0/query", 1_000_000_000)]
    {
        *far.pointer_mut(place).unwrap() = value.into();
    }
    far["panes"][0]["heads_on"] = json!([0, 127, 128, u64::MAX]);
    far["panes"][0]["row"] = u64::MAX.into();
    let play = opened(read(far));
    let pane = play.session.panes.iter().last().unwrap();
    assert_eq!((pane.selection.head, pane.selection.pinned.query), (HeadId::single(2, 3), None));
}

#[test]
fn parts_of_paths_are_meant_from_the_file() {
    let json = json!({
        "format": "attnscope-session", "version": 1,
        "documents": [{ "model": { "path": "mine" }, "image": { "path": "./cat.png" }, "corpus": 0 }],
        "corpora": [{ "path": "demo:sentences" }],
    });
    let saved = Saved::from_json(json, Path::new("/sessions")).unwrap().to_json();
    let at = |path: &str| Path::new("/sessions").join(path).to_string_lossy().into_owned();
    assert_eq!(saved["documents"][0]["model"]["path"], at("mine"));
    assert_eq!(saved["documents"][0]["image"]["path"], at("./cat.png"));
    assert_eq!(saved["corpora"][0]["path"], "demo:sentences");
}

/// Every kind of change that has a name comes back as it was.
#[test]
fn an_unknown_change_is_named_and_left_out_and_the_rest_is_shown() {
    let mut play = Play::showing("one two three");
    play.does(Command::Change(ChangeCommand::Add(vec![ablated(1)])));
    let mut json = play.session.saved().to_json();
    let documents = json["documents"].as_array_mut().unwrap();
    let changed = documents.iter().position(|it| it["changes"].as_array().is_some_and(|it| !it.is_empty())).unwrap();
    let changes = documents[changed]["changes"].as_array_mut().unwrap();
    changes.insert(0, json!({ "edit": { "rotate": "L0H1", "by": 3 } }));
    changes.push(json!({ "edit": { "hide": 1, "softly": true } }));
    changes.push(json!({ "edit": { "ablate": "everything", "with": "zero" } }));
    changes.push(json!({ "edit": { "word": "two", "replace": 1, "loudly": true }, "on": false }));
    let again = read(json);
    let kept: Vec<_> = again.documents[changed].changes.iter().map(|change| change.edit.clone()).collect();
    assert_eq!(kept, [ablated(1)]);
    let said = again.unknown_changes().join("; ");
    for part in [
        "there is no change “rotate”; changes begin with one of ablate, ",
        "hide takes hide, side, not “softly”",
        "ablate: “everything” is no head such as L3H5",
        "a change with “word” has a wrong or unknown part",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn changes_come_back() {
    use attnscope::{
        capture::{Scope, changes::TopK},
        ids::StackKind::SelfAttention as SELF,
        model::{Chat, Input, Preparation, TextInput},
        protocol::{Between, MeanInputs, PatchSource, PatchedRows},
    };
    let edits = vec![
        ablated(1),
        EditRequest::Word { side: attnscope::ids::Side::Only, position: 2, text: "zwölf".to_owned() },
        Edit::from(TopK { k: 3, renormalize: false, stack: SELF, scope: Scope::Heads(vec![HeadId::single(1, 2)]) })
            .into(),
        Edit::from(TopK { k: 1, renormalize: true, stack: SELF, scope: Scope::All }).into(),
        EditRequest::MeanOver { head: HeadId::single(0, 1), over: MeanInputs::Bundled("demo:sentences") },
        EditRequest::Between(Box::new(Between {
            rows: PatchedRows {
                site: attnscope::capture::Site::ResidPost,
                stack: SELF,
                layer: 1,
                head: None,
                positions: Vec::new(),
            },
            plus: MeanInputs::Bundled("demo:sentences"),
            minus: MeanInputs::Bundled("demo:pictures"),
            mean: attnscope::capture::MeanOf::Texts,
            along: attnscope::capture::Along::Add(2.0),
        })),
        EditRequest::Taken {
            rows: PatchedRows {
                site: attnscope::capture::Site::Z,
                stack: SELF,
                layer: 1,
                head: Some(2),
                positions: vec![0, 2],
            },
            from: Box::new(PatchSource {
                name: "the other one".to_owned(),
                input: Input::Text(TextInput {
                    text: " a b".to_owned(),
                    text_b: None,
                    system: Some("Be brief.".to_owned()),
                    how: Preparation {
                        no_special: true,
                        sentence_transformers: true,
                        brackets: true,
                        chat: Some(Chat { thinking: Some(false), no_prompt: true }),
                        excerpt: None,
                    },
                })
                .with_target(Input::text("c")),
                generation: None,
                edits: vec![Edit::HideToken(HideToken { side: attnscope::ids::Side::Only, position: 1 })],
                positions: Some(vec![1, 1]),
            }),
        },
    ];
    let mut play = Play::showing("one two three");
    play.does(Command::Change(ChangeCommand::Add(edits.clone())));
    let saved = play.session.saved();
    let again = read(saved.to_json());
    let of = |saved: &Saved| {
        let changed = saved.documents.iter().find(|document| !document.changes.is_empty()).unwrap();
        changed.changes.iter().map(|change: &Change| change.edit.clone()).collect::<Vec<_>>()
    };
    assert_eq!((of(&again), of(&saved)), (edits.clone(), edits));
    assert!(again.panes.iter().all(|pane| pane.options == ViewOptions::default()));
    assert_eq!(play.session.documents[0].id, DOCUMENT);
}

//! Effects of commands on the parts of the session. Those of the worker's events are in `on_event.rs`.

use std::{ops::Range, path::PathBuf};

use super::{
    BookmarkCommand, Cause, ChangeCommand, Command, CorpusCommand, CorpusSheet, Document, Effect, Experiment,
    FirstStep, Focus, Grouping, HeadSet, LectureCommand, Pane, PaneCommand, SelectionCommand, Session, SessionCommand,
    Split, ViewKind, ViewOptions, arrangement::Arrangement, autosave::OpenState, explanations, figures::figure,
    navigation::HistoryDirection, notices::Causes,
};
use crate::{
    figure::views::Study,
    ids::{HeadId, JobId, PaneId, Side},
    lab::{MethodPreset, TimeLimit},
    protocol::{CorpusOptions, LoadAnswer},
    text::counted,
};

impl Session {
    /// Does what the user asked for in the active pane.
    #[must_use]
    pub fn apply(&mut self, command: Command) -> Vec<Effect> {
        self.apply_in(self.panes.active_id(), command)
    }

    /// Does what the user asked for in a pane, which becomes the active one; looking at something with the
    /// pointer is no reason for that.
    #[must_use]
    pub fn apply_in(&mut self, pane: PaneId, command: Command) -> Vec<Effect> {
        let stays = matches!(command, Command::InPane(_));
        if stays { self.transition(pane, command) } else { self.move_on(pane, command) }
    }

    /// Does what leaves the active pane as it is.
    fn apply_to(&mut self, pane: PaneId, command: PaneCommand) -> Vec<Effect> {
        let Self { documents, panes, arrangements, alignments, jobs, notices, settings, .. } = self;
        match command {
            PaneCommand::Hover(focus) => {
                // A line or a cell is a pair of words.
                if focus.query.is_some() != focus.key.is_some() {
                    settings.first_steps.take(FirstStep::Hover);
                }
                alignments.set_focus(panes, documents, pane, |selection| &mut selection.hover, focus);
                Vec::new()
            }
            PaneCommand::HoverPoint(spot) => {
                panes.change(pane, documents, |pane, _| pane.selection.spot = spot);
                Vec::new()
            }
            PaneCommand::Survey(question) => panes.change(pane, documents, |pane, document| {
                let survey = pane.survey(document, question);
                survey.and_then(|survey| pane.surveys.ask(pane.id, survey, jobs.next())).into_iter().collect()
            }),
            PaneCommand::Explain(column, ask, target) => panes.change(pane, documents, |pane, document| {
                pane.explain(document, (column, TimeLimit::DEFAULT), ask, target, jobs.next())
            }),
            PaneCommand::ExplainAnyway(column, ask, target) => panes.change(pane, documents, |pane, document| {
                pane.explain_anyway(document, column, ask, target, jobs.next())
            }),
            PaneCommand::ExplainAgain(column) => {
                panes.change(pane, documents, |pane, _| pane.explanations.ask_again(column));
                Vec::new()
            }
            PaneCommand::ListOutcomes => {
                let document = panes.get(pane).and_then(|pane| documents.find_mut(pane.document));
                document.map_or_else(Vec::new, |document| document.list_outcomes(jobs.next()))
            }
            PaneCommand::Debate => {
                let Some(pane) = panes.get(pane) else { return Vec::new() };
                let document = documents.find_mut(pane.document);
                document.map_or_else(Vec::new, |document| document.debate_inputs(pane.options.tests(), jobs.next()))
            }
            PaneCommand::RecallDebate => {
                let Some(pane) = panes.get(pane) else { return Vec::new() };
                let document = documents.find_mut(pane.document);
                document.map_or_else(Vec::new, |document| document.recall_debate(pane.options.tests(), jobs.next()))
            }
            PaneCommand::Study => self.study(pane),
            PaneCommand::RecallStudy => self.recall_study(pane),
            PaneCommand::FitLens => {
                let pane = panes.get(pane);
                let name = pane.and_then(|pane| documents.of(pane).lens_name());
                name.map(|name| Effect::SaveLens { name }).into_iter().collect()
            }
            PaneCommand::Close => {
                let before = Arrangement::of(panes, documents);
                let effects = panes.close_pane(pane, documents, notices, jobs);
                arrangements.record(before, panes, documents);
                self.forget_messages();
                effects
            }
        }
    }

    /// Begins the study that the view of a pane shows.
    fn study(&mut self, pane: PaneId) -> Vec<Effect> {
        let Self { panes, documents, jobs, .. } = self;
        let Some(pane) = panes.get(pane) else { return Vec::new() };
        let Some(document) = documents.find_mut(pane.document) else { return Vec::new() };
        match pane.view.facts().study {
            Some(Study::Probe) => document.probe(pane.options.probed(), jobs.next()),
            Some(Study::Features) => document.count_features(pane.options.listed(), jobs.next()),
            // A lens has a place to be written to.
            Some(Study::Lens) | None => Vec::new(),
        }
    }

    /// Has what is kept of the study of a pane read again.
    fn recall_study(&mut self, pane: PaneId) -> Vec<Effect> {
        let Self { panes, documents, jobs, .. } = self;
        let Some(pane) = panes.get(pane) else { return Vec::new() };
        let Some(document) = documents.find_mut(pane.document) else { return Vec::new() };
        match pane.view.facts().study {
            Some(Study::Probe) => document.recall_probe(pane.options.probed(), jobs.next()),
            Some(Study::Features) => document.recall_features(pane.options.listed(), jobs.next()),
            Some(Study::Lens) | None => Vec::new(),
        }
    }

    /// Does what may lead the active pane elsewhere.
    fn move_on(&mut self, pane: PaneId, command: Command) -> Vec<Effect> {
        self.panes.activate(pane);
        let moves = !matches!(command, Command::Back | Command::Forward | Command::Flip);
        let places = if moves { self.panes.places(&self.documents) } else { Vec::new() };
        let before = Arrangement::of(&self.panes, &self.documents);
        let is_step = !matches!(command, Command::Undo | Command::Redo);
        let chosen_before =
            matches!(command, Command::Select(_)).then(|| (self.pane().view, self.pane().selection.head));
        let mut effects = self.transition(pane, command);
        self.panes.share_head(&self.documents);
        if let Some(before) = chosen_before {
            self.settings.first_steps.choose(before, self.panes.active());
        }
        if is_step {
            self.arrangements.record(before, &mut self.panes, &mut self.documents);
        }
        effects.extend(self.follow_up());
        self.panes.remember(places, &self.documents);
        effects
    }

    /// What follows from any command and any answer: what is no longer needed goes, what is now shown is asked for.
    pub(super) fn follow_up(&mut self) -> Vec<Effect> {
        let Self { documents, panes, models, projections, figures, cards, settings, jobs, .. } = self;
        let mut effects = models.forget_all_but(&documents.models(), jobs);
        // An answer names what it is about, and a corpus is large.
        let clouds = documents.clouds();
        projections.retain(|cloud| clouds.contains(&cloud));
        panes.forget_clouds(|cloud| clouds.contains(&cloud));
        effects.extend(projections.ask(panes, documents, jobs));
        panes.pair_directions(documents);
        effects.extend(panes.explain_if_needed(documents, jobs));
        effects.extend(figures.preview_if_needed(panes, documents, settings.figures, jobs));
        effects.extend(cards.draw_next(panes, documents, jobs));
        self.forget_messages();
        effects
    }

    /// Messages go with what they are about.
    fn forget_messages(&mut self) {
        let Self { documents, panes, keeping, notices, .. } = self;
        notices.retain(Causes { documents, panes, keeping });
    }

    /// Has the active document ask something of its model.
    fn ask(&mut self, ask: fn(&mut Document, JobId) -> Vec<Effect>) -> Vec<Effect> {
        let job = self.jobs.next();
        ask(self.active_document(), job)
    }

    /// Shows what length costs, and has times measured.
    fn measure_times(&mut self, pane: PaneId) -> Vec<Effect> {
        let effects = self.transition(pane, Command::Select(SelectionCommand::ShowView(ViewKind::OF_TIMES)));
        effects.into_iter().chain(self.ask(Document::measure)).collect()
    }

    fn fit_lens(&mut self, path: PathBuf) -> Vec<Effect> {
        let job = self.jobs.next();
        self.active_document().fit_lens(path, job)
    }

    fn transition(&mut self, pane: PaneId, command: Command) -> Vec<Effect> {
        match command {
            Command::InPane(command) => return self.apply_to(pane, command),
            Command::OpenModel(source) => {
                self.panes.leave_example(&mut self.documents);
                self.active_document().experiment.write_anew(false);
                self.active_document().owe_corpus();
                return self.load(source);
            }
            Command::AskSecondOpinion => return self.ask(Document::ask_second_opinion),
            Command::MeasureTimes => return self.measure_times(pane),
            Command::OpenPaths(paths) => return self.open_paths(&paths),
            Command::OpenBeside(paths) => return self.open_beside(paths),
            Command::OpenText(text) => return self.open_text(text),
            Command::OpenTextFile { path, text } => return self.open_text_file(path, text),
            Command::Corpus(command) => return self.on_corpus_command(command),
            Command::OpenPoint { is_key, point } => return self.open_point(is_key, point),
            Command::OpenExample(idx) => {
                self.keeping.lecture.take(LectureCommand::Leave);
                return self.open_example(idx);
            }
            Command::Numbers(command) => return self.change_numbers(command),
            Command::Lecture(command) => return self.go_to_stop(command),
            Command::PreviousExample => return self.step_example(false),
            Command::NextExample => return self.step_example(true),
            Command::UnfoldOptions(unfolded) => self.settings.options_unfolded = unfolded,
            Command::CloseFirstSteps => self.settings.first_steps.close(),
            Command::SetText(text) => {
                self.settings.first_steps.type_text();
                self.type_in(|experiment| experiment.text = text);
            }
            Command::SetExcerpt(excerpt) => {
                self.active_document().experiment.excerpt = excerpt;
                return self.run();
            }
            Command::SetTextB(text_b) => self.type_in(|experiment| experiment.text_b = text_b),
            Command::SetBrackets(brackets) => {
                self.panes.set_brackets(brackets, &mut self.documents);
                return self.run();
            }
            Command::SetChat(chat) => {
                self.type_in(|experiment| experiment.chat = chat);
                return self.run();
            }
            Command::SetSystem(system) => self.type_in(|experiment| experiment.system = system),
            Command::SetTarget(target) => self.type_in(|experiment| experiment.target = target),
            Command::SetWriting(writing) => {
                (self.settings.writing, self.active_document().experiment.writing) = (writing, writing);
            }
            Command::SetImage(image) => {
                self.panes.leave_example(&mut self.documents);
                return self.open_image(image);
            }
            Command::Run | Command::Continue => {
                self.active_document().experiment.write_anew(command == Command::Continue);
                return self.run();
            }
            Command::WriteFrom(ids) => return self.write_from(ids),
            Command::ShowBefore => return self.show_before(),
            Command::Change(command) => return self.change_run(command),
            Command::SetGold(links) => self.panes.active_mut().options.lab.set_gold(links),
            Command::OpenOtherDirection => {
                if self.panes.open_other_direction(&mut self.documents, &mut self.notices) {
                    return self.run();
                }
            }
            Command::Overlay(value, view) => {
                self.panes.show_overlay(&self.documents, value.map(|value| *value), view);
            }
            Command::Project => self.panes.active_mut().ask_again(),
            Command::Undo => return self.undo(true),
            Command::Redo => return self.undo(false),
            Command::Cancel(lane) => return self.cancel_together(lane),
            Command::CancelAll => return self.cancel_all(),
            Command::SelectInput(idx) => return self.panes.select_input(pane, idx, &mut self.documents),
            Command::PreviousInput => return self.panes.step_input(true, &mut self.documents),
            Command::NextInput => return self.panes.step_input(false, &mut self.documents),
            Command::Back => return self.travel(HistoryDirection::Back),
            Command::Forward => return self.travel(HistoryDirection::Forward),
            Command::Flip => return self.travel(HistoryDirection::Flip),
            Command::SplitPane(split) => drop(self.panes.open_twin(split, &mut self.notices)),
            Command::CompareHead(head) => self.panes.compare_head(head, &self.documents, &mut self.notices),
            Command::CompareInput => {
                if self.panes.open_twin(Split::Right, &mut self.notices).is_some() {
                    self.panes.detach(&mut self.documents, &mut self.notices);
                }
            }
            Command::NextPane => self.panes.activate(self.panes.next()),
            Command::ToggleLink => {
                let pane = self.panes.active_mut();
                pane.linked = !pane.linked;
                self.alignments.share(&mut self.panes, &self.documents);
            }
            Command::Detach => self.panes.detach(&mut self.documents, &mut self.notices),
            Command::ShowDocument(document) => self.panes.show_document(document, &self.documents),
            Command::CloseDocument(document) => return self.panes.close_document(document, None, &mut self.documents),
            Command::ShowCards(dark) => return self.cards.show(dark).into_iter().collect(),
            Command::SetAppearance(appearance) => self.settings.appearance = appearance,
            Command::SetViewOptions(options) => self.set_view_options(options),
            Command::ShowMethod(name) => return self.show_method(name),
            Command::Pick(purpose) => return vec![Effect::Pick(purpose)],
            Command::Download(command) => {
                return self.download.on_command(command, &self.settings, &mut self.jobs);
            }
            Command::SaveScreenshot => return vec![Effect::Screenshot],
            Command::FitLens(path) => return self.fit_lens(path),
            Command::Figure(command) => {
                let Self { documents, panes, figures, settings, jobs, .. } = self;
                return figures.on_command(command, (panes, documents), &mut settings.figures, jobs);
            }
            Command::Session(command) => return self.on_session_command(command),
            Command::Copy { what, text } => {
                self.notices.inform(Cause::Command, format!("Copied {what}"), "");
                return vec![Effect::CopyText(text)];
            }
            Command::DismissNotice(id) => self.notices.dismiss(id),
            Command::Notify(failure) => self.notices.fail(Cause::Command, failure),
            Command::Select(command) => self.change_selection(command),
            // The pane is the active one by now.
            Command::Activate => {}
        }
        Vec::new()
    }

    /// Changes what is to be run, which is no example any more.
    fn type_in(&mut self, change: impl FnOnce(&mut Experiment)) {
        self.panes.leave_example(&mut self.documents);
        change(&mut self.active_document().experiment);
    }

    /// Lets the model go on from some tokens.
    fn write_from(&mut self, ids: Vec<u32>) -> Vec<Effect> {
        self.panes.leave_example(&mut self.documents);
        self.active_document().write_from(ids);
        self.run()
    }

    fn set_view_options(&mut self, options: ViewOptions) {
        let pane = self.panes.active_mut();
        // Whoever changes what an example came with means to keep it.
        pane.own_options = None;
        self.settings.views = ViewOptions { reading: options.reading.without_positions(), ..options.clone() };
        pane.options = options;
        pane.translate_picks();
    }

    /// Moves the active pane through its history.
    fn travel(&mut self, way: HistoryDirection) -> Vec<Effect> {
        let effects = self.panes.travel(way, &mut self.documents);
        self.alignments.share(&mut self.panes, &self.documents);
        effects
    }

    /// Reads what is shown through a lens or a dictionary that was opened, too.
    pub(super) fn read_through(&mut self, opened: &LoadAnswer) -> Vec<Effect> {
        let Some((readers, path)) = explanations::readers_of(opened) else { return Vec::new() };
        let options = &mut self.panes.active_mut().options;
        for reader in readers {
            options.lab.read_through(*reader, path);
        }
        if matches!(opened, LoadAnswer::IsSae(_)) {
            options.read_features_of(path.display().to_string());
        }
        let Some((column, _)) = readers.first() else { return Vec::new() };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let title = MethodPreset::from_name(column).map_or("", |column| column.title);
        let details = format!("It is an option of “{title}” in Explain, where it can be taken away");
        self.notices.inform(Cause::File(path.to_owned()), format!("Layers are read through {name}"), details);
        // Whoever looks at features, or asked for them, waits for a dictionary there.
        let pane = self.panes.active();
        let view = pane.pending.as_ref().and_then(|pending| pending.view).unwrap_or(pane.view);
        if matches!(opened, LoadAnswer::IsSae(_)) && view.facts().study == Some(Study::Features) {
            return Vec::new();
        }
        self.show_method(column)
    }

    /// Shows a method of the laboratory under its question, and leads to it.
    fn show_method(&mut self, name: &'static str) -> Vec<Effect> {
        let Some(column) = MethodPreset::from_name(name) else { return Vec::new() };
        let pane = self.panes.active_mut();
        let nth = pane.sought_method.map_or(0, |(nth, _)| nth + 1);
        pane.sought_method = Some((nth, name));
        let mut options = pane.options.clone();
        *options.question_mut() = column.method.question;
        options.lab.show(column, true);
        let mut effects = self.apply(Command::SetViewOptions(options));
        effects.extend(self.apply(Command::Select(SelectionCommand::ShowView(ViewKind::OF_ANSWERS))));
        effects
    }

    /// What changes only where the active pane, and those linked with it, are.
    fn change_selection(&mut self, command: SelectionCommand) {
        let Self { documents, panes, alignments, .. } = self;
        let (head, pinned) = (panes.active().selection.head, panes.active().selection.pinned);
        match command {
            SelectionCommand::Stack(stack) => {
                panes.change_active(documents, |pane, document| pane.select(document, HeadId { stack, ..head }));
            }
            SelectionCommand::NextStack => panes.change_active(documents, |pane, document| {
                if let Some(stack) = pane.next_stack(document) {
                    pane.select(document, HeadId { stack, ..head });
                }
            }),
            SelectionCommand::Layer(layer) => {
                panes.change_active(documents, |pane, document| pane.select(document, HeadId { layer, ..head }));
            }
            SelectionCommand::Head(head) => {
                panes.change_active(documents, |pane, document| pane.select(document, head));
            }
            SelectionCommand::ShowHead(head) => {
                panes.change_active(documents, |pane, document| pane.show_head(document, head));
            }
            SelectionCommand::Step(step) => {
                for pane in panes.linked() {
                    panes.change(pane, documents, |pane, document| pane.step(document, step));
                }
            }
            SelectionCommand::StepQuery(step) => {
                panes.change_active(documents, |pane, document| pane.step_query(document, step));
                let pinned = panes.active().selection.pinned;
                alignments.pin(panes, documents, pinned);
            }
            SelectionCommand::ToggleHead(head) => {
                panes.change_active(documents, |pane, document| pane.toggle_head(document, head));
            }
            SelectionCommand::SoloHead(head) => {
                panes.change_active(documents, |pane, document| pane.solo_head(document, head));
            }
            SelectionCommand::AllHeads => panes.change_active(documents, |pane, _| pane.selection.draw(HeadSet::ALL)),
            SelectionCommand::Pin(focus) => {
                alignments.pin(panes, documents, if focus == pinned { Focus::NONE } else { focus });
            }
            SelectionCommand::OpenHead(chosen) => panes.change_active(documents, |pane, document| {
                pane.open_head(document, chosen.unwrap_or(head));
            }),
            SelectionCommand::LeaveHead => panes.change_active(documents, Pane::leave_head),
            SelectionCommand::StepOut if pinned.is_empty() && panes.active().selection.picked.is_none() => {
                panes.change_active(documents, Pane::leave_head);
            }
            SelectionCommand::Release | SelectionCommand::StepOut => {
                panes.release_picks(documents);
                alignments.let_go(panes, documents);
            }
            SelectionCommand::PickPoints(points, change) => panes.pick_points(documents, &points, change),
            SelectionCommand::ShowView(view) => {
                panes.change_active(documents, |pane, document| pane.show_view(document, view));
            }
            SelectionCommand::ShowPage(view, page) => {
                panes.change_active(documents, |pane, document| pane.show_page(document, view, page));
            }
            SelectionCommand::ShowGroup(group) => {
                panes.change_active(documents, |pane, document| pane.show_group(document, group));
            }
            SelectionCommand::Search(search) => panes.active_mut().search = search,
            SelectionCommand::Subtract(minus) => {
                let open = minus.is_none_or(|minus| documents.find(minus.document).is_some());
                panes.active_mut().minus = minus.filter(|_| open);
            }
            SelectionCommand::HoldAgainst(other) => {
                let pane = panes.active_mut();
                pane.against = other.filter(|other| *other != pane.document && documents.find(*other).is_some());
            }
        }
    }

    pub(super) fn active_document(&mut self) -> &mut Document {
        self.documents.of_mut(self.panes.active())
    }

    /// Changes the run of the active pane.
    fn change_run(&mut self, command: ChangeCommand) -> Vec<Effect> {
        if let ChangeCommand::Delete(side, positions) = command {
            return self.delete_tokens(side, &positions);
        }
        if let ChangeCommand::Group(side, positions, grouping) = command {
            return self.group_tokens((side, &positions), grouping);
        }
        let id = self.changing().id;
        let Self { documents, panes, notices, jobs, .. } = self;
        if matches!(command, ChangeCommand::Add(_)) && !panes.prepare_change(id, documents, notices) {
            return Vec::new();
        }
        let is_cleared = documents.find(id).is_some_and(|document| document.experiment.is_cleared_by(&command));
        if is_cleared && let Some(effects) = panes.end_changes(id, documents, jobs) {
            return effects;
        }
        let runs = documents.find_mut(id).is_some_and(|document| document.change(command));
        if runs { self.run_document(id) } else { Vec::new() }
    }

    /// Takes tokens out of the text of the document whose run is changed, and runs what is left.
    fn delete_tokens(&mut self, side: Side, positions: &Range<usize>) -> Vec<Effect> {
        let document = self.changing();
        let id = document.id;
        let (part, left) = match document.without_tokens(side, positions) {
            Ok(found) => found,
            Err(reason) => {
                self.notices.inform(Cause::Command, reason, "");
                return Vec::new();
            }
        };
        let Self { documents, panes, alignments, notices, .. } = self;
        if documents.of(panes.active()).id == id {
            panes.leave_example(documents);
        }
        let Some(document) = documents.find_mut(id) else { return Vec::new() };
        document.experiment.rewrite(part, left);
        alignments.let_go(panes, documents);
        let summary = format!("{} deleted from the text", counted(positions.len(), "token"));
        let cause = documents.find(id).map_or(Cause::Command, Cause::run);
        notices.inform(cause, summary, "Later tokens moved up; Undo puts it back");
        self.run_document(id)
    }

    /// Makes tokens one group, or takes their groups apart, and runs the text with its new brackets.
    fn group_tokens(&mut self, tokens: (Side, &Range<usize>), grouping: Grouping) -> Vec<Effect> {
        let id = self.changing().id;
        let Self { documents, panes, notices, .. } = self;
        if panes.group_tokens(id, tokens, grouping, documents, notices) { self.run_document(id) } else { Vec::new() }
    }

    fn on_corpus_command(&mut self, command: CorpusCommand) -> Vec<Effect> {
        let id = self.document().id;
        match command {
            CorpusCommand::Open(source) => return self.open_corpus(id, source, CorpusOptions::default()),
            CorpusCommand::Choose(path) => return self.choose_corpus(id, path),
            CorpusCommand::SetSheet(list, options) => {
                let Some(sheet) = &mut self.corpus_sheet else { return Vec::new() };
                return sheet.set(list, options, &self.documents, &mut self.jobs);
            }
            CorpusCommand::RunSheet => return self.run_corpus_sheet(),
            CorpusCommand::CloseSheet => return self.corpus_sheet.take().map(CorpusSheet::close).unwrap_or_default(),
            CorpusCommand::OpenFirst(first) => {
                let Some(corpus) = &self.document().corpus else { return Vec::new() };
                let options = CorpusOptions { first: Some(first), ..corpus.options.clone() };
                return self.open_corpus(id, corpus.source.clone(), options);
            }
            CorpusCommand::KeepMore(kept) => {
                let Some(corpus) = &self.document().corpus else { return Vec::new() };
                let options = CorpusOptions { kept: corpus.options.kept.or(kept), ..corpus.options.clone() };
                return self.open_corpus(id, corpus.source.clone(), options);
            }
            CorpusCommand::GoOn => {
                let job = self.jobs.next();
                return self.active_document().start_corpus(job).into_iter().collect();
            }
            CorpusCommand::Close => return self.active_document().close_corpus(),
            CorpusCommand::Show(source) => return self.show_corpus_input(source, Focus::NONE),
            CorpusCommand::ShowTokens(source, focus, view) => {
                if let Some(view) = view {
                    self.change_selection(SelectionCommand::ShowView(view));
                }
                return self.show_corpus_input(source, focus);
            }
            CorpusCommand::Ask(dialog) => self.corpus_dialog = dialog,
            CorpusCommand::Judge(label_column) => {
                let job = self.jobs.next();
                return self.active_document().judge(label_column, job);
            }
            CorpusCommand::List(command) => self.active_document().change_corpus(command),
        }
        Vec::new()
    }

    fn on_session_command(&mut self, command: SessionCommand) -> Vec<Effect> {
        let Self { documents, panes, keeping, settings, notices, jobs, .. } = self;
        match command {
            SessionCommand::Bookmark(BookmarkCommand::Add) => {
                let figure = figure(panes.active(), documents, settings.figures);
                let pane = panes.active();
                let effect = keeping.add_bookmark((pane, documents.of(pane)), figure, notices, jobs);
                return effect.into_iter().collect();
            }
            SessionCommand::Bookmark(BookmarkCommand::GoTo(idx)) => {
                let address = keeping.bookmarked(idx, notices);
                return address.map(|address| self.go_to_address(address)).unwrap_or_default();
            }
            SessionCommand::Bookmark(BookmarkCommand::Rename(idx, name)) => keeping.rename_bookmark(idx, name),
            SessionCommand::Bookmark(BookmarkCommand::Remove(idx)) => keeping.remove_bookmark(idx),
            SessionCommand::CopyAddress => match self.address(self.pane()) {
                Ok((address, left_out)) => {
                    self.notices.inform(Cause::Command, "Link copied", left_out.unwrap_or_default());
                    return vec![Effect::CopyText(address.to_string())];
                }
                Err(failure) => self.notices.fail(Cause::Command, failure),
            },
            SessionCommand::GoTo(address) => return self.go_to_address(*address),
            SessionCommand::ModelIsAt(path) => {
                let found = keeping.model_is_at(path);
                return found.map(|found| self.open_found(found)).unwrap_or_default();
            }
            SessionCommand::UseModel => keeping.use_model(documents),
            SessionCommand::LeaveModel => keeping.leave_model(documents),
            command => {
                let answer = keeping.on_command(command, OpenState { documents, panes }, settings, jobs);
                return self.replace_session(answer);
            }
        }
        Vec::new()
    }
}

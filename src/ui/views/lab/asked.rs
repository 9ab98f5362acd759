//! Method calls of a pane, and their results so far.

use std::sync::Arc;

use eframe::egui::Ui;

use crate::{
    analysis::explain::report::ROW_NAMES,
    capture::Capture,
    figure::views::lab::Answered,
    ids::Side,
    lab::{Estimate, MethodCall, MethodPreset},
    session::{AnswerTo, ColumnRequest, Command, Loadable, PaneCommand},
    text::sentence,
    ui::{ViewCtx, views::controls},
};

/// A column that can be asked, with what is known of it.
pub struct AskedColumn {
    pub column: &'static MethodPreset,
    pub ask: MethodCall,
    pub answer: Answered,
    /// Which question it is the answer to.
    pub to: AnswerTo,
    /// Whether that is the answer to other options, or a part of what is on its way.
    pub is_waiting: bool,
    pub failure: Option<String>,
    /// What it would take, where it was not begun because it takes long.
    pub long: Option<Estimate>,
}

/// Everything that a pane shows of its question.
pub struct LabColumns {
    /// In order.
    pub columns: Vec<AskedColumn>,
    /// Methods that say nothing here, and why.
    pub unsuited: Vec<(Vec<&'static str>, String)>,
}

/// Asks for what is not there yet.
pub fn ask(ui: &Ui, cx: &ViewCtx<'_>, capture: &Arc<Capture>) -> LabColumns {
    let (target, known) = (cx.pane.options.target, &cx.pane.explanations);
    // While something is dragged, what has begun is finished first; letting go asks for what is there then.
    let is_dragging = ui.input(|input| input.pointer.any_down());
    let mut asked = LabColumns { columns: Vec::new(), unsuited: Vec::new() };
    for ColumnRequest { column, ask } in cx.pane.wanted(capture) {
        let ask = match ask {
            Ok(ask) => ask,
            Err(unasked) => {
                asked.without(column.title, sentence(&unasked.why));
                continue;
            }
        };
        let answer = known.find(capture.id(), column.name, &ask, target);
        if answer.is_none() && !(is_dragging && known.awaits(column.name)) {
            cx.send(Command::InPane(PaneCommand::Explain(column.name, ask.clone(), target)));
        }
        let failure = answer.and_then(Loadable::failure).map(|failure| failure.summary.clone());
        let shown = cx.pane.answer_in(capture.id(), column.name, &ask, target).filter(|_| failure.is_none());
        let to = shown.map_or(AnswerTo::This, |(_, to)| to);
        let report = shown.map(|(report, _)| Arc::clone(report));
        asked.columns.push(AskedColumn {
            column,
            answer: Answered { column: column.name, title: column.title, report },
            to,
            is_waiting: answer.is_none_or(Loadable::is_pending),
            failure,
            long: known.takes_long(capture.id(), column.name, &ask, target).copied(),
            ask,
        });
    }
    asked
}

/// Adds a column or takes it away.
pub fn show(cx: &ViewCtx<'_>, column: &MethodPreset, shown: bool) {
    controls::edit_options(cx, |options| options.lab.show(column, shown));
}

impl LabColumns {
    fn without(&mut self, title: &'static str, why: String) {
        match self.unsuited.iter_mut().find(|(_, known)| *known == why) {
            Some((titles, _)) => titles.push(title),
            None => self.unsuited.push((vec![title], why)),
        }
    }

    /// What the columns answered.
    pub fn answers(&self) -> Vec<Answered> {
        let there = self.columns.iter().filter(|column| column.failure.is_none());
        there.map(|column| column.answer.clone()).collect()
    }

    /// Everything that methods answered as a table for the clipboard, with the options they were asked with.
    pub fn numbers(&self, capture: &Capture) -> String {
        let token = |side: Side, at: usize| capture.tokens(side).get(at).map_or_else(String::new, |it| it.text.clone());
        let mut lines = vec![format!("method\toptions\t{}", ROW_NAMES.join("\t"))];
        let answered = self.columns.iter().filter(|column| column.to == AnswerTo::This);
        for report in answered.filter_map(|column| column.answer.report.as_ref()) {
            let options: Vec<String> =
                report.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let start = format!("{}\t{}", report.method.name, options.join(" "));
            let rows = report.rows();
            lines.extend(rows.iter().map(|row| format!("{start}\t{}", row.cells(token).join("\t"))));
        }
        lines.join("\n") + "\n"
    }
}

//! What the model says of the inputs of a corpus: asked, in numbers, and as a table of labels and classes.

use eframe::egui::{Button, ComboBox, Grid, Label, ProgressBar, RichText, Ui};

use crate::{
    analysis::accuracy::{Judgements, Said, Speech},
    protocol::CorpusSoFar,
    session::{Command, CorpusCommand, ListCommand, Only, OpenCorpus, Question},
    text::{counted, decimal_text, grouped, share_text},
    ui::{
        ViewCtx,
        theme::GRID,
        widgets::{menu_ui, menu_width},
    },
};

/// Width of the bar that says how far it is.
const PROGRESS_PT: f32 = 24.0 * GRID;
/// Larger tables are left to the command line.
const MOST_CLASSES: usize = 12;
/// Width of the table of labels and classes.
const TABLE_PT: f32 = 90.0 * GRID;

/// Asks, or says what was said, in a row with other controls.
pub fn said_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, so_far: &CorpusSoFar) {
    let Some(speech) = cx.document.speech() else { return };
    if cx.document.owes_question()
        && let Question::Asked(column) = &open.question
    {
        ask(cx, column.clone());
    }
    if open.question == Question::Nothing {
        let (text, meaning) = match speech {
            Speech::Classes => (
                "Ask the model",
                "The class that the model names for each input, with its probability; against a column of labels also whether \
                 it is right, the loss, and the table of labels and classes",
            ),
            Speech::Tokens => ("Ask the model", "The mean loss per token of each input, in nats"),
        };
        let enabled = so_far.is_whole && !open.data.is_pending();
        let button = ui.add_enabled(enabled, Button::new(text).small()).on_hover_text(meaning);
        if button.on_disabled_hover_text("Once all inputs were run").clicked() {
            ask(cx, open.likely_labels().map(ToOwned::to_owned));
        }
        return;
    }
    let has_labels = open.said.latest().is_some_and(|said| said.agreement().n() > 0);
    if speech == Speech::Classes && !has_labels && !open.said.is_pending() {
        labels_ui(ui, cx, open, so_far);
    }
    if open.said.is_pending() {
        let (done, total) = open.said.progress().map_or((0, 0), |progress| (progress.done, progress.total));
        let bar = ProgressBar::new(done as f32 / total.max(1) as f32).desired_height(1.5 * GRID);
        ui.add(bar.desired_width(PROGRESS_PT).fill(cx.theme.accent)).accessible_name("Progress of the model’s answers");
        if ui.add(Button::new("Stop").small()).on_hover_text("Stop asking: what was said stays").clicked() {
            cx.send(Command::Cancel(cx.document.judge_lane()));
        }
    } else if open.said.latest().is_none_or(|said| said.n_done() < so_far.list.items.len())
        && ui.add(Button::new("Go on asking").small()).clicked()
    {
        ask(cx, open.label_column().map(ToOwned::to_owned));
    }
    let Some(said) = open.said.latest() else { return };
    let facts = RichText::new(facts_text(said)).small().color(cx.theme.text_weak);
    ui.add(Label::new(facts));
    if has_labels {
        let mut wrong = open.only == Only::Wrong;
        let meaning = "List only inputs of which the model says another class than their label";
        if ui.checkbox(&mut wrong, "Wrong only").on_hover_text(meaning).changed() {
            list(cx, if wrong { Only::Wrong } else { Only::All });
        }
        let text = match open.only {
            Only::Of { label, class } => format!("{} said {} ⏷", said.name(label), said.name(class)),
            Only::All | Only::Wrong => "Labels × classes ⏷".to_owned(),
        };
        let contents = |ui: &mut Ui| {
            labels_ui(ui, cx, open, so_far);
            confusion_ui(ui, cx, open, said);
        };
        menu_ui(ui, Button::new(text).small(), contents)
            .on_hover_text("How many inputs of each label the model calls what; a click on a number lists them");
    }
}

/// The column with the right classes.
fn labels_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, so_far: &CorpusSoFar) {
    let columns = &so_far.list.columns;
    if columns.is_empty() {
        return;
    }
    let text = open.label_column().map_or_else(|| "no labels".to_owned(), |column| format!("labels: {column}"));
    let combo = ComboBox::from_id_salt("labels").selected_text(text).width(24.0 * GRID).truncate();
    let combo = combo.show_ui(ui, |ui| {
        if ui.selectable_label(open.label_column().is_none(), "no labels").clicked() {
            ask(cx, None);
        }
        for column in columns {
            if ui.selectable_label(open.label_column() == Some(column), column).clicked() {
                ask(cx, Some(column.clone()));
            }
        }
    });
    let meaning = "Column with the name or the number of the right class";
    combo.response.on_hover_text(meaning).accessible_name("Column of labels");
}

/// Inputs by label, downwards, and class, across; a click lists those of a cell.
fn confusion_ui(ui: &mut Ui, cx: &ViewCtx<'_>, open: &OpenCorpus, said: &Judgements) {
    let agreement = said.agreement();
    let classes = agreement.classes();
    ui.set_max_width(menu_width(ui, TABLE_PT));
    let weak = |text: &str| RichText::new(text.to_owned()).small().color(cx.theme.text_weak);
    if classes.len() > MOST_CLASSES {
        let text = format!(
            "{} are too many for a table here: attnscope analyze accuracy writes it",
            format_args!("{} classes", classes.len())
        );
        ui.add(Label::new(weak(&text)).wrap());
        return;
    }
    ui.label(weak("Inputs by label (rows) and what the model says (columns)"));
    Grid::new("labels and classes").spacing([2.0 * GRID, 0.5 * GRID]).show(ui, |ui| {
        ui.label("");
        for class in &classes {
            ui.label(weak(said.name(*class)));
        }
        ui.end_row();
        for &label in &classes {
            ui.label(weak(said.name(label)));
            for &class in &classes {
                let n = agreement.count(label, class);
                let only = Only::Of { label, class };
                let name = format!("{}, said {}: {n}", said.name(label), said.name(class));
                let text = RichText::new(grouped(n as usize));
                let text = if label == class || n == 0 { text } else { text.color(cx.theme.warning) };
                let cell = ui.add_enabled(n > 0, Button::selectable(open.only == only, text));
                if cell.accessible_name(name).clicked() {
                    list(cx, if open.only == only { Only::All } else { only });
                }
            }
            ui.end_row();
        }
    });
    if matches!(open.only, Only::Of { .. }) && ui.button("List all").clicked() {
        list(cx, Only::All);
        ui.close();
    }
}

fn ask(cx: &ViewCtx<'_>, label_column: Option<String>) {
    cx.send(Command::Corpus(CorpusCommand::Judge(label_column)));
}

fn list(cx: &ViewCtx<'_>, only: Only) {
    cx.send(Command::Corpus(CorpusCommand::List(ListCommand::Only(only))));
}

/// What all of it comes to.
fn facts_text(said: &Judgements) -> String {
    if let Some(loss) = said.token_loss() {
        let (value, perplexity) = (decimal_text(loss.value), decimal_text(loss.value.exp()));
        return format!("{value} nats per token, perplexity {perplexity}");
    }
    let Some(accuracy) = said.agreement().accuracy() else {
        return match said.unknown().first() {
            Some(label) => format!("“{label}” is no class of the model"),
            None => String::new(),
        };
    };
    let [value, low, high] = [accuracy.value, accuracy.low, accuracy.high].map(share_text);
    let loss = said.agreement().loss().map_or_else(String::new, |loss| format!(", loss {}", decimal_text(loss.value)));
    format!("{value} right ({low} to {high}){loss}")
}

/// What is said of one input, at the end of its row: `wrong: negative 97 %  3.51`.
pub fn row_text(said: &Said, judgements: &Judgements) -> String {
    match said {
        Said::Tokens(_) => said.loss().map_or_else(String::new, |loss| format!("{} nats", decimal_text(loss))),
        Said::Class(verdict) => {
            // What is wrong stands out among what is right.
            let mark = if verdict.is_right() == Some(false) { "wrong: " } else { "" };
            let loss = verdict.loss.map_or_else(String::new, |loss| format!("  {}", decimal_text(loss)));
            format!("{mark}{} {}{loss}", judgements.name(verdict.class), share_text(verdict.probability))
        }
    }
}

/// The same in a sentence.
pub fn said_text(said: &Said, judgements: &Judgements) -> String {
    match said {
        Said::Tokens(tally) => {
            let n = counted(tally.n_rows as usize, "token");
            said.loss().map_or_else(String::new, |loss| format!("loss {} nats per token, over {n}", decimal_text(loss)))
        }
        Said::Class(verdict) => {
            let said = format!("said: {} {}", judgements.name(verdict.class), share_text(verdict.probability));
            let Some((label, loss)) = verdict.label.zip(verdict.loss) else { return said };
            let is_right = if verdict.is_right() == Some(true) { "right" } else { "wrong" };
            format!("{said}, {is_right}; loss of {} {} nats", judgements.name(label), decimal_text(loss))
        }
    }
}

//! Heads by kind on the input that is shown: the best of each kind, and what the selected head is.

use eframe::egui::{CollapsingHeader, RichText, Ui};

use crate::{
    analysis::{
        detect::{Definition, Detector, HeadKinds, KindRanking},
        head_folder::HeadFolder,
        reading::store::stack_cost,
    },
    figure::DetailsPart,
    ids::HeadId,
    session::{Command, SelectionCommand},
    text::{counted, decimal_text},
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
        views::{copy_menu_ui, subject},
        widgets::{BarRow, field_ui},
    },
};

/// Pattern entries up to which heads are ranked without being asked for: some tenths of a second on one core.
pub(super) const UNASKED: usize = 1 << 25;
/// Heads that a tooltip names.
const N_NAMED: usize = 5;

/// The numbers that a folder has of the selected head, with their ranks.
fn folder_numbers_ui(ui: &mut Ui, cx: &ViewCtx<'_>, folder: &HeadFolder) {
    let Ok(at) = folder.index.heads.binary_search(&cx.pane.selection.head) else { return };
    ui.label(RichText::new("Numbers of the folder").size(text_size::SMALL).color(cx.theme.text_weak).strong());
    for metric in &folder.index.metrics {
        let number = field_ui(ui, cx.theme, &metric.name, folder.index.ranked_text(metric, at));
        if !metric.description.is_empty() {
            number.on_hover_text(&metric.description);
        }
    }
}

/// Draws the best head of each kind; a click goes there.
pub fn kinds_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    if let Some(folder) = cx.document.folder() {
        return folder_numbers_ui(ui, cx, folder);
    }
    let has_head = cx.pane.view.facts().details.contains(&DetailsPart::Head);
    let Some(subject) = subject(cx).filter(|_| has_head) else { return };
    let stack = cx.pane.selection.stack();
    let opens = stack_cost(&subject.this, stack) <= UNASKED;
    ui.add_space(2.0 * GRID);
    let title = RichText::new("Heads by kind, in this input").size(text_size::SMALL).color(cx.theme.text_weak).strong();
    CollapsingHeader::new(title).id_salt("heads by kind").default_open(opens).show_unindented(ui, |ui| {
        let weak = |text: String| RichText::new(text).small().color(cx.theme.text_weak);
        let kinds = match cx.patterns.kinds(&subject, stack) {
            Some(Ok(kinds)) => kinds,
            Some(Err(refusal)) => {
                ui.label(weak(refusal.to_string()));
                return;
            }
            None => {
                ui.label(weak("Ranking the heads …".to_owned()));
                return;
            }
        };
        ui.spacing_mut().item_spacing.y = GRID / 2.0;
        ui.label(weak(head_text(&kinds, cx.pane.selection.head)));
        let is_kind = |kind: &&KindRanking| kind.detector.definition().threshold.is_some();
        for kind in kinds.kinds.iter().filter(is_kind).filter(|kind| kind.heads.is_ok()) {
            kind_ui(ui, cx, &kinds, kind);
        }
    });
}

fn kind_ui(ui: &mut Ui, cx: &ViewCtx<'_>, kinds: &HeadKinds, kind: &KindRanking) {
    let Some(&(head, score)) = kind.ranked().first() else { return };
    let row = BarRow {
        label: &format!("{}   {head}", kind.detector.definition().title),
        fraction: score,
        value: &decimal_text(score),
        selected: head == cx.pane.selection.head,
    };
    let response = row.ui(ui, cx.theme).on_hover_text(about(kinds, kind));
    copy_menu_ui(&response, cx, "the scores of all heads", || table(kinds));
    if response.clicked() {
        cx.send(Command::Select(SelectionCommand::ShowHead(head)));
    }
}

/// What the selected head is called.
fn head_text(kinds: &HeadKinds, head: HeadId) -> String {
    let name = |(detector, score): &(Detector, f32)| {
        format!("{} ({})", detector.definition().title.to_lowercase(), decimal_text(*score))
    };
    match kinds.of_head(head).iter().map(name).collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => format!("{head} is of none of these kinds"),
        names => format!("{head}: {names}"),
    }
}

/// Definition, threshold and the next heads of a kind.
fn about(kinds: &HeadKinds, kind: &KindRanking) -> String {
    let Definition { meaning, formula, threshold, applies, .. } = kind.detector.definition();
    let mut lines = vec![(*meaning).to_owned(), (*formula).to_owned()];
    if let Some((least, source)) = threshold {
        let n = kind.n_of_kind();
        let there_are = match n {
            0 => "no head reaches it".to_owned(),
            n => format!("{} {} it", counted(n, "head"), if n == 1 { "reaches" } else { "reach" }),
        };
        lines.push(format!("A head is called so from {least} on ({source}): {there_are}"));
    }
    lines.push(format!("Defined for {applies}"));
    // What looks like a question of words may be one of places.
    let by_place = |head: HeadId| kinds.of(Detector::Positional)?.score(head).filter(|_| kind.detector.is_of_copies());
    let named = kind.ranked().iter().take(N_NAMED).map(|(head, score)| match by_place(*head) {
        Some(by_place) => format!("{head} {} (positional {})", decimal_text(*score), decimal_text(by_place)),
        None => format!("{head} {}", decimal_text(*score)),
    });
    lines.push(named.collect::<Vec<_>>().join(", "));
    lines.push("Click: select the first of these heads".to_owned());
    lines.join("\n")
}

/// Every score as a table for the clipboard.
fn table(kinds: &HeadKinds) -> String {
    let lines = kinds.kinds.iter().flat_map(|kind| {
        let of_kind = kind.ranked().iter();
        of_kind
            .map(|(HeadId { layer, head, .. }, score)| format!("{}\t{layer}\t{head}\t{score}\n", kind.detector.name()))
    });
    std::iter::once("kind\tlayer\thead\tscore\n".to_owned()).chain(lines).collect()
}

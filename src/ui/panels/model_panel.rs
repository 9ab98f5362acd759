//! The model card: what is loaded, what was found in its files, and how to open another.

use eframe::egui::{self, CollapsingHeader, RichText, Role, Ui, WidgetInfo};

use crate::{
    analysis::head_folder::HeadFolder,
    model::Verdict,
    protocol::{CaptureFile, LoadedModel, ModelSource},
    session::{Command, gallery::EXAMPLES},
    spec::{CheckpointId, ImageSpec, MixerKind, ModelSpec, StackSpec},
    text::{bytes_text, checkpoint_name, compact_count, counted, duration_text, grouped, told},
    ui::{
        PanelCtx,
        commands::UiCommand,
        views::stack_name,
        widgets::{command_button_ui, field_ui, section_ui},
    },
};

/// Names that are listed in the audit before "and … more".
const MAX_NAMES: usize = 12;

/// The card, and whether its details are shown.
#[derive(Default)]
pub struct ModelPanel {
    is_open: bool,
}

impl ModelPanel {
    /// Draws the card in two lines: the name with the way to open another, and what the model is.
    pub fn card_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        let spec = cx.document.open_model();
        let loaded = cx.document.model.latest().map(AsRef::as_ref);
        ui.horizontal(|ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if command_button_ui(ui, UiCommand::Open, true).clicked() {
                    UiCommand::Open.command().into_iter().for_each(|command| cx.send(command));
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    let name = spec.map_or("No model yet", |spec| spec.name.as_str());
                    let name = ui.add(egui::Label::new(RichText::new(name).heading()).truncate());
                    if let Some(model) = loaded.filter(|_| cx.document.opened.is_none()) {
                        name.on_hover_text(source_text(&model.source));
                    }
                });
            });
        });
        if let Some(spec) = spec {
            let summary = summary_text(spec);
            let symbol = if self.is_open { "⏷" } else { "⏵" };
            let text = RichText::new(format!("{symbol} {summary}")).small().color(cx.theme.text_weak);
            ui.scope(|ui| {
                ui.spacing_mut().button_padding.x = 0.0;
                let line = ui.add(egui::Button::new(text).small().frame_when_inactive(false).truncate());
                let name = format!("Details: {summary}");
                line.widget_info(|| WidgetInfo::selected(Role::Button, true, self.is_open, &name));
                if line.on_hover_text(format!("{summary}\nClick for details")).clicked() {
                    self.is_open = !self.is_open;
                }
            });
        }
        if let Some(file) = &cx.document.opened {
            file_ui(ui, cx, file, loaded);
        }
    }

    /// Draws the details, where they were asked for.
    pub fn details_ui(&self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        if let Some(spec) = cx.document.open_model().filter(|_| self.is_open) {
            let loaded = cx.document.model.latest().map(AsRef::as_ref);
            details_ui(ui, cx, spec, loaded.filter(|_| cx.document.opened.is_none()));
            if let Some(folder) = cx.document.folder() {
                folder_ui(ui, cx, folder);
            }
        }
    }
}

/// Whose folder of heads it is, and how it says that it was made.
fn folder_ui(ui: &mut Ui, cx: &PanelCtx<'_>, folder: &HeadFolder) {
    let index = &folder.index;
    field_ui(ui, cx.theme, "Folder", folder.name()).on_hover_text(folder.path.display().to_string());
    if let Some(dataset) = &index.dataset {
        field_ui(ui, cx.theme, "Corpus", told(dataset).into_owned());
    }
    let absent = match folder.absent.len() {
        0 => String::new(),
        n => format!(", {n} without a file"),
    };
    field_ui(ui, cx.theme, "Heads", format!("{}{absent}", counted(index.heads.len(), "head")));
    for (name, said) in &index.how {
        field_ui(ui, cx.theme, name, said.as_str());
    }
}

/// Models that the examples run on, each once.
pub fn bundled_models() -> impl Iterator<Item = &'static str> {
    let first = |idx: usize| EXAMPLES[..idx].iter().all(|before| before.model != EXAMPLES[idx].model);
    (0..EXAMPLES.len()).filter(move |&idx| first(idx)).map(|idx| EXAMPLES[idx].model)
}

/// Where a capture comes from, and the way back to the model that is still there.
fn file_ui(ui: &mut Ui, cx: &PanelCtx<'_>, file: &CaptureFile, model: Option<&LoadedModel>) {
    ui.add(egui::Label::new(format!("From {}", file.name())).truncate()).on_hover_text(file.path.display().to_string());
    if let Some(model) = model {
        let button = egui::Button::new(format!("Back to {}", model.spec.name)).small();
        if ui.add(button).on_hover_text("Close the capture file and run the model again").clicked() {
            cx.send(Command::Run);
        }
    }
}

fn details_ui(ui: &mut Ui, cx: &PanelCtx<'_>, spec: &ModelSpec, model: Option<&LoadedModel>) {
    for stack in &spec.stacks {
        let name = if spec.stacks.len() > 1 { stack_name(stack.kind) } else { "Attention" };
        field_ui(ui, cx.theme, name, stack_text(stack));
    }
    if spec.d_model > 0 {
        field_ui(ui, cx.theme, "Width", format!("d_model {}", spec.d_model));
    }
    // A folder of heads knows nothing of that.
    if let Some(text) = spec.modality.text().filter(|_| cx.document.folder().is_none()) {
        field_ui(ui, cx.theme, "Context", text.length_text());
        if text.n_vocab > 0 {
            field_ui(ui, cx.theme, "Vocabulary", counted(text.n_vocab, "id"));
        }
    }
    if let Some(ImageSpec { size_px: (h, w), patch_px: (ph, pw), n_prefix }) = spec.modality.image() {
        field_ui(ui, cx.theme, "Picture", format!("{h} × {w} px"));
        field_ui(ui, cx.theme, "Patches", format!("{ph} × {pw} px, {n_prefix} prefix tokens"));
    }
    if let Some(target) = spec.modality.target() {
        let most = format!("up to {} of {}", target.length_text(), grouped(target.n_vocab));
        field_ui(ui, cx.theme, "Writes", most);
    }
    if let Some(id) = &spec.checkpoint {
        checkpoint_ui(ui, cx, id);
    }
    if let Some(model) = model {
        field_ui(ui, cx.theme, "Loaded in", duration_text(model.load_secs));
        audit_ui(ui, cx, model);
    }
}

/// Which files the model was read from, in as many digits as tell them apart; all of them on hover.
fn checkpoint_ui(ui: &mut Ui, cx: &PanelCtx<'_>, id: &CheckpointId) {
    /// Digits of a checksum that are shown.
    const DIGITS: usize = 12;
    let short = |digits: &str| digits.chars().take(DIGITS).collect::<String>();
    if let Some(revision) = &id.revision {
        field_ui(ui, cx.theme, "Revision", short(revision)).on_hover_text(revision);
    }
    let files: Vec<String> = id.files.iter().map(|(name, digest)| format!("{}  {name}", short(digest))).collect();
    let all = format!("SHA-256 of the files that were read:\n{}\n\n{}", id.checksum, files.join("\n"));
    field_ui(ui, cx.theme, "Checksum", short(&id.checksum)).on_hover_text(all);
}

fn audit_ui(ui: &mut Ui, cx: &PanelCtx<'_>, model: &LoadedModel) {
    let audit = &model.audit;
    section_ui(ui, cx.theme, "Weight audit");
    let dtypes: Vec<_> = audit.dtypes.iter().map(|(dtype, n)| format!("{dtype} × {n}")).collect();
    field_ui(ui, cx.theme, "Tensors read", audit.n_loaded.to_string());
    field_ui(ui, cx.theme, "Parameters", compact_count(audit.n_params));
    field_ui(ui, cx.theme, "Types", dtypes.join(", "));
    field_ui(ui, cx.theme, "In memory", bytes_text(audit.n_bytes));
    for (label, source) in [("Weights file", &audit.weights_source), ("Input files", &audit.input_source)] {
        if !source.is_empty() {
            field_ui(ui, cx.theme, label, source.clone());
        }
    }
    let renamed: Vec<_> = audit.renamed.iter().map(|(expected, found)| format!("{expected} ← {found}")).collect();
    let unknown: Vec<_> = audit.unknown_keys.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let ignored: Vec<_> =
        audit.tokenizer_keys.ignored.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let lists = [
        ("not used", &audit.unexpected),
        ("renamed", &renamed),
        ("absent", &audit.absent),
        ("unknown settings", &unknown),
    ];
    for (what, names) in lists {
        names_ui(ui, what, names);
    }
    if !ignored.is_empty() {
        names_ui(ui, "tokenizer settings not followed", &ignored);
    }
    for warning in &audit.warnings {
        ui.label(RichText::new(format!("⚠ {warning}")).color(cx.theme.warning));
    }
    second_opinion_ui(ui, cx, model);
}

/// A button that holds the model against another implementation, and what that says.
fn second_opinion_ui(ui: &mut Ui, cx: &PanelCtx<'_>, model: &LoadedModel) {
    let opinion = &cx.document.second_opinion;
    let refused = model.audit.second_opinion.as_ref();
    let button = egui::Button::new("Compare with candle's implementation").small();
    let button = ui.add_enabled(refused.is_none() && !opinion.is_pending(), button);
    let button = button.on_disabled_hover_text(match refused {
        Some(_) => "candle-transformers cannot be asked about this checkpoint",
        None => "The comparison is running",
    });
    let meaning = "Run an independent implementation (candle-transformers) on the same files and input, and say how far \
                   the numbers agree";
    if button.on_hover_text(meaning).clicked() {
        cx.send(Command::AskSecondOpinion);
    }
    if let Some(why) = refused {
        let reason = format!("candle-transformers cannot be asked about this checkpoint: {why}");
        ui.add(egui::Label::new(RichText::new(reason).small().color(cx.theme.text_weak)).wrap());
    }
    let (on, is_read) = cx.document.second_opinion_input().unwrap_or_default();
    // What was found on another input is no verdict on this one.
    let color = |color| if is_read { color } else { cx.theme.text_weak };
    let on = if is_read { format!("On “{on}”: ") } else { format!("On “{on}”, which is not read now: ") };
    if let Some(failure) = opinion.failure() {
        let text = format!("{on}{}", failure.summary);
        ui.label(RichText::new(text).color(color(cx.theme.error))).on_hover_text(&failure.details);
    } else if let Some(comparison) = opinion.latest() {
        let differs = comparison.verdict() == Verdict::Differ;
        let lines = comparison.lines().join("\n");
        let text = RichText::new(format!("{on}{}", comparison.sentence()));
        ui.label(text.color(color(if differs { cx.theme.error } else { cx.theme.text }))).on_hover_text(lines);
    }
}

fn names_ui(ui: &mut Ui, what: &str, names: &[String]) {
    if names.is_empty() {
        ui.weak(format!("0 {what}"));
        return;
    }
    CollapsingHeader::new(format!("{} {what}", names.len())).id_salt(("audit", what)).show(ui, |ui| {
        for name in names.iter().take(MAX_NAMES) {
            ui.add(egui::Label::new(RichText::new(name).small().monospace()).truncate()).on_hover_text(name);
        }
        if names.len() > MAX_NAMES {
            ui.weak(format!("and {} more", names.len() - MAX_NAMES));
        }
    });
}

/// One line: family, shape and size.
fn summary_text(spec: &ModelSpec) -> String {
    let shapes: Vec<_> = spec
        .stacks
        .iter()
        .map(|stack| {
            let shape = format!("{} × {}", counted(stack.layers.len(), "layer"), counted(stack.max_heads(), "head"));
            if spec.stacks.len() > 1 { format!("{} {shape}", stack.kind) } else { shape }
        })
        .collect();
    // A capture of another program may not say how large its model is.
    let size = match spec.n_params {
        0 => String::new(),
        n => format!(" · {}", compact_count(n)),
    };
    // Nor of which family it is.
    let family = if spec.family == ModelSpec::UNKNOWN_FAMILY { String::new() } else { format!("{} · ", spec.family) };
    format!("{family}{}{size}", shapes.join(", "))
}

/// What the summary does not say of a stack.
fn stack_text(stack: &StackSpec) -> String {
    let width = match stack.typical().map_or((0, 0), |layer| (layer.d_head, layer.d_value)) {
        (0, _) => String::new(),
        (d_head, d_value) if d_head == d_value => format!("d_head {d_head}, "),
        (d_head, d_value) => format!("d_head {d_head}, values {d_value}, "),
    };
    let of = |mixer: &MixerKind| stack.layers.iter().filter(|layer| layer.mixer == *mixer).count();
    let others = MixerKind::ALL.into_iter().filter(|mixer| !mixer.is_attention() && of(mixer) > 0);
    let others: Vec<String> =
        others.map(|mixer| format!(", {} in {} of {} layers", mixer.title(), of(&mixer), stack.layers.len())).collect();
    let fixed = if stack.layers.iter().any(|layer| layer.fixed) { ", fixed: no attention" } else { "" };
    format!("{width}{}{}{fixed}", if stack.causal { "causal" } else { "bidirectional" }, others.concat())
}

pub fn source_name(source: &ModelSource) -> String {
    match source {
        ModelSource::Bundled(name) | ModelSource::Hub(name) => name.clone(),
        ModelSource::Path(path) => checkpoint_name(path).unwrap_or_else(|| path.display().to_string()),
    }
}

pub fn source_text(source: &ModelSource) -> String {
    match source {
        ModelSource::Bundled(name) => format!("{name}, bundled with AttnScope"),
        ModelSource::Hub(name) => format!("{name}, in the Hugging Face cache"),
        ModelSource::Path(path) => path.display().to_string(),
    }
}

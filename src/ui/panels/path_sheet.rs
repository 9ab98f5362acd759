//! Asks for a path where the desktop has no dialog for it: what to open, or where to save.

use std::path::PathBuf;

use eframe::egui::{
    self, Button, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui,
    text::{CCursor, CCursorRange},
};

use crate::{
    session::{FilePurpose, Typed},
    ui::{
        PanelCtx,
        look::{self, Completion, Entered, Looked, Looker, There},
        shell::with_extension,
        theme::GRID,
        widgets::Dialog,
    },
};

const WIDTH: f32 = 140.0 * GRID;
/// Height of the list of names.
const LIST_HEIGHT: f32 = 48.0 * GRID;

/// What a path is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFor {
    Open(FilePurpose),
    /// To save what waits under this number.
    Save {
        number: u64,
        /// The ending of a name that is given without a possible one.
        extension: &'static str,
        /// Other endings that are possible.
        also: &'static [&'static str],
    },
}

/// A field for a path.
#[derive(Debug)]
pub struct PathSheet {
    purpose: PathFor,
    answer: PathAnswer,
    typed: String,
    entered: Entered,
    /// The character from which on the field is selected next: what is in it came from elsewhere.
    selects: Option<usize>,
}

/// What came of the sheet so far.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathAnswer {
    None,
    Closed,
    Chosen(PathBuf),
}

/// Whether a path suits what it is for.
struct Verdict {
    says: String,
    path: Option<PathBuf>,
    replaces: bool,
    is_looking: bool,
}

impl Verdict {
    const fn no(says: String) -> Self {
        Self { says, path: None, replaces: false, is_looking: false }
    }

    fn looking() -> Self {
        Self { is_looking: true, ..Self::no("Looking …".to_owned()) }
    }
}

impl PathSheet {
    /// A sheet that begins in the home folder, with the name to propose, which typing replaces.
    pub fn new(purpose: PathFor, name: &str) -> Self {
        let typed = format!("~/{name}");
        let selects = Some(typed.chars().count() - name.chars().count());
        Self { purpose, answer: PathAnswer::None, typed, entered: Entered::default(), selects }
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.answer = PathAnswer::Closed;
    }

    /// What the path was for and what came of it; the sheet itself while nothing did.
    ///
    /// # Errors
    /// When it stays open.
    pub fn answered(self) -> Result<(PathFor, Option<PathBuf>), Self> {
        match self.answer {
            PathAnswer::None => Err(self),
            PathAnswer::Closed => Ok((self.purpose, None)),
            PathAnswer::Chosen(path) => Ok((self.purpose, Some(path))),
        }
    }

    /// Draws the sheet over everything.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>, looker: &mut Looker) {
        // Taken before the field sees them.
        let [enter, tab] =
            [Key::Enter, Key::Tab].map(|key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)));
        let verdict = self.verdict(looker);
        if tab {
            self.entered.forget();
        }
        let entered = self.entered.counts(&self.typed, enter, verdict.is_looking);
        let completions = match looker.look(&self.typed) {
            Some(Ok(Some(looked))) => looked.completions.clone(),
            _ => Vec::new(),
        };
        let mut completed = completions.first().filter(|_| tab).map(|first| first.typed.clone());
        let modal = Dialog::new("path sheet", WIDTH).show(ctx, |ui| {
            ui.heading(self.title());
            let why = "This desktop has no file dialog; on Linux one needs xdg-desktop-portal or zenity";
            ui.label(RichText::new(why).small().color(cx.theme.text_weak));
            ui.add_space(GRID);
            self.field_ui(ui);
            let color = if verdict.replaces { cx.theme.warning } else { cx.theme.text_weak };
            ui.add(egui::Label::new(RichText::new(&verdict.says).color(color)).wrap());
            completed = names_ui(ui, cx, &completions).or(completed.take());
            ui.add_space(2.0 * GRID);
            ui.horizontal(|ui| {
                let name = match self.purpose {
                    PathFor::Open(_) => "Open",
                    PathFor::Save { .. } if verdict.replaces => "Replace",
                    PathFor::Save { .. } => "Save",
                };
                let done = ui.add_enabled(verdict.path.is_some(), Button::new(name)).clicked();
                (done, ui.button("Cancel").clicked())
            })
            .inner
        });
        if let Some(completed) = completed {
            self.selects = Some(completed.chars().count());
            self.typed = completed;
        }
        let (clicked, cancelled) = modal.inner;
        // What is there already is replaced on a click alone.
        if let Some(path) = verdict.path.filter(|_| clicked || (entered && !verdict.replaces)) {
            self.answer = PathAnswer::Chosen(path);
        } else if cancelled || modal.should_close() {
            self.close();
        }
        if self.answer != PathAnswer::None {
            // It is done with before the next frame.
            ctx.request_repaint();
        }
    }

    const fn title(&self) -> &'static str {
        match self.purpose {
            PathFor::Open(purpose) => purpose.title(),
            PathFor::Save { .. } => "Save as",
        }
    }

    fn field_ui(&mut self, ui: &mut Ui) {
        // Tab completes.
        let field = TextEdit::singleline(&mut self.typed).desired_width(f32::INFINITY).lock_focus(true);
        let mut output = field.show(ui);
        if let Some(start) = self.selects.take() {
            let range = CCursorRange::two(CCursor::new(start), CCursor::new(self.typed.chars().count()));
            output.state.cursor.set_char_range(Some(range));
            output.state.store(ui.ctx(), output.response.id);
        }
        let field = output.response.response.accessible_name("Path");
        // Whatever is clicked, the keys stay here.
        field.request_focus();
    }

    /// Looks whether what is at the path suits what it is for.
    fn verdict(&self, looker: &mut Looker) -> Verdict {
        let path = match look::parse(&self.typed) {
            None => return Verdict::no("Type a path, such as ~/name".to_owned()),
            Some(Err(why)) => return Verdict::no(why),
            Some(Ok(Typed::Paths(paths))) if paths.len() == 1 => paths.into_iter().next().unwrap_or_default(),
            Some(Ok(Typed::Either(path, _))) => path,
            Some(Ok(_)) => return Verdict::no("This is not the path of one file or folder".to_owned()),
        };
        let PathFor::Save { extension, also, .. } = self.purpose else {
            return match looker.look(&self.typed) {
                Some(Ok(Some(looked))) => open_verdict(path, looked),
                _ => Verdict::looking(),
            };
        };
        if self.typed.trim().ends_with('/') {
            return Verdict::no("Type a name behind this folder".to_owned());
        }
        let path = with_extension(path, extension, also);
        match looker.look(&path.to_string_lossy()) {
            Some(Ok(Some(looked))) => save_verdict(path, looked),
            Some(Err(why)) => Verdict::no(why),
            _ => Verdict::looking(),
        }
    }
}

fn open_verdict(path: PathBuf, looked: &Looked) -> Verdict {
    if looked.there == There::Free {
        return Verdict::no(format!("There is nothing at {}", path.display()));
    }
    let path = (!matches!(looked.there, There::Nothing(_))).then_some(path);
    Verdict { path, ..Verdict::no(looked.what()) }
}

fn save_verdict(path: PathBuf, looked: &Looked) -> Verdict {
    let shown = path.display();
    if let There::Nothing(why) = &looked.there {
        return Verdict::no(why.clone());
    }
    if looked.is_folder {
        return Verdict::no(format!("{shown} is a folder: type another name"));
    }
    let replaces = looked.there != There::Free;
    let says = if replaces { format!("{shown} exists already: it would be replaced") } else { format!("To {shown}") };
    Verdict { path: Some(path), replaces, ..Verdict::no(says) }
}

/// The names that could follow; what is typed once one was clicked.
fn names_ui(ui: &mut Ui, cx: &PanelCtx<'_>, completions: &[Completion]) -> Option<String> {
    let mut chosen = None;
    // As high whatever is in it, so that typing moves no button.
    ScrollArea::vertical()
        .id_salt("names")
        .max_height(LIST_HEIGHT)
        .min_scrolled_height(LIST_HEIGHT)
        .auto_shrink(false)
        .show(ui, |ui| {
            for completion in completions {
                ui.horizontal(|ui| {
                    if ui.link(&completion.name).on_hover_text("Go on with this name (Tab: with the first)").clicked() {
                        chosen = Some(completion.typed.clone());
                    }
                    ui.label(RichText::new(completion.what).small().color(cx.theme.text_weak));
                });
            }
        });
    chosen
}

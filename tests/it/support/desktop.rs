//! A desktop that answers from a script.

use std::{cell::RefCell, path::PathBuf, rc::Rc, sync::Arc};

use attnscope::{
    session::FilePurpose,
    ui::shell::{Choice, Desktop, ScreenshotFn},
};
use eframe::egui::{self, ColorImage};

/// A desktop whose dialogs choose what the test says, at once.
#[derive(Clone, Default)]
pub struct ScriptedDesktop(pub Rc<RefCell<DesktopScript>>);

/// What the scripted desktop does.
#[derive(Default)]
pub struct DesktopScript {
    /// Whether there are no dialogs: one that is not there closes at once.
    pub lacks_dialogs: bool,
    /// What the open dialogs choose.
    pub pick: Vec<PathBuf>,
    /// Where the save dialog saves.
    pub save: Option<PathBuf>,
    /// The names that the save dialog proposed.
    pub proposed: Vec<String>,
    /// How many other windows were started.
    pub windows: usize,
    /// Why no other window can be started.
    pub no_window: Option<String>,
    /// Why the open dialogs were shown.
    pub purposes: Vec<FilePurpose>,
}

impl Desktop for ScriptedDesktop {
    fn pick(&mut self, purpose: FilePurpose) -> Choice {
        let mut script = self.0.borrow_mut();
        script.purposes.push(purpose);
        Box::pin(std::future::ready((!script.lacks_dialogs).then(|| script.pick.clone())))
    }

    fn save(&mut self, default_name: &str, _extension: &str) -> Choice {
        let mut script = self.0.borrow_mut();
        script.proposed.push(default_name.to_owned());
        Box::pin(std::future::ready(script.save.clone().map(|path| vec![path])))
    }

    fn new_window(&mut self) -> std::io::Result<()> {
        let mut script = self.0.borrow_mut();
        if let Some(reason) = &script.no_window {
            return Err(std::io::Error::other(reason.clone()));
        }
        script.windows += 1;
        Ok(())
    }

    fn screenshot(&mut self, ctx: &egui::Context, done: ScreenshotFn) {
        let size = ctx.content_rect().size();
        let size = [size.x as usize, size.y as usize];
        done(Arc::new(ColorImage::filled(size, egui::Color32::from_gray(77))));
    }
}

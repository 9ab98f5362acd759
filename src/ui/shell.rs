//! Services of the desktop: file dialogs, text files, screenshots.
//!
//! Nothing here waits on the UI thread. Dialogs are created on it (macOS insists) and awaited on a
//! named thread; every answer comes back as a [`ShellEvent`], sent first and announced after.

use std::{
    fs::File,
    future::Future,
    io::Read as _,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use eframe::egui::{self, ColorImage};

use super::panels::PathFor;
use crate::{
    capture::RgbaBuffer,
    export::png_bytes,
    protocol::Failure,
    session::{FilePurpose, saved::EXTENSION},
    text::{PICTURE_FILES, sentence},
    ui::other_window,
};

/// Longest text file that is read, in bytes. A model reads a few thousand tokens; more is a mistake.
pub const MAX_TEXT_BYTES: u64 = 4_000_000;
/// Answers that may wait for the next frame; more would mean that frames have stopped.
const MAX_WAITING: usize = 64;
/// Endings of files with many inputs.
const CORPUS_FILES: [&str; 10] = ["txt", "md", "csv", "tsv", "json", "jsonl", "ndjson", "conllu", "safetensors", "npz"];
/// Nobody closes a file dialog this fast: an answer within this time means that none was shown.
const NO_DIALOG_SECS: f64 = 0.15;

/// Called after an answer was sent, so that a frame picks it up.
pub type WakeFn = Arc<dyn Fn() + Send + Sync>;
/// What a dialog will answer: the chosen paths, or nothing when it was closed.
pub type Choice = Pin<Box<dyn Future<Output = Option<Vec<PathBuf>>> + Send>>;
/// Receives a screenshot.
pub type ScreenshotFn = Box<dyn FnOnce(Arc<ColorImage>) + Send>;

/// The parts of the desktop that a test replaces.
pub trait Desktop {
    /// Shows a dialog to choose files or a folder.
    fn pick(&mut self, purpose: FilePurpose) -> Choice;
    /// Shows a dialog to choose where to save.
    fn save(&mut self, default_name: &str, extension: &str) -> Choice;
    /// Starts the program a second time.
    ///
    /// # Errors
    /// When the system does not start it.
    fn new_window(&mut self) -> std::io::Result<()>;
    /// Takes a picture of the window when the next frame has been drawn.
    fn screenshot(&mut self, ctx: &egui::Context, done: ScreenshotFn);
}

/// The desktop the program really runs on.
#[derive(Debug, Default)]
pub struct NativeDesktop;

impl Desktop for NativeDesktop {
    fn pick(&mut self, purpose: FilePurpose) -> Choice {
        type Filter = (&'static str, &'static [&'static str]);
        const ALL: Filter = ("All files", &["*"]);
        let filters: &[Filter] = match purpose {
            FilePurpose::ModelFolder | FilePurpose::CorpusFolder | FilePurpose::LostModel | FilePurpose::GoldFile => {
                &[]
            }
            FilePurpose::CorpusFile => &[("Texts, tables and captures", &CORPUS_FILES), ALL],
            FilePurpose::SessionFile => &[("Sessions", &[EXTENSION]), ALL],
            FilePurpose::InputFile => &[
                ALL,
                ("Pictures", &PICTURE_FILES),
                ("Texts", &["txt", "md"]),
                ("Checkpoints and captures", &["safetensors", "gguf", "bin", "pt", "pth", "json", "gz", "npz", "npy"]),
            ],
        };
        let dialog = rfd::AsyncFileDialog::new().set_title(purpose.title());
        let dialog = filters.iter().fold(dialog, |dialog, (name, endings)| dialog.add_filter(*name, endings));
        match purpose {
            FilePurpose::ModelFolder | FilePurpose::CorpusFolder | FilePurpose::LostModel => {
                let answer = dialog.pick_folder();
                Box::pin(async { answer.await.map(|folder| vec![folder.path().to_owned()]) })
            }
            FilePurpose::CorpusFile | FilePurpose::SessionFile | FilePurpose::GoldFile => {
                let answer = dialog.pick_file();
                Box::pin(async { answer.await.map(|file| vec![file.path().to_owned()]) })
            }
            FilePurpose::InputFile => {
                let answer = dialog.pick_files();
                Box::pin(async { answer.await.map(|files| files.iter().map(|file| file.path().to_owned()).collect()) })
            }
        }
    }

    fn save(&mut self, default_name: &str, extension: &str) -> Choice {
        let dialog = rfd::AsyncFileDialog::new().set_title("Save").set_file_name(default_name);
        let answer = dialog.add_filter(extension.to_uppercase(), &[extension]).save_file();
        Box::pin(async { answer.await.map(|file| vec![file.path().to_owned()]) })
    }

    fn new_window(&mut self) -> std::io::Result<()> {
        other_window::start()
    }

    fn screenshot(&mut self, ctx: &egui::Context, done: ScreenshotFn) {
        ctx.request_screenshot(done);
    }
}

/// An answer of the desktop.
#[derive(Debug)]
pub enum ShellEvent {
    /// The user chose these for this.
    Chosen(FilePurpose, Vec<PathBuf>),
    /// The user chose where to save the picture that was asked for under this number.
    SaveTo(u64, PathBuf),
    /// The user closed the dialog; a picture waiting under this number is not needed any more.
    Dismissed(Option<u64>),
    Text(PathBuf, String),
    /// A file with links of words was read.
    Gold(String),
    /// There is no dialog here, so the path has to be asked for; the name is the one to propose.
    NoDialog(PathFor, String),
    /// Something did not work.
    Failed(Failure),
    /// The picture of the window.
    Screenshot(Arc<ColorImage>),
    /// A picture from the clipboard, as the bytes of a PNG.
    Pasted(Arc<[u8]>),
}

/// Runs what must not run on the UI thread and collects the answers.
pub struct Shell {
    desktop: Box<dyn Desktop>,
    sender: SyncSender<ShellEvent>,
    receiver: Receiver<ShellEvent>,
    wake: WakeFn,
    dialog_open: bool,
}

impl Shell {
    /// A shell on `desktop`; `wake` asks for a frame.
    pub fn new(desktop: Box<dyn Desktop>, wake: WakeFn) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        Self { desktop, sender, receiver, wake, dialog_open: false }
    }

    /// Everything that was answered since the last frame.
    pub fn drain(&mut self) -> Vec<ShellEvent> {
        let events: Vec<_> = self.receiver.try_iter().collect();
        if events.iter().any(|event| {
            !matches!(
                event,
                ShellEvent::Text(..) | ShellEvent::Gold(_) | ShellEvent::Screenshot(_) | ShellEvent::Pasted(_)
            )
        }) {
            self.dialog_open = false;
        }
        events
    }

    /// Asks for files or a folder. A second dialog is not opened over the first.
    pub fn pick(&mut self, purpose: FilePurpose) {
        if std::mem::replace(&mut self.dialog_open, true) {
            return;
        }
        let choice = self.desktop.pick(purpose);
        self.spawn("file-dialog", move || match wait_for(choice) {
            DialogOutcome::Chosen(paths) => ShellEvent::Chosen(purpose, paths),
            DialogOutcome::Closed => ShellEvent::Dismissed(None),
            DialogOutcome::NotShown => ShellEvent::NoDialog(PathFor::Open(purpose), String::new()),
        });
    }

    /// Asks where to save number `picture`; a name that ends neither in `extension` nor in one of `also` gets
    /// `extension`.
    pub fn save(&mut self, picture: u64, default_name: &str, extension: &'static str, also: &'static [&'static str]) {
        self.dialog_open = true;
        let choice = self.desktop.save(default_name, extension);
        let name = default_name.to_owned();
        self.spawn("save-dialog", move || match wait_for(choice) {
            DialogOutcome::Chosen(paths) => match paths.into_iter().next() {
                Some(path) => ShellEvent::SaveTo(picture, with_extension(path, extension, also)),
                None => ShellEvent::Dismissed(Some(picture)),
            },
            DialogOutcome::Closed => ShellEvent::Dismissed(Some(picture)),
            DialogOutcome::NotShown => ShellEvent::NoDialog(PathFor::Save { number: picture, extension, also }, name),
        });
    }

    /// Packs a picture from the clipboard, which takes longer than a frame when it is large.
    pub fn pack(&self, image: Arc<ColorImage>) {
        self.spawn("pack-picture", move || {
            let pixels = image.pixels.iter().flat_map(egui::Color32::to_srgba_unmultiplied).collect();
            match png_bytes(&RgbaBuffer { width: image.width(), height: image.height(), pixels }) {
                Ok(bytes) => ShellEvent::Pasted(bytes.into()),
                Err(error) => ShellEvent::Failed(Failure { summary: error.to_string(), details: String::new() }),
            }
        });
    }

    /// Reads a file with links of words.
    pub fn read_gold(&self, path: PathBuf) {
        self.spawn("read-links", move || match read_text(&path) {
            Ok(text) => ShellEvent::Gold(text),
            Err(failure) => ShellEvent::Failed(failure),
        });
    }

    /// Reads a text file.
    pub fn read_text(&self, path: PathBuf) {
        self.spawn("read-text", move || match read_text(&path) {
            Ok(text) => ShellEvent::Text(path, text),
            Err(failure) => ShellEvent::Failed(failure),
        });
    }

    /// Opens another window; what keeps it from opening comes back as [`ShellEvent::Failed`].
    pub fn new_window(&mut self) {
        if let Err(error) = self.desktop.new_window() {
            let failure = Failure {
                summary: "No second window can be started".to_owned(),
                details: sentence(&error.to_string()),
            };
            self.sender.try_send(ShellEvent::Failed(failure)).ok();
        }
    }

    /// Takes a picture of the window; it comes back as [`ShellEvent::Screenshot`].
    pub fn screenshot(&mut self, ctx: &egui::Context) {
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let done = Box::new(move |image| {
            if sender.try_send(ShellEvent::Screenshot(image)).is_ok() {
                wake();
            }
        });
        self.desktop.screenshot(ctx, done);
    }

    fn spawn(&self, name: &str, work: impl FnOnce() -> ShellEvent + Send + 'static) {
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            if sender.send(work()).is_ok() {
                wake();
            }
        });
        if let Err(error) = thread {
            let failure = Failure {
                summary: "The system refused to start another thread".to_owned(),
                details: error.to_string(),
            };
            // The queue is drained every frame; a full one only loses this message.
            self.sender.try_send(ShellEvent::Failed(failure)).ok();
        }
    }
}

/// What became of a dialog.
#[derive(Debug)]
enum DialogOutcome {
    Chosen(Vec<PathBuf>),
    Closed,
    NotShown,
}

fn wait_for(choice: Choice) -> DialogOutcome {
    let started = Instant::now();
    match block_on(choice) {
        Some(paths) => DialogOutcome::Chosen(paths),
        None if started.elapsed() < Duration::from_secs_f64(NO_DIALOG_SECS) => DialogOutcome::NotShown,
        None => DialogOutcome::Closed,
    }
}

/// The ending that was typed is obeyed where it is a possible one.
pub fn with_extension(path: PathBuf, extension: &str, also: &[&str]) -> PathBuf {
    let typed = path.extension().and_then(|typed| typed.to_str()).map(str::to_lowercase);
    match typed {
        Some(typed) if typed == extension || also.contains(&typed.as_str()) => path,
        _ => {
            let mut name = path.into_os_string();
            name.push(".");
            name.push(extension);
            name.into()
        }
    }
}

/// Reads a text file that is small enough and valid UTF-8.
fn read_text(path: &Path) -> Result<String, Failure> {
    let failure = |summary: &str, advice: &str| Failure {
        summary: summary.to_owned(),
        details: format!("{advice}\n{}", path.display()),
    };
    let unreadable = |error: std::io::Error| failure("This text file cannot be read", &error.to_string());
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too long, whatever its metadata claims.
    File::open(path).map_err(unreadable)?.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(failure(
            "This text file is longer than 4 MB",
            "Cut out the passage to look at, or open the file as a corpus",
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| failure("This file is not UTF-8 text", "Save it as UTF-8 in a text editor and drop it again"))?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

/// Wakes the thread that waits in [`block_on`].
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread, which must not be the UI thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn text_files_are_read_without_their_byte_order_mark() {
        let (_folder, path) = written("\u{feff}Grüße 你好".as_bytes());
        assert_eq!(read_text(&path).unwrap(), "Grüße 你好");
    }

    #[test]
    fn refused_text_files_are_named_last() {
        let (_folder, path) = written(&[0xff, 0xfe, 0x00]);
        let failure = read_text(&path).unwrap_err();
        assert_eq!(failure.summary, "This file is not UTF-8 text");
        assert!(failure.details.ends_with(&path.display().to_string()));

        let (_folder, path) = written(&vec![b'a'; MAX_TEXT_BYTES as usize + 1]);
        assert_eq!(read_text(&path).unwrap_err().summary, "This text file is longer than 4 MB");

        let missing = path.with_file_name("missing.txt");
        assert_eq!(read_text(&missing).unwrap_err().summary, "This text file cannot be read");
    }

    #[test]
    fn a_known_ending_is_obeyed_and_another_completed() {
        assert_eq!(with_extension("a/b.PNG".into(), "png", &[]), PathBuf::from("a/b.PNG"));
        assert_eq!(with_extension("a/b.pdf".into(), "svg", &["pdf"]), PathBuf::from("a/b.pdf"));
        assert_eq!(with_extension("a/L0H1.view".into(), "svg", &["pdf"]), PathBuf::from("a/L0H1.view.svg"));
    }
}

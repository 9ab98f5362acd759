//! Times of frames: measured for `--frame-times`, with the moment of the first lines.
//!
//! Per frame the table has, in milliseconds:
//! - `logic_ms`: taking in answers of the worker and the desktop, and applying them (`App::logic`);
//! - `ui_ms`: laying out and drawing every panel and view, and applying what was asked for (`App::ui`);
//! - `tessellation_ms`: turning that frame's shapes into triangles. eframe does this after `App::ui`
//!   and keeps the time to itself, so the same shapes are tessellated once more here, only while a
//!   table is written; the copy and the extra time are in none of the columns but `frame_ms`;
//! - `frame_ms`: what eframe reports for the whole frame: the above, upload and painting, without
//!   the wait for the screen.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use eframe::egui::{self, FullOutput};

/// Rows that may wait for the disk; further ones are lost rather than delaying a frame.
const MAX_WAITING_ROWS: usize = 4096;
const HEADER: &str = "frame,at_ms,logic_ms,ui_ms,tessellation_ms,frame_ms,view,layer,query_tokens,key_tokens,heads,pending,first_lines_ms";

/// Measures frames and writes them down.
pub struct FrameTimes {
    rows: SyncSender<String>,
    tessellation_nanos: Arc<AtomicU64>,
    frame: u64,
    current: FrameTiming,
}

/// One frame.
#[derive(Clone, Debug, Default)]
pub struct FrameTiming {
    /// Since the process started.
    pub at: Duration,
    /// `App::logic`.
    pub logic: Duration,
    /// `App::ui`.
    pub ui: Duration,
    /// What was visible: view, layer, query tokens, key tokens, heads, pending.
    pub visible: String,
}

impl FrameTimes {
    /// Creates the file; it is written on a thread of its own.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{HEADER}")?;
        let (rows, receiver) = sync_channel::<String>(MAX_WAITING_ROWS);
        thread::Builder::new().name("frame-times".to_owned()).spawn(move || {
            while let Ok(row) = receiver.recv() {
                let mut written = writeln!(file, "{row}");
                for row in receiver.try_iter() {
                    written = written.and_then(|()| writeln!(file, "{row}"));
                }
                if let Err(error) = written.and_then(|()| file.flush()) {
                    log::warn!("frame times are not written any more: {error}");
                    return;
                }
            }
        })?;
        Ok(Self { rows, tessellation_nanos: Arc::default(), frame: 0, current: FrameTiming::default() })
    }

    /// Starts measuring tessellation.
    pub fn attach(&self, ctx: &egui::Context) {
        ctx.add_plugin(TessellationTimer(Arc::clone(&self.tessellation_nanos)));
    }

    /// Writes the frame that has just been painted down and starts the next.
    pub fn next(&mut self, painted_secs: Option<f32>, first_lines: Option<Duration>) {
        if self.frame > 0 {
            let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
            let tessellation = Duration::from_nanos(self.tessellation_nanos.swap(0, Ordering::Relaxed));
            let FrameTiming { at, logic, ui, visible } = std::mem::take(&mut self.current);
            let row = format!(
                "{},{:.3},{:.3},{:.3},{:.3},{},{visible},{}",
                self.frame,
                ms(at),
                ms(logic),
                ms(ui),
                ms(tessellation),
                painted_secs.map_or_else(String::new, |secs| format!("{:.3}", secs * 1e3)),
                first_lines.map_or_else(String::new, |at| format!("{:.1}", ms(at))),
            );
            self.rows.try_send(row).ok();
        }
        self.frame += 1;
    }

    /// The frame that is being drawn.
    pub const fn current(&mut self) -> &mut FrameTiming {
        &mut self.current
    }
}

/// Tessellates every frame's shapes once more to see how long it takes.
struct TessellationTimer(Arc<AtomicU64>);

impl egui::Plugin for TessellationTimer {
    fn debug_name(&self) -> &'static str {
        "tessellation timer"
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut FullOutput) {
        let shapes = output.shapes.clone();
        let started = Instant::now();
        let triangles = ctx.tessellate(shapes, output.pixels_per_point);
        self.0.store(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        drop(triangles);
    }
}

//! Files out: pictures that say where they came from, whole files or none, names.

use std::{
    fs,
    path::Path,
    process::{Command as Process, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use attnscope::{
    capture::RgbaBuffer,
    export::{self, ExportError, ExportRequest, atomic_write, default_file_name},
};

fn picture(alpha: u8) -> RgbaBuffer {
    let pixels = (0..6 * 4u8).flat_map(|i| [i * 10, 255 - i, i, alpha]).collect();
    RgbaBuffer { width: 6, height: 4, pixels }
}

fn request(pixels: RgbaBuffer, metadata: &[(&str, &str)], path: &Path) -> ExportRequest {
    ExportRequest::Png {
        pixels: Arc::new(pixels),
        metadata: metadata.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        path: path.to_owned(),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_saved_picture_has_its_pixels_and_its_origin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.png");
    for alpha in [255, 100] {
        let metadata =
            [("Model", "demo:gpt"), ("Input", "naïve “quotes” 猫\0"), ("", "no keyword"), ("Ключ", "a"), ("Empty", "")];
        assert_eq!(export::write(&request(picture(alpha), &metadata, &path)).unwrap(), path);
        let opened = image::open(&path).unwrap();
        assert_eq!(opened.color().has_alpha(), alpha != 255, "opaque pictures carry no alpha");
        assert_eq!(opened.to_rgba8().into_raw(), picture(alpha).pixels);
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap()));
        let reader = decoder.read_info().unwrap();
        let latin: Vec<_> =
            reader.info().uncompressed_latin1_text.iter().map(|c| (c.keyword.as_str(), c.text.as_str())).collect();
        assert_eq!(latin, [("Model", "demo:gpt"), ("Comment", "no keyword"), ("Comment", "a"), ("Empty", "")]);
        let unicode = &reader.info().utf8_text;
        assert_eq!(unicode.len(), 1);
        assert_eq!(
            (unicode[0].keyword.as_str(), unicode[0].get_text().unwrap().as_str()),
            ("Input", "naïve “quotes” 猫")
        );
    }
    assert_eq!(names_in(folder.path()), ["view.png"], "nothing else is left behind");
}

#[test]
fn pixels_that_do_not_fill_the_picture_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.png");
    for (width, height) in [(0, 0), (7, 4), (usize::MAX, 4)] {
        let broken = RgbaBuffer { width, height, ..picture(255) };
        let error = export::write(&request(broken, &[], &path)).unwrap_err();
        assert!(matches!(error, ExportError::NoPicture { .. }), "{error}");
    }
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.safetensors");
    fs::write(&path, "old").unwrap();
    let error = atomic_write(&path, |out| {
        out.write_all(b"half of the new")?;
        Err(std::io::ErrorKind::StorageFull.into())
    })
    .unwrap_err();
    assert!(error.to_string().starts_with("The disk is full"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(folder.path()), ["capture.safetensors"]);
    atomic_write(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn places_that_cannot_be_written_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no such folder").join("a.png");
    let error = export::write(&request(picture(255), &[], &missing)).unwrap_err();
    assert!(error.to_string().starts_with("The folder does not exist"), "{error}");
    assert!(error.to_string().ends_with("no such folder"), "{error}");
    let error = export::write(&request(picture(255), &[], folder.path())).unwrap_err();
    assert!(error.to_string().starts_with("This is a folder"), "{error}");
    let denied = atomic_write(&folder.path().join("x"), |_| Err(std::io::ErrorKind::PermissionDenied.into()));
    assert!(denied.unwrap_err().to_string().starts_with("Writing is not allowed here"));
}

/// Killed in the run or in the writing: the old file stays, and what was half written goes with the next one.
#[cfg(unix)]
#[test]
fn a_program_that_is_killed_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("capture.safetensors");
    let text = "The cat sat on the mat. ".repeat(17);
    let start = || {
        Process::new(env!("CARGO_BIN_EXE_attnscope"))
            .args(["capture", "--model", "demo:bert", "--sites", "q,k,v,scores,pattern", "--text", &text, "--out"])
            .arg(&out)
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let begun = || names_in(folder.path()).iter().any(|name| name.contains(".part"));
    fs::write(&out, "old").unwrap();
    let (mut n_in_run, mut n_in_writing) = (0, 0);
    for nth in 0_u64..40 {
        // What the one before left would look like writing.
        for name in names_in(folder.path()).iter().filter(|name| name.contains(".part")) {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        let mut child = start();
        // Now and then before anything is written, else when something is.
        let waits = Duration::from_millis(if nth % 2 == 0 { 20 * nth } else { 60_000 });
        let started = Instant::now();
        while started.elapsed() < waits && !begun() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        assert!(ended.code().is_none_or(|code| code == 0), "it fails by itself: {ended}");
        if ended.success() {
            // The kill came too late; what is there is whole, and the next one has something else to replace.
            assert!(fs::metadata(&out).unwrap().len() > 1_000_000, "kill {nth}");
            fs::write(&out, "old").unwrap();
            continue;
        }
        let is_old = fs::read(&out).unwrap() == b"old";
        assert!(
            is_old || fs::metadata(&out).unwrap().len() > 1_000_000,
            "kill {nth}: neither the old file nor the new"
        );
        fs::write(&out, "old").unwrap();
        *if begun() { &mut n_in_writing } else { &mut n_in_run } += usize::from(is_old);
        if n_in_run > 1 && n_in_writing > 1 {
            break;
        }
    }
    assert!(n_in_run > 0 && n_in_writing > 0, "{n_in_run} in the run, {n_in_writing} in the writing");
    assert!(start().wait().unwrap().success());
    assert_eq!(names_in(folder.path()), ["capture.safetensors"], "nothing half written is left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_the_old_file() {
    use crate::support::small_disk::SmallDisk;

    let disk = match SmallDisk::mount() {
        Ok(disk) => disk,
        Err(why) => return println!("{why}"),
    };
    let path = disk.at("figure.png");
    export::write(&request(picture(255), &[], &path)).unwrap();
    let before = fs::read(&path).unwrap();
    disk.fill(3);
    // Nothing that could be packed.
    let pixels = (0..4 * 200 * 150_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let large = request(RgbaBuffer { width: 200, height: 150, pixels }, &[], &path);
    let error = export::write(&large).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("The disk is full; free some space or choose another place: {}", path.display())
    );
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(names_in(&disk.at("")).len(), 2, "the figure and what fills the disk");
    disk.empty();
    export::write(&large).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 12_288);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced_and_links_stay_links() {
    use std::os::unix::{fs::symlink, net::UnixListener};

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let _listener = UnixListener::bind(at("socket")).unwrap();
    symlink(at("socket"), at("to-socket.png")).unwrap();
    for path in [at("socket"), at("to-socket.png"), "/dev/null".into()] {
        let error = export::write(&request(picture(255), &[], &path)).unwrap_err().to_string();
        assert!(error.starts_with("This is a device or a pipe"), "{error}");
        assert!(error.ends_with(path.to_str().unwrap()), "{error}");
        assert!(!fs::metadata(&path).unwrap().is_file(), "{}", path.display());
    }

    fs::create_dir(at("elsewhere")).unwrap();
    fs::write(at("elsewhere/file"), "old").unwrap();
    symlink(at("elsewhere/file"), at("link")).unwrap();
    atomic_write(&at("link"), |out| out.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), "new");
    assert_eq!(names_in(&at("elsewhere")), ["file"]);
}

#[test]
fn default_names_are_safe_everywhere() {
    let head = "L2H3";
    assert_eq!(default_file_name("demo:gpt", "", head, "heads", "png"), "demo-gpt_L2H3_heads.png");
    assert_eq!(
        default_file_name("demo:gpt", "Once upon a time, there was a cat", head, "heads", "png"),
        "demo-gpt_Once-upon-a-time-there_L2H3_heads.png"
    );
    assert_eq!(
        default_file_name("../../etc/passwd", "猫", "", "Query–key matrix", "png"),
        "etc-passwd_Query-key-matrix.png"
    );
    assert_eq!(default_file_name("", "", "cross_L0H11", "heatmap", "png"), "attention_cross_L0H11_heatmap.png");
    assert_eq!(default_file_name("m", &"x".repeat(500), "", "v", "png"), format!("m_{}_v.png", "x".repeat(24)));
}

//! Memory that a new model may take: what the system says is free, or less where the process is
//! confined (containers, batch jobs).

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Bytes that can still be allocated without driving anything else out of memory; `None` where the
/// system does not tell (anything but Linux).
pub(crate) fn available() -> Option<u64> {
    available_under(Path::new("/"))
}

fn available_under(root: &Path) -> Option<u64> {
    let free = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| {
        let kib: u64 = field(&text, "MemAvailable:")?.strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    });
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().filter_map(|line| group_headroom(root, line)).chain(free).min()
}

/// What the memory limits of a control group leave, its ancestors' included.
fn group_headroom(root: &Path, line: &str) -> Option<u64> {
    // Hierarchy, controllers (none in version 2), path.
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (mount, names) = match controllers {
        "" => ("sys/fs/cgroup", ["memory.max", "memory.current", "active_file ", "inactive_file "]),
        _ if controllers.split(',').any(|name| name == "memory") => (
            "sys/fs/cgroup/memory",
            ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file ", "total_inactive_file "],
        ),
        _ => return None,
    };
    let mount = root.join(mount);
    let group: PathBuf = mount.join(path.trim_start_matches('/'));
    let headroom = |group: &Path| {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let [limit, used, active, inactive] = names;
        // Files that were read stay in memory until somebody needs it.
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = [active, inactive].iter().filter_map(|name| field(&stat, name)?.parse::<u64>().ok()).sum();
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cached)))
    };
    // Inside a container the path may be the host's; the mount itself always exists.
    group.ancestors().take_while(|group| group.starts_with(&mount)).filter_map(headroom).min()
}

/// What follows `name` at the start of a line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up system of these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const FREE: (&str, &str) = ("proc/meminfo", "MemTotal:   9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n");

    #[test]
    fn the_tightest_limit_counts() {
        assert_eq!(available_under(system(&[]).path()), None);
        assert_eq!(available_under(system(&[FREE]).path()), Some(4000 * 1024));
        let version_2 = system(&[
            FREE,
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "700\n"),
            ("sys/fs/cgroup/job/memory.max", "1000\n"),
            ("sys/fs/cgroup/job/memory.current", "800\n"),
            ("sys/fs/cgroup/job/memory.stat", "anon 5\nfile 300\ninactive_file 200\nactive_file 100\n"),
        ]);
        assert_eq!(available_under(version_2.path()), Some(500));
        let version_1 = system(&[
            FREE,
            ("proc/self/cgroup", "9:cpu:/x\n4:blkio,memory:/elsewhere\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1200\n"),
            ("sys/fs/cgroup/memory/memory.stat", "cache 900\ntotal_inactive_file 300\ntotal_active_file 0\n"),
        ]);
        assert_eq!(available_under(version_1.path()), Some(100));
    }

    #[test]
    fn numbers_that_make_no_sense_are_not_limits() {
        let odd = system(&[
            FREE,
            ("proc/self/cgroup", "nonsense\n0::\n4:memory:/a\n"),
            ("sys/fs/cgroup/memory.max", "-1\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "12\n"),
        ]);
        assert_eq!(available_under(odd.path()), Some(4000 * 1024));
    }
}

//! Translations that are kept for later runs (`-persist`): used where nothing has changed, and only there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bubble::switches::Optimisation;
use suites::guest;
use suites::run::{Job, run};
use suites::superpin::{Counted, command, count_with};
use suites::switches::is_on;
use tempfile::TempDir;

/// A folder to keep translations in.
struct Kept(TempDir);

impl Kept {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A run with these further options. Gives its total as well.
    fn run(&self, tool: &str, options: &[&str], job: &Job) -> (Counted, u64) {
        let persist = ["-persist", self.0.path().to_str().unwrap()];
        let counted = count_with(tool, &[&persist[..], options].concat(), job).unwrap();
        let total = counted.total.unwrap_or_else(|| panic!("no total: {:?}", counted.outcome));
        (counted, total)
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

fn number(counted: &Counted, name: &str) -> u64 {
    counted.statistic(name).unwrap_or_else(|| panic!("no {name} in\n{}", counted.report)) as u64
}

fn loaded(counted: &Counted) -> u64 {
    number(counted, "kept_bytes_loaded")
}

fn serially(job: &Job) -> u64 {
    count_with("icount2", &["-sp", "0"], job).unwrap().total.unwrap()
}

/// Long enough for a file not to have been changed shortly before a run.
fn let_files_age() {
    std::thread::sleep(Duration::from_millis(2500));
}

#[test]
fn the_second_run_translates_nothing() {
    // Many files that nobody changes meanwhile, without names of users.
    let (kept, job) = (Kept::new(), Job::new(["/bin/ls", "-lnR", concat!(env!("CARGO_MANIFEST_DIR"), "/guests")]));
    let plain = serially(&job);
    for mode in [&["-sp", "0"][..], &["-sp", "0", "-follow", "1"], &["-sp", "1", "-spsysrecs", "5"]] {
        let (first, first_total) = kept.run("icount2", mode, &job);
        assert_eq!(first_total, plain, "{mode:?}");
        if mode.contains(&"-follow") {
            assert!(loaded(&first) > 0, "whether processes are followed makes no difference to code");
            continue;
        }
        assert!(number(&first, "kept_bytes_saved") > 0 && loaded(&first) == 0, "{mode:?}\n{}", first.report);
        // With another file for the result, as all of these runs have.
        let (second, second_total) = kept.run("icount2", mode, &job);
        assert_eq!(second_total, plain, "{mode:?}");
        assert_eq!(loaded(&second), number(&first, "kept_bytes_saved"));
        assert!(number(&second, "traces") * 50 < number(&first, "traces"), "{mode:?}\n{}", second.report);
    }
}

#[test]
fn what_translations_depend_on_tells_them_apart() {
    let (kept, job) = (Kept::new(), Job::new(["/bin/true"]));
    kept.run("icount2", &["-sp", "0"], &job);
    let on = Optimisation::ALL.into_iter().find(|&optimisation| is_on(optimisation));
    let switch = on.map_or("none".to_owned(), |optimisation| format!("no-{}", optimisation.name()));
    let others: [(&str, &[&str]); 4] = [
        ("icount1", &["-sp", "0"]),
        ("icount2", &["-sp", "1"]),
        ("icount2", &["-sp", "0", "-trace-blocks", "1"]),
        ("icount2", &["-sp", "0", "-engine", &switch]),
    ];
    // If all of them are off anyway the last one is the same.
    let differ = if on.is_some() { 4 } else { 3 };
    for (tool, options) in &others[..differ] {
        let (counted, _) = kept.run(tool, options, &job);
        assert_eq!(loaded(&counted), 0, "{tool} {options:?}");
    }
    let (other, _) = kept.run("icount2", &["-sp", "0"], &Job::new(["/bin/false"]));
    assert_eq!(loaded(&other), 0);
    assert_eq!(kept.files().len(), differ + 2);
}

/// The same path and even the same inode, but other contents.
#[test]
fn a_changed_program_is_translated_anew() {
    let (kept, folder) = (Kept::new(), tempfile::tempdir().unwrap());
    let program = folder.path().join("program");
    fs::copy(guest::named("loops").executable(), &program).unwrap();
    let job = Job::new([program.as_os_str(), "20".as_ref()]);
    let (unsettled, total) = kept.run("icount2", &["-sp", "0"], &job);
    assert!(number(&unsettled, "traces") > 0 && loaded(&unsettled) == 0, "{}", unsettled.report);
    let_files_age();
    assert_eq!(kept.run("icount2", &["-sp", "0"], &job).1, total);
    let (used, again) = kept.run("icount2", &["-sp", "0"], &job);
    assert!(loaded(&used) > 0 && again == total);
    fs::write(&program, fs::read(guest::named("recursion").executable()).unwrap()).unwrap();
    let (changed, total) = kept.run("icount2", &["-sp", "0"], &job);
    assert_eq!((loaded(&changed), total), (0, serially(&job)));
}

/// The program is the same, but one of its libraries isn't.
#[test]
fn a_changed_library_is_translated_anew() {
    let (kept, folder) = (Kept::new(), tempfile::tempdir().unwrap());
    let loader = "/lib64/ld-linux-x86-64.so.2";
    let library = folder.path().join("libc.so.6");
    let installed = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"];
    fs::copy(installed.into_iter().find(|path| Path::new(path).exists()).unwrap(), &library).unwrap();
    let job = Job::new([loader, "--library-path", folder.path().to_str().unwrap(), "/bin/true"]);
    let_files_age();
    let (_, total) = kept.run("icount2", &["-sp", "0"], &job);
    let (used, again) = kept.run("icount2", &["-sp", "0"], &job);
    assert!(loaded(&used) > 0 && again == total, "{}", used.report);
    // Its time of change alone.
    fs::set_permissions(&library, Permissions::from_mode(0o700)).unwrap();
    let (changed, again) = kept.run("icount2", &["-sp", "0"], &job);
    assert_eq!((loaded(&changed), again), (0, total));
}

#[test]
fn a_damaged_file_is_not_used() {
    let (kept, job) = (Kept::new(), Job::new(["/bin/true"]));
    let (_, total) = kept.run("icount2", &["-sp", "0"], &job);
    let file = kept.files().remove(0);
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[100] ^= 1;
    for bad in [&good[..good.len() / 2], &good[..50], &[], &flipped] {
        fs::write(&file, bad).unwrap();
        let (counted, again) = kept.run("icount2", &["-sp", "0"], &job);
        assert_eq!((loaded(&counted), again), (0, total), "{} bytes", bad.len());
        assert_eq!(kept.files(), std::slice::from_ref(&file));
        assert_eq!(kept.run("icount2", &["-sp", "0"], &job).1, total);
    }
    fs::write(&file, &good).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(loaded(&kept.run("icount2", &["-sp", "0"], &job).0), 0, "others may have written it");
}

#[test]
fn each_program_that_a_run_executes_has_its_own() {
    let (kept, job) =
        (Kept::new(), Job::new(["/usr/bin/env", "/bin/sh", "-c", "/bin/true; /bin/false; exec /bin/true"]));
    let options = ["-sp", "0", "-follow", "1"];
    let (first, total) = kept.run("icount2", &options, &job);
    let (second, again) = kept.run("icount2", &options, &job);
    assert_eq!((again, &second.children), (total, &first.children));
    assert!(number(&second, "traces") < 10, "{}", second.report);
    // env, sh, true and false
    assert_eq!(kept.files().len(), 4);
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let refused = |path: &Path| {
        let job = Job::new(command()).with("-persist").with(path);
        let outcome = run(&["-t", "icount2", "--", "/bin/echo", "ran"].into_iter().fold(job, Job::with)).unwrap();
        (outcome.status, outcome.stdout.is_empty(), String::from_utf8(outcome.stderr).unwrap())
    };
    let (status, silent, told) = refused(folder.path());
    assert!(status == 125 && silent && told.contains("others may write there"), "{told}");
    let (status, silent, told) = refused(Path::new("/dev/null"));
    assert!(status == 125 && silent && told.contains("-persist /dev/null"), "{told}");
}

//! What is said where something is wrong: what it is, where, and what helps.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use suites::run::Scratch;
use suites::superpin::{binary, parse_total};

use super::{executable, fails, superpin, text};

/// Both modes, without a word of what doesn't belong there.
fn fails_with(arguments: &[&str], status: i32, words: &[&str], not: &[&str]) {
    for sliced in ["0", "1"] {
        let arguments = [&["-sp", sliced], arguments].concat();
        fails(&arguments, &[status], words);
        let told = text(&superpin(&arguments).stderr);
        assert!(not.iter().all(|word| !told.contains(word)), "{arguments:?}: {told}");
    }
}

#[test]
fn names_that_were_misspelt_are_guessed() {
    let app = ["--", "/bin/true"];
    let words = ["no tool is named `icuont2`; did you mean `icount2`?", "`none`, `icount1`"];
    fails_with(&[&["-t", "icuont2"], &app[..]].concat(), 125, &words, &["there are none", "are none,"]);
    fails_with(&[&["-t", "gprof"], &app[..]].concat(), 125, &["no tool is named `gprof` ("], &["did you mean"]);
    fails_with(&[&["-spmesc", "5", "-t", "none"], &app[..]].concat(), 125, &["did you mean `-spmsec`?"], &[]);
}

#[test]
fn numbers_out_of_bounds_are_told_in_words() {
    let run = |option: &str, value: &str, most: &str| {
        let words = [value, option, &format!("must be a whole number from {most}")];
        fails_with(&[option, value, "-t", "none", "--", "/bin/true"], 125, &words, &["..", "tip:"]);
    };
    run("-spmsec", "-5", "1 to 86400000");
    run("-spmsec", "0", "1 to 86400000");
    run("-spmp", "129", "1 to 128");
    run("-spsysrecs", "-1", "0 to 4294967295");
    run("-spgrace", "soon", "0 to 184467440737");
    run("-trace-ins", "257", "1 to 256");
    run("-cache-bytes", "1", "32768 to 268435456");
    fails_with(&["-t", "opcodes", "--top", "-5", "--", "/bin/true"], 125, &["-5", "--top"], &["tip:"]);
}

#[test]
fn regions_that_contradict_themselves_are_told_before_the_app_starts() {
    let run = |options: &[&str], words: &[&str]| {
        fails_with(&[&["-t", "none"], options, &["--", "/bin/echo", "started"]].concat(), 125, words, &["started"]);
    };
    run(&["-start-icount", "5", "-start-symbol", "main"], &["one start: -start-symbol or -start-icount"]);
    run(&["-trace", "5", "-stop-icount", "9"], &["one end: -stop-icount or -trace"]);
    run(&["-start-icount", "1k", "-stop-icount", "1000"], &["the region is empty", "1000"]);
    run(&["-trace", "0"], &["the region is empty"]);
    run(&["-start-icount", "many"], &["many", "a whole number", "k, M or G"]);
    run(&["-start-address", "main"], &["main", "an address in hexadecimal", "0x401000:3"]);
    run(&["-stop-marker", "4294967296"], &["4294967296", "32 bits"]);
    run(&["-start-address", "0x401000", "-aslr", "1"], &["-aslr 0"]);
    run(&["-skip", "5", "-persist", "/nonexistent"], &["-persist", "region"]);
}

#[test]
fn a_program_that_cannot_be_loaded() {
    let scratch = Scratch::new().unwrap();
    let file = |name: &str, contents: &[u8]| executable(&scratch.beside(name), contents);
    let shell = fs::read("/bin/sh").unwrap();
    let truncated = file("truncated", &shell[..1000]);
    let script = file("script", b"#!/nonexistent/interpreter -x\necho\n");
    let twice = file("twice", format!("#! {script}\n").as_bytes());
    let of_folder = file("of_folder", b"#!/tmp\n");
    // Another dynamic loader, whose name is as long.
    let name = b"/lib64/ld-linux-x86-64.so.2";
    let at = shell.windows(name.len()).position(|bytes| bytes == name).expect("it is linked dynamically");
    let mut loaded = shell.clone();
    loaded[at..at + 6].copy_from_slice(b"/nolib");
    let loaded = file("loaded", &loaded);
    let fails =
        |app: &str, status, words: &[&str]| fails_with(&["-t", "icount2", "--", app], status, words, &["killed"]);
    fails(&truncated, 126, &[&truncated, "is truncated: its segments end at byte", "the file has 1000"]);
    fails(&script, 126, &[&script, "its interpreter /nonexistent/interpreter can't be executed: No such file"]);
    fails(&twice, 126, &[&twice, "its interpreter /nonexistent/interpreter can't be executed: No such file"]);
    fails(&of_folder, 126, &[&of_folder, "its interpreter /tmp can't be executed: Permission denied"]);
    fails(&loaded, 126, &[&loaded, "its interpreter /nolib/ld-linux-x86-64.so.2 can't be executed: No such file"]);
    fails("", 127, &["the program's name is empty"]);
}

fn as_nobody(arguments: &[&str]) -> Option<Output> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let folder = Scratch::new().unwrap();
    let copy = folder.cwd().join("superpin");
    super::copy(binary(), &copy);
    for path in folder.cwd().ancestors().take(2).chain([copy.as_path()]) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    const USER: u32 = 54323;
    Some(Command::new(&copy).args(arguments).uid(USER).gid(USER).current_dir("/").output().unwrap())
}

#[test]
fn a_program_that_cannot_be_read() {
    let scratch = Scratch::new().unwrap();
    let folder = scratch.cwd();
    folder.ancestors().take(2).for_each(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap());
    let unreadable = folder.join("unreadable");
    super::copy("/bin/sh".as_ref(), &unreadable);
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o711)).unwrap();
    let app = unreadable.to_str().unwrap();
    let script = executable(&folder.join("script"), format!("#!{app}\necho\n").as_bytes());
    for sliced in ["0", "1"] {
        for app in [app, &script] {
            let Some(output) = as_nobody(&["-sp", sliced, "-t", "icount2", "--", app]) else { return };
            let told = text(&output.stderr);
            assert!(output.status.code() == Some(126) && told.contains("can't be read"), "{app}: {told}");
        }
    }
}

/// Refuses a system call, as filters of containers do.
fn refuse(call: i64) -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32) },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain system calls; the filter lives.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[test]
fn a_system_call_that_is_refused_is_named() {
    for (name, call) in [("process_vm_readv", libc::SYS_process_vm_readv), ("prctl", libc::SYS_prctl)] {
        let mut command = Command::new(binary());
        command.args(["-t", "icount2", "--", "/bin/true"]);
        // SAFETY: the closure makes two system calls, on values of its own.
        let output = unsafe { command.pre_exec(move || refuse(call)) }.output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{told}");
        assert!(told.contains(&format!("system call {name} is refused here")) && told.contains("container"), "{told}");
    }
}

/// `unshare` with these options, if that is allowed here.
fn unshared(options: &[&str], script: &str) -> Option<String> {
    let run = |script: &str| {
        Command::new("unshare").args(options).args(["/bin/sh", "-c", script]).arg(binary()).output().unwrap()
    };
    run(":").status.success().then(|| text(&run(script).stderr))
}

#[test]
fn a_proc_of_another_place_is_told() {
    let superpin = "\"$0\" -t icount2 -- /bin/true";
    let Some(told) = unshared(&["-pf"], superpin) else { return };
    assert!(told.contains("/proc here is that of another PID namespace") && told.contains("--mount-proc"), "{told}");
    let told = unshared(&["-pf", "--mount-proc"], superpin).unwrap();
    assert!(parse_total(&told).is_some(), "{told}");
    // Nothing is there but an empty folder. The program is opened before.
    let without = "exec 9< \"$0\"; mount -t tmpfs none /proc && exec \"$0\" -t icount2 -- /bin/true";
    let told = unshared(&["-m"], without).unwrap();
    assert!(told.contains("there is no /proc here"), "{told}");
}

#[test]
fn another_tracer_is_named() {
    let traced = Command::new("strace")
        .args(["-f", "-o", "/dev/null"])
        .arg(binary())
        .args(["-t", "icount2", "--", "/bin/true"])
        .output();
    // It is what the tests need besides (`scripts/install-deps.sh`) only perhaps.
    let Ok(output) = traced else { return };
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(125) && told.contains("(strace) traces superpin"), "{told}");
    assert!(!told.contains("cap-add"), "{told}");
}

#[test]
fn a_process_without_a_result_has_its_name() {
    let scratch = Scratch::new().unwrap();
    let foreign = executable(&scratch.beside("foreign"), &super::elf_header(1, 3));
    let shell = fs::read("/bin/sh").unwrap();
    let truncated = executable(&scratch.beside("truncated"), &shell[..1000]);
    for sliced in ["0", "1"] {
        for child in [&foreign, &truncated] {
            let script = format!("{child}; :");
            let outcome = superpin(&["-sp", sliced, "-follow", "1", "-t", "icount2", "--", "/bin/sh", "-c", &script]);
            let told = text(&outcome.stderr);
            assert!(!told.contains(" ()"), "{told}");
        }
    }
}

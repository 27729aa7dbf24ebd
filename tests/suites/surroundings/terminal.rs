//! superpin at a terminal: what a person sees of a program that is stopped, continued and interrupted is what they would see without superpin.
//!
//! Each scene is played natively first.

use std::fs;
use std::thread;

use suites::run::Scratch;
use suites::superpin::command;
use suites::terminal::Terminal;

/// Options of superpin; none: natively.
const WAYS: &[Option<&str>] = &[None, Some("-sp 0"), Some("-sp 1"), Some("-sp 0 -follow 1"), Some("-sp 1 -follow 1")];

/// Plays a scene in each way, all at the same time: most of it is waiting. What is typed before the program's name is its first argument.
fn play(scene: impl Fn(&mut Terminal, &str, Option<&str>) + Sync) {
    let play_in = |way: &Option<&str>| {
        let scratch = Scratch::new().unwrap();
        fs::write(scratch.cwd().join("text"), "the text in the file\n".repeat(100)).unwrap();
        let mut terminal = Terminal::new(&scratch.cwd()).unwrap();
        let prefix = way.map_or_else(String::new, |options| {
            let words: Vec<String> = command().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            format!("{} {options} -t icount2 -- ", words.join(" "))
        });
        scene(&mut terminal, &prefix, *way);
    };
    // Their name says which of the engine's optimisations are off.
    let name = thread::current().name().unwrap_or_default().to_owned();
    thread::scope(|scope| {
        for way in WAYS {
            thread::Builder::new().name(name.clone()).spawn_scoped(scope, || play_in(way)).unwrap();
        }
    });
}

/// The first of these programs that is installed.
fn installed(names: &[&'static str]) -> Option<&'static str> {
    let found = names.iter().find(|name| {
        ["/usr/bin", "/bin"].iter().any(|folder| fs::exists(format!("{folder}/{name}")).is_ok_and(|is| is))
    });
    if found.is_none() {
        eprintln!("skipped: none of {names:?} is installed (scripts/install-deps.sh)");
    }
    found.copied()
}

fn has_status(terminal: &mut Terminal, status: i32) {
    terminal.command("echo status=$?.");
    terminal.expect(&format!("status={status}."));
}

/// `less` cleans the screen up and then stops itself alone.
#[test]
fn a_pager_is_stopped_and_continued() {
    let Some(less) = installed(&["less"]) else { return };
    play(|terminal, prefix, _| {
        terminal.command(&format!("{prefix}{less} text"));
        terminal.expect("the text in the file");
        // Its prompt.
        terminal.expect("\x1b[7mtext");
        for _ in 0..2 {
            terminal.suspend();
            terminal.command("echo here $((1+1)).");
            terminal.expect("here 2.");
            terminal.command("fg");
            terminal.expect("the text in the file");
            terminal.expect(":");
        }
        terminal.keys(b"q");
        has_status(terminal, 0);
    });
}

/// With the pager as a child, which stops a little later than the shell that waits for it.
#[test]
fn a_pager_in_a_script_is_stopped_and_continued() {
    let Some(less) = installed(&["less"]) else { return };
    play(|terminal, prefix, _| {
        terminal.command(&format!("{prefix}sh -c '{less} text; exit 3'"));
        terminal.expect("\x1b[7mtext");
        terminal.suspend();
        terminal.command("fg");
        terminal.expect("the text in the file");
        terminal.keys(b"q");
        has_status(terminal, 3);
    });
}

/// `vim` stops its process group, and has threads.
#[test]
fn an_editor_is_stopped_and_continued() {
    let Some(vim) = installed(&["vim", "vim.tiny"]) else { return };
    play(|terminal, prefix, _| {
        terminal.command(&format!("{prefix}{vim} -u NONE -i NONE -n text"));
        terminal.expect("the text in the file");
        terminal.keys(b"ggOa new line\x1b");
        terminal.expect("a new line");
        terminal.suspend();
        terminal.command("fg");
        terminal.expect("a new line");
        terminal.line(":wq");
        terminal.command("echo status=$?; cat text");
        terminal.expect("status=");
        terminal.expect("0");
        terminal.expect("a new line");
    });
}

#[test]
fn a_program_that_stops_itself() {
    play(|terminal, prefix, _| {
        let program = "$SIG{CONT} = sub { $n++ }; $| = 1; for $s (\"TSTP\", \"STOP\", \"TTIN\") { kill $s, $$; print \"continued $n\\n\" } exit 5";
        terminal.command(&format!("{prefix}perl -e '{program}'"));
        for n in 1..=3 {
            terminal.expect("Stopped");
            terminal.command("fg");
            terminal.expect(&format!("continued {n}"));
        }
        has_status(terminal, 5);
    });
}

/// Somebody who knows nothing of superpin continues it.
#[test]
fn a_program_is_continued_by_its_child() {
    play(|terminal, prefix, _| {
        let program = "$p = $$; if (!fork) { select undef, undef, undef, 1; kill \"CONT\", $p; exit } kill \"STOP\", $$; print \"cont\", \"inued\\n\"; wait; exit 6";
        terminal.command(&format!("{prefix}perl -e '{program}'"));
        terminal.expect("continued");
        // The shell has asked for a command before.
        terminal.line("fg");
        terminal.command("echo status of $((3*4)).");
        terminal.expect("status of 12.");
    });
}

/// What reads from the terminal in the background is stopped until it is in the foreground.
#[test]
fn a_program_in_the_background_reads() {
    play(|terminal, prefix, _| {
        terminal.command(&format!("{prefix}cat &"));
        // A shell tells of it when it asks for the next command.
        while !terminal.text().contains("Stopped") {
            terminal.command("sleep 1; echo slept $((6*7)).");
            terminal.expect("slept 42.");
        }
        terminal.command("fg");
        terminal.says_again("typed by hand");
        terminal.end_of_input();
        has_status(terminal, 0);
    });
}

#[test]
fn a_program_is_interrupted() {
    play(|terminal, prefix, way| {
        terminal.command(&format!("{prefix}sh -c 'echo up $((20+1)); exec cat'"));
        terminal.expect("up 21");
        terminal.says_again("typed by hand");
        terminal.suspend();
        terminal.command("fg");
        terminal.says_again("typed once more");
        terminal.interrupt();
        if way.is_some() {
            terminal.expect("Total Count: ");
        }
        has_status(terminal, 128 + libc::SIGINT);
    });
}

/// A line says how a run in slices gets on, and the app's own lines are as without it.
#[test]
fn a_line_tells_how_a_run_gets_on() {
    const APP: &str = r#"perl -e '$| = 1; print "half "; select undef, undef, undef, 2.5; print "line\n"'"#;
    let words: Vec<String> = command().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let superpin = words.join(" ");
    for (options, redirection, is_shown) in
        [("-sp 1", "", true), ("-sp 1 -q", "", false), ("-sp 0", "", false), ("-sp 1", "2> told", false)]
    {
        let scratch = Scratch::new().unwrap();
        let mut terminal = Terminal::new(&scratch.cwd()).unwrap();
        terminal.command(&format!("{superpin} {options} -t icount2 -- {APP} {redirection}; echo status=$?."));
        terminal.expect("status=0.");
        let text = terminal.text();
        assert_eq!(text.contains(" merged"), is_shown, "{options} {redirection}: {text:?}");
        let own = without_ours(&text);
        assert!(
            own.replace("\r\n", "\n").replace('\r', "\n").contains("\nhalf line\n"),
            "{options} {redirection}: {own:?}"
        );
    }
}

/// What is left when what is written beside the cursor, and what erases that, is taken out.
fn without_ours(text: &str) -> String {
    let mut own = String::new();
    let mut rest = text;
    while let Some((before, ours)) = rest.split_once("\x1b7") {
        own.push_str(before);
        rest = ours.split_once("\x1b8").map_or("", |(_, after)| after);
    }
    (own + rest).replace("\x1b[K", "")
}

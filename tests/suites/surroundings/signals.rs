//! Signals that are sent to superpin, or that it was started with, are the app's.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use suites::deadline::wait_for;
use suites::run::{Job, Scratch, as_shell, run};
use suites::superpin::{command, parse_total};

const WAYS: &[Option<&[&str]>] = &[
    None,
    Some(&["-sp", "0"]),
    Some(&["-sp", "1"]),
    Some(&["-sp", "1", "-spsysrecs", "0"]),
    Some(&["-sp", "0", "-follow", "1"]),
];

/// Tells each signal that comes, with its sender, and ends at SIGTERM's second.
const LISTENER: &str = r#"
import os, signal, sys
def tell(text): os.write(1, (text + "\n").encode())
everything = set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
tell("ready")
while True:
    info = signal.sigwaitinfo(everything)
    if info.si_signo == signal.SIGCHLD: continue
    tell(f"{info.si_signo}")
    if info.si_signo == signal.SIGTERM: break
"#;

struct Listener {
    superpin: Child,
    told: BufReader<ChildStdout>,
    _input: ChildStdin,
    scratch: Scratch,
}

impl Listener {
    fn start(way: Option<&[&str]>, app: &Job) -> Self {
        let scratch = Scratch::new().unwrap();
        let job = match way {
            Some(options) => {
                let options = options.iter().map(Into::into).chain(["-t", "icount2", "--"].map(Into::into));
                app.under(command().into_iter().chain(options))
            }
            None => app.clone(),
        };
        let mut command = job.command(&scratch.cwd()).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command.stderr(File::create(scratch.beside("err")).unwrap());
        let mut superpin = command.spawn().unwrap();
        let told = BufReader::new(superpin.stdout.take().unwrap());
        let input = superpin.stdin.take().unwrap();
        let mut listener = Self { superpin, told, _input: input, scratch };
        assert_eq!(listener.line(), "ready");
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        let err = || std::fs::read_to_string(self.scratch.beside("err")).unwrap();
        assert!(!line.is_empty(), "it has ended: {:?}, {}", wait_for(&mut self.superpin), err());
        line.trim_end().to_owned()
    }

    fn send(&self, signal: i32) {
        send(self.superpin.id() as i32, signal);
    }

    /// To all processes of the run.
    fn send_to_group(&self, signal: i32) {
        send(-(self.superpin.id() as i32), signal);
    }

    /// Until superpin has taken all that was sent to it: a signal that still waits there would swallow the next of its kind.
    fn wait_until_taken(&self) {
        let path = format!("/proc/{}/status", self.superpin.id());
        let waits = || {
            let status = std::fs::read_to_string(&path).unwrap();
            let mut sets = status.lines().filter(|line| line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"));
            !sets.all(|line| line.ends_with("\t0000000000000000"))
        };
        while waits() {
            sleep(Duration::from_millis(1));
        }
    }

    fn end(mut self) -> (i32, String) {
        let status = wait_for(&mut self.superpin).unwrap();
        (as_shell(status), std::fs::read_to_string(self.scratch.beside("err")).unwrap())
    }
}

fn send(pid: i32, signal: i32) {
    // SAFETY: kill reads no memory; the process is a child of this test's that hasn't been reaped.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

fn perl(program: &str) -> Job {
    Job::new(["/usr/bin/perl", "-e", program])
}

/// All signals that can be taken by a call. Not those that instructions raise, which an app of a serial run can't block while they are sent.
fn signals() -> impl Iterator<Item = i32> {
    const LEFT_OUT: [i32; 8] = [
        libc::SIGKILL,
        libc::SIGSTOP,
        libc::SIGCHLD,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
    ];
    // Two of them are libc's own.
    (1..=64).filter(|signal| !LEFT_OUT.contains(signal) && ![32, 33].contains(signal))
}

/// It takes them by a call, one after the other.
#[test]
fn every_signal_is_the_apps() {
    let app = Job::new(["/usr/bin/python3", "-S", "-c", LISTENER]);
    for way in WAYS {
        let mut listener = Listener::start(*way, &app);
        for signal in signals().filter(|signal| *signal != libc::SIGTERM) {
            listener.send(signal);
            assert_eq!(listener.line(), signal.to_string(), "{way:?}");
        }
        listener.send(libc::SIGTERM);
        assert_eq!(listener.line(), libc::SIGTERM.to_string());
        let (status, told) = listener.end();
        assert_eq!((status, parse_total(&told).is_some()), (0, way.is_some()), "{way:?}: {told}");
    }
}

/// It has handlers, which see who has sent the signal: this test and not superpin.
#[test]
fn handlers_see_the_sender() {
    // They come while it waits for them and at no other time: perl doesn't survive a handler in the midst of its own work.
    let program = "use POSIX; $| = 1; @n = (10, 12, 14, 28, 1, 2, 3, 34, 64); \
        $all = POSIX::SigSet->new(@n); POSIX::sigprocmask(POSIX::SIG_BLOCK, $all); \
        for $n (@n) { POSIX::sigaction($n, POSIX::SigAction->new(sub { \
        syswrite STDOUT, \"$_[1]{signo} $_[1]{code} \" . ($_[1]{pid} == $ARGV[0] ? \"right\" : \"wrong\") . \"\\n\" }, $all, POSIX::SA_SIGINFO)) } \
        syswrite STDOUT, \"ready\\n\"; POSIX::sigsuspend(POSIX::SigSet->new) while 1";
    let app = perl(program).with(std::process::id().to_string());
    for way in WAYS {
        let mut listener = Listener::start(*way, &app);
        for signal in [10, 12, 14, 28, 1, 2, 3, 34, 64, 10] {
            listener.send(signal);
            assert_eq!(listener.line(), format!("{signal} 0 right"), "{way:?}");
        }
        // Once, although superpin gets it as well.
        for signal in [10, 12, 2, 34] {
            listener.send_to_group(signal);
            assert_eq!(listener.line(), format!("{signal} 0 right"), "{way:?}");
        }
        listener.wait_until_taken();
        listener.send(libc::SIGUSR2);
        assert_eq!(listener.line(), "12 0 right", "{way:?}");
        listener.send(libc::SIGTERM);
        let (status, told) = listener.end();
        assert_eq!((status, parse_total(&told).is_some()), (128 + libc::SIGTERM, way.is_some()), "{way:?}: {told}");
    }
}

/// It does nothing but compute while they come.
#[test]
fn a_computation_is_asked_how_far_it_is() {
    let program = "$SIG{USR1} = sub { syswrite STDOUT, \"asked\\n\" }; $SIG{TERM} = sub { exit 7 }; syswrite STDOUT, \"ready\\n\"; $n++ while 1";
    for way in WAYS {
        let mut listener = Listener::start(*way, &perl(program));
        for _ in 0..5 {
            listener.send(libc::SIGUSR1);
            assert_eq!(listener.line(), "asked", "{way:?}");
        }
        listener.send(libc::SIGTERM);
        let (status, told) = listener.end();
        assert_eq!((status, parse_total(&told).is_some()), (7, way.is_some()), "{way:?}: {told}");
    }
}

/// The app sends one to its group, of which superpin is a member: it gets it once.
#[test]
fn the_group_is_sent_a_signal() {
    let program = "$| = 1; for $s (\"USR1\", \"HUP\", \"RTMIN\") { $SIG{$s} = sub { $n{$_[0]}++ } } \
        for (1..20) { kill $_, 0 for \"USR1\", \"HUP\", \"RTMIN\"; select undef, undef, undef, 0.01 } \
        print map { \"$_ $n{$_}\\n\" } sort keys %n";
    let native = run(&perl(program)).unwrap();
    assert_eq!(String::from_utf8_lossy(&native.stdout), "HUP 20\nRTMIN 20\nUSR1 20\n");
    for options in WAYS.iter().flatten() {
        let options = options.iter().map(Into::into).chain(["-t", "icount2", "--"].map(Into::into));
        let outcome = run(&perl(program).under(command().into_iter().chain(options))).unwrap();
        assert_eq!((outcome.status, &outcome.stdout), (0, &native.stdout), "{outcome:?}");
    }
}

/// What was ignored or blocked when superpin was started is so for the app.
#[test]
fn the_app_starts_with_the_dispositions_of_superpin() {
    let show = Job::new(["/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]);
    let started_with = |job: &Job, blocked: &'static [i32], ignored: &'static [i32]| {
        let scratch = Scratch::new().unwrap();
        let mut command: Command = job.command(&scratch.cwd()).unwrap();
        // SAFETY: plain system calls on a set of the new process's own.
        unsafe {
            command.pre_exec(move || {
                let mut set = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                for signal in blocked {
                    libc::sigaddset(&raw mut set, *signal);
                }
                libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
                for signal in 1..=31 {
                    libc::signal(signal, libc::SIG_DFL);
                }
                for signal in ignored {
                    libc::signal(*signal, libc::SIG_IGN);
                }
                Ok(())
            });
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let all: &[i32] = &[1, 2, 3, 6, 10, 12, 13, 14, 15, 17, 18, 20, 21, 22, 23, 24, 25, 28, 29];
    for (blocked, ignored) in
        [(&[][..], &[][..]), (all, all), (&[libc::SIGUSR1], &[libc::SIGPIPE, libc::SIGHUP]), (&[], &[libc::SIGCHLD])]
    {
        let native = started_with(&show, blocked, ignored);
        for options in WAYS.iter().flatten() {
            let options = options.iter().map(Into::into).chain(["-t", "icount2", "--"].map(Into::into));
            let job = show.under(command().into_iter().chain(options));
            let here = started_with(&job, blocked, ignored);
            // Serially the engine has handlers.
            let told = |text: &str| {
                text.lines().filter(|line| !line.starts_with("SigCgt")).map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(
                (here.0, told(&here.1)),
                (native.0, told(&native.1)),
                "{options:?} {blocked:?} {ignored:?}",
                options = job.argv
            );
        }
    }
}

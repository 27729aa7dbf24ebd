//! A terminal with a shell that does job control, as a person has it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What hasn't appeared by then won't, even on a busy machine.
const NEVER: Duration = Duration::from_secs(300);
const PROMPT: &str = "ready> ";
const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";
const CTRL_Z: &[u8] = b"\x1a";

/// A pseudo-terminal in which `bash` waits for commands.
pub struct Terminal {
    shell: Child,
    keyboard: File,
    shown: Vec<u8>,
    /// So much of that has been looked at.
    looked_at: usize,
}

impl Terminal {
    /// Starts the shell in the current directory `cwd`.
    ///
    /// # Errors
    /// If there are no pseudo-terminals, or no bash.
    pub fn new(cwd: &Path) -> io::Result<Self> {
        let (ours, its) = pair()?;
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile", "-i"]).current_dir(cwd).env_clear().envs(crate::run::ENVIRONMENT);
        command.envs([("TERM", "xterm"), ("PS1", PROMPT), ("COLUMNS", "80"), ("LINES", "24")]);
        command.stdin(its.try_clone()?).stdout(its.try_clone()?).stderr(its);
        // SAFETY: plain system calls, which are safe after a fork.
        unsafe {
            command.pre_exec(|| {
                for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGHUP] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                libc::setsid();
                match libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) {
                    -1 => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            });
        }
        Ok(Self { shell: command.spawn()?, keyboard: ours.into(), shown: Vec::new(), looked_at: 0 })
    }

    /// Types a line. It ends as it does in whatever mode the terminal is, which the shell changes when it starts something.
    pub fn line(&mut self, text: &str) {
        self.keys(format!("{text}\n").as_bytes());
    }

    /// Types something.
    pub fn keys(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("the terminal takes keys");
    }

    /// Ctrl-C.
    pub fn interrupt(&mut self) {
        self.keys(CTRL_C);
    }

    /// Ctrl-D.
    pub fn end_of_input(&mut self) {
        self.keys(CTRL_D);
    }

    /// Ctrl-Z when nothing in the terminal has anything more to do, and until everything is quiet again.
    ///
    /// A program that shows something and is about to wait for a key notices the signal, natively as well, only at that key; a child stops later than
    /// the parent of which the shell tells.
    ///
    /// # Panics
    /// As [`Terminal::expect`].
    pub fn suspend(&mut self) {
        self.wait_until_quiet();
        let give_up = Instant::now() + NEVER;
        loop {
            self.keys(CTRL_Z);
            if self.shows("Stopped", Duration::from_secs(2)) {
                break;
            }
            assert!(Instant::now() < give_up, "nothing stops; shown was:\n{}", self.text());
        }
        self.wait_until_quiet();
    }

    /// Waits until all processes in the terminal sleep or are stopped, as they are while they wait for keys.
    fn wait_until_quiet(&self) {
        let give_up = Instant::now() + NEVER;
        let mut quiet = 0;
        while quiet < 5 {
            std::thread::sleep(Duration::from_millis(50));
            let are_quiet = session(self.shell.id()).into_iter().all(|pid| !matches!(state_of(pid), Some('R' | 'D')));
            quiet = if are_quiet { quiet + 1 } else { 0 };
            assert!(Instant::now() < give_up, "something runs for ever; shown was:\n{}", self.text());
        }
    }

    /// Types a command when the shell asks for one.
    pub fn command(&mut self, text: &str) {
        self.expect(PROMPT);
        self.line(text);
    }

    /// Waits until something is shown, behind what was waited for before.
    ///
    /// # Panics
    /// If it isn't shown for a long time.
    pub fn expect(&mut self, text: &str) {
        assert!(self.shows(text, NEVER), "{text:?} doesn't appear; shown was:\n{}", self.text());
    }

    fn shows(&mut self, text: &str, most: Duration) -> bool {
        let give_up = Instant::now() + most;
        loop {
            let new = &self.shown[self.looked_at..];
            if let Some(at) = new.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.looked_at += at + text.len();
                return true;
            }
            if !self.read(give_up.saturating_duration_since(Instant::now())) {
                return false;
            }
        }
    }

    /// Types a line until it is shown twice: by the terminal and by the program in it. What is typed while a shell starts or continues a program may get lost.
    ///
    /// # Panics
    /// As [`Terminal::expect`].
    pub fn says_again(&mut self, text: &str) {
        let give_up = Instant::now() + NEVER;
        let mut typed = 0;
        loop {
            self.line(text);
            let soon = Instant::now() + Duration::from_secs(1);
            while self.read(soon.saturating_duration_since(Instant::now())) {}
            let shown = String::from_utf8_lossy(&self.shown[self.looked_at..]).matches(text).count();
            typed += 1;
            if shown > typed {
                self.looked_at = self.shown.len();
                return;
            }
            assert!(Instant::now() < give_up, "{text:?} isn't said again; shown was:\n{}", self.text());
        }
    }

    /// All that was shown.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// The shell's process number.
    pub fn shell(&self) -> u32 {
        self.shell.id()
    }

    fn read(&mut self, most: Duration) -> bool {
        let mut poll = libc::pollfd { fd: self.keyboard.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd is passed and it lives through the call.
        if unsafe { libc::poll(&mut poll, 1, most.as_millis() as i32) } != 1 {
            return false;
        }
        let mut buffer = [0; 4096];
        // The last process that has the terminal open has ended: nothing will come any more.
        let Ok(n) = self.keyboard.read(&mut buffer) else { return false };
        self.shown.extend_from_slice(&buffer[..n]);
        n > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for pid in session(self.shell.id()) {
            // SAFETY: kill reads no memory; the session was made for this terminal.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = self.shell.wait();
    }
}

/// The processes of a session.
pub fn session(leader: u32) -> Vec<i32> {
    let pids = fs::read_dir("/proc").into_iter().flatten();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| stat_of(*pid, 3).is_some_and(|session| session.parse() == Ok(leader))).collect()
}

/// `R` for a process that runs, `S` for one that sleeps, `T` for one that is stopped, and so on.
fn state_of(pid: i32) -> Option<char> {
    stat_of(pid, 0)?.chars().next()
}

/// A field behind the name in `/proc/PID/stat`.
fn stat_of(pid: i32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split_whitespace().nth(field).map(str::to_owned)
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let [ours, its] = &mut ends;
    // SAFETY: the pointers are valid or null.
    if unsafe { libc::openpty(ours, its, std::ptr::null_mut(), std::ptr::null(), &raw const size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for end in ends {
        // SAFETY: a plain system call.
        unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both are new descriptors that nobody else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

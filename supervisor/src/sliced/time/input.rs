//! How much longer the app is likely to run: by how far it has come in what it reads.
//!
//! Many programs read one large file from its begin to its end, and end soon behind that. What is left of it takes as long as what was read, byte for byte. It is a guess, and taken for no more:
//! one that reads all before it begins to work has come to its input's end for most of its time.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// A file that the app reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Input {
    size: u64,
    /// How far it has come.
    position: u64,
}

/// How much longer process `pid`, which has used so much CPU time, runs if it ends when it has read its largest file. `None`: it reads none.
pub fn left(pid: i32, used: Duration) -> Option<Duration> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let inputs = open.filter_map(|entry| {
        let path = entry.ok()?.path();
        let file = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let name = path.file_name()?.to_str()?;
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).ok()?;
        Some(Input { size: file.size(), position: position(&info)? })
    });
    guess(used, inputs)
}

/// How far a descriptor has come that is open for reading alone.
fn position(info: &str) -> Option<u64> {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
    let position = field("pos:")?.parse().ok()?;
    (flags & libc::O_ACCMODE == libc::O_RDONLY).then_some(position)
}

fn guess(used: Duration, inputs: impl Iterator<Item = Input>) -> Option<Duration> {
    let Input { size, position } = inputs.filter(|input| input.position > 0).max_by_key(|input| input.size)?;
    let left = size.saturating_sub(position) as f64 / position as f64;
    // Of one that has just been begun nothing can be told.
    Duration::try_from_secs_f64(used.as_secs_f64() * left).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_left_takes_as_long_as_what_was_read() {
        let of = |inputs: &[(u64, u64)]| {
            guess(SECOND, inputs.iter().map(|(size, position)| Input { size: *size, position: *position }))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(4000, 0)]), None, "it isn't read");
        assert_eq!(of(&[(4000, 1000)]), Some(3 * SECOND));
        assert_eq!(of(&[(10, 10), (4000, 2000), (9000, 0)]), Some(SECOND));
        assert_eq!(of(&[(4000, 4000)]), Some(Duration::ZERO));
        assert_eq!(of(&[(10, 4000)]), Some(Duration::ZERO), "it has become shorter");
    }

    #[test]
    fn only_what_is_read_alone_is_input() {
        assert_eq!(position("pos:\t17\nflags:\t0100000\nmnt_id:\t9\n"), Some(17));
        assert_eq!(position("pos:\t17\nflags:\t0100002\n"), None);
        assert_eq!(position("pos:\t17\nflags:\t0100001\n"), None);
        assert_eq!(position("flags:\t0100000\n"), None);
    }

    #[test]
    fn the_kernel_tells_of_files() {
        let mut file = fs::File::open("/proc/self/exe").unwrap();
        let mut half = vec![0; file.metadata().unwrap().len() as usize / 2];
        file.read_exact(&mut half).unwrap();
        assert!(left(std::process::id() as i32, SECOND).is_some());
        assert_eq!(left(-1, SECOND), None);
    }
}

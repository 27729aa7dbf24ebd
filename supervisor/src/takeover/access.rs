//! How a taken-over process gets at the run memory and the image.
//!
//! Most processes open them by their names among the control process's descriptors. Some can't: a daemon may have given up its privileges, or see another
//! file system. Such a process gets the descriptors through a socket, and with them the control process's view of /proc.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use machine::{Memory, Status};
use tracee::{Remote, Stopped, TraceError};

/// Descriptors in a process that is being taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The run memory.
    pub run: i32,
    /// The image.
    pub image: i32,
    /// /proc, as the control process sees it.
    pub proc: i32,
}

/// Whether a process may open this process's descriptors by their names, and finds them there.
pub fn is_by_name(pid: i32) -> bool {
    let (mine, its) = (Identity::of("self"), Identity::of(&pid.to_string()));
    mine.is_none() || mine == its
}

/// What the kernel compares when a process wants to see another's descriptors, and where it finds them.
#[derive(PartialEq, Eq)]
struct Identity {
    users: String,
    groups: String,
    capabilities: String,
    places: [Option<PathBuf>; 3],
}

impl Identity {
    fn of(process: &str) -> Option<Self> {
        let status = Status::of(process).ok()?;
        let field = |name: &str| status.field(name).map(str::to_owned);
        let place = |name: &str| std::fs::read_link(format!("/proc/{process}/{name}")).ok();
        Some(Self {
            users: field("Uid")?,
            groups: field("Gid")?,
            capabilities: field("CapEff")?,
            places: [place("root"), place("ns/mnt"), place("ns/user")],
        })
    }
}

/// Whether a system call may change what [`is_by_name`] says.
pub fn changes_with(number: u64) -> bool {
    let calls = [
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setfsuid,
        libc::SYS_setfsgid,
        libc::SYS_capset,
        libc::SYS_chroot,
        libc::SYS_pivot_root,
        libc::SYS_setns,
        libc::SYS_unshare,
    ];
    calls.contains(&(number as i64))
}

/// Gives a process copies of two descriptors of ours, and of /proc. `scratch` is memory of the process's that it can write.
///
/// # Errors
/// If the process was killed, or the kernel refuses something.
pub fn pass(process: &mut Stopped, gadget: u64, scratch: u64, files: [i32; 2]) -> Result<Passed, TraceError> {
    let pid = process.pid();
    let mut remote = Remote::new(process, gadget)?;
    let kind = (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as u64;
    let pair = [libc::AF_UNIX as u64, kind, 0, scratch, 0, 0];
    remote.expect("make a socket in it", libc::SYS_socketpair, pair)?;
    let [ours, its] = read_pair(&mut remote, pid, scratch)?;
    let sent = send(pid, ours as i32, files);
    let received = sent.map_err(|source| TraceError::Refused { pid, action: "send it files", source }).and_then(|()| {
        let message = Message::at(scratch);
        write(&mut remote, pid, scratch, &message.bytes)?;
        let flags = (libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) as u64;
        let args = [its, message.header_at, flags, 0, 0, 0];
        remote.expect("receive files in it", libc::SYS_recvmsg, args)?;
        message.received(remote.memory()).map_err(|source| TraceError::Memory { pid, source })
    });
    for end in [ours, its] {
        remote.call(libc::SYS_close, [end, 0, 0, 0, 0, 0])?;
    }
    received
}

fn read_pair(remote: &mut Remote<'_>, pid: i32, at: u64) -> Result<[u64; 2], TraceError> {
    let pair = remote.memory().read_u64(at).map_err(|source| TraceError::Memory { pid, source })?;
    Ok([pair & 0xffff_ffff, pair >> 32])
}

fn write(remote: &mut Remote<'_>, pid: i32, at: u64, bytes: &[u8]) -> Result<(), TraceError> {
    remote.memory().write(at, bytes).map_err(|source| TraceError::Memory { pid, source })
}

/// Sends descriptors into the socket `end` of process `pid`, whose other end that process reads.
fn send(pid: i32, end: i32, files: [i32; 2]) -> io::Result<()> {
    let owned = |fd: libc::c_long| match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the system calls below give new descriptors, which nobody else owns.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
    };
    // SAFETY: a plain system call.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: a plain system call.
    let socket = owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), end, 0) })?;
    let proc = File::open("/proc")?;
    let mut control = [0_u64; Message::CONTROL_BYTES as usize / 8];
    let message_len = (size_of::<libc::cmsghdr>() + 3 * size_of::<i32>()) as u64;
    let kind = (libc::SCM_RIGHTS as u64) << 32 | libc::SOL_SOCKET as u64;
    let word = |low: i32, high: i32| u64::from(high as u32) << 32 | u64::from(low as u32);
    control[..4].copy_from_slice(&[message_len, kind, word(files[0], files[1]), word(proc.as_raw_fd(), 0)]);
    let mut data = *b"f";
    let mut vector = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut vector, 1);
    (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), message_len as usize);
    // SAFETY: the message and all that it points to live until the call returns.
    match unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A `msghdr` with room for three descriptors, laid out for an address of another process.
struct Message {
    bytes: Vec<u8>,
    header_at: u64,
    control_at: u64,
}

impl Message {
    const DATA: u64 = 0;
    const VECTOR: u64 = 16;
    const HEADER: u64 = 32;
    const CONTROL: u64 = 96;
    /// A `cmsghdr` and three descriptors, to the next multiple of eight.
    const CONTROL_BYTES: u64 = 32;

    fn at(start: u64) -> Self {
        let words = [
            0,
            0,
            start + Self::DATA,
            1,
            // msg_name and its length, the vector and its length, control data and their length, flags
            0,
            0,
            start + Self::VECTOR,
            1,
            start + Self::CONTROL,
            Self::CONTROL_BYTES,
            0,
            0,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        bytes.resize((Self::CONTROL + Self::CONTROL_BYTES) as usize, 0);
        Self { bytes, header_at: start + Self::HEADER, control_at: start + Self::CONTROL }
    }

    /// The descriptors, once they have come.
    fn received(&self, memory: &impl Memory) -> Result<Passed, machine::MemoryError> {
        const CMSG_HEADER: u64 = 16;
        let first = memory.read_u64(self.control_at + CMSG_HEADER)?;
        let last = memory.read_u64(self.control_at + CMSG_HEADER + 8)?;
        Ok(Passed { run: first as i32, image: (first >> 32) as i32, proc: last as i32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_as_it_is_itself() {
        assert!(is_by_name(std::process::id() as i32));
        assert!(changes_with(libc::SYS_setuid as u64) && !changes_with(libc::SYS_getuid as u64));
    }

    #[test]
    fn a_message_has_its_parts_where_it_says() {
        let message = Message::at(0x1000);
        let word = |at: u64| u64::from_le_bytes(message.bytes[at as usize..][..8].try_into().unwrap());
        assert_eq!(word(message.header_at - 0x1000 + 16), 0x1000 + Message::VECTOR);
        assert_eq!(word(Message::VECTOR), 0x1000 + Message::DATA);
        assert_eq!(message.control_at, word(message.header_at - 0x1000 + 32));
    }
}

//! Waiting for what a call waits for, without getting it.
//!
//! A thread that waits in `read` gets its bytes as soon as they come, though another thread has the turn, and would see them before the log tells of
//! them. So the call is made with a buffer that can't be written at first: the kernel waits as it would, and fails with EFAULT when there is
//! something, which stays where it is. The thread makes the call itself when it has the turn.

use machine::Memory;

/// What a descriptor is for, as far as waiting is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A pipe: what can't be stored stays in it.
    Pipe,
    /// A socket: a message that can't be stored is lost, unless it is only looked at.
    Socket,
}

/// A call that waits and gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyWaits {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub args: [u64; 6],
}

/// What a call is made as at first. `None`: as itself, since it gets nothing, doesn't wait, or nothing is known of what it reads.
///
/// `nowhere`: where nothing can be written. `source`: what a descriptor is.
pub fn only_waits(
    number: u64,
    args: &[u64; 6],
    nowhere: u64,
    memory: &dyn Memory,
    source: impl FnOnce(u64) -> Option<Source>,
) -> Option<OnlyWaits> {
    let [fd, at, len, flags, ..] = *args;
    let same = |args: [u64; 6]| Some(OnlyWaits { number, args });
    let looks = |flags: u64| {
        let flags = flags | libc::MSG_PEEK as u64;
        Some(OnlyWaits { number: libc::SYS_recvfrom as u64, args: [fd, nowhere, 1, flags, 0, 0] })
    };
    match number as i64 {
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            let mut args = *args;
            args[1] = nowhere;
            same(args)
        }
        libc::SYS_read | libc::SYS_readv => {
            let has_room = if number as i64 == libc::SYS_read { len != 0 } else { have_room(at, len, memory) };
            match source(fd).filter(|_| has_room)? {
                Source::Pipe => Some(OnlyWaits { number: libc::SYS_read as u64, args: [fd, nowhere, 1, 0, 0, 0] }),
                Source::Socket => looks(0),
            }
        }
        libc::SYS_recvfrom if len != 0 && may_look(flags) => looks(flags),
        libc::SYS_recvmsg if may_look(len) => {
            let [pieces, count] = [16, 24].map(|offset| word(memory, at.wrapping_add(offset)));
            have_room(pieces?, count?, memory).then(|| looks(len))?
        }
        _ => None,
    }
}

/// What a call is made with that waits for events without an end, when there are some: if somebody else has got them, it gives 0 and is to wait once more. Of those
/// who wait for the same events, the kernel wakes one; here each wakes the next, since they stay there.
pub fn does_not_wait(number: u64, args: &[u64; 6]) -> Option<[u64; 6]> {
    let waits_for_ever =
        matches!(number as i64, libc::SYS_epoll_wait | libc::SYS_epoll_pwait) && (args[3] as i32).is_negative();
    waits_for_ever.then(|| {
        let mut args = *args;
        args[3] = 0;
        args
    })
}

/// Whether what such a call gave is the result of the call itself. If not, there is something: that is to be made.
pub fn is_result(number: u64, result: i64) -> bool {
    let waits_for_events =
        matches!(number as i64, libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2);
    if result < 0 { result != -i64::from(libc::EFAULT) } else { waits_for_events }
}

/// Whether what is to be received may be looked at first: it may have to be waited for, and isn't of another kind.
fn may_look(flags: u64) -> bool {
    let others = libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE | libc::MSG_OOB;
    flags & others as u64 == 0
}

/// Whether something can be written to an array of pieces.
fn have_room(at: u64, count: u64, memory: &dyn Memory) -> bool {
    (0..count.min(libc::UIO_MAXIOV as u64))
        .any(|n| word(memory, at.wrapping_add(n * 16 + 8)).is_some_and(|len| len != 0))
}

fn word(memory: &dyn Memory, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use machine::Here;

    use super::*;

    /// Makes a call, and what it is made as before. Gives the results.
    fn both(number: i64, args: [u64; 6], source: Source) -> [i64; 2] {
        // SAFETY: a new mapping at a place of the kernel's choice, which is never freed.
        let nowhere = unsafe {
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        let waits = only_waits(number as u64, &args, nowhere as u64, &Here::new(), |_| Some(source)).unwrap();
        let make = |number: u64, [a, b, c, d, e, f]: [u64; 6]| {
            // SAFETY: the first call may write nothing, the second what the test has given it.
            let result = unsafe { libc::syscall(number as i64, a, b, c, d, e, f) };
            if result < 0 { -i64::from(io::Error::last_os_error().raw_os_error().unwrap()) } else { result }
        };
        [make(waits.number, waits.args), make(number as u64, args)]
    }

    const FAULT: i64 = -libc::EFAULT as i64;

    #[test]
    fn what_was_waited_for_stays_there() {
        let mut room = [0_u8; 16];
        let at = room.as_mut_ptr() as u64;
        let pieces = [libc::iovec { iov_base: at as *mut libc::c_void, iov_len: 16 }];
        let scattered = pieces.as_ptr() as u64;
        let (reader, mut writer) = io::pipe().unwrap();
        let fd = reader.as_raw_fd() as u64;
        writer.write_all(b"twelve bytes and six").unwrap();
        assert_eq!(both(libc::SYS_read, [fd, at, 12, 0, 0, 0], Source::Pipe), [FAULT, 12]);
        assert_eq!(both(libc::SYS_readv, [fd, scattered, 1, 0, 0, 0], Source::Pipe), [FAULT, 8]);
        assert_eq!(&room[..12], b" and sixytes");
        let (stream, mut to_stream) = UnixStream::pair().unwrap();
        let (messages, to_messages) = UnixDatagram::pair().unwrap();
        for fd in [stream.as_raw_fd() as u64, messages.as_raw_fd() as u64] {
            for call in [libc::SYS_read, libc::SYS_recvfrom, libc::SYS_readv, libc::SYS_recvmsg] {
                to_stream.write_all(b"six by").unwrap();
                to_messages.send(b"six by").unwrap();
                // SAFETY: all zeroes is a header without anything.
                let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
                (header.msg_iov, header.msg_iovlen) = (scattered as *mut libc::iovec, 1);
                let args = match call {
                    libc::SYS_readv => [fd, scattered, 1, 0, 0, 0],
                    libc::SYS_recvmsg => [fd, &raw const header as u64, 0, 0, 0, 0],
                    _ => [fd, at, 16, 0, 0, 0],
                };
                assert_eq!(both(call, args, Source::Socket), [FAULT, 6], "{call}");
            }
        }
    }

    #[test]
    fn the_end_and_events_are_told_as_they_are() {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 2];
        let (reader, mut writer) = io::pipe().unwrap();
        // SAFETY: epoll_create1 and epoll_ctl have no memory preconditions but the event.
        let set = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLONESHOT) as u32, u64: 7 };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, reader.as_raw_fd(), &raw mut event) }, 0);
        let args = [set as u64, events.as_mut_ptr() as u64, 2, 0, 0, 0];
        let wait = libc::SYS_epoll_wait as u64;
        assert_eq!(both(wait as i64, args, Source::Pipe), [0, 0]);
        assert!(is_result(wait, 0) && !is_result(wait, FAULT) && is_result(wait, -4));
        writer.write_all(b"x").unwrap();
        assert_eq!(both(wait as i64, args, Source::Pipe), [FAULT, 1]);
        assert_eq!({ events[0].u64 }, 7);
        let mut room = [0_u8; 4];
        let args = [reader.as_raw_fd() as u64, room.as_mut_ptr() as u64, 4, 0, 0, 0];
        assert_eq!(both(libc::SYS_read, args, Source::Pipe), [FAULT, 1]);
        drop(writer);
        assert_eq!(both(libc::SYS_read, args, Source::Pipe), [0, 0]);
        assert!(!is_result(libc::SYS_read as u64, 0) && is_result(libc::SYS_read as u64, -512));
    }

    #[test]
    fn what_gets_nothing_or_does_not_wait_is_made_at_once() {
        let as_what = |number: i64, args, source| only_waits(number as u64, &args, 0x1000, &Here::new(), |_| source);
        let nothing = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }];
        assert_eq!(as_what(libc::SYS_read, [3, 0x2000, 0, 0, 0, 0], Some(Source::Pipe)), None);
        assert_eq!(as_what(libc::SYS_read, [3, 0x2000, 1, 0, 0, 0], None), None);
        assert_eq!(as_what(libc::SYS_readv, [3, nothing.as_ptr() as u64, 1, 0, 0, 0], Some(Source::Socket)), None);
        let looks = |flags: i32| as_what(libc::SYS_recvfrom, [3, 0x2000, 9, flags as u64, 0, 0], None);
        assert_eq!([libc::MSG_DONTWAIT, libc::MSG_OOB, libc::MSG_ERRQUEUE].map(looks), [None; 3]);
        let args = [3, 0x1000, 1, (libc::MSG_PEEK | libc::MSG_TRUNC) as u64, 0, 0];
        assert_eq!(looks(libc::MSG_TRUNC), Some(OnlyWaits { number: libc::SYS_recvfrom as u64, args }));
        assert_eq!(as_what(libc::SYS_recvmsg, [3, 0, 0, 0, 0, 0], None), None);
        assert_eq!(as_what(libc::SYS_futex, [0; 6], None), None);
    }

    #[test]
    fn who_waits_for_ever_does_not_wait_for_what_is_there() {
        let wait = |number: i64, timeout: i64| does_not_wait(number as u64, &[3, 0x2000, 1, timeout as u64, 5, 8]);
        let made = Some([3, 0x2000, 1, 0, 5, 8]);
        assert_eq!([libc::SYS_epoll_wait, libc::SYS_epoll_pwait].map(|number| wait(number, -1)), [made; 2]);
        // The upper half isn't the argument's.
        assert_eq!(wait(libc::SYS_epoll_wait, 0xffff_ffff), made);
        let others = [wait(libc::SYS_epoll_wait, 10), wait(libc::SYS_epoll_pwait2, -1), wait(libc::SYS_read, -1)];
        assert_eq!(others, [None; 3]);
    }
}

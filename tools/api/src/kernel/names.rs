//! What the kernel's numbers are called.

use syscall_replay::table;

/// The numbers from 1 on.
const ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR \
    EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - \
    ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA \
    ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC \
    ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT \
    ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET \
    ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM \
    ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE \
    ERFKILL EHWPOISON";

/// The numbers from 1 on.
const SIGNALS: &str = "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN \
    SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS";

/// The name of a system call: `openat`. A number that no call has is `unknown`.
pub fn syscall_name(number: u32) -> &'static str {
    table::row(number.into()).map_or("unknown", |row| row.name)
}

/// The name of an error number: `ENOENT`.
pub fn error_name(number: i32) -> Option<&'static str> {
    nth(ERRORS, number)
}

/// The name of a signal: `SIGALRM`. Those that are called by their numbers (from 32 on) have none.
pub fn signal_name(number: i32) -> Option<&'static str> {
    nth(SIGNALS, number)
}

fn nth(names: &'static str, number: i32) -> Option<&'static str> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    names.split_ascii_whitespace().nth(index).filter(|name| *name != "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_names() {
        for (number, name) in [
            (libc::EPERM, "EPERM"),
            (libc::EINTR, "EINTR"),
            (libc::EAGAIN, "EAGAIN"),
            (libc::ENOSYS, "ENOSYS"),
            (libc::ENOTSOCK, "ENOTSOCK"),
            (libc::ETIMEDOUT, "ETIMEDOUT"),
            (libc::EHWPOISON, "EHWPOISON"),
        ] {
            assert_eq!(error_name(number), Some(name));
        }
        for (number, name) in [
            (libc::SIGHUP, "SIGHUP"),
            (libc::SIGSEGV, "SIGSEGV"),
            (libc::SIGCHLD, "SIGCHLD"),
            (libc::SIGVTALRM, "SIGVTALRM"),
            (libc::SIGSYS, "SIGSYS"),
        ] {
            assert_eq!(signal_name(number), Some(name));
        }
        assert_eq!([error_name(0), error_name(41), error_name(-1), error_name(134)], [None; 4]);
        assert_eq!([signal_name(0), signal_name(32)], [None; 2]);
        assert_eq!([syscall_name(0), syscall_name(9999)], ["read", "unknown"]);
    }
}

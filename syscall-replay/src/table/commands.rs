//! Commands of multiplexed calls, each list ascending by value. What isn't listed is a boundary.

use super::types::Class::Repeat;
use super::types::Command;
use super::types::Len::{BitsOf, Fixed, ResultUpTo};
use super::types::Out::{self, Bytes, Iovec};
use super::values::{INVALID, PRETEND, command, gives, other};

const AT2_4: &[Out] = &[Bytes(2, Fixed(4))];
const AT2_8: &[Out] = &[Bytes(2, Fixed(8))];
/// `struct flock`.
const FLOCK: &[Out] = &[Bytes(2, Fixed(32))];
/// `struct ifreq`.
const IFREQ: &[Out] = &[Bytes(2, Fixed(40))];
/// The word that a futex is, and the second one.
const WORD: &[Out] = &[Bytes(0, Fixed(4))];
const WORDS: &[Out] = &[Bytes(0, Fixed(4)), Bytes(4, Fixed(4))];
const AT1_4: &[Out] = &[Bytes(1, Fixed(4))];
const AT1_8: &[Out] = &[Bytes(1, Fixed(8))];

pub(super) const IOCTL: &[Command] = &[
    gives(0x1260, "BLKGETSIZE", AT2_8),
    gives(0x1268, "BLKSSZGET", AT2_4),
    gives(0x5401, "TCGETS", &[Bytes(2, Fixed(36))]),
    command(0x5402, "TCSETS"),
    command(0x5403, "TCSETSW"),
    command(0x5404, "TCSETSF"),
    gives(0x5405, "TCGETA", &[Bytes(2, Fixed(18))]),
    command(0x5406, "TCSETA"),
    command(0x5407, "TCSETAW"),
    command(0x5408, "TCSETAF"),
    command(0x5409, "TCSBRK"),
    command(0x540a, "TCXONC"),
    command(0x540b, "TCFLSH"),
    command(0x540c, "TIOCEXCL"),
    command(0x540d, "TIOCNXCL"),
    command(0x540e, "TIOCSCTTY"),
    gives(0x540f, "TIOCGPGRP", AT2_4),
    command(0x5410, "TIOCSPGRP"),
    gives(0x5411, "TIOCOUTQ", AT2_4),
    command(0x5412, "TIOCSTI"),
    gives(0x5413, "TIOCGWINSZ", AT2_8),
    command(0x5414, "TIOCSWINSZ"),
    gives(0x5415, "TIOCMGET", AT2_4),
    gives(0x541b, "FIONREAD", AT2_4),
    command(0x5421, "FIONBIO"),
    command(0x5422, "TIOCNOTTY"),
    gives(0x5424, "TIOCGETD", AT2_4),
    command(0x5425, "TCSBRKP"),
    gives(0x5429, "TIOCGSID", AT2_4),
    command(0x5441, "TIOCGPTPEER"),
    command(0x5450, "FIONCLEX"),
    command(0x5451, "FIOCLEX"),
    command(0x5452, "FIOASYNC"),
    gives(0x5460, "FIOQSIZE", AT2_8),
    gives(0x8904, "SIOCGPGRP", AT2_4),
    gives(0x8905, "SIOCATMARK", AT2_4),
    gives(0x8910, "SIOCGIFNAME", IFREQ),
    gives(0x8913, "SIOCGIFFLAGS", IFREQ),
    gives(0x8915, "SIOCGIFADDR", IFREQ),
    gives(0x8917, "SIOCGIFDSTADDR", IFREQ),
    gives(0x8919, "SIOCGIFBRDADDR", IFREQ),
    gives(0x891b, "SIOCGIFNETMASK", IFREQ),
    gives(0x891d, "SIOCGIFMETRIC", IFREQ),
    gives(0x8921, "SIOCGIFMTU", IFREQ),
    gives(0x8927, "SIOCGIFHWADDR", IFREQ),
    gives(0x8933, "SIOCGIFINDEX", IFREQ),
    gives(0x8942, "SIOCGIFTXQLEN", IFREQ),
    command(0x4004_5431, "TIOCSPTLCK"),
    command(0x4004_9409, "FICLONE"),
    command(0x4008_6602, "FS_IOC_SETFLAGS"),
    command(0x401c_5820, "FS_IOC_FSSETXATTR"),
    command(0x4020_940d, "FICLONERANGE"),
    gives(0x8004_5200, "RNDGETENTCNT", AT2_4),
    gives(0x8004_5430, "TIOCGPTN", AT2_4),
    gives(0x8004_5438, "TIOCGPKT", AT2_4),
    gives(0x8004_5439, "TIOCGPTLCK", AT2_4),
    gives(0x8008_1272, "BLKGETSIZE64", AT2_8),
    gives(0x8008_6601, "FS_IOC_GETFLAGS", AT2_8),
    gives(0x8008_7601, "FS_IOC_GETVERSION", AT2_8),
    gives(0x801c_581f, "FS_IOC_FSGETXATTR", &[Bytes(2, Fixed(28))]),
    gives(0x802c_542a, "TCGETS2", &[Bytes(2, Fixed(44))]),
];

pub(super) const FCNTL: &[Command] = &[
    command(0, "F_DUPFD"),
    command(1, "F_GETFD"),
    command(2, "F_SETFD"),
    command(3, "F_GETFL"),
    command(4, "F_SETFL"),
    gives(5, "F_GETLK", FLOCK),
    command(6, "F_SETLK"),
    command(7, "F_SETLKW"),
    command(8, "F_SETOWN"),
    command(9, "F_GETOWN"),
    command(10, "F_SETSIG"),
    command(11, "F_GETSIG"),
    command(15, "F_SETOWN_EX"),
    gives(16, "F_GETOWN_EX", AT2_8),
    gives(17, "F_GETOWNER_UIDS", AT2_8),
    gives(36, "F_OFD_GETLK", FLOCK),
    command(37, "F_OFD_SETLK"),
    command(38, "F_OFD_SETLKW"),
    command(1024, "F_SETLEASE"),
    command(1025, "F_GETLEASE"),
    command(1026, "F_NOTIFY"),
    command(1027, "F_DUPFD_QUERY"),
    command(1028, "F_CREATED_QUERY"),
    command(1030, "F_DUPFD_CLOEXEC"),
    command(1031, "F_SETPIPE_SZ"),
    command(1032, "F_GETPIPE_SZ"),
    command(1033, "F_ADD_SEALS"),
    command(1034, "F_GET_SEALS"),
    gives(1035, "F_GET_RW_HINT", AT2_8),
    command(1036, "F_SET_RW_HINT"),
    gives(1037, "F_GET_FILE_RW_HINT", AT2_8),
    command(1038, "F_SET_FILE_RW_HINT"),
];

/// Refused are those that would take from the system what it needs in every process: reading the app's memory
/// (a process that isn't dumpable can't be read), mapping executable memory.
pub(super) const PRCTL: &[Command] = &[
    command(1, "PR_SET_PDEATHSIG"),
    gives(2, "PR_GET_PDEATHSIG", AT1_4),
    command(3, "PR_GET_DUMPABLE"),
    other(4, "PR_SET_DUMPABLE", PRETEND),
    gives(5, "PR_GET_UNALIGN", AT1_4),
    command(6, "PR_SET_UNALIGN"),
    command(7, "PR_GET_KEEPCAPS"),
    command(8, "PR_SET_KEEPCAPS"),
    command(13, "PR_GET_TIMING"),
    command(14, "PR_SET_TIMING"),
    command(15, "PR_SET_NAME"),
    gives(16, "PR_GET_NAME", &[Bytes(1, Fixed(16))]),
    command(21, "PR_GET_SECCOMP"),
    other(22, "PR_SET_SECCOMP", INVALID),
    command(23, "PR_CAPBSET_READ"),
    command(24, "PR_CAPBSET_DROP"),
    // In sliced runs the control process sees to both: what is set is not only the app's.
    gives(25, "PR_GET_TSC", AT1_4),
    command(26, "PR_SET_TSC"),
    command(27, "PR_GET_SECUREBITS"),
    command(28, "PR_SET_SECUREBITS"),
    command(29, "PR_SET_TIMERSLACK"),
    command(30, "PR_GET_TIMERSLACK"),
    command(36, "PR_SET_CHILD_SUBREAPER"),
    gives(37, "PR_GET_CHILD_SUBREAPER", AT1_4),
    command(38, "PR_SET_NO_NEW_PRIVS"),
    command(39, "PR_GET_NO_NEW_PRIVS"),
    gives(40, "PR_GET_TID_ADDRESS", AT1_8),
    command(41, "PR_SET_THP_DISABLE"),
    command(42, "PR_GET_THP_DISABLE"),
    command(47, "PR_CAP_AMBIENT"),
    command(52, "PR_GET_SPECULATION_CTRL"),
    command(53, "PR_SET_SPECULATION_CTRL"),
    other(59, "PR_SET_SYSCALL_USER_DISPATCH", INVALID),
    other(65, "PR_SET_MDWE", INVALID),
    command(66, "PR_GET_MDWE"),
    command(67, "PR_SET_MEMORY_MERGE"),
    command(68, "PR_GET_MEMORY_MERGE"),
    gives(0x4155_5856, "PR_GET_AUXV", &[Bytes(1, ResultUpTo(2))]),
    command(0x5356_4d41, "PR_SET_VMA"),
    command(0x5961_6d61, "PR_SET_PTRACER"),
];

pub(super) const ARCH_PRCTL: &[Command] = &[
    other(0x1001, "ARCH_SET_GS", Repeat),
    other(0x1002, "ARCH_SET_FS", Repeat),
    gives(0x1003, "ARCH_GET_FS", AT1_8),
    gives(0x1004, "ARCH_GET_GS", AT1_8),
    command(0x1011, "ARCH_GET_CPUID"),
    other(0x1012, "ARCH_SET_CPUID", INVALID),
    gives(0x1021, "ARCH_GET_XCOMP_SUPP", AT1_8),
    gives(0x1022, "ARCH_GET_XCOMP_PERM", AT1_8),
    // AMX tile data needs a permission that apps don't get: tiles aren't part of the state that is kept.
    other(0x1023, "ARCH_REQ_XCOMP_PERM", INVALID),
    gives(0x1024, "ARCH_GET_XCOMP_GUEST_PERM", AT1_8),
    other(0x1025, "ARCH_REQ_XCOMP_GUEST_PERM", INVALID),
    // Shadow stacks: as a kernel without them.
    other(0x5001, "ARCH_SHSTK_ENABLE", INVALID),
    other(0x5002, "ARCH_SHSTK_DISABLE", INVALID),
    other(0x5003, "ARCH_SHSTK_LOCK", INVALID),
    other(0x5005, "ARCH_SHSTK_STATUS", INVALID),
];

const AT3_8: &[Out] = &[Bytes(3, Fixed(8))];

/// What a debugger asks for: nothing of it changes the debugger's own memory but what it asks to be told, unless it shares that with whom it
/// debugs ([`super::writes_elsewhere`]). `PTRACE_TRACEME` isn't among them, nor is what is told of filters or in lists.
pub(super) const PTRACE: &[Command] = &[
    gives(1, "PTRACE_PEEKTEXT", AT3_8),
    gives(2, "PTRACE_PEEKDATA", AT3_8),
    gives(3, "PTRACE_PEEKUSER", AT3_8),
    command(4, "PTRACE_POKETEXT"),
    command(5, "PTRACE_POKEDATA"),
    command(6, "PTRACE_POKEUSER"),
    command(7, "PTRACE_CONT"),
    command(8, "PTRACE_KILL"),
    command(9, "PTRACE_SINGLESTEP"),
    gives(12, "PTRACE_GETREGS", &[Bytes(3, Fixed(216))]),
    command(13, "PTRACE_SETREGS"),
    gives(14, "PTRACE_GETFPREGS", &[Bytes(3, Fixed(512))]),
    command(15, "PTRACE_SETFPREGS"),
    command(16, "PTRACE_ATTACH"),
    command(17, "PTRACE_DETACH"),
    command(24, "PTRACE_SYSCALL"),
    command(31, "PTRACE_SYSEMU"),
    command(32, "PTRACE_SYSEMU_SINGLESTEP"),
    command(33, "PTRACE_SINGLEBLOCK"),
    command(0x4200, "PTRACE_SETOPTIONS"),
    gives(0x4201, "PTRACE_GETEVENTMSG", AT3_8),
    gives(0x4202, "PTRACE_GETSIGINFO", &[Bytes(3, Fixed(128))]),
    command(0x4203, "PTRACE_SETSIGINFO"),
    gives(0x4204, "PTRACE_GETREGSET", &[Iovec(3)]),
    gives(0x4205, "PTRACE_SETREGSET", &[Bytes(3, Fixed(16))]),
    command(0x4206, "PTRACE_SEIZE"),
    command(0x4207, "PTRACE_INTERRUPT"),
    command(0x4208, "PTRACE_LISTEN"),
    gives(0x420a, "PTRACE_GETSIGMASK", AT3_8),
    command(0x420b, "PTRACE_SETSIGMASK"),
    gives(0x420e, "PTRACE_GET_SYSCALL_INFO", &[Bytes(3, ResultUpTo(2))]),
];

/// Advice that changes contents is repeated; advice whose effect depends on memory pressure or on fork is answered as by
/// a kernel without it, because a slice is a fork and has other pressure.
pub(super) const MADVISE: &[Command] = &[
    command(0, "MADV_NORMAL"),
    command(1, "MADV_RANDOM"),
    command(2, "MADV_SEQUENTIAL"),
    command(3, "MADV_WILLNEED"),
    other(4, "MADV_DONTNEED", Repeat),
    other(8, "MADV_FREE", INVALID),
    other(10, "MADV_DONTFORK", PRETEND),
    other(11, "MADV_DOFORK", PRETEND),
    command(12, "MADV_MERGEABLE"),
    command(13, "MADV_UNMERGEABLE"),
    command(14, "MADV_HUGEPAGE"),
    command(15, "MADV_NOHUGEPAGE"),
    command(16, "MADV_DONTDUMP"),
    command(17, "MADV_DODUMP"),
    other(18, "MADV_WIPEONFORK", INVALID),
    other(19, "MADV_KEEPONFORK", INVALID),
    command(20, "MADV_COLD"),
    command(21, "MADV_PAGEOUT"),
    command(22, "MADV_POPULATE_READ"),
    command(23, "MADV_POPULATE_WRITE"),
    other(24, "MADV_DONTNEED_LOCKED", Repeat),
    command(25, "MADV_COLLAPSE"),
    other(102, "MADV_GUARD_INSTALL", Repeat),
    other(103, "MADV_GUARD_REMOVE", Repeat),
];

pub(super) const FUTEX: &[Command] = &[
    gives(0, "FUTEX_WAIT", WORD),
    command(1, "FUTEX_WAKE"),
    command(3, "FUTEX_REQUEUE"),
    command(4, "FUTEX_CMP_REQUEUE"),
    gives(5, "FUTEX_WAKE_OP", WORDS),
    gives(6, "FUTEX_LOCK_PI", WORD),
    gives(7, "FUTEX_UNLOCK_PI", WORD),
    gives(8, "FUTEX_TRYLOCK_PI", WORD),
    gives(9, "FUTEX_WAIT_BITSET", WORD),
    command(10, "FUTEX_WAKE_BITSET"),
    gives(11, "FUTEX_WAIT_REQUEUE_PI", WORDS),
    gives(12, "FUTEX_CMP_REQUEUE_PI", WORDS),
    gives(13, "FUTEX_LOCK_PI2", WORD),
];

pub(super) const SEMCTL: &[Command] = &[
    command(0, "IPC_RMID"),
    command(1, "IPC_SET"),
    gives(2, "IPC_STAT", &[Bytes(3, Fixed(104))]),
    command(11, "GETPID"),
    command(12, "GETVAL"),
    command(14, "GETNCNT"),
    command(15, "GETZCNT"),
    command(16, "SETVAL"),
    command(17, "SETALL"),
];

pub(super) const MSGCTL: &[Command] =
    &[command(0, "IPC_RMID"), command(1, "IPC_SET"), gives(2, "IPC_STAT", &[Bytes(2, Fixed(120))])];

pub(super) const SHMCTL: &[Command] = &[
    command(0, "IPC_RMID"),
    command(1, "IPC_SET"),
    gives(2, "IPC_STAT", &[Bytes(2, Fixed(112))]),
    command(11, "SHM_LOCK"),
    command(12, "SHM_UNLOCK"),
];

/// `get_mempolicy` in all its forms.
pub(super) const MEMPOLICY: &[Out] = &[Bytes(0, Fixed(4)), Bytes(1, BitsOf(2))];

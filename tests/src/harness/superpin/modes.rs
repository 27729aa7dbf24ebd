//! The sets of options that guests are run with.

/// A set of options, named.
#[derive(Debug)]
pub struct Mode {
    /// Its name in test names.
    pub name: &'static str,
    /// The tool, perhaps with options of its own.
    pub tool: &'static str,
    /// Options besides the tool's.
    pub options: &'static [&'static str],
    /// Whether the run is cut into slices.
    pub sliced: bool,
    /// Whether it is so slow that guests do a tenth of their work.
    pub slow: bool,
    /// Whether it begins with the translations of a run before, which is made first.
    pub persists: bool,
}

impl Mode {
    /// Whether its total doesn't depend on the order of the instructions.
    pub fn counts(&self) -> bool {
        self.tool.starts_with("icount") || self.tool == "opcodes"
    }

    const fn slow(self) -> Self {
        Self { slow: true, ..self }
    }

    const fn persists(self) -> Self {
        Self { persists: true, ..self }
    }
}

const fn serial(name: &'static str, tool: &'static str, options: &'static [&'static str]) -> Mode {
    Mode { name, tool, options, sliced: false, slow: false, persists: false }
}

const fn sliced(name: &'static str, tool: &'static str, options: &'static [&'static str]) -> Mode {
    Mode { name, tool, options, sliced: true, slow: false, persists: false }
}

/// The mode that all others are compared with.
pub const SERIAL: Mode = serial("serial", "icount2", &["-sp", "0"]);

/// Slices at each system call: many boundaries in any program.
pub const EACH_CALL: Mode = sliced("sysrecs-0", "icount2", &["-sp", "1", "-spsysrecs", "0"]);

/// Serially, with the processes that the app starts.
pub const FOLLOWED: Mode = serial("serial-follow", "icount2", &["-sp", "0", "-follow", "1"]);

/// All of the engine's optimisations off but two, without which a run takes a hundred times as long: routines in place and
/// IBL stubs. `scripts/switches.sh` turns these off as well.
const UNOPTIMISED: &str = "none,inline,ibl-stubs";

/// Caches in which much happens in a few instructions.
const SMALL_CACHES: &str = "allcache --itlb 4,4 --dtlb 8,2 --l1i 512,2,32 --l1d 640,5,16 --l2 4K,4,64 --llc 16K,2,128";

/// Every mode that every guest is run in.
pub const MODES: &[Mode] = &[
    SERIAL,
    FOLLOWED,
    serial("serial-icount1", "icount1", &["-sp", "0"]),
    serial("serial-one-block", "icount2", &["-sp", "0", "-trace-blocks", "1"]),
    serial("serial-unlinked", "icount2", &["-sp", "0", "-link", "0"]).slow(),
    serial("serial-tiny-cache", "icount2", &["-sp", "0", "-cache-bytes", "65536"]).slow(),
    serial("serial-unoptimised", "icount1", &["-sp", "0", "-engine", UNOPTIMISED]).slow(),
    sliced("5ms", "icount2", &["-sp", "1", "-spmsec", "5"]),
    sliced("20ms", "icount2", &["-sp", "1", "-spmsec", "20"]),
    sliced("200ms", "icount2", &["-sp", "1", "-spmsec", "200"]),
    sliced("auto", "icount2", &["-sp", "1"]),
    sliced("5ms-icount1", "icount1", &["-sp", "1", "-spmsec", "5"]),
    EACH_CALL,
    sliced("5ms-follow", "icount2", &["-sp", "1", "-spmsec", "5", "-follow", "1"]),
    sliced("verified-follow", "icount2", &["-sp", "1", "-spsysrecs", "1", "-spverify", "1", "-follow", "1"]),
    sliced("sysrecs-1", "icount2", &["-sp", "1", "-spsysrecs", "1"]),
    sliced("sysrecs-1000", "icount2", &["-sp", "1", "-spsysrecs", "1000", "-spmsec", "20"]),
    sliced("spmp-1", "icount2", &["-sp", "1", "-spmsec", "10", "-spmp", "1"]),
    sliced("spmp-2", "icount2", &["-sp", "1", "-spmsec", "5", "-spmp", "2"]),
    sliced("spmp-8", "icount2", &["-sp", "1", "-spmsec", "5", "-spmp", "8"]),
    sliced("5ms-one-block", "icount2", &["-sp", "1", "-spmsec", "5", "-trace-blocks", "1"]),
    sliced("5ms-unlinked", "icount2", &["-sp", "1", "-spmsec", "5", "-link", "0"]).slow(),
    sliced("5ms-tiny-cache", "icount2", &["-sp", "1", "-spmsec", "5", "-cache-bytes", "65536"]).slow(),
    sliced("5ms-unoptimised", "icount2", &["-sp", "1", "-spmsec", "5", "-engine", UNOPTIMISED]).slow(),
    sliced("verified", "icount2", &["-sp", "1", "-spmsec", "5", "-spsysrecs", "3", "-spverify", "1"]),
    sliced("checked-calls", "icount2", &["-sp", "1", "-spmsec", "20", "-check-calls", "1"]).slow(),
    serial("serial-memaddr-tiny-cache", "memaddr", &["-sp", "0", "-cache-bytes", "65536", "-trace-blocks", "1"]).slow(),
    sliced("5ms-memaddr", "memaddr", &["-sp", "1", "-spmsec", "5"]),
    sliced("5ms-each", "icount2 --repeat each", &["-sp", "1", "-spmsec", "5"]),
    sliced("sysrecs-3-memaddr-each", "memaddr --repeat each", &["-sp", "1", "-spsysrecs", "3", "-spmsec", "20"]),
    sliced("sysrecs-3-dcache", "dcache", &["-sp", "1", "-spsysrecs", "3", "-spmsec", "20"]),
    sliced("sysrecs-2-allcache", SMALL_CACHES, &["-sp", "1", "-spsysrecs", "2", "-spmsec", "10"]).slow(),
    sliced("5ms-bpred", "bpred --conditional gshare,6,4 --indirect 8", &["-sp", "1", "-spmsec", "5"]),
    sliced("5ms-tage", "bpred --conditional tage,6,4,5,8,3,40", &["-sp", "1", "-spmsec", "5"]),
    serial("serial-opcodes-tiny-cache", "opcodes", &["-sp", "0", "-cache-bytes", "65536", "-trace-ins", "3"]).slow(),
    sliced("5ms-opcodes", "opcodes", &["-sp", "1", "-spmsec", "5"]),
    serial("serial-persist", "icount2", &["-sp", "0", "-follow", "1"]).persists(),
    sliced("5ms-persist", "icount1", &["-sp", "1", "-spmsec", "5"]).persists(),
    sliced("200ms-persist", "icount2", &["-sp", "1", "-spmsec", "200"]).persists(),
    sliced("5ms-unshared", "icount2", &["-sp", "1", "-spmsec", "5", "-share", "0"]),
];

/// In how many successive rounds each guest comes in each mode once.
pub const SHARES: usize = 64;

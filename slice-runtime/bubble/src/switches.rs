//! The engine's optimisations, each of which can be turned off: to find out what it gains, and whether it is to blame.
//!
//! Named here because the control process reads their names and the engine obeys them. Linking, sharing and the length of
//! traces have settings of their own.

use std::time::Duration;

use machine::cpuid;

/// An optimisation. The explanations say what is done instead when it is off.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimisation {
    /// Small analysis routines in place. Instead: all of them are called.
    Inline,
    /// One addition for a block whose instructions are all counted. Instead: one for each.
    Merge,
    /// Block-level calls where flags are dead. Instead: at the block's start.
    Anywhere,
    /// Flags looked up across traces. Instead: all are taken to be read after a block.
    FlagLookahead,
    /// Counters spread over shards. Instead: additions to the word itself.
    Shards,
    /// The first counter in r11, see `translator/src/emit/registers/r11.rs`. Instead: in memory.
    CounterRegister,
    /// Borrowing r10 and r9, which needn't be stored first. Instead: any register is stored and loaded.
    HomeSlots,
    /// r10 and r9 loaded from their home slots where they are named. Instead: wherever an indirect branch has borrowed them.
    Late,
    /// Operands that are out of reach without borrowing a register. Instead: one is borrowed.
    Operands,
    /// IBL stubs of indirect branches. Instead: each goes through the runtime.
    IblStubs,
    /// Indirect branches of serial runs and long slices by a target map, see the engine's `link/target_map.rs`. Instead: by IBL stubs.
    TargetMap,
    /// Branches through words that can't be written are translated as direct ones. Instead: the word is loaded and its target looked up.
    ConstantPointers,
    /// Neighbouring targets of indirect branches are looked up in one cache line. Instead: several lines apart.
    Neighbours,
    /// Where the IBL stub of a return is found, or its word in a large program's map, is asked for when the call is made. Instead: when the return comes.
    Prefetch,
    /// IBL stubs, and where they are found, in common for all slices. Instead: each slice makes its own.
    Inherit,
    /// The buffer's position held in a register from instruction to instruction. Instead: loaded and stored for each.
    Hold,
    /// The buffer's position kept in r11 from trace to trace. Instead: loaded and stored by each.
    Keep,
    /// The buffer emptied while its words are still in a core's caches. Instead: when it is full.
    Drain,
    /// Exit stubs at the other end of the cache. Instead: each trace's lie behind it.
    Stubs,
    /// Flags that were looked up are remembered. Instead: they are looked up each time.
    Remember,
    /// Routines that change little are called by translated code itself. Instead: by the runtime.
    Call,
    /// Any other routine is called by translated code as well, which puts all of the app's state aside. Instead: by the runtime.
    Aside,
    /// What such a routine leaves alone isn't put aside, where its machine code tells. Instead: all is.
    Partly,
    /// What only the runtime finds out for a routine or a word is asked of it by translated code, with all of the app's state aside. Instead: translated code is left for it.
    CleanCall,
    /// Vector and mask registers that a routine or a word is made of are read by translated code. Instead: by the runtime.
    VectorWords,
    /// Recorded system calls replayed without entering the runtime. Instead: by the runtime.
    FastPath,
    /// Translations of code that others may change compare it themselves. Instead: the runtime does, whenever one is entered.
    SelfCheck,
    /// Slices go on from a snapshot of an image that has started. Instead: each starts it anew.
    Snapshot,
    /// What is a thread's own is named by its address. Instead: through GS.
    Rip,
    /// Threads of a serial run execute at the same time, if the tool lets them. Instead: they take turns.
    Windows,
}

impl Optimisation {
    /// All of them.
    pub const ALL: [Optimisation; 30] = [
        Optimisation::Inline,
        Optimisation::Merge,
        Optimisation::Anywhere,
        Optimisation::FlagLookahead,
        Optimisation::Shards,
        Optimisation::CounterRegister,
        Optimisation::HomeSlots,
        Optimisation::Late,
        Optimisation::Operands,
        Optimisation::IblStubs,
        Optimisation::TargetMap,
        Optimisation::ConstantPointers,
        Optimisation::Neighbours,
        Optimisation::Prefetch,
        Optimisation::Inherit,
        Optimisation::Hold,
        Optimisation::Keep,
        Optimisation::Drain,
        Optimisation::Stubs,
        Optimisation::Remember,
        Optimisation::Call,
        Optimisation::Aside,
        Optimisation::Partly,
        Optimisation::CleanCall,
        Optimisation::VectorWords,
        Optimisation::FastPath,
        Optimisation::SelfCheck,
        Optimisation::Snapshot,
        Optimisation::Rip,
        Optimisation::Windows,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Optimisation::Inline => "inline",
            Optimisation::Merge => "merge",
            Optimisation::Anywhere => "anywhere",
            Optimisation::FlagLookahead => "flag-lookahead",
            Optimisation::Shards => "shards",
            Optimisation::CounterRegister => "counter-register",
            Optimisation::HomeSlots => "home-slots",
            Optimisation::Late => "late",
            Optimisation::Operands => "operands",
            Optimisation::IblStubs => "ibl-stubs",
            Optimisation::TargetMap => "target-map",
            Optimisation::ConstantPointers => "constant-pointers",
            Optimisation::Neighbours => "neighbours",
            Optimisation::Prefetch => "prefetch",
            Optimisation::Inherit => "inherit",
            Optimisation::Hold => "hold",
            Optimisation::Keep => "keep",
            Optimisation::Drain => "drain",
            Optimisation::Stubs => "stubs",
            Optimisation::Remember => "remember",
            Optimisation::Call => "call",
            Optimisation::Aside => "aside",
            Optimisation::Partly => "partly",
            Optimisation::CleanCall => "clean-call",
            Optimisation::VectorWords => "vector-words",
            Optimisation::FastPath => "fast-path",
            Optimisation::SelfCheck => "self-check",
            Optimisation::Snapshot => "snapshot",
            Optimisation::Rip => "rip",
            Optimisation::Windows => "windows",
        }
    }
}

/// Length of a slice from which on [`Optimisation::TargetMap`] pays in it.
pub const TARGETS_FROM: Duration = Duration::from_millis(200);

/// Which optimisations are off. As a number: one bit for each.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Off(pub u32);

impl Off {
    /// All of them.
    pub const ALL: Off = Off((1 << Optimisation::ALL.len()) - 1);

    /// Whether this one is on.
    pub const fn leaves(self, optimisation: Optimisation) -> bool {
        self.0 & 1 << optimisation as u32 == 0
    }

    /// Whether translated code calls the runtime for what only that finds out: see [`Optimisation::CleanCall`].
    pub fn leaves_clean_calls(self) -> bool {
        [Optimisation::Call, Optimisation::Aside, Optimisation::CleanCall].into_iter().all(|part| self.leaves(part))
    }

    /// The same with another one off.
    pub const fn and(self, optimisation: Optimisation) -> Off {
        Off(self.0 | 1 << optimisation as u32)
    }

    /// What is off in either.
    pub const fn or(self, other: Off) -> Off {
        Off(self.0 | other.0)
    }

    /// The same without what takes instructions that this processor doesn't have.
    pub fn on_this_processor(self) -> Off {
        use std::arch::is_x86_feature_detected as has;
        let mut off = self;
        if !has!("bmi2") {
            off = off.and(Optimisation::Neighbours);
        }
        if !has!("bmi2") || has_slow_extract() {
            off = off.and(Optimisation::TargetMap);
        }
        // Without these, a mask register has no instruction that moves all of it.
        if has!("avx512f") && !has!("avx512bw") { off.and(Optimisation::VectorWords) } else { off }
    }

    /// Reads a list as in `no-flag-lookahead,no-shards`; `none` turns all off, and a name without `no-` on again: `none,inline`.
    ///
    /// # Errors
    /// If a word is no such name.
    pub fn parse(text: &str) -> Result<Off, String> {
        text.split(',').filter(|word| !word.is_empty()).try_fold(Off::default(), |off, word| {
            if word == "none" {
                return Ok(Off::ALL);
            }
            let named = |name: &str| Optimisation::ALL.into_iter().find(|o| o.name() == name);
            let turned_off = word.strip_prefix("no-").and_then(named).map(|o| off.and(o));
            turned_off.or_else(|| named(word).map(|o| Off(off.0 & !(1 << o as u32)))).ok_or_else(|| {
                let names: Vec<_> = Optimisation::ALL.iter().map(|o| format!("no-{}", o.name())).collect();
                let rest = "none (all of them); a name without `no-` turns one on again";
                format!("`{word}` is no optimisation that can be turned off: {}, {rest}", names.join(", "))
            })
        })
    }
}

/// Whether `pext` is microcode: on AMD's processors before Zen 3.
fn has_slow_extract() -> bool {
    let ([_, first, third, second], [version, ..]) = (cpuid::ask(0, 0), cpuid::ask(1, 0));
    let family = (version >> 8 & 15) + (version >> 20 & 255);
    [first, second, third] == [0x6874_7541, 0x6974_6e65, 0x444d_4163] && family < 0x19
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let off = Off::parse("no-flag-lookahead,no-shards").unwrap();
        let left: Vec<_> = Optimisation::ALL.into_iter().filter(|&o| off.leaves(o)).collect();
        assert_eq!(left.len(), Optimisation::ALL.len() - 2);
        assert!(!off.leaves(Optimisation::FlagLookahead) && !off.leaves(Optimisation::Shards));
        assert_eq!(Off::parse("").unwrap(), Off::default());
        assert_eq!(Off::parse("none").unwrap(), Off::ALL);
        assert_eq!(Off::parse("none,flag-lookahead").unwrap().and(Optimisation::FlagLookahead), Off::ALL);
        assert!(Off::parse("none,flag-lookahead").unwrap().leaves(Optimisation::FlagLookahead));
        assert_eq!(Off::parse("no-flag-lookahead").unwrap().or(Off::parse("no-shards").unwrap()), off);
        assert!(Off::parse("no-lookahead").unwrap_err().contains("no-flag-lookahead"));
    }
}

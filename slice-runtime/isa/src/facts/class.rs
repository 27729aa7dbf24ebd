//! Which class an instruction belongs to.

use std::fmt;

use iced_x86::{EncodingKind, Mnemonic as M, Register};

use super::extension::Extension;
use crate::decode::{Instruction, Kind};

macro_rules! classes {
    ($($variant:ident $name:literal $what:literal)*) => {
        /// The class of an instruction: the categories that Pin and XED use, by the same names ([`Class::name`]).
        ///
        /// Moves, conversions, logic, broadcasts, gathers and the like have classes of their own, whatever they work on. All other vector instructions are classed by the
        /// registers that they work on and the extension that brought these. What XED has a category for that holds an instruction or two, and is of the kernel's affairs or
        /// of rare extensions, is [`Class::System`] or [`Class::Misc`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Class {
            $(#[doc = $what] $variant,)*
        }

        impl Class {
            /// All there are.
            pub const ALL: &'static [Class] = &[$(Class::$variant),*];

            /// XED's name: `DATAXFER`, `COND_BR`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Class::$variant => $name,)*
                }
            }
        }
    };
}

classes! {
    Nop "NOP" "`nop` of all lengths."
    DataTransfer "DATAXFER" "Moves and exchanges, of general registers, vectors and memory."
    Push "PUSH" "`push`, `pushf`."
    Pop "POP" "`pop`, `popf`."
    ConditionalMove "CMOV" "`cmov`."
    Binary "BINARY" "Integer arithmetic and comparison: `add`, `cmp`, `imul`, `div`, `inc` …"
    Logical "LOGICAL" "`and`, `or`, `xor`, `not`, `test`, of vectors of integers, too."
    LogicalFp "LOGICAL_FP" "`andps`, `xorpd` …"
    Shift "SHIFT" "`shl`, `sar`, `shrd` …"
    Rotate "ROTATE" "`rol`, `rcr` …"
    BitByte "BITBYTE" "`bt`, `bts`, `bsf` …"
    SetCc "SETCC" "`setcc`."
    FlagOp "FLAGOP" "What sets single flags: `clc`, `cld`, `lahf` …"
    Convert "CONVERT" "`cdqe`, `cqo`, `cvtsi2sd` …"
    StringOp "STRINGOP" "`movs`, `stos`, `cmps`, `scas`, `lods`, repeated or not."
    Semaphore "SEMAPHORE" "`cmpxchg`, `cmpxchg16b`, `xadd`."
    ConditionalBranch "COND_BR" "`je`, `loop`, `jrcxz` …"
    UnconditionalBranch "UNCOND_BR" "`jmp`, direct or not."
    Call "CALL" "`call`, direct or not."
    Return "RET" "`ret`."
    SystemCall "SYSCALL" "`syscall`."
    Interrupt "INTERRUPT" "`int3`, `int`."
    Prefetch "PREFETCH" "Prefetches."
    Misc "MISC" "`lea`, `leave`, `cpuid`, fences, `pause` and whatever has no class."
    System "SYSTEM" "`rdtsc`, `xgetbv`, and what only the kernel may do."
    Io "IO" "`in`, `out` and their string forms."
    Segment "SEGOP" "Segment registers and their bases."
    X87 "X87_ALU" "Floating point by the x87 unit."
    Mmx "MMX" "Vectors in MMX registers, 3DNow! included."
    Sse "SSE" "Vectors and scalars in XMM registers."
    Avx "AVX" "The same, with AVX."
    Avx2 "AVX2" "With AVX2."
    Avx512 "AVX512" "With AVX-512."
    Mask "KMASK" "Mask registers."
    Gather "GATHER" "Loads of elements from addresses of their own."
    Scatter "SCATTER" "Stores of elements to addresses of their own."
    Broadcast "BROADCAST" "One element to all of a vector."
    Blend "BLEND" "Elements chosen by an opmask."
    Compress "COMPRESS" "Chosen elements, side by side."
    Expand "EXPAND" "The other way round."
    Fma "VFMA" "Fused multiply and add."
    Aes "AES" "AES, on vectors of any length."
    Pclmulqdq "PCLMULQDQ" "Multiplication without carries, on vectors of any length."
    Sha "SHA" "SHA."
    Gfni "GFNI" "Galois fields."
    Bmi1 "BMI1" "`andn`, `blsr`, `tzcnt` …"
    Bmi2 "BMI2" "`pdep`, `mulx`, `shlx` …"
    Adx "ADOX_ADCX" "`adcx`, `adox`."
    Lzcnt "LZCNT" "`lzcnt`."
    Random "RDRAND" "`rdrand`, `rdseed`."
    Xsave "XSAVE" "Saving and restoring whole states: `xsave`, `fxrstor` …"
    Transaction "TSX" "Transactions: `xbegin`, `xend`, `xtest` …"
    Cet "CET" "`endbr64` and shadow stacks."
    Amx "AMX_TILE" "Tiles."
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Instruction {
    /// The class that it belongs to.
    pub fn class(&self) -> Class {
        let by_kind = match self.kind() {
            Kind::Jump { .. } | Kind::JumpIndirect => Some(Class::UnconditionalBranch),
            Kind::Branch { .. } | Kind::CountBranch { .. } => Some(Class::ConditionalBranch),
            Kind::Call { .. } | Kind::CallIndirect => Some(Class::Call),
            Kind::Return { .. } => Some(Class::Return),
            Kind::Syscall => Some(Class::SystemCall),
            _ => None,
        };
        let general = || if self.iced.is_string_instruction() { string(self.iced.mnemonic()) } else { None };
        by_kind
            .or_else(general)
            .or_else(|| by_mnemonic(self.iced.mnemonic()))
            .or_else(|| by_name(self.mnemonic()))
            .unwrap_or_else(|| self.by_operands())
    }

    /// By the extension, and by the registers that it works on.
    fn by_operands(&self) -> Class {
        let works_on = |is: fn(Register) -> bool| (0..self.iced.op_count()).any(|n| is(self.iced.op_register(n)));
        match self.extension() {
            Extension::X87 => return Class::X87,
            Extension::MMX | Extension::D3NOW => return Class::Mmx,
            Extension::BMI1 => return Class::Bmi1,
            Extension::BMI2 => return Class::Bmi2,
            Extension::XSAVE => return Class::Xsave,
            Extension::CET_SS => return Class::Cet,
            _ => {}
        }
        if works_on(|r| r.is_tmm()) || matches!(self.iced.mnemonic(), M::Ldtilecfg | M::Sttilecfg | M::Tilerelease) {
            return Class::Amx;
        }
        match self.iced.code().op_code().encoding() {
            EncodingKind::EVEX => Class::Avx512,
            EncodingKind::VEX if self.extension() == Extension::AVX2 => Class::Avx2,
            EncodingKind::VEX => Class::Avx,
            EncodingKind::Legacy if self.extension().is_sse() => {
                let only_mmx = works_on(|r| r.is_mm()) && !works_on(|r| r.is_xmm());
                if only_mmx { Class::Mmx } else { Class::Sse }
            }
            _ if self.iced.is_privileged() => Class::System,
            _ => Class::Misc,
        }
    }
}

fn string(mnemonic: M) -> Option<Class> {
    Some(match mnemonic {
        M::Insb | M::Insw | M::Insd | M::Outsb | M::Outsw | M::Outsd => Class::Io,
        _ => Class::StringOp,
    })
}

/// What is told by the mnemonic alone.
fn by_mnemonic(mnemonic: M) -> Option<Class> {
    Some(match mnemonic {
        M::Nop | M::Reservednop | M::Fnop => Class::Nop,
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Xchg | M::Bswap | M::Movbe => Class::DataTransfer,
        M::Movdir64b | M::Lddqu | M::Vlddqu | M::Maskmovq | M::Maskmovdqu | M::Vmaskmovdqu => Class::DataTransfer,
        M::Push | M::Pushf | M::Pushfq => Class::Push,
        M::Pop | M::Popf | M::Popfq => Class::Pop,
        M::Add | M::Sub | M::Adc | M::Sbb | M::Inc | M::Dec | M::Neg | M::Cmp => Class::Binary,
        M::Mul | M::Imul | M::Div | M::Idiv => Class::Binary,
        M::And | M::Or | M::Xor | M::Not | M::Test => Class::Logical,
        M::Pand | M::Pandn | M::Por | M::Pxor | M::Ptest => Class::Logical,
        M::Vpand | M::Vpandn | M::Vpor | M::Vpxor | M::Vptest => Class::Logical,
        M::Vpandd | M::Vpandq | M::Vpandnd | M::Vpandnq | M::Vpord | M::Vporq | M::Vpxord | M::Vpxorq => Class::Logical,
        M::Vpternlogd | M::Vpternlogq => Class::Logical,
        M::Andps | M::Andpd | M::Andnps | M::Andnpd | M::Orps | M::Orpd | M::Xorps | M::Xorpd => Class::LogicalFp,
        M::Vandps | M::Vandpd | M::Vandnps | M::Vandnpd => Class::LogicalFp,
        M::Vorps | M::Vorpd | M::Vxorps | M::Vxorpd | M::Vtestps | M::Vtestpd => Class::LogicalFp,
        M::Shl | M::Sal | M::Shr | M::Sar | M::Shld | M::Shrd => Class::Shift,
        M::Rol | M::Ror | M::Rcl | M::Rcr => Class::Rotate,
        M::Bt | M::Bts | M::Btr | M::Btc | M::Bsf | M::Bsr => Class::BitByte,
        M::Clc | M::Stc | M::Cmc | M::Cld | M::Std | M::Cli | M::Sti => Class::FlagOp,
        M::Lahf | M::Sahf | M::Clac | M::Stac => Class::FlagOp,
        M::Cbw | M::Cwde | M::Cdqe | M::Cwd | M::Cdq | M::Cqo => Class::Convert,
        M::Cmpxchg | M::Cmpxchg8b | M::Cmpxchg16b | M::Xadd => Class::Semaphore,
        M::Int | M::Int3 | M::Int1 => Class::Interrupt,
        M::Popcnt => Class::Sse,
        M::Lzcnt => Class::Lzcnt,
        M::Adcx | M::Adox => Class::Adx,
        M::Rdrand | M::Rdseed => Class::Random,
        M::In | M::Out => Class::Io,
        M::Lfs | M::Lgs | M::Lss | M::Rdfsbase | M::Rdgsbase | M::Wrfsbase | M::Wrgsbase => Class::Segment,
        M::Rdtsc | M::Rdtscp | M::Rdpmc | M::Rdpru | M::Rdmsr | M::Wrmsr | M::Xgetbv | M::Xsetbv | M::Hlt => {
            Class::System
        }
        M::Sgdt | M::Sidt | M::Sldt | M::Str | M::Smsw | M::Lsl | M::Lar | M::Verr | M::Verw => Class::System,
        M::Fxsave | M::Fxsave64 | M::Fxrstor | M::Fxrstor64 => Class::Xsave,
        M::Endbr32 | M::Endbr64 | M::Setssbsy => Class::Cet,
        M::Xbegin | M::Xend | M::Xabort | M::Xtest => Class::Transaction,
        M::Emms | M::Femms => Class::Mmx,
        M::Lea | M::Leave | M::Enter | M::Lfence | M::Sfence | M::Mfence | M::Clflush | M::Pause => Class::Misc,
        _ => return None,
    })
}

/// What is told by how the mnemonic begins, or by what is in it.
fn by_name(name: &str) -> Option<Class> {
    let vector = name.strip_prefix('v').unwrap_or(name);
    let begins = |all: &[&str]| all.iter().any(|start| vector.starts_with(start));
    Some(match name {
        _ if name.starts_with("cmov") => Class::ConditionalMove,
        // cmpbexadd and its relatives
        _ if name.starts_with("cmp") && name.ends_with("xadd") => Class::Semaphore,
        _ if name.starts_with("set") => Class::SetCc,
        _ if name.starts_with("prefetch") => Class::Prefetch,
        _ if name.starts_with("xsave") || name.starts_with("xrstor") => Class::Xsave,
        _ if vector.starts_with("gather") || vector.starts_with("pgather") => Class::Gather,
        _ if vector.starts_with("scatter") || vector.starts_with("pscatter") => Class::Scatter,
        _ if begins(&["broadcast", "pbroadcast"]) => Class::Broadcast,
        _ if name.starts_with("vblendm") || name.starts_with("vpblendm") => Class::Blend,
        _ if begins(&["compress", "pcompress"]) => Class::Compress,
        _ if begins(&["expand", "pexpand"]) => Class::Expand,
        _ if begins(&["fmadd", "fmsub", "fnmadd", "fnmsub"]) && name.starts_with('v') => Class::Fma,
        _ if begins(&["cvt", "pcvt"]) => Class::Convert,
        _ if begins(&["aes"]) => Class::Aes,
        _ if begins(&["pclmul"]) => Class::Pclmulqdq,
        _ if begins(&["sha1", "sha256", "sha512"]) => Class::Sha,
        _ if begins(&["gf2p8"]) => Class::Gfni,
        _ if begins(&["mov"]) => Class::DataTransfer,
        // All of them work on mask registers, and nothing else begins so.
        _ if name.starts_with('k') => Class::Mask,
        _ => return None,
    })
}

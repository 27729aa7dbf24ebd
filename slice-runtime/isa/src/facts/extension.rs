//! Which extension of the instruction set an instruction belongs to.

use std::fmt;

use iced_x86::CpuidFeature as Feature;

use crate::decode::Instruction;

/// An extension of the instruction set: the CPUID feature that an instruction needs. Its name is [`Extension::name`].
///
/// What the first x86-64 processors had is [`Extension::BASE`], but for x87, MMX, SSE and SSE2, which are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extension(Feature);

macro_rules! extensions {
    ($($name:ident = $feature:ident,)*) => {$(
        #[allow(missing_docs)] // the names are the manuals'
        pub const $name: Extension = Extension(Feature::$feature);
    )*};
}

impl Extension {
    /// General instructions that all x86-64 processors have.
    pub const BASE: Extension = Extension(Feature::INTEL8086);
    /// Floating point by the x87 unit.
    pub const X87: Extension = Extension(Feature::FPU);

    extensions! {
        MMX = MMX, SSE = SSE, SSE2 = SSE2, SSE3 = SSE3, SSSE3 = SSSE3, SSE4_1 = SSE4_1, SSE4_2 = SSE4_2, SSE4A = SSE4A,
        AVX = AVX, AVX2 = AVX2, FMA = FMA, FMA4 = FMA4, XOP = XOP, F16C = F16C, AVX_VNNI = AVX_VNNI,
        AVX512F = AVX512F, AVX512BW = AVX512BW, AVX512CD = AVX512CD, AVX512DQ = AVX512DQ, AVX512_IFMA = AVX512_IFMA,
        AVX512_VBMI = AVX512_VBMI, AVX512_VBMI2 = AVX512_VBMI2, AVX512_VNNI = AVX512_VNNI, AVX512_BF16 = AVX512_BF16,
        AVX512_BITALG = AVX512_BITALG, AVX512_VPOPCNTDQ = AVX512_VPOPCNTDQ, AVX512_FP16 = AVX512_FP16,
        AES = AES, VAES = VAES, PCLMULQDQ = PCLMULQDQ, VPCLMULQDQ = VPCLMULQDQ, GFNI = GFNI, SHA = SHA,
        BMI1 = BMI1, BMI2 = BMI2, ADX = ADX, LZCNT = LZCNT, POPCNT = POPCNT, MOVBE = MOVBE,
        CMPXCHG16B = CMPXCHG16B, FXSR = FXSR, XSAVE = XSAVE, RTM = RTM, CLFSH = CLFSH, CLFLUSHOPT = CLFLUSHOPT, CLWB = CLWB,
        RDRAND = RDRAND, RDSEED = RDSEED, RDTSCP = RDTSCP, FSGSBASE = FSGSBASE, CET_IBT = CET_IBT, CET_SS = CET_SS,
        AMX_TILE = AMX_TILE, AMX_INT8 = AMX_INT8, AMX_BF16 = AMX_BF16, PREFETCHW = PREFETCHW, D3NOW = D3NOW,
    }

    /// As manuals write it: `BASE`, `X87`, `SSE2`, `AVX512BW`, `BMI1`.
    pub fn name(self) -> String {
        match self {
            Extension::BASE => "BASE".to_owned(),
            Extension::X87 => "X87".to_owned(),
            Extension::D3NOW => "3DNOW".to_owned(),
            Extension(feature) => format!("{feature:?}"),
        }
    }

    /// One name for what all x86-64 processors have.
    fn of(feature: Feature) -> Extension {
        use Feature as F;
        match feature {
            F::INTEL8086
            | F::INTEL8086_ONLY
            | F::INTEL186
            | F::INTEL286
            | F::INTEL286_ONLY
            | F::INTEL386
            | F::INTEL386_ONLY
            | F::INTEL386_A0_ONLY
            | F::INTEL486
            | F::INTEL486_A_ONLY
            | F::X64
            | F::CMOV
            | F::CPUID
            | F::CX8
            | F::MSR
            | F::MULTIBYTENOP
            | F::PAUSE
            | F::RDPMC
            | F::SEP
            | F::SMM
            | F::SYSCALL
            | F::TSC => Extension::BASE,
            F::FPU | F::FPU287 | F::FPU287XL_ONLY | F::FPU387 | F::FPU387SL_ONLY => Extension::X87,
            other => Extension(other),
        }
    }

    /// Whether it works on XMM registers in the legacy encoding.
    pub(super) fn is_sse(self) -> bool {
        use Extension as E;
        matches!(self, E::SSE | E::SSE2 | E::SSE3 | E::SSSE3 | E::SSE4_1 | E::SSE4_2 | E::SSE4A)
    }

    /// How much it says: of several features of an instruction, the one that says most is its extension.
    fn says(self) -> u8 {
        match self {
            Extension::BASE => 0,
            Extension(Feature::AVX512VL) => 1,
            Extension::AVX | Extension::AVX512F => 2,
            Extension::SSE | Extension::SSE2 => 3,
            _ => 4,
        }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Instruction {
    /// The extension that it belongs to. Of those that need several features the one that says most: `VAES`, not `AVX`; `AVX512BW`, not `AVX512F` or
    /// the vector length.
    pub fn extension(&self) -> Extension {
        let all = self.iced.cpuid_features().iter().map(|&feature| Extension::of(feature));
        // The first of equals.
        all.rev().max_by_key(|extension| extension.says()).unwrap_or(Extension::BASE)
    }
}

//! What a routine changes, beyond memory and flags: as little as has to be kept around a call of it.

use iced_x86::{Code as Opcode, CpuidFeature, EncodingKind, Mnemonic, OpAccess, Register};

use crate::decode::{Instruction, Segment, gpr, mnemonics};
use crate::facts::with_info;

/// What only general registers and flags are needed for. For the x87 unit iced doesn't name the registers.
const GENERAL: [CpuidFeature; 17] = [
    CpuidFeature::ADX,
    CpuidFeature::BMI1,
    CpuidFeature::BMI2,
    CpuidFeature::CET_IBT,
    CpuidFeature::CMOV,
    CpuidFeature::CX8,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::INTEL8086,
    CpuidFeature::LZCNT,
    CpuidFeature::MOVBE,
    CpuidFeature::MULTIBYTENOP,
    CpuidFeature::PAUSE,
    CpuidFeature::POPCNT,
    CpuidFeature::X64,
];

/// What changes the lower 128 bits of the first sixteen vector registers and nothing above them, in its old encoding.
const VECTORS: [CpuidFeature; 8] = [
    CpuidFeature::SSE,
    CpuidFeature::SSE2,
    CpuidFeature::SSE3,
    CpuidFeature::SSSE3,
    CpuidFeature::SSE4_1,
    CpuidFeature::SSE4_2,
    CpuidFeature::AES,
    CpuidFeature::PCLMULQDQ,
];

/// How the names of those begin that move bits or compute with integers: MXCSR is neither looked at nor changed.
const NO_FLOATING_POINT: [&str; 14] =
    ["p", "mov", "and", "or", "xor", "unpck", "shuf", "blend", "insert", "extract", "lddqu", "maskmov", "aes", "crc32"];

/// The vector unit's control register as one that is to be loaded or stored.
const CONTROL: [Mnemonic; 2] = [Mnemonic::Ldmxcsr, Mnemonic::Stmxcsr];

/// What is touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// General registers that may change, one bit for each.
    pub general: u16,
    /// The same of vector registers: of their lower 128 bits.
    pub vectors: u16,
    /// Whether MXCSR is looked at, or changed, as floating point does.
    pub mxcsr: bool,
    /// Whether thread-local storage is used.
    pub fs: bool,
}

impl Touched {
    /// What either touches.
    #[must_use]
    pub fn and(self, other: Touched) -> Touched {
        Touched {
            general: self.general | other.general,
            vectors: self.vectors | other.vectors,
            mxcsr: self.mxcsr || other.mxcsr,
            fs: self.fs || other.fs,
        }
    }

    /// What an instruction touches; `None` if it is something that isn't followed.
    pub fn of(instruction: &Instruction) -> Option<Touched> {
        touched(instruction)
    }

    /// Whether it is nothing but general registers.
    pub fn is_general(self) -> bool {
        self == Touched { general: self.general, ..Touched::default() }
    }
}

fn touched(instruction: &Instruction) -> Option<Touched> {
    let iced = &instruction.iced;
    let sets_direction = matches!(iced.code(), Opcode::Std | Opcode::Popfq | Opcode::Popfw);
    let features = iced.cpuid_features();
    let is_vector = features.iter().any(|feature| VECTORS.contains(feature));
    let is_old = !is_vector || iced.encoding() == EncodingKind::Legacy;
    let is_known = features.iter().all(|feature| GENERAL.contains(feature) || VECTORS.contains(feature)) && is_old;
    if !is_known || sets_direction || CONTROL.contains(&iced.mnemonic()) || instruction.unrepeatable().is_some() {
        return None;
    }
    let segment = instruction.segment();
    if segment == Some(Segment::Gs) {
        return None;
    }
    let name = mnemonics()[iced.mnemonic() as usize];
    let moves = NO_FLOATING_POINT.iter().any(|start| name.starts_with(start));
    let start = Touched { mxcsr: is_vector && !moves, fs: segment.is_some(), ..Touched::default() };
    with_info(instruction, |info| {
        let used = info.used_registers().iter();
        used.map(|used| changed(used.register(), used.access())).try_fold(start, |all, one| Some(all.and(one?)))
    })
}

fn changed(register: Register, access: OpAccess) -> Option<Touched> {
    let reads = matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    let bit = |number: usize| if reads { 0 } else { 1 << number };
    match gpr(register) {
        Some(r) => Some(Touched { general: bit(r as usize), ..Touched::default() }),
        None if register.is_xmm() && register.number() < 16 => {
            Some(Touched { vectors: bit(register.number()), ..Touched::default() })
        }
        // Segment registers stand for flat segments, or for what was looked at before.
        None if register.is_segment_register() && reads => Some(Touched::default()),
        None => None,
    }
}

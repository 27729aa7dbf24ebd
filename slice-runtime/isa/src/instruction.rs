//! One decoded app instruction.

use std::fmt;
use std::sync::OnceLock;

use iced_x86::{
    Code as Opcode, Decoder, DecoderError, DecoderOptions, Encoder, Formatter, GasFormatter, Mnemonic, OpKind,
};
use machine::AppPc;

use crate::condition::Condition;
use crate::kind::{Kind, Segment};

/// More than there are mnemonics.
pub const MNEMONICS: usize = 2048;

/// All mnemonics in lower case, as a manual spells them. The numbers are the same in all processes of a program.
pub fn mnemonics() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        // One leaked string holds all names: they live as long as the program.
        let mut all = String::new();
        let mut ends = Vec::new();
        for mnemonic in Mnemonic::values() {
            all.push_str(&format!("{mnemonic:?}").to_ascii_lowercase());
            ends.push(all.len());
        }
        let all: &'static str = all.leak();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| &all[start..end]).collect()
    })
}

/// Makes what the first decoder and the first encoder of a process make, so that none after them has to: tables of a megabyte.
pub fn prepare() {
    const NOP: &[u8] = &[0x90];
    let nop = Decoder::new(64, NOP, DecoderOptions::NONE).decode();
    let encoded = Encoder::new(64).encode(&nop, 0);
    assert!(encoded.is_ok_and(|len| len == NOP.len()), "a nop is a nop");
}

/// Bytes of the longest instruction.
pub const MAX_LEN: usize = 15;

/// Why bytes are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The instruction goes on after the given bytes.
    #[error("the instruction goes on after the bytes that could be read: map or read more of the code")]
    Truncated,
    /// No instruction of 64-bit mode starts like this.
    #[error("the bytes are no instruction of 64-bit mode: executing them raises SIGILL")]
    Invalid,
}

/// A decoded instruction with its bytes and its address.
#[derive(Clone, Copy)]
pub struct Instruction {
    pub(crate) iced: iced_x86::Instruction,
    /// Its bytes; those behind it mean nothing.
    pub(crate) bytes: [u8; MAX_LEN],
    /// Where in `bytes` the 32-bit displacement of a RIP-relative operand lies; 0 if there is none.
    pub(crate) rip_displacement_at: u8,
    pub(crate) kind: Kind,
}

/// Reads one instruction after the other: what a decoder needs is made once for all of them.
pub struct Reader<'a> {
    bytes: &'a [u8],
    decoder: Decoder<'a>,
}

impl<'a> Reader<'a> {
    /// Starts with the instruction that starts `bytes` and lies at `pc`.
    pub fn new(bytes: &'a [u8], pc: AppPc) -> Reader<'a> {
        Reader { bytes, decoder: Decoder::with_ip(64, bytes, pc.0, DecoderOptions::NONE) }
    }

    /// Bytes of the instructions that were read.
    pub fn position(&self) -> usize {
        self.decoder.position()
    }

    /// Reads the next one.
    ///
    /// # Errors
    /// See [`DecodeError`]; then there is nothing more to be read.
    pub fn read(&mut self) -> Result<Instruction, DecodeError> {
        let given = &self.bytes[self.position()..];
        let iced = self.decoder.decode();
        if iced.is_invalid() {
            let more = self.decoder.last_error() == DecoderError::NoMoreBytes && given.len() < MAX_LEN;
            return Err(if more { DecodeError::Truncated } else { DecodeError::Invalid });
        }
        let rip_displacement_at = if iced.is_ip_rel_memory_operand() {
            self.decoder.get_constant_offsets(&iced).displacement_offset() as u8
        } else {
            0
        };
        // A copy of fixed length is a few instructions, one of any length a call.
        let bytes = given.first_chunk().copied().unwrap_or_else(|| {
            let mut few = [0; MAX_LEN];
            few[..given.len()].copy_from_slice(given);
            few
        });
        let mut instruction = Instruction { iced, bytes, rip_displacement_at, kind: Kind::Plain };
        instruction.kind = instruction.find_kind();
        Ok(instruction)
    }
}

impl Instruction {
    /// Decodes the instruction that starts `bytes` and lies at `pc`.
    ///
    /// # Errors
    /// See [`DecodeError`]; [`MAX_LEN`] bytes are never too few.
    pub fn decode(bytes: &[u8], pc: AppPc) -> Result<Instruction, DecodeError> {
        Reader::new(bytes, pc).read()
    }

    /// Its address.
    pub fn pc(&self) -> AppPc {
        AppPc(self.iced.ip())
    }

    /// The address after it.
    pub fn next_pc(&self) -> AppPc {
        AppPc(self.iced.next_ip())
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // no instruction is empty
    pub fn len(&self) -> usize {
        self.iced.len()
    }

    /// Its bytes as the app has them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Address that a RIP-relative memory operand names.
    pub fn rip_target(&self) -> Option<u64> {
        self.iced.is_ip_rel_memory_operand().then(|| self.iced.ip_rel_memory_address())
    }

    /// FS or GS, if a memory operand is relative to its base. Overrides that mean nothing (on `lea`, `nop` or an
    /// instruction without memory operand) don't count.
    pub fn segment(&self) -> Option<Segment> {
        if matches!(self.iced.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) {
            return None;
        }
        let addresses = self.iced.op_kinds().any(|kind| {
            use OpKind::{Memory, MemorySegDI, MemorySegEDI, MemorySegESI, MemorySegRDI, MemorySegRSI, MemorySegSI};
            matches!(
                kind,
                Memory | MemorySegSI | MemorySegESI | MemorySegRSI | MemorySegDI | MemorySegEDI | MemorySegRDI
            )
        });
        if !addresses {
            return None;
        }
        Segment::from_iced(self.iced.segment_prefix())
    }

    /// Whether this is a string instruction with a REP, REPE or REPNE prefix.
    pub fn is_rep(&self) -> bool {
        self.iced.is_string_instruction() && (self.iced.has_rep_prefix() || self.iced.has_repne_prefix())
    }

    /// The condition of a conditional move: it takes effect only if that holds.
    pub fn cmov_condition(&self) -> Option<Condition> {
        let name = self.mnemonic();
        if name.starts_with("cmov") { Condition::from_iced(self.iced.condition_code()) } else { None }
    }

    /// Whether AH, BH, CH or DH is an operand: such an instruction can't name R8 to R15.
    pub fn uses_high_byte(&self) -> bool {
        use iced_x86::Register::{AH, BH, CH, DH};
        (0..self.iced.op_count())
            .any(|i| self.iced.op_kind(i) == OpKind::Register && matches!(self.iced.op_register(i), AH | BH | CH | DH))
    }

    /// What makes the instruction's result unknowable from the app's state although it runs from a code cache as it
    /// is (random numbers, the number of the CPU, descriptor tables), or `None`.
    pub fn unrepeatable(&self) -> Option<&'static str> {
        match self.iced.mnemonic() {
            Mnemonic::Rdrand => Some("rdrand"),
            Mnemonic::Rdseed => Some("rdseed"),
            Mnemonic::Rdpid => Some("rdpid"),
            Mnemonic::Rdpru => Some("rdpru"),
            Mnemonic::Rdpmc => Some("rdpmc"),
            Mnemonic::Lsl => Some("lsl"),
            Mnemonic::Sidt => Some("sidt"),
            Mnemonic::Sgdt => Some("sgdt"),
            _ => None,
        }
    }

    /// Whether it stores those components of the extended state that the processor takes to be in use, which varies.
    pub fn stores_extended_state(&self) -> bool {
        use Mnemonic::{Xsave, Xsave64, Xsavec, Xsavec64, Xsaveopt, Xsaveopt64};
        matches!(self.iced.mnemonic(), Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt | Xsaveopt64)
    }

    /// Whether it stores such an image in the compacted form.
    pub fn compacts_extended_state(&self) -> bool {
        matches!(self.iced.mnemonic(), Mnemonic::Xsavec | Mnemonic::Xsavec64)
    }

    /// Whether it stores the x87 unit's environment by itself, and masks all exceptions then.
    pub fn masks_x87_exceptions(&self) -> bool {
        use Mnemonic::{Fnsave, Fnstenv, Fsave, Fstenv};
        matches!(self.iced.mnemonic(), Fnsave | Fnstenv | Fsave | Fstenv)
    }

    /// Whether it stores the x87 unit's environment, in which the address of the last x87 instruction stands.
    pub fn stores_x87_environment(&self) -> bool {
        use Mnemonic::{Fnsave, Fnstenv, Fsave, Fstenv, Fxsave, Fxsave64};
        let alone = matches!(self.iced.mnemonic(), Fnsave | Fnstenv | Fsave | Fstenv | Fxsave | Fxsave64);
        alone || self.stores_extended_state()
    }

    /// Whether it takes the flags from the stack.
    pub fn pops_flags(&self) -> bool {
        matches!(self.iced.mnemonic(), Mnemonic::Popf | Mnemonic::Popfq)
    }

    /// Its mnemonic in lower case, as a manual spells it.
    pub fn mnemonic(&self) -> &'static str {
        mnemonics()[self.iced.mnemonic() as usize]
    }

    /// Number of its mnemonic, an index into [`mnemonics`].
    pub fn mnemonic_number(&self) -> usize {
        self.iced.mnemonic() as usize
    }

    /// Name of the exact encoding, such as `Add_rm64_imm8`.
    pub fn opcode(&self) -> impl fmt::Debug + Copy + Eq + std::hash::Hash + use<> {
        let code: Opcode = self.iced.code();
        code
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        GasFormatter::new().format(&self.iced, &mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self} ({:02x?})", self.pc(), self.bytes())
    }
}

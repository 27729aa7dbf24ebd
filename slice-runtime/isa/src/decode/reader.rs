//! From bytes to instructions.

use iced_x86::{Decoder, DecoderError, DecoderOptions, Encoder};
use machine::AppPc;

use super::instruction::{Instruction, MAX_LEN};
use super::kind::Kind;

/// Makes what the first decoder and the first encoder of a process make, so that none after them has to: tables of a megabyte.
pub fn prepare() {
    const NOP: &[u8] = &[0x90];
    let nop = Decoder::new(64, NOP, DecoderOptions::NONE).decode();
    let encoded = Encoder::new(64).encode(&nop, 0);
    assert!(encoded.is_ok_and(|len| len == NOP.len()), "a nop is a nop");
}

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
}

//! Where the elements of a vector lie in memory, and what says which of them are accessed.

use iced_x86::{Mnemonic as M, Register};

use super::info::with_info;
use super::operands::MemoryOperand;
use crate::decode::Instruction;

/// Which elements are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementMask {
    /// All.
    All,
    /// Those whose bit is set in this mask register.
    Opmask(u8),
    /// As many, from the first on, as bits are set in this mask register: what is compressed or expanded lies side by side.
    CountOfOpmask(u8),
    /// Those whose element of this vector register, of so many bytes, has its highest bit set.
    Signs(u8, u8),
    /// The same of an MMX register.
    SignsOfMmx(u8),
}

/// The elements of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// How many there are.
    pub count: u8,
    /// Bytes of each.
    pub size: u32,
    /// Which are accessed.
    pub mask: ElementMask,
    /// Of gathers and scatters: the vector register that has their indices, and the bytes of each index. They lie side by side otherwise.
    pub indices: Option<(u8, u8)>,
}

impl Instruction {
    /// The elements of its memory operand with this index. One element, the operand as it is, unless it gathers or scatters, or is a masked move. Of other masked
    /// instructions the processor may read what the mask leaves out, too.
    pub fn elements(&self, operand: usize) -> Elements {
        let all = self.memory_operands();
        let one =
            |memory: &MemoryOperand| Elements { count: 1, size: memory.size, mask: ElementMask::All, indices: None };
        let memory = &all[operand];
        if operand == 0 { self.vector_elements(memory).unwrap_or_else(|| one(memory)) } else { one(memory) }
    }

    fn vector_elements(&self, memory: &MemoryOperand) -> Option<Elements> {
        let vector = |register: Register| {
            register.is_vector_register().then(|| register.full_register() as u8 - Register::ZMM0 as u8)
        };
        if self.iced.is_vsib() {
            let index = self.iced.memory_index();
            let index_size = if self.iced.is_vsib64() { 8 } else { 4 };
            let data = (0..self.iced.op_count()).map(|n| self.iced.op_register(n)).find(|r| r.is_vector_register())?;
            let size = memory.size.max(1);
            let count = (data.size() as u32 / size).min(index.size() as u32 / u32::from(index_size));
            let mask = match self.iced.op_mask() {
                // The mask of AVX2 is the last operand, with elements as large as those of the data.
                Register::None => ElementMask::Signs(vector(self.iced.op2_register())?, size as u8),
                mask => ElementMask::Opmask(opmask(mask)),
            };
            return Some(Elements { count: count as u8, size, mask, indices: Some((vector(index)?, index_size)) });
        }
        let info = self.iced.memory_size().info();
        let (size, count) = (info.element_size() as u32, info.element_count() as u8);
        let contiguous = |mask, size, count| Some(Elements { count, size, mask, indices: None });
        match self.iced.mnemonic() {
            M::Maskmovq => {
                contiguous(ElementMask::SignsOfMmx(self.iced.op2_register() as u8 - Register::MM0 as u8), 1, 8)
            }
            M::Maskmovdqu | M::Vmaskmovdqu => {
                contiguous(ElementMask::Signs(vector(self.iced.op2_register())?, 1), 1, 16)
            }
            M::Vmaskmovps | M::Vmaskmovpd | M::Vpmaskmovd | M::Vpmaskmovq => {
                contiguous(ElementMask::Signs(vector(self.iced.op1_register())?, size as u8), size, count)
            }
            _ if self.iced.op_mask() == Register::None => None,
            M::Vcompresspd
            | M::Vcompressps
            | M::Vpcompressb
            | M::Vpcompressd
            | M::Vpcompressq
            | M::Vpcompressw
            | M::Vexpandpd
            | M::Vexpandps
            | M::Vpexpandb
            | M::Vpexpandd
            | M::Vpexpandq
            | M::Vpexpandw => contiguous(ElementMask::CountOfOpmask(opmask(self.iced.op_mask())), size, count),
            _ if self.is_masked_move() => contiguous(ElementMask::Opmask(opmask(self.iced.op_mask())), size, count),
            _ => None,
        }
    }

    /// Whether each bit of its opmask is for one element in memory, which is left alone if the bit is clear.
    fn is_masked_move(&self) -> bool {
        let moves = matches!(
            self.iced.mnemonic(),
            M::Vmovups
                | M::Vmovupd
                | M::Vmovaps
                | M::Vmovapd
                | M::Vmovss
                | M::Vmovsd
                | M::Vmovsh
                | M::Vmovdqu8
                | M::Vmovdqu16
                | M::Vmovdqu32
                | M::Vmovdqu64
                | M::Vmovdqa32
                | M::Vmovdqa64
        );
        // Stores of what was narrowed: `vpmovdb` and the like.
        let narrows = self.mnemonic().starts_with("vpmov")
            && with_info(self, |info| info.used_memory().iter().any(|used| super::info::writes(used.access())));
        moves || narrows
    }
}

fn opmask(register: Register) -> u8 {
    register as u8 - Register::K0 as u8
}

//! Where an instruction stands in a block: the one place that says where blocks end. The translator makes blocks by it, and slices end by it.

use super::instruction::Instruction;
use super::kind::Kind;

/// Where an instruction stands in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBlock {
    /// Others may follow it in its block.
    Inside,
    /// It is the last of its block.
    Last,
    /// It is a block for itself: what it gives is recorded for slices, one of which may end before it; or it can't be translated.
    Alone,
}

impl Instruction {
    /// Where it stands in a block.
    pub fn in_block(&self) -> InBlock {
        match self.kind() {
            Kind::Nondeterministic(_) | Kind::Unsupported(_) => InBlock::Alone,
            Kind::Plain if self.unrepeatable().is_some() => InBlock::Alone,
            Kind::Plain | Kind::SegmentBase { .. } => InBlock::Inside,
            _ => InBlock::Last,
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::AppPc;

    use super::*;

    #[test]
    fn blocks_end_behind_branches_and_around_what_is_recorded() {
        let stands = |bytes: &[u8]| Instruction::decode(bytes, AppPc(0x1000)).unwrap().in_block();
        // nop; rep movsb; rdfsbase rax
        for inside in [&[0x90][..], &[0xf3, 0xa4], &[0xf3, 0x48, 0x0f, 0xae, 0xc0]] {
            assert_eq!(stands(inside), InBlock::Inside);
        }
        // je; ret; call; syscall; int3
        for last in [&[0x74, 0][..], &[0xc3], &[0xe8, 0, 0, 0, 0], &[0x0f, 5], &[0xcc]] {
            assert_eq!(stands(last), InBlock::Last);
        }
        // rdtsc; cpuid; rdrand eax
        for alone in [&[0x0f, 0x31][..], &[0x0f, 0xa2], &[0x0f, 0xc7, 0xf0]] {
            assert_eq!(stands(alone), InBlock::Alone);
        }
    }
}

//! The address of the last x87 instruction: the processor keeps one in the cache, and the app is to find its own.

use bubble::map::CACHE_SHARED;
use machine::{CachePc, Here, Memory, component};
use translator::abi::ThreadState;

use crate::cache::Cache;

/// Makes the address of the last x87 instruction the app's own. Done at each exit, so that the app's state never has one of the cache's outside of it.
pub(super) fn show_pc(thread: &mut ThreadState, cache: &Cache) {
    let xstate = &mut thread.cpu.xstate;
    if xstate.xstate_bv() & component::X87 == 0 {
        return;
    }
    if let Some(at) = cache.locate(CachePc(xstate.x87_pc())) {
        let opcode = x87_opcode(at.entry.pc);
        xstate.set_x87_pc(at.entry.pc);
        xstate.correct_x87_opcode(opcode);
    }
    if thread.loses_x87 == 0 {
        return;
    }
    // The caches lie in one range of 4 GiB.
    let noted = xstate.noted_x87_pc();
    let noted = noted.map(|low| CachePc(CACHE_SHARED.start >> 32 << 32 | u64::from(low)));
    if let Some(at) = noted.and_then(|place| cache.locate(place)) {
        xstate.note_app_x87_pc(at.entry.pc, x87_opcode(at.entry.pc));
    }
    thread.restores_x87 = 1;
}

/// What the processor keeps as the opcode of the app's x87 instruction at `pc`: translated code may name its operand in another way, which shows in it.
/// 0 if the code isn't there any more.
fn x87_opcode(pc: u64) -> u16 {
    let mut code = [0; isa::MAX_LEN];
    let len = Here::new().read_prefix(pc, &mut code);
    opcode_of(&code[..len])
}

fn opcode_of(code: &[u8]) -> u16 {
    const PREFIXES: [u8; 10] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3];
    let is_prefix = |byte: &&u8| PREFIXES.contains(byte) || **byte & 0xf0 == 0x40;
    let mut rest = code.iter().skip_while(is_prefix);
    match (rest.next(), rest.next()) {
        (Some(first @ 0xd8..=0xdf), Some(second)) => u16::from(first & 7) << 8 | u16::from(*second),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::opcode_of;

    #[test]
    fn opcodes_have_three_bits_of_the_first_byte() {
        assert_eq!(opcode_of(&[0xdb, 0x1d, 1, 2, 3, 4]), 0x31d);
        assert_eq!(opcode_of(&[0x65, 0x41, 0xd9, 0x30]), 0x130);
        assert_eq!(opcode_of(&[0x90]), 0);
        assert_eq!(opcode_of(&[0xdb]), 0);
    }
}

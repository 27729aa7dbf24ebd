//! Calls of the vsyscall page, which old programs use for the time: the kernel makes a system call there that no tracer sees.
//!
//! The code that calls it loads its address into a register shortly before. Such calls are searched for with the instructions of
//! [`super::random`] and stopped at in the same way; the system call is then made for the app (by the master's `page_calls`), and recorded as
//! any other. A slice that comes to the page without a record says so.

use isa::Instruction;
use machine::AppPc;
use machine::Memory;
use memchr::memmem;
use syscall_replay::table;
use tracee::Stopped;

use crate::base::Failure;

/// Instructions between the load of the address and the call.
const MOST_BETWEEN: usize = 8;
const LOAD_LEN: usize = 7;

/// Offsets in `code` of calls through a register that was loaded with such an address.
pub fn find_in(code: &[u8]) -> impl Iterator<Item = usize> {
    // The end of the address, which is rare in code.
    memmem::find_iter(code, &[0x60, 0xff]).filter_map(|at| call_after(code, at.checked_sub(LOAD_LEN - 2)?))
}

/// If `mov $page, %register` is at `load`: the offset of the call through this register that follows.
fn call_after(code: &[u8], load: usize) -> Option<usize> {
    let &[rex, 0xc7, register, a, b, c, d] = code.get(load..load + LOAD_LEN)? else { return None };
    let address = i64::from(i32::from_le_bytes([a, b, c, d])) as u64;
    if !matches!(rex, 0x48 | 0x49) || register & 0xf8 != 0xc0 {
        return None;
    }
    table::vsyscall(address)?;
    let mut at = load + LOAD_LEN;
    for _ in 0..MOST_BETWEEN {
        let rest = code.get(at..)?;
        if is_call(rest) == Some((rex & 1) << 3 | register & 7) {
            return Some(at);
        }
        at += Instruction::decode(rest, AppPc(0)).ok()?.len();
    }
    None
}

/// The register, if `code` starts with a call through one.
fn is_call(code: &[u8]) -> Option<u8> {
    match code {
        [0xff, to, ..] if to & 0xf8 == 0xd0 => Some(to & 7),
        [0x41, 0xff, to, ..] if to & 0xf8 == 0xd0 => Some(8 | to & 7),
        _ => None,
    }
}

/// Whether the process stands before a call through a register.
pub fn stands_before_call(stopped: &Stopped) -> Result<bool, Failure> {
    let mut code = [0; 3];
    let len = stopped.read_prefix(stopped.registers()?.rip(), &mut code);
    Ok(is_call(&code[..len]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_page_are_found() {
        // mov $0xffffffffff600000, %rax; xor %edi, %edi; call *%rax
        let code = [0x90, 0x48, 0xc7, 0xc0, 0, 0, 0x60, 0xff, 0x31, 0xff, 0xff, 0xd0, 0x90];
        assert_eq!(find_in(&code).collect::<Vec<_>>(), [10]);
        // mov $0xffffffffff600400, %r12; call *%r12
        let code = [0x49, 0xc7, 0xc4, 0, 4, 0x60, 0xff, 0x41, 0xff, 0xd4];
        assert_eq!(find_in(&code).collect::<Vec<_>>(), [7]);
        // Another register, another address.
        let code = [0x49, 0xc7, 0xc4, 0, 4, 0x60, 0xff, 0xff, 0xd4, 0x48, 0xc7, 0xc0, 1, 0, 0x60, 0xff, 0xff, 0xd0];
        assert_eq!(find_in(&code).count(), 0);
    }
}

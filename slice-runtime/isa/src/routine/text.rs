//! Where machine code of routines is read.

use std::ops::Range;
use std::sync::OnceLock;

use crate::decode::MAX_LEN;

/// A program's code.
pub trait Text {
    /// What lies at an address, and behind it.
    fn code(&self, pc: u64) -> [u8; MAX_LEN];

    /// The word there, if it is one that never changes.
    fn constant(&self, address: u64) -> Option<u64>;
}

/// Code without constants.
impl<F: Fn(u64) -> [u8; MAX_LEN]> Text for F {
    fn code(&self, pc: u64) -> [u8; MAX_LEN] {
        self(pc)
    }

    fn constant(&self, _: u64) -> Option<u64> {
        None
    }
}

/// The code of this very program.
pub struct Own(());

impl Own {
    /// This program.
    ///
    /// # Safety
    /// Only addresses may be asked for that functions of this program begin at, or that these lead to.
    pub unsafe fn new() -> Own {
        Own(())
    }
}

impl Text for Own {
    fn code(&self, pc: u64) -> [u8; MAX_LEN] {
        // SAFETY: this program jumps to its own code only, and there are more bytes of it behind any instruction.
        unsafe { *(pc as *const [u8; MAX_LEN]) }
    }

    fn constant(&self, address: u64) -> Option<u64> {
        let constants = constants();
        let is_inside = constants.contains(&address) && constants.end - address >= 8;
        // SAFETY: the range is mapped, and nothing writes to it any more.
        is_inside.then(|| unsafe { (address as *const u64).read_unaligned() })
    }
}

/// What is written when the program is loaded, and never again (RELRO): through words there one crate's code calls another's.
fn constants() -> Range<u64> {
    /// As in `elf.h`.
    #[repr(C)]
    struct Program {
        kind: u32,
        flags: u32,
        offset: u64,
        address: u64,
        physical: u64,
        in_file: u64,
        in_memory: u64,
        align: u64,
    }
    const RELRO: u32 = 0x6474_e552;
    const TABLE_AT: usize = 32;
    const COUNT_AT: usize = 56;
    unsafe extern "C" {
        #[link_name = "__ehdr_start"]
        static HEADER: u8;
    }
    static FOUND: OnceLock<Range<u64>> = OnceLock::new();
    let find = || {
        let header = &raw const HEADER;
        // SAFETY: the linker has put the symbol where the file's header is, in front of the table that this names.
        let programs = unsafe {
            let table = header.add(TABLE_AT).cast::<u64>().read_unaligned() as usize;
            let count = header.add(COUNT_AT).cast::<u16>().read_unaligned();
            std::slice::from_raw_parts(header.add(table).cast::<Program>(), count.into())
        };
        let relro = programs.iter().find(|program| program.kind == RELRO);
        relro.map_or(0..0, |program| {
            let start = header as u64 + program.address;
            start..start + program.in_memory
        })
    };
    FOUND.get_or_init(find).clone()
}

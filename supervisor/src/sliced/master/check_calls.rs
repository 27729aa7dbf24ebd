//! Whether the kernel writes only what the table of system calls names (`-check-calls 1`).
//!
//! All private memory that the app may write is read before a recorded call and compared after it. A changed byte that the
//! table doesn't name would be missing in each slice's replay.

use bubble::map::BUBBLE;
use machine::Memory;
use machine::mapping::{self, Mapping};
use syscall_replay::effects::Range;
use syscall_replay::{PendingCall, table};
use tracee::Stopped;

use crate::base::Failure;

/// A mapping that is larger isn't looked at: programs reserve much that they don't use.
const LARGEST: u64 = 256 << 20;

/// What writable memory held before a call.
pub struct Before {
    mappings: Vec<(u64, Vec<u8>)>,
}

impl Before {
    /// Reads it.
    pub fn read(process: &Stopped) -> Self {
        let all = mapping::all(process.pid()).unwrap_or_default();
        let mappings = all.into_iter().filter(is_compared).map(|mapping| {
            let mut bytes = vec![0; mapping.size() as usize];
            let readable = process.read_prefix(mapping.start, &mut bytes);
            bytes.truncate(readable);
            (mapping.start, bytes)
        });
        Self { mappings: mappings.collect() }
    }

    /// Compares it with what is there after the call. `is_known`: whether an address is one of those that it has written besides.
    ///
    /// # Errors
    /// If the call has written what the table doesn't name.
    pub fn compare(
        &self,
        process: &Stopped,
        pending: &PendingCall,
        result: u64,
        is_known: impl Fn(u64) -> bool,
    ) -> Result<(), Failure> {
        let named = pending.written(result, process);
        for (start, before) in &self.mappings {
            let mut after = vec![0; before.len()];
            let readable = process.read_prefix(*start, &mut after);
            let changed = (0..readable).filter(|&at| before[at] != after[at]).map(|at| start + at as u64);
            if let Some(address) = changed.into_iter().find(|&address| !is_named(&named, address) && !is_known(address))
            {
                return Err(wrong_table(pending, result, address));
            }
        }
        Ok(())
    }
}

fn is_named(named: &[Range], address: u64) -> bool {
    named.iter().any(|range| address.wrapping_sub(range.address) < range.len)
}

fn wrong_table(pending: &PendingCall, result: u64, address: u64) -> Failure {
    let name = table::name(pending.number);
    let args: Vec<String> = pending.args.iter().map(|arg| format!("{arg:#x}")).collect();
    let args = args.join(", ");
    Failure::Unsupported(format!(
        "the table of system calls is wrong: {name}({args}) = {result:#x} has written to {address:#x}, which its row doesn't name"
    ))
}

/// Whether it is a private mapping that the app can write.
fn is_compared(mapping: &Mapping) -> bool {
    let is_meant = mapping.read && mapping.write && !mapping.shared && mapping.size() <= LARGEST;
    is_meant && !BUBBLE.overlaps(mapping.start, mapping.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_apps_own_writable_memory_is_compared() {
        let is_compared = |line: &str| is_compared(&Mapping::parse(line).unwrap());
        assert!(is_compared("400000-401000 rw-p 00000000 fe:00 1 /bin/x"));
        assert!(!is_compared("400000-401000 r--p 00000000 fe:00 1 /bin/x"));
        assert!(!is_compared("400000-401000 rw-s 00000000 fe:00 1 /bin/x"));
        let bubble = format!("{:x}-{:x} rw-p 00000000 00:00 0", BUBBLE.start, BUBBLE.start + 4096);
        assert!(!is_compared(&bubble));
    }

    #[test]
    fn bytes_belong_to_the_ranges_that_hold_them() {
        let named = [Range { address: 0x1000, len: 8 }];
        assert!(is_named(&named, 0x1000) && is_named(&named, 0x1007));
        assert!(!is_named(&named, 0x0fff) && !is_named(&named, 0x1008));
    }
}

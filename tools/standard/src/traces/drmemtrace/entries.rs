//! What a drmemtrace file is made of: entries of 12 bytes, little-endian, as `trace_entry.h` of DynamoRIO's drcachesim has them (version 5 of the format).
//!
//! ```text
//!   at 0 type (2 bytes) │ 2 size (2 bytes) │ 4 address (8 bytes)
//!
//!   header, version, kind of file, thread, process, sizes of cache lines and pages, time, processor
//!   …
//!   [target]  encoding  [encoding]  instruction  [system call]  load …  store …       an instruction, with up to 8 bytes of it in each encoding
//!   interruption  signal                                                              a handler begins
//!   transfer                                                                          one has returned, or another program begins
//!   …
//!   thread's exit, footer
//! ```
//!
//! Each instruction has its encoding: a slice doesn't know which ones were executed before it.

/// What an entry is, or may be (`trace_type_t`).
pub mod types {
    pub const LOAD: u16 = 0;
    pub const STORE: u16 = 1;
    pub const PREFETCH: u16 = 2;
    pub const PREFETCH_T0: u16 = 3;
    pub const PREFETCH_T1: u16 = 4;
    pub const PREFETCH_T2: u16 = 5;
    pub const PREFETCH_NTA: u16 = 6;
    pub const INSTRUCTION: u16 = 10;
    pub const JUMP: u16 = 11;
    pub const INDIRECT_JUMP: u16 = 12;
    pub const CALL: u16 = 14;
    pub const INDIRECT_CALL: u16 = 15;
    pub const RETURN: u16 = 16;
    pub const FLUSH: u16 = 20;
    pub const THREAD: u16 = 22;
    pub const THREAD_EXIT: u16 = 23;
    pub const PROCESS: u16 = 24;
    pub const HEADER: u16 = 25;
    pub const FOOTER: u16 = 26;
    pub const MARKER: u16 = 28;
    /// A further repetition of a string instruction: it isn't fetched again.
    pub const NOT_FETCHED: u16 = 29;
    pub const ENCODING: u16 = 47;
    pub const TAKEN: u16 = 48;
    pub const NOT_TAKEN: u16 = 49;
}

/// What a marker tells, in its entry's size (`trace_marker_type_t`).
pub mod markers {
    pub const INTERRUPTION: u16 = 0;
    pub const TRANSFER: u16 = 1;
    pub const TIME: u16 = 2;
    pub const PROCESSOR: u16 = 3;
    pub const KIND_OF_FILE: u16 = 9;
    pub const LINE_SIZE: u16 = 10;
    pub const VERSION: u16 = 12;
    pub const PAGE_SIZE: u16 = 18;
    pub const SYSTEM_CALL: u16 = 25;
    pub const BRANCH_TARGET: u16 = 29;
    pub const SIGNAL: u16 = 40;
}

/// `TRACE_ENTRY_VERSION_BRANCH_INFO`: it is known which branches are taken, and where indirect ones go. Later versions have times, which differ in each run.
const VERSION: u64 = 5;
/// `OFFLINE_FILE_TYPE_ARCH_X86_64`, `_ENCODINGS` and `_SYSCALL_NUMBERS`.
const KIND_OF_FILE: u64 = 0x40 | 0x200 | 0x400;
/// Bytes, as all processors of this kind have them.
const LINE_SIZE: u64 = 64;
/// Bytes of the smallest pages.
const PAGE_SIZE: u64 = 4096;
/// The kernel's number differs in each run.
const PROCESS: u64 = 1;

/// Microseconds. DynamoRIO's reader looks for a time before the first instruction, and which it was differs in each run.
const TIME: u64 = 1;
/// It isn't known.
const PROCESSOR: u64 = u64::MAX;

/// The number that a thread has in the file: the kernel's differs in each run, and 0 is none.
fn number(thread: u64) -> u64 {
    thread.wrapping_add(1)
}

/// Appends an entry.
pub fn append(bytes: &mut Vec<u8>, kind: u16, size: u16, address: u64) {
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&address.to_le_bytes());
}

/// Appends a marker.
pub fn append_marker(bytes: &mut Vec<u8>, marker: u16, value: u64) {
    append(bytes, types::MARKER, marker, value);
}

/// Appends up to 8 bytes of an instruction that follows.
pub fn append_encoding(bytes: &mut Vec<u8>, size: u16, encoding: u64) {
    append(bytes, types::ENCODING, size, encoding);
}

/// What stands before all that a thread executes.
pub fn head(thread: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(&mut bytes, types::HEADER, 0, VERSION);
    append_marker(&mut bytes, markers::VERSION, VERSION);
    append_marker(&mut bytes, markers::KIND_OF_FILE, KIND_OF_FILE);
    append(&mut bytes, types::THREAD, 0, number(thread));
    append(&mut bytes, types::PROCESS, 0, PROCESS);
    append_marker(&mut bytes, markers::LINE_SIZE, LINE_SIZE);
    append_marker(&mut bytes, markers::PAGE_SIZE, PAGE_SIZE);
    append_marker(&mut bytes, markers::TIME, TIME);
    append_marker(&mut bytes, markers::PROCESSOR, PROCESSOR);
    bytes
}

/// What stands behind it.
pub fn end(thread: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(&mut bytes, types::THREAD_EXIT, 0, number(thread));
    append(&mut bytes, types::FOOTER, 0, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_and_ends_as_the_format_has_it() {
        let (head, end) = (head(0), end(0));
        let (entries, rest) = head.as_chunks::<12>();
        assert!(rest.is_empty() && end.len() == 24);
        assert_eq!(entries[0], [25, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(entries[2], [28, 0, 9, 0, 0x40, 6, 0, 0, 0, 0, 0, 0]);
        assert_eq!(entries[3][..5], [22, 0, 0, 0, 1]);
        assert_eq!(end[12..16], [26, 0, 0, 0]);
    }
}

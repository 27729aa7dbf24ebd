//! Which bytes a finished call wrote, and a hash of what it read: the interpreter of [`crate::table`].

use machine::Memory;

use crate::hash::{SEED, mix};
use crate::result::is_error;
use crate::table::{In, Len, Out, Row, Rule};

/// The kernel takes no more elements than this in one array of `iovec`.
const MAX_IOVECS: u64 = 1024;
/// The longest address that a socket has (`sockaddr_storage`).
const MAX_SOCKET_ADDRESS: u64 = 128;
/// Bits of the largest `fd_set` that the kernel looks at by default.
const MAX_FDS: u64 = 1 << 20;
/// Outputs of a failed call are small structures; a longer one is a nonsensical argument.
const MAX_ON_ERROR: u64 = 1 << 16;
/// Bytes of input that are hashed for each call: enough to notice a wrong replay, little enough not to cost.
pub const HASHED: usize = 4096;

/// A piece of app memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub address: u64,
    /// Length in bytes.
    pub len: u64,
}

/// What the app's mapping of a file shows of what a call has written to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// First address.
    pub address: u64,
    /// What is there after the call.
    pub bytes: Vec<u8>,
}

/// What must be noted at a call's entry to know at its exit what was written: room of a [`Out::Counted`] buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    room: u64,
}

impl Entry {
    /// Notes it.
    pub fn note(rule: &Rule, args: &[u64; 6], memory: &dyn Memory) -> Self {
        let mut entry = Self::default();
        for out in rule.outputs {
            if let Out::Counted(_, len) = *out {
                entry.room = read_u32(memory, args[len as usize]).unwrap_or(0).into();
            }
        }
        entry
    }

    /// What was noted, for [`Self::with_room`]: the room in a buffer whose length the call itself reads.
    pub fn room(self) -> u64 {
        self.room
    }

    /// What somebody else has noted.
    pub fn with_room(room: u64) -> Self {
        Self { room }
    }
}

/// Lists what a call wrote, given the state at its exit. Ranges may overlap and may name more than was written.
pub fn written(rule: &Rule, args: &[u64; 6], result: u64, entry: Entry, memory: &dyn Memory) -> Vec<Range> {
    let failed = is_error(result);
    if failed && result == -i64::from(libc::EFAULT) as u64 {
        // It may have written up to where it couldn't.
        let mut list = Written { args, result: ANY_RESULT, memory, ranges: Vec::new() };
        rule.outputs.iter().for_each(|out| list.output(*out, entry));
        list.ranges.iter_mut().for_each(|range| range.len = range.len.min(MAX_ON_ERROR).min(u64::MAX - range.address));
        return list.ranges;
    }
    let mut list = Written { args, result, memory, ranges: Vec::new() };
    if failed && !rule.row.is_some_and(|row| row.always) {
        return list.ranges;
    }
    for out in rule.outputs {
        list.output(*out, entry);
    }
    if failed {
        list.ranges.retain(|range| range.len <= MAX_ON_ERROR);
    }
    list.ranges
}

/// Larger than every result.
const ANY_RESULT: u64 = i64::MAX as u64;

/// Lists where a call that is about to be made may write.
pub fn writable(rule: &Rule, args: &[u64; 6], memory: &dyn Memory) -> Vec<Range> {
    let list = written(rule, args, ANY_RESULT, Entry::note(rule, args, memory), memory);
    list.into_iter().map(|range| Range { len: range.len.min(u64::MAX - range.address), ..range }).collect()
}

struct Written<'a> {
    args: &'a [u64; 6],
    result: u64,
    memory: &'a dyn Memory,
    ranges: Vec<Range>,
}

impl Written<'_> {
    fn arg(&self, position: u8) -> u64 {
        self.args[position as usize]
    }

    fn push(&mut self, address: u64, len: u64) {
        if address != 0 && len != 0 {
            self.ranges.push(Range { address, len });
        }
    }

    fn output(&mut self, out: Out, entry: Entry) {
        match out {
            Out::Bytes(at, len) => self.push(self.arg(at), byte_count(len, self.args, self.result, self.memory)),
            Out::Iovecs(at, count) => self.scattered(self.arg(at), self.arg(count), self.result),
            Out::Message(at) => self.message(self.arg(at), self.result),
            Out::Messages(at, count) => {
                for i in 0..self.elements(count) {
                    let header = self.arg(at).wrapping_add(i * 64);
                    let received = read_u32(self.memory, header + 56).unwrap_or(0).into();
                    self.push(header + 56, 4);
                    self.message(header, if self.result == ANY_RESULT { ANY_RESULT } else { received });
                }
            }
            Out::SentMessages(at, count) => {
                for i in 0..self.elements(count) {
                    self.push(self.arg(at).wrapping_add(i * 64 + 56), 4);
                }
            }
            Out::Iovec(at) => {
                let mut buffer = [0; 2];
                if read_words(self.memory, self.arg(at), &mut buffer) {
                    self.push(buffer[0], buffer[1]);
                    self.push(self.arg(at), 16);
                }
            }
            Out::Counted(at, len) => {
                let size = read_u32(self.memory, self.arg(len)).unwrap_or(0);
                self.push(
                    self.arg(at),
                    if self.result == ANY_RESULT { entry.room } else { entry.room.min(size.into()) },
                );
                self.push(self.arg(len), 4);
            }
            Out::FdSet(at, bits) => {
                let bits = (self.arg(bits) as u32 as u64).min(MAX_FDS);
                self.push(self.arg(at), bits.div_ceil(64) * 8);
            }
        }
    }

    /// How many of an array of messages the call filled in.
    fn elements(&self, count: u8) -> u64 {
        self.result.min(self.arg(count) as u32 as u64).min(MAX_IOVECS)
    }

    /// `total` bytes over an array of `iovec`.
    fn scattered(&mut self, array: u64, count: u64, total: u64) {
        let mut left = total;
        for [base, len] in iovecs(self.memory, array, count) {
            if left == 0 {
                return;
            }
            let here = len.min(left);
            self.push(base, here);
            left -= here;
        }
    }

    /// A `msghdr`: { name, namelen, iov, iovlen, control, controllen, flags }, eight bytes each.
    fn message(&mut self, header: u64, received: u64) {
        let mut words = [0_u64; 7];
        if !read_words(self.memory, header, &mut words) {
            return;
        }
        let [name, name_len, array, count, control, control_len, _] = words;
        self.push(header, 56);
        self.push(name, (name_len as u32 as u64).min(MAX_SOCKET_ADDRESS));
        self.push(control, control_len);
        self.scattered(array, count, received);
    }
}

fn byte_count(len: Len, args: &[u64; 6], result: u64, memory: &dyn Memory) -> u64 {
    let arg = |position: u8| args[position as usize];
    let result = if is_error(result) { 0 } else { result };
    match len {
        Len::Fixed(n) => n.into(),
        Len::ResultUpTo(most) => result.min(arg(most)),
        Len::MessageUpTo(most) => result.min(arg(most)).saturating_add(8),
        Len::ResultTimesUpTo(size, most) => result.min(arg(most) as u32 as u64) * u64::from(size),
        Len::Arg(n) => arg(n),
        Len::ArgTimes(n, size) => arg(n).saturating_mul(size.into()),
        Len::PagesOf(n) => arg(n).div_ceil(4096),
        Len::BitsOf(n) => arg(n).div_ceil(64).saturating_mul(8),
        Len::FileHandle(n) => 8 + u64::from(read_u32(memory, arg(n)).unwrap_or(0)).min(128),
    }
}

fn read_u32(memory: &dyn Memory, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    memory.read(address, &mut bytes).ok()?;
    Some(u32::from_le_bytes(bytes))
}

fn read_words(memory: &dyn Memory, address: u64, words: &mut [u64]) -> bool {
    let mut bytes = [0; 64];
    let bytes = &mut bytes[..words.len() * 8];
    if memory.read(address, bytes).is_err() {
        return false;
    }
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    }
    true
}

/// The elements of an array of `iovec`, as far as they can be read.
fn iovecs(memory: &dyn Memory, array: u64, count: u64) -> impl Iterator<Item = [u64; 2]> {
    let mut bytes = vec![0; count.min(MAX_IOVECS) as usize * 16];
    let readable = memory.read_prefix(array, &mut bytes);
    bytes.truncate(readable);
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    let pairs: Vec<[u64; 2]> = bytes.chunks_exact(16).map(|pair| [word(&pair[..8]), word(&pair[8..])]).collect();
    pairs.into_iter()
}

/// Where the call reads what the table names.
pub fn readable(row: &Row, args: &[u64; 6], memory: &dyn Memory) -> Vec<Range> {
    let arg = |position: u8| args[position as usize];
    let mut ranges = Vec::new();
    for input in row.inputs {
        match *input {
            In::Bytes(at, len) => ranges.push(Range { address: arg(at), len: byte_count(len, args, 0, memory) }),
            In::Iovecs(at, count) => {
                ranges.push(Range { address: arg(at), len: arg(count).min(MAX_IOVECS) * 16 });
                ranges.extend(iovecs(memory, arg(at), arg(count)).map(|[address, len]| Range { address, len }));
            }
            In::Text(at) => {
                let len = memory.read_c_string(arg(at), HASHED).map_or(HASHED, |text| text.len() + 1);
                ranges.push(Range { address: arg(at), len: len as u64 });
            }
        }
    }
    ranges
}

/// A hash of what the call is about to read: 0 if the table names no inputs.
pub fn input_hash(row: &Row, args: &[u64; 6], memory: &dyn Memory) -> u64 {
    if row.inputs.is_empty() {
        return 0;
    }
    let mut buffer = [0; HASHED];
    let mut hash = SEED;
    let arg = |position: u8| args[position as usize];
    for input in row.inputs {
        let mut used = 0;
        match *input {
            In::Bytes(at, len) => {
                let len = byte_count(len, args, 0, memory).min(HASHED as u64) as usize;
                used = memory.read_prefix(arg(at), &mut buffer[..len]);
            }
            In::Iovecs(at, count) => {
                for [base, len] in iovecs(memory, arg(at), arg(count)) {
                    let room = len.min((HASHED - used) as u64) as usize;
                    used += memory.read_prefix(base, &mut buffer[used..used + room]);
                }
            }
            In::Text(at) => {
                if let Ok(text) = memory.read_c_string(arg(at), HASHED) {
                    used = text.len().min(HASHED);
                    buffer[..used].copy_from_slice(&text[..used]);
                }
            }
        }
        hash = mix(hash, &buffer[..used]);
    }
    hash
}

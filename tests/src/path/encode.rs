//! A part of a path in few bytes.
//!
//! Programs repeat themselves: after the same two stretches mostly comes the same third. A table tells what came last time, and only how often it was right is
//! written down, and what came where it was wrong:
//!
//! ```text
//!   HITS  start (from the last stretch's end), last (from the start), count        … numbers of 7 bits a byte
//! ```
//!
//! Encoder and decoder begin each part with an empty table, so parts can be put one behind the other.

/// How many registers a path has. Not all sixteen: where the engine writes down what is in registers, it needs two others.
pub const REGISTERS: usize = 8;

/// Their values.
pub type Registers = [u64; REGISTERS];

/// Instructions that were executed one behind the other in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Address of the first one.
    pub start: u64,
    /// Address of the last one.
    pub last: u64,
    /// Address behind that.
    pub end: u64,
    /// How many.
    pub count: u64,
}

const TABLE: usize = 1 << 14;

/// What is expected to come next.
#[derive(Clone)]
struct Table {
    next: Vec<Stretch>,
    before: u64,
    last: Stretch,
}

impl Table {
    fn new() -> Self {
        Self { next: vec![Stretch::default(); TABLE], before: 0, last: Stretch::default() }
    }

    fn place(&self) -> usize {
        let mixed = (self.last.start ^ self.last.end.rotate_left(20) ^ self.before.rotate_left(40))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % TABLE
    }

    fn expected(&self) -> Stretch {
        self.next[self.place()]
    }

    fn came(&mut self, stretch: Stretch) {
        let place = self.place();
        self.next[place] = stretch;
        self.before = self.last.start;
        self.last = stretch;
    }
}

/// Takes instructions in the order of execution.
pub struct Encoder {
    table: Table,
    bytes: Vec<u8>,
    registers: Vec<u8>,
    values: Registers,
    hits: u64,
    now: Stretch,
}

impl Default for Encoder {
    fn default() -> Self {
        let (table, now) = (Table::new(), Stretch::default());
        Self { table, bytes: Vec::new(), registers: Vec::new(), values: Registers::default(), hits: 0, now }
    }
}

impl Encoder {
    /// An instruction of `len` bytes at `pc` was executed. `registers`: their values before it, or nothing.
    pub fn executed(&mut self, pc: u64, len: u64, registers: &[u64]) {
        if pc == self.now.end && self.now.count > 0 {
            (self.now.last, self.now.end, self.now.count) = (pc, pc + len, self.now.count + 1);
            return;
        }
        if self.now.count > 0 {
            self.put();
        }
        self.now = Stretch { start: pc, last: pc, end: pc + len, count: 1 };
        if let Ok(values) = registers.try_into() {
            self.put_registers(values);
        }
    }

    fn put(&mut self) {
        if self.table.expected() == self.now {
            self.hits += 1;
        } else {
            explicit(&mut self.bytes, self.hits, self.table.last, self.now);
            self.hits = 0;
        }
        self.table.came(self.now);
    }

    fn put_registers(&mut self, values: Registers) {
        let changed = (0..REGISTERS).filter(|&n| values[n] != self.values[n]);
        let mask: u8 = changed.clone().map(|n| 1 << n).sum();
        self.registers.push(mask);
        for n in changed {
            number(&mut self.registers, zigzag(values[n].wrapping_sub(self.values[n])));
        }
        self.values = values;
    }

    /// All that came so far.
    pub fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + self.registers.len() + 64);
        number(&mut bytes, self.registers.len() as u64);
        bytes.extend(&self.registers);
        bytes.extend(&self.bytes);
        if self.now.count > 0 {
            explicit(&mut bytes, self.hits, self.table.last, self.now);
        }
        bytes
    }
}

fn explicit(to: &mut Vec<u8>, hits: u64, before: Stretch, stretch: Stretch) {
    number(to, hits);
    number(to, zigzag(stretch.start.wrapping_sub(before.end)));
    number(to, stretch.last - stretch.start);
    number(to, stretch.end - stretch.last);
    number(to, stretch.count);
}

/// Small for small differences of both signs.
fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

fn number(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Stretches of a part, with the registers at their start if they were written down.
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
    registers_at: usize,
    registers_end: usize,
    values: Registers,
    table: Table,
    hits: u64,
    /// Whether a stretch that is written out follows the hits.
    follows: bool,
}

impl Decoder {
    /// Of what [`Encoder::encoded`] gave. What it didn't give is decoded to something, or panics.
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut at = 0;
        let registers_len = if bytes.is_empty() { 0 } else { take(&bytes, &mut at) as usize };
        let (registers_at, registers_end) = (at, at + registers_len);
        let (values, table) = (Registers::default(), Table::new());
        Self { bytes, at: registers_end, registers_at, registers_end, values, table, hits: 0, follows: false }
    }

    fn stretch(&mut self) -> Option<Stretch> {
        if !self.follows {
            if self.at == self.bytes.len() {
                return None;
            }
            self.hits = take(&self.bytes, &mut self.at);
            self.follows = true;
        }
        let stretch = if self.hits > 0 {
            self.hits -= 1;
            self.table.expected()
        } else {
            self.follows = false;
            let mut next = || take(&self.bytes, &mut self.at);
            let start = self.table.last.end.wrapping_add(unzigzag(next()));
            let last = start + next();
            Stretch { start, last, end: last + next(), count: next() }
        };
        self.table.came(stretch);
        Some(stretch)
    }

    fn registers(&mut self) -> Option<Registers> {
        if self.registers_at == self.registers_end {
            return None;
        }
        let mask = self.bytes[self.registers_at];
        self.registers_at += 1;
        for n in (0..REGISTERS).filter(|n| mask >> n & 1 != 0) {
            let change = unzigzag(take(&self.bytes, &mut self.registers_at));
            self.values[n] = self.values[n].wrapping_add(change);
        }
        Some(self.values)
    }
}

impl Iterator for Decoder {
    type Item = (Stretch, Option<Registers>);

    fn next(&mut self) -> Option<Self::Item> {
        let stretch = self.stretch()?;
        Some((stretch, self.registers()))
    }
}

fn take(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop of three instructions that is left after each seventh round, with registers that change.
    fn instructions() -> Vec<(u64, u64, Registers)> {
        let mut all = Vec::new();
        for round in 0..200_u64 {
            for (pc, len) in [(0x401000, 3), (0x401003, 4), (0x401007, 2)] {
                let mut registers = [7; REGISTERS];
                registers[1] = u64::MAX - round;
                registers[7] = pc;
                all.push((pc, len, registers));
            }
            if round % 7 == 0 {
                all.push((0xffff_ffff_ff60_0000, 15, [round; REGISTERS]));
            }
        }
        all
    }

    fn encoded(instructions: &[(u64, u64, Registers)], with_registers: bool) -> Vec<u8> {
        let mut encoder = Encoder::default();
        for (pc, len, registers) in instructions {
            encoder.executed(*pc, *len, if with_registers { registers } else { &[] });
        }
        encoder.encoded()
    }

    #[test]
    fn what_was_encoded_comes_out() {
        let instructions = instructions();
        let decoded: Vec<_> = Decoder::new(encoded(&instructions, true)).collect();
        let starts: Vec<_> =
            instructions.iter().filter(|(pc, ..)| *pc == 0x401000 || *pc == 0xffff_ffff_ff60_0000).collect();
        assert_eq!(decoded.len(), starts.len());
        for ((stretch, registers), (pc, _, values)) in decoded.iter().zip(starts) {
            let (last, end, count) = if *pc == 0x401000 { (pc + 7, pc + 9, 3) } else { (*pc, pc + 15, 1) };
            assert_eq!(*stretch, Stretch { start: *pc, last, end, count });
            assert_eq!(*registers, Some(*values));
        }
    }

    #[test]
    fn registers_may_be_missing_and_parts_empty() {
        let instructions = instructions();
        let bytes = encoded(&instructions, false);
        // A round in seven costs some bytes at first, and then hardly any.
        assert!(bytes.len() < 500, "{} bytes", bytes.len());
        let total: u64 = Decoder::new(bytes)
            .map(|(stretch, registers)| {
                assert_eq!(registers, None);
                stretch.count
            })
            .sum();
        assert_eq!(total, instructions.len() as u64);
        assert_eq!(Decoder::new(encoded(&[], true)).count(), 0);
    }

    #[test]
    fn numbers_of_all_sizes_come_out() {
        for value in [0, 1, 127, 128, 1 << 35, u64::MAX] {
            let (mut bytes, mut at) = (Vec::new(), 0);
            number(&mut bytes, value);
            assert_eq!((take(&bytes, &mut at), at), (value, bytes.len()));
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}

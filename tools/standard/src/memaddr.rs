//! `memaddr`: the addresses of all memory accesses, in order, as a number and a checksum. Two runs that print the same have
//! made the same accesses in the same order.
//!
//! Each memory operand of each executed instruction is one access, implicit ones (of push, call, string instructions …) included; one that is
//! read and written counts once. A REP instruction counts its operands once, at the address of the first step, or, with `--repeat each`, at each step, and once also if rcx is 0; a gather or
//! scatter counts once, at its base address, whatever its mask says. One word for an access is what makes it cheap; `memtrace` and `dcache` see what is really accessed.

use std::arch::x86_64::{__m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_setzero_si256};
use std::mem::transmute;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{Arg, Out, Repeat, SliceInfo, Tool, Trace, clap};

use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t memaddr -- ls")]
pub struct Options {
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct MemAddr {
    options: Options,
}

/// A checksum of a stream that depends on the order and can be made of the checksums of two halves: Fletcher's, modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    accesses: u64,
    sum: u64,
    /// The sum of all sums so far: an address counts once for itself and for each that follows.
    sums: u64,
}

/// Addresses that are added up side by side, which the processor does at once.
const LANES: usize = 8;

type Row = [u64; LANES];

/// The sum of each lane, and the sum of all sums that it had so far.
fn sums_by_lane(rows: &[Row]) -> (Row, Row) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { sums_by_lane_avx2(rows) };
    }
    sums_by_lane_plain(rows)
}

fn sums_by_lane_plain(rows: &[Row]) -> (Row, Row) {
    let (mut sum, mut sums) = ([0; LANES], [0; LANES]);
    for row in rows {
        for lane in 0..LANES {
            sum[lane] = u64::wrapping_add(sum[lane], row[lane]);
            sums[lane] = u64::wrapping_add(sums[lane], sum[lane]);
        }
    }
    (sum, sums)
}

/// The same, in half as many instructions as the compiler makes of it.
#[target_feature(enable = "avx2")]
fn sums_by_lane_avx2(rows: &[Row]) -> (Row, Row) {
    let zero = _mm256_setzero_si256();
    let (mut sum, mut sums) = ([zero; 2], [zero; 2]);
    for row in rows {
        for half in 0..2 {
            // SAFETY: a half of a row is as large as a vector.
            let addresses = unsafe { _mm256_loadu_si256(row[LANES / 2 * half..].as_ptr().cast()) };
            sum[half] = _mm256_add_epi64(sum[half], addresses);
            sums[half] = _mm256_add_epi64(sums[half], sum[half]);
        }
    }
    // SAFETY: two vectors are a row.
    unsafe { (transmute::<[__m256i; 2], Row>(sum), transmute::<[__m256i; 2], Row>(sums)) }
}

impl Stream {
    fn checksum(&self) -> u64 {
        self.sums ^ self.sum.rotate_left(32)
    }

    fn of(addresses: &[u64]) -> Stream {
        let (rows, rest) = addresses.as_chunks();
        let (sum, sums) = sums_by_lane(rows);
        let mut stream = Stream { accesses: (rows.len() * LANES) as u64, ..Stream::default() };
        for lane in 0..LANES {
            stream.sum = stream.sum.wrapping_add(sum[lane]);
            // A lane's sums count each row behind an address; whole rows have LANES addresses, the first one less by `lane`.
            let weighted = sums[lane].wrapping_mul(LANES as u64).wrapping_sub(sum[lane].wrapping_mul(lane as u64));
            stream.sums = stream.sums.wrapping_add(weighted);
        }
        for &address in rest {
            stream.merge(Stream { accesses: 1, sum: address, sums: address });
        }
        stream
    }
}

impl Merge for Stream {
    fn merge(&mut self, next: Self) {
        self.sums = self.sums.wrapping_add(self.sum.wrapping_mul(next.accesses)).wrapping_add(next.sums);
        self.sum = self.sum.wrapping_add(next.sum);
        self.accesses += next.accesses;
    }
}

impl Tool for MemAddr {
    const NAME: &'static str = "memaddr";
    const ABOUT: &'static str =
        "Addresses of all memory operands that are executed: their number, and a checksum that depends on the order";
    type Options = Options;
    type Local = Stream;
    type Result = [u64; 3];
    type Total = Stream;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions() {
            for operand in 0..instruction.memory_operands().len() {
                instruction.buffer((Arg::MemoryAddress(operand),));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Stream {
        Stream::default()
    }

    fn drain(&self, stream: &mut Stream, addresses: &[u64]) {
        stream.merge(Stream::of(addresses));
    }

    fn finish(&self, stream: &Stream) -> [u64; 3] {
        [stream.accesses, stream.sum, stream.sums]
    }

    fn fold(&self, total: &mut Stream, _: SliceInfo, [accesses, sum, sums]: [u64; 3]) {
        total.merge(Stream { accesses, sum, sums });
    }

    fn fini(&self, total: Stream, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Accesses: {}", out.total(total.accesses))?;
        writeln!(out, "Checksum: {}", total.checksum())?;
        self.options.repeat.say(out)
    }

    fn values(&self, total: &Stream) -> Option<Value> {
        let repetitions = self.options.repeat.repeat.to_string();
        Some(json!({ "accesses": total.accesses, "checksum": total.checksum(), "repetitions": repetitions }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESSES: [u64; 19] =
        [7, 1 << 40, 3, 3, 900, u64::MAX, 5, 6, 1, 2, 0x7fff_ffff_f000, 4, 1 << 63, 40, 41, 43, 47, 1 << 20, 77];

    #[test]
    fn lanes_add_up_alike_with_vectors_and_without() {
        let (rows, _) = ADDRESSES.as_chunks();
        assert_eq!(sums_by_lane(rows), sums_by_lane_plain(rows));
    }

    #[test]
    fn the_checksum_is_what_one_address_at_a_time_gives() {
        let (mut sum, mut sums) = (0_u64, 0_u64);
        for address in ADDRESSES {
            sum = sum.wrapping_add(address);
            sums = sums.wrapping_add(sum);
        }
        assert_eq!(Stream::of(&ADDRESSES), Stream { accesses: 19, sum, sums });
    }

    #[test]
    fn it_is_the_same_wherever_the_stream_is_cut_and_another_in_another_order() {
        let whole = Stream::of(&ADDRESSES);
        for cut in 0..=ADDRESSES.len() {
            let mut parts = Stream::of(&ADDRESSES[..cut]);
            parts.merge(Stream::of(&ADDRESSES[cut..]));
            assert_eq!(parts, whole);
        }
        let mut other = ADDRESSES;
        other.swap(4, 5);
        assert_ne!(Stream::of(&other), whole);
    }
}

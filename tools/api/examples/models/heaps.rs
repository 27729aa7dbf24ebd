//! Blocks that routines called `takes` and `gives_back` allocate and free.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::{Heap, HeapBlock};
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, Tool, Trace};

/// Freed blocks, their bytes, how long they lived, and the heap. Time goes on by one with each event.
type Seen = ([Sum; 3], Heap<u8>);

/// The tool.
pub struct Heaps;

fn freed(sums: &mut [Sum; 3]) -> impl FnMut(HeapBlock<u8>, u64) + '_ {
    |block, now| sums.merge([Sum(1), Sum(block.size), Sum(now - block.allocated)])
}

fn takes((_, heap): &mut Seen, stack_pointer: u64, size: u64) {
    heap.advance(1);
    heap.enter(stack_pointer, size, 1);
}

fn taken((_, heap): &mut Seen, stack_pointer: u64, address: u64) {
    heap.leave(stack_pointer, address);
}

fn gives_back((sums, heap): &mut Seen, address: u64) {
    heap.advance(1);
    heap.free(address, freed(sums));
}

impl Tool for Heaps {
    const NAME: &'static str = "heaps";
    const ABOUT: &'static str = "Follow a heap";
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            match instruction.enters().as_ref().map(|routine| routine.name()) {
                Some("takes") => instruction.call(At::Before, takes, (Gpr::Rsp, Arg::Argument(0))),
                Some("gives_back") => instruction.call(At::Before, gives_back, (Arg::Argument(0),)),
                _ => {}
            }
            if instruction.returns_from().is_some_and(|routine| routine.name() == "takes") {
                instruction.call(At::Before, taken, (Gpr::Rsp, Arg::ReturnValue));
            }
        }
    }

    fn begin(&self, slice: SliceInfo) -> Seen {
        (Default::default(), Heap::begin(slice))
    }

    fn finish(&self, local: &Seen) -> Seen {
        local.clone()
    }

    fn fold(&self, (sums, heap): &mut Seen, _: SliceInfo, (slice, part): Seen) {
        sums.merge(slice);
        heap.append(part, freed(sums));
    }

    fn fini(&self, (mut sums, heap): Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        let end = heap.end(freed(&mut sums));
        let [blocks, bytes, events] = sums.map(|sum| sum.0);
        writeln!(out, "freed {blocks} blocks of {bytes} bytes after {events} events")?;
        let left: u64 = end.live.iter().map(|block| block.size).sum();
        let wrong = end.live.iter().filter(|block| block.tag != 1).count();
        writeln!(out, "left {} blocks of {left} bytes, {wrong} without a size", end.live.len())?;
        writeln!(out, "at most {} bytes, freed wrongly {}", end.peak, end.unknown_frees)
    }
}

//! What a tool counts of the run before a slice: a first pass of its own.

use std::mem::offset_of;

use bubble::map::FIRST_PASS;
use engine::safe_reads;
use serde::Serialize;
use serde::de::DeserializeOwned;
use translator::trace::AnalysisCall;

use super::merge::Merge;
use super::prefix::{CountsBefore, Prefix};
use super::tool::Tool;
use crate::instrument::{Instruction, Trace};

/// Things that a tool counts before it looks: each slice is run once with these calls alone, what slices have counted is put together in order, and when the second pass of a
/// slice begins, it is told of all that was counted before.
///
/// ```no_run
/// use superpin_tool::merge::Sum;
/// use superpin_tool::{At, FirstPass, Instruction, NoOptions, OnFirstPass, Out, Prefix, SliceInfo, Tool, Trace};
///
/// /// Numbers the calls of `malloc`.
/// struct Numbers;
///
/// fn count(calls: &mut Sum) {
///     calls.0 += 1;
/// }
///
/// impl Numbers {
///     fn counts(&self, instruction: &Instruction<'_, Sum>) {
///         if instruction.enters().is_some_and(|routine| routine.name() == "malloc") {
///             instruction.call(At::Before, count, ());
///         }
///     }
///
///     fn begins(&self, calls: &mut u64, _: Prefix, before: &Sum) {
///         *calls = before.0;
///     }
/// }
/// # impl Tool for Numbers {
/// #   const NAME: &'static str = "numbers";
/// #   const ABOUT: &'static str = "";
/// #   type Options = NoOptions;
/// #   type Local = u64;
/// #   type Result = ();
/// #   type Total = ();
///     const FIRST_PASS: Option<OnFirstPass<Self>> = Some(&FirstPass { counts: Self::counts, begins: Self::begins });
///     // …
/// #   fn new(_: NoOptions) -> Result<Self, String> { Ok(Self) }
/// #   fn instrument(&self, _: &Trace<'_, u64>) {}
/// #   fn begin(&self, _: SliceInfo) -> u64 { 0 }
/// #   fn finish(&self, _: &u64) {}
/// #   fn fold(&self, _: &mut (), _: SliceInfo, _: ()) {}
/// #   fn fini(&self, _: (), _: &mut Out<'_>) -> std::io::Result<()> { Ok(()) }
/// }
/// ```
pub struct FirstPass<T: Tool, V> {
    /// Inserts the calls that count, at an instruction: a pure function of that and of the options. Calls alone, no words for the buffer. The routines have a `V` in place of the
    /// tool's `Local`, which begins as [`Default`] says in each slice. (How often a block is executed is how often its first instruction is.)
    pub counts: fn(&T, &Instruction<'_, V>),
    /// Told at the begin of a slice and of a region, behind [`Tool::begin`] and [`Tool::PREFIX`]: all that was counted before, merged in order. Like an analysis routine it
    /// makes no system calls.
    pub begins: fn(&T, &mut T::Local, Prefix, &V),
}

/// What is counted, in a taken-over process.
#[repr(C)]
struct Counted<V> {
    /// By this process. Its address is in translated code.
    now: V,
    before: V,
}

impl<V> Counted<V> {
    const PLACE: *mut Self = FIRST_PASS.start as *mut Self;
}

/// What can be counted.
trait Value: Merge + Default + Serialize + DeserializeOwned + 'static {}
impl<V: Merge + Default + Serialize + DeserializeOwned + 'static> Value for V {}

fn decoded<V: Value>(bytes: &[u8]) -> Result<V, String> {
    if bytes.is_empty() {
        return Ok(V::default());
    }
    postcard::from_bytes(bytes).map_err(|error| format!("what a first pass has counted can't be decoded: {error}"))
}

fn encoded<V: Value>(value: &V) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| format!("what a first pass has counted can't be encoded: {error}"))
}

/// A copy of it.
fn copy<V: Value>(value: &V) -> Result<V, String> {
    decoded(&encoded(value)?)
}

impl<T: Tool, V: Merge + Default + Serialize + DeserializeOwned + 'static> CountsBefore<T, T::Local>
    for FirstPass<T, V>
{
    fn begin(&self, before: &[u8]) -> Result<(), String> {
        const {
            assert!(
                size_of::<Counted<V>>() as u64 <= FIRST_PASS.size && align_of::<V>() <= 4096,
                "what a first pass counts is too large: box its large parts"
            );
        }
        let counted = Counted { now: V::default(), before: decoded::<V>(before)? };
        // SAFETY: in a taken-over process the region is mapped; nothing else lies there, and no routine runs.
        unsafe { Counted::<V>::PLACE.write(counted) };
        Ok(())
    }

    fn insert(&self, tool: &T, trace: &translator::trace::Trace) -> Vec<AnalysisCall> {
        let local = Counted::<V>::PLACE as u64 + offset_of!(Counted<V>, now) as u64;
        let view = Trace::<V>::new(&trace.instructions, &trace.block_ends, local);
        let view = view.reading_flags(T::READS_FLAGS).repeating(tool.repeat()).in_files(trace.files);
        let look = || view.instructions().for_each(|instruction| (self.counts)(tool, &instruction));
        engine::routines::while_instrumenting(true, || safe_reads::without(look));
        let (calls, words, _) = view.into_inserted();
        assert!(
            words.is_empty(),
            "tool {} writes words into the buffer in its first pass: they belong into `instrument`, and calls into the first pass",
            T::NAME
        );
        calls
    }

    fn tell(&self, tool: &T, local: &mut T::Local, prefix: Prefix) -> Result<(), String> {
        let all = decoded::<V>(&self.counted()?)?;
        safe_reads::without(|| (self.begins)(tool, local, prefix, &all));
        Ok(())
    }

    fn counted(&self) -> Result<Vec<u8>, String> {
        // SAFETY: `begin` wrote it, and no routine runs.
        let counted = unsafe { &*Counted::<V>::PLACE };
        let mut all = copy(&counted.before)?;
        all.merge(copy(&counted.now)?);
        encoded(&all)
    }

    fn fold(&self, total: &mut Vec<u8>, counted: &[u8]) -> Result<(), String> {
        let mut all = decoded::<V>(total)?;
        all.merge(decoded(counted)?);
        *total = encoded(&all)?;
        Ok(())
    }
}

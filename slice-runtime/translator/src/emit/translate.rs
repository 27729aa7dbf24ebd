//! The order of all rules: one page.

use machine::AppPc;

use super::emitter::{Emitter, Rules, ScratchBuffers, Shape, Site, Translation, Untranslatable};
use super::plan;
use crate::trace::Trace;

/// Translates `trace` for `site`. `live_at` gives the arithmetic flags that may be read after an app pc is reached, see [`crate::liveness`]; `spare` has buffers to be
/// used.
///
/// # Errors
/// If the trace contains an instruction that has no translation.
pub fn translate<'a>(
    trace: &'a Trace,
    site: Site,
    rules: Rules<'a>,
    shape: Shape<'a>,
    live_at: &mut dyn FnMut(AppPc) -> u64,
    spare: &'a mut ScratchBuffers,
) -> Result<Translation, Untranslatable> {
    plan::choose_counters(trace, &rules);
    plan::decide(trace, &rules);
    let facts = plan::facts(trace, &rules, &shape, live_at, spare);
    let mut emitter = Emitter::new(site, rules, shape, facts, spare);
    if let Some(code) = shape.self_checked {
        emitter.emit_self_check(code);
    }
    let mut block = 0;
    for index in 0..trace.instructions.len() {
        if index == trace.block_ends[block] {
            block += 1;
        }
        if index == trace.block(block).start {
            emitter.marks.block_begin = emitter.offset();
        }
        emitter.look_for_rewritten(index, block);
        if let Some((_, check)) = shape.check.filter(|&(at, _)| at == index) {
            emitter.quick_check(check, index);
        }
        if shape.stop == Some(index) {
            emitter.stop(index);
        }
        emitter.mark(trace.instructions[index].pc().0);
        if index == 0 {
            emitter.load_for_loop();
            emitter.begin_words();
        }
        emitter.load_for_words(index);
        emitter.r11_before(index, block);
        emitter.buffer_before(index, block);
        emitter.load_needed(index);
        emitter.counts_before(index, block);
        emitter.calls_before(index, block);
        emitter.r11_at(index, block);
        emitter.instruction(index, block)?;
        emitter.wrote(index);
        emitter.store_home_after(index, block);
        emitter.calls_after(index, block);
        emitter.r11_after(index, block);
    }
    emitter.fall_through();
    emitter.literals();
    emitter.ways_out();
    emitter.stubs();
    Ok(emitter.finish())
}

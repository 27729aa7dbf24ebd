//! The order of all rules: one page.

use super::emitter::{Check, Emitter, Rules, Site, Translation, Untranslatable};
use super::plan;
use crate::trace::Trace;

/// Translates `trace` for `site`, with a quick check before its first instruction if it is an end.
///
/// # Errors
/// If it contains an instruction that has no translation.
pub fn translate<'a>(
    trace: &'a Trace,
    site: Site,
    check: Option<&Check>,
    mut rules: Rules<'a>,
) -> Result<Translation, Untranslatable> {
    plan::choose_counters(trace, &rules);
    plan::decide(trace, &rules);
    let inspected = rules.inspected;
    let facts = plan::facts(trace, &mut rules);
    let mut emitter = Emitter::new(trace, site, rules, facts);
    if let Some(code) = inspected {
        emitter.inspect(code);
    }
    if let Some(check) = check {
        emitter.quick_check(check);
    }
    let mut block = 0;
    for index in 0..trace.instructions.len() {
        if index == trace.block_ends[block] {
            block += 1;
        }
        emitter.mark(trace.instructions[index].pc().0);
        if index == 0 {
            emitter.bring_for_loop();
            emitter.begin_words();
        }
        emitter.bring_for_words(index);
        emitter.r11_before(index, block);
        emitter.buffer_before(index, block);
        emitter.bring_needed(index);
        emitter.calls_before(index, block);
        emitter.r11_at(index, block);
        emitter.instruction(index, block)?;
        emitter.wrote(index);
        emitter.mirror_after(index, block);
        emitter.calls_after(index, block);
        emitter.r11_after(index, block);
    }
    emitter.fall_through();
    emitter.literals();
    emitter.ways_out();
    emitter.stubs();
    Ok(emitter.finish())
}

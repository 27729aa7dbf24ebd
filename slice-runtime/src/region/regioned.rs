//! A tool that looks at a part of the run, as hosts see it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use bubble::region::{INSTRUCTIONS, Looks, Progress, Spec, counter_of, pass};
use translator::trace::{AnalysisCall, Point, Trace};

use super::counters;
use super::places::Places;
use crate::ports::{
    AppImage, AppThread, Asked, CallChange, Happened, OwnSlot, RunningTool, SignalArrival, SignalChange, SystemCall,
    ThreadChange, header, requests,
};

/// Instructions before an event from which on each has a test of its own: as many as a trace has at most.
const NEAR: u64 = 256;

/// The tool as it is to be run in this process: what is asked for in the header, and what the slot says of this process.
///
/// # Safety
/// This is a taken-over process: CONTROL and LOCAL are mapped.
pub unsafe fn around(tool: Box<dyn RunningTool>, slot: OwnSlot) -> Box<dyn RunningTool> {
    // SAFETY: the caller's promise.
    let spec = unsafe { &header().region };
    if spec.is_all() {
        return tool;
    }
    counters::disown();
    let regioned = Regioned {
        tool,
        spec,
        pass: slot.pass(),
        next: Cell::default(),
        each: Cell::default(),
        places: Places::default(),
        known: RefCell::default(),
    };
    if spec.has_values() {
        let before = if regioned.pass == pass::COUNTS { &[] } else { slot.values_before() };
        regioned.tool.were_counted(before).unwrap_or_else(|why| slot.fail(&why));
    }
    regioned.begin(slot.begins());
    Box::new(regioned)
}

struct Regioned {
    tool: Box<dyn RunningTool>,
    spec: &'static Spec,
    /// One of [`pass`].
    pass: u32,
    /// Which event is waited for, and what was executed before the last one. What is executed is in the counters.
    next: Cell<Progress>,
    /// Whether each instruction has a test.
    each: Cell<bool>,
    places: Places,
    /// Places that were met: an event's number and an address.
    known: RefCell<BTreeSet<(usize, u64)>>,
}

impl Regioned {
    /// Goes on from here.
    fn begin(&self, progress: Progress) {
        counters::begin(&progress.counts);
        if self.pass != pass::COUNTS {
            self.tool.begins(progress.counts[INSTRUCTIONS]);
        }
        self.waits_for(progress);
    }

    fn waits_for(&self, progress: Progress) {
        self.next.set(progress);
        self.each.set(false);
        if let Some((counter, target)) = self.spec.target(&progress) {
            counters::set_target(counter, target);
            self.each.set(counter == INSTRUCTIONS && target.saturating_sub(progress.counts[INSTRUCTIONS]) <= NEAR);
        }
    }

    fn now(&self) -> Progress {
        Progress { counts: counters::counts(), ..self.next.get() }
    }

    fn looks(&self) -> bool {
        self.pass != pass::COUNTS && self.spec.is_inside(&self.next.get())
    }

    /// Whether events may come.
    fn watches(&self) -> bool {
        matches!(self.pass, pass::ONLY | pass::WATCHES) && self.spec.next(&self.next.get()).is_some()
    }

    /// Calls that count, and in front of them those that ask.
    fn counting(&self, trace: &Trace) -> Vec<AnalysisCall> {
        let target = self.spec.target(&self.next.get()).filter(|_| self.watches()).map(|(counter, _)| counter);
        let (mut asks, mut counts) = (Vec::new(), Vec::new());
        if target == Some(INSTRUCTIONS) && !self.each.get() {
            // Who is at its head executes so many in it at most, and nobody comes in elsewhere.
            asks.push(counters::ask_at(0, INSTRUCTIONS, trace.instructions.len() as u64));
        }
        for block in 0..trace.block_ends.len() {
            let range = trace.block(block);
            let of_block = counters::count(INSTRUCTIONS, Point::Anywhere(block));
            match target {
                Some(INSTRUCTIONS) if self.each.get() => {
                    asks.extend(range.clone().map(|index| counters::ask_at(index, INSTRUCTIONS, 1)));
                    counts.extend(range.map(|index| counters::count(INSTRUCTIONS, Point::Before(index))));
                }
                _ => counts.push(of_block),
            }
        }
        for (number, event) in self.spec.events().iter().enumerate() {
            let counter = counter_of(number);
            for index in self.places.of(number, event, trace) {
                self.known.borrow_mut().insert((number, trace.instructions[index].pc().0));
                asks.extend((target == Some(counter)).then(|| counters::ask_at(index, counter, 1)));
                counts.push(counters::count(counter, Point::Before(index)));
            }
        }
        asks.append(&mut counts);
        asks.append(&mut self.tool.count(trace));
        asks
    }
}

impl RunningTool for Regioned {
    fn instrument(&self, trace: &mut Trace) {
        if self.looks() {
            self.tool.instrument(trace);
        }
        // Serially the program that the app may become goes on counting, in slices one that the tool begins.
        let counts = self.pass == pass::COUNTS || self.spec.is_counted();
        if counts || self.watches() {
            let counting = self.counting(trace);
            trace.calls.splice(0..0, counting);
        }
    }

    fn asked(&self, pc: u64) -> Asked {
        let looked = self.looks();
        let warmed_up = looked && self.spec.looks(&self.next.get()) == Looks::WarmsUp;
        let mut now = self.now();
        if self.spec.target(&now).is_none_or(|(counter, target)| now.counts[counter] < target) {
            self.each.set(true);
            return Asked::Nearer;
        }
        loop {
            now = self.spec.comes(&now, |number| self.known.borrow().contains(&(number, pc)));
            let at_once = |(counter, target)| counter == INSTRUCTIONS && target <= now.counts[INSTRUCTIONS];
            if !self.spec.target(&now).is_some_and(at_once) {
                break;
            }
        }
        self.waits_for(now);
        // SAFETY: this is a taken-over process.
        if self.pass == pass::ONLY && self.spec.is_over(&now) && unsafe { header() }.ends_app != 0 {
            requests::stop();
        }
        if warmed_up && self.spec.looks(&now) == Looks::Looks {
            return Asked::Counts;
        }
        if looked || !self.looks() {
            return Asked::GoesOn;
        }
        self.tool.begins(now.counts[INSTRUCTIONS]);
        Asked::Begins
    }

    fn progress(&self, pc: u64) -> Option<Progress> {
        let is_at = |number: &usize| self.known.borrow().contains(&(*number, pc));
        let at = (0..self.spec.events().len()).filter(is_at).fold(0, |at, number| at | 1 << number);
        Some(Progress { at, ..self.now() })
    }

    fn counted(&self, out: &mut [u8]) -> Result<usize, String> {
        self.tool.counted(out)
    }

    fn is_over(&self) -> bool {
        self.spec.is_over(&self.next.get())
    }

    fn samples(&self) -> bool {
        self.tool.samples()
    }

    fn patience(&self) -> u32 {
        self.tool.patience()
    }

    fn reads_flags(&self) -> bool {
        self.tool.reads_flags()
    }

    fn wants_each_repetition(&self) -> bool {
        self.tool.wants_each_repetition()
    }

    fn wants_images(&self) -> bool {
        self.looks() && self.tool.wants_images()
    }

    fn image(&self, image: AppImage, what: Happened) {
        self.tool.image(image, what);
    }

    fn wants_calls(&self) -> bool {
        self.pass != pass::COUNTS && self.tool.wants_calls()
    }

    fn call(&self, call: &SystemCall) {
        if self.looks() {
            self.tool.call(call);
        }
    }

    fn wants_signals(&self) -> bool {
        self.looks() && self.tool.wants_signals()
    }

    fn signal(&self, what: SignalChange) {
        self.tool.signal(what);
    }

    fn begins_with(&self, thread: &AppThread) {
        self.tool.begins_with(thread);
    }

    fn switch(&self, to: &AppThread) {
        self.tool.switch(to);
    }

    fn thread_ends(&self) {
        self.tool.thread_ends();
    }

    fn wants_threads(&self) -> bool {
        self.looks() && self.tool.wants_threads()
    }

    fn thread(&self, thread: &AppThread, what: ThreadChange<'_>) {
        self.tool.thread(thread, what);
    }

    fn changes_calls(&self) -> bool {
        self.tool.changes_calls()
    }

    fn change_call(&self, call: &mut CallChange<'_>) {
        if self.looks() {
            self.tool.change_call(call);
        }
    }

    fn changes_signals(&self) -> bool {
        self.tool.changes_signals()
    }

    fn change_signal(&self, signal: &mut SignalArrival<'_, '_>) {
        if self.looks() {
            self.tool.change_signal(signal);
        }
    }

    fn drain(&self, words: &[u64]) {
        self.tool.drain(words);
    }

    fn cut(&self, pc: u64, images: &[AppImage], _: u64) {
        if self.looks() {
            self.tool.cut(pc, images, self.now().counts[INSTRUCTIONS]);
        }
    }

    fn begin_anew(&self) {
        self.tool.begin_anew();
        if self.spec.is_counted() {
            self.tool.begins(self.now().counts[INSTRUCTIONS]);
        }
    }

    fn finish(&self, out: &mut [u8]) -> Result<usize, String> {
        self.tool.finish(out)
    }
}

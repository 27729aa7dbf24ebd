//! What a trace, its blocks and instructions are views of: what the engine decoded, and what was inserted so far.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use bubble::code_files::FileRegion;
use isa::Instruction;
use machine::AppPc;
use translator::trace::{AnalysisCall, Buffered, Form, Point};

use super::arguments::Arg;
use super::repeat::Repeat;
use super::tool_register::{Kept, ToolRegister};
use crate::names::{Image, mapped};

/// A trace that is about to be translated, as the engine hands it out.
pub struct Draft<'t> {
    instructions: &'t [Instruction],
    block_ends: &'t [usize],
    calls: RefCell<Vec<AnalysisCall>>,
    buffered: RefCell<Vec<Buffered>>,
    counted: RefCell<BTreeSet<usize>>,
    /// Instructions that are replaced by jumps, and where these go.
    jumps: RefCell<BTreeMap<usize, AppPc>>,
    local: u64,
    /// What is kept in tool registers.
    pub(super) kept: RefCell<Kept>,
    /// Whether the tool says that it reads the app's flags.
    pub(super) reads_flags: bool,
    /// How often an instruction counts that repeats.
    pub(super) repeat: Repeat,
    code: [OfFile; 2],
}

/// Code in a mapping of a file, and which image that is of, once somebody has asked.
#[derive(Default)]
struct OfFile {
    file: Option<FileRegion>,
    image: OnceCell<Option<Image<'static>>>,
}

impl<'t> Draft<'t> {
    /// One into which nothing was inserted yet. The tool's local state lies at `local`.
    pub fn new(instructions: &'t [Instruction], block_ends: &'t [usize], local: u64) -> Self {
        let (calls, buffered, counted) = (RefCell::default(), RefCell::default(), RefCell::default());
        let (reads_flags, repeat, code) = (false, Repeat::Once, Default::default());
        let (kept, jumps) = (RefCell::default(), RefCell::default());
        Self { instructions, block_ends, calls, buffered, counted, jumps, local, kept, reads_flags, repeat, code }
    }

    /// The trace lies in these mappings of files.
    pub fn lies_in(&mut self, files: [Option<FileRegion>; 2]) {
        self.code = files.map(|file| OfFile { file, image: OnceCell::new() });
    }

    pub fn instructions(&self) -> &'t [Instruction] {
        self.instructions
    }

    /// For each block the index behind its last instruction.
    pub fn block_ends(&self) -> &'t [usize] {
        self.block_ends
    }

    /// The block of the instruction with this index.
    pub fn block_of(&self, index: usize) -> usize {
        self.block_ends.partition_point(|&end| end <= index)
    }

    /// Which image the code at `pc`, an address of the trace's, is of.
    pub fn image(&self, pc: AppPc) -> Option<Image<'t>> {
        let is_in = |of: &&OfFile| of.file.is_some_and(|file| (file.start..file.end).contains(&pc.0));
        let of = self.code.iter().find(is_in)?;
        *of.image.get_or_init(|| of.file.and_then(|file| mapped(&file)))
    }

    /// A call of a routine with the local state and `args`.
    pub fn call(&self, point: Point, routine: usize, args: &[Arg]) -> AnalysisCall {
        AnalysisCall::new(point, routine, self.local, self.args(point, args).collect())
    }

    /// The same, of one that stores what it gives in a tool register, whose place comes before the others.
    pub fn call_into(&self, point: Point, routine: usize, register: ToolRegister, args: &[Arg]) -> AnalysisCall {
        let args = std::iter::once(register.place()).chain(self.args(point, args));
        AnalysisCall::new(point, routine, self.local, args.collect())
    }

    fn args(&self, point: Point, args: &[Arg]) -> impl Iterator<Item = translator::trace::Arg> {
        args.iter().map(move |arg| match (point, arg) {
            // So the call can be made wherever in the block it is cheapest.
            (Point::Anywhere(block), Arg::Pc) => translator::trace::Arg::Const(self.head_of(block).0),
            _ => arg.to_engine(),
        })
    }

    /// Address of a block's first instruction.
    fn head_of(&self, block: usize) -> AppPc {
        let first = if block == 0 { 0 } else { self.block_ends[block - 1] };
        self.instructions[first].pc()
    }

    /// Inserts a call behind those that are there.
    pub fn insert(&self, call: AnalysisCall) {
        engine::routines::was_inserted();
        self.calls.borrow_mut().push(call);
    }

    /// Inserts words behind those that are there.
    pub fn insert_words(&self, words: Buffered) {
        self.buffered.borrow_mut().push(words);
    }

    /// A block is counted.
    pub fn count(&self, block: usize) {
        self.counted.borrow_mut().insert(block);
    }

    /// Replaces an instruction by a jump. False if that was done already.
    pub fn jump(&self, index: usize, target: AppPc) -> bool {
        self.jumps.borrow_mut().insert(index, target).is_none()
    }

    /// What was replaced by jumps.
    pub fn jumps(&self) -> Vec<(usize, AppPc)> {
        self.jumps.borrow().iter().map(|(index, target)| (*index, *target)).collect()
    }

    /// Whether there is a call of this form at this point.
    pub fn has(&self, point: Point, form: Form) -> bool {
        self.calls.borrow().iter().any(|call| (call.point, call.form) == (point, form))
    }

    /// What was inserted: calls in the order of insertion, words by instruction, blocks that are counted.
    pub fn into_inserted(self) -> (Vec<AnalysisCall>, Vec<Buffered>, Vec<usize>) {
        let mut buffered = self.buffered.into_inner();
        buffered.sort_by_key(|buffered| buffered.index);
        let mut calls = self.calls.into_inner();
        // Who may have the app go on elsewhere is asked first.
        calls.sort_by_key(|call| call.form != Form::App);
        (calls, buffered, self.counted.into_inner().into_iter().collect())
    }
}

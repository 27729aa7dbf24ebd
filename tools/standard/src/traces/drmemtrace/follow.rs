//! What becomes of the app besides instructions: which thread is executed, handlers of signals, and programs that it becomes.

use std::collections::VecDeque;

use superpin_tool::{SignalEvent, SliceInfo, Stream, ThreadEvent};

use super::entries::{append_marker, markers};
use super::words::append_instruction;

/// Bytes that are put together before they are appended.
const TOGETHER: usize = 1 << 15;

/// What a slice knows of the thread that is written, and of what isn't written yet.
#[derive(Default)]
pub struct Follow {
    /// The first slice: no other program was there before.
    is_first: bool,
    /// The thread whose instructions these are.
    current: u64,
    /// What the buffer can't have, in order: see [`super::words`].
    told: VecDeque<u64>,
    /// Words of an instruction of which that wasn't told yet.
    waiting: Vec<u64>,
}

impl Follow {
    /// As a slice begins.
    pub fn new(slice: SliceInfo) -> Self {
        Self { is_first: slice.number == 0, ..Self::default() }
    }

    /// What an instruction's words don't tell.
    pub fn tell(&mut self, outcome: u64) {
        self.told.push_back(outcome);
    }

    /// Appends what was executed, if that is of this thread.
    pub fn drain(&mut self, thread: u64, stream: &mut Stream, words: &[u64]) {
        if self.current != thread {
            self.told.clear();
            return;
        }
        let mut all = std::mem::take(&mut self.waiting);
        let mut rest = if all.is_empty() {
            words
        } else {
            all.extend_from_slice(words);
            &all
        };
        let mut bytes = Vec::with_capacity(2 * TOGETHER);
        while !rest.is_empty() {
            let before = bytes.len();
            let Some(behind) = append_instruction(&mut bytes, rest, &mut self.told) else {
                bytes.truncate(before);
                self.waiting = rest.to_vec();
                break;
            };
            rest = behind;
            if bytes.len() > TOGETHER {
                stream.write(&bytes);
                bytes.clear();
            }
        }
        stream.write(&bytes);
    }

    /// Something becomes of a thread.
    pub fn on_thread(&mut self, thread: u64, stream: &mut Stream, event: ThreadEvent<'_>) {
        self.drain(thread, stream, &[]);
        if let ThreadEvent::Begin { thread: begun, state } = event
            && begun.number == thread
            && (thread != 0 || !self.is_first)
        {
            // Another program, perhaps, in which the thread with this number goes on somewhere else.
            self.append_marker(stream, markers::TRANSFER, state.ip().0);
        }
        self.current = event.thread().number;
    }

    /// A signal comes, or a handler has returned.
    pub fn on_signal(&mut self, thread: u64, stream: &mut Stream, event: SignalEvent) {
        self.drain(thread, stream, &[]);
        if self.current != thread {
            return;
        }
        match event {
            SignalEvent::Handler(signal) => {
                self.append_marker(stream, markers::INTERRUPTION, signal.pc().0);
                self.append_marker(stream, markers::SIGNAL, signal.number() as u64);
            }
            SignalEvent::Return(pc) => self.append_marker(stream, markers::TRANSFER, pc.0),
            SignalEvent::Fatal(_) => {}
        }
    }

    fn append_marker(&self, stream: &mut Stream, marker: u16, value: u64) {
        let mut bytes = Vec::new();
        append_marker(&mut bytes, marker, value);
        stream.write(&bytes);
    }
}

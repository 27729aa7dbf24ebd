//! Writes to the app's memory.

use machine::{Here, Memory, PAGE};

use crate::interface::Control;

/// Writes to the app's memory as the app could, and says how many bytes it has written.
pub fn write(control: &mut dyn Control, address: u64, bytes: &[u8]) -> usize {
    control.before_write(address, bytes.len() as u64);
    let mut memory = Here::new();
    if memory.write(address, bytes).is_ok() {
        return bytes.len();
    }
    let mut done = 0;
    while done < bytes.len() {
        let at = address.wrapping_add(done as u64);
        let len = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
        if memory.write(at, &bytes[done..done + len]).is_err() {
            break;
        }
        done += len;
    }
    done
}

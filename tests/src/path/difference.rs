//! Where two paths part.

use std::io;

use super::encode::{Registers, Stretch};
use super::file::{PathFile, Step};

/// The first difference of two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where they part; `None` if both went the same way to the end.
    pub parting: Option<Parting>,
    /// The first place at which registers differ, if they were written down. That may be for a good reason: an app that reads the clock.
    pub registers: Option<(u64, [Step; 2])>,
    /// From where on they differ at each step up to the parting, or to the end: instructions before it, and both runs' steps.
    pub since: Option<(u64, [Step; 2])>,
    /// Instructions that both executed.
    pub common: u64,
    /// Whether each of the runs came to its end, as far as the paths were read.
    pub are_whole: [bool; 2],
}

/// Where they part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The last that both executed, up to where they part; `None` if they part at the start.
    pub common: Option<Stretch>,
    /// Each run's registers at its start.
    pub registers: [Option<Registers>; 2],
    /// Where each goes from there, and in which slice; `None`: there is no more of that run.
    pub next: [Option<(u64, u64)>; 2],
    /// Stretches before, the oldest first.
    pub before: Vec<Stretch>,
}

/// Compares two paths; `context`: how many stretches before the parting are told.
///
/// # Errors
/// If one of them can't be read.
pub fn first(mut a: PathFile, mut b: PathFile, context: usize) -> io::Result<Difference> {
    let mut before: Vec<Step> = Vec::new();
    let mut last: Option<[Step; 2]> = None;
    let (mut common, mut registers, mut since) = (0, None, None);
    loop {
        let steps = [a.next_step()?, b.next_step()?];
        let parting = match steps {
            [None, None] => {
                return Ok(Difference {
                    parting: None,
                    registers,
                    since,
                    common,
                    are_whole: [a.is_whole(), b.is_whole()],
                });
            }
            [Some(x), Some(y)] if x.stretch.start == y.stretch.start => {
                if x.registers != y.registers {
                    registers = registers.or(Some((common, [x, y])));
                    since = since.or(Some((common, [x, y])));
                } else {
                    since = None;
                }
                if x.stretch == y.stretch {
                    common += x.stretch.count;
                    if let Some([earlier, _]) = last.replace([x, y]) {
                        before.push(earlier);
                        if before.len() > 2 * context {
                            before.drain(..before.len() - context);
                        }
                    }
                    continue;
                }
                // One goes on where the other leaves.
                let shorter = if x.stretch.count < y.stretch.count { x.stretch } else { y.stretch };
                common += shorter.count;
                before.extend(last.map(|[earlier, _]| earlier));
                let next = [(x, &mut a), (y, &mut b)].map(|(step, path)| -> io::Result<_> {
                    if step.stretch.count > shorter.count {
                        return Ok(Some((shorter.end, step.slice)));
                    }
                    Ok(path.next_step()?.map(|next| (next.stretch.start, next.slice)))
                });
                let [first, second] = next;
                let registers = [x.registers, y.registers];
                Parting { common: Some(shorter), registers, next: [first?, second?], before: Vec::new() }
            }
            _ => Parting {
                common: last.map(|[step, _]| step.stretch),
                registers: last.map_or([None; 2], |steps| steps.map(|step| step.registers)),
                next: steps.map(|step| step.map(|step| (step.stretch.start, step.slice))),
                before: Vec::new(),
            },
        };
        let skipped = before.len().saturating_sub(context);
        let before = before[skipped..].iter().map(|step| step.stretch).collect();
        let parting = Some(Parting { before, ..parting });
        return Ok(Difference { parting, registers, since, common, are_whole: [a.is_whole(), b.is_whole()] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Encoder, REGISTERS, Writer};
    use crate::run::Scratch;

    /// Instructions of one byte at these addresses, cut into slices before these positions.
    fn path(pcs: &[u64], cuts: &[usize], ends: bool, registers: &dyn Fn(usize) -> Option<Registers>) -> PathFile {
        let scratch = Scratch::new().unwrap();
        let place = scratch.beside("path");
        let mut writer = Writer::create(&place).unwrap();
        let borders: Vec<usize> = [&[0], cuts, &[pcs.len()]].concat();
        for (slice, pair) in borders.windows(2).enumerate() {
            let mut encoder = Encoder::default();
            for (n, pc) in pcs.iter().enumerate().take(pair[1]).skip(pair[0]) {
                encoder.executed(*pc, 1, registers(n).as_ref().map_or(&[][..], |values| values));
            }
            writer.part(slice as u64, &encoder.encoded()).unwrap();
        }
        if ends {
            writer.end().unwrap();
        }
        // Open files stay when their folder goes.
        PathFile::open(&place).unwrap()
    }

    const PCS: [u64; 11] = [10, 11, 12, 40, 41, 10, 11, 12, 40, 41, 90];

    fn plain(pcs: &[u64], cuts: &[usize]) -> PathFile {
        path(pcs, cuts, true, &|_| None)
    }

    #[test]
    fn it_makes_no_difference_where_a_path_is_cut() {
        for cut in 0..=PCS.len() {
            for other in cut..=PCS.len() {
                let found = first(plain(&PCS, &[]), plain(&PCS, &[cut, other]), 3).unwrap();
                let same = Difference { parting: None, registers: None, since: None, common: 11, are_whole: [true; 2] };
                assert_eq!(found, same, "{cut} {other}");
            }
        }
    }

    #[test]
    fn paths_part_where_the_first_instruction_differs() {
        for position in 0..PCS.len() {
            let mut other = PCS;
            other[position..].iter_mut().for_each(|pc| *pc += 1000);
            for cut in 0..=PCS.len() {
                let found = first(plain(&PCS, &[]), plain(&other, &[cut]), 2).unwrap();
                let parting = found.parting.unwrap();
                let next = parting.next.map(|next| next.unwrap().0);
                assert_eq!((found.common, next), (position as u64, [PCS[position], other[position]]), "{cut}");
                let last = parting.common.map(|stretch| stretch.last);
                assert_eq!(last, position.checked_sub(1).map(|n| PCS[n]), "{position} {cut}");
                assert!(parting.before.len() <= 2);
            }
        }
    }

    #[test]
    fn a_run_that_ends_early_parts_there() {
        for len in 0..PCS.len() {
            let found = first(path(&PCS[..len], &[], false, &|_| None), plain(&PCS, &[4]), 2).unwrap();
            let parting = found.parting.unwrap();
            assert_eq!((found.common, parting.next[0]), (len as u64, None), "{len}");
            assert_eq!(parting.next[1].map(|(pc, _)| pc), Some(PCS[len]), "{len}");
            assert!(!found.are_whole[0]);
        }
    }

    #[test]
    fn registers_are_compared_where_stretches_begin() {
        let values = |extra: u64| move |n: usize| Some([n as u64 + if n >= 5 { extra } else { 0 }; REGISTERS]);
        let found = first(path(&PCS, &[], true, &values(0)), path(&PCS, &[4, 7], true, &values(9)), 2).unwrap();
        let (common, steps) = found.registers.unwrap();
        assert_eq!((common, steps.map(|step| step.registers.unwrap()[0])), (5, [5, 14]));
        assert_eq!((found.parting, found.since.unwrap().0), (None, 5));
        let once = |n: usize| Some([if n == 3 { 8 } else { 7 }; REGISTERS]);
        let heals = first(path(&PCS, &[], true, &once), path(&PCS, &[3], true, &|_| Some([7; REGISTERS])), 2).unwrap();
        assert_eq!((heals.registers.unwrap().0, heals.since), (3, None));
        let same = first(path(&PCS, &[], true, &values(3)), path(&PCS, &[4, 7], true, &values(3)), 2).unwrap();
        assert_eq!(same.registers, None);
    }
}

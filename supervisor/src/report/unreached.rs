//! A region that never began: what was waited for, and how far the run came.

use bubble::region::{Event, INSTRUCTIONS, Kind, Looks, Progress, Spec, counter_of};

/// For people: what the tool, which has looked at nothing, has waited for. `None` if it has looked, or if nothing is known of the run.
pub fn unreached(spec: &Spec, progress: Option<&Progress>) -> Option<String> {
    let progress = progress?;
    let (number, event) = spec.next(progress)?;
    let passed = &spec.events()[..number];
    // What it has seen to warm up isn't the region.
    let looks = |event: &Event| event.looks == Looks::Looks;
    let has_looked = passed.iter().any(looks) || spec.looks(&Progress::default()) == Looks::Looks;
    if has_looked || !spec.events().iter().any(looks) {
        return None;
    }
    let [executed, times] = [INSTRUCTIONS, counter_of(number)].map(|n| progress.counts[n] - progress.base[n]);
    let of = |place: String| format!("{place} was executed {times} times, {} are waited for", event.count);
    let waited = match event.kind {
        Kind::Executed => format!("{} instructions were executed, {} are waited for", progress.counts[0], event.count),
        Kind::Later => format!("{executed} instructions were executed since, {} are waited for", event.count),
        Kind::Address => of(format!("the instruction at {:#x}", event.place)),
        Kind::Symbol => of(format!("the function {}", String::from_utf8_lossy(event.name()))),
        Kind::Marker => of(format!("the marker {:#x}", event.place)),
    };
    Some(format!("the region never began: {waited}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_told_unless_the_tool_has_looked() {
        let chain = [Event::symbol("work", 3, Looks::Looks).unwrap(), Event::instructions(Kind::Later, 10, Looks::Not)];
        let spec = Spec::new(&chain).unwrap();
        let mut progress = Progress { counts: [70, 2, 0, 0, 0], ..Progress::default() };
        let told = unreached(&spec, Some(&progress)).unwrap();
        assert_eq!(told, "the region never began: the function work was executed 2 times, 3 are waited for");
        progress.event = 1;
        assert_eq!(unreached(&spec, Some(&progress)), None);
        assert_eq!(unreached(&spec, None), None);
        let until = Spec::new(&[Event::at(Kind::Address, 7, 1, Looks::Not)]).unwrap();
        assert_eq!(unreached(&until, Some(&Progress::default())), None);
        let warm = [
            Event::instructions(Kind::Executed, 50, Looks::WarmsUp),
            Event::instructions(Kind::Executed, 90, Looks::Looks),
        ];
        let told = unreached(&Spec::new(&warm).unwrap(), Some(&Progress { event: 1, ..progress })).unwrap();
        assert_eq!(told, "the region never began: 70 instructions were executed, 90 are waited for");
        assert_eq!(unreached(&Spec::ALL, Some(&Progress::default())), None);
    }
}

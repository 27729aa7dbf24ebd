//! Slices are lost or interrupted.

use std::thread::sleep;
use std::time::Duration;

use suites::guest;
use suites::superpin::parse_total;

use super::processes::{Kind, catches};
use super::running::{LONG, LONG_SLICES, Running, SERIAL, SLICED, failed_with_the_app_finished, undisturbed};

/// A slice that is lost is begun again: the total is the one of an undisturbed run.
#[test]
fn a_slice_is_killed() {
    let (stdout, total) = undisturbed();
    let running = Running::start(SLICED, LONG);
    running.find(Kind::Slice).send_if_alive(libc::SIGKILL);
    sleep(Duration::from_millis(200));
    // Not a third time: on a busy machine it would perhaps be the same slice each time, which then fails.
    if let Some(slice) = running.find_another(Kind::Slice) {
        slice.send_if_alive(libc::SIGKILL);
    }
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, *stdout);
    assert_eq!(parse_total(&ended.stderr), *total, "{}", ended.stderr);
}

/// What a slice needs to be begun again, or the one before to be verified, is lost: the run goes on or says why not.
#[test]
fn a_waiting_slice_is_killed() {
    let (_, total) = undisturbed();
    for delay in [0, 30, 100] {
        let running = Running::start(SLICED, LONG);
        running.find(Kind::Slice); // only slices and their like wait from now on
        sleep(Duration::from_millis(delay));
        if let Some(waiting) = running.find_another(Kind::Waiting) {
            waiting.send_if_alive(libc::SIGKILL);
        }
        let ended = running.end();
        if ended.status.code() == Some(0) {
            assert_eq!(parse_total(&ended.stderr), *total, "{}", ended.stderr);
        } else {
            failed_with_the_app_finished(&ended);
            assert!(ended.stderr.contains("slice"), "{}", ended.stderr);
        }
    }
}

/// A slice that is killed each time it is begun ends the run, with a message.
#[test]
fn slices_are_killed_again_and_again() {
    let running = Running::start(LONG_SLICES, LONG);
    let app = running.find(Kind::App).pid;
    running.find(Kind::Slice);
    // After the failure the app goes on alone and looks like a slice.
    running.wait_until("the end of the app", || {
        for slice in running.processes().iter().filter(|p| p.kind == Kind::Slice && p.pid != app) {
            slice.send_if_alive(libc::SIGKILL);
        }
        running.processes().iter().all(|p| p.pid != app)
    });
    let ended = running.end();
    failed_with_the_app_finished(&ended);
    assert!(ended.stderr.contains("slice") && ended.stderr.contains("tried 3 times"), "{}", ended.stderr);
}

/// A slice is interrupted by the timer of its deadline, or of the watch behind its end: anywhere, also while a system call is replayed.
#[test]
fn slices_are_interrupted_all_the_time() {
    let job = guest::named("many_calls").job(150_000);
    let undisturbed = Running::start_job(SERIAL, &job).end();
    let running = Running::start_job(SLICED, &job);
    running.wait_until("the end of the run", || {
        let processes = running.processes();
        for slice in processes.iter().filter(|process| catches(process.pid, libc::SIGPROF)) {
            (0..1000).take_while(|_| slice.send_if_alive(libc::SIGPROF)).for_each(drop);
        }
        processes.is_empty()
    });
    let ended = running.end();
    assert_eq!((ended.status.code(), &ended.stdout), (Some(0), &undisturbed.stdout), "{}", ended.stderr);
    assert_eq!(parse_total(&ended.stderr), parse_total(&undisturbed.stderr), "{}", ended.stderr);
}

use std::sync::atomic::AtomicBool;

use super::*;

fn canary(cpus: &[usize]) -> Canary {
    let cpus = cpus.to_vec();
    Canary::open(&CanaryOpenParams { cpus }).unwrap()
}

#[test]
#[ignore = "needs root"]
fn each_cpu_has_its_reading_in_the_order_of_asking() {
    let mut canary = canary(&[1, 0]);
    let read = canary.read(&AtomicBool::new(false)).unwrap();
    let cpus: Vec<usize> = read.readings.iter().map(|reading| reading.cpu).collect();
    assert_eq!(cpus, [1, 0]);
    for reading in read.readings {
        assert!(
            reading.chain_ns > 0.0 && reading.parallel_ns > 0.0,
            "{reading:?}"
        );
        // Whatever the machine: a load past all caches and a call are dearer than a step, a frame takes two calls.
        assert!(reading.load_ns > reading.chain_ns, "{reading:?}");
        assert!(reading.system_call_ns > reading.chain_ns, "{reading:?}");
        assert!(
            reading.frame_ns > 2.0 * reading.system_call_ns,
            "{reading:?}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn a_cpu_that_is_not_there_is_named() {
    let error = canary(&[1000]).read(&AtomicBool::new(false)).unwrap_err();
    assert!(
        error.to_string().contains("cannot run on CPU 1000"),
        "{error}"
    );
}

#[test]
#[ignore = "needs root"]
fn an_abort_ends_it() {
    let error = canary(&[0]).read(&AtomicBool::new(true)).unwrap_err();
    assert!(error.to_string().contains("aborted"), "{error}");
}

#[test]
fn a_walk_comes_to_each_page_once() {
    let loads = Loads::prepare();
    let mut seen = std::collections::BTreeSet::new();
    let mut at = 0;
    while seen.insert(at) {
        at = loads.next(at);
    }
    assert_eq!((seen.len() as u32, at), (loads.run(), 0));
}

//! What is refused, and how that is told.

use super::*;
use crate::api::params::read_value;

fn refusal(trails: Vec<Value>) -> String {
    let params = params(&trails, "headers");
    Stages::open(&params).unwrap_err().to_string()
}

fn begins(message: &str, with: &str) {
    assert!(message.starts_with(with), "{message}");
}

#[test]
#[ignore = "needs root"]
fn trails_are_bounded() {
    in_namespace(|| {
        let lo = |hook: &str| point(hook, "lo");
        let pair = |name: &str| trail(name, &[lo("arrive"), lo("receive")], &["a"]);
        begins(&refusal(vec![]), "trails: 0 of them; 1 to 16 are allowed");
        begins(&refusal(vec![pair("a"); 17]), "trails: 17 of them");
        begins(
            &refusal(vec![pair("a"), pair("a")]),
            "trails[1].name: `a` is there twice",
        );
        begins(&refusal(vec![pair("")]), "trails[0].name: ");
        begins(&refusal(vec![pair(&"x".repeat(65))]), "trails[0].name: ");
        let five = ["a", "b", "c", "d", "e"].map(pair);
        begins(
            &refusal(five.to_vec()),
            "trails[0]: more than 4 trails end at its last point",
        );
    });
}

#[test]
#[ignore = "needs root"]
fn points_and_stages_are_bounded() {
    in_namespace(|| {
        let lo = |hook: &str| point(hook, "lo");
        let one = |points: &[Value], stages: &[&str]| refusal(vec![trail("a", points, stages)]);
        let pair = [lo("arrive"), lo("receive")];
        begins(
            &one(&pair[..1], &[]),
            "trails[0].points: 1 of them; 2 to 16 are allowed",
        );
        begins(
            &one(&vec![lo("free"); 17], &["a"; 16]),
            "trails[0].points: 17 of them",
        );
        begins(
            &one(&pair, &["a", "b"]),
            "trails[0].stages: 2 of them; 1 are needed",
        );
        begins(&one(&pair, &[""]), "trails[0].stages[0]: ");
        let twice = [lo("arrive"), lo("receive"), lo("arrive")];
        begins(
            &one(&twice, &["a", "b"]),
            "trails[0].points[2]: the trail passes it twice",
        );
        begins(
            &one(&twice, &["a", "a"]),
            "trails[0].stages[1]: `a` is there twice",
        );
    });
}

#[test]
#[ignore = "needs root"]
fn points_are_where_there_is_something() {
    in_namespace(|| {
        let one = |first: Value| refusal(vec![trail("a", &[first, point("free", "lo")], &["a"])]);
        let absent = one(point("arrive", "absent0"));
        begins(
            &absent,
            "trails[0].points[0].interface: no interface `absent0` in the network namespace the agent's own",
        );
        let no_tap = one(point("write", SOURCE));
        begins(&no_tap, "trails[0].points[0].interface: `src0` is no tap");
        let nowhere = json!({"hook": "arrive", "netns": "/run/netns/absent", "interface": "lo"});
        begins(
            &one(nowhere),
            "trails[0].points[0].netns: cannot enter the network namespace /run/netns/absent",
        );
        let no_namespace = json!({"hook": "arrive", "netns": "/dev/null", "interface": "lo"});
        begins(&one(no_namespace), "trails[0].points[0].netns: ");
    });
}

#[test]
#[ignore = "needs root"]
fn numbers_are_bounded() {
    in_namespace(|| {
        let with = |change: fn(&mut StagesOpenParams)| {
            let mut params = params(&[there()], "stamp");
            change(&mut params);
            Stages::open(&params).unwrap_err().to_string()
        };
        begins(&with(|params| params.sample_every = 0), "sample_every: ");
        begins(
            &with(|params| params.sample_every = GREATEST_SAMPLE_EVERY as u32 + 1),
            "sample_every: ",
        );
        begins(
            &with(|params| params.packets = MOST_PACKETS as u32 + 1),
            "packets: ",
        );

        let stages = opened(&[there()], "stamp");
        let arm = |delay_s, duration_s| {
            let params = json!({"delay_s": delay_s, "duration_s": duration_s});
            read_value::<StagesArmParams>(params)
                .unwrap_err()
                .to_string()
        };
        begins(&arm(-1.0, 1.0), "delay_s: ");
        begins(&arm(f64::NAN, 1.0), "delay_s: ");
        begins(&arm(0.0, 0.0), "duration_s: ");
        begins(&arm(0.0, 1e9), "duration_s: ");
        let beyond = StagesCollectParams { trail: 1, first: 0 };
        begins(
            &stages.collect(&beyond).unwrap_err().to_string(),
            "trail: 1 of 1 trails",
        );
    });
}

#[test]
#[ignore = "needs root"]
fn a_kernel_that_traces_has_every_hook() {
    let found = probe().unwrap();
    assert_eq!(found.attach, "tp_btf");
    assert_eq!(found.hooks.len(), hook::Hook::ALL.len());
    assert!(
        found.hooks.iter().all(|hook| hook.missing.is_none()),
        "{found:?}"
    );
}

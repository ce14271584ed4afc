//! # An agent that waits uses no CPU

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::ends::Ends;
use crate::link::open;
use crate::requests::responder;

/// Long enough for a timer of a tenth of a second to show ten times.
const WATCHED: Duration = Duration::from_secs(1);

#[test]
#[ignore = "needs root"]
fn an_agent_that_waits_is_never_woken() {
    for protocol in ["tcp", "udp"] {
        let mut ends = Ends::make();
        let agent = &mut ends.responder;
        agent.call("source.open", open(1, "snk0"));
        let streams = json!([{"stream": 0, "interface": "snk0"}]);
        agent.call("sink.open", json!({"streams": streams, "attach": "tc"}));
        agent.call("responder.open", responder(protocol, &json!(1)));
        // Its last reply is out before all its threads are asleep.
        let mut before = switches(agent.pid());
        loop {
            thread::sleep(Duration::from_millis(10));
            let now = switches(agent.pid());
            if std::mem::replace(&mut before, now.clone()) == now {
                break;
            }
        }
        thread::sleep(WATCHED);
        assert_eq!(switches(agent.pid()), before);
        assert!(before.len() >= 2, "the responder has a thread");
    }
}

/// How often each thread has been put on and off its CPU.
fn switches(process: u32) -> BTreeMap<String, String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let count = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap();
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        (thread.file_name().into_string().unwrap(), counts.collect())
    };
    threads.map(|thread| count(thread.unwrap())).collect()
}

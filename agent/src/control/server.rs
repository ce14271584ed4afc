//! # The server: one line in, one line out
//!
//! Short calls are answered in the order they came. A long call runs in a thread of its own and is answered when it is done;
//! meanwhile others are served. When the peer is lost, or asks for it, all traffic stops and the server ends.

use std::io::{self, Read, Write};
use std::thread::{self, Scope};

use super::hello;
use super::message::{self, Id, RpcError};
use super::stream::{LINE_LIMIT_BYTES, Line, LineReader, LineWriter};
use crate::api::{self, Agent, Answer, Job};

/// Serves until the input ends, the output breaks, or `shutdown` was answered. By then nothing is sent any more.
pub fn serve(input: impl Read, output: impl Write + Send) -> io::Result<()> {
    let agent = Agent::new();
    let mut input = LineReader::new(input);
    let output = LineWriter::new(output);
    output.write(&hello::line()?)?;
    thread::scope(|scope| {
        let ended = dispatch(scope, &agent, &mut input, &output);
        agent.abort();
        ended
    })
}

fn dispatch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    agent: &'scope Agent,
    input: &mut LineReader<impl Read>,
    output: &'scope LineWriter<impl Write + Send>,
) -> io::Result<()> {
    loop {
        let (id, answer) = match input.next()? {
            Line::Whole(line) => answer(agent, line),
            Line::TooLong => {
                let problem = format!("the line exceeds {LINE_LIMIT_BYTES} bytes");
                (Id::default(), Err(RpcError::request(problem)))
            }
            Line::Truncated => {
                let problem = "the stream ended within a line";
                (Id::default(), Err(RpcError::parse(problem)))
            }
            Line::End => return Ok(()),
        };
        match answer {
            Ok(Answer::Now(result)) => output.write(&message::reply(&id, Ok(result)))?,
            Ok(Answer::Later(job)) => run_apart(scope, output, id, job)?,
            Ok(Answer::Last(result)) => return output.write(&message::reply(&id, Ok(result))),
            Err(error) => output.write(&message::reply(&id, Err(error)))?,
        }
    }
}

fn answer<'a>(agent: &'a Agent, line: &[u8]) -> (Id, Result<Answer<'a>, RpcError>) {
    match message::parse(line) {
        Ok(request) => (
            request.id,
            match api::find(&request.method) {
                Some(method) => method.call(agent, request.params).map_err(RpcError::from),
                None => Err(RpcError::unknown_method(&request.method)),
            },
        ),
        Err((id, error)) => (id, Err(error)),
    }
}

/// Starts a long call, which answers for itself.
fn run_apart<'scope>(
    scope: &'scope Scope<'scope, '_>,
    output: &'scope LineWriter<impl Write + Send>,
    id: Id,
    job: Job<'scope>,
) -> io::Result<()> {
    let to = id.clone();
    let started = thread::Builder::new().spawn_scoped(scope, move || {
        let outcome = job();
        if let Err(error) = output.write(&message::reply(&to, outcome.map_err(RpcError::from))) {
            eprintln!("vtax-agent: cannot send a reply: {error}");
        }
    });
    started.map(drop).or_else(|error| {
        let problem = format!("cannot start a thread for the call: {error}");
        output.write(&message::reply(&id, Err(RpcError::failed(problem))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// What a peer that sends `input` and hangs up reads after the hello.
    fn replies(input: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        serve(input, &mut output).unwrap();
        let mut lines = output.split(|&byte| byte == b'\n');
        assert_eq!(lines.next_back(), Some(&b""[..]), "the last line is whole");
        let mut messages = lines.map(|line| {
            assert!(line.len() < LINE_LIMIT_BYTES);
            serde_json::from_slice(line).unwrap()
        });
        let hello: Value = messages.next().unwrap();
        assert_eq!(hello["method"], "hello");
        messages.collect()
    }

    fn code(line: &[u8]) -> i64 {
        let replies = replies(line);
        assert_eq!(replies.len(), 1);
        replies[0]["error"]["code"].as_i64().unwrap()
    }

    #[test]
    fn short_calls_are_answered_in_order() {
        let input = concat!(
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"abort","params":{}}"#,
            "\n",
        );
        let expected = [
            json!({"jsonrpc": "2.0", "id": "a", "result": {}}),
            json!({"jsonrpc": "2.0", "id": 2, "result": {}}),
        ];
        assert_eq!(replies(input.as_bytes()), expected);
    }

    #[test]
    fn nothing_is_served_after_shutdown() {
        let input = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            "\n",
        );
        assert_eq!(replies(input.as_bytes()).len(), 1);
    }

    #[test]
    fn wrong_lines_get_the_code_of_their_fault() {
        assert_eq!(code(b"\n"), -32_700);
        assert_eq!(code(b"\xff\xfe\n"), -32_700);
        assert_eq!(
            code(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            -32_700
        );
        assert_eq!(code(b"[1]\n"), -32_600);
        assert_eq!(code(&vec![b'['; 3 * LINE_LIMIT_BYTES]), -32_600);
        let deep = [vec![b'['; 20_000], b"\n".to_vec()].concat();
        assert_eq!(code(&deep), -32_700);
        let call = |rest: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{rest}}}\n").into_bytes();
        assert_eq!(code(&call(r#""method":"sing""#)), -32_601);
        assert_eq!(
            code(&call(r#""method":"ping","params":{"loud":true}"#)),
            -32_602
        );
        assert_eq!(
            code(&call(r#""method":"source.open","params":{"cpus":-1}"#)),
            -32_602
        );
        assert_eq!(
            code(&call(
                r#""method":"source.open","params":{"cpus":[0],"streams":[]}"#
            )),
            -32_602
        );
    }

    /// Lines that are arbitrary bytes, arbitrary JSON, or nearly requests.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let json = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ]
        .prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z_]{0,9}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        // Not guest.configure: some params of it would change the network of whoever runs the tests.
        let method = prop_oneof![
            Just("ping".to_owned()),
            Just("abort".to_owned()),
            Just("source.open".to_owned()),
            Just("source.run".to_owned()),
            Just("source.close".to_owned()),
            ".{0,20}",
        ];
        let request = (json.clone(), method, json.clone()).prop_map(
            |(id, method, params)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
        );
        let text = |value: Value| value.to_string().into_bytes();
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            json.prop_map(text),
            request.clone().prop_map(text),
            (request, any::<prop::sample::Index>()).prop_map(move |(value, cut)| {
                let mut line = text(value);
                line.truncate(cut.index(line.len()));
                line
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// 200 times 100 lines.
        #[test]
        fn every_line_gets_one_reply(lines in prop::collection::vec(lines(), 100)) {
            let mut input = Vec::new();
            let mut count = 0;
            for line in lines {
                count += 1 + line.iter().filter(|&&byte| byte == b'\n').count();
                input.extend(line);
                input.push(b'\n');
            }
            let replies = replies(&input);
            prop_assert_eq!(replies.len(), count);
            for reply in replies {
                prop_assert_eq!(&reply["jsonrpc"], "2.0");
                let code = reply["error"]["code"].as_i64();
                prop_assert!(reply["result"].is_object() != code.is_some());
                if let Some(code) = code {
                    prop_assert!([-32_700, -32_600, -32_601, -32_602, -32_000].contains(&code));
                    prop_assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
                }
            }
        }
    }
}

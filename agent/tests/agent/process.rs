//! # An agent process and its control stream

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::contract::check_answer;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_vtax-agent");

/// How long any reply but that of a run may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    last_id: u64,
    pub hello: Value,
}

impl Agent {
    pub fn start(arguments: &[&str]) -> Self {
        Self::of(Command::new(PROGRAM).args(arguments))
    }

    /// The agent that `command` starts.
    pub fn of(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = process.stdin.take();
        let hello = Value::Null;
        let mut agent = Self {
            process,
            input,
            messages,
            last_id: 0,
            hello,
        };
        agent.hello = agent.receive();
        agent
    }

    /// Gives it no CPU for so long.
    pub fn pause(&self, time: Duration) {
        let process = Pid::from_raw(self.process.id() as i32);
        kill(process, Signal::SIGSTOP).unwrap();
        thread::sleep(time);
        kill(process, Signal::SIGCONT).unwrap();
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn receive(&self) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .expect("the agent says nothing")
    }

    /// The next message; none where `patience` ends before it comes.
    pub fn receive_within(&self, patience: Duration) -> Option<Value> {
        match self.messages.recv_timeout(patience) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the agent has ended"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        self.last_id
    }

    /// The whole reply to a request, which is the next message.
    pub fn reply(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let reply = self.receive();
        assert_eq!(reply["id"], id, "{reply}");
        if reply["error"].is_null() {
            check_answer(method, &reply["result"]);
        }
        reply
    }

    /// Aborts what is under way and returns the reply to request `id`; either reply may come first.
    pub fn abort(&mut self, id: u64) -> Value {
        let abort = self.request("abort", json!({}));
        let [mut reply, mut other] = [self.receive(), self.receive()];
        if reply["id"] == abort {
            std::mem::swap(&mut reply, &mut other);
        }
        assert_eq!((&reply["id"], &other["id"]), (&json!(id), &json!(abort)));
        reply
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let reply = self.reply(method, params);
        assert!(reply["error"].is_null(), "{method}: {reply}");
        reply["result"].clone()
    }

    /// The code and message of the error that a call gets.
    pub fn refusal(&mut self, method: &str, params: Value) -> (i64, String) {
        let reply = self.reply(method, params);
        let error = &reply["error"];
        (
            error["code"].as_i64().unwrap(),
            error["message"].as_str().unwrap().to_owned(),
        )
    }

    /// Closes the agent's input, as a lost peer does.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits for the agent's end and returns its exit status.
    pub fn exit_status(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code().expect("a signal ended the agent");
            }
            assert!(Instant::now() < deadline, "the agent does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

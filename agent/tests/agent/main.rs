//! # The agent as its host sees it: a process, pipes, and what arrives at the other end of a link
//!
//! Those of these tests that send traffic make network namespaces and need root.

mod contract;
mod echo;
mod ends;
mod faults;
mod frames;
mod fuzz;
mod guest;
mod idle;
mod lines;
mod link;
mod mechanisms;
mod modules;
mod network;
mod process;
mod programs;
mod protocol;
mod relay;
mod requests;
mod residence;
mod source;
mod stages;
mod strands;
mod streams;
mod stress;

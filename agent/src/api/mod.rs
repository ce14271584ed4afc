//! # The API: what the agent can be asked, and what it answers
//!
//! [`registry`] names each method once, with what implements it. The method's params and its answer are two types that
//! stand beside the implementation. All that reads and checks a call, and the schema, is made from them.

mod agent;
pub(crate) mod bounds;
mod calls;
mod method;
pub(crate) mod notifications;
pub(crate) mod params;
mod registry;
mod schema;
mod schemas;
mod slot;
pub(crate) mod values;

pub(crate) use agent::Agent;
pub(crate) use method::{Answer, Job};
pub(crate) use registry::find;
pub use schema::document as contract;

//! # A thing that one call at a time may use

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard};

use anyhow::anyhow;

use crate::error::Error;

/// Holds what one method opens and others use, such as the traffic source.
#[derive(Debug)]
pub(super) struct Slot<T> {
    name: &'static str,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
enum State<T> {
    Closed,
    Open(T),
    /// A call has it.
    Leased,
}

impl<T> Slot<T> {
    /// `name` is the methods' common prefix, for messages: `source` of `source.open`.
    pub(super) const fn new(name: &'static str) -> Self {
        let state = Mutex::new(State::Closed);
        Self { name, state }
    }

    /// Puts in what `open` makes and hands on what it replies. What was there before is dropped first.
    pub(super) fn open<R>(&self, open: impl FnOnce() -> Result<(T, R), Error>) -> Result<R, Error> {
        drop(self.take()?);
        let (value, reply) = open()?;
        *self.state() = State::Open(value);
        Ok(reply)
    }

    /// Takes the value for the time of a call.
    pub(super) fn lease(&self) -> Result<Lease<'_, T>, Error> {
        let value = self.leave(State::Leased)?.ok_or_else(|| {
            let name = self.name;
            anyhow!("no {name} is open; call {name}.open first")
        })?;
        let value = Some(value);
        Ok(Lease { slot: self, value })
    }

    /// Takes the value out for good, if there is one.
    pub(super) fn take(&self) -> Result<Option<T>, Error> {
        self.leave(State::Closed)
    }

    /// Takes an open value and leaves `then` in its place.
    fn leave(&self, then: State<T>) -> Result<Option<T>, Error> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Closed => Ok(None),
            State::Open(value) => {
                *state = then;
                Ok(Some(value))
            }
            State::Leased => {
                *state = State::Leased;
                let name = self.name;
                Err(anyhow!(
                    "the {name} is in use by a call under way; await its reply or abort it"
                )
                .into())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Exclusive use of a slot's value, which goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Lease<'a, T> {
    slot: &'a Slot<T>,
    value: Option<T>,
}

impl<T> Deref for Lease<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("only drop takes the value")
    }
}

impl<T> DerefMut for Lease<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("only drop takes the value")
    }
}

impl<T> Drop for Lease<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            *self.slot.state() = State::Open(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_excludes_others_until_it_ends() {
        let slot = Slot::new("source");
        let error = slot.lease().unwrap_err().to_string();
        assert_eq!(error, "no source is open; call source.open first");

        slot.open(|| Ok((1, ()))).unwrap();
        let mut lease = slot.lease().unwrap();
        *lease += 1;
        assert!(slot.lease().is_err());
        assert!(slot.take().is_err());
        assert!(
            slot.open::<()>(|| unreachable!("the slot is in use"))
                .is_err()
        );
        drop(lease);

        assert_eq!(*slot.lease().unwrap(), 2);
        assert_eq!(slot.take().unwrap(), Some(2));
        assert_eq!(slot.take().unwrap(), None);
        assert!(slot.lease().is_err());
    }

    #[test]
    fn a_failed_open_leaves_the_slot_closed() {
        let slot = Slot::new("source");
        slot.open(|| Ok((1, ()))).unwrap();
        assert!(
            slot.open::<()>(|| Err(anyhow!("no such interface").into()))
                .is_err()
        );
        assert!(slot.lease().is_err());
    }
}

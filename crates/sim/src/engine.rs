//! Simulated time: what happens next, and servers whose schedule is arithmetic.

mod delay;
mod event;
mod pipe;
mod server;

pub(crate) use delay::{Cores, DelayLine};
pub(crate) use event::{EventKey, EventQueue};
pub(crate) use pipe::Pipe;
pub(crate) use server::{STREAMS_MAX, Server, ServerId, Servers};

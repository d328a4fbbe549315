//! What an AutoDB promises, tested from outside: against kills, damage, and other processes.

#[path = "../src/long.rs"]
mod long;

mod damage;
mod kill;
mod processes;

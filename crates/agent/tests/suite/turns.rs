//! The rounds and tools of a turn, and how turns stop.

mod failed_turns;
mod hidden_tools;
mod recovery;
mod rounds;
mod sources;
mod statements;
mod stopping;
mod windows;

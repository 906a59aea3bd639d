//! Tests of the commands for other agents and skills.

mod bridge;
mod skills;
mod why;

//! Both tiny agents, as a reader runs them, against a real gateway and a scripted model.

#![cfg(unix)]

#[cfg(test)]
mod asked;

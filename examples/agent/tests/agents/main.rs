//! Both tiny agents, run as in the docs, with a real gateway and a scripted model.

#![cfg(unix)]

#[cfg(test)]
mod asked;

//! The real `foreword` binary, as people and scripts use it.

#![cfg(unix)]

#[cfg(test)]
mod backup;
#[cfg(test)]
mod bad_input;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod deployment;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod files;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kill_nine;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod load;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod mcp_servers;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod pages;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod pictures;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod real_agents;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod stdio;
#[cfg(test)]
mod support;
#[cfg(test)]
mod three_gateways;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod torture;
#[cfg(test)]
mod transcript;

//! The real `foreword` binary, as people and scripts use it.

#![cfg(unix)]

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod files;
#[cfg(test)]
mod gateway;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod hostile;
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
mod real_model;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod support;
#[cfg(test)]
mod transcript;
